package eval

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"callgate/engine/label"
)

// A snapshot is, in this order, numbers as varints and texts with their length before them:
//
//	magic, the format's version, the language
//	turn, calls of the host, bytes printed, bytes alive
//	tools: name and parameters of each
//	labels: see label.Table.Append; then the ids of floor and history
//	programs: file, text, and the names that they knew; then the instances of programs, by program
//	objects: what must be known of each before there can be references to it
//	the contents of the objects
//	names of the session, in the order of their making, with their values; then inputs
//	the SHA-256 of all that
//
// Objects are the containers, functions and cells, numbered in the order in which a walk from the names
// meets them; a tuple or struct comes after those in it, so that they cannot contain themselves. Leaves (texts, large
// ints, ranges, lazy sequences, bound methods) are written where they are met first and numbered in that order;
// from then on their number stands for them. So whatever was shared is shared again. Room
// that lists and dicts have beside their elements is kept too: it decides when memory is charged.
//
// What is not written: what a host permitted (it is asked again), the memo of joins, hashes, and
// tools and limits, which are the configuration's.
const (
	snapshotMagic   = "callgate session\n"
	snapshotVersion = 1
)

// SnapshotError says why a session cannot be written, or re-made.
type SnapshotError struct {
	// Code is what is wrong:
	//
	//	"busy"     a program is running
	//	"size"     it would take more than the limit allows
	//	"version"  written by another version of the format or the language
	//	"corrupt"  no snapshot, or one that was damaged
	//	"tool"     a tool that the session had is missing, or takes other parameters
	//	"input"    an input that the session had is missing
	//	"internal" a fault of this package
	Code string
	Text string
}

func (e *SnapshotError) Error() string { return "snapshot: " + e.Text }

// The first byte of a value; with ownLabel its label follows, else it is that of the value before.
const (
	tagUnbound byte = iota
	tagNone
	tagFalse
	tagTrue
	tagInt
	tagFloat
	tagString // leaves, as they are met first; texts of fewer than two bytes are not numbered
	tagBytes
	tagBig
	tagRange
	tagSeq
	tagMethod
	tagLeaf      // a leaf met before
	tagLeafBytes // a text met before, as bytes
	tagObject
	tagUniverse // a function or module of the language, by name
	tagTool     // a tool or a module of tools, by name

	ownLabel byte = 0x80
)

// The first byte of an object: its kind, and what is known of it.
const (
	objectHashed byte = 0x20 // of a tuple whose hash is known: it costs a program nothing any more
	objectFields byte = 0x40 // dict.fields
)

// Snapshot returns the session as bytes, from which [Restore] makes it again: values with their labels,
// functions with their code, all that is shared, floor, history and what was used of the budgets. Between two
// calls of [Session.Run] only. The same session gives the same bytes.
//
// limit is the most bytes that it may take; zero or less means the session's memory budget. The bytes
// hold what the session holds, secrets included, and are believed when they are read: keep them where no program, and nobody else, can change
// them. The errors are [*SnapshotError]s.
func (s *Session) Snapshot(limit int64) (b []byte, err error) {
	if s.running {
		return nil, &SnapshotError{"busy", "a program is running: a session can be written between two programs"}
	}
	if limit <= 0 {
		limit = s.limits.Memory
	}
	defer func() {
		if r := recover(); r != nil {
			b, err = nil, snapshotFault(r)
		}
	}()
	s.tab.Rest()
	w := snapshotWriter{s: s, limit: limit, room: restoreRoom(s.limits), base: s.epoch, leaves: map[unsafe.Pointer]written{}, modules: map[*instance]int{}}
	w.session()
	sum := sha256.Sum256(w.b)
	return append(w.b, sum[:]...), nil
}

// restoreRoom is how many bytes a re-made session may take. What it holds was within the budget, or is garbage
// that nobody has looked for; what is needed to find it again comes on top.
func restoreRoom(l Limits) int64 { return 2 * l.Memory }

