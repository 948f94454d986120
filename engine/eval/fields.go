package eval

import (
	"math"
	"strings"

	"callgate/engine/label"
)

// stringFormat is str.format: replacement fields {}, {0}, {name}, each with !r or !s and a format
// specification, which may have fields of its own. Fields do not reach into their values.
func stringFormat(t *thread, c *call) val {
	l := t.shallow(c)
	for _, v := range c.args {
		l = t.join(l, t.deepLabel(v))
	}
	for _, kw := range c.kw {
		l = t.join(l, t.deepLabel(kw.v))
	}
	t.deeper(c, l)
	f := formatter{t: t, c: c, l: l, w: textWriter{t: t}}
	f.w.grow(int(c.recv.n) + 16)
	f.expand(&f.w, c.recv.str(), 0)
	return stringVal(f.w.end(), l)
}

type formatter struct {
	t    *thread
	c    *call
	l    label.ID
	w    textWriter
	next int // automatic index
	used byte
}

// The ways of numbering fields, in formatter.used.
const (
	numbersAuto   = 'a'
	numbersManual = 'm'
)

func (f *formatter) fail(format string, args ...any) *Error {
	return f.t.argError(f.c, "format", format, args...)
}

// expand writes a format with its fields replaced.
func (f *formatter) expand(w *textWriter, format string, depth int) {
	for from := 0; ; {
		f.t.burn(1)
		i := f.t.brace(format, from)
		w.put(format[from:i])
		switch {
		case i == len(format):
			return
		case i+1 < len(format) && format[i+1] == format[i] && depth == 0:
			w.put(format[i : i+1])
			from = i + 2
		case format[i] == '}':
			panic(f.fail("single '}' in format").advise("a brace is written twice: }}"))
		default:
			from = f.field(w, format, i+1, depth)
		}
	}
}

// brace returns where the next brace is, or len(s).
func (t *thread) brace(s string, from int) int {
	for i := from; i < len(s); i++ {
		if s[i] == '{' || s[i] == '}' {
			t.charge(int64(i-from) / 16)
			return i
		}
		if i&(chunkBytes-1) == chunkBytes-1 {
			t.charge(chunkBytes / 16)
		}
	}
	return len(s)
}

// field writes the replacement field that begins after the brace at from, and returns where it ends.
func (f *formatter) field(w *textWriter, format string, from, depth int) int {
	if depth > 1 {
		panic(f.fail("nested replacement fields not supported in a nested field"))
	}
	end := strings.IndexAny(format[from:min(len(format), from+chunkBytes)], "!:}{")
	if end < 0 {
		panic(f.fail("unmatched '{' in format"))
	}
	name := format[from : from+end]
	at := from + end
	if format[at] == '{' {
		panic(f.fail("nested replacement fields not supported").advise("a brace is written twice: {{"))
	}
	conv := "s"
	hasConv := format[at] == '!'
	if hasConv {
		end := strings.IndexAny(format[at+1:min(len(format), at+chunkBytes)], ":}")
		if end < 0 {
			panic(f.fail("unmatched '{' in format"))
		}
		conv = format[at+1 : at+1+end]
		at += 1 + end
	}
	spec := ""
	if format[at] == ':' {
		at++
		begin := at
		open := 1
		for ; at < len(format); at++ {
			if format[at] == '{' {
				open++
			} else if format[at] == '}' {
				if open--; open == 0 {
					break
				}
			}
			if at-begin > chunkBytes {
				panic(f.fail("a format specification of more than %d bytes", chunkBytes))
			}
		}
		if at == len(format) {
			panic(f.fail("unmatched '{' in format"))
		}
		spec = format[begin:at]
	}
	v := f.lookup(name)
	if strings.Contains(spec, "{") {
		inner := textWriter{t: f.t}
		f.expand(&inner, spec, depth+1)
		spec = inner.end()
	}
	switch {
	case hasConv && conv == "r":
		v = stringVal(f.t.repr(v), v.lab)
	case hasConv && conv == "s":
		v = stringVal(f.t.str(v), v.lab)
	case hasConv:
		panic(f.fail("unknown conversion %s", quote(clip(conv), false)).advise("there are !r and !s"))
	}
	w.format(v, spec, f.l, f.c.pos)
	return at + 1
}

// lookup returns the argument that a field names.
func (f *formatter) lookup(name string) val {
	args := f.c.args
	if name == "" {
		if f.used == numbersManual {
			panic(f.fail("cannot switch from manual field specification to automatic field numbering"))
		}
		f.used = numbersAuto
		if f.next >= len(args) {
			panic(f.fail("tuple index out of range: %d positional arguments, and more fields", len(args)).of("IndexError"))
		}
		f.next++
		return args[f.next-1]
	}
	if i, ok := decimal(name); ok {
		if f.used == numbersAuto {
			panic(f.fail("cannot switch from automatic field numbering to manual field specification"))
		}
		f.used = numbersManual
		if i >= len(args) {
			panic(f.fail("tuple index out of range: %d positional arguments, and a field %d", len(args), i).of("IndexError"))
		}
		return args[i]
	}
	var names []string
	for _, kw := range f.c.kw {
		if kw.name == name {
			return kw.v
		}
		names = append(names, kw.name)
	}
	switch {
	case strings.Contains(name, "."):
		panic(f.fail("attribute syntax x.y is not supported in replacement fields: %s", clip(name)).
			advise("give what the field is to show as an argument of its own"))
	case strings.Contains(name, "["):
		panic(f.fail("element syntax a[i] is not supported in replacement fields: %s", clip(name)).
			advise("give what the field is to show as an argument of its own"))
	}
	panic(f.fail("keyword %s not found%s", clip(name), nearest(name, names)).of("KeyError"))
}

// decimal reads an index, which may have leading zeros.
func decimal(s string) (int, bool) {
	n := 0
	for i := range len(s) {
		d := s[i] - '0'
		if d > 9 {
			return 0, false
		}
		n = min(n*10+int(d), math.MaxInt32)
	}
	return n, true
}
