package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"callgate/engine/label"
)

// decodeData decodes a document that is plain data and returns all that came of it as JSON.
func decodeData(t *testing.T, doc any) string {
	t.Helper()
	l := newLoader()
	f := &file{loader: l, path: "f.yaml", dir: ".", root: "."}
	f.document(nodeOf(doc), nil)
	text, err := json.Marshal(l.docs)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestNoKeyIsIgnored changes each value of the largest document of each kind: something must come of
// every key that the loader accepts.
func TestNoKeyIsIgnored(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "a.star", "a")
	write(t, "b.star", "b")
	tried := 0
	for _, kind := range Kinds() {
		for choice := range 3 {
			sm := sampler{map[*shape]int{}}
			sm.choose(shapes[kind], choice)
			doc, other := sm.sample(t, shapes[kind], 0), sm.sample(t, shapes[kind], 1)
			base := decodeData(t, doc)
			var each func(path string, a, b any, set func(any))
			each = func(path string, a, b any, set func(any)) {
				if m, ok := a.(map[string]any); ok && m["n"] == nil {
					n := b.(map[string]any)
					for _, k := range slices.Sorted(maps.Keys(m)) {
						if n[k] != nil {
							each(path+"."+k, m[k], n[k], func(v any) { m[k] = v })
						}
					}
					return
				}
				if list, ok := a.([]any); ok {
					each(path+"[0]", list[0], b.([]any)[0], func(v any) { list[0] = v })
					return
				}
				if reflect.DeepEqual(a, b) {
					return
				}
				set(b)
				if decodeData(t, doc) == base {
					t.Errorf("%s%s: %v or %v makes no difference", kind, path, a, b)
				}
				set(a)
				tried++
			}
			each("", doc, other, nil)
		}
	}
	if tried < 200 {
		t.Errorf("tried %d values, want the whole language", tried)
	}
}

// TestAgentInFull reads one agent and looks at everything that came of it.
func TestAgentInFull(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "in/prompt.md", "Be brief.\n")
	write(t, "in/turns.jsonl", "")
	write(t, "in/x.star", "")
	text := `apiVersion: callgate/v1
kind: Agent
metadata: {name: inbox, labels: {team: finance}}
spec:
  instructions: {file: prompt.md}
  model: {provider: recorded, recording: ./turns.jsonl}
  inputs:
  - {name: task, trust: user, default: ""}
  - {name: invoice, readers: ["*"], tags: [pii, big]}
  tools:
  - {use: files, root: ./data, write: false, most: 5, share: 0.5, of: [a], more: {k: null}}
  - {mcp: {command: [npx, "-y"]}, pin: callgate.lock}
  - {script: x.star}
  limits: {steps: 5M, memory: 64MiB, wall: 1m30s, calls: 50, turns: 1G, output: 64kB, tokens: 200k}
`
	write(t, "in/agent.yaml", text)
	got, docs, ps := FindAgent("in")
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	at := func(line, column int) Position { return Position{"in/agent.yaml", line, column} }
	empty := ""
	want := &Agent{
		Meta:         Meta{Name: "inbox", Labels: map[string]string{"team": "finance"}, Pos: at(2, 7), Named: at(3, 18)},
		Instructions: "Be brief.\n",
		Model:        &Model{Provider: "recorded", Recording: "in/turns.jsonl", Pos: at(6, 10)},
		Mode:         "react",
		Inputs: []Input{
			{Name: "task", Label: label.New(label.User, label.Only(), nil), Private: true, Default: &empty, Pos: at(8, 5)},
			{Name: "invoice", Label: label.New(label.Untrusted, label.Public(), []string{"big", "pii"}), Pos: at(9, 5)},
		},
		Tools: []Use{
			{Name: "files", Dir: "in", Pos: at(11, 11), Options: map[string]Option{
				"root":  {"./data", at(11, 24), at(11, 18)},
				"write": {false, at(11, 39), at(11, 32)},
				"most":  {5, at(11, 52), at(11, 46)},
				"share": {0.5, at(11, 62), at(11, 55)},
				"of":    {[]any{"a"}, at(11, 71), at(11, 67)},
				"more":  {map[string]any{"k": nil}, at(11, 82), at(11, 76)},
			}},
			{MCP: &MCP{Command: []string{"npx", "-y"}, Pin: "in/callgate.lock"}, Dir: "in", Pos: at(12, 5)},
			{Script: "in/x.star", Dir: "in", Pos: at(13, 5)},
		},
		Observe: "hide-untrusted",
		Limits:  Limits{Steps: 5e6, Memory: 64 << 20, Wall: 90 * time.Second, Calls: 50, Turns: 1e9, Output: 64_000, Tokens: 200_000},
		Dir:     "in",
		File:    "in/agent.yaml",
		Digest:  digest([]byte(text)),
	}
	if g, w := shown(t, got), shown(t, want); g != w {
		t.Errorf("got  %s\nwant %s", g, w)
	}
	if len(docs.Agents) != 1 || docs.Agents[0] != got {
		t.Errorf("documents = %+v, want the agent alone", docs)
	}
	if l := got.Inputs[0].For("ana").String(); l != "user/{ana}" {
		t.Errorf("the task for ana is %s, want user/{ana}", l)
	}
	if l := got.Inputs[1].For("ana").String(); l != "untrusted/public#big#pii" {
		t.Errorf("the invoice for ana is %s, want untrusted/public#big#pii", l)
	}
}

