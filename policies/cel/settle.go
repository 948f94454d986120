package cel

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"

	"callgate/policies"
)

// truth is what is known of a condition ahead of the call.
type truth uint8

const (
	unsettled truth = iota
	never
	always
)

func truthOf(b bool) truth {
	if b {
		return always
	}
	return never
}

func (t truth) not() truth {
	switch t {
	case never:
		return always
	case always:
		return never
	}
	return unsettled
}

// facts are what is known of a call when conditions are settled.
type facts struct {
	policies.Static
	who   bool     // Agent, Principal and Groups are known
	sinks []string // that a leaf can have

	statics   *statics           // for tests that are evaluated; made when they are needed
	variables map[*policy][]memo // of variables that were settled
}

type memo struct {
	done  bool
	truth truth
}

func newFacts(s policies.Static, who bool) *facts {
	return &facts{
		Static:    s,
		who:       who,
		sinks:     append([]string{"", policies.SinkNone, policies.SinkControl}, s.Sinks...),
		variables: map[*policy][]memo{},
	}
}

// condition is the skeleton of an expression of type bool: what can be said of it ahead
// of the call, and what is left of it then. CEL's logic makes this exact:
// what is never, or always, the case decides && and || whatever else is an error.
type condition struct {
	op   conditionOp
	expr ast.Expr
	kids []*condition

	test     *test    // isTest
	sinks    []string // isSink: the kinds of sink that it asks for
	negated  bool     // isSink, isTest: it asks whether not
	value    truth    // isConst
	variable int      // isVariable
}

type conditionOp uint8

const (
	isOther conditionOp = iota // known at the call alone
	isConst
	isAnd
	isOr
	isNot
	isCond
	isTest     // of properties that are known before the call
	isSink     // of the sink of a leaf
	isExists   // a quantifier over the leaves; the only kid is its condition
	isForAll   //
	isVariable // one of the policy's variables
)

// test is a condition on properties that are known before the call.
type test struct {
	who      bool // it asks for the agent or the principal
	tool     bool // it asks for the tool by name
	property string
	values   []string // native: the property is one of them, or contains one of them
	match    func(property, value string) bool
	list     func(*facts) []string

	policy *policy
	plan   func() (interpreter.InterpretableV2, error) // otherwise
}

// skeletons makes the conditions of one checked expression.
type skeletons struct {
	*policy
	checked *ast.AST
	cheap   bool // a part may be evaluated ahead without counting its cost
}

// of returns the condition of a part of the expression.
func (p skeletons) of(e ast.Expr, s *scope) *condition {
	c := &condition{op: isOther, expr: e}
	if e.Kind() == ast.LiteralKind {
		if b, ok := e.AsLiteral().(types.Bool); ok {
			c.op, c.value = isConst, truthOf(bool(b))
		}
		return c
	}
	if name := variableName(e, s); name != "" {
		if i := p.variable(name); i >= 0 {
			c.op, c.variable = isVariable, i
		}
		return c
	}
	if op, args := logic(e); op != isOther {
		c.op = op
		for _, a := range args {
			c.kids = append(c.kids, p.of(a, s))
		}
		return c
	}
	if q, ok := quantifierOf(e); ok && s.path(q.of) == varLeaves && s.global(q.of) == varLeaves {
		c.op = isExists
		if q.all {
			c.op = isForAll
		}
		c.kids = []*condition{p.of(q.condition, s.comprehension(e.AsComprehension()))}
		return c
	}
	if sinks, negated, ok := sinkTest(e, s); ok {
		c.op, c.sinks, c.negated = isSink, sinks, negated
		return c
	}
	if t, negated, ok := p.test(e, s); ok {
		c.op, c.test, c.negated = isTest, t, negated
	}
	return c
}

// logic takes apart a logical operator; && and || of more than two are one.
func logic(e ast.Expr) (conditionOp, []ast.Expr) {
	if e.Kind() != ast.CallKind {
		return isOther, nil
	}
	args := e.AsCall().Args()
	switch f := e.AsCall().FunctionName(); f {
	case operators.LogicalAnd, operators.LogicalOr:
		op := isAnd
		if f == operators.LogicalOr {
			op = isOr
		}
		return op, operands(e, f, nil)
	case operators.LogicalNot:
		return isNot, args
	case operators.Conditional:
		return isCond, args
	}
	return isOther, nil
}

