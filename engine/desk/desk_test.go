package desk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/builtins"
	"callgate/engine/eval"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

var (
	trusted = label.New(label.User, label.Public(), nil, label.Source{Tool: "prompt", Of: "task"})
	mailed  = label.New(label.Untrusted, label.Public(), nil, label.Source{Tool: "mail.read", Of: "04.eml", Field: "body"})
	private = label.New(label.User, label.Only("ana"), []string{"pii"})

	ana  = Person{Sub: "ana", Login: "ana"}
	bob  = Person{Sub: "bob", Login: "bob", Groups: []string{"finance"}}
	cleo = Person{Sub: "cleo", Login: "cleo", Groups: []string{"finance", "board"}}
)

const runID = "20261201-100000123-k7q2m9xw4d"

// pdp decides as its function says.
type pdp func(*policies.Request) policies.Decision

func (p pdp) Decide(_ context.Context, r *policies.Request) (policies.Decision, error) {
	return p(r), nil
}
func (p pdp) Revision() string { return "sha256:1" }

// asks makes a PDP that asks these of every call.
func asks(a ...policies.Approval) pdp {
	return func(*policies.Request) policies.Decision {
		return policies.Decision{Effect: policies.Ask, Approvals: a}
	}
}

// office is a store with a desk and a clock.
type office struct {
	*Desk
	t   *testing.T
	now time.Time
	ran []string
}

func newOffice(t *testing.T, s journal.Store) *office {
	o := &office{t: t, now: time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)}
	o.Desk = &Desk{Store: s, Now: func() time.Time { return o.now }}
	return o
}

// run makes a run of a store that makes one call, and ends it: waiting if it waits. It returns how the call ended: "" if it was made.
func (o *office) run(s journal.Store, id string, p policies.PDP, approver gate.Approver, c eval.Call, edit ...func(*gate.Config)) (string, *gate.Gate) {
	o.t.Helper()
	ctx := o.t.Context()
	run, err := journal.Begin(ctx, s, id, journal.Options{Now: o.Now})
	if err != nil {
		o.t.Fatal(err)
	}
	cfg := gate.Config{
		Agent: policies.Agent{Name: "inbox", Digest: "sha256:a"}, Principal: policies.Principal{Sub: "ana"}, Session: policies.Session{ID: "s", Run: id, Mode: "program"},
		Tools: o.tools(), PDP: p, Journal: run, Approver: approver, Clock: o.Now, Meter: 4096,
	}
	for _, f := range edit {
		f(&cfg)
	}
	start := journal.RunStarted{Agent: cfg.Agent.Name, Digest: cfg.Agent.Digest, Principal: cfg.Principal}
	turn := journal.TurnStarted{Turn: 1, File: "turn1.star", Program: "a\nb\nc\nmail.send(to = to)\n", Author: trusted}
	if _, err := run.AppendAll(ctx, false, journal.Entry{Type: journal.RunStart, Payload: start}, journal.Entry{Type: journal.TurnStart, Payload: turn}); err != nil {
		o.t.Fatal(err)
	}
	g, err := gate.New(cfg)
	if err != nil {
		o.t.Fatal(err)
	}
	g.SetTurn(1, trusted, trusted)
	res := g.Do(ctx, []eval.Call{c})[0]
	code, status := "", journal.StatusDone
	if res.Err != nil {
		code, status = res.Err.Code, journal.StatusFailed
		if res.Err.Wait {
			status = journal.StatusWaiting
		}
	}
	if _, err := run.AppendAll(ctx, true,
		journal.Entry{Type: journal.ProgramEnd, Payload: journal.ProgramEnded{Turn: 1, Status: status}},
		journal.Entry{Type: journal.RunEnd, Payload: journal.RunEnded{Status: status, Counts: g.Counts().Map()}}); err != nil {
		o.t.Fatal(err)
	}
	return code, g
}

// resume makes the call of the run again, as one that goes on does, in a store of its own: what the run has behind it is not looked at here.
func (o *office) resume(p policies.PDP, c eval.Call, edit ...func(*gate.Config)) string {
	o.t.Helper()
	code, _ := o.run(journal.NewMemory(), runID, p, o.Approver(nil), c, edit...)
	return code
}

