package gate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/engine/eval"
	"callgate/engine/journal"
	"callgate/engine/value"
	"callgate/policies"
)

// refuser refuses every question.
type refuser struct{}

func (refuser) Approve(context.Context, Question) (Verdict, error) {
	return Verdict{Outcome: Refused, By: "bob", Reason: "too much"}, nil
}

// people answers questions in turn, and keeps them.
type people struct {
	answers []Verdict
	err     error
	asked   []Question
	then    func()
}

func (p *people) Approve(_ context.Context, q Question) (Verdict, error) {
	p.asked = append(p.asked, q)
	if p.then != nil {
		p.then()
	}
	if len(p.answers) == 0 {
		return Verdict{}, p.err
	}
	v := p.answers[0]
	p.answers = p.answers[1:]
	return v, p.err
}

func asking(a ...policies.Approval) policies.Decision {
	return policies.Decision{Effect: policies.Ask, Approvals: a}
}

func yes(by string, groups ...string) Verdict {
	return Verdict{Outcome: Approved, By: by, Groups: groups}
}

func TestAsks(t *testing.T) {
	for _, test := range []struct {
		name     string
		asks     []policies.Approval
		approver Approver
		code     string   // "" if the call is made
		verdicts []string // recorded: "ask by verdict"
	}{
		{"nobody is there", []policies.Approval{{Ask: "large"}}, nil, "waiting", []string{"large  waiting"}},
		{"nobody answers", []policies.Approval{{Ask: "large"}}, &people{}, "waiting", []string{"large  waiting"}},
		{"asking fails", []policies.Approval{{Ask: "large"}}, &people{answers: []Verdict{yes("bob")}, err: errors.New("no terminal")}, "waiting", []string{"large bob waiting"}},
		{"approved by anybody", []policies.Approval{{Ask: "large"}}, ApproveAll{By: "--approve all"}, "", []string{"large --approve all approved"}},
		{"approved by a person", []policies.Approval{{Ask: "large"}}, &people{answers: []Verdict{yes("bob")}}, "", []string{"large bob approved"}},
		{"refused", []policies.Approval{{Ask: "large"}}, refuser{}, "denied (large)", []string{"large bob refused"}},
		{"approved without a name", []policies.Approval{{Ask: "large"}}, &people{answers: []Verdict{yes("")}}, "waiting", []string{"large  waiting"}},
		{"two asks, both approved", []policies.Approval{{Ask: "large"}, {Ask: "late"}}, &people{answers: []Verdict{yes("bob"), yes("bob")}}, "", []string{"large bob approved", "late bob approved"}},
		{"two asks, the second not", []policies.Approval{{Ask: "large"}, {Ask: "late"}}, &people{answers: []Verdict{yes("bob")}}, "waiting", []string{"large bob approved", "late  waiting"}},
		{"the requester may not", []policies.Approval{{Ask: "large", OtherThan: []string{"requester"}}}, &people{answers: []Verdict{yes("ana")}}, "waiting", []string{"large ana waiting"}},
		{"somebody in the group", []policies.Approval{{Ask: "large", Approvers: []string{"group:finance"}}}, &people{answers: []Verdict{yes("bob", "finance")}}, "", []string{"large bob approved"}},
		{"somebody outside the group", []policies.Approval{{Ask: "large", Approvers: []string{"group:finance"}}}, &people{answers: []Verdict{yes("bob", "sales")}}, "waiting", []string{"large bob waiting"}},
		{"somebody whose name is the group's", []policies.Approval{{Ask: "large", Approvers: []string{"group:finance"}}}, &people{answers: []Verdict{yes("finance")}}, "waiting", []string{"large finance waiting"}},
		{"the requester may not, in other letters", []policies.Approval{{Ask: "large", OtherThan: []string{"requester"}}}, &people{answers: []Verdict{yes("ANA")}}, "waiting", []string{"large ANA waiting"}},
		{"one person twice, in other letters", []policies.Approval{{Ask: "large", Count: 2}}, &people{answers: []Verdict{yes("bob"), yes("Bob")}}, "waiting", []string{"large bob approved", "large Bob waiting"}},
		{"an approver in other letters", []policies.Approval{{Ask: "large", Approvers: []string{"bob"}}}, &people{answers: []Verdict{yes("Bob")}}, "waiting", []string{"large Bob waiting"}},
		{"the requester is the approver", []policies.Approval{{Ask: "large", Approvers: []string{"requester"}}}, &people{answers: []Verdict{yes("ana")}}, "", []string{"large ana approved"}},
		{"two people", []policies.Approval{{Ask: "large", Count: 2}}, &people{answers: []Verdict{yes("bob"), yes("eve")}}, "", []string{"large bob approved", "large eve approved"}},
		{"one person twice", []policies.Approval{{Ask: "large", Count: 2}}, &people{answers: []Verdict{yes("bob"), yes("bob")}}, "waiting", []string{"large bob approved", "large bob waiting"}},
		{"one of two refuses", []policies.Approval{{Ask: "large", Count: 2}}, &people{answers: []Verdict{yes("bob"), {Outcome: Refused, By: "eve"}}}, "denied (large)", []string{"large bob approved", "large eve refused"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.Approver = test.approver })
			r.pdp.decide = always(asking(test.asks...))
			res := r.do(send("1.1", secretText))
			if test.code == "" {
				if res.Err != nil || len(r.calls()) != 1 {
					t.Fatalf("got %v and ran %q, want one call", res.Err, r.calls())
				}
			} else {
				err := wantCode(t, res, test.code)
				wantNoData(t, err, secretText)
				if waits := test.code == "waiting"; err.Wait != waits || err.Final != waits || err.Deny == waits || len(r.Waiting()) == 1 != waits {
					t.Errorf("got %+v with %d waiting", err, len(r.Waiting()))
				}
				if r.calls() != nil {
					t.Errorf("ran %q", r.calls())
				}
			}
			var got []string
			for _, e := range r.events() {
				if e.Type == journal.Approved {
					a, err := journal.Decode[journal.ApprovalGiven](e)
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, a.Ask+" "+a.By+" "+a.Verdict)
				}
			}
			if !slices.Equal(got, test.verdicts) {
				t.Errorf("recorded %q, want %q", got, test.verdicts)
			}
			if c := r.Counts(); c.Asked != 1 {
				t.Errorf("counted %+v, want one call that asked", c)
			}
		})
	}
}

