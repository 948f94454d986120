package cel

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/policies"
	"callgate/spec"
)

// rulesOf makes a policy of rules.
func rulesOf(rules ...spec.Rule) []spec.Policy {
	return []spec.Policy{{Meta: spec.Meta{Name: "p"}, CEL: &spec.CEL{Rules: rules}}}
}

func is(text string) spec.Expr { return spec.Expr{Text: text} }

// send is a call of mail.send: one recipient from a mail, one of the user's, a body, the control.
func send(t testing.TB) *policies.Request {
	mail := testLabel{Rank: 0, Sources: [][2]string{{"mail.read", "inbox"}}}
	user := testLabel{Rank: 2, Sources: [][2]string{{"prompt", "task"}}}
	return request{
		Tool: "mail.send", Effects: []string{"write", "egress"}, Sinks: []string{"content", "recipient"},
		Args:   map[string]any{"to": []any{"eve@x", "bob@y"}, "subject": "hi", "body": "see you"},
		Labels: map[string]testLabel{"to": mail, "subject": user, "body": user, "cc": {Rank: 3}, "priority": {Rank: 3}},
		Leaves: []testLeaf{
			{Path: "to[0]", Param: "to", Value: "eve@x", Norm: "eve@x", Host: "x", Sink: "recipient", testLabel: mail},
			{Path: "to[1]", Param: "to", Value: "bob@y", Norm: "bob@y", Host: "y", Sink: "recipient", Typed: true, testLabel: user},
			{Path: "subject", Param: "subject", Value: "hi", Norm: "hi", Sink: "content", testLabel: user},
			{Path: "body", Param: "body", Value: "see you", Norm: "see you", Sink: "content", testLabel: user},
			{Path: "pc", Param: "pc", Sink: "control", testLabel: user},
		},
		Count: map[string]int{"mail.send": 2, "mail.read": 0},
	}.request(t)
}