func (o *office) tools() *builtins.Set {
	var set builtins.Set
	texts := json.RawMessage(`{"type": "array", "items": {"type": "string"}}`)
	if err := set.Add(&builtins.Tool{
		Name: "mail.send", Effects: builtins.Write | builtins.Egress, Label: builtins.Source{Class: label.New(label.User, label.Public(), nil)},
		Params: []builtins.Param{
			{Name: "to", Schema: texts, Required: true, Sink: policies.SinkRecipient},
			{Name: "body", Schema: json.RawMessage(`{"type": "string"}`), Sink: policies.SinkContent},
		},
		Run: func(_ context.Context, in *builtins.Invocation) (any, error) {
			o.ran = append(o.ran, builtins.Arg[string](in, "body"))
			return "sent", nil
		},
	}); err != nil {
		o.t.Fatal(err)
	}
	return &set
}

// send is a call of mail.send: arguments are names, values and labels in turn.
func send(id string, args ...any) eval.Call {
	c := eval.Call{ID: id, Kind: eval.KindTool, Tool: "mail.send", PC: trusted, History: label.Bottom(), Site: eval.Site{File: "turn1.star", Line: 4, Column: 1}}
	if len(args) == 0 {
		args = []any{"to", []string{"bob@corp.example"}, trusted, "body", "hello", trusted}
	}
	for i := 0; i < len(args); i += 3 {
		v, err := value.Of(args[i+1], args[i+2].(label.Label))
		if err != nil {
			panic(err)
		}
		c.Args = append(c.Args, eval.Arg{Name: args[i].(string), Value: v})
	}
	return c
}

// waiting is an office with a run that waits for the asks.
func waiting(t *testing.T, a ...policies.Approval) *office {
	t.Helper()
	o := newOffice(t, journal.NewMemory())
	if code, _ := o.run(o.Store, runID, asks(a...), o.Approver(nil), send("1.1")); code != "waiting" {
		t.Fatalf("the run ended with %q, want that it waits", code)
	}
	return o
}

func (o *office) answer(id string, by Person, approve bool, edit ...func(*Answer)) error {
	o.t.Helper()
	q, err := o.Question(o.t.Context(), id)
	if err != nil {
		return err
	}
	a := Answer{By: by, Approve: approve, Binding: q.Approval.Binding, Reason: "because"}
	for _, f := range edit {
		f(&a)
	}
	_, _, err = o.Answer(o.t.Context(), id, a)
	return err
}

func (o *office) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

var large = policies.Approval{Ask: "large", Policy: "p", Args: []string{"to[0]"}, Count: 1}

func TestAnApprovalOutlivesTheProcess(t *testing.T) {
	o := waiting(t, large)
	open, err := o.Questions(t.Context())
	o.must(err)
	if len(open) != 1 || open[0].ID != "k7q2m9xw4d/1.1/large" || !open[0].Waits || open[0].Need != 1 || open[0].Program.Text == "" || open[0].Masked {
		t.Fatalf("open: %+v", open)
	}
	if got := o.resume(asks(large), send("1.1")); got != "waiting" || o.ran != nil {
		t.Fatalf("unanswered, the run ends with %q and ran %q", got, o.ran)
	}
	o.must(o.answer("k7q2", ana, true))
	s := journal.NewMemory()
	code, g := o.run(s, runID, asks(large), o.Approver(nil), send("1.1"))
	if code != "" || len(o.ran) != 1 {
		t.Fatalf("approved, the run ends with %q and ran %q", code, o.ran)
	}
	if c := g.Counts(); c.Given != 1 || c.Spared != 0 || c.Asked != 1 {
		t.Errorf("counts %+v, want one approval given and none spared", c)
	}
	events, err := s.Read(t.Context(), runID, 1)
	o.must(err)
	i := slices.IndexFunc(events, func(e journal.Event) bool { return e.Type == journal.Approved })
	a, err := journal.Decode[journal.ApprovalGiven](events[i])
	o.must(err)
	if a.By != "ana" || a.Grant != "g1" || a.Reason != "because" || a.Spared || a.Verdict != "approved" {
		t.Errorf("recorded %+v", a)
	}
}

func TestADenialOutlivesTheProcess(t *testing.T) {
	o := waiting(t, large)
	o.must(o.answer("k7q2", ana, false))
	if got := o.resume(asks(large), send("1.1")); got != "denied (large)" || o.ran != nil {
		t.Errorf("the run ends with %q and ran %q", got, o.ran)
	}
	// A person may change their mind, until it matters.
	o.must(o.answer("k7q2", ana, true))
	if got := o.resume(asks(large), send("1.1")); got != "" {
		t.Errorf("approved after all, the run ends with %q", got)
	}
}

