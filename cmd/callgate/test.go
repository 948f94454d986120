package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"callgate/agents"
	"callgate/cmd/internal/console"
	"callgate/engine/journal"
	"callgate/policies"
	"callgate/policies/rego"
	"callgate/policies/root"
	"callgate/spec"
)

// testFlags are the flags of test.
type testFlags struct {
	only     string
	policies string
	data     string
	cover    bool
	json     bool
	junit    string
	trace    bool
}

func (c *command) testVerb() *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use:   "test PATH...",
		Short: "Run the tests of policies: those in Rego, and scenarios",
		Long: `Run the tests of policies in files and folders: the rules test_… of the files _test.rego, with the policies and the data as
the host of their folder binds them, and the documents of kind Scenario, each an agent whose tools are stubs, and
what must come of it. What passes is told in one line a file; what fails, with the place of what was expected.

With the folder of a suite of AgentDojo as --data, agents that use the suite's tools are tested by it: each of its tasks is done
by a program beside the agent, and attacked in all the ways there are.`,
		Example: `  callgate test examples/invoices
  callgate test policies scenarios --run 'large' --cover
  callgate test . --json --junit report.xml
  callgate test policies/library --data policies/library/testdata/data.json
  callgate test examples/agentdojo/banking --data ../agentdojo`,
		Args: arguments(1, 1<<20, "files or folders"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.test(cmd.Context(), args, f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.only, "run", "", "run only the tests whose names match a regular `expression`")
	policyFlag(cmd, &f.policies)
	fl.StringVar(&f.data, "data", "", "JSON `file` of more data for tests in Rego, or the folder of a suite")
	fl.BoolVar(&f.cover, "cover", false, "tell which lines in Rego no test evaluates, and which rules fire in no scenario")
	fl.BoolVar(&f.json, "json", false, "write a line of JSON for each test to standard output")
	fl.StringVar(&f.junit, "junit", "", "write a report to a `file`, as JUnit does")
	fl.BoolVar(&f.trace, "trace", false, "show the run of each scenario that fails")
	return cmd
}

// The outcomes of a test.
const (
	passed  = "pass"
	failed  = "fail"
	skipped = "skip"
)

// outcome is what came of one test.
type outcome struct {
	file     string
	name     string
	kind     string // rego or scenario
	pos      spec.Position
	status   string
	took     time.Duration
	failures []failure
	output   string
	events   []journal.Event
}

// failure is a difference, and what more is known of it.
type failure struct {
	pos  spec.Position
	text string
	more []string
}

// testRun is one run of tests.
type testRun struct {
	testFlags
	only     *regexp.Regexp
	data     map[string]any
	problems []spec.Problem
	found    int // tests, before --run
	out      []outcome
	coverage *coverage // nil: not asked for
	benched  []benched
	progress *progress
}

