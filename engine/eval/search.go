package eval

import (
	"iter"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// Searching is hostile ground: a text and a pattern that were chosen together make
// the usual algorithms quadratic, and one pass over 64 MiB takes longer than a cancellation may. So
// every search runs in windows and charges for each, and a long pattern that keeps
// nearly matching is looked for with a rolling hash whose base no program knows.

const (
	searchWindow = 64 << 10
	shortPattern = 63       // the longest that the standard library finds in linear time
	chunkBytes   = 16 << 10 // of a pass over a text, between two charges
)

// indexOf returns the position of the first sub in s, or -1. It charges for the distance to it.
func (t *thread) indexOf(s, sub string) int {
	if len(sub) > shortPattern {
		return t.indexLong(s, sub)
	}
	for at := 0; ; {
		end := min(len(s), at+searchWindow)
		i := strings.Index(s[at:end], sub)
		if i >= 0 {
			t.burn(1 + int64(i)/16)
			return at + i
		}
		t.burn(1 + int64(end-at)/16)
		if end == len(s) {
			return -1
		}
		at = end - len(sub) + 1
	}
}

// indexLong looks for the beginning of sub, which is quick, and compares the rest. It
// changes to a rolling hash when the comparisons outgrow the progress.
func (t *thread) indexLong(s, sub string) int {
	head := sub[:shortPattern]
	for at, wasted := 0, 0; ; at++ {
		if len(s)-at < len(sub) {
			return -1
		}
		i := t.indexOf(s[at:len(s)-len(sub)+len(head)], head)
		if i < 0 {
			return -1
		}
		at += i
		if wasted > 4*at+searchWindow {
			if i = t.rollingIndex(s[at:], sub, false); i >= 0 {
				i += at
			}
			return i
		}
		t.burn(int64(len(sub)) / 64)
		if s[at:at+len(sub)] == sub {
			return at
		}
		wasted += len(sub)
	}
}

// lastIndexOf returns the position of the last sub in s, or -1. It charges for the distance from the end.
func (t *thread) lastIndexOf(s, sub string) int {
	if len(sub) > shortPattern {
		return t.rollingIndex(s, sub, true)
	}
	for end := len(s); ; {
		start := max(0, end-searchWindow)
		i := strings.LastIndex(s[start:end], sub)
		if i >= 0 {
			t.burn(1 + int64(end-start-i)/16)
			return start + i
		}
		t.burn(1 + int64(end-start)/16)
		if start == 0 {
			return -1
		}
		end = start + len(sub) - 1
	}
}

// count returns the number of non-overlapping occurrences of sub in s, at most limit of them unless limit is negative.
// The empty string occurs before every code point and at the end.
func (t *thread) count(s, sub string, limit int64) int64 {
	n := int64(0)
	switch {
	case sub == "":
		n = 1 + t.runeCount(s)
	case len(sub) == 1 && limit < 0:
		for chunk := range t.chunks(s) {
			n += int64(strings.Count(chunk, sub))
		}
	default:
		for n != limit {
			i := t.indexOf(s, sub)
			if i < 0 {
				break
			}
			s = s[i+len(sub):]
			n++
		}
	}
	if limit >= 0 {
		n = min(n, limit)
	}
	return n
}

// runeCount returns the number of code points in s, a byte that is no valid UTF-8 counting as one.
func (t *thread) runeCount(s string) int64 {
	n := 0
	for chunk := range t.chunks(s) {
		n += utf8.RuneCountInString(chunk)
	}
	return int64(n)
}

// chunks yields s in pieces that end between code points, each of which is charged for first.
func (t *thread) chunks(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(s) > chunkBytes {
			n := chunkBytes
			for back := range utf8.UTFMax {
				if utf8.RuneStart(s[chunkBytes-back]) {
					n -= back
					break
				}
			}
			t.burn(int64(n) / 16)
			if !yield(s[:n]) {
				return
			}
			s = s[n:]
		}
		if s != "" {
			t.burn(int64(len(s)) / 16)
			yield(s)
		}
	}
}

// The rolling hash is a polynomial over the field of integers modulo 2^61-1. (Modulo a
// power of two, whatever the base, there are short strings that collide.)
const rollPrime = 1<<61 - 1

var rollBase = mix(0x726f6c6c)%(rollPrime-512) + 257

func rollMul(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return rollFold(lo&rollPrime + (lo>>61 | hi<<3))
}

func rollFold(x uint64) uint64 {
	if x >= rollPrime {
		x -= rollPrime
	}
	return x
}

// rollingIndex returns the position of the first or, backwards, the last sub in s, or -1, in time
// linear in both. sub is not empty.
func (t *thread) rollingIndex(s, sub string, backwards bool) int {
	n, m := len(s), len(sub)
	if m > n {
		return -1
	}
	byteAt := func(s string, i int) uint64 {
		if backwards {
			i = len(s) - 1 - i
		}
		return uint64(s[i])
	}
	var want, have uint64
	out := uint64(1) // the base to the power m: the weight of the byte that leaves the window
	for i := range m {
		if i%4096 == 0 {
			t.burn(512)
		}
		want = rollFold(rollMul(want, rollBase) + byteAt(sub, i))
		have = rollFold(rollMul(have, rollBase) + byteAt(s, i))
		out = rollMul(out, rollBase)
	}
	for i := m; ; i++ {
		if have == want {
			at := i - m
			if backwards {
				at = n - i
			}
			t.burn(int64(m) / 64)
			if s[at:at+m] == sub {
				return at
			}
		}
		if i == n {
			return -1
		}
		if i%4096 == 0 {
			t.burn(512)
		}
		have = rollFold(rollMul(have, rollBase) + byteAt(s, i))
		have = rollFold(have + rollPrime - rollMul(out, byteAt(s, i-m)))
	}
}
