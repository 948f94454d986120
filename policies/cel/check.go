package cel

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/containers"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"callgate/policies"
)

// What expressions may say of call.args is settled tool by tool. A rule is checked
// against each tool that it can apply to: the policy's match, its match conditions and
// the rule's own condition do not exclude it. A crossing such as observe counts as a tool.
//
//   - call.args.x, labels.args.x: if the rule names the tool (match.tools, or a test such as
//     call.tool == "…"), the tool must have the parameter. If it binds by effects, sinks or
//     nothing at all, one of the tools must have it; for those that lack it, it is an error at
//     the call, of which there is a warning where it denies.
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

// toolKey tells a tool from a crossing of its name.
type toolKey struct{ kind, name string }

// toolTable returns the tools and the crossings.
func toolTable(tools []policies.ToolSchema) map[toolKey]*tool {
	out := map[toolKey]*tool{}
	add := func(kind string, t policies.ToolSchema) {
		x := &tool{schema: t, static: policies.Static{Kind: kind, Tool: t.Name, Effects: t.Effects, Sinks: t.SinkKinds()}}
		x.args, x.objects = argsType(t)
		out[toolKey{kind, t.Name}] = x
	}
	for _, t := range tools {
		add(policies.KindTool, t)
	}
	for _, t := range policies.Crossings() {
		add(t.Name, t)
	}
	return out
}

