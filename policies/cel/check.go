package cel

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/containers"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"callgate/policies"
)

// What expressions may say of call.args is settled tool by tool. A rule is checked
// against each tool that it can apply to: the policy's match, its match conditions and
// the rule's own condition do not exclude it.
//
//   - call.args.x: if the rule names the tool (match.tools, or a test such as call.tool == "…"),
//     the tool must have the parameter. If it binds by effects, sinks or nothing at
//     all, one of the tools must have it; for those that lack it the access is an error at the call.
//   - call.args.?x and has(call.args.x): one of the tools must have the parameter; for the
//     others it is absent.
//
// A parameter that a tool has is of its schema's type.

// tool is a tool with its types.
type tool struct {
	schema  policies.ToolSchema
	static  policies.Static
	args    *argType
	objects []*objectType
}

func newTool(t policies.ToolSchema) *tool {
	out := &tool{schema: t, static: policies.Static{
		Kind: policies.KindTool, Tool: t.Name, Effects: t.Effects, Sinks: t.SinkKinds(),
	}}
	out.args, out.objects = argsType(t)
	return out
}

func (t *tool) has(param string) bool { return t.args.object.fields[param] != nil }

// toolTypes are the types that a policy's expressions have for one tool.
type toolTypes struct {
	types     *provider
	call      *objectType
	variables *objectType
}

// typesFor returns the policy's types for a tool. The parameters of others are known
// to be absent.
func (p *policy) typesFor(t *tool, others map[string]bool) *toolTypes {
	args := *t.args.object
	args.others = others
	shown := *t.args
	shown.object = &args
	out := &toolTypes{
		call:      newCallType(args.typ, func(from any) ref.Val { return shown.show(&from.(*state).r.Call.Args) }),
		variables: newObjectType(typeVariables),
	}
	own := maps.Clone(p.types.own)
	for _, o := range t.objects {
		own[o.name] = o
	}
	own[args.name], own[typeCall], own[typeVariables] = &args, out.call, out.variables
	out.types = &provider{own: own}
	return out
}

// check checks an expression, or what is left of it, against a tool's types.
func (tt *toolTypes) check(x *expr, e ast.Expr) (*ast.AST, []finding) {
	env, err := x.env.checkerFor(tt.types)
	if err != nil {
		return nil, []finding{{text: err.Error()}}
	}
	parsed := ast.NewAST(ast.NewExprFactory().CopyExpr(e), ast.CopySourceInfo(x.ast.SourceInfo()))
	checked, errs := checker.Check(parsed, x.parsed.Source(), env)
	if list := errs.GetErrors(); len(list) > 0 {
		return nil, x.explain(tt.types, list)
	}
	got := checked.GetType(checked.Expr().ID())
	if x.want != nil && !assignable(x.want, got) {
		return nil, []finding{{id: e.ID(), text: fmt.Sprintf("got %s, want %s", got, x.want)}}
	}
	return checked, nil
}

// checkerFor returns a checker with the functions that every expression has and the types of p.
func (e *environment) checkerFor(p *provider) (*checker.Env, error) {
	return checker.NewEnv(containers.DefaultContainer, p,
		checker.CrossTypeNumericComparisons(true), checker.ValidatedDeclarations(e.declarations))
}

// unit is a rule, or all match conditions, with the tools that it can apply to.
type unit struct {
	denies bool // if it cannot be evaluated
	parts  []*expr
	tools  []*candidate
	others map[string]bool // the parameters of all of these
}

type candidate struct {
	*tool
	named bool       // the policy or the unit names it
	left  []ast.Expr // of each part
}

// units returns the rules whose types depend on the tool.
func (p *policy) units() []*unit {
	var out []*unit
	add := func(denies bool, parts ...*expr) {
		u := &unit{denies: denies}
		for _, x := range parts {
			if x != nil && x.ok {
				u.parts = append(u.parts, x)
			}
		}
		if slices.ContainsFunc(u.parts, func(x *expr) bool { return x.asksArg }) {
			out = append(out, u)
		}
	}
	add(true, p.conditions...)
	for _, r := range p.rules {
		add(r.src.Action == actionDeny || r.src.Action == actionAsk, r.when, r.message, r.args)
	}
	return out
}

