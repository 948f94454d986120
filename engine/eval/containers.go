package eval

import (
	"slices"

	star "go.starlark.net/syntax"

	"callgate/engine/label"
)

// addContainerMethods adds the methods of lists, dicts and sets. Those that change a
// container apply the write rule [flow.4] before they do.
func addContainerMethods() {
	addMethod(kList, "append", "x", func(t *thread, c *call) val {
		o := c.recv.list()
		t.changes(c, o.iters, "append to")
		w := t.change(&o.st)
		t.append(o, c.args[0].with(t.join(c.args[0].lab, w)))
		return noneVal(t.pc)
	})
	addMethod(kList, "extend", "iterable", func(t *thread, c *call) val {
		t.iterableArg(c, 0)
		t.extend(c.recv, c.args[0])
		return noneVal(t.pc)
	})
	addMethod(kList, "insert", "index, x", listInsert)
	addMethod(kList, "pop", "index?", listPop)
	addMethod(kList, "remove", "x", func(t *thread, c *call) val {
		o := c.recv.list()
		t.changes(c, o.iters, "remove from")
		i, l := t.search(c, 0)
		if i < 0 {
			panic(t.argError(c, "not-found", "element not found"))
		}
		t.change(&o.st)
		o.st = t.under(o.st, l)
		t.removeAt(o, i)
		return noneVal(t.pc)
	})
	addMethod(kList, "index", "x, start?, end?", func(t *thread, c *call) val {
		i, l := t.search(c, 1)
		if i < 0 {
			panic(t.argError(c, "not-found", "value not in list"))
		}
		return intVal(int64(i), l)
	})
	addMethod(kList, "count", "x", func(t *thread, c *call) val {
		l, n := t.join(t.shallow(c), t.deepLabel(c.args[0])), int64(0)
		for _, e := range c.recv.list().items {
			t.charge(1)
			l = t.join(l, e.lab)
			if t.equal(e, c.args[0], &l, 0) {
				n++
			}
		}
		return intVal(n, l)
	})
	addMethod(kList, "clear", "", func(t *thread, c *call) val {
		o := c.recv.list()
		t.changes(c, o.iters, "clear")
		t.change(&o.st)
		o.items = nil
		return noneVal(t.pc)
	})
	addMethod(kList, "copy", "", func(t *thread, c *call) val {
		t.alloc(listSize)
		return listVal(&list{items: t.elements(c.recv), st: t.shallow(c)}, t.pc)
	})
	addMethod(kList, "reverse", "", func(t *thread, c *call) val {
		o := c.recv.list()
		t.changes(c, o.iters, "reverse")
		t.change(&o.st)
		t.charge(int64(len(o.items)) / 4)
		t.reverse(o.items)
		return noneVal(t.pc)
	})
	addMethod(kList, "sort", "*, key?, reverse?", func(t *thread, c *call) val {
		o := c.recv.list()
		t.changes(c, o.iters, "sort")
		key := unboundVal
		if !c.none(0) {
			key = c.args[0]
		}
		t.lock(c.recv) // a key function cannot change the list meanwhile
		items := t.elements(c.recv)
		l := t.sort(c, items, key, c.has(1) && t.truth(c.args[1]), t.shallow(c), t.structure(c.recv))
		t.unlock()
		t.change(&o.st)
		o.st = t.join(o.st, l)
		o.items = items
		return noneVal(t.pc)
	})

	addMethod(kDict, "get", "key, default?", func(t *thread, c *call) val {
		l := t.keyLabel(c)
		if i := t.find(c.recv.dict(), c.args[0], t.hash(c.args[0])); i >= 0 {
			v := c.recv.dict().ents[i].v
			return v.with(t.join(v.lab, l))
		}
		return t.defaultArg(c, 1, l)
	})
	addMethod(kDict, "items", "", dictItems)
	addMethod(kDict, "keys", "", func(t *thread, c *call) val {
		t.alloc(listSize)
		return listVal(&list{items: t.elements(c.recv), st: t.shallow(c)}, t.pc)
	})
	addMethod(kDict, "values", "", func(t *thread, c *call) val {
		d := c.recv.dict()
		t.alloc(listSize + blockSize(int64(d.live)*valSize))
		t.charge(int64(len(d.ents)) / 4)
		o := &list{items: make([]val, 0, d.live), st: t.shallow(c)}
		d.each(func(_, v val) bool {
			if len(o.items)%movePiece == 0 {
				t.poll()
			}
			o.items = append(o.items, v)
			return true
		})
		return listVal(o, t.pc)
	})
	addMethod(kDict, "pop", "key, default?", func(t *thread, c *call) val {
		d := c.recv.dict()
		t.changes(c, d.iters, "delete from")
		l := t.keyLabel(c)
		h := t.hash(c.args[0].with(l))
		i := t.find(d, c.args[0], h)
		if i < 0 && !c.has(1) {
			panic(t.argError(c, "no-key", "missing key %s", t.short(c.args[0])).advise("pop(key, default) returns the default instead"))
		}
		w := t.join(t.change(&d.st), l)
		d.st = t.join(d.st, l)
		if i < 0 {
			return t.defaultArg(c, 1, w)
		}
		v := t.remove(d, i)
		return v.with(t.join(v.lab, w))
	})
	addMethod(kDict, "popitem", "", func(t *thread, c *call) val {
		d := c.recv.dict()
		t.changes(c, d.iters, "delete from")
		i := d.first()
		if i < 0 {
			panic(t.argError(c, "empty", "empty dict").of("KeyError"))
		}
		w := t.join(t.change(&d.st), t.shallow(c))
		k := d.ents[i].k
		v := t.remove(d, i)
		t.alloc(pairSize)
		return pairVal(k.with(w), v.with(t.join(v.lab, w)), w)
	})
	addMethod(kDict, "setdefault", "key, default?", func(t *thread, c *call) val {
		d := c.recv.dict()
		l := t.keyLabel(c)
		h := t.hash(c.args[0])
		i := t.find(d, c.args[0], h)
		if i < 0 {
			t.changes(c, d.iters, "insert into")
		}
		w := t.join(t.change(&d.st), l)
		d.st = t.join(d.st, l)
		if i >= 0 {
			v := d.ents[i].v
			return v.with(t.join(v.lab, w))
		}
		v := t.defaultArg(c, 1, w)
		t.insert(d, c.args[0], h, v)
		return v
	})
	addMethod(kDict, "update", "...", func(t *thread, c *call) val {
		if len(c.args) > 1 {
			panic(t.badArg(c, "got %d arguments, want at most 1", len(c.args)))
		}
		if len(c.kw) > 0 || len(c.args) == 1 && t.length(c.args[0]) != 0 {
			t.changes(c, c.recv.dict().iters, "insert into")
		}
		if len(c.args) == 1 {
			t.updateFrom(c, c.recv, c.args[0])
		}
		t.updateNamed(c.recv, c.kw)
		return noneVal(t.pc)
	})
	addMethod(kDict, "copy", "", func(t *thread, c *call) val { return t.copyDict(c.recv).with(t.pc) })
	for _, k := range []kind{kDict, kSet} {
		addMethod(k, "clear", "", func(t *thread, c *call) val {
			d := c.recv.dict()
			t.changes(c, d.iters, "clear")
			t.change(&d.st)
			d.wipe()
			return noneVal(t.pc)
		})
	}
	addSetMethods()
}

