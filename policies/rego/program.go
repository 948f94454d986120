package rego

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"callgate/policies"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// program is the rules of some packages, partially evaluated for what is known of a
// call beforehand.
type program struct {
	unit  *unit
	known known
	all   []slot // every set of the packages

	always policies.Findings // what fires whatever the call: elements that nothing is left of but themselves

	fast []translated // sets that are evaluated here
	docs int          // rules that they remember

	compiler *ast.Compiler
	query    ast.Body // x = [set, …] for the others, nil if there are none
	slots    []slot   // whose sets x holds
	fields   policies.Fields
	parts    [partCount]policies.Fields
	reads    []string
}

// translated is a set whose rules were translated.
type translated struct {
	slot slot
	ref  *ast.Term // of the rules that partial evaluation left
	code *function
}

// slot is one set of one package.
type slot struct {
	pack *pack
	set  setKind
}

func (s slot) ref() ast.Ref { return s.pack.path.Append(ast.StringTerm(setNames[s.set])) }

// result is the query's variable.
const result = ast.Var("x")

// specialise partially evaluates the matched packages. Where that fails, or would take long, they are evaluated
// whole for each call. Inlining stays shallow: copy propagation loses what binds a variable that only a not with a body
// of its own uses.
func (u *unit) specialise(ctx context.Context, matched []int, k known) (*program, error) {
	p := &program{unit: u, known: k}
	for _, i := range matched {
		for set := range setCount {
			if u.packs[i].sets[set] != nil {
				p.all = append(p.all, slot{u.packs[i], set})
			}
		}
	}
	if len(p.all) == 0 {
		return p, nil
	}
	if err := p.partial(ctx); err == nil {
		return p, nil
	}
	return p, p.whole()
}

// list returns the query that binds x to the sets.
func list(terms []*ast.Term) ast.Body {
	return ast.NewBody(ast.Equality.Expr(ast.NewTerm(result), ast.ArrayTerm(terms...)))
}

// whole makes the program of the rules as they are.
func (p *program) whole() error {
	terms := make([]*ast.Term, len(p.all))
	for i, s := range p.all {
		terms[i] = ast.NewTerm(s.ref())
	}
	body, err := p.unit.compiler.QueryCompiler().Compile(list(terms))
	if err != nil {
		return err
	}
	p.always, p.fast, p.compiler, p.query, p.slots = policies.Findings{}, nil, p.unit.compiler, body, p.all
	p.setReads(readsOf(p.compiler, body))
	return nil
}

func (p *program) setReads(reads []string) {
	p.reads = reads
	p.fields = policies.NewFields(reads, p.unit.vocabulary)
	p.parts = partFields(reads, p.unit.vocabulary)
}

// input returns what is known of the document, and the parts of it that are not.
func (k known) input() (*ast.Term, []*ast.Term) {
	strings := func(list []string) *ast.Term {
		terms := make([]*ast.Term, len(list))
		for i, s := range list {
			terms[i] = ast.StringTerm(s)
		}
		return ast.ArrayTerm(terms...)
	}
	call := [][2]*ast.Term{
		{ast.StringTerm("kind"), ast.StringTerm(k.Kind)},
		{ast.StringTerm("effects"), strings(k.Effects)},
		{ast.StringTerm("sinks"), strings(k.Sinks)},
	}
	unknown := []string{
		"time", "agent", "principal", "session", "labels", "tags", "leaves", "history",
		"call.id", "call.args", "call.site", "call.state",
	}
	if k.Tool != "" {
		call = append(call, [2]*ast.Term{ast.StringTerm("tool"), ast.StringTerm(k.Tool)})
	} else {
		unknown = append(unknown, "call.tool")
	}
	input := ast.ObjectTerm(
		[2]*ast.Term{ast.StringTerm("version"), ast.StringTerm(policies.Version)},
		[2]*ast.Term{ast.StringTerm("call"), ast.ObjectTerm(call...)},
	)
	terms := make([]*ast.Term, len(unknown))
	for i, path := range unknown {
		terms[i] = ast.NewTerm(inputRef(path))
	}
	return input, terms
}

func inputRef(path string) ast.Ref {
	ref := ast.Ref{ast.InputRootDocument}
	for part := range strings.SplitSeq(path, ".") {
		ref = append(ref, ast.StringTerm(part))
	}
	return ref
}

