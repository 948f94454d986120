package eval

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"callgate/engine/label"
	"callgate/engine/value"
)

// heapAlloc returns the bytes in Go's heap that are alive.
func heapAlloc() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// traced returns the bytes that a session holds as the tracer has it.
func (s *Session) traced() int64 { return s.thread(context.Background(), label.BottomID).trace() }

// TestTheTracerSeesWhatTheHeapHolds makes many values of a kind, and compares the growth of Go's heap
// with what the tracer counts, which must not fall short.
func TestTheTracerSeesWhatTheHeapHolds(t *testing.T) {
	if underRace {
		t.Skip("the race detector takes time and memory of its own: the plain run measures this")
	}
	const n = 20_000
	big := strings.Repeat("x", 1000)
	for _, test := range []struct {
		name string
		expr string  // of i
		most float64 // that the tracer may count for each byte of the heap; 0 means 1.1
	}{
		{"small ints", "i", 0},
		{"ints in their own lists", "[i]", 0},
		{"floats", "i * 0.5", 0},
		{"strings of 7 bytes", "str(i + 1000000)", 1.4}, // two may share a block
		{"strings of 15 bytes", "'%015d' % i", 0},
		{"strings of 16 bytes", "'%016d' % i", 0},
		{"strings of 17 bytes", "'%017d' % i", 0},
		{"strings of 100 bytes, formatted", "'{:0100}'.format(i)", 0},
		{"strings of 600 bytes, repeated", "str(i)[0] * 600", 0},
		{"strings of 1,000 bytes, sliced", "big[:-1] + str(i)[0]", 0},
		{"strings of 900 bytes, concatenated", "big[:895] + '%05d' % i", 0},
		{"strings of 5,000 bytes, joined", "str(i).join(['a'] * 900)[:5000]", 0},
		{"strings of JSON", "json.encode([i, i, i, str(i)])", 0},
		{"strings out of JSON", "json.decode('[\"\\\\u0041\\\\u0042\\\\u0043\\\\u0044 and more of it %d\"]' % i)", 0},
		{"texts of lists", "repr([i, i, i])", 0},
		{"upper case", "('abc ß %d' % i).upper()", 0},
		{"replaced", "('a%d' % i).replace('a', 'bcdefghijklmnopqrs')", 0},
		{"pieces of strings", "('abcdefghijklm n%d' % i).split(' ')", 1.15},
		{"fields of lines", "('a,b,c,d,e,%d' % i).split(',')", 0},
		{"padded strings", "str(i).ljust(50)", 0},
		{"bytes", "bytes([i % 256, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16])", 0},
		{"ints of 70 bits", "(1 << 70) + i", 0},
		{"ints of 1,000 bits", "(1 << 1000) + i", 1.15},
		{"ints of 30,000 bits", "(1 << 30000) + i", 1.15},
		{"products of ints", "((1 << 500) + i) * ((1 << 500) + i)", 1.15},
		{"ints read from text", "int('9' * 100 + str(i))", 1.5},
		{"empty tuples", "tuple([])", 0},
		{"tuples of one", "(i,)", 0},
		{"tuples of two", "(i, i)", 0},
		{"tuples of three", "(i, i, i)", 0},
		{"tuples of 40", "tuple([i] * 40)", 0},
		{"pairs of enumerate", "enumerate([i, i])", 0},
		{"pairs of zip", "zip([i, i], [i, i])", 0},
		{"triples of zip", "zip([i, i], [i, i], [i, i])", 0},
		{"one pair of many", "zip([i] * 50, [i] * 50)[0]", 0},
		{"one item of many", "{k: k for k in range(50)}.items()[0]", 0},
		{"empty lists", "[]", 0},
		{"lists of one", "[i]", 0},
		{"lists of ten, by comprehension", "[i for _ in range(10)]", 0},
		{"lists of 30, by append", "grown(30)", 0},
		{"lists of 100, from a range", "list(range(100))", 0},
		{"lists, concatenated", "[i] * 20 + [i] * 20", 0},
		{"sorted lists", "sorted([i, 3, 2, 1])", 0},
		{"slices of lists", "([i] * 50)[10:30]", 0},
		{"lists that have shrunk", "shrunk(100)", 0},
		{"empty dicts", "{}", 0},
		{"dicts of one", "{i: i}", 0},
		{"dicts of five", "{k: i for k in range(5)}", 0},
		{"dicts of 30", "{k: i for k in range(30)}", 0},
		{"dicts out of JSON", "json.decode('{\"a\": 1, \"b\": 2, \"c\": [%d]}' % i)", 0},
		{"dicts, copied", "dict({1: i, 2: i, 3: i})", 0},
		{"dicts that have shrunk", "emptied(100)", 0},
		{"sets", "set([i, i + 1, i + 2])", 0},
		{"unions of sets", "set([i, 1]) | set([2, 3])", 0},
		{"structs of one", "struct(a = i)", 0},
		{"structs of five", "struct(a = i, b = i, c = i, d = i, e = i)", 0},
		{"closures", "(lambda: 1)", 0},
		{"closures with captures", "closure(i)", 0},
		{"closures with defaults", "(lambda a = i, b = i: a)", 0},
		{"bound methods", "[i].append", 0},
		{"counters", "collections.Counter(['a', 'b', i])", 0},
		{"dicts with a default", "collections.defaultdict(list, {i: 1})", 0},
		{"empty deques", "collections.deque()", 0},
		{"deques of three", "collections.deque([i, 2, 3])", 0},
		{"deques of three at most", "collections.deque([i, 2, 3, 4, 5, 6, 7, 8, 9], 3)", 0},
		{"deques that have grown", "queue(100, 0)", 0},
		{"deques that have shrunk", "queue(100, 97)", 0},
		{"named tuples", "point(i, i)", 0},
		{"compiled patterns", "re.compile('(a|b)+%d' % i)", 2.5},
		{"matches", "re.search('(b)(c)?', 'abc')", 0},
		{"texts that were found", "re.findall('[a-z]+', 'some words %d' % i)", 1.15},
		{"dates", "datetime.date(2024, 1, 1 + i % 28)", 0},
		{"datetimes with a zone", "datetime.datetime(2024, 1, 1, tzinfo = datetime.timezone.utc)", 0},
		{"combinations", "itertools.combinations([i, 1, 2], 2)", 0},
		{"types of named tuples", "collections.namedtuple('T', 'a b')", 1.3},
		{"ranges", "range(i + 1)", 0},
		{"lazy sequences", "('text of some length %d' % i).elems()", 0},
		{"one string in many places", "[big, big, big]", 0},
		{"one list in many places", "[xs, xs, xs]", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := NewSession(Config{Host: quietHost{}, Limits: Limits{Steps: 1e12, Memory: 1 << 40}, Inputs: []Input{{"big", value.StringOf(big, label.Bottom())}}})
			if err != nil {
				t.Fatal(err)
			}
			run := func(src string) {
				p, err := Compile("t.star", []byte(src), s.Env())
				if err != nil {
					t.Fatal(err)
				}
				out, err := s.Run(t.Context(), p, label.Bottom())
				if err != nil || out.Err != nil {
					t.Fatal(err, out.Err)
				}
			}
			run(`
def grown(n):
    out = []
    for i in range(n): out.append(i)
    return out
def shrunk(n):
    out = list(range(n))
    for _ in range(n - 3): out.pop()
    return out
def emptied(n):
    out = {i: i for i in range(n)}
    for i in range(n - 3): out.pop(i)
    return out
def closure(i):
    a, b = i, [i]
    return lambda: a + len(b)
import collections, re, datetime, itertools
def queue(n, less):
    q = collections.deque()
    for i in range(n): q.appendleft(i)
    for _ in range(less): q.pop()
    return q
point = collections.namedtuple('point', 'x y')
xs = [1, 2, 3]
def many(n):
    return [` + test.expr + ` for i in range(n)]
v = many(3)
`)
			seen, held := s.traced(), heapAlloc()
			run("v = many(20000)")
			seen, held = s.traced()-seen, heapAlloc()-held
			runtime.KeepAlive(s)
			t.Logf("%.1f bytes each, counted as %.1f: %.3f", float64(held)/n, float64(seen)/n, float64(seen)/float64(held))
			if float64(seen) < 0.99*float64(held) {
				t.Errorf("the tracer counts %d bytes of %d", seen, held)
			}
			if most := max(test.most, 1.1); float64(seen) > most*float64(held)+4096 {
				t.Errorf("the tracer counts %d bytes for %d", seen, held)
			}
		})
	}
}

