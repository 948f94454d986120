package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"callgate/builtins"
	"callgate/engine/eval"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/engine/worker"
)

// Again says how a run is gone over again.
type Again struct {
	Run     string
	By      string // who does it
	Process string // in which process, in words

	// Secret are the inputs that the journal does not hold because they are secret, by name.
	Secret map[string]string

	// Accept is asked whether to go on although something is not as it was when the run began; an error is why not. nil: not
	// if any of it matters.
	Accept func([]Change) error

	// Within is the call that the run is a part of; nil: none. A run that is a part of another one is gone on with by that one, and not by itself.
	Within *builtins.Caller

	// Only is for looking: what is recorded is compared, nothing is stored, and nothing has an effect; see [journal.Retracing].
	Only bool

	// Base is Only for a run that another one goes on from: it has ended for good, and has to be met as it is recorded. See [Session.Keep].
	Base bool

	// After is where the run had begun, if that was where an earlier run of its session had ended; see [Engine.Before].
	After *Earlier
}

// Change is something that is not as it was when a run began.
type Change struct {
	Text    string // what, in words
	Matters bool   // programs may do something else because of it; else it holds only for calls that are yet to be decided
	Never   bool   // no other run goes on from that one with it: names and labels were made for somebody, or something, else
}

// ChangedError says that a run was not gone on with because of what has changed since it began.
type ChangedError struct {
	Run     string
	Changes []Change
}

func (e *ChangedError) Error() string {
	text := "engine: run " + e.Run + ": since it began "
	for i, c := range e.Changes {
		if i > 0 {
			text += "; "
		}
		text += c.Text
	}
	return text
}

// Resume goes on with a run whose process ended, or that waits for somebody. The session is at its beginning: the same programs are to be
// run again, and do again what they did, with what the journal has in place of tools, policies and people, up to where the journal ends; from there
// on they are live. Limits, inputs and the label of what the model was shown first are those of the run's beginning.
//
// Errors, besides those of [journal.Retrace]: a [*ChangedError]; and what of the inputs is missing.
func (e *Engine) Resume(ctx context.Context, a Again) (_ *Session, err error) {
	how := journal.Retracing{By: a.By, Process: a.Process, Only: a.Only, Base: a.Base}
	run, header, err := journal.Retrace(ctx, e.cfg.Store, a.Run, how, journal.Options{Now: e.cfg.Clock, Who: a.By})
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	defer func() {
		if err != nil {
			run.Close()
		}
	}()
	if err := belongs(a, header.Parent); err != nil {
		return nil, err
	}
	if err := e.accept(run, header, a); err != nil {
		return nil, err
	}
	if err := follows(run, header, a); err != nil {
		return nil, err
	}
	b := begun{
		revision: header.Revision, inputs: slices.Clone(header.Inputs), shown: label.Top(), meter: int(header.Limits["meter"]), after: a.After, within: a.Within,
		most: header.Limits["all_steps"], // what was left when it began: those beside it may have used more since, as they did not then
		limits: eval.Limits{
			Steps: header.Limits["steps"], Memory: header.Limits["memory"], Wall: time.Duration(header.Limits["wall_ms"]) * time.Millisecond,
			Calls: int(header.Limits["calls"]), Depth: int(header.Limits["depth"]), Output: header.Limits["output"],
		},
	}
	for i, in := range b.inputs {
		if !journal.Masked(in.Value) {
			continue
		}
		text, given := a.Secret[in.Name]
		if !given {
			return nil, fmt.Errorf("engine: run %s: input %q is secret, and the journal does not hold it: give it again", a.Run, in.Name)
		}
		b.inputs[i].Value = value.StringOf(text, in.Value.Label)
	}
	if header.Context != nil {
		b.shown = *header.Context
	}
	return e.session(ctx, run, b)
}

// ParentError says that a run is a part of another one, with which it is gone on.
type ParentError struct {
	Run    string
	Parent journal.Parent
}

func (e *ParentError) Error() string {
	return fmt.Sprintf("engine: run %s: it is of an agent that call %s of run %s called: go on with run %s", e.Run, e.Parent.Call, e.Parent.Run, e.Parent.Root)
}

// belongs refuses to go over a run otherwise than it began: by itself, or as a part of a call.
func belongs(a Again, p *journal.Parent) error {
	switch c := a.Within; {
	case c == nil && p != nil:
		return &ParentError{a.Run, *p}
	case c != nil && (p == nil || p.Run != c.Run || p.Call != c.Call || p.Root != c.Root):
		return fmt.Errorf("engine: run %s: it is not of the agent that call %s of run %s called", a.Run, c.Call, c.Run)
	}
	return nil
}