// snapshotWriter writes a snapshot.
type snapshotWriter struct {
	s     *Session
	b     []byte
	limit int64
	room  int64 // bytes that the reader may still use; it counts alike

	base    uint64 // object i has the mark base+1+i
	objects []val
	leaves  map[unsafe.Pointer]written
	count   int      // of leaves
	last    label.ID // of the value written last

	modules   map[*instance]int // index in instances
	instances []*instance
	programs  []*Program
}

type written struct {
	index int
	n     int64
}

// uses counts n bytes that the re-made session will take.
func (w *snapshotWriter) uses(n int64) {
	if w.room -= n; w.room < 0 {
		panic(&SnapshotError{"size", fmt.Sprintf("re-made, the session would take more than %d bytes, twice its memory budget", restoreRoom(w.s.limits))})
	}
}

// fits panics unless n more bytes are within the limit.
func (w *snapshotWriter) fits(n int) {
	if int64(len(w.b))+int64(n) > w.limit {
		panic(&SnapshotError{"size", fmt.Sprintf("the session takes more than %d bytes", w.limit)})
	}
}

func (w *snapshotWriter) byte(c byte)     { w.b = append(w.b, c) }
func (w *snapshotWriter) number(n uint64) { w.b = binary.AppendUvarint(w.b, n) }
func (w *snapshotWriter) int(n int)       { w.number(uint64(n)) }

// chars writes a text.
func (w *snapshotWriter) chars(s string) {
	w.int(len(s))
	w.fits(len(s))
	w.b = append(w.b, s...)
}

// text writes a text and counts it.
func (w *snapshotWriter) text(s string) {
	w.uses(stringSize(int64(len(s))))
	w.chars(s)
}

func (w *snapshotWriter) texts(list []string) {
	w.int(len(list))
	w.uses(blockSize(int64(len(list)) * 16))
	for _, s := range list {
		w.text(s)
	}
}

func (w *snapshotWriter) session() {
	s := w.s
	w.b = append(w.b, snapshotMagic...)
	w.int(snapshotVersion)
	w.text(Language)
	w.int(s.turn)
	w.int(s.calls)
	w.number(uint64(s.output))
	w.number(uint64(max(s.live, 0)))
	tools, inputs := given(s.pre)
	w.int(len(tools))
	for _, t := range tools {
		w.text(t.Name)
		w.texts(t.Params)
	}
	w.b = s.tab.Append(w.b)
	w.uses(s.tab.Bytes())
	w.number(uint64(s.floor))
	w.number(uint64(s.history))

	for _, c := range s.cells {
		w.meet(c.v)
	}
	for _, n := range inputs {
		w.meet(s.pre[n])
	}
	for i := 0; i < len(w.objects); i++ {
		w.meetParts(w.objects[i])
	}
	s.epoch += uint64(len(w.objects))

	w.int(len(w.programs))
	for _, p := range w.programs {
		w.text(p.File)
		w.text(p.src)
		w.texts(p.earlier)
		w.texts(p.given)
		w.uses(programRoom(p))
	}
	w.int(len(w.instances))
	for _, m := range w.instances {
		w.int(slices.IndexFunc(w.programs, m.prog.equal))
		w.uses(instanceRoom(m.prog))
	}
	w.int(len(w.objects))
	for _, v := range w.objects {
		w.object(v)
	}
	for _, v := range w.objects {
		w.contents(v)
		w.fits(0)
	}
	w.int(len(s.cells))
	for _, c := range s.cells {
		w.text(c.name)
		w.value(c.v)
		w.uses(nameBytes + cellSize)
	}
	w.int(len(inputs))
	for _, n := range inputs {
		w.text(n)
		w.value(s.pre[n])
	}
	w.fits(sha256.Size)
}

// given divides what programs were given into the tools and the names of inputs, each in order.
func given(pre map[string]val) (tools []*ToolSig, inputs []string) {
	for _, n := range slices.Sorted(maps.Keys(pre)) {
		switch v := pre[n]; {
		case v.k == kModule:
			t, _ := given(v.module().attrs)
			tools = append(tools, t...)
		case v.k == kBuiltin && v.builtin().def.tool != nil:
			tools = append(tools, v.builtin().def.tool)
		default:
			inputs = append(inputs, n)
		}
	}
	slices.SortFunc(tools, func(a, b *ToolSig) int { return strings.Compare(a.Name, b.Name) })
	return tools, inputs
}

