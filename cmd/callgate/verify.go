package main

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"callgate/cmd/internal/console"
	"callgate/engine/journal"
)

// verifyFlags are the flags of runs verify, and of runs import those that it has.
type verifyFlags struct {
	runsFlags
	checkpoints []string // files
	key         string   // text or file
	export      string   // file
}

func (c *command) verifyVerb() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use: "verify [ID]", Short: "Find what was done to a journal, a run or an export",
		Long: `Verify a whole journal, one run of it, or an export: name what was removed, altered, exchanged, forged or cut off, by run, event and
line of the ledger, and end with 1 if there is anything. What cannot be known is said too.

Checkpoints are held against the public key that --key gives, or else against the key beside the journal. A checkpoint that was kept elsewhere
(callgate runs checkpoint > FILE) shows whether the journal was put back or written anew since.`,
		Example: `  callgate runs verify --state ./state
  callgate runs verify 20261201 --json
  callgate runs verify --checkpoint kept.json --key ed25519:4cb5…
  callgate runs verify --export run.jsonl --key ops.pub`,
		Args: arguments(0, 1, "the ID of a run, or none"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.export != "" && (len(args) > 0 || f.state != "") {
				return usage("", "runs verify: --export goes without an ID and --state")
			}
			return c.verifyRuns(cmd.Context(), strings.Join(args, ""), f)
		},
		ValidArgsFunction: c.completeRuns(&f.runsFlags, 1),
	}
	f.add(cmd, "write what was found as JSON")
	cmd.Flags().StringArrayVar(&f.checkpoints, "checkpoint", nil, "`file` of a checkpoint that was kept elsewhere; more than once if there are more")
	cmd.Flags().StringVar(&f.key, "key", "", "public `key` that checkpoints must be signed by, or its file (default that beside the journal)")
	cmd.Flags().StringVar(&f.export, "export", "", "`file` of an export to verify by itself; - is the standard input")
	return cmd
}

func (c *command) verifyRuns(ctx context.Context, id string, f verifyFlags) (err error) {
	e, err := f.evidence()
	if err != nil {
		return err
	}
	if f.export != "" {
		events, ledger, err := c.readExport(f.export)
		if err != nil {
			return err
		}
		return c.found(f.export, journal.AuditCopy(events, ledger, e), e, f.json)
	}
	store, dir, err := c.past(f.state)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if e.Key == nil {
		if e.Key, err = store.PublicKey(); err != nil {
			return err
		}
	}
	var report journal.Report
	if id == "" {
		report, err = journal.Audit(ctx, store, e)
	} else {
		var runs []journal.RunInfo
		if runs, err = store.Runs(ctx, 0); err != nil {
			return err
		}
		// A run that was removed has no line in the list: it is looked for under the whole ID.
		if whole, bad := find(runs, id, dir); bad == nil {
			id = whole
		}
		report, err = journal.AuditRun(ctx, store, id, e)
	}
	if err != nil {
		return err
	}
	return c.found(dir, report, e, f.json)
}

// evidence reads what a journal is held against.
func (f *verifyFlags) evidence() (e journal.Evidence, err error) {
	if f.key != "" {
		text := []byte(f.key)
		if !strings.HasPrefix(f.key, "ed25519:") {
			if text, err = os.ReadFile(f.key); err != nil {
				return e, usage("", "runs verify: --key: %v", err)
			}
		}
		if e.Key, err = journal.ParseKey(text); err != nil {
			return e, usage("", "runs verify: --key %s: %s", f.key, strings.TrimPrefix(err.Error(), "journal: "))
		}
	}
	for _, file := range f.checkpoints {
		text, err := os.Open(file)
		if err != nil {
			return e, usage("", "runs verify: --checkpoint: %v", err)
		}
		events, ledger, err := journal.Import(text)
		text.Close()
		if err == nil && (len(events)+len(ledger.Lines) > 0 || len(ledger.Checkpoints) == 0) {
			err = errors.New("want checkpoints, as callgate runs checkpoint writes them")
		}
		if err != nil {
			return e, usage("", "runs verify: --checkpoint %s: %s", file, strings.TrimPrefix(err.Error(), "journal: "))
		}
		e.Checkpoints = append(e.Checkpoints, ledger.Checkpoints...)
	}
	return e, nil
}

// found says what verifying has found.
func (c *command) found(what string, r journal.Report, e journal.Evidence, asJSON bool) error {
	if asJSON {
		if err := json.NewEncoder(c.stdout).Encode(r); err != nil {
			return err
		}
	} else {
		for _, p := range r.Problems {
			fmt.Fprintln(c.stdout, console.Clean(p.String()))
		}
		if len(r.Problems) == 0 {
			fmt.Fprintf(c.stdout, "%s, %s, %s: in order%s\n", countOfThings(r.Runs, "run"), countOfThings(r.Events, "event"), countOfThings(r.Lines, "line")+" of the ledger", signedBy(r, e.Key))
		}
		for _, u := range r.Unknown {
			fmt.Fprintln(c.stdout, "not known: "+console.Clean(u))
		}
	}
	if n := len(r.Problems); n > 0 {
		return fmt.Errorf("%s: not what was written: %s", what, countOfThings(n, "problem"))
	}
	return nil
}

func signedBy(r journal.Report, key ed25519.PublicKey) string {
	if r.Signed == 0 {
		return ""
	}
	return fmt.Sprintf(", signed up to line %d by %s", r.Signed, journal.KeyText(key))
}

// countOfThings is a number and what it counts.
func countOfThings(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// readExport reads an export from a file, or from the standard input.
func (c *command) readExport(file string) ([]journal.Event, journal.Ledger, error) {
	in := c.stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, journal.Ledger{}, err
		}
		defer f.Close()
		in = f
	}
	events, ledger, err := journal.Import(in)
	if err != nil {
		return nil, journal.Ledger{}, fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "journal: "))
	}
	return events, ledger, nil
}
