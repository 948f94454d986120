package eval

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/engine/label"
	"callgate/engine/value"
)

// What an observer may not see must not decide what he sees. Random programs run twice, on inputs
// that differ only above an observer, and everything that he sees must be equal: each call, print and
// question to policy, each turn's end, every value and its label's class, and afterwards every name.
// A thing that is visible in one run and hidden in the other is a counter-example too.
//
// Progress is not promised: of two runs one may stop being visible where the other goes on. What he sees of one
// is then the beginning of what he sees of the other; and a run whose floor and endings stay
// visible is never the shorter one. After an endorsement that let through different values, two runs are
// not compared any more.

var (
	pairs = flag.Int("pairs", 10_000, "pairs of runs that TestNoninterference compares")
	seed  = flag.Uint64("seed", 1, "where TestNoninterference begins")
)

// crowd is a set of observers.
type crowd uint16

const (
	seesEve crowd = 1 << iota // a principal sees what he may read
	seesAnn
	seesBob
	seesInternal // a level of trust sees what is at least as trusted: the dual
	seesUser
	seesUntagged // somebody who must not see what is tagged so
	seesUnsecret
	seesAnnInternal // what both see
	seesBobUntagged
	seesEveUser
	everybody = 1<<iota - 1
)

type observer struct {
	name string
	bit  crowd
}

var observers = []observer{
	{"eve", seesEve}, {"ann", seesAnn}, {"bob", seesBob}, {"internal", seesInternal}, {"user", seesUser},
	{"not pii", seesUntagged}, {"not secret", seesUnsecret},
	{"ann and internal", seesAnnInternal}, {"bob and not pii", seesBobUntagged}, {"eve and user", seesEveUser},
}

func (o observer) sees(l label.Label) bool { return seenBy(l)&o.bit != 0 }

// seenBy returns who sees what has a label. Together, the observers know its class.
func seenBy(l label.Label) crowd {
	var s crowd
	switch l.Trust() {
	case label.System, label.User:
		s = seesUser | seesInternal
	case label.Internal:
		s = seesInternal
	}
	if r := l.Readers(); r.IsPublic() {
		s |= seesEve | seesAnn | seesBob
	} else {
		for _, n := range r.Names() {
			switch n {
			case "eve":
				s |= seesEve
			case "ann":
				s |= seesAnn
			case "bob":
				s |= seesBob
			}
		}
	}
	if !l.HasTag("pii") {
		s |= seesUntagged
	}
	if !l.HasTag("secret") {
		s |= seesUnsecret
	}
	for _, both := range [...][2]crowd{
		{seesAnn | seesInternal, seesAnnInternal}, {seesBob | seesUntagged, seesBobUntagged}, {seesEve | seesUser, seesEveUser},
	} {
		if s&both[0] == both[0] {
			s |= both[1]
		}
	}
	return s
}

// sameFor reports whether an observer sees the same of two values.
func (o observer) sameFor(a, b *value.Value) bool {
	x, y := seenBy(a.Label), seenBy(b.Label)
	if (x|y)&o.bit == 0 {
		return true
	}
	if x != y || a.Kind != b.Kind {
		return false
	}
	if a.Scalar() {
		switch a.Kind {
		case value.Bool:
			return a.Bool == b.Bool
		case value.Int:
			return a.Int.Cmp(b.Int) == 0
		case value.Float:
			return a.Float == b.Float || a.Float != a.Float && b.Float != b.Float
		}
		return a.Str == b.Str
	}
	x, y = seenBy(a.Structure), seenBy(b.Structure)
	if (x|y)&o.bit == 0 {
		return true
	}
	if x != y || len(a.Items) != len(b.Items) {
		return false
	}
	for i := range a.Keys {
		if !o.sameFor(&a.Keys[i], &b.Keys[i]) {
			return false
		}
	}
	for i := range a.Items {
		if !o.sameFor(&a.Items[i], &b.Items[i]) {
			return false
		}
	}
	return true
}

