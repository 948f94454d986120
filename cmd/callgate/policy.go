package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"callgate/agents"
	"callgate/builtins"
	"callgate/cmd/internal/agentdojo"
	"callgate/cmd/internal/console"
	"callgate/engine"
	"callgate/engine/gate"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
	"callgate/policies/root"
	"callgate/spec"
)

func (c *command) policyVerb() *cobra.Command {
	cmd := group("policy", "Decide requests, of files and of runs")
	cmd.Example = `  callgate policy eval request.json --agent examples/invoices
  callgate policy eval --run 20261201 --state ./state --agent examples/invoices`
	cmd.AddCommand(c.evalVerb(), c.requestVerb(), c.dataVerb())
	return cmd
}

// evalFlags are the flags of policy eval.
type evalFlags struct {
	agent    string
	policies string
	run      string
	call     string
	state    string
	json     bool
}

func (c *command) evalVerb() *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{
		Use:   "eval [REQUEST.json]",
		Short: "Decide a request of a file, or the calls of a run once more",
		Long: `Decide a request under the policies of an agent, or of the callgate.yaml in this folder or above it, and say by which
rules. The request is a JSON document, as spec/decision.md has it ("-" reads standard input), or that of a call of a run in
the past: then it is said what is decided otherwise today. Without --call all calls of the run are decided.

Exit codes: 0 allow, 3 deny, 5 ask. For all calls of a run 0 if nothing changes, and 1 if something does.`,
		Example: `  callgate policy eval request.json --agent examples/invoices
  callgate policy eval --run 20261201 --call 2.4 --state ./state --agent examples/invoices
  callgate policy eval --run 20261201 --state ./state --agent examples/invoices --policies ./stricter`,
		Args: arguments(0, 1, "the file of a request, or --run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case (len(args) == 1) == (f.run != ""):
				return usage("", "policy eval: want the file of a request or --run, one of them")
			case f.call != "" && f.run == "":
				return usage("", "policy eval: --call: want --run too")
			case f.run != "":
				return c.evalRun(cmd.Context(), f)
			}
			return c.evalFile(cmd.Context(), args[0], f)
		},
	}
	fl := cmd.Flags()
	agentFlag(cmd, &f.agent)
	policyFlag(cmd, &f.policies)
	fl.StringVar(&f.run, "run", "", "the `ID` of a run, or its beginning")
	fl.StringVar(&f.call, "call", "", "the `ID` of a call of the run")
	fl.StringVar(&f.state, "state", "", "`folder` of the journal")
	fl.BoolVar(&f.json, "json", false, "write the decision as JSON, or a line of JSON for each call of a run")
	return cmd
}

// agentFlag adds --agent.
func agentFlag(cmd *cobra.Command, p *string) {
	cmd.Flags().StringVar(p, "agent", "", "folder or `file` of the agent whose tools and policies are meant; the one in this folder if there is one")
}

// bound is the policies under which a command decides, and the tools that they are about.
type bound struct {
	root  *root.Root
	tools *builtins.Set
	host  *spec.Host
	cfg   root.Config
	close func() error
}

// agentHere is the agent that is meant where none is named: that of this folder, if there is one.
func agentHere(named string) string {
	if _, err := os.Stat(spec.AgentFile); named == "" && err == nil {
		return "."
	}
	return named
}

// bind loads the policies of an agent, or of the host of this folder.
func (c *command) bind(ctx context.Context, agent, override string) (*bound, error) {
	if agent = agentHere(agent); agent == "" {
		return c.bindHost(ctx, override)
	}
	state, err := os.MkdirTemp("", "callgate-policy-")
	if err != nil {
		return nil, err
	}
	remove := func() error { return os.RemoveAll(state) }
	p, problems := spec.Load(agent, override)
	a, more := agents.Build(ctx, p, agents.Options{State: state, Tools: agentdojo.Granted(p)})
	if problems = spec.SortProblems(append(problems, more...)); spec.Fatal(problems) || a == nil {
		if a != nil {
			return nil, errors.Join(c.invalid(problems), a.Close(), remove())
		}
		return nil, errors.Join(c.invalid(problems), remove())
	}
	return &bound{
		root: a.Root, tools: a.Tools(), host: p.Host, cfg: root.Config{Host: p.Host, Policies: p.Policies, Tools: a.ToolSchemas()},
		close: func() error { return errors.Join(a.Close(), remove()) },
	}, nil
}

