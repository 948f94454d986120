package eval

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// heapGen writes programs that are little more than containers: known under several names, in each other, in closures and defaults; changed under
// branches and in tries, here and in functions that call each other; and read.
type heapGen struct {
	*rand.Rand
	out                  strings.Builder
	depth                int
	vars                 int    // of the loops around
	trys                 int    // around
	loops                int    // around, in this function
	excs                 int    // handlers around
	defs                 int    // functions around
	fn                   int    // functions so far
	left                 int    // compound statements to be written still
	deep                 int    // choices around
	binds                string // the names that the function may bind
	parts                map[byte][]string
	writes, risks, reads []string
	inside               bool // of a function, rather than at the top
}

// heapParts are what the letters of templates stand for: a list, a dict, a set, a deque; a number, a key, an index, a condition.
// The names x0 and y0 are of lists and dicts that have other names.
var heapParts = map[byte][]string{
	'L': {
		"la", "la", "la", "lb", "lb", "x0", "x0", "tu[0]", "st.a", "lc[0]", "lc[$I]", "[la, lb][$I]", "dl['p']", "dl['q']", "dd[$K]", "df($V)", "own()", "hl", "ml", "rl",
		"($L if $C else $L)", "($L if $C else $L)", "($C and $L or $L)", "same($L)", "pick($C, $L, $L)", "(lambda: $L)()", "dl.get($K, la)", "dl.setdefault($K, $L)", "get()", "[$V]", "$L[:]", "list($L)",
	},
	'l': {"la", "la", "lb", "x0"},
	'n': {"la", "la", "la", "lb", "x0", "rl", "hl", "ml"},
	'D': {"da", "da", "da", "db", "y0", "y0", "st.b", "hd", "md", "rd", "($D if $C else $D)", "($D if $C else $D)", "same($D)", "dict($D)", "od"},
	'd': {"da", "da", "db", "y0"},
	'S': {"sa", "sa", "sb", "hs", "(sa if $C else sb)"},
	'Q': {"qa", "qa", "qb", "(qa if $C else qb)"},
	'V': {"s1", "s1", "s2", "s3", "s2", "int(b1)", "0", "1", "2", "n", "m", "j0", "j0", "len($L)", "len($D)", "sum($L)"},
	'K': {"'p'", "'p'", "'q'", "1", "s1", "s2", "x1", "(1, s3)", "j0"},
	'I': {"0", "-1", "s1 % 2", "s2 % 2", "s3 % 2", "n % 2", "(1 if $C else 0)"},
	'C': {
		"$V", "$V", "$V", "$V", "b1", "not $V", "$V > 1", "$V == 1", "$V in $L", "$K in $D", "$V in $S", "len($L) > 2", "$L", "$D", "$S", "$Q", "$L == $L", "$D == $D", "$V and $V", "$V or $V",
		"la != lb", "x1", "$V < $V", "n", "any($L)",
	},
}

