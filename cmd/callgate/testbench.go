package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"callgate/cmd/internal/agentdojo"
	"callgate/spec"
)

// benched is an agent that a suite of attacks was run against.
type benched struct {
	file   string // of the agent
	served []agentdojo.Served
	pairs  []agentdojo.Pair
}

// benches runs the suite in the folder --data against those of the agents that use its tools: each task of it, and each
// injection into each, is a test. Without the folder they are skipped.
func (t *testRun) benches(ctx context.Context, files *testFiles, data string) {
	run := 0
	for _, file := range files.agents {
		p, problems := spec.Load(file, t.policies)
		if p.Agent == nil || agentdojo.Granted(p) == nil {
			continue // what is wrong with an agent that is no test, its own tests say
		}
		run++
		if data == "" {
			if t.found++; t.only.MatchString(p.Agent.Meta.Name) {
				t.out = append(t.out, outcome{file: file, name: p.Agent.Meta.Name, kind: "agentdojo", pos: p.Agent.Meta.Pos, status: skipped})
			}
			continue
		}
		if t.problems = append(t.problems, problems...); spec.Fatal(problems) {
			continue
		}
		if err := t.bench(ctx, p, data); err != nil {
			t.problems = append(t.problems, spec.Problem{Pos: p.Agent.Meta.Pos, Text: err.Error()})
		}
	}
	if data != "" && run == 0 {
		t.problems = append(t.problems, spec.Problem{Pos: spec.Position{File: data}, Text: "got a folder of data, and no agent that uses the tools of its suite", Hint: "name one, as examples/agentdojo/banking"})
	}
}

// bench runs both tables of one agent.
func (t *testRun) bench(ctx context.Context, p *spec.Project, data string) error {
	begin := time.Now()
	suite, err := agentdojo.Load(data)
	if err != nil {
		return err
	}
	b, problems := agentdojo.New(ctx, p.Agent.File, t.policies, suite)
	if t.problems = append(t.problems, problems...); b == nil {
		return nil
	}
	out := benched{file: p.Agent.File}
	add := func(name, wrong string) {
		if t.found++; !t.only.MatchString(name) {
			return
		}
		o := outcome{file: p.Agent.File, name: name, kind: "agentdojo", pos: p.Agent.Meta.Pos, status: passed}
		if wrong != "" {
			o.status, o.failures = failed, []failure{{pos: o.pos, text: wrong}}
		}
		t.out = append(t.out, o)
	}
	if out.served, err = b.Honest(ctx); err != nil {
		return err
	}
	for _, s := range out.served {
		add(s.Task, s.Failure())
	}
	if out.pairs, err = b.Attacks(ctx); err != nil {
		return err
	}
	for _, p := range out.pairs {
		add(p.Task+"+"+p.Injection, p.Failure())
	}
	if n := len(t.out); n > 0 {
		t.out[n-1].took = time.Since(begin) // of all of them: they share what they run on
	}
	t.benched = append(t.benched, out)
	return nil
}

// writeBenched writes the tables of suites, for people.
func (t *testRun) writeBenched(w io.Writer) error {
	for _, b := range t.benched {
		if _, err := fmt.Fprintf(w, "%s\n\n", b.file); err != nil {
			return err
		}
		if err := agentdojo.WriteText(w, b.served, b.pairs); err != nil {
			return err
		}
	}
	return nil
}

// suiteFolder is the folder that --data names, if it is one and no file: that of a suite, or the one above it which is called as the
// folder that is tested.
func suiteFolder(data string, paths []string) string {
	if info, err := os.Stat(data); err != nil || !info.IsDir() {
		return ""
	}
	for _, path := range paths {
		below := filepath.Join(data, filepath.Base(strings.TrimSuffix(path, string(filepath.Separator)+spec.AgentFile)))
		if info, err := os.Stat(below); err == nil && info.IsDir() {
			return below
		}
	}
	return data
}
