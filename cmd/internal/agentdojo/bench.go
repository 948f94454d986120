package agentdojo

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/agents"
	"callgate/builtins"
	"callgate/engine"
	"callgate/engine/eval"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
	"callgate/policies/root"
	"callgate/spec"
)

// Bench is a suite, and the agent that it is run against.
type Bench struct {
	suite    *Suite
	project  *spec.Project
	bound    *root.Root // the policies of the agent's host
	lone     *root.Root // the same, but that an untrusted author's programs may do what labels let them
	programs map[string]program
	answers  Answerer
	meter    int
}

// program is what an ideal model would write for a task.
type program struct{ file, text string }

// The files beside the agent's.
const (
	tasksFolder = "tasks"        // a program for each task, called after it
	answersFile = "answers.json" // what the quarantined model answers: a list of [Recorded]
)

// New makes a bench of an agent, as its file or folder, and a suite. Policies is a file or folder of policies in place of the host's; "":
// those. With a problem that is [spec.Fatal] the bench is nil.
func New(ctx context.Context, path, override string, suite *Suite) (*Bench, []spec.Problem) {
	p, problems := spec.Load(path, override)
	if p.Agent == nil {
		return nil, problems
	}
	if p.Host == nil {
		return nil, append(problems, spec.Problem{Pos: p.Agent.Meta.Pos, Text: "got no " + spec.HostFile + ", want one: nobody has bound policies, and nobody owns the account"})
	}
	a, more := agents.Build(ctx, p, agents.Options{Tools: Granted(p)})
	problems = append(problems, more...)
	if a == nil {
		return nil, spec.SortProblems(problems)
	}
	b := &Bench{suite: suite, project: p, bound: a.Root, programs: map[string]program{}, meter: agents.Meter(p.Agent)}
	schemas := a.ToolSchemas()
	if err := a.Close(); err != nil {
		problems = append(problems, spec.Problem{Pos: p.Agent.Meta.Pos, Text: err.Error()})
	}
	b.lone, more = root.Load(ctx, root.Config{Host: loosened(p.Host), Agent: p.Agent.Meta.Name, Policies: p.Policies, Tools: schemas})
	problems = append(problems, more...)
	for _, err := range b.read(p.Agent.Dir) {
		problems = append(problems, spec.Problem{Pos: p.Agent.Meta.Pos, Text: err.Error()})
	}
	if spec.Fatal(problems) {
		return nil, spec.SortProblems(problems)
	}
	return b, spec.SortProblems(problems)
}

// loosened is a host that does not refuse programs because of who wrote them: what is refused then, labels refuse.
func loosened(h *spec.Host) *spec.Host {
	out := *h
	out.Params = maps.Clone(h.Params)
	base, _ := out.Params["base"].(map[string]any)
	base = maps.Clone(base)
	if base == nil {
		base = map[string]any{}
	}
	base["program_trust"] = label.Untrusted.String()
	if out.Params == nil {
		out.Params = map[string]any{}
	}
	out.Params["base"] = base
	return &out
}

// read reads the programs of the tasks, and the recorded answers.
func (b *Bench) read(dir string) (bad []error) {
	for _, t := range b.suite.Tasks {
		file := filepath.Join(dir, tasksFolder, t.ID+".star")
		text, err := os.ReadFile(file)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		b.programs[t.ID] = program{file, string(text)}
	}
	file := filepath.Join(dir, answersFile)
	text, err := os.ReadFile(file)
	var recorded []Recorded
	if err == nil {
		if err = json.Unmarshal(text, &recorded); err != nil {
			err = fmt.Errorf("%s: %w", file, err)
		}
	}
	if err == nil {
		b.answers, err = play(recorded)
	}
	if err != nil {
		bad = append(bad, err)
	}
	return bad
}

// desk answers questions of approval: all with yes, or none at all.
type desk struct {
	yes   bool
	asked []gate.Question
}

// Approve implements [gate.Approver].
func (d *desk) Approve(_ context.Context, q gate.Question) (gate.Verdict, error) {
	d.asked = append(d.asked, q)
	if d.yes {
		return gate.Verdict{Outcome: gate.Approved, By: "the suite", Anybody: true}, nil
	}
	return gate.Verdict{}, nil
}

// place is where to run one task after the other: tools on one bank, which is replaced before each run.
type place struct {
	bench *Bench
	bank  Bank
	ask   Answerer
	tools *builtins.Set
}

