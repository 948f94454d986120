package eval

import (
	"math/big"

	"go.starlark.net/resolve"
	star "go.starlark.net/syntax"

	"callgate/engine/label"
)

// The functions that make values are Python's types as well: what models ask of a type is here.

// typeFuncs are the types by the names of their functions: the kind of their values, and what type says of one.
var typeFuncs = map[string]struct {
	k    kind
	text string
}{
	"bool": {kBool, "bool"}, "int": {kInt, "int"}, "float": {kFloat, "float"}, "str": {kString, "string"}, "bytes": {kBytes, "bytes"},
	"list": {kList, "list"}, "tuple": {kTuple, "tuple"}, "dict": {kDict, "dict"}, "set": {kSet, "set"},
}

// typeAttrs are the methods of a type that are read from its function, as in map(str.strip, xs).
var typeAttrs = map[*builtin]map[string]val{}

// addTypeNames adds them: each is a function whose first argument is the value. Policies decide on it as on the method.
func addTypeNames() {
	for name, typ := range typeFuncs {
		attrs := map[string]val{}
		add := func(m string, d *builtinDef) {
			v := builtinVal(&builtin{name: m, recv: unboundVal, def: d}, label.BottomID)
			attrs[m] = v
			universe["<"+name+"."+m+">"] = v // a snapshot finds it by this name
		}
		for _, m := range methodsOf[typ.k] {
			b := methods[m][typ.k]
			add(m, &builtinDef{name: m, variadic: true, index: b.def.index, run: unboundMethod(typ.k, b), inplace: b.def.inplace})
		}
		if name == "dict" {
			add("fromkeys", def("dict.fromkeys", "iterable, value?", runFromKeys))
		}
		typeAttrs[universe[name].builtin()] = attrs
	}
	addFunc("hex", "x", radix(16, "0x"))
	addFunc("oct", "x", radix(8, "0o"))
	addFunc("bin", "x", radix(2, "0b"))
	universe["__name__"] = stringVal("__main__", label.BottomID)
}

// unboundMethod calls a method of its first argument.
func unboundMethod(k kind, b *builtin) native {
	return func(t *thread, c *call) val {
		if len(c.args) == 0 || c.args[0].k != k {
			got := "nothing"
			if len(c.args) > 0 {
				got = c.args[0].typeName()
			}
			panic(t.badArg(c, "got %s, want a %s first", got, k.typeName()))
		}
		recv := c.args[0]
		return t.native(b, recv, recv.lab, c.args[1:], c.kw, c.star, t.at)
	}
}

// runFromKeys is dict.fromkeys: a dict with the elements of an iterable as keys, all of one value.
func runFromKeys(t *thread, c *call) val {
	v := t.iterableArg(c, 0)
	t.alloc(dictSize)
	l := t.shallow(c)
	d := &dict{st: l}
	t.hold(dictVal(d, t.pc))
	value := noneVal(t.pc)
	if c.has(1) {
		value = c.args[1]
	}
	t.lock(v)
	it, _ := t.iterate(v)
	for e, ok := it.next(t); ok; e, ok = it.next(t) {
		t.charge(1)
		e = e.with(t.join(e.lab, l))
		h := t.hash(e)
		kl := t.keyLab(e)
		d.st = t.join(d.st, kl)
		t.put(d, e, h, value.with(t.join(value.lab, kl)))
	}
	t.unlock()
	t.release()
	return dictVal(d, t.pc)
}

// radix returns the function that writes an int in a base, with the prefix of its literals.
func radix(base int, prefix string) native {
	return func(t *thread, c *call) val {
		v := c.args[0]
		if !v.isInt() && v.k != kBool {
			panic(t.badArg(c, "got %s, want int", v.typeName()))
		}
		x := big.NewInt(v.n)
		if v.k == kBig {
			x = v.bigInt()
		}
		bits := int64(x.BitLen())
		t.charge(bits / 16)
		t.alloc(2 * stringSize(bits+4))
		text := prefix + new(big.Int).Abs(x).Text(base)
		if x.Sign() < 0 {
			text = "-" + text
		}
		return stringVal(text, t.shallow(c))
	}
}

// universal returns the name of an expression that is one of the universe's, or "".
func universal(e star.Expr) string {
	if id, ok := unparen(e).(*star.Ident); ok {
		if b, ok := id.Binding.(*resolve.Binding); ok && b.Scope == resolve.Universal {
			return id.Name
		}
	}
	return ""
}

// isTypeOf reports whether an expression is type(x).
func isTypeOf(e star.Expr) bool {
	switch e := unparen(e).(type) {
	case *star.CallExpr:
		return len(e.Args) == 1 && universal(e.Fn) == "type"
	case *star.DotExpr:
		return e.Name.Name == "__class__"
	}
	return false
}

// withTypes returns a comparison with what type(x) is compared with as text.
func withTypes(e *star.BinaryExpr) *star.BinaryExpr {
	x, y := e.X, typeTest(e.X, e.Y)
	if e.Op == star.EQL || e.Op == star.NEQ {
		x = typeTest(e.Y, e.X)
	}
	if x == e.X && y == e.Y {
		return e
	}
	return &star.BinaryExpr{X: x, OpPos: e.OpPos, Op: e.Op, Y: y}
}

// typeTest returns what type(x) is compared with in the place of a type, or of a display of types: what type says of its values. Of
// anything else it returns the expression itself.
func typeTest(other, e star.Expr) star.Expr {
	if !isTypeOf(other) {
		return e
	}
	switch x := unparen(e).(type) {
	case *star.TupleExpr:
		return &star.TupleExpr{Lparen: x.Lparen, Rparen: x.Rparen, List: typeTests(other, x.List)}
	case *star.ListExpr:
		return &star.ListExpr{Lbrack: x.Lbrack, Rbrack: x.Rbrack, List: typeTests(other, x.List)}
	}
	typ, ok := typeFuncs[universal(e)]
	if name := universal(e); !ok && errorClasses[name] != "" {
		typ.text, ok = name, true
	}
	if !ok {
		return e
	}
	pos, _ := e.Span()
	return &star.Literal{Token: star.STRING, TokenPos: pos, Raw: `"` + typ.text + `"`, Value: typ.text}
}

func typeTests(other star.Expr, list []star.Expr) []star.Expr {
	out := make([]star.Expr, len(list))
	for i, e := range list {
		out[i] = typeTest(other, e)
	}
	return out
}

// pythonTypeName is what Python calls the type that type names so.
func pythonTypeName(name string) string {
	if name == "string" {
		return "str"
	}
	return name
}

// functionName is the name that a function was defined with.
func functionName(v val) string {
	if v.k == kBuiltin {
		return v.builtin().name
	}
	if name := v.fn().code.name; name != "lambda" {
		return name
	}
	return "<lambda>"
}
