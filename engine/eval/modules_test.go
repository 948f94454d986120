package eval

import (
	"slices"
	"strings"
	"testing"

	"callgate/engine/syntax"
)

// TestEveryModuleThatCanBeImportedIsThere holds the parser's list against the universe.
func TestEveryModuleThatCanBeImportedIsThere(t *testing.T) {
	var have []string
	for name, v := range universe {
		if v.k == kModule && strings.HasPrefix(name, "<") {
			have = append(have, v.module().name)
		}
	}
	slices.Sort(have)
	if !slices.Equal(have, syntax.Modules) {
		t.Errorf("the universe has %v, the parser knows %v", have, syntax.Modules)
	}
	_, err := Compile("x.star", []byte("from math import sqroot\n"), Env{})
	if err == nil || !strings.Contains(err.Error(), "math has no sqroot (did you mean sqrt?)") {
		t.Errorf("an import of what is not there: %v", err)
	}
}

func TestNumbersAreRoundedAndRaisedAsInPython(t *testing.T) {
	check(t, "numbers.star", `
import math, statistics
for x, n, want in [(2.675, 2, 2.67), (0.5, 0, 0.0), (1250.0, -2, 1200.0), (1350.0, -2, 1400.0), (-1.5, 0, -2.0), (1e300, 5, 1e300), (5e-324, 400, 5e-324)]:
    assert.eq(round(x, n), want)
for x, want in [(0.5, 0), (1.5, 2), (2.5, 2), (-2.5, -2), (1e20, 100000000000000000000), (7, 7)]:
    assert.eq(round(x), want)
assert.eq([round(25, -1), round(35, -1), round(-25, -1), round(26, -5)], [20, 40, -20, 0])
assert.eq([2 ** 10, (-2) ** 3, 2 ** -1, 0 ** 0, 1 ** (1 << 70), (-1) ** (1 << 70)], [1024, -8, 0.5, 1, 1, 1])
assert.eq([pow(3, 4, 5), pow(3, -1, 7), pow(2, 5, -7)], [1, 5, -3])
assert.fails(lambda: 0 ** -1, "negative power")
assert.fails(lambda: 3 ** (1 << 40), "too large")
assert.fails(lambda: (-8) ** 0.5, "complex")
assert.fails(lambda: math.sqrt(-1), "math domain error")
assert.fails(lambda: math.factorial(1 << 40), "largest has")
assert.fails(lambda: statistics.mean([]), "at least 1 data point")
assert.fails(lambda: sum(["a"]), "cannot sum strings")
assert.fails(lambda: round("x"), "want a number")
assert.fails(lambda: isinstance(1, 2), "want a type")
assert.eq(statistics.stdev([1, 2, 3, 4]), 1.2909944487358056)
assert.eq(statistics.median([True, False]), 0.5)
`)
}
