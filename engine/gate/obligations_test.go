package gate

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"callgate/engine/eval"
	"callgate/engine/journal"
	"callgate/engine/value"
	"callgate/policies"
)

func TestAnObligationThatCannotBeFulfilledIsADenial(t *testing.T) {
	type fields = map[string]any
	limited := func(with fields) policies.Obligation {
		f := fields{"max": 5}
		for k, v := range with {
			f[k] = v
		}
		return oblige("limit", f)
	}
	for _, test := range []struct {
		name        string
		obligations []policies.Obligation
		want        string // in the recorded reason
	}{
		{"of an unknown type", []policies.Obligation{oblige("encrypt", nil)}, `obligation "encrypt" of policy p: unknown type`},
		{"of no type", []policies.Obligation{{}}, "unknown type"},
		{"with an unknown field", []policies.Obligation{oblige("mark", fields{"name": "x", "scop": "run"})}, `unknown field "scop"`},
		{"redact without a path", []policies.Obligation{oblige("redact", nil)}, "path: got nothing"},
		{"redact somewhere else", []policies.Obligation{oblige("redact", fields{"path": "/input/x"})}, `got "/input/x", want /result… or /args/NAME…`},
		{"redact all arguments", []policies.Obligation{oblige("redact", fields{"path": "/args"})}, "want /result… or /args/NAME…"},
		{"redact a parameter that does not exist", []policies.Obligation{oblige("redact", fields{"path": "/args/bdy"})}, "no such parameter, want one of to, body, cc"},
		{"redact what then has the wrong type", []policies.Obligation{oblige("redact", fields{"path": "/args/to"})}, "redacted arguments: mail.send: to: got string, want list"},
		{"redact with a number", []policies.Obligation{oblige("redact", fields{"path": "/result", "with": 4})}, "with: got int"},
		{"two redactions of one path that differ", []policies.Obligation{
			oblige("redact", fields{"path": "/result", "with": "a"}), oblige("redact", fields{"path": "/result", "with": "b"})}, "contradicts another one"},
		{"label with a trust that does not exist", []policies.Obligation{oblige("label", fields{"trust": "low"})}, `got "low", want one of`},
		{"label with tags that are no texts", []policies.Obligation{oblige("label", fields{"tags": []any{1}})}, "tags: got int in the list"},
		{"label with one tag in place of a list", []policies.Obligation{oblige("label", fields{"tags": "pii"})}, "tags: got string, want a list"},
		{"limit without an id", []policies.Obligation{{Type: "limit", Fields: fields{"max": 5}}}, "id: got nothing"},
		{"limit without a maximum", []policies.Obligation{oblige("limit", nil)}, "max: got nothing"},
		{"limit with a negative maximum", []policies.Obligation{limited(fields{"max": -1})}, "max: got -1"},
		{"limit with half a call", []policies.Obligation{limited(fields{"cost": 0.5})}, "cost: got 0.5"},
		{"limit per something unknown", []policies.Obligation{limited(fields{"per": []any{"team"}})}, `per: got "team"`},
		{"limit with a window that is no time", []policies.Obligation{limited(fields{"window": "1 hour"})}, "window: "},
		{"limit with a window of nothing", []policies.Obligation{limited(fields{"window": "0s"})}, "window: got 0s"},
		{"limit of an unknown unit", []policies.Obligation{limited(fields{"cost": "euros"})}, `cost: got "euros"`},
		{"limit with an unknown way out", []policies.Obligation{limited(fields{"over": "wait"})}, `over: got "wait"`},
		{"two limits of one id that differ", []policies.Obligation{limited(nil), limited(fields{"max": 6})}, "contradicts another one of id o"},
		{"mark without a name", []policies.Obligation{oblige("mark", nil)}, "name: got nothing"},
		{"mark of an unknown scope", []policies.Obligation{oblige("mark", fields{"name": "x", "scope": "world"})}, `scope: got "world"`},
		{"mask without a path", []policies.Obligation{oblige("mark", fields{"name": "x"}), oblige("mask", nil)}, "masked:by policy"},
		{"mask the result", []policies.Obligation{oblige("mask", fields{"path": "/result"})}, "masked:by policy"},
		{"mask a parameter that does not exist", []policies.Obligation{oblige("mask", fields{"path": "/args/bdy"})}, "masked:by policy"},
		{"isolate in an unknown tier", []policies.Obligation{oblige("isolate", fields{"tier": "vm"})}, `tier: got "vm"`},
		{"isolate in more than the program runs in", []policies.Obligation{oblige("isolate", fields{"tier": "process"})}, "isolation: got none, want process"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.pdp.decide = always(allowing(test.obligations...))
			err := r.do(send("1.1", "hello")).Err
			if err == nil || !strings.HasPrefix(err.Code, "denied (core.") {
				t.Fatalf("got %v, want a denial", err)
			}
			if r.calls() != nil {
				t.Errorf("ran %q", r.calls())
			}
			made := last[journal.DecisionMade](r, journal.Decided).Decision
			if n := len(made.Reasons); made.Effect != policies.Deny || n == 0 || !strings.Contains(made.Reasons[n-1].Message, test.want) {
				t.Errorf("recorded %+v, want a reason with %q", made, test.want)
			}
		})
	}
}

