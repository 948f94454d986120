package eval

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// gen makes random programs over a fixed cast of names. They are well-formed; most run
// without errors, for an error ends the comparison early.
//
// Ints: i0–i2, and the inputs s1, s2, s3. Lists of ints: l0–l2, and the inputs hl (its
// structure is high) and ml (its elements are). Dicts: d0, d1 of ints, dl of lists, dk
// of strings to ints. Texts: t0, t1. Sets: e0. Functions: f0–f2 (int, list, dict) and g0, which
// may be any of them.
type gen struct {
	*rand.Rand
	inFn, inLoop bool
}

func (g *gen) pick(xs ...string) string { return xs[g.IntN(len(xs))] }

func (g *gen) ivar() string {
	if g.inFn {
		return g.pick("i0", "i1", "a", "j0", "j1")
	}
	return g.pick("i0", "i1", "i2")
}

func (g *gen) lvar() string {
	if g.inFn {
		return g.pick("l0", "l1", "x", "x", "k0")
	}
	return g.pick("l0", "l1", "l2")
}

func (g *gen) dvar() string {
	if g.inFn {
		return g.pick("d0", "d1", "m")
	}
	return g.pick("d0", "d1")
}

func (g *gen) tvar() string { return g.pick("t0", "t1") }

// small is an int that is small and not negative, whatever e is.
func (g *gen) small(d int) string { return "(" + g.Int(d) + ") % 4" }

// Int is an expression for an int; d is how deep it stands.
func (g *gen) Int(d int) string {
	if d > 3 {
		return g.pick("0", "1", "2", "3", g.ivar(), "s1", "s2")
	}
	switch g.IntN(32) {
	case 0, 1, 2:
		return fmt.Sprint(g.IntN(4))
	case 3, 4, 5, 6:
		return g.ivar()
	case 7, 8, 9, 10:
		return g.pick("s1", "s1", "s2", "s3")
	case 11:
		return "(" + g.Int(d+1) + g.pick(" + ", " - ", " * ") + g.Int(d+1) + ")"
	case 12:
		return "len(" + g.pick(g.List(d+1), g.dvar(), g.Text(d+1), "e0") + ")"
	case 13:
		return g.list1(d) + "[" + g.pick("0", "-1", g.small(d+1)+" if "+g.Bool(d+1)+" else 0") + "]"
	case 14:
		return g.dvar() + ".get(" + g.Int(d+1) + ", " + g.Int(d+1) + ")"
	case 15, 16:
		return "(" + g.Int(d+1) + " if " + g.Bool(d+1) + " else " + g.Int(d+1) + ")"
	case 17:
		return "pop(" + g.Lref(d+1) + ")"
	case 18:
		return g.dvar() + ".pop(" + g.Int(d+1) + ", " + g.Int(d+1) + ")"
	case 19:
		return g.pick("max", "min") + "(" + g.list1(d+1) + g.pick("", ", key = lambda z: z * "+g.pick("s1", "2", "-1")) + ")"
	case 20:
		return "quota()"
	case 21:
		return "attempt(div, " + g.Int(d+1) + ", " + g.Int(d+1) + ").value or 0"
	case 22, 23, 24:
		return g.call(d)
	case 25:
		return "int(str(" + g.Int(d+1) + "))"
	case 26:
		return "(" + g.Int(d+1) + g.pick(" // ", " % ") + g.pick("2", "3") + ")"
	case 27:
		return g.Text(d+1) + g.pick(".find(", ".count(") + g.Text(d+1) + ")"
	case 28:
		return "abs(" + g.Int(d+1) + ")"
	case 29:
		return "(lambda z: z + " + g.Int(d+2) + ")(" + g.Int(d+1) + ")"
	case 30:
		return g.pick("recv()", "chr(65 + "+g.small(d+1)+").count('B')", "(("+g.Int(d+1)+") & 7)")
	default:
		return "k1(**dk)"
	}
}

// list1 is a list that is never empty.
func (g *gen) list1(d int) string { return "(" + g.List(d+1) + " + [" + g.Int(d+2) + "])" }

func (g *gen) call(d int) string {
	f := g.pick("f0", "f1", "f2", "g0")
	if g.inFn {
		f = g.pick("f0", "f1", "h")
	}
	args := []string{g.Int(d + 1), g.Lref(d + 1), g.dvar()}
	switch g.IntN(6) {
	case 0:
		return f + "(*[" + strings.Join(args, ", ") + "])"
	case 1:
		return f + "(" + args[0] + ", m = " + args[2] + ", x = " + args[1] + ")"
	}
	return f + "(" + strings.Join(args, ", ") + ")"
}

