package agents_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"callgate/agents"
	"callgate/agents/model"
	"callgate/agents/model/modeltest"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/policies"
	"callgate/spec"
)

var update = flag.Bool("update", false, "write what tasks come to into their files")

// readTask reads a task: the folder of the office with what the task changes in it, the task, what it comes to, and the one style of reply that it is about; "": any.
func readTask(t *testing.T, file string) (files map[string]string, task, want, style string) {
	t.Helper()
	office, err := txtar.ParseFile("testdata/office.txtar")
	if err != nil {
		t.Fatal(err)
	}
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for _, f := range append(office.Files, ar.Files...) {
		files[f.Name] = string(f.Data)
	}
	task, want, style = strings.TrimSpace(files["task"]), files["want"], strings.TrimSpace(files["style"])
	for _, name := range []string{"task", "want", "style"} {
		delete(files, name)
	}
	return files, task, want, style
}

// outcome says what came of a run: how it ended, what it answered, what was refused or asked, what was done.
func outcome(t *testing.T, r agents.Result, events []journal.Event) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s after %d turns\n", r.Status, r.Turns)
	if r.Reason != "" {
		fmt.Fprintf(&b, "reason %s\n", r.Reason)
	}
	if r.Answer != nil {
		text, err := json.Marshal(r.Answer.Plain())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "answer %s  %s\n", text, r.Answer.Deep())
	}
	decided := map[string]journal.DecisionMade{}
	for _, e := range events {
		switch e.Type {
		case journal.Decided:
			d, err := journal.Decode[journal.DecisionMade](e)
			if err != nil {
				t.Fatal(err)
			}
			decided[e.Call] = d
			var rules []string
			for _, r := range d.Decision.Reasons {
				if r.Effect == d.Decision.Effect && !slices.Contains(rules, r.ID) {
					rules = append(rules, r.ID)
				}
			}
			if d.Decision.Effect != policies.Allow {
				fmt.Fprintf(&b, "%s %s %s: %s\n", e.Call, d.Decision.Effect, d.Tool, strings.Join(rules, " "))
			}
		case journal.CallStart:
			d := decided[e.Call]
			if slices.Equal(d.Effects, []string{"read"}) {
				continue
			}
			var args []string
			for _, a := range d.Args {
				text, err := json.Marshal(a.Value.Plain())
				if err != nil {
					t.Fatal(err)
				}
				args = append(args, a.Name+" = "+string(text))
			}
			fmt.Fprintf(&b, "%s %s(%s)\n", e.Call, d.Tool, strings.Join(args, ", "))
		}
	}
	return b.String()
}

// runTask does a task in a folder with its model, and says what came of it.
func runTask(t *testing.T, dir, task string) (string, agents.Result) {
	t.Helper()
	p, problems := spec.Load(dir, "")
	var events []journal.Event
	a, more := agents.Build(t.Context(), p, agents.Options{
		State: t.TempDir(), Approver: gate.ApproveAll{}, Watch: func(e journal.Event) { events = append(events, e) },
		Clock: func() time.Time { return time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC) },
	})
	if problems = append(problems, more...); spec.Fatal(problems) {
		t.Fatal(problems)
	}
	defer a.Close()
	r, err := a.Run(t.Context(), agents.RunOptions{Task: task})
	if err != nil {
		t.Fatal(err)
	}
	return outcome(t, r, events), r
}

// TestTasks does everyday tasks with a model whose replies stand in their files: played as a recording, and served in both protocols, in both styles
// of reply. Each comes to the same.
func TestTasks(t *testing.T) {
	names, err := filepath.Glob("testdata/tasks/*.txtar")
	if err != nil || len(names) < 60 {
		t.Fatalf("%d tasks, error %v, want 60", len(names), err)
	}
	t.Setenv("TEST_KEY", modeltest.Key)
	for i, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			files, task, want, only := readTask(t, name)
			spec := files["agent.yaml"]
			files["agent.yaml"] = spec + "  model: {provider: recorded, recording: turns.md}\n"
			dir := folder(t, files)
			got, r := runTask(t, dir, task)
			if *update {
				text, err := os.ReadFile(name)
				if err == nil {
					before, _, _ := strings.Cut(string(text), "-- want --\n")
					err = os.WriteFile(name, []byte(before+"-- want --\n"+got), 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
				want = got
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("want -, got +\n%s\n%v", diff, r.Model)
			}
			for j, provider := range []string{"openai", "anthropic"} {
				for k, style := range []string{"fenced", "tool"} {
					if only != "" && style != only || testing.Short() && (i+j+2*k)%4 != 0 {
						continue
					}
					turns, wrong := model.LoadRecording(filepath.Join(dir, "turns.md"))
					if wrong != nil {
						t.Fatal(wrong)
					}
					server := modeltest.Serve(t, turns)
					files["agent.yaml"] = spec + fmt.Sprintf("  model: {provider: %s, name: test-model, baseURL: %q, key: {env: TEST_KEY}, reply: %s}\n", provider, server.Config(provider).BaseURL, style)
					got, r := runTask(t, folder(t, files), task)
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%s, %s: want -, got +\n%s\n%v", provider, style, diff, r.Model)
					}
				}
			}
		})
	}
}
