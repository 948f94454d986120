package eval

import (
	"slices"

	"callgate/engine/label"
)

// deque is a list that is as quick at its beginning as at its end: there is room on both sides of the items.
type deque struct {
	list        // it comes first: what reads a list reads a deque
	block []val // with the items somewhere within
	most  int64 // of items; -1 if there may be any number
}

// before returns how much room there is before the items.
func (o *deque) before() int { return cap(o.block) - cap(o.items) }

// room makes room on both sides of the items of a deque, for one more at least.
func (t *thread) room(o *deque) {
	n := len(o.items)
	if need := 2*n + 4; cap(o.block) < need || cap(o.block) > 4*need {
		t.reblock(o, roomFor(need, 0, valSize))
		return
	}
	at := (cap(o.block) - n) / 2
	t.charge(int64(n) / 16)
	t.poll()
	old := o.before()
	copy(o.block[at:at+n], o.items)
	if old < at {
		clear(o.block[old:min(old+n, at)])
	} else {
		clear(o.block[max(old, at+n) : old+n])
	}
	o.items = o.block[at : at+n]
}

// reblock moves the items to a block of so many.
func (t *thread) reblock(o *deque, room int) {
	t.alloc(blockSize(int64(room) * valSize))
	t.charge(int64(len(o.items)) / 16)
	block := make([]val, room)
	at := (room - len(o.items)) / 2
	t.move(block[at:at+len(o.items)], o.items)
	t.free(blockSize(int64(cap(o.block)) * valSize))
	o.block, o.items = block, block[at:at+len(o.items)]
}

// enqueue adds an item at the right or left end, and drops one at the other if there are too many.
func (t *thread) enqueue(o *deque, v val, left bool) {
	if o.most == 0 {
		return
	}
	if int64(len(o.items)) == o.most {
		o.drop(!left)
	}
	if left && o.before() == 0 || !left && len(o.items) == cap(o.items) {
		t.hold(v)
		t.room(o)
		t.release()
	}
	if !left {
		o.items = append(o.items, v)
		return
	}
	at := o.before() - 1
	o.items = o.block[at : at+1+len(o.items)]
	o.items[0] = v
}

// drop takes out the first or last item.
func (o *deque) drop(left bool) val {
	last := len(o.items) - 1
	if left {
		v := o.items[0]
		o.items[0] = val{}
		o.items = o.items[1:]
		return v
	}
	v := o.items[last]
	o.items[last] = val{}
	o.items = o.items[:last]
	return v
}

// shrink gives back the room of a deque that has become mostly empty.
func (t *thread) shrink(o *deque) {
	if n := len(o.items); cap(o.block) > 64 && n < cap(o.block)/8 {
		t.reblock(o, roomFor(2*n+4, 0, valSize))
	}
}

// runDeque is deque(iterable, maxlen).
func runDeque(t *thread, c *call) val {
	o := &deque{most: -1}
	o.st = t.shallow(c)
	t.alloc(dequeSize)
	if !c.none(1) {
		if o.most = t.intArg(c, 1); o.most < 0 {
			panic(t.argError(c, "range", "maxlen must be non-negative"))
		}
	}
	if !c.none(0) {
		items := t.elements(t.iterableArg(c, 0))
		if o.most >= 0 && int64(len(items)) > o.most {
			items = items[int64(len(items))-o.most:]
		}
		o.block = items[:len(items):len(items)]
		o.items = o.block
		if o.most >= 0 {
			o.block = slices.Clone(o.items) // the rest of the elements must not stay
			o.items = o.block
		}
	}
	return dequeVal(o, t.pc)
}

