package rego

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/policies"
	"callgate/policies/internal/sample"
	"callgate/spec"

	"github.com/open-policy-agent/opa/v1/ast"
)

// writer writes random policies: each way in which a rule can come by a field of the request.
type writer struct {
	*rand.Rand
	helpers strings.Builder
	n       int
}

func (w *writer) pick(list ...string) string { return list[w.IntN(len(list))] }

func (w *writer) name(prefix string) string {
	w.n++
	return fmt.Sprint(prefix, w.n)
}

// condition is one or several expressions that hold or not, on separate lines.
func (w *writer) condition(depth int) string {
	if depth > 0 {
		switch w.IntN(12) {
		case 10: // a list that is counted, whole leaves
			l, x := w.name("l"), w.name("x")
			return fmt.Sprintf("%s := [%s | some %s in input.leaves; %s]\ncount(%s) %s", x, l, l, w.leaf(l, 0), x, w.pick("> 1", "== 0", "< 2"))
		case 11: // … and used once more
			l, x := w.name("l"), w.name("x")
			return fmt.Sprintf("%s := [%s | some %s in input.leaves; %s]\ncount(%s) > 0\n%s[0].%s == %s[count(%s) - 1].%s", x, l, l, w.leaf(l, 0), x, x, w.pick("norm", "host"), x, x, w.pick("norm", "host"))
		case 8:
			return fmt.Sprintf("{\n%s\n} %s {\n%s\n}", w.condition(depth-1), w.pick("and", "or"), w.condition(depth-1))
		case 0:
			return "not {\n" + w.simple("") + "\n}"
		case 1:
			return "not {\n" + w.condition(depth-1) + "\n}"
		case 2:
			l := w.name("l")
			return fmt.Sprintf("some %s in input.leaves\n%s\n%s", l, w.leaf(l, depth-1), w.leaf(l, depth-1))
		case 3:
			l := w.name("l")
			return fmt.Sprintf("every %s in input.leaves {\n%s\n}", l, w.leaf(l, depth-1))
		case 4:
			i := w.name("i")
			return fmt.Sprintf("every %s, _ in input.labels.args {\n%s != %q\n}", i, i, w.pick("to", "path", "x"))
		case 5:
			l := w.name("l")
			return fmt.Sprintf("count({%s.%s | some %s in input.leaves; %s}) > %d", l, w.field(), l, w.leaf(l, 0), w.IntN(3))
		case 6:
			return w.helper(depth - 1)
		case 7:
			x := w.name("x")
			return fmt.Sprintf("%s := input.labels.%s\n%s", x, w.pick("pc", "program", "context"), w.label(x))
		case 9: // a variable that only a body of its own uses
			l, x := w.name("l"), w.name("x")
			return fmt.Sprintf("some %s in input.leaves\n%s := %s.norm\nnot {\n%s == %q\n}", l, x, l, x, w.pick("bob@corp.example", "wc", "x"))
		}
	}
	return w.simple("")
}

func (w *writer) field() string {
	return w.pick("path", "norm", "host", "sink", "rank", "typed", "trust", "more", "param")
}

// leaf is a condition on a leaf.
func (w *writer) leaf(l string, depth int) string {
	if depth > 0 && w.IntN(3) == 0 {
		return "not {\n" + w.leaf(l, 0) + "\n}"
	}
	switch w.IntN(10) {
	case 0:
		return fmt.Sprintf("%s.sink == %q", l, w.pick("recipient", "url", "none", "control", "content"))
	case 1:
		return l + ".typed"
	case 2:
		return fmt.Sprintf("%s.norm in data.params.known", l)
	case 3:
		f := w.name("leaf_ok")
		p := w.name("p")
		fmt.Fprintf(&w.helpers, "%s(%s) if {\n%s\n}\n%s(%s) if {\n%s\n}\n", f, p, w.leaf(p, 0), f, p, w.leaf(p, 0))
		return fmt.Sprintf("%s(%s)", f, l)
	case 4:
		f := w.name("field_ok")
		fmt.Fprintf(&w.helpers, "%s(x) if x == %q\n%s(x) if startswith(x, %q)\n", f, w.pick("bob@corp.example", "url"), f, w.pick("to", "bob", "https"))
		return fmt.Sprintf("%s(%s.%s)", f, l, w.pick("norm", "path", "sink"))
	case 5:
		return fmt.Sprintf("some s in %s.sources\ns.of == %q", l, w.pick("inbox", "vendors.csv"))
	case 6:
		c := w.name("c")
		return fmt.Sprintf("%s := %s.choice\n%s.bits > %d", c, l, c, w.IntN(8))
	case 7:
		return fmt.Sprintf("%q in %s.%s", w.pick("pii", "secret", "ana@corp.example"), l, w.pick("tags", "readers"))
	case 8:
		return fmt.Sprintf("is_%s(%s.value)", w.pick("string", "number", "null"), l)
	}
	return w.label(l)
}

