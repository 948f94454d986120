package cel

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"callgate/policies"
	"callgate/spec"
)

// rules are the rules that can apply to calls with the same static properties. They
// implement [policies.Rules].
type rules struct {
	static  policies.Static
	statics *statics
	bound   []*bound
	reads   []string
	vars    int      // of all policies
	sinks   []string // that a leaf can have
}

// bound is what is left of a policy.
type bound struct {
	policy       *policy
	conditions   []boundCondition
	rules        []boundRule
	variables    []*program // by index; nil if no rule uses it
	base         int        // of its variables among those of all policies
	variableType *objectType
	callType     *objectType
}

type boundCondition struct {
	id   string // of the denial if it cannot be evaluated
	src  *expr
	test *program
}

// boundRule is what is left of a rule.
type boundRule struct {
	rule          *rule
	when          *program // nil: always
	message, args *program // may be nil
	obligations   []policies.Obligation
}

// states are kept for reuse: a decision makes none.
var states = sync.Pool{New: func() any { return newState() }}

// Reads implements [policies.Rules].
func (rs *rules) Reads() []string { return rs.reads }

// MayAllow implements [policies.Rules].
func (rs *rules) MayAllow() bool {
	return slices.ContainsFunc(rs.bound, func(b *bound) bool {
		return !b.policy.src.Audit && slices.ContainsFunc(b.rules, func(r boundRule) bool { return r.rule.src.Action == actionAllow && !r.rule.src.Audit })
	})
}

// Evaluate implements [policies.Rules]. A rule that cannot be evaluated is a denial if it denies or asks,
// and nothing if it allows or accepts. A request that does not have the properties that the rules
// were specialised for is an error.
func (rs *rules) Evaluate(ctx context.Context, r *policies.Request, out *policies.Findings) error {
	if len(rs.bound) == 0 {
		return ctx.Err()
	}
	if err := rs.verify(r); err != nil {
		return err
	}
	before := *out
	late, err := rs.evaluate(ctx, r, out)
	if late { // it may have been the machine that stalled
		*out = before
		late, err = rs.evaluate(ctx, r, out)
	}
	out.Volatile = out.Volatile || late
	return err
}

func (rs *rules) evaluate(ctx context.Context, r *policies.Request, out *policies.Findings) (late bool, err error) {
	s := states.Get().(*state)
	if err := s.show(ctx, r, rs.statics, rs.vars); err != nil {
		return false, err
	}
	defer func() {
		late = s.late
		s.release()
		states.Put(s)
	}()
	for _, b := range rs.bound {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		s.enter(b)
		if !b.applies(s, out) {
			continue
		}
		for i := 0; i < len(b.rules); {
			i = b.evaluate(s, i, out)
		}
	}
	return false, ctx.Err()
}

// verify makes sure that what was settled ahead holds for the request: a rule that was
// left out for another tool, or another kind of sink, must not be missed.
func (rs *rules) verify(r *policies.Request) error {
	s := &rs.static
	if r.Call.Tool != s.Tool || r.Call.Kind != s.Kind || r.Agent.Name != s.Agent || r.Principal.Sub != s.Principal ||
		!slices.Equal(r.Call.Effects, s.Effects) || !slices.Equal(r.Call.Sinks, s.Sinks) || !slices.Equal(r.Principal.Groups, s.Groups) {
		return fmt.Errorf("rules for %s %s: got a request for another tool, kind, agent or principal: %s %s", s.Kind, s.Tool, r.Call.Kind, r.Call.Tool)
	}
	for i := range r.Leaves {
		if l := &r.Leaves[i]; !slices.Contains(rs.sinks, l.Sink) {
			return fmt.Errorf("leaf %s: got sink %q, which %s does not declare", l.Path, l.Sink, s.Tool)
		}
	}
	return nil
}

