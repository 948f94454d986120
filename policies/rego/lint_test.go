package rego

import (
	"regexp"
	"testing"

	"callgate/spec"
)

func TestLint(t *testing.T) {
	const allow = "allow contains \"ok\" if true\n"
	for _, test := range []struct{ name, module, want, hint string }{
		{"a tool that is not granted", allow + `deny contains "a" if input.call.tool == "mail.sned"`, `p.rego:4:\d+: warning: "mail.sned" is none of the granted tools`, `did you mean "mail.send"?`},
		{"… among others", allow + `deny contains "a" if input.call.tool in {"mail.send", "mail.reed"}`, `"mail.reed" is none of`, `did you mean "mail.read"?`},
		{"a tool that another agent may have", allow + `deny contains "a" if input.call.tool == "crm.lookup"`, "", ""},
		{"a kind of call", allow + `deny contains "a" if input.call.kind == "observed"`, `"observed" is none of input.call.kind`, `did you mean "observe"?`},
		{"an effect", allow + `deny contains "a" if "egres" in input.call.effects`, `"egres" is none of input.call.effects`, `did you mean "egress"?`},
		{"a sink", allow + "deny contains \"a\" if {\n\tsome l in input.leaves\n\tl.sink == \"recipent\"\n}", `p.rego:6:\d+: warning: "recipent" is none of sink`, `did you mean "recipient"?`},
		{"a sink in a helper", allow + "bad(l) if l.sink in {\"url\", \"urls\"}\ndeny contains \"a\" if {\n\tsome l in input.leaves\n\tbad(l)\n}", `"urls" is none of sink`, ""},
		{"two things at once", allow + "deny contains \"a\" if {\n\tinput.call.tool == \"mail.send\"\n\tinput.call.tool == \"mail.read\"\n}", `p.rego:6:\d+: warning: input.call.tool: the rule can never fire, it is "mail.send" above`, ""},
		{"two things at once, of one leaf", allow + "deny contains \"a\" if {\n\tsome l in input.leaves\n\tl.norm == \"a\"\n\t\"b\" == l.norm\n}", `p.rego:7:\d+: warning: l.norm: the rule can never fire, it is "a" above`, ""},
		{"a number above one and below another", allow + "deny contains \"a\" if {\n\tinput.session.turn > 5\n\t5 >= input.session.turn\n}", `input.session.turn: the rule can never fire, it is > 5 above`, ""},
		{"numbers that there are", allow + "deny contains \"a\" if {\n\tinput.session.turn >= 5\n\t5 >= input.session.turn\n\tinput.session.turn == 5\n}", "", ""},
		{"a rank that there is not", allow + "deny contains \"a\" if input.labels.pc.rank > 3", `input.labels.pc.rank: the rule can never fire, a rank is 0 to 3`, ""},
		{"a denial that is silent", allow + `deny contains "a" if input.call.args.amount > 100`, `deny: input.call.args.amount may be missing`, "not … <="},
		{"an ask that is silent", allow + `ask contains "a" if input.call.args.to != "x"`, `ask: input.call.args.to may be missing`, "not … =="},
		{"a denial of an argument that is always there", allow + "deny contains \"a\" if {\n\tinput.call.tool == \"bank.transfer\"\n\tinput.call.args.iban != \"x\"\n}", "", ""},
		{"a grant of what is missing", `allow contains "a" if not input.call.args.amount > 100`, `allow: input.call.args.amount may be missing, and then this holds`, "is_number("},
		{"… that is asked for", "allow contains \"a\" if {\n\tis_number(input.call.args.amount)\n\tnot input.call.args.amount > 100\n}", "", ""},
		{"a whole label", allow + `deny contains "a" if input.labels.pc == input.labels.program`, `p.rego:4:1: warning: all of labels.pc is read, sources too`, "name the fields"},
		{"what an untrusted choice said", allow + `deny contains "a" if input.labels.pc.choice.bits > 3`, "", ""},
		{"the whole label of an argument", allow + `deny contains "a" if input.labels.args.to == input.labels.args.body`, `all of labels.args.body is read`, "name the fields"},
		{"whole leaves", allow + "deny contains \"a\" if {\n\tsome l in input.leaves\n\tl in data.known\n}", `all of leaves is read`, "name the fields"},
		{"a leaf for a helper that reads a field", allow + "low(l) if l.rank < 1\ndeny contains \"a\" if {\n\tsome l in input.leaves\n\tlow(l)\n}", "", ""},
		{"leaves that are counted", allow + `deny contains "a" if count([l | some l in input.leaves; l.rank < 1]) > 3`, "", ""},
		{"a tool in a helper", allow + "sends if input.call.tool == \"mail.send\"\ndeny contains \"a\" if {\n\tsends\n\t\"pii\" in input.tags\n}", `p.rego:6:\d+: warning: sends names the tool in a helper`, "compare input.call.tool"},
		{"leaves of every call", allow + "deny contains \"a\" if {\n\tsome l in input.leaves\n\tl.sink == \"url\"\n\tl.host == \"x\"\n}", `p.rego:5:\d+: warning: the leaves of every call are gone through for the sink url`, `"url" in input.call.sinks`},
		{"leaves of calls that have them", allow + "deny contains \"a\" if {\n\t\"url\" in input.call.sinks\n\tsome l in input.leaves\n\tl.sink == \"url\"\n}", "", ""},
		{"an accept of what there is not", allow + `accept contains {"id": "a", "path": "bdy"} if input.call.tool == "mail.send"`, `p.rego:4:\d+: warning: accept: no tool that this is about has a parameter bdy`, "did you mean body?"},
		{"an accept of what another tool has", allow + `accept contains {"id": "a", "path": "iban"} if input.call.tool == "mail.send"`, `has a parameter iban: nothing is accepted`, ""},
		{"an accept of a part", allow + `accept contains {"id": "a", "path": "to[0]"} if input.call.tool == "mail.send"`, "", ""},
		{"an accept of the control flow", allow + `accept contains {"id": "a", "path": "pc"} if input.call.tool == "mail.send"`, "", ""},
		{"a grant of nothing", "allow contains \"a\" if {\n\tevery p in input.call.args.payments {\n\t\tp.ok\n\t}\n}", `allow: every holds if there is nothing in input.call.args.payments`, "count("},
		{"a grant of nothing, counted", "allow contains \"a\" if {\n\tcount(input.call.args.payments) > 0\n\tevery p in input.call.args.payments {\n\t\tp.ok\n\t}\n}", "", ""},
		{"a grant of a sum", `allow contains "a" if sum(input.call.args.amounts) < 100`, `allow: the sum of nothing is 0`, "count("},
		{"not … <=", allow + `deny contains "a" if not input.call.args.amount <= 100`, "", ""},
		{"a condition that may hold", allow + "deny contains \"a\" if {\n\tinput.call.tool == \"mail.send\"\n\tinput.call.kind == \"tool\"\n\t\"egress\" in input.call.effects\n\tsome l in input.leaves\n\tl.sink in {\"url\", \"recipient\"}\n}", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, problems := New(Config{Policies: []spec.Policy{policy(t, head+test.module)}, Tools: sampleTools()})
			if test.want == "" {
				if len(problems) > 0 {
					t.Errorf("got %v, want none", problems)
				}
				return
			}
			if len(problems) != 1 || !problems[0].Warn || !regexp.MustCompile(test.want).MatchString(problems[0].String()) || !regexp.MustCompile(regexp.QuoteMeta(test.hint)).MatchString(problems[0].Hint) {
				t.Errorf("got %v, want one warning like %q with hint %q", problems, test.want, test.hint)
			}
		})
	}
}

func TestTheSituationsHaveNoWarnings(t *testing.T) {
	if _, problems := New(situationPolicies(t)); len(problems) > 0 {
		t.Errorf("got %v", problems)
	}
}
