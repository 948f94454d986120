package worker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"callgate/engine/label"
	"callgate/engine/value"
)

// The body of a frame is, in this order, the labels that occur in it (their stored form, each once) and its fields:
// numbers as varints, texts with their length before them, lists with their count, labels by their number, and
// values in their canonical encoding with the number of a label for every node.

// maxCount bounds the elements of a list in a frame, whatever its size.
const maxCount = 1 << 24

// encoder writes the body of a frame.
type encoder struct {
	b      []byte
	labels []label.Label
	index  map[label.Label]uint64
	stored []byte // the labels' stored forms
}

func (e *encoder) reset() {
	e.b, e.stored, e.labels = e.b[:0], e.stored[:0], e.labels[:0]
	clear(e.index)
}

func (e *encoder) uint(n uint64) { e.b = binary.AppendUvarint(e.b, n) }

func (e *encoder) int(n int64) { e.b = binary.AppendVarint(e.b, n) }

func (e *encoder) bool(x bool) {
	n := byte(0)
	if x {
		n = 1
	}
	e.b = append(e.b, n)
}

func (e *encoder) text(s string) {
	e.uint(uint64(len(s)))
	e.b = append(e.b, s...)
}

func (e *encoder) texts(list []string) {
	e.uint(uint64(len(list)))
	for _, s := range list {
		e.text(s)
	}
}

// number returns the number of a label in the frame.
func (e *encoder) number(l label.Label) uint64 {
	for i := len(e.labels) - 1; i >= 0 && i >= len(e.labels)-4; i-- {
		if e.labels[i] == l {
			return uint64(i)
		}
	}
	if n, ok := e.index[l]; ok {
		return n
	}
	n := uint64(len(e.labels))
	if e.index == nil {
		e.index = map[label.Label]uint64{}
	}
	e.index[l] = n
	e.labels = append(e.labels, l)
	at := len(e.stored)
	e.stored = l.AppendJSON(e.stored)
	size := len(e.stored) - at
	e.stored = binary.AppendUvarint(e.stored, uint64(size))
	// The length goes before: rotate it there.
	tail := len(e.stored) - at - size
	var room [binary.MaxVarintLen64]byte
	copy(room[:], e.stored[at+size:])
	copy(e.stored[at+tail:], e.stored[at:at+size])
	copy(e.stored[at:], room[:tail])
	return n
}

func (e *encoder) label(l label.Label) { e.uint(e.number(l)) }

// value writes a value. What has no encoding is written so that it cannot be read.
func (e *encoder) value(v *value.Value) {
	if v.Kind == value.Invalid {
		e.uint(0)
		e.label(v.Label)
		return
	}
	if v.Kind == value.String { // the most common by far, and as short as can be
		e.uint(1)
		e.text(v.Str)
		e.label(v.Label)
		return
	}
	e.uint(2)
	e.b = append(e.b, 0, 0, 0, 0)
	at := len(e.b)
	e.b = v.AppendPlain(e.b)
	size := len(e.b) - at
	if size > math.MaxUint32 {
		size = math.MaxUint32 // no frame is that long: it will be refused as a whole
	}
	binary.BigEndian.PutUint32(e.b[at-4:], uint32(size))
	if n, ok := e.uniform(v); ok {
		e.bool(true)
		e.uint(n)
		return
	}
	e.bool(false)
	e.nodes(v)
}

// uniform returns the number of the one label that a tree has.
func (e *encoder) uniform(v *value.Value) (uint64, bool) {
	if !alike(v, v.Label) {
		return 0, false
	}
	return e.number(v.Label), true
}

func alike(v *value.Value, l label.Label) bool {
	if v.Label != l {
		return false
	}
	if v.Scalar() {
		return true
	}
	if v.Structure != l {
		return false
	}
	for i := range v.Items {
		if v.Keys != nil && !alike(&v.Keys[i], l) || !alike(&v.Items[i], l) {
			return false
		}
	}
	return true
}

// nodes writes the number of every label of a tree, in the order of the encoding.
func (e *encoder) nodes(v *value.Value) {
	e.label(v.Label)
	if v.Scalar() {
		return
	}
	e.label(v.Structure)
	for i := range v.Items {
		if v.Keys != nil {
			e.nodes(&v.Keys[i])
		}
		e.nodes(&v.Items[i])
	}
}

// body returns the body of a frame after a header of n bytes.
func (e *encoder) body(n int) []byte {
	out := make([]byte, n, n+binary.MaxVarintLen64+len(e.stored)+len(e.b))
	out = binary.AppendUvarint(out, uint64(len(e.labels)))
	out = append(out, e.stored...)
	return append(out, e.b...)
}

// labelCache holds the labels that were read lately by their stored form, so that one which comes again and again is
// read once, and is the same in memory.
type labelCache struct {
	of   map[string]label.Label
	size int
}

const (
	cacheLabels = 4096
	cacheBytes  = 1 << 20
)

func (c *labelCache) read(b []byte) (label.Label, error) {
	if l, ok := c.of[string(b)]; ok {
		return l, nil
	}
	var l label.Label
	if err := l.UnmarshalJSON(b); err != nil {
		return label.Label{}, errors.New("a label that is malformed")
	}
	if c.of == nil || len(c.of) >= cacheLabels || c.size+len(b) > cacheBytes {
		c.of, c.size = map[string]label.Label{}, 0
	}
	if len(b) <= cacheBytes {
		c.of[string(b)] = l
		c.size += len(b)
	}
	return l, nil
}

