package rego

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"callgate/policies"
	"callgate/policies/library"
	"callgate/spec"

	"github.com/open-policy-agent/opa/v1/ast"
)

// loader gathers the modules and data of one unit, and what is wrong with them.
type loader struct {
	files    map[string]*file        // by path
	owner    map[string]*spec.Policy // of each package
	packs    map[string]*pack
	data     map[string]any
	problems []spec.Problem
	broken   bool // a module does not parse: what it defines is unknown

	parsed map[string]parsed // files that were read ahead, by path
}

// parsed is what reading and parsing a file gave.
type parsed struct {
	text    string
	module  *ast.Module
	missing error // it could not be read
	wrong   error // or not be parsed
}

func parse(path string) parsed {
	text, err := readModule(path)
	if err != nil {
		return parsed{missing: err}
	}
	m, err := ast.ParseModuleWithOpts(path, text, parserOptions())
	return parsed{text: text, module: m, wrong: err}
}

// file is one module.
type file struct {
	path   string
	text   string
	module *ast.Module
}

// LibraryPrefix begins the paths of shipped modules in [spec.Rego].
const LibraryPrefix = library.Prefix

const maxModule = 4 << 20 // bytes

func (l *loader) fail(pos spec.Position, format string, args ...any) {
	l.problems = append(l.problems, spec.Problem{Pos: pos, Text: fmt.Sprintf(format, args...)})
}

// policies reads the modules and bundles of policies.
func (l *loader) policies(list []*spec.Policy) {
	paths := make([][][]string, len(list)) // by policy and reference
	var all []string
	for i, p := range list {
		for _, ref := range p.Rego.Modules {
			files := l.expand(ref)
			paths[i] = append(paths[i], files)
			all = append(all, files...)
		}
	}
	slices.Sort(all)
	l.readAhead(slices.Compact(all))
	for i, p := range list {
		l.takeUp(p, paths[i])
	}
}

// readAhead parses files, as many at once as there are processors.
func (l *loader) readAhead(paths []string) {
	l.parsed = make(map[string]parsed, len(paths))
	out := make([]parsed, len(paths))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(len(paths), runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(paths); i = next.Add(1) - 1 {
				out[i] = parse(paths[i])
			}
		})
	}
	wg.Wait()
	for i, path := range paths {
		l.parsed[path] = out[i]
	}
}

// takeUp takes up the modules of one policy, which are given by reference, and its bundle.
func (l *loader) takeUp(p *spec.Policy, paths [][]string) {
	packs := len(l.packs)
	broken := l.broken
	for i, ref := range p.Rego.Modules {
		for _, path := range paths[i] {
			if x := l.parsed[path]; x.missing != nil {
				l.fail(ref.Pos, "module %s: %v", ref.Path, x.missing)
			} else {
				l.module(p, path, x)
			}
		}
	}
	if p.Rego.Bundle.Path != "" {
		l.bundle(p)
	}
	if len(l.packs) == packs && l.broken == broken && !spec.Fatal(l.problems) {
		l.fail(p.Rego.Pos, "policy %s: no module declares a package callgate.policy.<name>", p.Meta.Name)
	}
}

// expand lists the modules that a path stands for: a file, or all of a folder but its tests.
func (l *loader) expand(ref spec.Ref) []string {
	if strings.HasPrefix(ref.Path, LibraryPrefix) {
		return []string{ref.Path}
	}
	info, err := os.Stat(ref.Path)
	if err != nil {
		l.fail(ref.Pos, "%s: no such file", ref.Path) // in the words of the file's reader, who may have said so
		return nil
	}
	if !info.IsDir() {
		return []string{ref.Path}
	}
	var out []string
	err = filepath.WalkDir(ref.Path, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".rego") && !strings.HasSuffix(path, "_test.rego") {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		l.fail(ref.Pos, "module %s: %v", ref.Path, err)
	} else if len(out) == 0 {
		l.fail(ref.Pos, "module %s: a folder without .rego files", ref.Path)
	}
	return out
}

func readModule(path string) (string, error) {
	if name, ok := strings.CutPrefix(path, LibraryPrefix); ok {
		b, err := fs.ReadFile(library.FS(), name)
		if err != nil {
			return "", fmt.Errorf("not in the library")
		}
		return string(b), nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("no such file")
	}
	if info.Size() > maxModule {
		return "", fmt.Errorf("got %d bytes, want at most %d", info.Size(), maxModule)
	}
	b, err := os.ReadFile(path)
	return string(b), err
}

