package rego

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/engine/value"
	"callgate/policies"
	"callgate/policies/internal/sample"
	"callgate/spec"
)

func field(name, text string) value.Field {
	return value.Field{Name: name, Of: value.StringOf(text, sample.Prompt)}
}

// ids lists what fired: "deny a, audit ask b".
func ids(f policies.Findings) string {
	var out []string
	for _, r := range f.Reasons {
		s := r.Effect.String() + " " + r.ID
		if r.Accept {
			s = "accept " + r.ID + " " + strings.Join(r.Args, " ")
		}
		if r.Audit {
			s = "audit " + s
		}
		out = append(out, s)
	}
	for _, o := range f.Obligations {
		out = append(out, "oblige "+o.Type)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func fired(t testing.TB, module string) policies.Findings {
	t.Helper()
	e := newEngine(t, Config{Policies: []spec.Policy{policy(t, head+module)}})
	return findings(t, e, sample.Call("mail.read", field("id", "x")))
}

func TestElements(t *testing.T) {
	made := func(set, fields string) string { // of which the loader knows no more than the id
		return set + " contains object.union(rest, {\"id\": \"a\"}) if true\nrest := {" + fields + "}"
	}
	for _, test := range []struct{ name, module, want string }{
		{"an id alone", `deny contains "a" if true`, "deny a"},
		{"an object", `deny contains {"id": "a", "msg": "m", "args": ["id"]} if true`, "deny a"},
		{"an id given by union", "deny contains object.union(rest, {\"id\": \"a\"}) if true\nrest := {\"msg\": \"m\"}", "deny a"},
		{"an id given by assignment", `deny contains r if { r := {"id": "a", "args": [input.call.id]} }`, "deny a"},
		{"a message that is no text", `deny contains {"id": "a", "msg": 5} if true`, "deny a"},
		{"an accept", `accept contains {"id": "a", "path": l.path} if { some l in input.leaves; l.param == "id" }`, "accept a id"},
		{"an accept without a path", "accept contains object.union(none, {\"id\": \"a\"}) if true\nnone := {}", "deny p.shape"},
		{"a field that is unknown", made("allow", `"colour": "red"`), "deny p.shape"},
		{"args that are no list", made("deny", `"args": "id"`), "deny p.shape"},
		{"args that are no texts", made("deny", `"args": [1]`), "deny p.shape"},
		{"a mode that is none", made("deny", `"mode": "off"`), "deny p.shape"},
		{"a number of approvers that is none", made("ask", `"count": 0`), "deny p.shape"},
		{"a time that is none", made("ask", `"ttl": "soon"`), "deny p.shape"},
		{"audit by element", `deny contains {"id": "a", "mode": "audit"} if true`, "audit deny a"},
		{"audit by rule", "# METADATA\n# custom: {callgate: {mode: audit}}\ndeny contains \"a\" if true", "audit deny a"},
		{"two rules of one id, one enforced", "# METADATA\n# custom: {callgate: {mode: audit}}\ndeny contains \"a\" if true\ndeny contains \"a\" if input.call.kind == \"x\"", "deny a"},
		{"an obligation", `obligations contains {"type": "mark", "name": "x"} if true`, "oblige mark"},
		{"an obligation in audit mode", `obligations contains {"type": "mark", "name": "x", "mode": "audit"} if true`, ""},
		{"a rule that does not fire", `deny contains "a" if input.call.kind == "observe"`, ""},
		{"a not over something undefined fires", `deny contains "a" if not input.call.args.missing == "x"`, "deny a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := ids(fired(t, test.module)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestReasonsSayWhereTheyComeFrom(t *testing.T) {
	f := fired(t, "\ndeny contains {\"id\": \"a\", \"msg\": $\"no {input.call.tool}\", \"args\": [\"id\"]} if true\n")
	r := f.Reasons[0]
	if r.Policy != "p" || r.Engine != "rego" || r.Line != 4 || !strings.HasSuffix(r.File, "p.rego") || r.Message != "no mail.read" || !slices.Equal(r.Args, []string{"id"}) {
		t.Errorf("got %+v", r)
	}
}

func TestAskCarriesItsApproval(t *testing.T) {
	f := fired(t, `ask contains {"id": "a", "msg": "m", "args": ["id"], "approvers": ["group:x"], "count": 2, "other_than": ["requester"], "ttl": "15m"} if true`)
	want := []policies.Approval{{Ask: "a", Policy: "p", Message: "m", Args: []string{"id"}, Approvers: []string{"group:x"}, Count: 2, OtherThan: []string{"requester"}, TTL: 15 * time.Minute}}
	if !reflect.DeepEqual(f.Approvals, want) {
		t.Errorf("got %+v, want %+v", f.Approvals, want)
	}
}

func TestObligationFields(t *testing.T) {
	f := fired(t, `obligations contains {"type": "notify", "id": "l", "max": 20, "cost": 2.5, "per": {"run"}, "deep": {"a": [true, null]}} if true`)
	want := []policies.Obligation{{Type: "notify", ID: "l", Policy: "p", Fields: map[string]any{
		"max": int64(20), "cost": 2.5, "per": []any{"run"}, "deep": map[string]any{"a": []any{true, nil}}}}}
	if !reflect.DeepEqual(f.Obligations, want) {
		t.Errorf("got %#v, want %#v", f.Obligations, want)
	}
}

// to_number of a text that is none is a builtin error.
func TestBuiltinErrors(t *testing.T) {
	for _, test := range []struct{ name, module, want string }{
		{"in deny, a denial", `deny contains "a" if to_number(input.call.args.id) > 5`, "deny p.error"},
		{"in ask, a denial", `ask contains "a" if to_number(input.call.args.id) > 5`, "deny p.error"},
		{"in obligations, a denial", `obligations contains {"type": "mark", "name": "x"} if to_number(input.call.args.id) > 5`, "deny p.error"},
		{"in allow, no grant", `allow contains "a" if to_number(input.call.args.id) > 5`, ""},
		{"in accept, no grant", `accept contains {"id": "a", "path": "id"} if to_number(input.call.args.id) > 5`, ""},
		{"under a not, a denial", `deny contains "a" if not to_number(input.call.args.id) < 5`, "deny p.error"},
		{"in one set, and the others count", "deny contains \"a\" if to_number(input.call.args.id) > 5\nallow contains \"b\" if true\nask contains \"c\" if input.call.id != \"\"", "allow b, ask c, deny p.error"},
		{"in what is known beforehand", `deny contains "a" if to_number(input.call.tool) > 5`, "deny p.error"},
		{"two values for one rule", "x := 1 if input.call.id != \"\"\nx := 2 if input.session.id != \"\"\ndeny contains \"a\" if x == 3", "deny p.error"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := fired(t, test.module)
			if got := ids(f); got != test.want || !f.Volatile {
				t.Errorf("got %q, volatile %t, want %q", got, f.Volatile, test.want)
			}
			for _, r := range f.Reasons {
				if r.ID == "p.error" && (r.Message == "" || r.Line == 0) {
					t.Errorf("got %+v, want to know where and why", r)
				}
			}
		})
	}
}

func TestAPolicyInAuditMode(t *testing.T) {
	p := policy(t, head+"deny contains \"a\" if to_number(input.call.args.id) > 5\nallow contains \"b\" if true\naccept contains {\"id\": \"c\", \"path\": \"x\"} if true\nobligations contains {\"type\": \"mark\", \"name\": \"x\"} if true")
	p.Audit = true
	e := newEngine(t, Config{Policies: []spec.Policy{p}})
	got := findings(t, e, sample.Call("mail.read", field("id", "9")))
	if ids(got) != "audit accept c x, audit allow b, audit deny a" {
		t.Errorf("got %s", ids(got))
	}
	if got := ids(findings(t, e, sample.Call("mail.read", field("id", "x")))); got != "audit accept c x, audit allow b, audit deny p.error" {
		t.Errorf("its errors are audited too: %s", got)
	}
}

func TestOnlyMatchingPoliciesAreEvaluated(t *testing.T) {
	p := policy(t, head+"deny contains \"a\" if true\n")
	p.Match.Tools = []string{"mail.*"}
	q := policy(t, "# METADATA\n# custom: {callgate: {match: {sinks: [account]}}}\npackage callgate.policy.q\nimport rego.v2\ndeny contains \"b\" if true\n")
	q.Meta.Name = "q"
	e := newEngine(t, Config{Policies: []spec.Policy{p, q}})
	for tool, want := range map[string]string{"mail.read": "deny a", "bank.transfer": "deny b", "files.write": ""} {
		if got := ids(findings(t, e, sample.Call(tool))); got != want {
			t.Errorf("%s: got %q, want %q", tool, got, want)
		}
	}
}

func TestEvaluationIsBounded(t *testing.T) {
	for name, module := range map[string]string{
		"nested loops":           `deny contains "a" if { some a in numbers.range(1, 3000); some b in numbers.range(1, 3000); a * b == input.session.turn + 9000001 }`,
		"a list that doubles":    doubling("array.concat", "[input.call.id]"),
		"a range of any length":  `deny contains "a" if count(numbers.range(1, 1000000000 + input.session.turn)) == 5`,
		"too many elements":      `deny contains {"id": "a", "args": [sprintf("%d", [i])]} if { some i in numbers.range(1, 1500 + input.session.turn) }`,
		"a network's addresses":  `deny contains "a" if count(net.cidr_expand(concat("", ["10.0.0.0/", input.call.args.mask]))) == 5`,
		"loops before the call":  `deny contains "a" if { some a in numbers.range(1, 30000); some b in numbers.range(1, 30000); a * b == 0; input.call.args.id == "x" }`,
		"a text that doubles":    doubling("sprintf", `"x"`),
		"a pattern and its text": `deny contains "a" if { some i in numbers.range(1, 20000); regex.match(sprintf("(a*)*b{%d}", [i % 9]), input.call.args.text) }`,
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, Config{Policies: []spec.Policy{policy(t, head+"allow contains \"ok\" if true\n"+module)}})
			c, err := policies.New(policies.Config{Engines: []policies.Engine{e}})
			if err != nil {
				t.Fatal(err)
			}
			r := sample.Call("mail.read", field("id", "x"), field("mask", "8"), field("text", strings.Repeat("a", 1<<16)))
			if _, err := c.Decide(t.Context(), r); err != nil { // specialises
				t.Fatal(err)
			}
			start := time.Now()
			d, _ := c.Decide(t.Context(), r)
			if took := time.Since(start); d.Effect != policies.Deny || took > 30*time.Second {
				t.Errorf("took %v, got %v %v; want a denial within %v", took, d.Effect, d.Reasons, 2*evaluationTime)
			}
		})
	}
}

