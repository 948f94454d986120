package rego

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// term translates a term whose variables are bound.
func (t *translator) term(x *ast.Term, n *names) termFunc {
	if isData(x) {
		constant := x.Value
		return func(*machine, []ast.Value) ast.Value { return constant }
	}
	switch v := x.Value.(type) {
	case ast.Var:
		if v.Equal(ast.InputRootDocument.Value) {
			return func(m *machine, _ []ast.Value) ast.Value { return m.input }
		}
		if !n.bound[v] {
			refuse("unbound %v", v)
		}
		slot := n.slot(v)
		return func(_ *machine, f []ast.Value) ast.Value { return f[slot] }
	case ast.Ref:
		return t.ref(v, n)
	case *ast.Array:
		parts := t.terms(v.Len(), func(i int) *ast.Term { return v.Elem(i) }, n)
		return func(m *machine, f []ast.Value) ast.Value {
			list, ok := compute(m, f, parts)
			if !ok {
				return nil
			}
			return ast.NewArray(list...)
		}
	case ast.Set:
		elements := v.Slice()
		parts := t.terms(len(elements), func(i int) *ast.Term { return elements[i] }, n)
		return func(m *machine, f []ast.Value) ast.Value {
			list, ok := compute(m, f, parts)
			if !ok {
				return nil
			}
			return ast.NewSet(list...)
		}
	case ast.Object:
		return t.object(v, n)
	case *ast.ArrayComprehension:
		return t.comprehension(v.Body, []*ast.Term{v.Term}, n, func(m *machine, found []ast.Value) ast.Value { return arrayOf(found) })
	case *ast.SetComprehension:
		return t.comprehension(v.Body, []*ast.Term{v.Term}, n, func(m *machine, found []ast.Value) ast.Value { return setOf(found) })
	case *ast.ObjectComprehension:
		return t.comprehension(v.Body, []*ast.Term{v.Key, v.Value}, n, objectOf)
	}
	refuse("%T", x.Value)
	return nil
}

func setOf(values []ast.Value) ast.Value {
	s := ast.NewSetWithCapacity(len(values))
	for _, v := range values {
		s.Add(ast.NewTerm(solid(v)))
	}
	return s
}

func arrayOf(values []ast.Value) ast.Value {
	if slices.ContainsFunc(values, func(v ast.Value) bool { _, ok := v.(*view); return ok }) {
		return &seq{slices.Clone(values)}
	}
	terms := make([]*ast.Term, len(values))
	for i, v := range values {
		terms[i] = ast.NewTerm(solid(v))
	}
	return ast.NewArray(terms...)
}

// objectOf makes an object of keys and values in turn; two values of one key are an error.
func objectOf(m *machine, found []ast.Value) ast.Value {
	o := ast.NewObjectWithCapacity(len(found) / 2)
	for i := 0; i < len(found); i += 2 {
		k, v := ast.NewTerm(solid(found[i])), solid(found[i+1])
		if old := o.Get(k); old != nil && old.Value.Compare(v) != 0 {
			m.fail(errConflict)
			return nil
		}
		o.Insert(k, ast.NewTerm(v))
	}
	return o
}

func (t *translator) terms(count int, at func(int) *ast.Term, n *names) []termFunc {
	out := make([]termFunc, count)
	for i := range out {
		out[i] = t.term(at(i), n)
	}
	return out
}

func compute(m *machine, f []ast.Value, parts []termFunc) ([]*ast.Term, bool) {
	out := make([]*ast.Term, len(parts))
	for i, p := range parts {
		v := p(m, f)
		if v == nil {
			return nil, false
		}
		out[i] = ast.NewTerm(solid(v))
	}
	return out, true
}

