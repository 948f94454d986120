package eval

import (
	star "go.starlark.net/syntax"

	"go.starlark.net/resolve"

	"callgate/engine/label"
)

// While the body of a try runs, that an error did not occur is known from what is done next: so each check that can fail on
// data labelled l raises the label of the try by l, before it is known how it ends [try.1]. The label is part of the pc
// until the body has ended, and of the pc of the handlers and of else; the names that the statement may bind
// join it, in this run and in the one that failed.
//
// The checks are told by code of its own: the body of a try is compiled with what tells of them, and
// a function is, once more, when a body calls it first. Code that no try is around does not know of any of this.
// A check that is not told of is nothing worse than a surprise: an error that the label of its try
// does not cover raises the floor where it is caught [try.3].

// trial is a try whose body is running.
type trial struct {
	r      *region // of all that depends on whether the body fails: the statement, without finally; nil: a strand's
	held   bool    // errors of the body end in it, and nothing that it may do then fails
	saved  label.ID
	lab    label.ID
	frames int // how many calls are around
	loops  int // how many loops are around
	shared int // how many of thread.shared are

	fn       *function // in which it is
	locals   []val
	loopBase int
}

// frame is a function that is running, with its variables.
type frame struct {
	fn     *function
	locals []val
}

// guard is a statement that an error may end without ending the program. What may have returned from the function while it ran
// is kept here, since an error takes the function's own account of it away.
type guard struct {
	frames int // how many calls are around
	fnpc   label.ID
}

// keepReturn says that a function, with so many calls around, may have returned under full.
func (t *thread) keepReturn(frames int, full label.ID) {
	for i := len(t.guards) - 1; i >= 0 && t.guards[i].frames >= frames; i-- {
		if t.guards[i].frames == frames {
			t.guards[i].fnpc = t.join(t.guards[i].fnpc, full)
		}
	}
}

// judged says how an operand is looked at by the check that its operation makes.
type judged uint8

const (
	judgedKind    judged = 1 + iota // the reference: of what type it is
	judgedFields                    // and of a dict, whose entries may be fields, the structure
	judgedShallow                   // and the structure of any container
	judgedDeep                      // everything in it
)

// judge says that an operation checks operands, in code that is watched.
func (f *fcomp) judge(how judged, operands ...star.Expr) {
	if !f.watch {
		return
	}
	if f.judges == nil {
		f.judges = map[star.Expr]judged{}
	}
	for _, e := range operands {
		if e != nil {
			f.judges[e] = max(how, f.judges[e])
		}
	}
}

// judgeClauses says what a comprehension checks: what it iterates over, and keys.
func (f *fcomp) judgeClauses(e *star.Comprehension) {
	for _, c := range e.Clauses {
		if c, ok := c.(*star.ForClause); ok {
			f.judge(judgedKind, c.X)
		}
	}
	switch body := e.Body.(type) {
	case *star.DictEntry:
		f.judge(judgedDeep, body.Key)
	default:
		if e.Curly {
			f.judge(judgedDeep, e.Body)
		}
	}
}

// told is an operand whose value is told of before it is used.
func (f *fcomp) told(e star.Expr, x expr) expr {
	if len(f.judges) == 0 || f.judges[e] == 0 {
		return x
	}
	if _, ok := e.(*star.Literal); ok {
		return x
	}
	how := f.judges[e]
	return func(t *thread) val { return t.tell(x(t), how) }
}

// tell says that a check reads a value.
func (t *thread) tell(v val, how judged) val {
	l := v.lab
	switch {
	case how == judgedDeep && v.k >= kTuple:
		l = t.deepLabel(v)
	case how >= judgedShallow || how == judgedFields && v.k == kDict:
		l = t.join(l, t.structure(v))
	}
	t.check(l)
	v.lab = t.join(v.lab, t.pc)
	return v
}

// toldFirst is an operation whose first operand is told of before it.
func (f *fcomp) toldFirst(op func(t *thread, a, b val) val) func(t *thread, a, b val) val {
	if !f.watch {
		return op
	}
	return func(t *thread, a, b val) val { return op(t, t.tell(a, judgedKind), b) }
}

// check says that something labelled l decides whether there is an error.
func (t *thread) check(l label.ID) {
	if len(t.trials) == 0 {
		return
	}
	if full := t.under(t.pc, l); full != t.pc {
		t.raiseTrials(full, l)
	}
}

// raiseTrials raises the labels of the tries around by full, from inside to outside, up to one that keeps it to itself. A raise is a
// write: it is made only where the pc flows to the try already, so that runs which differ in what led here raise alike.
func (t *thread) raiseTrials(full, cond label.ID) {
	now := t.pc
	raised := false
	for k := len(t.trials) - 1; k >= 0; k-- {
		have := t.trialPC(k)
		if !t.tab.Flows(now, have) || t.tab.Flows(full, have) {
			break
		}
		tr := &t.trials[k]
		tr.lab = t.join(tr.lab, full)
		t.shareTrial(k, now, full, cond)
		t.raises++
		raised = true
		if t.trials[k].held {
			break
		}
	}
	if raised {
		t.pc = full
		t.skipped = t.join(t.skipped, cond)
	}
}