// module takes up a module, unless it is a test or one that is shipped.
func (l *loader) module(p *spec.Policy, path string, x parsed) {
	if x.wrong != nil {
		l.broken = true
		l.problems = append(l.problems, parseProblems(path, x.wrong)...)
		return
	}
	m := x.module
	at := position(m.Package.Location, path)
	name := packageOf(m)
	switch {
	case strings.HasPrefix(name, "callgate.test.") || strings.HasSuffix(path, "_test.rego"):
		return
	case name == "callgate.lib" || name == "callgate.decision" || name == "callgate.testing":
		return // the shipped ones are used
	case name == "callgate" || strings.HasPrefix(name, "callgate.") && !isPolicyPackage(name):
		l.fail(at, "package %s: want callgate.policy.<name> for rules, or a package outside callgate for helpers", name)
		return
	}
	if owner := l.owner[name]; owner != nil && owner != p && (isPolicyPackage(name) || l.files[path] == nil) {
		l.fail(at, "package %s: belongs to policy %s already, and to policy %s here", name, owner.Meta.Name, p.Meta.Name)
		return
	}
	if l.files[path] != nil { // helpers that several policies name
		return
	}
	if !importsV2(m) {
		l.problems = append(l.problems, spec.Problem{Pos: at,
			Text: "package " + name + ": want import rego.v2",
			Hint: "add the line: import rego.v2 (before it, a not over something undefined does not fire, and a deny that does not fire is a hole)"})
		return
	}
	l.owner[name] = p
	l.files[path] = &file{path, x.text, m}
	l.checkCalls(m, path)
	if isPolicyPackage(name) {
		l.pack(p, m, path)
	}
}

// shipped adds data.callgate.lib.
func (l *loader) shipped() {
	path := LibraryPrefix + "lib.rego"
	x := parse(path)
	if err := cmp.Or(x.missing, x.wrong); err != nil {
		l.fail(spec.Position{File: path}, "%v", err)
		return
	}
	l.files[path] = &file{path, x.text, x.module}
}

func parserOptions() ast.ParserOptions {
	return ast.ParserOptions{ProcessAnnotation: true, RegoVersion: ast.RegoV1, Capabilities: Capabilities()}
}

func packageOf(m *ast.Module) string {
	name := m.Package.Path.String()
	return strings.TrimPrefix(name, "data.")
}

// isPolicyPackage reports whether the name is callgate.policy.<name>.
func isPolicyPackage(name string) bool {
	rest, ok := strings.CutPrefix(name, "callgate.policy.")
	return ok && rest != "" && !strings.ContainsAny(rest, ".[")
}

func importsV2(m *ast.Module) bool {
	return slices.ContainsFunc(m.Imports, func(i *ast.Import) bool {
		return ast.RegoV2CompatibleRef.Equal(i.Path.Value)
	})
}

// mount puts data at a top-level name.
func (l *loader) mount(pos spec.Position, name string, v any) {
	old, exists := l.data[name]
	x, xok := old.(map[string]any)
	y, yok := v.(map[string]any)
	switch {
	case xok && yok:
		l.data[name] = merge(x, y)
	case exists:
		l.fail(pos, "data.%s: given twice", name)
	default:
		l.data[name] = v
	}
}

// compile compiles and type-checks everything that was loaded.
func (l *loader) compile(tools []policies.ToolSchema) *ast.Compiler {
	set, problems := schemas(tools)
	l.problems = append(l.problems, problems...)
	modules := map[string]*ast.Module{}
	for path, f := range l.files {
		modules[path] = f.module
	}
	c := ast.NewCompiler().SetErrorLimit(0).WithStrict(true).WithCapabilities(Capabilities()).
		WithSchemas(set).WithUseTypeCheckAnnotations(true).
		WithPathConflictsCheck(func(path []string) (bool, error) { return l.hasData(path), nil })
	c.Compile(modules)
	for _, p := range compileProblems(c.Errors) {
		if l.broken && strings.Contains(p.Text, "undefined function") {
			continue // it may be in the module that does not parse
		}
		l.problems = append(l.problems, p)
	}
	return c
}

// hasData reports whether there is data where a rule's document would be.
func (l *loader) hasData(path []string) bool {
	var at any = l.data
	for _, step := range path {
		object, ok := at.(map[string]any)
		if !ok {
			return false
		}
		if at, ok = object[step]; !ok {
			return false
		}
	}
	return true
}

// vocabulary lists the texts that may be tags: the short constants of the modules, and of params.
func (l *loader) vocabulary(params map[string]any) []string {
	words := map[string]bool{}
	for _, f := range l.files {
		ast.WalkTerms(f.module, func(t *ast.Term) bool {
			if s, ok := t.Value.(ast.String); ok && len(s) <= maxTag {
				words[string(s)] = true
			}
			return false
		})
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			if len(v) <= maxTag {
				words[v] = true
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		case []string:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for k, e := range v {
				if strings.Contains(k, "tag") {
					walk(e)
				} else if m, ok := e.(map[string]any); ok {
					walk(m)
				}
			}
		}
	}
	walk(params)
	return slices.Sorted(maps.Keys(words))
}

const maxTag = 32 // bytes
