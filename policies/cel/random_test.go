package cel

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"callgate/policies"
	"callgate/spec"
)

// generator writes random conditions and requests that have something to do with each other.
type generator struct {
	*rand.Rand
	first bool // there are no variables to use
}

func (g generator) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g generator) word() string {
	return g.pick("'mail.send'", "'mail.'", "'bank.transfer'", "'recipient'", "'account'", "'content'", "'control'", "'pii'", "'secret'", "'corp.example'", "'ana@corp.example'", "'finance'", "'x'")
}

func (g generator) compare() string { return g.pick("<", "<=", "==", "!=", ">=", ">") }

func (g generator) sink() string {
	return g.pick("'recipient'", "'account'", "'content'", "'control'", "'none'")
}

// leafCondition is a condition on a leaf of a name.
func (g generator) leafCondition(l string, depth int) string {
	if depth > 0 {
		switch g.IntN(4) {
		case 0:
			return fmt.Sprintf("(%s && %s)", g.leafCondition(l, depth-1), g.leafCondition(l, depth-1))
		case 1:
			return fmt.Sprintf("(%s || %s)", g.leafCondition(l, depth-1), g.leafCondition(l, depth-1))
		case 2:
			return "!(" + g.leafCondition(l, depth-1) + ")"
		}
	}
	switch g.IntN(15) {
	case 0, 1, 2:
		return fmt.Sprintf("%s.sink %s %s", l, g.pick("==", "!="), g.sink())
	case 3:
		return fmt.Sprintf("%s.sink in [%s, %s]", l, g.sink(), g.sink())
	case 4:
		return fmt.Sprintf("%s.rank %s %d", l, g.compare(), g.IntN(4))
	case 5:
		return fmt.Sprintf("%d %s %s.rank", g.IntN(4), g.compare(), l)
	case 6:
		return fmt.Sprintf("%s in %s.%s", g.word(), l, g.pick("tags", "readers"))
	case 7:
		return fmt.Sprintf("%s.norm in params.book", l)
	case 8:
		return l + g.pick(".typed", ".more")
	case 9:
		return fmt.Sprintf("%s.%s.%s(%s)", l, g.pick("norm", "host", "path"), g.pick("startsWith", "endsWith", "contains"), g.word())
	case 10:
		return fmt.Sprintf("%s.sources.%s(s, s.of == %s)", l, g.pick("all", "exists"), g.word())
	case 11:
		return fmt.Sprintf("string(%s.value) == %s", l, g.word())
	case 12:
		return fmt.Sprintf("%s.value > 3", l) // an error for a text
	case 13:
		return fmt.Sprintf("%s.trust == '%s'", l, g.pick("untrusted", "user"))
	}
	return g.condition(0)
}