func TestObligationsFitSomeKindsOfCall(t *testing.T) {
	for _, test := range []struct {
		kind, obligation string
		fields           map[string]any
		ok               bool
	}{
		{"builtin", "redact", map[string]any{"path": "/result"}, false},
		{"builtin", "limit", map[string]any{"max": 5}, false},
		{"builtin", "mark", map[string]any{"name": "x"}, true},
		{"endorse", "redact", map[string]any{"path": "/args/value"}, false},
		{"endorse", "limit", map[string]any{"max": 5}, true},
		{"program", "label", map[string]any{"tags": []string{"x"}}, false},
		{"observe", "redact", map[string]any{"path": "/args/value"}, true},
		{"tool", "notify", map[string]any{"to": "security", "anything": []any{1, 2}}, true},
	} {
		_, err := understand(test.kind, []string{"value"}, []policies.Obligation{oblige(test.obligation, test.fields)})
		if (err == nil) != test.ok {
			t.Errorf("%s for %s: %v, want ok %t", test.obligation, test.kind, err, test.ok)
		}
	}
}

func TestRedactTakesPartsOutOfTheResult(t *testing.T) {
	for _, test := range []struct {
		name   string
		fields map[string]any
		want   string
	}{
		{"a field", map[string]any{"path": "/result/email"}, `{"body": "pay s3cr3t-iban", "email": "[redacted]", "id": "04.eml"}`},
		{"a field with words of its own", map[string]any{"path": "/result/email", "with": ""}, `{"body": "pay s3cr3t-iban", "email": "", "id": "04.eml"}`},
		{"every field", map[string]any{"path": "/result/*"}, `{"body": "[redacted]", "email": "[redacted]", "id": "[redacted]"}`},
		{"everything", map[string]any{"path": "/result"}, `"[redacted]"`},
		{"what is not there", map[string]any{"path": "/result/phone/0"}, `{"body": "pay s3cr3t-iban", "email": "eve@evil.example", "id": "04.eml"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.pdp.decide = always(allowing(oblige("redact", test.fields)))
			res := r.do(read("1.1"))
			if res.Err != nil || res.Value.Text() != test.want {
				t.Errorf("got %s, %v, want %s", res.Value.Text(), res.Err, test.want)
			}
			if strings.Contains(test.want, "eve") {
				return
			}
			for _, e := range r.events() {
				if strings.Contains(string(e.Payload), "eve@") {
					t.Errorf("%s still has what was redacted: %s", e.Type, e.Payload)
				}
			}
		})
	}
}

func TestARedactedPartTellsNothingOfItsSource(t *testing.T) {
	r := newRig(t, nil)
	r.pdp.decide = always(allowing(oblige("redact", map[string]any{"path": "/result/body"})))
	body, _ := r.do(read("1.1")).Value.Get("body")
	wantLabel(t, "the redacted body", body.Label, "user/public")
}

func TestRedactTakesPartsOutOfTheArguments(t *testing.T) {
	r := newRig(t, nil)
	r.pdp.decide = always(allowing(oblige("redact", map[string]any{"path": "/args/body", "with": "(removed)"})))
	if res := r.do(send("1.1", secretText)); res.Err != nil {
		t.Fatal(res.Err)
	}
	if got := r.calls(); !slices.Equal(got, []string{"mail.send (removed)"}) {
		t.Errorf("ran %q", got)
	}
	for _, e := range r.events() {
		if strings.Contains(string(e.Payload), secretText) {
			t.Errorf("%s has what was redacted: %s", e.Type, e.Payload)
		}
	}
	if got, _ := r.pdp.requests[0].Call.Args.Get("body"); got.Str != secretText {
		t.Errorf("decided on %q, want what the program passed", got.Str)
	}
}

func TestLabelObligationsOnlyLower(t *testing.T) {
	for _, test := range []struct {
		name   string
		fields map[string]any
		want   string // of the id, internal/{ana,bob} without the obligation
	}{
		{"tags", map[string]any{"tags": []any{"crm"}}, "internal/{ana,bob}#crm"},
		{"lower trust", map[string]any{"trust": "untrusted"}, "untrusted/{ana,bob}"},
		{"higher trust", map[string]any{"trust": "system"}, "internal/{ana,bob}"},
		{"fewer readers", map[string]any{"readers": []any{"bob", "eve"}}, "internal/{bob}"},
		{"more readers", map[string]any{"readers": []string{"*"}}, "internal/{ana,bob}"},
		{"no readers", map[string]any{"readers": []any{}}, "internal/{}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.pdp.decide = always(allowing(oblige("label", test.fields)))
			res := r.do(read("1.1"))
			id, _ := res.Value.Get("id")
			wantLabel(t, "the id", id.Label, test.want)
		})
	}
}

func TestLimits(t *testing.T) {
	now := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	type step struct {
		after time.Duration
		to    []string // recipients
		ok    bool
	}
	one := []string{"a@x"}
	for _, test := range []struct {
		name   string
		fields map[string]any
		steps  []step
	}{
		{"of calls in a run", map[string]any{"max": int64(2), "per": []any{"run"}}, []step{{0, one, true}, {0, one, true}, {time.Hour, one, false}}},
		{"of nothing", map[string]any{"max": 0}, []step{{0, one, false}}},
		{"in a window that moves on", map[string]any{"max": 2.0, "window": "1h"}, []step{{0, one, true}, {40 * time.Minute, one, true}, {19 * time.Minute, one, false}, {time.Minute, one, true}, {0, one, false}}},
		{"of recipients", map[string]any{"max": 3, "cost": "recipients"}, []step{{0, []string{"a@x", "b@x"}, true}, {0, []string{"c@x", "d@x"}, false}, {0, one, true}, {0, one, false}}},
		{"of a cost that the rule computed", map[string]any{"max": 3, "cost": 2}, []step{{0, one, true}, {0, one, false}}},
		{"that cost nothing", map[string]any{"max": 0, "cost": 0}, []step{{0, one, true}, {0, one, true}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			at := now
			r := newRig(t, func(c *Config) { c.Clock = func() time.Time { return at } })
			r.pdp.decide = always(allowing(oblige("limit", test.fields)))
			for i, s := range test.steps {
				at = at.Add(s.after)
				res := r.do(call("1.1", "mail.send", "to", s.to))
				if (res.Err == nil) != s.ok {
					t.Fatalf("call %d: %v, want ok %t", i+1, res.Err, s.ok)
				}
				if !s.ok && res.Err.Code != "denied (o)" {
					t.Errorf("call %d: code %q, want the limit's id", i+1, res.Err.Code)
				}
			}
		})
	}
}

// runIn is a rig whose run is one of a store.
func runIn(t *testing.T, store journal.Store, id, sub string) *rig {
	t.Helper()
	run, err := journal.Begin(t.Context(), store, id, journal.Options{})
	if err == nil {
		_, err = run.Append(t.Context(), journal.RunStart, "", journal.RunStarted{Agent: "inbox"}, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	return newRig(t, func(c *Config) { c.Journal, c.Session.Run, c.Principal.Sub = run, id, sub })
}

func TestTheRunsOfAStoreShareTheLimitsOfAPrincipal(t *testing.T) {
	store := journal.NewMemory()
	perPrincipal := allowing(oblige("limit", map[string]any{"max": 1, "per": []any{"principal"}, "window": "1h"}))
	for i, sub := range []string{"ana", "bob", "ana"} {
		r := runIn(t, store, fmt.Sprint("run", i), sub)
		r.pdp.decide = always(perPrincipal)
		if res := r.do(send("1.1", "x")); (res.Err == nil) != (i < 2) {
			t.Errorf("call %d by %s: %v", i+1, sub, res.Err)
		}
	}
}

// Two processes have a store open, each with runs of its own, and no more goes through than the limit.
func TestProcessesSideBySideDoNotPassALimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	const most = 7
	limited := allowing(oblige("limit", map[string]any{"max": most, "per": []any{"principal"}, "window": "1h"}),
		policies.Obligation{Type: "limit", ID: "whole", Policy: "p", Fields: map[string]any{"max": 100}})
	var passed atomic.Int64
	var all sync.WaitGroup
	for i := range 2 {
		store, err := journal.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		for k := range 3 {
			r := runIn(t, store, fmt.Sprintf("run%d.%d", i, k), "ana")
			r.pdp.decide = always(limited)
			all.Go(func() {
				for n := range 4 {
					if res := r.do(send(fmt.Sprint("1.", n), "x")); res.Err == nil {
						passed.Add(1)
					} else if res.Err.Code != "denied (o)" {
						t.Errorf("got %v, want the limit", res.Err)
					}
				}
			})
		}
	}
	all.Wait()
	if passed.Load() != most {
		t.Errorf("%d calls went through, want %d", passed.Load(), most)
	}
}

func TestALimitWhoseAccountCannotBeReadDenies(t *testing.T) {
	store, err := journal.Open(filepath.Join(t.TempDir(), "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	r := runIn(t, store, "run", "ana")
	r.pdp.decide = always(allowing(oblige("limit", map[string]any{"max": 1})))
	store.Close()
	if res := r.do(send("1.1", "x")); res.Err == nil || len(r.calls()) > 0 {
		t.Errorf("got %v, and %v ran", res.Err, r.calls())
	}
}

func TestALimitThatIsOverCanAsk(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Approver = ApproveAll{By: "test"} })
	r.pdp.decide = always(allowing(oblige("limit", map[string]any{"max": 1, "over": "ask"})))
	for range 3 {
		if res := r.do(send("1.1", "x")); res.Err != nil {
			t.Fatal(res.Err)
		}
	}
	if got := r.Counts(); got.Asked != 2 || got.Allowed != 3 {
		t.Errorf("counts %+v, want 2 of 3 asked", got)
	}
	if given := last[journal.ApprovalGiven](r, journal.Approved); given.Ask != "o" || given.Binding == "" {
		t.Errorf("approved %+v, want the limit", given)
	}

	quiet := newRig(t, nil)
	quiet.pdp.decide = always(allowing(oblige("limit", map[string]any{"max": 0, "over": "ask"})))
	wantCode(t, quiet.do(send("1.1", "x")), "waiting")
}

func TestWhatWasApprovedBeyondALimitCounts(t *testing.T) {
	p := &people{answers: []Verdict{yes("bob")}}
	r := newRig(t, func(c *Config) { c.Approver = p })
	for i, cost := range []int{2, 2, 1} { // of 3: the second is approved, and then nothing is left
		r.pdp.decide = always(allowing(oblige("limit", map[string]any{"max": 3, "cost": cost, "over": "ask"})))
		if res := r.do(send("1.1", "x")); (res.Err == nil) != (i < 2) {
			t.Errorf("call %d: %v", i+1, res.Err)
		}
	}
	if len(p.asked) != 2 {
		t.Errorf("asked %d times, want twice", len(p.asked))
	}
}

func TestACallThatIsRefusedSpendsNothing(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Approver = refuser{} })
	limit := oblige("limit", map[string]any{"max": 1})
	r.pdp.decide = always(policies.Decision{Effect: policies.Ask, Obligations: []policies.Obligation{limit}, Approvals: []policies.Approval{{Ask: "a"}}})
	wantCode(t, r.do(send("1.1", "x")), "denied (a)")
	r.pdp.decide = always(allowing(limit))
	if res := r.do(send("1.2", "x")); res.Err != nil {
		t.Error(res.Err)
	}
}

func TestMarksAreReadBack(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Kept = &Kept{Marks: []string{"old"}, history: trusted} })
	r.pdp.decide = func(q *policies.Request) (policies.Decision, error) {
		switch q.Call.ID {
		case "1.1":
			return allowing(oblige("mark", map[string]any{"name": "saw-mail", "scope": "session"}), oblige("mark", map[string]any{"name": "busy"})), nil
		case "1.2":
			return policies.Decision{Effect: policies.Ask, Obligations: []policies.Obligation{oblige("mark", map[string]any{"name": "never"})}, Approvals: []policies.Approval{{Ask: "a"}}}, nil
		}
		return policies.Decision{Effect: policies.Allow, ReadHistory: true}, nil
	}
	c := read("1.1")
	c.Args[0].Value = value.StringOf("x", mailed)
	r.do(c)
	wantCode(t, r.do(read("1.2")), "waiting")
	res := r.do(read("1.3"))
	if got, want := r.pdp.requests[2].History.Marks, []string{"busy", "old", "saw-mail"}; !slices.Equal(got, want) {
		t.Errorf("marks %q, want %q", got, want)
	}
	kept := r.Keep()
	if got, want := kept.Marks, []string{"old", "saw-mail"}; !slices.Equal(got, want) {
		t.Errorf("marks of the session %q, want %q", got, want)
	}
	id, _ := res.Value.Get("id")
	wantLabel(t, "what was decided on a mark that depends on untrusted text", id.Label, "untrusted/{ana,bob}")

	next := newRig(t, func(c *Config) { c.Kept = kept })
	next.pdp.decide = r.pdp.decide
	id, _ = next.do(read("1.3")).Value.Get("id")
	wantLabel(t, "the same in the session's next run", id.Label, "untrusted/{ana,bob}")
}

func TestAProgramIsIsolatedAsPolicySays(t *testing.T) {
	r := newRig(t, nil)
	tier := func(name string) func(*policies.Request) (policies.Decision, error) {
		return always(allowing(oblige("isolate", map[string]any{"tier": name}), oblige("isolate", map[string]any{"tier": "none"})))
	}
	r.pdp.decide = tier("process")
	got, err := r.Program(t.Context(), Start{File: "turn1.star", Text: "x = 1", Inputs: mailed})
	if err != nil || got != TierProcess {
		t.Fatalf("got tier %s, %v, want process", got, err)
	}
	q := r.pdp.requests[0]
	if q.Call.Kind != "program" || q.Call.ID != "1.p" || len(q.Call.Effects) != 0 {
		t.Errorf("asked about %+v", q.Call)
	}
	inputs := q.Labels.Args[slices.IndexFunc(q.Labels.Args, func(a policies.ArgLabel) bool { return a.Name == "inputs" })]
	wantLabel(t, "what the program can read", inputs.Label, "untrusted/public")
	if res := r.do(read("1.1")); res.Err != nil {
		t.Errorf("a call that wants the tier that the program runs in: %v", res.Err)
	}

	r.SetTurn(2, trusted, trusted)
	wantCode(t, r.do(read("2.1")), "denied (core.isolation)") // the tier of one program says nothing of the next

	r.pdp.decide = tier("container")
	if _, err := r.Program(t.Context(), Start{}); err == nil || err.Code != "denied (core.isolation)" {
		t.Errorf("got %v, want a denial: what cannot be had is no reason for less", err)
	}
	r.pdp.decide = always(denial("untrusted-author"))
	if _, err := r.Program(t.Context(), Start{}); err == nil || !err.Deny {
		t.Errorf("got %v, want a denial", err)
	}
}

func TestPlainFieldsOfOtherGoTypes(t *testing.T) {
	d, err := understand("tool", nil, []policies.Obligation{oblige("limit", map[string]any{"max": float64(3), "cost": int64(2), "per": []string{"tool", "agent"}})})
	if err != nil {
		t.Fatal(err)
	}
	c := charges(d.limits, &policies.Request{Agent: policies.Agent{Name: "a"}, Call: policies.Call{Tool: "t"}}, "run", 0)
	if len(c) != 1 || c[0].amount != 2 || c[0].max != 3 || c[0].account != "p\x00o\x00agent=a\x00tool=t" {
		t.Errorf("charges %+v", c)
	}
}

func TestEndorsedBitsCanBeLimited(t *testing.T) {
	r := newRig(t, nil)
	r.pdp.decide = always(allowing(oblige("limit", map[string]any{"max": 2, "cost": "bits"})))
	for i := range 3 {
		c := call("1.1", "endorse", "trust", "user")
		c.Kind = eval.KindEndorse
		c.Args = append(c.Args, eval.Arg{Name: "value", Value: value.BoolOf(true, mailed)})
		if res := r.do(c); (res.Err == nil) != (i < 2) {
			t.Errorf("endorsement %d: %v", i+1, res.Err)
		}
	}
}

// What a policy masks is for the tool alone: nothing of it is recorded, of a denied call either, nor in messages that quote it.
func TestWhatAPolicyMasksIsNotRecorded(t *testing.T) {
	mask := oblige("mask", map[string]any{"path": "/args/body"})
	for _, test := range []struct {
		name   string
		decide func(*policies.Request) (policies.Decision, error)
		ran    bool
	}{
		{"an allowed call", always(allowing(mask)), true},
		{"a denied call", always(policies.Decision{
			Effect: policies.Deny, Would: policies.Deny, Obligations: []policies.Obligation{mask},
			Reasons: []policies.Reason{{ID: "x", Policy: "p", Effect: policies.Deny, Message: "says pin 4711"}},
		}), false},
		{"a call that is denied since its mask cannot be read", always(allowing(oblige("mask", map[string]any{"path": "body"}))), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.pdp.decide = test.decide
			r.do(send("1.1", "pin 4711"))
			if ran := strings.Contains(strings.Join(r.calls(), " "), "4711"); ran != test.ran {
				t.Errorf("ran %q, want it to have run with the whole body: %v", r.calls(), test.ran)
			}
			events, err := r.store.Read(t.Context(), "run", 1)
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, e := range events {
				if strings.Contains(string(e.Payload), "4711") {
					t.Errorf("%s holds it: %s", e.Type, e.Payload)
				}
				if e.Type != journal.Decided {
					continue
				}
				made, err := journal.Decode[journal.DecisionMade](e)
				if err != nil {
					t.Fatal(err)
				}
				for _, a := range made.Args {
					if a.Name == "body" {
						found = a.Value.Str == "masked:by policy"
					}
				}
			}
			if !found {
				t.Error("no decision says that the body is masked")
			}
		})
	}
}
