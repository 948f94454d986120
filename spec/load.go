package spec

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The names of files that are looked for.
const (
	AgentFile = "agent.yaml"
	HostFile  = "callgate.yaml"
)

// loader gathers the documents and the problems of one load.
type loader struct {
	problems []Problem
	dropped  int
	docs     Documents
	names    map[string]Position // by kind and name
	read     map[string]bool     // files whose documents were read
	touched  map[string]bool     // files and folders that were looked into, there or not
}

func newLoader() *loader {
	return &loader{names: map[string]Position{}, read: map[string]bool{}, touched: map[string]bool{}}
}

// contents reads a file of documents, or one that is included in whole.
func (l *loader) contents(path string) ([]byte, error) {
	l.touched[filepath.Clean(path)] = true
	return readText(opener(path), maxFile)
}

func (l *loader) report(p Problem) {
	if len(l.problems) >= maxProblems {
		l.dropped++
		return
	}
	l.problems = append(l.problems, p)
}

// result returns what was found. Problems are sorted by place.
func (l *loader) result() (*Documents, []Problem) {
	ps := SortProblems(l.problems)
	if l.dropped > 0 {
		ps = append(ps, Problem{Text: fmt.Sprintf("and %d more problems", l.dropped)})
	}
	return &l.docs, ps
}

// LoadFile reads the documents of one file, and what they include. References to
// other files are checked to be there and are not followed.
func LoadFile(path string) (*Documents, []Problem) {
	l := newLoader()
	l.file(path, filepath.Dir(path), Position{File: path}, nil)
	return l.result()
}

// LoadDir reads the documents of a folder and the folders in it: every .yaml or .yml
// file that has a document. A file that is plain data is passed over: none of its documents has a key
// apiVersion, kind, metadata or spec. So is what begins with a dot.
func LoadDir(dir string) (*Documents, []Problem) {
	l := newLoader()
	l.folder(dir, Position{File: dir}, nil)
	return l.result()
}

// LoadPolicies reads the Policy documents of files and folders; documents of other kinds
// are passed over. Included files must be in the folder of each root, or below.
// A Rego module in a folder that no policy names is a warning.
func LoadPolicies(roots ...string) ([]*Policy, []Problem) {
	return newLoader().bound(roots)
}

func (l *loader) bound(roots []string) ([]*Policy, []Problem) {
	for _, root := range roots {
		l.policies(root, Position{File: root})
	}
	docs, ps := l.result()
	return docs.Policies, ps
}

// FindAgent reads an agent: PATH is its file, or the folder in which it is called agent.yaml. The
// documents are those of the file and of the files that the agent names: Toolsets, and
// Policies of its own. The agent is nil if there is not exactly one.
func FindAgent(path string) (*Agent, *Documents, []Problem) {
	return newLoader().findAgent(path)
}

func (l *loader) findAgent(path string) (*Agent, *Documents, []Problem) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		file := filepath.Join(path, AgentFile)
		if _, err := os.Stat(file); err != nil {
			l.report(Problem{Pos: Position{File: path}, Text: "no " + AgentFile + " in this folder", Hint: otherAgents(path)})
			docs, ps := l.result()
			return nil, docs, ps
		}
		path = file
	}
	l.file(path, filepath.Dir(path), Position{File: path}, nil)
	for _, h := range l.docs.Hosts {
		l.problem(h.Meta.Pos, "put it into "+HostFile+" beside or above the agent", "a Host document in an agent's file: an agent does not decide for its host")
	}
	var agent *Agent
	switch {
	case len(l.docs.Agents) == 1:
		agent = l.docs.Agents[0]
	case len(l.docs.Agents) > 1:
		l.problem(l.docs.Agents[1].Meta.Pos, "", "got %d Agent documents in one file, want one", len(l.docs.Agents))
	case len(l.problems) == 0:
		l.problem(Position{File: path}, "", "got no Agent document, want one")
	}
	if agent != nil {
		for _, t := range agent.Toolsets {
			if there(t.Path) {
				l.file(t.Path, filepath.Dir(t.Path), t.Pos, []string{"Toolset"})
			}
		}
		for _, p := range agent.Policies {
			if there(p) {
				l.policies(p, Position{File: p})
			}
		}
	}
	for _, p := range l.docs.Policies {
		p.Own = true
	}
	docs, ps := l.result()
	return agent, docs, ps
}

// there reports whether a file exists. One that a document names and that does not
// is reported where it is named.
func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// otherAgents names the files in a folder that could have been meant.
func otherAgents(dir string) string {
	names, _ := filepath.Glob(filepath.Join(dir, "*.y*ml"))
	if len(names) == 0 || len(names) > 5 {
		return ""
	}
	return "there is " + strings.Join(names, ", ")
}

// FindHost reads callgate.yaml in the folder of an agent, or in the nearest folder above it that has one. The
// host is nil, without a problem, if there is none. A folder above that anybody may write to is
// not trusted to say what agents may do: a host file there is a problem.
func FindHost(dir string) (*Host, []Problem) { return newLoader().findHost(dir) }

