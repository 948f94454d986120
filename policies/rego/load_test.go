package rego

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"callgate/policies"
	"callgate/policies/internal/sample"
	"callgate/spec"
)

// write makes a folder of files.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// policy returns a policy of the modules, which are written to p.rego, or q.rego and so on.
func policy(t testing.TB, modules ...string) spec.Policy {
	t.Helper()
	files := map[string]string{}
	p := spec.Policy{Meta: spec.Meta{Name: "p", Pos: spec.Position{File: "p.yaml", Line: 1}}, Rego: &spec.Rego{}}
	for i, text := range modules {
		files[string(rune('p'+i))+".rego"] = text
	}
	dir := write(t, files)
	for i := range modules {
		p.Rego.Modules = append(p.Rego.Modules, spec.Ref{Path: filepath.Join(dir, string(rune('p'+i))+".rego")})
	}
	return p
}

const head = "package callgate.policy.p\nimport rego.v2\n"

func TestProblems(t *testing.T) {
	for _, test := range []struct {
		name    string
		module  string
		own     bool
		problem string // a pattern for what stands after the folder
		hint    string
	}{
		{"no rego.v2", "package callgate.policy.p\nimport rego.v1\ndeny contains \"a\" if true\n", false, `p.rego:1:1: package callgate.policy.p: want import rego.v2`, "add the line"},
		{"it does not parse", head + "deny contains {\n", false, `p.rego:4:1: unexpected eof`, ""},
		{"a field that the request does not have", head + "deny contains \"a\" if input.call.efects == []\n", false, `p.rego:3:\d+: undefined: input.call.efects: input.call has no efects, want one of args, effects, id`, "did you mean effects?"},
		{"a field of a leaf, through a variable", head + "deny contains \"a\" if { some l in input.leaves; l.snik == \"url\" }\n", false, `p.rego:3:\d+: undefined: `, "did you mean sink?"},
		{"the network", head + "deny contains \"a\" if http.send({\"url\": \"x\", \"method\": \"get\"}).status_code == 200\n", false, `p.rego:3:\d+: undefined function http.send`, "policies have no network"},
		{"the clock", head + "deny contains \"a\" if time.now_ns() > 5\n", false, `p.rego:3:\d+: undefined function time.now_ns`, "input.time"},
		{"an unknown variable", head + "deny contains \"a\" if x > 5\n", false, `p.rego:3:\d+: var x is unsafe`, ""},
		{"an unused import", head + "import data.callgate.lib\ndeny contains \"a\" if true\n", false, `p.rego:3:1: import data.callgate.lib unused`, ""},
		{"a deny that is a value", head + "deny := \"a\"\n", false, `p.rego:3:1: deny: want a set`, ""},
		{"a deny with a default", head + "default deny := false\n", false, `p.rego:3:1: deny: want a set`, ""},
		{"an id that is computed", head + "deny contains id if { some id in input.tags }\n", false, `p.rego:3:1: deny: id: got id, want an object with a literal text`, "literal"},
		{"an id that holds data", head + "deny contains {\"id\": input.call.tool}\n", false, `p.rego:3:1: deny: id: got input.call.tool, want a literal text`, ""},
		{"an id with a space", head + "deny contains \"do not\" if true\n", false, `p.rego:3:1: deny: id: got "do not"`, ""},
		{"an accept without an id", head + "accept contains {\"path\": \"x\"} if true\n", false, `p.rego:3:1: accept: id: want one`, ""},
		{"an obligation that is unknown", head + "obligations contains {\"type\": \"sing\"} if true\n", false, `p.rego:3:1: obligations: type: got "sing", want one of isolate`, ""},
		{"an ask with a slip", head + "ask contains {\"id\": \"a\", \"aprovers\": [\"x\"]} if true\n", false, `p.rego:3:26: ask: got field aprovers, want only id, msg, args, mode, approvers, count, other_than, ttl`, "did you mean approvers?"},
		{"an ask of nobody", head + "ask contains {\"id\": \"a\", \"count\": 0} if true\n", false, `p.rego:3:35: ask: count: got 0, want 1 or more`, ""},
		{"an ask for ever", head + "ask contains r if { r := {\"id\": \"a\", \"ttl\": \"soon\", \"approvers\": data.params.who} }\n", false, `p.rego:3:\d+: ask: ttl: got "soon", want a duration such as 15m`, ""},
		{"a denial with a slip, in a union", head + "deny contains object.union({\"arg\": [\"x\"]}, {\"id\": \"a\"}) if true\n", false, `p.rego:3:29: deny: got field arg, want only`, "did you mean args?"},
		{"args that are no list", head + "deny contains {\"id\": \"a\", \"args\": \"x\"} if true\n", false, `p.rego:3:\d+: deny: args: got string, want a list`, ""},
		{"a limit with a slip", head + "obligations contains {\"type\": \"limit\", \"id\": \"a\", \"max\": 5, \"windw\": \"1h\"} if true\n", false, `p.rego:3:\d+: obligation limit: got field windw, want cost, max, over, per, window`, "did you mean window?"},
		{"a limit of a fraction", head + "obligations contains {\"type\": \"limit\", \"id\": \"a\", \"max\": 5, \"cost\": 2.5} if true\n", false, `p.rego:3:\d+: obligation limit: cost: got 2.5, want a whole number`, ""},
		{"a limit without a number", head + "obligations contains {\"type\": \"limit\", \"id\": \"a\", \"per\": [\"run\"]} if true\n", false, `p.rego:3:\d+: obligation limit: max: got <nil>, want a whole number`, ""},
		{"a mark of no scope", head + "obligations contains {\"type\": \"mark\", \"name\": \"a\", \"scope\": \"day\"} if true\n", false, `p.rego:3:\d+: obligation mark: scope: got day, want session or run`, ""},
		{"a tier that there is not", head + "obligations contains {\"type\": \"isolate\", \"tier\": \"vm\"} if true\n", false, `p.rego:3:\d+: obligation isolate: tier: got vm`, ""},
		{"trust that there is not", head + "obligations contains {\"type\": \"label\", \"trust\": \"low\"} if true\n", false, `p.rego:3:\d+: obligation label: trust: got "low", want one of`, ""},
		{"a redaction of nothing", head + "obligations contains {\"type\": \"redact\", \"path\": \"/resultat\"} if true\n", false, `p.rego:3:\d+: obligation redact: path: got /resultat`, ""},
		{"another package of callgate", "package callgate.core\nimport rego.v2\nx := 1\n", false, `p.rego:1:1: package callgate.core: want callgate.policy.<name>`, ""},
		{"no package of callgate", "package corp.helpers\nimport rego.v2\nx := 1\n", false, `policy p: no module declares a package callgate.policy`, ""},
		{"an agent's own policy that allows", head + "allow contains \"a\" if true\n", true, `p.rego:3:1: allow: a policy of the agent's own may only deny or ask`, ""},
		{"an agent's own policy that accepts", head + "accept contains {\"id\": \"a\", \"path\": \"x\"} if true\n", true, `p.rego:3:1: accept: a policy`, ""},
		{"an agent's own policy with obligations", head + "obligations contains {\"type\": \"mark\", \"name\": \"x\"} if true\n", true, `p.rego:3:1: obligations: a policy`, ""},
		{"a mode that is none", "# METADATA\n# custom:\n#   callgate: {mode: adit}\n" + head + "deny contains \"a\" if true\n", false, `p.rego:1:1: custom.callgate.mode: got adit, want audit or enforce`, ""},
		{"a match that is none", "# METADATA\n# custom:\n#   callgate: {match: {tool: [x]}}\n" + head + "deny contains \"a\" if true\n", false, `p.rego:1:1: custom.callgate.match.tool: want kinds, tools`, ""},
		{"a width without bound", head + "deny contains {\"id\": \"a\", \"msg\": sprintf(\"%*d\", [5, 5])} if true\n", false, `p.rego:3:\d+: sprintf: a width taken from the arguments`, ""},
		{"a width that is huge", head + "deny contains {\"id\": \"a\", \"msg\": sprintf(\"%1000000000d\", [5])} if true\n", false, `p.rego:3:\d+: sprintf: got a width above 999`, ""},
		{"a format that is computed", head + "deny contains {\"id\": \"a\", \"msg\": sprintf(input.call.tool, [5])} if true\n", false, `p.rego:3:\d+: sprintf: got .*, want the format as a literal`, ""},
		{"data where a rule is", "package params\nimport rego.v2\nmail := 1\n", false, `p.rego:3:1: conflicting rule for data path params/mail found`, ""},
		{"recursion", head + "deny contains \"a\" if count(deny) > 0\n", false, `p.rego:3:1: .*recursive`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := policy(t, test.module)
			p.Own = test.own
			e, problems := New(Config{Policies: []spec.Policy{p}, Params: map[string]any{"mail": map[string]any{}}})
			if e != nil || len(problems) == 0 {
				t.Fatalf("New: got an engine and %v, want a problem", problems)
			}
			pattern := regexp.MustCompile(`^(.*/)?` + test.problem)
			for _, got := range problems {
				line, _, _ := strings.Cut(got.String(), "\n")
				if pattern.MatchString(line) && strings.Contains(got.Hint, test.hint) {
					return
				}
			}
			t.Errorf("got %v\nwant one like %q with hint %q", problems, test.problem, test.hint)
		})
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	p := policy(t,
		head+"deny contains input.call.tool\nallow := 1\ndeny contains \"x\" if input.nothing\ndeny contains \"y\" if input.call.nothing\n",
		"package corp.broken\nimport rego.v2\nx := {\n",
		"package corp.old\ny := 1\n",
	)
	q := spec.Policy{Meta: spec.Meta{Name: "q"}, Rego: &spec.Rego{Modules: []spec.Ref{{Path: "/no/such.rego", Pos: spec.Position{File: "q.yaml", Line: 7, Column: 3}}}}}
	_, problems := New(Config{Policies: []spec.Policy{p, q}})
	var all []string
	for _, p := range problems {
		all = append(all, p.String())
	}
	text := strings.Join(all, "\n")
	for _, want := range []string{"p.rego:3:1: deny: id", "p.rego:4:1: allow: want a set", "input.nothing", "input.call.nothing", "q.rego:", "r.rego:1:1: package corp.old: want import rego.v2", "q.yaml:7:3: /no/such.rego: no such file"} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q among\n%s", want, text)
		}
	}
}

