package desk_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"callgate/builtins"
	"callgate/engine"
	"callgate/engine/desk"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/policies"
)

// two asks two people about every tool.
type two struct{}

func (two) Decide(_ context.Context, r *policies.Request) (policies.Decision, error) {
	if r.Call.Kind != policies.KindTool {
		return policies.Decision{Effect: policies.Allow, Would: policies.Allow}, nil
	}
	ask := policies.Approval{Ask: "large", Policy: "p", Count: 2, Approvers: []string{"ana", "group:finance"}, TTL: time.Hour}
	return policies.Decision{Effect: policies.Ask, Would: policies.Ask, Approvals: []policies.Approval{ask}}, nil
}

func (two) Revision() string { return "sha256:1" }

// terminal answers as ana once.
type terminal struct{ asked int }

func (t *terminal) Approve(context.Context, gate.Question) (gate.Verdict, error) {
	if t.asked++; t.asked > 1 {
		return gate.Verdict{Reason: "no answer at the terminal"}, nil
	}
	return gate.Verdict{Outcome: gate.Approved, By: "ana"}, nil
}

// A run is approved by one person at its terminal and by another one later: the effect is there once, when both have.
func TestOneHereAndOneThere(t *testing.T) {
	bob := desk.Person{Sub: "bob", Groups: []string{"finance"}, Login: "bob"}
	cleo := desk.Person{Sub: "cleo", Groups: []string{"finance"}, Login: "cleo"}
	type place struct {
		*desk.Desk
		t   *testing.T
		now time.Time
	}
	approve := func(p *place, by desk.Person) {
		p.t.Helper()
		q, err := p.Question(p.t.Context(), "sample")
		if err != nil {
			p.t.Fatal(err)
		}
		if _, _, err := p.Answer(p.t.Context(), q.ID, desk.Answer{By: by, Approve: true, Binding: q.Approval.Binding}); err != nil {
			p.t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name string
		then []func(*place) // each before the run goes on once more
		ends []string
		by   []string // who approved, as the run's last part has it
	}{
		{"nobody else does", []func(*place){func(*place) {}}, []string{"waiting"}, []string{"ana"}},
		{"another one does", []func(*place){func(p *place) { approve(p, bob) }}, []string{"done"}, []string{"ana", "bob"}},
		{"another one does, after it went on waiting", []func(*place){func(*place) {}, func(p *place) { approve(p, bob) }}, []string{"waiting", "done"}, []string{"ana", "bob"}},
		{"too late for the one at the terminal", []func(*place){func(p *place) { p.now = p.now.Add(2 * time.Hour) }, func(p *place) { approve(p, bob) }}, []string{"waiting", "waiting"}, []string{"bob"}},
		{"it refuses", []func(*place){func(p *place) {
			if _, _, err := p.Answer(p.t.Context(), "sample", desk.Answer{By: bob}); err != nil {
				p.t.Fatal(err)
			}
		}}, []string{"denied"}, []string{"ana"}},
		{"it takes it back before it matters", []func(*place){
			func(p *place) {
				p.now = p.now.Add(2 * time.Hour)
			},
			func(p *place) { approve(p, bob) },
			func(p *place) {
				if _, err := p.Revoke(p.t.Context(), "g1", bob, ""); err != nil {
					p.t.Fatal(err)
				}
				approve(p, cleo)
			},
			func(p *place) { approve(p, bob) },
		}, []string{"waiting", "waiting", "waiting", "done"}, []string{"cleo", "bob"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			store := journal.NewMemory()
			p := &place{t: t, now: time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)}
			clock := func() time.Time { return p.now }
			p.Desk = &desk.Desk{Store: store, Now: clock}
			made := 0
			var tools builtins.Set
			err := tools.Add(&builtins.Tool{
				Name: "bank.pay", Effects: builtins.Write, Label: builtins.Source{Class: label.New(label.User, label.Public(), nil)},
				Params: []builtins.Param{{Name: "amount", Schema: json.RawMessage(`{"type": "integer"}`), Required: true}},
				Run:    func(context.Context, *builtins.Invocation) (any, error) { made++; return nil, nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			here := &terminal{}
			var last []string
			run := func(again bool) string {
				t.Helper()
				cfg := engine.Config{Agent: "clerk", Principal: policies.Principal{Sub: "ana"}, Tools: &tools, PDP: two{}, Store: store, Approver: p.Approver(here), Clock: clock, Meter: 10}
				e, err := engine.New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				var s *engine.Session
				if again {
					s, err = e.Resume(t.Context(), engine.Again{Run: "sample"})
				} else {
					s, err = e.Start(t.Context(), engine.Run{ID: "sample", Context: label.Bottom()})
				}
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				out, err := s.Exec(t.Context(), engine.Program{File: "main.star", Author: label.New(label.User, label.Public(), nil), Text: "bank.pay(amount = 5)\ndone(1)\n"})
				if err != nil {
					t.Fatal(err)
				}
				status := engine.StatusOf(out.Status)
				if err := s.End(t.Context(), engine.Ending{Status: status}); err != nil {
					t.Fatal(err)
				}
				events, err := store.Read(t.Context(), "sample", 1)
				if err != nil {
					t.Fatal(err)
				}
				last = nil
				for _, ev := range journal.Current(events, false) {
					if ev.Type != journal.Approved {
						continue
					}
					a, err := journal.Decode[journal.ApprovalGiven](ev)
					if err != nil {
						t.Fatal(err)
					}
					if a.Verdict == "approved" {
						last = append(last, a.By)
					}
				}
				return string(status)
			}
			if got := run(false); got != "waiting" {
				t.Fatalf("the run ended %s, want that it waits", got)
			}
			for i, then := range test.then {
				then(p)
				if got := run(true); got != test.ends[i] {
					t.Fatalf("the run that goes on for the %d. time ends %s, approved by %q; want %s", i+1, got, last, test.ends[i])
				}
			}
			if !slices.Equal(last, test.by) {
				t.Errorf("approved by %q, want %q", last, test.by)
			}
			if done := test.ends[len(test.ends)-1] == "done"; done && made != 1 || !done && made != 0 {
				t.Errorf("made %d times", made)
			}
		})
	}
}