func operands(e ast.Expr, function string, out []ast.Expr) []ast.Expr {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != function {
		return append(out, e)
	}
	for _, a := range e.AsCall().Args() {
		out = operands(a, function, out)
	}
	return out
}

// sinkTest recognises x.sink == "…", x.sink in […] and their negations for a leaf x.
func sinkTest(e ast.Expr, s *scope) (sinks []string, negated, ok bool) {
	subject, values, negated, ok := membership(e)
	if !ok || s.path(subject) != "leaves.sink" {
		return nil, false, false
	}
	return values, negated, true
}

// membership recognises x == "…", x != "…", x in ["…", …].
func membership(e ast.Expr) (subject ast.Expr, values []string, negated, ok bool) {
	if args, is := callArgs(e, operators.In, 2); is {
		if args[1].Kind() != ast.ListKind {
			return nil, nil, false, false
		}
		for _, x := range args[1].AsList().Elements() {
			values = append(values, literalText(x))
		}
		return args[0], values, false, !slices.Contains(values, "")
	}
	for _, op := range []string{operators.Equals, operators.NotEquals} {
		args, is := callArgs(e, op, 2)
		if !is {
			continue
		}
		for i, a := range args {
			if v := literalText(a); v != "" {
				return args[1-i], []string{v}, op == operators.NotEquals, true
			}
		}
	}
	return nil, nil, false, false
}

// test recognises a condition on nothing but what is known before the call.
func (p skeletons) test(e ast.Expr, s *scope) (t *test, negated, ok bool) {
	t = &test{policy: p.policy}
	if !t.closed(e, s) {
		return nil, false, false
	}
	if subject, values, negated, ok := membership(e); ok {
		if property := s.path(subject); singleProperties[property] != nil {
			t.property, t.values = property, values
			return t, negated, true
		}
	}
	if args, ok := callArgs(e, operators.In, 2); ok {
		if list := listProperties[s.path(args[1])]; list != nil && literalText(args[0]) != "" {
			t.list, t.values = list, []string{literalText(args[0])}
			return t, false, true
		}
	}
	if call := e; call.Kind() == ast.CallKind && call.AsCall().IsMemberFunction() && len(call.AsCall().Args()) == 1 {
		c := call.AsCall()
		property, value := s.path(c.Target()), literalText(c.Args()[0])
		if match := textTests[c.FunctionName()]; match != nil && value != "" && singleProperties[property] != nil {
			t.property, t.values, t.match = property, []string{value}, match
			return t, false, true
		}
	}
	if !p.cheap {
		return nil, false, false
	}
	t.plan = sync.OnceValues(func() (interpreter.InterpretableV2, error) {
		return p.interpreter.NewInterpretable(part(p.checked, e), p.env.planOptions(p.checked)...)
	})
	return t, false, true
}

var singleProperties = map[string]func(*facts) string{
	"call.tool":     func(f *facts) string { return f.Tool },
	"call.kind":     func(f *facts) string { return f.Kind },
	"agent.name":    func(f *facts) string { return f.Agent },
	"principal.sub": func(f *facts) string { return f.Principal },
}

var listProperties = map[string]func(*facts) []string{
	"call.effects":     func(f *facts) []string { return f.Effects },
	"call.sinks":       func(f *facts) []string { return f.Static.Sinks },
	"principal.groups": func(f *facts) []string { return f.Groups },
}

// closed reports whether an expression depends on nothing but static fields, parameters
// and its own text, and notes which.
func (t *test) closed(e ast.Expr, s *scope) bool {
	ok := true
	walk(e, s, func(e ast.Expr, s *scope) bool {
		if path := s.path(e); staticFields[path] {
			t.tool = t.tool || path == "call.tool"
			t.who = t.who || strings.HasPrefix(path, "agent.") || strings.HasPrefix(path, "principal.")
			_, _, key, indexed := step(e)
			return indexed && key != nil && literalText(key) == ""
		}
		if e.Kind() == ast.IdentKind {
			path, bound := s.lookup(e.AsIdent())
			name := strings.TrimPrefix(e.AsIdent(), ".")
			ok = ok && (bound && path == "" || !bound && (name == varParams || name == varLevel))
		}
		return ok
	})
	return ok
}

