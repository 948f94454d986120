package eval

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sort"
	"strings"
	"time"

	"callgate/engine/label"
	"callgate/engine/syntax"
	"callgate/engine/value"
)

// Language is the version of the language that programs are written in: a replay with another version may differ.
const Language = "callgate-starlark/1"

// Limits are the budgets of one program. A zero field means the default.
type Limits struct {
	Steps  int64         // default 10,000,000
	Memory int64         // live bytes of the session; default 64 MiB
	Wall   time.Duration // default 30 s
	Calls  int           // calls of the host that are not builtins, in the session; default 1,000
	Depth  int           // nested calls; default 500
	Output int64         // bytes printed, in the session; default 1 MiB
}

// WithDefaults returns the limits with the defaults in place of zeros.
func (l Limits) WithDefaults() Limits {
	def := func(p *int64, d int64) {
		if *p <= 0 {
			*p = d
		}
	}
	def(&l.Steps, 10_000_000)
	def(&l.Memory, 64<<20)
	def((*int64)(&l.Wall), int64(30*time.Second))
	def(&l.Output, 1<<20)
	if l.Calls <= 0 {
		l.Calls = 1000
	}
	if l.Depth <= 0 {
		l.Depth = 500
	}
	return l
}

// Config says what the programs of a session can reach.
type Config struct {
	Host   Host
	Tools  []ToolSig
	Inputs []Input // values that programs can name
	Limits Limits

	// Next says, of a session that is made again from a snapshot, that another run goes on with it: its budgets of calls and of
	// output are whole again.
	Next bool

	// Anew names the inputs that a session which is made again does not keep its own value of: theirs are those of Inputs, for
	// functions of earlier programs too.
	Anew []string

	// Poll, unless nil, is called again and again while a program works, in its goroutine: at least about once a millisecond, but not while the
	// host makes calls. What is done there the program waits for. It is of this session alone: one in a worker does not call it.
	Poll func()
}

// Input is a named value given to a session.
type Input struct {
	Name  string
	Value value.Value
}

// Session is one namespace of cells over any number of programs, its turns: names stay
// bound, and a name redefined in a later turn is seen by functions of earlier turns. With the names
// it keeps the floor, the least pc of everything that follows. It is used by one goroutine at a time.
type Session struct {
	tab     *label.Table
	floor   label.ID
	history label.ID // of the record of calls
	host    Host
	polled  func() // nil: nothing is
	limits  Limits
	permits permits

	names   map[string]*cell
	cells   []*cell
	pre     map[string]val
	epoch   uint64 // of the last walk over its data
	live    int64  // bytes that its names and inputs hold, about
	others  int64  // bytes in Go's heap that are not the session's, as of the last collection
	turn    int
	calls   int
	printed []Print
	output  int64
	rises   []Rise
	running bool
}

// Print is what one call of print, or of show, put out.
type Print struct {
	Text  string        // as on a terminal, with its line end
	Label label.Label   // of the text: the join of all that is in it
	Args  []value.Value // the arguments, each with its labels; a function is its text
	PC    label.Label   // of the fact that it was printed
	Site  Site

	bytes int64
}

// Rise says that the session's floor rose: from there on, everything that programs make is labelled
// at least Floor.
type Rise struct {
	Site  Site
	Floor label.Label
	Why   string
}

// Outcome is how one program of a session ended.
type Outcome struct {
	Status   Status
	Err      *Error       // nil if Status is OK or Answered
	Answer   *value.Value // of done(value)
	Prints   []Print
	Floor    label.Label // of the session, afterwards
	History  label.Label // of the session's record of calls, afterwards
	Rises    []Rise
	Steps    int64
	Peak     int64 // live bytes, about
	Calls    int   // of the host, builtins not counted
	Duration time.Duration
	Permits  map[string]int64 // builtins called, by name

	// Looks is how often the program had looked at clock and cancellation when one of them ended it; 0: neither did. It is the
	// exact place of that, for [Past].
	Looks int64
}

// Past is what is known of a program before it runs, above all of one that runs again, its calls answered as they were before. The zero Past says that nothing is.
type Past struct {
	// Live is closed when the program goes on beyond what it did before: from then on the wall limit counts. nil: it counts from the
	// beginning.
	Live <-chan struct{}

	Looks int64 // where it was ended by clock or cancellation, see [Outcome]; 0: it was not
	Wall  bool  // it was the clock

	Steps int64 // that are left to it, where that is less than the session's limit; 0: the limit
}

