package agents_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/agents"
	"callgate/engine"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/spec"
)

const invoices = "../examples/invoices"

// build opens the invoices example over a state folder.
func build(t *testing.T, state string, approver gate.Approver, watch func(journal.Event)) *agents.Agent {
	t.Helper()
	p, problems := spec.Load(invoices, "")
	if spec.Fatal(problems) {
		t.Fatal(problems)
	}
	a, problems := agents.Build(t.Context(), p, agents.Options{
		State: state, Approver: approver, Watch: watch,
		Clock: func() time.Time { return time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC) },
	})
	if spec.Fatal(problems) {
		t.Fatal(problems)
	}
	for _, w := range problems {
		t.Log(w)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// refusals returns the calls that were denied, with the rules that did it.
func refusals(events []journal.Event) (out []string) {
	for _, e := range events {
		if e.Type != journal.Decided {
			continue
		}
		d, err := journal.Decode[journal.DecisionMade](e)
		if err != nil || d.Decision.Effect.String() != "deny" {
			continue
		}
		var ids []string
		for _, r := range d.Decision.Reasons {
			if r.Effect.String() == "deny" && !r.Audit {
				ids = append(ids, r.ID)
			}
		}
		out = append(out, d.Tool+": "+strings.Join(ids, " "))
	}
	return out
}

func TestInvoices(t *testing.T) {
	state := t.TempDir()
	var events []journal.Event
	a := build(t, state, nil, func(e journal.Event) { events = append(events, e) })
	r, err := a.Run(context.Background(), agents.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != engine.Waiting || len(r.Waiting) != 1 || r.Waiting[0].Approval.Ask != "payments.large" {
		t.Errorf("status %q (%s), waiting %v, want it to wait for payments.large", r.Status, r.Reason, r.Waiting)
	}
	for _, e := range events {
		if e.Type == journal.RunEnd {
			t.Log(string(e.Payload))
		}
	}
	t.Log(strings.Join(refusals(events), "\n"))
	if err := journal.Verify(events); err != nil {
		t.Error(err)
	}
	box, _ := os.ReadDir(filepath.Join(state, "outbox"))
	if len(box) > 0 {
		t.Errorf("%d mails were sent, want none", len(box))
	}
	_ = slices.Contains[[]string]
}