func (l *loader) findHost(dir string) (*Host, []Problem) {
	if dir == "" {
		dir = "."
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, []Problem{{Pos: Position{File: dir}, Text: err.Error()}}
	}
	for level := 0; ; level++ {
		path := filepath.Join(dir, HostFile)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return l.hostFile(path, level > 0)
		}
		if filepath.Dir(abs) == abs {
			return nil, nil
		}
		abs, dir = filepath.Dir(abs), filepath.Join(dir, "..")
	}
}

// LoadHost reads a Host document, which must be the only one of its file.
func LoadHost(path string) (*Host, []Problem) { return newLoader().hostFile(path, false) }

func (l *loader) hostFile(path string, above bool) (*Host, []Problem) {
	if above && writableByAll(filepath.Dir(path)) {
		l.problem(Position{File: path}, "move it, or name the policies with --policies", "in a folder that anybody may write to")
		_, ps := l.result()
		return nil, ps
	}
	l.file(path, filepath.Dir(path), Position{File: path}, nil)
	for _, m := range l.docs.metas() {
		if m.kind != "Host" {
			l.problem(m.Pos, "put it into a file of its own", "got a document of kind %s in %s, want Host alone", m.kind, filepath.Base(path))
		}
	}
	var host *Host
	switch {
	case len(l.docs.Hosts) == 1:
		host = l.docs.Hosts[0]
	case len(l.docs.Hosts) > 1:
		l.problem(l.docs.Hosts[1].Meta.Pos, "", "got %d Host documents, want one", len(l.docs.Hosts))
	case len(l.problems) == 0:
		l.problem(Position{File: path}, "", "got no Host document, want one")
	}
	_, ps := l.result()
	return host, ps
}

// kindMeta is a document's metadata with its kind.
type kindMeta struct {
	Meta
	kind string
}

func (d *Documents) metas() []kindMeta {
	var out []kindMeta
	for _, x := range d.Agents {
		out = append(out, kindMeta{x.Meta, "Agent"})
	}
	for _, x := range d.Policies {
		out = append(out, kindMeta{x.Meta, "Policy"})
	}
	for _, x := range d.Toolsets {
		out = append(out, kindMeta{x.Meta, "Toolset"})
	}
	for _, x := range d.Scenarios {
		out = append(out, kindMeta{x.Meta, "Scenario"})
	}
	for _, x := range d.Hosts {
		out = append(out, kindMeta{x.Meta, "Host"})
	}
	return out
}

// policies reads the policies of a file or a folder, at is where it is named.
func (l *loader) policies(root string, at Position) {
	info, err := os.Stat(root)
	switch {
	case err != nil:
		l.unreadable(root, at, plainError(err))
	case info.IsDir():
		from := len(l.docs.Policies)
		modules := l.folder(root, at, []string{"Policy"})
		l.strayModules(modules, l.docs.Policies[from:])
	default:
		l.file(root, filepath.Dir(root), at, []string{"Policy"})
	}
}

// strayModules warns of the modules of a folder that no policy names: their
// rules do not decide, which their author may not expect.
func (l *loader) strayModules(modules []string, policies []*Policy) {
	named := map[string]bool{}
	for _, p := range policies {
		if p.Rego == nil {
			continue
		}
		for _, m := range append(slices.Clip(p.Rego.Modules), p.Rego.Bundle) {
			named[filepath.Clean(m.Path)] = true
		}
	}
	for _, m := range modules {
		covered := false
		for dir := m; !covered; dir = filepath.Dir(dir) {
			covered = named[dir]
			if filepath.Dir(dir) == dir {
				break
			}
		}
		if !covered {
			l.report(Problem{Pos: Position{File: m}, Warn: true, Text: "no policy names this module: its rules do not decide", Hint: "add it to the rego modules of a Policy"})
		}
	}
}

// folder reads the documents below a folder and returns the Rego modules that it
// passed by, without tests. A link to a folder below it is not followed, and not passed over in silence.
func (l *loader) folder(root string, at Position, kinds []string) (modules []string) {
	files := 0
	var walk func(dir string, depth int)
	walk = func(dir string, depth int) {
		l.touched[filepath.Clean(dir)] = true
		entries, err := os.ReadDir(dir)
		if err != nil {
			l.problem(Position{File: dir}, "", "%v", plainError(err))
			return
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if strings.HasPrefix(e.Name(), ".") {
				continue
			}
			if files++; files > maxFiles {
				if files == maxFiles+1 {
					l.problem(at, "", "%s: got more than %d files", root, maxFiles)
				}
				return
			}
			info, err := os.Stat(path)
			switch {
			case err != nil:
				l.problem(Position{File: path}, "", "%v", plainError(err))
			case e.Type()&fs.ModeSymlink != 0 && info.IsDir():
				l.problem(Position{File: path}, "name the folder itself", "a link to a folder is not followed")
			case info.IsDir() && depth >= maxDepth:
				l.problem(Position{File: path}, "", "folders within each other deeper than %d", maxDepth)
			case info.IsDir():
				walk(path, depth+1)
			case strings.HasSuffix(path, ".yaml"), strings.HasSuffix(path, ".yml"):
				l.some(path, root, kinds)
			case strings.HasSuffix(path, ".rego") && !strings.HasSuffix(path, "_test.rego"):
				modules = append(modules, path)
			}
		}
	}
	walk(root, 0)
	return modules
}

