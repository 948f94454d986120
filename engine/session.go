package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"callgate/builtins"
	"callgate/engine/confine"
	"callgate/engine/eval"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/engine/worker"
	"callgate/policies"
)

// Run is what one run is given.
type Run struct {
	ID     string          // "": made up
	Inputs []journal.Input // values that programs can name

	// Context is the label of what the session's model was shown before its first program. The zero label
	// is Top: it may have been shown anything. [label.Bottom] says that there is no model.
	Context label.Label

	// After is where an earlier run of the session had ended: the names, floor and history of its programs are there again, inputs that are not among Inputs have
	// their values from there, the meter has what it had left, and what the model was shown then counts as shown. Limits are
	// whole again, but for accounts that policies keep. nil: the session begins.
	After *Earlier

	// Within is the call that the run is a part of: of an agent that a tool runs. What is left to the call bounds the run. nil: none.
	Within *builtins.Caller
}

// bounded returns limits and a meter that are no more than what is left to the call that a run is a part of.
func bounded(c *builtins.Caller, l eval.Limits, meter int) (eval.Limits, int) {
	if c == nil {
		return l, meter
	}
	l = l.WithDefaults()
	l.Steps, l.Calls = min(l.Steps, max(c.Steps, 1)), min(l.Calls, max(c.Calls, 1))
	return l, min(meter, c.Bits)
}

// Session is one run: any number of programs over one set of names. It is used by one goroutine at a time.
type Session struct {
	cfg     Config
	run     *journal.Run
	gate    *gate.Gate
	eval    programs
	config  eval.Config
	given   []journal.Input
	typed   []string    // by a person, in this run and earlier ones
	inputs  label.Label // of all of them together
	context label.Label // of what the model was shown before its first program
	turn    int
	first   string      // run of the session
	held    bool        // an earlier run has left names
	steps   int64       // of its programs so far
	most    int64       // that they may take together; 0: each has its own limit, and there is no other
	by      label.Label // of what decided that

	tier      gate.Tier // that programs run in, from the last one on
	confined  []confine.Mechanism
	unguarded error // why not in more
}

// Start begins a run: its header is in the journal when Start returns.
func (e *Engine) Start(ctx context.Context, r Run) (_ *Session, err error) {
	run, err := journal.Begin(ctx, e.cfg.Store, r.ID, journal.Options{Now: e.cfg.Clock, Who: e.cfg.Principal.Sub})
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	defer func() {
		if err != nil {
			run.Close()
		}
	}()
	b := begun{inputs: r.Inputs, shown: r.Context, limits: e.cfg.Limits, meter: e.cfg.Meter, after: r.After}
	if r.After != nil {
		b.inputs = r.After.with(r.Inputs)
		b.shown, b.meter = r.After.begins(r.Context, min(e.cfg.Meter, r.After.Meter))
	}
	if c := r.Within; c != nil {
		if c.Steps <= 0 || c.Calls <= 0 {
			return nil, fmt.Errorf("engine: run %s: %w", run.ID(), ErrNothingLeft)
		}
		b.within, b.most = c, c.Steps
		b.limits, b.meter = bounded(c, b.limits, b.meter)
	}
	s, err := e.session(ctx, run, b)
	if err != nil {
		return nil, err
	}
	if _, err = run.Append(ctx, journal.RunStart, "", e.header(s, b), true); err != nil {
		s.eval.Close()
		return nil, fmt.Errorf("engine: %w", err)
	}
	return s, nil
}

// begun is what a run has begun with.
type begun struct {
	revision string // of the policies; "": those of today
	inputs   []journal.Input
	shown    label.Label // to the model
	limits   eval.Limits
	meter    int
	after    *Earlier         // nil: the session begins
	within   *builtins.Caller // nil: it is no part of another run
	most     int64            // steps of all its programs together; 0: each has its own limit, and there is no other
}

// ErrNothingLeft is why a run cannot begin that is a part of a call: the caller has used its steps or calls up.
var ErrNothingLeft = errors.New("nothing is left to it")

