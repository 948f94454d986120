package cel

import (
	"fmt"
	"regexp/syntax"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// The limits on what an expression makes.
const (
	maxElements    = 100_000 // of a list
	maxNestedParts = 10_000  // of a value of lists in lists
	maxText        = 1 << 20 // bytes of a text
)

// guard makes an expression fail rather than make a value whose comparison, printing or
// copying would take long although its making did not: lists doubled again and again,
// lists of lists that share their elements.
func (e *environment) guard(checked *ast.AST) interpreter.InterpretableDecoratorV2 {
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
			if bound := textBounds[inst.Function()]; bound != nil {
				return e.bounded(inst, bound), nil
			}
			if g.nested || inst.Function() == operators.Add {
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
	switch v := v.(type) {
	case types.String:
		if len(v) > maxText {
			return errTextSize()
		}
	case traits.Lister:
		if v.Size().(types.Int) > maxElements {
			return types.NewErr("a list of more than %d elements", maxElements)
		}
	}
	return v
}

func errTextSize() ref.Val { return types.NewErr("a text of more than %d bytes", maxText) }

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

// textBounds say how long a text a function makes of its arguments at most: where that may be much
// longer than they are.
var textBounds = map[string]func(args []ref.Val) int{
	"replace": func(args []ref.Val) int {
		s, from, to := string(args[0].(types.String)), string(args[1].(types.String)), string(args[2].(types.String))
		return product(strings.Count(s, from), len(to), len(s))
	},
	"join": func(args []ref.Val) int {
		l := args[0].(traits.Lister)
		n := int(l.Size().(types.Int))
		if len(args) == 2 {
			return product(n, len(args[1].(types.String)), textOfParts(l))
		}
		return textOfParts(l)
	},
	"format": func(args []ref.Val) int {
		format := string(args[0].(types.String))
		return product(strings.Count(format, "%"), textOfParts(args[1]), len(format))
	},
}

// product is n*size + more, or more than maxText if that is.
func product(n, size, more int) int {
	if size > 0 && n > maxText/size {
		return maxText + 1
	}
	return n*size + min(more, maxText+1)
}

// textOfParts returns how long the parts of a value are as text, or more than maxText.
func textOfParts(v ref.Val) int {
	const scalar = 32 // characters of a number or a timestamp, and what stands around it
	n := scalar
	switch v := v.(type) {
	case types.String:
		n += len(v)
	case types.Bytes:
		n += 2 * len(v)
	case traits.Lister:
		for it := v.Iterator(); n <= maxText && it.HasNext() == types.True; {
			n += textOfParts(it.Next())
		}
	case traits.Mapper:
		for it := v.Iterator(); n <= maxText && it.HasNext() == types.True; {
			k := it.Next()
			n += textOfParts(k) + textOfParts(v.Get(k))
		}
	}
	return min(n, maxText+1)
}

// bounded makes a call fail if the text that it would make is too long.
func (e *environment) bounded(call interpreter.InterpretableCall, bound func([]ref.Val) int) interpreter.InterpretableV2 {
	impl, ok := e.dispatcher.FindOverload(call.OverloadID())
	if !ok {
		impl, ok = e.dispatcher.FindOverload(call.Function())
	}
	return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(args ...ref.Val) (v ref.Val) {
		defer func() {
			if recover() != nil { // an argument is not of the function's type, which dyn hid
				v = types.NewErr("no such overload: %s", call.Function())
			}
		}()
		switch {
		case !ok:
			return types.NewErr("no such overload: %s", call.Function())
		case bound(args) > maxText:
			return errTextSize()
		case impl.Unary != nil && len(args) == 1:
			return impl.Unary(args[0])
		case impl.Binary != nil && len(args) == 2:
			return impl.Binary(args[0], args[1])
		}
		return impl.Function(args...)
	})
}
