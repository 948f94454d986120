package eval

import (
	"math/bits"

	"go.starlark.net/resolve"
	star "go.starlark.net/syntax"

	"callgate/engine/label"
)

// Operations on small ints whose operands are locals or constants run as one closure: no call is made to read a
// local. Whatever is not a small int goes the way of all values, through the operands' own closures.

// operand is a compiled operand, and what is known of it.
type operand struct {
	x     expr
	local int   // its slot if it is a local, otherwise -1
	n     int64 // the value of a constant
	konst bool  // it is a small int: its label is that of a literal
}

func (f *fcomp) operand(e star.Expr, x expr) operand {
	o := operand{x: x, local: -1}
	switch e := unparen(e).(type) {
	case *star.Ident:
		if b := e.Binding.(*resolve.Binding); b.Scope == resolve.Local && !f.watch {
			o.local = b.Index
		}
	case *star.Literal:
		if v := literal(e); v.k == kInt {
			o.n, o.konst = v.n, true
		}
	}
	return o
}

// addInts compiles a + b or a - b where b is a constant or both are locals, nil for all else.
func addInts(op star.Token, a, b operand, p pos) expr {
	n := b.n
	switch {
	case op == star.PERCENT && b.konst && n > 0:
		i, by := a.local, divisorOf(n)
		return func(t *thread) val {
			var v val
			if i >= 0 {
				v = t.locals[i]
			}
			if v.k != kInt {
				v = a.x(t)
			}
			l := t.literal()
			if v.k == kInt {
				v.n, v.lab = by.mod(v.n), t.join(v.lab, l)
				return v
			}
			return t.binary(op, v, intVal(n, l), p)
		}
	case op != star.PLUS && op != star.MINUS:
		return nil
	case b.konst && n != -1<<63:
		if op == star.MINUS {
			n = -n
		}
		slow := func(t *thread, v val) val { return t.binary(op, v, intVal(b.n, t.literal()), p) }
		if i := a.local; i >= 0 {
			return func(t *thread) val {
				v := t.locals[i]
				if s := v.n + n; v.k == kInt && (s > v.n) == (n > 0) {
					v.n, v.lab = s, t.join(v.lab, t.literal())
					return v
				}
				return slow(t, a.x(t))
			}
		}
		return func(t *thread) val {
			v := a.x(t)
			if s := v.n + n; v.k == kInt && (s > v.n) == (n > 0) {
				v.n, v.lab = s, t.join(v.lab, t.literal())
				return v
			}
			return slow(t, v)
		}
	case a.local >= 0 && b.local >= 0:
		i, j := a.local, b.local
		return func(t *thread) val {
			v, w := t.locals[i], t.locals[j]
			if v.k == kInt && w.k == kInt {
				if s, ok := intOp(op, v.n, w.n); ok {
					v.n, v.lab = s, t.join(t.join(v.lab, w.lab), t.pc)
					return v
				}
			}
			v = a.x(t)
			return t.binary(op, v, b.x(t), p)
		}
	}
	return nil
}

// indexText compiles x["name"], whose key is hashed once.
func indexText(x expr, k val, p pos) expr {
	name, h := k.str(), hashString(k.str())
	return func(t *thread) val {
		o := x(t)
		if o.k == kDict {
			d := o.dict()
			t.charge(k.n / 64)
			if i := d.findText(name, h); i >= 0 && (d.of == nil || d.of.class != defaultDict) {
				v := d.ents[i].v
				v.lab = t.join(v.lab, t.under(t.under(o.lab, t.literal()), d.st))
				return v
			}
		}
		return t.index(o, k.with(t.literal()), p)
	}
}

// summand is an operand of a sum, and where the + before it is.
type summand struct {
	e star.Expr
	p pos
}

// summands returns the operands of a + b + c, from the left.
func summands(e star.Expr) []summand {
	b, ok := unparen(e).(*star.BinaryExpr)
	if !ok || b.Op != star.PLUS {
		return []summand{{e: e}}
	}
	return append(summands(b.X), summand{b.Y, at(b.OpPos)})
}

// sum compiles a + b + c. Texts are concatenated at once, in one piece of memory.
func (f *fcomp) sum(parts []summand) expr {
	exprs := make([]expr, len(parts))
	for i, s := range parts {
		f.judge(judgedKind, s.e)
		exprs[i] = f.expr(s.e)
	}
	slot := f.slots(len(parts))
	return func(t *thread) val {
		first := exprs[0](t)
		t.locals[slot] = first
		from := 0 // the operands from here to the one before i are texts, in their slots: all before are in the first of them
		for i := 1; i < len(exprs); i++ {
			v := exprs[i](t)
			if v.k == kString && t.locals[slot+from].k == kString {
				t.locals[slot+i] = v
				continue
			}
			a := t.texts(slot+from, slot+i, parts[i].p)
			r := t.add(a, v, parts[i].p)
			t.locals[slot+i] = r
			from = i
		}
		return t.texts(slot+from, slot+len(exprs), parts[len(parts)-1].p)
	}
}

