package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"callgate/agents"
	"callgate/cmd/internal/agentdojo"
	"callgate/cmd/internal/console"
	"callgate/engine"
	"callgate/engine/desk"
	"callgate/engine/eval"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
	"callgate/spec"
)

// replFlags are the flags of repl.
type replFlags struct {
	agent    string
	task     string
	inputs   []string
	approve  *choice
	policies string
	state    string
	resume   string
	isolate  *choice
	labels   *choice
	json     bool
}

func (c *command) replVerb() *cobra.Command {
	var f replFlags
	cmd := &cobra.Command{
		Use:   "repl [PATH]",
		Short: "Type programs against an agent's tools and policies",
		Long: `Type Starlark, line by line, with the tools and inputs of an agent and under its policies. What you type is yours: it has the trust of
a user, whatever you were shown before. What it works with keeps its labels, which stand beside each result.

At a terminal there are the arrow keys, history and completion with the tab key; what policies ask for is asked there; Ctrl-C ends the line that
runs and not the session, Ctrl-D ends the session. Without a terminal, lines are read from standard input, results go to standard output and
errors to standard error, and the exit code is that of the first line that did not end well.

Each line is a turn of one run of the mode repl, which is journalled and shown as any other. With --resume a session goes on that was broken off.
  :help lists what there is besides programs: :explain, :labels, :tools, :context, :load FILE, :new, :quit.`,
		Example: `  callgate repl examples/invoices
  callgate repl --agent agent.yaml --task "Answer the mail" --state ./state
  echo 'mail.list()[0]' | callgate repl examples/invoices
  callgate repl examples/invoices --state ./state --resume 20261201`,
		Args: arguments(0, 1, "the folder or file of an agent, or none for that of this folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && f.agent != "" {
				return usage("", "repl: got %s and --agent %s, want one agent", args[0], f.agent)
			}
			path := agentHere(cmp.Or(strings.Join(args, ""), f.agent))
			if path == "" {
				return usage("callgate init DIR writes one", "repl: no agent here: name its folder or file")
			}
			return c.repl(cmd.Context(), path, f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.agent, "agent", "", "folder or `file` of the agent; the one in this folder if there is one")
	fl.StringVar(&f.task, "task", "", "the input `task`")
	fl.StringArrayVar(&f.inputs, "input", nil, "an input, `name=value` or name=@file; as often as there are inputs")
	f.approve = approveFlag(cmd)
	policyFlag(cmd, &f.policies)
	fl.StringVar(&f.state, "state", "", "`folder` that is kept: the journal, the history of what was typed, and what tools write")
	fl.StringVar(&f.resume, "resume", "", "go on with the session of a `run` that was broken off")
	_ = cmd.RegisterFlagCompletionFunc("resume", func(cmd *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) { // the flag is there
		return c.completeRuns(&runsFlags{state: f.state}, 0)(cmd, nil, begun)
	})
	f.isolate, f.labels = isolationFlag(cmd), labelsFlag(cmd)
	fl.BoolVar(&f.json, "json", false, "read lines without a terminal's help, and write the run's events and what came of each line as JSON lines")
	return cmd
}

// repl is a session at the keyboard.
type repl struct {
	c       *command
	flags   replFlags
	path    string
	project *spec.Project
	agent   *agents.Agent
	given   agents.RunOptions
	run     *agents.Interactive
	state   *state
	may     func(label.Label) bool
	picture *console.Timeline
	look    console.Look
	stream  *stream // nil: no JSON

	in     *typed          // what is typed, or read
	editor *editor         // nil: there is no terminal to edit lines on
	prompt *console.Prompt // to ask with; nil: not yet

	armed    context.Context                    // in which the line that was typed runs, unless nil
	ends     atomic.Pointer[context.CancelFunc] // ends the line that was typed; nil: none was, or it is over
	events   []journal.Event                    // opened
	decided  string                             // the last call that was decided on
	loaded   map[string]bool                    // names of files that programs had
	floor    label.Label                        // of the session, before the last line
	code     int                                // of the first line that did not end well
	refused  string                             // the last call that was refused, as it was told
	watching error
	quit     bool
}

// repl runs a session.
func (c *command) repl(ctx context.Context, path string, f replFlags) (err error) {
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
	if f.resume != "" && f.state == "" {
		if f.state, err = c.stateFolder(); err != nil {
			return err
		}
	}
	st, err := c.openState(f.state, p.Host)
	if err != nil {
		c.tell(problems) // they may be why
		return err
	}
	defer func() { err = errors.Join(err, st.close()) }()
	r := &repl{
		c: c, flags: f, path: path, project: p, state: st, may: c.mayRead(p.Host), look: console.LookOf(c.stdout, c.getenv),
		in: newTyped(c.stdin), loaded: map[string]bool{}, floor: label.Bottom(),
	}
	r.picture = console.NewTimeline(io.Discard, console.Options{Look: r.look, MayRead: r.may})
	if f.json {
		r.stream = newStream(c.stdout, r.may)
	}
	where, done := isolation(f.isolate.value, f.labels.value)
	defer done()
	agent, more := agents.Build(ctx, p, agents.Options{
		Isolation: where,
		State:     st.dir, Journal: st.journal(), Store: st.store, From: origin(path, f.policies), Watch: r.event, Tools: agentdojo.Granted(p),
		Approver: r.approver(), Told: c.reloaded, Reread: func() (*spec.Project, []spec.Problem) { return spec.Load(path, f.policies) },
	})
	if agent != nil {
		defer func() { err = errors.Join(err, agent.Close()) }()
	}
	problems = spec.SortProblems(append(problems, more...))
	if spec.Fatal(problems) || agent == nil {
		return c.invalid(problems)
	}
	c.tell(problems)
	r.agent = agent
	r.given = agents.RunOptions{Task: f.task, Inputs: given}
	if f.resume != "" {
		err = r.goOn(ctx, given)
	} else {
		err = r.begin(ctx)
	}
	if err != nil {
		return err
	}
	if r.terminal() {
		r.editor = r.newEditor()
		r.editor.typed = func() { r.arm(ctx) }
		for _, in := range r.run.Session().Inputs() {
			r.secret(in.Value)
		}
		defer c.onInterrupt(func() {
			if end := r.ends.Load(); end != nil {
				(*end)()
			}
		})()
	}
	err = r.lines(ctx)
	err = errors.Join(err, r.run.End(ctx), r.watching)
	if err == nil && !r.terminal() {
		err = quit(r.code)
	}
	if err == nil && ctx.Err() != nil {
		err = quit(engine.ExitCode(engine.Cancelled))
	}
	return err
}

// terminal reports whether a person types at a terminal and sees what comes of it there.
func (r *repl) terminal() bool {
	return r.stream == nil && console.IsTerminal(r.c.stdin) && console.IsTerminal(r.c.stdout)
}

// begin begins a run.
func (r *repl) begin(ctx context.Context) error {
	run, err := r.agent.Interactive(ctx, r.given)
	if bad, ok := errors.AsType[*agents.InputError](err); ok {
		return usage("", "%s", bad.Error())
	}
	if err != nil {
		return err
	}
	r.run = run
	r.greet("run " + run.Session().ID())
	return nil
}

// another ends the run and begins another one, in which nothing is bound.
func (r *repl) another(ctx context.Context, _ string) (string, error) {
	if err := r.run.End(ctx); err != nil {
		return "", err
	}
	r.events, r.decided, r.refused, r.loaded, r.floor = nil, "", "", map[string]bool{}, label.Bottom()
	r.picture = console.NewTimeline(io.Discard, console.Options{Look: r.look, MayRead: r.may})
	return "", r.begin(ctx)
}

// goOn goes on with the run that is to be resumed.
func (r *repl) goOn(ctx context.Context, secret map[string]string) error {
	c := r.c
	runs, err := runsIn(ctx, r.state.store)
	if err != nil {
		return err
	}
	id, err := find(runs, r.flags.resume, r.state.dir)
	if err != nil {
		return err
	}
	events, err := r.state.store.Read(ctx, id, 1)
	if err != nil {
		return err
	}
	if err := notInteractive(events, false); err != nil {
		return err
	}
	events = journal.Current(events, true)
	for _, e := range events {
		r.past(e)
	}
	if r.stream != nil {
		if err := r.stream.past(events); err != nil {
			return err
		}
	}
	who, _ := c.person(r.project.Host, "") // whom the host does not know goes on with it as nobody
	r.run, err = r.agent.GoOn(ctx, engine.Again{
		Run: id, By: who.Sub, Process: fmt.Sprintf("process %d", os.Getpid()), Secret: secret,
		Accept: func(changes []engine.Change) error { return c.accept(ctx, id, who, changes, false) },
	})
	if err != nil {
		return err
	}
	r.floor = r.run.Session().Floor()
	r.greet(fmt.Sprintf("run %s goes on after %d lines", id, r.run.Turns()))
	return nil
}

// notInteractive refuses a run in whose mode the verb is not at home.
func notInteractive(events []journal.Event, want bool) error {
	header, err := journal.Decode[journal.RunStarted](events[0])
	if err != nil {
		return err
	}
	switch is := header.Mode == agents.ModeREPL; {
	case is && want:
		return usage("callgate repl PATH --resume "+events[0].Run, "run %s: its programs were typed by a person, who goes on with it in repl", events[0].Run)
	case !is && !want:
		return usage("callgate runs resume "+events[0].Run, "run %s: its programs were not typed in repl: its mode is %s", events[0].Run, header.Mode)
	}
	return nil
}

// greet says, at a terminal, which session this is.
func (r *repl) greet(what string) {
	if !r.terminal() {
		return
	}
	agent := r.agent.Spec.Meta.Name
	who := "nobody"
	if p := r.project.Host; p != nil && p.Principal.Sub != "" {
		who = p.Principal.Sub
	}
	fmt.Fprintln(r.c.stdout, r.look.Note(console.Line(fmt.Sprintf("%s, agent %s, for %s; :help says what there is, Ctrl-D ends", what, agent, who))))
}

// event takes in an event of the run.
func (r *repl) event(e journal.Event) {
	if r.stream != nil {
		r.watching = cmp.Or(r.watching, r.stream.event(e))
	}
	if opened, err := e.Opened(); err == nil {
		r.past(opened)
	} else {
		r.watching = cmp.Or(r.watching, err)
	}
}

// past takes in an event that was seen before, or is seen now.
func (r *repl) past(e journal.Event) {
	r.events = append(r.events, e)
	r.picture.Event(r.typed(e))
	if made, err := journal.Decode[journal.DecisionMade](e); err == nil && e.Type == journal.Decided {
		if made.Kind != policies.KindProgram || made.Decision.Effect != policies.Allow { // that a line may run is nothing to ask about
			r.decided = e.Call
		}
	}
}

// typed is an event with the place of a decided call as it is in what was typed.
func (r *repl) typed(e journal.Event) journal.Event {
	if e.Type != journal.Decided {
		return e
	}
	made, err := journal.Decode[journal.DecisionMade](e)
	if err != nil {
		return e
	}
	made.Site = r.site(made.Site)
	if payload, err := json.Marshal(made); err == nil {
		e.Payload = payload
	}
	return e
}

// site is a place in a program as it is in what was typed.
func (r *repl) site(s policies.Site) policies.Site {
	if r.run != nil { // else a session is gone over again
		s.Column = r.run.Column(s.File, s.Line, s.Column)
	}
	return s
}

// approver is who answers what policies ask for.
func (r *repl) approver() gate.Approver {
	c, host := r.c, r.project.Host
	if how := r.flags.approve.value; how != "ask" || r.stream != nil || !console.IsTerminal(c.stdin) || !console.IsTerminal(c.stderr) {
		if how == "ask" {
			how = "none"
		}
		return c.approver(how, host, r.state.store)
	}
	d := &desk.Desk{Store: r.state.store, Who: whose(host)}
	who, err := c.person(host, "")
	if err != nil {
		c.stranger(err)
		return d.Approver(nil)
	}
	return d.Approver(asking{r, who})
}

// asking asks the person who types, one question at a time. It reads where lines are read.
type asking struct {
	r   *repl
	who policies.Principal
}

// Approve implements [gate.Approver].
func (a asking) Approve(ctx context.Context, q gate.Question) (gate.Verdict, error) {
	r := a.r
	if r.prompt == nil {
		r.prompt = console.NewPrompt(r.in, r.c.stderr, console.LookOf(r.c.stderr, r.c.getenv), a.who)
		r.prompt.Discard = func() { discardTyped(r.c.stdin); r.in.drop() }
	}
	q.Site = r.site(q.Site)
	v, err := r.prompt.Approve(ctx, q)
	if ctx.Err() != nil {
		r.prompt = nil // it asks nothing more
	}
	return v, err
}

// lines runs what is typed until there is no more.
func (r *repl) lines(ctx context.Context) error {
	for !r.quit && ctx.Err() == nil {
		text, err := r.next(ctx)
		if err == io.EOF || ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		if name, ok := strings.CutPrefix(strings.TrimSpace(text), ":"); ok {
			err = r.command(ctx, name)
		} else {
			err = r.exec(ctx, "", text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// arm has an interrupt end the line that was typed. It does so before the terminal turns Ctrl-C into one: of a line that does not run yet, too.
func (r *repl) arm(ctx context.Context) {
	r.disarm()
	within, cancel := context.WithCancel(ctx)
	r.armed = within
	r.ends.Store(&cancel)
}

// disarm has an interrupt end nothing.
func (r *repl) disarm() {
	if cancel := r.ends.Swap(nil); cancel != nil {
		(*cancel)()
	}
	r.armed = nil
}

// exec runs a program, and tells what came of it. An interrupt ends the program.
func (r *repl) exec(ctx context.Context, file, text string) error {
	if r.armed == nil {
		r.arm(ctx)
	}
	within := r.armed
	defer r.disarm()
	r.in.within(within)
	defer r.in.within(ctx)
	entry, err := r.run.Exec(within, file, text)
	if err != nil {
		return err
	}
	return r.tell(entry)
}

// tell tells what came of a program.
func (r *repl) tell(e agents.Entry) error {
	out := e.Outcome
	if code := engine.ExitCode(engine.StatusOf(out.Status)); r.code == 0 {
		r.code = code
	}
	r.secrets(e)
	if r.stream != nil {
		return r.stream.entry(r.run.Session().ID(), e, r.may)
	}
	var b strings.Builder
	for _, p := range out.Prints {
		b.WriteString(r.picture.Said(p))
	}
	arrow := r.look.Note("=> ")
	switch {
	case e.Value != nil:
		b.WriteString(arrow + r.picture.Result(*e.Value, false) + "\n")
	case e.Held != "":
		b.WriteString(arrow + console.Line(e.Held) + "\n")
	case out.Answer != nil:
		b.WriteString(r.look.Note("answered ") + r.picture.Result(*out.Answer, false) + "\n")
	}
	if _, err := r.c.stdout.WriteString(b.String()); err != nil {
		return err
	}
	if out.Err != nil {
		r.failed(e)
	}
	r.risen(out)
	return nil
}

// risen tells that the floor of the session rose, and how it would not have.
func (r *repl) risen(out eval.Outcome) {
	before := r.floor
	r.floor = out.Floor
	if out.Floor.FlowsTo(before) || out.Floor.SameClass(before) || r.run.Author().SameClass(out.Floor) {
		return
	}
	why, hint := "this line depends on it", "copy what is to be changed, or keep it apart"
	if out.Err != nil {
		why, hint = "how far this line came tells of that", "what may fail can stand in a try"
	}
	for _, rise := range out.Rises {
		why = fmt.Sprintf("%s:%d: %s", rise.Site.File, rise.Site.Line, rise.Why)
	}
	r.c.say("from here on, whatever is made is " + r.picture.Class(out.Floor) + ": " + why)
	r.c.say("hint: :new begins another session, in which it is not; " + hint)
}

// failed tells how a program ended that did not end well.
func (r *repl) failed(e agents.Entry) {
	err, text := e.Outcome.Err, e.Program
	if len(err.Syntax) > 0 {
		for _, s := range err.Syntax {
			r.c.say(s.Error())
			r.c.sayLines(eval.Excerpt(text, s.Line, s.Column, console.Clean))
			r.c.sayLines(hintLines(s.Hint))
		}
		return
	}
	r.c.sayLines(programError(err, e.File, text, r.may))
	if refused := r.picture.Refused(); e.Outcome.Status == eval.Denied && refused != r.refused {
		r.c.sayLines(strings.Split(strings.TrimSuffix(refused, "\n"), "\n"))
		r.refused = refused
	}
}

// secrets keeps texts that are secret out of the history.
func (r *repl) secrets(e agents.Entry) {
	for _, p := range e.Outcome.Prints {
		for _, v := range p.Args {
			r.secret(v)
		}
	}
	if e.Value != nil {
		r.secret(*e.Value)
	}
}

// secret keeps what is secret of a value out of the history, however it will be quoted.
func (r *repl) secret(v value.Value) {
	if r.editor == nil {
		return
	}
	v.Walk(true, func(_ string, part value.Value, l label.Label) {
		switch {
		case !l.HasTag(journal.SecretTag):
		case part.Kind == value.String || part.Kind == value.Bytes:
			r.editor.history.never(part.Str)
		case part.Scalar():
			r.editor.history.never(part.Text())
		}
	})
}

// fileName is the name of a file's program: its own, if no other had it.
func (r *repl) fileName(path string) string {
	name := filepath.Base(path)
	for n := 2; r.loaded[name]; n++ {
		name = fmt.Sprintf("%s#%d", filepath.Base(path), n)
	}
	r.loaded[name] = true
	return name
}
