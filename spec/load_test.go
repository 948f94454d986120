package spec

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what the tests find as what they want")

// TestProblems runs the archives of testdata/problems: files, how to load them, and every
// problem that must come of it.
func TestProblems(t *testing.T) {
	archives, err := filepath.Glob("testdata/problems/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			archive, err := filepath.Abs(name)
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			run, want := "", -1
			for i, f := range ar.Files {
				switch f.Name {
				case "run":
					run = string(f.Data)
				case "want":
					want = i
				default:
					write(t, f.Name, string(f.Data))
				}
			}
			var got strings.Builder
			for _, line := range strings.Split(strings.TrimSpace(run), "\n") {
				for _, p := range load(t, line) {
					got.WriteString(p.String() + "\n")
				}
			}
			if *update {
				ar.Files[want].Data = []byte(got.String())
				if err := os.WriteFile(archive, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(ar.Files[want].Data), got.String()); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// load runs a line such as "agent PATH".
func load(t *testing.T, line string) (ps []Problem) {
	how, path, _ := strings.Cut(line, " ")
	switch how {
	case "agent":
		_, _, ps = FindAgent(path)
	case "file":
		_, ps = LoadFile(path)
	case "policies":
		_, ps = LoadPolicies(path)
	case "load":
		_, ps = Load(path, "")
	default:
		t.Fatalf("run: %q", line)
	}
	return ps
}

// write makes a file and the folders that it needs.
func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestFilesOfAProject(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "callgate.yaml", "apiVersion: callgate/v1\nkind: Host\nspec:\n  policies: [policies]\n  params: {mail: {file: book.yaml}}\n")
	write(t, "book.yaml", "[a]\n")
	write(t, "policies/p.yaml", "apiVersion: callgate/v1\nkind: Policy\nmetadata: {name: p}\nspec:\n  params: {more: {file: lists/more.json}}\n  cel: {rules: [{id: p.x, action: deny, when: 'true'}]}\n")
	write(t, "policies/lists/more.json", "{}")
	write(t, "policies/lists/gone.yaml", "apiVersion: callgate/v1\nkind: Policy\nmetadata: {name: q}\nspec:\n  params: {more: {file: none.json}}\n  cel: {rules: [{id: q.x, action: deny, when: 'true'}]}\n")
	write(t, "a/agent.yaml", "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: a}\nspec:\n  instructions: {file: prompt.md}\n  model: {provider: openai, name: x}\n  policies: [own.yaml]\n")
	write(t, "a/prompt.md", "Be brief.")
	write(t, "a/own.yaml", "apiVersion: callgate/v1\nkind: Policy\nmetadata: {name: p}\nspec:\n  cel: {rules: [{id: own.x, action: deny, when: 'true'}]}\n")
	p, ps := Load("a", "")
	want := "a/agent.yaml a/own.yaml a/prompt.md book.yaml callgate.yaml policies policies/lists policies/lists/gone.yaml policies/lists/more.json policies/lists/none.json policies/p.yaml"
	if got := strings.Join(p.Files, " "); got != want {
		t.Errorf("files\n%s\nwant\n%s", got, want)
	}
	var got []string
	for _, p := range ps {
		got = append(got, p.String())
	}
	if len(got) != 2 || !strings.Contains(got[0], `own.yaml:3:18: Policy "p": declared twice, first at policies/p.yaml:3:18`) || !strings.Contains(got[1], "none.json: no such file") {
		t.Errorf("problems %q", got)
	}
}