// accept finds out what has changed since the run began, and whether that may be.
func (e *Engine) accept(run *journal.Run, was journal.RunStarted, a Again) error {
	if err := e.speaks(a.Run, was); err != nil {
		return err
	}
	changes := e.changes(was)
	for _, c := range changes {
		run.Changed(c.Text)
	}
	if len(changes) == 0 || a.Only || a.Base {
		return nil
	}
	if a.Accept != nil {
		return a.Accept(changes)
	}
	if matters := slices.DeleteFunc(changes, func(c Change) bool { return !c.Matters }); len(matters) > 0 {
		return &ChangedError{a.Run, matters}
	}
	return nil
}

// speaks finds out whether the programs of a run can be run again.
func (e *Engine) speaks(run string, was journal.RunStarted) error {
	if was.Schemas == nil && len(was.Tools) > 0 {
		return fmt.Errorf("engine: run %s was begun by a version that did not record what is needed to go on with it: run it anew", run)
	}
	if was.Language != eval.Language {
		return &ChangedError{run, []Change{{Text: fmt.Sprintf("the language has become %s, from %s: its programs cannot be run again; run the agent anew", eval.Language, was.Language), Matters: true, Never: true}}}
	}
	return nil
}

// changes compares the engine with the header of a run.
func (e *Engine) changes(was journal.RunStarted) (out []Change) {
	add := func(matters bool, format string, args ...any) {
		out = append(out, Change{Text: fmt.Sprintf(format, args...), Matters: matters})
	}
	if e.cfg.Agent != was.Agent {
		add(true, "the agent is %s, and was %s", e.cfg.Agent, was.Agent)
		out[len(out)-1].Never = true
	}
	if e.cfg.Digest != was.Digest {
		add(true, "the agent's file has changed")
	}
	if e.cfg.Mode != was.Mode {
		add(true, "the mode is %s, and was %s", e.cfg.Mode, was.Mode)
		out[len(out)-1].Never = true
	}
	if e.cfg.Principal.Sub != was.Principal.Sub || !slices.Equal(e.cfg.Principal.Groups, was.Principal.Groups) {
		add(true, "it would act for %s, and acted for %s", person(e.cfg.Principal.Sub), person(was.Principal.Sub))
		out[len(out)-1].Never = true
	}
	names := maps.Clone(was.Schemas)
	maps.Copy(names, e.schemas)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		before, had := was.Schemas[name]
		now, has := e.schemas[name]
		switch {
		case !has:
			add(true, "the tool %s is gone", name)
		case !had:
			add(true, "the tool %s is new", name)
		case before != now:
			add(true, "the tool %s has changed: its parameters, effects or labels", name)
		}
	}
	if e.cfg.PDP.Revision() != was.Revision {
		add(false, "the policies have changed: the new ones decide from here on")
	}
	return out
}

func person(sub string) string {
	if sub == "" {
		return "nobody"
	}
	return sub
}

// declared returns a digest of what a tool declares: all that decisions and programs depend on, the words for the model aside.
func declared(t *builtins.Tool) (string, error) {
	type param struct {
		Name     string
		Schema   json.RawMessage
		Required bool
		Sink     string
		Sinks    map[string]string
	}
	type field struct {
		Path  string
		Class label.Label
	}
	type special struct {
		When  string
		Class label.Label
	}
	all := struct {
		Name                string
		Params              []param
		Returns             json.RawMessage
		Effects             []string
		Class               label.Label
		Of                  string
		Fields              []field
		Cases               []special `json:",omitempty"`
		Structure           *label.Label
		State               *builtins.State
		Derives, Idempotent bool
		Asks                string   `json:",omitempty"`
		Widens              []string `json:",omitempty"`
	}{
		Name: t.Name, Returns: t.Returns, Effects: t.Effects.Names(), Class: t.Label.Class.WithoutSources(), Of: t.Label.Of, Structure: t.Label.Structure,
		State: t.State, Derives: t.Derives, Idempotent: t.Idempotent, Asks: t.Asks, Widens: t.Widens,
	}
	for _, p := range t.Params {
		all.Params = append(all.Params, param{p.Name, p.Schema, p.Required, p.Sink, p.Sinks})
	}
	for _, c := range t.Label.Cases {
		all.Cases = append(all.Cases, special{c.When, c.Class})
	}
	for _, f := range t.Label.Fields {
		all.Fields = append(all.Fields, field{f.Path, f.Class})
	}
	b, err := json.Marshal(all)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:16]), nil
}

