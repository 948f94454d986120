package eval

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"callgate/engine/label"
)

// turnsGen writes sessions of some short turns, which meet in the names that they leave, in functions of the turns before, in the
// record of calls and in the floor.
//
// In its templates, a hole is % and the name of one of turnsWords, and a line that is ` stands for some statements.
type turnsGen struct {
	*rand.Rand
	out   strings.Builder
	left  int // holes that are filled with more than a word
	fn    bool
	depth int
}

// turnsWords are what holes are filled with: short ones, and ones with holes.
var turnsWords = map[byte][2][]string{
	// numbers
	'd': {
		{"s1", "s2", "s3", "b1", "s1", "s2", "v0", "v1", "v0", "v1", "len(q)", "0", "1", "2", "va"},
		{"%d + 1", "ml[%n]", "recv()", "attempt(look, %d).ok", "quota()", "choose(%d, [0, 1, 2, 3, True, False])", "%e", "%f()", "len(%l)", "d.get('k', %d)", "(v2 if %c else %d)", "(%f() if %c else %d)", "endorse(%c == True, 'user', 'w')", "mail(%n).kind", "later()", "step()"},
	},
	'n': {{"0", "1", "2"}, nil},
	// conditions
	'c': {
		{"s1", "s2", "s3", "b1", "s1", "s2", "v0", "v1"},
		{"not %c", "%d > %n", "%d == %n", "%c and %c", "%c or %c", "attempt(look, %d).ok", "attempt(pay, %d).ok", "quota()", "any(%c for z in %l)", "endorse(%c == True, 'user', 'w')", "recv()", "%d in %l"},
	},
	// names that are bound, those that need not be, and functions
	'v': {{"v0", "v1", "v0", "v1", "v2", "v3", "va"}, nil},
	'u': {{"v2", "v3", "mo", "f3"}, nil},
	'f': {{"f0", "f1", "f2", "f0", "f1"}, {"(f0 if %c else f1)", "(fs or [f2])[-1]", "(fs or [f2])[0]", "(lambda: %d)", "[f0, f1][%n % 2]"}},
	'g': {{"f0", "f1", "f2", "f3", "f0"}, nil},
	// lists
	'l': {{"[2, 1]", "hl", "q", "ml", "rl", "[0, 1]", "hs", "[1]", "[]"}, {"[0, %d]", "[2, 1][:%n + %d % 2]", "([1] if %c else [])", "[%d, %d]"}},
	// functions of one
	'k': {
		{"(lambda z: v0)", "(lambda z: send(z))", "kf", "(lambda z: -z)", "bool"},
		{"(lambda z: z if %c else -z)", "(lambda z: 7 // (z - %d))", "(lambda z: q.append(z) or z)", "(lambda z: %f() or z)", "(lambda z: send(z) or %d)", "(lambda z: attempt(look, z).ok)", "(kf if %c else bool)", "(lambda z: %d)", "(lambda z: z in q)", "(lambda z: recv() or z)", "(lambda z: look(z + %d))"},
	},
	// what calls functions of one
	'e': {
		{"len(sorted([2, 1], key = kf))", "max([1, 2], key = kf)"},
		{"sorted(%l, key = %k)", "len(map(%k, %l))", "len(filter(%k, %l))", "max([1, 2], key = %k)", "min([2, %d], key = %k)", "sum(map(%k, [0, 1]))", "any(%f() for z in %l)", "next((%f() for z in %l if %c), 0)", "[%f() for z in %l]", "max(%l, key = %k, default = 0)"},
	},
}

