package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/engine/journal"
)

// event is an event as a store has it; watching does not verify.
func event(t *testing.T, seq int64, typ journal.Type, payload any) journal.Event {
	t.Helper()
	b, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	return journal.Event{Run: "r1", Seq: seq, Type: typ, Payload: b, Salt: "s"}
}

// TestWatch watches runs that go on in time, which stands still while nothing happens.
func TestWatch(t *testing.T) {
	start := journal.RunStarted{Agent: "a"}
	turn := journal.TurnStarted{Turn: 1}
	waits := journal.RunEnded{Status: journal.StatusWaiting, Exit: 5}
	done := journal.RunEnded{Status: journal.StatusDone}
	denied := journal.RunEnded{Status: journal.StatusDenied, Exit: 3}
	type entry struct {
		after   time.Duration
		typ     journal.Type
		payload any
	}
	for _, test := range []struct {
		name   string
		held   bool
		follow bool
		happen []entry
		want   string // types that were seen
		exit   int
		err    error
		most   time.Duration // that the end was noticed after the last event
	}{
		{"a run that ends", true, false, []entry{{0, journal.RunStart, start}, {3 * time.Second, journal.TurnStart, turn}, {time.Hour, journal.RunEnd, denied}}, "run.start turn.start run.end", 3, nil, watchSeldom},
		{"one that has ended", false, false, []entry{{0, journal.RunStart, start}, {0, journal.RunEnd, done}}, "run.start run.end", 0, nil, 0},
		{"one that waits", false, false, []entry{{0, journal.RunStart, start}, {time.Second, journal.RunEnd, waits}}, "run.start run.end", 5, nil, watchSeldom},
		{"one that waits and goes on", false, true, []entry{{0, journal.RunStart, start}, {time.Second, journal.RunEnd, waits}, {50 * time.Hour, journal.TurnStart, turn}, {time.Second, journal.RunEnd, done}}, "run.start run.end turn.start run.end", 0, nil, watchSeldom},
		{"one whose process is gone", false, false, []entry{{0, journal.RunStart, start}, {time.Second, journal.TurnStart, turn}}, "run.start turn.start", 0, errAlone, 2 * watchAlone},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := journal.NewMemory()
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				if test.held {
					if err := store.Claim(ctx, "r1", journal.Holder{Process: 1, Until: time.Now().Add(1000 * time.Hour)}); err != nil {
						t.Fatal(err)
					}
				}
				var last time.Time
				go func() {
					for i, e := range test.happen {
						time.Sleep(e.after)
						last = time.Now()
						if err := store.Append(ctx, []journal.Event{event(t, int64(i+1), e.typ, e.payload)}, false); err != nil {
							t.Error(err)
						}
					}
				}()
				synctest.Wait()
				var seen []string
				w := &watcher{store: store, run: "r1", follow: test.follow}
				end, err := w.watch(ctx, func(events []journal.Event) error {
					for _, e := range events {
						seen = append(seen, string(e.Type))
					}
					return nil
				})
				if got := strings.Join(seen, " "); got != test.want || end.Exit != test.exit || !errors.Is(err, test.err) {
					t.Errorf("got %q, exit %d, %v; want %q, exit %d, %v", got, end.Exit, err, test.want, test.exit, test.err)
				}
				if late := time.Since(last); late > test.most {
					t.Errorf("noticed %v after the last event, want at most %v", late, test.most)
				}
			})
		})
	}
}

// An interrupt ends the watching.
func TestWatchIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := journal.NewMemory()
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		reads := 0
		w := &watcher{store: counted{store, &reads}, run: "r1", follow: true}
		if _, err := w.watch(ctx, func([]journal.Event) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if reads > 100 {
			t.Errorf("read %d times in a minute in which nothing happened", reads)
		}
	})
}

// counted counts how often a store is read.
type counted struct {
	journal.Store
	reads *int
}

func (s counted) Read(ctx context.Context, run string, from int64) ([]journal.Event, error) {
	*s.reads++
	return s.Store.Read(ctx, run, from)
}
