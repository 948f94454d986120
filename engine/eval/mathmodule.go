package eval

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"math/big"
	"math/bits"
	"slices"

	"callgate/engine/label"
)

// mathModule makes the module math, with Python's results and errors.
func mathModule() *module {
	m := &module{"math", map[string]val{
		"pi": floatVal(math.Pi, label.BottomID), "e": floatVal(math.E, label.BottomID), "tau": floatVal(2*math.Pi, label.BottomID),
		"inf": floatVal(math.Inf(1), label.BottomID), "nan": floatVal(math.NaN(), label.BottomID),
	}}
	add := func(name, params string, run native) {
		m.attrs[name] = builtinVal(&builtin{name: name, recv: unboundVal, def: def("math."+name, params, run)}, label.BottomID)
	}
	for name, f := range inOrder(map[string]func(float64) float64{
		"sqrt": math.Sqrt, "exp": math.Exp, "log2": math.Log2, "log10": math.Log10, "log1p": math.Log1p, "expm1": math.Expm1, "fabs": math.Abs, "cbrt": math.Cbrt,
		"sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos, "atan": math.Atan, "sinh": math.Sinh, "cosh": math.Cosh, "tanh": math.Tanh,
		"degrees": func(x float64) float64 { return x * (180 / math.Pi) }, "radians": func(x float64) float64 { return x * (math.Pi / 180) },
	}) {
		add(name, "x", func(t *thread, c *call) val { return t.real(c, f(c.real(t, 0)), c.real(t, 0)) })
	}
	for name, f := range inOrder(map[string]func(x, y float64) float64{"atan2": math.Atan2, "fmod": math.Mod, "copysign": math.Copysign, "pow": math.Pow}) {
		add(name, "x, y", func(t *thread, c *call) val {
			return t.real(c, f(c.real(t, 0), c.real(t, 1)), c.real(t, 0), c.real(t, 1))
		})
	}
	add("hypot", "...", func(t *thread, c *call) val {
		t.unnamed(c)
		r := 0.0
		for i := range c.args {
			t.charge(1)
			r = math.Hypot(r, c.real(t, i))
		}
		return floatVal(r, t.shallow(c))
	})
	add("log", "x, base?", func(t *thread, c *call) val {
		x := math.Log(c.real(t, 0))
		if c.has(1) {
			x /= math.Log(c.real(t, 1))
		}
		return t.real(c, x, c.real(t, 0))
	})
	for name, f := range inOrder(map[string]func(float64) float64{"floor": math.Floor, "ceil": math.Ceil, "trunc": math.Trunc}) {
		add(name, "x", func(t *thread, c *call) val {
			v := c.args[0].number()
			if v.isInt() {
				return v.with(t.shallow(c))
			}
			x := f(c.real(t, 0))
			if math.IsNaN(x) || math.IsInf(x, 0) {
				panic(t.argError(c, "range", "cannot convert float %s to integer", formatFloat(x)).of(classOfNoInt(x)))
			}
			i, _ := big.NewFloat(x).Int(nil)
			return t.bigResult(i, t.shallow(c))
		})
	}
	for name, f := range inOrder(map[string]func(float64) bool{
		"isnan": math.IsNaN, "isinf": func(x float64) bool { return math.IsInf(x, 0) },
		"isfinite": func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) },
	}) {
		add(name, "x", func(t *thread, c *call) val { return boolVal(f(c.real(t, 0)), t.shallow(c)) })
	}
	add("isclose", "a, b, *, rel_tol?, abs_tol?", func(t *thread, c *call) val {
		a, b, rel, abs := c.real(t, 0), c.real(t, 1), 1e-9, 0.0
		if c.has(2) {
			rel = c.real(t, 2)
		}
		if c.has(3) {
			abs = c.real(t, 3)
		}
		near := a == b || !math.IsInf(a, 0) && !math.IsInf(b, 0) && math.Abs(a-b) <= max(rel*max(math.Abs(a), math.Abs(b)), abs)
		return boolVal(near, t.shallow(c))
	})
	add("gcd", "...", func(t *thread, c *call) val {
		t.unnamed(c)
		g := new(big.Int)
		for i := range c.args {
			g.GCD(nil, nil, g, new(big.Int).Abs(c.whole(t, i)))
		}
		return t.bigResult(g, t.shallow(c))
	})
	add("factorial", "n", func(t *thread, c *call) val {
		n := t.intArg(c, 0)
		if n < 0 {
			panic(t.argError(c, "range", "factorial() not defined for negative values"))
		}
		bits := int64(float64(n)*math.Log2(float64(n)+1)) + 64
		if n > 1<<20 {
			bits = maxIntBits + 1
		}
		t.reserveInt(bits, t.shallow(c), t.at)
		t.charge(bits / 64 * (bits / 64) / 8)
		return t.bigResult(new(big.Int).MulRange(1, n), t.shallow(c))
	})
	add("comb", "n, k", func(t *thread, c *call) val {
		n, k := t.intArg(c, 0), t.intArg(c, 1)
		if n < 0 || k < 0 {
			panic(t.argError(c, "range", "n and k must not be negative"))
		}
		if k > n {
			return intVal(0, t.shallow(c))
		}
		k = min(k, n-k)
		bits := int64(maxIntBits + 1)
		if k < 1<<20 {
			bits = int64(float64(k)*math.Log2(float64(n)+1)) + 64
		}
		t.reserveInt(bits, t.shallow(c), t.at)
		t.charge(bits / 64 * (bits / 64))
		return t.bigResult(new(big.Int).Binomial(n, k), t.shallow(c))
	})
	add("isqrt", "n", func(t *thread, c *call) val {
		n := c.whole(t, 0)
		if n.Sign() < 0 {
			panic(t.argError(c, "range", "isqrt() argument must be nonnegative"))
		}
		t.charge(int64(n.BitLen()) / 64 * int64(n.BitLen()) / 64)
		return t.bigResult(t.isqrt(n), t.shallow(c))
	})
	return m
}