// NewSession returns a session without names. Tools whose names share a prefix up to a
// dot are reached as attributes of one module.
func NewSession(c Config) (*Session, error) {
	s := &Session{
		tab: label.NewTable(), floor: label.BottomID, history: label.BottomID,
		host: c.Host, polled: c.Poll, limits: c.Limits.WithDefaults(),
		names: map[string]*cell{}, pre: map[string]val{},
	}
	s.permits = permits{last: make([]label.ClassID, len(decided)*ways), used: make([]int64, len(decided))}
	for _, t := range c.Tools {
		if err := s.addTool(t); err != nil {
			return nil, err
		}
	}
	for _, in := range c.Inputs {
		if err := s.addInput(in); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// addInput makes a value something that programs can name.
func (s *Session) addInput(in Input) error {
	if _, ok := s.pre[in.Name]; ok {
		return fmt.Errorf("input %q: there is a tool of that name", in.Name)
	}
	if _, ok := universe[in.Name]; ok {
		return fmt.Errorf("input %q: the language has that name", in.Name)
	}
	v, err := s.thread(context.Background(), label.BottomID).importValue(in.Value)
	if err != nil {
		return fmt.Errorf("input %q: %w", in.Name, err)
	}
	s.pre[in.Name] = v
	return nil
}

// Floor returns the session's floor.
func (s *Session) Floor() label.Label { return s.tab.Label(s.floor) }

// Env returns what a program of the session can name, for [Compile].
func (s *Session) Env() Env {
	return Env{
		Globals:     func(n string) bool { return s.names[n] != nil },
		Predeclared: func(n string) bool { _, ok := s.pre[n]; return ok },
	}
}

// Names returns the names that programs have bound, sorted.
func (s *Session) Names() []string {
	var out []string
	for n, c := range s.names {
		if c.v.k != kUnbound && n[0] != '<' { // a name of the compiler's own
			out = append(out, n)
		}
	}
	sort.Strings(out)
	return out
}

// Get returns the value of a name as it would cross the gate.
func (s *Session) Get(name string) (value.Value, error) {
	c := s.names[name]
	if c == nil || c.v.k == kUnbound {
		return value.Value{}, fmt.Errorf("%s: no such name", name)
	}
	var out value.Value
	err := s.thread(context.Background(), s.tab.Control(s.floor)).protect(func(t *thread) {
		out = t.export(c.v.with(t.join(c.v.lab, t.pc)))
	})
	if err != nil {
		return value.Value{}, err
	}
	return out, nil
}

// instance is a program in a session.
type instance struct {
	prog  *Program
	cells []*cell // by the program's index of globals
	pre   []val
	mark  uint64 // of the last trace that met it
}

// bytes is what the program takes as long as a function of it is alive.
func (m *instance) bytes() int64 {
	return m.prog.bytes + blockSize(int64(len(m.cells))*8) + blockSize(int64(len(m.pre))*valSize) + 64
}

func (s *Session) instance(p *Program) (*instance, error) {
	m := &instance{prog: p}
	for _, n := range p.globals {
		c := s.names[n]
		if c == nil {
			n = strings.Clone(n) // not a piece of the program's text, which it may outlive
			c = &cell{v: unboundVal, name: n}
			s.names[n] = c
			s.cells = append(s.cells, c)
		}
		m.cells = append(m.cells, c)
	}
	for _, n := range p.names {
		v, ok := s.pre[n]
		if !ok {
			return nil, fmt.Errorf("%s: the program was compiled for a session that has %s", p.File, n)
		}
		m.pre = append(m.pre, v)
	}
	return m, nil
}

func (s *Session) thread(ctx context.Context, pc label.ID) *thread {
	t := &thread{
		execution: execution{pc: pc, fnpc: label.BottomID},
		s:         s, ctx: ctx, tab: s.tab, author: label.BottomID, skipped: label.BottomID,
		maxSteps: s.limits.Steps, maxHeap: s.limits.Memory, maxDepth: s.limits.Depth,
		started: time.Now(), turn: s.turn, tabSeen: s.tab.Bytes(),
		mem: memory{live: s.live, mark: max((s.limits.Memory-s.live)/2, s.limits.Memory/64), segment: segment{since: -1}},
	}
	t.deadline = t.started.Add(s.limits.Wall)
	t.arena.chunk = newChunk(64)
	t.frames = make([]activation, 0, 16)
	return t
}

// Run runs a program as the session's next turn. author is the label of who wrote it: for a model, the join of
// everything that it was shown. It returns once the program has ended, whatever happens in it; only
// a program compiled for another session is an error.
func (s *Session) Run(ctx context.Context, p *Program, author label.Label) (Outcome, error) {
	return s.RunAgain(ctx, p, author, Past{})
}

// RunAgain is [Session.Run] for a program that may have run before: a program whose calls are answered as they were before does
// the same again, and ends where and as it ended.
func (s *Session) RunAgain(ctx context.Context, p *Program, author label.Label, past Past) (Outcome, error) {
	s.tab.Rest() // so that a turn costs the same after the session was re-made from a snapshot
	defer s.tab.Rest()
	s.running = true
	defer func() { s.running = false }()
	names := len(s.cells)
	m, err := s.instance(p)
	if err != nil {
		return Outcome{}, err
	}
	s.turn++
	// What a program could have bound, and did not, is known to those who know that it ran.
	s.floor = s.tab.Join(s.floor, s.tab.Intern(author))
	pc := s.tab.Control(s.floor)
	s.history = s.tab.Join(s.history, pc)
	s.printed, s.rises = nil, nil
	clear(s.permits.used)
	t := s.thread(ctx, pc)
	t.past = past
	if past.Steps > 0 {
		t.maxSteps = min(t.maxSteps, past.Steps)
	}
	defer t.watch()()
	t.author = s.tab.Intern(author.OnlySources())
	t.turn = s.turn
	before := s.calls
	failed := t.protect(func(t *thread) {
		t.alloc(m.bytes() + int64(len(s.cells)-names)*(nameBytes+cellSize))
		fn := &function{code: p.main, mod: m}
		frame := t.push(p.main.nslots)
		t.enter(fn, label.BottomID, frame, pos{1, 1})
	})
	out := Outcome{
		Status: OK, Prints: s.printed, Steps: t.used(), Peak: max(t.mem.peak, min(t.mem.heap(), t.maxHeap)),
		Calls: s.calls - before, Duration: time.Since(t.started), Permits: map[string]int64{},
	}
	if failed != nil {
		if failed.Site.Line == 0 { // before the program began
			failed.Site = Site{File: p.File, Line: 1, Column: 1}
		}
		out.Status = failed.Status
		if failed.Status == Cancelled || failed.Budget == "wall" {
			out.Looks = t.looks
		}
		if failed.done != nil {
			out.Answer = failed.done
		} else {
			out.Err = failed
		}
		s.floor = s.tab.Join(s.floor, failed.lab)
	}
	for i, n := range s.permits.used {
		if n > 0 {
			out.Permits[decided[i]] = n
		}
	}
	out.Floor, out.History, out.Rises = s.Floor(), s.tab.Label(s.history), s.rises
	s.printed = nil
	return out, nil
}

// watch gives the thread, and through its context the host, notice of the wall limit and of cancellation, until the
// function that it returns is called.
func (t *thread) watch() func() {
	t.caller = t.ctx
	if t.past.Live == nil {
		ctx, cancel := context.WithDeadline(t.caller, t.deadline)
		t.ctx = ctx
		release := context.AfterFunc(ctx, t.notice)
		return func() {
			release()
			cancel()
		}
	}
	ctx, cancel := context.WithCancelCause(t.caller)
	t.ctx, t.deadline = ctx, t.started.Add(math.MaxInt64)
	release := context.AfterFunc(ctx, t.notice)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-t.past.Live:
		case <-ctx.Done():
			return
		}
		wall := time.NewTimer(t.s.limits.Wall)
		defer wall.Stop()
		select {
		case <-wall.C:
			cancel(context.DeadlineExceeded)
		case <-ctx.Done():
		}
	}()
	return func() {
		release()
		cancel(nil)
		<-done
	}
}

