package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// String returns "file:line:col", without the parts that are unknown.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// IsValid reports whether the position names a file.
func (p Position) IsValid() bool { return p.File != "" }

func comparePositions(a, b Position) int {
	return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column)
}

// String returns "file:line:col: text", and on a second line "hint: …" if there is one.
func (p Problem) String() string {
	s := p.Text
	if p.Warn {
		s = "warning: " + s
	}
	if p.Pos.IsValid() {
		s = p.Pos.String() + ": " + s
	}
	if p.Hint != "" {
		s += "\nhint: " + p.Hint
	}
	return s
}

// Error makes a Problem an error; it is [Problem.String].
func (p Problem) Error() string { return p.String() }

// SortProblems sorts by file, line and column, and drops repetitions.
func SortProblems(ps []Problem) []Problem {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(comparePositions(a.Pos, b.Pos), strings.Compare(a.Text, b.Text))
	})
	return slices.Compact(ps)
}

// Fatal reports whether one of the problems is more than a warning: the files
// cannot be used.
func Fatal(ps []Problem) bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return !p.Warn })
}

// Nearest returns the known word that a mistyped one probably stands for, or "".
// Case, dashes and underscores count for nothing.
func Nearest(word string, known []string) string {
	if len(word) > 64 {
		return ""
	}
	best, least := "", 1+min(3, max(1, len(word)/3))
	if len(word) > 3 {
		least = max(least, 3)
	}
	w := fold(word)
	for _, k := range known {
		if d := levenshtein.ComputeDistance(w, fold(k)); d < least && d < len(k) {
			best, least = k, d
		}
	}
	return best
}

var dashes = strings.NewReplacer("-", "", "_", "")

func fold(s string) string { return dashes.Replace(strings.ToLower(s)) }

// didYouMean is the hint for a word that is not among those known.
func didYouMean(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

// orList joins words as "a, b or c".
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// quoted shows a text as it was found, shortened.
func quoted(s string) string {
	const most = 48
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
