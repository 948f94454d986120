package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callgate/builtins"
	"callgate/engine/eval"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

func TestAnAllowedCallIsRecordedThenRunThenRecorded(t *testing.T) {
	r := newRig(t, nil)
	res := r.do(read("1.1"))
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	wantTypes(t, r, journal.Decided, journal.CallStart, journal.CallResult)
	if got := r.calls(); !slices.Equal(got, []string{"mail.read 04.eml"}) {
		t.Errorf("ran %q", got)
	}
	body, _ := res.Value.Get("body")
	id, _ := res.Value.Get("id")
	wantLabel(t, "the body", body.Label, "untrusted/{ana,bob}#mail")
	wantLabel(t, "the id", id.Label, "internal/{ana,bob}")
	if got := body.Label.Explain(3); got != "mail.read 04.eml (body)" {
		t.Errorf("the body comes from %q", got)
	}
	ended := last[journal.CallEnded](r, journal.CallResult)
	if ended.Value == nil || ended.Value.LabelledDigest() != res.Value.LabelledDigest() {
		t.Errorf("the journal has %v, want the result with its labels", ended.Value)
	}
	if start := last[journal.CallStarted](r, journal.CallStart); start.Key != "run/1.1" || start.Tool != "mail.read" {
		t.Errorf("started %+v", start)
	}
}

func TestACallTakesTwoCommits(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Approver = ApproveAll{} })
	r.do(read("1.1"))
	r.Do(t.Context(), []eval.Call{read("1.2.1"), call("1.2.2", "t.none")})
	r.pdp.decide = always(asking(policies.Approval{Ask: "large"}))
	r.do(read("1.3"))
	r.pdp.decide = always(denial("no"))
	r.do(read("1.4"))
	want := []string{
		"run.start", "decision call.start sync", "call.result sync", "decision call.result call.start sync", "call.result sync",
		"decision sync", "approval sync", "call.start sync", "call.result sync", "decision",
	}
	if !slices.Equal(r.store.commits, want) {
		t.Errorf("commits %q, want %q", r.store.commits, want)
	}
}

func TestAResultCarriesArgumentsAndControlFlow(t *testing.T) {
	for _, test := range []struct {
		name    string
		arg, pc label.Label
		want    string // of the id, which the tool labels internal/{ana,bob}
	}{
		{"both trusted", trusted, trusted, "internal/{ana,bob}"},
		{"an untrusted argument", mailed, trusted, "untrusted/{ana,bob}"},
		{"an untrusted branch", trusted, mailed, "untrusted/{ana,bob}"},
		{"a private argument", private, trusted, "internal/{ana}#pii"},
		{"a private branch", trusted, private, "internal/{ana}#pii"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, nil)
			c := read("1.1")
			c.PC = test.pc
			c.Args[0].Value = value.StringOf("x", test.arg)
			id, _ := r.do(c).Value.Get("id")
			wantLabel(t, "the id", id.Label, test.want)
		})
	}
}

func TestADecisionThatReadsHistoryCarriesIt(t *testing.T) {
	r := newRig(t, nil)
	r.pdp.decide = func(q *policies.Request) (policies.Decision, error) {
		d := policies.Decision{Effect: policies.Allow, ReadHistory: true}
		if q.Call.Tool == "mail.send" {
			d.Effect = policies.Deny
		}
		return d, nil
	}
	first := read("1.1")
	first.PC = mailed
	r.do(first)
	id, _ := r.do(read("1.2")).Value.Get("id")
	wantLabel(t, "a later result", id.Label, "untrusted/{ana,bob}")
	wantLabel(t, "a later refusal", r.do(send("1.3", "x")).Err.Label, "untrusted/public")

	c := send("1.4", "x")
	c.History = private
	wantLabel(t, "a refusal after calls that the program made in private", r.do(c).Err.Label, "untrusted/{ana}#pii")
}

