package cel

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// statics are the properties of a call that are known before it, as values.
type statics struct {
	agent, sub, kind, tool ref.Val
	groups, effects, sinks *texts
	vocabulary             []string // see newTags
}

func newStatics(s policies.Static, vocabulary []string) *statics {
	return &statics{
		agent: types.String(s.Agent), sub: types.String(s.Principal), groups: newTexts(s.Groups),
		kind: types.String(s.Kind), tool: types.String(s.Tool), effects: newTexts(s.Effects), sinks: newTexts(s.Sinks),
		vocabulary: vocabulary,
	}
}

// state shows one request to expressions, which find their variables in it. A value
// taken from it is good until the decision is made.
type state struct {
	r      *policies.Request
	static *statics
	frame  *interpreter.ExecutionFrame

	agent, principal, session, call, site, stateObject object
	labels, history, params, variableObject, level     object

	program, pc, context labelView
	argLabels, counts    dict
	args                 object // what call.args is when it is typed
	tags                 *texts
	leaves               []leafView
	leafList             list
	leaf                 *leafView // of the rule that is evaluated
	loops                []loopVariable
	err                  ref.Val // why a condition failed

	current *bound        // the policy that is evaluated
	vars    []variableVal // of all policies

	sized, small bool
	spent        uint64
	ctx          context.Context // of the decision
	until        time.Time       // when the time for counted evaluations is up; zero: there was none
	late         bool            // it was up
}

// loopVariable is the variable of a loop over the leaves that is under way.
type loopVariable struct {
	name string
	leaf *leafView
}

// variableVal is the value of a policy's variable once it was asked for.
type variableVal struct {
	val  ref.Val
	busy bool
}

func newState() *state {
	s := &state{}
	for _, o := range []struct {
		at *object
		of *objectType
	}{
		{&s.agent, agentObject}, {&s.principal, principalObject}, {&s.session, sessionObject}, {&s.site, siteObject},
		{&s.stateObject, stateObject}, {&s.labels, labelsObject}, {&s.history, historyObject}, {&s.level, levelObject},
		{&s.call, documentTypes[typeCall]}, {&s.params, documentTypes[typeParams]}, {&s.variableObject, documentTypes[typeVariables]},
	} {
		*o.at = object{o.of, s}
	}
	for _, v := range []*labelView{&s.program, &s.pc, &s.context} {
		v.object = object{labelObject, v}
	}
	s.argLabels, s.counts = dict{argLabels{s}}, dict{counts{s}}
	return s
}

// show makes s show a request.
func (s *state) show(ctx context.Context, r *policies.Request, static *statics, variables int) error {
	s.ctx, s.r, s.static = ctx, r, static
	for _, v := range []struct {
		at *labelView
		of label.Label
	}{{&s.program, r.Labels.Program}, {&s.pc, r.Labels.PC}, {&s.context, r.Labels.Context}} {
		v.at.label, v.at.vocabulary = v.of, static.vocabulary
	}
	if cap(s.vars) < variables {
		s.vars = make([]variableVal, variables)
	}
	s.vars = s.vars[:variables]
	var err error
	s.frame, err = interpreter.NewExecutionFrame(s)
	return err
}

// maxKept is how many leaves a state keeps room for between requests.
const maxKept = 256

// release forgets the request.
func (s *state) release() {
	s.frame.Close()
	clear(s.leaves)
	clear(s.vars)
	if cap(s.leaves) > maxKept {
		s.leaves = nil
	}
	s.r, s.static, s.frame, s.tags, s.leaf, s.current, s.args = nil, nil, nil, nil, nil, nil, object{}
	s.leaves, s.leafList = s.leaves[:0], list{}
	s.program.label, s.pc.label, s.context.label = label.Label{}, label.Label{}, label.Label{}
	clear(s.loops[:cap(s.loops)])
	s.loops, s.err = s.loops[:0], nil
	s.sized, s.small, s.spent = false, false, 0
	s.ctx, s.until, s.late = nil, time.Time{}, false
}

// ResolveName gives an expression its variables.
func (s *state) ResolveName(name string) (any, bool) {
	switch name {
	case varLeaf:
		if s.leaf == nil {
			return nil, false
		}
		return &s.leaf.object, true
	case varLeaves:
		return s.allLeaves(), true
	case varCall:
		return &s.call, true
	case varLabels:
		return &s.labels, true
	case varTags:
		if s.tags == nil {
			s.tags = newTags(s.r.Tags, s.static.vocabulary)
		}
		return s.tags, true
	case varParams:
		return &s.params, true
	case varVariables:
		return &s.variableObject, true
	case varHistory:
		return &s.history, true
	case varPrincipal:
		return &s.principal, true
	case varAgent:
		return &s.agent, true
	case varSession:
		return &s.session, true
	case varTime:
		return types.Timestamp{Time: s.r.Time.UTC()}, true
	case varVersion:
		return types.String(policies.Version), true
	case varLevel:
		return &s.level, true
	}
	for i := len(s.loops) - 1; i >= 0; i-- {
		if s.loops[i].name == name {
			return &s.loops[i].leaf.object, true
		}
	}
	return nil, false
}

