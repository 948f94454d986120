package eval

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"callgate/engine/label"
)

// TestModulesDoAsInPython runs each file of testdata/modules here and in CPython, and compares what they print: but for the quotes
// of texts, which are Starlark's here.
func TestModulesDoAsInPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 to compare with")
	}
	files, err := filepath.Glob("testdata/modules/*.py")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".py"), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, err := NewSession(Config{Host: &recorder{}})
			if err != nil {
				t.Fatal(err)
			}
			p, err := Compile(file, src, s.Env())
			if err != nil {
				t.Fatal(err)
			}
			out, err := s.Run(context.Background(), p, label.Bottom())
			if err != nil || out.Err != nil {
				t.Fatal(err, out.Err)
			}
			var text strings.Builder
			for _, p := range out.Prints {
				text.WriteString(p.Text)
			}
			answer, err := exec.Command(python, file).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, answer)
			}
			quotes := strings.NewReplacer(`"`, `'`)
			got := strings.Split(quotes.Replace(text.String()), "\n")
			want := strings.Split(quotes.Replace(string(answer)), "\n")
			if len(got) != len(want) || len(got) < 5 {
				t.Errorf("it prints %d lines, CPython %d", len(got), len(want))
			}
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Errorf("line %d: got\n%s\nCPython gives\n%s", i+1, got[i], want[i])
				}
			}
		})
	}
}
