package eval

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"go.starlark.net/lib/json"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"callgate/engine/label"
)

// The expressions of TestStringsAreTheStockInterpreters: s, a and b are strings, i and j ints.
var stockExprs = strings.Fields(`
	s.capitalize() s.lower() s.upper() s.title() s.isalnum() s.isalpha() s.isdigit() s.islower() s.isspace() s.istitle() s.isupper()
	list(s.elems()) list(s.elem_ords()) list(s.codepoints()) list(s.codepoint_ords()) repr(s.codepoints()) repr(s) (s+a).elems()[0]
	s.count(a) s.count(a,i) s.count(a,i,j) s.find(a) s.find(a,i,j) s.rfind(a) s.rfind(a,i,j) s.index(a) s.rindex(a,i)
	s.startswith(a) s.startswith(a,i) s.startswith((a,b),i,j) s.endswith(a) s.endswith(a,i) s.endswith((a,b),i,j)
	s.strip() s.lstrip() s.rstrip() s.strip(a) s.lstrip(a) s.rstrip(a) s.removeprefix(a) s.removesuffix(a)
	s.partition(a) s.rpartition(a) s.join([a,b,s]) s.join((a,)) s.replace(a,b) s.replace(a,b,i)
	s.split() s.rsplit() s.split(None,i) s.rsplit(None,i) s.split(a) s.split(a,i) s.rsplit(a) s.rsplit(a,i) s.splitlines() s.splitlines(True)
	s%a s%(a,b) s%(i,) s%[a] s%{a:b} s.format(a,b) s.format(i) s.format(a=b) ("%s%r"+s)%(a,b) ("{}{!r}"+s).format(a,b)
	json.encode([s,{a:b}]) json.decode(json.encode(s)) json.decode(s,None) json.indent(s)
`)

// TestStringsAreTheStockInterpreters runs random calls of string methods here and there.
func TestStringsAreTheStockInterpreters(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	letters := []string{"a", "b", "A", "B", "ab", "é", "É", "ǆ", "ß", "😿", " ", "  ", "\t", "\n", "\u00a0", "\xff", "\xe4\xb8", "1", "-", ".", "%", "%s", "%d", "{}", "{0}", "{", "}", "{a}", "\"", "\\", "[", "]", "1,", ":", "null", "\x01", "\u200d"}
	var few []string // the letters of a round, so that they meet
	word := func(n int) string {
		var b strings.Builder
		for range rnd.IntN(n + 1) {
			b.WriteString(few[rnd.IntN(len(few))])
		}
		return b.String()
	}
	k := newChecker(t, Limits{Steps: 1e12, Memory: 1 << 30})
	programs := map[string]*Program{}
	for _, x := range stockExprs {
		k.s.pre["s"], k.s.pre["a"], k.s.pre["b"], k.s.pre["i"], k.s.pre["j"] = val{}, val{}, val{}, val{}, val{}
		p, err := Compile("t.star", []byte("r = repr("+x+")"), k.s.Env())
		if err != nil {
			t.Fatal(err)
		}
		programs[x] = p
	}
	failed := 0
	for round := range 20000 {
		x := stockExprs[round%len(stockExprs)]
		few = nil
		for range 1 + rnd.IntN(4) {
			few = append(few, letters[rnd.IntN(len(letters))])
		}
		s, a, b := word(12), word(2), word(3)
		i, j := rnd.IntN(8)-2, rnd.IntN(20)-8
		env := starlark.StringDict{"s": starlark.String(s), "a": starlark.String(a), "b": starlark.String(b),
			"i": starlark.MakeInt(i), "j": starlark.MakeInt(j), "json": json.Module}
		want, wantErr := starlark.EvalOptions(&syntax.FileOptions{}, &starlark.Thread{}, "t.star", "repr("+x+")", env)
		k.s.pre["s"], k.s.pre["a"], k.s.pre["b"] = stringVal(s, label.BottomID), stringVal(a, label.BottomID), stringVal(b, label.BottomID)
		k.s.pre["i"], k.s.pre["j"] = intVal(int64(i), label.BottomID), intVal(int64(j), label.BottomID)
		out, err := k.s.Run(context.Background(), programs[x], label.Bottom())
		if err != nil {
			t.Fatal(err)
		}
		got := k.s.names["r"].v
		switch {
		case wantErr != nil && out.Err != nil:
			continue
		case wantErr != nil && betterThanStock(x, wantErr.Error()):
			continue
		case wantErr == nil && out.Err == nil && got.str() == string(want.(starlark.String)):
			continue
		}
		if failed++; failed < 20 {
			t.Errorf("%s of s=%q a=%q b=%q i=%d j=%d:\n got %v %v\nwant %v %v", x, s, a, b, i, j, k.s.names["r"].v.str(), out.Err, want, wantErr)
		}
	}
}

// betterThanStock lists what is an error there and works here.
func betterThanStock(expr, problem string) bool {
	return strings.Contains(problem, "unknown conversion %") // flags of %, as in "%-s" and "% s"
}