func shown(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestPolicyInFull reads one policy and looks at everything that came of it.
func TestPolicyInFull(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "p/m.rego", "")
	write(t, "p/b.tar.gz", "")
	write(t, "p/data/book.json", `{"book": ["bob@corp.example"], "most": 1e2, "few": -3, "big": 9007199254740993, "no": null}`)
	write(t, "p/data/hosts.yaml", "[a.example, b.example]")
	write(t, "p/sub/policy.yaml", `apiVersion: callgate/v1
kind: Policy
metadata: {name: mail}
spec:
  match: {kinds: [tool], tools: ["mail.*"], effects: [egress], sinks: [recipient], agents: ["*"], principals: ["group:finance"]}
  mode: audit
  params: {a: {file: ../data/book.json}, b: [{file: ../data/hosts.yaml}], c: {file: ../data/hosts.yaml, and: 1}}
  rego: {modules: [../m.rego], bundle: ../b.tar.gz}
  cel:
    matchConditions: [{name: sends, expression: "true"}]
    variables: [{name: known, expression: "1"}]
    rules:
    - id: mail.large
      when: |
        size(call.args.to) >
          20
      action: ask
      message: many
      mode: audit
      args: "['to']"
      approvers: ["group:mail"]
      count: 2
      otherThan: [requester]
      ttl: 15m
      obligations: [{type: limit, per: [principal], max: 20}]
    - {id: mail.leaf, each: leaf, when: "true", action: accept, messageExpression: "'m'"}
    - {id: mail.one, when: "true", action: ask}
`)
	policies, ps := LoadPolicies("p")
	if len(ps) > 0 || len(policies) != 1 {
		t.Fatal(policies, ps)
	}
	p := policies[0]
	file := "p/sub/policy.yaml"
	for what, pair := range map[string][2]any{
		"match":     {p.Match, Match{[]string{"tool"}, []string{"mail.*"}, []string{"egress"}, []string{"recipient"}, []string{"*"}, []string{"group:finance"}}},
		"audit":     {p.Audit, true},
		"modules":   {p.Rego.Modules, []Ref{{"p/m.rego", Position{file, 8, 20}}}},
		"bundle":    {p.Rego.Bundle, Ref{"p/b.tar.gz", Position{file, 8, 40}}},
		"dir":       {p.Dir, "p/sub"},
		"match at":  {p.CEL.Match[0].Pos.String(), file + ":10:50"},
		"variable":  {p.CEL.Variables[0].Name + " " + p.CEL.Variables[0].Text, "known 1"},
		"when":      {p.CEL.Rules[0].When.Text, "size(call.args.to) >\n  20\n"},
		"when at":   {p.CEL.Rules[0].When.Pos.String(), file + ":15:9"},
		"20 at":     {p.CEL.Rules[0].When.LineColumn(2, 3).String(), file + ":16:11"},
		"args at":   {p.CEL.Rules[0].Args.Pos.String(), file + ":20:14"},
		"ask":       {fmt.Sprint(p.CEL.Rules[0].Approvers, p.CEL.Rules[0].Count, p.CEL.Rules[0].OtherThan, p.CEL.Rules[0].TTL, p.CEL.Rules[0].Audit), "[group:mail] 2 [requester] 15m0s true"},
		"message":   {p.CEL.Rules[0].Message, "many"},
		"must":      {p.CEL.Rules[0].Obligations, []map[string]any{{"type": "limit", "per": []any{"principal"}, "max": 20}}},
		"leaf":      {fmt.Sprint(p.CEL.Rules[1].EachLeaf, p.CEL.Rules[1].Action, p.CEL.Rules[1].MessageExpr.Text, p.CEL.Rules[1].Count), "trueaccept'm'0"},
		"one asked": {p.CEL.Rules[2].Count, 1},
		"params": {p.Params, map[string]any{
			"a": map[string]any{"book": []any{"bob@corp.example"}, "most": 100.0, "few": -3, "big": 9007199254740993, "no": nil},
			"b": []any{[]any{"a.example", "b.example"}},
			"c": map[string]any{"file": "../data/hosts.yaml", "and": 1},
		}},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s: got %#v, want %#v", what, pair[0], pair[1])
		}
	}
}

