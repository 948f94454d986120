package spec

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// theHouse says who may import whom. A package that is not here is not part of the house: give it
// a room first. Tests may import every room; the doors hold for them too.
var theHouse = house{
	module: "callgate",
	rooms: []room{
		// Bottom up: each room may import those named, which stand above it.
		{pkg: "engine/label"},
		{pkg: "engine/secret"},
		{pkg: "engine/value", may: "engine/label"},
		{pkg: "engine/syntax", doors: "go.starlark.net"},
		{pkg: "engine/eval", may: "engine/label engine/value engine/syntax", doors: "go.starlark.net unsafe"},

		{pkg: "spec", may: "engine/label", doors: "gopkg.in/yaml.v3"},

		{pkg: "policies", may: "engine/label engine/value spec"},
		{pkg: "policies/library", may: "policies spec", testDoors: "github.com/open-policy-agent/opa"},
		{pkg: "policies/rego", may: "engine/label engine/value policies policies/library spec", doors: "github.com/open-policy-agent/opa"},
		{pkg: "policies/cel", may: "engine/label engine/value policies spec", doors: "github.com/google/cel-go cel.dev/expr google.golang.org/protobuf"},
		{pkg: "policies/root", may: "engine/label engine/value policies policies/cel policies/library policies/rego spec"},
		{pkg: "policies/internal/...", may: "engine/label engine/value policies spec"},

		{pkg: "builtins", may: "engine/label engine/value", doors: "github.com/santhosh-tekuri/jsonschema golang.org/x/net"},
		{pkg: "builtins/std", may: "builtins engine/confine engine/label engine/secret engine/value spec", doors: "modernc.org/sqlite golang.org/x/net golang.org/x/text net net/http syscall"},
		{pkg: "builtins/mcp", may: "builtins engine/label engine/value", doors: "github.com/modelcontextprotocol/go-sdk net/http os/exec"},
		{pkg: "builtins/script", may: "builtins engine/eval engine/label engine/syntax engine/value", doors: "go.starlark.net"},

		{pkg: "engine/journal", may: "engine/label engine/value policies", doors: "filippo.io/age modernc.org/sqlite syscall", testDoors: "modernc.org/libc unsafe"},
		{pkg: "engine/confine", doors: "golang.org/x/sys os/exec syscall unsafe"},
		{pkg: "engine/worker", may: "engine/confine engine/eval engine/label engine/syntax engine/value", doors: "golang.org/x/sys net os/exec syscall"},
		{pkg: "engine/worker/early", may: "engine/worker"},
		{pkg: "engine/gate", may: "builtins engine/eval engine/journal engine/label engine/value policies"},
		{pkg: "engine/desk", may: "engine/gate engine/journal engine/label engine/value policies"},
		{pkg: "engine", may: "builtins engine/confine engine/eval engine/gate engine/journal engine/label engine/syntax engine/value engine/worker policies"},

		{pkg: "agents/model", may: "engine/secret", doors: "github.com/sashabaranov/go-openai github.com/zalando/go-keyring net net/http"},
		{pkg: "agents/model/modeltest", may: "agents/model", doors: "net/http"},
		// An agent is built from its files, so this room knows every tool and every engine.
		{pkg: "agents", may: "agents/model builtins builtins/mcp builtins/script builtins/std engine engine/eval engine/gate engine/journal engine/label engine/syntax engine/value policies policies/cel policies/library policies/rego policies/root spec"},

		{pkg: "cmd/...", may: "*", doors: "charm.land/huh charm.land/lipgloss github.com/mattn/go-isatty github.com/modelcontextprotocol/go-sdk github.com/spf13/cobra golang.org/x/sys golang.org/x/term golang.org/x/text net net/http os/exec syscall"},
		{pkg: "examples/...", may: "*"},
	},
	// Of the standard library, what needs a door. The rest needs none.
	guarded: "C net net/http os/exec plugin syscall unsafe",
	// What every room may use, and what every test may use.
	everywhere: "github.com/agnivade/levenshtein",
	tests:      "modernc.org/sqlite github.com/google/go-cmp github.com/rogpeppe/go-internal github.com/santhosh-tekuri/jsonschema net net/http os/exec syscall",
	// What must not be reached from a package, through others either.
	closed: map[string]string{
		"engine/eval":         "github.com/open-policy-agent/opa github.com/google/cel-go gopkg.in/yaml.v3 modernc.org/sqlite database/sql net net/http os os/exec syscall",
		"cmd/callgate-worker": "github.com/open-policy-agent/opa github.com/google/cel-go gopkg.in/yaml.v3 modernc.org/sqlite database/sql net/http",
	},
}

// TestHouse holds the whole module to the table, and to the rules of text.
func TestHouse(t *testing.T) {
	files := readModule(t, "..")
	if len(files) < 50 {
		t.Fatalf("read %d files: is this the module?", len(files))
	}
	for _, v := range theHouse.check(files) {
		t.Error(v)
	}
}

// readModule returns the text files of the module by their slash-separated paths. The tools' module, test
// data and what begins with a dot are no part of it.
func readModule(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || name == "tools" || name == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if slices.Contains([]string{".go", ".md", ".rego", ".star", ".yaml", ".yml", ".json", ".csv", ".sql"}, filepath.Ext(name)) {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			files[filepath.ToSlash(name)] = string(text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
