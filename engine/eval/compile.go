package eval

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"sync"

	"go.starlark.net/resolve"
	star "go.starlark.net/syntax"

	"callgate/engine/label"
	"callgate/engine/syntax"
)

// Program is compiled code. It holds no data of any session and may be run by many at once.
type Program struct {
	File   string
	Digest string // "sha256:…" of the text

	main     *funcode
	funcs    []*funcode // every function, by index; a function value is (program, index, cells)
	globals  []string   // names of the module's globals, by index
	binds    []bool     // whether this program can bind the global
	names    []string   // of predeclared values (tools, inputs), by index
	bytes    int64      // about what all of it takes
	compiler *compiler  // for functions that are compiled once more, see [funcode.watched]
	// What it was compiled from, so that a snapshot can say so: its text, and those of the names it asked for
	// that there were, sorted: bound by earlier programs, and given.
	src            string
	earlier, given []string
}

// funcode is a compiled function.
type funcode struct {
	prog  *Program
	index int
	name  string
	pos   pos

	params   []string // positional, then keyword-only, then *args, then **kwargs
	nparams  int      // positional and keyword-only
	kwonly   int
	varargs  bool
	kwargs   bool
	optional int  // of the positional and keyword-only parameters, the last so many have a default slot
	plain    bool // positional parameters only

	nslots int   // locals and temporaries
	cells  []int // locals that inner functions share
	free   []capture
	body   stmt
	entry  int64 // steps that a call takes for its frame
	stack  int64 // bytes of Go's stack that a call may take, without those that it makes

	stmts []star.Stmt
	arms  []star.Expr // of branches that are expressions
	once  sync.Once
	does  effects // see [funcode.effects]

	locals  int // of a frame, the temporaries follow
	twice   sync.Once
	telling stmt // see [funcode.watched]
	result  expr // of a return at the end of body, which is not in body then: what most functions end with
}

// capture says where a closure finds a cell when it is made.
type capture struct {
	free  bool // in the enclosing function's own free variables
	index int
}

// expr yields a value whose label includes the pc.
type expr func(t *thread) val

// cond yields a truth value and the label of knowing it.
type cond func(t *thread) (bool, label.ID)

// stmt executes and says how to go on.
type stmt func(t *thread) sig

// assign binds a value to a target.
type assign func(t *thread, v val)

type sig uint8

const (
	sigNext sig = iota
	sigBreak
	sigContinue
	sigReturn
)

// Env is what a program can name besides what it binds itself.
type Env struct {
	Globals     func(string) bool // bound by earlier programs of the session
	Predeclared func(string) bool // tools and inputs
}

// Compile parses, resolves and compiles a program. Every problem of the text is
// reported at once, as [syntax.Errors]. It is safe for concurrent use if env is; the same program for the
// same names may be returned again.
func Compile(file string, src []byte, env Env) (*Program, error) {
	key := memoKey{file, string(src)}
	if p := programs.find(key, env); p != nil {
		return p, nil
	}
	var asked []answer
	p, err := compile(file, src, env, &asked)
	if err == nil {
		programs.add(&compiled{key, asked, p})
	}
	return p, err
}

// compile is Compile afresh. It notes what it asked env.
func compile(file string, src []byte, env Env, asked *[]answer) (*Program, error) {
	f, err := syntax.Parse(file, src, syntax.Limits{})
	if err != nil {
		return nil, err
	}
	earlier, given := map[string]bool{}, map[string]bool{}
	ask := func(name string, predeclared bool, in map[string]bool) bool {
		a := answer{name: name, given: predeclared, found: true}
		a.found = a.holds(env)
		*asked = append(*asked, a)
		if a.found {
			in[name] = true
		}
		return a.found
	}
	err = resolveNames(f, func(n string) bool { return ask(n, false, earlier) }, func(n string) bool { return ask(n, true, given) })
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(src)
	p := &Program{
		File: file, Digest: "sha256:" + hex.EncodeToString(sum[:]), src: string(src),
		earlier: slices.Sorted(maps.Keys(earlier)), given: slices.Sorted(maps.Keys(given)),
	}
	c := &compiler{prog: p, pre: map[string]int{}, codes: map[*resolve.Function]*funcode{}}
	p.compiler = c
	mod := f.Module.(*resolve.Module)
	for _, g := range mod.Globals {
		p.globals = append(p.globals, g.First.Name)
	}
	p.binds = make([]bool, len(p.globals))
	p.main = &funcode{prog: p, name: "<toplevel>", pos: pos{1, 1}, plain: true, stmts: f.Stmts, locals: len(mod.Locals)}
	p.funcs = append(p.funcs, p.main)
	fc := &fcomp{compiler: c, code: p.main, base: len(mod.Locals)}
	for i, b := range mod.Locals {
		if b.Scope == resolve.Cell {
			p.main.cells = append(p.main.cells, i)
		}
	}
	p.main.body = fc.block(f.Stmts, nil, nil)
	p.main.nslots, p.main.stack = fc.base+fc.most, fc.stackBytes()
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	p.bytes = programBytes(f, len(src), len(p.funcs))
	return p, nil
}

