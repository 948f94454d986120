package eval

import (
	"go.starlark.net/resolve"
	star "go.starlark.net/syntax"

	"callgate/engine/label"
)

// expr compiles an expression. Afterwards f.last is the number of temporaries
// that it needs, and f.need has become at least that.
func (f *fcomp) expr(e star.Expr) expr {
	defer f.within(e)()
	before := f.need
	f.need = 0
	x := f.told(e, f.expression(e))
	if observe != nil {
		x = observed(e, x)
	}
	f.last = f.need
	f.need = max(before, f.last)
	return x
}

// observe, if a test has set it, is called with the value of each expression.
var observe func(t *thread, e star.Expr, v val)

func observed(e star.Expr, x expr) expr {
	return func(t *thread) val {
		v := x(t)
		observe(t, e, v)
		return v
	}
}

// slots reserves n temporaries that stay in use while the operands
// compiled so far are evaluated. Call it after compiling them.
func (f *fcomp) slots(n int) int {
	first := f.base + f.need
	f.need += n
	return first
}

func (f *fcomp) expression(e star.Expr) expr {
	switch e := e.(type) {
	case *star.ParenExpr:
		return f.expr(e.X)
	case *star.Literal:
		v := literal(e)
		return func(t *thread) val {
			v := v
			v.lab = t.literal()
			return v
		}
	case *star.Ident:
		return f.ident(e)
	case *star.ListExpr:
		return f.list(e)
	case *star.TupleExpr:
		return f.tuple(e)
	case *star.DictExpr:
		return f.dict(e)
	case *star.CondExpr:
		return f.condExpr(e)
	case *star.UnaryExpr:
		return f.unary(e)
	case *star.BinaryExpr:
		return f.binary(e)
	case *star.IndexExpr:
		f.judge(judgedShallow, e.X)
		f.judge(judgedDeep, e.Y)
		x, y, p := f.expr(e.X), f.expr(e.Y), at(e.Lbrack)
		if l, ok := unparen(e.Y).(*star.Literal); ok {
			if k := literal(l); k.k == kString {
				return indexText(x, k, p)
			}
		}
		return f.pair(x, y, e.Y, func(t *thread, a, b val) val { return t.index(a, b, p) })
	case *star.SliceExpr:
		return f.slice(e)
	case *star.DotExpr:
		f.checkImport(e)
		if e.Name.Name == "__name__" && isTypeOf(e.X) {
			x := f.expr(e.X)
			return func(t *thread) val {
				v := x(t)
				return stringVal(pythonTypeName(v.str()), v.lab)
			}
		}
		if e.Name.Name == "__class__" { // as type(x)
			x := f.expr(e.X)
			return func(t *thread) val {
				v := x(t)
				return stringVal(v.typeName(), v.lab)
			}
		}
		f.judge(judgedFields, e.X)
		x, name, p := f.expr(e.X), e.Name.Name, at(e.Name.NamePos)
		return func(t *thread) val { return t.attr(x(t), name, p) }
	case *star.CallExpr:
		return f.call(e)
	case *star.Comprehension:
		return f.comprehension(e)
	case *star.LambdaExpr:
		return f.function(e.Function.(*resolve.Function))
	}
	p, _ := e.Span()
	f.errorf(p, "", "unexpected expression")
	return nil
}

// ident compiles reading a name.
func (f *fcomp) ident(id *star.Ident) expr {
	b := id.Binding.(*resolve.Binding)
	name, p := id.Name, at(id.NamePos)
	switch b.Scope {
	case resolve.Local:
		i := b.Index
		return func(t *thread) val {
			v := t.locals[i]
			if v.k == kUnbound {
				panic(t.fail(p, v.lab, "unbound", "local variable %s referenced before assignment", name).of("UnboundLocalError").hint(unboundHint))
			}
			v.lab = t.join(v.lab, t.pc)
			return v
		}
	case resolve.Cell:
		i := b.Index
		return func(t *thread) val { return t.load(t.locals[i].cell().v, "local variable", name, p) }
	case resolve.Free:
		i := b.Index
		return func(t *thread) val { return t.load(t.fn.free[i].v, "local variable", name, p) }
	case resolve.Global:
		i := b.Index
		return func(t *thread) val { return t.load(t.cells[i].v, "global variable", name, p) }
	case resolve.Predeclared:
		i := f.predeclared(name)
		return func(t *thread) val {
			v := t.fn.mod.pre[i]
			v.lab = t.join(v.lab, t.pc)
			return v
		}
	}
	v := universe[name]
	return func(t *thread) val { return v.with(t.pc) }
}

