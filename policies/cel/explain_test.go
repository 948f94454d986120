package cel

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"callgate/spec"
)

func TestExplain(t *testing.T) {
	docs := []spec.Policy{
		{Meta: spec.Meta{Name: "one"}, CEL: &spec.CEL{
			Match: []spec.Expr{{Name: "m", Text: "'egress' in call.effects && size(leaves) > 1"}},
			Rules: []spec.Rule{
				{ID: "fires", Action: "deny", When: is("call.tool == 'mail.send' && labels.pc.rank < level.system")},
				{ID: "not", Action: "ask", When: is("leaves.exists(l, l.typed) && session.turn > 3 && history.count['none'] > 1")},
				{ID: "fails", Action: "deny", When: is("history.count['none'] > 1")},
				{ID: "leaf", Action: "accept", EachLeaf: true, When: is("leaf.sink == 'recipient' && leaf.norm in ['bob@y']")},
			},
		}},
		{Meta: spec.Meta{Name: "two"}, Match: spec.Match{Tools: []string{"bank.*"}}, CEL: &spec.CEL{Rules: []spec.Rule{{ID: "other", Action: "deny", When: is("true")}}}},
		{Meta: spec.Meta{Name: "three"}, CEL: &spec.CEL{
			Match: []spec.Expr{{Name: "m", Text: "'read' in call.effects && true"}},
			Rules: []spec.Rule{{ID: "reads", Action: "deny", When: is("true")}}}},
	}
	e := engine(t, docs, testTools)
	got, err := e.Explain(context.Background(), staticOf(send(t)), send(t))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, x := range got {
		lines = append(lines, fmt.Sprintf("%s/%s %s: %s %v", x.Policy, x.ID, x.Action, x.Outcome, x.Args))
		for _, s := range x.Steps {
			lines = append(lines, strings.TrimRight(fmt.Sprintf("  %s %s: %s %s", s.Leaf, s.Text, s.Value, strings.Join(s.Values, ", ")), " "))
		}
	}
	want := `one/fires deny: fired []
   call.tool == "mail.send": true call.tool = "mail.send"
   labels.pc.rank < level.system: true labels.pc.rank = 2, level.system = 3
one/not ask: did not hold []
   leaves.exists(l, l.typed): true
   session.turn > 3: false session.turn = 1
   history.count["none"] > 1: no such key: none history.count["none"] = no such key: none
one/fails deny: could not be evaluated []
   history.count["none"] > 1: no such key: none history.count["none"] = no such key: none
one/leaf accept: fired [to[1]]
  to[0] leaf.sink == "recipient": true leaf.sink = "recipient"
  to[0] leaf.norm in ["bob@y"]: false leaf.norm = "eve@x"
  to[1] leaf.sink == "recipient": true leaf.sink = "recipient"
  to[1] leaf.norm in ["bob@y"]: true leaf.norm = "bob@y"
  subject leaf.sink == "recipient": false leaf.sink = "content"
  subject leaf.norm in ["bob@y"]: false leaf.norm = "hi"
  body leaf.sink == "recipient": false leaf.sink = "content"
  body leaf.norm in ["bob@y"]: false leaf.norm = "see you"
  pc leaf.sink == "recipient": false leaf.sink = "control"
  pc leaf.norm in ["bob@y"]: false leaf.norm = ""
two/other deny: does not apply []
   match: false
three/reads deny: does not apply []
   "read" in call.effects: false call.effects = ["write", "egress"]`
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if rules := e.Rules(); len(rules) != 6 || rules[0].ID != "fires" || rules[5].Policy != "three" {
		t.Errorf("got the rules %v", rules)
	}
}
