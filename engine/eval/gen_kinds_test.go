package eval

import "strings"

func linesOf(s string) []string {
	var out []string
	for l := range strings.Lines(s) {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// A kind's rows: its constants, a line of others with operands in them, what changes a value of the name #, and inputs.
func rows(consts, shapes, grows, secrets string) *smallKind {
	return &smallKind{linesOf(consts), linesOf(shapes), linesOf(grows), strings.Fields(secrets)}
}

var smallKinds = map[string]*smallKind{
	"int":      rows("0\n1\n2\n3\n-1\n7\n1\n2\n0\n1 << 70\n-5", "$int + 1\n-$int\nint($str or 4)\nlen($list)\n$int * $nat", "# += 1\n# = 3", "s1 s2 s3 ml[0] md.p ht[0] hr.a mail(0).kind"),
	"nat":      rows("0\n1\n2\n3", "len($list)\n$nat % 4", "# = 1", "s1 s2 s1 s2 ml[1]"),
	"float":    rows("1.5\n0.0\n2.0\n-2.5\nfloat('inf')\nfloat('nan')\n0.25\n1e300", "float($nat)\n$nat / 2\n$float + 1.0", "# += 1.0", ""),
	"bool":     rows("True\nFalse", "$int > 1\n$str == 'a'", "# = not #", "b1"),
	"str":      rows("''\n'a'\n'b'\n'ab'\n'a1'\n'1'\n'Ab c'\n'x y'\n' a '\n'a-b'\n'aba'\n'é'\n'12'", "$str + 'a'\n'b' + $str\nstr($int)\n$str * $nat\n$str[$nat:]\n','.join($strs)", "# += 'b'", "x1 x2 mail(0).body"),
	"char":     rows("'a'\n'1'\n'ab'\n''", "$str", "", "x1"),
	"bytes":    rows("b''\nb'a'\nb'ab'\nb'\\xff'\nb'aGk='", "$bytes + b'a'\n$str.encode()\nbytes([$nat, 65])", "# += b'b'", ""),
	"none":     rows("None\nNone\n0", "", "", ""),
	"list":     rows("[]\n[1]\n[2, 1]\n[1, 2, 3]\n[3, 1, 2, 1]\n[0]", "[$int]\n[2, $int]\n[$int, 1, 3]\n[z for z in $list]\n[1, 2][$nat:]", "#.append(9)\n#.pop(*[0][:len(#)])\n#.clear()\n#.insert(0, 5)\n# += [4]\n#[:1] = []", "ml hl rl ml hl rl"),
	"strs":     rows("[]\n['a']\n['b', 'a']\n['ab', '1']\n['a', 'b', 'a']\n['a,b', '1,2']", "[$str]\n['a', $str]\n[$str, '1']", "#.append('c')\n#.clear()", ""),
	"lists":    rows("[[1]]\n[[1, 2], [3]]\n[]\n[[2], [1]]\n[[], [0]]", "[$list]\n[[1], $list]\n[$list, $list]\n[[$int]]", "#.append([4])\n#.clear()", ""),
	"pairs":    rows("[(1, 2)]\n[(2, 1), (1, 3)]\n[]\n[[1, 2]]\n[(1, 2), (1, 3)]\n[(1,)]\n[1]", "[$pair]\n[(1, $int)]\n[($int, 3), (1, 2)]\n[[1, $int], $pair]", "#.append((4, 5))\n#.clear()", ""),
	"mixed":    rows("[1, 'a']\n[None]\n['a']\n[1]\n[[1], 2]\n[]\n[2, 1.5]\n[[1], [1]]", "[$any, 1]\n[$any]\n[1, $any]\n[$str, $int]", "#.append('q')\n#.append(2)", ""),
	"tuple":    rows("()\n(1,)\n(1, 2)\n(3, 1, 2)", "($int,)\n(1, $int)\n($int, 2, 1)\ntuple($list)", "# += (1,)", "ht"),
	"pair":     rows("(1, 2)\n(2, 1)\n(1, 1)", "($int, 1)\n(2, $int)\n($int, $int)", "# = (0, 1)", "ht"),
	"dict":     rows("{}\n{1: 2}\n{2: 1, 1: 3}\n{0: 1}\n{1: 1, 2: 2, 3: 3}", "{$int: 1}\n{1: $int}\n{1: 2, $int: 3}\n{2: 1, 1: $int}\ndict($pairs)\n{z: 1 for z in $list}", "#[5] = 6\n#.pop(1, 0)\n#.clear()\n#[1] = 9\n#.update({7: 8})", "rd rd"),
	"sdict":    rows("{}\n{'a': 1}\n{'b': 1, 'a': 2}\n{'p': 3}\n{'x': 1}", "{$str: 1}\n{'a': $int}\n{'a': 1, $str: 2}\ndict(a = $int)", "#['c'] = 6\n#.pop('a', 0)\n#.clear()\n#['a'] = 8", "hd md hd"),
	"anydict":  rows("{1: 2}\n{'a': 1}\n{None: 0}\n{(1, 2): 3}\n{}", "{$any: 1}\n{1: $any}", "#[3] = 3", ""),
	"ldict":    rows("{}\n{1: [1]}\n{1: [1, 2], 2: []}", "{1: $list}\n{$int: [1]}", "#[3] = [3]\n#.clear()", ""),
	"set":      rows("set()\n{1}\n{1, 2}\n{3, 1}\n{2}", "{$int}\n{1, $int}\nset($list)", "#.add(9)\n#.discard(1)\n#.clear()\n#.update([4])", "hs hs"),
	"struct":   rows("struct(a = 1, b = 2)\nstruct(a = 2, c = 1)\nstruct(a = [1])", "struct(a = $int, b = 1)\nstruct(a = 1, b = $list)\nstruct(b = $any)", "# = struct(a = 3)", "hr"),
	"range":    rows("range(0)\nrange(3)\nrange(1, 4)\nrange(3, 0, -1)\nrange(1, 2)", "range($nat)\nrange(1, $nat)\nrange(0, 4, $nat + 1)", "", ""),
	"seq":      rows("'ab'.elems()\nb'ab'.elems()\n''.codepoints()\n'aé'.codepoint_ords()\n'a1'.elem_ords()", "$str.elems()\n$str.codepoints()\n$bytes.elems()", "", ""),
	"func":     rows("abs\nstr\n(lambda z: -z)\n(lambda z: z)\nbool\n(lambda z: 0)\nlen", "(lambda z: $int)\n(lambda z: z * $int)\n(lambda z: z + $int)\n(lambda z, y = $int: z + y)\n(lambda z: q9.append(z) or z)\n(lambda z: send(1) or z)\n(lambda z: $any)\n(lambda z: 7 // (z - $int))\n(lambda z, *y: $bool)", "# = len", ""),
	"nofunc":   rows("(lambda: 1)\n(lambda: None)\nlist\nint", "(lambda: $any)\n(lambda: $int)\n(lambda: q9.append(1) or 2)\n(lambda: 7 // $int)", "", ""),
	"pred":     rows("bool\n(lambda z: z > 1)\n(lambda z: True)\n(lambda z: z == 1)", "(lambda z: $bool)\n(lambda z: z > $int)\n(lambda z: $any)\n(lambda z: z in $list)", "# = bool", ""),
	"binary":   rows("(lambda y, z: y + z)\n(lambda y, z: z)\nmax\n(lambda y, z: y > z)", "(lambda y, z: y + $int)\n(lambda y, z: $int)\n(lambda y, z: y + z + $int)\n(lambda y, z = 1: q9.append(y) or z)", "", ""),
	"method":   rows("[1].append\n'a'.upper\n[1, 2].index\n{1: 2}.get", "$list.append\n$list.count\n$dict.get\n$set.add\n$list.pop\n$dict.pop", "", ""),
	"deque":    rows("collections.deque([1, 2, 3])\ncollections.deque()\ncollections.deque([2, 1], 2)\ncollections.deque([1], 3)\ncollections.deque([], 0)", "collections.deque([$int, 1])\ncollections.deque($list)\ncollections.deque([1, 2], $nat)\ncollections.deque($list, 2)\ncollections.deque([1, 2, 3], $none)", "#.append(9)\n#.clear()\n#.rotate(1)\n#.appendleft(4)", ""),
	"counter":  rows("collections.Counter([1, 1, 2])\ncollections.Counter()\ncollections.Counter({1: 3, 2: -1})\ncollections.Counter([3])\ncollections.Counter({'a': 1})", "collections.Counter([$int, 1])\ncollections.Counter({1: $int})\ncollections.Counter($list)\ncollections.Counter($iter)\ncollections.Counter(a = $int)", "#[4] += 1\n#.clear()\n#.update([1])", ""),
	"ddict":    rows("collections.defaultdict(list, {1: [1]})\ncollections.defaultdict(int)\ncollections.defaultdict(None, {1: 2})\ncollections.defaultdict(lambda: 5, {2: 1})", "collections.defaultdict(int, {1: $int})\ncollections.defaultdict(lambda: $int)\ncollections.defaultdict($nofunc)\ncollections.defaultdict(list, {$int: [1]})\ncollections.defaultdict(int, $dict)", "#[4]\n#.clear()\n#[1] = 9", ""),
	"odict":    rows("collections.OrderedDict([(1, 2), (2, 3)])\ncollections.OrderedDict()\ncollections.OrderedDict([(2, 3), (1, 2), (3, 4)])", "collections.OrderedDict([(1, $int), (2, 3)])\ncollections.OrderedDict($pairs)\ncollections.OrderedDict([($int, 1), (1, 2)])\ncollections.OrderedDict($dict)", "#[4] = 1\n#.clear()\n#.move_to_end(*list(#)[:1])", ""),
	"nt":       rows("pt(1)\npt(2, 1)\npt(1, 2)\npt([1], 2)", "pt($int)\npt(1, $int)\npt($any, 2)\npt(a = $int, b = $int)\npt(*$pair)", "# = pt(5)", ""),
	"date":     rows("datetime.date(2024, 1, 31)\ndatetime.date(2024, 3, 1)\ndatetime.date(1, 1, 1)\ndatetime.date(9999, 12, 31)", "datetime.date(2024, 1, 1 + $nat)\ndatetime.date(2000 + $nat, 2, 1)\ndatetime.date(2024, $nat, 3)\ndatetime.date.fromordinal($int)\ndatetime.date(2024, 1, 31).replace(day = $nat)", "# = datetime.date(2000, 1, 1)", ""),
	"dtime":    rows("datetime.datetime(2024, 2, 28, 23, 30)\ndatetime.datetime(2024, 1, 31)\ndatetime.datetime(2024, 2, 28, 23, 30, tzinfo = datetime.timezone.utc)\ndatetime.datetime(1, 1, 1)\ndatetime.datetime(2024, 2, 28, 23, 30, 1, 5, datetime.timezone(datetime.timedelta(hours = 2)))", "datetime.datetime(2024, 1, 1 + $nat)\ndatetime.datetime(2024, 1, 1, $nat, 3)\ndatetime.datetime(2024, 2, 3, tzinfo = $zone)\ndatetime.datetime(2024, $nat, 3)\ndatetime.datetime.combine($date, datetime.time(1, 2))", "# = datetime.datetime(2000, 1, 1)", ""),
	"time":     rows("datetime.time(1, 2)\ndatetime.time()\ndatetime.time(23, 59, 1, 5)\ndatetime.time(1, 2, tzinfo = datetime.timezone.utc)", "datetime.time($nat)\ndatetime.time(1, 2, $nat)\ndatetime.time(1, tzinfo = $zone)", "", ""),
	"delta":    rows("datetime.timedelta(hours = 5)\ndatetime.timedelta()\ndatetime.timedelta(1)\ndatetime.timedelta(days = -1)\ndatetime.timedelta(days = 999999999)\ndatetime.timedelta(seconds = 90)", "datetime.timedelta($int)\ndatetime.timedelta(minutes = $nat)\ndatetime.timedelta(days = $float)\ndatetime.timedelta(1, $nat, weeks = $nat)", "# = datetime.timedelta(3)", ""),
	"zone":     rows("datetime.timezone.utc\ndatetime.timezone(datetime.timedelta(hours = 2))\ndatetime.timezone(datetime.timedelta(0), 'x')\nNone", "datetime.timezone(datetime.timedelta(hours = $nat))\ndatetime.timezone($delta)\ndatetime.timezone(datetime.timedelta(hours = 1), $str)", "", ""),
	"pattern":  rows("re.compile('(a)|([0-9])')\nre.compile('b*')\nre.compile('(?P<p>a)(1)?')\nre.compile('a', re.I)", "re.compile($patstr)\nre.compile('(a)', $nat)\nre.compile($char)", "", ""),
	"patstr":   rows("'a'\n'(a)(1)?'\n'['\n'b*'\n'(?P<p>a)|1'\n''\n'[0-9]'\n'^a$'\n'(a)(b)'\n'a|b'", "$char\n'(' + $char + ')'", "", "x1"),
	"match":    rows("re.search('(?P<p>a)(1)?', 'ba1')\nre.match('a', 'ab')\nre.search('(a)(?P<q>b)?', 'xa')\nre.fullmatch('(a)*', 'aa')", "re.search('(?P<p>a)(1)?', $str)\nre.search($patstr, 'ab1')\nre.match('(a)(b)?', 'a' + $str)\nre.search('(?P<p>.)(1)?', $str + 'a')", "", ""),
	"repl":     rows("'x'\n'\\\\1'\n'\\\\g<p>'\n''\n'\\\\9'\n(lambda m: 'y')\n(lambda m: m.group())\n(lambda m: 1)", "$char\n(lambda m: $str)\n(lambda m: send(1) or m[0])\n(lambda m: q9.append(1) or 'z')", "", "x1"),
	"exc":      rows("ValueError('x')\nKeyError(1)\nTypeError()\nException('a', 2)", "ValueError($any)\nKeyError($int)\nException(1, $str)", "", ""),
	"excclass": rows("ValueError\nKeyError\nLookupError\n(ValueError, TypeError)\nException\nZeroDivisionError", "($excclass, KeyError)", "", ""),
	"notclass": rows("ValueError\n1\n(KeyError, 1)\nint", "($any, ValueError)", "", ""),
	"datestr":  rows("'2024-01-31'\n'2024-1-31'\n'x'\n'2024-01-31T10:00:00'\n'10:30:00'\n'2024-01-31 10:00:00+02:00'\n'20240131'", "'2024-01-0' + str($nat)\n$str", "", ""),
	"datefmt":  rows("'%Y-%m-%d'\n'%d.%m'\n'%H'\n'%Q'\n'%'\n'%A %j'\n'%Y-%m-%dT%H:%M:%S'", "'%' + $char\n$str", "", ""),
	"jsonstr":  rows("'[1]'\n'{\"a\": 1}'\n'x'\n'1'\n'null'\n'[1, 2'\n'\"a\"'\n'{\"a\": [1], \"a\": 2}'\n'1e3'", "'[%d]' % $int\n'[' + $str + ']'\njson.encode($any)", "", "x2"),
	"csv":      rows("'a,b\\n1,2\\n'\n'a;b\\n1;2'\n''\n'a\\n\\n1,2'\n'\"a\"\"b\",c'\n'a,a\\n1,2,3'", "$str + ',b\\n1,2'\n'a,b\\n' + $str", "", ""),
	"csvin":    rows("['a,b', '1,2']\n[]\n['a']\nio.StringIO('a,b\\n1,2')\n'ab'\n[1]", "io.StringIO($csv)\n['a,b', $str]\n[$str, '1,2']\n$csv.splitlines()\n$strs\n$mixed", "", ""),
	"fmt":      rows("'{}'\n'{0}{1}'\n'{a}'\n'{'\n'x'\n'{!r}'\n'{:>5}'\n'{:{}}'\n'{0.x}'\n'{}{}{}'\n'}'", "$str + '{}'\n'{' + $char + '}'\n'{:' + $char + '}'", "", ""),
	"pct":      rows("'%s'\n'%d'\n'%s %s'\n'%(a)s'\n'%'\n'x'\n'%r'\n'%5.2f'\n'%c'\n'%x'\n'%*d'", "$str + '%s'\n'%' + $char", "", ""),
	"spec":     rows("''\n'>5'\n'05d'\n'.1f'\n'x'\n'q'\n'%'\n','\n'd'\n's'\n'e'\n'+'\n'_'", "$char\n'>' + str($nat)", "", "x1"),
	"csep":     rows("','\n';'\n''\n'ab'", "$char", "", ""),
	// Operands of one operator, of several types: which of them it is may be what is hidden.
	"addends":  rows("(1, 2)\n('a', 'b')\n([1], [2])\n((1,), (2,))\n(b'a', b'b')\n(1.5, 2)\n(1, 'a')\n(1 << 70, 1)\n(struct(a = 1), struct(b = 2))\n(collections.Counter([1]), collections.Counter([2]))", "($int, $int)\n($str, $str)\n($list, $list)\n($tuple, $tuple)\n($float, $int)", "", ""),
	"factors":  rows("(2, 3)\n('a', 2)\n(2, [1])\n((1,), 2)\n(1.5, 2)\n(b'a', 2)\n('a', 'b')\n(1 << 70, 2)", "($int, $nat)\n($str, $nat)\n($list, $nat)\n($float, $int)", "", ""),
	"divisors": rows("(7, 2)\n(7.5, 2)\n(7, 0)\n(7.5, 0)\n('%s', 1)\n(1 << 70, 3)\n('a', 1)\n(1 << 1100, 1.5)\n(datetime.timedelta(1), datetime.timedelta(0))\n(datetime.timedelta(1), 2)", "($int, $int)\n($float, $float)\n($int, $float)\n('%d', $int)\n($delta, $delta)", "", ""),
	"sets":     rows("(3, 1)\n({1}, {2})\n({1: 2}, {2: 3})\n(True, 2)\n(1 << 70, 1)\n([1], 2)\n({1}, {1})\n(collections.Counter([1]), collections.Counter([2]))", "($int, $int)\n($set, $set)\n($dict, $dict)\n($counter, $counter)", "", ""),
	"shifts":   rows("(1, 2)\n(1, -1)\n(1 << 70, 2)\n(0, 600)\n(1, 1 << 20)\n(1, 1 << 70)\n(-1, 3)\n('a', 1)", "($int, $nat)\n($nat, $int)", "", ""),
	"powers":   rows("(2, 3)\n(2, -1)\n(0, -1)\n(2.0, 3)\n(-8, 0.5)\n(1e300, 3)\n(2, 1 << 70)\n('a', 2)\n(0.0, -1)", "($int, $nat)\n($float, $nat)\n($int, $float)", "", ""),
	"indexed":  rows("([1, 2], 0)\n('ab', 1)\n({0: 1}, 0)\n(range(3), 1)\n((1, 2), 5)\n(b'ab', 0)\n(collections.deque([1]), 0)\n([1], 'a')\n(5, 0)\n({'a': 1}, 'a')\n(pt(1), 0)\n(collections.Counter(), 3)\n({1: 2}, [])\n([1], [])\n(5, [])\n('a', {})\n(collections.defaultdict(int), [])\n(collections.defaultdict(int), 1)\n(re.match('a', 'a'), 0)\n({1: 2}, ([],))", "($list, $nat)\n($str, $nat)\n($dict, $int)\n($tuple, $int)\n($sdict, $str)", "", ""),
	"members":  rows("(1, [1])\n('a', 'ab')\n(1, {1})\n(1, range(3))\n(97, b'ab')\n(300, b'ab')\n(1 << 70, b'ab')\n('a', b'ab')\n(1, 'ab')\n(1.5, range(3))\n(1, 5)\n(1, pt(1))\n('a', range(3))\n(b'a', b'ab')\n(1, collections.deque([1]))", "($int, $list)\n($str, $str)\n($int, $dict)\n($int, $range)\n($int, $bytes)", "", ""),
	"compared": rows("(1, 2)\n('a', 'b')\n([1], [2])\n((1, 2), (1, 3))\n(1, 'a')\n({1}, {1, 2})\n(b'a', b'b')\n(1.5, 2)\n(1 << 70, 1)\n([1], ['a'])\n(True, 0)\n(len, abs)\n({1: 2}, {1: 3})\n(datetime.date(2024, 1, 1), datetime.date(2024, 1, 2))", "($int, $int)\n($str, $str)\n($list, $list)\n($tuple, $tuple)\n($set, $set)", "", ""),
	"word":     rows("'a'\n'b'\n'c'\n'zz'", "$char", "", ""),
}

// smallGroups are names for one kind of several.
var smallGroups = map[string][]string{
	"num":    {"int", "int", "float"},
	"iter":   {"list", "list", "tuple", "set", "dict", "range", "deque", "str", "seq", "strs", "odict", "nt", "counter"},
	"ints":   {"list", "list", "list", "tuple", "set", "dict", "range", "deque", "mixed"},
	"coll":   {"list", "tuple", "set", "dict", "str", "bytes", "range", "deque", "seq", "counter", "ddict", "odict", "nt", "sdict"},
	"maps":   {"dict", "dict", "sdict", "counter", "ddict", "odict", "anydict"},
	"texts":  {"str", "str", "str", "bytes"},
	"any":    {"int", "float", "bool", "str", "bytes", "none", "list", "list", "strs", "lists", "pairs", "mixed", "tuple", "dict", "sdict", "ldict", "set", "struct", "range", "seq", "func", "method", "deque", "counter", "ddict", "odict", "nt", "date", "dtime", "time", "delta", "zone", "pattern", "match", "exc"},
	"data":   {"int", "str", "list", "lists", "tuple", "dict", "sdict", "set", "struct", "bool", "none", "nt", "float", "deque"},
	"dates":  {"date", "dtime", "time"},
	"chrono": {"date", "dtime", "time", "delta", "zone"},
	"re":     {"pattern", "patstr", "patstr"},
}