func TestARefusedCallDoesNotRun(t *testing.T) {
	leak := policies.Reason{ID: "flow.recipient", Policy: "flow", Engine: "flow", Message: "to[0]: " + secretText, Args: []string{"to[0]"}}
	for _, test := range []struct {
		name string
		d    policies.Decision
		err  error
		code string
		hint string
	}{
		{"for two rules", denial("mail.unknown", "hours.closed"), nil, "denied (hours.closed, mail.unknown)", "the same call will be refused again: go on without it"},
		{"for one rule twice", denial("mail.unknown", "mail.unknown"), nil, "denied (mail.unknown)", ""},
		{"by the flow rule", policies.Decision{Reasons: []policies.Reason{leak}}, nil, "denied (flow.recipient)", "take to from what the user wrote or from a trusted tool"},
		{"because no rule allows it", policies.Decision{}, nil, "denied (core.no-allow)", ""},
		{"because nothing applies", policies.Decision{Effect: policies.NotApplicable}, nil, "denied (core.no-allow)", ""},
		{"by a decision of no known effect", policies.Decision{Effect: 9}, nil, "denied (core.error)", ""},
		{"because the PDP failed", policies.Decision{Effect: policies.Allow}, errors.New(secretText), "denied (core.error)", ""},
		{"by an ask with nothing to ask", policies.Decision{Effect: policies.Ask}, nil, "denied (core.approval)", ""},
		{"by a rule whose id holds data", denial("x " + secretText + "!"), nil, "denied (rule)", ""},
		{"for more rules than it says", denial("a1", "a2", "a3", "a4", "a5", "a6", "a7"), nil, "denied (a1, a2, a3, a4, a5, a6, more)", ""},
		{"by a rule that is only audited", policies.Decision{Reasons: []policies.Reason{{ID: "audited", Audit: true}}}, nil, "denied (core.no-allow)", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.pdp.decide = func(*policies.Request) (policies.Decision, error) { return test.d, test.err }
			err := wantCode(t, r.do(send("1.1", secretText)), test.code)
			wantNoData(t, err, secretText)
			if strings.Contains(err.Text, secretText) {
				t.Errorf("text %q holds data", err.Text)
			}
			if !err.Deny || err.Final {
				t.Errorf("got %+v, want a refusal that can be caught", err)
			}
			if test.hint != "" && err.Hint != test.hint {
				t.Errorf("hint %q, want %q", err.Hint, test.hint)
			}
			if got := r.calls(); got != nil {
				t.Errorf("ran %q", got)
			}
			wantTypes(t, r, journal.Decided)
			made := last[journal.DecisionMade](r, journal.Decided)
			if made.Decision.Effect != policies.Deny || made.Binding == "" || len(made.Args) != 2 || made.Site.Line != 4 {
				t.Errorf("recorded %+v", made)
			}
		})
	}
}

func TestAPanicOfThePDPIsADenial(t *testing.T) {
	r := newRig(t, nil)
	r.pdp.decide = func(*policies.Request) (policies.Decision, error) { panic("rules") }
	wantCode(t, r.do(read("1.1")), "denied (core.error)")
	if got := r.calls(); got != nil {
		t.Errorf("ran %q", got)
	}
	if made := last[journal.DecisionMade](r, journal.Decided); !strings.Contains(made.Decision.Reasons[0].Message, "panicked: rules") {
		t.Errorf("recorded %+v, want the panic", made.Decision)
	}
}

func TestThePeopleSeeWhereAnOffendingValueCameFrom(t *testing.T) {
	r := newRig(t, nil)
	body, _ := r.do(read("1.1")).Value.Get("body")
	r.pdp.decide = always(policies.Decision{Reasons: []policies.Reason{
		{ID: "flow.recipient", Engine: "flow", Args: []string{"to[0]"}},
		{ID: "flow.control", Engine: "flow", Args: []string{"pc"}},
		{ID: "none", Args: []string{"not.there"}},
	}})
	c := call("1.2", "mail.send", "body", "hello")
	c.PC = body.Label
	c.Args = append(c.Args, eval.Arg{Name: "to", Value: value.ListOf(trusted, body)})
	err := wantCode(t, r.do(c), "denied (flow.control, flow.recipient, none)")
	if want := "do not make the call depend on what is not trusted: endorse the condition, a bool, first; take to from what the user wrote or from a trusted tool"; err.Hint != want {
		t.Errorf("hint %q, want %q", err.Hint, want)
	}
	origins := last[journal.DecisionMade](r, journal.Decided).Origins
	if len(origins) != 2 || origins["to[0]"] != "mail.read 04.eml (body)" || origins["pc"] != "mail.read 04.eml (body)" {
		t.Errorf("origins %q, want mail.read 04.eml (body) for to[0] and for pc", origins)
	}
}