// nodeBytes is more than what a node of a value, or a label, takes in memory.
const nodeBytes = 192

// decoder reads the body of a frame. After an error, which stays, every method returns zero.
type decoder struct {
	b      []byte
	err    error
	labels []label.Label
	room   int64 // bytes of memory that may still be taken: a frame is smaller than what it stands for
}

// newDecoder reads the labels of a body. The rest may take up to room bytes of memory.
func newDecoder(b []byte, room int64, cache *labelCache) *decoder {
	d := &decoder{b: b, room: room}
	n := d.count()
	for i := 0; i < n && d.err == nil; i++ {
		raw := d.bytes()
		if d.takes(int64(len(raw)) + nodeBytes); d.err != nil {
			break
		}
		l, err := cache.read(raw)
		if err != nil {
			d.fail(err.Error())
		}
		d.labels = append(d.labels, l)
	}
	return d
}

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err = errors.New(what)
	}
	d.b = nil
}

// takes counts n bytes of memory.
func (d *decoder) takes(n int64) {
	if d.room -= n; d.room < 0 {
		d.fail("more than there is room for")
	}
}

func (d *decoder) uint() uint64 {
	n, size := binary.Uvarint(d.b)
	if size <= 0 {
		d.fail("a number that is cut off")
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *decoder) int() int64 {
	n, size := binary.Varint(d.b)
	if size <= 0 {
		d.fail("a number that is cut off")
		return 0
	}
	d.b = d.b[size:]
	return n
}

// small reads a number that is at least 0 and fits an int of any machine.
func (d *decoder) small() int {
	n := d.uint()
	if n > math.MaxInt32 {
		d.fail("a number that is too large")
		return 0
	}
	return int(n)
}

func (d *decoder) bool() bool {
	if len(d.b) == 0 || d.b[0] > 1 {
		d.fail("something other than yes or no")
		return false
	}
	x := d.b[0] == 1
	d.b = d.b[1:]
	return x
}

// count reads the count of a list, each of whose elements is a byte at least.
func (d *decoder) count() int {
	n := d.uint()
	if n > maxCount || n > uint64(len(d.b)) {
		d.fail("a list that is cut off")
		return 0
	}
	return int(n)
}

// bytes reads a text without copying it.
func (d *decoder) bytes() []byte {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.fail("a text that is cut off")
		return nil
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) text() string {
	b := d.bytes()
	if d.takes(int64(len(b))); d.err != nil {
		return ""
	}
	return string(b)
}

func (d *decoder) texts() []string {
	var out []string
	for range d.count() {
		d.takes(16)
		out = append(out, d.text())
		if d.err != nil {
			return nil
		}
	}
	return out
}

func (d *decoder) label() label.Label {
	n := d.uint()
	if n >= uint64(len(d.labels)) {
		d.fail("a label that is not in the frame")
		return label.Label{}
	}
	return d.labels[n]
}

func (d *decoder) value() value.Value {
	switch d.uint() {
	case 0:
		return value.Value{Label: d.label()}
	case 1:
		s := d.text() // a program may cut a text anywhere: it need not be UTF-8
		return value.StringOf(s, d.label())
	case 2:
	default:
		d.fail("a value of no form")
		return value.Value{}
	}
	if len(d.b) < 4 || uint64(binary.BigEndian.Uint32(d.b)) > uint64(len(d.b)-4) {
		d.fail("a value that is cut off")
		return value.Value{}
	}
	n := binary.BigEndian.Uint32(d.b)
	plain := d.b[4 : 4+n]
	d.b = d.b[4+n:]
	if d.takes(int64(len(plain)) + nodeBytes*nodesOf(plain)); d.err != nil {
		return value.Value{}
	}
	uniform := d.bool()
	l := label.Top()
	if uniform {
		l = d.label()
	}
	if d.err != nil {
		return value.Value{}
	}
	v, err := value.DecodePlain(plain, l)
	if err != nil {
		d.fail("a value that is malformed")
		return value.Value{}
	}
	if !uniform {
		d.relabel(&v)
	}
	if d.err != nil {
		return value.Value{}
	}
	return v
}

func (d *decoder) relabel(v *value.Value) {
	v.Label = d.label()
	if v.Scalar() || d.err != nil {
		return
	}
	v.Structure = d.label()
	for i := range v.Items {
		if v.Keys != nil {
			d.relabel(&v.Keys[i])
		}
		d.relabel(&v.Items[i])
	}
}

// nodesOf counts what begins a node in an encoding, or more.
func nodesOf(plain []byte) int64 {
	n, quoted := int64(1), false
	for i := 0; i < len(plain); i++ {
		switch c := plain[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == ',' || c == '[' || c == '{' || c == ':'):
			n++
		}
	}
	return n
}

// end returns what was wrong with the frame, if anything: what it has too much is.
func (d *decoder) end() error {
	if d.err == nil && len(d.b) > 0 {
		d.err = fmt.Errorf("%d bytes too many", len(d.b))
	}
	return d.err
}
