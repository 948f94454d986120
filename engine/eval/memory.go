package eval

import (
	"math"
	"runtime"
	"runtime/metrics"
	"strings"
)

// The memory budget counts live bytes. Every allocation is charged before it is made.
// When what was charged passes a mark, collect traces from the roots what is alive and forgets the rest, so
// that garbage does not end a program [limit.6].
//
// Two things keep the count from falling short of what Go's heap holds:
//
//   - The roots are the session's names and inputs, the arena of frames, the saved activations and a few lists of the
//     thread: no value of a program lives only in a variable of Go while another allocation is made.
//     A builtin, or an operator, is an exception: whatever it has charged itself counts as alive until it
//     returns. It need hold only what the program made meanwhile, in a function that it calls (see [thread.hold]).
//   - Sizes are those of Go's size classes, and what a value keeps alive beside its own bytes is counted or avoided:
//     no piece of a string shares memory with the whole, no list has more room than is counted.
//
// Go collects its garbage on its own terms: by default it lets garbage grow to the size of
// what is alive, of which there may be M bytes already. So a collection is asked for when the
// heap comes near one and a half times the budget, which keeps a process that runs one session
// within the 2·M + 8 MiB of [limit.4]. A process with a heap of more than four times the budget is taken
// to be a server of many sessions: there only its own settings, debug.SetMemoryLimit best of all, bound the garbage. This
// package never changes a setting of the process.
type memory struct {
	charged int64 // bytes, since the program began
	mark    int64 // trace when charged would pass it
	traced  int64 // charged at the last trace
	live    int64 // bytes alive at the last trace
	peak    int64
	segment
	aside int64 // charged by builtins of strands that do not run

	asked int64 // charged when Go was last asked to collect
}

// segment tells what a running builtin has charged from what the program has.
type segment struct {
	own   int64 // charged by builtins that have not returned, before the segment began
	since int64 // charged when the builtin that is running began or resumed; -1 while the program's own code runs
}

// begin begins the segment of a builtin, and returns what resume ends it with.
func (m *memory) begin() segment {
	s := m.pause()
	m.since = m.charged
	return s
}

// pause ends the segment of a builtin that calls a function of the program.
func (m *memory) pause() segment {
	s := m.now()
	m.own, m.since = s.own, -1
	return s
}

// now returns the segment that is under way, as resume takes it.
func (m *memory) now() segment { return segment{m.pending(), min(m.since, 0)} }

// resume goes on with a segment that was paused.
func (m *memory) resume(s segment) {
	m.own, m.since = s.own, s.since
	if s.since >= 0 {
		m.since = m.charged
	}
}

// pending returns what the running builtins have charged.
func (m *memory) pending() int64 {
	if m.since < 0 {
		return m.own
	}
	return m.own + m.charged - m.since
}

// heap returns the bytes that may be in use.
func (m *memory) heap() int64 { return m.live + m.charged - m.traced }

// alloc charges n bytes to the memory budget, before they are allocated.
func (t *thread) alloc(n int64) {
	if n > t.mem.mark-t.mem.charged || n < 0 {
		t.collect(n)
	}
	t.mem.charged += n
}

// allocN charges n elements of size bytes each.
func (t *thread) allocN(n, size int64) {
	if n > t.maxHeap/size {
		panic(t.tooMuch(n, size))
	}
	t.alloc(n * size)
}

// free takes back what a builtin has charged and does not keep.
func (t *thread) free(n int64) {
	if t.mem.since >= 0 {
		t.mem.own -= n
	}
}

// tooMuch is the error of n elements of size bytes, which exceed any budget.
func (t *thread) tooMuch(n, size int64) *Error {
	if n > math.MaxInt64/size {
		return t.limit("memory", math.MaxInt64, t.maxHeap)
	}
	return t.limit("memory", n*size, t.maxHeap)
}

// collect measures live memory; more bytes are about to be allocated.
func (t *thread) collect(more int64) {
	m := &t.mem
	if more < 0 || more > t.maxHeap {
		panic(t.limit("memory", more&math.MaxInt64, t.maxHeap))
	}
	if t.todo.busy() { // a walk has marked what it met, and allocates nothing but labels
		return
	}
	m.peak = max(m.peak, min(m.heap(), t.maxHeap))
	live := t.trace() + m.pending() + m.aside
	if live > t.maxHeap-more {
		m.peak = t.maxHeap
		panic(t.limit("memory", live+more, t.maxHeap))
	}
	m.live, m.traced = live, m.charged
	// Trace again when half of what is left has been used, so that the work stays in proportion. It takes no
	// steps: how many a program takes must not depend on what earlier ones left behind.
	room := max((t.maxHeap-live)/2, t.maxHeap/64, more)
	m.mark = m.charged + min(room, t.maxHeap-live)
	t.sweep(m.mark - m.charged)
}

// sweep asks Go for a collection if garbage may take too much memory before the next trace, in room more bytes.
func (t *thread) sweep(room int64) {
	m := &t.mem
	if m.heap()+room < t.maxHeap/2 || m.charged-m.asked < t.maxHeap/8 { // what Go does by itself is enough; it was asked lately
		return
	}
	heap := goHeap()
	if heap > 4*t.maxHeap || heap-t.s.others+room < t.maxHeap+t.maxHeap/2 {
		return
	}
	m.asked = m.charged
	done := make(chan struct{})
	go func() {
		runtime.GC()
		close(done)
	}()
	select {
	case <-done:
		t.s.others = max(0, goHeap()-m.live)
	case <-t.ctx.Done(): // the collection ends by itself
	}
}

// goHeap returns the bytes in Go's heap that are alive or not yet seen to be free.
func goHeap() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// Copying into fresh memory may take a millisecond a MiB: what is large is copied in pieces, with a
// look at cancellation after each.
const (
	pieceBytes = 128 << 10
	movePiece  = pieceBytes / valSize

	copiedByStep = 512 // bytes of a text that are copied for one step
)

// move copies values.
func (t *thread) move(to, from []val) {
	for len(from) > movePiece {
		copy(to, from[:movePiece])
		to, from = to[movePiece:], from[movePiece:]
		t.poll()
	}
	copy(to, from)
}

// glue returns the parts, in order, as one string. The caller has charged for it.
func (t *thread) glue(parts ...string) string {
	n := 0
	for _, s := range parts {
		n += len(s)
	}
	var b strings.Builder
	b.Grow(n)
	for _, s := range parts {
		t.pour(&b, s)
	}
	return b.String()
}

// pour appends a string.
func (t *thread) pour(b *strings.Builder, s string) {
	for len(s) > pieceBytes {
		b.WriteString(s[:pieceBytes])
		s = s[pieceBytes:]
		t.poll()
	}
	b.WriteString(s)
}

// roomFor returns how many elements of size bytes to make room for, where there is room for have
// and need are needed: all that fit into the block that Go will allocate.
func roomFor(need, have, size int) int {
	more := have / 2
	if have >= 16 && have*size <= 1<<20 {
		more = have
	}
	n := blockSize(int64(max(need, have+more, 4) * size))
	if n > 512 && n <= largestClass {
		n -= 8
	}
	return int(n) / size
}

// maxStack bounds Go's stack, whose overflow no program would survive.
const maxStack = 256 << 20

// deepen charges for a stack that is deeper than it has been.
func (t *thread) deepen() {
	if t.stack > maxStack {
		panic(t.limit("depth", int64(t.depth), int64(t.depth)))
	}
	n := t.stack - t.stackTop
	t.alloc(n)
	t.stackTop += n
}
