package main

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"callgate/cmd/internal/console"
	"callgate/engine/journal"
)

func (c *command) showVerb() *cobra.Command {
	var f runsFlags
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show a run again",
		Long:    "Show a run again, as it was shown when it ran. The beginning of an ID will do if no other run has it.",
		Example: "  callgate runs show 20261201-100000123-k7q2m9xw4d --state ./state\n  callgate runs show 20261201 --json",
		Args:    arguments(1, 1, "the ID of a run"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.show(cmd.Context(), args[0], f) },
	}
	f.add(cmd, "write the run's events as JSON lines")
	return cmd
}

func (c *command) show(ctx context.Context, id string, f runsFlags) error {
	store, dir, err := c.past(f.state)
	if err != nil {
		return err
	}
	defer store.Close()
	runs, err := store.Runs(ctx, 0)
	if err != nil {
		return err
	}
	if id, err = find(runs, id, dir); err != nil {
		return err
	}
	run := runs[slices.IndexFunc(runs, func(r journal.RunInfo) bool { return r.ID == id })]
	events, err := store.Read(ctx, id, 1)
	if err != nil {
		return err
	}
	if f.json {
		err = journal.Export(c.stdout, events)
	} else {
		t := console.NewTimeline(c.stdout, console.Options{Look: console.LookOf(c.stdout, c.getenv)})
		for _, e := range events {
			t.Event(e)
		}
		err = t.Close()
	}
	return errors.Join(err, verify(events, run))
}
