// Package rego is a policy decision engine of Rego modules and bundles, on OPA.
//
// A Policy owns packages callgate.policy.<name>, whose partial sets deny, ask,
// allow, accept and obligations are evaluated for every call that the policy matches, and united. Packages outside
// callgate hold helpers; data.callgate.lib is shipped. See spec/decision.md.
//
// Whatever cannot be evaluated is a denial: a builtin that fails in deny, ask or
// obligations, an element of the wrong shape, a rule that runs past its time. In allow and accept it grants nothing.
package rego

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"callgate/policies"
	"callgate/spec"
)

// Config is what an [Engine] is made of.
type Config struct {
	// Policies are the policies; those without Rego are left out.
	Policies []spec.Policy

	// Params is data.params. A policy's own params stand at data.params.<name>, below what Params has there. An agent's own policies
	// see only their own.
	Params map[string]any

	// Tools are the granted tools, for data.callgate.tools and the schemas schema.tools.<name>.
	Tools []policies.ToolSchema
}

// Engine evaluates Rego. It is safe for concurrent use and never changes.
type Engine struct {
	revision string
	units    []*unit // the host's, and the agents' own apart, so that neither can add to the other

	mu       sync.Mutex
	programs map[string]*pending
}

// New loads every module and bundle, and checks them all. The problems are sorted;
// if one is more than a warning the engine is nil.
func New(cfg Config) (*Engine, []spec.Problem) {
	e := &Engine{programs: map[string]*pending{}}
	host, problems := load(cfg, false)
	own, more := load(cfg, true)
	problems = spec.SortProblems(append(problems, more...))
	if spec.Fatal(problems) {
		return nil, problems
	}
	var digests []string
	for _, u := range []*unit{host, own} {
		if len(u.packs) > 0 {
			e.units = append(e.units, u)
			digests = append(digests, u.digest)
		}
	}
	e.revision = digest(digests...)
	return e, problems
}

// Name returns "rego".
func (e *Engine) Name() string { return "rego" }

// Revision implements [policies.Engine].
func (e *Engine) Revision() string { return e.revision }

// Tags returns the texts in the policies that may be tags which they look for.
func (e *Engine) Tags() []string {
	var out []string
	for _, u := range e.units {
		out = append(out, u.vocabulary...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// For implements [policies.Engine]: the rules of the policies that match, partially evaluated for the call's kind, tool,
// effects and sinks. Calls for other agents and principals share them if the same policies match.
func (e *Engine) For(ctx context.Context, s policies.Static) (policies.Rules, error) {
	rules := &rules{}
	for i, u := range e.units {
		var matched []int
		for j, p := range u.packs {
			if policies.Matches(p.policy.Match, s) && policies.Matches(p.match, s) && (p.tools == nil || slices.Contains(p.tools, s.Tool)) {
				matched = append(matched, j)
			}
		}
		if len(matched) == 0 {
			continue
		}
		known := known{Kind: s.Kind, Tool: s.Tool, Effects: s.Effects, Sinks: s.Sinks}
		if s.Kind == policies.KindBuiltin {
			known.Tool = "" // there are many, and hardly a rule tells them apart: evaluated with the rest
		}
		p, err := e.program(ctx, u, fmt.Sprint(i, matched, known), matched, known)
		if err != nil {
			return nil, err
		}
		rules.programs = append(rules.programs, p)
	}
	return rules, nil
}

// known is what rules are partially evaluated for.
type known struct {
	Kind, Tool     string
	Effects, Sinks []string
}

// pending is a program that is made once.
type pending struct {
	once    sync.Once
	program *program
	err     error
}

// maxPrograms bounds the memo; past it, it starts anew.
const maxPrograms = 4096

func (e *Engine) program(ctx context.Context, u *unit, key string, matched []int, k known) (*program, error) {
	e.mu.Lock()
	p := e.programs[key]
	if p == nil {
		if len(e.programs) >= maxPrograms {
			clear(e.programs)
		}
		p = &pending{}
		e.programs[key] = p
	}
	e.mu.Unlock()
	p.once.Do(func() { p.program, p.err = u.specialise(context.WithoutCancel(ctx), matched, k) })
	return p.program, p.err
}

// rules are the programs of one Static.
type rules struct{ programs []*program }

// Reads implements [policies.Rules].
func (r *rules) Reads() []string {
	var out []string
	for _, p := range r.programs {
		out = append(out, p.reads...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// MayAllow implements [policies.Rules].
func (r *rules) MayAllow() bool { return slices.ContainsFunc(r.programs, (*program).mayAllow) }

// Evaluate implements [policies.Rules].
func (r *rules) Evaluate(ctx context.Context, req *policies.Request, out *policies.Findings) error {
	if len(r.programs) == 0 {
		return nil
	}
	before := *out
	err := r.evaluate(ctx, req, out)
	if errors.Is(err, errTime) { // it may have been the machine that stalled
		*out = before
		err = r.evaluate(ctx, req, out)
	}
	return err
}

func (r *rules) evaluate(ctx context.Context, req *policies.Request, out *policies.Findings) error {
	limit := newLimit(ctx, evaluationSteps, evaluationTime)
	defer limit.stop()
	for _, p := range r.programs {
		if err := p.evaluate(ctx, limit, req, out); err != nil {
			return err
		}
	}
	return nil
}

// packageName returns the name of a policy's package in data.params: letters,
// digits and underscores.
func packageName(policy string) string {
	return strings.Map(func(c rune) rune {
		if c == '-' || c == '.' || c == ' ' {
			return '_'
		}
		return c
	}, policy)
}
