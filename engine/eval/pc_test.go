package eval

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	star "go.starlark.net/syntax"
)

// TestExpressionsCarryThePC runs random programs and looks at the value of each of their expressions: when it has been evaluated, its
// label is no less than the pc. So what binds, returns or reads a value need not join the pc to it. Nor is the label of a bound method
// less than its receiver's: who calls it has followed that reference too.
func TestExpressionsCarryThePC(t *testing.T) {
	n, kinds := 0, map[string]bool{}
	observe = func(t *thread, e star.Expr, v val) {
		n++
		kinds[fmt.Sprintf("%T", e)] = true
		carriesPC(t, e, v)
	}
	most := programs.most
	programs.most = 0 // what is compiled here is not for other tests
	t.Cleanup(func() { observe, programs.most = nil, most })
	for s := *seed; s < *seed+3000; s++ {
		c, err := newCase(rand.New(rand.NewPCG(s, 7)), s)
		if err != nil {
			t.Fatal(err)
		}
		if c.turns[0] == prelude { // which is compiled once for all tests
			c.turns[0] += "\n"
			if c.program, err = compileTurns(c.turns, inputNames); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.run(&variant{in: c.base}); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range strings.Fields("Literal Ident ListExpr TupleExpr DictExpr CondExpr UnaryExpr BinaryExpr IndexExpr SliceExpr DotExpr CallExpr Comprehension LambdaExpr ParenExpr") {
		if !kinds["*syntax."+kind] {
			t.Errorf("no %s in %d expressions: the test says little", kind, n)
		}
	}
}

// carriesPC panics if the value of an expression does not have the label that it must have.
func carriesPC(t *thread, e star.Expr, v val) {
	if v.k == kBuiltin && v.builtin().recv.k != kUnbound && !t.tab.Flows(v.builtin().recv.lab, v.lab) {
		panic(fmt.Sprintf("%s is %s, and its receiver %s", v.builtin().name, t.tab.Label(v.lab), t.tab.Label(v.builtin().recv.lab)))
	}
	if !t.tab.Flows(t.pc, v.lab) {
		where, _ := e.Span()
		panic(fmt.Sprintf("%s: the %T is %s, and the pc %s", where, e, t.tab.Label(v.lab), t.tab.Label(t.pc)))
	}
}
