package eval

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"callgate/engine/label"
)

// Restore makes a session again from what [Session.Snapshot] returned. Its programs are compiled as they
// were; what their builtins were permitted is asked for again.
//
// Host, tools and limits are c's. Every tool that the session had must be among them, with at least the parameters that it had,
// in their order. Every input that it had must be named in c.Inputs too, but its value is the session's own; inputs
// that it did not have are added.
//
// Whatever b is, the result is a sound session or a [*SnapshotError]; it takes no more than
// twice the memory budget of c. b must come from where the session could have been kept itself: the labels in it are believed.
func Restore(c Config, b []byte) (s *Session, err error) {
	defer func() {
		if r := recover(); r != nil {
			s, err = nil, snapshotFault(r)
		}
	}()
	if err := checkSnapshot(b); err != nil {
		return nil, err
	}
	s, err = NewSession(Config{Host: c.Host, Tools: c.Tools, Limits: c.Limits})
	if err != nil {
		return nil, err
	}
	r := snapshotReader{s: s, b: b[:len(b)-sha256.Size], size: len(b), room: restoreRoom(s.limits)}
	r.t = s.thread(context.Background(), label.BottomID)
	r.t.maxSteps, r.t.deadline = r.room, r.t.started.Add(time.Hour) // its work is in proportion to what it makes
	live := r.session(c)
	for _, in := range c.Inputs {
		if slices.Contains(r.inputs, in.Name) {
			continue
		}
		if err := s.addInput(in); err != nil {
			return nil, err
		}
	}
	s.live = live
	return s, nil
}

// checkSnapshot looks at what is around the contents.
func checkSnapshot(b []byte) error {
	if !bytes.HasPrefix(b, []byte(snapshotMagic)) {
		return &SnapshotError{"corrupt", "this is no snapshot of a session"}
	}
	if len(b) < len(snapshotMagic)+1+sha256.Size {
		return &SnapshotError{"corrupt", fmt.Sprintf("it ends after %d bytes", len(b))}
	}
	if v := b[len(snapshotMagic)]; v != snapshotVersion {
		return &SnapshotError{"version", fmt.Sprintf("it has version %d of the format, want %d", v, snapshotVersion)}
	}
	end := len(b) - sha256.Size
	if sum := sha256.Sum256(b[:end]); !bytes.Equal(sum[:], b[end:]) {
		return &SnapshotError{"corrupt", "its digest does not fit: bytes are missing or were changed"}
	}
	return nil
}

// snapshotReader makes a session from a snapshot. Objects and leaves are vals from the start, made by the constructors, so
// that a reference cannot claim a kind that its object has not.
type snapshotReader struct {
	s    *Session
	t    *thread // for hashing
	b    []byte  // what is left
	size int
	room int64 // bytes that may still be used

	last      label.ID // of the value read last
	leaves    []val
	programs  []*Program
	instances []*instance
	objects   []val
	hashed    []bool // of tuples: whether the hash was known
	indices   []int  // of dicts: the length of the index
	inputs    []string
}

func (r *snapshotReader) fail(format string, args ...any) {
	panic(&SnapshotError{"corrupt", fmt.Sprintf("at byte %d: ", r.size-sha256.Size-len(r.b)) + fmt.Sprintf(format, args...)})
}

// uses counts n bytes before they are allocated.
func (r *snapshotReader) uses(n int64) {
	if n < 0 || n > r.room {
		panic(&SnapshotError{"size", fmt.Sprintf("the session would take more than %d bytes, twice its memory budget", restoreRoom(r.s.limits))})
	}
	r.room -= n
}

// usesN counts n things of size bytes each.
func (r *snapshotReader) usesN(n int, size int64) {
	if int64(n) > r.room/size {
		r.uses(math.MaxInt64)
	}
	r.uses(blockSize(int64(n) * size))
}