func addDequeMethods() {
	changes := func(name, params, verb string, run func(t *thread, c *call, o *deque, w label.ID) val) {
		addMethod(kDeque, name, params, func(t *thread, c *call) val {
			o := c.recv.deque()
			t.changes(c, o.iters, verb)
			return run(t, c, o, t.change(&o.st))
		})
	}
	for _, left := range []bool{false, true} {
		side := map[bool]string{true: "left"}[left]
		changes("append"+side, "x", "append to", func(t *thread, c *call, o *deque, w label.ID) val {
			t.enqueue(o, c.args[0].with(t.join(c.args[0].lab, w)), left)
			return noneVal(t.pc)
		})
		changes("extend"+side, "iterable", "extend", func(t *thread, c *call, o *deque, w label.ID) val {
			t.extendDeque(c, o, w, left)
			return noneVal(t.pc)
		})
		addMethod(kDeque, "pop"+side, "", func(t *thread, c *call) val {
			o := c.recv.deque()
			if len(o.items) == 0 {
				panic(t.argError(c, "range", "pop from an empty deque").of("IndexError").hint("test it first: while q:"))
			}
			t.changes(c, o.iters, "pop from")
			w := t.change(&o.st)
			v := o.drop(left)
			t.shrink(o)
			return v.with(t.under(t.join(v.lab, w), o.st))
		})
	}
	changes("clear", "", "clear", func(t *thread, c *call, o *deque, w label.ID) val {
		o.block, o.items = nil, nil
		return noneVal(t.pc)
	})
	changes("reverse", "", "reverse", func(t *thread, c *call, o *deque, w label.ID) val {
		t.charge(int64(len(o.items)) / 4)
		t.reverse(o.items)
		return noneVal(t.pc)
	})
	changes("rotate", "n?", "rotate", func(t *thread, c *call, o *deque, w label.ID) val {
		n := c.wantInt(t, 0, 1)
		if c.has(0) {
			o.st = t.under(o.st, c.args[0].lab)
		}
		k := int64(len(o.items))
		if k < 2 {
			return noneVal(t.pc)
		}
		n = (n%k + k) % k // so many items go from the end to the beginning
		if n <= k/2 {
			for range n {
				t.burn(1)
				t.enqueue(o, o.drop(false), true)
			}
		} else {
			for range k - n {
				t.burn(1)
				t.enqueue(o, o.drop(true), false)
			}
		}
		return noneVal(t.pc)
	})
	changes("insert", "index, x", "insert into", func(t *thread, c *call, o *deque, w label.ID) val {
		if !c.args[0].isInt() {
			panic(t.badArg(c, "for parameter index: got %s, want int", c.args[0].typeName()))
		}
		if o.most >= 0 && int64(len(o.items)) >= o.most {
			panic(t.argError(c, "range", "deque already at its maximum size").of("IndexError"))
		}
		n := int64(len(o.items))
		i := t.clipIndex(c.args[0], n)
		o.st = t.under(o.st, c.args[0].lab)
		t.charge((n - i) / 16)
		t.enqueue(o, c.args[1], false)
		copy(o.items[i+1:], o.items[i:n])
		o.items[i] = c.args[1].with(t.join(c.args[1].lab, t.under(w, c.args[0].lab)))
		return noneVal(t.pc)
	})
	addMethod(kDeque, "remove", "x", func(t *thread, c *call) val {
		o := c.recv.deque()
		t.changes(c, o.iters, "remove from")
		i, l := t.search(c, 0)
		if i < 0 {
			panic(t.argError(c, "not-found", "element not found"))
		}
		t.change(&o.st)
		o.st = t.under(o.st, l)
		t.charge(int64(len(o.items)-i) / 16)
		copy(o.items[i:], o.items[i+1:])
		o.drop(false)
		t.shrink(o)
		return noneVal(t.pc)
	})
	addMethod(kDeque, "copy", "", func(t *thread, c *call) val {
		t.alloc(dequeSize)
		o := &deque{block: t.elements(c.recv), most: c.recv.deque().most}
		o.items, o.st = o.block, t.shallow(c)
		return dequeVal(o, t.pc)
	})
	addMethod(kDeque, "index", "x, start?, end?", methods["index"][kList].def.run)
	addMethod(kDeque, "count", "x", methods["count"][kList].def.run)
}

// extendDeque adds the elements of an iterable, each at the end or at the beginning.
func (t *thread) extendDeque(c *call, o *deque, w label.ID, left bool) {
	from := t.iterableArg(c, 0)
	bl := t.join(from.lab, t.structure(from))
	o.st = t.under(o.st, bl)
	w = t.join(w, bl)
	if from.k == kDeque && from.deque() == o {
		from = listVal(&list{items: t.elements(from)}, label.BottomID)
	}
	t.hold(from)
	it, _ := t.iterate(from)
	t.lock(from)
	for e, ok := it.next(t); ok; e, ok = it.next(t) {
		t.charge(1)
		t.enqueue(o, e.with(t.join(e.lab, w)), left)
	}
	t.unlock()
	t.release()
}
