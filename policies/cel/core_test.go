package cel

import (
	"context"
	"testing"

	"callgate/policies"
	"callgate/spec"
)

// TestCore decides by the rules and the flow rule together.
func TestCore(t *testing.T) {
	docs := rulesOf(
		spec.Rule{ID: "known", Action: "accept", EachLeaf: true, When: is("leaf.sink == 'recipient' && leaf.norm in params.book")},
		spec.Rule{ID: "send", Action: "allow", When: is("call.tool == 'mail.send'")},
		spec.Rule{ID: "many", Action: "ask", When: is("history.count['mail.send'] >= params.max")},
	)
	for _, test := range []struct {
		name string
		book []any
		max  int64
		want policies.Effect
	}{
		{"an address out of a mail is refused", []any{}, 10, policies.Deny},
		{"unless a rule accepts it", []any{"eve@x"}, 10, policies.Allow},
		{"and then asks", []any{"eve@x"}, 1, policies.Ask},
	} {
		t.Run(test.name, func(t *testing.T) {
			docs[0].Params = map[string]any{"book": test.book, "max": test.max}
			e := engine(t, docs, testTools)
			core, err := policies.New(policies.Config{Engines: []policies.Engine{e}, Tags: e.Tags()})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				d, err := core.Decide(context.Background(), send(t))
				if err != nil || d.Effect != test.want {
					t.Errorf("got %v and error %v, want %v: %+v", d.Effect, err, test.want, d.Reasons)
				}
				if !d.ReadHistory {
					t.Error("the decision does not say that it read the history")
				}
			}
		})
	}
}