func TestDeniedNotGrantedAndNoSuchToolAreThreeAnswers(t *testing.T) {
	r := newRig(t, nil)
	r.pdp.decide = always(denial("mail.never"))
	denied := wantCode(t, r.do(send("1.1", "x")), "denied (mail.never)")
	hidden := value.StringOf(secretText, mailed)
	other := wantCode(t, r.do(call("1.2", "shell.run", "argv", hidden)), "not-granted")
	none := wantCode(t, r.do(call("1.3", "mail.sned", "to", hidden)), "no-such-tool")
	if !denied.Deny || !other.Deny || none.Deny {
		t.Errorf("refusals %t, %t, %t; want the third to be a mistake of the program", denied.Deny, other.Deny, none.Deny)
	}
	if none.Hint != "did you mean mail.send" {
		t.Errorf("hint %q", none.Hint)
	}
	if odd := r.do(call("1.4", "weather")); odd.Err.Hint != "there is mail.read, mail.send" {
		t.Errorf("hint %q", odd.Err.Hint)
	}
	for _, e := range []*eval.CallError{denied, other, none} {
		wantNoData(t, e, secretText)
		wantLabel(t, e.Code, e.Label, "user/public") // whether there is such a tool does not depend on the arguments
	}
	wantTypes(t, r, journal.Decided, journal.Decided, journal.CallResult, journal.CallResult)
	if len(r.pdp.requests) != 1 {
		t.Errorf("the PDP was asked %d times, want once: for the tool that is granted", len(r.pdp.requests))
	}
}

func TestWrongArgumentsAreAMistakeOfTheProgram(t *testing.T) {
	r := newRig(t, nil)
	c := call("1.1", "mail.read", "idd", "x")
	c.Args = append(c.Args, eval.Arg{Name: "id", Value: value.IntOf(4, mailed)})
	err := wantCode(t, r.do(c), "bad-argument")
	if err.Deny || err.Final {
		t.Errorf("got %+v, want an ordinary error", err)
	}
	wantLabel(t, "the error", err.Label, "untrusted/public")
	if !strings.Contains(err.Text, "id: got int, want string") || !strings.Contains(err.Text, "idd: unknown") || strings.Contains(err.Text, "mail.read: mail.read: ") {
		t.Errorf("text %q, want both problems, and each with the tool's name once", err.Text)
	}
	if len(r.pdp.requests) != 0 || r.calls() != nil {
		t.Errorf("decided %d times and ran %q, want neither", len(r.pdp.requests), r.calls())
	}
	wantTypes(t, r, journal.CallResult)
}

func TestWithoutARecordNothingIsDone(t *testing.T) {
	for _, test := range []struct {
		name string
		fail journal.Type
		ran  int
	}{
		{"the decision cannot be recorded", journal.Decided, 0},
		{"the start cannot be recorded", journal.CallStart, 0},
		{"the result cannot be recorded", journal.CallResult, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.store.refuse = func(e journal.Event) bool { return e.Type == test.fail }
			batch := r.Do(t.Context(), []eval.Call{read("1.1")})
			err := wantCode(t, batch[0], "journal")
			if !err.Final || err.Deny || err.Wait {
				t.Errorf("got %+v, want an end of the program", err)
			}
			if !errors.Is(r.Err(), errDisk) {
				t.Errorf("Err() = %v, want %v", r.Err(), errDisk)
			}
			r.store.refuse = func(journal.Event) bool { return false } // too late
			wantCode(t, r.do(read("1.2")), "journal")
			grant := call("1.3", "endorse", "value", true, "trust", "user")
			grant.Kind = eval.KindEndorse
			wantCode(t, r.do(grant), "journal")
			if _, err := r.Observe(t.Context(), "x", 1, value.IntOf(1, trusted), trusted); err == nil {
				t.Error("a value was shown")
			}
			if _, err := r.Program(t.Context(), Start{}); err == nil {
				t.Error("a program may start")
			}
			if got := r.calls(); len(got) != test.ran {
				t.Errorf("ran %q, want %d", got, test.ran)
			}
		})
	}
}

