package eval

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"callgate/engine/label"
)

// addStringMethods adds the methods of strings and bytes. Positions and lengths count
// bytes, as in Starlark; widths count code points, as in Python.
func addStringMethods() {
	add := func(name, params string, run native) { addMethod(kString, name, params, run) }
	addSeq := func(name string, mode seqMode) {
		add(name, "", func(t *thread, c *call) val { return t.newSeq(c, mode) })
	}
	addSeq("elems", seqElems)
	addSeq("elem_ords", seqElemOrds)
	addSeq("codepoints", seqCodepoints)
	addSeq("codepoint_ords", seqCodepointOrds)
	addMethod(kBytes, "elems", "", func(t *thread, c *call) val { return t.newSeq(c, seqBytes) })
	addMethod(kBytes, "decode", "encoding?, errors?", bytesDecode)
	add("encode", "encoding?, errors?", stringEncode)

	add("find", "sub, start?, end?", func(t *thread, c *call) val { return t.find3(c, false) })
	add("rfind", "sub, start?, end?", func(t *thread, c *call) val { return t.find3(c, true) })
	add("index", "sub, start?, end?", func(t *thread, c *call) val { return t.found(c, t.find3(c, false)) })
	add("rindex", "sub, start?, end?", func(t *thread, c *call) val { return t.found(c, t.find3(c, true)) })
	add("count", "sub, start?, end?", stringCount)
	add("startswith", "prefix, start?, end?", func(t *thread, c *call) val { return t.affix(c, strings.HasPrefix) })
	add("endswith", "suffix, start?, end?", func(t *thread, c *call) val { return t.affix(c, strings.HasSuffix) })
	add("removeprefix", "prefix", func(t *thread, c *call) val {
		return t.part(c, strings.TrimPrefix(c.recv.str(), c.wantString(t, 0)))
	})
	add("removesuffix", "suffix", func(t *thread, c *call) val {
		return t.part(c, strings.TrimSuffix(c.recv.str(), c.wantString(t, 0)))
	})
	add("strip", "chars?", func(t *thread, c *call) val { return t.strip(c, true, true) })
	add("lstrip", "chars?", func(t *thread, c *call) val { return t.strip(c, true, false) })
	add("rstrip", "chars?", func(t *thread, c *call) val { return t.strip(c, false, true) })
	add("partition", "sep", func(t *thread, c *call) val { return t.partition(c, false) })
	add("rpartition", "sep", func(t *thread, c *call) val { return t.partition(c, true) })
	add("join", "iterable", stringJoin)
	add("replace", "old, new, count?", stringReplace)
	add("format", "...", stringFormat)

	add("split", "sep?, maxsplit?", func(t *thread, c *call) val { return t.split(c, false) })
	add("rsplit", "sep?, maxsplit?", func(t *thread, c *call) val { return t.split(c, true) })
	add("splitlines", "keepends?", stringSplitlines)
	addCaseMethods(add)
	addPaddingMethods(add)
}

// wantString returns argument i, which must be a string.
func (c *call) wantString(t *thread, i int) string {
	v := c.args[i]
	if v.k != kString {
		panic(t.badArg(c, "for parameter %s: got %s, want string", c.def.params[i], v.typeName()))
	}
	return v.str()
}

// wantInt returns argument i, which must be an int, clipped to int64; absent it is def.
func (c *call) wantInt(t *thread, i int, def int64) int64 {
	if !c.has(i) {
		return def
	}
	switch v := c.args[i]; v.k {
	case kInt:
		return v.n
	case kBig:
		if v.bigInt().Sign() < 0 {
			return math.MinInt64
		}
		return math.MaxInt64
	default:
		panic(t.badArg(c, "for parameter %s: got %s, want int", c.def.params[i], v.typeName()))
	}
}

// wantBool returns argument i, which must be a bool or, as Python has it, an int.
func (c *call) wantBool(t *thread, i int, def bool) bool {
	if !c.has(i) {
		return def
	}
	switch v := c.args[i]; v.k {
	case kBool, kInt:
		return v.n != 0
	default:
		panic(t.badArg(c, "for parameter %s: got %s, want bool", c.def.params[i], v.typeName()))
	}
}

