package syntax

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.starlark.net/syntax"
)

// scanner turns a text into a list of tokens that ends with EOF, twice, so that
// the parser may look one token ahead. INDENT and OUTDENT tokens are balanced,
// and so are brackets.
type scanner struct {
	src    string
	limits Limits
	errs   *errorList

	toks    []token
	mends   []int32 // before which tokens a bracket or quote was mended, having been reported
	messy   int32   // the last line with such a mend
	stopped bool    // at a limit, or after too many errors: the tokens are not worth parsing

	i     int   // offset of the next byte
	line  int32 // its line, from 1
	start int   // offset of the first byte of the line
	wide  int   // bytes in the line before i that continue a rune

	levels []level // open indentation, outermost first
	mixed  bool    // tabs and spaces were reported
	cut    bool    // a string ran to the end of the file, and was reported
	flat   int     // f-strings that begin before this offset end at the next quote

	brackets brackets
}

// level is one level of indentation.
type level struct {
	col   int // width, with tabs as go.starlark.net counts them
	chars int // width, with tabs as one
	alias int // another width that was reported, and is taken for this level; or -1
}

// reset prepares the scanner for a text. The memory of its slices is used again.
func (s *scanner) reset(src string, limits Limits, errs *errorList) {
	*s = scanner{
		src: src, limits: limits, errs: errs, line: 1,
		toks:     s.toks[:0],
		mends:    s.mends[:0],
		levels:   append(s.levels[:0], level{alias: -1}),
		brackets: brackets{open: s.brackets.open[:0]},
	}
}

// release gives the scanner's memory back, unless a file was so large that it is not worth keeping.
func (s *scanner) release() {
	const most = 1 << 14
	if cap(s.toks) > most || cap(s.mends) > most || cap(s.brackets.open) > most {
		s.toks, s.mends, s.brackets.open = nil, nil, nil
	}
	s.src, s.errs, s.brackets.suspect.open = "", nil, nil
	scanners.Put(s)
}

// col returns the column of an offset in the current line, at or before s.i.
func (s *scanner) col(off int) int32 { return int32(off-s.start-s.wide) + 1 }

// report reports a problem at an offset of the current line.
func (s *scanner) report(off int, message, hint string) {
	s.errs.add(s.line, s.col(off), message, hint)
}

// mend reports brackets or quotes that do not match, on the current line. Of several on
// one line only the first is reported: the others may follow from it.
func (s *scanner) mend(line, col int32, message, hint string) {
	if s.messy != s.line {
		s.errs.add(line, col, message, hint)
	}
	s.messy = s.line
	s.mends = append(s.mends, int32(len(s.toks)))
}

// emit appends the token from off to s.i, on the current line.
func (s *scanner) emit(k kind, off int, flag uint8) {
	s.emitAt(k, off, s.line, s.col(off), flag)
}

// emitAt is emit for a token that began on another line.
func (s *scanner) emitAt(k kind, off int, line, col int32, flag uint8) {
	if len(s.toks) >= s.limits.Tokens {
		if !s.stopped {
			s.errs.add(line, col, fmt.Sprintf("more than %d tokens", s.limits.Tokens),
				"split the program, or pass data in as an input")
		}
		s.stopped = true
		return
	}
	n := len(s.toks)
	if n < cap(s.toks) {
		s.toks = s.toks[:n+1]
	} else {
		s.toks = append(s.toks, token{})
	}
	// Field by field: a literal would be built on the stack, and the copy from there stalls.
	t := &s.toks[n]
	t.off, t.end, t.line, t.col, t.kind, t.flag = int32(off), int32(s.i), line, col, k, flag
}

// newline consumes an end of line: LF, CR or both.
func (s *scanner) newline() {
	if s.src[s.i] == '\r' && s.i+1 < len(s.src) && s.src[s.i+1] == '\n' {
		s.i++
	}
	s.i++
	s.line++
	s.start, s.wide = s.i, 0
}

const byteOrderMark = "\ufeff"

// scan scans the whole text.
func (s *scanner) scan() {
	if strings.HasPrefix(s.src, byteOrderMark) {
		s.report(0, "got a byte order mark, want the program", "save the file as UTF-8 without a byte order mark")
		s.i, s.wide = len(byteOrderMark), len(byteOrderMark)-1
	}
	fresh := true // nothing of the line was scanned yet
	for !s.stopped {
		if s.errs.over {
			s.stopped = true
			return
		}
		began, blank := fresh, false
		if fresh {
			fresh = false
			blank = s.indentation()
		}
		for s.i < len(s.src) && (s.src[s.i] == ' ' || s.src[s.i] == '\t') {
			s.i++
		}
		if s.i < len(s.src) && s.src[s.i] == '#' {
			s.restOfLine()
		}
		if s.i >= len(s.src) {
			if s.endBrackets() {
				fresh = true
				continue
			}
			s.end(began)
			return
		}
		switch c := s.src[s.i]; c {
		case '\n', '\r':
			fresh = true
			if !blank && len(s.brackets.open) == 0 {
				s.emit(syntax.NEWLINE, s.i, 0)
			}
			s.newline()
		case '\\':
			s.i++
			if s.i < len(s.src) && (s.src[s.i] == '\n' || s.src[s.i] == '\r') {
				s.newline()
				continue
			}
			s.mend(s.line, s.col(s.i-1), `got '\' within a line, want it at the end of a line`, "remove it; in a string, put the text in quotes")
			s.emit(syntax.ILLEGAL, s.i-1, isKnown)
		default:
			s.token(c)
		}
	}
}

