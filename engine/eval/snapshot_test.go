package eval

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/engine/label"
	"callgate/engine/value"
)

var sessions = flag.Int("sessions", 1200, "random sessions that TestARestoredSessionGoesOnAsIfNothingHadHappened compares")

// life is a session of which everything that can be told from outside is written down, turn by turn.
type life struct {
	t     testing.TB
	c     Config
	s     *Session
	seen  []string
	sizes []int // of the snapshots

	bytes []int64 // that the session held, and at most held, after each turn

	world   niHost
	printed string
}

// wake is called with the session before every turn, and may put another in its place.
type wake func(l *life)

// restored writes the session down and makes it again.
func restored(l *life) {
	if _, err := l.s.Snapshot(100); err == nil { // one that is given up must not show
		l.t.Fatal("a session fits into 100 bytes")
	}
	b, err := l.s.Snapshot(0)
	if err != nil {
		l.t.Fatal(err)
	}
	s, err := Restore(l.c, b)
	if err != nil {
		l.t.Fatal(err)
	}
	again, err := s.Snapshot(0)
	if err != nil {
		l.t.Fatal(err)
	}
	if !bytes.Equal(b, again) {
		l.t.Fatalf("what was re-made is written in other bytes:\n%q\n%q", b, again)
	}
	l.s = s
	l.sizes = append(l.sizes, len(b))
}

// uninterrupted leaves the session as it is. Only what was permitted is forgotten, as it is by one that was
// re-made: the memory that it takes counts.
func uninterrupted(l *life) { l.s.permits.forget() }

func (l *life) note(format string, args ...any) {
	l.seen = append(l.seen, fmt.Sprintf(format, args...))
}

// live runs turns.
func (l *life) live(turns []string, between wake) {
	if l.s == nil {
		s, err := NewSession(l.c)
		if err != nil {
			l.t.Fatal(err)
		}
		l.s = s
	}
	for i, text := range turns {
		between(l)
		file := fmt.Sprintf("turn%d.star", l.s.turn+1)
		p, err := Compile(file, []byte(text), l.s.Env())
		if err != nil {
			l.note("%d: %v", i, err)
			l.s.Reject(err, file, lowLabel)
			continue
		}
		o, err := l.s.Run(context.Background(), p, lowLabel)
		if err != nil {
			l.t.Fatal(err)
		}
		l.bytes = append(l.bytes, l.s.live, o.Peak)
		l.outcome(o)
		l.names()
	}
	l.note("%s", dump(l.s))
}

func (l *life) outcome(o Outcome) {
	l.note("%s, %d steps, %d calls, floor %s, history %s", o.Status, o.Steps, o.Calls, whole(o.Floor), whole(o.History))
	if e := o.Err; e != nil {
		text := e.Error()
		switch {
		case e.Status == Crashed:
			l.t.Fatal(e.Detail)
		case e.Budget == "memory":
			l.bytes = append(l.bytes, e.Used)
			text, e.Used = "", 0
		}
		l.note("%s %s %s %+v %+v %s %d/%d %s", e.Code, text, e.Public(), e.Site, e.Stack, e.Budget, e.Used, e.Limit, whole(e.Label))
	}
	for _, p := range o.Prints {
		l.printed += p.Text
		l.note("print %q %s %s %+v %v", p.Text, whole(p.Label), whole(p.PC), p.Site, digests(p.Args))
	}
	for _, r := range o.Rises {
		l.note("rise %+v %s %s", r.Site, whole(r.Floor), r.Why)
	}
	if o.Answer != nil {
		l.note("answer %s", o.Answer.LabelledDigest())
	}
	for _, n := range slices.Sorted(maps.Keys(o.Permits)) {
		l.note("%s %d times", n, o.Permits[n])
	}
}

func (l *life) names() {
	for _, n := range l.s.Names() {
		v, err := l.s.Get(n)
		if err != nil {
			l.note("%s: %v", n, err)
		} else {
			l.note("%s = %s %s", n, v.Text(), v.LabelledDigest())
		}
	}
}

func whole(l label.Label) string { return string(l.AppendJSON(nil)) }

