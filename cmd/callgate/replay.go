package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"callgate/agents"
	"callgate/cmd/internal/agentdojo"
	"callgate/cmd/internal/console"
	"callgate/engine/label"
	"callgate/spec"
)

func (c *command) replayVerb() *cobra.Command {
	var f resumeFlags
	cmd := &cobra.Command{
		Use:   "replay ID [PATH]",
		Short: "Run a run again from its journal, and say what differs",
		Long: `Run the programs of a run again with what its journal holds in place of tools, policies, people and the model, and say in what they do
something else than is recorded. Nothing has an effect. With the same version of callgate and the same agent there is no difference. What differs is
shown as far as whoever is at the terminal may read it.`,
		Example: "  callgate runs replay 20261201-100000123-k7q2m9xw4d --state ./state\n  callgate runs replay 20261201 --state ./state --json",
		Args:    arguments(1, 2, "the ID of a run, and the folder or file of its agent if that has moved"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.replay(cmd.Context(), args, f) },
	}
	f.add(cmd, "write what came of it as JSON")
	cmd.Flags().StringArrayVar(&f.inputs, "input", nil, "an input that is secret, which no journal holds: `name=value` or name=@file")
	return cmd
}

// replay goes over a run again. Tools are opened beside a state folder of their own: none of them runs.
func (c *command) replay(ctx context.Context, args []string, f resumeFlags) (err error) {
	secret, err := inputs(f.inputs)
	if err != nil {
		return err
	}
	k, err := c.keep(ctx, args, f.state, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.state.close()) }()
	dir, err := os.MkdirTemp("", "callgate-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	where, done := isolation("auto", "believed")
	defer done()
	agent, more := agents.Build(ctx, k.project, agents.Options{Isolation: where, State: dir, Store: k.state.store, Tools: agentdojo.Granted(k.project)})
	if agent != nil {
		defer func() { err = errors.Join(err, agent.Close()) }()
	}
	problems := spec.SortProblems(append(k.found, more...))
	if spec.Fatal(problems) || agent == nil {
		return c.invalid(problems)
	}
	out, err := agent.Replay(ctx, k.events[0].Run, secret)
	if err != nil {
		return err
	}
	who := c.readers(nil)(k.events)
	hideDifferences(&out, who.MayRead)
	if f.json {
		err = c.writeLine(out)
	} else {
		_, err = c.stdout.WriteString(replayed(out))
	}
	if err == nil && !out.Same() {
		err = quit(exitFailed)
	}
	return err
}

// hideDifferences takes out of a replay, and of those of the agents that were called, what is not for who is at the terminal.
func hideDifferences(r *agents.Replayed, mayRead func(label.Label) bool) {
	for i := range r.Differences {
		d := &r.Differences[i]
		if mark := hiding(mayRead, d.Label); mark != "" {
			d.Recorded, d.Got = mark, mark
		}
	}
	for i := range r.Agents {
		hideDifferences(&r.Agents[i], mayRead)
	}
}

// replayed tells what came of a replay, and of those of the agents that were called.
func replayed(r agents.Replayed) string {
	text := replayedRun(r)
	for _, a := range r.Agents {
		text += "run " + console.Clean(a.Run) + ": " + replayed(a)
	}
	return text
}

func replayedRun(r agents.Replayed) string {
	text := ""
	if r.Error != "" {
		text = "cannot be gone over: " + console.Clean(r.Error) + "\n"
	}
	for _, d := range r.Differences {
		text += console.Clean(d.String()) + "\n"
		if d.Field != "" {
			text += "  recorded  " + console.Clean(d.Recorded) + "\n  got       " + console.Clean(d.Got) + "\n"
		}
	}
	switch {
	case text != "":
		return text
	case !r.Ended:
		return fmt.Sprintf("the same: %d events; the run was broken off after them\n", r.Met)
	}
	return fmt.Sprintf("the same: %d events\n", r.Met)
}
