package eval

import (
	"unsafe"

	"callgate/engine/label"
)

// todo queues the containers that a walk over data has met, each once. They are
// marked, and linked, through fields of their own: a walk over any amount of data takes no memory, and depth and
// cycles mean nothing to it. Only one walk may be under way in a session.
type todo struct {
	epoch   uint64 // the mark of this walk; 0 if there is none
	tuples  *tuple
	lists   *list
	dicts   *dict
	records *record
	funcs   *function
}

// begin starts a walk.
func (q *todo) begin(s *Session) {
	s.epoch++
	q.epoch = s.epoch
}

func (q *todo) busy() bool { return q.epoch != 0 }

// push queues a container, unless the walk has met it before.
func (q *todo) push(v val) {
	switch v.k {
	case kTuple, kObject:
		if o := v.tuple(); o.mark != q.epoch {
			o.mark, o.next, q.tuples = q.epoch, q.tuples, o
		}
	case kList, kDeque:
		if o := v.list(); o.mark != q.epoch {
			o.mark, o.next, q.lists = q.epoch, q.lists, o
		}
	case kDict, kSet:
		if o := v.dict(); o.mark != q.epoch {
			o.mark, o.next, q.dicts = q.epoch, q.dicts, o
		}
	case kStruct:
		if o := v.record(); o.mark != q.epoch {
			o.mark, o.next, q.records = q.epoch, q.records, o
		}
	case kFunc:
		if o := v.fn(); o.mark != q.epoch {
			o.mark, o.next, q.funcs = q.epoch, q.funcs, o
		}
	}
}

// pop takes a container from the queue. A dict may have been queued as a set: it has no labels of its own; a tuple as an object, a list as a deque.
func (q *todo) pop() (val, bool) {
	switch {
	case q.tuples != nil:
		o := q.tuples
		q.tuples, o.next = o.next, nil
		return val{p: unsafe.Pointer(o), k: kTuple, lab: label.BottomID}, true
	case q.lists != nil:
		o := q.lists
		q.lists, o.next = o.next, nil
		return listVal(o, label.BottomID), true
	case q.dicts != nil:
		o := q.dicts
		q.dicts, o.next = o.next, nil
		return dictVal(o, label.BottomID), true
	case q.records != nil:
		o := q.records
		q.records, o.next = o.next, nil
		return recordVal(o, label.BottomID), true
	case q.funcs != nil:
		o := q.funcs
		q.funcs, o.next = o.next, nil
		return funcVal(o, label.BottomID), true
	}
	return val{}, false
}

// end ends a walk.
func (q *todo) end() { q.epoch = 0 }

// drop ends a walk that an error has cut short, so that nothing stays linked.
func (q *todo) drop() {
	for q.busy() {
		if _, ok := q.pop(); !ok {
			q.end()
		}
	}
}

// tracer sums the sizes of everything reachable. Each object counts once.
type tracer struct {
	t     *thread
	q     *todo
	bytes int64
	seen  seen
	texts map[val]struct{} // the long ones
}

// trace returns the bytes of what a session and a running thread hold.
func (t *thread) trace() int64 {
	tr := tracer{t: t, q: &t.todo, texts: map[val]struct{}{}}
	tr.q.begin(t.s)
	tr.session()
	for {
		v, ok := tr.q.pop()
		if !ok {
			break
		}
		tr.visit(v)
	}
	tr.q.end()
	if _, ok := tr.texts[textVal(t.tail, label.TopID).bare()]; !ok {
		t.tail = nil
	}
	return tr.bytes
}

func (tr *tracer) session() {
	t := tr.t
	for _, c := range t.s.cells {
		tr.bytes += nameBytes + stringSize(int64(len(c.name)))
		tr.cell(c)
	}
	for _, v := range t.s.pre {
		tr.val(v)
	}
	t.tabSeen = t.tab.Bytes()
	tr.bytes += t.tabSeen + int64(len(t.s.permits.more))*permitBytes
	tr.bytes += blockSize(int64(cap(t.s.printed) * printSize))
	for i := range t.s.printed {
		tr.bytes += t.s.printed[i].bytes
	}
	tr.execution(&t.execution)
	tr.strands()
}

