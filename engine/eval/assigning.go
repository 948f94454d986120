package eval

import (
	"go.starlark.net/resolve"
	star "go.starlark.net/syntax"

	"callgate/engine/label"
	"callgate/engine/syntax"
)

// Assignments that are no statements, or whose target is none of go.starlark.net's: x := v, names of functions around, slices.

func addAssignments() {
	specials[syntax.Walrus] = (*fcomp).walrus
	specials[syntax.Store] = (*fcomp).store
	specials[syntax.Shared] = (*fcomp).sharedName
	specials[syntax.SetSlice] = (*fcomp).setSlice
	specials[syntax.Declare] = func(*fcomp, *star.CallExpr) expr { return func(t *thread) val { return noneVal(t.pc) } }
}

// isDeclaration reports whether an assignment only says that a name belongs to the function that it stands in.
func isDeclaration(s *star.AssignStmt) bool {
	call, ok := s.RHS.(*star.CallExpr)
	if !ok {
		return false
	}
	id, ok := call.Fn.(*star.Ident)
	return ok && id.Name == syntax.Declare
}

// declaration compiles one: it does nothing, but earlier programs could have bound the name.
func (f *fcomp) declaration(s *star.AssignStmt) stmt {
	if b := s.LHS.(*star.Ident).Binding.(*resolve.Binding); b.Scope == resolve.Global && !f.again {
		f.prog.binds[b.Index] = true
	}
	return nil
}

// walrus compiles (x := v): it binds x as a statement would, and is v.
func (f *fcomp) walrus(e *star.CallExpr) expr {
	x := f.expr(e.Args[1])
	set := f.assign(e.Args[0])
	slot := f.slots(1)
	return func(t *thread) val {
		v := x(t)
		t.locals[slot] = v
		set(t, v)
		t.locals[slot] = unboundVal
		return v
	}
}

// store compiles an assignment to a name of a function around, or to a global from within a function. That it is one, sharedName has seen.
func (f *fcomp) store(e *star.CallExpr) expr {
	x := f.expr(e.Args[1])
	id, p := e.Args[0].(*star.Ident), at(e.Lparen)
	b := id.Binding.(*resolve.Binding)
	i := b.Index
	switch b.Scope {
	case resolve.Global:
		if !f.again {
			f.prog.binds[i] = true
		}
		return func(t *thread) val {
			v := x(t)
			t.storeCell(&t.cells[i].v, v, p)
			return v.with(t.join(v.lab, t.pc)) // the floor may have risen
		}
	case resolve.Free:
		return func(t *thread) val {
			v := x(t)
			t.storeCell(&t.fn.free[i].v, v, p)
			return v.with(t.join(v.lab, t.pc))
		}
	}
	return x
}

// sharedName compiles what a global or nonlocal statement says of a name.
func (f *fcomp) sharedName(e *star.CallExpr) expr {
	id := e.Args[0].(*star.Ident)
	nonlocal := e.Args[1].(*star.Literal).Value == int64(1)
	switch b := id.Binding.(*resolve.Binding); {
	case b.Scope == resolve.Global && !nonlocal, b.Scope == resolve.Free && nonlocal:
	case nonlocal:
		f.errorf(id.NamePos, "bind the name in the function around it first", "nonlocal %s: no function around this one binds it", id.Name)
	case b.Scope == resolve.Predeclared || b.Scope == resolve.Universal:
		f.errorf(id.NamePos, "bind the name at the top level first: "+id.Name+" = None", "global %s: no statement at the top level binds it", id.Name)
	default:
		f.errorf(id.NamePos, "give that one another name", "global %s: this function, or one around it, binds %s too", id.Name, id.Name)
	}
	return func(t *thread) val { return noneVal(t.pc) }
}

