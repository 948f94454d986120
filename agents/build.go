package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"callgate/agents/model"
	"callgate/builtins"
	"callgate/builtins/std"
	"callgate/engine"
	"callgate/engine/eval"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/syntax"
	"callgate/engine/value"
	"callgate/policies"
	"callgate/policies/root"
	"callgate/spec"
)

// Options are what the host of an agent chooses. The zero Options run it without a state folder, with
// a journal in memory, and with nobody who approves.
type Options struct {
	State    string // folder for what tools write; "" means that tools which need one are refused
	Journal  string // file of the journal, which no tool reaches; "" means that there is none
	Store    journal.Store
	From     *journal.Origin // where the agent's files are, for who goes on with a run; nil: nobody can find them
	Approver gate.Approver
	Clock    func() time.Time
	Watch    func(journal.Event)

	// Tools are the host's own, which agents' files use by name, or in groups: "stock.level", "stock". They go before those of
	// package std.
	Tools []*builtins.Tool

	// Model writes the programs in place of the one that the agent's file names. nil: that one.
	Model model.Model

	// Ask answers the questions of programs, which llm.ask puts, in place of the model that the agent's file names. nil: that one.
	Ask model.Model

	stubbed bool // no model is asked: tools are not run

	// Progress is called while a model's reply arrives, which a person may want to see. What has arrived is a text of the label. nil: nobody is told.
	Progress func(Progress)

	// Record is a file that is not there yet, into which a run writes what its model is shown and what it answers; see [model.Recording]. No tool
	// reaches it. "": nothing is recorded.
	Record string

	// Isolation is where programs run. The least that an agent's file asks for is added to it.
	Isolation engine.Isolation

	// Reread reads the files of the agent again, as they were read for [Build]. While the agent runs its policies are then those that
	// the files hold when a call is made. nil: they stay as they are.
	Reread func() (*spec.Project, []spec.Problem)

	// Told is called with what is wrong with policies that were read again; without a problem that is [spec.Fatal] they
	// are in use. nil: nobody is told.
	Told func([]spec.Problem)
}

// Agent is an agent ready to run: its tools are open. Close it.
type Agent struct {
	Spec *spec.Agent
	Root *root.Root // the policies bound to it

	tools     *builtins.Set
	index     *index  // of the tools, where the prompt does not show them all; else nil
	places    []reach // of the tools
	known     []string
	model     model.Model
	remote    []*model.Remote // all that are served over the network, those that tools ask too
	program   string          // text of main.star, in mode program
	principal policies.Principal
	pdp       policies.PDP // in place of Root; nil: Root
	opts      Options
	closers   []func() error

	beneath  []*builtins.Tool // granted to the agents that it calls alone
	children []*child
	within   *within // of the agent that calls it; nil: nobody does
}

// Build makes an agent of the files that describe it. Everything that is wrong with them is
// returned at once, warnings included; with a problem that is [spec.Fatal] the agent is nil.
func Build(ctx context.Context, p *spec.Project, o Options) (*Agent, []spec.Problem) {
	return build(ctx, p, o, nil)
}

// build makes an agent, perhaps one that another one calls.
func build(ctx context.Context, p *spec.Project, o Options, in *within) (*Agent, []spec.Problem) {
	if p.Agent == nil {
		return nil, nil // the load has said why
	}
	a := &Agent{Spec: p.Agent, tools: new(builtins.Set), opts: o, within: in}
	if p.Host != nil {
		a.principal = policies.Principal(p.Host.Principal)
	}
	problems := a.bounded(p)
	granted := a.grant(ctx, p)
	problems = append(problems, granted...)
	if in == nil {
		problems = append(problems, hosted(p)...)
	}
	if err := a.indexTools(); err != nil {
		problems = append(problems, spec.Problem{Pos: p.Agent.Meta.Pos, Text: err.Error()})
	}
	problems = append(problems, a.checkInputs()...)
	problems = append(problems, a.author(spec.Fatal(granted))...)
	schemas := engine.Schemas(a.everything())
	bound, more := root.Load(ctx, root.Config{Host: p.Host, Agent: a.Spec.Meta.Name, Policies: p.Policies, Tools: schemas})
	problems = append(problems, more...)
	a.Root = bound
	if !spec.Fatal(problems) && in == nil {
		problems = append(problems, a.shared(p, a.places)...)
	}
	if spec.Fatal(problems) {
		a.Close()
		return nil, spec.SortProblems(problems)
	}
	switch {
	case in != nil:
		a.pdp = in.agent.decidedToo(bound)
	case o.Reread != nil:
		a.pdp = watch(p, bound, schemas, o)
	}
	return a, spec.SortProblems(problems)
}

