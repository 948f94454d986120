package agents_test

import (
	"context"
	"strings"
	"testing"

	"callgate/agents"
	"callgate/agents/model"
	"callgate/agents/model/modeltest"
	"callgate/builtins"
	"callgate/engine/label"
	"callgate/engine/value"
)

// Whether a turn ended well may depend on a label that no tool declares: one that a tool has put on a part of its result.
func TestThatATurnEndedWellIsPaidForWhateverToolsDeclare(t *testing.T) {
	parts := &builtins.Tool{
		Name: "box.look", Effects: builtins.Read, Label: builtins.Source{Class: label.New(label.User, label.Public(), nil)},
		Run: func(context.Context, *builtins.Invocation) (any, error) {
			return value.StringOf("7", label.New(label.Untrusted, label.Public(), nil)), nil
		},
	}
	for program, want := range map[string]string{
		"x = box.look()\nif x != \"7\":\n    fail(\"no\")": "Something that is hidden could have decided how",
		"x = 1": "ended without an error",
	} {
		script := &modeltest.Script{Replies: []model.Reply{modeltest.Fenced(program), modeltest.Fenced("done(1)")}}
		a := scripted(t, script, fenced+"\n  tools: [{use: box}]", agents.Options{Tools: []*builtins.Tool{parts}})
		a.Spec.Meter = -1 // nothing
		if _, err := a.Run(t.Context(), agents.RunOptions{}); err != nil {
			t.Fatal(err)
		}
		asked := script.Requests()
		if told := asked[1].Messages[2].Text; !strings.Contains(told, want) {
			t.Errorf("%s: told %q, want %q", program, told, want)
		}
	}
}
