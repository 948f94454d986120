package cel

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// Most conditions are logic over comparisons of a field of the request, or of each leaf, with a
// constant. Those are evaluated by closures over the request itself; whatever else is in them, by
// the library's plan for that part. The outcome is the library's for the whole: TestFast holds them
// against each other.

// verdict is the outcome of a condition.
type verdict uint8

const (
	no verdict = iota
	yes
	failed // with the error in the state
)

// check evaluates a condition.
type check func(*state) verdict

// fastCompiler makes checks of one expression.
type fastCompiler struct {
	checked *ast.AST
	params  *objectType
	plan    func(*ast.AST) (interpreter.InterpretableV2, error)
	loops   []string // the variables of the loops around, outermost first
	native  bool     // something is evaluated without the library
	err     error    // the first of planning a part
}

// of returns the check of a condition or a part of it.
func (c *fastCompiler) of(e ast.Expr) check {
	if f := c.logic(e); f != nil {
		return f
	}
	if f := c.loop(e); f != nil {
		return f
	}
	if f := c.comparison(e); f != nil {
		c.native = true
		return f
	}
	return c.library(e)
}

// verdict turns a value into the outcome of a condition.
func (s *state) verdict(v ref.Val) verdict {
	switch v {
	case types.True:
		return yes
	case types.False:
		return no
	}
	if s.err == nil {
		s.err = notBool(v)
	}
	return failed
}

func (c *fastCompiler) logic(e ast.Expr) check {
	if e.Kind() == ast.LiteralKind {
		if b, ok := e.AsLiteral().(types.Bool); ok {
			v := no
			if b {
				v = yes
			}
			return func(*state) verdict { return v }
		}
		return nil
	}
	op, args := logic(e)
	if op == isOther {
		return nil
	}
	kids := make([]check, len(args))
	for i, a := range args {
		kids[i] = c.of(a)
	}
	switch op {
	case isAnd:
		return junction(kids, no)
	case isOr:
		return junction(kids, yes)
	case isNot:
		kid := kids[0]
		return func(s *state) verdict {
			switch kid(s) {
			case yes:
				return no
			case no:
				return yes
			}
			return failed
		}
	}
	test, then, otherwise := kids[0], kids[1], kids[2]
	return func(s *state) verdict {
		switch test(s) {
		case yes:
			return then(s)
		case no:
			return otherwise(s)
		}
		return failed
	}
}

// junction is && or ||: the decisive verdict of one operand is that of all, whatever fails.
func junction(kids []check, decisive verdict) check {
	return func(s *state) verdict {
		out := yes - decisive
		for _, k := range kids {
			switch v := k(s); v {
			case decisive:
				return v
			case failed:
				out = failed
			}
		}
		return out
	}
}

// loop is leaves.exists(l, …) or leaves.all(l, …).
func (c *fastCompiler) loop(e ast.Expr) check {
	q, ok := quantifierOf(e)
	if !ok || !c.isGlobal(q.of, varLeaves) {
		return nil
	}
	if _, hidden := variableTypes[q.variable]; hidden { // it would hide a variable of the request
		return nil
	}
	c.loops = append(c.loops, q.variable)
	condition := c.of(q.condition)
	c.loops = c.loops[:len(c.loops)-1]
	c.native = true
	decisive := yes
	if q.all {
		decisive = no
	}
	name := q.variable
	return func(s *state) verdict {
		s.viewLeaves()
		at := len(s.loops)
		s.loops = append(s.loops, loopVariable{name: name})
		out := yes - decisive
		for i := range s.leaves {
			s.loops[at].leaf = &s.leaves[i]
			if v := condition(s); v == decisive {
				out = v
				break
			} else if v == failed {
				out = failed
			}
		}
		s.loops = s.loops[:at]
		return out
	}
}

// comparison returns the check of a comparison of a field with a constant, or nil.
func (c *fastCompiler) comparison(e ast.Expr) check {
	if flag := c.flag(e); flag != nil {
		return func(s *state) verdict { return truly(flag(s)) }
	}
	if e.Kind() != ast.CallKind {
		return nil
	}
	call := e.AsCall()
	args := call.Args()
	if call.IsMemberFunction() && len(args) == 1 {
		match, text := textTests[call.FunctionName()], c.text(call.Target())
		word, ok := c.constant(args[0]).(types.String)
		if match == nil || text == nil || !ok {
			return nil
		}
		return c.onText(e, text, func(s string) bool { return match(s, string(word)) })
	}
	if call.IsMemberFunction() || len(args) != 2 {
		return nil
	}
	switch f := call.FunctionName(); f {
	case operators.In:
		return c.membership(e, args[0], args[1])
	case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		if out := c.compare(e, f, args[0], args[1]); out != nil {
			return out
		}
		return c.compare(e, mirrored[f], args[1], args[0])
	}
	return nil
}