// storeCell binds a variable that other functions see. Unlike a variable of the running function, no region that was entered
// since the variable was made need have announced it: so it is a container of one element, under the write rule [flow.4].
func (t *thread) storeCell(c *val, v val, p pos) {
	if l := t.join(c.lab, t.pc); l.Class() != c.lab.Class() {
		t.raiseFloor(l, p, "a name outside of the function is bound here, under more than it had: return the value instead")
	}
	if t.strands > 0 { // a strand that waits within a branch has announced what it may bind: that stays announced
		v.lab = t.join(v.lab, c.lab)
	}
	*c = v
}

// announceCell is announceValue for a variable that functions bind which it is not of.
func (t *thread) announceCell(v *val, via, full label.ID) {
	if v != nil && t.tab.Flows(via, v.lab) {
		v.lab = t.join(v.lab, full)
	}
}

// setSlice compiles x[a:b:c] = v. The value is evaluated first, then what it is assigned to.
func (f *fcomp) setSlice(e *star.CallExpr) expr {
	target, p := e.Args[0].(*star.SliceExpr), at(e.Lparen)
	parts := []star.Expr{e.Args[1], target.X, target.Lo, target.Hi, target.Step}
	f.judge(judgedKind, parts...)
	f.judge(judgedShallow, e.Args[1], target.X)
	exprs := make([]expr, len(parts))
	for i, x := range parts {
		if x != nil {
			exprs[i] = f.expr(x)
		}
	}
	first := f.slots(len(parts))
	return func(t *thread) val {
		for i, x := range exprs {
			v := val{k: kNone, lab: t.pc}
			if x != nil {
				v = x(t)
			}
			t.locals[first+i] = v
		}
		s := t.locals[first : first+len(parts)]
		t.at = p
		segment := t.mem.begin()
		t.assignSlice(s[1], s[2], s[3], s[4], s[0], p)
		t.mem.resume(segment)
		for i := range s {
			s[i] = unboundVal
		}
		return noneVal(t.pc)
	}
}

// assignSlice executes x[lo:hi:step] = v. The places of all that follows depend on the bounds, and on how much v holds.
func (t *thread) assignSlice(x, lo, hi, step, v val, p pos) {
	bounds := t.tab.Control(t.join(t.join(lo.lab, hi.lab), step.lab))
	l := t.join(t.join(x.lab, t.structure(x)), bounds)
	if x.k != kList {
		panic(t.fail(p, l, "type", "%s value does not support slice assignment", x.typeName()))
	}
	o := x.list()
	r := t.bounds(int64(len(o.items)), lo, hi, step, l, p)
	vl := t.join(v.lab, t.structure(v))
	if !t.iterable(v) {
		panic(t.fail(p, t.join(l, vl), "not-iterable", "got %s in an assignment to a slice", v.typeName()).advise(notIterableHint(v)))
	}
	items := t.elements(v) // v may be x
	n := int64(len(items))
	if r.step != 1 && n != r.n {
		panic(t.fail(p, t.join(l, vl), "unpack", "cannot assign %d values to a slice of %d in steps", n, r.n))
	}
	t.mutable(o.iters, "assign to a slice of", x.with(t.join(l, vl)), p)
	w := t.join(t.under(t.write(&o.st, x.lab, p), bounds), vl)
	o.st = t.under(t.under(o.st, bounds), vl)
	t.charge(n / 4)
	for i := range items {
		if i%movePiece == 0 {
			t.poll()
		}
		items[i].lab = t.join(items[i].lab, w)
	}
	if r.step != 1 {
		for i, e := range items {
			o.items[r.at(int64(i))] = e
		}
		return
	}
	total := len(o.items) - int(r.n) + len(items)
	room := roomFor(total, 0, valSize)
	t.alloc(blockSize(int64(room) * valSize))
	t.charge(int64(total) / 8)
	all := make([]val, total, room)
	t.move(all, o.items[:r.start])
	t.move(all[r.start:], items)
	t.move(all[int(r.start)+len(items):], o.items[r.start+r.n:])
	t.free(blockSize(int64(cap(o.items)) * valSize))
	o.items = all
}