// keyLabel is the label of looking up the first argument in the receiver.
func (t *thread) keyLabel(c *call) label.ID {
	return t.under(t.join(t.join(c.recv.lab, t.structure(c.recv)), t.pc), t.deepLabel(c.args[0]))
}

// defaultArg returns an optional argument, or None, under l.
func (t *thread) defaultArg(c *call, i int, l label.ID) val {
	if c.has(i) {
		return c.args[i].with(t.join(c.args[i].lab, l))
	}
	return noneVal(l)
}

func listInsert(t *thread, c *call) val {
	o := c.recv.list()
	if !c.args[0].isInt() {
		panic(t.badArg(c, "for parameter index: got %s, want int", c.args[0].typeName()))
	}
	t.changes(c, o.iters, "insert into")
	n := int64(len(o.items))
	i := t.clipIndex(c.args[0], n)
	w := t.under(t.change(&o.st), c.args[0].lab)
	o.st = t.under(o.st, c.args[0].lab)
	t.charge((n - i) / 16)
	t.append(o, c.args[1])
	copy(o.items[i+1:], o.items[i:n])
	o.items[i] = c.args[1].with(t.join(c.args[1].lab, w))
	return noneVal(t.pc)
}

// clipIndex brings an index of any size into [0, n]; negative ones count from the end.
func (t *thread) clipIndex(v val, n int64) int64 {
	i := v.n
	if v.k == kBig {
		i = int64(v.bigInt().Sign()) * (1 << 62)
	}
	if i < 0 {
		i += n
	}
	return min(max(i, 0), n)
}

