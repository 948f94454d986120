package eval

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// smallGen makes programs of a few statements: one construct of the language on operands each of which is low or labelled, in one
// of the ways that labels tell apart: the value itself, what is in it, how much is in it, which of two it is, that it was
// changed. In a large program one label hides what another shows; here there is little else.
//
// Constructs (testdata/constructs-*.txt, gen_small_text_test.go) are templates: $kind is an operand of a kind, and #1 the name of the first operand, #2 of the second.
type smallGen struct {
	*rand.Rand
	setup strings.Builder // the statements before the construct
	names int
	conds []string  // the conditions that were written
	about construct // which the first program is about; the zero construct: any
	used  []construct
}

// construct is a template, of an expression or of statements.
type construct struct {
	text   string
	isExpr bool
}

// smallKind is a kind of operands.
type smallKind struct {
	consts  []string // low values, some of which no construct takes
	shapes  []string // templates with other operands in them
	grows   []string // statements that change the value of the name #
	secrets []string // inputs
}

func (g *smallGen) one(list []string) string { return list[g.IntN(len(list))] }

func (g *smallGen) chance(n int) bool { return g.IntN(100) < n }

// line writes a statement before the construct.
func (g *smallGen) line(s string) {
	g.setup.WriteString(s + "\n")
}

func (g *smallGen) fresh() string {
	g.names++
	return "w" + strconv.Itoa(g.names)
}

// cond is a condition on an input. A program has few inputs: one that is labelled decides for several operands.
func (g *smallGen) cond() string {
	if len(g.conds) == 0 || g.chance(40) {
		g.conds = append(g.conds, g.one(smallConds))
	}
	return g.one(g.conds)
}

// kind is a kind that a name stands for.
func (g *smallGen) kind(name string) (string, *smallKind) {
	if among, ok := smallGroups[name]; ok {
		name = g.one(among)
	}
	k := smallKinds[name]
	if k == nil {
		panic("no kind " + name)
	}
	return name, k
}

// low is an expression without labels.
func (g *smallGen) low(name string) string {
	_, k := g.kind(name)
	if len(k.shapes) > 0 && (len(k.consts) == 0 || g.chance(15)) {
		return g.fill(g.one(k.shapes), func(name string) string { return g.low(name) })
	}
	return g.one(k.consts)
}

// other is a low value that may be there instead of one of a kind: mostly one of its kind, and else what a construct does not take.
func (g *smallGen) other(group, name string) string {
	switch n := g.IntN(8); {
	case n == 0:
		return g.low("any")
	case n < 4:
		return g.low(group)
	}
	return g.low(name)
}

// bound binds a value to a name.
func (g *smallGen) bound(x string) string {
	n := g.fresh()
	g.line(n + " = " + x)
	return n
}

// high is an expression that is labelled in one way or other.
func (g *smallGen) high(group string) string {
	name, k := g.kind(group)
	for {
		switch g.IntN(8) {
		case 0: // which of two constants
			return "(" + g.low(name) + " if " + g.cond() + " else " + g.other(group, name) + ")"
		case 1: // which of two objects
			return "(" + g.bound(g.low(name)) + " if " + g.cond() + " else " + g.bound(g.other(group, name)) + ")"
		case 2:
			x, y := g.bound(g.low(name)), g.bound(g.other(group, name))
			if g.chance(50) {
				return "[" + x + ", " + y + "][1 if " + g.cond() + " else 0]"
			}
			return "{False: " + x + ", True: " + y + "}[bool(" + g.cond() + ")]"
		case 3: // what is in it
			if len(k.shapes) == 0 {
				continue
			}
			shape := g.one(k.shapes)
			holes := strings.Count(shape, "$")
			if holes == 0 {
				continue
			}
			one := g.IntN(holes)
			return g.fill(shape, func(name string) string {
				one--
				if one == -1 || g.chance(15) {
					return g.high(name)
				}
				return g.low(name)
			})
		case 4: // how much is in it
			if len(k.grows) == 0 {
				continue
			}
			n := g.bound(g.low(name))
			grow := strings.ReplaceAll(g.one(k.grows), "#", n)
			switch g.IntN(3) {
			case 0:
				g.line("if " + g.cond() + ": " + grow)
			case 1:
				g.line("for w0 in ([0] if " + g.cond() + " else []): " + grow)
			default:
				g.line("if " + g.cond() + ": " + strings.ReplaceAll(g.one(k.grows), "#", n) + "\nelse: " + grow)
			}
			return n
		case 5: // that it was bound
			n := g.bound(g.low(name))
			g.line("if " + g.cond() + ": " + n + " = " + g.other(group, name))
			return n
		case 6:
			if len(k.secrets) == 0 {
				continue
			}
			return g.one(k.secrets)
		case 7: // what is in a thing that is low
			return g.within(g.high(name))
		}
	}
}

