package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"callgate/engine/label"
	"callgate/engine/value"
)

// BenchmarkCall measures what a call costs: its decision and its start in one commit, synced before the tool runs, and its
// result in another, synced before the program sees it. It reports per call, in microseconds: what the disk alone takes for so many
// bytes and syncs (disk-µs), and what the journal takes beyond that (over-µs); and how often the journal committed (commits).
func BenchmarkCall(b *testing.B) {
	for _, bench := range []struct {
		name string
		sync bool
		runs int
	}{{"no sync", false, 1}, {"sync", true, 1}, {"sync, 16 runs at once", true, 16}} {
		b.Run(bench.name, func(b *testing.B) {
			s := openTest(b)
			v := value.StringOf("sent", mailLabel)
			var left atomic.Int64
			left.Store(int64(b.N))
			runs := make([]*Run, bench.runs)
			for i := range runs {
				runs[i] = beginTest(b, s, fmt.Sprintf("r%d", i))
			}
			commits := s.commits.Load()
			var wg sync.WaitGroup
			b.ResetTimer()
			for _, r := range runs {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						_, err := r.AppendAll(b.Context(), bench.sync, Entry{Decided, "1.1", decisionOf(1)}, Entry{CallStart, "1.1", CallStarted{Tool: "mail.send", Key: "k"}})
						if err == nil {
							_, err = r.Append(b.Context(), CallResult, "1.1", CallEnded{Tool: "mail.send", Value: &v, Label: mailLabel}, bench.sync)
						}
						if err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			call := b.Elapsed() / time.Duration(b.N)
			b.ReportMetric(float64(s.commits.Load()-commits)/float64(b.N), "commits")
			if !bench.sync {
				return
			}
			// Two writes of about what two commits write, to a log that has its size already, as SQLite's has.
			disk := diskAlone(b, min(b.N, 2000), []int{3 * 4120, 2 * 4120})
			b.ReportMetric(float64(disk.Nanoseconds())/1e3, "disk-µs")
			b.ReportMetric(float64((call-disk).Nanoseconds())/1e3, "over-µs")
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
}

// diskAlone writes and syncs pieces again and again, over what a file holds already, and returns how long one round takes.
func diskAlone(b *testing.B, rounds int, pieces []int) time.Duration {
	f, err := os.Create(filepath.Join(b.TempDir(), "raw"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	const size = 4 << 20
	if _, err := f.Write(make([]byte, size)); err != nil {
		b.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	at, start := 0, time.Now()
	for range rounds {
		for _, n := range pieces {
			if at+n > size {
				at = 0
			}
			if _, err := f.WriteAt(make([]byte, n), int64(at)); err != nil {
				b.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
			at += n
		}
	}
	return time.Since(start) / time.Duration(rounds)
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
