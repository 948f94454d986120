// Package sample makes requests for the tests and benchmarks of the policy packages:
// [Call] one that is written down, [Source] random ones.
package sample

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// Tools are the tools that sample calls are made of, by name.
var Tools = tools()

func tools() map[string]policies.ToolSchema {
	out := map[string]policies.ToolSchema{}
	all := []string{policies.EffectRead, policies.EffectWrite, policies.EffectEgress, policies.EffectDestructive}
	for _, t := range []policies.ToolSchema{
		{Name: "bank.transfer", Effects: []string{"write", "destructive"}, Params: []policies.ParamSchema{
			{Name: "iban", Sink: "account", Schema: []byte(`{"type":"string"}`), Required: true},
			{Name: "amount", Schema: []byte(`{"type":"number"}`)}, {Name: "memo", Sink: "content", Schema: []byte(`{"type":"string"}`)}}},
		{Name: "bank.batch", Effects: []string{"write", "destructive"}, Params: []policies.ParamSchema{
			{Name: "payments", Sinks: map[string]string{"[].iban": "account"}}}},
		{Name: "mail.send", Effects: []string{"write", "egress"}, Params: []policies.ParamSchema{
			{Name: "to", Sink: "recipient", Schema: []byte(`{"type":"array","items":{"type":"string"}}`), Required: true},
			{Name: "cc", Sink: "recipient"}, {Name: "bcc", Sink: "recipient"},
			{Name: "subject", Sink: "content"}, {Name: "body", Sink: "content"}}},
		{Name: "mail.draft", Effects: []string{"write"}, Params: []policies.ParamSchema{{Name: "to"}, {Name: "body", Sink: "content"}}},
		{Name: "mail.read", Effects: []string{"read"}, Params: []policies.ParamSchema{{Name: "id"}}},
		{Name: "http.post", Effects: []string{"write", "egress"}, Params: []policies.ParamSchema{
			{Name: "url", Sink: "url"}, {Name: "body", Sink: "content"},
			{Name: "headers", Sink: "content", Sinks: map[string]string{".Authorization": "secret"}}}},
		{Name: "files.write", Effects: []string{"write"}, Params: []policies.ParamSchema{{Name: "path", Sink: "path"}, {Name: "text", Sink: "content"}}},
		{Name: "files.delete", Effects: []string{"destructive"}, Params: []policies.ParamSchema{{Name: "path", Sink: "path"}}},
		{Name: "shell.run", Effects: all, Params: []policies.ParamSchema{{Name: "argv", Sink: "word"}}},
		{Name: "mcp.acme.frob", Effects: all, Params: []policies.ParamSchema{{Name: "x"}}},
	} {
		out[t.Name] = t
	}
	return out
}

// At is the time of sample requests.
var At = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)

// Prompt is the label of what the user typed.
var Prompt = label.New(label.User, label.Public(), nil, label.Source{Tool: "prompt", Of: "task"})

// Mail is the label of what stood in a mail.
var Mail = label.New(label.Untrusted, label.Public(), nil, label.Source{Tool: "mail.read", Of: "inbox"})

// File returns the label of what stood in a file of the user's.
func File(name string) label.Label {
	return label.New(label.Internal, label.Public(), nil, label.Source{Tool: "files.read", Of: name})
}

// Call returns the request for a call of a sample tool by a program that the user wrote.
func Call(tool string, args ...value.Field) *policies.Request {
	return Build(policies.KindTool, Tools[tool], value.DictOf(label.Bottom(), args...), Prompt)
}

// Crossing returns the request for a call of another kind, whose only argument is the value.
func Crossing(kind, sink string, effects []string, v value.Value) *policies.Request {
	t := policies.ToolSchema{Name: kind, Effects: effects, Params: []policies.ParamSchema{{Name: "value", Sink: sink}}}
	return Build(kind, t, value.DictOf(label.Bottom(), value.Field{Name: "value", Of: v}), Prompt)
}

