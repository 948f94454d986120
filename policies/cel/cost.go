package cel

import (
	"fmt"
	"math"
	"regexp/syntax"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// The cost of an expression is counted in CEL's units, one for about every operation, a
// few tens of nanoseconds at most. It is estimated when the expression is loaded, for a request that is small:
// if that is cheap, small requests are evaluated without counting. Otherwise every
// operation is counted while it is evaluated.
const (
	smallList = 64   // elements of a list in a small request
	smallText = 1024 // characters of a text in a small request

	maxCost        = 100_000    // of one evaluation of an expression
	maxDecision    = 1_000_000  // of all counted evaluations of one decision
	maxEstimate    = 10_000_000 // of an expression, for a small request: more is refused at load
	maxElements    = 100_000    // of a list that an expression makes
	maxNestedParts = 10_000     // of a value of lists in lists that an expression makes
)

// isSimple reports whether an expression has no loop and no function that takes longer than reading
// its operands once: it need not be counted, whatever the request.
func isSimple(e ast.Expr) bool {
	simple := true
	walk(e, nil, func(e ast.Expr, _ *scope) bool {
		switch e.Kind() {
		case ast.ComprehensionKind, ast.ListKind, ast.MapKind:
			simple = simple && isLiteral(e)
			return false
		case ast.CallKind:
			simple = simple && simpleFunctions[e.AsCall().FunctionName()]
		}
		return simple
	})
	return simple
}

// isLiteral reports whether an expression is a list of literals.
func isLiteral(e ast.Expr) bool {
	if e.Kind() != ast.ListKind {
		return false
	}
	for _, x := range e.AsList().Elements() {
		if x.Kind() != ast.LiteralKind {
			return false
		}
	}
	return true
}

var simpleFunctions = map[string]bool{
	operators.LogicalAnd: true, operators.LogicalOr: true, operators.LogicalNot: true, operators.Conditional: true,
	operators.Equals: true, operators.NotEquals: true, operators.In: true, operators.Negate: true,
	operators.Less: true, operators.LessEquals: true, operators.Greater: true, operators.GreaterEquals: true,
	operators.Index: true, operators.OptIndex: true, operators.OptSelect: true,
	overloads.Size: true, overloads.StartsWith: true, overloads.EndsWith: true, "orValue": true, "or": true, "hasValue": true,
}

// estimator knows how large the parts of a small request are at most.
type estimator struct {
	params *objectType
}

func size(n uint64) *checker.SizeEstimate { return &checker.SizeEstimate{Min: 0, Max: n} }

// EstimateSize bounds what has no size of its own in the expression.
func (e estimator) EstimateSize(n checker.AstNode) *checker.SizeEstimate {
	path := n.Path()
	if len(path) > 0 && path[0] == varParams {
		if v := e.param(path[1:]); v != nil {
			return size(uint64(v.Size().(types.Int)))
		}
	}
	if len(path) == 0 {
		return computedSize(n.Type())
	}
	switch path[0] {
	case varLeaves, varLeaf, varLabels, varTags, varCall, varHistory, varSession, varAgent, varVersion:
		return smallSize(n.Type())
	case varPrincipal: // claims are the host's, of any size
		return size(1 << 20)
	}
	return computedSize(n.Type())
}

func smallSize(t *types.Type) *checker.SizeEstimate {
	switch t.Kind() {
	case types.ListKind, types.MapKind:
		return size(smallList)
	case types.StringKind, types.BytesKind, types.DynKind:
		return size(smallText)
	}
	return nil
}

// computedSize bounds what an expression makes of a small request, when the library
// does not say how large it is.
func computedSize(t *types.Type) *checker.SizeEstimate {
	switch t.Kind() {
	case types.ListKind, types.MapKind:
		return size(smallList * smallList)
	case types.StringKind, types.BytesKind, types.DynKind:
		return size(smallList * smallText)
	}
	return nil
}

// param returns the parameter at a path, or nil if it has no size or is not one.
func (e estimator) param(path []string) traits.Sizer {
	s, _ := paramAt(e.params, path).(traits.Sizer)
	return s
}

// paramAt returns the parameter at a path, or nil.
func paramAt(params *objectType, path []string) ref.Val {
	var v ref.Val = &object{of: params}
	for _, name := range path {
		switch x := v.(type) {
		case *object:
			f := x.of.field(name)
			if f == nil {
				return nil
			}
			out, err := f.GetFrom(x.from)
			if err != nil {
				return nil
			}
			v = out.(ref.Val)
		case *dict:
			out, ok := x.get(name)
			if !ok {
				return nil
			}
			v = out
		default:
			return nil
		}
	}
	return v
}

// EstimateCallCost knows that membership in a parameter's list is looked up, and that string(x) is
// about as long as x.
func (e estimator) EstimateCallCost(function, overload string, _ *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	if function == overloads.TypeConvertString && len(args) == 1 {
		const number = 32 // characters of one at most, or of a timestamp
		n := args[0].ComputedSize()
		if n == nil {
			n = e.EstimateSize(args[0])
		}
		if n == nil {
			n = size(number)
		}
		return &checker.CallEstimate{
			CostEstimate: n.MultiplyByCostFactor(common.StringTraversalCostFactor).Add(checker.CostEstimate{Max: 1}),
			ResultSize:   size(max(n.Max, number)),
		}
	}
	if overload != overloads.InList || len(args) != 2 || len(args[1].Path()) == 0 || args[1].Path()[0] != varParams {
		return nil
	}
	if _, ok := e.param(args[1].Path()[1:]).(*texts); !ok {
		return nil
	}
	return &checker.CallEstimate{CostEstimate: checker.CostEstimate{Min: 1, Max: 1}}
}

// CallCost is EstimateCallCost when an expression is evaluated.
func (estimator) CallCost(_, overload string, args []ref.Val, _ ref.Val) *uint64 {
	if overload == overloads.InList && len(args) == 2 {
		if t, ok := args[1].(*texts); ok && (t.set != nil || t.every) {
			cost := uint64(1)
			return &cost
		}
	}
	return nil
}

// estimate returns the most that an expression costs.
func estimate(env *celgo.Env, checked *celgo.Ast, e estimator) uint64 {
	cost, err := env.EstimateCost(checked, e)
	if err != nil {
		return math.MaxUint64
	}
	return cost.Max
}

// guard makes an expression fail rather than make a value whose comparison, printing or
// copying would take long although its making did not: lists doubled again and again,
// lists of lists that share their elements.
func guard(checked *ast.AST) interpreter.InterpretableDecoratorV2 {
	growing := accumulations(checked.Expr())
	return func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		if growing[i.ID()] {
			return i, nil
		}
		g := sizeGuard{nested: nested(checked.GetType(i.ID()))}
		switch inst := i.(type) {
		case interpreter.InterpretableConst, interpreter.InterpretableAttribute:
			return i, nil
		case interpreter.InterpretableCall:
			if args := inst.Args(); inst.Function() == overloads.Matches && len(args) == 2 {
				if _, isConst := args[1].(interpreter.InterpretableConst); !isConst {
					return &guardedMatch{inst}, nil
				}
			}
			if g.nested || inst.Function() == operators.Add && checked.GetType(i.ID()).Kind() == types.ListKind {
				return &guardedCall{inst, g}, nil
			}
			return i, nil
		case interpreter.InterpretableConstructor:
			if g.nested {
				return &guardedConstructor{inst, g}, nil
			}
			return i, nil
		}
		if g.nested {
			return &guarded{i, g}, nil
		}
		return i, nil
	}
}

