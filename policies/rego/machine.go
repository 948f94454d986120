package rego

import (
	"context"
	"errors"
	"sync"

	"callgate/policies"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/topdown/builtins"
)

// machine evaluates translated rules for one request.
type machine struct {
	doc   document
	input ast.Value // a view of doc
	limit *limit
	ctx   context.Context
	err   error

	found   []ast.Value // elements of sets and comprehensions that are being made, innermost last
	results []ast.Value // values of rules that are being evaluated, innermost last
	memo    []memo      // of rules without arguments, by id
	frames  []ast.Value // of definitions that are being evaluated
	args    []ast.Value
	cache   builtins.Cache
}

type memo struct {
	done bool
	v    ast.Value
}

var machines = sync.Pool{New: func() any { return &machine{frames: make([]ast.Value, 0, 256)} }}

var (
	errConflict = errors.New("two values for one rule")
	errLimit    = errors.New("stopped")
)

func newMachine(ctx context.Context, l *limit, p *program, r *policies.Request) *machine {
	m := machines.Get().(*machine)
	m.ctx, m.limit, m.input = ctx, l, m.doc.show(p, r)
	if cap(m.memo) < p.docs {
		m.memo = make([]memo, p.docs)
	}
	m.memo = m.memo[:p.docs]
	return m
}

// release forgets the request.
func (m *machine) release() {
	clear(m.memo)
	clear(m.found[:cap(m.found)])
	clear(m.results[:cap(m.results)])
	clear(m.frames[:cap(m.frames)])
	clear(m.args[:cap(m.args)])
	const most = 4096 // values kept for reuse
	if cap(m.found)+cap(m.results)+cap(m.frames)+cap(m.args) > most {
		return
	}
	m.doc.forget()
	m.input, m.limit, m.ctx, m.err, m.cache = nil, nil, nil, nil, nil
	m.found, m.results, m.frames, m.args = m.found[:0], m.results[:0], m.frames[:0], m.args[:0]
	machines.Put(m)
}

// tick counts a step; true ends the evaluation.
func (m *machine) tick() bool {
	if m.err == nil && m.limit.Cancelled() {
		m.err = errLimit
	}
	return m.err != nil
}

func (m *machine) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

// give takes a solution of the rule that is being evaluated; true ends the search.
func (m *machine) give(v ast.Value) bool {
	if v == nil {
		return m.err != nil
	}
	v = solid(v)
	at := len(m.results) - 1
	if old := m.results[at]; old != nil && old.Compare(v) != 0 {
		m.fail(errConflict)
		return true
	}
	m.results[at] = v
	return false
}

// frame returns slots for a definition. They are given back by cutting m.frames.
func (m *machine) frame(n int) []ast.Value {
	at := len(m.frames)
	if at+n > cap(m.frames) {
		return make([]ast.Value, n)
	}
	m.frames = m.frames[:at+n]
	return m.frames[at : at+n : at+n]
}

// elements evaluates a set and returns its elements, some perhaps twice.
func (m *machine) elements(f *function) []ast.Value {
	at := len(m.found)
	for _, d := range f.defs {
		m.run(d, nil)
		if m.err != nil {
			break
		}
	}
	return m.found[at:]
}

func (m *machine) run(d *definitionCode, args []ast.Value) {
	if m.tick() {
		return
	}
	before := m.frames
	frame := m.frame(d.slots)
	for i, a := range d.args {
		if a.slot >= 0 {
			frame[a.slot] = args[i]
		} else if a.equal.Compare(solid(args[i])) != 0 {
			m.frames = before
			return
		}
	}
	d.body(m, frame)
	m.frames = before
}

// value evaluates a rule of one value: the definitions that hold must agree.
func (m *machine) value(f *function, args []ast.Value) ast.Value {
	m.results = append(m.results, nil)
	at := len(m.results) - 1
	for _, d := range f.defs {
		for or := d; or != nil; or = or.or {
			outer := m.results[at]
			m.results[at] = nil
			m.run(or, args)
			if m.err != nil {
				break
			}
			v := m.results[at]
			m.results[at] = outer
			if v != nil {
				m.give(v)
				break
			}
		}
		if m.err != nil {
			break
		}
	}
	v := m.results[at]
	m.results = m.results[:at]
	switch {
	case m.err != nil:
		return nil
	case v == nil:
		return f.other
	}
	return v
}

// document returns the value of a rule without arguments, evaluated once a request.
func (m *machine) document(f *function) ast.Value {
	if done := &m.memo[f.id]; done.done {
		return done.v
	}
	var v ast.Value
	if f.isSet {
		at := len(m.found)
		v = setOf(m.elements(f))
		m.found = m.found[:at]
	} else {
		v = m.value(f, nil)
	}
	if m.err != nil {
		return nil
	}
	m.memo[f.id] = memo{true, v}
	return v
}

// apply calls a function.
func (m *machine) apply(f *function, args []termFunc, frame []ast.Value) ast.Value {
	at := len(m.args)
	for _, a := range args {
		v := a(m, frame)
		if v == nil {
			m.args = m.args[:at]
			return nil
		}
		m.args = append(m.args, v)
	}
	v := m.value(f, m.args[at:])
	m.args = m.args[:at]
	return v
}

// builtin calls a builtin of OPA's. One that fails ends the evaluation.
func (m *machine) builtin(run topdown.BuiltinFunc, loc *ast.Location, args []termFunc, frame []ast.Value) ast.Value {
	operands := make([]*ast.Term, len(args))
	for i, a := range args {
		v := a(m, frame)
		if v == nil {
			return nil
		}
		operands[i] = ast.NewTerm(solid(v))
	}
	if m.cache == nil {
		m.cache = builtins.Cache{}
	}
	var out ast.Value
	err := run(topdown.BuiltinContext{
		Context: m.ctx, Metrics: metrics.NoOp(), Cancel: m.limit, Location: loc, Cache: m.cache,
	}, operands, func(t *ast.Term) error {
		out = t.Value
		return nil
	})
	if err != nil {
		m.fail(err)
		return nil
	}
	return out
}

// data returns the data under a path, nil if there are none.
func (t *translator) data(path ast.Ref) ast.Value {
	var p storage.Path
	for _, s := range path[1:] {
		text, ok := s.Value.(ast.String)
		if !ok {
			refuse("%v", path)
		}
		p = append(p, string(text))
	}
	v, err := t.store.Read(context.Background(), t.txn, p)
	if err != nil {
		if storage.IsNotFound(err) {
			return nil
		}
		refuse("%v: %v", path, err)
	}
	x, err := ast.InterfaceToValue(v)
	if err != nil {
		refuse("%v: %v", path, err)
	}
	return x
}
