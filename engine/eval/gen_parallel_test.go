package eval

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func init() {
	simpleStmts = append(simpleStmts, templatesOf(
		"parallel([lambda: send($I), lambda: $C])", "send(parallel([lambda: $I, lambda: send($I), lambda: $I]))", "send(len(parallel([lambda: $A] * $S)))",
		"parallel([lambda z = z: send(z) for z in $L[:3]])", "@L = parallel([lambda: $I, lambda: look($S) or $I])",
	)...)
	leakStmts = append(leakStmts, templatesOf(
		"parallel([lambda: send(1), lambda: 7 // $I, lambda: send(3)])\nsend(4)",
		"try: parallel([lambda: send(1), lambda: 7 // $I, lambda: send(3)])\nexcept: send(4)\nsend(5)",
		"try: parallel([lambda: send(1), lambda: send(2) or 7 // $I, lambda: send(3) or send(4)])\nexcept ZeroDivisionError: pass\nsend(5)",
		"q0 = []\nparallel([lambda: $B and q0.append(1), lambda: send(len(q0))])\nsend(quota())",
		"def r2():\n  n0 = 0\n  def r0():\n    nonlocal n0\n    if $B:\n      send(1)\n      n0 = 1\n  def r1():\n    nonlocal n0\n    n0 = 2\n  parallel([r0, r1])\n  return n0\nsend(r2())",
		"q0 = []\nn1 = []\ndef r0():\n  n2 = 0\n  def r2(v):\n    nonlocal n2\n    n2 = v\n  n1.append(r2)\n  q0.append(lambda: n2)\n  if $B:\n    send(1)\n    n2 = 1\n  send(2)\nparallel([r0, lambda: n1[0](5)])\nsend(q0[0]())",
		"q0 = [1, 2]\ndef r0():\n  if $B:\n    for n1 in q0: send(n1)\nparallel([r0, lambda: q0.append(3)])\nsend(len(q0))",
		"q0 = [1, 2]\ndef r0():\n  if $B:\n    for n1 in q0: send(n1)\ntry: parallel([r0, lambda: q0.append(3)])\nexcept: send(4)\nsend(len(q0))",
		"parallel([lambda: send(1)] + ([lambda: send(2)] if $B else []) + [lambda: send(3)])\nsend(quota())",
		"send(len(parallel([lambda: 1] * $S)))", "parallel([(lambda: send(1)) if $B else (lambda: 2), lambda: send(3)])\nsend(quota())",
		"def r0():\n  while $B: send(1)\nparallel([r0, lambda: send(2)])\nsend(3)",
		"send(parallel([lambda: parallel([lambda: send($I), lambda: $B and send(1)]), lambda: send(2) or quota()]))",
		"parallel([lambda: attempt(look, $I).ok and send(1), lambda: send(2) or send(3)])\nsend(4)",
		"def r0():\n  try: 7 // $I\n  except: send(1)\n  send(2)\nparallel([r0, lambda: send(3) or send(4)])\nsend(quota())",
		"def r0():\n  try:\n    send(1)\n    7 // $I\n  finally: send(2)\ntry: parallel([r0, lambda: [send(3), send(4), send(5)]])\nexcept: send(6)\nsend(7)",
		"parallel([lambda: done($I), lambda: send(1)])",
	)...)
	enderStmts = append(enderStmts, templatesOf("parallel($A)", "parallel([$A, $F, lambda: $A])", "parallel([lambda: send(1), lambda: ask($I), lambda: send(2)])", "try: parallel($L)\nexcept: send(1)")...)
}

// strandStmts are statements of strands that meet: through variables of functions around and of the program, through variables of
// one that others bind, through what they iterate over, and by their errors.
var strandStmts = templatesOf(
	"send($I)", "send($I)", "send(j0)", "print($I)", "sh0 = $I", "sh0 += $I", "send(sh0)", "no0 = $I", "no0 += 1", "send(no0)", "own = $I", "own += 1", "send(own)",
	"if $B: own = $I", "if $B: sh0 = $I", "if $B: no0 = $I", "if $B:\n  send($I)\n  own = $I", "if $B:\n  send(1)\n  sh0 = $I", "if $B:\n  look(2)\n  no0 = $I", "if $B: send($I)", "if $B:\n  send(1)\n  send(2)",
	"if gets: send(gets[$S % len(gets)]())", "if sets: sets[$S % len(sets)]($I)", "if sets and $B: sets[0]($I)", "if sets: sets[-1]($I)", "if gets: send(gets[0]())",
	"for z in q0: send($i)", "for z in l0:\n  if $b: send(z)", "if $B:\n  for z in q0: send(z)", "q0.append($I)", "if $B: q0.append(1)", "send(len(q0))", "if q0: send(q0[-1])", "dk['p'] = $I", "send(dk)",
	"7 // $I", "if $B: 7 // $I", "try: 7 // $I\nexcept: send(1)", "try:\n  send(1)\n  7 // $I\n  own = 1\nexcept: own = 2", "try:\n  send(1)\n  7 // $I\n  sh0 = 1\nexcept: pass", "try:\n  look($I)\n  no0 = 3\nexcept ToolError: send(2)", "try:\n  send(2)\n  q0.append(7 // $I)\nfinally: send(3)",
	"while $B:\n  send(1)\n  break", "send(quota())", "send(attempt(look, $I).ok)", "recv()", "send(recv())", "attempt(pay, $I)", "n1 = endorse($B, 'user', 'w')", "send(choose($S, [0, 1, 2, 3]))", "if $B: return 1", "return $I",
	"sorted([2, 1], key = lambda z: send(z) or $i)", "send(parallel([lambda: own, lambda: send(own), lambda: $I]))", "parallel([lambda: $B and q0.append(1), lambda: send(len(q0))])", "try: parallel([lambda: 7 // $I, lambda: send(1)])\nexcept: send(2)",
	"if $B: struct(get = lambda: send(1)).get()", "if $B: struct(get = lambda: parallel([lambda: send(1), lambda: own])).get()", "if $B: struct(get = inner).get()",
)

