package builtins

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"callgate/engine/value"
)

// check returns what is wrong with a value that stands at a path.
func (s schema) check(path string, v value.Value) []Problem {
	c := checker{root: path}
	data := c.plain(path, v, s.shape, 0)
	if c.out != nil || s.s == nil {
		return c.out
	}
	err := s.s.Validate(data)
	if err == nil {
		return nil
	}
	bad, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return []Problem{{Path: path, Text: err.Error()}}
	}
	c.translate(v, s.shape, bad)
	slices.SortStableFunc(c.out, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
	return c.out
}

// checker collects problems below a root.
type checker struct {
	root string
	out  []Problem
}

// maxProblems keeps a report readable, whatever the size of the data.
const maxProblems = 20

func (c *checker) full() bool { return len(c.out) >= maxProblems }

func (c *checker) add(path, format string, args ...any) {
	if !c.full() {
		c.out = append(c.out, Problem{Path: path, Text: fmt.Sprintf(format, args...)})
	}
}

// plain turns a value into what the validator takes, and reports what JSON cannot say.
func (c *checker) plain(path string, v value.Value, sh *shape, depth int) any {
	if depth > MaxDepth {
		c.add(c.root, "nested deeper than %d", MaxDepth)
		return nil
	}
	switch v.Kind {
	case value.Int:
		return json.Number(v.Int.String())
	case value.Float:
		if sh != nil && slices.Contains(sh.types, "integer") && !slices.Contains(sh.types, "number") {
			c.add(path, "got float, want %s", programTypes(sh.types))
		} else if v.Float-v.Float != 0 { // NaN or an infinity
			c.add(path, "got %v, want a finite number", v.Float)
		}
		return v.Float
	case value.String:
		if !utf8.ValidString(v.Str) {
			c.add(path, "got text that is not UTF-8")
		}
		return v.Str
	case value.Bytes:
		return map[string]any{"$bytes": ""} // as in the canonical encoding
	case value.List, value.Tuple, value.Set:
		out := make([]any, len(v.Items))
		for i, e := range v.Items {
			if c.full() {
				break
			}
			out[i] = c.plain(indexPath(path, i), e, sh.items(), depth+1)
		}
		return out
	case value.Dict, value.Record:
		out := make(map[string]any, len(v.Items))
		for i, k := range v.Keys {
			if k.Kind != value.String {
				c.add(path, "got a key of type %s, want string", k.Kind)
				continue
			}
			c.plain(path, k, nil, depth)
			out[k.Str] = c.plain(keyPath(path, k.Str), v.Items[i], sh.property(k.Str), depth+1)
			if c.full() {
				break
			}
		}
		return out
	}
	return v.Plain()
}

func (s *shape) items() *shape {
	if s == nil {
		return nil
	}
	return s.item
}

func (s *shape) property(k string) *shape {
	if s == nil {
		return nil
	}
	return s.properties[k]
}

// translate reports a validator's findings in the words of programs.
func (c *checker) translate(v value.Value, sh *shape, bad *jsonschema.ValidationError) {
	switch k := bad.ErrorKind.(type) {
	case *kind.AnyOf:
		c.alternatives(v, sh, bad)
		return
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			c.add(c.at(v, sh, bad).path, "fits more than one of the alternatives")
			return
		}
		c.alternatives(v, sh, bad)
		return
	}
	if len(bad.Causes) == 0 {
		c.say(v, sh, bad)
		return
	}
	for _, cause := range bad.Causes {
		c.translate(v, sh, cause)
	}
}

// alternatives reports why a value fits none of several schemas: what the one of
// its own type says, or else the types that would do.
func (c *checker) alternatives(v value.Value, sh *shape, bad *jsonschema.ValidationError) {
	var want []string
	var closest []*jsonschema.ValidationError
	for _, cause := range bad.Causes {
		leaf := cause
		for len(leaf.Causes) == 1 {
			leaf = leaf.Causes[0]
		}
		if k, ok := leaf.ErrorKind.(*kind.Type); ok && len(leaf.InstanceLocation) == len(bad.InstanceLocation) {
			want = append(want, k.Want...)
			continue
		}
		closest = append(closest, cause)
	}
	switch len(closest) {
	case 0:
		at := c.at(v, sh, bad)
		c.add(at.path, "got %s, want %s", at.v.Kind, programTypes(want))
	case 1:
		c.translate(v, sh, closest[0])
	default:
		c.add(c.at(v, sh, bad).path, "fits none of the alternatives")
	}
}

