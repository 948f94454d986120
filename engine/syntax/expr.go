package syntax

import (
	"slices"
	"strconv"

	"go.starlark.net/syntax"
)

// Binding strength of binary operators; 0 means not a binary operator. Those that
// go.starlark.net does not have are refused where they are parsed.
const (
	levelOr = iota + 1
	levelAnd
	levelNot // the operand of not
	levelCompare
	levelPipe
	levelCircumflex
	levelAmp
	levelShift
	levelSum
	levelProduct
)

var strengths = [128]int8{
	syntax.OR: levelOr, orOr: levelOr,
	syntax.AND: levelAnd, andAnd: levelAnd,
	syntax.EQL: levelCompare, syntax.NEQ: levelCompare, syntax.LT: levelCompare, syntax.GT: levelCompare,
	syntax.LE: levelCompare, syntax.GE: levelCompare, syntax.IN: levelCompare, syntax.NOT: levelCompare, // not in
	syntax.IS: levelCompare, unequal: levelCompare,
	syntax.PIPE: levelPipe, syntax.CIRCUMFLEX: levelCircumflex, syntax.AMP: levelAmp,
	syntax.LTLT: levelShift, syntax.GTGT: levelShift,
	syntax.PLUS: levelSum, syntax.MINUS: levelSum,
	syntax.STAR: levelProduct, syntax.SLASH: levelProduct, syntax.SLASHSLASH: levelProduct, syntax.PERCENT: levelProduct, at: levelProduct,
}

// endsList reports whether a token ends an expression list after a comma.
func endsList(k kind) bool {
	switch k {
	case syntax.EOF, syntax.NEWLINE, syntax.EQ, syntax.RBRACE, syntax.RBRACK, syntax.RPAREN, syntax.SEMI:
		return true
	}
	return false
}

// expr parses an expression, or several with commas as a tuple. Only in parentheses may a comma end it.
func (p *parser) expr(inParens bool) syntax.Expr { return p.plain(p.exprs(inParens)) }

// exprs is expr of what may be a target: elements of a tuple may have a star.
func (p *parser) exprs(inParens bool) syntax.Expr {
	x := p.item()
	if p.tok != syntax.COMMA {
		return x
	}
	base, h := len(p.stack), p.h
	p.push(x)
	for p.tok == syntax.COMMA {
		comma := p.i
		p.next()
		if endsList(p.tok) {
			if !inParens {
				p.report(comma, "got a comma at the end, want an expression after it", "for a tuple write parentheses: (x,)")
			}
			break
		}
		p.push(p.item())
		h = max(h, p.h)
	}
	p.tall(h)
	return &syntax.TupleExpr{List: p.take(base)}
}

// item parses an element of a list or tuple.
func (p *parser) item() syntax.Expr {
	switch p.tok {
	case syntax.STAR:
		p.extend()
		pos := p.next()
		x := p.used(p.binary(levelPipe))
		p.tall(p.h)
		return &syntax.UnaryExpr{OpPos: pos, Op: syntax.STAR, X: x}
	case syntax.STARSTAR:
		p.refuse(refusedStar)
		p.next()
	}
	return p.test()
}

// test parses one expression: a lambda, a conditional, or what binds tighter.
func (p *parser) test() syntax.Expr {
	if p.tok == syntax.LAMBDA {
		return p.lambda(true)
	}
	x := p.binary(levelOr)
	switch p.tok {
	case syntax.IF:
		return p.cond(x)
	case walrus:
		return p.walrus(x)
	}
	return x
}

func (p *parser) cond(x syntax.Expr) syntax.Expr {
	at, h := p.i, p.h
	pos := p.next()
	test := p.binary(levelOr)
	h = max(h, p.h)
	if p.tok != syntax.ELSE {
		p.report(at, "got a conditional expression without else, want x if y else z", "add else None, or write an if statement")
		return x
	}
	elsePos := p.next()
	p.enter()
	otherwise := p.test()
	p.leave()
	p.tall(max(h, p.h))
	return &syntax.CondExpr{If: pos, Cond: test, True: x, ElsePos: elsePos, False: otherwise}
}

// lambda parses a lambda, whose body may be a conditional, but for the if of a comprehension.
func (p *parser) lambda(cond bool) syntax.Expr {
	p.enter()
	defer p.leave()
	pos := p.next()
	var params []syntax.Expr
	h := 0
	if p.tok != syntax.COLON {
		params = p.params(syntax.COLON)
		h = p.h
	}
	p.expect(syntax.COLON)
	p.lambdas++
	var body syntax.Expr
	switch {
	case cond:
		body = p.test()
	case p.tok == syntax.LAMBDA:
		body = p.lambda(false)
	default:
		body = p.binary(levelOr)
	}
	p.lambdas--
	p.tall(max(h, p.h))
	return &syntax.LambdaExpr{Lambda: pos, Params: params, Body: body}
}

