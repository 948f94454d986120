package agents_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"callgate/agents"
	"callgate/builtins"
	"callgate/engine"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/spec"
)

// desk is a host's tools for agents and the agents that they call: box.read gives a stranger's text, box.write keeps one.
type desk struct {
	mu    sync.Mutex // while something is written
	wrote []string
	reads atomic.Int32
	tags  []string                                     // of letters
	hook  func(ctx context.Context, text string) error // of box.write
}

func (d *desk) tools() []*builtins.Tool {
	ana := label.Only("ana@corp.example")
	return []*builtins.Tool{{
		Name: "box.read", Effects: builtins.Read, Params: []builtins.Param{{Name: "id", Required: true}},
		Label: builtins.Source{Class: label.New(label.Untrusted, ana, d.tags), Of: "{args.id}"},
		Run: func(_ context.Context, in *builtins.Invocation) (any, error) {
			d.reads.Add(1)
			return "letter " + builtins.Arg[string](in, "id"), nil
		},
	}, {
		Name: "box.write", Effects: builtins.Write, Params: []builtins.Param{{Name: "text", Required: true, Sink: "content"}},
		Label: builtins.Source{Class: label.New(label.Internal, ana, nil)},
		Run: func(ctx context.Context, in *builtins.Invocation) (any, error) {
			if d.hook != nil {
				if err := d.hook(ctx, builtins.Arg[string](in, "text")); err != nil {
					return nil, err
				}
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			d.wrote = append(d.wrote, builtins.Arg[string](in, "text"))
			return len(d.wrote), nil
		},
	}}
}

const writeAllowed = "{id: p.write, when: \"call.tool == 'box.write'\", action: allow}"

// family is a folder with an agent, boss, and one that it calls, clerk; rules are the host's.
func family(t *testing.T, boss, clerk, rules string, more map[string]string) string {
	t.Helper()
	files := map[string]string{
		"callgate.yaml":   "apiVersion: callgate/v1\nkind: Host\nspec: {library: [base], policies: [./policies], params: {base: {endorse: bounded}}, principal: {sub: ana@corp.example}}\n",
		"policies/p.yaml": "apiVersion: callgate/v1\nkind: Policy\nmetadata: {name: p}\nspec:\n  cel: {rules: [" + rules + "]}\n",
		"agent.yaml": "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: boss}\nspec:\n  program: main.star\n  tools: [{use: box}, {use: agent, file: clerk/agent.yaml}]\n" +
			"  inputs: [{name: task, trust: user, default: go}, {name: theirs, default: from a stranger}]\n",
		"main.star": boss,
		"clerk/agent.yaml": "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: the-clerk}\nspec:\n  program: main.star\n  tools: [{use: box}]\n" +
			"  instructions: Reads letters.\n  inputs: [{name: id}, {name: note, default: none}]\n",
		"clerk/main.star": clerk,
	}
	for name, text := range more {
		files[name] = text
	}
	return folder(t, files)
}

func eventsOf(t *testing.T, store journal.Store, run string) []journal.Event {
	t.Helper()
	events, err := store.Read(t.Context(), run, 1)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func TestAnAgentIsATool(t *testing.T) {
	d, store := &desk{}, journal.NewMemory()
	dir := family(t, "r = the_clerk(\"7\", note = theirs)\nok = the_clerk(id = \"8\")\ndone([r, ok])\n",
		"text = box.read(id)\ndone({\"text\": text, \"id\": id, \"note\": note})\n", writeAllowed, nil)
	a := built(t, dir, agents.Options{Tools: d.tools(), Store: store})
	r := ranAs(t, a, agents.RunOptions{ID: "r"})
	if r.Status != engine.Done || d.reads.Load() != 2 {
		t.Fatalf("%s (%s) %v", r.Status, r.Reason, r.Answer)
	}
	if got := r.Answer.Text(); got != `[{"text": "letter 7", "id": "7", "note": "from a stranger"}, {"text": "letter 8", "id": "8", "note": "none"}]` {
		t.Errorf("the answer is %s", got)
	}
	first := r.Answer.Items[0]
	if l := first.Items[0].Label; l.Trust() != label.Untrusted { // the note is an argument of the call
		t.Errorf("an answer of a call about a stranger's note is labelled %s", l)
	}
	id, _ := r.Answer.Items[1].Get("id")
	text, _ := r.Answer.Items[1].Get("text")
	if id.Deep().Trust() != label.User || text.Deep().Trust() != label.Untrusted {
		t.Errorf("the id is labelled %s and the text %s, want user and untrusted: arguments keep their labels", id.Deep(), text.Deep())
	}
	// The run of its own is linked both ways.
	child := eventsOf(t, store, "r.1.1")
	header, err := journal.Decode[journal.RunStarted](child[0])
	if err != nil || header.Agent != "the-clerk" || header.Parent == nil || *header.Parent != (journal.Parent{Run: "r", Call: "1.1", Root: "r"}) {
		t.Errorf("the run of the agent is headed by %+v, %v", header, err)
	}
	for _, e := range eventsOf(t, store, "r") {
		if s, err := journal.Decode[journal.CallStarted](e); err == nil && e.Type == journal.CallStart && s.Run != "r."+e.Call {
			t.Errorf("call %s began run %q", e.Call, s.Run)
		}
	}
	if header.Principal.Sub != "ana@corp.example" {
		t.Errorf("it acted for %q", header.Principal.Sub)
	}
	// It is not gone on with, or gone over, but by the run that it is a part of.
	var belongs *engine.ParentError
	if _, err := a.Replay(t.Context(), "r.1.1", nil); !errors.As(err, &belongs) || belongs.Parent.Root != "r" {
		t.Errorf("gone over by itself: %v", err)
	}
	// A replay goes over both, with no effect.
	again, err := a.Replay(t.Context(), "r", nil)
	if err != nil || !again.Same() || len(again.Agents) != 2 || again.Agents[1].Run != "r.1.2" || again.Agents[0].Met != len(child) || d.reads.Load() != 2 {
		t.Errorf("replayed %+v, %v", again, err)
	}
}

// What the caller's policies deny is denied to the agent that it calls; so is what its own deny; and both must allow.
func TestAnAgentIsDecidedByBoth(t *testing.T) {
	own := func(rules string) string {
		return "---\napiVersion: callgate/v1\nkind: Policy\nmetadata: {name: q}\nspec:\n  cel: {rules: [" + rules + "]}\n"
	}
	const clerk = "box.write(\"x\")\ndone(1)\n"
	for _, test := range []struct {
		name, rules, boss, clerk string
		want                     string
	}{
		{"allowed", writeAllowed, "", "", ""},
		{"not to the caller", "{id: p.write, when: \"call.tool == 'box.write' && agent.name == 'the-clerk'\", action: allow}", "", "", "denied (core.no-allow"},
		{"not to it", "{id: p.write, when: \"call.tool == 'box.write' && agent.name == 'boss'\", action: allow}", "", "", "denied (core.no-allow"},
		{"denied by the caller's own", writeAllowed, own("{id: q.no, when: \"call.tool == 'box.write'\", action: deny}"), "", "denied (q.no"},
		{"denied by its own", writeAllowed, "", own("{id: q.no, when: \"call.tool == 'box.write'\", action: deny}"), "denied (q.no"},
		{"asked by the caller's own", writeAllowed, own("{id: q.ask, when: \"call.tool == 'box.write'\", action: ask}"), "", "waiting"},
		{"asked by its own", writeAllowed, "", own("{id: q.ask, when: \"call.tool == 'box.write'\", action: ask}"), "waiting"},
		{"the call of it", writeAllowed, own("{id: q.no, when: \"call.tool == 'the_clerk'\", action: deny}"), "", "denied (q.no"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := &desk{}
			dir := family(t, "the_clerk(\"1\")\ndone(1)\n", clerk, test.rules, nil)
			appendTo(t, dir+"/agent.yaml", test.boss)
			appendTo(t, dir+"/clerk/agent.yaml", test.clerk)
			r := ranAs(t, built(t, dir, agents.Options{Tools: d.tools()}), agents.RunOptions{})
			switch {
			case test.want == "":
				if r.Status != engine.Done || len(d.wrote) != 1 {
					t.Errorf("%s (%s), wrote %v", r.Status, r.Reason, d.wrote)
				}
			case test.want == "waiting":
				if r.Status != engine.Waiting || len(r.Waiting) != 1 || !strings.HasSuffix(r.Waiting[0].Run, ".1.1") || len(d.wrote) != 0 {
					t.Errorf("%s (%s), %+v", r.Status, r.Reason, r.Waiting)
				}
			default:
				if !strings.Contains(r.Last.Err.Error(), test.want) || len(d.wrote) != 0 {
					t.Errorf("%s (%v), wrote %v, want %q", r.Status, r.Last.Err, d.wrote, test.want)
				}
			}
		})
	}
}

// The control flow that led to the call is that of all that the agent does.
func TestAnAgentRunsUnderThePCOfItsCall(t *testing.T) {
	d := &desk{}
	dir := family(t, "if box.read(\"1\") != \"\":\n    the_clerk(\"1\")\ndone(1)\n", "box.write(\"x\")\ndone(1)\n", writeAllowed, nil)
	r := ranAs(t, built(t, dir, agents.Options{Tools: d.tools()}), agents.RunOptions{})
	if r.Last.Err == nil || !strings.Contains(r.Last.Err.Error(), "flow.control") || len(d.wrote) != 0 {
		t.Errorf("%s (%v), wrote %v, want the flow rule to refuse it", r.Status, r.Last.Err, d.wrote)
	}
}

// What the agent failed on may be above the call: then the failure cannot be caught.
func TestAnAgentThatFails(t *testing.T) {
	for _, test := range []struct{ name, clerk, want string }{
		{"because of itself", "fail(\"no\")", `[False, "failed"]`},
		{"because of a refusal", "box.write(\"x\")", `[False, "denied"]`},
		{"because of what it read", "if box.read(\"1\") != \"\":\n    fail(\"no\")", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := &desk{}
			dir := family(t, "r = attempt(the_clerk, \"1\")\ndone([r.ok, r.code])\n", test.clerk+"\ndone(1)\n", "{id: p.none, when: \"false\", action: allow}", nil)
			r := ranAs(t, built(t, dir, agents.Options{Tools: d.tools()}), agents.RunOptions{})
			switch {
			case test.want != "":
				if r.Status != engine.Done || r.Answer.Text() != test.want {
					t.Errorf("%s (%s) %v, want %s", r.Status, r.Reason, r.Answer, test.want)
				}
			case r.Status != engine.Failed || r.Last.Err == nil || r.Last.Err.Label.Trust() != label.Untrusted:
				t.Errorf("%s (%v), want a failure that nobody caught, labelled with what it depends on", r.Status, r.Last.Err)
			}
		})
	}
}

