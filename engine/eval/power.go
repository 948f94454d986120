package eval

import (
	"math"
	"math/big"

	"callgate/engine/label"
)

// power evaluates a ** b of numbers, as Python does: of ints it is an int unless b is negative.
func (t *thread) power(a, b val, l label.ID, p pos) val {
	if a.isInt() && b.isInt() && b.big().Sign() >= 0 {
		return t.bigResult(t.intPower(a, b, l, p), l)
	}
	x, y := t.floats(a, b, l, p)
	if x == 0 && y < 0 {
		panic(t.fail(p, l, "division-by-zero", "0.0 cannot be raised to a negative power"))
	}
	r := math.Pow(x, y)
	switch {
	case math.IsNaN(r) && x == x && y == y:
		panic(t.fail(p, l, "range", "a negative number has no fractional power but a complex one").hint("use abs(x) ** y"))
	case math.IsInf(r, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0):
		panic(t.fail(p, l, "too-large", "the result of ** is too large for a float"))
	}
	return floatVal(r, l)
}

// intPower returns a ** b for b >= 0.
func (t *thread) intPower(a, b val, l label.ID, p pos) *big.Int {
	base := a.big()
	if base.IsInt64() && base.Int64() >= -1 && base.Int64() <= 1 { // whatever b is
		if base.Int64() == -1 && b.big().Bit(0) == 0 {
			return big.NewInt(1)
		}
		if b.big().Sign() == 0 {
			return big.NewInt(1)
		}
		return new(big.Int).Set(base)
	}
	if b.k == kBig || b.n > maxIntBits {
		panic(t.fail(p, l, "too-large", "the result of ** is too large: an integer has at most %d bits", maxIntBits))
	}
	// The bits of the result, rounded up: exactly for a power of two.
	n := base.BitLen()
	bits := int64(n) * b.n
	if int(base.TrailingZeroBits()) == n-1 {
		bits = int64(n-1)*b.n + 1
	} else if bits > maxIntBits {
		f, _ := new(big.Float).SetInt(new(big.Int).Abs(base)).Float64()
		if math.IsInf(f, 0) {
			bits = int64(n-1) * b.n
		} else {
			bits = int64(math.Log2(f)*float64(b.n)) + 2
		}
	}
	t.reserveInt(bits, l, p)
	t.charge(bits / 64 * (bits / 64) / 8)
	return new(big.Int).Exp(base, b.big(), nil)
}

// runPow is pow(base, exp, mod?).
func runPow(t *thread, c *call) val {
	a, b := c.args[0], c.args[1]
	l := t.shallow(c)
	for i, v := range c.args {
		if !v.isNum() && (i < 2 || !c.none(2)) {
			panic(t.badArg(c, "for parameter %s: got %s, want a number", paramName(c, i), v.typeName()))
		}
	}
	if c.none(2) {
		return t.power(a, b, l, t.at)
	}
	m := c.args[2]
	switch {
	case !a.isInt() || !b.isInt() || !m.isInt():
		panic(t.badArg(c, "with a modulus every argument must be an int"))
	case m.big().Sign() == 0:
		panic(t.argError(c, "division-by-zero", "pow() 3rd argument cannot be 0"))
	}
	bits := int64(m.bits())
	t.reserveInt(bits, l, t.at)
	// A multiplication and a division for each bit of the exponent.
	t.charge((1 + bits/64) * (1 + bits/64) * int64(b.bits()) / 4)
	if bits*int64(b.bits()) > 1<<22 {
		panic(t.argError(c, "too-large", "a power of %d bits modulo %d bits takes too long", b.bits(), bits))
	}
	z := new(big.Int).Exp(a.big(), b.big(), new(big.Int).Abs(m.big()))
	if z == nil {
		panic(t.argError(c, "range", "base is not invertible for the given modulus"))
	}
	if m.big().Sign() < 0 && z.Sign() != 0 {
		z.Add(z, m.big())
	}
	return t.bigResult(z, l)
}
