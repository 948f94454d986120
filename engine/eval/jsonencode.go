package eval

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"callgate/engine/label"
)

// jsonWriter writes a value as JSON. Keys are sorted and there are no spaces, unless it is told otherwise.
type jsonWriter struct {
	w    textWriter
	c    *call
	path []jsonStep // where it is: of errors, and for cycles
	l    label.ID   // of all that was written

	comma, colon string
	newline      string // between items, before their indentation; "" if all is on one line
	indent       string // of one level
	inOrder      bool   // keys in the dict's order
	ascii        bool   // everything else escaped
	anyKey       bool   // None, bools and numbers are keys too, as in Python
	fallback     val    // function that makes something else of what has no JSON; kUnbound if there is none
}

// jsonStep is a container that is being written, and the item that is.
type jsonStep struct {
	in    val
	index int
	key   string
}

func newJSONWriter(t *thread, c *call, x val) *jsonWriter {
	l := t.join(t.shallow(c), t.deepLabel(x))
	t.deeper(c, l)
	return &jsonWriter{w: textWriter{t: t}, c: c, l: l, comma: ",", colon: ":"}
}

func jsonEncode(t *thread, c *call) val {
	e := newJSONWriter(t, c, c.args[0])
	e.write(c.args[0])
	return e.done()
}

// jsonEncodeIndent writes one item a line.
func jsonEncodeIndent(t *thread, c *call) val {
	e := newJSONWriter(t, c, c.args[0])
	prefix, indent := jsonIndents(t, c)
	e.newline, e.indent, e.colon = "\n"+prefix, indent, ": "
	e.write(c.args[0])
	return e.done()
}

// jsonIndents returns the arguments prefix and indent, which follow the first.
func jsonIndents(t *thread, c *call) (prefix, indent string) {
	indent = "\t"
	if c.has(1) {
		prefix = c.wantString(t, 1)
	}
	if c.has(2) {
		indent = c.wantString(t, 2)
	}
	return prefix, indent
}

// jsonDumps is Python's: keys in order, a space after comma and colon, ASCII only, unless told otherwise. Floats
// that are not finite are refused all the same: they are no JSON.
func jsonDumps(t *thread, c *call) val {
	e := newJSONWriter(t, c, c.args[0])
	e.comma, e.colon, e.anyKey = ", ", ": ", true
	e.inOrder = !c.wantBool(t, 2, false)
	e.ascii = c.wantBool(t, 4, true)
	if !c.none(1) {
		e.comma, e.newline = ",", "\n"
		if c.args[1].k == kString {
			e.indent = c.args[1].str()
		} else {
			e.indent = strings.Repeat(" ", int(min(max(c.wantInt(t, 1, 0), 0), 256)))
		}
	}
	if !c.none(3) {
		var pair []val
		if k := c.args[3].k; k == kTuple || k == kList {
			pair = t.items(c.args[3])
		}
		if len(pair) != 2 || pair[0].k != kString || pair[1].k != kString {
			panic(t.badArg(c, "for parameter separators: want two strings, as in (\",\", \":\")"))
		}
		e.comma, e.colon = pair[0].str(), pair[1].str()
		e.l = t.join(e.l, t.join(pair[0].lab, pair[1].lab))
	}
	if !c.none(5) {
		e.fallback = c.args[5]
	}
	e.write(c.args[0])
	return e.done()
}

func (e *jsonWriter) done() val { return stringVal(e.w.end(), e.l) }

// fail says what cannot be written, and where it is.
func (e *jsonWriter) fail(format string, args ...any) *Error {
	var at strings.Builder
	for _, s := range e.path {
		switch s.in.k {
		case kDict:
			at.WriteString("in dict key " + quote(clip(s.key), false) + ": ")
		case kStruct:
			at.WriteString("in field ." + s.key + ": ")
		default:
			at.WriteString("at " + s.in.typeName() + " index " + strconv.Itoa(s.index) + ": ")
		}
		if at.Len() > 1000 {
			at.WriteString("… ")
			break
		}
	}
	err := e.w.t.argError(e.c, "json", at.String()+format, args...)
	err.lab = e.w.t.join(err.lab, e.l)
	return err.of("TypeError")
}