// sameEvent reports whether two events that he sees are the same to him.
func (o observer) sameEvent(a, b *event) bool {
	if a.who != b.who || a.what != b.what || a.site != b.site || len(a.args) != len(b.args) {
		return false
	}
	if (a.hist|b.hist)&o.bit != 0 && a.hist != b.hist {
		return false
	}
	for i := range a.args {
		if a.args[i].Name != b.args[i].Name || !o.sameFor(&a.args[i].Value, &b.args[i].Value) {
			return false
		}
	}
	return true
}

// next returns the position of the first event from i on that he sees.
func (o observer) next(events []event, i int) int {
	for i < len(events) && events[i].who&o.bit == 0 {
		i++
	}
	return i
}

// differ returns how two runs differ for an observer, or "", and whether they were compared to the end.
func differ(a, b *trace, o observer) (how string, whole bool) {
	i, j := o.next(a.events, 0), o.next(b.events, 0)
	for ; i < len(a.events) && j < len(b.events); i, j = o.next(a.events, i+1), o.next(b.events, j+1) {
		x, y := &a.events[i], &b.events[j]
		if !o.sameEvent(x, y) {
			return fmt.Sprintf("event %d: %s\nevent %d: %s", i, x, j, y), true
		}
		if x.released != nil && y.released != nil && !o.sameFor(x.released, y.released) {
			return "", false
		}
	}
	deadA, deadB := a.dead&o.bit != 0, b.dead&o.bit != 0
	switch {
	case !deadA && j < len(b.events):
		return fmt.Sprintf("the one ended, and the other: %s", &b.events[j]), true
	case !deadB && i < len(a.events):
		return fmt.Sprintf("the other ended, and the one: %s", &a.events[i]), true
	case deadA || deadB:
		return "", false
	}
	if x, y := seenBy(a.s.tab.Label(a.s.history)), seenBy(b.s.tab.Label(b.s.history)); (x|y)&o.bit != 0 && x != y {
		return "the record of calls is labelled otherwise", true
	}
	for n := range a.ends {
		x, y := a.ends[n].Rises, b.ends[n].Rises
		if len(x) != len(y) {
			return fmt.Sprintf("turn %d: the floor rose %d / %d times", n, len(x), len(y)), true
		}
		for k := range x {
			if x[k].Site != y[k].Site || seenBy(x[k].Floor) != seenBy(y[k].Floor) {
				return fmt.Sprintf("turn %d: the floor rose: %v / %v", n, x[k], y[k]), true
			}
		}
	}
	return o.differHeap(a, b), true
}

func (e *event) String() string {
	s := fmt.Sprintf("%s:%d:%d: %s pc=%s", e.site.File, e.site.Line, e.site.Column, e.what, e.pc)
	for _, a := range e.args {
		s += fmt.Sprintf(" %s=%s:%s", a.Name, a.Value.Text(), a.Value.Label)
		if !a.Value.Scalar() {
			s += fmt.Sprintf(":%s", a.Value.Structure)
		}
	}
	return s
}

// differHeap compares the names of two sessions that have ended.
func (o observer) differHeap(a, b *trace) string {
	for n, c := range a.s.names {
		d := b.s.names[n]
		if d == nil {
			return "global " + n + " is in one session only"
		}
		if !o.sameVal(a, b, c.v, d.v, 0) {
			return fmt.Sprintf("global %s: %s / %s", n, show(a, c.v), show(b, d.v))
		}
	}
	return ""
}

func show(tr *trace, v val) string {
	text := "?"
	_ = tr.s.thread(context.Background(), label.BottomID).protect(func(t *thread) {
		text = t.repr(v) + fmt.Sprintf(":%s:%s", tr.s.tab.Label(v.lab), tr.s.tab.Label(t.structure(v)))
	})
	return text
}

func (tr *trace) sees(id label.ID) crowd {
	s, ok := tr.seen[id.Class()]
	if !ok {
		s = seenBy(tr.s.tab.Label(id))
		tr.seen[id.Class()] = s
	}
	return s
}

