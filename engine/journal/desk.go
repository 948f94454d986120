package journal

import (
	"context"
	"errors"
	"fmt"
)

// DeskRun is the id of the run that holds what people say to the questions of the other runs of its store: a chain of
// [Granted] events. It has no agent and never ends.
const DeskRun = "approvals"

// Desk returns what people have said in a store, in order and verified.
func Desk(ctx context.Context, s Store) ([]Event, error) {
	events, err := s.Read(ctx, DeskRun, 1)
	if err != nil || len(events) == 0 {
		return nil, err
	}
	return events, Verify(events)
}

// Tell adds what a person says to the desk of a store, which begins with the first. Next makes it of what is there; it is called
// again when somebody else was quicker, of another process too, and its error is returned. The event is durable.
func Tell(ctx context.Context, s Store, o Options, next func(past []Event) (GrantGiven, error)) (Event, error) {
	for {
		past, err := Desk(ctx, s)
		if err != nil {
			return Event{}, err
		}
		grant, err := next(past)
		if err != nil {
			return Event{}, err
		}
		r := newRun(s, DeskRun, o)
		var entries []Entry
		if len(past) == 0 {
			entries = append(entries, Entry{Type: RunStart, Payload: RunStarted{Agent: DeskRun}})
		} else {
			last := past[len(past)-1]
			r.seq, r.head = last.Seq, last.Hash
		}
		events, err := r.AppendAll(ctx, true, append(entries, Entry{Type: Granted, Payload: grant})...)
		switch {
		case err == nil:
			return events[len(events)-1], nil
		case !errors.Is(err, ErrConflict):
			return Event{}, err
		case ctx.Err() != nil:
			return Event{}, fmt.Errorf("journal: run %s: %w", DeskRun, ctx.Err())
		}
	}
}