// settle returns what the facts say of a test.
func (t *test) settle(f *facts) truth {
	if t.who && !f.who {
		return unsettled
	}
	switch {
	case t.list != nil:
		return truthOf(slices.Contains(t.list(f), t.values[0]))
	case t.match != nil:
		return truthOf(t.match(singleProperties[t.property](f), t.values[0]))
	case t.property != "":
		return truthOf(slices.Contains(t.values, singleProperties[t.property](f)))
	}
	plan, err := t.plan()
	if err != nil {
		return unsettled
	}
	return f.evaluate(t.policy, plan)
}

// evaluate evaluates a test that nothing but the facts decide.
func (f *facts) evaluate(p *policy, plan interpreter.InterpretableV2) (t truth) {
	if f.statics == nil {
		f.statics = newStatics(f.Static, nil)
	}
	s := newState()
	defer func() {
		if recover() != nil { // as it would be at the call: there it is an error
			t = unsettled
		}
	}()
	if s.show(context.Background(), &policies.Request{}, f.statics, 0) != nil {
		return unsettled
	}
	defer s.release()
	s.params.of = p.params
	switch plan.Exec(s.frame) {
	case types.True:
		return always
	case types.False:
		return never
	}
	return unsettled
}

// settle returns what the facts say of a condition and, if that is not all, what is
// left to be evaluated: the expression itself if that is as short.
func (p *policy) settle(c *condition, f *facts) (truth, ast.Expr) {
	switch c.op {
	case isConst:
		return c.value, nil
	case isTest:
		t := c.test.settle(f)
		if c.negated {
			t = t.not()
		}
		return t, c.expr
	case isSink:
		if slices.ContainsFunc(c.sinks, func(s string) bool { return slices.Contains(f.sinks, s) }) {
			return unsettled, c.expr
		}
		return truthOf(c.negated), nil
	case isVariable:
		return p.settleVariable(c.variable, f), c.expr
	case isNot:
		t, rest := p.settle(c.kids[0], f)
		if t == unsettled && rest != c.kids[0].expr {
			return unsettled, makeCall(c.expr.ID(), operators.LogicalNot, rest)
		}
		return t.not(), c.expr
	case isAnd:
		return p.settleAll(c, f, never)
	case isOr:
		return p.settleAll(c, f, always)
	case isCond:
		switch t, _ := p.settle(c.kids[0], f); t {
		case always:
			return p.settle(c.kids[1], f)
		case never:
			return p.settle(c.kids[2], f)
		}
	case isExists:
		if t, _ := p.settle(c.kids[0], f); t == never {
			return never, nil
		}
	case isForAll:
		if t, _ := p.settle(c.kids[0], f); t == always {
			return always, nil
		}
	}
	return unsettled, c.expr
}

// settleAll settles && and ||, which one operand decides.
func (p *policy) settleAll(c *condition, f *facts, decisive truth) (truth, ast.Expr) {
	var left []ast.Expr
	changed := false
	for _, k := range c.kids {
		t, rest := p.settle(k, f)
		switch t {
		case decisive:
			return decisive, nil
		case unsettled:
			left = append(left, rest)
			changed = changed || rest != k.expr
		default:
			changed = true
		}
	}
	switch {
	case len(left) == 0:
		return decisive.not(), nil
	case !changed:
		return unsettled, c.expr
	}
	function := operators.LogicalAnd
	if c.op == isOr {
		function = operators.LogicalOr
	}
	out := left[0]
	for _, e := range left[1:] { // every operator in it is checked alike: one id serves all
		out = makeCall(c.expr.ID(), function, out, e)
	}
	return unsettled, out
}

func (p *policy) settleVariable(i int, f *facts) truth {
	memos := f.variables[p]
	if memos == nil {
		memos = make([]memo, len(p.variables))
		f.variables[p] = memos
	}
	if !memos[i].done {
		t := unsettled
		if c := p.variables[i].condition; c != nil {
			t, _ = p.settle(c, f)
		}
		memos[i] = memo{true, t}
	}
	return memos[i].truth
}

// part makes a checked expression of a part, or of what is left, of another.
func part(checked *ast.AST, e ast.Expr) *ast.AST {
	return ast.NewCheckedAST(ast.NewAST(e, checked.SourceInfo()), checked.TypeMap(), checked.ReferenceMap())
}

func makeCall(id int64, function string, args ...ast.Expr) ast.Expr {
	return ast.NewExprFactory().NewCall(id, function, args...)
}