// span returns the range of the receiver that arguments i and i+1 select, clipped to it. None stands for its beginning or end.
func (c *call) span(t *thread, i int) (start, end int) {
	n := c.recv.n
	clip := func(i int, def int64) int {
		x := def
		if !c.none(i) {
			if !c.args[i].isInt() {
				panic(t.badArg(c, "invalid %s index: got %s, want int", c.def.params[i], c.args[i].typeName()))
			}
			if x = c.wantInt(t, i, 0); x < 0 {
				x += n
			}
		}
		return int(min(max(x, 0), n))
	}
	return clip(i, 0), clip(i+1, n)
}

// copied returns a copy of a piece of a longer string, which does not keep that alive.
func (t *thread) copied(s string) string {
	switch len(s) {
	case 0:
		return ""
	case 1:
		return oneByte[s[0]]
	}
	t.alloc(stringSize(int64(len(s))))
	t.charge(int64(len(s)) / copiedByStep)
	if len(s) > pieceBytes {
		return t.glue(s)
	}
	return strings.Clone(s)
}

// part is the result of a method that returns a piece of its receiver.
func (t *thread) part(c *call, s string) val {
	if len(s) == int(c.recv.n) {
		return c.recv.with(t.shallow(c))
	}
	return stringVal(t.copied(s), t.shallow(c))
}

// deeper asks whether a builtin may read data labelled l, if that is not what it was asked about when it was called.
func (t *thread) deeper(c *call, l label.ID) {
	if l.Class() != t.shallow(c).Class() {
		t.permitLabel(c.def, l)
	}
}

// keep holds a part of what a builtin makes, until gather.
func (t *thread) keep(v val) {
	if len(t.parts) == cap(t.parts) {
		n := roomFor(len(t.parts)+1, cap(t.parts), valSize)
		bytes := blockSize(int64(n) * valSize)
		t.alloc(bytes)
		t.free(bytes) // the room stays, and is traced
		parts := make([]val, len(t.parts), n)
		t.move(parts, t.parts)
		t.parts = parts
	}
	t.parts = append(t.parts, v)
}

// gather returns what was kept since len(t.parts) was base.
func (t *thread) gather(base int) []val {
	n := len(t.parts) - base
	t.alloc(listSize + blockSize(int64(n)*valSize))
	out := make([]val, n)
	t.move(out, t.parts[base:])
	t.discard(base)
	return out
}

// discard forgets what was kept since len(t.parts) was base.
func (t *thread) discard(base int) {
	if cap(t.parts) > 1<<16 && base < 64 { // give back what a long list took
		t.parts = append(make([]val, 0, 128), t.parts[:base]...)
		return
	}
	clear(t.parts[base:])
	t.parts = t.parts[:base]
}

func (t *thread) newSeq(c *call, mode seqMode) val {
	t.alloc(32)
	return seqVal(&seq{s: c.recv.str(), mode: mode}, t.shallow(c))
}

// utf8Only checks that the encoding argument names UTF-8, and returns the errors argument.
func (c *call) utf8Only(t *thread) string {
	if !c.none(0) {
		switch strings.ToLower(c.wantString(t, 0)[:min(16, c.args[0].n)]) {
		case "utf-8", "utf8", "utf_8":
		default:
			panic(t.argError(c, "encoding", "unknown encoding %s", t.short(c.args[0])).of("LookupError").advise("the one encoding is utf-8"))
		}
	}
	if c.none(1) {
		return "strict"
	}
	switch e := c.wantString(t, 1); e {
	case "strict", "replace", "ignore":
		return e
	}
	panic(t.argError(c, "encoding", "unknown error handler %s", t.short(c.args[1])).of("LookupError").advise("there are strict, replace and ignore"))
}

// bytesDecode makes a string of bytes that hold UTF-8.
func bytesDecode(t *thread, c *call) val {
	errors, s := c.utf8Only(t), c.recv.str()
	at := t.validPrefix(s)
	if at == len(s) {
		return stringVal(s, t.shallow(c))
	}
	switch errors {
	case "replace":
		return stringVal(t.transcode(s, "\uFFFD"), t.shallow(c))
	case "ignore":
		return stringVal(t.transcode(s, ""), t.shallow(c))
	}
	panic(t.argError(c, "encoding", "no UTF-8 at offset %d: byte 0x%02x", at, s[at]).of("UnicodeDecodeError").
		advise(`decode(errors = "replace") puts U+FFFD for each such byte`))
}

