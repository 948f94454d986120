package spec

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// house is a table of packages and what each may import. Lists are separated by blanks; a
// name stands for the packages below it as well.
type house struct {
	module     string
	rooms      []room
	guarded    string            // packages of the standard library that need a door; these alone, not what is below them
	everywhere string            // packages from outside that every room may import
	tests      string            // packages that every test may import
	closed     map[string]string // by room: packages that nothing that it imports may import
}

// room is one package, or with /... a folder of them.
type room struct {
	pkg       string
	may       string // packages of the module; * is all
	doors     string // guarded packages, and packages from outside
	testDoors string // doors of its tests
}

// The limits of the house.
const (
	mostNames = 1000
	mostLines = 1000
)

var (
	localPath = regexp.MustCompile("(^|[\\s\"'(=:`<,])/(home|Users|root|work)/")
	leftOver  = regexp.MustCompile(`\b(TO(DO)|FIX(ME))\b`)
	vague     = regexp.MustCompile(`(^|/)(utils?|helpers?|common|misc|shared)(/|$)`)
)

// goFile is a parsed Go file.
type goFile struct {
	name string
	test bool
	ast  *ast.File
	fset *token.FileSet
}

// at returns where a node is.
func (g goFile) at(p token.Pos) string {
	pos := g.fset.Position(p)
	return fmt.Sprintf("%s:%d:%d", g.name, pos.Line, pos.Column)
}

// check returns what breaks the rules, sorted.
func (h *house) check(files map[string]string) []string {
	var broken []string
	report := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	pkgs := map[string][]goFile{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := files[name]
		for i, line := range strings.Split(text, "\n") {
			if localPath.MatchString(line) {
				report("%s:%d: a path of one machine: %s", name, i+1, strings.TrimSpace(line))
			}
			if path.Ext(name) == ".go" && leftOver.MatchString(line) {
				report("%s:%d: something left to do: %s", name, i+1, strings.TrimSpace(line))
			}
		}
		if n := strings.Count(text, "\n"); n >= mostLines && slices.Contains([]string{".go", ".md", ".rego", ".star"}, path.Ext(name)) {
			report("%s: %d lines, want fewer than %d", name, n, mostLines)
		}
		if path.Ext(name) != ".go" {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			report("%v", err)
			continue
		}
		dir := path.Dir(name)
		pkgs[dir] = append(pkgs[dir], goFile{name, strings.HasSuffix(name, "_test.go"), file, fset})
	}
	for _, dir := range slices.Sorted(maps.Keys(pkgs)) {
		h.checkPackage(dir, pkgs[dir], report)
	}
	for _, dir := range slices.Sorted(maps.Keys(h.closed)) {
		h.checkClosure(dir, pkgs, report)
	}
	slices.Sort(broken)
	return broken
}

func (h *house) room(dir string) *room {
	for i, r := range h.rooms {
		if folder, ok := strings.CutSuffix(r.pkg, "/..."); ok && strings.HasPrefix(dir, folder+"/") || dir == r.pkg {
			return &h.rooms[i]
		}
	}
	return nil
}

func (h *house) checkPackage(dir string, files []goFile, report func(string, ...any)) {
	r := h.room(dir)
	if r == nil {
		report("%s: in no room of the house: give it a line in the table", dir)
		r = &room{}
	}
	if vague.MatchString(dir) {
		report("%s: a name that says nothing", dir)
	}
	names, commented, code := 0, false, false
	for _, f := range files {
		if !f.test {
			code = true
			names += exported(f.ast)
			if doc := f.ast.Doc.Text(); strings.HasPrefix(doc, "Package "+f.ast.Name.Name+" ") || f.ast.Name.Name == "main" && strings.HasPrefix(doc, "Command ") {
				commented = true
			}
		}
		if vague.MatchString(f.ast.Name.Name) {
			report("%s: package %s: a name that says nothing", f.at(f.ast.Name.Pos()), f.ast.Name.Name)
		}
		for _, imp := range f.ast.Imports {
			if target, err := strconv.Unquote(imp.Path.Value); err == nil {
				h.checkImport(r, f, f.at(imp.Pos()), target, report)
			}
		}
	}
	if code && !commented {
		report("%s: no package comment that begins with Package or, of a command, with Command", dir)
	}
	if names > mostNames {
		report("%s: %d exported names, want %d at most", dir, names, mostNames)
	}
}

