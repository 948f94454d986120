package worker

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rogpeppe/go-internal/txtar"

	"callgate/engine/eval"
	"callgate/engine/label"
	"callgate/engine/value"
)

// low is the label of those who write the programs of tests.
var low = label.New(label.User, label.Public(), nil)

// world answers the calls of the tests' programs: what it says depends on the call alone.
type world struct{ calls int }

func (w *world) Do(_ context.Context, calls []eval.Call) []eval.Result {
	out := make([]eval.Result, len(calls))
	for i, c := range calls {
		if c.Kind != eval.KindBuiltin {
			w.calls++
		}
		out[i] = w.one(c)
	}
	return out
}

func (w *world) one(c eval.Call) eval.Result {
	deep := c.PC
	arg := value.NoneOf(low)
	for i, a := range c.Args {
		deep = deep.Join(a.Value.Deep())
		if i == 0 {
			arg = a.Value
		}
	}
	refuse := func(code string, deny, wait bool) eval.Result {
		return eval.Result{Err: &eval.CallError{Code: code, Text: "refused: " + code, Hint: "ask again", Deny: deny, Final: wait, Wait: wait, Label: low}}
	}
	hash := fnv.New32()
	fmt.Fprint(hash, c.Tool, arg.Text())
	n := int64(hash.Sum32() % 4)
	secret := label.New(label.Internal, label.Only("ann"), []string{"pii"}, label.Source{Tool: c.Tool, Of: "a", Field: "body"})
	switch c.Tool {
	case "quota":
		return eval.Result{Value: value.BoolOf(w.calls < 3, c.History.Join(c.PC))}
	case "recv", "web.get":
		return eval.Result{Value: value.IntOf(n, secret.Join(c.PC))}
	case "div":
		if n == 0 {
			return refuse("division", false, false)
		}
		return eval.Result{Value: value.FloatOf(float64(n)/3, deep)}
	case "pay":
		if deep.Trust() < label.Internal {
			return refuse("denied (flow.pay)", true, false)
		}
	case "ask":
		return refuse("waiting", false, true)
	case "mail", "inbox":
		mail := value.DictOf(low.Join(c.PC),
			value.Field{Name: "id", Of: value.IntOf(n, low)}, value.Field{Name: "kind", Of: value.IntOf(n, secret)},
			value.Field{Name: "flag", Of: value.BoolOf(n > 1, secret)}, value.Field{Name: "body", Of: value.StringOf("a\u0000\"1é", secret)},
			value.Field{Name: "tags", Of: value.Value{Kind: value.List, Label: low, Structure: secret, Items: []value.Value{value.IntOf(n, low)}}},
		)
		if c.Tool == "mail" {
			return eval.Result{Value: mail}
		}
		return eval.Result{Value: value.ListOf(low.Join(c.PC), mail, mail)}
	case "endorse":
		if c.PC.Trust() < label.User {
			return refuse("denied", true, false)
		}
		return eval.Result{Forget: n == 1, Value: arg.Relabel(func(l label.Label) label.Label {
			return l.WithTrust(label.User).WithGrant(label.Grant{Call: c.ID, Trust: l.Trust(), Bits: 1})
		})}
	case "declassify":
		return eval.Result{Value: arg.Relabel(func(l label.Label) label.Label { return l.WithReaders(label.Public()) })}
	case "textwrap.wrap":
		if !deep.Readers().IsPublic() {
			return refuse("denied", true, false)
		}
	}
	return eval.Result{Value: value.NoneOf(deep)}
}

var worldTools = []eval.ToolSig{
	{Name: "send", Params: []string{"x", "y"}}, {Name: "recv"}, {Name: "quota"}, {Name: "div", Params: []string{"a", "b"}},
	{Name: "pay", Params: []string{"x"}}, {Name: "ask", Params: []string{"x"}}, {Name: "look", Params: []string{"x"}}, {Name: "mail", Params: []string{"x"}}, {Name: "inbox"},
	{Name: "web.get", Params: []string{"n"}}, {Name: "files.read", Params: []string{"path"}},
}

