package eval

import (
	"hash/maphash"
	"math"
	"math/big"
	"math/bits"

	"callgate/engine/label"
)

// dict is a hash table that keeps insertion order; a set is one without
// values. A key keeps its label for its sources; the structure label st covers which keys there are.
//
// The layout is CPython's compact one: entries in order, and an open-addressing
// index into them. A few entries have no index: they are looked through.
type dict struct {
	ents  []entry
	index []uint32 // 1 + position in ents, 0 free, tombstone; length a power of two; nil of up to fewEntries
	live  int
	head  int // no entry before it is live
	st    label.ID
	iters int32
	mark  uint64
	next  *dict

	of *dictOf // what is particular about it; nil if nothing is
}

type entry struct {
	k, v val // k.k is kUnbound if the entry was deleted
	h    uint64
}

const tombstone = ^uint32(0)

// fewEntries is how many entries a dict has without an index, deleted ones among them.
const fewEntries = 8

// hashSeed makes every hash unpredictable: programs cannot construct collisions.
var hashSeed = maphash.MakeSeed()

var intSeed = maphash.String(hashSeed, "int") | 1

// mix spreads all 64 bits of an int under the seed (a 128-bit multiply, as wyhash does).
func mix(x uint64) uint64 {
	hi, lo := bits.Mul64(x^intSeed, 0x9e3779b97f4a7c15)
	hi, lo = bits.Mul64(hi^lo^intSeed, 0xe7037ed1a0b428db)
	return hi ^ lo
}

func hashString(s string) uint64 { return maphash.String(hashSeed, s) }

func hashFloat(f float64) uint64 {
	if i := int64(f); float64(i) == f && f >= -1<<63 && f < 1<<63 {
		return mix(uint64(i))
	}
	switch {
	case f != f: // all NaNs are equal
		f = math.NaN()
	case f == math.Trunc(f) && !math.IsInf(f, 0):
		i, _ := new(big.Float).SetFloat64(f).Int(nil)
		return hashBig(i)
	}
	return mix(math.Float64bits(f) ^ 0x5bd1e995)
}

func hashBig(i *big.Int) uint64 {
	return maphash.Bytes(hashSeed, i.Bytes()) ^ uint64(i.Sign()+1)
}

// hash returns the hash of a hashable value; an unhashable one is an error that carries
// the labels read. Equal values hash equally, ints and floats too.
func (t *thread) hash(v val) uint64 {
	switch v.k {
	case kString:
		t.charge(v.n / 64)
		return hashString(v.str())
	case kInt, kBool:
		if v.k == kBool {
			return mix(uint64(v.n) ^ 0x2545f4914f6cdd1d)
		}
		return mix(uint64(v.n))
	}
	return t.hashSlow(v, 0, v)
}

func (t *thread) hashSlow(v val, depth int, root val) uint64 {
	switch v.k {
	case kNone:
		return mix(0x6e6f6e65)
	case kInt:
		return mix(uint64(v.n))
	case kBool:
		return mix(uint64(v.n) ^ 0x2545f4914f6cdd1d)
	case kString:
		t.charge(v.n / 64)
		return hashString(v.str())
	case kBytes:
		t.charge(v.n / 64)
		return hashString(v.str()) ^ 0x62797465
	case kFloat:
		return hashFloat(v.float())
	case kBig:
		t.charge(int64(v.bigInt().BitLen()) / 64)
		return hashBig(v.bigInt())
	case kTuple:
		o := v.tuple()
		if o.hash != 0 {
			return o.hash
		}
		t.checkDepth(depth)
		t.charge(int64(len(o.items)))
		h := mix(uint64(len(o.items)) ^ 0x7475706c65)
		for _, e := range o.items {
			h = mix(h ^ t.hashSlow(e, depth+1, root))
		}
		o.hash = max(h, 1)
		return o.hash
	case kStruct:
		t.checkDepth(depth)
		o := v.record()
		t.charge(int64(len(o.items)))
		h := mix(uint64(len(o.items)) ^ 0x737472)
		for i, e := range o.items {
			h = mix(h ^ hashString(o.names[i]) ^ t.hashSlow(e, depth+1, root))
		}
		return h
	case kFunc, kBuiltin:
		return mix(uint64(uintptr(v.p)))
	case kObject:
		return t.hashObject(v, depth, root)
	}
	text := "unhashable type: "
	if v.k == kRange || v.k == kSeq || v.k == kModule {
		text = "unhashable: "
	}
	panic(t.errorf(t.deepLabel(root), "unhashable", "%s%s%s", t.prefix(), text, v.typeName()).advise(unhashableHint(v)))
}

