package rego

import (
	"slices"
	"strings"
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
	"callgate/policies/internal/sample"
)

// transfer is a request to pay to an account that came from a mail.
func transfer(iban string, typed bool) *policies.Request {
	tool := sample.Tools["bank.transfer"]
	mail := label.New(label.Untrusted, label.Public(), nil, label.Source{Tool: "mail.read", Of: "4.eml"})
	user := label.New(label.User, label.Public(), nil)
	return &policies.Request{
		Call: policies.Call{
			Kind: policies.KindTool, Tool: tool.Name, Effects: tool.Effects, Sinks: tool.SinkKinds(),
			Args: value.DictOf(user, value.Field{Name: "iban", Of: value.StringOf(iban, mail)}, value.Field{Name: "amount", Of: value.IntOf(5, user)}),
		},
		Labels: policies.Labels{Program: user, PC: user, Context: user, Args: []policies.ArgLabel{{Name: "iban", Label: mail}, {Name: "amount", Label: user}}},
		Leaves: []policies.Leaf{
			{Path: "iban", Param: "iban", Value: iban, Norm: strings.ToLower(iban), Sink: policies.SinkAccount, Typed: typed, Label: mail},
			{Path: "amount", Param: "amount", Value: int64(5), Norm: "5", Sink: policies.SinkNone, Label: user},
			{Path: "pc", Param: "pc", Value: "", Sink: policies.SinkControl, Label: user},
		},
	}
}

func TestRules(t *testing.T) {
	e := newEngine(t, small(t))
	var got []string
	for _, r := range e.Rules() {
		if r.Policy != "small" || r.Engine != "rego" || r.Pos.Line == 0 {
			t.Errorf("got %+v", r)
		}
		got = append(got, r.Action+" "+r.ID)
	}
	want := []string{"deny small.origin", "ask small.large", "allow small.pay", "obligation limit/small.rate"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestExplain(t *testing.T) {
	e := newEngine(t, small(t))
	explain := func(r *policies.Request) map[string]policies.Explanation {
		t.Helper()
		list, err := e.Explain(t.Context(), staticOf(r), r)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]policies.Explanation{}
		for _, x := range list {
			out[x.ID] = x
		}
		return out
	}
	x := explain(transfer("DE1", false))
	for id, want := range map[string]string{
		"small.origin": policies.RuleFired, "small.large": policies.RuleNotHeld, "small.pay": policies.RuleFired, "limit/small.rate": policies.RuleFired,
	} {
		if x[id].Outcome != want {
			t.Errorf("%s: %s, want %s", id, x[id].Outcome, want)
		}
	}
	if got := x["small.origin"].Args; !slices.Equal(got, []string{"iban"}) {
		t.Errorf("small.origin: fired for %q, want iban", got)
	}
	// The other leaves are told by where they stopped, with what was compared.
	var stopped []string
	for _, s := range x["small.origin"].Steps {
		stopped = append(stopped, s.Leaf+": "+s.Text+": "+strings.Join(s.Values, ", "))
	}
	if want := []string{`amount: leaf.sink == "account": leaf.sink = "none"`, `pc: leaf.sink == "account": leaf.sink = "control"`}; !slices.Equal(stopped, want) {
		t.Errorf("small.origin: stopped at %q, want %q", stopped, want)
	}
	// What a helper stopped at stands below it.
	large := x["small.large"].Steps
	if len(large) != 1 || large[0].Text != "large" || len(large[0].Below) != 1 {
		t.Fatalf("small.large: %+v", large)
	}
	below := large[0].Below[0]
	if below.Text != "input.call.args.amount > data.params.small.limit" || below.Pos.Line != 18 ||
		!slices.Equal(below.Values, []string{"input.call.args.amount = 5", "data.params.small.limit = 50"}) {
		t.Errorf("small.large: below %+v", below)
	}

	// One that does not fire because a helper held says no more than that.
	x = explain(transfer("DE1", true))
	if s := x["small.origin"].Steps; x["small.origin"].Outcome != policies.RuleNotHeld || len(s) == 0 || s[0].Text != "not known(leaf)" || s[0].Value != "false" || s[0].Below != nil {
		t.Errorf("small.origin: %+v", x["small.origin"])
	}

	// A policy that does not match is told so.
	r := transfer("DE1", false)
	r.Call.Sinks = []string{"content"}
	for id, x := range explain(r) {
		if x.Outcome != policies.RuleUnbound {
			t.Errorf("%s: %s, want %s", id, x.Outcome, policies.RuleUnbound)
		}
	}
}

// Whatever fires is explained as having fired, and nothing else.
func TestExplainAgreesWithTheEngine(t *testing.T) {
	e := newEngine(t, situationPolicies(t))
	source := sample.NewSource(77)
	fired := 0
	for range 40 {
		r := source.Request()
		found := findings(t, e, r)
		list, err := e.Explain(t.Context(), staticOf(r), r)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range list {
			want := hasFired(x.Rule, found, new([]string))
			if got := x.Outcome == policies.RuleFired; got != want {
				t.Errorf("%s: %s: %s, and the engine says %v", r.Call.Tool, x.ID, x.Outcome, want)
			}
			if want {
				fired++
			} else if len(x.Steps) == 0 {
				t.Errorf("%s: %s did not fire and nothing says why", r.Call.Tool, x.ID)
			}
		}
	}
	if fired < 40 {
		t.Errorf("%d rules fired: not much of a test", fired)
	}
}
