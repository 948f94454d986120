package eval

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.starlark.net/resolve"
	star "go.starlark.net/syntax"

	"callgate/engine/syntax"
)

// resolveNames binds every name of a file to what it stands for. Globals are those that earlier programs
// have bound, given what the session gives.
//
// The resolver looks for misspellings in time that grows with the square of the text, and makes a binding for
// each name that a function takes from outside in each function between: 90 functions within
// each other and 25,000 names take half a gigabyte. So it never learns that a name is undefined, and
// captures are counted first.
func resolveNames(f *star.File, global, given func(string) bool) error {
	if err := checkCaptures(f); err != nil {
		return err
	}
	unknown := map[string]bool{}
	err := resolve.REPLChunk(f, global, given, func(n string) bool {
		if _, ok := universe[n]; !ok {
			unknown[n] = true
		}
		return true
	})
	var out syntax.Errors
	if err != nil {
		var list resolve.ErrorList
		if !errors.As(err, &list) {
			return err
		}
		for _, e := range list {
			out = append(out, syntax.Error{File: f.Path, Line: int(e.Pos.Line), Column: int(e.Pos.Col), Message: e.Msg})
		}
	}
	if len(unknown) > 0 {
		out = append(out, undefined(f, unknown)...)
	}
	if len(out) == 0 {
		return nil
	}
	slices.SortStableFunc(out, func(a, b syntax.Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if len(out) > mostErrors {
		last := &out[mostErrors]
		last.Message, last.Hint = fmt.Sprintf("more than %d problems: the rest is not reported", mostErrors), ""
		out = out[:mostErrors+1]
	}
	return out
}

// mostErrors is how many problems of names are reported, and mostGuesses for how many of
// them what was meant is looked for.
const (
	mostErrors  = 100
	mostGuesses = 20
)

// undefined reports the uses of unknown names.
func undefined(f *star.File, unknown map[string]bool) syntax.Errors {
	var out syntax.Errors
	var known []string
	met := map[string]bool{}
	star.Walk(f, func(n star.Node) bool {
		id, ok := n.(*star.Ident)
		if !ok {
			return n != nil
		}
		b, ok := id.Binding.(*resolve.Binding)
		switch {
		case !ok: // of a field or a keyword
		case b.Scope != resolve.Universal || !unknown[id.Name]:
			if !met[id.Name] {
				met[id.Name] = true
				known = append(known, id.Name)
			}
		case len(out) <= mostErrors:
			out = append(out, syntax.Error{File: f.Path, Line: int(id.NamePos.Line), Column: int(id.NamePos.Col), Message: id.Name})
		}
		return true
	})
	known = append(known[:min(len(known), mostNames)], slices.Sorted(maps.Keys(universe))...)
	for i := range out {
		name := out[i].Message
		out[i].Message = "undefined: " + cut(name, 200)
		if i < mostGuesses {
			out[i].Message += nearest(name, known)
		}
	}
	return out
}

// mostCaptures bounds how many names the functions of a program take from functions around them, in all.
const mostCaptures = 50_000

// checkCaptures counts them.
func checkCaptures(f *star.File) error {
	c := captures{binders: map[string]int{}}
	c.function(nil, f, func(visit func(star.Node) bool) { star.Walk(f, visit) })
	if c.at == nil {
		return nil
	}
	p := start(c.at)
	return syntax.Errors{{
		File: f.Path, Line: int(p.line), Column: int(p.col),
		Message: fmt.Sprintf("functions take more than %d names from functions around them", mostCaptures),
		Hint:    "pass values as parameters, or keep them in one dict",
	}}
}

// captures counts the names that functions take from outside.
type captures struct {
	scopes  []scope
	binders map[string]int // of the scopes, how many bind the name
	total   int
	at      star.Node // where there were too many
}

type scope struct{ bound, free map[string]bool }

// function enters a function, or the file. What comprehensions bind counts as bound in the function around them.
func (c *captures) function(params []star.Expr, self star.Node, walk func(visit func(star.Node) bool)) {
	s := scope{map[string]bool{}, map[string]bool{}}
	_, isFile := self.(*star.File)
	bind := func(e star.Expr) {
		eachTarget(e, func(id *star.Ident) { s.bound[id.Name] = true })
	}
	for _, p := range params {
		bind(p)
	}
	walk(func(n star.Node) bool {
		switch n := n.(type) {
		case *star.DefStmt:
			if !isFile {
				bind(n.Name)
			}
			return false
		case *star.LambdaExpr:
			return false
		case *star.AssignStmt:
			if !isFile { // globals are nobody's captures
				bind(n.LHS)
			}
		case *star.ForStmt:
			if !isFile {
				bind(n.Vars)
			}
		case *star.ForClause:
			bind(n.Vars)
		}
		return n != nil
	})
	for n := range s.bound {
		c.binders[n]++
	}
	c.scopes = append(c.scopes, s)
	walk(func(n star.Node) bool {
		if c.at != nil {
			return false
		}
		switch n := n.(type) {
		case *star.DefStmt:
			c.function(n.Params, n, func(visit func(star.Node) bool) {
				for _, s := range n.Body {
					star.Walk(s, visit)
				}
			})
			return false
		case *star.LambdaExpr:
			c.function(n.Params, n, func(visit func(star.Node) bool) { star.Walk(n.Body, visit) })
			return false
		case *star.Ident:
			c.use(n)
		}
		return n != nil
	})
	c.scopes = c.scopes[:len(c.scopes)-1]
	for n := range s.bound {
		c.binders[n]--
	}
}

func (c *captures) use(id *star.Ident) {
	if c.binders[id.Name] == 0 {
		return
	}
	for i := len(c.scopes) - 1; i >= 0; i-- {
		s := c.scopes[i]
		if s.bound[id.Name] || s.free[id.Name] {
			return
		}
		s.free[id.Name] = true
		if c.total++; c.total > mostCaptures {
			c.at = id
			return
		}
	}
}

// eachTarget calls f for each name that an assignment to e, or a parameter e, binds.
func eachTarget(e star.Expr, f func(*star.Ident)) {
	switch e := e.(type) {
	case *star.Ident:
		f(e)
	case *star.ParenExpr:
		eachTarget(e.X, f)
	case *star.TupleExpr:
		for _, x := range e.List {
			eachTarget(x, f)
		}
	case *star.ListExpr:
		for _, x := range e.List {
			eachTarget(x, f)
		}
	case *star.UnaryExpr: // *args
		if e.X != nil {
			eachTarget(e.X, f)
		}
	case *star.BinaryExpr: // a default
		eachTarget(e.X, f)
	}
}

// Universe returns the names that every program knows, sorted.
func Universe() []string {
	names := slices.Sorted(maps.Keys(universe))
	return slices.DeleteFunc(names, func(n string) bool { return n[0] == '<' })
}
