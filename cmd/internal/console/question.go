package console

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"callgate/builtins"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// Question is an ask as a person is shown it: everything that is approved, and nothing that only looks like it. What
// the person may not read is hidden; what is long stands before the rest, so that it can push nothing off the screen.
type Question struct {
	gate.Question
	Person  policies.Principal // who is shown it
	ID      string             // by which it can be answered at another place; "": at this one alone
	Shown   string             // digits that stand for all that is shown, with an ID
	Need    int                // how many more must approve, if more than one must
	Expires time.Time          // when it is a question no longer; zero: never
	Masked  bool               // parts of the arguments are not known here
	Program string             // text of the program that makes the call; "": is not known
	Author  label.Label        // of the program's text
	Whole   bool               // nothing is cut
}

// The bounds of a question.
const (
	maxAsked = 8000 // characters of one value
	maxShort = 240  // characters of one value that stands in a line
	maxRows  = 12   // parts of an argument with rows of their own
	lead     = 2    // lines of the program before the call's
)

// ShownDigits is how many digits of those that stand for what is shown are enough.
const ShownDigits = 8

func (q Question) view(look Look) view {
	return view{Look: look, principal: q.Principal.Sub, mayRead: q.Person.MayRead}
}

// Hidden names the arguments of which the person may not read all.
func (q Question) Hidden() []string {
	w := q.view(Look{})
	var out []string
	for _, a := range q.Args {
		all := true
		a.Value.Walk(true, func(_ string, _ value.Value, l label.Label) { all = all && w.may(l) })
		if !all || !w.may(a.Value.Deep()) {
			out = append(out, a.Name)
		}
	}
	return out
}

// Text is what is shown.
func (q Question) Text(look Look) string {
	w := q.view(look)
	var long, b strings.Builder
	line := func(format string, args ...any) { b.WriteString(w.wrap(fmt.Sprintf(format, args...)) + "\n") }
	line("")
	line("%s", w.paint(wait, fmt.Sprintf("may %s call %s?", w.line(q.Agent, maxName), w.line(q.Tool, maxName)))+
		"  "+w.paint(quiet, w.line(q.Call+"  "+place(q.Site), maxText)))
	d := journal.DecisionMade{Kind: q.Kind, Tool: q.Tool, Args: q.Args, PC: q.PC, Site: q.Site, Effects: q.Effects, Origins: q.Origins}
	d.Decision.Approvals = []policies.Approval{q.Approval}
	line("  %s: %s", w.rule(policies.Reason{ID: q.Approval.Ask, Policy: q.Approval.Policy}), w.ask(d, q.Approval))
	if who := q.Principal.Sub; who != q.Person.Sub {
		if who == "" {
			who = "nobody"
		}
		line("  on behalf of %s, in run %s", w.line(who, maxText), w.line(q.Run, maxName))
	}
	for _, s := range w.excerpt(q) {
		line("  %s", w.paint(quiet, s))
	}
	for _, r := range w.table(w.asked(q, &long)) {
		line("  %s", r)
	}
	line("  effects: %s", w.line(strings.Join(q.Effects, ", "), maxText))
	for _, s := range w.warnings(q) {
		line("  %s: %s", w.paint(bad, "beware"), s)
	}
	if len(q.By) > 0 {
		line("  approved so far by %s", w.line(strings.Join(q.By, ", "), maxText))
	}
	if q.Need > 1 || q.Need > 0 && len(q.By) > 0 {
		line("  %d more must approve", q.Need)
	}
	if !q.Expires.IsZero() {
		line("  expires at %s", q.Expires.UTC().Format(time.RFC3339))
	}
	if q.ID != "" {
		line("  id %s, shown %s", w.line(q.ID, 0), w.line(q.Shown[:min(len(q.Shown), ShownDigits)], 0))
	}
	return long.String() + b.String()
}

// Message is what the policy says, if the person may read what it may quote.
func (q Question) Message() string {
	if w := q.view(Look{}); !w.may(q.all()) {
		return ""
	}
	return q.Approval.Message
}

