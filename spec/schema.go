package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// AnyKind is the name under which [Schema] gives one schema for documents of every
// kind, for editors that open files in which several stand.
const AnyKind = "Document"

// Schema returns the JSON Schema (draft 2020-12) of the documents of a kind, in any
// case. It says the same as the loader as far as a schema can: which keys, types, words and
// combinations there are. It cannot say that a name is declared twice, that a file is
// missing, or what readers of YAML disagree on.
func Schema(kind string) ([]byte, error) {
	names := append(Kinds(), AnyKind)
	for _, k := range names {
		if strings.EqualFold(k, kind) {
			var b bytes.Buffer
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			e.SetIndent("", "  ")
			if err := e.Encode(rootSchema(k)); err != nil {
				return nil, err
			}
			return b.Bytes(), nil
		}
	}
	err := fmt.Sprintf("kind: got %s, want %s", quoted(kind), orList(names))
	if near := Nearest(kind, names); near != "" {
		err += fmt.Sprintf("; did you mean %q?", near)
	}
	return nil, fmt.Errorf("%s", err)
}

func rootSchema(kind string) object {
	head := object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"$id", "urn:" + strings.ReplaceAll(APIVersion, "/", ":") + ":" + kind},
		{"title", "Callgate " + kind},
	}
	if kind != AnyKind {
		return append(head, shapes[kind].schema()...)
	}
	defs, then := object{}, []any{}
	for _, k := range Kinds() {
		defs = append(defs, member{k, shapes[k].schema()})
		then = append(then, object{
			{"if", object{{"properties", object{{"kind", object{{"const", k}}}}}, {"required", []string{"kind"}}}},
			{"then", object{{"$ref", "#/$defs/" + k}}},
		})
	}
	return append(head, object{
		{"type", "object"},
		{"properties", object{{"kind", object{{"enum", Kinds()}}}}},
		{"required", []string{"kind"}},
		{"allOf", then},
		{"$defs", defs},
	}...)
}

// object is a JSON object that keeps its order.
type object []member

type member struct {
	name  string
	value any
}

func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		for _, part := range []any{m.name, m.value} {
			var p bytes.Buffer
			e := json.NewEncoder(&p)
			e.SetEscapeHTML(false)
			if err := e.Encode(part); err != nil {
				return nil, err
			}
			b.Write(bytes.TrimSpace(p.Bytes()))
			b.WriteByte(':')
		}
		b.Truncate(b.Len() - 1)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// schema returns the JSON Schema of a shape.
func (s *shape) schema() object {
	var o object
	if s.doc != "" {
		o = append(o, member{"description", s.doc})
	}
	switch s.form {
	case textForm:
		t := object{{"type", "string"}}
		switch {
		case s.enum != nil:
			t = append(t, member{"enum", s.enum})
		case s.pattern != nil:
			t = append(t, member{"pattern", s.pattern.String()})
		case !s.empty:
			t = append(t, member{"minLength", 1})
		}
		if s.file {
			return append(o, member{"anyOf", []any{t, fileReference.schema()}})
		}
		return append(o, t...)
	case boolForm:
		return append(o, member{"type", "boolean"})
	case quantityForm:
		if s.unit.decimal {
			return append(o, member{"type", "number"}, member{"exclusiveMinimum", 0}, member{"maximum", 999_999_999})
		}
		t := object{{"type", "string"}, {"pattern", s.unit.pattern}}
		if s.unit.number {
			return append(o, member{"anyOf", []any{object{{"type", "integer"}, {"minimum", 1}}, t}})
		}
		return append(o, t...)
	case listForm:
		o = append(o, member{"type", "array"}, member{"items", s.item.schema()})
		if s.some {
			o = append(o, member{"minItems", 1})
		}
		if s.unique {
			o = append(o, member{"uniqueItems", true})
		}
	case freeForm:
		o = append(o, member{"type", "object"})
		if s.names != nil {
			o = append(o, member{"propertyNames", s.names.schema()})
		}
		o = append(o, member{"additionalProperties", s.item.schema()})
	case mapForm:
		o = append(o, s.mapSchema(nil)...)
	case caseForm:
		var cases []any
		for _, c := range s.cases {
			var others []string
			for _, name := range s.caseNames() {
				if c.open && c.lookup(name) == nil {
					others = append(others, name)
				}
			}
			cs := c.mapSchema(others)
			if c.doc != "" {
				cs = append(object{{"description", c.doc}}, cs...)
			}
			cases = append(cases, cs)
		}
		o = append(o, member{"type", "object"}, member{"oneOf", cases})
	}
	return o
}

// mapSchema is the schema of a map in which some keys are not allowed.
func (s *shape) mapSchema(not []string) object {
	props := object{}
	var required []string
	for _, k := range s.keys {
		v := k.shape.schema()
		if k.def != "" {
			v = describe(v, "Default: "+k.def+".")
		}
		props = append(props, member{k.name, v})
		if k.required {
			required = append(required, k.name)
		}
	}
	for _, name := range not {
		props = append(props, member{name, false})
	}
	o := object{{"type", "object"}, {"properties", props}}
	if required != nil {
		o = append(o, member{"required", required})
	}
	if !s.open {
		o = append(o, member{"additionalProperties", false})
	}
	if s.one != nil {
		o = append(o, member{"oneOf", eachRequired(s.one)})
	}
	if s.any != nil {
		o = append(o, member{"anyOf", eachRequired(s.any)})
	}
	var all []any
	for _, c := range s.when {
		then := object{}
		if c.wants != nil {
			then = append(then, member{"required", c.wants})
		}
		if c.any != nil {
			then = append(then, member{"anyOf", eachRequired(c.any)})
		}
		if c.bans != nil {
			banned := object{}
			for _, name := range c.bans {
				banned = append(banned, member{name, false})
			}
			then = append(then, member{"properties", banned})
		}
		all = append(all, object{
			{"if", object{{"properties", object{{c.key, object{{"enum", c.is}}}}}, {"required", []string{c.key}}}},
			{"then", then},
		})
	}
	if all != nil {
		o = append(o, member{"allOf", all})
	}
	return o
}

func eachRequired(names []string) []any {
	var out []any
	for _, name := range names {
		out = append(out, object{{"required", []string{name}}})
	}
	return out
}

// describe adds a sentence to a schema's description.
func describe(o object, sentence string) object {
	if len(o) > 0 && o[0].name == "description" {
		return append(object{{"description", o[0].value.(string) + " " + sentence}}, o[1:]...)
	}
	return append(object{{"description", sentence}}, o...)
}
