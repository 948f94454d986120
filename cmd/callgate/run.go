package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"callgate/agents"
	"callgate/agents/model"
	"callgate/cmd/internal/agentdojo"
	"callgate/cmd/internal/console"
	"callgate/engine"
	"callgate/engine/desk"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/spec"
)

// runFlags are the flags of run.
type runFlags struct {
	task     string
	inputs   []string
	approve  *choice
	policies string
	state    string
	isolate  *choice
	labels   *choice
	json     bool
	after    string
	accept   bool
	record   string
}

func (c *command) runVerb() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run PATH",
		Short: "Run an agent, and show each call and how it was decided",
		Long: `Run the agent of a folder (its agent.yaml) or file, and show each call: allowed, refused or asked, by
which rule, and where the values came from that a rule stopped at.

What tools write goes into a folder for this run alone, unless --state or callgate.yaml names one that is kept.
On behalf of whom it runs, and under which policies, callgate.yaml beside or above the agent says. When the files of the
policies change meanwhile, the new ones decide from the next call on, unless they have problems.

--continue goes on from the end of a run that is kept: what its programs have bound is there with its labels, the model has its
conversation, and the meter what it had left. No call of it is made again. What has changed since is said; an agent's file or tools
that have changed must be accepted.

--record writes what the model was shown and what it answered into a file, which plays the same run again as the model of an agent:
{provider: recorded, recording: FILE}. It holds all that the model was shown, as it is: who may read that may read the file.`,
		Example: `  callgate run examples/invoices
  callgate run examples/invoices --approve all --state ./state
  callgate run agent.yaml --task "Answer the mail" --input invoice=@invoice.txt
  callgate run agent.yaml --state ./state --continue 20261201 --task "And the second one?"
  callgate run agent.yaml --json | jq 'select(.type == "decision")'`,
		Args: arguments(1, 1, "the folder or file of an agent"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.runAgent(cmd.Context(), args[0], f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.task, "task", "", "what to do: the input `task`")
	fl.StringArrayVar(&f.inputs, "input", nil, "an input, `name=value` or name=@file; as often as there are inputs")
	f.approve = approveFlag(cmd)
	policyFlag(cmd, &f.policies)
	fl.StringVar(&f.state, "state", "", "`folder` that is kept: the journal, and what tools write")
	fl.StringVar(&f.after, "continue", "", "go on from the end of this `run`: its ID, or the beginning of it")
	fl.BoolVar(&f.accept, "accept-changes", false, "with --continue: though the agent's file or its tools have changed")
	fl.StringVar(&f.record, "record", "", "write what the model is shown and answers into this `file`, which is not there yet")
	f.isolate, f.labels = isolationFlag(cmd), labelsFlag(cmd)
	fl.BoolVar(&f.json, "json", false, "write the run's events as JSON lines, and nothing else")
	return cmd
}

// runAgent runs an agent once.
func (c *command) runAgent(ctx context.Context, path string, f runFlags) (err error) {
	given, err := inputs(f.inputs)
	if err != nil {
		return err
	}
	if err := checkTask(f.task, given); err != nil {
		return err
	}
	p, problems := spec.Load(path, f.policies)
	if f.state == "" && p.Host != nil {
		f.state = p.Host.State
	}
	st, err := c.openState(f.state, p.Host)
	if err != nil {
		c.tell(problems) // they may be why
		return err
	}
	defer func() { err = errors.Join(err, st.close()) }()
	c.retain(ctx, st, p.Host)

	progress := c.progress(ctx, f.json)
	defer progress.Close()
	watch, finish := c.watch(f.json, c.timelineOptions(path, f.state, p.Host), progress, nil)
	where, done := isolation(f.isolate.value, f.labels.value)
	defer done()
	agent, more := agents.Build(ctx, p, agents.Options{
		Isolation: where,
		State:     st.dir, Journal: st.journal(), Store: st.store, From: origin(path, f.policies),
		Approver: quietly{progress, c.approver(f.approve.value, p.Host, st.store)}, Watch: watch, Tools: agentdojo.Granted(p), Record: f.record,
		Progress: arriving(progress), Told: c.reloadedOver(progress), Reread: func() (*spec.Project, []spec.Problem) { return spec.Load(path, f.policies) },
	})
	if agent != nil {
		defer func() { err = errors.Join(err, agent.Close()) }()
	}
	problems = spec.SortProblems(append(problems, more...))
	if spec.Fatal(problems) || agent == nil {
		return c.invalid(problems)
	}
	c.tell(problems)
	o := agents.RunOptions{Task: f.task, Inputs: given}
	if f.after != "" {
		if o.After, err = c.earlier(ctx, st, f); err != nil {
			return err
		}
		who, _ := c.person(p.Host, "")
		o.Accept = func(changes []engine.Change) error { return c.accept(ctx, o.After, who, changes, f.accept) }
	}
	result, err := agent.Run(ctx, o)
	if bad, ok := errors.AsType[*agents.InputError](err); ok {
		return usage("", "%s", bad.Error())
	}
	if errors.Is(err, journal.ErrUnended) {
		return usage("callgate runs resume "+o.After+" --state "+word(f.state), "run %s has not ended", o.After)
	}
	if missing, ok := errors.AsType[*model.KeyError](err); ok {
		return &exitError{exitUsage, missing}
	}
	if err := errors.Join(err, finish(result)); err != nil {
		return err
	}
	if bad, ok := errors.AsType[*model.RecordingError](result.Model); ok {
		return &exitError{exitUsage, bad}
	}
	return quit(engine.ExitCode(result.Status))
}

