package eval

import (
	"go.starlark.net/resolve"
	star "go.starlark.net/syntax"

	"callgate/engine/label"
	"callgate/engine/syntax"
)

// stmt compiles a statement; nil means that it does nothing.
func (f *fcomp) stmt(s star.Stmt, p *place) stmt {
	switch s := s.(type) {
	case *star.ExprStmt:
		if _, doc := s.X.(*star.Literal); doc {
			return nil
		}
		x := f.expr(s.X)
		return func(t *thread) sig {
			x(t)
			return sigNext
		}
	case *star.AssignStmt:
		switch {
		case isDeclaration(s):
			return f.declaration(s)
		case s.Op != star.EQ:
			return f.augmented(s)
		}
		return f.assignment(s)
	case *star.IfStmt:
		if specialName(s.Cond) == syntax.Try {
			return f.tryStmt(s, p)
		}
		return f.ifStmt(s, p)
	case *star.ForStmt:
		return f.forStmt(s, p)
	case *star.WhileStmt:
		return f.whileStmt(s, p)
	case *star.DefStmt:
		fn := f.function(s.Function.(*resolve.Function))
		set := f.assign(s.Name)
		return func(t *thread) sig {
			set(t, fn(t))
			return sigNext
		}
	case *star.ReturnStmt:
		return f.returnStmt(s)
	case *star.BranchStmt:
		switch s.Token {
		case star.BREAK:
			return func(*thread) sig { return sigBreak }
		case star.CONTINUE:
			return func(*thread) sig { return sigContinue }
		}
		return nil
	case *star.LoadStmt:
		f.errorf(s.Load, "a program uses the tools that it was granted; modules such as json are there without loading", "load is not available")
		return nil
	}
	where, _ := s.Span()
	f.errorf(where, "", "unexpected statement")
	return nil
}

func (f *fcomp) returnStmt(s *star.ReturnStmt) stmt {
	if s.Result == nil {
		return func(t *thread) sig {
			t.ret = noneVal(t.pc)
			return sigReturn
		}
	}
	x := f.expr(s.Result)
	return func(t *thread) sig {
		t.ret = x(t)
		return sigReturn
	}
}

func (f *fcomp) assignment(s *star.AssignStmt) stmt {
	x := f.expr(s.RHS)
	if id, ok := s.LHS.(*star.Ident); ok {
		if b := id.Binding.(*resolve.Binding); b.Scope == resolve.Local {
			i := b.Index
			return func(t *thread) sig {
				t.locals[i] = x(t)
				return sigNext
			}
		}
	}
	set := f.assign(s.LHS)
	slot := f.slots(1)
	return func(t *thread) sig {
		v := x(t)
		t.locals[slot] = v
		set(t, v)
		t.locals[slot] = unboundVal
		return sigNext
	}
}

// assign compiles binding a value, which carries the pc, to a target.
func (f *fcomp) assign(e star.Expr) assign {
	switch e := e.(type) {
	case *star.ParenExpr:
		return f.assign(e.X)
	case *star.Ident:
		b := e.Binding.(*resolve.Binding)
		i := b.Index
		switch b.Scope {
		case resolve.Local:
			return func(t *thread, v val) { t.locals[i] = v }
		case resolve.Cell:
			return func(t *thread, v val) { t.locals[i].cell().v = v }
		}
		if !f.again {
			f.prog.binds[i] = true
		}
		return func(t *thread, v val) { t.cells[i].v = v }
	case *star.IndexExpr:
		f.judge(judgedShallow, e.X)
		f.judge(judgedDeep, e.Y)
		x, y, p := f.expr(e.X), f.expr(e.Y), at(e.Lbrack)
		slot := f.slots(2)
		return func(t *thread, v val) {
			t.locals[slot] = x(t)
			t.locals[slot+1] = y(t)
			o, i := t.locals[slot], t.locals[slot+1]
			t.locals[slot], t.locals[slot+1] = unboundVal, unboundVal
			t.setIndex(o, i, v, p)
		}
	case *star.DotExpr:
		x, name, p := f.expr(e.X), e.Name.Name, at(e.Name.NamePos)
		return func(t *thread, v val) {
			o := x(t)
			panic(t.fail(p, o.lab, "no-field", "can't assign to .%s field of %s", name, o.typeName()))
		}
	case *star.TupleExpr:
		return f.unpack(e.List, e)
	case *star.ListExpr:
		return f.unpack(e.List, e)
	}
	p, _ := e.Span()
	f.errorf(p, "", "can't assign to this expression")
	return nil
}