// stringEncode returns the UTF-8 of a string, in which a byte that is none becomes U+FFFD.
func stringEncode(t *thread, c *call) val {
	c.utf8Only(t)
	s := c.recv.str()
	if t.validPrefix(s) < len(s) {
		s = t.transcode(s, "\uFFFD")
	}
	return bytesVal(s, t.shallow(c))
}

// validPrefix returns how many bytes of s are valid UTF-8 before the first that is not.
func (t *thread) validPrefix(s string) int {
	at := 0
	for chunk := range t.chunks(s) {
		if utf8.ValidString(chunk) {
			at += len(chunk)
			continue
		}
		for {
			r, w := utf8.DecodeRuneInString(s[at:])
			if r == utf8.RuneError && w == 1 {
				return at
			}
			at += w
		}
	}
	return at
}

// transcode puts bad for each byte of s that is no valid UTF-8.
func (t *thread) transcode(s, bad string) string {
	out := textWriter{t: t}
	for chunk := range t.chunks(s) {
		from := 0
		for i := 0; i < len(chunk); {
			r, w := utf8.DecodeRuneInString(chunk[i:])
			if r == utf8.RuneError && w == 1 {
				out.put(chunk[from:i])
				out.put(bad)
				from = i + 1
			}
			i += w
		}
		out.put(chunk[from:])
	}
	return out.end()
}

// find3 is find and rfind.
func (t *thread) find3(c *call, last bool) val {
	sub := c.wantString(t, 0)
	start, end := c.span(t, 1)
	s := c.recv.str()[start:max(start, end)]
	i := 0
	if last {
		i = t.lastIndexOf(s, sub)
	} else {
		i = t.indexOf(s, sub)
	}
	if i >= 0 {
		i += start
	}
	return intVal(int64(i), t.shallow(c))
}

func (t *thread) found(c *call, at val) val {
	if at.n < 0 {
		panic(t.argError(c, "not-found", "substring not found").advise("find returns -1 instead"))
	}
	return at
}

func stringCount(t *thread, c *call) val {
	sub := c.wantString(t, 0)
	start, end := c.span(t, 1)
	return intVal(t.count(c.recv.str()[start:max(start, end)], sub, -1), t.shallow(c))
}

// affix is startswith and endswith.
func (t *thread) affix(c *call, has func(s, affix string) bool) val {
	l := t.shallow(c)
	start, end := c.span(t, 1)
	s := c.recv.str()[start:max(start, end)]
	switch v := c.args[0]; v.k {
	case kString:
		t.charge(v.n / 64)
		return boolVal(has(s, v.str()), l)
	case kTuple:
		for i, e := range v.tuple().items {
			if e.k != kString {
				panic(t.badArg(c, "want string, got %s, for element %d", e.typeName(), i))
			}
			t.burn(1 + min(e.n, c.recv.n)/64)
			if l = t.join(l, e.lab); has(s, e.str()) {
				t.deeper(c, l)
				return boolVal(true, l)
			}
		}
		t.deeper(c, l)
		return boolVal(false, l)
	default:
		panic(t.badArg(c, "got %s, want string or tuple of string", v.typeName()))
	}
}

// strip removes leading and trailing code points that are in the chars argument, or white space.
func (t *thread) strip(c *call, left, right bool) val {
	s := c.recv.str()
	in := unicode.IsSpace
	if !c.none(0) {
		if chars := c.wantString(t, 0); chars != "" {
			in = t.runeSet(chars)
		}
	}
	if left {
		for len(s) > 0 {
			n := t.skip(s, in)
			s = s[n:]
			if n < chunkBytes {
				break
			}
		}
	}
	for right && len(s) > 0 {
		for range 1024 {
			r, w := utf8.DecodeLastRuneInString(s)
			if w == 0 || !in(r) {
				right = false
				break
			}
			s = s[:len(s)-w]
		}
		t.charge(64)
	}
	return t.part(c, s)
}

// skip returns how many of the first bytes of s, chunkBytes or somewhat more at most, are of code points in the set.
func (t *thread) skip(s string, in func(rune) bool) int {
	i := 0
	for i < chunkBytes {
		r, w := utf8.DecodeRuneInString(s[i:])
		if w == 0 || !in(r) {
			break
		}
		i += w
	}
	t.charge(int64(i) / 16)
	return i
}