func (c *command) bindHost(ctx context.Context, override string) (*bound, error) {
	host, problems := spec.FindHost(".")
	var roots []string
	switch {
	case override != "":
		roots = []string{override}
	case host != nil:
		roots = slices.DeleteFunc(slices.Clone(host.Policies), func(p string) bool { _, err := os.Stat(p); return err != nil })
	case len(problems) == 0:
		return nil, usage("name an agent with --agent, or policies with --policies", "no %s in this folder or above it", spec.HostFile)
	}
	all, more := spec.LoadPolicies(roots...)
	cfg := root.Config{Host: host, Policies: all}
	problems = append(problems, more...)
	loaded, more := root.Load(ctx, cfg)
	if problems = spec.SortProblems(append(problems, more...)); spec.Fatal(problems) {
		return nil, c.invalid(problems)
	}
	return &bound{root: loaded, tools: new(builtins.Set), host: host, cfg: cfg, close: func() error { return nil }}, nil
}

// evalFile decides the request of a file.
func (c *command) evalFile(ctx context.Context, file string, f evalFlags) (err error) {
	text, err := c.readRequest(file)
	if err != nil {
		return usage("", "%v", err)
	}
	r, problems := parseRequest(file, text)
	if len(problems) > 0 {
		return c.invalid(problems)
	}
	b, err := c.bind(ctx, f.agent, f.policies)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	d, err := b.root.Decide(ctx, r)
	if err != nil {
		return err
	}
	if f.json {
		err = c.writeLine(d)
	} else {
		_, err = c.stdout.WriteString(console.Clean(decisionText(r.Call.Tool, d, "")))
	}
	if err != nil {
		return err
	}
	return quit(effectCode(d.Effect))
}

// effectCode is the exit code that says what was decided.
func effectCode(e policies.Effect) int {
	switch e {
	case policies.Allow:
		return engine.ExitCode(engine.Done)
	case policies.Ask:
		return engine.ExitCode(engine.Waiting)
	}
	return engine.ExitCode(engine.Refused)
}

// maxRequest is the size of the largest request, in bytes.
const maxRequest = 64 << 20

func (c *command) readRequest(file string) ([]byte, error) {
	in := io.Reader(c.stdin)
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxRequest+1))
	if err == nil && len(b) > maxRequest {
		err = fmt.Errorf("%s: got more than %d bytes", file, maxRequest)
	}
	return b, err
}

// parseRequest checks a document against the schema of requests, and reads it. Everything that is wrong is told.
func parseRequest(file string, text []byte) (*policies.Request, []spec.Problem) {
	problem := func(text, hint string) spec.Problem {
		return spec.Problem{Pos: spec.Position{File: file}, Text: text, Hint: hint}
	}
	var syntax *json.SyntaxError
	if err := json.Unmarshal(text, new(any)); errors.As(err, &syntax) {
		p := problem(err.Error(), "")
		before := text[:min(int(syntax.Offset), len(text))]
		p.Pos.Line = 1 + bytes.Count(before, []byte("\n"))
		p.Pos.Column = len(before) - bytes.LastIndexByte(before, '\n')
		return nil, []spec.Problem{p}
	}
	v, err := value.FromJSON(text, label.Bottom())
	if err != nil {
		return nil, []spec.Problem{problem(err.Error(), "")}
	}
	const name = "request"
	check := &builtins.Tool{Name: name, Params: []builtins.Param{{Name: name, Schema: policies.InputSchema(), Required: true}}}
	if err := check.CheckArgs(value.DictOf(label.Bottom(), value.Field{Name: name, Of: v})); err != nil {
		bad, ok := errors.AsType[*builtins.SchemaError](err)
		if !ok {
			return nil, []spec.Problem{problem(err.Error(), "")}
		}
		var out []spec.Problem
		for _, p := range bad.Problems {
			text := p.Text
			if path := strings.TrimPrefix(strings.TrimPrefix(p.Path, name), "."); path != "" {
				text = path + ": " + text
			}
			out = append(out, problem(text, p.Hint))
		}
		return nil, out
	}
	r, err := policies.ParseRequest(text)
	if err != nil {
		var out []spec.Problem
		for line := range strings.SplitSeq(err.Error(), "\n") {
			out = append(out, problem(line, ""))
		}
		return nil, out
	}
	return r, nil
}

