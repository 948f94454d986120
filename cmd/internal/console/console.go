// Package console shows runs to people: the picture of a run as its journal tells it, and the
// questions that only a person can answer.
//
// [Timeline] renders the event stream of one run, live or read back: each call with the
// arguments that matter and their labels, whether it was allowed, by which rule, and where the value came from
// that a rule stopped at. What the reader, who is the run's principal if nobody else is named, may not read is shown
// as "(hidden: for ana)", and no text is shown in a way in which it could be taken for another. [Prompt] asks.
//
// Without a terminal the picture is plain ASCII and depends on nothing but the events.
package console

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"callgate/engine/confine"
	"callgate/engine/eval"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/policies"
)

// Options are the settings of a [Timeline].
type Options struct {
	Look Look

	// MayRead says what who looks may read; nil: what the run's principal may.
	MayRead func(label.Label) bool

	// Since says, by call, since when it waited for the answers that are among the events, if that is not among them.
	Since map[string]time.Time

	// Next says, for a run that ended in a status with which it goes on, what to type for that; interrupted, if what it waits for is whether a call is
	// made again. nil says nothing.
	Next func(run, status string, interrupted bool) string

	// Show says, at the end of a run, what to type in order to see it again; nil says nothing.
	Show func(run string) string
}

// Timeline writes the picture of one run. It is used by one goroutine at a time.
type Timeline struct {
	w    io.Writer
	err  error
	opts Options
	view

	start   time.Time
	turn    int
	turns   int
	mode    string
	author  *label.Label // of the last turn
	shown   []shown      // to the model, since the last turn
	pending map[string]*journal.DecisionMade
	begun   []string // calls that have started and have no result
	done    map[string]int
	stops   []stop
	waiting []stop
	lowered []stop // what lowered the context of the model
	reads   *reads
	refused string
	tiers   []string // that programs ran in, if one ran in more than none, or should have
}

// shown is something that the model was shown.
type shown struct {
	name  string
	label label.Label
}

// stop is a call that did not go on, for the summary.
type stop struct {
	call, tool, rules, why string
	interrupted            bool // the call had begun when the process ended
}

// NewTimeline returns a timeline that writes to w.
func NewTimeline(w io.Writer, o Options) *Timeline {
	return &Timeline{
		w: w, opts: o, view: view{Look: o.Look, mayRead: o.MayRead, origins: map[label.Source]label.Trust{}},
		pending: map[string]*journal.DecisionMade{}, done: map[string]int{},
	}
}

// Close writes what a run that was broken off leaves open, and returns the first error of the
// writer or of an event that could not be read.
func (t *Timeline) Close() error {
	t.flush()
	for _, id := range t.begun {
		tool := ""
		if d := t.pending[id]; d != nil {
			tool = d.Tool
		}
		t.entry(id, bad, "unknown", t.line(tool, maxName)+": started, and no result is recorded: it may have had its effect", "")
	}
	t.begun = nil
	return t.err
}

// Flush writes what was held back in case more of the kind comes, and returns the first error so far.
func (t *Timeline) Flush() error {
	t.flush()
	return t.err
}

// Refused returns what was written of the last call that was refused: its arguments, the rules and what they say, and where the
// values came from; "" if none was.
func (t *Timeline) Refused() string { return t.refused }

// Event renders the next event.
func (t *Timeline) Event(e journal.Event) {
	if e.Redacted() {
		t.entry(e.Call, quiet, "redacted", string(e.Type), "")
		return
	}
	switch e.Type {
	case journal.RunStart:
		t.start = e.Time
		with(t, e, t.runStarted)
	case journal.TurnStart:
		with(t, e, t.turnStarted)
	case journal.Decided:
		with(t, e, t.decided)
	case journal.Reloaded:
		with(t, e, t.reloaded)
	case journal.CallStart:
		with(t, e, t.callStarted)
	case journal.CallResult:
		with(t, e, t.ended)
	case journal.Approved:
		with(t, e, t.approved)
	case journal.Endorsed:
		with(t, e, t.endorsed)
	case journal.Observation:
		with(t, e, t.observed)
	case journal.ProgramEnd:
		with(t, e, t.programEnded)
	case journal.RunEnd:
		with(t, e, t.runEnded)
	case journal.Resumed:
		with(t, e, t.resumed)
	}
}

