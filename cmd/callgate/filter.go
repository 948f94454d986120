package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
	"callgate/spec"
)

// filter picks runs. A list that is empty takes every run; of one that is not, an entry must fit. All lists must:
// those about calls for the same call. The zero filter takes every run.
type filter struct {
	// What the list of runs says.
	agents, statuses []string
	since, until     moment

	// What only its events say: of the run,
	persons []string // on whose behalf, or who approved or refused
	// and of one call.
	tools, effects, decisions, rules []string
	labels                           []labelTerm // of anything in the run, if nothing else is said of the call

	needles [][][]byte // one of each is in some event of every run that fits
}

// add adds the flags of a filter.
func (f *filter) add(cmd *cobra.Command, now time.Time) {
	f.since.now, f.until.now = now, now
	flags := cmd.Flags()
	flags.StringArrayVar(&f.agents, "agent", nil, "of this agent; `name`, * stands for any text")
	flags.Var(&words{to: &f.statuses, of: []string{journal.StatusRunning, journal.StatusDone, journal.StatusFailed, journal.StatusDenied, journal.StatusBudget, journal.StatusWaiting, journal.StatusCancelled, journal.StatusInterrupted}}, "status", "how it ended, if it has")
	flags.StringArrayVar(&f.persons, "person", nil, "on this person's behalf, or with an answer of theirs to an ask; `name`, * stands for any text")
	flags.Var(&f.since, "since", "begun at or after a time, or at most so long ago: 2026-12-01, 2026-12-01T10:00:00Z, 36h, 7d")
	flags.Var(&f.until, "until", "begun before a time, or at least so long ago")
	flags.StringArrayVar(&f.tools, "tool", nil, "with a call of this tool; `name`, * stands for any text")
	flags.Var(&words{to: &f.effects, of: []string{policies.EffectRead, policies.EffectWrite, policies.EffectEgress, policies.EffectDestructive}}, "effect", "with a call that has this effect on the world")
	flags.Var(&words{to: &f.decisions, of: []string{policies.Allow.String(), policies.Ask.String(), policies.Deny.String()}}, "decision", "with a call that was decided so")
	flags.StringArrayVar(&f.rules, "rule", nil, "with a call that this rule had a say in; `id`, * stands for any text")
	flags.Var((*labelTerms)(&f.labels), "label", "with a label that has this trust, or reader=NAME, tag=NAME or source=TOOL[:RESOURCE[:FIELD]]; * stands for any text")
}

// prepare is called once, after the flags were read.
func (f *filter) prepare() {
	need := func(lists ...[]string) {
		for _, list := range lists {
			if len(list) == 1 && !strings.Contains(list[0], "*") {
				f.needles = append(f.needles, [][]byte{encoded(list[0])})
			}
		}
	}
	need(f.persons, f.tools, f.effects, f.decisions, f.rules)
	if len(f.labels) == 1 {
		f.needles = append(f.needles, f.labels[0].needles())
	}
}

// encoded is a text as payloads have it.
func encoded(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil { // a string always encodes
		panic(err)
	}
	return b
}

// line reports whether the list of runs lets a run through.
func (f *filter) line(r journal.RunInfo) bool {
	return matches(f.agents, r.Agent) && (len(f.statuses) == 0 || slices.Contains(f.statuses, r.State())) &&
		(!f.since.set || !r.Start.Before(f.since.at)) && (!f.until.set || r.Start.Before(f.until.at))
}

// reads reports whether the filter needs the events of a run.
func (f *filter) reads() bool { return len(f.persons)+len(f.labels) > 0 || f.calls() }

// calls reports whether something is said of a call beside its labels.
func (f *filter) calls() bool {
	return len(f.tools)+len(f.effects)+len(f.decisions)+len(f.rules) > 0
}

// events reports whether the events of a run fit, and names the calls that do. What was redacted fits nothing.
func (f *filter) events(events []journal.Event) (calls []string, ok bool, err error) {
	for _, e := range events {
		if _, err := e.Opened(); err != nil {
			return nil, false, err
		}
	}
	for _, n := range f.needles {
		if !slices.ContainsFunc(events, func(e journal.Event) bool { return has(e, n) }) {
			return nil, false, nil
		}
	}
	if len(f.persons) > 0 {
		if ok, err := f.person(events); !ok || err != nil {
			return nil, false, err
		}
	}
	if !f.calls() && len(f.labels) == 0 {
		return nil, true, nil
	}
	type state struct{ decided, labelled bool }
	seen := map[string]*state{} // by call; "" is what is about none
	var order []string
	for _, e := range events {
		if e.Redacted() {
			continue
		}
		s := seen[e.Call]
		if s == nil {
			s = new(state)
			seen[e.Call] = s
			order = append(order, e.Call)
		}
		if e.Type == journal.Decided && !s.decided {
			if s.decided, err = f.decided(e); err != nil {
				return nil, false, err
			}
		}
		if len(f.labels) > 0 && !s.labelled {
			if s.labelled, err = f.labelled(e); err != nil {
				return nil, false, err
			}
		}
	}
	for _, call := range order {
		s := seen[call]
		fits := (!f.calls() || s.decided) && (len(f.labels) == 0 || s.labelled)
		if call == "" {
			ok = ok || fits && !f.calls()
		} else if fits {
			calls = append(calls, call)
		}
	}
	return calls, ok || len(calls) > 0, nil
}