func (t *thread) load(v val, what, name string, p pos) val {
	if v.k == kUnbound {
		e := t.fail(p, v.lab, "unbound", "%s %s referenced before assignment", what, name)
		if what == "local variable" {
			e.of("UnboundLocalError").hint(unboundHint)
		}
		panic(e)
	}
	v.lab = t.join(v.lab, t.pc)
	return v
}

func (c *compiler) predeclared(name string) int {
	i, ok := c.pre[name]
	if !ok {
		i = len(c.prog.names)
		c.pre[name] = i
		c.prog.names = append(c.prog.names, name)
	}
	return i
}

// leaf reports whether evaluating e neither runs a program's code nor allocates, so that
// another operand may wait in a variable of Go meanwhile. An index may do both: of a defaultdict.
func leaf(e star.Expr) bool {
	switch e := e.(type) {
	case *star.Ident, *star.Literal:
		return true
	case *star.ParenExpr:
		return leaf(e.X)
	}
	return false
}

// pair compiles an operation on two operands, the second of which was compiled last: the
// first waits in a temporary, where the tracer sees it, while the second is evaluated.
func (f *fcomp) pair(x, y expr, second star.Expr, op func(t *thread, a, b val) val) expr {
	if leaf(second) {
		return func(t *thread) val {
			a := x(t)
			return op(t, a, y(t))
		}
	}
	i := f.base + f.last
	f.need = max(f.need, f.last+1)
	if e, ok := unparen(second).(*star.IndexExpr); ok && leaf(e.X) && leaf(e.Y) {
		o, k, p := f.expr(e.X), f.expr(e.Y), at(e.Lbrack)
		return func(t *thread) val {
			a, b, k := x(t), o(t), k(t)
			if b.k == kDict && b.dict().of != nil {
				t.locals[i] = a
			}
			b = t.index(b, k, p)
			t.locals[i] = unboundVal
			return op(t, a, b)
		}
	}
	return func(t *thread) val {
		a := x(t)
		if a.p == nil { // a small value, of which there is nothing to trace
			return op(t, a, y(t))
		}
		t.locals[i] = a
		b := y(t)
		t.locals[i] = unboundVal
		return op(t, a, b)
	}
}

func (f *fcomp) list(e *star.ListExpr) expr {
	items := f.items(e.List)
	return func(t *thread) val {
		o := &list{}
		if len(items.exprs) > 0 {
			t.alloc(48 + int64(len(items.exprs))*valSize)
			o.items = items.eval(t)
		} else {
			t.alloc(48)
		}
		o.st = t.pc
		return listVal(o, t.pc)
	}
}

func (f *fcomp) tuple(e *star.TupleExpr) expr {
	items := f.items(e.List)
	return func(t *thread) val {
		t.alloc(48 + int64(len(items.exprs))*valSize)
		return tupleVal(items.eval(t), t.pc)
	}
}

// items evaluates the elements of a display into temporaries, then copies them out.
type items struct {
	exprs []expr
	first int
}

func (f *fcomp) items(list []star.Expr) items {
	var out items
	for _, e := range list {
		out.exprs = append(out.exprs, f.expr(e))
	}
	out.first = f.slots(len(list))
	return out
}

func (it *items) eval(t *thread) []val {
	for i, e := range it.exprs {
		v := e(t)
		t.locals[it.first+i] = v
	}
	out := make([]val, len(it.exprs))
	slots := t.locals[it.first : it.first+len(it.exprs)]
	copy(out, slots)
	for i := range slots {
		slots[i] = unboundVal
	}
	return out
}

