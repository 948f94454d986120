package eval

import (
	"math"

	star "go.starlark.net/syntax"

	"callgate/engine/label"
)

// itertoolsModule makes the module itertools. Its functions give lists: what has no end is refused.
func itertoolsModule() *module {
	m := &module{"itertools", map[string]val{}}
	add := func(name, params string, run native) *builtinDef {
		d := def("itertools."+name, params, run)
		m.attrs[name] = builtinVal(&builtin{name: name, recv: unboundVal, def: d}, label.BottomID)
		return d
	}
	chain := add("chain", "...", func(t *thread, c *call) val {
		t.unnamed(c)
		return t.chained(c, c.args, t.shallow(c))
	})
	chain.attrs = &module{"itertools.chain", map[string]val{}}
	chain.attrs.attrs["from_iterable"] = builtinVal(&builtin{name: "from_iterable", recv: unboundVal, def: def("itertools.chain.from_iterable", "iterable", func(t *thread, c *call) val {
		v := t.iterableArg(c, 0)
		l := t.shallow(c)
		return t.chained(c, t.elements(v), l)
	})}, label.BottomID)
	add("islice", "iterable, start_or_stop, stop?, step?", runIslice)
	add("groupby", "iterable, key?", runGroupby)
	add("product", "...", runProduct)
	add("combinations", "iterable, r", func(t *thread, c *call) val { return t.choices(c, false, false) })
	add("combinations_with_replacement", "iterable, r", func(t *thread, c *call) val { return t.choices(c, false, true) })
	add("permutations", "iterable, r?", func(t *thread, c *call) val { return t.choices(c, true, false) })
	add("zip_longest", "...", runZipLongest)
	add("accumulate", "iterable, func?, *, initial?", runAccumulate)
	add("starmap", "function, iterable", runStarmap)
	add("takewhile", "predicate, iterable", func(t *thread, c *call) val { return t.whileTrue(c, true) })
	add("dropwhile", "predicate, iterable", func(t *thread, c *call) val { return t.whileTrue(c, false) })
	add("filterfalse", "predicate, iterable", runFilterFalse)
	add("pairwise", "iterable", func(t *thread, c *call) val {
		items, l := t.elements(t.iterableArg(c, 0)), t.shallow(c)
		n := max(0, len(items)-1)
		return t.rows(n, 2, l, func(i int) val { return pairVal(items[i], items[i+1], l) })
	})
	add("batched", "iterable, n", func(t *thread, c *call) val {
		items, l, n := t.elements(t.iterableArg(c, 0)), t.shallow(c), t.intArg(c, 1)
		if n < 1 {
			panic(t.argError(c, "range", "n must be at least one"))
		}
		size := int(min(n, int64(max(1, len(items)))))
		return t.rows((len(items)+size-1)/size, size, l, func(i int) val {
			return tupleVal(append(make([]val, 0, size), items[i*size:min(len(items), (i+1)*size)]...), l)
		})
	})
	add("repeat", "object, times?", func(t *thread, c *call) val {
		if !c.has(1) {
			panic(t.badArg(c, "without times it has no end").hint("say how often: repeat(x, times), or [x] * n"))
		}
		n, l := max(0, t.intArg(c, 1)), t.shallow(c)
		t.allocN(n, valSize)
		t.alloc(listSize)
		t.charge(n / 4)
		items := make([]val, n)
		for i := range items {
			if i%movePiece == 0 {
				t.poll()
			}
			items[i] = c.args[0]
		}
		return listVal(&list{items: items, st: l}, l)
	})
	endless := func(name, params, hint string) {
		add(name, params, func(t *thread, c *call) val {
			panic(t.errorf(t.shallow(c), "argument", "%s has no end", c.def.name).hint(hint))
		})
	}
	endless("count", "start?, step?", "write enumerate(xs, start), or range(start, stop, step)")
	endless("cycle", "iterable", "write xs[i % len(xs)]")
	return m
}

