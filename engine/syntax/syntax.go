// Package syntax reads programs: a scanner and a parser for the dialect of
// Starlark that agents write. [Parse] turns the text of one file into the nodes
// of go.starlark.net/syntax, on which that module's resolver works, or into
// [Errors]: every problem of the file at once, each with its repair.
//
// The language and the trees are those of go.starlark.net with every option of
// its dialect on; spec/language.md is the grammar, and lists the few differences.
//
// How the files divide:
//
//	token.go    kinds of token, and their names in messages
//	scan.go     text to tokens: lines, indentation, words, punctuation
//	bracket.go  brackets: a token list leaves the scanner balanced, whatever the text
//	literal.go  numbers and strings: their extent, and later their value
//	fstring.go  where an f-string ends
//	field.go    what is in an f-string
//	parse.go    the parser's frame: tokens, limits, recovery from errors
//	stmt.go     statements
//	expr.go     expressions
//	dialect.go  what of Python becomes a call of a function that no program can spell
//	imports.go  imports, which are assignments
//	refuse.go   what else models write from habit, and what to write instead
//
// What go.starlark.net's nodes cannot hold, or its resolver does not take, is lowered as it is parsed: to calls of the functions
// whose names begin with "<" (see [FString] and those after it), and to other statements. Positions stay those of what was written.
//
// Columns count Unicode code points from 1, as go.starlark.net counts them: a tab is one
// column, "é" is one (as one code point), and a byte order mark is one.
package syntax

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"go.starlark.net/syntax"
)

// Limits bound one file. A field that is zero or less means its default.
type Limits struct {
	// Bytes is the greatest size of the source. The default is 1 MiB. It is at
	// most 1 GiB.
	Bytes int

	// Tokens is the greatest number of tokens, counting those for indentation
	// and ends of lines. The default is 200,000.
	Tokens int

	// Depth is the greatest depth of the tree, in nodes from a statement of the
	// file to the innermost expression. Everything that later
	// walks the tree recurses at most that deep, so chains count too: each operator of
	// "a + b + c", each call of "f()()", each "elif" and each clause of a
	// comprehension is one level. The default is 200, the greatest value 1,000.
	Depth int
}

const (
	defaultBytes  = 1 << 20
	defaultTokens = 200_000
	defaultDepth  = 200

	mostBytes = 1 << 30 // offsets and columns are 32 bits wide
	mostDepth = 1000    // what a recursive walk can take on any platform

	mostErrors = 100
)

func (l Limits) withDefaults() Limits {
	if l.Bytes <= 0 {
		l.Bytes = defaultBytes
	}
	if l.Tokens <= 0 {
		l.Tokens = defaultTokens
	}
	if l.Depth <= 0 {
		l.Depth = defaultDepth
	}
	l.Bytes = min(l.Bytes, mostBytes)
	l.Depth = min(l.Depth, mostDepth)
	return l
}

// Error is one problem of a file.
type Error struct {
	File    string
	Line    int    // from 1
	Column  int    // from 1, in code points
	Message string // what was found, and what was wanted; one line
	Hint    string // what to write instead; one line, or empty
}

