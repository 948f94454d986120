package model

import (
	"encoding/json"
	"slices"
	"strings"
)

// answerField is under which name an answer stands that must fit a schema: providers take objects alone.
const answerField = "answer"

// answerSchema is the schema of an object that holds the answer.
func answerSchema(schema json.RawMessage) json.RawMessage {
	b, err := json.Marshal(map[string]any{
		"type": "object", "properties": map[string]json.RawMessage{answerField: schema}, "required": []string{answerField}, "additionalProperties": false,
	})
	if err != nil { // it is no JSON: the answer is free, and whoever asked looks at it
		return json.RawMessage(`{"type":"object"}`)
	}
	return b
}

// unwrapAnswer takes the answer out of its object. What is no such object is the answer itself, of a server that holds its model to nothing.
func unwrapAnswer(text string) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &fields) != nil || len(fields) != 1 || fields[answerField] == nil {
		return text
	}
	return string(fields[answerField])
}

// strictWords are the keywords with which a provider holds its model to a schema exactly.
var strictWords = strings.Fields("type properties required items enum const anyOf description title additionalProperties minimum maximum multipleOf pattern format minItems maxItems")

// strict reports whether a provider can hold its model to a schema exactly: objects with all of their properties and no others, and keywords that it knows. It refuses to
// try with any other.
func strict(schema json.RawMessage) bool {
	var s map[string]json.RawMessage
	if json.Unmarshal(schema, &s) != nil {
		return false
	}
	var properties map[string]json.RawMessage
	var required []string
	var parts []json.RawMessage
	for word, value := range s {
		if !slices.Contains(strictWords, word) {
			return false
		}
		switch word {
		case "properties":
			if json.Unmarshal(value, &properties) != nil {
				return false
			}
		case "required":
			if json.Unmarshal(value, &required) != nil {
				return false
			}
		case "anyOf":
			if json.Unmarshal(value, &parts) != nil {
				return false
			}
		case "items":
			parts = append(parts, value)
		}
	}
	if s["properties"] != nil || string(s["type"]) == `"object"` {
		if string(s["additionalProperties"]) != "false" || len(required) != len(properties) {
			return false
		}
	}
	for name, p := range properties {
		if !slices.Contains(required, name) {
			return false
		}
		parts = append(parts, p)
	}
	return !slices.ContainsFunc(parts, func(p json.RawMessage) bool { return !strict(p) })
}
