package eval

import (
	"testing"

	"callgate/engine/label"
)

// BenchmarkPermitted asks for a builtin that was permitted before: for data of one label, and of two in turn. What the first
// ask of a label costs, engine/gate has a benchmark of.
func BenchmarkPermitted(b *testing.B) {
	h := &recorder{}
	s, err := NewSession(Config{Host: h})
	if err != nil {
		b.Fatal(err)
	}
	t := s.thread(b.Context(), label.BottomID)
	size := universe["len"].builtin().def
	low, high := s.tab.Intern(lowLabel), s.tab.Intern(niLabels[2])
	for _, test := range []struct {
		name string
		by   [2]label.ID
	}{{"one", [2]label.ID{low, low}}, {"two", [2]label.ID{low, high}}} {
		b.Run(test.name, func(b *testing.B) {
			for _, l := range test.by {
				t.permitLabel(size, l)
			}
			h.calls = nil
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				t.permitLabel(size, test.by[i&1])
			}
			if len(h.calls) > 0 {
				b.Fatalf("asked for %d times more", len(h.calls))
			}
		})
	}
}
