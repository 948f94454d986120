package eval

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// controlGen writes functions that are little more than control: branches, loops and tries in each other, what leaves them, and what
// tells how it went.
type controlGen struct {
	*rand.Rand
	out    strings.Builder
	vars   int    // of the loops around
	trys   int    // around, in this function
	around string // how a function binds the n around it
	depth  int
	loops  int // around, in this function
	excs   int // handlers around
	defs   int // functions around
	fn     int // functions so far
	left   int // compound statements to be written still
}

func (g *controlGen) one(list ...string) string { return list[g.IntN(len(list))] }

func (g *controlGen) line(text string) {
	g.out.WriteString(strings.Repeat("  ", g.depth))
	g.out.WriteString(text)
	g.out.WriteByte('\n')
}

// data is a number that decides something: often an input, or what was bound before.
func (g *controlGen) data() string {
	switch n := g.IntN(10); {
	case n < 5:
		return g.one("s1", "s2", "s3", "b1")
	case n < 7:
		return g.one("j0", "j0", "j1")
	case n < 9:
		return g.one("n", "m", "len(q)", "sh")
	}
	return g.one("0", "1", "2")
}

func (g *controlGen) cond() string {
	switch g.IntN(8) {
	case 0:
		return "not " + g.data()
	case 1, 2:
		return g.data() + g.one(" < ", " > ", " == ", " != ") + g.one("0", "1", "2", g.data())
	case 3:
		return g.data() + g.one(" and ", " or ") + g.data()
	case 4:
		if g.trys > 0 {
			return g.one("f0()", "flag("+g.data()+")", "7 // "+g.data())
		}
	}
	return g.data()
}

func (g *controlGen) simple() {
	for {
		n := g.IntN(21)
		if (n == 8 || n == 9 || n == 10) && g.trys == 0 && g.IntN(8) > 0 {
			continue // an error here ends it all
		}
		switch n {
		case 0, 1:
			g.line(fmt.Sprintf("send(%d)", g.IntN(9)))
		case 2:
			g.line("send(" + g.data() + ")")
		case 3, 4:
			g.line(g.one("n", "m") + " = " + g.one("1", "2", g.data()))
		case 5:
			g.line(g.one("n += 1", "m += 1", "n += m", "n = n + "+g.data()))
		case 6:
			g.line(g.one("q.append(", "q.append(", "w.append(") + g.data() + ")")
		case 7:
			g.line("sh = " + g.one("1", "2", g.data()))
		case 8:
			g.line("7 // " + g.data())
		case 9:
			g.line(g.one("raise ValueError(1)", "raise KeyError(2)", "fail(3)", "d['k']", "assert "+g.data()))
		case 10:
			g.line(g.one("f0()", "n = f0()", "flag("+g.data()+")", "q.pop()", "d['k'] = n", "d.pop('k')", "look("+g.data()+")"))
		case 11, 12, 13, 17, 18, 19:
			if g.loops == 0 {
				continue
			}
			g.line(g.one("break", "continue", "continue"))
		case 14, 20:
			if g.defs == 0 {
				continue
			}
			g.line("return " + g.one("0", "1", "n", g.data()))
		case 15:
			if g.excs == 0 {
				continue
			}
			g.line(g.one("raise", "send(str(e))", "n = len(str(e))"))
		case 16:
			g.line("send(" + g.cond() + ")")
		default:
			continue
		}
		return
	}
}

// list writes some statements.
func (g *controlGen) list(n int) {
	g.depth++
	for range n {
		g.stmt()
	}
	g.depth--
}

func (g *controlGen) some() { g.list(1 + g.IntN(4)/2) }

