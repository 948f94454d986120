package eval

// moduleNames are the names of modules, and of what they make, that random programs use.
const moduleNames = `import collections
c9 = collections.Counter([1, 2, 2])
c8 = collections.Counter()
dd = collections.defaultdict(list)
di = collections.defaultdict(int)
dt = collections.defaultdict(int)
df = collections.defaultdict(lambda: len(q9))
od = collections.OrderedDict([(1, 2), (2, 3), (3, 4)])
q9 = collections.deque([1, 2, 3])
q8 = collections.deque([], 2)
import datetime, itertools, textwrap
d9 = datetime.date(2024, 1, 31)
d7 = datetime.datetime(2024, 2, 28, 23, 30)
d6 = datetime.timedelta(hours = 5)
d5 = datetime.timezone(datetime.timedelta(hours = 2))
import re
rp = re.compile("(a)|([0-9])")
rn = re.compile("(?P<p>[a-z]*)(?P<q>1)?")
pt = collections.namedtuple("pt", "a b", defaults = [7])
`

// What the modules add, for the generator of random programs.
func init() {
	add := func(typ byte, texts ...string) {
		vocabulary[typ].ops = append(vocabulary[typ].ops, templatesOf(texts...)...)
	}
	add('I', "c9[$I]", "c8[$I]", "c9.total()", "collections.Counter($L)[$I]", "collections.Counter($L + [$I]).most_common(1)[0][1]", "collections.Counter($L + [$I]).most_common()[0][0]", "collections.Counter($D).total()", "(collections.Counter($L) + c9)[$I]", "(c9 - collections.Counter($L))[$I]", "(c9 | c8)[$I]", "(c9 & c8).get($I, $I)",
		"len(collections.Counter($L) - c9)", "len(list(c9.elements())[:4])", "di[$I]", "df[$I]", "dt['p']", "dt['p' if $B else 'q']", "dt[$T]", "len(dd[$I])", "len(dd)", "len(di)", "(dd[$I] + [$I])[0]", "collections.defaultdict(lambda: $I)[$I]", "collections.defaultdict($F and int, $D).get($I, $I)", "(list(od) + [$I])[0]", "od.get($I, $I)",
		"(q9.pop() if q9 else $I)", "(q9.popleft() if q9 else $I)", "len(q8)", "len(q9)", "(list(q9) + [$I])[$S]", "(q9[$S % len(q9)] if q9 else 0)", "q9.count($I)", "((collections.deque([$I, $I, $I], $S + 1) + collections.deque([1]))[0] if False else $I)", "collections.deque($L + [$I], 2)[-1]", "sum(q9)", "max(collections.deque([$I, $I]))",
		"pt($I).a", "pt($I, b = $I)[1]", "pt(*$P).b", "pt($I)._replace(a = $I).a", "pt._make($P).a", "len(pt($I)._asdict())", "pt($L, $I).b", "(pt($I) + () if False else pt($I, $I))[$S % 2]", "[y + z for y, z in [pt($I, $I)]][0]")
	add('B', "c9 == collections.Counter($L)", "c9 == $D", "c8", "$I in c9", "$I in dd", "od == collections.OrderedDict($D)", "od == $D", "q9", "q8", "q9 == collections.deque($L)", "$I in q9", "collections.deque($L) < collections.deque($L)", "pt($I, $I) == $P", "$P < pt($I)", "$I in pt($I)", "{pt($I, $I): 1}.get($P)", "isinstance($A, collections.Counter)", "isinstance(pt($I), pt)", "dd == {$I: $L}")
	add('T', "str(c9)", "str(dd)", "str(od)", "str(q9)", "str(pt($A))", "json.dumps(c9)", "json.dumps(q9)", "json.encode(pt($I))", "str(collections.Counter($T.elems()))")
	add('L', "list(c9.elements())[:5]", "list(q9)", "[z for z in q8]", "list(od)", "[*q9, $I]", "sorted(c9)", "dd[$I]", "list(pt($I))", "di.keys()")
	add('D', "dict(c9)", "collections.Counter($L)", "collections.OrderedDict($D)", "(c9 + c8)", "collections.defaultdict(int, $D)", "c9.copy()")
	add('M', "c9", "di", "od", "c8")
	add('R', "dd[$I]")
	simpleStmts = append(simpleStmts, templatesOf("c9[$I] += 1", "c8[$I] += $I", "c8.update($L)", "c9.update($D)", "c8.subtract($L)", "c8.update({$I: $I})", "di[$I] += $I", "di[$I]", "dd[$I].append($I)", "dd[$I]", "df[$I]", "send(df[$I])", "send(di[$I])", "send(c8)", "send(len(dd))", "dd[$I] = $L", "dt['p'] += $I", "if $B: dt['p']", "dt[$T] += 1", "send(dt)", "send(len(dt))", "if $B: dt['q'] += 1", "if $B: dd[$I]", "if $B: di[$I] += 1", "[dd[$i].append(z) for z in $L[:3]]",
		"od[$I] = $I", "if #I in od: od.move_to_end(#I)", "if #I in od: od.move_to_end(#I, $B == True)", "if od: send(od.popitem())", "if od: send(od.popitem(last = $B == True))", "send(list(od))", "send(od)",
		"q9.append($I)", "q9.appendleft($I)", "q8.append($I)", "q8.appendleft($I)", "q9.extend($L)", "q8.extendleft($L)", "q9.rotate($I)", "if q9: q9.pop()", "if q9: q9.popleft()", "if #I in q9: q9.remove(#I)", "q9.insert($I, $I)", "q9.reverse()", "if q9: q9[$S % len(q9)] = $I", "send(q9)", "send(q8)", "if $B: q9.clear()", "send(list(q9)[:2])", "if $B: q9.append($I)",
		"send(pt($I))", "send(pt($I)._asdict())", "pt([$I], $R).b.append($I)", "send(c9.most_common($S))")...)
	leakStmts = append(leakStmts, templatesOf(
		"q0 = collections.defaultdict(list)\nfor n1 in $L:\n  q0[n1].append(n1)\nsend(len(q0))\nsend(q0)", "q0 = collections.defaultdict(int)\nif $B: q0[1]\nsend(len(q0))\nsend(2)", "q0 = collections.defaultdict(lambda: send(1))\nif $B: q0[1]\nq0[$I]\nsend(quota())",
		"q0 = collections.defaultdict(list)\nfor n1 in $L:\n  if n1 in q0: continue\n  q0[n1]\nsend(len(q0))", "q0 = collections.Counter()\nfor n1 in $L:\n  if $B: q0[n1] += 1\nsend(len(q0))\nsend(q0.most_common(1))", "q0 = collections.deque()\nfor n1 in $L:\n  if $B: q0.appendleft(n1)\nsend(len(q0))\nsend(q0)",
		"q0 = collections.deque([1, 2, 3], 3)\nq0.append($I)\nif $B: q0.append(4)\nsend(q0[0])", "q0 = collections.OrderedDict([(1, 1), (2, 2)])\nif $B: q0.move_to_end(1)\nsend(list(q0)[0])", "q0 = collections.OrderedDict([(1, 1), (2, 2), (3, 3)])\nq0.popitem(last = $B == True)\nsend(list(q0))\nsend(len(q0))",
		"q0 = collections.defaultdict(lambda: 7 if $B else 8)\nsend(q0[1])\nsend(q0)", "q0 = pt($I, [])\nif $B: q0.b.append(1)\nsend(len(q0.b))\nsend(q0.a)", "def r0():\n  return dd[$I]\nif $B: r0()\nsend(len(dd))", "n2 = collections.namedtuple($T or 'x', ['p'])\nsend(n2(1))\nsend(str(n2))")...)
	add('I', "len(re.findall('[a-z]', $T))", "rn.match($T).end()", "rn.match($T).start('p')", "rn.search($T).span()[$S % 2]", "len(rp.findall($T))", "(rp.search($T) and rp.search($T).lastindex or 0)", "re.subn('a', 'b', $T)[1]", "len(rn.match($T).groups())", "rp.groups", "rn.groupindex['p']", "len(re.split('a', $T, $S))", "len(re.finditer('1|a', $T))")
	add('B', "re.search('a', $T)", "re.match($T.upper(), $T)", "re.fullmatch('[a-z]*', $T)", "rp.search($T)", "re.compile('a') == rp", "re.search('A', $T, re.I if $B else 0)", "rn.fullmatch($T)")
	add('T', "re.sub('[a-z]', $T, 'xay')", "re.sub('a', lambda z: z.group() + str($I), $T)", "re.sub('a|1', r'<\\g<0>>', $T)", "rp.sub('-', $T, $S)", "rp.sub(lambda z: 'x' if $B else 'y', $T)", "rn.match($T).group()", "rn.match($T).group('p')", "rn.match($T)[0]", "re.escape($T)", "(rp.findall($T) + [('', 'z')])[0][$S % 2]", "rn.match($T).expand(r'\\1')", "str(rn.match($T))", "(re.split('([a1])', $T) + ['z'])[$S % 2]", "rn.match($T).string", "rn.match($T).groupdict()['p']", "rp.sub('z', 'a1a')", "(rn.match($T).groups($T))[$S % 2]", "rn.match($T, $S).group()")
	add('U', "re.findall('[a-z0-9]', $T)", "re.split('a', $T)", "[z.group() for z in re.finditer('.', $T)]", "[z[0] for z in re.finditer('[a-z]', $T)]")
	simpleStmts = append(simpleStmts, templatesOf("re.sub('a', lambda z: send(1) or 'x', $T)", "[send(z.start()) for z in re.finditer('a|b', $T)]", "send(re.findall('a', $T))", "send(re.split('a', $T))", "send(rn.match($T).groupdict())", "send(rn.match($T).groups())", "rp = re.compile('a' if $B else 'b')", "send(rp.pattern)", "re.sub('.', lambda z: $R.append(1) or '', $T)")...)
	leakStmts = append(leakStmts, templatesOf("n0 = re.search('a', $T)\nif n0: send(n0.start())\nsend(2)", "q0 = []\nre.sub('a', lambda z: q0.append(z.start()) or 'x', $T)\nsend(len(q0))\nsend(quota())", "for n1 in re.findall('[a-z]', $T): send(n1)\nsend(2)", "n0 = re.compile('a' if $B else 'b').search('xa')\nsend(n0.start() if n0 else 9)")...)
	add('I', "(d9 + datetime.timedelta(days = $I)).day", "(d7 + datetime.timedelta(hours = $I)).month", "d9.replace(day = $S + 1).weekday()", "datetime.timedelta(days = $I).days", "datetime.timedelta(seconds = $I).seconds", "(d7 - d6 * $I).hour", "(datetime.date(2024, 1, $S + 1) - d9).days", "datetime.datetime(2024, 1, 1, $S).hour", "(d6 // ($S + 1)).seconds", "int(datetime.datetime(2024, 1, 1, $S, tzinfo = d5).timestamp())", "datetime.date.fromordinal(abs($I) + 1).day", "datetime.datetime.combine(d9, datetime.time($S)).hour",
		"itertools.chain($L, [$I])[$S % 1]", "len(itertools.chain.from_iterable([$L, $L]))", "len(itertools.islice($L, $S))", "len(itertools.groupby($L))", "len(itertools.groupby($L, $F))", "len(itertools.product($L[:3], repeat = $S % 3))", "len(itertools.combinations($L[:4], $S))", "len(itertools.permutations($L[:3]))", "itertools.zip_longest($L, [$I], fillvalue = $I)[0][1]", "itertools.accumulate($L + [$I])[-1]", "itertools.accumulate([$I, $I], lambda y, z: y - z, initial = $I)[1]", "len(itertools.takewhile($F, $L))", "len(itertools.dropwhile($F, $L))", "itertools.starmap(lambda y, z: y + z, [$P])[0]", "len(itertools.pairwise($L))", "len(itertools.batched($L, $S + 1))", "len(itertools.filterfalse($F, $L))", "itertools.repeat($I, 2)[1]", "len(itertools.repeat(1, $S))")
	add('B', "d9 < datetime.date(2024, 1, $S + 1)", "d7 == datetime.datetime(2024, 2, 28, $S)", "datetime.timedelta($I)", "d6 > datetime.timedelta(hours = $I)", "d9 in {datetime.date(2024, 1, $S + 28): 0}", "isinstance($A, datetime.date)", "datetime.time($S) < datetime.time(2)")
	add('T', "str(d7 + d6 * $I)", "d9.replace(day = $S + 1).isoformat()", "d7.strftime($T)", "f'{d9:%d}{(d7.replace(hour = $S)):%H}'", "str(datetime.timedelta(days = $I))", "str(datetime.timezone(d6 * ($S % 2), $T or 'n'))", "repr(d7.replace(tzinfo = d5 if $B else None))")
	add('T', "textwrap.fill($T + ' b c', $S + 1)", "textwrap.shorten($T + ' b c', $S + 5)", "textwrap.dedent($T)", "textwrap.indent($T + '\\\\nx', $T)", "textwrap.indent('a', 'b', lambda z: $b)")
	add('U', "textwrap.wrap($T + ' b c', $S + 1)")
	add('L', "itertools.chain($L, $L)", "itertools.islice($L, 1, None)", "itertools.accumulate($L)", "([z for (y, z) in itertools.groupby($L)] + [[]])[0]", "[y for (y, z) in itertools.product($L[:2], $L[:2])]", "itertools.takewhile(lambda z: z < $I, $L)", "itertools.dropwhile(lambda z: $b, $L)", "itertools.filterfalse(None, $L)")
	simpleStmts = append(simpleStmts, templatesOf("d9 = datetime.date(2024, 1, $S + 1)", "d7 = d7 + d6 * $S if $B else datetime.datetime(2024, 2, 28)", "send(str(d9))", "send(d9.day)", "send((d7 - datetime.datetime(2024, 1, 1)).days)", "send(itertools.groupby($L))", "send(itertools.product($L[:2], $L[:2]))", "itertools.groupby($L[:2], lambda z: send(z))", "itertools.takewhile(lambda z: send(z) or $b, $L[:3])", "itertools.accumulate($L[:3], lambda y, z: send(1) or z)", "itertools.starmap(lambda *z: send(len(z)), [$L, $P])", "send(itertools.combinations($L[:3], 2))", "itertools.dropwhile(lambda z: $R.append(1) or $b, $L[:3])")...)
	leakStmts = append(leakStmts, templatesOf("q0 = itertools.takewhile(lambda z: $b, [1, 2, 3])\nsend(len(q0))\nsend(quota())", "q0 = []\nitertools.takewhile(lambda z: q0.append(z) or $b, [1, 2, 3])\nsend(len(q0))", "for n1, q0 in itertools.groupby([1, $I, 1]): send(len(q0))\nsend(2)", "if $B: d9 = datetime.date(2024, 3, 1)\nsend(str(d9))", "itertools.dropwhile(lambda z: send(z) or $b, [1, 2, 3])\nsend(quota())")...)
	enderStmts = append(enderStmts, templatesOf("send(datetime.date(2024, $I, 1))", "send(str(datetime.date($A, 1, 1)))", "send(d9 + $A)", "send(d9 - d7 if $B else 1)", "send(str(datetime.date.fromisoformat($T)))", "send(str(datetime.datetime.strptime($T, $T)))", "send(str(d9.replace(day = $I)))", "send(d9 < $A)", "send(str(datetime.timedelta($A)))", "send(str(d6 / $I))", "send(str(d6 // $A))", "send(d9)", "send(json.dumps([d9]))", "datetime.datetime.now()", "send(itertools.chain($A, $A))", "send(itertools.islice($A, $A))", "send(itertools.product($A, repeat = $S))", "send(itertools.combinations($A, $I))", "send(itertools.accumulate([$A, $A]))", "send(itertools.groupby([$A, $A]))", "send(itertools.repeat($A))", "send(itertools.starmap($F, [$A]))", "send(itertools.batched($L, $I))", "send(itertools.zip_longest($A, $L))")...)
	enderStmts = append(enderStmts, templatesOf("send(re.compile($T))", "send(re.search($T, 'a'))", "send(re.search('a', $A))", "send(rp.match($T).group())", "send(rn.match($T).group($A))", "send(rn.match($T)[$I])", "send(re.sub('a', $A, $T))", "send(re.sub('a', lambda z: $A, $T))", "send(re.sub('a', '\\\\' + str($I), 'a'))", "send(re.split($T + '(', $T))", "send(re.findall('a', $T, $A))", "send(rp.sub($A, $A))", "send(re.compile(rp, $I))")...)
	enderStmts = append(enderStmts, templatesOf("send(collections.Counter($A))", "send(collections.Counter([$A, $A]))", "c8.update($A)", "send(c8 + $A)", "send(collections.Counter({1: $A}) + c9)", "send(collections.Counter({1: $A}).most_common())", "send(collections.Counter({1: $I}).elements())", "send(collections.defaultdict($A))", "send(collections.defaultdict($F)[$A])", "send(dd[$A])", "send(collections.defaultdict(lambda: 7 // $I)[1])", "send(od[$I])", "od.move_to_end($A)", "send(od.popitem())",
		"send(q9[$I])", "send(q8.pop())", "send(q8.popleft())", "q9.remove($I)", "q9.extend($A)", "send(collections.deque($A, $A))", "q9.rotate($A)", "q8.insert($I, $I)", "for n1 in q9: q9.append($I)", "send(pt($A, $A, $A))", "send(pt(*$L))", "send(pt(**$K))", "send(collections.namedtuple($T, $U))", "send(collections.namedtuple('x', $A))", "send(pt($I).zz)", "send(q9.index($I))", "send(pt($I) < $A)", "for n1 in dd: dd[$I]")...)
}
