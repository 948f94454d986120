package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// decided writes what was decided. A call that is allowed and only reads is written when it
// has its result, in one line.
func (t *Timeline) decided(e journal.Event, d journal.DecisionMade) {
	if again := t.pending[e.Call]; again != nil && d.Decision.Effect == policies.Allow {
		return // approved, and decided again
	}
	switch d.Decision.Effect {
	case policies.Allow:
		t.pending[e.Call] = &d
		if acts(d) {
			t.entry(e.Call, good, "allowed", t.paint(strong, t.line(d.Tool, maxName)), t.paint(quiet, t.by(d, policies.Allow)))
			t.rows(d, policies.Allow)
			t.audited(d)
		}
	case policies.Ask:
		t.pending[e.Call] = &d
		t.entry(e.Call, wait, "asked", t.paint(strong, t.line(d.Tool, maxName)), t.paint(quiet, t.line(place(d.Site), maxName)))
		t.rows(d, policies.Ask)
		for _, a := range d.Decision.Approvals {
			t.note("", t.paint(wait, t.rule(policies.Reason{ID: a.Ask, Policy: a.Policy}))+": "+t.ask(d, a))
		}
		t.audited(d)
	default:
		delete(t.pending, e.Call)
		if d.Kind == policies.KindObserve { // its line follows
			return
		}
		var text strings.Builder
		w := t.w
		t.w = &text
		t.entry(e.Call, bad, "refused", t.paint(strong, t.line(d.Tool, maxName)), t.paint(quiet, t.line(place(d.Site), maxName)))
		t.rows(d, policies.Deny)
		t.reasons(d)
		t.w, t.refused = w, text.String()
		t.print(t.refused)
		t.stops = append(t.stops, stop{call: e.Call, tool: t.line(d.Tool, maxName), rules: t.some(d.Decision.Reasons), why: t.why(d)})
	}
}

// audited writes what rules in audit mode would have made of a call that went on.
func (t *Timeline) audited(d journal.DecisionMade) {
	if d.Decision.Would == d.Decision.Effect {
		return
	}
	var names []string
	for _, r := range d.Decision.Reasons {
		if r.Audit {
			names = append(names, t.rule(r))
		}
	}
	t.note("", t.paint(wait, "audit")+": rules that are not enforced would "+d.Decision.Would.String()+": "+strings.Join(compact(names), ", "))
}

// acts reports whether a call is a tool's that does more than read.
func acts(d journal.DecisionMade) bool {
	return d.Kind == policies.KindTool && !slices.Equal(d.Effects, []string{policies.EffectRead}) && len(d.Effects) > 0
}

// by names the rules of an effect, and the place in the program.
func (t *Timeline) by(d journal.DecisionMade, effect policies.Effect) string {
	return strings.TrimSpace(t.rules(d.Decision.Reasons, effect) + "  " + t.line(place(d.Site), maxName))
}

// rules names the rules that had an effect, each with its policy unless the id begins with that.
func (w view) rules(reasons []policies.Reason, effect policies.Effect) string {
	var names []string
	for _, r := range reasons {
		if r.Effect == effect && !r.Audit && !r.Accept {
			names = append(names, w.rule(r))
		}
	}
	for _, r := range reasons {
		if r.Accept && !r.Audit && effect != policies.Deny {
			names = append(names, w.rule(r)+" accepts "+w.line(strings.Join(r.Args, " "), maxName))
		}
	}
	return strings.Join(compact(names), ", ")
}