// unpack compiles a, b = v.
func (f *fcomp) unpack(list []star.Expr, e star.Expr) assign {
	p := start(e)
	sets := make([]assign, len(list))
	for i, x := range list {
		sets[i] = f.assign(x)
	}
	slot := f.slots(len(list))
	watch := f.watch
	return func(t *thread, v val) {
		if watch {
			v = t.tell(v, judgedShallow)
		}
		l := t.join(v.lab, t.structure(v))
		it, ok := t.iterate(v)
		if !ok {
			panic(t.fail(p, l, "not-iterable", "got %s in sequence assignment", v.typeName()).advise(notIterableHint(v)))
		}
		n := 0
		for n < len(sets) {
			e, ok := it.next(t)
			if !ok {
				break
			}
			t.locals[slot+n] = e.with(t.join(e.lab, l))
			n++
		}
		if n < len(sets) {
			panic(t.fail(p, l, "unpack", "too few values to unpack (got %d, want %d)", n, len(sets)))
		}
		if _, ok := it.next(t); ok {
			panic(t.fail(p, l, "unpack", "too many values to unpack (got %d, want %d)", t.counted(v), len(sets)))
		}
		for i, set := range sets {
			e := t.locals[slot+i]
			set(t, e.with(t.join(e.lab, t.pc))) // what a target before it checked may have raised the pc
			t.locals[slot+i] = unboundVal
		}
	}
}

// augmented compiles x += y and its kin.
func (f *fcomp) augmented(s *star.AssignStmt) stmt {
	op := s.Op - star.PLUS_EQ + star.PLUS
	if s.Op == star.STARSTAR {
		op = s.Op
	}
	p := at(s.OpPos)
	change := func(t *thread, a, b val) val {
		switch {
		case op == star.PLUS && a.k == kInt && b.k == kInt:
			if s := a.n + b.n; (s > a.n) == (b.n > 0) {
				return intVal(s, t.join(a.lab, b.lab))
			}
		case op == star.PLUS && a.k == kList && t.iterable(b):
			t.at = p
			t.extend(a, b)
			return a
		case op == star.PIPE && a.k == kDict && b.k == kDict && a.dict().of != ofCounter:
			t.at = p
			t.update(a, b)
			return a
		}
		return t.binary(op, a, b, p)
	}
	how := judgedKind
	if op == star.PERCENT {
		how = judgedDeep
	}
	f.judge(how, s.RHS)
	inPlace := f.toldFirst(change)
	switch lhs := unparen(s.LHS).(type) {
	case *star.Ident:
		x, set := f.ident(lhs), f.assign(lhs)
		y := f.expr(s.RHS)
		op := f.pair(x, y, s.RHS, inPlace)
		if b := lhs.Binding.(*resolve.Binding); b.Scope == resolve.Local {
			i := b.Index
			return func(t *thread) sig {
				t.locals[i] = op(t)
				return sigNext
			}
		}
		return func(t *thread) sig {
			set(t, op(t))
			return sigNext
		}
	case *star.IndexExpr:
		f.judge(judgedShallow, lhs.X)
		f.judge(judgedDeep, lhs.Y)
		x, y, at := f.expr(lhs.X), f.expr(lhs.Y), at(lhs.Lbrack)
		z := f.expr(s.RHS)
		slot := f.slots(3)
		return func(t *thread) sig {
			t.locals[slot] = x(t)
			t.locals[slot+1] = y(t)
			t.locals[slot+2] = t.index(t.locals[slot], t.locals[slot+1], at)
			b := z(t)
			o, i, a := t.locals[slot], t.locals[slot+1], t.locals[slot+2]
			for j := range 3 {
				t.locals[slot+j] = unboundVal
			}
			t.setIndex(o, i, inPlace(t, a, b), at)
			return sigNext
		}
	}
	x := f.expr(s.LHS)
	return func(t *thread) sig {
		v := x(t)
		panic(t.fail(p, v.lab, "no-field", "can't assign to a field of %s", v.typeName()))
	}
}

func unparen(e star.Expr) star.Expr {
	for {
		p, ok := e.(*star.ParenExpr)
		if !ok {
			return e
		}
		e = p.X
	}
}

func (f *fcomp) ifStmt(s *star.IfStmt, p *place) stmt {
	c := f.cond(s.Cond)
	own := f.need // the arms' statements count their own temporaries
	then := f.block(s.True, p, nil)
	var els stmt
	if len(s.False) > 0 {
		els = f.block(s.False, p, nil)
	}
	f.need = own
	r := f.region(p, stmtNodes(s.True, s.False)...)
	r.self = s
	return func(t *thread) sig {
		ok, l := c(t)
		arm := els
		if ok {
			arm = then
		}
		saved := t.pc
		full := t.under(saved, l)
		if full == saved {
			if arm == nil {
				return sigNext
			}
			return arm(t)
		}
		raises := t.raises
		t.announce(r, saved, full, l)
		t.pc = full
		out := sigNext
		if arm != nil {
			out = arm(t)
		}
		t.conds = t.conds[:len(t.conds)-1]
		t.pc = saved
		if t.raises != raises {
			t.pc = t.level(saved)
		}
		return out
	}
}

func stmtNodes(lists ...[]star.Stmt) []star.Node {
	var out []star.Node
	for _, l := range lists {
		for _, s := range l {
			out = append(out, s)
		}
	}
	return out
}

