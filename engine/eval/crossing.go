package eval

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"callgate/engine/label"
	"callgate/engine/value"
)

// cross makes one call of the host.
func (t *thread) cross(c Call) Result {
	if c.Kind != KindBuiltin {
		if t.s.calls >= t.s.limits.Calls {
			panic(t.limit("calls", int64(t.s.calls+1), int64(t.s.limits.Calls)))
		}
		t.s.calls++
		t.enterHistory(t.pc)
	}
	t.poll()
	c.ID = t.callID(c.Kind)
	c.PC = t.explained()
	c.History = t.tab.Label(t.s.history)
	c.Site = t.fn.site(t.at)
	if t.strand != nil && c.Kind != KindBuiltin {
		r := &request{call: c, path: t.strand.path, pc: t.pc}
		t.strand.send(t, []*request{r})
		return r.result
	}
	return t.do([]Call{c})[0]
}

// enterHistory enters in the label of the record of calls that one is made under pc: whoever reads the record learns that.
func (t *thread) enterHistory(pc label.ID) {
	if !t.tab.Flows(pc, t.s.history) {
		t.raiseFloor(t.join(pc, t.s.history), t.at, "a call was made in a branch that could not be foreseen")
	}
	t.s.history = t.join(t.s.history, pc)
	if st := t.strand; st != nil && !st.alone && !t.tab.Flows(pc, t.join(t.far, t.tab.Control(t.s.floor))) {
		t.raiseFloor(t.join(pc, t.far), t.at, "a call was made in a branch that could not be foreseen")
		st.alone = true
	}
}

// do has the host make calls.
func (t *thread) do(calls []Call) []Result {
	out := t.s.host.Do(t.ctx, calls)
	// A question that is open ends the program as one that waits, though it was cancelled while somebody was asked.
	if t.past.Looks != 0 || !slices.ContainsFunc(out, Result.waits) {
		t.notice() // so that what the host made of the end of the context is never seen
		t.poll()
	}
	if len(out) != len(calls) {
		panic(&Error{Status: Crashed, Code: "internal", Text: fmt.Sprintf("the host answered %d calls with %d results", len(calls), len(out)), lab: label.TopID, final: true})
	}
	for _, r := range out {
		if r.Forget {
			t.s.permits.forget()
		}
	}
	return out
}

// callID numbers calls and asks by turn. Asks whether a builtin may be called do not count as calls: how many there are
// depends on what was permitted before, which a session that is re-made has forgotten.
func (t *thread) callID(k CallKind) string {
	if k == KindBuiltin {
		t.asks++
		return fmt.Sprintf("%d.%d+%d", t.turn, t.calls, t.asks)
	}
	if t.strand != nil {
		return "" // it has one when it is made
	}
	t.calls++
	return fmt.Sprintf("%d.%d", t.turn, t.calls)
}

// refused turns a host's error into one of the program. l is the label of what was asked of the host.
func (t *thread) refused(e *CallError, l label.ID) *Error {
	status := Failed
	switch {
	case e.Wait:
		status = Waiting
	case e.Deny:
		status = Denied
	case e.Final && t.ctx != nil && t.ctx.Err() != nil:
		status = Cancelled
	case e.Final:
		status = Crashed
	}
	text := e.Text
	if text == "" {
		text = e.Code
	}
	class := classOfAnswer[e.Code]
	switch {
	case e.Deny:
		class = "Denied"
	case class == "":
		class = "ToolError"
	}
	return &Error{
		Status: status, class: class, Code: e.Code, Text: text, Hint: e.Hint, pos: t.at,
		lab: t.join(t.join(t.tab.Intern(e.Label), l), t.pc), final: e.Final || e.Wait || e.Ends,
	}
}

// addTool makes a tool reachable: "mail.send" as attribute send of module mail.
func (s *Session) addTool(sig ToolSig) error {
	d := &builtinDef{name: sig.Name, variadic: true, tool: &sig}
	d.run = func(t *thread, c *call) val { return t.callTool(c, nil) }
	f := builtinVal(&builtin{name: sig.Name, recv: unboundVal, def: d}, label.BottomID)
	parts := strings.Split(sig.Name, ".")
	attrs := s.pre
	for i, p := range parts[:len(parts)-1] {
		v, ok := attrs[p]
		if !ok {
			v = moduleVal(&module{strings.Join(parts[:i+1], "."), map[string]val{}}, label.BottomID)
			attrs[p] = v
		}
		if v.k != kModule {
			return fmt.Errorf("tool %q: there is a tool named %q", sig.Name, strings.Join(parts[:i+1], "."))
		}
		attrs = v.module().attrs
	}
	last := parts[len(parts)-1]
	if _, ok := attrs[last]; ok {
		return fmt.Errorf("tool %q: the name is taken", sig.Name)
	}
	attrs[last] = f
	return nil
}