func listPop(t *thread, c *call) val {
	o := c.recv.list()
	n := int64(len(o.items))
	i := n - 1
	il := label.BottomID
	if c.has(0) {
		i = t.intArg(c, 0)
		il = t.tab.Control(c.args[0].lab)
		if i < 0 {
			i += n
		}
	}
	if i < 0 || i >= n {
		if c.has(0) {
			i = c.args[0].n
		}
		if n == 0 {
			panic(t.argError(c, "range", "index %d out of range: empty list", i).of("IndexError"))
		}
		panic(t.argError(c, "range", "list index %d out of range [%d:%d]", i, -n, n-1).of("IndexError"))
	}
	t.changes(c, o.iters, "pop from")
	w := t.join(t.change(&o.st), il)
	o.st = t.join(o.st, il)
	v := o.items[i]
	t.removeAt(o, int(i))
	return v.with(t.under(t.join(v.lab, w), o.st))
}

func (t *thread) removeAt(o *list, i int) {
	t.charge(int64(len(o.items)-i) / 16)
	copy(o.items[i:], o.items[i+1:])
	last := len(o.items) - 1
	o.items[last] = val{}
	o.items = o.items[:last]
	if cap(o.items) > 64 && len(o.items) < cap(o.items)/4 { // give memory back
		n := roomFor(last, 0, valSize)
		t.alloc(blockSize(int64(n) * valSize))
		items := make([]val, last, n)
		t.move(items, o.items)
		o.items = items
	}
}

// search looks for the first argument in the receiver, a list, between the optional
// arguments at first, and returns the label of what it read.
func (t *thread) search(c *call, first int) (int, label.ID) {
	items := c.recv.list().items
	lo, hi := int64(0), int64(len(items))
	for i, p := range []*int64{&lo, &hi} {
		if first > 0 && !c.none(first+i) {
			if !c.args[first+i].isInt() {
				panic(t.badArg(c, "got %s, want int", c.args[first+i].typeName()))
			}
			*p = t.clipIndex(c.args[first+i], int64(len(items)))
		}
	}
	l := t.shallow(c)
	for i := lo; i < hi; i++ {
		t.charge(1)
		l = t.join(l, items[i].lab)
		if t.equal(items[i], c.args[0], &l, 0) {
			return int(i), l
		}
	}
	return -1, l
}

func dictItems(t *thread, c *call) val {
	d := c.recv.dict()
	l := t.shallow(c)
	n := int64(d.live)
	t.alloc(listSize + blockSize(n*valSize) + n*pairSize)
	t.charge(n)
	o := &list{items: make([]val, 0, n), st: l}
	d.each(func(k, v val) bool {
		if len(o.items)%movePiece == 0 {
			t.poll()
		}
		o.items = append(o.items, pairVal(k.with(l), v, l))
		return true
	})
	return listVal(o, t.pc)
}