// trialPC is the pc of a try's handlers as it is now: that which it began under, with what was raised since.
func (t *thread) trialPC(k int) label.ID {
	tr := &t.trials[k]
	l := t.join(tr.saved, t.tab.Control(t.s.floor))
	for i := range t.trials[:k+1] {
		l = t.join(l, t.trials[i].lab)
	}
	if tr.frames == len(t.frames) {
		l = t.join(l, t.fnpc)
	}
	for _, p := range t.loops[tr.loopBase:tr.loops] {
		l = t.join(t.join(l, p.brk), p.cnt)
	}
	return l
}

// shareTrial joins full to what the try, and the calls between it and here, may yet bind; from there, as the
// announcement of a region does.
func (t *thread) shareTrial(k int, now, full, cond label.ID) {
	tr := t.trials[k]
	t.shareFrames(t.shared[tr.shared:], full)
	fn, locals, fnpc, loopBase := t.fn, t.locals, t.fnpc, t.loopBase
	frames, loops, conds := t.frames, t.loops, len(t.conds)
	t.resume(tr.fn, tr.locals)
	t.loopBase, t.frames, t.loops = tr.loopBase, frames[:tr.frames], loops[:tr.loops]
	if tr.r != nil {
		t.announceEffects(tr.r, now, full, cond)
	} else {
		t.expect(now, full)
	}
	if tr.frames == len(frames) {
		fnpc = t.fnpc
	}
	t.resume(fn, locals)
	t.fnpc, t.loopBase, t.frames, t.loops, t.conds = fnpc, loopBase, frames, loops, t.conds[:conds]
}

// shareFrames joins full to what functions that run may yet bind and others see.
func (t *thread) shareFrames(frames []frame, full label.ID) {
	for _, f := range frames {
		names := f.fn.code.effects().names
		t.burn(int64(len(names)))
		for _, n := range names {
			if n.scope == resolve.Cell && f.locals[n.index].k == kCell {
				c := f.locals[n.index].cell()
				c.v.lab = t.join(c.v.lab, full)
			}
		}
	}
}

// checkCall says what decides whether a call of a builtin fails: everything in its arguments, unless it is known to look no deeper than
// their references and structures, or not to fail by them at all. A call of a tool is told of when it has ended: it is no less
// trusted than if there were no try.
func (t *thread) checkCall(c *call, via label.ID) {
	l := t.join(via, c.star)
	switch {
	case c.def.tool != nil || c.recv.k == kUnbound && (takesAll[c.def.name] || errorClasses[c.def.name] != ""):
	case c.recv.k == kList && c.def.name == "append":
		l = t.join(l, c.recv.lab)
	case glances[c.def.name]:
		l = t.join(l, t.shallow(c))
	default:
		l = t.join(l, t.allOf(c))
	}
	t.check(l)
}

// takesAll are the functions that no argument makes fail, save for a limit. An endorsement is granted or not by a policy,
// which has decided that as much may be known; if it is not, that is a surprise.
var takesAll = map[string]bool{
	"bool": true, "type": true, "str": true, "repr": true, "callable": true, "print": true,
	"attempt": true, "endorse": true, "declassify": true, "done": true,
}

// glances are the builtins and methods whose errors are of references, structures and scalars.
var glances = map[string]bool{
	"len": true, "isinstance": true, "hasattr": true, "struct": true,
	"list": true, "tuple": true, "reversed": true, "enumerate": true, "zip": true, "range": true, "copy": true,
	"append": true, "insert": true, "pop": true, "popitem": true, "clear": true, "extend": true, "reverse": true,
	"items": true, "keys": true, "values": true, "parallel": true,
}

// watchedBody runs the body of the function that is entered, while there are trials.
func watchedBody(t *thread) sig {
	code, n := t.fn.code, len(t.shared)
	if len(code.cells) > 0 {
		t.shared = append(t.shared, frame{t.fn, t.locals})
	}
	out := code.watched()(t)
	clear(t.shared[n:])
	t.shared = t.shared[:n]
	return out
}

// watched is the function's body, compiled to tell of its checks.
func (c *funcode) watched() stmt {
	c.twice.Do(func() {
		f := &fcomp{compiler: c.prog.compiler, code: c, base: c.locals, watch: true, again: true}
		c.telling = f.block(c.stmts, nil, nil)
	})
	return c.telling
}

// risky reports whether running a node, its parts aside, may end in an error.
func risky(n star.Node) bool {
	switch n := n.(type) {
	case *star.BinaryExpr:
		return n.Op != star.AND && n.Op != star.OR && n.Op != star.EQL && n.Op != star.NEQ && n.Op != star.EQ
	case *star.UnaryExpr:
		return n.Op != star.NOT
	case *star.CallExpr:
		id, ok := n.Fn.(*star.Ident)
		return !ok || !harmless[id.Name]
	case *star.IndexExpr, *star.SliceExpr, *star.DotExpr, *star.ForStmt, *star.ForClause, *star.Comprehension:
		return true
	case *star.DictExpr:
		return len(n.List) > 0
	case *star.AssignStmt:
		if n.Op != star.EQ {
			return true
		}
		_, name := unparen(n.LHS).(*star.Ident)
		return !name
	}
	return false
}
