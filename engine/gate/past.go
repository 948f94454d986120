package gate

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"callgate/builtins"
	"callgate/engine/eval"
	"callgate/engine/journal"
	"callgate/policies"
)

// A run that is gone over again ([journal.Retrace]) takes the same way through the gate. What is recorded stands in place of the world: of the
// PDP, of people, of tools. Everything else, counts, history, marks, the meter and what the model was shown, comes about by the
// same code, and what is recorded of it is compared by the journal.

// AskInterrupted is the id of the ask about a call that had begun when its process ended: a person must say whether to make it again.
const AskInterrupted = "core.interrupted"

// Interrupted is that ask, about a call of a binding.
func Interrupted(binding string) policies.Approval {
	return policies.Approval{
		Ask: AskInterrupted, Policy: "core", Count: 1, Binding: binding,
		Message: "the process ended while this call was made: it may have had its effect, and making it again may repeat that",
	}
}

const codeInterrupted = "interrupted"

// next returns the next event that is recorded of a call, after those that have been noted and not yet met. The caller holds the
// deciding lock.
func (g *Gate) next(id string) (journal.Event, bool) {
	noted := 0
	for _, e := range g.entries {
		if e.Call == id {
			noted++
		}
	}
	return g.cfg.Journal.Next(id, noted)
}

// settled is how a crossing is decided, by whomever.
type settled struct {
	request  *policies.Request
	decision policies.Decision
	made     *journal.DecisionMade // as it is recorded; nil: it is not
	past     bool                  // it was decided so before
}

// resolve decides a crossing: as it was decided before, or else by the PDP. In later rounds, last is the decision before. The error is
// why nothing can be decided any more, with its code.
func (g *Gate) resolve(ctx context.Context, x *crossing, round int, last policies.Decision) (settled, string, error) {
	run := g.cfg.Journal
	if !run.Retracing() {
		r, d := g.decide(ctx, x)
		g.reloaded(x, d.Revision)
		return settled{request: r, decision: d}, "", nil
	}
	e, ok := g.next(x.id)
	for ; ok && e.Type == journal.Reloaded; e, ok = g.next(x.id) {
		p, err := journal.Decode[journal.PoliciesReloaded](e)
		if err != nil {
			return settled{}, codeJournal, g.lost(err)
		}
		g.later(e.Type, x.id, p)
		g.decided = p.Revision
	}
	if ok && e.Type == journal.Decided {
		made, err := journal.Decode[journal.DecisionMade](e)
		if err != nil {
			return settled{}, codeJournal, g.lost(err)
		}
		r, _ := g.request(x) // if there is none, it was denied for that
		return settled{r, made.Decision, &made, true}, "", nil
	}
	ahead, more := run.Ahead(len(g.entries))
	switch {
	case more && !ok && x.kind != policies.KindBuiltin && stopped(ahead, x.kind):
		return settled{}, codeCancelled, context.Canceled
	case more && round == 0 && x.kind == policies.KindBuiltin:
		last = policies.Decision{Effect: policies.Allow, Revision: g.decided} // a permission is not recorded
	case more && round > 0: // it went on, and to decide again had made no difference
	default:
		if err := g.goLive(ctx); err != nil {
			return settled{}, codeJournal, err
		}
		return g.resolve(ctx, x, round, last)
	}
	r, err := g.request(x)
	if err != nil {
		return settled{}, codeJournal, g.lost(err)
	}
	return settled{request: r, decision: last, past: true}, "", nil
}

// stopped reports whether an event says that clock or cancellation ended the program, or the run, before it could make a call of
// some kind: where the program waits, while a person was asked about another one. So does the loss of the worker that the program ran in.
func stopped(e journal.Event, kind string) bool {
	switch e.Type {
	case journal.ProgramEnd:
		end, err := journal.Decode[journal.ProgramEnded](e)
		return err == nil && (end.CutShort() || end.Status == journal.StatusWaiting) && (kind != policies.KindProgram || end.Looks == 0)
	case journal.RunEnd:
		end, err := journal.Decode[journal.RunEnded](e)
		return err == nil && (end.Status == journal.StatusFailed || end.Status == journal.StatusCancelled)
	}
	return false
}

