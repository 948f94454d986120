// Package engine runs the programs of a session under a policy. It is the API that
// other programs embed:
//
//	e, err := engine.New(engine.Config{Agent: "clerk", Tools: tools, PDP: pdp})
//	s, err := e.Start(ctx, engine.Run{Context: label.Bottom()})
//	out, err := s.Exec(ctx, engine.Program{File: "main.star", Text: text, Author: author})
//	err = s.End(ctx, engine.Ending{Status: engine.Done})
//
// A program has one way out, the gate, which decides and records every call before it
// happens. What a Config leaves out is denied: without a PDP nothing is allowed, without an
// approver nobody approves, an author or an input without a label is trusted by nobody and for nobody.
package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"callgate/builtins"
	"callgate/engine/eval"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// Config is what the programs of an engine can reach, and who decides. It is not changed after [New].
type Config struct {
	Agent     string // its name; required
	Digest    string // of the agent as it was loaded, for the journal
	Mode      string // react, plan or program; "" means program
	Principal policies.Principal

	Tools *builtins.Set // those granted; nil: none
	Known []string      // names of tools that exist and are not granted, so that a refusal can say so

	PDP      policies.PDP  // nil: every call is denied
	Store    journal.Store // nil: in memory, gone with the engine
	Approver gate.Approver // nil: a call that must be approved waits
	Clock    func() time.Time

	Limits eval.Limits // zero fields: the defaults of eval
	Meter  int         // bits that endorsements, refusals and descriptions may reveal in a session; 0: none
	Reveal bool        // values below trust internal may be shown to the model, if policy allows

	// Watch is called with every event of every run, in order, once it is stored.
	Watch func(journal.Event)
}

// Engine makes sessions. It is safe for concurrent use.
type Engine struct {
	cfg  Config
	sigs []eval.ToolSig
}

