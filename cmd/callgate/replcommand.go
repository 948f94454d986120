package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"callgate/agents"
	"callgate/builtins"
	"callgate/cmd/internal/console"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/spec"
)

// replCommand is something that a session can be told besides programs.
type replCommand struct {
	name, args, what string
	do               func(r *repl, ctx context.Context, arg string) (string, error)
}

// commands are those there are.
var commands = []replCommand{
	{"context", "", "who you are to policies, how far what you make is trusted, and what is left", (*repl).context},
	{"explain", "[CALL]", "why a call was decided as it was; the last one that was", (*repl).explain},
	{"help", "", "this", nil},
	{"labels", "[NAME]", "the labels of what is bound, or of each part of one of them", (*repl).labels},
	{"load", "FILE", "run a program from a file, as if you had typed it", (*repl).load},
	{"new", "", "end the run and begin another, in which nothing is bound", (*repl).another},
	{"quit", "", "end the session, as Ctrl-D does", (*repl).end},
	{"tools", "[NAME]", "the tools there are, or all that one says of itself", (*repl).tools},
}

// command does what a line after the colon says.
func (r *repl) command(ctx context.Context, line string) error {
	name, arg, _ := strings.Cut(line, " ")
	arg = strings.TrimSpace(arg)
	var known []string
	for _, k := range commands {
		known = append(known, k.name)
		if k.name != name {
			continue
		}
		if k.args == "" && arg != "" {
			return r.wrong(fmt.Errorf(":%s: got %q, want nothing after it", name, arg))
		}
		if k.name == "help" {
			return r.show(helpText())
		}
		text, err := k.do(r, ctx, arg)
		if err != nil {
			return r.wrong(err)
		}
		return r.show(text)
	}
	hint := ":help lists them"
	if near := spec.Nearest(name, known); near != "" {
		hint = fmt.Sprintf("did you mean :%s?", near)
	}
	return r.wrong(fmt.Errorf("unknown command :%s\nhint: %s", name, hint))
}

// wrong says what is wrong with a command.
func (r *repl) wrong(err error) error {
	if r.run.Session().Err() != nil {
		return err
	}
	r.code = cmp.Or(r.code, exitUsage)
	if r.stream != nil {
		return r.stream.said(r.run.Session().ID(), "error", err.Error())
	}
	r.c.say(err.Error())
	return nil
}

// show writes what a command found. Texts in it are clean.
func (r *repl) show(text string) error {
	if text == "" {
		return nil
	}
	if r.stream != nil {
		return r.stream.said(r.run.Session().ID(), "text", text)
	}
	_, err := r.c.stdout.WriteString(text)
	return err
}

func helpText() string {
	var b strings.Builder
	b.WriteString("A line is a program; a block ends with an empty line. The value of the last expression is _.\n\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "  %-18s%s\n", strings.TrimSpace(":"+c.name+" "+c.args), c.what)
	}
	return b.String()
}

// end ends the session.
func (r *repl) end(context.Context, string) (string, error) {
	r.quit = true
	return "", nil
}

