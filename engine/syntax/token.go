package syntax

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"go.starlark.net/syntax"
)

// kind is the kind of a token: those of go.starlark.net, and those below.
type kind = syntax.Token

// Kinds that go.starlark.net does not have. The parser knows all of Python's
// punctuation, so that it can say what is wrong with a construct as a whole.
const (
	fstring  kind = iota + 100 // f"…", whole
	walrus                     // :=
	arrow                      // ->
	at                         // @
	ellipsis                   // ...
	powerEq                    // **=
	andAnd                     // &&
	orOr                       // ||
	bang                       // !
	unequal                    // <>
	fatArrow                   // =>
)

var extraNames = [...]string{"f-string", ":=", "->", "@", "...", "**=", "&&", "||", "!", "<>", "=>"}

// token is one token of the text. Its text is src[off:end].
type token struct {
	off, end  int32
	line, col int32
	kind      kind
	flag      uint8
}

// Flags of a token.
const (
	isRaw     uint8 = 1 << iota // string: r"…"
	isTriple                    // string: in triple quotes
	isEscaped                   // string: holds a backslash
	hasCR                       // string: holds a carriage return
	isKnown                     // the scanner has reported or supplied this token: say nothing more about it
)

// spell returns the text of the kind, for kinds that have only one.
func spell(k kind) string {
	if k >= fstring {
		return extraNames[k-fstring]
	}
	return k.String()
}

// describe says what a token is, for the "got" of a message.
func (p *parser) describe(t token) string {
	switch t.kind {
	case syntax.EOF, syntax.ILLEGAL:
		return spell(t.kind)
	case syntax.NEWLINE:
		return "end of line"
	case syntax.INDENT:
		return "a deeper indentation"
	case syntax.OUTDENT:
		return "end of block"
	case syntax.IDENT:
		return "name " + p.quoted(t)
	case syntax.INT, syntax.FLOAT:
		return "number " + clip(p.src[t.off:t.end])
	case syntax.STRING, syntax.BYTES:
		return "string " + clip(p.src[t.off:t.end])
	case fstring:
		return "f-string " + clip(p.src[t.off:t.end])
	}
	if isKeyword(t.kind) {
		return "keyword '" + spell(t.kind) + "'"
	}
	return "'" + spell(t.kind) + "'"
}

func (p *parser) quoted(t token) string { return "'" + clip(p.src[t.off:t.end]) + "'" }

// want says which token was wanted.
func want(k kind) string {
	switch k {
	case syntax.IDENT:
		return "a name"
	case syntax.NEWLINE:
		return "end of line"
	case syntax.STRING:
		return "a string"
	}
	return "'" + spell(k) + "'"
}

// clip shortens program text for a message, and keeps it on one line.
func clip(s string) string {
	const most = 24
	if i := strings.IndexAny(s, "\r\n"); i >= 0 {
		s = s[:i] + "…"
	}
	if utf8.RuneCountInString(s) <= most {
		return printable(s)
	}
	n := 0
	for i := range s {
		if n++; n == most {
			return printable(s[:i]) + "…"
		}
	}
	return printable(s)
}

// printable replaces what would disturb a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

func isKeyword(k kind) bool { return k >= syntax.AND && k <= syntax.YIELD }

// keyword returns the kind of a word: a keyword's, or IDENT.
func keyword(w string) kind {
	switch w {
	case "and":
		return syntax.AND
	case "break":
		return syntax.BREAK
	case "continue":
		return syntax.CONTINUE
	case "def":
		return syntax.DEF
	case "elif":
		return syntax.ELIF
	case "else":
		return syntax.ELSE
	case "for":
		return syntax.FOR
	case "if":
		return syntax.IF
	case "in":
		return syntax.IN
	case "lambda":
		return syntax.LAMBDA
	case "load":
		return syntax.LOAD
	case "not":
		return syntax.NOT
	case "or":
		return syntax.OR
	case "pass":
		return syntax.PASS
	case "return":
		return syntax.RETURN
	case "while":
		return syntax.WHILE

	// Reserved: never an identifier, and refused with a hint.
	case "as":
		return syntax.AS
	case "async":
		return syntax.ASYNC
	case "await":
		return syntax.AWAIT
	case "class":
		return syntax.CLASS
	case "del":
		return syntax.DEL
	case "except":
		return syntax.EXCEPT
	case "finally":
		return syntax.FINALLY
	case "from":
		return syntax.FROM
	case "global":
		return syntax.GLOBAL
	case "import":
		return syntax.IMPORT
	case "is":
		return syntax.IS
	case "nonlocal":
		return syntax.NONLOCAL
	case "raise":
		return syntax.RAISE
	case "try":
		return syntax.TRY
	case "with":
		return syntax.WITH
	case "yield":
		return syntax.YIELD
	}
	return syntax.IDENT
}
