package eval

import "callgate/engine/label"

// leastTail is the length from which on a string that is added to gets room for more.
const leastTail = 4096

// concat returns a+b.
//
// A program that makes a text by adding to it, again and again, would copy all of it each time. So the thread
// remembers the string that was concatenated last, its tail, with the room behind it: what is added to that very string goes
// into the room. Nobody sees it, for the bytes behind a string belong to no other. Strings then share a block; each counts in
// the memory of the program as if it had one of its own, which is what it has after a snapshot.
func (t *thread) concat(a, b val, l label.ID) val {
	n := a.n + b.n
	switch {
	case a.n == 0:
		return b.with(l)
	case b.n == 0:
		return a.with(l)
	case n < leastTail:
		t.alloc(stringSize(n))
		t.charge(n / copiedByStep)
		return stringVal(a.str()+b.str(), l)
	}
	buf := t.tail
	added := a.is(buf)
	t.tail = nil
	if added && n <= int64(cap(buf)) {
		t.charge(b.n / copiedByStep)
	} else {
		room := stringSize(n)
		if added {
			room = stringSize(n + n/4)
		}
		t.alloc(room)
		t.charge(n / copiedByStep)
		buf = t.pourBytes(make([]byte, 0, room), a.str())
	}
	buf = t.pourBytes(buf, b.str())
	t.tail = buf
	return textVal(buf, l)
}

// pourBytes appends a string for which there is room.
func (t *thread) pourBytes(buf []byte, s string) []byte {
	for len(s) > pieceBytes {
		buf = append(buf, s[:pieceBytes]...)
		s = s[pieceBytes:]
		t.poll()
	}
	return append(buf, s...)
}
