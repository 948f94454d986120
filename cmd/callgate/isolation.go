package main

import (
	"github.com/spf13/cobra"

	"callgate/engine"
	"callgate/engine/gate"
	"callgate/engine/worker"
	_ "callgate/engine/worker/early" // without a worker beside it, this program is its own
)

// isolationFlag is how strongly programs are isolated by the host's wish.
func isolationFlag(cmd *cobra.Command) *choice {
	f := &choice{value: "auto", words: []string{"auto", "none", "process", "container"}}
	cmd.Flags().Var(f, "isolation", "where programs run at least: auto is a process of their own, if it can be had, where anybody less trusted than user is in play; see callgate doctor")
	return f
}

// isolation is where programs run, and what to call when they have run.
func isolation(how string) (engine.Isolation, func()) {
	i := engine.Isolation{Guard: how == "auto", Workers: map[gate.Tier]*worker.Pool{
		gate.TierProcess: {Size: 1},
	}}
	if how != "auto" {
		i.Least, _ = gate.ParseTier(how) // the flag takes no other words
	}
	return i, func() {
		for _, p := range i.Workers {
			p.Close()
		}
	}
}