// accumulations returns the ids of what comprehensions add to their results one by one:
// the result is checked instead.
func accumulations(e ast.Expr) map[int64]bool {
	out := map[int64]bool{}
	walk(e, nil, func(e ast.Expr, _ *scope) bool {
		if e.Kind() == ast.ComprehensionKind {
			c := e.AsComprehension()
			walk(c.LoopStep(), nil, func(e ast.Expr, _ *scope) bool {
				if args, ok := callArgs(e, operators.Add, 2); ok && isIdent(args[0], c.AccuVar()) {
					out[e.ID()], out[args[1].ID()] = true, true
				}
				return true
			})
		}
		return true
	})
	return out
}

// nested reports whether values of a type may have lists or maps in lists or maps.
func nested(t *types.Type) bool {
	switch t.Kind() {
	case types.DynKind, types.AnyKind, types.TypeParamKind:
		return true
	case types.ListKind, types.MapKind, types.OpaqueKind:
		for _, p := range t.Parameters() {
			switch p.Kind() {
			case types.ListKind, types.MapKind, types.OpaqueKind, types.DynKind, types.AnyKind, types.TypeParamKind:
				return true
			}
		}
	}
	return false
}

// sizeGuard checks the size of a value.
type sizeGuard struct{ nested bool }

func (g sizeGuard) check(v ref.Val) ref.Val {
	if g.nested {
		if parts(v, maxNestedParts) < 0 {
			return types.NewErr("a value of more than %d parts", maxNestedParts)
		}
		return v
	}
	if s, ok := v.(traits.Lister); ok && s.Size().(types.Int) > maxElements {
		return types.NewErr("a list of more than %d elements", maxElements)
	}
	return v
}