// execution counts what the program, or a strand of it, has on its way.
func (tr *tracer) execution(e *execution) {
	for _, c := range e.arena.full {
		tr.bytes += blockSize(int64(len(c.vals)) * valSize)
		tr.vals(c.vals[:c.used])
	}
	tr.bytes += int64(len(e.arena.chunk)+len(e.arena.spare)+cap(e.held)+cap(e.parts)) * valSize
	tr.vals(e.arena.chunk[:e.arena.used])
	tr.bytes += e.stackTop + e.spread + int64(cap(e.frames))*activationSize
	tr.vals(e.iters)
	tr.vals(e.held)
	tr.val(e.ret)
	tr.function(e.fn)
	for i := range e.frames {
		tr.function(e.frames[i].fn)
	}
	for _, c := range e.pool[:e.natives] { // what *args and **kwargs were spread into
		tr.vals(c.args)
		for _, a := range c.kw {
			tr.val(a.v)
		}
	}
}

func (tr *tracer) function(fn *function) {
	if fn != nil {
		tr.q.push(funcVal(fn, label.BottomID))
	}
}

func (tr *tracer) cell(c *cell) {
	if c.mark != tr.q.epoch {
		c.mark = tr.q.epoch
		tr.bytes += cellSize
		tr.val(c.v)
	}
}

func (tr *tracer) vals(vs []val) {
	for len(vs) > tracePiece {
		tr.vals(vs[:tracePiece])
		vs = vs[tracePiece:]
	}
	tr.t.poll()
	for i := range vs {
		tr.val(vs[i])
	}
}

// tracePiece is how many values are looked at between two looks at cancellation.
const tracePiece = 16 << 10

// val counts a value, or queues it if it has parts.
func (tr *tracer) val(v val) {
	switch v.k {
	case kString, kBytes:
		switch {
		case v.n <= 1: // there are constants
		case v.n >= leastTail:
			tr.long(v)
		case tr.seen.add(v.p):
			tr.bytes += max(stringSize(v.n), 16) // short ones share blocks of 16 bytes
		}
	case kBig:
		if tr.seen.add(v.p) {
			tr.bytes += bigSize(int64(v.bigInt().BitLen()))
		}
	case kRange:
		if tr.seen.add(v.p) {
			tr.bytes += rangeSize
		}
	case kSeq:
		if tr.seen.add(v.p) {
			tr.bytes += seqSize
			tr.val(stringVal(v.seq().s, label.BottomID))
		}
	case kBuiltin:
		if b := v.builtin(); b.recv.k != kUnbound && tr.seen.add(v.p) {
			tr.bytes += builtinSize
			tr.val(b.recv)
		}
	case kCell:
		tr.cell(v.cell())
	case kTuple, kList, kDict, kSet, kStruct, kFunc:
		tr.q.push(v)
	case kDeque:
		if o := v.deque(); o.mark != tr.q.epoch {
			tr.bytes += dequeSize - listSize + blockSize(int64(cap(o.block))*valSize) - blockSize(int64(cap(o.items))*valSize)
			tr.q.push(v)
		}
	case kObject:
		if o := v.object(); o.mark != tr.q.epoch {
			tr.bytes += objectSize - tupleSize
			tr.q.push(v)
			if o.of != nil {
				tr.val(objectVal(o.of, label.BottomID))
			}
			if o.re != nil && tr.seen.add(unsafe.Pointer(o.re)) {
				tr.bytes += o.re.bytes
			}
		}
	}
}

// long counts a long string. There may be others that begin at the same place.
func (tr *tracer) long(v val) {
	text := v.bare()
	if _, ok := tr.texts[text]; !ok {
		tr.texts[text] = struct{}{}
		tr.bytes += stringSize(v.n)
	}
}

func (tr *tracer) visit(v val) {
	switch v.k {
	case kTuple:
		o := v.tuple()
		tr.bytes += tupleSize + blockSize(int64(cap(o.items))*valSize)
		tr.vals(o.items)
	case kList:
		o := v.list()
		tr.bytes += listSize + blockSize(int64(cap(o.items))*valSize)
		tr.vals(o.items)
	case kDict:
		o := v.dict()
		tr.bytes += o.size()
		if o.of != nil && o.of.factory.k != kUnbound {
			tr.bytes += dictOfSize
			tr.val(o.of.factory)
		}
		for i := range o.ents {
			if i%tracePiece == 0 {
				tr.t.poll()
			}
			tr.val(o.ents[i].k)
			tr.val(o.ents[i].v)
		}
	case kStruct:
		o := v.record()
		tr.bytes += recordBytes(int64(len(o.items)))
		tr.vals(o.items)
		for _, n := range o.names {
			tr.val(stringVal(n, label.BottomID))
		}
	case kFunc:
		o := v.fn()
		tr.bytes += functionBytes(len(o.defaults), len(o.free))
		tr.vals(o.defaults)
		for _, c := range o.free {
			tr.cell(c)
		}
		if o.mod.mark != tr.q.epoch { // its program stays, with all that was compiled
			o.mod.mark = tr.q.epoch
			tr.bytes += o.mod.bytes()
		}
	}
}

