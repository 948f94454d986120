// Package agents runs agents: a model, or a person, writes programs, and the programs act
// through the gate of package engine.
//
// [Build] makes an agent of the files that describe it. [Agent.Run] runs it once:
//
//	the model writes a program, knowing only what it was shown
//	the program runs, each of its calls decided by the policies
//	what it printed is shown to the model, value by value, as far as policy lets it
//	… until a program calls done(value), or the turns are used up
//
// The label of each program is the join of all that its author was shown: the instructions, the task, and
// every observation. Once the model has read a stranger's mail, all it writes is as
// trustworthy as a stranger's.
//
// In the mode plan the model is shown no results: after its first program only how that ended, as a
// code and a position. In the mode program there is no model: a person wrote the program.
package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"

	"callgate/agents/model"
	"callgate/engine"
	"callgate/engine/eval"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/syntax"
	"callgate/engine/value"
	"callgate/spec"
)

// RunOptions are what one run is given.
type RunOptions struct {
	ID     string            // of the run; "": made up
	Task   string            // the value of the input "task"
	Inputs map[string]string // other inputs, by name

	// After is the run that this one goes on from, which has ended: its names are there, with their labels, and its model has its conversation. Inputs
	// that are not given have their values from there; those that are secret, and in no journal, must be given again. "": the session begins.
	After string

	// Accept is asked whether to go on from After although something is not as it was when that began; an error is why not. nil: not if any of it
	// matters. Another language, mode, agent or principal is refused without asking.
	Accept func([]engine.Change) error

	// Author is the label of who wrote the agent's program; nil: as trusted as the agent's file. A model's
	// programs have the label of what it was shown.
	Author *label.Label

	inspect func(*engine.Session) // before the run ends; nil: nothing looks
}

// Result is how a run ended.
type Result struct {
	Run     string
	Status  string // one of the constants of package engine
	Answer  *value.Value
	Reason  string          // in words, if it did not end well
	Turns   int             // programs that ran
	Waiting []gate.Question // what nobody has answered, if the status is waiting
	Counts  gate.Counts
	Last    eval.Outcome // of the last program
	Spent   model.Spent  // by all models of the run
	Model   error        // why the model did not answer, such as a [*model.RecordingError]
}

// InputError is what is wrong with the inputs of a run.
type InputError struct{ Problems []string }

func (e *InputError) Error() string { return strings.Join(e.Problems, "\n") }

// Run runs the agent once. A run that ends badly is a Result; the error says that it could not begin (an
// [*InputError]; a [*model.KeyError]; an [*engine.ChangedError] or another reason why the run After cannot be gone on from), or that its journal failed.
func (a *Agent) Run(ctx context.Context, o RunOptions) (Result, error) {
	var before earlier
	if o.After != "" {
		var err error
		if before, err = a.goOn(ctx, o); err != nil {
			return Result{}, err
		}
	}
	inputs, err := a.inputs(o, before)
	if err != nil {
		return Result{}, err
	}
	own := a.own()
	if o.Author != nil {
		own = *o.Author
	}
	shown := label.Bottom()
	if a.model != nil {
		shown = own
		for _, in := range inputs {
			if in.Name == "task" {
				shown = shown.Join(in.Value.Label)
			}
		}
	}
	for _, m := range a.remote {
		if err := m.Ready(ctx); err != nil {
			return Result{}, err
		}
	}
	purse := a.purse(ctx)
	e, err := a.engine(purse)
	if err != nil {
		return Result{}, err
	}
	recording, err := a.record(o)
	if err != nil {
		return Result{}, err
	}
	s, err := e.Start(ctx, engine.Run{ID: o.ID, Inputs: inputs, Context: shown, After: before.Earlier})
	if err != nil {
		if recording != nil {
			err = errors.Join(err, recording.Close(), os.Remove(a.opts.Record))
		}
		return Result{}, err
	}
	r := &run{agent: a, session: s, purse: purse, talk: before.talk, recording: recording}
	err = r.whole(ctx, s.Inputs(), own, o.inspect)
	if recording != nil {
		err = errors.Join(err, recording.Close())
	}
	return r.out, err
}

// own is the label of what the agent's file says.
func (a *Agent) own() label.Label {
	return label.New(label.User, label.Public(), nil, label.Source{Tool: "agent", Of: a.Spec.Meta.Name})
}

func (a *Agent) engine(purse *wallet) (*engine.Engine, error) {
	isolation, err := a.isolation()
	if err != nil {
		return nil, err
	}
	provider := ""
	if m, ok := a.model.(*model.Remote); ok { // one that plays a recording shows nothing to anybody
		provider = m.Provider()
	}
	return engine.New(engine.Config{
		Isolation: isolation, Provider: provider,
		Agent: a.Spec.Meta.Name, Digest: a.Spec.Digest, Mode: a.Spec.Mode, Principal: a.principal, From: a.opts.From,
		Tools: a.tools, Beneath: a.under(), Known: a.known, PDP: a.decider(), Store: purse.journal(a.opts.Store), Approver: a.opts.Approver, Clock: a.opts.Clock,
		Limits: Limits(a.Spec.Limits), Meter: Meter(a.Spec), Reveal: a.Spec.Observe == "reveal" || a.Spec.Observe == "policy",
		Watch: a.opts.Watch, Spent: purse.again,
	})
}

// isolation is where the agent's programs run: at least what its file asks for.
func (a *Agent) isolation() (engine.Isolation, error) {
	isolation := a.opts.Isolation
	if a.Spec.Isolation != "" {
		least, err := gate.ParseTier(a.Spec.Isolation)
		if err != nil {
			return isolation, err
		}
		isolation.Least = max(isolation.Least, least)
	}
	return isolation, nil
}