// has reports whether one of some texts is in an event's payload.
func has(e journal.Event, needles [][]byte) bool {
	payload, err := e.Plain() // that it does not open was said before
	return err == nil && slices.ContainsFunc(needles, func(n []byte) bool { return bytes.Contains(payload, n) })
}

// person reports whether the run was on behalf of one of the persons, or has an answer of theirs.
func (f *filter) person(events []journal.Event) (bool, error) {
	for _, e := range events {
		name := ""
		switch {
		case e.Redacted():
		case e.Type == journal.RunStart:
			start, err := journal.Decode[journal.RunStarted](e)
			if err != nil {
				return false, err
			}
			name = start.Principal.Sub
		case e.Type == journal.Approved:
			given, err := journal.Decode[journal.ApprovalGiven](e)
			if err != nil {
				return false, err
			}
			name = given.By
		}
		if name != "" && matches(f.persons, name) {
			return true, nil
		}
	}
	return false, nil
}

// decided reports whether a decision is one on a call that fits, but for its labels.
func (f *filter) decided(e journal.Event) (bool, error) {
	if !f.calls() {
		return false, nil
	}
	var d struct { // less than the whole: there may be much of it
		Tool     string
		Effects  []string
		Decision struct {
			Effect  string
			Reasons []struct{ ID string }
		}
	}
	payload, err := e.Plain()
	if err == nil {
		err = json.Unmarshal(payload, &d)
	}
	if err != nil {
		return false, fmt.Errorf("event %d of run %s: %w", e.Seq, e.Run, err)
	}
	within := func(list []string, have ...string) bool {
		return len(list) == 0 || slices.ContainsFunc(have, func(h string) bool { return matches(list, h) })
	}
	var rules []string
	for _, r := range d.Decision.Reasons {
		rules = append(rules, r.ID)
	}
	return within(f.tools, d.Tool) && within(f.effects, d.Effects...) && within(f.decisions, d.Decision.Effect) && within(f.rules, rules...), nil
}

// labelled reports whether an event has one of the labels.
func (f *filter) labelled(e journal.Event) (bool, error) {
	if !slices.ContainsFunc(f.labels, func(t labelTerm) bool { return has(e, t.needles()) }) {
		return false, nil
	}
	found := false
	err := labelsOf(e, func(l label.Label) {
		found = found || slices.ContainsFunc(f.labels, func(t labelTerm) bool { return t.fits(l) })
	})
	return found, err
}

// labelsOf calls yield for the labels in an event.
func labelsOf(e journal.Event, yield func(label.Label)) error {
	var tree func(v value.Value, depth int)
	tree = func(v value.Value, depth int) {
		yield(v.Label)
		if v.Scalar() || depth > value.MaxDepth {
			return
		}
		yield(v.Structure)
		for _, list := range [][]value.Value{v.Keys, v.Items} {
			for _, part := range list {
				tree(part, depth+1)
			}
		}
	}
	switch e.Type {
	case journal.RunStart:
		p, err := journal.Decode[journal.RunStarted](e)
		for _, in := range p.Inputs {
			tree(in.Value, 0)
		}
		return err
	case journal.TurnStart:
		p, err := journal.Decode[journal.TurnStarted](e)
		yield(p.Author)
		return err
	case journal.ModelReply:
		p, err := journal.Decode[journal.ModelReplied](e)
		yield(p.Context)
		return err
	case journal.Decided:
		p, err := journal.Decode[journal.DecisionMade](e)
		yield(p.PC)
		for _, a := range p.Args {
			tree(a.Value, 0)
		}
		return err
	case journal.CallResult:
		p, err := journal.Decode[journal.CallEnded](e)
		yield(p.Label)
		if p.Value != nil {
			tree(*p.Value, 0)
		}
		return err
	case journal.Endorsed:
		p, err := journal.Decode[journal.EndorsementMade](e)
		yield(p.From)
		yield(p.To)
		return err
	case journal.Observation:
		p, err := journal.Decode[journal.Observed](e)
		yield(p.Label)
		return err
	case journal.RunEnd:
		p, err := journal.Decode[journal.RunEnded](e)
		if p.Answer != nil {
			tree(*p.Answer, 0)
		}
		return err
	}
	return nil
}