// all is the label of everything that is approved.
func (q Question) all() label.Label {
	l := q.PC
	for _, a := range q.Args {
		l = l.Join(a.Value.Deep())
	}
	return l
}

// Line is the line of the program that makes the call, if it is known and the person may read it.
func (q Question) Line() string {
	lines := strings.Split(q.Program, "\n")
	if w := q.view(Look{}); q.Program == "" || !w.may(q.Author) || q.Site.Line < 1 || q.Site.Line > len(lines) {
		return ""
	}
	return lines[q.Site.Line-1]
}

// Warnings say what may mislead the person, in ASCII.
func (q Question) Warnings() []string {
	return q.view(Look{}).warnings(q)
}

// excerpt is the part of the program that makes the call.
func (w view) excerpt(q Question) []string {
	if q.Line() == "" {
		return nil
	}
	lines, at := strings.Split(q.Program, "\n"), q.Site.Line
	var out []string
	for i := max(at-lead, 1); i <= at; i++ {
		mark := " "
		if i == at {
			mark = ">"
		}
		out = append(out, fmt.Sprintf("%s %d | %s", mark, i, w.line(strings.ReplaceAll(lines[i-1], "\t", "    "), maxShort)))
	}
	return out
}

// asked are the rows of the arguments. What is too long for one goes to long, in full, and is named by its length and digest.
func (w view) asked(q Question, long *strings.Builder) []row {
	marked := map[string]bool{}
	for _, path := range q.Approval.Args {
		marked[path] = true
	}
	var out []row
	for _, a := range q.Args {
		as := w
		if steers(a.Sink) {
			as.Look = Look{Width: w.Width}
		}
		add := func(path string, v value.Value, l label.Label) {
			r := row{name: w.line(path, maxName), label: l, from: w.source(q.Origins[path], l, q.PC)}
			if marked[path] {
				r.mark = "?"
			}
			r.value = as.part(v, 0, 0)
			if size := utf8.RuneCountInString(r.value); size > maxShort {
				text := as.lines(v, r.value)
				r.value = as.brief(r.value, size, digestOf(v, text))
				as.full(long, r.name, text, digestOf(v, text), q.Whole || directs(a.Sink)) // to whom, or where: none of that is cut
			}
			out = append(out, r)
		}
		deep := a.Value.Deep()
		var parts []func()
		differ := false
		a.Value.Walk(false, func(p string, v value.Value, l label.Label) {
			differ = differ || !l.SameClass(deep) || marked[a.Name+p] && p != ""
			v.Label = l
			parts = append(parts, func() { add(a.Name+p, v, l) })
		})
		if a.Value.Scalar() || !differ || len(parts) > maxRows {
			add(a.Name, a.Value, deep)
			for _, p := range q.Approval.Args {
				if rest, ok := strings.CutPrefix(p, a.Name); ok && rest != "" && len(parts) > maxRows && (rest[0] == '.' || rest[0] == '[') {
					v, l := partAt(a.Value, rest)
					add(p, v, l)
				}
			}
			continue
		}
		for _, f := range parts {
			f()
		}
	}
	if marked["pc"] {
		out = append(out, row{name: "control", value: "that the call is made", label: q.PC, mark: "?", from: w.source(q.Origins["pc"], q.PC, label.Bottom())})
	}
	return out
}

// brief stands for a value that is shown above: its ends, its size and a digest.
func (w view) brief(shown string, size int, digest string) string {
	r := []rune(shown)
	return string(r[:maxShort/2]) + w.dots() + string(r[size-maxShort/6:]) + fmt.Sprintf(" (%d characters, sha256 %s, in full above)", size, digest)
}

