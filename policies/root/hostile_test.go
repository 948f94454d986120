package root

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"callgate/engine/value"
	"callgate/policies"
	"callgate/policies/internal/sample"
	"callgate/spec"
)

// hang is what a decision never takes, whatever the rules, the call and the machine are. What it does take is logged, as processor
// time (other programs may keep this one from its processors for longer): the goal is 100 ms.
const hang = 10 * time.Second

// TestHostileInput has rules that cannot be evaluated and calls that are out of all proportion: each is a denial that says what is
// the matter, beside rules in both languages that allow.
func TestHostileInput(t *testing.T) {
	deep := value.StringOf("x", sample.Prompt)
	for range 10_000 {
		deep = value.ListOf(sample.Prompt, deep)
	}
	wide := value.ListOf(sample.Prompt)
	for range 10_000 {
		wide.Items = append(wide.Items, value.StringOf("bob@corp.example", sample.Prompt))
	}
	long := value.StringOf(strings.Repeat("x", 1<<20), sample.Prompt)
	frob := func(v value.Value) *policies.Request {
		return sample.Call("mcp.acme.frob", value.Field{Name: "x", Of: v})
	}
	plain := frob(value.StringOf("x", sample.Prompt))
	inRego := func(text string) *spec.Policy { return regoPolicy(t, "p", text) }
	inCEL := func(when string) *spec.Policy { return celPolicy("p", nil, rule("p.no", "deny", when)) }
	const never = `deny contains "p.no" if input.call.args.x == "never"`
	for _, test := range []struct {
		name   string
		policy *spec.Policy
		call   *policies.Request
		want   string // in the reason that denies
	}{
		{"Rego that loops", inRego("deny contains \"p.no\" if {\n\tsome a in numbers.range(1, 3000)\n\tsome b in numbers.range(1, 3000)\n\ta * b == input.session.turn + 9000001\n}"), plain, "stopped after"},
		{"Rego that loops before the call is known", inRego("deny contains \"p.no\" if {\n\tsome a in numbers.range(1, 30000)\n\tsome b in numbers.range(1, 30000)\n\ta * b == 0\n\tinput.call.args.x == \"x\"\n}"), plain, "stopped after"},
		{"Rego that loops over the leaves", inRego("deny contains \"p.no\" if {\n\tsome a in input.leaves\n\tsome b in input.leaves\n\ta.norm == \"x\"\n\tb.norm == a.path\n}"), frob(wide), "stopped after"},
		{"a pattern of any size", inRego(`deny contains "p.no" if regex.match(concat("", ["(a{900}){900}", input.call.args.x]), "b")`), plain, "p.error"},
		{"a wrong shape", inRego("deny contains {\"id\": \"p.no\", \"args\": x} if {\n\tx := input.call.args.x\n}"), plain, "args: got string, want a list"},
		{"an id that is none", inRego("ask contains object.union({\"id\": input.call.args.x}, {\"id\": \"p.no\", \"count\": input.call.args.x}) if true"), plain, "count"},
		{"data that are not there", inRego("deny contains \"p.no\" if not input.call.args.x in data.params.none"), plain, "p.no"},
		{"a builtin that fails", inRego(`deny contains "p.no" if to_number(input.call.args.x) > 3`), plain, "p.error"},
		{"CEL that costs too much", inCEL("leaves.exists(a, leaves.exists(b, a.rank + b.rank > 99))"), frob(wide), "could not be evaluated"},
		{"CEL with a pattern out of the call", inCEL("string(call.args.x).matches(string(call.args.x) + '(.{900})(.{900})(.{900})')"), plain, "could not be evaluated"},
		{"CEL that takes a list for a text", inCEL("call.args.x.startsWith('y')"), frob(wide), "could not be evaluated"},
		{"a text of 1 MB, for Rego", inRego(never), frob(long), ""},
		{"a text of 1 MB, for CEL", inCEL("call.args.x == 'never'"), frob(long), ""},
		{"10,000 lists in one another, for Rego", inRego(never), frob(deep), ""},
		{"10,000 lists in one another, for CEL", inCEL("call.args.x == 'never'"), frob(deep), ""},
		{"10,000 elements", inRego(never), frob(wide), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := Config{Policies: []*spec.Policy{test.policy}}
			if test.want != "" {
				cfg.Policies = append(cfg.Policies, regoPolicy(t, "ok", `allow contains "ok.rego" if true`), celPolicy("okc", nil, rule("okc.cel", "allow", "true")))
			}
			took := func(f func()) time.Duration {
				before := processorTime(t)
				f()
				return processorTime(t) - before
			}
			var d policies.Decision
			first, second := time.Hour, time.Hour
			for range 3 { // the quickest: the collector works beside it
				r := load(t, cfg)
				runtime.GC()
				first = min(first, took(func() { d = decide(t, r, test.call) }))
				second = min(second, took(func() { d = decide(t, r, test.call) }))
			}
			if d.Effect != policies.Deny {
				t.Errorf("got %v %s", d.Effect, ids(d))
			}
			t.Logf("took %v, and %v once the rules were specialised", first, second)
			if max(first, second) > hang {
				t.Errorf("took longer than %v", hang)
			}
			found := test.want == ""
			for _, reason := range d.Reasons {
				found = found || reason.Effect == policies.Deny && (strings.Contains(reason.Message, test.want) || strings.Contains(reason.ID, test.want))
			}
			if !found {
				t.Errorf("got %+v, want a denial with %q", d.Reasons, test.want)
			}
		})
	}
}
