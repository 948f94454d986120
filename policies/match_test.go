package policies

import (
	"testing"

	"callgate/spec"
)

func TestMatches(t *testing.T) {
	send := Static{
		Agent: "inbox", Principal: "ana.b@corp.example", Groups: []string{"finance"}, Kind: KindTool,
		Tool: "mail.send", Effects: []string{"write", "egress"}, Sinks: []string{"content", "recipient"},
	}
	length := Static{Agent: "inbox", Principal: "ana.b@corp.example", Kind: KindBuiltin, Tool: "len"}
	for _, test := range []struct {
		name string
		m    spec.Match
		s    Static
		want bool
	}{
		{"an empty match applies to everything", spec.Match{}, length, true},
		{"a tool by name", spec.Match{Tools: []string{"mail.send"}}, send, true},
		{"another tool", spec.Match{Tools: []string{"mail.read"}}, send, false},
		{"a star stands for one part of a tool's name", spec.Match{Tools: []string{"mail.*"}}, send, true},
		{"a star does not cross a dot", spec.Match{Tools: []string{"m*d"}}, send, false},
		{"two stars cross dots", spec.Match{Tools: []string{"m**d"}}, send, true},
		{"a lone star is any tool", spec.Match{Tools: []string{"*"}}, send, true},
		{"a prefix alone is not enough", spec.Match{Tools: []string{"mail"}}, send, false},
		{"one of several effects", spec.Match{Effects: []string{"destructive", "egress"}}, send, true},
		{"none of the effects", spec.Match{Effects: []string{"read"}}, send, false},
		{"any effect, and the call has none", spec.Match{Effects: []string{"*"}}, length, false},
		{"a sink", spec.Match{Sinks: []string{"recipient"}}, send, true},
		{"another sink", spec.Match{Sinks: []string{"account"}}, send, false},
		{"sink and tool must both match", spec.Match{Sinks: []string{"recipient"}, Tools: []string{"http.*"}}, send, false},
		{"a kind", spec.Match{Kinds: []string{"builtin"}}, length, true},
		{"another kind", spec.Match{Kinds: []string{"observe", "answer"}}, send, false},
		{"an agent", spec.Match{Agents: []string{"in*"}}, send, true},
		{"a principal by domain, dots in the name", spec.Match{Principals: []string{"*@corp.example"}}, send, true},
		{"a domain that only begins alike", spec.Match{Principals: []string{"*@corp"}}, send, false},
		{"a group", spec.Match{Principals: []string{"group:finance"}}, send, true},
		{"a group that the principal is not in", spec.Match{Principals: []string{"group:admin"}}, send, false},
		{"a group is not a principal's name", spec.Match{Principals: []string{"finance"}}, send, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Matches(test.m, test.s); got != test.want {
				t.Errorf("Matches(%+v, %+v) = %t, want %t", test.m, test.s, got, test.want)
			}
		})
	}
}

func TestGlob(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"**", "a.b", true}, {"*.*", "a.b", true}, {"*.*", "a.b.c", false},
		{"**.c", "a.b.c", true}, {"a.**", "a.", true}, {"*c*d", "acbd", true}, {"*c*d", "acb.d", false}, {"**c*d", "a.c.cd", true},
		{"mcp.**.read", "mcp.a.b.read", true}, {"mcp.**.read", "mcp.a.b.reads", false}, {"**x*", "a.x.xb", true}, {"*a", "aaab", false},
	} {
		if got := glob(test.pattern, test.name, true); got != test.want {
			t.Errorf("glob(%q, %q) = %t, want %t", test.pattern, test.name, got, test.want)
		}
	}
}

func TestSinkKindsListsPartsAndLeavesOutNone(t *testing.T) {
	tool := ToolSchema{Params: []ParamSchema{
		{Name: "payments", Sink: SinkNone, Sinks: map[string]string{"[].iban": SinkAccount, "[].memo": SinkContent}},
		{Name: "memo", Sink: SinkContent}, {Name: "note"},
	}}
	if got := tool.SinkKinds(); len(got) != 2 || got[0] != SinkAccount || got[1] != SinkContent {
		t.Errorf("SinkKinds() = %v, want [account content]", got)
	}
}
