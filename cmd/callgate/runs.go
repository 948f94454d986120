package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"callgate/cmd/internal/console"
	"callgate/engine/journal"
)

func (c *command) runsVerb() *cobra.Command {
	cmd := group("runs", "List runs of the past, and show one again")
	cmd.Long = `List runs of the past, and show one again, from the journal in a state folder: the one that --state names, that of
callgate.yaml in this folder or above it, or else $XDG_STATE_HOME/callgate (~/.local/state/callgate).`
	cmd.Example = "  callgate runs list --state ./state\n  callgate runs show 20261201-100000123-k7q2m9xw4d --state ./state"
	cmd.AddCommand(c.listVerb(), c.showVerb())
	return cmd
}

// runsFlags are the flags of the verbs of runs.
type runsFlags struct {
	state string
	json  bool
}

func (f *runsFlags) add(cmd *cobra.Command, what string) {
	cmd.Flags().StringVar(&f.state, "state", "", "`folder` of the journal")
	cmd.Flags().BoolVar(&f.json, "json", false, what)
}

func (c *command) listVerb() *cobra.Command {
	var f runsFlags
	limit := count()
	cmd := &cobra.Command{
		Use: "list", Short: "List runs, newest first",
		Example: "  callgate runs list --state ./state\n  callgate runs list --limit 5 --json",
		Args:    arguments(0, 0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.list(cmd.Context(), f, int(min(limit.value, 1<<30)))
		},
	}
	f.add(cmd, "write a line of JSON for each")
	cmd.Flags().Var(limit, "limit", "how many at most")
	return cmd
}

func (c *command) list(ctx context.Context, f runsFlags, limit int) error {
	store, _, err := c.past(f.state)
	if err != nil {
		return err
	}
	defer store.Close()
	runs, err := store.Runs(ctx, limit)
	if err != nil {
		return err
	}
	if f.json {
		out := json.NewEncoder(c.stdout)
		for _, r := range runs {
			if err := out.Encode(r); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(c.stdout, 0, 8, 2, ' ', 0)
	for _, r := range runs {
		took := ""
		if !r.End.IsZero() {
			took = r.End.Sub(r.Start).Round(time.Millisecond).String()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d events\t%s\n", console.Clean(r.ID), r.Start.Format(time.RFC3339), console.Clean(r.Status), console.Clean(r.Agent), r.Events, took)
	}
	return w.Flush()
}

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

// verify finds what was done to the events of a run, which were read after its line in the list: a run that
// goes on may have more of them meanwhile, and none has fewer.
func verify(events []journal.Event, run journal.RunInfo) error {
	if int64(len(events)) > run.Events {
		return journal.Verify(events)
	}
	return journal.VerifyWhole(events, run.Head)
}

// find returns the run of an ID, or of its beginning.
func find(runs []journal.RunInfo, id, dir string) (string, error) {
	var like []string
	for _, r := range runs {
		if r.ID == id {
			return id, nil
		}
		if strings.HasPrefix(r.ID, id) {
			like = append(like, r.ID)
		}
	}
	switch len(like) {
	case 0:
		return "", fmt.Errorf("%s: no run %q\nhint: callgate runs list shows those there are", dir, id)
	case 1:
		return like[0], nil
	}
	slices.Sort(like)
	return "", fmt.Errorf("%s: more than one run begins with %q: %s", dir, id, strings.Join(like[:min(len(like), 5)], ", "))
}