// unhashableHint says what to use as a key instead.
func unhashableHint(v val) string {
	switch v.k {
	case kList, kRange, kSeq, kDeque:
		return "a key must not change: use tuple(x)"
	case kSet:
		return "a key must not change: use tuple(sorted(x))"
	case kDict:
		return "a key must not change: use tuple(x.items())"
	}
	return ""
}

// hashable reports whether a value can be a key.
func (t *thread) hashable(v val, depth int) bool {
	var parts []val
	switch v.k {
	case kList, kDict, kSet, kRange, kSeq, kModule, kDeque:
		return false
	case kTuple, kObject:
		if v.tuple().hash != 0 {
			return true
		}
		parts = v.tuple().items
	case kStruct:
		parts = v.record().items
	}
	t.checkDepth(depth)
	t.charge(int64(len(parts)))
	for _, e := range parts {
		if !t.hashable(e, depth+1) {
			return false
		}
	}
	return true
}

// find returns the position of a key in ents, or -1.
func (t *thread) find(d *dict, k val, h uint64) int {
	if len(d.index) == 0 {
		for i := range d.ents {
			if e := &d.ents[i]; e.h == h && e.k.k != kUnbound && t.keyEqual(e.k, k) {
				return i
			}
		}
		return -1
	}
	mask := uint64(len(d.index) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		switch j := d.index[i]; j {
		case 0:
			return -1
		case tombstone:
		default:
			e := &d.ents[j-1]
			if e.h == h && t.keyEqual(e.k, k) {
				return int(j - 1)
			}
		}
	}
}

// findText is find for a text.
func (d *dict) findText(k string, h uint64) int {
	if len(d.index) == 0 {
		for i := range d.ents {
			if e := &d.ents[i]; e.h == h && e.k.k == kString && e.k.str() == k {
				return i
			}
		}
		return -1
	}
	mask := uint64(len(d.index) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		switch j := d.index[i]; j {
		case 0:
			return -1
		case tombstone:
		default:
			if e := &d.ents[j-1]; e.h == h && e.k.k == kString && e.k.str() == k {
				return int(j - 1)
			}
		}
	}
}

// keyEqual compares two hashable values of equal hash. The labels of both are
// joined elsewhere: a stored key's into the structure, the looked-up key's by the caller.
func (t *thread) keyEqual(a, b val) bool {
	if a.k == b.k {
		switch a.k {
		case kString:
			t.charge(a.n / 64)
			return a.str() == b.str()
		case kInt, kBool:
			return a.n == b.n
		}
	}
	var l label.ID = label.BottomID
	return t.equal(a, b, &l, 0)
}

// put binds a key; the caller has applied the write rule and charged for growth with [thread.growDict].
func (t *thread) put(d *dict, k val, h uint64, v val) {
	if i := t.find(d, k, h); i >= 0 {
		d.ents[i].v = v
		return
	}
	t.insert(d, k, h, v)
}

