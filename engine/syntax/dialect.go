package syntax

import (
	"go.starlark.net/syntax"
)

// Names of the functions that constructs of Python become calls of. No program can spell them; who runs
// a tree has to define them.
const (
	// FString makes a text of its arguments, in order. A string literal stands for itself. A tuple (x, conversion, specification)
	// is a field: conversion is a literal, "r", "s", "a" or "", and specification a string or a call of FString.
	FString = "<fstring>"

	// Chain is a comparison of several: its first argument is a comparison "a < b", and each further one a unary
	// expression "< c" whose operator compares the operand before with its own.
	Chain = "<chain>"
)

// The operator "**" is a binary expression whose operator is [syntax.STARSTAR], and "x **= y" an assignment with that operator. "is" and "is not"
// are "==" and "!=", with None, True or False on one side.

// extend notes that the program is in the dialect, and not in Starlark.
func (p *parser) extend() { p.extended = true }

// special returns a call of one of the functions above.
func (p *parser) special(name string, pos syntax.Position, args ...syntax.Expr) *syntax.CallExpr {
	p.extend()
	call := node(&p.calls)
	call.Fn, call.Lparen, call.Args, call.Rparen = p.newIdent(pos, name), pos, args, pos
	return call
}

// text returns a string literal that is not in the program as such.
func (p *parser) newText(pos syntax.Position, value, raw string) *syntax.Literal {
	lit := node(&p.lits)
	lit.Token, lit.TokenPos, lit.Raw, lit.Value = syntax.STRING, pos, raw, value
	return lit
}

// chain adds an operator and its operand to a comparison.
func (p *parser) chain(x syntax.Expr, pos syntax.Position, op kind, y syntax.Expr) syntax.Expr {
	next := &syntax.UnaryExpr{OpPos: pos, Op: op, X: y}
	if call, ok := x.(*syntax.CallExpr); ok && isSpecial(call, Chain) {
		call.Args = append(call.Args, next)
		return call
	}
	start, _ := x.Span()
	return p.special(Chain, start, x, next)
}

func isSpecial(call *syntax.CallExpr, name string) bool {
	id, ok := call.Fn.(*syntax.Ident)
	return ok && id.Name == name
}

// lastOperand returns what the next operator of a chain compares.
func lastOperand(x syntax.Expr) syntax.Expr {
	switch x := x.(type) {
	case *syntax.CallExpr:
		if isSpecial(x, Chain) {
			return x.Args[len(x.Args)-1].(*syntax.UnaryExpr).X
		}
	case *syntax.BinaryExpr:
		return x.Y
	}
	return x
}

// identity returns the comparison that "is" stands for, at token i. Whether two values are one object is nothing that a program can
// ask, but for the constants of which there is one each.
func (p *parser) identity(i int, not bool, x, y syntax.Expr) kind {
	p.extend()
	if !isConstant(x) && !isConstant(y) {
		p.report(i, refusedIs.message, refusedIs.hint)
	}
	if not {
		return syntax.NEQ
	}
	return syntax.EQL
}

func isConstant(x syntax.Expr) bool {
	for {
		paren, ok := x.(*syntax.ParenExpr)
		if !ok {
			break
		}
		x = paren.X
	}
	id, ok := x.(*syntax.Ident)
	return ok && (id.Name == "None" || id.Name == "True" || id.Name == "False")
}

// power parses the operator ** and its right operand, which may have a sign.
func (p *parser) power(x syntax.Expr) syntax.Expr {
	p.extend()
	h := p.h
	pos := p.next()
	p.enter()
	y := p.operand()
	p.leave()
	p.tall(max(h, p.h))
	return p.newBinary(x, pos, syntax.STARSTAR, y)
}