// heapWrites seldom fail; heapRisks often do.
var heapWrites = []string{
	"$L.append($V)", "$L.append($V)", "$L.append($V)", "$L.extend($L)", "$L.extend([$V] * $V)", "$L.insert($I, $V)", "$L.reverse()", "$L.clear()", "$l += [$V]", "$l += $L", "$L[:1] = [$V]", "$L[$I:] = [$V, 1]", "$L[$V:$V] = $L", "$l *= 2",
	"$D[$K] = $V", "$D[$K] = $V", "$D['p'] = $V", "$D.update(p = $V)", "$D.update($D)", "$D.update([($K, $V)])", "$D.setdefault($K, $V)", "$D.pop($K, None)", "$D.clear()", "$d |= {$K: $V}", "$d |= $D", "od.move_to_end('p')",
	"$S.add($V)", "$S.add($V)", "$S.discard($V)", "$S.update($L)", "sa |= $S", "$S.clear()",
	"$Q.append($V)", "$Q.appendleft($V)", "$Q.rotate($V)", "$Q.extend($L)", "$Q.clear()", "$Q.reverse()", "qa.extend([$V])", "heapq.heappush($L, $V)", "heapq.heapify($L)",
	"dd[$K].append($V)", "dd[$K] += [$V]", "dd[$K]", "dl.setdefault($K, []).append($V)", "cn[$V] += 1", "cn[$K] += 1", "cn.update([$V, $V])", "cn.subtract($S)", "dn[$K] += 1",
	"h0($L, $V)", "h1($L, $V)", "h2($L, $V)", "h3($L, $V)", "h1(v = $V, x = $L)", "k0($L, $V)", "k0(*[$L, $V])", "k1(x = $L, v = $V)", "k1(**{'x': $L, 'v': $V})", "k2($D, **{'p': $V})", "h0(*($L, $V))",
	"g0($V)", "g1($V)", "g2($V)", "g3($V)", "u0($D, $K, $V)", "u1($D, $K)", "df($V)", "df($V, $L)", "add($V)", "add($V)", "f1($V)", "f1($V)", "f2($K, $V)", "own().append($V)",
	"f1 = $L.append", "f1 = ($L.append if $C else $L.append)", "f1 = sa.add", "f1 = add", "f2 = $D.setdefault", "($L.append if $C else $L.append)($V)", "(h0 if $C else h1)($L, $V)", "(lambda x: x.append($V))($L)", "apply($L.append, $V)", "apply(add, $V)", "apply(g1, $V)",
	"x0 = $L", "x0 = $L", "y0 = $D", "la = $L", "lb = $L", "da = $D", "x0 = $L\nx0.append($V)", "x0, y0 = $L, $D", "la, lb = lb, la", "n, x0 = $V, $L",
	"lc[$I] = $L", "lc.append($L)", "dl[$K] = $L", "dl['p'] = $L", "tu = ($L, $V)", "st = struct(a = $L, b = $D)", "lc[$I].append($V)", "tu[0].append($V)", "st.a.append($V)", "st.b[$K] = $V", "dl['p'].append($V)", "lc.reverse()", "lc[$I] += [$V]", "dl['q'] += [$V]",
	"$L.append($V) if $C else $L.append($V)", "$C and $L.append($V)", "$C or $L.append($V)", "$C and h1($L, $V)", "$C or g1($V)", "[$L.append(z) for z in [1, 2] if $C]", "[h1($L, z) for z in $L[:2]]", "[z for z in $L[:2] if g0(z)]", "x0 = [z for z in $L if $C]", "y0 = {z: $L for z in [1, 'p'] if $C}",
	"if $C: $n.append($V)", "if $C: h0($n, $V)", "if $C: h1($n, $V)", "if $C: g1($V)", "if $C: h5($n, $V)", "if $C: h5($n, $V)", "if $C: g6($V)", "if $C: g6($V)", "if $C: g5($V)", "h5 = (h0 if $C else h4)", "h5 = (h1 if $C else h4)", "if $C: h5 = h0", "g5 = (g0 if $C else g4)", "g5 = (g1 if $C else g4)", "if $C: g5 = g1", "$n.pop($I) if len($n) > 1 else 0",
	"c0($V)", "if $C: c0($V)", "if $C: c1($V)", "if $C: c5($V)", "c5 = (c0 if $C else g4)", "c5 = (c1 if $C else g4)", "(c0 if $C else g4)($V)", "apply(c0, $V)", "$n[$I:] = $n", "$n.sort()", "$L.sort()", "$n.sort(key = lambda z: -z)", "for z in ($n if $C else $n)[:1]: $n.append(z)", "$D[$V], n = $V, $V", "x0 = $n", "x0 = ($n if $C else $n)", "if $C: x0 = $n",
	"if len($n) > 0: $n[$I] = $V", "if la: (la if $C else [0])[0] = $V", "if lb: [[0], lb][$V > 0][-1] = $V", "if $n: ($n if $C else $n)[:1] = [$V]", "if $n: $n[0] = $V", "if $n: $n[-1] += 1", "$D[$K], $D['q'] = $V, 1",
	"n = $V", "m = $V", "n = len($L)", "n += 1", "m = len($D)", "n = sum($L)", "sorted([2, 1], key = lambda z: $L.append(z) or z)", "list(map(g0, $L[:2]))", "list(filter(lambda z: $C and $L.append(z), [1, 2]))", "max([1, 2], key = lambda z: add(z) or z)", "x0 = copy.copy($L)", "y0 = copy.deepcopy($D)",
	"[*$L, $L.append($V)]", "pick($L.append($V), $L, $L).append($V)", "x0 = (w0 := $L)", "[x0 := $L for z in [1] if $C]",
}