func (h *house) checkImport(r *room, f goFile, at, target string, report func(string, ...any)) {
	if inside, ok := strings.CutPrefix(target, h.module+"/"); ok {
		if !f.test && r.may != "*" && !slices.Contains(strings.Fields(r.may), inside) {
			report("%s: %s may not import %s", at, path.Dir(f.name), inside)
		}
		return
	}
	outside := strings.Contains(strings.Split(target, "/")[0], ".")
	if !outside && !slices.Contains(strings.Fields(h.guarded), target) && !strings.HasPrefix(target, "net/http/") {
		return
	}
	doors := r.doors + " " + h.everywhere
	if f.test {
		doors += " " + r.testDoors + " " + h.tests
	}
	if !under(target, doors) {
		report("%s: %s has no door to %s", at, path.Dir(f.name), target)
	}
}

// under reports whether a package is one of a list, or below one of them. That a major version follows makes no difference.
func under(target, list string) bool {
	for _, l := range strings.Fields(list) {
		if target == l || strings.HasPrefix(target, l+"/") && (l != "net" && l != "os") {
			return true
		}
	}
	return false
}

// checkClosure follows the imports of a package through the module.
func (h *house) checkClosure(dir string, pkgs map[string][]goFile, report func(string, ...any)) {
	seen := map[string]bool{}
	var visit func(pkg string, by []string)
	visit = func(pkg string, by []string) {
		if seen[pkg] {
			return
		}
		seen[pkg] = true
		by = append(slices.Clip(by), pkg)
		for _, f := range pkgs[pkg] {
			if f.test {
				continue
			}
			for _, imp := range f.ast.Imports {
				target, err := strconv.Unquote(imp.Path.Value)
				if err != nil {
					continue
				}
				if inside, ok := strings.CutPrefix(target, h.module+"/"); ok {
					visit(inside, by)
				} else if under(target, h.closed[dir]) {
					report("%s: %s reaches %s through %s", f.at(imp.Pos()), dir, target, strings.Join(by, ", "))
				}
			}
		}
	}
	visit(dir, nil)
}

// exported counts the exported names of a file: those of its top level, and methods.
func exported(f *ast.File) int {
	n := 0
	count := func(id *ast.Ident) {
		if id.IsExported() {
			n++
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			count(d.Name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					count(s.Name)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						count(id)
					}
				}
			}
		}
	}
	return n
}

