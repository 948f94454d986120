package syntax

import (
	"fmt"
	"strconv"

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

	// Generator is a generator expression: its argument is a comprehension of a list.
	Generator = "<generator>"

	// List, Tuple and Set are displays in which elements have a star. Their arguments are iterables, whose elements they have.
	List  = "<list>"
	Tuple = "<tuple>"
	Set   = "<set>"

	// Dict is a display with **: the entries of its arguments, which are dicts. Keywords is the same for the arguments of a call, which differ in their keys.
	Dict     = "<dict>"
	Keywords = "<keywords>"

	// Unpack gives of a sequence x, with ints n and m, a tuple of its first n elements, the list of those between, and its last m.
	// UnpackEach gives the list of that for each element of x.
	Unpack     = "<unpack>"
	UnpackEach = "<unpack each>"

	// Copies gives a tuple of its first argument as many times as its second says: x = y = v assigns that to (x, y).
	Copies = "<copies>"

	// Delete takes the element at its second argument out of its first.
	Delete = "<delete>"
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
	if !isConstant(x) && !isConstant(y) && !isTypeCall(x) && !isTypeCall(y) {
		p.report(i, refusedIs.message, refusedIs.hint)
	}
	if not {
		return syntax.NEQ
	}
	return syntax.EQL
}

