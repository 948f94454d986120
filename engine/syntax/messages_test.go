package syntax

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the errors found into testdata, to be read before they are committed")

// expectation is one program of a file in testdata, and exactly the errors that it has:
//
//	== sentence
//	program
//	--
//	line:col: message
//	hint: hint
type expectation struct{ name, program, errors string }

func readExpectations(t *testing.T, file string) []expectation {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []expectation
	for _, part := range strings.Split("\n"+string(data), "\n== ")[1:] {
		name, rest, _ := strings.Cut(part, "\n")
		program, errs, ok := strings.Cut(rest, "\n--\n")
		if !ok {
			program = strings.TrimSuffix(rest, "\n--")
		}
		all = append(all, expectation{name, program, strings.TrimSuffix(errs, "\n")})
	}
	return all
}

// unescaped lets a program in testdata hold what an editor would not keep: ␀ stands for NUL,
// ␍ for CR, → for a tab, ␠ for a space at the end of a line, ␘ for a byte that is not UTF-8, ␛ for a byte order mark,
// ⍽ for a no-break space, ¤ for one of no width.
var unescaped = strings.NewReplacer("␀", "\x00", "␍", "\r", "→", "\t", "␠", " ", "␘", "\xff", "␛", "\ufeff", "⍽", "\u00a0", "¤", "\u200b")

// problems returns the errors of a program as testdata has them.
func problems(program string) (string, Errors) {
	_, err := Parse("x.star", []byte(unescaped.Replace(program)+"\n"), Limits{})
	var errs Errors
	if !errors.As(err, &errs) {
		return "", nil
	}
	return strings.ReplaceAll(errs.Error(), "x.star:", ""), errs
}

func testExpectations(t *testing.T, file string) (messages map[string]bool) {
	all := readExpectations(t, file)
	var b strings.Builder
	messages = make(map[string]bool)
	for _, x := range all {
		got, errs := problems(x.program)
		fmt.Fprintf(&b, "== %s\n%s\n--\n%s\n", x.name, x.program, got)
		for _, e := range errs {
			messages[e.Message] = true
			if e.Hint == "" {
				t.Errorf("%s: %s: no hint", x.name, e.Message)
			}
		}
		if *update {
			continue
		}
		t.Run(x.name, func(t *testing.T) {
			if got != x.errors {
				t.Errorf("errors (-want +got):\n%s", cmp.Diff(x.errors, got))
			}
			if got == "" {
				t.Errorf("accepted")
			}
		})
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return messages
}

func TestEachRefusalSaysWhatWasFoundWhatWasWantedAndWhatToWrite(t *testing.T) {
	messages := testExpectations(t, "testdata/refused.txt")
	if len(messages) < 60 {
		t.Errorf("%d messages, want at least 60", len(messages))
	}
}

func TestEveryErrorIsReportedOnceAndNoOther(t *testing.T) {
	testExpectations(t, "testdata/several.txt")
}

// TestOneMistakeGivesFewErrors drops, doubles or adds one piece in each place of a program.
func TestOneMistakeGivesFewErrors(t *testing.T) {
	var count [4]int
	for _, program := range []string{sample, tenLines} {
		parts := pieces.FindAllString(program, -1)
		for i, part := range parts {
			for _, wrong := range []string{"", part + part, part + " x "} {
				src := strings.Join(parts[:i], "") + wrong + strings.Join(parts[i+1:], "")
				_, err := Parse("x.star", []byte(src), Limits{})
				var errs Errors
				errors.As(err, &errs)
				if len(errs) >= len(count) {
					t.Errorf("%q in place of %q gives %d errors:\n%v", wrong, part, len(errs), err)
					continue
				}
				count[len(errs)]++
			}
		}
	}
	if refused := count[1] + count[2] + count[3]; (count[2]+count[3])*10 > refused || count[3]*50 > refused {
		t.Errorf("of %d programs with one mistake %d give two errors and %d three, want a tenth and a fiftieth at most", refused, count[2], count[3])
	}
}
