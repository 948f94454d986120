package rego

import (
	"slices"
	"strings"
	"testing"

	"callgate/policies/internal/sample"
	"callgate/spec"
)

// What rules read must be all that they need, which TestRandomPolicies sees to, and no more.
func TestReads(t *testing.T) {
	for _, test := range []struct{ name, module, want string }{
		{"fields of leaves", "deny contains {\"id\": \"a\", \"args\": [l.path]} if {\n\tsome l in input.leaves\n\tl.sink == \"url\"\n}", "leaves.path leaves.sink"},
		{"through a not", "deny contains \"a\" if {\n\tsome l in input.leaves\n\tnot l.typed\n}", "leaves.typed"},
		{"through a helper", "ok(l) if l.typed\nok(l) if l.norm == \"x\"\ndeny contains \"a\" if {\n\tsome l in input.leaves\n\tnot ok(l)\n}", "leaves.norm leaves.typed"},
		{"through a helper of a helper", "import data.callgate.lib\nok(l) if lib.only_from(l, {\"x\"})\ndeny contains \"a\" if {\n\tsome l in input.leaves\n\tnot ok(l)\n}", "leaves.more leaves.sources"},
		{"through every", "deny contains \"a\" if {\n\tevery l in input.leaves {\n\t\tl.rank > 0\n\t}\n}", "leaves.rank"},
		{"in a comprehension", `deny contains "a" if count({l.sink | some l in input.leaves}) > 1`, "leaves.sink"},
		{"how many", `deny contains "a" if count(input.leaves) > 3`, "leaves.sink"},
		{"how many of a kind", `deny contains "a" if count([l | some l in input.leaves; l.host == "x"]) > 3`, "leaves.host leaves.sink"},
		{"a list of them, and how many", "deny contains {\"id\": \"a\", \"msg\": sprintf(\"%v\", [ls])} if {\n\tls := [l | some l in input.leaves; l.host == \"x\"]\n\tcount(ls) > 3\n}", "leaves"},
		{"how many that differ", `deny contains "a" if count({l | some l in input.leaves; l.host == "x"}) > 3`, "leaves"},
		{"a label of an argument", `deny contains "a" if input.labels.args.to.rank < 1`, "labels.args.to.rank"},
		{"of any argument", `deny contains "a" if input.labels.args[_].rank < 1`, "labels.args.*.rank"},
		{"a whole label", `deny contains "a" if input.labels.pc == input.labels.context`, "labels.context labels.pc"},
		{"part of a label, by way of a variable", "deny contains \"a\" if {\n\tc := input.labels.pc.choice\n\tc.bits > 3\n}", "labels.pc.choice.bits"},
		{"an argument", `deny contains "a" if not input.call.args.amount <= 5`, "call.args.amount"},
		{"the arguments", `deny contains "a" if object.get(input.call.args, "amount", 0) > 5`, "call.args"},
		{"history of one tool", `deny contains "a" if not input.history.count["mail.send"] < 5`, "history.count.mail.send"},
		{"what is known beforehand", `deny contains "a" if input.call.tool == "mail.read"`, ""},
		{"nothing that matters for this call", "deny contains \"a\" if {\n\tinput.call.tool == \"other\"\n\tinput.labels.pc.rank == 0\n}", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := newEngine(t, Config{Policies: []spec.Policy{policy(t, head+test.module)}})
			findings(t, e, sample.Call("mail.read", field("id", "x")))
			for _, p := range e.programs {
				if got := strings.Join(slices.Sorted(slices.Values(p.program.reads)), " "); got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			}
		})
	}
}
