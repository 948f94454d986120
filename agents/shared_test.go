package agents_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"callgate/agents"
	"callgate/spec"
)

// agentIn writes an agent with some tools into a folder.
func agentIn(t *testing.T, dir, name, tools string) string {
	t.Helper()
	at := filepath.Join(dir, name)
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	text := "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: " + name + "}\nspec:\n  program: ../main.star\n  tools: [" + tools + "]\n"
	if err := os.WriteFile(filepath.Join(at, "agent.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return at
}

// buildIn builds an agent over a state folder, and returns what stood in its way.
func buildIn(t *testing.T, path, state string) string {
	t.Helper()
	p, problems := spec.Load(path, "")
	a, more := agents.Build(t.Context(), p, agents.Options{State: state})
	if a != nil {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
	var out []string
	for _, p := range append(problems, more...) {
		if !p.Warn {
			out = append(out, p.String())
		}
	}
	return strings.Join(out, "\n")
}

func TestAgentsOfOneStateFolderSeeAPlaceUnderOneLabel(t *testing.T) {
	const (
		reads   = "{use: files, root: ../data}"
		writes  = "{use: files, root: ../data, write: true}"
		trusts  = "{use: csv, root: ../data, trust: internal}"
		above   = "{use: csv, root: .., trust: internal}"
		other   = "{use: csv, root: ../other, trust: internal}"
		clashes = `has used this state folder`
	)
	for _, test := range []struct {
		name   string
		agents [][2]string // name and tools, one after the other
		want   string      // of the last
	}{
		{"each its own", [][2]string{{"a", writes}, {"b", other}}, ""},
		{"one label", [][2]string{{"a", writes}, {"b", reads}}, ""},
		{"what a stranger wrote, read as trusted", [][2]string{{"a", writes}, {"b", trusts}}, clashes},
		{"the other way round", [][2]string{{"a", trusts}, {"b", writes}}, clashes},
		{"declared otherwise", [][2]string{{"a", reads}, {"b", trusts}}, clashes},
		{"a folder that it is in", [][2]string{{"a", writes}, {"b", above}}, clashes},
		{"itself, once it has written", [][2]string{{"a", writes}, {"a", trusts}}, clashes},
		{"itself, when it had only read", [][2]string{{"a", reads}, {"a", trusts}}, ""},
		{"one that was refused has left nothing", [][2]string{{"a", writes}, {"b", trusts}, {"c", writes}}, ""},
		{"one that has gone over to another place", [][2]string{{"a", reads}, {"a", other}, {"b", trusts}}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := folder(t, map[string]string{"callgate.yaml": strings.Replace(host, "  policies: [./policies]\n", "", 1), "main.star": "done(1)\n", "data/x.csv": "a\n1\n", "other/y.csv": "a\n1\n"})
			state := t.TempDir()
			var got string
			for _, a := range test.agents {
				got = buildIn(t, agentIn(t, dir, a[0], a[1]), state)
			}
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if test.want != "" && (!strings.Contains(got, "agent.yaml:6:") || !strings.Contains(got, "hint: give both the same trust")) {
				t.Errorf("got %q, want where it is and what to do", got)
			}
		})
	}
}

// Two agents that do not agree and begin at once do not both begin.
func TestAgentsThatBeginAtOnceDoNotBothSeeAPlaceTheirWay(t *testing.T) {
	dir := folder(t, map[string]string{"callgate.yaml": strings.Replace(host, "  policies: [./policies]\n", "", 1), "main.star": "done(1)\n", "data/x.csv": "a\n1\n"})
	one, two := agentIn(t, dir, "a", "{use: files, root: ../data, write: true}"), agentIn(t, dir, "b", "{use: csv, root: ../data, trust: internal}")
	for range 20 {
		state := t.TempDir()
		got := make([]string, 2)
		var both sync.WaitGroup
		for i, path := range []string{one, two} {
			both.Go(func() { got[i] = buildIn(t, path, state) })
		}
		both.Wait()
		if got[0] == "" && got[1] == "" {
			t.Fatal("both began")
		}
	}
}