// turnsStmts are statements, those that have blocks last.
var turnsStmts = []string{
	"send(%d)", "send(%d)", "send(%n)", "send(%e)", "print(%d)", "%v = %d", "%v = %d", "%v = %n", "%v = %e", "if %c: %v = %d", "if %c: %v = %n", "if %c: send(%n)", "v0 += 1", "v1 += %d", "if %c: v0 += 1", "%c and send(%n)", "%c and (%u := %d)", "(%v := %d)",
	"q.append(%d)", "if %c: q.append(1)", "w.append(%n)", "if %c: q = [%d]", "if %c: w = []", "d['k'] = %d", "if %c: d['k'] = 1", "if 'k' in d: del d['k']", "if %c: d.clear()", "if q: q.pop()", "send(len(q))", "send(d)", "if %c: d['f'] = f0", "if 'f' in d: d['f']()",
	"%g = %f", "if %c: %g = %f", "%g = lambda: %d", "if %c: %g = lambda: send(%d)", "%g = lambda: send(%n)", "%g = lambda y = %d: y", "if %c: kf = %k", "kf = %k", "%f()", "send(%f())", "if %c: %f()", "%v = %f()", "for z in %l: %f()",
	"fs.append(lambda: %d)", "fs.append(lambda y = %d: y)", "if %c: fs.append(lambda: %n)", "fs.append(%f)", "[fs.append(lambda: z) for z in %l]", "fs = [(lambda: z) for z in %l]", "if %c: [fs.append(lambda: z) for z in %l]", "for z in fs[:3]: z()", "if fs: send(fs[%n % len(fs)]())", "if fs: fs.pop()", "send([z() for z in fs[:2]])", "send(later())", "send(step())", "if %c: step()", "later = make(%d)", "if %c: later = make(%n)", "if %c: step = later",
	"if %c: import math as mo", "from statistics import mean as mo", "if %c: from statistics import mean as mo", "import math as mo", "if %c: send(mo)", "class K0:\n  a = %d", "if %c:\n  class K0:\n    a = %d", "send(K0.a)",
	"for %u in %l: pass", "for v2 in %l: send(v2)", "for %v in %l: %f()", "for v3 in %l:\n  if %c: break", "while %c:\n  %u = 1\n  break", "for v2 in %l:\n  if %c: continue\n  v3 = v2",
	"if %c: send(%u)", "if %c: %u", "try: %u\nexcept: send(%n)", "try: send(%u)\nexcept NameError: pass\nexcept: %v = %n", "try: v0 = v2\nexcept: pass", "try: f3()\nexcept: %v = 1", "try: v0 = mo\nexcept: pass",
	"try: 7 // %d\nexcept ZeroDivisionError as v3: %v = %n", "try: 7 // %d\nexcept ZeroDivisionError as v3: send(str(v3))\nif %c: v3", "try: %v = 7 // %d\nexcept: %u = %n", "try:\n  %v = %d\n  7 // %d\n  %v = %n\nexcept: pass", "try: %v = %f()\nexcept: %v = %n", "try: %f()\nexcept: send(%n)\nelse: %v = %n", "try: %f()\nfinally: %v = %n", "try:\n  %u = 1 // %d\n  send(%n)\nexcept Exception: pass", "try: %e\nexcept: send(%n)", "try: send(%e)\nexcept Exception as v3: %v = 1",
	"ap = q.append", "if %c: ap = [].append", "ap(%d)", "if %c: ap(1)", "map(ap, %l)", "box = struct(get = %f, n = %d)", "if %c: box = struct(get = %f, n = 1)", "box.get()", "if %c: box.get()", "if %c: box.get()", "%c and box.get()", "[box.get() for z in %l]", "if %c: %v = box.get()", "if %c: q.sort(key = %k)", "if %c: df[%d]", "send(box.n)", "if %c: send(box.get())", "try: 7 // %d\nexcept Exception as v3: ex = v3", "try: raise ValueError(%d)\nexcept Exception as v3: ex = v3", "if %c: ex = KeyError(%d)", "send(str(ex))", "try:\n  if ex: raise ex\nexcept ValueError: send(%n)\nexcept Exception: %v = %n", "send(di[%n])", "if %c: di[%n]", "df[%d]", "send(len(df))", "if %c: df = collections.defaultdict(%f)", "di[%d] += 1", "send(len(di))",
	"parallel([%g, %g])", "send(parallel([%f, lambda: %d]))", "try: parallel([%g, lambda: 7 // %d])\nexcept: send(%n)", "try: %v = len(parallel([f0, later, step]))\nexcept: %v = %n", "if %c: parallel([%g])", "parallel(fs[:2])", "try: parallel(fs[-2:])\nexcept: pass",
	"attempt(look, %d)", "send(attempt(look, %d).ok)", "send(attempt(div, 7, %d).value)", "send(attempt(div, 7, %d).code)", "if attempt(look, %d).ok: %v = %n", "attempt(look if %c else pay, 2)", "send(attempt(send, %d).ok)", "try: attempt(%f)\nexcept: send(%n)", "attempt(div, %n, x = %d)", "%v = attempt(poll)", "send(attempt(poll).ok)", "attempt(pay, %d)", "if %c: attempt(pay, 1)", "try: look(%d)\nexcept ToolError: %v = %n", "try: send(poll())\nexcept: send(%n)", "try: poll()\nexcept: %v = %n", "try: pay(%d)\nexcept Denied: send(%n)", "try: %v = div(7, %d)\nexcept: %u = 0", "try: look(%n)\nexcept: pass",
	"%v = endorse(%c == True, 'user', 'w')", "if endorse(%c == True, 'user', 'w'): send(%n)", "if %c: %v = endorse(%c == True, 'user', 'w')", "try: %v = endorse(%d, 'user', 'w')\nexcept: send(%n)", "try: %v = declassify(%d, ['eve', 'ann', 'bob'], 'w')\nexcept: %v = %n", "if %c: %v = declassify(%n, ['eve'], 'w')", "try: %v = endorse(%d, 'user', 'w', options = [0, 2, %d])\nexcept Denied: pass", "try: send(declassify(%d, ['ann'] if %c else ['bob'], 'w'))\nexcept: send(%n)", "send(choose(%d, [0, 1, 2, 3, True, False]))", "try: %v = choose(%d, [1, %d])\nexcept: %v = %n", "try: send(choose(%d, %l))\nexcept ValueError: send(%n)\nexcept: pass",
	"recv()", "send(recv())", "if %c: recv()", "send(quota())", "if %c: quota()", "if quota(): send(%n)", "%v = quota()", "mail(%n)", "send(mail(%n).body)", "if mail(%n).flag: %v = 1", "for z in inbox(): send(z.id)", "try: %g = lambda: 7 // %d\nexcept: pass",
	"if %c:\n`", "if %c:\n`", "if %c:\n`else:\n`", "for z in %l:\n`", "try:\n`except:\n`", "try:\n`except Exception as v3:\n`else:\n`", "try:\n`finally:\n`", "while %c:\n`  break", "def %g():\n^", "def %g():\n^", "if %c:\n  def %g():\n^", "def kf(z):\n^",
}