func TestABatchOfWhichOneDecisionIsNotRecordedDoesNotRun(t *testing.T) {
	r := newRig(t, nil)
	r.store.refuse = func(e journal.Event) bool { return e.Type == journal.Decided && e.Call == "1.2" }
	for i, res := range r.Do(t.Context(), []eval.Call{read("1.1"), read("1.2"), read("1.3")}) {
		if res.Err == nil || !res.Err.Final {
			t.Errorf("call %d: got %v, want the end of the program", i, res)
		}
	}
	if got := r.calls(); got != nil {
		t.Errorf("ran %q", got)
	}
}

func TestAToolThatFails(t *testing.T) {
	long := strings.Repeat("ä", maxText)
	for _, test := range []struct {
		name string
		run  func(context.Context, *builtins.Invocation) (any, error)
		code string
		text string // that the program sees
		only string // what only people see
	}{
		{"with a code", func(context.Context, *builtins.Invocation) (any, error) {
			return nil, fmt.Errorf("deeper: %w", &builtins.Error{Code: "not-found", Text: "no mail 7"})
		}, "not-found", "t.x: deeper: no mail 7", ""},
		{"without one", func(context.Context, *builtins.Invocation) (any, error) {
			return "half a result " + secretText, errors.New("connection reset")
		}, "failed", "t.x: connection reset", ""},
		{"with data in its code", func(context.Context, *builtins.Invocation) (any, error) {
			return nil, &builtins.Error{Code: "no " + secretText, Text: "gone"}
		}, "failed", "t.x: gone", ""},
		{"by a panic", func(context.Context, *builtins.Invocation) (any, error) { panic(secretText) }, "tool-panic", "t.x: the tool panicked", "act.go"},
		{"with a long text", func(context.Context, *builtins.Invocation) (any, error) { return nil, errors.New(long) }, "failed", "t.x: " + long[:maxText] + "…", ""},
		{"with a result of the wrong type", func(context.Context, *builtins.Invocation) (any, error) {
			return map[string]any{secretText: 1}, nil
		}, "bad-result", "t.x: the result is not what the tool declares", "got dict, want int"},
		{"with a result that is no plain data", func(context.Context, *builtins.Invocation) (any, error) {
			return make(chan int), nil
		}, "bad-result", "t.x: the result is not what the tool declares", "chan int"},
	} {
		t.Run(test.name, func(t *testing.T) {
			bad := tool("t.x", test.run)
			bad.Returns = []byte(`{"type": "integer"}`)
			bad.Label.Fields = []builtins.FieldSource{{Path: ".body", Class: label.New(label.Untrusted, label.Only("ana"), nil)}}
			r := newRig(t, nil, bad)
			c := call("1.1", "t.x")
			c.PC = trusted.WithTags("branch")
			res := r.do(c)
			err := wantCode(t, res, test.code)
			if err.Text != test.text {
				t.Errorf("text %q, want %q", err.Text, test.text)
			}
			if err.Deny || err.Final {
				t.Errorf("got %+v, want an ordinary error", err)
			}
			if res.Value.Kind != value.Invalid || strings.Contains(err.Text+err.Code+err.Hint, secretText) {
				t.Errorf("something of the result leaks: %v, %+v", res.Value.Text(), err)
			}
			wantLabel(t, "the error", err.Label, "untrusted/{ana}#branch")
			wantTypes(t, r, journal.Decided, journal.CallStart, journal.CallResult)
			ended := last[journal.CallEnded](r, journal.CallResult)
			if ended.Code != test.code || ended.Value != nil || !strings.Contains(ended.Text, test.only) {
				t.Errorf("recorded %+v, want code %s and %q", ended, test.code, test.only)
			}
			if got := r.Counts(); got.Failed != 1 || got.Allowed != 1 {
				t.Errorf("counts %+v", got)
			}
		})
	}
}

func TestAResultThatIsTooLargeIsAnError(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Limits.Result = 1000 }, tool("t.x", func(context.Context, *builtins.Invocation) (any, error) {
		return []string{strings.Repeat("x", 900), "y", "z"}, nil
	}), tool("t.y", func(context.Context, *builtins.Invocation) (any, error) {
		return []string{strings.Repeat("x", 900), "y"}, nil
	}))
	if res := r.do(call("1.1", "t.y")); res.Err != nil {
		t.Error(res.Err)
	}
	r.cfg.Limits.Result = 900
	wantCode(t, r.do(call("1.2", "t.x")), "bad-result")
}

