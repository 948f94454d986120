package eval

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"callgate/engine/label"
	"callgate/engine/value"
)

// waveHost keeps what it is asked, wave by wave: "1.1.2 get(b)". get answers with its argument, bad fails, no is refused, ask waits, dead ends the program.
type waveHost struct {
	waves [][]string
	label label.Label // of answers
	do    func(calls []Call)
}

func (h *waveHost) Do(_ context.Context, calls []Call) []Result {
	var wave []string
	out := make([]Result, len(calls))
	for i, c := range calls {
		if c.Kind == KindBuiltin {
			out[i].Value = value.NoneOf(label.Bottom())
			continue
		}
		text := ""
		out[i].Value = value.NoneOf(h.label)
		if len(c.Args) > 0 {
			out[i].Value = c.Args[0].Value.Joined(h.label)
			if text = c.Args[0].Value.Text(); c.Args[0].Value.Kind == value.String {
				text = c.Args[0].Value.Str
			}
		}
		wave = append(wave, fmt.Sprintf("%s %s(%s)", c.ID, c.Tool, text))
		fail := func(e CallError) { out[i] = Result{Err: &e} }
		switch c.Tool {
		case "bad":
			fail(CallError{Code: "failed", Text: "bad " + text, Label: h.label})
		case "no":
			fail(CallError{Code: "denied", Label: h.label, Deny: true})
		case "ask":
			fail(CallError{Code: "waiting", Label: h.label, Wait: true})
		case "dead":
			fail(CallError{Code: "journal", Label: h.label, Final: true})
		}
	}
	if h.do != nil {
		h.do(calls)
	}
	if wave != nil {
		h.waves = append(h.waves, wave)
	}
	return out
}

var waveTools = []ToolSig{
	{Name: "get", Params: []string{"x"}}, {Name: "put", Params: []string{"x"}}, {Name: "bad", Params: []string{"x"}},
	{Name: "no", Params: []string{"x"}}, {Name: "ask", Params: []string{"x"}}, {Name: "dead", Params: []string{"x"}},
}

