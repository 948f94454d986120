package agents_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"callgate/agents"
	"callgate/engine"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/spec"
)

var errStopped = errors.New("stopped")

// stopping is a store that stops at an append, before it or after.
type stopping struct {
	journal.Store
	left  int // negative: it does not stop
	after bool
}

func (s *stopping) Append(ctx context.Context, events []journal.Event, sync bool) error {
	if s.left == 0 {
		return errStopped
	}
	if s.left--; s.left == 0 && !s.after {
		return errStopped
	}
	if err := s.Store.Append(ctx, events, sync); err != nil || s.left != 0 {
		return err
	}
	return errStopped
}

// invoicesOver builds the invoices example over a store.
func invoicesOver(t *testing.T, state string, store journal.Store) *agents.Agent {
	t.Helper()
	p, problems := spec.Load(invoices, "")
	a, more := agents.Build(t.Context(), p, agents.Options{State: state, Store: store, Approver: gate.ApproveAll{By: "--approve all"}})
	if problems = append(problems, more...); spec.Fatal(problems) {
		t.Fatal(problems)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// happened are the calls of a run that have a result, in order, and how it ended.
func happened(t *testing.T, store journal.Store) (out []string) {
	t.Helper()
	events, err := store.Read(t.Context(), "r", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range journal.Current(events, false) {
		switch e.Type {
		case journal.CallResult:
			ended, err := journal.Decode[journal.CallEnded](e)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, e.Call+" "+ended.Tool+" "+ended.Code+" "+ended.Label.String())
		case journal.RunEnd:
			end, err := journal.Decode[journal.RunEnded](e)
			if err != nil || end.Answer == nil {
				t.Fatalf("got %+v, %v; want an answer", end, err)
			}
			out = append(out, end.Status+" "+end.Answer.Str)
		}
	}
	return out
}

// TestTheInvoicesAreGoneOnWith stops the example at appends all over its run, goes on with it in another agent over the same state folder, and
// goes over it again.
func TestTheInvoicesAreGoneOnWith(t *testing.T) {
	whole := journal.NewMemory()
	if _, err := invoicesOver(t, t.TempDir(), whole).Run(t.Context(), agents.RunOptions{ID: "r"}); err != nil {
		t.Fatal(err)
	}
	want := happened(t, whole)
	stride := 19
	if testing.Short() {
		stride = 41
	}
	for n := 2; ; n += stride {
		store, state := journal.NewMemory(), t.TempDir()
		_, err := invoicesOver(t, state, &stopping{store, n, n%2 == 0}).Run(t.Context(), agents.RunOptions{ID: "r"})
		if err == nil {
			break
		}
		if !errors.Is(err, errStopped) {
			t.Fatal(err)
		}
		r, err := invoicesOver(t, state, store).Resume(t.Context(), engine.Again{Run: "r", By: "ap"})
		if err != nil && !errors.Is(err, journal.ErrEnded) {
			t.Fatalf("stopped at append %d: %v", n, err)
		}
		if got := happened(t, store); !slices.Equal(got, want) {
			t.Fatalf("stopped at append %d: got %v (%s), want %v", n, got, r.Status, want)
		}
		replayed, err := invoicesOver(t, t.TempDir(), store).Replay(t.Context(), "r", nil)
		if err != nil || len(replayed.Differences) > 0 || !replayed.Ended || replayed.Met != replayed.Events {
			t.Fatalf("stopped at append %d: replayed %+v, %v", n, replayed, err)
		}
	}
}