// isTypeCall reports whether an expression is type(x): types are compared with is as with ==.
func isTypeCall(x syntax.Expr) bool {
	call, ok := unparen(x).(*syntax.CallExpr)
	if !ok || len(call.Args) != 1 {
		return false
	}
	id, ok := call.Fn.(*syntax.Ident)
	return ok && id.Name == "type"
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

// generator returns the call that a generator expression is, from its first for up to the bracket end that closes it.
func (p *parser) generator(body syntax.Expr, end kind) syntax.Expr {
	h := p.h
	pos, _ := body.Span()
	clauses := p.clauses(end)
	p.tall(max(h, p.h) + len(clauses) + 1)
	return p.special(Generator, pos, &syntax.Comprehension{Lbrack: pos, Body: body, Clauses: clauses, Rbrack: p.pos(p.i)})
}

// loose notes a generator expression in parentheses. It may be an argument, or what is iterated over: where it could be given a name, and used
// twice, it is refused.
func (p *parser) loose(i int, x syntax.Expr) {
	p.settle()
	p.pending, p.pendingAt = x, i
}

// used says that x is used where a generator expression may stand.
func (p *parser) used(x syntax.Expr) syntax.Expr {
	if p.pending != nil && unparen(x) == p.pending {
		p.pending = nil
	}
	return x
}

// settle refuses a generator expression that was not used.
func (p *parser) settle() {
	if p.pending != nil {
		p.report(p.pendingAt, refusedGenerator.message, refusedGenerator.hint)
		p.pending = nil
	}
}

func unparen(x syntax.Expr) syntax.Expr {
	for {
		paren, ok := x.(*syntax.ParenExpr)
		if !ok {
			return x
		}
		x = paren.X
	}
}

// starred returns the sequence that an element with a star stands for, or nil.
func starred(x syntax.Expr) syntax.Expr {
	if u, ok := x.(*syntax.UnaryExpr); ok && u.Op == syntax.STAR {
		return u.X
	}
	return nil
}

func anyStarred(list []syntax.Expr) bool {
	for _, x := range list {
		if starred(x) != nil {
			return true
		}
	}
	return false
}

// display returns the call that a display is in which elements have a star: its arguments are sequences, whose elements are
// those of the display.
func (p *parser) display(name string, pos syntax.Position, list []syntax.Expr) syntax.Expr {
	p.tall(p.h + 1)
	var args, run []syntax.Expr
	flush := func() {
		if len(run) > 0 {
			args = append(args, &syntax.ListExpr{Lbrack: pos, List: run, Rbrack: pos})
			run = nil
		}
	}
	for _, x := range list {
		if seq := starred(x); seq != nil {
			flush()
			args = append(args, seq)
		} else {
			run = append(run, x)
		}
	}
	flush()
	return p.special(name, pos, args...)
}

// plain lowers an expression that is no target: a tuple with stars.
func (p *parser) plain(x syntax.Expr) syntax.Expr {
	if t, ok := x.(*syntax.TupleExpr); ok && anyStarred(t.List) {
		pos, _ := x.Span()
		return p.display(Tuple, pos, t.List)
	}
	if starred(x) != nil {
		pos, _ := x.Span()
		p.errs.add(pos.Line, pos.Col, refusedStar.message, refusedStar.hint)
	}
	return x
}

// target lowers what is assigned to and what is assigned, if a name in the target has a star.
func (p *parser) target(x, value syntax.Expr, unpack string) (target, from syntax.Expr) {
	list := elementsOf(unparen(x))
	for _, e := range list {
		if inner := elementsOf(unparen(e)); anyStarred(inner) {
			pos, _ := e.Span()
			p.errs.add(pos.Line, pos.Col, "got '*' in a tuple within a target, want names alone there", "bind the whole item to a name, and take that apart in an assignment of its own: a, *b = item")
			return x, value
		}
	}
	if !anyStarred(list) {
		return x, value
	}
	pos, _ := value.Span()
	at := -1
	targets := make([]syntax.Expr, len(list))
	for i, e := range list {
		targets[i] = e
		if seq := starred(e); seq != nil {
			if at >= 0 {
				star, _ := e.Span()
				p.errs.add(star.Line, star.Col, "got a second '*' in one assignment, want one", "slice the sequence instead: xs[1:-1]")
			}
			at, targets[i] = i, seq
		}
	}
	p.tall(p.h + 1)
	return &syntax.TupleExpr{List: targets}, p.special(unpack, pos, value, p.number(pos, at), p.number(pos, len(list)-at-1))
}

func elementsOf(x syntax.Expr) []syntax.Expr {
	switch x := x.(type) {
	case *syntax.TupleExpr:
		return x.List
	case *syntax.ListExpr:
		return x.List
	}
	return nil
}

// number returns an int literal that is not in the program.
func (p *parser) number(pos syntax.Position, n int) syntax.Expr {
	lit := node(&p.lits)
	lit.Token, lit.TokenPos, lit.Raw, lit.Value = syntax.INT, pos, strconv.Itoa(n), int64(n)
	return lit
}

// arrange puts arguments into the order that go.starlark.net's resolver takes: by position, by name, one *, one **.
func (p *parser) arrange(args []syntax.Expr) []syntax.Expr {
	var positional, named, maps []syntax.Expr
	stars, late, mixed := 0, false, false
	for _, a := range args {
		u, _ := a.(*syntax.UnaryExpr)
		b, _ := a.(*syntax.BinaryExpr)
		switch {
		case u != nil && u.Op == syntax.STARSTAR:
			maps = append(maps, a)
		case b != nil && b.Op == syntax.EQ:
			mixed = mixed || len(maps) > 0 || stars > 0
			named = append(named, a)
		case u != nil && u.Op == syntax.STAR:
			if len(maps) > 0 {
				return args
			}
			stars++
			positional = append(positional, a)
		default:
			if len(maps) > 0 || len(named) > 0 && stars == 0 {
				return args // an error, which the resolver gives
			}
			late = late || stars > 0
			positional = append(positional, a)
		}
	}
	if stars < 2 && len(maps) < 2 && !late && !mixed {
		return args
	}
	p.extend()
	p.tall(p.h + 2)
	var out []syntax.Expr
	first := 0
	for first < len(positional) && starred(positional[first]) == nil {
		first++
	}
	out = append(out, positional[:first]...)
	out = append(out, named...)
	if rest := positional[first:]; len(rest) == 1 {
		out = append(out, rest[0])
	} else if len(rest) > 0 {
		pos, _ := rest[0].Span()
		out = append(out, &syntax.UnaryExpr{OpPos: pos, Op: syntax.STAR, X: p.display(List, pos, rest)})
	}
	if len(maps) == 1 {
		out = append(out, maps[0])
	} else if len(maps) > 0 {
		pos, _ := maps[0].Span()
		all := make([]syntax.Expr, len(maps))
		for i, m := range maps {
			all[i] = m.(*syntax.UnaryExpr).X
		}
		out = append(out, &syntax.UnaryExpr{OpPos: pos, Op: syntax.STARSTAR, X: p.special(Keywords, pos, all...)})
	}
	return out
}

// merged returns the call that a dict display with ** is: its arguments are dicts, of which later ones count.
func (p *parser) merged(pos syntax.Position, list []syntax.Expr) syntax.Expr {
	p.tall(p.h + 1)
	var args, run []syntax.Expr
	flush := func() {
		for _, e := range run { // one dict each: a key may be there twice
			args = append(args, &syntax.DictExpr{Lbrace: pos, List: []syntax.Expr{e}, Rbrace: pos})
		}
		run = nil
	}
	for _, x := range list {
		if u, ok := x.(*syntax.UnaryExpr); ok && u.Op == syntax.STARSTAR {
			flush()
			args = append(args, u.X)
		} else {
			run = append(run, x)
		}
	}
	flush()
	return p.special(Dict, pos, args...)
}

// assert parses an assert statement: an if whose body raises an error.
func (p *parser) assert() syntax.Stmt {
	pos := p.next()
	cond := p.test()
	h := p.h
	var args []syntax.Expr
	if p.tok == syntax.COMMA {
		p.next()
		args = append(args, p.test())
		h = max(h, p.h)
	}
	p.tall(h + 3)
	return &syntax.IfStmt{
		If: pos, Cond: &syntax.UnaryExpr{OpPos: pos, Op: syntax.NOT, X: cond},
		True: []syntax.Stmt{&syntax.ExprStmt{X: p.special(Failed, pos, args...)}},
	}
}

// del parses a del statement of elements.
func (p *parser) del() {
	pos := p.next()
	for {
		at := p.i
		x := p.operand()
		p.tall(p.h + 2)
		switch e := unparen(x).(type) {
		case *syntax.IndexExpr:
			p.stmts = append(p.stmts, &syntax.ExprStmt{X: p.special(Delete, e.Lbrack, e.X, e.Y)})
		case *syntax.SliceExpr:
			p.extend()
			p.stmts = append(p.stmts, &syntax.ExprStmt{X: p.special(SetSlice, e.Lbrack, e, &syntax.ListExpr{Lbrack: e.Lbrack, Rbrack: e.Rbrack})})
		default:
			p.report(at, refusedDel.message, refusedDel.hint)
			p.stmts = append(p.stmts, &syntax.BranchStmt{Token: syntax.PASS, TokenPos: pos})
		}
		if p.tok != syntax.COMMA {
			return
		}
		p.next()
	}
}

// loopElse parses the else of a loop, if it has one: a name that no program can spell tells whether the loop was broken off.
func (p *parser) loopElse(loop syntax.Stmt) {
	if p.tok != syntax.ELSE {
		p.stmts = append(p.stmts, loop)
		return
	}
	h := p.h
	p.first = p.i
	line := p.toks[p.i].line
	pos := p.next()
	p.extend()
	p.colon("else")
	body := p.suite("else", line)
	p.loops++
	name := fmt.Sprintf("<broken %d>", p.loops)
	set := func(pos syntax.Position, value string) syntax.Stmt {
		return &syntax.AssignStmt{OpPos: pos, Op: syntax.EQ, LHS: p.newIdent(pos, name), RHS: p.newIdent(pos, value)}
	}
	var mark func(list []syntax.Stmt) []syntax.Stmt
	mark = func(list []syntax.Stmt) []syntax.Stmt {
		var out []syntax.Stmt
		for _, s := range list {
			switch s := s.(type) {
			case *syntax.BranchStmt:
				if s.Token == syntax.BREAK {
					out = append(out, set(s.TokenPos, "True"))
				}
			case *syntax.IfStmt:
				s.True, s.False = mark(s.True), mark(s.False)
			}
			out = append(out, s)
		}
		return out
	}
	var start syntax.Position // not by Span: where the body had an error, there is none
	switch s := loop.(type) {
	case *syntax.ForStmt:
		start, s.Body = s.For, mark(s.Body)
	case *syntax.WhileStmt:
		start, s.Body = s.While, mark(s.Body)
	}
	p.tall(max(h, p.h) + 2)
	p.stmts = append(p.stmts, set(start, "False"), loop, &syntax.IfStmt{
		If: pos, Cond: &syntax.UnaryExpr{OpPos: pos, Op: syntax.NOT, X: p.newIdent(pos, name)}, True: body,
	})
}
