package policies_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"callgate/policies"
)

func fired(e policies.Effect, id string, args ...string) policies.Reason {
	return policies.Reason{ID: id, Policy: "p", Effect: e, Engine: "rego", Args: args}
}

func audited(r policies.Reason) policies.Reason { r.Audit = true; return r }

func accept(path string) policies.Reason {
	return policies.Reason{ID: "p.accept", Policy: "p", Accept: true, Engine: "rego", Args: []string{path}}
}

func flowed(path string) policies.Reason {
	return policies.Reason{ID: "flow.recipient", Policy: "flow", Engine: "flow", Args: []string{path}}
}

func TestCombine(t *testing.T) {
	const (
		deny  = policies.Deny
		ask   = policies.Ask
		allow = policies.Allow
	)
	for _, test := range []struct {
		name   string
		in     []policies.Reason
		effect policies.Effect
		would  policies.Effect
		ids    []string
	}{
		{"nothing fired", nil, deny, deny, []string{"core.no-allow"}},
		{"an allow", []policies.Reason{fired(allow, "a")}, allow, allow, []string{"a"}},
		{"one deny beats any allow", []policies.Reason{fired(allow, "a"), fired(deny, "d"), fired(allow, "b")}, deny, deny, []string{"d", "a", "b"}},
		{"an ask qualifies an allow", []policies.Reason{fired(allow, "a"), fired(ask, "q")}, ask, ask, []string{"q", "a"}},
		{"an ask alone grants nothing", []policies.Reason{fired(ask, "q")}, deny, deny, []string{"core.no-allow", "q"}},
		{"an effect that is none denies", []policies.Reason{fired(allow, "a"), fired(policies.NotApplicable, "n")}, deny, deny, []string{"n", "a"}},
		{"the flow rule denies", []policies.Reason{fired(allow, "a"), flowed("to[0]")}, deny, deny, []string{"flow.recipient", "a"}},
		{"an accept lifts it for that path", []policies.Reason{fired(allow, "a"), flowed("to[0]"), accept("to[0]")}, allow, allow, []string{"a", "p.accept"}},
		{"… and for no other", []policies.Reason{fired(allow, "a"), flowed("to[0]"), accept("to[1]")}, deny, deny, []string{"flow.recipient", "a"}},
		{"an accept is not an allow", []policies.Reason{flowed("to[0]"), accept("to[0]")}, deny, deny, []string{"core.no-allow", "p.accept"}},
		{"an accept lifts no other rule's denial", []policies.Reason{fired(allow, "a"), fired(deny, "d", "to[0]"), accept("to[0]")}, deny, deny, []string{"d", "a"}},
		{"an accept in audit mode lifts nothing yet", []policies.Reason{fired(allow, "a"), flowed("to[0]"), audited(accept("to[0]"))}, deny, allow, []string{"flow.recipient", "a", "p.accept"}},
		{"a deny in audit mode shows in would", []policies.Reason{fired(allow, "a"), audited(fired(deny, "d"))}, allow, deny, []string{"d", "a"}},
		{"an allow in audit mode grants nothing yet", []policies.Reason{audited(fired(allow, "a"))}, deny, allow, []string{"core.no-allow", "a"}},
		{"an ask in audit mode asks nobody", []policies.Reason{fired(allow, "a"), audited(fired(ask, "q"))}, allow, ask, []string{"q", "a"}},
		{"the same reason twice is one", []policies.Reason{fired(allow, "a"), fired(allow, "a")}, allow, allow, []string{"a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := policies.Combine(policies.Findings{Reasons: test.in})
			var ids []string
			for _, r := range d.Reasons {
				ids = append(ids, r.ID)
			}
			if d.Effect != test.effect || d.Would != test.would || !slices.Equal(ids, test.ids) {
				t.Errorf("got %v, would %v, %q; want %v, would %v, %q", d.Effect, d.Would, ids, test.effect, test.would, test.ids)
			}
		})
	}
}

func TestCombineOrderDoesNotMatter(t *testing.T) {
	in := []policies.Reason{fired(policies.Allow, "a"), fired(policies.Ask, "q", "x"), fired(policies.Ask, "q", "y"), flowed("b"), flowed("a"), accept("a")}
	want := policies.Combine(policies.Findings{Reasons: in})
	for i := range in {
		in := slices.Concat(in[i:], in[:i])
		if got := policies.Combine(policies.Findings{Reasons: in}); !reflect.DeepEqual(got, want) {
			t.Errorf("rotated by %d: got %+v, want %+v", i, got, want)
		}
	}
}

