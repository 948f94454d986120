package engine_test

import (
	"testing"

	"callgate/builtins"
	"callgate/engine"
	"callgate/engine/eval"
	"callgate/engine/label"
	"callgate/engine/value"
)

// The programs of a run that is a part of another one have together the steps that were left to it.
func TestARunWithinAnotherHasStepsForAllOfItsPrograms(t *testing.T) {
	e, err := engine.New(engine.Config{Agent: "a", PDP: &obliging{}})
	if err != nil {
		t.Fatal(err)
	}
	within := &builtins.Caller{Root: "r", Run: "r", Call: "1.1", Args: value.NoneOf(label.Bottom()), Steps: 5000, Calls: 10}
	s, err := e.Start(t.Context(), engine.Run{Context: user, Within: within})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for turn, want := range []eval.Status{eval.OK, eval.OK, eval.Limited} {
		out, err := s.Exec(t.Context(), engine.Program{File: "p.star", Text: "for i in range(1000):\n    pass", Author: user})
		if err != nil || out.Status != want {
			t.Errorf("program %d: %v %s (%v) after %d steps, want %s", turn+1, err, out.Status, out.Err, out.Steps, want)
		}
	}
}
