package eval

import (
	"sync"

	"go.starlark.net/resolve"
	star "go.starlark.net/syntax"

	"callgate/engine/label"
)

// A region is what a branch decides about: its arms, and whatever the exits in its
// arms may skip, up to the immediate post-dominator. On entry under a label that the pc does
// not have yet, every name bound in the region joins the label, whether or not
// the arm that binds it is taken [pc.3]; containers that the region changes are announced;
// and the exits raise the pc of what they may skip.
//
// What is in a region is worked out on the first such entry: most regions are only
// ever entered under labels that the pc already has.
type region struct {
	fn    *fcomp
	place *place    // of the statement; nil for an expression, which has no exits
	self  star.Stmt // the statement; nil for an expression
	arms  []star.Node

	once  sync.Once
	sum   summary // of the arms and of what may be skipped
	exits exits   // ret, brk and cont, those that are themselves skipped included
}

func (f *fcomp) region(p *place, arms ...star.Node) *region {
	return &region{fn: f, place: p, arms: arms}
}

// exits are the ways in which control can leave a list of statements.
type exits struct{ ret, brk, cont bool }

// summary is what a list of nodes binds, changes and calls.
type summary struct {
	names   []ref // bound
	changed []ref // whose containers are changed
	calls   bool  // something that may reach the host
	callees []callee
	exits   exits
	work    int64 // nodes looked at
}

// ref is a variable as seen from the function that is running.
type ref struct {
	scope resolve.Scope
	index int
}

// callee is a call of a named function, whose effects on containers can be looked up.
type callee struct {
	fn   ref
	args []ref // of arguments that are names; scope Undefined otherwise
}

// resolve works out the region, once.
func (r *region) resolve() {
	r.once.Do(func() {
		for _, n := range r.arms {
			r.sum.add(n, false)
		}
		x := r.sum.exits
		loop := isLoop(r.self)
		if loop {
			x.brk, x.cont = false, false
		}
		if r.place != nil {
			r.skipped(&x)
		}
		r.exits = x
	})
}

func isLoop(s star.Stmt) bool {
	switch s.(type) {
	case *star.ForStmt, *star.WhileStmt:
		return true
	}
	return false
}

// skipped adds to the region what its exits may skip. An exit that
// is itself skipped counts: a continue may skip a break, a break a return.
func (r *region) skipped(x *exits) {
	var inner, outer star.Stmt // the innermost and the outermost enclosing loop
	for p := r.place; p != nil; p = p.up {
		if p.loop != nil {
			if inner == nil {
				inner = p.loop
			}
			outer = p.loop
		}
	}
	if x.cont && inner != nil {
		for p := r.place; ; p = p.up {
			for _, s := range p.after {
				e := r.sum.add(s, false)
				x.ret = x.ret || e.ret
				x.brk = x.brk || e.brk
			}
			if p.loop != nil {
				break
			}
		}
	}
	if x.brk && inner != nil {
		if e := r.sum.add(inner, false); e.ret {
			x.ret = true
		}
	}
	if !x.ret {
		return
	}
	if outer != nil {
		r.sum.add(outer, false)
	}
	for p := r.place; p != nil; p = p.up {
		for _, s := range p.after {
			r.sum.add(s, false)
		}
	}
}

// add adds a node to the summary and returns the exits that leave it.
func (s *summary) add(n star.Node, inLoop bool) exits {
	var out exits
	s.work++
	switch n := n.(type) {
	case nil:
	case *star.DefStmt:
		s.bind(n.Name)
		for _, p := range n.Params {
			if b, ok := p.(*star.BinaryExpr); ok {
				s.add(b.Y, inLoop)
			}
		}
	case *star.LambdaExpr:
		for _, p := range n.Params {
			if b, ok := p.(*star.BinaryExpr); ok {
				s.add(b.Y, inLoop)
			}
		}
	case *star.ExprStmt:
		s.add(n.X, inLoop)
	case *star.AssignStmt:
		s.target(n.LHS, n.Op != star.EQ)
		s.add(n.RHS, inLoop)
	case *star.IfStmt:
		s.add(n.Cond, inLoop)
		out = s.all(n.True, inLoop).or(s.all(n.False, inLoop))
	case *star.ForStmt:
		s.target(n.Vars, false)
		s.add(n.X, inLoop)
		out.ret = s.all(n.Body, true).ret
	case *star.WhileStmt:
		s.add(n.Cond, inLoop)
		out.ret = s.all(n.Body, true).ret
	case *star.ReturnStmt:
		out.ret = true
		if n.Result != nil {
			s.add(n.Result, inLoop)
		}
	case *star.BranchStmt:
		out.brk, out.cont = n.Token == star.BREAK, n.Token == star.CONTINUE
	case *star.CallExpr:
		s.call(n, inLoop)
	case *star.ForClause:
		s.target(n.Vars, false) // a closure may keep them
		s.add(n.X, inLoop)
	case star.Expr:
		s.operands(n, inLoop)
	case *star.IfClause:
		s.add(n.Cond, inLoop)
	}
	if !inLoop {
		s.exits = s.exits.or(out)
	} else if out.ret {
		s.exits.ret = true
	}
	return out
}

func (e exits) or(f exits) exits {
	return exits{e.ret || f.ret, e.brk || f.brk, e.cont || f.cont}
}

func (s *summary) all(list []star.Stmt, inLoop bool) exits {
	var out exits
	for _, n := range list {
		out = out.or(s.add(n, inLoop))
	}
	return out
}