// partial makes the program of what partial evaluation leaves.
func (p *program) partial(ctx context.Context) error {
	limit := newLimit(ctx, specialisationSteps, specialisationTime)
	defer limit.stop()
	terms := make([]*ast.Term, len(p.all))
	for i, s := range p.all {
		terms[i] = ast.NewTerm(s.ref())
	}
	body, err := p.unit.compiler.QueryCompiler().Compile(list(terms))
	if err != nil {
		return err
	}
	input, unknown := p.known.input()
	queries, support, err := topdown.NewQuery(body).WithCompiler(p.unit.compiler).
		WithStore(p.unit.store).WithTransaction(p.unit.txn).WithCancel(limit).
		WithInput(input).WithUnknowns(unknown).WithDisableInlining(p.unit.conflicting).WithShallowInlining(true).
		WithStrictBuiltinErrors(true).PartialRun(ctx)
	if err != nil {
		return err
	}
	sets, err := setsOf(queries, len(p.all))
	if err != nil {
		return err
	}
	var rest []*ast.Term
	var slots []slot
	for i, t := range sets {
		if done, err := p.settle(p.all[i], t, support); err != nil {
			return err
		} else if !done {
			rest, slots = append(rest, t), append(slots, p.all[i])
		}
	}
	if len(rest) == 0 {
		return nil
	}
	p.compiler = ast.NewCompiler()
	p.compiler.Compile(p.modules(rest, support))
	if p.compiler.Failed() {
		return p.compiler.Errors
	}
	query, err := p.compiler.QueryCompiler().Compile(list(rest))
	if err != nil {
		return err
	}
	p.setReads(readsOf(p.compiler, query))
	return p.translate(rest, slots)
}

// translate translates the sets that can be, and leaves the others to a query.
func (p *program) translate(sets []*ast.Term, slots []slot) error {
	t := &translator{compiler: p.compiler, store: p.unit.store, txn: p.unit.txn, functions: map[string]*function{}}
	var rest []*ast.Term
	for i, set := range sets {
		if ref, ok := set.Value.(ast.Ref); ok {
			if code, err := t.set(ref); err == nil {
				p.fast = append(p.fast, translated{slots[i], set, code})
				continue
			}
		}
		rest, p.slots = append(rest, set), append(p.slots, slots[i])
	}
	p.docs = t.docs
	if len(rest) == 0 {
		return nil
	}
	var err error
	p.query, err = p.compiler.QueryCompiler().Compile(list(rest))
	return err
}

// setsOf takes set = y; …; x = [y, …] apart.
func setsOf(queries []ast.Body, n int) ([]*ast.Term, error) {
	if len(queries) != 1 {
		return nil, fmt.Errorf("partial evaluation gave %v", queries)
	}
	var array *ast.Array
	stand := map[ast.Var]*ast.Term{}
	for _, e := range queries[0] {
		if !e.IsEquality() {
			return nil, fmt.Errorf("partial evaluation gave %v", e)
		}
		for i := range 2 {
			v, ok := e.Operand(i).Value.(ast.Var)
			if ok && v != result {
				stand[v] = e.Operand(1 - i)
			} else if a, isArray := e.Operand(1 - i).Value.(*ast.Array); ok && isArray {
				array = a
			}
		}
	}
	if array == nil || array.Len() != n {
		return nil, fmt.Errorf("partial evaluation gave %v", queries)
	}
	out := make([]*ast.Term, n)
	for i := range out {
		out[i] = array.Elem(i)
		if v, ok := out[i].Value.(ast.Var); ok {
			if out[i] = stand[v]; out[i] == nil {
				return nil, fmt.Errorf("partial evaluation gave %v", queries)
			}
		}
	}
	return out, nil
}

// settle takes the elements of a set of which nothing is left to evaluate; false if something is.
func (p *program) settle(s slot, t *ast.Term, support []*ast.Module) (bool, error) {
	if set, ok := t.Value.(ast.Set); ok && set.IsGround() {
		return true, s.pack.take(s.set, set, &p.always)
	}
	ref, ok := t.Value.(ast.Ref)
	if !ok {
		return false, nil
	}
	elements := ast.NewSet()
	for _, m := range support {
		for _, r := range m.Rules {
			if !m.Package.Path.Extend(r.Head.Ref()).Equal(ref) {
				continue
			}
			if !isTrue(r.Body) || r.Head.Key == nil || !r.Head.Key.IsGround() || !isData(r.Head.Key) || r.Else != nil {
				return false, nil
			}
			elements.Add(r.Head.Key)
		}
	}
	if elements.Len() == 0 {
		return false, nil
	}
	return true, s.pack.take(s.set, elements, &p.always)
}

func isTrue(b ast.Body) bool {
	if len(b) != 1 || b[0].Negated || len(b[0].With) > 0 {
		return false
	}
	t, ok := b[0].Terms.(*ast.Term)
	return ok && t.Value.Compare(ast.Boolean(true)) == 0
}

// isData reports whether a ground term is data through and through: no reference, call or comprehension.
func isData(t *ast.Term) bool {
	data := true
	ast.WalkTerms(t, func(t *ast.Term) bool {
		switch t.Value.(type) {
		case ast.Null, ast.Boolean, ast.Number, ast.String, *ast.Array, ast.Object, ast.Set:
		default:
			data = false
		}
		return !data
	})
	return data
}

// modules returns what partial evaluation left, and the modules that it still refers to.
func (p *program) modules(rest []*ast.Term, support []*ast.Module) map[string]*ast.Module {
	out := map[string]*ast.Module{}
	var queue []*ast.Module
	refer := func(x any) {
		ast.WalkRefs(x, func(ref ast.Ref) bool {
			if ref[0].Equal(ast.DefaultRootDocument) {
				for _, r := range p.unit.compiler.GetRulesDynamicWithOpts(ref, ast.RulesOptions{IncludeHiddenModules: true}) {
					queue = append(queue, r.Module)
				}
			}
			return false
		})
	}
	for i, m := range support {
		out[fmt.Sprint("partial ", i)] = m
		refer(m)
	}
	for _, t := range rest {
		refer(t)
	}
	for len(queue) > 0 {
		m := queue[0]
		queue = queue[1:]
		path := m.Package.Location.File
		if out[path] == nil {
			out[path] = m
			refer(m)
		}
	}
	return out
}

