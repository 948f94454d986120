package eval

import (
	"fmt"
	"iter"
	"slices"

	"callgate/engine/label"
)

// parallel runs functions of a program as strands, in waves: each strand runs, in their order, to its next call of the host;
// the calls of all are then made together, and when all have been answered the next wave begins. So what happens, and in which
// order, does not depend on how long a call takes.
//
// A strand is a coroutine: it has a stack of Go of its own, and an [execution]. One runs at a time. The thread is that of them all:
// budgets, the labels of session and record, the numbers of calls are shared.
//
// Where a strand is, while the others are where they are, depends on how many calls it has made. So from a branch on that may make some, and of which not
// everybody may know, it goes on alone: to its end, its calls made one after the other, while the others stay where they are.
//
// What has been told of a strand that waits, stays: a region that it is in has announced what it may bind and change, and other
// strands run before it goes on. Containers keep the labels that they have; variables of functions keep theirs
// while there are strands (see [thread.storeCell]). And what one strand does may keep calls of those before it from being made, since an error
// ends them all: so a call is under what was raised until it is made (see [fork.send]).
type fork struct {
	all    []*strand
	caller execution // while a strand runs
	base   int64     // what the caller's builtins have charged
	tried  bool      // there is a try around: each strand is one, which tells of its checks
	told   label.ID  // of these
}

// strand is one of the functions that a call of parallel runs.
type strand struct {
	of    *fork
	path  string    // in the ids of its calls: ".2", or ".2.1" if the second strand has begun others
	fn    val       // what it runs
	out   val       // what that has returned
	state execution // while it does not run
	own   int64     // what its builtins have charged, while it does not run
	segment

	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool

	waits []*request // what it waits for
	alone bool       // the others stay where they are until it ends
	over  bool       // it has ended
	err   *Error     // that ended it
}

// request is a call that a strand wants to be made.
type request struct {
	call   Call
	path   string // of its strand
	pc     label.ID
	made   bool
	result Result
}

const (
	// maxStrands is how many strands there may be at once. A worker takes no more calls at once than that.
	maxStrands = 1000

	// strandStack is what a strand may use of Go's stack before it is charged for more; strandBytes what it takes besides.
	strandStack = 8 << 10
	strandBytes = 1600
	strandArena = 64
)

// runParallel calls functions without arguments as strands, and returns the list of what they returned, in their order.
func runParallel(t *thread, c *call) val {
	v := t.iterableArg(c, 0)
	l := t.shallow(c)
	n := t.counted(v)
	if n > maxStrands {
		panic(t.errorf(l, "parallel", "parallel: got %d functions, want at most %d", n, maxStrands).
			hint("call it for one part of them after the other"))
	}
	fns := t.elements(v)
	all := l
	for _, f := range fns {
		all = t.join(all, f.lab)
	}
	for i, f := range fns {
		if f.k != kFunc && f.k != kBuiltin {
			panic(t.errorf(all, "parallel", "parallel: element %d: got %s, want a function", i, f.typeName()).
				hint("give functions, not what they return: parallel([lambda x = x: f(x) for x in xs])"))
		}
	}
	t.check(all)
	t.deeper(c, all)
	t.foresee(all)
	t.pc = t.under(t.pc, l) // the caller of a builtin restores it
	if n := t.strands + len(fns); n > maxStrands {
		panic(t.limit("strands", int64(n), maxStrands))
	}
	f := &fork{tried: len(t.trials) > 0, told: label.BottomID, base: t.mem.pending()}
	t.runs = f // from here on, what it holds is traced
	defer f.end(t)
	for _, fn := range fns {
		f.add(t, fn)
	}
	for f.wave(t) {
	}
	t.pc = t.level(t.pc)
	for i, st := range f.all {
		fns[i] = st.out
	}
	t.alloc(listSize)
	return listVal(&list{items: fns, st: t.pc}, t.pc)
}

// add adds a strand, which has not begun.
func (f *fork) add(t *thread, fn val) {
	t.burn(20)
	t.alloc(strandBytes + strandStack + strandArena*valSize)
	t.free(strandBytes + strandStack + strandArena*valSize) // it is traced
	path := ""
	if t.strand != nil {
		path = t.strand.path
	}
	st := &strand{of: f, path: fmt.Sprintf("%s.%d", path, len(f.all)+1), fn: fn, segment: segment{f.base, -1}, alone: !t.tab.Flows(fn.lab, t.pc)}
	st.state = execution{
		fn: t.fn, locals: t.locals, cells: t.cells, pc: t.pc, fnpc: label.BottomID, at: t.at,
		conds: t.conds[:len(t.conds):len(t.conds)], caught: t.caught[:len(t.caught):len(t.caught)],
		depth: t.depth, stackTop: strandStack, arena: arena{chunk: newChunk(strandArena)}, strand: st,
		far: t.under(t.pc, fn.lab),
	}
	if f.tried {
		st.state.trials = []trial{{saved: t.pc, lab: label.BottomID, fn: t.fn, locals: t.locals}}
	}
	st.next, st.stop = iter.Pull(st.run(t))
	t.strands++
	f.all = append(f.all, st)
}

// run is what a strand does.
func (st *strand) run(t *thread) iter.Seq[struct{}] {
	return func(yield func(struct{}) bool) {
		st.yield = yield
		defer func() {
			switch r := recover().(type) {
			case nil:
			case *Error:
				t.place(r)
				st.err = r
			default:
				st.err = &Error{
					Status: Crashed, Code: "internal", Text: "internal error", final: true, lab: label.TopID,
					Detail: fmt.Sprintf("%v\n%s", r, stack()),
				}
				t.place(st.err)
			}
			t.todo.drop()
			for len(t.iters) > 0 {
				t.unlock()
			}
			st.over = true
		}()
		t.pc = t.level(t.pc)
		st.out = t.call(st.fn)
	}
}

