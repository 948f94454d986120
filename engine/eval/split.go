package eval

import (
	"math"
	"slices"
	"unicode"
	"unicode/utf8"

	"callgate/engine/label"
)

// split is split and rsplit. The parts and how many there are depend on all of the receiver, the separator and maxsplit.
func (t *thread) split(c *call, right bool) val {
	s, l := c.recv.str(), t.shallow(c)
	limit := c.wantInt(t, 1, -1)
	if limit < 0 {
		limit = math.MaxInt64
	}
	base := len(t.parts)
	switch {
	case !c.none(0):
		if c.args[0].k != kString {
			panic(t.badArg(c, "got %s for separator, want string", c.args[0].typeName()))
		}
		sep := c.args[0].str()
		if sep == "" {
			panic(t.argError(c, "argument", "empty separator").of("ValueError").advise("list(s.elems()) gives the characters of s"))
		}
		t.splitOn(c, sep, limit, right, l)
	case right && limit < math.MaxInt64:
		t.splitSpaceRight(s, limit, l)
	default:
		t.splitSpace(s, limit, l)
	}
	return listVal(&list{items: t.gather(base), st: l}, l)
}

// splitOn keeps the parts between separators. From the right, the separators are those
// that are found from the left, of which the first are not used.
func (t *thread) splitOn(c *call, sep string, limit int64, right bool, l label.ID) {
	s := c.recv.str()
	skip := int64(0)
	if right && limit < math.MaxInt64 {
		skip = max(0, t.count(s, sep, -1)-limit)
	}
	for from, n := 0, int64(0); ; {
		i := -1
		if n < limit {
			i = t.indexOf(s[from:], sep)
		}
		switch {
		case i < 0 && len(s) == int(c.recv.n):
			t.keep(c.recv.with(l))
			return
		case i < 0:
			t.keepPart(s, l)
			return
		case skip > 0:
			skip--
			from += i + len(sep)
		default:
			t.keepPart(s[:from+i], l)
			s = s[from+i+len(sep):]
			from = 0
			n++
		}
	}
}

// keepPart keeps a copy of a part.
func (t *thread) keepPart(s string, l label.ID) {
	t.burn(1)
	t.keep(stringVal(t.copied(s), l))
}

// splitSpace keeps the runs of what is no white space; after limit of them, all the rest as one.
func (t *thread) splitSpace(s string, limit int64, l label.ID) {
	for n := int64(0); ; n++ {
		s = s[t.spaceRun(s, true):]
		if s == "" {
			return
		}
		if n == limit {
			t.keepPart(s, l)
			return
		}
		end := t.spaceRun(s, false)
		t.keepPart(s[:end], l)
		s = s[end:]
	}
}

// splitSpaceRight is splitSpace from the right.
func (t *thread) splitSpaceRight(s string, limit int64, l label.ID) {
	base := len(t.parts)
	for n := int64(0); ; n++ {
		s = s[:t.spaceRunLeft(s, true)]
		if s == "" {
			break
		}
		if n == limit {
			t.keepPart(s, l)
			break
		}
		start := t.spaceRunLeft(s, false)
		t.keepPart(s[start:], l)
		s = s[:start]
	}
	slices.Reverse(t.parts[base:])
}

var asciiSpace = [256]bool{'\t': true, '\n': true, '\v': true, '\f': true, '\r': true, ' ': true}

// spaceRun returns the length of the run of white space, or of what is none, that s begins with.
func (t *thread) spaceRun(s string, space bool) int {
	for i := 0; ; {
		from, stop := i, min(len(s), i+chunkBytes)
		for i < stop {
			b, w := s[i], 1
			is := asciiSpace[b]
			if b >= utf8.RuneSelf {
				var r rune
				r, w = utf8.DecodeRuneInString(s[i:])
				is = unicode.IsSpace(r)
			}
			if is != space {
				break
			}
			i += w
		}
		t.charge(int64(i-from) / 16)
		if i < stop || i >= len(s) {
			return i
		}
	}
}

// spaceRunLeft returns where the run that s ends with begins.
func (t *thread) spaceRunLeft(s string, space bool) int {
	for i := len(s); ; {
		from, stop := i, max(0, i-chunkBytes)
		for i > stop {
			r, w := utf8.DecodeLastRuneInString(s[:i])
			if unicode.IsSpace(r) != space {
				break
			}
			i -= w
		}
		t.charge(int64(from-i) / 16)
		if i > stop || i <= 0 {
			return i
		}
	}
}

// stringSplitlines splits at "\n", "\r\n" and "\r".
func stringSplitlines(t *thread, c *call) val {
	s, l := c.recv.str(), t.shallow(c)
	keepends := c.wantBool(t, 0, false)
	base := len(t.parts)
	nl, cr := -1, -1 // where the next ones are, len(s) if there are no more
	for at := 0; at < len(s); {
		if nl < at {
			nl = t.indexFrom(s, "\n", at)
		}
		if cr < at {
			cr = t.indexFrom(s, "\r", at)
		}
		end := min(nl, cr)
		next := min(end+1, len(s))
		if cr == end && nl == next {
			next = min(nl+1, len(s))
		}
		if keepends {
			end = next
		}
		t.keepPart(s[at:end], l)
		at = next
	}
	return listVal(&list{items: t.gather(base), st: l}, l)
}

// indexFrom returns the position of the first sub in s[from:], or len(s).
func (t *thread) indexFrom(s, sub string, from int) int {
	if i := t.indexOf(s[from:], sub); i >= 0 {
		return from + i
	}
	return len(s)
}
