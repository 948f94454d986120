package cel

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/policies"
	"callgate/spec"
)

// problemsOf returns the problems of the policies in a text as "line:column: text | hint".
func problemsOf(t *testing.T, text string, tools []policies.ToolSchema) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	docs, problems := spec.LoadPolicies(path)
	for _, p := range problems {
		t.Fatalf("the file itself is at fault: %v", p)
	}
	var in []spec.Policy
	for _, d := range docs {
		in = append(in, *d)
	}
	e, problems := New(in, tools)
	if (e == nil) != spec.Fatal(problems) {
		t.Errorf("got an engine: %t, with the problems %v", e != nil, problems)
	}
	var out []string
	for _, p := range problems {
		if p.Pos.File != path {
			t.Errorf("%v: got file %s, want %s", p, p.Pos.File, path)
		}
		s := fmt.Sprintf("%d:%d: ", p.Pos.Line, p.Pos.Column)
		if p.Warn {
			s += "warning: "
		}
		s += p.Text
		if p.Hint != "" {
			s += " | " + p.Hint
		}
		out = append(out, s)
	}
	return out
}

// TestProblemsOfConditions has one condition each, which begins in line 10, column 21.
func TestProblemsOfConditions(t *testing.T) {
	const document = `apiVersion: callgate/v1
kind: Policy
metadata: {name: p}
spec:
  params: {limit: 3, book: [a, b], hosts: {eu: x.example, us: y.example}, mixed: {max: 1, name: n}}
  cel:
    variables: [{name: known, expression: "call.tool == 'mail.send'"}]
    rules:
    - {id: r.x, action: %s,
       when:        "%s"}
`
	for _, test := range []struct {
		name, when string
		want       []string
	}{
		{"an unknown name", `rcpt == 'x'`, []string{"10:22: rule r.x: undeclared reference to 'rcpt'"}},
		{"a misspelt name", `leafs.exists(l, l.rank < 1)`, []string{"10:22: rule r.x: undeclared reference to 'leafs' | did you mean 'leaves'?"}},
		{"a misspelt function", `call.tool.mtches('x')`, []string{"10:32: rule r.x: undeclared reference to 'mtches' | did you mean 'matches'?"}},
		{"a misspelt field of the request", `call.tol == 'x'`, []string{"10:27: rule r.x: no field 'tol' in the call | did you mean 'tool'?"}},
		{"a misspelt field of a leaf", `leaves.exists(l, l.rnk < 1)`, []string{"10:41: rule r.x: no field 'rnk' in a leaf | did you mean 'rank'?"}},
		{"a misspelt field through cel.bind", `cel.bind(x, leaves, x.exists(l, l.rnk < 1))`, []string{"10:56: rule r.x: no field 'rnk' in a leaf | did you mean 'rank'?"}},
		{"a misspelt field of a source", `leaves.exists(l, l.sources.exists(s, s.off == 'x'))`, []string{"10:61: rule r.x: no field 'off' in a source | did you mean 'of'?"}},
		{"a misspelt level", `labels.pc.rank < level.intrnal`, []string{"10:45: rule r.x: no field 'intrnal' in the levels | did you mean 'internal'?"}},
		{"leaf outside of each: leaf", `leaf.rank < 1`, []string{"10:22: rule r.x: undeclared reference to 'leaf' | leaf is there in rules with each: leaf; leaves lists them all"}},
		{"an unknown parameter", `session.turn > params.limt`, []string{"10:44: rule r.x: unknown parameter 'params.limt' | did you mean 'limit'?"}},
		{"an unknown key of a parameter of one type", `params.hosts.uk == 'x'`, []string{"10:35: rule r.x: unknown parameter 'params.hosts.uk' | did you mean 'us'?"}},
		{"an unknown key of a parameter of several", `params.mixed.mx == 1`, []string{"10:35: rule r.x: no field 'mx' in the map params.mixed | did you mean 'max'?"}},
		{"an unknown variable", `variables.knwn`, []string{"10:32: rule r.x: unknown variable 'variables.knwn' | did you mean 'known'?"}},
		{"a variable without variables", `known`, []string{"10:22: rule r.x: undeclared reference to 'known' | write variables.known"}},
		{"operands of two types", `session.turn + 'a' == 2`, []string{"10:35: rule r.x: '+' does not take (int, string)"}},
		{"a comparison of two types", `call == 1`, []string{"10:27: rule r.x: '==' compares values of one type, got (the call, int)"}},
		{"an argument of the wrong type", `size(5) > 2`, []string{"10:22: rule r.x: 'size' does not take (int)"}},
		{"a condition that is no bool", `call.tool`, []string{"10:22: rule r.x: got string, want bool"}},
		{"an end too early", `call.tool == `, []string{"10:35: rule r.x: syntax error: unexpected end of the expression"}},
		{"an assignment", `call.tool = 'x'`, []string{"10:32: rule r.x: syntax error: unexpected '=' | write == to compare", "10:34: rule r.x: syntax error: unexpected ''x''"}},
		{"a pattern that does not compile", `call.tool.matches('(')`, []string{"10:40: rule r.x: regular expression: missing closing ): `(`"}},
		{"a pattern that is too large", `call.tool.matches('(.{900}){9}')`, []string{"10:40: rule r.x: regular expression: invalid repeat count: `{9}`"}},
		{"a pattern of too many states", `call.tool.matches('.{900}.{900}.{900}')`, []string{"10:40: rule r.x: regular expression of 2702 states, want 2000 at most"}},
		{"a time that is none", `time > timestamp('noon')`, []string{"10:39: rule r.x: timestamp: got 'noon', want a time such as 2026-12-01T10:00:00Z"}},
		{"a number that is none", `int('x') == 1`, []string{"10:22: rule r.x: type conversion error from 'string' to 'int'"}},
		{"a word that is no kind of call", `call.kind == 'tol'`, []string{"10:35: rule r.x: 'tol' is no kind of call | did you mean 'tool'?"}},
		{"a word that is no effect", `'egres' in call.effects`, []string{"10:22: rule r.x: 'egres' is no effect | did you mean 'egress'?"}},
		{"a word that is no sink", `leaves.exists(l, l.sink in ['account', 'foo'])`, []string{"10:61: rule r.x: 'foo' is no kind of sink | one of none, recipient, account, url, path, word, query, content, secret, model, control"}},
		{"a word that is no level", `labels.pc.trust == 'users'`, []string{"10:41: rule r.x: 'users' is no level of trust | did you mean 'user'?"}},
		{"a tool nearly of that name", `call.tool == 'mail.sned'`, []string{"10:35: warning: rule r.x: no tool 'mail.sned' | did you mean 'mail.send'?"}},
		{"a condition that never holds", `false`, []string{"10:22: warning: rule r.x: never fires"}},

		{"a parameter that the named tool lacks", `call.tool == 'bank.transfer' && call.args.amuont > 5.0`, []string{"10:64: rule r.x: bank.transfer has no parameter 'amuont' | did you mean 'amount'?"}},
		{"the same as an index", `call.tool == 'bank.transfer' && call.args['amuont'] > 5.0`, []string{"10:63: rule r.x: bank.transfer has no parameter 'amuont' | did you mean 'amount'?"}},
		{"an optional parameter that it lacks", `call.tool == 'bank.transfer' && call.args.?amuont.orValue(0.0) > 5.0`, []string{"10:65: rule r.x: bank.transfer has no parameter 'amuont' | did you mean 'amount'?"}},
		{"a parameter of another type", `call.tool == 'bank.transfer' && call.args.?amount.orValue(0.0) > '5'`, []string{"10:85: rule r.x: '>' does not take (double, string) (for bank.transfer)"}},
		{"a field of an object within", `call.tool == 'bank.batch' && call.args.payments.exists(p, p.ibn == 'x')`, []string{"10:82: rule r.x: no field 'ibn' in payments[] of bank.batch (for bank.batch) | did you mean 'iban'?"}},
		{"a parameter that one of the named tools lacks", `call.tool in ['mail.send', 'mail.read'] && size(call.args.to) > 3`, []string{"10:80: rule r.x: mail.read has no parameter 'to'"}},
		{"a parameter that one of them may lack", `call.tool in ['mail.send', 'mail.read'] && size(call.args.?to.orValue([])) > 3`, nil},
		{"a parameter that no tool has", `call.args.amuont > 5.0`, []string{"10:32: rule r.x: bank.batch and 13 more have no parameter 'amuont' | did you mean 'amount'?"}},
		{"a parameter that some tools have, of a rule for all", `call.args.?amount.orValue(0.0) > 5.0`, nil},
		{"the same, taken for granted", `'egress' in call.effects && size(call.args.subject) > 5`,
			[]string{"10:65: warning: rule r.x: http.post and 3 more have no parameter 'subject': their calls are denied | write call.args.?subject.orValue(…), or ask has(call.args.subject) first"}},
		{"a parameter that may be left out", `call.tool == 'mail.send' && call.args.priority > 1`,
			[]string{"10:60: warning: rule r.x: 'priority' may be left out in calls of mail.send, which are denied then | write call.args.?priority.orValue(…), or ask has(call.args.priority) first"}},
		{"the same, asked for first", `call.tool == 'mail.send' && has(call.args.priority) && call.args.priority > 1`, nil},
		{"a parameter of a crossing", `call.kind == 'observe' && call.args.valeu == 1`, []string{"10:58: rule r.x: observe has no parameter 'valeu' | did you mean 'value'?"}},
		{"the label of a parameter that the tool lacks", `call.tool == 'mail.send' && labels.args.too.rank < 1`, []string{"10:62: rule r.x: mail.send has no parameter 'too' | did you mean 'to'?"}},
		{"the label of a part of a parameter", `call.tool == 'bank.batch' && labels.args['payments[].iban'].rank < 1`, nil},
		{"a parameter through a variable that names the tool", `variables.known && call.args.tto == ['x']`, []string{"10:51: rule r.x: mail.send has no parameter 'tto' | did you mean 'to'?"}},

		{"loops within loops", `leaves.all(a, leaves.all(b, leaves.all(c, leaves.all(d, a.rank + b.rank + c.rank + d.rank < 3))))`,
			[]string{"10:22: rule r.x: costs too much: 252989762 steps for a request of 64 leaves, want 10000000 at most | loops within loops multiply: look at each leaf once, with each: leaf, or name a result as a variable"}},
		{"nesting too deep", strings.Repeat("(", 100) + "true" + strings.Repeat(")", 100), []string{"10:22: rule r.x: expression recursion limit exceeded: 64"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := problemsOf(t, fmt.Sprintf(document, actionDeny, test.when), testTools)
			if !slices.Equal(got, test.want) {
				t.Errorf("%s\ngot  %q\nwant %q", test.when, got, test.want)
			}
		})
	}
	t.Run("a grant is not warned of what denies nothing", func(t *testing.T) {
		if got := problemsOf(t, fmt.Sprintf(document, actionAllow, `size(call.args.to) > 5`), testTools); len(got) > 0 {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a grant for all of nothing", func(t *testing.T) {
		got := problemsOf(t, fmt.Sprintf(document, actionAllow, `leaves.filter(l, l.sink == 'url').all(l, l.host == 'x')`), testTools)
		want := []string{"10:22: warning: rule r.x: all(…) of an empty list is true | ask for size(…) > 0 too"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("arguments of tools that are not known have no types", func(t *testing.T) {
		if got := problemsOf(t, fmt.Sprintf(document, actionDeny, `call.tool == 'mail.send' && call.args.amuont > 5`), nil); len(got) > 0 {
			t.Errorf("got %q", got)
		}
	})
}

// TestProblemsHaveTheirPlaceHoweverTheyAreWritten has every problem of several files' worth at
// once.
func TestProblemsHaveTheirPlaceHoweverTheyAreWritten(t *testing.T) {
	got := problemsOf(t, `apiVersion: callgate/v1
kind: Policy
metadata: {name: one}
spec:
  cel:
    matchConditions:
    - {name: first, expression: call.tol == 'x'}
    - name: second
      expression: 'call.kind == ''tol'''
    variables:
    - {name: early, expression: variables.late}
    - {name: late, expression: "1"}
    rules:
    - id: r.block
      action: deny
      when: |
        call.tool == 'x'
          && leaves.exists(l,
               l.rnk < 1)
    - id: r.folded
      action: deny
      when: >
        call.tool == 'x'
        && call.efects == []
    - id: r.escaped
      action: deny
      when: "call.tool == \"x\" && call.id.sze() > 1"
      messageExpression: call.tool + 1
      args: "['a', session.turn]"
    - {id: r.args, action: ask, when: "true", args: "leaves"}
---
apiVersion: callgate/v1
kind: Policy
metadata: {name: two}
spec:
  cel:
    rules:
    - {id: r.x, action: deny, when: "labels.pc.rnk < 1"}
`, testTools)
	want := []string{
		"7:38: match condition first: no field 'tol' in the call | did you mean 'tool'?",
		"9:33: match condition second: 'tol' is no kind of call | did you mean 'tool'?",
		"11:43: variable early: unknown variable 'variables.late' | move 'late' up: a variable may use those before it",
		"19:18: rule r.block: no field 'rnk' in a leaf | did you mean 'rank'?",
		"24:17: rule r.folded: no field 'efects' in the call | did you mean 'effects'?",
		"27:44: rule r.escaped: undeclared reference to 'sze' | did you mean 'size'?",
		"28:36: rule r.escaped: messageExpression: '+' does not take (string, int)",
		"29:28: rule r.escaped: args: got int, want string",
		"30:54: rule r.args: args: got list(a leaf), want list(string)",
		"38:48: rule r.x: no field 'rnk' in a label | did you mean 'rank'?",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestProblemsOfRules are those that the loader of files finds too, for rules that are made in Go.
func TestProblemsOfRules(t *testing.T) {
	is := func(text string) spec.Expr { return spec.Expr{Text: text} }
	for _, test := range []struct {
		name string
		own  bool
		cel  spec.CEL
		want []string
	}{
		{"no id", false, spec.CEL{Rules: []spec.Rule{{Action: "deny", When: is("true")}}}, []string{"rule 1: no id"}},
		{"an id with blanks", false, spec.CEL{Rules: []spec.Rule{{ID: "a b", Action: "deny", When: is("true")}}}, []string{"rule a b: want an id of letters, digits and . _ - : /"}},
		{"an id twice", false, spec.CEL{Rules: []spec.Rule{{ID: "a", Action: "deny", When: is("true"), Pos: spec.Position{Line: 7}}, {ID: "a", Action: "ask", When: is("true")}}},
			[]string{"rule a: a second rule of this id, the first is in line 7"}},
		{"no condition", false, spec.CEL{Rules: []spec.Rule{{ID: "a", Action: "deny"}}}, []string{"rule a: no expression"}},
		{"no action", false, spec.CEL{Rules: []spec.Rule{{ID: "a", When: is("true")}}}, []string{`rule a: action: got "", want deny, ask, allow, accept or oblige`}},
		{"an unknown action", false, spec.CEL{Rules: []spec.Rule{{ID: "a", Action: "denny", When: is("true")}}}, []string{`rule a: action: got "denny", want deny, ask, allow, accept or oblige`}},
		{"an accept of nothing", false, spec.CEL{Rules: []spec.Rule{{ID: "a", Action: "accept", When: is("true")}}}, []string{"rule a: accept must name what it accepts: each: leaf, or args"}},
		{"an accept of the control", false, spec.CEL{Rules: []spec.Rule{{ID: "a", Action: "accept", When: is("true"), Args: is("['pc']")}}}, nil},
		{"an agent's own policy that allows", true, spec.CEL{Rules: []spec.Rule{{ID: "a", Action: "allow", When: is("true")}}}, []string{"rule a: an agent's own policy may only deny or ask, got allow"}},
		{"an agent's own policy that accepts", true, spec.CEL{Rules: []spec.Rule{{ID: "a", Action: "accept", EachLeaf: true, When: is("true")}}}, []string{"rule a: an agent's own policy may only deny or ask, got accept"}},
		{"an agent's own policy that sets a mark, which the host's may go by", true, spec.CEL{Rules: []spec.Rule{{ID: "a", Action: "ask", When: is("true"), Obligations: []map[string]any{{"type": "mark", "name": "approved"}}}}}, []string{"rule a: an agent's own policy may only deny or ask, got obligations"}},
		{"an agent's own policy that asks", true, spec.CEL{Rules: []spec.Rule{{ID: "a", Action: "ask", When: is("true")}}}, nil},
		{"a variable twice", false, spec.CEL{Variables: []spec.Expr{{Name: "a", Text: "1"}, {Name: "a", Text: "2"}}, Rules: []spec.Rule{{ID: "a", Action: "deny", When: is("true")}}}, []string{"variable a: declared twice"}},
		{"a variable of no name", false, spec.CEL{Variables: []spec.Expr{{Name: "a-b", Text: "1"}}, Rules: []spec.Rule{{ID: "a", Action: "deny", When: is("true")}}}, []string{`variable "a-b": want a name of letters, digits and _`}},
		{"leaf in a variable", false, spec.CEL{Variables: []spec.Expr{{Name: "a", Text: "leaf.rank"}}, Rules: []spec.Rule{{ID: "a", Action: "deny", EachLeaf: true, When: is("leaf.rank < 1")}}}, []string{"variable a: undeclared reference to 'leaf'"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, problems := New([]spec.Policy{{Own: test.own, CEL: &test.cel}}, testTools)
			var got []string
			for _, p := range problems {
				got = append(got, p.Text)
			}
			if !slices.Equal(got, test.want) || (e == nil) != (len(test.want) > 0) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
