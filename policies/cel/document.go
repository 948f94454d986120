package cel

import (
	"maps"
	"math/big"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"callgate/engine/label"
	"callgate/policies"
)

// The variables that every expression has; spec/decision.md describes them.
// variables and params are typed for each policy, call.args for each tool, and leaf is
// there in rules with each: leaf alone.
const (
	varVersion   = "version"
	varTime      = "time"
	varAgent     = "agent"
	varPrincipal = "principal"
	varSession   = "session"
	varCall      = "call"
	varLabels    = "labels"
	varTags      = "tags"
	varLeaves    = "leaves"
	varLeaf      = "leaf"
	varHistory   = "history"
	varParams    = "params"
	varVariables = "variables"
	varLevel     = "level"
)

// The names of the types behind them.
const (
	typeAgent     = "the agent"
	typePrincipal = "the principal"
	typeSession   = "the session"
	typeCall      = "the call"
	typeSite      = "the site"
	typeState     = "the state"
	typeLabels    = "the labels"
	typeLabel     = "a label"
	typeSource    = "a source"
	typeChoice    = "a choice"
	typeLeaf      = "a leaf"
	typeHistory   = "the history"
	typeLevel     = "the levels"
	typeParams    = "the params"
	typeVariables = "the variables"
	typeArguments = "the arguments of " // and a tool's name
)

var (
	stringList = types.NewListType(types.StringType)
	labelType  = types.NewObjectType(typeLabel)
	leafType   = types.NewObjectType(typeLeaf)
	sourceType = types.NewObjectType(typeSource)
	dynMap     = types.NewMapType(types.StringType, types.DynType)
)

// variableTypes are the variables with their types.
var variableTypes = map[string]*types.Type{
	varVersion:   types.StringType,
	varTime:      types.TimestampType,
	varAgent:     types.NewObjectType(typeAgent),
	varPrincipal: types.NewObjectType(typePrincipal),
	varSession:   types.NewObjectType(typeSession),
	varCall:      types.NewObjectType(typeCall),
	varLabels:    types.NewObjectType(typeLabels),
	varTags:      stringList,
	varLeaves:    types.NewListType(leafType),
	varLeaf:      leafType,
	varHistory:   types.NewObjectType(typeHistory),
	varParams:    types.NewObjectType(typeParams),
	varVariables: types.NewObjectType(typeVariables),
	varLevel:     types.NewObjectType(typeLevel),
}

// level maps the names of the levels of trust to their ranks.
var level = map[string]types.Int{
	"untrusted": types.Int(label.Untrusted),
	"internal":  types.Int(label.Internal),
	"user":      types.Int(label.User),
	"system":    types.Int(label.System),
}

// trustNames are the names of the levels as values, by rank.
var trustNames = [...]ref.Val{
	types.String(label.Untrusted.String()), types.String(label.Internal.String()),
	types.String(label.User.String()), types.String(label.System.String()),
}

// documentTypes are the types that do not depend on policy or tool.
var documentTypes = func() map[string]*objectType {
	m := map[string]*objectType{}
	for _, t := range []*objectType{
		agentObject, principalObject, sessionObject, siteObject, stateObject, labelsObject, historyObject, levelObject,
		labelObject, leafObject, sourceObject, choiceObject,
		newCallType(dynMap, func(from any) ref.Val { return from.(*state).dynArgs() }),
		newObjectType(typeParams), newObjectType(typeVariables),
	} {
		m[t.name] = t
	}
	return m
}()

