package eval

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// callsGen writes programs that are little more than calls: functions in functions that share variables, are chosen by data, end early
// or fail, and are called from expressions that branch.
type callsGen struct {
	*rand.Rand
	out     strings.Builder
	depth   int
	left    int      // compound statements to be written still
	size    int      // calls and branches that the expression being written may have still
	funcs   []string // that can be called, with one argument or none
	kept    []string // names of functions around, and of the program, that this one binds
	own     []string // names of its own
	self    string   // the function that is being written
	lambdas int      // around
	clauses int      // of comprehensions around
	loops   int      // around, in this function
	trys    int      // around, in this function
	excs    int      // handlers around, in this function
	n       int      // functions so far
}

func (g *callsGen) one(list ...string) string { return list[g.IntN(len(list))] }

func (g *callsGen) chance(n int) bool { return g.IntN(100) < n }

func (g *callsGen) line(text string) {
	for l := range strings.Lines(text) {
		g.out.WriteString(strings.Repeat("  ", g.depth))
		g.out.WriteString(strings.TrimSuffix(l, "\n"))
		g.out.WriteByte('\n')
	}
}

// fill replaces each of the marks in a text by an expression: %i a number, %c a condition, %f a function, %l a list, %d data, %n a name that can be bound, %o one of the function's own, %p
// its second, %k a small constant; %z and %b a number and a condition within a clause of a comprehension, %w a number within a lambda.
func (g *callsGen) fill(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			b.WriteByte(text[i])
			continue
		}
		i++
		switch text[i] {
		case 'i':
			b.WriteString(g.expr())
		case 'c':
			b.WriteString(g.cond())
		case 'f':
			b.WriteString(g.fn())
		case 'l':
			b.WriteString(g.list())
		case 'd':
			b.WriteString(g.data())
		case 'n':
			b.WriteString(g.name())
		case 'o':
			b.WriteString(g.own[g.IntN(len(g.own))])
		case 'p':
			b.WriteString(g.own[1])
		case 'k':
			b.WriteString(g.one("0", "1", "2"))
		case 'z': // within a clause of a comprehension
			g.clauses++
			b.WriteString(g.expr())
			g.clauses--
		case 'w': // within a lambda
			g.clauses, g.lambdas = g.clauses+1, g.lambdas+1
			b.WriteString(g.expr())
			g.clauses, g.lambdas = g.clauses-1, g.lambdas-1
		case 'b':
			g.clauses++
			b.WriteString(g.cond())
			g.clauses--
		default: // an operator, or of a text
			b.WriteString(text[i-1 : i+1])
		}
	}
	return b.String()
}

func (g *callsGen) name() string {
	if n := len(g.kept); n > 0 && g.chance(60) {
		return g.kept[g.IntN(n)]
	}
	return g.own[g.IntN(len(g.own))]
}

// data is a number: often an input, or what was bound before.
func (g *callsGen) data() string {
	switch n := g.IntN(20); {
	case n < 7:
		return g.one("s1", "s2", "s3", "b1")
	case n < 12:
		return g.name()
	case n < 14:
		if g.clauses > 0 {
			return "z"
		}
		return g.own[0]
	case n < 17:
		return g.one("0", "1", "2")
	}
	return g.one("len(q)", "sh", "ml[1]", "hr.a", "len(hl)", "len(d)", "ht[0]")
}

func (g *callsGen) list() string {
	switch g.IntN(8) {
	case 0:
		return g.one("hl", "rl")
	case 1:
		return "ml"
	case 2:
		return "q[:2]"
	case 3:
		return "[" + g.data() + ", " + g.data() + "]"
	case 4:
		return "range(" + g.data() + " % 3)"
	}
	return g.one("[0, 1]", "[1, 0, 2]", "range(2)", "[1]")
}

