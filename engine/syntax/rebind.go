package syntax

import (
	"fmt"

	"go.starlark.net/syntax"
)

// Assignments that go.starlark.net's resolver does not have.
const (
	// Walrus binds the name that is its first argument to the second, and is that. The name is declared before the statement.
	Walrus = "<walrus>"

	// Declare is what a name is assigned that the statement after binds in an expression. It is never evaluated.
	Declare = "<declare>"

	// Store binds a name that is not the function's own: a global, or with 1 for its third argument one of a function around. The second is the value.
	Store = "<store>"

	// Shared says what a name, its first argument, is that a function has declared: a global, or with 1 for its second one of a function around.
	Shared = "<shared>"

	// SetSlice assigns its second argument to the slice that is its first.
	SetSlice = "<set slice>"
)

var (
	refusedWalrus       = refusal{"got ':=' at the beginning of a statement, want '='", "write x = 1: only within an expression a name is bound by :="}
	refusedWalrusTarget = refusal{"got ':=' after an expression, want a name before it", "write (n := len(xs)), in parentheses"}
	refusedWalrusLambda = refusal{"got ':=' in a lambda, want an expression without assignment", "write a def, with a statement for each step"}
	refusedNonlocal     = refusal{"got a nonlocal statement outside of functions, want none", "remove it: at the top level every name is global"}
	refusedShared       = refusal{"got a def of a name that is global or nonlocal, want another name", "define the function under a name of its own, then assign it"}
)

// walrus parses what follows the name x in x := y.
func (p *parser) walrus(x syntax.Expr) syntax.Expr {
	id, ok := x.(*syntax.Ident)
	switch {
	case p.i == p.first+1:
		p.refuse(refusedWalrus)
	case !ok:
		p.refuse(refusedWalrusTarget)
	case p.lambdas > 0:
		p.refuse(refusedWalrusLambda)
	}
	pos := p.next()
	p.enter()
	y := p.test()
	p.leave()
	if !ok {
		return y
	}
	p.tall(p.h + 1)
	p.stmts = append(p.stmts, &syntax.AssignStmt{OpPos: pos, Op: syntax.EQ, LHS: p.newIdent(id.NamePos, id.Name), RHS: p.special(Declare, pos)})
	return p.special(Walrus, pos, id, y)
}

// shared are the names that a function has declared global or nonlocal.
type shared map[string]bool // whether it is nonlocal

// share parses a global or nonlocal statement.
func (p *parser) share() syntax.Stmt {
	nonlocal := p.tok == syntax.NONLOCAL
	if nonlocal && p.defs == 0 {
		p.refuse(refusedNonlocal)
	}
	p.extend()
	p.next()
	stmt := p.standIn()
	for {
		id := p.ident()
		if p.defs > 0 {
			if p.shared == nil {
				p.shared = shared{}
			}
			p.shared[id.Name] = nonlocal
			if _, first := stmt.(*syntax.BranchStmt); !first {
				p.stmts = append(p.stmts, stmt)
			}
			stmt = &syntax.ExprStmt{X: p.special(Shared, id.NamePos, id, p.nonlocal(id, p.shared))}
		}
		if p.tok != syntax.COMMA {
			break
		}
		p.next()
	}
	p.tall(2)
	return stmt
}

// rebound lowers what binds shared names in the body of a function: each becomes a call of [Store].
func (p *parser) rebound(list []syntax.Stmt, names shared) []syntax.Stmt {
	var out []syntax.Stmt
	for _, s := range list {
		switch s := s.(type) {
		case *syntax.AssignStmt:
			p.storesIn(s.RHS, names)
			p.storesIn(s.LHS, names)
			if call, ok := s.RHS.(*syntax.CallExpr); ok && isSpecial(call, Declare) {
				if _, ok := names[s.LHS.(*syntax.Ident).Name]; ok {
					continue
				}
			}
			if call, ok := s.RHS.(*syntax.CallExpr); ok && isSpecial(call, Caught) {
				var after []syntax.Stmt
				s.LHS, after = p.others(s.LHS, names)
				out = append(append(out, s), after...)
				continue
			}
			out = p.reassigned(out, s, names)
			continue
		case *syntax.IfStmt:
			p.storesIn(s.Cond, names)
			s.True, s.False = p.rebound(s.True, names), p.rebound(s.False, names)
		case *syntax.ForStmt:
			p.storesIn(s.X, names)
			var after []syntax.Stmt
			s.Vars, after = p.others(s.Vars, names)
			s.Body = append(after, p.rebound(s.Body, names)...)
		case *syntax.WhileStmt:
			p.storesIn(s.Cond, names)
			s.Body = p.rebound(s.Body, names)
		case *syntax.DefStmt:
			if _, ok := names[s.Name.Name]; ok {
				p.errs.add(s.Name.NamePos.Line, s.Name.NamePos.Col, refusedShared.message, refusedShared.hint)
			}
		case *syntax.ExprStmt:
			p.storesIn(s.X, names)
		case *syntax.ReturnStmt:
			p.storesIn(s.Result, names)
		}
		out = append(out, s)
	}
	return out
}

