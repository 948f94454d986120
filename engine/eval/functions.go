package eval

import (
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	star "go.starlark.net/syntax"

	"callgate/engine/label"
)

// addFunctions adds the functions of the universe.
func addFunctions() {
	addFunc("len", "x", runLen)
	addFunc("bool", "x?", func(t *thread, c *call) val {
		return boolVal(c.has(0) && t.truth(c.args[0]), t.shallow(c))
	})
	addFunc("type", "x", func(t *thread, c *call) val {
		return stringVal(c.args[0].typeName(), c.args[0].lab)
	})
	addFunc("str", "x?", func(t *thread, c *call) val {
		if !c.has(0) {
			return stringVal("", t.pc)
		}
		return t.textOf(c, t.display)
	})
	addFunc("repr", "x", func(t *thread, c *call) val { return t.textOf(c, t.repr) })
	addFunc("list", "x?", func(t *thread, c *call) val {
		items, l := t.collectArg(c)
		return listVal(&list{items: items, st: l}, t.pc)
	})
	addFunc("tuple", "x?", func(t *thread, c *call) val {
		items, l := t.collectArg(c)
		return tupleVal(items, l)
	})
	addFunc("set", "x?", runSet)
	addFunc("dict", "...", runDict)
	addFunc("any", "x", func(t *thread, c *call) val { return t.anyAll(c, true) })
	addFunc("all", "x", func(t *thread, c *call) val { return t.anyAll(c, false) })
	addFunc("enumerate", "iterable, start?", runEnumerate)
	addFunc("zip", "...", runZip)
	addFunc("reversed", "sequence", runReversed)
	addFunc("range", "start_or_stop, stop?, step?", runRange)
	addFunc("sorted", "iterable, key?, reverse?", runSorted)
	addFunc("max", "...", func(t *thread, c *call) val { return t.extreme(c, 1) })
	addFunc("min", "...", func(t *thread, c *call) val { return t.extreme(c, -1) })
	addFunc("dir", "x", runDir)
	addFunc("getattr", "x, name, default?", runGetattr)
	addFunc("hasattr", "x, name", func(t *thread, c *call) val {
		if c.args[1].k != kString {
			panic(t.badArg(c, "got %s, want string", c.args[1].typeName()))
		}
		return boolVal(t.hasAttr(c.args[0], c.args[1].str()), t.shallow(c))
	})
	addFunc("hash", "x", runHash)
	addFunc("fail", "...", runFail)
	addFunc("struct", "...", runStruct)
	addFunc("bytes", "x", runBytes)
	addFunc("chr", "i", runChr)
	addFunc("ord", "x", runOrd)
}

func runLen(t *thread, c *call) val {
	v := c.args[0]
	n := int64(-1)
	if v.k != kSeq || v.seq().indexed() {
		n = t.length(v)
	}
	if n < 0 {
		panic(t.argError(c, "type", "value of type %s has no len", v.typeName()))
	}
	return intVal(n, t.join(v.lab, t.structure(v)))
}

// textOf is str or repr of the argument, which reads all of it.
func (t *thread) textOf(c *call, f func(val) string) val {
	v := c.args[0]
	if v.k == kString && c.def.name == "str" {
		return v
	}
	l := t.deepLabel(v)
	t.permitLabel(c.def, t.join(l, t.pc))
	return stringVal(f(v), l)
}

// iterableArg checks that argument i can be iterated over.
func (t *thread) iterableArg(c *call, i int) val {
	v := c.args[i]
	if !t.iterable(v) {
		panic(t.badArg(c, "for parameter %s: got %s, want iterable", paramName(c, i), v.typeName()))
	}
	return v
}

// notIterable is the error of positional argument i of a builtin that takes any number of iterables.
func (t *thread) notIterable(c *call, i int) *Error {
	return t.badArg(c, "argument #%d is not iterable: %s", i+1, c.args[i].typeName())
}

func paramName(c *call, i int) string {
	if i < len(c.def.params) {
		return c.def.params[i]
	}
	return strconv.Itoa(i + 1)
}

// collectArg copies the elements of the argument, each with its own label, and returns the label
// of how many there are.
func (t *thread) collectArg(c *call) ([]val, label.ID) {
	t.alloc(listSize)
	if !c.has(0) {
		return nil, t.pc
	}
	v := t.iterableArg(c, 0)
	return t.elements(v), t.join(t.join(v.lab, t.structure(v)), t.pc)
}

