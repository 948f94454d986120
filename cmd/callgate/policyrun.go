package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"callgate/cmd/internal/console"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/policies"
)

// recorded reads a run of the past from a state folder, without what does not count any more. The beginning of its id will do.
func (c *command) recorded(ctx context.Context, state, run string) (events []journal.Event, err error) {
	store, dir, err := c.past(state)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	runs, err := runsIn(ctx, store)
	if err != nil {
		return nil, err
	}
	id, err := find(runs, run, dir)
	if err != nil {
		return nil, err
	}
	if events, err = store.Read(ctx, id, 1); err != nil {
		return nil, err
	}
	return journal.Current(events, false), journal.Verify(events)
}

// principalOf is on whose behalf a run ran.
func principalOf(events []journal.Event) policies.Principal {
	if len(events) > 0 {
		if start, err := journal.Decode[journal.RunStarted](events[0]); err == nil {
			return start.Principal
		}
	}
	return policies.Principal{}
}

// again is a decision of the past, made again.
type again struct {
	Run     string            `json:"run"`
	Call    string            `json:"call"`
	Tool    string            `json:"tool"`
	Changed bool              `json:"changed"`
	Then    policies.Decision `json:"then"`
	Now     policies.Decision `json:"now"`
	Notes   []string          `json:"notes,omitempty"` // in what the request may differ from the one that was decided

	hide string // stands in place of what may quote the call; "": who is at the terminal may read all of it
}

// evalRun decides the calls of a run again.
func (c *command) evalRun(ctx context.Context, f evalFlags) (err error) {
	events, err := c.recorded(ctx, f.state, f.run)
	if err != nil {
		return err
	}
	b, err := c.bind(ctx, f.agent, f.policies)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	past, err := gate.Rebuild(events, b.tools)
	if err != nil {
		return err
	}
	may := c.readers(b)(events).MayRead
	own := 0
	var all []again
	for _, p := range past {
		if f.call != "" && p.Call != f.call {
			continue
		}
		if p.Own {
			own++
			if f.call != "" {
				return fmt.Errorf("call %s: the gate itself refused it, whatever the policies say: %s", p.Call, reasonList(p.Made.Decision.Reasons))
			}
			continue
		}
		now, err := b.root.Decide(ctx, p.Request)
		if err != nil {
			return err
		}
		a := again{Run: events[0].Run, Call: p.Call, Tool: p.Made.Tool, Then: p.Made.Decision, Now: now, Notes: p.Notes, hide: hiding(may, everything(p.Request))}
		gone, come := reasonsChanged(a.Then, now)
		a.Changed = effectOf(a.Then) != now.Effect || len(gone)+len(come) > 0
		all = append(all, a)
	}
	if f.call != "" && len(all) == 0 {
		return noCall(events, f.call)
	}
	if err := c.tellAgain(all, own, f); err != nil {
		return err
	}
	if f.call != "" {
		return quit(effectCode(all[0].Now.Effect))
	}
	if slices.ContainsFunc(all, func(a again) bool { return a.Changed }) {
		return quit(exitFailed)
	}
	return nil
}

// everything is the label of all that a request holds.
func everything(r *policies.Request) label.Label {
	return r.Call.Args.Deep().Join(r.Labels.PC)
}

// effectOf is what policies decided: limits are not counted again.
func effectOf(d policies.Decision) policies.Effect {
	if !slices.ContainsFunc(d.Reasons, func(r policies.Reason) bool { return r.Engine == "limit" }) {
		return d.Effect
	}
	effect := policies.Allow
	for _, r := range d.Reasons {
		if r.Engine != "limit" && !r.Accept && !r.Audit {
			effect = min(effect, r.Effect)
		}
	}
	return effect
}

// reasonsChanged returns the reasons that a decision had and has no longer, and those that are new. The
// texts and places of rules may change.
func reasonsChanged(then, now policies.Decision) (gone, come []policies.Reason) {
	same := func(a policies.Reason) func(policies.Reason) bool {
		return func(b policies.Reason) bool {
			return a.Policy == b.Policy && a.ID == b.ID && a.Effect == b.Effect && a.Accept == b.Accept && a.Audit == b.Audit && slices.Equal(a.Args, b.Args)
		}
	}
	for _, r := range then.Reasons {
		if r.Engine != "limit" && !slices.ContainsFunc(now.Reasons, same(r)) {
			gone = append(gone, r)
		}
	}
	for _, r := range now.Reasons {
		if !slices.ContainsFunc(then.Reasons, same(r)) {
			come = append(come, r)
		}
	}
	return gone, come
}

