package eval

import (
	"math/rand/v2"
	"strings"
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"
)

// TestTextBuiltinsChargeForWhatTheyScan runs each on 4 MiB with few steps: it must stop at the limit,
// for nothing else looks at the clock and at cancellation.
func TestTextBuiltinsChargeForWhatTheyScan(t *testing.T) {
	for _, expr := range strings.Fields(`
		s.find("x") s.rfind("x") s.find(p) s.rfind(p) s.count("x") s.count("xy") s.count("") s.replace("x","y") s.replace("a","b")
		s.split("x") s.split("a") s.split() w.split() w.rsplit(None,1) s.rsplit(None,1) s.rsplit("x",1) s.splitlines() s.partition("x") s.rpartition("x")
		s.strip("a") s.lstrip("a") s.rstrip("a") w.strip() w.rstrip() s.upper() u.upper() s.lower() s.title() s.capitalize() s.swapcase() s.casefold()
		s.isalpha() s.islower() s.isidentifier() s.isascii() c.isupper() c.istitle()
		s.ljust(5) s.zfill(5) s.expandtabs() s.encode() v.decode() b.decode(errors="ignore") list(u.codepoint_ords())
		list(s.elems()) list(s.codepoints()) "".join(s.elems()) repr(s) repr(u) repr(b) "%r"%s "%.1000000s"%s s%() s.format() "{:>5}".format(s)
		json.encode(s) json.encode(u) json.encode(w) json.decode(q) json.decode(w,None) json.decode(n,None) json.indent(q) json.loads(b'"'+b+b'"')
	`) {
		t.Run(expr, func(t *testing.T) {
			const size = 4 << 20
			in := func(name, s string) Input { return Input{name, value.StringOf(s, label.Bottom())} }
			b := value.Value{Kind: value.Bytes, Str: strings.Repeat("a\xff", size/2), Label: label.Bottom()}
			k := newChecker(t, Limits{Steps: 10_000, Memory: 1 << 30},
				in("s", strings.Repeat("a", size)), in("u", strings.Repeat("é", size/2)), in("w", strings.Repeat(" ", size)),
				in("p", strings.Repeat("a", 1<<20)+"b"), in("q", `"`+strings.Repeat("a\\n", size/3)+`"`), in("n", strings.Repeat("1", size)), Input{"b", b},
				Input{"v", value.Value{Kind: value.Bytes, Str: strings.Repeat("a", size), Label: label.Bottom()}}, in("c", strings.Repeat("A ", size/2)))
			out := k.run("t.star", "r = "+expr)
			if out.Err == nil || out.Err.Code != "limit.steps" && out.Err.Code != "too-large" {
				t.Errorf("ended with %v after %d steps", out.Err, out.Steps)
			}
		})
	}
}

// TestTextBuiltinsChargeForWhatTheyMake lets each make much more than it was given.
func TestTextBuiltinsChargeForWhatTheyMake(t *testing.T) {
	for _, expr := range []string{
		`("x" * 1000000).replace("x", "y" * 1000000)`, `("x" * 1000000).replace("", "y" * 1000000)`,
		`("y" * 1000000).join(["x"] * 1000000)`, `"x".ljust(1 << 40)`, `"x".center(1 << 62, "é")`, `"x".rjust(1 << 80)`, `"1".zfill(1 << 40)`,
		`"\t\t\t".expandtabs(1 << 62)`, `("\t" * 1000000).expandtabs(1000000)`, `("%1000000d" * 1000) % tuple([1] * 1000)`,
		`("{:1000000}" * 1000).format(*([1] * 1000))`, `"{:.1000000f}".format(1.5) * 100`, `("x" * 10000000).split("x")`, `(" x" * 10000000).split()`,
		`json.encode_indent([[[[[[[[1]]]]]]]] * 1000, indent = " " * 1000000)`, `json.encode(["x" * 1000000] * 1000)`, `json.dumps("\x00" * 20000000)`,
		`repr("\x00" * 20000000)`, `json.decode("[" + "1," * 10000000 + "1]")`, `json.decode('["' + "a" * 30000000 + '"]')`,
		`json.indent("[" * 400 + "]" * 400, indent = " " * 1000000)`, `[list(("x" * 9).elems()) for _ in range(1000000)]`,
		`"".join(list(("x" * 60000000).elems()))`, `("é" * 30000000).strip(("é" * 1000) + "x").upper() + "x"`,
	} {
		t.Run(expr[:min(len(expr), 60)], func(t *testing.T) {
			out := newChecker(t, Limits{Steps: 1e12, Memory: 48 << 20}).run("t.star", "r = "+expr)
			if out.Err == nil || out.Err.Code != "limit.memory" {
				t.Errorf("ended with %v", out.Err)
			}
		})
	}
}

// TestSearchIsLinear looks for patterns that nearly match everywhere.
func TestSearchIsLinear(t *testing.T) {
	for _, expr := range []string{
		"('a' * 1000000).find('a' * 500000 + 'b')", "('a' * 1000000).rfind('b' + 'a' * 500000)", "('a' * 1000000).rfind('a' * 500000 + 'b')",
		"('a' * 1000000).count('a' * 500000 + 'b' + 'a' * 9)", "('ab' * 500000).replace('ab' * 250000 + 'b', '')",
		"('a' * 1000000).split('a' * 60 + 'b')", "('a' * 1000000).rpartition('b' + 'a' * 60)", "('a\\r' * 100000).splitlines()", "('a\\n' * 100000).splitlines()",
		"('x' * 200000).strip('abcdefgé' * 20000)", "(' ' * 1000000).rsplit(None, 5)", "('aa' * 100000).rsplit('a', 3)",
	} {
		t.Run(expr, func(t *testing.T) {
			out := newChecker(t, Limits{Steps: 2_000_000, Memory: 1 << 30}).run("t.star", "r = "+expr)
			if out.Err != nil {
				t.Errorf("ended with %v after %d steps", out.Err, out.Steps)
			}
		})
	}
}

