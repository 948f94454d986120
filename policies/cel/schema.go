package cel

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"

	"callgate/policies"
)

// maxSchemaDepth is how far types follow a schema; what is deeper is dyn.
const maxSchemaDepth = 8

// argsType returns the type of call.args for a tool, and the types of the objects in it.
func argsType(t policies.ToolSchema) (*argType, []*objectType) {
	args := newObjectType(typeArguments + t.Name)
	b := schemaTypes{tool: t.Name}
	for _, p := range t.Params {
		args.addArg(p.Name, b.param(p))
	}
	return &argType{typ: args.typ, kind: argObject, object: args}, append(b.objects, args)
}

// schemaTypes turns the JSON Schemas of one tool into types.
type schemaTypes struct {
	tool    string
	root    any      // the schema of the parameter, for $ref
	open    []string // the references being followed
	objects []*objectType
}

func (b *schemaTypes) param(p policies.ParamSchema) *argType {
	var schema any
	if json.Unmarshal(p.Schema, &schema) != nil {
		return dynArg
	}
	b.root = schema
	return b.of(schema, p.Name, 0)
}

// of returns the type for a schema: dyn if the schema allows values of several types.
func (b *schemaTypes) of(schema any, path string, depth int) *argType {
	m, ok := schema.(map[string]any)
	if !ok || depth > maxSchemaDepth {
		return dynArg
	}
	if r, ok := m["$ref"].(string); ok {
		return b.ref(r, path, depth)
	}
	for _, k := range []string{"anyOf", "oneOf"} {
		if alternatives, ok := m[k].([]any); ok {
			return b.oneOf(alternatives, path, depth)
		}
	}
	if all, ok := m["allOf"].([]any); ok && m["type"] == nil {
		if len(all) != 1 {
			return dynArg
		}
		return b.of(all[0], path, depth+1)
	}
	switch t := m["type"].(type) {
	case string:
		return b.typed(t, m, path, depth)
	case []any:
		return b.several(t, m, path, depth)
	}
	if values, ok := m["enum"].([]any); ok {
		return typeOfValues(values)
	}
	if v, ok := m["const"]; ok {
		return typeOfValues([]any{v})
	}
	if m["properties"] != nil {
		return b.typed("object", m, path, depth)
	}
	return dynArg
}

func (b *schemaTypes) typed(name string, m map[string]any, path string, depth int) *argType {
	switch name {
	case "null":
		return nullArg
	case "boolean":
		return &argType{typ: types.BoolType, kind: argBool}
	case "integer":
		return &argType{typ: types.IntType, kind: argInt}
	case "number":
		return &argType{typ: types.DoubleType, kind: argDouble}
	case "string":
		return &argType{typ: types.StringType, kind: argString}
	case "array":
		elem := dynArg
		if m["prefixItems"] == nil {
			elem = b.of(m["items"], path+"[]", depth+1)
		}
		return &argType{typ: types.NewListType(elem.typ), kind: argList, elem: elem}
	case "object":
		return b.objectOf(m, path, depth)
	}
	return dynArg
}

// objectOf returns an object type for a schema that names properties, unless it says
// that there are others; a map otherwise.
func (b *schemaTypes) objectOf(m map[string]any, path string, depth int) *argType {
	properties, _ := m["properties"].(map[string]any)
	others := m["additionalProperties"]
	if len(properties) > 0 && (others == nil || others == false) && m["patternProperties"] == nil {
		t := newObjectType(path + " of " + b.tool)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			t.addArg(name, b.of(properties[name], path+"."+name, depth+1))
		}
		b.objects = append(b.objects, t)
		return &argType{typ: t.typ, kind: argObject, object: t}
	}
	elem := dynArg
	if len(properties) == 0 && m["patternProperties"] == nil {
		elem = b.of(others, path+".*", depth+1)
	}
	return &argType{typ: types.NewMapType(types.StringType, elem.typ), kind: argMap, elem: elem}
}

// several returns the type for a list of types: that of the only one besides null.
func (b *schemaTypes) several(names []any, m map[string]any, path string, depth int) *argType {
	var alternatives []any
	for _, n := range names {
		one := maps.Clone(m)
		one["type"] = n
		alternatives = append(alternatives, one)
	}
	return b.oneOf(alternatives, path, depth)
}

// oneOf returns the type that all alternatives but null have.
func (b *schemaTypes) oneOf(alternatives []any, path string, depth int) *argType {
	var out *argType
	nullable := false
	for _, a := range alternatives {
		t := b.of(a, path, depth+1)
		switch {
		case t.kind == argNull:
			nullable = true
		case out == nil:
			out = t
		case out.kind > argString || !out.typ.IsExactType(t.typ):
			return dynArg
		}
	}
	switch {
	case out == nil:
		return nullArg
	case !nullable:
		return out
	case out.kind == argDyn || out.kind > argString || out.nullable:
		return dynArg
	}
	return &argType{typ: types.NewNullableType(out.typ), kind: out.kind, nullable: true}
}

func typeOfValues(values []any) *argType {
	var out *argType
	for _, v := range values {
		var t *argType
		switch v.(type) {
		case string:
			t = &argType{typ: types.StringType, kind: argString}
		case bool:
			t = &argType{typ: types.BoolType, kind: argBool}
		default: // a number: of which type is not said
			return dynArg
		}
		if out != nil && out.kind != t.kind {
			return dynArg
		}
		out = t
	}
	if out == nil {
		return dynArg
	}
	return out
}

// ref follows a reference within the parameter's schema.
func (b *schemaTypes) ref(r, path string, depth int) *argType {
	pointer, ok := strings.CutPrefix(r, "#")
	if !ok || slices.Contains(b.open, r) {
		return dynArg
	}
	at := b.root
	for _, step := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		m, ok := at.(map[string]any)
		if !ok {
			return dynArg
		}
		at = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	b.open = append(b.open, r)
	t := b.of(at, path, depth+1)
	b.open = b.open[:len(b.open)-1]
	return t
}
