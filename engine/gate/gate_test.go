package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/builtins"
	"callgate/engine/eval"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// The labels that the tests are about.
var (
	trusted = label.New(label.User, label.Public(), nil, label.Source{Tool: "prompt", Of: "task"})
	mailed  = label.New(label.Untrusted, label.Public(), nil, label.Source{Tool: "mail.read", Of: "04.eml", Field: "body"})
	private = label.New(label.User, label.Only("ana"), []string{"pii"}, label.Source{Tool: "hr.get", Of: "ana"})
)

const secretText = "s3cr3t-iban" // data that must not show where only codes may

// fakePDP decides as its function says; nil allows everything.
type fakePDP struct {
	decide func(*policies.Request) (policies.Decision, error)

	mu       sync.Mutex
	requests []policies.Request
	revision string
}

func (p *fakePDP) Decide(_ context.Context, r *policies.Request) (policies.Decision, error) {
	p.mu.Lock()
	p.requests = append(p.requests, *r)
	p.mu.Unlock()
	if p.decide == nil {
		return policies.Decision{Effect: policies.Allow}, nil
	}
	return p.decide(r)
}

func (p *fakePDP) Revision() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.revision
}

func (p *fakePDP) set(revision string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.revision = revision
}

// always decides every request alike.
func always(d policies.Decision) func(*policies.Request) (policies.Decision, error) {
	return func(*policies.Request) (policies.Decision, error) { return d, nil }
}

// denial is a decision that denies for the rules named.
func denial(ids ...string) policies.Decision {
	var d policies.Decision
	for _, id := range ids {
		d.Reasons = append(d.Reasons, policies.Reason{ID: id, Policy: "p", Engine: "cel"})
	}
	return d
}

// allowing is a decision that allows and obliges.
func allowing(obligations ...policies.Obligation) policies.Decision {
	return policies.Decision{Effect: policies.Allow, Obligations: obligations}
}

func oblige(kind string, fields map[string]any) policies.Obligation {
	return policies.Obligation{Type: kind, ID: "o", Policy: "p", Fields: fields}
}

// failingStore is a store that refuses some events, and notes what it was given.
type failingStore struct {
	journal.Store
	refuse  func(journal.Event) bool
	commits []string // the types of the events in each, "sync" behind them if it was
}

var errDisk = errors.New("disk full")

func (s *failingStore) Append(ctx context.Context, events []journal.Event, sync bool) error {
	if slices.ContainsFunc(events, s.refuse) {
		return errDisk
	}
	var types []string
	for _, e := range events {
		types = append(types, string(e.Type))
	}
	if sync {
		types = append(types, "sync")
	}
	s.commits = append(s.commits, strings.Join(types, " "))
	return s.Store.Append(ctx, events, sync)
}

// rig is a gate with its surroundings.
type rig struct {
	*Gate
	t     testing.TB
	pdp   *fakePDP
	store *failingStore

	mu  sync.Mutex
	ran []string // tools that ran, with their arguments
}

// newRig makes a gate in its first turn, its program written by a trusted author. The
// tools are those of rigTools and any others given; edit changes the configuration.
func newRig(t testing.TB, edit func(*Config), more ...*builtins.Tool) *rig {
	t.Helper()
	r := &rig{t: t, pdp: &fakePDP{revision: "sha256:1"}, store: &failingStore{Store: journal.NewMemory(), refuse: func(journal.Event) bool { return false }}}
	set := &builtins.Set{}
	for _, tool := range append(r.tools(), more...) {
		if err := set.Add(tool); err != nil {
			t.Fatal(err)
		}
	}
	run, err := journal.Begin(t.Context(), r.store, "run", journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Append(t.Context(), journal.RunStart, "", journal.RunStarted{Agent: "inbox"}, false); err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Agent: policies.Agent{Name: "inbox"}, Principal: policies.Principal{Sub: "ana", Groups: []string{"finance"}},
		Session: policies.Session{ID: "s", Run: "run", Mode: "react"}, Tools: set, Known: []string{"shell.run"},
		PDP: r.pdp, Journal: run, Meter: 256, Reveal: true, CanHave: upTo(TierProcess),
	}
	if edit != nil {
		edit(&cfg)
	}
	if r.Gate, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	r.SetTurn(1, trusted, trusted)
	return r
}

func (r *rig) note(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ran = append(r.ran, what)
}

func (r *rig) calls() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ran)
}

