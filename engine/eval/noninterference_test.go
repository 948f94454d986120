package eval

import (
	"context"
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"callgate/engine/label"
	"callgate/engine/value"
)

// What an observer may not see must not decide what he sees. Random programs run twice, on inputs
// that differ only above an observer, and everything that he sees must be equal: a thing
// that is visible in one run and hidden in the other is a counter-example too.

var (
	pairs = flag.Int("pairs", 6000, "pairs of runs that TestNoninterference compares")
	seed  = flag.Uint64("seed", 1, "where TestNoninterference begins")
)

// observer says which labels somebody sees: a principal those that he may read, a level of trust
// those at least as trusted (the dual: what is less trusted must not influence it).
type observer struct {
	name string
	sees func(label.Label) bool
}

func reader(p string) observer {
	return observer{p, func(l label.Label) bool { return l.Readers().Includes(p) }}
}

var observers = []observer{
	reader("eve"), reader("ann"), reader("bob"),
	{"internal", func(l label.Label) bool { return l.Trust() >= label.Internal }},
	{"user", func(l label.Label) bool { return l.Trust() >= label.User }},
}

// The labels of inputs: incomparable ones among them.
var (
	lowLabel = label.New(label.User, label.Public(), nil)
	niLabels = []label.Label{
		label.New(label.User, label.Only("ann"), nil),
		label.New(label.Internal, label.Only("bob"), nil),
		label.New(label.Untrusted, label.Public(), []string{"pii"}),
		label.New(label.Untrusted, label.Only("ann", "bob"), nil),
	}
)

// inputsOf is what a run is given: ints with labels.
type niInputs struct {
	s      [3]int64 // s1, s2, s3
	l      [3]label.Label
	hl     []int64 // a list whose structure has label hlab
	hlab   label.Label
	ml     []int64 // a list whose elements have labels mlab
	mlab   []label.Label
	stream []int64 // what recv returns, with labels
	slab   []label.Label
}

func randomInputs(r *rand.Rand) niInputs {
	lab := func() label.Label { return niLabels[r.IntN(len(niLabels))] }
	in := niInputs{hlab: lab()}
	for i := range in.s {
		in.s[i], in.l[i] = r.Int64N(4), lab()
	}
	in.l[2] = in.l[0].Join(in.l[1])
	for range r.IntN(4) {
		in.hl = append(in.hl, r.Int64N(4))
	}
	for range 3 {
		l := lab()
		if r.IntN(3) == 0 {
			l = lowLabel
		}
		in.ml, in.mlab = append(in.ml, r.Int64N(4)), append(in.mlab, l)
	}
	for range 12 {
		l := lab()
		if r.IntN(2) == 0 {
			l = lowLabel
		}
		in.stream, in.slab = append(in.stream, r.Int64N(3)), append(in.slab, l)
	}
	return in
}

// vary changes what the observer does not see.
func (in niInputs) vary(r *rand.Rand, o observer) niInputs {
	out := in
	for i := range in.s {
		if !o.sees(in.l[i]) {
			out.s[i] = r.Int64N(4)
		}
	}
	if !o.sees(in.hlab) {
		out.hl = nil
		for range r.IntN(4) {
			out.hl = append(out.hl, r.Int64N(4))
		}
	}
	vary := func(v []int64, l []label.Label) []int64 {
		v = append([]int64(nil), v...)
		for i := range v {
			if !o.sees(l[i]) {
				v[i] = r.Int64N(4)
			}
		}
		return v
	}
	out.ml, out.stream = vary(in.ml, in.mlab), vary(in.stream, in.slab)
	return out
}

func (in niInputs) values() []Input {
	var out []Input
	for i, n := range in.s {
		out = append(out, Input{fmt.Sprintf("s%d", i+1), value.IntOf(n, in.l[i])})
	}
	hl := value.ListOf(lowLabel)
	hl.Structure = in.hlab
	for _, n := range in.hl {
		hl.Items = append(hl.Items, value.IntOf(n, lowLabel))
	}
	ml := value.ListOf(lowLabel)
	for i, n := range in.ml {
		ml.Items = append(ml.Items, value.IntOf(n, in.mlab[i]))
	}
	return append(out, Input{"hl", hl}, Input{"ml", ml})
}

// event is something that crossed the boundary.
type event struct {
	pc   label.Label
	what string
	v    value.Value
}