var heapRisks = []string{
	"$L.pop()", "$L.pop()", "$L.pop($I)", "$L.pop($V)", "n = $L.pop()", "$L.remove($V)", "del $L[$I]", "del $L[$V]", "$L[$I] = $V", "$L[$V] = 1", "$L[$V] = 1", "$L[$I] += 1", "$L[$V] += $V", "$L.sort()", "la.sort(key = lambda z: $L.append(z) or z)", "$L.index($V)", "$L.sort(key = lambda z: 7 // z)",
	"$D[$K]", "n = $D[$K]", "del $D[$K]", "$D.pop($K)", "$D[$K] += 1", "$D[$K] += $V", "$D.popitem()", "$D.update([($K, $V), $V])", "$D.update([(1, 2), $L])", "$D.update([(1, 2), $L[:2]], q = 1)", "$D[$L] = 1", "od.move_to_end($K)", "y0 = {z: 7 // z for z in $L}", "od.popitem()",
	"$S.remove($V)", "$S.pop()", "$S.add($L)", "$S.update($L, $V)", "$S.update([1, $L])", "$Q.pop()", "$Q.popleft()", "$Q.remove($V)", "$Q[$I] = $V", "$Q.insert($V, $V)", "heapq.heappop($L)", "heapq.heappushpop($L, $V)",
	"$L.append(7 // $V)", "$L.extend([1, 7 // $V])", "$l += [7 // $V]", "$L[7 // $V], n = $V, $V", "n, $L[$V], m = 1, 2, 3", "$L[$V], x0 = 1, $L", "$D[7 // $V], $d = 1, {}", "$L[0], $L[$V] = $V, $V", "[$L.append(7 // z) for z in $L[:3]]", "[$L.append(7 // z) for z in ml]", "h1($L, 7 // $V)", "$L.extend($V)", "$L[::2] = $L", "$L[$V:] = $V",
	"for z in $L: $L.append(z)", "for z in $L: h1($L, z)", "for z in $D: $D[$K] = 1", "for z in $S: $S.add($V)", "for z in $L:\n  if $C: $L.pop()", "[$L.append(z) for z in $L]", "for $L[$I], n in [(1, $V), ($V, 2)]: pass", "for n, *x0 in [$L, [1, 2]]: pass", "n, m = $L", "n, *x0 = $L", "[n, m] = $S", "n, m = $D", "n = max($L)", "n = min($D)",
	"da[7 // $V], n = 1, $V", "da[7 // $V], x0 = $V, $l", "dn[7 // $V], n, m = 1, 2, 3", "v0($V)", "v0($V)", "v1($V)", "($n if $C else $n)[0] = $V", "$n[$V] = 1", "$D.update([(1, 2), $n], q = 1)", "da.update([(1, 2), $n], q = 1)", "c0(7 // $V)", "if $C: c0(7 // $V)", "$n.pop(7 // $V - 7)",
	"fails($L, $V)", "fails($L, $V)", "fails1($L, $V)", "n = fails2($L, $V)", "k2($D, **$D)", "dx[$K]", "send(dict(p = 1, **$D))", "send(dict(**$D))", "send(json.encode($D))", "dx[$K] += 1", "raise ValueError($L)", "raise KeyError(len($L))", "assert $L", "cn.update($D)", "cn.update($L, z = 7 // $V)", "look($L)", "send(div(1, $V))", "apply($V, 1)", "apply(fails, la)", "f3($V)", "struct(a = $L.append($V), b = 7 // $V)",
	"$L.insert($V, 7 // $V)", "$D.setdefault(7 // $V, $V)", "$D.update(p = $V, q = 7 // $V)", "g1(7 // $V)", "add(7 // $V)", "x0 = $L if 7 // $V else $L", "x0, n = $L, 7 // $V", "$l += $V", "$d |= $L", "$L[7 // $V].append(1)", "f1(7 // $V)", "lc[$V].append(1)", "dl[$K].append($V)",
}

