package syntax

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
)

var fences = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$")

// TestTheExamplesOfTheSpecificationParse parses the examples of spec/language.md. In those marked refused, "### text" on
// a line stands for an error there whose message contains the text.
func TestTheExamplesOfTheSpecificationParse(t *testing.T) {
	const file = "../../spec/language.md"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]int)
	for _, m := range fences.FindAllSubmatchIndex(data, -1) {
		info, program := string(data[m[2]:m[3]]), string(data[m[4]:m[5]])
		first := 1 + strings.Count(string(data[:m[4]]), "\n")
		kind, rest, _ := strings.Cut(info, " ")
		if kind != "starlark" {
			continue
		}
		counts[info]++
		_, err := Parse("x.star", []byte(program), Limits{})
		var errs Errors
		if err != nil && !errors.As(err, &errs) {
			t.Fatalf("%s:%d: error of type %T", file, first, err)
		}
		if rest != "refused" {
			if err != nil {
				t.Errorf("%s:%d: %v", file, first, err)
			}
			continue
		}
		for i, line := range strings.Split(program, "\n") {
			_, want, marked := strings.Cut(line, "### ")
			if !marked {
				continue
			}
			if len(errs) == 0 || errs[0].Line != i+1 || !strings.Contains(errs[0].Message, want) {
				t.Errorf("%s:%d: want an error that contains %q, got %v", file, first+i, want, errs)
				break
			}
			errs = errs[1:]
		}
		if len(errs) > 0 {
			t.Errorf("%s:%d: more errors than are marked: %v", file, first, errs)
		}
	}
	if counts["starlark"] < 3 || counts["starlark refused"] < 3 {
		t.Errorf("examples %v, want at least three of each", counts)
	}
}
