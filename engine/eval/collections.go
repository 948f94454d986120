package eval

import (
	"slices"

	star "go.starlark.net/syntax"

	"callgate/engine/label"
)

// The classes of dicts. What is in them is in the dict: labels, walks and most methods are those of dicts.
var (
	ofCounter   = &dictOf{class: addClass("Counter")}
	ofOrdered   = &dictOf{class: addClass("OrderedDict")}
	defaultDict = addClass("defaultdict")
)

// collectionsModule makes the module collections.
func collectionsModule() *module {
	addDequeMethods()
	addCounter()
	addOrderedDict()
	addDefaultDict()
	addNamedTuple()
	isDict := func(c *class) func(v val) bool { return func(v val) bool { return ofClass(v) == c } }
	m := &module{"collections", map[string]val{}}
	m.class("Counter", "...", runCounter, isDict(ofCounter.class))
	m.class("OrderedDict", "...", func(t *thread, c *call) val { return t.dictFrom(c, ofOrdered, 0) }, isDict(ofOrdered.class))
	m.class("defaultdict", "...", runDefaultDict, isDict(defaultDict))
	m.class("deque", "iterable?, maxlen?", runDeque, func(v val) bool { return v.k == kDeque })
	m.class("namedtuple", "typename, field_names, *, defaults?", runNamedTuple, nil)
	return m
}

// class adds a function that programs take for a class, to which values belong.
func (m *module) class(name, params string, run native, of func(v val) bool) *builtinDef {
	d := def(m.name+"."+name, params, run)
	d.of = of
	m.attrs[name] = builtinVal(&builtin{name: name, recv: unboundVal, def: d}, label.BottomID)
	return d
}

// dictFrom makes a dict of a class from the positional argument at first, and the named ones.
func (t *thread) dictFrom(c *call, of *dictOf, first int) val {
	if len(c.args) > first+1 {
		panic(t.badArg(c, "got %d arguments, want at most %d", len(c.args), first+1))
	}
	t.distinct(c)
	t.alloc(dictSize)
	d := &dict{st: t.pc, of: of}
	out := dictVal(d, t.pc)
	if len(c.args) > first {
		t.updateFrom(c, out, c.args[first])
	}
	t.updateNamed(out, c.kw)
	return out
}

// defaulted returns x[y] of a dict whose class says what a key has that is missing. The key is at i, or nowhere if i is negative; l is the label
// of having looked. To read a defaultdict is to write to it, whether or not the key is there: that it is not must not show in what does not
// carry the key's label.
func (t *thread) defaulted(x, y val, i int, l label.ID, p pos) (val, bool) {
	d := x.dict()
	if d.of == ofCounter && i < 0 {
		return intVal(0, l), true
	}
	if d.of.class != defaultDict || d.of.factory.k == kNone {
		return val{}, false
	}
	t.at = p
	if i < 0 {
		t.mutable(d.iters, "insert into", x.with(l), p)
	}
	kl := t.keyLab(y)
	l = t.join(l, t.write(&d.st, x.lab, p))
	d.st = t.join(d.st, kl)
	if i >= 0 {
		v := d.ents[i].v
		return v.with(t.join(v.lab, l)), true
	}
	t.hold(x)
	t.hold(y)
	v := t.callUnder(l, d.of.factory)
	t.hold(v)
	l = t.join(l, t.write(&d.st, x.lab, p)) // once more: the function may have raised the floor
	v.lab = t.join(v.lab, l)
	t.put(d, y, t.hash(y), v)
	t.dropHeld(len(t.held) - 3)
	return v, true
}

// equalParticular compares two counters, in which what is missing counts 0, or two dicts whose order counts.
func (t *thread) equalParticular(x, y *dict, l *label.ID, depth int) bool {
	t.checkDepth(depth)
	if x.of == ofOrdered {
		if x.live != y.live {
			return false
		}
		i, same := 0, true
		x.each(func(k, v val) bool {
			t.charge(1)
			for y.ents[i].k.k == kUnbound {
				i++
			}
			e := y.ents[i]
			i++
			*l = t.join(t.join(*l, v.lab), e.v.lab)
			same = t.equal(k, e.k, l, depth+1) && t.equal(v, e.v, l, depth+1)
			return same
		})
		return same
	}
	same := true
	half := func(x, y *dict) {
		x.each(func(k, v val) bool {
			t.charge(1)
			w := intVal(0, label.BottomID)
			if i := t.find(y, k, t.hash(k)); i >= 0 {
				w = y.ents[i].v
			}
			*l = t.join(t.join(*l, v.lab), w.lab)
			same = t.equal(v, w, l, depth+1)
			return same
		})
	}
	if half(x, y); same {
		half(y, x)
	}
	return same
}

