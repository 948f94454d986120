package syntax

import (
	"fmt"

	"go.starlark.net/syntax"
)

// stmt parses a statement, or a line of simple ones, and appends it to p.stmts.
func (p *parser) stmt() {
	p.first = p.i
	broken := p.broken
	p.broken = false
	if isKeyword(p.tok) && p.peek() == syntax.EQ {
		p.simple()
		return
	}
	var stmt syntax.Stmt
	switch p.tok {
	case syntax.DEF:
		stmt = p.def()
	case syntax.IF:
		stmt = p.ifStmt()
	case syntax.FOR:
		p.loopElse(p.forStmt())
		return
	case syntax.WHILE:
		p.loopElse(p.whileStmt())
		return
	case syntax.ELIF, syntax.ELSE, syntax.EXCEPT, syntax.FINALLY:
		if !broken {
			p.reportStray()
		}
		p.clause()
		p.broken = broken
		stmt = p.standIn()
	case syntax.INDENT:
		p.report(p.i, "got a deeper indentation, want that of the line above",
			"only a line after one that ends in ':' is indented deeper")
		p.deeper()
		stmt = p.standIn()
	case syntax.TRY:
		stmt = p.tryStmt()
	case syntax.CLASS:
		stmt = p.class(false)
	case at:
		stmt = p.decorated()
	case syntax.WITH, syntax.ASYNC:
		stmt = p.refusedBlock()
	default:
		if p.tok != syntax.IDENT || !p.isMatch() {
			p.simple()
			return
		}
		stmt = p.refusedMatch()
	}
	p.stmts = append(p.stmts, stmt)
}

// standIn returns a statement in place of one that was refused.
func (p *parser) standIn() syntax.Stmt {
	return &syntax.BranchStmt{Token: syntax.PASS, TokenPos: p.pos(p.i)}
}

func (p *parser) def() syntax.Stmt {
	line := p.toks[p.i].line
	def := p.next()
	if p.tok == syntax.LPAREN {
		p.fail("got '(', want a name", "name the function, def f(x):, or write lambda x: y")
	}
	name := p.ident()
	var params []syntax.Expr
	var lparen, rparen syntax.Position
	h := 0
	if p.tok == syntax.COLON {
		p.report(p.i, "got ':', want '('", "write parentheses, even without parameters: def f():")
	} else {
		lparen = p.expect(syntax.LPAREN)
		params = p.params(syntax.RPAREN)
		h = p.h
		rparen = p.expect(syntax.RPAREN)
	}
	if p.tok == arrow {
		p.extend()
		p.next()
		p.test()
	}
	p.colon("def")
	lambdas, outer, handlers, class := p.lambdas, p.shared, p.handlers, p.fields
	p.lambdas, p.shared, p.handlers, p.fields = 0, nil, 0, nil
	p.defs++
	body := p.suite("def", line)
	if p.defs--; p.shared != nil {
		h++
		body = p.rebound(body, p.shared)
	}
	p.lambdas, p.shared, p.handlers, p.fields = lambdas, outer, handlers, class
	p.tall(max(h, p.h))
	return &syntax.DefStmt{Def: def, Name: name, Lparen: lparen, Params: params, Rparen: rparen, Body: body}
}

// params parses parameters up to the bracket that ends them, or up to the colon for a lambda. They are trees as in go.starlark.net:
//
//	*Ident                                  x
//	*BinaryExpr{Op: EQ, X: *Ident, Y: Expr} x=y
//	*UnaryExpr{Op: STAR}                    *
//	*UnaryExpr{Op: STAR, X: *Ident}         *args
//	*UnaryExpr{Op: STARSTAR, X: *Ident}     **kwargs
func (p *parser) params(end kind) []syntax.Expr {
	base, h, slash := len(p.stack), 1, false
	annotation := func() {
		if p.tok == syntax.COLON && end != syntax.COLON {
			p.extend()
			p.next()
			p.test()
		}
	}
	for p.tok != syntax.RPAREN && p.tok != syntax.COLON && p.tok != syntax.EOF {
		if len(p.stack) > base {
			if p.tok != syntax.COMMA {
				p.separator(end)
			} else {
				p.next()
			}
		}
		if p.tok == syntax.RPAREN || slash && p.tok == end {
			break
		}
		switch p.tok {
		case syntax.STAR, syntax.STARSTAR:
			op := p.tok
			pos := p.next()
			var x syntax.Expr
			if op == syntax.STARSTAR || p.tok == syntax.IDENT {
				x = p.ident()
				annotation()
			}
			p.push(&syntax.UnaryExpr{OpPos: pos, Op: op, X: x})
			h = max(h, 2)
			continue
		case syntax.SLASH:
			if len(p.stack) == base {
				p.refuse(refusedPositionalOnly)
			}
			p.extend()
			p.next()
			slash = true
			continue
		}
		id := p.ident()
		annotation()
		if p.tok != syntax.EQ {
			p.push(id)
			continue
		}
		eq := p.next()
		value := p.test()
		h = max(h, p.h+1)
		p.push(&syntax.BinaryExpr{X: id, OpPos: eq, Op: syntax.EQ, Y: value})
	}
	p.h = h
	return p.take(base)
}

