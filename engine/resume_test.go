package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/engine/eval"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// stopAt runs programs until an append that is not stored.
func stopAt(t *testing.T, w *world, store journal.Store, left int, turns ...string) {
	t.Helper()
	d := &dying{Store: store, left: left}
	s, err := begin(t.Context(), w.clerk(t, d), d)
	if err == nil {
		err = drive(t.Context(), s, turns)
	}
	if !errors.Is(err, errKilled) {
		t.Fatalf("got %v, want to be stopped at append %d", err, left)
	}
}

// goOn goes on with the run of an engine.
func goOn(t *testing.T, e *Engine, a Again, turns ...string) error {
	t.Helper()
	a.Run = shopRun
	s, err := e.Resume(t.Context(), a)
	if err != nil {
		return err
	}
	return drive(t.Context(), s, turns)
}

const puts = "shop.put(key = 'a', text = '1')\nshop.put(key = 'b', text = '2')\ndone('ok')\n"

func TestWhatHasChangedSinceARunBegan(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Engine)
		want   string // of the error; "": it goes on
		matter bool
	}{
		{"nothing", func(*Engine) {}, "", false},
		{"the agent's file", func(e *Engine) { e.cfg.Digest = "sha256:2" }, "since it began the agent's file has changed", true},
		{"a tool", func(e *Engine) { e.schemas["shop.put"] = "sha256:2" }, "since it began the tool shop.put has changed: its parameters, effects or labels", true},
		{"a tool that is gone", func(e *Engine) { delete(e.schemas, "shop.put") }, "since it began the tool shop.put is gone", true},
		{"a new tool", func(e *Engine) { e.schemas["shop.new"] = "sha256:2" }, "since it began the tool shop.new is new", true},
		{"for whom it acts", func(e *Engine) { e.cfg.Principal.Sub = "" }, "since it began it would act for nobody, and acted for ana", true},
		{"the policies", func(e *Engine) { e.cfg.PDP = shopRules{"sha256:2"} }, "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			w, store := new(world), journal.NewMemory()
			stopAt(t, w, store, 7, puts)
			e := w.clerk(t, store)
			test.change(e)
			err := goOn(t, e, Again{}, puts)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			if test.matter {
				if err := goOn(t, e, Again{Accept: func([]Change) error { return nil }}, puts); err != nil {
					t.Errorf("accepted: %v", err)
				}
			}
			if got := strings.Join(w.lines, ","); got != "shop/1.1 put a 1,shop/1.2 put b 2" {
				t.Errorf("got effects %s", got)
			}
		})
	}
}

