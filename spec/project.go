package spec

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// Project is everything that running one agent needs of files.
type Project struct {
	Agent    *Agent
	Host     *Host         // nil if there is no callgate.yaml
	Policies []*Policy     // the host's, then the agent's own
	Tools    []Use         // the agent's, with the tools of Toolsets in place of their names
	Declare  []Declaration // of those Toolsets, in the order in which they are used
	Files    []string      // the files and folders that were read for it, sorted; not what policies name as Rego
}

// Load reads an agent as [FindAgent] does, the host's file as [FindHost] does, and the policies
// of both. With a root, a file or folder, its policies take the place of those that the host's file names.
// Every problem of all of them is returned; a Project with problems that are [Fatal] must not be run.
func Load(path, root string) (*Project, []Problem) {
	touched := map[string]bool{}
	loader := func() *loader {
		l := newLoader()
		l.touched = touched
		return l
	}
	agent, docs, problems := loader().findAgent(path)
	p := &Project{Agent: agent}
	dir := filepath.Dir(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		dir = path
	}
	host, more := loader().findHost(dir)
	p.Host, problems = host, append(problems, more...)
	var roots []string
	switch {
	case root != "":
		roots = []string{root}
	case host != nil:
		roots = slices.DeleteFunc(slices.Clone(host.Policies), func(p string) bool { return !there(p) })
	}
	bound, more := loader().bound(roots)
	p.Policies, problems = append(bound, docs.Policies...), append(problems, more...)
	byName := map[string]*Policy{}
	for _, q := range p.Policies {
		if first := byName[q.Meta.Name]; first != nil && first.Own != q.Own && q.Meta.Name != "" {
			problems = append(problems, Problem{Pos: q.Meta.At(), Text: "Policy " + quoted(q.Meta.Name) + ": declared twice, first at " + first.Meta.At().String()})
		}
		byName[q.Meta.Name] = q
	}
	if agent != nil {
		uses, declare, more := expand(agent.Tools, docs.Toolsets)
		p.Tools, p.Declare, problems = uses, declare, append(problems, more...)
	}
	p.Files = slices.Sorted(maps.Keys(touched))
	return p, SortProblems(problems)
}

// Bind adds the policies of a root to a project that was not loaded, as [Load] reads them.
func (p *Project) Bind(root string) []Problem {
	l := newLoader()
	bound, problems := l.bound([]string{root})
	p.Policies = append(p.Policies, bound...)
	p.Files = slices.Sorted(maps.Keys(l.touched))
	return problems
}

// expand replaces the names of toolsets by their tools.
func expand(uses []Use, sets []*Toolset) (out []Use, declare []Declaration, problems []Problem) {
	byName := map[string]*Toolset{}
	for _, t := range sets {
		byName[t.Meta.Name] = cmp.Or(byName[t.Meta.Name], t)
	}
	open, done := map[string]bool{}, map[string]bool{}
	granted := map[string]Position{}
	var add func(uses []Use)
	add = func(uses []Use) {
		for _, u := range uses {
			t := byName[u.Name]
			switch {
			case u.Name == "" || t == nil:
				name, pos := u.grants()
				if at, twice := granted[name]; twice && name != "" {
					problems = append(problems, Problem{Pos: pos, Text: "tool " + quoted(name) + ": declared twice, first at " + at.String()})
					continue
				}
				granted[name] = pos
				out = append(out, u)
			case open[u.Name]:
				problems = append(problems, Problem{Pos: u.Pos, Text: "toolset " + quoted(u.Name) + ": uses itself"})
			case len(u.Options) > 0:
				for name, o := range u.Options {
					problems = append(problems, Problem{Pos: o.Key, Text: "toolset " + quoted(u.Name) + ": has no setting " + quoted(name), Hint: "settings belong to the tools in it"})
				}
			case done[u.Name]:
			default:
				open[u.Name], done[u.Name] = true, true
				add(t.Tools)
				open[u.Name] = false
				declare = append(declare, t.Declare...)
			}
		}
	}
	add(uses)
	return out, declare, problems
}

// writableByAll reports whether anybody may make files in a folder, as in /tmp.
// Windows does not say.
func writableByAll(dir string) bool {
	if runtime.GOOS == "windows" {
		return false
	}
	info, err := os.Stat(dir)
	return err != nil || info.Mode().Perm()&0o002 != 0
}
