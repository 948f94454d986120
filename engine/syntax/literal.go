package syntax

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.starlark.net/syntax"
)

// Integers are at most 64 KiB wide, in literals too: reading one takes more
// than linear time.
const (
	mostIntBits   = 64 << 10 << 3
	mostIntDigits = 157826 // decimal digits of 2**mostIntBits
)

// number scans an int or float literal, which begins with a digit, or with a
// point before one.
func (s *scanner) number() {
	off, src := s.i, s.src
	i := off
	k := syntax.INT
	problem, hint := "", ""
	if src[i] == '0' && i+1 < len(src) && isBase(src[i+1]) {
		base := src[i+1] | 0x20
		i += 2
		first := i
		for i < len(src) && isDigitOf(src[i], base) {
			i++
		}
		if i == first {
			problem, hint = "got no digits after "+clip(src[off:i])+", want some", "write hexadecimal as 0xff, octal as 0o17, binary as 0b101"
		} else if bits := (i - first) * bitsOf(base); bits > mostIntBits {
			problem, hint = tooWide(i-first), "pass a value that large in as an input"
		}
	} else {
		i = digits(src, i)
		whole := i
		if i < len(src) && src[i] == '.' {
			k = syntax.FLOAT
			i = digits(src, i+1)
		}
		if i < len(src) && src[i]|0x20 == 'e' {
			k = syntax.FLOAT
			i++
			if i < len(src) && (src[i] == '+' || src[i] == '-') {
				i++
			}
			if first := i; digits(src, i) == first {
				problem, hint = "got no digits in the exponent, want some", "write floats as 1.5e10"
			} else {
				i = digits(src, i)
			}
		}
		if k == syntax.INT && src[off] == '0' && strings.Trim(src[off:whole], "0") != "" {
			problem, hint = "got a leading 0, want none", "leave the leading 0 out"
			if octal := strings.TrimLeft(src[off:whole], "0"); !strings.ContainsAny(octal, "89") {
				hint += "; octal is written 0o" + clip(octal)
			}
		} else if k == syntax.INT && whole-off > mostIntDigits {
			problem, hint = tooWide(whole-off), "pass a value that large in as an input"
		}
	}

	s.i = i
	flag := uint8(0)
	if problem == "" {
		problem, hint = s.numberTail(off)
	} else {
		s.skipNumber()
	}
	if problem != "" {
		flag = isKnown
		s.report(off, "number "+clip(src[off:s.i])+": "+problem, hint)
	}
	s.emit(k, off, flag)
}

// numberTail says what is wrong with a word that is stuck to a number, and
// consumes it. A keyword may be stuck there: "1if x else 2".
func (s *scanner) numberTail(off int) (problem, hint string) {
	end := s.i
	if end >= len(s.src) || class[s.src[end]] != letter {
		return "", ""
	}
	w, _ := leadingWord(s.src[end:])
	if keyword(w) != syntax.IDENT {
		return "", ""
	}
	s.skipNumber()
	switch w {
	case "j", "J":
		return "got a complex number, want an int or a float", "keep the real and the imaginary part in two floats"
	case "l", "L", "n":
		return "got a suffix, want digits only", "leave the suffix out: an int has any size"
	}
	if all := s.src[off:s.i]; strings.Contains(all, "_") && strings.Trim(all, "0123456789_.eExXoObBaAcCdDfF") == "" {
		return "got '_' within a number, want digits only", "write " + clip(strings.ReplaceAll(all, "_", ""))
	}
	return "got " + clip(w) + " right after a number, want an operator", "begin names with a letter, and put an operator between values"
}

// skipNumber consumes whatever is stuck to a number.
func (s *scanner) skipNumber() {
	for s.i < len(s.src) && (class[s.src[s.i]] == letter || class[s.src[s.i]] == digit || s.src[s.i] == '.') {
		s.i++
	}
}

func tooWide(n int) string {
	return fmt.Sprintf("got %d digits, want an int of at most 64 KiB", n)
}

func isBase(c byte) bool { c |= 0x20; return c == 'x' || c == 'o' || c == 'b' }

func bitsOf(base byte) int {
	switch base {
	case 'x':
		return 4
	case 'o':
		return 3
	}
	return 1
}

func isDigitOf(c, base byte) bool {
	switch base {
	case 'x':
		return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
	case 'o':
		return '0' <= c && c <= '7'
	}
	return c == '0' || c == '1'
}

// digits returns the offset after the decimal digits at i.
func digits(src string, i int) int {
	for i < len(src) && class[src[i]] == digit {
		i++
	}
	return i
}

// intValue returns the value of an int literal that the scanner let through: an
// int64, or a *big.Int if it does not fit.
func intValue(raw string) any {
	if len(raw) <= 18 && (raw[0] != '0' || len(raw) == 1) {
		n := int64(0)
		for i := range len(raw) {
			n = n*10 + int64(raw[i]-'0')
		}
		return n
	}
	base, text := 10, raw
	if len(raw) > 2 && isBase(raw[1]) {
		text = raw[2:]
		base = 1 << bitsOf(raw[1]|0x20)
	}
	if n, err := strconv.ParseInt(text, base, 64); err == nil {
		return n
	}
	if base == 10 {
		return decimal(text)
	}
	n, _ := new(big.Int).SetString(text, base)
	return n
}

