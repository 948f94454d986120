package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"callgate/agents"
	"callgate/cmd/internal/agentdojo"
	"callgate/policies"
	"callgate/policies/root"
	"callgate/spec"
)

// testFiles are the tests of files and folders, and what there is beside them.
type testFiles struct {
	tests     []string         // files _test.rego
	agents    []string         // files with an Agent
	hosts     []string         // files callgate.yaml
	policies  []string         // files with a Policy
	scenarios []*spec.Scenario // in the order of their places
}

// The documents that a file in YAML is looked through for.
var kinds = regexp.MustCompile(`(?m)^["'{ ]{0,3}kind["']?[ \t]*:[ \t]*["']?(Scenario|Agent|Policy)\b|[,{][ \t]*kind["']?[ \t]*:[ \t]*["']?(Scenario|Agent|Policy)\b`)

// maxDocument is how much of a file is looked through.
const maxDocument = 1 << 20

// findTests looks for tests in files and folders. What begins with a dot, and folders called testdata, are passed over
// unless they are named.
func findTests(paths []string) (*testFiles, []spec.Problem) {
	t := &testFiles{}
	var problems []spec.Problem
	seen := map[string]bool{}
	add := func(path string, named bool) {
		if clean := filepath.Clean(path); seen[clean] {
			return
		} else {
			seen[clean] = true
		}
		switch {
		case strings.HasSuffix(path, "_test.rego"):
			t.tests = append(t.tests, path)
		case filepath.Ext(path) == ".rego": // a policy names it, or the folder of a test has it
		case filepath.Ext(path) == ".yaml" || filepath.Ext(path) == ".yml" || named:
			problems = append(problems, t.document(path)...)
		}
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			problems = append(problems, spec.Problem{Pos: spec.Position{File: path}, Text: "no such file or folder"})
			continue
		}
		if !info.IsDir() {
			add(path, true)
			continue
		}
		err = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				problems = append(problems, spec.Problem{Pos: spec.Position{File: file}, Text: err.Error()})
			case file != path && (strings.HasPrefix(d.Name(), ".") || d.IsDir() && d.Name() == "testdata"):
				if d.IsDir() {
					return filepath.SkipDir
				}
			case !d.IsDir():
				add(file, false)
			}
			return nil
		})
		if err != nil {
			problems = append(problems, spec.Problem{Pos: spec.Position{File: path}, Text: err.Error()})
		}
	}
	for _, root := range t.roots() {
		err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.HasSuffix(file, "_test.rego") {
				add(file, true)
			}
			return nil // what cannot be read is reported when the policies are loaded
		})
		if err != nil {
			problems = append(problems, spec.Problem{Pos: spec.Position{File: root}, Text: err.Error()})
		}
	}
	slices.Sort(t.tests)
	slices.SortStableFunc(t.scenarios, func(a, b *spec.Scenario) int {
		if c := strings.Compare(a.Meta.Pos.File, b.Meta.Pos.File); c != 0 {
			return c
		}
		return a.Meta.Pos.Line - b.Meta.Pos.Line
	})
	return t, problems
}

// roots are the folders of policies that the hosts of the agents and of the host files found bind.
func (t *testFiles) roots() []string {
	var out []string
	for _, file := range slices.Concat(t.agents, t.hosts) {
		host, _ := spec.FindHost(filepath.Dir(file)) // what is wrong with it is reported when it is used
		if host == nil {
			continue
		}
		for _, root := range host.Policies {
			if info, err := os.Stat(root); err == nil && info.IsDir() && !slices.Contains(out, root) {
				out = append(out, root)
			}
		}
	}
	return out
}

// document looks what documents a file has, and loads its scenarios.
func (t *testFiles) document(path string) []spec.Problem {
	text, err := os.ReadFile(path)
	if err != nil {
		return []spec.Problem{{Pos: spec.Position{File: path}, Text: err.Error()}}
	}
	if filepath.Base(path) == spec.HostFile {
		t.hosts = append(t.hosts, path)
	}
	found := map[string]bool{}
	for _, m := range kinds.FindAllSubmatch(text[:min(len(text), maxDocument)], -1) {
		found[string(m[1])+string(m[2])] = true
	}
	if found["Agent"] {
		t.agents = append(t.agents, path)
	}
	if found["Policy"] {
		t.policies = append(t.policies, path)
	}
	if !found["Scenario"] {
		return nil
	}
	docs, problems := spec.LoadFile(path)
	t.scenarios = append(t.scenarios, docs.Scenarios...)
	return problems
}

// suite is the tests in Rego that run together: under one host, or of folders that are under none.
type suite struct {
	config   root.Config
	files    []string
	count    int // tests, about: rules that are called so
	problems []spec.Problem
}