func TestAToolThatTakesTooLong(t *testing.T) {
	for _, test := range []struct {
		name  string
		run   func(context.Context) error
		text  string
		taken time.Duration
	}{
		{"and stops when told", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, "t.x: not done within 5s", 5 * time.Second},
		{"and stops late", func(ctx context.Context) error { time.Sleep(6 * time.Second); return errors.New("oh") }, "t.x: not done within 5s", 6 * time.Second},
		{"and does not stop", func(ctx context.Context) error { time.Sleep(time.Minute); return nil }, "t.x: not done within 5s; it did not stop, and what it does is not known", 7 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := tool("t.x", func(ctx context.Context, _ *builtins.Invocation) (any, error) { return 1, test.run(ctx) })
				slow.Timeout = 5 * time.Second
				r := newRig(t, nil, slow)
				begin := time.Now()
				err := wantCode(t, r.do(call("1.1", "t.x")), "timeout")
				if err.Text != test.text || err.Final {
					t.Errorf("got %+v, want %q", err, test.text)
				}
				if got := time.Since(begin); got != test.taken {
					t.Errorf("took %s, want %s", got, test.taken)
				}
				if ended := last[journal.CallEnded](r, journal.CallResult); ended.Code != "timeout" {
					t.Errorf("recorded %+v", ended)
				}
				time.Sleep(time.Hour) // for what was left behind
			})
		})
	}
}

func TestAToolThatIsDoneInTheLastMomentHasSucceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := tool("t.x", func(ctx context.Context, _ *builtins.Invocation) (any, error) { <-ctx.Done(); return "done", nil })
		r := newRig(t, nil, slow)
		if res := r.do(call("1.1", "t.x")); res.Err != nil || res.Value.Str != "done" {
			t.Errorf("got %v, %v: its effect has happened", res.Value.Text(), res.Err)
		}
	})
}

func TestACancelledCallIsRecordedAndEndsTheProgram(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := newRig(t, nil, tool("t.x", func(ctx context.Context, _ *builtins.Invocation) (any, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	out := r.Do(ctx, []eval.Call{call("1.1", "t.x")})
	if err := wantCode(t, out[0], "cancelled"); !err.Final {
		t.Errorf("got %+v, want the end of the program", err)
	}
	wantTypes(t, r, journal.Decided, journal.CallStart, journal.CallResult)
	out = r.Do(ctx, []eval.Call{read("1.2")})
	wantCode(t, out[0], "cancelled")
	if r.calls() != nil {
		t.Errorf("ran %q", r.calls())
	}
	if r.Err() != nil {
		t.Errorf("Err() = %v: the journal works", r.Err())
	}
}

func TestACallThatWasCancelledBeforeItsTurnDoesNotRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := newRig(t, func(c *Config) { c.Limits.Parallel = 1 }, tool("t.x", func(ctx context.Context, _ *builtins.Invocation) (any, error) {
		cancel()
		return "done", nil
	}))
	out := r.Do(ctx, []eval.Call{call("1.1.1", "t.x"), read("1.1.2")})
	if out[0].Err != nil {
		t.Errorf("the first: %v, want what it has done", out[0].Err)
	}
	if err := wantCode(t, out[1], "cancelled"); !strings.Contains(err.Text, "before it began") {
		t.Errorf("text %q", err.Text)
	}
	if r.calls() != nil {
		t.Errorf("ran %q", r.calls())
	}
}

func TestABatchIsDecidedInOrderAndExecutedTogether(t *testing.T) {
	var meet sync.WaitGroup
	meet.Add(3)
	r := newRig(t, nil, tool("t.meet", func(context.Context, *builtins.Invocation) (any, error) {
		meet.Done()
		meet.Wait() // returns only if all three run at once
		return nil, nil
	}))
	r.pdp.decide = func(q *policies.Request) (policies.Decision, error) {
		if q.Call.ID == "1.1.2" {
			return denial("second"), nil
		}
		return allowing(), nil
	}
	out := r.Do(t.Context(), []eval.Call{call("1.1.1", "t.meet"), call("1.1.2", "t.meet"), call("1.1.3", "t.meet"), call("1.1.4", "t.none"), call("1.1.5", "t.meet")})
	var codes []string
	for _, res := range out {
		code := "ok"
		if res.Err != nil {
			code = res.Err.Code
		}
		codes = append(codes, code)
	}
	if want := []string{"ok", "denied (second)", "ok", "no-such-tool", "ok"}; !slices.Equal(codes, want) {
		t.Errorf("results %q, want %q", codes, want)
	}
	var ids []string
	for _, q := range r.pdp.requests {
		ids = append(ids, fmt.Sprint(q.Call.ID, " ", q.History.Count["t.meet"]))
	}
	if want := []string{"1.1.1 0", "1.1.2 1", "1.1.3 1", "1.1.5 2"}; !slices.Equal(ids, want) {
		t.Errorf("decided %q, want %q: each sees those before it", ids, want)
	}
	var events []string
	for _, e := range r.events()[:8] {
		events = append(events, e.Call+" "+string(e.Type))
	}
	if want := []string{"1.1.1 decision", "1.1.2 decision", "1.1.3 decision", "1.1.4 call.result", "1.1.5 decision", "1.1.1 call.start", "1.1.3 call.start", "1.1.5 call.start"}; !slices.Equal(events, want) {
		t.Errorf("events %q, want %q", events, want)
	}
}

func TestABatchRunsSoManyCallsAtATime(t *testing.T) {
	var mu sync.Mutex
	now, most := 0, 0
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.Limits.Parallel = 2 }, tool("t.x", func(context.Context, *builtins.Invocation) (any, error) {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			now--
			mu.Unlock()
			return nil, nil
		}))
		var calls []eval.Call
		for i := range 6 {
			calls = append(calls, call(fmt.Sprint("1.1.", i), "t.x"))
		}
		begin := time.Now()
		for _, res := range r.Do(t.Context(), calls) {
			if res.Err != nil {
				t.Error(res.Err)
			}
		}
		if took := time.Since(begin); most != 2 || took != 3*time.Second {
			t.Errorf("%d at a time in %s, want 2 in 3s", most, took)
		}
	})
}