func (h *waveHost) session(t testing.TB, limits Limits) *Session {
	t.Helper()
	s, err := NewSession(Config{Host: h, Tools: waveTools, Limits: limits, Inputs: []Input{{"s", value.IntOf(1, label.New(label.User, label.Only("ann"), nil))}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func oneTurn(t testing.TB, s *Session, src string) Outcome {
	t.Helper()
	p, err := Compile("p", []byte(src), s.Env())
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Run(context.Background(), p, label.Bottom())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestParallel(t *testing.T) {
	for _, test := range []struct {
		name, src string
		waves     string // calls of a wave, between commas; waves, between semicolons
		prints    string
		end       string // status, and the error's place and text
	}{
		{"nothing", `print(parallel([]))`, "", "[]\n", "ok"},
		{"results are in the order of the functions", `print(parallel([lambda: get("a"), lambda: 2, lambda: get("c")]))`,
			"1.1.1 get(a), 1.1.3 get(c)", "[\"a\", 2, \"c\"]\n", "ok"},
		{"a tool is a function", `print(parallel((get, put)))`, "1.1.1 get(), 1.1.2 put()", "[None, None]\n", "ok"},
		{"waves", `
def f(n):
    for i in range(n):
        get(str(n) + "." + str(i))
    return n
put("before")
print(parallel([lambda n=n: f(n) for n in [1, 3, 0, 2]]))
put("after")`, "1.1 put(before); 1.2.1 get(1.0), 1.2.2 get(3.0), 1.2.4 get(2.0); 1.3.2 get(3.1), 1.3.4 get(2.1); 1.4.2 get(3.2); 1.5 put(after)", "[1, 3, 0, 2]\n", "ok"},
		{"what is printed, and written, is in the order of the waves", `
log = []
def f(name):
    log.append(name + "1")
    print(name, "one")
    get(name)
    log.append(name + "2")
    print(name, "two")
parallel([lambda: f("a"), lambda: f("b")])
print(log)`, "1.1.1 get(a), 1.1.2 get(b)", "a one\nb one\na two\nb two\n[\"a1\", \"b1\", \"a2\", \"b2\"]\n", "ok"},
		{"strands have strands", `
def g(x):
    get(x)
    return x
def f(x):
    r = parallel([lambda: g(x + "1"), lambda: g(x + "2")])
    put(x)
    return r
print(parallel([lambda: f("a"), lambda: put("b"), lambda: f("c")]))`,
			"1.1.1.1 get(a1), 1.1.1.2 get(a2), 1.1.2 put(b), 1.1.3.1 get(c1), 1.1.3.2 get(c2); 1.2.1 put(a), 1.2.3 put(c)",
			"[[\"a1\", \"a2\"], \"b\", [\"c1\", \"c2\"]]\n", "ok"},
		{"a call from within a builtin", `
def f(x):
    return sorted([3, 1, 2], key = lambda k: get(k) * x)
print(parallel([lambda: f(1), lambda: f(-1)]))`,
			"1.1.1 get(3), 1.1.2 get(3); 1.2.1 get(1), 1.2.2 get(1); 1.3.1 get(2), 1.3.2 get(2)", "[[1, 2, 3], [3, 2, 1]]\n", "ok"},
		{"an error ends them all, after its wave", `
def f(x):
    get(x)
    if x == "b":
        fail("no " + x)
    put(x)
parallel([lambda: f("a"), lambda: f("b"), lambda: f("c")])`, "1.1.1 get(a), 1.1.2 get(b), 1.1.3 get(c)", "", "error p:5:13: fail: no b"},
		{"the first of several errors, in the order of the functions", `
parallel([lambda: get(1), lambda: bad("b"), lambda: bad("c"), lambda: no("d")])`,
			"1.1.1 get(1), 1.1.2 bad(b), 1.1.3 bad(c), 1.1.4 no(d)", "", "error p:2:38: bad b"},
		{"a refusal", `parallel([lambda: get(1), lambda: no("b")])`, "1.1.1 get(1), 1.1.2 no(b)", "", "denied p:1:37: denied"},
		{"what a strand catches is nobody else's", `
def f(x):
    try:
        bad(x)
    except ToolError as e:
        return str(e)
print(parallel([lambda: f("a"), lambda: get("b"), lambda: f("c"), lambda: attempt(no, "d").code]))`,
			"1.1.1 bad(a), 1.1.2 get(b), 1.1.3 bad(c), 1.1.4 no(d)", "[\"bad a\", \"b\", \"bad c\", \"denied\"]\n", "ok"},
		{"it can be caught outside", `
done1 = []
def f(x):
    get(x)
    done1.append(x)
    if x == "b":
        bad(x)
    get(x + "2")
try:
    parallel([lambda: f("a"), lambda: f("b"), lambda: f("c")])
except ToolError as e:
    print(e)
print(done1)
put("go on")`, "1.1.1 get(a), 1.1.2 get(b), 1.1.3 get(c); 1.2.1 get(a2), 1.2.2 bad(b), 1.2.3 get(c2); 1.3 put(go on)",
			"bad b\n[\"a\", \"b\", \"c\"]\n", "ok"},
		{"the calls of a wave with an error before it are not made", `
try:
    parallel([lambda: get("a"), lambda: 1 // 0, lambda: print("never")])
except ZeroDivisionError as e:
    print("caught")
put("after")`, "1.1 put(after)", "caught\n", "ok"},
		{"what is stopped does not run its finally", `
def f(x):
    try:
        get(x)
        get(x)
    finally:
        print("finally", x)
try:
    parallel([lambda: f("a"), lambda: bad("b")])
except ToolError:
    print("caught")`, "1.1.1 get(a), 1.1.2 bad(b)", "caught\n", "ok"},
		{"an error in a finally", `
def f():
    try:
        bad("a")
    finally:
        get("in finally")
        fail("later")
parallel([f, lambda: [get(i) for i in range(9)]])`, "1.1.1 bad(a), 1.1.2 get(0); 1.2.1 get(in finally), 1.2.2 get(1)", "", "error p:7:13: fail: later"},
		{"one that waits for a person ends the program, whatever the others do", `
def f():
    get("a")
    fail("not reached")
parallel([f, lambda: ask("b"), lambda: get("c")])`, "1.1.1 get(a), 1.1.2 ask(b), 1.1.3 get(c)", "", "waiting p:5:25: waiting"},
		{"no try holds it", `
def f():
    try:
        ask("b")
    except Exception:
        print("caught")
try:
    parallel([lambda: get("a"), f])
except Exception:
    print("caught")`, "1.1.1 get(a), 1.1.2 ask(b)", "", "waiting p:4:12: waiting"},
		{"nor in strands of strands", `
parallel([lambda: get("a"), lambda: parallel([lambda: get("b"), lambda: dead("c")])])`,
			"1.1.1 get(a), 1.1.2.1 get(b), 1.1.2.2 dead(c)", "", "internal p:2:77: journal"},
		{"the answer is not given within", `
def f():
    done(1)
parallel([lambda: get("a"), f])`, "", "", "error p:3:9: done: the answer cannot be given from within parallel"},
		{"what is no function", `parallel([lambda: 1, get("a")])`, "1.1 get(a)", "", "error p:1:9: parallel: element 1: got string, want a function"},
		{"what has parameters", `
def f(x):
    pass
parallel([f])`, "", "", "error p:4:9: function f missing 1 argument (x)"},
		{"what is no list", `parallel(1)`, "", "", "error p:1:9: parallel: for parameter functions: got int, want iterable"},
		{"too many", `parallel([lambda: 1] * 1001)`, "", "", "error p:1:9: parallel: got 1001 functions, want at most 1000"},
		{"a million", `parallel([lambda: 1] * 1000000)`, "", "", "error p:1:9: parallel: got 1000000 functions, want at most 1000"},
		{"as many as there may be", `print(sum(parallel([lambda: 2] * 1000)), sum(parallel([lambda: get(3)] * 1000)[:4]))`,
			"*1000", "2000 12\n", "ok"},
		{"too many in all", `parallel([lambda: parallel([lambda: get(1)] * 400)] * 3)`, "", "",
			"limit p:1:27: strands budget used up: 1203 strands, the limit is 1000"},
		{"strands that have ended do not count", `
def f():
    for i in range(3):
        parallel([lambda: 1] * 400)
parallel([f] * 3)`, "", "", "ok"},
		{"recursion", `
def f():
    parallel([f])
f()`, "", "", "limit p:3:13: depth budget used up: 201 calls deep, the limit is 200"},
		{"one that never gets to a call", `
def f():
    while True:
        pass
parallel([lambda: get("a"), f])`, "", "", "limit p:3:5: steps budget used up: "},
		{"the calls of all are counted", `parallel([lambda: get(1), lambda: get(2)] * 499 + [lambda: [get(i) for i in range(3)]] * 2)`,
			"*1000", "", "limit p:1:64: calls budget used up: 1001 calls, the limit is 1000"},
		{"names of functions around are shared", `
def count():
    n = 0
    def up():
        nonlocal n
        n += get(1)
        return n
    return parallel([up, up, up]), n
print(count())`, "1.1.1 get(1), 1.1.2 get(1), 1.1.3 get(1)", "([1, 1, 1], 1)\n", "ok"},
		{"no container changes that another strand iterates over", `
xs = [1, 2]
def f():
    for x in xs:
        get(x)
parallel([f, lambda: xs.append(3)])`, "", "", "error p:6:31: append: cannot append to list during iteration"},
		{"what was iterated over can be changed afterwards", `
xs = [1, 2]
def f():
    for x in xs:
        get(x)
try:
    parallel([f, lambda: bad("b")])
except ToolError:
    pass
xs.append(3)
print(xs)`, "1.1.1 get(1), 1.1.2 bad(b)", "[1, 2, 3]\n", "ok"},
		{"a bare raise within a handler around", `
def f():
    try:
        fail("x")
    except Exception:
        get("in a handler")
        raise
parallel([f, lambda: get("b")])`, "1.1.1 get(in a handler), 1.1.2 get(b)", "", "error p:4:13: fail: x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			h := &waveHost{label: label.Bottom()}
			out := oneTurn(t, h.session(t, Limits{Depth: 200, Calls: 1000, Steps: 1e6}), test.src)
			var waves []string
			n := 0
			for _, w := range h.waves {
				waves = append(waves, strings.Join(w, ", "))
				n += len(w)
			}
			got := strings.Join(waves, "; ")
			if strings.HasPrefix(test.waves, "*") {
				got = fmt.Sprintf("*%d", n)
			}
			if got != test.waves {
				t.Errorf("calls: got\n%s\nwant\n%s", got, test.waves)
			}
			if out.Calls != n {
				t.Errorf("%d calls are counted, want %d", out.Calls, n)
			}
			var prints string
			for _, p := range out.Prints {
				prints += p.Text
			}
			if prints != test.prints {
				t.Errorf("printed %q, want %q", prints, test.prints)
			}
			end := string(out.Status)
			if out.Err != nil {
				end += " " + out.Err.Where()
			}
			if end != test.end && !(strings.HasSuffix(test.end, ": ") && strings.HasPrefix(end, test.end)) {
				t.Errorf("ended: got %s, want %s", end, test.end)
				if out.Err != nil {
					t.Log(out.Err.Detail)
				}
			}
			noLeak(t, before)
		})
	}
}

// noLeak fails the test if there are more goroutines than before, once those that are about to end have ended.
func noLeak(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		}
	}
}

// TestStrandsEndWhateverHappens ends programs in every way while strands wait and run: none is left behind.
func TestStrandsEndWhateverHappens(t *testing.T) {
	for _, test := range []struct {
		name, src string
		do        func(cancel func(), calls []Call)
		status    Status
		limits    Limits
	}{
		{"cancelled while one runs", "def f():\n    get(1)\n    while True: pass\nparallel([f, lambda: [get(i) for i in range(9)]])", func(cancel func(), _ []Call) { time.AfterFunc(time.Millisecond, cancel) }, Cancelled, Limits{Steps: 1 << 60}},
		{"cancelled while a call is made", "parallel([lambda: parallel([lambda: get(1), lambda: get(2)]), lambda: get(3)])", func(cancel func(), _ []Call) { cancel() }, Cancelled, Limits{}},
		{"time", "def f():\n    get(1)\n    while True: pass\nparallel([f, lambda: [get(i) for i in range(9)]])", nil, Limited, Limits{Steps: 1 << 60, Wall: 20 * time.Millisecond}},
		{"a host that panics", "parallel([lambda: parallel([lambda: get(1), lambda: get(2)]), lambda: get(3)])", func(func(), []Call) { panic("host") }, Crashed, Limits{}},
		{"memory", "def f():\n    x = [0] * 100000\n    get(1)\n    y = list(x)\nparallel([f] * 20)", nil, Limited, Limits{Memory: 4 << 20}},
		{"memory of strands", "parallel([lambda: get(1)] * 1000)", nil, Limited, Limits{Memory: 4 << 20}},
		{"steps", "parallel([lambda: [get(i) for i in range(9)]] * 100)", nil, Limited, Limits{Steps: 5000}},
		{"output", "parallel([lambda: [print(get(i)) for i in range(9)]] * 100)", nil, Limited, Limits{Output: 100}},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			ctx, cancel := context.WithCancel(t.Context())
			h := &waveHost{label: label.Bottom()}
			if test.do != nil {
				h.do = func(calls []Call) {
					if calls[0].Kind == KindTool {
						test.do(cancel, calls)
					}
				}
			}
			s := h.session(t, test.limits)
			p, err := Compile("p", []byte(test.src), s.Env())
			if err != nil {
				t.Fatal(err)
			}
			out, err := s.Run(ctx, p, label.Bottom())
			cancel()
			if err != nil || out.Status != test.status {
				t.Errorf("ended %s, %v, %v, want %s", out.Status, out.Err, err, test.status)
			}
			noLeak(t, before)
			after := oneTurn(t, s, "parallel([lambda: 1])")
			if after.Status != OK && after.Status != Limited && test.do == nil {
				t.Errorf("afterwards: %v", after.Err)
			}
		})
	}
}

