package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
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

// SortProblems sorts by file, line and column, and drops repetitions: of two that say the same of one place the one with
// a hint stays.
func SortProblems(ps []Problem) []Problem {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(comparePositions(a.Pos, b.Pos), strings.Compare(a.Text, b.Text), strings.Compare(strconv.FormatBool(a.Warn), strconv.FormatBool(b.Warn)), strings.Compare(b.Hint, a.Hint))
	})
	return slices.CompactFunc(ps, func(a, b Problem) bool {
		return a.Pos == b.Pos && a.Text == b.Text && a.Warn == b.Warn && (a.Hint == b.Hint || a.Hint == "" || b.Hint == "")
	})
}

// Fatal reports whether one of the problems is more than a warning: the files
// cannot be used.
func Fatal(ps []Problem) bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return !p.Warn })
}

// Nearest returns the known word that a mistyped one probably stands for, or "".
// Case, dashes and underscores count for nothing, two letters exchanged for one mistake.
func Nearest(word string, known []string) string {
	if len(word) > 64 {
		return ""
	}
	w := fold(word)
	most := 1
	switch {
	case len(w) > 8:
		most = 3
	case len(w) > 3:
		most = 2
	}
	best, least := "", 2*most+2
	for _, k := range known {
		f := fold(k)
		d := levenshtein.ComputeDistance(w, f)
		if d == 2 && exchanged(w, f) {
			d = 1
		}
		if d >= len(f) {
			continue
		}
		score := 2 * d
		if len(w) != len(f) { // of two that are as near, the one as long
			score++
		}
		if score < least {
			best, least = k, score
		}
	}
	return best
}

// exchanged reports whether two words differ in the order of two neighbours.
func exchanged(a, b string) bool {
	for i := 0; i+1 < len(a) && len(a) == len(b); i++ {
		if a[i] != b[i] {
			return a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
		}
	}
	return false
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
