package eval

import (
	"strconv"
	"unicode/utf8"
)

// quote returns the literal of a short string or bytes: what repr returns.
func quote(s string, bytes bool) string {
	b := make([]byte, 0, len(s)+3)
	if bytes {
		b = append(b, 'b')
	}
	b = append(b, '"')
	for s != "" {
		n := plainPrefix(s)
		b = append(b, s[:n]...)
		b, s = appendEscaped(b, s[n:])
	}
	return string(append(b, '"'))
}

// quoted writes the literal of a string or bytes of any length.
func (w *textWriter) quoted(s string, bytes bool) {
	if bytes {
		w.put("b")
	}
	w.put(`"`)
	var buf [16]byte
	for chunk := range w.t.chunks(s) {
		for chunk != "" {
			n := plainPrefix(chunk)
			w.put(chunk[:n])
			var esc []byte
			esc, chunk = appendEscaped(buf[:0], chunk[n:])
			w.putBytes(esc)
		}
	}
	w.put(`"`)
}

// plainPrefix returns how many bytes of s stand for themselves in a literal, before the first that does not.
func plainPrefix(s string) int {
	for i := 0; i < len(s); {
		b := s[i]
		if b < utf8.RuneSelf {
			if b < ' ' || b == '"' || b == '\\' || b == 0x7f {
				return i
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if n == 1 || !strconv.IsPrint(r) {
			return i
		}
		i += n
	}
	return len(s)
}

const hexDigits = "0123456789abcdef"

var shortEscapes = [256]byte{'\a': 'a', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't', '\v': 'v', '"': '"', '\\': '\\'}

// appendEscaped appends the escape of the first code point of s, and returns the rest of s.
func appendEscaped(b []byte, s string) ([]byte, string) {
	if s == "" {
		return b, s
	}
	r, n := utf8.DecodeRuneInString(s)
	digits := 8
	switch {
	case shortEscapes[s[0]] != 0:
		return append(b, '\\', shortEscapes[s[0]]), s[1:]
	case n == 1:
		r, digits = rune(s[0]), 2 // a byte that is no UTF-8 as well
		b = append(b, `\x`...)
	case r < 0x10000:
		digits = 4
		b = append(b, `\u`...)
	default:
		b = append(b, `\U`...)
	}
	for digits--; digits >= 0; digits-- {
		b = append(b, hexDigits[r>>(4*digits)&0xF])
	}
	return b, s[n:]
}