// Past takes in what has happened in a run that is gone on with, and writes no more of it than whose run it is.
func (t *Timeline) Past(events []journal.Event) {
	w := t.w
	t.w = io.Discard
	for _, e := range events {
		t.Event(e)
	}
	t.flush()
	t.w = w
	if len(events) > 0 {
		t.head(strong, "run", t.line(events[0].Run, maxName))
	}
}

// resumed writes where the run was gone on with, and under which changes.
func (t *Timeline) resumed(_ journal.Event, r journal.RunResumed) {
	after := "from its beginning"
	if r.After != "" {
		after = "after call " + t.line(r.After, maxName)
	}
	by := ""
	if r.By != "" {
		by = ", by " + t.line(r.By, maxName)
	}
	t.print("\n")
	t.head(strong, "resumed", fmt.Sprintf("%s: %s gone through%s", after, count(r.Events, "event"), by))
	for _, c := range r.Changed {
		t.note("", t.paint(wait, "changed")+": "+t.line(c, 0))
	}
}

// callStarted takes note of a call whose result is to come, and writes that it is made again.
func (t *Timeline) callStarted(e journal.Event, c journal.CallStarted) {
	if c.Run != "" && c.Try == 0 {
		t.entry(e.Call, quiet, "agent", t.line(c.Tool, maxName)+", in run "+t.line(c.Run, maxName), "")
	}
	switch {
	case c.Try < 2:
	case c.Run != "":
		t.entry(e.Call, wait, "again", t.line(c.Tool, maxName)+": goes on in run "+t.line(c.Run, maxName), "")
	default:
		t.entry(e.Call, wait, "again", t.line(c.Tool, maxName)+": it had begun when the process ended", "")
	}
	t.answered(e.Call)
	if !slices.Contains(t.begun, e.Call) {
		t.begun = append(t.begun, e.Call)
	}
}

// with decodes an event and hands it on.
func with[T any](t *Timeline, e journal.Event, f func(journal.Event, T)) {
	p, err := journal.Decode[T](e)
	if err != nil {
		t.err = cmp.Or(t.err, err)
		return
	}
	f(e, p)
}

// The columns of the picture.
const (
	headWidth = 10 // of a heading's word
	idWidth   = 8  // of a call's id, the margin included
	wordWidth = 10 // of what became of it
	textWidth = 44 // of what it is
	maxName   = 64 // characters of names that others chose: of tools, rules, files
	maxValue  = 40 // characters of a text in a value
	maxResult = 60 // … of what a tool that acts returned
	maxText   = 160
	maxWidth  = 100 // of what is wrapped
)

// print writes whole lines.
func (t *Timeline) print(s string) {
	t.flush()
	if _, err := io.WriteString(t.w, s); err != nil {
		t.err = cmp.Or(t.err, err)
	}
}

// head writes a line that begins with a word.
func (t *Timeline) head(tone tone, word, text string) {
	t.print(strings.TrimRight(t.paint(tone, pad(word, headWidth))+text, " ") + "\n")
}

// entry writes the line of a call: its id, what became of it, what it is, and more.
func (t *Timeline) entry(id string, tone tone, word, text, more string) {
	s := t.paint(quiet, pad("  "+t.line(id, maxName), idWidth)) + t.paint(tone, pad(word, wordWidth))
	if more == "" {
		s += text
	} else {
		s += pad(text, textWidth) + "  " + more
	}
	t.print(strings.TrimRight(s, " ") + "\n")
}

// note writes a line below a call.
func (t *Timeline) note(mark, text string) {
	t.print(strings.TrimRight(strings.Repeat(" ", idWidth)+pad(mark, 2)+text, " ") + "\n")
}

