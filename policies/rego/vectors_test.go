package rego

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
	"callgate/policies/internal/sample"
	"callgate/policies/library"
	"callgate/spec"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// vector is one case of spec/vectors/decision.
type vector struct {
	Name    string
	Kind    string
	Effects []string
	PC      string
	Args    map[string]any
	State   *struct {
		Write bool
		Label string
	}
	Leaves   []vectorLeaf
	Policies map[string]map[string][]any
	Audit    []string
	Rego     *bool
	Want     json.RawMessage
}

type vectorLeaf struct{ Path, Sink, Label, Norm, Host string }

type wantDecision struct {
	Effect, Would string
	Reasons       []string
	Approvals     []struct {
		Ask, Policy, TTL string
		Args, Approvers  []string
		Count            int
		OtherThan        []string `json:"other_than"`
	}
	Obligations []string
}

func vectors(t *testing.T, file string) []vector {
	t.Helper()
	b, err := os.ReadFile("../../spec/vectors/decision/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		About string
		Cases []vector
	}
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	return doc.Cases
}

func parseLabel(t *testing.T, s string) label.Label {
	t.Helper()
	l, err := label.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (v *vector) request(t *testing.T) *policies.Request {
	t.Helper()
	tool := policies.ToolSchema{Name: "x.y", Effects: v.Effects}
	if v.Effects == nil {
		tool.Effects = []string{"write", "egress"}
	}
	pc := sample.Prompt
	if v.PC != "" {
		pc = parseLabel(t, v.PC)
	}
	args, err := value.Of(v.Args, label.Bottom())
	if err != nil {
		t.Fatal(err)
	}
	kind := v.Kind
	if kind == "" {
		kind = policies.KindTool
	}
	r := sample.Build(kind, tool, args, pc)
	pcLeaf := r.Leaves[0]
	r.Leaves = nil
	for _, l := range v.Leaves {
		param, _, _ := strings.Cut(l.Path, "[")
		at := parseLabel(t, l.Label)
		r.Leaves = append(r.Leaves, policies.Leaf{Path: l.Path, Param: param, Sink: l.Sink, Norm: l.Norm, Host: l.Host, Label: at})
		if i := slices.IndexFunc(r.Labels.Args, func(a policies.ArgLabel) bool { return a.Name == param }); i >= 0 {
			r.Labels.Args[i].Label = r.Labels.Args[i].Label.Join(at)
		} else {
			r.Labels.Args = append(r.Labels.Args, policies.ArgLabel{Name: param, Label: at})
		}
	}
	r.Leaves = append(r.Leaves, pcLeaf)
	if v.State != nil {
		r.Call.State = &policies.State{Name: "s", Write: v.State.Write, Label: parseLabel(t, v.State.Label)}
	}
	return r
}

// found is what the sets of the vector's policies fire.
func (v *vector) found(t *testing.T) policies.Findings {
	t.Helper()
	var out policies.Findings
	for name, sets := range v.Policies {
		k := &pack{name: name, policy: &spec.Policy{Meta: spec.Meta{Name: name}}, audit: slices.Contains(v.Audit, name)}
		for set, elements := range sets {
			i := setKind(slices.Index(setNames[:], set))
			k.sets[i] = map[string]rule{}
			values := ast.NewSet()
			for _, e := range elements {
				id, _ := e.(string)
				if m, ok := e.(map[string]any); ok {
					id, _ = m["id"].(string)
					if kind, ok := m["type"].(string); ok {
						id = kind + "/" + id
					}
				}
				k.sets[i][id] = rule{}
				x, err := ast.InterfaceToValue(e)
				if err != nil {
					t.Fatal(err)
				}
				values.Add(ast.NewTerm(x))
			}
			if err := k.take(i, values, &out); err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}

// inRego evaluates a query on the shipped modules, with the policies of a vector as data.
type inRego struct {
	compiler *ast.Compiler
}

func newInRego(t testing.TB) inRego {
	t.Helper()
	modules := map[string]*ast.Module{}
	for _, name := range []string{"lib.rego", "flow.rego", "decision.rego", "obligations.rego"} {
		b, err := fs.ReadFile(library.FS(), name)
		if err != nil {
			t.Fatal(err)
		}
		modules[name] = ast.MustParseModule(string(b))
	}
	c := ast.NewCompiler().WithCapabilities(Capabilities())
	if c.Compile(modules); c.Failed() {
		t.Fatal(c.Errors)
	}
	return inRego{c}
}

func (x inRego) query(t testing.TB, ref string, data map[string]any, r *policies.Request) any {
	t.Helper()
	store := inmem.NewFromObject(data)
	txn, err := store.NewTransaction(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Abort(t.Context(), txn)
	body, err := x.compiler.QueryCompiler().Compile(ast.MustParseBody("x = " + ref))
	if err != nil {
		t.Fatal(err)
	}
	all := policies.AllFields()
	rs, err := topdown.NewQuery(body).WithCompiler(x.compiler).WithStore(store).WithTransaction(txn).WithInput(input(&all, r)).WithStrictBuiltinErrors(true).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(rs) != 1 {
		t.Fatalf("%s: %d results, want one", ref, len(rs))
	}
	out, err := plain(rs[0]["x"].Value)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCombiningVectors(t *testing.T) {
	rego := newInRego(t)
	for _, v := range vectors(t, "combining.json") {
		t.Run(v.Name, func(t *testing.T) {
			var want wantDecision
			if err := json.Unmarshal(v.Want, &want); err != nil {
				t.Fatal(err)
			}
			r := v.request(t)
			found := v.found(t)
			found.Reasons = append(found.Reasons, policies.Flow(r)...)
			d := policies.Combine(found)
			got := wantDecision{Effect: d.Effect.String(), Would: d.Would.String(), Reasons: []string{}}
			for _, r := range d.Reasons {
				got.Reasons = append(got.Reasons, reasonText(r))
			}
			if got.Effect != want.Effect || got.Would != want.Would || !slices.Equal(got.Reasons, want.Reasons) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			if want.Obligations != nil {
				obligations := []string{}
				for _, o := range d.Obligations {
					obligations = append(obligations, strings.TrimSpace(o.Type+" "+o.Policy+" "+o.ID))
				}
				if !slices.Equal(obligations, want.Obligations) {
					t.Errorf("obligations: got %q, want %q", obligations, want.Obligations)
				}
			}
			if want.Approvals != nil {
				checkApprovals(t, d.Approvals, want)
			}
			if v.Rego != nil && !*v.Rego {
				return
			}
			policies := map[string]any{}
			for name, sets := range v.Policies {
				policies[name] = sets
			}
			data := map[string]any{"callgate": map[string]any{"policy": policies, "audit": v.Audit}}
			decision := rego.query(t, "data.callgate.decision", data, r).(map[string]any)
			if decision["effect"] != want.Effect || decision["would"] != want.Would {
				t.Errorf("in Rego: got %v, would %v; want %s, would %s\n%v", decision["effect"], decision["would"], want.Effect, want.Would, decision)
			}
		})
	}
}

func reasonText(r policies.Reason) string {
	words := []string{r.Effect.String(), r.Policy, r.ID}
	if r.Accept {
		words[0] = "accept"
	}
	if r.Audit {
		words = append([]string{"audit"}, words...)
	}
	return strings.Join(append(words, r.Args...), " ")
}

func checkApprovals(t *testing.T, got []policies.Approval, want wantDecision) {
	t.Helper()
	if len(got) != len(want.Approvals) {
		t.Fatalf("approvals: got %+v, want %+v", got, want.Approvals)
	}
	for i, w := range want.Approvals {
		ttl := ""
		if got[i].TTL > 0 {
			ttl = got[i].TTL.String()
		}
		g := got[i]
		if g.Ask != w.Ask || g.Policy != w.Policy || g.Count != w.Count || ttl != w.TTL ||
			!slices.Equal(g.Args, w.Args) || !slices.Equal(g.Approvers, w.Approvers) || !slices.Equal(g.OtherThan, w.OtherThan) {
			t.Errorf("approval: got %+v, want %+v", g, w)
		}
	}
}

func flowTexts(reasons []policies.Reason) []string {
	out := []string{}
	for _, r := range reasons {
		out = append(out, r.ID+" "+strings.Join(r.Args, " "))
	}
	slices.Sort(out)
	return out
}

func (x inRego) flow(t testing.TB, r *policies.Request) []string {
	t.Helper()
	out := []string{}
	for _, e := range x.query(t, "data.callgate.decision.flow", map[string]any{}, r).([]any) {
		m := e.(map[string]any)
		out = append(out, fmt.Sprint(m["id"], " ", m["path"]))
	}
	slices.Sort(out)
	return out
}

func TestFlowVectors(t *testing.T) {
	rego := newInRego(t)
	for _, v := range vectors(t, "flow.json") {
		t.Run(v.Name, func(t *testing.T) {
			var want []string
			if err := json.Unmarshal(v.Want, &want); err != nil {
				t.Fatal(err)
			}
			r := v.request(t)
			if got := flowTexts(policies.Flow(r)); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
			if got := rego.flow(t, r); !slices.Equal(got, want) {
				t.Errorf("in Rego: got %q, want %q", got, want)
			}
		})
	}
}

func TestTheFlowRuleInRegoAgrees(t *testing.T) {
	rego := newInRego(t)
	source := sample.NewSource(31)
	denials, none := map[string]int{}, 0
	for i := range 900 {
		r := source.Request()
		if i%3 == 0 {
			source.Calm(r)
		}
		want := flowTexts(policies.Flow(r))
		for _, w := range want {
			id, _, _ := strings.Cut(w, " ")
			denials[id]++
		}
		if len(want) == 0 && r.Call.Kind != policies.KindBuiltin {
			none++
		}
		if got := rego.flow(t, r); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s %s: in Rego %q, in Go %q\n%v", r.Call.Kind, r.Call.Tool, got, want, r.Document())
		}
	}
	if len(denials) < 11 || none < 100 {
		t.Errorf("only %v, and %d without a denial: not much of a test", denials, none)
	}
}
