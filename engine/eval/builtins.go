package eval

import (
	"math"
	"math/big"
	"strconv"

	star "go.starlark.net/syntax"

	"callgate/engine/label"
	"callgate/engine/syntax"
)

// addPythonFunctions adds what Python has in its builtins and Starlark has not.
func addPythonFunctions() {
	addFunc("pow", "base, exp, mod?", runPow)
	addFunc("sum", "iterable, start?", runSum)
	addFunc("round", "number, ndigits?", runRound)
	addFunc("divmod", "a, b", func(t *thread, c *call) val {
		a, b := c.args[0], c.args[1]
		if !a.isNum() || !b.isNum() {
			panic(t.badArg(c, "got %s and %s, want numbers", a.typeName(), b.typeName()))
		}
		q := t.operate(star.SLASHSLASH, a, b, t.at)
		t.alloc(pairSize)
		return pairVal(q, t.operate(star.PERCENT, a, b, t.at), t.shallow(c))
	})
	addFunc("map", "...", runMap)
	addFunc("filter", "function, iterable", runFilter)
	addFunc("isinstance", "x, type", runIsinstance)
	addFunc("callable", "x", func(t *thread, c *call) val {
		return boolVal(c.args[0].k == kFunc || c.args[0].k == kBuiltin, t.shallow(c))
	})
	addFunc("format", "x, spec?", func(t *thread, c *call) val {
		spec := ""
		if c.has(1) {
			spec = c.wantString(t, 1)
		}
		l := t.allOf(c)
		t.deeper(c, l)
		w := textWriter{t: t}
		w.shown(c.args[0], spec, l, t.at)
		return stringVal(w.end(), l)
	})
	addFunc("next", "iterator, default?", func(t *thread, c *call) val {
		panic(t.badArg(c, "got %s, want a generator expression", c.args[0].typeName()).
			hint("write next((x for x in xs), None); of a sequence the first element is xs[0], or list(d)[0]"))
	})
	addFunc("assert", "condition, message?", func(t *thread, c *call) val {
		if t.truth(c.args[0]) {
			return noneVal(t.pc)
		}
		text := "AssertionError"
		l := t.shallow(c)
		if c.has(1) {
			l = t.join(l, t.deepLabel(c.args[1]))
			text += ": " + t.str(c.args[1])
		}
		panic(t.errorf(l, "AssertionError", "%s", text))
	})
	hidden := func(name, params string, run native) {
		d := def(name, params, run)
		d.index = 0 // syntax: there is nothing to decide
		universe[name] = builtinVal(&builtin{name: name, recv: unboundVal, def: d}, label.BottomID)
	}
	hidden("<same>", "x", func(t *thread, c *call) val { return c.args[0] })
	hidden(syntax.Struct, "...", runStruct)
	hidden(syntax.List, "...", func(t *thread, c *call) val {
		items, l := t.gathered(c, "list")
		return listVal(&list{items: items, st: l}, t.pc)
	})
	hidden(syntax.Tuple, "...", func(t *thread, c *call) val {
		items, l := t.gathered(c, "tuple")
		return tupleVal(items, l)
	})
	hidden(syntax.Set, "...", func(t *thread, c *call) val {
		t.alloc(dictSize)
		d := &dict{st: t.shallow(c)}
		for _, v := range c.args {
			t.wantIterable(v, "set")
			t.addAll(d, v)
		}
		return setVal(d, t.pc)
	})
	hidden(syntax.Dict, "...", func(t *thread, c *call) val { return t.united(c, false) })
	hidden(syntax.Keywords, "...", func(t *thread, c *call) val { return t.united(c, true) })
	hidden(syntax.Unpack, "x, before, after", func(t *thread, c *call) val {
		return t.unpacked(c.args[0], int(c.args[1].n), int(c.args[2].n))
	})
	hidden(syntax.UnpackEach, "x, before, after", func(t *thread, c *call) val {
		v := c.args[0]
		t.wantIterable(v, "for")
		items := t.elements(v)
		l := t.shallow(c)
		t.alloc(listSize)
		for i, e := range items {
			items[i] = t.unpacked(e.with(t.join(e.lab, l)), int(c.args[1].n), int(c.args[2].n))
		}
		return listVal(&list{items: items, st: l}, t.pc)
	})
	hidden(syntax.Copies, "x, n", func(t *thread, c *call) val {
		n := c.args[1].n
		t.alloc(tupleSize + blockSize(n*valSize))
		items := make([]val, n)
		for i := range items {
			items[i] = c.args[0]
		}
		return tupleVal(items, t.pc)
	})
	hidden(syntax.Delete, "x, key", func(t *thread, c *call) val {
		t.deleteIndex(c)
		return noneVal(t.pc)
	})
}