// elements copies the elements of an iterable, each with its own label.
func (t *thread) elements(v val) []val {
	n := t.length(v)
	t.allocN(n, valSize)
	t.charge(n / 4)
	out := make([]val, n)
	switch v.k {
	case kList, kTuple:
		t.move(out, t.items(v))
		return out
	}
	it, _ := t.iterate(v)
	for i := range out {
		if i%movePiece == 0 {
			t.poll()
		}
		out[i], _ = it.next(t)
	}
	return out
}

func runSet(t *thread, c *call) val {
	t.alloc(dictSize)
	d := &dict{st: t.pc}
	if c.has(0) {
		v := t.iterableArg(c, 0)
		d.st = t.join(t.join(v.lab, t.structure(v)), t.pc)
		t.addAll(d, v)
	}
	return setVal(d, t.pc)
}

// addAll adds the elements of an iterable to a set that is being made.
func (t *thread) addAll(d *dict, v val) {
	t.lock(v)
	it, _ := t.iterate(v)
	for e, ok := it.next(t); ok; e, ok = it.next(t) {
		t.charge(1)
		h := t.hash(e)
		d.st = t.join(d.st, t.deepLabel(e))
		t.put(d, e, h, noneVal(label.BottomID))
	}
	t.unlock()
}

func runDict(t *thread, c *call) val {
	if len(c.args) > 1 {
		panic(t.badArg(c, "got %d arguments, want at most 1", len(c.args)))
	}
	t.distinct(c)
	t.alloc(dictSize)
	d := &dict{st: t.pc}
	out := dictVal(d, t.pc)
	if len(c.args) == 1 {
		t.updateFrom(c, out, c.args[0])
	}
	t.updateNamed(out, c.kw)
	return out
}

// updateFrom adds the entries of a dict, or the pairs of an iterable, to the dict out.
func (t *thread) updateFrom(c *call, out, from val) {
	if from.k == kDict {
		t.update(out, from)
		return
	}
	d := out.dict()
	if !t.iterable(from) {
		panic(t.badArg(c, "got %s, want iterable", from.typeName()))
	}
	l := t.join(from.lab, t.structure(from))
	w := t.under(t.write(&d.st, out.lab, t.at), l)
	d.st = t.under(d.st, l)
	t.lock(from)
	it, _ := t.iterate(from)
	for i := 0; ; i++ {
		e, ok := it.next(t)
		if !ok {
			break
		}
		t.charge(1)
		pl := t.join(t.join(e.lab, t.structure(e)), w)
		if !t.iterable(e) {
			panic(t.badArg(c, "dictionary update sequence element #%d is not iterable (%s)", i, e.typeName()))
		}
		if e.k == kSeq && !e.seq().indexed() {
			panic(t.badArg(c, "dictionary update sequence element #%d has unknown length (%s)", i, e.typeName()))
		}
		if n := t.length(e); n != 2 {
			panic(t.badArg(c, "dictionary update sequence element #%d has length %d, want 2", i, n))
		}
		pair, _ := t.iterate(e)
		k, _ := pair.next(t)
		v, _ := pair.next(t)
		kl := t.tab.Control(t.join(t.deepLabel(k), pl))
		h := t.hash(k)
		d.st = t.join(d.st, kl)
		t.put(d, k, h, v.with(t.join(v.lab, kl)))
	}
	t.unlock()
}

// distinct checks that no two named arguments have one name, as ** makes possible.
func (t *thread) distinct(c *call) {
	if c.star == label.BottomID && len(c.kw) < 2 {
		return
	}
	n := 64 * int64(len(c.kw))
	t.alloc(n)
	t.free(n)
	t.charge(int64(len(c.kw)))
	seen := make(map[string]bool, len(c.kw))
	for _, a := range c.kw {
		if seen[a.name] {
			panic(t.badArg(c, "duplicate keyword arg: %s", quote(clip(a.name), false)))
		}
		seen[a.name] = true
	}
}

func (t *thread) updateNamed(out val, kw []kwarg) {
	if len(kw) == 0 {
		return
	}
	d := out.dict()
	w := t.write(&d.st, out.lab, t.at)
	for _, a := range kw {
		k := stringVal(a.name, label.BottomID)
		t.put(d, k, t.hash(k), a.v.with(t.join(a.v.lab, w)))
	}
}

