package agents

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/engine"
	"callgate/engine/journal"
	"callgate/spec"
)

// readerProgram reads a file three times, and says what became of it.
const readerProgram = `
out = []
for i in range(3):
    r = attempt(files.read, path = "a.txt")
    out.append("read" if r.ok else r.code)
done("; ".join(out))
`

const allowAll = "package callgate.policy.p\n\nimport rego.v2\n\nallow contains \"p.all\" if true\n"

// watchedAgent is an agent whose files change while it runs.
type watchedAgent struct {
	*Agent
	t      *testing.T
	dir    string
	events []journal.Event
	told   []string
}

// newWatched makes the reader in a folder of files besides those given; one given as "" is not there. After the i-th reading change[i] is called.
func newWatched(t *testing.T, files map[string]string, change map[int]func(w *watchedAgent)) *watchedAgent {
	t.Helper()
	w := &watchedAgent{t: t, dir: t.TempDir()}
	w.write("callgate.yaml", "apiVersion: callgate/v1\nkind: Host\nspec:\n  principal: {sub: ana@corp.example}\n  policies: [./policies]\n")
	w.write("agent.yaml", "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: reader}\nspec:\n  program: main.star\n  tools: [{use: files, root: ./data, trust: user}]\n")
	w.write("main.star", readerProgram)
	w.write("data/a.txt", "hello")
	w.write("policies/p.yaml", "apiVersion: callgate/v1\nkind: Policy\nmetadata: {name: p}\nspec:\n  rego: {modules: [./rego/p.rego]}\n")
	w.write("policies/rego/p.rego", allowAll)
	for name, text := range files {
		w.write(name, text)
		if text == "" {
			os.Remove(filepath.Join(w.dir, name))
		}
	}
	read := func() (*spec.Project, []spec.Problem) { return spec.Load(w.dir, "") }
	p, problems := read()
	n := 0
	a, more := Build(t.Context(), p, Options{
		Reread: read,
		Told: func(ps []spec.Problem) {
			text := "in use"
			if spec.Fatal(ps) {
				text = "refused"
			}
			for _, p := range ps {
				text += ", " + strings.ReplaceAll(p.Text, w.dir, "")
			}
			w.told = append(w.told, text)
		},
		Watch: func(e journal.Event) {
			w.events = append(w.events, e)
			if d, err := journal.Decode[journal.DecisionMade](e); err == nil && d.Tool == "files.read" {
				if f := change[n]; f != nil {
					f(w)
				}
				n++
			}
		},
	})
	if problems = append(problems, more...); spec.Fatal(problems) {
		t.Fatal(problems)
	}
	w.Agent = a
	t.Cleanup(func() { a.Close() })
	a.pdp.(*watcher).every, a.pdp.(*watcher).still = 0, 0
	return w
}

func (w *watchedAgent) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		w.t.Fatal(err)
	}
}

// run runs the agent and returns its answer, and the reloads that the journal has.
func (w *watchedAgent) run() (answer string, reloads []string) {
	w.t.Helper()
	r, err := w.Run(w.t.Context(), RunOptions{})
	if err != nil || r.Status != engine.Done {
		w.t.Fatalf("%s %s, error %v", r.Status, r.Reason, err)
	}
	revision := ""
	for _, e := range w.events {
		if s, err := journal.Decode[journal.RunStarted](e); err == nil {
			revision = s.Revision
		}
		if p, err := journal.Decode[journal.PoliciesReloaded](e); err == nil {
			if p.From != revision || (p.Revision == p.From) != (p.Problems != nil) {
				w.t.Errorf("recorded %+v after revision %s", p, revision)
			}
			revision = p.Revision
			reloads = append(reloads, fmt.Sprintf("%d problems", len(p.Problems)))
		}
		if d, err := journal.Decode[journal.DecisionMade](e); err == nil && d.Decision.Revision != revision {
			w.t.Errorf("call %s is decided under %s and not under %s", e.Call, d.Decision.Revision, revision)
		}
	}
	return r.Answer.Str, reloads
}

