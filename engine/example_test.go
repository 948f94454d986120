package engine_test

import (
	"context"
	"fmt"
	"log"

	"callgate/builtins"
	"callgate/engine"
	"callgate/engine/label"
	"callgate/policies"
)

// allowReads is a policy decision point in Go: pure builtins, reading, and the start of programs are allowed.
type allowReads struct{}

func (allowReads) Decide(_ context.Context, r *policies.Request) (policies.Decision, error) {
	d := policies.Decision{Effect: policies.Allow, Would: policies.Allow}
	for _, e := range r.Call.Effects {
		if e != "read" && r.Call.Kind == "tool" {
			d.Effect = policies.Deny
			d.Reasons = []policies.Reason{{ID: "reads-only", Effect: policies.Deny, Engine: "go"}}
		}
	}
	return d, nil
}

func (allowReads) Revision() string { return "sha256:reads-only" }

// A program reads from one tool and is refused the other.
func Example() {
	var tools builtins.Set
	internal := label.New(label.Internal, label.Public(), nil)
	must(tools.Add(&builtins.Tool{
		Name: "stock.level", Effects: builtins.Read, Label: builtins.Source{Class: internal},
		Params: []builtins.Param{{Name: "item", Required: true}},
		Run:    func(context.Context, *builtins.Invocation) (any, error) { return 3, nil },
	}))
	must(tools.Add(&builtins.Tool{
		Name: "stock.order", Effects: builtins.Write, Label: builtins.Source{Class: internal},
		Params: []builtins.Param{{Name: "item", Required: true}, {Name: "count", Required: true}},
		Run:    func(context.Context, *builtins.Invocation) (any, error) { return nil, nil },
	}))
	e, err := engine.New(engine.Config{Agent: "stock", Tools: &tools, PDP: allowReads{}, Meter: 64})
	must(err)
	ctx := context.Background()
	s, err := e.Start(ctx, engine.Run{Context: label.Bottom()})
	must(err)
	out, err := s.Exec(ctx, engine.Program{File: "main.star", Author: label.New(label.User, label.Public(), nil), Text: `
n = stock.level("bolt")
print("bolts:", n)
if n < 5:
    stock.order("bolt", 100)
`})
	must(err)
	for _, p := range out.Prints {
		fmt.Print(p.Text)
	}
	fmt.Println(out.Err.Public())
	must(s.End(ctx, engine.Ending{Status: engine.StatusOf(out.Status)}))
	// Output:
	// bolts: 3
	// main.star:5:16: denied (reads-only)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
