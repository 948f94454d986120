package gate

import (
	"context"
	"maps"
	"slices"

	"callgate/builtins"
	"callgate/engine/eval"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/policies"
)

// A tool may run another agent: in a run of its own, with a gate of its own, from what is left to the session. What it did there counts here:
// calls, marks and bits, and the label of its history.

// Left is the budgets of a session, as far as agents that its programs run spend from them.
type Left struct {
	Steps int64 // of the agents of one turn together
	Calls int   // of tools in the run, those of agents among them

	Met label.Label // of what decided how many steps that are
}

// beneath is what agents that were run have used.
type beneath struct {
	steps int64 // of all turns
	turn  int64 // of this turn
	calls int
	met   label.Label // see [builtins.Under]
}

// within makes the history of a session that a call began that of the call.
func (g *Gate) within(c *builtins.Caller) {
	if c == nil {
		return
	}
	for name, n := range c.Counts {
		g.done[name] += n
	}
	g.before = maps.Clone(g.done)
	g.marks = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(g.marks), c.Marks...))))
	g.kept = slices.Clone(g.marks)
	g.history = g.history.Join(c.History)
}

// root is the run whose limits count: the one at the top.
func (g *Gate) root() string {
	if g.cfg.Within != nil {
		return g.cfg.Within.Root
	}
	return g.cfg.Session.Run
}

// caller returns what a call that runs an agent is.
func (a *act) caller(g *Gate) builtins.Caller {
	g.mu.Lock()
	defer g.mu.Unlock()
	return builtins.Caller{
		Root: g.root(), Run: g.cfg.Session.Run, Call: a.id, Child: journal.Beneath(g.cfg.Session.Run, a.id),
		Args: a.final, PC: a.pc, History: a.history.Join(g.history), Counts: maps.Clone(g.done), Marks: slices.Clone(g.marks),
		Steps: max(g.cfg.Left.Steps-g.beneath.turn, 0), Calls: max(g.cfg.Left.Calls-g.made-g.beneath.calls, 0), Bits: g.meter,
		Met: g.cfg.Left.Met.Join(g.beneath.met),
	}
}

// runAgent runs the tool of a call that runs an agent, once no other one of the session runs.
func (g *Gate) runAgent(ctx context.Context, a *act, in *builtins.Invocation) (any, *failure) {
	select {
	case g.agents <- struct{}{}:
	case <-ctx.Done():
		return nil, &failure{code: codeCancelled, text: "cancelled before it began"}
	}
	defer func() { <-g.agents }()
	in.Enter = func() builtins.Caller { return a.caller(g) }
	out, failed := a.run(ctx, in)
	g.leaves(in.Left(), failed != nil && failed.waits)
	return out, failed
}

// leaves takes over what an agent has used that was run by a call, and waits or has ended.
func (g *Gate) leaves(u *builtins.Under, waits bool) {
	switch {
	case u == nil:
	case waits:
		g.mu.Lock()
		defer g.mu.Unlock()
		g.used(u)
	default:
		g.left(u)
	}
}

// used takes from what is left to the session what an agent has used. Of one that waits this is all that is taken over: it goes on with a session that
// is made again, and those that run beside it must leave it that. The caller holds the lock.
func (g *Gate) used(u *builtins.Under) {
	g.beneath.steps += u.Steps
	g.beneath.turn += u.Steps
	g.beneath.calls += u.Calls
	g.beneath.met = g.beneath.met.Join(u.Met)
	bits := min(u.Bits, g.meter)
	g.meter -= bits
	g.counts.Bits += bits
}

// left takes over what an agent has used that was run by a call.
func (g *Gate) left(u *builtins.Under) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.done = maps.Clone(g.done)
	for name, n := range u.Counts {
		g.done[name] += n
	}
	for _, m := range u.Marks {
		g.marks, g.kept = with(g.marks, m), with(g.kept, m)
	}
	g.history = g.history.Join(u.History)
	g.used(u)
	g.forget = g.forget || g.memo
	g.memo = false
}

// SetSteps says how many steps the program has that begins, and what has decided that: agents that it runs have no more together.
func (g *Gate) SetSteps(n int64, met label.Label) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cfg.Left.Steps, g.cfg.Left.Met = n, met
}

// Under returns what the session has used that a call began; steps are those of its own programs.
func (g *Gate) Under(steps int64) builtins.Under {
	g.mu.Lock()
	defer g.mu.Unlock()
	u := builtins.Under{Counts: map[string]int{}, Marks: slices.Clone(g.marks), History: g.history, Steps: steps + g.beneath.steps, Calls: g.made + g.beneath.calls, Bits: g.counts.Bits, Met: g.beneath.met}
	for name, n := range g.done {
		if n > g.before[name] {
			u.Counts[name] = n - g.before[name]
		}
	}
	return u
}

// overCalls ends the program of a call that is one too many, with those of agents that it ran. How many those were may depend on
// anything that they met.
func (g *Gate) overCalls(c eval.Call) *eval.CallError {
	if c.Kind == eval.KindBuiltin {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.beneath.calls > 0 && g.made+g.beneath.calls >= g.cfg.Left.Calls {
		return &eval.CallError{
			Code: codeCalls, Text: "calls budget used up, with those of agents that were called", Label: label.Top(), Final: true,
		}
	}
	g.made++
	return nil
}

// codeCalls is the code of a program that ended because of how many calls it made.
const codeCalls = "limit.calls"

// agentOf adds what the tools beneath a session are called, and do, to what policies know of who acts.
func agentOf(a policies.Agent, own, beneath []*builtins.Tool) policies.Agent {
	var names, effects []string
	for _, t := range slices.Concat(own, beneath) {
		names, effects = append(names, t.Name), append(effects, t.Effects.Names()...)
	}
	for _, l := range []*[]string{&names, &effects} {
		slices.Sort(*l)
		*l = slices.Compact(*l)
	}
	if a.Tools == nil {
		a.Tools = append([]string{}, names...)
	}
	if a.Effects == nil {
		a.Effects = append([]string{}, effects...)
	}
	return a
}

// AgentOf is what policies know of who acts: an agent with its tools, and those of agents that it calls.
func AgentOf(name, digest string, own, beneath []*builtins.Tool) policies.Agent {
	return agentOf(policies.Agent{Name: name, Digest: digest}, own, beneath)
}

func underOf(u *journal.Under) *builtins.Under {
	if u == nil {
		return nil
	}
	return (*builtins.Under)(u)
}
