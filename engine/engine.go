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
	"errors"
	"fmt"
	"time"

	"callgate/builtins"
	"callgate/engine/eval"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/policies"
)

// Config is what the programs of an engine can reach, and who decides. It is not changed after [New].
type Config struct {
	Agent     string          // its name; required
	Digest    string          // of the agent as it was loaded, for the journal
	Mode      string          // react, plan, program or repl; "" means program
	From      *journal.Origin // where the agent's files are, for who goes on with a run; nil: nowhere
	Principal policies.Principal

	Tools *builtins.Set // those granted; nil: none
	Known []string      // names of tools that exist and are not granted, so that a refusal can say so

	Beneath []*builtins.Tool // of the agents that the tools run: programs cannot call them, policies know of them

	PDP      policies.PDP  // nil: every call is denied
	Store    journal.Store // nil: in memory, gone with the engine; runs are encrypted if it has keys, see [journal.Keys]
	Approver gate.Approver // nil: a call that must be approved waits
	Clock    func() time.Time

	Limits   eval.Limits // zero fields: the defaults of eval
	Meter    int         // bits that endorsements, refusals and descriptions may reveal in a session; 0: none
	Provider string      // who runs the model that values are shown to, for policies; see [gate.Config]. "": nobody but the principal
	Reveal   bool        // values below trust internal may be shown to the model, if policy allows

	Isolation Isolation // where programs run; the zero Isolation is here

	// Spent is called with what models used that a tool asked, where its call is recorded and not made again. nil: nobody counts it.
	Spent func(tool string, s journal.Spent)

	// Watch is called with every event of every run, in order, once it is stored.
	Watch func(journal.Event)
}

// Engine makes sessions. It is safe for concurrent use.
type Engine struct {
	cfg     Config
	sigs    []eval.ToolSig
	schemas map[string]string // per tool, a digest of what is declared of it
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
	e := &Engine{cfg: cfg, sigs: Signatures(cfg.Tools), schemas: map[string]string{}}
	for _, t := range cfg.Tools.All() {
		digest, err := declared(t)
		if err != nil {
			return nil, fmt.Errorf("engine: tool %s: %w", t.Name, err)
		}
		e.schemas[t.Name] = digest
	}
	return e, nil
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

// Schemas returns what policies need to know of tools: rules are checked against it when they are loaded. To policies, a tool that asks a model is
// the crossing model, which is not among them.
func Schemas(tools *builtins.Set) []policies.ToolSchema {
	out := []policies.ToolSchema{}
	for _, t := range tools.All() {
		if t.Asks != "" {
			continue
		}
		s := policies.ToolSchema{Name: t.Name, Effects: t.Effects.Names()}
		for _, p := range t.Params {
			s.Params = append(s.Params, policies.ParamSchema{Name: p.Name, Schema: p.Schema, Required: p.Required, Sink: p.Sink, Sinks: p.Sinks})
		}
		out = append(out, s)
	}
	return out
}
