package cel

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// Expressions see the request through the values of this file: views of the
// request's own data that convert a field, an element or an entry when it is asked for.

// adapter gives plain Go data to CEL. Views are CEL values already.
var adapter = types.DefaultTypeAdapter

// object is a value with named fields: a part of the request, or an argument that
// its schema declares as an object.
type object struct {
	of   *objectType
	from any // what the fields' getters take
}

func (o *object) Type() ref.Type { return o.of.typ }

// Value returns what the getters of the object's fields take.
func (o *object) Value() any { return o.from }

// Get returns a field, for expressions that see the object as dyn.
func (o *object) Get(index ref.Val) ref.Val {
	name, ok := index.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(index)
	}
	f := o.of.field(string(name))
	if f == nil {
		return types.NewErr("no such key: %s", name)
	}
	v, err := f.GetFrom(o.from)
	if err != nil {
		return types.WrapErr(err)
	}
	return v.(ref.Val)
}

// IsSet reports whether a field is there.
func (o *object) IsSet(index ref.Val) ref.Val {
	name, ok := index.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(index)
	}
	f := o.of.field(string(name))
	return types.Bool(f != nil && f.IsSet(o.from))
}

// Equal compares field by field.
func (o *object) Equal(other ref.Val) ref.Val {
	p, ok := other.(*object)
	if !ok || o.of.name != p.of.name {
		return types.False
	}
	for _, name := range o.of.order {
		f := o.of.field(name)
		a, b := f.IsSet(o.from), f.IsSet(p.from)
		if a != b {
			return types.False
		}
		if !a {
			continue
		}
		x, errX := f.GetFrom(o.from)
		y, errY := f.GetFrom(p.from)
		if err := firstError(errX, errY); err != nil {
			return types.WrapErr(err)
		}
		if eq := equal(x.(ref.Val), y.(ref.Val)); eq != types.True {
			return eq
		}
	}
	return types.True
}

func (o *object) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("%s cannot be converted to %s", o.of.name, t)
}

func (o *object) ConvertToType(t ref.Type) ref.Val { return convertSelf(o, t) }

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// convertSelf is the conversion of a value that converts to its own type and to type alone.
func convertSelf(v ref.Val, t ref.Type) ref.Val {
	switch {
	case t == types.TypeType:
		return v.Type().(*types.Type)
	case t.TypeName() == v.Type().TypeName():
		return v
	}
	return types.NewErr("type conversion error from '%s' to '%s'", v.Type().TypeName(), t.TypeName())
}

// sequence is what a [list] shows.
type sequence interface {
	size() int
	at(i int) ref.Val // may be an error
}

// list is a CEL list over a sequence.
type list struct{ sequence }

func (l *list) Type() ref.Type    { return types.ListType }
func (l *list) Value() any        { return l.elements() }
func (l *list) Size() ref.Val     { return types.Int(l.size()) }
func (l *list) IsZeroValue() bool { return l.size() == 0 }

// elements converts the whole list.
func (l *list) elements() []ref.Val {
	out := make([]ref.Val, l.size())
	for i := range out {
		out[i] = l.at(i)
	}
	return out
}

func (l *list) plain() traits.Lister {
	return types.NewRefValList(adapter, l.elements())
}

func (l *list) Add(other ref.Val) ref.Val        { return l.plain().Add(other) }
func (l *list) ConvertToType(t ref.Type) ref.Val { return l.plain().ConvertToType(t) }
func (l *list) Iterator() traits.Iterator        { return &iterator{of: l.sequence} }
func (l *list) ConvertToNative(t reflect.Type) (any, error) {
	return l.plain().ConvertToNative(t)
}

// Equal compares element by element. An element that cannot be converted is an
// error: the lists of the library take it for equal to anything.
func (l *list) Equal(other ref.Val) ref.Val {
	o, ok := other.(traits.Lister)
	if !ok || o.Size() != l.Size() {
		return types.False
	}
	for i := range l.size() {
		if eq := equal(l.at(i), o.Get(types.Int(i))); eq != types.True {
			return eq
		}
	}
	return types.True
}

// equal is types.Equal, but an error on either side is the result.
func equal(a, b ref.Val) ref.Val {
	if types.IsUnknownOrError(a) {
		return a
	}
	if types.IsUnknownOrError(b) {
		return b
	}
	return types.Equal(a, b)
}

// Contains reports whether an element equals the value; an element that cannot be
// converted is an error, unless an equal one comes before it.
func (l *list) Contains(v ref.Val) ref.Val {
	for i := range l.size() {
		if eq := equal(l.at(i), v); eq != types.False {
			return eq
		}
	}
	return types.False
}

func (l *list) Get(index ref.Val) ref.Val {
	i, err := types.IndexOrError(index)
	if err != nil {
		return types.WrapErr(err)
	}
	if i < 0 || i >= l.size() {
		return types.NewErr("index out of bounds: %d", i)
	}
	return l.at(i)
}