func (r *snapshotReader) byte() byte {
	if len(r.b) == 0 {
		r.fail("the data ends too early")
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *snapshotReader) number() uint64 {
	n, w := binary.Uvarint(r.b)
	r.varint(w)
	return n
}

func (r *snapshotReader) signed() int64 {
	n, w := binary.Varint(r.b)
	r.varint(w)
	return n
}

func (r *snapshotReader) varint(w int) {
	if w <= 0 || w > 1 && r.b[w-1] == 0 {
		r.fail("got no number")
	}
	r.b = r.b[w:]
}

// upTo reads a number of at most n.
func (r *snapshotReader) upTo(n int) int {
	i := r.number()
	if i > uint64(n) {
		r.fail("got %d, want at most %d", i, n)
	}
	return int(i)
}

// bytes reads a number of bytes.
func (r *snapshotReader) bytes() int64 {
	n := r.number()
	if n > math.MaxInt64 {
		r.fail("got %d bytes", n)
	}
	return int64(n)
}

// count reads how many things follow, of at least a byte each.
func (r *snapshotReader) count() int {
	n := r.number()
	if n > uint64(len(r.b)) {
		r.fail("got %d as a length, with %d bytes left", n, len(r.b))
	}
	return int(n)
}

// index reads a number below n.
func (r *snapshotReader) index(n int, what string) int {
	i := r.number()
	if i >= uint64(n) {
		r.fail("got %s %d of %d", what, i, n)
	}
	return int(i)
}

func (r *snapshotReader) text() string {
	n := r.count()
	r.uses(stringSize(int64(n)))
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *snapshotReader) texts() []string {
	n := r.count()
	r.usesN(n, 16)
	out := make([]string, n)
	for i := range out {
		out[i] = r.text()
	}
	return out
}

func (r *snapshotReader) label() label.ID {
	l := r.number()
	if l > math.MaxUint32 || !r.s.tab.Has(label.ID(l)) {
		r.fail("got label %d, which the table has not", l)
	}
	return label.ID(l)
}

// session reads everything after the format's version, and returns how many bytes the session held.
func (r *snapshotReader) session(c Config) (live int64) {
	s := r.s
	r.b = r.b[len(snapshotMagic)+1:]
	if l := r.text(); l != Language {
		panic(&SnapshotError{"version", fmt.Sprintf("it was written for the language %q, want %q", l, Language)})
	}
	s.turn, s.calls = r.upTo(math.MaxInt32), r.upTo(math.MaxInt32)
	s.output, live = r.bytes(), r.bytes()
	r.tools()
	tab, rest, err := label.ReadTable(r.b, r.room)
	switch {
	case errors.Is(err, label.ErrTooLarge):
		r.uses(math.MaxInt64)
	case err != nil:
		r.fail("%v", err)
	}
	r.uses(tab.Bytes())
	s.tab, r.t.tab, r.b = tab, tab, rest
	s.floor, s.history = r.label(), r.label()
	for range r.count() {
		r.program()
	}
	for range r.count() {
		p := r.programs[r.index(len(r.programs), "program")]
		r.uses(instanceRoom(p))
		r.instances = append(r.instances, &instance{prog: p})
	}
	for range r.count() {
		r.object()
	}
	for i := range r.objects {
		r.contents(i)
	}
	for range r.count() {
		r.uses(nameBytes + cellSize)
		c := &cell{name: r.text()}
		c.v = r.slot()
		if s.names[c.name] != nil {
			r.fail("got the name %s twice", c.name)
		}
		s.names[c.name] = c
		s.cells = append(s.cells, c)
	}
	for range r.count() {
		r.input(c.Inputs)
	}
	if len(r.b) > 0 {
		r.fail("got %d bytes more than there should be", len(r.b))
	}
	r.link()
	return live
}

// tools reads the tools that there were, and looks for each.
func (r *snapshotReader) tools() {
	for range r.count() {
		name, params := r.text(), r.texts()
		v, _ := lookupPath(r.s.pre, name)
		if v.k != kBuiltin {
			panic(&SnapshotError{"tool", fmt.Sprintf("tool %s: the session had it, this configuration has not", name)})
		}
		if now := v.builtin().def.tool.Params; len(now) < len(params) || !slices.Equal(now[:len(params)], params) {
			panic(&SnapshotError{"tool", fmt.Sprintf("tool %s: takes (%s), took (%s) when the session was written", name, strings.Join(now, ", "), strings.Join(params, ", "))})
		}
	}
}

func (r *snapshotReader) input(inputs []Input) {
	name := r.text()
	v := r.value(-1)
	if !slices.ContainsFunc(inputs, func(in Input) bool { return in.Name == name }) {
		panic(&SnapshotError{"input", fmt.Sprintf("input %s: the session had it, this configuration has not", name)})
	}
	if _, taken := r.s.pre[name]; taken {
		panic(&SnapshotError{"input", fmt.Sprintf("input %s: there is a tool of that name", name)})
	}
	r.s.pre[name] = v
	r.inputs = append(r.inputs, name)
}

// program reads a program and compiles it under the names that it knew.
func (r *snapshotReader) program() {
	file, src, earlier, given := r.text(), r.text(), r.texts(), r.texts()
	r.uses(int64(len(src)) * compiledBytes)
	among := func(names []string) func(string) bool {
		return func(n string) bool {
			_, ok := slices.BinarySearch(names, n)
			return ok
		}
	}
	p, err := Compile(file, []byte(src), Env{Globals: among(earlier), Predeclared: among(given)})
	if err != nil {
		r.fail("program %s: %v", file, err)
	}
	if !slices.Equal(p.earlier, earlier) || !slices.Equal(p.given, given) {
		r.fail("program %s: it knows other names than it says", file)
	}
	r.uses(programRoom(p) - int64(len(src))*compiledBytes)
	r.programs = append(r.programs, p)
}

// object reads what is known of an object before its contents, and makes it.
func (r *snapshotReader) object() {
	head := r.byte()
	r.uses(objectRoom)
	var v val
	index := 0
	switch k, flags := kind(head&0x1f), head&^0x1f; {
	case k == kTuple && flags&^objectHashed == 0:
		v = tupleVal(r.items(tupleSize), label.BottomID)
	case k == kStruct && flags == 0:
		n := r.count()
		r.uses(recordBytes(int64(n)))
		v = recordVal(&record{names: make([]string, n), items: make([]val, n)}, label.BottomID)
	case k == kList && flags == 0:
		v = listVal(&list{items: r.items(listSize)}, label.BottomID)
	case (k == kDict || k == kSet) && flags&^objectFields == 0:
		n, room := r.sized()
		if b := r.upTo(32); b > 0 {
			index = 1 << (b - 1)
		}
		// The index has always more places than entries, so that a search ends.
		if index == 0 && room > 0 || index != 0 && (index < 8 || n > index/2+index/8) {
			r.fail("got %d entries, room for %d, and an index of %d", n, room, index)
		}
		r.uses(dictSize + stringSize(int64(index)*4))
		r.usesN(room, entrySize)
		d := &dict{ents: make([]entry, n, room), fields: flags != 0}
		v = dictVal(d, label.BottomID)
		if k == kSet {
			v = setVal(d, label.BottomID)
		}
	case k == kFunc && flags == 0:
		m := r.instances[r.index(len(r.instances), "instance")]
		code := m.prog.funcs[r.index(len(m.prog.funcs), "function")]
		if code.index == 0 {
			r.fail("a program itself is no function")
		}
		r.uses(functionBytes(code.optional, len(code.free)))
		v = funcVal(&function{code: code, mod: m, defaults: make([]val, code.optional), free: make([]*cell, len(code.free))}, label.BottomID)
	case k == kCell && flags == 0:
		r.uses(cellSize)
		v = cellVal(&cell{})
	default:
		r.fail("got an object of kind %d", head)
	}
	r.objects = append(r.objects, v)
	r.hashed = append(r.hashed, head&objectHashed != 0)
	r.indices = append(r.indices, index)
}

// sized reads a length and the room that there is for it.
func (r *snapshotReader) sized() (length, room int) {
	length = r.count()
	return length, length + r.upTo(math.MaxInt32)
}

// items makes the slice of a list or a tuple, which itself takes more bytes.
func (r *snapshotReader) items(more int64) []val {
	n, room := r.sized()
	r.uses(more)
	r.usesN(room, valSize)
	return make([]val, n, room)
}

// contents reads what object i holds.
func (r *snapshotReader) contents(i int) {
	switch v := r.objects[i]; v.k {
	case kTuple:
		r.values(v.tuple().items, i)
	case kStruct:
		o := v.record()
		for j := range o.items {
			o.names[j] = r.name()
			if j > 0 && o.names[j] < o.names[j-1] {
				r.fail("got the field %s after %s", o.names[j], o.names[j-1])
			}
			o.items[j] = r.value(i)
		}
	case kList:
		v.list().st = r.label()
		r.values(v.list().items, -1)
	case kDict, kSet:
		o := v.dict()
		o.st = r.label()
		for j := range o.ents {
			if len(r.b) > 0 && r.b[0] == tagUnbound { // deleted
				r.b = r.b[1:]
				continue
			}
			e := entry{k: r.value(-1), v: noneVal(label.BottomID)}
			if v.k == kDict {
				e.v = r.value(-1)
			}
			o.ents[j] = e
			o.live++
		}
	case kFunc:
		o := v.fn()
		for j := range o.defaults {
			o.defaults[j] = r.slot()
		}
		for j := range o.free {
			c := r.objects[r.index(len(r.objects), "object")]
			if c.k != kCell {
				r.fail("got %s, want a cell", c.typeName())
			}
			o.free[j] = c.cell()
		}
	case kCell:
		v.cell().v = r.slot()
	}
}

func (r *snapshotReader) values(to []val, within int) {
	for i := range to {
		to[i] = r.value(within)
	}
}

// name reads the name of a field.
func (r *snapshotReader) name() string {
	v := r.value(-1)
	if v.k != kString {
		r.fail("got %s, want a name", v.typeName())
	}
	return v.str()
}

// slot reads a value, or that there is none.
func (r *snapshotReader) slot() val {
	if len(r.b) > 0 && r.b[0]&^ownLabel == tagUnbound {
		r.tag()
		return unboundVal.with(r.last)
	}
	return r.value(-1)
}

// tag reads the first byte of a value, and its label if it has its own.
func (r *snapshotReader) tag() byte {
	tag := r.byte()
	if tag&ownLabel != 0 {
		l := r.label()
		if l == r.last {
			r.fail("got a label twice")
		}
		r.last = l
	}
	return tag &^ ownLabel
}

// value reads a value. within is the tuple or struct that it is in, or negative.
func (r *snapshotReader) value(within int) val {
	tag := r.tag()
	l := r.last
	switch tag {
	case tagNone:
		return noneVal(l)
	case tagFalse, tagTrue:
		return boolVal(tag == tagTrue, l)
	case tagInt:
		return intVal(r.signed(), l)
	case tagFloat:
		if len(r.b) < 8 {
			r.fail("the data ends too early")
		}
		n := binary.BigEndian.Uint64(r.b)
		r.b = r.b[8:]
		return floatVal(math.Float64frombits(n), l)
	case tagString, tagBytes:
		return r.newText(tag == tagBytes, l)
	case tagBig, tagRange, tagSeq, tagMethod:
		return r.newLeaf(tag, l)
	case tagLeaf, tagLeafBytes:
		v := r.leaves[r.index(len(r.leaves), "leaf")]
		switch {
		case v.k == kUnbound:
			r.fail("got something that contains itself")
		case tag == tagLeafBytes && v.k != kString:
			r.fail("got %s, want a text", v.typeName())
		case tag == tagLeafBytes:
			return bytesVal(v.str(), l)
		}
		return v.with(l)
	case tagObject:
		i := r.index(len(r.objects), "object")
		v := r.objects[i]
		switch v.k {
		case kCell:
			r.fail("got cell, want a value")
		case kTuple, kStruct:
			if within >= 0 && i >= within {
				r.fail("got %s that contains itself", v.typeName())
			}
		}
		return v.with(l)
	case tagUniverse, tagTool:
		names, path := universe, r.text()
		if tag == tagTool {
			names = r.s.pre
		}
		v, _ := lookupPath(names, path)
		if v.k != kBuiltin && v.k != kModule {
			r.fail("got %q, which is no function and no module", path)
		}
		return v.with(l)
	}
	r.fail("got a value of kind %d", tag)
	return val{}
}

// newText reads a text that was not met before.
func (r *snapshotReader) newText(isBytes bool, l label.ID) val {
	n := r.count()
	var s string
	switch n {
	case 0:
	case 1:
		s = oneByte[r.b[0]]
	default:
		r.uses(stringSize(int64(n)) + leafRoom)
		s = string(r.b[:n])
		r.leaves = append(r.leaves, stringVal(s, label.BottomID))
	}
	r.b = r.b[n:]
	if isBytes {
		return bytesVal(s, l)
	}
	return stringVal(s, l)
}

// newLeaf reads another leaf that was not met before.
func (r *snapshotReader) newLeaf(tag byte, l label.ID) val {
	at := len(r.leaves)
	r.uses(leafRoom)
	r.leaves = append(r.leaves, val{})
	var v val
	switch tag {
	case tagBig:
		v = r.big(l)
	case tagRange:
		o := &rangeSeq{r.signed(), r.signed(), r.signed(), r.signed()}
		r.uses(rangeSize)
		if span, ok := mulInt(o.n-1, o.step); o.n < 0 || o.step == 0 || o.n > 0 && (!ok || (o.start+span > o.start) != (span > 0)) {
			r.fail("got a range of %d from %d by %d", o.n, o.start, o.step)
		}
		v = rangeVal(o, l)
	case tagSeq:
		mode := seqMode(r.byte())
		if mode > seqBytes {
			r.fail("got a sequence of kind %d", mode)
		}
		r.uses(seqSize)
		v = seqVal(&seq{s: r.name(), mode: mode}, l)
	case tagMethod:
		name := r.text()
		recv := r.value(-1)
		m := methodsNamed(name)[recv.k]
		if m == nil {
			r.fail("got the method %q, which %s has not", name, recv.typeName())
		}
		r.uses(builtinSize)
		v = builtinVal(&builtin{name: m.name, recv: recv, def: m.def}, l)
	}
	r.leaves[at] = v
	return v
}

func (r *snapshotReader) big(l label.ID) val {
	sign := r.upTo(1)
	n := r.count()
	if n > maxIntBits/8 || n == 0 || r.b[0] == 0 {
		r.fail("got an int of %d bytes", n)
	}
	r.uses(bigSize(int64(n) * 8))
	i := new(big.Int).SetBytes(r.b[:n])
	r.b = r.b[n:]
	if sign == 0 {
		i.Neg(i)
	}
	if i.IsInt64() {
		r.fail("got the small int %v as a large one", i)
	}
	return bigVal(i, l)
}

// link makes what needs everything to be there: hashes, and what programs are bound to.
func (r *snapshotReader) link() {
	// What is in a tuple comes before it.
	for i, v := range r.objects {
		if r.hashed[i] {
			r.t.hash(v)
		}
	}
	hashes := map[val]uint64{} // of long keys that many dicts may share
	for i, v := range r.objects {
		if v.k == kDict || v.k == kSet {
			r.place(v.dict(), r.indices[i], hashes)
		}
	}
	for _, m := range r.instances {
		for _, n := range m.prog.globals {
			if r.s.names[n] == nil {
				r.fail("program %s: the session has no %s", m.prog.File, n)
			}
		}
		bound, err := r.s.instance(m.prog)
		if err != nil {
			r.fail("%v", err)
		}
		m.cells, m.pre = bound.cells, bound.pre
	}
}

// place makes the index of a dict.
func (r *snapshotReader) place(d *dict, index int, hashes map[val]uint64) {
	if len(d.ents) == 0 && index == 0 {
		d.wipe()
		return
	}
	d.index = make([]uint32, index)
	for i := range d.ents {
		e := &d.ents[i]
		if e.k.k == kUnbound {
			continue
		}
		id := e.k.with(label.TopID)
		h, ok := hashes[id]
		if !ok {
			h = r.t.hash(e.k)
			if e.k.k == kBig || (e.k.k == kString || e.k.k == kBytes) && e.k.n > 1024 {
				hashes[id] = h
			}
		}
		if r.t.find(d, e.k, h) >= 0 {
			r.fail("got a key twice")
		}
		e.h = h
		d.place(h, uint32(i+1))
	}
}
