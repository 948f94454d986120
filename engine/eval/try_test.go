package eval

import (
	"context"
	"os"
	"strings"
	"testing"

	"callgate/engine/label"
)

// The cases of testdata/try.txt are programs of Python 3 too, and their output, with the class of the error that ends them, is what
// Python 3 prints for them.
func TestTryDoesWhatPythonDoes(t *testing.T) {
	text, err := os.ReadFile("testdata/try.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := strings.Split("\n"+string(text), "\n== ")[1:]
	for _, c := range cases {
		name, rest, _ := strings.Cut(c, "\n")
		program, want, ok := strings.Cut(rest+"\n", "\n--\n")
		if !ok {
			t.Fatalf("%s: no output", name)
		}
		t.Run(name, func(t *testing.T) {
			got := outputOf(t, program+"\n")
			if want := strings.TrimRight(strings.ReplaceAll(want, "'", `"`), "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// outputOf runs a program and returns what it prints, and the class of the error that ends it.
func outputOf(t *testing.T, program string) string {
	t.Helper()
	s, err := NewSession(Config{Host: &recorder{}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile("x.star", []byte(program), s.Env())
	if err != nil {
		t.Fatal(err)
	}
	o, err := s.Run(context.Background(), p, label.Bottom())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, p := range o.Prints {
		b.WriteString(p.Text)
	}
	if o.Err != nil {
		b.WriteString("ends: " + o.Err.className())
		if o.Status == Crashed {
			t.Fatal(o.Err.Detail)
		}
	}
	return strings.TrimRight(strings.ReplaceAll(b.String(), "'", `"`), "\n")
}
