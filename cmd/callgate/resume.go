package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"callgate/agents"
	"callgate/cmd/internal/agentdojo"
	"callgate/cmd/internal/console"
	"callgate/engine"
	"callgate/engine/journal"
	"callgate/policies"
	"callgate/spec"
)

// resumeFlags are the flags of resume.
type resumeFlags struct {
	isolate *choice
	labels  *choice
	runsFlags
	approve  *choice
	policies string
	inputs   []string
	accept   bool
}

func (c *command) resumeVerb() *cobra.Command {
	var f resumeFlags
	cmd := &cobra.Command{
		Use:   "resume ID [PATH]",
		Short: "Go on with a run that was broken off, or that waits",
		Long: `Go on with a run whose process ended, or that waits for a person. What is recorded is gone through again first: no call
that has a result is made again, and the model is not asked for what it has answered. A call that had begun and has no result is made again if its
tool is idempotent; otherwise a person is asked: yes makes it again, no tells the program that it was interrupted, and without an answer the run
waits. The beginning of an ID will do if no other run has it.

The agent is loaded from where it was when the run began, or from PATH. If its file or its tools have changed since, that is said, and the run
goes on only if a person says so at the terminal, or with --accept-changes. Policies that have changed decide from here on.`,
		Example: "  callgate runs resume 20261201-100000123-k7q2m9xw4d --state ./state\n  callgate runs resume 20261201 --state ./state --approve all",
		Args:    arguments(1, 2, "the ID of a run, and the folder or file of its agent if that has moved"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.resume(cmd.Context(), args, f) },
	}
	f.add(cmd, "write the events that are new as JSON lines, and nothing else")
	f.isolate, f.labels = isolationFlag(cmd), labelsFlag(cmd)
	f.approve = approveFlag(cmd)
	policyFlag(cmd, &f.policies)
	cmd.Flags().StringArrayVar(&f.inputs, "input", nil, "an input that is secret, which no journal holds: `name=value` or name=@file")
	cmd.Flags().BoolVar(&f.accept, "accept-changes", false, "go on though the agent's file or its tools have changed")
	return cmd
}

// kept is a run that is kept, with the project of its agent.
type kept struct {
	state   *state
	events  []journal.Event
	project *spec.Project
	path    string
	reread  func() (*spec.Project, []spec.Problem)
	found   []spec.Problem
}

// keep finds a run and loads its agent: from a path, or from where it was.
func (c *command) keep(ctx context.Context, args []string, state, policies string) (k *kept, err error) {
	store, dir, err := c.past(state)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, store.Close())
		}
	}()
	runs, err := runsIn(ctx, store)
	if err != nil {
		return nil, err
	}
	id, err := find(runs, args[0], dir)
	if err != nil {
		return nil, err
	}
	k = &kept{}
	if k.events, err = store.Read(ctx, id, 1); err != nil {
		return nil, err
	}
	run := runs[slices.IndexFunc(runs, func(r journal.RunInfo) bool { return r.ID == id })]
	if err := verify(k.events, run); err != nil {
		return nil, err
	}
	header, err := journal.Decode[journal.RunStarted](k.events[0])
	if err != nil {
		return nil, err
	}
	if p := header.Parent; p != nil {
		return nil, usage("name that run: it goes on with this one, or goes over it", "run %s is of an agent that call %s of run %s called", id, p.Call, p.Root)
	}
	if k.path, err = agentOf(header, args); err != nil {
		return nil, err
	}
	if policies == "" && header.From != nil {
		policies = header.From.Policies
	}
	k.reread = func() (*spec.Project, []spec.Problem) { return spec.Load(k.path, policies) }
	k.project, k.found = k.reread()
	if k.state, err = stateOf(dir, store); err != nil {
		return nil, err
	}
	return k, nil
}

// agentOf is the path of a run's agent.
func agentOf(header journal.RunStarted, args []string) (string, error) {
	if len(args) == 2 {
		return args[1], nil
	}
	if header.From == nil {
		return "", usage("callgate runs resume ID PATH, if it has one", "the journal does not say where the files of agent %s are", header.Agent)
	}
	if _, err := os.Stat(header.From.Agent); err != nil {
		return "", usage("name the folder or file of the agent after the ID", "%s: the agent is not there any more", header.From.Agent)
	}
	return header.From.Agent, nil
}

