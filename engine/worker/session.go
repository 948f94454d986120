package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/engine/eval"
	"callgate/engine/label"
	"callgate/engine/value"
)

// Config says what a session in a worker is. Host, tools and inputs are eval's: the host stays with the supervisor.
type Config struct {
	eval.Config

	// Snapshot makes the session again from what [Session.Snapshot] returned; nil: a new one. Of the inputs, those that it had
	// keep its values but for those that are given anew.
	Snapshot []byte

	// Account is what was known of a session that is made again; nil: nothing happened in it.
	Account *Account

	// Floor says that no label from the worker is believed: whatever it sends is labelled with the join of
	// all that it was sent. False: labels cross as they are.
	Floor bool

	// Idle is how long the session keeps a worker that nothing is asked of. Then it is written as bytes, and made again of them when it is
	// next used, in a worker that Again starts. Zero: it keeps its worker.
	Idle  time.Duration
	Again func(context.Context) (*Process, error)

	// Grace is how long a worker may take past a limit or a cancellation until it is killed. Zero: 2 s.
	Grace time.Duration
}

// Link is the supervisor's end of a connection to a worker.
type Link interface {
	io.ReadWriter

	// Kill ends the worker and everything in it, after which reads and writes fail at once. It may be called at any time, more than
	// once, and returns when nothing of the worker is left.
	Kill()

	// Ended says how the worker ended, for people; "" if it is not known, or not yet.
	Ended() string
}

// Session is a session of package eval in a worker. Whatever the worker does, it costs its host no more than
// the program: every frame is checked against what a worker may do, and one that does not keep to that, ends or is silent is killed. The outcome is then
// [eval.Crashed] with the code "worker", and so is that of every program afterwards. It is used by one goroutine
// at a time.
type Session struct {
	host   eval.Host
	limits eval.Limits
	floor  bool
	grace  time.Duration
	tools  map[string]bool

	link Link
	c    *conn
	lost *ProtocolError // why there is no worker any more
	rest *rest          // nil: it keeps its worker

	account Account
	lowest  label.Label // the session's floor
	history label.Label
	names   []string
}

// Account is what is known of a session without asking whoever runs its programs. The zero Account cannot be used.
type Account struct {
	turns   int
	calls   int               // of the host, builtins not counted
	printed int64             // bytes
	files   map[string]extent // of the programs
	sent    label.Label       // the join of all that it was given
}

// noLink is the link to no worker.
type noLink struct{}

func (noLink) Read([]byte) (int, error)  { return 0, io.EOF }
func (noLink) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
func (noLink) Kill()                     {}
func (noLink) Ended() string             { return "" }

// account is what is known of the session that c makes.
func (c *Config) account() Account {
	p := Account{files: map[string]extent{}, sent: label.Bottom()}
	for _, in := range c.Inputs {
		p.sent = p.sent.Join(in.Value.Deep())
	}
	if was := c.Account; was != nil {
		p.turns, p.files, p.sent = was.turns, maps.Clone(was.files), p.sent.Join(was.sent)
		if !c.Next {
			p.calls, p.printed = was.calls, was.printed
		}
	}
	return p
}

// begin enters a program as the next turn.
func (p *Account) begin(file, text string, author label.Label) {
	p.turns++
	p.sent = p.sent.Join(author)
	p.files[file] = p.files[file].with(text)
}

// given enters a result.
func (p *Account) given(r eval.Result) {
	if r.Err != nil {
		p.sent = p.sent.Join(r.Err.Label)
		return
	}
	p.sent = p.sent.Join(r.Value.Deep())
}

// extent is how far the places in a file can be.
type extent struct{ lines, columns int }

// with returns the extent of a file that had another text besides.
func (x extent) with(text string) extent {
	for line := range strings.Lines(text) {
		x.columns = max(x.columns, len(line)+1)
	}
	x.lines = max(x.lines, strings.Count(text, "\n")+1)
	return x
}

// place reports whether a place can be in one of the session's programs.
func (p *Account) place(at eval.Site) bool {
	x := p.files[at.File]
	return at.Line >= 0 && at.Line <= x.lines+1 && at.Column >= 0 && at.Column <= x.columns+1 && len(at.Function) <= 1<<10 && len(at.File) <= 1<<12 &&
		(x.lines > 0 || at.File == "")
}

// codeWorker is the code of an outcome whose worker was lost.
const codeWorker = "worker"

// Lost returns what is left of a session that has lost its worker, for a reason: the names that it had, its floor, what was known of it, and the join of all that it was
// given. Every program of it is [eval.Crashed].
func Lost(was *Account, limits eval.Limits, names []string, floor, sent label.Label, why string) *Session {
	s := &Session{limits: limits, link: noLink{}, c: newConn(noLink{}), lost: &ProtocolError{why}, account: *was, lowest: floor, history: floor, names: names}
	s.account.files, s.account.sent = maps.Clone(was.files), sent
	return s
}

