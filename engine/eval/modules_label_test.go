package eval

import (
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"
)

// labelCase names, for an expression over inputs that are each tagged with their name, the inputs that its result depends
// on: of all that is in it, and of its structure.
type labelCase struct{ expr, whole, structure string }

// checkLabels runs each expression after a prelude.
func checkLabels(t *testing.T, prelude string, cases []labelCase) {
	for _, test := range cases {
		t.Run(test.expr, func(t *testing.T) {
			xs := value.ListOf(tagged("n"), value.StringOf("x", tagged("x")), value.StringOf("y", tagged("y")))
			k := newChecker(t, Limits{}, Input{"xs", xs},
				Input{"s", value.StringOf("xyz", tagged("s"))}, Input{"a", value.StringOf("y", tagged("a"))},
				Input{"i", value.IntOf(2, tagged("i"))}, Input{"j", value.IntOf(3, tagged("j"))})
			if out := k.run("t.star", prelude+"\nr = "+test.expr); out.Err != nil {
				t.Fatal(out.Err)
			} else if !out.Floor.Equal(label.Bottom()) {
				t.Errorf("the floor rose to %v", out.Floor)
			}
			v, err := k.s.Get("r")
			if err != nil {
				t.Fatal(err)
			}
			if got := tags(v.Deep()); got != test.whole {
				t.Errorf("depends on %q, want %q", got, test.whole)
			}
			if got := tags(v.Structure); !v.Scalar() && got != test.structure {
				t.Errorf("its structure depends on %q, want %q", got, test.structure)
			}
		})
	}
}

func TestCollectionsCarryTheLabelsOfWhatTheyAreMadeOf(t *testing.T) {
	checkLabels(t, "from collections import Counter, defaultdict, OrderedDict, deque, namedtuple\npt = namedtuple('pt', 'a b')", []labelCase{
		{"Counter({'k': i})", "i", ""},
		{"Counter({'k': i, 'm': j})['k']", "i", ""},
		{"Counter({'k': i})['z']", "", ""},
		{"Counter({'k': i})[a]", "a", ""},
		{"Counter(xs)", "n x y", "n x y"},
		{"Counter(xs)['x']", "n x y", ""},
		{"len(Counter(xs))", "n x y", ""},
		{"Counter({'k': i}).most_common()", "i", "i"},
		{"Counter({'k': i}).most_common(j)", "i j", "i j"},
		{"Counter({'k': i, 'm': j}).most_common()[0]", "i j", ""},
		{"Counter({'k': i, 'm': j}).total()", "i j", ""},
		{"list(Counter({'k': i}).elements())", "i", "i"},
		{"Counter({'k': i}) + Counter({'k': j})", "i j", "i j"},
		{"Counter({'k': i}) == Counter({'k': j})", "i j", ""},
		{"defaultdict(int, {'k': i})", "i", ""},
		{"defaultdict(int, {'k': i})['k']", "i", ""},
		{"defaultdict(lambda: i)['k']", "i", ""},
		{"defaultdict(int)[a]", "a", ""},
		{"OrderedDict([('k', i), ('m', j)])", "i j", ""},
		{"OrderedDict([('k', i), ('m', j)]).popitem()", "j", ""},
		{"deque([i, j])", "i j", ""},
		{"deque([i, j])[0]", "i", ""},
		{"deque([i, j])[-1]", "j", ""},
		{"len(deque([i, j]))", "", ""},
		{"deque([i, j]).popleft()", "i", ""},
		{"deque(xs).popleft()", "n x", ""},
		{"deque([1, 2], i)", "i", "i"},
		{"deque([i, j]).count(5)", "i j", ""},
		{"pt(i, j).a", "i", ""},
		{"pt(i, j)[1]", "j", ""},
		{"pt(i, j)", "i j", ""},
		{"len(pt(i, j))", "", ""},
		{"pt(i, j)._replace(a = s).b", "j", ""},
		{"pt(i, j)._asdict()['a']", "i", ""},
		{"namedtuple(s, 'a')(1).a", "s", ""},
	})
}

// TestDefaultsOfUntrustedKeysNeedNoFloor is the program that groups what came from outside.
func TestDefaultsOfUntrustedKeysNeedNoFloor(t *testing.T) {
	rows := value.ListOf(tagged("n"), value.StringOf("x", tagged("x")), value.StringOf("y", tagged("y")))
	k := newChecker(t, Limits{}, Input{"rows", rows})
	out := k.run("t.star", `
from collections import defaultdict, Counter, deque
def group(rows):
    groups, counts, nested, seen, q = defaultdict(list), defaultdict(int), defaultdict(lambda: defaultdict(int)), Counter(), deque()
    for r in rows:
        groups[r].append(r)
        counts[r] += 1
        nested[r]["n"] += 1
        seen[r] += 1
        if r != "x":
            q.append(groups[r])
    return groups, counts, nested, seen, q
r = group(rows)
print(r)
`)
	if out.Err != nil || !out.Floor.Equal(label.Bottom()) {
		t.Errorf("%v, the floor is %v: %+v", out.Err, out.Floor, out.Rises)
	}
}

