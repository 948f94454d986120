package eval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"callgate/engine/label"
	"callgate/engine/syntax"
)

// collector is a test that keeps what is reported to it.
type collector struct {
	testing.TB
	reports []string
}

func (c *collector) Errorf(format string, args ...any) {
	c.reports = append(c.reports, fmt.Sprintf(format, args...))
}

// stockDir returns the folder of go.starlark.net in the module cache.
func stockDir(t testing.TB) string {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "go.starlark.net").Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		t.Skipf("go.starlark.net is not in the module cache: %v", err)
	}
	return dir
}

// chunk is a program of go.starlark.net's tests: a piece of a file between lines "---", after as many empty
// lines as are before it. A comment ### "regexp" says that there is an error on that line.
type chunk struct {
	file string
	line int
	src  string
}

// chunks returns the chunks of all files of a folder.
func chunks(t testing.TB, dir, folder string) []chunk {
	files, err := filepath.Glob(filepath.Join(dir, folder, "testdata", "*.star"))
	if err != nil {
		t.Fatal(err)
	}
	var out []chunk
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		line := 1
		for src := range strings.SplitSeq(string(data), "\n---\n") {
			out = append(out, chunk{filepath.Base(file), line, strings.Repeat("\n", line-1) + src})
			line += strings.Count(src, "\n") + 2
		}
	}
	return out
}

var wanted = regexp.MustCompile(`(?m)### *(".*"|` + "`.*`" + `)$`)

// errors returns the errors that the chunk says are in it, by line.
func (c chunk) errors(t testing.TB) map[int]*regexp.Regexp {
	out := map[int]*regexp.Regexp{}
	for i, line := range strings.Split(c.src, "\n") {
		if m := wanted.FindStringSubmatch(line); m != nil {
			pattern, err := strconv.Unquote(m[1])
			if err != nil {
				t.Fatalf("%s:%d: %v", c.file, i+1, err)
			}
			out[i+1] = regexp.MustCompile(pattern)
		}
	}
	return out
}

// A load statement of the tests, and the names in it.
var (
	loads  = regexp.MustCompile(`(?m)^load\(["']\w+\.star["'](, *["']\w+["'])+\)`)
	loaded = regexp.MustCompile(`["'](\w+)["']`)
)

// difference is a place in go.starlark.net's tests where this language is another on purpose: lines of a
// file that are left out. The rule is that of spec/language.md which gives the reason.
type difference struct {
	rule  string
	file  string
	lines string // a regular expression; what it matches is left out
}

var differences = []difference{
	{"diff.load", "math.star", `(?s).+`},
	{"diff.load", "time.star", `(?s).+`},
	{"diff.load", "proto.star", `(?s).+`},
	{"diff.load", "misc.star", `(?m)^load\(.*###.*$`},
	{"diff.load", "assign.star", `(?m)^_ = assert ###.*$`},
	{"diff.freeze", "*.star", `(?m)^.*frozen (list|hash).*$`},
	{"diff.fields", "assign.star", `(?m)^.*\b(hf|setX|setY)\b.*$`},
	{"diff.fields", "builtins.star", `(?m)^.*\b(hf|setfield)\b.*$`},
	{"diff.fields", "function.star", `(?m)^.*\bhf\b.*$`},
	{"diff.fields", "list.star", `(?m)^(    x \+= hasfields|assert.eq\(f7).*$`},
	{"diff.dialect", "function.star", `(?m)^assert.fails\([^\n]*\n?[^\n]*called recursively.*$`},
	{"diff.depth", "recursion.star", `(?m)^.*stack overflow.*$`},
	{"diff.memory", "*.star", `(?m)^.*(repeat count|excessive repeat).*$`},
	{"diff.shift", "int.star", `(?m)^.*shift count too large.*$`},
	{"diff.identity", "misc.star", `(?m)^.*(cyclic < cyclic|cyclic == cyclic|cyclic5 == cyclic5).*$`},
	{"diff.named", "misc.star", `(?m)^.*unexpected keyword arguments.*$`},
	{"diff.empty", "int.star", `(?m)^.*missing argument.*$`},
	{"diff.bool", "bool.star", `(?m)^.*got int, want bool.*$`},
	{"diff.more", "json.star", `(?m)^.*dir\(json\).*$`},
	{"diff.more", "builtins.star", `(?m)^.*dir\((myset|{}|\[\])\).*$`},
	{"diff.load", "resolve.star", `(?m)^load\("module", "x"\).*$`},
	{"diff.dialect", "resolve.star", `###.*(cannot reassign (global|local)|(loop|if statement) not within|does not support while).*`},
	{"diff.dialect", "resolve.star", `(?m)^_ = x( # .*)?$`},
	{"diff.arguments", "resolve.star", `(?m)^f\((\*\*{}, (x=1|\*\*{})|\*\[\], (1|a=1|\*\[\]))\) ###.*$`},
	{"diff.floats", "float.star", `(?m)^assert\.eq\(\n[^\n]*\n[^\n]*\+inf.*$|^.*\+inf.*$`},
	{"diff.strings", "string.star", `(?m)^assert.fails.*"(must be iterable, not string|got string, want iterable|not iterable .*string|string value is not iterable|not iterable: string)".*$`},
	{"diff.module", "module.star", `(?m)^.*module has no.*$`},
}

