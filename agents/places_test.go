package agents_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/agents"
	"callgate/builtins"
	"callgate/spec"
)

// folder writes files into a new folder and returns it.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	seed = "CREATE TABLE orders (id TEXT PRIMARY KEY, vendor TEXT, amount INTEGER, currency TEXT, status TEXT);\n" +
		"CREATE TABLE payments (order_id TEXT NOT NULL UNIQUE, iban TEXT, amount INTEGER, currency TEXT, memo TEXT, paid_at TEXT, call_key TEXT);\n"
	host   = "apiVersion: callgate/v1\nkind: Host\nspec:\n  principal: {sub: ana@corp.example}\n  library: [base]\n  policies: [./policies]\n"
	policy = "apiVersion: callgate/v1\nkind: Policy\nmetadata: {name: all}\nspec: {rego: {modules: [../rules/all.rego]}}\n"
	module = "package callgate.policy.all\n\nimport rego.v2\n\nallow contains \"all.tool\" if input.call.kind == \"tool\"\n"
)

// fatal returns the problems of an agent with some tools, warnings aside.
func fatal(t *testing.T, tools string, more string) string {
	t.Helper()
	dir := folder(t, map[string]string{
		"callgate.yaml": host, "policies/all.yaml": policy, "rules/all.rego": module, "seed.sql": seed, "mail/a.eml": "From: a@b.example\n\nx", "data/x.txt": "x",
		"agent/agent.yaml":   "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: places}\nspec:\n  program: ../programs/main.star\n  tools:\n" + tools + more,
		"programs/main.star": "done(1)\n", "agent/data/y.txt": "y",
	})
	state := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "mail"), filepath.Join(dir, "agent", "link")); err != nil {
		t.Fatal(err)
	}
	p, problems := spec.Load(filepath.Join(dir, "agent"), "")
	a, built := agents.Build(t.Context(), p, agents.Options{State: state, Journal: filepath.Join(state, "journal.db")})
	if a != nil {
		defer a.Close()
	}
	var out []string
	for _, p := range append(problems, built...) {
		if !p.Warn {
			out = append(out, strings.ReplaceAll(p.String(), dir+"/", ""))
		}
	}
	return strings.Join(out, "\n")
}

