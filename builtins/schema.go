package builtins

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/engine/value"
)

// MaxDepth is how deep an argument or a result may nest.
const MaxDepth = value.MaxDepth / 2

// Problem is one thing wrong with the arguments or the result of a tool.
type Problem struct {
	Path string // "to[0]", "payments[1].iban", "result.date"
	Text string // what was found and what was wanted; no data but names of keys
	Hint string // what to do, such as "did you mean …"; may be empty
}

func (p Problem) String() string {
	s := p.Text
	if p.Path != "" {
		s = p.Path + ": " + s
	}
	if p.Hint != "" {
		s += "; " + p.Hint
	}
	return s
}

// SchemaError says what is wrong with the arguments or the result of a call: every problem, in order.
type SchemaError struct {
	Tool     string
	Problems []Problem
}

func (e *SchemaError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = e.Tool + ": " + p.String()
	}
	return strings.Join(lines, "\n")
}

// compiled is what is made of a tool's declaration once.
type compiled struct {
	of      *Tool    // a copy of the tool is compiled again: it may have been changed
	params  []schema // beside Tool.Params
	sinks   []patterns
	sinkOf  [][]string // beside sinks: the kind of sink of each pattern
	returns schema
	fields  patterns
	name    []ofPart // Label.Of
}

// schema is a JSON Schema, and as much of its shape as the validator does not tell. The zero
// schema accepts everything.
type schema struct {
	s     *jsonschema.Schema
	shape *shape
}

// shape is the part of a JSON Schema that names keys and types. What it does not understand it
// leaves out: the validator knows it.
type shape struct {
	types      []string // empty: any
	properties map[string]*shape
	item       *shape
}

func (s *shape) UnmarshalJSON(b []byte) error {
	var raw struct{ Type, Properties, Items, AnyOf, OneOf json.RawMessage }
	if json.Unmarshal(b, &raw) != nil {
		return nil // true or false
	}
	var one string
	if json.Unmarshal(raw.Type, &one) == nil {
		s.types = []string{one}
	} else if json.Unmarshal(raw.Type, &s.types) != nil {
		s.types = nil
	}
	if json.Unmarshal(raw.Properties, &s.properties) != nil {
		s.properties = nil
	}
	if json.Unmarshal(raw.Items, &s.item) != nil {
		s.item = nil
	}
	if s.types == nil {
		s.types = typesOfAll(raw.AnyOf, raw.OneOf)
	}
	return nil
}

// typesOfAll unites the types of alternatives, if each of them names its own.
func typesOfAll(lists ...json.RawMessage) []string {
	var out []string
	for _, list := range lists {
		var alternatives []*shape
		if json.Unmarshal(list, &alternatives) != nil {
			continue
		}
		for _, a := range alternatives {
			if a == nil || a.types == nil {
				return nil
			}
			out = append(out, a.types...)
		}
	}
	return out
}

// noLoader keeps schemas from naming files and hosts.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("$ref %q: a schema may only refer to itself", url)
}