// mark returns where an object keeps the mark of the walk that met it last; nil of what is no object.
func (v val) mark() *uint64 {
	switch v.k {
	case kTuple:
		return &v.tuple().mark
	case kStruct:
		return &v.record().mark
	case kList:
		return &v.list().mark
	case kDict, kSet:
		return &v.dict().mark
	case kFunc:
		return &v.fn().mark
	case kCell:
		return &v.cell().mark
	}
	return nil
}

// meet numbers an object that is met for the first time, and before it those in it if it is a tuple or a struct.
func (w *snapshotWriter) meet(v val) {
	switch v.k {
	case kTuple, kStruct:
		w.meetTree(v)
	case kList, kDict, kSet, kFunc, kCell:
		w.enlist(v)
	case kBuiltin:
		w.meet(v.builtin().recv) // of a list, a dict or a text: no further
	}
}

func (w *snapshotWriter) met(v val) bool { return *v.mark() > w.base }

func (w *snapshotWriter) enlist(v val) {
	if w.met(v) {
		return
	}
	w.objects = append(w.objects, v)
	*v.mark() = w.base + uint64(len(w.objects))
	if v.k != kFunc {
		return
	}
	m := v.fn().mod
	if _, ok := w.modules[m]; ok {
		return
	}
	w.modules[m] = len(w.instances)
	w.instances = append(w.instances, m)
	if !slices.ContainsFunc(w.programs, m.prog.equal) {
		w.programs = append(w.programs, m.prog)
	}
}

// meetTree walks over tuples and structs, which do not contain themselves, and numbers each after its parts.
func (w *snapshotWriter) meetTree(v val) {
	type place struct {
		v val
		i int
	}
	if w.met(v) {
		return
	}
	path := []place{{v: v}}
	for len(path) > 0 {
		at := &path[len(path)-1]
		items := at.v.fixed()
		if at.i == len(items) {
			w.enlist(at.v)
			path = path[:len(path)-1]
			continue
		}
		part := items[at.i]
		at.i++
		if part.k != kTuple && part.k != kStruct {
			w.meet(part)
		} else if !w.met(part) {
			path = append(path, place{v: part})
		}
	}
}

// fixed returns the elements of a tuple or struct.
func (v val) fixed() []val {
	if v.k == kTuple {
		return v.tuple().items
	}
	return v.record().items
}

// meetParts meets what an object refers to.
func (w *snapshotWriter) meetParts(v val) {
	switch v.k {
	case kList:
		for _, e := range v.list().items {
			w.meet(e)
		}
	case kDict, kSet:
		for i := range v.dict().ents {
			w.meet(v.dict().ents[i].k)
			w.meet(v.dict().ents[i].v)
		}
	case kFunc:
		for _, d := range v.fn().defaults {
			w.meet(d)
		}
		for _, c := range v.fn().free {
			w.meet(cellVal(c))
		}
	case kCell:
		w.meet(v.cell().v)
	}
}

// object writes what must be known of an object before its contents.
func (w *snapshotWriter) object(v val) {
	head := byte(v.k)
	switch v.k {
	case kTuple:
		o := v.tuple()
		if o.hash != 0 {
			head |= objectHashed
		}
		w.byte(head)
		w.sized(len(o.items), cap(o.items))
		w.uses(tupleSize + blockSize(int64(cap(o.items))*valSize))
	case kStruct:
		o := v.record()
		w.byte(head)
		w.int(len(o.items))
		w.uses(recordBytes(int64(len(o.items))))
	case kList:
		o := v.list()
		w.byte(head)
		w.sized(len(o.items), cap(o.items))
		w.uses(listSize + blockSize(int64(cap(o.items))*valSize))
	case kDict, kSet:
		o := v.dict()
		if o.fields {
			head |= objectFields
		}
		w.byte(head)
		w.sized(len(o.ents), cap(o.ents))
		w.int(bitsOf(len(o.index)))
		w.uses(o.size())
	case kFunc:
		o := v.fn()
		w.byte(head)
		w.int(w.modules[o.mod])
		w.int(o.code.index)
		w.uses(functionBytes(len(o.defaults), len(o.free)))
	case kCell:
		w.byte(head)
		w.uses(cellSize)
	}
	w.uses(objectRoom)
}