// callTool makes a call of a tool. With caught set, an error that may be caught is stored there instead of ending the program.
func (t *thread) callTool(c *call, caught **Error) val {
	sig := c.def.tool
	call := Call{Kind: KindTool, Tool: sig.Name}
	l := label.BottomID
	add := func(name string, v val) {
		t.burn(1 + int64(len(call.Args))/8)
		for _, a := range call.Args {
			if a.Name == name {
				panic(t.errorf(label.BottomID, "arguments", "%s: got multiple values for argument %q", sig.Name, name))
			}
		}
		l = t.join(l, t.deepLabel(v))
		call.Args = append(call.Args, Arg{name, t.export(v)})
	}
	if len(c.args) > len(sig.Params) {
		panic(t.errorf(label.BottomID, "arguments", "%s: got %d positional arguments, want at most %d", sig.Name, len(c.args), len(sig.Params)).
			hint(sig.Name + "(" + strings.Join(sig.Params, ", ") + ")"))
	}
	for i, v := range c.args {
		add(sig.Params[i], v)
	}
	for _, a := range c.kw {
		add(a.name, a.v)
	}
	r := t.cross(call)
	if r.Err != nil {
		e := t.refused(r.Err, l)
		if caught != nil && !e.final {
			*caught = e
			return noneVal(e.lab)
		}
		t.check(e.lab)
		panic(e)
	}
	v := t.importAt(r.Value, 0)
	if caught == nil {
		t.check(t.join(l, v.lab)) // that it did not fail is known to those who may know that there is a result
	}
	return v
}

// addCrossings adds the functions that cross the boundary of the program.
func addCrossings() {
	crossing := func(name, params string, run native) {
		d := def(name, params, run)
		d.index = 0 // decided by the host as a call of its own kind
		universe[name] = builtinVal(&builtin{name: name, recv: unboundVal, def: d}, label.BottomID)
	}
	crossing("done", "value?", runDone)
	crossing("endorse", "value, trust, why?, *, options?, low?, high?", func(t *thread, c *call) val { return t.regrade(KindEndorse, c) })
	crossing("declassify", "value, readers, why?", func(t *thread, c *call) val { return t.regrade(KindDeclassify, c) })
	crossing("attempt", "...", runAttempt)
	addFunc("choose", "value, options", runChoose)
	addFunc("print", "...", runPrint)
	addFunc("parallel", "functions", runParallel)
}

// runDone gives the user the answer and ends the program.
func runDone(t *thread, c *call) val {
	if t.strand != nil {
		panic(t.errorf(label.BottomID, "parallel", "done: the answer cannot be given from within parallel").
			hint("return the value, and call done after parallel"))
	}
	v := noneVal(t.pc)
	if c.has(0) {
		v = c.args[0]
	}
	answer := t.export(v)
	r := t.cross(Call{Kind: KindAnswer, Tool: "done", Args: []Arg{{"value", answer}}})
	if r.Err != nil {
		panic(t.refused(r.Err, t.deepLabel(v)))
	}
	panic(&Error{Status: Answered, Code: "done", final: true, lab: t.pc, pos: t.at, done: &answer})
}

// regrade asks for another label. The result carries exactly what was granted: not even
// the pc is joined, which the host has judged.
func (t *thread) regrade(k CallKind, c *call) val {
	l := label.BottomID
	call := Call{Kind: k, Tool: string(k)}
	for i, p := range c.def.params {
		if c.has(i) {
			l = t.join(l, t.deepLabel(c.args[i]))
			call.Args = append(call.Args, Arg{p, t.export(c.args[i])})
		}
	}
	r := t.cross(call)
	if r.Err != nil {
		panic(t.refused(r.Err, l))
	}
	return t.importAt(r.Value, 0)
}

