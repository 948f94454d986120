package eval

import (
	"unicode/utf8"

	"callgate/engine/label"
)

// indexed reports whether programs can ask for the sequence's length and its elements by index.
func (s *seq) indexed() bool { return s.mode == seqElems || s.mode == seqElemOrds }

// len returns the number of elements. Code points are counted each time.
func (s *seq) len(t *thread) int64 {
	if s.mode == seqCodepoints || s.mode == seqCodepointOrds {
		return t.runeCount(s.s)
	}
	return int64(len(s.s))
}

// at returns element i, which must exist, of a sequence that is indexed.
func (s *seq) at(t *thread, i int64) val {
	at := int(i)
	v, _ := s.next(t, &at)
	return v
}

// next returns the element that begins at byte *at, and moves *at to the next one. Elements have the label Bottom.
func (s *seq) next(t *thread, at *int) (val, bool) {
	i := *at
	if i >= len(s.s) {
		return val{}, false
	}
	b := s.s[i]
	switch s.mode {
	case seqElemOrds, seqBytes:
		*at = i + 1
		return intVal(int64(b), label.BottomID), true
	case seqElems:
		*at = i + 1
		return stringVal(oneByte[b], label.BottomID), true
	}
	r, w := rune(b), 1
	if b >= utf8.RuneSelf {
		r, w = utf8.DecodeRuneInString(s.s[i:])
	}
	*at = i + w
	if s.mode == seqCodepointOrds {
		return intVal(int64(r), label.BottomID), true
	}
	if b < utf8.RuneSelf {
		return stringVal(oneByte[b], label.BottomID), true
	}
	t.alloc(16)
	return stringVal(string(r), label.BottomID), true
}

// method returns the name of the method that makes such a sequence.
func (s *seq) method() string {
	return [...]string{"elems", "elem_ords", "codepoints", "codepoint_ords", "elems"}[s.mode]
}