func (p *parser) ifStmt() syntax.Stmt {
	depth, h, level := p.depth, 0, 0
	var first, tail *syntax.IfStmt
	for {
		word, line := spell(p.tok), p.toks[p.i].line
		pos := p.next() // if, or elif
		cond := p.test()
		h = max(h, level+p.h)
		p.colon(word)
		body := p.suite(word, line)
		h = max(h, level+p.h)
		stmt := &syntax.IfStmt{If: pos, Cond: cond, True: body}
		if first == nil {
			first = stmt
		} else {
			tail.ElsePos = pos
			tail.False = []syntax.Stmt{stmt}
		}
		tail = stmt
		p.first = p.i
		if p.tok == syntax.ELSE && p.peek() == syntax.IF {
			p.report(p.i+1, "got keyword 'if', want ':' after else", "write elif")
			p.next()
		} else if p.tok != syntax.ELIF {
			break
		}
		p.enter()
		level++
	}
	if p.tok == syntax.ELSE {
		line := p.toks[p.i].line
		tail.ElsePos = p.next()
		p.colon("else")
		tail.False = p.suite("else", line)
		h = max(h, level+p.h)
	}
	p.depth = depth
	p.tall(h)
	return first
}

func (p *parser) forStmt() syntax.Stmt {
	line := p.toks[p.i].line
	pos := p.next()
	vars := p.loopVars()
	h := p.h
	p.expectIn()
	x := p.used(p.expr(false))
	vars, x = p.target(vars, x, UnpackEach)
	h = max(h, p.h)
	p.colon("for")
	body := p.suite("for", line)
	p.tall(max(h, p.h))
	return &syntax.ForStmt{For: pos, Vars: vars, X: x, Body: body}
}

func (p *parser) whileStmt() syntax.Stmt {
	line := p.toks[p.i].line
	pos := p.next()
	cond := p.test()
	h := p.h
	p.colon("while")
	body := p.suite("while", line)
	p.tall(max(h, p.h))
	return &syntax.WhileStmt{While: pos, Cond: cond, Body: body}
}

// loopVars parses the variables of a for. It leaves "in" alone, which an expression would take for an operator.
func (p *parser) loopVars() syntax.Expr {
	v := p.loopVar()
	if p.tok != syntax.COMMA {
		return v
	}
	base, h := len(p.stack), p.h
	p.push(v)
	for p.tok == syntax.COMMA {
		p.next()
		if endsList(p.tok) {
			break
		}
		if p.tok == syntax.IN {
			p.report(p.i, "got a comma before 'in', want a name", "for a tuple of one write (x,)")
			break
		}
		p.push(p.loopVar())
		h = max(h, p.h)
	}
	p.tall(h)
	return &syntax.TupleExpr{List: p.take(base)}
}

func (p *parser) loopVar() syntax.Expr {
	p.vars = p.tok == syntax.LPAREN
	if p.tok == syntax.STAR {
		p.extend()
		pos := p.next()
		return &syntax.UnaryExpr{OpPos: pos, Op: syntax.STAR, X: p.operand()}
	}
	return p.operand()
}

func (p *parser) expectIn() syntax.Position {
	if p.tok == syntax.EQ || p.tok == syntax.IDENT {
		t := p.toks[p.i]
		p.fail("got "+p.describe(t)+", want 'in'", "write for x in xs, or for i in range(n)")
	}
	return p.expect(syntax.IN)
}