// checkTools checks the policy's expressions against each tool that they can apply to.
func (p *policy) checkTools(tools map[string]*tool) {
	units := p.units()
	if len(units) == 0 || len(tools) == 0 {
		return
	}
	var known []*tool
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		if policies.MatchesTool(p.src.Match, tools[name].schema) {
			known = append(known, tools[name])
		}
	}
	named := slices.ContainsFunc(p.src.Match.Tools, func(g string) bool { return strings.Trim(g, "*") != "" })
	for _, t := range known {
		f := newFacts(t.static, false)
		excluded, byCondition := false, named
		for _, c := range p.conditions {
			settled, _ := p.settleExpr(c, f)
			excluded = excluded || settled == never
			byCondition = byCondition || c.condition != nil && p.names(c.condition, f)
		}
		if excluded {
			continue
		}
		for _, u := range units {
			if c := p.candidate(u, t, f, byCondition); c != nil {
				u.tools = append(u.tools, c)
			}
		}
	}
	for _, u := range units {
		p.checkUnit(u)
	}
}

// candidate returns a tool as one that the unit can apply to, or nil.
func (p *policy) candidate(u *unit, t *tool, f *facts, named bool) *candidate {
	c := &candidate{tool: t, named: named}
	for _, x := range u.parts {
		settled, rest := p.settleExpr(x, f)
		if settled == never && x.condition != nil && x.want == types.BoolType {
			return nil
		}
		if x.condition != nil && x.want == types.BoolType && p.names(x.condition, f) {
			c.named = true
		}
		c.left = append(c.left, rest)
	}
	return c
}

// settleExpr settles an expression; what is left is nil if nothing is.
func (p *policy) settleExpr(x *expr, f *facts) (truth, ast.Expr) {
	if !x.ok {
		return unsettled, nil
	}
	if x.condition == nil || x.want != types.BoolType {
		return unsettled, x.ast.Expr()
	}
	t, rest := p.settle(x.condition, f)
	if t != unsettled {
		rest = nil
	}
	return t, rest
}

// names reports whether a condition asks for the tool by name and gets it.
func (p *policy) names(c *condition, f *facts) bool {
	switch c.op {
	case isTest:
		return c.test.tool && !c.negated && c.test.plan == nil && c.test.settle(f) == always
	case isVariable:
		v := p.variables[c.variable].condition
		return v != nil && p.names(v, f)
	case isNot:
		return false
	}
	return slices.ContainsFunc(c.kids, func(k *condition) bool { return p.names(k, f) })
}

// place is a node of an expression.
type place struct {
	x  *expr
	id int64
	at common.Location
}

// toolFindings collects what is found in a unit, tool by tool: of each place what was
// found first, and for which tools.
type toolFindings struct {
	order []place
	first map[place]finding
	tools map[place][]string
}

func (t *toolFindings) add(x *expr, tool string, fs []finding) {
	for _, f := range fs {
		k := place{x, f.id, f.at}
		if have, ok := t.first[k]; !ok {
			t.order = append(t.order, k)
			t.first[k] = f
		} else if have.warn && !f.warn {
			t.first[k], t.tools[k] = f, nil
		} else if f.warn && !have.warn {
			continue
		}
		t.tools[k] = append(t.tools[k], tool)
	}
}

