package library

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"callgate/spec"
)

func TestEveryPolicyHasRulesTestsAndDescribedParameters(t *testing.T) {
	if len(Names()) < 9 {
		t.Errorf("Names() = %v", Names())
	}
	for _, name := range Names() {
		for _, file := range []string{name + ".rego", name + "_test.rego"} {
			if _, err := files.ReadFile(name + "/" + file); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		s := paramsSchema(name)
		if string(s.Additional) != "false" || s.Type != "object" {
			t.Errorf("%s: a parameter that is misspelt would pass", name)
		}
		for key, p := range s.Properties {
			if p.Default == nil {
				t.Errorf("%s.%s: no default", name, key)
			}
		}
		if _, problems := parameters(name, defaults(t, name), new(spec.Host).At); len(problems) > 0 {
			t.Errorf("%s: its own defaults do not pass: %v", name, problems)
		}
	}
}

func defaults(t *testing.T, name string) map[string]any {
	t.Helper()
	p, problems := parameters(name, nil, new(spec.Host).At)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return p
}

func TestPolicies(t *testing.T) {
	host := spec.Host{Library: []string{"base", "mail", "base"}, Params: map[string]any{
		"mail": map[string]any{"address_book": []any{"bob@corp.example"}, "max_recipients": 3},
		"mine": map[string]any{"x": 1},
	}}
	got, problems := Policies(host)
	if len(problems) > 0 || len(got) != 2 || got[0].Meta.Name != "base" || got[1].Rego.Modules[0].Path != "library:mail/mail.rego" {
		t.Fatalf("got %+v, %v", got, problems)
	}
	p := got[1].Params
	if p["max_recipients"] != 3 || len(p["domains"].([]any)) != 0 {
		t.Errorf("params: got %v, want the host's over the defaults", p)
	}
	if keys := slices.Sorted(maps.Keys(got[0].Params)); !slices.Contains(keys, "endorse") {
		t.Errorf("base has %v", keys)
	}
}

func TestWrongNamesAndParameters(t *testing.T) {
	at := func(line int) spec.Position { return spec.Position{File: "callgate.yaml", Line: line, Column: 1} }
	places := map[string]spec.Position{"library[0]": at(4), "params.payments": at(5), "params.payments.limit": at(6), "params.payments.amounts[1]": at(7)}
	host := spec.Host{Meta: spec.Meta{Pos: at(3)}, Places: places, Library: []string{"bse", "payments", "mail", "base", "rate"}, Params: map[string]any{
		"payments": map[string]any{"limit": "many", "acounts_from": []any{}, "approvals": 0, "amounts": []any{"a", 5, "x y"}},
		"mail":     5,
		"base":     map[string]any{"endorse": "all", "endorse_bits": 1.5},
		"rate":     map[string]any{"per_run": map[string]any{"a": -1}},
	}}
	_, problems := Policies(host)
	var all []string
	for _, p := range problems {
		all = append(all, p.String())
	}
	text := strings.Join(all, "\n")
	for _, want := range []string{
		`callgate.yaml:4:1: library: no policy "bse"`, `did you mean "base"?`,
		"callgate.yaml:6:1: params.payments.limit: got string, want number",
		"callgate.yaml:5:1: params.payments.acounts_from: no such parameter, want one of accounts_from, amounts",
		`did you mean "accounts_from"?`,
		"params.payments.approvals: got 0, want 1 or more",
		"callgate.yaml:7:1: params.payments.amounts[1]: got integer, want string",
		`params.payments.amounts[2]: got "x y", want what matches`,
		"callgate.yaml:3:1: params.mail: got integer, want object",
		"params.base.endorse: got all, want one of none ask bool bounded",
		"params.base.endorse_bits: got number, want integer",
		"params.rate.per_run.a: got -1, want 0 or more",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
}
