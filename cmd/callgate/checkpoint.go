package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"callgate/engine/journal"
)

func (c *command) checkpointVerb() *cobra.Command {
	var f runsFlags
	var public bool
	cmd := &cobra.Command{
		Use: "checkpoint", Short: "Sign what the journal is now",
		Long: `Sign what the journal is now, and write the checkpoint as a line of JSON. Kept where those who can write the journal cannot, it shows
later whether anything of the journal was removed, altered or put back since: callgate runs verify --checkpoint FILE.

With --public, write the public part of the key that signs instead, for callgate runs verify --key.`,
		Example: `  callgate runs checkpoint --state ./state >> kept.json
  callgate runs checkpoint --public > ops.pub`,
		Args: arguments(0, 0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.checkpoint(cmd.Context(), f, public) },
	}
	f.addState(cmd)
	cmd.Flags().BoolVar(&public, "public", false, "write the public key")
	return cmd
}

func (c *command) checkpoint(ctx context.Context, f runsFlags, public bool) (err error) {
	store, dir, err := c.past(f.state)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if public {
		key, err := store.PublicKey()
		if err != nil {
			return err
		}
		if key == nil {
			return fmt.Errorf("%s: nothing was signed yet: the key is made with the first run, or by callgate runs checkpoint", dir)
		}
		_, err = fmt.Fprintln(c.stdout, journal.KeyText(key))
		return err
	}
	signed, err := store.Checkpoint(ctx, time.Now())
	if err != nil {
		return err
	}
	return journal.ExportLedger(c.stdout, journal.Ledger{Checkpoints: []journal.Checkpoint{signed}})
}
