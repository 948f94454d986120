package eval

import "testing"

// TestSmallModules runs functions of copy, csv, functools, heapq, html and io; the results are CPython's.
func TestSmallModules(t *testing.T) {
	for _, test := range []struct{ name, src, want string }{
		{"a heap", "import heapq\nh = []\nfor x in [5, 1, 4, 1, 3, 9, 2]: heapq.heappush(h, x)\nprint(h, heapq.heappop(h), h)", "[1, 3, 2, 5, 4, 9] 1 [1, 3, 2, 5, 4, 9]\n"},
		{"a list made a heap", "import heapq\nh = [9, 7, 8, 1, 2, 6, 3, 0]\nheapq.heapify(h)\nprint(h)\nprint([heapq.heappop(h) for _ in range(8)], heapq.heappushpop([2, 5, 3], 4))", "[0, 1, 3, 7, 2, 6, 8, 9]\n[0, 1, 2, 3, 6, 7, 8, 9] 2\n"},
		{"the largest and smallest", "from heapq import nlargest, nsmallest\nprint(nlargest(2, [3, 9, 4]), nsmallest(5, ['b', 'a']), nlargest(1, ['a', 'bbb'], key = len), nsmallest(-1, [1]))", "[9, 4] [\"a\", \"b\"] [\"bbb\"] []\n"},
		{"copies", "import copy\nx = {'a': [1, (2, [3])], 's': set([1])}\ny, z = copy.copy(x), copy.deepcopy(x)\nx['a'][1][1].append(4)\nx['b'] = 1\nprint(y, z)", "{\"a\": [1, (2, [3, 4])], \"s\": set([1])} {\"a\": [1, (2, [3])], \"s\": set([1])}\n"},
		{"a copy of what is shared, and of a cycle", "import copy\na = [1]\nb = [a, a]\nb.append(b)\nc = copy.deepcopy(b)\nc[0].append(2)\nprint(c[1], a, c[2][0])", "[1, 2] [1] [1, 2]\n"},
		{"CSV", "import csv\nprint(csv.reader(['a,b', '\"x, \"\"y\"\"\",', '', 'm;n,\"']))\nprint(list(csv.reader('p;q\\n1;2'.splitlines(), delimiter = ';')))", "[[\"a\", \"b\"], [\"x, \\\"y\\\"\", \"\"], [], [\"m;n\", \"\"]]\n[[\"p\", \"q\"], [\"1\", \"2\"]]\n"},
		{"CSV as dicts", "import csv, io\nfor row in csv.DictReader(io.StringIO('id,name\\r\\n1,\"a\\nb\"\\r\\n2\\n3,c,d\\n\\n')): print(row)\nprint(list(csv.DictReader(['1,2'], fieldnames = ['x', 'y'])))", "{\"id\": \"1\", \"name\": \"a\\nb\"}\n{\"id\": \"2\", \"name\": None}\n{\"id\": \"3\", \"name\": \"c\", None: [\"d\"]}\n[{\"x\": \"1\", \"y\": \"2\"}]\n"},
		{"HTML", "import html\nprint(html.escape('<a href=\"x\">&\\'</a>'), html.escape('\"', quote = False), html.unescape('&lt;&amp;&#65;&eacute;&nosuch;'))", "&lt;a href=&quot;x&quot;&gt;&amp;&#x27;&lt;/a&gt; \" <&Aé&nosuch;\n"},
		{"a decorator", "import functools\ndef twice(f):\n  @functools.wraps(f)\n  def g(*a): return f(*a) * 2\n  return g\n@twice\n@twice\ndef one(x): return x\nprint(one(3), len.__name__, twice.__name__, (lambda: 1).__name__)", "12 len twice <lambda>\n"},
		{"a class of data", "from dataclasses import dataclass\nfrom typing import NamedTuple\n@dataclass(frozen=True)\nclass T:\n  '''A ticket.'''\n  id: int\n  name: str = 'x'\nx = T(1)\nclass P(NamedTuple):\n  a: int\n  b: int\nprint(x, x.name, T(2, name = 'y') == T(2, 'y'), [t.id for t in sorted([T(2), x], key = lambda t: t.id)], P(1, 2))", "T(id=1, name=\"x\") x True [1, 2] P(a=1, b=2)\n"},
		{"constants in a class", "class A:\n  '''Limits.'''\n  N = 3\n  S: str = 'x'\nprint(A.N, A.S)", "3 x\n"},
		{"an alias of a type", "import typing\nfrom typing import Union, Optional as O\nN = Union[int, float]\nM = O[int]\nK = typing.List[N]\nprint(1)", "1\n"},
		{"methods of types", "print(list(map(str.upper, ['a', 'b'])), sorted(['b', 'A'], key = str.lower), dict.fromkeys('ab', 0), str.join('-', ['x', 'y']))", "[\"A\", \"B\"] [\"A\", \"b\"] {\"a\": 0, \"b\": 0} x-y\n"},
		{"questions about types", "print(type(1) == int, type('a') is str, type(1.0) in (int, float), type([]) != list, type(None).__name__, type('').__name__, type(True) == int)", "True True True False NoneType str False\n"},
		{"ints in other bases", "print(hex(-255), bin(5), oct(8), hex(1 << 64), bin(0), bin(True))", "-0xff 0b101 0o10 0x10000000000000000 0b0 0b1\n"},
		{"strings that are iterated over", "a, b = 'né'\nprint(a, b, list('abc'), sorted('cab'), ''.join(reversed('né')), [i for i, c in enumerate('xyx') if c == 'x'], set('aa'), min('b', 'a'), max('abc'), [*'ab', *'c'], dict(zip('ab', 'cd')))", "n é [\"a\", \"b\", \"c\"] [\"a\", \"b\", \"c\"] én [0, 2] set([\"a\"]) a c [\"a\", \"b\", \"c\"] {\"a\": \"c\", \"b\": \"d\"}\n"},
		{"slices that are assigned to", "x = list(range(6))\nx[1:3] = 'ab'\nx[4:] = []\nx[0:0] = x\nx[::3] = [0, 0, 0]\ndel x[-1:]\nx[10:] = (7,)\nprint(x)", "[0, \"a\", \"b\", 0, 0, \"a\", 0, 7]\n"},
		{"assignments in expressions", "def f(xs):\n  out = [y for x in xs if (y := x * 2) > 2]\n  return out, y\nprint(f([1, 2, 3]), (n := 4) + n, [m := 1, m + 1], m)\nwhile (n := n - 1) > 1: pass\nprint(n)", "([4, 6], 6) 8 [1, 2] 1\n1\n"},
		{"names of functions around", "n = 0\nxs = []\ndef f():\n  global n, xs\n  n += 1\n  xs += [n]\n  (n, k), xs[0] = (n * 10, 1), 9\n  for n in [n, n + 1]: pass\n  if (n := n + 1): return k\n  n = 0\nprint(f(), n, xs)\ndef g():\n  a = b = 1\n  def h():\n    nonlocal a, b\n    a, b = b + 1, a\n    return a\n  return [h() for _ in range(3)], a, b\nprint(g())", "1 12 [9]\n([2, 2, 3], 3, 2)\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := newChecker(t, Limits{}).run("t.star", test.src)
			if out.Err != nil {
				t.Fatal(out.Err, out.Err.Hint)
			}
			got := ""
			for _, p := range out.Prints {
				got += p.Text
			}
			if got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}
