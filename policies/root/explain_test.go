package root

import (
	"os"
	"path/filepath"
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
	"callgate/policies/rego"
	"callgate/spec"
)

func TestExplainOfBothLanguages(t *testing.T) {
	module := filepath.Join(t.TempDir(), "r.rego")
	err := os.WriteFile(module, []byte("package callgate.policy.r\n\nimport rego.v2\n\nallow contains \"r.small\" if input.call.args.n < 10\n\ndeny contains \"r.never\" if input.call.args.n < 0\n"), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Policies: []*spec.Policy{
		{Meta: spec.Meta{Name: "r"}, Rego: &spec.Rego{Modules: []spec.Ref{{Path: module}}}},
		{Meta: spec.Meta{Name: "c"}, CEL: &spec.CEL{Rules: []spec.Rule{
			{ID: "c.accept", EachLeaf: true, Action: "accept", When: spec.Expr{Text: "leaf.sink == 'none'"}},
			{ID: "c.large", Action: "ask", When: spec.Expr{Text: "call.tool == 'big'"}},
		}}},
	}}
	r, problems := Load(t.Context(), cfg)
	if r == nil {
		t.Fatal(problems)
	}
	user := label.New(label.User, label.Public(), nil)
	req := &policies.Request{
		Call:   policies.Call{Kind: policies.KindTool, Tool: "small", Effects: []string{"read"}, Args: value.DictOf(user, value.Field{Name: "n", Of: value.IntOf(3, user)})},
		Labels: policies.Labels{Program: user, PC: user, Context: user, Args: []policies.ArgLabel{{Name: "n", Label: user}}},
		Leaves: []policies.Leaf{{Path: "n", Param: "n", Value: int64(3), Norm: "3", Sink: policies.SinkNone, Label: user}, {Path: "pc", Param: "pc", Value: "", Sink: policies.SinkControl, Label: user}},
	}
	list, err := r.Explain(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"r.small": policies.RuleFired, "r.never": policies.RuleNotHeld, "c.accept": policies.RuleFired, "c.large": policies.RuleNotHeld}
	for _, x := range list {
		if want[x.ID] != x.Outcome {
			t.Errorf("%s: %s, want %s", x.ID, x.Outcome, want[x.ID])
		}
		if x.Outcome == policies.RuleNotHeld && len(x.Steps) == 0 {
			t.Errorf("%s: nothing says why it did not hold", x.ID)
		}
	}
	if len(list) != len(want) || len(r.Rules()) != len(want) {
		t.Errorf("%d explanations of %d rules, want %d", len(list), len(r.Rules()), len(want))
	}

	// An accept that lifts nothing is among the findings, though it is no reason of the decision.
	found, err := r.Findings(t.Context(), req)
	if err != nil || len(found.Reasons) != 2 || !found.Reasons[1].Accept {
		t.Errorf("findings %+v, error %v", found, err)
	}

	cover := rego.NewCoverage()
	if err := r.Cover(t.Context(), req, cover); err != nil {
		t.Fatal(err)
	}
	if files := cover.Files(); len(files) != 1 || files[0].Covered == 0 || files[0].NotCovered == 0 {
		t.Errorf("coverage %+v, want some lines of one file and not all", files)
	}
}
