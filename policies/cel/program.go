package cel

import (
	"context"
	"fmt"
	"sync"
	"time"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// program is an expression that can be evaluated. It is not used before prepare was called.
type program struct {
	plan  interpreter.InterpretableV2
	fast  check // the same, if it is a condition; nil if it would not be faster
	ready func() error

	// counted evaluates the same and counts its cost; planned when it is first needed.
	counted func() (celgo.Program, error)
	cost    costClass
}

// costClass says when an evaluation's cost must be counted.
type costClass uint8

const (
	costCounted costClass = iota // always
	costSmall                    // if the request is not small
	costFree                     // never
)

// planOptions are for an expression that is evaluated without counting.
func (e *environment) planOptions(checked *ast.AST) []interpreter.PlannerOption {
	return []interpreter.PlannerOption{
		interpreter.Optimize(),
		interpreter.CompileRegexConstants(interpreter.MatchesRegexOptimization),
		interpreter.CustomDecoratorV2(alternatives),
		interpreter.CustomDecoratorV2(e.guard(checked)),
	}
}

// alternatives implements x.or(y) and x.orValue(y), of which y is evaluated if x is none.
func alternatives(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, ok := i.(interpreter.InterpretableCall)
	if ok && len(call.Args()) == 2 && (call.Function() == "or" || call.Function() == "orValue") {
		return &alternative{call, call.Args()[0], call.Args()[1], call.Function() == "orValue"}, nil
	}
	return i, nil
}

type alternative struct {
	interpreter.InterpretableCall
	first, second interpreter.InterpretableV2
	value         bool
}

func (a *alternative) Exec(f *interpreter.ExecutionFrame) ref.Val {
	v := a.first.Exec(f)
	o, ok := v.(*types.Optional)
	switch {
	case !ok:
		return types.MaybeNoSuchOverloadErr(v)
	case !o.HasValue():
		return a.second.Exec(f)
	case a.value:
		return o.GetValue()
	}
	return o
}

func (a *alternative) Eval(vars interpreter.Activation) ref.Val {
	return a.Exec(interpreter.AsFrame(vars))
}

// newProgram plans what is to be evaluated of x, as checked with the types that the
// interpreter and the environment have.
func newProgram(x *expr, checked *ast.AST, i interpreter.Interpreter, env *celgo.Env) (*program, error) {
	plan, err := i.NewInterpretable(checked, x.env.planOptions(checked)...)
	if err != nil {
		return nil, err
	}
	p := &program{plan: plan, cost: x.cost, counted: sync.OnceValues(func() (celgo.Program, error) {
		return env.PlanProgram(checked,
			celgo.EvalOptions(celgo.OptOptimize),
			celgo.CustomDecoratorV2(x.env.guard(checked)),
			celgo.CostTracking(estimator{}),
			celgo.CostLimit(maxCost),
			celgo.InterruptCheckFrequency(interruptEvery))
	})}
	p.ready = sync.OnceValue(func() error {
		if checked.GetType(checked.Expr().ID()).Kind() != types.BoolKind {
			return nil
		}
		c := &fastCompiler{checked: checked, params: x.params, plan: func(a *ast.AST) (interpreter.InterpretableV2, error) {
			return i.NewInterpretable(a, x.env.planOptions(a)...)
		}}
		if f := c.of(checked.Expr()); c.native {
			p.fast = f
		}
		return c.err
	})
	return p, nil
}

// prepare does what is left to do before the program is evaluated.
func (p *program) prepare() (*program, error) { return p, p.ready() }

// bounded returns the context of what is counted: all of it together may take evaluationTime.
func (s *state) bounded() (context.Context, context.CancelFunc) {
	if s.until.IsZero() {
		s.until = time.Now().Add(evaluationTime)
	}
	return context.WithDeadline(s.ctx, s.until)
}

// holds evaluates a condition; if it fails, the error is in s.err.
func (s *state) holds(p *program) verdict {
	s.err = nil
	if p.fast != nil && (p.cost == costFree || p.cost == costSmall && s.isSmall()) {
		return p.fast(s)
	}
	return s.verdict(s.evaluate(p))
}

// evaluate evaluates a program for the request; an error is a value.
func (s *state) evaluate(p *program) ref.Val {
	if p.cost == costFree || p.cost == costSmall && s.isSmall() {
		if p.fast == nil {
			return p.plan.Exec(s.frame)
		}
		before := s.err
		s.err = nil
		v := p.fast(s)
		err := s.err
		s.err = before
		if v == failed {
			return err
		}
		return types.Bool(v == yes)
	}
	if s.spent > maxDecision {
		return types.NewErr("the decision costs more than %d steps", maxDecision)
	}
	counted, err := p.counted()
	if err != nil {
		return types.WrapErr(err)
	}
	ctx, cancel := s.bounded()
	defer cancel()
	v, details, err := counted.ContextEval(ctx, s)
	s.spent += callCost
	if details != nil && details.ActualCost() != nil {
		s.spent += *details.ActualCost()
	}
	if err != nil {
		if ctx.Err() != nil {
			s.late = true
			return types.NewErr("takes longer than %v", evaluationTime)
		}
		if cancelled, ok := err.(interpreter.EvalCancelledError); ok && cancelled.Cause == interpreter.CostLimitExceeded {
			err = fmt.Errorf("costs more than %d steps", maxCost)
		}
		return types.WrapErr(err)
	}
	return v
}