// simple parses a line of simple statements, and appends them to p.stmts.
func (p *parser) simple() {
	h := 0
	for {
		stmt := p.small()
		p.settle()
		p.stmts = append(p.stmts, stmt)
		h = max(h, p.h)
		if p.tok != syntax.SEMI {
			break
		}
		p.next()
		if p.tok == syntax.NEWLINE || p.tok == syntax.EOF {
			break
		}
	}
	p.h = h
	switch p.tok {
	case syntax.NEWLINE:
		p.next()
	case syntax.EOF:
	default:
		p.trailing()
	}
}

// small parses a simple statement.
func (p *parser) small() syntax.Stmt {
	if isKeyword(p.tok) && p.tok != syntax.LOAD && p.peek() == syntax.EQ {
		return p.assign(p.ident())
	}
	switch p.tok {
	case syntax.RETURN:
		pos := p.next()
		var result syntax.Expr
		h := 0
		if p.tok != syntax.EOF && p.tok != syntax.NEWLINE && p.tok != syntax.SEMI {
			result = p.expr(false)
			h = p.h
		}
		p.tall(h)
		return &syntax.ReturnStmt{Return: pos, Result: result}

	case syntax.BREAK, syntax.CONTINUE, syntax.PASS:
		tok := p.tok
		pos := p.next()
		p.tall(0)
		return &syntax.BranchStmt{Token: tok, TokenPos: pos}

	case syntax.LOAD:
		if p.peek() == syntax.LPAREN && p.toks[p.i+2].kind == syntax.STRING {
			return p.load()
		}

	case syntax.RAISE:
		return p.raise()

	case syntax.DEL:
		p.del()
		last := p.stmts[len(p.stmts)-1]
		p.stmts = p.stmts[:len(p.stmts)-1]
		return last

	case syntax.IMPORT, syntax.FROM:
		base := len(p.stmts)
		p.imports()
		if len(p.stmts) == base {
			return p.standIn()
		}
		last := p.stmts[len(p.stmts)-1]
		p.stmts = p.stmts[:len(p.stmts)-1]
		return last

	case syntax.GLOBAL, syntax.NONLOCAL:
		return p.share()

	case syntax.IF, syntax.FOR, syntax.WHILE, syntax.DEF, syntax.CLASS, syntax.TRY, syntax.WITH:
		p.fail("got "+p.describe(p.toks[p.i])+", want a simple statement", "put it on a line of its own")

	case syntax.IDENT:
		if p.text() == "assert" && p.isStatement() {
			return p.assert()
		}
		if p.habit() {
			return p.standIn()
		}
	}

	return p.assign(p.exprs(false))
}

// assign parses what follows an expression that begins a statement: an assignment to it, or nothing.
func (p *parser) assign(x syntax.Expr) syntax.Stmt {
	h := p.h
	switch p.tok {
	case syntax.EQ, syntax.PLUS_EQ, syntax.MINUS_EQ, syntax.STAR_EQ, syntax.SLASH_EQ, syntax.SLASHSLASH_EQ,
		syntax.PERCENT_EQ, syntax.AMP_EQ, syntax.PIPE_EQ, syntax.CIRCUMFLEX_EQ, syntax.LTLT_EQ, syntax.GTGT_EQ, powerEq:
		op := p.tok
		if op == powerEq {
			p.extend()
			op = syntax.STARSTAR
		}
		pos := p.next()
		rhs := p.exprs(false)
		h = max(h, p.h)
		var more []syntax.Expr
		if p.tok == syntax.EQ && op == syntax.EQ {
			rhs, more = p.chained(x, rhs)
		}
		rhs = p.plain(rhs)
		p.tall(max(h, p.h))
		if len(more) > 0 {
			n := len(more)
			p.tall(p.h + 1)
			return &syntax.AssignStmt{OpPos: pos, Op: op, LHS: &syntax.TupleExpr{List: more}, RHS: p.special(Copies, pos, rhs, p.number(pos, n))}
		}
		if op == syntax.EQ {
			if slice, ok := unparen(x).(*syntax.SliceExpr); ok {
				p.tall(p.h + 1)
				return &syntax.ExprStmt{X: p.special(SetSlice, slice.Lbrack, slice, rhs)}
			}
			if p.isAlias(rhs) {
				return p.standIn()
			}
			x, rhs = p.target(x, rhs, Unpack)
		}
		return &syntax.AssignStmt{OpPos: pos, Op: op, LHS: x, RHS: rhs}
	case syntax.COLON:
		if s := p.annotated(x); s != nil {
			return s
		}
	}
	p.tall(h)
	return &syntax.ExprStmt{X: p.plain(x)}
}

