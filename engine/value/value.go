// Package value is what crosses the gate: a plain tree of data with a label at
// every node, copied at the crossing. It holds no functions and no references
// into a program or a tool.
//
// One canonical encoding ([Value.MarshalJSON], [Value.AppendPlain]) serves wire,
// digest, approval and journal. [Value.Check] says whether a value may cross.
package value

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"

	"callgate/engine/label"
)

// The bounds of a value that may cross.
const (
	MaxDepth   = 1000         // of containers within containers
	MaxIntBits = 8 * 64 << 10 // of an int
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
	Dict   // keys of any scalar kind, or tuples and structs of such, in insertion order
	Set    // in insertion order
	Record // named fields, in order: a struct
)

var kindNames = [...]string{"invalid", "None", "bool", "int", "float", "string", "bytes", "list", "tuple", "dict", "set", "struct"}

// String returns the name that programs use for the kind, such as "dict".
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return kindNames[Invalid]
	}
	return kindNames[k]
}

// Value is a node of the tree. The zero Value is [Invalid] and labelled Top.
// Values are read-only once made; they may share parts. What Go code makes by hand
// may be malformed or nested too deep: [Value.Check] tells.
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

// DictOf returns a dict with string keys whose reference, structure and keys carry the label. The names must differ.
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
// bool, int, int64, uint64, float64, *big.Int, [json.Number], string, []byte, []any,
// []string, map[string]any (keys sorted), [Field] slices (a dict in order), and
// Values, which keep the labels they have. Anything else is an error, and so is what [Value.Check] refuses,
// but for what is nested deeper than [MaxDepth]: the value is made, for its user to refuse, unless it is deeper by far.
func Of(x any, l label.Label) (Value, error) {
	v, err := of(x, l, 0)
	if err != nil {
		return Value{}, err
	}
	if err := v.Check(); err != nil && !errors.Is(err, errDeep) {
		return Value{}, err
	}
	return v, nil
}

var errDeep = fmt.Errorf("nested deeper than %d", MaxDepth)

func of(x any, l label.Label, depth int) (Value, error) {
	if depth > 100*MaxDepth {
		return Value{}, errDeep
	}
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
		if x == nil {
			return Value{}, errors.New("got a nil *big.Int, want a number")
		}
		return Value{Kind: Int, Int: new(big.Int).Set(x), Label: l}, nil
	case float64:
		return FloatOf(x, l), nil
	case json.Number:
		p := parser{b: []byte(x), l: l}
		if v, err := p.number(); err == nil && p.i == len(p.b) {
			return v, nil
		}
		return Value{}, fmt.Errorf("got %q, want a number", string(x))
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
			item, err := of(e, l, depth+1)
			if err != nil {
				return Value{}, within("["+strconv.Itoa(i)+"]", err)
			}
			v.Items = append(v.Items, item)
		}
		return v, nil
	case map[string]any:
		v := DictOf(l)
		for _, k := range slices.Sorted(maps.Keys(x)) {
			item, err := of(x[k], l, depth+1)
			if err != nil {
				return Value{}, within(keyPath("", StringOf(k, l)), err)
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

// within puts a step of a path before an error, unless there are so many that they tell nothing.
func within(step string, err error) error {
	if errors.Is(err, errDeep) {
		return err
	}
	return fmt.Errorf("%s: %w", step, err)
}

// Plain returns the data without labels, as Go data that encoding/json would
// give: nil, bool, int64 or *big.Int, float64, string, []byte, []any, map[string]any. A dict with keys that are
// not strings has them in their Starlark form, such as "1" or "(1, 2)"; of two keys with one form the
// later one stays. What is nested deeper than [MaxDepth] is nil.
func (v Value) Plain() any { return v.plain(0) }

func (v *Value) plain(depth int) any {
	switch v.Kind {
	case Bool:
		return v.Bool
	case Int:
		switch {
		case v.Int == nil:
			return nil
		case v.Int.IsInt64():
			return v.Int.Int64()
		}
		return new(big.Int).Set(v.Int)
	case Float:
		return v.Float
	case String:
		return v.Str
	case Bytes:
		return []byte(v.Str)
	}
	if v.Scalar() || depth >= MaxDepth || v.malformed() != "" {
		return nil
	}
	if v.Keys != nil || v.Kind == Dict || v.Kind == Record {
		out := make(map[string]any, len(v.Items))
		for i := range v.Keys {
			out[v.Keys[i].keyText()] = v.Items[i].plain(depth + 1)
		}
		return out
	}
	out := make([]any, len(v.Items))
	for i := range v.Items {
		out[i] = v.Items[i].plain(depth + 1)
	}
	return out
}

// keyText returns a key as text: a string as it is, anything else as programs write it.
func (v *Value) keyText() string {
	if v.Kind == String {
		return v.Str
	}
	return v.Text()
}

// keyPath returns the path of the entry under a key: ".name", or in brackets and
// quoted if the key is no name, so that no two entries of a tree have one path.
func keyPath(path string, key Value) string {
	switch {
	case key.Kind != String:
		return path + "[" + key.Text() + "]"
	case isName(key.Str):
		return path + "." + key.Str
	}
	return path + "[" + strconv.Quote(key.Str) + "]"
}

// isName reports whether a key stands in a path without quotes.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return s != ""
}