// Nobody can be told apart from the requester of a run on nobody's behalf.
func TestSomebodyElseThanNobody(t *testing.T) {
	for _, a := range []policies.Approval{{Ask: "large", OtherThan: []string{"requester"}}, {Ask: "large", Approvers: []string{"requester"}}} {
		r := newRig(t, func(c *Config) {
			c.Principal, c.Approver = policies.Principal{}, &people{answers: []Verdict{yes("whoever is at the terminal")}}
		})
		r.pdp.decide = always(asking(a))
		wantCode(t, r.do(send("1.1", "x")), "waiting")
		if r.calls() != nil {
			t.Errorf("%+v: ran %q", a, r.calls())
		}
	}
}

func TestApprovalsAreCounted(t *testing.T) {
	p := &people{answers: []Verdict{yes("bob"), {Outcome: Approved, By: "bob", Grant: "g1", Spared: true}, {Outcome: Refused, By: "bob"}}}
	r := newRig(t, func(c *Config) { c.Approver = p })
	r.pdp.decide = always(asking(policies.Approval{Ask: "large", Policy: "p"}))
	for _, id := range []string{"1.1", "1.2", "1.3"} {
		r.do(send(id, "x"))
	}
	if c := r.Counts(); c.Asked != 3 || c.Given != 1 || c.Spared != 1 || c.Map()["given"] != 1 || c.Map()["spared"] != 1 {
		t.Errorf("counted %+v, want one approval given and one spared", c)
	}
	var got []journal.ApprovalGiven
	for _, e := range r.events() {
		if e.Type == journal.Approved {
			a, err := journal.Decode[journal.ApprovalGiven](e)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, a)
		}
	}
	if got[0].Policy != "p" || got[0].Grant != "" || got[1].Grant != "g1" || !got[1].Spared || got[2].Spared {
		t.Errorf("recorded %+v", got)
	}
}

