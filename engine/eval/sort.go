package eval

import (
	"slices"
	"strings"

	star "go.starlark.net/syntax"

	"callgate/engine/label"
)

// runSorted sorts a copy, stably. Every position depends on every comparison made.
func runSorted(t *thread, c *call) val {
	v := t.iterableArg(c, 0)
	l := t.shallow(c)
	items := t.elements(v)
	out := &list{items: items, st: l}
	key, reverse := unboundVal, c.has(2) && t.truth(c.args[2])
	if c.has(1) {
		key = c.args[1]
	}
	l = t.sort(c, items, key, reverse, l, t.join(v.lab, t.structure(v)))
	out.st = l
	t.permitLabel(c.def, l)
	return listVal(out, t.pc)
}

// sort sorts items in place, by key if that is a function, and returns l joined with all that was compared. many is
// the label of how many items there are.
func (t *thread) sort(c *call, items []val, key val, reverse bool, l, many label.ID) label.ID {
	n := int64(len(items))
	t.allocN(n, 2*valSize+32)
	keys := items
	if key.k != kUnbound {
		if key.k != kFunc && key.k != kBuiltin {
			panic(t.badArg(c, "for parameter key: got %s, want callable", key.typeName()))
		}
		made := &list{}
		t.hold(listVal(made, label.BottomID))
		for _, v := range items {
			t.charge(1)
			t.append(made, t.callUnder(many, key, v.with(t.join(v.lab, l))))
		}
		t.release()
		keys = made.items
	}
	kind := kUnbound
	for i, k := range keys {
		if i%movePiece == 0 {
			t.poll()
		}
		l = t.join(l, t.deepLabel(k))
		switch {
		case i == 0:
			kind = k.k
		case kind != k.k:
			kind = kUnbound
		}
	}
	// What moves is small: the key itself if it is an int or a text, and the place where its item is.
	var from []int
	switch kind {
	case kInt:
		from = sortInts(t, keys, reverse)
	case kString:
		from = sortPlaces(t, keys, reverse, val.str, func(a, b string) int {
			if n := min(len(a), len(b)); n >= 64 {
				t.burn(int64(n) / 64)
			}
			return strings.Compare(a, b)
		})
	default:
		from = sortPlaces(t, keys, reverse, func(v val) val { return v }, func(a, b val) int {
			r, ok := t.order(a, b, &l, 0)
			if !ok {
				panic(t.notSortable(keys, l))
			}
			return r
		})
	}
	before := slices.Clone(items)
	for i, at := range from {
		if i%movePiece == 0 {
			t.poll()
		}
		items[i] = before[at]
	}
	return l
}

// sortPlaces returns where the items of the sorted keys are: equal keys in the order that they have.
func sortPlaces[K any](t *thread, keys []val, reverse bool, of func(val) K, compare func(a, b K) int) []int {
	type row struct {
		key K
		at  int
	}
	rows := make([]row, len(keys))
	for i, k := range keys {
		rows[i] = row{of(k), i}
	}
	slices.SortFunc(rows, func(a, b row) int {
		if t.fuel--; t.fuel < 0 {
			t.refuel()
		}
		r := compare(a.key, b.key)
		switch {
		case r == 0:
			return a.at - b.at
		case reverse:
			return -r
		}
		return r
	})
	out := make([]int, len(rows))
	for i := range rows {
		out[i] = rows[i].at
	}
	return out
}

