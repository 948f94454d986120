package builtins

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Outline writes a JSON Schema as a short type: "list[{id: string, size: int}]".
func Outline(schema json.RawMessage) string {
	var s struct {
		Type       any                        `json:"type"`
		Items      json.RawMessage            `json:"items"`
		Properties map[string]json.RawMessage `json:"properties"`
		Enum       []any                      `json:"enum"`
		AnyOf      []json.RawMessage          `json:"anyOf"`
	}
	if len(schema) == 0 || json.Unmarshal(schema, &s) != nil {
		return "any"
	}
	if len(s.Enum) > 0 {
		var parts []string
		for _, e := range s.Enum {
			b, _ := json.Marshal(e)
			parts = append(parts, string(b))
		}
		return strings.Join(parts, "|")
	}
	if len(s.AnyOf) > 0 {
		var parts []string
		for _, one := range s.AnyOf {
			if t := Outline(one); !slices.Contains(parts, t) {
				parts = append(parts, t)
			}
		}
		return strings.Join(parts, "|")
	}
	names, _ := s.Type.([]any)
	if one, ok := s.Type.(string); ok {
		names = []any{one}
	}
	var parts []string
	for _, n := range names {
		switch n {
		case "integer":
			parts = append(parts, "int")
		case "number":
			parts = append(parts, "float")
		case "boolean":
			parts = append(parts, "bool")
		case "null":
			parts = append(parts, "None")
		case "array":
			parts = append(parts, "list["+Outline(s.Items)+"]")
		case "string":
			parts = append(parts, "str")
		case "object":
			parts = append(parts, fieldsOf(schema, s.Properties))
		default:
			parts = append(parts, fmt.Sprint(n))
		}
	}
	if len(parts) == 0 {
		return "any"
	}
	return strings.Join(parts, "|")
}

// fieldsOf writes the fields of an object in the order of the schema's text.
func fieldsOf(schema json.RawMessage, properties map[string]json.RawMessage) string {
	if len(properties) == 0 {
		return "dict"
	}
	var order struct {
		Properties keyOrder `json:"properties"`
	}
	if json.Unmarshal(schema, &order) != nil {
		return "dict"
	}
	var parts []string
	for _, n := range order.Properties {
		parts = append(parts, n+": "+Outline(properties[n]))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// keyOrder is the keys of a JSON object in the order of its text.
type keyOrder []string

// UnmarshalJSON reads the keys of an object.
func (k *keyOrder) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(strings.NewReader(string(b)))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		*k = append(*k, fmt.Sprint(t))
		var skip json.RawMessage
		if err := d.Decode(&skip); err != nil {
			return err
		}
	}
	return nil
}

// ItemSchema returns the schema of the items of a list that a schema describes; nil if it describes none.
func ItemSchema(schema json.RawMessage) json.RawMessage {
	var s struct {
		Items json.RawMessage `json:"items"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	return s.Items
}
