package cel

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/parser"

	"callgate/policies"
)

// Rules lists the rules of every policy, in the order in which they were given.
func (e *Engine) Rules() []policies.Rule {
	var out []policies.Rule
	for _, p := range e.policies {
		for _, r := range p.rules {
			out = append(out, p.described(r))
		}
	}
	return out
}

// described describes a rule.
func (p *policy) described(r *rule) policies.Rule {
	action := r.src.Action
	if action == actionOblige {
		action = "obligation"
	}
	return policies.Rule{Policy: p.src.Meta.Name, ID: r.src.ID, Engine: engineName, Action: action, Audit: p.src.Audit || r.src.Audit, Pos: r.src.Pos}
}

// maxSteps is how many steps of a rule are explained.
const maxSteps = 64

// Explain evaluates every rule for a request and says why it fired or did not. It is
// slow, as it evaluates each part of each condition by itself.
func (e *Engine) Explain(ctx context.Context, s policies.Static, r *policies.Request) ([]policies.Explanation, error) {
	rs, err := e.For(ctx, s)
	if err != nil {
		return nil, err
	}
	var found policies.Findings
	if err := rs.Evaluate(ctx, r, &found); err != nil {
		return nil, err
	}
	var out []policies.Explanation
	for _, p := range e.policies {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x, err := newExplainer(ctx, p, s, r, e.vocabulary)
		if err != nil {
			return nil, err
		}
		out = append(out, x.explain(s, found)...)
		x.state.release()
	}
	return out, nil
}

// explainer evaluates the parts of one policy's conditions.
type explainer struct {
	*policy
	state *state
	env   *celgo.Env // keeps what macros were written as
}

func newExplainer(ctx context.Context, p *policy, s policies.Static, r *policies.Request, vocabulary []string) (*explainer, error) {
	env, err := p.checker.Extend(celgo.EnableMacroCallTracking())
	if err != nil {
		return nil, err
	}
	x := &explainer{policy: p, state: newState(), env: env}
	if err := x.state.show(ctx, r, newStatics(s, vocabulary), len(p.variables)); err != nil {
		return nil, err
	}
	b := &bound{policy: p, variableType: p.types.own[typeVariables], callType: documentTypes[typeCall]}
	for _, v := range p.variables {
		b.variables = append(b.variables, &program{plan: v.plan.plan, counted: v.plan.counted})
	}
	x.state.enter(b)
	return x, nil
}

// explain explains the rules of the policy.
func (x *explainer) explain(s policies.Static, found policies.Findings) []policies.Explanation {
	var missing []policies.Step
	if !policies.Matches(x.src.Match, s) {
		missing = append(missing, policies.Step{Text: "match", Value: "false"})
	}
	for _, c := range x.conditions {
		for _, step := range x.steps(c, "") {
			if step.Value == "false" {
				missing = append(missing, step)
			}
		}
	}
	var out []policies.Explanation
	for _, r := range x.rules {
		e := policies.Explanation{
			Rule:    x.described(r),
			Outcome: policies.RuleNotHeld,
		}
		for _, f := range found.Reasons {
			if f.Policy == e.Policy && f.ID == e.ID {
				e.Outcome, e.Args = policies.RuleFired, append(e.Args, f.Args...)
				if strings.Contains(f.Message, notEvaluated) {
					e.Outcome = policies.RuleFailed
				}
			}
		}
		for _, o := range obligationsOf(x.policy, r) {
			obliged := func(f policies.Obligation) bool { return f.Policy == o.Policy && f.Type == o.Type && f.ID == o.ID }
			if r.src.Action == actionOblige && slices.ContainsFunc(found.Obligations, obliged) {
				e.Outcome = policies.RuleFired
			}
		}
		switch {
		case len(missing) > 0 && e.Outcome == policies.RuleNotHeld:
			e.Outcome, e.Steps = policies.RuleUnbound, missing
		case r.src.EachLeaf:
			x.state.viewLeaves()
			for i := range x.state.leaves {
				x.state.leaf = &x.state.leaves[i]
				e.Steps = append(e.Steps, x.steps(r.when, x.state.leaf.leaf.Path)...)
			}
			x.state.leaf = nil
		default:
			e.Steps = x.steps(r.when, "")
		}
		e.Steps = e.Steps[:min(len(e.Steps), maxSteps)]
		out = append(out, e)
	}
	return out
}

// steps evaluates the operands of a condition's &&.
func (x *explainer) steps(of *expr, leaf string) []policies.Step {
	compiled, iss := x.env.Compile(of.src.Text)
	if iss.Err() != nil {
		return []policies.Step{{Text: of.src.Text, Value: iss.Err().Error()}}
	}
	checked := compiled.NativeRep()
	var out []policies.Step
	for _, e := range operands(checked.Expr(), operators.LogicalAnd, nil) {
		step := policies.Step{Text: written(checked, e), Leaf: leaf, Value: show(x.evaluate(of, checked, e))}
		if args, ok := comparisonOf(e); ok {
			for _, a := range args {
				if a.Kind() != ast.LiteralKind && a.Kind() != ast.ListKind {
					step.Values = append(step.Values, written(checked, a)+" = "+show(x.evaluate(of, checked, a)))
				}
			}
		}
		out = append(out, step)
	}
	return out
}

// comparisonOf returns the sides of a comparison.
func comparisonOf(e ast.Expr) ([]ast.Expr, bool) {
	if e.Kind() != ast.CallKind || e.AsCall().IsMemberFunction() || len(e.AsCall().Args()) != 2 {
		return nil, false
	}
	f := e.AsCall().FunctionName()
	return e.AsCall().Args(), mirrored[f] != "" || f == operators.In
}

func (x *explainer) evaluate(of *expr, checked *ast.AST, e ast.Expr) (v ref.Val) {
	defer func() {
		if p := recover(); p != nil {
			v = types.NewErr("panic: %v", p)
		}
	}()
	p, err := newProgram(of, part(checked, e), x.interpreter, x.env)
	if err != nil {
		return types.WrapErr(err)
	}
	p.cost = costCounted
	return x.state.evaluate(p)
}

// written writes a part of an expression as CEL.
func written(checked *ast.AST, e ast.Expr) string {
	s, err := parser.Unparse(e, checked.SourceInfo())
	if err != nil {
		return "…"
	}
	return strings.Join(strings.Fields(s), " ")
}

// show writes a value for people.
func show(v ref.Val) string {
	const most = 5
	switch v := v.(type) {
	case *types.Err:
		return messageOf(v)
	case types.String:
		if len(v) > 80 {
			v = v[:80] + "…"
		}
		return strconv.Quote(string(v))
	case types.Null:
		return "null"
	case *types.Optional:
		if !v.HasValue() {
			return "none"
		}
		return show(v.GetValue())
	case *object:
		return v.of.name
	case traits.Lister:
		var parts []string
		for it := v.Iterator(); it.HasNext() == types.True; {
			if len(parts) == most {
				parts = append(parts, "…")
				break
			}
			parts = append(parts, show(it.Next()))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case traits.Mapper:
		return fmt.Sprintf("a map of %v", v.Size())
	}
	return fmt.Sprint(v.Value())
}
