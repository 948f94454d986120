package gate

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"callgate/builtins"
	"callgate/engine/eval"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
)

// Sixteen gates with a store, tools and policies in common meet in their limits and in nothing else.
func TestGatesSideBySide(t *testing.T) {
	store := journal.NewMemory()
	set := &builtins.Set{}
	var mu sync.Mutex
	ran := map[string]int{}
	echo := tool("t.echo", func(_ context.Context, in *builtins.Invocation) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		ran[in.Key]++
		return in.Args["x"], nil
	})
	echo.Params = []builtins.Param{{Name: "x"}}
	if err := set.Add(echo); err != nil {
		t.Fatal(err)
	}
	pdp := &fakePDP{decide: always(allowing(oblige("limit", map[string]any{"max": 16 * 40, "per": []any{"principal"}})))}
	template := newRig(t, nil).cfg
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			id := fmt.Sprint("run", i)
			run, err := journal.Begin(context.Background(), store, id, journal.Options{})
			if err == nil {
				_, err = run.Append(context.Background(), journal.RunStart, "", journal.RunStarted{}, false)
			}
			if err != nil {
				t.Error(err)
				return
			}
			cfg := template
			cfg.Tools, cfg.PDP, cfg.Journal, cfg.Session.Run = set, pdp, run, id
			g, err := New(cfg)
			if err != nil {
				t.Error(err)
				return
			}
			g.SetTurn(1, trusted, trusted)
			for n := range 10 {
				var batch []eval.Call
				for k := range 4 {
					batch = append(batch, call(fmt.Sprintf("1.%d.%d", n, k), "t.echo", "x", i*1000+n*10+k))
				}
				for k, res := range g.Do(context.Background(), batch) {
					if res.Err != nil || res.Value.Text() != fmt.Sprint(i*1000+n*10+k) {
						t.Errorf("gate %d: got %s, %v", i, res.Value.Text(), res.Err)
					}
				}
				g.Counts()
				g.Context()
			}
			if res := g.Do(context.Background(), []eval.Call{call("2.1", "t.none")}); res[0].Err == nil {
				t.Error("a tool that does not exist was called")
			}
		})
	}
	all.Wait()
	if len(ran) != 16*40 {
		t.Errorf("%d calls ran, want %d, each once", len(ran), 16*40)
	}
	for i := range 16 {
		events, err := store.Read(t.Context(), fmt.Sprint("run", i), 1)
		if err != nil || len(events) != 1+40*3+1 {
			t.Errorf("run %d has %d events, %v; want %d", i, len(events), err, 1+40*3+1)
		}
		if err := journal.Verify(events); err != nil {
			t.Error(err)
		}
	}
}

// The overhead of an allowed call of a tool that does nothing, the journal in memory.
func BenchmarkAllowedCall(b *testing.B) {
	nop := tool("t.nop", func(context.Context, *builtins.Invocation) (any, error) { return "ok", nil })
	nop.Params = []builtins.Param{{Name: "to"}, {Name: "body"}}
	r := newRig(b, nil, nop)
	r.pdp.decide = always(allowing())
	calls := []eval.Call{call("1.1", "t.nop", "to", []string{"bob@corp.example"}, "body", "hello")}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if res := r.Do(ctx, calls); res[0].Err != nil {
			b.Fatal(res[0].Err)
		}
		r.pdp.requests = r.pdp.requests[:0]
	}
}

// A pure builtin that the evaluator's memo does not know yet.
func BenchmarkPermittedBuiltin(b *testing.B) {
	r := newRig(b, nil)
	r.pdp.decide = always(allowing())
	calls := []eval.Call{{ID: "1.1", Kind: eval.KindBuiltin, Tool: "len", PC: trusted, History: label.Bottom(), Args: []eval.Arg{{Name: "value", Value: value.NoneOf(mailed)}}}}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if res := r.Do(ctx, calls); res[0].Err != nil {
			b.Fatal(res[0].Err)
		}
		r.pdp.requests = r.pdp.requests[:0]
	}
}