func (e *jsonWriter) write(v val) {
	w := &e.w
	switch v.k {
	case kNone:
		w.put("null")
	case kBool:
		w.put(jsonBool(v))
	case kInt:
		var buf [24]byte
		w.putBytes(strconv.AppendInt(buf[:0], v.n, 10))
	case kBig:
		w.t.charge(bigTextCost(v.bigInt().BitLen()))
		w.put(v.bigInt().String())
	case kFloat:
		w.put(e.float(v.float()))
	case kString:
		e.string(v.str())
	case kDict:
		e.enter(v)
		e.dict(v)
		e.leave(v.dict().live, '}')
	case kStruct:
		if v.isError() {
			panic(e.fail("cannot encode %s as JSON", v.typeName()))
		}
		e.enter(v)
		w.put("{")
		r := v.record()
		for i, n := range r.names {
			e.item(i, n)
			e.string(n)
			w.put(e.colon)
			e.write(r.items[i])
		}
		e.leave(len(r.names), '}')
	case kList, kTuple, kRange, kSet, kSeq, kDeque:
		e.list(v)
	case kObject:
		if v.object().class.parts {
			e.list(v)
			break
		}
		if e.fallback.k == kUnbound {
			panic(e.fail("cannot encode %s as JSON", v.typeName()).advise(notDataHint(v)))
		}
		e.replace(v)
	default:
		if e.fallback.k == kUnbound {
			panic(e.fail("cannot encode %s as JSON", v.typeName()))
		}
		e.replace(v)
	}
}

// list writes what can be iterated over.
func (e *jsonWriter) list(v val) {
	w := &e.w
	e.enter(v)
	w.put("[")
	n := 0
	it, _ := w.t.iterate(v)
	for x, ok := it.next(w.t); ok; x, ok = it.next(w.t) {
		e.item(n, "")
		e.write(x)
		n++
	}
	e.leave(n, ']')
}

// replace writes what the program's function makes of a value that has no JSON.
func (e *jsonWriter) replace(v val) {
	t := e.w.t
	e.enter(v)
	for _, s := range e.path { // the function must not change what is being written
		t.lock(s.in)
	}
	r := t.callUnder(e.l, e.fallback, v)
	for range e.path {
		t.unlock()
	}
	e.l = t.join(e.l, t.deepLabel(r))
	t.deeper(e.c, e.l)
	t.hold(r)
	e.write(r)
	t.release()
	e.path = e.path[:len(e.path)-1]
}

func jsonBool(v val) string {
	if v.n != 0 {
		return "true"
	}
	return "false"
}

func (e *jsonWriter) float(f float64) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		panic(e.fail("cannot encode non-finite float %s", formatFloat(f)))
	}
	return formatFloat(f)
}

// enter begins a container, which must not be inside itself.
func (e *jsonWriter) enter(v val) {
	e.w.t.charge(int64(len(e.path)) / 16)
	if v.k != kRange && v.k != kSeq {
		for i := range e.path {
			if e.path[i].in.p == v.p {
				panic(e.fail("cycle in JSON structure"))
			}
		}
	}
	if len(e.path) > maxWalk {
		panic(e.fail("value nested more than %d deep", maxWalk))
	}
	e.path = append(e.path, jsonStep{in: v})
}

// item begins item i of the container.
func (e *jsonWriter) item(i int, key string) {
	if i > 0 {
		e.w.put(e.comma)
	}
	s := &e.path[len(e.path)-1]
	s.index, s.key = i, key
	e.line()
}

func (e *jsonWriter) line() {
	if e.newline != "" {
		e.w.put(e.newline)
		e.w.fill(e.indent, int64(len(e.path)))
	}
}

// leave ends a container of n items.
func (e *jsonWriter) leave(n int, bracket byte) {
	e.path = e.path[:len(e.path)-1]
	if n > 0 {
		e.line()
	}
	e.w.put(oneByte[bracket])
}

// dict writes a dict's items and the bracket before them.
func (e *jsonWriter) dict(v val) {
	w := &e.w
	w.put("{")
	d := v.dict()
	if e.inOrder {
		n := 0
		d.each(func(k, x val) bool {
			e.pair(n, e.keyOf(v, k), x)
			n++
			return true
		})
		return
	}
	type pair struct {
		key string
		i   int
	}
	w.t.alloc(int64(d.live) * 24)
	pairs := make([]pair, 0, d.live)
	for i := range d.ents {
		if k := d.ents[i].k; k.k != kUnbound {
			pairs = append(pairs, pair{e.keyOf(v, k), i})
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		w.t.burn(1 + int64(min(len(a.key), len(b.key)))/64)
		return strings.Compare(a.key, b.key)
	})
	for n, p := range pairs {
		e.pair(n, p.key, d.ents[p.i].v)
	}
}

func (e *jsonWriter) pair(n int, key string, x val) {
	e.item(n, key)
	e.string(key)
	e.w.put(e.colon)
	e.write(x)
}

