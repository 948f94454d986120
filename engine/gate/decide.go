package gate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"callgate/engine/eval"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/policies"
)

// The ids of the reasons that the gate itself gives; their engine is "core", or "limit".
const (
	reasonPDP        = policies.CoreError
	reasonNoAllow    = policies.CoreNoAllow
	reasonObligation = policies.CoreObligation
	reasonApproval   = "core.approval"
	reasonIsolation  = "core.isolation"
	reasonGranted    = "core.not-granted"

	engineLimit = "limit"
)

// verdict is what came of deciding a crossing.
type verdict struct {
	duties
	refusal *eval.CallError // nil: go on
	past    label.Label     // of the history if it was read, else Bottom
	outcome label.Label     // of having gone on or not: of what was decided on, and past
	rules   []string        // the ids of those that refused

	revision string // of the policies by which it may go on
}

// maxRounds is how often one call is decided again because new asks came up while the last ones were answered.
const maxRounds = 8

// settle decides a crossing, has people asked, and reserves what limits count. A crossing that
// may go on has been entered in the history. The caller holds the deciding lock, and must flush the record of
// the decision before anything comes of it.
func (g *Gate) settle(ctx context.Context, x *crossing) verdict {
	approved := map[string]bool{}
	var last policies.Decision // the last that was recorded
	for round := 0; ; round++ {
		if err := g.Err(); err != nil {
			return g.stopped(x, codeJournal, err)
		}
		if err := ctx.Err(); err != nil {
			return g.stopped(x, codeCancelled, err)
		}
		s, code, err := g.resolve(ctx, x, round, last)
		if err != nil {
			return g.stopped(x, code, err)
		}
		r, d := s.request, s.decision
		if err := ctx.Err(); err != nil { // the PDP may have given up for that reason: no refusal
			return g.stopped(x, codeCancelled, err)
		}
		if round == maxRounds && !s.past {
			deny(&d, core(reasonApproval, fmt.Sprintf("there are new asks after %d rounds of approvals", round)))
		}
		v := g.oblige(ctx, x, r, &d, approved, s.past)
		pending := slices.DeleteFunc(slices.Clone(d.Approvals), func(a policies.Approval) bool { return approved[askKey(a.Policy, a.Ask)] })
		var origins map[string]string
		switch {
		case s.made != nil:
			origins = s.made.Origins
		case !s.past:
			origins = g.explain(r, &d)
		}
		if s.made != nil || !s.past && (news(x, &d, round, &last) || len(pending) > 0) {
			g.later(journal.Decided, x.id, x.made(d, origins))
			last = d
		}
		if d.Effect == policies.Deny {
			return g.refuse(x, v, &d)
		}
		if len(pending) == 0 {
			g.enter(x, v, d.ReadHistory, len(approved) > 0)
			v.revision = d.Revision
			return v
		}
		if err := g.flush(ctx, true); err != nil { // people are asked about what is on record
			return g.stopped(x, codeJournal, err)
		}
		for _, a := range pending {
			outcome, err := g.ask(ctx, x, a, origins)
			if err != nil {
				return g.stopped(x, codeJournal, err)
			}
			if outcome != Approved {
				return g.unapproved(ctx, x, v, a, outcome)
			}
			approved[askKey(a.Policy, a.Ask)], x.bound = true, x.binding()
		}
	}
}

// news reports whether a decision is worth a record. A pure builtin that is allowed is counted, unless the history was read: then what
// is remembered depends on when. A call that was approved is decided again, which is recorded if it makes a difference.
func news(x *crossing, d *policies.Decision, round int, last *policies.Decision) bool {
	switch {
	case d.Effect == policies.Deny:
		return true
	case round == 0:
		return x.kind != policies.KindBuiltin || d.ReadHistory
	}
	return d.Revision != last.Revision || d.ReadHistory != last.ReadHistory || !alike(d.Obligations, last.Obligations)
}

// alike reports whether obligations are the same in a journal, whichever types an engine gave their fields.
func alike(a, b []policies.Obligation) bool {
	if len(a)+len(b) == 0 {
		return true
	}
	x, failed := json.Marshal(a)
	y, err := json.Marshal(b)
	return failed == nil && err == nil && bytes.Equal(x, y)
}

func askKey(policy, ask string) string { return policy + "\x00" + ask }