// niHost has four tools. send records; recv returns labelled data, which of it depends on the
// calls so far; quota reads the record of calls; div fails on zero. All of them are recorded.
type niHost struct {
	in     niInputs
	events []event
	calls  int64
	recvd  int

	s       *Session // prints are events in the order of the program
	printed int
}

func (h *niHost) flush(prints []Print) {
	for _, p := range prints[h.printed:] {
		h.events = append(h.events, event{p.PC, "print", value.StringOf(p.Text, p.Label)})
	}
	h.printed = len(prints)
}

func (h *niHost) Do(_ context.Context, calls []Call) []Result {
	h.flush(h.s.printed)
	out := make([]Result, len(calls))
	for i, c := range calls {
		if c.Kind == KindBuiltin {
			continue
		}
		args := value.ListOf(label.Bottom())
		for _, a := range c.Args {
			args.Items = append(args.Items, a.Value)
		}
		h.events = append(h.events, event{c.PC, c.Tool, args})
		n := h.calls
		h.calls++
		deep := args.Deep().Join(c.PC)
		switch c.Tool {
		case "quota":
			out[i].Value = value.BoolOf(n < 3, c.History.Join(c.PC))
		case "recv":
			j := h.recvd % len(h.in.stream)
			h.recvd++
			out[i].Value = value.IntOf(h.in.stream[j], h.in.slab[j].Join(c.PC).Join(c.History))
		case "div":
			a, b := c.Args[0].Value, c.Args[1].Value
			if a.Kind != value.Int || b.Kind != value.Int || b.Int.Sign() == 0 {
				out[i].Err = &CallError{Code: "division", Label: deep}
			} else {
				out[i].Value = value.IntOf(new(big.Int).Quo(a.Int, b.Int).Int64(), deep)
			}
		default:
			out[i].Value = value.NoneOf(deep)
		}
	}
	return out
}

var niTools = []ToolSig{
	{Name: "send", Params: []string{"x"}}, {Name: "recv"}, {Name: "quota"}, {Name: "div", Params: []string{"a", "b"}},
}

// trace is a session that has ended.
type trace struct {
	events  []event
	ends    []Outcome
	globals map[string]value.Value
	unbound map[string]label.Label
	floor   label.Label
}

func runTurns(turns []string, in niInputs) (trace, error) { return runInputs(turns, in.values(), in) }

func runInputs(turns []string, inputs []Input, in niInputs) (trace, error) {
	h := &niHost{in: in}
	s, err := NewSession(Config{Host: h, Tools: niTools, Inputs: inputs, Limits: Limits{Steps: 30_000, Calls: 200, Memory: 8 << 20, Depth: 40}})
	if err != nil {
		return trace{}, err
	}
	h.s = s
	var tr trace
	for i, text := range turns {
		p, err := Compile(fmt.Sprintf("t%d", i+1), []byte(text), s.Env())
		if err != nil {
			return trace{}, err
		}
		o, err := s.Run(context.Background(), p, lowLabel)
		if err != nil {
			return trace{}, err
		}
		if o.Status == Crashed {
			return trace{}, fmt.Errorf("crash: %s", o.Err.Detail)
		}
		h.flush(o.Prints)
		h.printed = 0
		tr.ends = append(tr.ends, o)
	}
	tr.events, tr.floor = h.events, s.Floor()
	tr.globals, tr.unbound = map[string]value.Value{}, map[string]label.Label{}
	for n, c := range s.names {
		if c.v.k == kFunc {
			tr.globals[n] = value.StringOf(c.v.fn().code.name, s.tab.Label(c.v.lab))
		} else if v, err := s.Get(n); err == nil {
			tr.globals[n] = v
		} else {
			tr.unbound[n] = s.tab.Label(c.v.lab)
		}
	}
	return tr, nil
}

// mask writes what of a value an observer sees.
func mask(b *strings.Builder, v value.Value, o observer) {
	if !o.sees(v.Label) {
		b.WriteString("*")
		return
	}
	if v.Scalar() {
		b.WriteString(v.Text())
		return
	}
	b.WriteString(v.Kind.String())
	if !o.sees(v.Structure) {
		b.WriteString("*")
		return
	}
	b.WriteString("(")
	for i, e := range v.Items {
		if v.Kind == value.Dict {
			b.WriteString(v.Keys[i].Text() + ":")
		}
		mask(b, e, o)
		b.WriteString(",")
	}
	b.WriteString(")")
}