// compareTools orders tools before crossings, and by name.
func compareTools(a, b *tool) int {
	if crossing := b.static.Kind != policies.KindTool; crossing != (a.static.Kind != policies.KindTool) {
		if crossing {
			return -1
		}
		return 1
	}
	return strings.Compare(a.schema.Name, b.schema.Name)
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

// units returns the rules that depend on the parameters of the tool.
func (p *policy) units() []*unit {
	var out []*unit
	add := func(denies bool, parts ...*expr) {
		u := &unit{denies: denies}
		for _, x := range parts {
			if x != nil && x.ok {
				u.parts = append(u.parts, x)
			}
		}
		if slices.ContainsFunc(u.parts, func(x *expr) bool { return x.asksArg || x.reads.mentions(pathArgLabels) }) {
			out = append(out, u)
		}
	}
	add(true, p.conditions...)
	for _, r := range p.rules {
		add(r.src.Action == actionDeny || r.src.Action == actionAsk || r.src.Action == actionOblige, r.when, r.message, r.args)
	}
	return out
}

// checkTools checks the policy's expressions against each tool that they can apply to.
func (p *policy) checkTools(tools map[toolKey]*tool) {
	units := p.units()
	if len(units) == 0 {
		return
	}
	match := p.src.Match
	match.Agents, match.Principals = nil, nil // whoever they are
	names := func(globs []string) bool {
		return slices.ContainsFunc(globs, func(g string) bool { return strings.Trim(g, "*") != "" })
	}
	for _, t := range slices.SortedFunc(maps.Values(tools), compareTools) {
		if !policies.Matches(match, t.static) {
			continue
		}
		f := newFacts(t.static, false)
		excluded, named := false, names(match.Tools) || names(match.Kinds) && t.static.Kind != policies.KindTool
		for _, c := range p.conditions {
			settled, _ := p.settleExpr(c, f)
			excluded = excluded || settled == never
			named = named || c.condition != nil && p.names(c.condition, f)
		}
		if excluded {
			continue
		}
		for _, u := range units {
			if c := p.candidate(u, t, f, named); c != nil {
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
		byName := c.test.tool || c.test.property == "call.kind" && f.Kind != policies.KindTool
		return byName && !c.negated && c.test.plan == nil && c.test.settle(f) == always
	case isVariable:
		v := p.variables[c.variable].condition
		return v != nil && p.names(v, f)
	case isNot:
		return false
	}
	return slices.ContainsFunc(c.kids, func(k *condition) bool { return p.names(k, f) })
}

// toolFinding tells the findings of one unit apart that are not the same but for the tool.
type toolFinding struct {
	x            *expr
	line, column int
	about        about
	text         string // of a finding about no parameter
	warn         bool
}

// checkUnit checks a unit against its tools and reports each problem once.
func (p *policy) checkUnit(u *unit) {
	u.others = map[string]bool{}
	for _, c := range u.tools {
		for _, name := range c.args.object.order {
			u.others[name] = true
		}
	}
	var order []toolFinding
	first := map[toolFinding]finding{}
	tools := map[toolFinding][]string{}
	add := func(c *candidate, x *expr, fs []finding) {
		for _, f := range fs {
			k := toolFinding{x: x, about: f.about, text: f.text, warn: f.warn}
			if f.about != 0 {
				k.text = f.param
			}
			k.line, k.column = x.place(f)
			if _, ok := first[k]; !ok {
				first[k] = f
				order = append(order, k)
			}
			tools[k] = append(tools[k], c.schema.Name)
		}
	}
	for _, c := range u.tools {
		tt := p.typesFor(c.tool, u.others)
		p.declareVariables(tt, p.uses(u.parts), func(x *expr, checked *ast.AST, fs []finding) {
			add(c, x, fs)
			if checked != nil {
				add(c, x, c.missing(checked.Expr(), u))
			}
		})
		for i, x := range u.parts {
			if c.left[i] == nil {
				continue
			}
			left := c.left[i]
			if x.asksArg {
				checked, fs := tt.check(x, left)
				add(c, x, fs)
				if checked == nil {
					continue
				}
				left = checked.Expr()
			}
			add(c, x, c.missing(left, u))
		}
	}
	for _, k := range order {
		f := first[k]
		f.text = f.of(tools[k])
		k.x.report(f)
	}
}

// about says what a finding says of a tool's parameter.
type about uint8

const (
	aboutLack       about = 1 + iota // the tool has no such parameter
	aboutLackAtCall                  // and its calls are denied for that
	aboutOptional                    // the parameter may be left out, and the call is denied then
)

// of says what was found for tools.
func (f finding) of(tools []string) string {
	who, have, those := tools[0], "has", "its"
	if len(tools) > 1 {
		who, have, those = fmt.Sprintf("%s and %d more", tools[0], len(tools)-1), "have", "their"
	}
	switch f.about {
	case aboutLack:
		return fmt.Sprintf("%s %s no parameter '%s'", who, have, f.param)
	case aboutLackAtCall:
		return fmt.Sprintf("%s %s no parameter '%s': %s calls are denied", who, have, f.param, those)
	case aboutOptional:
		return fmt.Sprintf("'%s' may be left out in calls of %s, which are denied then", f.param, who)
	}
	return fmt.Sprintf("%s (for %s)", f.text, who)
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
		operand, field, _, ok := step(e)
		if !ok || field == "" || e.Kind() == ast.SelectKind && e.AsSelect().IsTestOnly() {
			return true
		}
		f := finding{id: e.ID(), param: field, about: aboutLack}
		switch of := s.path(operand); {
		case of == pathArgs && e.Kind() == ast.SelectKind:
			f.hint = fmt.Sprintf("write call.args.?%s.orValue(…), or ask has(call.args.%s) first", field, field)
		case of == pathArgLabels && isPlainStep(e):
			field, _, _ = strings.Cut(field, "[")
			field, _, _ = strings.Cut(field, ".")
			f.param, f.hint = field, "name the tools that have it: in match.tools, or with call.tool"
		default:
			return true
		}
		switch {
		case asked[field]:
		case !c.has(field) && (c.named || !u.others[field]):
			known := c.args.object.order
			if !u.others[field] {
				known = slices.Sorted(maps.Keys(u.others))
			}
			f.hint = nearestOf(field, known)
			out = append(out, f)
		case !c.has(field) && u.denies:
			f.about, f.warn = aboutLackAtCall, true
			out = append(out, f)
		case c.has(field) && u.denies && s.path(operand) == pathArgs && !c.required(field):
			f.about, f.warn = aboutOptional, true
			out = append(out, f)
		}
		return true
	})
	return out
}

// isPlainStep reports whether a selection fails if there is nothing to select.
func isPlainStep(e ast.Expr) bool {
	return e.Kind() == ast.SelectKind || e.AsCall().FunctionName() == operators.Index
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
