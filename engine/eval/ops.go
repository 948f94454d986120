package eval

import (
	"math"
	"math/big"
	"slices"
	"strings"

	star "go.starlark.net/syntax"

	"callgate/engine/label"
)

// truth reports whether a value counts as true. Its label is that of the reference and the structure.
func (t *thread) truth(v val) bool {
	switch v.k {
	case kBool, kInt, kString, kBytes:
		return v.n != 0
	case kFloat:
		return v.float() != 0
	case kNone:
		return false
	case kTuple:
		return len(v.tuple().items) > 0
	case kList:
		return len(v.list().items) > 0
	case kDict, kSet:
		return v.dict().live > 0
	case kRange:
		return v.rng().n > 0
	}
	return true // a lazy sequence too, whatever it holds
}

// length returns the number of elements of a sequence, in O(1) but for code points; -1 of what has none.
func (t *thread) length(v val) int64 {
	switch v.k {
	case kString, kBytes:
		return v.n
	case kTuple:
		return int64(len(v.tuple().items))
	case kList:
		return int64(len(v.list().items))
	case kDict, kSet:
		return int64(v.dict().live)
	case kRange:
		return v.rng().n
	case kSeq:
		return v.seq().len(t)
	}
	return -1
}

// deepLabel joins every label in a value: of references, structures and
// elements. It visits each object once.
func (t *thread) deepLabel(v val) label.ID {
	switch v.k {
	case kTuple, kList, kDict, kSet, kStruct, kBuiltin:
	default:
		return v.lab
	}
	if v.k == kList { // of scalars, most often
		o, l := v.list(), t.join(v.lab, v.list().st)
		t.charge(int64(len(o.items)) / 4)
		for i, e := range o.items {
			if e.k >= kTuple {
				return t.deepWalk(l, o.items[i:]...)
			}
			l = t.join(l, e.lab)
		}
		return l
	}
	return t.deepWalk(label.BottomID, v)
}

// deepWalk joins to l every label in some values.
func (t *thread) deepWalk(l label.ID, vs ...val) label.ID {
	q := &t.todo
	q.begin(t.s)
	l = t.meet(l, vs)
	for {
		v, ok := q.pop()
		if !ok {
			q.end()
			return l
		}
		switch v.k {
		case kTuple:
			l = t.meet(l, v.tuple().items)
		case kStruct:
			l = t.meet(l, v.record().items)
		case kList:
			l = t.meet(t.join(l, v.list().st), v.list().items)
		case kDict:
			d := v.dict()
			l = t.join(l, d.st)
			for i := range d.ents {
				if e := &d.ents[i]; e.k.k != kUnbound {
					t.burn(1)
					l = t.meetOne(t.meetOne(l, e.k), e.v)
				}
			}
		}
	}
}

// meet joins the labels of values to l, and queues those that have parts.
func (t *thread) meet(l label.ID, vs []val) label.ID {
	for len(vs) > tracePiece {
		l = t.meet(l, vs[:tracePiece])
		vs = vs[tracePiece:]
	}
	t.charge(int64(len(vs)))
	for i := range vs {
		l = t.meetOne(l, vs[i])
	}
	return l
}

func (t *thread) meetOne(l label.ID, v val) label.ID {
	l = t.join(l, v.lab)
	switch v.k {
	case kTuple, kList, kDict, kSet, kStruct:
		t.todo.push(v)
	case kBuiltin:
		if r := v.builtin().recv; r.k != kUnbound {
			l = t.meetOne(l, r)
		}
	}
	return l
}

