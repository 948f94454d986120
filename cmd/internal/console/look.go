package console

import (
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// Look says how text may look. The zero Look is plain: ASCII, no colour, the same everywhere.
type Look struct {
	Color bool // ANSI colours
	Wide  bool // characters beyond ASCII
}

// LookOf returns the look for a file, with the environment that getenv reads. Only a terminal that is not dumb
// gets colour, unless NO_COLOR is set, and characters beyond ASCII, if its locale has UTF-8.
func LookOf(f *os.File, getenv func(string) string) Look {
	t := getenv("TERM")
	if !IsTerminal(f) || t == "" || t == "dumb" {
		return Look{}
	}
	locale := getenv("LC_ALL")
	for _, name := range []string{"LC_CTYPE", "LANG"} {
		if locale == "" {
			locale = getenv(name)
		}
	}
	locale = strings.ToLower(locale)
	return Look{
		Color: getenv("NO_COLOR") == "",
		Wide:  strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8"),
	}
}

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// tone is the part that a piece of text plays in the picture.
type tone uint8

const (
	quiet  tone = iota // ids, places, rules
	strong             // headings, names of tools
	good               // allowed, approved
	bad                // refused, failed
	wait               // asked, waiting
	low                // a label below trust internal
	origin             // where a value came from
)

// tones are the parameters of the terminal's sequence for each tone: attributes, and colours of the eight
// that every terminal has and its user has chosen.
var tones = [...]string{
	quiet:  "2",
	strong: "1",
	good:   "32",
	bad:    "1;31",
	wait:   "1;33",
	low:    "35",
	origin: "36",
}

// paint colours a line's piece.
func (o Look) paint(t tone, s string) string {
	if !o.Color || strings.TrimSpace(s) == "" {
		return s
	}
	return "\x1b[" + tones[t] + "m" + s + "\x1b[0m"
}

// pad fills a text with blanks up to a width, as a terminal counts it.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(width-widthOf(s), 0))
}

// widthOf is how many columns a line's piece takes, about: colours take none, some scripts two a character.
func widthOf(s string) int {
	n, in := 0, false
	for _, r := range s {
		switch {
		case r == '\x1b':
			in = true
		case in:
			in = r != 'm'
		case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana):
			n += 2
		default:
			n++
		}
	}
	return n
}

// from and to are the arrows of the picture.
func (o Look) from() string {
	if o.Wide {
		return "← "
	}
	return "<- "
}

func (o Look) to() string {
	if o.Wide {
		return "→"
	}
	return "->"
}

func (o Look) dots() string {
	if o.Wide {
		return "…"
	}
	return "..."
}
