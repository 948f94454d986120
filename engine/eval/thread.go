package eval

import (
	"context"
	"sync/atomic"
	"time"

	"callgate/engine/label"
)

// thread runs one program of a session. Expressions and statements are closures
// over it. It is used by one goroutine at a time.
//
// The pc label is kept complete: it always includes the author's label, the
// session's floor, the labels of the branches entered, and those of the exits that
// may have been skipped. Every expression yields a value whose label includes the pc.
type thread struct {
	execution
	fuel int64 // steps until the next look at clock, cancellation and step limit
	tab  *label.Table

	raises uint32 // counts rises of floor, fnpc, loops and trials: a saved pc is stale if it changed

	s       *Session
	ctx     context.Context
	turn    int
	calls   int // calls of the host made, for their ids: those that are made together count once
	asks    int // whether a builtin may be called, likewise
	strands int // how many there are

	maxDepth int
	todo     todo     // of a walk over data that is under way
	textual  bool     // what is exported without a plain form is text
	scratch  []byte   // for short texts
	matcher  *matcher // that is not in use
	tail     []byte   // the string that was concatenated last, see [thread.concat]

	// Where the pc came from, for explaining it, besides the conditions of the branches entered: who wrote the program,
	// and the conditions of the exits that may have been taken.
	author  label.ID
	skipped label.ID
	entered entry3
	litPC   label.ID // the pc for which litLab is the label of a literal
	litLab  label.ID

	// Budgets.
	slice    int64 // fuel handed out at the last look
	steps    int64 // used before the current slice
	maxSteps int64
	maxHeap  int64
	mem      memory
	tabSeen  int64 // bytes of the label table that have been charged
	stop     atomic.Int32
	looks    int64 // calls of poll so far: where in the program they are depends on nothing else
	past     Past
	caller   context.Context // whose end is a cancellation; that of ctx alone is the wall limit
	deadline time.Time
	started  time.Time
}

// execution is how far a program is, or a strand of it: all that is its own.
type execution struct {
	locals []val    // frame of the running function: parameters, locals, temporaries
	pc     label.ID // without sources: those of control flow are in author, conds and skipped
	cells  []*cell  // globals of the running function's module
	ret    val      // result of the return statement that is being executed

	fn       *function
	fnpc     label.ID // labels of returns that branches of this function may have taken
	loops    []loopPC // of all active loops; those of the running function begin at loopBase
	loopBase int
	trials   []trial    // the tries whose bodies are running
	caught   []*Error   // those whose handlers are running
	shared   []frame    // of the calls that began while there were trials, those with variables that closures share
	guards   []guard    // the statements that an error may end without ending the program
	conds    []label.ID // the conditions of the branches entered

	depth    int
	frames   []activation // of all active functions, for backtraces and restores
	arena    arena
	iters    []val   // containers that loops are iterating over
	held     []val   // what builtins have taken from the program's functions: roots
	parts    []val   // what builtins are making, until they gather it: counted as their own
	pool     []*call // records of builtin calls; the first natives of them are in use
	natives  int
	at       pos   // of the statement, or of the call of a builtin, that is running: where a limit is passed
	spread   int64 // bytes of arguments that *args and **kwargs were spread into
	stack    int64 // bytes of Go's stack that the active functions may take
	stackTop int64 // the most that it has been, which Go keeps

	strand *strand  // nil: the program itself
	far    label.ID // of what a strand was told of the others' checks, and of what it runs
	runs   *fork    // the strands that it has begun and waits for
}

// loopPC is what a loop adds to the pc of its body.
type loopPC struct {
	brk label.ID // of the sequence or condition, and of breaks and returns that may have been taken: until the loop ends
	cnt label.ID // of continues: until the iteration ends
}

// activation is a function that has called another, and where. What the call changes of the thread besides is in
// variables of Go meanwhile: the frames themselves are in the arena.
type activation struct {
	fn  *function
	pos pos
}

// Reasons to stop, in thread.stop.
const (
	stopNot int32 = iota
	stopCancelled
	stopWall
)

const fuelSlice = 2048

// join returns the join of two labels.
func (t *thread) join(a, b label.ID) label.ID {
	if a == b || b == label.BottomID {
		return a
	}
	return t.joined(a, b)
}

// joined is join of labels that differ. Making a label takes time in proportion to what is in it.
func (t *thread) joined(a, b label.ID) label.ID {
	if a == label.BottomID {
		return b
	}
	if j, ok := t.tab.Joined(a, b); ok {
		return j
	}
	before := t.tab.Bytes()
	l := t.tab.Join(a, b)
	if n := t.tab.Bytes() - before; n != 0 {
		t.fuel -= n / 32
	}
	return l
}

// burn takes n steps. It must come before the work that it pays for.
func (t *thread) burn(n int64) {
	t.fuel -= n
	if t.fuel < 0 {
		t.refuel()
	}
}