// parts takes the number of values in v off what is left; less than 0 means that they were too many.
func parts(v ref.Val, left int) int {
	left--
	switch v := v.(type) {
	case traits.Lister:
		for it := v.Iterator(); left >= 0 && it.HasNext() == types.True; {
			left = parts(it.Next(), left)
		}
	case traits.Mapper:
		for it := v.Iterator(); left >= 0 && it.HasNext() == types.True; {
			left = parts(v.Get(it.Next()), left)
		}
	case *types.Optional:
		if v.HasValue() {
			return parts(v.GetValue(), left)
		}
	}
	return left
}

type guarded struct {
	interpreter.InterpretableV2
	size sizeGuard
}

func (g *guarded) Exec(f *interpreter.ExecutionFrame) ref.Val {
	return g.size.check(g.InterpretableV2.Exec(f))
}

func (g *guarded) Eval(a interpreter.Activation) ref.Val { return g.Exec(interpreter.AsFrame(a)) }

type guardedCall struct {
	interpreter.InterpretableCall
	size sizeGuard
}

func (g *guardedCall) Exec(f *interpreter.ExecutionFrame) ref.Val {
	return g.size.check(g.InterpretableCall.Exec(f))
}

func (g *guardedCall) Eval(a interpreter.Activation) ref.Val { return g.Exec(interpreter.AsFrame(a)) }

type guardedConstructor struct {
	interpreter.InterpretableConstructor
	size sizeGuard
}

func (g *guardedConstructor) Exec(f *interpreter.ExecutionFrame) ref.Val {
	return g.size.check(g.InterpretableConstructor.Exec(f))
}

func (g *guardedConstructor) Eval(a interpreter.Activation) ref.Val {
	return g.Exec(interpreter.AsFrame(a))
}

// guardedMatch matches a pattern that is not known before it is evaluated.
type guardedMatch struct{ interpreter.InterpretableCall }

func (g *guardedMatch) Exec(f *interpreter.ExecutionFrame) ref.Val {
	pattern := g.Args()[1].Exec(f)
	if s, ok := pattern.(types.String); ok {
		if err := checkPattern(string(s)); err != nil {
			return types.WrapErr(err)
		}
	}
	return g.InterpretableCall.Exec(f)
}

func (g *guardedMatch) Eval(a interpreter.Activation) ref.Val { return g.Exec(interpreter.AsFrame(a)) }

// checkPattern refuses regular expressions whose matching takes long: it takes
// time in proportion to the states times the text. What does not parse is left to who compiles it.
func checkPattern(pattern string) error {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	prog, err := syntax.Compile(re.Simplify())
	if err == nil && len(prog.Inst) > maxRegexStates {
		return fmt.Errorf("regular expression of %d states, want %d at most", len(prog.Inst), maxRegexStates)
	}
	return nil
}
