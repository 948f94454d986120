package eval

import (
	"math"
	"math/big"
	"unsafe"

	"callgate/engine/label"
)

// kind is the type of a val. The zero kind is an unbound slot.
type kind uint8

const (
	kUnbound kind = iota
	kNone
	kBool
	kInt   // n holds it
	kBig   // *big.Int, always outside int64
	kFloat // n holds its bits
	kString
	kBytes
	kTuple
	kRange
	kList
	kDict
	kSet
	kStruct
	kFunc
	kBuiltin
	kModule
	kSeq  // a lazy sequence over the characters or bytes of a string
	kCell // a local shared with an inner function; only ever in a frame
	kDeque
	kObject // of a class of a module

	kinds = kObject + 1
)

var kindNames = [...]string{
	"unbound", "NoneType", "bool", "int", "int", "float", "string", "bytes", "tuple", "range",
	"list", "dict", "set", "struct", "function", "builtin_function_or_method", "module", "sequence", "cell", "deque", "object",
}

// val is a value with the label of the reference to it. Small values are
// inline: an int in n, the bytes of a string at p with their number in n. All
// other kinds keep a pointer to their object in p.
//
// This file alone converts p: a val is made by the constructors below and read by
// the accessors that match its kind.
type val struct {
	p   unsafe.Pointer
	n   int64
	k   kind
	lab label.ID
}

// tuple is immutable. Its length and order are known to whoever may read the
// reference, so it needs no structure label.
type tuple struct {
	items []val
	hash  uint64 // 0 until it is known
	mark  uint64 // of the last walk that met it, see [todo]
	next  *tuple
}

// list is mutable. st is the label of its length and order.
type list struct {
	items []val
	st    label.ID
	iters int32 // loops that iterate over it: it cannot change
	mark  uint64
	next  *list
}

// rangeSeq is an immutable arithmetic sequence.
type rangeSeq struct{ start, stop, step, n int64 }

// record is an immutable struct with sorted field names.
type record struct {
	names []string
	items []val
	mark  uint64
	next  *record
}

// cell is a variable shared between functions, or a global.
type cell struct {
	v    val
	name string
	mark uint64
}

// function is a function value: code and what it captured.
type function struct {
	code     *funcode
	mod      *instance
	defaults []val // of the optional parameters, in order; kUnbound for a required keyword-only one
	free     []*cell
	mark     uint64
	next     *function
}

// seq is a lazy sequence over a string or bytes.
type seq struct {
	s    string
	mode seqMode
}

type seqMode uint8

const (
	seqElems         seqMode = iota // bytes of a string, as strings
	seqElemOrds                     // bytes of a string, as ints
	seqCodepoints                   // code points of a string, as strings
	seqCodepointOrds                // code points of a string, as ints
	seqBytes                        // bytes of a bytes value, as ints
)

// unboundVal is a slot that nothing was bound to yet.
var unboundVal = val{lab: label.BottomID}

func noneVal(l label.ID) val { return val{k: kNone, lab: l} }

func boolVal(b bool, l label.ID) val {
	v := val{k: kBool, lab: l}
	if b {
		v.n = 1
	}
	return v
}

func intVal(i int64, l label.ID) val { return val{n: i, k: kInt, lab: l} }

// bigVal takes ownership of i.
func bigVal(i *big.Int, l label.ID) val {
	if i.IsInt64() {
		return intVal(i.Int64(), l)
	}
	return val{p: unsafe.Pointer(i), k: kBig, lab: l}
}

func floatVal(f float64, l label.ID) val {
	return val{n: int64(math.Float64bits(f)), k: kFloat, lab: l}
}

func stringVal(s string, l label.ID) val {
	return val{p: unsafe.Pointer(unsafe.StringData(s)), n: int64(len(s)), k: kString, lab: l}
}

// textVal is the string that buf holds, which is not changed any more; what is appended to buf later is behind it.
func textVal(buf []byte, l label.ID) val {
	return val{p: unsafe.Pointer(unsafe.SliceData(buf)), n: int64(len(buf)), k: kString, lab: l}
}

// bare is a string or bytes as a place in memory.
func (v val) bare() val { return val{p: v.p, n: v.n} }

// is reports whether a string, or bytes, is what buf holds.
func (v val) is(buf []byte) bool {
	return len(buf) > 0 && v.p == unsafe.Pointer(unsafe.SliceData(buf)) && v.n == int64(len(buf))
}

func bytesVal(s string, l label.ID) val {
	return val{p: unsafe.Pointer(unsafe.StringData(s)), n: int64(len(s)), k: kBytes, lab: l}
}

func tupleVal(items []val, l label.ID) val {
	return val{p: unsafe.Pointer(&tuple{items: items}), k: kTuple, lab: l}
}