// binary parses operands and the operators between them that bind at least as tight as least.
func (p *parser) binary(least int8) syntax.Expr {
	p.enter()
	var x syntax.Expr
	if p.tok == syntax.NOT || p.tok == bang {
		x = p.not(least)
	} else {
		x = p.operand()
	}
	compared := false
	for {
		op := p.tok
		level := strengths[op]
		if level < least || level == 0 {
			p.leave()
			return x
		}
		h := p.h
		opIndex, isNot := p.i, false
		pos := p.next()
		switch op {
		case syntax.NOT:
			// The position of "not in" is that of "in", as in go.starlark.net.
			if p.tok != syntax.IN {
				p.fail("got "+p.describe(p.toks[p.i])+" after 'not', want 'in'", "write x not in xs, or x and not y")
			}
			op = syntax.NOT_IN
			pos = p.next()
		case syntax.IS:
			if p.tok == syntax.NOT {
				isNot = true
				p.next()
			}
		case unequal, andAnd, orOr, at:
			p.i, p.tok = opIndex, op
			p.refuse(refusedOperators[op])
			p.next()
		}
		y := p.binary(level + 1)
		if op == syntax.IN || op == syntax.NOT_IN {
			p.used(y)
		}
		p.tall(max(h, p.h))
		if op == syntax.IS {
			before := x
			if compared {
				before = lastOperand(x)
			}
			op = p.identity(opIndex, isNot, before, y)
		}
		if level != levelCompare || !compared {
			compared = level == levelCompare
			x = p.newBinary(x, pos, op, y)
			continue
		}
		x = p.chain(x, pos, op, y)
	}
}

// not parses the operator not and its operand.
func (p *parser) not(least int8) syntax.Expr {
	if p.tok == bang {
		p.refuse(refusedOperators[bang])
	} else if least > levelNot {
		p.report(p.i, "got keyword 'not' within an expression that binds tighter, want an operand", "write parentheses: (not x)")
	}
	pos := p.next()
	var x syntax.Expr
	if p.tok == syntax.NOT || p.tok == bang {
		p.enter()
		x = p.not(levelNot)
		p.leave()
	} else {
		x = p.binary(levelCompare)
	}
	p.tall(p.h)
	return &syntax.UnaryExpr{OpPos: pos, Op: syntax.NOT, X: x}
}

// operand parses a primary expression with what follows it: .name, (args), [index].
func (p *parser) operand() syntax.Expr {
	switch p.tok {
	case syntax.MINUS, syntax.PLUS, syntax.TILDE:
		op := p.tok
		pos := p.next()
		p.enter()
		x := p.operand()
		p.leave()
		p.tall(p.h)
		return &syntax.UnaryExpr{OpPos: pos, Op: op, X: x}
	}
	x := p.primary()
	for {
		switch p.tok {
		case syntax.DOT:
			dot := p.next()
			h := p.h
			id := p.ident()
			p.tall(h)
			d := node(&p.dots)
			d.Dot, d.X, d.Name = dot, x, id
			x = d
		case syntax.LBRACK:
			x = p.index(x)
		case syntax.LPAREN:
			h := p.h
			lparen := p.next()
			args := p.args()
			p.tall(max(h, p.h))
			rparen := p.expect(syntax.RPAREN)
			call := node(&p.calls)
			call.Fn, call.Lparen, call.Args, call.Rparen = x, lparen, args, rparen
			x = call
		case syntax.STARSTAR:
			return p.power(x)
		default:
			return x
		}
	}
}

// index parses an index or a slice of x.
func (p *parser) index(x syntax.Expr) syntax.Expr {
	h := p.h
	lbrack := p.next()
	var lo, hi, step syntax.Expr
	if p.tok != syntax.COLON {
		y := p.expr(false)
		h = max(h, p.h)
		if p.tok == syntax.RBRACK {
			p.tall(h)
			index := node(&p.indexes)
			index.X, index.Lbrack, index.Y, index.Rbrack = x, lbrack, y, p.next()
			return index
		}
		lo = y
	}
	if p.tok == syntax.COLON {
		p.next()
		if p.tok != syntax.COLON && p.tok != syntax.RBRACK {
			hi = p.test()
			h = max(h, p.h)
		}
	}
	if p.tok == syntax.COLON {
		p.next()
		if p.tok != syntax.RBRACK {
			step = p.test()
			h = max(h, p.h)
		}
	}
	p.tall(h)
	rbrack := p.expect(syntax.RBRACK)
	return &syntax.SliceExpr{X: x, Lbrack: lbrack, Lo: lo, Hi: hi, Step: step, Rbrack: rbrack}
}

