package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"callgate/agents/model"
	"callgate/builtins"
	"callgate/engine"
	"callgate/engine/eval"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/syntax"
	"callgate/engine/value"
)

// ModeREPL is the mode of a run in which a person writes the programs while it lasts.
const ModeREPL = "repl"

// Last is the name that the value of the last expression of a person's program is bound to.
const Last = "_"

// Interactive is a run in which a person writes the programs, one after the other, with an agent's tools, under its policies and within its limits.
// Each is a turn. It is used by one goroutine at a time.
//
// The programs are the person's: their label is that of who wrote them, whatever the person was shown meanwhile. What they work with keeps the
// labels that it has.
type Interactive struct {
	session *engine.Session
	purse   *wallet
	author  label.Label // without sources
	turns   int
	answer  *value.Value
	kept    map[string]prefix // by the program's name, where [Last] was put into it
}

// prefix is where "_ = " stands in a program as it ran; columns are counted in code points. The zero prefix is nowhere.
type prefix struct{ line, column int }

// typed is the column in what was typed of a place in the program as it ran.
func (p prefix) typed(line, column int) int {
	if line != p.line || column < p.column {
		return column
	}
	return max(p.column, column-len(Last+" = "))
}

// Entry is how one program of an [Interactive] went.
type Entry struct {
	Turn    int
	File    string       // its name, for positions
	Program string       // as it was typed. It ran, and is recorded, with "_ = " before the expression at its end
	Outcome eval.Outcome // its places are those of what was typed

	// Value is what the expression at its end came to; nil if there is none, if it came to None, or if the program did not end well. Only programs can
	// have Held, such as a function: it is not a value that can be shown, and this is why.
	Value *value.Value
	Held  string
}

// Interactive begins a run in which a person writes the programs, with nothing bound: it goes on from no other. Errors are those of [Agent.Run].
func (a *Agent) Interactive(ctx context.Context, o RunOptions) (*Interactive, error) {
	inputs, err := a.inputs(o, earlier{})
	if err != nil {
		return nil, err
	}
	purse := a.purse(ctx)
	e, err := a.interactive(purse)
	if err != nil {
		return nil, err
	}
	s, err := e.Start(ctx, engine.Run{ID: o.ID, Inputs: inputs, Context: label.Bottom()})
	if err != nil {
		return nil, err
	}
	i := &Interactive{session: s, purse: purse, author: label.New(label.User, label.Public(), nil)}
	if o.Author != nil {
		i.author = *o.Author
	}
	return i, nil
}

// interactive is the engine of an agent whose programs a person writes.
func (a *Agent) interactive(purse *wallet) (*engine.Engine, error) {
	spec, typed := *a.Spec, *a
	spec.Mode, typed.Spec = ModeREPL, &spec
	return typed.engine(purse)
}

// typed reports whether a person writes the programs of a run.
func (a *Agent) typed(ctx context.Context, run string) (bool, error) {
	if a.opts.Store == nil {
		return false, nil
	}
	events, err := a.opts.Store.Read(ctx, run, 1)
	if err != nil || len(events) == 0 || events[0].Redacted() {
		return false, err // what there is to say of it, who goes over it says
	}
	header, err := journal.Decode[journal.RunStarted](events[0])
	return header.Mode == ModeREPL, err
}

