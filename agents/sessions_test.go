package agents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"callgate/engine"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/spec"
)

// clerkFiles are an agent with a recorded model, which reads a stranger's file in its first run and goes on in two more.
func clerkFiles() map[string]string {
	return map[string]string{
		"callgate.yaml": "apiVersion: callgate/v1\nkind: Host\nspec: {library: [base, files], principal: {sub: ana@corp.example}, params: {base: {endorse: bool}}}\n",
		"agent.yaml": "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: clerk}\nspec:\n  meter: 100\n" +
			"  inputs: [{name: task, trust: user}, {name: note, trust: user, default: none}]\n" +
			"  tools: [{use: files, root: ./data}]\n  model: {provider: recorded, recording: turns.md}\n  limits: {calls: 3}\n",
		"data/a.txt": "eight",
		"turns.md": "## turn 1\n\n> expect: begin\n\n```starlark\nbody = files.read(\"a.txt\")\nn = 1\ndef f(): return [n, task, note]\nprint(body, f())\n```\n\n" +
			"## turn 2\n\n```starlark\ndone(endorse(len(body) > 3, \"internal\", why = \"its length\"))\n```\n\n" +
			"## turn 3\n\n> expect: That run has ended\n> expect: and then\n\n```starlark\nn = 2\nm = f()\nprint(m)\ndone(files.read(\"a.txt\") == body)\n```\n\n" +
			"## turn 4\n\n> expect: That run has ended\n> expect: at last\n\n```starlark\nk = f()\nlast = body + \"!\"\ndone(k)\n```\n",
	}
}