// spot is the place that a finding is about.
type spot struct {
	path string
	v    value.Value
	sh   *shape
}

func (c *checker) at(v value.Value, sh *shape, bad *jsonschema.ValidationError) spot {
	s := spot{c.root, v, sh}
	for _, token := range bad.InstanceLocation {
		switch s.v.Kind {
		case value.List, value.Tuple, value.Set:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(s.v.Items) {
				return s
			}
			s = spot{indexPath(s.path, i), s.v.Items[i], s.sh.items()}
		default:
			e, ok := s.v.Get(token)
			if !ok {
				return s
			}
			s = spot{keyPath(s.path, token), e, s.sh.property(token)}
		}
	}
	return s
}

func (c *checker) say(v value.Value, sh *shape, bad *jsonschema.ValidationError) {
	at := c.at(v, sh, bad)
	switch k := bad.ErrorKind.(type) {
	case *kind.Type:
		c.add(at.path, "got %s, want %s", at.v.Kind, programTypes(k.Want))
	case *kind.Enum:
		c.add(at.path, "want one of %s", literals(k.Want))
	case *kind.Const:
		c.add(at.path, "want %s", literals([]any{k.Want}))
	case *kind.Required:
		for _, name := range k.Missing {
			c.add(keyPath(at.path, name), "missing")
		}
	case *kind.AdditionalProperties:
		var names []string
		if at.sh != nil {
			names = slices.Sorted(maps.Keys(at.sh.properties))
		}
		for _, name := range k.Properties {
			if !c.full() {
				c.out = append(c.out, Problem{keyPath(at.path, name), "unknown", unknownHint(name, names)})
			}
		}
	case *kind.MinLength:
		c.add(at.path, "got %d characters, want at least %d", k.Got, k.Want)
	case *kind.MaxLength:
		c.add(at.path, "got %d characters, want at most %d", k.Got, k.Want)
	case *kind.MinItems:
		c.add(at.path, "got %d elements, want at least %d", k.Got, k.Want)
	case *kind.MaxItems:
		c.add(at.path, "got %d elements, want at most %d", k.Got, k.Want)
	case *kind.MinProperties:
		c.add(at.path, "got %d keys, want at least %d", k.Got, k.Want)
	case *kind.MaxProperties:
		c.add(at.path, "got %d keys, want at most %d", k.Got, k.Want)
	case *kind.Minimum:
		c.add(at.path, "want at least %s", number(k.Want))
	case *kind.Maximum:
		c.add(at.path, "want at most %s", number(k.Want))
	case *kind.ExclusiveMinimum:
		c.add(at.path, "want more than %s", number(k.Want))
	case *kind.ExclusiveMaximum:
		c.add(at.path, "want less than %s", number(k.Want))
	case *kind.MultipleOf:
		c.add(at.path, "want a multiple of %s", number(k.Want))
	case *kind.Pattern:
		c.add(at.path, "want text that matches %q", k.Want)
	case *kind.UniqueItems:
		c.add(at.path, "elements %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.FalseSchema:
		c.add(at.path, "want nothing here")
	default:
		c.add(at.path, "does not satisfy %q", strings.Join(k.KeywordPath(), "/"))
	}
}

func number(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func literals(list []any) string {
	var out []string
	for _, x := range list {
		b, err := json.Marshal(x)
		if err != nil {
			b = fmt.Append(nil, x)
		}
		out = append(out, string(b))
	}
	return strings.Join(out, ", ")
}

// programTypes names JSON's types as programs do.
func programTypes(jsonTypes []string) string {
	names := map[string]string{
		"null": "None", "boolean": "bool", "integer": "int",
		"number": "number", "string": "string", "array": "list", "object": "dict",
	}
	var out []string
	for _, t := range jsonTypes {
		out = append(out, names[t])
	}
	return strings.Join(out, " or ")
}

func indexPath(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// keyPath appends a key to a path. A key that is no name is quoted, so that every path can be
// read in one way only.
func keyPath(path, key string) string {
	name := key != "" && !strings.ContainsFunc(key, func(r rune) bool { return !isAlnum(r) && r != '_' && r != '-' })
	switch {
	case name && path == "":
		return key
	case name:
		return path + "." + key
	}
	return path + "[" + strconv.Quote(key) + "]"
}
