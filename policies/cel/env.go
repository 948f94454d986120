package cel

import (
	"maps"
	"slices"
	"sync"
	_ "time/tzdata" // getHours('Europe/Berlin') means the same on a host without zone files

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/containers"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
)

// The limits on the text of an expression.
const (
	maxCodePoints  = 16 << 10
	maxNodes       = 20_000
	maxNesting     = 64
	maxRegexStates = 2_000
)

// environment is what the expressions of all policies share.
type environment struct {
	env          *celgo.Env   // without the types of a policy
	declarations *checker.Env // the same for the checker alone
	dispatcher   interpreter.Dispatcher
	names        []string // of the functions, for suggestions
}

// sharedEnvironment makes the environment when it is first needed: it takes a few
// milliseconds. It has no clock, no network, no randomness: an expression is a function of the
// request, the parameters and its own text.
var sharedEnvironment = sync.OnceValues(func() (*environment, error) {
	options := []celgo.EnvOption{
		celgo.CrossTypeNumericComparisons(true),
		celgo.DefaultUTCTimeZone(true),
		celgo.EnableIdentifierEscapeSyntax(),
		celgo.ParserExpressionSizeLimit(maxCodePoints),
		celgo.ParserRecursionLimit(maxNesting),
		celgo.ParserErrorRecoveryLimit(10),
		celgo.ExpressionNodeLimit(maxNodes),
		celgo.OptionalTypes(),
		ext.Strings(),
		ext.Lists(ext.ListsMaxRangeSize(10_000)),
		ext.Sets(),
		ext.Math(),
		ext.Bindings(),
		ext.TwoVarComprehensions(),
		ext.Network(),
		celgo.ASTValidators(
			celgo.ValidateDurationLiterals(),
			celgo.ValidateTimestampLiterals(),
			celgo.ValidateRegexLiterals(),
			celgo.ValidateHomogeneousAggregateLiterals(),
		),
	}
	for _, name := range slices.Sorted(maps.Keys(variableTypes)) {
		options = append(options, celgo.Variable(name, variableTypes[name]))
	}
	options = append(options, celgo.EagerlyValidateDeclarations(true))
	env, err := celgo.NewEnv(options...)
	if err != nil {
		return nil, err
	}
	e := &environment{env: env, dispatcher: interpreter.NewDispatcher()}
	if e.declarations, err = checker.NewEnv(containers.DefaultContainer, env.CELTypeProvider()); err != nil {
		return nil, err
	}
	if err := e.declarations.AddIdents(env.Variables()...); err != nil {
		return nil, err
	}
	for name, f := range env.Functions() {
		if f.IsDeclarationDisabled() {
			continue
		}
		if err := e.declarations.AddFunctions(f); err != nil {
			return nil, err
		}
		if name[0] >= 'a' && name[0] <= 'z' {
			e.names = append(e.names, name)
		}
		var bindings []*functions.Overload
		if bindings, err = f.Bindings(); err == nil {
			err = e.dispatcher.Add(bindings...)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, m := range env.Macros() {
		if name := m.Function(); name[0] >= 'a' && name[0] <= 'z' {
			e.names = append(e.names, name)
		}
	}
	slices.Sort(e.names)
	e.names = slices.Compact(e.names)
	return e, nil
})

// interpreter plans expressions whose types p knows.
func (e *environment) interpreter(p *provider) interpreter.Interpreter {
	return interpreter.NewInterpreter(e.dispatcher, containers.DefaultContainer, p, adapter,
		interpreter.NewAttributeFactory(containers.DefaultContainer, adapter, p, interpreter.EnableErrorOnBadPresenceTest(true)))
}

// with returns the environment for checking expressions whose types p knows.
func (e *environment) with(p *provider) (*celgo.Env, error) {
	return e.env.Extend(celgo.CustomTypeProvider(p), celgo.CustomTypeAdapter(types.DefaultTypeAdapter))
}
