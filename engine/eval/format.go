package eval

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"callgate/engine/label"
)

// fspec is a format specification, as in Python:
//
//	[[fill]align][sign][#][0][width][,_][.precision][type]
type fspec struct {
	fill  string // one code point
	align byte   // one of < > = ^
	sign  byte   // one of + - space, or 0
	alt   bool
	width int64
	prec  int64 // -1 if absent
	group byte  // , or _ or 0
	verb  rune  // 0 if absent
}

// maxField bounds the width and the precision of a field.
const maxField = 1 << 20

// formatSpec returns the text of a value under a format specification, exactly as CPython's
// format does for int, float, str and bool; the empty specification is str. An error is at p and carries l, which has all the labels of v.
func (t *thread) formatSpec(v val, spec string, l label.ID, p pos) string {
	if spec == "" {
		return t.str(v)
	}
	w := textWriter{t: t}
	w.format(v, spec, l, p)
	return w.end()
}

// format writes what formatSpec returns.
func (w *textWriter) format(v val, spec string, l label.ID, p pos) {
	t := w.t
	if spec == "" {
		w.str(v)
		return
	}
	if formats(v) {
		v.object().class.format(w, v, spec, p)
		return
	}
	fail := func(format string, args ...any) *Error {
		return t.fail(p, l, "format", "format: "+format, args...)
	}
	switch v.k {
	case kString, kBool, kInt, kBig, kFloat:
	default:
		panic(fail("a %s has no format but the empty one", v.typeName()).advise("str(x) is its text, which can be formatted"))
	}
	f, problem := parseSpec(spec, v.k != kString)
	if problem != "" {
		panic(fail("%s in the specification %s for %s", problem, quote(clip(spec), false), v.typeName()))
	}
	wrong := func() *Error {
		e := fail("unknown format code %q for %s", f.verb, v.typeName())
		switch {
		case v.k == kString && strings.ContainsRune("bcdeEfFgGnoxX%", f.verb):
			return e.advise("make it a number first: float(x) or int(x)")
		case v.k == kFloat && strings.ContainsRune("bcdoxX", f.verb):
			return e.advise("make it an int first: int(x)")
		case f.verb == 's':
			return e.advise("make it a string first: str(x)")
		}
		return e
	}
	if f.group != 0 && (strings.ContainsRune("scn", f.verb) || f.group == ',' && strings.ContainsRune("boxX", f.verb) ||
		v.k == kString && f.verb == 0) {
		panic(fail("%q cannot group digits with the code %q", f.group, f.verb))
	}
	switch {
	case v.k == kString:
		switch {
		case f.verb != 0 && f.verb != 's':
			panic(wrong())
		case f.sign != 0, f.alt, f.align == '=':
			panic(fail("a sign, # and = are for numbers, not for string"))
		}
		w.text(&f, v.str())
	case v.k != kFloat && strings.ContainsRune("bcdnoxX", f.verb) || v.k != kFloat && f.verb == 0:
		if f.prec >= 0 {
			panic(fail("an int has no precision with the code %q", max(f.verb, 'd')).advise("use the code f: {:.2f}"))
		}
		if f.verb == 'c' {
			if f.sign != 0 || f.alt {
				panic(fail("a sign and # are not for the code 'c'"))
			}
			if v.k == kBig || v.n < 0 || v.n > utf8.MaxRune {
				panic(fail("the code 'c' wants a code point: 0 to 0x10ffff"))
			}
			f.align = max(f.align, '<')
			w.surround(&f, "", string(rune(v.n)))
			return
		}
		w.integer(&f, v)
	case strings.ContainsRune("eEfFgGn%", f.verb) || f.verb == 0:
		x, ok := v.float(), true
		if v.k != kFloat {
			x, ok = v.number().toFloat()
		}
		if !ok {
			panic(fail("int too large to convert to float"))
		}
		w.float(&f, x)
	default:
		panic(wrong())
	}
}

// number returns a bool as the int that it is.
func (v val) number() val {
	if v.k == kBool {
		v.k = kInt
	}
	return v
}

// clip shortens what an error quotes.
func clip(s string) string { return cut(s, 60) }

