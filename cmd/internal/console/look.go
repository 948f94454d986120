package console

import (
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Look says how text may look. The zero Look is plain: ASCII, no colour, the same everywhere.
type Look struct {
	Color bool // ANSI colours
	Wide  bool // characters beyond ASCII
	Width int  // columns that a line has; 0: it is not known
}

// LookOf returns the look for a file, with the environment that getenv reads. Only a terminal that is not dumb
// gets colour, unless NO_COLOR is set, and characters beyond ASCII, if its locale has UTF-8.
func LookOf(f *os.File, getenv func(string) string) Look {
	if !IsTerminal(f) {
		return Look{}
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		width = 0
	}
	if t := getenv("TERM"); t == "" || t == "dumb" {
		return Look{Width: width}
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
		Width: width,
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

// usual is how many columns lines are taken to have where that is not known, and least how few they may have.
const usual, least = 100, 20

// wrap breaks a line's piece before the terminal would, at a blank if there is one near, so that what is carried over stands
// behind a margin and cannot be taken for a line of its own.
func (o Look) wrap(s string) string {
	width := o.Width
	if width == 0 {
		width = usual
	}
	width = max(width, least) - 1
	var out, word []byte // word: since the last blank
	at, begins, in := 0, 0, false
	for _, r := range s {
		n := 1
		switch {
		case r == '\x1b' || in:
			in, n = r != 'm', 0
		case r >= 0x1100: // as wide as it may be
			n = 2
		}
		if at+n > width {
			if begins < width/2 { // no blank is near
				out, word, begins = append(out, word...), nil, at
			}
			out = append(out, "\n"+carried...)
			at += len(carried) - begins
			begins = len(carried)
		}
		at += n
		word = utf8.AppendRune(word, r)
		if r == ' ' {
			out, word, begins = append(out, word...), nil, at
		}
	}
	return string(append(out, word...))
}

// carried is the margin of what did not fit its line.
const carried = "    : "

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
