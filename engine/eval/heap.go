package eval

import (
	star "go.starlark.net/syntax"

	"callgate/engine/label"
)

// heapChanges are the functions that change their first argument.
var heapChanges = map[string]bool{"heappush": true, "heappop": true, "heappushpop": true, "heapify": true}

// heapModule makes the module heapq: lists of which the first element is the least.
func heapModule() *module {
	largest := func(name string, reverse bool) *builtinDef {
		return def("heapq."+name, "n, iterable, key?", func(t *thread, c *call) val {
			n := t.intArg(c, 0)
			v := t.iterableArg(c, 1)
			l := t.shallow(c)
			items := t.elements(v)
			key := unboundVal
			if !c.none(2) {
				key = c.args[2]
			}
			t.alloc(listSize)
			l = t.sort(c, items, key, reverse, l, t.join(v.lab, t.structure(v)))
			t.permitLabel(c.def, l)
			n = min(max(n, 0), int64(len(items)))
			return listVal(&list{items: items[:n:n], st: l}, t.pc)
		})
	}
	return makeModule("heapq", map[string]*builtinDef{
		"heappush": def("heapq.heappush", "heap, item", func(t *thread, c *call) val {
			h := t.heap(c, "push onto")
			h.push(c.args[1])
			h.end()
			return noneVal(t.pc)
		}),
		"heappop": def("heapq.heappop", "heap", func(t *thread, c *call) val {
			h := t.heap(c, "pop from")
			v := h.pop()
			h.end()
			return v.with(t.join(v.lab, h.l))
		}),
		"heappushpop": def("heapq.heappushpop", "heap, item", func(t *thread, c *call) val {
			h := t.heap(c, "push onto")
			h.push(c.args[1])
			v := h.pop()
			h.end()
			return v.with(t.join(v.lab, h.l))
		}),
		"heapify": def("heapq.heapify", "x", func(t *thread, c *call) val {
			h := t.heap(c, "change the order of")
			for i := len(h.o.items)/2 - 1; i >= 0; i-- {
				h.sift(i)
			}
			h.end()
			return noneVal(t.pc)
		}),
		"nlargest":  largest("nlargest", true),
		"nsmallest": largest("nsmallest", false),
	})
}

// heap is a list that is being changed as a heap. Where its elements are depends on all that was compared: l has the labels of that.
type heap struct {
	t *thread
	c *call
	o *list
	w label.ID // of what is written
	l label.ID
}

// heap begins to change the first argument.
func (t *thread) heap(c *call, verb string) *heap {
	v := c.args[0]
	if v.k != kList {
		panic(t.badArg(c, "for parameter heap: got %s, want list", v.typeName()))
	}
	o := v.list()
	t.mutable(o.iters, verb, v.with(t.shallow(c)), t.at)
	return &heap{t, c, o, t.write(&o.st, v.lab, t.at), t.shallow(c)}
}

// end notes what was compared.
func (h *heap) end() {
	h.o.st = h.t.under(h.o.st, h.l)
	h.t.permitLabel(h.c.def, h.l)
}

// less compares two elements. What has been read is noted before it fails; what ends a program otherwise is under all labels.
func (h *heap) less(a, b val) bool {
	t := h.t
	t.charge(1)
	h.l = t.join(t.join(h.l, a.lab), b.lab)
	r, ok := t.order(a, b, &h.l, 0)
	if !ok {
		h.end()
		panic(t.unordered(star.LT, a, b, h.l, t.at))
	}
	return r < 0
}

func (h *heap) push(v val) {
	h.t.append(h.o, v.with(h.t.join(v.lab, h.w)))
	h.rise(len(h.o.items)-1, 0)
}

// rise moves the element at i up to where its parent is no greater, but not above top.
func (h *heap) rise(i, top int) {
	items := h.o.items
	v := items[i]
	for i > top {
		parent := (i - 1) / 2
		if !h.less(v, items[parent]) {
			break
		}
		items[i], items[parent] = items[parent], v
		i = parent
	}
}

// sift moves the element at i down to a leaf, always in place of the lesser child, and then up again: the comparisons are Python's.
func (h *heap) sift(i int) {
	items, top := h.o.items, i
	for 2*i+1 < len(items) {
		child := 2*i + 1
		if child+1 < len(items) && !h.less(items[child], items[child+1]) {
			child++
		}
		items[i], items[child] = items[child], items[i]
		i = child
	}
	h.rise(i, top)
}

func (h *heap) pop() val {
	items := h.o.items
	last := len(items) - 1
	if last < 0 {
		panic(h.t.argError(h.c, "range", "index out of range: empty list").of("IndexError"))
	}
	v := items[0]
	items[0] = items[last]
	h.t.removeAt(h.o, last)
	if last > 0 {
		h.sift(0)
	}
	return v
}