// decimal reads decimal digits in two halves, so that multiplication faster than
// the schoolbook's does the work: [big.Int.SetString] takes quadratic time.
func decimal(text string) *big.Int {
	const leaf = 1024
	n := leaf
	pow := new(big.Int).Exp(big.NewInt(10), big.NewInt(leaf), nil) // 10**n
	pows := []*big.Int{pow}
	for n < len(text) {
		pow = new(big.Int).Mul(pow, pow)
		pows = append(pows, pow)
		n *= 2
	}
	var read func(text string, level int) *big.Int
	read = func(text string, level int) *big.Int {
		if level < 0 {
			x, _ := new(big.Int).SetString(text, 10)
			return x
		}
		low := leaf << level
		if len(text) <= low {
			return read(text, level-1)
		}
		x := read(text[:len(text)-low], level-1)
		x.Mul(x, pows[level])
		return x.Add(x, read(text[len(text)-low:], level-1))
	}
	return read(text, len(pows)-1)
}

// str scans a string literal whose quotes begin at s.i and whose prefix at off.
func (s *scanner) str(off int, flag uint8) { s.quoted(syntax.STRING, off, flag) }

// bytes scans a bytes literal.
func (s *scanner) bytes(off int, prefix string) {
	flag := uint8(0)
	if prefix == "rb" {
		flag = isRaw
	}
	s.quoted(syntax.BYTES, off, flag)
}

func (s *scanner) quoted(k kind, off int, flag uint8) {
	line, col := s.line, s.col(off)
	quote := s.src[s.i]
	if s.next(1, quote) && s.next(2, quote) {
		flag |= isTriple
		s.i += 3
	} else {
		s.i++
	}
	flag, closed := s.body(quote, flag)
	switch {
	case closed:
		if flag&isTriple == 0 && s.i < len(s.src) && class[s.src[s.i]] == letter {
			flag |= s.apostrophe(quote)
		}
	case flag&isTriple != 0:
		s.cut = true
		flag |= isKnown
		s.errs.add(line, col, fmt.Sprintf("string is never closed, want %[1]c%[1]c%[1]c", quote), "add them where it ends")
	default:
		flag |= isKnown
		s.mend(line, col, fmt.Sprintf("string is not closed on its line, want %c", quote),
			fmt.Sprintf("add %c where it ends; a string of several lines is written in three quotes, a line break as \\n", quote))
		s.unread(off)
	}
	s.emitAt(k, off, line, col, flag)
}

// body consumes the text of a string and its closing quote, and reports
// whether there is one.
func (s *scanner) body(quote byte, flag uint8) (_ uint8, closed bool) {
	src := s.src
	for s.i < len(src) {
		switch c := src[s.i]; {
		case c == quote:
			s.i++
			if flag&isTriple == 0 {
				return flag, true
			}
			if s.next(0, quote) && s.next(1, quote) {
				s.i += 2
				return flag, true
			}
		case c == '\n' || c == '\r':
			if flag&isTriple == 0 {
				return flag, false
			}
			if c == '\r' {
				flag |= hasCR
			}
			s.newline()
		case c == '\\':
			flag |= isEscaped
			s.i++
			if s.i >= len(src) {
				return flag, false
			}
			if c := src[s.i]; c == '\n' || c == '\r' {
				if c == '\r' {
					flag |= hasCR
				}
				s.newline()
			} else {
				s.i++
			}
		default:
			if c&0xc0 == 0x80 {
				s.wide++
			}
			s.i++
		}
	}
	return flag, false
}

// apostrophe is called where a letter follows a string directly. Unless that is a keyword or the
// prefix of another string, the quote was hardly meant to end the string: "it's" in single quotes.
func (s *scanner) apostrophe(quote byte) (flag uint8) {
	w, _ := leadingWord(s.src[s.i:])
	prefix := len(w) <= 2 && strings.Trim(w, "rRbBfFuU") == "" && (s.next(len(w), '"') || s.next(len(w), '\''))
	if prefix || keyword(w) != syntax.IDENT {
		return 0
	}
	s.mend(s.line, s.col(s.i), "got "+clip(w)+" right after a string, want an operator or ','",
		fmt.Sprintf(`within a string write \%[1]c for %[1]c, or the other quotes around it`, quote))
	s.i += len(w)
	rest := s.src[s.i:]
	if n := strings.IndexAny(rest, "\r\n"); n >= 0 {
		rest = rest[:n]
	}
	if n := strings.LastIndexByte(rest, quote); n >= 0 { // whatever is between is hard to tell
		for end := s.i + n + 1; s.i < end; s.i++ {
			if s.src[s.i]&0xc0 == 0x80 {
				s.wide++
			}
		}
	}
	return isKnown
}