// An approval is for the arguments that people have seen: when policies that are reloaded meanwhile let through what was
// redacted, they are asked again.
func TestAnApprovalIsForWhatWasShown(t *testing.T) {
	p := &people{answers: []Verdict{yes("bob")}}
	r := newRig(t, func(c *Config) { c.Approver = p })
	r.pdp.decide = func(*policies.Request) (policies.Decision, error) {
		d := asking(policies.Approval{Ask: "large"})
		if len(p.asked) == 0 {
			d.Obligations = []policies.Obligation{oblige("redact", map[string]any{"path": "/args/body"})}
		}
		return d, nil
	}
	wantCode(t, r.do(send("1.1", secretText)), "waiting")
	if len(p.asked) != 2 || r.calls() != nil {
		t.Fatalf("asked %d times and ran %q, want a second question and no call", len(p.asked), r.calls())
	}
	if p.asked[0].Approval.Binding == p.asked[1].Approval.Binding {
		t.Error("both questions have one binding")
	}
}

func TestAQuestionShowsWhatWillBeDone(t *testing.T) {
	p := &people{answers: []Verdict{yes("bob")}}
	r := newRig(t, func(c *Config) { c.Approver = p })
	r.pdp.decide = func(q *policies.Request) (policies.Decision, error) {
		d := asking(policies.Approval{Ask: "large", Message: "above the limit", Args: []string{"to[0]"}})
		d.Obligations = []policies.Obligation{oblige("redact", map[string]any{"path": "/args/body"})}
		return d, nil
	}
	c := call("1.1", "mail.send", "body", "hello")
	c.Args = append(c.Args, eval.Arg{Name: "to", Value: value.ListOf(trusted, value.StringOf("eve@x", mailed))})
	r.do(c)
	q := p.asked[0]
	if len(q.Args) != 2 || q.Args[0].Value.Str != redacted || q.Args[1].Value.Items[0].Label.Trust() != 0 {
		t.Errorf("asked about %+v, want the arguments as the tool gets them", q.Args)
	}
	if q.Origins["to[0]"] != "mail.read 04.eml (body)" {
		t.Errorf("origins %q", q.Origins)
	}
	made := last[journal.DecisionMade](r, journal.Decided)
	if again := Binding(made.Kind, made.Tool, made.Args, made.PC); again != q.Approval.Binding {
		t.Errorf("what is recorded is bound by %s, and what was asked by %s", again, q.Approval.Binding)
	}
	if q.Approval.Binding == "" || q.Approval.Binding != made.Binding || made.Decision.Approvals[0].Binding != made.Binding {
		t.Errorf("binding %q, recorded %q", q.Approval.Binding, made.Binding)
	}
	wantTypes(t, r, journal.Decided, journal.Approved, journal.CallStart, journal.CallResult)
}

func TestABindingChangesWithWhateverWasApproved(t *testing.T) {
	binding := func(edit func(*eval.Call)) string {
		r := newRig(t, nil)
		c := send("1.1", "x")
		edit(&c)
		r.do(c)
		return last[journal.DecisionMade](r, journal.Decided).Binding
	}
	same := binding(func(c *eval.Call) { c.ID = "7.1" })
	seen := map[string]string{same: "the call itself"}
	for name, edit := range map[string]func(*eval.Call){
		"another value": func(c *eval.Call) { c.Args[1].Value = value.StringOf("y", trusted) },
		"another label": func(c *eval.Call) { c.Args[1].Value = value.StringOf("x", mailed) },
		"another pc":    func(c *eval.Call) { c.PC = mailed },
		"another tool":  func(c *eval.Call) { c.Tool = "mail.read"; c.Args = read("1").Args },
		"fewer args":    func(c *eval.Call) { c.Args = c.Args[:1] },
	} {
		b := binding(edit)
		if other, ok := seen[b]; ok {
			t.Errorf("%s has the binding of %s", name, other)
		}
		seen[b] = name
	}
	if again := binding(func(*eval.Call) {}); again != same {
		t.Errorf("the same call has the bindings %s and %s", same, again)
	}
}