// copyDict copies a dict or a set; its structure carries the reference's label.
func (t *thread) copyDict(v val) val {
	d := v.dict()
	l := t.join(v.lab, t.structure(v))
	t.alloc(dictSize + blockSize(int64(len(d.ents))*entrySize) + stringSize(int64(len(d.index))*4))
	t.charge(int64(len(d.ents)))
	out := &dict{st: l, live: d.live, head: d.head, of: d.of}
	out.ents = make([]entry, len(d.ents))
	moveEntries(t, out.ents, d.ents)
	out.index = slices.Clone(d.index)
	return val{p: dictVal(out, l).p, k: v.k, lab: l}
}

// setOp evaluates an operation on two sets; what is in the result depends on both.
func (t *thread) setOp(op star.Token, a, b val) val {
	l := t.join(t.join(a.lab, t.structure(a)), t.join(b.lab, t.structure(b)))
	t.alloc(dictSize)
	out := &dict{st: l}
	x, y := a.dict(), b.dict()
	none := noneVal(label.BottomID)
	keep := func(in, other *dict, want bool) {
		in.each(func(k, _ val) bool {
			t.charge(1)
			h := t.hash(k)
			if (t.find(other, k, h) >= 0) == want {
				t.put(out, k, h, none)
			}
			return true
		})
	}
	switch op {
	case star.AMP:
		keep(y, x, true) // in the order of the second
	case star.MINUS:
		keep(x, y, false)
	case star.CIRCUMFLEX:
		keep(x, y, false)
		keep(y, x, false)
	case star.PIPE:
		for _, in := range []*dict{x, y} {
			in.each(func(k, _ val) bool {
				t.charge(1)
				t.put(out, k, t.hash(k), none)
				return true
			})
		}
	}
	return setVal(out, l)
}

// unnamed refuses named arguments.
func (t *thread) unnamed(c *call) {
	if len(c.kw) > 0 {
		panic(t.badArg(c, "does not accept keyword arguments"))
	}
}

// toSet makes a set of argument i, which must be iterable; a set is returned as it is.
func (t *thread) toSet(c *call, i int) val {
	v := c.args[i]
	if v.k == kSet {
		return v
	}
	if !t.iterable(v) {
		panic(t.notIterable(c, i))
	}
	t.alloc(dictSize)
	d := &dict{st: t.join(v.lab, t.structure(v))}
	t.addAll(d, v)
	return setVal(d, v.lab)
}

