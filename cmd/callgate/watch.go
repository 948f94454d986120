package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"callgate/cmd/internal/console"
	"callgate/engine/journal"
)

func (c *command) watchVerb() *cobra.Command {
	var f runsFlags
	var follow bool
	cmd := &cobra.Command{
		Use: "watch [ID]", Short: "Watch a run while it runs, from another terminal",
		Long: `Watch a run while another process runs it: what has happened, and what happens, as runs show has it. Without an ID it is the
newest that is running. It ends as the run does, with the run's exit code; at the end of one that waits for approval too, but with --follow
it goes on when the run does. An interrupt ends the watching, not the run.

Whoever is at the terminal sees what they may read by its labels.`,
		Example: `  callgate runs watch --state ./state
  callgate runs watch 20261201 --follow
  callgate runs watch --json | jq 'select(.type == "decision")'`,
		Args: arguments(0, 1, "the ID of a run, or none"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			if len(args) > 0 {
				id = args[0]
			}
			return c.watchRun(cmd.Context(), id, follow, f)
		},
		ValidArgsFunction: c.completeRuns(&f, 1),
	}
	f.add(cmd, "write the run's events as JSON lines")
	cmd.Flags().BoolVar(&follow, "follow", false, "go on when a run that waits for approval does")
	return cmd
}

func (c *command) watchRun(ctx context.Context, id string, follow bool, f runsFlags) (err error) {
	store, dir, err := c.past(f.state)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	runs, err := runsIn(ctx, store)
	if err != nil {
		return err
	}
	if id != "" {
		id, err = find(runs, id, dir)
	} else if i := slices.IndexFunc(runs, func(r journal.RunInfo) bool { return r.Status == journal.StatusRunning && r.Holder != nil }); i >= 0 {
		id = runs[i].ID
	} else {
		err = fmt.Errorf("%s: no run is running\nhint: callgate runs list --state %s shows those there are; callgate runs show ID shows one again", dir, word(dir))
	}
	if err != nil {
		return err
	}
	w := &watcher{store: store, run: id, follow: follow}
	var reader *journal.Reader
	var picture *console.Timeline
	end, err := w.watch(ctx, func(events []journal.Event) error {
		if reader == nil {
			who := c.readers(nil)(events)
			reader = journal.NewReader(who.MayRead)
			if !f.json {
				picture = console.NewTimeline(c.stdout, console.Options{Look: console.LookOf(c.stdout, c.getenv), MayRead: who.MayRead})
			}
		}
		for _, e := range events {
			e, _, err := reader.Event(e)
			switch {
			case err != nil:
				return err
			case picture != nil:
				picture.Event(e)
			default:
				if err := journal.Export(c.stdout, []journal.Event{e}); err != nil {
					return err
				}
			}
		}
		if picture != nil {
			return picture.Flush()
		}
		return nil
	})
	switch {
	case errors.Is(err, errAlone):
		if picture != nil {
			err = errors.Join(picture.Close(), err)
		}
		return err
	case err != nil && ctx.Err() != nil:
		return nil // whoever watched has seen enough
	case err != nil:
		return err
	}
	return quit(end.Exit)
}

// The pace of a watcher: it looks again at once where much happens, and seldom where nothing does.
const (
	watchOften  = 50 * time.Millisecond
	watchSeldom = time.Second
	watchAlone  = 10 * time.Second // how long nothing has happened before it is looked whether anybody is at the run
)

// errAlone is the end of watching a run that goes on no more by itself.
var errAlone = errors.New("nobody is at the run any more, and it has not ended: its process is gone\nhint: callgate runs show shows how far it came")

// watcher reads what is appended to a run by other processes.
type watcher struct {
	store  journal.Store
	run    string
	follow bool
}

// watch calls each with the events of the run, those there are and those that come, until the run has ended.
func (w *watcher) watch(ctx context.Context, each func([]journal.Event) error) (journal.RunEnded, error) {
	next, wait, idle := int64(1), watchOften, time.Duration(0)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return journal.RunEnded{}, ctx.Err()
		case <-timer.C:
		}
		events, err := w.store.Read(ctx, w.run, next)
		if err != nil {
			return journal.RunEnded{}, err
		}
		if len(events) > 0 {
			next, wait, idle = next+int64(len(events)), watchOften, 0
			if err := each(events); err != nil {
				return journal.RunEnded{}, err
			}
			if last := events[len(events)-1]; last.Type == journal.RunEnd {
				end := journal.RunEnded{Exit: exitFailed} // redacted: it has ended, and nobody knows how
				if !last.Redacted() {
					if end, err = journal.Decode[journal.RunEnded](last); err != nil {
						return end, err
					}
				}
				if end.Status != journal.StatusWaiting || !w.follow {
					return end, nil
				}
			}
		} else {
			idle += wait
			wait = min(2*wait, watchSeldom)
		}
		if idle >= watchAlone && !w.follow {
			if alone, err := w.alone(ctx); alone || err != nil {
				return journal.RunEnded{}, errors.Join(err, errAlone)
			}
			idle = 0
		}
		timer.Reset(wait)
	}
}

// alone reports whether nobody is at the run.
func (w *watcher) alone(ctx context.Context) (bool, error) {
	runs, err := w.store.Runs(ctx, 0)
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(runs, func(r journal.RunInfo) bool { return r.ID == w.run })
	return i >= 0 && runs[i].Holder == nil, nil
}
