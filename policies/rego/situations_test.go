package rego

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/policies"
	"callgate/policies/internal/sample"
	"callgate/spec"

	"github.com/open-policy-agent/opa/v1/ast"
)

const situations = "../library/testdata/situations"

// situationPolicies are the ten everyday situations, each a policy of one module.
func situationPolicies(t testing.TB) Config {
	paths, err := filepath.Glob(situations + "/s*.rego")
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.rego") {
			continue
		}
		name := strings.TrimSuffix(filepath.Base(path), ".rego")
		_, name, _ = strings.Cut(name, "_")
		cfg.Policies = append(cfg.Policies, spec.Policy{
			Meta: spec.Meta{Name: name, Pos: spec.Position{File: name + ".yaml", Line: 2}},
			Rego: &spec.Rego{Modules: []spec.Ref{{Path: path}}},
		})
	}
	b, err := os.ReadFile(situations + "/data.json")
	if err != nil {
		t.Fatal(err)
	}
	var data struct{ Params map[string]any }
	if err := json.Unmarshal(b, &data); err != nil {
		t.Fatal(err)
	}
	cfg.Params = data.Params
	for _, tool := range sample.Tools {
		cfg.Tools = append(cfg.Tools, tool)
	}
	return cfg
}

func newEngine(t testing.TB, cfg Config) *Engine {
	t.Helper()
	e, problems := New(cfg)
	for _, p := range problems {
		if !p.Warn {
			t.Errorf("%v", p)
		}
	}
	if e == nil {
		t.FailNow()
	}
	return e
}

func static(r *policies.Request) policies.Static {
	return policies.Static{
		Agent: r.Agent.Name, Principal: r.Principal.Sub, Groups: r.Principal.Groups,
		Kind: r.Call.Kind, Tool: r.Call.Tool, Effects: r.Call.Effects, Sinks: r.Call.Sinks,
	}
}

func findings(t testing.TB, e *Engine, r *policies.Request) policies.Findings {
	t.Helper()
	rules, err := e.For(t.Context(), static(r))
	if err != nil {
		t.Fatal(err)
	}
	var out policies.Findings
	for try := 1; ; try++ { // a machine that stalls runs past the limit
		out = policies.Findings{}
		if err = rules.Evaluate(t.Context(), r, &out); err == nil {
			break
		}
		if try == 3 {
			t.Fatal(err)
		}
	}
	sortFindings(&out)
	return out
}

func sortFindings(f *policies.Findings) {
	key := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return string(b)
	}
	slices.SortFunc(f.Reasons, func(a, b policies.Reason) int { return strings.Compare(key(a), key(b)) })
	slices.SortFunc(f.Approvals, func(a, b policies.Approval) int { return strings.Compare(key(a), key(b)) })
	slices.SortFunc(f.Obligations, func(a, b policies.Obligation) int { return strings.Compare(key(a), key(b)) })
}

// plainFindings evaluates every set of the matching packages by itself, on the whole document,
// without partial evaluation: what the fast way must agree with.
func plainFindings(t testing.TB, e *Engine, r *policies.Request) policies.Findings {
	t.Helper()
	var out policies.Findings
	limit := newLimit(t.Context(), 1<<40, time.Minute)
	defer limit.stop()
	static := static(r)
	for _, u := range e.units {
		p := &program{unit: u}
		for _, k := range u.packs {
			if !policies.Matches(k.policy.Match, static) || !policies.Matches(k.match, static) {
				continue
			}
			for set := range setCount {
				if k.sets[set] != nil {
					p.all = append(p.all, slot{k, set})
				}
			}
		}
		if err := p.oneByOne(t.Context(), limit, r, &out); err != nil {
			t.Fatal(err)
		}
	}
	sortFindings(&out)
	return out
}

func TestInputIsTheDocument(t *testing.T) {
	source := sample.NewSource(11)
	all := policies.AllFields()
	for range 300 {
		r := source.Request()
		r.Principal.Claims = map[string]any{"a": []any{int64(1), 2.5, nil, map[string]any{"b": true}}}
		want, err := ast.InterfaceToValue(r.Document())
		if err != nil {
			t.Fatal(err)
		}
		if got := input(&all, r).Value; got.Compare(want) != 0 {
			t.Fatalf("got  %v\nwant %v", got, want)
		}
	}
}

// The projected, partially evaluated rules must fire exactly as the plain ones do.
func TestProjection(t *testing.T) {
	e := newEngine(t, situationPolicies(t))
	source := sample.NewSource(12)
	fired := map[string]int{}
	for range 600 {
		r := source.Request()
		got, want := findings(t, e, r), plainFindings(t, e, r)
		got.Volatile, want.Volatile = false, false
		for _, reason := range want.Reasons {
			fired[reason.ID]++
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: got  %+v\nwant %+v", r.Call.Tool, got, want)
		}
	}
	for _, u := range e.units {
		for _, k := range u.packs {
			for set, ids := range k.sets {
				for id := range ids {
					if setKind(set) != obligationSet && fired[id] == 0 {
						t.Errorf("%s never fired: not much of a test", id)
					}
				}
			}
		}
	}
}
