package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

type mutant struct {
	id     int
	file   string
	line   int
	fn     string
	source string // what is changed
	change string
	nth    int // of those in the package that read the same
}

func (m mutant) key() string {
	key := m.fn + " | " + m.source + " | " + m.change
	if m.nth > 1 {
		key += fmt.Sprintf(" | %d", m.nth)
	}
	return key
}

func (m mutant) String() string { return fmt.Sprintf("%s:%d: %s", m.file, m.line, m.key()) }

// edit replaces text[from:to] of a file.
type edit struct {
	from, to int
	text     string
}

// mutator rewrites one file.
type mutator struct {
	fset    *token.FileSet
	text    []byte
	edits   []edit
	mutants []mutant
	next    *int
	stack   []ast.Node
}

func (m *mutator) at(p token.Pos) int { return m.fset.Position(p).Offset }

func (m *mutator) src(n ast.Node) string { return string(m.text[m.at(n.Pos()):m.at(n.End())]) }

// add makes the mutants of a place, one for each change, and returns the first one's id.
func (m *mutator) add(n ast.Node, changes ...string) int {
	first := *m.next
	where := m.fset.Position(n.Pos())
	var buf bytes.Buffer
	_ = printer.Fprint(&buf, token.NewFileSet(), n)
	source := strings.Join(strings.Fields(buf.String()), " ")
	if len(source) > 90 {
		source = source[:90] + "…"
	}
	for _, c := range changes {
		m.mutants = append(m.mutants, mutant{*m.next, filepath.Base(where.Filename), where.Line, m.function(), source, c, 0})
		*m.next++
	}
	return first
}

// function is the name of the function around, with what it is assigned to or a builtin's name if it is a literal.
func (m *mutator) function() string {
	name := ""
	for _, n := range m.stack {
		switch n := n.(type) {
		case *ast.FuncDecl:
			name = n.Name.Name
		case *ast.CallExpr:
			id, ok := n.Fun.(*ast.Ident)
			if !ok {
				continue
			}
			switch id.Name {
			case "addMethod", "addFunc", "crossing", "add", "combine", "compare", "remove", "all":
				for _, a := range n.Args {
					if l, ok := a.(*ast.BasicLit); ok && l.Kind == token.STRING {
						name = strings.Trim(l.Value, `"`)
						if len(n.Args) > 3 {
							name = m.src(n.Args[0]) + "." + name
						}
						break
					}
				}
			}
		}
	}
	return name
}

// hasThread reports whether t is a thread where the walk is.
func (m *mutator) hasThread() bool {
	for _, n := range m.stack {
		var fields []*ast.Field
		switch n := n.(type) {
		case *ast.FuncDecl:
			fields = n.Type.Params.List
			if n.Recv != nil {
				fields = append(slices.Clone(fields), n.Recv.List...)
			}
		case *ast.FuncLit:
			fields = n.Type.Params.List
		}
		for _, f := range fields {
			for _, id := range f.Names {
				if id.Name == "t" && m.src(f.Type) == "*thread" {
					return true
				}
			}
		}
	}
	return false
}

func (m *mutator) parent(i int) ast.Node {
	if len(m.stack) <= i {
		return nil
	}
	return m.stack[len(m.stack)-1-i]
}

// method replaces the name of a method that is called by that of its switch, which takes the id first.
func (m *mutator) method(c *ast.CallExpr, changes ...string) {
	sel := c.Fun.(*ast.SelectorExpr).Sel
	id := m.add(c, changes...)
	m.edits = append(m.edits,
		edit{m.at(sel.Pos()), m.at(sel.End()), "mut" + strings.ToUpper(sel.Name[:1]) + sel.Name[1:]},
		edit{m.at(c.Lparen) + 1, m.at(c.Lparen) + 1, strconv.Itoa(id) + ", "})
}

