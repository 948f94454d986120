package engine

import (
	"errors"
	"fmt"
	"testing"

	"callgate/engine/journal"
)

// BenchmarkResume goes over a run of 10,000 events again, all but its last.
func BenchmarkResume(b *testing.B) {
	store := journal.NewMemory()
	turns := []string{`
for i in range(3330):
    shop.put(key = str(i % 3), text = "t")
done(1)
`}
	w := new(world)
	d := &dying{Store: store, left: 6665}
	s, err := begin(b.Context(), w.clerk(b, d), d)
	if err == nil {
		err = drive(b.Context(), s, turns)
	}
	if !errors.Is(err, errKilled) {
		b.Fatal(err)
	}
	events, err := store.Read(b.Context(), shopRun, 1)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		d := &dying{Store: store, left: 1}
		s, err := begin(b.Context(), w.clerk(b, d), d)
		if err == nil {
			err = drive(b.Context(), s, turns)
		}
		if !errors.Is(err, errKilled) {
			b.Fatal(fmt.Errorf("want to be stopped at the first append: %w", err))
		}
	}
	b.ReportMetric(float64(len(events)), "events")
}
