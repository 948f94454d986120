package eval

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.starlark.net/lib/json"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	star "go.starlark.net/syntax"

	"callgate/engine/label"
)

var stockPrograms = flag.Int("programs", 20_000, "how many random programs are compared with go.starlark.net")

// stockResult is what a program did.
type stockResult struct {
	globals map[string]string // the repr of each
	printed string
	problem string // the text of the error
	code    string // here
	line    int
	caller  int // the line that the function with the error was called at
	limited bool
}

// runStock runs a program on go.starlark.net, every option of its dialect on.
func runStock(src string) (out stockResult) {
	defer func() {
		if r := recover(); r != nil { // as at set().issubset()
			out.limited = true
		}
	}()
	var printed strings.Builder
	thread := &starlark.Thread{Print: func(_ *starlark.Thread, s string) { printed.WriteString(s + "\n") }}
	thread.SetMaxExecutionSteps(2_000_000)
	opts := &star.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}
	globals, err := starlark.ExecFileOptions(opts, thread, "t.star", src, starlark.StringDict{
		"json": json.Module, "struct": starlark.NewBuiltin("struct", starlarkstruct.Make),
	})
	out.globals = map[string]string{}
	for name, v := range globals {
		out.globals[name] = v.String()
	}
	out.printed = printed.String()
	var evalErr *starlark.EvalError
	switch {
	case errors.As(err, &evalErr):
		out.problem = evalErr.Msg
		out.limited = strings.Contains(err.Error(), "computation cancelled") || strings.Contains(err.Error(), "stack overflow")
		for i := range evalErr.CallStack {
			if p := evalErr.CallStack.At(i).Pos; p.Filename() == "t.star" {
				if out.line != 0 {
					out.caller = int(p.Line)
					break
				}
				out.line = int(p.Line)
			}
		}
	case err != nil:
		out.problem = err.Error()
	}
	return out
}

// tooFar are errors where go.starlark.net goes on, wrongly, and may not come to an end.
var tooFar = regexp.MustCompile(`^range: more than|^enumerate: start \S+ is too large`)

// callErrors are the errors of calls whose arguments do not fit the parameters.
var callErrors = regexp.MustCompile(`^function \w+ (accepts|missing|got)`)

