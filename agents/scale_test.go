package agents

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"callgate/agents/model"
	"callgate/agents/model/modeltest"
	"callgate/engine"
	"callgate/engine/journal"
)

// slow is a model that answers when it is let, with turns of work and then an answer.
type slow struct {
	turns   int
	waiting atomic.Int64
	rounds  []chan struct{} // by turn: closed when the model answers; nil: at once
}

func (*slow) Provider() string { return "test" }
func (*slow) Name() string     { return "slow" }

func (m *slow) Generate(ctx context.Context, q model.Request) (model.Reply, error) {
	turn := 0
	for _, said := range q.Messages {
		if said.Role == model.Assistant {
			turn++
		}
	}
	if turn < len(m.rounds) {
		m.waiting.Add(1)
		defer m.waiting.Add(-1)
		select {
		case <-m.rounds[turn]:
		case <-ctx.Done():
			return model.Reply{}, ctx.Err()
		}
	}
	text := fmt.Sprintf("body = files.read(\"a.txt\")\nrows = [{\"n\": i, \"text\": \"row %%d\" %% i} for i in range(50)]\ntotal = sum([r[\"n\"] for r in rows])\nprint(total, %d)", turn)
	if turn == m.turns {
		text = "done(total)"
	}
	return model.Reply{Text: "One step more.\n\n```starlark\n" + text + "\n```\n"}, nil
}

// busy builds an agent with the model.
func busy(t testing.TB, m model.Model, turns int, store journal.Store) *Agent {
	t.Helper()
	a := open(t, t.TempDir(), map[string]string{
		"callgate.yaml": "apiVersion: callgate/v1\nkind: Host\nspec: {library: [base, files], principal: {sub: ana@corp.example}}\n",
		"agent.yaml": "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: busy}\nspec:\n  tools: [{use: files, root: ./data}]\n" +
			"  model: {provider: recorded, recording: turns.md}\n  limits: {turns: " + fmt.Sprint(turns+1) + "}\n",
		"data/a.txt": "eight", "turns.md": "## turn 1\n\n```starlark\ndone(1)\n```\n",
	}, store)
	a.model = m
	return a
}

// What a turn costs besides the model: a reply is recorded, its program compiled and run, a call of a tool decided, made and recorded, and two values shown.
func BenchmarkTurn(b *testing.B) {
	const turns = 20
	for _, on := range []string{"memory", "disk"} {
		b.Run(on, func(b *testing.B) {
			var store journal.Store = journal.NewMemory()
			if on == "disk" {
				disk, err := journal.Open(filepath.Join(b.TempDir(), "journal.db"))
				if err != nil {
					b.Fatal(err)
				}
				defer disk.Close()
				store = disk
			}
			a := busy(b, &slow{turns: turns}, turns, store)
			for b.Loop() {
				if out, err := a.Run(context.Background(), RunOptions{}); err != nil || out.Turns != turns+1 {
					b.Fatalf("%d turns, %s (%s), error %v", out.Turns, out.Status, out.Reason, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*(turns+1))/1e6, "ms/turn")
		})
	}
}

// inUse is what the process holds, garbage aside.
func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// Many runs wait for a slow model in one process, each with little, and none is left behind: for one that is a function, and for one behind a server, which
// is in the process too, and counts.
func TestManyRunsWait(t *testing.T) {
	for _, served := range []bool{false, true} {
		t.Run(map[bool]string{false: "in the process", true: "behind a server"}[served], func(t *testing.T) {
			const turns = 3
			m := &slow{turns: turns, rounds: []chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})}}
			if served {
				manyWait(t, m, modeltest.Serve(t, m).Model("openai"))
			} else {
				manyWait(t, m, m)
			}
		})
	}
}

func manyWait(t *testing.T, m *slow, asked model.Model) {
	runs, most := 1000, uint64(256<<10)
	if testing.Short() {
		runs = 100
	}
	a := busy(t, asked, m.turns, journal.NewMemory())
	before := inUse()
	var all sync.WaitGroup
	ended := make([]time.Duration, runs)
	var released time.Time
	for i := range runs {
		all.Go(func() {
			out, err := a.Run(context.Background(), RunOptions{})
			if err != nil || out.Status != engine.Done || out.Turns != m.turns+1 || out.Answer == nil || out.Answer.Text() != "1225" {
				t.Errorf("%d turns, %s (%s), answer %v, error %v", out.Turns, out.Status, out.Reason, out.Answer, err)
			}
			ended[i] = time.Since(released)
		})
	}
	for turn := range m.rounds {
		guard := time.Now().Add(60 * time.Second)
		for m.waiting.Load() < int64(runs) {
			if time.Now().After(guard) || t.Failed() {
				t.Fatalf("turn %d: %d of %d runs wait", turn+1, m.waiting.Load(), runs)
			}
			time.Sleep(time.Millisecond)
		}
		each := (inUse() - before) / uint64(runs)
		t.Logf("before turn %d: %d runs wait, %d KiB each", turn+1, runs, each>>10)
		if each > most {
			t.Errorf("before turn %d: each run takes %d KiB, want at most %d", turn+1, each>>10, most>>10)
		}
		released = time.Now()
		close(m.rounds[turn])
		for m.waiting.Load() == int64(runs) {
			time.Sleep(time.Millisecond)
		}
	}
	all.Wait()
	slices.Sort(ended)
	t.Logf("after the last reply the first run ended within %v, the last within %v", ended[0], ended[runs-1])
}
