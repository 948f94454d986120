package agents

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"strings"

	"callgate/engine/eval"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/syntax"
)

// feedback says to the model how its program, a text, went: what it printed, as far as that is shown, and
// how it ended.
func (r *run) feedback(ctx context.Context, turn int, text string, out eval.Outcome) (string, error) {
	var b strings.Builder
	g := r.session.Gate()
	told := true
	switch {
	case out.Err != nil && len(out.Err.Syntax) > 0:
		told = r.describe(&b, turn, text, out.Err)
	case !g.Reveal(r.inPlay.Join(g.Met()), endBits): // the same, however it ended
		fmt.Fprintf(&b, "Turn %d ended. Something that is hidden could have decided how, and of that nothing more may be told: go on without being told, and end with done(…).\n", turn)
		return b.String(), nil
	case out.Err == nil:
		fmt.Fprintf(&b, "Turn %d ended without an error.\n", turn)
	default:
		told = r.describe(&b, turn, text, out.Err) && g.Reveal(out.Err.Label, countBits(len(out.Prints)))
	}
	if r.agent.Spec.Mode == "plan" || !told {
		return b.String(), nil
	}
	hidden, names := false, syntax.OutlineOf(text, "print", "show")
	for _, p := range out.Prints {
		var line []string
		told = false
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

const (
	// errorBits is the least that an error's code and position take from the meter, if they depend on more than the model was shown.
	errorBits = 8

	// endBits is what it takes to say that a program ended well, or not, where something hidden was in play.
	endBits = 1
)

// inPlay is the label of everything that is known beforehand to decide, perhaps, how the programs of a run go: what it is given, and what its tools declare
// to answer. What they do answer comes on top: parts may have labels of their own, and agents have tools of their own. What the runs before
// it left, of which there are so many programs, could be anything.
func (a *Agent) inPlay(inputs []journal.Input, before int) label.Label {
	if before > 0 {
		return label.Top()
	}
	l := label.Bottom()
	for _, in := range inputs {
		l = l.Join(in.Value.Deep())
	}
	for _, t := range a.tools.All() {
		l = l.Join(t.Label.Class)
		for _, f := range t.Label.Fields {
			l = l.Join(f.Class)
		}
		if t.State != nil {
			l = l.Join(t.State.Label)
		}
		if t.Label.Structure != nil {
			l = l.Join(*t.Label.Structure)
		}
	}
	return l.WithoutSources()
}

// placeBits is what the code and the position of an error take: there are no more positions in a text than bytes.
func placeBits(text string) int { return max(errorBits, bits.Len(uint(len(text)))) }

// countBits is what it takes to say how often a program had printed when something hidden ended it: as many as a number takes that is written so
// that one can tell where it ends.
func countBits(n int) int { return 2 * bits.Len(uint(n)) }

// refusedForGood is said of a refusal that ended a program. It is the same for all of them.
const refusedForGood = "What was refused stays refused, however it is written: go on without it, or say with done(…) what you could not do.\n"

// describe says of an error what the model may know of it, and reports whether that is where it was. The text is its own: where an error stands in
// it may be shown wherever its position may.
func (r *run) describe(b *strings.Builder, turn int, text string, e *eval.Error) bool {
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
		fmt.Fprintf(b, "Turn %d was not run: its program has errors.\n", turn)
		for _, s := range e.Syntax {
			fmt.Fprintf(b, "%s\n", s.Error())
			lines(eval.Excerpt(text, s.Line, s.Column, nil))
			hint(s.Hint)
		}
	case r.agent.Spec.Mode != "plan" && e.Label.FlowsTo(g.Context()):
		fmt.Fprintf(b, "Turn %d ended with an error.\n%s\n", turn, e.Where())
		place()
		lines(e.Backtrace())
		hint(e.Hint)
		hint(e.Advice)
	case e.Status == eval.Denied && e.Code != gate.Denied && g.Reveal(e.Label, placeBits(text)-errorBits), // the gate took the rest
		g.Reveal(e.Label, placeBits(text)):
		fmt.Fprintf(b, "Turn %d ended with an error.\n%s\n", turn, e.Public())
		place()
		hint(e.Hint)
	default:
		fmt.Fprintf(b, "Turn %d ended with an error, of which nothing may be shown.\n", turn)
		return false
	}
	if e.Status == eval.Denied {
		b.WriteString(refusedForGood)
	}
	return true
}
