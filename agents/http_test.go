package agents_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"callgate/agents"
)

// The policies that are shipped treat http as what it is: something that sends.
func TestHTTPUnderPolicies(t *testing.T) {
	var hits atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"path": %q, "method": %q}`, r.URL.Path, r.Method)
	}))
	defer s.Close()
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	base := "http://127.0.0.1:" + port
	agent := `apiVersion: callgate/v1
kind: Agent
metadata: {name: web}
spec:
  program: main.star
  inputs:
  - {name: task, trust: user, readers: ["*"], default: ""}
  - {name: letter, trust: untrusted, readers: ["*"], default: /v1/letter}
  - {name: diary, trust: user, default: dear diary}
  - {name: key, trust: user, readers: ["*"], tags: [secret], default: sk-1}
  tools:
  - use: http
    allow: [{url: "BASE/v1/*", headers: {X-Version: "2"}}, "BASE/v2/*", {url: "BASE/own/*", trust: internal, readers: ["*"]}, "http://elsewhere.example/*"]
    networks: [127.0.0.1/32]
`
	agent = strings.ReplaceAll(agent, "BASE", base)
	for _, test := range []struct {
		name, program string
		author        string
		outcome       string
		calls         string // expect.calls
		hits          int64
	}{
		{"a literal on the list", "r = http.get('BASE/v1/x')\ndone(r.data['path'])", "", "done", "{tool: http.get, effect: allow, rules: [egress.url], label: 'untrusted/{127.0.0.1,ana@corp.example}'}", 1},
		{"an entry that is trusted", "r = http.get('BASE/own/x')\ndone(r.data['path'])", "", "done", "{tool: http.get, effect: allow, label: internal/public}", 1},
		{"from one that is trusted to the next", "r = http.get('BASE/own/v1')\nhttp.get('BASE' + r.data['path'])\ndone(1)", "", "done", "{tool: http.get, effect: allow}", 2},
		{"a value of a JSON reply in a post", "r = http.get('BASE/v1/x')\nhttp.post('BASE/v2/y', r.data)\ndone(1)", "", "done", "{tool: http.post, effect: allow}", 2},
		{"untrusted text in the path", "http.get('BASE' + letter)", "", "denied", "{tool: http.get, effect: deny, rules: [flow.url]}", 0},
		{"untrusted text in the URL's query", "http.get('BASE/v1/x?q=' + letter)", "", "denied", "{tool: http.get, effect: deny, rules: [flow.url]}", 0},
		{"untrusted text as query", "http.get('BASE/v1/x', query = {'q': letter})", "", "denied", "{tool: http.get, effect: deny, rules: [flow.query]}", 0},
		{"an untrusted name in the query", "http.get('BASE/v1/x', query = {letter: 1})", "", "denied", "{tool: http.get, effect: deny, rules: [flow.query]}", 0},
		{"what a server said, as the next URL", "r = http.get('BASE/v1/x')\nhttp.get('BASE' + r.data['path'])", "", "denied", "{tool: http.get, effect: deny, rules: [flow.url]}", 1},
		{"an untrusted choice", "if letter == 'x':\n  http.get('BASE/v1/x')\nelse:\n  http.get('BASE/v1/y')", "", "denied", "{tool: http.get, effect: deny, rules: [flow.control]}", 0},
		{"untrusted text in a body, for all to read", "http.post('BASE/v1/x', letter)\ndone(1)", "", "done", "{tool: http.post, effect: allow}", 1},
		{"private text in the URL's query", "http.get('BASE/v1/x?q=' + diary)", "", "denied", "{tool: http.get, effect: deny, rules: [flow.readers]}", 0},
		{"private text as query", "http.get('BASE/v1/x', query = {'q': diary})", "", "denied", "{tool: http.get, effect: deny, rules: [flow.readers]}", 0},
		{"private text in a body", "http.post('BASE/v1/x', {'a': [diary]})", "", "denied", "{tool: http.post, effect: deny, rules: [flow.content]}", 0},
		{"a private choice", "if len(diary) > 3:\n  http.head('BASE/v1/x')", "", "denied", "{tool: http.head, effect: deny, rules: [flow.control-read]}", 0},
		{"a secret in the URL", "http.get('BASE/v1/x?key=' + key)", "", "denied", "{tool: http.get, effect: deny, rules: [flow.secret]}", 0},
		{"a secret in a body", "http.post('BASE/v1/x', key)", "", "denied", "{tool: http.post, effect: deny, rules: [flow.secret]}", 0},
		{"allowed by the agent, not by the host", "http.get('http://elsewhere.example/')", "", "denied", "{tool: http.get, effect: deny, rules: [egress.host]}", 0},
		{"allowed by nobody", "http.get('http://evil.example/')", "", "denied", "{tool: http.get, effect: deny, rules: [egress.host]}", 0},
		{"allowed by the host, not by the agent", "http.get('BASE/v3/x')", "", "failed", "{tool: http.get, effect: allow}", 0},
		{"an author who read a stranger's text", "http.get('BASE/v1/x')", "untrusted/public", "denied", "{tool: http.get, effect: deny, rules: [base.untrusted-program, flow.control, flow.url]}", 0},
		{"an author who read what is private", "http.get('BASE/v1/x')", "user/{ana@corp.example}", "denied", "{tool: http.get, effect: deny, rules: [flow.control-read, flow.readers]}", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			hits.Store(0)
			author := test.author
			if author == "" {
				author = "user/public"
			}
			dir := folder(t, map[string]string{
				"callgate.yaml": strings.Replace(host, "library: [base]\n  policies: [./policies]\n", "library: [base, egress]\n  params: {egress: {hosts: [127.0.0.1]}}\n", 1),
				"agent.yaml":    agent, "main.star": "done(1)\n", "test.star": strings.ReplaceAll(test.program, "BASE", base) + "\n",
				"test.yaml": "apiVersion: callgate/v1\nkind: Scenario\nmetadata: {name: web}\nspec:\n  agent: .\n  tools: real\n  program: test.star\n  author: '" + author +
					"'\n  expect:\n    outcome: " + test.outcome + "\n    calls: [" + test.calls + "]\n",
			})
			r, problems := agents.Scenario(context.Background(), scenarios(t, dir+"/test.yaml")[0], agents.ScenarioOptions{})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			for _, f := range r.Failures {
				t.Error(f)
			}
			if n := hits.Load(); n != test.hits {
				t.Errorf("the server got %d requests, want %d", n, test.hits)
			}
		})
	}
}

// A scenario needs no network: its stubs answer with the labels of the entries that their URLs are of.
func TestHTTPInScenarios(t *testing.T) {
	dir := folder(t, map[string]string{
		"callgate.yaml": strings.Replace(host, "library: [base]\n  policies: [./policies]\n", "library: [base, egress]\n  params: {egress: {hosts: [api.example, news.example]}}\n", 1),
		"agent.yaml": "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: web}\nspec:\n  program: main.star\n  tools:\n" +
			"  - {use: http, allow: [{url: 'https://api.example/*', trust: internal, headers: {Authorization: {env: CALLGATE_TEST_UNSET}}}, 'https://news.example/*']}\n",
		"caught.star": "try:\n  http.get('https://api.example/closed')\nexcept PermissionError as e:\n  done(e.code)\n",
		"main.star":   "rate = http.get('https://api.example/rate').data\nnews = http.get('https://news.example/').text\ndone(attempt(http.get, 'https://api.example/none').code)\n",
		"test.yaml": "apiVersion: callgate/v1\nkind: Scenario\nmetadata: {name: web}\nspec:\n  agent: .\n  program: main.star\n  stubs:\n" +
			"  - {tool: http.get, args: {url: 'https://api.example/rate'}, result: {status: 200, url: 'https://api.example/rate', type: application/json, text: '', data: 1.5}}\n" +
			"  - {tool: http.get, args: {url: 'https://news.example/'}, result: {status: 200, url: 'https://news.example/', type: text/plain, text: news, data: null}}\n" +
			"  - {tool: http.get, error: {code: not-found, text: '404'}}\n" +
			"  expect:\n    outcome: done\n    answer: not-found\n    labels: {rate: 'internal/{ana@corp.example,api.example}', news: 'untrusted/{ana@corp.example,news.example}'}\n" +
			"---\napiVersion: callgate/v1\nkind: Scenario\nmetadata: {name: closed}\nspec:\n  agent: .\n  program: caught.star\n" +
			"  stubs: [{tool: http.get, error: {code: no-permission}}]\n  expect: {outcome: done, answer: no-permission}\n",
	})
	for _, sc := range scenarios(t, dir+"/test.yaml") {
		r, problems := agents.Scenario(context.Background(), sc, agents.ScenarioOptions{})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		for _, f := range r.Failures {
			t.Error(f)
		}
	}
}