// sameOptions compare what must be the same in both places: not how long it took, nor what of it was garbage.
var sameOptions = cmp.Options{
	cmp.Comparer(func(a, b label.Label) bool { return a.Equal(b) }),
	cmp.Comparer(func(a, b value.Value) bool { return a.LabelledDigest() == b.LabelledDigest() }),
	cmpopts.IgnoreUnexported(eval.Error{}, eval.Print{}),
	cmpopts.IgnoreFields(eval.Outcome{}, "Duration", "Peak"),
	cmpopts.EquateEmpty(),
	cmp.FilterValues(func(a, b eval.Error) bool { return a.Status == eval.Limited && b.Status == eval.Limited }, cmp.Comparer(func(a, b eval.Error) bool {
		return a.Code == b.Code && a.Label.Equal(b.Label) && a.Site == b.Site // how much was used, garbage decides
	})),
}

// turn runs a program in both places and compares everything that can be seen of it.
func (p *pair) turn(file, text string, author label.Label) eval.Outcome {
	p.t.Helper()
	ctx := p.t.Context()
	if p.rests {
		p.far.lieDown()
	}
	for _, h := range p.hosts {
		h.calls = nil
	}
	want, err := p.local.Exec(ctx, file, text, author, eval.Past{})
	if err != nil {
		p.t.Fatal(err)
	}
	got, err := p.far.Exec(ctx, file, text, author, eval.Past{})
	if err != nil {
		p.t.Fatal(err)
	}
	if d := cmp.Diff(p.hosts[0].calls, p.hosts[1].calls, sameOptions); d != "" {
		p.t.Errorf("%s: calls (-here +worker):\n%.4000s", file, d)
	}
	if d := cmp.Diff(want, got, sameOptions); d != "" {
		p.t.Errorf("%s: outcome (-here +worker):\n%.4000s", file, d)
	}
	if d := want.Peak - got.Peak; d < -4<<10 || d > 4<<10 { // a few bytes are garbage
		p.t.Errorf("%s: peak: got %d bytes, in the worker %d", file, want.Peak, got.Peak)
	}
	if d := cmp.Diff(p.local.Names(), p.far.Names(), cmpopts.EquateEmpty()); d != "" {
		p.t.Errorf("%s: names (-here +worker):\n%s", file, d)
	}
	if !p.local.Floor().Equal(p.far.Floor()) {
		p.t.Errorf("%s: the floor is %s, in the worker %s", file, p.local.Floor(), p.far.Floor())
	}
	return got
}

// values compares the values of all names.
func (p *pair) values() {
	p.t.Helper()
	for _, n := range p.local.Names() {
		want, err1 := p.local.Get(n)
		got, err2 := p.far.Get(n)
		if fmt.Sprint(err1) != fmt.Sprint(err2) || want.LabelledDigest() != got.LabelledDigest() {
			p.t.Errorf("%s: got %s, %v, in the worker %s, %v", n, want.Text(), err1, got.Text(), err2)
		}
	}
}

func newWorld() eval.Host { return &world{} }

// sample returns every n-th of the files, or all.
func sample(t *testing.T, n, least int, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) < least {
		t.Fatalf("%s: %d files, %v", pattern, len(paths), err)
	}
	if !testing.Short() {
		return paths
	}
	var out []string
	for i := 0; i < len(paths); i += n {
		out = append(out, paths[i])
	}
	return out
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestVectorsInAWorker runs the vectors of the flow rules here and in a worker, in one that rests between turns too: no difference can be seen.
func TestVectorsInAWorker(t *testing.T) {
	for _, path := range sample(t, 5, 100, "../../spec/vectors/flow/*.txtar") {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			cfg := eval.Config{Tools: worldTools}
			for _, f := range a.Files {
				if f.Name == "inputs" {
					cfg.Inputs = vectorInputs(t, string(f.Data))
				}
			}
			for _, rests := range []bool{false, true} {
				open := openReal
				if rests {
					open = openPipe
				}
				p := pairIn(t, cfg, newWorld, open)
				defer p.far.Close()
				if rests {
					p.restless(cfg)
				}
				for _, f := range a.Files {
					if strings.HasSuffix(f.Name, ".star") {
						p.turn(f.Name, string(f.Data), low)
					}
				}
				p.values()
			}
		})
	}
}

