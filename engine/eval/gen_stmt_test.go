package eval

// simpleStmts are statements of one line, and short ones that guard an operation.
var simpleStmts = templatesOf(
	"send($I)", "send($I)", "send($T)", "send($L)", "send($A)", "send($A)", "send($B)", "send(#L)", "send(#D)", "send(#E)", "send(#I)", "send(x = $A)", "send($A, $I)", "send(*($L[:2]))", "send(*$P)", "send(**{'x': $A})", "send($D)", "send($E)", "send($K)", "send($P)", "send($V)",
	"print($A)", "print($A, $I)", "print($I, $T, sep = $T)", "print(*($L[:2]))", "print($T, end = $T)",
	"@I = $I", "@I = $I", "@I = $I", "@L = $L", "@L = $L", "@D = $D", "@E = $E", "@T = $T", "@K = $K", "@P = $P", "@V = $V", "@L = $R",
	"@I += $I", "@I -= $I", "@I *= $S", "@I //= 2", "@I %= 3", "@I |= $S", "@T += $T", "@L += $L", "@L += $P", "@L *= 2", "@D |= $D", "@E |= $E", "@E &= $E", "@E -= $E", "@E ^= $E",
	"(@I, @I) = ($I, $I)", "(@I, @I) = $P", "[@I, @I] = [$I, $I]", "@I, (@I, @T) = $I, ($I, $T)", "(@I, @L) = ($I, $L)", "@I, @I = $P",
	"$R.append($I)", "$R.append($I)", "#R.append($I)", "$R.extend($L)", "$R.insert($I, $I)", "$R.clear()", "#R.clear()", "$R.reverse()", "$R.sort()", "$R.sort(key = $F)", "$R.sort(reverse = $B)", "#R.append(*[$I])", "#R.append(*[[$I]])",
	"if #R: #R[$S % len(#R)] = $I", "if #R: #R[-1] += $I", "if #R: #R[0] = $I", "if #R: #R.pop($S % len(#R))", "if #R: #R.pop()", "if #I in #R: #R.remove(#I)", "if #R: #R.pop(*[0][:$S])", "if #R: #R[0], @I = $I, $I",
	"$M[$I] = $I", "#M[$I] = $I", "#M[#I] = #M.get(#I, 0) + $I", "if #I in #M: #M[#I] += $I", "if #I in #M: send(#M[#I])", "$M.pop($I, $I)", "if #I in #M: #M.pop(#I)", "if #M: send(#M.popitem())", "$M.setdefault($I, $I)", "$M.setdefault($I)", "$M.update($D)", "$M.update([($I, $I)])", "$M.update([$P, $P])", "dk.update(q = $I)", "dk.update(**$K)", "dk.update($K)", "$M.clear()", "dk['p' if $B else 'q'] = $I", "dk[$T] = $I", "#M[$I] = len(#M)",
	"dl[$I] = $R", "dl.setdefault($I, []).append($I)", "dl.setdefault($I, $R).append($I)", "if #I in dl: dl[#I].append($I)", "if #I in dl: dl[#I] += [$I]", "ll.append($L)", "ll[$S % 2].append($I)", "ll[$S % 2] = $L", "v0.b.append($I)",
	"$W.add($I)", "#W.add($I)", "$W.discard($I)", "if #I in #W: #W.remove(#I)", "$W.update($L)", "$W.update($L, $L)", "$W.update(*[$L])", "$W.update(*[[$I]][:$S])", "$W.clear()", "if #W: send(#W.pop())", "$W.add($P)",
	"$C", "$F($I)", "($B and $C)", "($B and send($I))", "($B or $R.append($I))", "(send($I) if $B else None)", "[$R.append($i) for z in $L[:3] if $b]", "[send($i) for z in $L[:2] if $b]", "[send(z) for z in $L[:2]]", "{z: send($i) for z in $L[:2]}", "[#R.append(z) for z in $L[:3]]", "sorted($L[:3], key = $F)", "max($L[:2] + [1], key = $F)", "json.dumps([len, $I], default = lambda z: send(1) or $I)", "json.dumps([len] * $S, default = lambda z: $R.append(1) or 2)",
	"send(attempt(div, $I, $I))", "send(attempt(pay, $I))", "attempt(pay, $I)", "attempt(div, $I, $I)", "mail($S)", "recv()", "quota()", "send(quota())",
	"send([f() for f in fs])", "fs.append(lambda: $I)", "pass", "send(later($B))", "send(c0($I))", "send(rec($S))",
)

