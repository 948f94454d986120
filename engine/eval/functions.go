package eval

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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
	switch {
	case v.k == kString && c.def.name == "str":
		return v
	case v.k == kInt: // all that there is to read has been decided on
		t.scratch = strconv.AppendInt(t.scratch[:0], v.n, 10)
		t.alloc(stringSize(int64(len(t.scratch))))
		return stringVal(string(t.scratch), v.lab)
	}
	l := t.deepLabel(v)
	t.permitLabel(c.def, t.join(l, t.pc))
	return stringVal(f(v), l)
}

// iterableArg checks that argument i can be iterated over.
func (t *thread) iterableArg(c *call, i int) val {
	v := c.args[i]
	if !t.iterable(v) {
		panic(t.badArg(c, "for parameter %s: got %s, want iterable", paramName(c, i), v.typeName()).advise(notIterableHint(v)))
	}
	return v
}

// notIterable is the error of positional argument i of a builtin that takes any number of iterables.
func (t *thread) notIterable(c *call, i int) *Error {
	return t.badArg(c, "argument #%d is not iterable: %s", i+1, c.args[i].typeName()).advise(notIterableHint(c.args[i]))
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
	n := t.counted(v)
	t.allocN(n, valSize)
	t.charge(n / 4)
	out := make([]val, n)
	switch v.k {
	case kList, kTuple, kDeque:
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
	l := t.join(v.lab, t.structure(v))
	t.lock(v)
	it, _ := t.iterate(v)
	for e, ok := it.next(t); ok; e, ok = it.next(t) {
		t.charge(1)
		h := t.hash(e.with(t.join(e.lab, l))) // that one cannot be in a set tells that it is there
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
		panic(t.badArg(c, "got %s, want iterable", from.typeName()).advise(notIterableHint(from)))
	}
	l := t.join(from.lab, t.structure(from))
	w := t.under(t.change(&d.st), l)
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
		if n := t.counted(e); n != 2 {
			panic(t.badArg(c, "dictionary update sequence element #%d has length %d, want 2", i, n).of("ValueError"))
		}
		pair, _ := t.iterate(e)
		k, _ := pair.next(t)
		v, _ := pair.next(t)
		kl := t.tab.Control(t.join(t.deepLabel(k), pl))
		h := t.hash(k.with(t.join(k.lab, pl)))
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
	w := t.change(&d.st)
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
	n := t.counted(v)
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
		rows = min(rows, t.counted(v))
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

func runDir(t *thread, c *call) val {
	v := c.args[0]
	names := namesOf(v)
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
	if v.k == kDict && v.dict().of == ofTool {
		k := stringVal(name, label.BottomID)
		if t.find(v.dict(), k, t.hash(k)) >= 0 {
			return true
		}
	}
	if _, ok := t.ownField(v, name); ok {
		return true
	}
	return methodOf(v, name) != nil
}

func runGetattr(t *thread, c *call) val {
	if c.args[1].k != kString {
		panic(t.badArg(c, "got %s, want string", c.args[1].typeName()))
	}
	name := c.args[1].str()
	if c.has(2) && !t.hasAttr(c.args[0], name) {
		return c.args[2].with(t.join(c.args[2].lab, t.shallow(c)))
	}
	return t.attr(c.args[0].with(t.under(c.args[0].lab, c.args[1].lab)), name, t.at)
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
	t.distinct(c)
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
	return recordVal(r, t.pc)
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
	n := t.counted(v)
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