// applies evaluates the match conditions. One that is false lets the policy rest; if none is, one
// that cannot be evaluated denies.
func (b *bound) applies(s *state, out *policies.Findings) (ok bool) {
	bad, why := -1, ref.Val(nil)
	for i := range b.conditions {
		switch b.condition(s, i) {
		case no:
			return false
		case failed:
			if bad < 0 {
				bad, why = i, s.err
			}
		}
	}
	if bad >= 0 {
		c := &b.conditions[bad]
		out.Reasons = append(out.Reasons, policies.Reason{
			ID: c.id, Policy: b.policy.src.Meta.Name, Effect: policies.Deny, Audit: b.policy.src.Audit, Engine: engineName,
			Message: "match condition " + notEvaluated + messageOf(why),
			File:    c.src.src.Pos.File, Line: c.src.src.Pos.Line,
		})
	}
	return bad < 0
}

func (b *bound) condition(s *state, i int) (v verdict) {
	defer func() {
		if p := recover(); p != nil {
			s.loops = s.loops[:0]
			v, s.err = failed, types.NewErr("panic: %v", p)
		}
	}()
	return s.holds(b.conditions[i].test)
}

func notBool(v ref.Val) ref.Val {
	if types.IsUnknownOrError(v) {
		return v
	}
	return types.NewErr("got %s, want bool", v.Type().TypeName())
}

// evaluate evaluates the rules from the i'th on and returns where to go on: after a rule that panicked,
// which counts as one that could not be evaluated.
func (b *bound) evaluate(s *state, i int, out *policies.Findings) (next int) {
	defer func() {
		if p := recover(); p != nil {
			s.leaf, s.loops = nil, s.loops[:0]
			b.fail(&b.rules[i], types.NewErr("panic: %v", p), out)
			next = i + 1
		}
	}()
	for ; i < len(b.rules); i++ {
		r := &b.rules[i]
		obliges := r.rule.src.Action == actionOblige
		if !r.rule.src.EachLeaf {
			switch {
			case !b.holds(s, r, out):
			case obliges:
				b.oblige(r, out)
			default:
				b.fire(s, r, out)
			}
			continue
		}
		s.viewLeaves()
		from, fired := len(out.Reasons), false
		for j := range s.leaves {
			s.leaf = &s.leaves[j]
			if !b.holds(s, r, out) {
				continue
			}
			if fired = true; !obliges {
				b.fireLeaf(s, r, from, out)
			}
		}
		s.leaf = nil
		if !obliges {
			b.follow(r, from, out)
		} else if fired {
			b.oblige(r, out)
		}
	}
	return i
}

// holds evaluates the condition of a rule.
func (b *bound) holds(s *state, r *boundRule, out *policies.Findings) bool {
	if r.when == nil {
		return true
	}
	switch s.holds(r.when) {
	case yes:
		return true
	case failed:
		b.fail(r, s.err, out)
	}
	return false
}

// reason returns a reason of the rule.
func (b *bound) reason(r *boundRule, effect policies.Effect) policies.Reason {
	src := r.rule.src
	return policies.Reason{
		ID: src.ID, Policy: b.policy.src.Meta.Name, Effect: effect, Audit: b.policy.src.Audit || src.Audit, Engine: engineName,
		File: src.Pos.File, Line: src.Pos.Line,
	}
}

// notEvaluated is in the message of a denial for want of an evaluation.
const notEvaluated = policies.RuleFailed + ": "

// fail records a rule that could not be evaluated.
func (b *bound) fail(r *boundRule, why ref.Val, out *policies.Findings) {
	switch r.rule.src.Action {
	case actionAllow, actionAccept:
		return
	}
	reason := b.reason(r, policies.Deny)
	reason.Message = "rule " + notEvaluated + messageOf(why)
	if n := len(out.Reasons); n > 0 && out.Reasons[n-1].ID == reason.ID && out.Reasons[n-1].Policy == reason.Policy && out.Reasons[n-1].Args == nil {
		return // for one leaf after another
	}
	out.Reasons = append(out.Reasons, reason)
}

// fire records a rule that fired.
func (b *bound) fire(s *state, r *boundRule, out *policies.Findings) {
	var args []string
	if r.args != nil {
		var ok bool
		if args, ok = pathsOf(s.evaluate(r.args)); !ok && r.rule.src.Action == actionAccept {
			return
		}
	}
	if r.rule.src.Action == actionAccept && len(args) == 0 {
		return
	}
	reason := b.reason(r, effects[r.rule.src.Action])
	reason.Accept = r.rule.src.Action == actionAccept
	reason.Message, reason.Args = b.message(s, r), args
	out.Reasons = append(out.Reasons, reason)
	b.follow(r, len(out.Reasons)-1, out)
}

