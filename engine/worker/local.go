package worker

import (
	"context"

	"callgate/engine/eval"
	"callgate/engine/label"
)

// Local is a session in this process, with the methods of a [Session]: the tier none.
type Local struct {
	*eval.Session
	account Account
}

// NewLocal makes a session in this process. Of c it takes what is eval's, the snapshot and the account.
func NewLocal(c Config) (*Local, error) {
	l := &Local{account: c.account()}
	c.Host = listener{c.Host, &l.account}
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
	host    eval.Host
	account *Account
}

func (h listener) Do(ctx context.Context, calls []eval.Call) []eval.Result {
	results := h.host.Do(ctx, calls)
	for i := range results {
		h.account.given(results[i])
	}
	return results
}

// Exec compiles and runs a program as the session's next turn; a text that does not compile is an outcome. past is
// what is known of a program that runs again.
func (l *Local) Exec(ctx context.Context, file, text string, author label.Label, past eval.Past) (eval.Outcome, error) {
	l.account.begin(file, text, author)
	prog, err := eval.Compile(file, []byte(text), l.Env())
	if err != nil {
		return l.Reject(err, file, author), nil
	}
	out, err := l.RunAgain(ctx, prog, author, past)
	l.account.calls += out.Calls
	for _, p := range out.Prints {
		l.account.printed += int64(len(p.Text))
	}
	return out, err
}

// Refuse is the outcome of a program that the host did not let start.
func (l *Local) Refuse(c *eval.CallError, file string, author label.Label) eval.Outcome {
	l.account.begin(file, "", author)
	return l.Session.Refuse(c, file, author)
}

// Account returns what is known of the session, for one that is made again from its snapshot.
func (l *Local) Account() *Account { return &l.account }

// Close does nothing: there is nothing to give back.
func (l *Local) Close() {}

// Account returns what is known of the session, for one that is made again from its snapshot.
func (s *Session) Account() *Account { return &s.account }
