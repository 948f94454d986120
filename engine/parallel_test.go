package engine

import (
	"context"
	"slices"
	"sync"
	"testing"

	"callgate/engine/gate"
	"callgate/engine/journal"
)

// some is an approver who answers about some calls only.
type some struct {
	mu    sync.Mutex
	calls []string
	asked []string
}

func (a *some) Approve(_ context.Context, q gate.Question) (gate.Verdict, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, q.Call)
	if slices.Contains(a.calls, q.Call) {
		return gate.Verdict{Outcome: gate.Approved, By: "somebody", Anybody: true}, nil
	}
	return gate.Verdict{Reason: "nobody to ask"}, nil
}

// TestAStrandThatWaits lets two strands of four wait for people, who answer one after the other: what the others have done is kept, nothing is done twice,
// and what has been recorded can be gone over.
func TestAStrandThatWaits(t *testing.T) {
	const program = `
def pay(to):
    shop.pay(to = to, amount = 70)
    shop.put(key = "paid", text = to)
    return to
def put(key):
    shop.put(key = key, text = "1")
    shop.put(key = key, text = "2")
    return key
r = parallel([lambda: put("a"), lambda: pay("x"), lambda: attempt(shop.charge, i = 1).ok, lambda: pay("y"), lambda: put("b")])
done(r)
`
	w, store := new(world), journal.NewMemory()
	first := []string{"shop/1.1.1 put a 1", "shop/1.1.3 charge 1", "shop/1.1.5 put b 1"}
	then := []string{"shop/1.1.2 pay x 70", "shop/1.1.4 pay y 70"}
	last := []string{"shop/1.2.1 put a 2", "shop/1.2.2 put paid x", "shop/1.2.4 put paid y", "shop/1.2.5 put b 2"}
	for n, step := range []struct {
		answers, asked []string
		effects        []string
		status         string
	}{
		{nil, []string{"1.1.2", "1.1.4"}, first, "waiting"},
		{[]string{"1.1.4"}, []string{"1.1.2", "1.1.4"}, append(slices.Clone(first), then[1]), "waiting"},
		{nil, []string{"1.1.2"}, append(slices.Clone(first), then[1]), "waiting"},
		{[]string{"1.1.2"}, []string{"1.1.2"}, slices.Concat(first, then, last), "done"},
	} {
		a := &some{calls: step.answers}
		e := w.clerk(t, store)
		e.cfg.Approver = a
		s, err := begin(t.Context(), e, store)
		if err == nil {
			err = drive(t.Context(), s, []string{program})
		}
		if err != nil {
			t.Fatalf("step %d: %v", n, err)
		}
		if !slices.Equal(a.asked, step.asked) {
			t.Errorf("step %d: asked about %q, want %q", n, a.asked, step.asked)
		}
		got, want := slices.Sorted(slices.Values(w.lines)), slices.Sorted(slices.Values(step.effects))
		if !slices.Equal(got, want) {
			t.Errorf("step %d: effects %q, want %q", n, got, want)
		}
		events, err := store.Read(t.Context(), shopRun, 1)
		if err != nil {
			t.Fatal(err)
		}
		end, err := journal.Decode[journal.RunEnded](events[len(events)-1])
		if err != nil || end.Status != step.status {
			t.Errorf("step %d: ended %s, %v, want %s", n, end.Status, err, step.status)
		}
	}
	looking, err := w.clerk(t, store).Resume(t.Context(), Again{Run: shopRun, Only: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := drive(t.Context(), looking, []string{program}); err != nil {
		t.Error(err)
	}
	if met, all, differences := looking.Compared(); met != all || len(differences) > 0 {
		t.Errorf("gone over: %d of %d events, %v", met, all, differences)
	}
}
