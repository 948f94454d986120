package cel

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
	"callgate/spec"
)

// bindings nests cel.bind n deep, each name made of the one before.
func bindings(n int, first, next, in string) string {
	out := fmt.Sprintf("cel.bind(x0, %s, ", first)
	for i := 1; i <= n; i++ {
		out += fmt.Sprintf("cel.bind(x%d, %s, ", i, strings.ReplaceAll(next, "x", fmt.Sprintf("x%d", i-1)))
	}
	return out + strings.ReplaceAll(in, "x", fmt.Sprintf("x%d", n)) + strings.Repeat(")", n+1)
}

// large is a call with many leaves and long texts.
func large(t testing.TB, leaves, text int) *policies.Request {
	r := send(t)
	body := strings.Repeat("a", text)
	var to []value.Value
	for i := range leaves {
		r.Leaves = append(r.Leaves, policies.Leaf{Path: fmt.Sprintf("to[%d]", i), Param: "to", Value: body, Norm: body, Sink: "recipient", Label: label.Bottom()})
		to = append(to, value.StringOf(body, label.Bottom()))
	}
	r.Call.Args = value.DictOf(label.Bottom(), value.Field{Name: "to", Of: value.ListOf(label.Bottom(), to...)}, value.Field{Name: "subject", Of: value.StringOf(body, label.Bottom())})
	return r
}

// TestBombs are expressions that would take for ever, or fill the memory. They are refused when they are loaded, or
// end in time as what cannot be evaluated.
func TestBombs(t *testing.T) {
	nested := value.StringOf("x", label.Bottom())
	for range value.MaxDepth - 4 {
		nested = value.ListOf(label.Bottom(), nested)
	}
	deep := send(t)
	deep.Call.Args = value.DictOf(label.Bottom(), value.Field{Name: "to", Of: nested})
	for _, test := range []struct {
		name, when string
		r          *policies.Request
		fires      bool // it is evaluated all the same
	}{
		{"lists of lists that share their elements", bindings(25, "[1, 2]", "[x, x]", "x == x"), send(t), false},
		{"the same behind dyn", bindings(25, "dyn([1, 2])", "dyn([x, x])", "x == x"), send(t), false},
		{"the same in a map", bindings(25, "{'a': dyn(1)}", "{'a': dyn(x), 'b': dyn(x)}", "x == x"), send(t), false},
		{"the same as a text", bindings(25, "dyn([1, 2])", "dyn([x, x])", "'%s'.format([x]) == ''"), send(t), false},
		{"a list that doubles", bindings(25, "[1, 2]", "x + x", "x == x"), send(t), false},
		{"a text that doubles", bindings(25, "call.tool + 'x'", "x + x", "size(x) > 3"), send(t), false},
		{"a text that grows by replacing", bindings(12, "'aaaaaaaaaaaaaaaaaaaaaaaaaaaa'", "x.replace('a', x)", "size(x) > 3"), send(t), false},
		{"a text replaced by itself", "size(call.args.subject.replace('', call.args.subject)) > 3", large(t, 1, 1<<20), false},
		{"a list joined by a long text", "size(leaves.map(l, l.norm).join(call.args.subject)) > 3", large(t, 64, 1<<20), false},
		{"a long text many times", "size('%s%s%s'.format([call.args.subject, call.args.subject, call.args.subject])) > 3", large(t, 1, 1<<19), false},
		{"a long range", "size(lists.range(1000000000)) > 3", send(t), false},
		{"four loops over many leaves", "leaves.all(a, leaves.all(b, leaves.all(c, leaves.all(d, a.rank + b.rank + c.rank + d.rank < 99))))", large(t, 1000, 1), false},
		{"two loops over many leaves", "leaves.all(a, leaves.all(b, a.rank + b.rank < 99))", large(t, 1000, 1), false},
		{"one loop over as many", "leaves.all(a, a.rank < 99)", large(t, 1000, 1), true},
		{"a pattern over long texts", "leaves.all(a, !string(a.value).matches('(a|aa|aaa)*b[a-z]{200}'))", large(t, 100, 100_000), false},
		{"a pattern out of the request", "call.args.subject.matches(call.args.subject + '(.{900})(.{900})(.{900})')", send(t), false},
		{"a comparison with a long text", "call.args.subject != 'x'", large(t, 1, 1<<20), true},
		{"10,000 leaves, looked at each", "leaf.rank < 99", large(t, 10_000, 1), true},
		{"10,000 leaves, each with a message", "leaf.rank < 99 && leaf.norm.matches('a+')", large(t, 10_000, 1), true},
		{"nested as deep as values are", "size(call.args.to) == 1", deep, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, tools := range [][]policies.ToolSchema{testTools, nil} {
				rule := spec.Rule{ID: "a", Action: "deny", EachLeaf: strings.HasPrefix(test.when, "leaf."), When: is(test.when)}
				if rule.EachLeaf {
					rule.MessageExpr = is("'no ' + leaf.path")
				}
				start := time.Now()
				e, problems := New(rulesOf(rule), tools)
				if e == nil {
					if test.fires || !strings.Contains(problems[0].Text, "costs too much") && !strings.Contains(problems[0].Text, "regular expression") {
						t.Fatalf("refused: %v", problems)
					}
					continue
				}
				found := decide(t, e, test.r)
				if took := time.Since(start); took > 30*time.Second {
					t.Errorf("took %v", took)
				}
				if n := len(found.Reasons); n == 0 || n > 1 && (!rule.EachLeaf || n > maxMessages+1) {
					t.Fatalf("got %d reasons", n)
				}
				if fired := !strings.Contains(found.Reasons[0].Message, "could not be evaluated"); fired != test.fires {
					t.Errorf("got %q, want that it fires: %t", found.Reasons[0].Message, test.fires)
				}
			}
		})
	}
}

