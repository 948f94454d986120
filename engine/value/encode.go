package value

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
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
// a dict's entries is part of the value.

// AppendPlain appends the canonical encoding of the data, without labels.
func (v Value) AppendPlain(b []byte) []byte { return v.append(b, nil) }

// Digest returns "sha256:" and the hex digest of the data, without labels.
func (v Value) Digest() string { return digest(v.AppendPlain(nil)) }

// LabelledDigest returns the digest of data and labels together: what an approval binds.
func (v Value) LabelledDigest() string {
	b, err := v.MarshalJSON()
	if err != nil { // a label always encodes
		panic(err)
	}
	return digest(b)
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// labels collects the labels of a tree in the order of its nodes, each one's index into a table.
type labels struct {
	table []label.Label
	nodes []int
}

func (ls *labels) add(l label.Label) {
	for i, t := range ls.table {
		if t.Equal(l) {
			ls.nodes = append(ls.nodes, i)
			return
		}
	}
	ls.table = append(ls.table, l)
	ls.nodes = append(ls.nodes, len(ls.table)-1)
}

type encoded struct {
	Value  json.RawMessage `json:"value"`
	Labels []label.Label   `json:"labels"`
	Nodes  []int           `json:"nodes"` // per node in order: reference, then structure if it is a container
}

// MarshalJSON writes the canonical encoding of data and labels. Nodes that all
// have one label need a single entry.
func (v Value) MarshalJSON() ([]byte, error) {
	var ls labels
	data := v.append(nil, &ls)
	if len(ls.table) == 1 {
		ls.nodes = ls.nodes[:1]
	}
	return json.Marshal(encoded{data, ls.table, ls.nodes})
}

func (v Value) append(b []byte, ls *labels) []byte {
	if ls != nil {
		ls.add(v.Label)
		if !v.Scalar() {
			ls.add(v.Structure)
		}
	}
	switch v.Kind {
	case Bool:
		return strconv.AppendBool(b, v.Bool)
	case Int:
		return v.Int.Append(b, 10)
	case Float:
		return appendFloat(b, v.Float)
	case String:
		return appendString(b, v.Str)
	case Bytes:
		b = append(b, `{"$bytes":"`...)
		b = base64.StdEncoding.AppendEncode(b, []byte(v.Str))
		return append(b, `"}`...)
	case List:
		return v.appendItems(b, ls)
	case Tuple:
		return append(v.appendItems(append(b, `{"$tuple":`...), ls), '}')
	case Set:
		return append(v.appendItems(append(b, `{"$set":`...), ls), '}')
	case Record:
		return append(v.appendPairs(append(b, `{"$struct":`...), ls), '}')
	case Dict:
		for _, k := range v.Keys {
			if k.Kind != String || strings.HasPrefix(k.Str, "$") || !utf8.ValidString(k.Str) {
				return append(v.appendPairs(append(b, `{"$dict":`...), ls), '}')
			}
		}
		b = append(b, '{')
		for i, k := range v.Keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = k.append(b, ls)
			b = append(b, ':')
			b = v.Items[i].append(b, ls)
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}

func (v Value) appendItems(b []byte, ls *labels) []byte {
	b = append(b, '[')
	for i, e := range v.Items {
		if i > 0 {
			b = append(b, ',')
		}
		b = e.append(b, ls)
	}
	return append(b, ']')
}

func (v Value) appendPairs(b []byte, ls *labels) []byte {
	b = append(b, '[')
	for i, e := range v.Items {
		if i > 0 {
			b = append(b, ',')
		}
		b = v.Keys[i].append(append(b, '['), ls)
		b = append(e.append(append(b, ','), ls), ']')
	}
	return append(b, ']')
}

func appendFloat(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, `{"$float":"nan"}`...)
	case math.IsInf(f, 1):
		return append(b, `{"$float":"+inf"}`...)
	case math.IsInf(f, -1):
		return append(b, `{"$float":"-inf"}`...)
	}
	n := len(b)
	b = strconv.AppendFloat(b, f, 'g', -1, 64)
	if !bytes.ContainsAny(b[n:], ".e") {
		b = append(b, '.', '0')
	}
	return b
}

