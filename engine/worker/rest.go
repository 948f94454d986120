package worker

import (
	"context"
	"slices"
	"sync"
	"time"

	"callgate/engine/eval"
)

// rest is what a session needs that gives its worker back while nobody wants anything of it. It is then written as bytes, and made again of them in
// another worker when it is next used; nothing that can be seen of it is different then.
type rest struct {
	after time.Duration
	again func(context.Context) (*greeted, error) // starts a worker
	start start                                   // what sessions are made of

	// permitted are the builtins that the host permitted, each with a class of labels, as an evaluator that did not rest remembers them.
	permitted map[string]bool

	using   sync.Mutex // held while the session is used, and while it is written
	timer   *time.Timer
	resting bool
	over    bool
}

// greeted is a worker that has said hello.
type greeted struct {
	link   Link
	c      *conn
	waited bool // and may have been killed since
}

// restAfter lets the session rest when it has not been used for a time.
func (s *Session) restAfter(d time.Duration, first start, again func(context.Context) (*greeted, error)) {
	first.next, first.anew = false, nil // it has begun
	s.rest = &rest{after: d, again: again, start: first}
	s.rest.timer = time.AfterFunc(d, s.lieDown)
}

// lieDown writes the session as bytes and ends its worker, if it is not used. One that cannot be written keeps its worker.
func (s *Session) lieDown() {
	r := s.rest
	if !r.using.TryLock() { // it will lie down when it was used
		return
	}
	defer r.using.Unlock()
	if r.over || r.resting || s.lost != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*s.grace) // whoever wants to use the session must wait meanwhile
	defer cancel()
	b, err := s.snapshot(ctx, 0)
	if err != nil {
		return
	}
	s.link.Kill()
	r.start.snapshot, r.resting = b, true
}

// use returns when the session has a worker, or is lost, and nobody else uses it. What it returns is called after the use.
func (s *Session) use(ctx context.Context) (done func()) {
	r := s.rest
	if r == nil {
		return func() {}
	}
	r.using.Lock()
	r.timer.Stop()
	if r.resting {
		s.getUp(context.WithoutCancel(ctx))
	}
	return func() {
		r.using.Unlock()
		r.timer.Reset(r.after)
	}
}

// getUp makes the session again.
func (s *Session) getUp(ctx context.Context) {
	r := s.rest
	r.resting = false
	names, lowest := s.names, s.lowest
	for again := true; again; {
		s.lost = nil
		w, err := r.again(ctx)
		if err != nil {
			s.lose("there is no worker to go on in: " + err.Error())
			break
		}
		s.link, s.c = w.link, w.c
		again = s.begin(ctx, r.start) != nil && w.waited
	}
	if s.lost == nil && (!slices.Equal(names, s.names) || !lowest.Equal(s.lowest)) {
		s.lose("started: it is another session than the one that was written")
	}
	r.start.snapshot = nil
	s.names, s.lowest = names, lowest
}

// endRest is the end of a session that may be resting.
func (s *Session) endRest() {
	r := s.rest
	if r == nil {
		return
	}
	s.link.Kill() // whoever waits for it waits no more
	r.using.Lock()
	defer r.using.Unlock()
	r.timer.Stop()
	r.over, r.resting, r.start = true, false, start{}
}

// mostPermitted bounds what is remembered for a worker that asks without end.
const mostPermitted = 10_000

// askOf names a builtin that is asked for and the class that it is asked for with; "" if calls are none.
func askOf(calls []eval.Call) string {
	if len(calls) != 1 || calls[0].Kind != eval.KindBuiltin || len(calls[0].Args) != 1 {
		return ""
	}
	return calls[0].Tool + " " + calls[0].Args[0].Value.LabelledDigest()
}

// permit remembers what the host permitted.
func (r *rest) permit(ask string) {
	if r.permitted == nil || len(r.permitted) >= mostPermitted {
		r.permitted = map[string]bool{}
	}
	r.permitted[ask] = true
}

// heed forgets what was permitted, as the evaluator does, if a result says so.
func (r *rest) heed(results []eval.Result) {
	if r != nil && slices.ContainsFunc(results, func(x eval.Result) bool { return x.Forget }) {
		clear(r.permitted)
	}
}
