package eval

import (
	"slices"
	"strings"
	"unicode"

	"callgate/engine/label"
)

// A type of named tuples is an object, of its name, the names of n fields, and defaults for the last of them. What programs have of
// it is the builtin that makes values of it.
var (
	namedType  = addClass("type")
	namedTuple = addClass("namedtuple")
)

// makeNamed is the name of that builtin, as a method of the type. No program can spell it.
const makeNamed = "<new>"

// asTuple is an object whose elements are those of a tuple as that tuple.
func asTuple(v val) val {
	v.k = kTuple
	return v
}

// typeOf returns the type that a builtin makes values of, or nil.
func typeOf(v val) *object {
	if v.k != kBuiltin || ofClass(v.builtin().recv) != namedType || v.builtin().name != makeNamed {
		return nil
	}
	return v.builtin().recv.object()
}

// fieldsOf returns the names of a type's fields.
func fieldsOf(of *object) []string {
	out := make([]string, 0, of.n)
	for _, f := range of.items[1 : 1+of.n] {
		out = append(out, f.str())
	}
	return out
}

func addNamedTuple() {
	namedType.method(makeNamed, "...", func(t *thread, c *call) val { return t.newNamed(c, c.recv.object(), c.args, c.kw) })
	namedType.method("_make", "iterable", func(t *thread, c *call) val {
		from := t.iterableArg(c, 0)
		l := t.shallow(c)
		return t.newNamed(c, c.recv.object(), t.elements(from), nil).with(l)
	})
	namedType.check = func(o *object) bool {
		if int64(len(o.items)) < 1+o.n || int64(len(o.items)) > 1+2*o.n || o.n < 0 {
			return false
		}
		for _, v := range o.items[:1+o.n] {
			if v.k != kString {
				return false
			}
		}
		return true
	}
	n := namedTuple
	n.parts = true
	n.named = func(v val) string { return v.object().of.items[0].str() }
	n.check = func(o *object) bool {
		return o.of != nil && o.of.class == namedType && int64(len(o.items)) == o.of.n
	}
	n.truth = func(v val) bool { return len(v.object().items) > 0 }
	n.repr = func(w *textWriter, v val) {
		o := v.object()
		w.put(o.of.items[0].str())
		w.put("(")
		for i, e := range o.items {
			if i > 0 {
				w.put(", ")
			}
			w.put(o.of.items[1+i].str())
			w.put("=")
			w.write(e)
		}
		w.put(")")
	}
	n.field("_fields", func(t *thread, v val) val { return t.namedFields(v.object().of) })
	n.method("_asdict", "", func(t *thread, c *call) val {
		o := c.recv.object()
		t.alloc(dictSize)
		d := &dict{st: t.shallow(c)}
		out := dictVal(d, t.pc)
		for i, e := range o.items {
			k := o.of.items[1+i]
			t.put(d, k, t.hash(k), e)
		}
		return out
	})
	n.method("_replace", "...", func(t *thread, c *call) val {
		if len(c.args) > 0 {
			panic(t.badArg(c, "unexpected positional arguments"))
		}
		o := c.recv.object()
		items := t.elements(c.recv)
		for _, a := range c.kw {
			i := slices.Index(fieldsOf(o.of), a.name)
			if i < 0 {
				panic(t.badArg(c, "there is no field %s%s", clip(a.name), nearest(a.name, fieldsOf(o.of))))
			}
			items[i] = a.v
		}
		return t.named(o.of, items, c.recv.lab)
	})
	n.method("index", "x", func(t *thread, c *call) val {
		i, l := t.findItem(c)
		if i < 0 {
			panic(t.argError(c, "not-found", "value not in tuple"))
		}
		return intVal(int64(i), l)
	})
	n.method("count", "x", func(t *thread, c *call) val {
		l, n := t.shallow(c), int64(0)
		for _, e := range c.recv.tuple().items {
			t.charge(1)
			l = t.join(l, e.lab)
			if t.equal(e, c.args[0], &l, 0) {
				n++
			}
		}
		return intVal(n, l)
	})
}

