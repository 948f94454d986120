package rego

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/policies"
	"callgate/spec"
)

// invoicePolicy is a policy of two rules, with a helper that decides one of them.
const invoicePolicy = `package callgate.policy.small

import data.callgate.lib
import rego.v2

deny contains {"id": "small.origin", "args": [leaf.path]} if {
	some leaf in input.leaves
	leaf.sink == "account"
	not known(leaf)
}

known(leaf) if lib.only_from(leaf, data.params.small.files)

known(leaf) if leaf.typed

ask contains object.union({"msg": "large"}, {"id": "small.large"}) if large

large if input.call.args.amount > data.params.small.limit

allow contains "small.pay" if input.call.tool == "bank.transfer"

obligations contains {"type": "limit", "id": "small.rate", "max": 3} if input.call.tool == "bank.transfer"
`

// one makes a file of a test.
func one(t testing.TB, name, text string) string {
	t.Helper()
	return filepath.Join(write(t, map[string]string{name: text}), name)
}

func small(t testing.TB) Config {
	return Config{
		Policies: []spec.Policy{{
			Meta:   spec.Meta{Name: "small", Pos: spec.Position{File: "small.yaml", Line: 2}},
			Match:  spec.Match{Sinks: []string{"account"}},
			Params: map[string]any{"files": []any{"vendors.csv"}, "limit": 100},
			Rego:   &spec.Rego{Modules: []spec.Ref{{Path: one(t, "small.rego", invoicePolicy)}}},
		}},
		Params: map[string]any{"small": map[string]any{"limit": 50}},
		Tools:  sampleTools(),
	}
}

const smallTests = `package callgate.test.small_test

import data.callgate.decision
import data.callgate.testing as t
import rego.v2

pay(iban, amount) := effect if {
	effect := decision.by({"small"}).effect with input as t.call("bank.transfer", {"iban": iban, "amount": amount})
}

test_vendor if pay(t.file("DE1", "vendors.csv"), t.literal(5)) == "allow"

test_host_params_go_over_the_policys if pay(t.file("DE1", "vendors.csv"), t.literal(51)) == "ask"

test_wrong if {
	print("asked for", 5)
	pay(t.mail("XX"), t.literal(5)) == "allow"
}

test_table[name] if {
	some name, c in {"same": {"x": 1, "y": 1}, "other": {"x": 1, "y": 2}}
	c.x == c.y
}

test_error if regex.match("(", "x")

todo_test_later if false
`

func TestSuite(t *testing.T) {
	file := one(t, "small_test.rego", smallTests)
	results, problems := Test(t.Context(), Suite{Config: small(t), Files: []string{file}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	type want struct {
		failed, skipped  bool
		message, why, in string
	}
	wants := map[string]want{
		"test_vendor":                          {},
		"test_host_params_go_over_the_policys": {},
		"test_wrong":                           {failed: true, why: `pay(t.mail("XX"), t.literal(5)) == "allow"`, in: `pay(t.mail("XX"), t.literal(5)) = "deny"`},
		"test_table":                           {failed: true, message: "other", why: "c.x == c.y", in: "c.x = 1"},
		"test_error":                           {failed: true, message: "error parsing regexp"},
		"todo_test_later":                      {skipped: true},
	}
	line := 0
	for _, r := range results {
		_, name, _ := strings.Cut(r.Name, "data.callgate.test.small_test.")
		w, ok := wants[name]
		delete(wants, name)
		if !ok || r.Failed != w.failed || r.Skipped != w.skipped || !strings.Contains(r.Message, w.message) {
			t.Errorf("%s: got %+v, want %+v", r.Name, r, w)
			continue
		}
		if r.Pos.File != file || r.Pos.Line <= line {
			t.Errorf("%s: at %v, want a place in %s after line %d", name, r.Pos, file, line)
		}
		line = r.Pos.Line
		if w.why == "" {
			continue
		}
		if len(r.Why) != 1 || r.Why[0].Text != w.why || !slices.Contains(r.Why[0].Values, w.in) || r.Why[0].Pos.File != file {
			t.Errorf("%s: why %+v, want %q with %q", name, r.Why, w.why, w.in)
		}
		if name == "test_wrong" && !strings.Contains(r.Output, "asked for 5") {
			t.Errorf("%s: output %q", name, r.Output)
		}
	}
	for name := range wants {
		t.Errorf("%s was not run", name)
	}
}

func TestSuiteRunsOnlyTheTestsOfAName(t *testing.T) {
	results, problems := Test(t.Context(), Suite{Config: small(t), Files: []string{one(t, "small_test.rego", smallTests)}, Only: `vendor$`})
	if len(problems) > 0 || len(results) != 1 || results[0].Name != "data.callgate.test.small_test.test_vendor" {
		t.Errorf("got %+v, problems %v", results, problems)
	}
}

func TestSuiteProblems(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"a text that is no Rego", "package callgate.test.x\n\nimport rego.v2\n\ntest_x if {", "rego_parse_error|unexpected eof"},
		{"an unknown function", "package callgate.test.x\n\nimport rego.v2\n\ntest_x if no.such(1)", "undefined function no.such"},
		{"a network", "package callgate.test.x\n\nimport rego.v2\n\ntest_x if http.send({}).status == 200", "undefined function http.send"},
		{"no rego.v2", "package callgate.test.x\n\ntest_x if true", "want import rego.v2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := one(t, "x_test.rego", test.text)
			results, problems := Test(t.Context(), Suite{Config: small(t), Files: []string{file}})
			if len(results) > 0 || len(problems) == 0 || problems[0].Pos.File != file || problems[0].Pos.Line == 0 {
				t.Fatalf("got %+v, problems %v", results, problems)
			}
			if !slices.ContainsFunc(strings.Split(test.want, "|"), func(w string) bool { return strings.Contains(problems[0].Text, w) }) {
				t.Errorf("got %q, want %q", problems[0].Text, test.want)
			}
		})
	}
	if _, problems := Test(t.Context(), Suite{Files: []string{"none_test.rego"}}); len(problems) != 1 {
		t.Errorf("a file that is not there: got %v", problems)
	}
}

