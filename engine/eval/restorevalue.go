package eval

import (
	"encoding/binary"
	"math"
	"math/big"

	"callgate/engine/label"
)

// object reads what is known of an object before its contents, and makes it.
func (r *snapshotReader) object() {
	head := r.byte()
	r.uses(objectRoom)
	var v val
	index := 0
	switch k, flags := kind(head&0x1f), head&^0x1f; {
	case k == kObject && flags&^objectHashed == 0:
		c := r.class()
		n := r.count()
		r.uses(objectSize)
		r.usesN(n, valSize)
		v = objectVal(&object{tuple: tuple{items: make([]val, n)}, class: c}, label.BottomID)
	case k == kDeque && flags == 0:
		n, room := r.sized()
		before := r.upTo(math.MaxInt32)
		r.uses(dequeSize)
		r.usesN(before+room, valSize)
		block := make([]val, before+room)
		v = dequeVal(&deque{list: list{items: block[before : before+n]}, block: block}, label.BottomID)
	case k == kTuple && flags&^objectHashed == 0:
		v = tupleVal(r.items(tupleSize), label.BottomID)
	case k == kStruct && flags == 0:
		n := r.count()
		r.uses(recordBytes(int64(n)))
		v = recordVal(&record{names: make([]string, n), items: make([]val, n)}, label.BottomID)
	case k == kList && flags == 0:
		v = listVal(&list{items: r.items(listSize)}, label.BottomID)
	case (k == kDict || k == kSet) && (flags == 0 || flags == objectFields || k == kDict && flags == objectClass):
		of := ofTool
		switch flags {
		case 0:
			of = nil
		case objectClass:
			of = r.dictOf()
		}
		n, room := r.sized()
		if b := r.upTo(32); b > 0 {
			index = 1 << (b - 1)
		}
		// The index has always more places than entries, so that a search ends.
		if index == 0 && n > fewEntries || index != 0 && (index < 16 || n > index/2+index/8) {
			r.fail("got %d entries, room for %d, and an index of %d", n, room, index)
		}
		r.uses(dictSize + stringSize(int64(index)*4))
		r.usesN(room, entrySize)
		d := &dict{ents: make([]entry, n, room), of: of}
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

// class reads the name of a class of objects.
func (r *snapshotReader) class() *class {
	name := r.text()
	c := classes[name]
	if c == nil || c.check == nil {
		r.fail("got a class %q", name)
	}
	return c
}

// dictOf reads the name of a class of dicts.
func (r *snapshotReader) dictOf() *dictOf {
	r.uses(dictOfSize)
	switch name := r.text(); name {
	case ofCounter.class.name:
		return ofCounter
	case ofOrdered.class.name:
		return ofOrdered
	case defaultDict.name:
		return &dictOf{class: defaultDict}
	default:
		r.fail("got a dict of class %q", name)
		return nil
	}
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
	case kObject:
		o := v.object()
		o.n = r.signed()
		r.values(o.items, i)
		if o.class.parts {
			of := r.value(i)
			if of.k != kObject {
				r.fail("got %s, want a type", of.typeName())
			}
			o.of = of.object()
		}
		if o.class.check == nil || !o.class.check(o) {
			r.fail("got a %s that cannot be", o.class.name)
		}
		if o.re != nil {
			r.uses(o.re.bytes)
		}
	case kDeque:
		v.deque().most = r.signed()
		if n := int64(len(v.list().items)); v.deque().most < -1 || v.deque().most >= 0 && n > v.deque().most {
			r.fail("got a deque of %d, of %d at most", n, v.deque().most)
		}
		v.list().st = r.label()
		r.values(v.list().items, -1)
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
		if o.of != nil && o.of.class == defaultDict {
			o.of.factory = r.value(-1)
		}
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
		case kTuple, kStruct, kObject:
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
		m := methodOf(recv, name)
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
