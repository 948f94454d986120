package eval

import (
	"slices"
	"sync"

	"go.starlark.net/resolve"
	star "go.starlark.net/syntax"

	"callgate/engine/label"
	"callgate/engine/syntax"
)

// A region is what a branch decides about: its arms, and whatever the exits in its
// arms may skip, up to the immediate post-dominator. On entry under a label that the pc does
// not have yet, every name bound in the region joins the label, whether or not
// the arm that binds it is taken [pc.3]; containers that the region changes are announced;
// and the exits raise the pc of what they may skip.
//
// What is in a region is worked out on the first such entry: most regions are only
// ever entered under labels that the pc already has. It is found as extents of what the function does in the order
// of its text, which all regions of the function share: so the regions of a program take no more memory than its text
// accounts for, however many there are and whatever they may skip.
type region struct {
	fn    *fcomp
	place *place    // of the statement; nil for an expression, which has no exits
	self  star.Stmt // the statement; nil for an expression
	arms  []star.Node

	once  sync.Once
	of    *effects
	parts []extent // of the arms and of what may be skipped
	exits exits    // ret, brk and cont, those that are themselves skipped included
	calls bool     // something in it may reach the host
	risks bool     // something in it may end in an error
	cost  int64    // steps that announcing it takes

	// Most branches bind a few locals and do nothing else that is to be announced.
	plain  bool
	locals []int
}

// region makes the region of a branch with the given arms.
func (f *fcomp) region(p *place, arms ...star.Node) *region {
	for _, n := range arms {
		if e, ok := n.(star.Expr); ok && !f.again {
			f.code.arms = append(f.code.arms, e)
		}
	}
	r := &region{fn: f, place: p, arms: arms}
	if observeRegion != nil {
		observeRegion(r)
	}
	return r
}

// observeRegion, if a test has set it, is called with each region that is compiled.
var observeRegion func(r *region)

// clauseArms are the arms of a comprehension: all but the sequence of its first clause, which is evaluated before. The
// variables count: a closure may keep them.
func clauseArms(e *star.Comprehension) []star.Node {
	arms := []star.Node{e.Body}
	for i, c := range e.Clauses {
		switch c := c.(type) {
		case *star.IfClause:
			arms = append(arms, c.Cond)
		case *star.ForClause:
			arms = append(arms, c.Vars)
			if i > 0 {
				arms = append(arms, c.X)
			}
		}
	}
	return arms
}

// exits are the ways in which control can leave a list of statements.
type exits struct{ ret, brk, cont bool }

func (e exits) or(f exits) exits {
	return exits{e.ret || f.ret, e.brk || f.brk, e.cont || f.cont}
}

// effects is what a function's own statements bind, change and call, in the order of its text.
type effects struct {
	names   []ref // bound
	changed []ref // whose containers are changed
	callees []callee
	stored  []ref // names of functions around, or of the program, that are bound
	calls   int32 // how many things may reach the host
	risks   int32 // how many may end in an error

	marks  map[star.Node]mark // of statements, and of expressions that are arms
	whole  mark               // of all of it
	wanted map[star.Node]bool // arms, while marks are being made
}

// ref is a variable as seen from the function that is running.
type ref struct {
	scope resolve.Scope
	index int
	reads bool // only an element of it is read, which changes a defaultdict
}

// callee is a call of a named function, whose effects on containers can be looked up.
type callee struct {
	fn   ref
	args []ref // of arguments that are names; scope Undefined otherwise
}

// point is a place in a function's effects: how many of each kind come before it.
type point struct{ names, changed, stored, callees, calls, risks int32 }

// extent is a part of a function's effects.
type extent struct{ from, to point }

// mark says what a node does, and how control can leave it.
type mark struct {
	extent
	exits exits
	rest  exits // of a statement: of it and of those that follow in its list
}

// effects works out what the function does, once.
func (c *funcode) effects() *effects {
	e := &c.does
	c.once.Do(func() {
		e.marks, e.wanted = map[star.Node]mark{}, make(map[star.Node]bool, len(c.arms))
		for _, a := range c.arms {
			e.wanted[a] = true
		}
		e.all(c.stmts)
		e.wanted = nil
		e.whole = mark{extent{to: e.point()}, exits{true, true, true}, exits{true, true, true}}
	})
	return e
}

