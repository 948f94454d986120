package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"callgate/cmd/internal/console"
	"callgate/engine/journal"
)

func (c *command) listVerb() *cobra.Command {
	var f runsFlags
	var pick filter
	limit := count()
	cmd := &cobra.Command{
		Use: "list", Short: "List runs, newest first",
		Long: `List runs, newest first: all of them, or those that fit. Of a flag that is given more than once any value will do; all
flags that are given must hold. --tool, --effect, --decision and --rule must hold for one call, with --label among its labels, and the calls
for which they do are named. Alone, --label looks at everything in a run.

A run is interrupted if its process has ended, and it has not: nobody is at it, and it can be gone on with.

At a terminal there are headings and ages; otherwise the columns are id, begin, status, agent, events, duration and calls.`,
		Example: `  callgate runs list --state ./state
  callgate runs list --limit 5 --json
  callgate runs list --tool 'payments.*' --decision deny --since 7d
  callgate runs list --effect egress --label untrusted --agent inbox
  callgate runs list --rule payments.iban-origin --label source=mail.read
  callgate runs list --person ana@corp.example --status waiting`,
		Args: arguments(0, 0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			pick.prepare()
			return c.list(cmd.Context(), f, &pick, int(min(limit.value, 1<<30)))
		},
	}
	f.add(cmd, "write a line of JSON for each")
	pick.add(cmd, time.Now())
	cmd.Flags().Var(limit, "limit", "how many at most")
	return cmd
}

// listed is a run that fits, as JSON has it.
type listed struct {
	journal.RunInfo
	Calls []string `json:"calls,omitempty"` // that fit, if it was asked for calls
}

func (c *command) list(ctx context.Context, f runsFlags, pick *filter, limit int) (err error) {
	store, dir, err := c.past(f.state)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	var now time.Time
	if console.IsTerminal(c.stdout) {
		now = time.Now()
	}
	p := &looking{now: time.Now}
	if console.IsTerminal(c.stderr) {
		p.w = c.stderr
	}
	var write func(listed) error
	interrupted := false
	err = errors.Join(picked(ctx, store, pick, limit, p, func(all []journal.RunInfo) {
		if f.json {
			out := json.NewEncoder(c.stdout)
			write = func(r listed) error {
				r.Status = r.State()
				return out.Encode(r)
			}
			return
		}
		table := console.NewList(c.stdout, console.LookOf(c.stdout, c.getenv), now, all)
		write = func(r listed) error {
			interrupted = interrupted || r.State() == journal.StatusInterrupted
			return table.Line(r.RunInfo, r.Calls)
		}
	}, func(r listed) error { return write(r) }), p.done())
	if interrupted {
		c.say("of a run that is interrupted the process has ended\nhint: callgate runs resume ID --state " + word(dir) + " goes on with it")
	}
	return err
}

// picked calls each for the runs that fit, newest first, at most limit of them (0: all), as they are found. Before, it calls begin with those
// that may fit. A run that cannot be read fits nothing and hides no other: its error is returned in the end.
func picked(ctx context.Context, store journal.Store, pick *filter, limit int, p *looking, begin func([]journal.RunInfo), each func(listed) error) error {
	runs, err := runsIn(ctx, store)
	if err != nil {
		return err
	}
	var may []journal.RunInfo
	for _, r := range runs {
		if r.ID != journal.DeskRun && pick.line(r) && (pick.reads() || limit == 0 || len(may) < limit) {
			may = append(may, r)
		}
	}
	begin(may)
	found, n := 0, 0
	var unread []error
	err = looked(ctx, store, pick, may, func(out listed, ok bool, bad error) (more bool, err error) {
		if bad != nil {
			unread = append(unread, bad)
		}
		if n++; ok {
			if err := errors.Join(p.done(), each(out)); err != nil {
				return false, err
			}
			found++
		}
		return limit == 0 || found < limit, p.at(n, len(may), found)
	})
	return errors.Join(append(unread, err)...)
}

// ahead is how many runs are read while one is looked at.
const ahead = 3

// looked calls each for runs, in their order, with whether they fit, or why that is not known, until it is told that no more are wanted.
func looked(ctx context.Context, store journal.Store, pick *filter, runs []journal.RunInfo, each func(listed, bool, error) (more bool, err error)) error {
	type outcome struct {
		calls []string
		ok    bool
		err   error
	}
	look := func(r journal.RunInfo) outcome {
		if !pick.reads() {
			return outcome{ok: true}
		}
		events, err := store.Read(ctx, r.ID, 1)
		if err != nil {
			return outcome{err: err}
		}
		calls, ok, err := pick.events(journal.Current(events, false))
		return outcome{calls, ok, err}
	}
	ctx, stop := context.WithCancel(ctx)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer stop()
	outcomes := make(chan chan outcome, ahead)
	reading.Go(func() {
		defer close(outcomes)
		for _, r := range runs {
			one := make(chan outcome, 1)
			select {
			case outcomes <- one:
				reading.Go(func() { one <- look(r) })
			case <-ctx.Done():
				return
			}
		}
	})
	for _, r := range runs {
		one, ok := <-outcomes
		if !ok {
			return ctx.Err()
		}
		out := <-one
		if err := ctx.Err(); err != nil {
			return err
		}
		if more, err := each(listed{r, out.calls}, out.ok, out.err); !more || err != nil {
			return err
		}
	}
	return nil
}

// looking says at a terminal how far something has come that takes longer than a second.
type looking struct {
	w     io.Writer // nil: nowhere
	now   func() time.Time
	next  time.Time
	shown bool
}

// at says that so many of all runs were read.
func (p *looking) at(n, all, found int) error {
	if p.w == nil {
		return nil
	}
	now := p.now()
	if p.next.IsZero() {
		p.next = now.Add(time.Second)
	}
	if now.Before(p.next) {
		return nil
	}
	p.next, p.shown = now.Add(time.Second/5), true
	_, err := fmt.Fprintf(p.w, "\r\x1b[Kcallgate: read %d of %d runs, %d found", n, all, found)
	return err
}

// done takes away what is said.
func (p *looking) done() error {
	if !p.shown {
		return nil
	}
	p.shown = false
	_, err := io.WriteString(p.w, "\r\x1b[K")
	return err
}