// appendString writes a JSON string. A byte that is no UTF-8 has no JSON form
// of its own; such a string is {"$string": base64}.
func appendString(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		b = append(b, `{"$string":"`...)
		b = base64.StdEncoding.AppendEncode(b, []byte(s))
		return append(b, `"}`...)
	}
	q, err := json.Marshal(s)
	if err != nil { // a valid string always encodes
		panic(err)
	}
	return append(b, q...)
}

// MaxDepth is how deep a decoded tree may nest.
const MaxDepth = 1000

// UnmarshalJSON reads what [Value.MarshalJSON] writes.
func (v *Value) UnmarshalJSON(b []byte) error {
	var e encoded
	if err := json.Unmarshal(b, &e); err != nil {
		return err
	}
	out, err := DecodePlain(e.Value, label.Top())
	if err != nil {
		return err
	}
	i := 0
	uniform := len(e.Labels) == 1 && len(e.Nodes) == 1
	next := func() (label.Label, error) {
		if !uniform && i >= len(e.Nodes) {
			return label.Top(), errors.New("value: fewer labels than nodes")
		}
		n := e.Nodes[min(i, len(e.Nodes)-1)]
		i++
		if n < 0 || n >= len(e.Labels) {
			return label.Top(), fmt.Errorf("value: label %d of %d", n, len(e.Labels))
		}
		return e.Labels[n], nil
	}
	if len(e.Nodes) == 0 {
		return errors.New("value: no labels")
	}
	if err := out.setLabels(next); err != nil {
		return err
	}
	if !uniform && i != len(e.Nodes) {
		return errors.New("value: more labels than nodes")
	}
	*v = out
	return nil
}

func (v *Value) setLabels(next func() (label.Label, error)) (err error) {
	if v.Label, err = next(); err != nil || v.Scalar() {
		return err
	}
	if v.Structure, err = next(); err != nil {
		return err
	}
	for i := range v.Items {
		if v.Keys != nil {
			if err := v.Keys[i].setLabels(next); err != nil {
				return err
			}
		}
		if err := v.Items[i].setLabels(next); err != nil {
			return err
		}
	}
	return nil
}

// DecodePlain reads the canonical encoding of data, or any JSON, and gives every node the label.
func DecodePlain(b []byte, l label.Label) (Value, error) {
	d := decoder{json.NewDecoder(bytes.NewReader(b)), l}
	d.UseNumber()
	v, err := d.value(0)
	if err != nil {
		return Value{}, err
	}
	if d.More() {
		return Value{}, errors.New("value: text after the JSON value")
	}
	return v, nil
}

type decoder struct {
	*json.Decoder
	l label.Label
}

func (d decoder) value(depth int) (Value, error) {
	if depth > MaxDepth {
		return Value{}, fmt.Errorf("value: nested deeper than %d", MaxDepth)
	}
	t, err := d.Token()
	if err != nil {
		return Value{}, err
	}
	switch t := t.(type) {
	case nil:
		return NoneOf(d.l), nil
	case bool:
		return BoolOf(t, d.l), nil
	case string:
		return StringOf(t, d.l), nil
	case json.Number:
		return d.number(t.String())
	case json.Delim:
		if t == '[' {
			v := ListOf(d.l)
			for d.More() {
				e, err := d.value(depth + 1)
				if err != nil {
					return Value{}, err
				}
				v.Items = append(v.Items, e)
			}
			_, err := d.Token()
			return v, err
		}
		v := DictOf(d.l)
		for d.More() {
			k, err := d.value(depth + 1)
			if err != nil {
				return Value{}, err
			}
			e, err := d.value(depth + 1)
			if err != nil {
				return Value{}, err
			}
			v.Keys, v.Items = append(v.Keys, k), append(v.Items, e)
		}
		if _, err := d.Token(); err != nil {
			return Value{}, err
		}
		return d.special(v)
	}
	return Value{}, fmt.Errorf("value: unexpected %v", t)
}

