package eval

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"
)

// recorder answers every call with None, and remembers it.
type recorder struct{ calls []Call }

func (h *recorder) Do(_ context.Context, calls []Call) []Result {
	h.calls = append(h.calls, calls...)
	out := make([]Result, len(calls))
	for i := range out {
		out[i].Value = value.NoneOf(label.Bottom())
	}
	return out
}

// checker is a session in which programs can name assert, whose functions report to a test.
type checker struct {
	t testing.TB
	s *Session
}

func newChecker(t testing.TB, limits Limits, inputs ...Input) *checker {
	t.Helper()
	s, err := NewSession(Config{Host: &recorder{}, Limits: limits, Inputs: inputs})
	if err != nil {
		t.Fatal(err)
	}
	k := &checker{t, s}
	funcs := map[string]val{}
	add := func(name, params string, run native) {
		d := &builtinDef{name: "assert." + name, run: run}
		for p := range strings.SplitSeq(params, ",") {
			d.params = append(d.params, p)
		}
		d.required = len(d.params)
		if name == "true" || name == "fail" {
			d.required = min(1, d.required)
		}
		funcs[name] = builtinVal(&builtin{name: name, recv: unboundVal, def: d}, label.BottomID)
	}
	add("eq", "x,y", func(t *thread, c *call) val {
		if l := label.BottomID; !t.equal(c.args[0], c.args[1], &l, 0) {
			k.report(t, "got %s, want %s", t.repr(c.args[0]), t.repr(c.args[1]))
		}
		return noneVal(t.pc)
	})
	add("ne", "x,y", func(t *thread, c *call) val {
		if l := label.BottomID; t.equal(c.args[0], c.args[1], &l, 0) {
			k.report(t, "got %s twice", t.repr(c.args[0]))
		}
		return noneVal(t.pc)
	})
	add("lt", "x,y", func(t *thread, c *call) val {
		l := label.BottomID
		if n, ok := t.order(c.args[0], c.args[1], &l, 0); !ok || n >= 0 {
			k.report(t, "%s is not less than %s", t.repr(c.args[0]), t.repr(c.args[1]))
		}
		return noneVal(t.pc)
	})
	add("true", "cond,msg", func(t *thread, c *call) val {
		if !t.truth(c.args[0]) {
			k.report(t, "%s is not true", t.repr(c.args[0]))
		}
		return noneVal(t.pc)
	})
	add("contains", "x,y", func(t *thread, c *call) val {
		if !t.truth(t.in(false, c.args[1], c.args[0], t.at)) {
			k.report(t, "%s does not contain %s", t.repr(c.args[0]), t.repr(c.args[1]))
		}
		return noneVal(t.pc)
	})
	add("fail", "msg", func(t *thread, c *call) val {
		k.report(t, "%s", t.str(c.args[0]))
		return noneVal(t.pc)
	})
	add("fails", "f,pattern", func(t *thread, c *call) val {
		at := t.at
		e := catch(t, func() { t.call(c.args[0]) })
		t.at = at
		switch pattern := c.args[1].str(); {
		case e == nil:
			k.report(t, "no error, want %q", pattern)
		case !regexp.MustCompile(pattern).MatchString(e.Text) && !regexp.MustCompile(pattern).MatchString(e.Error()):
			k.report(t, "got the error %q, want %q", e.Error(), pattern)
		}
		return noneVal(t.pc)
	})
	s.pre["assert"] = moduleVal(&module{"assert", funcs}, label.BottomID)
	return k
}

func (k *checker) report(t *thread, format string, args ...any) {
	at := t.fn.site(t.at)
	k.t.Errorf("%s:%d: %s", at.File, at.Line, fmt.Sprintf(format, args...))
}

// catch runs f and returns the error that a program could have caught.
func catch(t *thread, f func()) (err *Error) {
	m := t.markPoint()
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*Error)
			if !ok || e.final {
				panic(r)
			}
			t.unwind(m)
			err = e
		}
	}()
	f()
	return nil
}

// run runs a program to its end, whatever that is.
func (k *checker) run(file, src string) Outcome {
	k.t.Helper()
	p, err := Compile(file, []byte(src), k.s.Env())
	if err != nil {
		k.t.Fatalf("%v", err)
	}
	out, err := k.s.Run(context.Background(), p, label.Bottom())
	if err != nil {
		k.t.Fatal(err)
	}
	return out
}

// check runs each chunk of a file, which report what is wrong by themselves; a chunk that ends with an error is wrong.
func check(t *testing.T, file, src string) {
	t.Helper()
	line := 0
	for chunk := range strings.SplitSeq(src, "\n---\n") {
		padded := strings.Repeat("\n", line) + chunk
		line += strings.Count(chunk, "\n") + 2
		out := newChecker(t, Limits{Steps: 1e9, Memory: 512 << 20}).run(file, padded)
		if out.Err != nil {
			t.Errorf("%v %s", out.Err, out.Err.Detail)
		}
	}
}

// checkFile runs a file of testdata.
func checkFile(t *testing.T, name string) {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	check(t, name, string(src))
}