// runeSet returns a test for the code points of a string.
func (t *thread) runeSet(chars string) func(rune) bool {
	var ascii [utf8.RuneSelf]bool
	var other map[rune]bool
	for chunk := range t.chunks(chars) {
		for _, r := range chunk {
			if r < utf8.RuneSelf {
				ascii[r] = true
			} else if !other[r] {
				t.alloc(48)
				if other == nil {
					other = map[rune]bool{}
				}
				other[r] = true
			}
		}
	}
	return func(r rune) bool {
		if r < utf8.RuneSelf {
			return ascii[r]
		}
		return other[r]
	}
}

func (t *thread) partition(c *call, last bool) val {
	s, sep := c.recv.str(), c.wantString(t, 0)
	if sep == "" {
		panic(t.argError(c, "argument", "empty separator").of("ValueError"))
	}
	l := t.shallow(c)
	none := stringVal("", l)
	t.alloc(48 + 3*valSize)
	if last {
		i := t.lastIndexOf(s, sep)
		if i < 0 {
			return tupleVal([]val{none, none, c.recv.with(l)}, l)
		}
		return t.parted(c, s[:i], s[i+len(sep):], l)
	}
	i := t.indexOf(s, sep)
	if i < 0 {
		return tupleVal([]val{c.recv.with(l), none, none}, l)
	}
	return t.parted(c, s[:i], s[i+len(sep):], l)
}

func (t *thread) parted(c *call, before, after string, l label.ID) val {
	head := stringVal(t.copied(before), l)
	tail := stringVal(t.copied(after), l)
	return tupleVal([]val{head, c.args[0].with(l), tail}, l)
}

// stringJoin concatenates strings with the receiver between them; the result carries the label of each.
func stringJoin(t *thread, c *call) val {
	v := c.args[0]
	if !t.iterable(v) {
		panic(t.badArg(c, "for parameter iterable: got %s, want iterable", v.typeName()).advise(notIterableHint(v)))
	}
	l, n, total := t.shallow(c), int64(0), int64(0)
	it, _ := t.iterate(v)
	var first val
	for e, ok := it.next(t); ok; e, ok = it.next(t) {
		t.burn(1)
		if e.k != kString {
			panic(t.badArg(c, "in list, want string, got %s", e.typeName()).advise("make strings first: sep.join([str(x) for x in xs])"))
		}
		if n == 0 {
			first = e
		}
		l = t.join(l, e.lab)
		total += e.n
		n++
	}
	t.deeper(c, l)
	if n < 2 {
		if n == 0 {
			first = stringVal("", label.BottomID)
		}
		return first.with(l)
	}
	total += (n - 1) * c.recv.n
	t.alloc(stringSize(total))
	t.charge(total / copiedByStep)
	buf, sep := make([]byte, 0, total), c.recv.str()
	if v.k == kList || v.k == kTuple {
		for i, e := range t.items(v) {
			if i%1024 == 0 {
				t.poll()
			}
			if i > 0 {
				buf = t.pourBytes(buf, sep)
			}
			buf = t.pourBytes(buf, e.str())
		}
		return textVal(buf, l)
	}
	it, _ = t.iterate(v)
	for i := 0; ; i++ {
		e, ok := it.next(t)
		if !ok {
			return textVal(buf, l)
		}
		if i%1024 == 0 {
			t.poll()
		}
		if i > 0 {
			buf = t.pourBytes(buf, sep)
		}
		buf = t.pourBytes(buf, e.str())
	}
}

func stringReplace(t *thread, c *call) val {
	s, old, new := c.recv.str(), c.wantString(t, 0), c.wantString(t, 1)
	limit := c.wantInt(t, 2, -1)
	l := t.shallow(c)
	n := t.count(s, old, limit)
	if n == 0 || old == new {
		return c.recv.with(l)
	}
	total := int64(len(s)) + n*int64(len(new)-len(old)) // each at most the memory budget: no overflow
	t.alloc(stringSize(total))
	t.charge(total / copiedByStep)
	var b strings.Builder
	b.Grow(int(total))
	for i := int64(0); i < n; i++ {
		if old == "" {
			w := 0
			if i > 0 {
				t.burn(1)
				_, w = utf8.DecodeRuneInString(s)
			}
			b.WriteString(s[:w])
			t.pour(&b, new)
			s = s[w:]
			continue
		}
		j := t.indexOf(s, old)
		t.pour(&b, s[:j])
		t.pour(&b, new)
		s = s[j+len(old):]
	}
	t.pour(&b, s)
	return stringVal(b.String(), l)
}
