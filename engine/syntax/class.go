package syntax

import (
	"fmt"

	"go.starlark.net/syntax"
)

// Struct makes a struct of its arguments: a class that holds constants alone is one. A class of data, without methods, is a named tuple: its
// name is assigned what the function namedtuple of the module collections returns.
const Struct = "<struct>"

var (
	refusedMethods   = refusal{"got a class with methods, want functions and plain data", "keep data in dicts or in a @dataclass without methods, and write functions that take them"}
	refusedBase      = refusal{"got a class that extends another, want functions and plain data", "keep data in dicts or in a @dataclass without methods, and write functions that take them"}
	refusedEmpty     = refusal{"got a class with nothing in it, want data", "keep data in dicts, or write a @dataclass with fields such as name: str"}
	refusedBody      = refusal{"got a statement in a class that is no assignment, want fields and constants", "write it outside of the class"}
	refusedDefault   = refusal{"got a default that is made for each value, want a constant", "leave it out and give the value: T(items = [])"}
	refusedOrder     = refusal{"got a field without a default after one with a default", "write those without a default first"}
	refusedDecorator = refusal{"got a decorator, want def", "a decorator stands before a def; before a class there is @dataclass"}
)

// classFields are those of the class whose body is being parsed: the names that are annotated, in order.
type classFields struct{ names []*syntax.Ident }

// decorated parses decorators and the def or class below them.
func (p *parser) decorated() syntax.Stmt {
	first := p.i
	var list []syntax.Expr
	h := 0
	for p.tok == at {
		p.extend()
		p.next()
		list = append(list, p.test())
		h = max(h, p.h)
		p.expect(syntax.NEWLINE)
		p.first = p.i
	}
	switch p.tok {
	case syntax.CLASS:
		data := len(list) == 1 && isDataclass(list[0])
		if !data {
			p.certain(first, refusedDecorator.message, refusedDecorator.hint)
		}
		return p.class(data)
	case syntax.DEF:
	default:
		p.certain(first, refusedDecorator.message, refusedDecorator.hint)
		return p.standIn()
	}
	names := make([]string, len(list))
	for i, d := range list {
		p.loops++
		names[i] = fmt.Sprintf("<decorator %d>", p.loops)
		pos, _ := d.Span()
		p.stmts = append(p.stmts, &syntax.AssignStmt{OpPos: pos, Op: syntax.EQ, LHS: p.newIdent(pos, names[i]), RHS: d})
	}
	def := p.def().(*syntax.DefStmt)
	p.stmts = append(p.stmts, def)
	var value syntax.Expr = p.newIdent(def.Name.NamePos, def.Name.Name)
	for i := len(list) - 1; i >= 0; i-- {
		pos, _ := list[i].Span()
		value = &syntax.CallExpr{Fn: p.newIdent(pos, names[i]), Lparen: pos, Args: []syntax.Expr{value}, Rparen: pos}
	}
	p.tall(max(h, p.h) + len(list))
	return &syntax.AssignStmt{OpPos: def.Def, Op: syntax.EQ, LHS: p.newIdent(def.Name.NamePos, def.Name.Name), RHS: value}
}

// isDataclass reports whether a decorator is dataclass, or a call of it.
func isDataclass(x syntax.Expr) bool {
	if call, ok := x.(*syntax.CallExpr); ok {
		x = call.Fn
	}
	switch x := x.(type) {
	case *syntax.Ident:
		return x.Name == "dataclass"
	case *syntax.DotExpr:
		return x.Name.Name == "dataclass"
	}
	return false
}

