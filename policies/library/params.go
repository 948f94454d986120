package library

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"callgate/spec"
)

// schema is the part of JSON Schema that the parameters of shipped policies are described in.
type schema struct {
	Type        string
	Enum        []any
	Properties  map[string]schema
	Additional  json.RawMessage `json:"additionalProperties"` // false, or a schema
	Items       *schema
	Minimum     *float64
	Pattern     string
	Default     any
	Description string
}

// paramsSchema returns the schema of a shipped policy's parameters.
func paramsSchema(name string) schema {
	b, err := files.ReadFile(name + "/params.schema.json")
	var s schema
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil { // the files are in the binary
		panic(err)
	}
	return s
}

// parameters returns a policy's defaults with what was given over them, and what is wrong with that, at its place.
func parameters(name string, given any, at func(path string) spec.Position) (map[string]any, []spec.Problem) {
	s := paramsSchema(name)
	out := map[string]any{}
	for key, p := range s.Properties {
		out[key] = p.Default
	}
	if given == nil {
		return out, nil
	}
	c := checker{at: at}
	c.check("params."+name, s, given)
	if object, ok := given.(map[string]any); ok && len(c.problems) == 0 {
		maps.Copy(out, object)
	}
	return out, c.problems
}

type checker struct {
	at       func(path string) spec.Position
	problems []spec.Problem
}

func (c *checker) fail(path, hint, format string, args ...any) {
	c.problems = append(c.problems, spec.Problem{Pos: c.at(path), Text: path + fmt.Sprintf(format, args...), Hint: hint})
}

func (c *checker) check(path string, s schema, v any) {
	if got := typeOf(v); s.Type != "" && got != s.Type && !(got == "integer" && s.Type == "number") {
		c.fail(path, "", ": got %s, want %s", got, s.Type)
		return
	}
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, v) {
		c.fail(path, "", ": got %v, want one of %s", v, strings.Trim(fmt.Sprint(s.Enum), "[]"))
	}
	if n, ok := number(v); ok && s.Minimum != nil && n < *s.Minimum {
		c.fail(path, "", ": got %v, want %v or more", v, *s.Minimum)
	}
	if text, ok := v.(string); ok && s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(text) {
		c.fail(path, "", ": got %q, want what matches %s", text, s.Pattern)
	}
	if list, ok := v.([]any); ok && s.Items != nil {
		for i, e := range list {
			c.check(fmt.Sprintf("%s[%d]", path, i), *s.Items, e)
		}
	}
	if object, ok := v.(map[string]any); ok {
		c.object(path, s, object)
	}
}

func (c *checker) object(path string, s schema, object map[string]any) {
	known := slices.Sorted(maps.Keys(s.Properties))
	var rest *schema
	if len(s.Additional) > 0 && string(s.Additional) != "false" {
		rest = new(schema)
		if err := json.Unmarshal(s.Additional, rest); err != nil {
			panic(err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		p, ok := s.Properties[key]
		switch {
		case ok:
			c.check(path+"."+key, p, object[key])
		case rest != nil:
			c.check(path+"."+key, *rest, object[key])
		default:
			hint := ""
			if near := spec.Nearest(key, known); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			c.fail(path+"."+key, hint, ": no such parameter, want one of %s", strings.Join(known, ", "))
		}
	}
}

// typeOf returns the JSON Schema type of plain data.
func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case int, int64:
		return "integer"
	case float64:
		if v == float64(int64(v)) {
			return "integer"
		}
		return "number"
	}
	return fmt.Sprintf("%T", v)
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
