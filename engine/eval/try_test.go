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

// An error that passes finally, or is raised again, keeps its position and the calls that led to it.
func TestAnErrorThatGoesOnKeepsItsPlace(t *testing.T) {
	for name, program := range map[string]string{
		"finally":       "def g(x):\n    return 1 // x\ndef f(x):\n    try:\n        return g(x)\n    finally:\n        len([])\n\nf(0)\n",
		"raise":         "def g(x):\n    return 1 // x\ndef f(x):\n    try:\n        return g(x)\n    except ZeroDivisionError:\n        raise\n\nf(0)\n",
		"raise e":       "def g(x):\n    return 1 // x\ndef f(x):\n    try:\n        return g(x)\n    except ZeroDivisionError as e:\n        raise e\n\nf(0)\n",
		"another class": "def g(x):\n    return 1 // x\ndef f(x):\n    try:\n        return g(x)\n    except KeyError:\n        pass\n\nf(0)\n",
	} {
		t.Run(name, func(t *testing.T) {
			s, err := NewSession(Config{Host: &recorder{}})
			if err != nil {
				t.Fatal(err)
			}
			p, err := Compile("x.star", []byte(program), s.Env())
			if err != nil {
				t.Fatal(err)
			}
			o, err := s.Run(context.Background(), p, label.Bottom())
			if err != nil || o.Err == nil {
				t.Fatal(o.Status, err)
			}
			var lines []int
			for _, site := range append(o.Err.Stack, o.Err.Site) {
				lines = append(lines, site.Line)
			}
			if o.Err.Code != "division-by-zero" || len(lines) != 3 || lines[0] != 9 || lines[1] != 5 || lines[2] != 2 {
				t.Errorf("%s on lines %v, want division-by-zero on 9, 5 and 2", o.Err.Code, lines)
			}
		})
	}
}

// Functions with a try, and errors that are kept, are there after a session was restored.
func TestTriesOutliveASnapshot(t *testing.T) {
	host := &recorder{}
	s, err := NewSession(Config{Host: host})
	if err != nil {
		t.Fatal(err)
	}
	run := func(s *Session, program string) Outcome {
		t.Helper()
		p, err := Compile("x.star", []byte(program), s.Env())
		if err != nil {
			t.Fatal(err)
		}
		o, err := s.Run(context.Background(), p, label.Bottom())
		if err != nil || o.Err != nil {
			t.Fatal(o.Err, err)
		}
		return o
	}
	run(s, "def f(x):\n    try:\n        return 1 // x\n    except ZeroDivisionError as e:\n        return e\n    finally:\n        pass\nkept = [f(0), ValueError('x', [1])]\nk = KeyError\n")
	b, err := s.Snapshot(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Restore(Config{Host: host}, b)
	if err != nil {
		t.Fatal(err)
	}
	o := run(r, "print(f(1), type(f(0)), [repr(e) for e in kept][1], k is not None)\ntry: raise kept[1]\nexcept k: print('no')\nexcept ValueError as e: print(e.args[1])\n")
	got := o.Prints[0].Text + o.Prints[1].Text
	if want := "1 ZeroDivisionError ValueError(\"x\", [1]) True\n[1]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
