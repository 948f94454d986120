package agents

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"callgate/engine/eval"
	"callgate/engine/gate"
	"callgate/engine/syntax"
)

// feedback says to the model how its program, a text, went: what it printed, as far as that is shown, and
// how it ended.
func (r *run) feedback(ctx context.Context, turn int, text string, out eval.Outcome) (string, error) {
	var b strings.Builder
	if out.Err == nil {
		fmt.Fprintf(&b, "Turn %d ended without an error.\n", turn)
	} else {
		b.WriteString(r.describe(turn, text, out.Err))
	}
	if r.agent.Spec.Mode == "plan" {
		return b.String(), nil
	}
	hidden, names := false, syntax.OutlineOf(text, "print", "show")
	for _, p := range out.Prints {
		var line []string
		told := false
		for i, v := range p.Args {
			name := ""
			if p.Site.File == fileOf(turn) {
				name = names.Argument(p.Site.Line, p.Site.Column, i)
			}
			o, err := r.session.Observe(ctx, cmp.Or(name, "a value"), names.Len(), v, p.PC)
			if err != nil {
				return "", err
			}
			line = append(line, o.Text)
			told = told || o.Text != gate.Hidden
		}
		if !told && len(line) > 0 { // one line for all of them: how many there are the meter does not pay for
			if hidden {
				continue
			}
			hidden = true
		}
		fmt.Fprintf(&b, "printed: %s\n", strings.Join(line, " "))
	}
	return b.String(), nil
}

// errorBits is what an error's code and position take from the meter, if they depend on more than the
// model was shown. Those of a refusal the gate has taken.
const errorBits = 8

// refusedForGood is said of a refusal that ended a program. It is the same for all of them.
const refusedForGood = "What was refused stays refused, however it is written: go on without it, or say with done(…) what you could not do.\n"

// describe says of an error what the model may know of it. The text is its own: where an error stands in it may be shown
// wherever its position may.
func (r *run) describe(turn int, text string, e *eval.Error) string {
	var b strings.Builder
	g := r.session.Gate()
	lines := func(lines []string) {
		for _, l := range lines {
			b.WriteString(l + "\n")
		}
	}
	place := func() {
		if e.Site.File == fileOf(turn) {
			lines(eval.Excerpt(text, e.Site.Line, e.Site.Column, nil))
		}
	}
	hint := func(text string) {
		if text != "" {
			b.WriteString("hint: " + text + "\n")
		}
	}
	switch {
	case len(e.Syntax) > 0:
		fmt.Fprintf(&b, "Turn %d was not run: its program has errors.\n", turn)
		for _, s := range e.Syntax {
			fmt.Fprintf(&b, "%s\n", s.Error())
			lines(eval.Excerpt(text, s.Line, s.Column, nil))
			hint(s.Hint)
		}
	case r.agent.Spec.Mode != "plan" && e.Label.FlowsTo(g.Context()):
		fmt.Fprintf(&b, "Turn %d ended with an error.\n%s\n", turn, e.Where())
		place()
		lines(e.Backtrace())
		hint(e.Hint)
		hint(e.Advice)
	case e.Status == eval.Denied && e.Code != gate.Denied || g.Reveal(e.Label, errorBits):
		fmt.Fprintf(&b, "Turn %d ended with an error.\n%s\n", turn, e.Public())
		place()
		hint(e.Hint)
	default:
		fmt.Fprintf(&b, "Turn %d ended with an error, of which nothing may be shown.\n", turn)
		return b.String()
	}
	if e.Status == eval.Denied {
		b.WriteString(refusedForGood)
	}
	return b.String()
}
