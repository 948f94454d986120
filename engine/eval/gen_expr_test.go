package eval

// prelude is the first turn of every session.
const prelude = moduleNames + `i0 = 0
i1 = 1
i2 = 2
l0 = [1, 2]
l1 = []
l2 = l0
ll = [l0, [3]]
d0 = {0: 1}
d1 = {}
dl = {}
dk = {"p": 1}
t0 = "a1"
t1 = ""
y0 = b"ab"
e0 = set([1])
e1 = set()
p0 = (1, 2)
v0 = struct(a = 1, b = l1, c = 2)
fs = []
n0 = 0
q0 = []
if i0 > 9:
  u0 = 0
  u1 = 0
def pop(x):
  if x: return x.pop()
  return 0
def total(x):
  n = 0
  for z in x: n += z
  return n
def ident(x): return x
def index(x, y):
  if y in x: return x.index(y)
  return -1
def k1(p = 1, q = 2, **r): return p
def f3(a, *, b = 2): return a - b
def f4(*a, **k): return len(a) * 4 + len(k)
def rec(n):
  if n <= 0: return 1
  return rec(n - 1) + n
def make(n):
  def add(z): return z + n
  return add
def counter():
  box = [0]
  def add(z):
    box[0] += z
    return box[0]
  return add
def later(x):
  out = []
  for y in [0, 1]:
    if y == 0 or x: [out.append(lambda: z) for z in [y]]
  return out[0]()
c0 = counter()
c1 = make(1)
def f0(a, x, m): return a
def f1(a, x = l0, m = d1): return len(x)
def f2(a, x, *r, m = d0, **k): return len(m)
g0 = f0
`

// heads are the functions that a program may define anew.
var heads = []string{
	"def f0(a, x, m):",
	"def f1(a, x = l0, m = d1):",
	"def f2(a, x, *r, m = d0, **k):",
}

