package console

import (
	"strings"
	"testing"
	"time"

	"callgate/engine/journal"
)

func TestAge(t *testing.T) {
	for _, test := range []struct {
		d    time.Duration
		want string
	}{
		{-time.Hour, "now"}, {0, "now"}, {time.Second, "1 second ago"}, {119 * time.Second, "119 seconds ago"}, {2 * time.Minute, "2 minutes ago"},
		{47 * time.Hour, "47 hours ago"}, {50 * time.Hour, "2 days ago"}, {15 * 24 * time.Hour, "2 weeks ago"},
	} {
		if got := Age(test.d); got != test.want {
			t.Errorf("%v: got %s, want %s", test.d, got, test.want)
		}
	}
}

// TestList holds the list for people and the one for programs to their columns.
func TestList(t *testing.T) {
	noon := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	runs := []journal.RunInfo{
		{ID: "r-3", Agent: "inbox", Start: noon.Add(-2 * time.Minute), Status: journal.StatusRunning, Events: 7, Holder: &journal.Holder{Process: 1}},
		{ID: "r-2", Agent: "inbox", Start: noon.Add(-3 * time.Minute), Status: journal.StatusRunning, Events: 7},
		{ID: "r-1", Agent: "b\x1b[2J", Start: noon.Add(-72 * time.Hour), End: noon.Add(-71 * time.Hour), Status: journal.StatusDone, Events: 120},
	}
	for _, test := range []struct {
		name string
		look Look
		now  time.Time
		want string
	}{
		{"for programs", Look{}, time.Time{}, `
r-3  2026-12-01T11:58:00Z  running      inbox     7 events    -
r-2  2026-12-01T11:57:00Z  interrupted  inbox     7 events    -        1.1,1.2,1.3,1.4,1.5,1.6,1.7
r-1  2026-11-28T12:00:00Z  done         b\x1b[2J  120 events  1h0m0s
`},
		{"for people", Look{}, noon, `
run  began          status       agent     events      took
r-3  2 minutes ago  running      inbox     7 events    -
r-2  3 minutes ago  interrupted  inbox     7 events    -        1.1,1.2,1.3,1.4,1.5,1.6,and 1 more
r-1  3 days ago     done         b\x1b[2J  120 events  1h0m0s
`},
	} {
		var b strings.Builder
		l := NewList(&b, test.look, test.now, runs)
		for i, r := range runs {
			var calls []string
			if i == 1 {
				calls = []string{"1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7"}
			}
			if err := l.Line(r, calls); err != nil {
				t.Fatal(err)
			}
		}
		if got := b.String(); got != test.want[1:] {
			t.Errorf("%s: got\n%swant%s", test.name, got, test.want)
		}
	}
}

// A summary says what the model was told where that took bits of the meter, though no value was shown.
func TestBitsAreTold(t *testing.T) {
	for _, test := range []struct {
		counts map[string]int
		want   string
	}{
		{map[string]int{"bits": 67}, "told      0 values shown to the model, 0 hidden; 0 endorsements; 67 bits of the meter\n"},
		{map[string]int{"hidden": 1}, "told      0 values shown to the model, 1 hidden; 0 endorsements; 0 bits of the meter\n"},
		{map[string]int{"allowed": 3}, ""},
	} {
		run, err := journal.Begin(t.Context(), journal.NewMemory(), "r1", journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		events, err := run.AppendAll(t.Context(), false, journal.Entry{Type: journal.RunStart, Payload: journal.RunStarted{}},
			journal.Entry{Type: journal.RunEnd, Payload: journal.RunEnded{Status: journal.StatusDone, Counts: test.counts}})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		line := NewTimeline(&b, Options{})
		for _, e := range events {
			line.Event(e)
		}
		if got := b.String(); !strings.Contains(got, test.want) || strings.Contains(got, "told") != (test.want != "") {
			t.Errorf("%v: got\n%swant %q", test.counts, got, test.want)
		}
	}
}

// An approval says how long the call had waited for it.
func TestApprovedLater(t *testing.T) {
	at := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	run, err := journal.Begin(t.Context(), journal.NewMemory(), "r1", journal.Options{Now: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	events, err := run.AppendAll(t.Context(), false, journal.Entry{Type: journal.RunStart, Payload: journal.RunStarted{}})
	if err != nil {
		t.Fatal(err)
	}
	at = at.Add(50 * time.Hour)
	for _, call := range []string{"1.1", "1.2"} {
		given, err := run.Append(t.Context(), journal.Approved, call, journal.ApprovalGiven{Ask: "payments.large", By: "bob", Verdict: "approved", Reason: "known"}, false)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, given)
	}
	var b strings.Builder
	line := NewTimeline(&b, Options{Since: map[string]time.Time{"1.1": events[0].Time}})
	for _, e := range events {
		line.Event(e)
	}
	if err := line.Close(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  1.1   approved  payments.large by bob after 2 days (known)\n", "  1.2   approved  payments.large by bob (known)\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("got\n%swant %q", b.String(), want)
		}
	}
}