// sameVal is sameFor in the heaps of two sessions.
func (o observer) sameVal(a, b *trace, v, w val, depth int) bool {
	x, y := a.sees(v.lab), b.sees(w.lab)
	if (x|y)&o.bit == 0 || depth > 8 {
		return true
	}
	if x != y || v.k != w.k {
		return false
	}
	all := func(x, y []val) bool {
		if len(x) != len(y) {
			return false
		}
		for i := range x {
			if !o.sameVal(a, b, x[i], y[i], depth+1) {
				return false
			}
		}
		return true
	}
	structure := func(s, t label.ID) (same, hidden bool) {
		x, y := a.sees(s), b.sees(t)
		return x == y, (x|y)&o.bit == 0
	}
	switch v.k {
	case kString, kBytes:
		return v.str() == w.str()
	case kBig:
		return v.bigInt().Cmp(w.bigInt()) == 0
	case kTuple:
		return all(v.tuple().items, w.tuple().items)
	case kList, kDeque:
		same, hidden := structure(v.list().st, w.list().st)
		return hidden || same && all(v.list().items, w.list().items)
	case kDict, kSet:
		d, e := v.dict(), w.dict()
		if (d.of == nil) != (e.of == nil) || d.of != nil && (d.of.class != e.of.class || !all([]val{d.of.factory}, []val{e.of.factory})) {
			return false
		}
		same, hidden := structure(d.st, e.st)
		return hidden || same && all(entriesOf(d), entriesOf(e))
	case kObject:
		d, e := v.object(), w.object()
		if d.class != e.class || d.n != e.n || (d.of == nil) != (e.of == nil) || d.of != nil && !all(d.of.items, e.of.items) {
			return false
		}
		return all(d.items, e.items)
	case kStruct:
		return strings.Join(v.record().names, " ") == strings.Join(w.record().names, " ") && all(v.record().items, w.record().items)
	case kRange:
		return *v.rng() == *w.rng()
	case kSeq:
		return *v.seq() == *w.seq()
	case kBuiltin:
		f, g := v.builtin(), w.builtin()
		return f.name == g.name && all([]val{f.recv}, []val{g.recv})
	case kFunc:
		f, g := v.fn(), w.fn()
		return f.code.index == g.code.index && f.code.prog.equal(g.code.prog) && all(f.defaults, g.defaults) && all(cellsOf(f), cellsOf(g))
	case kModule:
		return v.module().name == w.module().name
	}
	return v.n == w.n
}

func entriesOf(d *dict) []val {
	var out []val
	d.each(func(k, v val) bool {
		out = append(out, k, v)
		return true
	})
	return out
}

func cellsOf(f *function) []val {
	var out []val
	for _, c := range f.free {
		out = append(out, c.v)
	}
	return out
}

// tally is what a campaign has done.
type tally struct {
	pairs, alive int // runs compared with another; those of them that stayed visible to their observer to the end
	programs     int
	compared     int // a pair may be compared for several observers

	newCase func(r *rand.Rand, seed uint64) (*niCase, error) // nil: any program
}

// counterexample says for whom two runs differ.
type counterexample struct {
	seed     uint64
	observer observer
	how      string
	turns    []string // without the prelude
	instead  []string // of the other run; nil: the same
	authors  []label.Label
	again    bool // see [niCase]
	a, b     niInputs
}

func (c *counterexample) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, observer %s: %s\n", c.seed, c.observer.name, c.how)
	for i := range c.a.g {
		x, y := c.a.g[i], c.b.g[i]
		if !x.lab.Equal(lowLabel) || !slices.Equal(x.vals, y.vals) {
			fmt.Fprintf(&b, "input %d: %v / %v %s\n", i, x.vals, y.vals, x.lab)
		}
	}
	if c.authors != nil {
		fmt.Fprintf(&b, "authors: %v\n", c.authors)
	}
	if c.again {
		b.WriteString("made again after each turn\n")
	}
	b.WriteString(strings.Join(c.turns, "---\n"))
	if c.instead != nil {
		b.WriteString("=== or\n" + strings.Join(c.instead, "---\n"))
	}
	return b.String()
}