// fn is a function that can be called with one argument.
func (g *callsGen) fn() string {
	f := func() string { return g.funcs[g.IntN(len(g.funcs))] }
	g.size--
	switch n := g.IntN(10); {
	case n < 5 || g.size < 0:
		return f()
	case n == 5:
		return g.fill("(" + f() + " if %c else " + f() + ")")
	case n == 6:
		return "h"
	case n == 7:
		return g.fill("[" + f() + ", " + f() + "][%d % 2]")
	}
	out := g.fill(g.one("(lambda z = 1", "(lambda z = %k", "(lambda z = 0, y = %d"))
	g.lambdas++
	clauses := g.clauses
	g.clauses++
	out += g.fill(g.one("z: %i)", "z: z + %i)", "z: q.append(z) or %i)", "z: send(z) or %i)")[1:])
	g.clauses = clauses
	g.lambdas--
	return out
}

var callsExprs = []string{
	"%f(%i)", "%f(%i)", "%f()", "%f(%d)", "%f(*[%d])", "%f(*%l[:1])", "%f(x = %i)", "%f(**{'x': %d})",
	"[%f, %f][%d % 2](%i)", "struct(f = %f).f(%d)", "{0: %f, 1: %f}.get(%d, %f)(%d)", "T(%i, %d).a", "T(%d, %f).b(%d)", "T(a = %d)._replace(a = %i).a", "P(%d, %i).v", "P(%f, %d).u(1)",
	"(%i and %i)", "(%i or %i)", "(%i if %c else %i)", "(%d and %f(%i))", "(%d or %f(%i))", "(%f(%d) if %d else %f(%d))", "(%d < %f(%d) < %i)", "(%d == %f(%i) != %f(%d))", "(%d < %k < (%n := %i))", "(%d >= (%n := %d) != %f(1))", "(%k in [%d] == [%f(%i)])", "(%f(%d) in [%i, %d])", "(%i < %i)", "(not %c)",
	"len([%z for z in %l if %b])", "len([%z for z in %l])", "sum([%z for z in %l if %b for y in [%z, %k]])", "len({%z for z in %l if %b})", "len({%z: %z for z in %l if %b})", "[%z for z in [%d, %d]][0]",
	"any(%b for z in %l)", "all(%b for z in %l if %b)", "any(%z for y in %l for z in [y, %d] if %b)", "all(%f(z) for z in %l)", "sum(%z for z in %l if %b)", "next((%z for z in %l if %b), %i)", "next((%f(z) for z in %l), %f(1))", "min((%z for z in %l if %b), default = %i)", "max([%d, %d], key = %f)", "min(%d, %i, key = %f)",
	"sorted(%l, key = %f)[:1]", "len(sorted([%d, 1, 2], key = %f, reverse = %c))", "len(map(%f, %l))", "len(filter(%f, %l))", "sum(map(%f, [%d, %d]))", "functools.reduce(lambda y, z: %w, %l, %i)", "functools.reduce(lambda y, z: y + %w, %l, 0)", "len(list(itertools.takewhile(%f, %l)))", "len(itertools.accumulate(%l, lambda y, z: %w))",
	`len(f"{%i}{%i}")`, `len(f"{(%f(%d))!r:>3}{%d}")`, `len("%s%s" % (%i, %f(%d)))`, `len("{}{}".format(%f(%d), %i))`, "len([*%l, %i])", "[*map(%f, %l), %i][0]", "len((*%l, %f(%d)))", "len({**{%i: 1}, %d: %f(1)})",
	"(%n := %i)", "(%n := %i)", "(%n := %f(%d))", "(%i + %i)", "(%i + (%n := %d))", "(%d + %f(%d))", "(%n + %f(%d))", "(%i, %i)[%d % 2]", "dd[%d]", "d.setdefault(%d, %i)", "d.get(%d, %i)", "len(str(%i))",
	"(fs and fs[-1]())", "(fs[%d % len(fs)]() if fs else %i)", "(sets and sets[-1](%i))", "[f() for f in fs]", "len([fs.append(lambda y = 1: z) for z in %l])", "[lambda y = 1: z for z in %l if %b][:1]", "any(fs.append(lambda y = 1: z) or %b for z in %l)", "any(%b or send(%k) for z in %l)", "all(%f(y) and %b for y in [0, 1] for z in [y, 1])", "next((q.append(z) or %f(z) for z in [1, 2] if %b), 0)", "sorted(hl, key = lambda z: send(%k) or %w)", "min(%l, key = lambda z: q.append(%k) or %w)", "attempt(look, %i).ok", "getattr(struct(a = %d, b = %f), 'a', %i)", "abs(%d)",
}