// doubling is a module in which each rule's value is twice as long as the last one's.
func doubling(with, start string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "x0 := %s if input.call.id != \"\"\n", start)
	for i := range 40 {
		if with == "sprintf" {
			fmt.Fprintf(&b, "x%d := sprintf(\"%%s%%s\", [x%d, x%d])\n", i+1, i, i)
		} else {
			fmt.Fprintf(&b, "x%d := %s(x%d, x%d)\n", i+1, with, i, i)
		}
	}
	return b.String() + "deny contains \"a\" if count(x40) == 5\n"
}

func TestBigArguments(t *testing.T) {
	e := newEngine(t, situationPolicies(t))
	c, err := policies.New(policies.Config{Engines: []policies.Engine{e}})
	if err != nil {
		t.Fatal(err)
	}
	deep := value.StringOf("x", sample.Mail)
	for range 10_000 {
		deep = value.ListOf(sample.Mail, deep)
	}
	for name, r := range map[string]*policies.Request{
		"a text of 1 MB":       sample.Call("files.write", field("text", strings.Repeat("x", 1<<20))),
		"10,000 nested lists":  sample.Call("mcp.acme.frob", value.Field{Name: "x", Of: deep}),
		"a number of any size": sample.Call("bank.transfer", value.Field{Name: "amount", Of: value.FloatOf(1e300, sample.Prompt)}),
	} {
		if _, err := c.Decide(t.Context(), r); err != nil { // specialises
			t.Fatal(err)
		}
		start := time.Now()
		d, _ := c.Decide(t.Context(), r)
		if took := time.Since(start); took > 30*time.Second || d.Effect == policies.Allow {
			t.Errorf("%s: %v after %v", name, d.Effect, took)
		}
	}
}