// maxMessages is how many messages a rule may have for the leaves of one call; past that, its
// text stands for them.
const maxMessages = 64

// fireLeaf records a rule that fired for a leaf. Leaves with the same message share a reason, of those
// from the given one on.
func (b *bound) fireLeaf(s *state, r *boundRule, from int, out *policies.Findings) {
	reason := b.reason(r, effects[r.rule.src.Action])
	reason.Accept = r.rule.src.Action == actionAccept
	if reason.Message = r.rule.src.Message; len(out.Reasons)-from < maxMessages {
		reason.Message = b.message(s, r)
	}
	path := s.leaf.leaf.Path
	for i := from; i < len(out.Reasons); i++ {
		if have := &out.Reasons[i]; sameButArgs(have, &reason) && len(have.Args) > 0 {
			have.Args = append(have.Args, path)
			return
		}
	}
	reason.Args = []string{path}
	out.Reasons = append(out.Reasons, reason)
}

func sameButArgs(a, b *policies.Reason) bool {
	return a.ID == b.ID && a.Policy == b.Policy && a.Effect == b.Effect && a.Accept == b.Accept && a.Message == b.Message
}

var effects = map[string]policies.Effect{
	actionDeny:   policies.Deny,
	actionAsk:    policies.Ask,
	actionAllow:  policies.Allow,
	actionAccept: policies.NotApplicable,
}

// follow records the approvals and obligations of the rule's reasons from the given one on. A rule in
// audit mode asks for nothing.
func (b *bound) follow(r *boundRule, from int, out *policies.Findings) {
	src := r.rule.src
	fired := false
	for i := from; i < len(out.Reasons); i++ {
		reason := &out.Reasons[i]
		if reason.Audit || reason.Effect != effects[src.Action] { // the latter: it could not be evaluated
			continue
		}
		fired = true
		if reason.Effect == policies.Ask {
			out.Approvals = append(out.Approvals, policies.Approval{
				Ask: src.ID, Policy: reason.Policy, Message: reason.Message, Args: slices.Clone(reason.Args),
				Approvers: src.Approvers, Count: max(src.Count, 1), OtherThan: src.OtherThan, TTL: src.TTL,
			})
		}
	}
	if fired {
		out.Obligations = append(out.Obligations, r.obligations...)
	}
}

// oblige records the obligations of a rule that has nothing else to say.
func (b *bound) oblige(r *boundRule, out *policies.Findings) {
	if !b.policy.src.Audit && !r.rule.src.Audit {
		out.Obligations = append(out.Obligations, r.obligations...)
	}
}

// message returns what the rule says to people: its text if its expression fails.
func (b *bound) message(s *state, r *boundRule) string {
	if r.message != nil {
		if text, ok := s.evaluate(r.message).(types.String); ok {
			return string(text)
		}
	}
	return r.rule.src.Message
}

// pathsOf returns the texts of a list.
func pathsOf(v ref.Val) ([]string, bool) {
	l, ok := v.(traits.Lister)
	if !ok {
		return nil, false
	}
	var out []string
	for it := l.Iterator(); it.HasNext() == types.True; {
		text, ok := it.Next().(types.String)
		if !ok {
			return nil, false
		}
		out = append(out, string(text))
	}
	return out, true
}

// obligationsOf returns the obligations of a rule.
func obligationsOf(p *policy, r *rule) []policies.Obligation {
	var out []policies.Obligation
	for _, in := range r.src.Obligations {
		out = append(out, obligationOf(p.src.Meta.Name, r.src, in))
	}
	return out
}

// obligationOf returns one obligation of a rule as it is written; its id is the rule's unless it has one of its own.
func obligationOf(policy string, r *spec.Rule, in map[string]any) policies.Obligation {
	o := policies.Obligation{ID: r.ID, Policy: policy, Fields: maps.Clone(in)}
	o.Type, _ = in["type"].(string)
	if id, ok := in["id"].(string); ok {
		o.ID = id
	}
	delete(o.Fields, "type")
	delete(o.Fields, "id")
	return o
}