// turnsBlocks is how many of turnsStmts, at the end, have blocks.
const turnsBlocks = 12

// turnsBodies are what functions do.
var turnsBodies = []string{
	"return %d", "return v0", "return v1 + len(q)", "return v2", "global v0\nv0 = %d\nreturn 1", "global v1\nif %c: v1 = %d\nreturn v0", "global v0\nv0 += 1\nreturn v0", "global v2\nv2 = %d\nreturn 0", "global v1\nfor v1 in %l: pass\nreturn 1", "global f2\nif %c: f2 = lambda: %d\nreturn 2", "global va\nreturn (va := %d)",
	"send(%d)\nreturn 1", "if %c: send(%n)\nreturn 1", "q.append(%d)\nreturn len(q)", "if %c: return %d\nsend(%n)\nreturn 2", "for z in %l:\n  if %c: return z\nreturn 5", "return len(d)", "d['k'] = %d\nreturn 1", "return f2()", "if %c: return f2()\nreturn 1", "return [later(), 1][1]", "return step()", "return attempt(look, %d).ok", "return recv()", "return quota()", "return 7 // %d",
	"try: return 7 // %d\nexcept: return %n", "try: look(%d)\nexcept: return 3\nreturn 4", "try: send(%n)\nfinally: q.append(1)\nreturn 6", "global v0\ntry: v0 = 7 // %d\nexcept: v0 = %n\nreturn v0", "global v1\ntry:\n  v1 = 1\n  7 // %d\n  v1 = 2\nexcept: pass\nreturn 1", "if %c: raise ValueError(%d)\nreturn 1", "look(%d)\nreturn 2", "if %c: done(%d)\nreturn 1", "if %c: q.append(1)\nreturn 0", "x = [%d]\nfs.append(lambda: x[0])\nif %c: x[0] = 1\nreturn 1", "x = 0\ndef g():\n  nonlocal x\n  x += 1\n  return x\nif %c: g()\nfs.append(g)\nreturn x",
	"return (lambda: %d)()", "return sum([z for z in [1, %d]])", "return max([1, 2], key = %k)", "return len(sorted(%l, key = %k))", "if %c: return", "%e\nreturn 1", "return K0.a", "global ex\ntry: look(%d)\nexcept Exception as e: ex = e\nreturn 1", "return box.get()", "ap(%d)\nreturn 1", "return len(parallel([later, lambda: %d]))", "global v0\nparallel([later, step])\nv0 = %d\nreturn v0", "return df[%d]", "global v1\nparallel([lambda: send(%n), lambda: %d])\nv1 += 1\nreturn 1",
}

