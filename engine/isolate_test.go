package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"callgate/builtins"
	"callgate/engine"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/engine/worker"
	_ "callgate/engine/worker/early" // the test's binary is the worker of its tests
	"callgate/policies"
)

// obliging allows everything, and obliges programs to a tier.
type obliging struct{ tier string }

func (p *obliging) Decide(_ context.Context, r *policies.Request) (policies.Decision, error) {
	d := policies.Decision{Effect: policies.Allow, Would: policies.Allow}
	if r.Call.Kind == policies.KindProgram && p.tier != "" {
		d.Obligations = []policies.Obligation{{Type: policies.ObligeIsolate, Fields: map[string]any{"tier": p.tier}, Policy: "hard"}}
	}
	return d, nil
}

func (*obliging) Revision() string { return "sha256:obliging" }

var (
	user     = label.New(label.User, label.Public(), nil)
	stranger = label.New(label.Untrusted, label.Public(), nil)
)

// isolated is an engine whose workers are the test's binary, and the ends of programs that its runs recorded.
type isolated struct {
	*engine.Engine
	t    *testing.T
	pdp  *obliging
	ends []journal.ProgramEnded
}

func newIsolated(t *testing.T, change func(*engine.Isolation), pages ...label.Label) *isolated {
	t.Helper()
	pool := &worker.Pool{Size: 1}
	t.Cleanup(pool.Close)
	if err := pool.Try(t.Context()); err != nil {
		t.Skipf("no worker can be confined here: %v", err)
	}
	i := &isolated{t: t, pdp: &obliging{}}
	isolation := engine.Isolation{Workers: map[gate.Tier]*worker.Pool{gate.TierProcess: pool}}
	if change != nil {
		change(&isolation)
	}
	var tools builtins.Set
	for _, l := range pages {
		must(tools.Add(&builtins.Tool{
			Name: "page.get", Effects: builtins.Read, Label: builtins.Source{Class: l},
			Run: func(context.Context, *builtins.Invocation) (any, error) { return "a page", nil },
		}))
	}
	var err error
	i.Engine, err = engine.New(engine.Config{Agent: "a", Tools: &tools, PDP: i.pdp, Isolation: isolation, Meter: 100, Watch: func(e journal.Event) {
		if e.Type == journal.ProgramEnd {
			end, err := journal.Decode[journal.ProgramEnded](e)
			must(err)
			i.ends = append(i.ends, end)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func (i *isolated) start(inputs ...journal.Input) *engine.Session {
	i.t.Helper()
	s, err := i.Start(i.t.Context(), engine.Run{Context: label.Bottom(), Inputs: inputs})
	if err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(func() { s.Close() })
	return s
}

// exec runs a program and says what it printed, in which tier.
func (i *isolated) exec(s *engine.Session, text string, author label.Label) string {
	i.t.Helper()
	out, err := s.Exec(i.t.Context(), engine.Program{File: "t.star", Text: text, Author: author})
	if err != nil {
		i.t.Fatal(err)
	}
	got := i.ends[len(i.ends)-1].Tier + ":"
	for _, p := range out.Prints {
		got += " " + strings.TrimSuffix(p.Text, "\n")
	}
	if out.Err != nil {
		got += " " + out.Err.Public()
	}
	return got
}

func TestIsolationFollowsTrust(t *testing.T) {
	guard := func(i *engine.Isolation) { i.Guard = true }
	i := newIsolated(t, guard, user)
	want := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	s := i.start()
	want("a person's program", i.exec(s, "x = 1\ndef f(): return x\nprint(x)", user), "none: 1")
	want("one that reads a page", i.exec(s, "p = page.get()\nprint(len(p))", user), "none: 6")
	want("a stranger's program, which sees what was there", i.exec(s, "x += 1\nprint(f(), p)", stranger), "process: 2 a page")
	want("a person's program after that", i.exec(s, "print(f())", user), "process: 2")
	if _, confined, err := s.Isolated(); !slices.Contains(confined, "seccomp") || err != nil {
		t.Errorf("confined by %v, %v", confined, err)
	}
	if !strings.Contains(i.ends[2].Confinement, "seccomp") || i.ends[0].Confinement != "" {
		t.Errorf("recorded %q and %q", i.ends[0].Confinement, i.ends[2].Confinement)
	}
	v, err := s.Get("x")
	if err != nil || v.Text() != "2" || v.Label.Trust() != label.Untrusted || !slices.Contains(s.Names(), "f") || s.Floor().Trust() != label.Untrusted {
		t.Errorf("x is %s (%s), %v; names %v; floor %s", v.Text(), v.Label, err, s.Names(), s.Floor())
	}
	s = i.start(journal.Input{Name: "letter", Value: value.StringOf("hello", stranger)})
	want("a person's program that can read a stranger's letter", i.exec(s, "print(letter)", user), "process: hello")
	want("one that does not compile", i.exec(s, "this is none", user), "process: t.star:1:6: syntax")
	want("one that uses its time up", i.exec(s, "while True: pass", user), "process: t.star:1:1: limit.steps")

	i = newIsolated(t, guard, stranger)
	want("a person's program whose tool answers what a stranger wrote", i.exec(i.start(), "print(page.get())", user), "process: a page")
}

func TestWithoutWorkersTheJournalSaysSo(t *testing.T) {
	i := newIsolated(t, func(i *engine.Isolation) { i.Guard, i.Workers = true, nil })
	s := i.start()
	if got := i.exec(s, "print(1)", stranger); got != "none: 1" {
		t.Errorf("got %q", got)
	}
	if got := i.ends[0].Confinement; got != "none: there are no workers for it here" {
		t.Errorf("recorded %q", got)
	}
}

func TestIsolationThatWasAskedFor(t *testing.T) {
	i := newIsolated(t, func(i *engine.Isolation) { i.Least = gate.TierProcess })
	if got := i.exec(i.start(), "print(1)", user); got != "process: 1" {
		t.Errorf("the least tier: got %q", got)
	}
	i = newIsolated(t, nil)
	i.pdp.tier = "process"
	if got := i.exec(i.start(), "print(1)", user); got != "process: 1" {
		t.Errorf("the tier of a policy: got %q", got)
	}
	i.pdp.tier = "container"
	if got := i.exec(i.start(), "print(1)", user); got != "none: denied (core.isolation)" {
		t.Errorf("a tier that cannot be had: got %q", got)
	}
	i = newIsolated(t, func(i *engine.Isolation) { i.Workers, i.Least = nil, gate.TierProcess })
	_, err := i.Start(t.Context(), engine.Run{})
	if bad, ok := errors.AsType[*engine.IsolationError](err); !ok || bad.Tier != gate.TierProcess {
		t.Errorf("a least tier that cannot be had: got %v", err)
	}
}
