package eval

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// str returns a string itself, and the repr of anything else.
func (t *thread) str(v val) string {
	if v.k == kString {
		return v.str()
	}
	if v.isError() {
		w := textWriter{t: t}
		w.message(v)
		return w.end()
	}
	if v.k == kObject && v.object().class.text != nil {
		return v.object().class.text(v)
	}
	return t.repr(v)
}

// display returns what str returns: of bytes the text that they hold, with U+FFFD for each byte that is no UTF-8.
func (t *thread) display(v val) string {
	if v.k != kBytes {
		return t.str(v)
	}
	if s := v.str(); t.validPrefix(s) == len(s) {
		return s
	}
	return t.transcode(v.str(), "\uFFFD")
}

// repr returns the text of a value, as in a program. It is charged as it is
// written; a container inside itself is "...".
func (t *thread) repr(v val) string {
	w := textWriter{t: t}
	w.write(v)
	return w.end()
}

// textWriter makes a text. What it writes is charged first.
type textWriter struct {
	t    *thread
	buf  []byte           // the text while it is short: lent by the thread
	long *strings.Builder // the text when it is not
	path []val            // containers being written

	tooMuch int64 // the shortest text that the budget of output does not cover; 0 if the text is not put out
}

// shortText is the longest text that is written to memory which is used again.
const shortText = 16 << 10

// put writes a string.
func (w *textWriter) put(s string) {
	short := w.grow(len(s))
	w.t.burn(1 + int64(len(s))/copiedByStep)
	if short {
		w.buf = append(w.buf, s...)
	} else {
		w.t.pour(w.long, s)
	}
}

// putBytes writes a few bytes.
func (w *textWriter) putBytes(b []byte) {
	short := w.grow(len(b))
	w.t.burn(1 + int64(len(b))/copiedByStep)
	if short {
		w.buf = append(w.buf, b...)
	} else {
		w.long.Write(b)
	}
}

func (w *textWriter) putRune(r rune) {
	var buf [utf8.UTFMax]byte
	w.putBytes(utf8.AppendRune(buf[:0], r))
}

// grow makes room for n more bytes, and reports whether they are to be written to buf.
func (w *textWriter) grow(n int) (short bool) {
	if w.tooMuch > 0 {
		w.mayPutOut(n)
	}
	if w.long == nil {
		if w.buf == nil {
			w.buf, w.t.scratch = w.t.scratch[:0], nil
		}
		if len(w.buf)+n <= shortText {
			return true
		}
		w.room(len(w.buf) + n)
		w.long.Write(w.buf)
		w.t.scratch, w.buf = w.buf, nil
	} else if n > w.long.Cap()-w.long.Len() {
		before := w.long
		w.room(max(before.Len()+n, before.Cap()+before.Cap()/2))
		w.t.pour(w.long, before.String())
		w.t.free(stringSize(int64(before.Cap())))
	}
	return false
}

func (w *textWriter) mayPutOut(n int) {
	n += len(w.buf)
	if w.long != nil {
		n += w.long.Len()
	}
	if int64(n) >= w.tooMuch {
		most := w.t.s.limits.Output
		panic(w.t.limit("output", w.t.s.output+int64(n), most))
	}
}

// room begins a long text of at most n bytes.
func (w *textWriter) room(n int) {
	w.t.alloc(stringSize(int64(n)))
	w.long = &strings.Builder{}
	w.long.Grow(n)
}

// end returns what was written, in a block of its size, and ends the writer.
func (w *textWriter) end() string {
	t := w.t
	if w.long == nil {
		s := ""
		switch n := len(w.buf); n {
		case 0:
		case 1:
			s = oneByte[w.buf[0]]
		default:
			t.alloc(stringSize(int64(n)))
			s = string(w.buf)
		}
		t.scratch, w.buf = w.buf, nil
		return s
	}
	s := w.long.String()
	if spare := w.long.Cap() - len(s); spare > len(s)/8 {
		t.alloc(stringSize(int64(len(s))))
		s = t.glue(s)
		t.free(stringSize(int64(w.long.Cap())))
	}
	return s
}

// fill writes a short string n times.
func (w *textWriter) fill(unit string, n int64) {
	if n <= 0 || unit == "" {
		return
	}
	if n > maxRepeat/int64(len(unit)) {
		panic(w.t.limit("memory", maxRepeat, w.t.maxHeap))
	}
	w.grow(int(n) * len(unit))
	if n == 1 {
		w.put(unit)
		return
	}
	many := min(n, max(1, int64(1024/len(unit))))
	block := strings.Repeat(unit, int(many))
	for n > 0 {
		k := min(n, many)
		w.put(block[:int(k)*len(unit)])
		n -= k
	}
}

