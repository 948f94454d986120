package spec

import (
	"strings"
)

// example is a fenced block of a page that is marked as one: ```yaml file=NAME.
type example struct {
	file string
	text string
	line int // of the block's first line
}

// examples returns the marked blocks of a page.
func examples(page string) []example {
	var out []example
	var in *example
	for i, line := range strings.SplitAfter(page, "\n") {
		mark, fence := strings.CutPrefix(line, "```")
		switch {
		case in != nil && fence:
			out, in = append(out, *in), nil
		case in != nil:
			in.text += line
		case fence:
			if _, file, ok := strings.Cut(strings.TrimSpace(mark), "file="); ok {
				in = &example{file: file, line: i + 2}
			}
		}
	}
	return out
}