// goLive ends the past. The caller holds the deciding lock.
func (g *Gate) goLive(ctx context.Context) error {
	if err := g.flush(ctx, false); err != nil {
		return err
	}
	if err := g.cfg.Journal.GoLive(); err != nil {
		return g.lost(err)
	}
	return nil
}

// lost notes why nothing can be recorded any more, and returns it.
func (g *Gate) lost(err error) error {
	g.cfg.Journal.Abandon(err)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead == nil {
		g.dead = err
	}
	return g.dead
}

// answered returns the answer to an ask that is recorded.
func (g *Gate) answered(x *crossing) (given journal.ApprovalGiven, ok bool, err error) {
	e, ok := g.next(x.id)
	if !ok || e.Type != journal.Approved {
		return given, false, nil
	}
	given, err = journal.Decode[journal.ApprovalGiven](e)
	return given, true, err
}

// outcomeOf is the inverse of [Outcome.String].
func outcomeOf(verdict string) Outcome {
	for _, o := range []Outcome{Refused, Approved} {
		if verdict == o.String() {
			return o
		}
	}
	return Waiting
}

// given returns the approvals that people gave to the same question where the run was, before it went on waiting, and that count still. What
// was given elsewhere is the approver's to say again: it may have been taken back.
func (g *Gate) given(q Question) (out []journal.ApprovalGiven) {
	a := q.Approval
	for _, e := range g.cfg.Journal.Given(q.Call) {
		given, err := journal.Decode[journal.ApprovalGiven](e)
		if err != nil || given.Grant != "" || given.Verdict != Approved.String() || given.Ask != a.Ask || given.Policy != a.Policy || given.Binding != a.Binding {
			continue
		}
		given.Since = given.At(e)
		if a.TTL > 0 && g.cfg.Clock().Sub(given.Since) > a.TTL {
			continue
		}
		if Objection(q, Verdict{Outcome: Approved, By: given.By, Groups: given.Groups, Anybody: given.Anybody}, q.Asked) == "" {
			out = append(out, given)
			q.By = append(slices.Clone(q.By), given.By)
		}
	}
	return out
}

// repeat goes over a call again whose start is recorded. It returns the result if there is one, or else what the person said who was asked
// about it; or done false: the tool is to be run, which is recorded.
func (g *Gate) repeat(ctx context.Context, a *act) (res eval.Result, done bool) {
	g.deciding.Lock()
	defer g.deciding.Unlock()
	fail := func(err error) (eval.Result, bool) {
		return eval.Result{Err: g.stopped(a.crossing, codeJournal, g.lost(err)).refusal}, true
	}
	if a.tool.Over != nil && g.cfg.Journal.Looking() {
		in := a.invocation()
		in.Enter = func() builtins.Caller { return a.caller(g) }
		a.tool.Over(ctx, in)
	}
	for try := 2; ; try++ {
		e, ok := g.next(a.id)
		if ok && e.Type == journal.CallResult {
			ended, err := journal.Decode[journal.CallEnded](e)
			if err != nil {
				return fail(err)
			}
			if ended.Spent != nil && g.cfg.Spent != nil {
				g.cfg.Spent(a.tool.Name, *ended.Spent)
			}
			g.leaves(underOf(ended.Under), ended.Waits)
			return g.ended(ctx, a, ended)
		}
		if !repeatable(a.tool) {
			res, again := g.askAgain(ctx, a)
			if !again {
				return res, true
			}
		}
		e, ok = g.next(a.id)
		if ok && e.Type == journal.CallResult {
			continue
		}
		again := ok && e.Type == journal.CallStart
		if !again {
			if err := g.goLive(ctx); err != nil {
				return fail(err)
			}
			// It was allowed by the policies of then; those of now must not deny it. What counts calls has counted this one.
			// Nor ask about it: who would be asked is for a call of its own.
			if g.barred(ctx, a) {
				return g.interrupted(ctx, a, "it had begun when the process ended, whether it had its effect is not known, and by now the policies do not allow it")
			}
		}
		g.later(journal.CallStart, a.id, a.started(try))
		if err := g.flush(ctx, true); err != nil {
			return fail(err)
		}
		if !again {
			return eval.Result{}, false
		}
	}
}