// runAttempt calls one tool and returns struct(ok, value, code, error): an error or a refusal of
// the tool does not end the program. What it returns carries the labels of the arguments, success
// as much as failure [pc.5].
func runAttempt(t *thread, c *call) val {
	if len(c.args) == 0 || c.args[0].k != kBuiltin || c.args[0].builtin().def.tool == nil {
		panic(t.badArg(c, "want a tool as first argument, as in attempt(mail.read, id = x)"))
	}
	fn := c.args[0]
	l := label.BottomID
	for _, a := range c.args {
		l = t.join(l, t.deepLabel(a))
	}
	for _, a := range c.kw {
		l = t.join(l, t.deepLabel(a.v))
	}
	inner := call{def: fn.builtin().def, args: c.args[1:], kw: c.kw, star: c.star, pos: c.pos, recv: unboundVal}
	t.foresee(fn.lab)
	t.pc = t.under(t.pc, fn.lab) // which tool is called is a branch; the caller of a builtin restores the pc
	var e *Error
	v := t.callTool(&inner, &e)
	l = t.join(l, v.lab)
	r := &record{names: []string{"code", "error", "ok", "value"}}
	code, text := "", ""
	if e != nil {
		code, text = e.Code, e.Text
	}
	r.items = []val{stringVal(code, l), stringVal(text, l), boolVal(e == nil, l), v.with(l)}
	t.alloc(160)
	return recordVal(r, t.pc)
}

// runChoose returns the member of options that equals value, under both labels.
func runChoose(t *thread, c *call) val {
	v, options := c.args[0], c.args[1]
	l := t.join(t.deepLabel(v), t.deepLabel(options))
	t.permitLabel(c.def, l)
	if !t.iterable(options) {
		panic(t.badArg(c, "options: got %s, want a list", options.typeName()))
	}
	it, _ := t.iterate(options)
	for e, ok := it.next(t); ok; e, ok = it.next(t) {
		t.charge(1)
		if t.equal(v, e, &l, 0) {
			return e.with(t.under(e.lab, l))
		}
	}
	panic(t.errorf(l, "no-choice", "choose: the value is none of the options"))
}

// runPrint puts out its arguments. What was printed is shown to nobody yet: the
// host decides that, value by value.
func runPrint(t *thread, c *call) val {
	sep, end := " ", "\n"
	for _, a := range c.kw {
		if a.v.k != kString && a.v.k != kNone {
			panic(t.badArg(c, "%s: got %s, want string", a.name, a.v.typeName()))
		}
		switch {
		case a.name == "sep" && a.v.k == kString:
			sep = a.v.str()
		case a.name == "end" && a.v.k == kString:
			end = a.v.str()
		case a.name == "sep" || a.name == "end":
		default:
			panic(t.badArg(c, "unexpected keyword argument %q%s", a.name, nearest(a.name, []string{"sep", "end"})))
		}
	}
	l := t.shallow(c)
	w := textWriter{t: t, tooMuch: t.s.limits.Output - t.s.output + 1}
	p := Print{Site: t.fn.site(t.at)}
	before := t.mem.pending()
	t.alloc(blockSize(int64(len(c.args)) * nodeBytes))
	p.Args = make([]value.Value, 0, len(c.args))
	for i, a := range c.args {
		if i > 0 {
			w.put(sep)
		}
		if a.k == kBytes {
			w.put(a.str())
		} else {
			w.str(a)
		}
		l = t.join(l, t.deepLabel(a))
		p.Args = append(p.Args, t.exportText(a))
	}
	w.put(end)
	t.permitLabel(c.def, l)
	p.Text, p.Label, p.PC = w.end(), t.tab.Label(l), t.tab.Label(t.pc)
	p.bytes = t.mem.pending() - before
	t.s.output += int64(len(p.Text))
	if n := len(t.s.printed); n == cap(t.s.printed) {
		room := roomFor(n+1, n, printSize)
		t.alloc(blockSize(int64(room * printSize)))
		t.s.printed = append(make([]Print, 0, room), t.s.printed...)
	}
	t.s.printed = append(t.s.printed, p)
	return noneVal(t.pc)
}

const printSize = int(unsafe.Sizeof(Print{}))

// exportText is export, but what has no plain form is text wherever it is: so that what is around it has the same form
// whatever it is. A value that contains itself is text as a whole.
func (t *thread) exportText(v val) (out value.Value) {
	m := t.markPoint()
	t.textual = true
	defer func() {
		t.textual = false
		if r := recover(); r != nil {
			if e, ok := r.(*Error); !ok || e.Code != "too-deep" {
				panic(r)
			}
			t.unwind(m)
			out = value.StringOf(t.repr(v), t.tab.Label(t.deepLabel(v)))
		}
	}()
	return t.export(v)
}