func digests(list []value.Value) (out []string) {
	for _, v := range list {
		out = append(out, v.LabelledDigest())
	}
	return out
}

// Do answers as niHost does, and writes every call down but those of builtins: what was permitted once is
// asked again of a session that was re-made.
func (l *life) Do(_ context.Context, calls []Call) []Result {
	out := make([]Result, len(calls))
	for i, c := range calls {
		if c.Kind == KindBuiltin {
			if c.Tool == l.world.in.what && !c.Args[0].Value.Label.FlowsTo(l.world.in.deny) {
				out[i].Err = &CallError{Code: "denied", Deny: true, Label: lowLabel}
			}
			continue
		}
		deep := c.PC
		for _, a := range c.Args {
			deep = deep.Join(a.Value.Deep())
			l.note("%s %s: %s", c.Tool, a.Name, a.Value.LabelledDigest())
		}
		l.note("%s %s %s %s %s %+v", c.Kind, c.ID, c.Tool, whole(c.PC), whole(c.History), c.Site)
		if strings.HasPrefix(c.Tool, "box.") {
			n := l.world.calls
			sourced := niLabels[n%4].WithSources(label.Source{Tool: c.Tool, Of: fmt.Sprint(n % 9)})
			out[i].Value = value.DictOf(deep, value.Field{Name: "id", Of: value.IntOf(n%4, deep)},
				value.Field{Name: "items", Of: value.ListOf(deep, value.IntOf(1, sourced))})
		} else {
			out[i] = l.world.act(c, deep)
		}
		l.world.calls++
	}
	return out
}

// dump writes a session as text: the graph of its objects with their labels, the room that containers have, and the
// table of labels. Objects are numbered as they are met; texts and numbers are not.
func dump(s *Session) string {
	var b strings.Builder
	at := map[any]int{}
	id := func(p any) (int, bool) {
		n, ok := at[p]
		if !ok {
			n = len(at)
			at[p] = n
		}
		return n, ok
	}
	var todo []func()
	var show func(v val)
	object := func(p any, f func()) {
		n, met := id(p)
		fmt.Fprintf(&b, " #%d", n)
		if !met {
			todo = append(todo, func() {
				fmt.Fprintf(&b, "#%d", n)
				f()
				b.WriteString("\n")
			})
		}
	}
	items := func(list []val) {
		fmt.Fprintf(&b, " %d of %d:", len(list), cap(list))
		for _, e := range list {
			show(e)
		}
	}
	inCell := func(c *cell) { object(c, func() { show(c.v) }) }
	show = func(v val) {
		fmt.Fprintf(&b, " %s/%d", v.typeName(), v.lab)
		switch v.k {
		case kBool, kInt, kFloat:
			fmt.Fprintf(&b, ":%d", v.n)
		case kString, kBytes:
			fmt.Fprintf(&b, ":%q", v.str())
		case kBig:
			fmt.Fprintf(&b, ":%v", v.bigInt())
		case kRange:
			fmt.Fprintf(&b, ":%v", *v.rng())
		case kSeq:
			fmt.Fprintf(&b, ":%v", *v.seq())
		case kTuple:
			object(v.tuple(), func() {
				fmt.Fprintf(&b, " hashed %v", v.tuple().hash != 0)
				items(v.tuple().items)
			})
		case kObject:
			o := v.object()
			object(o, func() {
				fmt.Fprintf(&b, " %d hashed %v", o.n, o.hash != 0)
				items(o.items[:len(o.items):len(o.items)])
				if o.of != nil {
					show(objectVal(o.of, label.BottomID))
				}
			})
		case kDeque:
			object(v.deque(), func() {
				fmt.Fprintf(&b, " /%d %d, %d at most, %d before", v.list().st, v.list().iters, v.deque().most, v.deque().before())
				items(v.list().items)
			})
		case kStruct:
			object(v.record(), func() {
				fmt.Fprintf(&b, " %q", v.record().names)
				items(v.record().items[:len(v.record().items):len(v.record().items)])
			})
		case kList:
			object(v.list(), func() {
				fmt.Fprintf(&b, " /%d %d", v.list().st, v.list().iters)
				items(v.list().items)
			})
		case kDict, kSet:
			d := v.dict()
			object(d, func() {
				fmt.Fprintf(&b, " /%d %d fields %v, %d live, %d of %d, index %d:", d.st, d.iters, d.of == ofTool, d.live, len(d.ents), cap(d.ents), len(d.index))
				if d.of != nil {
					show(d.of.factory)
				}
				for _, e := range d.ents {
					if e.k.k == kUnbound {
						b.WriteString(" -")
						continue
					}
					show(e.k)
					show(e.v)
				}
			})
		case kFunc:
			fn := v.fn()
			object(fn, func() {
				fmt.Fprintf(&b, " %s %s %d", fn.code.prog.File, fn.code.prog.Digest, fn.code.index)
				object(fn.mod, func() {
					for i, n := range fn.mod.prog.globals {
						fmt.Fprintf(&b, " %s", n)
						if fn.mod.cells[i] != s.names[n] {
							b.WriteString(" (another)")
						}
					}
					for _, v := range fn.mod.pre {
						show(v)
					}
				})
				items(fn.defaults[:len(fn.defaults):len(fn.defaults)])
				for _, c := range fn.free {
					inCell(c)
				}
			})
		case kBuiltin:
			o := v.builtin()
			if o.recv.k == kUnbound {
				fmt.Fprintf(&b, ":%s", o.name)
				return
			}
			object(o, func() {
				b.WriteString(" " + o.name)
				show(o.recv)
			})
		case kModule:
			fmt.Fprintf(&b, ":%s", v.module().name)
		}
	}
	for _, c := range s.cells {
		fmt.Fprintf(&b, "%s", c.name)
		show(c.v)
		if s.names[c.name] != c {
			b.WriteString(" (another)")
		}
		b.WriteString("\n")
	}
	for _, n := range slices.Sorted(maps.Keys(s.pre)) {
		fmt.Fprintf(&b, "%s", n)
		show(s.pre[n])
		b.WriteString("\n")
	}
	for len(todo) > 0 {
		f := todo[0]
		todo = todo[1:]
		f()
	}
	fmt.Fprintf(&b, "turn %d, %d calls, %d printed, floor %d, history %d, %d names\n%q", s.turn, s.calls, s.output, s.floor, s.history, len(s.names), s.tab.Append(nil))
	return b.String()
}