// TestDecisionsAreBounded has many rules, each of which is almost too expensive.
func TestDecisionsAreBounded(t *testing.T) {
	var rules []spec.Rule
	for i := range 200 {
		rules = append(rules, spec.Rule{ID: fmt.Sprintf("r%d", i), Action: "deny", When: is(fmt.Sprintf("leaves.exists(a, leaves.exists(b, a.rank + b.rank == %d))", 90+i))})
	}
	found := decide(t, engine(t, rulesOf(rules...), testTools), large(t, 120, 1))
	failed := slices.IndexFunc(found.Reasons, func(r policies.Reason) bool {
		return strings.Contains(r.Message, "the decision costs more than") || strings.Contains(r.Message, "takes longer than") && found.Volatile
	})
	if failed < 0 {
		t.Errorf("got %d reasons, want one that says that the decision costs too much", len(found.Reasons))
	}
}

func TestEstimates(t *testing.T) {
	for _, test := range []struct {
		when string
		want costClass
	}{
		{"labels.pc.rank < 2 && call.tool == 'x' && 'a' in tags", costFree},
		{"call.args.subject.startsWith('x')", costFree},
		{"call.args.?priority.orValue(1) in [1, 2, 3]", costFree},
		{"leaves.exists(l, l.sink == 'url')", costSmall},
		{"leaves.exists(l, l.norm in params.book)", costSmall},
		{"leaves.exists(l, l.sources.exists(s, s.of == 'x'))", costSmall},
		{"call.args.subject.matches('^[a-z]+$')", costSmall},
		{"leaves.exists(a, leaves.exists(b, leaves.exists(c, a.rank + b.rank == c.rank)))", costCounted},
	} {
		book := make([]any, 100_000)
		for i := range book {
			book[i] = fmt.Sprint(i)
		}
		docs := rulesOf(spec.Rule{ID: "a", Action: "deny", When: is(test.when)})
		docs[0].Params = map[string]any{"book": book}
		e, problems := New(docs, nil)
		if e == nil {
			t.Errorf("%s: %v", test.when, problems)
			continue
		}
		if got := e.policies[0].rules[0].when.cost; got != test.want {
			t.Errorf("%s: got class %d, want %d", test.when, got, test.want)
		}
	}
}