// anyAll looks for an element whose truth is want, and carries what it looked at.
func (t *thread) anyAll(c *call, want bool) val {
	v := t.iterableArg(c, 0)
	l := t.shallow(c)
	it, _ := t.iterate(v)
	for e, ok := it.next(t); ok; e, ok = it.next(t) {
		t.charge(1)
		l = t.join(l, t.join(e.lab, t.structure(e)))
		if t.truth(e) == want {
			return boolVal(want, l)
		}
	}
	return boolVal(!want, l)
}

func runEnumerate(t *thread, c *call) val {
	v := t.iterableArg(c, 0)
	start := int64(0)
	if c.has(1) {
		start = t.intArg(c, 1)
	}
	l := t.shallow(c)
	n := t.length(v)
	if start > math.MaxInt64-n {
		panic(t.argError(c, "range", "start %d is too large", start))
	}
	items := t.elements(v)
	t.allocN(n, pairSize)
	t.charge(n)
	for i, e := range items {
		if i%movePiece == 0 {
			t.poll()
		}
		items[i] = pairVal(intVal(start+int64(i), l), e, l)
	}
	return listVal(&list{items: items, st: l}, t.pc)
}

func runZip(t *thread, c *call) val {
	if len(c.kw) > 0 {
		panic(t.badArg(c, "unexpected keyword arguments"))
	}
	l := t.shallow(c)
	rows := int64(math.MaxInt64)
	for i, v := range c.args {
		if !t.iterable(v) {
			panic(t.notIterable(c, i))
		}
		rows = min(rows, t.length(v))
	}
	if len(c.args) == 0 {
		rows = 0
	}
	cols := int64(len(c.args))
	t.allocN(rows, valSize+tupleSize+blockSize(cols*valSize))
	t.alloc(listSize)
	t.charge(rows)
	out := make([]val, rows)
	its := make([]iterator, cols)
	for i, a := range c.args {
		its[i], _ = t.iterate(a)
	}
	for r := range out {
		t.charge(cols)
		if cols == 2 {
			x, _ := its[0].next(t)
			y, _ := its[1].next(t)
			out[r] = pairVal(x, y, l)
			continue
		}
		row := make([]val, cols)
		for i := range its {
			row[i], _ = its[i].next(t)
		}
		out[r] = tupleVal(row, l)
	}
	return listVal(&list{items: out, st: l}, t.pc)
}

func runReversed(t *thread, c *call) val {
	v := t.iterableArg(c, 0)
	items := t.elements(v)
	t.reverse(items)
	return listVal(&list{items: items, st: t.shallow(c)}, t.pc)
}

func runRange(t *thread, c *call) val {
	r := &rangeSeq{step: 1}
	switch {
	case !c.has(1):
		r.stop = t.intArg(c, 0)
	default:
		r.start, r.stop = t.intArg(c, 0), t.intArg(c, 1)
		if c.has(2) {
			r.step = t.intArg(c, 2)
			if r.step == 0 {
				panic(t.argError(c, "range", "step argument must not be zero"))
			}
		}
	}
	t.alloc(rangeSize)
	r.count()
	if r.n < 0 {
		panic(t.argError(c, "range", "more than %d elements", math.MaxInt64))
	}
	return rangeVal(r, t.shallow(c))
}

// intArg returns an argument as an int64.
func (t *thread) intArg(c *call, i int) int64 {
	switch v := c.args[i]; v.k {
	case kInt:
		return v.n
	case kBig:
		panic(t.argError(c, "range", "for parameter %s: %s out of range (want value in signed 64-bit range)", paramName(c, i), t.short(v)))
	default:
		panic(t.badArg(c, "for parameter %s: got %s, want int", paramName(c, i), v.typeName()))
	}
}

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
	l = t.sort(c, items, key, reverse, l)
	out.st = l
	t.permitLabel(c.def, l)
	return listVal(out, t.pc)
}

type sortItem struct {
	key, v val
	i      int
}

