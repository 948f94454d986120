package syntax

import "strings"

// mostNested bounds how deep f-strings are followed into one another.
const mostNested = 8

// fstring scans an f-string or t-string as one token. Its fields say where it ends: quotes
// may stand in them. If they lead nowhere, it ends at the next quote.
func (s *scanner) fstring(off int) {
	end := -1
	if off >= s.flat {
		f := fields{src: s.src}
		if end = f.literal(s.i, true, 0); end < 0 {
			// Every further attempt on these lines could run as far and in vain.
			s.flat = len(s.src)
			if q := s.src[s.i : s.i+1]; !strings.HasPrefix(s.src[s.i:], q+q+q) {
				if n := strings.IndexAny(s.src[s.i:], "\r\n"); n >= 0 {
					s.flat = s.i + n
				}
			}
		}
	}
	if end < 0 {
		s.quoted(fstring, off, 0)
		return
	}
	line, col := s.line, s.col(off)
	for s.i < end {
		switch c := s.src[s.i]; {
		case c == '\n' || c == '\r':
			s.newline()
		default:
			if c&0xc0 == 0x80 {
				s.wide++
			}
			s.i++
		}
	}
	s.emitAt(fstring, off, line, col, 0)
}

// fields finds the ends of string literals that may have fields.
type fields struct{ src string }

// literal returns the offset after the literal whose quotes begin at i, or -1 if
// it is not closed. Within the braces of its fields any quote begins a literal of its own.
func (f fields) literal(i int, formatted bool, nested int) int {
	if nested > mostNested {
		return -1
	}
	quote := f.src[i : i+1]
	triple := strings.HasPrefix(f.src[i:], quote+quote+quote)
	if triple {
		quote += quote + quote
	}
	for i += len(quote); i < len(f.src); {
		switch c := f.src[i]; {
		case c == quote[0] && strings.HasPrefix(f.src[i:], quote):
			return i + len(quote)
		case c == '\\':
			i += 2
		case !triple && (c == '\n' || c == '\r'):
			return -1
		case c == '{' && formatted:
			if strings.HasPrefix(f.src[i:], "{{") {
				i += 2
			} else if i = f.field(i+1, triple, nested); i < 0 {
				return -1
			}
		default:
			i++
		}
	}
	return -1
}

// field returns the offset after the field whose text begins at i, or -1.
func (f fields) field(i int, triple bool, nested int) int {
	depth, spec := 0, false
	for i < len(f.src) {
		c := f.src[i]
		switch {
		case !triple && (c == '\n' || c == '\r'):
			return -1
		case c == '}' && depth == 0:
			return i + 1
		case c == '{' && spec:
			if nested >= mostNested {
				return -1
			}
			if i = f.field(i+1, triple, nested+1); i < 0 {
				return -1
			}
			continue
		case spec:
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case c == ':' && depth == 0:
			spec = true
		case c == '"' || c == '\'':
			if i = f.literal(i, strings.IndexByte("fFtT", f.src[i-1]) >= 0, nested+1); i < 0 {
				return -1
			}
			continue
		}
		i++
	}
	return -1
}