// TestHouseRules holds the checker itself against small houses.
func TestHouseRules(t *testing.T) {
	h := house{
		module: "m",
		rooms: []room{
			{pkg: "a"},
			{pkg: "b", may: "a", doors: "x.example/lib os/exec", testDoors: "t.example/lib"},
			{pkg: "b/util", may: "a"},
			{pkg: "cmd/...", may: "*"},
		},
		guarded:    "C net net/http os/exec plugin syscall unsafe",
		everywhere: "w.example/words",
		tests:      "c.example/cmp net/http",
		closed:     map[string]string{"cmd/small": "x.example/lib os"},
	}
	pkg := func(name, imports string) string {
		text := "// Package " + name + " is a test.\npackage " + name + "\n"
		for _, imp := range strings.Fields(imports) {
			text += "import _ \"" + imp + "\"\n"
		}
		return text
	}
	var many strings.Builder
	many.WriteString(pkg("a", ""))
	for i := range mostNames + 1 {
		fmt.Fprintf(&many, "const N%d, n%d = 1, 2\n", i, i)
	}
	slash := "/"
	for _, test := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"a house in order", map[string]string{
			"a/a.go": pkg("a", "fmt net/url os w.example/words/v2"), "b/b.go": pkg("b", "m/a x.example/lib/sub os/exec"), "cmd/x/x.go": pkg("main", "m/a m/b"),
			"a/a_test.go": "package a_test\nimport _ \"m/b\"\nimport _ \"c.example/cmp\"\nimport _ \"net/http\"\n", "b/b_test.go": "package b\nimport _ \"t.example/lib\"\n", "README.md": "See https://x.example/home/page.",
		}, nil},
		{"an import up the house", map[string]string{"a/a.go": pkg("a", "m/b"), "b/b.go": pkg("b", "")}, []string{`a/a.go:3:8: a may not import b`}},
		{"an import of what is below a room", map[string]string{"b/b.go": pkg("b", "m/a/deep")}, []string{`b/b.go:3:8: b may not import a/deep`}},
		{"a package without a room", map[string]string{"c/c.go": pkg("c", "")}, []string{"c: in no room of the house: give it a line in the table"}},
		{"a library without a door", map[string]string{"a/a.go": pkg("a", "x.example/lib x.example/library")}, []string{`a/a.go:3:8: a has no door to x.example/lib`, `a/a.go:4:8: a has no door to x.example/library`}},
		{"a library that begins like one with a door", map[string]string{"b/b.go": pkg("b", "x.example/library")}, []string{`b/b.go:3:8: b has no door to x.example/library`}},
		{"a test's library without a door", map[string]string{"a/a_test.go": pkg("a", "x.example/lib t.example/lib")}, []string{`a/a_test.go:3:8: a has no door to x.example/lib`, `a/a_test.go:4:8: a has no door to t.example/lib`}},
		{"a test's library in a package", map[string]string{"b/b.go": pkg("b", "t.example/lib c.example/cmp")}, []string{`b/b.go:3:8: b has no door to t.example/lib`, `b/b.go:4:8: b has no door to c.example/cmp`}},
		{"guarded packages", map[string]string{"a/a.go": pkg("a", "os/exec net net/http net/http/httptest unsafe syscall plugin C")}, []string{
			`a/a.go:10:8: a has no door to C`, `a/a.go:3:8: a has no door to os/exec`, `a/a.go:4:8: a has no door to net`, `a/a.go:5:8: a has no door to net/http`,
			`a/a.go:6:8: a has no door to net/http/httptest`, `a/a.go:7:8: a has no door to unsafe`, `a/a.go:8:8: a has no door to syscall`, `a/a.go:9:8: a has no door to plugin`}},
		{"an import in a file for another system", map[string]string{"a/a_windows.go": "//go:build windows\n\n" + pkg("a", "unsafe")}, []string{`a/a_windows.go:5:8: a has no door to unsafe`}},
		{"a library reached through others", map[string]string{"cmd/small/x.go": pkg("main", "m/a"), "a/a.go": pkg("a", "m/b"), "b/b.go": pkg("b", "x.example/lib os/exec os")}, []string{
			`a/a.go:3:8: a may not import b`, `b/b.go:3:8: cmd/small reaches x.example/lib through cmd/small, a, b`, `b/b.go:5:8: cmd/small reaches os through cmd/small, a, b`}},
		{"no package comment", map[string]string{"a/a.go": "package a\n", "b/b.go": "// b is not what it should say.\npackage b\n"}, []string{
			"a: no package comment that begins with Package or, of a command, with Command", "b: no package comment that begins with Package or, of a command, with Command"}},
		{"the comment of a command", map[string]string{"cmd/x/x.go": "// Command x is a test.\npackage main\n"}, nil},
		{"names that say nothing", map[string]string{"b/util/u.go": pkg("helpers", "")}, []string{"b/util/u.go:2:9: package helpers: a name that says nothing", "b/util: a name that says nothing"}},
		{"too many names", map[string]string{"a/a.go": pkg("a", ""), "a/many.go": many.String()}, []string{"a/many.go: 1003 lines, want fewer than 1000", "a: 1001 exported names, want 1000 at most"}},
		{"too many lines", map[string]string{"x.md": strings.Repeat("\n", 1000), "y.md": strings.Repeat("\n", 999), "z.json": strings.Repeat("\n", 5000)}, []string{"x.md: 1000 lines, want fewer than 1000"}},
		{"something left to do", map[string]string{"a/a.go": pkg("a", "") + "\n// TO" + "DO: more\n", "x.md": "TO" + "DO"}, []string{"a/a.go:4: something left to do: // TO" + "DO: more"}},
		{"a path of one machine", map[string]string{"x.md": "see " + slash + "home/ana/x\n", "y.yaml": "root: " + slash + "work/x"}, []string{"x.md:1: a path of one machine: see " + slash + "home/ana/x", "y.yaml:1: a path of one machine: root: " + slash + "work/x"}},
		{"a file that is not Go", map[string]string{"a/a.go": "package"}, []string{"a/a.go:1:8: expected 'IDENT', found 'EOF'"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := h.check(test.files); !slices.Equal(got, test.want) {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(test.want, "\n\t"))
			}
		})
	}
}