// The getters of the request's parts take the *state.
var (
	agentObject = newObjectType(typeAgent).
			add("name", types.StringType, static(func(s *statics) ref.Val { return s.agent }), nil).
			add("digest", types.StringType, text(func(r *policies.Request) string { return r.Agent.Digest }), nil).
			add("tools", stringList, strs(func(r *policies.Request) []string { return r.Agent.Tools }), nil).
			add("effects", stringList, strs(func(r *policies.Request) []string { return r.Agent.Effects }), nil)
	principalObject = newObjectType(typePrincipal).
			add("sub", types.StringType, static(func(s *statics) ref.Val { return s.sub }), nil).
			add("groups", stringList, static(func(s *statics) ref.Val { return s.groups }), nil).
			add("claims", dynMap, func(from any) ref.Val { return plainValue(from.(*state).r.Principal.Claims) }, nil)
	sessionObject = newObjectType(typeSession).
			add("id", types.StringType, text(func(r *policies.Request) string { return r.Session.ID }), nil).
			add("run", types.StringType, text(func(r *policies.Request) string { return r.Session.Run }), nil).
			add("turn", types.IntType, number(func(r *policies.Request) int { return r.Session.Turn }), nil).
			add("mode", types.StringType, text(func(r *policies.Request) string { return r.Session.Mode }), nil)
	siteObject = newObjectType(typeSite).
			add("file", types.StringType, text(func(r *policies.Request) string { return r.Call.Site.File }), nil).
			add("line", types.IntType, number(func(r *policies.Request) int { return r.Call.Site.Line }), nil).
			add("column", types.IntType, number(func(r *policies.Request) int { return r.Call.Site.Column }), nil).
			add("function", types.StringType, text(func(r *policies.Request) string { return r.Call.Site.Function }), nil)
	stateObject = newObjectType(typeState).
			add("name", types.StringType, text(func(r *policies.Request) string { return r.Call.State.Name }), nil).
			add("write", types.BoolType, func(from any) ref.Val { return types.Bool(from.(*state).r.Call.State.Write) }, nil).
			add("label", labelType, func(from any) ref.Val { return from.(*state).newLabel(from.(*state).r.Call.State.Label) }, nil)
	labelsObject = newObjectType(typeLabels).
			add("program", labelType, func(from any) ref.Val { return &from.(*state).program.object }, nil).
			add("pc", labelType, func(from any) ref.Val { return &from.(*state).pc.object }, nil).
			add("context", labelType, func(from any) ref.Val { return &from.(*state).context.object }, nil).
			add("args", types.NewMapType(types.StringType, labelType), func(from any) ref.Val { return &from.(*state).argLabels }, nil)
	historyObject = newObjectType(typeHistory).
			add("count", types.NewMapType(types.StringType, types.IntType), func(from any) ref.Val { return &from.(*state).counts }, nil).
			add("marks", stringList, strs(func(r *policies.Request) []string { return r.History.Marks }), nil)
	levelObject = func() *objectType {
		t := newObjectType(typeLevel)
		for _, name := range slices.Sorted(maps.Keys(level)) {
			t.add(name, types.IntType, func(any) ref.Val { return level[name] }, nil)
		}
		return t
	}()
)

func static(get func(*statics) ref.Val) func(any) ref.Val {
	return func(from any) ref.Val { return get(from.(*state).static) }
}

func text(get func(*policies.Request) string) func(any) ref.Val {
	return func(from any) ref.Val { return types.String(get(from.(*state).r)) }
}

func number(get func(*policies.Request) int) func(any) ref.Val {
	return func(from any) ref.Val { return types.Int(get(from.(*state).r)) }
}

func strs(get func(*policies.Request) []string) func(any) ref.Val {
	return func(from any) ref.Val { return new(texts).init(get(from.(*state).r), false) }
}

// The getters of labels and leaves take their view.
var (
	labelObject = addLabelFields(newObjectType(typeLabel), func(from any) *labelView { return from.(*labelView) })

	leafObject = addLabelFields(newObjectType(typeLeaf), func(from any) *labelView { return &from.(*leafView).labelView }).
			add("path", types.StringType, leafText(func(l *policies.Leaf) string { return l.Path }), nil).
			add("param", types.StringType, leafText(func(l *policies.Leaf) string { return l.Param }), nil).
			add("value", types.DynType, func(from any) ref.Val { return plainValue(from.(*leafView).leaf.Value) }, nil).
			add("norm", types.StringType, leafText(func(l *policies.Leaf) string { return l.Norm }), nil).
			add("host", types.StringType, leafText(func(l *policies.Leaf) string { return l.Host }), nil).
			add("sink", types.StringType, func(from any) ref.Val { return sinkValue(from.(*leafView).leaf.Sink) }, nil).
			add("typed", types.BoolType, func(from any) ref.Val { return types.Bool(from.(*leafView).leaf.Typed) }, nil)

	sourceObject = newObjectType(typeSource).
			add("tool", types.StringType, func(from any) ref.Val { return types.String(from.(*label.Source).Tool) }, nil).
			add("of", types.StringType, func(from any) ref.Val { return types.String(from.(*label.Source).Of) }, nil).
			add("field", types.StringType, func(from any) ref.Val { return types.String(from.(*label.Source).Field) }, nil)

	choiceObject = newObjectType(typeChoice).
			add("rank", types.IntType, func(from any) ref.Val { return types.Int(from.(label.Choice).Trust) }, nil).
			add("bits", types.IntType, func(from any) ref.Val { return types.Int(from.(label.Choice).Bits) }, nil)
)

func leafText(get func(*policies.Leaf) string) func(any) ref.Val {
	return func(from any) ref.Val { return types.String(get(from.(*leafView).leaf)) }
}

