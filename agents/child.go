package agents

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/agents/model"
	"callgate/builtins"
	"callgate/engine"
	"callgate/engine/eval"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
	"callgate/spec"
)

const (
	maxAgents    = 4              // agents that call one another in turn, the first among them
	agentTimeout = 24 * time.Hour // of a call that runs one: the limit of the program that waits is less
	maxAgentDoc  = 400            // bytes of an agent's instructions that its callers are told
)

// child is an agent that another one calls as a tool. It has the tools of that one by name, acts for the same principal and is decided by
// the policies of both.
type child struct {
	*Agent
	project *spec.Project
	tool    *builtins.Tool
}

// within is what an agent that is called has of the one that calls it.
type within struct {
	agent *Agent
	chain []string // files of the agents that call one another, from the first, in their one form
}

// openAgents makes tools of the agents that an agent calls. Its other tools are open.
func (a *Agent) openAgents(ctx context.Context, p *spec.Project) (problems []spec.Problem) {
	for _, u := range p.Tools {
		if u.Name != spec.UseAgent {
			continue
		}
		c, wrong := a.openAgent(ctx, p, u)
		problems = append(problems, wrong...)
		if c == nil {
			continue
		}
		a.closers = append(a.closers, c.Close)
		if c.takes(a) {
			problems = append(problems, spec.Problem{Pos: u.Pos, Text: fmt.Sprintf("tool %q: granted twice", c.tool.Name), Hint: "an agent is a tool of its name: give one of them another"})
			continue
		}
		if err := a.tools.Add(c.tool); err != nil {
			problems = append(problems, spec.Problem{Pos: u.Pos, Text: err.Error()})
			continue
		}
		if _, err := eval.NewSession(eval.Config{Tools: engine.Signatures(a.tools)}); err != nil {
			problems = append(problems, spec.Problem{Pos: u.Pos, Text: err.Error(), Hint: "an agent is a tool of its name: give it another"})
		}
		a.children = append(a.children, c)
	}
	return problems
}

// takes reports whether the name of the child's tool is taken.
func (c *child) takes(a *Agent) bool { return a.tools.Lookup(c.tool.Name) != nil }

// openAgent loads and builds one agent that another one calls.
func (a *Agent) openAgent(ctx context.Context, p *spec.Project, u spec.Use) (*child, []spec.Problem) {
	fail := func(pos spec.Position, hint, format string, args ...any) (*child, []spec.Problem) {
		return nil, []spec.Problem{{Pos: pos, Text: u.Name + ": " + fmt.Sprintf(format, args...), Hint: hint}}
	}
	for name, o := range u.Options {
		if name != "file" {
			return fail(o.Key, "its one option is file", "option %s: unknown", name)
		}
	}
	if u.Agent == "" {
		return fail(u.Pos, "write file: ./other/agent.yaml beside it", "file: missing")
	}
	if _, err := os.Stat(u.Agent); err != nil {
		return nil, nil // the load has said so
	}
	cp, problems := spec.Load(u.Agent, "")
	if cp.Agent == nil {
		return nil, problems
	}
	chain := []string{real(a.Spec.File)}
	if a.within != nil {
		chain = append(slices.Clone(a.within.chain), chain...)
	}
	file := real(cp.Agent.File)
	switch at := u.Options["file"].Pos; {
	case slices.Contains(chain, file):
		return fail(at, "an agent is not called by itself, nor by one that it calls", "%s calls agents that call it", cp.Agent.File)
	case len(chain) >= maxAgents:
		return fail(at, "", "agents call one another more than %d deep", maxAgents)
	}
	own := func(q *spec.Policy) bool { return q.Own }
	cp.Host = p.Host
	cp.Policies = append(slices.DeleteFunc(slices.Clone(p.Policies), own), slices.DeleteFunc(cp.Policies, func(q *spec.Policy) bool { return !q.Own })...)
	isolation, err := a.isolation()
	if err != nil {
		return fail(u.Pos, "", "%v", err)
	}
	o := Options{
		State: a.opts.State, Journal: a.opts.Journal, Store: a.opts.Store, From: fromOf(a.opts.From, u.Agent), Approver: a.opts.Approver, Clock: a.opts.Clock,
		Isolation: isolation, stubbed: a.opts.stubbed,
	}
	built, more := build(ctx, cp, o, &within{a, chain})
	problems = append(problems, more...)
	if built == nil {
		return nil, problems
	}
	c := &child{Agent: built, project: cp}
	c.tool = c.describe()
	return c, problems
}