// outerStmts are for the top level alone, where their names are global.
var outerStmts = templatesOf(
	"u0 = $I", "u1 = $I", "fs = [(lambda: z) for z in $L[:2]]", "c1 = make($I)", "c0 = counter()", "n0 = $I", "g0 = f0 if $B else f1", "if $B: u0 = 1", "send(u0)",
)

// leakStmts are shapes that leaked under earlier rules.
var leakStmts = templatesOf(
	"n0 = 0\nfor n1 in ml:\n  if $B: break\n  n0 += 1\nsend(n0)",
	"n0 = 0\nfor n1 in $L:\n  if $B: continue\n  n0 += 1\nsend(n0)",
	"n0 = 0\nfor n1 in [1, 2]:\n  n0 = n1\n  if $B: continue\n  break\nsend(n0)",
	"n0 = 0\nfor n1 in [1, 2]:\n  n0 = n1\n  if $B: continue\n  send(n0)\nsend(n0)",
	"q0 = [0, 1, $I, 1]\nwhile pop(q0):\n  send(len(q0))",
	"q0 = [0, $I, 1]\nn0 = 0\nwhile pop(q0):\n  n0 += 1\nsend(n0)",
	"dk.clear()\ndk['p' if $B else 'q'] = 9\nsend(k1(**dk))",
	"def r0(c):\n  for n1 in [0, 1]:\n    if c: break\n    return 1\n  send(7)\nr0($B)",
	"n0 = 0\nwhile recv() and n0 < 3:\n  n0 += 1\nsend(n0)",
	"q0 = [[1], [2]]\nq0[1 if $B else 0].append($I)\nsend(q0)",
	"q0 = {}\nfor n1 in $L:\n  q0.setdefault(n1, []).append(n1)\nsend(len(q0))\nsend(q0)",
	"def r0(c):\n  if c: return $I\n  send(1)\n  return 2\nsend(r0($B))",
	"def r0(c):\n  if c: return\n  q0.append(1)\nq0 = []\nr0($B)\nsend(len(q0))",
	"q0 = [#R]\nfor n1 in q0:\n  n1.append($I)\nsend(len(#R))",
	"q0 = []\ndef r0(m):\n  if $B: m.append(1)\nif $B: r0(q0)\nsend(len(q0))",
	"q0 = []\ndef r0(m):\n  m.append(1)\nif $B: r0(q0)\nsend(len(q0))",
	"q0 = []\ndef r0(): q0.append(1)\ndef r1(): r0()\nif $B: r1()\nsend(len(q0))",
	"q0 = []\nn0 = q0\nif $B:\n  n0 = []\n  n0.append(1)\nsend(len(q0))",
	"q0 = []\nn0 = q0 if $B else []\nn0.append(1)\nsend(len(q0))",
	"q0 = [0, 0]\nq0[$S % 2] = 1\nsend(q0[0])",
	"def r0(c):\n  if c: return 1\nsend(r0($B))", "def r0(): return 1\nif $B:\n  def r0(): return 2\nsend(r0())", "n0 = 0\nif $B: (n0, n1) = (1, 2)\nsend(n0)", "n0 = 0\nif $B: [n0, (n1, n2)] = [1, (2, 3)]\nsend(n0)", "def r0():\n  n1 = 0\n  for n1 in $L: pass\n  return n1\nsend(r0())", "n1 = 0\nfor n1 in $L: pass\nsend(n1)", "def r0():\n  n1 = 0\n  for (n1, n2) in zip($L, $L): pass\n  return n1\nsend(r0())",
	"q0 = [1]\nn1 = [2]\n(q0 if $B else n1)[0] = $I\nsend(q0)", "q0 = {}\nn1 = {}\n(q0 if $B else n1)['p'] = $I\nsend(q0)\nsend(len(q0))", "q0 = [[1], [2]]\nq0[$S % 2][0] = $I\nsend(q0)", "q0 = [1]\nn1 = [2]\n(q0 if $B else n1)[0] += $I\nsend(q0)", "q0 = {'p': [1]}\nn1 = {'p': [2]}\n(q0 if $B else n1)['p'] += [$I]\nsend(q0)\nsend(n1)",
	"q0 = {}\nq0[$I] = 1\nsend(len(q0))\nsend(1 in q0)",
	"q0 = []\n$B and q0.append(1)\nsend(len(q0))",
	"q0 = []\n[q0.append(1) for z in [0] if $B]\nsend(len(q0))",
	"send(len([1 for z in [0] if $B]))",
	"def r0(x = $I): return x\nsend(r0())\nsend(r0(1))",
	"def r0():\n  n1 = 0\n  f = lambda: n1\n  if $B: n1 = 1\n  return f()\nsend(r0())",
	"def r0():\n  n1 = [0]\n  def f(): n1.append(1)\n  if $B: f()\n  return len(n1)\nsend(r0())",
	"def r0():\n  q = []\n  for n1 in [0, 1]:\n    if n1 == 0 or $B: [q.append(lambda: z) for z in [n1]]\n  return q[0]()\nsend(r0())",
	"if $B: send(9)\nsend(quota())",
	"def r0(): send(9)\nif $B: r0()\nsend(quota())",
	"n0 = 0\nfor n1 in $L:\n  for n2 in $L:\n    if $B: break\n    n0 += 1\n  if $B: break\nsend(n0)",
	"n0 = 0\nwhile n0 < 3:\n  n0 += 1\n  if $B: continue\n  if $B: break\n  q0 = [n0]\nsend(n0)\nsend(q0)",
	"n0 = 0\nfor n1 in [1, 2, 3]:\n  if n1 == 2:\n    if $B: continue\n  n0 = n1\nsend(n0)",
	"def r0():\n  for n1 in [1, 2]:\n    for n2 in [1, 2]:\n      if $B: return n2\n      send(n1)\n  return 0\nsend(r0())",
	"def r0(c):\n  while True:\n    if c: return 1\n    c = 1\n  return 2\nsend(r0($B))",
	"(n1, n2) = ($I, $I)\nsend(n1)\nsend(n2)",
	"n1, (n2, q0) = $I, ($I, $L)\nsend(n2)\nsend(q0)",
	"q0 = $L\nq0 += $L\nsend(len(q0))\nsend(q0)",
	"q0 = sorted($L, key = $F)\nsend(q0)\nsend(len(q0))",
	"q0 = $R\nn1 = list(q0)\nn1.append($I)\nsend(len(q0))\nsend(len(n1))",
	"q0 = dict($D)\nq0[$I] = $I\nsend(q0)\nsend(#D)",
	"send(attempt(div, $I, $I).ok)",
	"q0 = [1]\nfor n1 in $L[:2]: q0.sort(key = $F)\nsend(q0)",
	"q0 = []\nsorted($L[:2], key = lambda z: q0.append(z) or z)\nsend(len(q0))",
	"sorted($L[:2], key = lambda z: send(1) or z)",
	"n0 = 0\nfor n1 in inbox():\n  if n1.kind > 1: n0 += 1\n  send(n1.id)\nsend(n0)",
	"if choose($S, [0, 1, 2, 3]): send(1)\nsend(2)",
	"if endorse($B == True, 'user', 'why'): send(1)\nsend(2)",
	"for n1 in ml:\n  if endorse(n1 > 1, 'user', 'why'): send(n1)\n  send(2)",
	"n0 = declassify($I, ['eve'], 'why')\nsend(n0)",
	"n0 = endorse($S, 'internal', why = 'w')\nsend(n0)",
	"send(getattr($V, 'a' if $B else 'c'))",
	"q0 = [l0, l1][$S % 2]\nsend(len(q0))\nsend(q0)",
	"g0 = f0 if $B else f1\nsend(g0($I, $R, $M))",
	"g0 = (lambda a, x, m: send(1)) if $B else (lambda a, x, m: 1)\ng0(1, 2, 3)\nsend(quota())",
	"for n1 in $E:\n  if n1 in $E: break\n  send(n1)",
	"q0 = {z: $i for z in $L}\nsend(q0.get($I, 0))\nsend(len(q0))",
	"q0 = [z for z in $L if $b]\nsend(q0[0] if q0 else 0)",
	"send($I)\n$R.append($I)\nsend(#R)",
	"$M[$I] = $I\nsend(#M)\nsend(len(#M))",
	"$W.add($I)\nsend(#W)\nsend(len(#W))",
)