func (d decoder) number(s string) (Value, error) {
	if !strings.ContainsAny(s, ".eE") {
		if i, ok := new(big.Int).SetString(s, 10); ok {
			return Value{Kind: Int, Int: i, Label: d.l}, nil
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return Value{}, fmt.Errorf("value: number %q: %w", s, err)
	}
	return FloatOf(f, d.l), nil
}

// special turns {"$kind": …} into the value it stands for.
func (d decoder) special(v Value) (Value, error) {
	if len(v.Keys) != 1 || !strings.HasPrefix(v.Keys[0].Str, "$") {
		return v, nil
	}
	name, in := v.Keys[0].Str, v.Items[0]
	bad := fmt.Errorf("value: malformed %s", name)
	switch name {
	case "$tuple", "$set":
		if in.Kind != List {
			return Value{}, bad
		}
		in.Kind = map[string]Kind{"$tuple": Tuple, "$set": Set}[name]
		return in, nil
	case "$dict", "$struct":
		if in.Kind != List {
			return Value{}, bad
		}
		out := Value{Kind: map[string]Kind{"$dict": Dict, "$struct": Record}[name], Label: d.l, Structure: d.l}
		for _, pair := range in.Items {
			if pair.Kind != List || len(pair.Items) != 2 || out.Kind == Record && pair.Items[0].Kind != String {
				return Value{}, bad
			}
			out.Keys, out.Items = append(out.Keys, pair.Items[0]), append(out.Items, pair.Items[1])
		}
		return out, nil
	case "$bytes", "$string":
		raw, err := base64.StdEncoding.DecodeString(in.Str)
		if in.Kind != String || err != nil {
			return Value{}, bad
		}
		return Value{Kind: map[string]Kind{"$bytes": Bytes, "$string": String}[name], Str: string(raw), Label: d.l}, nil
	case "$float":
		f, err := strconv.ParseFloat(in.Str, 64)
		if in.Kind != String || err != nil {
			return Value{}, bad
		}
		return FloatOf(f, d.l), nil
	}
	return v, nil
}

func (v Value) text(b *strings.Builder) {
	switch v.Kind {
	case None:
		b.WriteString("None")
	case Bool:
		b.WriteString(map[bool]string{true: "True", false: "False"}[v.Bool])
	case Bytes:
		b.WriteString("b")
		b.WriteString(strconv.Quote(v.Str))
	case Set:
		b.WriteString("set(")
		v.textItems(b, "[", "]")
		b.WriteString(")")
	case List:
		v.textItems(b, "[", "]")
	case Tuple:
		if len(v.Items) == 1 {
			v.textItems(b, "(", ",)")
			return
		}
		v.textItems(b, "(", ")")
	case Dict, Record:
		b.WriteString(map[Kind]string{Dict: "{", Record: "struct("}[v.Kind])
		for i, k := range v.Keys {
			if i > 0 {
				b.WriteString(", ")
			}
			if v.Kind == Record {
				b.WriteString(k.Str + " = ")
			} else {
				k.text(b)
				b.WriteString(": ")
			}
			v.Items[i].text(b)
		}
		b.WriteString(map[Kind]string{Dict: "}", Record: ")"}[v.Kind])
	case String:
		b.WriteString(strconv.Quote(v.Str))
	case Int:
		b.WriteString(v.Int.String())
	case Float:
		b.Write(appendFloat(nil, v.Float))
	default:
		b.WriteString("<invalid>")
	}
}

func (v Value) textItems(b *strings.Builder, open, end string) {
	b.WriteString(open)
	for i, e := range v.Items {
		if i > 0 {
			b.WriteString(", ")
		}
		e.text(b)
	}
	b.WriteString(end)
}