// notice takes notice of the end of the thread's context.
func (t *thread) notice() {
	switch {
	case t.caller == nil || t.ctx.Err() == nil:
	case t.caller.Err() != nil:
		t.stop.Store(stopCancelled)
	default:
		t.stop.Store(stopWall)
	}
}

// protect runs f and returns the error that ended it. A fault of the evaluator becomes
// an error too: it ends the program, and its stack is for the operator. The thread cannot go on afterwards; the
// data of the session is as the program left it, and nothing iterates over it any more.
func (t *thread) protect(f func(*thread)) (err *Error) {
	defer func() {
		t.todo.drop()
		for len(t.iters) > 0 {
			t.unlock()
		}
		t.s.live = t.mem.heap()
	}()
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Error:
			err = t.finish(r)
		default:
			err = t.finish(&Error{
				Status: Crashed, Code: "internal", Text: "internal error", final: true, lab: label.TopID,
				Detail: fmt.Sprintf("%v\n%s", r, stack()),
			})
		}
	}()
	f(t)
	return nil
}

// finish fills in what an error says to the outside.
func (t *thread) finish(e *Error) *Error {
	if e.lab == label.TopID && e.Status != Failed {
		e.lab = t.everything()
	}
	e.Label = t.tab.Label(e.lab)
	t.place(e)
	return e
}

