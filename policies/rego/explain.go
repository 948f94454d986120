package rego

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"callgate/policies"

	"github.com/open-policy-agent/opa/v1/ast"
)

// actions are the names of what rules of the sets do.
var actions = [setCount]string{"deny", "ask", "allow", "accept", "obligation"}

// Rules lists the rules of every policy by package, set and place. Definitions of one id are one rule.
func (e *Engine) Rules() []policies.Rule {
	var out []policies.Rule
	for _, u := range e.units {
		for _, p := range u.packs {
			out = append(out, p.rules()...)
		}
	}
	return out
}

func (p *pack) rules() []policies.Rule {
	var out []policies.Rule
	for set := range setCount {
		for _, id := range slices.Sorted(maps.Keys(p.sets[set])) {
			r := p.sets[set][id]
			out = append(out, policies.Rule{
				Policy: p.policy.Meta.Name, ID: strings.TrimSuffix(id, "/"), Engine: "rego", Action: actions[set], Audit: p.audit || r.audit, Pos: r.pos,
			})
		}
	}
	slices.SortStableFunc(out, func(a, b policies.Rule) int {
		return cmp.Or(strings.Compare(a.Pos.File, b.Pos.File), a.Pos.Line-b.Pos.Line)
	})
	return out
}

// Explain evaluates every rule for a request, whole and with a trace, and says why it fired or did not. It is slow.
func (e *Engine) Explain(ctx context.Context, s policies.Static, r *policies.Request) ([]policies.Explanation, error) {
	bound, err := e.For(ctx, s)
	if err != nil {
		return nil, err
	}
	var found policies.Findings
	if err := bound.Evaluate(ctx, r, &found); err != nil {
		return nil, err
	}
	var out []policies.Explanation
	for _, u := range e.units {
		w := why{compiler: u.compiler, store: u.store, txn: u.txn}
		w.request(r, u.vocabulary)
		for _, p := range u.packs {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			out = append(out, p.explain(ctx, w, s, found)...)
		}
	}
	return out, nil
}

// explain explains the rules of one package.
func (p *pack) explain(ctx context.Context, w why, s policies.Static, found policies.Findings) []policies.Explanation {
	var out []policies.Explanation
	applies := policies.Matches(p.policy.Match, s) && policies.Matches(p.match, s)
	steps, failed := map[string][]policies.Step{}, map[string]error{}
	for set := range setCount {
		if p.sets[set] == nil || !applies {
			continue
		}
		t, err := w.attempts(ctx, slot{p, set}.ref())
		if err != nil {
			failed[actions[set]] = err
		}
		for _, a := range t.all {
			if a.rule == nil || a.rule.Module == nil || !a.rule.Module.Package.Path.Equal(p.path) || a.rule.Head.Name.String() != setNames[set] {
				continue
			}
			if id := compiledID(set, a.rule); id != "" {
				key := actions[set] + " " + id
				steps[key] = append(steps[key], t.steps(a, maxDepth)...)
			}
		}
	}
	for _, rule := range p.rules() {
		x := policies.Explanation{Rule: rule, Outcome: policies.RuleNotHeld}
		x.Steps = steps[rule.Action+" "+rule.ID]
		x.Steps = x.Steps[:min(len(x.Steps), maxWhy)]
		switch {
		case !applies:
			x.Outcome = policies.RuleUnbound
			x.Steps = []policies.Step{{Text: "match", Value: "false"}}
		case hasFired(rule, found, &x.Args):
			x.Outcome = policies.RuleFired
		case failed[rule.Action] != nil:
			x.Outcome = policies.RuleFailed
			x.Steps = append(x.Steps, policies.Step{Text: setNames[slices.Index(actions[:], rule.Action)], Value: failed[rule.Action].Error()})
		}
		out = append(out, x)
	}
	return out
}

// hasFired reports whether a rule is among what fired, and for which leaves.
func hasFired(rule policies.Rule, found policies.Findings, args *[]string) (yes bool) {
	for _, r := range found.Reasons {
		action := r.Effect.String()
		if r.Accept {
			action = "accept"
		}
		if r.Engine == "rego" && r.Policy == rule.Policy && r.ID == rule.ID && action == rule.Action {
			yes = true
			for _, a := range r.Args {
				if !slices.Contains(*args, a) {
					*args = append(*args, a)
				}
			}
		}
	}
	for _, o := range found.Obligations {
		id := strings.TrimSuffix(o.Type+"/"+o.ID, "/")
		yes = yes || rule.Action == "obligation" && o.Policy == rule.Policy && id == rule.ID
	}
	return yes
}

// compiledID returns the literal id of the elements that a compiled rule makes, as [pack.rules] has it; "" if it is not found.
// The compiler has taken what is not constant out of the head.
func compiledID(set setKind, r *ast.Rule) string {
	head := inlined(r.Body, r.Head.Key, 4)
	if s, ok := head.Value.(ast.String); ok {
		return string(s)
	}
	id, err := literal(head, "id")
	if set != obligationSet {
		return id
	}
	kind, kindErr := literal(head, "type")
	if err != nil && kindErr != nil {
		return ""
	}
	return strings.TrimSuffix(fmt.Sprint(kind, "/", id), "/")
}

// inlined puts what a body assigns to a variable in the variable's place.
func inlined(body ast.Body, t *ast.Term, depth int) *ast.Term {
	v, ok := t.Value.(ast.Var)
	if !ok || depth == 0 {
		return t
	}
	if to := assigned(body, v); to != nil {
		return inlined(body, to, depth-1)
	}
	for _, e := range body {
		terms, ok := e.Terms.([]*ast.Term)
		if ok && len(terms) == 4 && terms[0].String() == "object.union" && terms[3].Equal(t) {
			return ast.CallTerm(terms[0], inlined(body, terms[1], depth-1), inlined(body, terms[2], depth-1))
		}
	}
	return t
}