func (t *translator) object(o ast.Object, n *names) termFunc {
	keys := o.Keys()
	for _, k := range keys {
		if !isData(k) {
			refuse("key %v", k)
		}
	}
	parts := t.terms(len(keys), func(i int) *ast.Term { return o.Get(keys[i]) }, n)
	return func(m *machine, f []ast.Value) ast.Value {
		out := ast.NewObjectWithCapacity(len(keys))
		for i, p := range parts {
			v := p(m, f)
			if v == nil {
				return nil
			}
			out.Insert(keys[i], ast.NewTerm(solid(v)))
		}
		return out
	}
}

// comprehension collects the terms for every solution of a body.
func (t *translator) comprehension(b ast.Body, heads []*ast.Term, n *names, finish func(*machine, []ast.Value) ast.Value) termFunc {
	in := n.inner()
	build := t.body(b, in)
	parts := t.terms(len(heads), func(i int) *ast.Term { return heads[i] }, in)
	run := build(func(m *machine, f []ast.Value) bool {
		at := len(m.found)
		for _, p := range parts {
			v := p(m, f)
			if v == nil {
				m.found = m.found[:at]
				break
			}
			m.found = append(m.found, v)
		}
		return m.err != nil
	})
	return func(m *machine, f []ast.Value) ast.Value {
		at := len(m.found)
		run(m, f)
		defer func() { m.found = m.found[:at] }()
		if m.err != nil {
			return nil
		}
		return finish(m, m.found[at:])
	}
}

// ref translates a reference whose steps are bound.
func (t *translator) ref(ref ast.Ref, n *names) termFunc {
	head, rest := t.root(ref, n)
	steps := t.terms(len(rest), func(i int) *ast.Term { return rest[i] }, n)
	keys := make([]*ast.Term, len(rest)) // of steps that are constant
	for i, s := range rest {
		if isData(s) {
			keys[i] = s
		}
	}
	return func(m *machine, f []ast.Value) ast.Value {
		at := head(m, f)
		for i := 0; i < len(steps) && at != nil; i++ {
			key := keys[i]
			if key == nil {
				v := steps[i](m, f)
				if v == nil {
					return nil
				}
				key = ast.NewTerm(solid(v))
			}
			at = get(at, key)
		}
		return at
	}
}

// root translates what a reference begins with: the input, a variable, a rule or data; and returns the steps below.
func (t *translator) root(ref ast.Ref, n *names) (termFunc, ast.Ref) {
	if !ref[0].Equal(ast.DefaultRootDocument) {
		return t.term(ref[0], n), ref[1:]
	}
	for i := 2; i <= len(ref); i++ {
		if !ref[:i].IsGround() {
			break
		}
		if f := t.function(ref[:i]); f != nil {
			if f.arity > 0 {
				refuse("%v is a function", ref)
			}
			return func(m *machine, _ []ast.Value) ast.Value { return m.document(f) }, ref[i:]
		}
	}
	prefix := ref.GroundPrefix()
	if len(t.compiler.GetRulesDynamicWithOpts(ref, ast.RulesOptions{IncludeHiddenModules: true})) > 0 || len(prefix) < 2 {
		refuse("%v", ref)
	}
	return constant(t.data(prefix)), ref[len(prefix):]
}

func constant(v ast.Value) termFunc {
	return func(*machine, []ast.Value) ast.Value { return v }
}