// load runs the program of a file.
func (r *repl) load(ctx context.Context, path string) (string, error) {
	if path == "" {
		return "", errors.New(":load: want a file after it")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		if cause, ok := errors.AsType[*fs.PathError](err); ok {
			err = cause.Err
		}
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return "", r.exec(ctx, r.fileName(path), string(text))
}

// tools lists the tools, or describes one.
func (r *repl) tools(_ context.Context, name string) (string, error) {
	var b strings.Builder
	all := r.agent.Tools()
	if name == "" {
		for _, t := range all.All() {
			fmt.Fprintf(&b, "%s\n", console.Line(agents.Signature(t)))
		}
		return cmp.Or(b.String(), "none\n"), nil
	}
	t := all.Lookup(name)
	if t == nil {
		err := fmt.Errorf(":tools: no tool %q", name)
		if near := spec.Nearest(name, all.Names()); near != "" {
			err = fmt.Errorf("%w\nhint: did you mean %q?", err, near)
		}
		return "", err
	}
	fmt.Fprintf(&b, "%s\n", console.Line(agents.Signature(t)))
	fmt.Fprintf(&b, "  effects  %s\n", cmp.Or(strings.Join(t.Effects.Names(), ", "), "none"))
	for _, p := range t.Params {
		sinks := cmp.Or(p.Sink, "none")
		for path, sink := range p.Sinks {
			sinks += fmt.Sprintf(", %s %s", path, sink)
		}
		fmt.Fprintf(&b, "  sink     %s: %s\n", console.Line(p.Name), console.Line(sinks))
	}
	fmt.Fprintf(&b, "  result   %s\n", console.Line(resultLabel(t)))
	return b.String(), nil
}

// resultLabel says how a tool labels what it returns.
func resultLabel(t *builtins.Tool) string {
	text := t.Label.Class.WithoutSources().String()
	for _, f := range t.Label.Fields {
		text += fmt.Sprintf(", %s %s", f.Path, f.Class.WithoutSources().String())
	}
	return text
}

// labels lists the labels of what is bound, or of the parts of one value.
func (r *repl) labels(_ context.Context, name string) (string, error) {
	s := r.run.Session()
	values := map[string]value.Value{}
	var bound []string
	for _, in := range s.Inputs() {
		values[in.Name], bound = in.Value, append(bound, in.Name)
	}
	held := map[string]string{}
	for _, n := range s.Names() {
		v, err := s.Get(n)
		if bound = append(bound, n); err != nil {
			held[n] = err.Error()
		}
		values[n] = v
	}
	slices.Sort(bound)
	bound = slices.Compact(bound)
	if name != "" {
		v, ok := values[name]
		switch {
		case !ok:
			err := fmt.Errorf(":labels: nothing is called %q", name)
			if near := spec.Nearest(name, bound); near != "" {
				err = fmt.Errorf("%w\nhint: did you mean %q?", err, near)
			}
			return "", err
		case held[name] != "":
			return "", fmt.Errorf(":labels: %s: %s", name, held[name])
		}
		return strings.Join(r.picture.Parts(name, v), "\n") + "\n", nil
	}
	var b strings.Builder
	width := 0
	for _, n := range bound {
		width = max(width, len(n))
	}
	for _, n := range bound {
		what := "function"
		if held[n] == "" {
			what = r.picture.Label(values[n].Deep())
		}
		fmt.Fprintf(&b, "%-*s  %s\n", width, n, what)
	}
	return cmp.Or(b.String(), "nothing is bound\n"), nil
}

// explain explains a call.
func (r *repl) explain(ctx context.Context, call string) (string, error) {
	if call = cmp.Or(call, r.decided); call == "" {
		return "", errors.New(":explain: nothing was decided yet")
	}
	b := &bound{root: r.agent.Root, tools: r.agent.Tools(), host: r.project.Host}
	out, err := explained(ctx, r.events, r.events, call, r.may, b, r.site)
	if err != nil {
		return "", err
	}
	return console.Clean(out.text()), nil
}

// context says what the next line has.
func (r *repl) context(context.Context, string) (string, error) {
	s := r.run.Session()
	var b strings.Builder
	line := func(word, text string) { fmt.Fprintf(&b, "%-10s%s\n", word, text) }
	line("run", s.ID())
	line("agent", console.Line(r.agent.Spec.Meta.Name))
	who := "nobody: callgate.yaml names no principal"
	if h := r.project.Host; h != nil && h.Principal.Sub != "" {
		who = console.Line(h.Principal.Sub)
		if len(h.Principal.Groups) > 0 {
			who += " (" + console.Line(strings.Join(h.Principal.Groups, ", ")) + ")"
		}
	}
	line("for", who)
	line("policies", console.Line(r.agent.Root.Revision()))
	line("you", r.picture.Label(r.run.Author()))
	floor := "nothing: what you write is as you are"
	if f := s.Floor(); !r.run.Author().FlowsTo(f) || !f.FlowsTo(r.run.Author()) {
		floor = r.picture.Label(f)
	}
	if f := s.Floor(); f.FlowsTo(label.Bottom()) {
		floor = "nothing: what you write is as you are"
	}
	line("floor", floor)
	counts := s.Gate().Counts()
	line("calls", fmt.Sprintf("%d allowed, %d refused, %d asked, %d failed", counts.Allowed, counts.Denied, counts.Asked, counts.Failed))
	line("meter", fmt.Sprintf("%d bits left", s.Gate().Left()))
	line("lines", fmt.Sprint(r.run.Turns()))
	if r.state.kept {
		line("state", console.Line(r.state.dir))
	} else {
		line("state", "not kept: --state DIR keeps it")
	}
	return b.String(), nil
}
