package eval

import (
	"math"
	"math/big"
	"strings"

	star "go.starlark.net/syntax"

	"callgate/engine/label"
)

// equal reports whether two values are equal, and joins to l the labels of all that it read
// below the two references.
func (t *thread) equal(a, b val, l *label.ID, depth int) bool {
	if a.k != b.k {
		if a.isNum() && b.isNum() {
			return t.compareNum(a, b) == 0
		}
		return tupleLike(a) && tupleLike(b) && t.equalItems(a.tuple().items, b.tuple().items, l, depth)
	}
	switch a.k {
	case kNone:
		return true
	case kBool, kInt:
		return a.n == b.n
	case kString, kBytes:
		if a.n != b.n {
			return false
		}
		t.charge(a.n / 64)
		return a.str() == b.str()
	case kFloat, kBig:
		return t.compareNum(a, b) == 0
	case kRange:
		x, y := a.rng(), b.rng()
		return x.n == y.n && (x.n == 0 || x.start == y.start && (x.n == 1 || x.step == y.step))
	case kTuple:
		return a.p == b.p || t.equalItems(a.tuple().items, b.tuple().items, l, depth)
	case kObject:
		if tupleLike(a) && tupleLike(b) {
			return a.p == b.p || t.equalItems(a.tuple().items, b.tuple().items, l, depth)
		}
		return t.equalObjects(a, b)
	case kList, kDeque:
		x, y := a.list(), b.list()
		*l = t.join(t.join(*l, x.st), y.st)
		return x == y || t.equalItems(x.items, y.items, l, depth)
	case kStruct:
		x, y := a.record(), b.record()
		if len(x.names) != len(y.names) {
			return false
		}
		t.charge(int64(len(x.names)) / 8)
		for i, n := range x.names {
			if n != y.names[i] {
				return false
			}
		}
		return x == y || t.equalItems(x.items, y.items, l, depth)
	case kSeq:
		x, y := a.seq(), b.seq()
		t.charge(int64(len(x.s)) / 64)
		return x.mode == y.mode && x.s == y.s
	case kDict, kSet:
		x, y := a.dict(), b.dict()
		*l = t.join(t.join(*l, x.st), y.st)
		if x == y {
			return true
		}
		if x.of != nil && x.of == y.of && (x.of == ofCounter || x.of == ofOrdered) {
			return t.equalParticular(x, y, l, depth)
		}
		if x.live != y.live {
			return false
		}
		t.checkDepth(depth)
		same := true
		x.each(func(k, v val) bool {
			t.charge(1)
			i := t.find(y, k, t.hash(k))
			if i < 0 {
				same = false
			} else if a.k == kDict {
				w := y.ents[i].v
				*l = t.join(t.join(*l, v.lab), w.lab)
				same = t.equal(v, w, l, depth+1)
			}
			return same
		})
		return same
	}
	return a.same(b)
}

// tupleLike reports whether a value is a tuple, or compares as one.
func tupleLike(v val) bool { return v.k == kTuple || v.k == kObject && v.object().class.parts }

func (t *thread) equalItems(a, b []val, l *label.ID, depth int) bool {
	if len(a) != len(b) {
		return false
	}
	t.checkDepth(depth)
	for i := range a {
		t.charge(1)
		*l = t.join(t.join(*l, a[i].lab), b[i].lab)
		if !t.equal(a[i], b[i], l, depth+1) {
			return false
		}
	}
	return true
}

// compareNum orders two numbers. All NaNs are equal, and greater than everything else.
func (t *thread) compareNum(a, b val) int {
	if a.k == kInt && b.k == kInt {
		switch {
		case a.n < b.n:
			return -1
		case a.n > b.n:
			return 1
		}
		return 0
	}
	if a.k == kFloat && b.k == kFloat {
		return compareFloat(a.float(), b.float())
	}
	t.charge(int64(min(a.bits(), b.bits())) / 512)
	if a.isInt() && b.isInt() {
		return a.big().Cmp(b.big())
	}
	if a.k == kFloat {
		return -compareIntFloat(b, a.float())
	}
	return compareIntFloat(a, b.float())
}

func compareFloat(x, y float64) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	case x == y:
		return 0
	case x == x: // y is NaN
		return -1
	case y == y:
		return 1
	}
	return 0
}

// compareIntFloat compares exactly.
func compareIntFloat(a val, f float64) int {
	switch {
	case f != f || math.IsInf(f, 1):
		return -1
	case math.IsInf(f, -1):
		return 1
	case a.bits() > 1024 && a.k == kBig: // beyond all floats
		return a.bigInt().Sign()
	}
	return new(big.Float).SetInt(a.big()).Cmp(big.NewFloat(f))
}

// order compares two values of one type that has an order; ok is false if it has none.
// It joins to l the labels of all that it read below the references.
func (t *thread) order(a, b val, l *label.ID, depth int) (c int, ok bool) {
	if a.isNum() && b.isNum() {
		return t.compareNum(a, b), true
	}
	if a.k != b.k && !(tupleLike(a) && tupleLike(b)) {
		return 0, false
	}
	switch a.k {
	case kString, kBytes:
		t.charge(min(a.n, b.n) / 64)
		return strings.Compare(a.str(), b.str()), true
	case kBool:
		return int(a.n - b.n), true
	case kObject:
		switch x, y := a.object().class, ofClass(b); {
		case tupleLike(a):
			return t.orderItems(a.tuple().items, b.tuple().items, l, depth)
		case x == y && x.order != nil:
			return x.order(t, a, b)
		}
		return 0, false
	case kTuple:
		return t.orderItems(a.tuple().items, b.tuple().items, l, depth)
	case kList, kDeque:
		*l = t.join(t.join(*l, a.list().st), b.list().st)
		return t.orderItems(a.list().items, b.list().items, l, depth)
	}
	return 0, false
}