// args parses the arguments of a call, up to the parenthesis that ends them.
func (p *parser) args() []syntax.Expr {
	base, h := len(p.stack), 0
	for p.tok != syntax.RPAREN && p.tok != syntax.EOF {
		if len(p.stack) > base {
			if p.tok != syntax.COMMA {
				p.separator(syntax.RPAREN)
			} else if p.next(); p.tok == syntax.RPAREN {
				break
			}
		}
		if p.tok == syntax.STAR || p.tok == syntax.STARSTAR {
			op := p.tok
			pos := p.next()
			x := p.used(p.test())
			h = max(h, p.h+1)
			p.push(&syntax.UnaryExpr{OpPos: pos, Op: op, X: x})
			continue
		}
		if isKeyword(p.tok) && p.tok != syntax.LOAD && p.peek() == syntax.EQ {
			p.keywordAsName()
			p.push(p.ident())
			p.next()
			p.test()
			h = max(h, p.h+1)
			continue
		}
		x := p.used(p.test())
		switch p.tok {
		case syntax.EQ:
			if _, ok := x.(*syntax.Ident); !ok {
				p.fail("got '=' after an expression, want ',' or ')'", "a keyword argument is written name=value; to compare write ==")
			}
			eq := p.next()
			y := p.used(p.test())
			p.h++
			x = p.newBinary(x, eq, syntax.EQ, y)
		case syntax.FOR:
			if len(p.stack) > base {
				p.report(p.i, refusedBare.message, refusedBare.hint)
			}
			x = p.generator(x, syntax.RPAREN)
			if p.tok == syntax.COMMA && p.peek() != syntax.RPAREN {
				p.report(p.i, refusedBare.message, refusedBare.hint)
			}
		}
		h = max(h, p.h)
		p.push(x)
	}
	p.h = h
	return p.arrange(p.take(base))
}

// primary parses an operand that holds together by itself.
func (p *parser) primary() syntax.Expr {
	switch p.tok {
	case syntax.IDENT, syntax.LOAD:
		p.h = 1
		return p.ident()
	case syntax.INT, syntax.FLOAT:
		return p.literal()
	case syntax.STRING, syntax.BYTES, fstring:
		return p.strings()
	case syntax.LPAREN:
		return p.paren()
	case syntax.LBRACK:
		return p.list()
	case syntax.LBRACE:
		return p.dict()
	}
	return p.refusedPrimary()
}

// ident parses a name. A keyword in its place is reported and taken for one, but for load, which is one where no load statement is.
func (p *parser) ident() *syntax.Ident {
	if p.tok == syntax.LOAD {
		p.extend()
	} else if p.tok != syntax.IDENT {
		if !isKeyword(p.tok) {
			p.unexpected("a name")
		}
		p.keywordAsName()
	}
	name := p.text()
	return p.newIdent(p.next(), name)
}

// literal parses one literal.
func (p *parser) literal() *syntax.Literal {
	p.h = 1
	lit := node(&p.lits)
	t := &p.toks[p.i]
	lit.Token = t.kind
	switch t.kind {
	case syntax.STRING, syntax.BYTES:
		var value string
		value, lit.Raw = p.stringValue(t)
		lit.Value = value
	case syntax.INT:
		if lit.Raw = p.text(); t.flag&isKnown == 0 {
			lit.Value = intValue(lit.Raw)
		}
	case syntax.FLOAT:
		if lit.Raw = p.text(); t.flag&isKnown == 0 {
			f, err := strconv.ParseFloat(lit.Raw, 64)
			if err != nil {
				p.report(p.i, "number "+clip(lit.Raw)+" is beyond the range of a float, want at most 1.8e308", "write float(\"inf\") for infinity")
			}
			lit.Value = f
		}
	}
	lit.TokenPos = p.next()
	return lit
}

// paren parses what begins with a parenthesis: an empty tuple, or an expression.
func (p *parser) paren() syntax.Expr {
	lparen := p.next()
	if p.tok == syntax.RPAREN {
		p.h = 1
		return &syntax.TupleExpr{Lparen: lparen, Rparen: p.next()}
	}
	at, vars := p.i, p.vars
	p.vars = false
	x := p.exprs(true)
	if !vars {
		x = p.plain(x)
	}
	if p.tok == syntax.FOR {
		x = p.generator(x, syntax.RPAREN)
		p.loose(at, x)
	}
	p.tall(p.h)
	if p.tok != syntax.RPAREN {
		p.unexpected("',' or ')'")
	}
	return &syntax.ParenExpr{Lparen: lparen, X: x, Rparen: p.next()}
}

