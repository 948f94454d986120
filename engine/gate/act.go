package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"callgate/builtins"
	"callgate/engine/eval"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
)

const (
	defaultTimeout = 30 * time.Second

	// grace is how long a tool that was told to stop may take to do so. After that it is left
	// behind, and what it still does is not known.
	grace = 2 * time.Second

	maxText = 2 << 10 // bytes of an error's text that a program sees
)

// failure is an error of a tool.
type failure struct {
	code   string
	text   string // for the program, labels permitting
	detail string // for people: the journal has it in place of text

	label *label.Label // of what it depends on besides the call; nil: nothing
	waits bool         // for somebody: the run waits too, and the call goes on later
}

// act executes a call that was decided and whose start is recorded, and records what
// came of it.
func (g *Gate) act(ctx context.Context, a *act) eval.Result {
	if a.past {
		if res, done := g.repeat(ctx, a); done {
			return res
		}
	}
	begin := g.cfg.Clock()
	var v value.Value
	in := a.invocation()
	var out any
	var failed *failure
	if a.tool.Agent {
		out, failed = g.runAgent(ctx, a, in)
	} else {
		out, failed = a.run(ctx, in)
	}
	if failed == nil {
		v, failed = g.receive(a, out)
	}
	ended := journal.CallEnded{Tool: a.tool.Name, Duration: g.cfg.Clock().Sub(begin)}
	switch {
	case failed == nil:
		ended.Value, ended.Label = &v, v.Deep()
	case failed.waits:
		ended.Code, ended.Text, ended.Label, ended.Waits = failed.code, failed.text, a.outcome, true
	default:
		ended.Code, ended.Text, ended.Label = failed.code, failed.text, a.lowered(a.outcome.Join(a.source))
		if failed.label != nil {
			ended.Ends = !failed.label.FlowsTo(ended.Label)
			ended.Label = ended.Label.Join(*failed.label)
		}
		if failed.detail != "" {
			ended.Text, ended.Told = failed.detail, failed.text
		}
		g.mu.Lock()
		g.counts.Failed++
		g.mu.Unlock()
	}
	if s := in.Spent(); s != (builtins.Spent{}) {
		ended.Spent = &journal.Spent{Tokens: [2]int64{s.In, s.Out}, Cached: s.Cached, Cost: s.Cost, Calls: s.Calls}
	}
	if u := in.Left(); u != nil {
		ended.Under = (*journal.Under)(u)
	}
	if err := g.record(ctx, true, journal.Entry{Type: journal.CallResult, Call: a.id, Payload: ended}); err != nil {
		return eval.Result{Err: &eval.CallError{
			Code: codeJournal, Text: a.name + ": the call was made, and what came of it could not be recorded: " + err.Error(),
			Label: ended.Label.Join(a.history), Final: true,
		}}
	}
	if failed != nil {
		return eval.Result{Err: a.failure(ended)}
	}
	return eval.Result{Value: v}
}

// invocation is what the tool is given.
func (a *act) invocation() *builtins.Invocation {
	in := &builtins.Invocation{Args: make(map[string]any, len(a.final.Keys)), Key: a.key, Now: a.now}
	for i, k := range a.final.Keys {
		in.Args[k.Str] = a.final.Items[i].Plain()
	}
	return in
}

// run runs the tool within its time. A tool that panics has failed; one that does not stop when
// it is told to is left behind.
func (a *act) run(ctx context.Context, in *builtins.Invocation) (any, *failure) {
	if ctx.Err() != nil { // it waited for its turn in the batch, and was not begun
		return nil, &failure{code: codeCancelled, text: "cancelled before it began"}
	}
	limit := cmp.Or(a.tool.Timeout, defaultTimeout)
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	type outcome struct {
		result any
		failed *failure
	}
	done := make(chan outcome, 1)
	go func() {
		o := outcome{failed: &failure{code: codePanic, text: "the tool ended without a result"}}
		defer func() {
			if p := recover(); p != nil {
				o = outcome{failed: &failure{code: codePanic, text: "the tool panicked", detail: fmt.Sprintf("panic: %v\n%s", p, debug.Stack())}}
			}
			done <- o
		}()
		result, err := a.tool.Run(within, in)
		o = outcome{result, failed(ctx, within, limit, err)}
	}()
	select {
	case o := <-done:
		return o.result, o.failed
	case <-within.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case o := <-done:
		return o.result, o.failed
	case <-late.C:
		f := failed(ctx, within, limit, within.Err())
		f.text += "; it did not stop, and what it does is not known"
		return nil, f
	}
}

// failed makes a failure of the error of a tool that ran in a context with a time limit
// within another one; nil if there is none.
func failed(ctx, within context.Context, limit time.Duration, err error) *failure {
	if err == nil {
		return nil
	}
	text := strings.ToValidUTF8(err.Error(), "\ufffd")
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	if known, ok := errors.AsType[*builtins.Error](err); ok && isCode(known.Code) {
		return &failure{code: known.Code, text: text, label: known.Label}
	}
	if _, ok := errors.AsType[*builtins.Waiting](err); ok && !overdue(ctx) {
		return &failure{code: codeWaiting, text: text, waits: true}
	}
	switch {
	case ctx.Err() != nil:
		return &failure{code: codeCancelled, text: "cancelled"}
	case within.Err() != nil:
		return &failure{code: codeTimeout, text: fmt.Sprintf("not done within %s", limit), detail: text}
	}
	return &failure{code: codeFailed, text: text}
}

// isCode reports whether a tool's code has the form that codes have, which leaves little room for data.
func isCode(code string) bool {
	return code != "" && len(code) <= 40 && strings.Trim(code, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// receive makes a labelled value of what the tool returned. One that is not what the tool
// declares is an error; the program learns nothing of it.
func (g *Gate) receive(a *act, out any) (value.Value, *failure) {
	v, err := a.tool.LabelResult(out, a.final)
	if err != nil {
		return value.Value{}, &failure{code: codeResult, text: "the result is not what the tool declares", detail: err.Error()}
	}
	if n := size(v); n > g.cfg.Limits.Result {
		return value.Value{}, &failure{code: codeResult, text: "the result is too large", detail: fmt.Sprintf("result: got %d bytes, want at most %d", n, g.cfg.Limits.Result)}
	}
	g.remember(v)
	// Sources follow data: what came back did not come from the arguments that asked for it, unless the tool makes it of them.
	v = v.Joined(a.outcome.Control())
	if a.tool.Derives {
		v = v.Joined(a.final.Deep().OnlySources())
	}
	v = a.redactUnder(rootResult, v, a.outcome)
	return a.lowerResult(v), nil
}

// size estimates the bytes of a value.
func size(v value.Value) int {
	n := 8 + len(v.Str)
	if v.Kind == value.Int {
		n += v.Int.BitLen() / 8
	}
	for _, k := range v.Keys {
		n += size(k)
	}
	for _, e := range v.Items {
		n += size(e)
	}
	return n
}
