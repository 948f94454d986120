package desk

import (
	"errors"
	"testing"
	"time"

	"callgate/engine/eval"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

const otherRun = "20261202-100000123-zzzzzzzzzz"

func TestScopes(t *testing.T) {
	to := func(s ...string) []string { return s }
	shownTo := to("bob@corp.example")
	same := send("7.3", "to", shownTo, trusted, "body", "something else", trusted)
	other := large
	other.OtherThan = []string{"requester"}
	value2h := func(a *Answer) {
		a.Scope, a.Until = Scope{Kind: "value"}, time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	}
	valueHere := func(a *Answer) { a.Scope = Scope{Kind: "value"} }
	corp := func(a *Answer) { a.Scope = Scope{Kind: "tool", Match: map[string]string{"to": "*@corp.example"}} }
	run := func(a *Answer) { a.Scope = Scope{Kind: "run"} }
	for _, test := range []struct {
		name  string
		scope func(*Answer)
		run   string // that the other call is of; "": the same
		call  eval.Call
		ask   *policies.Approval // of the other call; nil: the same
		cfg   func(*gate.Config)
		after time.Duration
		ok    bool
	}{
		{name: "no scope", scope: func(*Answer) {}, call: same},
		{name: "this value, in this run", scope: valueHere, call: same, ok: true},
		{name: "this value, in another run", scope: valueHere, run: otherRun, call: same},
		{name: "this value, in another run until a time", scope: value2h, run: otherRun, call: same, ok: true},
		{name: "this value, in another run after it", scope: value2h, run: otherRun, call: same, after: 3 * time.Hour},
		{name: "another value", scope: valueHere, call: send("7.3", "to", to("eve@evil.example"), trusted, "body", "hello", trusted)},
		{name: "this value and another", scope: valueHere, call: send("7.3", "to", to("bob@corp.example", "eve@evil.example"), trusted, "body", "hello", trusted)},
		{name: "this value, less trusted", scope: valueHere, call: send("7.3", "to", shownTo, mailed, "body", "hello", trusted)},
		{name: "this value beside one that is less trusted", scope: valueHere, call: send("7.3", "to", shownTo, trusted, "body", "hello", mailed)},
		{name: "this value beside one that fewer may read", scope: valueHere, call: send("7.3", "to", shownTo, trusted, "body", "hello", private)},
		{name: "this value, more trusted", scope: valueHere, call: send("7.3", "to", shownTo, label.Bottom(), "body", "hello", label.Bottom()), ok: true},
		{name: "this value, of which an untrusted one chose", scope: valueHere, call: send("7.3", "to", shownTo, trusted.WithGrant(label.Grant{Call: "1.0", Trust: label.Untrusted, Bits: 1}), "body", "hello", trusted)},
		{name: "this value, and less is sent", scope: valueHere, call: send("7.3", "to", shownTo, trusted), ok: true},
		{name: "this value under another control flow", scope: valueHere, call: func() eval.Call { c := same; c.PC = mailed; return c }()},
		{name: "this value, another ask", scope: valueHere, call: same, ask: &policies.Approval{Ask: "late", Policy: "p"}},
		{name: "this value, another policy's ask", scope: valueHere, call: same, ask: &policies.Approval{Ask: "large", Policy: "q"}},
		{name: "this value, and now another must approve", scope: valueHere, call: same, ask: &other},
		{name: "this value for somebody else", scope: value2h, run: otherRun, call: same, cfg: func(c *gate.Config) { c.Principal.Sub = "dan" }},
		{name: "this value for another agent", scope: value2h, run: otherRun, call: same, cfg: func(c *gate.Config) { c.Agent.Name = "outbox" }},
		{name: "this value for an agent of that name that was changed", scope: value2h, run: otherRun, call: same, cfg: func(c *gate.Config) { c.Agent.Digest = "sha256:b" }},
		{name: "the named argument is the same", scope: func(a *Answer) { a.Scope = Scope{Kind: "value", Params: to("body")} }, call: send("7.3", "to", to("dan@corp.example"), trusted, "body", "hello", trusted), ok: true},
		{name: "the named argument is left out", scope: func(a *Answer) { a.Scope = Scope{Kind: "value", Params: to("to", "body")} }, call: send("7.3", "to", shownTo, trusted)},
		{name: "a pattern that fits", scope: corp, call: send("7.3", "to", to("dan@corp.example", "bob@corp.example"), trusted, "body", "x", trusted), ok: true},
		{name: "a pattern that one does not fit", scope: corp, call: send("7.3", "to", to("dan@corp.example", "eve@evil.example"), trusted, "body", "x", trusted)},
		{name: "a pattern that two in one seem to fit", scope: corp, call: send("7.3", "to", to("eve@evil.example, bob@corp.example"), trusted, "body", "x", trusted)},
		{name: "a pattern that a name in quotes seems to fit", scope: corp, call: send("7.3", "to", to(`"x" <eve@evil.example>@corp.example`), trusted, "body", "x", trusted)},
		{name: "a pattern that nobody seems to fit", scope: corp, call: send("7.3", "to", to(), trusted, "body", "x", trusted)},
		{name: "a pattern, less trusted", scope: corp, call: send("7.3", "to", to("dan@corp.example"), mailed, "body", "x", trusted)},
		{name: "this run", scope: run, call: send("7.3", "to", to("eve@evil.example"), trusted, "body", "x", trusted), ok: true},
		{name: "this run, less trusted", scope: run, call: send("7.3", "to", to("eve@evil.example"), mailed, "body", "x", trusted)},
		{name: "another run", scope: run, run: otherRun, call: same},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := waiting(t, large)
			o.must(o.answer("k7q2", ana, true, test.scope))
			o.now = o.now.Add(test.after)
			ask := large
			if test.ask != nil {
				ask = *test.ask
			}
			id := test.run
			if id == "" {
				id = runID
			}
			edit := test.cfg
			if edit == nil {
				edit = func(*gate.Config) {}
			}
			code, g := o.run(journal.NewMemory(), id, asks(ask), o.Approver(nil), test.call, edit)
			if (code == "") != test.ok || (len(o.ran) == 1) != test.ok {
				t.Fatalf("ended with %q and ran %q, want that it is made: %v", code, o.ran, test.ok)
			}
			if c := g.Counts(); test.ok && (c.Spared != 1 || c.Given != 0) {
				t.Errorf("counts %+v, want one approval spared", c)
			}
		})
	}
}