func TestACallThatWaitsKeepsNoOtherFromBeingMade(t *testing.T) {
	r := newRig(t, nil)
	r.pdp.decide = func(q *policies.Request) (policies.Decision, error) {
		if q.Call.ID == "1.1.2" || q.Call.ID == "1.1.4" {
			return policies.Decision{Effect: policies.Ask, Approvals: []policies.Approval{{Ask: "large", Policy: "p", Count: 1}}}, nil
		}
		return allowing(), nil
	}
	out := r.Do(t.Context(), []eval.Call{read("1.1.1"), send("1.1.2", "x"), send("1.1.3", "y"), send("1.1.4", "z")})
	if out[0].Err != nil || out[2].Err != nil {
		t.Errorf("the first and the third: got %v, %v", out[0].Err, out[2].Err)
	}
	for _, i := range []int{1, 3} {
		if err := wantCode(t, out[i], "waiting"); !err.Wait {
			t.Errorf("got %+v, want to wait", err)
		}
	}
	if calls := r.calls(); len(calls) != 2 {
		t.Errorf("ran %q, want two", calls)
	}
	if len(r.Waiting()) != 2 {
		t.Errorf("waits for %d answers, want 2", len(r.Waiting()))
	}
}

func TestACallThatEndsTheProgramEndsItsBatchButNotWhatCameBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := newRig(t, nil)
	r.pdp.decide = func(q *policies.Request) (policies.Decision, error) {
		if q.Call.ID == "1.1.2" {
			cancel()
		}
		return allowing(), nil
	}
	out := r.Do(ctx, []eval.Call{read("1.1.1"), send("1.1.2", "x"), send("1.1.3", "y")})
	wantCode(t, out[1], "cancelled")
	if err := wantCode(t, out[2], "stopped"); !err.Final {
		t.Errorf("got %+v, want the end of the program", err)
	}
	if ids := r.pdp.requests; len(ids) != 2 {
		t.Errorf("%d were decided, want 2", len(ids))
	}
}

