package engine

import (
	"context"
	"fmt"
	"slices"

	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/worker"
)

// Earlier is what a session was when a run of it had ended: where its next run goes on. It is got by going over that run
// again, see [Session.Keep], and is not changed.
type Earlier struct {
	Run     string          // that had ended
	Inputs  []journal.Input // that programs can name
	Context label.Label     // of what the session's model was shown
	Turns   int             // programs that ran
	Meter   int             // bits that are left
	Ended   label.Label     // of the fact that it ended where it did

	first    string // run of the session
	head     string // hash of the run's last event
	changed  []string
	typed    []string
	snapshot []byte
	account  *worker.Account
	tier     gate.Tier
	kept     *gate.Kept
}

// with returns the inputs of a run that is given some, and has the others from the runs before it.
func (a *Earlier) with(given []journal.Input) []journal.Input {
	out := slices.Clone(given)
	for _, in := range a.Inputs {
		if !slices.ContainsFunc(given, func(g journal.Input) bool { return g.Name == in.Name }) {
			in.Kept = true
			out = append(out, in)
		}
	}
	return out
}

// endedBits is what it takes from the meter that the model of a run knows that the run before it had ended where it did.
const endedBits = 1

// begins returns the label of what a run's model has been shown if it is shown what has a label first, and how many of some bits its meter has left: that the run before it ended, and where, the
// model knows.
func (a *Earlier) begins(first label.Label, meter int) (label.Label, int) {
	shown := first.Join(a.Context)
	switch {
	case a.Ended.FlowsTo(shown):
	case meter >= endedBits:
		meter -= endedBits
	default:
		shown = shown.Join(a.Ended)
	}
	return shown, meter
}

// Changed says what is not as it was when the run had begun, for the journal of the run that goes on from it.
func (a *Earlier) Changed(changes []Change) {
	for _, c := range changes {
		a.changed = append(a.changed, c.Text)
	}
}

// Keep returns what the session is now, after the last program of a run that is gone over again as [Again.Base]: for the session's next run.
func (s *Session) Keep() (*Earlier, error) {
	if !s.run.Looking() {
		return nil, fmt.Errorf("engine: run %s: got a run that is under way, want one that is gone over again", s.ID())
	}
	b, err := s.eval.Snapshot(0)
	if err != nil {
		return nil, fmt.Errorf("engine: run %s: what its programs have left cannot be kept: %w", s.ID(), err)
	}
	_, head := s.run.Head()
	kept := s.gate.Keep()
	return &Earlier{
		Ended: kept.Answered,
		Run:   s.ID(), Inputs: s.given, Context: s.gate.Context(), Turns: s.turn, Meter: s.gate.Left(),
		first: s.first, head: head, typed: s.typed, snapshot: b, account: s.eval.Account(), tier: s.tier, kept: kept,
	}, nil
}

// maxChain is how many runs a session may have, one after the other: each is gone over again for the next.
const maxChain = 1000

// Before returns the runs of a session up to one of them, the first one first, and the header of that one. Each is to be gone over again, after the one
// before it.
func (e *Engine) Before(ctx context.Context, run string) (runs []Again, header journal.RunStarted, err error) {
	for by := ""; run != ""; {
		if len(runs) == maxChain {
			return nil, header, fmt.Errorf("engine: run %s: there are more than %d runs before it: begin a new session", runs[0].Run, maxChain)
		}
		events, err := e.cfg.Store.Read(ctx, run, 1)
		switch {
		case err != nil:
		case len(events) == 0 && by != "":
			err = fmt.Errorf("run %s goes on from run %s, which the journal does not have any more: begin a new session", by, run)
		case len(events) == 0:
			err = fmt.Errorf("journal: run %q: %w", run, journal.ErrNoRun)
		case events[0].Redacted():
			err = fmt.Errorf("journal: run %s: event 1 (%s): %w: it cannot be gone over again", run, journal.RunStart, journal.ErrRedacted)
		}
		if err != nil {
			return nil, header, fmt.Errorf("engine: %w", err)
		}
		start, err := journal.Decode[journal.RunStarted](events[0])
		if err != nil {
			return nil, header, fmt.Errorf("engine: %w", err)
		}
		if by == "" {
			header = start
		}
		runs = append(runs, Again{Run: run, Base: true})
		by, run = run, ""
		if start.Continues != nil {
			run = start.Continues.Run
		}
	}
	slices.Reverse(runs)
	return runs, header, nil
}

// follows finds out whether a run that is gone over again begins where it began.
func follows(run *journal.Run, header journal.RunStarted, a Again) error {
	was := header.Continues
	switch {
	case was == nil && a.After == nil:
		return nil
	case was == nil:
		return fmt.Errorf("engine: run %s: got what run %s left, and it began a session", run.ID(), a.After.Run)
	case a.After == nil:
		return fmt.Errorf("engine: run %s goes on from run %s: got nothing of what that left", run.ID(), was.Run)
	case was.Run != a.After.Run || was.Head != a.After.head:
		return fmt.Errorf("engine: run %s goes on from run %s as it was then, and the journal has it otherwise: begin a new session", run.ID(), was.Run)
	}
	return nil
}

// GoesOn finds out whether the engine may go on from the end of a run that has a header, and returns what is not as it was when that began. Another language,
// mode or principal is refused. accept is asked about the rest as [Again.Accept] is; nil: not if any of it matters.
func (e *Engine) GoesOn(run string, was journal.RunStarted, accept func([]Change) error) ([]Change, error) {
	err := e.speaks(run, was)
	if err != nil {
		return nil, err
	}
	changes := e.changes(was)
	never := slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return !c.Never })
	matters := slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return !c.Matters })
	switch {
	case len(never) > 0:
		return nil, &ChangedError{run, never}
	case len(changes) == 0:
	case accept != nil:
		err = accept(changes)
	case len(matters) > 0:
		err = &ChangedError{run, matters}
	}
	return changes, err
}
