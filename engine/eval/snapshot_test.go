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

var sessions = flag.Int("sessions", 1500, "random sessions that TestARestoredSessionGoesOnAsIfNothingHadHappened compares")

// life is a session of which everything that can be told from outside is written down, turn by turn.
type life struct {
	t     testing.TB
	c     Config
	s     *Session
	seen  []string
	sizes []int // of the snapshots
}

// wake is called with the session before every turn but the first, and may put another in its place.
type wake func(l *life)

// restored writes the session down and makes it again.
func restored(l *life) {
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
		if l.s.turn > 0 {
			between(l)
		}
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
		l.note("%s", dump(l.s))
		l.outcome(o)
		l.names()
	}
	l.note("%s", dump(l.s))
}

func (l *life) outcome(o Outcome) {
	l.note("%s, %d steps, %d bytes, %d calls, floor %s, history %s", o.Status, o.Steps, o.Peak, o.Calls, whole(o.Floor), whole(o.History))
	if e := o.Err; e != nil {
		if e.Status == Crashed {
			l.t.Fatal(e.Detail)
		}
		l.note("%s %s %s %+v %+v %s %d/%d %s", e.Code, e.Error(), e.Public(), e.Site, e.Stack, e.Budget, e.Used, e.Limit, whole(e.Label))
	}
	for _, p := range o.Prints {
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
			continue
		}
		deep := c.PC
		for _, a := range c.Args {
			deep = deep.Join(a.Value.Deep())
			l.note("%s %s: %s", c.Tool, a.Name, a.Value.LabelledDigest())
		}
		l.note("%s %s %s %s %s %+v", c.Kind, c.ID, c.Tool, whole(c.PC), whole(c.History), c.Site)
		n := int64(len(l.seen))
		switch {
		case c.Tool == "div" && n%3 == 0:
			out[i].Err = &CallError{Code: "division", Label: deep}
		case c.Tool == "quota":
			out[i].Value = value.BoolOf(n%2 == 0, c.History.Join(c.PC))
		case c.Tool == "recv":
			source := label.Source{Tool: "recv", Of: fmt.Sprint(n % 7)}
			out[i].Value = value.IntOf(n%4, niLabels[n%4].Join(c.PC).WithSources(source))
		case strings.HasSuffix(c.Tool, "read"):
			out[i].Value = value.DictOf(deep, value.Field{Name: "id", Of: value.IntOf(n%4, deep)},
				value.Field{Name: "items", Of: value.ListOf(deep, value.IntOf(1, niLabels[n%4]))})
		default:
			out[i].Value = value.NoneOf(deep)
		}
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
				fmt.Fprintf(&b, " /%d %d fields %v, %d live, %d of %d, index %d:", d.st, d.iters, d.fields, d.live, len(d.ents), cap(d.ents), len(d.index))
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
	fmt.Fprintf(&b, "turn %d, %d calls, %d printed, %d live, floor %d, history %d, %d names\n%q", s.turn, s.calls, s.output, s.live, s.floor, s.history, len(s.names), s.tab.Append(nil))
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

func snapshotConfig(in niInputs) Config {
	return Config{Tools: snapshotTools, Inputs: in.values(), Limits: Limits{Steps: 30_000, Calls: 200, Memory: 8 << 20, Depth: 40, Output: 4000}}
}

// compareLives runs turns in a session that is left alone, and in one that is re-made after each of them.
func compareLives(t testing.TB, c Config, turns []string) (found string, whole, other *life) {
	a, b := &life{t: t, c: c}, &life{t: t, c: c}
	a.c.Host, b.c.Host = a, b
	a.live(turns, uninterrupted)
	b.live(turns, restored)
	return firstDifference(a.seen, b.seen), a, b
}

// richPrelude are functions that later turns use.
const richPrelude = `
def put(x, v):
  t = type(x)
  if t == "list": x.append(v)
  elif t == "dict": x[len(x)] = v
  elif t == "set" and type(v) in ("int", "string", "float"): x.add(v)
  elif t == "function": x()
def drop(x):
  if type(x) in ("list", "set") and x: x.pop()
  elif type(x) == "dict" and x: x.pop(list(x)[0])
def use(f):
  if type(f) == "function": return f()
  if type(f) == "struct": return f.a
  if type(f) in ("tuple", "list") and f: return f[len(f) // 2]
  if type(f) == "dict": return f.get("k", f.get((1, "x")))
  if type(f) == "range": return sum0(f)
  if type(f) == "builtin_function_or_method": return str(f)
  return f
def sum0(xs):
  n = 0
  for x in list(xs)[:4]: n += x
  return n
def mk(v, n = 0, *, log = []):
  def get():
    return (v, n, log)
  def grow():
    log.append(n)
    put(v, n)
    return get
  cell = [get, grow]
  if n: cell.append(lambda: cell)
  return cell
def acc(v, seen = {}, all = []):
  seen[len(seen)] = v
  all.append(v)
  if len(all) > 5: all.clear()
  return all
def pick(x): return x
n0 = 0
`

// rich makes statements over names of every kind of value.
func rich(r *rand.Rand, n int) []string {
	name := func() string { return fmt.Sprintf("v%d", r.IntN(6)) }
	forms := []string{
		"$ = ($, $)", "$ = [$, $, $]", "$ = {'k': $, (1, 'x'): $, 1 << 70: $}", "$ = struct(a = $, b = $)",
		"$ = mk($, n0)", "$ = mk($)[1]", "$ = lambda x = $: (x, $)", "$ = [$.a for x in [1] if type($) == 'struct']",
		"put($, $)", "put($, $)", "put($, s1)", "drop($)", "$ = use($)", "$ = use($)", "$ = acc($)", "$ = acc(s2, all = [$])",
		"print(repr($)[:200])", "send(repr($)[:200])", "$ = $", "$ = s1", "$ = hl", "hl.append($)", "$ = s3 + (1 << 66)",
		"if s2: $ = $", "if s1 > 1: put($, $)", "for x in [$, $]: put(x, s3)", "$ = set([1, s2, 'a' * s1])", "$ = range(s1 + 2)",
		"$ = 'a%sb' % s1", "$ = ('long ' * 30) + str(s2)", "$ = 'abc'.elems()", "$ = b'bytes of it'.elems()", "$ = bytes('text %s' % s1)",
		"$ = [].append", "$ = {'k': $}.get", "$ = 'some text'.upper", "$ = len", "$ = json", "$ = json.encode", "$ = box", "$ = box.deep.read", "$ = send",
		"$ = 1.5 * s1", "$ = None", "$ = $ == $", "$ = box.read(id = s1)", "$ = box.deep.read()['items']", "$ = $.items if type($) == 'dict' and 'items' in $ else $",
		"$ = dict(k = $, j = $)", "$ = list(zip([$, 1], [2, $]))", "$ = {i: $ for i in range(s1 * 5)}", "$ = -(1 << 80)", "n0 += 1",
		"def pick(x): return [x, $]", "$ = pick($)", "def use0(f = $): return f", "$ = use0", "$ = recv()", "$ = attempt(div, s1, s2).error",
		"$ = {(1, (s1, 'y')): $, struct(a = 1, b = s2): $}", "$ = ($, ($, 'z'))", "v5 = 'x'.join([repr(e)[:9] for e in [$, $]])", "for i in range(40): put($, i)",
		"for i in range(12): drop($)",
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
	turns[0] += richPrelude + "v0 = []\nv1 = {}\nv2 = (1, [2])\nv3 = set()\nv4 = 'text'\nv5 = mk(v0)\n"
	if r.IntN(3) == 0 { // a turn that fails early leaves little: let the next have the statements alone
		turns = []string{richPrelude + "v0 = []\nv1 = {}\nv2 = (1, [2])\nv3 = set()\nv4 = 'text'\nv5 = mk(v0)\n", "", "", ""}
	}
	for i := range turns {
		for range 1 + r.IntN(3) {
			turns[i] += strings.Join(rich(r, 1+r.IntN(6)), "\n") + "\n"
		}
		if r.IntN(12) == 0 {
			turns[i] += "done(n0)\n"
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
		found, a, b := compareLives(t, snapshotConfig(randomInputs(r)), texts)
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