// firstDifference shows where two transcripts part.
func firstDifference(a, b []string) string {
	for i := range max(len(a), len(b)) {
		x, y := "nothing", "nothing"
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x == y {
			continue
		}
		if xs, ys := strings.Split(x, "\n"), strings.Split(y, "\n"); len(xs) > 1 && len(ys) > 1 {
			return firstDifference(xs, ys)
		}
		return fmt.Sprintf("%d:\nuninterrupted %s\nre-made       %s", i, x, y)
	}
	return ""
}

var snapshotTools = append(slices.Clone(niTools), ToolSig{Name: "box.read", Params: []string{"id"}}, ToolSig{Name: "box.deep.read"})

func snapshotConfig(inputs ...Input) Config {
	return Config{Tools: snapshotTools, Inputs: inputs, Limits: Limits{Steps: 20_000, Calls: 200, Memory: 8 << 20, Depth: 40, Output: 4000}}
}

// compareLives runs turns in a session that is left alone, and in one that is re-made after each of them.
func compareLives(t testing.TB, c Config, in *niInputs, turns []string) (found string, whole, other *life) {
	var lives [2]*life
	for i, between := range []wake{uninterrupted, restored} {
		l := &life{t: t, c: c, world: niHost{in: in}}
		l.c.Host = l
		l.live(turns, between)
		lives[i] = l
	}
	a, b := lives[0], lives[1]
	found = firstDifference(a.seen, b.seen)
	// A value that was a constant of a program, or of the evaluator, is a copy in a session that was re-made.
	for i := range min(len(a.bytes), len(b.bytes)) {
		if d := a.bytes[i] - b.bytes[i]; max(d, -d) > 100+a.bytes[i]/1000 && found == "" {
			found = fmt.Sprintf("uninterrupted, it took %d bytes, re-made %d", a.bytes, b.bytes)
		}
	}
	return found, a, b
}