// label is a condition on a label.
func (w *writer) label(l string) string {
	switch w.IntN(6) {
	case 0:
		return fmt.Sprintf("%q in %s.tags", w.pick("pii", "secret", "q3"), l)
	case 1:
		return fmt.Sprintf("lib.only_from(%s, {%q})", l, w.pick("inbox", "vendors.csv"))
	case 2:
		return fmt.Sprintf("%s.choice.rank < lib.level.internal", l)
	case 3:
		return fmt.Sprintf("{t | some t in %s.tags} == {%q}", l, w.pick("pii", "secret"))
	}
	return fmt.Sprintf("%s.rank %s lib.level.%s", l, w.pick("<", ">=", "=="), w.pick("internal", "user", "system"))
}

// simple is one expression on the request.
func (w *writer) simple(string) string {
	return w.pick(
		fmt.Sprintf("input.call.tool == %q", w.pick("mail.send", "shell.run", "http.post")),
		fmt.Sprintf("input.call.kind in {%q, %q}", w.pick("tool", "observe"), w.pick("builtin", "endorse")),
		fmt.Sprintf("%q in input.call.effects", w.pick("egress", "write", "destructive")),
		fmt.Sprintf("%q in input.call.sinks", w.pick("recipient", "account", "content")),
		fmt.Sprintf("input.labels.args.%s.rank < lib.level.%s", w.pick("to", "body", "path", "value", "x"), w.pick("internal", "user")),
		fmt.Sprintf("input.labels.args[_].rank == %d", w.IntN(4)),
		fmt.Sprintf("some name\ninput.labels.args[name].rank == %d\nname != %q", w.IntN(4), w.pick("to", "value")),
		fmt.Sprintf("input.labels.%s.rank < %d", w.pick("pc", "program", "context"), w.IntN(4)),
		fmt.Sprintf("input.call.args.%s == %q", w.pick("path", "url", "value", "to[0]"), w.pick("DE1", "wc", "bob@corp.example")),
		fmt.Sprintf("object.get(input.call.args, %q, 7) == 7", w.pick("to", "amount", "x")),
		fmt.Sprintf("count(input.leaves) > %d", 1+w.IntN(3)),
		fmt.Sprintf("%q in input.tags", w.pick("pii", "secret")),
		fmt.Sprintf("%q in input.agent.effects", w.pick("egress", "read")),
		fmt.Sprintf("input.history.count[input.call.tool] > %d", w.IntN(8)),
		fmt.Sprintf("input.history.count[%q] > %d", w.pick("mail.send", "mail.read"), w.IntN(8)),
		`"model-saw-untrusted" in input.history.marks`,
		`input.call.state.write`,
		`input.call.state.label.rank < input.labels.pc.rank`,
		`input.principal.groups[0] == "finance"`,
		`endswith(input.principal.sub, "@corp.example")`,
		fmt.Sprintf("input[%q].id == \"s\"", w.pick("session", "call")),
		fmt.Sprintf("input.call[%q] == %q", w.pick("tool", "kind"), w.pick("mail.send", "tool")),
		`object.get(input, ["session", "turn"], 0) == 1`,
		`[h, _, _] := time.clock(time.parse_rfc3339_ns(input.time))`+"\nh < 12",
		`some path`+"\nwalk(input.labels.args, [path, 0])\npath != []",
		`some i, j`+"\ninput.leaves[i].norm == input.leaves[j].norm\ni != j",
		`input.leaves[0].sink == input.call.sinks[_]`,
		`some e in input.call.effects`+"\nnot e in input.agent.effects",
	)
}