func TestPackagesHaveOneOwner(t *testing.T) {
	a, b := policy(t, head+"deny contains \"a\" if true\n"), policy(t, head+"allow contains \"b\" if true\n")
	b.Meta.Name = "other"
	_, problems := New(Config{Policies: []spec.Policy{a, b}})
	if len(problems) != 1 || !strings.Contains(problems[0].Text, "belongs to policy p already, and to policy other here") {
		t.Errorf("got %v, want one problem about the owner", problems)
	}
	b.Own = true // an agent's own policies are apart
	b.Rego.Modules = policy(t, head+"deny contains \"b\" if true\n").Rego.Modules
	if _, problems := New(Config{Policies: []spec.Policy{a, b}}); len(problems) > 0 {
		t.Errorf("an agent's own: got %v, want none", problems)
	}
}

func TestHelpersMayBeShared(t *testing.T) {
	helper := "package corp.helpers\nimport rego.v2\nbad(s) if s == \"x\"\n"
	a := policy(t, head+"import data.corp.helpers\nallow contains \"a\" if true\ndeny contains \"b\" if { some l in input.leaves; helpers.bad(l.value) }\n", helper)
	b := policy(t, strings.Replace(head, "policy.p", "policy.q", 1)+"allow contains \"c\" if true\n")
	b.Meta.Name = "q"
	b.Rego.Modules = append(b.Rego.Modules, a.Rego.Modules[1])
	e := newEngine(t, Config{Policies: []spec.Policy{a, b}})
	r := sample.Call("mail.read", field("id", "x"))
	if got := ids(findings(t, e, r)); got != "allow a, allow c, deny b" {
		t.Errorf("got %s", got)
	}
	c := policy(t, strings.Replace(head, "policy.p", "policy.r", 1)+"allow contains \"c\" if true\n", helper)
	c.Meta.Name = "r"
	if _, problems := New(Config{Policies: []spec.Policy{a, c}}); len(problems) != 1 {
		t.Errorf("another module of the package: got %v, want a problem", problems)
	}
}