var heapReads = []string{
	"send(len($L))", "send(len($l))", "send($l)", "send($L)", "send($V in $L)", "send($K in $D)", "send($L == $L)", "send(sorted($S))", "send(str($L))", "send(str($D))", "send(max([0] + $l))", "send($D)", "send($d)", "send(len($D))", "send(len($S))", "send($S)", "send(list($Q))", "send(len($Q))", "send(sum($l))",
	"send(json.encode($l))", "send(take(*$L))", "send($D.get($K))", "send($D.get('p'))", "send(list($D.items()))", "send(list(reversed($L)))", "send(dd)", "send(len(dd))", "send(cn)", "send(cn[1])", "send(cn.most_common(1))", "send(tu)", "send(st)", "send(lc)", "send(dl)",
	"send(own())", "send(sh)", "send(sh)", "send([z() for z in gets])", "send([z() for z in gets])", "send($n)", "send(len($n))", "send($n == [1])", "send(x0)", "send(n)", "send(df(0))", "send([z for z in $L if $C])", "send({z for z in $L})", "send(list(enumerate($l)))", "send(list(zip($L, $L)))", "send(bool($L))", "send($L[:$I])", "send(n)", "send(m)", "send(1)", "send(2)", "send(w0)", "send(all($L))", "send($l + $l)", "send([*$l])", "send(qa.maxlen)",
}

func (g *heapGen) one(list ...string) string { return list[g.IntN(len(list))] }

// some are n of a list, of which one may be there several times.
func (g *heapGen) some(list []string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = g.one(list...)
	}
	return out
}

// write writes a template at the depth that the program has reached.
func (g *heapGen) write(template string) {
	g.deep = 0
	pad := strings.Repeat("  ", g.depth)
	g.out.WriteString(pad + strings.ReplaceAll(g.fill(template), "\n", "\n"+pad) + "\n")
}

// fill puts something for each letter of a template. A choice within choices is a simple one.
func (g *heapGen) fill(template string) string {
	before, rest, ok := strings.Cut(template, "$")
	if !ok {
		return template
	}
	list := g.parts[rest[0]]
	for {
		x := list[g.IntN(len(list))]
		if g.deep > 1 && strings.Contains(x, "$") || x == "j0" && g.vars == 0 || rest[0] == 'd' && !strings.Contains(g.binds, x) || rest[0] == 'l' && !strings.Contains(g.binds, x) {
			continue
		}
		if g.deep == 0 && rest[0] == 'L' && strings.Contains(x, "$L") && g.IntN(2) == 0 {
			continue
		}
		g.deep++
		x = g.fill(x)
		g.deep--
		return before + x + g.fill(rest[1:])
	}
}

// simple writes a statement that has no others in it.
func (g *heapGen) simple() {
	for {
		var s string
		switch n := g.IntN(20); {
		case n < 8:
			s = g.one(g.writes...)
		case n < 13:
			if g.trys == 0 && g.IntN(12) > 0 {
				continue // an error here ends it all
			}
			s = g.one(g.risks...)
		case n < 17:
			s = g.one(g.reads...)
		case n == 17 && g.loops > 0:
			s = g.one("break", "continue", "continue")
		case n == 18 && g.defs > 0:
			s = "return " + g.one("$V", "$L", "$V", "int(bool($C))")
		case n == 19 && g.excs > 0:
			s = g.one("raise", "send(str(e))", "n = len(str(e))", "send(e.args)", "$L.append(len(str(e)))")
		default:
			continue
		}
		if !g.mayBind(s) {
			continue
		}
		g.write(s)
		return
	}
}