// isqrt returns the whole part of the square root of a number of 0 or more. Each round doubles the digits that are right, so
// that the last division is most of the work: Mark Dickinson's adaptive variant of Heron's method, of which math.isqrt
// of CPython has the proof.
func (t *thread) isqrt(n *big.Int) *big.Int {
	if n.Sign() == 0 {
		return new(big.Int)
	}
	c := uint(n.BitLen()-1) / 2
	a, q := big.NewInt(1), new(big.Int)
	for s, d := bits.Len(c), uint(0); s > 0; s-- {
		t.poll()
		e := d
		d = c >> (s - 1)
		q.Rsh(n, 2*c-e-d+1)
		q.Quo(q, a)
		a.Lsh(a, d-e-1)
		a.Add(a, q)
	}
	if q.Mul(a, a).Cmp(n) > 0 {
		a.Sub(a, big.NewInt(1))
	}
	return a
}

// inOrder yields what a map has in the order of its keys: builtins are numbered as they are made, the same in every process.
func inOrder[T any](m map[string]T) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

// real returns a number as a float.
func (c *call) real(t *thread, i int) float64 {
	v := c.args[i].number()
	if !v.isNum() {
		panic(t.badArg(c, "got %s, want a number", v.typeName()))
	}
	f, ok := v.toFloat()
	if !ok {
		panic(t.argError(c, "too-large", "int too large to convert to float"))
	}
	return f
}

// whole returns an int of any size, charged for its use.
func (c *call) whole(t *thread, i int) *big.Int {
	v := c.args[i].number()
	if !v.isInt() {
		panic(t.badArg(c, "got %s, want an int", v.typeName()))
	}
	t.reserveInt(int64(v.bits()), t.shallow(c), t.at)
	t.charge(int64(v.bits()) / 64 * int64(v.bits()) / 64 / 8)
	return v.big()
}

// real returns the result of a function of floats, or the error that it has none: NaN or infinite, of numbers that are neither.
func (t *thread) real(c *call, r float64, from ...float64) val {
	finite := true
	for _, x := range from {
		finite = finite && !math.IsNaN(x) && !math.IsInf(x, 0)
	}
	if finite && math.IsNaN(r) || finite && math.IsInf(r, 0) {
		panic(t.argError(c, "range", "math domain error"))
	}
	return floatVal(r, t.shallow(c))
}

