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

	"callgate/engine/label"
	"callgate/engine/value"
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

// isGlobal reports whether an expression is a variable of the request.
func (c *fastCompiler) isGlobal(e ast.Expr, name string) bool {
	return e.Kind() == ast.IdentKind && e.AsIdent() == name && !slices.Contains(c.loops, name)
}

// leaf returns how to get at the leaf that an expression is, or nil.
func (c *fastCompiler) leaf(e ast.Expr) func(*state) *leafView {
	if e.Kind() != ast.IdentKind {
		return nil
	}
	for i := len(c.loops) - 1; i >= 0; i-- {
		if c.loops[i] == e.AsIdent() {
			return func(s *state) *leafView { return s.loops[i].leaf }
		}
	}
	if c.isGlobal(e, varLeaf) {
		return func(s *state) *leafView { return s.leaf }
	}
	return nil
}

// label returns how to get at the label that an expression is, or is shown by: of a
// leaf, of the program, the pc or the context, or of an argument, which may not be there.
func (c *fastCompiler) label(e ast.Expr) func(*state) (label.Label, bool) {
	if leaf := c.leaf(e); leaf != nil {
		return func(s *state) (label.Label, bool) { return leaf(s).label, true }
	}
	operand, field, _, ok := plainStep(e)
	switch {
	case !ok:
		return nil
	case c.isField(operand, varLabels, "args"):
		return func(s *state) (label.Label, bool) {
			for i := range s.r.Labels.Args {
				if l := &s.r.Labels.Args[i]; l.Name == field {
					return l.Label, true
				}
			}
			return label.Label{}, false
		}
	case !c.isGlobal(operand, varLabels):
		return nil
	}
	switch field {
	case "program":
		return func(s *state) (label.Label, bool) { return s.program.label, true }
	case "pc":
		return func(s *state) (label.Label, bool) { return s.pc.label, true }
	case "context":
		return func(s *state) (label.Label, bool) { return s.context.label, true }
	}
	return nil
}

// plainStep is step for x.f and x["f"] alone.
func plainStep(e ast.Expr) (operand ast.Expr, field string, key ast.Expr, ok bool) {
	operand, field, key, ok = step(e)
	if !ok || field == "" || e.Kind() == ast.SelectKind && e.AsSelect().IsTestOnly() ||
		e.Kind() == ast.CallKind && e.AsCall().FunctionName() != operators.Index {
		return nil, "", nil, false
	}
	return operand, field, key, true
}

// text returns how to get at a text, or nil; ok is false if that takes the library.
func (c *fastCompiler) text(e ast.Expr) func(*state) (text string, ok bool) {
	operand, field, _, ok := plainStep(e)
	if !ok {
		return nil
	}
	if leaf := c.leaf(operand); leaf != nil {
		switch field {
		case "sink":
			return func(s *state) (string, bool) { return leaf(s).leaf.Sink, true }
		case "norm":
			return func(s *state) (string, bool) { return leaf(s).leaf.Norm, true }
		case "host":
			return func(s *state) (string, bool) { return leaf(s).leaf.Host, true }
		case "path":
			return func(s *state) (string, bool) { return leaf(s).leaf.Path, true }
		case "param":
			return func(s *state) (string, bool) { return leaf(s).leaf.Param, true }
		}
	}
	if c.isGlobal(operand, varSession) && field == "mode" {
		return func(s *state) (string, bool) { return s.r.Session.Mode, true }
	}
	if arg := c.arg(e, types.StringKind); arg != nil {
		return func(s *state) (string, bool) {
			if v := arg(s); v != nil && v.Kind == value.String {
				return v.Str, true
			}
			return "", false
		}
	}
	return nil
}

// number returns how to get at a whole number, or nil; ok is false if that takes the library.
func (c *fastCompiler) number(e ast.Expr) func(*state) (n int64, ok bool) {
	if out := c.size(e); out != nil {
		return out
	}
	if arg, or := c.argOr(e, types.IntKind); arg != nil {
		return func(s *state) (int64, bool) {
			v := arg(s)
			if v == nil {
				n, ok := or.(types.Int)
				return int64(n), ok
			}
			if v.Kind != value.Int || !v.Int.IsInt64() {
				return 0, false
			}
			return v.Int.Int64(), true
		}
	}
	operand, field, _, ok := plainStep(e)
	if !ok {
		return nil
	}
	if field == "rank" {
		if label := c.label(operand); label != nil {
			return func(s *state) (int64, bool) {
				l, ok := label(s)
				return int64(l.Trust()), ok
			}
		}
	}
	switch {
	case c.isGlobal(operand, varSession) && field == "turn":
		return func(s *state) (int64, bool) { return int64(s.r.Session.Turn), true }
	case c.isField(operand, varHistory, "count"):
		return func(s *state) (int64, bool) {
			n, ok := s.r.History.Count[field]
			return int64(n), ok
		}
	}
	return nil
}

