package desk_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"callgate/builtins"
	"callgate/engine"
	"callgate/engine/desk"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/policies"
)

// allowing allows everything.
type allowing struct{}

func (allowing) Decide(context.Context, *policies.Request) (policies.Decision, error) {
	return policies.Decision{Effect: policies.Allow, Would: policies.Allow}, nil
}

func (allowing) Revision() string { return "sha256:1" }

// changed has another answer to every tool.
type changed struct{ effect policies.Effect }

func (c changed) Decide(_ context.Context, r *policies.Request) (policies.Decision, error) {
	if r.Call.Kind == policies.KindTool {
		d := policies.Decision{Effect: c.effect, Would: c.effect, Reasons: []policies.Reason{{ID: "frozen", Policy: "p", Effect: c.effect}}}
		if c.effect == policies.Ask {
			d.Approvals = []policies.Approval{{Ask: "frozen", Policy: "p", Approvers: []string{"bob"}}}
		}
		return d, nil
	}
	return policies.Decision{Effect: policies.Allow, Would: policies.Allow}, nil
}

func (changed) Revision() string { return "sha256:2" }

// broken is a store whose process ends, as it seems, before the result of a call is stored.
type broken struct{ journal.Store }

func (b broken) Append(ctx context.Context, events []journal.Event, sync bool) error {
	for _, e := range events {
		if e.Type == journal.CallResult {
			return errors.New("the process ends here")
		}
	}
	return b.Store.Append(ctx, events, sync)
}

// Whoever says that a call is to be made again says so once: after it was broken off again, they are asked again; and what
// policies deny by then, or want somebody else to be asked about, is not made again.
func TestOneYesIsOneMoreTry(t *testing.T) {
	for _, effect := range []policies.Effect{policies.Deny, policies.Ask} {
		t.Run("in the end they "+effect.String(), func(t *testing.T) { oneYes(t, changed{effect}) })
	}
}

func oneYes(t *testing.T, inTheEnd policies.PDP) {
	store := journal.NewMemory()
	ana := desk.Person{Sub: "ana", Login: "ana"}
	d := &desk.Desk{Store: store}
	made, pdp := 0, policies.PDP(allowing{})
	var tools builtins.Set
	err := tools.Add(&builtins.Tool{
		Name: "bank.pay", Effects: builtins.Write, Label: builtins.Source{Class: label.New(label.User, label.Public(), nil)},
		Params: []builtins.Param{{Name: "amount", Schema: json.RawMessage(`{"type": "integer"}`), Required: true}},
		Run:    func(context.Context, *builtins.Invocation) (any, error) { made++; return nil, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	run := func(s journal.Store, again bool) string {
		t.Helper()
		e, err := engine.New(engine.Config{Agent: "clerk", Principal: policies.Principal{Sub: "ana"}, Tools: &tools, PDP: pdp, Store: s, Approver: d.Approver(nil), Meter: 10})
		if err != nil {
			t.Fatal(err)
		}
		var session *engine.Session
		if again {
			session, err = e.Resume(t.Context(), engine.Again{Run: "sample"})
		} else {
			session, err = e.Start(t.Context(), engine.Run{ID: "sample", Context: label.Bottom()})
		}
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		out, err := session.Exec(t.Context(), engine.Program{File: "main.star", Author: label.New(label.User, label.Public(), nil), Text: "bank.pay(amount = 5)\ndone(1)\n"})
		if err != nil {
			return "broken off"
		}
		status := engine.StatusOf(out.Status)
		if err := session.End(t.Context(), engine.Ending{Status: status}); err != nil {
			return "broken off"
		}
		return string(status)
	}
	approve := func() {
		t.Helper()
		q, err := d.Question(t.Context(), "sample")
		if err != nil {
			t.Fatal(err)
		}
		if q.Approval.Ask != gate.AskInterrupted || q.Closed != "" || q.Need != 1 {
			t.Fatalf("%s is asked, closed %q, and %d must approve; want %s, which one must", q.Approval.Ask, q.Closed, q.Need, gate.AskInterrupted)
		}
		if _, _, err := d.Answer(t.Context(), q.ID, desk.Answer{By: ana, Approve: true, Binding: q.Approval.Binding}); err != nil {
			t.Fatal(err)
		}
	}
	for i, step := range []struct {
		store   journal.Store
		approve bool
		ends    string
		made    int
		pdp     policies.PDP
	}{
		{broken{store}, false, "broken off", 1, allowing{}},
		{store, false, "waiting", 1, allowing{}},
		{broken{store}, true, "broken off", 2, allowing{}},
		{store, false, "waiting", 2, allowing{}},
		{store, true, "failed", 2, inTheEnd},
	} {
		pdp = step.pdp
		if step.approve {
			approve()
		}
		if got := run(step.store, i > 0); got != step.ends || made != step.made {
			t.Fatalf("step %d: the run is %s and the call was made %d times; want %s, %d", i, got, made, step.ends, step.made)
		}
	}
}