// place fills in where an error is, and the calls that led there, before they are left.
func (t *thread) place(e *Error) {
	if e.placed {
		return
	}
	e.placed = true
	var stack []Site
	for i, a := range t.callers() {
		if i == 0 {
			continue // the host's call of the program
		}
		stack = append(stack, a.fn.site(a.pos))
	}
	e.Stack = stack
	if t.fn != nil && e.Site.Line == 0 {
		at := e.pos
		if at.line == 0 {
			at = t.at
		}
		e.Site = t.fn.site(at)
	}
}

func (fn *function) site(p pos) Site {
	if fn == nil {
		return Site{Line: int(p.line), Column: int(p.col)}
	}
	return Site{File: fn.code.prog.File, Line: int(p.line), Column: int(p.col), Function: fn.code.name}
}

// everything joins every label that the session met: of an ending that may depend on all of
// it, such as a limit.
func (t *thread) everything() label.ID { return t.tab.Everything() }

// noteRise records that the floor rose.
func (s *Session) noteRise(t *thread, floor label.ID, p pos, why string) {
	if len(s.rises) < 100 {
		s.rises = append(s.rises, Rise{t.fn.site(p), s.tab.Label(floor), why})
	}
}

// Limits returns the budgets of the session's programs, defaults filled in.
func (s *Session) Limits() Limits { return s.limits }

// Reject is the outcome of a program whose text does not compile, by an author with this label: err is what
// [Compile] returned.
func (s *Session) Reject(err error, file string, author label.Label) Outcome {
	e := &Error{Status: Failed, Code: "syntax", Text: err.Error(), Label: author, Site: Site{File: file}}
	var list syntax.Errors
	if errors.As(err, &list) && len(list) > 0 {
		e.Syntax = list
		e.Site.Line, e.Site.Column = list[0].Line, list[0].Column
		e.Text, e.Hint = list[0].Message, list[0].Hint
	}
	return s.without(e, author)
}

// Refuse is the outcome of a program that the host did not let start.
func (s *Session) Refuse(c *CallError, file string, author label.Label) Outcome {
	t := s.thread(context.Background(), s.floor)
	e := t.refused(c, label.BottomID)
	e.Label = c.Label.Join(author)
	e.Site = Site{File: file}
	return s.without(e, author)
}

// without is the outcome of a turn in which no program ran: those who know that are those who know its text, and how the turns before
// ended, which decided what names there are.
func (s *Session) without(e *Error, author label.Label) Outcome {
	s.turn++
	e.Label = e.Label.Join(s.Floor())
	s.floor = s.tab.Intern(author.Join(e.Label))
	return Outcome{Status: e.Status, Err: e, Floor: s.Floor(), History: s.tab.Label(s.history)}
}

// stack is the stack of the calling goroutine. It is not that of package runtime/debug: with that, a program that is its own worker would be set up
// further before it became one, for packages are in the order of their names.
func stack() []byte {
	b := make([]byte, 64<<10)
	return b[:runtime.Stack(b, false)]
}