// decide asks the PDP, unless the gate itself refuses. Whatever goes wrong is a denial.
func (g *Gate) decide(ctx context.Context, x *crossing) (*policies.Request, policies.Decision) {
	r, err := g.request(x)
	var d policies.Decision
	if err == nil {
		if x.core != nil {
			d.Reasons, d.ReadHistory = x.core()
		}
		if d.Reasons == nil {
			d, err = g.consult(ctx, r)
		}
	}
	if err != nil {
		d = policies.Decision{Reasons: []policies.Reason{core(reasonPDP, err.Error())}, ReadHistory: true}
	}
	switch {
	case d.Effect == policies.NotApplicable:
		d.Effect = policies.Deny
	case d.Effect > policies.Allow:
		deny(&d, core(reasonPDP, fmt.Sprintf("got effect %d, want one that exists", d.Effect)))
	case d.Effect == policies.Ask && len(d.Approvals) == 0:
		deny(&d, core(reasonApproval, "got an ask without an approval to ask for"))
	}
	if d.ID == "" {
		d.ID = g.cfg.Session.Run + "/" + x.id
	}
	if d.Time.IsZero() {
		d.Time = g.cfg.Clock()
	}
	if d.Revision == "" {
		d.Revision = g.cfg.PDP.Revision()
	}
	d.Run, d.Call = g.cfg.Session.Run, x.id
	return r, d
}

// reloaded records that the policies are others than at the last decision, or that new ones were refused.
func (g *Gate) reloaded(x *crossing, revision string) {
	var last policies.Reload
	if p, ok := g.cfg.PDP.(policies.Reloader); ok {
		last = p.LastReload()
	}
	refused := last.Serial != g.reload && len(last.Problems) > 0
	g.reload = last.Serial
	if revision != g.decided {
		g.later(journal.Reloaded, x.id, journal.PoliciesReloaded{From: g.decided, Revision: revision})
		g.decided = revision
	}
	if refused {
		g.later(journal.Reloaded, x.id, journal.PoliciesReloaded{From: revision, Revision: revision, Problems: last.Problems})
	}
}

