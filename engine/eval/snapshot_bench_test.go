package eval

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"
)

// smallSession is a session like most: a few tools, an input, a turn of a few lines.
func smallSession(t testing.TB, host Host) (*Session, Config) {
	c := Config{Host: host, Inputs: []Input{{Name: "task", Value: value.StringOf("pay what is due", label.New(label.User, label.Only("ana"), nil))}}}
	for i := range 20 {
		c.Tools = append(c.Tools, ToolSig{Name: fmt.Sprintf("room%d.tool%d", i%5, i), Params: []string{"id", "body"}})
	}
	s, err := NewSession(c)
	if err != nil {
		t.Fatal(err)
	}
	runTurn(t, s, `
due = {}
def total(of):
    n = 0
    for k in of:
        n += of[k]
    return n
for i in range(5):
    due["PO-%d" % (1000 + i)] = 1200 * i + len(task)
sum = total(due)
names = sorted(due)
`)
	return s, c
}

func runTurn(t testing.TB, s *Session, text string) Outcome {
	t.Helper()
	p, err := Compile(fmt.Sprintf("turn%d.star", s.turn+1), []byte(text), s.Env())
	if err != nil {
		t.Fatal(err)
	}
	o, err := s.Run(context.Background(), p, label.New(label.User, label.Public(), nil))
	if err != nil {
		t.Fatal(err)
	}
	if o.Err != nil {
		t.Fatal(o.Err, o.Err.Detail)
	}
	return o
}

// largeSession has also 1 MB of data: 5,000 records of four fields.
func largeSession(t testing.TB, host Host) (*Session, Config) {
	s, c := smallSession(t, host)
	runTurn(t, s, `
records = []
for i in range(5000):
    records.append({"id": i, "name": "somebody %d" % i, "amount": i * 1.25, "tags": ["a", "b%d" % (i % 10)]})
`)
	return s, c
}

func BenchmarkSnapshot(b *testing.B) {
	for _, bench := range []struct {
		name string
		make func(testing.TB, Host) (*Session, Config)
	}{{"small", smallSession}, {"5000 records", largeSession}} {
		s, c := bench.make(b, &recorder{})
		data, err := s.Snapshot(0)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(bench.name+"/write", func(b *testing.B) {
			b.ReportAllocs()
			b.ReportMetric(float64(len(data)), "bytes")
			for range b.N {
				if _, err := s.Snapshot(0); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(bench.name+"/re-make", func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if _, err := Restore(c, data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// atRest is how much a session may take between its turns, beside its data.
const atRest = 32 << 10

func TestASessionAtRestIsSmall(t *testing.T) {
	const n = 200
	host := &recorder{}
	empty := Config{Host: host}
	measure := func(f func() *Session) int64 {
		keep := make([]*Session, n)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range keep {
			keep[i] = f()
		}
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(keep)
		return (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / n
	}
	bare := measure(func() *Session {
		s, err := NewSession(empty)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
	small := measure(func() *Session {
		s, _ := smallSession(t, host)
		host.calls = nil
		return s
	})
	s, _ := smallSession(t, host)
	b, err := s.Snapshot(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("a session takes %d bytes, one with 20 tools and a turn behind it %d; as a snapshot %d", bare, small, len(b))
	if small > atRest {
		t.Errorf("a session at rest takes %d bytes, want at most %d", small, atRest)
	}
}
