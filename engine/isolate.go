package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"callgate/builtins"
	"callgate/engine/confine"
	"callgate/engine/eval"
	"callgate/engine/gate"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/engine/worker"
)

// Isolation says where programs run. The zero Isolation runs them in this process, and refuses what policy wants run elsewhere.
type Isolation struct {
	// Workers start what the tiers above [gate.TierNone] run programs in. A tier that is missing cannot be had.
	Workers map[gate.Tier]*worker.Pool

	// Least is what every program runs in at least. It was asked for: a run that cannot have it does not begin.
	Least gate.Tier

	// Guard runs a program in a process of its own if anything below trust user is in play – who wrote it, what it can
	// read, what tools may answer, what its model was shown – wherever that can be had. Nobody has asked for it: where it cannot be had the program runs
	// here, and the journal says so.
	Guard bool

	// Floor says that no label from a worker is believed: see [worker.Config].
	Floor bool

	// Idle is how long a session keeps a worker that nothing is asked of, as while a model thinks. Then the session is written as bytes, and
	// made again of them in another worker when it goes on, which cannot be seen otherwise. Zero: it keeps its worker.
	Idle time.Duration
}

// programs is a session of programs, here or in a worker.
type programs interface {
	Exec(ctx context.Context, file, text string, author label.Label, past eval.Past) (eval.Outcome, error)
	Refuse(refused *eval.CallError, file string, author label.Label) eval.Outcome
	Limits() eval.Limits
	Floor() label.Label
	Names() []string
	Get(name string) (value.Value, error)
	Snapshot(limit int64) ([]byte, error)
	Account() *worker.Account
	Close()
}

// IsolationError says that programs cannot be isolated as somebody asked.
type IsolationError struct {
	Tier gate.Tier
	Err  error // what is missing
}

func (e *IsolationError) Error() string {
	return fmt.Sprintf("isolation %s cannot be had: %v", e.Tier, e.Err)
}

func (e *IsolationError) Unwrap() error { return e.Err }

// canHave says what is missing for a tier.
func (i Isolation) canHave(t gate.Tier) error {
	if t == gate.TierNone {
		return nil
	}
	pool := i.Workers[t]
	if pool == nil {
		return fmt.Errorf("there are no workers for it here")
	}
	return pool.Try(context.Background())
}

// answers is the join of the labels that results of the tools have.
func answers(tools *builtins.Set) label.Label {
	l := label.Bottom()
	for _, t := range tools.All() {
		l = l.Join(t.Label.Class)
		for _, f := range t.Label.Fields {
			l = l.Join(f.Class)
		}
	}
	return l
}

// wanted is the tier that the next program runs in, policy aside, given the label of everything that is in play.
func (s *Session) wanted(inPlay label.Label) gate.Tier {
	i := s.cfg.Isolation
	want := max(i.Least, s.tier) // what untrusted programs have left must not come back
	if i.Guard && want < gate.TierProcess && inPlay.Trust() < label.User {
		if s.unguarded = i.canHave(gate.TierProcess); s.unguarded == nil {
			want = gate.TierProcess
		}
	}
	return want
}

// move takes the session to a tier: it is written as bytes here, and made again there.
func (s *Session) move(ctx context.Context, to gate.Tier) error {
	if to <= s.tier {
		return nil
	}
	cfg := worker.Config{Config: s.config, Account: s.eval.Account(), Floor: s.cfg.Isolation.Floor}
	if s.turn > 1 || s.held {
		var err error
		if cfg.Snapshot, err = s.eval.Snapshot(0); err != nil {
			return err
		}
	}
	return s.open(ctx, to, cfg)
}

// open makes the session in a tier above [gate.TierNone].
func (s *Session) open(ctx context.Context, to gate.Tier, cfg worker.Config) error {
	pool := s.cfg.Isolation.Workers[to]
	if pool == nil {
		return &IsolationError{to, s.cfg.Isolation.canHave(to)}
	}
	cfg.Idle = s.cfg.Isolation.Idle
	limits := cfg.Limits
	cfg.Again = func(ctx context.Context) (*worker.Process, error) {
		p, err := pool.Get(ctx, limits)
		if err == nil {
			s.confined = p.Achieved()
		}
		return p, err
	}
	var next *worker.Session
	for next == nil {
		p, err := cfg.Again(ctx)
		if err != nil {
			return &IsolationError{to, err}
		}
		if next, err = p.Open(ctx, cfg); err != nil {
			p.Kill()
			if _, lost := errors.AsType[*worker.ProtocolError](err); lost && p.Waited() {
				continue
			}
			return err
		}
	}
	if s.eval != nil {
		s.eval.Close()
	}
	s.eval, s.tier = next, to
	return nil
}

// Isolated returns the tier that the session's programs run in, what confines them there, and if they run here because nothing
// stronger could be had, why.
func (s *Session) Isolated() (gate.Tier, []confine.Mechanism, error) {
	return s.tier, s.confined, s.unguarded
}

// confinement is what the journal says of it.
func (s *Session) confinement() string {
	var names []string
	for _, m := range s.confined {
		names = append(names, string(m))
	}
	if s.tier == gate.TierNone && s.unguarded != nil {
		return "none: " + s.unguarded.Error()
	}
	return strings.Join(names, " ")
}