func TestAnApprovalExpires(t *testing.T) {
	now := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		after time.Duration
		ok    bool
	}{{15 * time.Minute, true}, {16 * time.Minute, false}} {
		at := now
		p := &people{answers: []Verdict{yes("bob")}, then: func() { at = at.Add(test.after) }}
		r := newRig(t, func(c *Config) { c.Approver, c.Clock = p, func() time.Time { return at } })
		r.pdp.decide = always(asking(policies.Approval{Ask: "large", TTL: 15 * time.Minute}))
		if res := r.do(send("1.1", "x")); (res.Err == nil) != test.ok {
			t.Errorf("after %s: %v", test.after, res.Err)
		}
	}
}

func TestAnApprovedCallIsDecidedAgain(t *testing.T) {
	for _, test := range []struct {
		name   string
		second policies.Decision
		code   string
		events []journal.Type
	}{
		{"and nothing has changed", asking(policies.Approval{Ask: "large"}), "", []journal.Type{journal.Decided, journal.Approved, journal.CallStart, journal.CallResult}},
		{"and now there is a denial", denial("closed"), "denied (closed)", []journal.Type{journal.Decided, journal.Approved, journal.Decided}},
		{"and now there is another ask", asking(policies.Approval{Ask: "large"}, policies.Approval{Ask: "late"}), "waiting", []journal.Type{journal.Decided, journal.Approved, journal.Decided, journal.Approved}},
		{"and now nobody need be asked", policies.Decision{Effect: policies.Allow, Revision: "sha256:2"}, "", []journal.Type{journal.Decided, journal.Approved, journal.Reloaded, journal.Decided, journal.CallStart, journal.CallResult}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.Approver = &people{answers: []Verdict{yes("bob")}} })
			first := true
			r.pdp.decide = func(*policies.Request) (policies.Decision, error) {
				if first {
					first = false
					return asking(policies.Approval{Ask: "large"}), nil
				}
				return test.second, nil
			}
			res := r.do(send("1.1", "x"))
			if test.code != "" {
				wantCode(t, res, test.code)
			} else if res.Err != nil {
				t.Error(res.Err)
			}
			if ran := len(r.calls()) == 1; ran != (test.code == "") {
				t.Errorf("ran %q", r.calls())
			}
			wantTypes(t, r, test.events...)
		})
	}
}

func TestAsksThatNeverEndAreADenial(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Approver = ApproveAll{By: "test"} })
	n := 0
	r.pdp.decide = func(*policies.Request) (policies.Decision, error) {
		n++
		return asking(policies.Approval{Ask: "ask" + strings.Repeat("x", n)}), nil
	}
	wantCode(t, r.do(send("1.1", "x")), "denied (core.approval)")
	if n != maxRounds+1 || r.calls() != nil {
		t.Errorf("decided %d times, ran %q", n, r.calls())
	}
}

func TestAnApprovalThatCannotBeRecordedDoesNotCount(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Approver = ApproveAll{By: "test"} })
	r.pdp.decide = always(asking(policies.Approval{Ask: "large"}))
	r.store.refuse = func(e journal.Event) bool { return e.Type == journal.Approved }
	wantCode(t, r.do(send("1.1", "x")), "journal")
	if r.calls() != nil {
		t.Errorf("ran %q", r.calls())
	}
}