// objectRoom and leafRoom are what the reader needs to find an object, or a leaf, by its number.
const (
	objectRoom = valSize + 16
	leafRoom   = valSize
)

func (w *snapshotWriter) sized(length, room int) {
	w.int(length)
	w.int(room - length)
}

// bitsOf returns 0 for 0, and i+1 for 1<<i.
func bitsOf(n int) int { return big.NewInt(int64(n)).BitLen() }

// contents writes what an object holds.
func (w *snapshotWriter) contents(v val) {
	switch v.k {
	case kTuple:
		w.values(v.tuple().items)
	case kStruct:
		for i, e := range v.record().items {
			w.name(v.record().names[i])
			w.value(e)
		}
	case kList:
		w.number(uint64(v.list().st))
		w.values(v.list().items)
	case kDict, kSet:
		o := v.dict()
		w.number(uint64(o.st))
		for i := range o.ents {
			switch e := &o.ents[i]; {
			case e.k.k == kUnbound:
				w.byte(tagUnbound)
			case v.k == kSet:
				w.value(e.k)
			default:
				w.value(e.k)
				w.value(e.v)
			}
		}
	case kFunc:
		w.values(v.fn().defaults)
		for _, c := range v.fn().free {
			w.reference(cellVal(c))
		}
	case kCell:
		w.value(v.cell().v)
	}
}

func (w *snapshotWriter) values(list []val) {
	for i := range list {
		w.value(list[i])
		w.fits(0)
	}
}

// reference writes the number of an object.
func (w *snapshotWriter) reference(v val) { w.number(*v.mark() - w.base - 1) }

// name writes the name of a field, which may share its text with others.
func (w *snapshotWriter) name(s string) { w.tagged(tagString, stringVal(s, w.last)) }

// value writes a value.
func (w *snapshotWriter) value(v val) {
	switch v.k {
	case kUnbound:
		w.tag(tagUnbound, v.lab)
	case kNone:
		w.tag(tagNone, v.lab)
	case kBool:
		w.tag(tagFalse+byte(v.n), v.lab)
	case kInt:
		w.tag(tagInt, v.lab)
		w.b = binary.AppendVarint(w.b, v.n)
	case kFloat:
		w.tag(tagFloat, v.lab)
		w.b = binary.BigEndian.AppendUint64(w.b, uint64(v.n))
	case kString:
		w.tagged(tagString, v)
	case kBytes:
		w.tagged(tagBytes, v)
	case kBig:
		w.tagged(tagBig, v)
	case kRange:
		w.tagged(tagRange, v)
	case kSeq:
		w.tagged(tagSeq, v)
	case kBuiltin, kModule:
		w.named(v)
	case kTuple, kStruct, kList, kDict, kSet, kFunc:
		w.tag(tagObject, v.lab)
		w.reference(v)
	default:
		panic(&SnapshotError{"internal", "a " + v.typeName() + " has no form to be written in"})
	}
}

func (w *snapshotWriter) tag(tag byte, l label.ID) {
	if l == w.last {
		w.byte(tag)
		return
	}
	w.byte(tag | ownLabel)
	w.number(uint64(l))
	w.last = l
}

