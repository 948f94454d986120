package gate

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/builtins"
	"callgate/engine/eval"
	"callgate/engine/journal"
	"callgate/engine/value"
	"callgate/policies"
	"callgate/policies/root"
	"callgate/spec"
)

// TestHostilePoliciesAndCallsAreRefused has a tool guarded by rules in both languages that allow everything, and one more rule that
// cannot be evaluated, or a call out of all proportion. The tool does not run, the program is told a code, and the journal says what was the
// matter.
func TestHostilePoliciesAndCallsAreRefused(t *testing.T) {
	deep := value.StringOf("x", trusted)
	for range 10_000 {
		deep = value.ListOf(trusted, deep)
	}
	wide := value.ListOf(trusted)
	for range 10_000 {
		wide.Items = append(wide.Items, value.StringOf("x", trusted))
	}
	plain := value.StringOf("x", trusted)
	for _, test := range []struct {
		name string
		rego string // of package callgate.policy.p
		cel  string // a condition that denies
		x    value.Value
		code string // that the program is told
		says string // in the journal
	}{
		{"Rego that loops", "deny contains \"p.no\" if {\n\tsome a in numbers.range(1, 3000)\n\tsome b in numbers.range(1, 3000)\n\ta * b == input.session.turn + 9000001\n}", "", plain, "denied (core.error)", "stopped after"},
		{"Rego that fails", "deny contains \"p.no\" if to_number(input.call.args.x) > 3", "", plain, "denied (p.error)", "to_number"},
		{"a wrong shape", "deny contains {\"id\": \"p.no\", \"args\": x} if {\n\tx := input.call.args.x\n}", "", plain, "denied (p.shape)", "want a list"},
		{"an obligation that nobody knows how to meet", "obligations contains {\"type\": \"isolate\", \"tier\": input.call.args.x} if true", "", plain, "denied (core.obligation)", "tier"},
		{"a limit that is none", "obligations contains {\"type\": \"limit\", \"id\": \"l\", \"max\": input.call.args.x} if true", "", plain, "denied (core.obligation)", "max: got x"},
		{"CEL that costs too much", "", "leaves.exists(a, leaves.exists(b, a.rank + b.rank > 99))", wide, "denied (c.no)", "could not be evaluated"},
		{"CEL that takes a text for a number", "", "call.args.x > 3", plain, "denied (c.no)", "could not be evaluated"},
		{"a text of 1 MB", "deny contains \"p.no\" if startswith(input.call.args.x, \"xx\")", "", value.StringOf(strings.Repeat("x", 1<<20), trusted), "denied (p.no)", "p.no"},
		{"a text of 1 MB, for CEL", "", "call.args.x.startsWith('xx')", value.StringOf(strings.Repeat("x", 1<<20), trusted), "denied (c.no)", "c.no"},
		{"10,000 lists in one another", "", "", deep, "bad-argument", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			cfg := root.Config{Tools: []policies.ToolSchema{{Name: "t.any", Effects: []string{"read"}, Params: []policies.ParamSchema{{Name: "x"}}}}}
			cfg.Policies = append(cfg.Policies, &spec.Policy{Meta: spec.Meta{Name: "c"}, CEL: &spec.CEL{Rules: []spec.Rule{{ID: "c.ok", Action: "allow", When: spec.Expr{Text: "true"}}}}})
			if test.cel != "" {
				cfg.Policies[0].CEL.Rules = append(cfg.Policies[0].CEL.Rules, spec.Rule{ID: "c.no", Action: "deny", When: spec.Expr{Text: test.cel}})
			}
			module := filepath.Join(dir, "p.rego")
			text := "package callgate.policy.p\n\nimport rego.v2\n\nallow contains \"p.ok\" if true\n\n" + test.rego
			if err := os.WriteFile(module, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			cfg.Policies = append(cfg.Policies, &spec.Policy{Meta: spec.Meta{Name: "p"}, Rego: &spec.Rego{Modules: []spec.Ref{{Path: module}}}})
			pdp, problems := root.Load(t.Context(), cfg)
			if pdp == nil {
				t.Fatal(problems)
			}
			var r *rig
			anything := &builtins.Tool{Name: "t.any", Effects: builtins.Read, Params: []builtins.Param{{Name: "x"}}, Label: builtins.Source{Class: trusted},
				Run: func(context.Context, *builtins.Invocation) (any, error) { r.note("t.any"); return "done", nil }}
			r = newRig(t, func(c *Config) { c.PDP = pdp }, anything)
			start := time.Now()
			res := r.do(eval.Call{ID: "1.1", Kind: eval.KindTool, Tool: "t.any", PC: trusted, Args: []eval.Arg{{Name: "x", Value: test.x}}})
			took := time.Since(start)
			t.Log(took)
			wantCode(t, res, test.code)
			if r.calls() != nil {
				t.Errorf("ran %q", r.calls())
			}
			if took > 10*time.Second { // a hang; what a decision takes is logged in policies/root
				t.Errorf("took %v", took)
			}
			if test.says == "" {
				return
			}
			said := false
			for _, reason := range last[journal.DecisionMade](r, journal.Decided).Decision.Reasons {
				said = said || reason.Effect == policies.Deny && strings.Contains(reason.ID+" "+reason.Message, test.says)
			}
			if !said {
				t.Errorf("the journal has %+v, want a denial that says %q", last[journal.DecisionMade](r, journal.Decided).Decision.Reasons, test.says)
			}
		})
	}
}