func (r *rig) tools() []*builtins.Tool {
	text := json.RawMessage(`{"type": "string"}`)
	return []*builtins.Tool{
		{
			Name: "mail.read", Params: []builtins.Param{{Name: "id", Schema: text, Required: true}}, Effects: builtins.Read,
			Label: builtins.Source{
				Class: label.New(label.Internal, label.Only("ana", "bob"), nil), Of: "{args.id}",
				Fields: []builtins.FieldSource{{Path: ".body", Class: label.New(label.Untrusted, label.Only("ana", "bob"), []string{"mail"})}},
			},
			Returns: json.RawMessage(`{"type": "object", "properties": {"id": {"type": "string"}, "body": {"type": "string"}, "email": {"type": "string"}}, "required": ["body"]}`),
			Run: func(_ context.Context, in *builtins.Invocation) (any, error) {
				r.note("mail.read " + builtins.Arg[string](in, "id"))
				return map[string]any{"id": in.Args["id"], "body": "pay " + secretText, "email": "eve@evil.example"}, nil
			},
		},
		{
			Name: "mail.send", Effects: builtins.Write | builtins.Egress, Label: builtins.Source{Class: label.New(label.User, label.Public(), nil)},
			Params: []builtins.Param{
				{Name: "to", Schema: json.RawMessage(`{"type": "array", "items": {"type": "string"}}`), Required: true, Sink: policies.SinkRecipient},
				{Name: "body", Schema: text, Sink: policies.SinkContent},
				{Name: "cc", Schema: json.RawMessage(`{"type": "array", "items": {"type": "string"}}`), Sink: policies.SinkRecipient},
			},
			Run: func(_ context.Context, in *builtins.Invocation) (any, error) {
				r.note("mail.send " + builtins.Arg[string](in, "body"))
				return "sent", nil
			},
		},
	}
}

// tool returns a tool without parameters.
func tool(name string, run func(context.Context, *builtins.Invocation) (any, error)) *builtins.Tool {
	return &builtins.Tool{Name: name, Effects: builtins.Read, Label: builtins.Source{Class: label.New(label.Internal, label.Public(), nil)}, Run: run}
}

// call makes a call of a program under a trusted pc. Arguments are names and values in turn; plain
// data is labelled like the pc.
func call(id, name string, args ...any) eval.Call {
	c := eval.Call{ID: id, Kind: eval.KindTool, Tool: name, PC: trusted, History: label.Bottom(), Site: eval.Site{File: "turn1.star", Line: 4, Column: 9}}
	for i := 0; i < len(args); i += 2 {
		v, err := value.Of(args[i+1], trusted)
		if err != nil {
			panic(err)
		}
		c.Args = append(c.Args, eval.Arg{Name: args[i].(string), Value: v})
	}
	return c
}

func read(id string) eval.Call { return call(id, "mail.read", "id", "04.eml") }

func send(id, body string) eval.Call {
	return call(id, "mail.send", "to", []string{"bob@corp.example"}, "body", body)
}

// do makes one call.
func (r *rig) do(c eval.Call) eval.Result {
	r.t.Helper()
	out := r.Do(context.Background(), []eval.Call{c})
	if len(out) != 1 {
		r.t.Fatalf("Do gave %d results for one call", len(out))
	}
	return out[0]
}

// events returns the journal, without the run's start.
func (r *rig) events() []journal.Event {
	r.t.Helper()
	events, err := r.store.Read(context.Background(), "run", 2)
	if err != nil {
		r.t.Fatal(err)
	}
	return events
}

func (r *rig) types() []journal.Type {
	var out []journal.Type
	for _, e := range r.events() {
		out = append(out, e.Type)
	}
	return out
}

// last decodes the last event of a type.
func last[T any](r *rig, kind journal.Type) T {
	r.t.Helper()
	events := r.events()
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].Type == kind {
			out, err := journal.Decode[T](events[i])
			if err != nil {
				r.t.Fatal(err)
			}
			return out
		}
	}
	r.t.Fatalf("no %s event in %v", kind, r.types())
	panic("unreachable")
}

