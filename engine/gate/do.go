package gate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agnivade/levenshtein"

	"callgate/builtins"
	"callgate/engine/eval"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// Do answers the calls of a batch. They are decided in order; those that may go on
// are then executed together, [Limits.Parallel] at a time; the results are in the order of the calls. After a call
// that ends the program the rest of the batch is not decided, and what comes before it is still executed; one that waits for a person does
// not keep the others from being decided and executed.
func (g *Gate) Do(ctx context.Context, calls []eval.Call) []eval.Result {
	results := make([]eval.Result, len(calls))
	todo := make([]int, len(calls))
	for i := range todo {
		todo[i] = i
	}
	for len(todo) > 0 {
		var acts []*act
		acts, todo = g.decideAll(ctx, calls, todo, results)
		g.actAll(ctx, acts, results)
	}
	g.meet(calls, results)
	if g.changed() {
		for i := range results {
			results[i].Forget = true
		}
	}
	return results
}

// meet notes what a batch of calls gives to a program.
func (g *Gate) meet(calls []eval.Call, results []eval.Result) {
	l := label.Bottom()
	for i, r := range results {
		switch {
		case r.Err != nil:
			l = l.Join(r.Err.Label)
		case calls[i].Kind != eval.KindBuiltin:
			l = l.Join(r.Value.Deep())
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.met = g.met.Join(l.WithoutSources())
}

// actAll executes calls together, and returns when all have ended. Agents run one after the other, in the order of their calls: what is left to each does
// not depend on who is faster.
func (g *Gate) actAll(ctx context.Context, acts []*act, results []eval.Result) {
	if len(acts) == 1 {
		results[acts[0].i] = g.act(ctx, acts[0])
		return
	}
	var all sync.WaitGroup
	free := make(chan struct{}, g.cfg.Limits.Parallel)
	var last chan struct{} // closed when the agent has ended that runs before the next one
	for _, a := range acts {
		free <- struct{}{}
		before, mine := last, make(chan struct{})
		if a.tool.Agent {
			last = mine
		}
		all.Go(func() {
			if a.tool.Agent && before != nil {
				<-before
			}
			results[a.i] = g.act(ctx, a)
			close(mine)
			<-free
		})
	}
	all.Wait()
}

// decideAll decides calls of a batch in order and answers those that need no tool. It
// returns the others. Decisions and starts are recorded in one transaction; without it no
// call has an answer but the journal's error. Of a batch that is gone over again those calls come first that are recorded; if more is recorded of them
// than how they were decided, that is met before the rest is decided, which is returned.
func (g *Gate) decideAll(ctx context.Context, calls []eval.Call, todo []int, results []eval.Result) (acts []*act, rest []int) {
	g.deciding.Lock()
	defer g.deciding.Unlock()
	known := g.recordedFirst(calls, todo)
	for n, i := range todo {
		if n > 0 && n == known {
			if _, more := g.cfg.Journal.Ahead(len(g.entries)); more {
				todo, rest = todo[:n], todo[n:]
				break
			}
		}
		var a *act
		var res eval.Result
		if res.Err = g.overCalls(calls[i]); res.Err == nil {
			a, res = g.cross(ctx, calls[i])
		}
		results[i] = res
		if a != nil {
			a.i = i
			acts = append(acts, a)
		}
		if res.Err != nil && res.Err.Final && !res.Err.Wait {
			for _, j := range todo[n+1:] {
				results[j] = stop(calls[j], res.Err)
			}
			break
		}
	}
	for _, a := range acts {
		e, ok := g.next(a.id)
		a.past = ok && e.Type == journal.CallStart
		g.later(journal.CallStart, a.id, a.started(0))
	}
	if err := g.flush(ctx, len(acts) > 0); err != nil {
		for _, i := range append(todo, rest...) {
			x := g.of(builtinShape, calls[i], dict(calls[i].Args))
			results[i] = eval.Result{Err: g.stopped(x, codeJournal, err).refusal}
		}
		return nil, nil
	}
	return acts, rest
}

// recordedFirst puts the calls of a batch that are recorded before the others, in the order in which they were decided, and returns how many they are. A call that
// waited for a person and did not go on is not.
func (g *Gate) recordedFirst(calls []eval.Call, todo []int) (known int) {
	if len(todo) < 2 || !g.cfg.Journal.Retracing() {
		return 0
	}
	seq := make(map[int]int64, len(todo))
	for _, i := range todo {
		if e, ok := g.next(calls[i].ID); ok {
			seq[i] = e.Seq
		}
	}
	slices.SortStableFunc(todo, func(i, j int) int {
		x, was := seq[i]
		y, wasToo := seq[j]
		switch {
		case was && wasToo:
			return cmp.Compare(x, y)
		case was:
			return -1
		case wasToo:
			return 1
		}
		return 0
	})
	return len(seq)
}

// stop answers a call that comes after one that ended the program.
func stop(c eval.Call, by *eval.CallError) eval.Result {
	return eval.Result{Err: &eval.CallError{
		Code: codeStopped, Text: c.Tool + ": not made: " + by.Code, Label: by.Label.Join(c.PC), Final: true, Wait: by.Wait,
	}}
}

// cross takes one call as far as it goes without a tool.
func (g *Gate) cross(ctx context.Context, c eval.Call) (*act, eval.Result) {
	switch c.Kind {
	case eval.KindTool:
		return g.crossTool(ctx, c)
	case eval.KindBuiltin:
		return nil, g.crossBuiltin(ctx, c)
	case eval.KindEndorse, eval.KindDeclassify:
		return nil, g.crossGrant(ctx, c)
	case eval.KindAnswer:
		return nil, g.crossAnswer(ctx, c)
	}
	x := g.of(builtinShape, c, dict(c.Args))
	x.core = func() ([]policies.Reason, bool) {
		return []policies.Reason{core(reasonGranted, fmt.Sprintf("kind: got %q, want one that a program can make", c.Kind))}, false
	}
	return nil, eval.Result{Err: g.settle(ctx, x).refusal}
}

// crossTool finds the tool, checks the arguments, and decides.
func (g *Gate) crossTool(ctx context.Context, c eval.Call) (*act, eval.Result) {
	args := dict(c.Args)
	s := g.shapes[c.Tool]
	if s == nil {
		return nil, g.ungranted(ctx, c, args)
	}
	x := g.of(s, c, args)
	if err := s.tool.CheckArgs(args); err != nil {
		return nil, g.mistaken(x, codeArguments, err.Error(), "")
	}
	if p := s.tool.Asks; p != "" {
		args.Keys = append(args.Keys, value.StringOf(providerArg, label.Bottom()))
		args.Items = append(args.Items, value.StringOf(p, label.Bottom()))
		c.Kind = policies.KindModel
		x = g.of(modelOf(s.tool, s), c, args)
		x.name = policies.KindModel
	}
	v := g.settle(ctx, x)
	if v.refusal != nil {
		return nil, eval.Result{Err: v.refusal}
	}
	g.mu.Lock()
	now := g.now
	g.mu.Unlock()
	return &act{crossing: x, verdict: v, now: now}, eval.Result{}
}

// ungranted answers a call of a tool that the agent does not have: one that exists is
// refused, another one is a mistake of the program.
func (g *Gate) ungranted(ctx context.Context, c eval.Call, args value.Value) eval.Result {
	s := &shape{tool: &builtins.Tool{Name: c.Tool}, effects: builtins.Effects(0).Names(), source: label.Bottom()}
	for _, a := range c.Args {
		s.params = append(s.params, a.Name)
	}
	x := g.of(s, c, args)
	x.in = c.PC // that the tool is not there has nothing to do with the arguments
	if !g.known[c.Tool] {
		return g.mistaken(x, codeNoSuchTool, "no such tool", nearest(c.Tool, g.cfg.Tools.Names()))
	}
	x.core = func() ([]policies.Reason, bool) {
		return []policies.Reason{core(reasonGranted, "the tool exists, and this agent was not given it")}, false
	}
	v := g.settle(ctx, x)
	if !v.refusal.Final && v.refusal.Code != codeDenied {
		v.refusal.Code, v.refusal.Text, v.refusal.Hint = codeNotGranted, c.Tool+": not granted", "go on without it: this agent does not have it"
	}
	return eval.Result{Err: v.refusal}
}

// nearest returns a hint that names the tool which name is most likely a slip of, or those there are.
func nearest(name string, names []string) string {
	best, at := "", len(name)/2+1
	for _, n := range names {
		if d := levenshtein.ComputeDistance(name, n); d < at {
			best, at = n, d
		}
	}
	switch {
	case best != "":
		return "did you mean " + best
	case len(names) == 0:
		return "there are no tools"
	case len(names) <= 8:
		return "there is " + strings.Join(names, ", ")
	}
	return ""
}

// mistaken answers a call that is a mistake of the program: nothing is decided and nothing
// done, and it is recorded.
func (g *Gate) mistaken(x *crossing, code, text, hint string) eval.Result {
	g.mu.Lock()
	g.counts.Failed++
	g.history = g.history.Join(x.pc)
	g.mu.Unlock()
	text = strings.TrimPrefix(text, x.name+": ") // of what is wrong with arguments, which says it too
	ended := journal.CallEnded{Tool: x.name, Code: code, Text: text, Label: x.in}
	g.later(journal.CallResult, x.id, ended)
	return eval.Result{Err: &eval.CallError{Code: code, Text: x.name + ": " + text, Hint: hint, Label: x.in}}
}

// crossBuiltin decides a pure function by its name and the joined label of its arguments.
func (g *Gate) crossBuiltin(ctx context.Context, c eval.Call) eval.Result {
	l := label.Bottom()
	for _, a := range c.Args {
		l = l.Join(a.Value.Deep())
	}
	x := g.of(builtinShape, c, dict([]eval.Arg{{Name: "value", Value: value.NoneOf(l)}}))
	v := g.settle(ctx, x)
	return eval.Result{Value: value.NoneOf(v.outcome), Err: v.refusal}
}

// crossAnswer decides whether the user gets the answer, and keeps it.
func (g *Gate) crossAnswer(ctx context.Context, c eval.Call) eval.Result {
	args := dict(c.Args)
	x := g.of(answerShape, c, args)
	if err := answerShape.tool.CheckArgs(args); err != nil {
		return g.mistaken(x, codeArguments, err.Error(), "")
	}
	v := g.settle(ctx, x)
	if v.refusal != nil {
		return eval.Result{Err: v.refusal}
	}
	answer, _ := x.final.Get("value")
	answer = v.lowerResult(answer)
	ended := journal.CallEnded{Tool: x.name, Value: &answer, Label: answer.Deep()}
	g.later(journal.CallResult, x.id, ended)
	if err := g.flush(ctx, false); err != nil {
		return eval.Result{Err: g.stopped(x, codeJournal, err).refusal}
	}
	g.mu.Lock()
	g.answer, g.ending = &answer, x.pc
	g.mu.Unlock()
	return eval.Result{Value: value.NoneOf(v.outcome)}
}

// changed reports whether decisions on builtins may have become others since it was last asked.
func (g *Gate) changed() bool {
	g.deciding.Lock()
	revision := g.decided
	g.deciding.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	out := g.forget || revision != g.revision
	g.forget, g.revision = false, revision
	return out
}

// started is the event that says that a call begins.
func (a *act) started(try int) journal.CallStarted {
	s := journal.CallStarted{Tool: a.tool.Name, Key: a.key, Try: try, Widened: a.tool.Widens}
	if a.tool.Agent {
		run, _, _ := strings.Cut(a.key, "/")
		s.Run = journal.Beneath(run, a.id)
	}
	return s
}

// act is a call that was decided and is to be executed.
type act struct {
	*crossing
	verdict
	i    int // in the batch
	now  time.Time
	past bool // its start was recorded before
}
