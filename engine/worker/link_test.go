package worker

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"

	"callgate/engine/eval"
)

// pipe is a link to a worker that runs in a goroutine.
type pipe struct {
	net.Conn
	other net.Conn
	done  chan struct{} // the worker's side has returned
	err   error
	once  sync.Once
}

func (p *pipe) Kill() {
	p.once.Do(func() {
		p.Conn.Close()
		p.other.Close()
	})
}

func (p *pipe) Ended() string { return "" }

// serveWith returns a link to f, which is the worker's side.
func serveWith(t testing.TB, f func(io.ReadWriter) error) *pipe {
	t.Helper()
	a, b := net.Pipe()
	p := &pipe{Conn: a, other: b, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = f(b)
		b.Close()
	}()
	t.Cleanup(func() {
		p.Kill()
		<-p.done
	})
	return p
}

// openPipe makes a session in a goroutine.
func openPipe(t testing.TB, cfg Config) (*Session, error) {
	t.Helper()
	link := serveWith(t, func(rw io.ReadWriter) error { return Serve(rw, nil) })
	return openOn(link, cfg)
}

func openOn(link Link, cfg Config) (*Session, error) {
	c := newConn(link)
	if _, err := greet(c); err != nil {
		return nil, err
	}
	return open(context.Background(), link, c, cfg)
}

// pair is a session in this process and one in a worker, whose hosts answer alike.
type pair struct {
	t     testing.TB
	local *Local
	far   *Session
	hosts [2]*recorder
	rests bool // far rests before every turn
}

// newPair has the worker in a goroutine.
func newPair(t testing.TB, cfg eval.Config, host func() eval.Host) *pair {
	t.Helper()
	return pairIn(t, cfg, host, openPipe)
}

// openReal makes a session in a process, if tests are to take that long, or else in a goroutine.
var openReal = openPipe

func pairIn(t testing.TB, cfg eval.Config, host func() eval.Host, open func(testing.TB, Config) (*Session, error)) *pair {
	t.Helper()
	p := &pair{t: t}
	for i := range p.hosts {
		p.hosts[i] = &recorder{host: host()}
	}
	cfg.Host = p.hosts[0]
	var err error
	if p.local, err = NewLocal(Config{Config: cfg}); err != nil {
		t.Fatal(err)
	}
	cfg.Host = p.hosts[1]
	if p.far, err = open(t, Config{Config: cfg}); err != nil {
		t.Fatal(err)
	}
	return p
}

// recorder remembers what it was asked.
type recorder struct {
	host  eval.Host
	calls []eval.Call
}

func (h *recorder) Do(ctx context.Context, calls []eval.Call) []eval.Result {
	h.calls = append(h.calls, calls...)
	return h.host.Do(ctx, calls)
}