// session makes the session of a run that has begun.
func (e *Engine) session(ctx context.Context, run *journal.Run, b begun) (*Session, error) {
	if e.cfg.Watch != nil {
		run.Watch(e.cfg.Watch)
	}
	s := &Session{cfg: e.cfg, run: run, given: b.inputs, inputs: label.Bottom(), context: b.shown, first: run.ID(), most: b.most}
	cfg := worker.Config{Config: eval.Config{Tools: e.sigs, Limits: b.limits}, Floor: e.cfg.Isolation.Floor}
	var kept *gate.Kept
	if a := b.after; a != nil {
		s.first, s.turn, s.held, s.typed, kept = a.first, a.Turns, true, slices.Clone(a.typed), a.kept
		cfg.Snapshot, cfg.Account, cfg.Next = a.snapshot, a.account, true
	}
	for _, in := range b.inputs {
		cfg.Inputs = append(cfg.Inputs, eval.Input{Name: in.Name, Value: in.Value})
		s.inputs = s.inputs.Join(in.Value.Deep())
		if in.Typed {
			s.typed = append(s.typed, in.Value.Str)
		}
		if !in.Kept {
			cfg.Anew = append(cfg.Anew, in.Name)
		}
	}
	var err error
	all := b.limits.WithDefaults()
	s.by = label.Bottom()
	if b.within != nil {
		s.first, s.by = b.within.Root, b.within.Met
	}
	s.gate, err = gate.New(gate.Config{
		Agent:     policies.Agent{Name: e.cfg.Agent, Digest: e.cfg.Digest},
		Principal: e.cfg.Principal,
		Session:   policies.Session{ID: s.first, Run: run.ID(), Mode: e.cfg.Mode},
		Beneath:   e.cfg.Beneath, Within: b.within, Left: gate.Left{Steps: all.Steps, Calls: all.Calls, Met: s.by},
		Tools: e.cfg.Tools, Known: e.cfg.Known, PDP: e.cfg.PDP, Revision: b.revision, Journal: run, Approver: e.cfg.Approver,
		Clock: e.cfg.Clock, Meter: b.meter, Typed: s.typed, Reveal: e.cfg.Reveal, CanHave: e.cfg.Isolation.canHave, Kept: kept, Spent: e.cfg.Spent,
		Provider: e.cfg.Provider,
	})
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	s.gate.SetTurn(s.turn, s.context, s.context)
	cfg.Host = s.gate
	s.config = cfg.Config
	s.config.Next, s.config.Anew = false, nil // once is enough
	if b.after != nil && b.after.tier > gate.TierNone {
		err = s.open(ctx, b.after.tier, cfg)
	} else {
		s.eval, err = worker.NewLocal(cfg)
	}
	if err == nil {
		err = s.move(ctx, e.cfg.Isolation.Least)
	}
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	return s, nil
}

// header is what the journal of a run that begins is headed by.
func (e *Engine) header(s *Session, b begun) journal.RunStarted {
	limits := s.eval.Limits()
	h := journal.RunStarted{
		Language: eval.Language, Agent: e.cfg.Agent, Digest: e.cfg.Digest, Principal: e.cfg.Principal, Mode: e.cfg.Mode,
		Revision: e.cfg.PDP.Revision(), Tools: e.cfg.Tools.Names(), Inputs: b.inputs, Schemas: e.schemas, Context: &s.context, From: e.cfg.From,
		Limits: map[string]int64{
			"steps": limits.Steps, "memory": limits.Memory, "wall_ms": limits.Wall.Milliseconds(),
			"calls": int64(limits.Calls), "depth": int64(limits.Depth), "output": limits.Output, "meter": int64(max(b.meter, 0)),
		},
	}
	if c := b.within; c != nil {
		h.Limits["all_steps"] = b.most
		h.Parent = &journal.Parent{Run: c.Run, Call: c.Call, Root: c.Root}
	}
	if a := b.after; a != nil {
		h.Continues = &journal.Continued{Run: a.Run, Head: a.head, Session: a.first, Turns: a.Turns, Marks: a.kept.Marks, Changed: a.changed}
	}
	return h
}

// Under returns what the run has used that a call began, for [builtins.Invocation.Leave].
func (s *Session) Under() builtins.Under {
	u := s.gate.Under(s.steps)
	u.Met = u.Met.Join(s.inputs).Join(s.gate.Met()).Join(s.gate.Context())
	return u
}

// Spent reports whether the steps are used up that were left to the call which the run is a part of.
func (s *Session) Spent() bool { return s.most > 0 && s.Steps() >= s.most }

// Steps returns how many steps the session's programs, and those of agents that they ran, have taken.
func (s *Session) Steps() int64 { return s.Under().Steps }

// ID returns the run's id.
func (s *Session) ID() string { return s.run.ID() }

// Gate returns the session's gate, to read its counts, its meter and what waits.
func (s *Session) Gate() *gate.Gate { return s.gate }

// Turns returns how many programs the session has run, those of earlier runs among them.
func (s *Session) Turns() int { return s.turn }

// Err returns why the run cannot go on, or nil: its journal has failed, or it was gone over again and is not what was recorded.
func (s *Session) Err() error { return s.run.Err() }

// Close leaves a run that has not ended to whoever goes on with it. Nothing can be done in the session any more; after [Session.End] there is nothing to close.
func (s *Session) Close() error {
	s.eval.Close()
	return s.run.Close()
}

// Floor returns the least label of whatever the session's programs make from now on.
func (s *Session) Floor() label.Label { return s.eval.Floor() }

// Names returns the names that programs have bound, sorted.
func (s *Session) Names() []string { return s.eval.Names() }

// Get returns the value of a name that a program has bound.
func (s *Session) Get(name string) (value.Value, error) { return s.eval.Get(name) }

// Program is one program of a session.
type Program struct {
	File   string // its name, for positions
	Text   string
	Author label.Label // of who wrote it: for a model, the join of all that it was shown. The zero label trusts nobody
}