// pairVal returns a tuple of two, which takes pairSize bytes in one block.
func pairVal(a, b val, l label.ID) val {
	p := &struct {
		tuple
		v [2]val
	}{v: [2]val{a, b}}
	p.items = p.v[:]
	return val{p: unsafe.Pointer(&p.tuple), k: kTuple, lab: l}
}

func rangeVal(r *rangeSeq, l label.ID) val  { return val{p: unsafe.Pointer(r), k: kRange, lab: l} }
func listVal(o *list, l label.ID) val       { return val{p: unsafe.Pointer(o), k: kList, lab: l} }
func dictVal(o *dict, l label.ID) val       { return val{p: unsafe.Pointer(o), k: kDict, lab: l} }
func setVal(o *dict, l label.ID) val        { return val{p: unsafe.Pointer(o), k: kSet, lab: l} }
func recordVal(o *record, l label.ID) val   { return val{p: unsafe.Pointer(o), k: kStruct, lab: l} }
func funcVal(o *function, l label.ID) val   { return val{p: unsafe.Pointer(o), k: kFunc, lab: l} }
func builtinVal(o *builtin, l label.ID) val { return val{p: unsafe.Pointer(o), k: kBuiltin, lab: l} }
func moduleVal(o *module, l label.ID) val   { return val{p: unsafe.Pointer(o), k: kModule, lab: l} }
func seqVal(o *seq, l label.ID) val         { return val{p: unsafe.Pointer(o), k: kSeq, lab: l} }
func dequeVal(o *deque, l label.ID) val     { return val{p: unsafe.Pointer(o), k: kDeque, lab: l} }
func objectVal(o *object, l label.ID) val   { return val{p: unsafe.Pointer(o), k: kObject, lab: l} }
func cellVal(o *cell) val                   { return val{p: unsafe.Pointer(o), k: kCell, lab: label.BottomID} }

func (v val) float() float64    { return math.Float64frombits(uint64(v.n)) }
func (v val) str() string       { return unsafe.String((*byte)(v.p), int(v.n)) } // of a string or bytes
func (v val) bigInt() *big.Int  { return (*big.Int)(v.p) }
func (v val) tuple() *tuple     { return (*tuple)(v.p) } // of a tuple or an object
func (v val) rng() *rangeSeq    { return (*rangeSeq)(v.p) }
func (v val) list() *list       { return (*list)(v.p) } // of a list or a deque
func (v val) dict() *dict       { return (*dict)(v.p) } // of a dict or a set
func (v val) record() *record   { return (*record)(v.p) }
func (v val) deque() *deque     { return (*deque)(v.p) }
func (v val) object() *object   { return (*object)(v.p) }
func (v val) fn() *function     { return (*function)(v.p) }
func (v val) builtin() *builtin { return (*builtin)(v.p) }
func (v val) module() *module   { return (*module)(v.p) }
func (v val) seq() *seq         { return (*seq)(v.p) }
func (v val) cell() *cell       { return (*cell)(v.p) }

// with returns v under another label.
func (v val) with(l label.ID) val {
	v.lab = l
	return v
}

// isInt reports whether v is an int of any size.
func (v val) isInt() bool { return v.k == kInt || v.k == kBig }

// isNum reports whether v is an int or a float.
func (v val) isNum() bool { return v.k >= kInt && v.k <= kFloat }

// big returns an int of any size; the caller must not change it.
func (v val) big() *big.Int {
	if v.k == kBig {
		return v.bigInt()
	}
	return big.NewInt(v.n)
}

// toFloat converts a number; ok is false if an int is too large for a float.
func (v val) toFloat() (f float64, ok bool) {
	switch v.k {
	case kFloat:
		return v.float(), true
	case kInt:
		return float64(v.n), true
	}
	if v.bits() > 1024 {
		return math.Inf(v.bigInt().Sign()), false
	}
	f, _ = new(big.Float).SetInt(v.bigInt()).Float64()
	return f, !math.IsInf(f, 0)
}

// size is the length in bytes of a string, bytes or int.
func (v val) size() int64 {
	if v.k == kBig {
		return int64(v.bits()) / 8
	}
	return v.n
}

// typeName is what type(v) returns.
func (v val) typeName() string {
	switch v.k {
	case kSeq:
		return [...]string{"string.elems", "string.elems", "string.codepoints", "string.codepoints", "bytes.elems"}[v.seq().mode]
	case kDict:
		if c := v.dict().of; c != nil {
			return c.class.name
		}
	case kObject:
		return v.object().class.typeName(v)
	}
	if v.isError() {
		return v.errorClass()
	}
	return kindNames[v.k]
}

// same reports whether a and b are the same object, or the same small value.
func (v val) same(w val) bool { return v.k == w.k && v.p == w.p && v.n == w.n }

// oneByte holds the strings of one byte, so that indexing allocates nothing.
var oneByte = func() (t [256]string) {
	for i := range t {
		t[i] = string([]byte{byte(i)})
	}
	return t
}()
