package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"
)

// BenchmarkAppend measures an append of a call's decision beside what the disk itself takes to
// make as many bytes durable in the same run.
func BenchmarkAppend(b *testing.B) {
	for _, bench := range []struct {
		name string
		sync bool
	}{{"no sync", false}, {"sync", true}} {
		b.Run(bench.name, func(b *testing.B) {
			s := openTest(b)
			r := beginTest(b, s, "")
			for b.Loop() {
				if _, err := r.Append(b.Context(), Decided, "1.1", decisionOf(1), bench.sync); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("memory", func(b *testing.B) {
		r := beginTest(b, NewMemory(), "")
		for b.Loop() {
			if _, err := r.Append(b.Context(), Decided, "1.1", decisionOf(1), false); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("disk alone: write and fsync", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "raw"))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		page := make([]byte, 3*4096+72)
		for b.Loop() {
			if _, err := f.Write(page); err != nil {
				b.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("sync, 16 runs", func(b *testing.B) {
		s := openTest(b)
		var left atomic.Int64
		left.Store(int64(b.N))
		var wg sync.WaitGroup
		runs := make([]*Run, 16)
		for i := range runs {
			runs[i] = beginTest(b, s, fmt.Sprintf("r%d", i))
		}
		b.ResetTimer()
		for _, r := range runs {
			wg.Go(func() {
				for left.Add(-1) >= 0 {
					if _, err := r.Append(b.Context(), Decided, "1.1", decisionOf(1), true); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	})
}

// BenchmarkRead measures reading and verifying a run of 10,000 events.
func BenchmarkRead(b *testing.B) {
	s := openTest(b)
	r := beginTest(b, s, "long")
	for n := 1; n < 10_000; n += 100 {
		var batch []Entry
		for i := range min(100, 10_000-n) {
			batch = append(batch, Entry{Decided, fmt.Sprintf("1.%d", n+i), decisionOf(n + i)})
		}
		if _, err := r.AppendAll(b.Context(), false, batch...); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, events, err := Resume(b.Context(), s, "long", Options{}); err != nil || len(events) != 10_000 {
			b.Fatalf("got %d events, %v; want 10000", len(events), err)
		}
	}
}

func openTest(t testing.TB) *SQLite {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// beginTest starts a run with its header.
func beginTest(t testing.TB, s Store, id string) *Run {
	t.Helper()
	r, err := Begin(t.Context(), s, id, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Append(t.Context(), RunStart, "", RunStarted{Language: "1", Agent: "inbox"}, false); err != nil {
		t.Fatal(err)
	}
	return r
}

var mailLabel = label.New(label.Untrusted, label.Only("ana"), nil, label.Source{Tool: "mail.read", Of: "04.eml"})

// decisionOf is what a decision on a call looks like.
func decisionOf(n int) DecisionMade {
	return DecisionMade{
		Kind: "tool", Tool: "mail.send", PC: label.Bottom(), Binding: "sha256:" + fmt.Sprint(n),
		Args: []Argument{
			{Name: "to", Value: value.StringOf("bob@corp.example", label.Bottom()), Sink: "recipient"},
			{Name: "body", Value: value.StringOf(fmt.Sprintf("number %d, as <agreed> & signed", n), mailLabel)},
		},
	}
}