// barred reports whether the policies are others than those that let a call go on, and would not do so without asking anybody.
func (g *Gate) barred(ctx context.Context, a *act) bool {
	_, d := g.decide(ctx, a.crossing)
	return d.Revision != a.revision && d.Effect != policies.Allow
}

// repeatable reports whether a call of the tool can be made again: it promises so, or changes nothing.
func repeatable(t *builtins.Tool) bool {
	return t.Idempotent || t.Effects != 0 && t.Effects&^(builtins.Read|builtins.Pure) == 0
}

// ended answers a call with the result that is recorded.
func (g *Gate) ended(ctx context.Context, a *act, ended journal.CallEnded) (eval.Result, bool) {
	var res eval.Result
	secret := ended.Value != nil && journal.Masked(*ended.Value)
	switch {
	case secret && repeatable(a.tool) && !g.cfg.Journal.Looking() && !g.barred(ctx, a):
		return eval.Result{}, false
	case secret, ended.Code != "" && ended.Label.HasTag(journal.SecretTag):
		err := fmt.Errorf("call %s, %s: what came of it is secret and not in the journal, and it cannot be made again: the run cannot be gone over", a.id, a.name)
		return eval.Result{Err: g.stopped(a.crossing, codeJournal, g.lost(err)).refusal}, true
	case ended.Waits:
		res.Err = a.failure(ended)
	case ended.Code != "":
		res.Err = a.failure(ended)
		g.mu.Lock()
		g.counts.Failed++
		g.mu.Unlock()
	default:
		g.remember(*ended.Value)
		res.Value = *ended.Value
	}
	g.later(journal.CallResult, a.id, ended)
	if err := g.flush(ctx, true); err != nil {
		return eval.Result{Err: g.stopped(a.crossing, codeJournal, err).refusal}, true
	}
	return res, true
}

// failure is what a program is told of a call that failed.
func (a *act) failure(ended journal.CallEnded) *eval.CallError {
	return &eval.CallError{
		Code: ended.Code, Text: a.tool.Name + ": " + cmp.Or(ended.Told, ended.Text), Label: ended.Label, Final: ended.Code == codeCancelled || ended.Waits, Ends: ended.Ends, Wait: ended.Waits,
	}
}

// askAgain asks whether to make a call again that had begun and may have had its effect. If not, the program is told that it was
// interrupted; if nobody says, the run waits.
func (g *Gate) askAgain(ctx context.Context, a *act) (res eval.Result, again bool) {
	x := a.crossing
	question := Interrupted(x.binding())
	outcome, err := g.ask(ctx, x, question, nil)
	switch {
	case err != nil:
		return eval.Result{Err: g.stopped(x, codeJournal, err).refusal}, false
	case outcome == Approved:
		return eval.Result{}, true
	case outcome == Waiting:
		return eval.Result{Err: g.unapproved(ctx, x, a.verdict, question, Waiting).refusal}, false
	}
	res, _ = g.interrupted(ctx, a, "it had begun when the process ended, and whether it had its effect is not known")
	return res, false
}

// interrupted ends a call that had begun and is not made again.
func (g *Gate) interrupted(ctx context.Context, a *act, text string) (res eval.Result, done bool) {
	ended := journal.CallEnded{Tool: a.tool.Name, Code: codeInterrupted, Text: text, Label: a.lowered(a.outcome.Join(a.source))}
	g.mu.Lock()
	g.counts.Failed++
	g.mu.Unlock()
	g.later(journal.CallResult, a.id, ended)
	if err := g.flush(ctx, true); err != nil {
		return eval.Result{Err: g.stopped(a.crossing, codeJournal, err).refusal}, true
	}
	return eval.Result{Err: a.failure(ended)}, true
}
