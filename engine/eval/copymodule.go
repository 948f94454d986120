package eval

import (
	"slices"
	"unsafe"

	"callgate/engine/label"
)

// copyModule makes the module copy.
func copyModule() *module {
	return makeModule("copy", map[string]*builtinDef{
		"copy": def("copy.copy", "x", func(t *thread, c *call) val {
			v := c.args[0]
			if b := methodOf(v, "copy"); b != nil {
				return t.native(b, v, v.lab, nil, nil, label.BottomID, t.at)
			}
			return v
		}),
		"deepcopy": def("copy.deepcopy", "x", func(t *thread, c *call) val {
			deep := t.join(t.pc, t.deepLabel(c.args[0]))
			t.deeper(c, deep)
			d := deepCopier{t: t, l: t.shallow(c), deep: deep, made: map[unsafe.Pointer]val{}}
			return d.copy(c.args[0], 0)
		}),
	})
}

// deepCopier copies what can be changed, and what holds such, each once. Elements keep their labels; the structure of a copy has
// that of the original, and the label of that it was copied. An error depends on all that is copied.
type deepCopier struct {
	t    *thread
	l    label.ID
	deep label.ID
	made map[unsafe.Pointer]val
}

func (d *deepCopier) copy(v val, depth int) val {
	t := d.t
	switch v.k {
	case kList, kDict, kSet, kTuple, kStruct, kDeque:
	case kObject:
		if !v.object().class.parts {
			return v
		}
	default:
		return v
	}
	if depth > maxWalk {
		panic(t.errorf(d.deep, "too-deep", "deepcopy: nested more than %d deep", maxWalk))
	}
	if old, ok := d.made[v.p]; ok {
		return old.with(v.lab)
	}
	t.charge(4)
	t.alloc(64) // of the table
	switch v.k {
	case kList:
		items := t.elements(v)
		t.alloc(listSize)
		o := &list{items: items, st: t.join(v.list().st, d.l)}
		out := listVal(o, v.lab)
		d.made[v.p] = out
		d.all(items, depth)
		return out
	case kDict, kSet:
		out := t.copyDict(v)
		o := out.dict()
		o.st = t.join(v.dict().st, d.l)
		out = out.with(v.lab)
		d.made[v.p] = out
		for i := range o.ents {
			if e := &o.ents[i]; e.k.k != kUnbound {
				t.charge(1)
				e.v = d.copy(e.v, depth+1)
			}
		}
		return out
	case kDeque:
		t.alloc(dequeSize)
		o := &deque{block: t.elements(v), most: v.deque().most}
		o.items, o.st = o.block, t.join(v.list().st, d.l)
		out := dequeVal(o, v.lab)
		d.made[v.p] = out
		d.all(o.items, depth)
		return out
	case kObject:
		items := slices.Clone(v.object().items)
		t.alloc(blockSize(int64(len(items)) * valSize))
		d.all(items, depth)
		out := t.named(v.object().of, items, v.lab)
		d.made[v.p] = out
		return out
	case kTuple:
		items := v.tuple().items
		t.alloc(tupleSize + blockSize(int64(len(items))*valSize))
		items = slices.Clone(items)
		d.all(items, depth)
		out := tupleVal(items, v.lab)
		d.made[v.p] = out
		return out
	}
	r := v.record()
	t.alloc(recordBytes(int64(len(r.items))))
	items := slices.Clone(r.items)
	d.all(items, depth)
	out := recordVal(&record{names: r.names, items: items}, v.lab)
	d.made[v.p] = out
	return out
}

func (d *deepCopier) all(items []val, depth int) {
	d.t.charge(int64(len(items)))
	for i := range items {
		items[i] = d.copy(items[i], depth+1)
	}
}