// add returns a + b.
func (t *thread) add(a, b val, p pos) val {
	if a.k == kInt && b.k == kInt {
		if s := a.n + b.n; (s > a.n) == (b.n > 0) {
			return intVal(s, t.join(a.lab, b.lab))
		}
	}
	return t.binary(star.PLUS, a, b, p)
}

// texts takes the values of some slots out of them: one of any kind, or texts, which it concatenates.
func (t *thread) texts(from, to int, p pos) val {
	slots := t.locals[from:to]
	out := slots[0]
	if len(slots) > 1 {
		n, l := int64(0), out.lab
		for i := range slots {
			n, l = n+slots[i].n, t.join(l, slots[i].lab)
		}
		if n < leastTail {
			t.at = p
			t.alloc(stringSize(n))
			t.charge(n / copiedByStep)
			buf := t.scratch[:0]
			for i := range slots {
				buf = append(buf, slots[i].str()...)
			}
			t.scratch = buf
			out = stringVal(string(buf), l)
		} else {
			for _, v := range slots[1:] {
				out = t.binary(star.PLUS, out, v, p)
				slots[0] = out
			}
		}
	}
	for i := range slots {
		slots[i] = unboundVal
	}
	return out
}

// Outcomes of a comparison of ints, and the sets of them that the operators accept.
const (
	less uint8 = 1 << iota
	same
	more
)

var accepts = map[star.Token]uint8{
	star.LT: less, star.LE: less | same, star.EQL: same, star.NEQ: less | more, star.GE: same | more, star.GT: more,
}

func among(set uint8, a, b int64) bool {
	if a < b {
		return set&less != 0
	}
	if a > b {
		return set&more != 0
	}
	return set&same != 0
}

// compareInts compiles a comparison whose second operand is a leaf, without making a bool of it.
func compareInts(op star.Token, a, b operand, p pos) cond {
	set := accepts[op]
	slow := func(t *thread, v, w val) (bool, label.ID) {
		r := t.compare(op, v, w, p)
		return r.n != 0, r.lab
	}
	switch {
	case b.konst && a.local >= 0:
		i, n := a.local, b.n
		return func(t *thread) (bool, label.ID) {
			v := t.locals[i]
			if v.k == kInt {
				return among(set, v.n, n), t.join(v.lab, t.literal())
			}
			return slow(t, a.x(t), intVal(n, t.literal()))
		}
	case b.konst:
		n := b.n
		return func(t *thread) (bool, label.ID) {
			v := a.x(t)
			l := t.literal()
			if v.k == kInt {
				return among(set, v.n, n), t.join(v.lab, l)
			}
			return slow(t, v, intVal(n, l))
		}
	case a.local >= 0 && b.local >= 0:
		i, j := a.local, b.local
		return func(t *thread) (bool, label.ID) {
			v, w := t.locals[i], t.locals[j]
			if v.k == kInt && w.k == kInt {
				return among(set, v.n, w.n), t.join(t.join(v.lab, w.lab), t.pc)
			}
			v = a.x(t)
			return slow(t, v, b.x(t))
		}
	}
	return func(t *thread) (bool, label.ID) {
		v := a.x(t)
		w := b.x(t)
		if v.k == kInt && w.k == kInt {
			return among(set, v.n, w.n), t.join(v.lab, w.lab)
		}
		return slow(t, v, w)
	}
}

// intOp is an operation on small ints; ok is false where its result is none, or an error.
func intOp(op star.Token, a, b int64) (n int64, ok bool) {
	switch op {
	case star.PLUS:
		n = a + b
		return n, (n > a) == (b > 0)
	case star.MINUS:
		n = a - b
		return n, (n < a) == (b > 0)
	case star.STAR:
		return mulInt(a, b)
	case star.SLASHSLASH:
		if b > 0 {
			n, _ = floorDiv(a, b)
			return n, true
		}
	case star.PERCENT:
		if b > 0 {
			_, n = floorDiv(a, b)
			return n, true
		}
	}
	return 0, false
}

// floorDiv divides by a positive divisor, rounding down.
func floorDiv(a, b int64) (q, r int64) {
	q, r = a/b, a%b
	if r < 0 {
		q, r = q-1, r+b
	}
	return q, r
}

// divisor is a positive constant that is divided by. Where it and the dividend fit into 32 bits, the remainder takes two
// multiplications: D. Lemire, O. Kaser, N. Kurz, "Faster remainder by direct computation", 2019.
type divisor struct {
	n int64
	c uint64 // 2^64 over n, rounded up; 0 if n does not fit
}

func divisorOf(n int64) divisor {
	if n>>32 != 0 {
		return divisor{n: n}
	}
	return divisor{n, ^uint64(0)/uint64(n) + 1}
}

func (d divisor) mod(a int64) int64 {
	if uint64(a)>>32 == 0 && d.c != 0 {
		r, _ := bits.Mul64(d.c*uint64(a), uint64(d.n))
		return int64(r)
	}
	_, r := floorDiv(a, d.n)
	return r
}

func mulInt(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	// correct the unsigned product to a signed one
	if a < 0 {
		hi -= uint64(b)
	}
	if b < 0 {
		hi -= uint64(a)
	}
	return int64(lo), int64(hi) == int64(lo)>>63
}
