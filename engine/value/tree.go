package value

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"

	"callgate/engine/label"
)

// Check reports why the value may not cross: a node is [Invalid] or malformed (an int without a
// number, keys that do not match the items, a struct's name that is no string), a key of a dict or set is
// no scalar, nor a tuple or struct of such, or is there twice (1 and 1.0 are one key), something is nested deeper than [MaxDepth], an int
// is larger than [MaxIntBits]. The error begins with the path.
func (v Value) Check() error {
	if path, err := v.check(0); err != nil {
		if path == "" {
			return fmt.Errorf("value: %w", err)
		}
		return fmt.Errorf("value: %s: %w", path, err)
	}
	return nil
}

// check returns what is wrong, and the path to it, which is cut short if it is very long.
func (v *Value) check(depth int) (string, error) {
	if what := v.malformed(); what != "" {
		return "", errors.New(what)
	}
	if v.Kind == Int && v.Int.BitLen() > MaxIntBits {
		return "", fmt.Errorf("got an int of %d bits, want at most %d", v.Int.BitLen(), MaxIntBits)
	}
	if v.Scalar() {
		return "", nil
	}
	if depth >= MaxDepth {
		return "", errDeep
	}
	keys := v.Keys
	if v.Kind == Set {
		keys = v.Items
	}
	for i := range keys {
		if !keys[i].hashable(depth + 1) {
			return "", fmt.Errorf("got a key of type %s, want a scalar, or a tuple or struct of such", keys[i].Kind)
		}
	}
	if i := duplicate(keys); i >= 0 {
		return "", fmt.Errorf("got the key %s twice", keys[i].brief())
	}
	for i := range v.Items {
		path, err := v.Items[i].check(depth + 1)
		if err == nil {
			continue
		}
		at := "[" + strconv.Itoa(i) + "]"
		if v.Kind == Dict || v.Kind == Record {
			at = keyPath("", v.Keys[i])
		}
		if len(path) > 200 {
			path = path[:200] + "…"
		}
		return at + path, err
	}
	return "", nil
}

// malformed says why the node itself is no value; "" if it is one.
func (v *Value) malformed() string {
	switch {
	case v.Kind == Invalid || v.Kind > Record:
		return "got an invalid value"
	case v.Kind == Int && v.Int == nil:
		return "got an int without a number"
	case (v.Kind == Dict || v.Kind == Record) && len(v.Keys) != len(v.Items):
		return fmt.Sprintf("got a %s of %d keys and %d items", v.Kind, len(v.Keys), len(v.Items))
	case v.Kind != Dict && v.Kind != Record && len(v.Keys) > 0, v.Scalar() && len(v.Items) > 0:
		return fmt.Sprintf("got a %s with %d keys and %d items", v.Kind, len(v.Keys), len(v.Items))
	case v.Kind == Record:
		for i := range v.Keys {
			if v.Keys[i].Kind != String {
				return fmt.Sprintf("got a struct with a name of type %s", v.Keys[i].Kind)
			}
		}
	}
	return ""
}

// hashable reports whether the value may be a key.
func (v *Value) hashable(depth int) bool {
	if v.malformed() != "" || depth > MaxDepth || v.Kind == Int && v.Int.BitLen() > MaxIntBits {
		return false
	}
	if v.Kind != Tuple && v.Kind != Record {
		return v.Scalar()
	}
	for i := range v.Items {
		if !v.Items[i].hashable(depth + 1) {
			return false
		}
	}
	return true
}

// duplicate returns the index of the first key that is there before; -1 if there is none.
func duplicate(keys []Value) int {
	if len(keys) < 2 {
		return -1
	}
	if len(keys) <= 8 && allStrings(keys) {
		for i := range keys {
			for j := range i {
				if keys[i].Str == keys[j].Str {
					return i
				}
			}
		}
		return -1
	}
	seen := make(map[string]struct{}, len(keys))
	var b []byte
	for i := range keys {
		if keys[i].Kind == String {
			b = append(append(b[:0], 's'), keys[i].Str...)
		} else {
			b = keys[i].appendIdentity(append(b[:0], 'v'))
		}
		if _, ok := seen[string(b)]; ok {
			return i
		}
		seen[string(b)] = struct{}{}
	}
	return -1
}

func allStrings(keys []Value) bool {
	for i := range keys {
		if keys[i].Kind != String {
			return false
		}
	}
	return true
}

