// Package value is what crosses the gate: a plain tree of data with a label at
// every node, copied at the crossing. It holds no functions and no references
// into a program or a tool.
//
// One canonical encoding ([Value.MarshalJSON], [Value.AppendPlain]) serves wire,
// digest, approval and journal.
package value

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"callgate/engine/label"
)

// Kind is the type of a [Value]. The zero Kind is [Invalid].
type Kind uint8

// The kinds of value.
const (
	Invalid Kind = iota
	None
	Bool
	Int
	Float
	String
	Bytes
	List
	Tuple
	Dict   // keys of any scalar kind or tuple, in insertion order
	Set    // in insertion order
	Record // named fields, in order: a struct
)

var kindNames = [...]string{"invalid", "None", "bool", "int", "float", "string", "bytes", "list", "tuple", "dict", "set", "struct"}

// String returns the name that programs use for the kind, such as "dict".
func (k Kind) String() string { return kindNames[min(int(k), len(kindNames)-1)] }

// Value is a node of the tree. The zero Value is [Invalid] and labelled Top.
// Values are read-only once made; they may share parts.
type Value struct {
	Kind Kind

	// Label is the label of the reference to the node: of a scalar, who
	// influenced it and who may read it.
	Label label.Label

	// Structure is the label of a container's length, order and keys. It
	// means nothing for a scalar.
	Structure label.Label

	Bool  bool
	Int   *big.Int // Kind Int; never nil there
	Float float64
	Str   string  // Kind String (UTF-8) or Bytes
	Keys  []Value // Dict: the keys; Record: the names, as strings
	Items []Value // List, Tuple, Set: the elements; Dict, Record: the values, beside Keys
}

// Scalar reports whether the value has no parts.
func (v Value) Scalar() bool { return v.Kind < List }

// NoneOf returns None with a label.
func NoneOf(l label.Label) Value { return Value{Kind: None, Label: l} }

// BoolOf returns a bool with a label.
func BoolOf(b bool, l label.Label) Value { return Value{Kind: Bool, Bool: b, Label: l} }

// IntOf returns an int with a label.
func IntOf(i int64, l label.Label) Value { return Value{Kind: Int, Int: big.NewInt(i), Label: l} }

// FloatOf returns a float with a label.
func FloatOf(f float64, l label.Label) Value { return Value{Kind: Float, Float: f, Label: l} }

// StringOf returns a string with a label.
func StringOf(s string, l label.Label) Value { return Value{Kind: String, Str: s, Label: l} }

// ListOf returns a list whose reference and structure carry the label.
func ListOf(l label.Label, items ...Value) Value {
	return Value{Kind: List, Label: l, Structure: l, Items: items}
}

// Field is one entry of a dict or record made in Go.
type Field struct {
	Name string
	Of   Value
}

// DictOf returns a dict with string keys whose reference, structure and keys carry the label.
func DictOf(l label.Label, fields ...Field) Value {
	v := Value{Kind: Dict, Label: l, Structure: l}
	for _, f := range fields {
		v.Keys = append(v.Keys, StringOf(f.Name, l))
		v.Items = append(v.Items, f.Of)
	}
	return v
}

// Get returns the value under a string key of a dict, or a field of a record.
// It does not join labels; see [Value.Walk] for labels as a reader meets them.
func (v Value) Get(key string) (Value, bool) {
	for i, k := range v.Keys {
		if k.Kind == String && k.Str == key {
			return v.Items[i], true
		}
	}
	return Value{}, false
}

// Of makes a value from plain Go data, the whole tree under one label: nil,
// bool, int, int64, uint64, float64, *big.Int, [encoding/json.Number], string, []byte, []any,
// []string, map[string]any (keys sorted), [Field] slices (a dict in order), and
// Values, which keep the labels they have. Anything else is an error.
func Of(x any, l label.Label) (Value, error) {
	switch x := x.(type) {
	case nil:
		return NoneOf(l), nil
	case bool:
		return BoolOf(x, l), nil
	case int:
		return IntOf(int64(x), l), nil
	case int64:
		return IntOf(x, l), nil
	case uint64:
		return Value{Kind: Int, Int: new(big.Int).SetUint64(x), Label: l}, nil
	case *big.Int:
		return Value{Kind: Int, Int: new(big.Int).Set(x), Label: l}, nil
	case float64:
		return FloatOf(x, l), nil
	case interface{ Int64() (int64, error) }: // json.Number
		return ofNumber(fmt.Sprint(x), l)
	case string:
		return StringOf(x, l), nil
	case []byte:
		return Value{Kind: Bytes, Str: string(x), Label: l}, nil
	case []string:
		v := ListOf(l)
		for _, e := range x {
			v.Items = append(v.Items, StringOf(e, l))
		}
		return v, nil
	case []any:
		v := ListOf(l)
		for i, e := range x {
			item, err := Of(e, l)
			if err != nil {
				return Value{}, fmt.Errorf("[%d]: %w", i, err)
			}
			v.Items = append(v.Items, item)
		}
		return v, nil
	case map[string]any:
		v := DictOf(l)
		for _, k := range slices.Sorted(mapKeys(x)) {
			item, err := Of(x[k], l)
			if err != nil {
				return Value{}, fmt.Errorf(".%s: %w", k, err)
			}
			v.Keys = append(v.Keys, StringOf(k, l))
			v.Items = append(v.Items, item)
		}
		return v, nil
	case []Field:
		return DictOf(l, x...), nil
	case Value:
		return x, nil
	}
	return Value{}, fmt.Errorf("got Go type %T, want plain data", x)
}