// digestOf is what people compare a text by: of the bytes of a string, and else of what is shown, which has nothing that is hidden.
func digestOf(v value.Value, lines []string) string {
	text := strings.Join(lines, "\n")
	if v.Kind == value.String || v.Kind == value.Bytes {
		text = v.Str
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// lines are the lines of a long text, or all of another value, which is not hidden.
func (w view) lines(v value.Value, shown string) []string {
	if v.Kind != value.String {
		return []string{shown}
	}
	var out []string
	for l := range strings.SplitSeq(v.Str, "\n") {
		out = append(out, w.line(l, 0))
	}
	return out
}

// full writes a long value, line by line, each behind a margin.
func (w view) full(b *strings.Builder, name string, lines []string, digest string, whole bool) {
	b.WriteString("\n" + w.wrap(w.paint(strong, "in full: "+name)) + "\n")
	all := []rune(strings.Join(lines, "\n"))
	if whole || len(all) <= maxAsked {
		w.margin(b, lines)
		return
	}
	w.margin(b, strings.Split(string(all[:maxAsked*3/4]), "\n"))
	cut := fmt.Sprintf("CUT: %d of %d characters are shown, the first and the last; sha256 %s of all", maxAsked, len(all), digest)
	b.WriteString(w.wrap("  "+w.paint(bad, cut)) + "\n")
	w.margin(b, strings.Split(string(all[len(all)-maxAsked/4:]), "\n"))
}

func (w view) margin(b *strings.Builder, lines []string) {
	for _, l := range lines {
		b.WriteString(w.wrap("  "+w.paint(quiet, "|")+" "+l) + "\n")
	}
}

// maxWarnings is how many warnings are shown.
const maxWarnings = 6

// warnings says what may mislead: what is not shown, who decided that the call is made, recipients, and characters. Those that
// others can make many of come last: they push out none but each other.
func (w view) warnings(q Question) []string {
	var out []string
	if hidden := q.Hidden(); len(hidden) > 0 {
		out = append(out, "you may not read all of what is approved: "+w.line(strings.Join(hidden, ", "), maxText))
	}
	if q.Masked {
		out = append(out, "parts are not in the journal, and what is approved is more than what is shown")
	}
	if q.PC.Trust() < label.Internal {
		out = append(out, "that the call is made was decided by what is "+w.label(q.PC))
	}
	out = append(out, w.receivers(q.Args)...)
	about := func(path, text string, steers bool) {
		for _, s := range w.beware(text, steers) {
			out = append(out, w.line(path, maxName)+": "+s)
		}
	}
	for _, names := range []bool{true, false} { // where it goes, and then what
		for _, a := range q.Args {
			if names != directs(a.Sink) {
				continue
			}
			a.Value.Walk(true, func(p string, v value.Value, l label.Label) {
				if v.Kind == value.String && w.may(l) && len(out) <= maxWarnings {
					about(a.Name+p, v.Str, names)
				}
			})
		}
	}
	if q.Line() != "" {
		about("the program", q.Program, false)
	}
	about("the rule's message", q.Message(), false)
	if len(out) > maxWarnings {
		out = append(out[:maxWarnings:maxWarnings], "and there is more to beware of")
	}
	return out
}

// directs reports whether a kind of sink is declared, and says to whom or where.
func directs(sink string) bool { return steers(sink) && sink != "" && sink != policies.SinkNone }

// receivers says of recipients that do not read as what they are – with a name that looks like an address beside
// the address, in letters of another script – to whom the call goes.
func (w view) receivers(args []journal.Argument) (out []string) {
	for _, a := range args {
		if a.Sink != policies.SinkRecipient {
			continue
		}
		list := a.Value.Items
		if a.Value.Scalar() {
			list = []value.Value{a.Value}
		}
		for _, v := range list {
			if v.Kind != value.String || !strings.Contains(v.Str, "@") || !w.may(v.Label) {
				continue
			}
			norm, _ := builtins.NormAddress(v.Str)
			switch {
			case strings.EqualFold(norm, v.Str) && norm != "":
			case norm == "":
				out = append(out, fmt.Sprintf("%s: %s is not one address", w.line(a.Name, maxName), w.quote(v.Str, maxText)))
			default:
				out = append(out, fmt.Sprintf("%s: %s goes to %s", w.line(a.Name, maxName), w.quote(v.Str, maxText), w.line(norm, maxText)))
			}
		}
	}
	return out
}

// Said shows a text of somebody else on one line, such as a reason.
func Said(look Look, text string) string { return look.line(text, maxShort) }
