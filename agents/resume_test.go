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
func invoicesOver(t *testing.T, state string, store journal.Store, watch ...func(journal.Event)) *agents.Agent {
	t.Helper()
	p, problems := spec.Load(invoices, "")
	o := agents.Options{State: state, Store: store, Approver: gate.ApproveAll{By: "--approve all"}}
	for _, w := range watch {
		o.Watch = w
	}
	a, more := agents.Build(t.Context(), p, o)
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

// TestTheInvoicesAreGoneOnWithAfterTheyWereCancelled cancels the example after events all over its run, and goes on with it.
func TestTheInvoicesAreGoneOnWithAfterTheyWereCancelled(t *testing.T) {
	whole := journal.NewMemory()
	if _, err := invoicesOver(t, t.TempDir(), whole).Run(t.Context(), agents.RunOptions{ID: "r"}); err != nil {
		t.Fatal(err)
	}
	want := happened(t, whole)
	stride := 23
	if testing.Short() {
		stride = 53
	}
	for n := 1; ; n += stride {
		store, state := journal.NewMemory(), t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		left := n
		r, err := invoicesOver(t, state, store, func(journal.Event) {
			if left--; left == 0 {
				cancel()
			}
		}).Run(ctx, agents.RunOptions{ID: "r"})
		cancel()
		if err != nil {
			t.Fatalf("cancelled after event %d: %v", n, err)
		}
		if r.Status == engine.Done {
			break
		}
		if r.Status != engine.Cancelled || r.Reason == "" {
			t.Fatalf("cancelled after event %d: got %s (%s), want cancelled", n, r.Status, r.Reason)
		}
		if r, err = invoicesOver(t, state, store).Resume(t.Context(), engine.Again{Run: "r", By: "ap"}); err != nil {
			t.Fatalf("cancelled after event %d: %v", n, err)
		}
		if got := happened(t, store); !slices.Equal(got, want) {
			t.Fatalf("cancelled after event %d: got %v (%s), want %v", n, got, r.Status, want)
		}
		replayed, err := invoicesOver(t, t.TempDir(), store).Replay(t.Context(), "r", nil)
		if err != nil || len(replayed.Differences) > 0 || !replayed.Ended || replayed.Met != replayed.Events {
			t.Fatalf("cancelled after event %d: replayed %+v, %v", n, replayed, err)
		}
	}
}