func (t *thread) wantIterable(v val, where string) {
	if !t.iterable(v) {
		panic(t.errorf(t.join(v.lab, t.structure(v)), "not-iterable", "%s: got %s, want iterable", where, v.typeName()).advise(notIterableHint(v)))
	}
}

// gathered returns the elements of all arguments, each with its own label, and the label of how many there are.
func (t *thread) gathered(c *call, where string) ([]val, label.ID) {
	n := int64(0)
	for _, v := range c.args {
		t.wantIterable(v, where)
		n += t.counted(v)
	}
	t.allocN(n, valSize)
	t.alloc(listSize)
	out := make([]val, 0, n)
	for _, v := range c.args {
		out = append(out, t.elements(v)...)
	}
	return out, t.shallow(c)
}

// united returns a dict of the entries of all arguments.
func (t *thread) united(c *call, distinct bool) val {
	t.alloc(dictSize)
	d := &dict{st: t.pc}
	out := dictVal(d, t.pc)
	for _, v := range c.args {
		if v.k != kDict {
			panic(t.errorf(t.shallow(c), "not-mapping", "argument after ** must be a mapping, not %s", v.typeName()))
		}
		before := d.live
		t.update(out, v)
		if distinct && d.live != before+v.dict().live {
			panic(t.errorf(t.allOf(c), "arguments", "a keyword argument is there more than once"))
		}
	}
	return out
}

// unpacked returns the tuple that an assignment with a star takes apart.
func (t *thread) unpacked(v val, before, after int) val {
	l := t.join(v.lab, t.structure(v))
	if !t.iterable(v) {
		panic(t.errorf(l, "not-iterable", "got %s in sequence assignment", v.typeName()))
	}
	n := t.counted(v)
	if n < int64(before+after) {
		panic(t.errorf(l, "unpack", "too few values to unpack (got %d, want at least %d)", n, before+after))
	}
	items := t.elements(v)
	for i := range items {
		items[i].lab = t.join(items[i].lab, l)
	}
	middle := len(items) - before - after
	t.alloc(tupleSize + listSize + blockSize(int64(before+after+1)*valSize) + blockSize(int64(middle)*valSize))
	rest := make([]val, middle)
	t.move(rest, items[before:before+middle])
	out := make([]val, 0, before+after+1)
	out = append(out, items[:before]...)
	out = append(out, listVal(&list{items: rest, st: l}, l))
	out = append(out, items[before+middle:]...)
	return tupleVal(out, l)
}

// deleteIndex executes del x[key].
func (t *thread) deleteIndex(c *call) {
	x, y := c.args[0], c.args[1]
	l := t.join(t.join(x.lab, y.lab), t.structure(x))
	switch x.k {
	case kDict:
		d := x.dict()
		kl := t.tab.Control(t.deepLabel(y))
		h := t.hash(y.with(l))
		t.mutable(d.iters, "delete from", x.with(t.join(l, kl)), t.at)
		i := t.find(d, y, h)
		if i < 0 {
			panic(t.errorf(t.join(l, kl), "no-key", "key %s not in dict", t.short(y)).hint("d.pop(key, None) does nothing if the key is missing"))
		}
		t.write(&d.st, x.lab, t.at)
		d.st = t.join(d.st, kl)
		t.remove(d, i)
	case kList:
		o := x.list()
		n := int64(len(o.items))
		if !y.isInt() {
			panic(t.errorf(l, "type", "list index: got %s, want int", y.typeName()))
		}
		i := y.n
		if i < 0 {
			i += n
		}
		if y.k == kBig || i < 0 || i >= n {
			panic(t.errorf(l, "range", "list index %s out of range [%d:%d]", t.short(y), -n, n-1).of("IndexError"))
		}
		t.mutable(o.iters, "delete from", x.with(l), t.at)
		t.write(&o.st, x.lab, t.at)
		o.st = t.under(o.st, y.lab)
		t.charge((n - i) / 16)
		t.removeAt(o, int(i))
	default:
		panic(t.errorf(l, "type", "%s value does not support item deletion", x.typeName()))
	}
}

