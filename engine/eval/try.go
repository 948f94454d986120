package eval

import (
	"sync"

	"go.starlark.net/resolve"
	star "go.starlark.net/syntax"

	"callgate/engine/label"
	"callgate/engine/syntax"
)

// harmless are the functions that no program can spell and that end in no error.
var harmless = map[string]bool{
	syntax.Try: true, syntax.Except: true, syntax.TryElse: true, syntax.Finally: true, syntax.Caught: true, syntax.Generator: true, syntax.Shared: true,
}

// addTry lets the compiler know the functions that try and raise are written with.
func addTry() {
	for name := range harmless {
		if name != syntax.Generator && name != syntax.Shared {
			specials[name] = nil
		}
	}
	specials[syntax.Raise] = (*fcomp).raiseExpr
	specials[syntax.Reraise] = (*fcomp).reraise
	specials[syntax.Failed] = (*fcomp).failed
}

// specialName returns the name of the function that no program can spell which an expression calls, or "".
func specialName(e star.Expr) string {
	if call, ok := e.(*star.CallExpr); ok {
		if id, ok := call.Fn.(*star.Ident); ok && id.Name[0] == '<' {
			return id.Name
		}
	}
	return ""
}

// raiseExpr compiles raise x, and raise x from y.
func (f *fcomp) raiseExpr(e *star.CallExpr) expr {
	p := at(e.Lparen)
	f.judge(judgedKind, e.Args[0])
	x := f.expr(e.Args[0])
	if len(e.Args) == 1 {
		return func(t *thread) val {
			t.raise(x(t), p)
			return val{}
		}
	}
	// The cause is evaluated, and says nothing.
	y := f.expr(e.Args[1])
	slot := f.slots(1)
	return func(t *thread) val {
		t.locals[slot] = x(t)
		y(t)
		v := t.locals[slot]
		t.locals[slot] = unboundVal
		t.raise(v, p)
		return val{}
	}
}

// reraise compiles a raise of what the handler around it has caught.
func (f *fcomp) reraise(*star.CallExpr) expr {
	return func(t *thread) val {
		t.again(t.caught[len(t.caught)-1], t.pc)
		return val{}
	}
}

// failed compiles the error of an assert.
func (f *fcomp) failed(e *star.CallExpr) expr {
	p := at(e.Lparen)
	if len(e.Args) == 0 {
		return func(t *thread) val {
			t.raise(t.newError("AssertionError", "AssertionError", nil, t.pc), p)
			return val{}
		}
	}
	x := f.expr(e.Args[0])
	return func(t *thread) val {
		v := x(t)
		t.raise(t.newError("AssertionError", "AssertionError", []val{v}, t.pc), p)
		return val{}
	}
}

// tryStack is what running a try takes of Go's stack, to its body.
const tryStack = 1536

// handler is a compiled except clause.
type handler struct {
	class expr   // nil: it catches everything
	set   assign // binds the name; nil if there is none
	unset func(t *thread)
	body  stmt
	p     pos
}

// tryStmt compiles a try statement.
func (f *fcomp) tryStmt(s *star.IfStmt, p *place) stmt {
	var excepts []*star.IfStmt
	var els, finally *star.IfStmt
	clauses := s.False // all but finally, which is the last
	for _, c := range s.False {
		switch c := c.(*star.IfStmt); specialName(c.Cond) {
		case syntax.Except:
			excepts = append(excepts, c)
		case syntax.TryElse:
			els = c
		default:
			finally, clauses = c, clauses[:len(clauses)-1]
		}
	}
	inside := &place{up: p, try: true}
	if finally != nil {
		inside.after = finally.True // what leaves the try comes by it
	}
	run := f.tryExcept(s, inside, clauses, excepts, els, finally != nil)
	if finally == nil {
		return run
	}
	own := f.need
	last := f.block(finally.True, &place{up: p, begun: stmtNodes(s.True, clauses)}, nil)
	f.need = own
	return f.tryFinally(run, last, start(s))
}

