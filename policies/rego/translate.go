package rego

import (
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// Compiled rules are translated to Go closures where they use no more of Rego than most rules do: references, equations, builtins,
// functions, not, every, comprehensions. That is some ten times as fast as evaluating their syntax, and must
// mean the same: TestRandomPolicies holds the two to it. What cannot be translated is left to OPA, set by set; so is
// a request for which a builtin fails, because there it matters which rule it was.

// stepFunc is one expression with all that follows it in its body. It tries its solutions in
// turn; true ends the search: enough was found, or something failed.
type stepFunc func(m *machine, f []ast.Value) bool

// builder makes a stepFunc of what is to follow it.
type builder func(next stepFunc) stepFunc

// termFunc computes a term whose variables are bound; nil is undefined.
type termFunc func(m *machine, f []ast.Value) ast.Value

// function is a rule of one value, a partial set, or a function: all definitions of one name.
type function struct {
	id    int // of its memo, if it takes no arguments
	isSet bool
	arity int
	defs  []*definitionCode
	other ast.Value // of a default rule; nil: undefined
}

// definitionCode is one definition, and the ones that are tried if it does not hold.
type definitionCode struct {
	slots    int
	args     []argument
	body     stepFunc
	constant bool // its value needs no variable: the first solution will do
	or       *definitionCode
}

// argument is a variable's slot, or what must be equal.
type argument struct {
	slot  int
	equal ast.Value
}

// translator translates the rules of one compiler.
type translator struct {
	compiler  *ast.Compiler
	store     storage.Store
	txn       storage.Transaction
	functions map[string]*function
	docs      int
}

// unsupported says what could not be translated.
type unsupported struct{ what string }

func (u unsupported) Error() string { return "not translated: " + u.what }

func refuse(format string, args ...any) { panic(unsupported{fmt.Sprintf(format, args...)}) }

// set translates a partial set, by its reference.
func (t *translator) set(ref ast.Ref) (f *function, err error) {
	defer func() {
		if p := recover(); p != nil {
			u, ok := p.(unsupported)
			if !ok {
				panic(p)
			}
			err = u
		}
	}()
	if f = t.function(ref); f == nil || !f.isSet {
		return nil, unsupported{ref.String()}
	}
	return f, nil
}

// function returns the rules of exactly this reference, nil if there are none.
func (t *translator) function(ref ast.Ref) *function {
	key := ref.String()
	if f, ok := t.functions[key]; ok {
		if f == nil {
			refuse("%s", key)
		}
		return f
	}
	rules := t.compiler.GetRulesExact(ref)
	if len(rules) == 0 {
		return nil
	}
	t.functions[key] = nil // stays so if it cannot be translated
	first := rules[0].Head
	f := &function{id: t.docs, isSet: first.RuleKind() == ast.MultiValue, arity: len(first.Args)}
	t.docs++
	for _, r := range rules {
		switch {
		case len(r.Head.Args) != f.arity || (r.Head.RuleKind() == ast.MultiValue) != f.isSet || !r.Ref().IsGround():
			refuse("%s", r.Head)
		case r.Default:
			if !isData(r.Head.Value) {
				refuse("default %s", r.Head)
			}
			f.other = r.Head.Value.Value
		default:
			f.defs = append(f.defs, t.definition(r))
		}
	}
	t.functions[key] = f
	return f
}

// names gives the variables of one definition their slots.
type names struct {
	slots map[ast.Var]int
	bound map[ast.Var]bool
	n     *int
}

func (n *names) slot(v ast.Var) int {
	i, ok := n.slots[v]
	if !ok {
		i = n.fresh()
		n.slots[v] = i
	}
	return i
}

func (n *names) fresh() int {
	*n.n++
	return *n.n - 1
}

// inner is the scope of a nested body: what it binds stays inside.
func (n *names) inner() *names {
	out := &names{slots: n.slots, bound: make(map[ast.Var]bool, len(n.bound)), n: n.n}
	for v := range n.bound {
		out.bound[v] = true
	}
	return out
}

func (t *translator) definition(r *ast.Rule) *definitionCode {
	d := &definitionCode{}
	n := &names{slots: map[ast.Var]int{}, bound: map[ast.Var]bool{}, n: &d.slots}
	for _, a := range r.Head.Args {
		v, ok := a.Value.(ast.Var)
		switch {
		case ok && !n.bound[v]:
			n.bound[v] = true
			d.args = append(d.args, argument{slot: n.slot(v)})
		case isData(a):
			d.args = append(d.args, argument{slot: -1, equal: a.Value})
		default:
			refuse("argument %v", a)
		}
	}
	if len(r.Body) == 0 {
		refuse("%s without a body", r.Head)
	}
	build := t.body(r.Body, n)
	head := r.Head.Value
	if r.Head.RuleKind() == ast.MultiValue {
		head = r.Head.Key
	}
	d.constant = isData(head)
	out := t.term(head, n)
	if r.Head.RuleKind() == ast.MultiValue {
		constant := d.constant
		d.body = build(func(m *machine, f []ast.Value) bool {
			if v := out(m, f); v != nil {
				m.found = append(m.found, solid(v))
			}
			return constant || m.err != nil
		})
	} else {
		constant := d.constant
		d.body = build(func(m *machine, f []ast.Value) bool {
			return m.give(out(m, f)) || constant
		})
	}
	if r.Else != nil {
		d.or = t.definition(r.Else)
	}
	return d
}

// body translates expressions in order: what one binds, the next may use.
func (t *translator) body(b ast.Body, n *names) builder {
	builders := make([]builder, 0, len(b))
	for _, e := range b {
		builders = append(builders, t.expr(e, n))
	}
	return func(next stepFunc) stepFunc {
		for _, build := range slices.Backward(builders) {
			next = build(next)
		}
		return next
	}
}

func (t *translator) expr(e *ast.Expr, n *names) builder {
	if len(e.With) > 0 {
		refuse("with")
	}
	if e.Negated {
		inner := e.ComplementNoWith()
		return negation(t.body(ast.NewBody(inner), n.inner()))
	}
	switch x := e.Terms.(type) {
	case *ast.Not:
		return negation(t.body(x.Body, n.inner()))
	case *ast.LogicalAnd:
		left, right := t.body(x.Lhs, n.inner())(found), t.body(x.Rhs, n.inner())(found)
		return condition(func(m *machine, f []ast.Value) bool { return left(m, f) && m.err == nil && right(m, f) })
	case *ast.LogicalOr:
		left, right := t.body(x.Lhs, n.inner())(found), t.body(x.Rhs, n.inner())(found)
		return condition(func(m *machine, f []ast.Value) bool { return left(m, f) || right(m, f) })
	case *ast.Every:
		return t.every(x, n)
	case *ast.Term:
		tmp := n.fresh()
		return sequence(t.generate(x, tmp, n), func(next stepFunc) stepFunc {
			return func(m *machine, f []ast.Value) bool {
				return isTrueValue(f[tmp]) && next(m, f)
			}
		})
	case []*ast.Term:
		if e.IsEquality() {
			return t.unify(e.Operand(0), e.Operand(1), n)
		}
		return t.call(e, n)
	}
	refuse("%T", e.Terms)
	return nil
}

func sequence(list ...builder) builder {
	return func(next stepFunc) stepFunc {
		for _, build := range slices.Backward(list) {
			next = build(next)
		}
		return next
	}
}

func isTrueValue(v ast.Value) bool {
	b, ok := v.(ast.Boolean)
	return v != nil && (!ok || bool(b))
}

// found ends an inner search at its first solution.
func found(*machine, []ast.Value) bool { return true }

func negation(build builder) builder {
	inner := build(found)
	return condition(func(m *machine, f []ast.Value) bool { return !inner(m, f) })
}

// condition goes on where a test holds that binds nothing.
func condition(holds stepFunc) builder {
	return func(next stepFunc) stepFunc {
		return func(m *machine, f []ast.Value) bool {
			if m.tick() {
				return true
			}
			ok := holds(m, f)
			if m.err != nil {
				return true
			}
			return ok && next(m, f)
		}
	}
}

func (t *translator) every(e *ast.Every, n *names) builder {
	domain := n.fresh()
	build := t.generate(e.Domain, domain, n)
	in := n.inner()
	slots := [2]int{-1, -1} // of key and value
	for i, x := range []*ast.Term{e.Key, e.Value} {
		if x == nil {
			continue
		}
		v, ok := x.Value.(ast.Var)
		if !ok || in.bound[v] {
			refuse("every %v", x)
		}
		in.bound[v] = true
		slots[i] = in.slot(v)
	}
	if slots[1] < 0 {
		refuse("every without a value")
	}
	holds := t.body(e.Body, in)(found)
	return sequence(build, func(next stepFunc) stepFunc {
		return func(m *machine, f []ast.Value) bool {
			all := true
			ok := each(m, f[domain], func(k, v ast.Value) bool {
				if slots[0] >= 0 {
					f[slots[0]] = k
				}
				f[slots[1]] = v
				all = holds(m, f) && m.err == nil
				return !all
			})
			if m.err != nil {
				return true
			}
			return ok && all && next(m, f)
		}
	})
}

// each calls f for the elements of a collection until it returns true; false if v is none.
func each(m *machine, v ast.Value, f func(k, v ast.Value) bool) bool {
	switch v := v.(type) {
	case *view:
		return v.each(m, f)
	case *seq:
		for i, e := range v.elements {
			if m.tick() || f(ast.InternedTerm(i).Value, e) {
				break
			}
		}
	case *ast.Array:
		for i := range v.Len() {
			if m.tick() || f(ast.InternedTerm(i).Value, v.Elem(i).Value) {
				break
			}
		}
	case ast.Object:
		v.Until(func(k, e *ast.Term) bool { return m.tick() || f(k.Value, e.Value) })
	case ast.Set:
		v.Until(func(e *ast.Term) bool { return m.tick() || f(e.Value, e.Value) })
	default:
		return false
	}
	return true
}

// unify translates an equation.
func (t *translator) unify(a, b *ast.Term, n *names) builder {
	if _, ok := unboundVar(b, n); ok {
		a, b = b, a
	}
	if v, ok := unboundVar(a, n); ok {
		if _, both := unboundVar(b, n); both {
			refuse("%v = %v", a, b)
		}
		slot := n.slot(v)
		build := t.generate(b, slot, n)
		n.bound[v] = true
		return build
	}
	if _, ok := b.Value.(*ast.Array); ok && hasUnbound(b, n) {
		a, b = b, a
	}
	if p, ok := a.Value.(*ast.Array); ok && hasUnbound(a, n) {
		return t.pattern(p, b, n)
	}
	left, right := n.fresh(), n.fresh()
	return sequence(t.generate(a, left, n), t.generate(b, right, n), func(next stepFunc) stepFunc {
		return func(m *machine, f []ast.Value) bool {
			return solid(f[left]).Compare(solid(f[right])) == 0 && next(m, f)
		}
	})
}

// pattern takes an array apart: [a, 5, _] = x.
func (t *translator) pattern(p *ast.Array, from *ast.Term, n *names) builder {
	whole := n.fresh()
	list := []builder{t.generate(from, whole, n), func(next stepFunc) stepFunc {
		return func(m *machine, f []ast.Value) bool {
			a, ok := f[whole].(*ast.Array)
			return ok && a.Len() == p.Len() && next(m, f)
		}
	}}
	for i := range p.Len() {
		element := n.fresh()
		list = append(list, func(next stepFunc) stepFunc {
			return func(m *machine, f []ast.Value) bool {
				f[element] = f[whole].(*ast.Array).Elem(i).Value
				return next(m, f)
			}
		})
		if v, ok := unboundVar(p.Elem(i), n); ok {
			slot := n.slot(v)
			n.bound[v] = true
			list = append(list, func(next stepFunc) stepFunc {
				return func(m *machine, f []ast.Value) bool {
					f[slot] = f[element]
					return next(m, f)
				}
			})
			continue
		}
		want := t.term(p.Elem(i), n)
		list = append(list, func(next stepFunc) stepFunc {
			return func(m *machine, f []ast.Value) bool {
				v := want(m, f)
				return v != nil && solid(v).Compare(solid(f[element])) == 0 && next(m, f)
			}
		})
	}
	return sequence(list...)
}

func unboundVar(t *ast.Term, n *names) (ast.Var, bool) {
	v, ok := t.Value.(ast.Var)
	return v, ok && !n.bound[v] && !v.Equal(ast.InputRootDocument.Value) && !v.Equal(ast.DefaultRootDocument.Value)
}

// hasUnbound reports whether a term would bind a variable. What a comprehension binds is its own.
func hasUnbound(t *ast.Term, n *names) bool {
	unbound := false
	ast.WalkTerms(t, func(x *ast.Term) bool {
		switch x.Value.(type) {
		case *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension:
			return true
		}
		if _, ok := unboundVar(x, n); ok {
			unbound = true
		}
		return unbound
	})
	return unbound
}

// generate binds a slot to each value of a term in turn: one, unless a reference has an unbound step.
func (t *translator) generate(x *ast.Term, slot int, n *names) builder {
	if ref, ok := x.Value.(ast.Ref); ok && hasUnbound(x, n) {
		return t.iterate(ref, slot, n)
	}
	v := t.term(x, n)
	return func(next stepFunc) stepFunc {
		return func(m *machine, f []ast.Value) bool {
			if m.tick() {
				return true
			}
			if f[slot] = v(m, f); f[slot] == nil {
				return m.err != nil
			}
			return next(m, f)
		}
	}
}

// call translates the call of a builtin or a function.
func (t *translator) call(e *ast.Expr, n *names) builder {
	operator := e.Operator()
	operands := e.Operands()
	if f := t.function(operator); f != nil {
		return t.result(operands, f.arity, n, func(args []termFunc) termFunc {
			return func(m *machine, frame []ast.Value) ast.Value { return m.apply(f, args, frame) }
		})
	}
	name := operator.String()
	decl := ast.BuiltinMap[name]
	run := topdown.GetBuiltin(name)
	if decl == nil || run == nil || decl.Relation || decl.Decl.Result() == nil || decl.Nondeterministic {
		refuse("%s", name)
	}
	location := e.Location
	return t.result(operands, decl.Decl.Arity(), n, func(args []termFunc) termFunc {
		if fast := direct(name, args); fast != nil {
			return fast
		}
		return func(m *machine, f []ast.Value) ast.Value { return m.builtin(run, location, args, f) }
	})
}

// result binds the operand past a call's arguments to its result, or wants the result to be true.
func (t *translator) result(operands []*ast.Term, arity int, n *names, call func([]termFunc) termFunc) builder {
	if len(operands) != arity && len(operands) != arity+1 {
		refuse("a call with %d operands", len(operands))
	}
	args := make([]termFunc, arity)
	for i := range args {
		if hasUnbound(operands[i], n) {
			refuse("operand %v", operands[i])
		}
		args[i] = t.term(operands[i], n)
	}
	compute := call(args)
	tmp := n.fresh()
	get := func(next stepFunc) stepFunc {
		return func(m *machine, f []ast.Value) bool {
			if m.tick() {
				return true
			}
			if f[tmp] = compute(m, f); f[tmp] == nil || m.err != nil {
				return m.err != nil
			}
			return next(m, f)
		}
	}
	if len(operands) == arity {
		return sequence(get, func(next stepFunc) stepFunc {
			return func(m *machine, f []ast.Value) bool { return isTrueValue(f[tmp]) && next(m, f) }
		})
	}
	out := operands[arity]
	if v, ok := unboundVar(out, n); ok {
		slot := n.slot(v)
		n.bound[v] = true
		return sequence(get, func(next stepFunc) stepFunc {
			return func(m *machine, f []ast.Value) bool {
				f[slot] = f[tmp]
				return next(m, f)
			}
		})
	}
	if hasUnbound(out, n) {
		refuse("result %v", out)
	}
	want := t.term(out, n)
	return sequence(get, func(next stepFunc) stepFunc {
		return func(m *machine, f []ast.Value) bool {
			v := want(m, f)
			return v != nil && solid(v).Compare(solid(f[tmp])) == 0 && next(m, f)
		}
	})
}