func (e *effects) point() point {
	return point{int32(len(e.names)), int32(len(e.changed)), int32(len(e.stored)), int32(len(e.callees)), e.calls, e.risks}
}

// resolve works out the region, once.
func (r *region) resolve() {
	r.once.Do(func() {
		r.of = r.fn.code.effects()
		var x exits
		for _, n := range r.arms {
			m := r.of.mark(n)
			r.add(m.extent)
			x = x.or(m.exits)
		}
		if isLoop(r.self) {
			x.brk, x.cont = false, false
		}
		if r.place != nil {
			r.skipped(&x)
		}
		r.exits = x
		r.cost = 1
		for _, p := range r.parts {
			r.calls = r.calls || p.from.calls != p.to.calls
			r.risks = r.risks || p.from.risks != p.to.risks
			r.cost += int64(p.to.names-p.from.names) + int64(p.to.changed-p.from.changed) + int64(p.to.stored-p.from.stored) + int64(p.to.callees-p.from.callees)
		}
		r.plain = r.isPlain()
	})
}

// isPlain reports whether the region does no more than to bind locals, which it lists.
func (r *region) isPlain() bool {
	for _, p := range r.parts {
		if p.from.changed != p.to.changed || p.from.stored != p.to.stored || p.from.callees != p.to.callees || r.calls {
			return false
		}
		for _, n := range r.of.names[p.from.names:p.to.names] {
			if n.scope != resolve.Local {
				return false
			}
			r.locals = append(r.locals, n.index)
		}
	}
	return r.exits == exits{}
}

// mark returns the mark of a node. One that the walk did not meet, which would be a fault of this file, counts
// as doing all that the function does.
func (e *effects) mark(n star.Node) mark {
	m, ok := e.marks[n]
	if !ok {
		return e.whole
	}
	return m
}

// add adds a part, which often follows the one before.
func (r *region) add(p extent) {
	if n := len(r.parts); n > 0 && r.parts[n-1].to == p.from {
		r.parts[n-1].to = p.to
		return
	}
	r.parts = append(r.parts, p)
}

// addList adds statements that follow each other in a list, and returns how control can leave them.
func (r *region) addList(list []star.Stmt) exits {
	if len(list) == 0 {
		return exits{}
	}
	first, last := r.of.mark(list[0]), r.of.mark(list[len(list)-1])
	r.add(extent{first.from, last.to})
	return first.rest
}

func isLoop(s star.Stmt) bool {
	switch s.(type) {
	case *star.ForStmt, *star.WhileStmt:
		return true
	}
	return false
}

// skipped adds to the region what its exits may skip. An exit that
// is itself skipped counts: a continue may skip a break, a break a return, and what leaves a finally skips what waits for its end.
func (r *region) skipped(x *exits) {
	var inner, outer star.Stmt // the innermost and the outermost enclosing loop
	for p := r.place; p != nil; p = p.up {
		if p.try && inner == nil && x.cont { // an error on the way to the next iteration may end the loop
			x.brk = true
		}
		if inner == nil && *x != (exits{}) {
			for _, n := range p.begun {
				*x = x.or(r.of.mark(n).exits)
			}
		}
		if p.loop != nil {
			if inner == nil {
				inner = p.loop
			}
			outer = p.loop
		}
	}
	if x.cont && inner != nil {
		for p := r.place; ; p = p.up {
			e := r.addList(p.after)
			x.ret = x.ret || e.ret
			x.brk = x.brk || e.brk
			if p.loop != nil {
				break
			}
		}
	}
	if x.brk && inner != nil {
		m := r.of.mark(inner)
		r.add(m.extent)
		x.ret = x.ret || m.exits.ret
	}
	if !x.ret {
		return
	}
	if outer != nil {
		r.add(r.of.mark(outer).extent)
	}
	for p := r.place; p != nil; p = p.up {
		r.addList(p.after)
	}
}

