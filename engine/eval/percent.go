package eval

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"callgate/engine/label"
)

// percent evaluates format % b: the verbs of Starlark, and Python's flags, width and precision.
// The result carries the labels of the values that it shows.
func (t *thread) percent(a, b val, p pos) val {
	f := percenter{t: t, p: p, arg: b, n: 1, l: t.join(t.join(a.lab, b.lab), t.structure(b)), w: textWriter{t: t}}
	if b.k == kTuple {
		f.n = len(b.tuple().items)
	}
	s := a.str()
	f.w.grow(len(s) + 16)
	for {
		i := t.indexOf(s, "%")
		if i < 0 {
			break
		}
		f.w.put(s[:i])
		s = f.verb(s[i+1:])
	}
	f.w.put(s)
	if f.next < f.n && b.k != kDict {
		panic(f.fail("too many arguments for format string"))
	}
	return stringVal(f.w.end(), f.l)
}

type percenter struct {
	t    *thread
	p    pos
	arg  val // a tuple of arguments, a dict, or the one argument
	n    int // of arguments
	next int
	l    label.ID
	w    textWriter
}

func (f *percenter) fail(format string, args ...any) *Error {
	return f.t.fail(f.p, f.t.join(f.l, f.t.deepLabel(f.arg)), "format", format, args...).of("TypeError")
}

// take returns the next positional argument.
func (f *percenter) take() val {
	if f.next >= f.n {
		panic(f.fail("not enough arguments for format string"))
	}
	v := f.arg
	if v.k == kTuple {
		v = v.tuple().items[f.next]
	}
	f.next++
	return v
}

// count reads a width or a precision: digits, or * for an argument.
func (f *percenter) count(s string) (int64, string) {
	if s != "" && s[0] == '*' {
		v := f.take()
		f.l = f.t.join(f.l, v.lab)
		if v.k != kInt {
			panic(f.fail("* wants int, got %s", v.typeName()))
		}
		return f.bounded(v.n), s[1:]
	}
	n := int64(0)
	for s != "" && s[0]-'0' <= 9 {
		n = min(n*10+int64(s[0]-'0'), maxField+1)
		s = s[1:]
	}
	return f.bounded(n), s
}

func (f *percenter) bounded(n int64) int64 {
	if n > maxField || n < -maxField {
		panic(f.fail("a width or precision above %d", maxField))
	}
	return n
}

// verb writes the argument of the conversion that s begins with, after its percent sign, and returns the rest of s.
func (f *percenter) verb(s string) string {
	if s != "" && s[0] == '%' {
		f.w.put("%")
		return s[1:]
	}
	f.t.burn(1)
	v, keyed := val{}, false
	if s != "" && s[0] == '(' {
		end := strings.IndexByte(s[:min(len(s), chunkBytes)], ')')
		if end < 0 {
			panic(f.fail("incomplete format key").of("ValueError"))
		}
		key := s[1:end]
		s = s[end+1:]
		if f.arg.k != kDict {
			panic(f.fail("format requires a mapping, not %s", f.arg.typeName()))
		}
		k := stringVal(key, label.BottomID)
		i := f.t.find(f.arg.dict(), k, f.t.hash(k))
		if i < 0 {
			panic(f.fail("key not found: %s", clip(key)).of("KeyError"))
		}
		v, keyed = f.arg.dict().ents[i].v, true
		f.next++
	}
	spec, plain := fspec{fill: " ", align: '>', prec: -1}, true
	zero := false
flags:
	for ; s != ""; s = s[1:] {
		switch s[0] {
		case '-':
			spec.align = '<'
		case '+':
			spec.sign = '+'
		case ' ':
			if spec.sign == 0 {
				spec.sign = ' '
			}
		case '#':
			spec.alt = true
		case '0':
			zero = true
		default:
			break flags
		}
		plain = false
	}
	rest := s
	if spec.width, s = f.count(s); spec.width < 0 {
		spec.align, spec.width = '<', -spec.width
	}
	if s != "" && s[0] == '.' {
		spec.prec, s = f.count(s[1:])
		spec.prec = max(spec.prec, 0)
	}
	if s != "" && strings.IndexByte("hlL", s[0]) >= 0 {
		s = s[1:]
	}
	plain = plain && len(s) == len(rest)
	if s == "" {
		panic(f.fail("incomplete format").of("ValueError"))
	}
	if !keyed && strings.IndexByte("srdioxXeEfFgGc", s[0]) >= 0 {
		v = f.take()
	}
	f.l = f.t.join(f.l, f.t.deepLabel(v))
	f.show(&spec, s, v, zero, plain)
	_, n := utf8.DecodeRuneInString(s)
	return s[n:]
}