// appendIdentity appends bytes that are the same for keys that are equal to a program: a whole float
// is the int that it equals.
func (v *Value) appendIdentity(b []byte) []byte {
	switch {
	case v.Kind == Float && v.Float == math.Trunc(v.Float) && !math.IsInf(v.Float, 0):
		i, _ := big.NewFloat(v.Float).Int(nil)
		return i.Append(b, 10)
	case v.Kind == Tuple:
		b = append(b, '(')
		for i := range v.Items {
			b = append(v.Items[i].appendIdentity(b), ',')
		}
		return append(b, ')')
	case v.Kind == Record:
		b = append(b, '(')
		for i := range v.Items {
			b = append(v.Keys[i].AppendPlain(b), '=')
			b = append(v.Items[i].appendIdentity(b), ',')
		}
		return append(b, ')')
	}
	return v.AppendPlain(b)
}

// brief returns a key for an error.
func (v *Value) brief() string {
	s := v.Text()
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}

// nodes yields every node of the tree, a node before its parts and otherwise in no particular
// order, however deep it is.
func (v *Value) nodes(yield func(*Value) bool) {
	var room [32]*Value
	left := append(room[:0], v)
	for len(left) > 0 {
		n := left[len(left)-1]
		left = left[:len(left)-1]
		if !yield(n) {
			return
		}
		for i := range n.Keys {
			left = append(left, &n.Keys[i])
		}
		for i := range n.Items {
			left = append(left, &n.Items[i])
		}
	}
}

// Deep returns the join of every label in the tree: the label of whoever reads all of it.
func (v Value) Deep() label.Label {
	if v.Scalar() {
		return v.Label
	}
	l := label.Bottom()
	var seen [4]label.Label // the last few: most trees have few labels, in turn
	next := 0
	add := func(m label.Label) {
		if slices.Contains(seen[:min(next, len(seen))], m) {
			return
		}
		l, seen[next%len(seen)] = l.Join(m), m
		next++
	}
	for n := range v.nodes {
		add(n.Label)
		if !n.Scalar() {
			add(n.Structure)
		}
	}
	return l
}

// Size returns the number of nodes in the tree, keys included.
func (v Value) Size() int {
	size := 0
	for range v.nodes {
		size++
	}
	return size
}

// Rewrite returns a copy of the tree in which f has replaced each node, keys
// too, from the root down: what is below a node is that of the node that f returned.
func (v Value) Rewrite(f func(Value) Value) Value {
	out := f(v)
	for n := range out.nodes {
		n.Keys, n.Items = slices.Clone(n.Keys), slices.Clone(n.Items)
		for i := range n.Keys {
			n.Keys[i] = f(n.Keys[i])
		}
		for i := range n.Items {
			n.Items[i] = f(n.Items[i])
		}
	}
	return out
}

// Relabel returns a copy of the tree in which f has replaced each label: of
// references, structures and keys. It is how a label is lowered or raised as a whole.
func (v Value) Relabel(f func(label.Label) label.Label) Value {
	return v.Rewrite(func(n Value) Value {
		n.Label = f(n.Label)
		if !n.Scalar() {
			n.Structure = f(n.Structure)
		}
		return n
	})
}

// Joined returns a copy of the tree with l joined to every label.
func (v Value) Joined(l label.Label) Value {
	return v.Relabel(func(m label.Label) label.Label { return m.Join(l) })
}

// Walk calls f for every scalar of the tree, in order, with its path below
// the root and the label of reading it: its own joined with those
// of every reference, structure and key on the way. A path is "[0].iban", "" for a scalar root; a key that
// is no name is quoted, ["x y"], so that no two scalars have one path. Keys of dicts and structs count too, under the path
// of their entry followed by "#key", when keys is true; a tuple or struct that is a key is one of them, as a whole.
//
// What is nested deeper than [MaxDepth] is one [Invalid] leaf with the join of all its labels.
func (v Value) Walk(keys bool, f func(path string, v Value, l label.Label)) {
	v.walk("", label.Bottom(), 0, keys, f)
}

func (v *Value) walk(path string, via label.Label, depth int, keys bool, f func(string, Value, label.Label)) {
	via = via.Join(v.Label)
	if v.Scalar() {
		f(path, *v, via)
		return
	}
	via = via.Join(v.Structure)
	if depth >= MaxDepth || v.malformed() != "" {
		l := via.Join(v.Deep())
		f(path, Value{Label: l, Structure: l}, l)
		return
	}
	for i := range v.Items {
		at, under := path+"["+strconv.Itoa(i)+"]", via
		if v.Kind == Dict || v.Kind == Record {
			at = keyPath(path, v.Keys[i])
			under = via.Join(v.Keys[i].Deep())
			if keys {
				f(at+"#key", v.Keys[i], under)
			}
		}
		v.Items[i].walk(at, under, depth+1, keys, f)
	}
}