// add adds a node and returns the exits that leave it.
func (e *effects) add(n star.Node) exits {
	from := e.point()
	var out exits
	if risky(n) {
		e.risks++
	}
	switch n := n.(type) {
	case nil:
	case *star.DefStmt:
		e.bind(n.Name)
		for _, p := range n.Params {
			if b, ok := p.(*star.BinaryExpr); ok {
				e.add(b.Y)
			}
		}
	case *star.LambdaExpr:
		for _, p := range n.Params {
			if b, ok := p.(*star.BinaryExpr); ok {
				e.add(b.Y)
			}
		}
	case *star.ExprStmt:
		e.add(n.X)
	case *star.AssignStmt:
		e.target(n.LHS, n.Op != star.EQ)
		e.add(n.RHS)
	case *star.IfStmt:
		e.add(n.Cond)
		out = e.all(n.True).or(e.all(n.False))
		out.brk = out.brk || out.cont && specialName(n.Cond) == syntax.Try // as in skipped: what is announced within is announced around it
	case *star.ForStmt:
		e.target(n.Vars, false)
		e.add(n.X)
		out.ret = e.all(n.Body).ret
	case *star.WhileStmt:
		e.add(n.Cond)
		out.ret = e.all(n.Body).ret
	case *star.ReturnStmt:
		out.ret = true
		if n.Result != nil {
			e.add(n.Result)
		}
	case *star.BranchStmt:
		out.brk, out.cont = n.Token == star.BREAK, n.Token == star.CONTINUE
	case *star.CallExpr:
		e.call(n)
	case *star.ForClause:
		e.target(n.Vars, false)
		if e.wanted[n.Vars] {
			e.marks[n.Vars] = mark{extent: extent{from, e.point()}}
		}
		e.add(n.X)
	case *star.IndexExpr:
		if r, ok := refOf(n.X); ok {
			r.reads = true
			e.changed = append(e.changed, r)
		}
		e.operands(n)
	case star.Expr:
		e.operands(n)
	case *star.IfClause:
		e.add(n.Cond)
	}
	if _, ok := n.(star.Stmt); ok || e.wanted[n] {
		e.marks[n] = mark{extent{from, e.point()}, out, out}
	}
	return out
}

func (e *effects) all(list []star.Stmt) exits {
	for _, n := range list {
		e.add(n)
	}
	var out exits
	for _, n := range slices.Backward(list) {
		m := e.marks[n]
		out = out.or(m.exits)
		m.rest = out
		e.marks[n] = m
	}
	return out
}

// operands adds the parts of an expression.
func (e *effects) operands(x star.Expr) {
	star.Walk(x, func(n star.Node) bool {
		if n == x || n == nil {
			return n != nil
		}
		e.add(n)
		return false
	})
}

// target adds what an assignment binds or changes.
func (e *effects) target(x star.Expr, augmented bool) {
	switch x := unparen(x).(type) {
	case *star.Ident:
		e.bind(x)
		if augmented {
			e.change(x)
		}
	case *star.TupleExpr:
		for _, y := range x.List {
			e.target(y, augmented)
		}
	case *star.ListExpr:
		for _, y := range x.List {
			e.target(y, augmented)
		}
	case *star.IndexExpr:
		e.change(x.X)
		e.add(x.X)
		e.add(x.Y)
	case *star.DotExpr:
		e.add(x.X)
	}
}

func refOf(e star.Expr) (ref, bool) {
	id, ok := unparen(e).(*star.Ident)
	if !ok {
		return ref{}, false
	}
	b, ok := id.Binding.(*resolve.Binding)
	if !ok {
		return ref{}, false
	}
	return ref{scope: b.Scope, index: b.Index}, true
}

func (e *effects) bind(id *star.Ident) {
	if r, ok := refOf(id); ok {
		e.names = append(e.names, r)
	}
}

func (e *effects) change(x star.Expr) {
	if r, ok := refOf(x); ok {
		e.changed = append(e.changed, r)
	}
}