// end closes the last line and the blocks that are open at the end of the file.
func (s *scanner) end(began bool) {
	if len(s.levels) > 1 && !began {
		s.emit(syntax.NEWLINE, s.i, 0)
	}
	for range len(s.levels) - 1 {
		s.emit(syntax.OUTDENT, s.i, 0)
	}
	s.emit(syntax.EOF, s.i, 0)
	if !s.stopped {
		s.toks = append(s.toks, s.toks[len(s.toks)-1])
	}
}

// restOfLine consumes what is left of a line, but not its end.
func (s *scanner) restOfLine() {
	for s.i < len(s.src) && s.src[s.i] != '\n' && s.src[s.i] != '\r' {
		if s.src[s.i]&0xc0 == 0x80 {
			s.wide++
		}
		s.i++
	}
}

// indentation consumes the white space that begins a line, and emits the change
// of level. It reports whether the line is blank: nothing more than a comment.
// Blank lines and lines within brackets change no level.
func (s *scanner) indentation() (blank bool) {
	col := 0
	begin := s.i
	for ; s.i < len(s.src); s.i++ {
		if c := s.src[s.i]; c == ' ' {
			col++
		} else if c == '\t' {
			col += 8 - (s.i-s.start)%8
		} else {
			break
		}
	}
	if s.i >= len(s.src) {
		return true
	}
	switch s.src[s.i] {
	case '#', '\n', '\r':
		return true
	case '`':
		if strings.HasPrefix(s.src[s.i:], "```") {
			s.report(s.i, "got a Markdown fence, want the program", "remove the line")
			s.restOfLine()
			return true
		}
	}
	if len(s.brackets.open) > 0 {
		if s.abandon(col) {
			return s.indentation()
		}
		return false
	}

	chars := s.i - begin
	top := &s.levels[len(s.levels)-1]
	switch {
	case col == top.col || col == top.alias:
		s.checkMixed(col == top.alias || chars == top.chars)
	case col > top.col:
		s.checkMixed(chars > top.chars)
		s.levels = append(s.levels, level{col: col, chars: chars, alias: -1})
		s.emit(syntax.INDENT, s.i, 0)
	default:
		s.outdent(col, chars)
	}
	return false
}

// outdent closes the levels deeper than col. A width that was never opened is
// reported, and from there on taken for the innermost level that is deeper.
func (s *scanner) outdent(col, chars int) {
	k := len(s.levels) - 1
	for k > 0 && s.levels[k].col > col && s.levels[k].alias != col {
		k--
	}
	to := &s.levels[k]
	switch {
	case to.col == col:
		s.checkMixed(to.chars == chars)
	case to.alias != col:
		s.report(s.i, fmt.Sprintf("got an indentation of %s, want that of the block (%d) or of an outer one (%d)",
			columns(col), s.levels[k+1].col, to.col), "indent every line of a block alike")
		k++
		s.levels[k].alias = col
	}
	for len(s.levels) > k+1 {
		s.levels = s.levels[:len(s.levels)-1]
		s.emit(syntax.OUTDENT, s.i, 0)
	}
}

func columns(n int) string {
	if n == 1 {
		return "1 column"
	}
	return strconv.Itoa(n) + " columns"
}

// checkMixed reports, once a file, an indentation that compares with another one
// in a way that depends on how wide a tab is: people, Python and go.starlark.net
// would see different blocks.
func (s *scanner) checkMixed(same bool) {
	if !same && !s.mixed {
		s.mixed = true
		s.report(s.i, "got tabs mixed with spaces, want an indentation that does not depend on the width of a tab",
			"indent with spaces only")
	}
}

// Classes of bytes.
const (
	other = iota
	letter
	digit
	wideByte // part of a rune of several bytes
)

var class = func() (t [256]uint8) {
	for c := range t {
		switch {
		case c >= utf8.RuneSelf:
			t[c] = wideByte
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_':
			t[c] = letter
		case '0' <= c && c <= '9':
			t[c] = digit
		}
	}
	return t
}()

// token scans the token that begins with byte c at s.i.
func (s *scanner) token(c byte) {
	switch class[c] {
	case letter:
		s.word()
		return
	case digit:
		s.number()
		return
	case wideByte:
		if r, _ := utf8.DecodeRuneInString(s.src[s.i:]); unicode.IsLetter(r) {
			s.word()
		} else {
			s.strange(r)
		}
		return
	}
	switch c {
	case '"', '\'':
		s.str(s.i, 0)
	case '(', '[', '{':
		s.openBracket(c)
	case ')', ']', '}':
		s.closeBracket(c)
	case '.':
		if s.i+1 < len(s.src) && class[s.src[s.i+1]] == digit {
			s.number()
			return
		}
		s.punctuation(c)
	default:
		s.punctuation(c)
	}
}