// keyOf returns the text of a dict's key.
func (e *jsonWriter) keyOf(d, k val) string {
	if k.k == kString {
		return k.str()
	}
	if e.anyKey {
		switch k.k {
		case kNone:
			return "null"
		case kBool:
			return jsonBool(k)
		case kInt, kBig:
			return e.w.t.repr(k)
		case kFloat:
			return e.float(k.float())
		}
	}
	// The error is about the dict: it has no place in it.
	e.path = e.path[:len(e.path)-1]
	err := e.fail("%s has %s key, want string", d.typeName(), k.typeName())
	if e.anyKey {
		err.advise("keys may be strings, numbers, bools and None")
	} else {
		err.advise("make strings of the keys first: {str(k): v for k, v in d.items()}")
	}
	panic(err)
}

// string writes a string literal. Bytes that are no UTF-8 become U+FFFD.
func (e *jsonWriter) string(s string) {
	w := &e.w
	w.put(`"`)
	var buf [16]byte
	for chunk := range w.t.chunks(s) {
		for chunk != "" {
			n := e.plain(chunk)
			if n > 0 {
				w.put(chunk[:n])
			}
			if chunk = chunk[n:]; chunk != "" {
				r, n := utf8.DecodeRuneInString(chunk)
				w.putBytes(appendJSONEscape(buf[:0], r))
				chunk = chunk[n:]
			}
		}
	}
	w.put(`"`)
}

// plain returns how many bytes of s stand for themselves, before the first that does not.
func (e *jsonWriter) plain(s string) int {
	for i := 0; i < len(s); {
		b := s[i]
		if b < utf8.RuneSelf {
			if b < ' ' || b == '"' || b == '\\' {
				return i
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if e.ascii || r == utf8.RuneError && n == 1 || r == '\u2028' || r == '\u2029' {
			return i
		}
		i += n
	}
	return len(s)
}

func appendJSONEscape(b []byte, r rune) []byte {
	if at := strings.IndexRune("\"\\\b\f\n\r\t", r); at >= 0 && r < utf8.RuneSelf {
		return append(b, '\\', `"\bfnrt`[at])
	}
	unit := func(u rune) {
		b = append(b, '\\', 'u', hexDigits[u>>12&15], hexDigits[u>>8&15], hexDigits[u>>4&15], hexDigits[u&15])
	}
	if r >= 0x10000 {
		r -= 0x10000
		unit(0xd800 + r>>10)
		r = 0xdc00 + r&0x3ff
	}
	unit(r)
	return b
}

// jsonIndent lays out JSON anew, one item a line, and changes nothing else in it.
func jsonIndent(t *thread, c *call) val {
	s := c.wantString(t, 0)
	prefix, indent := jsonIndents(t, c)
	x := jsonIndenter{d: jsonReader{t: t, s: s, l: t.shallow(c)}, w: textWriter{t: t}, newline: "\n" + prefix, indent: indent}
	ok := x.value(0)
	rest := x.d.i
	if ok && x.d.space() {
		ok = x.d.unexpected()
	}
	if !ok {
		problem := strings.Replace(x.d.problem, "unexpected character", "invalid character", 1)
		panic(t.argError(c, "json", "at offset %d, %s", x.d.i, problem))
	}
	x.w.put(s[rest:]) // white space at the end stays
	return stringVal(x.w.end(), x.d.l)
}

type jsonIndenter struct {
	d               jsonReader
	w               textWriter
	newline, indent string
}

func (x *jsonIndenter) line(depth int) {
	x.w.put(x.newline)
	x.w.fill(x.indent, int64(depth))
}

// value copies a value.
func (x *jsonIndenter) value(depth int) bool {
	d := &x.d
	if depth > maxWalk {
		return d.tooDeep()
	}
	switch b := d.more(); b {
	case '{', '[':
		return x.container(b+2, depth) // in ASCII the closing bracket is two after the opening one
	default:
		from := d.i
		if b == 0 {
			return d.unexpected()
		}
		if _, ok := d.value(depth); !ok {
			return false
		}
		x.w.put(d.s[from:d.i])
		return true
	}
}

// container copies an array or an object.
func (x *jsonIndenter) container(closing byte, depth int) bool {
	d := &x.d
	x.w.put(oneByte[closing-2])
	d.i++
	if d.more() == closing {
		d.i++
		x.w.put(oneByte[closing])
		return true
	}
	for {
		x.line(depth + 1)
		if closing == '}' {
			if d.more() != '"' {
				return d.unexpected()
			}
			from := d.i
			if _, ok := d.key(); !ok {
				return false
			}
			x.w.put(d.s[from:d.i])
			if d.more() != ':' {
				return d.unexpected()
			}
			d.i++
			x.w.put(": ")
		}
		if !x.value(depth + 1) {
			return false
		}
		switch b := d.more(); b {
		case ',':
			d.i++
			x.w.put(",")
		case closing:
			d.i++
			x.line(depth)
			x.w.put(oneByte[closing])
			return true
		default:
			return d.unexpected()
		}
	}
}
