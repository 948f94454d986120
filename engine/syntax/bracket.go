package syntax

import (
	"fmt"
	"strings"

	"go.starlark.net/syntax"
)

// brackets is what a scanner knows of the brackets that are open. It sees to it that
// the tokens come out balanced: where the text is not, it reports that, closes or
// drops brackets, and marks the tokens that it made up.
type brackets struct {
	open  []bracket
	count [3]int // of each shape in open

	// The first line since the outermost bracket was opened that looks as if a
	// statement began there. If the bracket is never closed, it ended before that line.
	suspect suspect

	restarts int
}

type bracket struct {
	shape     shape
	line, col int32
}

type shape uint8 // an index of openers and closers

const (
	openers = "([{"
	closers = ")]}"
)

var (
	openKinds  = [...]kind{syntax.LPAREN, syntax.LBRACK, syntax.LBRACE}
	closeKinds = [...]kind{syntax.RPAREN, syntax.RBRACK, syntax.RBRACE}
)

func shapeOf(c byte) shape {
	switch c {
	case '(', ')':
		return 0
	case '[', ']':
		return 1
	}
	return 2
}

// suspect is a line to go back to.
type suspect struct {
	found bool
	start int // offset of the line
	line  int32
	toks  int // how many tokens, mends and errors there were before it
	mends int
	errs  int
	open  []bracket // what was open
}

// mostRestarts bounds how often a file is scanned again from a suspect, so that the time stays linear in its size.
const mostRestarts = 8

func (s *scanner) openBracket(c byte) {
	sh := shapeOf(c)
	s.brackets.open = append(s.brackets.open, bracket{sh, s.line, s.col(s.i)})
	s.brackets.count[sh]++
	s.i++
	s.emit(openKinds[sh], s.i-1, 0)
}

func (s *scanner) closeBracket(c byte) {
	b := &s.brackets
	sh := shapeOf(c)
	s.i++
	if len(b.open) == 0 {
		s.stray(c, sh)
		return
	}
	if top := b.open[len(b.open)-1]; top.shape != sh {
		if b.count[sh] == 0 {
			if s.messy != s.line && s.closedLater(top.shape) {
				s.stray(c, sh)
				return
			}
			s.mend(s.line, s.col(s.i-1), fmt.Sprintf("got '%c', want '%c' for the '%c' at %d:%d",
				c, closers[top.shape], openers[top.shape], top.line, top.col), "make the brackets match")
			sh = top.shape
		} else {
			s.i--
			n := len(b.open) - 1
			for b.open[n].shape != sh {
				n--
			}
			s.neverClosed(b.open[n+1:], fmt.Sprintf("before the '%c' at %d:%d", c, s.line, s.col(s.i)))
			s.messy = s.line
			s.closeTo(n+1, true)
			s.i++
		}
	}
	b.count[sh]--
	b.open = b.open[:len(b.open)-1]
	if len(b.open) == 0 {
		b.suspect.found = false
	}
	s.emit(closeKinds[sh], s.i-1, 0)
}

// stray reports and drops a closing bracket that was just consumed.
func (s *scanner) stray(c byte, sh shape) {
	if s.messy == s.line {
		return
	}
	s.mend(s.line, s.col(s.i-1), fmt.Sprintf("got '%c' with no '%c' open, want the bracket that it closes", c, openers[sh]), "remove it, or open the bracket")
}

// closedLater reports whether the rest of the line closes a bracket of the shape that it does not open. It is
// asked once a line, since it reads all of it.
func (s *scanner) closedLater(sh shape) bool {
	depth := 0
	for i := s.i; i < len(s.src) && s.src[i] != '\n' && s.src[i] != '\r'; i++ {
		switch s.src[i] {
		case openers[sh]:
			depth++
		case closers[sh]:
			if depth--; depth < 0 {
				return true
			}
		}
	}
	return false
}

// neverClosed reports brackets that lack their closing ones, at the innermost.
func (s *scanner) neverClosed(open []bracket, where string) {
	in := open[len(open)-1]
	missing := make([]byte, 0, min(len(open), 8))
	for i := len(open) - 1; i >= 0 && len(missing) < cap(missing); i-- {
		missing = append(missing, closers[open[i].shape])
	}
	s.mends = append(s.mends, int32(len(s.toks)))
	if s.messy == in.line {
		return // a quote may have swallowed what closes it
	}
	s.errs.add(in.line, in.col, fmt.Sprintf("'%c' is never closed, want '%c'", openers[in.shape], closers[in.shape]),
		fmt.Sprintf("add '%s' %s", missing, where))
}

