package policies

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"

	"callgate/engine/label"
	"callgate/engine/value"
)

// AppendKey appends a text that two requests share only if these fields of their
// documents are equal.
func (f *Fields) AppendKey(b []byte, r *Request) []byte {
	w := keyWriter{b}
	f.Write(r, &w)
	return w.b
}

// keyWriter writes the document's data without the keys that the Fields settle: every
// datum says its own length, so that no text is a prefix of another's.
type keyWriter struct{ b []byte }

func (w *keyWriter) text(s string) { w.b = appendText(w.b, s) }

// appendText appends a text and its length: short ones, which nearly all are, in one go.
func appendText(b []byte, s string) []byte {
	if n := len(b) + 1 + len(s); len(s) < 0x80 && n <= cap(b) {
		out := b[:n]
		out[len(b)] = byte(len(s))
		copy(out[len(b)+1:], s)
		return out
	}
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func (w *keyWriter) size(n int) {
	if n < 0x80 {
		w.b = append(w.b, byte(n))
		return
	}
	w.b = binary.AppendUvarint(w.b, uint64(n))
}

// Begin writes nothing, but for the one object that may be absent: what follows End, or Dynamic, tells where an object ends.
func (w *keyWriter) Begin(key string) {
	if key == "state" {
		w.b = append(w.b, '@')
	}
}

func (w *keyWriter) End() { w.b = append(w.b, '}') }

func (w *keyWriter) BeginList(_ string, n int) { w.size(n) }

func (w *keyWriter) EndList() {}

func (w *keyWriter) String(_, s string) { w.text(s) }

func (w *keyWriter) Strings(_ string, list []string) {
	w.size(len(list))
	for _, s := range list {
		w.text(s)
	}
}

func (w *keyWriter) Int(_ string, i int64) { w.b = binary.AppendVarint(w.b, i) }

func (w *keyWriter) Bool(_ string, b bool) {
	if b {
		w.b = append(w.b, 1)
	} else {
		w.b = append(w.b, 0)
	}
}

// leaf writes what Fields.writeLeaf does.
func (w *keyWriter) leaf(f *Fields, l *Leaf) {
	if f.leaf&leafValue != 0 {
		w.Plain("", l.Value)
	}
	b := w.b
	if f.leaf&leafPath != 0 {
		b = appendText(b, l.Path)
	}
	if f.leaf&leafParam != 0 {
		b = appendText(b, l.Param)
	}
	if f.leaf&leafNorm != 0 {
		b = appendText(b, l.Norm)
	}
	if f.leaf&leafHost != 0 {
		b = appendText(b, l.Host)
	}
	if f.leaf&leafSink != 0 {
		b = appendText(b, l.Sink)
	}
	if f.leaf&leafTyped != 0 {
		if l.Typed {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	w.b = b
	if bits := labelFields(f.leaf) & allLabel; bits != 0 {
		w.label(f, l.Label, bits)
	}
}

// label writes what Fields.writeLabelFields does. What is to say of most labels is one byte.
func (w *keyWriter) label(f *Fields, l label.Label, bits labelFields) {
	var first byte
	if bits&(labelTrust|labelRank) != 0 {
		first = byte(l.Trust())
	}
	rest := bits &^ (labelTrust | labelRank)
	if rest&labelReaders != 0 && l.Readers().IsPublic() {
		rest &^= labelReaders
		first |= 1 << 2
	}
	if rest&labelTags != 0 && len(l.Tags()) == 0 {
		rest &^= labelTags
		first |= 1 << 3
	}
	w.b = append(w.b, first)
	if rest != 0 {
		f.writeLabelFields(l, rest, w)
	}
}

// Value writes the canonical encoding, which tells values apart that have the same data.
func (w *keyWriter) Value(_ string, v value.Value) {
	w.b = append(w.b, '=')
	at := len(w.b)
	w.b = append(w.b, 0, 0, 0, 0, 0, 0, 0, 0)
	w.b = v.AppendPlain(w.b)
	binary.LittleEndian.PutUint64(w.b[at:], uint64(len(w.b)-at-8))
}

func (w *keyWriter) Dynamic(key string) {
	w.b = append(w.b, ':')
	w.text(key)
}

func (w *keyWriter) Plain(_ string, v any) {
	switch v := v.(type) {
	case nil:
		w.b = append(w.b, 'n')
	case bool:
		w.b = append(w.b, 'b')
		w.Bool("", v)
	case int:
		w.b = binary.AppendVarint(append(w.b, 'i'), int64(v))
	case int64:
		w.b = binary.AppendVarint(append(w.b, 'i'), v)
	case float64:
		w.b = binary.LittleEndian.AppendUint64(append(w.b, 'f'), math.Float64bits(v))
	case string:
		w.b = append(w.b, 's')
		w.text(v)
	case *big.Int:
		w.b = append(w.b, 'I')
		w.text(v.String())
	case []any:
		w.b = binary.AppendUvarint(append(w.b, 'l'), uint64(len(v)))
		for _, e := range v {
			w.Plain("", e)
		}
	case map[string]any:
		w.b = binary.AppendUvarint(append(w.b, 'm'), uint64(len(v)))
		for _, k := range slices.Sorted(keysOf(v)) {
			w.text(k)
			w.Plain("", v[k])
		}
	default:
		w.b = append(w.b, 'x')
		w.text(fmt.Sprintf("%T %v", v, v))
	}
}