// earlier finds the run that another is to go on from.
func (c *command) earlier(ctx context.Context, st *state, f runFlags) (string, error) {
	if f.state == "" {
		return "", usage("--state DIR, or state in callgate.yaml, names the folder where it is kept", "--continue %s: no run is kept here", f.after)
	}
	runs, err := runsIn(ctx, st.store)
	if err != nil {
		return "", err
	}
	return find(runs, f.after, f.state)
}

// origin is where the files of an agent are, for the journal; nil if that cannot be said.
func origin(agent, policies string) *journal.Origin {
	var o journal.Origin
	var err error
	if o.Agent, err = filepath.Abs(agent); err == nil && policies != "" {
		o.Policies, err = filepath.Abs(policies)
	}
	if err != nil {
		return nil
	}
	return &o
}

// reloaded says what became of policies that changed while an agent runs.
func (c *command) reloaded(problems []spec.Problem) {
	if spec.Fatal(problems) {
		c.say("the policies have changed, and cannot be used: those before go on deciding")
	} else {
		c.say("the policies have changed: the new ones decide from here on")
	}
	c.tell(problems)
}

// progress returns the line that says what a run is doing, at a terminal that can have one; nil elsewhere. The end of ctx stops the run.
func (c *command) progress(ctx context.Context, asJSON bool) *console.Progress {
	if t := c.getenv("TERM"); asJSON || t == "" || t == "dumb" || !console.IsTerminal(c.stderr) {
		return nil
	}
	p := console.NewProgress(c.stderr, console.LookOf(c.stderr, c.getenv))
	context.AfterFunc(ctx, p.Stopping)
	return p
}

// arriving tells of a reply that arrives.
func arriving(p *console.Progress) func(agents.Progress) {
	if p == nil {
		return nil
	}
	return func(a agents.Progress) { p.Reply(a.Tokens, a.Waiting) }
}

// reloadedOver is reloaded, where there is a line that says what the run is doing.
func (c *command) reloadedOver(p *console.Progress) func([]spec.Problem) {
	return func(problems []spec.Problem) {
		defer p.Pause()()
		c.reloaded(problems)
	}
}

// quietly is an approver while whose questions are open nothing is drawn at the terminal.
type quietly struct {
	progress *console.Progress
	gate.Approver
}

// Approve implements [gate.Approver].
func (q quietly) Approve(ctx context.Context, question gate.Question) (gate.Verdict, error) {
	defer q.progress.Pause()()
	return q.Approver.Approve(ctx, question)
}

// watch returns what renders the events of a run to standard output, and what to call after its end. What has happened in a run that is gone
// on with is in past.
func (c *command) watch(asJSON bool, o console.Options, progress *console.Progress, past []journal.Event) (watch func(journal.Event), finish func(agents.Result) error) {
	if asJSON {
		to := newStream(c.stdout, o.MayRead)
		failed := to.past(past)
		watch = func(e journal.Event) {
			if failed == nil {
				failed = to.event(e)
			}
		}
		return watch, func(agents.Result) error { return failed }
	}
	t := console.NewTimeline(progress.Over(c.stdout), o)
	if past != nil {
		t.Past(past)
	}
	return func(e journal.Event) {
			progress.Event(e)
			t.Event(e)
		}, func(r agents.Result) error {
			t.Printed(r.Last.Prints)
			return t.Close()
		}
}

// timelineOptions say how a run of an agent is shown, and what can be done after it.
func (c *command) timelineOptions(path, state string, host *spec.Host) console.Options {
	o := console.Options{Look: console.LookOf(c.stdout, c.getenv), MayRead: c.mayRead(host)}
	if state == "" {
		o.Next = func(_, status string, _ bool) string {
			if status == journal.StatusCancelled {
				return "callgate run " + word(path) + ", from its beginning; --state DIR keeps what was done"
			}
			return "callgate run " + word(path) + " --approve ask, at a terminal, or --approve all; --state DIR keeps what was done"
		}
		return o
	}
	o.Next = func(run, status string, interrupted bool) string {
		if status == journal.StatusCancelled {
			return "callgate runs resume " + run + " --state " + word(state)
		}
		how := " --approve ask, at a terminal, or --approve all"
		if interrupted { // whether it is made again somebody in particular says
			how = " --approve ask, at a terminal"
		}
		return "callgate runs resume " + run + " --state " + word(state) + how + "; callgate approvals list --state " +
			word(state) + ", for others to answer"
	}
	o.Show = func(run string) string { return "callgate runs show " + run + " --state " + word(state) }
	return o
}

// word quotes what a shell would take apart.
func word(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./_-+=:@%,") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// approver is who answers what policies ask for: who has answered at the desk of the store, and then who is at the terminal. Nobody is asked there
// without a terminal to read from and one to ask on, nor when it is not known who is there.
func (c *command) approver(how string, host *spec.Host, store journal.Store) gate.Approver {
	if how == "all" {
		return gate.ApproveAll{By: "--approve all"}
	}
	d := &desk.Desk{Store: store, Who: whose(host)}
	if how != "ask" || !console.IsTerminal(c.stdin) || !console.IsTerminal(c.stderr) {
		return d.Approver(nil)
	}
	who, err := c.person(host, "")
	if err != nil {
		c.stranger(err)
		return d.Approver(nil)
	}
	p := console.NewPrompt(c.stdin, c.stderr, console.LookOf(c.stderr, c.getenv), who)
	p.Discard = func() { discardTyped(c.stdin) }
	return d.Approver(p)
}
