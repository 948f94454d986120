package eval

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strings"
	"unsafe"

	"callgate/engine/label"
	"callgate/engine/value"
)

// nodeBytes is what a node of a value tree takes.
const nodeBytes = int64(unsafe.Sizeof(value.Value{}))

// export copies a value out of the program, with its labels. What has no plain form is an error.
func (t *thread) export(v val) value.Value {
	t.alloc(nodeBytes)
	return t.exportAt(v, 0, v)
}

// nodes returns room for n nodes.
func (t *thread) nodes(n int64) []value.Value {
	t.allocN(n, nodeBytes)
	t.charge(n)
	return make([]value.Value, 0, n)
}

// exportAt is export at a depth of root. The caller has charged for the node itself.
func (t *thread) exportAt(v val, depth int, root val) value.Value {
	t.burn(1)
	out := value.Value{Label: t.tab.Label(v.lab)}
	if t.textual && !hasForm(v) {
		return value.StringOf(t.repr(v), t.tab.Label(t.deepLabel(v)))
	}
	switch v.k {
	case kNone:
		out.Kind = value.None
	case kBool:
		out.Kind, out.Bool = value.Bool, v.n != 0
	case kInt:
		t.alloc(bigSize(64))
		out.Kind, out.Int = value.Int, big.NewInt(v.n)
	case kBig:
		t.alloc(bigSize(int64(v.bits())))
		out.Kind, out.Int = value.Int, new(big.Int).Set(v.bigInt())
	case kFloat:
		out.Kind, out.Float = value.Float, v.float()
	case kString:
		out.Kind, out.Str = value.String, v.str()
	case kBytes:
		out.Kind, out.Str = value.Bytes, v.str()
	case kTuple, kList, kRange, kSeq, kDeque:
		t.checkDepth(depth)
		out.Kind = value.List
		if v.k == kTuple {
			out.Kind = value.Tuple
		}
		out.Structure = t.tab.Label(t.structure(v))
		out.Items = t.nodes(t.length(v))
		it, _ := t.iterate(v)
		for e, ok := it.next(t); ok; e, ok = it.next(t) {
			out.Items = append(out.Items, t.exportAt(e, depth+1, root))
		}
	case kDict, kSet:
		t.checkDepth(depth)
		d := v.dict()
		out.Kind = value.Dict
		if v.k == kSet {
			out.Kind = value.Set
		}
		out.Structure = t.tab.Label(d.st)
		out.Items = t.nodes(int64(d.live))
		if v.k == kDict {
			out.Keys = t.nodes(int64(d.live))
		}
		d.each(func(k, e val) bool {
			key := t.exportAt(k, depth+1, root)
			if v.k == kSet {
				out.Items = append(out.Items, key)
				return true
			}
			out.Keys = append(out.Keys, key)
			out.Items = append(out.Items, t.exportAt(e, depth+1, root))
			return true
		})
	case kStruct:
		if v.isError() {
			panic(t.errorf(t.deepLabel(root), "not-data", "a %s cannot leave the program: only plain data can", v.typeName()).hint("str(e) is its message"))
		}
		t.checkDepth(depth)
		r := v.record()
		out.Kind, out.Structure = value.Record, label.Bottom()
		out.Keys, out.Items = t.nodes(int64(len(r.names))), t.nodes(int64(len(r.names)))
		for i, n := range r.names {
			out.Keys = append(out.Keys, value.StringOf(n, label.Bottom()))
			out.Items = append(out.Items, t.exportAt(r.items[i], depth+1, root))
		}
	case kObject:
		if v.object().class.parts {
			return t.exportAt(asTuple(v), depth, root)
		}
		panic(t.errorf(t.deepLabel(root), "not-data", "a %s cannot leave the program: only plain data can", v.typeName()).advise(notDataHint(v)))
	default:
		panic(t.errorf(t.deepLabel(root), "not-data", "a %s cannot leave the program: only plain data can", v.typeName()))
	}
	return out
}

// hasForm reports whether a value has a plain form, whatever is in it.
func hasForm(v val) bool {
	switch v.k {
	case kFunc, kBuiltin, kModule:
		return false
	case kStruct:
		return !v.isError()
	case kObject:
		return v.object().class.parts
	}
	return true
}

// importValue makes an input of a value, before there is a program: it takes none of its steps.
func (t *thread) importValue(v value.Value) (out val, err error) {
	t.maxSteps, t.deadline = maxCharge, t.started.Add(math.MaxInt64)
	if e := t.protect(func(t *thread) {
		segment := t.mem.begin()
		out = t.importAt(v, 0)
		t.mem.resume(segment)
	}); e != nil {
		return val{}, e
	}
	return out, nil
}

func (t *thread) importAt(v value.Value, depth int) val {
	l := t.tab.Intern(v.Label)
	t.burn(1)
	switch v.Kind {
	case value.None:
		return noneVal(l)
	case value.Bool:
		return boolVal(v.Bool, l)
	case value.Int:
		if v.Int.IsInt64() {
			return intVal(v.Int.Int64(), l)
		}
		t.reserveInt(int64(v.Int.BitLen()), l, t.at)
		return bigVal(new(big.Int).Set(v.Int), l)
	case value.Float:
		return floatVal(v.Float, l)
	case value.String: // a copy: what came in may be a piece of something much larger
		return stringVal(t.copied(v.Str), l)
	case value.Bytes:
		return bytesVal(t.copied(v.Str), l)
	}
	t.checkDepth(depth)
	st := t.tab.Intern(v.Structure)
	t.charge(int64(len(v.Items)))
	switch v.Kind {
	case value.List, value.Tuple:
		t.alloc(listSize + blockSize(int64(len(v.Items))*valSize))
		items := make([]val, 0, len(v.Items))
		for _, e := range v.Items {
			items = append(items, t.importAt(e, depth+1))
		}
		if v.Kind == value.Tuple {
			return tupleVal(items, t.join(l, st))
		}
		return listVal(&list{items: items, st: st}, l)
	case value.Dict, value.Set:
		t.alloc(dictSize)
		d := &dict{st: st, of: ofTool}
		keys := v.Keys
		if v.Kind == value.Set {
			keys = v.Items
		}
		for i, k := range keys {
			key := t.importAt(k, depth+1)
			d.st = t.join(d.st, t.deepLabel(key))
			e := noneVal(label.BottomID)
			if v.Kind == value.Dict {
				e = t.importAt(v.Items[i], depth+1)
			}
			t.put(d, key, t.hash(key), e)
		}
		if v.Kind == value.Set {
			return setVal(d, l)
		}
		return dictVal(d, l)
	case value.Record:
		n := int64(len(v.Keys))
		t.alloc(recordBytes(n) + blockSize(8*n))
		t.charge(n * int64(bits.Len64(uint64(n))) / 4)
		r := &record{names: make([]string, 0, n), items: make([]val, 0, n)}
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return strings.Compare(v.Keys[a].Str, v.Keys[b].Str) })
		l = t.join(l, st)
		for _, i := range order {
			r.names = append(r.names, t.copied(v.Keys[i].Str))
			r.items = append(r.items, t.importAt(v.Items[i], depth+1))
			l = t.join(l, t.tab.Intern(v.Keys[i].Label))
		}
		return recordVal(r, l)
	}
	panic(&Error{Status: Crashed, Code: "internal", Text: fmt.Sprintf("value of kind %s cannot enter a program", v.Kind), lab: label.TopID, final: true})
}
