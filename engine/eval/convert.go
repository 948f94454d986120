package eval

import (
	"fmt"
	"math/big"
	"slices"

	"callgate/engine/label"
	"callgate/engine/value"
)

// nodeBytes is what a node of a value tree costs, for the memory budget.
const nodeBytes = 144

// export copies a value out of the program, with its labels. What has no plain form is an error.
func (t *thread) export(v val) value.Value { return t.exportAt(v, 0) }

func (t *thread) exportAt(v val, depth int) value.Value {
	t.alloc(nodeBytes)
	t.burn(1)
	out := value.Value{Label: t.tab.Label(v.lab)}
	switch v.k {
	case kNone:
		out.Kind = value.None
	case kBool:
		out.Kind, out.Bool = value.Bool, v.n != 0
	case kInt, kBig:
		out.Kind, out.Int = value.Int, new(big.Int).Set(v.big())
	case kFloat:
		out.Kind, out.Float = value.Float, v.float()
	case kString:
		out.Kind, out.Str = value.String, v.str()
	case kBytes:
		out.Kind, out.Str = value.Bytes, v.str()
	case kTuple, kList, kRange, kSeq:
		t.checkDepth(depth)
		out.Kind = value.List
		if v.k == kTuple {
			out.Kind = value.Tuple
		}
		out.Structure = t.tab.Label(t.structure(v))
		n := t.length(v)
		t.alloc(n * nodeBytes)
		t.charge(n)
		out.Items = make([]value.Value, 0, n)
		it, _ := t.iterate(v)
		for e, ok := it.next(t); ok; e, ok = it.next(t) {
			out.Items = append(out.Items, t.exportAt(e, depth+1))
		}
	case kDict, kSet:
		t.checkDepth(depth)
		d := v.dict()
		out.Kind = value.Dict
		if v.k == kSet {
			out.Kind = value.Set
		}
		out.Structure = t.tab.Label(d.st)
		d.each(func(k, e val) bool {
			key := t.exportAt(k, depth+1)
			if v.k == kSet {
				out.Items = append(out.Items, key)
				return true
			}
			out.Keys = append(out.Keys, key)
			out.Items = append(out.Items, t.exportAt(e, depth+1))
			return true
		})
	case kStruct:
		t.checkDepth(depth)
		out.Kind, out.Structure = value.Record, label.Bottom()
		for i, n := range v.record().names {
			out.Keys = append(out.Keys, value.StringOf(n, label.Bottom()))
			out.Items = append(out.Items, t.exportAt(v.record().items[i], depth+1))
		}
	default:
		panic(t.errorf(v.lab, "not-data", "a %s cannot leave the program: only plain data can", v.typeName()))
	}
	return out
}

// importValue makes a value of the program from one that came in.
func (t *thread) importValue(v value.Value) (out val, err error) {
	if e := t.protect(func(t *thread) { out = t.importAt(v, 0) }); e != nil {
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
		if bits := v.Int.BitLen(); bits > 62 {
			t.reserveInt(int64(bits), l, t.at)
		}
		return bigVal(new(big.Int).Set(v.Int), l)
	case value.Float:
		return floatVal(v.Float, l)
	case value.String:
		t.alloc(stringSize(int64(len(v.Str))))
		return stringVal(v.Str, l)
	case value.Bytes:
		t.alloc(stringSize(int64(len(v.Str))))
		return bytesVal(v.Str, l)
	}
	t.checkDepth(depth)
	st := t.tab.Intern(v.Structure)
	t.charge(int64(len(v.Items)))
	switch v.Kind {
	case value.List, value.Tuple:
		t.alloc(48 + int64(len(v.Items))*valSize)
		items := make([]val, 0, len(v.Items))
		for _, e := range v.Items {
			items = append(items, t.importAt(e, depth+1))
		}
		if v.Kind == value.Tuple {
			return tupleVal(items, t.join(l, st))
		}
		return listVal(&list{items: items, st: st}, l)
	case value.Dict, value.Set:
		t.alloc(96)
		d := &dict{st: st, fields: true}
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
		r := &record{}
		order := make([]int, len(v.Keys))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return compareStrings(v.Keys[a].Str, v.Keys[b].Str) })
		t.alloc(64 + int64(len(order))*(valSize+16))
		l = t.join(l, st)
		for _, i := range order {
			r.names = append(r.names, v.Keys[i].Str)
			r.items = append(r.items, t.importAt(v.Items[i], depth+1))
			l = t.join(l, t.tab.Intern(v.Keys[i].Label))
		}
		return recordVal(r, l)
	}
	panic(&Error{Status: Crashed, Code: "internal", Text: fmt.Sprintf("value of kind %s cannot enter a program", v.Kind), lab: label.TopID, final: true})
}

func compareStrings(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
