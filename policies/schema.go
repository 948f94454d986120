package policies

import _ "embed" // the schema

//go:embed input.schema.json
var inputSchema []byte

// InputSchema returns the JSON Schema (draft 7) of the request document. Rules are
// type-checked against it. The caller must not change the slice.
func InputSchema() []byte { return inputSchema }
