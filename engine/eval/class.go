package eval

import (
	"slices"

	star "go.starlark.net/syntax"

	"callgate/engine/label"
)

// class is a type that a module has: of objects, or of dicts that are particular. Its functions are nil where it is like all others.
type class struct {
	name    string
	methods map[string]*builtin
	fields  map[string]func(t *thread, v val) val // what can be read with a point, without a label
	names   []string                              // of both, sorted

	named  func(v val) string // the name of the type, if each value has its own
	repr   func(w *textWriter, v val)
	text   func(v val) string                             // what str gives, if that is something else
	format func(w *textWriter, v val, spec string, p pos) // under a specification that is not empty
	truth  func(v val) bool
	equal  func(t *thread, a, b val) bool                       // of two values of the class; else they are equal if they are one
	order  func(t *thread, a, b val) (c int, ok bool)           // of two values of the class
	hash   func(t *thread, v val) uint64                        // of what is equal it is equal
	binary func(t *thread, op star.Token, a, b val) (val, bool) // either is of the class; the result has no label
	index  func(t *thread, x, y val, p pos) val                 // x[y], under the label of both
	check  func(o *object) bool                                 // whether an object that was read from a snapshot can be one
	parts  bool                                                 // its elements are those of a tuple: they are iterated over and compared
}

// object is an immutable value of a class.
type object struct {
	tuple // what it is made of. It comes first: walks over data take an object for a tuple.
	class *class
	n     int64
	of    *object // its type, if programs make types of the class
	re    *regex  // of a compiled regular expression
}

// dictOf is what is particular about a dict.
type dictOf struct {
	class   *class
	factory val // of a defaultdict: what makes the value of a key that is missing
}

// ofTool is of a dict that came from a tool: programs may write d.key for d["key"].
var ofTool = &dictOf{class: &class{name: "dict"}}

// classes are those that a snapshot can name.
var classes = map[string]*class{}

// addClass makes a class.
func addClass(name string) *class {
	c := &class{name: name, methods: map[string]*builtin{}, fields: map[string]func(*thread, val) val{}}
	classes[name] = c
	return c
}

// method adds a method.
func (c *class) method(name, params string, run native) {
	d := def(c.name+"."+name, params, run)
	d.name, d.inplace = name, mutators[name]
	c.methods[name] = &builtin{name: name, recv: unboundVal, def: d}
	c.listed(name)
	if !alsoTools[name] {
		methodNames[name] = true
	}
}

// alsoTools are names of methods that tools have as well, or that call functions of the program: such a call may reach the host.
var alsoTools = map[string]bool{"search": true, "match": true, "sub": true, "subn": true, "date": true, "time": true, "total": true}

// field adds a field.
func (c *class) field(name string, get func(t *thread, v val) val) {
	c.fields[name] = get
	c.listed(name)
}

func (c *class) listed(name string) {
	if name[0] == '<' { // no program can spell it
		return
	}
	i, _ := slices.BinarySearch(c.names, name)
	c.names = slices.Insert(c.names, i, name)
}

func (c *class) typeName(v val) string {
	if c.named != nil {
		return c.named(v)
	}
	return c.name
}

// ofClass returns the class of a value, nil of most.
func ofClass(v val) *class {
	switch v.k {
	case kObject:
		return v.object().class
	case kDict:
		if of := v.dict().of; of != nil {
			return of.class
		}
	}
	return nil
}

// methodOf returns a method of a value, or nil.
func methodOf(v val, name string) *builtin {
	if c := ofClass(v); c != nil {
		if b := c.methods[name]; b != nil {
			return b
		}
	}
	return methodsNamed(name)[v.k]
}

// namesOf returns the names of a value's methods and fields, sorted.
func namesOf(v val) []string {
	switch c := ofClass(v); {
	case v.k == kModule:
		return v.module().names()
	case v.isError():
		return v.record().names[1:]
	case v.k == kStruct:
		return v.record().names
	case v.k == kBuiltin && v.builtin().def.attrs != nil:
		return v.builtin().def.attrs.names()
	case c == nil:
		return methodNamesOf(v.k)
	case c.parts:
		return slices.Sorted(slices.Values(append(fieldsOf(v.object().of), c.names...)))
	case len(c.names) > 0:
		return slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(methodNamesOf(v.k)), c.names...))))
	default:
		return methodNamesOf(v.k)
	}
}

// formats reports whether a value is formatted under specifications of its own.
func formats(v val) bool { return v.k == kObject && v.object().class.format != nil }

// ownField returns a field that a class, or a function that is a class to programs, has under a name. It has no label.
func (t *thread) ownField(v val, name string) (val, bool) {
	if c := ofClass(v); c != nil && c.fields[name] != nil {
		return c.fields[name](t, v), true
	}
	switch v.k {
	case kDeque:
		if name == "maxlen" {
			if most := v.deque().most; most >= 0 {
				return intVal(most, v.deque().st), true
			}
			return noneVal(v.deque().st), true
		}
	case kObject:
		o := v.object()
		if o.class.parts {
			if i := slices.Index(fieldsOf(o.of), name); i >= 0 {
				return o.items[i], true
			}
		}
	case kBuiltin:
		if of := typeOf(v); of != nil {
			switch name {
			case "_fields":
				return t.namedFields(of), true
			case "_make":
				t.alloc(builtinSize)
				return builtinVal(&builtin{name: name, recv: v.builtin().recv, def: namedType.methods[name].def}, label.BottomID), true
			}
		}
		if m := v.builtin().def.attrs; m != nil {
			a, ok := m.attrs[name]
			if a.k == kObject { // walks mark objects, and sessions share this one
				o := a.object()
				a = t.newObject(o.class, o.n, label.BottomID)
			}
			return a, ok
		}
	}
	return val{}, false
}

// newObject makes an object.
func (t *thread) newObject(c *class, n int64, l label.ID, items ...val) val {
	t.alloc(objectSize + blockSize(int64(len(items))*valSize))
	return objectVal(&object{tuple: tuple{items: items}, class: c, n: n}, l)
}

// equalObjects reports whether two values of one of the kinds of modules are equal.
func (t *thread) equalObjects(a, b val) bool {
	x, y := a.object(), b.object()
	if x == y {
		return true
	}
	return x.class == y.class && x.class.equal != nil && x.class.equal(t, a, b)
}

func (t *thread) hashObject(v val, depth int, root val) uint64 {
	o := v.object()
	switch {
	case o.class.parts:
		return t.hashSlow(asTuple(v), depth, root)
	case o.class.hash == nil:
		return mix(uint64(uintptr(v.p)))
	}
	return o.class.hash(t, v)
}

// particular evaluates an operation that classes define.
func (t *thread) particular(op star.Token, a, b val, l label.ID) (val, bool) {
	x, y := ofClass(a), ofClass(b)
	for _, c := range []*class{x, y} {
		if c != nil && c.binary != nil {
			if v, ok := c.binary(t, op, a, b); ok {
				return v.with(t.join(v.lab, l)), true
			}
		}
	}
	return val{}, false
}

// The sizes of objects, as Go allocates them.
const (
	objectSize = 80
	dictOfSize = 32
	dequeSize  = 80
)
