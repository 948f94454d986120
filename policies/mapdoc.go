package policies

import (
	"encoding/base64"
	"math"
	"strconv"

	"callgate/engine/value"
)

// Document returns the whole request document as encoding/json would give it, but for integers:
// map[string]any, []any, string, bool, int64, *big.Int, float64, nil.
func (r *Request) Document() map[string]any {
	f := AllFields()
	return f.Document(r)
}

// Document returns the fields of the request's document as plain data.
func (f *Fields) Document(r *Request) map[string]any {
	var w mapWriter
	f.Write(r, &w)
	return w.root
}

// PlainValue returns the data of an argument as rules see it: [value.Value.Plain] with
// bytes as base64 text, and the floats that JSON has no number for as the texts "NaN", "+Inf" and "-Inf".
func PlainValue(v value.Value) any {
	switch v.Kind {
	case value.Bytes:
		return base64.StdEncoding.EncodeToString([]byte(v.Str))
	case value.Float:
		return plainFloat(v.Float)
	case value.List, value.Tuple, value.Set:
		out := make([]any, len(v.Items))
		for i, e := range v.Items {
			out[i] = PlainValue(e)
		}
		return out
	case value.Dict, value.Record:
		out := make(map[string]any, len(v.Items))
		for i, k := range v.Keys {
			out[KeyText(k)] = PlainValue(v.Items[i])
		}
		return out
	}
	return v.Plain()
}

// KeyText returns the key of a dict as rules see it: a string as it is, anything else in its Starlark form.
func KeyText(k value.Value) string {
	if k.Kind == value.String {
		return k.Str
	}
	return k.Text()
}

func plainFloat(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return f
}

// mapWriter builds the document of maps.
type mapWriter struct {
	root  map[string]any
	stack []frame
}

// frame is an object, or a list, that is being written.
type frame struct {
	key    string
	object map[string]any
	list   []any
}

func (w *mapWriter) put(key string, v any) {
	if top := &w.stack[len(w.stack)-1]; top.object != nil {
		top.object[key] = v
	} else {
		top.list = append(top.list, v)
	}
}

func (w *mapWriter) Begin(key string) {
	w.stack = append(w.stack, frame{key: key, object: map[string]any{}})
}

func (w *mapWriter) End() {
	top := w.stack[len(w.stack)-1]
	w.stack = w.stack[:len(w.stack)-1]
	if len(w.stack) == 0 {
		w.root = top.object
		return
	}
	w.put(top.key, top.object)
}

func (w *mapWriter) BeginList(key string, n int) {
	w.stack = append(w.stack, frame{key: key, list: make([]any, 0, n)})
}

func (w *mapWriter) EndList() {
	top := w.stack[len(w.stack)-1]
	w.stack = w.stack[:len(w.stack)-1]
	w.put(top.key, top.list)
}

func (w *mapWriter) Strings(key string, list []string) {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	w.put(key, out)
}

func (w *mapWriter) Plain(key string, v any) {
	if f, ok := v.(float64); ok {
		v = plainFloat(f)
	}
	w.put(key, v)
}

func (w *mapWriter) String(key, s string)            { w.put(key, s) }
func (w *mapWriter) Int(key string, i int64)         { w.put(key, i) }
func (w *mapWriter) Bool(key string, b bool)         { w.put(key, b) }
func (w *mapWriter) Value(key string, v value.Value) { w.put(key, PlainValue(v)) }
func (w *mapWriter) Dynamic(string)                  {}
