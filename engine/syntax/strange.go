package syntax

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"go.starlark.net/syntax"
)

// lookalikes are runes that word processors and models write for ASCII ones.
var lookalikes = map[rune]string{
	'–': "-", '—': "-", '−': "-", '‐': "-", '‑': "-",
	'×': "*", '·': "*", '÷': "/", '≤': "<=", '≥': ">=", '≠': "!=", '→': "->", '…': "...",
	'（': "(", '）': ")", '［': "[", '］': "]", '｛': "{", '｝': "}", '，': ",", '：': ":", '；': ";", '＝': "=",
}

// closing maps quotes that are not quotes here to those that end what they begin.
var closing = map[rune]string{'`': "`", '“': "”", '”': "”", '„': "“”", '«': "»", '‘': "’", '’': "’", '‚': "‘’"}

// strange reports a rune that begins no token.
func (s *scanner) strange(r rune) {
	off, size := s.i, utf8.RuneLen(r)
	step := func(n int) { // over text without line ends
		for end := s.i + n; s.i < end; s.i++ {
			if s.src[s.i]&0xc0 == 0x80 {
				s.wide++
			}
		}
	}
	switch {
	case closing[r] != "":
		s.report(off, fmt.Sprintf("got quote %c, want \" or '", r), "write straight quotes around a string")
		line, col := s.line, s.col(off)
		step(size)
		rest := s.src[s.i:]
		if n := strings.IndexAny(rest, "\r\n"); n >= 0 {
			rest = rest[:n]
		}
		if n := strings.IndexAny(rest, closing[r]); n >= 0 {
			_, last := utf8.DecodeRuneInString(rest[n:])
			step(n + last)
		}
		s.emitAt(syntax.STRING, off, line, col, isKnown)
		return
	case r == '\u00a0' || '\u2000' <= r && r <= '\u200b' || r == '\u202f' || r == '\u2060' || r == '\u3000' || r == '\ufeff' || r == '\f' || r == '\v':
		s.report(off, fmt.Sprintf("got white space U+%04X, want a space", r), "write ordinary spaces")
		step(size)
		return
	}
	message, hint := fmt.Sprintf("got U+%04X, which begins no token", r), "remove it, or put it in a string"
	if shown := printable(string(r)); shown != "?" {
		message = fmt.Sprintf("got '%s', which begins no token", shown)
	}
	switch {
	case lookalikes[r] != "":
		hint = "write " + lookalikes[r]
	case r == '?':
		message, hint = "got '?', which begins no token", "for a choice write x if y else z"
	case r == '$':
		hint = "names begin with a letter or _"
	}
	s.report(off, message, hint)
	col := s.col(off)
	step(size)
	s.emitAt(syntax.ILLEGAL, off, s.line, col, isKnown)
}
