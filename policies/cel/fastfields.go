package cel

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"callgate/engine/label"
	"callgate/engine/value"
)

// How a check gets at a field of the request without the library.

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