// insert adds a key that is known to be absent.
func (t *thread) insert(d *dict, k val, h uint64, v val) {
	if len(d.ents) >= max(fewEntries, len(d.index)/2+len(d.index)/8) {
		t.rehash(d)
	}
	if len(d.ents) == cap(d.ents) {
		n := roomFor(len(d.ents)+1, cap(d.ents), entrySize)
		t.alloc(blockSize(int64(n) * entrySize))
		ents := make([]entry, len(d.ents), n)
		moveEntries(t, ents, d.ents)
		t.free(blockSize(int64(cap(d.ents)) * entrySize))
		d.ents = ents
	}
	d.ents = append(d.ents, entry{k, v, h})
	if len(d.index) != 0 {
		d.place(h, uint32(len(d.ents)))
	}
	d.live++
}

// size is what the dict takes.
func (d *dict) size() int64 {
	return dictSize + blockSize(int64(cap(d.ents))*entrySize) + stringSize(int64(len(d.index))*4)
}

func moveEntries(t *thread, to, from []entry) {
	for len(from) > movePiece {
		copy(to, from[:movePiece])
		to, from = to[movePiece:], from[movePiece:]
		t.poll()
	}
	copy(to, from)
}

const entrySize = 56

func (d *dict) place(h uint64, pos uint32) {
	mask := uint64(len(d.index) - 1)
	i := h & mask
	for d.index[i] != 0 && d.index[i] != tombstone {
		i = (i + 1) & mask
	}
	d.index[i] = pos
}

// rehash drops deleted entries, and makes the index fit.
func (t *thread) rehash(d *dict) {
	if d.live < fewEntries {
		d.compact()
		d.index = nil
		return
	}
	n := 16
	for n/2+n/8 <= d.live+d.live/2 {
		n *= 2
	}
	t.alloc(stringSize(int64(n) * 4))
	t.charge(int64(d.live) / 4)
	d.compact()
	t.free(stringSize(int64(len(d.index)) * 4))
	d.index = make([]uint32, n)
	for i := range d.ents {
		if i%movePiece == 0 {
			t.poll()
		}
		d.place(d.ents[i].h, uint32(i+1))
	}
}

// compact drops deleted entries; the index is to be made anew.
func (d *dict) compact() {
	if d.live == len(d.ents) {
		return
	}
	kept := d.ents[:0]
	for _, e := range d.ents {
		if e.k.k != kUnbound {
			kept = append(kept, e)
		}
	}
	clear(d.ents[len(kept):])
	d.ents, d.head = kept, 0
}

// remove deletes the entry at a position in ents. A dict that has become mostly holes is made
// anew, so that walking over it takes no longer than it should, and memory is given back.
func (t *thread) remove(d *dict, i int) val {
	v := d.remove(i)
	if n := len(d.ents); n > 64 && d.live < n/4 {
		d.compact()
		n = roomFor(d.live, 0, entrySize)
		t.alloc(blockSize(int64(n) * entrySize))
		d.ents = append(make([]entry, 0, n), d.ents...)
		t.rehash(d)
	}
	return v
}

func (d *dict) remove(i int) val {
	e := d.ents[i]
	if len(d.index) != 0 {
		mask := uint64(len(d.index) - 1)
		j := e.h & mask
		for d.index[j] != uint32(i+1) {
			j = (j + 1) & mask
		}
		d.index[j] = tombstone
	}
	d.ents[i] = entry{k: val{}}
	d.live--
	if d.live == 0 {
		d.wipe()
	}
	return e.v
}

func (d *dict) wipe() { d.ents, d.index, d.live, d.head = nil, nil, 0, 0 }

// each calls f for every entry in order until it returns false. f must not change d.
func (d *dict) each(f func(k, v val) bool) {
	for i := range d.ents {
		if d.ents[i].k.k != kUnbound && !f(d.ents[i].k, d.ents[i].v) {
			return
		}
	}
}

// first returns the position of the first live entry, or -1.
func (d *dict) first() int {
	for ; d.head < len(d.ents); d.head++ {
		if d.ents[d.head].k.k != kUnbound {
			return d.head
		}
	}
	return -1
}
