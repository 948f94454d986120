package cel

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"callgate/policies"
	"callgate/spec"
)

// benchTools are 20 tools with names, effects and sinks of every kind.
func benchTools(n int) []policies.ToolSchema {
	out := append([]policies.ToolSchema(nil), testTools...)
	for i := len(out); i < n; i++ {
		out = append(out, tool1(fmt.Sprintf("crm.tool%d", i), []string{"read", "write", "write egress"}[i%3],
			"id!:none:string", "amount:none:number", []string{"note:content:string", "to:recipient:strings", "url:url:string"}[i%3]))
	}
	return out[:n]
}

// benchPolicies are policies with n rules such as people write; named says that each is for one
// tool.
func benchPolicies(n int, tools []policies.ToolSchema, named bool) []spec.Policy {
	return policiesOf(n, tools, named, []string{
		"labels.pc.rank < level.internal && 'egress' in call.effects",
		"leaves.exists(l, l.sink == 'recipient' && !(l.norm in params.book))",
		"labels.context.rank < level.user && call.effects.exists(e, e == 'destructive')",
		"leaves.exists(l, 'secret' in l.tags && l.sink != 'secret')",
		"history.count['mail.send'] > params.limit",
		"leaf.rank < level.internal && leaf.sink in ['account', 'url']",
		"size(leaves) > 500",
		"labels.program.rank < level.user && !(call.tool in params.except)",
		"'pii' in tags && session.mode == 'react'",
		"principal.sub.endsWith('@evil.example')",
	})
}

// simpleRules are conditions without a loop.
var simpleRules = []string{
	"labels.pc.rank < level.internal",
	"labels.context.rank < level.user && session.turn > 3",
	"history.count['mail.send'] > params.limit",
	"'pii' in tags && session.mode == 'react'",
	"'secret' in labels.args.body.tags",
	"call.args.?priority.orValue(0) > 5",
	"size(call.args.to) > params.limit",
	"labels.program.rank < level.user || session.turn > 100",
	"'late' in history.marks",
	"call.args.subject.startsWith('re:')",
}

// policiesOf makes policies with n rules of these conditions.
func policiesOf(n int, tools []policies.ToolSchema, named bool, whens []string) []spec.Policy {
	var out []spec.Policy
	for i := range n {
		if i%10 == 0 {
			out = append(out, spec.Policy{
				Meta: spec.Meta{Name: fmt.Sprintf("policy%d", i/10)}, CEL: &spec.CEL{},
				Params: map[string]any{"book": []any{"bob@corp.example", "carol@corp.example"}, "limit": int64(20), "except": []any{"mail.draft"}},
			})
		}
		c := out[len(out)-1].CEL
		when := whens[i%len(whens)]
		if named {
			when = fmt.Sprintf("call.tool == '%s' && %s", tools[i%len(tools)].Name, when)
		}
		r := spec.Rule{ID: fmt.Sprintf("rule%d", i), Action: "deny", When: spec.Expr{Text: when}}
		r.EachLeaf = strings.HasPrefix(whens[i%len(whens)], "leaf.")
		c.Rules = append(c.Rules, r)
	}
	out[0].CEL.Rules = append(out[0].CEL.Rules, spec.Rule{ID: "allow", Action: "allow", When: spec.Expr{Text: "true"}})
	return out
}

// benchRequest is a call of mail.send with four leaves.
func benchRequest(t testing.TB) *policies.Request {
	book := testLabel{Rank: 2, Sources: [][2]string{{"prompt", "task"}}}
	return request{
		Tool: "mail.send", Effects: []string{"write", "egress"}, Sinks: []string{"content", "recipient"},
		Args:   map[string]any{"to": []any{"bob@corp.example"}, "subject": "hello", "body": "see you"},
		Labels: map[string]testLabel{"to": book, "cc": {Rank: 3}, "subject": book, "body": book, "priority": {Rank: 3}},
		Leaves: []testLeaf{
			{Path: "to[0]", Param: "to", Value: "bob@corp.example", Norm: "bob@corp.example", Host: "corp.example", Sink: "recipient", testLabel: book},
			{Path: "subject", Param: "subject", Value: "hello", Norm: "hello", Sink: "content", testLabel: book},
			{Path: "body", Param: "body", Value: "see you", Norm: "see you", Sink: "content", testLabel: book},
			{Path: "pc", Param: "pc", Sink: "control", testLabel: book},
		},
		Count: map[string]int{"mail.send": 1, "mail.read": 3},
	}.request(t)
}

func benchmarkDecide(b *testing.B, docs []spec.Policy, tools []policies.ToolSchema) {
	e := engine(b, docs, tools)
	r := benchRequest(b)
	rs, err := e.For(context.Background(), staticOf(r))
	if err != nil {
		b.Fatal(err)
	}
	if got := summary(b, decide(b, e, r)); len(got) != 1 || got[0] != "allow:allow" {
		b.Fatalf("got %v, want the allow alone", got)
	}
	left := 0
	for _, p := range rs.(*rules).bound {
		left += len(p.rules)
	}
	b.ReportMetric(float64(left), "rules")
	b.ReportAllocs()
	var out policies.Findings
	for b.Loop() {
		out = policies.Findings{Reasons: out.Reasons[:0]}
		if err := rs.Evaluate(context.Background(), r, &out); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecide decides a call under 60 rules over 20 tools.
func BenchmarkDecide(b *testing.B) {
	tools := benchTools(20)
	b.Run("every-rule-applies", func(b *testing.B) { benchmarkDecide(b, benchPolicies(60, tools, false), tools) })
	b.Run("without-loops", func(b *testing.B) {
		docs := policiesOf(60, tools, false, simpleRules)
		for i := range docs {
			docs[i].Match.Tools = []string{"mail.send"}
		}
		benchmarkDecide(b, docs, tools)
	})
	b.Run("rules-by-tool", func(b *testing.B) { benchmarkDecide(b, benchPolicies(60, tools, true), tools) })
}

// BenchmarkMany loads 10,000 rules over 500 tools, specialises them for one, and decides.
func BenchmarkMany(b *testing.B) {
	tools := benchTools(500)
	docs := benchPolicies(10_000, tools, true)
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			engine(b, docs, tools)
		}
	})
	e := engine(b, docs, tools)
	s := staticOf(benchRequest(b))
	b.Run("specialise", func(b *testing.B) {
		for b.Loop() {
			if _, err := e.For(context.Background(), s); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decide", func(b *testing.B) { benchmarkDecide(b, docs, tools) })
}