// strandsOf writes programs whose strands meet.
func (g *gen) strandsOf() []string {
	g.out, g.bol = nil, true
	g.write("sh0 = 0\nq0 = [1, 2]\ngets = []\nsets = []\n")
	if g.chance(30) {
		g.write("if " + g.one(vocabulary['B'].plain) + ": send(0)\n")
	}
	g.statements(g.IntN(2))
	g.write("def inner():\n  try: parallel([lambda: 7 // ")
	g.write(g.one([]string{"s1", "s2", "s3"}))
	g.write(", lambda: sh0])\n  except ZeroDivisionError: pass\n")
	g.write("def outer():\n")
	g.indent, g.fn, g.depth = "  ", true, 1
	g.write("a = 1\nx = l0\nm = d0\nk0 = []\nj0 = 0\nj1 = 1\nh = lambda: j0\nno0 = 0\n")
	n := 2 + g.IntN(2)
	var names []string
	for i := range n {
		g.indent = "  "
		g.write(fmt.Sprintf("def r%d(a = 1, x = l1, m = d1):\n", i))
		names = append(names, fmt.Sprintf("r%d", i))
		g.indent, g.depth = "    ", 2
		g.write("global sh0\nnonlocal no0\nj0 = 0\nj1 = 1\nk0 = []\nh = lambda: j0\nown = 0\ndef set(v):\n  nonlocal own\n  own = v\n")
		if g.chance(50) {
			g.write("sets.append(set)\n")
		}
		if g.chance(50) {
			g.write("gets.append(lambda: own)\n")
		}
		for range 1 + g.IntN(4) {
			g.left = g.size()
			if g.chance(90) {
				g.fill(strandStmts[g.IntN(len(strandStmts))])
			} else {
				g.fill(simpleStmts[g.IntN(len(simpleStmts))])
			}
			g.write("\n")
		}
	}
	g.indent, g.depth = "  ", 1
	list := "[" + strings.Join(names, ", ") + "]"
	g.left = 1
	g.fill(parseTemplate([]string{
		"q1 = parallel(STRANDS)", "q1 = parallel(STRANDS)", "if $B: parallel(STRANDS)", "try: parallel(STRANDS)\nexcept: send(8)", "try: q1 = parallel(STRANDS)\nexcept ZeroDivisionError: no0 += 1\nelse: send(9)",
		"for z in [0, 1]:\n  parallel(STRANDS)\n  if $b: break", "parallel(STRANDS + ([lambda: send(6)] if $B else []))", "parallel(STRANDS[:$S])", "try: parallel(STRANDS)\nfinally: send(7)", "parallel([(r0 if $B else r1)] + STRANDS)",
		"if $B:\n  try: parallel(STRANDS)\n  except: pass", "parallel([lambda: parallel(STRANDS), lambda: send(no0)])",
	}[g.IntN(12)]))
	out := strings.Replace(string(g.out), "STRANDS", list, 1)
	g.out = []byte(out)
	g.write("\nsend(no0)\nreturn no0\n")
	g.indent, g.fn, g.depth = "", false, 0
	g.write([]string{"outer()\n", "q1 = outer()\n", "try: outer()\nexcept: send(4)\n"}[g.IntN(3)])
	g.write("send(5)\nsend(sh0)\nsend(len(q0))\n")
	if g.chance(50) {
		g.write("send([f() for f in gets])\n")
	}
	turns := []string{prelude, string(g.out)}
	if g.chance(30) {
		g.out = nil
		g.statements(1 + g.IntN(2))
		turns = append(turns, string(g.out))
	}
	return turns
}

func newStrandCase(r *rand.Rand, seed uint64) (*niCase, error) {
	return caseOf(r, seed, (&gen{Rand: r, short: r.IntN(2) == 0}).strandsOf(), []int{10, 30, 55, 80}[r.IntN(4)], len(observers))
}

// TestNoninterferenceOfStrands compares pairs of runs of programs whose strands meet.
func TestNoninterferenceOfStrands(t *testing.T) {
	n := tally{newCase: newStrandCase}
	n.run(t, 20)
}