// sortInts is sortPlaces for small ints: a radix sort, byte by byte from the lowest, without the bytes that all keys share.
func sortInts(t *thread, keys []val, reverse bool) []int {
	type row struct {
		key uint64 // orders as the ints do
		at  int
	}
	rows, spare := make([]row, len(keys)), make([]row, len(keys))
	var all, some uint64 = ^uint64(0), 0
	for i, k := range keys {
		key := uint64(k.n) ^ 1<<63
		if reverse {
			key = ^key
		}
		rows[i] = row{key, i}
		all, some = all&key, some|key
	}
	for shift := 0; shift < 64; shift += 8 {
		if (all^some)>>shift&0xff == 0 {
			continue
		}
		t.charge(int64(len(rows)))
		var next [257]int
		for i := range rows {
			next[rows[i].key>>shift&0xff+1]++
		}
		for i := range 256 {
			next[i+1] += next[i]
		}
		for i := range rows {
			if i%movePiece == 0 {
				t.poll()
			}
			b := rows[i].key >> shift & 0xff
			spare[next[b]] = rows[i]
			next[b]++
		}
		rows, spare = spare, rows
	}
	out := make([]int, len(rows))
	for i := range rows {
		out[i] = rows[i].at
	}
	return out
}

// notSortable is the error of keys of which some have no order: the last two neighbours.
func (t *thread) notSortable(keys []val, l label.ID) *Error {
	i := len(keys) - 1
	for ; i > 1; i-- {
		t.charge(1)
		if _, ok := t.order(keys[i], keys[i-1], &l, 0); !ok {
			break
		}
	}
	return t.unordered(star.LT, keys[i], keys[i-1], l, t.at)
}

// reverse turns values around.
func (t *thread) reverse(vs []val) {
	for i, j := 0, len(vs)-1; i < j; i, j = i+1, j-1 {
		if i%movePiece == 0 {
			t.poll()
		}
		vs[i], vs[j] = vs[j], vs[i]
	}
}

// extreme is max (want 1) or min (want -1).
func (t *thread) extreme(c *call, want int) val {
	key := unboundVal
	dflt := unboundVal
	for _, a := range c.kw {
		switch a.name {
		case "key":
			key = a.v
		case "default":
			dflt = a.v
		default:
			panic(t.badArg(c, "unexpected keyword argument %q%s", a.name, nearest(a.name, []string{"key", "default"})))
		}
	}
	if key.k != kUnbound && key.k != kNone && key.k != kFunc && key.k != kBuiltin {
		panic(t.badArg(c, "for parameter key: got %s, want callable", key.typeName()))
	}
	if len(c.args) == 0 {
		panic(t.errorf(t.shallow(c), "argument", "%s requires at least one positional argument", c.def.name))
	}
	items := c.args
	l, many := t.shallow(c), label.BottomID // many: of how many items there are
	if len(c.args) == 1 {
		v := c.args[0]
		if !t.iterable(v) {
			panic(t.badArg(c, "%s value is not iterable", v.typeName()).advise(notIterableHint(v)))
		}
		items, many = t.elements(v), t.join(v.lab, t.structure(v))
	}
	held := listVal(&list{items: items}, label.BottomID)
	t.hold(held)
	defer t.dropHeld(len(t.held) - 1)
	if len(items) == 0 {
		if dflt.k != kUnbound {
			return dflt.with(t.join(dflt.lab, l))
		}
		panic(t.argError(c, "empty", "argument is an empty sequence"))
	}
	keyed := func(v val) val {
		if key.k == kUnbound || key.k == kNone {
			return v
		}
		k := t.callUnder(many, key, v.with(t.join(v.lab, l)))
		l = t.join(l, k.lab)
		return k
	}
	best := items[0]
	bestKey := keyed(best)
	slot := &list{items: []val{bestKey}}
	t.hold(listVal(slot, label.BottomID))
	l = t.join(l, best.lab)
	for _, v := range items[1:] {
		t.charge(1)
		k := keyed(v)
		l = t.join(l, v.lab)
		r, ok := t.order(k, bestKey, &l, 0)
		if !ok {
			op := star.LT
			if want > 0 {
				op = star.GT
			}
			panic(t.unordered(op, k, bestKey, l, t.at))
		}
		if r*want > 0 {
			best, bestKey = v, k
			slot.items[0] = k
		}
	}
	return best.with(t.under(best.lab, l))
}

// dropHeld releases what was held from position n on, if an error has not done so.
func (t *thread) dropHeld(n int) {
	for len(t.held) > n {
		t.release()
	}
}