// iterate translates a reference with unbound steps: they take every key in turn.
func (t *translator) iterate(ref ast.Ref, slot int, n *names) builder {
	head, rest := t.root(ref, n)
	start := n.fresh()
	at := start
	list := []builder{func(next stepFunc) stepFunc {
		return func(m *machine, f []ast.Value) bool {
			if f[start] = head(m, f); f[start] == nil {
				return m.err != nil
			}
			return next(m, f)
		}
	}}
	for _, s := range rest {
		from, to := at, n.fresh()
		at = to
		if v, ok := unboundVar(s, n); ok {
			key := n.slot(v)
			n.bound[v] = true
			list = append(list, func(next stepFunc) stepFunc {
				return func(m *machine, f []ast.Value) bool {
					stop := false
					each(m, f[from], func(k, v ast.Value) bool {
						f[key], f[to] = k, v
						stop = next(m, f)
						return stop
					})
					return stop || m.err != nil
				}
			})
			continue
		}
		if hasUnbound(s, n) {
			refuse("step %v", s)
		}
		key := t.term(s, n)
		var fixed *ast.Term
		if isData(s) {
			fixed = s
		}
		list = append(list, func(next stepFunc) stepFunc {
			return func(m *machine, f []ast.Value) bool {
				k := fixed
				if k == nil {
					v := key(m, f)
					if v == nil {
						return m.err != nil
					}
					k = ast.NewTerm(solid(v))
				}
				if f[to] = get(f[from], k); f[to] == nil {
					return false
				}
				return next(m, f)
			}
		})
	}
	last := at
	list = append(list, func(next stepFunc) stepFunc {
		return func(m *machine, f []ast.Value) bool {
			f[slot] = f[last]
			return next(m, f)
		}
	})
	return sequence(list...)
}

// get returns what stands under a key, nil if nothing does.
func get(v ast.Value, key *ast.Term) ast.Value {
	var found *ast.Term
	switch v := v.(type) {
	case *view:
		return v.get(key.Value)
	case *seq:
		if n, ok := key.Value.(ast.Number); ok {
			if i, ok := n.Int(); ok && i >= 0 && i < len(v.elements) {
				return v.elements[i]
			}
		}
		return nil
	case ast.Object:
		found = v.Get(key)
	case *ast.Array:
		found = v.Get(key)
	case ast.Set:
		if v.Contains(key) {
			found = key
		}
	}
	if found == nil {
		return nil
	}
	return found.Value
}

// direct returns the builtins that nearly every rule uses, without a call's cost; nil for the others.
func direct(name string, args []termFunc) termFunc {
	two := func(f func(a, b ast.Value) bool) termFunc {
		a, b := args[0], args[1]
		return func(m *machine, frame []ast.Value) ast.Value {
			x, y := a(m, frame), b(m, frame)
			if x == nil || y == nil {
				return nil
			}
			return ast.InternedTerm(f(solid(x), solid(y))).Value
		}
	}
	switch name {
	case "equal":
		return two(func(a, b ast.Value) bool { return a.Compare(b) == 0 })
	case "neq":
		return two(func(a, b ast.Value) bool { return a.Compare(b) != 0 })
	case "lt":
		return two(func(a, b ast.Value) bool { return a.Compare(b) < 0 })
	case "lte":
		return two(func(a, b ast.Value) bool { return a.Compare(b) <= 0 })
	case "gt":
		return two(func(a, b ast.Value) bool { return a.Compare(b) > 0 })
	case "gte":
		return two(func(a, b ast.Value) bool { return a.Compare(b) >= 0 })
	case "internal.member_2":
		return two(member)
	case "count":
		return counting(args[0])
	}
	return nil
}

// counting counts what can be counted without making it solid, and leaves the rest to the builtin.
func counting(of termFunc) termFunc {
	count := topdown.GetBuiltin("count")
	return func(m *machine, f []ast.Value) ast.Value {
		n := 0
		switch v := of(m, f).(type) {
		case nil:
			return nil
		case *seq:
			n = len(v.elements)
		case *ast.Array:
			n = v.Len()
		case ast.Set:
			n = v.Len()
		case *view:
			if v.kind != leavesView {
				return m.builtin(count, nil, []termFunc{of}, f)
			}
			n = len(v.d.leaves)
		default:
			return m.builtin(count, nil, []termFunc{of}, f)
		}
		return ast.InternedTerm(n).Value
	}
}

func member(x, in ast.Value) bool {
	switch in := in.(type) {
	case *ast.Array:
		for i := range in.Len() {
			if in.Elem(i).Value.Compare(x) == 0 {
				return true
			}
		}
	case ast.Set:
		return in.Contains(ast.NewTerm(x))
	case ast.Object:
		return in.Until(func(_, v *ast.Term) bool { return v.Value.Compare(x) == 0 })
	}
	return false
}
