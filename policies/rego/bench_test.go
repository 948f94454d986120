package rego

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

// sixtyRules are 60 rules for 20 tools: three for each, of the kinds that people write, by tool and by sink.
func sixtyRules(t testing.TB) Config {
	cfg := Config{Tools: sampleTools(), Params: map[string]any{"book": []any{"bob@corp.example", "carol@corp.example"}}}
	tools := slices.Collect(func(yield func(string) bool) {
		for _, s := range sampleTools() {
			if !yield(s.Name) {
				return
			}
		}
		for i := range 10 {
			if !yield(fmt.Sprintf("crm.tool%d", i)) {
				return
			}
		}
	})
	var b strings.Builder
	for i, tool := range tools {
		switch i % 4 {
		case 0:
			fmt.Fprintf(&b, "deny contains {\"id\": \"d%d\", \"args\": [l.path]} if {\n\tinput.call.tool == %q\n\tsome l in input.leaves\n\tl.sink == \"recipient\"\n\tnot l.norm in data.params.book\n}\n", i, tool)
		case 1:
			fmt.Fprintf(&b, "deny contains \"d%d\" if {\n\tinput.call.tool == %q\n\tinput.labels.args[_].rank < 1\n\tinput.labels.program.rank < 2\n}\n", i, tool)
		case 2:
			fmt.Fprintf(&b, "deny contains \"d%d\" if {\n\t\"egress\" in input.call.effects\n\tinput.call.tool == %q\n\t\"pii\" in input.tags\n}\n", i, tool)
		default:
			fmt.Fprintf(&b, "deny contains {\"id\": \"d%d\", \"args\": [l.path]} if {\n\tinput.call.tool == %q\n\tsome l in input.leaves\n\t\"secret\" in l.tags\n\tl.sink != \"secret\"\n}\n", i, tool)
		}
		fmt.Fprintf(&b, "ask contains \"q%d\" if {\n\tinput.call.tool == %q\n\tinput.call.args.amount > 100\n}\n", i, tool)
		fmt.Fprintf(&b, "allow contains \"a%d\" if input.call.tool == %q\n", i, tool)
	}
	cfg.Policies = []spec.Policy{policy(t, head+b.String())}
	return cfg
}

var sends = sample.Call("mail.send",
	value.Field{Name: "to", Of: value.ListOf(sample.Prompt, value.StringOf("bob@corp.example", sample.Prompt), value.StringOf("carol@corp.example", sample.Prompt))},
	value.Field{Name: "subject", Of: value.StringOf("the offer", sample.Prompt)},
	value.Field{Name: "body", Of: value.StringOf("a text of some length, from a mail", sample.Mail)},
)

func benchmarkEvaluate(b *testing.B, cfg Config, r *policies.Request) {
	e := newEngine(b, cfg)
	rules, err := e.For(b.Context(), policies.Static{Kind: r.Call.Kind, Tool: r.Call.Tool, Effects: r.Call.Effects, Sinks: r.Call.Sinks})
	if err != nil {
		b.Fatal(err)
	}
	var out policies.Findings
	var took []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		out.Reasons, out.Approvals, out.Obligations = out.Reasons[:0], out.Approvals[:0], out.Obligations[:0]
		start := time.Now()
		if err := rules.Evaluate(b.Context(), r, &out); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
	if len(out.Reasons) == 0 {
		b.Fatal("nothing fired")
	}
}

func BenchmarkSixtyRules(b *testing.B) { benchmarkEvaluate(b, sixtyRules(b), sends) }

func BenchmarkSituations(b *testing.B) { benchmarkEvaluate(b, situationPolicies(b), sends) }

func BenchmarkLibrary(b *testing.B) { benchmarkEvaluate(b, libraryPolicies(b), sends) }

func BenchmarkInput(b *testing.B) {
	f := policies.NewFields([]string{"leaves.path", "leaves.sink", "leaves.norm", "leaves.rank", "labels.program.rank"}, nil)
	b.ReportAllocs()
	for b.Loop() {
		input(&f, sends)
	}
}

func BenchmarkSpecialise(b *testing.B) {
	e := newEngine(b, situationPolicies(b))
	u := e.units[0]
	all := make([]int, len(u.packs))
	for i := range all {
		all[i] = i
	}
	for b.Loop() {
		if _, err := u.specialise(b.Context(), all, known{Kind: "tool", Tool: "mail.send", Effects: []string{"write", "egress"}, Sinks: []string{"content", "recipient"}}); err != nil {
			b.Fatal(err)
		}
	}
}
