package rego

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// toolsOf returns the tools for which a package has rules, if each rule of its sets names them in a condition of its own; nil if one
// does not. A package is left out of what is evaluated for any other tool, before partial evaluation would look at it.
func toolsOf(c *ast.Compiler, p *pack) []string {
	tools := []string{}
	for set := range setCount {
		for _, r := range c.GetRulesExact(slot{p, set}.ref()) {
			named := toolCondition(r.Body)
			if named == nil {
				return nil
			}
			tools = append(tools, named...)
		}
	}
	slices.Sort(tools)
	return slices.Compact(tools)
}

var toolRef = inputRef("call.tool")

// toolCondition returns the tools that a body asks for, nil if it does not.
func toolCondition(b ast.Body) []string {
	stands := map[ast.Var]bool{} // variables for the tool
	isTool := func(t *ast.Term) bool {
		switch v := t.Value.(type) {
		case ast.Ref:
			return v.Equal(toolRef)
		case ast.Var:
			return stands[v]
		}
		return false
	}
	for _, e := range b {
		if len(e.With) > 0 || e.Negated || !e.IsCall() || len(e.Operands()) != 2 {
			continue
		}
		x, y := e.Operand(0), e.Operand(1)
		switch e.Operator().String() {
		case "eq", "equal":
			if isTool(x) {
				x, y = y, x
			}
			if !isTool(y) {
				continue
			}
			switch v := x.Value.(type) {
			case ast.String:
				return []string{string(v)}
			case ast.Var:
				stands[v] = true
			}
		case "internal.member_2":
			if isTool(x) {
				if names := constants(y); names != nil {
					return names
				}
			}
		}
	}
	return nil
}

// constants returns the texts of a collection of nothing else, nil if it is none.
func constants(t *ast.Term) []string {
	out := []string{}
	ok := true
	add := func(t *ast.Term) {
		s, isText := t.Value.(ast.String)
		ok = ok && isText
		out = append(out, string(s))
	}
	switch v := t.Value.(type) {
	case ast.Set:
		v.Foreach(add)
	case *ast.Array:
		v.Foreach(add)
	default:
		return nil
	}
	if !ok {
		return nil
	}
	return out
}
