package eval

import (
	"math"
	"math/big"
	"strings"

	star "go.starlark.net/syntax"

	"callgate/engine/label"
)

// maxIntBits is how large an int may be: 64 KiB.
const maxIntBits = 64 << 13

func (t *thread) unary(op star.Token, v val, p pos) val {
	if ofClass(v) == deltaClass && (op == star.MINUS || op == star.PLUS) {
		n := v.object().n
		if op == star.MINUS {
			n = -n
		}
		return t.newObject(deltaClass, n, v.lab)
	}
	switch {
	case op == star.MINUS && v.isInt():
		t.at = p
		t.reserveInt(int64(v.bits())+1, v.lab, p)
		return t.bigResult(new(big.Int).Neg(v.big()), v.lab)
	case op == star.PLUS && v.isNum():
		return v
	case op == star.MINUS && v.k == kFloat:
		return floatVal(-v.float(), v.lab)
	case op == star.TILDE && v.k == kInt:
		return intVal(^v.n, v.lab)
	case op == star.TILDE && v.k == kBig:
		t.at = p
		t.reserveInt(int64(v.bits())+1, v.lab, p)
		return t.bigResult(new(big.Int).Not(v.bigInt()), v.lab)
	}
	panic(t.fail(p, v.lab, "type", "unknown unary op: %s %s", op, v.typeName()))
}

// bigResult takes ownership of i.
func (t *thread) bigResult(i *big.Int, l label.ID) val {
	if i.IsInt64() {
		return intVal(i.Int64(), l)
	}
	return bigVal(i, l)
}

// reserveInt charges for an int of so many bits before it is computed, several times over: the
// algorithms need room to work in.
func (t *thread) reserveInt(bits int64, l label.ID, p pos) {
	if bits > maxIntBits {
		panic(t.fail(p, l, "too-large", "integer of %d bits; the largest has %d", bits, maxIntBits))
	}
	size := bigSize(bits)
	t.charge(bits / 64)
	if bits > 4096 {
		t.alloc(3 * size)
		t.free(3 * size)
	}
	t.alloc(size)
}

// binary evaluates an arithmetic operation; the fast paths for small ints are with the callers.
func (t *thread) binary(op star.Token, a, b val, p pos) val {
	t.at = p
	segment := t.mem.begin()
	v := t.operate(op, a, b, p)
	t.mem.resume(segment)
	return v
}