// open makes a session in the worker at the other end of a link whose hello was read. The worker is killed if it cannot be made; an error of the
// configuration reads as that of [eval.NewSession].
func open(ctx context.Context, link Link, c *conn, cfg Config) (*Session, error) {
	s := &Session{
		host: cfg.Host, floor: cfg.Floor, grace: cfg.Grace, link: link, c: c, tools: map[string]bool{},
		limits: cfg.Limits.WithDefaults(), account: cfg.account(), lowest: label.Bottom(), history: label.Bottom(),
	}
	if s.grace <= 0 {
		s.grace = 2 * time.Second
	}
	for _, t := range cfg.Tools {
		s.tools[t.Name] = true
	}
	first := start{s.limits, cfg.Tools, cfg.Inputs, cfg.Snapshot, cfg.Next, cfg.Anew}
	if err := s.begin(ctx, first); err != nil {
		return nil, err
	}
	if cfg.Idle > 0 {
		s.restAfter(cfg.Idle, first, func(ctx context.Context) (*greeted, error) {
			p, err := cfg.Again(ctx)
			if err != nil {
				return nil, err
			}
			return &greeted{childLink{p.child}, p.c, p.waited}, nil
		})
	}
	return s, nil
}

// begin makes the session in a worker that has none.
func (s *Session) begin(ctx context.Context, first start) error {
	s.c.max, s.c.most, s.c.room = frameLimit(s.limits), mostIn, roomFor(s.limits)
	var m started
	if err := s.ask(ctx, frameStart, first.write, frameStarted, m.read); err != nil {
		return err
	}
	if m.problem != "" {
		s.lose(m.problem)
		return errors.New(m.problem)
	}
	if first.snapshot == nil {
		m.floor = label.Bottom()
	}
	s.lowest, s.names = s.believe(m.floor), m.names
	return nil
}

// believe returns a label that the worker sent, or what is believed instead.
func (s *Session) believe(l label.Label) label.Label {
	if s.floor {
		return s.account.sent
	}
	return l
}

func (s *Session) believeValue(v value.Value) value.Value {
	if s.floor {
		return v.Relabel(func(label.Label) label.Label { return s.account.sent })
	}
	return v
}

// lose kills the worker for a reason, in words without data.
func (s *Session) lose(why string) *ProtocolError {
	if s.lost == nil {
		s.link.Kill()
		s.lost = &ProtocolError{why}
	}
	return s.lost
}

// failed kills the worker after an error of the connection.
func (s *Session) failed(err error) *ProtocolError {
	if bad, ok := errors.AsType[*ProtocolError](err); ok {
		return s.lose(bad.Text)
	}
	if errors.Is(err, errTooLarge) {
		return s.lose("what it is to be sent is too large")
	}
	s.link.Kill()
	if how := s.link.Ended(); how != "" {
		return s.lose("the worker ended: " + how)
	}
	return s.lose("the worker ended")
}

// patience is how long a worker may take over what is no program.
const patience = 60 * time.Second

// ask sends a frame and waits for the one that answers it.
func (s *Session) ask(ctx context.Context, k kind, write func(*encoder), want kind, read func(*decoder)) error {
	if s.lost != nil {
		return s.lost
	}
	kill := s.killer()
	defer kill.Stop()
	kill.Reset(patience)
	defer context.AfterFunc(ctx, s.link.Kill)()
	err := s.c.send(k, write)
	if err == nil {
		err = s.c.want(want, read)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		s.failed(err)
		return ctx.Err()
	}
	return s.failed(err)
}

// killer returns a timer, stopped, that kills the worker.
func (s *Session) killer() *time.Timer {
	t := time.AfterFunc(time.Hour, s.link.Kill)
	t.Stop()
	return t
}

// Limits returns the budgets of the session's programs, defaults filled in.
func (s *Session) Limits() eval.Limits { return s.limits }

// Floor returns the session's floor.
func (s *Session) Floor() label.Label { return s.lowest }

// Names returns the names that programs have bound, sorted.
func (s *Session) Names() []string { return slices.Clone(s.names) }

// Get returns the value of a name.
func (s *Session) Get(name string) (value.Value, error) {
	defer s.use(context.Background())()
	var m answer
	if err := s.ask(context.Background(), frameGet, func(e *encoder) { e.text(name) }, frameValue, m.read); err != nil {
		return value.Value{}, err
	}
	if m.problem != "" {
		return value.Value{}, errors.New(m.problem)
	}
	return s.believeValue(m.v), nil
}

// Snapshot returns the session as bytes; see [eval.Session.Snapshot]. They are the worker's: make a session of
// them in a worker only.
func (s *Session) Snapshot(limit int64) ([]byte, error) {
	defer s.use(context.Background())()
	return s.snapshot(context.Background(), limit)
}

