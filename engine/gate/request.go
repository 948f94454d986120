package gate

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"

	"callgate/builtins"
	"callgate/engine/eval"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// shape is what is known of a kind of call before its arguments.
type shape struct {
	tool    *builtins.Tool // of a call that is not a tool's: parameters and effects alone
	effects []string
	sinks   []string
	params  []string
	state   *policies.State
	source  label.Label // of whatever the tool says, an error too
}

func newShape(t *builtins.Tool) (*shape, error) {
	s := &shape{tool: t, effects: t.Effects.Names(), source: t.Label.Class}
	for _, p := range t.Params {
		s.params = append(s.params, p.Name)
		s.sinks = append(s.sinks, p.Sink)
		for _, sink := range p.Sinks {
			s.sinks = append(s.sinks, sink)
		}
	}
	slices.Sort(s.sinks)
	s.sinks = slices.DeleteFunc(slices.Compact(s.sinks), func(k string) bool { return k == "" || k == policies.SinkNone })
	for _, f := range t.Label.Fields {
		s.source = s.source.Join(f.Class)
	}
	if t.State != nil {
		s.state = &policies.State{Name: t.State.Name, Write: t.State.Write, Label: t.State.Label}
		s.source = s.source.Join(t.State.Label)
	}
	return s, nil
}

// The calls that are not a tool's.
var (
	builtinShape    = ownShape(policies.ToolSchema{Params: []policies.ParamSchema{{Name: "value"}}})
	endorseShape    = crossingShape(policies.KindEndorse)
	declassifyShape = crossingShape(policies.KindDeclassify)
	answerShape     = crossingShape(policies.KindAnswer)
	observeShape    = crossingShape(policies.KindObserve)
	programShape    = crossingShape(policies.KindProgram)
	modelShape      = crossingShape(policies.KindModel)
)

func crossingShape(kind string) *shape {
	all := policies.Crossings()
	return ownShape(all[slices.IndexFunc(all, func(s policies.ToolSchema) bool { return s.Name == kind })])
}

// ownShape makes the shape of a call that the gate itself answers. Its schema is constant: if
// it were wrong, every test would fail.
func ownShape(s policies.ToolSchema) *shape {
	t := &builtins.Tool{Name: s.Name}
	var err error
	if t.Effects, err = builtins.ParseEffects(s.Effects); err != nil {
		panic(err)
	}
	for _, p := range s.Params {
		t.Params = append(t.Params, builtins.Param{Name: p.Name, Schema: p.Schema, Required: p.Required, Sink: p.Sink, Sinks: p.Sinks})
	}
	out, err := newShape(t)
	if err != nil {
		panic(err)
	}
	return out
}

// crossing is one call on its way through the gate.
type crossing struct {
	*shape
	id      string
	kind    string
	name    string
	site    policies.Site
	args    value.Value // a dict by parameter name: what is decided on
	final   value.Value // args as the tool gets them: redacted where policy says
	pc      label.Label
	program label.Label
	context label.Label
	history label.Label // of the calls before it
	digest  string      // of final, see binding; "" until it is asked for
	bound   string      // the binding under which people have approved; "" if nobody has
	bits    int         // that it would endorse
	key     string      // idempotency key of a tool's call

	// core says why the gate itself refuses, whatever the policies say, and whether that
	// depends on history; nil: it does not refuse.
	core func() ([]policies.Reason, bool)

	in label.Label // of everything that is decided on, history aside
}

// modelOf makes the shape of a tool that asks a model: what policies see is the crossing model, what runs is the tool.
func modelOf(t *builtins.Tool, s *shape) *shape {
	out := *modelShape
	out.tool, out.source = t, s.source
	return &out
}

// providerArg is the argument of the crossing model that says who is asked. The gate gives it.
const providerArg = "provider"

// check checks the arguments of a call against the tool's schemas, but for what the gate has added.
func (x *crossing) check(args value.Value) error {
	if x.kind == policies.KindModel {
		args.Keys, args.Items = args.Keys[:len(args.Keys)-1], args.Items[:len(args.Items)-1]
	}
	return x.tool.CheckArgs(args)
}

