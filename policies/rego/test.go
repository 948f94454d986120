package rego

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/policies"
	"callgate/policies/library"
	"callgate/spec"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// Suite is tests in Rego, and the policies that they run with: as an engine loads them, with the shipped
// helpers data.callgate.lib, data.callgate.testing and data.callgate.decision.
type Suite struct {
	Config

	// Files are modules that no policy names: _test.rego files, and what else they need.
	Files []string

	// Data stands at the root of data, below what the Config puts there.
	Data map[string]any

	// Only is a regular expression for the names of tests; "" means all.
	Only string

	// Cover, if it is not nil, notes which lines are evaluated.
	Cover *Coverage
}

// TestResult is what came of one test. It passed if it neither failed nor was skipped.
type TestResult struct {
	Name     string // "data.callgate.test.payments_test.test_vendor"
	Pos      spec.Position
	Failed   bool
	Skipped  bool            // its name begins with todo_
	Message  string          // of an error, or which of the cases of a table failed
	Why      []policies.Step // what did not hold
	Output   string          // of print
	Duration time.Duration
}

// testTime is how long one test may take.
const testTime = 10 * time.Second

// Test runs the tests among the files of a suite, in the order of their places. Files that cannot be used are problems, and
// nothing is run then.
func Test(ctx context.Context, s Suite) ([]TestResult, []spec.Problem) {
	modules, compiler, store, problems := s.load()
	if spec.Fatal(problems) {
		return nil, problems
	}
	fail := func(err error) ([]TestResult, []spec.Problem) {
		if list, ok := err.(ast.Errors); ok {
			return nil, spec.SortProblems(append(problems, compileProblems(list)...))
		}
		return nil, append(problems, spec.Problem{Text: err.Error()})
	}
	txn, err := store.NewTransaction(ctx)
	if err != nil {
		return fail(err)
	}
	defer store.Abort(ctx, txn)
	runner := tester.NewRunner().SetCompiler(compiler).SetModules(modules).SetStore(store).
		RaiseBuiltinErrors(true).SetTimeout(testTime).Filter(s.Only).SetCoverageRuns(nil)
	if s.Cover != nil {
		runner.SetCoverageQueryTracer(s.Cover.lines)
		s.Cover.add(modules)
	}
	found, err := runner.RunTests(ctx, txn)
	if err != nil {
		return fail(err)
	}
	w := why{compiler: compiler, store: store, txn: txn}
	var out []TestResult
	for r := range found {
		t := TestResult{Name: r.Package + "." + r.Name, Pos: position(r.Location, ""), Skipped: r.Skip, Output: string(r.Output), Duration: r.Duration}
		if r.Location != nil {
			t.Pos.File = r.Location.File
		}
		if !r.Pass() && !r.Skip {
			t.Failed, t.Message = true, messageOf(r)
			t.Why = w.test(ctx, t.Name)
		}
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b TestResult) int {
		return cmp.Or(strings.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line), strings.Compare(a.Name, b.Name))
	})
	if err := ctx.Err(); err != nil {
		return out, append(problems, spec.Problem{Text: err.Error()})
	}
	return out, problems
}

// messageOf says what a test's result says besides that it failed.
func messageOf(r *tester.Result) string {
	if r.Error != nil {
		if topdown.IsCancel(r.Error) {
			return fmt.Sprintf("stopped after %v", testTime)
		}
		return r.Error.Error()
	}
	var cases []string
	for name, sub := range r.SubResults.Iter {
		if sub.Fail && len(sub.SubResults) == 0 {
			cases = append(cases, strings.Join(name, ", "))
		}
	}
	if cases == nil {
		return ""
	}
	slices.Sort(cases)
	return "is not true for " + strings.Join(cases, "; ")
}

