package rego

import (
	"slices"
	"testing"

	"callgate/spec"
)

func TestToolsOfAPackage(t *testing.T) {
	for _, test := range []struct {
		name, module string
		want         []string // nil: any
	}{
		{"one tool", `deny contains "a" if input.call.tool == "x"`, []string{"x"}},
		{"written the other way round", `deny contains "a" if "x" == input.call.tool`, []string{"x"}},
		{"one of several", `deny contains "a" if input.call.tool in {"x", "y"}`, []string{"x", "y"}},
		{"every rule names one", "deny contains \"a\" if input.call.tool == \"x\"\nallow contains \"b\" if {\n\tinput.call.kind == \"tool\"\n\tinput.call.tool == \"y\"\n}", []string{"x", "y"}},
		{"one rule does not", "deny contains \"a\" if input.call.tool == \"x\"\nallow contains \"b\" if true", nil},
		{"not the tool", `deny contains "a" if not input.call.tool == "x"`, nil},
		{"another than it", `deny contains "a" if input.call.tool != "x"`, nil},
		{"a tool of the parameters", `deny contains "a" if input.call.tool in data.params.tools`, nil},
		{"a prefix", `deny contains "a" if startswith(input.call.tool, "x")`, nil},
		{"in a helper", "mine if input.call.tool == \"x\"\ndeny contains \"a\" if mine", nil},
		{"one or another", `deny contains "a" if { input.call.tool == "x" or input.call.tool == "y" }`, nil},
		{"through a variable", "deny contains \"a\" if {\n\tt := input.call.tool\n\tt == \"x\"\n}", []string{"x"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := newEngine(t, Config{Policies: []spec.Policy{policy(t, head+test.module)}})
			if got := e.units[0].packs[0].tools; !slices.Equal(got, test.want) || (got == nil) != (test.want == nil) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
