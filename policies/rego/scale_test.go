package rego

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"callgate/policies/internal/sample"
	"callgate/spec"
)

// manyRules are 10,000 rules for 500 tools: a package for each tool.
func manyRules(t testing.TB) Config {
	var cfg Config
	files := map[string]string{}
	for i := range 500 {
		var b strings.Builder
		fmt.Fprintf(&b, "package callgate.policy.p%d\nimport rego.v2\n", i)
		for j := range 6 {
			fmt.Fprintf(&b, "deny contains {\"id\": \"d%d\", \"args\": [l.path]} if {\n\tinput.call.tool == \"tool%d.x\"\n\tsome l in input.leaves\n\tl.sink == \"recipient\"\n\tl.norm == \"x%d\"\n}\n", j, i, j)
			fmt.Fprintf(&b, "deny contains \"e%d\" if {\n\tinput.call.tool == \"tool%d.x\"\n\tinput.labels.program.rank < %d\n\tinput.call.args.n == %d\n}\n", j, i, j%3, j)
			fmt.Fprintf(&b, "ask contains \"q%d\" if {\n\tinput.call.tool == \"tool%d.x\"\n\tinput.call.args.amount == %d\n}\n", j, i, j)
		}
		fmt.Fprintf(&b, "allow contains \"a\" if input.call.tool == \"tool%d.x\"\nallow contains \"b\" if {\n\tinput.call.tool == \"tool%d.x\"\n\tinput.call.args.b == true\n}\n", i, i)
		files[fmt.Sprintf("p%d.rego", i)] = b.String()
	}
	dir := write(t, files)
	cfg.Policies = []spec.Policy{{Meta: spec.Meta{Name: "many"}, Rego: &spec.Rego{Modules: []spec.Ref{{Path: dir}}}}}
	return cfg
}

func TestManyRules(t *testing.T) {
	if testing.Short() {
		t.Skip("loads 10,000 rules")
	}
	cfg := manyRules(t)
	start := time.Now()
	e := newEngine(t, cfg)
	loaded := time.Since(start)
	r := sample.Call("mail.send")
	r.Call.Tool = "tool7.x"
	start = time.Now()
	got := ids(findings(t, e, r))
	specialised := time.Since(start)
	if got != "allow a, deny e0" && got != "allow a" {
		t.Errorf("got %s", got)
	}
	t.Logf("loaded in %v, specialised in %v", loaded, specialised)
	// Generous bounds: the machine may be busy, and what is measured is that nothing is worse than linear.
	if loaded > 20*time.Second || specialised > 2*time.Second {
		t.Errorf("loaded in %v, specialised in %v", loaded, specialised)
	}
}