// runSum adds the elements of an iterable; a bool counts as 0 or 1.
func runSum(t *thread, c *call) val {
	v := t.iterableArg(c, 0)
	l := t.shallow(c)
	total := intVal(0, l)
	if c.has(1) {
		total = c.args[1].with(t.join(c.args[1].lab, l)) // whether anything is added to it depends on how much there is
	}
	if total.k == kString || total.k == kBytes {
		panic(t.badArg(c, "cannot sum strings").hint(`write "".join(xs)`))
	}
	it, _ := t.iterate(v)
	for e, ok := it.next(t); ok; e, ok = it.next(t) {
		t.charge(1)
		e.k = e.number().k
		if total.k == kInt && e.k == kInt {
			if s := total.n + e.n; (s > total.n) == (e.n > 0) {
				total = intVal(s, t.join(total.lab, e.lab))
				continue
			}
		}
		if e.k == kString {
			panic(t.badArg(c, "cannot sum strings").hint(`write "".join(xs)`))
		}
		total = t.operate(star.PLUS, total, e, t.at)
	}
	return total.with(t.join(total.lab, l))
}

// runRound rounds half to even, as Python does: to an int, or to ndigits decimals.
func runRound(t *thread, c *call) val {
	v := c.args[0].number()
	l := t.shallow(c)
	if !v.isNum() {
		panic(t.badArg(c, "got %s, want a number", v.typeName()))
	}
	if c.none(1) {
		if v.k != kFloat {
			return v.with(l)
		}
		f := v.float()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			panic(t.argError(c, "range", "cannot convert float %s to integer", formatFloat(f)).of(classOfNoInt(f)))
		}
		if f = math.RoundToEven(f); math.Abs(f) < 1<<62 {
			return intVal(int64(f), l)
		}
		i, _ := big.NewFloat(f).Int(nil)
		return t.bigResult(i, l)
	}
	digits := t.intArg(c, 1)
	if v.k == kFloat {
		return floatVal(roundFloat(v.float(), digits), l)
	}
	if digits >= 0 {
		return v.with(l)
	}
	if -digits > int64(v.bits()) {
		return intVal(0, l)
	}
	unit := t.intPower(intVal(10, l), intVal(-digits, l), l, t.at)
	t.reserveInt(int64(max(v.bits(), unit.BitLen())+1), l, t.at)
	t.charge(int64(v.bits()) / 64 * int64(unit.BitLen()) / 64 / 8)
	q, r := new(big.Int).DivMod(v.big(), unit, new(big.Int))
	if d := r.Lsh(r, 1).Cmp(unit); d > 0 || d == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(1))
	}
	return t.bigResult(q.Mul(q, unit), l)
}

// roundFloat rounds the exact value of a float to so many decimals, half to even.
func roundFloat(f float64, digits int64) float64 {
	switch {
	case f == 0 || math.IsNaN(f) || math.IsInf(f, 0) || digits > 323:
		return f
	case digits < -308:
		return math.Copysign(0, f)
	case digits >= 0:
		r, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', int(digits), 64), 64)
		return r
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(-digits), nil)
	x, _ := new(big.Float).SetFloat64(math.Abs(f)).Rat(nil)
	x.Quo(x, new(big.Rat).SetInt(unit))
	q, r := new(big.Int).QuoRem(x.Num(), x.Denom(), new(big.Int))
	if d := r.Lsh(r, 1).Cmp(x.Denom()); d > 0 || d == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(1))
	}
	r64, _ := new(big.Float).SetInt(q.Mul(q, unit)).Float64()
	return math.Copysign(r64, f)
}

