package rego

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"callgate/policies"
	"callgate/policies/internal/sample"
	"callgate/policies/library"
	"callgate/spec"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/format"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"
)

var update = flag.Bool("update", false, "write the generated files of the library")

const libraryDir = "../library"

// sampleTools are the sample tools by name.
func sampleTools() []policies.ToolSchema {
	var out []policies.ToolSchema
	for _, name := range slices.Sorted(maps.Keys(sample.Tools)) {
		out = append(out, sample.Tools[name])
	}
	return out
}

// libraryPolicies are all shipped policies, with some of their parameters set.
func libraryPolicies(t testing.TB) Config {
	t.Helper()
	host := spec.Host{Library: library.Names(), Params: map[string]any{
		"mail":     map[string]any{"address_book": []any{"bob@corp.example"}, "domains": []any{".corp.example"}, "max_recipients": 1},
		"egress":   map[string]any{"hosts": []any{"api.hr.example"}, "tools": []any{"shell.run"}},
		"files":    map[string]any{"write": []any{"."}, "delete": "ask", "accept_names": true},
		"payments": map[string]any{"accounts_from": []any{"vendors.csv"}, "limit": 5000, "max": 15000},
		"shell":    map[string]any{"commands": []any{"wc"}},
		"rate":     map[string]any{"per_run": map[string]any{"mail.send": 5}, "spending_tools": []any{"bank.transfer"}},
		"base":     map[string]any{"endorse": "bounded", "refused_builtins": []any{"sorted"}},
	}}
	list, problems := library.Policies(host)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return Config{Policies: list, Params: host.Params, Tools: sampleTools()}
}

func TestLibraryFires(t *testing.T) {
	e := newEngine(t, libraryPolicies(t))
	source := sample.NewSource(41)
	fired := map[string]int{}
	for range 300 {
		r := source.Request()
		got, want := findings(t, e, r), plainFindings(t, e, r)
		for _, reason := range want.Reasons {
			fired[reason.ID]++
		}
		if !reflect.DeepEqual(got.Reasons, want.Reasons) || !reflect.DeepEqual(got.Obligations, want.Obligations) {
			t.Fatalf("%s: got  %+v\nwant %+v", r.Call.Tool, got, want)
		}
	}
	for id, n := range fired {
		if strings.HasSuffix(id, ".error") || strings.HasSuffix(id, ".shape") {
			t.Errorf("%s fired %d times: a policy fails on some requests", id, n)
		}
	}
	if len(fired) < 25 {
		t.Errorf("only %d rules fired: %v", len(fired), fired)
	}
}

// runTests runs the _test.rego files among the paths as `opa test` would, but with strict builtin errors.
func runTests(t *testing.T, data string, paths ...string) {
	t.Helper()
	modules := map[string]*ast.Module{}
	for _, pattern := range paths {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			m, err := ast.ParseModuleWithOpts(name, string(b), parserOptions())
			if err != nil {
				t.Fatal(err)
			}
			modules[name] = m
		}
	}
	b, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := json.Unmarshal(b, &content); err != nil {
		t.Fatal(err)
	}
	store := inmem.NewFromObject(content)
	txn, err := store.NewTransaction(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Abort(t.Context(), txn)
	caps := Capabilities()
	for _, b := range ast.CapabilitiesForThisVersion().Builtins {
		if b.Name == "internal.test_case" {
			caps.Builtins = append(caps.Builtins, b)
		}
	}
	results, err := tester.NewRunner().SetCompiler(ast.NewCompiler().WithCapabilities(caps)).SetModules(modules).SetStore(store).
		RaiseBuiltinErrors(true).RunTests(t.Context(), txn)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for r := range results {
		n++
		if !r.Pass() {
			t.Errorf("%s: %s.%s: %v %s", r.Location, r.Package, r.Name, r.Error, r.Output)
		}
	}
	if n < 60 {
		t.Errorf("%d tests ran", n)
	}
}

func TestLibraryTests(t *testing.T) {
	runTests(t, libraryDir+"/testdata/data.json", libraryDir+"/*.rego", libraryDir+"/*/*.rego")
}

func TestSituations(t *testing.T) {
	runTests(t, situations+"/data.json", libraryDir+"/*.rego", situations+"/*.rego")
}

// TestGeneratedFiles holds the files that stock opa needs to what the engine does.
func TestGeneratedFiles(t *testing.T) {
	params := map[string]any{}
	list, problems := library.Policies(spec.Host{Library: library.Names()})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, p := range list {
		params[p.Meta.Name] = p.Params
	}
	for path, content := range map[string]any{
		"capabilities.json":  Capabilities(),
		"testdata/data.json": map[string]any{"params": params, "callgate": map[string]any{"tools": toolData(sampleTools())}},
	} {
		want, err := json.MarshalIndent(content, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, '\n')
		if *update {
			if err := os.WriteFile(filepath.Join(libraryDir, path), want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(filepath.Join(libraryDir, path))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is out of date: run go test ./policies/rego -run TestGeneratedFiles -update", path)
		}
	}
}

func TestCapabilities(t *testing.T) {
	have := map[string]bool{}
	for _, b := range Capabilities().Builtins {
		have[b.Name] = true
	}
	for _, name := range []string{
		"http.send", "net.lookup_ip_addr", "time.now_ns", "opa.runtime", "rand.intn", "uuid.rfc4122", "io.jwt.decode_verify", "bits.lsh", "rego.parse_module",
	} {
		if have[name] {
			t.Errorf("%s: want it left out", name)
		}
		if whyRemoved(name) == "" {
			t.Errorf("%s: want to say why", name)
		}
	}
	for _, name := range []string{"net.cidr_contains", "time.parse_rfc3339_ns", "regex.match", "sprintf", "walk"} {
		if !have[name] {
			t.Errorf("%s: want it", name)
		}
	}
	if whyRemoved("no.such") != "" {
		t.Error("a function that never was has no reason")
	}
}

func TestModulesAreFormatted(t *testing.T) {
	for _, pattern := range []string{libraryDir + "/*.rego", libraryDir + "/*/*.rego", situations + "/*.rego"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(names, err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want, err := format.SourceWithOpts(name, b, format.Opts{ParserOptions: &ast.ParserOptions{RegoVersion: ast.RegoV1}})
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b, want) {
				t.Errorf("%s: want it as opa fmt has it", name)
			}
		}
	}
}