// within takes a value through a container or a function.
func (g *smallGen) within(x string) string {
	t := g.one([]string{"[@][0]", "(0, @)[1]", "{0: @}[0]", "(lambda z: z)(@)", "struct(a = @).a", "@"})
	return strings.Replace(t, "@", x, 1)
}

// fill replaces the holes of a template.
func (g *smallGen) fill(t string, operand func(kind string) string) string {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(t, "$")
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		n := 0
		for n < len(rest) && 'a' <= rest[n] && rest[n] <= 'z' {
			n++
		}
		out.WriteString(enclosed(operand(rest[:n])))
		t = rest[n:]
	}
}

// enclosed puts an expression into parentheses, unless it is a name in small letters.
func enclosed(x string) string {
	if x[0] >= 'a' && strings.Trim(x, "abcdefghijklmnopqrstuvwxyz0123456789") == "" {
		return x
	}
	return "(" + x + ")"
}

// construct fills the template of a construct, a part of whose operands are labelled.
func (g *smallGen) construct(t string) string {
	holes := strings.Count(t, "$")
	sure := -1
	if holes > 0 && g.chance(95) {
		sure = g.IntN(holes)
	}
	var operands []string
	i := 0
	s := g.fill(t, func(kind string) string {
		var x string
		if i == sure || g.chance(25) {
			x = g.high(kind)
		} else {
			x = g.low(kind)
		}
		i++
		if strings.Contains(t, "#"+strconv.Itoa(i)) || g.chance(50) {
			x = g.bound(x)
		}
		operands = append(operands, enclosed(x))
		return x
	})
	for i, x := range operands {
		s = strings.ReplaceAll(s, "#"+strconv.Itoa(i+1), x)
	}
	return s
}

func indented(s string) string { return "  " + strings.ReplaceAll(s, "\n", "\n  ") }

// wrapped puts statements into a context.
func (g *smallGen) wrapped(s string) string {
	for g.chance(20) {
		switch g.IntN(11) {
		case 0:
			s = "if " + g.cond() + ":\n" + indented(s)
		case 1:
			s = "if " + g.cond() + ":\n  pass\nelse:\n" + indented(s)
		case 2:
			s = "for v1 in [0, 1]:\n" + indented(s)
		case 3:
			s = "for v1 in " + g.high("iter") + ":\n" + indented(s)
		case 4:
			s = "while v0 < 2:\n  v0 += 1\n" + indented(s)
		case 5:
			s = "try:\n" + indented(s) + "\nexcept " + g.one([]string{"ValueError", "TypeError", "LookupError", "Exception", "(KeyError, ZeroDivisionError)"}) + ":\n  v0 = 3"
		case 6:
			s = "try:\n" + indented(s) + "\n  v0 = 1\nexcept Exception as v2:\n  v0 = str(v2)\nelse:\n  v0 = 4\nfinally:\n  v1 = 1"
		case 7:
			s = "try:\n" + indented(s) + "\nfinally:\n  v0 = 2"
		case 8:
			s = "try:\n" + indented(s) + "\n  send(3)\nexcept: send(2)"
		case 9:
			s = "if " + g.cond() + " or " + g.cond() + ":\n" + indented(s)
		case 10:
			s = "for v1 in [0, 1]:\n  if " + g.cond() + ": " + g.one([]string{"continue", "break"}) + "\n" + indented(s)
		}
	}
	return s
}

