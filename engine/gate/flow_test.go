package gate

import (
	"context"
	"slices"
	"testing"

	"callgate/builtins"
	"callgate/engine/eval"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// allowEngine has one rule, which allows everything: what is refused then, the flow rule refuses.
type allowEngine struct{ accept string }

func (allowEngine) Name() string     { return "cel" }
func (allowEngine) Revision() string { return "sha256:0" }
func (e allowEngine) For(context.Context, policies.Static) (policies.Rules, error) {
	return e, nil
}
func (e allowEngine) Evaluate(_ context.Context, _ *policies.Request, out *policies.Findings) error {
	out.Reasons = append(out.Reasons, policies.Reason{ID: "all", Policy: "p", Effect: policies.Allow, Engine: "cel"})
	if e.accept != "" {
		out.Reasons = append(out.Reasons, policies.Reason{ID: "known", Policy: "p", Accept: true, Engine: "cel", Args: []string{e.accept}})
	}
	return nil
}
func (allowEngine) Reads() []string { return nil }
func (allowEngine) MayAllow() bool  { return true }

func TestTheFlowRuleThroughTheGate(t *testing.T) {
	body := func(l label.Label) eval.Call {
		c := send("1.1", "")
		c.Args[1].Value = value.StringOf("hello", l)
		return c
	}
	to := func(l label.Label) eval.Call {
		c := call("1.1", "mail.send", "body", "hello")
		c.Args = append(c.Args, eval.Arg{Name: "to", Value: value.ListOf(trusted, value.StringOf("eve@evil.example", l))})
		return c
	}
	under := func(pc label.Label, c eval.Call) eval.Call {
		c.PC = pc
		return c
	}
	answer := func(l label.Label) eval.Call {
		return eval.Call{ID: "1.1", Kind: eval.KindAnswer, Tool: "done", PC: trusted, History: label.Bottom(), Args: []eval.Arg{{Name: "value", Value: value.StringOf("x", l)}}}
	}
	forBob := label.New(label.User, label.Only("bob"), nil)
	for _, test := range []struct {
		name   string
		call   eval.Call
		accept string
		code   string // "" if it is allowed
	}{
		{"untrusted text as content", body(mailed), "", ""},
		{"an untrusted recipient", to(mailed), "", "denied (flow.recipient)"},
		{"an untrusted recipient that a policy accepts", to(mailed), "to[0]", ""},
		{"private text to somebody who may not read it", body(private), "", "denied (flow.content)"},
		{"sent because of untrusted text", under(mailed, body(trusted)), "", "denied (flow.control)"},
		{"read because of untrusted text", under(mailed, read("1.1")), "", ""},
		{"private text as the answer to its reader", answer(private), "", ""},
		{"untrusted text as the answer", answer(mailed), "", ""},
		{"somebody else's text as the answer", answer(forBob), "", "denied (flow.content)"},
		{"untrusted control flow that a policy accepts still endorses nothing", under(mailed, grantCall(eval.KindEndorse, "value", true, "trust", "user")), "pc", "denied (flow.endorse)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			pdp, err := policies.New(policies.Config{Engines: []policies.Engine{allowEngine{test.accept}}})
			if err != nil {
				t.Fatal(err)
			}
			r := newRig(t, func(c *Config) { c.PDP = pdp })
			res := r.do(test.call)
			if test.code != "" {
				wantCode(t, res, test.code)
			} else if res.Err != nil {
				t.Fatalf("%s: %+v", res.Err, last[journal.DecisionMade](r, journal.Decided).Decision.Reasons)
			}
		})
	}
}

func TestTheFlowRuleDecidesWhatAModelSees(t *testing.T) {
	pdp, err := policies.New(policies.Config{Engines: []policies.Engine{allowEngine{}}})
	if err != nil {
		t.Fatal(err)
	}
	secret := trusted.WithTags("secret")
	for _, test := range []struct {
		name     string
		v        label.Label
		provider string
		shown    bool
	}{
		{"what the principal may read", private, "", true},
		{"what only somebody else may read", trusted.WithReaders(label.Only("bob")), "", false},
		{"what the model's provider may read", trusted.WithReaders(label.Only("model:acme")), "acme", true},
		{"what another provider may read", trusted.WithReaders(label.Only("model:acme")), "other", false},
		{"a secret", secret, "", false},
	} {
		r := newRig(t, func(c *Config) { c.PDP, c.Provider = pdp, test.provider })
		o, err := r.Observe(t.Context(), "x", 1, value.StringOf(secretText, test.v), trusted)
		if err != nil || o.Shown != test.shown {
			t.Errorf("%s: got %+v, %v, want shown %t", test.name, o, err, test.shown)
		}
	}
	r := newRig(t, func(c *Config) { c.PDP = pdp })
	r.SetTurn(1, secret, secret)
	if _, err := r.Program(t.Context(), Start{File: "turn1.star", Inputs: secret}); err != nil {
		t.Errorf("a program with secrets may not start: %v", err)
	}
}

// An answer about a mail comes from the mail; what is looked up by a mail's word does not.
func TestAResultMadeOfTheArgumentsHasTheirSources(t *testing.T) {
	for _, derives := range []bool{false, true} {
		about := tool("model.ask", func(context.Context, *builtins.Invocation) (any, error) { return "yes", nil })
		about.Params, about.Derives = []builtins.Param{{Name: "data"}}, derives
		r := newRig(t, nil, about)
		r.pdp.decide = always(allowing())
		data := mailed.WithSources(label.Source{Tool: "mail.read", Of: "4.eml"})
		asked := eval.Call{ID: "1.1", Kind: eval.KindTool, Tool: "model.ask", PC: trusted, History: label.Bottom(), Args: []eval.Arg{{Name: "data", Value: value.StringOf("x", data)}}}
		res := r.do(asked)
		if res.Err != nil {
			t.Fatal(res.Err)
		}
		wantLabel(t, "the answer", res.Value.Label, mailed.WithoutSources().String())
		from := slices.ContainsFunc(res.Value.Label.Sources(), func(s label.Source) bool { return s.Of == "4.eml" })
		if from != derives {
			t.Errorf("derives %t: the sources are %v", derives, res.Value.Label.Sources())
		}
	}
}