// wave runs all strands to their next calls, and makes these. It returns false when all have ended. The error that ends a strand ends
// them all: no other goes on, and no call is made any more.
func (f *fork) wave(t *thread) bool {
	var calls []*request
	for _, st := range f.all {
		if !st.over {
			f.resume(t, st)
			calls = append(calls, st.waits...)
		}
	}
	if len(calls) == 0 {
		return false
	}
	f.send(t, calls)
	for _, ends := range []func(Result) bool{Result.waits, Result.ends} { // an open question comes before what was broken off beside it
		for _, st := range f.all {
			if slices.ContainsFunc(st.waits, func(r *request) bool { return ends(r.result) }) { // it ends the program, whatever the others made of their answers
				f.resume(t, st)
			}
		}
	}
	return true
}

// resume runs a strand to its next calls, or to its end.
func (f *fork) resume(t *thread, st *strand) {
	f.turn(t, st, func() { st.next() })
	if st.err != nil {
		panic(st.err)
	}
}

// turn lets a strand run. Before and after, the thread is its caller's.
func (f *fork) turn(t *thread, st *strand, run func()) {
	caller := t.mem.now()
	f.caller, t.execution, st.state = t.execution, st.state, execution{}
	t.mem.aside -= st.own
	t.mem.resume(st.segment)
	run()
	told := f.told
	if f.tried {
		told = t.join(told, t.trials[0].lab)
	}
	st.own, st.segment = t.mem.pending()-f.base, t.mem.now()
	if st.over {
		st.own, t.execution = 0, execution{}
		t.strands--
	}
	t.mem.aside += st.own
	st.state, t.execution, f.caller = t.execution, f.caller, execution{}
	t.mem.resume(caller)
	t.raises++
	if told != f.told {
		f.tell(t, told, st)
		t.pc = t.level(t.pc)
		t.expect(t.pc, told) // the strands make other calls if the check ends them
		t.check(told)
	}
}

// tell says to all strands but one, which has told of it, that its check might have ended them.
func (f *fork) tell(t *thread, told label.ID, but *strand) {
	f.told = t.join(f.told, told)
	for _, st := range f.all {
		if st == but || st.over {
			continue
		}
		e := &st.state
		t.shareFrames(e.shared, told)
		e.trials[0].lab, e.far = t.join(e.trials[0].lab, told), t.join(e.far, told)
		if e.runs != nil {
			e.runs.tell(t, told, nil)
		}
	}
}

// end stops the strands that have not ended, which there are if one of them has ended in an error.
func (f *fork) end(t *thread) {
	for _, st := range f.all {
		if !st.over {
			f.turn(t, st, st.stop)
		}
		if !st.over { // it had not begun
			t.strands--
			t.mem.aside -= st.own
		}
	}
	t.runs = nil
}

// send makes the calls of a wave, or, within a strand, lets them be made with those of the others.
func (f *fork) send(t *thread, calls []*request) {
	t.pc = t.level(t.pc)
	t.enterHistory(t.join(t.pc, f.told)) // where the caller is a strand, that it waits is known to the others around it
	now := t.join(t.pc, f.told)
	for _, r := range calls {
		if !t.tab.Flows(now, r.pc) {
			r.pc = t.join(r.pc, now)
			r.call.PC, r.call.History = r.call.PC.Join(t.tab.Label(now)), r.call.History.Join(t.tab.Label(now))
		}
	}
	if t.strand != nil {
		t.strand.send(t, calls)
		return
	}
	t.make(calls)
}

// send makes calls of a strand, or lets them be made with those of the others.
func (st *strand) send(t *thread, calls []*request) {
	if st.alone {
		t.make(calls)
	} else {
		t.await(calls)
	}
}

// make makes calls of strands together.
func (t *thread) make(calls []*request) {
	t.calls++
	batch := make([]Call, len(calls))
	for i, r := range calls {
		r.call.ID = fmt.Sprintf("%d.%d%s", t.turn, t.calls, r.path)
		r.call.History = r.call.History.Join(t.tab.Label(t.s.history)) // a strand may have made others meanwhile
		batch[i], r.made = r.call, true
	}
	for i, out := range t.do(batch) {
		calls[i].result = out
	}
}

// await has a strand wait until calls have been made.
func (t *thread) await(calls []*request) {
	st := t.strand
	st.waits = calls
	if !st.yield(struct{}{}) {
		for _, r := range calls {
			if !r.made {
				t.s.calls--
				r.made = true
			}
		}
		panic(&Error{Status: Cancelled, Code: "stopped", final: true, placed: true, lab: label.TopID})
	}
	st.waits = nil
	t.pc = t.level(t.pc)
	t.raises++
}

// callers are the calls of functions around what is running, those of the program around a strand too.
func (t *thread) callers() []activation {
	out := t.frames
	for st := t.strand; st != nil; st = st.of.caller.strand {
		out = append(slices.Clone(st.of.caller.frames), out...)
	}
	return out
}

// strands counts what the strands hold that do not run, and what waits for the strand that does.
func (tr *tracer) strands() {
	tr.forked(tr.t.runs, nil)
	for st := tr.t.strand; st != nil; st = st.of.caller.strand {
		tr.execution(&st.of.caller)
		tr.forked(st.of, st)
	}
}

func (tr *tracer) forked(f *fork, running *strand) {
	if f == nil {
		return
	}
	for _, st := range f.all {
		tr.bytes += strandBytes
		tr.val(st.fn)
		tr.val(st.out)
		if st != running {
			tr.execution(&st.state)
			tr.forked(st.state.runs, nil)
		}
	}
}
