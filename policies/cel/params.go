package cel

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// param is a policy's parameter: a value that does not change, with its type.
type param struct {
	typ *types.Type
	val ref.Val
}

// paramTypes turns the parameters of one policy into values and types.
type paramTypes struct {
	objects []*objectType
}

// root returns the type of params.
func (b *paramTypes) root(params map[string]any) (*objectType, error) {
	t := newObjectType(typeParams)
	for _, name := range slices.Sorted(maps.Keys(params)) {
		p, err := b.of(params[name], name, false)
		if err != nil {
			return nil, fmt.Errorf("params.%s%w", name, err)
		}
		t.add(name, p.typ, func(any) ref.Val { return p.val }, nil)
	}
	return t, nil
}

// of returns the value and type of plain data. A map whose values differ in type is an
// object with its keys as fields, but for one in a list, which is a map to dyn.
func (b *paramTypes) of(v any, path string, inList bool) (param, error) {
	switch v := v.(type) {
	case nil:
		return param{types.NullType, types.NullValue}, nil
	case bool:
		return param{types.BoolType, types.Bool(v)}, nil
	case int:
		return param{types.IntType, types.Int(v)}, nil
	case int64:
		return param{types.IntType, types.Int(v)}, nil
	case uint64:
		if v > math.MaxInt64 {
			return param{}, fmt.Errorf(": %d does not fit 64 bits", v)
		}
		return param{types.IntType, types.Int(v)}, nil
	case float64:
		return param{types.DoubleType, types.Double(v)}, nil
	case string:
		return param{types.StringType, types.String(v)}, nil
	case []string:
		return param{stringList, newTexts(v)}, nil
	case []any:
		return b.list(v, path)
	case map[string]any:
		return b.dict(v, path, inList)
	}
	return param{}, fmt.Errorf(": got %T, want plain data", v)
}

func (b *paramTypes) list(in []any, path string) (param, error) {
	elem := types.DynType
	vals := make([]ref.Val, len(in))
	strs := make([]string, 0, len(in))
	for i, e := range in {
		p, err := b.of(e, path, true)
		if err != nil {
			return param{}, fmt.Errorf("[%d]%w", i, err)
		}
		vals[i] = p.val
		switch {
		case i == 0:
			elem = p.typ
		case !elem.IsExactType(p.typ):
			elem = types.DynType
		}
		if s, ok := e.(string); ok {
			strs = append(strs, s)
		}
	}
	if len(in) > 0 && len(strs) == len(in) {
		return param{stringList, newTexts(strs)}, nil
	}
	return param{types.NewListType(elem), &list{fixedList(vals)}}, nil
}

func (b *paramTypes) dict(in map[string]any, path string, inList bool) (param, error) {
	d := fixedDict{vals: make(map[string]ref.Val, len(in)), order: slices.Sorted(maps.Keys(in))}
	fields := make([]param, len(d.order))
	var elem *types.Type
	for i, k := range d.order {
		p, err := b.of(in[k], path+"."+k, inList)
		if err != nil {
			return param{}, fmt.Errorf(".%s%w", k, err)
		}
		fields[i], d.vals[k] = p, p.val
		switch {
		case elem == nil:
			elem = p.typ
		case !elem.IsExactType(p.typ):
			elem = types.DynType
		}
	}
	if elem == nil {
		elem = types.DynType
	}
	if elem != types.DynType || inList || len(in) == 0 {
		return param{types.NewMapType(types.StringType, elem), &dict{d}}, nil
	}
	t := newObjectType("the map params." + path)
	for i, k := range d.order {
		t.add(k, fields[i].typ, func(any) ref.Val { return fields[i].val }, nil)
	}
	b.objects = append(b.objects, t)
	return param{t.typ, &object{t, nil}}, nil
}

// fixedList is a list of values that are there already.
type fixedList []ref.Val

func (l fixedList) size() int        { return len(l) }
func (l fixedList) at(i int) ref.Val { return l[i] }

// fixedDict is a map of values that are there already.
type fixedDict struct {
	vals  map[string]ref.Val
	order []string
}

func (d fixedDict) keys() []string { return d.order }

func (d fixedDict) get(key string) (ref.Val, bool) {
	v, ok := d.vals[key]
	return v, ok
}