// unread gives back what follows an unclosed string on its line: the brackets that
// close open ones, with a comma or colon. They were hardly meant to be in the string.
func (s *scanner) unread(off int) {
	i := s.i
	for i > off+1 && (s.src[i-1] == ' ' || s.src[i-1] == '\t') {
		i--
	}
	end := i
	if i > off+1 && (s.src[i-1] == ',' || s.src[i-1] == ':') {
		i--
		end = i
	}
	n := 0
	for i > off+1 && n < len(s.brackets.open) && strings.IndexByte(closers, s.src[i-1]) >= 0 {
		i--
		n++
	}
	for k := range n { // the leftmost closes the innermost
		if s.src[i+k] != closers[s.brackets.open[len(s.brackets.open)-1-k].shape] {
			i = end
			break
		}
	}
	s.i = i
}

// stringValue returns the value of a string or bytes literal, and its text with
// every line ending as \n. Of invalid escapes, the first is reported.
func (p *parser) stringValue(t *token) (value, raw string) {
	raw = p.src[t.off:t.end]
	if t.flag&isKnown != 0 {
		return "", raw
	}
	if t.flag&hasCR != 0 {
		raw = strings.ReplaceAll(strings.ReplaceAll(raw, "\r\n", "\n"), "\r", "\n")
	}
	begin, end := strings.IndexAny(raw, `"'`)+1, len(raw)-1
	if t.flag&isTriple != 0 {
		begin, end = begin+2, end-2
	}
	if t.flag&isEscaped == 0 || t.flag&isRaw != 0 {
		return raw[begin:end], raw
	}
	value, bad, problem, hint := unescape(raw[begin:end], t.kind == syntax.BYTES)
	if problem != "" {
		before := raw[:begin+bad]
		line, col := t.line, t.col
		if i := strings.LastIndexByte(before, '\n'); i >= 0 {
			line += int32(strings.Count(before, "\n"))
			col, before = 1, before[i+1:]
		}
		p.errs.add(line, col+int32(utf8.RuneCountInString(before)), problem, hint)
	}
	return value, raw
}

// escapes maps the letter of a simple escape to its value.
var escapes = [256]byte{
	'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v', '\\': '\\', '\'': '\'', '"': '"',
}

// unescape returns the value of a text with escapes. If one is invalid, it returns the
// offset of that one, the problem and what to do instead.
func unescape(text string, bytes bool) (value string, bad int, problem, hint string) {
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; ; {
		n := strings.IndexByte(text[i:], '\\')
		if n < 0 {
			b.WriteString(text[i:])
			return b.String(), 0, "", ""
		}
		b.WriteString(text[i : i+n])
		i += n
		c := text[i+1] // the scanner saw to it that a backslash has something after it
		if e := escapes[c]; e != 0 {
			b.WriteByte(e)
			i += 2
			continue
		}
		switch c {
		case '\n':
			i += 2
		case '0', '1', '2', '3', '4', '5', '6', '7':
			v, size := 0, 1
			for size < 4 && i+size < len(text) && '0' <= text[i+size] && text[i+size] <= '7' {
				v = v*8 + int(text[i+size]-'0')
				size++
			}
			if problem, hint := badByte(text[i:i+size], v, bytes); problem != "" {
				return "", i, problem, hint
			}
			b.WriteByte(byte(v))
			i += size
		case 'x', 'u', 'U':
			size := 4
			if c == 'u' {
				size = 6
			} else if c == 'U' {
				size = 10
			}
			esc := text[i:min(i+size, len(text))]
			v, err := strconv.ParseUint(esc[2:], 16, 32)
			if err != nil || len(esc) < size {
				return "", i, fmt.Sprintf("escape %s, want %d hexadecimal digits after \\%c", clip(esc), size-2, c),
					fmt.Sprintf("complete the escape, or write \\\\%c for a backslash and the letter", c)
			}
			if c == 'x' {
				problem, hint = badByte(esc, int(v), bytes)
				b.WriteByte(byte(v))
			} else {
				problem, hint = badRune(esc, v)
				b.WriteRune(rune(v))
			}
			if problem != "" {
				return "", i, problem, hint
			}
			i += size
		default:
			r, _ := utf8.DecodeRuneInString(text[i+1:])
			return "", i, fmt.Sprintf("escape \\%s means nothing, want one such as \\n", printable(string(r))),
				`for a backslash itself write \\, or r"…" around the whole string, as for a regular expression`
		}
	}
}

// badByte says what is wrong with an escape for one byte.
func badByte(esc string, v int, bytes bool) (problem, hint string) {
	switch {
	case v > 255:
		return "escape " + esc + " is more than a byte, want one", `write at most \377`
	case v > 127 && !bytes:
		return "escape " + esc + " is not ASCII, want a code point in a string",
			fmt.Sprintf(`write \u%04x for U+%04X, or b"…" for bytes`, v, v)
	}
	return "", ""
}

// badRune says what is wrong with an escape for a code point.
func badRune(esc string, v uint64) (problem, hint string) {
	switch {
	case v > unicode.MaxRune:
		return "escape " + esc + " is beyond the last code point, want a code point", `write at most \U0010ffff`
	case !utf8.ValidRune(rune(v)):
		return "escape " + esc + " is half of a surrogate pair, want a code point", `write the character itself, or \U and its eight digits`
	}
	return "", ""
}
