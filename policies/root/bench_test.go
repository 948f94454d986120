package root

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/engine/value"
	"callgate/policies"
	"callgate/policies/internal/sample"
	"callgate/spec"
)

// sixtyRules are 40 rules in Rego and 20 in CEL for 20 tools, of the kinds that people write.
func sixtyRules(t testing.TB) Config {
	cfg := Config{Host: &spec.Host{Params: map[string]any{"book": []any{"bob@corp.example", "carol@corp.example"}}}}
	var tools []string
	for _, tool := range sample.Tools {
		cfg.Tools = append(cfg.Tools, tool)
		tools = append(tools, tool.Name)
	}
	for i := range 20 - len(tools) {
		name := fmt.Sprintf("crm.tool%d", i)
		cfg.Tools = append(cfg.Tools, policies.ToolSchema{Name: name, Effects: []string{"read"}})
		tools = append(tools, name)
	}
	slices.Sort(tools)
	var b strings.Builder
	var rules []spec.Rule
	for i, tool := range tools {
		fmt.Fprintf(&b, "deny contains {\"id\": \"d%d\", \"args\": [l.path]} if {\n\tinput.call.tool == %q\n\tsome l in input.leaves\n\tl.sink == \"recipient\"\n\tnot l.norm in data.params.book\n}\n", i, tool)
		fmt.Fprintf(&b, "allow contains \"a%d\" if input.call.tool == %q\n", i, tool)
		rules = append(rules, rule(fmt.Sprintf("c%d", i), "deny", fmt.Sprintf("call.tool == %q && labels.program.rank < level.user && leaves.exists(l, l.rank < level.internal && l.sink == 'content')", tool)))
	}
	cfg.Policies = []*spec.Policy{regoPolicy(t, "a", b.String()), celPolicy("b", nil, rules...)}
	return cfg
}

func sends(to string) *policies.Request {
	return sample.Call("mail.send",
		value.Field{Name: "to", Of: value.ListOf(sample.Prompt, value.StringOf(to, sample.Prompt), value.StringOf("carol@corp.example", sample.Prompt))},
		value.Field{Name: "subject", Of: value.StringOf("the offer", sample.Prompt)},
		value.Field{Name: "body", Of: value.StringOf("a text of some length, from a mail", sample.Mail)},
	)
}

// BenchmarkMiss decides requests that were not decided before, both engines live.
func BenchmarkMiss(b *testing.B) {
	r := load(b, sixtyRules(b))
	req := sends("bob@corp.example")
	if d := decide(b, r, req); d.Effect != policies.Allow {
		b.Fatalf("%v %s", d.Effect, ids(d))
	}
	var took []time.Duration
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		req.Leaves[2].Norm = fmt.Sprint(i) // read by a rule
		start := time.Now()
		d, _ := r.Decide(b.Context(), req)
		took = append(took, time.Since(start))
		if d.Cached {
			b.Fatal("remembered")
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
}

// BenchmarkHit decides one request again and again.
func BenchmarkHit(b *testing.B) {
	r := load(b, sixtyRules(b))
	req := sends("bob@corp.example")
	decide(b, r, req)
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if d, _ := r.Decide(ctx, req); !d.Cached {
			b.Fatal("made anew")
		}
	}
}