func (g *controlGen) stmt() {
	if g.left <= 0 || g.depth > 7 || g.IntN(5) == 0 {
		g.simple()
		return
	}
	g.left--
	switch g.IntN(9) {
	case 0, 1, 2:
		g.line("if " + g.cond() + ":")
		g.some()
		if g.IntN(4) == 0 {
			g.line("elif " + g.cond() + ":")
			g.some()
		}
		if g.IntN(3) == 0 {
			g.line("else:")
			g.some()
		}
	case 3, 4:
		name := fmt.Sprintf("j%d", g.vars)
		g.line("for " + name + " in " + g.one("[0, 1]", "[0, 1, 2]", "range(s1 % 3)", "hl", "range(2)", "range(n % 3)") + ":")
		g.loop()
		if g.IntN(5) == 0 {
			g.line("else:")
			g.some()
		}
	case 5:
		name := fmt.Sprintf("j%d", g.vars)
		g.line(name + " = 0")
		g.line("while " + name + " < " + g.one("2", "3", "s1 % 3", "(2 if "+g.data()+" else 1)") + ":")
		g.depth++
		g.line(name + " += 1")
		g.depth--
		g.loop()
	case 6, 7:
		g.line("try:")
		g.trys++
		g.some()
		g.trys--
		excepts := g.IntN(3)
		for i := range excepts {
			class := g.one("ZeroDivisionError", "ValueError", "KeyError", "(ValueError, IndexError)", "Exception", "ToolError")
			if i == excepts-1 && g.IntN(2) == 0 {
				class = "Exception"
			}
			g.line("except " + class + " as e:")
			g.excs++
			g.some()
			g.excs--
		}
		if excepts > 0 && g.IntN(3) == 0 {
			g.line("else:")
			g.some()
		}
		if excepts == 0 || g.IntN(3) == 0 {
			g.line("finally:")
			g.some()
		}
	case 8:
		if g.fn > 1 || g.IntN(2) == 0 {
			g.stmt()
			return
		}
		g.fn++
		name := fmt.Sprintf("r%d", g.fn)
		g.line("def " + name + "(m):")
		loops, excs, trys := g.loops, g.excs, g.trys
		g.loops, g.excs, g.trys = 0, 0, 0
		around, bound := g.around, g.one(g.around, g.around, "n = 0")
		if bound == "n = 0" {
			g.around = "nonlocal n"
		}
		g.defs++
		g.depth++
		g.line("j0 = j1 = 0\n" + strings.Repeat("  ", g.depth) + bound + "\n" + strings.Repeat("  ", g.depth) + "global sh")
		g.depth--
		g.list(1 + g.IntN(3))
		g.defs--
		g.around, g.loops, g.excs, g.trys = around, loops, excs, trys
		call := name + "(" + g.data() + ")"
		g.line(g.one("n = "+call, "m = "+call, call, "send("+call+")"))
	}
}

func (g *controlGen) loop() {
	g.vars++
	g.loops++
	g.some()
	g.loops--
	g.vars--
}

// program writes a turn.
func (g *controlGen) program() string {
	g.out.Reset()
	g.line("sh = 0\nq = [1]\nw = q\nd = {}\ndef flag(x):\n  if x: return 1\n  return 0")
	g.line("def f0():\n  " + g.one("return 1 if s1 else 0", "return 7 // s2", "if s1: raise ValueError(4)", "send(9)", "q.append(1)", "global sh\n  if s3: sh = 3"))
	if g.left = 4 + g.IntN(6); g.IntN(4) == 0 {
		g.line("n = m = j0 = j1 = 0")
		g.around = "global n"
		g.depth = -1
		g.list(2 + g.IntN(3))
		g.depth = 0
		g.line("send(j0)\nsend(n)\nsend(m)")
	} else {
		g.line("def main(m):\n  global sh\n  n = j0 = j1 = 0")
		g.defs, g.around = 1, "nonlocal n"
		g.list(2 + g.IntN(3))
		g.defs = 0
		g.line("  send(j0)\n  send(m)\n  return n")
		g.line(g.one("send(main(1))", "send(main(s1))", "try: send(main(1))\nexcept: send(7)", "send(parallel([lambda: main(1), lambda: main(s1)]))",
			"try: parallel([lambda: main(1), lambda: send(6) or main(2), f0])\nexcept: send(7)", "for j0 in [0, 1]: send(main(j0))"))
	}
	g.line("send(sh)\nsend(len(q))\nsend(d)\nsend(quota())")
	return g.out.String()
}

func newControlCase(r *rand.Rand, seed uint64) (*niCase, error) {
	g := controlGen{Rand: r}
	return caseOf(r, seed, []string{prelude, g.program()}, []int{10, 30, 55}[r.IntN(3)], len(observers))
}

// TestNoninterferenceOfControl compares pairs of runs of programs that are little more than control.
func TestNoninterferenceOfControl(t *testing.T) {
	n := tally{newCase: newControlCase}
	n.run(t, 20)
}