// TestAnotherLanguageRefusesARun goes on with a run that another version of the language began.
func TestAnotherLanguageRefusesARun(t *testing.T) {
	store := journal.NewMemory()
	run, err := journal.Begin(t.Context(), store, shopRun, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := new(world).clerk(t, store)
	if _, err := run.Append(t.Context(), journal.RunStart, "", journal.RunStarted{Language: "callgate-starlark/0", Agent: "clerk", Schemas: e.schemas}, true); err != nil {
		t.Fatal(err)
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	err = goOn(t, e, Again{Accept: func([]Change) error { return nil }}, puts)
	if _, changed := errors.AsType[*ChangedError](err); !changed || !strings.Contains(err.Error(), "from callgate-starlark/0: its programs cannot be run again") {
		t.Errorf("got %v, want that the language has changed, whatever is accepted", err)
	}
}

// TestTwoGoOnWithOneRun lets a second one go on with a run while the first is at it.
func TestTwoGoOnWithOneRun(t *testing.T) {
	w, store := new(world), journal.NewMemory()
	stopAt(t, w, store, 7, puts)
	first, err := w.clerk(t, store).Resume(t.Context(), Again{Run: shopRun, By: "ana"})
	if err != nil {
		t.Fatal(err)
	}
	err = goOn(t, w.clerk(t, store), Again{By: "ben"}, puts)
	if held, ok := errors.AsType[*journal.HeldError](err); !ok || held.Holder.Who != "ana" {
		t.Errorf("got %v, want that ana is at it", err)
	}
	if err := drive(t.Context(), first, []string{puts}); err != nil {
		t.Error(err)
	}
}

// TestAnotherProgramIsNotGoneOnWith resumes a run with programs that do something else.
func TestAnotherProgramIsNotGoneOnWith(t *testing.T) {
	w, store := new(world), journal.NewMemory()
	stopAt(t, w, store, 7, puts)
	before, _ := store.Read(t.Context(), shopRun, 1)
	s, err := w.clerk(t, store).Resume(t.Context(), Again{Run: shopRun})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	author := s.Gate().Context().WithSources(label.Source{Tool: "model", Of: "turn 1"})
	if _, err := s.Reply(t.Context(), author, nil); err != nil {
		t.Fatal(err)
	}
	_, err = s.Exec(t.Context(), Program{File: "turn1.star", Text: strings.Replace(puts, "1", "9", 1), Author: author})
	d, ok := errors.AsType[*journal.DivergedError](err)
	if !ok || d.Type != journal.TurnStart || d.Field != "program" {
		t.Errorf("got %v, want that the program is another", err)
	}
	if strings.Contains(err.Error(), "shop.put") {
		t.Errorf("the error holds data: %v", err)
	}
	if after, _ := store.Read(t.Context(), shopRun, 1); len(after) != len(before) {
		t.Errorf("%d events, want the %d that there were", len(after), len(before))
	}
}

// nobody answers no question.
type nobody struct{}

func (nobody) Approve(context.Context, gate.Question) (gate.Verdict, error) {
	return gate.Verdict{}, nil
}

// TestACallThatHadBegunWaitsForAPerson goes on with a run that was stopped when the result of a call that cannot be made again was to
// be stored, as it is when a disk is full: the effect has happened.
func TestACallThatHadBegunWaitsForAPerson(t *testing.T) {
	text := "r = attempt(shop.charge, i = 1)\ndone(r.code)\n"
	for _, test := range []struct {
		name     string
		approver gate.Approver
		status   string
		effects  int
		answer   string
	}{
		{"nobody is there", nobody{}, Waiting, 1, ""},
		{"who is nobody in particular does not count", gate.ApproveAll{By: "--approve all"}, Waiting, 1, ""},
		{"it had its effect", nil, Done, 1, "interrupted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w, store := new(world), journal.NewMemory()
			stopAt(t, w, store, 6, text)
			if len(w.lines) != 1 {
				t.Fatalf("got effects %v, want one", w.lines)
			}
			for range 2 { // what waits can be gone on with
				e := w.clerk(t, store)
				if test.approver != nil {
					e.cfg.Approver = test.approver
				}
				if err := goOn(t, e, Again{}, text); err != nil && !errors.Is(err, journal.ErrEnded) {
					t.Fatal(err)
				}
			}
			if len(w.lines) != test.effects {
				t.Errorf("got effects %v, want %d", w.lines, test.effects)
			}
			events, err := store.Read(t.Context(), shopRun, 1)
			if err != nil {
				t.Fatal(err)
			}
			end, err := journal.Decode[journal.RunEnded](events[len(events)-1])
			if err != nil || end.Status != test.status || end.Answer != nil && end.Answer.Str != test.answer {
				t.Errorf("got %+v, %v; want %s and %q", end, err, test.status, test.answer)
			}
		})
	}
}

// half approves once and then waits.
type half struct{ asked int }

func (h *half) Approve(_ context.Context, q gate.Question) (gate.Verdict, error) {
	if h.asked++; len(q.By) == 0 {
		return gate.Verdict{Outcome: gate.Approved, By: "ben"}, nil
	}
	return gate.Verdict{}, nil
}

// TestAnApprovalThatWasGivenCounts asks two people, of whom one answers before the run waits and the other after.
func TestAnApprovalThatWasGivenCounts(t *testing.T) {
	w, store := new(world), journal.NewMemory()
	text := "shop.pay(to = 'v', amount = 70)\ndone('paid')\n"
	e := w.clerk(t, store)
	e.cfg.Approver = new(half)
	s, err := begin(t.Context(), e, store)
	if err == nil {
		err = drive(t.Context(), s, []string{text})
	}
	if err != nil {
		t.Fatal(err)
	}
	second := &half{}
	e = w.clerk(t, store)
	e.cfg.Approver = second
	if err := goOn(t, e, Again{}, text); err != nil {
		t.Fatal(err)
	}
	if second.asked != 1 || len(w.lines) != 0 {
		t.Errorf("asked %d times, effects %v; want the one question that is left, and no effect", second.asked, w.lines)
	}
	if err := goOn(t, w.clerk(t, store), Again{}, text); err != nil || len(w.lines) != 1 {
		t.Errorf("effects %v, %v; want one", w.lines, err)
	}
}

// hurried is a PDP whose asks are open for an hour.
type hurried struct{ shopRules }

func (p hurried) Decide(ctx context.Context, r *policies.Request) (policies.Decision, error) {
	d, err := p.shopRules.Decide(ctx, r)
	for i := range d.Approvals {
		d.Approvals[i].TTL = time.Hour
	}
	return d, err
}

// TestAnApprovalDoesNotOutliveItsTime goes on with a run that waits for a second person, again and again: the first one's approval, which is recorded anew
// each time, ends when it would have.
func TestAnApprovalDoesNotOutliveItsTime(t *testing.T) {
	w, store := new(world), journal.NewMemory()
	text := "shop.pay(to = 'v', amount = 70)\ndone('paid')\n"
	now := time.Now()
	for i, want := range []int{2, 1, 1, 2} { // how often somebody is asked: both, the second one, and in the end both again
		who := new(half)
		e := w.clerk(t, store)
		e.cfg.PDP, e.cfg.Approver, e.cfg.Clock = hurried{shopRules{"sha256:1"}}, who, func() time.Time { return now }
		s, err := begin(t.Context(), e, store)
		if err == nil {
			err = drive(t.Context(), s, []string{text})
		}
		if err != nil || who.asked != want || len(w.lines) != 0 {
			t.Fatalf("time %d: asked %d times, effects %v, %v; want %d and none", i, who.asked, w.lines, err, want)
		}
		now = now.Add(25 * time.Minute)
	}
}

// TestReplaysAreTheSame goes over runs again for their comparison alone: of one that has ended, of one that was broken off, and of one whose
// programs were ended by the clock and by cancellation.
func TestReplaysAreTheSame(t *testing.T) {
	replay := func(t *testing.T, w *world, store journal.Store, turns ...string) {
		t.Helper()
		effects := len(w.lines)
		s, err := w.clerk(t, store).Resume(t.Context(), Again{Run: shopRun, Only: true})
		if err == nil {
			err = drive(t.Context(), s, turns)
		}
		if err != nil && !errors.Is(err, journal.ErrPast) {
			t.Fatal(err)
		}
		met, all, differences := s.Compared()
		if met != all || len(differences) > 0 || len(w.lines) != effects {
			t.Errorf("met %d of %d events, with %v; %d effects more", met, all, differences, len(w.lines)-effects)
		}
	}
	turns := []string{shopTurns[0], shopTurns[1], "done(total)\n"}
	t.Run("ended", func(t *testing.T) {
		w, store := new(world), journal.NewMemory()
		s, err := begin(t.Context(), w.clerk(t, store), store)
		if err == nil {
			err = drive(t.Context(), s, turns)
		}
		if err != nil {
			t.Fatal(err)
		}
		replay(t, w, store, turns...)
	})
	t.Run("broken off", func(t *testing.T) {
		w, store := new(world), journal.NewMemory()
		stopAt(t, w, store, 40, turns...)
		replay(t, w, store, turns...)
	})
	endless := "x = 0\nwhile True: x += 1\n"
	t.Run("ended by the clock", func(t *testing.T) {
		w, store := new(world), journal.NewMemory()
		e := w.clerk(t, store)
		e.cfg.Limits = eval.Limits{Wall: 20 * time.Millisecond, Steps: 1e12}
		s, err := begin(t.Context(), e, store)
		if err == nil {
			err = drive(t.Context(), s, []string{endless, "shop.put(key = 'x', text = str(x))\ndone(x)"})
		}
		if err != nil {
			t.Fatal(err)
		}
		replay(t, w, store, endless, "shop.put(key = 'x', text = str(x))\ndone(x)")
	})
	t.Run("cancelled", func(t *testing.T) {
		w, store := new(world), journal.NewMemory()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		e := w.clerk(t, store)
		e.cfg.Watch = func(ev journal.Event) {
			if ev.Type == journal.CallResult {
				cancel()
			}
		}
		text := "shop.put(key = 'x', text = '1')\n" + endless
		s, err := begin(ctx, e, store)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		author := s.Gate().Context().WithSources(label.Source{Tool: "model", Of: "turn 1"})
		if _, err := s.Reply(ctx, author, func(context.Context) (journal.ModelReplied, error) {
			return journal.ModelReplied{Model: "m", Text: text}, nil
		}); err != nil {
			t.Fatal(err)
		}
		out, err := s.Exec(ctx, Program{File: "turn1.star", Text: text, Author: author})
		if err != nil || out.Status != eval.Cancelled {
			t.Fatalf("got %v, %v; want cancelled", out.Status, err)
		}
		replay(t, w, store, text)
	})
}

// TestASecretInputIsGivenAgain goes on with a run whose input no journal holds.
func TestASecretInputIsGivenAgain(t *testing.T) {
	w, store := new(world), journal.NewMemory()
	text := "n = len(pin)\nshop.put(key = 'n', text = str(n))\ndone('ok')\n"
	pin := journal.Input{Name: "pin", Value: value.StringOf("1234", label.New(label.User, label.Public(), []string{journal.SecretTag}))}
	d := &dying{Store: store, left: 5}
	s, err := w.clerk(t, d).Start(t.Context(), Run{ID: shopRun, Inputs: []journal.Input{pin}, Context: label.New(label.User, label.Public(), nil)})
	if err == nil {
		err = drive(t.Context(), s, []string{text})
	}
	if !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	if err := goOn(t, w.clerk(t, store), Again{}, text); err == nil || !strings.Contains(err.Error(), `input "pin" is secret`) {
		t.Errorf("got %v, want that the input must be given again", err)
	}
	if err := goOn(t, w.clerk(t, store), Again{Secret: map[string]string{"pin": "1234"}}, text); err != nil || len(w.lines) != 1 {
		t.Errorf("got %v, effects %v", err, w.lines)
	}
}

// turning is a PDP whose policies change after some decisions.
type turning struct {
	shopRules
	left int
}

func (p *turning) Revision() string {
	if p.left > 0 {
		return "sha256:1"
	}
	return "sha256:2"
}

func (p *turning) Decide(ctx context.Context, r *policies.Request) (policies.Decision, error) {
	p.left--
	d, err := p.shopRules.Decide(ctx, r)
	d.Revision = p.Revision()
	return d, err
}

// TestPoliciesChangeInsideARunThatIsStopped stops a run after its policies have changed: what was decided before and after stays so.
func TestPoliciesChangeInsideARunThatIsStopped(t *testing.T) {
	run := func(left int) (*world, journal.Store) {
		w, store := new(world), journal.NewMemory()
		d := &dying{Store: store, left: left}
		e := w.clerk(t, d)
		e.cfg.PDP = &turning{left: 20}
		s, err := begin(t.Context(), e, d)
		if err == nil {
			err = drive(t.Context(), s, shopTurns)
		}
		if left < 0 && err != nil || left > 0 && !errors.Is(err, errKilled) {
			t.Fatalf("stopped at append %d: %v", left, err)
		}
		return w, store
	}
	w, store := run(-1)
	events, err := store.Read(t.Context(), shopRun, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(events, func(e journal.Event) bool { return e.Type == journal.Reloaded }) {
		t.Fatal("the policies did not change")
	}
	want := story{w.lines, meaning(t, events, false), meaning(t, events, true), false}
	for _, left := range []int{60, 61, 62, 63, 64, 150} {
		w, store := run(left)
		e := w.clerk(t, store)
		e.cfg.PDP = shopRules{"sha256:2"}
		if err := goOn(t, e, Again{By: "ana"}, shopTurns...); err != nil {
			t.Fatalf("stopped at append %d: %v", left, err)
		}
		same(t, w, store, want)
	}
}

// TestAClockThatStepsBack has a run, and what goes on with it, under a clock that steps back each time that it is read: the
// order of events is that of their numbers.
func TestAClockThatStepsBack(t *testing.T) {
	want := undisturbed(t, shopTurns)
	now := time.Now()
	back := func() time.Time {
		now = now.Add(-time.Second)
		return now
	}
	w, store := new(world), journal.NewMemory()
	d := &dying{Store: store, left: 77}
	e := w.clerk(t, d)
	e.cfg.Clock = back
	s, err := begin(t.Context(), e, d)
	if err == nil {
		err = drive(t.Context(), s, shopTurns)
	}
	if !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	e = w.clerk(t, store)
	e.cfg.Clock = back
	if err := goOn(t, e, Again{By: "ana"}, shopTurns...); err != nil {
		t.Fatal(err)
	}
	same(t, w, store, want)
	events, err := store.Read(t.Context(), shopRun, 1)
	if err == nil {
		err = journal.Verify(events)
	}
	if err != nil || !events[len(events)-1].Time.Before(events[0].Time) {
		t.Errorf("from %v to %v: %v", events[0].Time, events[len(events)-1].Time, err)
	}
}