func mapKeys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func ofNumber(s string, l label.Label) (Value, error) {
	if i, ok := new(big.Int).SetString(s, 10); ok {
		return Value{Kind: Int, Int: i, Label: l}, nil
	}
	var f float64
	if _, err := fmt.Sscan(s, &f); err != nil {
		return Value{}, fmt.Errorf("number %q: %w", s, err)
	}
	return FloatOf(f, l), nil
}

// Plain returns the data without labels, as Go data that encoding/json would
// give: nil, bool, int64 or *big.Int, float64, string, []byte, []any, map[string]any. A dict with keys that are
// not strings has them in their Starlark form, such as "1" or "(1, 2)".
func (v Value) Plain() any {
	switch v.Kind {
	case Bool:
		return v.Bool
	case Int:
		if v.Int.IsInt64() {
			return v.Int.Int64()
		}
		return v.Int
	case Float:
		return v.Float
	case String:
		return v.Str
	case Bytes:
		return []byte(v.Str)
	case List, Tuple, Set:
		out := make([]any, len(v.Items))
		for i, e := range v.Items {
			out[i] = e.Plain()
		}
		return out
	case Dict, Record:
		out := make(map[string]any, len(v.Items))
		for i, k := range v.Keys {
			out[k.keyText()] = v.Items[i].Plain()
		}
		return out
	}
	return nil
}

func (v Value) keyText() string {
	if v.Kind == String {
		return v.Str
	}
	return v.Text()
}

// Relabel returns a copy of the tree in which f has replaced each label: of
// references, structures and keys. It is how a label is lowered or raised as a whole.
func (v Value) Relabel(f func(label.Label) label.Label) Value {
	v.Label = f(v.Label)
	if v.Scalar() {
		return v
	}
	v.Structure = f(v.Structure)
	v.Keys = relabelAll(v.Keys, f)
	v.Items = relabelAll(v.Items, f)
	return v
}

func relabelAll(in []Value, f func(label.Label) label.Label) []Value {
	if in == nil {
		return nil
	}
	out := make([]Value, len(in))
	for i, e := range in {
		out[i] = e.Relabel(f)
	}
	return out
}

// Rewrite returns a copy of the tree in which f has replaced each node, keys
// too, from the root down: what is below a node is that of the node that f returned.
func (v Value) Rewrite(f func(Value) Value) Value {
	out := f(v)
	for left := []*Value{&out}; len(left) > 0; {
		n := left[len(left)-1]
		left = left[:len(left)-1]
		if n.Scalar() {
			continue
		}
		n.Keys, n.Items = slices.Clone(n.Keys), slices.Clone(n.Items)
		for _, part := range [][]Value{n.Keys, n.Items} {
			for i := range part {
				part[i] = f(part[i])
				left = append(left, &part[i])
			}
		}
	}
	return out
}

// Joined returns a copy of the tree with l joined to every label.
func (v Value) Joined(l label.Label) Value {
	return v.Relabel(func(m label.Label) label.Label { return m.Join(l) })
}

// Deep returns the join of every label in the tree: the label of whoever reads all of it.
func (v Value) Deep() label.Label {
	l := v.Label
	if v.Scalar() {
		return l
	}
	l = l.Join(v.Structure)
	for _, k := range v.Keys {
		l = l.Join(k.Deep())
	}
	for _, e := range v.Items {
		l = l.Join(e.Deep())
	}
	return l
}

// Walk calls f for every scalar of the tree, in order, with its path below
// the root ("[0].iban", "" for a scalar root) and the label of reading it: its own joined with those
// of every reference, structure and key on the way. Keys of dicts count as scalars too, under the path
// of their entry followed by "#key", when keys is true.
func (v Value) Walk(keys bool, f func(path string, v Value, l label.Label)) {
	v.walk("", label.Bottom(), keys, f)
}

func (v Value) walk(path string, via label.Label, keys bool, f func(string, Value, label.Label)) {
	via = via.Join(v.Label)
	if v.Scalar() {
		f(path, v, via)
		return
	}
	via = via.Join(v.Structure)
	for i, e := range v.Items {
		at := path + "[" + fmt.Sprint(i) + "]"
		under := via
		if v.Kind == Dict || v.Kind == Record {
			at = path + "." + v.Keys[i].keyText()
			under = via.Join(v.Keys[i].Deep())
			if keys {
				f(at+"#key", v.Keys[i], under)
			}
		}
		e.walk(at, under, keys, f)
	}
}

// Size returns the number of nodes in the tree, keys included.
func (v Value) Size() int {
	n := 1
	for _, k := range v.Keys {
		n += k.Size()
	}
	for _, e := range v.Items {
		n += e.Size()
	}
	return n
}

// Text returns the value as a program would print its repr: strings quoted, no labels.
func (v Value) Text() string {
	var b strings.Builder
	v.text(&b)
	return b.String()
}
