package eval

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"callgate/engine/label"
)

// jsonModule makes the module json: Starlark's encode, decode, indent and encode_indent, and
// Python's dumps and loads.
func jsonModule() *module {
	return makeModule("json", map[string]*builtinDef{
		"encode":        def("json.encode", "x", jsonEncode),
		"encode_indent": def("json.encode_indent", "x, *, prefix?, indent?", jsonEncodeIndent),
		"decode":        def("json.decode", "...", jsonDecode),
		"indent":        def("json.indent", "str, *, prefix?, indent?", jsonIndent),
		"dumps":         def("json.dumps", "obj, *, indent?, sort_keys?, separators?, ensure_ascii?, default?", jsonDumps),
		"loads":         def("json.loads", "s", jsonLoads),
	})
}

// jsonDecode is decode(x, default?): x by position only. With a default, it returns that where x is no JSON.
func jsonDecode(t *thread, c *call) val {
	args := c.args
	for _, kw := range c.kw {
		if kw.name != "default" {
			panic(t.argError(c, "arguments", "unexpected keyword argument %s%s", kw.name, nearest(kw.name, []string{"default"})))
		}
		if len(args) > 1 {
			panic(t.argError(c, "arguments", "got multiple values for keyword argument default"))
		}
	}
	switch {
	case len(args) == 0:
		panic(t.argError(c, "arguments", "missing argument for x"))
	case len(args) > 2:
		panic(t.argError(c, "arguments", "got %d arguments, want at most 2", len(args)))
	case args[0].k != kString:
		panic(t.badArg(c, "for parameter x: got %s, want string", args[0].typeName()))
	}
	d := jsonReader{t: t, s: args[0].str(), l: t.join(t.pc, args[0].lab)}
	v, ok := d.document()
	switch {
	case ok:
		return v
	case len(args) == 2:
		return args[1].with(t.join(d.l, args[1].lab))
	case len(c.kw) > 0:
		return c.kw[0].v.with(t.join(d.l, c.kw[0].v.lab))
	}
	panic(t.argError(c, "json", "at offset %d, %s", d.i, d.problem))
}

// jsonLoads is Python's: of a string or bytes.
func jsonLoads(t *thread, c *call) val {
	if k := c.args[0].k; k != kString && k != kBytes {
		panic(t.badArg(c, "for parameter s: got %s, want string or bytes", c.args[0].typeName()))
	}
	d := jsonReader{t: t, s: c.args[0].str(), l: t.shallow(c)}
	v, ok := d.document()
	if !ok {
		panic(t.argError(c, "json", "at offset %d, %s", d.i, d.problem))
	}
	return v
}

// jsonReader reads JSON. All that it makes, structures too, carries the label l: what is in the
// text says what there is.
type jsonReader struct {
	t       *thread
	s       string
	i       int
	l       label.ID
	problem string
	keys    [64]string // of objects, met lately: most objects repeat them
}

// fail says what is wrong at i. It returns false.
func (d *jsonReader) fail(format string, args ...any) bool {
	d.problem = fmt.Sprintf(format, args...)
	return false
}

// document reads the whole text.
func (d *jsonReader) document() (val, bool) {
	base := len(d.t.parts)
	d.t.charge(int64(len(d.s)) / 32)
	v, ok := d.value(0)
	d.t.discard(base)
	if ok && d.space() {
		ok = d.fail("unexpected character %s after value", strconv.QuoteRune(rune(d.s[d.i])))
	}
	return v, ok
}

// space skips white space, and reports whether there is more.
func (d *jsonReader) space() bool {
	for i := d.i; i < len(d.s); i++ {
		switch d.s[i] {
		case ' ', '\t', '\n', '\r':
			if i&(chunkBytes-1) == 0 {
				d.t.burn(64)
			}
			continue
		}
		d.i = i
		return true
	}
	d.i = len(d.s)
	return false
}

// more skips white space and returns the next byte, or 0 at the end, which is an error.
func (d *jsonReader) more() byte {
	if !d.space() {
		d.fail("unexpected end of file")
		return 0
	}
	return d.s[d.i]
}

func (d *jsonReader) unexpected() bool {
	if d.i >= len(d.s) {
		return d.fail("unexpected end of file")
	}
	return d.fail("unexpected character %s", strconv.QuoteRune(rune(d.s[d.i])))
}

// value reads one value.
func (d *jsonReader) value(depth int) (val, bool) {
	d.t.burn(1)
	if !d.space() {
		return val{}, d.fail("unexpected end of file")
	}
	switch b := d.s[d.i]; b {
	case '"':
		s, ok := d.string()
		return stringVal(s, d.l), ok
	case '{':
		return d.object(depth)
	case '[':
		return d.array(depth)
	case 'n':
		if d.word("null") {
			return noneVal(d.l), true
		}
	case 't':
		if d.word("true") {
			return boolVal(true, d.l), true
		}
	case 'f':
		if d.word("false") {
			return boolVal(false, d.l), true
		}
	default:
		if b == '-' || b-'0' <= 9 {
			return d.number()
		}
	}
	return val{}, d.unexpected()
}

