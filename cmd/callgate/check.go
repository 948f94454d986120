package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"callgate/agents"
	"callgate/cmd/internal/agentdojo"
	"callgate/cmd/internal/console"
	"callgate/engine/eval"
	"callgate/policies/root"
	"callgate/spec"
)

func (c *command) checkVerb() *cobra.Command {
	var asJSON, assumptions bool
	cmd := &cobra.Command{
		Use:   "check PATH...",
		Short: "Say everything that is wrong with agents, policies and programs",
		Long: `Say everything that is wrong with files: documents (.yaml), the rules and programs that they name, policies in
Rego (.rego) and programs (.star). In a folder, every document and program is checked, in the folders below
it too. Nothing is said of what is fine; a warning alone does not fail.

With --assumptions, what is taken for granted when the agents are trusted with their tools is written to standard output:
each result, or part of one, that is trusted at internal or better. It holds if no stranger writes what the tool reads.`,
		Example: "  callgate check examples\n  callgate check agent.yaml policies/mail.yaml attack.star\n  callgate check . --json",
		Args:    arguments(1, 1<<20, "files or folders"),
		RunE: func(cmd *cobra.Command, args []string) error {
			problems, assumed, err := check(cmd.Context(), args)
			if err != nil {
				return err
			}
			if assumptions && !asJSON {
				for _, p := range assumed {
					fmt.Fprintln(c.stdout, console.Clean(p.String()))
				}
			}
			if asJSON {
				if err = c.tellJSON(problems, ""); assumptions && err == nil {
					err = c.tellJSON(assumed, "assumption")
				}
			} else {
				c.tell(problems)
			}
			if err == nil && spec.Fatal(problems) {
				return quit(exitUsage)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write a line of JSON for each problem to standard output")
	cmd.Flags().BoolVar(&assumptions, "assumptions", false, "write which results of tools are trusted, and how far")
	return cmd
}

// tellJSON writes problems to standard output, each as a line of JSON: as errors and warnings, or as what they are.
func (c *command) tellJSON(problems []spec.Problem, what string) error {
	out := json.NewEncoder(c.stdout)
	out.SetEscapeHTML(false)
	for _, p := range problems {
		severity := cmp.Or(what, "error")
		if p.Warn {
			severity = "warning"
		}
		err := out.Encode(struct {
			File     string `json:"file"`
			Line     int    `json:"line,omitempty"`
			Column   int    `json:"column,omitempty"`
			Severity string `json:"severity"`
			Message  string `json:"message"`
			Hint     string `json:"hint,omitempty"`
		}{p.Pos.File, p.Pos.Line, p.Pos.Column, severity, p.Text, p.Hint})
		if err != nil {
			return err
		}
	}
	return nil
}

// checker gathers problems, and what has been checked along with something else.
type checker struct {
	state    string // folder for tools that are opened and not used
	problems []spec.Problem
	assumed  []spec.Problem      // what is taken for granted, and where
	agents   map[string]eval.Env // names that programs know, by the agent's folder
	covered  map[string]bool     // files
	called   map[string]bool     // files of agents that others call, with whose tools they are checked
}

// check returns everything that is wrong with files and folders, and what their agents take for granted, sorted.
func check(ctx context.Context, paths []string) (problems, assumed []spec.Problem, err error) {
	k := &checker{agents: map[string]eval.Env{}, covered: map[string]bool{}, called: map[string]bool{}}
	if k.state, err = os.MkdirTemp("", "callgate-check-"); err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(k.state)) }()
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			k.add(spec.Problem{Pos: spec.Position{File: path}, Text: "no such file or folder"})
		case info.IsDir():
			files = append(files, k.walk(path)...)
		default:
			files = append(files, path)
		}
	}
	// Agents first: they say under what names and policies the rest is checked.
	kinds := []func(context.Context, string, *spec.Documents){k.agent, k.host, k.policies}
	docs := map[string]*spec.Documents{}
	for _, file := range files {
		switch filepath.Ext(file) {
		case ".star", ".rego":
		default:
			var more []spec.Problem
			docs[file], more = spec.LoadFile(file)
			k.add(more...)
			k.calls(docs[file])
		}
	}
	for _, kind := range kinds {
		for _, file := range files {
			if docs[file] != nil {
				kind(ctx, file, docs[file])
			}
		}
	}
	for _, file := range files {
		switch filepath.Ext(file) {
		case ".star":
			k.program(file)
		case ".rego":
			k.module(ctx, file)
		}
	}
	return spec.SortProblems(k.problems), spec.SortProblems(k.assumed), ctx.Err()
}

func (k *checker) add(problems ...spec.Problem) { k.problems = append(k.problems, problems...) }

// document is what a line of a document, and not of plain data, begins with.
var document = regexp.MustCompile(`(?m)^["'{ ]{0,3}(apiVersion|kind|metadata|spec)["']?[ \t]*:`)