// matches reports whether a list is empty, or one of its patterns fits a name; * stands for any text.
func matches(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return fits(p, name) })
}

// fits reports whether a pattern, in which * stands for any text, fits a name.
func fits(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return pattern == name
	}
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return true
}

// labelTerm is something that a label may have: a trust, a reader, a tag, a source.
type labelTerm struct{ part, name string }

// needles are texts of which one is in every payload with a label that fits: a label is always written in full.
func (t labelTerm) needles() [][]byte {
	tool, _, _ := strings.Cut(t.name, ":")
	switch {
	case t.part == "trust":
		return [][]byte{append([]byte(`"trust":`), encoded(t.name)...)}
	case t.part == "source" && !strings.Contains(tool, "*"):
		return [][]byte{append([]byte(`"tool":`), encoded(tool)...)}
	case t.part == "reader" && !strings.Contains(t.name, "*"):
		return [][]byte{encoded(t.name)}
	case t.part == "tag" && !strings.Contains(t.name, "*"):
		return [][]byte{encoded(t.name), []byte(`"tags":["*"]`)}
	}
	return [][]byte{[]byte(`"trust":`)}
}

// fits reports whether a label has it.
func (t labelTerm) fits(l label.Label) bool {
	switch t.part {
	case "trust":
		return l.Trust().String() == t.name
	case "reader":
		r := l.Readers()
		return !r.IsPublic() && slices.ContainsFunc(r.Names(), func(n string) bool { return fits(t.name, n) })
	case "tag":
		return l.HasTag(t.name) || slices.ContainsFunc(l.Tags(), func(n string) bool { return fits(t.name, n) })
	}
	return slices.ContainsFunc(l.Sources(), func(s label.Source) bool {
		return fits(t.name, s.Tool) || fits(t.name, s.Tool+":"+s.Of) || fits(t.name, s.Tool+":"+s.Of+":"+s.Field)
	})
}

// labelTerms is a flag that takes a term each time it is given.
type labelTerms []labelTerm

func (f *labelTerms) String() string { return "" }
func (f *labelTerms) Type() string   { return "label" }

func (f *labelTerms) Set(s string) error {
	part, name, ok := strings.Cut(s, "=")
	if !ok {
		part, name = "trust", s
	}
	switch part {
	case "trust":
		if _, err := label.ParseTrust(name); err != nil {
			return fmt.Errorf("got %q, want untrusted, internal, user, system, or reader=NAME, tag=NAME, source=TOOL", s)
		}
	case "reader", "tag", "source":
		if name == "" {
			return fmt.Errorf("got %q, want a name after =", s)
		}
	default:
		return fmt.Errorf("got %q, want trust=, reader=, tag= or source=", s)
	}
	*f = append(*f, labelTerm{part, name})
	return nil
}

// words is a flag that takes one of a few words each time it is given.
type words struct {
	to *[]string
	of []string
}

func (f *words) String() string { return "" }
func (f *words) Type() string   { return strings.Join(f.of, "|") }

func (f *words) Set(s string) error {
	if !slices.Contains(f.of, s) {
		return fmt.Errorf("got %q, want one of %s", s, strings.Join(f.of, ", "))
	}
	*f.to = append(*f.to, s)
	return nil
}

// moment is a flag that takes a time, or how long it is ago.
type moment struct {
	set bool
	at  time.Time
	now time.Time
}

func (f *moment) String() string { return "" }
func (f *moment) Type() string   { return "time" }

func (f *moment) Set(s string) error {
	f.set = true
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(form, s, time.Local); err == nil {
			f.at = at
			return nil
		}
	}
	ago, err := age(s)
	if err != nil {
		return fmt.Errorf("got %q, want a time such as 2026-12-01 or 2026-12-01T10:00:00Z, or an age such as 90m, 36h, 7d or 2w", s)
	}
	f.at = f.now.Add(-ago)
	return nil
}

// age reads a duration, which may be in days or weeks.
func age(s string) (time.Duration, error) {
	for unit, of := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if number, ok := strings.CutSuffix(s, unit); ok {
			n, err := spec.ParseCount(number)
			if err != nil || n > int64(100*365*24*time.Hour/of) {
				return 0, fmt.Errorf("got %q, want a number of days or weeks", s)
			}
			return time.Duration(n) * of, nil
		}
	}
	return spec.ParseDuration(s)
}