// newCallType returns the type of call for arguments of one type.
func newCallType(args *types.Type, get func(from any) ref.Val) *objectType {
	hasState := func(from any) bool { return from.(*state).r.Call.State != nil }
	return newObjectType(typeCall).
		add("id", types.StringType, text(func(r *policies.Request) string { return r.Call.ID }), nil).
		add("kind", types.StringType, static(func(s *statics) ref.Val { return s.kind }), nil).
		add("tool", types.StringType, static(func(s *statics) ref.Val { return s.tool }), nil).
		add("effects", stringList, static(func(s *statics) ref.Val { return s.effects }), nil).
		add("sinks", stringList, static(func(s *statics) ref.Val { return s.sinks }), nil).
		add("args", args, get, nil).
		add("site", types.NewObjectType(typeSite), func(from any) ref.Val { return &from.(*state).site }, nil).
		add("state", types.NewObjectType(typeState), func(from any) ref.Val {
			if !hasState(from) {
				return types.NewErr("no such key: state")
			}
			return &from.(*state).stateObject
		}, hasState)
}

// addLabelFields adds what a label shows to a type whose values have one.
func addLabelFields(t *objectType, view func(from any) *labelView) *objectType {
	return t.add("trust", types.StringType, func(from any) ref.Val { return trustNames[view(from).label.Trust()] }, nil).
		add("rank", types.IntType, func(from any) ref.Val { return types.Int(view(from).label.Trust()) }, nil).
		add("readers", stringList, func(from any) ref.Val { return view(from).readers() }, nil).
		add("tags", stringList, func(from any) ref.Val { return view(from).tags() }, nil).
		add("sources", types.NewListType(sourceType), func(from any) ref.Val { return &list{sources(view(from).label.Sources())} }, nil).
		add("more", types.BoolType, func(from any) ref.Val { return types.Bool(view(from).label.More()) }, nil).
		add("choice", types.NewObjectType(typeChoice), func(from any) ref.Val {
			return &object{choiceObject, view(from).label.Choice()}
		}, nil)
}

// labelView shows a label.
type labelView struct {
	object
	label      label.Label
	vocabulary []string // see initTags
}

func (v *labelView) tags() ref.Val { return newTags(v.label.Tags(), v.vocabulary) }

// readers shows everybody as "*", and as a set that every principal is in.
func (v *labelView) readers() ref.Val {
	r := v.label.Readers()
	return new(texts).init(r.Names(), r.IsPublic())
}

// newTags shows tags: if they stand for every tag, a set that any tag is in and
// whose elements are "*" and the vocabulary, the tags that rules may look for.
func newTags(tags, vocabulary []string) *texts {
	if !slices.Contains(tags, "*") {
		return new(texts).init(tags, false)
	}
	all := slices.Concat(tags, vocabulary)
	slices.Sort(all)
	return new(texts).init(slices.Compact(all), true)
}

// leafView shows a leaf.
type leafView struct {
	labelView
	leaf *policies.Leaf
}

type sources []label.Source

func (s sources) size() int { return len(s) }

func (s sources) at(i int) ref.Val { return &object{sourceObject, &s[i]} }

// leafList shows the leaves.
type leafList []leafView

func (l leafList) size() int        { return len(l) }
func (l leafList) at(i int) ref.Val { return &l[i].object }

// argLabels shows the labels of the arguments by parameter.
type argLabels struct{ s *state }

func (a argLabels) keys() []string {
	var out []string
	for _, l := range a.s.r.Labels.Args {
		out = append(out, l.Name)
	}
	return out
}

func (a argLabels) get(key string) (ref.Val, bool) {
	for i := range a.s.r.Labels.Args {
		if l := &a.s.r.Labels.Args[i]; l.Name == key {
			return a.s.newLabel(l.Label), true
		}
	}
	return nil, false
}

// counts shows how often each tool was called.
type counts struct{ s *state }

func (c counts) keys() []string { return slices.Sorted(maps.Keys(c.s.r.History.Count)) }

func (c counts) get(key string) (ref.Val, bool) {
	n, ok := c.s.r.History.Count[key]
	return types.Int(n), ok
}

var sinkValues = func() map[string]ref.Val {
	m := map[string]ref.Val{}
	for _, s := range sinkWords.words {
		m[s] = types.String(s)
	}
	return m
}()

// sinkValue is types.String without an allocation for the kinds of sink.
func sinkValue(s string) ref.Val {
	if v := sinkValues[s]; v != nil {
		return v
	}
	return types.String(s)
}

// plainValue converts plain data: a leaf's value, a claim.
func plainValue(v any) ref.Val {
	switch v := v.(type) {
	case *big.Int:
		return bigValue(v)
	case float64:
		return floatValue(v)
	case []any:
		return &list{plainList(v)}
	case map[string]any:
		return &dict{plainDict(v)}
	}
	return adapter.NativeToValue(v)
}

type plainList []any

func (p plainList) size() int        { return len(p) }
func (p plainList) at(i int) ref.Val { return plainValue(p[i]) }

type plainDict map[string]any

func (p plainDict) keys() []string { return slices.Sorted(maps.Keys(p)) }

func (p plainDict) get(key string) (ref.Val, bool) {
	v, ok := p[key]
	if !ok {
		return nil, false
	}
	return plainValue(v), true
}