// tryExcept compiles a try without its finally, of which excepts and els are the clauses; wrapped says that it has one.
func (f *fcomp) tryExcept(s *star.IfStmt, p *place, clauses []star.Stmt, excepts []*star.IfStmt, els *star.IfStmt, wrapped bool) stmt {
	own := f.need
	defer func() { f.need = max(own, f.need) }()
	if len(excepts) == 0 {
		body := f.block(s.True, p, nil)
		f.need = own
		return body
	}
	var elseStmts []star.Stmt
	if els != nil {
		elseStmts = els.True
	}
	watch := f.watch
	f.watch = true
	// What leaves the body skips else. It skips the handlers too: what it skips of the body might have failed.
	body := f.block(s.True, &place{after: clauses, up: p}, nil)
	f.watch = watch
	f.need = own
	var other stmt
	if els != nil {
		other = f.block(elseStmts, p, nil)
		f.need = own
	}
	after := stmtNodes(elseStmts)
	var handlers []handler
	all := false
	for _, c := range excepts {
		after = append(after, c)
		h := handler{p: start(c)}
		if args := c.Cond.(*star.CallExpr).Args; len(args) > 0 {
			h.class = f.expr(args[0])
			name := universal(args[0])
			all = all || name == "Exception" || name == "BaseException"
		} else {
			all = true
		}
		list := c.True
		if a, ok := first(list).(*star.AssignStmt); ok && specialName(a.RHS) == syntax.Caught {
			list = list[1:]
			h.set = f.assign(a.LHS)
			h.unset = f.unbind(a.LHS.(*star.Ident))
		}
		need := f.need
		h.body = f.block(list, p, nil)
		f.need = max(need, own)
		handlers = append(handlers, h)
	}
	plan := &tryPlan{
		whole: f.region(p, append(stmtNodes(s.True), after...)...), rest: f.region(p, after...),
		body: s.True, all: all, wrapped: wrapped,
	}
	where := start(s)
	return func(t *thread) sig {
		plan.once.Do(plan.resolve)
		m := t.markPoint()
		saved := t.pc
		t.trials = append(t.trials, trial{r: plan.whole, held: plan.held, saved: saved, lab: label.BottomID, frames: len(t.frames), loops: len(t.loops), shared: len(t.shared), fn: t.fn, locals: t.locals, loopBase: t.loopBase})
		out, err, fnpc := t.guarded(body)
		lab := t.trials[m.trials].lab
		t.trials = t.trials[:m.trials]
		t.fnpc = t.join(t.fnpc, fnpc)
		switch {
		case err != nil:
			t.rewind(m, err, fnpc)
			t.pc = t.join(t.pc, lab)
			out = t.handle(err, plan, handlers, where)
		case out == sigNext && other != nil:
			t.pc = t.join(t.level(saved), lab)
			out = other(t)
		}
		t.pc = t.level(saved)
		return out
	}
}

// tryPlan is what is known of a try statement before it is run.
type tryPlan struct {
	whole, rest *region // with and without its body
	body        []star.Stmt
	all         bool // there is a handler for every error
	wrapped     bool // a finally follows

	once sync.Once
	held bool // an error in the body ends in a handler, and nothing that it decides about may fail
}

func (p *tryPlan) resolve() {
	p.rest.resolve()
	var x exits
	for _, s := range p.body {
		x = x.or(p.rest.of.mark(s).exits)
	}
	p.held = p.all && !p.rest.risks && x == exits{}
}

// handle runs the handler of an error that ended the body of a try.
func (t *thread) handle(err *Error, plan *tryPlan, handlers []handler, p pos) sig {
	t.hold(err.raised)
	for i := range handlers {
		h := &handlers[i]
		if h.class != nil {
			t.meetError(err, t.pc, h.p) // what follows is done because there was one
			if !t.catches(h, err) {
				continue
			}
		}
		t.release()
		t.meetError(err, t.pc, p)
		v := t.asValue(err)
		if h.set != nil {
			h.set(t, v)
		}
		t.hold(v)
		t.caught = append(t.caught, err)
		out := h.body(t)
		t.caught = t.caught[:len(t.caught)-1]
		t.release()
		if h.unset != nil {
			h.unset(t)
		}
		return out
	}
	err.passed, err.within = plan.wrapped, t.pc
	t.again(err, t.pc) // that no clause took it is known to whoever sees that it goes on
	return sigNext
}

