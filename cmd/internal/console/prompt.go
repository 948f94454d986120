package console

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"strings"
	"sync"

	"callgate/engine/gate"
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

// maxTries is how many answers that are neither yes nor no are taken.
const maxTries = 3

// Approve is [Prompt.Ask] for a question of a run.
func (p *Prompt) Approve(ctx context.Context, q gate.Question) (gate.Verdict, error) {
	return p.Ask(ctx, Question{Question: q, Person: p.person})
}

// Ask asks. Yes approves, no and an empty line refuse. When the input or ctx ends, or the answer is
// neither for the third time, nobody has answered; after the end of either nothing more is asked.
func (p *Prompt) Ask(ctx context.Context, q Question) (gate.Verdict, error) {
	by := cmp.Or(p.person.Sub, Whoever)
	ask := "approve this call of " // said again: what stands above may be out of sight
	if q.Approval.Ask == gate.AskInterrupted {
		ask = "make this call again, of "
	}
	ask += p.look.line(q.Tool, maxName)
	if p.person.Sub != q.Principal.Sub {
		ask += ", as " + p.look.line(by, maxName)
	}
	yes, err := p.ask(ctx, q.Text(p.look), ask+"?")
	switch {
	case err != nil:
		return gate.Verdict{}, err
	case yes == nil:
		return gate.Verdict{Reason: "no answer at the terminal"}, nil
	case *yes:
		return gate.Verdict{Outcome: gate.Approved, By: by, Groups: p.person.Groups}, nil
	}
	return gate.Verdict{Outcome: gate.Refused, By: by, Groups: p.person.Groups}, nil
}

// Confirm asks whether to go on, below lines that say what it is about. Without an answer it is no.
func (p *Prompt) Confirm(ctx context.Context, lines []string, question string) (bool, error) {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(p.look.line(l, 0) + "\n")
	}
	yes, err := p.ask(ctx, b.String(), question)
	return yes != nil && *yes, err
}

// ask puts a question, below a text, that is answered with yes or no; nil is no answer.
func (p *Prompt) ask(ctx context.Context, text, question string) (yes *bool, err error) {
	p.asking.Lock()
	defer p.asking.Unlock()
	if p.over {
		return nil, nil
	}
	if _, err := io.WriteString(p.out, text); err != nil {
		return nil, err
	}
	if p.Discard != nil {
		p.Discard()
	}
	for range maxTries {
		if _, err := io.WriteString(p.out, p.look.paint(wait, question)+" [y/N] "); err != nil {
			return nil, err
		}
		line, ok := p.read(ctx)
		if !ok {
			p.over = true
			break
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return new(true), nil
		case "n", "no", "":
			return new(false), nil
		}
	}
	_, err = io.WriteString(p.out, "\n")
	return nil, err
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
