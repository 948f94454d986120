package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// chained is a run of calls of one tool, each of which is given what the one before gave.
func chained(t *testing.T, of func(i int) string, n int) []journal.Event {
	t.Helper()
	run, err := journal.Begin(t.Context(), journal.NewMemory(), "run", journal.Options{Now: func() time.Time { return time.Unix(0, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	var events []journal.Event
	run.Watch(func(e journal.Event) { events = append(events, e) })
	add := func(kind journal.Type, call string, payload any) {
		t.Helper()
		if _, err := run.Append(t.Context(), kind, call, payload, false); err != nil {
			t.Fatal(err)
		}
	}
	task := value.StringOf("go", label.New(label.User, label.Public(), nil, label.Source{Tool: "input", Of: "task"}))
	add(journal.RunStart, "", journal.RunStarted{Agent: "a", Inputs: []journal.Input{{Name: "task", Value: task}}})
	last := task
	for i := range n {
		call := fmt.Sprintf("1.%d", i+1)
		add(journal.Decided, call, journal.DecisionMade{Kind: policies.KindTool, Tool: "next", Args: []journal.Argument{{Name: "from", Value: last}}})
		last = value.StringOf(fmt.Sprint(i), label.New(label.User, label.Public(), nil, label.Source{Tool: "next", Of: of(i)}))
		add(journal.CallResult, call, journal.CallEnded{Tool: "next", Value: &last, Label: last.Label})
	}
	add(journal.Decided, "1.end", journal.DecisionMade{Kind: policies.KindTool, Tool: "end", Args: []journal.Argument{{Name: "x", Value: last}}})
	return events
}

func TestChains(t *testing.T) {
	all := func(label.Label) bool { return true }
	for _, test := range []struct {
		name string
		of   func(int) string
		n    int
		want []string // of the links, each below the one before
	}{
		{"to the input", func(i int) string { return fmt.Sprint("r", i) }, 3, []string{"next r2", `from = "1"`, "next r1", `from = "0"`, "next r0", `from = "go"`, `input task = "go"`}},
		// A source that each call has again leads to itself: the chain ends.
		{"around a cycle", func(int) string { return "same" }, 3, []string{"next same", `from = "1"`, "next same again"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			events := chained(t, test.of, test.n)
			d, err := journal.Decode[journal.DecisionMade](events[len(events)-1])
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for from := newChains(events, all, "1.end").of(d.Args[0].Value.Label); len(from) > 0; from = from[0].From {
				if len(from) > 1 {
					t.Errorf("%d links, want one: %v", len(from), from)
				}
				text := from[0].Text
				if from[0].Again {
					text += " again"
				}
				got = append(got, text)
			}
			if strings.Join(got, "\n") != strings.Join(test.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
	// However long a chain is, what is told of it is bounded.
	events := chained(t, func(i int) string { return fmt.Sprint("r", i) }, 500)
	var b strings.Builder
	for _, l := range newChains(events, all, "1.end").of(label.New(label.User, label.Public(), nil, label.Source{Tool: "next", Of: "r499"})) {
		l.write(&b, "")
	}
	if lines := strings.Count(b.String(), "\n"); lines > 4*maxChain || !strings.Contains(b.String(), "...") {
		t.Errorf("%d lines are told of 500 calls", lines)
	}
}

func TestTogether(t *testing.T) {
	for _, test := range []struct {
		sources []label.Source
		want    string
	}{
		{[]label.Source{{Tool: "mail.read", Of: "4.eml"}, {Tool: "mail.read", Of: "4.eml", Field: "body"}, {Tool: "mail.read", Of: "4.eml", Field: "subject"}}, "mail.read 4.eml (body, subject)"},
		{[]label.Source{{Tool: "mail.list"}, {Tool: "mail.list", Of: "1"}, {Tool: "mail.list", Of: "2"}, {Tool: "mail.list", Of: "3"}, {Tool: "mail.list", Of: "4"}}, "mail.list 1, 2, 3, 1 more"},
		{[]label.Source{{Tool: "clock.now"}}, "clock.now"},
	} {
		if got := together(test.sources); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