// tagged writes a leaf: whole if it is met for the first time, else its number.
func (w *snapshotWriter) tagged(tag byte, v val) {
	isText := v.k == kString || v.k == kBytes
	if isText && v.n < 2 { // a constant, or nothing
		w.tag(tag, v.lab)
		w.chars(v.str())
		return
	}
	if at, ok := w.leaves[v.p]; ok && at.n == v.n {
		if v.k == kBytes {
			w.tag(tagLeafBytes, v.lab)
		} else {
			w.tag(tagLeaf, v.lab)
		}
		w.int(at.index)
		return
	}
	w.leaves[v.p] = written{w.count, v.n}
	w.count++
	w.uses(leafRoom)
	w.tag(tag, v.lab)
	switch v.k {
	case kString, kBytes:
		w.chars(v.str())
		w.uses(stringSize(v.n))
	case kBig:
		b := v.bigInt()
		w.int((b.Sign() + 1) / 2)
		w.chars(string(b.Bytes()))
		w.uses(bigSize(int64(b.BitLen())))
	case kRange:
		r := v.rng()
		for _, n := range []int64{r.start, r.stop, r.step, r.n} {
			w.b = binary.AppendVarint(w.b, n)
		}
		w.uses(rangeSize)
	case kSeq:
		w.byte(byte(v.seq().mode))
		w.name(v.seq().s)
		w.uses(seqSize)
	case kBuiltin:
		w.text(v.builtin().name)
		w.value(v.builtin().recv)
		w.uses(builtinSize)
	}
}

// named writes a builtin or a module: a method with its receiver, everything else by name.
func (w *snapshotWriter) named(v val) {
	if v.k == kBuiltin && v.builtin().recv.k != kUnbound {
		w.tagged(tagMethod, v)
		return
	}
	tag, name := tagTool, ""
	switch {
	case v.k == kModule:
		name = v.module().name
	case v.builtin().def.tool != nil:
		name = v.builtin().def.tool.Name
	}
	if at, ok := lookupPath(w.s.pre, name); !ok || at.p != v.p {
		tag, name = tagUniverse, pathsOfUniverse()[v.p]
		if name == "" {
			panic(&SnapshotError{"internal", "a " + v.typeName() + " is neither the language's nor a tool"})
		}
	}
	w.tag(tag, v.lab)
	w.text(name)
}

// lookupPath finds "a.b.c" in modules of modules.
func lookupPath(names map[string]val, path string) (val, bool) {
	for {
		name, rest, more := strings.Cut(path, ".")
		v, ok := names[name]
		switch {
		case !ok || !more:
			return v, ok
		case v.k != kModule:
			return val{}, false
		}
		names, path = v.module().attrs, rest
	}
}

// pathsOfUniverse returns the names of the language's functions and modules.
var pathsOfUniverse = sync.OnceValue(func() map[unsafe.Pointer]string {
	out := map[unsafe.Pointer]string{}
	var add func(prefix string, names map[string]val)
	add = func(prefix string, names map[string]val) {
		for n, v := range names {
			if v.k != kBuiltin && v.k != kModule {
				continue
			}
			if old, ok := out[v.p]; !ok || prefix+n < old {
				out[v.p] = prefix + n
			}
			if v.k == kModule {
				add(prefix+n+".", v.module().attrs)
			}
		}
	}
	add("", universe)
	return out
})

// equal reports whether two programs are the same text, compiled under the same names.
func (p *Program) equal(q *Program) bool {
	return p == q || p.File == q.File && p.src == q.src && slices.Equal(p.earlier, q.earlier) && slices.Equal(p.given, q.given)
}

// programRoom is about what a program takes when it has been compiled, its text included.
func programRoom(p *Program) int64 { return max(p.bytes, int64(len(p.src))*compiledBytes) }

// compiledBytes is what a byte of a program's text becomes: the text, its tree and its closures.
const compiledBytes = 100

// instanceRoom is what a program in a session takes, without the program.
func instanceRoom(p *Program) int64 {
	return 64 + blockSize(int64(len(p.globals))*8) + blockSize(int64(len(p.names))*valSize)
}

// snapshotFault turns what a panic brought into an error.
func snapshotFault(r any) error {
	switch e := r.(type) {
	case *SnapshotError:
		return e
	case *Error:
		return &SnapshotError{"corrupt", cmp.Or(e.Text, e.Code)}
	}
	return &SnapshotError{"internal", fmt.Sprint(r)}
}
