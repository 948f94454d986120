package eval

import (
	"context"
	"testing"

	"callgate/engine/label"
)

// BenchmarkStrands measures what a strand costs, with one call of a host that does nothing, and the call alone.
func BenchmarkStrands(b *testing.B) {
	for _, test := range []struct{ name, src string }{
		{"a strand and its call", "parallel([lambda: get(1)] * 100)"},
		{"a strand without a call", "parallel([lambda: 1] * 100)"},
		{"a call", "[get(1) for i in range(100)]"},
		{"a function", "f = lambda: 1\n[f() for i in range(100)]"},
	} {
		b.Run(test.name, func(b *testing.B) {
			h := &waveHost{label: label.Bottom()}
			s := h.session(b, Limits{Calls: 1 << 40})
			p, err := Compile("p", []byte(test.src), s.Env())
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				h.waves = nil
				if out, err := s.Run(context.Background(), p, label.Bottom()); err != nil || out.Err != nil {
					b.Fatal(err, out.Err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/each")
		})
	}
}