// fromOf is where the files of an agent are that one calls which was loaded from files.
func fromOf(parent *journal.Origin, file string) *journal.Origin {
	if parent == nil {
		return nil
	}
	return &journal.Origin{Agent: real(file), Policies: parent.Policies}
}

// describe makes the tool that runs the agent.
func (c *child) describe() *builtins.Tool {
	t := &builtins.Tool{
		Name: strings.ReplaceAll(c.Spec.Meta.Name, "-", "_"), Doc: agentDoc(c.Spec), Effects: builtins.Read, Agent: true, Timeout: agentTimeout,
		Label: builtins.Source{Class: label.Bottom(), Of: c.Spec.Meta.Name}, Run: c.call, Over: c.over,
	}
	for _, in := range c.Spec.Inputs {
		t.Params = append(t.Params, builtins.Param{Name: in.Name, Schema: json.RawMessage(`{"type": "string"}`), Required: in.Default == nil, Sink: policies.SinkSecret})
	}
	if c.Spec.Returns != nil {
		t.Returns, _ = json.Marshal(c.Spec.Returns) // plain data: it encodes
	}
	return t
}

// agentDoc is what an agent is told of another one that it can call.
func agentDoc(a *spec.Agent) string {
	doc := strings.Join(strings.Fields(a.Instructions), " ")
	if len(doc) > maxAgentDoc {
		doc = strings.ToValidUTF8(doc[:maxAgentDoc], "") + "…"
	}
	return strings.TrimSpace("Another agent. " + doc)
}

// inherit gives an agent that is called those tools of the one that calls it which its file names.
func (a *Agent) inherit(u spec.Use) (tools []*builtins.Tool, problems []spec.Problem) {
	fail := func(pos spec.Position, hint, format string, args ...any) ([]*builtins.Tool, []spec.Problem) {
		return nil, []spec.Problem{{Pos: pos, Text: fmt.Sprintf(format, args...), Hint: hint}}
	}
	parent := a.within.agent
	if u.MCP != nil || u.Script != "" {
		return fail(u.Pos, "grant them to the agent that calls it, and name them here: use: NAME", "an agent that is called brings no tools of its own")
	}
	for name, o := range u.Options {
		return fail(o.Key, "the agent that calls it says how its tools are set up", "%s: option %s: this agent is called by %s, and has that one's tools", u.Name, name, parent.Spec.Meta.Name)
	}
	all := slices.Concat(parent.tools.All(), parent.beneath)
	for _, t := range all {
		if !t.Agent && (t.Name == u.Name || strings.HasPrefix(t.Name, u.Name+".")) {
			tools = append(tools, t.Clone())
		}
	}
	if tools == nil {
		var names []string
		for _, t := range all {
			if !t.Agent {
				names = append(names, t.Name)
			}
		}
		hint := fmt.Sprintf("grant it there, with for: agents if its own programs shall not have it; it has %s", cmp.Or(strings.Join(names, ", "), "none"))
		return fail(u.Pos, hint, "tool %q: this agent is called by %s, which was not granted it", u.Name, parent.Spec.Meta.Name)
	}
	return tools, nil
}

// under are the tools that are granted beneath an agent: to agents alone, and what the agents that it calls can call.
func (a *Agent) under() []*builtins.Tool {
	out := slices.Clone(a.beneath)
	for _, c := range a.children {
		out = append(out, slices.Concat(c.tools.All(), c.under())...)
	}
	return out
}

// projects are those of the agents that are called, those beneath them too.
func (a *Agent) projects() (out []*spec.Project) {
	for _, c := range a.children {
		out = append(append(out, c.project), c.projects()...)
	}
	return out
}

// everything is a set of the agent's tools and of those beneath it, each name once: an agent's own stand first.
func (a *Agent) everything() *builtins.Set {
	set := new(builtins.Set)
	for _, t := range slices.Concat(a.tools.All(), a.under()) {
		if set.Lookup(t.Name) == nil {
			_ = set.Add(t.Clone()) // it is in a set already: it can be added
		}
	}
	return set
}

// both decides by the policies of an agent and of the one that calls it.
type both struct {
	parent *Agent // the one that calls
	own    policies.PDP
	as     func() policies.Agent // what policies know of the one that calls
}

