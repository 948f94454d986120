package eval

import (
	"strings"

	star "go.starlark.net/syntax"

	"callgate/engine/label"
	"callgate/engine/syntax"
)

// What of Python becomes a call of a function that no program can spell (see engine/syntax) is compiled here, where
// a call of a builtin would not do.
var specials = map[string]func(f *fcomp, e *star.CallExpr) expr{}

// addSpecials lets the resolver know the names of such functions. They are no values: a program cannot reach them.
func addSpecials() {
	specials[syntax.FString] = (*fcomp).fstring
	specials[syntax.Chain] = (*fcomp).chain
	specials[syntax.Generator] = (*fcomp).generator
	addAssignments()
	addTry()
	for name := range specials {
		universe[name] = noneVal(label.BottomID)
	}
	formatDef = methods["format"][kString].def
	addPythonFunctions()
}

// chain compiles a < b < c. Each operand is evaluated once, and those after a comparison that is false not at all: a
// chain is a branch on each of its comparisons, as a < b and b < c is.
func (f *fcomp) chain(e *star.CallExpr) expr {
	first := e.Args[0].(*star.BinaryExpr)
	f.judge(judgedDeep, first.X, first.Y)
	for _, a := range e.Args[1:] {
		f.judge(judgedDeep, a.(*star.UnaryExpr).X)
	}
	x, y := f.expr(first.X), f.expr(first.Y)
	ops := []star.Token{first.Op}
	places := []pos{at(first.OpPos)}
	operands := []expr{y}
	var nodes []star.Node
	for _, a := range e.Args[1:] {
		a := a.(*star.UnaryExpr)
		ops, places, operands = append(ops, a.Op), append(places, at(a.OpPos)), append(operands, f.expr(a.X))
		nodes = append(nodes, a.X)
	}
	slot := f.slots(1) // the left operand of the comparison that is next
	run := f.link(slot, ops, places, operands, nodes)
	return func(t *thread) val {
		t.locals[slot] = x(t)
		r := run(t)
		t.locals[slot] = unboundVal
		return r
	}
}

// link compiles a chain from the comparison of what is in the slot with the first operand.
func (f *fcomp) link(slot int, ops []star.Token, places []pos, operands []expr, nodes []star.Node) expr {
	op, p, y := ops[0], places[0], operands[0]
	compare := func(t *thread) val {
		b := y(t)
		a := t.locals[slot]
		t.locals[slot] = b
		switch op {
		case star.IN, star.NOT_IN:
			return t.in(op == star.NOT_IN, a, b, p)
		}
		return t.compare(op, a, b, p)
	}
	if len(ops) == 1 {
		return compare
	}
	rest := f.link(slot, ops[1:], places[1:], operands[1:], nodes[1:])
	r := f.region(nil, nodes...)
	return func(t *thread) val {
		c := compare(t)
		if c.n != 0 {
			return t.branchExpr(r, c.lab, rest)
		}
		if full := t.under(t.pc, c.lab); full != t.pc {
			t.announce(r, t.pc, full, c.lab)
			t.conds = t.conds[:len(t.conds)-1]
			t.pc = t.level(t.pc)
		}
		return c
	}
}

// formatDef is str.format: who may call it may write f-strings.
var formatDef *builtinDef

// fpart is a part of an f-string.
type fpart struct {
	text string // if x is nil
	x    expr
	conv string
	spec expr // nil if there is none
	p    pos
}

// fstring compiles an f-string. Values are evaluated in order; what can change is made a text at once.
func (f *fcomp) fstring(e *star.CallExpr) expr {
	var parts []fpart
	for _, a := range e.Args {
		field, ok := a.(*star.TupleExpr)
		if !ok {
			parts = append(parts, fpart{text: a.(*star.Literal).Value.(string)})
			continue
		}
		if spec, ok := field.List[2].(*star.Literal); !ok || spec.Value.(string) != "" {
			f.judge(judgedDeep, field.List[0], field.List[2])
		}
		p := fpart{x: f.expr(field.List[0]), conv: field.List[1].(*star.Literal).Value.(string), p: start(field.List[0])}
		if lit, ok := field.List[2].(*star.Literal); !ok || lit.Value.(string) != "" {
			p.spec = f.expr(field.List[2])
		}
		parts = append(parts, p)
	}
	first, where := f.slots(2*len(parts)), at(e.Lparen)
	return func(t *thread) val {
		l := t.literal()
		t.at = where
		t.permitLabel(formatDef, t.pc)
		for i := range parts {
			p := &parts[i]
			if p.x == nil {
				continue
			}
			v := p.x(t)
			t.locals[first+2*i] = v
			if p.spec != nil {
				s := p.spec(t)
				t.locals[first+2*i+1] = s
				l = t.join(l, s.lab)
				v = t.locals[first+2*i]
			}
			if p.conv != "" || v.k >= kTuple && !formats(v) {
				t.at = p.p
				t.locals[first+2*i] = t.converted(v, p.conv)
			}
			l = t.join(l, t.locals[first+2*i].lab)
		}
		t.at = where
		t.permitLabel(formatDef, l)
		segment := t.mem.begin()
		w := textWriter{t: t}
		for i := range parts {
			p := &parts[i]
			if p.x == nil {
				w.put(p.text)
				continue
			}
			spec := ""
			if s := t.locals[first+2*i+1]; s.k == kString {
				spec = s.str()
			}
			w.shown(t.locals[first+2*i], spec, l, p.p)
		}
		r := stringVal(w.end(), l)
		t.mem.resume(segment)
		for i := range 2 * len(parts) {
			t.locals[first+i] = unboundVal
		}
		return r
	}
}

// converted returns the text of a value after the conversion r, s or a, or as str has it, under all of the value's labels.
func (t *thread) converted(v val, conv string) val {
	l := t.deepLabel(v)
	t.permitLabel(formatDef, l)
	segment := t.mem.begin()
	w := textWriter{t: t}
	switch {
	case conv == "r" || conv == "a":
		w.write(v)
	default:
		w.str(v)
	}
	text := w.end()
	t.mem.resume(segment)
	return stringVal(text, l)
}

// shown writes a value as Python's format does: with the empty specification a float has Python's text.
func (w *textWriter) shown(v val, spec string, l label.ID, p pos) {
	if spec == "" && v.k == kFloat {
		w.put(formatFloat(v.float()))
		return
	}
	w.format(v, spec, l, p)
}

// checkImport reports a name that is imported from a module which has none such.
func (f *fcomp) checkImport(e *star.DotExpr) {
	id, ok := e.X.(*star.Ident)
	if !ok || id.Name[0] != '<' {
		return
	}
	m := universe[id.Name].module()
	if _, ok := m.attrs[e.Name.Name]; !ok {
		names := m.names()
		f.errorf(e.Name.NamePos, m.name+" has "+strings.Join(names, ", "), "%s has no %s%s", m.name, e.Name.Name, nearest(e.Name.Name, names))
	}
}