func TestApprovals(t *testing.T) {
	large := policies.Approval{Ask: "p.large", Policy: "p", Approvers: []string{"group:finance"}, Count: 2, TTL: time.Minute}
	of := func(a policies.Approval, args ...string) policies.Approval { a.Args = args; return a }
	found := policies.Findings{
		Reasons: []policies.Reason{
			fired(policies.Allow, "p.ok"), fired(policies.Ask, "p.large", "b"), fired(policies.Ask, "p.large", "a"),
			fired(policies.Ask, "p.plain"), audited(fired(policies.Ask, "p.later")),
		},
		Approvals: []policies.Approval{of(large, "b"), of(large, "a"), {Ask: "p.later", Policy: "p", Count: 1}},
	}
	want := []policies.Approval{of(large, "a", "b"), {Ask: "p.plain", Policy: "p", Count: 1}}
	if d := policies.Combine(found); d.Effect != policies.Ask || !reflect.DeepEqual(d.Approvals, want) {
		t.Errorf("got %v %+v, want ask %+v", d.Effect, d.Approvals, want)
	}
	found.Reasons = append(found.Reasons, fired(policies.Deny, "p.no"))
	if d := policies.Combine(found); len(d.Approvals) > 0 {
		t.Errorf("a denial asks for %+v, want nobody", d.Approvals)
	}
}

func TestObligations(t *testing.T) {
	limit := func(id string, max any) policies.Obligation {
		return policies.Obligation{Type: "limit", ID: id, Policy: "p", Fields: map[string]any{"max": max, "per": []any{"principal"}}}
	}
	redact := func(path, with string) policies.Obligation {
		return policies.Obligation{Type: "redact", Policy: "p", Fields: map[string]any{"path": path, "with": with}}
	}
	field := func(kind string, kv ...any) policies.Obligation {
		o := policies.Obligation{Type: kind, Policy: "p", Fields: map[string]any{}}
		for i := 0; i < len(kv); i += 2 {
			o.Fields[kv[i].(string)] = kv[i+1]
		}
		return o
	}
	for _, test := range []struct {
		name string
		in   []policies.Obligation
		want policies.Effect
		kept int
	}{
		{"two limits of different names", []policies.Obligation{limit("a", int64(1)), limit("b", int64(2))}, policies.Allow, 2},
		{"one limit twice", []policies.Obligation{limit("a", int64(1)), limit("a", int64(1))}, policies.Allow, 1},
		{"one limit with two numbers", []policies.Obligation{limit("a", int64(1)), limit("a", int64(2))}, policies.Deny, 0},
		{"a limit without a name", []policies.Obligation{limit("", int64(1))}, policies.Deny, 0},
		{"a limit that is not a number", []policies.Obligation{limit("a", "many")}, policies.Deny, 0},
		{"a negative cost", []policies.Obligation{field("limit", "max", int64(1), "cost", int64(-5))}, policies.Deny, 0},
		{"two redactions of one path", []policies.Obligation{redact("/result/a", "x"), redact("/result/a", "y")}, policies.Deny, 0},
		{"redactions of two paths", []policies.Obligation{redact("/result/a", "x"), redact("/result/b", "y")}, policies.Allow, 2},
		{"a path that is none", []policies.Obligation{redact("result", "x")}, policies.Deny, 0},
		{"labels unite", []policies.Obligation{field("label", "tags", []any{"pii"}), field("label", "tags", []any{"q3"}), field("label", "trust", "untrusted")}, policies.Allow, 3},
		{"a label of nothing", []policies.Obligation{field("label")}, policies.Deny, 0},
		{"a label field that is unknown", []policies.Obligation{field("label", "colour", "red")}, policies.Deny, 0},
		{"a mark", []policies.Obligation{field("mark", "name", "saw", "scope", "session")}, policies.Allow, 1},
		{"a mark without a name", []policies.Obligation{field("mark")}, policies.Deny, 0},
		{"two tiers are both held", []policies.Obligation{field("isolate", "tier", "process"), field("isolate", "tier", "container")}, policies.Allow, 2},
		{"a tier that is unknown", []policies.Obligation{field("isolate", "tier", "moon")}, policies.Deny, 0},
		{"an obligation that is unknown", []policies.Obligation{field("sing")}, policies.Deny, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := policies.Combine(policies.Findings{Reasons: []policies.Reason{fired(policies.Allow, "a")}, Obligations: test.in})
			if d.Effect != test.want || len(d.Obligations) != test.kept {
				t.Errorf("got %v with %+v and %+v, want %v with %d obligations", d.Effect, d.Obligations, d.Reasons, test.want, test.kept)
			}
		})
	}
	d := policies.Combine(policies.Findings{Obligations: []policies.Obligation{field("notify", "to", "ops"), field("mark", "name", "x")}})
	if d.Effect != policies.Deny || len(d.Obligations) != 1 || d.Obligations[0].Type != "notify" {
		t.Errorf("a denial keeps %+v, want notify alone", d.Obligations)
	}
}