func (s *Session) snapshot(ctx context.Context, limit int64) ([]byte, error) {
	var m blob
	if err := s.ask(ctx, frameSnap, func(e *encoder) { e.int(limit) }, frameBlob, m.read); err != nil {
		return nil, err
	}
	if m.code != "" {
		return nil, &eval.SnapshotError{Code: m.code, Text: m.text}
	}
	return m.b, nil
}

// Close ends the worker, which is killed with everything in it.
func (s *Session) Close() {
	s.endRest()
	s.lose("the session has ended")
}

// Refuse is the outcome of a program that the host did not let start.
func (s *Session) Refuse(c *eval.CallError, file string, author label.Label) eval.Outcome {
	defer s.use(context.Background())()
	s.account.begin(file, "", author)
	s.account.sent = s.account.sent.Join(c.Label)
	r := &exchange{s: s, file: file, begun: time.Now(), refused: c, sent: make(chan struct{})}
	kill := s.killer()
	defer kill.Stop()
	kill.Reset(patience)
	m := refusal{c, file, author}
	return r.run(context.Background(), kill, frameRefuse, m.write)
}

// Exec compiles and runs a program as the session's next turn; a text that does not compile is an outcome. past is
// what is known of a program that runs again.
func (s *Session) Exec(ctx context.Context, file, text string, author label.Label, past eval.Past) (eval.Outcome, error) {
	defer s.use(ctx)()
	s.account.begin(file, text, author)
	r := &exchange{s: s, file: file, begun: time.Now(), live: past.Live, sent: make(chan struct{})}
	kill := s.killer()
	defer kill.Stop()
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if past.Live == nil {
		var release context.CancelFunc
		inner, release = context.WithDeadline(inner, r.begun.Add(s.limits.Wall))
		defer release()
		r.from.Store(r.begun.UnixNano())
	}
	kill.Reset(s.limits.Wall + s.grace)
	var late sync.WaitGroup
	late.Add(1)
	release := context.AfterFunc(ctx, func() {
		defer late.Done()
		kill.Reset(s.grace) // first: what does not read, cannot be written to
		<-r.sent
		s.c.send(frameCancel, func(*encoder) {})
	})
	if past.Live != nil {
		late.Go(func() { r.goLive(inner, cancel, kill) })
	}
	m := program{file, text, author, past.Live != nil, past.Looks, past.Wall, past.Steps}
	out := r.run(inner, kill, frameRun, m.write)
	if release() {
		late.Done()
	}
	cancel(nil)
	late.Wait()
	if s.lost != nil && out.Err != nil && out.Err.Code == codeWorker {
		from := time.Unix(0, r.from.Load())
		switch {
		case ctx.Err() != nil:
			out.Status, out.Err.Status, out.Err.Code, out.Err.Text = eval.Cancelled, eval.Cancelled, "cancelled", "cancelled"
		case r.from.Load() != 0 && time.Since(from) >= s.limits.Wall:
			ms := s.limits.Wall.Milliseconds()
			out.Status, out.Err.Status, out.Err.Code = eval.Limited, eval.Limited, "limit.wall"
			out.Err.Text = fmt.Sprintf("wall budget used up: %d ms, the limit is %d", ms, ms)
			out.Err.Budget, out.Err.Used, out.Err.Limit = "wall", ms, ms
		}
	}
	return out, nil
}

// goLive waits until a program that runs again goes on beyond what it did before: from then on the wall limit counts, on both sides.
func (r *exchange) goLive(ctx context.Context, cancel context.CancelCauseFunc, kill *time.Timer) {
	select {
	case <-r.live:
	case <-ctx.Done():
		return
	}
	<-r.sent
	r.from.Store(time.Now().UnixNano())
	kill.Reset(r.s.limits.Wall + r.s.grace)
	r.s.c.send(frameLive, func(*encoder) {})
	wall := time.NewTimer(r.s.limits.Wall)
	defer wall.Stop()
	select {
	case <-wall.C:
		cancel(context.DeadlineExceeded)
	case <-ctx.Done():
	}
}

// crashed is the outcome of a program whose worker was lost.
func (s *Session) crashed(file string, began time.Time, calls int) eval.Outcome {
	s.lowest, s.history = s.lowest.Join(s.account.sent), s.history.Join(s.account.sent)
	return eval.Outcome{
		Status: eval.Crashed, Floor: s.lowest, History: s.history, Calls: calls, Duration: time.Since(began),
		Err: &eval.Error{Status: eval.Crashed, Code: codeWorker, Text: s.lost.Text, Label: s.account.sent, Site: eval.Site{File: file, Line: 1, Column: 1}},
	}
}

// greet reads a worker's hello, and returns what confines it.
func greet(c *conn) ([]string, error) {
	var h hello
	if err := c.want(frameHello, h.read); err != nil {
		return nil, err
	}
	if h.version != Version || h.language != eval.Language {
		return nil, &ProtocolError{fmt.Sprintf("hello: got version %d, want %d with %s", h.version, Version, eval.Language)}
	}
	return h.achieved, nil
}