// letters consumes letters and digits, and returns the word from off.
func (s *scanner) letters(off int) string {
	for s.i < len(s.src) {
		switch class[s.src[s.i]] {
		case letter, digit:
			s.i++
			continue
		case wideByte:
			r, n := utf8.DecodeRuneInString(s.src[s.i:])
			if unicode.IsLetter(r) {
				s.i += n
				s.wide += n - 1
				continue
			}
		}
		break
	}
	return s.src[off:s.i]
}

// word scans an identifier, a keyword, or a string that a prefix begins.
func (s *scanner) word() {
	off, col := s.i, s.col(s.i)
	w := s.letters(off)
	if len(w) <= 2 && s.i < len(s.src) && (s.src[s.i] == '"' || s.src[s.i] == '\'') && s.prefixed(off, w) {
		return
	}
	s.emitAt(keyword(w), off, s.line, col, 0)
}

// prefixed scans a string literal whose prefix is w, and reports whether w is a prefix, of Python or ours.
func (s *scanner) prefixed(off int, w string) bool {
	switch w {
	case "r":
		s.str(off, isRaw)
		return true
	case "b", "rb":
		s.bytes(off, w)
		return true
	}
	switch lower := strings.ToLower(w); lower {
	case "f", "fr", "rf", "t", "tr", "rt":
		s.fstring(off)
	case "u":
		s.report(off, fmt.Sprintf("got string prefix %s, want r, b or rb", w), "leave the prefix out: every string is Unicode")
		s.str(off, isKnown)
	case "r":
		s.report(off, "got string prefix R, want r, b or rb", "write r\"…\"")
		s.str(off, isKnown|isRaw)
	case "b", "br", "rb":
		want := "b"
		if len(lower) == 2 {
			want = "rb"
		}
		s.report(off, fmt.Sprintf("got string prefix %s, want r, b or rb", w), "write "+want+"\"…\"")
		s.bytes(off, want)
	default:
		return false
	}
	return true
}

// next reports whether the byte at s.i+n is c.
func (s *scanner) next(n int, c byte) bool { return s.i+n < len(s.src) && s.src[s.i+n] == c }

// punctuation scans an operator or delimiter that is not a bracket.
func (s *scanner) punctuation(c byte) {
	k, n := syntax.ILLEGAL, 1
	eq := s.next(1, '=')
	switch c {
	case ',':
		k = syntax.COMMA
	case '.':
		k = syntax.DOT
		if s.next(1, '.') && s.next(2, '.') {
			k, n = ellipsis, 3
		}
	case ':':
		k = syntax.COLON
		if eq {
			k, n = walrus, 2
		}
	case ';':
		k = syntax.SEMI
	case '~':
		k = syntax.TILDE
	case '=':
		if k, n = either(eq, syntax.EQL, syntax.EQ); s.next(1, '>') {
			k, n = fatArrow, 2
		}
	case '+':
		k, n = either(eq, syntax.PLUS_EQ, syntax.PLUS)
	case '-':
		if k, n = either(eq, syntax.MINUS_EQ, syntax.MINUS); s.next(1, '>') {
			k, n = arrow, 2
		}
	case '%':
		k, n = either(eq, syntax.PERCENT_EQ, syntax.PERCENT)
	case '^':
		k, n = either(eq, syntax.CIRCUMFLEX_EQ, syntax.CIRCUMFLEX)
	case '&':
		if k, n = either(eq, syntax.AMP_EQ, syntax.AMP); s.next(1, '&') {
			k, n = andAnd, 2
		}
	case '|':
		if k, n = either(eq, syntax.PIPE_EQ, syntax.PIPE); s.next(1, '|') {
			k, n = orOr, 2
		}
	case '*':
		if k, n = either(eq, syntax.STAR_EQ, syntax.STAR); s.next(1, '*') {
			k, n = either(s.next(2, '='), powerEq, syntax.STARSTAR)
			n++
		}
	case '/':
		if k, n = either(eq, syntax.SLASH_EQ, syntax.SLASH); s.next(1, '/') {
			k, n = either(s.next(2, '='), syntax.SLASHSLASH_EQ, syntax.SLASHSLASH)
			n++
		}
	case '<':
		if k, n = either(eq, syntax.LE, syntax.LT); s.next(1, '<') {
			k, n = either(s.next(2, '='), syntax.LTLT_EQ, syntax.LTLT)
			n++
		} else if s.next(1, '>') {
			k, n = unequal, 2
		}
	case '>':
		if k, n = either(eq, syntax.GE, syntax.GT); s.next(1, '>') {
			k, n = either(s.next(2, '='), syntax.GTGT_EQ, syntax.GTGT)
			n++
		}
	case '!':
		k, n = either(eq, syntax.NEQ, bang)
	case '@':
		k = at
	default:
		s.strange(rune(c))
		return
	}
	off := s.i
	s.i += n
	s.emit(k, off, 0)
}

// either returns the kind and length of an operator that "=" may follow.
func either(eq bool, with, without kind) (kind, int) {
	if eq {
		return with, 2
	}
	return without, 1
}