// onText returns the check of a text.
func (c *fastCompiler) onText(e ast.Expr, text func(*state) (string, bool), test func(string) bool) check {
	library := c.library(e)
	return func(s *state) verdict {
		if t, ok := text(s); ok {
			return truly(test(t))
		}
		return library(s)
	}
}

// mirrored is the operator for the operands in the other order.
var mirrored = map[string]string{
	operators.Equals: operators.Equals, operators.NotEquals: operators.NotEquals,
	operators.Less: operators.Greater, operators.Greater: operators.Less,
	operators.LessEquals: operators.GreaterEquals, operators.GreaterEquals: operators.LessEquals,
}

// compare compares a field with a constant.
func (c *fastCompiler) compare(e ast.Expr, operator string, field, with ast.Expr) check {
	switch k := c.constant(with).(type) {
	case types.String:
		text, word := c.text(field), string(k)
		switch {
		case text == nil:
		case operator == operators.Equals:
			return c.onText(e, text, func(s string) bool { return s == word })
		case operator == operators.NotEquals:
			return c.onText(e, text, func(s string) bool { return s != word })
		}
	case types.Int:
		if number := c.number(field); number != nil {
			return compareWith(number, orders[operator], int64(k), c.library(e))
		}
		const exact = 1 << 53 // doubles tell whole numbers apart below
		if number := c.decimal(field); number != nil && k < exact && k > -exact {
			return compareWith(number, decimalOrders[operator], float64(k), c.library(e))
		}
	case types.Double:
		if number := c.decimal(field); number != nil && k == k {
			return compareWith(number, decimalOrders[operator], float64(k), c.library(e))
		}
	}
	return nil
}

func compareWith[N int64 | float64](number func(*state) (N, bool), compare func(a, b N) bool, with N, library check) check {
	if compare == nil {
		return nil
	}
	return func(s *state) verdict {
		if n, ok := number(s); ok {
			return truly(compare(n, with))
		}
		return library(s)
	}
}

var (
	orders        = ordersOf[int64]()
	decimalOrders = ordersOf[float64]()
)

func ordersOf[N int64 | float64]() map[string]func(a, b N) bool {
	return map[string]func(a, b N) bool{
		operators.Equals:        func(a, b N) bool { return a == b },
		operators.NotEquals:     func(a, b N) bool { return a != b },
		operators.Less:          func(a, b N) bool { return a < b },
		operators.LessEquals:    func(a, b N) bool { return a <= b },
		operators.Greater:       func(a, b N) bool { return a > b },
		operators.GreaterEquals: func(a, b N) bool { return a >= b },
	}
}

// membership is x in […], x in params.list, or "word" in a set of the request.
func (c *fastCompiler) membership(e, elem, in ast.Expr) check {
	if word, ok := c.constant(elem).(types.String); ok {
		return c.contains(in, string(word), e)
	}
	text := c.text(elem)
	if text == nil {
		return nil
	}
	if words, ok := c.constant(in).(*texts); ok {
		if words.set != nil {
			return c.onText(e, text, func(s string) bool { return words.set[s] })
		}
		return c.onText(e, text, func(s string) bool { return slices.Contains(words.s, s) })
	}
	if in.Kind() != ast.ListKind || len(in.AsList().OptionalIndices()) > 0 {
		return nil
	}
	var words []string
	for _, x := range in.AsList().Elements() {
		word, ok := c.constant(x).(types.String)
		if !ok {
			return nil
		}
		words = append(words, string(word))
	}
	return c.onText(e, text, func(s string) bool { return slices.Contains(words, s) })
}

// textTests are the tests of a text that need no library.
var textTests = map[string]func(text, word string) bool{
	overloads.StartsWith: strings.HasPrefix,
	overloads.EndsWith:   strings.HasSuffix,
	overloads.Contains:   strings.Contains,
}
