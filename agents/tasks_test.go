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
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/policies"
	"callgate/spec"
)

var update = flag.Bool("update", false, "write what tasks come to into their files")

// readTask reads a task: the folder of the office with what the task changes in it, what its file is, and what the task is.
func readTask(t *testing.T, file string) (dir, task, want string) {
	t.Helper()
	office, err := txtar.ParseFile("testdata/office.txtar")
	if err != nil {
		t.Fatal(err)
	}
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range append(office.Files, ar.Files...) {
		files[f.Name] = string(f.Data)
	}
	files["agent.yaml"] += "  model: {provider: recorded, recording: turns.md}\n"
	task, want = strings.TrimSpace(files["task"]), files["want"]
	delete(files, "task")
	delete(files, "want")
	return folder(t, files), task, want
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

// TestTasks does everyday tasks with the replies that stand in their files.
func TestTasks(t *testing.T) {
	files, err := filepath.Glob("testdata/tasks/*.txtar")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d tasks, error %v, want 60", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			dir, task, want := readTask(t, file)
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
			got := outcome(t, r, events)
			if *update {
				text, err := os.ReadFile(file)
				if err == nil {
					before, _, _ := strings.Cut(string(text), "-- want --\n")
					err = os.WriteFile(file, []byte(before+"-- want --\n"+got), 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("want -, got +\n%s\n%v", diff, r.Model)
			}
		})
	}
}
