package cel

import (
	"context"
	"testing"

	"callgate/policies"
	"callgate/spec"
)

// FuzzExpression loads any text as every kind of expression, and evaluates what loads. Nothing panics, and a
// problem has a place.
func FuzzExpression(f *testing.F) {
	for _, p := range load(f, "testdata/situations.yaml") {
		for _, r := range p.CEL.Rules {
			f.Add(r.When.Text)
			f.Add(r.Args.Text)
		}
	}
	for _, s := range append(simpleRules,
		"", "(", "'", "\x00", "\xff", "a\n.b", "call.args.?x[?0].orValue(1) == 1", "leaf.rank < 1 ? [leaf.path] : []", "variables.v.w.x", "cel.bind(x, x, x)",
		"call{a: 1}", "[1][0]", "{'a': 1}.a", "r'\\'", "b'\\xff'", "1u", "-9223372036854775808", "1e999", "has(call.args.x.y)", "type(1) == int", "optional.none()", "dyn([1, 'a'])",
		"params['a'].b[0] in params.list", "`a b`", "call.`tool`", "leaves.map(l, l).map(m, m.path)", "tags + [1]", "google.protobuf.Timestamp{}", ".call.tool == 'x'", "x.y.z()", "@result",
		"leaves.transformList(i, l, l.path)", "labels.args.transformMap(k, v, v.rank)", "leaves.sortBy(l, l.rank)[0].path", "'a'.format([1])", "math.least(1)", "[[1]].flatten()",
	) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x := spec.Expr{Name: "v", Text: text, Pos: spec.Position{File: "p.yaml", Line: 3, Column: 7}}
		docs := []spec.Policy{{
			Meta: spec.Meta{Name: "p"}, Params: map[string]any{"list": []any{"a"}, "a": map[string]any{"b": []any{1}}},
			CEL: &spec.CEL{Match: []spec.Expr{{Text: "true || " + text}}, Variables: []spec.Expr{x}, Rules: []spec.Rule{
				{ID: "a", Action: "deny", When: x},
				{ID: "b", Action: "accept", When: spec.Expr{Text: "true"}, Args: x},
				{ID: "c", Action: "ask", EachLeaf: true, When: x, MessageExpr: x},
				{ID: "d", Action: "deny", When: spec.Expr{Text: "call.tool == 'mail.send' && variables.v == (" + text + ")"}},
			}},
		}}
		_, problems := New(docs, testTools)
		for _, p := range problems {
			if p.Text == "" || p.Pos.Line == 0 && p.Pos.File != "" {
				t.Errorf("%q: problem %+v has no text or no place", text, p)
			}
		}
		for i := range docs[0].CEL.Rules { // each that is without fault by itself
			docs := []spec.Policy{docs[0]}
			docs[0].CEL = &spec.CEL{Rules: docs[0].CEL.Rules[i : i+1]}
			e, _ := New(docs, testTools)
			if e == nil {
				continue
			}
			r := send(t)
			rs, err := e.For(context.Background(), staticOf(r))
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			rs.Reads()
			if err := rs.Evaluate(context.Background(), r, &policies.Findings{}); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}
