package eval

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"callgate/engine/label"
	"callgate/engine/value"
)

// longData is what the calls of longWork work on.
const longData = `
import heapq, re, json, itertools, collections, copy, csv, html, io, math, textwrap, statistics, functools, base64, hashlib
R = range(1000 * 1000 * 1000)
Z = range(5000000)
L = [0] * 1000000
M = [n % 1000 for n in range(50000)] * 20
S = "ab" * 10000000
W = "a " * 5000000
X = "\u00e9 " * 5000000
B = bytes(S)
D = {n: n for n in range(300000)}
T = set(D)
Q = collections.deque(L)
K = collections.Counter(D)
O = collections.OrderedDict(D)
P = 7 << 500000
H = [[n] * 10 for n in range(50000)]
G = [H] * 20
N = ["ab"] * 500000
J = json.encode(N)
A = re.compile("(a|b)*c")
V = re.compile("b")
def late(*args):
    return 0
def never(*args):
    return False
def ever(*args):
    return True
`

// longWork has a call of each builtin whose work grows with what it is given; the others are in shortWork. The word
// try before it says that it ends in an error.
var longWork = map[string]string{
	"str": "str(H)", "repr": "repr(G)", "list": "list(Z)", "tuple": "tuple(Z)", "set": "set(Z)", "dict": "dict(zip(Z, Z))",
	"any": "any(L)", "all": "all(Z[1:])", "enumerate": "list(enumerate(Z))", "zip": "list(zip(Z, Z))", "reversed": "list(reversed(Z))",
	"sorted": "sorted(M)", "max": "max(Z)", "min": "min(Z)", "hash": "[hash(S + str(n)) for n in Z]", "fail": "try fail(G)",
	"bytes": "bytes(L)", "int": "int('7' * 150000)", "string.elems": "list(S.elems())", "string.elem_ords": "list(S.elem_ords())",
	"string.codepoints": "list(S.codepoints())", "string.codepoint_ords": "list(S.codepoint_ords())", "bytes.elems": "list(B.elems())",
	"bytes.decode": "B.decode()", "string.encode": "X.encode()", "string.find": "S.find('bb')", "string.rfind": "S.rfind('bb')",
	"string.index": "try S.index('bb')", "string.rindex": "try S.rindex('bb')", "string.count": "S.count('bb')",
	"string.startswith": "S.startswith(S)", "string.endswith": "S.endswith(S)", "string.removeprefix": "(S + 'c').removeprefix(S)",
	"string.removesuffix": "('c' + S).removesuffix(S)", "string.strip": "S.strip('ab')", "string.lstrip": "S.lstrip('ab')", "string.rstrip": "S.rstrip('ab')",
	"string.partition": "S.partition('bb')", "string.rpartition": "S.rpartition('bb')", "string.join": "'ab'.join(N)", "string.replace": "S.replace('a', 'cc')",
	"string.format": "'{} {}'.format(S, H)", "string.split": "W.split()", "string.rsplit": "W.rsplit(' ')", "string.splitlines": "W.replace(' ', '\\n').splitlines()",
	"string.upper": "X.upper()", "string.lower": "X.lower()", "string.capitalize": "X.capitalize()", "string.title": "X.title()", "string.swapcase": "X.swapcase()", "string.casefold": "X.casefold()",
	"string.isalnum": "S.isalnum()", "string.isalpha": "S.isalpha()", "string.isascii": "S.isascii()", "string.isdecimal": "('1' * 20000000).isdecimal()",
	"string.isdigit": "('1' * 20000000).isdigit()", "string.isnumeric": "('1' * 20000000).isnumeric()", "string.isprintable": "S.isprintable()", "string.isspace": "(' ' * 20000000).isspace()",
	"string.islower": "S.islower()", "string.isupper": "('A' * 20000000).isupper()", "string.istitle": "('Aa ' * 7000000).istitle()", "string.isidentifier": "S.isidentifier()",
	"string.ljust": "S.ljust(40000000)", "string.rjust": "S.rjust(40000000)", "string.center": "S.center(40000000)", "string.zfill": "S.zfill(40000000)", "string.expandtabs": "('\\t' * 5000000).expandtabs()",
	"list.extend": "[].extend(Z)", "list.insert": "L.insert(0, 1)", "list.pop": "[L.pop(0) for _ in range(1000000)]", "list.remove": "try L.remove(1)", "list.index": "try L.index(1)",
	"list.count": "L.count(0)", "list.clear": "list(L).clear()", "list.copy": "L.copy()", "list.reverse": "L.reverse()", "list.sort": "M.sort(key = late)",
	"dict.items": "D.items()", "dict.keys": "D.keys()", "dict.values": "D.values()", "dict.update": "{}.update([(n, n) for n in Z])", "dict.copy": "D.copy()",
	"dict.clear": "dict(D).clear()", "dict.fromkeys": "dict.fromkeys(Z)", "set.clear": "set(T).clear()", "set.difference": "T.difference(D)",
	"set.intersection": "T.intersection(D)", "set.symmetric_difference": "T.symmetric_difference(L)", "set.union": "T.union(Z)", "set.issubset": "T.issubset(D)",
	"set.issuperset": "T.issuperset(L)", "set.isdisjoint": "set([-1]).isdisjoint(Z)", "set.update": "set().update(Z)", "set.copy": "T.copy()", "done": "done(G)",
	"endorse": "try endorse(G, 'user', 'x')", "choose": "try choose(S, N, 'x')", "print": "print(G)", "pow": "pow(3, 300000)", "sum": "sum(Z)", "divmod": "divmod(P, 1 << 250000)",
	"map": "list(map(late, Z))", "filter": "list(filter(never, Z))", "format": "format(P, 'd')", "<copies>": "copy.copy(H)", "<list>": "[*Z]", "<tuple>": "(*Z, 1)", "<set>": "{n for n in Z}", "<dict>": "{**D, **{-1: 1}}, {n: n for n in Z}",
	"<keywords>": "late(*L)", "<unpack>": "[(lambda a, b: a)(*[1, 2]) for _ in Z]", "<unpack each>": "[a for a, b in zip(Z, Z)]", "<delete>": "late([L.pop(0) for _ in range(1000000)])",
	"hex": "hex(P)", "oct": "oct(P)", "bin": "bin(P)", "json.encode": "json.encode(G)", "json.encode_indent": "json.encode_indent(G)", "json.decode": "json.decode(J)", "json.indent": "json.indent(J)", "json.dumps": "json.dumps(G)", "json.loads": "json.loads(J)",
	"deque.extend": "collections.deque().extend(Z)", "deque.extendleft": "collections.deque().extendleft(Z)", "deque.clear": "collections.deque(L).clear()", "deque.reverse": "Q.reverse()",
	"deque.rotate": "Q.rotate(499999)", "deque.insert": "Q.insert(5, 0)", "deque.remove": "try Q.remove(1)", "deque.copy": "Q.copy()", "deque.index": "try Q.index(1)", "deque.count": "Q.count(1)",
	"Counter.update": "collections.Counter().update(Z)", "Counter.subtract": "collections.Counter().subtract(Z)", "Counter.total": "K.total()", "Counter.elements": "list(collections.Counter(dict.fromkeys(M, 5)).elements())", "Counter.most_common": "K.most_common()",
	"collections.Counter": "collections.Counter(Z)", "collections.OrderedDict": "collections.OrderedDict([(n, n) for n in Z])", "collections.defaultdict": "collections.defaultdict(list, [(n, n) for n in Z])", "collections.deque": "collections.deque(Z)",
	"collections.namedtuple": "collections.namedtuple('A', ['a%d' % n for n in Z])", "copy.copy": "copy.copy(L)", "copy.deepcopy": "copy.deepcopy(H)",
	"csv.reader": "list(csv.reader(N))", "csv.DictReader": "list(csv.DictReader(N))", "heapq.heappush": "[heapq.heappush(M, n) for n in Z]", "heapq.heappop": "[heapq.heappop(M) for n in Z]", "heapq.heappushpop": "[heapq.heappushpop(M, n) for n in Z]",
	"heapq.heapify": "heapq.heapify(M)", "heapq.nlargest": "heapq.nlargest(100000, Z)", "heapq.nsmallest": "heapq.nsmallest(100000, Z)", "html.escape": "html.escape('<' * 5000000)", "html.unescape": "html.unescape('&lt;' * 3000000)",
	"io.StringIO": "list(csv.reader(io.StringIO(W.replace(' ', '\\n'))))", "math.gcd": "math.gcd(P, P - 1)", "math.factorial": "math.factorial(30000)", "math.comb": "math.comb(40000, 20000)", "math.isqrt": "math.isqrt(P)",
	"Pattern.search": "A.search(S)", "Pattern.match": "A.match(S)", "Pattern.fullmatch": "A.fullmatch(S)", "Pattern.findall": "V.findall(S)", "Pattern.finditer": "list(V.finditer(S))", "Pattern.split": "V.split(S)", "Pattern.sub": "V.sub('c', S)", "Pattern.subn": "V.subn('c', S)",
	"re.search": "re.search('(a|b)*c', S)", "re.match": "re.match('(a|b)*c', S)", "re.fullmatch": "re.fullmatch('(a|b)*c', S)", "re.findall": "re.findall('b', S)", "re.finditer": "list(re.finditer('b', S))", "re.split": "re.split('b', S)", "re.sub": "re.sub('b', 'c', S)", "re.subn": "re.subn('b', 'c', S)", "re.escape": "re.escape('.' * 10000000)",
	"itertools.chain": "list(itertools.chain(Z, Z))", "itertools.chain.from_iterable": "list(itertools.chain.from_iterable([Z]))", "itertools.islice": "list(itertools.islice(Z, 4000000, None))", "itertools.groupby": "list(itertools.groupby(Z))",
	"itertools.product": "list(itertools.product(L, L))", "itertools.combinations": "list(itertools.combinations(M, 3))", "itertools.combinations_with_replacement": "list(itertools.combinations_with_replacement(M, 3))", "itertools.permutations": "list(itertools.permutations(range(9)))",
	"itertools.zip_longest": "list(itertools.zip_longest(Z, Z))", "itertools.accumulate": "list(itertools.accumulate(Z))", "itertools.starmap": "list(itertools.starmap(late, zip(Z, Z)))", "itertools.takewhile": "list(itertools.takewhile(ever, Z))",
	"itertools.dropwhile": "list(itertools.dropwhile(ever, Z))", "itertools.filterfalse": "list(itertools.filterfalse(ever, Z))", "itertools.pairwise": "list(itertools.pairwise(Z))", "itertools.batched": "list(itertools.batched(Z, 3))",
	"itertools.repeat": "list(itertools.repeat(1, 5000000))",
	"textwrap.wrap":    "textwrap.wrap(W)", "textwrap.fill": "textwrap.fill(W)", "textwrap.shorten": "textwrap.shorten(W, 9000000)", "textwrap.dedent": "textwrap.dedent(' a\\n' * 3000000)", "textwrap.indent": "textwrap.indent(' a\\n' * 3000000, '> ')",
	"statistics.mean": "statistics.mean(M)", "statistics.fmean": "statistics.fmean(M)", "statistics.variance": "statistics.variance(M)", "statistics.pvariance": "statistics.pvariance(M)", "statistics.stdev": "statistics.stdev(M)", "statistics.pstdev": "statistics.pstdev(M)",
	"statistics.median_low": "statistics.median_low(M)", "statistics.median_high": "statistics.median_high(M)", "statistics.median": "statistics.median(M)", "statistics.mode": "statistics.mode(M)", "functools.reduce": "functools.reduce(late, Z)",
	"base64.b64encode": "base64.b64encode(B)", "base64.b64decode": "base64.b64decode('YWJj' * 3000000)", "base64.urlsafe_b64encode": "base64.urlsafe_b64encode(B)", "base64.urlsafe_b64decode": "base64.urlsafe_b64decode('YWJj' * 3000000)",
	"hashlib.sha256": "hashlib.sha256(B)", "bytes.hex": "B.hex()",
	"parallel": "parallel([lambda: None, lambda: [0 for _ in Z]] * 3)",
}

