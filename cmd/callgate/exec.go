package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/agents"
	"callgate/cmd/internal/agentdojo"
	"callgate/cmd/internal/console"
	"callgate/engine"
	"callgate/engine/eval"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/spec"
)

// execFlags are the flags of exec.
type execFlags struct {
	isolate  *choice
	labels   *choice
	agent    string
	trust    *choice
	inputs   []string
	approve  *choice
	policies string
	state    string
	steps    *quantity[int64]
	memory   *quantity[int64]
	wall     *quantity[time.Duration]
	calls    *quantity[int64]
	json     bool
	stats    bool
}

func (c *command) execVerb() *cobra.Command {
	f := execFlags{
		trust: &choice{"user", []string{"untrusted", "internal", "user", "system"}}, steps: count(), memory: size(), calls: count(),
		wall: &quantity[time.Duration]{parse: spec.ParseDuration, unit: "duration"},
	}
	cmd := &cobra.Command{
		Use:   "exec PROGRAM.star",
		Short: "Run a program without a model",
		Long: `Run a program: with the tools, the inputs and under the policies of an agent, or by itself, with no tools at all and
under the shipped policy "base". What it prints, and the answer that it gives with done(value), goes to
standard output.`,
		Example: `  callgate exec sums.star
  callgate exec attack.star --agent examples/invoices --trust untrusted
  callgate exec report.star --input table=@table.csv --steps 5M --memory 64MiB --wall 10s --stats`,
		Args: arguments(1, 1, "the file of a program"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.exec(cmd.Context(), args[0], f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.agent, "agent", "", "folder or `file` of the agent whose tools and policies the program has")
	fl.Var(f.trust, "trust", "how far whoever wrote the program is trusted")
	fl.StringArrayVar(&f.inputs, "input", nil, "an input, `name=value` or name=@file; as often as there are inputs")
	f.approve = approveFlag(cmd)
	policyFlag(cmd, &f.policies)
	fl.StringVar(&f.state, "state", "", "`folder` that is kept: the journal, and what tools write")
	fl.Var(f.steps, "steps", "steps of evaluation at most, such as 5M")
	fl.Var(f.memory, "memory", "live memory at most, such as 64MiB")
	fl.Var(f.wall, "wall", "time at most, such as 30s")
	fl.Var(f.calls, "calls", "calls of tools at most")
	f.isolate, f.labels = isolationFlag(cmd), labelsFlag(cmd)
	fl.BoolVar(&f.json, "json", false, "write the run's events as JSON lines, and nothing else")
	fl.BoolVar(&f.stats, "stats", false, "write steps, peak memory and times to standard error, as JSON")
	return cmd
}

// exec runs a program once.
func (c *command) exec(ctx context.Context, file string, f execFlags) (err error) {
	given, err := inputs(f.inputs)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		if cause, ok := errors.AsType[*fs.PathError](err); ok {
			err = cause.Err
		}
		return usage("", "%s: %v", file, err)
	}
	p, problems := f.project(file, text, given)
	if f.state == "" && p.Host != nil {
		f.state = p.Host.State
	}
	st, err := c.openState(f.state, p.Host)
	if err != nil {
		c.tell(problems) // they may be why
		return err
	}
	defer func() { err = errors.Join(err, st.close()) }()
	var failed error
	picture := console.NewTimeline(io.Discard, console.Options{Look: console.LookOf(c.stderr, c.getenv), MayRead: c.mayRead(p.Host)})
	to := newStream(c.stdout, c.mayRead(p.Host))
	watch := func(e journal.Event) {
		if f.json {
			failed = cmp.Or(failed, to.event(e))
		} else {
			picture.Event(e)
		}
	}
	where, done := isolation(f.isolate.value, f.labels.value)
	defer done()
	agent, more := agents.Build(ctx, p, agents.Options{
		Isolation: where,
		State:     st.dir, Journal: st.journal(), Store: st.store, Approver: c.approver(f.approve.value, p.Host, st.store), Watch: watch, Tools: agentdojo.Granted(p),
		Told: c.reloaded, Reread: func() (*spec.Project, []spec.Problem) { return f.project(file, text, given) },
	})
	if agent != nil {
		defer func() { err = errors.Join(err, agent.Close()) }()
	}
	problems = spec.SortProblems(append(problems, more...))
	if spec.Fatal(problems) || agent == nil {
		for _, p := range problems {
			c.say(p.Pos.String() + ": " + p.Text)
			if p.Pos.File == file {
				c.sayLines(eval.Excerpt(string(text), p.Pos.Line, p.Pos.Column, console.Clean))
			}
			if p.Hint == "" && f.agent == "" && strings.HasPrefix(p.Text, "undefined: ") {
				p.Hint = "tools come with --agent, inputs with --input NAME=VALUE"
			}
			c.sayLines(hintLines(p.Hint))
		}
		return quit(exitUsage)
	}
	c.tell(problems)
	compiled, err := compileTime(agent, file, text)
	if err != nil {
		return err
	}
	trust, err := label.ParseTrust(f.trust.value)
	if err != nil {
		return err
	}
	author := label.New(trust, label.Public(), nil, label.Source{Tool: "program", Of: filepath.Base(file)})
	result, err := agent.Run(ctx, agents.RunOptions{Inputs: given, Author: &author})
	if bad, ok := errors.AsType[*agents.InputError](err); ok {
		return usage("", "%s", bad.Error())
	}
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	reader := c.mayRead(p.Host)
	if !f.json {
		if err := c.output(result, reader); err != nil {
			return err
		}
	}
	if e := result.Last.Err; e != nil {
		c.sayLines(programError(e, file, string(text), reader))
		if result.Status == engine.Refused && !f.json && picture.Refused() != "" { // for the person at the terminal: the program is told the rules' ids alone
			c.sayLines(strings.Split(strings.TrimSuffix(picture.Refused(), "\n"), "\n"))
		}
	}
	if f.stats {
		if err := c.stats(result.Last, compiled); err != nil {
			return err
		}
	}
	return quit(engine.ExitCode(result.Status))
}

// project is the agent that the program is run as, with the program in place of its own or its model: the one
// named, or one that has no tools, every input that is given, and the shipped policy "base".
func (f execFlags) project(file string, text []byte, given map[string]string) (*spec.Project, []spec.Problem) {
	if f.agent != "" {
		p, problems := spec.Load(f.agent, f.policies)
		if p.Agent != nil {
			a := *p.Agent
			p.Agent = &a
			f.as(p.Agent, file)
		}
		return p, problems
	}
	sum := sha256.Sum256(text)
	a := &spec.Agent{Meta: spec.Meta{Name: "exec", Pos: spec.Position{File: file}}, File: file, Dir: filepath.Dir(file), Digest: "sha256:" + hex.EncodeToString(sum[:])}
	for name := range given {
		a.Inputs = append(a.Inputs, spec.Input{Name: name, Label: label.New(label.User, label.Public(), nil)})
	}
	slices.SortFunc(a.Inputs, func(x, y spec.Input) int { return strings.Compare(x.Name, y.Name) })
	f.as(a, file)
	p := &spec.Project{Agent: a, Host: &spec.Host{Library: []string{"base"}}}
	var problems []spec.Problem
	if f.policies != "" {
		problems = p.Bind(f.policies)
	}
	return p, problems
}

// as makes an agent one that is a program, within the limits that the flags set.
func (f execFlags) as(a *spec.Agent, file string) {
	a.Model, a.Program, a.Mode = nil, file, "program"
	l := &a.Limits
	l.Steps, l.Memory, l.Wall = cmp.Or(f.steps.value, l.Steps), cmp.Or(f.memory.value, l.Memory), cmp.Or(f.wall.value, l.Wall)
	l.Calls = cmp.Or(int(min(f.calls.value, 1<<30)), l.Calls)
}

// compileTime compiles the program once more, to see how long that takes.
func compileTime(a *agents.Agent, file string, text []byte) (time.Duration, error) {
	env, err := names(a)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	_, err = eval.Compile(file, text, env)
	return time.Since(begin), err
}

// names are those that programs of an agent know: its tools and its inputs.
func names(a *agents.Agent) (eval.Env, error) {
	cfg := eval.Config{Tools: engine.Signatures(a.Tools())}
	for _, in := range a.Spec.Inputs {
		cfg.Inputs = append(cfg.Inputs, eval.Input{Name: in.Name, Value: value.StringOf("", label.Top())})
	}
	s, err := eval.NewSession(cfg)
	if err != nil {
		return eval.Env{}, err
	}
	return s.Env(), nil
}

// output writes what the program printed, and its answer. To a terminal it goes without what could steer that.
func (c *command) output(r agents.Result, may func(label.Label) bool) error {
	var b strings.Builder
	for _, p := range r.Last.Prints {
		if may(p.Label) {
			b.WriteString(p.Text)
		} else {
			b.WriteString(console.Hidden(p.Label) + "\n")
		}
	}
	if v := r.Answer; v != nil {
		switch {
		case !may(v.Deep()):
			b.WriteString(console.Hidden(v.Deep()))
		case v.Kind == value.String:
			b.WriteString(v.Str)
		default:
			b.WriteString(v.Text())
		}
		b.WriteString("\n")
	}
	text := b.String()
	if console.IsTerminal(c.stdout) {
		text = console.Clean(text)
	}
	_, err := c.stdout.WriteString(text)
	return err
}

// stats writes what the program took.
func (c *command) stats(o eval.Outcome, compiled time.Duration) error {
	return json.NewEncoder(c.stderr).Encode(struct {
		Steps   int64 `json:"steps"`
		Peak    int64 `json:"peak_bytes"`
		Compile int64 `json:"compile_us"`
		Run     int64 `json:"run_us"`
	}{o.Steps, o.Peak, compiled.Microseconds(), o.Duration.Microseconds()})
}

// programError tells how a program ended: the error, the line that it is in, the calls that led there, and
// what to do instead.
func programError(e *eval.Error, file, text string, may func(label.Label) bool) []string {
	first := e.Public()
	if may(e.Label) {
		first, _, _ = strings.Cut(e.Error(), "\n")
		if e.Hint == "" {
			first = e.Error()
		}
	}
	if e.Site.Line == 0 {
		first = file + ": " + first
	}
	out := strings.Split(first, "\n")
	if e.Site.File == file {
		out = append(out, eval.Excerpt(text, e.Site.Line, e.Site.Column, console.Clean)...)
	}
	return append(append(out, e.Backtrace()...), hintLines(e.Hint)...)
}

func hintLines(hint string) []string {
	if hint == "" {
		return nil
	}
	return []string{"hint: " + hint}
}
