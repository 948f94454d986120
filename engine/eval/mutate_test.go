package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A mutant is the evaluator without one of the things that its labels rest on: one operand of a join, a pc that is
// raised, a structure label that is read, an announcement, the label of an error. TestMutants
// makes one binary that holds all of them, behind a switch, and asks for each whether the noninterference test, or a vector,
// tells it from the evaluator. Those that survive are in testdata/mutants.txt with the reason why.
//
//	go test ./engine/eval -run TestMutants -mutate 100000 -timeout 0 -v

var (
	mutatePairs = flag.Int("mutate", 0, "pairs of runs after which TestMutants gives a mutant up; 0: do not run it")
	mutateOnly  = flag.String("mutants", "", "a pattern of those mutants that TestMutants tries, as it prints them")
	mutateTable = flag.String("mutants-table", "", "a file to which TestMutants writes a line for each mutant")
)

type mutant struct {
	id     int
	file   string
	line   int
	fn     string
	source string // what is changed
	change string
}

func (m mutant) key() string { return m.fn + " | " + m.source + " | " + m.change }

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
		m.mutants = append(m.mutants, mutant{*m.next, filepath.Base(where.Filename), where.Line, m.function(), source, c})
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
	instead := "label.BottomID"
	if m.hasThread() && m.src(e) != "t.pc" {
		instead = "t.pc"
	}
	id := m.add(e, of+strings.TrimPrefix(instead, "label."))
	m.edits = append(m.edits, edit{m.at(e.Pos()), m.at(e.Pos()), fmt.Sprintf("mutLabel(%d, %s, ", id, instead)}, edit{m.at(e.End()), m.at(e.End()), ")"})
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
	case "fail":
		if x == "t" || strings.HasSuffix(x, ".t") {
			m.method(c, "label: pc")
		}
	case "errorf":
		if (x == "t" || strings.HasSuffix(x, ".t")) && len(c.Args) > 2 {
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
	m.edits = append(m.edits, edit{m.at(n.Pos()), m.at(n.Pos()), fmt.Sprintf("if mutNow != %d {", id)}, edit{m.at(n.End()), m.at(n.End()), "}"})
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
		if strings.HasSuffix(path, "_test.go") {
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
	put("mutswitch.go", []byte(mutantSwitch))
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

// mutantSwitch is the file that the rewritten ones rest on. n is the id of a place's first mutant.
const mutantSwitch = `package eval

import (
	"os"
	"strconv"

	"callgate/engine/label"
)

var mutNow, _ = strconv.Atoi(os.Getenv("CALLGATE_MUTANT"))

func mutLabel(n int, instead, l label.ID) label.ID {
	if mutNow == n {
		return instead
	}
	return l
}

func (t *thread) mutJoin(n int, a, b label.ID) label.ID {
	switch mutNow {
	case n:
		return a
	case n + 1:
		return b
	}
	return t.join(a, b)
}

func (t *thread) mutUnder(n int, saved, l label.ID) label.ID {
	switch mutNow {
	case n:
		return saved
	case n + 1:
		return t.tab.Control(l)
	}
	return t.under(saved, l)
}

func (t *thread) mutLevel(n int, saved label.ID) label.ID {
	if mutNow == n {
		return saved
	}
	return t.level(saved)
}

func (t *thread) mutStructure(n int, v val) label.ID {
	if mutNow == n {
		return label.BottomID
	}
	return t.structure(v)
}

func (t *thread) mutShallow(n int, c *call) label.ID {
	if mutNow == n {
		return t.pc
	}
	return t.shallow(c)
}

func (t *thread) mutAllOf(n int, c *call) label.ID {
	if mutNow == n {
		return t.pc
	}
	return t.allOf(c)
}

func (t *thread) mutDeepLabel(n int, v val) label.ID {
	if mutNow == n {
		return v.lab
	}
	return t.deepLabel(v)
}

func (t *thread) mutEverything(n int) label.ID {
	if mutNow == n {
		return label.BottomID
	}
	return t.everything()
}

func (t *thread) mutKeyLab(n int, v val) label.ID {
	if mutNow == n {
		return t.tab.Control(v.lab)
	}
	return t.keyLab(v)
}

func (t *thread) mutKeyLabel(n int, c *call) label.ID {
	if mutNow == n {
		return t.shallow(c)
	}
	return t.keyLabel(c)
}

func (t *thread) mutAnnounce(n int, r *region, before, full, cond label.ID) {
	if mutNow == n {
		t.conds = append(t.conds, cond)
		return
	}
	t.announce(r, before, full, cond)
}

func (t *thread) mutWrite(n int, st *label.ID, ref label.ID, p pos) label.ID {
	switch mutNow {
	case n:
		return t.under(t.pc, ref)
	case n + 1:
		ref = label.BottomID
	}
	return t.write(st, ref, p)
}

func (t *thread) mutFail(n int, p pos, l label.ID, code, format string, args ...any) *Error {
	if mutNow == n {
		l = label.BottomID
	}
	return t.fail(p, l, code, format, args...)
}

func (t *thread) mutErrorf(n int, l label.ID, code, format string, args ...any) *Error {
	if mutNow == n {
		l = label.BottomID
	}
	return t.errorf(l, code, format, args...)
}

func (v val) mutWith(n int, l label.ID) val {
	if mutNow == n {
		return v
	}
	return v.with(l)
}

func mutTableJoin(n int, t *label.Table, a, b label.ID) label.ID {
	switch mutNow {
	case n:
		return a
	case n + 1:
		return b
	}
	return t.Join(a, b)
}

func mutFlows(n int, t *label.Table, a, b label.ID) bool { return mutNow == n || t.Flows(a, b) }

func mutControl(n int, t *label.Table, a label.ID) label.ID {
	if mutNow == n {
		return label.BottomID
	}
	return t.Control(a)
}
`

// verdict is how a mutant was told from the evaluator.
type verdict struct {
	found bool
	how   string
}

var afterPairs = regexp.MustCompile(`after (\d+) pairs`)

// judge runs the tests with one mutant.
func judge(ctx context.Context, bin string, m mutant, pairs int) verdict {
	run := func(test string, more ...string) (string, bool) {
		ctx, cancel := context.WithTimeout(ctx, time.Duration(pairs/200+60)*time.Second)
		defer cancel()
		c := exec.CommandContext(ctx, bin, append([]string{"-test.run", "^" + test + "$", "-test.timeout", "0"}, more...)...)
		c.Env = append(os.Environ(), "CALLGATE_MUTANT="+strconv.Itoa(m.id), "GOMAXPROCS=1")
		out, err := c.CombinedOutput()
		if ctx.Err() != nil {
			return "out of time", true
		}
		return string(out), err != nil
	}
	out, failed := run("TestNoninterference", "-pairs", strconv.Itoa(pairs))
	if match := afterPairs.FindStringSubmatch(out); failed && match != nil {
		return verdict{true, match[1] + " pairs"}
	} else if failed {
		return verdict{true, "a crash: " + strings.SplitN(strings.TrimSpace(out), "\n", 2)[0]}
	}
	out, failed = run("TestFlowVectors")
	if !failed {
		return verdict{false, fmt.Sprintf("not in %d pairs", pairs)}
	}
	name := "?"
	if _, rest, ok := strings.Cut(out, "--- FAIL: TestFlowVectors/"); ok {
		name, _, _ = strings.Cut(rest, " ")
	}
	if strings.Contains(out, "can tell") {
		return verdict{true, "vector " + name}
	}
	return verdict{true, "labels of vector " + name}
}

// excused reads why mutants survive: lines of "function | source | change: reason".
func excused(t *testing.T) map[string]string {
	b, err := os.ReadFile(filepath.Join("testdata", "mutants.txt"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		i := strings.LastIndex(line, " :: ")
		if i < 0 {
			t.Fatalf("testdata/mutants.txt: got %q, want function | source | change :: reason", line)
		}
		out[line[:i]] = line[i+4:]
	}
	return out
}

func TestMutants(t *testing.T) {
	if *mutatePairs == 0 {
		t.Skip("takes hours: -mutate 100000")
	}
	only, err := regexp.Compile(*mutateOnly)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	overlay, all := mutate(t, dir)
	bin := filepath.Join(dir, "mutants.test")
	if out, err := exec.Command("go", "test", "-c", "-overlay", overlay, "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	excuses := excused(t)
	if v := judge(t.Context(), bin, mutant{}, 2000); v.found {
		t.Fatalf("the evaluator itself is found: %s", v.how)
	}
	var table *os.File
	if *mutateTable != "" {
		if table, err = os.OpenFile(*mutateTable, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644); err != nil {
			t.Fatal(err)
		}
		defer table.Close()
	}
	found, survived := 0, 0
	for _, m := range all {
		line := fmt.Sprintf("%s:%d: %s", m.file, m.line, m.key())
		if !only.MatchString(line) {
			continue
		}
		v := judge(t.Context(), bin, m, *mutatePairs)
		reason, listed := excuses[m.key()]
		if table != nil {
			fmt.Fprintf(table, "%s => %s\n", line, v.how)
		}
		t.Logf("%s => %s", line, v.how)
		switch {
		case v.found:
			found++
			if listed {
				t.Errorf("%s: is found now: strike it from testdata/mutants.txt", line)
			}
		case listed:
			survived++
			t.Logf("\tas it should: %s", reason)
		default:
			survived++
			t.Errorf("%s: survived", line)
		}
	}
	t.Logf("%d mutants found, %d not", found, survived)
}