// niCase is a random program and what it is run on.
type niCase struct {
	seed    uint64
	turns   []string
	program *niProgram
	authors []label.Label
	base    niInputs
	others  []variant
	used    []construct // that the programs are about, if they are small

	instead []string // turns that may have been written instead, by authors who are hidden from some
	other   *niProgram
	again   bool // the session is made again from a snapshot after each turn
}

// variant is inputs that differ from others above an observer.
type variant struct {
	in       niInputs
	observer observer // for whom it was made
	sees     crowd    // who sees that they differ
	instead  bool     // the turns are the other ones too
}

func newCase(r *rand.Rand, seed uint64) (*niCase, error) { return caseAbout(r, seed, construct{}) }

// caseAbout is newCase, with a program about a construct unless that is zero.
func caseAbout(r *rand.Rand, seed uint64, about construct) (*niCase, error) {
	low := []int{10, 55, 80}[r.IntN(3)]
	switch n := r.IntN(10); {
	case n < 6 || about != construct{}:
		g := smallGen{Rand: r, about: about}
		turns := g.programs()
		c, err := caseOf(r, seed, turns, 10, 2)
		if err == nil {
			c.used = g.used
		}
		return c, err
	case n == 6:
		return caseOf(r, seed, (&gen{Rand: r, short: true}).programs(), low, len(observers))
	case n == 7 && seed%2 == 0:
		return newCallsCase(r, seed)
	case n == 7:
		return newControlCase(r, seed)
	case n == 8 && seed%4 == 0:
		return newStrandCase(r, seed)
	case n == 8 && seed%4 == 1:
		return newTurnsCase(r, seed)
	case n == 8 && seed%4 == 2:
		return newHeapCase(r, seed)
	}
	return caseOf(r, seed, (&gen{Rand: r}).programs(), low, len(observers))
}

// caseOf is a case of a program, with inputs so many of 100 of which are low, and as many variants at most.
func caseOf(r *rand.Rand, seed uint64, turns []string, low, most int) (*niCase, error) {
	c := &niCase{seed: seed, turns: turns}
	if err := c.compile(); err != nil {
		return nil, err
	}
	if r.IntN(20) == 0 { // the last turn's author is not everybody's
		for range len(c.turns) - 1 {
			c.authors = append(c.authors, lowLabel)
		}
		c.authors = append(c.authors, niLabels[r.IntN(len(niLabels))].Join(lowLabel))
	}
	c.base = randomInputs(r, low)
	used := c.program.uses()
	for _, i := range r.Perm(len(observers)) {
		o := observers[i]
		if in, who := c.base.vary(r, o, &used); who != 0 && r.IntN(3) > 0 && len(c.others) < most {
			c.others = append(c.others, variant{in, o, who, false})
		}
	}
	return c, nil
}

// compile compiles the turns, and those that may be there instead.
func (c *niCase) compile() (err error) {
	if c.program, err = compileTurns(c.turns, inputNames); err == nil && c.instead != nil {
		c.other, err = c.program.instead(c.instead)
	}
	if err != nil {
		return fmt.Errorf("seed %d: %w\n%s", c.seed, err, strings.Join(append(c.turns[1:], c.instead...), "---\n"))
	}
	return nil
}

func (c *niCase) run(v *variant) (*trace, error) {
	p := c.program
	if v.instead {
		p = c.other
	}
	tr, err := p.runGiven(&v.in, c.authors, c.again)
	if err != nil {
		err = fmt.Errorf("seed %d: %w\n%s", c.seed, err, strings.Join(c.turns[1:], "---\n"))
	}
	return tr, err
}

