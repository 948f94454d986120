package eval

import (
	"fmt"
	"strings"

	"go.starlark.net/resolve"
	star "go.starlark.net/syntax"

	"callgate/engine/label"
)

// call is one call of a builtin, as its Go function sees it. It is only valid
// until that function returns.
type call struct {
	def  *builtinDef
	recv val   // of a method; kUnbound otherwise
	args []val // by parameter, kUnbound if absent; of a variadic builtin the positional arguments
	kw   []kwarg
	star label.ID // of the structure of *args and **kwargs: already joined to each argument
	pos  pos
}

type kwarg struct {
	name string
	v    val
}

// native is the Go function of a builtin. What it returns must carry the labels of
// everything that the result depends on; the pc is joined by the caller.
type native func(t *thread, c *call) val

// builtin is a function of the universe or of a module, a method, or a tool; with recv, a bound method. A value that is a
// bound method has the label of recv.
type builtin struct {
	name string
	recv val // kUnbound if it is no method
	def  *builtinDef
}

// builtinDef is what all builtins of one name share.
type builtinDef struct {
	name     string
	index    int      // into the memo of permissions; 0: not decided on (an exit of its own)
	params   []string // nil: takes any arguments
	required int
	kwonly   int  // of the parameters, the last so many
	variadic bool // any number of positional arguments, and of others by name
	run      native
	inplace  bool // it changes its receiver and makes nothing: what it charges is traced, not its own
	tool     *ToolSig

	// Of a function that programs take for a class:
	attrs *module          // what is read of it with a point
	of    func(v val) bool // whether a value is of the class
}

// callArg is one compiled argument.
type callArg struct {
	x    expr
	name string // "" for positional
	star byte   // 0, 1 for *x, 2 for **x
	p    pos
	e    star.Expr
}

// call compiles a call.
func (f *fcomp) call(e *star.CallExpr) expr {
	if id, ok := e.Fn.(*star.Ident); ok {
		if special := specials[id.Name]; special != nil {
			return special(f, e)
		}
	}
	p := at(e.Lparen)
	var args []callArg
	plain := true
	for _, a := range e.Args {
		arg := callArg{p: start(a)}
		switch b := a.(type) {
		case *star.UnaryExpr:
			if b.Op == star.STAR || b.Op == star.STARSTAR {
				arg.star = 1
				if b.Op == star.STARSTAR {
					arg.star = 2
				}
				a, plain = b.X, false
				f.judge(judgedShallow, a)
			}
		case *star.BinaryExpr:
			if b.Op == star.EQ {
				arg.name = b.X.(*star.Ident).Name
				a, plain = b.Y, false
			}
		}
		arg.x, arg.e = f.expr(a), a
		args = append(args, arg)
	}
	if dot, ok := unparen(e.Fn).(*star.DotExpr); ok {
		return f.methodCall(dot, e, args, plain, p)
	}
	fixed := val{}
	if id, ok := unparen(e.Fn).(*star.Ident); ok {
		if b := id.Binding.(*resolve.Binding); b.Scope == resolve.Universal {
			fixed = universe[id.Name]
		}
	}
	if fixed.k == kUnbound {
		f.judge(judgedKind, e.Fn)
	}
	fn := f.expr(e.Fn)
	slot := f.slots(1)
	if fixed.k == kBuiltin {
		b := fixed.builtin()
		if x := f.seek(b, e, p); x != nil {
			return x
		}
		return func(t *thread) val { return t.callBuiltin(b, unboundVal, label.BottomID, args, plain, p) }
	}
	_, named := unparen(e.Fn).(*star.Ident)
	for _, a := range args {
		named = named && quiet(a.e)
	}
	return func(t *thread) val {
		v := fn(t)
		if v.k == kFunc && plain {
			code := v.fn().code
			if code.plain && len(args) == code.nparams {
				if !named {
					t.locals[slot] = v
				}
				frame := t.push(code.nslots)
				for i := range args {
					frame[i] = args[i].x(t)
				}
				if !named {
					t.locals[slot] = unboundVal
				}
				if v.lab != t.pc {
					t.foresee(v.lab)
				}
				return t.enter(v.fn(), v.lab, frame, p)
			}
		}
		t.locals[slot] = v
		r := t.callValue(v, args, plain, true, p)
		t.locals[slot] = unboundVal
		return r
	}
}