func (e *effects) call(n *star.CallExpr) {
	for _, a := range n.Args {
		e.add(a)
	}
	switch fn := unparen(n.Fn).(type) {
	case *star.Ident:
		b, _ := fn.Binding.(*resolve.Binding)
		if heapChanges[fn.Name] && len(n.Args) > 0 {
			e.change(n.Args[0])
		}
		switch fn.Name {
		case syntax.Delete:
			e.change(n.Args[0])
		case syntax.SetSlice:
			e.change(n.Args[0].(*star.SliceExpr).X)
		case syntax.Walrus:
			e.bind(n.Args[0].(*star.Ident))
		case syntax.Store:
			if r, ok := refOf(n.Args[0]); ok {
				e.stored = append(e.stored, r)
			}
		}
		if b == nil || b.Scope == resolve.Universal && !reaches[fn.Name] {
			return
		}
		e.calls++
		c := callee{fn: ref{scope: b.Scope, index: b.Index}}
		for _, a := range n.Args {
			r, _ := refOf(a)
			c.args = append(c.args, r)
		}
		e.callees = append(e.callees, c)
	case *star.DotExpr:
		e.add(fn.X)
		if mutators[fn.Name.Name] {
			e.change(fn.X)
		}
		if heapChanges[fn.Name.Name] && len(n.Args) > 0 {
			e.change(n.Args[0])
		}
		r, named := refOf(fn.X)
		if !methodNames[fn.Name.Name] || named && r.scope == resolve.Predeclared {
			e.calls++
		}
	default:
		e.add(n.Fn)
		e.calls++
	}
}

// mutators are the methods that change a list, dict or set.
var mutators = map[string]bool{
	"append": true, "clear": true, "extend": true, "insert": true, "pop": true, "remove": true,
	"appendleft": true, "popleft": true, "extendleft": true, "rotate": true, "move_to_end": true, "subtract": true,
	"popitem": true, "setdefault": true, "update": true, "add": true, "discard": true,
	"reverse": true, "sort": true, "difference_update": true, "intersection_update": true, "symmetric_difference_update": true,
}

// reaches are the universe functions through which a program reaches the host, or functions of the program.
var reaches = map[string]bool{
	"done": true, "endorse": true, "declassify": true, "attempt": true, "choose": true,
	"sorted": true, "max": true, "min": true, "print": true, "map": true, "filter": true, "parallel": true,
}

// announce is called at the entry of a region, in every run, before an arm is
// chosen: before is the pc there and full is before ⊔ the condition's label. An announcement to
// what outlives the function, a container or the record of calls, is itself a write: it is made only where
// the pc flows there already.
// It pushes cond, the condition's label with its sources, which the caller pops when the region is left.
func (t *thread) announce(r *region, before, full, cond label.ID) {
	t.announceEffects(r, before, full, cond)
	if len(t.trials) > 0 && r.risks {
		t.raiseTrials(full, cond)
	}
}

// announceEffects is announce without regard to errors in the region.
func (t *thread) announceEffects(r *region, before, full, cond label.ID) {
	t.conds = append(t.conds, cond)
	r.resolve()
	t.burn(r.cost)
	if r.plain {
		for _, i := range r.locals {
			if v := &t.locals[i]; v.lab != full {
				v.lab = t.join(v.lab, full)
			}
		}
		return
	}
	for _, p := range r.parts { // before the names: what x += y changes is reached under the label that x had
		for _, n := range r.of.changed[p.from.changed:p.to.changed] {
			if v := t.variable(n); v != nil {
				t.announceRef(n, *v, before, full)
			}
		}
	}
	for _, p := range r.parts {
		for _, n := range r.of.names[p.from.names:p.to.names] {
			if v := t.variable(n); v != nil {
				v.lab = t.join(v.lab, full)
			}
		}
		for _, n := range r.of.stored[p.from.stored:p.to.stored] {
			t.announceCell(t.variable(n), before, full)
		}
	}
	if r.calls {
		t.expect(before, full)
	}
	for _, p := range r.parts {
		for _, c := range r.of.callees[p.from.callees:p.to.callees] {
			t.announceCall(c, before, full)
		}
	}
	x := r.exits
	if x.ret {
		t.fnpc = t.join(t.fnpc, full)
		if len(t.guards) > 0 {
			t.keepReturn(len(t.frames), full)
		}
	}
	if n := len(t.loops); n > t.loopBase {
		at := n - 1
		if isLoop(r.self) {
			at-- // the loop's own entry is on top: its arms' breaks are its own
		}
		if at >= t.loopBase {
			if x.brk {
				t.loops[at].brk = t.join(t.loops[at].brk, full)
			}
			if x.cont {
				t.loops[at].cnt = t.join(t.loops[at].cnt, full)
			}
		}
	}
	if x.ret || x.brk || x.cont {
		t.raises++
		t.skipped = t.join(t.skipped, cond)
	}
}