// richPrelude are functions that later turns use.
const richPrelude = `
def w_put(x, v):
  t = type(x)
  if t == "list": x.append(v)
  elif t == "dict": x[len(x)] = v
  elif t == "set" and type(v) in ("int", "string", "float"): x.add(v)
  elif t == "function": x()
def w_drop(x):
  if type(x) in ("list", "set") and x: x.pop()
  elif type(x) == "dict" and x: x.pop(list(x)[0])
def w_use(f):
  if type(f) == "function": return f()
  if type(f) == "struct": return f.a
  if type(f) in ("tuple", "list") and f: return f[len(f) // 2]
  if type(f) == "dict": return f.get("k", f.get((1, "x")))
  if type(f) == "range": return w_sum0(f)
  if type(f) == "builtin_function_or_method": return str(f)
  return f
def w_sum0(xs):
  n = 0
  for x in list(xs)[:4]: n += x
  return n
def w_mk(v, n = 0, *, log = []):
  def get():
    return (v, n, log)
  def grow():
    log.append(n)
    w_put(v, n)
    return get
  cell = [get, grow]
  if n: cell.append(lambda: cell)
  return cell
def w_acc(v, seen = {}, all = []):
  seen[len(seen)] = v
  all.append(v)
  if len(all) > 5: all.clear()
  return all
def w_pick(x): return x
wn = 0
`

// richNames are what rich statements are about.
const richNames = "w0 = []\nw1 = {}\nw2 = (1, [2])\nw3 = set()\nw4 = 'text'\nw5 = w_mk(w0)\n"

// rich makes statements over names of every kind of value.
func rich(r *rand.Rand, n int) []string {
	name := func() string { return fmt.Sprintf("w%d", r.IntN(6)) }
	forms := []string{
		"$ = ($, $)", "$ = [$, $, $]", "$ = {'k': $, (1, 'x'): $, 1 << 70: $}", "$ = struct(a = $, b = $)",
		"$ = w_mk($, wn)", "$ = w_mk($)[1]", "$ = lambda x = $: (x, $)", "$ = [$.a for x in [1] if type($) == 'struct']",
		"w_put($, $)", "w_put($, $)", "w_put($, s1)", "w_drop($)", "$ = w_use($)", "$ = w_use($)", "$ = w_acc($)", "$ = w_acc(s2, all = [$])",
		"print(repr($)[:200])", "send(repr($)[:200])", "$ = $", "$ = s1", "$ = hl", "hl.append($)", "$ = s3 + (1 << 66)",
		"if s2: $ = $", "if s1 > 1: w_put($, $)", "for x in [$, $]: w_put(x, s3)", "$ = set([1, s2, 'a' * s1])", "$ = range(s1 + 2)",
		"$ = 'a%sb' % s1", "$ = ('long ' * 30) + str(s2)", "$ = 'abc'.elems()", "$ = b'bytes of it'.elems()", "$ = bytes('text %s' % s1)",
		"$ = [].append", "$ = {'k': $}.get", "$ = 'some text'.upper", "$ = len", "$ = json", "$ = json.encode", "$ = box", "$ = box.deep.read", "$ = send",
		"$ = 1.5 * s1", "$ = None", "$ = $ == $", "$ = box.read(id = s1)", "$ = box.deep.read()['items']", "$ = $.items if type($) == 'dict' and 'items' in $ else $",
		"$ = dict(k = $, j = $)", "$ = list(zip([$, 1], [2, $]))", "$ = {i: $ for i in range(s1 * 5)}", "$ = -(1 << 80)", "wn += 1",
		"def w_pick(x): return [x, $]", "$ = w_pick($)", "def use0(f = $): return f", "$ = use0", "$ = recv()", "$ = attempt(div, s1, s2).error",
		"$ = {(1, (s1, 'y')): $, struct(a = 1, b = s2): $}", "$ = ($, ($, 'z'))", "w5 = 'x'.join([repr(e)[:9] for e in [$, $]])", "for i in range(40): w_put($, i)",
		"for i in range(12): w_drop($)",
	}
	var out []string
	for range n {
		s := forms[r.IntN(len(forms))]
		for strings.Contains(s, "$") {
			s = strings.Replace(s, "$", name(), 1)
		}
		out = append(out, s)
	}
	return out
}