// redate gives a file another text of the same size, and the time that it had.
func (w *watchedAgent) redate(name, from, to string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	info, err := os.Stat(path)
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(text, []byte(from)) || len(from) != len(to) {
		w.t.Fatalf("%s: %v, want %q in it", name, err, from)
	}
	w.write(name, strings.Replace(string(text), from, to, 1))
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		w.t.Fatal(err)
	}
}

// bundleOf is an archive with one module.
func bundleOf(t *testing.T, module string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	err := w.WriteHeader(&tar.Header{Name: "p.rego", Mode: 0o600, Size: int64(len(module))})
	if err == nil {
		_, err = w.Write([]byte(module))
	}
	if err := errors.Join(err, w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPoliciesThatChangeWhileAnAgentRuns(t *testing.T) {
	const (
		denies   = "deny contains \"p.no\" if input.call.tool == \"files.read\"\n"
		broken   = "deny contains \"p.no\" if {\n"
		module   = "policies/rego/p.rego"
		policyOf = "apiVersion: callgate/v1\nkind: Policy\nmetadata: {name: %s}\nspec:\n"
		celNo    = "  cel: {rules: [{id: q.no, action: deny, when: \"call.tool == 'files.read' && 'a.txt' in params.list\"}]}\n"
		reads    = "read; read; read"
		refuses  = "read; denied (p.no); denied (p.no)"
	)
	byCEL := fmt.Sprintf(policyOf, "q") + "  params: {list: {file: list.yaml}}\n" + celNo
	byBundle := fmt.Sprintf(policyOf, "p") + "  rego: {bundle: ./p.tar.gz}\n"
	type changes = map[int]func(w *watchedAgent) // after the n-th call was decided
	writes := func(name, text string) func(w *watchedAgent) { return func(w *watchedAgent) { w.write(name, text) } }
	for _, test := range []struct {
		name    string
		files   map[string]string
		change  changes
		answer  string
		reloads string // that the journal has
		told    string
	}{
		{"nothing changes", nil, nil, reads, "", ""},
		{
			"a module: the next call is decided anew",
			nil, changes{0: writes(module, allowAll+denies)}, refuses, "0 problems", "in use",
		},
		{
			"a broken module is refused, and said once", nil, changes{0: writes(module, allowAll+broken)},
			reads, "1 problems", "refused, unexpected eof token",
		},
		{
			"one that is repaired", nil, changes{0: writes(module, allowAll+broken), 1: writes(module, allowAll+denies)},
			"read; read; denied (p.no)", "1 problems, 0 problems", "refused, unexpected eof token; in use",
		},
		{
			"one that is as it was again", nil, changes{0: writes(module, allowAll+broken), 1: writes(module, allowAll)},
			reads, "1 problems", "refused, unexpected eof token",
		},
		{
			"a comment in a document, which changes nothing", nil,
			changes{0: writes("policies/p.yaml", "# why\n"+fmt.Sprintf(policyOf, "p")+"  rego: {modules: [./rego/p.rego]}\n")}, reads, "", "",
		},
		{
			"a policy is added", map[string]string{"policies/list.yaml": "[a.txt]"}, changes{0: writes("policies/q.yaml", byCEL)},
			"read; denied (q.no); denied (q.no)", "0 problems", "in use",
		},
		{
			"a file of parameters", map[string]string{"policies/q.yaml": byCEL, "policies/list.yaml": "[]"}, changes{1: writes("policies/list.yaml", "[b, a.txt]")},
			"read; read; denied (q.no)", "0 problems", "in use",
		},
		{
			"the agent's own policy", map[string]string{
				"agent.yaml": "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: reader}\nspec:\n  program: main.star\n  tools: [{use: files, root: ./data, trust: user}]\n  policies: [own.yaml]\n",
				"own.yaml":   fmt.Sprintf(policyOf, "own") + "  cel: {rules: [{id: own.no, action: deny, when: 'false'}]}\n",
			}, changes{1: writes("own.yaml", fmt.Sprintf(policyOf, "own")+"  cel: {rules: [{id: own.no, action: deny, when: \"call.tool == 'files.read'\"}]}\n")},
			"read; read; denied (own.no)", "0 problems", "in use",
		},
		{
			"the host's file goes", nil, changes{0: func(w *watchedAgent) { os.Remove(filepath.Join(w.dir, "callgate.yaml")) }},
			reads, "1 problems", "refused, it said which policies there are, and does no longer",
		},
		{
			"a bundle", map[string]string{"policies/p.yaml": byBundle, module: "", "policies/p.tar.gz": bundleOf(t, allowAll)},
			changes{0: writes("policies/p.tar.gz", bundleOf(t, allowAll+denies))}, refuses, "0 problems", "in use",
		},
		{
			"a bundle that is cut off", map[string]string{"policies/p.yaml": byBundle, module: "", "policies/p.tar.gz": bundleOf(t, allowAll)},
			changes{0: writes("policies/p.tar.gz", bundleOf(t, allowAll+denies)[:60])}, reads, "1 problems",
			"refused, bundle /policies/p.tar.gz: not a .tar.gz: unexpected EOF",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWatched(t, test.files, test.change)
			answer, reloads := w.run()
			if answer != test.answer {
				t.Errorf("answer %q, want %q", answer, test.answer)
			}
			if got := strings.Join(reloads, ", "); got != test.reloads {
				t.Errorf("the journal has %q, want %q", got, test.reloads)
			}
			if got := strings.Join(w.told, "; "); got != test.told {
				t.Errorf("told %q, want %q", got, test.told)
			}
		})
	}
}

func TestWhatWasPermittedIsForgottenWhenThePoliciesChange(t *testing.T) {
	w := newWatched(t, map[string]string{"main.star": "for i in range(3):\n    len(\"abc\")\n    files.read(path = \"a.txt\")\n"}, map[int]func(*watchedAgent){
		0: func(w *watchedAgent) {
			w.write("policies/rego/p.rego", allowAll+"deny contains \"p.no\" if input.call.tool == \"len\"\n")
		},
	})
	r, err := w.Run(t.Context(), RunOptions{})
	if err != nil || r.Status != engine.Refused || !strings.HasSuffix(r.Reason, "main.star:2:8: denied (p.no)") {
		t.Errorf("%s %s, error %v", r.Status, r.Reason, err)
	}
	if r.Counts.Builtins["len"] != 1 || r.Counts.Allowed != 2 {
		t.Errorf("allowed %d calls, and len %d times", r.Counts.Allowed, r.Counts.Builtins["len"])
	}
}

func TestAChangeThatLeavesSizeAndTimeIsSeenWhenFilesAreRead(t *testing.T) {
	w := newWatched(t, map[string]string{"policies/rego/p.rego": allowAll + "deny contains \"p.no\" if input.call.tool == \"files.none\"\n"}, map[int]func(*watchedAgent){
		0: func(w *watchedAgent) { w.redate("policies/rego/p.rego", "files.none", "files.read") },
	})
	w.pdp.(*watcher).reads = 0
	if answer, _ := w.run(); answer != "read; denied (p.no); denied (p.no)" {
		t.Errorf("answer %q", answer)
	}
}

func TestFilesThatAreBeingWrittenAreLeftAlone(t *testing.T) {
	old := time.Now().Add(-2 * time.Hour)
	const module = "policies/rego/p.rego"
	w := newWatched(t, nil, map[int]func(*watchedAgent){
		0: func(w *watchedAgent) {
			w.write(module, allowAll+"deny contains \"p.no\" if input.call.tool == \"files.read\"\n")
		},
		1: func(w *watchedAgent) {
			for _, path := range w.pdp.(*watcher).list {
				if err := os.Chtimes(path, old, old); err != nil {
					t.Error(err)
				}
			}
		},
	})
	w.pdp.(*watcher).still = time.Hour
	if answer, reloads := w.run(); answer != "read; read; denied (p.no)" || len(reloads) != 1 {
		t.Errorf("answer %q, reloads %v", answer, reloads)
	}
}