// test runs the tests of files and folders.
func (c *command) test(ctx context.Context, paths []string, f testFlags) error {
	t := &testRun{testFlags: f, progress: &progress{to: c.stderr, on: console.IsTerminal(c.stderr) && !f.json}}
	var err error
	if t.only, err = regexp.Compile(f.only); err != nil {
		return usage("", "test: --run: %v", err)
	}
	suite := suiteFolder(f.data, paths)
	if f.data != "" && suite == "" {
		if t.data, err = readData(f.data); err != nil {
			return usage("", "test: --data: %v", err)
		}
	}
	if f.cover {
		t.coverage = newCoverage()
	}
	begin := time.Now()
	files, problems := findTests(paths)
	t.problems = problems
	if !spec.Fatal(problems) {
		t.suites(ctx, files)
		t.scenarios(ctx, files)
		t.benches(ctx, files, suite)
	}
	t.progress.clear()
	if err := ctx.Err(); err != nil {
		return err
	}
	if problems := spec.SortProblems(t.problems); spec.Fatal(problems) {
		return c.invalid(problems)
	} else if len(problems) > 0 {
		c.tell(problems)
	}
	switch {
	case t.found == 0:
		return usage("tests are files _test.rego and documents of kind Scenario", "test: no tests in %s", strings.Join(paths, ", "))
	case len(t.out) == 0:
		return usage("", "test: --run %q: matches none of %d tests", f.only, t.found)
	}
	if f.json {
		err = t.writeJSON(c.stdout)
	} else {
		err = t.writeText(c.stdout, console.LookOf(c.stdout, c.getenv), time.Since(begin))
	}
	if f.junit != "" {
		err = errors.Join(err, t.writeJUnit(f.junit))
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(t.out, func(o outcome) bool { return o.status == failed }) {
		return quit(exitFailed)
	}
	return nil
}

// readData reads the data of a JSON file: an object.
func readData(file string) (map[string]any, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	if err := json.Unmarshal(b, &out); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return out, nil
}

// suites runs the tests in Rego, those that one host binds the policies of together.
func (t *testRun) suites(ctx context.Context, files *testFiles) {
	for _, s := range files.suites(ctx, t.policies) {
		t.problems = append(t.problems, s.problems...)
		if spec.Fatal(s.problems) {
			continue
		}
		suite, problems := root.Suite(s.config, s.files...)
		suite.Data = t.data
		if t.coverage != nil {
			suite.Cover = t.coverage.lines
		}
		t.problems = append(t.problems, problems...)
		if spec.Fatal(problems) {
			continue
		}
		suite.Only = t.testFlags.only
		results, problems := rego.Test(ctx, suite)
		t.problems = append(t.problems, problems...)
		t.found += s.count
		for _, r := range results {
			t.out = append(t.out, regoOutcome(r))
		}
		t.progress.add(len(results))
	}
}

func regoOutcome(r rego.TestResult) outcome {
	o := outcome{file: r.Pos.File, name: r.Name, kind: "rego", pos: r.Pos, status: passed, took: r.Duration, output: r.Output}
	switch {
	case r.Skipped:
		o.status = skipped
	case r.Failed:
		o.status = failed
		o.failures = []failure{{pos: r.Pos, text: cmp.Or(r.Message, "is not true"), more: stepLines(r.Why, true)}}
	}
	return o
}

// scenarios runs the scenarios, several at a time, and takes over what came of them in their order.
func (t *testRun) scenarios(ctx context.Context, files *testFiles) {
	type result struct {
		out      *agents.ScenarioResult
		problems []spec.Problem
		took     time.Duration
	}
	var all []*spec.Scenario
	for _, sc := range files.scenarios {
		if t.found++; t.only.MatchString(sc.Meta.Name) {
			all = append(all, sc)
		}
	}
	results := make([]result, len(all))
	options := agents.ScenarioOptions{Policies: t.policies}
	if t.coverage != nil {
		options.Asked = t.coverage.asked
	}
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	var running sync.WaitGroup
	for i, sc := range all {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			if ctx.Err() != nil {
				return
			}
			begin := time.Now()
			r := &results[i]
			r.out, r.problems = agents.Scenario(ctx, sc, options)
			r.took = time.Since(begin)
			t.progress.add(1)
		})
	}
	running.Wait()
	for i, r := range results {
		t.problems = append(t.problems, r.problems...)
		if r.out == nil {
			continue
		}
		if t.coverage != nil {
			t.coverage.bound(r.out.Rules)
		}
		pos := all[i].Meta.Pos
		o := outcome{file: pos.File, name: all[i].Meta.Name, kind: "scenario", pos: pos, status: passed, took: r.took, events: r.out.Events}
		for _, p := range r.out.Failures {
			o.status = failed
			f := failure{pos: p.Pos, text: p.Text}
			if p.Hint != "" {
				f.more = []string{"hint: " + p.Hint}
			}
			o.failures = append(o.failures, f)
		}
		t.out = append(t.out, o)
	}
}

// progress shows at a terminal how many tests have been run.
type progress struct {
	to *os.File
	on bool
	mu sync.Mutex
	n  int
}

func (p *progress) add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n += n; p.on {
		fmt.Fprintf(p.to, "\r%d tests", p.n)
	}
}

// clear removes what is shown.
func (p *progress) clear() {
	if p.on {
		fmt.Fprint(p.to, "\r\x1b[K")
	}
}

// stepLines tells steps for people, each with what is below it. Values are told if all may be seen.
func stepLines(steps []policies.Step, values bool) []string {
	var out []string
	var tell func(steps []policies.Step, indent string)
	tell = func(steps []policies.Step, indent string) {
		for _, s := range steps {
			line := indent + s.Text
			if s.Value != "" {
				line += " is " + s.Value
			}
			if len(s.Values) > 0 && values {
				line += ": " + strings.Join(s.Values, ", ")
			}
			if s.Pos.IsValid() {
				line += "  " + s.Pos.String()
			}
			out = append(out, line)
			tell(s.Below, indent+"  ")
		}
	}
	tell(steps, "")
	return out
}