func TestWhatToolsReachStaysApart(t *testing.T) {
	const (
		hint    = "\nhint: give each a place of its own, or the same trust, readers and tags"
		own     = "\nhint: name a folder that holds nothing else"
		decided = "programs do not change what they are decided by"
	)
	for _, test := range []struct {
		name  string
		tools string
		want  string
	}{
		{"each a place of its own", "  - {use: mail, root: ../mail}\n  - {use: files, root: ./data, write: true}\n  - {use: csv, root: ../data, trust: internal}\n", ""},
		{"one place, one label", "  - {use: files, root: ./data, write: true}\n  - {use: csv, root: data/, write: true}\n", ""},
		{"a stranger's mails in a folder that is trusted",
			"  - {use: mail, root: ../mail}\n  - {use: csv, root: .., trust: internal}\n",
			"agent/agent.yaml:8:22: csv: reads .. as internal/{ana@corp.example}, and mail, in ../mail, reads it as untrusted/{ana@corp.example}" + hint},
		{"… through a link",
			"  - {use: mail, root: ./link}\n  - {use: csv, root: ../mail, trust: internal}\n",
			"agent/agent.yaml:8:22: csv: reads ../mail as internal/{ana@corp.example}, and mail, in ./link, reads it as untrusted/{ana@corp.example}" + hint},
		{"a folder within, where more is trusted than around it", "  - {use: files, root: ..}\n  - {use: csv, root: ./data, trust: internal}\n", ""},
		{"… unless what is around it is written",
			"  - {use: files, root: d, in: state, write: true}\n  - {use: csv, root: d/e, in: state, trust: internal}\n",
			"agent/agent.yaml:8:22: csv: reads d/e as internal/{ana@corp.example}, and files, in d, writes there what is untrusted/{ana@corp.example}" + hint},
		{"written untrusted, and read trusted",
			"  - {use: files, root: d, in: state, write: true}\n  - {use: csv, root: d, in: state, trust: internal}\n",
			"agent/agent.yaml:8:22: csv: reads d as internal/{ana@corp.example}, and files, in d, writes there what is untrusted/{ana@corp.example}" + hint},
		{"the reader of files does not write", "  - {use: files.read, root: ./data, write: true, trust: internal}\n  - {use: csv, root: ./data, trust: internal}\n", ""},
		{"private, and read as public",
			"  - {use: files, root: ./data}\n  - {use: csv, root: ./data, readers: [\"*\"]}\n",
			"agent/agent.yaml:8:22: csv: reads ./data as untrusted/public, and files, in ./data, reads it as untrusted/{ana@corp.example}" + hint},
		{"one database under two labels",
			"  - {use: sql, database: l.db, seed: ../seed.sql, write: true}\n  - {use: payments, database: ./l.db}\n",
			"agent/agent.yaml:8:31: payments: reads ./l.db as internal/{ana@corp.example}, and sql, in l.db, writes there what is untrusted/{ana@corp.example}" + hint},
		{"a database in a folder of files",
			"  - {use: payments, database: d/l.db, seed: ../seed.sql}\n  - {use: files, root: d, in: state, trust: user, write: true}\n",
			"agent/agent.yaml:8:24: files: reads d as user/{ana@corp.example}, and payments, in d/l.db, writes there what is internal/{ana@corp.example}" + hint},
		{"what was sent, read back as mail",
			"  - {use: mail, root: ../mail, from: ana@corp.example}\n  - {use: files, root: outbox, in: state}\n",
			"agent/agent.yaml:8:24: files: reads outbox as untrusted/{ana@corp.example}, and mail, in ./outbox, puts anything there" + hint},
		{"the journal", "  - {use: files, root: ., in: state}\n",
			"agent/agent.yaml:7:24: files: the journal is in ., and tools do not reach it\nhint: keep the state folder elsewhere, or name a folder that does not hold it"},
		{"the folder of the agent", "  - {use: files, root: ., write: true}\n",
			"agent/agent.yaml:7:24: files: writes to ., where agent/agent.yaml is: " + decided + own},
		{"the folder of the policies", "  - {use: csv, root: ../policies, write: true}\n",
			"agent/agent.yaml:7:22: csv: writes to ../policies, where policies is: " + decided + own},
		{"the folder of the rules", "  - {use: csv, root: ../rules, write: true}\n",
			"agent/agent.yaml:7:22: csv: writes to ../rules, where rules/all.rego is: " + decided + own},
		{"the folder of the program", "  - {use: csv, root: ../programs, write: true}\n",
			"agent/agent.yaml:7:22: csv: writes to ../programs, where programs/main.star is: " + decided + own},
		{"reading all of them", "  - {use: files, root: ..}\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := fatal(t, test.tools, ""); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// What an agent's file declares of tools that declare themselves only makes them stricter.
func TestAnAgentDoesNotDeclareAwayWhatItsToolsAre(t *testing.T) {
	got := fatal(t, "  - {use: post}\n", `---
apiVersion: callgate/v1
kind: Toolset
metadata: {name: post}
spec:
  tools: [{use: mail, root: ../mail, from: ana@corp.example}]
  declare:
  - {tool: mail.send, effects: [read], sinks: {to: none}}
  - {tool: mail.read, label: user/public, of: vendors.csv}
  - {tool: mail.list, label: "untrusted/{}#pii", effects: [read, egress]}
`)
	const hint = "\nhint: what a tool says of itself can only be made stricter"
	want := strings.Join([]string{
		"agent/agent.yaml:15:5: declare: mail.send: effects: got [read], want write among them: the tool says that it has it" + hint,
		"agent/agent.yaml:15:5: declare: mail.send: sinks: to: got none, want recipient: the tool says that it is one" + hint,
		"agent/agent.yaml:16:5: declare: mail.read: label of the result: got user/public, want one that the tool's own, untrusted/{ana@corp.example}, flows to" + hint,
	}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestInputsHaveNamesOfTheirOwn(t *testing.T) {
	dir := folder(t, map[string]string{
		"agent.yaml": "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: names}\nspec:\n  tools: [{use: clock}]\n" +
			"  inputs: [{name: task}, {name: clock}, {name: done}]\n  model: {provider: recorded, recording: turns.md}\n",
		"turns.md": "## turn 1\n\n```starlark\ndone(1)\n```\n",
	})
	p, problems := spec.Load(dir, "")
	_, more := agents.Build(t.Context(), p, agents.Options{})
	var got []string
	for _, p := range append(problems, more...) {
		if !p.Warn {
			got = append(got, strings.ReplaceAll(p.Pos.String()+": "+p.Text, dir+"/", ""))
		}
	}
	want := []string{"agent.yaml:6:26: input \"clock\": there is a tool of that name", "agent.yaml:6:41: input \"done\": the language has that name"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAnAgentsFileUsesToolsOfTheHost(t *testing.T) {
	for _, test := range []struct{ name, use, want string }{
		{"by name", "stock.level", ""},
		{"as a group", "stock", ""},
		{"one that is not there", "stock.levle", "agent.yaml:5:17: unknown tool \"stock.levle\"\nhint: did you mean \"stock.level\"?"},
		{"with an option", "stock, root: .", "agent.yaml:5:24: stock: option root: unknown\nhint: it has no options"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := folder(t, map[string]string{
				"agent.yaml": "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: stock}\nspec:\n  tools: [{use: " + test.use + "}]\n  program: main.star\n",
				"main.star":  "done(1)\n",
			})
			level := &builtins.Tool{Name: "stock.level", Doc: "x", Effects: builtins.Read, Run: func(context.Context, *builtins.Invocation) (any, error) { return 1, nil }}
			p, problems := spec.Load(dir, "")
			a, more := agents.Build(t.Context(), p, agents.Options{Tools: []*builtins.Tool{level}})
			if a != nil {
				defer a.Close()
			}
			var got []string
			for _, p := range append(problems, more...) {
				if !p.Warn {
					got = append(got, strings.ReplaceAll(p.String(), dir+"/", ""))
				}
			}
			if strings.Join(got, "\n") != test.want || (a == nil) != (test.want != "") {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
