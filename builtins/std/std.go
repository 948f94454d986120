// Package std holds the toolsets that come with Callgate: files, csv, mail, sql,
// payments, clock, http, command. Only http uses the network, and of that what an agent file lists, and a command that is given it; all
// work in folders and files that the agent file names.
//
// A toolset is built from the options written beside "use". Where an option is left out its
// strictest value holds: what is read is untrusted and for the principal alone, nothing is
// writable. Options that raise trust are assumptions of whoever writes the agent file; see
// [builtins.Tool.Assumptions].
package std

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"callgate/builtins"
	"callgate/engine/label"
	"callgate/engine/value"
)

// Env is where a toolset is built.
type Env struct {
	Dir       string // folder of the agent file: what tools read is named relative to it
	State     string // state folder: what tools write is named relative to it; "" means that there is none
	Principal string // the reader of results unless an option says otherwise; "" means nobody
}

// Factory builds a toolset, or one tool of it.
type Factory struct {
	Name    string // "mail", or "mail.send" for one tool
	Doc     string
	Options []builtins.Param

	tool  string // the one tool, or ""
	build func(ctx context.Context, b *builder) (*Toolset, error)
}

// Toolset is tools that share what they work on.
type Toolset struct {
	Tools  []*builtins.Tool
	Close  func() error // gives back files and connections; never nil
	Places []Place      // what of the host they reach, and nothing else
}

// Place is a folder, with what is in it, or a file.
type Place struct {
	Name  string      // as an option names it
	Path  string      // absolute, links followed
	Label label.Label // what is read there carries it; Top if it is only written: anything may be put there
	Write bool
}

// OptionProblem is one thing wrong with the options of a toolset.
type OptionProblem struct {
	Option string // its name; "" for the toolset as a whole
	Text   string
	Hint   string // may be empty
}

// OptionsError is everything wrong with the options of a toolset.
type OptionsError struct {
	Use      string
	Problems []OptionProblem
}

func (e *OptionsError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = e.Use + ": "
		if p.Option != "" {
			lines[i] += "option " + p.Option + ": "
		}
		lines[i] += p.Text
		if p.Hint != "" {
			lines[i] += "; " + p.Hint
		}
	}
	return strings.Join(lines, "\n")
}

// sets are the toolsets, by name, each with the names of all its tools.
func sets() []set {
	return []set{clockSet(), commandSet(), csvSet(), filesSet(), httpSet(), mailSet(), paymentsSet(), sqlSet()}
}

type set struct {
	Factory
	tools []string
}

// Lookup returns the factory of a toolset ("mail") or of one tool of it ("mail.send"), or nil.
func Lookup(name string) *Factory {
	for _, s := range sets() {
		if s.Name == name {
			return &s.Factory
		}
		if slices.Contains(s.tools, name) {
			f := s.Factory
			f.Name, f.tool = name, name
			return &f
		}
	}
	return nil
}

// Names returns what [Lookup] knows, sorted: toolsets and their tools.
func Names() []string {
	var out []string
	for _, s := range sets() {
		out = append(append(out, s.Name), s.tools...)
	}
	slices.Sort(out)
	return out
}

// Build checks the options and makes the tools. Options are plain data: nil, bool, int, float64, string, []any,
// map[string]any. An error is an [*OptionsError]. The caller closes the toolset.
func (f *Factory) Build(ctx context.Context, env Env, options map[string]any) (*Toolset, error) {
	given, err := value.Of(options, label.Bottom())
	if options == nil {
		given = value.DictOf(label.Bottom())
	}
	if err != nil {
		return nil, &OptionsError{f.Name, []OptionProblem{{Text: err.Error()}}}
	}
	checker := &builtins.Tool{Name: f.Name, Params: f.Options}
	if bad, ok := errors.AsType[*builtins.SchemaError](checker.CheckArgs(given)); ok {
		out := &OptionsError{Use: f.Name}
		for _, p := range bad.Problems {
			option, part, _ := strings.Cut(p.Path, "[")
			if part != "" {
				p.Text = "[" + part + ": " + p.Text
			}
			out.Problems = append(out.Problems, OptionProblem{option, p.Text, p.Hint})
		}
		return nil, out
	}
	plain := given.Plain().(map[string]any)
	// SQLite sees a relative path from elsewhere.
	for _, dir := range []*string{&env.Dir, &env.State} {
		if *dir == "" {
			continue
		}
		abs, err := filepath.Abs(*dir)
		if err != nil {
			return nil, &OptionsError{f.Name, []OptionProblem{{Text: err.Error()}}}
		}
		*dir = abs
	}
	b := &builder{env: env, tool: f.tool, in: &builtins.Invocation{Args: plain}}
	ts, err := f.build(ctx, b)
	if err != nil {
		b.failed("", err)
	}
	if len(b.bad) == 0 && f.tool != "" && !ts.keep(f.tool) {
		b.fail("write", f.tool+" writes, want write: true")
	}
	if ts != nil && !slices.ContainsFunc(ts.Tools, func(t *builtins.Tool) bool { return t.Effects&(builtins.Write|builtins.Destructive) != 0 }) {
		for i := range ts.Places {
			ts.Places[i].Write = false
		}
	}
	if len(b.bad) > 0 {
		if ts != nil {
			ts.Close()
		}
		return nil, &OptionsError{f.Name, b.bad}
	}
	return ts, nil
}