var riskyExprs = []string{
	"7 // %i", "7 // %d", "7 // %d", "look(%d)", "look(%f(%d))", "7 // %f(%d)", "[1, 2][%d]", "[1, 2][%i]", "{0: 1}[%d]", "{%i: 1}[%d]", "(%d or 7 // %d)", "(%d and 7 // %d)", "next(%z for z in %l if %b)", "[7 // %z for z in %l]", "any(7 // %z for z in %l)", "sum(7 // z for z in %l if %b)",
	"%f(7 // %d)", "(%f if %d else 5)(%d)", "max(map(%f, %l))", "sorted([%d, 2], key = lambda z: 7 // %w)", "functools.reduce(lambda y, z: y + 7 // %w, %l)", "(%d < 7 // %d < %i)", "(%n := 7 // %d)", "int(x1)", `f"{7 // %d:>{%i}}"`, "T(7 // %d).a", "fs[%d]()", "(lambda z = 7 // %d: z)()", "min(7 // %z for z in %l if %b)",
}

func (g *callsGen) expr() string {
	g.size--
	if g.size < 0 || g.chance(25) {
		return g.data()
	}
	list := callsExprs
	if (g.trys > 0 || g.self != "main") && g.chance(12) {
		list = riskyExprs
	}
	for {
		text := list[g.IntN(len(list))]
		if g.lambdas == 0 || !strings.Contains(text, ":= ") {
			return "(" + g.fill(text) + ")"
		}
	}
}

func (g *callsGen) cond() string {
	switch g.IntN(8) {
	case 0:
		return "not " + g.data()
	case 1, 2:
		return g.data() + g.one(" < ", " > ", " == ", " != ") + g.one("0", "1", "2", g.data())
	case 3, 4:
		return g.expr()
	}
	return g.data()
}

var callsStmts = []string{
	"send(%i)", "send(%i)", "send(%k)", "send(%n)", "%n = %i", "%n = %i", "%n = %f(%d)", "%n += %f(%d)", "%n += %i", "%n = %n + %i", "%o = %i", "%o += %f(%d)", "%f(%i)", "%f(%d)", "%i", "if %c: %n = %i", "if %c: %f(%d)", "if %c: send(%k)", "if %c: h = %f", "h = %f",
	"q.append(%i)", "q.append(%k)", "if %c: q.append(%k)", "d[%d] = %i", "d['k'] = %f(%d)", "fs.append(lambda z = 1: %n)", "fs.append(lambda z = 1: %o)", "fs.append(lambda z = 1: %o)", "%n, *%o = [%i, %f(%d)]", "%n, %o = %i, %f(%d)", "*%o, %n = [1, *map(%f, %l)]", "%n = %o = %f(%d)", "for %n in %l: %f(%d)", "for %o in [%d, %f(1)]: send(%k)", "%n |= %d", "assert 1 or %f(%d)", "try: %f(%i)\nexcept: send(%k)", "try: %n = %f(%d)\nexcept Exception: pass", "%f(%d)\n%p = %i", "%f(%d)\n%p = %i", "%p = %f(%d)", "%p = 7 // %d", "send(%k) if %f(%d) else %f(%k)",
	"for j in [0, 1]: [fs.append(lambda y = 1: z) for z in (%l if j else [%k])]", "for j in [0, 1]: any((%b if j else fs.append(lambda y = 1: z)) for z in [j, 6])", "while (w := w + 1) < 3 and %c: %f(%d)",
}

var callsEnds = []string{"if %c: return %i", "if %c: return %i", "if %d: return %d", "return %i", "if %d: raise ValueError(%k)", "if %c: raise KeyError", "7 // %d", "7 // %d", "assert %d", "if %d: 7 // 0", "if %c: return %f(%d)", "return %i if %c else %f(%d)", "return [%f(z) for z in %l]", "if %i: fail(3)"}

