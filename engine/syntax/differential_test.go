package syntax

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.starlark.net/resolve"
)

// stricter are the errors that this parser gives for programs that go.starlark.net accepts. The list
// is the one of spec/language.md.
var stricter = regexp.MustCompile(`got a NUL byte|not UTF-8|tabs mixed with spaces|nested too deep|want an int of at most 64 KiB|more than \d+ tokens|source of \d+ bytes`)

// looser are the errors of go.starlark.net for programs that this parser accepts.
var looser = regexp.MustCompile(`excessive nesting|invalid int literal`)

// bigBase is the literal behind the second of looser: go.starlark.net has octal
// and binary literals of 63 bits only.
var bigBase = regexp.MustCompile(`0[oO][0-7]{21}|0[bB][01]{63}`)

// compare checks the parser against that of go.starlark.net on one text.
func compare(src []byte) error {
	want, stockErr := options().Parse("x.star", src, 0)
	got, extended, err := parse("x.star", src, Limits{})
	switch {
	case extended:
		return nil // whatever go.starlark.net says: it has no such thing
	case err != nil:
		errs, ok := err.(Errors)
		if !ok || len(errs) == 0 {
			return fmt.Errorf("error is %#v, want Errors that are not empty", err)
		}
		if got != nil {
			return fmt.Errorf("got a tree beside the error %v", err)
		}
		for i, e := range errs {
			if e.Line < 1 || e.Column < 1 || e.Message == "" || strings.Contains(e.Message, "internal error") || strings.ContainsAny(e.Message+e.Hint, "\n\r") {
				return fmt.Errorf("malformed error %+v", e)
			}
			if i > 0 && (e.Line < errs[i-1].Line || e.Line == errs[i-1].Line && e.Column < errs[i-1].Column) {
				return fmt.Errorf("errors out of order: %v", err)
			}
		}
		if stockErr == nil && !stricter.MatchString(err.Error()) {
			return fmt.Errorf("got error, go.starlark.net accepts:\n%v", err)
		}
		return nil
	case stockErr != nil:
		if looser.MatchString(stockErr.Error()) && (strings.Contains(stockErr.Error(), "nesting") || bigBase.Match(src)) {
			return nil
		}
		return fmt.Errorf("accepted, go.starlark.net refuses: %v", stockErr)
	}
	if !reflect.DeepEqual(got, want) {
		all := cmp.Exporter(func(reflect.Type) bool { return true })
		return fmt.Errorf("trees differ (-go.starlark.net +ours):\n%s", cmp.Diff(want, got, all))
	}
	return nil
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

// stockChunks returns the programs of go.starlark.net's tests.
func stockChunks(t testing.TB) map[string][]byte {
	dir := stockDir(t)
	chunks := make(map[string][]byte)
	for _, sub := range []string{"starlark/testdata", "syntax/testdata", "resolve/testdata"} {
		files, err := filepath.Glob(filepath.Join(dir, sub, "*.star"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no programs in %s: %v", sub, err)
		}
		for _, f := range files {
			src, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			line := 1
			for chunk := range bytes.SplitSeq(src, []byte("\n---\n")) {
				chunks[fmt.Sprintf("%s/%s:%d", sub, filepath.Base(f), line)] = chunk
				line += bytes.Count(chunk, []byte("\n")) + 2
			}
		}
	}
	return chunks
}

func TestEveryProgramOfStarlarkGivesTheSameTree(t *testing.T) {
	for name, chunk := range stockChunks(t) {
		for _, variant := range []struct {
			name string
			src  []byte
		}{
			{"as it is", chunk},
			{"with CRLF", bytes.ReplaceAll(chunk, []byte("\n"), []byte("\r\n"))},
			{"with CR", bytes.ReplaceAll(chunk, []byte("\n"), []byte("\r"))},
			{"without the last line end", bytes.TrimRight(chunk, "\n")},
		} {
			if err := compare(variant.src); err != nil {
				t.Errorf("%s, %s: %v", name, variant.name, err)
			}
		}
	}
}

var rounds = flag.Int("rounds", 20_000, "how many random programs are compared with go.starlark.net")

func TestRandomProgramsGiveTheSameTree(t *testing.T) {
	chunks := [][]byte{[]byte(sample)}
	for _, chunk := range stockChunks(t) {
		if len(chunk) < 4000 {
			chunks = append(chunks, chunk)
		}
	}
	for seed := range *rounds / scale {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		var src []byte
		switch r.IntN(3) {
		case 0:
			src = soup(r)
		default:
			src = mutate(r, chunks[r.IntN(len(chunks))])
		}
		if err := compare(src); err != nil {
			t.Fatalf("seed %d:\n%s\n%v", seed, src, err)
		}
	}
}

// lexemes are what random programs are made of.
var lexemes = strings.Split("x y f None 0 1 0x1f 0o17 0b11 1.5 .5 1e3 1. 00 09 1_0 2j 'a' \"b\" r'c' b'd' rb\"e\" '''f''' \"\"\"g\nh\"\"\" f'{x}' u'i' '\\n' '\\d' '\\x41' b'\\xff' "+
	"+ - * / // % & | ^ << >> ~ . , = ; : ( ) [ ] { } < > >= <= == != += -= *= /= //= %= &= |= ^= <<= >>= ** **= := -> @ ... ! && || <> ? $ "+
	"and break continue def elif else for if in lambda load not or pass return while as async await class del except finally from global import is nonlocal raise try with yield print match case "+
	"not\tin is\tnot \\\n \\ \r \r\n # #c é – “ \ufeff \x00 \xff", " ")

// phrases make it likelier that a random program is a program.
var phrases = []string{
	"x = 1", "if x:", "for x in y:", "while x:", "def f(a, b=1, *c, **d):", "else:", "elif y:", "pass", "return x", "f(x, y=1, *z, **w)",
	"[x for x in y if x]", "{x: y for x, y in z}", "lambda a, *, b: a", "x if y else z", "x[1:2]", "x[:]", "x[::y]", "x.y.z()", "(x, y)", "(x,)", "()",
	"not x in y", "x not in y", "- x", "a, b = c", "load('m', 'a', b='c')", "x += 1", "[]", "{}", "{1: 2}", "x < y", "x and y or z", "class C:", "try:", "except E as e:", "import m",
	"with a as b:", "a < b < c", "x ** y", "(x for x in y)", "raise E('x')", "x: int = 1",
}

func soup(r *rand.Rand) []byte {
	var b bytes.Buffer
	indent := 0
	for range 1 + r.IntN(6) {
		b.WriteString(strings.Repeat([]string{" ", "  ", "\t"}[r.IntN(30)/14], indent))
		for range 1 + r.IntN(4) {
			if r.IntN(3) > 0 {
				b.WriteString(phrases[r.IntN(len(phrases))])
			} else {
				b.WriteString(lexemes[r.IntN(len(lexemes))])
			}
			b.WriteString([]string{" ", "", " ", "\t"}[r.IntN(4)])
		}
		if r.IntN(8) > 0 {
			b.WriteByte('\n')
		}
		indent = max(0, indent+r.IntN(3)-1)
	}
	return b.Bytes()
}

// pieces splits a program into words, spaces and signs.
var pieces = regexp.MustCompile(`\w+|[ \t]+|\n[ \t]*|.`)

func mutate(r *rand.Rand, src []byte) []byte {
	parts := pieces.FindAll(src, -1)
	if len(parts) == 0 {
		return src
	}
	if n := 200; len(parts) > n { // a few lines, for speed
		from := r.IntN(len(parts) - n)
		parts = parts[from : from+n]
	}
	parts = append([][]byte(nil), parts...)
	for range 1 + r.IntN(3) {
		i, j := r.IntN(len(parts)), r.IntN(len(parts))
		switch r.IntN(5) {
		case 0:
			parts[i] = nil
		case 1:
			parts[i], parts[j] = parts[j], parts[i]
		case 2:
			parts[i] = bytes.Repeat(parts[i], 2)
		case 3:
			parts[i] = []byte(lexemes[r.IntN(len(lexemes))])
		case 4:
			parts[i] = []byte(" " + phrases[r.IntN(len(phrases))] + "\n")
		}
	}
	return bytes.Join(parts, nil)
}

func FuzzParse(f *testing.F) {
	for _, s := range lexemes {
		f.Add([]byte("x = " + s + "\n"))
	}
	for _, s := range phrases {
		f.Add([]byte(s + "\n  pass\nelse:\n\tpass"))
	}
	f.Add([]byte(sample))
	corpus, err := os.ReadFile("testdata/corpus.txt") // what hours of it have found to be worth a look
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(corpus)) {
		src, err := strconv.Unquote(strings.TrimSuffix(line, "\n"))
		if err != nil {
			f.Fatalf("testdata/corpus.txt: %q: %v", line, err)
		}
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if err := compare(src); err != nil {
			t.Error(err)
		}
	})
}

