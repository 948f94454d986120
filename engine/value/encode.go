package value

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"callgate/engine/label"
)

// The canonical encoding is JSON in which every value has exactly one form.
// None, bools, strings, lists and dicts whose keys are strings are their JSON
// selves; an int has no point and no exponent; a float always has one; the rest is an
// object with one key that begins with "$". A dict with a key that begins with
// "$", or with a key that is no string, is {"$dict": [[k, v], …]}. The order of
// a dict's entries is part of the value. See spec/label.md.

// AppendPlain appends the canonical encoding of the data, without labels. A node that is malformed is
// {"$invalid": true}, which is no encoding of a value; depth is not limited.
func (v Value) AppendPlain(b []byte) []byte {
	e := encoder{b: b}
	e.tree(&v)
	return e.b
}

// Digest returns "sha256:" and the hex digest of the data, without labels.
func (v Value) Digest() string { return digest(v.AppendPlain(nil)) }

// LabelledDigest returns the digest of data and labels together: what an approval binds. Values that
// differ have different digests, those that are too deep or too large too; malformed nodes are all alike.
func (v Value) LabelledDigest() string { return digest(v.appendLabelled(nil)) }

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// MarshalJSON writes the canonical encoding of data and labels:
//
//	{"value": …, "labels": [label, …], "nodes": [0, 0, 1, …]}
//
// Nodes has the index of a label for each node in the order of the encoding, two for a container: of its reference
// and its structure. Nodes that all have one label need a single entry. What [Value.Check] refuses is an error.
func (v Value) MarshalJSON() ([]byte, error) {
	if err := v.Check(); err != nil {
		return nil, err
	}
	return v.appendLabelled(nil), nil
}

func (v *Value) appendLabelled(b []byte) []byte {
	ls := labels{}
	e := encoder{append(b, `{"value":`...), &ls}
	e.tree(v)
	b = append(e.b, `,"labels":[`...)
	for i, l := range ls.table {
		if i > 0 {
			b = append(b, ',')
		}
		b = l.AppendJSON(b)
	}
	b = append(b, `],"nodes":[`...)
	if len(ls.table) == 1 {
		ls.nodes = ls.nodes[:1]
	}
	for i, n := range ls.nodes {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, "]}"...)
}

// labels collects the labels of a tree in the order of its nodes, each one's index into a table. A label
// that is the same in memory as one before is found at once; only others are compared. Few are looked through.
type labels struct {
	table []label.Label
	nodes []int32
	same  map[label.Label]int32
	equal map[string]int32
	key   []byte
}

const fewLabels = 8

func (ls *labels) add(l label.Label) {
	if n := len(ls.nodes); n > 0 && ls.table[ls.nodes[n-1]] == l {
		ls.nodes = append(ls.nodes, ls.nodes[n-1])
		return
	}
	if len(ls.table) < fewLabels {
		i := slices.IndexFunc(ls.table, func(m label.Label) bool { return m == l || m.Equal(l) })
		if i < 0 {
			i = len(ls.table)
			ls.table = append(ls.table, l)
		}
		ls.nodes = append(ls.nodes, int32(i))
		return
	}
	i, ok := ls.same[l]
	if !ok {
		if ls.same == nil {
			ls.same, ls.equal = map[label.Label]int32{}, map[string]int32{}
			for i, m := range ls.table {
				ls.same[m], ls.equal[string(m.AppendKey(nil))] = int32(i), int32(i)
			}
		}
		ls.key = l.AppendKey(ls.key[:0])
		if i, ok = ls.equal[string(ls.key)]; !ok {
			i = int32(len(ls.table))
			ls.table = append(ls.table, l)
			ls.equal[string(ls.key)] = i
		}
		ls.same[l] = i
	}
	ls.nodes = append(ls.nodes, i)
}

// encoder writes a tree. It keeps the containers that it is in itself, not on the stack of
// the goroutine, so that no depth is too much for it.
type encoder struct {
	b  []byte
	ls *labels // nil: no labels
}

// open is a container that is being written.
type open struct {
	v     *Value
	next  int  // index of the next item
	form  form // how its items stand
	half  bool // the key of the next item is written
	close string
}

type form uint8

const (
	inList   form = iota // [item, …]
	inObject             // {"key": item, …}
	inPairs              // [[key, item], …]
)

