package cel

import (
	"fmt"
	"regexp"
	"slices"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"

	"callgate/policies"
	"callgate/spec"
)

// policy is the CEL part of one Policy document, compiled.
type policy struct {
	src    *spec.Policy
	params *objectType
	types  *provider // arguments are dyn

	env         *environment
	checker     *celgo.Env
	interpreter interpreter.Interpreter

	conditions []*expr
	variables  []*expr
	rules      []*rule

	problems []spec.Problem
}

// rule is one rule, compiled.
type rule struct {
	src                 *spec.Rule
	when, message, args *expr // message and args may be nil
}

// expr is one expression, compiled against arguments of any type.
type expr struct {
	*policy
	role string // "rule mail.unknown", to begin a message with
	src  spec.Expr
	want *types.Type // what it must give

	variableNames []string // of all variables of the policy
	eachLeaf      bool     // leaf is there

	parsed  *celgo.Ast
	ast     *ast.AST // checked, if ok
	ok      bool
	reads   *reads
	asksArg bool // its type depends on the tool: it reads call.args, itself or through variables
	cost    costClass

	condition *condition // if it gives a bool
	plan      *program   // of the whole expression
}

// expressions returns every expression.
func (p *policy) expressions() []*expr {
	out := slices.Concat(p.conditions, p.variables)
	for _, r := range p.rules {
		for _, x := range []*expr{r.when, r.message, r.args} {
			if x != nil {
				out = append(out, x)
			}
		}
	}
	return out
}

// variable returns the index of a variable, or -1.
func (p *policy) variable(name string) int {
	return slices.IndexFunc(p.variables, func(x *expr) bool { return x.src.Name == name })
}

// compile compiles the CEL part of a policy. Its problems are in the result.
func (e *environment) compile(src *spec.Policy) *policy {
	p := &policy{src: src, env: e}
	if err := p.makeTypes(); err != nil {
		p.report(src.Meta.Pos, "", "%v", err)
		return p
	}
	var names []string
	for _, v := range src.CEL.Variables {
		names = append(names, v.Name)
	}
	add := func(x expr) *expr {
		x.policy, x.variableNames = p, names
		x.compile()
		return &x
	}
	for i, v := range src.CEL.Variables {
		role := "variable " + v.Name
		switch {
		case !identifier.MatchString(v.Name):
			p.report(v.Pos, "", "variable %q: want a name of letters, digits and _", v.Name)
		case slices.Contains(names[:i], v.Name):
			p.report(v.Pos, "", "%s: declared twice", role)
		}
		x := add(expr{role: role, src: v})
		x.declare()
		p.variables = append(p.variables, x)
	}
	for i, c := range src.CEL.Match {
		role := "match condition " + c.Name
		if c.Name == "" {
			role = fmt.Sprintf("match condition %d", i+1)
		}
		p.conditions = append(p.conditions, add(expr{role: role, src: c, want: types.BoolType}))
	}
	for i := range src.CEL.Rules {
		p.addRule(&src.CEL.Rules[i], add)
	}
	return p
}

// makeTypes prepares what expressions are checked and planned with.
func (p *policy) makeTypes() (err error) {
	b := &paramTypes{}
	if p.params, err = b.root(p.src.Params); err != nil {
		return err
	}
	p.types = &provider{own: map[string]*objectType{
		typeParams: p.params, typeVariables: newObjectType(typeVariables),
	}}
	for _, t := range b.objects {
		p.types.own[t.name] = t
	}
	p.interpreter = p.env.interpreter(p.types)
	p.checker, err = p.env.with(p.types)
	return err
}