// TestAFaultInAStrand has the evaluator itself fail within a strand.
func TestAFaultInAStrand(t *testing.T) {
	before := runtime.NumGoroutine()
	k := newChecker(t, Limits{})
	k.s.pre["boom"] = builtinVal(&builtin{name: "boom", recv: unboundVal, def: &builtinDef{name: "boom", params: []string{}, run: func(*thread, *call) val { panic("boom") }}}, label.BottomID)
	out := k.run("p", "parallel([lambda: 1, lambda: parallel([lambda: 2, lambda: boom()]), lambda: 3])")
	if out.Status != Crashed || out.Err.Code != "internal" || !strings.Contains(out.Err.Detail, "boom") || !strings.Contains(out.Err.Detail, "TestAFaultInAStrand") {
		t.Errorf("ended %s, %v %s", out.Status, out.Err, out.Err.Detail)
	}
	noLeak(t, before)
}

// TestWhatStrandsHoldIsAlive lets strands wait with data of theirs: it counts, and only until they have ended.
func TestWhatStrandsHoldIsAlive(t *testing.T) {
	const m = 8 << 20
	h := &waveHost{label: label.Bottom()}
	out := oneTurn(t, h.session(t, Limits{Memory: m, Steps: 1 << 40}), `
def hold(n):
    x = [n] * 30000
    get(n)
    y = sorted(x, key = lambda k: k)
    return len(x) + len(y)
def part(n):
    return sum(parallel([lambda: hold(1)] * n))
print(part(1), sum([part(1) for i in range(20)]))
print(sum(parallel([lambda: len([0] * 100000)] * 50)))
`)
	if out.Err != nil {
		t.Fatalf("garbage of strands that have ended counts: %v", out.Err)
	}
	held := oneTurn(t, h.session(t, Limits{Memory: m, Steps: 1 << 40}), `
def hold(n):
    x = [n] * 100000
    get(n)
    return len(x)
parallel([lambda: hold(1)] * 4)
`)
	if held.Err == nil || held.Err.Budget != "memory" {
		t.Errorf("four strands that hold 2.4 MB each: got %v, want that 8 MiB are used up", held.Err)
	}
	deep := oneTurn(t, h.session(t, Limits{Memory: m, Steps: 1 << 40}), `
def hold(n):
    x = [n] * 100000
    return parallel([lambda: get(len(x)), lambda: sorted([2, 1], key = lambda k: get(k))])
parallel([lambda: hold(1)] * 4)
`)
	if deep.Err == nil || deep.Err.Budget != "memory" {
		t.Errorf("four strands that hold 2.4 MB each, and wait for strands: got %v, want that 8 MiB are used up", deep.Err)
	}
}

