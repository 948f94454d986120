package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"callgate/engine/eval"
	"callgate/engine/label"
	"callgate/engine/value"
)

// The most that a worker reads: its own limits hold it, and it trusts its supervisor.
const (
	mostIn = 1 << 30
	roomIn = 1 << 40
)

// Serve is the worker's side of a connection: it makes a session and runs its programs, whose calls it asks the other
// side to make. achieved is what confines the process, for the hello. It returns once the other side says that there is nothing more, or is gone.
func Serve(rw io.ReadWriter, achieved []string) error {
	w := &server{c: newConn(rw), in: make(chan incoming, 1)}
	h := hello{Version, eval.Language, achieved}
	if err := w.c.send(frameHello, h.write); err != nil {
		return fmt.Errorf("worker: hello: %w", err)
	}
	w.c.max, w.c.room = mostIn, roomIn
	err := w.serve()
	beside := w.reading()
	if c, ok := rw.(io.Closer); ok {
		c.Close()
	}
	if beside {
		<-w.in
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// server is a worker's side of a connection.
type server struct {
	c     *conn
	s     *eval.Session
	in    chan incoming // what was read beside a program
	since time.Time     // the program works; zero: it has only begun to
	err   error         // why nothing can be read any more

	mu     sync.Mutex
	reads  bool            // something reads beside a program; what that has read is in in, or will be
	ctx    context.Context // of the program that runs
	cancel context.CancelFunc
	past   eval.Past
	live   chan struct{} // of one that runs again: closed when it goes on beyond what it did
}

type incoming struct {
	kind kind
	d    *decoder
	err  error
}

// receive returns the next frame. Who waits for one reads it: that another goroutine hands it on takes longer than all the rest of a call, as Go
// wakes a thread for that.
func (w *server) receive() incoming {
	if !w.reading() {
		return w.read()
	}
	in := <-w.in
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads = false
	return in
}

// reading reports whether something reads beside the program.
func (w *server) reading() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reads
}

// read reads a frame. What is said to a program that runs it heeds.
func (w *server) read() incoming {
	for {
		k, d, err := w.c.receive()
		if err == nil && (k == frameCancel || k == frameLive) {
			w.notice(k)
			continue
		}
		if err != nil {
			w.notice(frameCancel) // nobody wants to know
		}
		return incoming{k, d, err}
	}
}

// besideAfter is how long a program works by itself before something reads beside it.
const besideAfter = time.Millisecond

// poll is called while a program works. Once it has worked for long, something reads beside it. There is no timer for that: setting one
// takes as long as a call.
func (w *server) poll() {
	now := time.Now()
	if w.since.IsZero() {
		w.since = now
	}
	if now.Sub(w.since) < besideAfter {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.reads {
		w.reads = true
		go func() { w.in <- w.read() }()
	}
}

// notice heeds what is said while a program runs.
func (w *server) notice(k kind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case k == frameCancel && w.cancel != nil:
		w.cancel()
	case k == frameLive && w.live != nil:
		close(w.live)
		w.live = nil
	}
}

// take waits for a frame of one of the kinds and reads it. After an error there are no more.
func (w *server) take(read map[kind]func(*decoder)) (kind, error) {
	if w.err != nil {
		return 0, w.err
	}
	in := w.receive()
	if w.err = in.err; w.err != nil {
		return 0, w.err
	}
	f, ok := read[in.kind]
	if !ok {
		w.err = &ProtocolError{"got " + in.kind.String() + " out of turn"}
		return in.kind, w.err
	}
	w.err = in.d.done(in.kind, f)
	return in.kind, w.err
}

func (w *server) serve() error {
	var first start
	if k, err := w.take(map[kind]func(*decoder){frameStart: first.read, frameBye: nothing}); err != nil || k == frameBye {
		return err
	}
	if err := w.start(first); err != nil || w.s == nil { // without a session there is nothing to do
		return err
	}
	var (
		p       program
		refusal refusal
		name    string
		limit   int64
	)
	frames := map[kind]func(*decoder){
		frameRun:    func(d *decoder) { p.read(d); w.begin(p) }, // before another frame is read, which may be a cancel
		frameRefuse: refusal.read, frameBye: nothing,
		frameGet:  func(d *decoder) { name = d.text() },
		frameSnap: func(d *decoder) { limit = d.int() },
	}
	for {
		k, err := w.take(frames)
		if err != nil {
			return err
		}
		switch k {
		case frameRun:
			err = w.run(p)
		case frameRefuse:
			err = w.end(w.s.Refuse(refusal.err, refusal.file, refusal.author))
		case frameGet:
			err = w.get(name)
		case frameSnap:
			err = w.snapshot(limit)
		case frameBye:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func nothing(*decoder) {}

// start makes the session.
func (w *server) start(m start) error {
	cfg := eval.Config{Host: w, Tools: m.tools, Inputs: m.inputs, Limits: m.limits, Next: m.next, Anew: m.anew, Poll: w.poll}
	var problem string
	var err error
	if m.snapshot != nil {
		w.s, err = eval.Restore(cfg, m.snapshot)
	} else {
		w.s, err = eval.NewSession(cfg)
	}
	if err != nil {
		problem = err.Error()
	}
	out := started{problem: problem}
	if err == nil {
		w.c.most = frameLimit(w.s.Limits())
		out.floor, out.names = w.s.Floor(), w.s.Names()
	}
	return w.c.send(frameStarted, out.write)
}

// begin makes a program one that can be cancelled.
func (w *server) begin(p program) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.past = eval.Past{Looks: p.looks, Wall: p.wall, Steps: p.steps}
	if p.again {
		w.live = make(chan struct{})
		w.past.Live = w.live
	}
}

// run runs a program that has begun.
func (w *server) run(p program) error {
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.cancel()
		w.ctx, w.cancel, w.live = nil, nil, nil
	}()
	w.since = time.Time{}
	compiled, err := eval.Compile(p.file, []byte(p.text), w.s.Env())
	if err != nil {
		return w.end(w.s.Reject(err, p.file, p.author))
	}
	out, err := w.s.RunAgain(w.ctx, compiled, p.author, w.past)
	if err != nil {
		return err
	}
	return w.end(out)
}

// end says how a program ended.
func (w *server) end(out eval.Outcome) error {
	m := ended{out, w.s.Names()}
	err := w.c.send(frameEnded, m.write)
	if errors.Is(err, errTooLarge) {
		m.out = eval.Outcome{
			Status: eval.Crashed, Floor: out.Floor, History: out.History, Steps: out.Steps, Peak: out.Peak, Duration: out.Duration,
			Err: &eval.Error{Status: eval.Crashed, Code: codeTooLarge, Text: "what the program printed or answered is too large to leave its worker", Label: label.Top()},
		}
		err = w.c.send(frameEnded, m.write)
	}
	return err
}

const codeTooLarge = "too-large"

// Do asks the supervisor to make calls.
func (w *server) Do(_ context.Context, calls []eval.Call) []eval.Result {
	err := w.c.send(frameDo, func(e *encoder) {
		e.uint(uint64(len(calls)))
		for i := range calls {
			writeCall(e, &calls[i])
		}
	})
	results := make([]eval.Result, 0, len(calls))
	if err == nil {
		_, err = w.take(map[kind]func(*decoder){frameDone: func(d *decoder) {
			for range d.count() {
				results = append(results, readResult(d))
			}
		}})
	}
	w.since = time.Time{}
	if err == nil && len(results) == len(calls) {
		return results
	}
	refusal := &eval.CallError{Code: "worker", Text: "the supervisor does not answer", Label: label.Top(), Final: true}
	if errors.Is(err, errTooLarge) {
		refusal = &eval.CallError{Code: codeTooLarge, Text: "the arguments are too large to leave the worker", Label: label.Top(), Final: true}
	}
	results = make([]eval.Result, len(calls))
	for i := range results {
		results[i].Err = refusal
	}
	return results
}

func (w *server) get(name string) error {
	v, err := w.s.Get(name)
	m := answer{v: v}
	if err != nil {
		m.problem = err.Error()
	}
	if err := w.c.send(frameValue, m.write); !errors.Is(err, errTooLarge) {
		return err
	}
	m = answer{problem: name + ": the value is too large to leave the worker"}
	return w.c.send(frameValue, m.write)
}

func (w *server) snapshot(limit int64) error {
	var m blob
	b, err := w.s.Snapshot(limit)
	if bad, ok := errors.AsType[*eval.SnapshotError](err); ok {
		m.code, m.text = bad.Code, bad.Text
	} else if err != nil {
		m.code, m.text = "internal", err.Error()
	}
	m.b = b
	err = w.c.send(frameBlob, m.write)
	if !errors.Is(err, errTooLarge) {
		return err
	}
	m = blob{code: "size", text: fmt.Sprintf("it takes %d bytes, more than can leave the worker", len(b))}
	return w.c.send(frameBlob, m.write)
}

// program is a program to run.
type program struct {
	file, text string
	author     label.Label

	// Of what it did before, see [eval.Past].
	again bool
	looks int64
	wall  bool
	steps int64
}

func (m *program) write(e *encoder) {
	e.text(m.file)
	e.text(m.text)
	e.label(m.author)
	e.bool(m.again)
	e.int(m.looks)
	e.bool(m.wall)
	e.int(m.steps)
}

func (m *program) read(d *decoder) {
	m.file, m.text, m.author, m.again, m.looks, m.wall, m.steps = d.text(), d.text(), d.label(), d.bool(), d.int(), d.bool(), d.int()
}

// refusal is a program that may not start.
type refusal struct {
	err    *eval.CallError
	file   string
	author label.Label
}

func (m *refusal) write(e *encoder) {
	writeCallError(e, m.err)
	e.text(m.file)
	e.label(m.author)
}

func (m *refusal) read(d *decoder) {
	m.err, m.file, m.author = readCallError(d), d.text(), d.label()
}

// started answers a start.
type started struct {
	problem string // "": there is a session
	floor   label.Label
	names   []string
}

func (m *started) write(e *encoder) {
	e.text(m.problem)
	e.label(m.floor)
	e.texts(m.names)
}

func (m *started) read(d *decoder) { m.problem, m.floor, m.names = d.text(), d.label(), d.texts() }

// answer is the value of a name.
type answer struct {
	v       value.Value
	problem string // "": v is the value
}

func (m *answer) write(e *encoder) {
	e.text(m.problem)
	e.value(&m.v)
}

func (m *answer) read(d *decoder) { m.problem, m.v = d.text(), d.value() }

// blob is a session as bytes.
type blob struct {
	code, text string // what is wrong; see [eval.SnapshotError]
	b          []byte
}

func (m *blob) write(e *encoder) {
	e.text(m.code)
	e.text(m.text)
	e.text(string(m.b))
}

func (m *blob) read(d *decoder) {
	m.code, m.text = d.text(), d.text()
	b := d.bytes()
	d.takes(int64(len(b)))
	m.b = append([]byte(nil), b...)
}

// frameLimit is the most bytes that a frame of a session with these limits may have, and a room for what it stands for: data
// that the memory budget holds has an encoding that is larger.
func frameLimit(l eval.Limits) int {
	return int(min(2*l.Memory+4<<20, mostIn))
}

func roomFor(l eval.Limits) int64 { return 4*l.Memory + 16<<20 }