func (a *Agent) decidedToo(own policies.PDP) *both {
	return &both{a, own, sync.OnceValue(func() policies.Agent {
		return gate.AgentOf(a.Spec.Meta.Name, a.Spec.Digest, a.tools.All(), a.under())
	})}
}

// Revision is that of both.
func (b *both) Revision() string {
	sum := sha256.Sum256([]byte(b.parent.decider().Revision() + "\x00" + b.own.Revision()))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Decide asks both. What one denies is denied, what one asks is asked, and what is to go on both must allow.
func (b *both) Decide(ctx context.Context, r *policies.Request) (policies.Decision, error) {
	revision := b.Revision()
	own, err := b.own.Decide(ctx, r)
	if err != nil {
		return policies.Decision{}, err
	}
	theirs := *r
	theirs.Agent = b.as()
	d, err := b.parent.decider().Decide(ctx, &theirs)
	if err != nil {
		return policies.Decision{}, err
	}
	out := own
	out.ID, out.Revision, out.Cached = "", revision, own.Cached && d.Cached
	out.Effect, out.Would = lower(own.Effect, d.Effect), lower(own.Would, d.Would)
	out.ReadHistory = own.ReadHistory || d.ReadHistory
	out.Reasons = united(own.Reasons, d.Reasons)
	out.Obligations, out.Approvals = united(own.Obligations, d.Obligations), united(own.Approvals, d.Approvals)
	if out.Effect != policies.Ask {
		out.Approvals = nil
	}
	return out, nil
}

// lower is the stricter of two effects; what does not apply is a denial.
func lower(a, b policies.Effect) policies.Effect {
	strict := func(e policies.Effect) policies.Effect {
		if e != policies.Ask && e != policies.Allow {
			return policies.Deny
		}
		return e
	}
	return min(strict(a), strict(b))
}

// united is a list and what another one has besides.
func united[T any](a, b []T) []T {
	out := slices.Clone(a)
	for _, x := range b {
		if !slices.ContainsFunc(out, func(y T) bool { return reflect.DeepEqual(x, y) }) {
			out = append(out, x)
		}
	}
	return out
}

// waits are the questions of agents that a run waits for.
type waits struct {
	mu        sync.Mutex
	questions []gate.Question
}

func (w *waits) add(q []gate.Question) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.questions = append(w.questions, q...)
}

func (w *waits) all() []gate.Question {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.questions)
}

type waitsKey struct{}

type storeKey struct{}

// store is where a run is kept that agents are called in: all of them share it, so that limits count them together.
func (a *Agent) store(ctx context.Context) journal.Store {
	if s, ok := ctx.Value(storeKey{}).(journal.Store); ok && s != nil {
		return s
	}
	if a.opts.Store == nil && len(a.children) > 0 {
		return journal.NewMemory()
	}
	return a.opts.Store
}

// journal is the store of a run, or else another one.
func (w *wallet) journal(other journal.Store) journal.Store {
	if w == nil || w.store == nil {
		return other
	}
	return w.store
}

// call runs the agent for a call of another one: begins its run, or goes on with it.
func (c *child) call(ctx context.Context, in *builtins.Invocation) (any, error) {
	caller := in.Enter()
	purse := c.purse(ctx)
	e, err := c.engine(purse)
	if err != nil {
		return nil, err
	}
	author := c.own().Join(caller.PC)
	name := "agent " + c.Spec.Meta.Name
	s, err := c.session(ctx, e, &caller, author)
	if errors.Is(err, engine.ErrNothingLeft) {
		used := c.used(&caller)
		return nil, &builtins.Error{Code: engine.Budget, Text: name + ": " + engine.ErrNothingLeft.Error(), Label: &used}
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &builtins.Waiting{Text: fmt.Sprintf("%s: its run cannot go on: %v", name, err)}
	}
	met := label.Bottom()
	begun := &run{agent: c.Agent, session: s, purse: purse}
	err = begun.whole(ctx, s.Inputs(), author, func(s *engine.Session) {
		met = s.Floor().Join(s.Gate().Context())
		in.Leave(s.Under())
	})
	r := begun.out
	switch {
	case ctx.Err() != nil && r.Status != engine.Waiting: // a question that is open stays so
		return nil, ctx.Err()
	case err != nil:
		return nil, &builtins.Waiting{Text: fmt.Sprintf("%s: run %s cannot go on: %v", name, s.ID(), err)}
	}
	if bad, ok := errors.AsType[*model.RecordingError](r.Model); ok {
		tallyOf(ctx).failed(bad)
	}
	switch r.Status {
	case engine.Done:
		if r.Answer == nil {
			return value.NoneOf(met), nil
		}
		return r.Answer.Joined(met), nil
	case engine.Waiting:
		if w, ok := ctx.Value(waitsKey{}).(*waits); ok {
			w.add(r.Waiting)
		}
		return nil, &builtins.Waiting{Text: fmt.Sprintf("%s: run %s waits", name, s.ID())}
	case engine.Cancelled:
		return nil, &builtins.Waiting{Text: fmt.Sprintf("%s: run %s was stopped", name, s.ID())}
	}
	if c.borrowed(&r) {
		met = met.Join(c.used(&caller)).Join(s.Under().Met)
	} else if r.Last.Err != nil {
		met = met.Join(r.Last.Err.Label)
	}
	return nil, &builtins.Error{Code: r.Status, Text: fmt.Sprintf("%s: %s", name, r.Reason), Label: &met}
}

