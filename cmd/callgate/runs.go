package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"callgate/engine/journal"
)

func (c *command) runsVerb() *cobra.Command {
	cmd := group("runs", "List, show, watch and export runs")
	cmd.Long = `List, show, watch and export runs, from the journal in a state folder: the one that --state names, that of
callgate.yaml in this folder or above it, or else $XDG_STATE_HOME/callgate (~/.local/state/callgate).`
	cmd.Example = "  callgate runs list --state ./state\n  callgate runs show 20261201-100000123-k7q2m9xw4d --state ./state"
	cmd.AddCommand(c.listVerb(), c.showVerb(), c.watchVerb(), c.exportVerb(), c.resumeVerb(), c.replayVerb())
	cmd.AddCommand(c.verifyVerb(), c.checkpointVerb(), c.importVerb(), c.pruneVerb())
	return cmd
}

// runsFlags are the flags of the verbs of runs.
type runsFlags struct {
	state string
	json  bool
}

func (f *runsFlags) add(cmd *cobra.Command, what string) {
	f.addState(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, what)
}

func (f *runsFlags) addState(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.state, "state", "", "`folder` of the journal")
}

// verify finds what was done to the events of a run, which were read after its line in the list: a run that
// goes on may have more of them meanwhile, and none has fewer.
func verify(events []journal.Event, run journal.RunInfo) error {
	if int64(len(events)) > run.Events {
		return journal.Verify(events)
	}
	return journal.VerifyWhole(events, run.Head)
}

// runsIn returns the runs of a store, newest first; what people answered to asks is no run of an agent.
func runsIn(ctx context.Context, store journal.Store) ([]journal.RunInfo, error) {
	runs, err := store.Runs(ctx, 0)
	return slices.DeleteFunc(runs, func(r journal.RunInfo) bool { return r.ID == journal.DeskRun }), err
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
		return "", fmt.Errorf("%s: no run %q\nhint: callgate runs list --state %s shows those there are", dir, id, word(dir))
	case 1:
		return like[0], nil
	}
	slices.Sort(like)
	if !slices.ContainsFunc(like[1:], func(r string) bool { return !strings.HasPrefix(r, like[0]+".") }) {
		return like[0], nil // the others are of agents that it called
	}
	return "", fmt.Errorf("%s: more than one run begins with %q: %s", dir, id, strings.Join(like[:min(len(like), 5)], ", "))
}