// turnsEnders may end a turn.
var turnsEnders = []string{
	"done()", "done(%d)", "done([%d])", "if %c: done(%d)", "if %c: done()", "%c and done()", "[done(z) for z in %l]", "sorted([1, %d], key = lambda z: done(z))", "try: done(%d)\nfinally: send(5)", "try: done([%d])\nexcept: send(6)", "for z in %l:\n  if %c: done(z)\n  send(z)", "try:\n  if %c: done()\n  7 // %d\nexcept: %v = 1",
	"7 // %d", "7 // %d", "raise ValueError(%d)", "if %c: raise ValueError(%d)", "fail(%d)", "if %c: fail('x')", "assert %c", "%u", "send(%u)", "%f()", "f3()", "%v = %f()", "q[%d]", "d['k']", "d[%d]", "look(%d)", "pay(%d)", "poll()", "div(7, %d)", "%v = div(%n, %d)", "choose(%d, %l)", "endorse(%d, 'user', 'w')", "declassify(%d, ['eve'], 'w')", "attempt(%f)",
	"ask(%d)", "if %c: ask(1)", "attempt(ask, %d)", "try: ask(%d)\nexcept: send(7)", "try: 7 // %d\nfinally: %v = 1", "try: %f()\nfinally: done()", "try: 7 // %d\nexcept: raise", "max([1, %d], key = lambda z: 7 // (z - %d))", "map(%f, [1])", "if %c: while_ = 1 // 0", "for z in [0, 1]: 7 // (%d - z)", "with_ = mo", "fs[%n]()", "rec(%d * 30)", "while %c: pass", "for z in range(99): recv()",
}

// turnsRejected are turns that do not compile.
var turnsRejected = []string{"send(\n", "v0 = 5\nsend(zz9)\n", "def f0():\n  nonlocal v0\nv1 = 2\n", "return 1\n", "v8 = \n", "break\n", "load('x', 'v0')\n", "f9 = 1\nif s1: zz8\n"}

func (g *turnsGen) one(list []string) string { return list[g.IntN(len(list))] }

// fill fills the holes of a template.
func (g *turnsGen) fill(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' || i+1 == len(s) || s[i+1] == ' ' {
			b.WriteByte(s[i])
			continue
		}
		i++
		w, ok := turnsWords[s[i]]
		if !ok {
			panic("no hole " + s[i:i+1])
		}
		if g.left--; g.left >= 0 && len(w[1]) > 0 && g.IntN(3) == 0 {
			b.WriteString(g.fill(g.one(w[1])))
		} else {
			b.WriteString(g.one(w[0]))
		}
	}
	return b.String()
}

// put writes a template's lines.
func (g *turnsGen) put(s string) {
	fn := g.fn
	for line := range strings.SplitSeq(s, "\n") {
		switch {
		case line == "`" || strings.HasPrefix(line, "`"):
			g.depth++
			for range 1 + g.IntN(5)/2 {
				g.stmt()
			}
			g.depth--
			if line = line[1:]; line != "" {
				g.line(line)
			}
		case line == "^":
			g.body()
		default:
			g.line(line)
		}
	}
	g.fn = fn
}

func (g *turnsGen) line(s string) {
	g.out.WriteString(strings.Repeat("  ", g.depth))
	g.out.WriteString(s)
	g.out.WriteByte('\n')
}

// body writes the body of a function, deeper than the line before.
func (g *turnsGen) body() {
	text := g.out.String()
	last := text[strings.LastIndexByte(text[:len(text)-1], '\n')+1:]
	was := g.depth
	g.depth = (len(last)-len(strings.TrimLeft(last, " ")))/2 + 1
	g.left = 2
	for line := range strings.SplitSeq(g.fill(g.one(turnsBodies)), "\n") {
		g.line(line)
	}
	g.depth = was
}

func (g *turnsGen) stmt() {
	g.left = g.IntN(4)
	n := len(turnsStmts)
	if g.depth > 2 {
		n -= turnsBlocks
	}
	i := g.IntN(n)
	if g.depth <= 2 && g.IntN(6) == 0 {
		i = n - 1 - g.IntN(turnsBlocks)
	}
	g.put(g.fill(turnsStmts[i]))
}