// reassigned appends an assignment, and what stores its shared names.
func (p *parser) reassigned(out []syntax.Stmt, s *syntax.AssignStmt, names shared) []syntax.Stmt {
	id, ok := unparen(s.LHS).(*syntax.Ident)
	if ok {
		if _, ok = names[id.Name]; !ok {
			return append(out, s)
		}
		if s.Op == syntax.EQ {
			return append(out, p.storeStmt(id, s.RHS, names))
		}
		value := p.temporary(id)
		return append(out,
			&syntax.AssignStmt{OpPos: s.OpPos, Op: syntax.EQ, LHS: p.newIdent(id.NamePos, value.Name), RHS: p.newIdent(id.NamePos, id.Name)},
			&syntax.AssignStmt{OpPos: s.OpPos, Op: s.Op, LHS: p.newIdent(id.NamePos, value.Name), RHS: s.RHS},
			p.storeStmt(id, value, names))
	}
	var after []syntax.Stmt
	s.LHS, after = p.others(s.LHS, names)
	return append(append(out, s), after...)
}

// others returns a target in which names that are not shared stand for those that are, and the statements that store them.
func (p *parser) others(x syntax.Expr, names shared) (target syntax.Expr, after []syntax.Stmt) {
	each := func(list []syntax.Expr) []syntax.Expr {
		out := make([]syntax.Expr, len(list))
		for i, e := range list {
			var more []syntax.Stmt
			out[i], more = p.others(e, names)
			after = append(after, more...)
		}
		return out
	}
	switch x := x.(type) {
	case *syntax.Ident:
		if _, ok := names[x.Name]; ok {
			value := p.temporary(x)
			return value, []syntax.Stmt{p.storeStmt(x, p.newIdent(x.NamePos, value.Name), names)}
		}
	case *syntax.ParenExpr:
		return p.others(x.X, names)
	case *syntax.TupleExpr:
		return &syntax.TupleExpr{Lparen: x.Lparen, List: each(x.List), Rparen: x.Rparen}, after
	case *syntax.ListExpr:
		return &syntax.ListExpr{Lbrack: x.Lbrack, List: each(x.List), Rbrack: x.Rbrack}, after
	}
	return x, nil
}

// temporary returns a name of the function's own for a shared one.
func (p *parser) temporary(id *syntax.Ident) *syntax.Ident {
	p.loops++
	return p.newIdent(id.NamePos, fmt.Sprintf("<shared %d>", p.loops))
}

func (p *parser) storeStmt(id *syntax.Ident, value syntax.Expr, names shared) syntax.Stmt {
	return &syntax.ExprStmt{X: p.special(Store, id.NamePos, id, value, p.nonlocal(id, names))}
}

func (p *parser) nonlocal(id *syntax.Ident, names shared) syntax.Expr {
	n := 0
	if names[id.Name] {
		n = 1
	}
	return p.number(id.NamePos, n)
}

// storesIn makes a call of [Store] of each [Walrus] in an expression that binds a shared name. Functions within it have names of their own.
func (p *parser) storesIn(x syntax.Expr, names shared) {
	if x == nil {
		return
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.LambdaExpr:
			return false
		case *syntax.CallExpr:
			if isSpecial(n, Walrus) {
				id := n.Args[0].(*syntax.Ident)
				if _, ok := names[id.Name]; ok {
					n.Fn, n.Args = p.newIdent(n.Lparen, Store), append(n.Args, p.nonlocal(id, names))
				}
			}
		}
		return n != nil
	})
}