// consult calls the PDP. A panic of it is an error.
func (g *Gate) consult(ctx context.Context, r *policies.Request) (d policies.Decision, err error) {
	defer func() {
		if p := recover(); p != nil {
			d, err = policies.Decision{}, fmt.Errorf("the policy engine panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return g.cfg.PDP.Decide(ctx, r)
}

func core(id, message string) policies.Reason {
	return policies.Reason{ID: id, Policy: "core", Engine: "core", Effect: policies.Deny, Message: message}
}

// deny makes a decision deny, for one more reason.
func deny(d *policies.Decision, why policies.Reason) {
	d.Effect, d.Would, d.Approvals = policies.Deny, policies.Deny, nil
	d.Reasons = append(slices.Clone(d.Reasons), why)
}

// oblige reads the decision's obligations and turns it into a denial if one of them cannot be
// fulfilled, or into a denial or an ask if a limit is used up. It redacts the arguments before
// anybody sees them, says what approvals are bound to, and reserves what a call that goes on will cost; of a decision of the past all that has
// been done already.
func (g *Gate) oblige(ctx context.Context, x *crossing, r *policies.Request, d *policies.Decision, approved map[string]bool, past bool) verdict {
	v := verdict{past: label.Bottom(), outcome: x.in}
	x.final, x.digest = x.args, ""
	if d.ReadHistory {
		v.past, v.outcome = x.history, x.in.Join(x.history)
	}
	overLimit := slices.ContainsFunc(d.Reasons, func(r policies.Reason) bool { return r.Engine == engineLimit && r.Effect == policies.Deny })
	if d.Effect == policies.Deny && !(past && overLimit) {
		return v
	}
	var err error
	if v.duties, err = understand(x.kind, x.params, d.Obligations); err != nil {
		deny(d, core(reasonObligation, err.Error()))
		return v
	}
	if err := g.isolated(x.kind, v.tier); err != nil {
		deny(d, core(reasonIsolation, err.Error()))
		return v
	}
	if len(v.redact) > 0 {
		args := v.redactUnder(rootArgs, x.args, x.pc)
		if err := x.check(args); err != nil {
			deny(d, core(reasonObligation, "redacted arguments: "+err.Error()))
			return v
		}
		x.final, x.digest = args, ""
	}
	if len(approved) > 0 && x.binding() != x.bound { // policies that changed meanwhile would send what nobody has seen
		clear(approved)
	}
	if costs := charges(v.limits, r, g.root(), x.bits); len(costs) > 0 {
		v.past, v.outcome = x.history, x.in.Join(x.history)
		if !past {
			g.spend(ctx, costs, d, approved)
		}
	}
	if len(d.Approvals) > 0 {
		d.Approvals = slices.Clone(d.Approvals)
		binding := x.binding()
		for i := range d.Approvals {
			a := &d.Approvals[i]
			a.Binding, a.Count = binding, max(a.Count, 1)
		}
	}
	return v
}

// spend reserves the charges, unless there are still people to ask; a limit that is used up
// makes the decision deny or ask.
func (g *Gate) spend(ctx context.Context, costs []charge, d *policies.Decision, approved map[string]bool) {
	forced := func(c charge) bool { return approved[askKey(c.policy, c.id)] }
	pending := slices.ContainsFunc(d.Approvals, func(a policies.Approval) bool { return !approved[askKey(a.Policy, a.Ask)] })
	over, err := g.reserve(ctx, costs, forced, !pending)
	if err != nil {
		why := core(reasonPDP, "limits: "+err.Error())
		why.Engine = engineLimit
		deny(d, why)
		return
	}
	for _, c := range over {
		why := policies.Reason{
			ID: c.id, Policy: c.policy, Engine: engineLimit, Effect: policies.Deny,
			Message: fmt.Sprintf("costs %d; the limit is %d%s", c.amount, c.max, within(c.window)),
		}
		if !c.ask || d.Effect == policies.Deny {
			deny(d, why)
			continue
		}
		why.Effect = policies.Ask
		d.Effect, d.Reasons = policies.Ask, append(slices.Clone(d.Reasons), why)
		d.Approvals = append(slices.Clone(d.Approvals), policies.Approval{Ask: c.id, Policy: c.policy, Message: why.Message, Count: 1})
	}
}

func within(window time.Duration) string {
	if window == 0 {
		return ""
	}
	return " in " + window.String()
}

// isolated says why a call of a kind cannot be obliged to a tier: a program that is about to start can have what the host has; what
// a program does is in the tier that it runs in.
func (g *Gate) isolated(kind string, want Tier) error {
	if want == TierNone {
		return nil
	}
	if kind != policies.KindProgram {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.tier < want {
			return fmt.Errorf("isolation: got %s, want %s", g.tier, want)
		}
		return nil
	}
	if g.cfg.CanHave == nil {
		return fmt.Errorf("isolation: got %s, want %s", TierNone, want)
	}
	if err := g.cfg.CanHave(want); err != nil {
		return fmt.Errorf("isolation: want %s: %w", want, err)
	}
	return nil
}

// enter enters a call that may go on in the counts and in the history.
func (g *Gate) enter(x *crossing, v verdict, readHistory, asked bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if asked {
		g.counts.Asked++
	}
	switch x.kind {
	case policies.KindBuiltin:
		g.counts.Builtins[x.name]++
		g.memo = g.memo || readHistory
	case policies.KindObserve, policies.KindProgram:
	default:
		g.counts.Allowed++
	}
	changed := len(v.marks) > 0
	if x.kind == policies.KindTool || x.kind == policies.KindModel {
		g.done = maps.Clone(g.done)
		g.done[x.tool.Name]++
		changed = true
	}
	for _, m := range v.marks {
		g.marks = with(g.marks, m.name)
		if m.session {
			g.kept = with(g.kept, m.name)
		}
	}
	// A mark, and what was spent, depends on all that was decided on.
	g.history = g.history.Join(x.pc)
	if len(v.marks)+len(v.limits) > 0 {
		g.history = g.history.Join(v.outcome)
	}
	if changed && g.memo {
		g.forget, g.memo = true, false
	}
}

// with returns a sorted set with one more name; the set itself does not change.
func with(set []string, name string) []string {
	if i, ok := slices.BinarySearch(set, name); !ok {
		return slices.Insert(slices.Clone(set), i, name)
	}
	return set
}

// made is the event that records a decision.
func (x *crossing) made(d policies.Decision, origins map[string]string) journal.DecisionMade {
	return masked(journal.DecisionMade{
		Kind: x.kind, Tool: x.name, Args: x.journalled(), PC: x.pc, Program: x.program, Site: x.site,
		Effects: x.effects, Binding: x.binding(), Decision: d, Origins: origins,
	})
}