func addOrderedDict() {
	o := ofOrdered.class
	o.repr = func(w *textWriter, v val) {
		if v.dict().live == 0 {
			w.put("OrderedDict()")
			return
		}
		w.put("OrderedDict([")
		first := true
		v.dict().each(func(k, e val) bool {
			if !first {
				w.put(", ")
			}
			first = false
			w.put("(")
			w.write(k)
			w.put(", ")
			w.write(e)
			w.put(")")
			return true
		})
		w.put("])")
	}
	o.method("popitem", "last?", func(t *thread, c *call) val {
		d := c.recv.dict()
		t.changes(c, d.iters, "delete from")
		last := c.wantBool(t, 0, true)
		if d.live == 0 {
			panic(t.argError(c, "empty", "empty dict").of("KeyError"))
		}
		w := t.join(t.change(&d.st), t.tab.Control(t.shallow(c)))
		d.st = t.join(d.st, w)
		i := d.first()
		if last {
			t.trim(d)
			i = len(d.ents) - 1
		}
		k := d.ents[i].k
		var v val
		if last {
			v = d.removeLast()
		} else {
			v = t.remove(d, i)
		}
		t.alloc(pairSize)
		return pairVal(k.with(w), v.with(t.join(v.lab, w)), w)
	})
	o.method("move_to_end", "key, last?", func(t *thread, c *call) val {
		d := c.recv.dict()
		t.changes(c, d.iters, "change")
		last := c.wantBool(t, 1, true)
		l := t.keyLabel(c)
		h := t.hash(c.args[0].with(l))
		i := t.find(d, c.args[0], h)
		if i < 0 {
			panic(t.argError(c, "no-key", "missing key %s", t.short(c.args[0])))
		}
		t.change(&d.st)
		d.st = t.join(d.st, t.join(l, t.tab.Control(t.shallow(c))))
		e := d.ents[i]
		if last {
			if i < len(d.ents)-1 {
				t.remove(d, i)
				t.insert(d, e.k, h, e.v)
			}
			return noneVal(t.pc)
		}
		t.charge(int64(len(d.ents)))
		copy(d.ents[1:i+1], d.ents[:i])
		d.ents[0], d.head = e, 0
		t.rehash(d)
		return noneVal(t.pc)
	})
}

// trim drops what was deleted at the end of a dict.
func (t *thread) trim(d *dict) {
	if d.ents[len(d.ents)-1].k.k == kUnbound {
		t.charge(int64(len(d.ents)) / 4)
		t.rehash(d)
	}
}

// removeLast deletes the last entry, which there is. It leaves no hole: what would be found past its place in the index moves up.
func (d *dict) removeLast() val {
	i := len(d.ents) - 1
	e := d.ents[i]
	if len(d.index) != 0 {
		mask := uint64(len(d.index) - 1)
		hole := e.h & mask
		for d.index[hole] != uint32(i+1) {
			hole = (hole + 1) & mask
		}
		for j := (hole + 1) & mask; d.index[j] != 0; j = (j + 1) & mask {
			at := d.index[j]
			if at == tombstone {
				continue
			}
			if home := d.ents[at-1].h & mask; (j-home)&mask >= (j-hole)&mask {
				d.index[hole], hole = at, j
			}
		}
		d.index[hole] = 0
	}
	d.ents[i] = entry{}
	d.ents = d.ents[:i]
	if d.live--; d.live == 0 {
		d.wipe()
	}
	return e.v
}

func addDefaultDict() {
	defaultDict.field("default_factory", func(_ *thread, v val) val { return v.dict().of.factory })
	defaultDict.repr = func(w *textWriter, v val) {
		w.put("defaultdict(")
		if f := v.dict().of.factory; f.k == kBuiltin && instances[f.builtin().name] != nil {
			w.put("<class '" + f.builtin().name + "'>")
		} else {
			w.write(f)
		}
		w.put(", ")
		w.entries(v.dict())
		w.put(")")
	}
}

// entries writes what is in a dict, as a dict is written.
func (w *textWriter) entries(d *dict) {
	w.put("{")
	first := true
	d.each(func(k, e val) bool {
		if !first {
			w.put(", ")
		}
		first = false
		w.write(k)
		w.put(": ")
		w.write(e)
		return true
	})
	w.put("}")
}