// richTurns are the turns of a random session: the programs of the generator, and rich statements among them.
func richTurns(r *rand.Rand) []string {
	g := &gen{Rand: r}
	turns := g.programs()
	turns[0] += richPrelude + richNames
	if r.IntN(3) == 0 { // a turn that fails early leaves little: let the next have the statements alone
		turns = []string{richPrelude + richNames, "", "", ""}
	}
	for i := range turns {
		for range 1 + r.IntN(3) {
			turns[i] += strings.Join(rich(r, 1+r.IntN(6)), "\n") + "\n"
		}
		if r.IntN(12) == 0 {
			turns[i] += "done(wn)\n"
		}
	}
	return turns
}

func TestARestoredSessionGoesOnAsIfNothingHadHappened(t *testing.T) {
	start := time.Now()
	ok, turns, size := 0, 0, 0
	for i := range *sessions {
		seed := *seed + uint64(i)
		r := rand.New(rand.NewPCG(seed, 11))
		texts := richTurns(r)
		in := randomInputs(r, []int{10, 55, 80}[r.IntN(3)])
		found, a, b := compareLives(t, snapshotConfig(in.values()...), &in, texts)
		if found != "" {
			t.Fatalf("seed %d: %s\n%s", seed, found, strings.Join(texts, "---\n"))
		}
		for _, n := range b.sizes {
			size += n
		}
		turns += len(b.sizes)
		for _, line := range a.seen {
			if strings.HasPrefix(line, "ok, ") {
				ok++
			}
		}
	}
	t.Logf("%d sessions re-made %d times, from %d bytes on average; %d turns ended well; in %v", *sessions, turns, size/turns, ok, time.Since(start).Round(time.Millisecond))
	if ok < turns/3 {
		t.Errorf("only %d of %d turns ended well: the test says little", ok, turns)
	}
}