// turn writes a turn.
func (g *turnsGen) turn(first bool) string {
	g.out.Reset()
	if first {
		g.line("v0 = 1\nv1 = 2\nva = 0\nq = [1]\nw = q\nd = {}\nfs = []\ndef kf(z): return z\nclass K0:\n  a = 1\ndef make(n):\n  def g():\n    nonlocal n\n    n += 1\n    return n\n  return g\nlater = make(0)\nstep = make(5)\nap = q.append\nbox = struct(get = lambda: send(3) or 1, n = 1)\nex = None\ndf = collections.defaultdict(lambda: send(4) or 1)")
		g.left = 0 // no name that this binds
		g.line(g.fill(g.one([]string{"if i0 > 9:", "if i0 > 9:", "if %c and i0 > 9:", "while i0 > 9:", "if %c:"})) + "\n  v2 = 3\n  v3 = mo = f3 = 4")
		for i := range 3 {
			g.line(fmt.Sprintf("def f%d():", i))
			g.body()
		}
	}
	for range 2 + g.IntN(3) {
		g.stmt()
	}
	if n := g.IntN(10); n < 4 {
		g.left = g.IntN(3)
		s := g.fill(g.one(turnsEnders))
		if n == 0 {
			s = "try:\n  " + strings.ReplaceAll(s, "\n", "\n  ") + "\nexcept: send(8)"
		}
		g.put(s)
		if n < 2 {
			g.stmt()
		}
	}
	return g.out.String()
}

// programs writes a session's turns.
func (g *turnsGen) programs() []string {
	turns := []string{prelude, g.turn(true)}
	for n := 1 + g.IntN(3); n > 0; n-- {
		if g.IntN(12) == 0 {
			turns = append(turns, rejected+g.one(turnsRejected))
		}
		turns = append(turns, g.turn(false))
	}
	last := "send(quota())\nsend(v0)\nsend(v1)\nsend(len(q))\nsend(quota())\n"
	if g.IntN(2) == 0 {
		last = "send(va)\ntry: send(f0())\nexcept: send(9)\nsend(d)\nsend(step())\nsend(quota())\n"
	}
	turns[len(turns)-1] += last
	return turns
}

func newTurnsCase(r *rand.Rand, seed uint64) (*niCase, error) {
	g := turnsGen{Rand: r}
	turns := g.programs()
	c, err := caseOf(r, seed, turns, []int{10, 30, 55, 80}[r.IntN(4)], len(observers))
	if err != nil {
		return nil, err
	}
	if r.IntN(4) == 0 { // many write the turns, one of them with less trust, or for fewer
		c.authors = slices.Repeat([]label.Label{lowLabel}, len(turns))
		for range 1 + r.IntN(2) {
			c.authors[1+r.IntN(len(turns)-1)] = niLabels[r.IntN(len(niLabels))].Join(lowLabel)
		}
		if err := c.writeInstead(&g); err != nil {
			return nil, err
		}
	}
	c.again = r.IntN(10) == 0
	return c, nil
}

// writeInstead makes variants in which an author has written another turn. Who may not know what he knew sees no difference.
func (c *niCase) writeInstead(g *turnsGen) error {
	n := 1 + g.IntN(len(c.turns)-1)
	sees := seenBy(c.authors[n])
	if sees == everybody || c.authors[n].SameClass(lowLabel) {
		return nil
	}
	c.instead = slices.Clone(c.turns)
	if c.instead[n] = g.turn(n == 1); n > 1 && g.IntN(4) == 0 {
		c.instead[n] = rejected + g.one(turnsRejected)
	}
	if err := c.compile(); err != nil {
		return err
	}
	used := c.program.uses()
	for _, o := range observers {
		if !o.sees(c.authors[n]) && len(c.others) < 12 && g.IntN(2) == 0 {
			in, who := c.base.vary(g.Rand, o, &used)
			c.others = append(c.others, variant{in, o, who | sees, true})
		}
	}
	return nil
}

// TestNoninterferenceOfTurns compares pairs of runs of sessions of several turns.
func TestNoninterferenceOfTurns(t *testing.T) {
	n := tally{newCase: newTurnsCase}
	n.run(t, 20)
}
