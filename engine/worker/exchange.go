package worker

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"callgate/engine/eval"
	"callgate/engine/label"
	"callgate/engine/value"
)

// knownKinds are the kinds of call that programs make.
var knownKinds = []eval.CallKind{eval.KindTool, eval.KindBuiltin, eval.KindEndorse, eval.KindDeclassify, eval.KindAnswer}

// mostCalls bounds a batch of calls.
const mostCalls = 1024

// exchange is what happens between a program's start and its end, and what of it decides whether the worker keeps to the rules.
type exchange struct {
	s       *Session
	file    string
	begun   time.Time
	sent    chan struct{}   // closed when the first frame was sent, or could not be
	live    <-chan struct{} // closed when a program that runs again goes on beyond what it did; nil: it does not run again
	from    atomic.Int64    // when the wall limit began to count, in Unix nanoseconds; 0: not yet
	refused *eval.CallError // the program may not start

	calls, asks int          // of this turn
	waves       int          // calls that were made one at a time, and batches
	repeated    int          // asks of this turn that the host had answered before
	over        bool         // a result ended the program: it may make no more calls
	denied      bool         // some call was refused
	waits       bool         // some call waits for a person
	failed      bool         // some call ended the program otherwise
	answered    *value.Value // that the user was given
	codes       []string     // of the errors that calls had
}

// run sends the first frame and answers calls until the program has ended.
func (r *exchange) run(ctx context.Context, kill *time.Timer, k kind, write func(*encoder)) eval.Outcome {
	s := r.s
	if s.lost != nil {
		close(r.sent)
		return s.crashed(r.file, r.begun, 0)
	}
	err := s.c.send(k, write)
	close(r.sent)
	if err != nil {
		s.failed(err)
		return s.crashed(r.file, r.begun, 0)
	}
	for {
		got, d, err := s.c.receive()
		switch {
		case err != nil:
		case got == frameDo && r.refused == nil:
			err = r.do(ctx, kill, d)
		case got == frameEnded:
			var m ended
			if err = d.done(got, m.read); err == nil {
				err = r.check(&m)
			}
			if err == nil {
				s.names = m.names
				return m.out
			}
		default:
			err = &ProtocolError{"got " + got.String() + " out of turn"}
		}
		if err != nil {
			s.failed(err)
			return s.crashed(r.file, r.begun, r.calls)
		}
	}
}

// do makes the calls of one frame. While the host is at work, the worker's time stands still.
func (r *exchange) do(ctx context.Context, kill *time.Timer, d *decoder) error {
	var calls []eval.Call
	err := d.done(frameDo, func(d *decoder) {
		n := d.count()
		if n == 0 || n > mostCalls {
			d.fail(fmt.Sprintf("%d calls at once", n))
		}
		for i := 0; i < n && d.err == nil; i++ {
			calls = append(calls, readCall(d))
		}
	})
	if err != nil {
		return err
	}
	ask := askOf(calls) // before what the worker says of labels is replaced
	if !r.next(calls) {
		return &ProtocolError{"do: a call whose id is not the next"}
	}
	for i := range calls {
		if err := r.admit(&calls[i]); err != nil {
			return err
		}
	}
	kill.Stop()
	results := r.answer(ctx, calls, ask)
	left := r.s.limits.Wall // from one call to the next, while the wall limit does not count
	if from := r.from.Load(); from != 0 {
		left = max(time.Until(time.Unix(0, from).Add(left)), 0)
	}
	kill.Reset(left + r.s.grace)
	for i, res := range results {
		r.note(calls[min(i, len(calls)-1)], res)
	}
	return r.s.c.send(frameDone, func(e *encoder) {
		e.uint(uint64(len(results)))
		for i := range results {
			writeResult(e, &results[i])
		}
	})
}

// answer has the host make calls. What a session asked before a rest it asks again: the host is not, and sees the numbers of asks
// that it would see without the rest.
func (r *exchange) answer(ctx context.Context, calls []eval.Call, ask string) []eval.Result {
	rest := r.s.rest
	if ask == "" || rest == nil {
		results := r.s.host.Do(ctx, calls)
		rest.heed(results)
		return results
	}
	if rest.permitted[ask] {
		r.repeated++
		return []eval.Result{{Value: value.NoneOf(label.Bottom())}}
	}
	if r.repeated > 0 {
		calls[0].ID = fmt.Sprintf("%d.%d+%d", r.s.account.turns, r.waves, r.asks-r.repeated)
	}
	results := r.s.host.Do(ctx, calls)
	if len(results) == 1 && results[0].Err == nil {
		rest.permit(ask)
	}
	rest.heed(results)
	return results
}

