package agents_test

import (
	"errors"
	"testing"

	"callgate/agents"
	"callgate/agents/model"
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
