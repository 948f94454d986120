package console

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"callgate/engine/journal"
)

// maxStops is how many refusals a summary lists.
const maxStops = 20

// runEnded writes the summary: how it ended, what was done, what was refused, and why.
func (t *Timeline) runEnded(e journal.Event, r journal.RunEnded) {
	t.print("\n")
	tone := bad
	switch r.Status {
	case journal.StatusDone:
		tone = good
	case journal.StatusWaiting, journal.StatusCancelled:
		tone = wait
	}
	n := r.Counts
	t.head(tone, t.line(r.Status, headWidth-1), fmt.Sprintf("after %s in %s", count(t.turns, "turn"), e.Time.Sub(t.start).Round(10*time.Millisecond)))
	if r.Reason != "" {
		t.head(strong, "reason", t.paragraph(r.Reason))
	}
	t.head(strong, "calls", fmt.Sprintf("%d allowed, %d refused, %d asked, %d failed", n["allowed"], n["denied"], n["asked"], n["failed"]))
	if n["given"]+n["spared"] > 0 {
		t.head(strong, "approvals", fmt.Sprintf("%d given, %d spared", n["given"], n["spared"]))
	}
	if len(t.tiers) > 0 {
		t.head(strong, "isolation", t.paragraph(strings.Join(t.tiers, ", then ")))
	}
	if len(t.done) > 0 {
		var parts []string
		for _, tool := range slices.Sorted(maps.Keys(t.done)) {
			parts = append(parts, fmt.Sprintf("%s %d", t.line(tool, maxName), t.done[tool]))
		}
		t.head(strong, "acted", strings.Join(parts, ", "))
	}
	t.list(bad, "refused", t.stops)
	t.list(wait, "waiting", t.waiting)
	t.list(bad, "lowered", t.lowered)
	if n["shown"]+n["hidden"]+n["endorsed"]+n["bits"] > 0 {
		t.head(strong, "told", fmt.Sprintf("%s shown to the model, %d hidden; %s; %s of the meter", count(n["shown"], "value"), n["hidden"], count(n["endorsed"], "endorsement"), count(n["bits"], "bit")))
	}
	if r.Answer != nil {
		text := t.literal(*r.Answer, 0)
		if s := r.Answer.Str; s != "" && t.may(r.Answer.Label) {
			text = t.paragraph(s)
		}
		t.head(strong, "answer", text)
	}
	if r.GoesOn() && t.opts.Next != nil {
		interrupted := slices.ContainsFunc(t.waiting, func(s stop) bool { return s.interrupted })
		t.head(strong, "go on", t.line(t.opts.Next(e.Run, r.Status, interrupted), 0))
	}
	if t.opts.Show != nil {
		t.head(strong, "again", t.line(t.opts.Show(e.Run), 0))
	}
}

// count writes a number and a thing, in the plural if there is not one.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// list writes calls that did not go on, aligned.
func (t *Timeline) list(tone tone, word string, stops []stop) {
	calls, tools, rules := 0, 0, 0
	for _, s := range stops {
		calls, tools, rules = max(calls, len(s.call)), max(tools, len(s.tool)), max(rules, min(len(s.rules), textWidth))
	}
	for i, s := range stops {
		if i == maxStops {
			t.head(tone, "", fmt.Sprintf("and %d more", len(stops)-i))
			return
		}
		t.head(tone, word, t.paint(quiet, pad(s.call, calls))+"  "+pad(s.tool, tools)+"  "+pad(s.rules, rules)+"  "+t.paint(origin, s.why))
		word = ""
	}
}

// paragraph shows a text with its lines below each other.
func (t *Timeline) paragraph(s string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n") {
		lines = append(lines, t.line(line, 0))
	}
	return strings.Join(lines, "\n"+strings.Repeat(" ", headWidth))
}