// next reports whether the ids of the calls of a frame are those that come next, and counts them. A call by itself has the next number; calls of
// strands, which are made together, have one number and a path each, in the order of the strands; an ask stands alone.
func (r *exchange) next(calls []eval.Call) bool {
	if first := calls[0]; len(calls) == 1 && first.Kind == eval.KindBuiltin {
		r.asks++
		return first.ID == fmt.Sprintf("%d.%d+%d", r.s.account.turns, r.waves, r.asks)
	}
	r.waves++
	number := fmt.Sprintf("%d.%d", r.s.account.turns, r.waves)
	if len(calls) == 1 && calls[0].ID == number {
		return true
	}
	var last []int
	for _, c := range calls {
		text, ok := strings.CutPrefix(c.ID, number+".")
		path, is := pathOf(text, r.s.limits.Depth)
		if !ok || !is || c.Kind == eval.KindBuiltin || c.Kind == eval.KindAnswer {
			return false
		}
		if last != nil {
			i := 0
			for i < len(last) && i < len(path) && last[i] == path[i] {
				i++
			}
			if i == len(last) || i == len(path) || path[i] < last[i] {
				return false
			}
		}
		last = path
	}
	return true
}

// pathOf reads the path of a strand, of so many numbers at most: "2.1".
func pathOf(text string, most int) ([]int, bool) {
	if len(text) > 8*most {
		return nil, false
	}
	var path []int
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 || n > mostCalls || strconv.Itoa(n) != part || len(path) == most {
			return nil, false
		}
		path = append(path, n)
	}
	return path, true
}

// admit checks a call, and replaces what is not believed of it.
func (r *exchange) admit(c *eval.Call) error {
	s := r.s
	bad := func(what string) error { return &ProtocolError{"do: " + what} }
	if c.Kind != eval.KindBuiltin {
		r.calls++
		s.account.calls++
	}
	switch {
	case r.over:
		return bad("a call after the one that ended the program")
	case !slices.Contains(knownKinds, c.Kind):
		return bad("a call of no known kind")
	case s.account.calls > s.limits.Calls:
		return bad("more calls than the limit allows")
	case int64(r.asks) > s.limits.Steps:
		return bad("more asks than the program can have steps")
	case c.Kind == eval.KindTool && !s.tools[c.Tool]:
		return bad("a call of a tool that the session has not")
	case c.Kind == eval.KindBuiltin && (!eval.Builtin(c.Tool) || len(c.Args) != 1 || c.Args[0].Value.Kind != value.None):
		return bad("an ask for no builtin")
	case c.Kind == eval.KindAnswer && c.Tool != "done", (c.Kind == eval.KindEndorse || c.Kind == eval.KindDeclassify) && c.Tool != string(c.Kind):
		return bad("a call whose kind and name differ")
	}
	names := map[string]bool{}
	for i := range c.Args {
		a := &c.Args[i]
		if names[a.Name] || a.Name == "" {
			return bad("an argument without a name of its own")
		}
		names[a.Name] = true
		if a.Value.Kind == value.Invalid {
			return bad("an argument that is no value")
		}
		a.Value = s.believeValue(a.Value)
	}
	if !s.account.place(c.Site) {
		return bad("a place that is in no program")
	}
	c.PC, c.History = s.believe(c.PC), s.believe(c.History)
	return nil
}

// note takes over what a result means for what may follow.
func (r *exchange) note(c eval.Call, res eval.Result) {
	s := r.s
	s.account.given(res)
	e := res.Err
	if e == nil {
		if c.Kind == eval.KindAnswer {
			r.over = true
			v := value.NoneOf(s.believe(c.PC))
			if len(c.Args) > 0 {
				v = c.Args[0].Value
			}
			r.answered = &v
		}
		return
	}
	r.codes = append(r.codes, e.Code)
	r.denied = r.denied || e.Deny
	r.waits = r.waits || e.Wait
	r.failed = r.failed || e.Final
	r.over = r.over || e.Wait || e.Final
}