// closeTo makes up closing brackets until n are open. A colon that ends the line
// stays behind them: what lacks the bracket is the first line of a block.
func (s *scanner) closeTo(n int, emit bool) {
	b := &s.brackets
	last := len(s.toks) - 1
	colon := emit && n == 0 && last >= 0 && s.toks[last].kind == syntax.COLON
	var held token
	if colon {
		held = s.toks[last]
		s.toks = s.toks[:last]
	}
	for len(b.open) > n {
		sh := b.open[len(b.open)-1].shape
		b.open = b.open[:len(b.open)-1]
		b.count[sh]--
		if emit {
			s.emit(closeKinds[sh], s.i, isKnown)
		}
	}
	if colon && !s.stopped {
		s.toks = append(s.toks, held)
	}
	if n == 0 {
		b.suspect.found = false
	}
}

// abandon is asked at the first token of each line within brackets, whose
// indentation is col. If the line begins with a word that can begin only a
// statement, the brackets were never closed: abandon closes them, and returns
// true. The scanner is then at the beginning of the line before which they seem
// to end, this one or an earlier one. If the line merely looks like a statement,
// abandon remembers it.
func (s *scanner) abandon(col int) bool {
	b := &s.brackets
	w, rest := leadingWord(s.src[s.i:])
	if w == "" {
		return false
	}
	k := keyword(w)
	named := strings.HasPrefix(rest, "=") && !strings.HasPrefix(rest, "==")
	switch {
	case onlyStatement(k) && !named:
		if b.suspect.found {
			s.goBack()
			return true
		}
		s.neverClosed(b.open, fmt.Sprintf("before line %d", s.line))
		s.closeTo(0, true)
		s.emit(syntax.NEWLINE, s.i, isKnown)
		s.i = s.start
		return true
	case !b.suspect.found && b.restarts < mostRestarts && (col <= s.levels[len(s.levels)-1].col || s.afterColon()) && likeStatement(k, rest):
		b.suspect = suspect{
			found: true, start: s.start, line: s.line,
			toks: len(s.toks), mends: len(s.mends), errs: len(s.errs.list), open: append([]bracket(nil), b.open...),
		}
	}
	return false
}

// afterColon reports whether the line before ended in a colon, but not in braces: like the
// first line of a block.
func (s *scanner) afterColon() bool {
	return s.brackets.open[len(s.brackets.open)-1].shape != shapeOf('{') && s.toks[len(s.toks)-1].kind == syntax.COLON
}

// endBrackets is asked at the end of the file, and reports brackets that are still
// open. If there is a line where they seem to have ended, it goes back there and returns true.
func (s *scanner) endBrackets() bool {
	b := &s.brackets
	switch {
	case len(b.open) == 0:
		return false
	case s.cut: // by a string, which was reported
	case b.suspect.found:
		s.goBack()
		return true
	default:
		s.neverClosed(b.open, "where it ends")
	}
	s.closeTo(0, true)
	return false
}

// goBack closes the brackets that were open at the suspect, and has the
// text scanned again from there.
func (s *scanner) goBack() {
	b := &s.brackets
	at := b.suspect
	b.restarts++
	s.toks, s.mends, s.errs.list, s.errs.over = s.toks[:at.toks], s.mends[:at.mends], s.errs.list[:at.errs], false
	s.i, s.start, s.line, s.wide = at.start, at.start, at.line, 0
	s.closeTo(0, false)
	b.open = append(b.open, at.open...)
	for _, o := range at.open {
		b.count[o.shape]++
	}
	s.neverClosed(b.open, fmt.Sprintf("before line %d", at.line))
	s.messy = 0
	s.closeTo(0, true)
	s.emit(syntax.NEWLINE, s.i, isKnown)
}

// leadingWord returns the ASCII word that s begins with, and what follows it
// and its spaces.
func leadingWord(s string) (word, rest string) {
	i := 0
	for i < len(s) && (class[s[i]] == letter || i > 0 && class[s[i]] == digit) {
		i++
	}
	return s[:i], strings.TrimLeft(s[i:], " \t")
}

// onlyStatement reports whether a keyword begins a statement wherever it stands.
func onlyStatement(k kind) bool {
	switch k {
	case syntax.DEF, syntax.RETURN, syntax.WHILE, syntax.PASS, syntax.BREAK, syntax.CONTINUE, syntax.ELIF, syntax.LOAD,
		syntax.CLASS, syntax.DEL, syntax.EXCEPT, syntax.FINALLY, syntax.FROM, syntax.GLOBAL, syntax.IMPORT,
		syntax.NONLOCAL, syntax.RAISE, syntax.TRY, syntax.WITH:
		return true
	}
	return false
}

// likeStatement reports whether a word and what follows it look like the
// beginning of a statement rather than like one more element of a bracket.
func likeStatement(k kind, rest string) bool {
	switch k {
	case syntax.IF, syntax.FOR:
		return true
	case syntax.IDENT:
		return rest != "" && strings.IndexByte("=.([+-*/%&|", rest[0]) >= 0
	}
	return false
}
