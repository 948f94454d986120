package eval

import (
	star "go.starlark.net/syntax"

	"callgate/engine/label"
	"callgate/engine/syntax"
)

// seeker is a call of any, all or next with a generator expression: elements are made one after the other until one decides, and
// those after it not at all. That is a loop with a break: under what decides whether it
// was taken stands all that the loop may still do.
type seeker struct {
	f     *fcomp
	def   *builtinDef
	whole *region
	slot  int // of the result so far, whether it is final, and how many loops are outside
}

// generator compiles a generator expression that is all used: a list.
func (f *fcomp) generator(e *star.CallExpr) expr {
	return f.comprehension(e.Args[0].(*star.Comprehension))
}

// generatorOf returns the comprehension of an argument that is a generator expression.
func generatorOf(e star.Expr) *star.Comprehension {
	call, ok := unparen(e).(*star.CallExpr)
	if !ok {
		return nil
	}
	if id, ok := call.Fn.(*star.Ident); !ok || id.Name != syntax.Generator {
		return nil
	}
	return call.Args[0].(*star.Comprehension)
}

// seek compiles a call of any, all or next whose first argument is a generator expression; nil if it is none of these.
func (f *fcomp) seek(b *builtin, e *star.CallExpr, p pos) expr {
	if len(e.Args) == 0 {
		return nil
	}
	c := generatorOf(e.Args[0])
	switch {
	case c == nil:
		return nil
	case (b.name == "any" || b.name == "all") && len(e.Args) == 1:
	case b.name == "next" && len(e.Args) <= 2:
	default:
		return nil
	}
	s := &seeker{f: f, def: b.def}
	first := c.Clauses[0].(*star.ForClause)
	f.judgeClauses(c)
	source, x := f.expr(first.X), f.expr(c.Body)
	s.whole = f.region(nil, clauseArms(c)...)
	cost := size(c.Body)
	run := s.look(x, b.name)
	for i := len(c.Clauses) - 1; i >= 0; i-- {
		switch c := c.Clauses[i].(type) {
		case *star.IfClause:
			run = s.filter(f.cond(c.Cond), run)
		case *star.ForClause:
			seq := source
			if i > 0 {
				seq = f.expr(c.X)
			}
			run = s.each(seq, f.assign(c.Vars), run, cost, start(c.X))
		}
	}
	var absent expr
	if len(e.Args) == 2 {
		absent = f.expr(e.Args[1])
	}
	s.slot = f.slots(4)
	return func(t *thread) val {
		t.at = p
		t.permitLabel(s.def, t.pc)
		out := unboundVal.with(t.pc)
		switch {
		case b.name == "any":
			out = boolVal(false, t.pc)
		case b.name == "all":
			out = boolVal(true, t.pc)
		case absent != nil:
			t.locals[s.slot+3] = absent(t)
		}
		t.locals[s.slot], t.locals[s.slot+1] = out, boolVal(false, label.BottomID)
		t.locals[s.slot+2] = intVal(int64(len(t.loops)), label.BottomID)
		run(t)
		out = t.locals[s.slot]
		out.lab = t.join(out.lab, t.pc)
		if out.k == kUnbound {
			d := t.locals[s.slot+3]
			if d.k == kUnbound {
				panic(t.fail(p, out.lab, "empty", "next: there is no element").of("StopIteration").hint("next(xs, None) gives None instead"))
			}
			out = d.with(t.join(d.lab, out.lab))
		}
		for i := range 4 {
			t.locals[s.slot+i] = unboundVal
		}
		t.at = p
		t.permitLabel(s.def, out.lab)
		return out
	}
}

// over reports whether an element has decided.
func (s *seeker) over(t *thread) bool { return t.locals[s.slot+1].n != 0 }

// breaks joins full, the pc under which the search may end or have ended, to all that its loops may still do, and to its result.
func (s *seeker) breaks(t *thread, full label.ID) {
	out := &t.locals[s.slot]
	out.lab = t.join(out.lab, full)
	for i := int(t.locals[s.slot+2].n); i < len(t.loops); i++ {
		t.loops[i].brk = t.join(t.loops[i].brk, full)
	}
	t.raises++
}

// look makes an element and looks whether it decides.
func (s *seeker) look(x expr, name string) func(t *thread) {
	if name == "next" {
		return func(t *thread) {
			v := x(t)
			t.locals[s.slot] = v.with(t.join(v.lab, t.locals[s.slot].lab))
			t.locals[s.slot+1].n = 1
		}
	}
	want := name == "any"
	return func(t *thread) {
		v := x(t)
		l := t.join(v.lab, t.structure(v))
		if full := t.under(t.pc, l); full != t.pc {
			t.announce(s.whole, t.pc, full, l)
			s.breaks(t, full)
		}
		out := &t.locals[s.slot]
		out.lab = t.join(out.lab, l)
		if t.truth(v) == want {
			out.n = 1 - out.n
			t.locals[s.slot+1].n = 1
		}
	}
}

func (s *seeker) filter(test cond, next func(t *thread)) func(t *thread) {
	return func(t *thread) {
		ok, l := test(t)
		saved, conds := t.pc, len(t.conds)
		full := t.under(saved, l)
		if full != saved {
			t.announce(s.whole, saved, full, l)
			s.breaks(t, full)
			t.pc = full
		}
		if ok {
			next(t)
		}
		if full != saved {
			t.conds = t.conds[:conds]
			t.pc = t.level(saved)
		}
	}
}

func (s *seeker) each(seq expr, vars assign, next func(t *thread), cost int64, p pos) func(t *thread) {
	return func(t *thread) {
		l := t.beginLoop(seq(t), s.whole, p, s.breaks)
		for elem, ok := l.next(t); ok; elem, ok = l.next(t) {
			if t.fuel -= cost; t.fuel < 0 {
				t.refuel()
			}
			vars(t, elem)
			next(t)
			if s.over(t) {
				break
			}
		}
		l.end(t)
	}
}