// blockStmts are statements with blocks.
var blockStmts = templatesOf(
	"if $B:\n`", "if $B:\n`", "if $B:\n`else:\n`", "if $B:\n`elif $B:\n`else:\n`",
	"for @I in $L[:3]:\n`", "for @I in range($S):\n`", "for @I in $D.keys()[:3]:\n`", "for (@I, @I) in $D.items()[:3]:\n`", "for @I in sorted($E)[:3]:\n`", "for (@I, @I) in enumerate($L[:3]):\n`", "for @T in $U[:3]:\n`", "for #M[$I] in $L[:2]:\n`", "for @I in #R:\n`",
	"while #R:\n  pop(#R)\n`", "n0 = 0\nwhile n0 < $S:\n  n0 += 1\n`", "while $B:\n  if pop(l0) == 0: break\n`",
	"for @I in $E:\n`",
)

// enderStmts are statements that may end the program.
var enderStmts = templatesOf(
	"fail($A)", "fail('x', $I)", "done($A)", "done()", "send(int($T))", "send(7 // $I)", "send(7 % $I)", "send(7 / $I)", "send($L[$I])", "send($D[$I])", "send($K[$T])", "send($P[$I])", "send($T[$I])", "send($T.index($T))", "send($T.rindex($T))", "send($L.index($I))", "send({$I: 1, $I: 2})", "send({$I: 1, 1: 2})", "send($A + $A)", "send($A < $A)", "send($A[$A])", "send($A in $A)", "$A[$A] = 1", "send(-$A)",
	"$R.remove($I)", "$R.pop($I)", "$R.pop()", "$M.pop($I)", "$M.popitem()", "$W.pop()", "$W.remove($I)", "(@I, @I) = $L", "[@I] = $A", "f0($I)", "f0($I, $R, $M, $I)", "f0(*$L)", "f3($I, $I)", "k1(*$L)", "f0(**$K)", "(lambda x: x)(*$L)", "dict([$L])", "dict($A)", "set([$A, $A])", "set($A)", "{$A: 1}", "{z: 1 for z in [$A, $A]}", "{($A, 1): 1}", "{$A: 1}[$A]", "(d0 if $B else l0)[[0]]", "(d0 if $B else l0)[[0]] = 1",
	"send(max($L))", "send(min($L, key = $F))", "send(max([0, $I], key = lambda z: ($b and 'a') or 1))", "send(sorted([$A, $A]))", "send(sorted([1, 2], key = lambda z: ($b and 'a') or 1))", "send(chr($I - 2))", "send(ord($T))", "send(json.decode($T))", "send(json.encode([$A, $F]))", "send('%d' % $A)", "send('%s' % $P)", "send('%s %s' % ($I,))", "send('{}{}'.format(*$L))", "send('{a}'.format(**$K))", "send(getattr($V, $T))", "send($V.zz)", "send($F)", "send([$A, $F])", "send([len] if $B else [1])", "send(v0.b if $B else len)", "send(float($T))", "send(int($T, $I))", "send(int($G))", "send(abs($A))", "send(len($A))", "send(bytes($A))", "send(list($A))", "send(($A).zz)", "send(reversed($A))", "send(enumerate($A))", "send(zip($A, $A))", "send($T.join($A))", "send($T.split($T))", "send($T * $A)", "send($A * $A)", "send($A[$A:$A])", "send(hash($A))", "send($A | $A)", "send(struct(**$K))", "send(any($A))", "send(range($A))", "send(getattr($A, $T))",
	"send($I << ($I - 2))", "send(1 << ($S * 300000))", "send(1 << (1 << ($S * 40)))", "send(7.5 / $I)", "send(7.5 // $I)", "send(7.5 % $I)", "send(float(1 << ($S * 700)))", "send(1.5 + (1 << ($S * 700)))", "send((3 << ($S * 400)) // 7)", "send($I in b'ab')", "send(300 * $S in y0)", "send((1 << ($S * 70)) in b'ab')", "send($T in b'ab')", "send($A in range(3))", "send($A in 'ab')", "send(-$I << 70)", "send(~(1 << ($S * 70)))", "send(abs(-(1 << ($S * 70))))", "send((1 << ($S * 70)) & $I)", "send((1 << ($S * 70)) * $I)", "send((1 << ($S * 70)) - $I)", "send((1 << ($S * 70)) >> $I)", "send(int(str(1 << ($S * 70))))", "send(json.decode(str(1 << ($S * 70))))", "send('%d' % (1 << ($S * 70)))", "send(range(1 << ($S * 40)))", "send(list(range(1 << ($S * 40))))", "send('a' * (1 << ($S * 40)))", "send([1] * (1 << ($S * 20)))", "send(chr(1 << ($S * 10)))", "send('%c' % (1 << ($S * 10)))", "send('%c' % $T)", "send('%*d' % ($I, 1))", "send('%.*f' % ($S, 1.5))", "send('%d' % $G)", "send('%x' % $T)", "send('%e' % $A)", "send('%z' % $A)", "send('%(p)s' % $K)", "send('%(p)s' % $A)", "send('{:d}'.format($A))", "send(('{:>3}' if $B else '{0').format($I))", "send('{:>{}}'.format(1, $I))", "send(('{' + $T + '}').format($I))", "send(('%' + $T) % $I)", "send('a'.ljust($I, $T))", "send('a'.center($S, $A))", "send('a'.split($A))", "send('a'.find($A))", "send('a'.find('a', $A))", "send('a'.replace($A, $T))", "send('a'.startswith($A))", "send('a'.startswith(('b', $A)))", "send('a'.join([$T, $A]))", "send('a'.strip($A))", "send(b'\\xff'.decode() if $B else 1)", "send((b'a' + b'\\xff'[:$S]).decode())", "send('a'.encode($T))", "send(bytes([$I, 300 * $S]))", "send(bytes([$A]))", "send(int($A))", "send(int('1', $A))", "send(int('z', $S + 30))", "send(float($A))", "send(dir($A))", "send(hash($A))", "send(zip($L, $A))", "send(enumerate($L, $A))", "send(enumerate($L, (1 << 63) - $S))", "send(range(1, 2, $S))", "send(sorted($L, reverse = $A))", "send(sorted($A, key = $F))", "send(sorted([$A, 1]))", "send(max($A))", "send(max($A, 1))", "send(min([1, $A], key = lambda z: z))", "send(max(*$L))", "send(max(key = $F, *$L))", "send(any($A))", "send(all([1, $A]))", "send(set([$L][:$S]))", "send($E | $A)", "send($E.union($A))", "send($E.issubset($A))", "send($E <= $A)", "send($D | $A)", "send(dict([$P, $A]))", "send(dict($L))", "send(dict($D, p = 1))", "d0.update($A)", "d0.update([$A])", "d0.update($D, p = $I)", "l0.extend($A)", "@L += $A", "l0.insert($A, 1)", "l0.index($A)", "l0.index($I, $S)", "send($L.index($I, $S, $A))", "l0.pop($A)", "l0.sort(key = $A)", "l0.sort($A)", "l0[$A] = 1", "d0[$A] += 1", "#R[$I] += 1", "#M[$I] += 1", "#R[$I] = 1", "$R[$I] = 1", "ml[$I] = 1", "send(l0[$A])", "send(p0[$A])", "send(t0[$A])", "send(t0[$I])", "send(y0[$I])", "send(range(2)[$I])", "send(t0.elems()[$I])", "send(l0[$A:$A:$A])", "send(l0[::$S])", "send(t0[$A:])", "send(range(3)[::$S])", "send(d0[:1] if $B else 1)", "send($A[1:])", "send(v0.a.zz if $B else 1)", "v0.a = $I", "($A).a = 1", "(@I, @I) = $U", "(@I, @I) = $A", "(@I, (@I, @I)) = $A", "for n1 in $A: send(1)", "for (n1, n2) in $A: send(1)", "send([1 for z in $A])", "send([1 for (z, y) in [$P, $L]])", "send({$L: 1} if $B else 1)", "send({(1, $A): 2})", "send({1: 1, $S: 2, $S: 3})", "e0.add($A)", "e0.update($A)", "e0.remove($A)", "e0.discard($A)", "d0.pop($A)", "d0.get($A)", "d0.setdefault($A, 1)", "dk.update(**$A)", "send(choose($A, $A))", "send(struct($A))", "send(struct(**$A))", "send(hasattr($V, $A))", "send(getattr($V, $A))", "send(getattr($A, 'a', 1))", "fail(*$L)", "fail(1, sep = $A)", "print(1, sep = $A)", "print(*$A)", "send(*$A)", "send(**$A)", "f0(*$A)", "f0(**$A)", "f0(1, l0, d0, **$K)", "f3(1, **$K)", "k1(**{('p' if $B else 1): 1})", "(f0 if $B else f3)(1, 2, 3)", "(len if $B else 5)([])", "[len, 5][$S % 2]([])", "len(*$L)", "len($L, *$L)", "abs(*$L)", "l0.append(*$L)", "l0.append(**$K)", "sorted(l0, **$K)", "int(**$K)", "send(attempt($A, 1))", "send(attempt(look, $I).ok)", "send(attempt(look, x = $A).ok)", "look($I)", "send(look(x = $I))", "send(attempt(look, *[$I]).ok)", "send(attempt(look if $B else pay, 2).ok)", "attempt(div, *$L)", "attempt(div, **$K)", "div(1, $A)", "div(*$L)", "div(**$K)", "pay($A)", "recv(*$L)", "mail(*$L)", "endorse($I, *$U)", "endorse(**$K)", "send(json.dumps($A, indent = $A))", "send(json.dumps([1], separators = $A))", "send(json.dumps($A, sort_keys = $A))", "send(json.encode($A))", "send(json.encode({$A: 1}))", "send(json.encode([$A, {1: 2}][:$S]))", "send(json.decode($T + '1'))", "send(json.decode($T, $A))", "send(json.decode($A))", "send(json.loads($Y))", "send(json.loads($A))", "send(json.indent($T))", "send(json.indent('[1]', indent = $A))", "send(json.encode_indent(1, prefix = $A))", "done(*$L)", "done($F if $B else 1)", "print(($A)($A))", "send(repr([$F, $A]))", "while $A: pass",
	"for n1 in #R: #R.append(1)", "for n1 in #M: #M[n1 + 1] = 1", "for n1 in #R: $R.append($I)", "for n1 in #W: $W.add($I)", "for n1 in [1, 2]: send(7 // ($S - n1))", "while True: pass", "while $B: pass", "def r0(): return r0()\nr0()", "def r0(n): return r0(n + 1) if $B else n\nsend(r0(0))", "q0 = [1]\nwhile len(q0) < 9999: q0 += q0\nsend($I)", "[recv() for n1 in range(99)]", "for n1 in range(9): send(7 // ($I - n1))",
	"send(endorse($A, 'user', 'w'))", "send(endorse($I, 'user', 'w', options = $L))", "send(endorse($B, $T))", "send(declassify($A, ['eve'], 'w'))", "send(declassify($I, $U, 'w'))", "pay($I)", "div($I, $I)", "ask($I)", "attempt(ask, $I)", "attempt(div, $I)", "send(*$L)", "send(**$K)", "send($I, x = $I)", "mail($A)", "attempt($A)", "choose($I, $L)", "u0", "send(u1)", "u0 += $I", "$A", "$C", "if $B: fail('x')", "if $B: done($I)", "($B and fail($I))", "if $B: send($D[$I])", "print($F, $A)", "json.dumps([$F, $F], default = lambda z: send(1) or $I)", "json.dumps($L, indent = $A)", "($A)()", "($A)($I)", "f0.x", "send(sorted($L, key = $A))", "send({$A: $A, $A: $A})",
)
