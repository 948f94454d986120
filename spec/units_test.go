package spec

import (
	"fmt"
	"testing"
	"time"
)

func TestParseUnits(t *testing.T) {
	count := func(s string) (any, error) { return ParseCount(s) }
	size := func(s string) (any, error) { return ParseSize(s) }
	wait := func(s string) (any, error) { return ParseDuration(s) }
	for _, test := range []struct {
		name  string
		parse func(string) (any, error)
		in    string
		want  string
	}{
		{"a count", count, "200k", "200000"},
		{"a count with a unit of sizes", count, "2KiB", `got "2KiB", want a whole number such as 50, 200k or 5M`},
		{"no count", count, "0", `got "0", want a whole number such as 50, 200k or 5M`},
		{"a size", size, "64KiB", "65536"},
		{"a size that is two", size, "64M", `got "64M", want a size such as 64KiB or 64MiB`},
		{"a duration", wait, "1h30m", fmt.Sprint(90 * time.Minute)},
		{"a duration without a unit", wait, "5", `got "5", want a duration such as 500ms, 30s, 15m or 1h30m`},
		{"no duration", wait, "0s", `got "0s", want a duration such as 500ms, 30s, 15m or 1h30m`},
	} {
		t.Run(test.name, func(t *testing.T) {
			n, err := test.parse(test.in)
			got := fmt.Sprint(n)
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("%s: got %s, want %s", test.in, got, test.want)
			}
		})
	}
}