// methodCall compiles x.name(…) without making the bound method.
func (f *fcomp) methodCall(dot *star.DotExpr, e *star.CallExpr, args []callArg, plain bool, p pos) expr {
	f.judge(judgedFields, dot.X)
	x, name, np := f.expr(dot.X), dot.Name.Name, at(dot.Name.NamePos)
	slot := f.slots(1)
	lookup := methodsNamed(name)
	if name == "append" && plain && len(args) == 1 {
		return f.appendCall(x, args, quiet(e.Args[0]) && leaf(dot.X), p, np)
	}
	fresh := name == "setdefault" && plain && len(args) == 2 && isDisplay(e.Args[1])
	return func(t *thread) val {
		o := x(t)
		if fresh && o.k == kDict {
			t.locals[slot] = o
			r := t.setDefaultDisplay(lookup[kDict], o, args, p)
			t.locals[slot] = unboundVal
			return r
		}
		return t.callMethod(o, name, lookup, args, plain, slot, p, np)
	}
}

// callMethod calls o.name(…); o waits in a slot. A field that can be called is called like a function.
func (t *thread) callMethod(o val, name string, lookup *[kinds]*builtin, args []callArg, plain bool, slot int, p, np pos) val {
	t.locals[slot] = o
	var r val
	b := lookup[o.k]
	if o.k == kObject || o.k == kDict && o.dict().of != nil {
		b = methodOf(o, name)
	}
	if b != nil {
		r = t.callBuiltin(b, o, o.lab, args, plain, p)
	} else {
		fn := t.attr(o, name, np)
		t.locals[slot] = fn
		r = t.callValue(fn, args, plain, false, p)
	}
	t.locals[slot] = unboundVal
	return r
}

// appendCall compiles x.append(y), which most loops over data consist of: to a list it does what the method would do.
func (f *fcomp) appendCall(x expr, args []callArg, quiet bool, p, np pos) expr {
	slot := f.slots(1)
	arg, lookup := args[0].x, methodsNamed("append")
	b := lookup[kList]
	return func(t *thread) val {
		o := x(t)
		if o.k != kList {
			return t.callMethod(o, "append", lookup, args, true, slot, p, np)
		}
		var v val
		if quiet {
			v = arg(t)
		} else {
			t.locals[slot] = o
			v = arg(t)
		}
		xs := o.list()
		if xs.iters != 0 || len(t.trials) > 0 { // there is an error, or there might have been one that is caught
			r := t.native(b, o, o.lab, []val{v}, nil, label.BottomID, p)
			t.locals[slot] = unboundVal
			return r
		}
		t.at = p
		if t.fuel--; t.fuel < 0 {
			t.refuel()
		}
		t.permitLabel(b.def, t.joinShallow(t.joinShallow(t.pc, &o), &v))
		pc, raises := t.pc, t.raises
		w := t.write(&xs.st, o.lab, p)
		v.lab = t.join(v.lab, w)
		t.append(xs, v)
		if !quiet {
			t.locals[slot] = unboundVal
		}
		if t.raises != raises {
			t.pc = t.level(pc)
		}
		return noneVal(t.under(t.pc, o.lab))
	}
}

// quiet reports whether evaluating e runs no code of a program: what a name holds stays where it is meanwhile.
func quiet(e star.Expr) bool {
	switch e := e.(type) {
	case *star.Ident, *star.Literal:
		return true
	case *star.ParenExpr:
		return quiet(e.X)
	case *star.UnaryExpr:
		return quiet(e.X)
	case *star.BinaryExpr:
		return quiet(e.X) && quiet(e.Y)
	}
	return false // an element too: a defaultdict may call what makes it
}

func isDisplay(e star.Expr) bool {
	switch unparen(e).(type) {
	case *star.ListExpr, *star.DictExpr:
		return true
	}
	return false
}

// setDefaultDisplay calls d.setdefault(k, []): the display is evaluated under the labels of
// the key and of d, so that what the program then appends to it needs no higher floor.
func (t *thread) setDefaultDisplay(b *builtin, o val, args []callArg, p pos) val {
	frame := t.push(2)
	frame[0] = args[0].x(t)
	saved, raises := t.pc, t.raises
	t.pc = t.join(t.under(t.under(t.pc, frame[0].lab), o.lab), t.structure(o))
	frame[1] = args[1].x(t)
	t.pc = saved
	if t.raises != raises {
		t.pc = t.level(saved)
	}
	r := t.native(b, o, o.lab, frame, nil, label.BottomID, p)
	t.pop(2)
	return r
}

