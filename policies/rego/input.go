package rego

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"sync"

	"callgate/engine/value"
	"callgate/policies"

	"github.com/open-policy-agent/opa/v1/ast"
)

// inputWriter builds the request document as a term.
type inputWriter struct {
	stack []inputFrame
	root  *ast.Term
}

// inputFrame is an object or a list that is being written. Its pairs are reused.
type inputFrame struct {
	key    *ast.Term
	pairs  [][2]*ast.Term
	list   []*ast.Term
	isList bool
}

var inputWriters = sync.Pool{New: func() any { return &inputWriter{} }}

// input returns these fields of the request's document.
func input(f *policies.Fields, r *policies.Request) *ast.Term {
	w := inputWriters.Get().(*inputWriter)
	f.Write(r, w)
	root := w.root
	w.root = nil
	inputWriters.Put(w)
	return root
}

func (w *inputWriter) push(key string) *inputFrame {
	if len(w.stack) < cap(w.stack) {
		w.stack = w.stack[:len(w.stack)+1]
	} else {
		w.stack = append(w.stack, inputFrame{})
	}
	f := &w.stack[len(w.stack)-1]
	f.key, f.pairs, f.list, f.isList = nil, f.pairs[:0], nil, false
	if key != "" {
		f.key = keyTerm(key)
	}
	return f
}

func (w *inputWriter) pop() inputFrame {
	f := w.stack[len(w.stack)-1]
	w.stack = w.stack[:len(w.stack)-1]
	return f
}

func (w *inputWriter) put(key *ast.Term, t *ast.Term) {
	f := &w.stack[len(w.stack)-1]
	if f.isList {
		f.list = append(f.list, t)
	} else {
		f.pairs = append(f.pairs, [2]*ast.Term{key, t})
	}
}

func (w *inputWriter) Begin(key string) { w.push(key) }

func (w *inputWriter) End() {
	f := w.pop()
	t := ast.ObjectTerm(f.pairs...)
	if len(w.stack) == 0 {
		w.root = t
		return
	}
	w.put(f.key, t)
}

func (w *inputWriter) BeginList(key string, n int) {
	f := w.push(key)
	f.isList, f.list = true, make([]*ast.Term, 0, n)
}

func (w *inputWriter) EndList() {
	f := w.pop()
	w.put(f.key, ast.ArrayTerm(f.list...))
}

func (w *inputWriter) String(key, s string) { w.put(keyTerm(key), stringTerm(s)) }

func (w *inputWriter) Strings(key string, list []string) {
	terms := make([]*ast.Term, len(list))
	for i, s := range list {
		terms[i] = stringTerm(s)
	}
	w.put(keyTerm(key), ast.ArrayTerm(terms...))
}

func (w *inputWriter) Int(key string, i int64)         { w.put(keyTerm(key), intTerm(i)) }
func (w *inputWriter) Bool(key string, b bool)         { w.put(keyTerm(key), ast.InternedTerm(b)) }
func (w *inputWriter) Plain(key string, v any)         { w.put(keyTerm(key), plainTerm(v)) }
func (w *inputWriter) Value(key string, v value.Value) { w.put(keyTerm(key), valueTerm(v)) }
func (w *inputWriter) Dynamic(string)                  {}

// words are terms for the texts that occur in every document.
var words = func() map[string]*ast.Term {
	m := map[string]*ast.Term{}
	for _, s := range []string{
		"version", "time", "agent", "name", "digest", "tools", "effects", "principal", "sub", "groups", "claims", "session", "id", "run", "turn", "mode",
		"call", "kind", "tool", "sinks", "args", "site", "file", "line", "column", "function", "state", "write", "label",
		"labels", "program", "pc", "context", "trust", "rank", "readers", "tags", "sources", "of", "field", "more", "choice", "bits",
		"leaves", "path", "param", "value", "norm", "host", "sink", "typed", "history", "count", "marks",
		"", "*", "none", "recipient", "account", "url", "word", "query", "content", "secret", "model", "control",
		"read", "egress", "destructive", "builtin", "observe", "answer", "endorse", "declassify",
		"untrusted", "internal", "user", "system", "pii",
	} {
		m[s] = ast.StringTerm(s)
	}
	return m
}()

func keyTerm(s string) *ast.Term { return stringTerm(s) }

func stringTerm(s string) *ast.Term {
	if t, ok := words[s]; ok {
		return t
	}
	return ast.StringTerm(s)
}

func intTerm(i int64) *ast.Term {
	if i >= -1 && i < 512 {
		return ast.InternedTerm(int(i))
	}
	return ast.NumberTerm(json.Number(strconv.FormatInt(i, 10)))
}

func floatTerm(f float64) *ast.Term {
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return ast.StringTerm(text) // as policies.PlainValue has it
	}
	return ast.NumberTerm(json.Number(text))
}

// valueTerm is policies.PlainValue, as a term.
func valueTerm(v value.Value) *ast.Term {
	switch v.Kind {
	case value.String:
		return stringTerm(v.Str)
	case value.List, value.Tuple, value.Set:
		list := make([]*ast.Term, len(v.Items))
		for i, e := range v.Items {
			list[i] = valueTerm(e)
		}
		return ast.ArrayTerm(list...)
	case value.Dict, value.Record:
		o := ast.NewObjectWithCapacity(len(v.Items))
		for i, k := range v.Keys {
			o.Insert(stringTerm(policies.KeyText(k)), valueTerm(v.Items[i]))
		}
		return ast.NewTerm(o)
	}
	return plainTerm(policies.PlainValue(v))
}

func plainTerm(v any) *ast.Term {
	switch v := v.(type) {
	case nil:
		return ast.InternedNullTerm
	case bool:
		return ast.InternedTerm(v)
	case string:
		return stringTerm(v)
	case int:
		return intTerm(int64(v))
	case int64:
		return intTerm(v)
	case *big.Int:
		return ast.NumberTerm(json.Number(v.String()))
	case float64:
		return floatTerm(v)
	case []any:
		list := make([]*ast.Term, len(v))
		for i, e := range v {
			list[i] = plainTerm(e)
		}
		return ast.ArrayTerm(list...)
	case map[string]any:
		o := ast.NewObjectWithCapacity(len(v))
		for k, e := range v {
			o.Insert(stringTerm(k), plainTerm(e))
		}
		return ast.NewTerm(o)
	}
	x, err := ast.InterfaceToValue(v)
	if err != nil { // of a Go type that no document holds
		return ast.StringTerm(fmt.Sprint(v))
	}
	return ast.NewTerm(x)
}