// keep leaves one tool, and reports whether it was there.
func (ts *Toolset) keep(name string) bool {
	ts.Tools = slices.DeleteFunc(ts.Tools, func(t *builtins.Tool) bool { return t.Name != name })
	return len(ts.Tools) == 1
}

// builder hands options to a toolset and collects what is wrong with them.
type builder struct {
	env  Env
	tool string // the only tool that is wanted, or ""
	in   *builtins.Invocation
	bad  []OptionProblem
}

func (b *builder) fail(option, text string) {
	b.bad = append(b.bad, OptionProblem{Option: option, Text: text})
}

func (b *builder) failed(option string, err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		b.fail(option, line)
	}
}

func (b *builder) text(option, otherwise string) string {
	if s, ok := b.in.Args[option].(string); ok {
		return s
	}
	return otherwise
}

func (b *builder) yes(option string) bool { return builtins.Arg[bool](b.in, option) }

// label returns the label that the options trust, readers and tags declare.
func (b *builder) label(trust label.Trust) label.Label {
	if s, ok := b.in.Args["trust"].(string); ok {
		trust, _ = label.ParseTrust(s) // one of the schema's enum
	}
	readers := label.Only()
	if b.env.Principal != "" {
		readers = label.Only(b.env.Principal)
	}
	if list, ok := b.in.Args["readers"].([]any); ok {
		readers = label.Only(texts(list)...)
	}
	return label.New(trust, readers, texts(builtins.Arg[[]any](b.in, "tags")))
}

func texts(list []any) []string {
	var out []string
	for _, x := range list {
		if s, ok := x.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// place returns the path that an option names: as seen from the agent's folder, or below the state folder,
// where what is named is made if it is not there. It reports what leads out of the state folder, or that there is none, and returns "".
func (b *builder) place(option, path string, inState bool) string {
	if inState && !filepath.IsLocal(filepath.FromSlash(path)) {
		b.fail(option, fmt.Sprintf("got %q, want a path below the state folder", path))
		return ""
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	base := b.env.Dir
	if inState {
		base = b.env.State
		if base == "" {
			b.fail(option, "is in the state folder, and there is none")
			return ""
		}
	}
	return filepath.Join(base, filepath.FromSlash(path))
}

// schema is a JSON Schema written in Go source.
func schema(s string) json.RawMessage { return json.RawMessage(s) }

const (
	textSchema  = `{"type": "string"}`
	boolSchema  = `{"type": "boolean"}`
	bytesSchema = `{"type": "object", "required": ["$bytes"], "properties": {"$bytes": {"type": "string", "contentEncoding": "base64"}}}`
)

// labelOptions are the options that say how what is read is labelled.
func labelOptions(trust string) []builtins.Param {
	return []builtins.Param{
		{Name: "trust", Doc: "Who may have influenced what is read. Default: " + trust + ".", Schema: schema(`{"enum": ["untrusted", "internal", "user", "system"]}`)},
		{Name: "readers", Doc: `Who may learn it; ["*"] is everybody. Default: the principal.`, Schema: schema(`{"type": "array", "items": {"type": "string", "minLength": 1}}`)},
		{Name: "tags", Doc: "What kinds of thing are in it, such as pii.", Schema: schema(`{"type": "array", "items": {"type": "string", "minLength": 1}}`)},
	}
}

// fail makes an error that a program can tell apart by its code.
func fail(code, format string, args ...any) error {
	return &builtins.Error{Code: code, Text: fmt.Sprintf(format, args...)}
}