// Bool is an expression used for its truth.
func (g *gen) Bool(d int) string {
	if d > 3 {
		return g.pick("s1", "s2", "s3 > 1", "True")
	}
	switch g.IntN(16) {
	case 0, 1, 2, 3:
		return g.Int(d+1) + g.pick(" < ", " > ", " == ", " != ", " <= ", " >= ") + g.Int(d+1)
	case 4, 5, 6:
		return g.pick("s1", "s2", "s3", "s1 > 1")
	case 7:
		return g.Int(d+1) + g.pick(" in ", " not in ") + g.pick(g.lvar(), g.dvar(), "e0", "hl", "ml")
	case 8:
		return "not " + g.Int(d+1)
	case 9, 10:
		return "(" + g.Bool(d+1) + g.pick(" and ", " or ") + g.Bool(d+1) + ")"
	case 11:
		return g.lvar()
	case 12:
		return "quota()"
	case 13:
		return g.List(d+1) + g.pick(" == ", " < ") + g.List(d+1)
	case 14:
		return g.pick("any(", "all(") + g.List(d+1) + ")"
	default:
		return g.pick(g.Text(d+1)+" in "+g.Text(d+1), g.dvar()+" == "+g.dvar(), "attempt(div, 1, "+g.Int(d+1)+").ok", "e0", "type("+g.Int(d+1)+") == 'int'")
	}
}

// Lref is a reference to an existing list, chosen in some way.
func (g *gen) Lref(d int) string {
	switch n := g.IntN(12); {
	case d > 3 || n < 7:
		return g.lvar()
	case n < 9:
		return "(" + g.lvar() + " if " + g.Bool(d+1) + " else " + g.lvar() + ")"
	case n < 10:
		return "dl.setdefault(" + g.Int(d+1) + ", " + g.pick("[]", g.lvar()) + ")"
	case n < 11:
		return "(" + g.lvar() + g.pick(" and ", " or ") + g.lvar() + ")"
	}
	return "[" + g.lvar() + ", " + g.lvar() + "][" + g.pick("0", "1", "1 if "+g.Bool(d+1)+" else 0") + "]"
}

// List is an expression for a list of ints.
func (g *gen) List(d int) string {
	if d > 3 {
		return g.pick(g.lvar(), "hl", "ml", "[]")
	}
	switch g.IntN(22) {
	case 0, 1, 2, 3, 4, 5, 6:
		return g.Lref(d)
	case 7, 8:
		return "[" + g.Int(d+1) + ", " + g.Int(d+1) + "]"
	case 9, 10:
		return "[" + g.pick("z", g.Int(d+1)) + " for z in " + g.List(d+1) + g.pick("", " if z > 1", " if "+g.Bool(d+1)) + "]"
	case 11:
		return "sorted(" + g.List(d+1) + g.pick("", ", key = lambda z: -z", ", reverse = "+g.Bool(d+1)) + ")"
	case 12:
		return "list(" + g.pick(g.lvar(), g.dvar(), "e0", "range("+g.small(d+1)+")") + ")"
	case 13, 14:
		return g.pick("hl", "ml")
	case 15:
		return g.dvar() + g.pick(".values()", ".keys()")
	case 16:
		return g.List(d+1) + "[" + g.pick("1:", ":"+g.small(d+1), "::-1", ":1") + "]"
	case 17:
		return "[p + q for (p, q) in " + g.pick("zip("+g.List(d+1)+", "+g.List(d+1)+")", "enumerate("+g.List(d+1)+")", g.dvar()+".items()") + "]"
	case 18:
		return "[len(w) for w in " + g.Text(d+1) + ".split('1')]"
	case 19:
		return "list({z % 2: z for z in " + g.List(d+1) + g.pick("", " if "+g.Bool(d+1)) + "})"
	case 20:
		return "(" + g.List(d+1) + g.pick(" + "+g.List(d+2), " * 2") + ")"
	}
	return "[y + z for y in " + g.List(d+1) + g.pick("", " if "+g.Bool(d+1)) + " for z in " + g.pick("[1, y]", g.lvar()) + "]"
}

// Text is an expression for a string.
func (g *gen) Text(d int) string {
	if d > 3 {
		return g.tvar()
	}
	switch g.IntN(12) {
	case 0, 1, 2, 3:
		return g.tvar()
	case 4:
		return g.pick("'1'", "'ab'", "''")
	case 5, 6:
		return "str(" + g.pick(g.Int(d+1), g.Int(d+1), g.List(d+1), g.dvar()) + ")"
	case 7:
		return "(" + g.Text(d+1) + " + " + g.Text(d+1) + ")"
	case 8:
		return "','.join([str(z) for z in " + g.List(d+1) + "])"
	case 9:
		return "(" + g.Text(d+1) + " if " + g.Bool(d+1) + " else " + g.Text(d+1) + ")"
	case 10:
		return g.Text(d+1) + g.pick("[1:]", ".upper()", ".replace('1', 'x')", ".strip('a')", "[::-1]", "[:"+g.small(d+1)+"]")
	}
	return "'" + g.pick("%s", "<%s>") + "' % (" + g.Int(d+1) + ",)"
}