// resume goes on with a run.
func (c *command) resume(ctx context.Context, args []string, f resumeFlags) (err error) {
	secret, err := inputs(f.inputs)
	if err != nil {
		return err
	}
	k, err := c.keep(ctx, args, f.state, f.policies)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.state.close()) }()
	if err := notInteractive(k.events, true); err != nil {
		return err
	}
	progress := c.progress(ctx, f.json)
	defer progress.Close()
	if last := k.events[len(k.events)-1]; last.Type == journal.RunEnd {
		end, err := journal.Decode[journal.RunEnded](last)
		if err != nil {
			return err
		}
		if !end.GoesOn() {
			return fmt.Errorf("run %s: %w: %s\nhint: callgate run %s --continue %s --state %s goes on from its end", last.Run, journal.ErrEnded, end.Status,
				console.Line(k.path), last.Run, console.Line(k.state.dir))
		}
	}
	past := journal.Current(k.events, true)
	for _, e := range past {
		progress.Event(e)
	}
	watch, finish := c.watch(f.json, c.timelineOptions(k.path, cmp.Or(f.state, k.state.dir), k.project.Host), progress, past)
	where, done := isolation(f.isolate.value, f.labels.value)
	defer done()
	agent, more := agents.Build(ctx, k.project, agents.Options{
		Isolation: where,
		State:     k.state.dir, Journal: k.state.journal(), Store: k.state.store,
		Approver: quietly{progress, c.approver(f.approve.value, k.project.Host, k.state.store)}, Watch: watch, Tools: agentdojo.Granted(k.project), Told: c.reloadedOver(progress), Reread: k.reread,
		Progress: arriving(progress),
	})
	if agent != nil {
		defer func() { err = errors.Join(err, agent.Close()) }()
	}
	problems := spec.SortProblems(append(k.found, more...))
	if spec.Fatal(problems) || agent == nil {
		return c.invalid(problems)
	}
	c.tell(problems)
	who, _ := c.person(k.project.Host, "") // whom the host does not know goes on with it as nobody
	result, err := agent.Resume(ctx, engine.Again{
		Run: k.events[0].Run, By: who.Sub, Process: fmt.Sprintf("process %d", os.Getpid()), Secret: secret,
		Accept: func(changes []engine.Change) error { return c.accept(ctx, k.events[0].Run, who, changes, f.accept) },
	})
	err = errors.Join(err, finish(result))
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		progress.Close()
		c.say("stopped before it came to where it goes on: the run is as it was")
		return quit(engine.ExitCode(engine.Cancelled))
	}
	if err != nil {
		return err
	}
	return quit(engine.ExitCode(result.Status))
}

// accept says what has changed since a run began, and finds out whether to go on all the same.
func (c *command) accept(ctx context.Context, run string, who policies.Principal, changes []engine.Change, accepted bool) error {
	var matters []engine.Change
	var lines []string
	for _, ch := range changes {
		lines = append(lines, "since the run began: "+ch.Text)
		if ch.Matters {
			matters = append(matters, ch)
		}
	}
	ask := len(matters) > 0 && !accepted
	if ask && console.IsTerminal(c.stdin) && console.IsTerminal(c.stderr) {
		p := console.NewPrompt(c.stdin, c.stderr, console.LookOf(c.stderr, c.getenv), who)
		p.Discard = func() { discardTyped(c.stdin) }
		yes, err := p.Confirm(ctx, lines, "go on with it?")
		if yes || err != nil {
			return err
		}
		return &engine.ChangedError{Run: run, Changes: matters}
	}
	for _, l := range lines {
		c.say(l)
	}
	if ask {
		return usage("--accept-changes goes on with it as it is now; what it has done stays as it was", "%s", strings.TrimPrefix((&engine.ChangedError{Run: run, Changes: matters}).Error(), "engine: "))
	}
	return nil
}