func TestASnapshotKeeps(t *testing.T) {
	input := value.DictOf(lowLabel, value.Field{Name: "id", Of: value.StringOf("a7", niLabels[0])}, value.Field{Name: "rows", Of: value.ListOf(lowLabel)})
	for _, test := range []struct {
		name  string
		turns []string
		want  string // what is printed
	}{
		{"a cell that two closures share", []string{
			"def counter():\n  n = [0]\n  def up(): n[0] += 1\n  def get(): return n\n  return up, get\nup, get = counter()\nup()\n",
			"up()\nprint(get())\n",
			"up()\nprint(get(), get() == get())\n",
		}, "[2]\n[3] True\n"},
		{"a cell that a closure made later captures too", []string{
			"def outer():\n  x = 1\n  def make(): return lambda: x\n  def set():\n    make()\n  return make\nmake = outer()\na = make()\n",
			"b = make()\nprint(a(), b(), a == b, a == a)\n",
		}, "1 1 False True\n"},
		{"that a name redefined is seen by functions of earlier turns", []string{
			"def rate(): return 1\ndef price(n): return n * rate()\n",
			"print(price(10))\ndef rate(): return 2\n",
			"print(price(10))\n",
		}, "10\n20\n"},
		{"that a global changed later is seen by functions of earlier turns", []string{
			"limit = 1\ndef over(n): return n > limit\n", "limit = 100\n", "print(over(50))\n",
		}, "False\n"},
		{"a name that an earlier program could have bound, and did not", []string{
			"def read(): return later\nif False: later = 1\n", "later = 7\n", "print(read())\n",
		}, "7\n"},
		{"names of one list", []string{"a = []\nb = a\nd = {'l': a}\n", "b.append(1)\n", "d['l'].append(2)\nprint(a, b == a)\n"}, "[1, 2] True\n"},
		{"data that contains itself", []string{
			"a = [1]\na.append(a)\nd = {}\nd['me'] = d\nt = ([],)\nt[0].append(t)\n",
			"a[1][1][1].append(2)\nd['me']['me']['x'] = 1\nprint(a, d, t[0][0] == t)\n",
		}, "[1, [...], 2] {\"me\": {...}, \"x\": 1} True\n"},
		{"a function in a dict, and itself in its own cell", []string{
			"def make():\n  def fact(n): return 1 if n < 2 else n * fact(n - 1)\n  return fact\nops = {'fact': make(), 'twice': lambda x: 2 * x}\n",
			"print(ops['fact'](20), ops['twice'](4))\n",
		}, "2432902008176640000 8\n"},
		{"default arguments that were changed", []string{
			"def add(x, to = []):\n  to.append(x)\n  return to\nadd(1)\n", "add(2)\n", "print(add(3), add(4) == add(5))\n",
		}, "[1, 2, 3, 4, 5] True\n"},
		{"a keyword that must be given, between those that need not", []string{
			"def f(a, b = 2, *, c, d = 4): return (a, b, c, d)\n", "print(f(1, c = 3))\n",
		}, "(1, 2, 3, 4)\n"},
		{"the order of dicts and sets, through deletions", []string{
			"d = {i: -i for i in range(9)}\nfor i in (0, 4, 8): d.pop(i)\ns = set(['b', 'a', 'c'])\ns.remove('a')\n",
			"d[0] = 'again'\ns.add('a')\nprint(list(d), list(s), d[5], 4 in d)\n",
		}, "[1, 2, 3, 5, 6, 7, 0] [\"b\", \"c\", \"a\"] -5 False\n"},
		{"keys of every kind", []string{
			"k = (1, 'x', (2.5, struct(a = b'y')))\nd = {k: 1, 1 << 90: 2, 2.0: 3, True: 4, None: 5, 'long ' * 40: 6, len: 7, struct(a = 1): 8}\ndef f(): pass\nd[f] = 9\n",
			"print([d[x] for x in (k, (1, 'x', (2.5, struct(a = b'y'))), 1 << 90, 2, True, None, 'long ' * 40, len, struct(a = 1), f)])\n",
		}, "[1, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n"},
		{"fields that may be written as attributes", []string{"copy = dict(task)\n", "print(task.id, copy.id if hasattr(copy, 'id') else 'none')\n"}, "a7 none\n"},
		{"an input that programs changed", []string{"task.rows.append(1)\nmine = task.rows\n", "mine.append(2)\nprint(task.rows)\n"}, "[1, 2]\n"},
		{"bound methods, and what they are bound to", []string{
			"xs = []\npush = xs.append\nget = {'a': 1}.get\nup = 'abc'.upper\n", "push(1)\npush(2)\nprint(xs, get('a'), get('b'), up(), push == push)\n",
		}, "[1, 2] 1 None ABC True\n"},
		{"modules and functions of the language and of tools", []string{
			"j, enc, l = json, json.encode, len\nb, deep, rd = box, box.deep, box.deep.read\n",
			"print(j == json, enc([l('abc')]), b.deep == deep, deep.read == rd, type(rd))\n",
		}, "True [3] True True builtin_function_or_method\n"},
		{"ranges and lazy sequences", []string{
			"r = range(10, 0, -3)\ne, o, c = 'aé'.elems(), 'aé'.elem_ords(), 'aé'.codepoints()\nb = b'xy'.elems()\n",
			"print(r, list(r), list(o), list(c), list(b), e == 'aé'.elems(), e == c)\n",
		}, "range(10, 0, -3) [10, 7, 4, 1] [97, 195, 169] [\"a\", \"é\"] [120, 121] True False\n"},
		{"what collections makes", []string{
			"import collections\nc = collections.Counter('abca'.elems())\ndd = collections.defaultdict(list)\ndd['x'].append(1)\nod = collections.OrderedDict([(1, 2), (3, 4)])\nq = collections.deque([1, 2, 3], 3)\nq.appendleft(0)\npt = collections.namedtuple('pt', 'x y', defaults = [5])\np = pt(1)\nt = {p: 1}\nf, g = c.most_common, dd.default_factory\n",
			"dd['y'].append(2)\nq.append(9)\nc['d'] += 1\nod.move_to_end(1)\nprint(c, dd, od, q, p, pt(3, y = 4), t[(1, 5)], p.x, f(1), g(), pt._fields, isinstance(p, pt), isinstance(c, collections.Counter))\n",
		}, "Counter({\"a\": 2, \"b\": 1, \"c\": 1, \"d\": 1}) defaultdict(<class 'list'>, {\"x\": [1], \"y\": [2]}) OrderedDict([(3, 4), (1, 2)]) deque([1, 2, 9], maxlen=3) pt(x=1, y=5) pt(x=3, y=4) 1 1 [(\"a\", 2)] [] (\"x\", \"y\") True True\n"},
		{"patterns and matches", []string{
			"import re\np = re.compile('(?P<k>[a-z]+)=(\\\\d+)?', re.I)\nm = p.search('say Ab=12, c=')\nn = re.match('x', 'xy')\nf = m.group\nd = {p: 1}\n",
			"print(p, m, n, f('k'), m.groups(), m.groupdict(), m.lastindex, p.findall('c='), d[re.compile('(?P<k>[a-z]+)=(\\\\d+)?', re.I)], m.re == p, m.span(2))\n",
		}, "re.compile(\"(?P<k>[a-z]+)=(\\\\d+)?\", re.IGNORECASE) <re.Match object; span=(4, 9), match=\"Ab=12\"> <re.Match object; span=(0, 1), match=\"x\"> Ab (\"Ab\", \"12\") {\"k\": \"Ab\"} 2 [(\"c\", \"\")] 1 True (7, 9)\n"},
		{"dates and times", []string{
			"import datetime\nd = datetime.date(2024, 2, 29)\nz = datetime.timezone(datetime.timedelta(hours = 2), 'here')\nt = datetime.datetime(2024, 2, 29, 12, tzinfo = z)\ne = datetime.timedelta(-1, 5)\nf, n, k = t.isoformat, datetime.datetime.strptime, {d: 1, t: 2}\n",
			"print(d, t, repr(t.tzinfo), e, f(), n('1', '%d'), k[datetime.date(2024, 2, 29)], k[t], t.tzname(), n == datetime.datetime.strptime)\n",
		}, "2024-02-29 2024-02-29 12:00:00+02:00 datetime.timezone(datetime.timedelta(seconds=7200), \"here\") -1 day, 0:00:05 2024-02-29T12:00:00+02:00 1900-01-01 00:00:00 1 2 here True\n"},
		{"numbers", []string{
			"x = [0, -1, 1 << 62, -(1 << 63), 1 << 63, -(1 << 200), 0.1, -0.0, float('inf'), float('nan')]\n", "print(x)\n",
		}, "[0, -1, 4611686018427387904, -9223372036854775808, 9223372036854775808, -1606938044258990275541962092341162602522202993782792835301376, 0.1, -0.0, inf, nan]\n"},
		{"texts that are no UTF-8", []string{"s = 'é'[0]\nb = b'\\xff\\x00'\n", "print(len(s), list(b.elems()), s + 'é'[1] == 'é')\n"}, "1 [255, 0] True\n"},
		{"a list that a loop iterated over when an error ended it", []string{"xs = [1]\nfor x in xs: fail('stop')\n", "xs.append(2)\nprint(xs)\n"}, "[1, 2]\n"},
		{"where an error is, in a function of an earlier turn", []string{"\n\ndef f(x):\n  return 1 // x\n", "f(0)\n", "print('on')\n"}, "on\n"},
		{"a program that was refused, and the number of the turn", []string{"x = 1\n", "x = = 2\n", "print(x)\nsend(x)\n"}, "1\n"},
		{"names of the language that a program has taken", []string{"def len(x): return 42\nf = lambda: len([])\n", "print(f(), len([]))\n"}, "42 42\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			found, a, b := compareLives(t, snapshotConfig(Input{"task", input}), &niInputs{}, test.turns)
			if found != "" {
				t.Error(found)
			}
			for name, l := range map[string]*life{"uninterrupted": a, "re-made": b} {
				if l.printed != test.want {
					t.Errorf("%s, it printed %q, want %q", name, l.printed, test.want)
				}
			}
		})
	}
}