// vectorInputs reads the first of the values of each input.
func vectorInputs(t *testing.T, text string) (out []eval.Input) {
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		name, rest, _ := strings.Cut(line, "=")
		i := strings.LastIndex(rest, " ")
		l, err := label.Parse(rest[i+1:])
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(rest[:i], "|")
		out = append(out, eval.Input{Name: strings.TrimSpace(name), Value: vectorValue(t, strings.TrimSpace(first), l)})
	}
	return out
}

func vectorValue(t *testing.T, s string, l label.Label) value.Value {
	switch {
	case strings.HasPrefix(s, "["):
		v := value.ListOf(low)
		inner := strings.TrimSuffix(s, "!")
		if inner != s {
			v.Structure = l
		}
		for _, e := range strings.FieldsFunc(strings.Trim(inner, "[]"), func(r rune) bool { return r == ',' }) {
			v.Items = append(v.Items, vectorValue(t, strings.TrimSpace(e), l))
		}
		return v
	case strings.HasPrefix(s, `"`):
		u, err := strconv.Unquote(s)
		if err != nil {
			t.Fatal(err)
		}
		return value.StringOf(u, l)
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return value.IntOf(n, l)
}

// TestActionsInAWorker runs what models write here and in a worker.
func TestActionsInAWorker(t *testing.T) {
	for _, pattern := range []string{"../eval/testdata/actions/*.py", "../eval/testdata/modules/*.py"} {
		for _, path := range sample(t, 8, 5, pattern) {
			t.Run(filepath.Base(path), func(t *testing.T) {
				p := newPair(t, eval.Config{Tools: worldTools}, newWorld)
				p.turn(path, read(t, path), low)
				p.values()
			})
		}
	}
}

// TestHostileProgramsInAWorker runs programs that are meant to do harm, with budgets that are soon used up.
func TestHostileProgramsInAWorker(t *testing.T) {
	secret := eval.Input{Name: "secret", Value: value.IntOf(1, label.New(label.User, label.Only("ana"), nil))}
	tools := []eval.ToolSig{{Name: "mail.send", Params: []string{"to", "body"}}, {Name: "web.get", Params: []string{"n"}}}
	for _, path := range sample(t, 25, 55, "../eval/testdata/hostile/*.star") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			src := read(t, path)
			if strings.Contains(src, "# gen-json: ") {
				t.Skip("the program is made by the test of package eval")
			}
			p := pairIn(t, eval.Config{Tools: tools, Inputs: []eval.Input{secret}, Limits: eval.Limits{Steps: 200_000, Memory: 8 << 20}}, newWorld, openReal)
			defer p.far.Close()
			p.turn(filepath.Base(path), src, low)
			p.turn("after.star", "x = [secret, 2]\nprint(x)", low)
		})
	}
}

var fences = regexp.MustCompile("(?ms)^```starlark run\n(.*?)^```$")

// TestExamplesInAWorker runs the examples of the specification, a turn for each of their paragraphs.
func TestExamplesInAWorker(t *testing.T) {
	all := fences.FindAllStringSubmatch(read(t, "../../spec/language.md"), -1)
	if len(all) < 10 {
		t.Fatalf("%d examples", len(all))
	}
	for i, m := range all {
		for _, rests := range []bool{false, true} {
			p := newPair(t, eval.Config{Tools: worldTools}, newWorld)
			if rests {
				p.restless(eval.Config{Tools: worldTools})
			}
			for j, turn := range strings.Split(m[1], "\n\n") {
				p.turn(fmt.Sprintf("example%d-%d", i, j), turn, low)
			}
			p.values()
		}
	}
}