// catches reports whether an error is of a class that a handler names.
func (t *thread) catches(h *handler, err *Error) bool {
	t.at = h.p
	v := h.class(t)
	list := []val{v}
	if v.k == kTuple {
		list = v.tuple().items
	}
	found, class := false, err.className()
	l := v.lab
	for _, c := range list {
		t.burn(1)
		l = t.join(l, c.lab)
		of := classNamed(c)
		if of == "" {
			panic(t.fail(h.p, l, "type", "catching classes that do not inherit from BaseException is not allowed: got %s", c.typeName()).
				hint("write except ValueError: or except (KeyError, TypeError) as e:"))
		}
		found = found || isKind(class, of)
	}
	if l = t.under(t.pc, l); l != t.pc {
		t.raiseFloor(l, h.p, "what an except clause catches is decided by data")
	}
	return found
}

// meetError is called before code runs that an error has led to, where pc is the label of that it might. An error that pc does not cover, since
// nothing told of the check that failed, makes the floor rise: to those who may not know of the error, the program ends here [try.3].
func (t *thread) meetError(err *Error, pc label.ID, p pos) {
	if fact := t.tab.Control(err.fact()); !t.tab.Flows(fact, pc) {
		t.raiseFloor(err.fact(), p, "an error is caught here that could not be foreseen")
	}
}

// tryFinally compiles a try with a finally.
func (f *fcomp) tryFinally(run, last stmt, p pos) stmt {
	return func(t *thread) sig {
		m := t.markPoint()
		saved := t.pc
		out, err, fnpc := t.guarded(run)
		t.fnpc = t.join(t.fnpc, fnpc)
		if err == nil {
			v := t.ret
			t.hold(v)
			t.pc = t.level(saved)
			r := last(t)
			t.release()
			t.pc = t.level(saved)
			if r != sigNext {
				return r
			}
			t.ret = v
			return out
		}
		t.rewind(m, err, fnpc)
		pc := t.pc
		if err.passed {
			pc, err.passed = t.join(pc, err.within), false
		}
		t.meetError(err, pc, p)
		t.hold(err.raised)
		r := last(t)
		t.release()
		t.pc = t.level(saved)
		if r != sigNext {
			return r
		}
		t.again(err, t.pc) // whether it goes on is decided by what finally has done
		return sigNext
	}
}

// guarded runs a statement, and returns the error that ended it and the label of what may have returned from the function. What
// cannot be caught passes.
func (t *thread) guarded(run stmt) (out sig, err *Error, fnpc label.ID) {
	n := len(t.guards)
	t.guards = append(t.guards, guard{len(t.frames), label.BottomID})
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Error:
			if r.final {
				panic(r)
			}
			err = r
		default:
			panic(r)
		}
		fnpc = t.guards[n].fnpc
		t.guards = t.guards[:n]
	}()
	return run(t), nil, label.BottomID
}

// rewind returns the thread to where a statement began that an error has ended. What the statement's
// expressions had in temporaries is dropped.
func (t *thread) rewind(m markPoint, err *Error, fnpc label.ID) {
	t.place(err)
	t.unwind(m)
	t.fnpc = t.join(t.fnpc, fnpc)
	t.pc = t.level(t.pc)
	temporaries := t.locals[t.fn.code.locals:]
	t.burn(30 + int64(len(temporaries))/8)
	for i := range temporaries {
		temporaries[i] = unboundVal
	}
}

// unbind compiles the end of a name.
func (f *fcomp) unbind(id *star.Ident) func(t *thread) {
	b := id.Binding.(*resolve.Binding)
	return func(t *thread) {
		*t.variable(ref{scope: b.Scope, index: b.Index}) = unboundVal.with(t.pc)
	}
}

func first(list []star.Stmt) star.Stmt {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}