// variable returns the slot of a name in the running function.
func (t *thread) variable(r ref) *val {
	switch r.scope {
	case resolve.Local:
		return &t.locals[r.index]
	case resolve.Cell:
		return &t.locals[r.index].cell().v
	case resolve.Free:
		return &t.fn.free[r.index].v
	case resolve.Global:
		return &t.cells[r.index].v
	}
	return nil
}

// announceRef announces a container that is changed where v was read from.
func (t *thread) announceRef(r ref, v val, via, full label.ID) {
	if !r.reads || ofClass(v) == defaultDict {
		t.announceValue(v, via, full)
	}
}

// announceValue joins full to the structure of a container, if that is no upgrade that
// control before the region could have decided: an announcement is itself a write.
func (t *thread) announceValue(v val, via, full label.ID) {
	var st *label.ID
	switch v.k {
	case kList, kDeque:
		st = &v.list().st
	case kDict, kSet:
		st = &v.dict().st
	default:
		return
	}
	if t.tab.Flows(t.join(via, v.lab), *st) {
		*st = t.join(*st, full)
	}
}

// announceCall announces the containers that a function, called by name in the
// region, changes: its parameters', its free variables' and its globals'.
func (t *thread) announceCall(c callee, via, full label.ID) {
	v := t.variable(c.fn)
	if v == nil || v.k != kFunc {
		return
	}
	fn := v.fn()
	via = t.join(via, v.lab)
	sum := fn.code.effects()
	t.burn(1 + int64(len(sum.changed)) + int64(len(sum.stored)))
	for _, r := range sum.stored {
		t.announceCell(fn.variable(r), via, full)
	}
	for _, r := range sum.changed {
		switch r.scope {
		case resolve.Local, resolve.Cell:
			if r.index < len(c.args) && r.index < fn.code.nparams {
				if a := t.variable(c.args[r.index]); a != nil {
					t.announceRef(r, *a, via, full)
				}
			}
		default:
			if w := fn.variable(r); w != nil {
				t.announceRef(r, *w, via, full)
			}
		}
	}
	t.announceInner(fn, sum, via, full, 2)
}

// announceInner follows calls of named functions inside a callee, a few levels deep.
func (t *thread) announceInner(fn *function, sum *effects, via, full label.ID, depth int) {
	if depth == 0 {
		return
	}
	t.burn(int64(len(sum.callees)))
	for _, c := range sum.callees {
		v := fn.variable(c.fn)
		if v == nil || v.k != kFunc {
			continue
		}
		inner, via := v.fn(), t.join(via, v.lab)
		isum := inner.code.effects()
		t.burn(1 + int64(len(isum.changed)) + int64(len(isum.stored)))
		for _, r := range isum.stored {
			t.announceCell(inner.variable(r), via, full)
		}
		for _, r := range isum.changed {
			if w := inner.variable(r); w != nil {
				t.announceRef(r, *w, via, full)
			}
		}
		t.announceInner(inner, isum, via, full, depth-1)
	}
}

// variable returns a free variable or a global of a function that is not running.
func (fn *function) variable(r ref) *val {
	switch r.scope {
	case resolve.Free:
		return &fn.free[r.index].v
	case resolve.Global:
		return &fn.mod.cells[r.index].v
	}
	return nil
}
