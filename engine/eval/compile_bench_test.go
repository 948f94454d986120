package eval

import (
	"runtime"
	"testing"

	"callgate/engine/value"
)

const tenLines = `total = 0
late = []
for row in rows:
    if row["amount"] > 100 and row["state"] != "paid":
        late.append({"id": row["id"], "amount": row["amount"] * 1.19})
        total += row["amount"]
names = sorted([r["id"] for r in late])
if len(names) > 3:
    names = names[:3]
print("%d late, %s in all: %s" % (len(late), total, ", ".join(names)))
`

// BenchmarkCompile compiles ten lines of a program, and finds them among those compiled lately.
func BenchmarkCompile(b *testing.B) {
	env := Env{Predeclared: func(n string) bool { return n == "rows" }}
	b.Run("afresh", func(b *testing.B) {
		for b.Loop() {
			if _, err := compile("ten.star", []byte(tenLines), env, new([]answer)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			if _, err := Compile("ten.star", []byte(tenLines), env); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkAtRest reports what a session takes that has run a turn and waits for the next, beside its names.
func BenchmarkAtRest(b *testing.B) {
	const n = 1000
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		sessions := make([]*Session, n)
		before := heap()
		for i := range sessions {
			s, err := NewSession(Config{Host: &recorder{}, Inputs: []Input{{"rows", value.ListOf(lowLabel)}}})
			if err != nil {
				b.Fatal(err)
			}
			p, err := Compile("ten.star", []byte(tenLines), s.Env())
			if err != nil {
				b.Fatal(err)
			}
			if out, err := s.Run(b.Context(), p, lowLabel); err != nil || out.Err != nil {
				b.Fatal(err, out.Err)
			}
			sessions[i] = s
		}
		b.ReportMetric(float64(heap()-before)/n, "B/session")
		runtime.KeepAlive(sessions)
	}
}