// Parent implements [interpreter.Activation].
func (s *state) Parent() interpreter.Activation { return nil }

func (s *state) allLeaves() ref.Val {
	s.viewLeaves()
	return &s.leafList
}

func (s *state) viewLeaves() {
	if s.leafList.sequence != nil {
		return
	}
	if n := len(s.r.Leaves); cap(s.leaves) < n {
		s.leaves = make([]leafView, n)
	} else {
		s.leaves = s.leaves[:n]
	}
	for i := range s.leaves {
		v := &s.leaves[i]
		v.leaf = &s.r.Leaves[i]
		v.labelView = labelView{object{leafObject, v}, v.leaf.Label, s.static.vocabulary}
	}
	s.leafList.sequence = leafList(s.leaves)
}

func (s *state) newLabel(l label.Label) ref.Val {
	v := &labelView{label: l, vocabulary: s.static.vocabulary}
	v.object = object{labelObject, v}
	return &v.object
}

// dynArgs shows the arguments of a tool whose schema is not known.
func (s *state) dynArgs() ref.Val { return &dict{argEntries{&s.r.Call.Args, dynArg}} }

// enter makes s show the parameters, variables and argument types of a policy.
func (s *state) enter(b *bound) {
	s.current = b
	s.params.of = b.policy.params
	s.variableObject.of = b.variableType
	s.call.of = b.callType
}

// variableGetter returns the getter of a policy's i'th variable, which is evaluated
// once a decision.
func variableGetter(i int) func(from any) ref.Val {
	return func(from any) ref.Val { return from.(*state).variable(i) }
}

func (s *state) variable(i int) ref.Val {
	v := &s.vars[s.current.base+i]
	if v.val == nil {
		if v.busy {
			return types.NewErr("variable asks for itself")
		}
		v.busy = true
		leaf, loops := s.leaf, s.loops
		s.leaf, s.loops = nil, s.loops[len(s.loops):]
		if p := s.current.variables[i]; p != nil {
			v.val = s.evaluate(p)
		} else {
			v.val = types.NewErr("variable %d was not expected to be used", i)
		}
		s.leaf, s.loops = leaf, loops
	}
	if e, ok := v.val.(*types.Err); ok { // evaluation notes the place in an error: each use has its own
		return types.WrapErr(e.Unwrap())
	}
	return v.val
}

// isSmall reports whether the request is as small as the estimates of cost assume.
func (s *state) isSmall() bool {
	if !s.sized {
		s.sized, s.small = true, isSmall(s.r)
	}
	return s.small
}

func isSmall(r *policies.Request) bool {
	if len(r.Leaves) > smallList || len(r.Tags) > smallList || len(r.Labels.Args) > smallList || len(r.History.Count) > smallList ||
		!smallTexts(r.History.Marks) || !smallTexts(r.Agent.Tools) || !smallTexts(r.Tags) {
		return false
	}
	for i := range r.Leaves {
		l := &r.Leaves[i]
		if s, ok := l.Value.(string); ok && len(s) > smallText {
			return false
		}
		if len(l.Path) > smallText || len(l.Norm) > smallText || len(l.Host) > smallText || !smallLabel(l.Label) {
			return false
		}
	}
	for _, a := range r.Labels.Args {
		if !smallLabel(a.Label) {
			return false
		}
	}
	return smallLabel(r.Labels.PC) && smallLabel(r.Labels.Program) && smallLabel(r.Labels.Context) &&
		smallValue(&r.Call.Args) && (r.Call.State == nil || smallLabel(r.Call.State.Label))
}

func smallTexts(list []string) bool {
	if len(list) > smallList {
		return false
	}
	for _, s := range list {
		if len(s) > smallText {
			return false
		}
	}
	return true
}

func smallLabel(l label.Label) bool {
	if len(l.Sources()) > smallList || !smallTexts(l.Tags()) || !l.Readers().IsPublic() && !smallTexts(l.Readers().Names()) {
		return false
	}
	for _, s := range l.Sources() {
		if len(s.Of) > smallText || len(s.Tool) > smallText || len(s.Field) > smallText {
			return false
		}
	}
	return true
}

func smallValue(v *value.Value) bool {
	if len(v.Str) > smallText || len(v.Items) > smallList {
		return false
	}
	for i := range v.Items {
		if !smallValue(&v.Items[i]) {
			return false
		}
	}
	for i := range v.Keys {
		if !smallValue(&v.Keys[i]) {
			return false
		}
	}
	return true
}

// messageOf shortens an error for people.
func messageOf(v ref.Val) string {
	text := "not evaluated"
	if e, ok := v.(*types.Err); ok {
		text = e.Error()
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) > 200 {
		cut := 200
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return text
}