// rows returns a list of n tuples of so many elements, each charged for before it is made.
func (t *thread) rows(n, size int, l label.ID, row func(i int) val) val {
	t.allocN(int64(n), valSize+tupleSize+blockSize(int64(size)*valSize))
	t.alloc(listSize)
	out := make([]val, 0, n)
	for i := range n {
		t.burn(1 + int64(size)/4)
		out = append(out, row(i))
	}
	return listVal(&list{items: out, st: l}, l)
}

// chained returns the elements of all the iterables. How many each has is known with the list.
func (t *thread) chained(c *call, from []val, l label.ID) val {
	out := &list{st: l}
	t.alloc(listSize)
	for i, v := range from {
		l = t.under(l, t.join(v.lab, t.structure(v)))
		if !t.iterable(v) {
			panic(t.badArg(c, "element #%d is not iterable: %s", i+1, v.typeName()).advise(notIterableHint(v)))
		}
		it, _ := t.iterate(v)
		for e, ok := it.next(t); ok; e, ok = it.next(t) {
			t.charge(1)
			t.append(out, e)
		}
	}
	t.deeper(c, l)
	out.st = t.join(out.st, l)
	return listVal(out, l)
}

func runIslice(t *thread, c *call) val {
	v, l := t.iterableArg(c, 0), t.shallow(c)
	at := func(i int, def int64) int64 {
		if c.none(i) {
			return def
		}
		n := t.intArg(c, i)
		if n < 0 {
			panic(t.argError(c, "range", "start, stop and step must not be negative"))
		}
		return n
	}
	start, stop, step := int64(0), at(1, math.MaxInt64), int64(1)
	if c.has(2) {
		start, stop, step = at(1, 0), at(2, math.MaxInt64), at(3, 1)
	}
	if step == 0 {
		panic(t.argError(c, "range", "step must be positive"))
	}
	out := &list{st: l}
	t.alloc(listSize)
	it, _ := t.iterate(v)
	next := start
	for i := int64(0); i < stop; i++ {
		e, ok := it.next(t)
		if !ok {
			break
		}
		t.charge(1)
		if i == next {
			t.append(out, e)
			if next += step; next < 0 {
				break
			}
		}
	}
	return listVal(out, l)
}

// runGroupby returns a list of pairs of a key and the list of the elements that have it, one after the other. Which are in which depends on all keys.
func runGroupby(t *thread, c *call) val {
	v, l := t.iterableArg(c, 0), t.shallow(c)
	items := t.elements(v)
	src := &list{items: items}
	t.hold(listVal(src, label.BottomID))
	keys := src
	if !c.none(1) {
		keys = &list{}
		t.hold(listVal(keys, label.BottomID))
		for _, e := range items {
			t.charge(1)
			t.append(keys, t.callUnder(l, c.args[1], e.with(t.join(e.lab, l))))
		}
		t.release()
	}
	t.release()
	st := l
	for _, k := range keys.items {
		st = t.under(st, t.deepLabel(k))
	}
	t.deeper(c, st)
	t.alloc(listSize)
	out := &list{st: st}
	var group *list
	for i, e := range items {
		t.charge(1)
		k := keys.items[i]
		if i == 0 || !t.equal(keys.items[i-1], k, &st, 0) {
			t.alloc(pairSize + listSize)
			group = &list{st: st}
			t.append(out, pairVal(k.with(t.join(k.lab, st)), listVal(group, st), st))
		}
		t.append(group, e)
	}
	return listVal(out, st)
}

