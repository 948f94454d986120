package agents_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"callgate/agents"
	"callgate/agents/model/modeltest"
	"callgate/engine"
	"callgate/engine/journal"
	"callgate/spec"
)

// shownTo is what tells of an observation to whom it was made, and what follows from that.
var shownTo = regexp.MustCompile(`,\{"name":"provider","value":\{"value":"(openai|anthropic)","labels":[^}]*\}\],"nodes":\[0\]\}\}|"binding":"[^"]*"`)

// A run with a server's model is played again by what was recorded of it: the same calls, labels, costs and answer.
func TestARunIsRecordedAndPlayed(t *testing.T) {
	turns := modeltest.Turns(modeltest.Fenced("x = [40, 2]\nprint(\"so far\", x)"), modeltest.Fenced("fail(\"once\")"), modeltest.Fenced("print(\"\\n\\n## turn 9\\n\")"), modeltest.Fenced("done(sum(x))"))
	still := func() time.Time { return time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC) }
	for _, provider := range []string{"openai", "anthropic"} {
		for _, style := range []string{"fenced", "tool"} {
			t.Run(provider+"/"+style, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "run.md")
				var first, second []string
				events := func(out *[]string) func(journal.Event) {
					return func(e journal.Event) {
						if e.Type != journal.RunStart && e.Type != journal.ProgramEnd {
							text := shownTo.ReplaceAllString(string(e.Payload), "")
							text = strings.NewReplacer(`"provider":"`+provider+`"`, "", `"model":"test-model"`, "", `"provider":"recorded"`, "", fmt.Sprintf(`"model":%q`, path), "").Replace(text)
							*out = append(*out, fmt.Sprintln(e.Type, e.Call, text))
						}
					}
				}
				s := modeltest.Serve(t, turns)
				r, err := served(t, s, provider, ", reply: "+style+", price: {in: 3, out: 15}", "", agents.Options{Record: path, Watch: events(&first), Clock: still}).Run(t.Context(), agents.RunOptions{ID: "r"})
				if err != nil || r.Status != engine.Done {
					t.Fatalf("%+v, %v", r, err)
				}
				dir := folder(t, map[string]string{
					"callgate.yaml": "apiVersion: callgate/v1\nkind: Host\nspec: {library: [base], principal: {sub: ana@corp.example}}\n",
					"agent.yaml": fmt.Sprintf("apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: served}\nspec:\n  model: {provider: recorded, recording: %q}\n"+
						"  inputs: [{name: task, trust: user, readers: [\"*\"], default: go}]\n", path),
				})
				p, problems := spec.Load(dir, "")
				a, wrong := agents.Build(t.Context(), p, agents.Options{Watch: events(&second), Clock: still})
				if a == nil {
					t.Fatal(problems, wrong)
				}
				defer a.Close()
				again, err := a.Run(t.Context(), agents.RunOptions{ID: "r"})
				if err != nil || again.Status != engine.Done || again.Spent != r.Spent || again.Spent.Cost == 0 {
					t.Fatalf("played: %+v, %v, want what cost %+v", again, err, r.Spent)
				}
				for i := range max(len(first), len(second)) {
					if i >= len(first) || i >= len(second) || first[i] != second[i] {
						t.Fatalf("event %d of %d and %d: recorded\n%s\nplayed\n%s", i+1, len(first), len(second), first[i:min(i+1, len(first))], second[i:min(i+1, len(second))])
					}
				}
				if b, err := os.ReadFile(path); err != nil || strings.Contains(string(b), modeltest.Key) || strings.Count(string(b), "\n## turn ") != 4 {
					t.Errorf("%s, %v", b, err)
				}
				other, err := a.Run(t.Context(), agents.RunOptions{Inputs: map[string]string{"task": "something else"}})
				if err != nil || other.Status != engine.Failed || !strings.Contains(other.Reason, "recorded -, here +\n  - go\n  + something else") {
					t.Errorf("another task: %s: %s, %v", other.Status, other.Reason, err)
				}
			})
		}
	}
}

// What is secret does not get into a recording; what cannot be recorded is not begun.
func TestWhatIsNotRecorded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.md")
	dir := folder(t, map[string]string{
		"callgate.yaml": "apiVersion: callgate/v1\nkind: Host\nspec: {library: [base], principal: {sub: ana@corp.example}}\n",
		"agent.yaml": "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: a}\nspec:\n  model: {provider: openai, name: m}\n" +
			"  inputs: [{name: task, trust: user, readers: [\"*\"], tags: [secret]}]\n",
		"program/agent.yaml": "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: b}\nspec:\n  program: main.star\n  tools: [{use: files, root: ./data}]\n",
		"program/main.star":  "done(1)\n", "program/data/x": "",
	})
	build := func(dir string, o agents.Options) (*agents.Agent, []spec.Problem) {
		p, problems := spec.Load(dir, "")
		a, more := agents.Build(t.Context(), p, o)
		if a != nil {
			t.Cleanup(func() { a.Close() })
		}
		return a, append(problems, more...)
	}
	a, _ := build(dir, agents.Options{Record: path, Model: &modeltest.Script{Replies: nil, Err: os.ErrClosed}})
	if _, err := a.Run(t.Context(), agents.RunOptions{Task: "the code is 4711"}); err != nil {
		t.Errorf("a run in which nothing was answered: %v", err)
	}
	a, _ = build(dir, agents.Options{Record: path + "2", Model: modeltest.Turns(modeltest.Fenced("x = 4711"))})
	_, err := a.Run(t.Context(), agents.RunOptions{Task: "the code is 4711"})
	b, wrong := os.ReadFile(path + "2")
	if err == nil || !strings.Contains(err.Error(), "turn 1 and what follows is not recorded: the model was shown what is secret") || wrong != nil || strings.Contains(string(b), "4711") {
		t.Errorf("got %v, %v and\n%s", err, wrong, b)
	}
	if _, err := a.Run(t.Context(), agents.RunOptions{Task: "x"}); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("over another recording: %v", err)
	}
	if a, _ = build(dir+"/program", agents.Options{Record: path + "3"}); a == nil {
		t.Fatal("not built")
	}
	if _, err := a.Run(t.Context(), agents.RunOptions{}); err == nil || !strings.Contains(err.Error(), "no model to record") {
		t.Errorf("without a model: %v", err)
	}
	if a, problems := build(dir+"/program", agents.Options{Record: dir + "/program/data/run.md"}); a != nil || !strings.Contains(fmt.Sprint(problems), "is to be recorded in ./data") {
		t.Errorf("where a tool reads: %v", problems)
	}
}
