package agents_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"callgate/agents"
	"callgate/builtins"
	"callgate/engine/label"
	"callgate/spec"
)

// A Go program has a tool of its own, which the agent's file uses by name and the host's policies decide.
func Example() {
	dir := files(map[string]string{
		"callgate.yaml": "apiVersion: callgate/v1\nkind: Host\nspec: {library: [base], principal: {sub: ana@corp.example}}\n",
		"agent.yaml": "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: stock}\n" +
			"spec: {program: main.star, tools: [{use: stock}]}\n",
		"main.star": `done("%d bolts" % stock.level("bolt"))`,
	})
	defer os.RemoveAll(dir)
	level := &builtins.Tool{
		Name: "stock.level", Doc: "How many of an item there are.", Effects: builtins.Read,
		Params:  []builtins.Param{{Name: "item", Required: true}},
		Returns: []byte(`{"type": "integer"}`),
		Label:   builtins.Source{Class: label.New(label.Internal, label.Public(), nil), Of: "{args.item}"},
		Run:     func(context.Context, *builtins.Invocation) (any, error) { return 3, nil },
	}
	ctx := context.Background()
	project, problems := spec.Load(dir, "")
	agent, more := agents.Build(ctx, project, agents.Options{Tools: []*builtins.Tool{level}})
	for _, p := range append(problems, more...) {
		fmt.Println(p)
	}
	if agent == nil {
		return
	}
	defer agent.Close()
	r, err := agent.Run(ctx, agents.RunOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Status, r.Answer.Text(), r.Answer.Deep())
	// Output: done "3 bolts" internal/public
}

// files writes files into a new folder.
func files(all map[string]string) string {
	dir, err := os.MkdirTemp("", "stock")
	if err != nil {
		log.Fatal(err)
	}
	for name, text := range all {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			log.Fatal(err)
		}
	}
	return dir
}
