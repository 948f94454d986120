package syntax

import (
	"errors"
	"strings"

	"go.starlark.net/syntax"
)

// LastExpr returns where the expression begins with which a program ends, if it does and has no errors. Lines and columns count from 1, columns in
// code points.
func LastExpr(src string) (line, column int, ok bool) {
	tree, err := Parse("", []byte(src), Limits{})
	if err != nil || len(tree.Stmts) == 0 {
		return 0, 0, false
	}
	last, ok := tree.Stmts[len(tree.Stmts)-1].(*syntax.ExprStmt)
	if !ok {
		return 0, 0, false
	}
	begin, _ := last.Span()
	return int(begin.Line), int(begin.Col), begin.Line > 0
}

// Unfinished reports whether a text is the beginning of a program that goes on in the next line: a bracket or a text is open, or a block has
// nothing in it.
func Unfinished(src string) bool {
	_, err := Parse("", []byte(src), Limits{})
	list, _ := errors.AsType[Errors](err)
	if len(list) == 0 {
		return false
	}
	first := list[0]
	switch {
	case strings.HasPrefix(first.Message, `got '\' within a line`):
		return strings.HasSuffix(src, `\`) && strings.Count(src, "\n")+1 == first.Line
	case strings.Contains(first.Message, " is never closed, "):
		return strings.HasSuffix(first.Hint, " where it ends")
	}
	rest, ok := strings.CutPrefix(first.Message, "got end of file")
	return ok && (strings.HasPrefix(rest, " after a try") || strings.HasPrefix(rest, ", want an indented block") || rest == ", want end of line")
}