func (b *Bench) place() (*place, error) {
	p := &place{bench: b, tools: new(builtins.Set)}
	ask := func(q Question) any { return p.ask(q) }
	for _, t := range Tools(&p.bank, ask, b.project.Host.Principal.Sub) {
		if err := p.tools.Add(t); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// options are how a task is run.
type options struct {
	injected map[string]string
	answers  Answerer
	pdp      policies.PDP
	yes      bool // every approval that is asked for is given
	watch    func(journal.Event)
}

// running is a task being run.
type running struct {
	*place
	task    Task
	session *engine.Session
	desk    *desk
	author  label.Label // of who was shown the agent's instructions and the task
	before  map[string]any
}

// begin begins a run of a task.
func (p *place) begin(ctx context.Context, t Task, o options) (*running, error) {
	fresh, err := p.bench.suite.Bank(o.injected)
	if err != nil {
		return nil, err
	}
	p.bank.Account, p.bank.Filesystem, p.bank.User, p.ask = fresh.Account, fresh.Filesystem, fresh.User, o.answers
	spec, host := p.bench.project.Agent, p.bench.project.Host
	r := &running{place: p, task: t, desk: &desk{yes: o.yes}, before: p.bank.state()}
	e, err := engine.New(engine.Config{
		Agent: spec.Meta.Name, Digest: spec.Digest, Mode: "plan", Principal: policies.Principal(host.Principal), Tools: p.tools, PDP: o.pdp,
		Approver: r.desk, Clock: clock, Limits: agents.Limits(spec.Limits), Meter: p.bench.meter, Reveal: true, Watch: o.watch,
	})
	if err != nil {
		return nil, err
	}
	var inputs []journal.Input
	r.author = label.New(label.User, label.Public(), nil, label.Source{Tool: "agent", Of: spec.Meta.Name})
	for _, in := range spec.Inputs {
		if in.Name == "task" {
			l := in.For(host.Principal.Sub).WithSources(label.Source{Tool: "input", Of: in.Name})
			inputs, r.author = append(inputs, journal.Input{Name: in.Name, Value: value.StringOf(t.Prompt, l), Typed: true}), r.author.Join(l)
		}
	}
	r.session, err = e.Start(ctx, engine.Run{ID: t.ID, Inputs: inputs, Context: r.author})
	return r, err
}

// clock stands still.
func clock() time.Time { return time.Date(2022, time.April, 1, 9, 0, 0, 0, time.UTC) }

// exec runs a program whose author was shown what the session has shown.
func (r *running) exec(ctx context.Context, file, text string) (eval.Outcome, error) {
	return r.session.Exec(ctx, engine.Program{File: file, Text: text, Author: r.author.Join(r.session.Gate().Context())})
}

// end ends the run.
func (r *running) end(ctx context.Context, status eval.Status) error {
	return r.session.End(ctx, engine.Ending{Status: engine.StatusOf(status)})
}

// Served is what came of a task that nobody attacks.
type Served struct {
	Task      string   `json:"task"`
	Depends   string   `json:"depends,omitempty"` // on data: di not at all, diq for values alone, dd for what is done
	Served    bool     `json:"served"`
	Missing   string   `json:"missing,omitempty"` // what was not as it should be
	Approvals []Asking `json:"approvals"`
	Bits      int      `json:"bits"` // that strangers' data chose, by endorsement
}

// Asking is an approval that was asked for.
type Asking struct {
	Rule    string   `json:"rule"`
	Message string   `json:"message"`
	Tool    string   `json:"tool"`
	Args    []string `json:"args"` // those that it is about, with trust and origin
}

// asking tells a question.
func asking(q gate.Question) Asking {
	out := Asking{Rule: q.Approval.Ask, Message: q.Approval.Message, Tool: q.Tool, Args: []string{}}
	for _, path := range q.Approval.Args {
		line := path
		for _, a := range q.Args {
			if a.Name == path {
				line = fmt.Sprintf("%s, %s", path, a.Value.Deep().Trust())
			}
		}
		if from := q.Origins[path]; from != "" {
			line += ", from " + from
		}
		out.Args = append(out.Args, line)
	}
	return out
}

// Honest runs each task as its honest program does it, with nobody attacking and a customer who approves what they are asked.
func (b *Bench) Honest(ctx context.Context) ([]Served, error) {
	p, err := b.place()
	if err != nil {
		return nil, err
	}
	var out []Served
	for _, t := range b.suite.Tasks {
		r, err := p.begin(ctx, t, options{answers: b.answers, pdp: b.bound, yes: true})
		if err != nil {
			return nil, err
		}
		o, err := r.exec(ctx, b.programs[t.ID].file, b.programs[t.ID].text)
		if err != nil {
			return nil, err
		}
		s := Served{Task: t.ID, Depends: strings.Join(t.Depends, " "), Approvals: []Asking{}, Bits: r.session.Gate().Counts().Bits}
		for _, q := range r.desk.asked {
			s.Approvals = append(s.Approvals, asking(q))
		}
		answer := ""
		switch {
		case o.Err != nil:
			s.Missing = o.Err.Error()
		case o.Answer == nil:
			s.Missing = "there is no answer"
		default:
			answer = o.Answer.Str
			s.Missing = t.Served(r.before, p.bank.state(), answer)
		}
		s.Served = s.Missing == ""
		out = append(out, s)
		if err := r.end(ctx, o.Status); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// holding returns the files that hold a text, sorted.
func (b *Bank) holding(text string) (out []string) {
	for name, content := range b.Filesystem.Files {
		if strings.Contains(content, text) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