// callValue calls any callable with compiled arguments. foreseen says that it is no method of something.
func (t *thread) callValue(fn val, args []callArg, plain, foreseen bool, p pos) val {
	if fn.k != kBuiltin && fn.k != kFunc {
		panic(t.fail(p, fn.lab, "not-callable", "invalid call of non-function (%s)", fn.typeName()).advise(notCallableHint(fn)))
	}
	n, spread := len(args), t.spread
	frame := t.push(n)
	pos, kw, star := t.evalArgs(args, plain, frame, p)
	if foreseen {
		t.foresee(t.join(fn.lab, star))
	}
	var r val
	if fn.k == kFunc {
		r = t.invoke(fn, pos, kw, star, p)
	} else {
		b := fn.builtin()
		r = t.native(b, b.recv, fn.lab, pos, kw, star, p)
	}
	t.pop(n)
	t.spread = spread
	return r
}

// foresee joins l, the label of which function is called and with how many arguments, to the label of the record of
// calls: whether it calls the host depends on that [pc.6]. It must be done for everything that may be called in the
// same place, or for nothing: for methods it is not, since most are of values and call nothing. Like an announcement it is made
// only where the pc flows there already; elsewhere, the floor rises if the host is called.
func (t *thread) foresee(l label.ID) {
	if full := t.under(t.pc, l); full != t.pc {
		t.expect(t.pc, full)
	}
}

// expect says that whether the host is called is decided under full, where the pc is now.
func (t *thread) expect(now, full label.ID) {
	if t.tab.Flows(now, t.s.history) {
		t.s.history = t.join(t.s.history, full)
	}
	if st := t.strand; st != nil && !t.tab.Flows(full, t.far) && t.tab.Flows(now, t.join(t.far, t.tab.Control(t.s.floor))) {
		st.alone = true
	}
}

// callBuiltin evaluates arguments and calls a builtin.
func (t *thread) callBuiltin(b *builtin, recv val, via label.ID, args []callArg, plain bool, p pos) val {
	n, def := len(args), b.def
	if plain && n >= def.required && n <= len(def.params)-def.kwonly {
		frame := t.push(len(def.params)) // what is absent stays unbound
		for i := range args {
			frame[i] = args[i].x(t)
		}
		r := t.native(b, recv, via, frame, nil, label.BottomID, p)
		t.pop(len(frame))
		return r
	}
	spread := t.spread
	frame := t.push(n)
	pos, kw, star := t.evalArgs(args, plain, frame, p)
	r := t.native(b, recv, via, pos, kw, star, p)
	t.pop(n)
	t.spread = spread
	return r
}

// evalArgs evaluates arguments into a frame, and spreads *args and **kwargs.
func (t *thread) evalArgs(args []callArg, plain bool, frame []val, p pos) (positional []val, kw []kwarg, star label.ID) {
	for i := range args {
		frame[i] = args[i].x(t)
	}
	if plain {
		return frame, nil, label.BottomID
	}
	star = label.BottomID
	positional = frame[:0:0]
	for i := range args {
		v := frame[i]
		switch {
		case args[i].star == 1:
			l := t.join(v.lab, t.structure(v))
			it, ok := t.iterate(v)
			if !ok {
				panic(t.fail(args[i].p, l, "not-iterable", "argument after * must be iterable, not %s", v.typeName()).advise(notIterableHint(v)))
			}
			n := t.counted(v)
			t.at = args[i].p
			positional = spread(t, positional, n, valSize)
			t.charge(n / 2)
			for e, ok := it.next(t); ok; e, ok = it.next(t) {
				positional = append(positional, e.with(t.join(e.lab, l)))
			}
			star = t.under(star, l)
		case args[i].star == 2:
			l := t.join(v.lab, t.structure(v))
			if v.k != kDict {
				panic(t.fail(args[i].p, l, "not-mapping", "argument after ** must be a mapping, not %s", v.typeName()))
			}
			d := v.dict()
			t.at = args[i].p
			kw = spread(t, kw, int64(d.live), kwargSize)
			t.charge(int64(d.live))
			d.each(func(k, e val) bool {
				if k.k != kString {
					panic(t.fail(args[i].p, l, "keyword", "keywords must be strings, not %s", k.typeName()))
				}
				kw = append(kw, kwarg{k.str(), e.with(t.join(e.lab, l))})
				return true
			})
			star = t.under(star, l)
		case args[i].name != "":
			kw = append(kw, kwarg{args[i].name, v})
		default:
			positional = append(positional, v)
		}
	}
	if star != label.BottomID {
		for i := range positional {
			positional[i].lab = t.join(positional[i].lab, star)
		}
		for i := range kw {
			kw[i].v.lab = t.join(kw[i].v.lab, star)
		}
	}
	return positional, kw, star
}