// class parses a class, which holds data, constants, or nothing that the language has.
func (p *parser) class(data bool) syntax.Stmt {
	p.extend()
	at, line := p.i, p.toks[p.i].line
	pos := p.next()
	name := p.ident()
	refused := false
	refuse := func(r refusal) {
		if !refused {
			p.certain(at, r.message, r.hint)
		}
		refused = true
	}
	if p.tok == syntax.LPAREN {
		p.next()
		for _, base := range p.args() {
			switch id, _ := base.(*syntax.Ident); {
			case id != nil && id.Name == "NamedTuple":
				data = true
			case id == nil || id.Name != "object":
				refuse(refusedBase)
			}
		}
		p.expect(syntax.RPAREN)
	}
	p.colon("class")
	outer := p.fields
	own := &classFields{}
	p.fields = own
	body := p.suite("class", line)
	p.fields = outer
	h := p.h
	values := map[string]syntax.Expr{}
	var constants []syntax.Expr
	for _, s := range body {
		switch s := s.(type) {
		case *syntax.BranchStmt:
			continue
		case *syntax.ExprStmt:
			if isLiteral(s.X) {
				continue
			}
			refuse(refusedBody)
		case *syntax.DefStmt:
			refuse(refusedMethods)
		case *syntax.AssignStmt:
			id, ok := s.LHS.(*syntax.Ident)
			if !ok || s.Op != syntax.EQ || id.Name[0] == '<' {
				refuse(refusedMethods)
				continue
			}
			values[id.Name] = s.RHS
			constants = append(constants, p.newBinary(id, s.OpPos, syntax.EQ, s.RHS))
		default:
			refuse(refusedBody)
		}
	}
	p.tall(h + 3)
	switch {
	case refused:
	case data && len(own.names) == len(values) || data && len(constants) <= len(own.names) && len(own.names) > 0:
		return &syntax.AssignStmt{OpPos: pos, Op: syntax.EQ, LHS: name, RHS: p.record(pos, name, own, values, refuse)}
	case len(constants) > 0 && !data:
		call := p.special(Struct, pos, constants...)
		return &syntax.AssignStmt{OpPos: pos, Op: syntax.EQ, LHS: name, RHS: call}
	default:
		refuse(refusedEmpty)
	}
	return p.standIn()
}

// record returns the call that makes the type of a class with these fields.
func (p *parser) record(pos syntax.Position, name *syntax.Ident, f *classFields, values map[string]syntax.Expr, refuse func(refusal)) syntax.Expr {
	text := func(id *syntax.Ident) syntax.Expr { return p.newText(id.NamePos, id.Name, `"`+id.Name+`"`) }
	names, defaults := &syntax.ListExpr{Lbrack: pos, Rbrack: pos}, &syntax.ListExpr{Lbrack: pos, Rbrack: pos}
	for _, id := range f.names {
		names.List = append(names.List, text(id))
		value := values[id.Name]
		if call, ok := value.(*syntax.CallExpr); ok {
			if fn, ok := call.Fn.(*syntax.Ident); ok && fn.Name == "field" {
				refuse(refusedDefault)
			}
		}
		switch {
		case value != nil:
			defaults.List = append(defaults.List, value)
		case len(defaults.List) > 0:
			refuse(refusedOrder)
		}
	}
	d := node(&p.dots)
	d.Dot, d.X, d.Name = pos, p.newIdent(pos, Module("collections")), p.newIdent(pos, "namedtuple")
	call := node(&p.calls)
	call.Fn, call.Lparen, call.Rparen = d, pos, pos
	call.Args = []syntax.Expr{text(name), names, p.newBinary(p.newIdent(pos, "defaults"), pos, syntax.EQ, defaults)}
	return call
}

// annotatedField notes a field of the class that is being parsed.
func (p *parser) annotatedField(x syntax.Expr) {
	if id, ok := x.(*syntax.Ident); ok && p.fields != nil {
		p.fields.names = append(p.fields.names, id)
	}
}

// isAlias reports whether an assignment gives a name to a type of the module typing: it is for annotations, and dropped as they are.
func (p *parser) isAlias(value syntax.Expr) bool {
	switch x := value.(type) {
	case *syntax.IndexExpr:
		value = x.X
	case *syntax.CallExpr:
		value = x.Fn
	}
	switch x := value.(type) {
	case *syntax.Ident:
		return p.typing[x.Name]
	case *syntax.DotExpr:
		id, ok := x.X.(*syntax.Ident)
		return ok && p.typing[id.Name]
	}
	return false
}