func (f *fcomp) forStmt(s *star.ForStmt, p *place) stmt {
	f.judge(judgedKind, s.X)
	seq := f.expr(s.X)
	vars, local := f.target(s.Vars)
	own := f.need
	body := f.block(s.Body, p, s)
	f.need = own
	r := f.region(p, s)
	r.self = s
	where := start(s.X)
	return func(t *thread) sig {
		out := sigNext
		l := t.beginLoop(seq(t), r, where, nil)
	loop:
		for {
			elem, ok := l.next(t)
			if !ok {
				break
			}
			if local >= 0 {
				t.locals[local] = elem
			} else {
				vars(t, elem)
			}
			switch body(t) {
			case sigBreak:
				break loop
			case sigReturn:
				out = sigReturn
				break loop
			}
		}
		l.end(t)
		return out
	}
}

// target compiles the variables of a loop. An element already carries the pc: where there is one variable, and it is a local,
// it goes into that slot; otherwise local is negative.
func (f *fcomp) target(e star.Expr) (vars assign, local int) {
	vars, local = f.assign(e), -1
	if id, ok := unparen(e).(*star.Ident); ok {
		if b := id.Binding.(*resolve.Binding); b.Scope == resolve.Local {
			local = b.Index
		}
	}
	return vars, local
}

// loop is a loop over a sequence that is running. Each element carries the pc of
// the body, which includes the labels of the reference and of the structure, and what breaks
// and continues add.
type loop struct {
	seq    iterator
	at     pos
	saved  label.ID
	bodyPC label.ID
	elem   label.ID // of each element: bodyPC and the reference's
	raises uint32   // before the loop
	seen   uint32   // when bodyPC was worked out
	conds  int
}

// beginLoop begins a loop over v. If the loop raises the pc and entered is not nil, it is called with the new pc.
func (t *thread) beginLoop(v val, r *region, p pos, entered func(*thread, label.ID)) loop {
	l := t.join(v.lab, t.structure(v))
	lp := loop{at: p, saved: t.pc, raises: t.raises, conds: len(t.conds)}
	full := t.under(t.pc, l)
	t.loops = append(t.loops, loopPC{full, label.BottomID})
	if full != lp.saved {
		t.announce(r, lp.saved, full, l)
		if entered != nil {
			entered(t, full)
		}
	}
	var ok bool
	if lp.seq, ok = t.iterate(v); !ok {
		panic(t.fail(p, l, "not-iterable", "%s value is not iterable", v.typeName()).advise(notIterableHint(v)))
	}
	t.lock(v)
	lp.bodyPC = full
	if t.raises != lp.raises {
		lp.bodyPC = t.level(full)
	}
	lp.elem = t.join(lp.bodyPC, v.lab)
	lp.seen = t.raises
	return lp
}

// next enters the next iteration, if there is one, and returns its element.
func (lp *loop) next(t *thread) (val, bool) {
	if t.raises != lp.seen {
		t.loops[len(t.loops)-1].cnt = label.BottomID
		lp.bodyPC = t.level(lp.bodyPC)
		lp.elem = t.join(lp.bodyPC, lp.seq.v.lab)
		lp.seen = t.raises
	}
	t.pc = lp.bodyPC
	t.at = lp.at
	if t.fuel--; t.fuel < 0 {
		t.refuel()
	}
	e, ok := lp.seq.next(t)
	if ok {
		e.lab = t.join(lp.elem, e.lab)
	}
	return e, ok
}

// end leaves the loop.
func (lp *loop) end(t *thread) {
	t.unlock()
	t.loops = t.loops[:len(t.loops)-1]
	t.conds = t.conds[:lp.conds]
	t.pc = lp.saved
	if t.raises != lp.raises {
		t.pc = t.level(lp.saved)
	}
}

func (f *fcomp) whileStmt(s *star.WhileStmt, p *place) stmt {
	test := f.cond(s.Cond)
	own := f.need
	body := f.block(s.Body, p, s)
	f.need = own
	r := f.region(p, s)
	r.self = s
	cost, where := size(s.Cond), at(s.While)
	return func(t *thread) sig {
		saved, raises, conds := t.pc, t.raises, len(t.conds)
		t.loops = append(t.loops, loopPC{label.BottomID, label.BottomID})
		top := len(t.loops) - 1
		pc := saved
		seen := raises
		out := sigNext
	loop:
		for {
			t.at = where
			if t.fuel -= cost; t.fuel < 0 {
				t.refuel()
			}
			if t.raises != seen {
				t.loops[top].cnt = label.BottomID
				pc = t.level(pc)
				seen = t.raises
			}
			t.pc = pc
			ok, l := test(t)
			// The loop's pc accumulates what its conditions carried.
			if full := t.under(t.pc, l); full != t.pc {
				before := t.pc
				t.loops[top].brk = t.join(t.loops[top].brk, full)
				t.raises++
				t.announce(r, before, full, l)
				pc = t.level(t.join(pc, full))
				seen = t.raises
				t.pc = pc
			}
			if !ok {
				break
			}
			switch body(t) {
			case sigBreak:
				break loop
			case sigReturn:
				out = sigReturn
				break loop
			}
		}
		t.loops = t.loops[:top]
		t.conds = t.conds[:conds]
		t.pc = saved
		if t.raises != raises {
			t.pc = t.level(saved)
		}
		return out
	}
}