func (d *jsonReader) tooDeep() bool { return d.fail("value nested more than %d deep", maxWalk) }

func (d *jsonReader) word(w string) bool {
	if strings.HasPrefix(d.s[d.i:], w) {
		d.i += len(w)
		return true
	}
	return false
}

func (d *jsonReader) array(depth int) (val, bool) {
	if depth > maxWalk {
		return val{}, d.tooDeep()
	}
	base := len(d.t.parts)
	d.i++
	if d.more() == ']' {
		d.i++
	} else {
		for {
			v, ok := d.value(depth + 1)
			if !ok {
				return val{}, false
			}
			d.t.keep(v)
			b := d.more()
			if b == 0 && d.i >= len(d.s) {
				return val{}, false
			}
			if b != ',' && b != ']' {
				return val{}, d.fail("got %s, want ',' or ']'", strconv.QuoteRune(rune(b)))
			}
			d.i++
			if b == ']' {
				break
			}
		}
	}
	return listVal(&list{items: d.t.gather(base), st: d.l}, d.l), true
}

func (d *jsonReader) object(depth int) (val, bool) {
	if depth > maxWalk {
		return val{}, d.tooDeep()
	}
	base := len(d.t.parts)
	d.i++
	if d.more() == '}' {
		d.i++
	} else {
		for {
			if b := d.more(); b != '"' {
				if b == 0 && d.i >= len(d.s) {
					return val{}, false
				}
				return val{}, d.badKey(depth)
			}
			key, ok := d.key()
			if !ok {
				return val{}, false
			}
			d.t.keep(stringVal(key, label.BottomID))
			b := d.more()
			if b == 0 && d.i >= len(d.s) {
				return val{}, false
			}
			if b != ':' {
				return val{}, d.fail("after object key, got %s, want ':'", strconv.QuoteRune(rune(b)))
			}
			d.i++
			v, ok := d.value(depth + 1)
			if !ok {
				return val{}, false
			}
			d.t.keep(v)
			b = d.more()
			if b == 0 && d.i >= len(d.s) {
				return val{}, false
			}
			if b != ',' && b != '}' {
				return val{}, d.fail("in object, got %s, want ',' or '}'", strconv.QuoteRune(rune(b)))
			}
			d.i++
			if b == '}' {
				break
			}
		}
	}
	return dictVal(d.t.dictOf(base, d.l), d.l), true
}

// badKey says what is wrong with an object key that is no string.
func (d *jsonReader) badKey(depth int) bool {
	v, ok := d.value(depth + 1)
	if !ok {
		return false
	}
	return d.fail("got %s for object key, want string", v.typeName())
}

// dictOf makes a dict of the keys and values that were kept, one after the other, since
// len(t.parts) was base. Of a key that is there twice, the last value counts.
func (t *thread) dictOf(base int, l label.ID) *dict {
	pairs := t.parts[base:]
	n := len(pairs) / 2
	d := &dict{st: l}
	if n == 0 {
		t.alloc(dictSize)
		return d
	}
	size := 0
	if n > fewEntries {
		for size = 16; size/2+size/8 < n; {
			size *= 2
		}
	}
	t.alloc(dictSize + blockSize(int64(n)*entrySize) + stringSize(int64(size)*4))
	d.ents = make([]entry, 0, n)
	if size > 0 {
		d.index = make([]uint32, size)
	}
	for i := 0; i < len(pairs); i += 2 {
		t.put(d, pairs[i], hashString(pairs[i].str()), pairs[i+1])
	}
	t.discard(base)
	return d
}

// key reads an object key, and returns the same string for the same text where it can.
func (d *jsonReader) key() (string, bool) {
	from := d.i + 1
	if end := d.plain(from, min(len(d.s), from+64)); end < len(d.s) && d.s[end] == '"' {
		raw := d.s[from:end]
		if d.i = end + 1; raw == "" {
			return "", true
		}
		slot := &d.keys[(uint(raw[0])*7+uint(raw[len(raw)-1])*13+uint(len(raw)))%uint(len(d.keys))]
		if *slot != raw {
			*slot = d.t.copied(raw)
		}
		return *slot, true
	}
	return d.string()
}

// plain returns where the run of ASCII characters that stand for themselves ends, before limit.
func (d *jsonReader) plain(from, limit int) int {
	for i := from; i < limit; i++ {
		if b := d.s[i]; b == '"' || b == '\\' || b >= utf8.RuneSelf {
			return i
		}
	}
	return limit
}