// mayBind reports whether the names that a template binds belong to the function that is being written.
func (g *heapGen) mayBind(s string) bool {
	for line := range strings.SplitSeq(s, "\n") {
		line = strings.TrimPrefix(line, "if $C: ")
		target, _, ok := strings.Cut(line, " = ")
		if ok {
			target = strings.TrimSuffix(target, " :")
		} else if target, _, ok = strings.Cut(line, "= "); ok {
			target, _, _ = strings.Cut(target, " ")
		}
		if strings.Contains(line, ":= ") && g.defs > 1 {
			return false
		}
		if !ok || strings.ContainsAny(target, "(") {
			continue
		}
		for _, n := range strings.Split(target, ", ") {
			n = strings.TrimPrefix(n, "*")
			if !strings.ContainsAny(n, "$[].(") && !strings.Contains(g.binds, n) {
				return false
			}
		}
	}
	return true
}

// list writes some statements.
func (g *heapGen) list(n int) {
	g.depth++
	for range n {
		g.stmt()
	}
	g.depth--
}

func (g *heapGen) body() { g.list(1 + g.IntN(4)/2) }

func (g *heapGen) stmt() {
	if g.left <= 0 || g.depth > 6 || g.IntN(3) == 0 {
		g.simple()
		return
	}
	g.left--
	switch g.IntN(10) {
	case 0, 1, 2, 3:
		g.write("if $C:")
		g.body()
		if g.IntN(3) == 0 {
			g.write("else:")
			g.body()
		}
	case 4, 5:
		seq := g.one("[0, 1]", "[1, 2]", "range($V % 3)", "$L[:2]", "list($D)[:2]")
		if g.trys > 0 {
			seq = g.one("$L", "$L", "$D", "$S", "$L[:2]", "[$L, $L]", "$Q")
		}
		g.write(fmt.Sprintf("for j%d in ", g.vars) + seq + ":")
		g.loop()
	case 6:
		name := fmt.Sprintf("j%d", g.vars)
		g.write(name + " = 0\nwhile " + name + " < " + g.one("2", "$V % 3", "(2 if $C else 1)", "min(len($L), 2)") + ":\n  " + name + " += 1")
		g.loop()
	case 7, 8:
		g.write("try:")
		g.trys++
		g.body()
		g.trys--
		excepts := g.IntN(3)
		for i := range excepts {
			class := g.one("ZeroDivisionError", "ValueError", "KeyError", "(ValueError, IndexError)", "IndexError", "TypeError", "Exception")
			if i == excepts-1 && g.IntN(4) > 0 {
				class = "Exception"
			}
			g.write("except " + class + " as e:")
			g.excs++
			g.body()
			g.excs--
		}
		if excepts > 0 && g.IntN(4) == 0 {
			g.write("else:")
			g.body()
		}
		if excepts == 0 || g.IntN(4) == 0 {
			g.write("finally:")
			g.body()
		}
	case 9:
		if g.fn > 1 || g.defs > 1 {
			g.stmt()
			return
		}
		g.function()
	}
}

// function writes a function, and a call of it.
func (g *heapGen) function() {
	name := fmt.Sprintf("r%d", g.fn)
	g.fn++
	g.write("def " + name + "(la, v = $V" + g.one("", "", ", acc = $L", ", *acc") + "):")
	vars, loops, excs, trys, binds := g.vars, g.loops, g.excs, g.trys, g.binds
	g.vars, g.loops, g.excs, g.trys, g.binds = 0, 0, 0, 0, " n m x0 y0 la "
	outer := g.one("", "", "lb", "da", "tu", "f1", "lb, da")
	g.depth++
	if outer != "" {
		g.write(g.around() + " " + outer)
		g.binds += strings.ReplaceAll(outer, ",", "") + " "
	}
	g.write("n = m = 0\nx0 = la\ny0 = {}")
	if g.defs++; g.IntN(4) == 0 {
		g.write("f4 = lambda: " + g.one("x0", "la", "lc[$I]", "x0.append($V)"))
	}
	g.depth--
	g.list(1 + g.IntN(3))
	g.defs--
	g.vars, g.loops, g.excs, g.trys, g.binds = vars, loops, excs, trys, binds
	call := g.one("w0 = ", "", "")
	if !strings.Contains(g.binds, strings.TrimSuffix(call, "= ")) {
		call = ""
	}
	g.write(call + name + g.one("($L)", "($L, $V)", "($L, v = $V)", "(*[$L])", "(*[$L, $V])"))
}

