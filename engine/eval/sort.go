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

type sortItem struct {
	key, v val
	i      int
}

// sort sorts items in place, by key if that is a function, and returns l joined with all that was compared. many is
// the label of how many items there are.
func (t *thread) sort(c *call, items []val, key val, reverse bool, l, many label.ID) label.ID {
	n := int64(len(items))
	t.allocN(n, 2*valSize+8)
	rows := make([]sortItem, n)
	kind := kUnbound
	for i, v := range items {
		if i%movePiece == 0 {
			t.poll()
		}
		rows[i] = sortItem{v, v, i}
	}
	if key.k != kUnbound {
		if key.k != kFunc && key.k != kBuiltin {
			panic(t.badArg(c, "for parameter key: got %s, want callable", key.typeName()))
		}
		keys := &list{}
		t.hold(listVal(keys, label.BottomID))
		for i, v := range items {
			t.charge(1)
			k := t.callUnder(many, key, v.with(t.join(v.lab, l)))
			t.append(keys, k)
			rows[i].key = k
		}
		t.release()
	}
	for i := range rows {
		k := rows[i].key
		l = t.join(l, t.deepLabel(k))
		switch {
		case i == 0:
			kind = k.k
		case kind != k.k:
			kind = kUnbound
		}
	}
	var compare func(a, b *sortItem) int
	switch kind {
	case kInt:
		compare = func(a, b *sortItem) int {
			switch {
			case a.key.n < b.key.n:
				return -1
			case a.key.n > b.key.n:
				return 1
			}
			return 0
		}
	case kString:
		compare = func(a, b *sortItem) int {
			if n := min(a.key.n, b.key.n); n >= 64 {
				t.burn(n / 64)
			}
			return strings.Compare(a.key.str(), b.key.str())
		}
	default:
		compare = func(a, b *sortItem) int {
			r, ok := t.order(a.key, b.key, &l, 0)
			if !ok {
				panic(t.notSortable(rows, l))
			}
			return r
		}
	}
	slices.SortFunc(rows, func(a, b sortItem) int {
		if t.fuel--; t.fuel < 0 {
			t.refuel()
		}
		r := compare(&a, &b)
		if r == 0 {
			return a.i - b.i
		}
		if reverse {
			return -r
		}
		return r
	})
	for i := range rows {
		if i%movePiece == 0 {
			t.poll()
		}
		items[i] = rows[i].v
	}
	return l
}

// notSortable is the error of keys of which some have no order: the last two neighbours.
func (t *thread) notSortable(rows []sortItem, l label.ID) *Error {
	byPlace := slices.Clone(rows) // sorting has begun
	slices.SortFunc(byPlace, func(a, b sortItem) int { return a.i - b.i })
	i := len(byPlace) - 1
	for ; i > 1; i-- {
		t.charge(1)
		if _, ok := t.order(byPlace[i].key, byPlace[i-1].key, &l, 0); !ok {
			break
		}
	}
	return t.unordered(star.LT, byPlace[i].key, byPlace[i-1].key, l, t.at)
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
			panic(t.badArg(c, "%s value is not iterable", v.typeName()))
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
		l = t.join(t.join(l, v.lab), t.join(k.lab, bestKey.lab))
		r, ok := t.order(k, bestKey, &l, 0)
		if !ok {
			op := star.LT
			if want > 0 {
				op = star.GT
			}
			panic(t.unordered(op, k, bestKey, t.join(t.allOf(c), l), t.at))
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