// testRule is the beginning of a test in a file.
var testRule = regexp.MustCompile(`(?m)^(todo_)?test_`)

// suites groups the tests in Rego by their hosts. override takes the place of the hosts' policies.
func (t *testFiles) suites(ctx context.Context, override string) []*suite {
	type group struct {
		host  *spec.Host
		tests []string
	}
	var order []string
	groups := map[string]*group{}
	var broken []*suite
	for _, file := range t.tests {
		host, problems := spec.FindHost(filepath.Dir(file))
		if len(problems) > 0 {
			broken = append(broken, &suite{problems: problems})
		}
		key := ""
		switch {
		case host != nil:
			key = filepath.Clean(host.File)
		case len(t.policies) == 0 && override == "":
			key = filepath.Dir(file) + string(filepath.Separator)
		}
		if groups[key] == nil {
			groups[key] = &group{host: host}
			order = append(order, key)
		}
		groups[key].tests = append(groups[key].tests, file)
	}
	out := broken
	for _, key := range order {
		g := groups[key]
		s := &suite{files: g.tests, config: root.Config{Host: g.host}}
		for _, file := range g.tests {
			if text, err := os.ReadFile(file); err == nil {
				s.count += len(testRule.FindAll(text, -1))
			}
		}
		s.bind(override, g.host, t)
		s.grant(ctx, t, g.host)
		out = append(out, s)
	}
	return out
}

// bind finds the policies: those of the host, or of the documents that were found, or else every module in the tests' folder.
func (s *suite) bind(override string, host *spec.Host, t *testFiles) {
	var roots []string
	switch {
	case override != "":
		roots = []string{override}
	case host != nil:
		roots = slices.DeleteFunc(slices.Clone(host.Policies), func(p string) bool { _, err := os.Stat(p); return err != nil })
	case len(t.policies) > 0:
		roots = t.policies
	default:
		dir := filepath.Dir(s.files[0])
		entries, err := os.ReadDir(dir)
		if err != nil {
			s.problems = append(s.problems, spec.Problem{Pos: spec.Position{File: dir}, Text: err.Error()})
		}
		for _, e := range entries {
			if name := e.Name(); filepath.Ext(name) == ".rego" && !strings.HasSuffix(name, "_test.rego") {
				s.files = append(s.files, filepath.Join(dir, name))
			}
		}
		return
	}
	var problems []spec.Problem
	s.config.Policies, problems = spec.LoadPolicies(roots...)
	s.problems = append(s.problems, problems...)
}

// grant gives the suite the tools, and the policies of their own, of the agents under its host: of those that were found, and of
// the one beside the host's file.
func (s *suite) grant(ctx context.Context, t *testFiles, host *spec.Host) {
	files := slices.Clone(t.agents)
	over := ""
	if host != nil {
		over = filepath.Clean(host.File)
		beside := filepath.Join(filepath.Dir(over), spec.AgentFile)
		if _, err := os.Stat(beside); err == nil && !slices.ContainsFunc(files, func(f string) bool { return filepath.Clean(f) == beside }) {
			files = append(files, beside)
		}
	}
	for _, file := range files {
		p, problems := spec.Load(file, "")
		under := ""
		if p.Host != nil {
			under = filepath.Clean(p.Host.File)
		}
		if under != over {
			continue
		}
		s.problems = append(s.problems, problems...)
		if p.Agent == nil || spec.Fatal(problems) {
			continue
		}
		for _, q := range p.Policies {
			if q.Own {
				s.config.Policies = append(s.config.Policies, q)
			}
		}
		tools, problems := toolsOf(ctx, p)
		s.problems = append(s.problems, problems...)
		for _, tool := range tools {
			if !slices.ContainsFunc(s.config.Tools, func(have policies.ToolSchema) bool { return have.Name == tool.Name }) {
				s.config.Tools = append(s.config.Tools, tool)
			}
		}
	}
	s.problems = spec.SortProblems(s.problems)
}

// toolsOf opens the tools of an agent, to see what they declare.
func toolsOf(ctx context.Context, p *spec.Project) (tools []policies.ToolSchema, problems []spec.Problem) {
	state, err := os.MkdirTemp("", "callgate-test-")
	if err != nil {
		return nil, []spec.Problem{{Text: err.Error()}}
	}
	defer os.RemoveAll(state)
	a, problems := agents.Build(ctx, p, agents.Options{State: state, Tools: agentdojo.Granted(p)})
	if a == nil {
		return nil, problems
	}
	tools = a.ToolSchemas()
	if err := a.Close(); err != nil {
		problems = append(problems, spec.Problem{Pos: p.Agent.Meta.Pos, Text: err.Error()})
	}
	return tools, problems
}