func TestPureBuiltinsAreDecidedByNameAndLabel(t *testing.T) {
	r := newRig(t, nil)
	r.pdp.decide = func(q *policies.Request) (policies.Decision, error) {
		if q.Call.Tool == "json.decode" && q.Labels.Args[0].Label.Trust() < label.Internal {
			return denial("no-parsing"), nil
		}
		return allowing(), nil
	}
	pure := func(id, name string, l label.Label) eval.Call {
		return eval.Call{ID: id, Kind: eval.KindBuiltin, Tool: name, PC: trusted, Args: []eval.Arg{{Name: "value", Value: value.StringOf(secretText, l)}}}
	}
	if res := r.do(pure("1.1", "len", mailed)); res.Err != nil {
		t.Error(res.Err)
	}
	wantTypes(t, r)
	wantCode(t, r.do(pure("1.2", "json.decode", mailed)), "denied (no-parsing)")
	wantTypes(t, r, journal.Decided)
	if made := last[journal.DecisionMade](r, journal.Decided); strings.Contains(string(r.events()[0].Payload), secretText) || made.Kind != "builtin" {
		t.Errorf("recorded %s, want no data", r.events()[0].Payload)
	}
	q := r.pdp.requests[0]
	if q.Call.Kind != "builtin" || len(q.Call.Effects) != 0 || len(q.Leaves) != 2 || q.Leaves[0].Value != nil {
		t.Errorf("asked about %+v with leaves %+v", q.Call, q.Leaves)
	}
	if got := r.Counts().Builtins; got["len"] != 1 || got["json.decode"] != 0 {
		t.Errorf("counted %v", got)
	}
}

func TestBuiltinsAreForgottenWhenPoliciesOrWhatTheyReadChange(t *testing.T) {
	r := newRig(t, nil)
	pure := eval.Call{ID: "1.1", Kind: eval.KindBuiltin, Tool: "len", PC: trusted, History: label.Bottom()}
	if r.do(pure).Forget || r.do(read("1.2")).Forget {
		t.Error("forgets without a reason")
	}
	r.pdp.set("sha256:2")
	if !r.do(pure).Forget || r.do(pure).Forget {
		t.Error("want to forget once after the policies changed")
	}
	r.pdp.decide = always(policies.Decision{Effect: policies.Allow, ReadHistory: true})
	if r.do(pure).Forget {
		t.Error("forgets though no history has changed")
	}
	if !r.do(read("1.3")).Forget || r.do(read("1.4")).Forget {
		t.Error("want to forget once after a call, because a rule on a builtin read history")
	}
}

func TestACallOfAnUnknownKindIsRefused(t *testing.T) {
	r := newRig(t, nil)
	c := read("1.1")
	c.Kind = "magic"
	wantCode(t, r.do(c), "denied (core.not-granted)")
	if r.calls() != nil || len(r.pdp.requests) != 0 {
		t.Error("it was decided or ran")
	}
}

func TestTheAnswerIsACall(t *testing.T) {
	r := newRig(t, nil)
	done := func(id string, v value.Value) eval.Call {
		return eval.Call{ID: id, Kind: eval.KindAnswer, Tool: "done", PC: trusted, History: label.Bottom(), Args: []eval.Arg{{Name: "value", Value: v}}}
	}
	if _, ok := r.Answer(); ok {
		t.Error("there is an answer before there is one")
	}
	if res := r.do(done("1.1", value.StringOf("all paid", mailed))); res.Err != nil {
		t.Fatal(res.Err)
	}
	answer, ok := r.Answer()
	if !ok || answer.Str != "all paid" {
		t.Errorf("answer %v", answer.Text())
	}
	wantLabel(t, "the answer", answer.Label, "untrusted/public")
	if q := r.pdp.requests[0]; q.Call.Kind != "answer" || q.Call.Tool != "answer" || q.Leaves[0].Sink != policies.SinkContent {
		t.Errorf("asked about %+v", q.Call)
	}
	r.pdp.decide = always(denial("no"))
	wantCode(t, r.do(done("1.2", value.StringOf("other", trusted))), "denied (no)")
	if answer, _ := r.Answer(); answer.Str != "all paid" {
		t.Errorf("answer %v after one that was refused", answer.Text())
	}
	wantCode(t, r.do(eval.Call{ID: "1.3", Kind: eval.KindAnswer, Tool: "done", PC: trusted, Args: []eval.Arg{{Name: "x"}}}), "bad-argument")
}