// GoOn goes on with an interactive run whose process ended, or that was cancelled: its programs are gone over again, with what is recorded. Errors are
// those of [engine.Engine.Resume].
func (a *Agent) GoOn(ctx context.Context, again engine.Again) (_ *Interactive, err error) {
	purse := a.purse(ctx)
	e, err := a.interactive(purse)
	if err != nil {
		return nil, err
	}
	s, err := e.Resume(ctx, again)
	if err != nil {
		return nil, err
	}
	i := &Interactive{session: s, purse: purse, author: label.New(label.User, label.Public(), nil)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	return i, i.again(ctx)
}

// again runs the programs that are recorded.
func (i *Interactive) again(ctx context.Context) error {
	for {
		was, ok, err := i.session.Turn()
		if err != nil || !ok {
			return err
		}
		i.turns++
		out, err := i.session.Exec(i.purse.within(ctx), engine.Program{File: was.File, Text: was.Program, Author: was.Author})
		if err != nil {
			return err
		}
		i.answer = cmp.Or(out.Answer, i.answer)
	}
}

// whole goes over a run to its end.
func (i *Interactive) whole(ctx context.Context) error {
	defer i.session.Close()
	if err := i.again(ctx); err != nil {
		return err
	}
	end := engine.Ending{Status: engine.Done, Answer: i.answer}
	was, ok, err := i.session.Ended()
	if err != nil {
		return err
	}
	if ok && was.Status != engine.Done {
		end = engine.Ending{Status: was.Status, Reason: was.Reason}
	}
	return i.session.End(ctx, end)
}

// Exec runs a program of the person's as the next turn; file is its name, "" if it has none of its own. If it ends with an expression, that is bound to
// [Last] and returned. The end of ctx ends the program, not the run. The error says that the run cannot go on.
func (i *Interactive) Exec(ctx context.Context, file, text string) (Entry, error) {
	i.turns++
	entry := Entry{Turn: i.turns, File: cmp.Or(file, fmt.Sprintf("line%d", i.turns)), Program: text}
	program, at := kept(text)
	i.keep(entry.File, at)
	author := i.author.WithSources(label.Source{Tool: "program", Of: entry.File})
	var err error
	entry.Outcome, err = i.session.Exec(i.purse.within(ctx), engine.Program{File: entry.File, Text: program, Author: author})
	if err != nil {
		return entry, err
	}
	out := &entry.Outcome
	i.places(out)
	i.answer = cmp.Or(out.Answer, i.answer)
	if out.Err != nil && out.Err.Code == string(eval.Cancelled) {
		out.Status = eval.Cancelled // though it had not begun
	}
	if at == (prefix{}) || out.Status != eval.OK {
		return entry, nil
	}
	v, err := i.session.Get(Last)
	switch {
	case err != nil:
		entry.Held = err.Error()
	case v.Kind != value.None:
		entry.Value = &v
	}
	return entry, nil
}

// End ends the run as the person ends it. With a context that has ended it is cancelled.
func (i *Interactive) End(ctx context.Context) error {
	end := engine.Ending{Status: engine.Done, Answer: i.answer}
	if ctx.Err() != nil {
		end = engine.Ending{Status: engine.Cancelled, Reason: "cancelled"}
	}
	return errors.Join(i.session.End(ctx, end), i.session.Close())
}

// Session returns the run's session, to look at.
func (i *Interactive) Session() *engine.Session { return i.session }

// Author returns the label of what the person writes.
func (i *Interactive) Author() label.Label { return i.author }

// Turns returns how many programs there were.
func (i *Interactive) Turns() int { return i.turns }

// Spent returns what models of the run have taken so far.
func (i *Interactive) Spent() model.Spent { return i.purse.Spent() }

// keep notes where [Last] was put into a program.
func (i *Interactive) keep(file string, at prefix) {
	if at == (prefix{}) {
		delete(i.kept, file)
		return
	}
	if i.kept == nil {
		i.kept = map[string]prefix{}
	}
	i.kept[file] = at
}

// Column returns the column, in what was typed, of a place in a program as it ran. Lines are the same.
func (i *Interactive) Column(file string, line, column int) int {
	return i.kept[file].typed(line, column)
}

// places makes the places of an outcome those of what was typed.
func (i *Interactive) places(out *eval.Outcome) {
	site := func(s *eval.Site) { s.Column = i.Column(s.File, s.Line, s.Column) }
	for n := range out.Rises {
		site(&out.Rises[n].Site)
	}
	if out.Err == nil {
		return
	}
	e := *out.Err
	site(&e.Site)
	e.Stack, e.Syntax = slices.Clone(e.Stack), slices.Clone(e.Syntax)
	for n := range e.Stack {
		site(&e.Stack[n])
	}
	for n := range e.Syntax {
		p := &e.Syntax[n]
		p.Column = i.Column(p.File, p.Line, p.Column)
	}
	out.Err = &e
}

// kept is the program that keeps the value of the expression at the end of a text, and where it says so; the text itself, if it does not end with one.
func kept(text string) (program string, at prefix) {
	line, column, ok := syntax.LastExpr(text)
	lines := strings.SplitAfter(text, "\n")
	if !ok || line > len(lines) {
		return text, prefix{}
	}
	on := []rune(lines[line-1])
	if column < 1 || column > len(on) {
		return text, prefix{}
	}
	lines[line-1] = string(on[:column-1]) + Last + " = " + string(on[column-1:])
	program = strings.Join(lines, "")
	if _, err := syntax.Parse("", []byte(program), syntax.Limits{}); err != nil {
		return text, prefix{} // the parser makes an expression of what is none, such as try
	}
	return program, prefix{line, column}
}

// Signature is one line that tells how a tool is called, and what for.
func Signature(t *builtins.Tool) string { return shapes{}.signature(t) }