// load parses a load statement. One string stands for the name here and the
// name there: the tree has the same node for both, as go.starlark.net has.
func (p *parser) load() syntax.Stmt {
	if p.peek() != syntax.LPAREN {
		p.fail("got keyword 'load', want a name", "load is a statement, load(\"module\", \"name\"): use another name for a variable")
	}
	pos := p.next()
	lparen := p.i
	p.next()
	if p.tok != syntax.STRING {
		p.fail("got "+p.describe(p.toks[p.i])+", want the module's name in quotes", "write load(\"module\", \"name\")")
	}
	module := p.literal()
	var from, to []*syntax.Ident
	for p.tok != syntax.RPAREN && p.tok != syntax.EOF {
		if p.tok != syntax.COMMA {
			p.separator(syntax.RPAREN)
		} else if p.next(); p.tok == syntax.RPAREN {
			break
		}
		switch p.tok {
		case syntax.STRING:
			id := p.loaded()
			to, from = append(to, id), append(from, id)
		case syntax.IDENT:
			name := p.text()
			id := p.ident()
			if p.tok != syntax.EQ {
				p.fail("got "+p.describe(p.toks[p.i])+", want '='", fmt.Sprintf("write %q, or %s=\"its name there\"", name, name))
			}
			p.next()
			if p.tok != syntax.STRING {
				p.fail("got "+p.describe(p.toks[p.i])+", want a name in quotes", fmt.Sprintf("write %s=\"its name there\"", name))
			}
			to, from = append(to, id), append(from, p.loaded())
		default:
			p.fail("got "+p.describe(p.toks[p.i])+", want a name in quotes", "write load(\"module\", \"name\", local=\"name\")")
		}
	}
	if len(to) == 0 {
		p.report(lparen, "got a load of no name, want at least one", "write load(\"module\", \"name\")")
	}
	rparen := p.expect(syntax.RPAREN)
	p.tall(1)
	return &syntax.LoadStmt{Load: pos, Module: module, From: from, To: to, Rparen: rparen}
}

// loaded parses the quoted name of something loaded.
func (p *parser) loaded() *syntax.Ident {
	t := p.toks[p.i]
	name, _ := p.literal().Value.(string)
	return p.newIdent(syntax.MakePosition(p.name, t.line, t.col+1), name)
}

// colon moves past the colon that ends the first line of a compound statement.
// At the end of the line it reports that it is missing, and goes on.
func (p *parser) colon(word string) {
	switch p.tok {
	case syntax.COLON:
		p.next()
	case syntax.NEWLINE, syntax.EOF:
		p.report(p.i, fmt.Sprintf("got %s, want ':' after '%s'", p.describe(p.toks[p.i]), word), "end the line with ':'")
	default:
		message, hint := "got "+p.describe(p.toks[p.i])+", want ':'", p.hint()
		switch {
		case p.tok == syntax.EQ:
			hint = "to compare write =="
		case p.tok == syntax.LBRACE:
			hint = "write ':' and indent the block; there are no braces around blocks"
		case p.tok == syntax.IDENT && (p.text() == "then" || p.text() == "do"):
			hint = "write ':' in its place"
		}
		p.fail(message, hint)
	}
}

// suite parses the body of a compound statement that began with a word on a line.
func (p *parser) suite(word string, line int32) []syntax.Stmt {
	p.enter()
	defer p.leave()
	base := len(p.stmts)
	switch {
	case p.tok == syntax.NEWLINE && p.peek() == syntax.INDENT:
		p.next()
		p.next()
		stmts := p.block()
		p.next() // OUTDENT
		return stmts
	case p.tok == syntax.NEWLINE:
		p.next()
		fallthrough
	case p.tok == syntax.EOF:
		p.noBlock(word, line)
		p.stmts = append(p.stmts, p.standIn())
	default:
		p.simple()
	}
	return p.takeStmts(base)
}

func (p *parser) noBlock(word string, line int32) {
	p.h = 1
	p.report(p.i, fmt.Sprintf("got %s, want an indented block after '%s' on line %d", p.describe(p.toks[p.i]), word, line),
		"indent the body, or write pass for an empty one")
}