// around is how a function binds a name around it.
func (g *heapGen) around() string {
	if g.inside {
		return "nonlocal"
	}
	return "global"
}

func (g *heapGen) loop() {
	g.vars++
	g.loops++
	g.body()
	g.loops--
	g.vars--
}

// heapHelpers are functions that change containers, those that are called before those that call them, by a name that tells that one is used.
var heapHelpers = [][2]string{
	{"h0", "def h0(x, v): x.append(v)"}, {"h1", "def h1(x, v): h0(x, v)"}, {"h2", "def h2(x, v):\n  h1(x, v)\n  return x"}, {"h3", "def h3(x, v): return h2(x, v)"},
	{"k0", "def k0(*a): a[0].append(a[1])"}, {"k1", "def k1(**k): h0(k['x'], k['v'])"}, {"k2", "def k2(y, **k): y.update(k)"},
	{"g0", "def g0(v): la.append(v)"}, {"g1", "def g1(v): g0(v)"}, {"g2", "def g2(v): g1(v)"}, {"g3", "def g3(v): g2(v)"},
	{"u0", "def u0(y, k, v): y[k] = v"}, {"u1", "def u1(y, k): u0(y, k, 1)"}, {"df(", "def df(v, acc = []):\n  if v: acc.append(v)\n  return acc"},
	{"make", "def make():\n  kept = []\n  def add(v): kept.append(v)\n  return add, lambda: kept"}, {"own", "add, own = make()"}, {"add", "add, own = make()"},
	{"apply", "def apply(f, v): return f(v)"}, {"same", "def same(x): return x"}, {"pick", "def pick(c, x, y): return x if c else y"}, {"take", "def take(*a): return len(a)"}, {"get", "def get(): return lb"},
	{"fails", "def fails(x, v):\n  x.append(1)\n  7 // v\n  x.append(2)"}, {"fails1", "def fails1(x, v): fails(x, v)"}, {"fails2", "def fails2(x, v):\n  try: fails(x, v)\n  finally: x.append(3)\n  return 1"},
	{"h4", "def h4(x, v): return v"}, {"h5", "h5 = h0"}, {"g4", "def g4(v): return v"}, {"g5", "g5 = g0"}, {"g6", "def g6(v): g5(v)"},
	{"c0", "def c0(v):\n  AROUND sh\n  sh = v"}, {"c1", "def c1(v): c0(v)"}, {"c5", "c5 = c0"}, {"gets", "gets = []"}, {"v0", "def v0(v):\n  kept = 1\n  gets.append(lambda: kept)\n  7 // v\n  kept = 2"}, {"v1", "def v1(v):\n  try: v0(v)\n  finally: v0(1)"},
	{"f3", "def f3(v):\n  if v: raise ValueError(v)\n  la.append(4)"},
	{"dd", "dd = collections.defaultdict(list)"}, {"dn", "dn = collections.defaultdict(int)"}, {"dx", "dx = collections.defaultdict(lambda: 7 // s1)"},
	{"cn", "cn = collections.Counter([1, 1])"}, {"od", "od = collections.OrderedDict([('p', 1), ('q', 2)])"}, {"f1", "f1 = la.append"}, {"f2", "f2 = da.setdefault"},
}

