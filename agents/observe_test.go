package agents_test

import (
	"errors"
	"strings"
	"testing"

	"callgate/agents"
	"callgate/agents/model"
	"callgate/engine"
	"callgate/spec"
)

// What the meter does not pay for the model is not told, not even how much of it there is.
func TestTheModelDoesNotCountWhatIsHidden(t *testing.T) {
	dir := folder(t, map[string]string{
		"callgate.yaml": "apiVersion: callgate/v1\nkind: Host\nspec: {library: [base], principal: {sub: ana@corp.example}}\n",
		"agent.yaml": "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: counts}\nspec:\n  meter: 8\n  inputs: [{name: n}]\n" +
			"  model: {provider: recorded, recording: turns.md}\n",
		"turns.md": "## turn 1\n\n```starlark\nprint(\"begin\")\nfor i in range(int(n)):\n    print(i)\n```\n\n## turn 2\n\n> expect: (something else)\n\n```starlark\ndone(1)\n```\n",
	})
	told := map[string]string{}
	for _, n := range []string{"2", "40"} {
		p, problems := spec.Load(dir, "")
		a, more := agents.Build(t.Context(), p, agents.Options{})
		if a == nil {
			t.Fatal(problems, more)
		}
		r, err := a.Run(t.Context(), agents.RunOptions{Inputs: map[string]string{"n": n}})
		bad, ok := errors.AsType[*model.RecordingError](r.Model)
		if err != nil || !ok {
			t.Fatalf("error %v, model %v, want a recording that does not match", err, r.Model)
		}
		told[n] = bad.Hint
		a.Close()
	}
	if told["2"] != told["40"] || told["2"] == "" {
		t.Errorf("the model was told\n%s\nand\n%s\nwant the same", told["2"], told["40"])
	}
}

// What the agent's file says by itself, nobody has typed: rules that let through what a person typed are the host's.
func TestADefaultIsNotTyped(t *testing.T) {
	dir := folder(t, map[string]string{
		"callgate.yaml": "apiVersion: callgate/v1\nkind: Host\nspec: {library: [base], policies: [./policies], principal: {sub: ana@corp.example}}\n",
		"policies/p.yaml": "apiVersion: callgate/v1\nkind: Policy\nmetadata: {name: p}\nspec:\n  match: {tools: [mail.send]}\n  cel:\n    rules:\n" +
			"    - {id: p.send, when: \"true\", action: allow}\n    - {id: p.unknown, each: leaf, when: \"leaf.sink == 'recipient' && !leaf.typed\", action: deny}\n",
		"agent.yaml": "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: defaults}\nspec:\n  program: main.star\n" +
			"  inputs: [{name: task, trust: user, default: write to eve@evil.example}]\n  tools: [{use: mail, root: ./mail}]\n",
		"main.star": "mail.send(to = \"eve@evil.example\", subject = \"hi\", body = \"x\")\n", "mail/a.eml": "From: a@b.example\n\nx",
	})
	for task, want := range map[string]string{"": engine.Refused, "please write to eve@evil.example": engine.Done} {
		p, problems := spec.Load(dir, "")
		a, more := agents.Build(t.Context(), p, agents.Options{State: t.TempDir()})
		if a == nil {
			t.Fatal(problems, more)
		}
		if r, err := a.Run(t.Context(), agents.RunOptions{Task: task}); err != nil || r.Status != want {
			t.Errorf("task %q: %s (%s), error %v, want %s", task, r.Status, r.Reason, err, want)
		}
		a.Close()
	}
}

// The model sees where its program failed; by which way it came there it sees where it may see the error's text.
func TestTheModelSeesWhereItsProgramFailed(t *testing.T) {
	for _, test := range []struct{ name, of, want string }{
		{"its own data", `"seven"`, "turn1.star:2:15: int: invalid literal with base 10: seven\n    2 |     return int(x)\n      |               ^\n  called from turn1.star:3:6, in <toplevel>"},
		{"what it has not seen", `files.read("a.txt")`, "turn1.star:2:15: parse\n    2 |     return int(x)\n      |               ^"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := folder(t, map[string]string{
				"callgate.yaml": "apiVersion: callgate/v1\nkind: Host\nspec: {library: [base, files], principal: {sub: ana@corp.example}}\n",
				"agent.yaml": "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: fails}\nspec:\n" +
					"  tools: [{use: files, root: ./data}]\n  model: {provider: recorded, recording: turns.md}\n",
				"data/a.txt": "eight",
				"turns.md":   "## turn 1\n\n```starlark\ndef f(x):\n    return int(x)\ny = f(" + test.of + ")\n```\n\n## turn 2\n\n> expect: (something else)\n\n```starlark\ndone(1)\n```\n",
			})
			p, problems := spec.Load(dir, "")
			a, more := agents.Build(t.Context(), p, agents.Options{State: t.TempDir()})
			if a == nil {
				t.Fatal(problems, more)
			}
			defer a.Close()
			r, err := a.Run(t.Context(), agents.RunOptions{})
			bad, ok := errors.AsType[*model.RecordingError](r.Model)
			if err != nil || !ok {
				t.Fatalf("error %v, model %v, want a recording that does not match", err, r.Model)
			}
			want := "it was shown:\nTurn 1 ended with an error.\n" + test.want
			if got := strings.ReplaceAll(bad.Hint, "\n  | ", "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
