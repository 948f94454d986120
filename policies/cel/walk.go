package cel

import (
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// scope binds the variables of comprehensions to the field of the request whose
// elements they stand for, "" if there is none. The nil scope binds nothing.
type scope struct {
	name, at string
	outer    *scope
}

func (s *scope) bind(name, path string) *scope {
	if name == "" {
		return s
	}
	return &scope{name, path, s}
}

// lookup returns the path of a name; bound says whether it is a comprehension's.
// A leading dot, by which the checker tells a variable from one of the same name within, skips the scope.
func (s *scope) lookup(name string) (path string, bound bool) {
	if global, ok := strings.CutPrefix(name, "."); ok {
		return documentPath(global), false
	}
	for ; s != nil; s = s.outer {
		if s.name == name {
			return s.at, true
		}
	}
	return documentPath(name), false
}

// documentPath returns the path of a variable in the request document: that of an
// element for leaf, "" for what is no part of the request.
func documentPath(name string) string {
	switch name {
	case varLeaf:
		return varLeaves
	case varParams, varVariables, varLevel:
		return ""
	}
	if _, ok := variableTypes[name]; ok {
		return name
	}
	return ""
}

// global returns the name of a variable that no comprehension hides, or "".
func (s *scope) global(e ast.Expr) string {
	if e.Kind() != ast.IdentKind {
		return ""
	}
	if _, bound := s.lookup(e.AsIdent()); bound {
		return ""
	}
	return strings.TrimPrefix(e.AsIdent(), ".")
}

// step takes apart a field selection or an indexing: x.f, x.?f, x[k], x[?k], has(x.f).
// The field is "" for a key that is not a literal text.
func step(e ast.Expr) (operand ast.Expr, field string, key ast.Expr, ok bool) {
	switch e.Kind() {
	case ast.SelectKind:
		return e.AsSelect().Operand(), e.AsSelect().FieldName(), nil, true
	case ast.CallKind:
		c := e.AsCall()
		switch c.FunctionName() {
		case operators.Index, operators.OptIndex, operators.OptSelect:
			if len(c.Args()) != 2 {
				return nil, "", nil, false
			}
			key = c.Args()[1]
			return c.Args()[0], literalText(key), key, true
		}
	}
	return nil, "", nil, false
}

// literalText returns the value of a string literal, or "".
func literalText(e ast.Expr) string {
	if e.Kind() != ast.LiteralKind {
		return ""
	}
	s, _ := e.AsLiteral().(types.String)
	return string(s)
}

// path returns the field of the request document that an expression is, or whose
// elements or entries it is one of; "" for anything else. Lists have no index in paths.
func (s *scope) path(e ast.Expr) string {
	if e.Kind() == ast.IdentKind {
		path, _ := s.lookup(e.AsIdent())
		return path
	}
	if operand, field, key, ok := step(e); ok {
		return below(s.path(operand), field, key)
	}
	if f, ok := filterOf(e); ok {
		return s.path(f.of)
	}
	return ""
}

// The maps of the document, whose keys come from the request.
const (
	pathArgs      = "call.args"
	pathArgLabels = "labels.args"
	pathClaims    = "principal.claims"
	pathCount     = "history.count"
)

// below returns the path of a field or an entry of the value at a path, or of an
// element if the key is not a text. It is the path of the whole where a key could be misread.
func below(path, field string, key ast.Expr) string {
	switch {
	case path == "":
		return ""
	case field == "":
		if path == pathArgLabels && key != nil {
			return path + ".*"
		}
		return path
	case path == pathArgLabels && strings.Contains(field, "."):
		return path + ".*"
	case strings.HasPrefix(path, pathArgs) && strings.Contains(field, "."),
		strings.HasPrefix(path, pathClaims) && strings.Contains(field, "."):
		return path
	}
	return path + "." + field
}

// filter is what list.filter(x, condition) is made of.
type filter struct {
	of        ast.Expr
	variable  string
	condition ast.Expr
}

// filterOf recognises the macro filter: its elements are elements of the list.
func filterOf(e ast.Expr) (filter, bool) {
	if e.Kind() != ast.ComprehensionKind {
		return filter{}, false
	}
	c := e.AsComprehension()
	if c.HasIterVar2() || c.AccuInit().Kind() != ast.ListKind || c.AccuInit().AsList().Size() != 0 || !isIdent(c.Result(), c.AccuVar()) {
		return filter{}, false
	}
	args, ok := callArgs(c.LoopStep(), operators.Conditional, 3)
	if !ok || !isIdent(args[2], c.AccuVar()) {
		return filter{}, false
	}
	sum, ok := callArgs(args[1], operators.Add, 2)
	if !ok || !isIdent(sum[0], c.AccuVar()) || sum[1].Kind() != ast.ListKind {
		return filter{}, false
	}
	elements := sum[1].AsList().Elements()
	if len(elements) != 1 || !isIdent(elements[0], c.IterVar()) {
		return filter{}, false
	}
	return filter{c.IterRange(), c.IterVar(), args[0]}, true
}

// quantifier is what list.exists(x, condition) or list.all(x, condition) is made of.
type quantifier struct {
	of        ast.Expr
	variable  string
	condition ast.Expr
	all       bool
}

// quantifierOf recognises the macros exists and all.
func quantifierOf(e ast.Expr) (quantifier, bool) {
	if e.Kind() != ast.ComprehensionKind {
		return quantifier{}, false
	}
	c := e.AsComprehension()
	if c.HasIterVar2() || c.AccuInit().Kind() != ast.LiteralKind || !isIdent(c.Result(), c.AccuVar()) {
		return quantifier{}, false
	}
	q := quantifier{of: c.IterRange(), variable: c.IterVar()}
	op := operators.LogicalOr
	switch c.AccuInit().AsLiteral() {
	case types.True:
		op, q.all = operators.LogicalAnd, true
	case types.False:
	default:
		return quantifier{}, false
	}
	args, ok := callArgs(c.LoopStep(), op, 2)
	if !ok || !isIdent(args[0], c.AccuVar()) {
		return quantifier{}, false
	}
	q.condition = args[1]
	return q, true
}

func isIdent(e ast.Expr, name string) bool {
	return e.Kind() == ast.IdentKind && e.AsIdent() == name
}

// callArgs returns the arguments of a call of an operator.
func callArgs(e ast.Expr, function string, n int) ([]ast.Expr, bool) {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != function || e.AsCall().IsMemberFunction() || len(e.AsCall().Args()) != n {
		return nil, false
	}
	return e.AsCall().Args(), true
}

// walk calls visit for an expression and, where that returns true, for those in
// it, each with its scope. What macros add is visited too.
func walk(e ast.Expr, s *scope, visit func(e ast.Expr, s *scope) bool) {
	if !visit(e, s) {
		return
	}
	switch e.Kind() {
	case ast.SelectKind:
		walk(e.AsSelect().Operand(), s, visit)
	case ast.CallKind:
		c := e.AsCall()
		if c.IsMemberFunction() {
			walk(c.Target(), s, visit)
		}
		for _, a := range c.Args() {
			walk(a, s, visit)
		}
	case ast.ListKind:
		for _, x := range e.AsList().Elements() {
			walk(x, s, visit)
		}
	case ast.MapKind:
		for _, x := range e.AsMap().Entries() {
			walk(x.AsMapEntry().Key(), s, visit)
			walk(x.AsMapEntry().Value(), s, visit)
		}
	case ast.StructKind:
		for _, x := range e.AsStruct().Fields() {
			walk(x.AsStructField().Value(), s, visit)
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		walk(c.IterRange(), s, visit)
		walk(c.AccuInit(), s, visit)
		inner := s.comprehension(c)
		walk(c.LoopCondition(), inner, visit)
		walk(c.LoopStep(), inner, visit)
		walk(c.Result(), s.bind(c.AccuVar(), s.accumulator(c)), visit)
	}
}

// comprehension returns the scope of a comprehension's loop.
func (s *scope) comprehension(c ast.ComprehensionExpr) *scope {
	path := s.path(c.IterRange())
	inner := s.bind(c.AccuVar(), s.accumulator(c))
	switch {
	case c.HasIterVar2(): // index and element, or key and value
		return inner.bind(c.IterVar(), "").bind(c.IterVar2(), elementsOf(path))
	case isMapPath(path): // keys
		return inner.bind(c.IterVar(), "")
	}
	return inner.bind(c.IterVar(), path)
}

// accumulator returns the path of a comprehension's result while it is made: that of
// the value if it only names one, as cel.bind does.
func (s *scope) accumulator(c ast.ComprehensionExpr) string {
	if r := c.IterRange(); r.Kind() == ast.ListKind && r.AsList().Size() == 0 {
		return s.path(c.AccuInit())
	}
	return ""
}

func elementsOf(path string) string {
	if path == pathArgLabels {
		return path + ".*"
	}
	return path
}

func isMapPath(path string) bool {
	switch path {
	case pathArgs, pathArgLabels, pathClaims, pathCount:
		return true
	}
	return false
}