// Stmt is a statement, in lines.
func (g *gen) Stmt(in string, d int) []string {
	one := func(s string) []string { return []string{in + s} }
	local := func(outer ...string) string {
		if g.inFn {
			return g.pick("j0", "j1", "a")
		}
		return g.pick(outer...)
	}
	switch n := g.IntN(100); {
	case n < 13:
		return one(local("i0", "i1", "i2") + " = " + g.Int(0))
	case n < 15:
		if g.inFn {
			return one("j2 = " + g.Int(0))
		}
		return one(g.pick("u0", "u1") + " = " + g.Int(0))
	case n < 16:
		if g.inFn {
			return one("send(j2)")
		}
		return one("send(" + g.pick("u0", "u1") + ")")
	case n < 21:
		return one(local("i0", "i1", "i2") + " += " + g.Int(0))
	case n < 28:
		v := g.pick("l0", "l1", "l2")
		if g.inFn {
			v = g.pick("k0", "x")
		}
		return one(v + " = " + g.List(0))
	case n < 36:
		return one(g.Lref(0) + ".append(" + g.Int(0) + ")")
	case n < 39:
		v := g.pick("l0", "l1")
		if g.inFn {
			v = g.pick("x", "k0")
		}
		return one(v + " += " + g.List(0))
	case n < 43:
		return one(g.dvar() + "[" + g.Int(0) + "] " + g.pick("=", "=", "=") + " " + g.Int(0))
	case n < 45:
		return one(g.Lref(0) + ".insert(" + g.Int(0) + ", " + g.Int(0) + ")")
	case n < 48:
		return one(g.pick(
			g.Lref(0)+".clear()", g.Lref(0)+".extend("+g.List(0)+")", g.Lref(0)+".reverse()",
			g.Lref(0)+".sort()", "dl["+g.Int(0)+"] = "+g.lvar(), "dk['p' if "+g.Bool(0)+" else 'q'] = "+g.Int(0),
			g.dvar()+".update({"+g.Int(0)+": "+g.Int(0)+"})", g.dvar()+".setdefault("+g.Int(0)+", "+g.Int(0)+")",
			g.dvar()+".clear()", "e0.add("+g.Int(0)+")", "e0.discard("+g.Int(0)+")", "e0.update("+g.List(0)+")",
			"if "+g.lvar()+": "+"pop("+g.lvar()+")",
		))
	case n < 50:
		if g.inFn {
			return one("send(" + g.Text(0) + ")")
		}
		return one(g.tvar() + " = " + g.Text(0))
	case n < 58:
		return one("send(" + g.pick(g.Int(0), g.lvar(), g.List(0), g.dvar(), g.Text(0), "e0") + ")")
	case n < 60:
		return one("print(" + g.pick(g.Int(0), g.lvar(), g.dvar(), g.Text(0)) + ")")
	case n < 64:
		return one(g.pick(
			g.Int(0), "("+g.Bool(0)+" and "+g.call(1)+")", "("+g.Bool(0)+" or "+g.lvar()+".append("+g.Int(0)+"))",
			"["+g.lvar()+".append("+g.Int(0)+") for z in "+g.List(0)+"[:3] if "+g.Bool(0)+"]",
		))
	case n < 66:
		if g.inFn {
			return one("k0 = x")
		}
		return one("g0 = " + g.pick("f0", "f1") + " if " + g.Bool(0) + " else " + g.pick("f1", "f2"))
	case n < 67:
		return one(g.pick("l0", "l1", "hl") + "[0:0]")
	case n < 70:
		if g.inFn {
			return one("return " + g.Int(0))
		}
		return one("(i0, i1) = (" + g.Int(0) + ", " + g.Int(0) + ")")
	case n < 74:
		if g.inLoop {
			return one(g.pick("break", "continue"))
		}
		return one("pass")
	case n < 77:
		return g.template(in)
	}
	if d > 2 {
		return one("pass")
	}
	switch n := g.IntN(20); {
	case n < 13:
		out := append(one("if "+g.Bool(0)+":"), g.block(in+"  ", d+1, 1, 3)...)
		if g.IntN(5) < 2 {
			out = append(append(out, in+"else:"), g.block(in+"  ", d+1, 1, 2)...)
		}
		return out
	case n < 19:
		was := g.inLoop
		g.inLoop = true
		out := append(one("for "+local("i0", "i2")+" in "+g.pick("list("+g.List(0)+")[:3]", "range("+g.small(0)+")", g.dvar()+".keys()[:3]", "sorted(e0)[:3]")+":"), g.block(in+"  ", d+1, 1, 3)...)
		g.inLoop = was
		return out
	}
	was := g.inLoop
	g.inLoop = true
	v := g.lvar()
	out := append(one("while "+v+":"), in+"  pop("+v+")")
	out = append(out, g.block(in+"  ", d+1, 1, 2)...)
	g.inLoop = was
	return out
}