func TestWhoMayAnswer(t *testing.T) {
	with := func(edit func(*policies.Approval)) policies.Approval {
		a := large
		edit(&a)
		return a
	}
	finance := with(func(a *policies.Approval) { a.Approvers = []string{"group:finance"} })
	two := with(func(a *policies.Approval) { a.Count = 2 })
	other := with(func(a *policies.Approval) { a.OtherThan = []string{"requester"} })
	short := with(func(a *policies.Approval) { a.TTL = time.Hour })
	for _, test := range []struct {
		name   string
		ask    policies.Approval
		before func(*office)
		by     Person
		deny   bool
		edit   func(*Answer)
		want   string // "" if it counts
	}{
		{name: "the requester, where nobody is named", ask: large, by: ana},
		{name: "somebody else, where nobody is named", ask: large, by: bob, want: "bob may not approve: the policy names no approvers, so that only ana may, for whom the agent runs"},
		{name: "nobody", ask: large, by: Person{Login: "eve"}, want: "an approval without a name"},
		{name: "one of the group", ask: finance, by: bob},
		{name: "one who is not among the approvers", ask: finance, by: ana, want: "ana is not among the approvers: group:finance"},
		{name: "the requester, where another must", ask: other, by: ana, want: "ana may not approve: requester"},
		{name: "the requester in other letters", ask: other, by: Person{Sub: "ANA"}, want: "ANA may not approve: requester"},
		{name: "another than the requester", ask: other, by: cleo},
		{name: "the same person twice", ask: two, before: func(o *office) { o.must(o.answer("k7q2", bob, true)) }, by: bob, want: "bob has approved before; 2 different people must"},
		{name: "a second person", ask: two, before: func(o *office) { o.must(o.answer("k7q2", bob, true)) }, by: cleo},
		{name: "in time", ask: short, before: func(o *office) { o.now = o.now.Add(time.Hour) }, by: ana},
		{name: "too late", ask: short, before: func(o *office) { o.now = o.now.Add(time.Hour + time.Second) }, by: ana, want: "the question expired after 1h0m0s"},
		{name: "for another call than was shown", ask: large, by: ana, edit: func(a *Answer) { a.Binding = "sha256:00" }, want: "it is another call than was shown"},
		{name: "until a time that is past", ask: large, by: ana, edit: func(a *Answer) { a.Until = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC) }, want: "until 2026-12-01T09:00:00Z: it is 2026-12-01T10:00:00Z"},
		{name: "with a reason that is too long", ask: large, by: ana, edit: func(a *Answer) { a.Reason = strings.Repeat("x", 2001) }, want: "reason: got 2001 bytes, want at most 2000"},
		{name: "a denial by the requester", ask: finance, by: ana, deny: true},
		{name: "a denial by an approver", ask: finance, by: bob, deny: true},
		{name: "a denial by somebody else", ask: finance, by: Person{Sub: "eve"}, deny: true, want: "eve is not among the approvers: group:finance"},
		{name: "a denial twice", ask: large, before: func(o *office) { o.must(o.answer("k7q2", ana, false)) }, by: ana, deny: true, want: "ana has refused it before"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := waiting(t, test.ask)
			if test.before != nil {
				test.before(o)
			}
			edit := test.edit
			if edit == nil {
				edit = func(*Answer) {}
			}
			err := o.answer("k7q2", test.by, !test.deny, edit)
			if test.want == "" {
				o.must(err)
				return
			}
			if no, ok := errors.AsType[*Refusal](err); !ok || no.Why != test.want {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestAQuestionThatIsClosedTakesNoAnswer(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(o *office, r *journal.Run)
		want string
	}{
		{"its run has ended", func(o *office, r *journal.Run) {
			o.append(r, journal.RunEnd, "", journal.RunEnded{Status: journal.StatusFailed})
		}, "the run has ended: failed"},
		{"its program has ended", func(o *office, r *journal.Run) {
			o.append(r, journal.ProgramEnd, "", journal.ProgramEnded{Status: "cancelled"})
		}, "its program has ended: cancelled"},
		{"the call was made", func(o *office, r *journal.Run) {
			o.append(r, journal.CallStart, "1.1", journal.CallStarted{Tool: "mail.send"})
		}, "the call waits no longer: it was made"},
		{"the call was approved", func(o *office, r *journal.Run) {
			o.append(r, journal.Approved, "1.1", journal.ApprovalGiven{Ask: "large", Policy: "p", By: "ana", Verdict: "approved"})
		}, "the call waits no longer: it was approved"},
		{"the call was approved from the desk", func(o *office, r *journal.Run) {
			o.append(r, journal.Approved, "1.1", journal.ApprovalGiven{Ask: "large", Policy: "p", By: "ana", Verdict: "approved", Grant: "g1"})
		}, "the call waits no longer: it was approved"},
		{"the call was approved for everybody", func(o *office, r *journal.Run) {
			o.append(r, journal.Approved, "1.1", journal.ApprovalGiven{Ask: "large", Policy: "p", By: "--approve all", Verdict: "approved", Anybody: true})
		}, "the call waits no longer: it was approved"},
		{"the call was refused", func(o *office, r *journal.Run) {
			o.append(r, journal.Approved, "1.1", journal.ApprovalGiven{Ask: "large", By: "ana", Verdict: "refused"})
		}, "the call waits no longer: refused by ana"},
		{"the call was denied", func(o *office, r *journal.Run) {
			o.append(r, journal.Decided, "1.1", journal.DecisionMade{})
		}, "the call waits no longer: it was decided again: deny"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := newOffice(t, journal.NewMemory())
			r, err := journal.Begin(t.Context(), o.Store, runID, journal.Options{Now: o.Now})
			o.must(err)
			o.append(r, journal.RunStart, "", journal.RunStarted{Agent: "inbox", Principal: policies.Principal{Sub: "ana"}})
			o.append(r, journal.Decided, "1.1", journal.DecisionMade{Kind: "tool", Tool: "mail.send", Decision: policies.Decision{Effect: policies.Ask, Approvals: []policies.Approval{large}}})
			open, err := o.Questions(t.Context())
			if err != nil || len(open) != 1 || open[0].Waits {
				t.Fatalf("killed while it asked: open %+v, %v; want its question", open, err)
			}
			test.end(o, r)
			if open, err := o.Questions(t.Context()); err != nil || len(open) > 0 {
				t.Errorf("open: %+v, %v; want none", open, err)
			}
			err = o.answer("k7q2", ana, true)
			if no, ok := errors.AsType[*Refusal](err); !ok || no.Why != test.want {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// A call that had begun when its process ended is asked about, though nothing is decided anew.
func TestAnInterruptedCallIsAQuestion(t *testing.T) {
	o := newOffice(t, journal.NewMemory())
	r, err := journal.Begin(t.Context(), o.Store, runID, journal.Options{Now: o.Now})
	o.must(err)
	made := journal.DecisionMade{Kind: "tool", Tool: "mail.send", PC: trusted, Decision: policies.Decision{Effect: policies.Allow}}
	made.Binding = gate.Binding(made.Kind, made.Tool, made.Args, made.PC)
	o.append(r, journal.RunStart, "", journal.RunStarted{Agent: "inbox", Principal: policies.Principal{Sub: "ana"}})
	o.append(r, journal.Decided, "1.1", made)
	o.append(r, journal.CallStart, "1.1", journal.CallStarted{Tool: "mail.send"})
	if open, err := o.Questions(t.Context()); err != nil || len(open) > 0 {
		t.Fatalf("open: %+v, %v; nobody was asked yet", open, err)
	}
	o.append(r, journal.Approved, "1.1", journal.ApprovalGiven{Ask: gate.AskInterrupted, Policy: "core", Binding: made.Binding, Verdict: "waiting"})
	o.append(r, journal.RunEnd, "", journal.RunEnded{Status: journal.StatusWaiting})
	open, err := o.Questions(t.Context())
	if err != nil || len(open) != 1 || open[0].ID != "k7q2m9xw4d/1.1/core.interrupted" || open[0].Masked || !open[0].Waits {
		t.Fatalf("open: %+v, %v; want the call", open, err)
	}
	o.must(o.answer("k7q2", ana, true))
	q := open[0].Question
	if v, err := o.Approver(nil).Approve(t.Context(), q); err != nil || v.Outcome != gate.Approved || v.By != "ana" {
		t.Errorf("got %+v, %v; want that it is made again", v, err)
	}
}

func (o *office) append(r *journal.Run, kind journal.Type, call string, payload any) {
	o.t.Helper()
	_, err := r.Append(o.t.Context(), kind, call, payload, true)
	o.must(err)
}

// What was said holds when it matters, or it is said why not.
func TestAtExecutionItIsDecidedAgain(t *testing.T) {
	deny := pdp(func(*policies.Request) policies.Decision {
		return policies.Decision{Reasons: []policies.Reason{{ID: "closed", Policy: "p"}}}
	})
	late := large
	late.Ask = "late"
	finance := large
	finance.Approvers = []string{"group:finance"}
	for _, test := range []struct {
		name string
		ask  policies.Approval
		by   Person
		then func(*office)
		pdp  policies.PDP
		call eval.Call
		code string
		why  string // recorded with the approval that did not come
	}{
		{name: "nothing has changed", ask: large, by: ana},
		{name: "the policies deny", ask: large, by: ana, pdp: deny, code: "denied (closed)"},
		{name: "the policies ask more", ask: large, by: ana, pdp: asks(large, late), code: "waiting", why: "nobody to ask"},
		{name: "the policies ask something else", ask: large, by: ana, pdp: asks(late), code: "waiting", why: "nobody to ask"},
		{name: "an argument is another", ask: large, by: ana, call: send("1.1", "to", []string{"eve@evil.example"}, trusted, "body", "hello", trusted), code: "waiting", why: "g1 of ana is for another call than this one has become"},
		{name: "a label is another", ask: large, by: ana, call: send("1.1", "to", []string{"bob@corp.example"}, mailed, "body", "hello", trusted), code: "waiting", why: "g1 of ana is for another call than this one has become"},
		{name: "another call", ask: large, by: ana, call: send("1.2"), code: "waiting", why: "nobody to ask"},
		{name: "it was revoked", ask: large, by: ana, then: func(o *office) {
			_, err := o.Revoke(o.t.Context(), "g1", bob, "")
			o.must(err)
		}, code: "waiting", why: "g1 of ana was revoked by g2"},
		{name: "it has expired", ask: policies.Approval{Ask: "large", Policy: "p", TTL: time.Hour}, by: ana, then: func(o *office) { o.now = o.now.Add(2 * time.Hour) }, code: "waiting", why: "g1 of ana expired at 2026-12-01T11:00:00Z"},
		{name: "the person is there no longer", ask: large, by: ana, then: func(o *office) {
			o.Who = func(login, by string) ([]string, bool) { return nil, false }
		}, code: "waiting", why: "g1 is by ana, whom the login ana stands for no longer"},
		{name: "the person has left the group", ask: finance, by: bob, then: func(o *office) {
			o.Who = func(login, by string) ([]string, bool) { return []string{"sales"}, true }
		}, code: "waiting", why: "bob is not among the approvers: group:finance"},
		{name: "who denied is there no longer", ask: finance, by: bob, then: func(o *office) {
			o.must(o.answer("k7q2", cleo, false))
			o.Who = func(login, by string) ([]string, bool) { return []string{"finance"}, by == "bob" }
		}},
		{name: "the policies let others approve", ask: finance, by: bob, pdp: asks(large), code: "waiting", why: "bob may not approve: the policy names no approvers, so that only ana may, for whom the agent runs"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := waiting(t, test.ask)
			o.must(o.answer("k7q2", test.by, true))
			if test.then != nil {
				test.then(o)
			}
			p, c := test.pdp, test.call
			if p == nil {
				p = asks(test.ask)
			}
			if c.ID == "" {
				c = send("1.1")
			}
			s := journal.NewMemory()
			code, _ := o.run(s, runID, p, o.Approver(nil), c)
			if code != test.code || (len(o.ran) == 1) != (code == "") {
				t.Fatalf("ended with %q and ran %q, want %q", code, o.ran, test.code)
			}
			events, err := s.Read(t.Context(), runID, 1)
			o.must(err)
			why := ""
			for _, e := range events {
				if e.Type == journal.Approved {
					a, err := journal.Decode[journal.ApprovalGiven](e)
					o.must(err)
					if a.Verdict == "waiting" {
						why = a.Reason
					}
				}
			}
			if why != test.why {
				t.Errorf("recorded %q, want %q", why, test.why)
			}
		})
	}
}

func TestSeveralAsksAreSeveralQuestions(t *testing.T) {
	late := policies.Approval{Ask: "late", Policy: "q", Approvers: []string{"group:board"}}
	twin := policies.Approval{Ask: "late", Policy: "p"}
	o := waiting(t, large, late, twin)
	open, err := o.Questions(t.Context())
	o.must(err)
	var ids []string
	for _, q := range open {
		ids = append(ids, q.ID)
	}
	if want := []string{"k7q2m9xw4d/1.1/large", "k7q2m9xw4d/1.1/late@q", "k7q2m9xw4d/1.1/late@p"}; !slices.Equal(ids, want) {
		t.Fatalf("open: %q, want %q", ids, want)
	}
	all := runID + "/1.1/large, " + runID + "/1.1/late@q, " + runID + "/1.1/late@p"
	for _, test := range []struct{ id, want string }{
		{"k7q2", "k7q2: is, or begins, the ids of 3 questions: " + all},
		{"zzz", "zzz: there is no such question"},
		{"", ": there is no such question"},
		{"approvals", "approvals: there is no such question"},
		{"k7q2m9xw4d/1.1/la", "k7q2m9xw4d/1.1/la: is, or begins, the ids of 3 questions: " + all},
	} {
		if _, err := o.Question(t.Context(), test.id); err == nil || err.Error() != test.want {
			t.Errorf("%q: got %v, want %s", test.id, err, test.want)
		}
	}
	o.must(o.answer("k7q2m9xw4d/1.1/large", ana, true))
	o.must(o.answer(runID+"/1.1/late@p", ana, true))
	if got := o.resume(asks(large, late, twin), send("1.1")); got != "waiting" {
		t.Errorf("two of three are approved: ended with %q", got)
	}
	o.must(o.answer("k7q2m9xw4d/1.1/late@q", cleo, true))
	if got := o.resume(asks(large, late, twin), send("1.1")); got != "" {
		t.Errorf("all are approved: ended with %q", got)
	}
}

// A run that was altered does not hide the questions of the others.
func TestARunThatWasAlteredHidesNoOther(t *testing.T) {
	o := waiting(t, large)
	const other = "20261201-110000123-zzzzzzzzzz"
	forged := journal.NewMemory()
	o.run(forged, other, asks(large), nil, send("1.1"))
	events, err := forged.Read(t.Context(), other, 1)
	o.must(err)
	events[1].Payload = json.RawMessage(strings.Replace(string(events[1].Payload), "turn1", "turn2", 1))
	o.must(o.Store.Append(t.Context(), events, true))
	open, err := o.Questions(t.Context())
	if len(open) != 1 || open[0].Run != runID || err == nil || !strings.Contains(err.Error(), other) {
		t.Errorf("open: %+v, %v; want one question and an error that names the other run", open, err)
	}
}

// Two runs whose ids end alike are told apart by all of the id.
func TestRunsWhoseIDsEndAlike(t *testing.T) {
	o := waiting(t, large)
	const other = "import-k7q2m9xw4d"
	if code, _ := o.run(o.Store, other, asks(large), nil, send("1.1")); code != "waiting" {
		t.Fatal(code)
	}
	_, err := o.Question(t.Context(), "k7q2m9xw4d/1.1/large")
	if want := "k7q2m9xw4d/1.1/large: is, or begins, the ids of 2 questions: "; err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), other+"/1.1/large") {
		t.Errorf("got %v, want %s", err, want)
	}
	if q, err := o.Question(t.Context(), other+"/1.1/large"); err != nil || q.Run != other {
		t.Errorf("got a question of %s, %v", q.Run, err)
	}
}

// What was approved at the terminal of the run counts at the desk; that the gate knows it when the run goes on is its own test.
func TestWhatWasSaidAtTheTerminalCounts(t *testing.T) {
	two := policies.Approval{Ask: "large", Policy: "p", Count: 2}
	o := newOffice(t, journal.NewMemory())
	once := 0
	at := asker(func() gate.Verdict {
		if once++; once == 1 {
			return gate.Verdict{Outcome: gate.Approved, By: "ana"}
		}
		return gate.Verdict{}
	})
	if code, _ := o.run(o.Store, runID, asks(two), o.Approver(at), send("1.1")); code != "waiting" {
		t.Fatalf("ended with %q", code)
	}
	q, err := o.Question(t.Context(), "k7q2")
	o.must(err)
	if q.Need != 1 || !slices.Equal(q.By, []string{"ana"}) {
		t.Fatalf("needs %d more, approved by %q", q.Need, q.By)
	}
	if err := o.answer("k7q2", ana, true); err == nil {
		t.Error("the one at the terminal counts twice")
	}
	o.must(o.answer("k7q2", bob, true))
	if q, err = o.Question(t.Context(), "k7q2"); err != nil || q.Need != 0 {
		t.Errorf("needs %d more, %v", q.Need, err)
	}
}

type asker func() gate.Verdict

func (a asker) Approve(context.Context, gate.Question) (gate.Verdict, error) { return a(), nil }

// What one approver has said is passed over; what another one at the terminal says counts.
func TestTheTerminalIsAskedWhatNobodyHasAnswered(t *testing.T) {
	o := newOffice(t, journal.NewMemory())
	asked := 0
	code, _ := o.run(o.Store, runID, asks(large), o.Approver(asker(func() gate.Verdict {
		asked++
		return gate.Verdict{Outcome: gate.Approved, By: "ana"}
	})), send("1.1"))
	if code != "" || asked != 1 {
		t.Errorf("ended with %q, asked %d times", code, asked)
	}
}

func TestTwoPeopleAtOnce(t *testing.T) {
	s, err := journal.Open(filepath.Join(t.TempDir(), "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all := policies.Approval{Ask: "large", Policy: "p", Count: 8}
	o := newOffice(t, s)
	if code, _ := o.run(s, runID, asks(all), nil, send("1.1")); code != "waiting" {
		t.Fatal(code)
	}
	q, err := o.Question(t.Context(), "k7q2")
	o.must(err)
	var group sync.WaitGroup
	for i := range 8 {
		for range 2 { // each of them twice, of which one counts
			group.Go(func() {
				d := *o.Desk
				_, _, err := d.Answer(t.Context(), q.ID, Answer{By: Person{Sub: fmt.Sprint("p", i)}, Approve: true, Binding: q.Approval.Binding})
				if no, is := errors.AsType[*Refusal](err); err != nil && !(is && strings.Contains(no.Why, "has approved before")) {
					t.Error(err)
				}
			})
		}
	}
	group.Wait()
	if q, err = o.Question(t.Context(), "k7q2"); err != nil || q.Need != 0 || len(q.By) != 8 {
		t.Errorf("needs %d more, approved by %q, %v", q.Need, q.By, err)
	}
	grants, err := o.Grants(t.Context())
	o.must(err)
	for i, g := range grants {
		if g.ID != fmt.Sprint("g", i+1) {
			t.Errorf("grant %d has the id %s", i, g.ID)
		}
	}
	if code := o.resume(asks(all), send("1.1")); code != "" {
		t.Errorf("ended with %q", code)
	}
}

func TestADeskThatWasAlteredAnswersNothing(t *testing.T) {
	o := waiting(t, large)
	o.must(o.answer("k7q2", ana, true))
	events, err := o.Store.Read(t.Context(), journal.DeskRun, 1)
	o.must(err)
	forged := newOffice(t, journal.NewMemory())
	events[1].Payload = json.RawMessage(strings.Replace(string(events[1].Payload), `"ana"`, `"eve"`, 1))
	o.must(forged.Store.Append(t.Context(), events, true))
	if _, err := forged.Approver(nil).Approve(t.Context(), gate.Question{Run: runID}); err == nil {
		t.Error("a grant that was altered is taken")
	}
	if code := forged.resume(asks(large), send("1.1")); code != "waiting" || forged.ran != nil {
		t.Errorf("ended with %q and ran %q", code, forged.ran)
	}
}

func TestRevoke(t *testing.T) {
	o := waiting(t, large)
	o.must(o.answer("k7q2", ana, false))
	o.must(o.answer("k7q2", ana, true))
	for _, test := range []struct {
		id   string
		by   Person
		want string
	}{
		{"g9", ana, "g9: there is no such grant"},
		{"g1", ana, "g1: it is a refusal: approve the question instead"},
		{"g2", Person{}, "g2: it is not known who revokes it"},
		{"g2", bob, ""},
		{"g2", ana, "g2: it was revoked before, by g3"},
		{"g3", ana, "g3: there is no such grant"},
	} {
		_, err := o.Revoke(t.Context(), test.id, test.by, "")
		if test.want == "" && err != nil || test.want != "" && (err == nil || err.Error() != test.want) {
			t.Errorf("revoke %s: got %v, want %q", test.id, err, test.want)
		}
	}
}