// tellAgain writes what is decided today.
func (c *command) tellAgain(all []again, own int, f evalFlags) error {
	if f.json {
		for _, a := range all {
			if a.hide != "" {
				a.Then, a.Now = withoutMessages(a.Then, a.hide), withoutMessages(a.Now, a.hide)
			}
			if err := c.writeLine(a); err != nil {
				return err
			}
		}
		return nil
	}
	var b strings.Builder
	changed := 0
	for _, a := range all {
		if a.Changed {
			changed++
		}
		if !a.Changed && f.call == "" {
			continue
		}
		then := effectOf(a.Then)
		what := fmt.Sprintf("%s, as it was", a.Now.Effect)
		if a.Now.Effect != then {
			what = fmt.Sprintf("was %s, is %s", then, a.Now.Effect)
		} else if a.Changed {
			what = fmt.Sprintf("%s, for other reasons", a.Now.Effect)
		}
		fmt.Fprintf(&b, "%-8s  %s  %s\n", a.Call, a.Tool, what)
		gone, come := reasonsChanged(a.Then, a.Now)
		for _, r := range gone {
			fmt.Fprintf(&b, "          no more  %s\n", reasonText(r, a.hide))
		}
		for _, r := range come {
			fmt.Fprintf(&b, "          new      %s\n", reasonText(r, a.hide))
		}
		for _, n := range a.Notes {
			fmt.Fprintf(&b, "          note     %s\n", n)
		}
		if f.call != "" {
			b.WriteString("\n" + decisionText(a.Tool, a.Now, a.hide))
		}
	}
	if f.call == "" {
		fmt.Fprintf(&b, "%d decided again, %d otherwise", len(all), changed)
		if own > 0 {
			fmt.Fprintf(&b, "; %d that the gate itself refused are left out", own)
		}
		b.WriteString("\n")
	}
	_, err := c.stdout.WriteString(console.Clean(b.String()))
	return err
}

// withoutMessages puts a mark in place of what could quote data.
func withoutMessages(d policies.Decision, hide string) policies.Decision {
	d.Reasons, d.Approvals, d.Obligations = slices.Clone(d.Reasons), slices.Clone(d.Approvals), slices.Clone(d.Obligations)
	for i := range d.Reasons {
		if d.Reasons[i].Message != "" {
			d.Reasons[i].Message = hide
		}
	}
	for i := range d.Approvals {
		if d.Approvals[i].Message != "" {
			d.Approvals[i].Message = hide
		}
		if d.Approvals[i].Binding != "" { // a digest of it all: a guess could be tried
			d.Approvals[i].Binding = hide
		}
	}
	for i := range d.Obligations {
		if len(d.Obligations[i].Fields) > 0 {
			d.Obligations[i].Fields = map[string]any{"hidden": hide}
		}
	}
	return d
}

// decisionText tells a decision to people. With a mark, that stands in place of what rules say.
func decisionText(tool string, d policies.Decision, hide string) string {
	var b strings.Builder
	line := func(word, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s%s\n", word, fmt.Sprintf(format, args...))
	}
	line(d.Effect.String(), "%s", tool)
	if d.Would != d.Effect {
		line("would", "%s, with the rules in audit mode", d.Would)
	}
	for i, r := range d.Reasons {
		word := ""
		if i == 0 {
			word = "because"
		}
		line(word, "%s", reasonText(r, hide))
	}
	for _, o := range d.Obligations {
		fields := fmt.Sprint(o.Fields)
		if len(o.Fields) > 0 {
			fields = cmp.Or(hide, fields)
		}
		line("obliges", "%s %s  %s", o.Type, o.ID, fields)
	}
	for _, a := range d.Approvals {
		who := "whoever runs the agent"
		if len(a.Approvers) > 0 {
			who = strings.Join(a.Approvers, " or ")
		}
		if a.Count > 1 {
			who = fmt.Sprintf("%d of %s", a.Count, who)
		}
		if len(a.OtherThan) > 0 {
			who += ", but not " + strings.Join(a.OtherThan, ", ")
		}
		if a.TTL > 0 {
			who += ", within " + a.TTL.String()
		}
		line("approval", "%s: %s", a.Ask, who)
	}
	line("revision", "%s", d.Revision)
	return b.String()
}

// reasonText is a reason on one line: what it does, its rule, what it is about, its place, and what it says, or the mark in place of that.
func reasonText(r policies.Reason, hide string) string {
	what := r.Effect.String()
	if r.Accept {
		what = "accept"
	}
	if r.Audit {
		what += " (audit)"
	}
	s := fmt.Sprintf("%-6s  %s", what, r.ID)
	if r.Policy != "" && r.Policy != r.Engine && !strings.HasPrefix(r.ID, strings.ReplaceAll(r.Policy, "-", "_")+".") && !strings.HasPrefix(r.ID, r.Policy+".") {
		s += " (" + r.Policy + ")"
	}
	if len(r.Args) > 0 {
		s += "  " + strings.Join(r.Args, " ")
	}
	if r.File != "" {
		s += fmt.Sprintf("  %s:%d", r.File, r.Line)
	}
	if r.Message != "" {
		s += "  " + cmp.Or(hide, r.Message)
	}
	return s
}

// reasonList names the rules of reasons.
func reasonList(list []policies.Reason) string {
	var out []string
	for _, r := range list {
		if !slices.Contains(out, r.ID) {
			out = append(out, r.ID)
		}
	}
	return strings.Join(out, ", ")
}