// iterator goes over a sequence once.
type iterator struct {
	of   sequence
	next int
}

func (it *iterator) HasNext() ref.Val { return types.Bool(it.next < it.of.size()) }

func (it *iterator) Next() ref.Val {
	it.next++
	return it.of.at(it.next - 1)
}

func (it *iterator) Type() ref.Type                 { return types.IteratorType }
func (it *iterator) Value() any                     { return nil }
func (it *iterator) Equal(ref.Val) ref.Val          { return types.NoSuchOverloadErr() }
func (it *iterator) ConvertToType(ref.Type) ref.Val { return types.NoSuchOverloadErr() }
func (it *iterator) ConvertToNative(reflect.Type) (any, error) {
	return nil, fmt.Errorf("an iterator is no data")
}

// texts is a list of strings. Membership takes constant time in long lists
// that were made with newTexts.
type texts struct {
	list
	s     []string
	every bool            // a set that every text is in: the tags of a label that carries every tag, the readers of a public one
	set   map[string]bool // of a long list
}

// init makes t, which must not move afterwards, show s.
func (t *texts) init(s []string, every bool) *texts {
	t.s, t.every = s, every
	t.sequence = t
	return t
}

// newTexts returns a list of strings that is kept, with an index if it is long.
func newTexts(s []string) *texts {
	t := new(texts).init(s, false)
	if len(s) > 8 {
		t.set = make(map[string]bool, len(s))
		for _, e := range s {
			t.set[e] = true
		}
	}
	return t
}

func (t *texts) size() int        { return len(t.s) }
func (t *texts) at(i int) ref.Val { return types.String(t.s[i]) }

func (t *texts) Contains(v ref.Val) ref.Val {
	s, ok := v.(types.String)
	switch {
	case !ok:
		if types.IsUnknownOrError(v) {
			return v
		}
		return types.False
	case t.every:
		return types.True
	case t.set != nil:
		return types.Bool(t.set[string(s)])
	}
	return types.Bool(slices.Contains(t.s, string(s)))
}

// entries is what a [dict] shows: a map whose keys are strings.
type entries interface {
	keys() []string // in an order that depends on the entries alone
	get(key string) (ref.Val, bool)
}

// dict is a CEL map over entries.
type dict struct{ entries }

func (d *dict) Type() ref.Type    { return types.MapType }
func (d *dict) Value() any        { return d.entries }
func (d *dict) Size() ref.Val     { return types.Int(len(d.keys())) }
func (d *dict) IsZeroValue() bool { return len(d.keys()) == 0 }

// plain converts the whole map.
func (d *dict) plain() traits.Mapper {
	m := map[ref.Val]ref.Val{}
	for _, k := range d.keys() {
		m[types.String(k)], _ = d.get(k)
	}
	return types.NewRefValMap(adapter, m)
}

func (d *dict) ConvertToType(t ref.Type) ref.Val { return convertSelf(d, t) }
func (d *dict) ConvertToNative(t reflect.Type) (any, error) {
	return d.plain().ConvertToNative(t)
}

// Equal compares entry by entry. A value that cannot be converted is an error.
func (d *dict) Equal(other ref.Val) ref.Val {
	o, ok := other.(traits.Mapper)
	if !ok || o.Size() != d.Size() {
		return types.False
	}
	for _, k := range d.keys() {
		v, _ := d.get(k)
		w, found := o.Find(types.String(k))
		if !found && w == nil {
			return types.False
		}
		if eq := equal(v, w); eq != types.True {
			return eq
		}
	}
	return types.True
}

func (d *dict) Find(key ref.Val) (ref.Val, bool) {
	k, ok := key.(types.String)
	if !ok {
		if types.IsUnknownOrError(key) {
			return key, false
		}
		return nil, false
	}
	v, ok := d.get(string(k))
	if ok && types.IsError(v) {
		return v, false
	}
	return v, ok
}

func (d *dict) Contains(key ref.Val) ref.Val {
	v, found := d.Find(key)
	if v != nil && types.IsUnknownOrError(v) {
		return v
	}
	return types.Bool(found)
}

func (d *dict) Get(key ref.Val) ref.Val {
	v, found := d.Find(key)
	switch {
	case found, v != nil && types.IsUnknownOrError(v):
		return v
	}
	return types.NewErr("no such key: %v", key)
}

func (d *dict) Iterator() traits.Iterator { return new(texts).init(d.keys(), false).Iterator() }

// Fold calls f for each key and value, for macros with two variables.
func (d *dict) Fold(f traits.Folder) {
	for _, k := range d.keys() {
		v, _ := d.get(k)
		if !f.FoldEntry(types.String(k), v) {
			return
		}
	}
}