func TestAnAgentsBudgets(t *testing.T) {
	for _, test := range []struct{ name, boss, clerk, limits, clerkLimits, want string }{
		{"its own steps", "the_clerk(\"1\")", "for i in range(100000):\n    pass", "", "{steps: 1000}", "steps"},
		{"the caller's steps", "the_clerk(\"1\")", "for i in range(100000):\n    pass", "{steps: 1000}", "", "steps"},
		{"the caller's steps, in all", "the_clerk(\"1\")\nthe_clerk(\"2\")\nthe_clerk(\"3\")", "for i in range(1500):\n    pass", "{steps: 4000}", "", "budget|steps"},
		{"the caller's calls", "the_clerk(\"1\")", "for i in range(10):\n    box.read(\"1\")", "{calls: 5}", "", "calls"},
		{"the caller's calls, afterwards", "the_clerk(\"1\")\nbox.read(\"1\")\nbox.read(\"1\")\nbox.read(\"1\")", "box.read(\"1\")\nbox.read(\"1\")", "{calls: 6}", "", "limit.calls"},
		{"the caller's calls, before it began", "the_clerk(\"1\")", "box.read(\"1\")", "{calls: 1}", "", "budget"},
		{"the caller's wall", "the_clerk(\"1\")", "for i in range(1000000000):\n    pass", "{wall: 200ms, steps: 100G}", "{steps: 100G}", "wall"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := &desk{}
			dir := family(t, test.boss+"\ndone(1)\n", test.clerk+"\ndone(1)\n", writeAllowed, nil)
			if test.limits != "" {
				appendTo(t, dir+"/agent.yaml", "  limits: "+test.limits+"\n")
			}
			if test.clerkLimits != "" {
				appendTo(t, dir+"/clerk/agent.yaml", "  limits: "+test.clerkLimits+"\n")
			}
			a := built(t, dir, agents.Options{Tools: d.tools(), Store: journal.NewMemory()})
			r := ranAs(t, a, agents.RunOptions{ID: "r"})
			if r.Status == engine.Done || r.Status == engine.Waiting || r.Last.Err == nil {
				t.Fatalf("%s (%s)", r.Status, r.Reason)
			}
			if again, err := a.Replay(t.Context(), "r", nil); err != nil || !again.Same() {
				t.Errorf("replayed %+v, %v", again, err)
			}
			if got := r.Last.Err.Code + r.Last.Err.Error(); !slices.ContainsFunc(strings.Split(test.want, "|"), func(w string) bool { return strings.Contains(got, w) }) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// Bits that an agent's endorsements take, and calls that count for policies, are its caller's.
func TestAnAgentsMeterAndHistoryAreItsCallers(t *testing.T) {
	d := &desk{}
	const clerk = "x = endorse(len(box.read(id)) > 3, \"internal\", why = \"w\")\nbox.write(\"x\")\ndone(x)\n"
	dir := family(t, "the_clerk(\"1\")\nthe_clerk(\"2\")\ndone(1)\n", clerk, writeAllowed, nil)
	appendTo(t, dir+"/agent.yaml", "  meter: 1\n")
	r := ranAs(t, built(t, dir, agents.Options{Tools: d.tools()}), agents.RunOptions{})
	if r.Status == engine.Done || len(d.wrote) != 1 {
		t.Errorf("%s (%s), wrote %v, want the second refused by the meter", r.Status, r.Reason, d.wrote)
	}
	d = &desk{}
	dir = family(t, "the_clerk(\"1\")\nthe_clerk(\"2\")\ndone(1)\n", clerk, writeAllowed+", {id: p.once, when: \"call.tool == 'box.write' && history.count['box.write'] > 0\", action: deny}", nil)
	r = ranAs(t, built(t, dir, agents.Options{Tools: d.tools()}), agents.RunOptions{})
	if r.Status == engine.Done || len(d.wrote) != 1 {
		t.Errorf("%s (%s), wrote %v, want the second write refused by history", r.Status, r.Reason, d.wrote)
	}
	d = &desk{}
	limit := "{id: p.limit, when: \"call.tool == 'box.write'\", action: oblige, obligations: [{type: limit, id: w, max: 1, per: [run]}]}"
	dir = family(t, "the_clerk(\"1\")\nthe_clerk(\"2\")\ndone(1)\n", clerk, writeAllowed+", "+limit, nil)
	r = ranAs(t, built(t, dir, agents.Options{Tools: d.tools()}), agents.RunOptions{})
	if r.Status == engine.Done || len(d.wrote) != 1 {
		t.Errorf("%s (%s), wrote %v, want the second write over the limit of the run", r.Status, r.Reason, d.wrote)
	}
}

// What an agent has used that waits is not there for those that run beside it, in the order of their calls.
func TestAnAgentThatWaitsKeepsWhatItHasUsed(t *testing.T) {
	const clerk = "endorse(\"letter\" in box.read(id), \"internal\", why = \"yes or no\")\nbox.write(id)\ndone(1)\n"
	const rules = writeAllowed + ", {id: p.ask, when: \"call.tool == 'box.write'\", action: ask}"
	store, d := journal.NewMemory(), &desk{}
	dir := family(t, "done(parallel([lambda: the_clerk(\"1\"), lambda: the_clerk(\"2\")]))\n", clerk, rules, nil)
	appendTo(t, dir+"/agent.yaml", "  meter: 1\n")
	endorsed := func() (n int) {
		for _, run := range []string{"r.1.1.1", "r.1.1.2"} {
			for _, e := range journal.Current(eventsOf(t, store, run), false) {
				if e.Type == journal.Endorsed {
					n++
				}
			}
		}
		return n
	}
	r := ranAs(t, built(t, dir, agents.Options{Tools: d.tools(), Store: store}), agents.RunOptions{ID: "r"})
	if n := endorsed(); n != 1 || r.Counts.Bits != 1 {
		t.Errorf("%s (%s), %d endorsements, %d bits, want one, which the meter has", r.Status, r.Reason, n, r.Counts.Bits)
	}
	sameAgain(t, built(t, dir, agents.Options{Tools: d.tools(), Store: store}))
	r, err := built(t, dir, agents.Options{Tools: d.tools(), Store: store, Approver: approveAll}).Resume(t.Context(), engine.Again{Run: "r"})
	if n := endorsed(); err != nil || n != 1 || fmt.Sprint(d.wrote) != "[1]" {
		t.Errorf("%s (%s), %v: %d endorsements, wrote %v, want one", r.Status, r.Reason, err, n, d.wrote)
	}
}

// What ended beside an agent that waits is met as it is recorded, whichever of them comes first.
func TestBesideAnAgentThatWaits(t *testing.T) {
	const clerk = "if id == \"1\": box.write(id)\ndone(id)\n"
	const rules = writeAllowed + ", {id: p.ask, when: \"call.tool == 'box.write'\", action: ask}"
	for _, boss := range []string{
		"[lambda: the_clerk(\"1\"), lambda: the_clerk(\"2\")]", "[lambda: the_clerk(\"2\"), lambda: the_clerk(\"1\")]",
		"[lambda: the_clerk(\"1\"), lambda: box.read(\"2\"), lambda: box.read(\"3\")]",
	} {
		for range 5 {
			store, d := journal.NewMemory(), &desk{}
			dir := family(t, "r = parallel("+boss+")\ndone(len(r))\n", clerk, rules, nil)
			r := ranAs(t, built(t, dir, agents.Options{Tools: d.tools(), Store: store}), agents.RunOptions{ID: "r"})
			if r.Status != engine.Waiting {
				t.Fatalf("%s: %s (%s)", boss, r.Status, r.Reason)
			}
			a := built(t, dir, agents.Options{Tools: d.tools(), Store: store, Approver: approveAll})
			sameAgain(t, a)
			r, err := a.Resume(t.Context(), engine.Again{Run: "r"})
			if err != nil || r.Status != engine.Done || fmt.Sprint(d.wrote) != "[1]" {
				t.Fatalf("%s: %s (%s), %v, wrote %v", boss, r.Status, r.Reason, err, d.wrote)
			}
			again, err := a.Replay(t.Context(), "r", nil)
			if err != nil || len(again.Differences) > 0 || again.Met != again.Events {
				t.Errorf("%s: replayed %+v, %v", boss, again, err)
			}
		}
	}
}

// What was left to an agent when it began is left to it when it goes on, whatever those beside it have used since.
func TestAnAgentThatWaitsGoesOnWithTheStepsThatItHad(t *testing.T) {
	const clerk = "if id == \"1\": box.write(id)\nfor i in range(3000):\n    pass\nif id == \"2\": box.write(id)\ndone(id)\n"
	const rules = writeAllowed + ", {id: p.ask, when: \"call.tool == 'box.write'\", action: ask}"
	store, d := journal.NewMemory(), &desk{}
	dir := family(t, "done(parallel([lambda: the_clerk(\"1\"), lambda: the_clerk(\"2\")]))\n", clerk, rules, nil)
	appendTo(t, dir+"/agent.yaml", "  limits: {steps: 10k}\n")
	r := ranAs(t, built(t, dir, agents.Options{Tools: d.tools(), Store: store}), agents.RunOptions{ID: "r"})
	if r.Status != engine.Waiting || len(r.Waiting) != 2 {
		t.Fatalf("%s (%s), %+v", r.Status, r.Reason, r.Waiting)
	}
	a := built(t, dir, agents.Options{Tools: d.tools(), Store: store, Approver: approveAll})
	r, err := a.Resume(t.Context(), engine.Again{Run: "r"})
	if err != nil || r.Status != engine.Done || fmt.Sprint(d.wrote) != "[1 2]" {
		t.Fatalf("%s (%s), %v, wrote %v", r.Status, r.Reason, err, d.wrote)
	}
	if again, err := a.Replay(t.Context(), "r", nil); err != nil || !again.Same() {
		t.Errorf("replayed %+v, %v", again, err)
	}
}

// How much is left to an agent may depend on data that another one met: the error has the tags of those.
func TestNothingLeftHasTheTagsOfWhatUsedIt(t *testing.T) {
	const clerk = "for c in box.read(\"1\") * 100:\n    pass\ndone(1)\n"
	d := &desk{tags: []string{"pii"}}
	dir := family(t, "the_clerk(\"1\")\nthe_clerk(\"2\")\nthe_clerk(\"3\")\ndone(1)\n", clerk, writeAllowed, nil)
	appendTo(t, dir+"/agent.yaml", "  limits: {steps: 3000}\n")
	store := journal.NewMemory()
	a := built(t, dir, agents.Options{Tools: d.tools(), Store: store})
	r := ranAs(t, a, agents.RunOptions{ID: "r"})
	if r.Last.Err == nil || r.Last.Err.Code != "budget" || !r.Last.Err.Label.HasTag("pii") || r.Last.Err.Label.HasTag("other") {
		t.Errorf("%s (%s), %v %v, want the tag pii and no other", r.Status, r.Reason, r.Last.Err, r.Last.Err.Label)
	}
	sameAgain(t, a)
}

// An agent that an agent runs has no more steps than are left to its caller's caller.
func TestTheStepsOfAnAgentsAgent(t *testing.T) {
	const leaf = "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: leaf}\nspec:\n  program: main.star\n  tools: []\n"
	d := &desk{}
	dir := family(t, "the_clerk(\"1\")\ndone(1)\n", "", writeAllowed, map[string]string{
		"clerk/leaf/agent.yaml": leaf, "clerk/leaf/main.star": "for i in range(4000):\n    pass\ndone(1)\n",
		"clerk/rec.md": "## turn 1\n\n```python\nfor i in range(4000):\n    pass\n```\n\n## turn 2\n\n```python\nleaf()\ndone(1)\n```\n",
		"clerk/agent.yaml": "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: the-clerk}\nspec:\n  model: {provider: recorded, recording: rec.md}\n" +
			"  instructions: Reads letters.\n  inputs: [{name: id}]\n  tools: [{use: agent, file: leaf}]\n  limits: {turns: 2}\n",
	})
	appendTo(t, dir+"/agent.yaml", "  limits: {steps: 10k}\n")
	r := ranAs(t, built(t, dir, agents.Options{Tools: d.tools()}), agents.RunOptions{ID: "r"})
	if r.Last.Err == nil || !strings.Contains(r.Last.Err.Error(), "turn2.star:1:5: budget") {
		t.Errorf("%s (%s), %v, want the leaf to have what the clerk has left", r.Status, r.Reason, r.Last.Err)
	}
}

// A run that waits because an agent waits is gone on with by itself, and that agent with it: nothing is done twice.
func TestAnAgentThatWaits(t *testing.T) {
	d, store := &desk{}, journal.NewMemory()
	dir := family(t, "a = the_clerk(\"1\")\nb = box.write(\"after\")\ndone([a, b])\n", "box.write(\"first\")\nbox.read(\"1\")\nr = box.write(\"second\")\ndone(r)\n",
		writeAllowed+", {id: p.second, when: \"call.tool == 'box.write' && call.args.?text.orValue('') == 'second'\", action: ask}", nil)
	r := ranAs(t, built(t, dir, agents.Options{Tools: d.tools(), Store: store}), agents.RunOptions{ID: "r"})
	if r.Status != engine.Waiting || len(r.Waiting) != 1 || r.Waiting[0].Run != "r.1.1" || r.Waiting[0].Tool != "box.write" || fmt.Sprint(d.wrote) != "[first]" {
		t.Fatalf("%s (%s), %+v, wrote %v", r.Status, r.Reason, r.Waiting, d.wrote)
	}
	sameAgain(t, built(t, dir, agents.Options{Tools: d.tools(), Store: store}))
	var belongs *engine.ParentError
	if _, err := built(t, dir, agents.Options{Tools: d.tools(), Store: store}).Resume(t.Context(), engine.Again{Run: "r.1.1"}); !errors.As(err, &belongs) {
		t.Errorf("the agent's run is gone on with by itself: %v", err)
	}
	// Nobody has said anything yet.
	r, err := built(t, dir, agents.Options{Tools: d.tools(), Store: store}).Resume(t.Context(), engine.Again{Run: "r"})
	if err != nil || r.Status != engine.Waiting || len(r.Waiting) != 1 || fmt.Sprint(d.wrote) != "[first]" {
		t.Fatalf("%s (%s), %v, %+v", r.Status, r.Reason, err, r.Waiting)
	}
	sameAgain(t, built(t, dir, agents.Options{Tools: d.tools(), Store: store}))
	a := built(t, dir, agents.Options{Tools: d.tools(), Store: store, Approver: gate.ApproveAll{By: "ana"}})
	r, err = a.Resume(t.Context(), engine.Again{Run: "r"})
	if err != nil || r.Status != engine.Done || r.Answer.Text() != "[2, 3]" || fmt.Sprint(d.wrote) != "[first second after]" || d.reads.Load() != 1 {
		t.Fatalf("%s (%s), %v, %v, wrote %v, read %d times", r.Status, r.Reason, err, r.Answer, d.wrote, d.reads.Load())
	}
	again, err := a.Replay(t.Context(), "r", nil)
	if err != nil || !again.Same() || len(again.Agents) == 0 || len(d.wrote) != 3 {
		t.Errorf("replayed %+v, %v", again, err)
	}
}

// sameAgain goes over the run r and those of agents that it called, and finds no difference.
func sameAgain(t *testing.T, a *agents.Agent) {
	t.Helper()
	again, err := a.Replay(t.Context(), "r", nil)
	if err != nil || !again.Same() || !again.Ended || again.Met != again.Events {
		t.Errorf("replayed %+v, %v", again, err)
	}
}

// silent is a person who says nothing, until the run is stopped or its time is up.
type silent struct{ asked func() }

func (a silent) Approve(ctx context.Context, _ gate.Question) (gate.Verdict, error) {
	a.asked()
	<-ctx.Done()
	return gate.Verdict{}, ctx.Err()
}

// approving is a person who approves, and says so of calls that had begun.
type approving struct{}

func (approving) Approve(context.Context, gate.Question) (gate.Verdict, error) {
	return gate.Verdict{Outcome: gate.Approved, By: "ana@corp.example"}, nil
}

// A run that is stopped while a person is asked waits, whoever asks; the question stays open, and the run is gone on with as one that waits.
func TestStoppedWhileAPersonIsAsked(t *testing.T) {
	const rules = writeAllowed + ", {id: p.ask, when: \"call.tool == 'box.write' && call.args.?text.orValue('') == 'x'\", action: ask}"
	for _, test := range []struct {
		name, boss, clerk, run string
	}{
		{"its own call", "box.write(\"x\")\ndone(1)\n", "", "r"},
		{"a call that it catches", "attempt(box.write, text = \"x\")\ndone(1)\n", "", "r"},
		{"after others of its wave", "parallel([lambda: box.read(\"1\"), lambda: box.write(\"before\"), lambda: box.write(\"x\"), lambda: box.write(\"after\")])\ndone(1)\n", "", "r"},
		{"an agent's call", "the_clerk(\"1\")\ndone(1)\n", "box.write(\"x\")\ndone(1)\n", "r.1.1"},
		{"a call of an agent beside others", "parallel([lambda: the_clerk(\"1\"), lambda: the_clerk(\"2\"), lambda: box.read(\"3\")])\ndone(1)\n", "if id == \"1\": box.write(\"x\")\ndone(1)\n", "r.1.1.1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, store := &desk{}, journal.NewMemory()
			dir := family(t, test.boss, test.clerk, rules, nil)
			ctx, stop := context.WithCancel(t.Context())
			r, err := built(t, dir, agents.Options{Tools: d.tools(), Store: store, Approver: silent{stop}}).Run(ctx, agents.RunOptions{ID: "r"})
			if err != nil || r.Status != engine.Waiting || len(r.Waiting) != 1 || r.Waiting[0].Run != test.run || len(d.wrote) > 0 {
				t.Fatalf("%s (%s), %v, %+v, wrote %v, want that it waits", r.Status, r.Reason, err, r.Waiting, d.wrote)
			}
			runs, err := store.Runs(t.Context(), 0)
			for _, run := range runs {
				if open := run.ID == "r" || run.ID == test.run; err != nil || open && run.Status != journal.StatusWaiting {
					t.Errorf("run %s: %s, %v, want that it waits", run.ID, run.Status, err)
				}
			}
			a := built(t, dir, agents.Options{Tools: d.tools(), Store: store, Approver: approving{}})
			sameAgain(t, a)
			r, err = a.Resume(t.Context(), engine.Again{Run: "r"})
			if err != nil || r.Status != engine.Done || !slices.Contains(d.wrote, "x") {
				t.Fatalf("%s (%s), %v, wrote %v", r.Status, r.Reason, err, d.wrote)
			}
			sameAgain(t, a)
		})
	}
}

// A person who is asked until time is up does not keep the program from ending for that, nor the agent that asks.
func TestTimeIsUpWhileAPersonIsAsked(t *testing.T) {
	const rules = writeAllowed + ", {id: p.ask, when: \"call.tool == 'box.write'\", action: ask}"
	for _, test := range []struct {
		name, boss, clerk string
	}{
		{"its own call", "box.write(\"x\")\ndone(1)\n", ""},
		{"an agent's call", "the_clerk(\"1\")\ndone(1)\n", "box.write(\"x\")\ndone(1)\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, store := &desk{}, journal.NewMemory()
			dir := family(t, test.boss, test.clerk, rules, nil)
			appendTo(t, dir+"/agent.yaml", "  limits: {wall: 200ms}\n")
			a := built(t, dir, agents.Options{Tools: d.tools(), Store: store, Approver: silent{func() {}}})
			r := ranAs(t, a, agents.RunOptions{ID: "r"})
			if r.Status != engine.Budget || !strings.Contains(r.Reason, "limit.wall") || len(d.wrote) > 0 {
				t.Errorf("%s (%s), want that time was up", r.Status, r.Reason)
			}
			runs, err := store.Runs(t.Context(), 0)
			for _, run := range runs {
				if err != nil || run.Status == journal.StatusWaiting {
					t.Errorf("run %s: %s, %v, want that nobody is asked any more", run.ID, run.Status, err)
				}
			}
			sameAgain(t, a)
		})
	}
}

// A run that is stopped in an agent's call stops it, and goes on with it.
func TestAnAgentIsStoppedWithItsCaller(t *testing.T) {
	d, store := &desk{}, journal.NewMemory()
	ctx, stop := context.WithCancel(t.Context())
	d.hook = func(ctx context.Context, text string) error {
		if text == "second" {
			stop()
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}
	dir := family(t, "done(the_clerk(\"1\"))\n", "box.write(\"first\")\nr = box.write(\"second\")\ndone(r)\n", writeAllowed, nil)
	r, err := built(t, dir, agents.Options{Tools: d.tools(), Store: store}).Run(ctx, agents.RunOptions{ID: "r"})
	if err != nil || r.Status != engine.Cancelled || fmt.Sprint(d.wrote) != "[first]" {
		t.Fatalf("%s (%s), %v, wrote %v", r.Status, r.Reason, err, d.wrote)
	}
	last := eventsOf(t, store, "r.1.1")
	if end, err := journal.Decode[journal.RunEnded](last[len(last)-1]); err != nil || end.Status != journal.StatusCancelled {
		t.Errorf("the agent's run ended %+v, %v, want cancelled", end, err)
	}
	d.hook = nil
	// The call that was broken off may have had its effect: a person must say whether to make it again.
	r, err = built(t, dir, agents.Options{Tools: d.tools(), Store: store}).Resume(t.Context(), engine.Again{Run: "r"})
	if err != nil || r.Status != engine.Waiting || len(r.Waiting) != 1 || r.Waiting[0].Approval.Ask != gate.AskInterrupted || r.Waiting[0].Run != "r.1.1" {
		t.Fatalf("%s (%s), %v, %+v", r.Status, r.Reason, err, r.Waiting)
	}
	if fmt.Sprint(d.wrote) != "[first]" {
		t.Errorf("wrote %v", d.wrote)
	}
}

// crashing is a store that fails for good once it has so many events.
type crashing struct {
	journal.Store
	left int
}

var errCrash = errors.New("crashed")

func (s *crashing) Append(ctx context.Context, events []journal.Event, sync bool) error {
	if s.left -= len(events); s.left < 0 {
		return errCrash
	}
	return s.Store.Append(ctx, events, sync)
}

// Wherever the process ends, in the caller's run or the agent's, each call is made once when the run has been gone on with.
func TestAnAgentAfterACrash(t *testing.T) {
	const boss, clerk = "a = the_clerk(\"1\")\nb = the_clerk(\"2\")\ndone([a, b, box.read(\"9\")])\n", "x = box.read(id)\ny = box.read(id + x)\ndone(y)\n"
	want := ""
	for n := 1; n < 200; n++ {
		d, memory := &desk{}, journal.NewMemory()
		dir := family(t, boss, clerk, writeAllowed, nil)
		r, err := built(t, dir, agents.Options{Tools: d.tools(), Store: &crashing{memory, n}}).Run(t.Context(), agents.RunOptions{ID: "r"})
		if err == nil && r.Status == engine.Done {
			if n < 30 {
				t.Errorf("done after %d events", n)
			}
			return
		}
		if want == "" {
			want = ranAs(t, built(t, dir, agents.Options{Tools: d.tools()}), agents.RunOptions{}).Answer.Text()
		}
		if events, _ := memory.Read(t.Context(), "r", 1); len(events) == 0 {
			continue
		}
		r, err = built(t, dir, agents.Options{Tools: d.tools(), Store: memory}).Resume(t.Context(), engine.Again{Run: "r"})
		if errors.Is(err, journal.ErrEnded) {
			continue
		}
		if err != nil || r.Status != engine.Done || r.Answer.Text() != want {
			t.Fatalf("after %d events: %s (%s), %v, %v, want %s", n, r.Status, r.Reason, err, r.Answer, want)
		}
		a := built(t, dir, agents.Options{Tools: d.tools(), Store: memory})
		if again, err := a.Replay(t.Context(), "r", nil); err != nil || !again.Same() || len(again.Agents) < 2 {
			t.Fatalf("after %d events: replayed %+v, %v", n, again, err)
		}
	}
	t.Error("200 events were not enough")
}

func TestAgentsInAnAgentsFile(t *testing.T) {
	clerk := func(tools, more string) string {
		return "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: the-clerk}\nspec:\n  program: main.star\n  tools: [" + tools + "]\n" + more
	}
	for _, test := range []struct{ name, boss, clerk, want string }{
		{"no file", "{use: agent}", clerk("", ""), "agent.yaml:6:17: agent: file: missing"},
		{"a file that is not there", "{use: agent, file: clark/agent.yaml}", clerk("", ""), "agent.yaml:6:30: "},
		{"an option", "{use: agent, file: clerk, steps: 3}", clerk("", ""), "agent: option steps: unknown"},
		{"a tool that the caller lacks", "{use: agent, file: clerk}", clerk("{use: box.write}", ""), `clerk/agent.yaml:6:17: tool "box.write": this agent is called by boss, which was not granted it`},
		{"a tool set up anew", "{use: box}, {use: agent, file: clerk}", clerk("{use: box, root: /}", ""), "box: option root: this agent is called by boss, and has that one's tools"},
		{"a tool of its own", "{use: agent, file: clerk}", clerk("{script: main.star}", ""), "an agent that is called brings no tools of its own"},
		{"itself", "{use: agent, file: clerk}", clerk("{use: agent, file: ../agent.yaml}", ""), "calls agents that call it"},
		{"a name that is taken", "{use: agent, file: clerk}, {use: agent, file: clerk/agent.yaml}", clerk("", ""), `tool "the_clerk": granted twice`},
		{"what it returns is no schema", "{use: agent, file: clerk}", clerk("", "  returns: {type: 5}\n"), "returns"},
		{"a program that is wrong", "{use: agent, file: clerk}", clerk("{use: agent, file: ../other}", ""), "other"},
	} {
		dir := family(t, "done(1)\n", "done(1)\n", writeAllowed, map[string]string{"clerk/agent.yaml": test.clerk})
		text := strings.Replace(readText(t, dir+"/agent.yaml"), "{use: box}, {use: agent, file: clerk/agent.yaml}", test.boss, 1)
		writeText(t, dir+"/agent.yaml", text)
		p, problems := spec.Load(dir, "")
		a, more := agents.Build(t.Context(), p, agents.Options{Tools: (&desk{}).tools()})
		if a != nil {
			a.Close()
		}
		all := append(problems, more...)
		found := ""
		for _, problem := range all {
			found += problem.String() + "\n"
		}
		if !strings.Contains(found, test.want) || !spec.Fatal(all) {
			t.Errorf("%s: got\n%s\nwant %q", test.name, found, test.want)
		}
	}
}

// A tool for agents alone is none of the caller's programs'.
func TestAToolForAgentsAlone(t *testing.T) {
	d := &desk{}
	dir := family(t, "the_clerk(\"1\")\nbox.write(\"mine\")\n", "box.write(\"clerk's\")\ndone(1)\n", writeAllowed, nil)
	writeText(t, dir+"/agent.yaml", strings.Replace(readText(t, dir+"/agent.yaml"), "{use: box}", "{use: box, for: agents}", 1))
	p, problems := spec.Load(dir, "")
	a, more := agents.Build(t.Context(), p, agents.Options{Tools: d.tools()})
	if text := fmt.Sprint(append(problems, more...)); a != nil || !strings.Contains(text, "box") {
		t.Errorf("a program that calls it was built: %s", text)
	}
	writeText(t, dir+"/main.star", "done(the_clerk(\"1\"))\n")
	a = built(t, dir, agents.Options{Tools: d.tools()})
	if r := ranAs(t, a, agents.RunOptions{}); r.Status != engine.Done || fmt.Sprint(d.wrote) != "[clerk's]" {
		t.Errorf("%s (%s), wrote %v", r.Status, r.Reason, d.wrote)
	}
	if names := fmt.Sprint(a.Tools().Names()); names != "[the_clerk]" {
		t.Errorf("its tools are %s", names)
	}
}

// What an agent declares to return is checked.
func TestWhatAnAgentReturns(t *testing.T) {
	for _, test := range []struct{ clerk, want string }{{"done({\"n\": 1})", "1"}, {"done({\"n\": \"1\"})", "bad-result"}} {
		dir := family(t, "r = attempt(the_clerk, \"1\")\ndone(r.value[\"n\"] if r.ok else r.code)\n", test.clerk+"\n", writeAllowed, nil)
		appendTo(t, dir+"/clerk/agent.yaml", "  returns: {type: object, properties: {n: {type: integer}}, required: [n]}\n")
		r := ranAs(t, built(t, dir, agents.Options{Tools: (&desk{}).tools()}), agents.RunOptions{})
		if r.Status != engine.Done || strings.Trim(r.Answer.Text(), `"`) != test.want {
			t.Errorf("%s: %s (%s) %v, want %s", test.clerk, r.Status, r.Reason, r.Answer, test.want)
		}
	}
}

// An agent with a model is called as one with a program is; its model is shown what policy lets it, and its tokens are its caller's.
func TestAnAgentWithAModel(t *testing.T) {
	d := &desk{}
	dir := family(t, "done(the_clerk(\"look at 5\"))\n", "", writeAllowed, map[string]string{
		"clerk/agent.yaml": "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: the-clerk}\nspec:\n  model: {provider: recorded, recording: turns.md}\n" +
			"  tools: [{use: box.read}]\n  inputs: [{name: task}]\n",
		"clerk/turns.md": "## turn 1\n> expect: look at 5\n\n```starlark\nx = box.read(\"5\")\nprint(x)\n```\n\n## turn 2\n> expect: hidden\n\n```starlark\ndone(x)\n```\n",
	})
	r := ranAs(t, built(t, dir, agents.Options{Tools: d.tools()}), agents.RunOptions{})
	if r.Status != engine.Done || r.Answer.Text() != `"letter 5"` || r.Answer.Deep().Trust() != label.Untrusted || r.Spent.Calls != 2 {
		t.Errorf("%s (%s) %v, spent %+v", r.Status, r.Reason, r.Answer, r.Spent)
	}
}