// TestSearchIsNotMisledByHashes searches for a pattern that has, under the standard library's rolling
// hash, the hash of half of the text's windows: searching with that takes half an hour.
func TestSearchIsNotMisledByHashes(t *testing.T) {
	var here, there string // two strings of one hash
	seen := map[uint32]string{}
	for rnd := rand.New(rand.NewPCG(5, 6)); there == ""; {
		b, h := make([]byte, 8), uint32(0)
		for i := range b {
			b[i] = byte('a' + rnd.IntN(26))
			h = h*16777619 + uint32(b[i])
		}
		if s, ok := seen[h]; ok && s != string(b) {
			here, there = s, string(b)
		}
		seen[h] = string(b)
	}
	text, pattern := strings.Repeat(here, 4<<20), strings.Repeat(here, 2<<20)+there
	for _, expr := range []string{"p in s", "s.find(p)", "s.rfind(p)", "s.count(p)", "s.replace(p, '')", "s.split(p)"} {
		t.Run(expr, func(t *testing.T) {
			k := newChecker(t, Limits{Steps: 100e6, Memory: 1 << 30},
				Input{"s", value.StringOf(text, label.Bottom())}, Input{"p", value.StringOf(pattern, label.Bottom())})
			if out := k.run("t.star", "r = "+expr); out.Err != nil {
				t.Error(out.Err)
			}
		})
	}
}

// TestSearchFindsWhatThereIs compares with the standard library, in texts of few letters and with patterns
// on both sides of each of the ways to search.
func TestSearchFindsWhatThereIs(t *testing.T) {
	k := newChecker(t, Limits{Steps: 1e15, Memory: 1 << 30})
	th := k.s.thread(t.Context(), label.BottomID)
	rnd := rand.New(rand.NewPCG(3, 4))
	text := func(n, few int) string {
		b := make([]byte, n)
		for i := range b {
			if b[i] = 'a'; rnd.IntN(few) == 0 {
				b[i] = byte('b' + rnd.IntN(2))
			}
		}
		return string(b)
	}
	for range 800 {
		few := []int{2, 10, 100, 2000}[rnd.IntN(4)]
		s := text([]int{10, 200, 3000, searchWindow + 200}[rnd.IntN(4)], few)
		sub := text(rnd.IntN([]int{4, 64, 70, 300}[rnd.IntN(4)]), few)
		if rnd.IntN(2) == 0 && len(sub) < len(s) {
			i := rnd.IntN(len(s) - len(sub))
			sub = s[i : i+len(sub)]
		}
		if got, want := th.indexOf(s, sub), strings.Index(s, sub); got != want {
			t.Fatalf("first of %q in %d bytes: got %d, want %d", sub, len(s), got, want)
		}
		if got, want := th.lastIndexOf(s, sub), strings.LastIndex(s, sub); got != want {
			t.Fatalf("last of %q in %d bytes: got %d, want %d", sub, len(s), got, want)
		}
		if got, want := th.count(s, sub, -1), strings.Count(s, sub); got != int64(want) {
			t.Fatalf("count of %q in %d bytes: got %d, want %d", sub, len(s), got, want)
		}
		if sub == "" {
			continue
		}
		for _, backwards := range []bool{false, true} {
			want := strings.Index(s, sub)
			if backwards {
				want = strings.LastIndex(s, sub)
			}
			if got := th.rollingIndex(s, sub, backwards); got != want {
				t.Fatalf("rolling, backwards %v, of %q in %d bytes: got %d, want %d", backwards, sub, len(s), got, want)
			}
		}
	}
}

func TestPiecesDoNotKeepTheWholeAlive(t *testing.T) {
	whole := "12 " + strings.Repeat("x", 1000) + "\n" + `"yy"`
	for _, expr := range []string{
		"s.split()[0]", "s.rsplit()[-1]", "s.split('x', 1)[0]", "s.partition(' ')[0]", "s.rpartition(' ')[0]", "s.splitlines()[1]",
		"s.strip('x12 ')", "s.lstrip('12 x')", "s.rstrip('\"yx\\n')", "s.removeprefix(s[:900])", "s.removesuffix(s[9:])", "list(s.codepoints())[0]",
		"s[:2]", "s[5]", "'%.3s' % s", "'{:.3}'.format(s)", "json.decode(s[-4:] + ' ' * 100)", "json.loads(s[-4:])", "s.replace(s[2:], '')",
	} {
		t.Run(expr, func(t *testing.T) {
			k := newChecker(t, Limits{}, Input{"s", value.StringOf(whole, label.Bottom())})
			if out := k.run("t.star", "r = "+expr); out.Err != nil {
				t.Fatal(out.Err)
			}
			piece, of := k.s.names["r"].v, k.s.pre["s"]
			if at := uintptr(piece.p) - uintptr(of.p); piece.n == 0 || at < uintptr(of.n) {
				t.Errorf("%q is a part of the whole", piece.str())
			}
		})
	}
}