// Globals returns the names that the program can bind.
func (p *Program) Globals() []string {
	var out []string
	for i, n := range p.globals {
		if p.binds[i] && n[0] != '<' {
			out = append(out, n)
		}
	}
	return out
}

// compiler compiles one program.
type compiler struct {
	prog  *Program
	pre   map[string]int
	codes map[*resolve.Function]*funcode
	errs  syntax.Errors
}

func (c *compiler) errorf(p star.Position, hint, format string, args ...any) {
	c.errs = append(c.errs, syntax.Error{File: c.prog.File, Line: int(p.Line), Column: int(p.Col), Message: fmt.Sprintf(format, args...), Hint: hint})
}

// fcomp compiles one function. A frame holds the locals, then the temporaries; temporaries
// are used as a stack, so that an expression needs as many as its deepest operand.
type fcomp struct {
	*compiler
	code *funcode
	base int // number of locals: the first temporary
	need int // temporaries needed by what is being compiled, so far
	last int // temporaries needed by the operand compiled last
	most int // temporaries needed by any statement so far

	watch  bool // what is being compiled tells of its checks, see [thread.check]
	again  bool // the function was compiled before
	judges map[star.Expr]judged

	path, deepest int64 // bytes of Go's stack on the way to what is being compiled, and on the longest way so far
}

// callStack is what a call of a function takes of Go's stack, with a builtin between it and its caller.
const callStack = 1024

// stackBytes is what a call of the function may take of Go's stack, which grows by doubling.
func (f *fcomp) stackBytes() int64 { return 2 * (callStack + f.deepest) }

// within adds what running a node takes of Go's stack to the way to its parts, until the function that it returns is called.
func (f *fcomp) within(n star.Node) func() {
	b := stackOf(n)
	f.path += b
	f.deepest = max(f.deepest, f.path)
	return func() { f.path -= b }
}

// stackOf is about what running a node takes of Go's stack; a test measures it.
func stackOf(n star.Node) int64 {
	switch n := n.(type) {
	case *star.ParenExpr:
		return 0
	case *star.CallExpr:
		return 1024
	case *star.Comprehension:
		return 512 + 384*int64(len(n.Clauses))
	case *star.SliceExpr, *star.ForStmt:
		return 576
	case *star.DictExpr, *star.ListExpr, *star.TupleExpr:
		return 384
	case *star.WhileStmt:
		return 256
	case *star.IfStmt:
		if specialName(n.Cond) == syntax.Try {
			return tryStack
		}
	}
	return 192
}

// programBytes is about what a compiled program takes, a test measures it: its text, up to three times, its tree,
// what was compiled of it, and the effects of its functions, which are worked out when they are needed.
func programBytes(f *star.File, size, funcs int) int64 {
	n := 3*int64(size) + 1480*int64(funcs)
	tries := false
	star.Walk(f, func(node star.Node) bool {
		switch node := node.(type) {
		case nil:
			return false
		case *star.IfStmt:
			n += 474
			if specialName(node.Cond) == syntax.Try {
				n += 400
				tries = true
			}
		case *star.ForStmt, *star.WhileStmt, *star.CondExpr, *star.Comprehension:
			n += 580
		case *star.BinaryExpr:
			if node.Op == star.AND || node.Op == star.OR {
				n += 440
			}
		case star.Stmt:
			n += 168
		}
		n += 150
		return true
	})
	if tries { // functions may be compiled once more
		n *= 2
	}
	return n
}