// The sizes of objects of fixed size, as Go allocates them; a test measures them.
const (
	valSize        = 24
	tupleSize      = 48
	pairSize       = tupleSize + 2*valSize
	listSize       = 48
	dictSize       = 96
	recordSize     = 64
	rangeSize      = 32
	seqSize        = 24
	builtinSize    = 48
	cellSize       = 48
	functionSize   = 80
	activationSize = 16
	nameBytes      = 128 // of a name of a session, beside its cell: an entry of a map, a place in a list
	permitBytes    = 64
)

func functionBytes(defaults, free int) int64 {
	return functionSize + blockSize(int64(defaults)*valSize) + blockSize(int64(free)*8)
}

// recordBytes is the size of a struct, without its names themselves.
func recordBytes(fields int64) int64 {
	return recordSize + blockSize(fields*valSize) + blockSize(fields*16)
}

// bigSize is what an int of so many bits takes: its header, its words, and the words of room that math/big adds.
func bigSize(bits int64) int64 { return 32 + stringSize(8*(bits/64+6)) }

// blockSize is what a block of n bytes with pointers takes: from 512 bytes on it has a header.
func blockSize(n int64) int64 {
	if n > 512 && n < largestClass {
		n += 8
	}
	return stringSize(n)
}

// stringSize is what a block of n bytes without pointers takes, rounded up as Go's allocator does.
func stringSize(n int64) int64 {
	switch {
	case n <= 0:
		return 0
	case n <= 1024:
		return int64(sizeClasses[classOf[(n+7)/8]])
	case n <= largestClass:
		return int64(sizeClasses[classOf[128+(n-1024+127)/128]])
	}
	return (n + 8191) &^ 8191
}

const largestClass = 32768

// sizeClasses are those of Go's allocator.
var sizeClasses = [...]uint16{
	0, 8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256, 288, 320, 352, 384, 416, 448, 480, 512, 576, 640, 704,
	768, 896, 1024, 1152, 1280, 1408, 1536, 1792, 2048, 2304, 2688, 3072, 3200, 3456, 4096, 4864, 5376, 6144, 6528, 6784, 6912, 8192,
	9472, 9728, 10240, 10880, 12288, 13568, 14336, 16384, 18432, 19072, 20480, 21760, 24576, 27264, 28672, 32768,
}

// classOf finds the class of a size: in steps of 8 bytes up to 1024, of 128 from there on.
var classOf = func() (t [128 + (largestClass-1024)/128 + 1]uint8) {
	c := 0
	for i := range t {
		n := 8 * i
		if i > 128 {
			n = 1024 + 128*(i-128)
		}
		for int(sizeClasses[c]) < n {
			c++
		}
		t[i] = uint8(c)
	}
	return t
}()

// seen is a set of addresses: a bit for each 16 bytes of the regions of memory that it has met, which
// is less than a hundredth of them.
type seen struct {
	blocks map[uintptr]*seenBlock
	last   uintptr
	block  *seenBlock
}

type seenBlock [seenRegion / 16 / 64]uint64

const seenRegion = 64 << 10

// add adds an address and reports whether it is new.
func (s *seen) add(p unsafe.Pointer) bool {
	at := uintptr(p) / seenRegion
	if at != s.last || s.block == nil {
		if s.blocks == nil {
			s.blocks = map[uintptr]*seenBlock{}
		}
		b := s.blocks[at]
		if b == nil {
			b = &seenBlock{}
			s.blocks[at] = b
		}
		s.last, s.block = at, b
	}
	i := uintptr(p) % seenRegion / 16
	if s.block[i/64]>>(i%64)&1 != 0 {
		return false
	}
	s.block[i/64] |= 1 << (i % 64)
	return true
}
