package eval

import (
	"math"
	"strings"

	"callgate/engine/label"
)

// slice3 evaluates x[lo:hi:step].
func (t *thread) slice3(x, lo, hi, step val, p pos) val {
	l := t.under(t.under(t.under(t.join(x.lab, t.structure(x)), lo.lab), hi.lab), step.lab)
	n := t.length(x)
	if n < 0 || x.k == kDict || x.k == kSet || x.k == kSeq {
		panic(t.fail(p, l, "type", "invalid slice operand %s", x.typeName()))
	}
	r := t.bounds(n, lo, hi, step, l, p)
	return t.pick(x, &r, l)
}

// bounds returns the indices that a slice of a sequence of n elements is of. They begin within it.
func (t *thread) bounds(n int64, lo, hi, step val, l label.ID, p pos) rangeSeq {
	arg := func(v val, name string, def int64) int64 {
		switch v.k {
		case kNone:
			return def
		case kInt:
			return v.n
		case kBig:
			if v.bigInt().Sign() < 0 {
				return math.MinInt64
			}
			return math.MaxInt64
		}
		panic(t.fail(p, l, "type", "invalid %s: got %s, want int", name, v.typeName()))
	}
	st := arg(step, "slice step", 1)
	if st == 0 {
		panic(t.fail(p, l, "range", "zero is not a valid slice step"))
	}
	clip := func(i, low, high int64) int64 {
		if i < 0 {
			i = max(i+n, math.MinInt64/2)
		}
		return min(max(i, low), high)
	}
	var i, j int64
	if st > 0 {
		i = clip(arg(lo, "start index", 0), 0, n)
		j = max(i, clip(arg(hi, "end index", n), 0, n))
	} else {
		i, j = n-1, -1
		if lo.k != kNone {
			i = clip(arg(lo, "start index", 0), -1, n-1)
		}
		if hi.k != kNone {
			j = clip(arg(hi, "end index", 0), -1, math.MaxInt64/2)
		}
		i = max(i, j)
	}
	r := rangeSeq{start: i, stop: j, step: st}
	r.count()
	return r
}

// pick returns the elements of a sequence at the indices of r.
func (t *thread) pick(x val, r *rangeSeq, l label.ID) val {
	switch x.k {
	case kString, kBytes:
		s := x.str()
		t.alloc(stringSize(r.n))
		var out strings.Builder
		out.Grow(int(r.n))
		if r.step == 1 {
			t.charge(r.n / copiedByStep)
			t.pour(&out, s[r.start:r.start+r.n])
		} else {
			t.charge(r.n / 16)
			for i := range r.n {
				if i%movePiece == 0 {
					t.poll()
				}
				out.WriteByte(s[r.at(i)])
			}
		}
		if x.k == kBytes {
			return bytesVal(out.String(), l)
		}
		return stringVal(out.String(), l)
	case kRange:
		in := x.rng()
		out := &rangeSeq{n: r.n}
		var exact [3]bool
		out.start, exact[0] = in.bound(r.start)
		out.stop, exact[1] = in.bound(r.stop)
		out.step, exact[2] = mulInt(in.step, r.step)
		if exact != [3]bool{true, true, true} { // the same elements, in bounds that can be told
			out = &rangeSeq{step: 1, n: r.n}
			if r.n > 0 {
				out.start = in.at(r.start)
				if step, ok := mulInt(in.step, r.step); ok {
					out.step = step // else only one element can be picked, and any step will do
				}
				out.stop = in.at(r.at(r.n-1)) + sign(out.step)
			}
		}
		return rangeVal(out, l)
	}
	t.alloc(listSize + blockSize(r.n*valSize))
	t.charge(r.n / 4)
	items := t.items(x)
	out := make([]val, r.n)
	for i := range out {
		if i%movePiece == 0 {
			t.poll()
		}
		out[i] = items[r.at(int64(i))]
	}
	if x.k == kTuple {
		return tupleVal(out, l)
	}
	return listVal(&list{items: out, st: l}, l)
}

func sign(i int64) int64 {
	if i < 0 {
		return -1
	}
	return 1
}

// count sets n from start, stop and step: to -1 if there are more elements than an int64 can count.
func (r *rangeSeq) count() {
	var n uint64
	switch {
	case r.step > 0 && r.start < r.stop:
		n = (uint64(r.stop)-uint64(r.start)-1)/uint64(r.step) + 1
	case r.step < 0 && r.start > r.stop:
		n = (uint64(r.start)-uint64(r.stop)-1)/uint64(-r.step) + 1
	}
	r.n = int64(n)
	if n > math.MaxInt64 {
		r.n = -1
	}
}

func (r *rangeSeq) at(i int64) int64 { return r.start + i*r.step }

// bound is at, of any index; ok is false if it does not fit.
func (r *rangeSeq) bound(i int64) (x int64, ok bool) {
	m, ok := mulInt(i, r.step)
	x = r.start + m
	return x, ok && (x > r.start) == (m > 0)
}

func (r *rangeSeq) contains(x int64) bool {
	if r.n == 0 {
		return false
	}
	last := r.at(r.n - 1)
	lo, hi := min(r.start, last), max(r.start, last)
	return lo <= x && x <= hi && (uint64(x)-uint64(r.start))%uint64(max(r.step, -r.step)) == 0
}