func addSetMethods() {
	combine := func(name string, op star.Token) {
		addMethod(kSet, name, "...", func(t *thread, c *call) val {
			t.unnamed(c)
			if op == star.CIRCUMFLEX && len(c.args) != 1 {
				panic(t.badArg(c, "got %d arguments, want 1", len(c.args)))
			}
			out := t.copyDict(c.recv)
			for i := range c.args {
				out = t.setOp(op, out, t.toSet(c, i))
			}
			return out
		})
	}
	combine("difference", star.MINUS)
	combine("intersection", star.AMP)
	combine("symmetric_difference", star.CIRCUMFLEX)
	combine("union", star.PIPE)
	addMethod(kSet, "issubset", "other", setIsSubset)
	addMethod(kSet, "issuperset", "other", setIsSuperset)
	addMethod(kSet, "isdisjoint", "other", func(t *thread, c *call) val {
		other := t.toSet(c, 0)
		both := t.setOp(star.AMP, c.recv, other)
		return boolVal(both.dict().live == 0, both.dict().st)
	})
	addMethod(kSet, "add", "x", func(t *thread, c *call) val {
		d := c.recv.dict()
		h := t.hash(c.args[0])
		t.changes(c, d.iters, "insert into")
		t.change(&d.st)
		d.st = t.under(d.st, t.deepLabel(c.args[0]))
		t.put(d, c.args[0], h, noneVal(label.BottomID))
		return noneVal(t.pc)
	})
	addMethod(kSet, "update", "...", func(t *thread, c *call) val {
		d := c.recv.dict()
		t.unnamed(c)
		t.changes(c, d.iters, "insert into")
		for i := range c.args {
			segment := t.mem.begin()
			other := t.toSet(c, i)
			t.mem.resume(segment)
			t.hold(other)
			t.change(&d.st)
			d.st = t.join(d.st, t.join(other.lab, t.structure(other)))
			if other.dict() != d {
				other.dict().each(func(k, _ val) bool {
					t.charge(1)
					t.put(d, k, t.hash(k), noneVal(label.BottomID))
					return true
				})
			}
			t.release()
		}
		return noneVal(t.pc)
	})
	remove := func(name string, must bool) {
		addMethod(kSet, name, "x", func(t *thread, c *call) val {
			d := c.recv.dict()
			l := t.keyLabel(c)
			i := t.find(d, c.args[0], t.hash(c.args[0]))
			t.changes(c, d.iters, "delete from")
			if i < 0 && must {
				panic(t.argError(c, "no-key", "missing key %s", t.short(c.args[0])).advise("discard does nothing if it is missing"))
			}
			t.change(&d.st)
			d.st = t.join(d.st, l)
			if i >= 0 {
				t.remove(d, i)
			}
			return noneVal(t.pc)
		})
	}
	remove("remove", true)
	remove("discard", false)
	addMethod(kSet, "pop", "", func(t *thread, c *call) val {
		d := c.recv.dict()
		t.changes(c, d.iters, "delete from")
		i := d.first()
		if i < 0 {
			panic(t.argError(c, "empty", "empty set").of("KeyError"))
		}
		w := t.join(t.change(&d.st), t.shallow(c))
		k := d.ents[i].k
		t.remove(d, i)
		return k.with(w)
	})
	addMethod(kSet, "copy", "", func(t *thread, c *call) val { return t.copyDict(c.recv).with(t.pc) })
}

// setIsSuperset looks at the elements of any iterable until one is missing.
// setIsSubset looks for the set's elements in a sequence until it has met all of them.
func setIsSubset(t *thread, c *call) val {
	other := c.args[0]
	d, l := c.recv.dict(), t.shallow(c)
	if other.k == kSet {
		return boolVal(t.compareSets(star.LE, d, other.dict()), l)
	}
	if !t.iterable(other) {
		panic(t.notIterable(c, 0))
	}
	t.alloc(stringSize(int64(len(d.ents))))
	met, left := make([]bool, len(d.ents)), d.live
	it, _ := t.iterate(other)
	for left > 0 {
		e, ok := it.next(t)
		if !ok {
			break
		}
		t.charge(1)
		h := t.hash(e.with(t.join(e.lab, l))) // that one cannot be in a set tells that it is there
		l = t.join(l, t.deepLabel(e))
		if i := t.find(d, e, h); i >= 0 && !met[i] {
			met[i] = true
			left--
		}
	}
	t.deeper(c, l)
	return boolVal(left == 0, l)
}

func setIsSuperset(t *thread, c *call) val {
	other := t.iterableArg(c, 0)
	d, l := c.recv.dict(), t.shallow(c)
	it, _ := t.iterate(other)
	for e, ok := it.next(t); ok; e, ok = it.next(t) {
		t.charge(1)
		h := t.hash(e.with(t.join(e.lab, l)))
		if l = t.join(l, t.deepLabel(e)); t.find(d, e, h) < 0 {
			t.deeper(c, l)
			return boolVal(false, l)
		}
	}
	t.deeper(c, l)
	return boolVal(true, l)
}
