package worker

import (
	"context"
	"sync"
	"time"

	"callgate/engine/confine"
	"callgate/engine/eval"
)

// Pool holds workers that have said hello and wait for a session, so that one begins without a start. None is used
// twice. The zero Pool holds none. It is safe for concurrent use.
type Pool struct {
	Options ProcessOptions
	Size    int // how many wait at most

	mu     sync.Mutex
	idle   []*Process
	coming int // are being started
	closed bool
	busy   sync.WaitGroup

	trying  sync.Mutex // guards what follows
	tried   bool
	missing error
}

// Get returns a worker for a session with these limits: one that waits, or else a new one. Another is started in its place
// meanwhile.
func (p *Pool) Get(ctx context.Context, l eval.Limits) (*Process, error) {
	o := p.Options
	if need := BudgetFor(l); o.Budget == (confine.Budget{}) && need != BudgetFor(eval.Limits{}) {
		o.Budget = need // those that wait have another
		return StartProcess(ctx, o)
	}
	for {
		w := p.take()
		if w == nil {
			return StartProcess(ctx, o)
		}
		if w.child.Ended() == "" {
			return w, nil
		}
		w.Kill() // it was killed while it waited
	}
}

// BudgetFor returns what a worker may use in all whose programs have these limits: they are held by the evaluator, and this is what
// holds the evaluator.
func BudgetFor(l eval.Limits) confine.Budget {
	l = l.WithDefaults()
	return confine.Budget{Memory: 4*l.Memory + 256<<20, Seconds: int(100*l.Wall/time.Second) + 100}
}

// Try says why there can be no worker, nil if there can: it starts one, the first time, which then waits.
func (p *Pool) Try(ctx context.Context) error {
	p.trying.Lock()
	defer p.trying.Unlock()
	if !p.tried {
		w, err := StartProcess(ctx, p.Options)
		if p.tried, p.missing = true, err; err == nil {
			p.put(w)
		}
	}
	return p.missing
}

// Fill starts workers until as many wait as there is room for, and waits for those that are being started. The error is that of the first that could
// not be.
func (p *Pool) Fill(ctx context.Context) error {
	p.mu.Lock()
	n := p.Size - len(p.idle) - p.coming
	p.mu.Unlock()
	for range n {
		w, err := StartProcess(ctx, p.Options)
		if err != nil {
			return err
		}
		p.put(w)
	}
	p.busy.Wait()
	return nil
}

// refillAfter is how long it takes until another worker is started for one that was taken: the session that took it begins meanwhile, and has the
// processors for that.
const refillAfter = 5 * time.Millisecond

func (p *Pool) take() *Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	var w *Process
	if n := len(p.idle); n > 0 {
		w, p.idle = p.idle[0], p.idle[1:]
		w.waited = true
	}
	for !p.closed && len(p.idle)+p.coming < p.Size {
		p.coming++
		p.busy.Go(func() {
			time.Sleep(refillAfter)
			w, err := StartProcess(context.Background(), p.Options)
			p.mu.Lock()
			p.coming--
			p.mu.Unlock()
			if err == nil { // else whoever comes next starts one, and is told
				p.put(w)
			}
		})
	}
	return w
}

// put lets a worker wait, if there is room.
func (p *Pool) put(w *Process) {
	p.mu.Lock()
	room := !p.closed && len(p.idle) < p.Size
	if room {
		p.idle = append(p.idle, w)
	}
	p.mu.Unlock()
	if !room {
		w.Kill()
	}
}

// Close kills the workers that wait. Those that have a session are the sessions'.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.busy.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.idle {
		w.Kill()
	}
	p.idle = nil
}
