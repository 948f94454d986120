package root

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/policies"
	"callgate/policies/internal/sample"
	"callgate/spec"

	"github.com/google/go-cmp/cmp"
)

// situation is one of the ten everyday situations, in each language.
type situation struct {
	name      string
	rego, cel *spec.Policy
}

func situations(t testing.TB) (*spec.Host, []situation) {
	t.Helper()
	data, err := os.ReadFile("../library/testdata/situations/data.json")
	if err != nil {
		t.Fatal(err)
	}
	var given struct{ Params map[string]any }
	if err := json.Unmarshal(data, &given); err != nil {
		t.Fatal(err)
	}
	docs, problems := spec.LoadPolicies("../cel/testdata/situations.yaml")
	modules, err := filepath.Glob("../library/testdata/situations/s*.rego")
	modules = slices.DeleteFunc(modules, func(m string) bool { return strings.HasSuffix(m, "_test.rego") })
	if err != nil || spec.Fatal(problems) || len(docs) != 10 || len(modules) != 10 {
		t.Fatalf("%d in CEL, problems %v, %d in Rego, error %v", len(docs), problems, len(modules), err)
	}
	var out []situation
	for i, module := range modules { // both are in their order
		out = append(out, situation{docs[i].Meta.Name, &spec.Policy{Meta: docs[i].Meta, Rego: &spec.Rego{Modules: []spec.Ref{{Path: module}}}}, docs[i]})
	}
	return &spec.Host{Params: given.Params}, out
}

// said is everything that a decision says, in one order.
func said(d policies.Decision) []string {
	out := []string{"effect " + d.Effect.String(), "would " + d.Would.String()}
	for _, r := range d.Reasons {
		args := r.Args
		if len(args) == 0 {
			args = []string{"-"}
		}
		if r.ID == policies.CoreError {
			out = append(out, "failed: "+r.Message)
			continue
		}
		for _, a := range args {
			out = append(out, fmt.Sprintf("%s %v accept %t audit %t about %s", r.ID, r.Effect, r.Accept, r.Audit, a))
		}
	}
	for _, a := range d.Approvals {
		args := slices.Sorted(slices.Values(a.Args))
		out = append(out, fmt.Sprintf("ask %s: %s %v %d %v %v %v", a.Ask, a.Message, a.Approvers, a.Count, a.OtherThan, a.TTL, args))
	}
	for _, o := range d.Obligations {
		fields := maps.Clone(o.Fields)
		delete(fields, "cost") // counted by the rule in Rego, by the gate for CEL
		text, _ := json.Marshal(fields)
		out = append(out, fmt.Sprintf("obliges %s %s", o.Type, text))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// beyond reports whether a request is one of which CEL cannot say what Rego does: it has no sum.
func beyond(name string, r *policies.Request) bool {
	return (name == "destructive" || name == "all") && r.Call.Tool == "bank.batch"
}

func TestTheSituationsSayTheSameInBothLanguages(t *testing.T) {
	host, all := situations(t)
	var tools []policies.ToolSchema
	for _, name := range slices.Sorted(maps.Keys(sample.Tools)) {
		tools = append(tools, sample.Tools[name])
	}
	for i := range len(all) + 1 {
		name := "all"
		inRego, inCEL := Config{Host: host, Tools: tools}, Config{Host: host, Tools: tools}
		for j, s := range all {
			if i == len(all) || i == j {
				inRego.Policies, inCEL.Policies = append(inRego.Policies, s.rego), append(inCEL.Policies, s.cel)
			}
		}
		if i < len(all) {
			name = all[i].name
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := load(t, inRego), load(t, inCEL)
			fired := map[string]int{}
			source := sample.NewSource(uint64(70 + i))
			for n := range 1500 {
				r := source.Typed()
				if n%3 == 0 {
					source.Calm(r)
				}
				if beyond(name, r) {
					continue
				}
				da, db := decide(t, a, r), decide(t, b, r)
				if diff := cmp.Diff(said(da), said(db)); diff != "" {
					t.Fatalf("%s %s (-Rego +CEL):\n%s\n%v", r.Call.Kind, r.Call.Tool, diff, r.Document())
				}
				for _, reason := range da.Reasons {
					fired[reason.ID]++
				}
				for _, o := range da.Obligations {
					fired["obliges "+o.Type]++
				}
			}
			for _, rule := range b.Rules() {
				if rule.Action == "obligation" {
					continue
				}
				if fired[rule.ID] == 0 {
					t.Errorf("%s has never fired: not much of a test", rule.ID)
				}
			}
		})
	}
}