// walk returns the files of a folder that are checked: documents, and programs. Modules of Rego are checked with the
// policies that name them, and loading those warns of a module that none does.
func (k *checker) walk(dir string) (files []string) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			k.add(spec.Problem{Pos: spec.Position{File: path}, Text: err.Error()})
			return nil
		case path != dir && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return filepath.SkipDir
			}
		case d.IsDir():
		case filepath.Ext(path) == ".star":
			files = append(files, path)
		case filepath.Ext(path) == ".yaml" || filepath.Ext(path) == ".yml":
			text, err := os.ReadFile(path)
			if err != nil {
				k.add(spec.Problem{Pos: spec.Position{File: path}, Text: err.Error()})
			} else if document.Match(text) {
				files = append(files, path)
			}
		}
		return nil
	})
	if err != nil {
		k.add(spec.Problem{Pos: spec.Position{File: dir}, Text: err.Error()})
	}
	return files
}

// agent checks an agent as it would be run: its tools are opened, its policies and those of its host compiled.
func (k *checker) agent(ctx context.Context, file string, docs *spec.Documents) {
	if len(docs.Agents) == 0 {
		return
	}
	p, problems := spec.Load(file, "")
	k.covered[file] = true
	if p.Agent != nil && k.called[filepath.Clean(file)] {
		k.covered[p.Agent.Program] = true
		return
	}
	k.add(problems...)
	if p.Agent == nil {
		return // its policies, and its host, are checked by themselves
	}
	for _, q := range p.Policies {
		k.covered[q.File] = true
	}
	if p.Host != nil {
		k.covered[p.Host.File] = true
	}
	if p.Agent.Program != "" {
		k.covered[p.Agent.Program] = true
	}
	state, err := os.MkdirTemp(k.state, "")
	if err != nil {
		k.add(spec.Problem{Pos: p.Agent.Meta.Pos, Text: err.Error()})
		return
	}
	a, problems := agents.Build(ctx, p, agents.Options{State: state, Journal: filepath.Join(state, journalFile), Tools: agentdojo.Granted(p)})
	k.add(problems...)
	if a == nil {
		return
	}
	defer a.Close()
	for _, t := range a.Tools().All() {
		for _, s := range t.Assumptions() {
			k.assumed = append(k.assumed, spec.Problem{Pos: p.Agent.Meta.Pos, Text: s})
		}
	}
	if env, err := names(a); err == nil {
		k.agents[filepath.Clean(p.Agent.Dir)] = env
	}
}

// calls notes which agents the agents of a file call.
func (k *checker) calls(docs *spec.Documents) {
	for _, a := range docs.Agents {
		for _, u := range a.Tools {
			if u.Agent == "" {
				continue
			}
			if info, err := os.Stat(u.Agent); err == nil && info.IsDir() {
				u.Agent = filepath.Join(u.Agent, spec.AgentFile)
			}
			k.called[filepath.Clean(u.Agent)] = true
		}
	}
}

// host checks the policies of a host that none of the agents is under.
func (k *checker) host(ctx context.Context, file string, docs *spec.Documents) {
	if len(docs.Hosts) != 1 || k.covered[file] {
		return
	}
	k.covered[file] = true
	h := docs.Hosts[0]
	roots := slices.DeleteFunc(slices.Clone(h.Policies), func(p string) bool { _, err := os.Stat(p); return err != nil })
	all, problems := spec.LoadPolicies(roots...)
	k.add(problems...)
	for _, q := range all {
		k.covered[q.File] = true
	}
	k.compile(ctx, root.Config{Host: h, Policies: all})
}

// policies checks the policies of a file that nothing else has brought in.
func (k *checker) policies(ctx context.Context, file string, docs *spec.Documents) {
	if len(docs.Policies) > 0 && !k.covered[file] {
		k.covered[file] = true
		k.compile(ctx, root.Config{Policies: docs.Policies})
	}
}

func (k *checker) compile(ctx context.Context, cfg root.Config) {
	_, problems := root.Load(ctx, cfg)
	k.add(problems...)
}

// module checks a Rego module with the policies of its folder, or the one above, that name it.
func (k *checker) module(ctx context.Context, file string) {
	for _, dir := range []string{filepath.Dir(file), filepath.Dir(filepath.Dir(file))} {
		all, _ := spec.LoadPolicies(dir)
		naming := slices.DeleteFunc(all, func(p *spec.Policy) bool {
			return p.Rego == nil || !slices.ContainsFunc(p.Rego.Modules, func(r spec.Ref) bool { return filepath.Clean(r.Path) == filepath.Clean(file) })
		})
		if len(naming) > 0 {
			k.compile(ctx, root.Config{Policies: naming})
			return
		}
	}
	k.add(spec.Problem{Pos: spec.Position{File: file}, Text: "no policy in this folder or the one above names this module", Hint: "add it to the rego modules of a Policy, and check that"})
}

// program checks a program under the names of the agent in whose folder it is. A name that is not known
// is a warning: another agent may have a tool or an input that is called so.
func (k *checker) program(file string) {
	if k.covered[file] {
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		k.add(spec.Problem{Pos: spec.Position{File: file}, Text: err.Error()})
		return
	}
	env := eval.Env{}
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		if e, ok := k.agents[filepath.Clean(dir)]; ok {
			env = e
			break
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	anything := func(string) bool { return true }
	wrong := agents.CheckProgram(file, string(text), eval.Env{Predeclared: anything})
	for _, p := range agents.CheckProgram(file, string(text), env) {
		p.Warn = len(wrong) == 0
		k.add(p)
	}
	k.add(wrong...)
}