// spread makes room for n more arguments of size bytes. They count until the call has ended, when
// the caller sets t.spread back.
func spread[T any](t *thread, args []T, n, size int64) []T {
	if n > t.maxHeap/size {
		panic(t.tooMuch(n, size))
	}
	if need := len(args) + int(n); need > cap(args) {
		room := roomFor(need, cap(args), int(size))
		bytes := blockSize(int64(room) * size)
		t.alloc(bytes)
		t.spread += bytes
		args = append(make([]T, 0, room), args...)
	}
	return args
}

const kwargSize = 40

// call calls a function of the program, or a builtin, from a builtin. What it returns is the program's: to keep it
// beyond the next allocation, hold it.
func (t *thread) call(fn val, args ...val) val {
	saved, segment := t.at, t.mem.pause()
	var r val
	switch fn.k {
	case kBuiltin:
		b := fn.builtin()
		r = t.native(b, b.recv, fn.lab, args, nil, label.BottomID, saved)
	case kFunc:
		r = t.invoke(fn, args, nil, label.BottomID, saved)
	default:
		panic(t.fail(saved, fn.lab, "not-callable", "invalid call of non-function (%s)", fn.typeName()).advise(notCallableHint(fn)))
	}
	t.at = saved
	t.mem.resume(segment)
	return r
}

// callUnder is call where it depends on data labelled l whether, or how often, a builtin calls the function.
func (t *thread) callUnder(l label.ID, fn val, args ...val) val {
	saved, raises := t.pc, t.raises
	t.pc = t.under(saved, l)
	r := t.call(fn, args...)
	t.pc = saved
	if t.raises != raises {
		t.pc = t.level(saved)
	}
	return r
}

// invoke calls a function of a program with evaluated arguments.
func (t *thread) invoke(v val, args []val, kw []kwarg, star label.ID, p pos) val {
	fn := v.fn()
	code := fn.code
	frame := t.push(code.nslots)
	l := t.join(v.lab, star)
	if code.plain && len(kw) == 0 && len(args) == code.nparams {
		copy(frame, args)
	} else {
		t.bind(fn, frame, args, kw, l, p)
	}
	return t.enter(fn, l, frame, p)
}

