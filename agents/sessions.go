package agents

import (
	"context"
	"fmt"
	"slices"

	"callgate/agents/model"
	"callgate/engine"
	"callgate/engine/journal"
)

// A session is one or more runs, one after the other. What a run leaves is nowhere but in its journal: the next run goes over it again, and over all runs
// before it, without any effect, and has then the names with their labels, what the model was shown and said, and what the meter has left.

// earlier is what the runs of a session have left, up to one that has ended. The zero earlier is that of a session that begins.
type earlier struct {
	*engine.Earlier
	talk []model.Message // of the model, how it was answered included
}

// has reports whether programs have an input.
func (b earlier) has(input string) bool {
	return b.Earlier != nil && slices.ContainsFunc(b.Inputs, func(in journal.Input) bool { return in.Name == input })
}

// goOn goes over the runs of a session up to the one that a run goes on from.
func (a *Agent) goOn(ctx context.Context, o RunOptions) (before earlier, err error) {
	e, err := a.engine(nil)
	if err != nil {
		return before, err
	}
	runs, header, err := e.Before(ctx, o.After)
	if err != nil {
		return before, err
	}
	changes, err := e.GoesOn(o.After, header, o.Accept)
	if err != nil {
		return before, err
	}
	if before, err = a.again(ctx, runs, o.Inputs); err != nil {
		return before, err
	}
	before.Changed(changes)
	return before, nil
}

// before goes over the runs of a session that one goes on from.
func (a *Agent) before(ctx context.Context, run string, secret map[string]string) (earlier, error) {
	e, err := a.engine(nil)
	if err != nil {
		return earlier{}, err
	}
	runs, _, err := e.Before(ctx, run)
	if err != nil {
		return earlier{}, err
	}
	return a.again(ctx, runs[:len(runs)-1], secret)
}

// again goes over runs of a session again, each after the one before it.
func (a *Agent) again(ctx context.Context, runs []engine.Again, secret map[string]string) (before earlier, err error) {
	for _, one := range runs {
		one.After, one.Secret = before.Earlier, secret
		if before, err = a.overAgain(ctx, one, before); err != nil {
			return before, err
		}
	}
	return before, nil
}

// overAgain goes over one run, which began where another had ended.
func (a *Agent) overAgain(ctx context.Context, one engine.Again, before earlier) (after earlier, err error) {
	purse := a.purse(ctx)
	e, err := a.engine(purse)
	if err != nil {
		return after, err
	}
	s, err := e.Resume(ctx, one)
	if err != nil {
		return after, err
	}
	var kept error
	r := &run{agent: a, session: s, purse: purse, talk: before.talk}
	if err := r.whole(ctx, s.Inputs(), a.own(), func(s *engine.Session) { after.Earlier, kept = s.Keep() }); err != nil {
		return after, err
	}
	if kept != nil {
		return after, kept
	}
	if met, all, _ := s.Compared(); met < all {
		return after, fmt.Errorf("run %s ended after %d of the %d events that are recorded: no other run can go on from it", one.Run, met, all)
	}
	if failed := r.out.Last.Err; failed != nil {
		after.Ended = after.Ended.Join(failed.Label)
	}
	after.talk = r.talk
	return after, nil
}

// opening is what the model of a run is told first: that the run before it has ended, if the session has run programs, the task, and the inputs that are new.
func opening(inputs []journal.Input, turns int) string {
	task, fresh := "", slices.DeleteFunc(slices.Clone(inputs), func(in journal.Input) bool { return in.Kept })
	for _, in := range fresh {
		if in.Name == "task" {
			task = in.Value.Str
		}
	}
	text := firstMessage(task, fresh)
	if turns > 0 {
		text = "That run has ended; what it has bound is still there.\n" + text
	}
	return text
}

// say adds what a model is told to its conversation.
func say(talk []model.Message, text string) []model.Message {
	if n := len(talk); n > 0 && talk[n-1].Role == model.User {
		talk[n-1].Text += text
		return talk
	}
	return append(talk, model.Message{Role: model.User, Text: text})
}
