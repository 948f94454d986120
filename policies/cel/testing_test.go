package cel

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
	"callgate/spec"
)

// testTools are tools to write rules for.
var testTools = []policies.ToolSchema{
	tool1("bank.transfer", "write destructive", "iban!:account:string", "amount:none:number", "memo:content:string"),
	{Name: "bank.batch", Effects: []string{"write", "destructive"}, Params: []policies.ParamSchema{{
		Name: "payments", Required: true, Sinks: map[string]string{"[].iban": "account"},
		Schema: json.RawMessage(`{"type":"array","items":{"type":"object","required":["iban"],"properties":{"iban":{"type":"string"},"amount":{"type":"number"}},"additionalProperties":false}}`),
	}}},
	tool1("mail.send", "write egress", "to!:recipient:strings", "cc:recipient:strings", "subject!:content:string", "body!:content:string", "priority:none:integer"),
	tool1("mail.draft", "write", "to:none:strings", "body:content:string"),
	tool1("mail.read", "read", "id!:none:string"),
	tool1("http.post", "write egress", "url!:url:string", "body:content:any", "headers:content:map"),
	tool1("files.delete", "destructive", "path!:path:string"),
	tool1("shell.run", "read write egress destructive", "argv!:word:strings"),
}

// tool1 makes a tool; a parameter is "name:sink:type", with a ! after the name if it is required.
func tool1(name, effects string, params ...string) policies.ToolSchema {
	schemas := map[string]string{
		"string": `{"type":"string"}`, "number": `{"type":"number"}`, "integer": `{"type":"integer"}`, "any": ``,
		"strings": `{"type":"array","items":{"type":"string"}}`, "map": `{"type":"object","additionalProperties":{"type":"string"}}`,
	}
	t := policies.ToolSchema{Name: name, Effects: strings.Fields(effects)}
	for _, p := range params {
		f := strings.Split(p, ":")
		t.Params = append(t.Params, policies.ParamSchema{
			Name: strings.TrimSuffix(f[0], "!"), Required: strings.HasSuffix(f[0], "!"), Sink: f[1], Schema: json.RawMessage(schemas[f[2]]),
		})
	}
	return t
}

// request is a request as testdata writes it. What is left out is everyday: a program
// of the user's, a trusted context.
type request struct {
	Policy, Name, Tool, Kind string
	Effects, Sinks           []string
	Args                     map[string]any
	AgentEffects             []string `json:"agent_effects"`
	Program, PC, Context     *int
	Labels                   map[string]testLabel
	Tags                     []string
	Leaves                   []testLeaf
	Count                    map[string]int
	Marks                    []string
	Time                     string
	Want                     []string
}

type testLabel struct {
	Rank    int
	Readers []string
	Tags    []string
	Sources [][2]string
	More    bool
}

type testLeaf struct {
	Path, Param string
	Value       any
	Norm, Host  string
	Sink        string
	Typed       bool
	testLabel
}

func (l testLabel) label() label.Label {
	var sources []label.Source
	for _, s := range l.Sources {
		sources = append(sources, label.Source{Tool: s[0], Of: s[1]})
	}
	readers := label.Public()
	if l.Readers != nil {
		readers = label.Only(l.Readers...)
	}
	return label.New(label.Trust(l.Rank), readers, l.Tags, sources...)
}

func rank(p *int) label.Label {
	if p == nil {
		return testLabel{Rank: 2}.label()
	}
	return testLabel{Rank: *p}.label()
}

func (q request) request(t testing.TB) *policies.Request {
	t.Helper()
	at := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	if q.Time != "" {
		var err error
		if at, err = time.Parse(time.RFC3339, q.Time); err != nil {
			t.Fatal(err)
		}
	}
	args, err := value.Of(numbers(q.Args), label.Bottom())
	if err != nil {
		t.Fatal(err)
	}
	r := &policies.Request{
		Time:      at,
		Agent:     policies.Agent{Name: "test", Effects: q.AgentEffects, Tools: []string{"mail.read", "mail.send"}},
		Principal: policies.Principal{Sub: "ana@corp.example", Groups: []string{"finance"}, Claims: map[string]any{"level": int64(3)}},
		Session:   policies.Session{ID: "s", Run: "r", Turn: 1, Mode: "react"},
		Call: policies.Call{
			ID: "c9", Kind: q.Kind, Tool: q.Tool, Effects: q.Effects, Sinks: q.Sinks, Args: args,
			Site: policies.Site{File: "t.star", Line: 1, Column: 1, Function: "main"},
		},
		Labels:  policies.Labels{Program: rank(q.Program), PC: rank(q.PC), Context: rank(q.Context)},
		Tags:    q.Tags,
		History: policies.History{Count: q.Count, Marks: q.Marks},
	}
	if r.Call.Kind == "" {
		r.Call.Kind = policies.KindTool
	}
	for _, name := range slices.Sorted(mapKeys(q.Labels)) {
		r.Labels.Args = append(r.Labels.Args, policies.ArgLabel{Name: name, Label: q.Labels[name].label()})
	}
	for _, l := range q.Leaves {
		r.Leaves = append(r.Leaves, policies.Leaf{
			Path: l.Path, Param: l.Param, Value: numbers(l.Value), Norm: l.Norm, Host: l.Host, Sink: l.Sink, Typed: l.Typed, Label: l.label(),
		})
	}
	return r
}

func mapKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// numbers turns the whole numbers of JSON into int64.
func numbers(v any) any {
	switch v := v.(type) {
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	}
	return v
}

// staticOf returns what is known of a request before it.
func staticOf(r *policies.Request) policies.Static {
	return policies.Static{
		Agent: r.Agent.Name, Principal: r.Principal.Sub, Groups: r.Principal.Groups,
		Kind: r.Call.Kind, Tool: r.Call.Tool, Effects: r.Call.Effects, Sinks: r.Call.Sinks,
	}
}

// load loads Policy documents from a file or, if it has line ends, from the text.
func load(t testing.TB, text string) []spec.Policy {
	t.Helper()
	path := text
	if strings.Contains(text, "\n") {
		path = filepath.Join(t.TempDir(), "policy.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	docs, problems := spec.LoadPolicies(path)
	for _, p := range problems {
		t.Fatal(p)
	}
	var out []spec.Policy
	for _, d := range docs {
		out = append(out, *d)
	}
	return out
}

// engine compiles policies that must be without fault.
func engine(t testing.TB, docs []spec.Policy, tools []policies.ToolSchema) *Engine {
	t.Helper()
	e, problems := New(docs, tools)
	for _, p := range problems {
		if !p.Warn {
			t.Error(p)
		}
	}
	if e == nil {
		t.FailNow()
	}
	return e
}

// decide returns what fires for a request.
func decide(t testing.TB, e *Engine, r *policies.Request) policies.Findings {
	t.Helper()
	rules, err := e.For(context.Background(), staticOf(r))
	if err != nil {
		t.Fatal(err)
	}
	var out policies.Findings
	if err := rules.Evaluate(context.Background(), r, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// summary writes findings as testdata does: "deny:id[arg arg]", "error:id" for a rule that could not be evaluated.
func summary(t testing.TB, f policies.Findings) []string {
	out := []string{}
	for _, r := range f.Reasons {
		s := r.Effect.String()
		switch {
		case strings.Contains(r.Message, "could not be evaluated"):
			s = "error"
			t.Log(r.Message)
		case r.Accept:
			s = "accept"
		}
		s += ":" + r.ID
		if len(r.Args) > 0 {
			s += "[" + strings.Join(r.Args, " ") + "]"
		}
		out = append(out, s)
	}
	return out
}