// runMap is map(function, iterable, …): a list of the results.
func runMap(t *thread, c *call) val {
	if len(c.kw) > 0 || len(c.args) < 2 {
		panic(t.badArg(c, "got %d arguments, want a function and at least one iterable", len(c.args)+len(c.kw)))
	}
	l := t.shallow(c)
	rows := int64(math.MaxInt64)
	for i, v := range c.args[1:] {
		if !t.iterable(v) {
			panic(t.notIterable(c, i+1))
		}
		rows = min(rows, t.counted(v))
	}
	cols := make([]val, len(c.args)-1)
	for i, v := range c.args[1:] {
		t.alloc(listSize)
		cols[i] = listVal(&list{items: t.elements(v)}, label.BottomID)
		t.hold(cols[i])
	}
	t.alloc(listSize)
	out := &list{st: l}
	t.hold(listVal(out, label.BottomID))
	args := make([]val, len(cols))
	for r := range rows {
		t.charge(1)
		for i := range cols {
			e := cols[i].list().items[r]
			args[i] = e.with(t.join(e.lab, l))
		}
		t.append(out, t.callUnder(l, c.args[0], args...))
	}
	t.dropHeld(len(t.held) - len(cols) - 1)
	return listVal(out, t.pc)
}

// runFilter is filter(function, iterable): a list of the elements for which the function is true, or which are true themselves if it is None.
// Which they are depends on all that was looked at.
func runFilter(t *thread, c *call) val {
	v := t.iterableArg(c, 1)
	l := t.shallow(c)
	items := t.elements(v)
	t.hold(listVal(&list{items: items}, label.BottomID))
	t.alloc(listSize)
	out := &list{st: l}
	t.hold(listVal(out, label.BottomID))
	st := l
	for _, e := range items {
		t.charge(1)
		e = e.with(t.join(e.lab, l))
		test := e
		if c.args[0].k != kNone {
			test = t.callUnder(l, c.args[0], e)
		}
		st = t.join(st, t.tab.Control(t.join(test.lab, t.structure(test))))
		if t.truth(test) {
			t.append(out, e)
		}
	}
	out.st = t.join(out.st, st)
	t.dropHeld(len(t.held) - 2)
	t.deeper(c, st)
	return listVal(out, t.pc)
}

// runIsinstance is isinstance(x, type), where a type is named by the function that makes its values, or a tuple of such.
func runIsinstance(t *thread, c *call) val {
	l := t.shallow(c)
	types := []val{c.args[1]}
	if c.args[1].k == kTuple {
		types = c.args[1].tuple().items
	}
	found := false
	for _, want := range types {
		t.charge(1)
		l = t.join(l, want.lab)
		name := ""
		if want.k == kBuiltin && want.builtin().recv.k == kUnbound {
			name = want.builtin().name
		}
		if of := typeOf(want); of != nil {
			found = found || ofClass(c.args[0]) == namedTuple && c.args[0].object().of == of
			continue
		}
		if want.k == kBuiltin && want.builtin().def.of != nil {
			found = found || want.builtin().def.of(c.args[0])
			continue
		}
		if class := classNamed(want); class != "" {
			v := c.args[0]
			found = found || v.isError() && isKind(v.errorClass(), class)
			continue
		}
		match, ok := instances[name]
		if !ok || universe[name].p != want.p {
			panic(t.argError(c, "type", "got %s, want a type: int, float, bool, str, bytes, list, tuple, dict or set, or a tuple of them", t.short(want)))
		}
		k := c.args[0].k
		if tupleLike(c.args[0]) {
			k = kTuple
		}
		found = found || match(k)
	}
	return boolVal(found, l)
}

// instances says by the name of a type which values are of it. A bool is an int, as in Python.
var instances = map[string]func(k kind) bool{
	"int":   func(k kind) bool { return k == kInt || k == kBig || k == kBool },
	"float": func(k kind) bool { return k == kFloat },
	"bool":  func(k kind) bool { return k == kBool },
	"str":   func(k kind) bool { return k == kString },
	"bytes": func(k kind) bool { return k == kBytes },
	"list":  func(k kind) bool { return k == kList },
	"tuple": func(k kind) bool { return k == kTuple },
	"dict":  func(k kind) bool { return k == kDict },
	"set":   func(k kind) bool { return k == kSet },
}