// inside reports whether a container is being written already, and pushes it if not.
func (w *textWriter) enter(v val) bool {
	for _, p := range w.path {
		if p.p == v.p {
			return false
		}
	}
	w.t.checkDepth(len(w.path))
	w.path = append(w.path, v)
	return true
}

func (w *textWriter) leave() { w.path = w.path[:len(w.path)-1] }

func (w *textWriter) write(v val) {
	switch v.k {
	case kNone:
		w.put("None")
	case kBool:
		if v.n != 0 {
			w.put("True")
		} else {
			w.put("False")
		}
	case kInt:
		w.put(strconv.FormatInt(v.n, 10))
	case kBig:
		w.t.charge(bigTextCost(v.bigInt().BitLen()))
		w.put(v.bigInt().String())
	case kFloat:
		w.put(formatFloat(v.float()))
	case kString:
		w.quoted(v.str(), false)
	case kBytes:
		w.quoted(v.str(), true)
	case kObject:
		if c := v.object().class; c.repr == nil {
			w.put("<" + v.typeName() + ">")
		} else if w.enter(v) {
			c.repr(w, v)
			w.leave()
		} else {
			w.put("...")
		}
	case kTuple:
		if !w.enter(v) {
			w.put("(...)")
			return
		}
		w.put("(")
		w.items(v.tuple().items)
		if len(v.tuple().items) == 1 {
			w.put(",")
		}
		w.put(")")
		w.leave()
	case kList, kDeque:
		if !w.enter(v) {
			w.put("[...]")
			return
		}
		if v.k == kDeque {
			w.put("deque(")
		}
		w.put("[")
		w.items(v.list().items)
		w.put("]")
		if v.k == kDeque {
			if most := v.deque().most; most >= 0 {
				w.put(", maxlen=" + strconv.FormatInt(most, 10))
			}
			w.put(")")
		}
		w.leave()
	case kSet:
		if v.dict().live == 0 {
			w.put("set([])")
			return
		}
		w.put("set([")
		first := true
		v.dict().each(func(k, _ val) bool {
			if !first {
				w.put(", ")
			}
			first = false
			w.write(k)
			return true
		})
		w.put("])")
	case kDict:
		if !w.enter(v) {
			w.put("{...}")
			return
		}
		if of := v.dict().of; of != nil && of.class.repr != nil {
			of.class.repr(w, v)
			w.leave()
			return
		}
		w.put("{")
		first := true
		v.dict().each(func(k, e val) bool {
			if !first {
				w.put(", ")
			}
			first = false
			w.write(k)
			w.put(": ")
			w.write(e)
			return true
		})
		w.put("}")
		w.leave()
	case kStruct:
		if v.isError() {
			w.exception(v)
			return
		}
		if !w.enter(v) {
			w.put("struct(...)")
			return
		}
		w.put("struct(")
		for i, n := range v.record().names {
			if i > 0 {
				w.put(", ")
			}
			w.put(n + " = ")
			w.write(v.record().items[i])
		}
		w.put(")")
		w.leave()
	case kRange:
		r := v.rng()
		switch {
		case r.step != 1:
			w.put("range(" + strconv.FormatInt(r.start, 10) + ", " + strconv.FormatInt(r.stop, 10) + ", " + strconv.FormatInt(r.step, 10) + ")")
		case r.start != 0:
			w.put("range(" + strconv.FormatInt(r.start, 10) + ", " + strconv.FormatInt(r.stop, 10) + ")")
		default:
			w.put("range(" + strconv.FormatInt(r.stop, 10) + ")")
		}
	case kFunc:
		w.put("<function " + v.fn().code.name + ">")
	case kBuiltin:
		if of := typeOf(v); of != nil {
			w.put("<class '__main__." + of.items[0].str() + "'>")
		} else if b := v.builtin(); b.recv.k != kUnbound {
			w.put("<built-in method " + b.name + " of " + b.recv.typeName() + " value>")
		} else {
			w.put("<built-in function " + b.name + ">")
		}
	case kModule:
		w.put("<module " + strconv.Quote(v.module().name) + ">")
	case kSeq:
		w.quoted(v.seq().s, v.seq().mode == seqBytes)
		w.put("." + v.seq().method() + "()")
	}
}

func (w *textWriter) items(items []val) {
	for i, e := range items {
		if i > 0 {
			w.put(", ")
		}
		w.write(e)
	}
}

// bigTextCost is the work of writing an int of so many bits in decimal.
func bigTextCost(bits int) int64 { return int64(bits) / 64 * (1 + int64(bits)/65536) }

// formatFloat writes a float as Python does, so that it reads back as the same float: the fewest
// digits, an exponent from 1e+16 up and below 0.0001.
func formatFloat(f float64) string {
	if math.Signbit(f) && !math.IsNaN(f) {
		return "-" + pythonFloat(-f, 'r', -1, false)
	}
	return pythonFloat(f, 'r', -1, false)
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
	case kTuple, kList, kDeque, kObject:
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