// condition is a condition on a request.
func (g generator) condition(depth int) string {
	if depth > 0 {
		switch g.IntN(6) {
		case 0, 1:
			return fmt.Sprintf("(%s && %s)", g.condition(depth-1), g.condition(depth-1))
		case 2, 3:
			return fmt.Sprintf("(%s || %s)", g.condition(depth-1), g.condition(depth-1))
		case 4:
			return "!(" + g.condition(depth-1) + ")"
		case 5:
			return fmt.Sprintf("(%s ? %s : %s)", g.condition(depth-1), g.condition(depth-1), g.condition(depth-1))
		}
	}
	switch g.IntN(24) {
	case 0, 1:
		return fmt.Sprintf("call.tool %s %s", g.pick("==", "!="), g.pick("'mail.send'", "'bank.transfer'", "'mail.read'"))
	case 2:
		return fmt.Sprintf("call.tool.%s('%s')", g.pick("startsWith", "endsWith", "contains"), g.pick("mail.", "send", "."))
	case 3:
		return fmt.Sprintf("'%s' in call.effects", g.pick("read", "write", "egress"))
	case 4:
		return fmt.Sprintf("%s in call.sinks", g.sink())
	case 5:
		return fmt.Sprintf("call.effects.exists(e, e == '%s')", g.pick("read", "write"))
	case 6:
		return fmt.Sprintf("call.tool in %s", g.pick("params.book", "['mail.send', 'mail.read']"))
	case 7:
		return fmt.Sprintf("%s in principal.groups", g.word())
	case 8:
		return "call.kind == 'tool'"
	case 9:
		return fmt.Sprintf("labels.%s.rank %s %d", g.pick("pc", "program", "context", "args.to", "args.cc"), g.compare(), g.IntN(4))
	case 10:
		return fmt.Sprintf("history.count[%s] %s %d", g.word(), g.compare(), g.IntN(4))
	case 11:
		return fmt.Sprintf("%s in %s", g.word(), g.pick("tags", "history.marks", "labels.pc.tags", "labels.context.readers"))
	case 12:
		return fmt.Sprintf("session.turn %s params.limit", g.compare())
	case 21:
		return "call.tool == 'mail.send' && " + g.pick("size(call.args.to) > 1", "call.args.priority < 3", "call.args.?priority.orValue(2) == 2", "call.args.subject == 'x'",
			"call.args.subject.startsWith('m')", "call.args.body in ['x', 'y']", "'pii' in labels.args.cc.tags", "call.args.?subject.orValue('x') == 'x'")
	case 22:
		return "call.tool == 'bank.transfer' && " + g.pick("call.args.amount > 2", "call.args.amount <= 2.5", "call.args.?amount.orValue(3.0) >= params.limit", "2 < call.args.amount", "call.args.amount != 2.0")
	case 13:
		if !g.first {
			return fmt.Sprintf("variables.%s", g.pick("a", "b"))
		}
	case 14, 15, 16:
		return fmt.Sprintf("leaves.%s(l, %s)", g.pick("exists", "all"), g.leafCondition("l", 2))
	case 17:
		return fmt.Sprintf("leaves.exists(l, leaves.all(m, %s || %s))", g.leafCondition("m", 1), g.leafCondition("l", 1))
	case 18:
		return fmt.Sprintf("leaves.filter(l, %s).exists(l, %s)", g.leafCondition("l", 1), g.leafCondition("l", 1))
	case 19:
		return fmt.Sprintf("session.mode == '%s'", g.pick("react", "plan"))
	case 20:
		return fmt.Sprintf("leaves.exists_one(l, %s)", g.leafCondition("l", 1))
	}
	return g.pick("true", "false", "params.on", "agent.name == 'test'", "size(leaves) > 2")
}

func (g generator) label() testLabel {
	l := testLabel{Rank: g.IntN(4), More: g.IntN(5) == 0}
	for range g.IntN(3) {
		l.Tags = append(l.Tags, g.pick("pii", "secret", "x"))
	}
	if g.IntN(8) == 0 {
		l.Tags = []string{"*"}
	}
	for range g.IntN(3) {
		l.Sources = append(l.Sources, [2]string{"mail.read", g.pick("x", "inbox")})
	}
	if g.IntN(2) == 0 {
		l.Readers = []string{g.pick("ana@corp.example", "finance")}
	}
	return l
}

func (g generator) request(t testing.TB) *policies.Request {
	tool := testTools[g.IntN(len(testTools))]
	q := request{
		Tool: tool.Name, Effects: tool.Effects, Sinks: tool.SinkKinds(), Args: map[string]any{},
		Labels: map[string]testLabel{}, Count: map[string]int{"mail.send": g.IntN(4)},
	}
	sinks := append([]string{"none", "control"}, q.Sinks...)
	for i := range g.IntN(5) {
		text := g.pick("ana@corp.example", "x", "evil@x", "mail.send")
		l := testLeaf{Path: fmt.Sprintf("p%d", i), Norm: text, Host: g.pick("corp.example", "x", ""), Value: text, Sink: sinks[g.IntN(len(sinks))], Typed: g.IntN(2) == 0, testLabel: g.label()}
		if g.IntN(3) == 0 {
			l.Value = float64(g.IntN(6))
		}
		q.Leaves = append(q.Leaves, l)
	}
	for _, p := range tool.Params {
		if g.IntN(4) > 0 { // what the schema allows: the gate has seen to that
			switch schema := string(p.Schema); {
			case strings.Contains(schema, "array") && !strings.Contains(schema, "object"):
				q.Args[p.Name] = []any{"x", "y"}[:g.IntN(3)]
			case strings.Contains(schema, "number"):
				q.Args[p.Name] = float64(g.IntN(8)) / 2
			case strings.Contains(schema, "integer"):
				q.Args[p.Name] = float64(g.IntN(4))
			case strings.HasPrefix(schema, `{"type":"string"`):
				q.Args[p.Name] = g.pick("x", "mail.send")
			}
		}
		q.Labels[p.Name] = g.label()
	}
	for range g.IntN(3) {
		q.Tags = append(q.Tags, g.pick("pii", "secret"))
		q.Marks = append(q.Marks, g.pick("x", "secret"))
	}
	r := q.request(t)
	r.Session.Turn = g.IntN(6)
	r.Labels.PC, r.Labels.Context, r.Labels.Program = g.label().label(), g.label().label(), g.label().label()
	return r
}