// Build returns the total request for a call under a pc.
func Build(kind string, t policies.ToolSchema, args value.Value, pc label.Label) *policies.Request {
	r := &policies.Request{
		Time:      At,
		Agent:     policies.Agent{Name: "test", Digest: "sha256:0", Tools: []string{t.Name}, Effects: t.Effects},
		Principal: policies.Principal{Sub: "ana@corp.example", Groups: []string{"finance"}},
		Session:   policies.Session{ID: "s", Run: "r", Turn: 1, Mode: "react"},
		Call: policies.Call{
			ID: "1.9", Kind: kind, Tool: t.Name, Effects: t.Effects, Sinks: t.SinkKinds(), Args: args,
			Site: policies.Site{File: "t.star", Line: 1, Column: 1, Function: "main"},
		},
		Labels:  policies.Labels{Program: Prompt, PC: pc, Context: Prompt},
		History: policies.History{Count: map[string]int{t.Name: 0}},
	}
	all := pc
	for _, p := range t.Params {
		l := label.Bottom()
		if v, ok := args.Get(p.Name); ok {
			l = v.Deep()
			v.Walk(true, func(path string, v value.Value, l label.Label) {
				r.Leaves = append(r.Leaves, leaf(p, path, v, l))
			})
		}
		r.Labels.Args = append(r.Labels.Args, policies.ArgLabel{Name: p.Name, Label: l})
		all = all.Join(l)
	}
	r.Leaves = append(r.Leaves, policies.Leaf{Path: "pc", Param: "pc", Value: "", Sink: policies.SinkControl, Label: pc})
	r.Tags = all.Tags()
	return r
}

func leaf(p policies.ParamSchema, path string, v value.Value, l label.Label) policies.Leaf {
	text, ok := v.Plain().(string)
	if !ok {
		text = v.Text()
	}
	out := policies.Leaf{Path: p.Name + path, Param: p.Name, Value: v.Plain(), Norm: strings.ToLower(text), Sink: p.Sink, Label: l}
	if kind, ok := p.Sinks[pattern(path)]; ok {
		out.Sink = kind
	}
	if out.Sink == "" {
		out.Sink = policies.SinkNone
	}
	if _, after, ok := strings.Cut(out.Norm, "://"); ok {
		out.Host, _, _ = strings.Cut(after, "/")
	} else if _, after, ok := strings.Cut(out.Norm, "@"); ok {
		out.Host = after
	}
	return out
}

// pattern is the path with its indices left out: "[].iban".
func pattern(path string) string {
	var b strings.Builder
	skip := false
	for _, c := range path {
		if c == ']' {
			skip = false
		}
		if !skip {
			b.WriteRune(c)
		}
		if c == '[' {
			skip = true
		}
	}
	return b.String()
}

// A Source makes random requests: every kind, tool and part of a label occurs.
type Source struct{ *rand.Rand }

// NewSource returns a source that gives the same requests for the same seed.
func NewSource(seed uint64) Source { return Source{rand.New(rand.NewPCG(seed, 1))} }

func pick[T any](s Source, list ...T) T { return list[s.IntN(len(list))] }

// Label returns a random label; now and then Top or Bottom.
func (s Source) Label() label.Label {
	switch s.IntN(12) {
	case 0:
		return label.Top()
	case 1, 2:
		return label.Bottom()
	}
	readers := pick(s, label.Public(), label.Public(), label.Only(), label.Only("ana@corp.example"), label.Only("ana@corp.example", "bob@corp.example"))
	l := label.New(label.Trust(s.IntN(4)), readers, pick(s, nil, nil, []string{"pii"}, []string{"secret"}, []string{"pii", "q3"}),
		pick(s, label.Source{Tool: "mail.read", Of: "inbox"}, label.Source{Tool: "files.read", Of: "vendors.csv", Field: "iban"}))
	if s.IntN(5) == 0 {
		l = l.WithGrant(label.Grant{Call: pick(s, "1.1", "1.2"), Trust: label.Untrusted, Bits: 1 + s.IntN(12)})
	}
	return l
}

var texts = []string{
	"bob@corp.example", "Bob@Corp.example", "evil@attacker.example", "https://api.hr.example/x", "https://evil.example/?q=1",
	"DE1", "report.txt", "-rf", "wc", "", "x\ny", "vendors.csv",
}