// TestStrandsTakeWhatIsCharged measures what a thousand strands that wait take of the process.
func TestStrandsTakeWhatIsCharged(t *testing.T) {
	if underRace {
		t.Skip("the race detector takes memory of its own")
	}
	measure := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc + m.StackInuse)
	}
	h := &waveHost{label: label.Bottom()}
	s := h.session(t, Limits{})
	var before, within int64
	h.do = func(calls []Call) {
		if len(calls) == maxStrands {
			within = measure()
		}
	}
	before = measure()
	out := oneTurn(t, s, "def f(n):\n    return get(n) if n == 0 else f(n - 1)\nparallel([lambda: f(5)] * 1000)")
	if out.Err != nil {
		t.Fatal(out.Err)
	}
	got := within - before
	t.Logf("%d bytes a strand, of which the program is charged %d", got/maxStrands, out.Peak/maxStrands)
	if most := out.Peak + out.Peak/4; got > most {
		t.Errorf("1,000 strands take %d bytes, want %d at most", got, most)
	}
}

// TestASessionGoesOnAfterStrands makes a session again of its snapshot after strands have run in it, and goes on.
func TestASessionGoesOnAfterStrands(t *testing.T) {
	h := &waveHost{label: label.Bottom()}
	s := h.session(t, Limits{})
	if out := oneTurn(t, s, "n = 0\ndef up():\n    global n\n    n += get(1)\n    return lambda: n\nfs = parallel([up, up])\n"); out.Err != nil {
		t.Fatal(out.Err)
	}
	b, err := s.Snapshot(0)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Restore(Config{Host: h, Tools: waveTools, Inputs: []Input{{"s", value.IntOf(1, label.Bottom())}}}, b)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Session{s, again} {
		h.waves = nil
		out := oneTurn(t, s, "print([f() for f in parallel([lambda: fs[0], lambda: get(up)() or up])[:1]], n)")
		if out.Err != nil && out.Err.Code != "not-data" {
			t.Fatal(out.Err)
		}
		if out := oneTurn(t, s, "print([f() for f in fs] + parallel([lambda: n, lambda: get(n)]))"); out.Err != nil || out.Prints[0].Text != "[1, 1, 1, 1]\n" || h.waves[0][0] != "3.1.2 get(1)" {
			t.Errorf("got %v, %v, %v", out.Prints, out.Err, h.waves)
		}
	}
}