// equal reports whether two values are equal, and joins to l the labels of all that it read
// below the two references.
func (t *thread) equal(a, b val, l *label.ID, depth int) bool {
	if a.k != b.k {
		if a.isNum() && b.isNum() {
			return t.compareNum(a, b) == 0
		}
		return false
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
	case kList:
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
	if a.k != b.k {
		return 0, false
	}
	switch a.k {
	case kString, kBytes:
		t.charge(min(a.n, b.n) / 64)
		return strings.Compare(a.str(), b.str()), true
	case kBool:
		return int(a.n - b.n), true
	case kTuple:
		return t.orderItems(a.tuple().items, b.tuple().items, l, depth)
	case kList:
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

// unordered is the error of a comparison of values that have no order. It names the elements that are
// to blame, if they are within lists or tuples.
func (t *thread) unordered(op star.Token, a, b val, l label.ID, p pos) *Error {
	l = t.join(l, t.join(t.deepLabel(a), t.deepLabel(b)))
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
	return t.fail(p, l, "type", "%s%s %s %s not implemented", t.prefix(), a.typeName(), op, b.typeName())
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
	all := true
	x.each(func(k, _ val) bool {
		t.charge(1)
		all = t.find(y, k, t.hash(k)) >= 0
		return all
	})
	return all
}

// in evaluates x in y, or not in.
func (t *thread) in(not bool, x, y val, p pos) val {
	l := t.join(t.join(x.lab, y.lab), t.structure(y))
	found := false
	switch y.k {
	case kList, kTuple:
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
		found = (y.k == kSet || t.hashable(x, 0)) && t.find(y.dict(), x, t.hash(x)) >= 0
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
	default:
		panic(t.fail(p, l, "type", "unknown binary op: %s in %s", x.typeName(), y.typeName()))
	}
	return boolVal(found != not, t.join(l, t.pc))
}

// items returns the elements of a list or tuple, without copying.
func (t *thread) items(v val) []val {
	if v.k == kList {
		return v.list().items
	}
	return v.tuple().items
}

// attr evaluates x.name.
func (t *thread) attr(x val, name string, p pos) val {
	switch x.k {
	case kModule:
		if v, ok := x.module().attrs[name]; ok {
			return v.with(t.join(t.join(v.lab, x.lab), t.pc))
		}
		m := x.module()
		panic(t.fail(p, x.lab, "no-field", "%s has no .%s%s", m.name, name, nearestField(name, m.names())).hint(m.name + " has " + strings.Join(m.names(), ", ")))
	case kStruct:
		r := x.record()
		if i, ok := slices.BinarySearch(r.names, name); ok {
			return r.items[i].with(t.join(t.join(r.items[i].lab, x.lab), t.pc))
		}
		panic(t.fail(p, x.lab, "no-field", "struct has no .%s field%s", name, nearestField(name, r.names)))
	}
	if b := methodsNamed(name)[x.k]; b != nil {
		t.alloc(builtinSize)
		return builtinVal(&builtin{name: name, recv: x, def: b.def}, t.join(x.lab, t.pc))
	}
	if x.k == kDict && x.dict().fields {
		k := stringVal(name, x.lab)
		if i := t.find(x.dict(), k, t.hash(k)); i >= 0 {
			v := x.dict().ents[i].v
			return v.with(t.join(t.join(v.lab, x.lab), t.join(t.structure(x), t.pc)))
		}
	}
	panic(t.fail(p, t.join(x.lab, t.structure(x)), "no-field", "%s has no .%s field or method%s", x.typeName(), name, nearestField(name, methodNamesOf(x.k))))
}

// index evaluates x[y].
func (t *thread) index(x, y val, p pos) val {
	l := t.under(x.lab, y.lab)
	switch x.k {
	case kList:
		o := x.list()
		if y.k == kInt {
			i := y.n
			if i < 0 {
				i += int64(len(o.items))
			}
			if uint64(i) < uint64(len(o.items)) {
				v := o.items[i]
				v.lab = t.under(t.join(v.lab, l), o.st)
				return v
			}
		}
	case kDict:
		d := x.dict()
		t.at = p
		i := t.find(d, y, t.hash(y))
		l = t.under(l, d.st)
		if y.k >= kTuple {
			l = t.under(l, t.deepLabel(y))
		}
		if i < 0 {
			panic(t.fail(p, l, "no-key", "key %s not in dict", t.short(y)))
		}
		v := d.ents[i].v
		v.lab = t.join(v.lab, l)
		return v
	case kTuple, kString, kBytes, kRange, kSeq:
		if x.k == kSeq && !x.seq().indexed() {
			panic(t.fail(p, l, "type", "unhandled index operation %s[%s]", x.typeName(), y.typeName()).hint("make a list first: list(x)[i]"))
		}
		n := t.length(x)
		if y.k == kInt {
			i := y.n
			if i < 0 {
				i += n
			}
			if uint64(i) < uint64(n) {
				v := t.element(x, i)
				v.lab = t.join(v.lab, l)
				return v
			}
		}
	default:
		panic(t.fail(p, l, "type", "unhandled index operation %s[%s]", x.typeName(), y.typeName()))
	}
	l = t.join(l, t.structure(x))
	if !y.isInt() {
		panic(t.fail(p, l, "type", "%s index: got %s, want int", x.typeName(), y.typeName()))
	}
	n := t.length(x)
	if n == 0 {
		panic(t.fail(p, l, "range", "index %s out of range: empty %s", t.short(y), x.typeName()))
	}
	panic(t.fail(p, l, "range", "%s index %s out of range [%d:%d]", x.typeName(), t.short(y), -n, n-1))
}

// element returns an element of an immutable sequence, with its own label alone.
func (t *thread) element(x val, i int64) val {
	switch x.k {
	case kTuple:
		return x.tuple().items[i]
	case kString:
		return stringVal(oneByte[x.str()[i]], label.BottomID)
	case kBytes:
		return bytesVal(oneByte[x.str()[i]], label.BottomID)
	case kRange:
		return intVal(x.rng().at(i), label.BottomID)
	}
	return x.seq().at(t, i)
}

// setIndex executes x[y] = v.
func (t *thread) setIndex(x, y, v val, p pos) {
	l := t.join(t.join(x.lab, y.lab), t.structure(x))
	switch x.k {
	case kList:
		o := x.list()
		if !y.isInt() {
			panic(t.fail(p, l, "type", "list index: got %s, want int", y.typeName()))
		}
		i := y.n
		n := int64(len(o.items))
		if i < 0 {
			i += n
		}
		if y.k == kBig || uint64(i) >= uint64(n) {
			panic(t.fail(p, l, "range", "list index %s out of range [%d:%d]", t.short(y), -n, n-1))
		}
		t.mutable(o.iters, "assign to element of", x, p)
		w := t.under(t.write(&o.st, x.lab, p), y.lab)
		v.lab = t.join(v.lab, w)
		o.st = t.under(o.st, y.lab)
		o.items[i] = v
	case kDict:
		d := x.dict()
		t.at = p
		h := t.hash(y)
		t.mutable(d.iters, "insert into", x, p)
		kl := t.tab.Control(y.lab)
		if y.k >= kTuple {
			kl = t.tab.Control(t.deepLabel(y))
		}
		w := t.write(&d.st, x.lab, p)
		v.lab = t.join(t.join(v.lab, w), kl)
		d.st = t.join(d.st, kl)
		t.hold(v)
		t.put(d, y, h, v)
		t.release()
	default:
		panic(t.fail(p, t.join(x.lab, y.lab), "type", "%s value does not support item assignment", x.typeName()))
	}
}

// mutable refuses to change a container that a loop iterates over.
func (t *thread) mutable(iters int32, verb string, v val, p pos) {
	if iters == 0 {
		return
	}
	what := v.typeName()
	if v.k == kDict || v.k == kSet {
		what = "hash table"
	}
	panic(t.fail(p, t.join(v.lab, t.structure(v)), "iterating", "%scannot %s %s during iteration", t.prefix(), verb, what).
		hint("iterate over a copy: for x in list(xs)"))
}

// append adds an element to a list that the caller owns, or has applied the write rule to.
func (t *thread) append(o *list, v val) {
	if len(o.items) == cap(o.items) {
		t.hold(v)
		t.grow(o, len(o.items)+1)
		t.release()
	}
	o.items = append(o.items, v)
}

// grow makes room in a list for n elements.
func (t *thread) grow(o *list, n int) {
	if n <= cap(o.items) {
		return
	}
	n = roomFor(n, cap(o.items), valSize)
	t.alloc(blockSize(int64(n) * valSize))
	items := make([]val, len(o.items), n)
	t.move(items, o.items)
	t.free(blockSize(int64(cap(o.items)) * valSize))
	o.items = items
}

// extend appends the elements of b to the list a, in place.
func (t *thread) extend(a, b val) {
	o := a.list()
	verb := "extend"
	if t.prefix() == "" {
		verb = "apply += to"
	}
	t.mutable(o.iters, verb, a, t.at)
	bl := t.join(b.lab, t.structure(b))
	w := t.write(&o.st, a.lab, t.at)
	o.st = t.under(o.st, bl)
	w = t.join(w, bl)
	if b.k == kList || b.k == kTuple { // a may be b
		items := t.items(b)
		t.charge(int64(len(items)) / 4)
		t.grow(o, len(o.items)+len(items))
		for i, e := range items {
			if i%movePiece == 0 {
				t.poll()
			}
			e.lab = t.join(e.lab, w)
			o.items = append(o.items, e)
		}
		return
	}
	it, _ := t.iterate(b)
	t.lock(b)
	for e, ok := it.next(t); ok; e, ok = it.next(t) {
		t.charge(1)
		e.lab = t.join(e.lab, w)
		t.append(o, e)
	}
	t.unlock()
}

// update adds the entries of the dict b to the dict a, in place.
func (t *thread) update(a, b val) {
	x, y := a.dict(), b.dict()
	verb := "insert into"
	if t.prefix() == "" {
		verb = "apply |= to"
	}
	t.mutable(x.iters, verb, a, t.at)
	bl := t.join(b.lab, t.structure(b))
	w := t.write(&x.st, a.lab, t.at)
	x.st = t.under(x.st, bl)
	w = t.join(w, bl)
	if x == y {
		return
	}
	y.each(func(k, v val) bool {
		t.charge(1)
		t.put(x, k, t.hash(k), v.with(t.join(v.lab, w)))
		return true
	})
}

// slice3 evaluates x[lo:hi:step].
func (t *thread) slice3(x, lo, hi, step val, p pos) val {
	l := t.under(t.under(t.under(t.join(x.lab, t.structure(x)), lo.lab), hi.lab), step.lab)
	n := t.length(x)
	if n < 0 || x.k == kDict || x.k == kSet || x.k == kSeq {
		panic(t.fail(p, l, "type", "invalid slice operand %s", x.typeName()))
	}
	arg := func(v val, name string, def int64) int64 {
		switch v.k {
		case kNone:
			return def
		case kInt:
			return v.n
		case kBig:
			if v.bigInt().Sign() < 0 {
				return math.MinInt64
			}
			return math.MaxInt64
		}
		panic(t.fail(p, l, "type", "invalid %s: got %s, want int", name, v.typeName()))
	}
	st := arg(step, "slice step", 1)
	if st == 0 {
		panic(t.fail(p, l, "range", "zero is not a valid slice step"))
	}
	clip := func(i, low, high int64) int64 {
		if i < 0 {
			i = max(i+n, math.MinInt64/2)
		}
		return min(max(i, low), high)
	}
	var i, j int64
	if st > 0 {
		i = clip(arg(lo, "start index", 0), 0, n)
		j = max(i, clip(arg(hi, "end index", n), 0, n))
	} else {
		i, j = n-1, -1
		if lo.k != kNone {
			i = clip(arg(lo, "start index", 0), -1, n-1)
		}
		if hi.k != kNone {
			j = clip(arg(hi, "end index", 0), -1, math.MaxInt64/2)
		}
		i = max(i, j)
	}
	r := rangeSeq{start: i, stop: j, step: st}
	r.count()
	return t.pick(x, &r, l)
}

// pick returns the elements of a sequence at the indices of r.
func (t *thread) pick(x val, r *rangeSeq, l label.ID) val {
	switch x.k {
	case kString, kBytes:
		s := x.str()
		t.alloc(stringSize(r.n))
		t.charge(r.n / 16)
		var out strings.Builder
		out.Grow(int(r.n))
		if r.step == 1 {
			t.pour(&out, s[r.start:r.start+r.n])
		} else {
			for i := range r.n {
				if i%movePiece == 0 {
					t.poll()
				}
				out.WriteByte(s[r.at(i)])
			}
		}
		if x.k == kBytes {
			return bytesVal(out.String(), l)
		}
		return stringVal(out.String(), l)
	case kRange:
		in := x.rng()
		out := &rangeSeq{n: r.n}
		var exact [3]bool
		out.start, exact[0] = in.bound(r.start)
		out.stop, exact[1] = in.bound(r.stop)
		out.step, exact[2] = mulInt(in.step, r.step)
		if exact != [3]bool{true, true, true} { // the same elements, in bounds that can be told
			out = &rangeSeq{step: 1, n: r.n}
			if r.n > 0 {
				out.start = in.at(r.start)
				if step, ok := mulInt(in.step, r.step); ok {
					out.step = step // else only one element can be picked, and any step will do
				}
				out.stop = in.at(r.at(r.n-1)) + sign(out.step)
			}
		}
		return rangeVal(out, l)
	}
	t.alloc(listSize + blockSize(r.n*valSize))
	t.charge(r.n / 4)
	items := t.items(x)
	out := make([]val, r.n)
	for i := range out {
		if i%movePiece == 0 {
			t.poll()
		}
		out[i] = items[r.at(int64(i))]
	}
	if x.k == kTuple {
		return tupleVal(out, l)
	}
	return listVal(&list{items: out, st: l}, l)
}

func sign(i int64) int64 {
	if i < 0 {
		return -1
	}
	return 1
}

// count sets n from start, stop and step: to -1 if there are more elements than an int64 can count.
func (r *rangeSeq) count() {
	var n uint64
	switch {
	case r.step > 0 && r.start < r.stop:
		n = (uint64(r.stop)-uint64(r.start)-1)/uint64(r.step) + 1
	case r.step < 0 && r.start > r.stop:
		n = (uint64(r.start)-uint64(r.stop)-1)/uint64(-r.step) + 1
	}
	r.n = int64(n)
	if n > math.MaxInt64 {
		r.n = -1
	}
}

func (r *rangeSeq) at(i int64) int64 { return r.start + i*r.step }

// bound is at, of any index; ok is false if it does not fit.
func (r *rangeSeq) bound(i int64) (x int64, ok bool) {
	m, ok := mulInt(i, r.step)
	x = r.start + m
	return x, ok && (x > r.start) == (m > 0)
}

func (r *rangeSeq) contains(x int64) bool {
	if r.n == 0 {
		return false
	}
	last := r.at(r.n - 1)
	lo, hi := min(r.start, last), max(r.start, last)
	return lo <= x && x <= hi && (uint64(x)-uint64(r.start))%uint64(max(r.step, -r.step)) == 0
}

// iterator yields the elements of a sequence, with their own labels alone.
type iterator struct {
	v val
	i int
}

// iterable reports whether a value can be iterated over.
func (t *thread) iterable(v val) bool {
	switch v.k {
	case kTuple, kRange, kList, kDict, kSet, kSeq:
		return true
	}
	return false
}

func (t *thread) iterate(v val) (iterator, bool) { return iterator{v: v}, t.iterable(v) }

func (it *iterator) next(t *thread) (val, bool) {
	switch it.v.k {
	case kList:
		if o := it.v.list(); it.i < len(o.items) {
			it.i++
			return o.items[it.i-1], true
		}
	case kRange:
		if r := it.v.rng(); int64(it.i) < r.n {
			it.i++
			return intVal(r.at(int64(it.i-1)), label.BottomID), true
		}
	case kTuple:
		if o := it.v.tuple(); it.i < len(o.items) {
			it.i++
			return o.items[it.i-1], true
		}
	case kDict, kSet:
		for d := it.v.dict(); it.i < len(d.ents); {
			it.i++
			if k := d.ents[it.i-1].k; k.k != kUnbound {
				return k, true
			}
		}
	case kSeq:
		return it.v.seq().next(t, &it.i)
	}
	return val{}, false
}

// hint adds what to do instead.
func (e *Error) hint(h string) *Error {
	e.Hint = h
	return e
}
