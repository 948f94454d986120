package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"callgate/engine/journal"
)

// shopper makes random programs over the tools of the tests that can be called again: what a person says about others changes
// what comes after.
type shopper struct {
	*rand.Rand
	out    strings.Builder
	indent string
	made   int // names
}

// turns are the programs of a run; the last answers, mostly.
func (g *shopper) turns() (out []string) {
	for n := range 1 + g.IntN(3) {
		g.out.Reset()
		if n == 0 {
			g.line("a = 1")
			g.line("b = 2")
			g.line("xs = [3, 1, 2]")
			g.line("d = {}")
		}
		g.block(3+g.IntN(5), 0)
		switch g.IntN(8) {
		case 0:
			g.line("[].pop()")
		case 1:
			g.line("for i in range(100000000): pass") // passes the limit of steps
		case 2:
			g.line("done(value = [a, b, xs])")
		}
		out = append(out, g.out.String())
	}
	return append(out, "done({'a': a, 'xs': xs, 'd': d})\n")
}

func (g *shopper) line(format string, args ...any) {
	fmt.Fprintf(&g.out, g.indent+format+"\n", args...)
}

func (g *shopper) block(n, depth int) {
	for range n {
		g.statement(depth)
	}
}

func (g *shopper) below(depth int) {
	g.indent += "    "
	g.block(1+g.IntN(3), depth+1)
	g.indent = g.indent[4:]
}

func (g *shopper) int() string {
	return []string{"a", "b", "len(xs)", "xs[0]", "7", "a + b", "b * 3 % 50", "sum(xs)", "len(d)", "52"}[g.IntN(10)]
}

func (g *shopper) statement(depth int) {
	g.made++
	kinds := 14
	if depth > 1 {
		kinds = 10
	}
	switch g.IntN(kinds) {
	case 0:
		g.line("r = attempt(shop.item, i = %s)", g.int())
		g.line("if r.ok: a += r.value['n']")
	case 1:
		g.line("r = attempt(shop.mail, i = %s)", g.int())
		g.line("d[%d] = r.value", g.made)
	case 2:
		g.line("shop.put(key = 'k%d', text = str(%s))", g.made, g.int())
	case 3:
		g.line("attempt(shop.pay, to = 'v', amount = %s)", g.int())
	case 4:
		g.line("d[%d] = attempt(shop.put, key = 'p', text = %s).ok", g.made, g.int())
	case 5:
		g.line("b = %s", g.int())
	case 6:
		g.line("xs.append(%s)", g.int())
	case 7:
		g.line("print(%s, xs)", g.int())
	case 8:
		g.line("try: xs = sorted(xs)[:20]")
		g.line("except Denied: b += 1")
	case 9:
		g.line("shop.put(key = 'key', text = shop.key())")
	case 10:
		g.line("if %s %% 2 == 0:", g.int())
		g.below(depth)
		g.line("else:")
		g.below(depth)
	case 11:
		g.line("for i in range(%d):", 1+g.IntN(4))
		g.below(depth)
	case 12:
		g.line("m = attempt(shop.mail, i = %s)", g.int())
		g.line("if endorse(m.ok and m.value['good'], 'internal', why = 'w'):")
		g.below(depth)
	case 13:
		g.line("try:")
		g.below(depth)
		g.line("    shop.forbidden()")
		g.line("except Denied as e:")
		g.line("    d['e%d'] = str(e)", g.made)
	}
}

// TestRandomRunsStoppedAnywhere stops the runs of random programs at each of their appends, and goes on with them.
func TestRandomRunsStoppedAnywhere(t *testing.T) {
	runs, stops := 25, 0
	if testing.Short() {
		runs = 4
	}
	for seed := range runs {
		turns := (&shopper{Rand: rand.New(rand.NewPCG(uint64(seed), 1))}).turns()
		want := undisturbed(t, turns)
		for n := 1; ; n++ {
			w, store := new(world), journal.NewMemory()
			stopped := false
			for _, left := range []int{n, 1 + (n+seed)%4, -1} {
				d := &dying{Store: store, left: left, after: (n+seed)%2 == 0}
				s, err := begin(t.Context(), w.clerk(t, d), d)
				if err == nil {
					err = drive(t.Context(), s, turns)
				}
				stopped = stopped || d.dead
				if err != nil && !errors.Is(err, errKilled) && !errors.Is(err, journal.ErrEnded) {
					t.Fatalf("seed %d, stopped at append %d: %v\n%s", seed, n, err, strings.Join(turns, "----\n"))
				}
			}
			if !stopped {
				break
			}
			stops++
			same(t, w, store, want)
			if t.Failed() {
				t.Fatalf("seed %d, append %d:\n%s", seed, n, strings.Join(turns, "----\n"))
			}
		}
	}
	t.Logf("%d stops", stops)
}