// size is size(x) of a list of the request.
func (c *fastCompiler) size(e ast.Expr) func(*state) (int64, bool) {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != overloads.Size {
		return nil
	}
	of := e.AsCall().Target()
	if !e.AsCall().IsMemberFunction() {
		of = e.AsCall().Args()[0]
	}
	if c.isGlobal(of, varLeaves) {
		return func(s *state) (int64, bool) { return int64(len(s.r.Leaves)), true }
	}
	if arg := c.arg(of, types.ListKind); arg != nil {
		return func(s *state) (int64, bool) {
			if v := arg(s); v != nil && (v.Kind == value.List || v.Kind == value.Tuple || v.Kind == value.Set) {
				return int64(len(v.Items)), true
			}
			return 0, false
		}
	}
	return nil
}

// decimal returns how to get at an argument that is a number, or nil; ok is false if that takes the library.
func (c *fastCompiler) decimal(e ast.Expr) func(*state) (n float64, ok bool) {
	arg, or := c.argOr(e, types.DoubleKind)
	if arg == nil {
		return nil
	}
	return func(s *state) (float64, bool) {
		v := arg(s)
		if v == nil {
			n, ok := or.(types.Double)
			return float64(n), ok
		}
		n, ok := dynArgDouble.show(v).(types.Double)
		return float64(n), ok
	}
}

var dynArgDouble = &argType{typ: types.DoubleType, kind: argDouble}

// arg returns how to get at an argument of a type, or nil: it is that only where the type is known from
// the tool's schema.
func (c *fastCompiler) arg(e ast.Expr, kind types.Kind) func(*state) *value.Value {
	operand, field, _, ok := plainStep(e)
	if !ok || !c.isField(operand, varCall, "args") || c.checked.GetType(e.ID()).Kind() != kind {
		return nil
	}
	return func(s *state) *value.Value { return entry(&s.r.Call.Args, field) }
}

// argOr is arg for call.args.x and for call.args.?x.orValue(y), of which or is y.
func (c *fastCompiler) argOr(e ast.Expr, kind types.Kind) (arg func(*state) *value.Value, or ref.Val) {
	if arg := c.arg(e, kind); arg != nil {
		return arg, nil
	}
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != "orValue" || !e.AsCall().IsMemberFunction() ||
		len(e.AsCall().Args()) != 1 || c.checked.GetType(e.ID()).Kind() != kind {
		return nil, nil
	}
	operand, field, key, ok := step(e.AsCall().Target())
	if or = c.constant(e.AsCall().Args()[0]); !ok || key == nil || field == "" || or == nil || !c.isField(operand, varCall, "args") ||
		c.checked.GetType(e.AsCall().Target().ID()).Kind() != types.OpaqueKind {
		return nil, nil
	}
	return func(s *state) *value.Value { return entry(&s.r.Call.Args, field) }, or
}

// isField reports whether an expression is a field of a variable of the request.
func (c *fastCompiler) isField(e ast.Expr, variable, field string) bool {
	operand, name, _, ok := plainStep(e)
	return ok && name == field && c.isGlobal(operand, variable)
}

// flag returns how to get at a bool, or nil.
func (c *fastCompiler) flag(e ast.Expr) func(*state) bool {
	operand, field, _, ok := plainStep(e)
	if !ok {
		return nil
	}
	if leaf := c.leaf(operand); leaf != nil && field == "typed" {
		return func(s *state) bool { return leaf(s).leaf.Typed }
	}
	return nil
}

// contains returns a check whether a set of texts in the request contains one, or nil.
func (c *fastCompiler) contains(e ast.Expr, word string, whole ast.Expr) check {
	if c.isGlobal(e, varTags) {
		return func(s *state) verdict {
			return truly(slices.Contains(s.r.Tags, word) || slices.Contains(s.r.Tags, "*"))
		}
	}
	if c.isField(e, varHistory, "marks") {
		return func(s *state) verdict { return truly(slices.Contains(s.r.History.Marks, word)) }
	}
	operand, field, _, ok := plainStep(e)
	if !ok {
		return nil
	}
	label := c.label(operand)
	if label == nil || field != "tags" && field != "readers" {
		return nil
	}
	library := c.library(whole)
	return func(s *state) verdict {
		l, ok := label(s)
		switch {
		case !ok:
			return library(s)
		case field == "tags":
			return truly(l.HasTag(word))
		}
		return truly(l.Readers().Includes(word))
	}
}

// library returns the check of an expression by the library's plan.
func (c *fastCompiler) library(e ast.Expr) check {
	plan, err := c.plan(part(c.checked, e))
	if err != nil {
		if c.err == nil {
			c.err = err
		}
		return func(*state) verdict { return failed }
	}
	return func(s *state) verdict { return s.verdict(plan.Exec(s.frame)) }
}

func truly(b bool) verdict {
	if b {
		return yes
	}
	return no
}

// constant returns the value of a literal or a parameter, or nil.
func (c *fastCompiler) constant(e ast.Expr) ref.Val {
	if e.Kind() == ast.LiteralKind {
		return e.AsLiteral()
	}
	var path []string
	for e.Kind() != ast.IdentKind {
		operand, field, _, ok := plainStep(e)
		if !ok {
			return nil
		}
		path = append(path, field)
		e = operand
	}
	if !c.isGlobal(e, varParams) || len(path) == 0 {
		return nil
	}
	slices.Reverse(path)
	return paramAt(c.params, path)
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