// used is the label of how much is left to a call: that may depend on whatever was met before, by agents whose data nobody else has seen. It
// is for nobody, and has the tags of all that. It is not [label.Top]: what is tagged as secret the journal does not hold, and the run could not be gone over.
func (c *child) used(caller *builtins.Caller) label.Label {
	return label.New(label.Untrusted, label.Only(), nil).Join(caller.PC).Join(caller.History).Join(caller.Met).Join(c.own())
}

// borrowed reports whether an agent may have come to the end of what was left to its call, and not of the turns that are its own.
func (c *child) borrowed(r *Result) bool {
	if err := r.Last.Err; err != nil && err.Status == eval.Limited {
		return true
	}
	return r.Status == engine.Budget && r.Turns < c.turns()
}

// over goes over the run of a call that is recorded, with no effect, for a replay of the run that made the call.
func (c *child) over(ctx context.Context, in *builtins.Invocation) {
	all, wanted := ctx.Value(replaysKey{}).(*[]Replayed)
	if !wanted {
		return
	}
	caller := in.Enter()
	out := Replayed{Run: caller.Child, Differences: []journal.Difference{}}
	purse := c.purse(ctx)
	e, err := c.engine(purse)
	if err == nil {
		var s *engine.Session
		if s, err = e.Resume(ctx, engine.Again{Run: caller.Child, Within: &caller, Only: true}); err == nil {
			begun := &run{agent: c.Agent, session: s, purse: purse}
			err = begun.whole(context.WithValue(ctx, replaysKey{}, &out.Agents), s.Inputs(), c.own().Join(caller.PC), nil)
			out, err = out.compared(s, err)
		}
	}
	if errors.Is(err, journal.ErrNoRun) {
		return // the process ended before it began
	}
	if err != nil {
		out.Error = err.Error()
	}
	*all = append(*all, out)
}

// replaysKey is the key, in a context, of the replays of agents that a run called.
type replaysKey struct{}

// session begins the run of a call, goes on with it, or, if it has ended, goes over it once more.
func (c *child) session(ctx context.Context, e *engine.Engine, caller *builtins.Caller, author label.Label) (*engine.Session, error) {
	again := engine.Again{Run: caller.Child, Within: caller, By: c.principal.Sub, Process: fmt.Sprintf("process %d", os.Getpid())}
	s, err := e.Resume(ctx, again)
	switch {
	case errors.Is(err, journal.ErrNoRun):
	case errors.Is(err, journal.ErrEnded):
		again.Only = true
		return e.Resume(ctx, again)
	default:
		return s, err
	}
	var inputs []journal.Input
	shown := author
	for _, in := range c.Spec.Inputs {
		v, given := caller.Args.Get(in.Name)
		if !given {
			v = value.StringOf(*in.Default, in.For(c.principal.Sub).WithSources(label.Source{Tool: "input", Of: in.Name}).Join(caller.PC))
		}
		inputs = append(inputs, journal.Input{Name: in.Name, Value: v})
		if in.Name == "task" {
			shown = shown.Join(v.Label)
		}
	}
	if c.model == nil {
		shown = label.Bottom()
	}
	return e.Start(ctx, engine.Run{ID: caller.Child, Inputs: inputs, Context: shown, Within: caller})
}