func wantTypes(t *testing.T, r *rig, want ...journal.Type) {
	t.Helper()
	if got := r.types(); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

func wantCode(t *testing.T, res eval.Result, want string) *eval.CallError {
	t.Helper()
	if res.Err == nil {
		t.Fatalf("got %s, want an error with code %q", res.Value.Text(), want)
	}
	if res.Err.Code != want {
		t.Fatalf("got code %q (%s), want %q", res.Err.Code, res.Err.Text, want)
	}
	return res.Err
}

func wantLabel(t *testing.T, what string, got label.Label, want string) {
	t.Helper()
	if got.String() != want {
		t.Errorf("%s is labelled %s, want %s", what, got, want)
	}
}

func wantNoData(t *testing.T, err *eval.CallError, data string) {
	t.Helper()
	for name, text := range map[string]string{"code": err.Code, "hint": err.Hint} {
		if strings.Contains(text, data) {
			t.Errorf("%s %q holds data", name, text)
		}
	}
}

func TestNewRefusesAGateWithoutWhatItNeeds(t *testing.T) {
	full := newRig(t, nil).cfg
	for _, test := range []struct {
		name string
		edit func(*Config)
		want string
	}{
		{"no PDP", func(c *Config) { c.PDP = nil }, "got no PDP"},
		{"no journal", func(c *Config) { c.Journal = nil }, "got no journal"},
		{"no session", func(c *Config) { c.Session.ID = "" }, `got session ""`},
		{"no run", func(c *Config) { c.Session.Run = "" }, `run ""`},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := full
			test.edit(&cfg)
			if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("New = %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestBeforeItsFirstTurnAGateTrustsNobody(t *testing.T) {
	r := newRig(t, nil)
	g, err := New(r.cfg)
	if err != nil {
		t.Fatal(err)
	}
	g.Do(t.Context(), []eval.Call{read("1.1")})
	wantLabel(t, "the program", r.pdp.requests[0].Labels.Program, label.Top().String())
}

func TestTheContextIsWhatTheModelWasShown(t *testing.T) {
	r := newRig(t, nil)
	g, err := New(r.cfg)
	if err != nil {
		t.Fatal(err)
	}
	wantLabel(t, "the context of a model that was shown nothing", g.Context(), "system/public")
	g.SetTurn(1, trusted, g.Context())
	wantLabel(t, "the context of the program's author", g.Context(), "user/public")
	if _, err := g.Observe(t.Context(), "x", 1, value.IntOf(1, mailed), trusted); err != nil {
		t.Fatal(err)
	}
	g.SetTurn(2, trusted, trusted)
	wantLabel(t, "the context after a mail was shown", g.Context(), "untrusted/public")
	g.SetTurn(3, private, g.Context())
	wantLabel(t, "the context of one who knows what is private", g.Context(), "untrusted/{ana}#pii")
}

func TestRequestIsTotal(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Typed = []string{"Send the report to bob@corp.example, 12 pages."} })
	r.do(read("1.1"))
	c := call("1.2", "mail.send", "to", []string{"bob@corp.example"})
	c.Args = append(c.Args, eval.Arg{Name: "body", Value: value.StringOf("hello", private)})
	c.PC = trusted.WithTags("branch")
	r.do(c)
	q := r.pdp.requests[1]

	var args []string
	for _, a := range q.Labels.Args {
		args = append(args, a.Name+" "+a.Label.String())
	}
	if want := []string{"to user/public", "body user/{ana}#pii", "cc system/public"}; !slices.Equal(args, want) {
		t.Errorf("labels of arguments %q, want %q: every declared parameter has one, absent ones Bottom", args, want)
	}
	type leaf struct {
		path, sink string
		typed      bool
	}
	var leaves []leaf
	for _, l := range q.Leaves {
		leaves = append(leaves, leaf{l.Path, l.Sink, l.Typed})
	}
	want := []leaf{{"to[0]", "recipient", true}, {"body", "content", false}, {"pc", "control", false}}
	if !slices.Equal(leaves, want) {
		t.Errorf("leaves %v, want %v", leaves, want)
	}
	if !slices.Equal(q.Tags, []string{"branch", "pii"}) {
		t.Errorf("tags %v, want those of the arguments and of the pc", q.Tags)
	}
	if q.History.Count["mail.read"] != 1 || q.History.Count["mail.send"] != 0 || len(q.History.Count) != 2 {
		t.Errorf("history counts %v, want mail.read 1 and mail.send 0", q.History.Count)
	}
	if !slices.Equal(q.Call.Sinks, []string{"content", "recipient"}) || !slices.Equal(q.Call.Effects, []string{"write", "egress"}) {
		t.Errorf("sinks %v and effects %v", q.Call.Sinks, q.Call.Effects)
	}
	if q.Session.Turn != 1 || q.Call.ID != "1.2" || q.Call.Site.Line != 4 || q.Agent.Effects == nil || !slices.Equal(q.Agent.Tools, []string{"mail.read", "mail.send"}) {
		t.Errorf("session %+v, call %s at %+v, agent %+v", q.Session, q.Call.ID, q.Call.Site, q.Agent)
	}
	wantLabel(t, "the program", q.Labels.Program, "user/public")
	wantLabel(t, "the pc", q.Labels.PC, "user/public#branch")
}

func TestTimeStandsStillForToolsWithinATurn(t *testing.T) {
	now := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	var seen []time.Time
	r := newRig(t, func(c *Config) {
		c.Clock = func() time.Time { now = now.Add(time.Second); return now }
	}, tool("clock.now", func(_ context.Context, in *builtins.Invocation) (any, error) {
		seen = append(seen, in.Now)
		return nil, nil
	}))
	r.do(call("1.1", "clock.now"))
	r.do(call("1.2", "clock.now"))
	r.SetTurn(2, trusted, trusted)
	r.do(call("2.1", "clock.now"))
	if !seen[0].Equal(seen[1]) || !seen[2].After(seen[1]) {
		t.Errorf("tools saw %v, want one time a turn", seen)
	}
	if a, b := r.pdp.requests[0].Time, r.pdp.requests[1].Time; !b.After(a) {
		t.Errorf("policies saw %v and %v, want the time of each decision", a, b)
	}
}

// upTo is a host that has tiers up to one.
func upTo(have Tier) func(Tier) error {
	return func(want Tier) error {
		if want > have {
			return fmt.Errorf("there is no more than %s", have)
		}
		return nil
	}
}