// template is one of the shapes that leaked under earlier rules.
func (g *gen) template(in string) []string {
	ret := "pass"
	if g.inFn {
		ret = "return 1"
	}
	shapes := [][]string{
		{"n0 = 0", "for z0 in ml:", "  if " + g.Bool(0) + ": " + g.pick("break", "continue"), "  n0 += 1", "send(n0)"},
		{"n0 = 0", "for z0 in [1, 2]:", "  n0 = z0", "  if " + g.Bool(0) + ": continue", "  " + g.pick("break", "pass", "send(n0)"), "send(n0)"},
		{"q0 = [0, 1, ml[1], 1]", "while pop(q0):", "  send(len(q0))"},
		{"q0 = [0, ml[0], 1]", "n0 = 0", "while pop(q0):", "  n0 += 1", "send(n0)"},
		{"dk.clear()", "dk['p' if " + g.Bool(0) + " else 'q'] = 9", "send(k1(**dk))"},
		{"for z0 in [0, 1]:", "  if " + g.Bool(0) + ": break", "  " + ret, "send(" + g.ivar() + ")"},
		{"n0 = 0", "while recv() and n0 < 4:", "  n0 += 1", "send(n0)"},
		{"q0 = [[1], [2]]", "q0[" + g.pick("0", "1 if "+g.Bool(0)+" else 0") + "].append(" + g.Int(0) + ")", "send(q0)"},
		{"q0 = {}", "for z0 in " + g.pick("ml", "l0", "hl") + ":", "  q0.setdefault(z0, []).append(z0)", "send(len(q0))"},
		{"def r0(c):", "  if c: return " + g.Int(1), "  send(1)", "  return 2", "send(r0(" + g.Bool(0) + "))"},
		{"q0 = [" + g.lvar() + "]", "for z0 in q0:", "  z0.append(" + g.Int(0) + ")", "send(len(" + g.lvar() + "))"},
	}
	var out []string
	for _, l := range shapes[g.IntN(len(shapes))] {
		out = append(out, in+l)
	}
	return out
}

func (g *gen) block(in string, d, least, most int) []string {
	var out []string
	for range least + g.IntN(most-least+1) {
		out = append(out, g.Stmt(in, d)...)
	}
	return out
}

// programs returns the turns of a session.
func (g *gen) programs() []string {
	out := []string{
		"i0 = 0", "i1 = 1", "i2 = 2", "l0 = [1, 2]", "l1 = []", "l2 = l0", "d0 = {0: 1}", "d1 = {}",
		"dl = {}", "dk = {}", "t0 = 'a1'", "t1 = ''", "e0 = set([1])",
		"def pop(x):", "  if x: return x.pop()", "  return 0",
		"def k1(p = 1, q = 2): return p",
		"if i0 > 9:", "  u0 = 0", "  u1 = 0",
	}
	for _, f := range []string{"f0", "f1", "f2"} {
		out = append(out, "def "+f+"(a, x, m):", "  j0 = 0", "  j1 = 1", "  k0 = []", "  if a > 9: j2 = 0")
		g.inFn = true
		if g.IntN(5) < 3 {
			out = append(out, "  def h(a, x, m):", "    "+g.pick("k0.append(a)", "pass"), "    if a > 1: return j0", "    x.append(1)", "    return len(k0)")
		} else {
			out = append(out, "  h = f0")
		}
		out = append(out, g.block("  ", 1, 1, 4)...)
		out = append(out, "  return "+g.Int(0))
		g.inFn = false
	}
	out = append(out, "g0 = f0")
	out = append(out, g.block("", 0, 2, 7)...)
	turns := []string{strings.Join(out, "\n") + "\n"}
	for range g.IntN(3) {
		turns = append(turns, strings.Join(g.block("", 0, 1, 4), "\n")+"\n")
	}
	return append(turns, "send(i0)\nsend(i1)\nsend(l0)\nsend(len(l1))\nsend(l2)\nsend(d0)\nsend(len(d1))\nsend(t0)\nsend(e0)\n")
}