// hosted warns of what an agent lacks without a host who binds policies, and on whose behalf it would run.
func hosted(p *spec.Project) []spec.Problem {
	bound := slices.ContainsFunc(p.Policies, func(q *spec.Policy) bool { return !q.Own })
	private := len(p.Tools) > 0 || slices.ContainsFunc(p.Agent.Inputs, func(in spec.Input) bool { return in.Private })
	switch {
	case p.Host == nil && !bound:
		return []spec.Problem{{Pos: p.Agent.Meta.Pos, Warn: true, Text: "no policies are bound to this agent: every call will be denied",
			Hint: "put a " + spec.HostFile + " beside it or above it, with library: [base] to begin with"}}
	case p.Host != nil && p.Host.Principal.Sub == "" && private:
		return []spec.Problem{{Pos: p.Host.Meta.Pos, Warn: true, Text: "no principal: what tools read is for nobody, and no answer can be given",
			Hint: "write principal: {sub: you@corp.example}"}}
	}
	return nil
}

// grant opens the tools that the agent uses.
func (a *Agent) grant(ctx context.Context, p *spec.Project) (problems []spec.Problem) {
	granted := map[string]spec.Position{}
	var places []reach
	for _, u := range p.Tools {
		if u.Name == spec.UseAgent {
			continue
		}
		tools, reaches, wrong := a.open(ctx, u)
		places, problems = append(places, reaches...), append(problems, wrong...)
		for _, t := range tools {
			if at, ok := granted[t.Name]; ok {
				problems = append(problems, spec.Problem{Pos: u.Pos, Text: fmt.Sprintf("tool %q: granted twice, first at %s", t.Name, at)})
				continue
			}
			granted[t.Name] = u.Pos
			problems = append(problems, declare(t, p.Declare)...)
			set := a.tools
			if u.Beneath {
				set = new(builtins.Set)
				a.beneath = append(a.beneath, t)
			}
			if err := set.Add(t); err != nil {
				problems = append(problems, spec.Problem{Pos: u.Pos, Text: err.Error()})
			}
			if a.within != nil {
				continue // whoever calls it was warned
			}
			for _, w := range t.Check() {
				problems = append(problems, spec.Problem{Pos: u.Pos, Text: w, Warn: true})
			}
		}
	}
	problems = append(problems, callable(granted)...)
	problems = append(problems, a.openAgents(ctx, p)...)
	problems = append(problems, a.apart(p, places)...)
	a.places = places
	for _, d := range p.Declare {
		if _, ok := granted[d.Tool]; !ok {
			problems = append(problems, spec.Problem{Pos: d.Pos, Text: fmt.Sprintf("tool %q: declared, and not granted", d.Tool)})
		}
	}
	for _, n := range a.names() {
		if strings.Contains(n, ".") && a.tools.Lookup(n) == nil {
			a.known = append(a.known, n)
		}
	}
	return problems
}

// words are names that a program could write if none were a word of the language. Servers have others for their tools.
var words = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)

// callable reports tools that no program could call by their names, or that would keep one from something else.
func callable(granted map[string]spec.Position) (problems []spec.Problem) {
	known := eval.Universe()
	for name, pos := range granted {
		fail := func(format string, args ...any) {
			problems = append(problems, spec.Problem{Pos: pos, Text: fmt.Sprintf("tool %q: ", name) + fmt.Sprintf(format, args...), Hint: "give it another name"})
		}
		first, _, _ := strings.Cut(name, ".")
		if _, err := syntax.Parse("", []byte(name+"()\n"), syntax.Limits{}); err != nil && words.MatchString(name) {
			fail("a word of the language cannot be a name")
		} else if slices.Contains(known, first) {
			fail("the language has the name %s", first)
		}
		for i, r := range name {
			if at, ok := granted[name[:i]]; r == '.' && ok {
				fail("there is a tool %q, at %s, and a tool holds no others", name[:i], at)
			}
		}
	}
	return problems
}

