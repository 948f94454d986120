package std

import (
	"fmt"
	"strconv"
	"time"

	"callgate/spec"
)

// size is an option that says how many bytes something may be: a number, or a text with a unit such as 64MiB. It reports what is neither, or out of
// bounds.
func (b *builder) size(option string, otherwise, least, most int64) int64 {
	given, ok := b.in.Args[option]
	if !ok {
		return otherwise
	}
	n, ok := given.(int64)
	if text, is := given.(string); is {
		var err error
		n, err = spec.ParseSize(text)
		ok = err == nil
	}
	switch {
	case !ok:
		b.fail(option, fmt.Sprintf("got %s, want a size such as %s", written(given), sizeText(otherwise)))
	case n < least || n > most:
		b.fail(option, fmt.Sprintf("got %s, want a size from %s to %s", written(given), sizeText(least), sizeText(most)))
	default:
		return n
	}
	return otherwise
}

// sizeText writes a size with the largest unit of which it is a multiple.
func sizeText(n int64) string {
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if by := int64(1) << (30 - 10*i); n%by == 0 {
			return strconv.FormatInt(n/by, 10) + unit
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// duration is an option that says how long something may take: a text such as 30s.
func (b *builder) duration(option string, otherwise, least, most time.Duration) time.Duration {
	given, ok := b.in.Args[option]
	if !ok {
		return otherwise
	}
	text, _ := given.(string)
	d, err := spec.ParseDuration(text)
	if err != nil || d < least || d > most {
		b.fail(option, fmt.Sprintf("got %s, want a duration such as 10s, from %s to %s", written(given), least, most))
		return otherwise
	}
	return d
}

// seconds is an option that says it as a number.
func (b *builder) seconds(option string, otherwise, most int64) int64 {
	given, ok := b.in.Args[option]
	if !ok {
		return otherwise
	}
	n, ok := given.(int64)
	if !ok || n < 1 || n > most {
		b.fail(option, fmt.Sprintf("got %s, want a number of seconds from 1 to %d", written(given), most))
		return otherwise
	}
	return n
}

// written is a value as an option has it.
func written(v any) string {
	switch v.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	case nil:
		return "null"
	}
	return fmt.Sprint(v)
}