func TestRules(t *testing.T) {
	for _, test := range []struct {
		name string
		docs []spec.Policy
		want []string
	}{
		{"no rules find nothing", nil, nil},
		{"a rule that holds", rulesOf(spec.Rule{ID: "a", Action: "allow", When: is("true")}), []string{"allow:a"}},
		{"a rule that does not", rulesOf(spec.Rule{ID: "a", Action: "deny", When: is("labels.pc.rank < 1")}), nil},
		{"a deny that cannot be evaluated denies", rulesOf(spec.Rule{ID: "a", Action: "deny", When: is("history.count['files.delete'] > 3")}), []string{"error:a"}},
		{"so does an ask", rulesOf(spec.Rule{ID: "a", Action: "ask", When: is("history.count['files.delete'] > 3")}), []string{"error:a"}},
		{"an allow grants nothing", rulesOf(spec.Rule{ID: "a", Action: "allow", When: is("history.count['files.delete'] > 3")}), nil},
		{"nor does an accept", rulesOf(spec.Rule{ID: "a", Action: "accept", EachLeaf: true, When: is("leaf.value > 3")}), nil},
		{"a deny that gives no bool denies", rulesOf(spec.Rule{ID: "a", Action: "deny", When: is("principal.claims.level")}), []string{"error:a"}},
		{"an error that does not matter", rulesOf(spec.Rule{ID: "a", Action: "deny", When: is("history.count['files.delete'] > 3 && false")}), nil},
		{"a rule after one that fails", rulesOf(spec.Rule{ID: "a", Action: "deny", When: is("1 / (session.turn - 1) == 1")}, spec.Rule{ID: "b", Action: "allow", When: is("true")}), []string{"error:a", "allow:b"}},

		{"each leaf that fires is in one reason", rulesOf(spec.Rule{ID: "a", Action: "deny", EachLeaf: true, When: is("leaf.sink == 'recipient'")}), []string{"deny:a[to[0] to[1]]"}},
		{"each message is a reason", rulesOf(spec.Rule{ID: "a", Action: "deny", EachLeaf: true, When: is("leaf.sink == 'recipient'"), MessageExpr: is("leaf.norm")}), []string{"deny:a[to[0]]", "deny:a[to[1]]"}},
		{"the control is a leaf", rulesOf(spec.Rule{ID: "a", Action: "accept", EachLeaf: true, When: is("leaf.sink == 'control'")}), []string{"accept:a[pc]"}},
		{"an accept of what it names", rulesOf(spec.Rule{ID: "a", Action: "accept", When: is("true"), Args: is("leaves.filter(l, l.typed).map(l, l.path)")}), []string{"accept:a[to[1]]"}},
		{"an accept of nothing", rulesOf(spec.Rule{ID: "a", Action: "accept", When: is("true"), Args: is("leaves.filter(l, l.rank > 2).map(l, l.path)")}), nil},
		{"an accept whose args fail", rulesOf(spec.Rule{ID: "a", Action: "accept", When: is("true"), Args: is("[string(history.count['none'])]")}), nil},
		{"a deny whose args fail denies", rulesOf(spec.Rule{ID: "a", Action: "deny", When: is("true"), Args: is("[string(history.count['none'])]")}), []string{"deny:a"}},
		{"a leaf that fails denies once", rulesOf(spec.Rule{ID: "a", Action: "deny", EachLeaf: true, When: is("leaf.value > 3")}), []string{"error:a"}},

		{"match conditions that hold", []spec.Policy{{Meta: spec.Meta{Name: "p"}, CEL: &spec.CEL{
			Match: []spec.Expr{is("'egress' in call.effects"), is("size(leaves) > 3")}, Rules: []spec.Rule{{ID: "a", Action: "deny", When: is("true")}}}}}, []string{"deny:a"}},
		{"one that does not", []spec.Policy{{Meta: spec.Meta{Name: "p"}, CEL: &spec.CEL{
			Match: []spec.Expr{is("history.count['none'] == 1"), is("size(leaves) > 30")}, Rules: []spec.Rule{{ID: "a", Action: "deny", When: is("true")}}}}}, nil},
		{"one that fails denies, and the rules rest", []spec.Policy{{Meta: spec.Meta{Name: "p"}, CEL: &spec.CEL{
			Match: []spec.Expr{is("size(leaves) > 3"), {Name: "twice", Text: "history.count['none'] == 1"}}, Rules: []spec.Rule{{ID: "a", Action: "allow", When: is("true")}}}}}, []string{"error:p.match.twice"}},

		{"a policy for other tools", []spec.Policy{{Match: spec.Match{Tools: []string{"bank.*"}}, CEL: &spec.CEL{Rules: []spec.Rule{{ID: "a", Action: "deny", When: is("true")}}}}}, nil},
		{"a policy by sink", []spec.Policy{{Match: spec.Match{Sinks: []string{"recipient"}}, CEL: &spec.CEL{Rules: []spec.Rule{{ID: "a", Action: "deny", When: is("true")}}}}}, []string{"deny:a"}},
		{"a variable that fails fails its rules", []spec.Policy{{CEL: &spec.CEL{
			Variables: []spec.Expr{{Name: "v", Text: "history.count['none']"}, {Name: "w", Text: "variables.v + 1"}},
			Rules:     []spec.Rule{{ID: "a", Action: "deny", When: is("variables.w > 1")}, {ID: "b", Action: "deny", When: is("variables.v > 1")}, {ID: "c", Action: "deny", When: is("true")}}}}},
			[]string{"error:a", "error:b", "deny:c"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := summary(t, decide(t, engine(t, test.docs, nil), send(t)))
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestExpressions evaluates what expressions see of a request.
func TestExpressions(t *testing.T) {
	r := send(t)
	r.Call.State = &policies.State{Name: "outbox", Write: true, Label: testLabel{Rank: 1}.label()}
	r.Tags = []string{"*"}
	r.Labels.Context = testLabel{Rank: 1, Readers: []string{"ana@corp.example"}}.label()
	for _, text := range []string{
		"version == 'callgate/v1'",
		"time == timestamp('2026-12-01T10:00:00Z') && timestamp(time).getHours('Europe/Berlin') == 11",
		"agent.name == 'test' && agent.digest == '' && 'mail.send' in agent.tools && size(agent.effects) == 0",
		"principal.sub == 'ana@corp.example' && principal.groups == ['finance'] && principal.claims.level == 3 && !has(principal.claims.none)",
		"session.id == 's' && session.run == 'r' && session.turn == 1 && session.mode == 'react'",
		"call.id == 'c9' && call.kind == 'tool' && call.tool == 'mail.send' && call.effects == ['write', 'egress'] && 'content' in call.sinks",
		"call.site.file == 't.star' && call.site.line == 1 && call.site.column == 1 && call.site.function == 'main'",
		"has(call.state) && call.state.name == 'outbox' && call.state.write && call.state.label.rank == level.internal",
		"call.args.to == ['eve@x', 'bob@y'] && call.args.to[1] == 'bob@y' && size(call.args.to) == 2 && 'bob@y' in call.args.to",
		"call.args.subject.startsWith('h') && call.args.?priority.orValue(7) == 7 && !has(call.args.priority) && has(call.args.body)",
		"call.args['subject'] == 'hi' && call.args[?'priority'].orValue(7) == 7",
		"call.args.?cc.or(call.args.?to).orValue([]) == ['eve@x', 'bob@y']",
		"labels.pc.trust == 'user' && labels.program.rank == 2 && labels.pc.sources[0].tool == 'prompt' || labels.pc.sources == []",
		"labels.args.to.rank == 0 && labels.args.to.sources.all(s, s.of == 'inbox' && s.field == '') && !labels.args.to.more",
		"labels.args.all(k, v, v.rank >= 0) && labels.args.exists(k, k == 'body') && size(labels.args) == 5 && 'to' in labels.args && !('x' in labels.args)",
		"labels.args.to.choice.rank == 3 && labels.args.to.choice.bits == 0",
		"'pii' in tags && 'anything' in tags && tags.exists(t, t == '*') && tags.exists(t, t == 'sanitised')",
		"labels.pc.readers == ['*'] && 'eve' in labels.pc.readers && !('eve' in labels.context.readers) && 'ana@corp.example' in labels.context.readers",
		"size(leaves) == 5 && leaves[0].path == 'to[0]' && leaves[0].param == 'to' && leaves[0].value == 'eve@x' && leaves[0].norm == 'eve@x' && leaves[0].host == 'x'",
		"leaves[1].typed && !leaves[0].typed && leaves[4].sink == 'control' && leaves[4].value == null && leaves[0].trust == 'untrusted'",
		"leaves.filter(l, l.sink == 'recipient').map(l, l.norm).join(',') == 'eve@x,bob@y'",
		"leaves.exists(a, leaves.exists(b, a == b)) && !leaves.all(a, leaves.all(b, a == b))",
		"history.count['mail.send'] == 2 && history.count == {'mail.send': 2, 'mail.read': 0} && history.count.all(t, n, n < 3) && size(history.marks) == 0",
		"level.untrusted == 0 && level.internal == 1 && level.user == 2 && level.system == 3",
		"params.list == ['a', 'b'] && 'a' in params.list && params.map.x == 1 && params.mixed.y == 's' && params.mixed.z[0].k == 1 && params.f > 1 && params.n == null",
		"'k13' in params.long && !('k99' in params.long) && size(params.long) == 20",
		"variables.two == 2 && variables.three == 3",
		"dyn(call).tool == 'mail.send' && dyn(call).args.subject == 'hi' && dyn(leaves)[0].rank == 0 && dyn(labels).pc.rank == 2",
		"cidr('10.0.0.0/8').containsIP('10.1.2.3') && !isIP(leaves[0].host)",
		"math.greatest(1, session.turn) == 1 && sets.contains(['a', 'b'], params.list) && 'ABC'.lowerAscii() == 'abc' && [3, 1, 2].sort() == [1, 2, 3]",
		"`sanitised` == `sanitised` || true",
	} {
		doc := spec.Policy{
			Meta: spec.Meta{Name: "p"},
			Params: map[string]any{
				"list": []any{"a", "b"}, "map": map[string]any{"x": int64(1), "y": int64(2)},
				"mixed": map[string]any{"y": "s", "z": []any{map[string]any{"k": 1}}}, "f": 1.5, "n": nil,
				"long": []any{"k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9", "k10", "k11", "k12", "k13", "k14", "k15", "k16", "k17", "k18", "k19"},
			},
			CEL: &spec.CEL{
				Variables: []spec.Expr{{Name: "two", Text: "size(call.args.to)"}, {Name: "three", Text: "variables.two + 1"}},
				Rules:     []spec.Rule{{ID: "a", Action: "deny", When: is("call.tool == 'mail.send' && " + text)}, {ID: "dyn", Action: "deny", When: is(text)}},
			},
		}
		if strings.Contains(text, "`") {
			doc.CEL.Rules = doc.CEL.Rules[:0]
			doc.CEL.Rules = append(doc.CEL.Rules, spec.Rule{ID: "a", Action: "deny", When: is("true")}, spec.Rule{ID: "dyn", Action: "deny", When: is("true")})
		}
		for _, tools := range [][]policies.ToolSchema{testTools, nil} {
			e, problems := New([]spec.Policy{doc}, tools)
			if e == nil {
				t.Errorf("%s: %v", text, problems)
				continue
			}
			if got := summary(t, decide(t, e, r)); !slices.Equal(got, []string{"deny:a", "deny:dyn"}) {
				t.Errorf("tools known: %t: %s: got %v, want true", tools != nil, text, got)
			}
		}
	}
}

// TestArguments shows arguments of every kind by their schema.
func TestArguments(t *testing.T) {
	params := func(schema string) []policies.ToolSchema {
		return []policies.ToolSchema{{Name: "t", Effects: []string{"read"}, Params: []policies.ParamSchema{{Name: "x", Schema: []byte(schema)}}}}
	}
	for _, test := range []struct {
		schema string
		arg    any
		when   string
		want   string // "": it fires
	}{
		{`{"type":"integer"}`, 5, "call.args.x == 5", ""},
		{`{"type":"integer"}`, 5.0, "call.args.x == 5", ""},
		{`{"type":"integer"}`, 5.5, "call.args.x == 5", "got float, want int"},
		{`{"type":"integer"}`, uint64(1 << 63), "call.args.x > 5", "integer of 64 bits does not fit 64"},
		{`{"type":"number"}`, 5, "call.args.x == 5.0 && call.args.x < 6", ""},
		{`{"type":"number"}`, uint64(1 << 63), "call.args.x > 5.0", "integer 9223372036854775808 is too large to compare"},
		{`{"type":"number"}`, "5", "call.args.x == 5.0", "got string, want double"},
		{`{"type":"string"}`, []byte("hi"), "call.args.x == 'aGk='", ""},
		{`{"type":"boolean"}`, true, "call.args.x", ""},
		{`{"type":["string","null"]}`, nil, "call.args.x == null", ""},
		{`{"type":["string","null"]}`, "a", "call.args.x == 'a' && call.args.x.startsWith('a')", ""},
		{`{"type":"string"}`, nil, "call.args.x == 'a'", "got None, want string"},
		{`{"type":"array","items":{"type":"number"}}`, []any{1, 2.5}, "call.args.x.all(n, n > 0.5) && call.args.x == [1.0, 2.5]", ""},
		{`{"type":"array","items":{"type":"number"}}`, []any{1, "a"}, "call.args.x == [1.0, 2.5]", "got string, want double"},
		{`{"type":"array"}`, []any{1, "a", []any{true}}, "call.args.x[2][0] && call.args.x[1] == 'a'", ""},
		{`{"type":"object","additionalProperties":{"type":"string"}}`, map[string]any{"A-b": "c"}, "call.args.x['A-b'] == 'c' && call.args.x.all(k, k == 'A-b')", ""},
		{`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}}}`, map[string]any{"a": 1}, "call.args.x.a == 1 && !has(call.args.x.b) && call.args.x.?b.orValue('z') == 'z'", ""},
		{`{"type":"object","properties":{"a":{"type":"integer"}}}`, map[string]any{"a": 1}, "call.args.x == call.args.x && call.args.?x.?a.orValue(0) == 1", ""},
		{`{"type":"object","properties":{"content-type":{"type":"string"}}}`, map[string]any{"content-type": "t"}, "call.args.x.`content-type` == 't'", ""},
		{`{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":true}`, map[string]any{"z": 1}, "call.args.x.z == 1", ""},
		{`{"$ref":"#/$defs/tree","$defs":{"tree":{"type":"object","properties":{"v":{"type":"integer"},"kids":{"type":"array","items":{"$ref":"#/$defs/tree"}}}}}}`,
			map[string]any{"v": 1, "kids": []any{map[string]any{"v": 2}}}, "call.args.x.v == 1 && call.args.x.kids[0].v == 2", ""},
		{`{"enum":["a","b"]}`, "a", "call.args.x in ['a', 'c']", ""},
		{`{"anyOf":[{"type":"string"},{"type":"integer"}]}`, 3, "call.args.x == 3", ""},
		{``, map[string]any{"k": []any{1.5}}, "call.args.x.k[0] == 1.5", ""},
	} {
		e := engine(t, rulesOf(spec.Rule{ID: "a", Action: "deny", When: is("call.tool == 't' && " + test.when)}), params(test.schema))
		r := request{Tool: "t", Effects: []string{"read"}, Args: map[string]any{"x": test.arg}, Sinks: []string{}}.request(t)
		found := decide(t, e, r)
		if len(found.Reasons) != 1 {
			t.Errorf("%s %v: %s: got %v, want one reason", test.schema, test.arg, test.when, found.Reasons)
			continue
		}
		got := strings.TrimPrefix(found.Reasons[0].Message, "rule could not be evaluated: ")
		if got != test.want {
			t.Errorf("%s %v: %s: got %q, want %q", test.schema, test.arg, test.when, got, test.want)
		}
	}
}

func TestFindings(t *testing.T) {
	docs := []spec.Policy{{Meta: spec.Meta{Name: "p"}, CEL: &spec.CEL{Rules: []spec.Rule{
		{ID: "a", Action: "ask", When: is("true"), Message: "large", Approvers: []string{"group:ops"}, Count: 2, OtherThan: []string{"requester"}, TTL: time.Minute,
			Args: is("['body']"), Pos: spec.Position{File: "f.yaml", Line: 7, Column: 3},
			Obligations: []map[string]any{{"type": "limit", "max": 20}, {"type": "mark", "id": "seen", "name": "x"}}},
		{ID: "b", Action: "ask", EachLeaf: true, When: is("leaf.sink == 'recipient'")},
		{ID: "c", Action: "deny", When: is("true"), Message: "fixed", MessageExpr: is("string(history.count['none'])")},
		{ID: "d", Action: "deny", When: is("true"), Message: "fixed", MessageExpr: is("'to ' + call.args.to[0]"), Audit: true, Obligations: []map[string]any{{"type": "notify"}}},
		{ID: "e", Action: "ask", When: is("true"), Audit: true},
	}}}}
	want := policies.Findings{
		Reasons: []policies.Reason{
			{ID: "a", Policy: "p", Effect: policies.Ask, Engine: "cel", Message: "large", File: "f.yaml", Line: 7, Args: []string{"body"}},
			{ID: "b", Policy: "p", Effect: policies.Ask, Engine: "cel", Args: []string{"to[0]", "to[1]"}},
			{ID: "c", Policy: "p", Effect: policies.Deny, Engine: "cel", Message: "fixed"},
			{ID: "d", Policy: "p", Effect: policies.Deny, Engine: "cel", Message: "to eve@x", Audit: true},
			{ID: "e", Policy: "p", Effect: policies.Ask, Engine: "cel", Audit: true},
		},
		Approvals: []policies.Approval{
			{Ask: "a", Policy: "p", Message: "large", Args: []string{"body"}, Approvers: []string{"group:ops"}, Count: 2, OtherThan: []string{"requester"}, TTL: time.Minute},
			{Ask: "b", Policy: "p", Args: []string{"to[0]", "to[1]"}, Count: 1},
		},
		Obligations: []policies.Obligation{
			{Type: "limit", ID: "a", Policy: "p", Fields: map[string]any{"max": 20}},
			{Type: "mark", ID: "seen", Policy: "p", Fields: map[string]any{"name": "x"}},
		},
	}
	if got := decide(t, engine(t, docs, testTools), send(t)); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestAuditedPolicies have no effect but on what is recorded.
func TestAuditedPolicies(t *testing.T) {
	docs := []spec.Policy{{Meta: spec.Meta{Name: "p"}, Audit: true, CEL: &spec.CEL{
		Rules: []spec.Rule{{ID: "a", Action: "deny", When: is("true")}, {ID: "b", Action: "deny", When: is("history.count['none'] > 1")}},
	}}}
	for _, r := range decide(t, engine(t, docs, nil), send(t)).Reasons {
		if !r.Audit {
			t.Errorf("%s is not in audit mode", r.ID)
		}
	}
}

// TestSpecialised counts the rules that are left for a call.
func TestSpecialised(t *testing.T) {
	for _, test := range []struct {
		name, when string
		leaf       bool
		left       int
	}{
		{"another tool", "call.tool == 'mail.read' && session.turn > 1", false, 0},
		{"this tool", "call.tool == 'mail.send' && session.turn > 1", false, 1},
		{"not this tool", "call.tool != 'mail.send' && session.turn > 1", false, 0},
		{"an effect that it has not", "'destructive' in call.effects && session.turn > 1", false, 0},
		{"a test of effects that is no membership", "call.effects.exists(e, e == 'read') && session.turn > 1", false, 0},
		{"a sink that no leaf of it has", "leaves.exists(l, l.sink == 'account' && l.rank < 2)", false, 0},
		{"the same of each leaf", "leaf.sink == 'account' && leaf.rank < 2", true, 0},
		{"a sink that it has", "leaves.exists(l, l.sink in ['account', 'recipient'] && l.rank < 2)", false, 1},
		{"the control", "leaf.sink == 'control' && leaf.rank < 2", true, 1},
		{"another agent", "agent.name == 'other' && session.turn > 1", false, 0},
		{"another group", "!('finance' in principal.groups) && session.turn > 1", false, 0},
		{"through a variable", "variables.reads && session.turn > 1", false, 0},
		{"a parameter", "call.tool in params.tools && session.turn > 1", false, 0},
		{"a choice", "(call.tool == 'mail.send' ? false : session.turn > 1)", false, 0},
	} {
		docs := []spec.Policy{{
			Meta: spec.Meta{Name: "p"}, Params: map[string]any{"tools": []any{"a", "b"}},
			CEL: &spec.CEL{
				Variables: []spec.Expr{{Name: "reads", Text: "'read' in call.effects"}},
				Rules:     []spec.Rule{{ID: "a", Action: "deny", EachLeaf: test.leaf, When: is(test.when)}},
			},
		}}
		rs, err := engine(t, docs, testTools).For(context.Background(), staticOf(send(t)))
		if err != nil {
			t.Fatal(err)
		}
		left := 0
		for _, b := range rs.(*rules).bound {
			left += len(b.rules)
		}
		if left != test.left {
			t.Errorf("%s: %s: got %d rules, want %d", test.name, test.when, left, test.left)
		}
	}
}

// TestRequestsOfOthers makes sure that rules for one tool do not judge another.
func TestRequestsOfOthers(t *testing.T) {
	rs, err := engine(t, rulesOf(spec.Rule{ID: "a", Action: "allow", When: is("true")}), testTools).For(context.Background(), staticOf(send(t)))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*policies.Request){
		"tool":      func(r *policies.Request) { r.Call.Tool = "mail.read" },
		"kind":      func(r *policies.Request) { r.Call.Kind = "observe" },
		"agent":     func(r *policies.Request) { r.Agent.Name = "other" },
		"principal": func(r *policies.Request) { r.Principal.Sub = "eve" },
		"groups":    func(r *policies.Request) { r.Principal.Groups = nil },
		"effects":   func(r *policies.Request) { r.Call.Effects = []string{"read"} },
		"sinks":     func(r *policies.Request) { r.Call.Sinks = nil },
		"leaf":      func(r *policies.Request) { r.Leaves[0].Sink = "account" },
	} {
		r := send(t)
		change(r)
		var out policies.Findings
		if err := rs.Evaluate(context.Background(), r, &out); err == nil || len(out.Reasons) > 0 {
			t.Errorf("another %s: got %v and error %v, want an error alone", name, out.Reasons, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := rs.Evaluate(ctx, send(t), &policies.Findings{}); err == nil {
		t.Error("evaluated after the context ended")
	}
}

func TestRevision(t *testing.T) {
	base := func() []spec.Policy {
		return []spec.Policy{{Meta: spec.Meta{Name: "p", Pos: spec.Position{File: "a.yaml"}}, Params: map[string]any{"x": int64(1)},
			CEL: &spec.CEL{Rules: []spec.Rule{{ID: "a", Action: "deny", When: spec.Expr{Text: "true", Pos: spec.Position{File: "a.yaml", Line: 1}}}}}}}
	}
	first := engine(t, base(), testTools).Revision()
	moved := base()
	moved[0].Meta.Pos.File, moved[0].CEL.Rules[0].When.Pos.File = "b.yaml", "b.yaml"
	if got := engine(t, moved, testTools).Revision(); got != first {
		t.Errorf("a file that was moved: got %s, want %s", got, first)
	}
	for name, change := range map[string]func(p *spec.Policy){
		"text":   func(p *spec.Policy) { p.CEL.Rules[0].When.Text = "1 == 1" },
		"action": func(p *spec.Policy) { p.CEL.Rules[0].Action = "ask" },
		"ttl":    func(p *spec.Policy) { p.CEL.Rules[0].TTL = time.Second },
		"param":  func(p *spec.Policy) { p.Params["x"] = int64(2) },
		"match":  func(p *spec.Policy) { p.Match.Tools = []string{"x"} },
		"audit":  func(p *spec.Policy) { p.Audit = true },
		"name":   func(p *spec.Policy) { p.Meta.Name = "q" },
	} {
		docs := base()
		change(&docs[0])
		if got := engine(t, docs, testTools).Revision(); got == first || !strings.HasPrefix(got, "sha256:") {
			t.Errorf("another %s: got revision %s as before", name, got)
		}
	}
	if engine(t, base(), testTools[:2]).Revision() == first {
		t.Error("other tools: the revision is as before")
	}
}

// TestTags are what a label that carries every tag is shown with.
func TestTags(t *testing.T) {
	docs := []spec.Policy{
		{Params: map[string]any{"kinds": []any{"health"}}, CEL: &spec.CEL{
			Variables: []spec.Expr{{Name: "kinds", Text: "leaves.map(l, l.tags)"}},
			Rules:     []spec.Rule{{ID: "a", Action: "deny", When: is("variables.kinds.exists(k, 'salary' in k || k.exists(t, t in params.kinds))")}}}},
		{CEL: &spec.CEL{Rules: []spec.Rule{{ID: "a", Action: "deny", When: is("call.tool == 'mail.send' && labels.pc.rank < 1")}}}},
	}
	if got, want := engine(t, docs, nil).Tags(), []string{"health", "kinds", "salary"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestConcurrently decides from many goroutines over one engine.
func TestConcurrently(t *testing.T) {
	docs := situations(t)
	e := engine(t, docs, testTools)
	want := summary(quiet{t}, decide(t, e, send(t)))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				r := send(t)
				rs, err := e.For(context.Background(), staticOf(r))
				if err != nil {
					t.Error(err)
					return
				}
				var out policies.Findings
				if err := rs.Evaluate(context.Background(), r, &out); err != nil {
					t.Error(err)
					return
				}
				if got := summary(quiet{t}, out); !slices.Equal(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
			}
		})
	}
	wg.Wait()
}