func (g *callsGen) simple() {
	g.size = 1 + g.IntN(4)
	switch {
	case g.self != "" && g.self != "main" && g.chance(25):
		g.line(g.fill(callsEnds[g.IntN(len(callsEnds))]))
	case g.self == "main" && g.chance(5):
		g.line(g.fill("if %d: return %k"))
	case g.trys > 0 && g.chance(25):
		g.line(g.fill(g.one("%n = ", "send", "", "q.append") + "(" + riskyExprs[g.IntN(len(riskyExprs))] + ")"))
	case g.loops > 0 && g.chance(10):
		g.line(g.fill("if %c: " + g.one("break", "continue")))
	case g.excs > 0 && g.chance(20):
		g.line(g.one("raise", "send(str(e))", "send(e.code)"))
	default:
		g.line(g.fill(callsStmts[g.IntN(len(callsStmts))]))
	}
}

func (g *callsGen) some() {
	g.depth++
	for range 1 + g.IntN(4)/2 {
		g.stmt()
	}
	g.depth--
}

func (g *callsGen) stmt() {
	if g.left <= 0 || g.depth > 6 || g.chance(40) {
		g.simple()
		return
	}
	g.left--
	g.size = 1 + g.IntN(4)
	switch g.IntN(10) {
	case 0, 1:
		g.line(g.fill("if %c:"))
		g.some()
		if g.chance(40) {
			g.line("else:")
			g.some()
		}
	case 2:
		g.line(g.fill("for j in %l:"))
		g.loops++
		g.some()
		g.loops--
	case 3, 4, 5, 6:
		g.line("try:")
		g.trys++
		g.some()
		g.trys--
		excepts := g.IntN(3)
		for i := range excepts {
			class := g.fill(g.one("ZeroDivisionError", "ValueError", "(KeyError, IndexError)", "Exception", "(ValueError if %d else ZeroDivisionError)"))
			if i == excepts-1 && g.chance(60) {
				class = "Exception"
			}
			g.line("except " + class + " as e:")
			g.excs++
			g.some()
			g.excs--
		}
		if excepts > 0 && g.chance(25) {
			g.line("else:")
			g.some()
		}
		if excepts == 0 || g.chance(25) {
			g.line("finally:")
			g.some()
		}
	default:
		if g.n < 3 {
			g.def()
		} else {
			g.simple()
		}
	}
}

// def writes a function within the one that is being written, or the program.
func (g *callsGen) def() {
	g.n++
	name := fmt.Sprintf("f%d", g.n)
	old := *g
	if g.self != "" && g.chance(15) {
		g.size = 1
		g.line(g.fill(g.one("@deco", "@(lambda f: f)", "@(lambda f: deco(f) if %d else f)")))
	}
	g.size = 1
	g.line("def " + name + g.fill(g.one("(x = 1)", "(x = 1)", "(x = 0, *y)", "(x = %d)", "(x = 2, y = %f)")) + ":")
	x, o := "x", fmt.Sprintf("o%d", g.n)
	g.depth++
	kept := old.kept
	if old.self != "" {
		kept = append(kept[:len(kept):len(kept)], old.own[1:]...)
	}
	g.kept, g.own = nil, []string{x, o, "w"}
	var nonlocal []string
	for _, n := range kept {
		if n != "sh" && n != "w" && g.chance(70) {
			nonlocal = append(nonlocal, n)
		}
	}
	g.kept = append(g.kept, nonlocal...)
	g.line("global sh")
	if len(nonlocal) > 0 {
		g.line("nonlocal " + strings.Join(nonlocal, ", "))
	}
	if old.self != "" && g.chance(40) {
		g.line("nonlocal h")
	} else {
		g.line("h = " + old.funcs[g.IntN(len(old.funcs))])
	}
	g.kept = append(g.kept, "sh")
	g.line(o + " = w = j = 0")
	if g.chance(50) {
		g.line("fs.append(lambda z = 1: " + o + ")")
	}
	if g.chance(25) {
		g.line("def set(z = 1):\n  nonlocal " + o + "\n  " + g.fill(g.one("", "if %d: ")) + o + " = z\nsets.append(set)")
	}
	g.self, g.loops, g.trys, g.excs, g.lambdas, g.clauses = name, 0, 0, 0, 0, 0
	g.left = min(old.left, 1+g.IntN(2))
	for range 1 + g.IntN(2) {
		g.stmt()
	}
	if g.chance(25) { // a call of itself, that data ends
		g.size = 2
		g.line(g.fill(g.one("if x > 0 and %d: return "+name+"(x - 1)", "x > 0 and "+name+"(x - 1)", "return %i if x < 1 else "+name+"(x - 1)", "if 0 < x < %i: "+name+"(x - 2)", "%o = any("+name+"(x - 1) for z in [1] if 0 < x < 3)")))
	}
	if g.chance(60) {
		g.size = 2
		g.line(g.fill("return %i"))
	}
	out, n := g.out.String(), g.n
	used := old.left - g.left
	*g = old
	g.out.Reset()
	g.out.WriteString(out)
	g.n = n
	g.left = old.left - min(1, used)
	g.funcs = append(old.funcs[:len(old.funcs):len(old.funcs)], name)
}