// label wraps an expression for a label in a switch to the pc, or to Bottom.
func (m *mutator) label(e ast.Expr, of string) {
	instead, by := "label.BottomID", "mutLabel"
	if m.hasThread() {
		by = "t.mutLabel"
		if m.src(e) != "t.pc" {
			instead = "t.pc"
		}
	}
	id := m.add(e, of+strings.TrimPrefix(instead, "label."))
	m.edits = append(m.edits, edit{m.at(e.Pos()), m.at(e.Pos()), fmt.Sprintf("%s(%d, %s, ", by, id, instead)}, edit{m.at(e.End()), m.at(e.End()), ")"})
}

var constructor = regexp.MustCompile(`^(none|bool|int|big|float|string|bytes|tuple|range|list|dict|set|record|func|builtin|module|seq)Val$`)

func isCall(e ast.Node, names ...string) bool {
	c, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := c.Fun.(*ast.SelectorExpr)
	return ok && slices.Contains(names, sel.Sel.Name)
}

func (m *mutator) visit(n ast.Node) {
	switch n := n.(type) {
	case *ast.CallExpr:
		m.call(n)
	case *ast.KeyValueExpr:
		k, ok := n.Key.(*ast.Ident)
		if !ok || isCall(n.Value, "join", "under", "shallow", "structure", "deepLabel", "Intern") {
			return
		}
		switch src := m.src(n.Value); {
		case k.Name == "st" && src != "label.BottomID", k.Name == "lab" && src == "label.TopID", k.Name == "lab" && src == "t.pc":
			m.label(n.Value, k.Name+": ")
		}
	case *ast.ExprStmt:
		if isCall(n.X, "announceValue", "announceCall", "announceInner", "joinMade", "raiseFloor", "foresee", "bind", "change", "add", "all", "target", "operands", "call", "skipped") &&
			m.within("region.go", "thread.go", "expr.go", "call.go", "stmt.go", "crossing.go") && !isCall(n.X, "bind") || m.src(n.X) == "entered(full)" || isCall(n.X, "bind") && m.within("region.go") {
			m.statement(n, "nothing")
		}
	case *ast.IncDecStmt:
		if m.src(n.X) == "t.raises" {
			m.statement(n, "nothing")
		}
	case *ast.AssignStmt:
		m.assign(n)
	}
}

func (m *mutator) within(files ...string) bool {
	return slices.Contains(files, filepath.Base(m.fset.Position(m.stack[0].Pos()).Filename))
}

func (m *mutator) call(c *ast.CallExpr) {
	if id, ok := c.Fun.(*ast.Ident); ok && constructor.MatchString(id.Name) && len(c.Args) > 0 {
		switch last := c.Args[len(c.Args)-1].(type) {
		case *ast.Ident, *ast.SelectorExpr:
			src := m.src(last)
			if src != "label.BottomID" && (src != "t.pc" || m.within("expr.go", "stmt.go", "compile.go", "call.go")) {
				m.label(last, "label: ")
			}
		}
		return
	}
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	x := m.src(sel.X)
	switch sel.Sel.Name {
	case "join":
		m.method(c, "without the second", "without the first")
	case "under":
		m.method(c, "without the second", "without the first")
	case "level", "structure", "shallow", "deepLabel", "allOf", "everything":
		m.method(c, "nothing more")
	case "keyLab", "keyLabel":
		m.method(c, "shallow")
	case "announce":
		m.method(c, "nothing")
	case "write":
		if strings.HasSuffix(x, ".b") || strings.HasSuffix(x, "w") || len(c.Args) != 3 {
			return
		}
		m.method(c, "no rule", "without the reference")
	case "change":
		if x == "t" {
			m.method(c, "no rule")
		}
	case "fail":
		if x == "t" || strings.HasSuffix(x, ".t") {
			m.method(c, "label: pc")
		}
	case "errorf":
		if (x == "t" || strings.HasSuffix(x, ".t")) && len(c.Args) > 2 && !slices.Contains([]string{"t.pc", "label.BottomID"}, m.src(c.Args[0])) {
			m.method(c, "label: pc")
		}
	case "with":
		if len(c.Args) == 1 && !isCall(c.Args[0], "join", "under", "shallow", "structure") && m.src(c.Args[0]) != "t.pc" {
			m.method(c, "as it was")
		}
	case "Join":
		if strings.HasSuffix(x, "tab") {
			id := m.add(c, "without the second", "without the first")
			m.edits = append(m.edits, edit{m.at(c.Pos()), m.at(c.Lparen) + 1, fmt.Sprintf("mutTableJoin(%d, %s, ", id, x)})
		}
	case "Flows":
		if strings.HasSuffix(x, "tab") {
			id := m.add(c, "always")
			m.edits = append(m.edits, edit{m.at(c.Pos()), m.at(c.Lparen) + 1, fmt.Sprintf("mutFlows(%d, %s, ", id, x)})
		}
	case "Control":
		if strings.HasSuffix(x, "tab") && !isCall(m.parent(1), "join", "under") {
			id := m.add(c, "nothing")
			m.edits = append(m.edits, edit{m.at(c.Pos()), m.at(c.Lparen) + 1, fmt.Sprintf("mutControl(%d, %s, ", id, x)})
		}
	}
}