// sort sorts items in place, by key if that is a function, and returns l joined with all that was compared.
func (t *thread) sort(c *call, items []val, key val, reverse bool, l label.ID) label.ID {
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
			k := t.call(key, v.with(t.join(v.lab, l)))
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
	l := t.shallow(c)
	if len(c.args) == 1 {
		v := c.args[0]
		if !t.iterable(v) {
			panic(t.badArg(c, "%s value is not iterable", v.typeName()))
		}
		items = t.elements(v)
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
		k := t.call(key, v.with(t.join(v.lab, l)))
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

func runDir(t *thread, c *call) val {
	v := c.args[0]
	names := slices.Clone(methodNamesOf(v.k))
	switch v.k {
	case kModule:
		names = v.module().names()
	case kStruct:
		names = v.record().names
	}
	l := t.shallow(c)
	t.alloc(listSize + blockSize(int64(len(names))*valSize))
	t.charge(int64(len(names)))
	o := &list{items: make([]val, 0, len(names)), st: l}
	for _, n := range names {
		o.items = append(o.items, stringVal(n, l))
	}
	return listVal(o, t.pc)
}

func (t *thread) hasAttr(v val, name string) bool {
	switch v.k {
	case kModule:
		_, ok := v.module().attrs[name]
		return ok
	case kStruct:
		_, ok := slices.BinarySearch(v.record().names, name)
		return ok
	}
	if v.k == kDict && v.dict().fields {
		k := stringVal(name, label.BottomID)
		if t.find(v.dict(), k, t.hash(k)) >= 0 {
			return true
		}
	}
	return methodsNamed(name)[v.k] != nil
}

func runGetattr(t *thread, c *call) val {
	if c.args[1].k != kString {
		panic(t.badArg(c, "got %s, want string", c.args[1].typeName()))
	}
	name := c.args[1].str()
	l := t.shallow(c)
	if c.has(2) && !t.hasAttr(c.args[0], name) {
		return c.args[2].with(t.join(c.args[2].lab, l))
	}
	v := t.attr(c.args[0].with(t.under(c.args[0].lab, c.args[1].lab)), name, t.at)
	return v.with(t.under(v.lab, l))
}

// runHash is Java's hash of a string's UTF-16 units, as the language defines it.
func runHash(t *thread, c *call) val {
	v := c.args[0]
	l := t.shallow(c)
	switch v.k {
	case kString:
		h := int32(0)
		for chunk := range t.chunks(v.str()) {
			for _, r := range chunk {
				if r >= 0x10000 {
					h = 31*(31*h+(0xd800+(r-0x10000)>>10)) + 0xdc00 + (r-0x10000)&0x3ff
				} else {
					h = 31*h + r
				}
			}
		}
		return intVal(int64(h), l)
	case kBytes: // FNV-1a
		h := uint32(2166136261)
		for chunk := range t.chunks(v.str()) {
			for i := range len(chunk) {
				h = (h ^ uint32(chunk[i])) * 16777619
			}
		}
		return intVal(int64(h), l)
	}
	panic(t.badArg(c, "got %s, want string or bytes", v.typeName()))
}

func runFail(t *thread, c *call) val {
	sep := " "
	l := t.shallow(c)
	for _, a := range c.kw {
		if a.name != "sep" || a.v.k != kString {
			panic(t.badArg(c, "unexpected keyword argument %q", a.name))
		}
		sep = a.v.str()
	}
	w := textWriter{t: t}
	w.put("fail: ")
	for i, a := range c.args {
		if i > 0 {
			w.put(sep)
		}
		w.str(a)
		l = t.join(l, t.deepLabel(a))
	}
	panic(t.errorf(l, "fail", "%s", w.end()))
}

func runStruct(t *thread, c *call) val {
	if len(c.args) > 0 {
		panic(t.badArg(c, "unexpected positional arguments"))
	}
	n := int64(len(c.kw))
	t.alloc(recordBytes(n) + blockSize(n*kwargSize))
	t.charge(n * int64(bits.Len64(uint64(n))))
	kw := slices.Clone(c.kw)
	slices.SortFunc(kw, func(a, b kwarg) int { return strings.Compare(a.name, b.name) })
	r := &record{names: make([]string, 0, n), items: make([]val, 0, n)}
	for _, a := range kw {
		r.names = append(r.names, a.name)
		r.items = append(r.items, a.v)
	}
	return recordVal(r, t.join(t.pc, c.star))
}

func runBytes(t *thread, c *call) val {
	v := c.args[0]
	l := t.shallow(c)
	switch v.k {
	case kBytes:
		return v
	case kString:
		if t.validPrefix(v.str()) == len(v.str()) {
			return bytesVal(v.str(), l)
		}
		return bytesVal(t.transcode(v.str(), "\uFFFD"), l)
	}
	if !t.iterable(v) {
		panic(t.badArg(c, "got %s, want string, bytes, or iterable of ints", v.typeName()))
	}
	n := t.length(v)
	t.allocN(n, 1)
	t.charge(n)
	var out strings.Builder
	out.Grow(int(n))
	it, _ := t.iterate(v)
	for i := 0; ; i++ {
		e, ok := it.next(t)
		if !ok {
			break
		}
		if !e.isInt() {
			panic(t.badArg(c, "at index %d, got %s, want int", i, e.typeName()))
		}
		if e.k == kBig || e.n < 0 || e.n > 255 {
			panic(t.argError(c, "range", "at index %d, %s out of range%s", i, t.short(e), byteRange))
		}
		l = t.join(l, e.lab)
		if i%movePiece == 0 {
			t.poll()
		}
		out.WriteByte(byte(e.n))
	}
	return bytesVal(out.String(), l)
}

// byteRange ends the error of an int that is no byte.
const byteRange = " (want value in unsigned 8-bit range)"

func runChr(t *thread, c *call) val {
	i := t.intArg(c, 0)
	switch {
	case i < 0:
		panic(t.argError(c, "range", "Unicode code point %d out of range (<0)", i))
	case i > utf8.MaxRune:
		panic(t.argError(c, "range", "Unicode code point U+%X out of range (>0x10FFFF)", i))
	}
	return stringVal(string(rune(i)), t.shallow(c))
}

func runOrd(t *thread, c *call) val {
	v := c.args[0]
	l := t.shallow(c)
	switch v.k {
	case kString:
		r, n := utf8.DecodeRuneInString(v.str())
		if n == 0 || n != int(v.n) {
			panic(t.argError(c, "argument", "string encodes %d Unicode code points, want 1", t.runeCount(v.str())))
		}
		return intVal(int64(r), l)
	case kBytes:
		if v.n != 1 {
			panic(t.argError(c, "argument", "bytes has length %d, want 1", v.n))
		}
		return intVal(int64(v.str()[0]), l)
	}
	panic(t.badArg(c, "got %s, want string or bytes", v.typeName()))
}

// addNumberFunctions adds those that make and round numbers.
func addNumberFunctions() {
	addFunc("abs", "x", func(t *thread, c *call) val {
		switch v := c.args[0]; v.k {
		case kInt:
			if v.n == math.MinInt64 {
				return bigVal(new(big.Int).Neg(v.big()), v.lab)
			}
			return intVal(max(v.n, -v.n), v.lab)
		case kBig:
			t.reserveInt(int64(v.bits()), v.lab, t.at)
			return bigVal(new(big.Int).Abs(v.bigInt()), v.lab)
		case kFloat:
			return floatVal(math.Abs(v.float()), v.lab)
		default:
			panic(t.badArg(c, "got %s, want int or float", v.typeName()))
		}
	})
	addFunc("int", "x?, base?", runInt)
	addFunc("float", "x?", runFloat)
}

func runFloat(t *thread, c *call) val {
	l := t.shallow(c)
	if !c.has(0) {
		return floatVal(0, l)
	}
	switch v := c.args[0]; v.k {
	case kBool:
		return floatVal(float64(v.n), l)
	case kInt, kBig, kFloat:
		f, ok := v.toFloat()
		if !ok && v.k == kBig {
			panic(t.argError(c, "too-large", "int too large to convert to float"))
		}
		return floatVal(f, l)
	case kString:
		s := t.trimmed(v.str())
		if len(s) > maxLiteral {
			panic(t.argError(c, "parse", "float literal of %d bytes; the longest has %d", len(s), maxLiteral))
		}
		t.charge(int64(len(s)) / 16)
		s = strings.ToLower(s)
		switch strings.TrimLeft(s, "+-") {
		case "nan", "inf", "infinity":
			f, _ := strconv.ParseFloat(s, 64)
			if strings.HasSuffix(s, "nan") {
				f = math.NaN()
			}
			return floatVal(f, l)
		case "":
			panic(t.argError(c, "parse", "empty string"))
		}
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || strings.ContainsAny(s, "xp") {
			if err != nil && math.IsInf(f, 0) {
				panic(t.argError(c, "too-large", "floating-point number too large"))
			}
			panic(t.argError(c, "parse", "invalid float literal: %s", t.bare(v)))
		}
		return floatVal(f, l)
	default:
		panic(t.badArg(c, "got %s, want number or string", v.typeName()))
	}
}

// short is the repr of a value for an error, cut off where it gets long.
func (t *thread) short(v val) string {
	if (v.k == kString || v.k == kBytes) && v.n > 60 {
		return quote(strings.ToValidUTF8(v.str()[:60], ""), false) + "…"
	}
	if room := 100; !t.brief(v, &room, 0) {
		return "a " + v.typeName()
	}
	return clip(t.repr(v))
}

// brief reports whether the text of a value is short enough for an error: it takes something off room for each part.
func (t *thread) brief(v val, room *int, depth int) bool {
	*room -= 1 + depth
	var parts []val
	switch v.k {
	case kString, kBytes, kBig:
		*room -= int(min(v.size(), 1000)) / 8
	case kTuple, kList:
		parts = t.items(v)
	case kStruct:
		parts = v.record().items
	case kDict, kSet:
		for i := range v.dict().ents {
			if e := &v.dict().ents[i]; *room < 0 || !t.brief(e.k, room, depth+1) || !t.brief(e.v, room, depth+1) {
				return false
			}
		}
	}
	for i := range parts {
		if *room < 0 || !t.brief(parts[i], room, depth+1) {
			return false
		}
	}
	return *room >= 0
}

// bare is a string for an error without quotes, if it can be told from what is around it.
func (t *thread) bare(v val) string {
	if s := v.str(); len(s) <= 60 && plainPrefix(s) == len(s) && strings.TrimSpace(s) == s && s != "" {
		return s
	}
	return t.short(v)
}

func runInt(t *thread, c *call) val {
	l := t.shallow(c)
	if !c.has(0) {
		return intVal(0, l)
	}
	v := c.args[0]
	base := int64(10)
	if c.has(1) {
		if v.k != kString {
			panic(t.badArg(c, "can't convert non-string with explicit base"))
		}
		base = t.intArg(c, 1)
		if base != 0 && (base < 2 || base > 36) {
			panic(t.argError(c, "range", "invalid base %d (must be >= 2 && <= 36)", base))
		}
	}
	switch v.k {
	case kBool:
		return intVal(v.n, l)
	case kInt, kBig:
		return v.with(l)
	case kFloat:
		f := v.float()
		switch {
		case math.IsNaN(f):
			panic(t.argError(c, "range", "cannot convert float NaN to integer"))
		case math.IsInf(f, 0):
			panic(t.argError(c, "range", "cannot convert float infinity to integer"))
		case math.Abs(f) < 1<<62:
			return intVal(int64(f), l)
		}
		i, _ := new(big.Float).SetFloat64(math.Trunc(f)).Int(nil)
		return bigVal(i, l)
	case kString:
		return t.parseInt(c, v, int(base), l)
	}
	panic(t.badArg(c, "got %s, want string or number", v.typeName()))
}

func (t *thread) parseInt(c *call, v val, base int, l label.ID) val {
	s := t.trimmed(v.str())
	if len(s) > 2*maxIntBits { // zeros in front count
		panic(t.argError(c, "too-large", "int literal of %d bytes; the longest has %d", len(s), 2*maxIntBits))
	}
	t.charge(int64(len(s)) / 16)
	bad := func() *Error {
		return t.argError(c, "parse", "invalid literal with base %d: %s", base, t.bare(v))
	}
	neg := false
	digits := s
	if digits != "" && (digits[0] == '+' || digits[0] == '-') {
		neg = digits[0] == '-'
		digits = digits[1:]
	}
	real := base
	if len(digits) > 1 && digits[0] == '0' {
		prefix := map[byte]int{'x': 16, 'o': 8, 'b': 2}[digits[1]|0x20]
		switch {
		case prefix != 0 && (base == 0 || base == prefix):
			digits, real = digits[2:], prefix
		case base == 0 && strings.Trim(digits, "0") != "":
			panic(bad())
		}
	}
	if real == 0 {
		real = 10
	}
	if digits == "" || digits[0] == '+' || digits[0] == '-' || strings.Contains(digits, "_") {
		panic(bad())
	}
	if i, err := strconv.ParseInt(digits, real, 64); err == nil {
		if neg {
			i = -i
		}
		return intVal(i, l)
	}
	bits := int64(len(digits)) * int64(math.Ceil(math.Log2(float64(real))*1024)) / 1024
	t.reserveInt(bits, l, t.at)
	t.charge(bigTextCost(int(bits)))
	i, ok := t.parseDigits(digits, real)
	if !ok {
		panic(bad())
	}
	if neg {
		i.Neg(i)
	}
	return bigVal(i, l)
}