// runDefaultDict is defaultdict(default_factory, what a dict is made from).
func runDefaultDict(t *thread, c *call) val {
	of := &dictOf{class: defaultDict, factory: noneVal(t.pc)}
	if len(c.args) > 0 {
		switch of.factory = c.args[0]; of.factory.k {
		case kNone, kFunc, kBuiltin:
		default:
			panic(t.badArg(c, "for the first argument: got %s, want a function or None", of.factory.typeName()).hint("give a function that makes the value: list, int, or lambda: 5"))
		}
	}
	t.alloc(dictOfSize)
	out := t.dictFrom(c, of, min(1, len(c.args)))
	d := out.dict() // without a function, a missing key is an error, and to read is not to write
	d.st = t.under(d.st, of.factory.lab)
	return out
}

// addCounter adds what counters do that dicts do not.
func addCounter() {
	k := ofCounter.class
	k.repr = func(w *textWriter, v val) {
		d := v.dict()
		if d.live == 0 {
			w.put("Counter()")
			return
		}
		w.put("Counter(")
		if ents, ok := w.t.mostCommon(d); ok {
			d = &dict{ents: ents}
		}
		w.entries(d)
		w.put(")")
	}
	k.binary = counterOp
	k.method("update", "...", func(t *thread, c *call) val { return t.countArgs(c, star.PLUS) })
	k.method("subtract", "...", func(t *thread, c *call) val { return t.countArgs(c, star.MINUS) })
	k.method("total", "", func(t *thread, c *call) val {
		total := intVal(0, t.shallow(c))
		for i := range c.recv.dict().ents {
			if e := &c.recv.dict().ents[i]; e.k.k != kUnbound {
				t.charge(1)
				total = t.operate(star.PLUS, total, c.counted(t, e.v), t.at)
			}
		}
		return total
	})
	k.method("elements", "", func(t *thread, c *call) val {
		l := t.shallow(c)
		n := int64(0)
		ents := c.recv.dict().ents
		for i := range ents {
			if v := ents[i].v; ents[i].k.k != kUnbound {
				t.charge(1)
				l = t.under(l, v.lab)
				if v.k != kInt {
					panic(t.badArg(c, "got %s as a count, want int", v.typeName()))
				}
				if n += max(v.n, 0); n > t.maxHeap/valSize {
					panic(t.tooMuch(n, valSize))
				}
			}
		}
		t.deeper(c, l)
		t.alloc(listSize + blockSize(n*valSize))
		t.charge(n / 4)
		out := make([]val, 0, n)
		for i := range ents {
			if ents[i].k.k != kUnbound {
				for range ents[i].v.n {
					if len(out)%movePiece == 0 {
						t.poll()
					}
					out = append(out, ents[i].k)
				}
			}
		}
		return listVal(&list{items: out, st: l}, t.pc)
	})
	k.method("most_common", "n?", func(t *thread, c *call) val {
		l := t.shallow(c)
		d := c.recv.dict()
		d.each(func(_, v val) bool {
			t.charge(1)
			l = t.under(l, t.deepLabel(v))
			return true
		})
		t.deeper(c, l)
		ents, ok := t.mostCommon(d)
		if !ok {
			panic(t.badArg(c, "the counts are not all numbers"))
		}
		if !c.none(0) {
			ents = ents[:min(max(c.wantInt(t, 0, 0), 0), int64(len(ents)))]
		}
		n := int64(len(ents))
		t.alloc(listSize + blockSize(n*valSize) + n*pairSize)
		t.charge(n)
		out := make([]val, 0, n)
		for _, e := range ents {
			out = append(out, pairVal(e.k.with(t.join(e.k.lab, l)), e.v, l))
		}
		return listVal(&list{items: out, st: l}, t.pc)
	})
}

// counted returns a count, which must be a number.
func (c *call) counted(t *thread, v val) val {
	if v = v.number(); !v.isNum() {
		panic(t.badArg(c, "got %s as a count, want a number", v.typeName()))
	}
	return v
}

// mostCommon returns the entries of a counter, those with the highest counts first; ok is false if not all are numbers.
func (t *thread) mostCommon(d *dict) (ents []entry, ok bool) {
	n := int64(d.live)
	t.alloc(blockSize(n * entrySize))
	t.free(blockSize(n * entrySize))
	t.charge(n)
	ents = make([]entry, 0, n)
	for i := range d.ents {
		e := d.ents[i]
		if e.k.k == kUnbound {
			continue
		}
		if i%movePiece == 0 {
			t.poll()
		}
		if !e.v.isNum() {
			return nil, false
		}
		ents = append(ents, e)
	}
	slices.SortStableFunc(ents, func(a, b entry) int {
		t.burn(1)
		return t.compareNum(b.v, a.v)
	})
	return ents, true
}

func runCounter(t *thread, c *call) val {
	t.alloc(dictSize)
	out := dictVal(&dict{st: t.pc, of: ofCounter}, t.pc)
	t.countInto(c, out, star.PLUS)
	return out
}