// compact drops what was said before.
func compact(names []string) []string {
	var out []string
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

var dashes = strings.NewReplacer("_", "-")

func (w view) rule(r policies.Reason) string {
	id := w.line(r.ID, maxName)
	if head, _, _ := strings.Cut(r.ID, "."); r.Policy == "" || dashes.Replace(head) == dashes.Replace(r.Policy) {
		return id
	}
	return id + " (" + w.line(r.Policy, maxName) + ")"
}

// some names the first of the rules that refused, and counts the others.
func (w view) some(reasons []policies.Reason) string {
	names := strings.Split(w.rules(reasons, policies.Deny), ", ")
	if more := len(names) - maxNames; more > 0 {
		return strings.Join(names[:maxNames], ", ") + fmt.Sprintf(" +%d", more)
	}
	return strings.Join(names, ", ")
}

// reasons writes what the rules that refused say. What one rule says of several arguments is said once.
func (t *Timeline) reasons(d journal.DecisionMade) {
	type saying struct{ rule, text string }
	var order []saying
	about := map[saying][]string{}
	for _, r := range d.Decision.Reasons {
		if r.Effect != policies.Deny || r.Audit || r.Accept {
			continue
		}
		says := saying{t.rule(r), r.Message}
		name := ""
		if len(r.Args) == 1 {
			if rest, ok := strings.CutPrefix(r.Message, r.Args[0]+": "); ok {
				says.text, name = rest, t.argName(r.Args[0])
			}
		}
		if !slices.Contains(order, says) {
			order = append(order, says)
		}
		if name != "" {
			about[says] = append(about[says], name)
		}
	}
	for _, says := range order {
		names := ""
		if about[says] != nil {
			names = ": " + strings.Join(about[says], ", ")
		}
		t.note("", t.paint(bad, says.rule)+names+t.message(d, says.text))
	}
}

// argName is a path of an argument, as its row has it.
func (w view) argName(path string) string {
	if path == "pc" {
		return "control"
	}
	return w.line(path, maxName)
}

// message is what a rule says, if the reader may read what it may quote.
func (w view) message(d journal.DecisionMade, text string) string {
	if text == "" {
		return ""
	}
	all := d.PC
	for _, a := range d.Args {
		all = all.Join(a.Value.Deep())
	}
	if !w.may(all) {
		return ": " + w.hidden(all)
	}
	if w.principal != "" { // as labels are written here
		alone := strings.TrimPrefix(label.New(label.User, label.Only(w.principal), nil).String(), "user")
		text = strings.ReplaceAll(text, alone, "/private")
	}
	return ": " + w.line(text, maxText)
}

// ask says who must approve, and why.
func (w view) ask(d journal.DecisionMade, a policies.Approval) string {
	var parts []string
	if m := w.message(d, a.Message); m != "" {
		parts = append(parts, strings.TrimPrefix(m, ": "))
	}
	parts = append(parts, "to be approved by "+w.line(Who(a), maxText))
	if a.TTL > 0 {
		parts = append(parts, "within "+duration(a.TTL))
	}
	return strings.Join(parts, "; ")
}

// Who says in words who may approve.
func Who(a policies.Approval) string {
	who := "whoever runs the agent"
	switch {
	case len(a.Approvers) > 0:
		who = strings.Join(a.Approvers, " or ")
	case a.Count > 1 || len(a.OtherThan) > 0:
		who = "anybody"
	}
	if a.Count > 1 {
		who = fmt.Sprintf("%d of %s", a.Count, who)
	}
	if len(a.OtherThan) > 0 {
		who += ", but not " + strings.Join(a.OtherThan, ", ")
	}
	return who
}

// duration writes a time to wait without what is zero in it: "1h".
func duration(d time.Duration) string {
	s := d.Round(time.Millisecond).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}

// why is the shortest answer to why a call was refused: where what the rules stopped at came from.
func (w view) why(d journal.DecisionMade) string {
	var origins []string
	names := map[string][]string{}
	for _, r := range d.Decision.Reasons {
		if r.Effect != policies.Deny || r.Audit || r.Accept {
			continue
		}
		for _, path := range r.Args {
			words, name := d.Origins[path], w.argName(path)
			if words != "" && !slices.Contains(names[words], name) {
				names[words] = append(names[words], name)
				origins = compact(append(origins, words))
			}
		}
	}
	var parts []string
	for i, words := range origins {
		if i == maxNames {
			parts = append(parts, w.dots())
			break
		}
		parts = append(parts, strings.Join(names[words], ", ")+" "+w.cameFrom(words))
	}
	return strings.Join(parts, "; ")
}

// ended writes what came of a call.
func (t *Timeline) ended(e journal.Event, c journal.CallEnded) {
	d := t.pending[e.Call]
	t.forget(e.Call)
	if c.Waits {
		t.waits(e, c)
		return
	}
	delete(t.pending, e.Call)
	if c.Value != nil {
		t.remember(*c.Value)
	}
	failed := ""
	if c.Code != "" {
		failed = t.line(c.Code, maxName)
		if c.Text != "" && t.may(c.Label) {
			first, _, _ := strings.Cut(c.Text, "\n")
			failed += ": " + t.line(first, maxText)
		}
	}
	switch {
	case d == nil && failed == "": // what was decided has been redacted
		t.entry(e.Call, good, "done", t.result(c, nil), "")
	case d == nil: // a mistake of the program, say: there was nothing to decide
		t.entry(e.Call, bad, "failed", t.line(c.Tool, maxName)+": "+failed, "")
	case d.Kind == policies.KindAnswer:
		text := ""
		if c.Value != nil {
			text = t.literal(*c.Value, textWidth)
		}
		t.entry(e.Call, good, "answered", text, t.paint(quiet, t.rules(d.Decision.Reasons, policies.Allow)))
	case acts(*d) || d.Decision.Effect == policies.Ask:
		if failed != "" {
			t.entry(e.Call, bad, "failed", t.line(c.Tool, maxName)+": "+failed, "")
			return
		}
		t.done[c.Tool]++
		t.entry(e.Call, good, "done", t.result(c, d.Args), t.took(c.Duration))
	case failed != "":
		t.entry(e.Call, bad, "failed", t.call(*d), failed)
	default:
		t.read(e.Call, *d, c)
	}
}

// waits writes that a call waits for the agent that it runs: it goes on when that does.
func (t *Timeline) waits(e journal.Event, c journal.CallEnded) {
	tool, why := t.line(c.Tool, maxName), "the agent that it runs waits"
	if c.Text != "" && t.may(c.Label) {
		why = t.line(c.Text, maxText)
	}
	t.entry(e.Call, wait, "waiting", tool+": "+why, "")
	t.waiting = append(t.waiting, stop{call: e.Call, tool: tool, why: why})
}

// answered takes a call off the list of those that wait.
func (t *Timeline) answered(id string) {
	t.waiting = slices.DeleteFunc(t.waiting, func(s stop) bool { return s.call == id })
}

// reads are calls that follow each other, differ in nothing but their arguments, and only read. The first
// has been written.
type reads struct {
	tool, more string
	last       string // id of the last one
	call       string
	held       int // that have not been written
}

// read writes a call that only read, or holds it back if it is like the one before.
func (t *Timeline) read(id string, d journal.DecisionMade, c journal.CallEnded) {
	more := t.to() + " " + t.labelled(c.Label, 0) + "  " + t.paint(quiet, t.rules(d.Decision.Reasons, policies.Allow))
	audited := d.Decision.Would != d.Decision.Effect
	if r := t.reads; r != nil && r.tool == d.Tool && r.more == more && !audited {
		r.last, r.call, r.held = id, t.call(d), r.held+1
		return
	}
	t.entry(id, good, "allowed", t.call(d), more)
	t.audited(d)
	if !audited {
		t.reads = &reads{tool: d.Tool, more: more}
	}
}

// flush writes the last of the calls that were held back, and how many there were before it.
func (t *Timeline) flush() {
	r := t.reads
	t.reads = nil
	if r == nil || r.held == 0 {
		return
	}
	more := r.more
	if r.held > 1 {
		more += "  " + t.paint(quiet, fmt.Sprintf("and %d before it", r.held-1))
	}
	t.entry(r.last, good, "allowed", r.call, more)
}

// took says how long a call took, if that was long.
func (t *Timeline) took(d time.Duration) string {
	if d < time.Second {
		return ""
	}
	return d.Round(100 * time.Millisecond).String()
}

// result shows what a tool that acts returned, without what repeats its arguments.
func (t *Timeline) result(c journal.CallEnded, args []journal.Argument) string {
	text := t.line(c.Tool, maxName)
	if c.Value == nil || c.Value.Kind == value.None {
		return text
	}
	news := *c.Value
	if news.Kind == value.Dict && len(news.Keys) == len(news.Items) {
		news.Keys, news.Items = nil, nil
		for i, k := range c.Value.Keys {
			same := func(a journal.Argument) bool { return a.Name == k.Str && a.Value.Text() == c.Value.Items[i].Text() }
			if !slices.ContainsFunc(args, same) {
				news.Keys, news.Items = append(news.Keys, k), append(news.Items, c.Value.Items[i])
			}
		}
	}
	return text + " " + t.to() + " " + t.literal(news, maxResult)
}

// call shows a call in one line.
func (t *Timeline) call(d journal.DecisionMade) string {
	var args []string
	for _, a := range d.Args {
		if a.Value.Kind == value.None && t.may(a.Value.Label) {
			continue
		}
		args = append(args, t.line(a.Name, maxName)+" = "+t.literal(a.Value, maxValue/2))
	}
	return t.paint(strong, t.line(d.Tool, maxName)) + "(" + strings.Join(args, ", ") + ")"
}

// endorsed writes what was let through.
func (t *Timeline) endorsed(e journal.Event, g journal.EndorsementMade) {
	d := t.pending[e.Call]
	delete(t.pending, e.Call)
	text, rules, why := t.line(g.Kind, maxName), "", ""
	if d != nil {
		rules = t.rules(d.Decision.Reasons, policies.Allow)
		for _, a := range d.Args {
			switch a.Name {
			case "value":
				text = t.literal(a.Value, maxValue/2)
				why += "  " + t.paint(origin, t.source(d.Origins["value"], g.From, d.PC))
			case "why":
				if a.Value.Str != "" {
					why = "  " + t.literal(a.Value, maxValue) + why
				}
			}
		}
	}
	from, to := g.From.Trust().String(), g.To.Trust().String()
	word := "endorsed"
	if g.Kind == policies.KindDeclassify {
		word, from, to = "released", t.label(g.From), t.label(g.To)
	}
	unit := "bits"
	if g.Bits == 1 {
		unit = "bit"
	}
	t.entry(e.Call, wait, word, fmt.Sprintf("%s: %s %s %s, %d %s", text, from, t.to(), to, g.Bits, unit), t.paint(quiet, rules)+why)
}

// approved writes a person's answer.
func (t *Timeline) approved(e journal.Event, a journal.ApprovalGiven) {
	d := t.pending[e.Call]
	if d == nil {
		d = &journal.DecisionMade{}
	}
	by := ""
	if a.By != "" {
		by = " by " + t.line(a.By, maxName)
	}
	if since, waited := t.opts.Since[e.Call]; waited && a.Verdict != "waiting" && e.Time.Sub(since) >= time.Second {
		by += " after " + lasting(e.Time.Sub(since))
	}
	if a.Reason != "" {
		by += " (" + t.line(a.Reason, maxText) + ")"
	}
	t.answered(e.Call) // what it waited for before the run was gone on with
	tone, ask := good, t.line(a.Ask, maxName)
	switch a.Verdict {
	case "refused":
		tone = bad
		t.stops = append(t.stops, stop{call: e.Call, tool: t.line(d.Tool, maxName), rules: ask, why: "refused" + by})
	case "waiting":
		tone = wait
		t.waiting = append(t.waiting, stop{
			call: e.Call, tool: t.line(d.Tool, maxName), rules: ask, why: cmp.Or(t.line(a.Reason, maxText), "nobody answered"), interrupted: a.Ask == gate.AskInterrupted,
		})
	}
	t.entry(e.Call, tone, t.line(a.Verdict, wordWidth-1), ask+by, "")
}
