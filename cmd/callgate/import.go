package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"callgate/engine/journal"
)

func (c *command) importVerb() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Put exported runs into a journal",
		Long: `Put runs that were exported as JSON lines into the journal of a state folder, which is made if it is not there. They are verified first, with
--key also that they were signed by it; nothing is imported if anything is wrong. The ledger says that they
were imported, and they are not gone on with here: they may be where they came from.`,
		Example: `  callgate runs import run.jsonl --state ./state
  callgate runs export 20261201 --state ./here | callgate runs import - --state ./there --key ops.pub`,
		Args: arguments(1, 1, "the file of an export, or - for the standard input"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.importRuns(cmd.Context(), args[0], f) },
	}
	f.add(cmd, "write a line of JSON for each run")
	cmd.Flags().StringVar(&f.key, "key", "", "public `key` that the runs must be signed by, or its file")
	return cmd
}

func (c *command) importRuns(ctx context.Context, file string, f verifyFlags) (err error) {
	e, err := f.evidence()
	if err != nil {
		return err
	}
	events, ledger, err := c.readExport(file)
	if err != nil {
		return err
	}
	report := journal.AuditCopy(events, ledger, e)
	if len(ledger.Lines) == 0 && e.Key == nil && len(events) > 0 { // events alone prove their chain, and nothing else
		report.Problems = nil
		for _, run := range byRun(events) {
			if bad, ok := errors.AsType[*journal.ChainError](journal.Verify(run)); ok {
				report.Problems = append(report.Problems, journal.Problem{Run: bad.Run, Seq: bad.Seq, What: bad.What})
			}
		}
	}
	if len(report.Problems) > 0 {
		return c.found(file, report, e, f.json)
	}
	if f.state == "" {
		if f.state, err = c.stateFolder(); err != nil {
			return err
		}
	}
	st, err := c.openState(f.state, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.close()) }()
	for _, run := range byRun(events) {
		if err := st.store.Import(ctx, run); err != nil {
			return err
		}
		id := run[0].Run
		if f.json {
			fmt.Fprintf(c.stdout, "{\"id\":%q,\"events\":%d}\n", id, len(run))
		} else {
			fmt.Fprintf(c.stdout, "%s  %s\n", id, countOfThings(len(run), "event"))
		}
	}
	return nil
}

// byRun takes the events of an export apart: run after run.
func byRun(events []journal.Event) (out [][]journal.Event) {
	for i, e := range events {
		if i == 0 || e.Run != events[i-1].Run {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], e)
	}
	return out
}