// mayAllow reports whether a rule that allows is left.
func (p *program) mayAllow() bool {
	allows := func(s slot) bool { return s.set == allowSet && !s.pack.audited(allowSet) }
	return slices.ContainsFunc(p.always.Reasons, func(r policies.Reason) bool { return r.Effect == policies.Allow && !r.Audit }) ||
		slices.ContainsFunc(p.fast, func(t translated) bool { return allows(t.slot) && len(t.code.defs) > 0 }) ||
		slices.ContainsFunc(p.slots, allows)
}

// audited reports whether all rules of a set are in audit mode.
func (p *pack) audited(set setKind) bool {
	if p.audit {
		return true
	}
	for _, r := range p.sets[set] {
		if !r.audit {
			return false
		}
	}
	return true
}

// evaluate adds what fires to out.
func (p *program) evaluate(ctx context.Context, l *limit, r *policies.Request, out *policies.Findings) error {
	begin := *out
	out.Reasons = append(out.Reasons, p.always.Reasons...)
	out.Approvals = append(out.Approvals, p.always.Approvals...)
	out.Obligations = append(out.Obligations, p.always.Obligations...)
	if p.query == nil && len(p.fast) == 0 {
		return nil
	}
	if len(p.fast) > 0 {
		m := newMachine(ctx, l, p, r)
		for _, set := range p.fast {
			found := m.elements(set.code)
			if m.err != nil {
				break
			}
			if err := set.slot.pack.takeAll(set.slot.set, found, out); err != nil {
				m.release()
				return err
			}
			m.found = m.found[:0]
		}
		failed := m.err != nil
		m.release()
		if failed {
			*out = begin
			return p.failed(ctx, l, r, out)
		}
	}
	if p.query == nil {
		return nil
	}
	sets, err := p.run(ctx, l, p.compiler, p.query, input(&p.fields, r))
	if err != nil {
		*out = begin
		return p.failed(ctx, l, r, out)
	}
	for i, s := range p.slots {
		if err := s.pack.take(s.set, sets.Elem(i).Value, out); err != nil {
			return err
		}
	}
	return nil
}

// failed finds out which set failed, unless time was up.
func (p *program) failed(ctx context.Context, l *limit, r *policies.Request, out *policies.Findings) error {
	if err := l.over(); err != nil {
		return err
	}
	return p.oneByOne(ctx, l, r, out)
}

// run returns the array that x is bound to.
func (p *program) run(ctx context.Context, l *limit, c *ast.Compiler, query ast.Body, input *ast.Term) (*ast.Array, error) {
	var found *ast.Array
	err := topdown.NewQuery(query).WithCompiler(c).WithStore(p.unit.store).WithTransaction(p.unit.txn).
		WithCancel(l).WithMetrics(metrics.NoOp()).WithInput(input).WithStrictBuiltinErrors(true).
		Iter(ctx, func(qr topdown.QueryResult) error {
			found, _ = qr[result].Value.(*ast.Array)
			return nil
		})
	if err == nil && found == nil {
		err = fmt.Errorf("a set is undefined")
	}
	return found, err
}

// oneByOne evaluates each set by itself after something failed, to say which: a set of
// deny, ask or obligations that fails denies, one of allow or accept grants nothing.
func (p *program) oneByOne(ctx context.Context, l *limit, r *policies.Request, out *policies.Findings) error {
	out.Volatile = true // which set fails may depend on more than the fields that are read
	fields := policies.NewFields([]string{""}, p.unit.vocabulary)
	document := input(&fields, r)
	for _, s := range p.all {
		query, err := p.unit.compiler.QueryCompiler().Compile(list([]*ast.Term{ast.NewTerm(s.ref())}))
		if err != nil {
			return err
		}
		found, err := p.run(ctx, l, p.unit.compiler, query, document)
		switch {
		case l.over() != nil:
			return l.over()
		case err == nil:
			if err := s.pack.take(s.set, found.Elem(0).Value, out); err != nil {
				return err
			}
		case slices.Contains([]setKind{denySet, askSet, obligationSet}, s.set):
			out.Reasons = append(out.Reasons, s.pack.failure(s.set, err))
		}
	}
	return nil
}

// failure is the denial for a set that cannot be evaluated.
func (p *pack) failure(set setKind, err error) policies.Reason {
	r := p.refusal("error", fmt.Sprintf("%s: %v", setNames[set], err))
	if e, ok := err.(*topdown.Error); ok && e.Location != nil {
		r.File, r.Line, r.Message = e.Location.File, e.Location.Row, fmt.Sprintf("%s: %s", setNames[set], e.Message)
	}
	return r
}
