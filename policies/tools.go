package policies

import (
	"encoding/json"
	"slices"
	"strings"
)

// ToolSchema is what rules can know of a tool before it is called: their
// expressions are checked against it when they are loaded.
type ToolSchema struct {
	Name    string
	Effects []string      // of read, write, egress, destructive; a tool that declares none has all four here
	Params  []ParamSchema // in declared order
}

// ParamSchema is one parameter of a tool.
type ParamSchema struct {
	Name     string
	Schema   json.RawMessage // JSON Schema; nil: anything
	Required bool
	Sink     string            // one of the Sink constants; "" means none
	Sinks    map[string]string // of parts: "[].iban", ".Authorization", ".*"
}

// SinkKinds returns the kinds of sink that the parameters and their parts declare,
// sorted, without none: what Call.Sinks and Static.Sinks hold.
func (t ToolSchema) SinkKinds() []string {
	var kinds []string
	add := func(kind string) {
		if kind != "" && kind != SinkNone {
			kinds = append(kinds, kind)
		}
	}
	for _, p := range t.Params {
		add(p.Sink)
		for _, kind := range p.Sinks {
			add(kind)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// Lacks reports whether none of the tools has the parameter that the path of a leaf begins with; near is one that was probably meant.
func Lacks(path string, tools []ToolSchema) (param, near string, lacks bool) {
	param = path
	if i := strings.IndexAny(path, ".[#"); i >= 0 {
		param = path[:i]
	}
	if param == pcPath {
		return param, "", false
	}
	var names []string
	for _, t := range tools {
		for _, p := range t.Params {
			names = append(names, p.Name)
		}
	}
	return param, didYouMean(param, names), !slices.Contains(names, param)
}