func TestMatchesCarryTheLabelsOfPatternAndText(t *testing.T) {
	checkLabels(t, "import re", []labelCase{
		{"re.findall('[a-z]', s)", "s", "s"},
		{"re.findall(a, s)", "a s", "a s"},
		{"re.search('x', s).group()", "s", ""},
		{"re.search('x', s).span()", "s", ""},
		{"re.search(a, 'y').start()", "a", ""},
		{"re.search('x', s) == None", "s", ""},
		{"re.match('(x)(q)?', s).groups()", "s", ""},
		{"re.match('(x)(q)?', s).groups(a)[1]", "a s", ""},
		{"re.match('(?P<k>x)', s).groupdict()", "s", "s"},
		{"re.split('y', s)", "s", "s"},
		{"re.split('y', s, i)", "i s", "i s"},
		{"re.sub('y', a, s)", "a s", ""},
		{"re.sub('y', lambda m: a, s)", "a s", ""},
		{"re.sub('y', lambda m: a, 'x')", "", ""},
		{"re.subn('y', 'z', s)[1]", "s", ""},
		{"re.escape(s)", "s", ""},
		{"re.compile(a).pattern", "a", ""},
		{"re.compile('y').findall(s, i)", "i s", "i s"},
		{"re.compile(a).sub('z', s)", "a s", ""},
		{"[m.group() for m in re.finditer('[a-z]', s)]", "s", "s"},
		{"re.findall('a', 'a', i)", "i", "i"},
	})
}

func TestDatesCarryTheLabelsOfWhatTheyAreMadeOf(t *testing.T) {
	checkLabels(t, "import datetime\nd = datetime.date(2024, 1, 31)", []labelCase{
		{"datetime.date(2024, i, 1).isoformat()", "i", ""},
		{"datetime.date(2024, i, j).year", "i j", ""},
		{"(d + datetime.timedelta(days = i)).day", "i", ""},
		{"(d - datetime.date(2024, i, 1)).days", "i", ""},
		{"d < datetime.date(2024, i, 1)", "i", ""},
		{"d == datetime.date(2024, i, 1)", "i", ""},
		{"d.strftime(s)", "s", ""},
		{"str(datetime.timedelta(i) * j)", "i j", ""},
		{"f'{datetime.date(2024, i, 1):%Y}'", "i", ""},
		{"datetime.datetime.combine(d, datetime.time(i)).hour", "i", ""},
		{"str(datetime.datetime(2024, 1, i).replace(month = j).date())", "i j", ""},
		{"d.weekday()", "", ""},
	})
}

func TestIterationCarriesTheLabelsOfWhatItReads(t *testing.T) {
	checkLabels(t, "import itertools", []labelCase{
		{"itertools.chain([i], [j])", "i j", ""},
		{"itertools.chain([i], xs)[0]", "i n", ""},
		{"len(itertools.chain([i], xs))", "n", ""},
		{"itertools.chain.from_iterable([[i], [j]])[0]", "i", ""},
		{"itertools.islice([i, j], 1)", "i", ""},
		{"itertools.islice([s, a], i)[0]", "i s", ""},
		{"len(itertools.groupby([i, j]))", "i j", ""},
		{"itertools.groupby([1, 2], lambda z: i)[0][1]", "i", "i"},
		{"itertools.product([i], [j])[0][1]", "j", ""},
		{"itertools.combinations([i, j, s], 2)[0]", "i j", ""},
		{"itertools.permutations([i, j])[0][0]", "i", ""},
		{"itertools.zip_longest([i], [], fillvalue = a)[0][1]", "a", ""},
		{"itertools.accumulate([i, j])[0]", "i", ""},
		{"itertools.accumulate([i, j])[1]", "i j", ""},
		{"itertools.takewhile(lambda z: i < 9, [j])", "i j", "i"},
		{"itertools.dropwhile(lambda z: i < 1, [j])", "i j", "i"},
		{"itertools.starmap(lambda y, z: y, [(i, j)])[0]", "i", ""},
		{"itertools.repeat(i, j)", "i j", "i j"},
	})
}

func TestWrappedTextCarriesItsLabels(t *testing.T) {
	checkLabels(t, "import textwrap", []labelCase{
		{"textwrap.wrap(s, i)", "i s", "i s"},
		{"textwrap.fill(s, initial_indent = a)", "a s", ""},
		{"textwrap.shorten(s, 5 + i)", "i s", ""},
		{"textwrap.dedent(s)", "s", ""},
		{"textwrap.indent(s, a)", "a s", ""},
		{"textwrap.indent('b', 'c', lambda z: i)", "i", ""},
	})
}