// program writes a program around the construct of a template.
func (g *smallGen) program(template string, isExpr bool) string {
	g.setup.Reset()
	s := g.construct(template)
	if isExpr {
		switch n := g.IntN(20); {
		case n < 8:
			s = "q0 = " + s
		case n < 11:
			s = "send(" + s + ")"
		case n == 11:
			s = s + "\nsend(1)"
		case n == 12:
			s = "q0 = [" + s + " for v1 in [0, 1]]"
		case n == 13 && !strings.Contains(s, ":="): // no lambda assigns
			s = "q0 = (lambda: " + s + ")()"
		case n == 14:
			s = "if " + s + ": v0 = 1"
		case n == 15:
			s = "q0 = [" + s + "]\nif " + g.cond() + ": q0.append(1)"
		case n == 16:
			s = "def r1(): return " + s + "\nq0 = r1()"
		case n == 17:
			s = "q0 = [v1 for v1 in [0, 1] if " + g.cond() + " for v2 in [" + s + "]]"
		default:
			s = "try: q0 = " + s + "\nexcept: q0 = 2"
		}
	} else if g.chance(30) {
		s = "try:\n" + indented(s) + "\nexcept: v0 = 2"
	}
	s = g.wrapped(s)
	if g.chance(25) {
		s += "\nsend(" + g.one([]string{"1", "v0", "quota()", "q0"}) + ")"
	}
	var out strings.Builder
	out.WriteString("v0 = 0\nq0 = None\nq9 = []\n")
	s = g.setup.String() + s
	if g.chance(15) && !strings.Contains(s, "global ") {
		s = "def r0():\n  v0 = 0\n  q0 = None\n" + indented(s) + "\n  return [q0, v0]\nq1 = r0()"
	}
	out.WriteString(s + "\n")
	if g.chance(30) {
		out.WriteString("send(5)\n")
	}
	return out.String()
}

// programs returns the turns of a session, the first of which has nothing in it.
func (g *smallGen) programs() []string {
	turns := []string{""}
	for range 1 + max(0, g.IntN(8)-6) {
		c := construct{}
		switch n := g.IntN(20); {
		case g.about != c && len(g.used) == 0:
			c = g.about
		case n < 9:
			c = construct{g.one(smallExprs), true}
		case n < 12:
			c = construct{g.one(wideExprs), true}
		case n < 18:
			c = construct{g.one(smallStmts), false}
		default:
			c = construct{g.one(wideStmts), false}
		}
		g.used = append(g.used, c)
		turns = append(turns, g.program(c.text, c.isExpr))
	}
	imported(turns)
	return turns
}

// imported puts the imports that programs need in front of them.
func imported(turns []string) {
	had := ""
	for i, s := range turns {
		for _, m := range smallModules {
			if strings.Contains(s, m+".") && !strings.Contains(had, m+".") {
				turns[i] = "import " + m + "\n" + turns[i]
			}
		}
		if strings.Contains(s, "pt") && !strings.Contains(had, "pt = ") {
			turns[i] = "from collections import namedtuple\npt = namedtuple('pt', 'a b', defaults = [7])\n" + turns[i]
		}
		had += turns[i]
	}
}

// TestSmallCoverage runs each construct, and looks for builtins that none of them calls.
func TestSmallCoverage(t *testing.T) {
	called := map[string]bool{}
	run := func(template string, isExpr bool) {
		for s := range uint64(4) {
			r := rand.New(rand.NewPCG(s, 3))
			turns := []string{(&smallGen{Rand: r}).program(template, isExpr)}
			imported(turns)
			p, err := compileTurns(turns, inputNames)
			if err != nil {
				t.Fatalf("%v\n%s", err, turns[0])
			}
			in := randomInputs(r, 10)
			tr, err := p.runGiven(&in, nil, false)
			if err != nil {
				t.Fatalf("%v\n%s", err, turns[0])
			}
			for _, e := range tr.events {
				if e.asked {
					called[e.what] = true
				}
			}
		}
	}
	for _, s := range slices.Concat(smallExprs, wideExprs) {
		run(s, true)
	}
	for _, s := range slices.Concat(smallStmts, wideStmts) {
		run(s, false)
	}
	for _, name := range decided[1:] {
		_, isClass := errorClasses[name]
		f, ok := universe[name]
		if isClass || strings.HasPrefix(name, "<") || ok && f.builtin().def.index == 0 {
			continue // nobody is asked about them
		}
		if !called[name] {
			t.Errorf("no construct of the generator calls %s: add one to testdata/constructs-expressions.txt", name)
		}
	}
}

var smallModules = []string{"collections", "copy", "csv", "datetime", "heapq", "html", "io", "math", "re", "itertools", "textwrap", "statistics", "functools", "base64", "hashlib", "string"}

// smallConds are conditions.
var smallConds = []string{"s1 > 1", "s1", "s2 > 1", "s2 == 1", "b1", "x1", "ml[0] > 1", "hl", "len(hd) > 1", "ht[0]", "hr.a > 1", "rl"}
