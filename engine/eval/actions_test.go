package eval

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/engine/label"
)

// The actions are what models write, in Python, in the mix that real ones have: written first, then run. These cannot be served by a
// language without files, network, clock and chance, and each is told so.
var outside = map[string]string{
	"backoff_delays.py": "got an import of time",
	"http_get.py":       "got an import of requests",
	"os_listing.py":     "got an import of os",
	"random_sample.py":  "got an import of random",
	"write_file.py":     "got a with statement",
}

// notServed are those that could be served and are not, with what is said of them, or "" if they print something else than in Python.
var notServed = map[string]string{
	"class_with_methods.py":     "got a class with methods", // objects that change
	"class_repr.py":             "got a class with methods",
	"dataclass_inventory.py":    "got a default that is made",
	"raise_and_catch_custom.py": "got a class that extends another", // errors are of the classes that there are
	"enum_states.py":            "got an import of enum",
	"generator_function.py":     "got keyword 'yield'", // made at once, its effects would come in another order
	"decimal_money.py":          "got an import of decimal",
	"url_parts.py":              "got an import of urllib.parse",
	"month_ends.py":             "got an import of calendar",
	"diff_lists.py":             "unknown binary op: list & list", // the keys of a dict are a list
	"unicode_names.py":          "",                               // a string has the length of its bytes
}

// wantServed is the least share of those that can be served.
const wantServed = 0.92

// TestActions compares what they print with what CPython prints, where there is one, quotes aside.
func TestActions(t *testing.T) {
	files, err := filepath.Glob("testdata/actions/*.py")
	if err != nil || len(files) < 150 {
		t.Fatalf("%d actions, want 150: %v", len(files), err)
	}
	python := pythonPrints(t, files)
	quotes := strings.NewReplacer(`"`, `'`)
	served := 0
	for i, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			got, problem := runAction(t, file)
			says, listed := notServed[name]
			if out, ok := outside[name]; ok {
				says, listed = out, true
			}
			same := python == nil || quotes.Replace(got) == quotes.Replace(python[i])
			if problem == "" && same && got != "" {
				served++
			}
			switch {
			case listed && says == "":
				if problem != "" || python != nil && same {
					t.Errorf("it is listed as printing something else: %q", problem)
				}
			case listed && !strings.Contains(problem, says):
				t.Errorf("got %q, want it to say %q; what is served is not listed", problem, says)
			case listed:
			case problem != "":
				t.Error(problem)
			case got == "":
				t.Error("it prints nothing")
			case !same:
				t.Errorf("got\n%s\nCPython gives\n%s", got, python[i])
			}
		})
	}
	possible := len(files) - len(outside)
	t.Logf("%d of %d actions run as they are, of those that can be served %d of %d: %.1f %%", served, len(files), served, possible, 100*float64(served)/float64(possible))
	if float64(served) < wantServed*float64(possible) {
		t.Errorf("that is too few, want %.0f %%", 100*wantServed)
	}
	for _, list := range []map[string]string{outside, notServed} {
		for name := range list {
			if !slices.Contains(files, filepath.Join("testdata/actions", name)) {
				t.Errorf("%s is listed, and there is no such action", name)
			}
		}
	}
}

// runAction returns what an action prints, and the error that it ends in.
func runAction(t *testing.T, file string) (printed, problem string) {
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
		return "", err.Error()
	}
	out, err := s.Run(context.Background(), p, label.Bottom())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range out.Prints {
		printed += p.Text
	}
	if out.Err != nil {
		problem = out.Err.Error()
	}
	return printed, problem
}

// pythonPrints returns what the files print in Python, in one process for all of them; nil if there is no Python. Those that reach outside are not run.
func pythonPrints(t *testing.T, files []string) []string {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Log("there is no python3: what the actions print is not compared")
		return nil
	}
	args := []string{"-c", `
import contextlib, io, json, sys
prints = []
for file in sys.argv[1:]:
    out = io.StringIO()
    if file:
        with contextlib.redirect_stdout(out):
            exec(compile(open(file).read(), file, "exec"), {"__name__": "__main__"})
    prints.append(out.getvalue())
json.dump(prints, sys.stdout)
`}
	for _, file := range files {
		if outside[filepath.Base(file)] != "" {
			file = ""
		}
		args = append(args, file)
	}
	cmd := exec.Command(python, args...)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var prints []string
	if err := json.Unmarshal(text, &prints); err != nil {
		t.Fatal(err)
	}
	return prints
}