// countArgs is update and subtract.
func (t *thread) countArgs(c *call, op star.Token) val {
	t.changes(c, c.recv.dict().iters, "insert into")
	t.countInto(c, c.recv, op)
	return noneVal(t.pc)
}

// countInto adds to the counter out, or takes off, the elements of an iterable or the counts of a dict, and the named arguments.
func (t *thread) countInto(c *call, out val, op star.Token) {
	if len(c.args) > 1 {
		panic(t.badArg(c, "got %d arguments, want at most 1", len(c.args)))
	}
	t.distinct(c)
	d := out.dict()
	one := intVal(1, label.BottomID)
	if len(c.args) == 1 {
		from := c.args[0]
		if from.k != kNone { // nothing is counted then, which its label tells
			from = t.iterableArg(c, 0)
		}
		bl := t.join(from.lab, t.structure(from))
		w := t.join(t.change(&d.st), bl)
		d.st = t.under(d.st, bl)
		switch from.k {
		case kNone:
		case kDict:
			from.dict().each(func(k, v val) bool {
				t.charge(1)
				t.tally(c, d, k, v.with(t.join(v.lab, w)), op)
				return true
			})
		default:
			t.lock(from)
			it, _ := t.iterate(from)
			for e, ok := it.next(t); ok; e, ok = it.next(t) {
				t.charge(1)
				kl := t.keyLab(e)
				d.st = t.join(d.st, kl)
				t.tally(c, d, e.with(t.join(e.lab, bl)), one.with(t.join(w, kl)), op)
			}
			t.unlock()
		}
	}
	if len(c.kw) > 0 {
		w := t.change(&d.st)
		for _, a := range c.kw {
			t.tally(c, d, stringVal(a.name, label.BottomID), a.v.with(t.join(a.v.lab, w)), op)
		}
	}
}

// tally adds a number to a count, or takes it off.
func (t *thread) tally(c *call, d *dict, k, by val, op star.Token) {
	h := t.hash(k)
	i := t.find(d, k, h)
	if i < 0 {
		if op == star.MINUS {
			by = t.operate(op, intVal(0, by.lab), c.counted(t, by), t.at)
		}
		t.insert(d, k, h, by)
		return
	}
	have := d.ents[i].v
	if have.k == kInt && by.k == kInt && op == star.PLUS {
		if s := have.n + by.n; (s > have.n) == (by.n > 0) {
			d.ents[i].v = intVal(s, t.join(have.lab, by.lab))
			return
		}
	}
	d.ents[i].v = t.operate(op, c.counted(t, have), c.counted(t, by), t.at)
}

// counterOp adds two counters, takes one from the other, or takes the greater or smaller counts. What counts 0 or less is left out,
// so which keys there are depends on all counts.
func counterOp(t *thread, op star.Token, a, b val) (val, bool) {
	if ofClass(a) != ofCounter.class || ofClass(b) != ofCounter.class {
		return val{}, false
	}
	switch op {
	case star.PLUS, star.MINUS, star.PIPE, star.AMP:
	default:
		return val{}, false
	}
	x, y := a.dict(), b.dict()
	l := t.join(t.join(a.lab, t.structure(a)), t.join(b.lab, t.structure(b)))
	t.alloc(dictSize)
	out := &dict{st: l, of: ofCounter}
	zero := intVal(0, label.BottomID)
	number := func(v val) val {
		if v = v.number(); !v.isNum() {
			panic(t.errorf(t.join(l, v.lab), "type", "got %s as a count, want a number", v.typeName()))
		}
		return v
	}
	keep := func(k, v, w val) {
		t.charge(1)
		v, w = number(v), number(w)
		r := v
		switch both := t.join(v.lab, w.lab); op {
		case star.PLUS, star.MINUS:
			r = t.operate(op, v, w, t.at)
		case star.PIPE:
			if t.compareNum(w, v) > 0 {
				r = w
			}
			r.lab = both
		default:
			if t.compareNum(w, v) < 0 {
				r = w
			}
			r.lab = both
		}
		out.st = t.under(out.st, r.lab)
		if t.compareNum(r, zero) > 0 {
			t.put(out, k, t.hash(k), r)
		}
	}
	x.each(func(k, v val) bool {
		w := zero
		if i := t.find(y, k, t.hash(k)); i >= 0 {
			w = y.ents[i].v
		}
		keep(k, v, w)
		return true
	})
	y.each(func(k, w val) bool {
		if t.find(x, k, t.hash(k)) < 0 {
			keep(k, zero, w)
		}
		return true
	})
	return dictVal(out, l), true
}