func at(p star.Position) pos { return pos{p.Line, p.Col} }

func start(n star.Node) pos {
	p, _ := n.Span()
	return at(p)
}

// function compiles a def or lambda and returns an expression that makes the closure.
func (f *fcomp) function(fn *resolve.Function) expr {
	code := f.codes[fn]
	known := code != nil
	if !known {
		code = &funcode{
			prog: f.prog, index: len(f.prog.funcs), name: fn.Name, pos: at(fn.Pos),
			varargs: fn.HasVarargs, kwargs: fn.HasKwargs, kwonly: fn.NumKwonlyParams, stmts: fn.Body, locals: len(fn.Locals),
		}
		f.prog.funcs = append(f.prog.funcs, code)
		f.codes[fn] = code
	}
	defaults := f.defaults(fn)
	if !known {
		code.optional = len(defaults)
		f.define(code, fn)
	}

	first := f.slots(len(defaults))
	bytes, captured := functionBytes(len(defaults), len(code.free)), int64(len(code.free))/4
	return func(t *thread) val {
		t.alloc(bytes)
		t.burn(captured)
		fn := &function{code: code, mod: t.fn.mod}
		for i, d := range defaults {
			if d != nil {
				t.locals[first+i] = d(t)
			}
		}
		if len(defaults) > 0 {
			fn.defaults = make([]val, len(defaults))
			for i, d := range defaults {
				if d != nil {
					fn.defaults[i] = t.locals[first+i]
					t.locals[first+i] = unboundVal
				}
			}
		}
		if len(code.free) > 0 {
			fn.free = make([]*cell, len(code.free))
			for i, c := range code.free {
				if c.free {
					fn.free[i] = t.fn.free[c.index]
				} else {
					fn.free[i] = t.locals[c.index].cell()
				}
			}
		}
		return funcVal(fn, t.pc)
	}
}

// defaults compiles the defaults of a function's parameters.
func (f *fcomp) defaults(fn *resolve.Function) []expr {
	var out []expr
	for _, p := range fn.Params {
		switch p := p.(type) {
		case *star.Ident:
			if len(out) > 0 { // keyword-only and required, after an optional one
				out = append(out, nil)
			}
		case *star.BinaryExpr:
			out = append(out, f.expr(p.Y))
		}
	}
	return out
}

