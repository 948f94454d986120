package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/cmd/internal/console"
	"callgate/engine/journal"
	"callgate/policies"
)

func (c *command) showVerb() *cobra.Command {
	var f runsFlags
	var raw bool
	var call string
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show a run again, one call of it, or its flow of data",
		Long: `Show a run again: each call once, with what became of it. The beginning of an ID will do if no other run has it. With --call, all
that is known of one call: its arguments, their labels and where they came from, the rules that fired, the approvals, the result.

With --graph, a picture of how data flowed between the calls, in SVG, DOT or Mermaid: from inputs and results into arguments, to the model and to
the user; colour and dashes say how far the data was trusted, a cross where a rule stopped it, and which.

Whoever is at the terminal sees what they may read by its labels; the names of the readers stand in place of the rest.`,
		Example: `  callgate runs show 20261201-100000123-k7q2m9xw4d --state ./state
  callgate runs show 20261201 --call 3.2
  callgate runs show 20261201 --json
  callgate runs show 20261201 --graph > flow.svg
  callgate runs show 20261201 --graph dot | dot -Tpdf > flow.pdf`,
		ValidArgsFunction: c.completeRuns(&f, 1),
	}
	graph := graphFlag(cmd)
	one := arguments(1, 1, "the ID of a run")
	cmd.Args = func(cmd *cobra.Command, args []string) error { return one(cmd, graphFormat(graph, args)) }
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		args = graphFormat(graph, args)
		switch {
		case raw && (!f.json || call != ""):
			return usage("", "runs show: --raw goes with --json, and without --call")
		case graph.value != "" && (f.json || call != ""):
			return usage("", "runs show: --graph goes without --json and --call")
		}
		return c.show(cmd.Context(), args[0], call, graph.value, raw, f)
	}
	f.add(cmd, "write the run's events as JSON lines, or what is known of the call")
	cmd.Flags().StringVar(&call, "call", "", "show this call alone, by its `id`")
	rawFlag(cmd, &raw)
	return cmd
}

// rawFlag adds --raw.
func rawFlag(cmd *cobra.Command, raw *bool) {
	cmd.Flags().BoolVar(raw, "raw", false, "write events as they are stored, with what whoever is at the terminal may not read")
}

// pastRun is a run that was read.
type pastRun struct {
	events   []journal.Event
	altered  error // what was done to them: they are shown all the same
	who      policies.Principal
	readable []journal.Event // as who may see them
	hidden   int             // how many of them are not whole
}

// pastRun reads a run, by its ID or the beginning of it.
func (c *command) pastRun(ctx context.Context, state, id string, raw bool) (_ *pastRun, err error) {
	store, dir, err := c.past(state)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	runs, err := runsIn(ctx, store)
	if err != nil {
		return nil, err
	}
	if id, err = find(runs, id, dir); err != nil {
		return nil, err
	}
	return readRun(ctx, store, runs[slices.IndexFunc(runs, func(r journal.RunInfo) bool { return r.ID == id })], raw, c.readers(nil))
}

// readRun reads a run for whom reads says who reads it. Raw, what is encrypted need not open.
func readRun(ctx context.Context, store journal.Store, run journal.RunInfo, raw bool, reads func([]journal.Event) policies.Principal) (*pastRun, error) {
	p := new(pastRun)
	var err error
	if p.events, err = store.Read(ctx, run.ID, 1); err != nil {
		return nil, err
	}
	p.altered = verify(p.events, run)
	p.who = reads(p.events)
	reader := journal.NewReader(p.who.MayRead)
	for _, e := range p.events {
		shown, hidden, err := reader.Event(e)
		if err != nil && raw { // it is written as it is stored, whoever can open it
			continue
		}
		if err != nil {
			return nil, errors.Join(p.altered, err)
		}
		if hidden {
			p.hidden++
		}
		p.readable = append(p.readable, shown)
	}
	return p, nil
}

// tellHidden says what follows from events that are not for who is at the terminal.
func (c *command) tellHidden(hidden int, raw bool) {
	switch {
	case hidden == 0:
	case raw:
		c.say(fmt.Sprintf("what is written holds what is not for whoever is at the terminal, in %d events", hidden))
	default:
		c.say(fmt.Sprintf("%d events are not whole, since they hold what is not for whoever is at the terminal: the chain can only be verified on the events as they are stored, which --raw writes", hidden))
	}
}

func (c *command) show(ctx context.Context, id, call, graph string, raw bool, f runsFlags) error {
	p, err := c.pastRun(ctx, f.state, id, raw)
	if err != nil {
		return err
	}
	switch {
	case call != "":
		err = c.showCall(ctx, p, call, f.json)
	case graph != "":
		err = c.graph(p, graph)
	case f.json:
		events := p.readable
		if raw {
			events = p.events
		}
		c.tellHidden(p.hidden, raw)
		err = journal.Export(c.stdout, events)
	default:
		t := console.NewTimeline(c.stdout, console.Options{Look: console.LookOf(c.stdout, c.getenv), MayRead: p.who.MayRead, Since: waitedSince(p.readable)})
		for _, e := range journal.Current(p.readable, false) {
			t.Event(e)
		}
		err = t.Close()
	}
	return errors.Join(err, p.altered)
}

// waitedSince says since when calls waited for an answer.
func waitedSince(events []journal.Event) map[string]time.Time {
	since := map[string]time.Time{}
	for _, e := range events {
		if _, known := since[e.Call]; known || e.Type != journal.Approved || e.Redacted() {
			continue
		}
		if given, err := journal.Decode[journal.ApprovalGiven](e); err == nil && given.Verdict == journal.StatusWaiting {
			since[e.Call] = e.Time
		}
	}
	return since
}

// showCall shows all that is known of a call.
func (c *command) showCall(ctx context.Context, p *pastRun, call string, asJSON bool) error {
	out, err := explained(ctx, journal.Current(p.events, false), p.events, call, p.who.MayRead, nil, nil)
	if err != nil {
		return err
	}
	if asJSON {
		return c.writeLine(out)
	}
	_, err = c.stdout.WriteString(console.Clean(out.text()))
	return err
}

// completeRuns completes the IDs of runs, newest first, for as many arguments as the verb takes; 0 for any number.
func (c *command) completeRuns(f *runsFlags, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		store, _, err := c.past(f.state)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer store.Close()
		runs, err := runsIn(cmd.Context(), store)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var out []cobra.Completion
		for _, r := range runs {
			if r.ID != journal.DeskRun && strings.HasPrefix(r.ID, begun) && !slices.Contains(args, r.ID) {
				out = append(out, cobra.CompletionWithDesc(r.ID, console.Clean(r.State()+" "+r.Agent)))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}