// Exec runs a program as the session's next turn. An error of the program, a refusal
// that it does not catch and a limit are outcomes, not errors; a text that does not compile is an outcome with
// the status error and the code "syntax". The error says that the run cannot go on: its journal failed.
func (s *Session) Exec(ctx context.Context, p Program) (eval.Outcome, error) {
	s.turn++
	s.gate.SetTurn(s.turn, p.Author, s.context)
	began, err := s.run.Append(ctx, journal.TurnStart, "", journal.TurnStarted{Turn: s.turn, File: p.File, Program: p.Text, Author: p.Author}, false)
	if err != nil {
		return eval.Outcome{}, fmt.Errorf("engine: %w", err)
	}
	s.gate.SetTime(began.Time)
	out, err := s.exec(ctx, p)
	if err == nil && s.run.Retracing() && ctx.Err() != nil { // it has not come to where it can go on: leave it as it is
		err = ctx.Err()
		s.run.Abandon(err)
	}
	if err != nil {
		return out, fmt.Errorf("engine: %w", err)
	}
	s.steps += out.Steps
	end := journal.ProgramEnded{
		Turn: s.turn, Status: string(out.Status), Label: label.Bottom(), Floor: out.Floor, Steps: out.Steps,
		Peak: out.Peak, Calls: out.Calls, Duration: out.Duration, Permits: out.Permits, Looks: out.Looks,
		Tier: s.tier.String(), Confinement: s.confinement(),
	}
	for _, r := range out.Rises {
		end.Rises = append(end.Rises, journal.FloorRaised{Site: policies.Site(r.Site), Floor: r.Floor, Why: r.Why})
	}
	if out.Err != nil {
		end.Code, end.Message, end.Label = out.Err.Code, out.Err.Error(), out.Err.Label
		if out.Err.Detail != "" {
			end.Message += "\n" + out.Err.Detail
		}
	}
	if _, err := s.run.Append(context.WithoutCancel(ctx), journal.ProgramEnd, "", end, false); err != nil {
		return out, fmt.Errorf("engine: %w", err)
	}
	return out, nil
}

func (s *Session) exec(ctx context.Context, p Program) (eval.Outcome, error) {
	readable := s.inputs.Join(s.eval.Floor())
	start := gate.Start{File: p.File, Text: p.Text, Inputs: readable, Tier: s.wanted(readable.Join(p.Author).Join(s.context).Join(answers(s.cfg.Tools)))}
	tier, refused := s.gate.Program(ctx, start)
	if refused != nil {
		return s.eval.Refuse(refused, p.File, p.Author), nil
	}
	if err := s.move(ctx, tier); err != nil {
		return eval.Outcome{}, err
	}
	past, lost, err := s.past()
	if err != nil {
		return eval.Outcome{}, err
	}
	if s.most > 0 {
		past.Steps = max(s.most-s.Steps(), 1)
		s.gate.SetSteps(min(s.eval.Limits().Steps, past.Steps), s.Under().Met.Join(s.by))
	}
	out, err := s.eval.Exec(ctx, p.File, p.Text, p.Author, past)
	if err == nil && lost != nil {
		out = s.lose(p.File, *lost)
	}
	return out, err
}

// Observe asks to show a value to the model; see [gate.Gate.Observe]. If the run cannot go on the error is that of [Session.Err].
func (s *Session) Observe(ctx context.Context, name string, names int, v value.Value, pc label.Label) (gate.Observation, error) {
	o, err := s.gate.Observe(ctx, name, names, v, pc)
	if cannot := s.run.Err(); err != nil && cannot != nil {
		err = fmt.Errorf("engine: %w", cannot)
	}
	return o, err
}

// The ways for a run to end.
const (
	Done    = "done"
	Failed  = "failed"
	Refused = "denied"
	Budget  = "budget"
	Waiting = "waiting"

	Cancelled = "cancelled" // whoever ran it stopped it
)

// ExitCode returns the exit code of a command that ended in a status: 0 done, 1 failed, 3 denied, 4
// budget, 5 waiting, 130 cancelled.
func ExitCode(status string) int {
	switch status {
	case Done:
		return 0
	case Refused:
		return 3
	case Budget:
		return 4
	case Waiting:
		return 5
	case Cancelled:
		return 130 // as shells have it of what an interrupt ends
	}
	return 1
}

// StatusOf returns how a run ends whose last program ended so.
func StatusOf(s eval.Status) string {
	switch s {
	case eval.OK, eval.Answered:
		return Done
	case eval.Denied:
		return Refused
	case eval.Limited:
		return Budget
	case eval.Waiting:
		return Waiting
	case eval.Cancelled:
		return Cancelled
	}
	return Failed
}

// Ending is how a run ends.
type Ending struct {
	Status string // one of the constants; "" is [Failed]
	Answer *value.Value
	Reason string // in words, if it did not end well
}

// End records the end of the run, and ends what its programs ran in. No program can be run afterwards.
func (s *Session) End(ctx context.Context, e Ending) error {
	defer s.eval.Close()
	if e.Status == "" {
		e.Status = Failed
	}
	_, err := s.run.Append(context.WithoutCancel(ctx), journal.RunEnd, "", journal.RunEnded{
		Status: e.Status, Exit: ExitCode(e.Status), Answer: e.Answer, Reason: e.Reason, Counts: s.gate.Counts().Map(),
	}, true)
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	return nil
}
