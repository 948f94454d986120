package eval

import (
	"unsafe"

	"callgate/engine/label"
)

// The memory budget counts live bytes. Every allocation is charged before it
// is made; when what was charged passes the mark, collect traces from the roots what
// is alive and forgets the rest. The roots are the session's globals, the arena of frames
// and the saved activations: no value lives only in a local variable of Go across a call.

// collect measures live memory; more bytes are about to be allocated.
func (t *thread) collect(more int64) {
	t.peak = max(t.peak, min(t.heap, t.maxHeap))
	if more > t.maxHeap {
		panic(t.limit("memory", more, t.maxHeap))
	}
	tr := tracer{epoch: t.s.nextEpoch(), seen: map[unsafe.Pointer]struct{}{}}
	tr.session(t)
	live := tr.bytes + more
	t.burn(tr.work / 8)
	if live > t.maxHeap {
		t.peak = t.maxHeap
		panic(t.limit("memory", live, t.maxHeap))
	}
	t.heap = live
	// Trace again when half of what is left has been used, so that the work stays in proportion.
	t.heapMark = min(t.maxHeap, live+max((t.maxHeap-live)/2, t.maxHeap/64))
}

// tracer sums the sizes of everything reachable. Each object counts once.
type tracer struct {
	epoch uint32
	bytes int64
	work  int64
	seen  map[unsafe.Pointer]struct{} // long strings and big ints
	todo  []val
}

// session counts what a session and a running thread hold.
func (tr *tracer) session(t *thread) {
	for _, c := range t.s.cells {
		tr.cell(c)
	}
	tr.bytes += t.tab.Bytes()
	for _, c := range t.arena.full {
		tr.bytes += int64(len(c.vals)) * valSize
		tr.vals(c.vals[:c.used])
	}
	tr.bytes += int64(len(t.arena.chunk)+len(t.arena.spare)) * valSize
	tr.vals(t.arena.chunk[:t.arena.used])
	tr.bytes += int64(t.depth) * goFrameBytes
	tr.vals(t.iters)
	tr.bytes += int64(cap(t.held)) * valSize
	tr.vals(t.held)
	tr.val(t.ret)
	for _, a := range t.frames {
		if a.fn != nil {
			tr.val(funcVal(a.fn, label.BottomID))
		}
	}
	for _, p := range t.s.printed {
		tr.bytes += p.bytes
	}
	tr.drain()
}

// goFrameBytes is what a call of a program's function takes of Go's stack, about.
const goFrameBytes = 1024

func (tr *tracer) cell(c *cell) {
	if c.mark != tr.epoch {
		c.mark = tr.epoch
		tr.bytes += 64
		tr.val(c.v)
	}
}

func (tr *tracer) vals(vs []val) {
	tr.work += int64(len(vs))
	for _, v := range vs {
		tr.val(v)
	}
}

// val counts a value, or queues it if it has parts.
func (tr *tracer) val(v val) {
	switch v.k {
	case kString, kBytes:
		if v.n <= 64 {
			if v.n > 1 {
				tr.bytes += sizeClass(v.n)
			}
			return
		}
		if tr.first(v.stringAt()) {
			tr.bytes += sizeClass(v.n)
		}
	case kBig:
		if tr.first(v.p) {
			tr.bytes += bigSize(v.bigInt().BitLen())
		}
	case kTuple, kList, kDict, kSet, kStruct, kFunc, kBuiltin, kRange, kSeq, kCell:
		tr.todo = append(tr.todo, v)
	}
}

func (tr *tracer) first(p unsafe.Pointer) bool {
	if _, ok := tr.seen[p]; ok {
		return false
	}
	tr.seen[p] = struct{}{}
	return true
}

// drain visits what is queued: a loop, so that deep data cannot overflow the stack.
func (tr *tracer) drain() {
	for len(tr.todo) > 0 {
		v := tr.todo[len(tr.todo)-1]
		tr.todo = tr.todo[:len(tr.todo)-1]
		tr.visit(v)
	}
}

func (tr *tracer) visit(v val) {
	switch v.k {
	case kTuple:
		if o := v.tuple(); o.mark != tr.epoch {
			o.mark = tr.epoch
			tr.bytes += 48 + sizeClass(int64(cap(o.items))*valSize)
			tr.vals(o.items)
		}
	case kList:
		if o := v.list(); o.mark != tr.epoch {
			o.mark = tr.epoch
			tr.bytes += 48 + sizeClass(int64(cap(o.items))*valSize)
			tr.vals(o.items)
		}
	case kDict, kSet:
		if o := v.dict(); o.mark != tr.epoch {
			o.mark = tr.epoch
			tr.bytes += 96 + sizeClass(int64(cap(o.ents))*entrySize) + int64(len(o.index))*4
			tr.work += int64(len(o.ents))
			for _, e := range o.ents {
				tr.val(e.k)
				tr.val(e.v)
			}
		}
	case kStruct:
		if o := v.record(); o.mark != tr.epoch {
			o.mark = tr.epoch
			tr.bytes += 64 + sizeClass(int64(cap(o.items))*(valSize+16))
			tr.vals(o.items)
		}
	case kFunc:
		if o := v.fn(); o.mark != tr.epoch {
			o.mark = tr.epoch
			tr.bytes += 96 + int64(len(o.defaults))*valSize + int64(len(o.free))*8
			tr.vals(o.defaults)
			for _, c := range o.free {
				tr.cell(c)
			}
		}
	case kBuiltin:
		tr.bytes += 64
		tr.val(v.builtin().recv)
	case kRange, kSeq:
		tr.bytes += 32
		if v.k == kSeq {
			tr.val(stringVal(v.seq().s, label.BottomID))
		}
	case kCell:
		tr.cell(v.cell())
	}
}

// sizeClass rounds a size up as Go's allocator does, about.
func sizeClass(n int64) int64 {
	switch {
	case n <= 0:
		return 0
	case n <= 1024:
		return (n + 15) &^ 15
	case n <= 32768:
		return n + n/8
	}
	return (n + 8191) &^ 8191
}

func bigSize(bits int) int64 { return 48 + sizeClass(int64(bits)/8+8) }