// program writes a turn.
func (g *callsGen) program() string {
	g.line("import functools, itertools, collections\nsh = 0\nq = [1]\nd = {}\nfs = []\nsets = []\nh = abs\nT = collections.namedtuple('T', 'a b', defaults = [0])\n@dataclass\nclass P:\n  u: int\n  v: int = 1")
	g.line("def f0(x = 1):\n  " + g.one("return 1 if s1 else 0", "return 7 // (s2 or 1)", "if s1: raise ValueError(4)\n  return x", "send(9)", "q.append(1)\n  return x", "global sh\n  if s3: sh = 3\n  return sh", "return x"))
	g.line("dd = collections.defaultdict(f0)")
	g.line("def deco(f):\n  c = 0\n  def inner(x = 1):\n    nonlocal c\n    c += x\n    " + g.one("", "if s1: return c\n    ", "try: return f(c)\n    except ValueError: c = 0\n    ") + "return f(c)\n  return inner")
	g.funcs, g.own = []string{"f0"}, []string{"m", "n", "w"}
	g.line("def main(m = 1):\n  global sh\n  n = w = j = c = 0\n  h = f0")
	g.kept, g.own, g.self = []string{"sh"}, []string{"m", "n", "c", "w"}, "main"
	g.depth = 1
	g.left = 9
	for range 1 + g.IntN(2) {
		g.def()
	}
	g.left = 2 + g.IntN(2)
	for range 1 + g.IntN(3) {
		g.stmt()
	}
	g.line("send(n)\nsend(c)\nsend(w)\nreturn n")
	g.depth, g.self = 0, ""
	g.line(g.one("send(main())", "send(main(s1))", "try: send(main(1))\nexcept: send(7)", "try: send(main(1))\nexcept Exception as e: send(str(e))", "for j0 in [0, 1]: send(main(j0))", "send([main(z) for z in [1, 0] if main(z) or s2])"))
	g.line("send(sh)\nsend(len(q))\nsend(d)\nsend([f() for f in fs])\nsend(quota())")
	return g.out.String()
}

func newCallsCase(r *rand.Rand, seed uint64) (*niCase, error) {
	g := callsGen{Rand: r}
	turns := []string{prelude, g.program()}
	if r.IntN(5) == 0 {
		turns = append(turns, "send([f() for f in fs])\nif sets: sets[0](s1)\nsend([f() for f in fs])\n"+g.one("main(2)", "send(main())", "try: main(0)\nexcept: send(1)")+"\nsend(sh)\n")
	}
	return caseOf(r, seed, turns, []int{10, 30, 55}[r.IntN(3)], len(observers))
}

// TestNoninterferenceOfCalls compares pairs of runs of programs that are little more than calls.
func TestNoninterferenceOfCalls(t *testing.T) {
	n := tally{newCase: newCallsCase}
	n.run(t, 20)
}