func TestParams(t *testing.T) {
	module := head + `
deny contains "host" if data.params.mail.limit == 5
deny contains "own" if data.params.p.size == 1
deny contains "overridden" if data.params.p.colour == "red"
ask contains "tools" if data.callgate.tools["mail.read"].params.id == "none"
ask contains "kinds" if data.callgate.tools.observe.params.value == "model"
`
	p := policy(t, module)
	p.Params = map[string]any{"size": 1, "colour": "blue"}
	cfg := Config{
		Policies: []spec.Policy{p}, Tools: []policies.ToolSchema{sample.Tools["mail.read"]},
		Params: map[string]any{"mail": map[string]any{"limit": 5}, "p": map[string]any{"colour": "red"}},
	}
	r := sample.Call("mail.read")
	if got := ids(findings(t, newEngine(t, cfg), r)); got != "ask kinds, ask tools, deny host, deny overridden, deny own" {
		t.Errorf("the host's: %s", got)
	}
	cfg.Policies[0].Own = true
	if got := ids(findings(t, newEngine(t, cfg), r)); got != "ask kinds, ask tools, deny own" {
		t.Errorf("an agent's own sees only its own: %s", got)
	}
}

func TestRevisionChangesWithModulesParamsMatchAndMode(t *testing.T) {
	base := func() Config {
		return Config{Policies: []spec.Policy{policy(t, head+"deny contains \"a\" if true\n")}}
	}
	want := newEngine(t, base()).Revision()
	if again := newEngine(t, base()).Revision(); again != want {
		t.Errorf("the same policies in another folder: %s, want %s", again, want)
	}
	for name, change := range map[string]func(*Config){
		"params": func(c *Config) { c.Params = map[string]any{"x": 1} },
		"match":  func(c *Config) { c.Policies[0].Match.Tools = []string{"x"} },
		"mode":   func(c *Config) { c.Policies[0].Audit = true },
		"own":    func(c *Config) { c.Policies[0].Own = true },
		"module": func(c *Config) {
			c.Policies[0].Rego = policy(t, head+"deny contains \"b\" if true\n").Rego
		},
		"tools": func(c *Config) { c.Tools = []policies.ToolSchema{sample.Tools["mail.read"]} },
	} {
		c := base()
		change(&c)
		if got := newEngine(t, c).Revision(); got == want {
			t.Errorf("%s changed and the revision did not", name)
		}
	}
}