// runHere runs a program on this evaluator.
func runHere(t testing.TB, src string) stockResult {
	var out stockResult
	s, err := NewSession(Config{Host: &recorder{}, Limits: Limits{Steps: 200_000, Memory: 8 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile("t.star", []byte(src), s.Env())
	if err != nil {
		return stockResult{problem: err.Error(), code: "syntax"}
	}
	o, err := s.Run(context.Background(), p, label.Bottom())
	if err != nil {
		t.Fatal(err)
	}
	out.globals = map[string]string{}
	for name, c := range s.names {
		if c.v.k == kUnbound {
			continue
		}
		if e := s.thread(context.Background(), label.BottomID).protect(func(t *thread) { out.globals[name] = t.repr(c.v) }); e != nil {
			out.globals[name] = e.Text
		}
	}
	for _, p := range o.Prints {
		out.printed += p.Text
	}
	if o.Err != nil {
		out.problem, out.code, out.line = o.Err.Text, o.Err.Code, o.Err.Site.Line
		out.limited = o.Status == Limited || tooFar.MatchString(out.problem)
		if o.Status == Crashed {
			out.problem += o.Err.Detail
		}
	}
	return out
}

// stockClasses are what errors are about: a pattern for the texts of go.starlark.net, and the codes here. Of
// several that fit, the first counts.
var stockClasses = []struct{ stock, codes string }{
	{`^fail: `, "fail"},
	{`^(local|global) variable \w+ referenced`, "unbound"},
	{` by zero$`, "division-by-zero"},
	{`unhashable`, "unhashable"},
	{`^duplicate key:`, "duplicate-key"},
	{`during iteration$`, "iterating"},
	{`values to unpack`, "unpack"},
	{`^json\.encode(_indent)?: .*(cannot encode|key, want string)`, "json"},
	{`arguments, want|for parameter`, "type argument arguments range encoding"},
	{`^json\.(decode|indent): (at offset|unexpected|invalid|unclosed|in |after |got)`, "json"},
	{`has no \.`, "no-field"},
	{`not in dict$|missing key$`, "no-key"},
	{`(substring|element) not found|not in list$`, "not-found"},
	{`empty (dict|set|sequence)$`, "empty"},
	{`^%|: unknown conversion|^unknown conversion|^format: |[^:] format string$|^format requires|^incomplete format|^key not found|^cannot convert`, "format"},
	{`^int: for base, got`, "argument range"},
	{`invalid (float )?literal|^float: empty string`, "parse"},
	{`out of range|shift count|(step|argument) must not be zero|not a valid slice step|base must be|too large|cannot convert float|recursion depth`, "range too-large too-deep"},
	{`.`, "type argument arguments not-iterable not-mapping keyword not-callable"},
}

// stockKnown are the differences of spec/language.md that random programs run into, by the text of the error
// on go.starlark.net or here.
var stockKnown = []struct{ rule, stock, here string }{
	{"diff.index", `(start|end) index: \S+ out of range$|want value in signed|^(\w+: )?-?\d{10,} out of range$`, ""},
	{"diff.shift", `^shift count too large|^repeat count|^excessive repeat`, ""},
	{"diff.empty", `^(int: missing argument|str: got 0 arguments)`, ""},
	{"diff.bool", `^splitlines: for parameter 1: got (int|bool), want bool`, ""},
	{"diff.format", `^unknown conversion %[-+ #0-9.*hlL]`, ""},
	{"diff.more", `^(max|min): for parameter "key": got NoneType|strip: for parameter 1: got NoneType|^(difference|intersection): got [2-9] arguments`, ""},
	{"diff.sets", "", `(^|: )set [<>]=? set not implemented`},
	{"diff.strings", `string value is not iterable|got string, want (an )?iterable|must be iterable, not string|not iterable: string|is not iterable \(string\)|got string in sequence assignment|want string, bytes, or iterable`, ""},
	{"diff.wrong", `^'in <range>' requires integer as left operand, not float`, ""},
	{"diff.hash", "", `^(pop|remove|discard|issubset|intersection|difference|symmetric_difference): unhashable`},
}

// hasMore is the error of an attribute on go.starlark.net.
var hasMore = regexp.MustCompile(`^(list|dict|set|string|bytes|builtin_function_or_method) has no \.(\w+) `)

// fractionInRange asks for a number that is in no range.
var fractionInRange = regexp.MustCompile(`\.[1-9]\d*\)* (not )?in range`)

// displaySum is a sum of which go.starlark.net adds neighbouring displays before it evaluates what is left of them.
var displaySum = regexp.MustCompile(`\+ [\[(].*\+ [\[(]`)

// knownRule returns the rule for what two runs of a program gave, "" if there is none.
func knownRule(src string, want, got stockResult) string {
	for _, k := range stockKnown {
		if k.stock != "" && stockPattern(k.stock).MatchString(want.problem) || k.here != "" && stockPattern(k.here).MatchString(got.problem) {
			return k.rule
		}
	}
	if m := hasMore.FindStringSubmatch(want.problem); m != nil && methodNames[m[2]] {
		return "diff.more"
	}
	if fractionInRange.MatchString(src) {
		return "diff.wrong"
	}
	if want.problem != "" && got.problem != "" && !sameClass(want.problem, got.code) && displaySum.MatchString(src) {
		return "diff.wrong"
	}
	return ""
}

var stockPatterns = map[string]*regexp.Regexp{}

// pattern compiles a pattern once.
func stockPattern(s string) *regexp.Regexp {
	if stockPatterns[s] == nil {
		stockPatterns[s] = regexp.MustCompile(s)
	}
	return stockPatterns[s]
}

// sameClass reports whether an error of go.starlark.net is about what an error here is about.
func sameClass(stock, code string) bool {
	if stock == "" || code == "" {
		return stock == code
	}
	for _, c := range stockClasses {
		if stockPattern(c.stock).MatchString(stock) {
			return slices.Contains(strings.Fields(c.codes), code)
		}
	}
	return false
}

var floatText = regexp.MustCompile(`[-+]?\b\d+(\.\d+(e[-+]\d+)?|e[-+]\d+)\b|[-+]?\binf\b`)

// sameFloats returns a text in which floats are as Go writes them: diff.floats is about their texts alone.
func sameFloats(s string) string {
	return floatText.ReplaceAllStringFunc(s, func(lit string) string {
		f, _ := strconv.ParseFloat(lit, 64)
		return strconv.FormatFloat(f, 'g', -1, 64)
	})
}

// floatTaken takes the text of a float apart, or puts it together.
var floatTaken = regexp.MustCompile(`(?s)(repr\(|str\(|%[rs]|format).*\b(1e6|123456789\.0|inf)\b|\b(1e6|123456789\.0|inf)\b.*(repr\(|str\(|%[rs]|format)`)

// compare returns how a stockResult differs from what is wanted, "" if it does not.
func (want stockResult) compare(got stockResult) string {
	var b strings.Builder
	if !sameClass(want.problem, got.code) {
		fmt.Fprintf(&b, "problem %q\n   want %q\n", got.problem, want.problem)
	}
	line := want.line
	if callErrors.MatchString(want.problem) { // diff.calls
		line = want.caller
	}
	if line != got.line {
		fmt.Fprintf(&b, "line %d, want %d\n", got.line, line)
	}
	want.printed, got.printed = sameFloats(want.printed), sameFloats(got.printed)
	if want.printed != got.printed {
		fmt.Fprintf(&b, "printed %q\n   want %q\n", got.printed, want.printed)
	}
	var names []string
	for name := range want.globals {
		names = append(names, name)
	}
	for name := range got.globals {
		if _, ok := want.globals[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if sameFloats(want.globals[name]) != sameFloats(got.globals[name]) {
			fmt.Fprintf(&b, "%s = %s\n   want %s\n", name, got.globals[name], want.globals[name])
		}
	}
	return b.String()
}

// both runs a random program on both and returns how they differ, "" if they do not or a rule says why. The rule
// is "limit" beyond a limit.
func both(t testing.TB, seed, salt uint64) (src, diff, rule string) {
	g := &stockGen{Rand: rand.New(rand.NewPCG(seed, salt))}
	src = g.program()
	got := runHere(t, src)
	if got.limited { // there it would take all the memory there is
		return src, "", "limit"
	}
	want := runStock(src)
	if want.limited {
		return src, "", "limit"
	}
	if rule := knownRule(src, want, got); rule != "" {
		return src, "", rule
	}
	if want.problem != "" {
		rule = "an error"
	}
	diff = want.compare(got)
	if diff != "" && floatTaken.MatchString(src) {
		return src, "", "diff.floats"
	}
	return src, diff, rule
}

func TestRandomProgramsDoAsInStarlark(t *testing.T) {
	failed, rules := 0, map[string]int{}
	for seed := range *stockPrograms {
		src, diff, rule := both(t, uint64(seed), 1)
		rules[rule]++
		if diff != "" {
			if failed++; failed < 20 {
				t.Errorf("seed %d:\n%s%s", seed, src, diff)
			}
		}
	}
	if rules[""] < *stockPrograms/10 || rules["an error"] < *stockPrograms/10 {
		t.Errorf("too few programs end well, or in an error: %v", rules)
	}
	t.Logf("how %d programs ended: %v", *stockPrograms, rules)
}

func FuzzDifferential(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, seed, salt uint64) {
		if src, diff, _ := both(t, seed, salt); diff != "" {
			t.Errorf("%s%s", src, diff)
		}
	})
}
