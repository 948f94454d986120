package agents_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/agents"
	"callgate/engine"
	"callgate/engine/journal"
)

// The example: mails are sorted by a model without tools, and handed over by another agent. What the attacker's mail chose is a team.
func TestTriage(t *testing.T) {
	state, store := t.TempDir(), journal.NewMemory()
	r := ranAs(t, built(t, "../examples/triage", agents.Options{State: state, Store: store}), agents.RunOptions{ID: "t"})
	if r.Status != engine.Done || !strings.Contains(r.Answer.Text(), `"sent": ["orders@corp.example", "care@corp.example", "orders@corp.example", "security@corp.example"]`) {
		t.Fatalf("%s (%s) %v", r.Status, r.Reason, r.Answer)
	}
	var sent []string
	err := filepath.WalkDir(state, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".eml") {
			for _, line := range strings.Split(readText(t, path), "\n") {
				if to, ok := strings.CutPrefix(strings.TrimSpace(line), "To: "); ok {
					sent = append(sent, strings.Trim(to, "<>"))
				}
			}
		}
		return err
	})
	slices.Sort(sent)
	if got := strings.Join(sent, " "); err != nil || got != "care@corp.example orders@corp.example orders@corp.example security@corp.example" {
		t.Errorf("sent to %q, %v", got, err)
	}
	again, err := built(t, "../examples/triage", agents.Options{State: t.TempDir(), Store: store}).Replay(t.Context(), "t", nil)
	if err != nil || !again.Same() || len(again.Agents) != 4 {
		t.Errorf("replayed %+v, %v", again, err)
	}
}