// check checks how the worker says that the program ended, and puts in what is known better here.
func (r *exchange) check(m *ended) error {
	s, o := r.s, &m.out
	bad := func(what string) error { return &ProtocolError{"ended: " + what} }
	var printed int64
	for i := range o.Prints {
		printed += int64(len(o.Prints[i].Text))
	}
	s.account.printed += printed
	wants := map[eval.Status]bool{
		eval.OK: !r.over && r.refused == nil, eval.Answered: r.answered != nil, eval.Failed: r.answered == nil && !r.waits,
		eval.Denied: r.denied || r.refused != nil, eval.Waiting: r.waits || r.refused != nil,
		eval.Limited: true, eval.Cancelled: true, eval.Crashed: true,
	}
	possible, known := wants[o.Status]
	switch {
	case !known:
		return bad("no such status")
	case !possible:
		return bad("the calls that it made do not end a program so")
	case (o.Err == nil) != (o.Status == eval.OK || o.Status == eval.Answered):
		return bad("an error that does not fit its status")
	case o.Err != nil && o.Err.Status != o.Status:
		return bad("an error that does not fit its status")
	case (o.Answer != nil) != (o.Status == eval.Answered):
		return bad("an answer that does not fit its status")
	case s.account.printed > s.limits.Output:
		return bad("more output than the limit allows")
	case o.Steps < 0 || o.Looks < 0 || o.Peak < 0 || len(o.Rises) > 1000 || len(o.Permits) > 10_000:
		return bad("counts that cannot be")
	}
	if !slices.IsSorted(m.names) || slices.ContainsFunc(m.names, func(n string) bool { return !isName(n) }) {
		return bad("names that no program can spell")
	}
	for _, rise := range o.Rises {
		if !s.account.place(rise.Site) {
			return bad("a place that is in no program")
		}
	}
	for name, n := range o.Permits {
		if n < 0 || !eval.Builtin(name) {
			return bad("counts that cannot be")
		}
	}
	o.Calls, o.Duration = r.calls, time.Since(r.begun)
	if o.Status == eval.Answered {
		o.Answer = r.answered // what the gate let through, not what the worker says that it was
	}
	o.Floor, o.History = s.believe(o.Floor), s.believe(o.History)
	s.lowest, s.history = o.Floor, o.History
	for i := range o.Rises {
		o.Rises[i].Floor = s.believe(o.Rises[i].Floor)
	}
	for i := range o.Prints {
		p := &o.Prints[i]
		if !s.account.place(p.Site) {
			return bad("a place that is in no program")
		}
		p.Label, p.PC = s.believe(p.Label), s.believe(p.PC)
		for j := range p.Args {
			p.Args[j] = s.believeValue(p.Args[j])
		}
	}
	if o.Err != nil {
		return r.checkError(o.Err)
	}
	return nil
}

// checkError checks what an error says without its label being asked: its code and where it was. They may be shown to who
// may not see the rest.
func (r *exchange) checkError(e *eval.Error) error {
	s := r.s
	if !isCode(e.Code) && !slices.Contains(r.codes, e.Code) && (r.refused == nil || e.Code != r.refused.Code) {
		return &ProtocolError{"ended: an error of no known code"}
	}
	if e.Site.Line > 0 && !s.account.place(e.Site) || slices.ContainsFunc(e.Stack, func(at eval.Site) bool { return !s.account.place(at) }) {
		return &ProtocolError{"ended: a place that is in no program"}
	}
	e.Label = s.believe(e.Label)
	if s.floor {
		e.Hint, e.Advice = "", strings.TrimSpace(e.Hint+" "+e.Advice)
	}
	return nil
}

// isCode reports whether a text looks like the code of an error.
func isCode(s string) bool {
	return len(s) <= 48 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") == ""
}

// isName reports whether a text is a name that programs can bind.
func isName(s string) bool {
	for i, c := range s {
		if c != '_' && !unicode.IsLetter(c) && (i == 0 || !unicode.IsDigit(c)) {
			return false
		}
	}
	return s != "" && len(s) <= 1<<10
}
