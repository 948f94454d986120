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

// TestActions runs what models write, in Python, as it is, and compares its output with CPython's where there is one.
func TestActions(t *testing.T) {
	files, err := filepath.Glob("testdata/actions/*.py")
	if err != nil || len(files) == 0 {
		t.Fatalf("no actions: %v", err)
	}
	python, _ := exec.LookPath("python3")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
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
			var got strings.Builder
			for _, p := range out.Prints {
				got.WriteString(p.Text)
			}
			if got.Len() == 0 {
				t.Error("it prints nothing")
			}
			if python == "" {
				return
			}
			want, err := exec.Command(python, file).Output()
			if err != nil {
				t.Fatal(err)
			}
			quotes := strings.NewReplacer(`"`, `'`)
			if quotes.Replace(got.String()) != quotes.Replace(string(want)) {
				t.Errorf("got\n%s\nCPython gives\n%s", got.String(), want)
			}
		})
	}
}