func (f *fcomp) dict(e *star.DictExpr) expr {
	type pair struct {
		k, v expr
		p    pos
	}
	pairs := make([]pair, len(e.List))
	for i, x := range e.List {
		d := x.(*star.DictEntry)
		f.judge(judgedDeep, d.Key)
		pairs[i] = pair{f.expr(d.Key), f.expr(d.Value), at(d.Colon)}
	}
	slot := f.slots(2)
	return func(t *thread) val {
		t.alloc(96)
		d := &dict{st: t.pc}
		t.locals[slot] = dictVal(d, t.pc)
		for i := range pairs {
			k := pairs[i].k(t)
			t.locals[slot+1] = k
			v := pairs[i].v(t)
			t.at = pairs[i].p
			h := t.hash(k)
			kl := t.keyLab(k)
			d.st = t.join(t.join(d.st, kl), t.pc)
			n := d.live
			t.put(d, k, h, v.with(t.join(v.lab, kl)))
			if d.live == n {
				panic(t.fail(pairs[i].p, t.join(d.st, t.deepLabel(k)), "duplicate-key", "duplicate key: %s", t.short(k)))
			}
		}
		t.locals[slot], t.locals[slot+1] = unboundVal, unboundVal
		return dictVal(d, t.pc)
	}
}

// cond compiles an expression whose truth alone is wanted.
func (f *fcomp) cond(e star.Expr) cond {
	switch e := e.(type) {
	case *star.ParenExpr:
		return f.cond(e.X)
	case *star.UnaryExpr:
		if e.Op == star.NOT {
			c := f.cond(e.X)
			return func(t *thread) (bool, label.ID) {
				ok, l := c(t)
				return !ok, l
			}
		}
	case *star.BinaryExpr:
		if c := f.compareCond(e); c != nil {
			return c
		}
	}
	x := f.expr(e)
	return func(t *thread) (bool, label.ID) {
		v := x(t)
		return t.truth(v), t.join(v.lab, t.structure(v))
	}
}

// compareCond compiles a comparison of ints without making a bool of it.
func (f *fcomp) compareCond(e *star.BinaryExpr) cond {
	op := e.Op
	e = withTypes(e)
	switch op {
	case star.EQL, star.NEQ, star.LT, star.LE, star.GT, star.GE:
	default:
		return nil
	}
	if op != star.EQL && op != star.NEQ {
		f.judge(judgedDeep, e.X, e.Y)
	}
	x, y, p := f.expr(e.X), f.expr(e.Y), at(e.OpPos)
	if !leaf(e.Y) {
		v := f.pair(x, y, e.Y, func(t *thread, a, b val) val { return t.compare(op, a, b, p) })
		return func(t *thread) (bool, label.ID) {
			r := v(t)
			return r.n != 0, r.lab
		}
	}
	return compareInts(op, f.operand(e.X, x), f.operand(e.Y, y), p)
}

// branchExpr enters a region under a condition of label l, runs the arm, and leaves it.
func (t *thread) branchExpr(r *region, l label.ID, arm expr) val {
	saved := t.pc
	full := t.under(saved, l)
	if full == saved {
		return arm(t)
	}
	raises := t.raises
	t.announce(r, saved, full, l)
	t.pc = full
	v := arm(t)
	t.conds = t.conds[:len(t.conds)-1]
	t.pc = saved
	if t.raises != raises {
		t.pc = t.level(saved)
	}
	return v
}

func (f *fcomp) condExpr(e *star.CondExpr) expr {
	c, x, y := f.cond(e.Cond), f.expr(e.True), f.expr(e.False)
	r := f.region(nil, e.True, e.False)
	return func(t *thread) val {
		ok, l := c(t)
		arm := y
		if ok {
			arm = x
		}
		return t.branchExpr(r, l, arm) // the arm's value carries l: its pc did
	}
}

// logic compiles and/or. The value carries the label of each operand that decided.
func (f *fcomp) logic(e *star.BinaryExpr) expr {
	x, y := f.expr(e.X), f.expr(e.Y)
	r := f.region(nil, e.Y)
	or := e.Op == star.OR
	return func(t *thread) val {
		a := x(t)
		l := t.join(a.lab, t.structure(a))
		if t.truth(a) == or {
			if full := t.under(t.pc, l); full != t.pc {
				t.announce(r, t.pc, full, l)
				t.conds = t.conds[:len(t.conds)-1]
				t.pc = t.level(t.pc)
			}
			a.lab = t.under(a.lab, l)
			return a
		}
		return t.branchExpr(r, l, y)
	}
}

