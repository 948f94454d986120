package eval

import (
	"encoding/binary"
	"math/big"
	"strings"
	"sync"
	"unsafe"

	"callgate/engine/label"
)

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
	case kObject:
		o := v.object()
		if o.hash != 0 {
			head |= objectHashed
		}
		w.byte(head)
		w.text(o.class.name)
		w.int(len(o.items))
		w.uses(objectSize + blockSize(int64(len(o.items))*valSize))
		if o.re != nil {
			w.uses(o.re.bytes)
		}
	case kDeque:
		o := v.deque()
		w.byte(head)
		w.sized(len(o.items), cap(o.items))
		w.int(cap(o.block) - cap(o.items))
		w.uses(dequeSize + blockSize(int64(cap(o.block))*valSize))
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
		switch o.of {
		case nil:
			w.byte(head)
		case ofTool:
			w.byte(head | objectFields)
		default:
			w.byte(head | objectClass)
			w.text(o.of.class.name)
			w.uses(dictOfSize)
		}
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
	case kObject:
		o := v.object()
		w.b = binary.AppendVarint(w.b, o.n)
		w.values(o.items)
		if o.of != nil {
			w.value(objectVal(o.of, w.last))
		}
	case kDeque:
		w.b = binary.AppendVarint(w.b, v.deque().most)
		w.number(uint64(v.list().st))
		w.values(v.list().items)
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
		if o.of != nil && o.of.class == defaultDict {
			w.value(o.of.factory)
		}
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
	case kTuple, kStruct, kList, kDict, kSet, kFunc, kDeque, kObject:
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
	if at, ok := w.leaves[v.bare()]; ok {
		if v.k == kBytes {
			w.tag(tagLeafBytes, v.lab)
		} else {
			w.tag(tagLeaf, v.lab)
		}
		w.int(at)
		return
	}
	w.leaves[v.bare()] = w.count
	w.count++
	w.uses(leafRoom)
	w.tag(tag, v.lab)
	switch v.k {
	case kString, kBytes:
		w.chars(v.str())
		w.uses(stringSize(v.n))
	case kBig:
		b := v.bigInt().Bytes()
		w.int((v.bigInt().Sign() + 1) / 2)
		w.chars(string(b))
		w.uses(bigSize(int64(len(b)) * 8))
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
		b := v.builtin()
		if m := methodOf(b.recv, b.name); m == nil || m.def != b.def {
			panic(&SnapshotError{"internal", "the method " + b.name + " cannot be found again"})
		}
		w.text(b.name)
		w.value(b.recv)
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
		case v.k == kBuiltin && v.builtin().def.attrs != nil:
			names, path = v.builtin().def.attrs.attrs, rest
			continue
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
			switch {
			case v.k == kModule:
				add(prefix+n+".", v.module().attrs)
			case v.builtin().def.attrs != nil:
				add(prefix+n+".", v.builtin().def.attrs.attrs)
			}
		}
	}
	add("", universe)
	return out
})