// TestTurnsInAWorker runs what the suites above do not: turns that see each other, every kind of ending.
func TestTurnsInAWorker(t *testing.T) {
	text := func(name, s string) eval.Input {
		return eval.Input{Name: name, Value: value.StringOf(s, label.New(label.Untrusted, label.Public(), nil, label.Source{Tool: "input", Of: name}))}
	}
	p := newPair(t, eval.Config{Tools: worldTools, Inputs: []eval.Input{text("a", "x\x00\u2028"), text("b", "")}, Limits: eval.Limits{Calls: 40}}, newWorld)
	for i, turn := range []string{
		"x = {1: (a, b\"\\xff\"), 2.5: [None, True, 1 << 70]}\ndef f(): return x\nprint(x, sep=\"-\")\nprint(b\"\\xff\\x00\")",
		"y = f()\nm = mail(1)\nprint(m)\nif m[\"kind\"]: send(1)\nx = m",
		"def g(n): return 1 // n\ng(0)",
		"this is no program",
		"pay(a)",
		"r = attempt(pay, x = a)\nprint(r.ok, r.code)\nfor i in range(3): recv()",
		"e = endorse(a[:1], trust = \"user\", options = [\"x\", \"y\"])\nsend(e)",
		"q = parallel([lambda: send(1), recv, lambda: parallel([lambda: quota(), lambda: mail(2)]), lambda: print(a)])\nprint(q)\nsend(2)",
		"def p():\n    send(1)\n    fail(a)\nparallel([lambda: recv(), p, lambda: [send(2), send(3)]])",
		"parallel([lambda: send(1), lambda: ask(1), lambda: 1 // send(2)])",
		"ask(1)",
		"while True: pass",
		"[recv() for i in range(100)]",
		"def r(n): return r(n + 1)\nr(0)",
		"done(x)",
		"done()",
		"print(float(\"nan\"), -0.0, 1e300 * 1e300)\nz = float(\"nan\")",
		"fail(a)",
		"s = set([1, 2]); t = struct(a = 1, b = s)",
	} {
		p.turn(fmt.Sprintf("t%d.star", i+1), turn, low)
	}
	p.values()
	refused := &eval.CallError{Code: "denied (program.untrusted)", Text: "no", Label: low, Deny: true}
	if d := cmp.Diff(p.local.Refuse(refused, "t.star", low), p.far.Refuse(refused, "t.star", low), sameOptions); d != "" {
		t.Error(d)
	}
	p.turn("after.star", "print(1)", label.Top())

	// A session that is made again goes on as if nothing had happened, in this process or another.
	b, err := p.far.Snapshot(0)
	if err != nil {
		t.Fatal(err)
	}
	b2, err := p.local.Snapshot(0)
	if err != nil {
		t.Fatal(err)
	}
	if string(b) != string(b2) {
		t.Errorf("the snapshot of the worker's session differs from that of one in this process")
	}
	again, err := openPipe(t, Config{Config: eval.Config{Host: p.hosts[1], Tools: worldTools, Inputs: []eval.Input{text("a", ""), text("b", "")}, Limits: eval.Limits{Calls: 40}}, Snapshot: b, Account: p.local.Account()})
	if err != nil {
		t.Fatal(err)
	}
	p.far = again
	cfg := eval.Config{Host: p.hosts[0], Tools: worldTools, Inputs: []eval.Input{text("a", ""), text("b", "")}, Limits: eval.Limits{Calls: 40}}
	if p.local, err = NewLocal(Config{Config: cfg, Snapshot: b2}); err != nil {
		t.Fatal(err)
	}
	p.turn("again.star", "print(x, f())\nsend(f)", low)
	p.turn("again2.star", "send(f())\nprint(y)", low)
	p.values()

	// Nor does it show where another run goes on with it.
	if b, err = p.far.Snapshot(0); err != nil {
		t.Fatal(err)
	}
	account := p.far.Account()
	cfg.Next, cfg.Anew, cfg.Inputs[0], cfg.Limits.Calls = true, []string{"a"}, text("a", "anew"), 2
	if p.local, err = NewLocal(Config{Config: cfg, Snapshot: b, Account: account}); err != nil {
		t.Fatal(err)
	}
	cfg.Host = p.hosts[1]
	if p.far, err = openPipe(t, Config{Config: cfg, Snapshot: b, Account: account}); err != nil {
		t.Fatal(err)
	}
	p.turn("next.star", "print(a)\nsend(a)", low)
	p.turn("next2.star", "send(f())\nsend(1)", low)
	p.values()
	if got := p.local.Account().calls; got != 2 {
		t.Errorf("%d calls are counted, want the 2 of this run", got)
	}
}