// shortWork has the builtins, by pattern, whose work is bounded or in proportion to one small argument, or which
// only make what another one then works through.
var shortWork = []string{
	"len", "bool", "type", "range", "dir", "getattr", "hasattr", "struct", "chr", "ord", "abs", "float", "list.append", "dict.get", "dict.pop", "dict.popitem", "dict.setdefault",
	"set.add", "set.remove", "set.discard", "set.pop", "declassify", "attempt", "round", "isinstance", "callable", "next", "assert", "<same>", "<struct>", "itertools.count", "itertools.cycle", "deque.append", "deque.appendleft", "deque.pop", "deque.popleft",
	"OrderedDict.", "type.<new>", "type._make", "namedtuple.", "datetime.", "math.", "Match.", "re.compile", "functools.wraps", "bytes.hexdigest", "bytes.digest", "Error", "Exception", "Denied", "StopIteration", "SystemExit", "KeyboardInterrupt",
}

// cpu returns the processor time that the process has taken.
func cpu(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// beginHost calls a function when a program calls a tool, and allows everything.
type beginHost func()

func (h beginHost) Do(_ context.Context, calls []Call) []Result {
	if calls[0].Kind == KindTool {
		h()
	}
	out := make([]Result, len(calls))
	for i := range out {
		out[i].Value = value.NoneOf(label.Bottom())
	}
	return out
}

// TestCancellationStopsEveryBuiltin cancels programs while a builtin is at work. How much processor time each took to
// end is logged, not asserted: machines differ; that it ended because of it is.
func TestCancellationStopsEveryBuiltin(t *testing.T) {
	if underRace || testing.Short() {
		t.Skip("takes gigabytes of memory")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // its work is on the process's account too
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(8 << 30))
	var cancel context.CancelFunc
	var at time.Duration
	host := beginHost(func() {
		stop := cancel
		time.AfterFunc(2*time.Millisecond, func() {
			at = cpu(t)
			stop()
		})
	})
	s, err := NewSession(Config{Host: host, Tools: []ToolSig{{Name: "begin"}}, Limits: Limits{Steps: 1 << 60, Memory: 2 << 30, Wall: time.Hour, Output: 1 << 40, Calls: 1 << 30}})
	if err != nil {
		t.Fatal(err)
	}
	run := func(ctx context.Context, text string) Outcome {
		t.Helper()
		p, err := Compile("long.star", []byte(text), s.Env())
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		out, err := s.Run(ctx, p, label.Bottom())
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if out := run(t.Context(), longData); out.Err != nil {
		t.Fatal(out.Err)
	}
	var worst []string
	for _, name := range slices.Sorted(maps.Keys(longWork)) {
		work := longWork[name]
		if !slices.Contains(decided, name) && !strings.HasPrefix(name, "<") {
			t.Errorf("%s: no such builtin", name)
			continue
		}
		var ctx context.Context
		ctx, cancel = context.WithCancel(t.Context())
		if rest, ok := strings.CutPrefix(work, "try "); ok {
			work = "try:\n        " + rest + "\n    except Exception:\n        pass"
		}
		out := run(ctx, "begin()\nfor _ in R:\n    "+work+"\n")
		took := cpu(t) - at
		cancel()
		if out.Status != Cancelled {
			t.Errorf("%s: ended %s (%v), want it cancelled: %s", name, out.Status, out.Err, work)
		}
		if took > 10*time.Second {
			t.Errorf("%s: did not notice for %v", name, took)
		}
		if took > 5*time.Millisecond {
			worst = append(worst, fmt.Sprintf("%6.1f ms %s", float64(took.Microseconds())/1000, work))
		}
	}
	slices.Sort(worst)
	t.Logf("%d calls were cancelled; these took longer than 5 ms to end:\n%s", len(longWork), strings.Join(worst, "\n"))
	for _, name := range decided[1:] {
		if longWork[name] == "" && !slices.ContainsFunc(shortWork, func(p string) bool { return strings.Contains(name, p) }) {
			t.Errorf("%s: is neither in longWork nor in shortWork", name)
		}
	}
}