// bind gives the parameters their arguments and defaults. l is the label of how the call was made: of
// the function and of the structure of *args and **kwargs.
func (t *thread) bind(fn *function, frame []val, args []val, kw []kwarg, l label.ID, p pos) {
	code := fn.code
	npos := code.nparams - code.kwonly
	fail := func(code, format string, a ...any) {
		panic(t.fail(p, l, code, "function "+fn.code.name+" "+format, a...))
	}
	n := min(len(args), npos)
	copy(frame, args[:n])
	if len(args) > npos && !code.varargs {
		switch {
		case code.nparams == 0:
			fail("arguments", "accepts no arguments (%d given)", len(args)+len(kw))
		case code.optional > code.kwonly:
			fail("arguments", "accepts at most %d positional argument%s (%d given)", npos, plural(npos), len(args))
		default:
			fail("arguments", "accepts %d positional argument%s (%d given)", npos, plural(npos), len(args))
		}
	}
	next := code.nparams
	if code.varargs {
		rest := args[n:]
		t.alloc(tupleSize + blockSize(int64(len(rest))*valSize))
		t.charge(int64(len(rest)) / 4)
		frame[next] = tupleVal(append([]val(nil), rest...), t.join(t.pc, l))
		next++
	}
	var extra *dict
	if code.kwargs {
		t.alloc(dictSize)
		extra = &dict{st: t.join(t.pc, l)}
		frame[next] = dictVal(extra, t.join(t.pc, l))
	}
named:
	for _, a := range kw {
		t.burn(1 + int64(code.nparams)/8)
		for i := range code.nparams {
			if code.params[i] == a.name {
				if frame[i].k != kUnbound {
					fail("arguments", "got multiple values for parameter %q", a.name)
				}
				frame[i] = a.v
				continue named
			}
		}
		if extra == nil {
			hint := nearest(a.name, code.params[:code.nparams])
			fail("arguments", "got an unexpected keyword argument %q%s", a.name, hint)
		}
		k := stringVal(a.name, label.BottomID)
		h := t.hash(k)
		if t.find(extra, k, h) >= 0 {
			fail("arguments", "got multiple values for parameter %q", a.name)
		}
		t.insert(extra, k, h, a.v)
	}
	var missing []string
	firstDefault := code.nparams - len(fn.defaults)
	for i := range code.nparams {
		if frame[i].k != kUnbound {
			continue
		}
		if i >= firstDefault && fn.defaults[i-firstDefault].k != kUnbound {
			d := fn.defaults[i-firstDefault]
			frame[i] = d.with(t.join(d.lab, t.pc))
			continue
		}
		missing = append(missing, code.params[i])
	}
	if len(missing) > 0 {
		fail("arguments", "missing %d argument%s (%s)", len(missing), plural(len(missing)), strings.Join(missing, ", "))
	}
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// enter runs a function whose frame is on top of the arena with its parameters bound, under
// the caller's pc joined with l [pc.4].
func (t *thread) enter(fn *function, l label.ID, frame []val, p pos) val {
	if t.depth >= t.maxDepth {
		panic(t.limit("depth", int64(t.depth+1), int64(t.maxDepth)))
	}
	t.at = p
	t.depth++
	if t.stack += fn.code.stack; t.stack > t.stackTop {
		t.deepen()
	}
	caller, locals, pc, fnpc, loopBase, raises := t.fn, t.locals, t.pc, t.fnpc, t.loopBase, t.raises
	t.frames = append(t.frames, activation{caller, p})
	t.fn, t.locals, t.cells = fn, frame, fn.mod.cells
	t.fnpc, t.loopBase = label.BottomID, len(t.loops)
	if l != pc {
		t.pc = t.under(pc, l)
	}
	for _, i := range fn.code.cells {
		t.alloc(cellSize)
		frame[i] = cellVal(&cell{v: frame[i]})
	}
	if t.fuel -= fn.code.entry; t.fuel < 0 {
		t.refuel()
	}
	var r val
	body, result := fn.code.body, fn.code.result
	if len(t.trials) > 0 {
		body, result = watchedBody, nil
	}
	switch {
	case body != nil && body(t) == sigReturn:
		r, t.ret = t.ret, val{}
		r.lab = t.join(r.lab, t.pc)
	case result != nil:
		r = result(t)
	default:
		r = noneVal(t.pc)
	}
	t.resume(caller, locals)
	t.fnpc, t.loopBase, t.pc = fnpc, loopBase, pc
	last := len(t.frames) - 1
	t.frames[last].fn = nil
	t.frames = t.frames[:last]
	t.depth--
	t.stack -= fn.code.stack
	t.at = p
	if t.raises != raises {
		t.pc = t.level(pc)
	}
	t.pop(len(frame))
	return r
}

// resume goes on with a function in its frame.
func (t *thread) resume(fn *function, locals []val) {
	t.fn, t.locals = fn, locals
	if fn != nil {
		t.cells = fn.mod.cells
	} else {
		t.cells = nil
	}
}

// native calls a builtin. via is the label of the references followed to reach it, which include the receiver's.
func (t *thread) native(b *builtin, recv val, via label.ID, args []val, kw []kwarg, star label.ID, p pos) val {
	def := b.def
	n := t.natives
	if n == len(t.pool) {
		t.pool = append(t.pool, &call{})
	}
	if n >= t.maxDepth {
		panic(t.limit("depth", int64(n+1), int64(t.maxDepth)))
	}
	c := t.pool[n]
	t.natives = n + 1
	at := t.at
	t.at = p
	c.def, c.recv, c.args, c.kw, c.star, c.pos = def, recv, args, kw, star, p
	if len(t.trials) > 0 {
		t.checkCall(c, via)
	}
	pushed := 0
	if def.params != nil && (len(kw) > 0 || len(args) != len(def.params)) {
		frame := t.push(len(def.params))
		pushed = len(frame)
		t.bindNative(c, frame, via)
	}
	if t.fuel--; t.fuel < 0 {
		t.refuel()
	}
	if def.index != 0 {
		t.permitLabel(def, t.join(t.shallow(c), via))
	}
	pc, raises := t.pc, t.raises
	// Which arguments there are, where they were spread, is as much a part of the call as what is called.
	if via != pc || star != label.BottomID {
		t.pc = t.under(t.under(pc, via), star)
	}
	var r val
	if def.inplace {
		r = def.run(t, c)
	} else {
		segment := t.mem.begin()
		r = def.run(t, c)
		t.mem.resume(segment)
	}
	r.lab = t.join(r.lab, t.pc)
	t.pc = pc
	if t.raises != raises {
		t.pc = t.level(pc)
	}
	if pushed > 0 {
		t.pop(pushed)
	}
	c.recv, c.args, c.kw = val{}, nil, nil
	t.natives = n
	t.at = at
	return r
}

// bindNative gives a builtin's parameters their arguments.
func (t *thread) bindNative(c *call, frame []val, via label.ID) {
	def := c.def
	l := t.join(via, c.star)
	npos := len(def.params) - def.kwonly
	if len(c.args) > npos {
		most := "at most "
		if def.required == npos {
			most = ""
		}
		panic(t.errorf(l, "arguments", "%s: got %d arguments, want %s%d", def.name, len(c.args), most, npos))
	}
	copy(frame, c.args)
	for _, a := range c.kw {
		i := -1
		for j, p := range def.params {
			if p == a.name {
				i = j
			}
		}
		switch {
		case i < 0:
			panic(t.errorf(l, "arguments", "%s: unexpected keyword argument %s%s", def.name, clip(a.name), nearest(a.name, def.params)))
		case frame[i].k != kUnbound:
			panic(t.errorf(l, "arguments", "%s: got multiple values for keyword argument %s", def.name, a.name))
		}
		frame[i] = a.v
	}
	for i := range def.required {
		if frame[i].k == kUnbound {
			panic(t.errorf(l, "arguments", "%s: missing argument for %s", def.name, def.params[i]))
		}
	}
	c.args, c.kw = frame, nil
}

// has reports whether argument i was given.
func (c *call) has(i int) bool { return i < len(c.args) && c.args[i].k != kUnbound }

// none reports whether argument i was not given, or is None.
func (c *call) none(i int) bool { return !c.has(i) || c.args[i].k == kNone }

// shallow joins the labels of the references and structures of a call's receiver and arguments.
func (t *thread) shallow(c *call) label.ID {
	l := t.join(t.pc, c.star)
	if c.recv.k != kUnbound {
		l = t.joinShallow(l, &c.recv)
	}
	for i := range c.args {
		if a := &c.args[i]; a.k != kUnbound {
			l = t.joinShallow(l, a)
		}
	}
	for i := range c.kw {
		l = t.joinShallow(l, &c.kw[i].v)
	}
	return l
}

// joinShallow joins to l the labels of a value's reference and structure.
func (t *thread) joinShallow(l label.ID, v *val) label.ID {
	if v.lab != l {
		l = t.join(l, v.lab)
	}
	if v.k >= kList && v.k <= kSet || v.k == kDeque {
		return t.join(l, t.structure(*v))
	}
	return l
}

// badArg is the error of an argument of the wrong type. It carries all that the arguments hold.
func (t *thread) badArg(c *call, format string, args ...any) *Error {
	return t.argError(c, "argument", format, args...)
}

// argError is an error of a builtin, which may have read all of its arguments.
func (t *thread) argError(c *call, code, format string, args ...any) *Error {
	return t.errorf(t.allOf(c), code, "%s: %s", c.def.name, fmt.Sprintf(format, args...))
}

// allOf joins every label in a call's receiver and arguments.
func (t *thread) allOf(c *call) label.ID {
	l := t.shallow(c)
	if c.recv.k != kUnbound {
		l = t.join(l, t.deepLabel(c.recv))
	}
	for _, a := range c.args {
		if a.k != kUnbound {
			l = t.join(l, t.deepLabel(a))
		}
	}
	for _, a := range c.kw {
		l = t.join(l, t.deepLabel(a.v))
	}
	return l
}
