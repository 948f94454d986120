package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/engine/label"
	"callgate/policies"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// stores are the stores that every test of the interface runs on.
var stores = []struct {
	name string
	open func(testing.TB) Store
}{
	{"memory", func(testing.TB) Store { return NewMemory() }},
	{"sqlite", func(t testing.TB) Store { return openTest(t) }},
}

func TestWhatIsAppendedIsRead(t *testing.T) {
	for _, store := range stores {
		t.Run(store.name, func(t *testing.T) {
			s := store.open(t)
			at := time.Date(2026, 12, 1, 10, 0, 0, 123456789, time.FixedZone("", 3600))
			r, err := Begin(t.Context(), s, "", Options{Now: func() time.Time { return at }})
			if err != nil {
				t.Fatal(err)
			}
			var seen []Event
			r.Watch(func(e Event) { seen = append(seen, e) })
			for _, in := range []Entry{
				{RunStart, "", RunStarted{Agent: "inbox", Principal: policies.Principal{Sub: "ana", Groups: []string{"finance"}}}},
				{Decided, "1.1", decisionOf(1)},
				{CallStart, "1.1", &CallStarted{Tool: "mail.send", Key: "k"}},
			} {
				if _, err := r.Append(t.Context(), in.Type, in.Call, in.Payload, in.Type == CallStart); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := r.AppendAll(t.Context(), true,
				Entry{CallResult, "1.1", CallEnded{Tool: "mail.send", Label: label.Bottom()}},
				Entry{RunEnd, "", RunEnded{Status: StatusDone}},
			); err != nil {
				t.Fatal(err)
			}

			events, err := s.Read(t.Context(), r.ID(), 1)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(seen, events, cmpopts.IgnoreUnexported(Event{})); diff != "" {
				t.Errorf("what the watcher saw and what was read differ (-seen +read):\n%s", diff)
			}
			var types []string
			for _, e := range events {
				types = append(types, string(e.Type)+" "+e.Call)
			}
			want := "run.start ,decision 1.1,call.start 1.1,call.result 1.1,run.end "
			if got := strings.Join(types, ","); got != want {
				t.Errorf("got events %q, want %q", got, want)
			}
			if err := VerifyWhole(events, ""); err != nil {
				t.Error(err)
			}
			if got := events[0].Time; !got.Equal(at) || got.Location() != time.UTC {
				t.Errorf("got time %v, want %v in UTC", got, at)
			}
			start, err := Decode[RunStarted](events[0])
			if err != nil || start.Schema != Schema || start.Principal.Sub != "ana" {
				t.Errorf("got header %+v, %v; want schema %d and sub ana", start, err, Schema)
			}
			decision, err := Decode[DecisionMade](events[1])
			if err != nil || !decision.Args[1].Value.Label.Equal(mailLabel) || decision.Args[1].Value.Str != "number 1, as <agreed> & signed" {
				t.Errorf("got argument %+v, %v; want it as it was, with its label", decision.Args[1], err)
			}
			if tail, err := s.Read(t.Context(), r.ID(), 4); err != nil || len(tail) != 2 || tail[0].Seq != 4 {
				t.Errorf("Read from 4 = %v, %v; want events 4 and 5", tail, err)
			}
			if none, err := s.Read(t.Context(), "other", 1); err != nil || none != nil {
				t.Errorf("Read of a run that is not there = %v, %v; want nothing", none, err)
			}

			_, head := r.Head()
			infos, err := s.Runs(t.Context(), 0)
			want1 := []RunInfo{{ID: r.ID(), Agent: "inbox", Start: at.UTC(), End: at.UTC(), Status: StatusDone, Events: 5, Head: head}}
			if diff := cmp.Diff(want1, infos); diff != "" || err != nil {
				t.Errorf("Runs: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestRunsAreListedNewestFirstWhateverTheClockSays(t *testing.T) {
	for _, store := range stores {
		t.Run(store.name, func(t *testing.T) {
			s := store.open(t)
			clock := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
			for _, id := range []string{"a", "b", "c"} {
				clock = clock.Add(-time.Hour)
				r, err := Begin(t.Context(), s, id, Options{Now: func() time.Time { return clock }})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := r.Append(t.Context(), RunStart, "", RunStarted{}, false); err != nil {
					t.Fatal(err)
				}
			}
			infos, err := s.Runs(t.Context(), 2)
			if err != nil || len(infos) != 2 || infos[0].ID != "c" || infos[1].ID != "b" || infos[0].Status != StatusRunning {
				t.Errorf("Runs(2) = %v, %v; want c and b, running", infos, err)
			}
		})
	}
}

func TestAppendRefuses(t *testing.T) {
	start := Entry{RunStart, "", RunStarted{}}
	for _, test := range []struct {
		name    string
		entries []Entry
		want    string // in the error of the last one
	}{
		{"a first event that is no header", []Entry{{TurnStart, "", TurnStarted{}}}, "run.start is the first event and no other"},
		{"a second header", []Entry{start, start}, "run.start is the first event and no other"},
		{"a payload of another event", []Entry{start, {Decided, "", CallEnded{}}}, "decision: payload: got Go type journal.CallEnded, want journal.DecisionMade"},
		{"a payload with no Go type of ours", []Entry{start, {Decided, "", map[string]any{"secret": 1}}}, "got Go type map[string]interface {}"},
		{"no payload", []Entry{start, {Decided, "", nil}}, "got Go type <nil>, want journal.DecisionMade"},
		{"a nil payload", []Entry{start, {Decided, "", (*DecisionMade)(nil)}}, "got Go type *journal.DecisionMade, want journal.DecisionMade"},
		{"an unknown type of event", []Entry{start, {"shrug", "", CallEnded{}}}, "no such type of event"},
		{"anything after the end", []Entry{start, {RunEnd, "", RunEnded{Status: StatusDone}}, {TurnStart, "", TurnStarted{}}}, "turn.start: the run has ended"},
		{"a payload that is too large", []Entry{start, {TurnStart, "", TurnStarted{Program: strings.Repeat("x", MaxPayload), Author: label.Bottom()}}}, "want at most 67108864"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := NewMemory()
			r, err := Begin(t.Context(), s, "x", Options{})
			if err != nil {
				t.Fatal(err)
			}
			last := len(test.entries) - 1
			for i, in := range test.entries {
				_, err = r.Append(t.Context(), in.Type, in.Call, in.Payload, false)
				if i < last && err != nil {
					t.Fatal(err)
				}
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want one with %q", err, test.want)
			}
			if events, _ := s.Read(t.Context(), "x", 1); len(events) != last {
				t.Errorf("got %d events stored, want %d", len(events), last)
			}
		})
	}
}

func TestARefusedEventDoesNotStopTheRun(t *testing.T) {
	s := NewMemory()
	r := beginTest(t, s, "x")
	if _, err := r.Append(t.Context(), Decided, "", CallEnded{}, false); err == nil {
		t.Fatal("got no error for a wrong payload")
	}
	if _, err := r.AppendAll(t.Context(), false, Entry{TurnStart, "", TurnStarted{}}, Entry{Decided, "", CallEnded{}}); err == nil {
		t.Fatal("got no error for a batch with a wrong payload")
	}
	e, err := r.Append(t.Context(), TurnStart, "", TurnStarted{Turn: 1}, false)
	if err != nil || e.Seq != 2 {
		t.Fatalf("got event %d, %v; want event 2: neither refused append stored anything", e.Seq, err)
	}
	events, err := s.Read(t.Context(), "x", 1)
	if err := errors.Join(err, Verify(events)); err != nil {
		t.Error(err)
	}
}

// failing is a store that fails from one append on.
type failing struct {
	Memory
	after int
}

var errDisk = errors.New("disk full")

func (f *failing) Append(ctx context.Context, events []Event, sync bool) error {
	if f.after--; f.after < 0 {
		return errDisk
	}
	return f.Memory.Append(ctx, events, sync)
}

func TestAStoreThatFailsOnceEndsTheRun(t *testing.T) {
	s := &failing{after: 1}
	r := beginTest(t, s, "x")
	watched := 0
	r.Watch(func(Event) { watched++ })
	_, first := r.Append(t.Context(), TurnStart, "", TurnStarted{}, true)
	if !errors.Is(first, errDisk) || !strings.Contains(first.Error(), "run x is not recorded any more: disk full") {
		t.Fatalf("got %v, want the store's error and the run", first)
	}
	s.after = 100 // the disk has room again, but an event is missing
	if _, again := r.Append(t.Context(), TurnStart, "", TurnStarted{}, true); again != first {
		t.Errorf("got %v from a later append, want the same error", again)
	}
	if watched != 0 {
		t.Errorf("watchers saw %d events that were not stored", watched)
	}
	if events, _ := s.Read(t.Context(), "x", 1); len(events) != 1 {
		t.Errorf("got %d events, want the header alone", len(events))
	}
}

func TestAnEventIsRecordedThoughTheContextHasEnded(t *testing.T) {
	for _, store := range stores {
		t.Run(store.name, func(t *testing.T) {
			s := store.open(t)
			r := beginTest(t, s, "x")
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := r.Append(ctx, CallResult, "1.1", CallEnded{Tool: "pay"}, true); err != nil {
				t.Errorf("the effect has happened, but: %v", err)
			}
		})
	}
}

func TestResume(t *testing.T) {
	for _, store := range stores {
		t.Run(store.name, func(t *testing.T) {
			s := store.open(t)
			r := beginTest(t, s, "x")
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			again, events, err := Resume(t.Context(), s, "x", Options{})
			if err != nil || len(events) != 1 {
				t.Fatalf("Resume of a run that was broken off = %d events, %v; want 1", len(events), err)
			}
			if e, err := again.Append(t.Context(), RunEnd, "", RunEnded{Status: StatusWaiting}, true); err != nil || e.Seq != 2 {
				t.Fatalf("got event %d, %v; want event 2", e.Seq, err)
			}
			if _, err := r.Append(t.Context(), TurnStart, "", TurnStarted{}, true); !errors.Is(err, ErrClosed) {
				t.Errorf("got %v from the one who was closed, want ErrClosed", err)
			}
			last, _, err := Resume(t.Context(), s, "x", Options{})
			if err != nil {
				t.Fatalf("Resume of a run that waits: %v", err)
			}
			if _, err := last.Append(t.Context(), TurnStart, "", TurnStarted{}, false); err != nil {
				t.Fatal(err)
			}
			if infos, err := s.Runs(t.Context(), 0); err != nil || infos[0].Status != StatusRunning || !infos[0].End.IsZero() {
				t.Errorf("Runs = %+v, %v; want it running again", infos, err)
			}
			if _, err := last.Append(t.Context(), RunEnd, "", RunEnded{Status: StatusDone}, true); err != nil {
				t.Fatal(err)
			}
			if _, _, err := Resume(t.Context(), s, "x", Options{}); !errors.Is(err, ErrEnded) {
				t.Errorf("Resume of a run that has ended: %v, want ErrEnded", err)
			}
			if _, _, err := Resume(t.Context(), s, "y", Options{}); !errors.Is(err, ErrNoRun) {
				t.Errorf("Resume of no run: %v, want ErrNoRun", err)
			}
			twin, err := Begin(t.Context(), s, "x", Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := twin.Append(t.Context(), RunStart, "", RunStarted{}, false); !errors.Is(err, ErrConflict) {
				t.Errorf("a second run of one id: %v, want ErrConflict", err)
			}
			all, err := s.Read(t.Context(), "x", 1)
			if err := errors.Join(err, VerifyWhole(all, "")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestResumeRefusesWhatWasTamperedWithOrIsNewer(t *testing.T) {
	s := NewMemory()
	r := beginTest(t, s, "x")
	if _, err := r.Append(t.Context(), TurnStart, "", TurnStarted{}, false); err != nil {
		t.Fatal(err)
	}
	s.events["x"][1].Payload = []byte(`{"turn":7}`)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	_, _, err := Resume(t.Context(), s, "x", Options{})
	if bad, ok := errors.AsType[*ChainError](err); !ok || bad.Seq != 2 {
		t.Errorf("got %v, want a ChainError at event 2", err)
	}
	newer := seal("", Event{Run: "n", Seq: 1, Type: RunStart, Payload: []byte(`{"schema":3}`)})
	if err := s.Append(t.Context(), []Event{newer}, false); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Resume(t.Context(), s, "n", Options{}); !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "schema 3, this version reads up to 2") {
		t.Errorf("got %v, want ErrNewer with both schemas", err)
	}
}

func TestSixteenRunsAtOnce(t *testing.T) {
	for _, store := range stores {
		t.Run(store.name, func(t *testing.T) {
			s := store.open(t)
			var wg sync.WaitGroup
			for i := range 16 {
				id := fmt.Sprintf("r%d", i)
				r := beginTest(t, s, id)
				var seen []int64
				r.Watch(func(e Event) { seen = append(seen, e.Seq) })
				wg.Go(func() {
					var strands sync.WaitGroup
					for n := range 4 {
						strands.Go(func() {
							for k := range 5 {
								if _, err := r.Append(t.Context(), Decided, fmt.Sprintf("1.%d.%d", n, k), decisionOf(k), k%2 == 0); err != nil {
									t.Error(err)
								}
							}
						})
					}
					strands.Wait()
					if len(seen) != 20 || !slices.IsSorted(seen) {
						t.Errorf("run %s: watcher saw %v, want 20 events in order", id, seen)
					}
				})
			}
			wg.Wait()
			infos, err := s.Runs(t.Context(), 0)
			if err != nil || len(infos) != 16 {
				t.Fatalf("got %d runs, %v; want 16", len(infos), err)
			}
			for _, info := range infos {
				events, err := s.Read(t.Context(), info.ID, 1)
				if err == nil {
					err = VerifyWhole(events, info.Head)
				}
				if err != nil || len(events) != 21 {
					t.Errorf("run %s has %d events, %v; want 21", info.ID, len(events), err)
				}
			}
		})
	}
}

func TestRunIDs(t *testing.T) {
	at := time.Date(2026, 12, 1, 10, 0, 0, 123456789, time.UTC)
	a, b := newID(at), newID(at.Add(time.Millisecond))
	if !strings.HasPrefix(a, "20261201-100000123-") || a >= b || checkID(a) != nil {
		t.Errorf("got ids %s and %s, want them to begin with their time and sort by it", a, b)
	}
	seen := map[string]bool{}
	for range 1000 {
		seen[newID(at)] = true
	}
	if len(seen) != 1000 {
		t.Errorf("got %d ids in one millisecond, want 1000", len(seen))
	}
	for id, ok := range map[string]bool{
		"a": true, "Run_7.b-c": true, strings.Repeat("x", 64): true,
		"": false, "-rf": false, ".hidden": false, "a/b": false, "a b": false, "a\n": false, "é": false, strings.Repeat("x", 65): false,
	} {
		if got := checkID(id) == nil; got != ok {
			t.Errorf("checkID(%q) accepts: %v, want %v", id, got, ok)
		}
	}
}