func (tr trace) seen(o observer) []string {
	var out []string
	for _, e := range tr.events {
		if o.sees(e.pc) {
			var b strings.Builder
			b.WriteString(e.what + " ")
			mask(&b, e.v, o)
			out = append(out, b.String())
		}
	}
	return out
}

// dead reports whether the observer can no longer tell what the run did: its floor, or the
// label of an ending, is above him. Progress is not promised.
func (tr trace) dead(o observer) bool {
	if !o.sees(tr.floor) {
		return true
	}
	for _, e := range tr.ends {
		if e.Err != nil && (!o.sees(e.Err.Label) || e.Status == Limited) {
			return true
		}
	}
	return false
}

// differ returns how two runs differ for an observer, or "".
func differ(a, b trace, o observer) string {
	x, y := a.seen(o), b.seen(o)
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("event %d: %s / %s", i, x[i], y[i])
		}
	}
	da, db := a.dead(o), b.dead(o)
	if !da && len(x) < len(y) || !db && len(y) < len(x) {
		return fmt.Sprintf("%d / %d events: %q / %q", len(x), len(y), x, y)
	}
	if da || db {
		return ""
	}
	for i := range a.ends {
		ea, eb := "", ""
		if e := a.ends[i].Err; e != nil {
			ea = e.Public()
			if o.sees(e.Label) {
				ea += e.Text
			}
		}
		if e := b.ends[i].Err; e != nil {
			eb = e.Public()
			if o.sees(e.Label) {
				eb += e.Text
			}
		}
		if ea != eb {
			return fmt.Sprintf("turn %d ended: %q / %q", i+1, ea, eb)
		}
	}
	for n := range a.globals {
		if s := differName(a, b, n, o); s != "" {
			return s
		}
	}
	for n := range b.globals {
		if s := differName(a, b, n, o); s != "" {
			return s
		}
	}
	return ""
}

func differName(a, b trace, n string, o observer) string {
	show := func(tr trace) string {
		var s strings.Builder
		if v, ok := tr.globals[n]; ok {
			mask(&s, v, o)
		} else if o.sees(tr.unbound[n]) {
			s.WriteString("unbound")
		} else {
			s.WriteString("*")
		}
		return s.String()
	}
	if x, y := show(a), show(b); x != y {
		return fmt.Sprintf("global %s: %s / %s", n, x, y)
	}
	return ""
}

// campaign compares n pairs from a seed on. It returns the first counter-example, and how
// many pairs stayed visible to their observer to the end.
func campaign(n int, seed uint64) (found string, done, alive int, err error) {
	for done < n {
		r := rand.New(rand.NewPCG(seed, 7))
		g := &gen{Rand: r}
		turns := g.programs()
		in := randomInputs(r)
		a, err := runTurns(turns, in)
		if err != nil {
			return "", done, alive, fmt.Errorf("seed %d: %w\n%s", seed, err, strings.Join(turns, "---\n"))
		}
		for _, o := range observers {
			other := in.vary(r, o)
			b, err := runTurns(turns, other)
			if err != nil {
				return "", done, alive, fmt.Errorf("seed %d: %w\n%s", seed, err, strings.Join(turns, "---\n"))
			}
			done++
			if !a.dead(o) && !b.dead(o) {
				alive++
			}
			if d := differ(a, b, o); d != "" {
				return fmt.Sprintf("seed %d, observer %s: %s\ninputs %+v\nor     %+v\n%s", seed, o.name, d, in.s, other.s, strings.Join(turns, "---\n")), done, alive, nil
			}
		}
		seed++
	}
	return "", done, alive, nil
}

func TestNoninterference(t *testing.T) {
	start := time.Now()
	found, done, alive, err := campaign(*pairs, *seed)
	if err != nil {
		t.Fatal(err)
	}
	if found != "" {
		t.Fatalf("after %d pairs: %s", done, found)
	}
	t.Logf("%d pairs, %d %% of them visible to the end, in %v", done, 100*alive/done, time.Since(start).Round(time.Millisecond))
	if alive*10 < done {
		t.Errorf("only %d of %d pairs stayed visible to the end: the test says little", alive, done)
	}
}