// vocabulary is what expressions are made of.
var vocabulary = parsed([...]*words{
	'I': {
		plain: []string{"0", "1", "2", "3", "i0", "i1", "i2", "i0", "i1", "i2", "s1", "s1", "s2", "s2", "s3", "n0"},
		inner: []string{"0", "1", "2", "i0", "i1", "a", "a", "j0", "j1", "s1", "s2", "s3"},
		set:   []string{"i0", "i1", "i2"},
		setIn: []string{"j0", "j1", "a"},
		texts: []string{
			"($I + $I)", "($I - $I)", "($I * $S)", "($I // 2)", "($I % 3)", "(7 % ($I or 5))", "(-$I)", "(+$I)", "(~$I)", "($I & 7)", "($I | $S)", "($I ^ $S)",
			"($S << $S)", "($I >> $S)", "(3 - $I)", "(2 + $I)",
			"abs($I)", "int($I)", "int(str($I))", "int('1' + str(abs($I)), 16)", "int($G)", "int(bool($A))", "int($B == True)",
			"len($L)", "len($D)", "len($T)", "len($E)", "len($P)", "len($K)", "len($Y)", "len($U)", "len(range($S))", "len(dir($V))",
			"($L + [$I])[0]", "($L + [$I])[-1]", "($L + [1, $I, 2, $I])[$S]", "[$I, $I, $I, $I][$S]", "($I, $I, $I, $I)[$S]", "range(#I, #I + 4)[$S]", "ord(bytes([1, $S, 3, 4])[$S])",
			"($P + ($I, $I))[$S]", "$P[0]", "$P[$S % 2]",
			"$D.get($I, $I)", "($D.get($I) or $I)", "$K.get($T, $I)", "$M.pop($I, $I)", "$M.setdefault($I, $I)", "(#M[i1] if i1 in #M else 0)", "(dk['p'] if 'p' in dk else 0)",
			"pop($R)", "$L.count($I)", "index($L, $I)", "($L + [#I]).index(#I)", "([0, 1, 2, 3] + $L).index($S)", "([0, 1, 2, 3] * 2).index($S, $S % 2, 8)",
			"$T.find($T)", "$T.rfind($T)", "$T.count($T)", "($T + 'a').index('a')", "('1' + $T).rindex('1')", "$T.find($T, $S, $S)", "$T.count($T, $S)",
			"max($L + [$I])", "min($L + [$I])", "max($I, $I)", "min($I, $I, $I)", "max($L, default = $I)", "max($L + [1], key = $F)", "min([$I, $I], key = $F)", "max([$P, $P])[0]", "min($D, default = $I)",
			"($I if $B else $I)", "($I if $B else $I)", "($I and $I)", "($I or $I)", "(($L and [$I]) or [1])[0]",
			"$C", "$C", "(lambda z: z + $i)($I)", "(lambda z, y = $I: z + y)($I)", "(lambda *z: len(z))(*$L)", "(lambda **z: len(z))(**$K)", "(lambda *, z: z)(z = $I)", "(lambda z, *y: z)(*($L + [$I]))", "$F($I)", "[$F, $F][$S % 2]($I)",
			"hash($T)", "ord($T[:1] or 'b')", "ord(chr(65 + $S))", "ord(bytes([$S]))",
			"$V.a", "getattr($V, 'a')", "getattr($V, 'a' if $B else 'c')", "getattr($V, $T, $I)", "v0.c",
			"mail($S).id", "mail($S)['kind']", "getattr(mail($S), 'kind')", "mail(x = $S)['id']", "len(inbox())", "hr.a", "hr.c", "md.p", "md['q']", "len(mail($S).tags)", "([m.id for m in inbox()][0] if inbox() else 1)",
			"json.decode(str($I))", "json.decode(json.encode($L + [$I]))[0]", "json.loads(json.dumps({'a': $I}))['a']", "json.decode($T, $I)", "json.decode('[%d]' % $I)[0]",
			"(attempt(div, $I, $I).value or 0)", "(recv() or 0)", "(1 if quota() else 0)", "(attempt(pay, x = $I).value or 1)", "(attempt(look, $I).value or 1)", "len(attempt(div, *$P).error)",
			"total($L)", "total(*[$L])", "choose($S, [0, 1, 2, 3])", "choose(#I, [$I, #I])", "choose($I % 2, [0, 1, $S])",
			"list(enumerate($L + [$I], $I))[0][0]", "enumerate($L + [$I])[-1][1]", "zip($L + [1], [$I])[0][1]", "reversed($L + [$I])[0]", "sorted($L + [$I])[0]", "sorted([$I, $I], key = $F)[0]", "sorted([$P, $P], reverse = $B)[0][1]",
			"dict([($I, $I)]).get($I, 0)", "dict(p = $I)['p']", "{$I: $I}.get($I, $I)", "{z: $i for z in $L}.get($I, $I)", "{$P: $I}.get($P, 0)", "{(1, z): $i for z in $L}.get((1, $I), 0)",
			"($T and 1 or 0)", "set([$I, $I]).pop()", "list(set([$I]))[0]", "c0($I)", "c1($I)", "make($I)($I)", "rec($S)", "later($I)", "ident($I)", "ident(ident)($I)",
			"((bool, len, total)[0]($A) and 1 or 2)", "[len, total, f4][$S % 2]($L)", "[l0, l1][$S % 2].count($I)", "(#M if $B else #M).get($I, 1)", "l0.count(*[$I])", "d0.get(*[$I, $I])", "d0.get(*($L[:1] + [$I]))", "struct(a = $I).a",
			"([$i for z in #R] or [2])[0]", "($L[-1:] or [$I])[0]", "len([z for z in $L if $b])", "len({z: 0 for z in $L if $b})", "len({z: 0 for z in $L if z > $I})", "(($I, $I) == $P and 1 or 0)", "(dl.get($I) or [$I])[0]", "(dl[i1] + [$I] if i1 in dl else [2])[0]",
		},
	},
	'S': {plain: []string{"0", "1", "2", "3"}, texts: []string{"($I % 4)", "($I % 4)", "($I % 3)"}},
	'G': {
		plain: []string{"1.5", "0.0", "2.0"},
		texts: []string{"float($I)", "($I / 2)", "($G + $G)", "($G - $I)", "($G * $S)", "(-$G)", "float(str($I))", "($G // 2.0)", "($G % 2.0)", "max($G, $G)", "abs($G)", "(1.0 / ($I or 2))", "float($B == True)"},
	},
	'B': {
		plain: []string{"s1", "s2", "s3", "(s1 > 1)", "b1", "x1", "i0", "l0", "d0", "hl", "True"},
		inner: []string{"s1", "s2", "(s3 > 1)", "b1", "a", "(a > 1)", "x", "m", "j0"},
		texts: []string{
			"$I < $I", "$I > $I", "$I == $I", "$I != $I", "$I <= $I", "$I >= $I", "$I == 1", "$I > 1",
			"$T == $T", "$T < $T", "$L == $L", "$L < $L", "$L != $L", "$L >= $L", "$D == $D", "$K == $K", "$E == $E", "$E <= $E", "$E > $E", "$P < $P", "$P == $P", "$Y == $Y", "$Y < $Y", "$V == $V", "$G < $I", "$G == $I", "[$L] == [$L]", "{1: $L} == {1: $L}", "$U == $U", "$B == $B", "range($S) == range($S)", "(1, $L) < (1, $L)",
			"$I in $L", "$I not in $L", "$I in $D", "$T in $K", "$I in $E", "$T in $T", "$I in range($S)", "$P in [$P, $P]", "$T in $U", "$S in $Y", "$L in ll", "$P in {$P: 0}", "$P in set([$P])", "$I in $P", "$A in [$A, 1]",
			"not $A", "not $B", "bool($A)", "any($L)", "all($L)", "any([$A, $A])", "all([$B, $B])", "any([$b for z in $L])",
			"$T.startswith($T)", "$T.startswith(($T, $T))", "$T.endswith($T)", "$T.isalpha()", "$T.isdigit()", "$T.isalnum()", "$T.isupper()", "$T.islower()", "$T.isspace()", "$T.istitle()", "$T.isidentifier()", "$T.isascii()",
			"hasattr($V, $T)", "hasattr($V, 'a')", "hasattr(mail($S), 'id')", "type($A) == 'int'", "type($A) == type($A)",
			"$E.issubset($L)", "$E.issuperset($L)", "$E.isdisjoint($L)", "quota()", "attempt(div, 1, $I).ok", "attempt(pay, $I).ok", "attempt(look, x = $I).ok", "attempt(look, $I).ok",
			"($B and $B)", "($B or $B)", "($B if $B else $B)", "(len if $B else str)($T)", "$F($I)", "$L", "$D", "$E", "$T", "$K", "$P", "mail($S).flag",
		},
	},
	'T': {
		plain: []string{"'a'", "''", "'1'", "'ab'", "t0", "t1", "x1", "x1", "x2"},
		set:   []string{"t0", "t1"},
		setIn: []string{"j3"},
		texts: []string{
			"str($A)", "repr($A)", "str($I)", "($T + $T)", "($T * $S)", "$T[$S:]", "$T[:$S]", "$T[::-1]", "$T[$S:$S]", "$T[::$S + 1]", "($T + 'abcd')[$S]", "('b' + $T)[-1]",
			"$T.upper()", "$T.lower()", "$T.title()", "$T.capitalize()", "$T.swapcase()", "$T.casefold()", "$T.strip()", "$T.strip($T)", "$T.lstrip($T)", "$T.rstrip($T)", "$T.removeprefix($T)", "$T.removesuffix($T)",
			"$T.replace($T, $T)", "$T.replace('a', $T, $S)", "$T.join([$T, $T])", "','.join($U)", "','.join([str(z) for z in $L])", "$T.partition($T or 'a')[0]", "$T.rpartition('a')[2]", "$T.partition('1')[$S % 3]",
			"$T.ljust($S)", "$T.rjust($S, 'x')", "$T.center($S)", "$T.zfill($S)", "$T.expandtabs($S)", "$T.format($I)",
			"('%s' % $I)", "('%d-%s' % ($I, $A))", "('%s%%' % ($A,))", "('%(p)s' % dict($K, p = $I))", "('%*d' % ($S, $I))", "('%x' % $I)", "('%r' % $T)", "('%s' * 2 % $P)", "('%.1f' % $G)",
			"'{}'.format($A)", "'{0}{1}'.format($A, $I)", "'{a:>5}'.format(a = $I)", "'{:{}}'.format($I, $S)", "'{p}'.format(**dict($K, p = $I))", "'{}{}'.format(*$P)", "'{!r:>4}'.format($T)",
			"chr(97 + $S)", "type($A)", "json.encode($A)", "json.encode($K)", "json.encode_indent($L)", "json.dumps($A)", "json.dumps($K, sort_keys = $B)", "json.dumps($L, indent = $S)", "json.indent(json.encode($L))", "json.dumps([$L, 1], separators = (',', $T))", "json.decode(json.encode($T))",
			"($U + [$T])[0]", "sorted($U + [$T])[0]", "max($U, default = $T)", "$Y.decode()", "dir($V)[0]", "($T if $B else $T)", "($T and $T)", "($T or $T)", "attempt(div, $I, $I).code", "attempt(div, $I, $I).error", "attempt(pay, $I).code", "mail($S).body", "mail($S)['body']", "(inbox()[0].body if inbox() else '')",
			"''.join(list($T.elems()))", "(list($T.codepoints()) + ['b'])[0]", "str($F)", "str($T.elems())", "(list($T.elems()) + ['b'])[0]", "(list($K) + [$T])[0]", "choose(#T, [$T, #T])", "str(json.decode($T, default = $I))", "('a' if $B else 'b')",
		},
	},
	'Y': {plain: []string{"b'a'", "y0", "b''"}, set: []string{"y0"}, setIn: []string{"j4"}, texts: []string{
		"bytes($T)", "bytes([$S, $S])", "$T.encode()", "($Y + $Y)", "$Y[$S:]", "$Y[::-1]", "($Y * $S)", "bytes($Y)", "($Y if $B else $Y)", "bytes(range($S))",
	}},
	'U': {plain: []string{"[]", "['a', '1']"}, texts: []string{
		"[$T, $T]", "[$T]", "$T.split('a')", "$T.split()", "$T.split($T or '1', $S)", "$T.rsplit('1', $S)", "$T.rsplit()", "$T.splitlines()", "$K.keys()", "list($K)", "dir($V)", "list($T.elems())", "sorted($U)", "list($T.partition('a'))", "[str($i) for z in $L]", "($U + $U)", "$U[$S:]", "[m.body for m in inbox()]",
	}},
	'L': {
		plain: []string{"l0", "l1", "l2", "hl", "ml", "rl", "[]", "[1, 2]"},
		inner: []string{"l0", "l1", "x", "x", "k0", "hl", "ml"},
		set:   []string{"l0", "l1", "l2"},
		setIn: []string{"x", "k0"},
		texts: []string{
			"$R", "$R", "[$I, $I]", "[$I]", "[$i for z in $L if $b]", "[z for z in $L if z > $I]", "[$i for z in $L]", "[y + z for y in $L if $B for z in [1, $i]]", "[y for y in $L for z in $L if $b]", "[z for z in [y for y in $L if $B]]", "[z for (z, y) in [$P, $P]]",
			"sorted($L)", "sorted($L, key = $F)", "sorted($L, reverse = $B)", "list($L)", "list($D)", "list($E)", "list(range($S))", "list(range($S, 4))", "list(range(3, $S, -1))", "list($P)", "sorted($D)", "sorted($E)", "list()",
			"$D.values()", "$D.keys()", "$K.values()", "[z for (y, z) in $D.items()]", "$L[$S:]", "$L[:$S]", "$L[::-1]", "$L[$S:$S]", "$L[::$S + 1]", "$L[1:]", "list($P[:$S])", "list(range(4)[$S:])",
			"[p + q for (p, q) in zip($L, $L)]", "[p * q for (p, q) in enumerate($L)]", "[p - q for (p, q) in zip(*[$L, $L])]", "($L + $L)", "($L * $S)", "$L.copy()", "reversed($L)", "[len(z) for z in $U]", "list({z % 2: $i for z in $L})", "list(($T + '1').elem_ords())[:2]",
			"json.decode(json.encode($L))", "list(set($L))", "[m.id for m in inbox()]", "[m.kind for m in inbox() if m.flag]", "[$F(z) for z in $L]", "($L if $B else $L)", "dl.get($I, $L)", "v0.b", "list(y0.elems())", "[z for z in $P]", "list(struct(a = $L).a)", "mail($S).tags",
		},
	},
	'R': {
		plain: []string{"l0", "l1", "l2", "l0", "l1", "l2", "hl", "rl"},
		inner: []string{"l0", "l1", "x", "x", "k0"},
		texts: []string{
			"($R if $B else $R)", "($R or $R)", "($R and $R)", "[$R, $R][$S % 2]", "dl.setdefault($I, [])", "dl.setdefault($I, $R)", "ll[$S % 2]", "(lambda z: z)($R)", "ident($R)", "v0.b", "{0: $R, 1: $R}[$S % 2]", "ident(*[$R])", "[z for z in [$R]][0]",
		},
	},
	'D': {
		plain: []string{"d0", "d1", "d0", "d1", "rd", "{}", "{1: 2}"},
		inner: []string{"d0", "d1", "m", "m", "rd"},
		set:   []string{"d0", "d1"},
		setIn: []string{"m"},
		texts: []string{
			"$M", "dict($D)", "{$I: $I}", "{$I: $I, 9: $I}", "{z: $i for z in $L}", "{$i: z for z in $L if $b}", "dict([($I, $I)])", "dict(zip($L, $L))", "dict([[$I, $I], $P])", "($D | $D)", "$D.copy()", "($D if $B else $D)", "dict(list($D.items()))", "dict($D, **{})",
		},
	},
	'M': {
		plain: []string{"d0", "d1", "rd"},
		inner: []string{"d0", "d1", "m", "m"},
		texts: []string{"($M if $B else $M)", "[$M, $M][$S % 2]", "ident($M)", "($M or $M)"},
	},
	'K': {
		plain: []string{"dk", "dk", "hd", "md", "{}", "{'p': 2}"},
		set:   []string{"dk"},
		setIn: []string{"k5"},
		texts: []string{
			"{$T: $I}", "{'p': $I, 'q': $I}", "dict(p = $I, q = $I)", "dict(**$K)", "dict($K, q = $I)", "json.decode(json.encode($K))", "($K if $B else $K)", "($K | $K)", "{z: 1 for z in $U}", "$K.copy()", "{('p' if $B else 'q'): $I}",
		},
	},
	'E': {
		plain: []string{"e0", "e1", "hs", "set()", "set([2])"},
		set:   []string{"e0", "e1"},
		setIn: []string{"k6"},
		texts: []string{
			"$W", "set($L)", "($E | $E)", "($E & $E)", "($E - $E)", "($E ^ $E)", "$E.union($L)", "$E.intersection($L)", "$E.difference($L)", "$E.symmetric_difference($L)", "$E.copy()", "($E if $B else $E)", "set([z for z in $L if $b])", "$E.union($L, $E)", "$E.union(*[$L])", "$E.union(*[[1]][:$S])", "set($D)", "set($P)",
		},
	},
	'W': {plain: []string{"e0", "e1", "hs"}, texts: []string{"($W if $B else $W)", "ident($W)", "[$W, $W][$S % 2]"}},
	'P': {
		plain: []string{"p0", "ht", "(1, 2)"},
		set:   []string{"p0"},
		setIn: []string{"k7"},
		texts: []string{"($I, $I)", "($P if $B else $P)", "tuple([$I, $I])", "($P[0], $I)", "$P[::-1]", "zip([$I], [$I])[0]", "enumerate([$I], $I)[0]", "($P + $P)[1:3]", "($P * 2)[:2]", "tuple($P)", "(lambda *z: z)($I, $I)"},
	},
	'V': {
		plain: []string{"v0", "hr", "struct(a = 1, c = 2)"},
		set:   []string{"v0"},
		setIn: []string{"k8"},
		texts: []string{"struct(a = $I, c = $I, b = l0)", "struct(**{'a': $I, 'c': $I, 'b': l1})", "($V if $B else $V)"},
	},
	'F': {
		plain: []string{"abs", "c1", "(lambda z: z)", "(lambda z: -z)", "c0", "f4"},
		texts: []string{
			"(lambda z: z * $i)", "(lambda z: $i)", "(lambda z: $i)", "(lambda z: $R.append(z) or z)", "(lambda z: send(z) or 1)", "make($I)", "($F if $B else $F)", "(lambda z, y = $I: z + y)", "(lambda z: z if $b else 1)", "counter()", "(lambda z: d0.update({z: 1}) or z)",
		},
	},
	'C': {
		plain: []string{"f0(1, l0, d0)"},
		texts: []string{
			"f0($I, $R, $M)", "f1($I, $R, $M)", "f2($I, $R, m = $M)", "g0($I, $R, m = $M)", "f0(*[$I, $R, $M])", "f0($I, m = $M, x = $R)", "f0(**{'a': $I, 'x': $R, 'm': $M})", "f1($I)", "f1($I, $R)", "f2($I, $R, $I, m = $M, z = $I)", "f3($I)", "f3($I, b = $I)", "f3(**{'a': $I, 'b': $I})", "f4(*$L)", "f4(**$K)", "f4($I, *$L, **$K)", "k1(**dk)", "k1(**$K)", "k1(p = $I)", "(f0 if $B else f1)($I, $R, $M)", "[f0, f1, g0, f0][$S]($I, $R, $M)", "ident(f0)($I, $R, $M)",
		},
	},
	'A': {texts: []string{"$I", "$I", "$B", "$T", "$L", "$D", "$K", "$E", "$P", "$V", "$U", "$G", "$Y", "None", "[$L, $P]", "{1: $L}", "($I, [$I])", "ll", "dl", "mail($S)", "inbox()", "attempt(div, $I, $I)", "range($S)", "$T.elems()", "[l0, l0]", "(s1, s2)"}},
})
