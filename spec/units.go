package spec

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"
)

// unit says how a quantity is written.
type unit struct {
	want    string // completes "want …"
	pattern string // of its text form; the schema has it too
	number  bool   // may be a plain number as well
	decimal bool   // is a plain number, perhaps with digits after a point
	parse   func(s string) (int64, error)
}

var (
	counts = unit{
		want: "a whole number such as 50, 200k or 5M", number: true,
		pattern: `^[1-9][0-9]{0,17}[kMG]?$`,
		parse:   scaled(map[string]int64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9}),
	}
	sizes = unit{
		want: "a size such as 64KiB or 64MiB", number: true,
		pattern: `^[1-9][0-9]{0,17}(B|kB|MB|GB|KiB|MiB|GiB)?$`,
		parse:   scaled(map[string]int64{"": 1, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}),
	}
	durations = unit{
		want:    "a duration such as 500ms, 30s, 15m or 1h30m",
		pattern: duration.String(),
		parse: func(s string) (int64, error) {
			d, err := time.ParseDuration(s)
			if err == nil && (d <= 0 || !duration.MatchString(s)) {
				err = errors.New("no time")
			}
			return int64(d), err
		},
	}
	amounts = unit{
		want: "an amount such as 3 or 0.25", decimal: true,
		parse: billionths,
	}

	duration = regexp.MustCompile(`^([0-9]{1,9}(\.[0-9]{1,9})?(ms|s|m|h))+$`)
)

var amount = regexp.MustCompile(`^([0-9]{1,9})(?:\.([0-9]{1,9}))?$`)

// billionths parses a decimal number above 0 into billionths.
func billionths(s string) (int64, error) {
	m := amount.FindStringSubmatch(s)
	if m == nil {
		return 0, errors.New("malformed")
	}
	n, err := strconv.ParseInt(m[1]+(m[2] + "000000000")[:9], 10, 64)
	if err == nil && n == 0 {
		err = errors.New("nothing")
	}
	return n, err
}

var quantity = regexp.MustCompile(`^([1-9][0-9]{0,17})([A-Za-z]*)$`)

// ParseCount reads a count as documents write it: "50", "200k", "5M".
func ParseCount(s string) (int64, error) { return counts.read(s) }

// ParseSize reads a size in bytes as documents write it: "4096", "64KiB", "64MB".
func ParseSize(s string) (int64, error) { return sizes.read(s) }

// ParseDuration reads a duration as documents write it: "500ms", "1h30m".
func ParseDuration(s string) (time.Duration, error) {
	n, err := durations.read(s)
	return time.Duration(n), err
}

func (u unit) read(s string) (int64, error) {
	n, err := u.parse(s)
	if err != nil {
		return 0, fmt.Errorf("got %s, want %s", quoted(s), u.want)
	}
	return n, nil
}

// scaled parses a whole number of at least 1 with a unit.
func scaled(units map[string]int64) func(string) (int64, error) {
	return func(s string) (int64, error) {
		m := quantity.FindStringSubmatch(s)
		if m == nil {
			return 0, errors.New("malformed")
		}
		n, err := strconv.ParseInt(m[1], 10, 64)
		by, known := units[m[2]]
		switch {
		case err != nil:
			return 0, err
		case !known:
			return 0, fmt.Errorf("unit %q", m[2])
		case n > math.MaxInt64/by: // as good as no limit
			return math.MaxInt64, nil
		}
		return n * by, nil
	}
}