// A suite without policies is that of a folder of modules: with data of its own, the shipped helpers.
func TestSuiteOfAFolder(t *testing.T) {
	file := one(t, "small_test.rego", smallTests)
	module := one(t, "small.rego", invoicePolicy)
	results, problems := Test(t.Context(), Suite{
		Files: []string{file, module, libraryDir + "/lib.rego"}, Only: "vendor",
		Data: map[string]any{
			"params":   map[string]any{"small": map[string]any{"files": []any{"vendors.csv"}, "limit": 10}},
			"callgate": map[string]any{"tools": toolData(sampleTools())},
		},
	})
	if len(problems) > 0 || len(results) != 1 || results[0].Failed {
		t.Errorf("got %+v, problems %v", results, problems)
	}
}

func TestCoverage(t *testing.T) {
	cfg := small(t)
	module := cfg.Policies[0].Rego.Modules[0].Path
	cover := NewCoverage()
	if _, problems := Test(t.Context(), Suite{Config: cfg, Files: []string{one(t, "small_test.rego", smallTests)}, Only: "vendor", Cover: cover}); len(problems) > 0 {
		t.Fatal(problems)
	}
	missing := func() [][2]int {
		t.Helper()
		files := cover.Files()
		if len(files) != 1 || files[0].File != module {
			t.Fatalf("got %+v, want %s alone", files, module)
		}
		return files[0].Missing
	}
	line := func(text string) int {
		return 1 + strings.Count(invoicePolicy[:strings.Index(invoicePolicy, text)], "\n")
	}
	covers := func(text string) bool {
		n := line(text)
		return !slices.ContainsFunc(missing(), func(r [2]int) bool { return r[0] <= n && n <= r[1] })
	}
	if covers("known(leaf) if leaf.typed") || !covers("known(leaf) if lib.only_from") {
		t.Errorf("missing %v, want the line of leaf.typed among them and that of only_from not", missing())
	}
	// Requests count too.
	e := newEngine(t, cfg)
	r := transfer("DE1", true)
	if err := e.Cover(t.Context(), staticOf(r), r, cover); err != nil {
		t.Fatal(err)
	}
	if !covers("known(leaf) if leaf.typed") {
		t.Errorf("missing %v, want not the line of leaf.typed", missing())
	}
}

func staticOf(r *policies.Request) policies.Static {
	return policies.Static{
		Agent: r.Agent.Name, Principal: r.Principal.Sub, Groups: r.Principal.Groups,
		Kind: r.Call.Kind, Tool: r.Call.Tool, Effects: r.Call.Effects, Sinks: r.Call.Sinks,
	}
}