func (t *thread) operate(op star.Token, a, b val, p pos) val {
	l := t.join(a.lab, b.lab)
	if a.k == kObject || b.k == kObject {
		if v, ok := t.particular(op, a, b, l); ok {
			return v
		}
	}
	switch op {
	case star.PLUS:
		switch {
		case a.k == kString && b.k == kString:
			return t.concat(a, b, l)
		case a.isInt() && b.isInt():
			t.reserveInt(int64(max(a.bits(), b.bits())+1), l, p)
			return t.bigResult(new(big.Int).Add(a.big(), b.big()), l)
		case a.isNum() && b.isNum():
			x, y := t.floats(a, b, l, p)
			return floatVal(x+y, l)
		case a.k == kBytes && b.k == kBytes:
			v := t.concat(a, b, l)
			v.k = kBytes
			return v
		case a.k == kList && b.k == kList:
			x, y := a.list().items, b.list().items
			l = t.join(l, t.join(a.list().st, b.list().st))
			return listVal(&list{items: t.concatItems(x, y), st: l}, l)
		case a.k == kTuple && b.k == kTuple:
			return tupleVal(t.concatItems(a.tuple().items, b.tuple().items), l)
		case a.k == kStruct && b.k == kStruct:
			return recordVal(t.mergeRecords(a.record(), b.record()), l)
		}
	case star.MINUS:
		switch {
		case a.isInt() && b.isInt():
			t.reserveInt(int64(max(a.bits(), b.bits())+1), l, p)
			return t.bigResult(new(big.Int).Sub(a.big(), b.big()), l)
		case a.isNum() && b.isNum():
			x, y := t.floats(a, b, l, p)
			return floatVal(x-y, l)
		case a.k == kSet && b.k == kSet:
			return t.setOp(op, a, b)
		}
	case star.STAR:
		switch {
		case a.isInt() && b.isInt():
			bits := int64(a.bits() + b.bits())
			t.reserveInt(bits, l, p)
			t.charge(int64(a.bits()) / 64 * int64(b.bits()) / 64 / 8)
			return t.bigResult(new(big.Int).Mul(a.big(), b.big()), l)
		case a.isNum() && b.isNum():
			x, y := t.floats(a, b, l, p)
			return floatVal(x*y, l)
		case a.isInt() && !b.isInt():
			return t.repeat(b, a, l, p)
		case b.isInt():
			return t.repeat(a, b, l, p)
		}
	case star.SLASH:
		if a.isNum() && b.isNum() {
			x, y := t.floats(a, b, l, p)
			if y == 0 {
				panic(t.fail(p, l, "division-by-zero", "floating-point division by zero"))
			}
			return floatVal(x/y, l)
		}
	case star.SLASHSLASH, star.PERCENT:
		switch {
		case op == star.PERCENT && a.k == kString:
			return t.percent(a, b, p)
		case a.isInt() && b.isInt():
			if b.k == kInt && b.n == 0 {
				if op == star.PERCENT {
					panic(t.fail(p, l, "division-by-zero", "integer modulo by zero"))
				}
				panic(t.fail(p, l, "division-by-zero", "floored division by zero"))
			}
			t.reserveInt(int64(max(a.bits(), b.bits())+1), l, p)
			t.charge(int64(a.bits()) / 64 * int64(b.bits()) / 64 / 8)
			q, r := new(big.Int), new(big.Int)
			q.QuoRem(a.big(), b.big(), r)
			if r.Sign() != 0 && r.Sign() != b.big().Sign() {
				q.Sub(q, big.NewInt(1))
				r.Add(r, b.big())
			}
			if op == star.PERCENT {
				return t.bigResult(r, l)
			}
			return t.bigResult(q, l)
		case a.isNum() && b.isNum():
			x, y := t.floats(a, b, l, p)
			if y == 0 {
				if op == star.PERCENT {
					panic(t.fail(p, l, "division-by-zero", "floating-point modulo by zero"))
				}
				panic(t.fail(p, l, "division-by-zero", "floored division by zero"))
			}
			if op == star.SLASHSLASH {
				return floatVal(math.Floor(x/y), l)
			}
			return floatVal(floatMod(x, y), l)
		}
	case star.PIPE, star.AMP, star.CIRCUMFLEX:
		switch {
		case a.k == kInt && b.k == kInt:
			switch op {
			case star.PIPE:
				return intVal(a.n|b.n, l)
			case star.AMP:
				return intVal(a.n&b.n, l)
			}
			return intVal(a.n^b.n, l)
		case a.isInt() && b.isInt():
			t.reserveInt(int64(max(a.bits(), b.bits())+1), l, p)
			z := new(big.Int)
			switch op {
			case star.PIPE:
				z.Or(a.big(), b.big())
			case star.AMP:
				z.And(a.big(), b.big())
			default:
				z.Xor(a.big(), b.big())
			}
			return t.bigResult(z, l)
		case a.k == kSet && b.k == kSet:
			return t.setOp(op, a, b)
		case op == star.PIPE && a.k == kDict && b.k == kDict && a.dict().of != ofCounter:
			out := t.copyDict(a)
			t.update(out, b)
			return out.with(t.join(out.lab, l))
		}
	case star.LTLT, star.GTGT:
		if a.isInt() && b.isInt() {
			return t.shift(op, a, b, l, p)
		}
	case star.STARSTAR:
		if a.isNum() && b.isNum() {
			return t.power(a, b, l, p)
		}
	}
	if v, ok := t.particular(op, a, b, l); ok {
		return v
	}
	panic(t.fail(p, l, "type", "unknown binary op: %s %s %s", a.typeName(), op, b.typeName()).advise(binaryHint(op, a, b)))
}

// binaryHint says what to do about the mistakes that are made most.
func binaryHint(op star.Token, a, b val) string {
	if op == star.PLUS && (a.k == kString) != (b.k == kString) && (a.isNum() || b.isNum()) {
		return "a string and a number do not add: use str(x), or \"…\".format(x)"
	}
	return ""
}

// bits returns the length of an int; a small one, or a float, counts as a word.
func (v val) bits() int {
	if v.k != kBig {
		return 64
	}
	return v.bigInt().BitLen()
}

func (t *thread) floats(a, b val, l label.ID, p pos) (x, y float64) {
	x, ok1 := a.toFloat()
	y, ok2 := b.toFloat()
	if !ok1 || !ok2 {
		panic(t.fail(p, l, "too-large", "int too large to convert to float"))
	}
	return x, y
}

// floatMod rounds towards minus infinity, as // does.
func floatMod(x, y float64) float64 {
	z := math.Mod(x, y)
	if z != 0 && (x < 0) != (y < 0) {
		z += y
	}
	return z
}

