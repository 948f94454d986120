package console

import (
	"fmt"
	"io"
	"strings"
	"time"

	"callgate/engine/journal"
)

// List writes a list of runs, a line each as it comes: for people, with ages, or for programs, with columns that stay.
type List struct {
	w    io.Writer
	look Look
	now  time.Time // zero: times are written, not ages

	ids, statuses, agents, events int // widths
	begun                         bool
}

// NewList returns a list that writes to w. Its columns are wide enough for all of the runs, of which any may be left out. With a
// time there are headings, and ages at that time; without one, times.
func NewList(w io.Writer, look Look, now time.Time, runs []journal.RunInfo) *List {
	l := &List{w: w, look: look, now: now}
	for _, r := range runs {
		l.ids = max(l.ids, widthOf(look.line(r.ID, maxName)))
		l.statuses = max(l.statuses, widthOf(look.line(r.State(), maxName)))
		l.agents = max(l.agents, widthOf(look.line(r.Agent, maxName)))
		l.events = max(l.events, len(events(r)))
	}
	return l
}

func events(r journal.RunInfo) string { return fmt.Sprintf("%d events", r.Events) }

// Line writes a run and those of its calls that were looked for, if any were.
func (l *List) Line(r journal.RunInfo, calls []string) error {
	began, width := r.Start.Format(time.RFC3339), len("2006-01-02T15:04:05Z")
	took := "-"
	if !r.End.IsZero() {
		took = r.End.Sub(r.Start).Round(time.Millisecond).String()
	}
	head := ""
	if !l.now.IsZero() {
		began, width = Age(l.now.Sub(r.Start)), len("100 weeks ago")
		if !l.begun {
			l.agents, l.statuses = max(l.agents, len("agent")), max(l.statuses, len("status"))
			head = l.look.paint(quiet, pad("run", l.ids)+"  "+pad("began", width)+"  "+pad("status", l.statuses)+"  "+pad("agent", l.agents)+"  "+pad("events", l.events)+"  took") + "\n"
			l.begun = true
		}
	}
	tone := bad
	switch r.State() {
	case journal.StatusDone:
		tone = good
	case journal.StatusWaiting, journal.StatusInterrupted, journal.StatusRunning, journal.StatusCancelled:
		tone = wait
	}
	line := pad(l.look.line(r.ID, maxName), l.ids) + "  " + pad(began, width) + "  " +
		l.look.paint(tone, pad(l.look.line(r.State(), maxName), l.statuses)) + "  " + pad(l.look.line(r.Agent, maxName), l.agents) + "  " +
		l.look.paint(quiet, pad(events(r), l.events)) + "  " + pad(took, len("12.345s"))
	if len(calls) > 0 {
		line += "  " + l.calls(calls)
	}
	_, err := io.WriteString(l.w, head+strings.TrimRight(line, " ")+"\n")
	return err
}

// calls names calls; at a terminal not all of many.
func (l *List) calls(ids []string) string {
	const most = 6
	var names []string
	for i, id := range ids {
		if i == most && !l.now.IsZero() {
			names = append(names, fmt.Sprintf("and %d more", len(ids)-i))
			break
		}
		names = append(names, l.look.line(id, maxName))
	}
	return strings.Join(names, ",")
}

// Age says how long ago something was: "3 minutes ago".
func Age(d time.Duration) string {
	if d < time.Second {
		return "now" // or later: a clock was set
	}
	return lasting(d) + " ago"
}

// lasting is a time in the largest unit of which there are two: "3 minutes".
func lasting(d time.Duration) string {
	unit, name := time.Second, "second"
	for _, larger := range []struct {
		unit time.Duration
		name string
	}{{time.Minute, "minute"}, {time.Hour, "hour"}, {24 * time.Hour, "day"}, {7 * 24 * time.Hour, "week"}} {
		if d >= 2*larger.unit {
			unit, name = larger.unit, larger.name
		}
	}
	return count(int(d/unit), name)
}