// statisticsModule makes the module statistics. Sums are exact, as Python's are.
func statisticsModule() *module {
	funcs := map[string]*builtinDef{}
	add := func(name string, least int, run func(t *thread, c *call, xs []val, l label.ID) val) {
		funcs[name] = def("statistics."+name, "data", func(t *thread, c *call) val {
			v := t.iterableArg(c, 0)
			l := t.join(t.pc, t.deepLabel(v))
			t.deeper(c, l)
			xs := t.elements(v)
			if len(xs) < least {
				panic(t.argError(c, "empty", "requires at least %d data point%s", least, plural(least)))
			}
			return run(t, c, xs, l)
		})
	}
	add("mean", 1, func(t *thread, c *call, xs []val, l label.ID) val {
		sum, _, ints := t.exactly(c, xs)
		return t.rational(sum.Quo(sum, ratOf(len(xs))), ints, l)
	})
	add("fmean", 1, func(t *thread, c *call, xs []val, l label.ID) val {
		sum, _, _ := t.exactly(c, xs)
		return t.rational(sum.Quo(sum, ratOf(len(xs))), false, l)
	})
	spread := func(sample, root bool) func(t *thread, c *call, xs []val, l label.ID) val {
		return func(t *thread, c *call, xs []val, l label.ID) val {
			sum, squares, ints := t.exactly(c, xs)
			n := len(xs)
			d := squares.Mul(squares, ratOf(n))
			d.Sub(d, sum.Mul(sum, sum))
			if sample {
				d.Quo(d, ratOf(n*(n-1)))
			} else {
				d.Quo(d, ratOf(n*n))
			}
			if !root {
				return t.rational(d, ints, l)
			}
			f := new(big.Float).SetPrec(256).SetRat(d)
			x, _ := f.Sqrt(f).Float64()
			return floatVal(x, l)
		}
	}
	add("variance", 2, spread(true, false))
	add("pvariance", 1, spread(false, false))
	add("stdev", 2, spread(true, true))
	add("pstdev", 1, spread(false, true))
	middle := func(pick func(t *thread, c *call, a, b val, l label.ID) val) func(t *thread, c *call, xs []val, l label.ID) val {
		return func(t *thread, c *call, xs []val, l label.ID) val {
			for _, x := range xs {
				c.number(t, x)
			}
			slices.SortFunc(xs, func(a, b val) int {
				t.burn(1)
				return t.compareNum(a, b)
			})
			return pick(t, c, xs[(len(xs)-1)/2], xs[len(xs)/2], l)
		}
	}
	add("median_low", 1, middle(func(_ *thread, _ *call, a, _ val, l label.ID) val { return a.with(l) }))
	add("median_high", 1, middle(func(_ *thread, _ *call, _, b val, l label.ID) val { return b.with(l) }))
	funcs["median"] = def("statistics.median", "data", func(t *thread, c *call) val {
		low := funcs["median_low"].run(t, c)
		if t.length(c.args[0])%2 == 1 {
			return low
		}
		high := funcs["median_high"].run(t, c)
		x, y := t.floats(low.number(), high.number(), low.lab, t.at)
		return floatVal((x+y)/2, low.lab)
	})
	add("mode", 1, func(t *thread, c *call, xs []val, l label.ID) val {
		t.alloc(dictSize)
		d := &dict{}
		best := 0
		for _, x := range xs {
			h := t.hash(x.with(l))
			i := t.find(d, x, h)
			if i < 0 {
				t.insert(d, x, h, intVal(0, label.BottomID))
				i = len(d.ents) - 1
			}
			d.ents[i].v.n++
			if cmp.Compare(d.ents[i].v.n, d.ents[best].v.n) > 0 || i < best && d.ents[i].v.n == d.ents[best].v.n {
				best = i
			}
		}
		return d.ents[best].k.with(l)
	})
	return makeModule("statistics", funcs)
}

func ratOf(n int) *big.Rat { return new(big.Rat).SetInt64(int64(n)) }

// number returns an element that must be a number that is finite.
func (c *call) number(t *thread, x val) val {
	x = x.number()
	if !x.isNum() || x.k == kFloat && (math.IsNaN(x.float()) || math.IsInf(x.float(), 0)) {
		panic(t.badArg(c, "got %s among the data, want finite numbers", t.short(x)))
	}
	return x
}

// exactly returns the sum of numbers and of their squares, and whether all are ints.
func (t *thread) exactly(c *call, xs []val) (sum, squares *big.Rat, ints bool) {
	sum, squares, ints = new(big.Rat), new(big.Rat), true
	for _, x := range xs {
		x = c.number(t, x)
		n := int64(x.bits())
		t.charge(100 + n/16)
		if n > 4096 {
			panic(t.argError(c, "too-large", "an int of %d bits among the data; the largest has 4096", n))
		}
		r := new(big.Rat)
		if x.k == kFloat {
			ints = false
			r.SetFloat64(x.float())
		} else {
			r.SetInt(x.big())
		}
		sum.Add(sum, r)
		squares.Add(squares, r.Mul(r, r))
	}
	return sum, squares, ints
}

// rational returns an exact result: an int if all data were ints and it is one, else a float.
func (t *thread) rational(r *big.Rat, ints bool, l label.ID) val {
	if ints && r.IsInt() {
		return t.bigResult(new(big.Int).Set(r.Num()), l)
	}
	f, _ := r.Float64()
	return floatVal(f, l)
}
