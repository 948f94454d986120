package main

import (
	"time"

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

// labelsFlag is whether labels that workers send are believed.
func labelsFlag(cmd *cobra.Command) *choice {
	f := &choice{value: "believed", words: []string{"believed", "floor"}}
	cmd.Flags().Var(f, "labels", "what is believed of the labels of programs that run in a worker: floor is none of them, so that all that they send is as secret and as untrusted as all that they were given")
	return f
}

// isolation is where programs run, and what to call when they have run.
func isolation(how, labels string) (engine.Isolation, func()) {
	i := engine.Isolation{Floor: labels == "floor", Guard: how == "auto", Idle: 10 * time.Second, Workers: map[gate.Tier]*worker.Pool{
		gate.TierProcess:   {Size: 1},
		gate.TierContainer: {Size: 1, Options: worker.ProcessOptions{OCI: true}},
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