// helper is a rule of its own, and its use.
func (w *writer) helper(depth int) string {
	name := w.name("h")
	switch w.IntN(4) {
	case 3: // the argument is compared with the request, and is not it
		fmt.Fprintf(&w.helpers, "%s(x) if x == input.%s\n", name, w.pick("labels.pc.trust", "call.tool", "leaves[_].sink", "call.args.path"))
		return fmt.Sprintf("%s(%q)", name, w.pick("user", "untrusted", "mail.send", "url", "wc"))
	case 0:
		fmt.Fprintf(&w.helpers, "%s if {\n%s\n} else := false if {\n%s\n}\n", name, w.condition(depth), w.condition(depth))
		return name
	case 1:
		fmt.Fprintf(&w.helpers, "default %s := 0\n%s := 1 if {\n%s\n}\n", name, name, w.condition(depth))
		return name + " == " + w.pick("0", "1")
	}
	fmt.Fprintf(&w.helpers, "%s contains x if {\nsome x in %s\n%s\n}\n", name, w.pick("input.tags", "input.call.effects", "{l.sink | some l in input.leaves}"), w.condition(depth))
	return fmt.Sprintf("%q in %s", w.pick("pii", "write", "recipient"), name)
}

func (w *writer) module() string {
	var b strings.Builder
	for i := range 3 {
		l := w.name("v")
		fmt.Fprintf(&b, "deny contains \"d%d\" if {\n%s\n%s\n}\n", i, w.condition(2), w.condition(1))
		fmt.Fprintf(&b, "ask contains {\"id\": \"q%d\", \"args\": [%s.path]} if {\nsome %s in input.leaves\n%s\n%s\n}\n", i, l, l, w.leaf(l, 1), w.condition(1))
		fmt.Fprintf(&b, "allow contains \"a%d\" if {\n%s\n}\n", i, w.condition(2))
		fmt.Fprintf(&b, "accept contains {\"id\": \"c%d\", \"path\": %s.path} if {\nsome %s in input.leaves\n%s\n}\n", i, l, l, w.leaf(l, 1))
		fmt.Fprintf(&b, "obligations contains {\"type\": \"mark\", \"name\": input.%s} if {\n%s\n}\n", w.pick("call.id", "session.id", "agent.name"), w.condition(1))
	}
	return head + "import data.callgate.lib\nused := lib.level\n" + w.helpers.String() + b.String()
}

// decide tries again if a machine that stalls runs past the limit.
func decide(t testing.TB, c *policies.Core, r *policies.Request) policies.Decision {
	t.Helper()
	for try := 1; ; try++ {
		d, err := c.Decide(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if try == 3 || !slices.ContainsFunc(d.Reasons, func(r policies.Reason) bool { return r.ID == policies.CoreError }) {
			return d
		}
	}
}

// Of random policies, the projected and partially evaluated rules, and the cached
// decisions, must be those of the plain ones.
func TestRandomPolicies(t *testing.T) {
	source := sample.NewSource(21)
	w := &writer{Rand: rand.New(rand.NewPCG(22, 1))}
	loaded, firings, hits, fast, slow := 0, 0, 0, 0, 0
	for range 30 {
		w.helpers.Reset()
		module := w.module()
		e, problems := New(Config{Policies: []spec.Policy{policy(t, module)}, Params: map[string]any{"known": []any{"bob@corp.example", "wc"}}})
		if e == nil { // two rules of one name that contradict, a variable that is used twice
			t.Logf("%v", problems[0])
			continue
		}
		loaded++
		core, err := policies.New(policies.Config{Engines: []policies.Engine{e}, Tags: e.Tags()})
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			r := source.Request()
			got, want := findings(t, e, r), plainFindings(t, e, r)
			firings += len(want.Reasons)
			got.Volatile, want.Volatile = false, false
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s %s: got  %s\nwant %s\n%s\n%v", r.Call.Kind, r.Call.Tool, ids(got), ids(want), module, r.Document())
			}
			if projected := projectedFindings(t, e, r); !reflect.DeepEqual(projected.Reasons, want.Reasons) || !reflect.DeepEqual(projected.Obligations, want.Obligations) {
				t.Fatalf("%s %s: on the fields that are read: got  %s\nwant %s\n%s", r.Call.Kind, r.Call.Tool, ids(projected), ids(want), module)
			}
			if d := decide(t, core, r); !agrees(d, r, want) {
				t.Fatalf("got  %+v\nwant %+v\n%s", d, want, module)
			}
			// Something changes that the rules may read or not: remembered only if they do not.
			changed := change(source, r)
			if d := decide(t, core, changed); d.Cached {
				hits++
				if want := plainFindings(t, e, changed); !agrees(d, changed, want) {
					t.Fatalf("remembered %+v\nwant %+v\n%s", d, want, module)
				}
			}
		}
		for _, p := range e.programs {
			fast, slow = fast+len(p.program.fast), slow+len(p.program.slots)
		}
	}
	if fast < 9*slow {
		t.Errorf("%d sets were translated and %d were not", fast, slow)
	}
	if loaded < 24 || firings < 2_500 || hits < 50 {
		t.Errorf("%d policies, %d firings, %d hits: not much of a test", loaded, firings, hits)
	}
}

