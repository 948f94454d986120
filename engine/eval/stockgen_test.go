package eval

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// stockGen makes random programs without labels, for this evaluator and that of go.starlark.net. They are
// well-formed, use what both have, and often fail: in some of them, an operand in ten is of any kind.
type stockGen struct {
	*rand.Rand
	names []stockName // so far
	left  int         // expressions that may still be made
	fn    bool        // in a function
	loop  bool        // in a loop
	n     int         // names made
	wrong int         // one operand in so many is of any kind
}

// stockName is a name, and the kind that it has most often.
type stockName struct {
	name string
	kind byte
}

func (g *stockGen) pick(xs ...string) string { return xs[g.IntN(len(xs))] }

// few returns n elements, at most max, separated by commas.
func (g *stockGen) few(most int, f func() string) string {
	var out []string
	for range g.IntN(most + 1) {
		out = append(out, f())
	}
	return strings.Join(out, ", ")
}

// stockKinds are what value makes, by the letter that signatures use: i int, f float, s string, b bool, y bytes,
// n None, l list, t tuple, d dict, e set, r range, q lazy sequence, u struct, c function; x any, v iterable, h hashable, o number.
const stockKinds = "iiiiffsssbynllltddderqucx"

var (
	stockInts = []string{"0", "1", "2", "3", "-1", "-2", "7", "10", "255", "256", "2147483647", "-2147483648", "2147483648", "4294967296", "9007199254740993",
		"9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551616", "-36893488147419103232", "100000000000000000000000", "0x7f", "(1 << 100)"}
	stockFloats = []string{"0.0", "1.0", "-1.5", "0.5", "2.5", "3.0", "1e6", "1e16", "123456789.0", "1e-7", "1e100", "1e308", "-0.0", "9007199254740992.0", "9.3e18",
		`float("inf")`, `float("-inf")`, `float("nan")`}
	stockStrings = []string{`""`, `"a"`, `"b"`, `"abc"`, `"aXbX"`, `"a b  c"`, `" x\t\n"`, `"é"`, `"日本"`, `"😿!"`, `"12"`, `"-7"`, `"0x1f"`, `"1.5"`, `"1e3"`, `"a\nb\nc"`, `"\x00\x7f\""`, `"%s-%d"`, `"{}{x}"`, `"%"`, `"ABC"`, `"Title Case"`, `"[1, {\"a\": null}]"`}
	stockBytes   = []string{`b""`, `b"a"`, `b"abc"`, `b"\xff\x00"`, `b"\xc3\xa9"`}
)

// calls are functions and methods with the kinds of their arguments: "name:args"; a method has a receiver first.
var (
	stockFuncs = strings.Fields(`abs:o any:v all:v bool:x bool: bytes:s bytes:y bytes:v chr:i dict: dict:d dict:l enumerate:v enumerate:vi float:x float:s float: fail:x getattr:us
		hasattr:xs getattr:xsx hash:s int:x int:s int:si len:x list:v list: max:v max:xx max:ooo min:v min:oo ord:s ord:y range:i range:ii range:iii repr:x reversed:v set:v set: sorted:v sorted:l str:x
		tuple:v tuple: type:x zip:vv zip:v zip: zip:vvv json.encode:x json.decode:s json.decode:sx json.encode_indent:x json.indent:s sorted:t print:x print:xs`)
	stockMethods = map[byte][]string{
		's': strings.Fields(`capitalize: codepoint_ords: codepoints: count:s count:si count:sii elem_ords: elems: endswith:s endswith:t endswith:si find:s find:sii format:x format:xx format:
			index:s index:si isalnum: isalpha: isdigit: islower: isspace: istitle: isupper: join:v join:l lower: lstrip: lstrip:s partition:s removeprefix:s removesuffix:s replace:ss replace:ssi rfind:s rindex:s
			rpartition:s rsplit: rsplit:s rsplit:si rstrip: split: split:s split:si split:ni splitlines: splitlines:b startswith:s startswith:t strip: strip:s title: upper:`),
		'l': strings.Fields(`append:x clear: extend:v index:x index:xi index:xii insert:ix pop: pop:i remove:x`),
		'd': strings.Fields(`clear: get:h get:hx items: keys: pop:h pop:hx popitem: setdefault:h setdefault:hx update:d update:l values:`),
		'e': strings.Fields(`add:h clear: difference:v discard:h intersection:v issubset:v issuperset:v pop: remove:h union:v union:vv update:v`),
		'y': strings.Fields(`elems:`),
	}
)

