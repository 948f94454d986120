package cel

import (
	"math"
	"time"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// The cost of an expression is counted in CEL's units, one for about every operation, a
// few tens of nanoseconds at most. It is estimated when the expression is loaded, for a request that is small:
// if that is cheap, small requests are evaluated without counting. Otherwise every
// operation is counted while it is evaluated.
const (
	smallList = 64   // elements of a list in a small request
	smallText = 1024 // characters of a text in a small request

	maxCost     = 100_000    // of one evaluation of an expression
	maxDecision = 1_000_000  // of all counted evaluations of one decision
	callCost    = 50         // of counting at all
	maxEstimate = 10_000_000 // of an expression, for a small request: more is refused at load

	interruptEvery = 64 // elements
)

// evaluationTime is what all counted evaluations of one decision may take: counting is slow where lists are long. It is
// given once more if it is up, since the machine may have stalled: some 60 ms in all.
var evaluationTime = 30 * time.Millisecond

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
	likely bool // what an expression makes is as small as the request, which is likely, not certain
}

func size(n uint64) *checker.SizeEstimate { return &checker.SizeEstimate{Min: 0, Max: n} }

// EstimateSize bounds what has no size of its own in the expression.
func (e estimator) EstimateSize(n checker.AstNode) *checker.SizeEstimate {
	switch n.Type().Kind() {
	case types.StructKind:
		return size(32) // fields
	case types.TypeKind:
		return size(1)
	}
	root := ""
	if path := n.Path(); len(path) > 0 {
		root = path[0]
	}
	switch root {
	case varParams:
		if v := e.param(n.Path()[1:]); v != nil {
			return size(uint64(v.Size().(types.Int)))
		}
	case varLeaves, varLeaf, varLabels, varTags, varCall, varHistory, varSession, varAgent, varVersion:
		return smallSize(n.Type())
	case varPrincipal: // claims are the host's, of any size
		return size(1 << 20)
	}
	if e.likely {
		return smallSize(n.Type())
	}
	return computedSize(n.Type())
}

func smallSize(t *types.Type) *checker.SizeEstimate {
	switch t.Kind() {
	case types.ListKind, types.MapKind:
		return size(smallList)
	case types.StringKind, types.BytesKind, types.DynKind, types.OpaqueKind:
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
	case types.StringKind, types.BytesKind, types.DynKind, types.OpaqueKind:
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