// checkUnit checks a unit against its tools and reports each problem once.
func (p *policy) checkUnit(u *unit) {
	u.others = map[string]bool{}
	for _, c := range u.tools {
		for _, name := range c.args.object.order {
			u.others[name] = true
		}
	}
	found := &toolFindings{first: map[place]finding{}, tools: map[place][]string{}}
	for _, c := range u.tools {
		name := c.schema.Name
		tt := p.typesFor(c.tool, u.others)
		p.declareVariables(tt, p.uses(u.parts), func(x *expr, checked *ast.AST, fs []finding) {
			found.add(x, name, fs)
			if checked != nil {
				found.add(x, name, c.missing(checked.Expr(), u))
			}
		})
		for i, x := range u.parts {
			if c.left[i] == nil || !x.asksArg {
				continue
			}
			checked, fs := tt.check(x, c.left[i])
			found.add(x, name, fs)
			if checked != nil {
				found.add(x, name, c.missing(checked.Expr(), u))
			}
		}
	}
	for _, k := range found.order {
		f, tools := found.first[k], found.tools[k]
		switch {
		case len(tools) > 1:
			f.text += fmt.Sprintf(" (for %s and %d more)", tools[0], len(tools)-1)
		case !strings.Contains(f.text, tools[0]):
			f.text += fmt.Sprintf(" (for %s)", tools[0])
		}
		k.x.report(f)
	}
}

// missing returns the parameters that an expression takes for granted and the tool lacks. That
// the tool need not be given one, or that it is one of many that the rule binds without naming
// them, is a warning where an error denies.
func (c *candidate) missing(e ast.Expr, u *unit) []finding {
	var out []finding
	asked := map[string]bool{}
	walk(e, nil, func(e ast.Expr, s *scope) bool {
		if e.Kind() == ast.SelectKind && e.AsSelect().IsTestOnly() && s.path(e.AsSelect().Operand()) == pathArgs {
			asked[e.AsSelect().FieldName()] = true
		}
		return true
	})
	walk(e, nil, func(e ast.Expr, s *scope) bool {
		if e.Kind() != ast.SelectKind || e.AsSelect().IsTestOnly() || s.path(e.AsSelect().Operand()) != pathArgs {
			return true
		}
		name := e.AsSelect().FieldName()
		optional := fmt.Sprintf("write call.args.?%s.orValue(…), or ask has(call.args.%s) first", name, name)
		switch {
		case asked[name]:
		case !c.has(name) && c.named:
			out = append(out, finding{id: e.ID(), text: noParameter(c.schema.Name, name), hint: nearestOf(name, c.args.object.order)})
		case !c.has(name) && u.denies:
			out = append(out, finding{id: e.ID(), text: noParameter(c.schema.Name, name) + ": its calls are denied", hint: optional, warn: true})
		case c.has(name) && u.denies && !c.required(name):
			out = append(out, finding{id: e.ID(), text: fmt.Sprintf("'%s' may be left out in calls of %s, which are denied then", name, c.schema.Name), hint: optional, warn: true})
		}
		return true
	})
	return out
}

func noParameter(tool, name string) string {
	return fmt.Sprintf("%s has no parameter '%s'", tool, name)
}

func (t *tool) required(param string) bool {
	return slices.ContainsFunc(t.schema.Params, func(p policies.ParamSchema) bool { return p.Name == param && p.Required })
}

// declareVariables types the variables that are used, in order. It returns those whose
// types depend on the tool, as checked.
func (p *policy) declareVariables(tt *toolTypes, used []bool, report func(*expr, *ast.AST, []finding)) []*ast.AST {
	out := make([]*ast.AST, len(p.variables))
	for i, v := range p.variables {
		typ := types.DynType
		switch {
		case !v.ok:
		case !v.asksArg:
			typ = v.ast.GetType(v.ast.Expr().ID())
		case used[i]:
			checked, fs := tt.check(v, v.ast.Expr())
			report(v, checked, fs)
			if checked != nil {
				typ, out[i] = checked.GetType(checked.Expr().ID()), checked
			}
		}
		tt.variables.add(v.src.Name, typ, variableGetter(i), nil)
	}
	return out
}

// uses returns which variables expressions use, themselves or through others.
func (p *policy) uses(parts []*expr) []bool {
	used := make([]bool, len(p.variables))
	mark := func(r *reads) {
		for i, v := range p.variables {
			used[i] = used[i] || r.variables["*"] || r.variables[v.src.Name]
		}
	}
	for _, x := range parts {
		if x.reads != nil {
			mark(x.reads)
		}
	}
	for i := len(p.variables) - 1; i >= 0; i-- { // each uses only those before it
		if v := p.variables[i]; used[i] && v.reads != nil {
			mark(v.reads)
		}
	}
	return used
}