// parseSpec reads a format specification, and returns what is wrong with it. Numbers are aligned
// to the right, with zeros after the sign where the width begins with 0.
func parseSpec(spec string, number bool) (f fspec, problem string) {
	f = fspec{fill: " ", prec: -1}
	isAlign := func(s string) bool { return s != "" && strings.IndexByte("<>=^", s[0]) >= 0 }
	_, n := utf8.DecodeRuneInString(spec)
	filled := false
	if isAlign(spec[n:]) {
		f.fill, f.align, spec, filled = spec[:n], spec[n], spec[n+1:], true
	} else if isAlign(spec) {
		f.align, spec = spec[0], spec[1:]
	}
	take := func(set string) byte {
		if spec == "" || strings.IndexByte(set, spec[0]) < 0 {
			return 0
		}
		b := spec[0]
		spec = spec[1:]
		return b
	}
	digits := func() (int64, bool) {
		n, any := int64(0), false
		for b := take("0123456789"); b != 0; b = take("0123456789") {
			n, any = min(n*10+int64(b-'0'), maxField+1), true
		}
		return n, any
	}
	f.sign = take("+- ")
	f.alt = take("#") != 0
	if !filled && take("0") != 0 {
		f.fill = "0"
		if f.align == 0 && number {
			f.align = '='
		}
	}
	f.width, _ = digits()
	f.group = take(",_")
	if f.group != 0 && take(",_") != 0 {
		return f, "more than one of , and _"
	}
	if take(".") != 0 {
		var ok bool
		if f.prec, ok = digits(); !ok {
			return f, "a point without a precision"
		}
	}
	if f.width > maxField || f.prec > maxField {
		return f, "a width or precision above " + strconv.Itoa(maxField)
	}
	r, n := utf8.DecodeRuneInString(spec)
	if n > 0 {
		f.verb = r
	}
	if n < len(spec) {
		return f, "more than one format code"
	}
	if f.align == 0 && number {
		f.align = '>'
	}
	return f, ""
}

// str writes what str(v) returns.
func (w *textWriter) str(v val) {
	if v.k == kString {
		w.put(v.str())
		return
	}
	if v.isError() {
		w.message(v)
		return
	}
	if v.k == kObject && v.object().class.text != nil {
		w.put(v.object().class.text(v))
		return
	}
	w.write(v)
}

// text writes a string, of which precision code points at most.
func (w *textWriter) text(f *fspec, s string) {
	if f.prec >= 0 && int64(len(s)) > f.prec {
		n := 0
		for i := int64(0); i < f.prec && n < len(s); i++ {
			_, size := utf8.DecodeRuneInString(s[n:])
			n += size
		}
		w.t.charge(int64(n) / 16)
		s = s[:n]
	}
	w.surround(f, "", s)
}

// surround fills a text up to the width; head goes before the filling where the alignment is =.
func (w *textWriter) surround(f *fspec, head, body string) {
	left, right := int64(0), int64(0)
	if f.width > 0 {
		n := f.width - w.t.runeCount(head) - w.t.runeCount(body)
		switch {
		case n <= 0:
		case f.align == '>' || f.align == '=':
			left = n
		case f.align == '^':
			left, right = n/2, n-n/2
		default:
			right = n
		}
	}
	if f.align == '=' {
		w.put(head)
		w.fill(f.fill, left)
	} else {
		w.fill(f.fill, left)
		w.put(head)
	}
	w.put(body)
	w.fill(f.fill, right)
}

// integer writes an int or a bool with the code b, d, n, o, x, X or none.
func (w *textWriter) integer(f *fspec, v val) {
	base, prefix, every := 10, "", 3
	switch f.verb {
	case 'b':
		base, prefix, every = 2, "0b", 4
	case 'o':
		base, prefix, every = 8, "0o", 4
	case 'x', 'X':
		base, prefix, every = 16, "0"+string(f.verb), 4
	}
	if !f.alt {
		prefix = ""
	}
	digits, neg := w.t.intDigits(v.number(), base)
	if f.verb == 'X' {
		digits = strings.ToUpper(digits)
	}
	w.number(f, neg, prefix, digits, every)
}

// intDigits returns the digits of the absolute value of an int.
func (t *thread) intDigits(v val, base int) (digits string, neg bool) {
	if v.k == kInt {
		n := uint64(v.n)
		if v.n < 0 {
			n = -n
		}
		return strconv.FormatUint(n, base), v.n < 0
	}
	bits := v.bigInt().BitLen()
	t.alloc(stringSize(int64(bits)))
	t.charge(bigTextCost(bits))
	return new(big.Int).Abs(v.bigInt()).Text(base), v.bigInt().Sign() < 0
}