// program writes a turn.
func (g *heapGen) program() string {
	g.left = 3 + g.IntN(6)
	g.parts = map[byte][]string{}
	for _, k := range []byte("LlnDdSQVKIC") { // a program has few shapes of what it does, which meet
		g.parts[k] = append(g.some(heapParts[k], 2+g.IntN(4)), heapParts[k][0])
	}
	g.parts['C'], g.parts['d'] = append(g.parts['C'], "b1"), append(g.parts['d'], "y0") // there is always one that may be taken
	g.writes, g.risks, g.reads = g.some(heapWrites, 4+g.IntN(6)), g.some(heapRisks, 2+g.IntN(4)), g.some(heapReads, 3+g.IntN(4))
	g.inside = g.IntN(2) == 0
	if g.inside {
		g.depth, g.defs = 1, 1
	}
	depth := g.depth
	g.binds = " n m x0 y0 la lb da db st tu lc dl sa qa f1 f2 w0 h5 g5 c5 "
	g.depth--
	g.list(3 + g.IntN(4))
	g.depth++
	if g.inside {
		g.write("send(n)\nreturn [la, lb, da, db, lc, dl, sa, qa, tu, st, x0, y0, n, m, sh]")
		g.depth, g.defs = 0, 0
		g.write(g.one("r = main()", "r = main()", "r = 0\ntry: r = main()\nexcept Exception as e: send(7)"))
		g.write("send(r)")
	} else {
		for range 3 {
			g.write(g.one(g.reads...))
		}
	}
	body := g.out.String()
	if strings.Contains(body, "v0(") || strings.Contains(body, "v1(") {
		body = strings.Replace(body, "return [la, lb, da, db", "return [la, lb, da, [z() for z in gets]", 1)
		if !g.inside {
			body += "send([z() for z in gets])\n"
		}
	}
	used := body
	var helpers []string
	for _, h := range slices.Backward(heapHelpers) {
		if strings.Contains(used, h[0]) && !slices.Contains(helpers, h[1]) {
			used += h[1]
			helpers = append(helpers, h[1])
		}
	}
	slices.Reverse(helpers)
	g.out.Reset()
	g.write("import copy, heapq")
	if g.depth = depth; g.inside {
		g.out.WriteString("def main(v = 0):\n")
	}
	for _, s := range []string{
		g.one("la = [1, 2]", "la = [1]", "la = []", "la = ml[:]"), g.one("lb = la", "lb = [3]", "lb = [1]", "lb = rl"), g.one("lc = [la, lb]", "lc = [la, la]", "lc = [[], la]"),
		g.one("da = {'p': 1, 'q': 2}", "da = {}", "da = {1: 2}", "da = hd"), g.one("db = da", "db = {'p': 3}"), g.one("sa = set([1, 2])", "sa = set()", "sa = set(la)"), "sb = sa",
		"x0, y0, w0 = " + g.one("la", "lb", "[]") + ", da, 0", g.one("dl = {'p': la, 'q': []}", "dl = {'p': [], 'q': lb}"), "st = struct(a = " + g.one("la", "lb") + ", b = da)", g.one("tu = (la, 1)", "tu = (lb, da)"),
		g.one("qa = collections.deque([1])", "qa = collections.deque([1, 2], 2)", "qa = collections.deque(la, s2)"), g.one("qb = qa", "qb = collections.deque()"), "n = m = sh = 0",
	} {
		g.write(s)
	}
	for _, h := range helpers {
		g.write(strings.Replace(h, "AROUND", g.around(), 1))
	}
	return g.out.String() + body
}

func newHeapCase(r *rand.Rand, seed uint64) (*niCase, error) {
	g := heapGen{Rand: r}
	turns := []string{prelude, g.program()}
	return caseOf(r, seed, turns, []int{10, 30, 55}[r.IntN(3)], len(observers))
}

// TestNoninterferenceOfHeap compares pairs of runs of programs that are little more than containers with several names.
func TestNoninterferenceOfHeap(t *testing.T) {
	n := tally{newCase: newHeapCase}
	n.run(t, 20)
}