// whole takes a run from its beginning to its end.
func (r *run) whole(ctx context.Context, inputs []journal.Input, own label.Label, inspect func(*engine.Session)) error {
	s := r.session
	defer s.Close() // what was not given up by its end expires
	r.out.Run = s.ID()
	ctx = r.purse.within(ctx)
	var err error
	if r.agent.model == nil {
		err = r.program(ctx, own)
	} else {
		err = r.loop(ctx, inputs)
	}
	r.out.Spent = r.purse.Spent()
	if bad := r.purse.asked.unanswered(); bad != nil && r.out.Model == nil {
		r.out.Model = bad
	}
	r.out.Counts, r.out.Waiting = s.Gate().Counts(), append(s.Gate().Waiting(), r.purse.waits.all()...)
	if err != nil {
		r.out.Status, r.out.Reason = engine.Failed, err.Error()
	}
	if r.out.Status == engine.Failed && ctx.Err() != nil && s.Err() == nil {
		r.out.Status, r.out.Reason, r.out.Model, err = engine.Cancelled, "cancelled", nil, nil
	}
	if r.out.Answer != nil && r.out.Status != engine.Done {
		r.out.Answer = nil
	}
	if inspect != nil {
		inspect(s)
	}
	ended := s.End(ctx, engine.Ending{Status: r.out.Status, Answer: r.out.Answer, Reason: r.out.Reason})
	return cmp.Or(err, ended) // a journal that failed fails again
}

// Meter returns how many bits the endorsements and refusals of an agent's session may reveal.
func Meter(a *spec.Agent) int {
	if a.Meter == 0 {
		return 256
	}
	return a.Meter
}

// Limits returns the budgets that an agent declares, in the evaluator's terms.
func Limits(l spec.Limits) eval.Limits {
	return eval.Limits{Steps: l.Steps, Memory: l.Memory, Wall: l.Wall, Calls: l.Calls, Depth: l.Depth, Output: l.Output}
}

// inputs labels what the run is given, and says which of it a person typed.
func (a *Agent) inputs(o RunOptions, before earlier) (out []journal.Input, err error) {
	var bad []string
	declared := map[string]bool{}
	for _, in := range a.Spec.Inputs {
		declared[in.Name] = true
		text, given := o.Inputs[in.Name]
		if in.Name == "task" && o.Task != "" {
			text, given = o.Task, true
		}
		byPerson := given
		switch {
		case given:
		case before.Earlier != nil && in.Name == "task" && a.model != nil:
			bad = append(bad, `input "task": got nothing, want what to do next: --task …`)
			continue
		case before.has(in.Name):
			continue
		case in.Default != nil:
			text, given = *in.Default, true
		}
		if !given {
			bad = append(bad, fmt.Sprintf("input %q: got nothing, want a value: --input %s=…", in.Name, in.Name))
			continue
		}
		v := value.StringOf(text, in.For(a.principal.Sub).WithSources(label.Source{Tool: "input", Of: in.Name}))
		typed := byPerson && v.Label.Trust() >= label.User // a default is what the agent's file says
		out = append(out, journal.Input{Name: in.Name, Value: v, Typed: typed})
	}
	for name := range o.Inputs {
		if !declared[name] {
			bad = append(bad, fmt.Sprintf("input %q: the agent has none of that name", name))
		}
	}
	if o.Task != "" && !declared["task"] {
		bad = append(bad, `input "task": the agent has none of that name`)
	}
	if len(bad) > 0 {
		sort.Strings(bad)
		return nil, &InputError{bad}
	}
	return out, nil
}

// run is one run in progress.
type run struct {
	agent   *Agent
	session *engine.Session
	purse   *wallet
	talk    []model.Message // what the model was told and has replied
	inPlay  label.Label     // of everything that could decide how the model's programs go
	out     Result

	recording *model.Recording // nil: none is made
}

// program runs the agent's own program, which a person wrote: as it was, if the run is gone over again.
func (r *run) program(ctx context.Context, author label.Label) error {
	p := engine.Program{File: r.agent.Spec.Program, Text: r.agent.program, Author: author}
	was, again, err := r.session.Turn()
	if err != nil {
		return err
	}
	if again {
		p = engine.Program{File: was.File, Text: was.Program, Author: was.Author}
	}
	out, err := r.session.Exec(ctx, p)
	if err != nil {
		return err
	}
	r.ended(out)
	return nil
}

// ended takes over how a program ended.
func (r *run) ended(out eval.Outcome) {
	r.out.Turns++
	r.out.Last = out
	r.out.Status = engine.StatusOf(out.Status)
	r.out.Reason = ""
	if out.Err != nil {
		r.out.Reason = out.Err.Public()
	}
	if out.Answer != nil {
		r.out.Answer = out.Answer
	}
}

// syntaxProblems are the errors of a program's text as problems of a file.
func syntaxProblems(file string, err error) []spec.Problem {
	if err == nil {
		return nil
	}
	list, ok := errors.AsType[syntax.Errors](err)
	if !ok {
		return []spec.Problem{{Pos: spec.Position{File: file}, Text: err.Error()}}
	}
	var out []spec.Problem
	for _, e := range list {
		out = append(out, spec.Problem{Pos: spec.Position{File: e.File, Line: e.Line, Column: e.Column}, Text: e.Message, Hint: e.Hint})
	}
	return slices.Clip(out)
}