var (
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	ruleID     = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:/-]*$`)
)

func (p *policy) addRule(src *spec.Rule, add func(expr) *expr) {
	role := "rule " + src.ID
	if src.ID == "" {
		role = fmt.Sprintf("rule %d", len(p.rules)+1)
	}
	p.checkRule(src, role)
	r := &rule{src: src, when: add(expr{role: role, src: src.When, want: types.BoolType, eachLeaf: src.EachLeaf})}
	if src.MessageExpr.Text != "" {
		r.message = add(expr{role: role + ": messageExpression", src: src.MessageExpr, want: types.StringType, eachLeaf: src.EachLeaf})
	}
	if src.Args.Text != "" {
		r.args = add(expr{role: role + ": args", src: src.Args, want: stringList, eachLeaf: src.EachLeaf})
	}
	p.rules = append(p.rules, r)
}

// checkRule reports what is wrong with a rule besides its expressions.
func (p *policy) checkRule(src *spec.Rule, role string) {
	switch {
	case src.ID == "":
		p.report(src.Pos, "an id is all that a program is told of a refusal, such as mail.unknown", "%s: no id", role)
	case !ruleID.MatchString(src.ID):
		p.report(src.Pos, "", "%s: want an id of letters, digits and . _ - : /", role)
	}
	for _, r := range p.rules {
		if src.ID != "" && r.src.ID == src.ID {
			p.report(src.Pos, "", "%s: a second rule of this id, the first is in line %d", role, r.src.Pos.Line)
			break
		}
	}
	switch src.Action {
	case actionDeny, actionAsk:
	case actionAllow, actionAccept, actionOblige:
		if p.src.Own {
			p.report(src.Pos, "the host's policies allow; see callgate.yaml", "%s: an agent's own policy may only deny or ask, got %s", role, src.Action)
		}
	default:
		p.report(src.Pos, nearestOf(src.Action, actions), "%s: action: got %q, want deny, ask, allow, accept or oblige", role, src.Action)
	}
	if p.src.Own && len(src.Obligations) > 0 {
		p.report(src.Pos, "the host's policies oblige; see callgate.yaml", "%s: an agent's own policy may only deny or ask, got obligations", role)
	}
	if src.Action == actionOblige && len(src.Obligations) == 0 {
		p.report(src.Pos, "", "%s: oblige: want obligations", role)
	}
	for i, o := range src.Obligations {
		for _, f := range policies.CheckObligation(obligationOf(p.src.Meta.Name, src, o)) {
			at := src.Pos
			if i < len(src.ObligationsAt) {
				at = src.ObligationsAt[i][""]
				if of, ok := src.ObligationsAt[i][f.Field]; ok {
					at = of
				}
			}
			p.report(at, f.Hint, "%s: %s", role, f.Text)
		}
	}
	if src.Action == actionAccept && !src.EachLeaf && src.Args.Text == "" {
		p.report(src.Pos, `with each: leaf it accepts the leaf; args: "['pc']" accepts the control`, "%s: accept must name what it accepts: each: leaf, or args", role)
	}
}

// The actions of rules.
const (
	actionDeny   = "deny"
	actionAsk    = "ask"
	actionAllow  = "allow"
	actionAccept = "accept"
	actionOblige = "oblige"
)

var actions = []string{actionDeny, actionAsk, actionAllow, actionAccept, actionOblige}

func (p *policy) report(pos spec.Position, hint, format string, args ...any) {
	p.problems = append(p.problems, spec.Problem{Pos: pos, Text: fmt.Sprintf(format, args...), Hint: hint})
}

func (x *expr) report(f finding) { x.policy.problems = append(x.policy.problems, x.problem(f)) }

// compile parses, checks and plans the expression for arguments of any type.
func (x *expr) compile() {
	defer func() {
		if p := recover(); p != nil { // in the library: one text is not to take the process down
			x.ok = false
			x.policy.report(x.src.Pos, "", "%s: cannot be compiled: %v", x.role, p)
		}
	}()
	if x.src.Text == "" {
		x.policy.report(x.src.Pos, "", "%s: no expression", x.role)
		return
	}
	parsed, iss := x.checker.Parse(x.src.Text)
	if iss.Err() != nil {
		x.reportAll(x.types, iss)
		return
	}
	x.parsed, x.ast = parsed, parsed.NativeRep()
	nameArgs(x.ast.Expr())
	checked, iss := x.checker.Check(parsed)
	if iss.Err() != nil {
		x.reportAll(x.types, iss)
		return
	}
	x.ast = checked.NativeRep()
	if got := checked.OutputType(); x.want != nil && !assignable(x.want, got) {
		x.report(finding{id: x.ast.Expr().ID(), text: fmt.Sprintf("got %s, want %s", got, x.want)})
		return
	}
	if !x.eachLeaf && x.refuseLeaf() || x.refusePatterns() {
		return
	}
	foldLevels(x.ast)
	x.reads = newReads()
	x.reads.expr(x.ast.Expr(), nil)
	x.asksArg = x.reads.mentions(pathArgs)
	for name := range x.reads.variables {
		if i := x.variable(name); i >= 0 && x.variables[i].asksArg || name == "*" {
			x.asksArg = true
		}
	}
	if !x.settleCost(checked) {
		return
	}
	plan, err := newProgram(x, x.ast, x.interpreter, x.checker)
	if err != nil {
		x.report(finding{id: x.ast.Expr().ID(), text: err.Error()})
		return
	}
	x.plan, x.ok = plan, true
	if checked.OutputType().Kind() == types.BoolKind {
		x.condition = skeletons{x.policy, x.ast, x.cost != costCounted}.of(x.ast.Expr(), nil)
	}
}

// settleCost estimates what the expression costs and reports whether it may be used.
func (x *expr) settleCost(checked *celgo.Ast) bool {
	if isSimple(x.ast.Expr()) {
		x.cost = costFree
		return true
	}
	cost := estimate(x.checker, checked, estimator{params: x.params})
	if cost > maxEstimate { // it is counted, unless it would never come to an end
		cost = estimate(x.checker, checked, estimator{params: x.params, likely: true})
	} else if cost <= maxCost {
		x.cost = costSmall
	}
	if cost > maxEstimate {
		x.report(finding{id: x.ast.Expr().ID(),
			text: fmt.Sprintf("costs too much: %d steps for a request of %d leaves, want %d at most", cost, smallList, maxEstimate),
			hint: "loops within loops multiply: look at each leaf once, with each: leaf, or name a result as a variable"})
		return false
	}
	return true
}

func (x *expr) reportAll(p *provider, iss *celgo.Issues) {
	for _, f := range x.explain(p, iss.Errors()) {
		x.report(f)
	}
}

// assignable reports whether a value of type got may be what is wanted; dyn may be,
// which shows when it is evaluated.
func assignable(want, got *types.Type) bool {
	if got.Kind() == types.ListKind && want.Kind() == types.ListKind {
		return assignable(want.Parameters()[0], got.Parameters()[0])
	}
	return got.Kind() == types.DynKind || want.IsExactType(got)
}

// declare makes the variable known to the expressions after it.
func (x *expr) declare() {
	typ := types.DynType
	if x.ok {
		typ = x.ast.GetType(x.ast.Expr().ID())
	}
	x.types.own[typeVariables].add(x.src.Name, typ, variableGetter(len(x.policy.variables)), nil)
}

// refuseLeaf reports uses of leaf, and whether there are any.
func (x *expr) refuseLeaf() (refused bool) {
	walk(x.ast.Expr(), nil, func(e ast.Expr, s *scope) bool {
		if s.global(e) == varLeaf {
			x.report(finding{id: e.ID(), text: "undeclared reference to 'leaf'", hint: "leaf is there in rules with each: leaf; leaves lists them all"})
			refused = true
		}
		return true
	})
	return refused
}

// refusePatterns reports regular expressions that are too large, and whether there are any.
func (x *expr) refusePatterns() (refused bool) {
	walk(x.ast.Expr(), nil, func(e ast.Expr, _ *scope) bool {
		if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == overloads.Matches {
			for _, a := range e.AsCall().Args() {
				if err := checkPattern(literalText(a)); err != nil {
					x.report(finding{id: a.ID(), text: err.Error()})
					refused = true
				}
			}
		}
		return true
	})
	return refused
}

// nameArgs turns call.args['name'] into call.args.name, so that it is checked against the
// tool's parameters.
func nameArgs(e ast.Expr) {
	factory := ast.NewExprFactory()
	walk(e, nil, func(e ast.Expr, s *scope) bool {
		operand, field, key, ok := step(e)
		if !ok || key == nil || field == "" || !isArgs(operand, s) {
			return true
		}
		if e.AsCall().FunctionName() == operators.Index {
			e.SetKindCase(factory.NewSelect(e.ID(), operand, field))
		} else {
			e.SetKindCase(factory.NewCall(e.ID(), operators.OptSelect, operand, key))
		}
		return true
	})
}

// isArgs reports whether an expression is call.args or a part of it.
func isArgs(e ast.Expr, s *scope) bool {
	path := s.path(e)
	return path == pathArgs || len(path) > len(pathArgs) && path[:len(pathArgs)+1] == pathArgs+"."
}

// foldLevels replaces level.internal by its number.
func foldLevels(a *ast.AST) {
	factory := ast.NewExprFactory()
	walk(a.Expr(), nil, func(e ast.Expr, s *scope) bool {
		if operand, field, key, ok := step(e); ok && key == nil && s.global(operand) == varLevel && !e.AsSelect().IsTestOnly() {
			e.SetKindCase(factory.NewLiteral(e.ID(), level[field]))
			return false
		}
		return true
	})
}
