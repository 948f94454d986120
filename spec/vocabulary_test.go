package spec

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"callgate/engine/label"
)

// TestVocabulary holds the words that documents may use in step with the packages that give them a meaning. Those
// import this one, so their constants are read from the source.
func TestVocabulary(t *testing.T) {
	policies := constants(t, "../policies")
	for _, test := range []struct {
		prefix string
		words  []string
		extra  []string // constants that documents do not use
	}{
		{"Kind", callKinds, nil},
		{"Sink", sinkKinds, []string{"control"}},
		{"Oblige", obligations, nil},
	} {
		var want []string
		for name, value := range policies {
			if strings.HasPrefix(name, test.prefix) && !slices.Contains(test.extra, value) {
				want = append(want, value)
			}
		}
		if got := slices.Sorted(slices.Values(test.words)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("%s: documents know %v, package policies %v", test.prefix, got, want)
		}
	}
	for i, name := range trustLevels {
		if l, err := label.ParseTrust(name); err != nil || int(l) != i {
			t.Errorf("trust %q is %v, %v; want rank %d", name, l, err, i)
		}
	}
	// That the label pattern and label.Parse agree is what keeps a typo from being another label.
	for _, text := range []string{"user", "untrusted/public", "internal/{}", "system/{a,b}#pii#x.y", "user/{ana@corp.example}"} {
		l, err := label.Parse(text)
		if !patternLabel.MatchString(text) || err != nil {
			t.Errorf("label %q: pattern %v, parser %v", text, patternLabel.MatchString(text), err)
		}
		if again, err := label.Parse(l.String()); err != nil || !again.Equal(l) || !patternLabel.MatchString(l.String()) {
			t.Errorf("label %q: written as %q, which is not read back", text, l)
		}
	}
}

// constants returns the text constants of a package.
func constants(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no files: %v", dir, err)
	}
	out := map[string]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, id := range spec.Names {
				if i < len(spec.Values) {
					if lit, ok := spec.Values[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
						out[id.Name], _ = strconv.Unquote(lit.Value)
					}
				}
			}
			return true
		})
	}
	return out
}
