package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"callgate/engine/journal"
	"callgate/spec"
)

func (c *command) pruneVerb() *cobra.Command {
	var f runsFlags
	var r journal.Retention
	older, most := &quantity[time.Duration]{parse: age, unit: "age"}, size()
	cmd := &cobra.Command{
		Use: "prune", Short: "Take runs of the past out of the journal",
		Long: `Take runs that have ended out of the journal, those first that ended first: all that ended longer ago than --older-than, and as many as it takes
for the journal to hold no more than --max-size. Runs that are under way or wait stay, and so does what people have approved. Without either flag, what
callgate.yaml says under journal. The ledger keeps that a run was there and what its last hash was, so that callgate runs verify tells it
from one that was removed.

With --payloads, what the runs held goes only: that they were there, when, and what happened stays.`,
		Example: `  callgate runs prune --older-than 720h --dry-run
  callgate runs prune --max-size 1GiB --state ./state
  callgate runs prune --older-than 168h --payloads`,
		Args: arguments(0, 0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r.Keep, r.MaxSize = older.value, most.value
			return c.prune(cmd.Context(), f, r)
		},
	}
	f.add(cmd, "write what was taken out as JSON")
	cmd.Flags().Var(older, "older-than", "take out what ended longer ago")
	cmd.Flags().Var(most, "max-size", "take out what ended first until the journal holds no more")
	cmd.Flags().BoolVar(&r.Payloads, "payloads", false, "take out what the runs held only")
	cmd.Flags().BoolVar(&r.DryRun, "dry-run", false, "say what would be taken out, and do nothing")
	return cmd
}

// retain takes out of a journal what callgate.yaml does not keep, before another run begins.
func (c *command) retain(ctx context.Context, s *state, host *spec.Host) {
	if !s.kept || host == nil || host.Journal.Keep == 0 && host.Journal.MaxSize == 0 {
		return
	}
	if _, err := s.store.Prune(ctx, journal.Retention{Keep: host.Journal.Keep, MaxSize: host.Journal.MaxSize}, time.Now()); err != nil {
		c.say(fmt.Sprintf("runs of the past that are not kept are there still: %v", err))
	}
}

func (c *command) prune(ctx context.Context, f runsFlags, r journal.Retention) (err error) {
	if r.Keep == 0 && r.MaxSize == 0 {
		host, problems := spec.FindHost(".")
		if spec.Fatal(problems) {
			return c.invalid(problems)
		}
		if host != nil {
			r.Keep, r.MaxSize = host.Journal.Keep, host.Journal.MaxSize
		}
		if r.Keep == 0 && r.MaxSize == 0 {
			return usage("", "runs prune: want --older-than or --max-size, or journal.keep or journal.maxSize in callgate.yaml")
		}
	}
	store, _, err := c.past(f.state)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	out, err := store.Prune(ctx, r, time.Now())
	if err != nil {
		return err
	}
	if f.json {
		return json.NewEncoder(c.stdout).Encode(out)
	}
	for _, run := range out.Runs {
		fmt.Fprintf(c.stdout, "%s  %s  %s  %s\n", run.ID, run.End.Format(time.RFC3339), run.Status, countOfThings(int(run.Events), "event"))
	}
	what := "taken out"
	if r.DryRun {
		what = "would be taken out"
	}
	c.say(fmt.Sprintf("%s %s: the journal held %d bytes, and holds %d", countOfThings(len(out.Runs), "run"), what, out.Before, out.After))
	return nil
}