// names are those that an agent's file can use.
func (a *Agent) names() []string {
	out := append(std.Names(), spec.UseLLM, askTool, spec.UseAgent)
	for _, t := range a.opts.Tools {
		out = append(out, t.Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// open makes the tools that a use names: those of Options.Tools by that name or in that group, or else a toolset of
// package std or one tool of it.
func (a *Agent) open(ctx context.Context, u spec.Use) (tools []*builtins.Tool, places []reach, problems []spec.Problem) {
	fail := func(hint, format string, args ...any) {
		problems = append(problems, spec.Problem{Pos: u.Pos, Text: fmt.Sprintf(format, args...), Hint: hint})
	}
	if a.within != nil {
		tools, problems = a.inherit(u)
		return tools, nil, problems
	}
	if u.MCP != nil || u.Script != "" {
		fail("use a toolset of this program: "+strings.Join(std.Names(), ", "), "tools from MCP servers and scripts cannot be used yet")
		return nil, nil, problems
	}
	for _, t := range a.opts.Tools {
		if t.Name == u.Name || strings.HasPrefix(t.Name, u.Name+".") {
			tools = append(tools, t.Clone())
		}
	}
	if tools != nil {
		for name, o := range u.Options {
			problems = append(problems, spec.Problem{Pos: o.Key, Text: fmt.Sprintf("%s: option %s: unknown", u.Name, name), Hint: "it has no options"})
		}
		return tools, nil, problems
	}
	if u.Name == spec.UseLLM {
		t, problems := a.openAsker(u)
		if t == nil {
			return nil, nil, problems
		}
		return []*builtins.Tool{t}, nil, problems
	}
	f := std.Lookup(u.Name)
	if f == nil {
		hint := "there are " + strings.Join(a.names(), ", ")
		if n := spec.Nearest(u.Name, a.names()); n != "" {
			hint = fmt.Sprintf("did you mean %q?", n)
		}
		fail(hint, "unknown tool %q", u.Name)
		return nil, nil, problems
	}
	options := map[string]any{}
	for name, o := range u.Options {
		options[name] = o.Value
	}
	set, err := f.Build(ctx, std.Env{Dir: u.Dir, State: a.opts.State, Principal: a.principal.Sub}, options)
	if err != nil {
		return nil, nil, optionProblems(u, err)
	}
	a.closers = append(a.closers, set.Close)
	return set.Tools, reached(u, set.Places), nil
}

// optionProblems places what is wrong with options where they were written.
func optionProblems(u spec.Use, err error) []spec.Problem {
	bad, ok := errors.AsType[*std.OptionsError](err)
	if !ok {
		return []spec.Problem{{Pos: u.Pos, Text: u.Name + ": " + err.Error()}}
	}
	var out []spec.Problem
	for _, b := range bad.Problems {
		p := spec.Problem{Pos: u.Pos, Text: bad.Use + ": " + b.Text, Hint: b.Hint}
		if o, ok := u.Options[b.Option]; ok {
			p.Pos = o.Pos
		}
		if b.Option != "" {
			p.Text = bad.Use + ": option " + b.Option + ": " + b.Text
		}
		out = append(out, p)
	}
	return out
}

// declare takes over what toolsets say of a tool, and reports what they cannot.
func declare(t *builtins.Tool, all []spec.Declaration) (problems []spec.Problem) {
	for _, d := range all {
		if d.Tool != t.Name {
			continue
		}
		said := builtins.Declaration{Class: d.Label, Of: d.Of, Structure: d.Structure, Idempotent: d.Idempotent, Timeout: d.Timeout}
		if d.Effects != nil {
			if e, err := builtins.ParseEffects(d.Effects); err == nil { // the load has checked the names
				said.Effects = &e
			}
		}
		for _, s := range d.Sinks {
			if said.Sinks == nil {
				said.Sinks = map[string]string{}
			}
			said.Sinks[s.Path] = s.Sink
		}
		for _, f := range d.Fields {
			said.Fields = append(said.Fields, builtins.FieldSource{Path: f.Path, Class: f.Label})
		}
		for _, why := range t.Declare(said) {
			problems = append(problems, spec.Problem{Pos: d.Pos, Text: "declare: " + why, Hint: "what a tool says of itself can only be made stricter"})
		}
	}
	return problems
}

// author opens the model, or reads the program. Lacking says that tools are missing that the agent should have.
func (a *Agent) author(lacking bool) []spec.Problem {
	if a.Spec.Model == nil {
		if a.Spec.Program == "" {
			return nil // the load has said so
		}
		b, err := os.ReadFile(a.Spec.Program)
		if err != nil {
			return []spec.Problem{{Pos: a.Spec.Meta.Pos, Text: err.Error()}}
		}
		a.program = string(b)
		return a.checkProgram(lacking)
	}
	m := a.Spec.Model
	if a.opts.Model != nil {
		a.model = a.opts.Model
		return nil
	}
	opened, problems := a.openModel(m)
	a.model = opened
	return problems
}

// openModel makes a model of what a file says of it; nil, and why, if there is none.
func (a *Agent) openModel(m *spec.Model) (model.Model, []spec.Problem) {
	if m.Provider != "recorded" {
		return a.serve(m)
	}
	r, bad := model.LoadRecording(m.Recording)
	if bad != nil {
		return nil, recordingProblems(bad)
	}
	return r, nil
}

// serve sets up a model that is served over the network. Nothing is asked of it yet, and its key is not read.
func (a *Agent) serve(m *spec.Model) (model.Model, []spec.Problem) {
	if a.Spec.Limits.Money > 0 && m.Price == nil {
		return nil, []spec.Problem{{Pos: m.Pos, Text: "limits.money: nothing says what a token costs", Hint: "write price: {in: 3, out: 15}: what a million tokens cost"}}
	}
	cfg := model.Config{
		Provider: m.Provider, Name: m.Name, BaseURL: m.BaseURL, Insecure: m.Insecure, MaxTokens: m.MaxTokens, Timeout: m.Timeout,
		Key: model.KeySource{Env: m.Key.Env, File: m.Key.File, Keyring: m.Key.Keyring},
	}
	if p := m.Price; p != nil {
		cfg.Price = model.Price{
			In: model.Money(p.In), Out: model.Money(p.Out), Cached: model.Money(cmp.Or(p.Cached, p.In)), Written: model.Money(cmp.Or(p.Written, p.In+p.In/4)),
		}
	}
	remote, err := model.New(cfg)
	if err != nil {
		return nil, []spec.Problem{{Pos: m.Pos, Text: "model: " + err.Error()}}
	}
	a.remote, a.closers = append(a.remote, remote), append(a.closers, remote.Close)
	return remote, nil
}

// checkInputs reports inputs whose names programs have for something else.
func (a *Agent) checkInputs() (problems []spec.Problem) {
	tools := engine.Signatures(a.tools)
	for _, in := range a.Spec.Inputs {
		placeholder := eval.Input{Name: in.Name, Value: value.StringOf("", label.Top())}
		if _, err := eval.NewSession(eval.Config{Tools: tools, Inputs: []eval.Input{placeholder}}); err != nil {
			problems = append(problems, spec.Problem{Pos: cmp.Or(in.Pos, a.Spec.Meta.Pos), Text: err.Error(), Hint: "give it another name"})
		}
	}
	return problems
}

// checkProgram compiles the agent's program as a session would. Where tools are lacking, a name that is unknown may be one of theirs.
func (a *Agent) checkProgram(lacking bool) []spec.Problem {
	s, err := eval.NewSession(eval.Config{Tools: engine.Signatures(a.tools), Inputs: a.placeholders()})
	if err != nil {
		return nil // the inputs have said why
	}
	env := s.Env()
	if known := eval.Universe(); lacking {
		env.Predeclared = func(name string) bool { return !slices.Contains(known, name) }
	}
	return CheckProgram(a.Spec.Program, a.program, env)
}

// CheckProgram returns everything that is wrong with the text of a program.
func CheckProgram(file, text string, env eval.Env) []spec.Problem {
	_, err := eval.Compile(file, []byte(text), env)
	return syntaxProblems(file, err)
}

// placeholders stand for the inputs of a run.
func (a *Agent) placeholders() []eval.Input {
	var out []eval.Input
	seen := map[string]bool{} // the load has reported one that is there twice
	for _, in := range a.Spec.Inputs {
		if seen[in.Name] {
			continue
		}
		seen[in.Name] = true
		out = append(out, eval.Input{Name: in.Name, Value: value.StringOf("", label.Top())})
	}
	return out
}

func (a *Agent) decider() policies.PDP {
	if a.pdp != nil {
		return a.pdp
	}
	return a.Root
}

// Tools returns the tools granted to the agent.
func (a *Agent) Tools() *builtins.Set { return a.tools }

// Close gives back what the tools hold.
func (a *Agent) Close() error {
	var errs []error
	for _, c := range a.closers {
		errs = append(errs, c())
	}
	a.closers = nil
	return errors.Join(errs...)
}
