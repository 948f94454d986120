package cel

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"callgate/engine/label"
	"callgate/policies"
	"callgate/spec"
)

func TestReads(t *testing.T) {
	for _, test := range []struct {
		name, when string
		leaf       bool
		want       []string
	}{
		{"nothing", "true", false, nil},
		{"what is known before the call", "call.tool == 'mail.send' || 'x' in principal.groups", false, nil},
		{"a field", "labels.pc.rank < 2", false, []string{"labels.pc.rank"}},
		{"fields below each other", "labels.pc.rank < 2 && labels.pc == labels.program", false, []string{"labels.pc", "labels.program"}},
		{"an argument", "call.tool == 'mail.send' && call.args.subject == 'x' && call.args['body'] == 'y'", false, []string{"call.args.body", "call.args.subject"}},
		{"an optional argument", "call.args.?priority.orValue(1) > 1 || has(call.args.cc)", false, []string{"call.args.cc", "call.args.priority"}},
		{"all arguments", "size(dyn(call.args)) > 3", false, []string{"call.args"}},
		{"fields of leaves", "leaves.exists(l, l.sink == 'content' && l.host == 'x')", false, []string{"leaves.host", "leaves.sink"}},
		{"how many leaves", "leaves.all(l, session.turn < 1000)", false, []string{"leaves.sink", "session.turn"}},
		{"how many leaves, by size", "size(leaves) > 5 && leaves.size() < 9", false, []string{"leaves.sink"}},
		{"whole leaves", "leaves.exists(a, leaves.all(b, a == b))", false, []string{"leaves"}},
		{"each leaf", "leaf.norm == 'x'", true, []string{"leaves.norm", "leaves.path"}},
		{"a filter and a map", "leaves.filter(l, l.rank < 1).map(l, l.path) == []", false, []string{"leaves.path", "leaves.rank", "leaves.sink"}},
		{"an element", "leaves[0].typed", false, []string{"leaves.typed"}},
		{"sources", "leaves.exists(l, l.sources.all(s, s.of == 'x'))", false, []string{"leaves.sink", "leaves.sources"}},
		{"a bound name", "cel.bind(p, labels.pc, p.rank < 1 && p.more)", false, []string{"labels.pc.more", "labels.pc.rank"}},
		{"labels of arguments", "labels.args.to.rank < 1", false, []string{"labels.args.to.rank"}},
		{"of all arguments", "labels.args.all(k, v, v.rank > 1)", false, []string{"labels.args.*.rank"}},
		{"of all, by name", "labels.args.all(k, labels.args[k].more)", false, []string{"labels.args.*.more", "labels.args.*.rank"}},
		{"of a part", "labels.args['payments[].iban'].rank < 1", false, []string{"labels.args.*.rank"}},
		{"a count", "history.count['mail.send'] > 1", false, []string{"history.count.mail.send"}},
		{"counts", "history.count[call.id] > 1", false, []string{"call.id", "history.count"}},
		{"claims", "principal.claims.a == 1 && principal.claims['b.c'] == 2", false, []string{"principal.claims"}},
		{"a claim", "principal.claims.a.b == 1", false, []string{"principal.claims.a.b"}},
		{"through variables", "variables.b", false, []string{"labels.context.rank", "session.turn"}},
		{"a name that hides a variable", "[1].exists(tags, tags == session.turn)", false, []string{"session.turn"}},
		{"what hides behind dyn", "dyn(labels).pc.rank == 1", false, []string{"labels"}},
		{"what is settled is not read", "call.tool == 'mail.send' || tags == ['x']", false, nil},
	} {
		docs := []spec.Policy{{Meta: spec.Meta{Name: "p"}, CEL: &spec.CEL{
			Variables: []spec.Expr{{Name: "a", Text: "labels.context.rank"}, {Name: "b", Text: "variables.a < session.turn"}, {Name: "c", Text: "size(tags)"}},
			Rules:     []spec.Rule{{ID: "a", Action: "deny", EachLeaf: test.leaf, When: is(test.when)}},
		}}}
		rs, err := engine(t, docs, nil).For(context.Background(), staticOf(send(t)))
		if err != nil {
			t.Fatal(err)
		}
		if got := rs.Reads(); !slices.Equal(got, test.want) {
			t.Errorf("%s: %s: got %q, want %q", test.name, test.when, got, test.want)
		}
	}
}

// TestReadsAreAllThatMatters changes requests here and there: those that are the same to the fields
// that are read must have the same findings.
func TestReadsAreAllThatMatters(t *testing.T) {
	same, differ := 0, 0
	for i := range 80 {
		g := generator{Rand: rand.New(rand.NewPCG(2, uint64(i)))}
		doc := g.document()
		e, _ := New([]spec.Policy{doc}, testTools)
		if e == nil {
			continue
		}
		for range 5 {
			r := g.request(t)
			rs, err := e.For(context.Background(), staticOf(r))
			if err != nil {
				t.Fatal(err)
			}
			fields := policies.NewFields(rs.Reads(), policies.NewVocabulary(e.Tags()))
			key, found := fields.AppendKey(nil, r), decide(t, e, r)
			for range 10 {
				changed := g.change(t, *r)
				if !slices.Equal(key, fields.AppendKey(nil, &changed)) {
					differ++
					continue
				}
				same++
				if got := decide(t, e, &changed); !reflect.DeepEqual(got, found) {
					t.Fatalf("%s\nreads %q\ngot %+v, want %+v", texts1(doc), rs.Reads(), got, found)
				}
			}
		}
	}
	if same < 300 || differ < 300 {
		t.Errorf("%d requests were the same and %d differed: the test says little", same, differ)
	}
}

// change returns a request with one thing changed that is not known before the call.
func (g generator) change(t testing.TB, r policies.Request) policies.Request {
	relabel := func(l *label.Label) { *l = g.label().label() }
	leaf := func(f func(*policies.Leaf)) {
		r.Leaves = slices.Clone(r.Leaves)
		if len(r.Leaves) > 0 {
			f(&r.Leaves[g.IntN(len(r.Leaves))])
		}
	}
	switch g.IntN(13) {
	case 0:
		relabel(&r.Labels.PC)
	case 1:
		relabel(&r.Labels.Context)
	case 2:
		r.Session.Turn++
	case 3:
		r.Tags = []string{"x"}
	case 4:
		r.History.Marks = []string{"other"}
	case 5:
		r.History.Count = map[string]int{"mail.send": 9}
	case 6:
		leaf(func(l *policies.Leaf) { relabel(&l.Label) })
	case 7:
		leaf(func(l *policies.Leaf) { l.Norm = "changed" })
	case 8:
		leaf(func(l *policies.Leaf) { l.Value = int64(4) })
	case 9:
		leaf(func(l *policies.Leaf) { l.Typed = !l.Typed })
	case 10:
		leaf(func(l *policies.Leaf) { l.Host, l.Path = "changed", "changed" })
	case 11:
		r.Labels.Args = slices.Clone(r.Labels.Args)
		for i := range r.Labels.Args {
			relabel(&r.Labels.Args[i].Label)
		}
	case 12:
		r.Call.Args = g.request(t).Call.Args
	}
	return r
}
