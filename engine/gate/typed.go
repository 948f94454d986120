package gate

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// connectors are the characters that glue letters and digits on both sides of them into one
// token: "bob@corp.example" is one, and the full stop after it is not part of it.
const connectors = "._-+@:/\\%#&=~',*?!$"

// typed reports whether text occurs as a whole token in one of the texts: not within a
// longer word, number, address or path.
func typed(texts []string, text string) bool {
	if !strings.ContainsFunc(text, isWord) {
		return false
	}
	for _, t := range texts {
		for from := 0; ; {
			i := strings.Index(t[from:], text)
			if i < 0 {
				break
			}
			start, end := from+i, from+i+len(text)
			before, m := utf8.DecodeLastRuneInString(strings.TrimRight(t[:start], connectors))
			after, n := utf8.DecodeRuneInString(strings.TrimLeft(t[end:], connectors))
			if (m == 0 || !isWord(before)) && (n == 0 || !isWord(after)) {
				return true
			}
			_, size := utf8.DecodeRuneInString(t[start:])
			from = start + size
		}
	}
	return false
}

// isWord counts what is no UTF-8 as part of a word: that only makes fewer tokens.
func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == utf8.RuneError
}