var labelField = regexp.MustCompile(`(^|\.)(st|history|names|changed|calls|callees|ret|brk|cont|exits|kwonly)$|^\*st$|^\*l$`)

func (m *mutator) assign(n *ast.AssignStmt) {
	if n.Tok == token.DEFINE || len(n.Lhs) != 1 || isCall(n.Rhs[0], "join", "under", "level", "Join") {
		return
	}
	to, from := m.src(n.Lhs[0]), m.src(n.Rhs[0])
	switch {
	case to == "t.pc" && slices.Contains([]string{"full", "bodyPC", "pc"}, from):
	case labelField.MatchString(to) && m.within("region.go", "thread.go", "crossing.go", "expr.go", "stmt.go", "call.go", "session.go", "functions.go", "containers.go", "sort.go", "ops.go") && !strings.HasPrefix(to, "code.") && !strings.HasPrefix(to, "t.ret") && to != "calls":
	default:
		return
	}
	m.statement(n, "nothing")
}

// statement puts a statement behind the switch.
func (m *mutator) statement(n ast.Stmt, change string) {
	switch m.parent(1).(type) {
	case *ast.BlockStmt, *ast.CaseClause:
	default:
		return
	}
	id := m.add(n, change)
	m.edits = append(m.edits, edit{m.at(n.Pos()), m.at(n.Pos()), fmt.Sprintf("if mutStatement(%d) {", id)}, edit{m.at(n.End()), m.at(n.End()), "}"})
}

// rewritten returns the file with all of its mutants behind the switch.
func (m *mutator) rewritten() []byte {
	slices.SortStableFunc(m.edits, func(a, b edit) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return a.to - b.to
	})
	var out []byte
	at := 0
	for _, e := range m.edits {
		out = append(out, m.text[at:e.from]...)
		out = append(out, e.text...)
		at = e.to
	}
	return append(out, m.text[at:]...)
}

// mutate rewrites the package's files for an overlay, and returns its mutants.
func mutate(t *testing.T, dir string) (overlay string, all []mutant) {
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	replace := map[string]string{}
	put := func(name string, text []byte) {
		from, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, name)
		if err := os.WriteFile(to, text, 0o644); err != nil {
			t.Fatal(err)
		}
		replace[from] = to
	}
	next := 1
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "restore") || strings.HasPrefix(path, "snapshot") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m := mutator{fset: token.NewFileSet(), text: text, next: &next}
		f, err := parser.ParseFile(m.fset, path, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if n == nil {
				m.stack = m.stack[:len(m.stack)-1]
				return true
			}
			m.stack = append(m.stack, n)
			m.visit(n)
			return true
		})
		all = append(all, m.mutants...)
		put(path, m.rewritten())
	}
	had := map[string]int{}
	for i := range all {
		key := all[i].key()
		had[key]++
		all[i].nth = had[key]
	}
	put("mutswitch.go", []byte(mutantSwitch))
	put("mutswitch_test.go", []byte(mutantHooks))
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return overlay, all
}