func (e *encoder) tree(root *Value) {
	var room [16]open
	stack := e.node(room[:0], root)
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		i := top.next
		if i == len(top.v.Items) && !top.half {
			e.b = append(e.b, top.close...)
			stack = stack[:len(stack)-1]
			if n := len(stack); n > 0 && stack[n-1].form == inPairs && !stack[n-1].half {
				e.b = append(e.b, ']')
			}
			continue
		}
		if !top.half && i > 0 {
			e.b = append(e.b, ',')
		}
		switch top.form {
		case inList:
			top.next++
			stack = e.node(stack, &top.v.Items[i])
		case inObject:
			top.next++
			e.node(nil, &top.v.Keys[i])
			e.b = append(e.b, ':')
			stack = e.node(stack, &top.v.Items[i])
		case inPairs:
			part := &top.v.Keys[i]
			if top.half {
				e.b = append(e.b, ',')
				part = &top.v.Items[i]
				top.next++
			} else {
				e.b = append(e.b, '[')
			}
			top.half = !top.half
			value, depth := !top.half, len(stack)
			if stack = e.node(stack, part); value && len(stack) == depth {
				e.b = append(e.b, ']') // of the pair; a container's is written when it ends
			}
		}
	}
}

// node writes a scalar, or the beginning of a container, which it pushes.
func (e *encoder) node(stack []open, v *Value) []open {
	if e.ls != nil {
		e.ls.add(v.Label)
		if !v.Scalar() {
			e.ls.add(v.Structure)
		}
	}
	if v.malformed() != "" {
		e.b = append(e.b, `{"$invalid":true}`...)
		return stack
	}
	b := e.b
	o := open{v: v}
	switch v.Kind {
	case Bool:
		b = strconv.AppendBool(b, v.Bool)
	case Int:
		b = v.Int.Append(b, 10)
	case Float:
		b = appendFloat(b, v.Float)
	case String:
		b = appendString(b, v.Str)
	case Bytes:
		b = appendBase64(append(b, `{"$bytes":"`...), v.Str)
	case List:
		b, o.close = append(b, '['), "]"
	case Tuple:
		b, o.close = append(b, `{"$tuple":[`...), "]}"
	case Set:
		b, o.close = append(b, `{"$set":[`...), "]}"
	case Record:
		b, o.form, o.close = append(b, `{"$struct":[`...), inPairs, "]}"
	case Dict:
		if v.plainKeys() {
			b, o.form, o.close = append(b, '{'), inObject, "}"
		} else {
			b, o.form, o.close = append(b, `{"$dict":[`...), inPairs, "]}"
		}
	default:
		b = append(b, "null"...)
	}
	e.b = b
	if v.Scalar() {
		return stack
	}
	return append(stack, o)
}

// plainKeys reports whether the keys of a dict can be those of a JSON object.
func (v *Value) plainKeys() bool {
	for i := range v.Keys {
		if k := &v.Keys[i]; k.Kind != String || strings.HasPrefix(k.Str, "$") || !utf8.ValidString(k.Str) {
			return false
		}
	}
	return true
}

func appendFloat(b []byte, f float64) []byte {
	if math.IsNaN(f) {
		return append(b, `{"$float":"nan"}`...)
	}
	if math.IsInf(f, 0) {
		return append(append(append(b, `{"$float":"`...), infinity(f)...), `"}`...)
	}
	n := len(b)
	b = strconv.AppendFloat(b, f, 'g', -1, 64)
	if !bytes.ContainsAny(b[n:], ".e") {
		b = append(b, '.', '0')
	}
	return b
}

func infinity(f float64) string {
	if f < 0 {
		return "-inf"
	}
	return "+inf"
}

// appendString writes a JSON string. A byte that is no UTF-8 has no JSON form
// of its own; such a string is {"$string": base64}.
func appendString(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		return appendBase64(append(b, `{"$string":"`...), s)
	}
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' && c < utf8.RuneSelf {
			i++
			continue
		}
		r, n := rune(c), 1
		if c >= utf8.RuneSelf {
			if r, n = utf8.DecodeRuneInString(s[i:]); r != '\u2028' && r != '\u2029' {
				i += n
				continue
			}
		}
		b = append(b, s[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		default:
			const hex = "0123456789abcdef"
			b = append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		}
		i += n
		from = i
	}
	return append(append(b, s[from:]...), '"')
}

// appendBase64 writes bytes and ends the string and the object that they stand in.
func appendBase64(b []byte, s string) []byte {
	return append(base64.StdEncoding.AppendEncode(b, []byte(s)), `"}`...)
}