// charge takes steps for n units of cheap work inside a builtin.
func (t *thread) charge(n int64) {
	if n > 0 {
		t.burn(min(n, maxCharge))
	}
}

// maxCharge is more than any budget: a sum of two is no overflow.
const maxCharge = 1 << 61

// used returns the steps taken so far.
func (t *thread) used() int64 { return t.steps + t.slice - t.fuel }

// refuel looks at the limits and hands out the next slice of fuel.
func (t *thread) refuel() {
	used := t.used()
	if used > t.maxSteps {
		panic(t.limit("steps", used, t.maxSteps))
	}
	t.poll()
	if now := time.Now(); now.After(t.deadline) {
		panic(t.late())
	}
	t.steps = used
	t.slice = min(fuelSlice, t.maxSteps-used+1)
	t.fuel = t.slice
	if b := t.tab.Bytes(); b > t.tabSeen { // labels grow without an allocation of the program
		n := b - t.tabSeen
		t.tabSeen = b
		t.alloc(n)
	}
}

// poll ends the program if it was cancelled or has taken too long. What works long between two
// refuels calls it after each piece of less than a millisecond.
func (t *thread) poll() {
	if f := t.s.polled; f != nil {
		f()
	}
	if t.looks++; t.looks == t.past.Looks {
		if t.past.Wall {
			panic(t.late())
		}
		panic(t.stopped())
	}
	switch t.stop.Load() {
	case stopCancelled:
		panic(t.stopped())
	case stopWall:
		panic(t.late())
	}
}

// late makes the error of the wall limit, which is the same each time.
func (t *thread) late() *Error {
	ms := t.s.limits.Wall.Milliseconds()
	return t.limit("wall", ms, ms)
}

// level returns a pc that was saved, with what has been raised since.
func (t *thread) level(saved label.ID) label.ID {
	l := t.join(t.join(saved, t.tab.Control(t.s.floor)), t.fnpc)
	for _, p := range t.loops[t.loopBase:] {
		l = t.join(t.join(l, p.brk), p.cnt)
	}
	for i := range t.trials {
		l = t.join(l, t.trials[i].lab)
	}
	if t.strand != nil {
		l = t.join(l, t.far)
	}
	return l
}

// raiseFloor raises the session's floor, and with it the pc of everything that follows.
func (t *thread) raiseFloor(l label.ID, p pos, why string) {
	floor := t.join(t.s.floor, l)
	if floor == t.s.floor {
		return
	}
	if floor.Class() != t.s.floor.Class() {
		t.s.noteRise(t, floor, p, why)
	}
	t.s.floor = floor
	t.pc = t.join(t.pc, t.tab.Control(floor))
	t.raises++
}

// under returns the pc of a region that is entered from the pc saved under a condition labelled l.
func (t *thread) under(saved, l label.ID) label.ID {
	if l == saved {
		return saved
	}
	if u := &t.entered; u.saved == saved && u.l == l {
		return u.full
	}
	full := t.join(saved, t.tab.Control(l))
	t.entered = entry3{saved, l, full}
	return full
}

// entry3 is the region that was entered last: branches in a loop enter the same one again and again.
type entry3 struct{ saved, l, full label.ID }

// literal is the label of a constant: whoever steers the author steers every constant [pc.1].
func (t *thread) literal() label.ID {
	if t.pc == t.litPC {
		return t.litLab
	}
	return t.relabel()
}

func (t *thread) relabel() label.ID {
	t.litPC, t.litLab = t.pc, t.join(t.pc, t.author)
	return t.litLab
}

// structure returns the structure label of a container as a reader joins it, Bottom of
// anything that is no mutable container.
func (t *thread) structure(v val) label.ID {
	switch v.k {
	case kList, kDeque:
		return t.tab.Control(v.list().st)
	case kDict, kSet:
		return t.tab.Control(v.dict().st)
	}
	return label.BottomID
}

// explained returns the pc with the sources that it came from.
func (t *thread) explained() label.Label {
	l := t.tab.Label(t.pc)
	for _, id := range append([]label.ID{t.author, t.s.floor, t.skipped}, t.conds...) {
		l = l.Join(t.tab.Label(id).OnlySources())
	}
	return l
}

// write applies the write rule [flow.4] to a container with structure label *st
// that was reached under the label ref, and returns the label that what is written must carry.
func (t *thread) write(st *label.ID, ref label.ID, p pos) label.ID {
	w := t.under(t.pc, ref)
	if w == *st || w == label.BottomID {
		return w
	}
	joined := t.join(*st, w)
	if joined.Class() != st.Class() {
		t.raiseFloor(joined, p, "a container that was made under less is changed here: change a copy instead, as in dict(x) or list(x)")
		w = t.under(w, t.s.floor)
	}
	*st = joined
	return w
}

// change is write to the receiver of the builtin that is running, or to what it is making: its pc has their labels.
func (t *thread) change(st *label.ID) label.ID { return t.write(st, label.BottomID, t.at) }

