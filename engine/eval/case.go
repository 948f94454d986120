package eval

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// addCaseMethods adds the methods of strings that change or test what kind of characters they hold.
func addCaseMethods(add func(name, params string, run native)) {
	add("upper", "", func(t *thread, c *call) val { return t.recase(c, strings.ToUpper) })
	add("lower", "", func(t *thread, c *call) val { return t.recase(c, strings.ToLower) })
	add("capitalize", "", func(t *thread, c *call) val {
		first := true
		return t.mapRunes(c, func(b []byte, r rune) []byte {
			if first {
				first = false
				return utf8.AppendRune(b, unicode.ToTitle(r))
			}
			return utf8.AppendRune(b, unicode.ToLower(r))
		})
	})
	add("title", "", func(t *thread, c *call) val {
		cased := false // the code point before
		return t.mapRunes(c, func(b []byte, r rune) []byte {
			if cased {
				r = unicode.ToLower(r)
			} else {
				r = unicode.ToTitle(r)
			}
			cased = isCased(r)
			return utf8.AppendRune(b, r)
		})
	})
	add("swapcase", "", func(t *thread, c *call) val {
		return t.mapRunes(c, func(b []byte, r rune) []byte {
			switch {
			case unicode.IsUpper(r):
				r = unicode.ToLower(r)
			case unicode.IsLower(r):
				r = unicode.ToUpper(r)
			}
			return utf8.AppendRune(b, r)
		})
	})
	add("casefold", "", func(t *thread, c *call) val { return t.mapRunes(c, appendFolded) })

	all := func(name string, empty bool, is func(rune) bool) {
		add(name, "", func(t *thread, c *call) val {
			return boolVal(t.allRunes(c.recv.str(), is) && (empty || c.recv.n > 0), t.shallow(c))
		})
	}
	all("isalnum", false, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
	all("isalpha", false, unicode.IsLetter)
	all("isascii", true, func(r rune) bool { return r < utf8.RuneSelf })
	all("isdecimal", false, unicode.IsDigit)
	all("isdigit", false, unicode.IsDigit)
	all("isnumeric", false, unicode.IsNumber)
	all("isprintable", true, strconv.IsPrint)
	all("isspace", false, unicode.IsSpace)
	add("islower", "", func(t *thread, c *call) val { return boolVal(t.isCase(c.recv.str(), unicode.ToLower), t.shallow(c)) })
	add("isupper", "", func(t *thread, c *call) val { return boolVal(t.isCase(c.recv.str(), unicode.ToUpper), t.shallow(c)) })
	add("istitle", "", func(t *thread, c *call) val { return boolVal(t.isTitle(c.recv.str()), t.shallow(c)) })
	add("isidentifier", "", func(t *thread, c *call) val {
		first := true
		ok := t.allRunes(c.recv.str(), func(r rune) bool {
			start := r == '_' || unicode.IsLetter(r) || unicode.Is(unicode.Nl, r)
			more := !first && unicode.In(r, unicode.Nd, unicode.Mn, unicode.Mc, unicode.Pc)
			first = false
			return start || more
		})
		return boolVal(ok && c.recv.n > 0, t.shallow(c))
	})
}

// recase maps a string piece by piece.
func (t *thread) recase(c *call, f func(string) string) val {
	s, l := c.recv.str(), t.shallow(c)
	if len(s) <= chunkBytes {
		t.alloc(stringSize(int64(len(s))))
		t.charge(int64(len(s)) / 16)
		out := f(s)
		if len(out) != len(s) { // it was made in a block of another size
			out = t.copied(out)
		}
		return stringVal(out, l)
	}
	w := textWriter{t: t}
	w.grow(len(s))
	for chunk := range t.chunks(s) {
		w.put(f(chunk))
	}
	return stringVal(w.end(), l)
}

// mapRunes maps a string code point by code point; f appends what one becomes.
func (t *thread) mapRunes(c *call, f func(b []byte, r rune) []byte) val {
	s := c.recv.str()
	w := textWriter{t: t}
	w.grow(len(s))
	var buf [256]byte
	b := buf[:0]
	for chunk := range t.chunks(s) {
		for _, r := range chunk {
			if b = f(b, r); len(b) > 240 {
				w.putBytes(b)
				b = buf[:0]
			}
		}
	}
	w.putBytes(b)
	return stringVal(w.end(), t.shallow(c))
}

func (t *thread) allRunes(s string, is func(rune) bool) bool {
	for chunk := range t.chunks(s) {
		for _, r := range chunk {
			if !is(r) {
				return false
			}
		}
	}
	return true
}

// isCase reports whether a string has code points with case, and to changes nothing in it.
func (t *thread) isCase(s string, to func(rune) rune) bool {
	cased := false
	for chunk := range t.chunks(s) {
		for i, r := range chunk {
			if r == utf8.RuneError && !strings.HasPrefix(chunk[i:], "\uFFFD") || to(r) != r {
				return false
			}
			cased = cased || isCased(r)
		}
	}
	return cased
}

func isCased(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || unicode.SimpleFold(r) != r
}

// isTitle reports whether capitals follow only what has no case, and small letters only what has.
func (t *thread) isTitle(s string) bool {
	cased, before := false, false
	for chunk := range t.chunks(s) {
		for _, r := range chunk {
			switch {
			case 'A' <= r && r <= 'Z' || unicode.IsTitle(r):
				if before {
					return false
				}
				cased, before = true, true
			case unicode.IsLower(r):
				if !before {
					return false
				}
			case unicode.IsUpper(r):
				return false
			default:
				before = false
			}
		}
	}
	return cased
}

// appendFolded appends the case folding of a code point: its simple one, but "ss" for
// the German letter and plain letters for the Latin ligatures.
func appendFolded(b []byte, r rune) []byte {
	switch r {
	case 'ß', 'ẞ':
		return append(b, "ss"...)
	case 'ﬀ', 'ﬁ', 'ﬂ', 'ﬃ', 'ﬄ', 'ﬅ', 'ﬆ':
		return append(b, [...]string{"ff", "fi", "fl", "ffi", "ffl", "st", "st"}[r-'ﬀ']...)
	case 'ı', 'İ':
		return utf8.AppendRune(b, r)
	}
	return utf8.AppendRune(b, unicode.ToLower(unicode.ToUpper(r)))
}

// addPaddingMethods adds the methods of strings that fill them up to a width in code points.
func addPaddingMethods(add func(name, params string, run native)) {
	add("ljust", "width, fillchar?", func(t *thread, c *call) val {
		return t.pad(c, func(n, _ int64) (int64, int64) { return 0, n })
	})
	add("rjust", "width, fillchar?", func(t *thread, c *call) val {
		return t.pad(c, func(n, _ int64) (int64, int64) { return n, 0 })
	})
	add("center", "width, fillchar?", func(t *thread, c *call) val {
		return t.pad(c, func(n, width int64) (int64, int64) { // the odd one is left of an even width
			left := n/2 + n&width&1
			return left, n - left
		})
	})
	add("zfill", "width", stringZfill)
	add("expandtabs", "tabsize?", stringExpandtabs)
}

// pad fills the receiver up to a width; divide says how many of the missing code points go to each side.
func (t *thread) pad(c *call, divide func(n, width int64) (left, right int64)) val {
	width, fill := c.wantInt(t, 0, 0), " "
	if c.has(1) {
		if fill = c.wantString(t, 1); utf8.RuneCountInString(fill[:min(len(fill), 8)]) != 1 {
			panic(t.argError(c, "argument", "the fill character must be exactly one character long"))
		}
	}
	n := width - t.runeCount(c.recv.str())
	if n <= 0 {
		return c.recv.with(t.shallow(c))
	}
	if n > maxRepeat {
		panic(t.limit("memory", n, t.maxHeap))
	}
	left, right := divide(n, width)
	w := textWriter{t: t}
	w.grow(int(n)*len(fill) + int(c.recv.n))
	w.fill(fill, left)
	w.put(c.recv.str())
	w.fill(fill, right)
	return stringVal(w.end(), t.shallow(c))
}

// stringZfill puts zeros between the sign and the rest.
func stringZfill(t *thread, c *call) val {
	s := c.recv.str()
	n := c.wantInt(t, 0, 0) - t.runeCount(s)
	if n <= 0 {
		return c.recv.with(t.shallow(c))
	}
	sign := 0
	if s != "" && (s[0] == '+' || s[0] == '-') {
		sign = 1
	}
	if n > maxRepeat {
		panic(t.limit("memory", n, t.maxHeap))
	}
	w := textWriter{t: t}
	w.grow(int(n + c.recv.n))
	w.put(s[:sign])
	w.fill("0", n)
	w.put(s[sign:])
	return stringVal(w.end(), t.shallow(c))
}

// stringExpandtabs puts spaces for tabs, up to the next multiple of tabsize on the line.
func stringExpandtabs(t *thread, c *call) val {
	s, size := c.recv.str(), c.wantInt(t, 0, 8)
	w := textWriter{t: t}
	column := int64(0)
	for chunk := range t.chunks(s) {
		from := 0
		for i, r := range chunk {
			switch r {
			case '\t':
				w.put(chunk[from:i])
				from = i + 1
				if size > 0 {
					n := size - column%size
					w.fill(" ", n)
					column += n
				}
			case '\n', '\r':
				column = 0
			default:
				column++
			}
		}
		w.put(chunk[from:])
	}
	return stringVal(w.end(), t.shallow(c))
}