// compare returns the counter-example, if there is one, that the runs a on the base and b on a variant are.
func (c *niCase) compare(a, b *trace, v *variant) (found *counterexample, whole bool, compared int) {
	for _, o := range observers {
		if v.sees&o.bit != 0 {
			continue
		}
		how, end := differ(a, b, o)
		if how != "" {
			found = &counterexample{seed: c.seed, observer: o, how: how, turns: c.turns[1:], authors: c.authors, again: c.again, a: c.base, b: v.in}
			if v.instead {
				found.instead = c.instead[1:]
			}
			return found, false, 0
		}
		compared++
		whole = whole || end && o.bit == v.observer.bit
	}
	return nil, whole, compared
}

// try runs one random program on several inputs.
func (n *tally) try(r *rand.Rand, seed uint64) (*counterexample, error) {
	of := n.newCase
	if of == nil {
		of = newCase
	}
	c, err := of(r, seed)
	if err != nil {
		return nil, err
	}
	a, err := c.run(&variant{in: c.base})
	if err != nil {
		return nil, err
	}
	n.programs++
	for i := range c.others {
		v := &c.others[i]
		if a.dead&v.observer.bit != 0 && i%4 != 0 && !v.instead { // little is compared then
			continue
		}
		b, err := c.run(v)
		if err != nil {
			return nil, err
		}
		n.pairs++
		found, whole, observers := c.compare(a, b, v)
		if found != nil {
			return found, nil
		}
		n.compared += observers
		if whole {
			n.alive++
		}
	}
	return nil, nil
}

// campaign compares pairs from a seed on until it finds a counter-example.
func (n *tally) campaign(pairs int, seed uint64) (*counterexample, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // little is alive, and much is made
	for ; n.pairs < pairs; seed++ {
		if c, err := n.try(rand.New(rand.NewPCG(seed, 7)), seed); c != nil || err != nil {
			return c, err
		}
	}
	return nil, nil
}

func TestNoninterference(t *testing.T) { new(tally).run(t, 40) }

// run compares as many pairs as the flag says. So many in a hundred at least must stay visible to the end, or the test says little.
func (n *tally) run(t *testing.T, visible int) {
	start := time.Now()
	most := *pairs
	if underRace {
		most /= 5 // one goroutine has few races
	}
	found, err := n.campaign(most, *seed)
	if err != nil {
		t.Fatal(err)
	}
	if found != nil {
		found.shrink()
		t.Fatalf("after %d pairs: %s", n.pairs, found)
	}
	took := time.Since(start)
	t.Logf("%d pairs of %d programs, %d %% of them visible to the end, %d comparisons, in %v: %.0f pairs a second",
		n.pairs, n.programs, 100*n.alive/n.pairs, n.compared, took.Round(time.Millisecond), float64(n.pairs)/took.Seconds())
	if n.alive*100 < n.pairs*visible {
		t.Errorf("only %d of %d pairs stayed visible to the end: the test says little", n.alive, n.pairs)
	}
}

// bytesSource makes random numbers of a fuzzer's input: a byte each, above bits that are counted (a constant would keep rand's rejection
// loops turning for ever), and once the input ends the count alone.
type bytesSource struct {
	b []byte
	n uint64
}

func (s *bytesSource) Uint64() uint64 {
	s.n++
	x := s.n * 0x9e3779b97f4a7c15 // 2^64 over the golden ratio: neighbours fall far apart
	if len(s.b) == 0 {
		return x
	}
	x = uint64(s.b[0])<<56 | x>>8
	s.b = s.b[1:]
	return x
}

func FuzzNoninterference(f *testing.F) {
	for i := range uint64(16) {
		r := rand.New(rand.NewPCG(i, 9))
		b := make([]byte, 400)
		for j := range b {
			b[j] = byte(r.Uint32())
		}
		f.Add(b)
	}
	for _, s := range corpus(f, "corpus-programs.txt") {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var n tally
		found, err := n.try(rand.New(&bytesSource{b: b}), 0)
		if err != nil {
			t.Fatal(err)
		}
		if found != nil {
			found.shrink()
			t.Fatal(found)
		}
	})
}
