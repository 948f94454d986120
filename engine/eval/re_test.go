package eval

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"callgate/engine/label"
)

// TestPatternsAreRefused says of each what is wrong, and where, and what to write instead.
func TestPatternsAreRefused(t *testing.T) {
	for _, test := range []struct{ pattern, text, hint string }{
		{`a(?=b)`, "a lookahead at position 1", "take a group of the part before it"},
		{`a(?!b)`, "a negative lookahead at position 1", "if m and not"},
		{`(?<=a)b`, "a lookbehind at position 0", "take a group of the part after it"},
		{`(?<!a)b`, "a negative lookbehind at position 0", "s[:m.start()]"},
		{`(a)\1`, `a reference to a group, \1 at position 3`, "compare in the program"},
		{`(?P<x>a)(?P=x)`, "a reference to a group at position 8", "compare in the program"},
		{`(a)(?(1)b|c)`, "a condition on a group at position 3", "as alternatives"},
		{`(?>a)`, "an atomic group at position 0", "(?:…)"},
		{`a++`, "a possessive quantifier at position 2", "leave the + out"},
		{`(a`, "missing ), unterminated subpattern at position 0", `\(`},
		{`a)`, "unbalanced parenthesis at position 1", `\)`},
		{`[a`, "unterminated character set at position 0", `\[`},
		{`[b-a]`, "bad character range b-a at position 1", ""},
		{`*a`, "nothing to repeat at position 0", `\*`},
		{`a**`, "multiple repeat at position 2", "in a group"},
		{`a{2,1}`, "min repeat greater than max repeat at position 1", ""},
		{`\q`, `bad escape \q at position 0`, ""},
		{`a\`, "bad escape (end of pattern) at position 1", `\\`},
		{`a(?i)b`, "global flags not at the start of the expression at position 1", "(?i:…)"},
		{`(?P<x>a)(?P<x>b)`, "redefinition of group name", "another name"},
		{`(?P<1>a)`, "bad character in group name", ""},
		{`(?y)`, "unknown extension", ""},
		{`(?:a{1000}){1000}`, "the pattern is too large", "count in the program"},
		{`a{100000}`, "a repetition of more than 10000 at position 1", ""},
		{strings.Repeat("(", 300), "groups nested more than 200 deep", ""},
		{strings.Repeat("a", 40000), "a pattern of 40000 bytes", ""},
		{strings.Repeat("()", 600), "more than 500 groups", "(?:…)"},
	} {
		_, err := compileRegex(test.pattern, 0)
		if err == nil {
			t.Errorf("%.40s: accepted", test.pattern)
			continue
		}
		if text := fmt.Sprintf("%s at position %d", err.text, err.at); !strings.Contains(text, test.text) || !strings.Contains(err.hint, test.hint) {
			t.Errorf("%.40s: got %q, %q, want %q, %q", test.pattern, text, err.hint, test.text, test.hint)
		}
	}
}

// TestRandomPatternsMatchAsInRE2 compares with the standard library, which has the same idea of which match is the first, in patterns of
// few letters: where a match begins and ends, and its groups but those that a loop of nothing sets.
func TestRandomPatternsMatchAsInRE2(t *testing.T) {
	th := newChecker(t, Limits{Steps: 1e15, Memory: 1 << 30}).s.thread(t.Context(), label.BottomID)
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	var pattern func(depth int, loop bool) string
	pattern = func(depth int, loop bool) string {
		switch n := r.IntN(10); {
		case depth == 0 || n < 3:
			return pick("a", "b", "ab", "[ab]", "[^a]", ".", "c", "", `\b`, "^", "$", "é", "[a-é]")
		case n < 5:
			return pattern(depth-1, loop) + pattern(depth-1, loop)
		case n < 6:
			return "(?:" + pattern(depth-1, loop) + "|" + pattern(depth-1, loop) + ")"
		case n < 7 && !loop:
			return "(" + pattern(depth-1, loop) + ")"
		default:
			q := pick("*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,2}?", "{2,}")
			return "(?:" + pattern(depth-1, true) + ")" + q
		}
	}
	for range 30_000 {
		p := pattern(4, false)
		std, err := regexp.Compile(strings.ReplaceAll(p, "$", `\z`))
		if err != nil {
			t.Fatal(err)
		}
		re, bad := compileRegex(strings.ReplaceAll(p, "$", `\Z`), reASCII)
		if bad != nil {
			if bad.text != "nothing to repeat" {
				t.Fatalf("%s: %v", p, bad)
			}
			continue
		}
		text := ""
		for range r.IntN(12) {
			text += pick("a", "a", "b", "c", "é", "\n", " ")
		}
		if text == "" {
			continue
		}
		m := th.newMatcher(re, text)
		m.must = -1
		var got []int
		if m.find(0) {
			got = append(got, m.caps...)
		}
		m.done()
		if want := std.FindStringSubmatchIndex(text); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%q in %q: got %v, the standard library %v", p, text, got, want)
		}
	}
}

// TestMatchingIsLinear matches what takes others exponential time, or quadratic, within steps that a linear time needs.
func TestMatchingIsLinear(t *testing.T) {
	for _, expr := range []string{
		"re.match('(?:a*)*b', 'a' * 100000)", "re.match('(?:a+)+$', 'a' * 100000 + 'b')", "re.match('(?:a|a)*b', 'a' * 100000)", "re.match('(?:a|aa)+$', 'a' * 100000 + 'b')",
		"re.search('a*b', 'a' * 100000)", "re.search('a+b', 'a' * 100000)", "re.search('[a-z]+[0-9]', 'a' * 100000)", "re.search('(?:x+x+)+y', 'x' * 100000)", "re.search('.*.*=.*', 'x' * 50000)",
		"re.search(r'\\\\s+$', ' ' * 100000 + 'x')", "re.search('a?' * 30 + 'a' * 30 + 'b', 'a' * 10000)", "re.match(r'^(([a-z])+.)+[A-Z]([a-z])+$', 'a' * 50000)", "re.findall('(?:ab)*', 'ab' * 50000)", "re.sub(r'^\\\\s+|\\\\s+$', '', 'x' + ' ' * 50000 + 'x')",
	} {
		t.Run(expr, func(t *testing.T) {
			out := newChecker(t, Limits{Steps: 3_000_000, Memory: 256 << 20}).run("t.star", "import re\nr = "+expr)
			if out.Err != nil {
				t.Errorf("ended with %v after %d steps", out.Err, out.Steps)
			}
		})
	}
}

func TestTheCacheOfPatternsIsBounded(t *testing.T) {
	th := newChecker(t, Limits{Steps: 1e15, Memory: 1 << 30}).s.thread(t.Context(), label.BottomID)
	before := th.used()
	if _, err := th.regex("first|second", 0); err != nil {
		t.Fatal(err)
	}
	first := th.used() - before
	for i := range 2000 {
		if _, err := th.regex(fmt.Sprintf("a%d[b-z]+", i), 0); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(regexes.order); n > maxRegexes || n != len(regexes.known) || regexes.bytes > maxRegexBytes {
		t.Errorf("it has %d patterns, %d of them known, of %d bytes", n, len(regexes.known), regexes.bytes)
	}
	before = th.used()
	for range 2 { // forgotten, and known
		_, _ = th.regex("first|second", 0)
	}
	if again := th.used() - before; again != 2*first {
		t.Errorf("the same pattern took %d steps, and then %d for two times", first, again)
	}
}
