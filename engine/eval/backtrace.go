package eval

import (
	"fmt"
	"strings"
)

// mostCalls is how many calls of a backtrace are told.
const mostCalls = 20

// maxLine is how much of a line an excerpt shows, in characters.
const maxLine = 120

// Backtrace tells the calls that led to the error, innermost first, a line each. Those that repeat are told once. It is
// under the error's label.
func (e *Error) Backtrace() []string {
	var out []string
	times := 1
	for i := len(e.Stack) - 1; i >= 0; i-- {
		s := e.Stack[i]
		if i > 0 && e.Stack[i-1] == s {
			times++
			continue
		}
		line := fmt.Sprintf("  called from %s:%d:%d, in %s", s.File, s.Line, s.Column, s.Function)
		if times > 1 {
			line += fmt.Sprintf(", %d times", times)
		}
		if len(out) == mostCalls {
			return append(out, fmt.Sprintf("  and %d more", i+1))
		}
		out, times = append(out, line), 1
	}
	return out
}

// Excerpt shows a line of a text, and below it a caret at a column. Both count from 1; where there is no such
// place it returns nothing. shown is how a text will look to its reader, who may not see all characters as they are; nil
// if as it is.
func Excerpt(text string, line, column int, shown func(string) string) []string {
	lines := strings.Split(text, "\n")
	if line < 1 || line > len(lines) || column < 1 {
		return nil
	}
	part := []rune(strings.ToValidUTF8(strings.TrimRight(lines[line-1], "\r"), "\ufffd"))
	if column > len(part)+1 {
		return nil
	}
	if from := column - 1 - maxLine*2/3; from > 0 {
		part, column = part[from:], column-from
	}
	part = part[:min(len(part), maxLine)]
	left := string(part[:column-1])
	if shown != nil {
		left = shown(left)
	}
	// The caret stands below what is shown, in which tabs stay and what cannot be seen is longer.
	before := []rune(left)
	for i, r := range before {
		if r != '\t' {
			before[i] = ' '
		}
	}
	number := fmt.Sprintf("%5d | ", line)
	return []string{number + string(part), strings.Repeat(" ", len(number)-2) + "| " + string(before) + "^"}
}