func TestScopesThatCannotBeGranted(t *testing.T) {
	for _, test := range []struct {
		name  string
		scope Scope
		args  []string // that the ask is about
		want  string
	}{
		{"of a kind that there is not", Scope{Kind: "all"}, nil, `scope: got "all", want value, tool, run`},
		{"a pattern alone", Scope{Match: map[string]string{"to": "x"}}, nil, "a parameter or a pattern without a scope: want value, tool, run"},
		{"a tool without a pattern", Scope{Kind: "tool"}, nil, "the scope tool wants a pattern for an argument, such as to=*@corp.example"},
		{"a pattern for a value", Scope{Kind: "value", Match: map[string]string{"to": "x"}}, nil, "a pattern goes with the scope tool"},
		{"a parameter for a run", Scope{Kind: "run", Params: []string{"to"}}, nil, "a parameter goes with the scope value"},
		{"a pattern that does not fit what is shown", Scope{Kind: "tool", Match: map[string]string{"to": "*@evil.example"}}, nil, "the scope does not cover what is shown: a pattern does not fit"},
		{"a pattern for what is not there", Scope{Kind: "tool", Match: map[string]string{"cc": "**"}}, nil, "cc: the call has no such argument: to, body"},
		{"a parameter that is not there", Scope{Kind: "value", Params: []string{"cc"}}, nil, "cc: the call has no such argument: to, body"},
		{"a value that the ask does not name", Scope{Kind: "value"}, []string{"pc"}, "the ask is about no argument: say which must be the same: to, body"},
		{"stars without end", Scope{Kind: "tool", Match: map[string]string{"to": "***"}}, nil, `to: pattern "***": want * for a name, or ** for anything`},
		{"a pattern of nothing", Scope{Kind: "tool", Match: map[string]string{"to": ""}}, nil, "to: pattern: got 0 bytes, want 1 to 500"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ask := large
			if test.args != nil {
				ask.Args = test.args
			}
			o := waiting(t, ask)
			err := o.answer("k7q2", ana, true, func(a *Answer) { a.Scope = test.scope })
			if no, ok := errors.AsType[*Refusal](err); !ok || no.Why != test.want {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// A value that was endorsed once is endorsed again without a question, to that trust and no other, and is used without one.
func TestEndorsingOnceSparesAsking(t *testing.T) {
	endorse := func(id, text, trust string) eval.Call {
		return eval.Call{ID: id, Kind: eval.KindEndorse, Tool: "endorse", PC: trusted, History: label.Bottom(), Args: []eval.Arg{
			{Name: "value", Value: value.StringOf(text, mailed)}, {Name: "trust", Value: value.StringOf(trust, trusted)}, {Name: "why", Value: value.StringOf("because "+id, trusted)},
		}}
	}
	ask := policies.Approval{Ask: "endorse", Policy: "base"}
	p := pdp(func(r *policies.Request) policies.Decision {
		if r.Call.Kind == policies.KindEndorse {
			return policies.Decision{Effect: policies.Ask, Approvals: []policies.Approval{ask}}
		}
		for _, l := range r.Leaves { // as the flow rule would
			if l.Label.Trust() < label.Internal {
				return policies.Decision{}
			}
		}
		return policies.Decision{Effect: policies.Allow}
	})
	o := newOffice(t, journal.NewMemory())
	if code, _ := o.run(o.Store, runID, p, nil, endorse("1.1", "bob@corp.example", "user")); code != "waiting" {
		t.Fatalf("ended with %q", code)
	}
	o.must(o.answer("k7q2", ana, true, func(a *Answer) { a.Scope = Scope{Kind: "value"} }))
	for _, test := range []struct {
		name string
		call eval.Call
		ok   bool
	}{
		{"the call itself", endorse("1.1", "bob@corp.example", "user"), true},
		{"the value again", endorse("1.2", "bob@corp.example", "user"), true},
		{"another value", endorse("1.2", "eve@evil.example", "user"), false},
		{"the value, to less trust", endorse("1.2", "bob@corp.example", "internal"), false},
	} {
		if code := o.resume(p, test.call); (code == "") != test.ok {
			t.Errorf("%s: ended with %q", test.name, code)
		}
	}
	// It is used at two places, and nobody is asked.
	run, err := journal.Begin(t.Context(), journal.NewMemory(), runID, journal.Options{})
	o.must(err)
	_, err = run.Append(t.Context(), journal.RunStart, "", journal.RunStarted{}, false)
	o.must(err)
	g, err := gate.New(gate.Config{
		Agent: policies.Agent{Name: "inbox", Digest: "sha256:a"}, Principal: policies.Principal{Sub: "ana"}, Session: policies.Session{ID: "s", Run: runID},
		Tools: o.tools(), PDP: p, Journal: run, Approver: o.Approver(nil), Meter: 4096,
	})
	o.must(err)
	g.SetTurn(1, trusted, trusted)
	res := g.Do(t.Context(), []eval.Call{endorse("1.1", "bob@corp.example", "user")})[0]
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	for _, id := range []string{"1.2", "1.3"} {
		c := send(id)
		c.Args[0].Value = value.ListOf(trusted, res.Value)
		if r := g.Do(t.Context(), []eval.Call{c})[0]; r.Err != nil {
			t.Errorf("call %s: %v", id, r.Err)
		}
	}
	if c := g.Counts(); c.Given != 1 || c.Asked != 1 || len(o.ran) != 2 {
		t.Errorf("counts %+v, ran %q; want one approval for two calls", c, o.ran)
	}
}

func TestMatch(t *testing.T) {
	for _, test := range []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true},
		{"a", "ab", false},
		{"*@corp.example", "bob@corp.example", true},
		{"*@corp.example", "bob.smith+x@corp.example", true},
		{"*@corp.example", "@corp.example", false},
		{"*@corp.example", "bob@corp.example.evil.example", false},
		{"*@corp.example", "eve@evil.example\n@corp.example", false},
		{"*@corp.example", "eve@evil.example@corp.example", false},
		{"*@corp.example", "bób@corp.example", false},
		{"*@corp.example", "bob@corp.example\n", false},
		{"*@corp.example", "bob\u200b@corp.example", false},
		{"*@corp.example", "bob@corpXexample", false},
		{"https://*.corp.example/**", "https://api.corp.example/v1?x=y", true},
		{"https://*.corp.example/**", "https://a.b.corp.example/", true},
		{"https://*.corp.example/**", "https://evil.example/.corp.example/", false},
		{"https://*.corp.example/**", "https://evil.example?.corp.example/", false},
		{"https://*.corp.example/**", "https://evil.example#.corp.example/", false},
		{"https://*.corp.example/**", `https://evil.example\.corp.example/`, false},
		{"https://*.corp.example/**", "https://evil@x.corp.example/", false},
		{"reports/*", "reports/q3.csv", true},
		{"reports/*", "reports/../etc", false},
		{"reports/*", "reports/..", false},
		{"reports/*", "reports/.", false},
		{"reports/*", "reports/a/b", false},
		{"reports/**", "reports/a/b", true},
		{"**", "", true},
		{"**", "a\nb", true},
		{"*", "", false},
		{"*.*", "a.b", true},
		{"(a|b)*", "(a|b)c", true},
		{"(a|b)*", "ac", false},
		{"[a]", "a", false},
		{"", "", false},
		{"\xff*", "\xffa", false},
	} {
		if got := Match(test.pattern, test.text); got != test.want {
			t.Errorf("Match(%q, %q) = %v", test.pattern, test.text, got)
		}
	}
}