func (f *fcomp) unary(e *star.UnaryExpr) expr {
	p := at(e.OpPos)
	if e.Op == star.NOT {
		c := f.cond(e.X)
		return func(t *thread) val {
			ok, l := c(t)
			return boolVal(!ok, l)
		}
	}
	f.judge(judgedKind, e.X)
	x := f.expr(e.X)
	switch op := e.Op; op {
	case star.MINUS:
		if l, ok := e.X.(*star.Literal); ok {
			if v := literal(l); v.k == kInt && v.n != -1<<63 {
				n := -v.n
				return func(t *thread) val { return intVal(n, t.literal()) }
			}
		}
		return func(t *thread) val {
			v := x(t)
			if v.k == kInt && v.n != -1<<63 {
				v.n = -v.n
				return v
			}
			return t.unary(op, v, p)
		}
	default:
		return func(t *thread) val { return t.unary(op, x(t), p) }
	}
}

func (f *fcomp) binary(e *star.BinaryExpr) expr {
	op, p := e.Op, at(e.OpPos)
	switch op {
	case star.AND, star.OR:
		return f.logic(e)
	case star.EQL, star.NEQ, star.LT, star.LE, star.GT, star.GE:
		c := f.compareCond(e)
		return func(t *thread) val {
			ok, l := c(t)
			return boolVal(ok, l)
		}
	case star.IN, star.NOT_IN:
		e = withTypes(e)
		f.judge(judgedDeep, e.X)
		f.judge(judgedKind, e.Y)
		x, y := f.expr(e.X), f.expr(e.Y)
		return f.pair(x, y, e.Y, func(t *thread, a, b val) val { return t.in(op == star.NOT_IN, a, b, p) })
	}
	f.judge(judgedKind, e.X, e.Y)
	if op == star.PERCENT { // of a text: what is put into it
		f.judge(judgedDeep, e.Y)
	}
	if op == star.PLUS {
		if parts := summands(e); len(parts) > 2 {
			return f.sum(parts)
		}
	}
	x, y := f.expr(e.X), f.expr(e.Y)
	if fast := addInts(op, f.operand(e.X, x), f.operand(e.Y, y), p); fast != nil {
		return fast
	}
	return f.pair(x, y, e.Y, func(t *thread, a, b val) val {
		if a.k == kInt && b.k == kInt {
			if n, ok := intOp(op, a.n, b.n); ok {
				return intVal(n, t.join(a.lab, b.lab))
			}
		}
		return t.binary(op, a, b, p)
	})
}

func (f *fcomp) slice(e *star.SliceExpr) expr {
	parts := []star.Expr{e.X, e.Lo, e.Hi, e.Step}
	f.judge(judgedKind, parts...)
	exprs := make([]expr, 4)
	for i, x := range parts {
		if x != nil {
			exprs[i] = f.expr(x)
		}
	}
	first, p := f.slots(4), at(e.Lbrack)
	return func(t *thread) val {
		for i, x := range exprs {
			v := val{k: kNone, lab: t.pc}
			if x != nil {
				v = x(t)
			}
			t.locals[first+i] = v
		}
		s := t.locals[first : first+4]
		v := t.slice3(s[0], s[1], s[2], s[3], p)
		for i := range s {
			s[i] = unboundVal
		}
		return v
	}
}

// mostAhead is for how many elements a comprehension makes room before it has any.
const mostAhead = 1 << 12