// define compiles the body of a function.
func (f *fcomp) define(code *funcode, fn *resolve.Function) {
	for _, p := range fn.Params {
		switch p.(type) {
		case *star.Ident, *star.BinaryExpr:
			code.nparams++
		}
	}
	for _, b := range fn.Locals[:code.nparams+count(code.varargs)+count(code.kwargs)] {
		code.params = append(code.params, b.First.Name)
	}
	code.plain = !code.varargs && !code.kwargs && code.kwonly == 0
	for i, b := range fn.Locals {
		if b.Scope == resolve.Cell {
			code.cells = append(code.cells, i)
		}
	}
	for _, b := range fn.FreeVars {
		code.free = append(code.free, capture{b.Scope == resolve.Free, b.Index})
	}
	fc := &fcomp{compiler: f.compiler, code: code, base: len(fn.Locals)}
	code.body, code.result = fc.funcBody(fn.Body)
	code.nslots, code.stack = fc.base+fc.most, fc.stackBytes()
	code.entry = 1 + int64(code.nslots)/16 + int64(len(code.cells))/2
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// place is where a statement stands, for finding what its exits may skip.
type place struct {
	after []star.Stmt // the statements after it in its list
	up    *place      // of the statement whose arm the list is; nil in the body of a function
	loop  star.Stmt   // the for or while whose body the list is, if it is one
	try   bool        // in a try
	begun []star.Node // if the list is a finally, the arms of its try, whose exits wait for it
}

// funcBody compiles a function's body. The value of a return that stands last is compiled as an expression, so that
// it need not go through the thread.
func (f *fcomp) funcBody(list []star.Stmt) (stmt, expr) {
	last, ok := list[len(list)-1].(*star.ReturnStmt)
	if !ok || last.Result == nil {
		return f.block(list, nil, nil), nil
	}
	stmts, cost := f.statements(list[:len(list)-1], list[len(list)-1:], nil, nil)
	f.need = 0
	leave := f.within(last)
	x := f.expr(last.Result)
	leave()
	f.most = max(f.most, f.need)
	p := whereIs(last)
	var body stmt
	if len(stmts) > 0 {
		body = sequence(stmts, cost)
	}
	own := weight(last)
	return body, func(t *thread) val {
		t.at = p
		if t.fuel -= own; t.fuel < 0 {
			t.refuel()
		}
		return x(t)
	}
}

// block compiles a list of statements; up is the place of the statement that it is an arm of.
func (f *fcomp) block(list []star.Stmt, up *place, loop star.Stmt) stmt {
	return sequence(f.statements(list, nil, up, loop))
}

// statements compiles statements that others follow, and returns what running all of them costs.
func (f *fcomp) statements(list, after []star.Stmt, up *place, loop star.Stmt) (stmts []placed, cost int64) {
	all := append(list[:len(list):len(list)], after...)
	for i, s := range list {
		cost += weight(s)
		f.need = 0
		leave := f.within(s)
		if st := f.stmt(s, &place{after: all[i+1:], up: up, loop: loop}); st != nil {
			stmts = append(stmts, placed{st, whereIs(s)})
		}
		leave()
		f.most = max(f.most, f.need)
	}
	return stmts, cost
}

// sequence runs statements one after the other.
func sequence(stmts []placed, cost int64) stmt {
	switch len(stmts) {
	case 0:
		return func(t *thread) sig {
			t.burn(1)
			return sigNext
		}
	case 1:
		s, p := stmts[0].run, stmts[0].at
		return func(t *thread) sig {
			t.at = p
			if t.fuel -= cost; t.fuel < 0 {
				t.refuel()
			}
			return s(t)
		}
	case 2:
		s1, p1, s2, p2 := stmts[0].run, stmts[0].at, stmts[1].run, stmts[1].at
		return func(t *thread) sig {
			t.at = p1
			if t.fuel -= cost; t.fuel < 0 {
				t.refuel()
			}
			if r := s1(t); r != sigNext {
				return r
			}
			t.at = p2
			return s2(t)
		}
	}
	return func(t *thread) sig {
		t.at = stmts[0].at
		if t.fuel -= cost; t.fuel < 0 {
			t.refuel()
		}
		for i := range stmts {
			s := &stmts[i]
			t.at = s.at
			if r := s.run(t); r != sigNext {
				return r
			}
		}
		return sigNext
	}
}

// placed is a statement and where it is, for the errors of limits that it passes.
type placed struct {
	run stmt
	at  pos
}

// whereIs returns where a statement begins; that of a lambda has no place but its expression's.
func whereIs(s star.Stmt) pos {
	if r, ok := s.(*star.ReturnStmt); ok && !r.Return.IsValid() && r.Result != nil {
		return start(r.Result)
	}
	return start(s)
}

// weight is the number of steps that a statement's own expressions cost: one for
// each node, without the bodies of compound statements, which pay for themselves.
func weight(s star.Stmt) int64 {
	switch s := s.(type) {
	case *star.ExprStmt:
		return size(s.X)
	case *star.AssignStmt:
		return size(s.LHS) + size(s.RHS)
	case *star.IfStmt:
		return size(s.Cond)
	case *star.ForStmt:
		return size(s.X)
	case *star.ReturnStmt:
		if s.Result != nil {
			return size(s.Result)
		}
	}
	return 1
}

func size(e star.Expr) int64 {
	var n int64
	star.Walk(e, func(node star.Node) bool {
		switch node.(type) {
		case nil:
			return false
		case *star.LambdaExpr, *star.Comprehension:
			n++
			return false
		}
		n++
		return true
	})
	return n
}

// literal returns a constant's value, without its label.
func literal(l *star.Literal) val {
	switch v := l.Value.(type) {
	case int64:
		return intVal(v, label.BottomID)
	case *big.Int:
		return bigVal(v, label.BottomID)
	case float64:
		return floatVal(v, label.BottomID)
	case string:
		v = strings.Clone(v) // a program that keeps it should not keep the text
		if l.Token == star.BYTES {
			return bytesVal(v, label.BottomID)
		}
		return stringVal(v, label.BottomID)
	}
	return val{}
}