func (t *thread) shift(op star.Token, a, b val, l label.ID, p pos) val {
	if b.k == kBig {
		panic(t.fail(p, l, "range", "shift count too large"))
	}
	if b.n < 0 {
		panic(t.fail(p, l, "range", "negative shift count: %d", b.n))
	}
	if op == star.GTGT {
		if a.k == kInt {
			return intVal(a.n>>min(uint64(b.n), 63), l)
		}
		t.reserveInt(int64(a.bits()), l, p)
		return t.bigResult(new(big.Int).Rsh(a.bigInt(), uint(min(b.n, maxIntBits))), l)
	}
	if b.n >= 512 && a.k == kInt && a.n == 0 {
		return intVal(0, l)
	}
	if b.n >= maxIntBits {
		panic(t.fail(p, l, "range", "shift count too large: %d", b.n))
	}
	if a.k == kInt && b.n < 62 {
		if s := a.n << uint(b.n); s>>uint(b.n) == a.n {
			return intVal(s, l)
		}
	}
	t.reserveInt(int64(a.bits())+b.n, l, p)
	return t.bigResult(new(big.Int).Lsh(a.big(), uint(b.n)), l)
}

func (t *thread) concatItems(x, y []val) []val {
	n := len(x) + len(y)
	t.alloc(listSize + blockSize(int64(n)*valSize))
	t.charge(int64(n) / 4)
	out := make([]val, n)
	t.move(out, x)
	t.move(out[len(x):], y)
	return out
}

// mergeRecords returns a struct with the fields of both; those of y count where both have one.
func (t *thread) mergeRecords(x, y *record) *record {
	n := len(x.names) + len(y.names)
	t.charge(int64(n))
	t.alloc(64 + int64(n)*(valSize+16))
	out := &record{names: make([]string, 0, n), items: make([]val, 0, n)}
	for i, j := 0, 0; i < len(x.names) || j < len(y.names); {
		from, at := x, &i
		if i == len(x.names) || j < len(y.names) && y.names[j] <= x.names[i] {
			if i < len(x.names) && y.names[j] == x.names[i] {
				i++
			}
			from, at = y, &j
		}
		out.names, out.items = append(out.names, from.names[*at]), append(out.items, from.items[*at])
		*at++
	}
	return out
}

// maxRepeat bounds the product of a repetition before it is charged: no overflow.
const maxRepeat = 1 << 40

// repeat evaluates s * n.
func (t *thread) repeat(v, times val, l label.ID, p pos) val {
	size := t.length(v)
	switch v.k {
	case kString, kBytes, kList, kTuple:
	default:
		panic(t.fail(p, l, "type", "unknown binary op: %s * int", v.typeName()))
	}
	l = t.join(l, t.structure(v))
	n := times.n
	if times.k == kBig {
		n = maxRepeat
		if times.bigInt().Sign() < 0 {
			n = 0
		}
	}
	n = max(n, 0)
	if size > 0 && n > maxRepeat/size {
		panic(t.tooMuch(n, size))
	}
	total := size * n
	switch v.k {
	case kString, kBytes:
		t.alloc(stringSize(total))
		t.charge(total / copiedByStep)
		var out strings.Builder
		out.Grow(int(total))
		if total > 0 {
			block := strings.Repeat(v.str(), int(min(n, max(1, pieceBytes/size))))
			for total > int64(len(block)) {
				t.pour(&out, block)
				total -= int64(len(block))
				t.poll()
			}
			t.pour(&out, block[:total])
		}
		r := stringVal(out.String(), l)
		r.k = v.k
		return r
	}
	t.allocN(total, valSize)
	t.alloc(listSize)
	t.charge(total / 4)
	in := t.items(v)
	items := make([]val, total)
	if total > 0 {
		// Doubling what there is: each move is of a size that the caches like.
		t.move(items, in)
		for done := int(size); done < len(items); {
			m := min(done, movePiece/int(min(size, movePiece))*int(size), len(items)-done)
			t.move(items[done:], items[:m])
			done += m
		}
	}
	if v.k == kTuple {
		return tupleVal(items, l)
	}
	return listVal(&list{items: items, st: l}, l)
}

// maxLiteral is the longest float that is read from text: reading takes time in proportion.
const maxLiteral = 64 << 10

// trimmed returns s without the white space around it.
func (t *thread) trimmed(s string) string {
	s = s[t.spaceRun(s, true):]
	return s[:t.spaceRunLeft(s, true)]
}

// parseDigits reads an int that was reserved, half by half: math/big takes time quadratic in the length.
func (t *thread) parseDigits(digits string, base int) (*big.Int, bool) {
	t.poll()
	if len(digits) <= 2048 {
		for i := range len(digits) {
			if b := digits[i]; b-'0' > 9 && b|0x20-'a' > 25 { // no sign, no underscore
				return nil, false
			}
		}
		return new(big.Int).SetString(digits, base)
	}
	half := len(digits) / 2
	head, ok := t.parseDigits(digits[:half], base)
	if !ok {
		return nil, false
	}
	tail, ok := t.parseDigits(digits[half:], base)
	if !ok {
		return nil, false
	}
	n := big.NewInt(int64(len(digits) - half))
	head.Mul(head, n.Exp(big.NewInt(int64(base)), n, nil))
	return head.Add(head, tail), true
}
