package journal

import (
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Both stores keep the same books.
func TestAccounts(t *testing.T) {
	type step struct {
		after  time.Duration
		charge []Charge
		look   bool
		over   []int
	}
	hour := func(n int64) Charge { return Charge{Account: "a\x00run=1", Amount: n, Max: 3, Window: time.Hour} }
	ever := func(n int64) Charge { return Charge{Account: "b", Amount: n, Max: 5} }
	forced := ever(4)
	forced.Force = true
	for name, steps := range map[string][]step{
		"a window that moves on": {
			{0, []Charge{hour(2)}, false, nil}, {time.Minute, []Charge{hour(2)}, false, []int{0}}, {time.Minute, []Charge{hour(1)}, false, nil},
			{57 * time.Minute, []Charge{hour(1)}, false, []int{0}}, {time.Minute, []Charge{hour(2)}, false, nil}, {0, []Charge{hour(1)}, false, []int{0}},
		},
		"of all time": {
			{0, []Charge{ever(2)}, false, nil}, {1e6 * time.Hour, []Charge{ever(3)}, false, nil}, {0, []Charge{ever(1)}, false, []int{0}}, {0, []Charge{ever(0)}, false, nil},
		},
		"all or none": {
			{0, []Charge{ever(5), hour(4)}, false, []int{1}}, {0, []Charge{ever(6), hour(4)}, false, []int{0, 1}}, {0, []Charge{ever(5), hour(3)}, false, nil},
		},
		"a look spends nothing":      {{0, []Charge{ever(5)}, true, nil}, {0, []Charge{ever(5)}, false, nil}, {0, []Charge{ever(1)}, true, []int{0}}},
		"what is forced counts":      {{0, []Charge{ever(3)}, false, nil}, {0, []Charge{forced}, false, nil}, {0, []Charge{ever(0)}, false, []int{0}}},
		"more than a number can say": {{0, []Charge{{Account: "c", Amount: 1 << 62, Max: 1 << 62}}, false, nil}, {0, []Charge{{Account: "c", Amount: 1 << 62, Max: 1<<63 - 1}}, false, nil}, {0, []Charge{{Account: "c", Amount: -1, Max: 1}}, false, []int{0}}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			file, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			for kind, store := range map[string]Store{"memory": NewMemory(), "file": file} {
				at := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
				for i, s := range steps {
					at = at.Add(s.after)
					if over, err := store.Reserve(t.Context(), s.charge, at, !s.look); err != nil || !slices.Equal(over, s.over) {
						t.Errorf("%s, step %d: got %v, %v; want %v", kind, i+1, over, err, s.over)
					}
				}
			}
			last := steps[len(steps)-1]
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
			if file, err = Open(path); err != nil { // what was spent is still spent
				t.Fatal(err)
			}
			defer file.Close()
			at := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
			for _, s := range steps {
				at = at.Add(s.after)
			}
			if over, err := file.Reserve(t.Context(), last.charge, at, false); len(last.over) > 0 && (err != nil || !slices.Equal(over, last.over)) {
				t.Errorf("opened again: got %v, %v; want %v", over, err, last.over)
			}
		})
	}
}
