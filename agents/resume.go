package agents

import (
	"context"
	"errors"
	"slices"

	"callgate/engine"
	"callgate/engine/journal"
)

// Resume goes on with a run of the agent whose process ended, or that waits for somebody: the same loop over what is recorded, and on from there. See
// [engine.Engine.Resume], whose errors are those of Resume. The run's model and its inputs are those that it began with; replies of the model that are recorded are not
// asked for again.
func (a *Agent) Resume(ctx context.Context, again engine.Again) (Result, error) {
	before, err := a.before(ctx, again.Run, again.Secret)
	if err != nil {
		return Result{}, err
	}
	purse := a.purse(ctx)
	e, err := a.engine(purse)
	if err != nil {
		return Result{}, err
	}
	again.After = before.Earlier
	s, err := e.Resume(ctx, again)
	if err != nil {
		return Result{}, err
	}
	r := &run{agent: a, session: s, purse: purse, talk: before.talk}
	err = r.whole(ctx, s.Inputs(), a.own(), nil)
	return r.out, err
}

// Replayed is what came of going over a run again without any effect.
type Replayed struct {
	Run         string               `json:"run"`
	Events      int                  `json:"events"` // that count
	Met         int                  `json:"met"`    // of them
	Ended       bool                 `json:"ended"`  // the run has ended; else it was broken off where its journal ends
	Differences []journal.Difference `json:"differences"`
	Error       string               `json:"error,omitempty"`  // why it could not be gone over, of a run of an agent that was called
	Agents      []Replayed           `json:"agents,omitempty"` // the runs of agents that it called
}

// Same reports whether nothing differs, in the runs of agents that were called either.
func (r Replayed) Same() bool {
	return len(r.Differences) == 0 && r.Error == "" && !slices.ContainsFunc(r.Agents, func(a Replayed) bool { return !a.Same() })
}

// Replay goes over a run of the agent again, with no effect and without its model, and over those of the agents that it called, and returns what
// differs from what is recorded. The error says that it could not be gone over.
func (a *Agent) Replay(ctx context.Context, id string, secret map[string]string) (Replayed, error) {
	out := Replayed{Run: id, Differences: []journal.Difference{}}
	s, over, err := a.replayed(context.WithValue(ctx, replaysKey{}, &out.Agents), id, secret)
	if err != nil {
		return out, err
	}
	err = over() // before out is read
	return out.compared(s, err)
}

// compared is what came of going over a session's run, which ended with an error or without.
func (out Replayed) compared(s *engine.Session, err error) (Replayed, error) {
	out.Ended = err == nil
	var differences []journal.Difference
	out.Met, out.Events, differences = s.Compared()
	out.Differences = append(out.Differences, differences...)
	if _, diverged := errors.AsType[*journal.DivergedError](err); diverged || errors.Is(err, journal.ErrPast) {
		err = nil
	}
	return out, err
}

// replayed returns the session of a run that is gone over, and what goes over it.
func (a *Agent) replayed(ctx context.Context, id string, secret map[string]string) (*engine.Session, func() error, error) {
	purse := a.purse(ctx)
	typed, err := a.typed(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	if typed {
		e, err := a.interactive(purse)
		if err != nil {
			return nil, nil, err
		}
		s, err := e.Resume(ctx, engine.Again{Run: id, Only: true, Secret: secret})
		return s, func() error { return (&Interactive{session: s, purse: purse}).whole(ctx) }, err
	}
	before, err := a.before(ctx, id, secret)
	if err != nil {
		return nil, nil, err
	}
	e, err := a.engine(purse)
	if err != nil {
		return nil, nil, err
	}
	s, err := e.Resume(ctx, engine.Again{Run: id, Only: true, Secret: secret, After: before.Earlier})
	r := &run{agent: a, session: s, purse: purse, talk: before.talk}
	return s, func() error { return r.whole(ctx, s.Inputs(), a.own(), nil) }, err
}