// findItem looks for the argument in the receiver.
func (t *thread) findItem(c *call) (int, label.ID) {
	l := t.shallow(c)
	for i, e := range c.recv.tuple().items {
		t.charge(1)
		l = t.join(l, e.lab)
		if t.equal(e, c.args[0], &l, 0) {
			return i, l
		}
	}
	return -1, l
}

func (t *thread) named(of *object, items []val, l label.ID) val {
	t.alloc(objectSize)
	return objectVal(&object{tuple: tuple{items: items}, class: namedTuple, of: of}, l)
}

func (t *thread) namedFields(of *object) val {
	t.alloc(tupleSize + blockSize(of.n*valSize))
	return tupleVal(slices.Clone(of.items[1:1+of.n]), label.BottomID)
}

// newNamed makes a value of a type.
func (t *thread) newNamed(c *call, of *object, args []val, kw []kwarg) val {
	name, n := of.items[0].str(), int(of.n)
	if len(args) > n {
		panic(t.argError(c, "arguments", "%s: got %d arguments, want %d", clip(name), len(args), n))
	}
	t.alloc(blockSize(int64(n) * valSize))
	t.charge(int64(n))
	items := make([]val, n)
	copy(items, args)
	for _, a := range kw {
		t.charge(int64(n) / 4)
		i := slices.IndexFunc(of.items[1:1+n], func(f val) bool { return f.str() == a.name })
		switch {
		case i < 0:
			panic(t.argError(c, "arguments", "%s: unexpected keyword argument %s%s", clip(name), clip(a.name), nearest(a.name, fieldsOf(of))))
		case items[i].k != kUnbound:
			panic(t.argError(c, "arguments", "%s: got multiple values for argument %s", clip(name), clip(a.name)))
		}
		items[i] = a.v
	}
	defaults := of.items[1+n:]
	for i := range items {
		if items[i].k != kUnbound {
			continue
		}
		at := i - (n - len(defaults))
		if at < 0 {
			panic(t.argError(c, "arguments", "%s: missing argument for %s", clip(name), clip(of.items[1+i].str())))
		}
		items[i] = defaults[at]
	}
	return t.named(of, items, t.pc)
}

// isName reports whether a field may have a name.
func isName(s string) bool {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return s != ""
}

// runNamedTuple is namedtuple(typename, field_names, defaults = …).
func runNamedTuple(t *thread, c *call) val {
	l := t.allOf(c)
	t.deeper(c, l)
	items := []val{stringVal(c.wantString(t, 0), l)}
	if c.args[1].k == kString {
		s := c.args[1].str()
		t.charge(int64(len(s)) / 4)
		t.alloc(int64(len(s)) * valSize)
		for _, f := range strings.Fields(strings.ReplaceAll(s, ",", " ")) {
			items = append(items, stringVal(t.copied(f), l))
		}
	} else {
		items = append(items, t.elements(t.iterableArg(c, 1))...)
	}
	n := len(items) - 1
	if n > 255 {
		panic(t.argError(c, "too-large", "got %d fields, want at most 255", n))
	}
	for i, f := range items {
		switch {
		case f.k != kString:
			panic(t.badArg(c, "got %s as a name, want string", f.typeName()))
		case !isName(f.str()) || i > 0 && f.str()[0] == '_':
			panic(t.argError(c, "argument", "got %s, want a name that begins with a letter", t.short(f)))
		case slices.ContainsFunc(items[1:max(i, 1)], func(g val) bool { return g.k == kString && g.str() == f.str() }):
			panic(t.argError(c, "argument", "got the field %s twice", f.str()))
		}
		items[i] = f.with(l)
	}
	if !c.none(2) {
		defaults := t.elements(t.iterableArg(c, 2))
		if len(defaults) > n {
			panic(t.argError(c, "argument", "got %d defaults for %d fields", len(defaults), n))
		}
		items = append(items, defaults...)
	}
	t.alloc(builtinSize)
	of := t.newObject(namedType, int64(n), l, append(make([]val, 0, len(items)), items...)...)
	return builtinVal(&builtin{name: makeNamed, recv: of, def: namedType.methods[makeNamed].def}, l)
}