// projectedFindings evaluates what partial evaluation left, untranslated, on a document of only the fields that it
// is said to read. What fails is evaluated plainly.
func projectedFindings(t testing.TB, e *Engine, r *policies.Request) policies.Findings {
	t.Helper()
	rules, err := e.For(t.Context(), static(r))
	if err != nil {
		t.Fatal(err)
	}
	var out policies.Findings
	limit := newLimit(t.Context(), 1<<40, time.Minute)
	defer limit.stop()
	for _, p := range rulesOf(rules) {
		out.Reasons = append(out.Reasons, p.always.Reasons...)
		out.Obligations = append(out.Obligations, p.always.Obligations...)
		if p.query != nil { // not all of it is translated
			return plainFindings(t, e, r)
		}
		var terms []*ast.Term
		for _, f := range p.fast {
			terms = append(terms, f.ref)
		}
		if len(terms) == 0 {
			continue
		}
		query, err := p.compiler.QueryCompiler().Compile(list(terms))
		if err != nil {
			t.Fatal(err)
		}
		sets, err := p.run(t.Context(), limit, p.compiler, query, input(&p.fields, r))
		if err != nil {
			return plainFindings(t, e, r)
		}
		for i, f := range p.fast {
			if err := f.slot.pack.take(f.slot.set, sets.Elem(i).Value, &out); err != nil {
				t.Fatal(err)
			}
		}
	}
	sortFindings(&out)
	return out
}

func rulesOf(r policies.Rules) []*program { return r.(*rules).programs }

// agrees reports whether a decision is what combining the findings gives.
func agrees(d policies.Decision, r *policies.Request, found policies.Findings) bool {
	found.Reasons = append(policies.Flow(r), found.Reasons...)
	want := policies.Combine(found)
	return d.Effect == want.Effect && d.Would == want.Would && reflect.DeepEqual(d.Reasons, want.Reasons)
}

// change returns a copy of the request that differs in one respect.
func change(s sample.Source, r *policies.Request) *policies.Request {
	c := *r
	c.Leaves = slices.Clone(r.Leaves)
	c.Labels.Args = slices.Clone(r.Labels.Args)
	l := &c.Leaves[s.IntN(len(c.Leaves))]
	switch s.IntN(9) {
	case 0:
		c.Time = c.Time.Add(5 * time.Hour)
	case 1:
		c.Session.Turn++
	case 2:
		c.Call.ID += "x"
	case 3:
		l.Norm += "x"
	case 4:
		l.Typed = !l.Typed
	case 5:
		l.Label = s.Label()
	case 6:
		c.Labels.Context = s.Label()
	case 7:
		c.Labels.Program = s.Label()
	case 8:
		c.History.Marks = append(slices.Clone(c.History.Marks), "x")
	}
	return &c
}