// Value returns a random value of at most the depth.
func (s Source) Value(depth int) value.Value {
	l := s.Label()
	switch n := s.IntN(10); {
	case n < 4 || depth == 0 && n < 8:
		return value.StringOf(pick(s, texts...), l)
	case n == 4 || depth == 0:
		return pick(s, value.IntOf(s.Int64N(20000), l), value.NoneOf(l), value.BoolOf(true, l), value.FloatOf(0.5, l))
	case n < 7:
		v := value.ListOf(l)
		for range s.IntN(3) {
			v.Items = append(v.Items, s.Value(depth-1))
		}
		return v
	}
	v := value.DictOf(l)
	for _, k := range []string{"iban", "Authorization", "x"} {
		if s.IntN(2) == 0 {
			v.Keys, v.Items = append(v.Keys, value.StringOf(k, l)), append(v.Items, s.Value(depth-1))
		}
	}
	return v
}

// Request returns a random request, whose arguments need not be what the tool's schema wants.
func (s Source) Request() *policies.Request {
	return s.request(func(policies.ParamSchema) value.Value { return s.Value(2) })
}

// Typed returns a random request whose arguments are what the tool's schema wants.
func (s Source) Typed() *policies.Request {
	return s.request(func(p policies.ParamSchema) value.Value {
		switch l := s.Label(); string(p.Schema) {
		case `{"type":"string"}`:
			return value.StringOf(pick(s, texts...), l)
		case `{"type":"number"}`:
			return pick(s, value.IntOf(s.Int64N(20000), l), value.FloatOf(float64(s.IntN(20000))/2, l))
		case `{"type":"array","items":{"type":"string"}}`:
			v := value.ListOf(l)
			for range s.IntN(3) {
				v.Items = append(v.Items, value.StringOf(pick(s, texts...), s.Label()))
			}
			return v
		}
		return s.Value(2)
	})
}

func (s Source) request(argument func(policies.ParamSchema) value.Value) *policies.Request {
	kind := pick(s, policies.KindTool, policies.KindTool, policies.KindTool, policies.KindTool, policies.KindObserve, policies.KindAnswer,
		policies.KindBuiltin, policies.KindEndorse, policies.KindProgram, policies.KindModel, policies.KindDeclassify)
	var t policies.ToolSchema
	switch kind {
	case policies.KindTool:
		t = Tools[pick(s, slices.Sorted(keys)...)]
	case policies.KindBuiltin:
		t.Name = pick(s, "len", "sorted", "json.decode")
	case policies.KindObserve, policies.KindModel:
		t = policies.ToolSchema{Name: kind, Effects: []string{"egress"}, Params: []policies.ParamSchema{{Name: "value", Sink: "model"}}}
	default:
		t = policies.ToolSchema{Name: kind, Params: []policies.ParamSchema{{Name: "value"}, {Name: "trust"}}}
	}
	args := value.DictOf(label.Bottom())
	for _, p := range t.Params {
		if s.IntN(4) > 0 {
			args.Keys, args.Items = append(args.Keys, value.StringOf(p.Name, label.Bottom())), append(args.Items, argument(p))
		}
	}
	r := Build(kind, t, args, pick(s, Prompt, Prompt, s.Label()))
	r.Labels.Program, r.Labels.Context = pick(s, Prompt, s.Label()), s.Label()
	r.Agent.Effects = pick(s, []string{"read"}, []string{"egress", "read"}, nil)
	r.History.Count[t.Name] = s.IntN(8)
	r.History.Marks = pick(s, nil, []string{"model-saw-untrusted"})
	r.Time = At.Add(time.Duration(s.IntN(24)) * time.Hour)
	r.Call.ID = fmt.Sprintf("1.%d", s.IntN(3))
	for i := range r.Leaves {
		r.Leaves[i].Typed = s.IntN(6) == 0
	}
	if s.IntN(5) == 0 {
		r.Call.State = &policies.State{Name: "ledger", Write: s.IntN(2) == 0, Label: s.Label()}
	}
	return r
}

// Calm gives a request labels of which hardly one stands in the way of anything.
func (s Source) Calm(r *policies.Request) {
	calm := func(l *label.Label) {
		if n := s.IntN(20); n > 1 {
			*l = pick(s, Prompt, Prompt, label.Bottom(), File("vendors.csv"))
		} else if n > 0 {
			*l = Mail
		}
	}
	for i := range r.Leaves {
		calm(&r.Leaves[i].Label)
	}
	for i := range r.Labels.Args {
		calm(&r.Labels.Args[i].Label)
	}
	calm(&r.Labels.PC)
}

func keys(yield func(string) bool) {
	for k := range Tools {
		if !yield(k) {
			return
		}
	}
}