// arena holds the frames of active functions, in chunks that never move.
type arena struct {
	chunk []val
	used  int
	full  []frameChunk
	spare []val
}

type frameChunk struct {
	vals []val
	used int
}

const chunkSize = 1024

// push returns a frame of n unbound slots on top of the arena.
func (t *thread) push(n int) []val {
	a := &t.arena
	if a.used+n > len(a.chunk) {
		if a.spare == nil || len(a.spare) < n {
			t.alloc(int64(max(chunkSize, n)) * valSize)
		}
		a.full = append(a.full, frameChunk{a.chunk, a.used})
		if a.spare != nil && len(a.spare) >= n {
			a.chunk, a.spare = a.spare, nil
		} else {
			a.chunk = newChunk(max(chunkSize, n))
		}
		a.used = 0
	}
	f := a.chunk[a.used : a.used+n : a.used+n]
	a.used += n
	return f
}

func newChunk(n int) []val {
	c := make([]val, n)
	for i := range c {
		c[i] = unboundVal
	}
	return c
}

// pop drops the topmost frame, of n slots.
func (t *thread) pop(n int) {
	a := &t.arena
	top := a.chunk[a.used-n : a.used]
	for i := range top { // so that push need not, and nothing is kept alive
		top[i] = unboundVal
	}
	a.used -= n
	if a.used == 0 && len(a.full) > 0 {
		last := len(a.full) - 1
		if a.spare == nil || len(a.spare) < len(a.chunk) {
			a.spare = a.chunk
		}
		a.chunk, a.used = a.full[last].vals, a.full[last].used
		a.full = a.full[:last]
	}
}

// mark remembers how deep the thread is, so that an error can be caught there.
type markPoint struct {
	fn               *function
	locals           []val
	pc, fnpc         label.ID
	loopBase         int
	frames, loops    int
	iters, held      int
	parts            int
	depth, natives   int
	conds            int
	trials, caught   int
	shared, guards   int
	chunks, arenaTop int
	at               pos
	ret              val
	segment          segment
	stack, spread    int64
}

func (t *thread) markPoint() markPoint {
	return markPoint{
		fn: t.fn, locals: t.locals, pc: t.pc, fnpc: t.fnpc, loopBase: t.loopBase,
		frames: len(t.frames), loops: len(t.loops), iters: len(t.iters), held: len(t.held), parts: len(t.parts), depth: t.depth, natives: t.natives, at: t.at, conds: len(t.conds), trials: len(t.trials), caught: len(t.caught), shared: len(t.shared), guards: len(t.guards),
		chunks: len(t.arena.full), arenaTop: t.arena.used, ret: t.ret, segment: t.mem.now(), stack: t.stack, spread: t.spread,
	}
}

// unwind returns the thread to a mark after an error.
func (t *thread) unwind(m markPoint) {
	t.todo.drop()
	for len(t.arena.full) > m.chunks {
		t.pop(t.arena.used)
	}
	if t.arena.used > m.arenaTop {
		t.pop(t.arena.used - m.arenaTop)
	}
	for len(t.iters) > m.iters {
		t.unlock()
	}
	for len(t.held) > m.held {
		t.release()
	}
	t.discard(m.parts)
	clear(t.frames[m.frames:])
	t.frames = t.frames[:m.frames]
	clear(t.caught[m.caught:])
	clear(t.shared[m.shared:])
	t.trials, t.caught, t.shared, t.guards = t.trials[:m.trials], t.caught[:m.caught], t.shared[:m.shared], t.guards[:m.guards]
	t.conds = t.conds[:m.conds]
	t.loops = t.loops[:m.loops]
	t.depth, t.natives, t.at, t.ret = m.depth, m.natives, m.at, m.ret
	t.mem.resume(m.segment)
	t.stack, t.spread = m.stack, m.spread
	t.resume(m.fn, m.locals)
	t.fnpc, t.loopBase = m.fnpc, m.loopBase
	t.pc = t.level(m.pc)
}

// lock keeps a container from being changed while it is iterated over.
func (t *thread) lock(v val) {
	switch v.k {
	case kList, kDeque:
		v.list().iters++
	case kDict, kSet:
		v.dict().iters++
	}
	t.iters = append(t.iters, v)
}

func (t *thread) unlock() {
	last := len(t.iters) - 1
	switch v := t.iters[last]; v.k {
	case kList, kDeque:
		v.list().iters--
	case kDict, kSet:
		v.dict().iters--
	}
	t.iters[last] = val{}
	t.iters = t.iters[:last]
}

// hold makes v a root until release: a builtin holds what it has made while it calls back into the program.
func (t *thread) hold(v val) { t.held = append(t.held, v) }

func (t *thread) release() {
	last := len(t.held) - 1
	t.held[last] = val{}
	t.held = t.held[:last]
}