func TestSizesAreThoseOfTheStructures(t *testing.T) {
	for _, test := range []struct {
		name      string
		got, want int64
	}{
		{"val", valSize, int64(unsafe.Sizeof(val{}))},
		{"tuple", tupleSize, stringSize(int64(unsafe.Sizeof(tuple{})))},
		{"list", listSize, stringSize(int64(unsafe.Sizeof(list{})))},
		{"dict", dictSize, stringSize(int64(unsafe.Sizeof(dict{})))},
		{"entry", entrySize, int64(unsafe.Sizeof(entry{}))},
		{"record", recordSize, stringSize(int64(unsafe.Sizeof(record{})))},
		{"range", rangeSize, stringSize(int64(unsafe.Sizeof(rangeSeq{})))},
		{"seq", seqSize, stringSize(int64(unsafe.Sizeof(seq{})))},
		{"builtin", builtinSize, stringSize(int64(unsafe.Sizeof(builtin{})))},
		{"cell", cellSize, stringSize(int64(unsafe.Sizeof(cell{})))},
		{"function", functionSize, stringSize(int64(unsafe.Sizeof(function{})))},
		{"activation", activationSize, int64(unsafe.Sizeof(activation{}))},
		{"object", objectSize, stringSize(int64(unsafe.Sizeof(object{})))},
		{"deque", dequeSize, stringSize(int64(unsafe.Sizeof(deque{})))},
		{"dictOf", dictOfSize, stringSize(int64(unsafe.Sizeof(dictOf{})))},
		{"kwarg", kwargSize, int64(unsafe.Sizeof(kwarg{}))},
	} {
		if test.got != test.want {
			t.Errorf("%s: counted as %d bytes, has %d", test.name, test.got, test.want)
		}
	}
	for n := int64(1); n < 40_000; n++ {
		if got, want := stringSize(n), int64(cap(append([]byte(nil), make([]byte, n)...))); got != want {
			t.Fatalf("%d bytes: counted as %d, Go takes %d", n, got, want)
		}
	}
	for n := int64(1); n < 5000; n++ {
		if got, want := blockSize(n*8), int64(cap(append([]*int(nil), make([]*int, n)...)))*8; got < want || got > want+8 {
			t.Fatalf("%d pointers: counted as %d bytes, Go takes %d", n, got, want)
		}
	}
}