// Inputs returns the inputs that programs of the session can name, those that are secret too.
func (s *Session) Inputs() []journal.Input { return s.given }

// Compared returns how many events of a run that is gone over again have been met, of how many, and what differed.
func (s *Session) Compared() (met, all int, differences []journal.Difference) {
	met, all = s.run.Gone()
	return met, all, s.run.Differences()
}

// past returns what is recorded of how the program that is about to begin ended before. lost is that it lost the worker that ran it: then it did not look at clock or
// cancellation when one of them ended it either.
func (s *Session) past() (past eval.Past, lost *journal.ProgramEnded, err error) {
	past.Live = s.run.Live()
	e, ok := s.run.Next("", 0)
	if !ok || e.Type != journal.ProgramEnd {
		return past, nil, nil
	}
	end, err := journal.Decode[journal.ProgramEnded](e)
	past.Looks, past.Wall = end.Looks, end.Code == "limit.wall"
	if end.Looks == 0 && end.CutShort() {
		lost = &end
	}
	return past, lost, err
}

// lose ends a program, once it has met what is recorded of its calls, as it is recorded: where it was when its worker was lost, nobody knows. The session has lost it too.
func (s *Session) lose(file string, end journal.ProgramEnded) eval.Outcome {
	e := &eval.Error{Status: eval.Status(end.Status), Code: end.Code, Label: end.Label, Site: eval.Site{File: file, Line: 1, Column: 1}}
	e.Text = strings.TrimPrefix(end.Message, e.Where())
	gone := worker.Lost(s.eval.Account(), s.eval.Limits(), s.eval.Names(), end.Floor, end.Label, e.Text)
	s.eval.Close()
	s.eval = gone
	return eval.Outcome{Status: e.Status, Err: e, Floor: end.Floor, History: end.Floor, Calls: end.Calls}
}

// EndedError says how a run that is gone over again ended in place of a reply of its model.
type EndedError struct{ Status, Reason string }

func (e *EndedError) Error() string { return e.Reason }

// Turn returns the program that is recorded as the next turn, if the run is gone over again and has it. Its text is there unless it is secret.
func (s *Session) Turn() (t journal.TurnStarted, ok bool, err error) {
	e, ok := s.run.Next("", 0)
	if !ok || e.Type != journal.TurnStart {
		return t, false, nil
	}
	t, err = journal.Decode[journal.TurnStarted](e)
	if err == nil && t.Author.HasTag(journal.SecretTag) {
		err = fmt.Errorf("engine: run %s: the program of turn %d is secret, and the journal does not hold it: the run cannot be gone over", s.ID(), t.Turn)
	}
	return t, true, err
}

// Ended returns the end that is recorded next, if the run is gone over again and has it.
func (s *Session) Ended() (end journal.RunEnded, ok bool, err error) {
	e, ok := s.run.Next("", 0)
	if !ok || e.Type != journal.RunEnd {
		return end, false, nil
	}
	end, err = journal.Decode[journal.RunEnded](e)
	return end, err == nil, err
}

// Reply returns what the model answers that was shown what has the label: what is recorded, if the run is gone over again and has it, or else what
// generate returns, which is recorded. The error is generate's, or where that had failed an [*EndedError], unless [Session.Err] says that the run cannot go on.
func (s *Session) Reply(ctx context.Context, shown label.Label, generate func(context.Context) (journal.ModelReplied, error)) (journal.ModelReplied, error) {
	var r journal.ModelReplied
	var err error
	e, past := s.run.Next("", 0)
	switch {
	case past && e.Type == journal.ModelReply:
		if r, err = journal.Decode[journal.ModelReplied](e); err == nil && r.Context.HasTag(journal.SecretTag) {
			err = fmt.Errorf("engine: run %s: the model's reply of turn %d is secret, and the journal does not hold it: the run cannot be gone over", s.ID(), r.Turn)
		}
		if err != nil {
			s.run.Abandon(err)
			return r, err
		}
	case past && e.Type == journal.RunEnd:
		end, err := journal.Decode[journal.RunEnded](e) // it did not answer then
		return r, cmp.Or(err, error(&EndedError{end.Status, end.Reason}))
	default:
		if err := s.run.GoLive(); err != nil {
			return r, fmt.Errorf("engine: %w", err)
		}
		if r, err = generate(ctx); err != nil {
			return r, err
		}
	}
	r.Turn, r.Context = s.turn+1, shown
	if _, err := s.run.Append(ctx, journal.ModelReply, "", r, false); err != nil {
		return r, fmt.Errorf("engine: %w", err)
	}
	return r, nil
}