// runStarted writes who acts for whom under what.
func (t *Timeline) runStarted(e journal.Event, r journal.RunStarted) {
	t.principal, t.mode = r.Principal.Sub, r.Mode
	if t.opts.MayRead == nil {
		t.mayRead = r.Principal.MayRead
	}
	t.head(strong, "run", t.line(e.Run, maxName))
	if p := r.Parent; p != nil {
		t.head(strong, "part of", fmt.Sprintf("run %s, call %s", t.line(p.Run, maxName), t.line(p.Call, maxName)))
	}
	if c := r.Continues; c != nil {
		t.head(strong, "goes on", fmt.Sprintf("from run %s, after %s", t.line(c.Run, maxName), count(c.Turns, "turn")))
		for _, change := range c.Changed {
			t.note("", t.paint(wait, "changed")+": "+t.line(change, 0))
		}
	}
	who := "for nobody: callgate.yaml names no principal"
	if r.Principal.Sub != "" {
		who = "for " + t.line(r.Principal.Sub, maxName)
		if g := r.Principal.Groups; len(g) > 0 {
			who += " (" + t.line(strings.Join(g, ", "), maxText) + ")"
		}
	}
	t.head(strong, "agent", t.line(r.Agent, maxName)+", "+who)
	t.head(strong, "tools", t.wrap(r.Tools))
	t.head(strong, "policies", t.paint(quiet, t.line(shortDigest(r.Revision), maxName)))
	t.head(strong, "labels", t.paint(quiet, "trust/readers#tags; untrusted < internal < user < system; private is for the principal alone"))
	var rows []row
	for _, in := range r.Inputs {
		rows = append(rows, row{name: t.line(in.Name, maxName), value: t.literal(in.Value, maxValue), label: in.Value.Label})
	}
	for i, line := range t.table(rows) {
		word := ""
		if i == 0 {
			word = "inputs"
		}
		t.head(strong, word, line)
	}
}

// wrap writes names, in as many lines as they take.
func (t *Timeline) wrap(names []string) string {
	s, width := "", headWidth
	for i, n := range names {
		n = t.line(n, maxName)
		if i > 0 && width+len(n) >= maxWidth {
			s, width = s+"\n"+strings.Repeat(" ", headWidth), headWidth
		} else if i > 0 {
			s += " "
		}
		s, width = s+n, width+len(n)+1
	}
	return cmp.Or(s, "none")
}

// shortDigest shortens "sha256:…" to what people compare.
func shortDigest(s string) string {
	if kind, hex, ok := strings.Cut(s, ":"); ok && len(hex) > 16 {
		return kind + ":" + hex[:16]
	}
	return s
}

// turnStarted writes a heading, and what made the author less trusted than before.
func (t *Timeline) turnStarted(_ journal.Event, s journal.TurnStarted) {
	t.turn, t.turns = s.Turn, t.turns+1
	who := "a model that has seen "
	if t.mode == "program" || t.mode == "repl" {
		who = "written by "
	}
	text := pad(t.line(s.File, maxName), idWidth+wordWidth-headWidth) + "  " + who
	t.print("\n")
	t.head(strong, fmt.Sprintf("turn %d", s.Turn), text+t.labelled(s.Author, 0))
	if before := t.author; before != nil && !s.Author.FlowsTo(*before) && !s.Author.SameClass(*before) {
		cause := ""
		for _, o := range t.shown {
			if !o.label.FlowsTo(*before) {
				cause = ": it was shown " + o.name
				if words := t.least(o.label); words != "" {
					cause += " " + t.paint(origin, t.cameFrom(words))
				}
				break
			}
		}
		t.head(bad, "  lowered", "from "+t.label(*before)+cause)
	}
	t.author, t.shown = &s.Author, nil
}