// runProduct is product(…, repeat = 1): tuples of an element of each.
func runProduct(t *thread, c *call) val {
	repeat, l := int64(1), t.shallow(c)
	for _, a := range c.kw {
		if a.name != "repeat" || a.v.k != kInt || a.v.n < 0 {
			panic(t.badArg(c, "unexpected keyword argument %s; repeat is an int from 0 on", clip(a.name)))
		}
		repeat = a.v.n
	}
	var pools [][]val
	total := 1.0
	for i, v := range c.args {
		if !t.iterable(v) {
			panic(t.notIterable(c, i))
		}
		pools = append(pools, t.elements(v))
		total *= float64(len(pools[i]))
	}
	if len(c.args) == 0 {
		repeat = 0
	}
	n := int64(len(pools))
	if repeat > 1<<20 || n*repeat > 1<<20 {
		panic(t.tooMuch(n*min(repeat, 1<<30), valSize))
	}
	t.alloc(n * repeat * 32)
	t.charge(n * repeat)
	all := make([][]val, 0, n*repeat)
	count := 1.0
	for range repeat {
		all = append(all, pools...)
		count *= total
	}
	if count > float64(t.maxHeap) {
		panic(t.tooMuch(t.maxHeap, valSize))
	}
	at := make([]int, len(all))
	return t.rows(int(count), len(all), l, func(int) val {
		row := make([]val, len(all))
		for i, p := range all {
			row[i] = p[at[i]]
		}
		for i := len(all) - 1; i >= 0; i-- {
			if at[i]++; at[i] < len(all[i]) {
				break
			}
			at[i] = 0
		}
		return tupleVal(row, l)
	})
}

// choices returns the tuples of r elements, in the order of their positions.
func (t *thread) choices(c *call, ordered, again bool) val {
	items, l := t.elements(t.iterableArg(c, 0)), t.shallow(c)
	n, r := int64(len(items)), int64(len(items))
	if !c.none(1) {
		r = t.intArg(c, 1)
	}
	if r < 0 {
		panic(t.argError(c, "range", "r must not be negative"))
	}
	count := 1.0
	switch {
	case r > n && !(again && n > 0):
		count = 0
	default:
		for i := int64(0); i < r && count > 0 && count < 1e18; i++ {
			t.burn(1)
			switch {
			case ordered:
				count *= float64(n - i)
			case again:
				count = count * float64(n+i) / float64(i+1)
			default:
				count = count * float64(n-i) / float64(i+1)
			}
		}
	}
	if count *= 1; count > float64(t.maxHeap) || r > t.maxHeap/valSize {
		panic(t.tooMuch(t.maxHeap, valSize))
	}
	t.alloc(r*16 + n)
	at := make([]int, r)
	used := make([]bool, n)
	for i := range at {
		if !again {
			at[i] = i
			if count > 0 {
				used[i] = true
			}
		}
	}
	return t.rows(int(math.Round(count)), int(r), l, func(int) val {
		row := make([]val, r)
		for i, j := range at {
			row[i] = items[j]
		}
		nextChoice(at, used, int(n), ordered, again)
		return tupleVal(row, l)
	})
}

// nextChoice moves to the next choice of positions.
func nextChoice(at []int, used []bool, n int, ordered, again bool) {
	r := len(at)
	for i := r - 1; i >= 0; i-- {
		if !ordered {
			if top := n - r + i; !again && at[i] < top || again && at[i] < n-1 {
				at[i]++
				for j := i + 1; j < r; j++ {
					if at[j] = at[j-1]; !again {
						at[j]++
					}
				}
				return
			}
			continue
		}
		used[at[i]] = false
		for j := at[i] + 1; j < n; j++ {
			if used[j] {
				continue
			}
			at[i] = j
			used[j] = true
			free := 0
			for k := i + 1; k < r; k++ {
				for used[free] {
					free++
				}
				at[k] = free
				used[free] = true
			}
			return
		}
	}
}

// runZipLongest is zip_longest(…, fillvalue = None).
func runZipLongest(t *thread, c *call) val {
	l := t.shallow(c)
	fill := noneVal(l)
	for _, a := range c.kw {
		if a.name != "fillvalue" {
			panic(t.badArg(c, "unexpected keyword argument %s; there is fillvalue", clip(a.name)))
		}
		fill = a.v
	}
	n := 0
	var cols [][]val
	for i, v := range c.args {
		if !t.iterable(v) {
			panic(t.notIterable(c, i))
		}
		cols = append(cols, t.elements(v))
		n = max(n, len(cols[i]))
	}
	return t.rows(n, len(cols), l, func(i int) val {
		row := make([]val, len(cols))
		for j, col := range cols {
			if row[j] = fill; i < len(col) {
				row[j] = col[i]
			}
		}
		return tupleVal(row, l)
	})
}