// TestProgramsAreCountedAsWhatTheyTake compiles programs of many shapes, as large as they may be.
func TestProgramsAreCountedAsWhatTheyTake(t *testing.T) {
	if underRace {
		t.Skip("the race detector takes time and memory of its own: the plain run measures this")
	}
	many := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			if strings.Contains(format, "%") {
				fmt.Fprintf(&b, format, i)
			} else {
				b.WriteString(format)
			}
		}
		return b.String()
	}
	for name, src := range map[string]string{
		"assignments": many("x%[1]d = %[1]d\n", 30000), "one name": many("x = 1\n", 30000), "statements": many("pass\n", 50000),
		"calls": "def f(): pass\n" + many("f()\n", 30000), "strings": "x = [" + many("'%d',", 40000) + "]\n",
		"long strings": "x = [" + many("'"+strings.Repeat("long", 20)+"%d',", 10000) + "]\n", "ifs": "def f(x):\n" + many(" if x: return\n", 20000),
		"ifs that bind": "def f(x):\n" + many(" if x: y%d = 1\n", 15000), "functions": many("def f%d(): pass\n", 15000), "lambdas": "x = [" + many("lambda: 1,", 30000) + "]\n",
		"comprehensions": "x = [" + many("[a for a in []],", 15000) + "]\n", "sums": many("x = 1+1+1+1+1+1+1+1+1+1+1+1+1+1\n", 5000),
		"attributes": "x = 1\n" + many("x.a.b.c\n", 15000), "loops": many("for a in []: pass\n", 20000), "ands": many("x = 1 and 1 and 1 and 1 and 1\n", 12000),
		"conditions": many("x = 1 if 1 else 1\n", 15000), "indexes": "x = 1\n" + many("x[1][1]\n", 15000), "slices": "x = 1\n" + many("x[1:1]\n", 20000),
		"augmented": "x = 1\n" + many("x += 1\n", 30000), "unpackings": many("a, b = 1, 2\n", 20000), "methods": "x = []\n" + many("x.append(1)\n", 20000),
		"tries": many("try: x = 1\nexcept ValueError as e: x = 2\n", 6000), "tries in functions": "def f(x):\n" + many(" try: return x.a(1) + x\n except: x = 1\n finally: x = x + 2\n", 5000),
		"functions beside a try": "try: x = 1\nexcept: x = 2\n" + many("def f%d(x): return x.a[1] + 1\n", 8000),
	} {
		t.Run(name, func(t *testing.T) {
			before := heapAlloc()
			p, err := Compile("t.star", []byte(src), Env{})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range p.funcs {
				f.effects()
				if strings.Contains(src, "try:") {
					f.watched()
				}
			}
			took := heapAlloc() - before
			runtime.KeepAlive(p)
			t.Logf("%d bytes of text take %d bytes, counted as %d: %.2f", len(src), took, p.bytes, float64(p.bytes)/float64(took))
			if p.bytes < took || p.bytes > 5*took/2 {
				t.Errorf("%d bytes are counted as %d", took, p.bytes)
			}
		})
	}
}