// begin makes a crossing of a call and its arguments, labelled as they are.
func (g *Gate) begin(s *shape, kind, name, id string, args value.Value, pc, past label.Label) *crossing {
	g.mu.Lock()
	defer g.mu.Unlock()
	x := &crossing{
		shape: s, id: id, kind: kind, name: name, args: args, final: args, pc: pc,
		program: g.program, context: g.context(), history: past.Join(g.history),
		key: g.cfg.Session.Run + "/" + id,
	}
	x.in = args.Deep().Join(pc)
	return x
}

// of makes a crossing of a call that a program makes.
func (g *Gate) of(s *shape, c eval.Call, args value.Value) *crossing {
	x := g.begin(s, string(c.Kind), cmp.Or(s.tool.Name, c.Tool), c.ID, args, c.PC, c.History)
	x.site = policies.Site(c.Site)
	return x
}

// dict makes a dict of a call's arguments. That they are named as they are is the program's
// text, which the pc stands for; so the dict itself is labelled Bottom.
func dict(args []eval.Arg) value.Value {
	v := value.DictOf(label.Bottom())
	v.Keys, v.Items = make([]value.Value, 0, len(args)), make([]value.Value, 0, len(args))
	for _, a := range args {
		v.Keys = append(v.Keys, value.StringOf(a.Name, label.Bottom()))
		v.Items = append(v.Items, a.Value)
	}
	return v
}

// request builds the request. It is total: every declared parameter has a label, absent ones
// Bottom, and every scalar of the arguments a leaf; the control flow is the last.
func (g *Gate) request(x *crossing) (*policies.Request, error) {
	g.mu.Lock()
	session := g.cfg.Session
	session.Turn = g.turn
	r := &policies.Request{
		Time: g.cfg.Clock(), Agent: g.cfg.Agent, Principal: g.cfg.Principal, Session: session,
		Call: policies.Call{
			ID: x.id, Kind: x.kind, Tool: x.name, Effects: x.effects, Sinks: x.sinks, Args: x.args, Site: x.site, State: x.state,
		},
		Labels:  policies.Labels{Program: x.program, PC: x.pc, Context: x.context, Args: make([]policies.ArgLabel, len(x.params))},
		Tags:    x.in.Tags(),
		History: policies.History{Count: g.done, Marks: g.marks, Label: x.history},
	}
	g.mu.Unlock()
	for i, name := range x.params {
		r.Labels.Args[i] = policies.ArgLabel{Name: name, Label: label.Bottom()}
		if v, ok := x.args.Get(name); ok {
			r.Labels.Args[i].Label = v.Deep()
		}
	}
	leaves, err := x.tool.Leaves(x.args)
	if err != nil {
		return nil, err
	}
	r.Leaves = make([]policies.Leaf, 0, len(leaves)+1)
	for _, l := range leaves {
		r.Leaves = append(r.Leaves, policies.Leaf{
			Path: l.Path, Param: l.Param, Value: l.Value, Norm: l.Norm, Host: l.Host, Sink: l.Sink, Typed: g.typed(l.Value), Label: l.Label,
		})
	}
	r.Leaves = append(r.Leaves, policies.Leaf{Path: "pc", Param: "pc", Value: "", Sink: policies.SinkControl, Label: x.pc})
	return r, nil
}

// typed reports whether a leaf's value is one that a person typed. Numbers count as
// they are written in decimal; what is neither text nor a whole number never is.
func (g *Gate) typed(v any) bool {
	switch v := v.(type) {
	case string:
		return typed(g.cfg.Typed, v)
	case int64:
		return typed(g.cfg.Typed, strconv.FormatInt(v, 10))
	case *big.Int:
		return v.BitLen() <= 256 && typed(g.cfg.Typed, v.String())
	}
	return false
}

// binding is the digest of what an approval is for: what is called, the arguments with
// their labels, and the control flow.
func (x *crossing) binding() string {
	if x.digest == "" {
		x.digest = bind(x.kind, x.name, x.final, x.pc)
	}
	return x.digest
}

// journalled returns the arguments as events hold them.
func (x *crossing) journalled() []journal.Argument {
	out := make([]journal.Argument, len(x.final.Keys))
	for i, k := range x.final.Keys {
		out[i] = journal.Argument{Name: k.Str, Value: x.final.Items[i]}
		for _, p := range x.tool.Params {
			if p.Name == k.Str {
				out[i].Sink = p.Sink
			}
		}
	}
	return out
}
