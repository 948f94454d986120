package console

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"callgate/builtins"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// Prompt asks the person at a terminal. It implements [gate.Approver]. It is safe for concurrent use, and asks one
// question at a time.
type Prompt struct {
	in     io.Reader
	out    io.Writer
	look   Look
	person policies.Principal

	// Discard, if set, is called before an answer is read: it drops what was typed before the question was there.
	Discard func()

	asking sync.Mutex
	start  sync.Once
	over   bool          // the input has ended, or a question was given up: nothing more is asked
	want   chan struct{} // asks for a line
	lines  chan string   // closed at the end of in
}

// NewPrompt returns a prompt that asks on out and reads answers, line by line, from in. They are the person's,
// who sees what they may read; the zero Principal is whoever is there, who may read what is public.
func NewPrompt(in io.Reader, out io.Writer, look Look, person policies.Principal) *Prompt {
	return &Prompt{in: in, out: out, look: look, person: person, want: make(chan struct{}), lines: make(chan string)}
}

// Whoever is the name of a person at a terminal whom nobody has named.
const Whoever = "whoever is at the terminal"

// The bounds of a question.
const (
	maxAsked = 8000 // characters of one value; past it, what is shown says that it was cut
	maxTries = 3    // answers that are neither yes nor no
)

// Approve asks. Yes approves, no and an empty line refuse. When the input or ctx ends, or the answer is
// neither for the third time, nobody has answered; after the end of either nothing more is asked.
func (p *Prompt) Approve(ctx context.Context, q gate.Question) (gate.Verdict, error) {
	p.asking.Lock()
	defer p.asking.Unlock()
	if p.over {
		return gate.Verdict{Reason: "nobody to ask"}, nil
	}
	by := cmp.Or(p.person.Sub, Whoever)
	if _, err := io.WriteString(p.out, p.question(q)); err != nil {
		return gate.Verdict{}, err
	}
	if p.Discard != nil {
		p.Discard()
	}
	for range maxTries {
		if _, err := io.WriteString(p.out, p.look.paint(wait, "approve this call?")+" [y/N] "); err != nil {
			return gate.Verdict{}, err
		}
		line, ok := p.read(ctx)
		if !ok {
			p.over = true
			break
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return gate.Verdict{Outcome: gate.Approved, By: by, Groups: p.person.Groups}, nil
		case "n", "no", "":
			return gate.Verdict{Outcome: gate.Refused, By: by, Groups: p.person.Groups}, nil
		}
	}
	_, err := io.WriteString(p.out, "\n")
	return gate.Verdict{Reason: "no answer at the terminal"}, err
}

// read returns the next line. Lines are read by a goroutine that lives as long as the input: reading
// from a terminal cannot be broken off. It reads only while there is a question.
func (p *Prompt) read(ctx context.Context) (string, bool) {
	p.start.Do(func() {
		go func() {
			defer close(p.lines)
			in := bufio.NewReader(p.in)
			for range p.want {
				line, err := in.ReadString('\n')
				if err != nil {
					return
				}
				p.lines <- line
			}
		}()
	})
	select {
	case p.want <- struct{}{}:
	case <-ctx.Done():
		return "", false
	}
	select {
	case line, ok := <-p.lines:
		return line, ok
	case <-ctx.Done():
		return "", false
	}
}

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

// question writes everything that is approved.
func (p *Prompt) question(q gate.Question) string {
	w := view{Look: p.look, principal: p.person.Sub, mayRead: p.person.MayRead}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("")
	line("%s", w.paint(wait, fmt.Sprintf("may %s call %s?", w.line(q.Agent, maxName), w.line(q.Tool, maxName)))+
		"  "+w.paint(quiet, w.line(q.Call+"  "+place(q.Site), maxText)))
	d := journal.DecisionMade{Kind: q.Kind, Tool: q.Tool, Args: q.Args, PC: q.PC, Site: q.Site, Effects: q.Effects, Origins: q.Origins}
	d.Decision.Approvals = []policies.Approval{q.Approval}
	line("  %s: %s", w.rule(policies.Reason{ID: q.Approval.Ask, Policy: q.Approval.Policy}), w.ask(d, q.Approval))
	for _, r := range w.table(w.args(d, policies.Ask, true)) {
		line("  %s", r)
	}
	for _, r := range w.receivers(q.Args) {
		line("  %s: %s", w.paint(bad, "beware"), r)
	}
	line("  effects: %s", w.line(strings.Join(q.Effects, ", "), maxText))
	if l := q.PC; l.Trust() < label.Internal {
		line("  %s: that the call is made was decided by what is %s", w.paint(bad, "beware"), w.label(l))
	}
	if len(q.By) > 0 {
		line("  approved so far by %s", w.line(strings.Join(q.By, ", "), maxText))
	}
	return b.String()
}