// TestResolverWorksOnTheTree runs go.starlark.net's resolver on both trees.
func TestResolverWorksOnTheTree(t *testing.T) {
	universal := func(name string) bool { return name == "print" || name == "len" || name == "range" }
	predeclared := func(name string) bool { return name == "orders" || name == "mail" }
	for name, src := range map[string]string{"sample": sample, "undefined": "def f(x):\n    return x + nowhere\nf(there)\n"} {
		got, err := Parse("x.star", []byte(src), Limits{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want, err := options().Parse("x.star", src, 0)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		gotErr := resolve.File(got, predeclared, universal)
		wantErr := resolve.File(want, predeclared, universal)
		if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
			t.Errorf("%s: resolver gives %v, on the tree of go.starlark.net %v", name, gotErr, wantErr)
		}
		if wantErr == nil {
			g, w := got.Module.(*resolve.Module), want.Module.(*resolve.Module)
			if len(g.Globals) != len(w.Globals) || len(g.Locals) != len(w.Locals) {
				t.Errorf("%s: %d globals and %d locals, want %d and %d", name, len(g.Globals), len(g.Locals), len(w.Globals), len(w.Locals))
			}
		}
	}
}

// sample has one of everything that the language has.
const sample = `load("m", "a", b = "c",)

"""A program."""
def f(x, y = 1, *args, z, w = None, **kwargs):
    # comment
    if x == 1 and not y or z != 2: return -x
    elif x not in [1, 2, 3,] and "é" in {"a": 1, 'b': 2.5e3,}:
        return x if y else lambda q, *r: (q, r)
    else:
        pass ; x += 1; y //= 2
    for i, (j, k) in enumerate(args): continue
    while True:
        x = [i*2 % 3 << 1 | 4 ^ 5 & ~6 for i in range(10) if i > 2 for j in r if lambda: j]
        break
    return

def g(*, a): return a
m = {k: v for k, v in x.items()}
x[0], y.z, (p, [q]) = x[1:2], x[:], x[::2]
s = r'\d' + b"\x00\377" + rb'x' + '''
two lines \
joined''' + "\t\u00e9\U0001F600\0"
n = 0x7fffffffffffffffffff + 0o17 + 0b101 + 1. + .5 + 1e-3 + 123456789012345678901234567890
t = (1,), (), (1, 2)
t[1, 2] = f(*t, **m)
f(
  1,
  y = 2)(3)[4].five
z = 1 \
  + 2
`
