package rego

import (
	"context"
	"slices"
	"strings"
	"time"

	"callgate/policies"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// why evaluates rules whole, once more, to say what did not hold.
type why struct {
	compiler *ast.Compiler
	store    storage.Store
	txn      storage.Transaction
	input    *ast.Term // nil: undefined
}

func (w *why) request(r *policies.Request, vocabulary []string) {
	fields := policies.NewFields([]string{""}, vocabulary)
	w.input = input(&fields, r)
}

const (
	whyTime   = 2 * time.Second // of one evaluation with a trace
	maxEvents = 500_000         // that one trace is made of; what comes later is not explained
	maxWhy    = 64              // steps that are told of one rule
	maxBelow  = 4               // definitions of a helper that are told
	maxDepth  = 3               // helpers within helpers
)

// run evaluates a document. with sets what the query is to do besides.
func (w *why) run(ctx context.Context, ref ast.Ref, with func(*topdown.Query)) error {
	body, err := w.compiler.QueryCompiler().Compile(ast.NewBody(ast.NewExpr(ast.NewTerm(ref))))
	if err != nil {
		return err
	}
	cancel := topdown.NewCancel()
	timer := time.AfterFunc(whyTime, cancel.Cancel)
	defer timer.Stop()
	defer context.AfterFunc(ctx, cancel.Cancel)()
	q := topdown.NewQuery(body).WithCompiler(w.compiler).WithStore(w.store).WithTransaction(w.txn).
		WithCancel(cancel).WithMetrics(metrics.NoOp()).WithInput(w.input).WithStrictBuiltinErrors(true)
	with(q)
	return q.Iter(ctx, func(topdown.QueryResult) error { return nil })
}

// attempts evaluates a document and returns how far each definition in it got, helpers included.
func (w *why) attempts(ctx context.Context, ref ast.Ref) (*attempts, error) {
	t := &attempts{names: w.compiler.RewrittenVars, queries: map[uint64]*attempt{}, last: map[string][]*attempt{}, leaves: map[*ast.Rule][]ast.Var{}}
	err := w.run(ctx, ref, func(q *topdown.Query) { q.WithIndexing(false).WithEarlyExit(false).WithQueryTracer(t) })
	return t, err
}

// test says what did not hold in a test that failed.
func (w *why) test(ctx context.Context, name string) []policies.Step {
	ref, err := ast.ParseRef(name)
	if err != nil {
		return nil
	}
	t, err := w.attempts(ctx, ref)
	if err != nil {
		return nil // the runner has said so
	}
	var out []policies.Step
	for _, a := range t.all {
		if a.rule != nil && a.rule.Module != nil && a.rule.Ref().GroundPrefix().HasPrefix(ref) {
			a.held = nil // of a table of cases, some may hold
			out = append(out, t.steps(a, maxDepth)...)
		}
	}
	return out[:min(len(out), maxWhy)]
}

// attempts is a tracer that notes how far the bodies of rules get.
type attempts struct {
	names   map[ast.Var]ast.Var // what variables are called in the source
	queries map[uint64]*attempt
	all     []*attempt // in the order in which they were begun
	last    map[string][]*attempt
	leaves  map[*ast.Rule][]ast.Var // variables of a rule that may hold a leaf
	events  int
}

// attempt is one evaluation of a definition, or of what stands within an every.
type attempt struct {
	rule  *ast.Rule
	apart bool // of a not or a comprehension: what fails in it is no reason

	held  []string   // the leaves for which it held, "" if it looks at none
	stops []*stopped // the furthest for each leaf
	below []*attempt // begun since the last expression was
}

// stopped is an expression that did not hold.
type stopped struct {
	leaf   string
	expr   *ast.Expr
	values []string
	below  []*attempt
}

// Enabled implements [topdown.QueryTracer].
func (t *attempts) Enabled() bool { return true }

// Config implements [topdown.QueryTracer].
func (t *attempts) Config() topdown.TraceConfig { return topdown.TraceConfig{} }

// TraceEvent implements [topdown.QueryTracer].
func (t *attempts) TraceEvent(e topdown.Event) {
	if t.events++; t.events > maxEvents {
		return
	}
	switch e.Op {
	case topdown.EnterOp:
		t.enter(e)
	case topdown.EvalOp:
		if a := t.queries[e.QueryID]; a != nil {
			a.below = nil
		}
	case topdown.FailOp:
		a := t.queries[e.QueryID]
		expr, ok := e.Node.(*ast.Expr)
		if a == nil || !ok || a.apart {
			return
		}
		leaf := t.leaf(e, a)
		i := slices.IndexFunc(a.stops, func(s *stopped) bool { return s.leaf == leaf })
		if i >= 0 && a.stops[i].expr.Index >= expr.Index {
			return
		}
		s := &stopped{leaf, expr, t.values(e, a, expr), slices.Clone(a.below)}
		if i >= 0 {
			a.stops[i] = s
		} else {
			a.stops = append(a.stops, s)
		}
	case topdown.ExitOp:
		if a := t.queries[e.QueryID]; a != nil && e.HasRule() {
			if leaf := t.leaf(e, a); !slices.Contains(a.held, leaf) {
				a.held = append(a.held, leaf)
			}
		}
	}
}

func (t *attempts) enter(e topdown.Event) {
	parent := t.queries[e.ParentID]
	a := &attempt{}
	switch n := e.Node.(type) {
	case *ast.Rule:
		a.rule = n
		t.all = append(t.all, a)
		if n.Module == nil {
			break // of a query: it has no path
		}
		key := n.Ref().GroundPrefix().String()
		t.last[key] = append(t.last[key], a)
	case ast.Body: // of an every it stands in a query of its own; otherwise in a not or a comprehension
		a.apart = parent == nil || parent.rule != nil || parent.apart
	}
	t.queries[e.QueryID] = a
	if parent != nil && !parent.apart && !a.apart {
		parent.below = append(parent.below, a)
	}
}

// leaf returns the path of the leaf that the event's rule looks at, or "".
func (t *attempts) leaf(e topdown.Event, a *attempt) string {
	if a.rule == nil {
		return ""
	}
	vars, ok := t.leaves[a.rule]
	if !ok {
		add := func(v ast.Var) bool {
			if t.names[v] != "" && !slices.Contains(vars, v) {
				vars = append(vars, v)
			}
			return false
		}
		for _, arg := range a.rule.Head.Args {
			ast.WalkVars(arg, add)
		}
		ast.WalkVars(a.rule.Body, add)
		t.leaves[a.rule] = vars
	}
	for _, v := range vars {
		object, ok := e.Plug(ast.NewTerm(v)).Value.(ast.Object)
		if !ok || object.Get(ast.InternedTerm("sink")) == nil {
			continue
		}
		if path := object.Get(ast.InternedTerm("path")); path != nil {
			if s, ok := path.Value.(ast.String); ok {
				return string(s)
			}
		}
	}
	return ""
}

// maxShown is how much of a value is told.
const maxShown = 120

// values returns what the expression compares: "leaf.sink = \"content\"".
func (t *attempts) values(e topdown.Event, a *attempt, expr *ast.Expr) (out []string) {
	terms, ok := expr.Terms.([]*ast.Term)
	if !ok || expr.IsNegated() {
		return nil
	}
	for _, operand := range terms[1:] {
		name := t.written(a, operand)
		v := t.value(e, operand)
		if _, object := v.(ast.Object); object || name == "" || v == nil {
			continue
		}
		text := v.String()
		if len(text) > maxShown {
			text = strings.ToValidUTF8(text[:maxShown], "") + "…"
		}
		if s := name + " = " + text; !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// written returns an operand as the source has it; "" for one that is written out.
func (t *attempts) written(a *attempt, operand *ast.Term) string {
	switch v := operand.Value.(type) {
	case ast.Var:
		if name := t.names[v]; name != "" {
			return string(name)
		}
		if a.rule == nil {
			return ""
		}
		for _, e := range a.rule.Body { // the compiler took it out of an expression
			if terms, ok := e.Terms.([]*ast.Term); ok && len(terms) > 2 && (terms[len(terms)-1].Equal(operand) || e.IsEquality() && terms[1].Equal(operand)) {
				return source(e.Location)
			}
		}
	case ast.Ref:
		if v[0].Equal(ast.InputRootDocument) || v[0].Equal(ast.DefaultRootDocument) {
			return v.String()
		}
		head := t.written(a, v[0])
		if head == "" {
			return ""
		}
		rest := v.Copy()
		rest[0] = ast.VarTerm("x")
		return head + strings.TrimPrefix(rest.String(), "x")
	}
	return ""
}

// value returns the value of an operand as far as it can be had without evaluating.
func (t *attempts) value(e topdown.Event, operand *ast.Term) ast.Value {
	var root ast.Value
	var rest ast.Ref
	switch v := operand.Value.(type) {
	case ast.Var:
		root = e.Plug(operand).Value
	case ast.Ref:
		rest = v[1:]
		if root = e.Plug(v[0]).Value; v[0].Equal(ast.InputRootDocument) && e.Input() != nil {
			root = e.Input().Value
		}
	default:
		return nil
	}
	for _, step := range rest {
		found, err := root.Find(ast.Ref{e.Plug(step)})
		if err != nil {
			return nil
		}
		root = found
	}
	if _, unknown := root.(ast.Var); unknown || !root.IsGround() {
		return nil
	}
	return root
}

// steps tells the attempt's stops, and those of the helpers that they used.
func (t *attempts) steps(a *attempt, depth int) []policies.Step {
	var out []policies.Step
	for _, s := range a.stops {
		if slices.Contains(a.held, s.leaf) || len(out) == maxWhy {
			continue
		}
		step := policies.Step{Text: source(s.expr.Location), Leaf: s.leaf, Value: "false", Values: s.values}
		if s.expr.Location != nil {
			step.Pos = position(s.expr.Location, s.expr.Location.File)
		}
		if step.Text == "" {
			step.Text = s.expr.String()
		}
		if !s.expr.IsNegated() && depth > 0 {
			step.Below = t.below(s, depth-1)
		}
		if len(s.values) == 0 && !s.expr.IsNegated() && len(step.Below) == 0 {
			step.Value = "undefined or false"
		}
		out = append(out, step)
	}
	return out
}

// below tells why the helpers that an expression used did not hold. One that was evaluated before is remembered by
// the evaluator, and here.
func (t *attempts) below(s *stopped, depth int) []policies.Step {
	tried := s.below
	if len(tried) == 0 {
		ast.WalkRefs(s.expr, func(r ast.Ref) bool {
			if r[0].Equal(ast.DefaultRootDocument) {
				tried = append(tried, t.last[r.GroundPrefix().String()]...)
			}
			return false
		})
	}
	var out []policies.Step
	for _, a := range tried {
		if len(a.held) > 0 || len(out) >= maxBelow {
			continue
		}
		if a.rule == nil { // an every, which has its body below it
			for _, body := range a.below {
				out = append(out, t.steps(body, depth)...)
			}
			continue
		}
		out = append(out, t.steps(a, depth)...)
	}
	return out[:min(len(out), maxBelow)]
}

// source returns an expression as it is written, on one line.
func source(loc *ast.Location) string {
	if loc == nil {
		return ""
	}
	text := string(loc.Text)
	if len(text) > 2*maxShown {
		text = strings.ToValidUTF8(text[:2*maxShown], "") + "…"
	}
	return strings.Join(strings.Fields(text), " ")
}
