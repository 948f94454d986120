package syntax

import (
	"go.starlark.net/syntax"
)

// A try statement is an if whose condition is a call of [Try]: its body is the body of the try, and the statements of its else
// are its clauses, in order. Each clause is an if again, whose condition is a call of [Except], [TryElse] or
// [Finally], and whose body is the clause's. An except with a name begins with an assignment of a call of [Caught] to it.
const (
	Try     = "<try>"
	Except  = "<except>" // its argument is what it catches; everything without one
	TryElse = "<else>"
	Finally = "<finally>"
	Caught  = "<caught>"

	// Raise ends in the error that its first argument is, or makes; the second, if there is one, is its cause.
	Raise = "<raise>"

	// Reraise ends in the error that the handler around it caught.
	Reraise = "<reraise>"

	// Failed ends in the error of an assert, with its argument for a message.
	Failed = "<failed>"
)

var (
	refusedRaise     = refusal{"got a raise of a text, want an error", `write raise ValueError("what is wrong")`}
	refusedReraise   = refusal{"got a raise of nothing outside of an except clause, want an error", `write raise ValueError("what is wrong")`}
	refusedGroup     = refusal{"got 'except*', want except", "leave the star out: there are no groups of errors"}
	refusedClasses   = refusal{"got ',' in an except clause, want parentheses around several classes", "write except (KeyError, ValueError) as e:"}
	refusedRaiseText = refusal{"got ',' in a raise, want a call", `write raise ValueError("what is wrong")`}
)

// tryStmt parses a try statement with its clauses.
func (p *parser) tryStmt() syntax.Stmt {
	p.extend()
	line := p.toks[p.i].line
	pos := p.next()
	p.colon("try")
	body := p.suite("try", line)
	h := p.h
	var clauses []syntax.Stmt
	var handlers, all, ended bool // all: a clause that catches everything; ended: else or finally
	for p.tok == syntax.EXCEPT || p.tok == syntax.ELSE || p.tok == syntax.FINALLY {
		word := p.tok
		switch {
		case word == syntax.FINALLY:
		case ended && word == syntax.EXCEPT:
			p.report(p.i, "got an except clause after else, want it before", "write except before else, and finally last")
		case all && word == syntax.EXCEPT:
			p.report(p.i, "got an except clause after one that catches everything", "write the clause without a class last")
		case word == syntax.ELSE && !handlers:
			p.report(p.i, "got the else of a try without an except clause", "write except before it, or the statements after the try")
		case word == syntax.ELSE && ended:
			p.report(p.i, "got a second else", "a try has one")
		}
		if word == syntax.EXCEPT {
			clause, bare := p.except()
			clauses = append(clauses, clause)
			handlers, all = true, all || bare
		} else {
			p.first = p.i
			line := p.toks[p.i].line
			at := p.next()
			name := TryElse
			if word == syntax.FINALLY {
				name = Finally
			}
			p.colon(spell(word))
			clauses = append(clauses, &syntax.IfStmt{If: at, Cond: p.special(name, at), True: p.suite(spell(word), line)})
			ended = true
		}
		h = max(h, p.h+1)
		if word == syntax.FINALLY {
			break
		}
	}
	if len(clauses) == 0 {
		p.certain(p.i, "got "+p.describe(p.toks[p.i])+" after a try, want an except or a finally", "write except Exception as e: and what to do then")
	}
	p.tall(h + 1)
	return &syntax.IfStmt{If: pos, Cond: p.special(Try, pos), True: body, ElsePos: pos, False: clauses}
}

// except parses a handler, and reports whether it catches everything for want of a class.
func (p *parser) except() (clause syntax.Stmt, all bool) {
	p.first = p.i
	line := p.toks[p.i].line
	pos := p.next()
	if p.tok == syntax.STAR {
		p.report(p.i, refusedGroup.message, refusedGroup.hint)
		p.next()
	}
	h := 1
	cond := p.special(Except, pos)
	if p.tok != syntax.COLON && p.tok != syntax.NEWLINE && p.tok != syntax.EOF {
		cond.Args = append(cond.Args, p.test())
		h = p.h
		if p.tok == syntax.COMMA {
			p.report(p.i, refusedClasses.message, refusedClasses.hint)
			for p.tok == syntax.COMMA {
				p.next()
				p.test()
			}
		}
	}
	var body []syntax.Stmt
	if p.tok == syntax.AS {
		at := p.next()
		body = append(body, &syntax.AssignStmt{OpPos: at, Op: syntax.EQ, LHS: p.ident(), RHS: p.special(Caught, at)})
	}
	p.colon("except")
	p.handlers++
	body = append(body, p.suite("except", line)...)
	p.handlers--
	p.tall(max(h+1, p.h))
	return &syntax.IfStmt{If: pos, Cond: cond, True: body}, len(cond.Args) == 0
}

// raise parses a raise statement.
func (p *parser) raise() syntax.Stmt {
	at := p.i
	pos := p.next()
	if !startsExpr(p.tok) {
		if p.handlers == 0 {
			p.report(at, refusedReraise.message, refusedReraise.hint)
		}
		p.tall(2)
		return &syntax.ExprStmt{X: p.special(Reraise, pos)}
	}
	args := []syntax.Expr{p.test()}
	h := p.h
	if isText(args[0]) {
		p.report(at, refusedRaise.message, refusedRaise.hint)
	}
	if p.tok == syntax.COMMA {
		p.report(p.i, refusedRaiseText.message, refusedRaiseText.hint)
		p.next()
		p.exprs(false)
	}
	if p.tok == syntax.FROM {
		p.next()
		args = append(args, p.test())
		h = max(h, p.h)
	}
	p.tall(h + 2)
	return &syntax.ExprStmt{X: p.special(Raise, pos, args...)}
}

// isText reports whether an expression is a string, as it is written.
func isText(x syntax.Expr) bool {
	switch x := unparen(x).(type) {
	case *syntax.Literal:
		return true
	case *syntax.CallExpr:
		return isSpecial(x, FString)
	}
	return false
}