func TestAFolderOfModules(t *testing.T) {
	dir := write(t, map[string]string{
		"p.rego":        head + "deny contains \"a\" if true\n",
		"p_test.rego":   "package callgate.test.p\nimport rego.v2\ntest_x if false\n",
		"sub/more.rego": head + "allow contains \"b\" if true\n",
		"lib/lib.rego":  "package callgate.lib\nimport rego.v2\nlevel := 7\n",
		"notes.txt":     "not a module",
	})
	p := spec.Policy{Meta: spec.Meta{Name: "p"}, Rego: &spec.Rego{Modules: []spec.Ref{{Path: dir}}}}
	if got := ids(findings(t, newEngine(t, Config{Policies: []spec.Policy{p}}), sample.Call("mail.read"))); got != "allow b, deny a" {
		t.Errorf("got %s", got)
	}
	p.Rego.Modules[0].Path = t.TempDir()
	if _, problems := New(Config{Policies: []spec.Policy{p}}); len(problems) == 0 {
		t.Error("an empty folder: want a problem")
	}
}

func TestMisspeltSetsAreWarnedOf(t *testing.T) {
	e, problems := New(Config{Policies: []spec.Policy{policy(t, head+"allow contains \"a\" if true\ndenys contains \"b\" if true\n")}})
	if e == nil || len(problems) != 1 || !problems[0].Warn || problems[0].Hint != "did you mean deny?" {
		t.Errorf("got %v, want an engine and a warning", problems)
	}
}