// string reads a string. What is no UTF-8, and half a surrogate pair, become U+FFFD.
func (d *jsonReader) string() (string, bool) {
	from := d.i + 1
	clean := true // no escapes, no bytes that are not UTF-8
	for end := from; ; {
		end = d.plain(end, min(len(d.s), end+chunkBytes))
		if end == len(d.s) {
			return "", d.fail("unclosed string literal")
		}
		switch b := d.s[end]; {
		case b == '"':
			d.i = end + 1
			if clean {
				return d.t.copied(d.s[from:end]), true
			}
			return d.unescape(from, end)
		case b == '\\':
			clean = false
			end = min(end+2, len(d.s))
		case b >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(d.s[end:])
			clean = clean && (r != utf8.RuneError || n > 1)
			end += n
		default:
			d.t.burn(chunkBytes / 32)
		}
	}
}

// unescape copies the string between two quotes.
func (d *jsonReader) unescape(from, end int) (string, bool) {
	w := textWriter{t: d.t}
	for i := from; i < end; {
		c := d.s[i]
		switch {
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(d.s[i:end])
			w.putRune(r)
			i += n
			continue
		case c != '\\':
			n := d.plain(i, min(end, i+chunkBytes))
			w.put(d.s[i:n])
			i = n
			continue
		}
		c = d.s[i+1]
		if c == 'u' {
			r, n := d.hexEscape(i, end)
			if n == 0 {
				d.i = i
				return "", d.fail("invalid escape sequence %s in string", quote(d.s[i:min(i+6, end)], false))
			}
			w.putRune(r)
			i += n
			continue
		}
		at := strings.IndexByte(`"\/bfnrt`, c)
		if at < 0 {
			d.i = i
			return "", d.fail("invalid escape sequence \\%c in string", c)
		}
		w.put("\"\\/\b\f\n\r\t"[at : at+1])
		i += 2
	}
	return w.end(), true
}

// hexEscape reads \uXXXX, or two of them that are a surrogate pair, and returns its length; 0 if it is none.
func (d *jsonReader) hexEscape(i, end int) (rune, int) {
	unit := func(i int) (rune, bool) {
		if i+6 > end || d.s[i] != '\\' || d.s[i+1] != 'u' {
			return 0, false
		}
		r := rune(0)
		for _, c := range []byte(d.s[i+2 : i+6]) {
			switch {
			case c-'0' <= 9:
				r = r<<4 | rune(c-'0')
			case c|0x20-'a' <= 5:
				r = r<<4 | rune(c|0x20-'a'+10)
			default:
				return 0, false
			}
		}
		return r, true
	}
	r, ok := unit(i)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if low, ok := unit(i + 6); ok {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

// number reads a number: a float if it has a point or an exponent, else an int.
func (d *jsonReader) number() (val, bool) {
	from := d.i
	i := from + 1
	n := uint64(0)
	if d.s[from] != '-' {
		n = uint64(d.s[from] - '0')
	}
	isFloat := false
scan:
	for ; i < len(d.s); i++ {
		switch b := d.s[i]; {
		case b-'0' <= 9:
			n = n*10 + uint64(b-'0')
		case b == '.', b == 'e', b == 'E', b == '+', b == '-':
			isFloat = true
		default:
			break scan
		}
		if i&(chunkBytes-1) == 0 {
			d.t.burn(64)
		}
	}
	num := d.s[from:i]
	d.i = i
	digits := strings.TrimPrefix(num, "-")
	if digits == "" || digits[0] == '0' && len(digits) > 1 && digits[1]-'0' <= 9 {
		return val{}, d.fail("invalid number: %s", clip(num))
	}
	if isFloat {
		if len(num) > maxLiteral {
			return val{}, d.fail("invalid number: %d bytes; a float has at most %d", len(num), maxLiteral)
		}
		f, err := strconv.ParseFloat(num, 64)
		if err != nil {
			return val{}, d.fail("invalid number: %s", clip(num))
		}
		return floatVal(f, d.l), true
	}
	if len(digits) <= 18 {
		if len(digits) < len(num) {
			return intVal(-int64(n), d.l), true
		}
		return intVal(int64(n), d.l), true
	}
	bits := int64(len(digits)) * 3322 / 1000
	d.t.reserveInt(bits, d.l, d.t.at)
	d.t.charge(bigTextCost(int(bits)))
	x, ok := d.t.parseDigits(digits, 10)
	if !ok {
		return val{}, d.fail("invalid number: %s", clip(num))
	}
	if len(digits) < len(num) {
		x.Neg(x)
	}
	return bigVal(x, d.l), true
}
