package eval

// What the dialect adds to Starlark, for the generator of random programs.
func init() {
	add := func(typ byte, texts ...string) {
		vocabulary[typ].ops = append(vocabulary[typ].ops, templatesOf(texts...)...)
	}
	add('I', "($S ** $S)", "(2 ** $S)", "pow($S, $S)", "pow($I, $S, 5)", "pow(base = $S, exp = 2)", "(-$S ** 2)")
	add('G', "($G ** 2)", "(2 ** -$S)")
	add('B',
		"$I < $I < $I", "$I <= $I == $I", "0 < $I < $C", "$I < $I > $C != $I", "$I in $L != $L", "$S == $S in $E", "$T < $T <= $T", "$I < $C < $I < $C",
		"$A is None", "$A is not None", "(None if $B else $I) is None", "$B is True", "$A is not False", "$I == $I is not None", "0 < len($R) < $S")
	add('T',
		`f"{($I)}"`, `f"a{($A)}b"`, `f"{($I)}{($T)}"`, `f"{($L)}{($C)}"`, `f"{($R)}{(pop($R))}"`, `f"{($A)!r:>9}"`, `f"{($I):{($S)}}"`, `f"{($I):<{1 if $B else 2}d}"`, `f"{#I=}{#L=}"`, `f"{($T):^{($S)}}{{}}"`, `(f"{($G):.{($S)}f}" "b")`,
		`f"{f'{($I)}' if $B else ''}"`, `("a" "b" if $B else "c")`, `f"{($C)!s}{(send($I))}"`)
	simpleStmts = append(simpleStmts, templatesOf("@I **= $S", "send($I < $C < $I)", "$B is None and $C", `print(f"{($A)}")`)...)
	leakStmts = append(leakStmts, templatesOf(
		"q0 = []\ndef r0():\n  q0.append(1)\n  return 5\nn0 = 0 < $I < r0()\nsend(len(q0))",
		"n0 = 0 < $I < send(1)", "if 0 < $I < 2 < $I: send(1)\nsend(2)")...)
	enderStmts = append(enderStmts, templatesOf("send($I ** $I)", "send($A ** $A)", "send(pow($A, $A))", "send(pow($I, $I, $I))", "send($A < $A < $A)", `send(f"{($A):{($T)}}")`, `send(f"{($A):>5}")`, `send(f"{($I):{($I)}}")`, "send($A in $A < $A)")...)

	add('I', "sum($L)", "sum($i for z in $L)", "sum($i for z in $L if $b)", "sum($L, $I)", "sum(y + z for y in $L for z in $L)", "sum([$b for z in $L])", "round($I, -1)", "round($G)", "divmod($I, 3)[$S % 2]", "(list(map($F, $L)) + [0])[0]", "len(filter(None, $L))", "len(filter($F, $L))", "len(map($F, $L, $L[:0]))",
		"next((z for z in $L if $b), $I)", "next(($i for z in $L), $I)", "next((y for y in $L for z in [y, $I] if $B), 2)", "f4(1, *$L, 2, *$L)", "f4(*$L, 1, **$K)", "f4(**{'a': $I}, **{'b': 1})", "len([*$L, $I, *$L])", "len({**$D, $I: $I})", "{**$D, $I: $I}.get($I, $I)", "len({$I, $I})", "len({$i for z in $L if $b})", "([$I, *$R] + [2])[$S % 2]", "(*$L, $I)[0]", "max((z for z in $L if $b), default = $I)", "len(format($A))")
	add('B', "any($b for z in $L)", "all($b for z in $L if $b)", "any(z > $I for z in $L)", "any($b for y in $L for z in [y, $I])", "all($I < $C for z in $L)", "isinstance($A, int)", "isinstance($A, (str, list))", "callable($A)", "$I in (z for z in $L)", "any(send(z) or $b for z in $L[:3])", "any(pop(#R) for z in $L[:3])")
	add('L', "map($F, $L)", "filter($F, $L)", "filter(None, $L)", "map(lambda y, z: y + z, $L, $L)", "sorted($i for z in $L)", "list($i for z in $L if $b)", "[*$L, *$R]", "[*$P, $I]", "[y for (y, *z) in [$P, $P]]", "sum([$L, $L], [])")
	add('T', "','.join(str($i) for z in $L)", "format($I, $T)", "format($A)")
	add('E', "{$I, $I}", "{*$L, $I}", "{$i for z in $L}", "set($i for z in $L if $b)")
	add('D', "{**$D, $I: $I}", "{**$D, **$D}", "dict((z, $i) for z in $L)")
	simpleStmts = append(simpleStmts, templatesOf(
		"@I = @I = $I", "@L = @L = $R", "@I, *@L = $L + [$I]", "*@L, @I = [1, $I]", "@I: int = $I", "if #I in #M: del #M[#I]", "if #R: del #R[$S % len(#R)]", "if #R: del #R[0], #M[#M.setdefault($I, $I) or #M and list(#M)[0]]",
		"any(send($i) for z in $L[:3])", "all($b and send($i) is None for z in $L[:3])", "next((send($i) for z in $L if $b), None)", "any($R.append(z) or $b for z in $L[:3])", "next(($R.append($i) for z in $L[:3] if $b), 1)", "map($F, $L[:2])", "filter($F, $L[:2])", "any($i for y in $L[:2] if $B for z in [send(y), $I])")...)
	leakStmts = append(leakStmts, templatesOf(
		"q0 = []\nn0 = any(q0.append(z) or $b for z in [0, 1, 2])\nsend(len(q0))", "n0 = [send(1) for z in $L[:2]] and any($b for z in [send(2), send(3)])", "any($b or send(5) for z in [1, 2])\nsend(6)", "next((send(5) for z in [1, 2] if $b), 0)\nsend(6)",
		"q0 = []\nany(q0.append(y) or $b for y in $L[:2] for z in [1, 2])\nsend(len(q0))\nsend(quota())", "any($b for z in [1, 2, 3] if send(z) is None)\nsend(quota())", "for n1 in [0, 1]:\n  if any($b for z in [0, 1]): break\n  send(n1)\nelse:\n  send(9)\nsend(n1)",
		"n0 = 0\nwhile n0 < $S:\n  n0 += 1\n  if $B: break\nelse:\n  send(9)\nsend(n0)", "for n1 in $L:\n  for n2 in [0, 1]:\n    if $B: break\n  else:\n    continue\n  break\nelse:\n  n0 = 7\nsend(n0)", "q0 = [1, 2, 3]\ndel q0[$S % 3]\nsend(q0[0])\nsend(len(q0))", "q0 = {0: 1, 1: 2}\ndel q0[1 if $B else 0]\nsend(len(q0))\nsend(q0)",
		"n1, *q0 = [1] + $L\nsend(n1)\nsend(len(q0))", "q0 = n1 = $I\nsend(q0)", "def r0():\n  assert $B\n  return 1\nif s1 > 9: r0()\nsend(2)", "filter(lambda z: send(z) or $b, [1, 2])\nsend(quota())", "q0 = []\nmap(q0.append, $L)\nsend(len(q0))")...)
	leakStmts = append(leakStmts, templatesOf(
		"def r0():\n  for n1 in [0, 1]:\n    q0 = [(lambda: z) for z in ([0] if n1 == 0 else $L)]\n    if n1 == 0: n2 = q0\n  return n2[0]()\nsend(r0())",
		"def r0():\n  q0 = []\n  n2 = [q0.append]\n  for n1 in [0, 1]:\n    any((n2[0](lambda: z) if n1 == 0 else $b) for z in [n1, 6])\n  return q0[0]()\nsend(r0())",
		"q0 = [1]\nif $B: pop(q0)\nn0 = $I if q0 else $I\nsend(n0)")...)
	enderStmts = append(enderStmts, templatesOf("send(sum($L, []))", "q0 = [[]]\nif $B: pop(q0)\nsend(set(q0))", "q0 = [([], 1)]\nif $B: pop(q0)\nsend(dict(q0))", "send([1] in ($L if $B else $E))", "send($E.issuperset($A))", "send($A in ($K if $B else $A))", "q0 = [[]]\nif $B: pop(q0)\nsend($E.issuperset(q0))", "send(sum($A, $A))", "for n1, *n2 in $L: pass", "for n1, *n2 in [$A, $A]: pass", "*n1, n2 = $L", "assert $B", "assert $B, $A", "assert ($I == $I), $T", "raise ValueError($A)", "if $B: raise KeyError", "del $M[$I]", "del $R[$I]", "del ($A)[$A]", "send(next(z for z in $L if $b))", "send(sum($A))", "send(round($A))", "send(round($A, $A))", "send(divmod($A, $A))", "send(map($A, $A))", "send(filter($A, $A))", "send(isinstance($A, $A))", "send(format($A, $T))", "send([*$A])", "send({**$A})", "send({*$A})", "f4(*$A, *$A)", "f4(**$K, **$K)", "@I, *@L = $L", "@I, *@L, @I = $A", "any(7 // z for z in $L)", "all(7 // ($i) for z in $L)")...)
	simpleStmts = append(simpleStmts, templatesOf("import math\nsend(math.floor($G) + math.gcd($I, 4))", "from statistics import mean, median\nsend(mean($L + [$I]))\nsend(median([$I, $I, 1]))", "import functools\nsend(functools.reduce(lambda y, z: y + z, $L, $I))", "import functools\nfunctools.reduce(lambda y, z: send(z), $L[:2], 0)",
		"if $B: import string as u0", "import hashlib\nsend(hashlib.sha256($Y).hexdigest())", "from base64 import b64encode as q0\nsend(q0($Y))")...)
}
