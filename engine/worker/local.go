package worker

import (
	"context"

	"callgate/engine/eval"
	"callgate/engine/label"
)

// Local is a session in this process, with the methods of a [Session]: the tier none.
type Local struct {
	*eval.Session
	past Past
}

// NewLocal makes a session in this process. Of c it takes what is eval's, and the snapshot.
func NewLocal(c Config) (*Local, error) {
	l := &Local{past: newPast(c.Inputs)}
	c.Host = listener{c.Host, &l.past}
	var err error
	if c.Snapshot != nil {
		l.Session, err = eval.Restore(c.Config, c.Snapshot)
	} else {
		l.Session, err = eval.NewSession(c.Config)
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// listener notes the labels of all that a session is given.
type listener struct {
	host eval.Host
	past *Past
}

func (h listener) Do(ctx context.Context, calls []eval.Call) []eval.Result {
	results := h.host.Do(ctx, calls)
	for i := range results {
		h.past.given(results[i])
	}
	return results
}

// Exec compiles and runs a program as the session's next turn; a text that does not compile is an outcome.
func (l *Local) Exec(ctx context.Context, file, text string, author label.Label) (eval.Outcome, error) {
	l.past.begin(file, text, author)
	prog, err := eval.Compile(file, []byte(text), l.Env())
	if err != nil {
		return l.Reject(err, file, author), nil
	}
	out, err := l.Run(ctx, prog, author)
	l.past.calls += out.Calls
	for _, p := range out.Prints {
		l.past.printed += int64(len(p.Text))
	}
	return out, err
}

// Refuse is the outcome of a program that the host did not let start.
func (l *Local) Refuse(c *eval.CallError, file string, author label.Label) eval.Outcome {
	l.past.begin(file, "", author)
	return l.Session.Refuse(c, file, author)
}

// Known returns what is known of the session, for one that is made again from its snapshot.
func (l *Local) Known() *Past { return &l.past }

// Close does nothing: there is nothing to give back.
func (l *Local) Close() {}

// Known returns what is known of the session, for one that is made again from its snapshot.
func (s *Session) Known() *Past { return &s.past }