// New returns an engine, or what is wrong with the configuration.
func New(cfg Config) (*Engine, error) {
	if cfg.Agent == "" {
		return nil, errors.New("engine: got no agent name, want one: policies bind to it")
	}
	if cfg.Tools == nil {
		cfg.Tools = new(builtins.Set)
	}
	if cfg.PDP == nil {
		core, err := policies.New(policies.Config{})
		if err != nil {
			return nil, fmt.Errorf("engine: %w", err)
		}
		cfg.PDP = core
	}
	if cfg.Store == nil {
		cfg.Store = journal.NewMemory()
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Mode == "" {
		cfg.Mode = "program"
	}
	return &Engine{cfg: cfg, sigs: Signatures(cfg.Tools)}, nil
}

// Signatures returns what programs need to know of tools in order to call them.
func Signatures(tools *builtins.Set) []eval.ToolSig {
	var out []eval.ToolSig
	for _, t := range tools.All() {
		sig := eval.ToolSig{Name: t.Name, Doc: t.Doc}
		for _, p := range t.Params {
			sig.Params = append(sig.Params, p.Name)
		}
		out = append(out, sig)
	}
	return out
}

// Schemas returns what policies need to know of tools: rules are checked against it when they are loaded.
func Schemas(tools *builtins.Set) []policies.ToolSchema {
	out := []policies.ToolSchema{}
	for _, t := range tools.All() {
		s := policies.ToolSchema{Name: t.Name, Effects: t.Effects.Names()}
		for _, p := range t.Params {
			s.Params = append(s.Params, policies.ParamSchema{Name: p.Name, Schema: p.Schema, Required: p.Required, Sink: p.Sink, Sinks: p.Sinks})
		}
		out = append(out, s)
	}
	return out
}

// Run is what one run is given.
type Run struct {
	ID     string          // "": made up
	Inputs []journal.Input // values that programs can name
	Typed  []string        // texts that a person typed

	// Context is the label of what the session's model was shown before its first program. The zero label
	// is Top: it may have been shown anything. [label.Bottom] says that there is no model.
	Context label.Label
}

// Session is one run: any number of programs over one set of names. It is used by one goroutine at a time.
type Session struct {
	cfg     Config
	run     *journal.Run
	gate    *gate.Gate
	eval    *eval.Session
	inputs  label.Label // of all inputs together
	context label.Label // of what the model was shown before its first program
	turn    int
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
	if e.cfg.Watch != nil {
		run.Watch(e.cfg.Watch)
	}
	s := &Session{cfg: e.cfg, run: run, inputs: label.Bottom(), context: r.Context}
	s.gate, err = gate.New(gate.Config{
		Agent:     policies.Agent{Name: e.cfg.Agent, Digest: e.cfg.Digest},
		Principal: e.cfg.Principal,
		Session:   policies.Session{ID: run.ID(), Run: run.ID(), Mode: e.cfg.Mode},
		Tools:     e.cfg.Tools, Known: e.cfg.Known, PDP: e.cfg.PDP, Journal: run, Approver: e.cfg.Approver,
		Clock: e.cfg.Clock, Meter: e.cfg.Meter, Typed: r.Typed, Reveal: e.cfg.Reveal,
	})
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	s.gate.SetTurn(0, s.context, s.context)
	config := eval.Config{Host: s.gate, Tools: e.sigs, Limits: e.cfg.Limits}
	for _, in := range r.Inputs {
		config.Inputs = append(config.Inputs, eval.Input{Name: in.Name, Value: in.Value})
		s.inputs = s.inputs.Join(in.Value.Deep())
	}
	if s.eval, err = eval.NewSession(config); err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	limits := s.eval.Limits()
	_, err = run.Append(ctx, journal.RunStart, "", journal.RunStarted{
		Language: eval.Language, Agent: e.cfg.Agent, Digest: e.cfg.Digest, Principal: e.cfg.Principal, Mode: e.cfg.Mode,
		Revision: e.cfg.PDP.Revision(), Tools: e.cfg.Tools.Names(), Inputs: r.Inputs,
		Limits: map[string]int64{
			"steps": limits.Steps, "memory": limits.Memory, "wall_ms": limits.Wall.Milliseconds(),
			"calls": int64(limits.Calls), "depth": int64(limits.Depth), "output": limits.Output,
		},
	}, true)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	return s, nil
}

// ID returns the run's id.
func (s *Session) ID() string { return s.run.ID() }

// Gate returns the session's gate, to read its counts, its meter and what waits.
func (s *Session) Gate() *gate.Gate { return s.gate }

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
	if _, err := s.run.Append(ctx, journal.TurnStart, "", journal.TurnStarted{Turn: s.turn, File: p.File, Program: p.Text, Author: p.Author}, false); err != nil {
		return eval.Outcome{}, fmt.Errorf("engine: %w", err)
	}
	out, err := s.exec(ctx, p)
	if err != nil {
		return out, fmt.Errorf("engine: %w", err)
	}
	end := journal.ProgramEnded{
		Turn: s.turn, Status: string(out.Status), Label: label.Bottom(), Floor: out.Floor, Steps: out.Steps,
		Peak: out.Peak, Calls: out.Calls, Duration: out.Duration, Permits: out.Permits,
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
	if _, refused := s.gate.Program(ctx, gate.Start{File: p.File, Text: p.Text, Inputs: readable}); refused != nil {
		return s.eval.Refuse(refused, p.File, p.Author), nil
	}
	prog, err := eval.Compile(p.File, []byte(p.Text), s.eval.Env())
	if err != nil {
		return s.eval.Reject(err, p.File, p.Author), nil
	}
	return s.eval.Run(ctx, prog, p.Author)
}

// Observe asks to show a value to the model; see [gate.Gate.Observe].
func (s *Session) Observe(ctx context.Context, name string, v value.Value, pc label.Label) (gate.Observation, error) {
	return s.gate.Observe(ctx, name, v, pc)
}

// Replied records what a model answered.
func (s *Session) Replied(ctx context.Context, r journal.ModelReplied) error {
	r.Turn = s.turn + 1
	_, err := s.run.Append(ctx, journal.ModelReply, "", r, false)
	return err
}

// The ways for a run to end.
const (
	Done    = "done"
	Failed  = "failed"
	Refused = "denied"
	Budget  = "budget"
	Waiting = "waiting"
)

// ExitCode returns the exit code of a command that ended in a status: 0 done, 1 failed, 3 denied, 4
// budget, 5 waiting.
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
	}
	return Failed
}

// Ending is how a run ends.
type Ending struct {
	Status string // one of the constants; "" is [Failed]
	Answer *value.Value
	Reason string // in words, if it did not end well
}

// End records the end of the run. No program can be run afterwards.
func (s *Session) End(ctx context.Context, e Ending) error {
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
