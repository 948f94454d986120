package main

import (
	"context"
	"strings"
	"testing"

	"callgate/engine/journal"
)

// A run whose end was cut off is told from one that goes on: the store keeps the hash of its last event.
func TestEventsCutOffAreFound(t *testing.T) {
	ctx := context.Background()
	store := journal.NewMemory()
	run, err := journal.Begin(ctx, store, "r1", journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []journal.Entry{
		{Type: journal.RunStart, Payload: journal.RunStarted{Agent: "a"}},
		{Type: journal.TurnStart, Payload: journal.TurnStarted{Turn: 1}},
		{Type: journal.TurnStart, Payload: journal.TurnStarted{Turn: 2}},
	} {
		if _, err := run.Append(ctx, e.Type, "", e.Payload, true); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := store.Runs(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	events, err := store.Read(ctx, "r1", 1)
	if err != nil {
		t.Fatal(err)
	}
	earlier := runs[0]
	earlier.Events, earlier.Head = 2, events[1].Hash
	for _, test := range []struct {
		name   string
		events []journal.Event
		run    journal.RunInfo
		want   string
	}{
		{"all are there", events, runs[0], ""},
		{"the run went on meanwhile", events, earlier, ""},
		{"the last is gone", events[:2], runs[0], "event 3: cut off"},
		{"all but the first are gone", events[:1], runs[0], "event 2: cut off"},
		{"one in the middle is gone", []journal.Event{events[0], events[2]}, runs[0], "event 2: missing"},
	} {
		err := verify(test.events, test.run)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

// The beginning of a run's id names it, though the runs of agents that it called begin so too.
func TestARunIsFoundByItsBeginning(t *testing.T) {
	runs := []journal.RunInfo{{ID: "20261130-a.1.6"}, {ID: "20261130-a"}, {ID: "20261130-a.1.7"}, {ID: "20261201-b"}, {ID: "20261201-c"}}
	for id, want := range map[string]string{"20261130": "20261130-a", "20261130-a.1.7": "20261130-a.1.7", "20261201-b": "20261201-b"} {
		if got, err := find(runs, id, "state"); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", id, got, err, want)
		}
	}
	for id, want := range map[string]string{"20261201": "more than one run begins with", "20261130-a.1": "more than one", "x": "hint: callgate runs list --state state shows"} {
		if got, err := find(runs, id, "state"); got != "" || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %q, %v, want %q", id, got, err, want)
		}
	}
}
