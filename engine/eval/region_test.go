package eval

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	star "go.starlark.net/syntax"
)

// TestRegionsNest compiles random programs, and those of the vectors, and looks at each branch in an arm of another: its region has no part, and
// its exits reach nothing, that the region around it does not announce. Otherwise what is announced within would depend on what the branch around it has decided.
func TestRegionsNest(t *testing.T) {
	var made []*region
	observeRegion = func(r *region) { made = append(made, r) }
	most := programs.most
	programs.most = 0
	t.Cleanup(func() { observeRegion, programs.most = nil, most })
	nested, exits := 0, 0
	look := func(what string) {
		n, x, wrong := regionsNest(made)
		nested, exits = nested+n, exits+x
		if wrong != "" {
			t.Errorf("%s: %s", what, wrong)
		}
		made = made[:0]
	}
	for s := *seed; s < *seed+3000; s++ {
		of := newCase
		if s%2 == 0 {
			of = newControlCase
		}
		c, err := of(rand.New(rand.NewPCG(s, 7)), s)
		if err != nil {
			t.Fatal(err)
		}
		look(fmt.Sprintf("seed %d\n%s", s, strings.Join(c.turns[1:], "---\n")))
	}
	paths, err := filepath.Glob(filepath.Join(*vectorDir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := parseVector(t, a).runs(); err != nil {
			t.Fatal(err)
		}
		look(path)
	}
	if nested < 10_000 || exits < 2000 {
		t.Errorf("%d branches in arms of others, %d of which have exits: the test says little", nested, exits)
	}
}

// regionsNest returns how many pairs of regions there are of which one is in an arm of the other, how many of those within have exits, and what is wrong.
func regionsNest(made []*region) (nested, exits int, wrong string) {
	for _, r := range made {
		r.resolve()
	}
	for _, outer := range made {
		for _, inner := range made {
			if inner == outer || inner.fn != outer.fn || !inArms(inner, outer) {
				continue
			}
			nested++
			x := inner.exits
			if outer.loop() != inner.loop() {
				x.brk, x.cont = false, false // of a loop in the arm
			}
			if x.ret || x.brk || x.cont {
				exits++
			}
			where, _ := inner.arms[0].Span()
			around, _ := outer.arms[0].Span()
			if o := outer.exits; x.or(o) != o {
				wrong = fmt.Sprintf("the branch at %s has exits %+v, and that around it, at %s, %+v", where, x, around, o)
			}
			for _, p := range inner.parts {
				if !outer.covers(p) {
					wrong = fmt.Sprintf("the branch at %s has the part %+v, and that around it, at %s, only %+v", where, p, around, outer.parts)
				}
			}
		}
	}
	return nested, exits, wrong
}

// inArms reports whether all arms of a region are in arms of another.
func inArms(inner, outer *region) bool {
	for _, a := range inner.arms {
		if !inAny(a, outer.arms) {
			return false
		}
	}
	return len(inner.arms) > 0
}

func inAny(n star.Node, arms []star.Node) bool {
	found := false
	for _, a := range arms {
		star.Walk(a, func(m star.Node) bool {
			found = found || m == n
			return !found
		})
	}
	return found
}

// loop is the innermost loop around the region's statement.
func (r *region) loop() star.Stmt {
	for p := r.place; p != nil; p = p.up {
		if p.loop != nil {
			return p.loop
		}
	}
	return nil
}

// covers reports whether all of what a part does is in parts of the region.
func (r *region) covers(p extent) bool {
	for _, kind := range []func(p point) int32{
		func(p point) int32 { return p.names }, func(p point) int32 { return p.changed }, func(p point) int32 { return p.stored },
		func(p point) int32 { return p.callees }, func(p point) int32 { return p.calls }, func(p point) int32 { return p.risks },
	} {
		for i := kind(p.from); i < kind(p.to); i++ {
			found := false
			for _, q := range r.parts {
				found = found || kind(q.from) <= i && i < kind(q.to)
			}
			if !found {
				return false
			}
		}
	}
	return true
}
