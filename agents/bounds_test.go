package agents_test

import (
	"strings"
	"testing"

	"callgate/agents"
	"callgate/spec"
)

func TestAHostBoundsWhatAgentsSay(t *testing.T) {
	for _, test := range []struct {
		name, most, agent string
		want              string // the problem
		meter             int
	}{
		{"nothing is bounded", "", "  tools: [{use: mail, root: ../data, trust: user, listing: user, readers: ['*']}]\n  meter: 9k\n", "", 9000},
		{"trust", "{trust: internal}", "  tools: [{use: files, root: ../data, trust: user}]\n", "agent.yaml:6:46: files: trust: got user, want at most internal\nhint: callgate.yaml bounds what agents say: spec.most", 0},
		{"trust within it", "{trust: internal}", "  tools: [{use: files, root: ../data, trust: internal}]\n", "", 256},
		{"a listing", "{listing: untrusted}", "  tools: [{use: mail, root: ../data, listing: internal}]\n", "agent.yaml:6:47: mail: listing: got internal, want at most untrusted", 0},
		{"readers", "{readers: [ben@corp.example]}", "  tools: [{use: files, root: ../data, readers: [ana@corp.example, ben@corp.example, eve@x.example]}]\n", "files: readers: got eve@x.example, want the principal, or of ben@corp.example", 0},
		{"everybody", "{readers: []}", "  tools: [{use: files, root: ../data, readers: ['*']}]\n", "files: readers: got *, want the principal, or of", 0},
		{"trust of an entry", "{trust: untrusted}", "  tools: [{use: http, allow: ['https://a.example/*', {url: 'https://b.example/*', trust: internal}]}]\n", "agent.yaml:6:30: http: allow[1]: trust: got internal, want at most untrusted", 0},
		{"readers of an entry", "{readers: []}", "  tools: [{use: http, allow: [{url: 'https://b.example/*', readers: ['*']}]}]\n", "http: allow[0]: readers: got *", 0},
		{"the meter", "{meter: 64}", "  meter: 65\n", "agent.yaml:2:7: meter: got 65, want at most 64", 0},
		{"a meter that the agent does not set", "{meter: 64}", "", "", 64},
		{"a meter above the usual one", "{meter: 1k}", "", "", 256},
	} {
		t.Run(test.name, func(t *testing.T) {
			bounds := ""
			if test.most != "" {
				bounds = "  most: " + test.most + "\n"
			}
			dir := folder(t, map[string]string{
				"callgate.yaml": strings.Replace(host, "  policies: [./policies]\n", bounds, 1), "main.star": "done(1)\n", "data/a.eml": "From: a@b.example\n\nx",
				"agent/agent.yaml": "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: bounds}\nspec:\n  program: ../main.star\n" + test.agent,
			})
			p, problems := spec.Load(dir+"/agent", "")
			a, more := agents.Build(t.Context(), p, agents.Options{State: t.TempDir()})
			var got string
			for _, p := range append(problems, more...) {
				if !p.Warn {
					got += strings.ReplaceAll(p.String(), dir+"/", "")
				}
			}
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if a != nil {
				defer a.Close()
				if got := agents.Meter(a.Spec); got != test.meter {
					t.Errorf("meter %d, want %d", got, test.meter)
				}
			}
		})
	}
}