// programEnded writes how a program ended if not well, and where the floor rose.
func (t *Timeline) programEnded(_ journal.Event, p journal.ProgramEnded) {
	tier := p.Tier
	if tier == "none" && p.Confinement != "" {
		tier = p.Confinement // why not in more
	}
	if has := strings.Fields(p.Confinement); tier == "process" && len(has) > 0 {
		for _, m := range []confine.Mechanism{confine.Users, confine.Landlock} { // what machines lack, and what stands behind the filter
			if !slices.Contains(has, string(m)) {
				tier += ", without " + string(m)
			}
		}
	}
	if n := len(t.tiers); (n > 0 || tier != "none" && tier != "") && (n == 0 || t.tiers[n-1] != tier) {
		t.tiers = append(t.tiers, tier)
	}
	for _, r := range p.Rises {
		t.entry("", bad, "floor", fmt.Sprintf("everything from here on is %s", t.label(r.Floor)), "")
		t.note("", t.paint(quiet, t.line(fmt.Sprintf("%s: %s", place(r.Site), r.Why), 0)))
	}
	if p.Status == "ok" || p.Status == "answered" {
		return
	}
	text := p.Code
	if p.Message != "" && t.may(p.Label) {
		text, _, _ = strings.Cut(p.Message, "\n")
	}
	t.entry("", bad, "ended", t.line(text, maxText), "")
}

// reloaded writes that other policies decide from here on, or why they do not.
func (t *Timeline) reloaded(_ journal.Event, r journal.PoliciesReloaded) {
	if len(r.Problems) == 0 {
		t.entry("", strong, "policies", "new from here on: "+t.line(shortDigest(r.Revision), maxName), "")
		return
	}
	t.entry("", bad, "policies", "new ones have problems: those before still decide", "")
	for i, p := range r.Problems {
		if i == maxProblems {
			t.note("", fmt.Sprintf("and %d more", len(r.Problems)-i))
			break
		}
		t.note("", t.paint(quiet, t.line(p, 0)))
	}
}

// maxProblems is how many problems of new policies are listed.
const maxProblems = 5

// place writes "file:line:col".
func place(s policies.Site) string {
	if s.Line == 0 {
		return s.File
	}
	return fmt.Sprintf("%s:%d:%d", s.File, s.Line, s.Column)
}

// Printed writes what programs have printed: it is not in the journal.
func (t *Timeline) Printed(prints []eval.Print) {
	word := "printed"
	for _, p := range prints {
		text := t.hidden(p.Label)
		if t.may(p.Label) {
			text = t.paragraph(p.Text)
		}
		t.head(strong, word, text)
		word = ""
	}
}

// observed writes what the model was shown, or not.
func (t *Timeline) observed(e journal.Event, o journal.Observed) {
	rules := ""
	if d := t.pending[e.Call]; d != nil {
		rules = t.rules(d.Decision.Reasons, policies.Allow)
		delete(t.pending, e.Call)
	}
	if !o.Shown {
		t.entry(e.Call, quiet, "hidden", t.line(o.Name, maxName)+" from the model", t.labelled(o.Label, 0)+"  "+t.paint(quiet, t.line(strings.Join(o.Rules, ", "), maxText)))
		return
	}
	name := t.line(o.Name, maxName)
	t.shown = append(t.shown, shown{name, o.Label})
	if o.Lowered {
		why := ""
		if words := t.least(o.Label); words != "" {
			why = t.cameFrom(words)
		}
		t.lowered = append(t.lowered, stop{call: e.Call, tool: "to " + t.label(o.Context), rules: "by " + name, why: why})
	}
	text := t.hidden(o.Label)
	if t.may(o.Label) {
		text = t.line(o.Text, textWidth-len(name)-2-len("…"))
	}
	more := t.labelled(o.Label, 0) + "  " + t.paint(quiet, rules)
	if o.Label.Trust() < label.Internal {
		more += "  " + t.paint(origin, t.cameFrom(t.least(o.Label)))
	}
	t.entry(e.Call, quiet, "shown", name+": "+text, more)
}

// forget takes a call off the list of those that have begun.
func (t *Timeline) forget(id string) {
	t.begun = slices.DeleteFunc(t.begun, func(s string) bool { return s == id })
}