func (t *thread) orderItems(a, b []val, l *label.ID, depth int) (int, bool) {
	t.checkDepth(depth)
	for i := range min(len(a), len(b)) {
		t.charge(1)
		*l = t.join(t.join(*l, a[i].lab), b[i].lab)
		if t.equal(a[i], b[i], l, depth+1) {
			continue
		}
		return t.order(a[i], b[i], l, depth+1)
	}
	return len(a) - len(b), true
}

// compare evaluates a comparison; the result carries all that it read.
func (t *thread) compare(op star.Token, a, b val, p pos) val {
	l := t.join(a.lab, b.lab)
	switch op {
	case star.EQL, star.NEQ:
		eq := t.equal(a, b, &l, 0)
		return boolVal(eq == (op == star.EQL), l)
	}
	if a.k == kSet && b.k == kSet {
		l = t.join(l, t.join(a.dict().st, b.dict().st))
		return boolVal(t.compareSets(op, a.dict(), b.dict()), l)
	}
	c, ok := t.order(a, b, &l, 0)
	if !ok {
		panic(t.unordered(op, a, b, l, p))
	}
	var r bool
	switch op {
	case star.LT:
		r = c < 0
	case star.LE:
		r = c <= 0
	case star.GT:
		r = c > 0
	case star.GE:
		r = c >= 0
	}
	return boolVal(r, l)
}

// unordered is the error of a comparison of values that have no order; l has the labels of all that [thread.order] read. It names the elements that are
// to blame, if they are within lists or tuples.
func (t *thread) unordered(op star.Token, a, b val, l label.ID, p pos) *Error {
	for a.k == b.k && (a.k == kList || a.k == kTuple) {
		x, y := t.items(a), t.items(b)
		i := 0
		for i < len(x) && i < len(y) && t.equal(x[i], y[i], &l, 0) {
			t.charge(1)
			i++
		}
		if i == len(x) || i == len(y) {
			break
		}
		a, b = x[i], y[i]
	}
	return t.fail(p, l, "type", "%s%s %s %s not implemented", t.prefix(), a.typeName(), op, b.typeName()).advise(unorderedHint(a, b))
}

func (t *thread) compareSets(op star.Token, x, y *dict) bool {
	switch op {
	case star.LT, star.GT:
		if x.live == y.live {
			return false
		}
	}
	if op == star.GE || op == star.GT {
		x, y = y, x
	}
	if x.live > y.live {
		return false
	}
	for i := range x.ents {
		t.charge(1)
		if e := &x.ents[i]; e.k.k != kUnbound && t.find(y, e.k, e.h) < 0 {
			return false
		}
	}
	return true
}

// in evaluates x in y, or not in.
func (t *thread) in(not bool, x, y val, p pos) val {
	l := t.join(t.join(x.lab, y.lab), t.structure(y))
	found := false
	switch y.k {
	case kList, kTuple, kDeque:
		items := t.items(y)
		for i := range items {
			t.charge(1)
			l = t.join(l, items[i].lab)
			if t.equal(x, items[i], &l, 0) {
				found = true
				break
			}
		}
	case kDict, kSet:
		t.at = p
		l = t.join(l, t.deepLabel(x))
		found = (y.k == kSet || t.hashable(x, 0)) && t.find(y.dict(), x, t.hash(x.with(l))) >= 0
	case kString:
		if x.k != kString {
			panic(t.fail(p, l, "type", "'in <string>' requires string as left operand, not %s", x.typeName()))
		}
		found = t.indexOf(y.str(), x.str()) >= 0
	case kBytes:
		switch x.k {
		case kBytes:
			found = t.indexOf(y.str(), x.str()) >= 0
		case kInt:
			if x.n < 0 || x.n > 255 {
				panic(t.fail(p, l, "range", "int in bytes: %d out of range%s", x.n, byteRange))
			}
			found = t.indexOf(y.str(), oneByte[x.n]) >= 0
		case kBig:
			panic(t.fail(p, l, "range", "int in bytes: %s out of range%s", t.short(x), byteRange))
		default:
			panic(t.fail(p, l, "type", "'in bytes' requires bytes or int as left operand, not %s", x.typeName()))
		}
	case kRange:
		switch r := y.rng(); x.k {
		case kInt:
			found = r.contains(x.n)
		case kFloat:
			f := x.float()
			found = f == math.Trunc(f) && math.Abs(f) < 1<<62 && r.contains(int64(f))
		case kBig:
		default:
			panic(t.fail(p, l, "type", "'in <range>' requires integer as left operand, not %s", x.typeName()))
		}
	case kObject:
		if tupleLike(y) {
			return t.in(not, x, asTuple(y), p)
		}
		panic(t.fail(p, l, "type", "unknown binary op: %s in %s", x.typeName(), y.typeName()))
	default:
		panic(t.fail(p, l, "type", "unknown binary op: %s in %s", x.typeName(), y.typeName()))
	}
	return boolVal(found != not, l)
}