// number writes a number of which body is the text without its sign and prefix: digits, which
// may be grouped, and what follows them.
func (w *textWriter) number(f *fspec, neg bool, prefix, body string, every int) {
	head := prefix
	switch {
	case neg:
		head = "-" + prefix
	case f.sign == '+' || f.sign == ' ':
		head = string(rune(f.sign)) + prefix
	}
	if f.group != 0 {
		n := len(body)
		if prefix == "" && every == 3 {
			n = 0
			for n < len(body) && body[n]-'0' <= 9 {
				n++
			}
		}
		least := 0
		if f.fill == "0" && f.align == '=' {
			least = int(f.width) - len(head) - (len(body) - n)
		}
		w.t.alloc(stringSize(2 * int64(max(n, least))))
		body = groupDigits(body[:n], f.group, every, least) + body[n:]
	}
	w.surround(f, head, body)
}

// groupDigits puts a separator between groups of digits, and zeros before them until there are
// at least so many characters: one more if the first would be a separator.
func groupDigits(digits string, sep byte, every, least int) string {
	if digits == "" {
		return ""
	}
	size := max(len(digits)+(len(digits)-1)/every, least)
	if size%(every+1) == 0 {
		size++
	}
	out := make([]byte, size)
	d := len(digits)
	for i := 1; i <= size; i++ { // from the right
		switch at := size - i; {
		case i%(every+1) == 0:
			out[at] = sep
		case d > 0:
			d--
			out[at] = digits[d]
		default:
			out[at] = '0'
		}
	}
	return string(out)
}

// float writes a float with the code e, E, f, F, g, G, n, % or none.
func (w *textWriter) float(f *fspec, x float64) {
	verb := byte(f.verb)
	tail := ""
	switch verb {
	case '%':
		x, verb, tail = x*100, 'f', "%"
	case 'n':
		verb = 'g'
	case 0:
		verb = 'r'
		if f.prec >= 0 {
			verb = 'R'
		}
	}
	prec := f.prec
	if prec < 0 {
		prec = 6
	}
	w.t.charge(prec / 16)
	w.t.alloc(2 * stringSize(prec+330))
	neg := math.Signbit(x) && x == x
	w.number(f, neg, "", pythonFloat(math.Abs(x), verb, int(prec), f.alt)+tail, 3)
}

// pythonFloat returns the text of a float that is not negative, as Python has it. The verbs are e, f, g and
// their capitals; r is repr, and R is g with a point if there is no exponent.
func pythonFloat(x float64, verb byte, prec int, alt bool) string {
	upper := verb == 'E' || verb == 'F' || verb == 'G'
	if math.IsNaN(x) || math.IsInf(x, 0) {
		s := "nan"
		if math.IsInf(x, 0) {
			s = "inf"
		}
		if upper {
			s = strings.ToUpper(s)
		}
		return s
	}
	var s string
	switch verb {
	case 'e', 'E':
		s = strconv.FormatFloat(x, 'e', prec, 64)
	case 'f', 'F':
		s = strconv.FormatFloat(x, 'f', prec, 64)
	case 'r':
		s = strconv.FormatFloat(x, 'e', -1, 64)
		if e := exponent(s); e >= -4 && e < 16 {
			s = strconv.FormatFloat(x, 'f', -1, 64)
			if !strings.Contains(s, ".") {
				s += ".0"
			}
		}
	default:
		prec = max(prec, 1)
		s = strconv.FormatFloat(x, 'e', prec-1, 64)
		e, most := exponent(s), prec
		if verb == 'R' {
			most--
		}
		mantissa, exp, _ := strings.Cut(s, "e")
		if e >= -4 && e < most {
			mantissa, exp = strconv.FormatFloat(x, 'f', prec-1-e, 64), ""
		}
		if !alt && strings.Contains(mantissa, ".") {
			mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
		}
		s = mantissa
		switch {
		case exp != "":
			s += "e" + exp
		case verb == 'R' && !strings.Contains(s, "."):
			s += ".0"
		}
	}
	if alt && !strings.Contains(s, ".") {
		mantissa, exp, found := strings.Cut(s, "e")
		s = mantissa + "."
		if found {
			s += "e" + exp
		}
	}
	if upper {
		s = strings.ToUpper(s)
	}
	return s
}

// exponent returns the decimal exponent of a float in scientific notation.
func exponent(s string) int {
	e, _ := strconv.Atoi(s[strings.IndexByte(s, 'e')+1:])
	return e
}
