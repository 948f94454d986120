package agents_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/agents"
	"callgate/engine/gate"
	"callgate/policies"
	"callgate/policies/root"
	"callgate/spec"

	"github.com/google/go-cmp/cmp"
)

// scenarios loads the scenarios of a file.
func scenarios(t *testing.T, file string) []*spec.Scenario {
	t.Helper()
	docs, problems := spec.LoadFile(file)
	if len(problems) > 0 || len(docs.Scenarios) == 0 {
		t.Fatalf("%s: %d scenarios, problems %v", file, len(docs.Scenarios), problems)
	}
	return docs.Scenarios
}

func TestScenariosOfTheInvoices(t *testing.T) {
	files, err := filepath.Glob(invoices + "/tests/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		for _, sc := range scenarios(t, file) {
			t.Run(sc.Meta.Name, func(t *testing.T) {
				t.Parallel()
				r, problems := agents.Scenario(context.Background(), sc, agents.ScenarioOptions{})
				if len(problems) > 0 {
					t.Fatal(problems)
				}
				for _, f := range r.Failures {
					t.Error(f)
				}
			})
		}
	}
}

// What is rebuilt from the journal is what was decided.
func TestRebuiltRequestsAreThoseDecided(t *testing.T) {
	sc := scenarios(t, invoices+"/tests/demonstration.yaml")[0]
	asked := map[string][]map[string]any{}
	r, problems := agents.Scenario(context.Background(), sc, agents.ScenarioOptions{Asked: func(_ context.Context, _ *root.Root, r *policies.Request) {
		if r.Call.Kind != policies.KindBuiltin {
			asked[r.Call.ID] = append(asked[r.Call.ID], r.Document())
		}
	}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	a := build(t, t.TempDir(), nil, nil)
	past, err := gate.Rebuild(r.Events, a.Tools())
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, p := range past {
		if p.Own {
			continue
		}
		if len(asked[p.Call]) == 0 {
			t.Errorf("%s: rebuilt, and was not asked", p.Call)
			continue
		}
		want, got := asked[p.Call][0], p.Request.Document()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %s (-decided +rebuilt):\n%s", p.Call, p.Made.Tool, diff)
		}
		compared++
	}
	if compared < 40 {
		t.Errorf("%d requests were compared", compared)
	}
}

// notes is an agent that keeps notes, under a policy that asks for one name and refuses another.
var notes = map[string]string{
	"agent.yaml": `apiVersion: callgate/v1
kind: Agent
metadata: {name: notes}
spec:
  program: main.star
  inputs: [{name: task, trust: user, default: tidy up}]
  tools: [{use: files, root: ./data, write: true, trust: internal}, {use: csv.read, root: ./tables}]
`,
	"callgate.yaml": `apiVersion: callgate/v1
kind: Host
spec: {library: [base], policies: [./policies], principal: {sub: ana@corp.example}}
`,
	"policies/notes.yaml": `apiVersion: callgate/v1
kind: Policy
metadata: {name: notes}
spec:
  match: {tools: ["files.*"]}
  cel:
    rules:
    - {id: notes.write, when: "call.tool == 'files.write'", action: allow}
    - {id: notes.ask, when: "call.tool == 'files.write' && call.args.path == 'large.txt'", action: ask}
    - {id: notes.no, when: "call.tool == 'files.write' && call.args.path == 'no.txt'", action: deny}
    - {id: notes.late, when: "call.tool == 'files.write' && timestamp(time).getHours() >= 20", action: deny}
`,
	"data/a.txt":   "as it is\n",
	"tables/a.csv": "n\n1\n",
	"main.star":    "pass\n",
}

// scenarioOf writes the files of an agent and of a scenario, and loads that.
func scenarioOf(t *testing.T, files map[string]string, program, body string) *spec.Scenario {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		writeFile(t, name, text)
	}
	writeFile(t, "s.star", program)
	writeFile(t, "s.yaml", "apiVersion: callgate/v1\nkind: Scenario\nmetadata: {name: s}\nspec:\n  agent: .\n  program: s.star\n"+body)
	return scenarios(t, "s.yaml")[0]
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestScenario(t *testing.T) {
	const read = `x = files.read("a.txt")
`
	const write = `files.write("b.txt", "b")
`
	for _, test := range []struct {
		name, program, scenario string
		want                    []string // of the failures, each begins so
	}{
		{"stubs answer", read + `done(x)`, `
  stubs: [{tool: files.read, result: from a stub}]
  expect: {outcome: done, answer: from a stub, labels: {x: "internal/{ana@corp.example}"}}
`, nil},
		{"a stub answers for its arguments alone", read + `y = files.read("c.txt")
done([x, y])`, `
  stubs:
  - {tool: files.read, args: {path: c.txt}, result: c}
  - {tool: files.read, result: any}
  expect: {answer: [any, c]}
`, nil},
		{"a stub answers so many times", `done([files.read("a.txt") for _ in range(3)])`, `
  stubs:
  - {tool: files.read, times: 2, result: first}
  - {tool: files.read, result: then}
  expect: {answer: [first, first, then]}
`, nil},
		{"a stub fails", `t = attempt(files.read, "a.txt")
done(t.code)`, `
  stubs: [{tool: files.read, error: {code: not-found}}]
  expect: {answer: not-found, labels: {t: "internal/{ana@corp.example}"}}
`, nil},
		{"a stub has its own label", `x = csv.read("a.csv")`, `
  stubs: [{tool: csv.read, result: [{n: x}], label: "user/public#pii"}]
  expect: {labels: {x: "user/public#pii"}, calls: [{tool: csv.read, effect: allow, label: "user/public#pii"}]}
`, nil},
		{"stubs of one tool with labels that differ", `x = csv.read("a.csv")
y = csv.read("b.csv")
z = csv.read("c.csv")`, `
  stubs:
  - {tool: csv.read, args: {path: a.csv}, result: [], label: user/public}
  - {tool: csv.read, args: {path: b.csv}, result: [{n: x}], label: "untrusted/public#pii"}
  - {tool: csv.read, result: []}
  expect: {labels: {x: user/public, y: "untrusted/public#pii", z: "untrusted/{ana@corp.example}"}}
`, nil},
		{"a call without a stub fails, and the scenario with it", `done(attempt(files.read, "a.txt").code)`, `
  expect: {outcome: done, answer: no-stub}
`, []string{`s.yaml:2:7: files.read(path = "a.txt"): no stub answers it`}},
		{"a call that no stub fits", `attempt(files.read, "a.txt")`, `
  stubs: [{tool: files.read, args: {path: b.txt}, result: b}]
  expect: {outcome: done}
`, []string{`s.yaml:8:11: files.read(path = "a.txt"): no stub answers it`}},
		{"real tools in a state of their own", `files.write("b.txt", "b")
done([files.read("a.txt"), files.read("c.txt")])`, `
  tools: real
  stubs: [{tool: files.read, args: {path: c.txt}, result: c}, {tool: files.write, result: {path: b.txt, size: 1, created: true}}]
  expect: {answer: ["as it is\n", c]}
`, nil},
		{"an ask that is approved", `files.write("large.txt", "x")`, `
  stubs: [{tool: files.write, result: {path: large.txt, size: 1, created: true}}]
  approve: [notes.ask]
  expect: {outcome: done, calls: [{tool: files.write, effect: ask, rules: [notes.ask]}], effects: [{tool: files.write}]}
`, nil},
		{"an ask that is not", `files.write("large.txt", "x")`, `
  expect: {outcome: waiting, effects: [], never: [files.write]}
`, nil},
		{"the clock", write, `
  time: 2026-12-01T21:00:00+00:00
  expect: {outcome: denied, calls: [{tool: files.write, effect: deny, rules: [notes.late]}]}
`, nil},
		{"the principal", read, `
  principal: {sub: eve@corp.example}
  stubs: [{tool: files.read, result: x}]
  expect: {labels: {x: "internal/{eve@corp.example}"}}
`, nil},
		{"another outcome", write, `
  time: 2026-12-01T21:00:00Z
  expect: {outcome: done}
`, []string{`s.yaml:9:21: outcome: got denied (s.star:1:12: files.write: denied (notes.late)), want done`}},
		{"a run that fails unexpectedly", `1 // 0`, `
  expect: {never: [files.write]}
`, []string{`s.yaml:8:11: the run failed (s.star:1:3: `}},
		{"a run that fails as expected", `1 // 0`, `
  expect: {outcome: failed}
`, nil},
		{"another answer", `done({"n": 1})`, `
  expect: {answer: {n: 2}}
`, []string{`s.yaml:8:20: answer: got {"n": 1}, want {"n": 2}`}},
		{"no answer", `pass`, `
  expect: {answer: null}
`, []string{`s.yaml:8:20: answer: got none, want None`}},
		{"a number is a number", `done([1, 2.0, (3,)])`, `
  expect: {answer: [1.0, 2, [3]]}
`, nil},
		{"another effect", write, `
  stubs: [{tool: files.write, result: {path: b.txt, size: 1, created: true}}]
  expect: {calls: [{tool: files.write, effect: deny}]}
`, []string{`s.yaml:9:20: files.write at 1.1 (s.star:1:12): got allow (notes.write), want deny`}},
		{"other arguments and rules", `files.write("no.txt", "x")`, `
  expect: {outcome: denied, calls: [{tool: files.write, args: {path: b.txt}, effect: deny, rules: [notes.late]}]}
`, []string{`s.yaml:8:37: files.write at 1.1 (s.star:1:12): path: got "no.txt", want "b.txt"; rule notes.late: is not among the reasons (`}},
		{"another label of the result", read, `
  stubs: [{tool: files.read, result: x}]
  expect: {calls: [{tool: files.read, effect: allow, label: user/public}]}
`, []string{`s.yaml:9:20: files.read at 1.1 (s.star:1:15): label: got internal/{ana@corp.example}, want user/public`}},
		{"calls in another order", `files.read("a.txt")
files.read("b.txt")`, `
  stubs: [{tool: files.read, result: x}]
  expect: {calls: [{tool: files.read, args: {path: b.txt}, effect: allow}, {tool: files.read, args: {path: a.txt}, effect: allow}]}
`, []string{`s.yaml:9:76: files.read: no such call after 1.2`}},
		{"calls that are not made", `pass`, `
  expect: {calls: [{tool: files.write, effect: allow}, {tool: files.read, call: "1.7", effect: allow}]}
`, []string{`s.yaml:8:20: files.write: is not called`, `s.yaml:8:56: files.read 1.7: is not called`}},
		{"a tool that must not run", write, `
  stubs: [{tool: files.write, result: {path: b.txt, size: 1, created: true}}]
  expect: {never: [files.read, files.write]}
`, []string{`s.yaml:9:32: files.write(path = "b.txt", text = "b") at 1.1 (s.star:1:12): is run (`}},
		{"effects that are missing, and others", `files.write("1", "")
files.write("2", "")
files.write("3", "")`, `
  stubs: [{tool: files.write, result: {path: b.txt, size: 1, created: true}}]
  expect: {effects: [{tool: files.write, args: {path: "1"}}, {tool: files.write, args: {path: "3"}}, {tool: files.write, args: {path: "4"}}]}
`, []string{`s.yaml:9:21: files.write(path = "2", text = "") at 1.2 (s.star:2:12): is carried out, and not expected`, `s.yaml:9:102: files.write(path = "4"): is not carried out`}},
		{"an effect that fails is none", `attempt(files.write, "1", "")`, `
  stubs: [{tool: files.write, error: {code: full}}]
  expect: {effects: []}
`, nil},
		{"another label of a variable", read, `
  stubs: [{tool: files.read, result: x}]
  expect: {labels: {x: user/public, y: user/public}}
`, []string{`s.yaml:9:21: x: got internal/{ana@corp.example}, want user/public`, `s.yaml:9:37: y: no program binds that name, or it never comes to it`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			sc := scenarioOf(t, notes, test.program, test.scenario)
			r, problems := agents.Scenario(t.Context(), sc, agents.ScenarioOptions{})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			for i, f := range r.Failures {
				if i >= len(test.want) || !strings.HasPrefix(f.String(), test.want[i]) {
					t.Errorf("failure %s", f)
				}
			}
			if len(r.Failures) < len(test.want) {
				t.Errorf("failures %v, want %q", r.Failures, test.want)
			}
			if text, err := os.ReadFile("data/b.txt"); err == nil {
				t.Errorf("the scenario left %q behind", text)
			}
		})
	}
}

func TestScenarioProblems(t *testing.T) {
	for _, test := range []struct {
		name, program, scenario string
		want                    []string // of the problems, each begins so
	}{
		{"what there is not", `pass`, `
  inputs: {tsk: x}
  stubs:
  - {tool: files.raed, result: x}
  - {tool: files.read, args: {pth: x}, result: x}
  approve: [notes.aks]
  expect:
    calls:
    - {tool: files.write, args: {test: x}, effect: allow, rules: [note.write, flow, base]}
    - {tool: len, kind: builtin, effect: allow}
    - {tool: obsrve, kind: observe, effect: allow}
    never: [mail.send, mail.sned]
    effects: [{tool: files.wirte}]
`, []string{
			`s.yaml:2:7: rule "notes.aks": no policy has it`,
			`s.yaml:8:12: input "tsk": the agent has none of that name`,
			`s.yaml:10:5: tool "files.raed": the agent was not given it`,
			`s.yaml:11:5: files.read: has no parameter "pth"`,
			`s.yaml:15:7: files.write: has no parameter "test"`,
			`s.yaml:15:7: rule "note.write": no policy has it`,
			`s.yaml:16:7: len: a pure function that is allowed is not recorded`,
			`s.yaml:17:7: tool: got "obsrve", want "observe"`,
			`s.yaml:18:24: tool "mail.sned": the agent was not given it`,
			`s.yaml:19:15: tool "files.wirte": the agent was not given it`,
		}},
		{"a result that the tool could not give", `pass`, `
  stubs: [{tool: files.read, result: {a: text}}, {tool: files.write, result: {path: 1}}]
  expect: {outcome: done}
`, []string{`s.yaml:8:11: files.read: result: got dict, want string`, `s.yaml:8:50: files.write: result.created: missing`, `s.yaml:8:50: files.write: result.path: got int, want string`, `s.yaml:8:50: files.write: result.size: missing`}},
		{"a failure beside labels that differ", `pass`, `
  stubs:
  - {tool: files.read, args: {path: a}, result: x, label: user/public}
  - {tool: files.read, error: {code: x}}
  expect: {outcome: done}
`, []string{`s.yaml:10:5: files.read: a stub that fails beside stubs with labels that differ`}},
		{"a label beside the real tool", `pass`, `
  tools: real
  stubs: [{tool: files.read, result: x, label: user/public}]
  expect: {outcome: done}
`, []string{`s.yaml:9:11: files.read: a stub with labels of its own beside the real tool`}},
		{"a program that does not compile", `x = = 1`, `
  expect: {outcome: done}
`, []string{`s.star:1:5: `}},
	} {
		t.Run(test.name, func(t *testing.T) {
			sc := scenarioOf(t, notes, test.program, test.scenario)
			r, problems := agents.Scenario(t.Context(), sc, agents.ScenarioOptions{})
			if r != nil {
				t.Errorf("it was run: %v", r.Failures)
			}
			var lines []string
			for _, p := range problems {
				lines = append(lines, p.String())
			}
			if !slices.EqualFunc(lines, test.want, strings.HasPrefix) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestScenarioOfARecordingThatDoesNotMatch(t *testing.T) {
	sc := scenarioOf(t, notes, "", "  expect: {outcome: failed}\n")
	writeFile(t, "r.md", "## turn 1\n\n> expect: something else\n\nno\n")
	sc.Program, sc.Recording = spec.Ref{}, spec.Ref{Path: "r.md"}
	r, problems := agents.Scenario(t.Context(), sc, agents.ScenarioOptions{})
	if len(problems) > 0 || len(r.Failures) != 1 || !strings.HasPrefix(r.Failures[0].String(), "r.md:3:1: turn 1 expects") {
		t.Errorf("problems %v, result %+v", problems, r)
	}
}