// writeLine writes a line of JSON.
func (c *command) writeLine(v any) error {
	out := json.NewEncoder(c.stdout)
	out.SetEscapeHTML(false)
	return out.Encode(v)
}

func (c *command) requestVerb() *cobra.Command {
	var agent, state string
	cmd := &cobra.Command{
		Use:   "request RUN CALL",
		Short: "Write the request of a call of a run, as JSON",
		Long: `Write the request that a call of a run was decided on, as far as the journal has it: to be changed, and decided with
policy eval. With --agent the sinks and normal forms of its arguments are those that its tools declare.`,
		Example: "  callgate policy request 20261201 2.4 --state ./state --agent examples/invoices > request.json",
		Args:    arguments(2, 2, "the ID of a run and of a call"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.request(cmd.Context(), args[0], args[1], agent, state)
		},
	}
	agentFlag(cmd, &agent)
	cmd.Flags().StringVar(&state, "state", "", "`folder` of the journal")
	return cmd
}

func (c *command) request(ctx context.Context, run, call, agent, state string) (err error) {
	events, err := c.recorded(ctx, state, run)
	if err != nil {
		return err
	}
	var b *bound
	var tools *builtins.Set
	if agent = agentHere(agent); agent != "" {
		if b, err = c.bind(ctx, agent, ""); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.close()) }()
		tools = b.tools
	}
	past, err := gate.Rebuild(events, tools)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(past, func(p gate.Recorded) bool { return p.Call == call })
	if at < 0 {
		return noCall(events, call)
	}
	r := past[at].Request
	if !c.readers(b)(events).MayRead(everything(r)) {
		return fmt.Errorf("call %s: some of its arguments are not for whoever is at the terminal", call)
	}
	for _, n := range past[at].Notes {
		c.say("call " + call + ": " + n)
	}
	text, err := json.MarshalIndent(r.Document(), "", "  ")
	if err == nil {
		_, err = c.stdout.Write(append(text, '\n'))
	}
	return err
}

func (c *command) dataVerb() *cobra.Command {
	var agent, override string
	cmd := &cobra.Command{
		Use:   "data",
		Short: "Write what data is for rules in Rego, for other tools",
		Long: `Write the document "data" as rules in Rego see it, as JSON: the parameters, and what the agent's tools declare. With it
stock opa runs the same tests.`,
		Example: "  callgate policy data --agent examples/invoices > data.json\n  opa test policies/library/*.rego examples/invoices/policies/rego data.json",
		Args:    arguments(0, 0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			b, err := c.bind(cmd.Context(), agent, override)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, b.close()) }()
			suite, problems := root.Suite(b.cfg)
			if spec.Fatal(problems) {
				return c.invalid(problems)
			}
			data := suite.Document()
			text, err := json.MarshalIndent(data, "", "  ")
			if err == nil {
				_, err = c.stdout.Write(append(text, '\n'))
			}
			return err
		},
	}
	agentFlag(cmd, &agent)
	policyFlag(cmd, &override)
	return cmd
}
