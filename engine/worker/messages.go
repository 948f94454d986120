package worker

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"callgate/engine/eval"
	"callgate/engine/syntax"
)

// hello is the first frame of a worker.
type hello struct {
	version  int
	language string
	achieved []string // see confine.Achieved
}

func (m *hello) write(e *encoder) {
	e.uint(uint64(m.version))
	e.text(m.language)
	e.texts(m.achieved)
}

func (m *hello) read(d *decoder) {
	m.version, m.language, m.achieved = d.small(), d.text(), d.texts()
}

// start is what a session is made of. Its host is on the supervisor's side.
type start struct {
	limits   eval.Limits
	tools    []eval.ToolSig
	inputs   []eval.Input
	snapshot []byte // nil: a new session
	next     bool   // see [eval.Config], and anew
	anew     []string
}

func (m *start) write(e *encoder) {
	l := m.limits
	for _, n := range []int64{l.Steps, l.Memory, int64(l.Wall), int64(l.Calls), int64(l.Depth), l.Output} {
		e.int(n)
	}
	e.uint(uint64(len(m.tools)))
	for _, t := range m.tools {
		e.text(t.Name)
		e.texts(t.Params)
	}
	e.uint(uint64(len(m.inputs)))
	for i := range m.inputs {
		e.text(m.inputs[i].Name)
		e.value(&m.inputs[i].Value)
	}
	e.bool(m.snapshot != nil)
	e.text(string(m.snapshot))
	e.bool(m.next)
	e.texts(m.anew)
}

func (m *start) read(d *decoder) {
	m.limits = eval.Limits{Steps: d.int(), Memory: d.int(), Wall: time.Duration(d.int()), Calls: int(d.int()), Depth: int(d.int()), Output: d.int()}
	for range d.count() {
		m.tools = append(m.tools, eval.ToolSig{Name: d.text(), Params: d.texts()})
	}
	for range d.count() {
		m.inputs = append(m.inputs, eval.Input{Name: d.text(), Value: d.value()})
	}
	if has, b := d.bool(), d.bytes(); has {
		m.snapshot = slices.Clone(b)
	}
	m.next, m.anew = d.bool(), d.texts()
}

func writeSite(e *encoder, s eval.Site) {
	e.text(s.File)
	e.int(int64(s.Line))
	e.int(int64(s.Column))
	e.text(s.Function)
}

func readSite(d *decoder) eval.Site {
	d.takes(64)
	return eval.Site{File: d.text(), Line: readPlace(d), Column: readPlace(d), Function: d.text()}
}

// readPlace reads a line or a column; 0 says that there is none.
func readPlace(d *decoder) int {
	n := d.int()
	if n < 0 || n > math.MaxInt32 {
		d.fail("a position that is none")
		return 0
	}
	return int(n)
}

func writeCall(e *encoder, c *eval.Call) {
	e.text(c.ID)
	e.text(string(c.Kind))
	e.text(c.Tool)
	e.uint(uint64(len(c.Args)))
	for i := range c.Args {
		e.text(c.Args[i].Name)
		e.value(&c.Args[i].Value)
	}
	e.label(c.PC)
	e.label(c.History)
	writeSite(e, c.Site)
}

func readCall(d *decoder) eval.Call {
	d.takes(nodeBytes)
	c := eval.Call{ID: d.text(), Kind: eval.CallKind(d.text()), Tool: d.text()}
	for range d.count() {
		d.takes(nodeBytes)
		c.Args = append(c.Args, eval.Arg{Name: d.text(), Value: d.value()})
		if d.err != nil {
			return c
		}
	}
	c.PC, c.History, c.Site = d.label(), d.label(), readSite(d)
	return c
}

func writeCallError(e *encoder, c *eval.CallError) {
	e.text(c.Code)
	e.text(c.Text)
	e.text(c.Hint)
	e.label(c.Label)
	e.bool(c.Deny)
	e.bool(c.Final)
	e.bool(c.Ends)
	e.bool(c.Wait)
}

func readCallError(d *decoder) *eval.CallError {
	return &eval.CallError{Code: d.text(), Text: d.text(), Hint: d.text(), Label: d.label(), Deny: d.bool(), Final: d.bool(), Ends: d.bool(), Wait: d.bool()}
}

func writeResult(e *encoder, r *eval.Result) {
	e.bool(r.Err != nil)
	if r.Err != nil {
		writeCallError(e, r.Err)
	}
	e.value(&r.Value)
	e.bool(r.Forget)
}

func readResult(d *decoder) (r eval.Result) {
	if d.bool() {
		r.Err = readCallError(d)
	}
	r.Value, r.Forget = d.value(), d.bool()
	return r
}