// show writes v by the verb that s begins with; plain says that nothing is between the percent sign and the verb.
func (f *percenter) show(spec *fspec, s string, v val, zero, plain bool) {
	w, verb := &f.w, s[0]
	switch verb {
	case 's', 'r':
		switch {
		case plain && verb == 's':
			w.str(v)
		case plain:
			w.write(v)
		case verb == 's':
			w.text(spec, f.t.str(v))
		default:
			w.text(spec, f.t.repr(v))
		}
	case 'd', 'i', 'o', 'x', 'X':
		f.integer(spec, verb, v, zero)
	case 'e', 'E', 'f', 'F', 'g', 'G':
		if !v.isNum() {
			panic(f.fail("%%%c format requires float, not %s", verb, v.typeName()))
		}
		x, ok := v.toFloat()
		if !ok && v.k == kBig {
			panic(f.fail("int too large to convert to float").of("OverflowError"))
		}
		switch {
		case !plain:
		case verb == 'g' || x != x || math.IsInf(x, 0):
			w.put(generalFloat(x))
			return
		case verb == 'G':
			w.put(strings.ToUpper(generalFloat(x)))
			return
		}
		f.zeros(spec, zero)
		spec.verb = rune(verb)
		w.float(spec, x)
	case 'c':
		r := rune(0)
		switch v.k {
		case kInt:
			if v.n < 0 || v.n > utf8.MaxRune {
				panic(f.fail("%%c format requires a valid Unicode code point, got %d", v.n).of("OverflowError"))
			}
			r = rune(v.n)
		case kString:
			var n int
			if r, n = utf8.DecodeRuneInString(v.str()); n == 0 || n != int(v.n) {
				panic(f.fail("%%c format requires a single-character string"))
			}
		case kBig:
			panic(f.fail("%%c format requires a valid Unicode code point, got %s", f.t.short(v)).of("OverflowError"))
		default:
			panic(f.fail("%%c format requires int or single-character string, not %s", v.typeName()))
		}
		spec.prec = -1
		w.text(spec, string(r))
	case '%':
		w.put("%")
	default:
		r, _ := utf8.DecodeRuneInString(s)
		panic(f.fail("unknown conversion %%%c", r).of("ValueError").advise("there are %d %s %r %f %e %g %x %X %o %i %c, and %% for a percent sign"))
	}
}

// zeros fills with zeros after the sign, if the flag 0 says so and the flag - does not.
func (f *percenter) zeros(spec *fspec, zero bool) {
	if zero && spec.align == '>' {
		spec.fill, spec.align = "0", '='
	}
}

// integer writes a number, a float cut off to an int, with at least precision digits.
func (f *percenter) integer(spec *fspec, verb byte, v val, zero bool) {
	switch v.k {
	case kInt, kBig:
	case kFloat:
		x := v.float()
		switch {
		case x != x:
			panic(f.fail("%%%c format requires integer: cannot convert float NaN to integer", verb).of("ValueError"))
		case math.IsInf(x, 0):
			panic(f.fail("%%%c format requires integer: cannot convert float infinity to integer", verb).of("OverflowError"))
		}
		i, _ := new(big.Float).SetFloat64(x).Int(nil)
		v = bigVal(i, label.BottomID)
	default:
		panic(f.fail("%%%c format requires integer: cannot convert %s to int", verb, v.typeName()))
	}
	base, prefix := 10, ""
	switch verb {
	case 'o':
		base, prefix = 8, "0o"
	case 'x', 'X':
		base, prefix = 16, "0"+string(rune(verb))
	}
	if !spec.alt {
		prefix = ""
	}
	digits, neg := f.t.intDigits(v, base)
	if verb == 'X' {
		digits = strings.ToUpper(digits)
	}
	if n := spec.prec - int64(len(digits)); n > 0 {
		f.t.alloc(stringSize(spec.prec))
		digits = strings.Repeat("0", int(n)) + digits
	}
	f.zeros(spec, zero)
	f.w.number(spec, neg, prefix, digits, 3)
}

// generalFloat is the text of a float under %g: the fewest digits, an exponent from 1e+06 up and from 1e-05 down.
func generalFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "+inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}
