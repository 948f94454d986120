package worker

import (
	"context"
	"testing"

	"callgate/engine/eval"
	"callgate/engine/label"
	"callgate/engine/value"
)

// BenchmarkCodec writes and reads a call and its result, 200 bytes each about.
func BenchmarkCodec(b *testing.B) {
	l := label.New(label.Untrusted, label.Only("ana"), []string{"pii"}, label.Source{Tool: "mail.read", Of: "04-urgent.eml", Field: "body"})
	c := eval.Call{ID: "1.1", Kind: eval.KindTool, Tool: "mail.send", PC: l, History: low, Site: eval.Site{File: "main.star", Line: 3, Column: 4, Function: "f"}, Args: []eval.Arg{
		{Name: "to", Value: value.StringOf("bob@corp.example", l)}, {Name: "body", Value: value.StringOf("the quick brown fox jumps over the lazy dog", low)},
	}}
	r := eval.Result{Value: value.DictOf(l, value.Field{Name: "id", Of: value.IntOf(1, low)}, value.Field{Name: "text", Of: value.StringOf("the quick brown fox", l)})}
	var e encoder
	var cache labelCache
	for b.Loop() {
		e.reset()
		writeCall(&e, &c)
		d := newDecoder(e.body(0), 1<<20, &cache)
		readCall(d)
		if d.end() != nil {
			b.Fatal(d.err)
		}
		e.reset()
		writeResult(&e, &r)
		d = newDecoder(e.body(0), 1<<20, &cache)
		readResult(d)
		if d.end() != nil {
			b.Fatal(d.err)
		}
	}
}

type none struct{}

func (none) Do(_ context.Context, calls []eval.Call) []eval.Result {
	out := make([]eval.Result, len(calls))
	for i := range out {
		out[i].Value = value.NoneOf(low)
	}
	return out
}
