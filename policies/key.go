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
	w.request(f, r)
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

// request writes the key of a request. What rules mostly read is written at once, without dynamic calls; which of the two
// ways it goes depends on the Fields alone, so that keys of one special are of one form.
func (w *keyWriter) request(f *Fields, r *Request) {
	if !f.common {
		f.Write(r, w)
		return
	}
	if f.plain&fieldTurn != 0 {
		w.Int("", int64(r.Session.Turn))
	}
	if f.plain&fieldMode != 0 {
		w.text(r.Session.Mode)
	}
	for i, l := range [...]label.Label{r.Labels.Program, r.Labels.PC, r.Labels.Context} {
		if f.labels[i] != 0 {
			w.label(f, l, f.labels[i])
		}
	}
	if f.plain&fieldTool != 0 {
		w.text(r.Call.Tool)
	}
	if f.plain&fieldKind != 0 {
		w.text(r.Call.Kind)
	}
	if f.plain&fieldTags != 0 {
		w.Strings("", f.ShowTags(r.Tags))
	}
	if f.leaf != 0 {
		w.leaves(f, r.Leaves)
	}
}

// isCommon reports whether request can write the fields by itself.
func (f *Fields) isCommon() bool {
	return f.plain&^(fieldTurn|fieldMode|fieldTool|fieldKind|fieldTags) == 0 && f.site == 0 && f.state == 0 && f.anyArg == 0 && len(f.argLabels) == 0 &&
		f.args.empty() && f.claims.empty() && f.count.empty()
}

// leaves writes the list of leaves, as Fields.Write does.
func (w *keyWriter) leaves(f *Fields, list []Leaf) {
	w.size(len(list))
	of, bits := f.leaf, labelFields(f.leaf)&allLabel
	var last label.Label
	var first byte
	var rest labelFields
	b := w.b
	for i := range list {
		l := &list[i]
		if of&leafValue != 0 {
			w.b = b
			w.Plain("", l.Value)
			b = w.b
		}
		if of&leafPath != 0 {
			b = appendText(b, l.Path)
		}
		if of&leafParam != 0 {
			b = appendText(b, l.Param)
		}
		if of&leafNorm != 0 {
			b = appendText(b, l.Norm)
		}
		if of&leafHost != 0 {
			b = appendText(b, l.Host)
		}
		if of&leafSink != 0 {
			kind := kindOf(l.Sink)
			if b = append(b, byte(kind)); kind == unknownSink {
				b = appendText(b, l.Sink)
			}
		}
		if of&leafTyped != 0 {
			if l.Typed {
				b = append(b, 1)
			} else {
				b = append(b, 0)
			}
		}
		if bits != 0 {
			if i == 0 || l.Label != last { // mostly the very same
				first, rest = labelByte(l.Label, bits)
				last = l.Label
			}
			if b = append(b, first); rest != 0 {
				w.b = b
				f.writeLabelFields(l.Label, rest, w)
				b = w.b
			}
		}
	}
	w.b = b
}

// label writes what Fields.writeLabelFields does.
func (w *keyWriter) label(f *Fields, l label.Label, bits labelFields) {
	first, rest := labelByte(l, bits)
	w.b = append(w.b, first)
	if rest != 0 {
		f.writeLabelFields(l, rest, w)
	}
}

// labelByte says in one byte what is to say of most labels, and which fields are left to write.
func labelByte(l label.Label, bits labelFields) (first byte, rest labelFields) {
	if bits&(labelTrust|labelRank) != 0 {
		first = byte(l.Trust())
	}
	rest = bits &^ (labelTrust | labelRank)
	if rest&labelReaders != 0 && l.Readers().IsPublic() {
		rest &^= labelReaders
		first |= 1 << 2
	}
	if rest&labelTags != 0 && len(l.Tags()) == 0 {
		rest &^= labelTags
		first |= 1 << 3
	}
	return first, rest
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
