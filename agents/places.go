package agents

import (
	"fmt"
	"path/filepath"
	"strings"

	"callgate/builtins/std"
	"callgate/engine/label"
	"callgate/spec"
)

// reach is a place that a toolset reaches, and where the agent's file says so.
type reach struct {
	std.Place
	by  string // the toolset
	pos spec.Position
}

// reached are the places of a toolset that is used.
func reached(u spec.Use, places []std.Place) (out []reach) {
	for _, p := range places {
		r := reach{p, u.Name, u.Pos}
		for _, o := range u.Options {
			if o.Value == p.Name {
				r.pos = o.Pos
			}
		}
		out = append(out, r)
	}
	return out
}

// apart reports where toolsets would undo what labels and policies promise:
//
//   - One place has one label. What is put there under one label, or is declared to have it, must not be read
//     under a higher one: a text that is untrusted to one tool would come back trusted from another.
//   - Programs do not write what they are decided by: documents, rules, programs.
//   - No tool reaches the journal.
func (a *Agent) apart(p *spec.Project, all []reach) (problems []spec.Problem) {
	report := func(at reach, hint, format string, args ...any) {
		problems = append(problems, spec.Problem{Pos: at.pos, Text: at.by + ": " + fmt.Sprintf(format, args...), Hint: hint})
	}
	for i, y := range all {
		for j, x := range all {
			if i == j || !clash(x.Place, y.Place) {
				continue
			}
			does := "reads it as " + x.Label.String()
			switch {
			case x.Write && x.Label.SameClass(label.Top()):
				does = "puts anything there"
			case x.Write:
				does = "writes there what is " + x.Label.String()
			}
			report(y, "give each a place of its own, or the same trust, readers and tags",
				"reads %s as %s, and %s, in %s, %s", y.Name, y.Label, x.by, x.Name, does)
		}
		if j := a.opts.Journal; j != "" && inside(real(j), y.Path) {
			report(y, "keep the state folder elsewhere, or name a folder that does not hold it", "the journal is in %s, and tools do not reach it", y.Name)
		}
		if f := a.opts.Record; f != "" && inside(real(f), y.Path) {
			report(y, "record elsewhere", "what the model is shown is to be recorded in %s, and tools do not reach it", y.Name)
		}
		for _, of := range append([]*spec.Project{p}, a.projects()...) {
			f := governing(of, y)
			if f == "" {
				continue
			}
			report(y, "name a folder that holds nothing else", "writes to %s, where %s is: programs do not change what they are decided by", y.Name, f)
		}
	}
	return problems
}

// clash reports whether what is put into x, or is declared to be there, is read under a higher label in y.
func clash(x, y std.Place) bool {
	puts := x.Write && (inside(x.Path, y.Path) || inside(y.Path, x.Path))
	return (puts || inside(x.Path, y.Path)) && !x.Label.FlowsTo(y.Label)
}

// governing returns a file or folder, there or not, that says what the agent may do, and that could be written
// through a place; or "".
func governing(p *spec.Project, at reach) string {
	if !at.Write {
		return ""
	}
	files := append([]string{p.Agent.File, filepath.Join(p.Agent.Dir, spec.HostFile), p.Agent.Program}, p.Files...)
	if p.Agent.Model != nil {
		files = append(files, p.Agent.Model.Recording)
	}
	for _, q := range p.Policies {
		if q.Rego != nil {
			for _, r := range append([]spec.Ref{q.Rego.Bundle}, q.Rego.Modules...) {
				files = append(files, r.Path)
			}
		}
	}
	for _, f := range files {
		if f == "" {
			continue
		}
		if r := real(f); inside(r, at.Path) || inside(at.Path, r) {
			return f
		}
	}
	return ""
}

// real is a path in its one form: absolute, with the links followed that are there.
func real(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	rest := ""
	for dir := path; ; dir = filepath.Dir(dir) {
		if r, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(r, rest)
		}
		if dir == filepath.Dir(dir) {
			return path
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

// inside reports whether a path is a folder or below it. Both are in their one form.
func inside(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, string(filepath.Separator))+string(filepath.Separator))
}