// value is an expression, most often of the kind asked for.
func (g *stockGen) value(kind byte) string {
	g.left--
	if g.IntN(g.wrong) == 0 {
		kind = 'x'
	}
	if name := g.name(kind); name != "" && g.IntN(3) == 0 {
		return name
	}
	if g.left > 0 && g.IntN(3) > 0 {
		return g.compound(kind)
	}
	return g.atom(kind)
}

// name returns a name of a kind, "" if there is none.
func (g *stockGen) name(kind byte) string {
	if len(g.names) > 0 && g.IntN(g.wrong) == 0 {
		return g.names[g.IntN(len(g.names))].name
	}
	fits := func(k byte) bool {
		switch kind {
		case 'x':
			return true
		case 'o':
			return k == 'i' || k == 'f'
		case 'v':
			return k == 'l' || k == 't' || k == 'd' || k == 'e' || k == 'r' || k == 'q'
		}
		return k == kind
	}
	var all []string
	for _, b := range g.names {
		if fits(b.kind) {
			all = append(all, b.name)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return g.pick(all...)
}

// operand is a value that a point may follow.
func (g *stockGen) operand(kind byte) string {
	x := g.value(kind)
	if x[0] == '-' || x[0] >= '0' && x[0] <= '9' {
		return "(" + x + ")"
	}
	return x
}

func (g *stockGen) atom(kind byte) string {
	switch kind {
	case 'i':
		if g.IntN(2) == 0 {
			return strconv.Itoa(g.IntN(5) - 1)
		}
		return stockInts[g.IntN(len(stockInts))]
	case 'f':
		return stockFloats[g.IntN(len(stockFloats))]
	case 'o':
		return g.atom(g.pick("i", "f", "i")[0])
	case 's':
		return stockStrings[g.IntN(len(stockStrings))]
	case 'b':
		return g.pick("True", "False")
	case 'y':
		return stockBytes[g.IntN(len(stockBytes))]
	case 'n':
		return "None"
	case 'l', 'v':
		return "[" + g.few(3, g.element) + "]"
	case 't':
		if list := g.few(3, g.element); list != "" {
			return "(" + list + ",)"
		}
		return "()"
	case 'd':
		return "{" + g.few(3, func() string { return g.hashable() + ": " + g.element() }) + "}"
	case 'e':
		return "set([" + g.few(4, g.hashable) + "])"
	case 'r':
		return g.pick("range(3)", "range(0)", "range(1, 10, 3)", "range(5, -2, -2)", "range(2, 4)")
	case 'q':
		return g.atom('s') + g.pick(".elems()", ".codepoints()", ".elem_ords()", ".codepoint_ords()")
	case 'u':
		return g.pick("struct()", "struct(a = 1)", `struct(a = "x", b = [1])`, "struct(b = 2, a = 1)")
	case 'c':
		return g.pick("len", "str", "(lambda z: z)", "(lambda: 1)", "(lambda z: -z)", "type", "(lambda *a, **k: (a, k))", "[].append")
	case 'h':
		return g.hashable()
	}
	return g.atom(stockKinds[g.IntN(len(stockKinds)-1)])
}

func (g *stockGen) element() string { return g.value(g.pick("i", "s", "f", "x", "l", "t")[0]) }
func (g *stockGen) hashable() string {
	return g.atom(g.pick("i", "s", "s", "f", "b", "n", "y", "t")[0])
}

// compound is an operation, a call, or a display.
func (g *stockGen) compound(kind byte) string {
	if g.IntN(g.wrong) < 2 {
		return g.other()
	}
	switch kind {
	case 'i', 'o', 'f':
		switch g.IntN(9) {
		case 0:
			return g.pick("-", "+", "~", "-") + "(" + g.value(kind) + ")"
		case 1:
			return "len(" + g.value(g.pick("s", "l", "t", "d", "e", "r")[0]) + ")"
		case 2:
			return "(" + g.value('i') + g.pick(" & ", " | ", " ^ ", " << ", " >> ") + g.value('i') + ")"
		case 3:
			return g.pick("int", "float", "abs") + "(" + g.value(g.pick("o", "s", "o")[0]) + ")"
		}
		return "(" + g.value('o') + g.pick(" + ", " - ", " * ", " // ", " % ", " / ", " + ") + g.value('o') + ")"
	case 's':
		switch g.IntN(8) {
		case 0:
			return "(" + g.value('s') + " + " + g.value('s') + ")"
		case 1:
			return "(" + g.value('s') + " % " + g.value(g.pick("t", "s", "x", "d", "i")[0]) + ")"
		case 2:
			return g.pick("str", "repr", "type") + "(" + g.value('x') + ")"
		case 3:
			return g.value('s') + g.slice()
		case 4:
			return "(" + g.value('s') + " * " + g.pick("2", "3", "0", "-1") + ")"
		case 5:
			return "(" + g.pick(`"%d"`, `"%s"`, `"%r"`, `"%x"`, `"%o"`, `"%f"`, `"%g"`, `"%e"`, `"%c"`, `"<%s|%r>"`, `"%i%%"`, `"%(a)s"`) + " % " + g.value(g.pick("t", "i", "f", "s", "d", "x")[0]) + ")"
		}
		return g.method('s')
	case 'b':
		switch g.IntN(5) {
		case 0:
			return "(not " + g.value('x') + ")"
		case 1:
			return "(" + g.value('x') + g.pick(" in ", " not in ") + g.value(g.pick("l", "t", "d", "s", "e", "r", "y")[0]) + ")"
		case 2:
			k := stockKinds[g.IntN(len(stockKinds))]
			return "(" + g.value(k) + g.pick(" == ", " != ", " < ", " <= ", " > ", " >= ") + g.value(k) + ")"
		case 3:
			return "(" + g.value('o') + g.pick(" == ", " != ", " < ", " <= ", " > ", " >= ") + g.value('o') + ")"
		}
		return "bool(" + g.value('x') + ")"
	case 'l', 'v', 't':
		switch g.IntN(8) {
		case 0:
			return "(" + g.value(kind) + " + " + g.value(kind) + ")"
		case 1:
			return g.value(kind) + g.slice()
		case 2:
			return "(" + g.value(kind) + " * " + g.pick("2", "0", "-1", "3") + ")"
		case 3:
			return g.pick("sorted", "list", "reversed", "enumerate", "zip", "tuple") + "(" + g.value('v') + ")"
		case 4, 5:
			return "[" + g.comprehension(g.element) + "]"
		}
		return g.atom(kind)
	case 'd':
		switch g.IntN(5) {
		case 0:
			return "(" + g.value('d') + " | " + g.value('d') + ")"
		case 1:
			return "{" + g.comprehension(func() string { return g.value('h') + ": " + g.element() }) + "}"
		case 2:
			return "dict(" + g.value(g.pick("d", "l")[0]) + g.pick("", ", a = "+g.element()) + ")"
		}
		return g.atom('d')
	case 'e':
		if g.IntN(2) == 0 {
			return "(" + g.value('e') + g.pick(" | ", " & ", " - ", " ^ ") + g.value('e') + ")"
		}
		return "set(" + g.value('v') + ")"
	case 'y':
		return g.pick("bytes("+g.value(g.pick("s", "l")[0])+")", "("+g.value('y')+" + "+g.value('y')+")", g.value('y')+g.slice())
	}
	return g.other()
}

// slice is an index or a slice, to be written behind an operand.
func (g *stockGen) slice() string {
	bound := func() string { return g.pick("", "0", "1", "-1", "2", "-5", "100", g.value('i')) }
	switch g.IntN(5) {
	case 0, 1:
		return "[" + bound() + ":" + bound() + "]"
	case 2:
		return "[" + bound() + ":" + bound() + ":" + g.pick("", "1", "2", "-1", "-2", "0") + "]"
	}
	return "[" + g.pick("0", "1", "-1", "2", g.value('i')) + "]"
}

func (g *stockGen) comprehension(body func() string) string {
	seq := g.value('v')
	g.n++
	name := fmt.Sprintf("z%d", g.n)
	g.names = append(g.names, stockName{name, 'x'})
	out := body() + " for " + name + " in " + seq
	if g.IntN(2) == 0 {
		out += " if " + g.value('b')
	}
	if g.IntN(6) == 0 {
		out += " for z0 in " + g.value('v')
	}
	g.names = g.names[:len(g.names)-1]
	return out
}

func (g *stockGen) args(kinds string) string {
	var out []string
	for i := range kinds {
		out = append(out, g.value(stockKinds[i]))
	}
	if g.IntN(3*g.wrong) == 0 {
		out = append(out, g.value('x'))
	}
	if g.IntN(5*g.wrong) == 0 && len(out) > 0 {
		out = out[1:]
	}
	return "(" + strings.Join(out, ", ") + ")"
}

func (g *stockGen) method(kind byte) string {
	list := stockMethods[kind]
	name, args, _ := strings.Cut(list[g.IntN(len(list))], ":")
	return g.operand(kind) + "." + name + g.args(args)
}

// other is an expression of any kind.
func (g *stockGen) other() string {
	switch g.IntN(11) {
	case 0:
		return "(" + g.value('x') + " if " + g.value('b') + " else " + g.value('x') + ")"
	case 1:
		return "(" + g.value('x') + g.pick(" and ", " or ") + g.value('x') + ")"
	case 2:
		return g.value(g.pick("l", "t", "s", "r", "d", "q", "y")[0]) + g.slice()
	case 3:
		return g.value('d') + "[" + g.value('h') + "]"
	case 4:
		return g.operand('u') + "." + g.pick("a", "b", "aa", "c")
	case 5:
		return "(" + g.value('x') + g.pick(" + ", " - ", " * ", " % ", " // ", " / ", " | ", " & ", " < ", " == ", " in ") + g.value('x') + ")"
	case 6, 7:
		return g.method("sldsldey"[g.IntN(8)])
	case 8:
		return "(lambda p, q = " + g.value('x') + ", *r, **s: (p, q, r, s))(" + g.pick(g.element(), "1, 2", "1, k = 1", "1, q = 2", "k = 1", "*"+g.value('v'), "**"+g.value('d'), "*"+g.value('v')+", **"+g.value('d')) + ")"
	}
	name, args, _ := strings.Cut(stockFuncs[g.IntN(len(stockFuncs))], ":")
	if name == "sorted" && g.IntN(2) == 0 {
		return "sorted(" + g.value('v') + g.pick(", key = "+g.value('c'), ", reverse = "+g.pick("True", "False"), ", key = len") + ")"
	}
	if (name == "max" || name == "min") && g.IntN(3) == 0 {
		return name + "(" + g.value('v') + ", key = " + g.value('c') + ")"
	}
	return name + g.args(args)
}

// bind returns a name that is bound to a value of a kind from here on.
func (g *stockGen) bind(kind byte) string {
	if len(g.names) > 3 && g.IntN(3) > 0 {
		b := &g.names[g.IntN(len(g.names))]
		b.kind = kind
		return b.name
	}
	g.n++
	name := fmt.Sprintf("x%d", g.n)
	g.names = append(g.names, stockName{name, kind})
	return name
}

func (g *stockGen) stmts(in string, n int) []string {
	var out []string
	for range n {
		g.left = 6
		out = append(out, g.stmt(in)...)
	}
	return out
}

func (g *stockGen) stmt(in string) []string {
	one := func(s string) []string { return []string{in + s} }
	deep := len(in) > 8
	switch n := g.IntN(30); {
	case n < 8:
		kind := stockKinds[g.IntN(len(stockKinds))]
		x := g.value(kind)
		return one(g.bind(kind) + " = " + x)
	case n < 10:
		kind := "iisldef"[g.IntN(7)]
		name := g.name(kind)
		if name == "" {
			return one("pass")
		}
		ops := map[byte][]string{'i': {"+", "-", "*", "//", "%", "&", "|", "^"}, 'f': {"+", "-", "*", "/"}, 's': {"+"}, 'l': {"+"}, 'd': {"|"}, 'e': {"|", "&", "-", "^"}}
		return one(name + " " + g.pick(ops[kind]...) + "= " + g.value(kind))
	case n < 12:
		if name := g.name('l'); name != "" && g.IntN(2) == 0 {
			return one(name + "[" + g.pick("0", "-1", g.value('i')) + "]" + g.pick(" = ", " += ") + g.value('i'))
		}
		if name := g.name('d'); name != "" {
			return one(name + "[" + g.value('h') + "] = " + g.value('x'))
		}
		return one("pass")
	case n < 15:
		return one("print(" + g.few(3, func() string { return g.value('x') }) + ")")
	case n < 17:
		return one(g.method("lde"[g.IntN(3)]))
	case n < 18:
		x := g.value('t')
		a, b := g.bind('x'), g.bind('x')
		return one(g.pick(a+", "+b, "("+a+", "+b+")", "["+a+", "+b+"]", a+", ("+b+", w0)") + " = " + x)
	case n < 21 && !deep:
		head := "if " + g.value('b') + ":"
		return append(append(one(head), g.block(in)...), append(one("else:"), g.block(in)...)...)
	case n < 24 && !deep:
		seq := g.value('v')
		v := g.bind('x')
		if g.IntN(9) == 0 {
			v += ", " + g.bind('x')
		}
		was := g.loop
		g.loop = true
		out := append(one("for "+v+" in "+seq+":"), g.block(in)...)
		g.loop = was
		return out
	case n < 25 && !deep:
		g.n++
		w := fmt.Sprintf("w%d", g.n)
		was := g.loop
		g.loop = true
		out := append(append(one(w+" = 0"), in+"while "+w+" < "+g.pick("3", "2", g.value('i')+" % 5")+":", in+"    "+w+" += 1"), g.block(in)...)
		g.loop = was
		return out
	case n < 27 && !deep:
		return g.def(in)
	case n < 28 && g.loop:
		return one(g.pick("break", "continue"))
	case n < 29 && g.fn:
		return one("return " + g.value('x'))
	}
	return one(g.value('x'))
}

func (g *stockGen) block(in string) []string { return g.stmts(in+"    ", 1+g.IntN(2)) }

// def defines a function and calls it.
func (g *stockGen) def(in string) []string {
	g.n++
	name := fmt.Sprintf("f%d", g.n)
	params := g.pick("a", "a, b = 1", "a, *b", "a, b = [], **c", "*, a = 1", "a, *, b", "")
	outer, wasFn, wasLoop := g.names, g.fn, g.loop
	g.names, g.fn, g.loop = append([]stockName(nil), outer...), true, false
	for _, p := range []string{"a", "b", "c"} {
		if strings.Contains(params, p) {
			g.names = append(g.names, stockName{p, 'x'})
		}
	}
	out := append([]string{in + "def " + name + "(" + params + "):"}, g.block(in)...)
	out = append(out, in+"    return "+g.value('x'))
	g.names, g.fn, g.loop = outer, wasFn, wasLoop
	x := g.value('x')
	args := g.pick(x, x, x+", "+g.value('x'), "a = "+x, "*["+x+"]", "**{\"a\": "+x+"}", x+", b = 2", "")
	return append(out, in+g.bind('x')+" = "+name+"("+args+")")
}

// program returns a program of a few statements, or of one.
func (g *stockGen) program() string {
	g.left, g.wrong = 8, 12
	if g.IntN(2) == 0 {
		g.wrong = 200
	}
	if g.IntN(2) == 0 {
		return "x1 = " + g.value(stockKinds[g.IntN(len(stockKinds))]) + "\n"
	}
	return strings.Join(g.stmts("", 2+g.IntN(7)), "\n") + "\n"
}