// of reports whether the difference is in the file of a chunk.
func (d difference) of(c chunk) bool {
	ok, _ := filepath.Match(d.file, c.file)
	return ok
}

// without returns the chunk without what the differences match.
func (c chunk) without(list []difference) chunk {
	for _, d := range list {
		if d.of(c) {
			c.src = regexp.MustCompile(d.lines).ReplaceAllStringFunc(c.src, func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) })
		}
	}
	return c
}

// play runs a chunk and returns what is wrong with it.
func (c chunk) play(t testing.TB) []string {
	got := &collector{TB: t}
	k := newChecker(got, Limits{Steps: 1e9, Memory: 512 << 20})
	k.s.pre["freeze"] = builtinVal(&builtin{name: "freeze", recv: unboundVal, def: &builtinDef{
		name: "freeze", params: []string{"x"}, required: 1, run: func(t *thread, c *call) val { return c.args[0] },
	}}, label.BottomID)
	fib := []val{intVal(0, label.BottomID), intVal(1, label.BottomID)} // theirs does not end
	for i := 2; i < 90; i++ {
		fib = append(fib, intVal(fib[i-2].n+fib[i-1].n, label.BottomID))
	}
	k.s.pre["fibonacci"] = tupleVal(fib, label.BottomID)
	want := c.errors(t)
	report := func(line int, text string) {
		if rx := want[line]; rx == nil || !rx.MatchString(text) {
			got.Errorf("%s:%d: got the error %q, want %v", c.file, line, text, rx)
		}
		delete(want, line)
	}
	env := k.s.Env()
	src := loads.ReplaceAllStringFunc(c.src, func(load string) string {
		for _, name := range loaded.FindAllStringSubmatch(load, -1) {
			if _, ok := universe[name[1]]; !ok && !env.Predeclared(name[1]) {
				return load
			}
		}
		return "pass" // what it loads is there
	})
	p, err := Compile(c.file, []byte(src), env)
	if err != nil {
		return append(got.reports, err.Error())
	}
	out, err := k.s.Run(context.Background(), p, label.Bottom())
	if err != nil {
		t.Fatal(err)
	}
	if out.Err != nil {
		report(out.Err.Site.Line, out.Err.Text)
	}
	for line, rx := range want {
		got.Errorf("%s:%d: no error, want %q", c.file, line, rx)
	}
	slices.Sort(got.reports)
	return got.reports
}

// compile compiles a chunk of the resolver's tests and returns what is wrong with it.
func (c chunk) compile(t testing.TB) []string {
	got := &collector{TB: t}
	want := c.errors(t)
	known := func(name string) bool { return name == "M" || name == "U" }
	_, err := Compile(c.file, []byte(c.src), Env{Predeclared: known})
	var list syntax.Errors
	if err != nil && !errors.As(err, &list) {
		t.Fatal(err)
	}
	for _, e := range list {
		if rx := want[e.Line]; rx == nil || !rx.MatchString(e.Message) {
			got.Errorf("%s:%d: got the error %q, want %v", c.file, e.Line, e.Message, rx)
		}
		delete(want, e.Line)
	}
	for line, rx := range want {
		got.Errorf("%s:%d: no error, want %q", c.file, line, rx)
	}
	slices.Sort(got.reports)
	return got.reports
}

// suites are the tests of go.starlark.net: of a folder, played in a way.
var suites = map[string]func(chunk, testing.TB) []string{"starlark": chunk.play, "resolve": chunk.compile}

func TestStarlarksOwnTests(t *testing.T) {
	dir := stockDir(t)
	for folder, play := range suites {
		played := 0
		for _, c := range chunks(t, dir, folder) {
			played++
			for _, r := range play(c.without(differences), t) {
				t.Error(r)
			}
		}
		if played < 40 {
			t.Errorf("%s has %d chunks, want more", folder, played)
		}
	}
}

func TestEveryDifferenceIsThere(t *testing.T) {
	dir := stockDir(t)
	for i, d := range differences {
		others := slices.Delete(slices.Clone(differences), i, i+1)
		needed := false
		for folder, play := range suites {
			for _, c := range chunks(t, dir, folder) {
				needed = needed || d.of(c) && len(play(c.without(others), t)) > 0
			}
		}
		if !needed {
			t.Errorf("%s: %s passes without leaving out %s: the difference is no more", d.rule, d.file, d.lines)
		}
	}
}
