package root

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"callgate/engine/value"
	"callgate/policies"
	"callgate/policies/internal/sample"
	"callgate/spec"
)

func regoPolicy(t testing.TB, name, text string) *spec.Policy {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".rego")
	if err := os.WriteFile(path, []byte("package callgate.policy."+name+"\nimport rego.v2\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	return &spec.Policy{Meta: spec.Meta{Name: name, Pos: spec.Position{File: name + ".yaml", Line: 1, Column: 1}}, Rego: &spec.Rego{Modules: []spec.Ref{{Path: path}}}}
}

func celPolicy(name string, params map[string]any, rules ...spec.Rule) *spec.Policy {
	return &spec.Policy{Meta: spec.Meta{Name: name, Pos: spec.Position{File: name + ".yaml", Line: 1, Column: 1}}, Params: params, CEL: &spec.CEL{Rules: rules}}
}

func rule(id, action, when string) spec.Rule {
	return spec.Rule{ID: id, Action: action, When: spec.Expr{Text: when}}
}

func load(t testing.TB, cfg Config) *Root {
	t.Helper()
	if cfg.Tools == nil {
		for _, tool := range sample.Tools {
			cfg.Tools = append(cfg.Tools, tool)
		}
	}
	r, problems := Load(t.Context(), cfg)
	for _, p := range problems {
		if !p.Warn {
			t.Errorf("%v", p)
		}
	}
	if r == nil {
		t.FailNow()
	}
	return r
}

func decide(t testing.TB, r *Root, req *policies.Request) policies.Decision {
	t.Helper()
	d, err := r.Decide(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func read(id string) *policies.Request {
	return sample.Call("mail.read", value.Field{Name: "id", Of: value.StringOf(id, sample.Prompt)})
}

func ids(d policies.Decision) string {
	var out []string
	for _, r := range d.Reasons {
		out = append(out, r.Engine+" "+r.ID)
	}
	return strings.Join(out, ", ")
}

func TestWithoutPoliciesEverythingIsDenied(t *testing.T) {
	r := load(t, Config{})
	source := sample.NewSource(51)
	for range 100 {
		if d := decide(t, r, source.Request()); d.Effect != policies.Deny {
			t.Fatalf("got %+v", d)
		}
	}
}

func TestEnginesAreUnited(t *testing.T) {
	r := load(t, Config{Policies: []*spec.Policy{
		regoPolicy(t, "a", `allow contains "a.read" if input.call.tool == "mail.read"`+"\n"+`ask contains "a.ask" if input.call.args.id == "ask"`),
		celPolicy("b", nil, rule("b.no", "deny", "call.kind == 'tool' && call.args.?id.orValue('') == 'no'")),
	}})
	for id, want := range map[string]string{"x": "allow", "ask": "ask", "no": "deny"} {
		if d := decide(t, r, read(id)); d.Effect.String() != want {
			t.Errorf("%s: got %v (%s), want %s", id, d.Effect, ids(d), want)
		}
	}
}

func TestAToolThatIsMistypedInMatch(t *testing.T) {
	for name, want := range map[string]string{
		"mail.sned": `policy "b": match.tools: "mail.sned" is none of the granted tools; did you mean "mail.send"?`,
		"mail.send": "", "mail.*": "", "crm.note": "",
	} {
		p := celPolicy("b", nil, rule("b.no", "deny", "true"))
		p.Match.Tools = []string{name}
		tools := []policies.ToolSchema{{Name: "mail.send"}, {Name: "mail.read"}}
		root, problems := Load(t.Context(), Config{Policies: []*spec.Policy{p}, Tools: tools})
		var got []string
		for _, p := range problems {
			if strings.Contains(p.Text, "match.tools") {
				got = append(got, p.Text+"; "+p.Hint)
			}
		}
		if strings.Join(got, "\n") != want || root == nil {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestParamsOfTheHostAndOfThePolicy(t *testing.T) {
	host := &spec.Host{Params: map[string]any{"mail": map[string]any{"limit": 5}, "size": 1}}
	own := celPolicy("d", map[string]any{"size": 3}, rule("d.own", "deny", "params.size == 3"))
	own.Own = true
	r := load(t, Config{Host: host, Policies: []*spec.Policy{
		regoPolicy(t, "a", `allow contains "a.host" if data.params.mail.limit == 5`),
		celPolicy("b", map[string]any{"size": 2}, rule("b.both", "deny", "params.mail.limit == 5 && params.size == 2")),
		celPolicy("c", nil, rule("c.host", "deny", "params.size == 1")),
		own,
	}})
	if got, want := ids(decide(t, r, read("x"))), "cel b.both, cel c.host, cel d.own, rego a.host"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	own = celPolicy("d", nil, rule("d.own", "deny", "params.mail.limit == 5"))
	own.Own = true
	if root, _ := Load(t.Context(), Config{Host: host, Policies: []*spec.Policy{own}}); root != nil {
		t.Error("an agent's own policy sees the host's parameters")
	}
}

func TestTheBasePolicy(t *testing.T) {
	r := load(t, Config{Host: &spec.Host{Library: []string{"base"}}})
	builtin := policies.ToolSchema{Name: "len"}
	if d := decide(t, r, sample.Build(policies.KindBuiltin, builtin, value.Value{}, sample.Mail)); d.Effect != policies.Allow {
		t.Errorf("len: %s", ids(d))
	}
	if d := decide(t, r, read("x")); d.Effect != policies.Allow {
		t.Errorf("mail.read: %s", ids(d))
	}
	if d := decide(t, r, sample.Call("mail.send")); d.Effect != policies.Deny {
		t.Errorf("mail.send: %s", ids(d))
	}
	req := read("x")
	req.Labels.Program = sample.Mail
	if d := decide(t, r, req); d.Effect != policies.Allow {
		t.Errorf("mail.read in an untrusted program: %s", ids(d))
	}
}

func TestAnAgentsOwnPolicyOnlyRestricts(t *testing.T) {
	own := regoPolicy(t, "mine", `deny contains "mine.no" if input.call.args.id == "no"`)
	own.Own = true
	r := load(t, Config{Host: &spec.Host{Library: []string{"base"}}, Policies: []*spec.Policy{own}})
	if d := decide(t, r, read("no")); d.Effect != policies.Deny {
		t.Errorf("got %s, want it denied", ids(d))
	}
	for _, bad := range []*spec.Policy{
		regoPolicy(t, "mine", `allow contains "mine.yes" if true`),
		celPolicy("mine", nil, rule("mine.yes", "allow", "true")),
	} {
		bad.Own = true
		if root, _ := Load(t.Context(), Config{Policies: []*spec.Policy{bad}}); root != nil {
			t.Error("an agent's own policy may allow")
		}
	}
}

func TestEveryProblemAtOnce(t *testing.T) {
	host := &spec.Host{Meta: spec.Meta{Pos: spec.Position{File: "callgate.yaml", Line: 1, Column: 1}}, Library: []string{"bsae"}}
	root, problems := Load(t.Context(), Config{Host: host, Policies: []*spec.Policy{
		regoPolicy(t, "a", `deny contains "x" if input.nothing`),
		celPolicy("b", nil, rule("b.x", "deny", "call.nothing == 1")),
		celPolicy("b", nil, rule("b.x", "deny", "true")),
	}})
	var all []string
	for _, p := range problems {
		all = append(all, p.String())
	}
	text := strings.Join(all, "\n")
	for _, want := range []string{`no policy "bsae"`, "a.rego:3:", "nothing", `Policy "b": declared twice`} {
		if root != nil || !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
}

func TestToolsThatNothingCanAllowAreWarnedOf(t *testing.T) {
	bound := func(p *spec.Policy, tools ...string) *spec.Policy {
		p.Match.Tools = tools
		return p
	}
	asks := `ask contains "a.ask" if input.call.tool == "files.write"`
	for _, test := range []struct {
		name     string
		policies []*spec.Policy
		want     []string
	}{
		{"no policy applies", []*spec.Policy{bound(regoPolicy(t, "a", `allow contains "a.read" if true`), "mail.*")}, []string{"no policy applies to files.write: every call will be denied"}},
		{"no rule allows it", []*spec.Policy{regoPolicy(t, "a", `allow contains "a.read" if input.call.effects == ["read"]`), celPolicy("b", nil, rule("b.read", "allow", "call.tool == 'mail.read'"))}, []string{"no rule allows files.write: every call will be denied"}},
		{"a rule may", []*spec.Policy{regoPolicy(t, "a", "allow contains \"a.read\" if input.call.tool == \"mail.read\"\nallow contains \"a.short\" if count(input.call.args.text) < 9")}, nil},
		{"a rule in CEL may", []*spec.Policy{celPolicy("b", nil, rule("b.read", "allow", "call.args.?text.orValue('') != 'x' && call.kind == 'tool'"))}, nil},
		{"one in audit mode does not", []*spec.Policy{regoPolicy(t, "a", "allow contains \"a.read\" if input.call.tool == \"mail.read\"\nallow contains {\"id\": \"a.all\", \"mode\": \"audit\"} if true")}, []string{"no rule allows files.write: every call will be denied"}},
		{"an ask in vain", []*spec.Policy{regoPolicy(t, "a", asks)}, []string{"a.ask: no rule allows anything", "no rule allows mail.read, files.write: every call will be denied"}},
		{"an ask in vain in CEL", []*spec.Policy{celPolicy("b", nil, rule("b.ask", "ask", "call.kind == 'tool'"))}, []string{"b.ask: no rule allows anything", "no rule allows mail.read, files.write: every call will be denied"}},
		{"an ask that the other language allows", []*spec.Policy{regoPolicy(t, "a", asks), celPolicy("b", nil, rule("b.all", "allow", "call.kind == 'tool'"))}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, problems := Load(t.Context(), Config{Agent: "inbox", Policies: test.policies, Tools: []policies.ToolSchema{sample.Tools["mail.read"], sample.Tools["files.write"]}})
			var got []string
			for _, p := range problems {
				if !p.Warn {
					t.Errorf("%v, want a warning", p)
				}
				got = append(got, p.Text)
			}
			slices.Sort(got)
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestReload(t *testing.T) {
	allow := func(id string) Config {
		return Config{Tools: []policies.ToolSchema{sample.Tools["mail.read"]}, Policies: []*spec.Policy{regoPolicy(t, "a", `allow contains "`+id+`" if input.call.kind == "tool"`)}}
	}
	one, two := allow("one"), allow("two")
	r := load(t, one)
	first := r.Revision()
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				d := decide(t, r, read("x"))
				if got := ids(d); got != "rego one" && got != "rego two" || (d.Revision == first) != (got == "rego one") {
					t.Errorf("under revision %s: %s", d.Revision, got)
					return
				}
			}
		})
	}
	for i := range 20 {
		if problems := r.Reload(t.Context(), []Config{two, one}[i%2]); spec.Fatal(problems) {
			t.Error(problems)
		}
	}
	close(done)
	wg.Wait()
	if r.Revision() != first {
		t.Errorf("the same policies have another revision")
	}
	broken := Config{Policies: []*spec.Policy{regoPolicy(t, "a", "deny contains {")}}
	if problems := r.Reload(t.Context(), broken); !spec.Fatal(problems) || r.Revision() != first {
		t.Errorf("a broken version: problems %v, revision changed %t", problems, r.Revision() != first)
	}
	if d := decide(t, r, read("x")); d.Effect != policies.Allow {
		t.Errorf("after a broken version: %s", ids(d))
	}
}

func TestTheSituationsLoadTogether(t *testing.T) {
	names, err := filepath.Glob("../library/testdata/situations/s*.rego")
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return strings.HasSuffix(n, "_test.rego") })
	cfg := Config{Host: &spec.Host{Params: map[string]any{
		"mail": map[string]any{"address_book": []any{}, "per_run": 5, "per_hour": 20}, "payments": map[string]any{"vendor_file": "vendors.csv", "limit": 10000},
		"pii": map[string]any{"hosts": []any{}}, "shell": map[string]any{"commands": []any{}}, "readonly": map[string]any{"except": []any{}},
	}}}
	for _, n := range names {
		cfg.Policies = append(cfg.Policies, &spec.Policy{Meta: spec.Meta{Name: n}, Rego: &spec.Rego{Modules: []spec.Ref{{Path: n}}}})
	}
	if len(names) != 10 {
		t.Errorf("%d situations, want ten", len(names))
	}
	r := load(t, cfg)
	if d := decide(t, r, read("x")); d.Effect != policies.Allow {
		t.Errorf("mail.read: %s", ids(d))
	}
}