func compileSchema(raw json.RawMessage) (schema, error) {
	if len(raw) == 0 {
		return schema{}, nil
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return schema{}, fmt.Errorf("schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	const here = "callgate:///schema"
	if err := c.AddResource(here, doc); err != nil {
		return schema{}, fmt.Errorf("schema: %w", err)
	}
	s, err := c.Compile(here)
	if err != nil {
		return schema{}, fmt.Errorf("schema: %s", oneLine(err))
	}
	out := schema{s: s, shape: &shape{}}
	return out, json.Unmarshal(raw, out.shape)
}

// oneLine is the most particular line of a validator's error.
func oneLine(err error) string {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	return strings.TrimLeft(lines[len(lines)-1], " -")
}

// compiling serialises the preparation of tools that are added to several sets at once.
var compiling sync.Mutex

// prepare compiles the declaration once; a tool that is in a [Set] has been prepared.
func (t *Tool) prepare() error {
	compiling.Lock()
	defer compiling.Unlock()
	if t.compiled != nil && t.compiled.of == t {
		return nil
	}
	c, err := t.compile()
	if err != nil {
		return err
	}
	t.compiled = c
	return nil
}

func (t *Tool) compile() (*compiled, error) {
	c := &compiled{of: t}
	var errs []error
	seen := map[string]bool{}
	for i := range t.Params {
		p := &t.Params[i]
		at := func(err error) {
			errs = append(errs, fmt.Errorf("tool %q: parameter %q: %w", t.Name, p.Name, err))
		}
		if p.Name == "" || seen[p.Name] {
			at(errors.New("want a name that no other parameter has"))
		}
		seen[p.Name] = true
		s, err := compileSchema(p.Schema)
		if err != nil {
			at(err)
		}
		if err := checkSink(p.Sink); err != nil {
			at(err)
		}
		var paths, kinds []string
		for _, path := range sortedKeys(p.Sinks) {
			if err := checkSink(p.Sinks[path]); err != nil {
				at(fmt.Errorf("%s: %w", path, err))
			}
			paths, kinds = append(paths, path), append(kinds, p.Sinks[path])
		}
		ps, err := compilePatterns(paths, true)
		if err != nil {
			at(err)
		}
		c.params, c.sinks, c.sinkOf = append(c.params, s), append(c.sinks, ps), append(c.sinkOf, kinds)
	}
	in := func(part string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("tool %q: %s: %w", t.Name, part, err))
		}
	}
	var err error
	c.returns, err = compileSchema(t.Returns)
	in("returns", err)
	var paths []string
	for _, f := range t.Label.Fields {
		paths = append(paths, f.Path)
	}
	c.fields, err = compilePatterns(paths, false)
	in("label", err)
	c.name, err = t.parseOf()
	in("label", err)
	for _, k := range t.Label.Cases {
		if k.Fits == nil || !k.Class.FlowsTo(t.Label.Class) {
			in("label", fmt.Errorf("case %q: want a condition, and a class that flows to %s, that of the tool's errors", k.When, t.Label.Class))
		}
	}
	return c, errors.Join(errs...)
}

// CheckArgs checks arguments, a dict by parameter name, against the parameters and
// their schemas. It returns nil or a [*SchemaError] with every problem.
//
// It is stricter than JSON Schema in what a program can tell apart: a float is never an
// int, not even 3.0; keys of dicts are strings; text is valid UTF-8; nothing nests deeper than
// [MaxDepth].
func (t *Tool) CheckArgs(args value.Value) error {
	if err := t.prepare(); err != nil {
		return err
	}
	if args.Kind != value.Dict {
		return &SchemaError{t.Name, []Problem{{Text: "got " + args.Kind.String() + ", want arguments by name"}}}
	}
	var names []string
	for _, p := range t.Params {
		names = append(names, p.Name)
	}
	var out []Problem
	given := map[string]bool{}
	for i, k := range args.Keys {
		switch {
		case k.Kind != value.String || !slices.Contains(names, k.Str):
			name := k.Str
			if k.Kind != value.String {
				name = k.Text()
			}
			out = append(out, Problem{Path: keyPath("", name), Text: "unknown", Hint: unknownHint(name, names)})
			continue
		case given[k.Str]:
			out = append(out, Problem{Path: k.Str, Text: "given twice"})
			continue
		}
		given[k.Str] = true
		at := slices.Index(names, k.Str)
		bad := t.compiled.params[at].check(k.Str, args.Items[i])
		if len(bad) > 0 && !t.Params[at].Required && args.Items[i].Kind == value.None {
			bad[0].Hint = "leave it out"
		}
		out = append(out, bad...)
	}
	for _, p := range t.Params {
		if p.Required && !given[p.Name] {
			out = append(out, Problem{Path: p.Name, Text: "missing"})
		}
	}
	if out == nil {
		return nil
	}
	return &SchemaError{t.Name, out}
}

func unknownHint(name string, names []string) string {
	if best := nearest(name, names); best != "" {
		return fmt.Sprintf("did you mean %q", best)
	}
	switch len(names) {
	case 0:
		return "there are none"
	case 1, 2, 3, 4, 5, 6, 7, 8:
		return "there is " + strings.Join(names, ", ")
	}
	return ""
}

// nearest returns the one of some names that name is most likely a slip of, or "".
func nearest(name string, names []string) string {
	best, at := "", max(2, utf8.RuneCountInString(name)/3)+1
	if len(name) > 100 {
		return ""
	}
	for _, n := range names {
		if d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(n)); d < at && d < utf8.RuneCountInString(n) {
			best, at = n, d
		}
	}
	return best
}