// document is a policy of one rule that denies and one for each leaf.
func (g generator) document() spec.Policy {
	return spec.Policy{
		Meta:   spec.Meta{Name: "p"},
		Params: map[string]any{"book": []any{"ana@corp.example", "mail.send"}, "limit": int64(3), "on": g.IntN(2) == 0},
		CEL: &spec.CEL{
			Match:     []spec.Expr{{Name: "m", Text: g.condition(1) + " || true"}},
			Variables: []spec.Expr{{Name: "a", Text: generator{g.Rand, true}.condition(2)}, {Name: "b", Text: "!variables.a || tags.exists(l, l == 'pii')"}},
			Rules: []spec.Rule{
				{ID: "deny", Action: actionDeny, When: spec.Expr{Text: g.condition(3)}},
				{ID: "leaf", Action: actionDeny, EachLeaf: true, When: spec.Expr{Text: g.leafCondition("leaf", 3)}},
				{ID: "ask", Action: actionAsk, When: spec.Expr{Text: g.condition(3)}},
			},
		},
	}
}

// whole decides by the library's plans for whole expressions, with nothing settled ahead: what the
// engine must find. With counting it is what a large request is decided by.
func whole(t testing.TB, e *Engine, r *policies.Request, class costClass) policies.Findings {
	p := e.policies[0]
	rs := &rules{static: staticOf(r), statics: newStatics(staticOf(r), e.vocabulary), vars: len(p.variables)}
	b := &bound{policy: p, variableType: p.types.own[typeVariables], callType: documentTypes[typeCall]}
	plain := func(x *expr) *program { return &program{plan: x.plan.plan, counted: x.plan.counted, cost: class} }
	for _, v := range p.variables {
		b.variables = append(b.variables, plain(v))
	}
	for i, c := range p.conditions {
		b.conditions = append(b.conditions, boundCondition{conditionID(p, c, i), c, plain(c)})
	}
	for _, r := range p.rules {
		b.rules = append(b.rules, boundRule{rule: r, when: plain(r.when)})
	}
	rs.bound = []*bound{b}
	rs.sinks = newFacts(staticOf(r), true).sinks
	var out policies.Findings
	if err := rs.Evaluate(context.Background(), r, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestFast holds what is settled ahead and evaluated without the library against the library.
func TestFast(t *testing.T) {
	rounds := 250
	if testing.Short() {
		rounds = 100
	}
	seen := map[string]int{}
	skipped, last := 0, []spec.Problem(nil)
	for i := range rounds {
		g := generator{Rand: rand.New(rand.NewPCG(1, uint64(i)))}
		doc := g.document()
		e, problems := New([]spec.Policy{doc}, testTools)
		if e == nil { // a tool is named that has not this parameter
			skipped++
			last = problems
			continue
		}
		for range 10 {
			r := g.request(t)
			got, want := summary(quiet{t}, decide(t, e, r)), summary(quiet{t}, whole(t, e, r, costFree))
			if counted := summary(quiet{t}, whole(t, e, r, costCounted)); !slices.Equal(counted, want) {
				t.Fatalf("round %d:\n%v\ncounted %v, want %v", i, texts1(doc), counted, want)
			}
			for _, s := range want {
				seen[s[:strings.IndexByte(s, ':')]]++
			}
			if !slices.Equal(got, want) {
				t.Fatalf("round %d: %s %v:\n%v\ngot %v, want %v", i, r.Call.Tool, r.Leaves, texts1(doc), got, want)
			}
		}
	}
	if skipped > rounds/2 {
		t.Errorf("%d of %d documents were refused, such as %v", skipped, rounds, last)
	}
	for _, kind := range []string{"deny", "ask", "error"} {
		if seen[kind] < rounds/10 {
			t.Errorf("only %d findings of kind %s in %d rounds: the test says little", seen[kind], kind, rounds)
		}
	}
}

// quiet is a test that logs nothing.
type quiet struct{ testing.TB }

func (quiet) Log(...any) {}

func texts1(p spec.Policy) string {
	var b strings.Builder
	for _, x := range slices.Concat(p.CEL.Match, p.CEL.Variables) {
		fmt.Fprintf(&b, "%s: %s\n", x.Name, x.Text)
	}
	for _, r := range p.CEL.Rules {
		fmt.Fprintf(&b, "%s: %s\n", r.ID, r.When.Text)
	}
	return b.String()
}
