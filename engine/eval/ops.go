package eval

import (
	"slices"
	"strings"

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
	case kList, kDeque:
		return len(v.list().items) > 0
	case kObject:
		c := v.object().class
		return c.truth == nil || c.truth(v)
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
	case kList, kDeque:
		return int64(len(v.list().items))
	case kObject:
		if o := v.object(); o.class.parts {
			return int64(len(o.items))
		}
	case kDict, kSet:
		return int64(v.dict().live)
	case kRange:
		return v.rng().n
	case kSeq:
		return v.seq().len(t)
	}
	return -1
}

// counted returns the number of elements that iterating over a value gives: of a string its code points.
func (t *thread) counted(v val) int64 {
	if v.k == kString {
		return t.runeCount(v.str())
	}
	return t.length(v)
}

// deepLabel joins every label in a value: of references, structures and
// elements. It visits each object once.
func (t *thread) deepLabel(v val) label.ID {
	switch v.k {
	case kTuple, kList, kDict, kSet, kStruct, kBuiltin, kDeque, kObject:
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
			if d.of != nil && d.of.factory.k != kUnbound {
				l = t.meetOne(l, d.of.factory)
			}
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
	case kTuple, kList, kDict, kSet, kStruct, kDeque, kObject:
		t.todo.push(v)
	case kBuiltin:
		if r := v.builtin().recv; r.k != kUnbound {
			l = t.meetOne(l, r)
		}
	}
	return l
}

// items returns the elements of a list or tuple, without copying.
func (t *thread) items(v val) []val {
	if v.k == kList || v.k == kDeque {
		return v.list().items
	}
	return v.tuple().items
}

// attr evaluates x.name; x carries the pc.
func (t *thread) attr(x val, name string, p pos) val {
	switch x.k {
	case kModule:
		if v, ok := x.module().attrs[name]; ok {
			return v.with(t.join(v.lab, x.lab))
		}
		m := x.module()
		panic(t.fail(p, x.lab, "no-field", "%s has no .%s%s", m.name, name, nearestField(name, m.names())).advise(m.name + " has " + strings.Join(m.names(), ", ")))
	case kStruct:
		r := x.record()
		if i, ok := slices.BinarySearch(r.names, name); ok {
			return r.items[i].with(t.join(r.items[i].lab, x.lab))
		}
		if x.isError() {
			panic(t.fail(p, x.lab, "no-field", "%s has no .%s", x.typeName(), name).hint("str(e) is its message, e.args what it was made of"))
		}
		panic(t.fail(p, x.lab, "no-field", "struct has no .%s field%s", name, nearestField(name, r.names)))
	}
	if name == "__name__" && (x.k == kFunc || x.k == kBuiltin) {
		return stringVal(functionName(x), x.lab)
	}
	if x.k == kBuiltin {
		if v, ok := typeAttrs[x.builtin()][name]; ok {
			return v.with(x.lab)
		}
	}
	if v, ok := t.ownField(x, name); ok {
		return v.with(t.join(v.lab, x.lab))
	}
	if b := methodOf(x, name); b != nil {
		t.alloc(builtinSize)
		return builtinVal(&builtin{name: name, recv: x, def: b.def}, x.lab)
	}
	if x.k == kDict && x.dict().of == ofTool {
		k := stringVal(name, x.lab)
		if i := t.find(x.dict(), k, t.hash(k)); i >= 0 {
			v := x.dict().ents[i].v
			return v.with(t.join(t.join(v.lab, x.lab), t.structure(x)))
		}
	}
	panic(t.fail(p, t.join(x.lab, t.structure(x)), "no-field", "%s has no .%s field or method%s", x.typeName(), name, nearestField(name, namesOf(x))).advise(noFieldHint(x)))
}

