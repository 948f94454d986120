package agents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/agents/model"
	"callgate/engine"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
	"callgate/policies/root"
	"callgate/spec"
)

// ScenarioOptions say how a scenario is run. The zero options are the usual ones.
type ScenarioOptions struct {
	// Policies is a file or folder of policies in place of those that the host's file names; "": those.
	Policies string

	// Asked is called for every request before it is decided, those that the gate answers from memory aside. nil: it is not.
	Asked func(context.Context, *root.Root, *policies.Request)
}

// ScenarioResult is what came of a scenario.
type ScenarioResult struct {
	Result
	Failures []spec.Problem // what differs from what was expected, at the place of the expectation; none: it passed
	Events   []journal.Event
	Rules    []policies.Rule // that were bound
}

// Scenario runs a scenario once, in a state of its own that is gone when it returns. Files that cannot be
// used, and expectations that nothing could ever meet, are problems; with one that is [spec.Fatal] nothing
// is run and the result is nil. Scenarios may run at the same time.
func Scenario(ctx context.Context, sc *spec.Scenario, o ScenarioOptions) (result *ScenarioResult, problems []spec.Problem) {
	fail := func(err error) (*ScenarioResult, []spec.Problem) {
		return nil, append(problems, spec.Problem{Pos: sc.Meta.Pos, Text: err.Error()})
	}
	state, err := os.MkdirTemp("", "callgate-scenario-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(state) // what a test leaves behind in the folder for temporary files is no result of it

	p, problems := spec.Load(sc.Agent.Path, o.Policies)
	if p.Agent == nil {
		return nil, problems
	}
	as(p, sc)
	s := &scenario{Scenario: sc, made: map[string]journal.DecisionMade{}, used: make([]int, len(sc.Stubs))}
	agent, more := Build(ctx, p, Options{
		State: state, stubbed: !sc.Real, Approver: s, Watch: s.event, Clock: func() time.Time { return sc.Time },
	})
	problems = append(problems, more...)
	if agent == nil {
		return nil, spec.SortProblems(problems)
	}
	defer func() {
		if err := agent.Close(); err != nil {
			problems = append(problems, spec.Problem{Pos: sc.Meta.Pos, Text: err.Error()})
		}
	}()
	problems = append(problems, s.check(agent, p)...)
	problems = append(problems, s.stub(agent)...)
	if spec.Fatal(problems) {
		return nil, spec.SortProblems(problems)
	}
	if o.Asked != nil {
		agent.pdp = &asked{agent.Root, o.Asked}
	}
	options := RunOptions{ID: sc.Meta.Name, Inputs: map[string]string{}, inspect: s.inspect}
	for _, in := range sc.Inputs {
		options.Inputs[in.Name] = in.Value
	}
	if sc.Program.Path != "" {
		options.Author = &sc.Author
	}
	out, err := agent.Run(ctx, options)
	if bad, ok := errors.AsType[*InputError](err); ok {
		for _, text := range bad.Problems {
			problems = append(problems, spec.Problem{Pos: sc.Meta.Pos, Text: text})
		}
		return nil, spec.SortProblems(problems)
	}
	if err != nil {
		return fail(err)
	}
	result = &ScenarioResult{Result: out, Events: s.events, Rules: agent.Root.Rules()}
	result.Failures, err = s.compare(out)
	if err != nil {
		return fail(err)
	}
	return result, spec.SortProblems(problems)
}

// as makes the agent of a project the one that a scenario runs.
func as(p *spec.Project, sc *spec.Scenario) {
	a := *p.Agent
	p.Agent = &a
	p.Tools = slices.Clone(p.Tools)
	for i := range p.Tools {
		if u := &p.Tools[i]; u.Name == spec.UseLLM && u.Model == nil && a.Model != nil && a.Model.Provider != "recorded" {
			u.Model = a.Model // the agent's own, whoever plays it
		}
	}
	if sc.Program.Path != "" {
		a.Model, a.Program, a.Mode = nil, sc.Program.Path, "program"
	} else {
		a.Model, a.Program = &spec.Model{Provider: "recorded", Recording: sc.Recording.Path, Pos: sc.Recording.Pos}, ""
		if a.Mode == "program" {
			a.Mode = "react"
		}
	}
	if sc.Principal != nil {
		h := spec.Host{Meta: sc.Meta}
		if p.Host != nil {
			h = *p.Host
		}
		h.Principal = *sc.Principal
		p.Host = &h
	}
}

// asked is a PDP that tells somebody what it is asked.
type asked struct {
	*root.Root
	tell func(context.Context, *root.Root, *policies.Request)
}

// Decide implements [policies.PDP].
func (a *asked) Decide(ctx context.Context, r *policies.Request) (policies.Decision, error) {
	a.tell(ctx, a.Root, r)
	return a.Root.Decide(ctx, r)
}

// scenario is one in progress.
type scenario struct {
	*spec.Scenario

	mu       sync.Mutex
	events   []journal.Event
	made     map[string]journal.DecisionMade // the last of each call
	used     []int                           // how many calls each stub has answered
	failures []spec.Problem
	labels   map[string]label.Label // of the variables that are expected; absent: there is none
	names    []string               // of the variables
}

// event takes note of what is recorded.
func (s *scenario) event(e journal.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
	if e.Type != journal.Decided {
		return
	}
	if d, err := journal.Decode[journal.DecisionMade](e); err == nil {
		s.made[e.Call] = d
	}
}

// inspect reads the labels of the session's variables before it ends.
func (s *scenario) inspect(session *engine.Session) {
	s.labels, s.names = map[string]label.Label{}, session.Names()
	for _, l := range s.Expect.Labels {
		if v, err := session.Get(l.Path); err == nil {
			s.labels[l.Path] = v.Deep()
		}
	}
}

// Approve implements [gate.Approver]: the asks of the rules that the scenario names are approved.
func (s *scenario) Approve(_ context.Context, q gate.Question) (gate.Verdict, error) {
	if slices.ContainsFunc(s.Scenario.Approve, func(rule string) bool { return named(rule, q.Approval.Ask) }) {
		return gate.Verdict{Outcome: gate.Approved, By: "scenario " + s.Meta.Name, Anybody: true}, nil
	}
	return gate.Verdict{Reason: "the scenario approves it not"}, nil
}

// named reports whether a rule's id is the one that is written, begins with it up to a dot, or matches it as a glob.
func named(written, id string) bool {
	if id == written || strings.HasPrefix(id, written+".") {
		return true
	}
	ok, err := path.Match(written, id)
	return ok && err == nil
}

// check returns what in the scenario nothing could meet: inputs, tools, parameters and rules that there are not.
func (s *scenario) check(a *Agent, p *spec.Project) (problems []spec.Problem) {
	fail := func(pos spec.Position, name string, known []string, format string, args ...any) {
		problem := spec.Problem{Pos: pos, Text: fmt.Sprintf(format, args...)}
		if near := spec.Nearest(name, known); near != "" {
			problem.Hint = fmt.Sprintf("did you mean %q?", near)
		}
		problems = append(problems, problem)
	}
	var inputs []string
	for _, in := range a.Spec.Inputs {
		inputs = append(inputs, in.Name)
	}
	for _, in := range s.Inputs {
		if !slices.Contains(inputs, in.Name) {
			fail(in.Pos, in.Name, inputs, "input %q: the agent has none of that name", in.Name)
		}
	}
	tools := a.tools.Names()
	tool := func(pos spec.Position, name string, args map[string]any, ungranted bool) {
		t := a.tools.Lookup(name)
		if t == nil {
			if !ungranted || !slices.Contains(a.known, name) {
				fail(pos, name, tools, "tool %q: the agent was not given it", name)
			}
			return
		}
		var params []string
		for _, p := range t.Params {
			params = append(params, p.Name)
		}
		for _, name := range sortedNames(args) {
			if !slices.Contains(params, name) {
				fail(pos, name, params, "%s: has no parameter %q", t.Name, name)
			}
		}
	}
	rules := s.ids(a, p)
	rule := func(pos spec.Position, written string) {
		if !slices.ContainsFunc(rules, func(id string) bool { return named(written, id) }) {
			fail(pos, written, rules, "rule %q: no policy has it", written)
		}
	}
	for _, st := range s.Stubs {
		tool(st.Pos, st.Tool, st.Args, false)
	}
	for _, e := range s.Expect.Effects {
		tool(e.Pos, e.Tool, e.Args, false)
	}
	for _, e := range s.Expect.Never {
		tool(e.Pos, e.Tool, nil, true)
	}
	for _, id := range s.Scenario.Approve {
		rule(s.Meta.Pos, id)
	}
	for _, c := range s.Expect.Calls {
		switch {
		case c.Kind == policies.KindTool:
			tool(c.Pos, c.Tool, c.Args, true)
		case c.Kind == policies.KindBuiltin:
			if c.Effect == policies.Allow.String() {
				fail(c.Pos, "", nil, "%s: a pure function that is allowed is not recorded", c.Tool)
			}
		case c.Tool != c.Kind && !(c.Kind == policies.KindEndorse && c.Tool == "choose"):
			fail(c.Pos, "", nil, "tool: got %q, want %q: a call of that kind is called so", c.Tool, c.Kind)
		}
		for _, id := range c.Rules {
			rule(c.Pos, id)
		}
	}
	return problems
}

// ids lists the ids that reasons can have: of the rules that are bound, of the limits that they set, and of those that are built in.
func (s *scenario) ids(a *Agent, p *spec.Project) []string {
	out := append(policies.BuiltIn(), gate.Reasons()...)
	for _, r := range a.Root.Rules() {
		id := r.ID
		if r.Action == "obligation" {
			_, id, _ = strings.Cut(r.ID, "/")
		}
		out = append(out, id, strings.ReplaceAll(r.Policy, "-", "_")+".error", strings.ReplaceAll(r.Policy, "-", "_")+".shape")
	}
	for _, q := range p.Policies {
		if q.CEL == nil {
			continue
		}
		for _, r := range q.CEL.Rules {
			for _, o := range r.Obligations {
				if id, ok := o["id"].(string); ok {
					out = append(out, id)
				}
			}
		}
	}
	return out
}

// modelFailure is what a recording that did not match has to say.
func modelFailure(r Result) (spec.Problem, bool) {
	bad, ok := errors.AsType[*model.RecordingError](r.Model)
	if !ok {
		return spec.Problem{}, false
	}
	return spec.Problem{Pos: spec.Position{File: bad.Path, Line: bad.Line, Column: min(bad.Line, 1)}, Text: bad.Text, Hint: bad.Hint}, true
}

// ToolSchemas returns what policies can know of the agent's tools.
func (a *Agent) ToolSchemas() []policies.ToolSchema { return engine.Schemas(a.tools) }

// brief shows a value in a message.
func brief(v any) string {
	out, err := value.Of(v, label.Bottom())
	if err != nil {
		return fmt.Sprint(v)
	}
	s := out.Text()
	if r := []rune(s); len(r) > 100 {
		s = string(r[:100]) + "…"
	}
	return s
}