// load reads the policies, the shipped helpers and the files, and makes what they are compiled with. Compiling is the
// runner's business: it adds stages of its own.
func (s *Suite) load() (map[string]*ast.Module, *ast.Compiler, storage.Store, []spec.Problem) {
	l, data := s.gather()
	modules := l.testing()
	for _, path := range s.Files {
		l.testFile(modules, path)
	}
	for path, f := range l.files {
		modules[path] = f.module
	}
	set, more := schemas(s.Tools)
	l.problems = append(l.problems, more...)
	store, err := storeOf(data)
	if err != nil {
		l.problems = append(l.problems, spec.Problem{Text: err.Error()})
	}
	caps := Capabilities()
	for _, b := range ast.CapabilitiesForThisVersion().Builtins {
		if b.Name == ast.InternalTestCase.Name {
			caps.Builtins = append(caps.Builtins, b)
		}
	}
	compiler := ast.NewCompiler().SetErrorLimit(0).WithCapabilities(caps).WithEnablePrintStatements(true).
		WithSchemas(set).WithUseTypeCheckAnnotations(len(s.Tools) > 0) // without tools, modules may name schemas that are not there
	return modules, compiler, store, spec.SortProblems(l.problems)
}

// gather reads the policies, and returns their modules and the data that they and the tests see.
func (s *Suite) gather() (*loader, map[string]any) {
	l := &loader{files: map[string]*file{}, owner: map[string]*spec.Policy{}, packs: map[string]*pack{}, data: map[string]any{}}
	var list []*spec.Policy
	for _, p := range s.Policies {
		if p.Rego != nil {
			p.Own = false // an agent's own are tested beside the host's
			list = append(list, &p)
		}
	}
	l.policies(list)
	data := merge(s.Data, l.data)
	data["params"] = merge(asMap(data["params"]), paramsOf(list, s.Params))
	if len(s.Tools) > 0 || asMap(data["callgate"])["tools"] == nil {
		data["callgate"] = merge(asMap(data["callgate"]), map[string]any{"tools": toolData(s.Tools)})
	}
	return l, data
}

// Document returns the document data that the policies and the tests see, for other tools that run them.
func (s *Suite) Document() map[string]any {
	_, data := s.gather()
	return data
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// storeOf returns a store of plain data.
func storeOf(data map[string]any) (storage.Store, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	var plain map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&plain); err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	return inmem.NewFromObjectWithOpts(plain, inmem.OptReturnASTValuesOnRead(true), inmem.OptRoundTripOnWrite(false)), nil
}

// testing returns the shipped helpers, those for tests included.
func (l *loader) testing() map[string]*ast.Module {
	modules := map[string]*ast.Module{}
	names, err := fs.Glob(library.FS(), "*.rego")
	if err != nil {
		l.fail(spec.Position{File: LibraryPrefix}, "%v", err)
	}
	for _, name := range names {
		text, err := readModule(LibraryPrefix + name)
		if err == nil {
			modules[LibraryPrefix+name], err = ast.ParseModuleWithOpts(LibraryPrefix+name, text, parserOptions())
		}
		if err != nil {
			l.fail(spec.Position{File: LibraryPrefix + name}, "%v", err)
		}
	}
	return modules
}

// testFile adds a module that no policy names. The helpers of a folder that are shipped too are the shipped ones.
func (l *loader) testFile(modules map[string]*ast.Module, name string) {
	if l.files[name] != nil {
		return
	}
	text, err := readModule(name)
	if err != nil {
		l.fail(spec.Position{File: name}, "%v", err)
		return
	}
	m, err := ast.ParseModuleWithOpts(name, text, parserOptions())
	if err != nil {
		l.problems = append(l.problems, parseProblems(name, err)...)
		return
	}
	for shipped := range maps.Keys(modules) {
		if strings.TrimPrefix(shipped, LibraryPrefix) == filepath.Base(name) && modules[shipped].Package.Equal(m.Package) {
			return
		}
	}
	if !importsV2(m) {
		l.problems = append(l.problems, spec.Problem{Pos: position(m.Package.Location, name), Text: "package " + packageOf(m) + ": want import rego.v2", Hint: "add the line: import rego.v2"})
		return
	}
	modules[name] = m
}