func writeError(e *encoder, x *eval.Error) {
	for _, s := range []string{string(x.Status), x.Code, x.Text, x.Hint, x.Advice, x.Budget, x.Detail} {
		e.text(s)
	}
	e.label(x.Label)
	writeSite(e, x.Site)
	e.uint(uint64(len(x.Stack)))
	for _, s := range x.Stack {
		writeSite(e, s)
	}
	e.int(x.Used)
	e.int(x.Limit)
	e.uint(uint64(len(x.Syntax)))
	for _, s := range x.Syntax {
		e.text(s.File)
		e.int(int64(s.Line))
		e.int(int64(s.Column))
		e.text(s.Message)
		e.text(s.Hint)
	}
}

func readError(d *decoder) *eval.Error {
	x := &eval.Error{
		Status: eval.Status(d.text()), Code: d.text(), Text: d.text(), Hint: d.text(), Advice: d.text(), Budget: d.text(), Detail: d.text(),
		Label: d.label(), Site: readSite(d),
	}
	for range d.count() {
		if x.Stack = append(x.Stack, readSite(d)); d.err != nil {
			return x
		}
	}
	x.Used, x.Limit = d.int(), d.int()
	for range d.count() {
		d.takes(nodeBytes)
		x.Syntax = append(x.Syntax, syntax.Error{File: d.text(), Line: readPlace(d), Column: readPlace(d), Message: d.text(), Hint: d.text()})
		if d.err != nil {
			return x
		}
	}
	return x
}

// ended is how a program ended, and what the session is like then.
type ended struct {
	out   eval.Outcome
	names []string
}

func (m *ended) write(e *encoder) {
	o := &m.out
	e.text(string(o.Status))
	e.bool(o.Err != nil)
	if o.Err != nil {
		writeError(e, o.Err)
	}
	e.bool(o.Answer != nil)
	if o.Answer != nil {
		e.value(o.Answer)
	}
	e.uint(uint64(len(o.Prints)))
	for i := range o.Prints {
		p := &o.Prints[i]
		e.text(p.Text)
		e.label(p.Label)
		e.uint(uint64(len(p.Args)))
		for j := range p.Args {
			e.value(&p.Args[j])
		}
		e.label(p.PC)
		writeSite(e, p.Site)
	}
	e.label(o.Floor)
	e.label(o.History)
	e.uint(uint64(len(o.Rises)))
	for _, r := range o.Rises {
		writeSite(e, r.Site)
		e.label(r.Floor)
		e.text(r.Why)
	}
	e.int(o.Steps)
	e.int(o.Peak)
	e.int(int64(o.Duration))
	e.int(o.Looks)
	e.uint(uint64(len(o.Permits)))
	for _, name := range slices.Sorted(maps.Keys(o.Permits)) {
		e.text(name)
		e.int(o.Permits[name])
	}
	e.texts(m.names)
}

func (m *ended) read(d *decoder) {
	o := &m.out
	o.Status = eval.Status(d.text())
	if d.bool() {
		o.Err = readError(d)
	}
	if d.bool() {
		v := d.value()
		o.Answer = &v
	}
	for range d.count() {
		d.takes(nodeBytes)
		p := eval.Print{Text: d.text(), Label: d.label()}
		for range d.count() {
			d.takes(nodeBytes)
			if p.Args = append(p.Args, d.value()); d.err != nil {
				return
			}
		}
		p.PC, p.Site = d.label(), readSite(d)
		if o.Prints = append(o.Prints, p); d.err != nil {
			return
		}
	}
	o.Floor, o.History = d.label(), d.label()
	for range d.count() {
		d.takes(nodeBytes)
		o.Rises = append(o.Rises, eval.Rise{Site: readSite(d), Floor: d.label(), Why: d.text()})
		if d.err != nil {
			return
		}
	}
	o.Steps, o.Peak, o.Duration, o.Looks = d.int(), d.int(), time.Duration(d.int()), d.int()
	o.Permits = map[string]int64{}
	for range d.count() {
		d.takes(nodeBytes)
		name, n := d.text(), d.int()
		if d.err != nil {
			return
		}
		o.Permits[name] = n
	}
	m.names = d.texts()
}

// want reads a frame that must be of a kind, by the function.
func (c *conn) want(k kind, read func(*decoder)) error {
	got, d, err := c.receive()
	if err != nil {
		return err
	}
	if got != k {
		return &ProtocolError{fmt.Sprintf("got %s, want %s", got, k)}
	}
	return d.done(k, read)
}

// done reads a frame to its end.
func (d *decoder) done(k kind, read func(*decoder)) error {
	read(d)
	if err := d.end(); err != nil {
		return &ProtocolError{k.String() + ": " + err.Error()}
	}
	return nil
}
