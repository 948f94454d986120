package eval

import (
	"slices"

	"callgate/engine/label"
)

// mark returns where an object keeps the mark of the walk that met it last; nil of what is no object.
func (v val) mark() *uint64 {
	switch v.k {
	case kTuple, kObject:
		return &v.tuple().mark
	case kStruct:
		return &v.record().mark
	case kList, kDeque:
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
	case kTuple, kStruct, kObject:
		w.meetTree(v)
	case kList, kDict, kSet, kFunc, kCell, kDeque:
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
		if part.k != kTuple && part.k != kStruct && part.k != kObject {
			w.meet(part)
		} else if !w.met(part) {
			path = append(path, place{v: part})
		}
	}
}

// fixed returns the elements of a tuple, struct or object, and of that its type.
func (v val) fixed() []val {
	switch v.k {
	case kObject:
		if o := v.object(); o.of != nil {
			return append(o.items[:len(o.items):len(o.items)], objectVal(o.of, label.BottomID))
		}
		return v.tuple().items
	case kTuple:
		return v.tuple().items
	}
	return v.record().items
}

// meetParts meets what an object refers to.
func (w *snapshotWriter) meetParts(v val) {
	switch v.k {
	case kList, kDeque:
		for _, e := range v.list().items {
			w.meet(e)
		}
	case kDict, kSet:
		if of := v.dict().of; of != nil {
			w.meet(of.factory)
		}
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