func (p *parser) list() syntax.Expr {
	lbrack := p.next()
	base, h := len(p.stack), 0
	for p.tok != syntax.RBRACK {
		p.push(p.item())
		h = max(h, p.h)
		if p.tok == syntax.FOR && len(p.stack) == base+1 {
			body := p.stack[base]
			p.stack = p.stack[:base]
			return p.comprehension(lbrack, body, syntax.RBRACK)
		}
		if p.tok == syntax.COMMA {
			p.next()
		} else if p.tok != syntax.RBRACK {
			p.separator(syntax.RBRACK)
		}
	}
	p.tall(h)
	rbrack := p.next()
	if anyStarred(p.stack[base:]) {
		return p.display(List, lbrack, p.take(base))
	}
	return &syntax.ListExpr{Lbrack: lbrack, List: p.take(base), Rbrack: rbrack}
}

func (p *parser) dict() syntax.Expr {
	lbrace := p.next()
	base, h := len(p.stack), 0
	set := false
	for p.tok != syntax.RBRACE {
		p.push(p.entry(&set))
		h = max(h, p.h)
		if p.tok == syntax.FOR && len(p.stack) == base+1 {
			body := p.stack[base]
			p.stack = p.stack[:base]
			if set {
				p.extend()
			}
			return p.comprehension(lbrace, body, syntax.RBRACE)
		}
		if p.tok == syntax.COMMA {
			p.next()
		} else if p.tok != syntax.RBRACE {
			p.separator(syntax.RBRACE)
		}
	}
	p.tall(h)
	rbrace := p.next()
	if list := p.stack[base:]; set {
		for _, x := range list {
			if _, ok := x.(*syntax.DictEntry); ok || isDoubleStar(x) {
				p.report(p.i-1, "got an entry among the elements of a set, want elements alone", "write {key: value} for every entry of a dict, {a, b} for a set")
				break
			}
		}
		return p.display(Set, lbrace, p.take(base))
	} else if slices.ContainsFunc(list, isDoubleStar) {
		return p.merged(lbrace, p.take(base))
	}
	return &syntax.DictExpr{Lbrace: lbrace, List: p.take(base), Rbrace: rbrace}
}

func isDoubleStar(x syntax.Expr) bool {
	u, ok := x.(*syntax.UnaryExpr)
	return ok && u.Op == syntax.STARSTAR
}

// entry parses an entry of a dict, or an element of a set.
func (p *parser) entry(set *bool) syntax.Expr {
	switch p.tok {
	case syntax.STARSTAR:
		p.extend()
		pos := p.next()
		x := p.binary(levelPipe)
		p.tall(p.h)
		return &syntax.UnaryExpr{OpPos: pos, Op: syntax.STARSTAR, X: x}
	case syntax.STAR:
		*set = true
		return p.item()
	}
	key := p.test()
	h := p.h
	if p.tok != syntax.COLON {
		p.noValue(set)
		return key
	}
	colon := p.next()
	value := p.test()
	p.tall(max(h, p.h))
	return &syntax.DictEntry{Key: key, Colon: colon, Value: value}
}

// comprehension parses a comprehension from its first for.
func (p *parser) comprehension(left syntax.Position, body syntax.Expr, end kind) syntax.Expr {
	h := p.h
	clauses := p.clauses(end)
	p.tall(max(h, p.h) + len(clauses))
	if p.tok != end {
		p.unexpected(want(end) + ", for or if")
	}
	return &syntax.Comprehension{Curly: end == syntax.RBRACE, Lbrack: left, Body: body, Clauses: clauses, Rbrack: p.next()}
}

// clauses parses the clauses of a comprehension. Each nests the rest in the evaluator, so each counts as a level.
func (p *parser) clauses(end kind) []syntax.Node {
	var clauses []syntax.Node
	h := 0
	for p.tok != end {
		if len(clauses) > p.most {
			p.tooDeep()
		}
		switch p.tok {
		case syntax.FOR:
			pos := p.next()
			vars := p.loopVars()
			h = max(h, p.h)
			in := p.expectIn()
			x := p.used(p.binary(levelOr))
			vars, x = p.target(vars, x, UnpackEach)
			clauses = append(clauses, &syntax.ForClause{For: pos, Vars: vars, In: in, X: x})
		case syntax.IF:
			pos := p.next()
			var cond syntax.Expr
			if p.tok == syntax.LAMBDA {
				cond = p.lambda(false)
			} else {
				cond = p.binary(levelOr)
			}
			clauses = append(clauses, &syntax.IfClause{If: pos, Cond: cond})
		default:
			p.h = h
			return clauses
		}
		h = max(h, p.h+1)
	}
	p.h = h
	return clauses
}