// some reads a file of a folder if it has documents.
func (l *loader) some(path, root string, kinds []string) {
	text, err := l.contents(path)
	if err != nil {
		l.problem(Position{File: path}, "", "%v", err)
		return
	}
	src := newSource(path, text)
	docs := parse(src, l.report)
	if slices.ContainsFunc(docs, isDocument) {
		l.documents(src, text, docs, root, kinds)
	}
}

// isDocument reports whether a node is meant to be a document, well-formed or not.
func isDocument(n *node) bool {
	for _, k := range []string{"apiVersion", "kind", "metadata", "spec"} {
		if n.get(k) != nil {
			return true
		}
	}
	return false
}

// file reads the documents of a file that is named at a place, those of some kinds or (nil) all.
func (l *loader) file(path, root string, at Position, kinds []string) {
	text, err := l.contents(path)
	if err != nil {
		l.unreadable(path, at, err)
		return
	}
	src := newSource(path, text)
	before := len(l.problems)
	docs := parse(src, l.report)
	if len(docs) == 0 && len(l.problems) == before {
		l.problem(Position{File: path}, "", "the file has no document")
	}
	l.documents(src, text, docs, root, kinds)
}

// unreadable reports a file where it is named, or by its own name.
func (l *loader) unreadable(path string, at Position, err error) {
	if at.Line > 0 {
		l.problem(at, "", "%s: %v", path, err)
		return
	}
	l.problem(at, "", "%v", err)
}

// documents checks and decodes the documents of a file.
func (l *loader) documents(src *source, text []byte, docs []*node, root string, kinds []string) {
	clean := filepath.Clean(src.name)
	if l.read[clean] {
		return
	}
	l.read[clean] = true
	f := &file{loader: l, path: src.name, dir: filepath.Dir(src.name), root: root, text: text}
	for _, n := range docs {
		f.document(n, kinds)
	}
}

func (f *file) document(n *node, kinds []string) {
	if n.kind != mapNode {
		if n.kind != badNode {
			f.problem(n.pos, "", "got %s, want a document: a map with apiVersion, kind, metadata and spec", n.describe())
		}
		return
	}
	k := n.get("kind")
	kind := k.str()
	shape := shapes[kind]
	switch {
	case k == nil:
		f.problem(n.pos, "", "missing kind: want %s", orList(Kinds()))
		return
	case shape == nil:
		if k.kind != badNode {
			f.problem(k.pos, didYouMean(kind, Kinds()), "kind: got %s, want %s", k.describe(), orList(Kinds()))
		}
		return
	case kinds != nil && !slices.Contains(kinds, kind):
		return
	}
	(&checker{f.report}).check(n, shape, "")
	if name := n.get("metadata").get("name"); name.str() != "" {
		at := kind + " " + name.text
		if first, twice := f.names[at]; twice {
			f.problem(name.pos, "", "%s %q: declared twice, first at %v", kind, name.text, first)
		} else {
			f.names[at] = name.pos
		}
	}
	switch kind {
	case "Agent":
		f.docs.Agents = append(f.docs.Agents, f.agent(n))
	case "Policy":
		f.docs.Policies = append(f.docs.Policies, f.policy(n))
	case "Toolset":
		f.docs.Toolsets = append(f.docs.Toolsets, f.toolset(n))
	case "Scenario":
		f.docs.Scenarios = append(f.docs.Scenarios, f.scenario(n))
	case "Host":
		f.docs.Hosts = append(f.docs.Hosts, f.host(n))
	}
}

// resolve returns a path as seen from the user, where it was written as seen from the file.
func (f *file) resolve(n *node) Ref {
	if n.str() == "" {
		return Ref{}
	}
	p := filepath.FromSlash(n.text)
	if !filepath.IsAbs(p) {
		p = filepath.Join(f.dir, p)
	}
	return Ref{p, n.pos}
}

// existing is resolve for a file or folder that must be there.
func (f *file) existing(n *node) Ref {
	r := f.resolve(n)
	if r.Path == "" {
		return r
	}
	if _, err := os.Stat(r.Path); err != nil {
		f.problem(n.pos, f.similar(r.Path), "%s: %v", r.Path, plainError(err))
	}
	return r
}

// similar is the hint for a file that is not there.
func (f *file) similar(path string) string {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) > 1000 {
		return ""
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if near := Nearest(filepath.Base(path), names); near != "" {
		return fmt.Sprintf("did you mean %q?", filepath.Join(filepath.Dir(path), near))
	}
	return ""
}

// bundle returns the place of a bundle: a file or folder that must be there.
func (f *file) bundle(n *node) Ref {
	if scheme, _, ok := strings.Cut(n.text, "://"); ok && !strings.ContainsAny(scheme, "/.") {
		f.problem(n.pos, "fetch it, and name the file: bundles are read from this machine alone", "got %s, want a file or folder: bundles are local", quoted(n.text))
		return Ref{n.text, n.pos}
	}
	return f.existing(n)
}