// operands adds the parts of an expression.
func (s *summary) operands(e star.Expr, inLoop bool) {
	star.Walk(e, func(n star.Node) bool {
		if n == e || n == nil {
			return n != nil
		}
		s.add(n, inLoop)
		return false
	})
}

// target adds what an assignment binds or changes.
func (s *summary) target(e star.Expr, augmented bool) {
	switch e := unparen(e).(type) {
	case *star.Ident:
		s.bind(e)
		if augmented {
			s.change(e)
		}
	case *star.TupleExpr:
		for _, x := range e.List {
			s.target(x, augmented)
		}
	case *star.ListExpr:
		for _, x := range e.List {
			s.target(x, augmented)
		}
	case *star.IndexExpr:
		s.change(e.X)
		s.add(e.X, false)
		s.add(e.Y, false)
	case *star.DotExpr:
		s.add(e.X, false)
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
	return ref{b.Scope, b.Index}, true
}

func (s *summary) bind(id *star.Ident) {
	if r, ok := refOf(id); ok {
		s.names = append(s.names, r)
	}
}

func (s *summary) change(e star.Expr) {
	if r, ok := refOf(e); ok {
		s.changed = append(s.changed, r)
	}
}

func (s *summary) call(n *star.CallExpr, inLoop bool) {
	for _, a := range n.Args {
		s.add(a, inLoop)
	}
	switch fn := unparen(n.Fn).(type) {
	case *star.Ident:
		b, _ := fn.Binding.(*resolve.Binding)
		if b == nil || b.Scope == resolve.Universal && !reaches[fn.Name] {
			return
		}
		s.calls = true
		c := callee{fn: ref{b.Scope, b.Index}}
		for _, a := range n.Args {
			r, _ := refOf(a)
			c.args = append(c.args, r)
		}
		s.callees = append(s.callees, c)
	case *star.DotExpr:
		s.add(fn.X, inLoop)
		if mutators[fn.Name.Name] {
			s.change(fn.X)
		}
		r, named := refOf(fn.X)
		if !methodNames[fn.Name.Name] || named && r.scope == resolve.Predeclared {
			s.calls = true
		}
	default:
		s.add(n.Fn, inLoop)
		s.calls = true
	}
}

// mutators are the methods that change a list, dict or set.
var mutators = map[string]bool{
	"append": true, "clear": true, "extend": true, "insert": true, "pop": true, "remove": true,
	"popitem": true, "setdefault": true, "update": true, "add": true, "discard": true,
	"reverse": true, "sort": true, "difference_update": true, "intersection_update": true, "symmetric_difference_update": true,
}

// reaches are the universe functions through which a program reaches the host, or functions of the program.
var reaches = map[string]bool{
	"done": true, "endorse": true, "declassify": true, "attempt": true, "choose": true,
	"sorted": true, "max": true, "min": true, "print": true,
}

// announce is called at the entry of a region, in every run, before an arm is
// chosen: before is the pc there and full is before ⊔ the condition's label. An announcement to
// what outlives the function, a container or the record of calls, is itself a write: it is made only where
// the pc flows there already.
// It pushes cond, the condition's label with its sources, which the caller pops when the region is left.
func (t *thread) announce(r *region, before, full, cond label.ID) {
	t.conds = append(t.conds, cond)
	r.resolve()
	t.burn(1 + int64(len(r.sum.names)+len(r.sum.changed)))
	for _, n := range r.sum.names {
		if v := t.variable(n); v != nil {
			v.lab = t.join(v.lab, full)
		}
	}
	for _, n := range r.sum.changed {
		if v := t.variable(n); v != nil {
			t.announceValue(*v, before, full)
		}
	}
	if r.sum.calls && t.tab.Flows(before, t.s.history) {
		t.s.history = t.join(t.s.history, full)
	}
	for _, c := range r.sum.callees {
		t.announceCall(c, before, full)
	}
	x := r.exits
	if x.ret {
		t.fnpc = t.join(t.fnpc, full)
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

// announceValue joins full to the structure of a container, if that is no upgrade that
// control before the region could have decided: an announcement is itself a write.
func (t *thread) announceValue(v val, via, full label.ID) {
	var st *label.ID
	switch v.k {
	case kList:
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
	sum := fn.code.changes()
	for _, r := range sum.changed {
		switch r.scope {
		case resolve.Local, resolve.Cell:
			if r.index < len(c.args) && r.index < fn.code.nparams {
				if a := t.variable(c.args[r.index]); a != nil {
					t.announceValue(*a, via, full)
				}
			}
		default:
			if w := fn.variable(r); w != nil {
				t.announceValue(*w, via, full)
			}
		}
	}
	t.announceInner(fn, sum, via, full, 2)
}

// announceInner follows calls of named functions inside a callee, a few levels deep.
func (t *thread) announceInner(fn *function, sum *summary, via, full label.ID, depth int) {
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
		isum := inner.code.changes()
		for _, r := range isum.changed {
			if w := inner.variable(r); w != nil {
				t.announceValue(*w, via, full)
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

// lazySummary is the summary of a function's body, worked out once.
type lazySummary struct {
	once sync.Once
	sum  summary
}

func (c *funcode) changes() *summary {
	c.summary.once.Do(func() { c.summary.sum.all(c.stmts, false) })
	return &c.summary.sum
}