// runAccumulate returns the sums so far, or what the function makes of what there is so far and each element.
func runAccumulate(t *thread, c *call) val {
	items, l := t.elements(t.iterableArg(c, 0)), t.shallow(c)
	t.hold(listVal(&list{items: items}, label.BottomID))
	t.alloc(listSize)
	out := &list{st: l}
	t.hold(listVal(out, label.BottomID))
	if c.has(2) {
		t.append(out, c.args[2].with(t.join(c.args[2].lab, l)))
	}
	for _, e := range items {
		t.charge(1)
		e = e.with(t.join(e.lab, l))
		if n := len(out.items); n > 0 {
			if so := out.items[n-1]; c.none(1) {
				e = t.operate(star.PLUS, so, e, t.at)
			} else {
				e = t.callUnder(l, c.args[1], so, e)
			}
		}
		t.append(out, e)
	}
	t.dropHeld(len(t.held) - 2)
	return listVal(out, l)
}

// runStarmap calls the function with the elements of each element.
func runStarmap(t *thread, c *call) val {
	items, l := t.elements(t.iterableArg(c, 1)), t.shallow(c)
	t.hold(listVal(&list{items: items}, label.BottomID))
	t.alloc(listSize)
	out := &list{st: l}
	t.hold(listVal(out, label.BottomID))
	for i, e := range items {
		t.charge(1)
		el := t.join(l, t.join(e.lab, t.structure(e)))
		if !t.iterable(e) {
			panic(t.badArg(c, "element #%d is not iterable: %s", i, e.typeName()))
		}
		args := t.elements(e)
		for j := range args {
			args[j].lab = t.join(args[j].lab, el)
		}
		t.append(out, t.callUnder(el, c.args[0], args...))
	}
	t.dropHeld(len(t.held) - 2)
	return listVal(out, l)
}

// whileTrue is takewhile and dropwhile. How many elements there are depends on all that were looked at.
func (t *thread) whileTrue(c *call, take bool) val {
	items, l := t.elements(t.iterableArg(c, 1)), t.shallow(c)
	t.hold(listVal(&list{items: items}, label.BottomID))
	t.alloc(listSize)
	out := &list{st: l}
	t.hold(listVal(out, label.BottomID))
	st, looking := l, true
	for _, e := range items {
		t.charge(1)
		e = e.with(t.join(e.lab, l))
		if looking {
			test := t.callUnder(st, c.args[0], e)
			st = t.under(st, t.join(test.lab, t.structure(test)))
			looking = t.truth(test)
			if take && !looking {
				break
			}
		}
		if take == looking {
			t.append(out, e)
		}
	}
	out.st = t.join(out.st, st)
	t.dropHeld(len(t.held) - 2)
	t.deeper(c, st)
	return listVal(out, t.pc)
}

func runFilterFalse(t *thread, c *call) val {
	items, l := t.elements(t.iterableArg(c, 1)), t.shallow(c)
	t.hold(listVal(&list{items: items}, label.BottomID))
	t.alloc(listSize)
	out := &list{st: l}
	t.hold(listVal(out, label.BottomID))
	st := l
	for _, e := range items {
		t.charge(1)
		e = e.with(t.join(e.lab, l))
		test := e
		if c.args[0].k != kNone {
			test = t.callUnder(l, c.args[0], e)
		}
		st = t.under(st, t.join(test.lab, t.structure(test)))
		if !t.truth(test) {
			t.append(out, e)
		}
	}
	out.st = t.join(out.st, st)
	t.dropHeld(len(t.held) - 2)
	t.deeper(c, st)
	return listVal(out, t.pc)
}
