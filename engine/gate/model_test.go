package gate

import (
	"context"
	"slices"
	"testing"

	"callgate/builtins"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/policies"
)

// A tool that asks a model is decided as the kind model, with its provider, and meets what tools meet.
func TestAToolThatAsksAModel(t *testing.T) {
	var got map[string]any
	ask := &builtins.Tool{
		Name: "llm.ask", Asks: "openai", Effects: builtins.Egress, Idempotent: true, Derives: true, Label: builtins.Source{Class: label.Bottom()},
		Params: []builtins.Param{{Name: "question", Required: true, Sink: policies.SinkModel}, {Name: "data", Sink: policies.SinkModel}, {Name: "schema"}},
		Run: func(_ context.Context, in *builtins.Invocation) (any, error) {
			got = in.Args
			return "yes", nil
		},
	}
	r := newRig(t, nil, ask)
	r.pdp.decide = func(q *policies.Request) (policies.Decision, error) {
		return allowing(oblige(policies.ObligeRedact, map[string]any{"path": "/args/data", "with": "-"}), oblige(policies.ObligeLabel, map[string]any{"tags": []any{"asked"}})), nil
	}
	c := call("1.1", "llm.ask", "question", "order?", "data", "a letter", "schema", map[string]any{"type": "boolean"})
	c.Args[1].Value = c.Args[1].Value.Joined(mailed)
	res := r.do(c)
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	if got["data"] != "-" || res.Value.Label.Trust() != label.Untrusted || !res.Value.Label.HasTag("asked") {
		t.Errorf("the tool got %v, the program %s labelled %s", got, res.Value.Text(), res.Value.Label)
	}
	q := r.pdp.requests[0]
	if q.Call.Kind != policies.KindModel || q.Call.Tool != "model" || !slices.Equal(q.Call.Effects, []string{"egress"}) || !slices.Equal(q.Call.Sinks, []string{"model"}) {
		t.Errorf("decided as %+v", q.Call)
	}
	if p, ok := q.Call.Args.Get("provider"); !ok || p.Str != "openai" {
		t.Errorf("the provider is %v, want openai", p)
	}
	if started := last[journal.CallStarted](r, journal.CallStart); started.Tool != "llm.ask" {
		t.Errorf("%s began, want llm.ask", started.Tool)
	}
	r.do(call("1.2", "llm.ask", "question", "again?"))
	if n := r.pdp.requests[1].History.Count["llm.ask"]; n != 1 {
		t.Errorf("history counts %d, want 1", n)
	}
	events, err := r.store.Read(t.Context(), "run", 1)
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := Rebuild(events, r.cfg.Tools)
	if err != nil {
		t.Fatal(err)
	}
	again := recorded[1].Request
	if again.History.Count["llm.ask"] != 1 || again.Call.Kind != policies.KindModel || len(again.Labels.Args) != 4 {
		t.Errorf("rebuilt as %+v, %+v", again.Call, again.History)
	}
	if res := r.do(call("1.3", "llm.ask", "question", "x", "provider", "none")); res.Err == nil || res.Err.Code != codeArguments {
		t.Errorf("a provider of the program's own: got %v", res.Err)
	}
}