// comprehension compiles [body for …], {k: v for …} and {x for …}.
func (f *fcomp) comprehension(e *star.Comprehension) expr {
	var slot int // of the container being made, and of a key
	first := e.Clauses[0].(*star.ForClause)
	f.judgeClauses(e)
	source := f.expr(first.X)
	var add func(t *thread)
	switch body := e.Body.(type) {
	case *star.DictEntry:
		k, v, p := f.expr(body.Key), f.expr(body.Value), at(body.Colon)
		add = func(t *thread) {
			key := k(t)
			t.locals[slot+1] = key
			x := v(t)
			d := t.locals[slot].dict()
			t.at = p
			h := t.hash(key)
			kl := t.keyLab(key)
			d.st = t.join(t.join(d.st, kl), t.pc)
			t.put(d, key, h, x.with(t.join(x.lab, kl)))
		}
	default:
		x := f.expr(e.Body)
		if e.Curly {
			p := start(e.Body)
			add = func(t *thread) {
				v := x(t)
				d := t.locals[slot].dict()
				t.at = p
				h := t.hash(v)
				d.st = t.join(t.join(d.st, t.deepLabel(v)), t.pc)
				t.put(d, v, h, noneVal(label.BottomID))
			}
		} else {
			add = func(t *thread) {
				v := x(t)
				o := t.locals[slot].list()
				if len(o.items) < cap(o.items) {
					o.items = append(o.items, v)
				} else {
					t.append(o, v)
				}
				if o.st != t.pc {
					o.st = t.join(o.st, t.pc)
				}
			}
		}
	}
	cost := size(e.Body)
	whole := f.region(nil, clauseArms(e)...)
	run := add
	for i := len(e.Clauses) - 1; i >= 0; i-- {
		next := run
		switch c := e.Clauses[i].(type) {
		case *star.IfClause:
			test := f.cond(c.Cond)
			run = func(t *thread) {
				ok, l := test(t)
				saved, raises := t.pc, t.raises
				full := t.under(saved, l)
				if full != saved {
					t.announce(whole, saved, full, l)
					// Which elements there are depends on the filter.
					t.joinMade(slot, full)
					t.pc = full
				}
				if ok {
					next(t)
				}
				if full != saved {
					t.conds = t.conds[:len(t.conds)-1]
					t.pc = saved
					if t.raises != raises {
						t.pc = t.level(saved)
					}
				}
			}
		case *star.ForClause:
			vars, local := f.target(c.Vars)
			seq, p := source, start(c.X)
			if i > 0 {
				seq = f.expr(c.X)
			}
			sized := len(e.Clauses) == 1 && !e.Curly
			entered := func(t *thread, l label.ID) { t.joinMade(slot, l) }
			run = func(t *thread) {
				l := t.beginLoop(seq(t), whole, p, entered)
				if sized && l.seq.v.k != kSeq { // its list gets room for all of them at once
					t.grow(t.locals[slot].list(), int(min(t.length(l.seq.v), mostAhead)))
				}
				for elem, ok := l.next(t); ok; elem, ok = l.next(t) {
					if t.fuel -= cost; t.fuel < 0 {
						t.refuel()
					}
					if local >= 0 {
						t.locals[local] = elem
					} else {
						vars(t, elem)
					}
					next(t)
				}
				l.end(t)
			}
		}
	}
	slot = f.slots(2)
	curly, isDict := e.Curly, false
	if _, ok := e.Body.(*star.DictEntry); ok {
		isDict = true
	}
	return func(t *thread) val {
		var out val
		switch {
		case !curly:
			t.alloc(48)
			out = listVal(&list{st: t.pc}, t.pc)
		default:
			t.alloc(96)
			out = dictVal(&dict{st: t.pc}, t.pc)
			if !isDict {
				out = setVal(out.dict(), t.pc)
			}
		}
		// A comprehension inside itself (by recursion) has a frame of its own; inside a loop the slot is free again.
		t.locals[slot] = out
		run(t)
		out = t.locals[slot]
		t.locals[slot], t.locals[slot+1] = unboundVal, unboundVal
		switch out.k {
		case kList:
			out.list().st = t.join(out.list().st, t.pc)
		default:
			out.dict().st = t.join(out.dict().st, t.pc)
		}
		return out.with(t.pc)
	}
}

// joinMade joins a label to the structure of the container that a comprehension is making.
func (t *thread) joinMade(slot int, l label.ID) {
	switch v := t.locals[slot]; v.k {
	case kList:
		v.list().st = t.join(v.list().st, l)
	case kDict, kSet:
		v.dict().st = t.join(v.dict().st, l)
	}
}
