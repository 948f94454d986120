package cel

import (
	"encoding/base64"
	"math"
	"math/big"
	"strconv"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"callgate/engine/value"
	"callgate/policies"
)

// argType says how an argument, or a part of one, is shown: by the type that its
// tool's schema gives it, or as dyn.
type argType struct {
	typ      *types.Type
	kind     argKind
	nullable bool        // None is shown as null
	elem     *argType    // of a list or a map
	object   *objectType // of an object; its getters take the *value.Value
}

type argKind uint8

const (
	argDyn argKind = iota
	argNull
	argBool
	argInt
	argDouble
	argString
	argList
	argMap
	argObject
)

var (
	dynArg  = &argType{typ: types.DynType, kind: argDyn}
	nullArg = &argType{typ: types.NullType, kind: argNull}
)

// show converts a value. What the schema does not allow is an error, which the gate
// should have found first.
func (t *argType) show(v *value.Value) ref.Val {
	if t.kind == argDyn {
		return showDyn(v)
	}
	if v.Kind == value.None && (t.nullable || t.kind == argNull) {
		return types.NullValue
	}
	switch t.kind {
	case argBool:
		if v.Kind == value.Bool {
			return types.Bool(v.Bool)
		}
	case argInt:
		switch {
		case v.Kind == value.Int:
			return bigValue(v.Int)
		case v.Kind == value.Float && v.Float == math.Trunc(v.Float) && math.Abs(v.Float) < 1<<53:
			return types.Int(v.Float)
		}
	case argDouble:
		switch {
		case v.Kind == value.Float && !math.IsNaN(v.Float) && !math.IsInf(v.Float, 0):
			return types.Double(v.Float)
		case v.Kind == value.Float:
			return types.NewErr("got %v, want a finite number", v.Float)
		case v.Kind == value.Int:
			f, _ := new(big.Float).SetInt(v.Int).Float64()
			if math.Abs(f) > 1<<53 {
				return types.NewErr("integer %s is too large to compare", v.Int)
			}
			return types.Double(f)
		}
	case argString:
		if v.Kind == value.String || v.Kind == value.Bytes {
			return types.String(textOf(v))
		}
	case argList:
		if v.Kind == value.List || v.Kind == value.Tuple || v.Kind == value.Set {
			return &list{argItems{v.Items, t.elem}}
		}
	case argMap:
		if v.Kind == value.Dict || v.Kind == value.Record {
			return &dict{argEntries{v, t.elem}}
		}
	case argObject:
		if v.Kind == value.Dict || v.Kind == value.Record {
			return &object{t.object, v}
		}
	}
	return types.NewErr("got %s, want %s", v.Kind, t.typ)
}

// showDyn converts a value as the request document shows it.
func showDyn(v *value.Value) ref.Val {
	switch v.Kind {
	case value.None:
		return types.NullValue
	case value.Bool:
		return types.Bool(v.Bool)
	case value.Int:
		return bigValue(v.Int)
	case value.Float:
		return floatValue(v.Float)
	case value.String, value.Bytes:
		return types.String(textOf(v))
	case value.List, value.Tuple, value.Set:
		return &list{argItems{v.Items, dynArg}}
	case value.Dict, value.Record:
		return &dict{argEntries{v, dynArg}}
	}
	return types.NewErr("a value of kind %s has no data", v.Kind)
}

// textOf shows bytes as base64, as the request document does.
func textOf(v *value.Value) string {
	if v.Kind == value.Bytes {
		return base64.StdEncoding.EncodeToString([]byte(v.Str))
	}
	return v.Str
}

// bigValue is an error for what 64 bits do not hold.
func bigValue(i *big.Int) ref.Val {
	if !i.IsInt64() {
		return types.NewErr("integer of %d bits does not fit 64", i.BitLen())
	}
	return types.Int(i.Int64())
}

// floatValue shows what JSON has no number for as a text, as the request document does.
func floatValue(f float64) ref.Val {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return types.String(strconv.FormatFloat(f, 'g', -1, 64))
	}
	return types.Double(f)
}

// argItems shows the elements of a list.
type argItems struct {
	items []value.Value
	elem  *argType
}

func (a argItems) size() int        { return len(a.items) }
func (a argItems) at(i int) ref.Val { return a.elem.show(&a.items[i]) }

// argEntries shows the entries of a dict.
type argEntries struct {
	v    *value.Value
	elem *argType
}

func (a argEntries) keys() []string {
	out := make([]string, 0, len(a.v.Keys))
	seen := make(map[string]bool, len(a.v.Keys))
	for _, k := range a.v.Keys {
		if text := policies.KeyText(k); !seen[text] {
			seen[text] = true
			out = append(out, text)
		}
	}
	return out
}

func (a argEntries) get(key string) (ref.Val, bool) {
	v := entry(a.v, key)
	if v == nil {
		return nil, false
	}
	return a.elem.show(v), true
}

// entry returns the value of a key as rules see keys, or nil. Of two keys with one
// text, such as 1 and "1", the last counts, as in the request document.
func entry(v *value.Value, key string) *value.Value {
	if v.Kind != value.Dict && v.Kind != value.Record {
		return nil
	}
	for i := len(v.Keys) - 1; i >= 0; i-- {
		if k := &v.Keys[i]; k.Kind == value.String && k.Str == key || k.Kind != value.String && k.Text() == key {
			return &v.Items[i]
		}
	}
	return nil
}

// addArg declares a parameter, or a property of an object.
func (t *objectType) addArg(name string, of *argType) {
	t.add(name, of.typ, func(from any) ref.Val {
		v := entry(from.(*value.Value), name)
		if v == nil {
			return types.NewErr("no such key: %s", name)
		}
		return of.show(v)
	}, func(from any) bool { return entry(from.(*value.Value), name) != nil })
}