// TestProject reads an agent, its host and its toolsets together.
func TestProject(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "callgate.yaml", `apiVersion: callgate/v1
kind: Host
spec:
  policies: [policies]
  library: [base]
  params: {mail: {book: {file: book.yaml}}}
  principal: {sub: ana@corp.example, groups: [finance], claims: {floor: 3}}
  state: .callgate
`)
	write(t, "book.yaml", "[bob]")
	rule := "spec: {cel: {rules: [{id: r, when: \"true\", action: deny}]}}\n"
	write(t, "policies/a.yaml", "apiVersion: callgate/v1\nkind: Policy\nmetadata: {name: a}\n"+rule)
	write(t, "other/b.yaml", "apiVersion: callgate/v1\nkind: Policy\nmetadata: {name: b}\n"+rule)
	write(t, "in/main.star", "")
	write(t, "in/agent.yaml", `apiVersion: callgate/v1
kind: Agent
metadata: {name: x}
spec:
  program: main.star
  tools: [{use: clock}, {use: office}]
  toolsets: [sets/office.yaml]
---
apiVersion: callgate/v1
kind: Policy
metadata: {name: own}
`+rule)
	write(t, "in/sets/office.yaml", `apiVersion: callgate/v1
kind: Toolset
metadata: {name: office}
spec:
  tools: [{use: files, root: shared}, {use: desk}]
  declare: [{tool: files.read, label: internal/public}]
---
apiVersion: callgate/v1
kind: Toolset
metadata: {name: desk}
spec:
  tools: [{use: mail}]
`)
	p, ps := Load("in", "")
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	names := func() (out []string) {
		for _, q := range p.Policies {
			out = append(out, fmt.Sprint(q.Meta.Name, " ", q.Own))
		}
		for _, u := range p.Tools {
			out = append(out, u.Name+" in "+u.Dir)
		}
		for _, d := range p.Declare {
			out = append(out, "declare "+d.Tool)
		}
		return out
	}
	if got, want := fmt.Sprint(names()), "[a false own true clock in in files in in/sets mail in in/sets declare files.read]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if p.Agent.Mode != "program" || p.Agent.Program != "in/main.star" {
		t.Errorf("mode %s, program %s; want program, in/main.star", p.Agent.Mode, p.Agent.Program)
	}
	h := p.Host
	if got, want := fmt.Sprintf("%v %v %v %v %s", h.Policies, h.Library, h.Params, h.Principal, h.State), "[policies] [base] map[mail:map[book:[bob]]] {ana@corp.example [finance] map[floor:3]} .callgate"; got != want {
		t.Errorf("host: got  %s\nwant %s", got, want)
	}

	p, ps = Load("in/agent.yaml", "other")
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	if got, want := p.Policies[0].Meta.Name, "b"; got != want || len(p.Policies) != 2 {
		t.Errorf("with a root of its own: first policy %s of %d, want %s of 2", got, len(p.Policies), want)
	}

	t.Chdir("in")
	p, ps = Load(".", "")
	if len(ps) > 0 || p.Host == nil {
		t.Fatal(p.Host, ps)
	}
	if p.Host.File != "../callgate.yaml" || p.Policies[0].File != "../policies/a.yaml" {
		t.Errorf("host %s, policy %s: want them as seen from here", p.Host.File, p.Policies[0].File)
	}
}
