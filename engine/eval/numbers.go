package eval

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"callgate/engine/label"
)

func runRange(t *thread, c *call) val {
	r := &rangeSeq{step: 1}
	switch {
	case !c.has(1):
		r.stop = t.intArg(c, 0)
	default:
		r.start, r.stop = t.intArg(c, 0), t.intArg(c, 1)
		if c.has(2) {
			r.step = t.intArg(c, 2)
			if r.step == 0 {
				panic(t.argError(c, "range", "step argument must not be zero"))
			}
		}
	}
	t.alloc(rangeSize)
	r.count()
	if r.n < 0 {
		panic(t.argError(c, "range", "more than %d elements", math.MaxInt64))
	}
	return rangeVal(r, t.shallow(c))
}

// intArg returns an argument as an int64.
func (t *thread) intArg(c *call, i int) int64 {
	switch v := c.args[i]; v.k {
	case kInt:
		return v.n
	case kBig:
		panic(t.argError(c, "range", "for parameter %s: %s out of range (want value in signed 64-bit range)", paramName(c, i), t.short(v)))
	default:
		panic(t.badArg(c, "for parameter %s: got %s, want int", paramName(c, i), v.typeName()))
	}
}

// addNumberFunctions adds those that make and round numbers.
func addNumberFunctions() {
	addFunc("abs", "x", func(t *thread, c *call) val {
		switch v := c.args[0]; v.k {
		case kInt:
			if v.n == math.MinInt64 {
				return bigVal(new(big.Int).Neg(v.big()), v.lab)
			}
			return intVal(max(v.n, -v.n), v.lab)
		case kBig:
			t.reserveInt(int64(v.bits()), v.lab, t.at)
			return bigVal(new(big.Int).Abs(v.bigInt()), v.lab)
		case kFloat:
			return floatVal(math.Abs(v.float()), v.lab)
		default:
			panic(t.badArg(c, "got %s, want int or float", v.typeName()))
		}
	})
	addFunc("int", "x?, base?", runInt)
	addFunc("float", "x?", runFloat)
}

func runFloat(t *thread, c *call) val {
	l := t.shallow(c)
	if !c.has(0) {
		return floatVal(0, l)
	}
	switch v := c.args[0]; v.k {
	case kBool:
		return floatVal(float64(v.n), l)
	case kInt, kBig, kFloat:
		f, ok := v.toFloat()
		if !ok && v.k == kBig {
			panic(t.argError(c, "too-large", "int too large to convert to float"))
		}
		return floatVal(f, l)
	case kString:
		s := t.trimmed(v.str())
		if len(s) > maxLiteral {
			panic(t.argError(c, "parse", "float literal of %d bytes; the longest has %d", len(s), maxLiteral))
		}
		t.charge(int64(len(s)) / 16)
		s = strings.ToLower(s)
		switch strings.TrimLeft(s, "+-") {
		case "nan", "inf", "infinity":
			f, _ := strconv.ParseFloat(s, 64)
			if strings.HasSuffix(s, "nan") {
				f = math.NaN()
			}
			return floatVal(f, l)
		case "":
			panic(t.argError(c, "parse", "empty string"))
		}
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || strings.ContainsAny(s, "xp") {
			if err != nil && math.IsInf(f, 0) {
				panic(t.argError(c, "too-large", "floating-point number too large"))
			}
			panic(t.argError(c, "parse", "invalid float literal: %s", t.bare(v)))
		}
		return floatVal(f, l)
	default:
		panic(t.badArg(c, "got %s, want number or string", v.typeName()))
	}
}

func runInt(t *thread, c *call) val {
	l := t.shallow(c)
	if !c.has(0) {
		return intVal(0, l)
	}
	v := c.args[0]
	base := int64(10)
	if c.has(1) {
		if v.k != kString {
			panic(t.badArg(c, "can't convert non-string with explicit base"))
		}
		base = t.intArg(c, 1)
		if base != 0 && (base < 2 || base > 36) {
			panic(t.argError(c, "range", "invalid base %d (must be >= 2 && <= 36)", base))
		}
	}
	switch v.k {
	case kBool:
		return intVal(v.n, l)
	case kInt, kBig:
		return v.with(l)
	case kFloat:
		f := v.float()
		switch {
		case math.IsNaN(f):
			panic(t.argError(c, "range", "cannot convert float NaN to integer"))
		case math.IsInf(f, 0):
			panic(t.argError(c, "range", "cannot convert float infinity to integer").of("OverflowError"))
		case math.Abs(f) < 1<<62:
			return intVal(int64(f), l)
		}
		i, _ := new(big.Float).SetFloat64(math.Trunc(f)).Int(nil)
		return bigVal(i, l)
	case kString:
		return t.parseInt(c, v, int(base), l)
	}
	panic(t.badArg(c, "got %s, want string or number", v.typeName()))
}

func (t *thread) parseInt(c *call, v val, base int, l label.ID) val {
	s := t.trimmed(v.str())
	if len(s) > 2*maxIntBits { // zeros in front count
		panic(t.argError(c, "too-large", "int literal of %d bytes; the longest has %d", len(s), 2*maxIntBits).of("ValueError"))
	}
	t.charge(int64(len(s)) / 16)
	bad := func() *Error {
		return t.argError(c, "parse", "invalid literal with base %d: %s", base, t.bare(v))
	}
	neg := false
	digits := s
	if digits != "" && (digits[0] == '+' || digits[0] == '-') {
		neg = digits[0] == '-'
		digits = digits[1:]
	}
	real := base
	if len(digits) > 1 && digits[0] == '0' {
		prefix := map[byte]int{'x': 16, 'o': 8, 'b': 2}[digits[1]|0x20]
		switch {
		case prefix != 0 && (base == 0 || base == prefix):
			digits, real = digits[2:], prefix
		case base == 0 && strings.Trim(digits, "0") != "":
			panic(bad())
		}
	}
	if real == 0 {
		real = 10
	}
	if digits == "" || digits[0] == '+' || digits[0] == '-' || strings.Contains(digits, "_") {
		panic(bad())
	}
	if i, err := strconv.ParseInt(digits, real, 64); err == nil {
		if neg {
			i = -i
		}
		return intVal(i, l)
	}
	bits := int64(len(digits)) * int64(math.Ceil(math.Log2(float64(real))*1024)) / 1024
	t.reserveInt(bits, l, t.at)
	t.charge(bigTextCost(int(bits)))
	i, ok := t.parseDigits(digits, real)
	if !ok {
		panic(bad())
	}
	if neg {
		i.Neg(i)
	}
	return bigVal(i, l)
}