// Error returns "file:line:col: message". The hint is not in it.
func (e Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// Errors are the problems of one file, in order of position, at most one for
// each position and about a hundred in all.
type Errors []Error

// Error returns the problems a line each, every one followed by its hint on a
// line of its own, "hint: …".
func (e Errors) Error() string {
	var b strings.Builder
	for i, err := range e {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(err.Error())
		if err.Hint != "" {
			b.WriteString("\nhint: " + err.Hint)
		}
	}
	return b.String()
}

// Parse parses one file. The name is used in positions only. The tree has Path,
// Stmts and Options (every option of the dialect on) set, carries no comments, and shares
// memory with a copy of src.
//
// On any problem Parse returns no tree, and an error that is [Errors], never empty.
// A text that is not UTF-8, holds NUL bytes or exceeds a limit is reported as such without the problems that may
// be behind it. Parse never panics, and takes time and memory proportional to the size of src.
func Parse(file string, src []byte, limits Limits) (tree *syntax.File, err error) {
	tree, _, err = parse(file, src, limits)
	return tree, err
}

// parse is Parse, and reports whether the program has anything in it that is not Starlark.
func parse(file string, src []byte, limits Limits) (tree *syntax.File, extended bool, err error) {
	limits = limits.withDefaults()
	errs := &errorList{file: file}
	if len(src) > limits.Bytes {
		errs.add(1, 1, fmt.Sprintf("source of %d bytes, want at most %d", len(src), limits.Bytes),
			"split the program, or pass data in as an input")
		return nil, false, errs.sorted()
	}
	text := string(src)
	if checkText(text, errs); errs.any() {
		return nil, false, errs.sorted()
	}

	s := scanners.Get().(*scanner)
	defer s.release()
	s.reset(text, limits, errs)
	s.scan()
	if s.stopped {
		return nil, false, errs.sorted()
	}

	p := parsers.Get().(*parser)
	defer p.release()
	p.reset(&file, s)
	stmts := p.file()
	if errs.any() {
		return nil, false, errs.sorted()
	}
	return &syntax.File{Path: file, Stmts: stmts, Options: options()}, p.extended, nil
}

// options returns the dialect: whatever go.starlark.net can do. Budgets
// make while loops and recursion safe.
func options() *syntax.FileOptions {
	return &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}
}

// checkText reports bytes that no program holds: NUL, at which a reader in C
// would see the file end, and what is not UTF-8. It reports one a line.
func checkText(text string, errs *errorList) {
	if strings.IndexByte(text, 0) < 0 && utf8.ValidString(text) {
		return
	}
	line, col, reported := int32(1), int32(1), int32(0)
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		bad := r == 0 || r == utf8.RuneError && n == 1
		if bad && line != reported {
			reported = line
			if r == 0 {
				errs.add(line, col, "got a NUL byte, want text", "remove the NUL byte; in a string write \\0")
			} else {
				errs.add(line, col, fmt.Sprintf("got byte 0x%02x, which is not UTF-8, want UTF-8 text", text[i]),
					"save the file as UTF-8; for bytes write b\"\\x"+fmt.Sprintf("%02x", text[i])+"\"")
			}
			if errs.full() {
				return
			}
		}
		if r == '\r' && strings.HasPrefix(text[i:], "\r\n") {
			n = 2
		}
		if i += n; r == '\n' || r == '\r' {
			line, col = line+1, 1
		} else {
			col++
		}
	}
}

// errorList collects the problems of one file.
type errorList struct {
	file string
	list Errors
	over bool // there were more than the list takes
}

func (l *errorList) add(line, col int32, message, hint string) {
	if l.full() {
		l.over = true
		return
	}
	l.list = append(l.list, Error{File: l.file, Line: int(line), Column: int(col), Message: message, Hint: hint})
}

func (l *errorList) any() bool  { return len(l.list) > 0 }
func (l *errorList) full() bool { return len(l.list) >= mostErrors }

// sorted returns the problems in order of position, the first found of those at
// one position.
func (l *errorList) sorted() error {
	slices.SortStableFunc(l.list, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	l.list = slices.CompactFunc(l.list, func(a, b Error) bool { return a.Line == b.Line && a.Column == b.Column })
	if l.over {
		last := l.list[len(l.list)-1]
		last.Message, last.Hint = fmt.Sprintf("more than %d problems: the rest is not reported", mostErrors), ""
		l.list = append(l.list, last)
	}
	return l.list
}

// scanners keeps the memory of scanners between files: a short program is parsed
// in a few microseconds, of which allocating tokens anew would be a large part.
var scanners = sync.Pool{New: func() any { return new(scanner) }}