// index evaluates x[y].
func (t *thread) index(x, y val, p pos) val {
	l := t.under(x.lab, y.lab)
	switch x.k {
	case kList, kDeque:
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
		i := t.find(d, y, t.hash(y.with(l)))
		l = t.under(l, d.st)
		if y.k >= kTuple {
			l = t.under(l, t.deepLabel(y))
		}
		if d.of != nil && d.of != ofTool {
			if v, ok := t.defaulted(x, y, i, l, p); ok {
				return v
			}
		}
		if i < 0 {
			panic(t.fail(p, l, "no-key", "key %s not in dict", t.short(y)).hint("d.get(key) is None where the key is missing, d.get(key, default) the default"))
		}
		v := d.ents[i].v
		v.lab = t.join(v.lab, l)
		return v
	case kTuple, kString, kBytes, kRange, kSeq:
		if x.k == kSeq && !x.seq().indexed() {
			panic(t.fail(p, l, "type", "unhandled index operation %s[%s]", x.typeName(), y.typeName()).advise("make a list first: list(x)[i]"))
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
	case kObject:
		switch c := x.object().class; {
		case c.index != nil:
			return c.index(t, x, y, p)
		case c.parts:
			return t.index(asTuple(x), y, p)
		}
		panic(t.fail(p, l, "type", "unhandled index operation %s[%s]", x.typeName(), y.typeName()))
	default:
		panic(t.fail(p, l, "type", "unhandled index operation %s[%s]", x.typeName(), y.typeName()).advise(noIndexHint(x)))
	}
	l = t.join(l, t.structure(x))
	if !y.isInt() {
		panic(t.fail(p, l, "type", "%s index: got %s, want int", x.typeName(), y.typeName()))
	}
	n := t.length(x)
	if n == 0 {
		panic(t.fail(p, l, "range", "index %s out of range: empty %s", t.short(y), x.typeName()).of("IndexError"))
	}
	panic(t.fail(p, l, "range", "%s index %s out of range [%d:%d]", x.typeName(), t.short(y), -n, n-1).of("IndexError"))
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
	case kList, kDeque:
		o := x.list()
		if !y.isInt() {
			panic(t.fail(p, l, "type", "%s index: got %s, want int", x.typeName(), y.typeName()))
		}
		i := y.n
		n := int64(len(o.items))
		if i < 0 {
			i += n
		}
		if y.k == kBig || uint64(i) >= uint64(n) {
			panic(t.fail(p, l, "range", "%s index %s out of range [%d:%d]", x.typeName(), t.short(y), -n, n-1).of("IndexError"))
		}
		t.mutable(o.iters, "assign to element of", x.with(l), p) // where the index is not in range there is another error
		w := t.under(t.write(&o.st, x.lab, p), y.lab)
		v.lab = t.join(v.lab, w)
		o.st = t.under(o.st, y.lab)
		o.items[i] = v
	case kDict:
		d := x.dict()
		t.at = p
		t.mutable(d.iters, "insert into", x, p)
		h := t.hash(y.with(l))
		kl := t.keyLab(y)
		w := t.write(&d.st, x.lab, p)
		v.lab = t.join(t.join(v.lab, w), kl)
		d.st = t.join(d.st, kl)
		t.hold(v)
		t.put(d, y, h, v)
		t.release()
	default:
		panic(t.fail(p, x.lab, "type", "%s value does not support item assignment", x.typeName()))
	}
}

// keyLab is the label of which key a key is: of all that is in it.
func (t *thread) keyLab(k val) label.ID {
	if k.k >= kTuple {
		return t.tab.Control(t.deepLabel(k))
	}
	return t.tab.Control(k.lab)
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
	l := t.join(v.lab, t.structure(v))
	if t.strands > 0 { // it may be another strand that iterates, and where that is depends on anything
		l = t.everything()
	}
	panic(t.fail(p, l, "iterating", "%scannot %s %s during iteration", t.prefix(), verb, what).
		hint("iterate over a copy: for x in list(xs)"))
}

// changes is mutable for a method of a container. What the arguments are may have decided that there is no other error before.
func (t *thread) changes(c *call, iters int32, verb string) {
	if iters != 0 {
		t.mutable(iters, verb, c.recv.with(t.allOf(c)), t.at)
	}
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
	bl := t.join(b.lab, t.structure(b))
	t.mutable(o.iters, verb, a.with(t.join(a.lab, bl)), t.at) // had b been no sequence there were another error
	w := t.write(&o.st, a.lab, t.at)
	o.st = t.under(o.st, bl)
	w = t.join(w, bl)
	if b.k == kList || b.k == kTuple || b.k == kDeque { // a may be b
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
	bl := t.join(b.lab, t.structure(b))
	t.mutable(x.iters, verb, a.with(t.join(a.lab, bl)), t.at)
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

// iterator yields the elements of a sequence, with their own labels alone.
type iterator struct {
	v val
	i int
}

// iterable reports whether a value can be iterated over.
func (t *thread) iterable(v val) bool {
	switch v.k {
	case kTuple, kRange, kList, kDict, kSet, kSeq, kDeque, kString:
		return true
	case kObject:
		return v.object().class.parts
	}
	return false
}

func (t *thread) iterate(v val) (iterator, bool) { return iterator{v: v}, t.iterable(v) }

func (it *iterator) next(t *thread) (val, bool) {
	switch it.v.k {
	case kList, kDeque:
		if o := it.v.list(); it.i < len(o.items) {
			it.i++
			return o.items[it.i-1], true
		}
	case kRange:
		if r := it.v.rng(); int64(it.i) < r.n {
			it.i++
			return intVal(r.at(int64(it.i-1)), label.BottomID), true
		}
	case kTuple, kObject:
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
	case kString:
		s := seq{s: it.v.str(), mode: seqCodepoints}
		return s.next(t, &it.i)
	}
	return val{}, false
}

// hint adds what to do instead, which the code and the position alone decide.
func (e *Error) hint(h string) *Error {
	e.Hint = h
	return e
}

// advise adds what to do instead, which what the check has read decides: it is under the error's label.
func (e *Error) advise(h string) *Error {
	e.Advice = h
	return e
}