// open builds the agent of files over a store.
func open(t testing.TB, dir string, files map[string]string, store journal.Store) *Agent {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, problems := spec.Load(dir, "")
	a, more := Build(context.Background(), p, Options{Store: store})
	if problems = append(problems, more...); spec.Fatal(problems) {
		t.Fatal(problems)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// runs makes runs of a session, each after the one before it, and returns the last session.
func runs(t *testing.T, a *Agent, options ...RunOptions) (last *engine.Session, out Result) {
	t.Helper()
	for _, o := range options {
		o.inspect = func(s *engine.Session) { last = s }
		var err error
		if out, err = a.Run(t.Context(), o); err != nil || out.Status != engine.Done {
			t.Fatalf("run %s: %s (%s), error %v, want it done", o.ID, out.Status, out.Reason, err)
		}
	}
	return last, out
}

var threeRuns = []RunOptions{{ID: "r1", Task: "begin", Inputs: map[string]string{"note": "mine"}}, {ID: "r2", Task: "and then", After: "r1"}, {ID: "r3", Task: "at last", After: "r2"}}

// Names stay with their labels over three runs, functions see what is new, and the meter goes on where it was.
func TestASessionGoesOnOverRuns(t *testing.T) {
	store := journal.NewMemory()
	a := open(t, t.TempDir(), clerkFiles(), store)
	s, out := runs(t, a, threeRuns...)
	k, err := s.Get("k")
	if err != nil || k.Text() != `[2, "at last", "mine"]` || out.Answer.Text() != k.Text() {
		t.Errorf("k is %s, answered %v, error %v", k.Text(), out.Answer, err)
	}
	last, err := s.Get("last")
	if err != nil || last.Str != "eight!" || last.Label.Trust() != label.Untrusted || !strings.Contains(last.Label.Explain(3), "files.read a.txt") {
		t.Errorf("last is %q labelled %v (%s), error %v, want the stranger's text under its label", last.Str, last.Label, last.Label.Explain(3), err)
	}
	// 13 bits describe body, which is one of three names and perhaps of one of three tools; 1 was endorsed; 1 tells how a turn ended after which there was another.
	if got := s.Gate().Left(); got != 85 {
		t.Errorf("%d bits are left, want 85 of 100", got)
	}
	if got := s.Turns(); got != 4 {
		t.Errorf("%d turns, want 4", got)
	}
	header := startOf(t, store, "r3")
	if c := header.Continues; c == nil || c.Run != "r2" || c.Session != "r1" || c.Turns != 3 || len(c.Changed) > 0 {
		t.Errorf("the header says %+v", header.Continues)
	}
	if !header.Context.Equal(s.Gate().Context()) && !header.Context.FlowsTo(s.Gate().Context()) {
		t.Errorf("the model had been shown %v, and now %v", header.Context, s.Gate().Context())
	}
	for _, run := range []string{"r1", "r2", "r3"} {
		r, err := a.Replay(t.Context(), run, nil)
		if err != nil || !r.Ended || r.Met != r.Events || len(r.Differences) > 0 {
			t.Errorf("run %s gone over again: %+v, error %v", run, r, err)
		}
	}
}

func startOf(t *testing.T, store journal.Store, run string) journal.RunStarted {
	t.Helper()
	events, err := store.Read(t.Context(), run, 1)
	if err != nil || len(events) == 0 {
		t.Fatalf("run %s: %d events, error %v", run, len(events), err)
	}
	start, err := journal.Decode[journal.RunStarted](events[0])
	if err != nil {
		t.Fatal(err)
	}
	return start
}

// dyingStore fails at an append.
type dyingStore struct {
	journal.Store
	left int
}

var errDied = errors.New("died")

func (d *dyingStore) Append(ctx context.Context, events []journal.Event, sync bool) error {
	if d.left--; d.left < 0 {
		return errDied
	}
	return d.Store.Append(ctx, events, sync)
}

// A run that goes on from another, and whose process ends at any append, is resumed and ends as it would have.
func TestARunThatGoesOnFromAnotherIsResumed(t *testing.T) {
	for left := 1; ; left++ {
		store, dir := journal.NewMemory(), t.TempDir()
		runs(t, open(t, dir, clerkFiles(), store), threeRuns[:2]...)
		dying := &dyingStore{store, left}
		_, err := open(t, dir, nil, dying).Run(t.Context(), threeRuns[2])
		if err == nil {
			if left < 5 {
				t.Errorf("it ended within %d appends", left)
			}
			return
		}
		out, err := open(t, dir, nil, store).Resume(t.Context(), engine.Again{Run: "r3", By: "ana"})
		if err != nil || out.Status != engine.Done || out.Answer.Text() != `[2, "at last", "mine"]` {
			t.Fatalf("stopped at append %d: %s (%s), answer %v, error %v", left, out.Status, out.Reason, out.Answer, err)
		}
	}
}

func TestFromWhatNoRunGoesOn(t *testing.T) {
	host := "apiVersion: callgate/v1\nkind: Host\nspec: {library: [base, files], principal: {sub: eve@corp.example}, params: {base: {endorse: bool}}}\n"
	for _, test := range []struct {
		name   string
		change map[string]string // of files
		do     func(*testing.T, *Agent, *RunOptions) journal.Store
		want   string
	}{
		{"another principal", map[string]string{"callgate.yaml": host}, nil, "since it began it would act for eve@corp.example, and acted for ana@corp.example"},
		{"another agent's name", map[string]string{"agent.yaml": strings.Replace(clerkFiles()["agent.yaml"], "name: clerk", "name: other", 1)}, nil, "the agent is other, and was clerk"},
		{"another mode", map[string]string{"agent.yaml": clerkFiles()["agent.yaml"] + "  mode: plan\n"}, nil, "the mode is plan, and was react"},
		{"another agent's file", map[string]string{"agent.yaml": clerkFiles()["agent.yaml"] + "  observe: policy\n"}, nil, "the agent's file has changed"},
		{"no such run", nil, func(_ *testing.T, _ *Agent, o *RunOptions) journal.Store { o.After = "r9"; return nil }, `run "r9": no such run`},
		{"no task", nil, func(_ *testing.T, _ *Agent, o *RunOptions) journal.Store { o.Task = ""; return nil }, `input "task": got nothing, want what to do next`},
		{"a run that has not ended", nil, func(t *testing.T, a *Agent, o *RunOptions) journal.Store {
			d := &dyingStore{a.opts.Store, 4}
			a.opts.Store = d
			if _, err := a.Run(t.Context(), RunOptions{ID: "broken", Task: "begin"}); !errors.Is(err, errDied) {
				t.Fatal(err)
			}
			o.After = "broken"
			return d.Store
		}, "run broken: it has not ended: go on with it itself"},
		{"a run that was redacted", nil, func(t *testing.T, a *Agent, o *RunOptions) journal.Store {
			return copied(t, a.opts.Store, func(run string, events []journal.Event) []journal.Event {
				if run == "r1" {
					events[5] = events[5].Redact()
				}
				return events
			})
		}, "run r1: event 6"},
		{"an earlier run that is gone", nil, func(t *testing.T, a *Agent, o *RunOptions) journal.Store {
			return copied(t, a.opts.Store, func(run string, events []journal.Event) []journal.Event {
				if run == "r1" {
					return nil
				}
				return events
			})
		}, "run r2 goes on from run r1, which the journal does not have any more"},
	} {
		t.Run(test.name, func(t *testing.T) {
			store, dir := journal.Store(journal.NewMemory()), t.TempDir()
			a := open(t, dir, clerkFiles(), store)
			runs(t, a, threeRuns[:2]...)
			if test.change != nil {
				a = open(t, dir, test.change, store)
			}
			o := threeRuns[2]
			if test.do != nil {
				if other := test.do(t, a, &o); other != nil {
					a.opts.Store = other
				}
			}
			_, err := a.Run(t.Context(), o)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if events, _ := store.Read(t.Context(), "r3", 1); len(events) > 0 {
				t.Errorf("the run has begun: %d events", len(events))
			}
		})
	}
}

// copied is a store with the runs of another one, each as it is changed.
func copied(t *testing.T, from journal.Store, change func(string, []journal.Event) []journal.Event) journal.Store {
	t.Helper()
	to := journal.NewMemory()
	for _, run := range []string{"r1", "r2"} {
		events, err := from.Read(t.Context(), run, 1)
		if err != nil {
			t.Fatal(err)
		}
		if events = change(run, events); len(events) == 0 {
			continue
		}
		if err := to.Append(t.Context(), events, true); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// What has changed can be accepted, is said in the journal, and policies of today decide.
func TestASessionGoesOnWithWhatWasAccepted(t *testing.T) {
	store, dir := journal.NewMemory(), t.TempDir()
	runs(t, open(t, dir, clerkFiles(), store), threeRuns[:1]...)
	a := open(t, dir, map[string]string{
		"agent.yaml": clerkFiles()["agent.yaml"] + "---\napiVersion: callgate/v1\nkind: Policy\nmetadata: {name: closed}\nspec:\n  match: {tools: [files.read]}\n  cel:\n    rules:\n    - {id: closed.read, when: \"true\", action: deny}\n",
	}, store)
	o := threeRuns[1]
	o.Accept = func([]engine.Change) error { return nil }
	out, err := a.Run(t.Context(), o)
	if err != nil || out.Status == engine.Done || out.Counts.Denied != 1 {
		t.Errorf("%s (%s), %d denied, error %v, want the new policy to refuse", out.Status, out.Reason, out.Counts.Denied, err)
	}
	if got := fmt.Sprint(startOf(t, store, "r2").Continues.Changed); !strings.Contains(got, "the agent's file has changed") || !strings.Contains(got, "the policies have changed") {
		t.Errorf("the journal says %s", got)
	}
}

// The end of a run that depends on what the model has not seen takes a bit, or else lowers what the model has been shown.
func TestThatARunEndedIsPaidFor(t *testing.T) {
	files := clerkFiles()
	files["turns.md"] = "## turn 1\n\n```starlark\nbody = files.read(\"a.txt\")\nif note != \"\":\n    endorse(body != \"\", \"internal\", why = \"it is there\")\nif body == \"eight\":\n    done(1)\n```\n\n" +
		"## turn 2\n\n> expect: That run has ended\n\n```starlark\ndone(2)\n```\n"
	for _, test := range []struct {
		name, meter, note string
		left              int
		trust             label.Trust
	}{
		{"there are bits", "2", "", 1, label.User},
		{"there is one", "2", "x", 0, label.User},
		{"there is none", "1", "x", 0, label.Untrusted},
	} {
		t.Run(test.name, func(t *testing.T) {
			files["agent.yaml"] = strings.Replace(clerkFiles()["agent.yaml"], "meter: 100", "meter: "+test.meter, 1)
			a := open(t, t.TempDir(), files, journal.NewMemory())
			s, _ := runs(t, a, RunOptions{ID: "r1", Task: "go", Inputs: map[string]string{"note": test.note}}, RunOptions{ID: "r2", Task: "on", After: "r1"})
			if got := s.Gate().Left(); got != test.left || s.Gate().Context().Trust() != test.trust {
				t.Errorf("%d bits left, the model was shown %v, want %d and trust %s", got, s.Gate().Context(), test.left, test.trust)
			}
		})
	}
}

// 64 sessions of one agent at once keep everything apart, over two runs each.
func TestSessionsAreApart(t *testing.T) {
	files := clerkFiles()
	files["agent.yaml"] = strings.Replace(files["agent.yaml"], "limits: {calls: 3}", "observe: policy", 1)
	files["agent.yaml"] = strings.Replace(files["agent.yaml"], "{name: note, trust: user, default: none}", "{name: note, readers: [\"*\"]}", 1)
	files["turns.md"] = "## turn 1\n\n```starlark\nmine = task\nseen = []\ndef f(x):\n    seen.append(x)\n    return seen\nf(note)\nif int(task) % 2 == 0:\n    print(note)\n```\n\n" +
		"## turn 2\n\n```starlark\ndone(f(endorse(len(note) > 0, \"internal\", why = \"it is there\")) if int(task) % 6 == 3 else f(task))\n```\n\n" +
		"## turn 3\n\n> expect: That run has ended\n\n```starlark\ndone([mine, task] + f(mine))\n```\n"
	a := open(t, t.TempDir(), files, journal.NewMemory())
	const n = 64
	var all sync.WaitGroup
	sessions := make([][2]*engine.Session, n)
	for i := range n {
		all.Go(func() {
			for j, o := range []RunOptions{
				{ID: fmt.Sprintf("r%d", i), Task: fmt.Sprint(i), Inputs: map[string]string{"note": fmt.Sprintf("note of %d", i)}},
				{ID: fmt.Sprintf("s%d", i), Task: fmt.Sprint(1000 + i), After: fmt.Sprintf("r%d", i)},
			} {
				o.inspect = func(s *engine.Session) { sessions[i][j] = s }
				if out, err := a.Run(context.Background(), o); err != nil || out.Status != engine.Done {
					t.Errorf("run %s: %s (%s), error %v", o.ID, out.Status, out.Reason, err)
				}
			}
		})
	}
	all.Wait()
	for i := range n {
		if t.Failed() {
			break
		}
		s := sessions[i][1]
		mine, _ := s.Get("mine")
		seen, _ := s.Get("seen")
		second := fmt.Sprintf(`"%d"`, i)
		if i%6 == 3 {
			second = "True"
		}
		if want := fmt.Sprintf(`["note of %d", %s, "%d"]`, i, second, i); mine.Str != fmt.Sprint(i) || seen.Text() != want {
			t.Errorf("session %d: mine %s, seen %s, want %s", i, mine.Text(), seen.Text(), want)
		}
		trust, bits := label.User, 0
		if i%2 == 0 {
			trust = label.Untrusted
		}
		if i%6 == 3 {
			bits = 1
		}
		for j, g := range []*engine.Session{sessions[i][0], s} {
			if got := g.Gate().Context().Trust(); got != trust {
				t.Errorf("session %d, run %d: the model was shown %s, want %s", i, j, got, trust)
			}
			if got := g.Gate().Left(); got > 100-bits || got < 90 {
				t.Errorf("session %d, run %d: %d bits left", i, j, got)
			}
		}
		if sources := seen.Deep().Explain(9); strings.Contains(sources, "more") {
			t.Errorf("session %d: %s", i, sources)
		}
	}
}

// cancelling is a store that ends a context with an append.
type cancelling struct {
	journal.Store
	left   int
	cancel context.CancelFunc
}

func (c *cancelling) Append(ctx context.Context, events []journal.Event, sync bool) error {
	if c.left--; c.left == 0 {
		defer c.cancel()
	}
	return c.Store.Append(ctx, events, sync)
}

// Wherever a run is stopped its journal is whole, and it is gone on with to the same end.
func TestARunIsStoppedAnywhere(t *testing.T) {
	for left := 1; ; left++ {
		store, ended := journal.NewMemory(), make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		a := busy(t, &slow{turns: 1}, 1, &cancelling{store, left, func() { cancel(); close(ended) }})
		out, err := a.Run(ctx, RunOptions{ID: "r"})
		cancel()
		select {
		case <-ended:
		default: // it ended before
			if left < 8 || out.Status != engine.Done {
				t.Fatalf("%s after %d appends", out.Status, left)
			}
			return
		}
		if err != nil || out.Status != engine.Cancelled && out.Status != engine.Done {
			t.Fatalf("stopped at append %d: %s (%s), error %v", left, out.Status, out.Reason, err)
		}
		events, err := store.Read(t.Context(), "r", 1)
		if err != nil || journal.Verify(events) != nil || events[len(events)-1].Type != journal.RunEnd {
			t.Fatalf("stopped at append %d: %d events, error %v, %v, want them whole with an end", left, len(events), err, journal.Verify(events))
		}
		if out.Status == engine.Done {
			continue
		}
		a.opts.Store = store
		if out, err = a.Resume(t.Context(), engine.Again{Run: "r"}); err != nil || out.Status != engine.Done || out.Answer.Text() != "1225" {
			t.Fatalf("stopped at append %d, and gone on with: %s (%s), error %v", left, out.Status, out.Reason, err)
		}
	}
}
