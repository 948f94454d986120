package eval

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"callgate/engine/label"
)

// Restore makes a session again from what [Session.Snapshot] returned. Its programs are compiled as they
// were; what their builtins were permitted is asked for again.
//
// Host, tools and limits are c's. Every tool that the session had must be among them, with at least the parameters that it had,
// in their order. Every input that it had must be named in c.Inputs too, but its value is the session's own unless it is given anew; inputs
// that it did not have are added.
//
// Whatever b is, the result is a sound session, which takes no more than twice the memory budget of c, or an error: of what
// b holds, a [*SnapshotError]. b must come from where the session could have been kept itself: the labels in it are believed.
func Restore(c Config, b []byte) (s *Session, err error) {
	defer func() {
		if r := recover(); r != nil {
			s, err = nil, snapshotFault(r)
		}
	}()
	if err := checkSnapshot(b); err != nil {
		return nil, err
	}
	s, err = NewSession(Config{Host: c.Host, Tools: c.Tools, Limits: c.Limits, Poll: c.Poll})
	if err != nil {
		return nil, err
	}
	r := newSnapshotReader(s, b)
	live := r.session(c)
	for _, in := range c.Inputs {
		if slices.Contains(r.inputs, in.Name) {
			continue
		}
		if err := s.addInput(in); err != nil {
			return nil, err
		}
	}
	s.live = live
	if c.Next {
		s.calls, s.output = 0, 0
	}
	return s, nil
}

// checkSnapshot looks at what is around the contents.
func checkSnapshot(b []byte) error {
	if !bytes.HasPrefix(b, []byte(snapshotMagic)) {
		return &SnapshotError{"corrupt", "this is no snapshot of a session"}
	}
	if len(b) < len(snapshotMagic)+1+sha256.Size {
		return &SnapshotError{"corrupt", fmt.Sprintf("it ends after %d bytes", len(b))}
	}
	if v := b[len(snapshotMagic)]; v != snapshotVersion {
		return &SnapshotError{"version", fmt.Sprintf("it has version %d of the format, want %d", v, snapshotVersion)}
	}
	end := len(b) - sha256.Size
	if sum := sha256.Sum256(b[:end]); !bytes.Equal(sum[:], b[end:]) {
		return &SnapshotError{"corrupt", "its digest does not fit: bytes are missing or were changed"}
	}
	return nil
}

// snapshotReader makes a session from a snapshot. Objects and leaves are vals from the start, made by the constructors, so
// that a reference cannot claim a kind that its object has not.
type snapshotReader struct {
	s    *Session
	t    *thread // for hashing
	b    []byte  // what is left
	size int
	room int64 // bytes that may still be used

	last      label.ID // of the value read last
	leaves    []val
	programs  []*Program
	instances []*instance
	objects   []val
	hashed    []bool // of tuples: whether the hash was known
	indices   []int  // of dicts: the length of the index
	inputs    []string
}

func newSnapshotReader(s *Session, b []byte) *snapshotReader {
	r := &snapshotReader{s: s, b: b[:len(b)-sha256.Size], size: len(b), room: restoreRoom(s.limits)}
	r.t = s.thread(context.Background(), label.BottomID)
	r.t.maxSteps, r.t.deadline = r.room, r.t.started.Add(time.Hour) // its work is in proportion to what it makes
	return r
}

func (r *snapshotReader) fail(format string, args ...any) {
	panic(&SnapshotError{"corrupt", fmt.Sprintf("at byte %d: ", r.size-sha256.Size-len(r.b)) + fmt.Sprintf(format, args...)})
}

// uses counts n bytes before they are allocated.
func (r *snapshotReader) uses(n int64) {
	if n < 0 || n > r.room {
		panic(&SnapshotError{"size", fmt.Sprintf("the session would take more than %d bytes, twice its memory budget", restoreRoom(r.s.limits))})
	}
	r.room -= n
}

// usesN counts n things of size bytes each.
func (r *snapshotReader) usesN(n int, size int64) {
	if int64(n) > r.room/size {
		r.uses(math.MaxInt64)
	}
	r.uses(blockSize(int64(n) * size))
}

func (r *snapshotReader) byte() byte {
	if len(r.b) == 0 {
		r.fail("the data ends too early")
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *snapshotReader) number() uint64 {
	n, w := binary.Uvarint(r.b)
	r.varint(w)
	return n
}

func (r *snapshotReader) signed() int64 {
	n, w := binary.Varint(r.b)
	r.varint(w)
	return n
}

func (r *snapshotReader) varint(w int) {
	if w <= 0 || w > 1 && r.b[w-1] == 0 {
		r.fail("got no number")
	}
	r.b = r.b[w:]
}

// upTo reads a number of at most n.
func (r *snapshotReader) upTo(n int) int {
	i := r.number()
	if i > uint64(n) {
		r.fail("got %d, want at most %d", i, n)
	}
	return int(i)
}

// bytes reads a number of bytes.
func (r *snapshotReader) bytes() int64 {
	n := r.number()
	if n > math.MaxInt64 {
		r.fail("got %d bytes", n)
	}
	return int64(n)
}

// count reads how many things follow, of at least a byte each.
func (r *snapshotReader) count() int {
	n := r.number()
	if n > uint64(len(r.b)) {
		r.fail("got %d as a length, with %d bytes left", n, len(r.b))
	}
	return int(n)
}

// index reads a number below n.
func (r *snapshotReader) index(n int, what string) int {
	i := r.number()
	if i >= uint64(n) {
		r.fail("got %s %d of %d", what, i, n)
	}
	return int(i)
}

func (r *snapshotReader) text() string {
	n := r.count()
	r.uses(stringSize(int64(n)))
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *snapshotReader) texts() []string {
	n := r.count()
	r.usesN(n, 16)
	out := make([]string, n)
	for i := range out {
		out[i] = r.text()
	}
	return out
}

func (r *snapshotReader) label() label.ID {
	l := r.number()
	if l > math.MaxUint32 || !r.s.tab.Has(label.ID(l)) {
		r.fail("got label %d, which the table has not", l)
	}
	return label.ID(l)
}

// session reads everything after the format's version, and returns how many bytes the session held.
func (r *snapshotReader) session(c Config) (live int64) {
	s := r.s
	r.b = r.b[len(snapshotMagic)+1:]
	if l := r.text(); l != Language {
		panic(&SnapshotError{"version", fmt.Sprintf("it was written for the language %q, want %q", l, Language)})
	}
	s.turn, s.calls = r.upTo(math.MaxInt32), r.upTo(math.MaxInt32)
	s.output, live = r.bytes(), r.bytes()
	r.tools()
	tab, rest, err := label.ReadTable(r.b, r.room)
	switch {
	case errors.Is(err, label.ErrTooLarge):
		r.uses(math.MaxInt64)
	case err != nil:
		r.fail("%v", err)
	}
	r.uses(tab.Bytes())
	s.tab, r.t.tab, r.b = tab, tab, rest
	s.floor, s.history = r.label(), r.label()
	for range r.count() {
		r.program()
	}
	for range r.count() {
		p := r.programs[r.index(len(r.programs), "program")]
		r.uses(instanceRoom(p))
		r.instances = append(r.instances, &instance{prog: p})
	}
	for range r.count() {
		r.object()
	}
	for i := range r.objects {
		r.contents(i)
	}
	for range r.count() {
		r.uses(nameBytes + cellSize)
		c := &cell{name: r.text()}
		c.v = r.slot()
		if s.names[c.name] != nil {
			r.fail("got the name %s twice", c.name)
		}
		s.names[c.name] = c
		s.cells = append(s.cells, c)
	}
	for range r.count() {
		r.input(c)
	}
	if len(r.b) > 0 {
		r.fail("got %d bytes more than there should be", len(r.b))
	}
	r.link()
	return live
}

// tools reads the tools that there were, and looks for each.
func (r *snapshotReader) tools() {
	for range r.count() {
		name, params := r.text(), r.texts()
		v, _ := lookupPath(r.s.pre, name)
		if v.k != kBuiltin {
			panic(&SnapshotError{"tool", fmt.Sprintf("tool %s: the session had it, this configuration has not", name)})
		}
		if now := v.builtin().def.tool.Params; len(now) < len(params) || !slices.Equal(now[:len(params)], params) {
			panic(&SnapshotError{"tool", fmt.Sprintf("tool %s: takes (%s), took (%s) when the session was written", name, strings.Join(now, ", "), strings.Join(params, ", "))})
		}
	}
}

func (r *snapshotReader) input(c Config) {
	name := r.text()
	v := r.value(-1)
	at := slices.IndexFunc(c.Inputs, func(in Input) bool { return in.Name == name })
	if at < 0 {
		panic(&SnapshotError{"input", fmt.Sprintf("input %s: the session had it, this configuration has not", name)})
	}
	if _, taken := r.s.pre[name]; taken {
		panic(&SnapshotError{"input", fmt.Sprintf("input %s: there is a tool of that name", name)})
	}
	r.s.pre[name] = v
	if slices.Contains(c.Anew, name) {
		delete(r.s.pre, name)
		if err := r.s.addInput(c.Inputs[at]); err != nil {
			panic(&SnapshotError{"input", err.Error()})
		}
	}
	r.inputs = append(r.inputs, name)
}

// program reads a program and compiles it under the names that it knew.
func (r *snapshotReader) program() {
	file, src, earlier, given := r.text(), r.text(), r.texts(), r.texts()
	before := r.room
	r.uses(int64(len(src)) * compiledBytes)
	among := func(names []string) func(string) bool {
		return func(n string) bool {
			_, ok := slices.BinarySearch(names, n)
			return ok
		}
	}
	p, err := Compile(file, []byte(src), Env{Globals: among(earlier), Predeclared: among(given)})
	if err != nil {
		r.fail("program %s: %v", file, err)
	}
	if !slices.Equal(p.earlier, earlier) || !slices.Equal(p.given, given) {
		r.fail("program %s: it knows other names than it says", file)
	}
	r.room = before
	r.uses(p.bytes)
	r.programs = append(r.programs, p)
}

// link makes what needs everything to be there: hashes, and what programs are bound to.
func (r *snapshotReader) link() {
	// What is in a tuple comes before it.
	for i, v := range r.objects {
		if r.hashed[i] {
			r.t.hash(v)
		}
	}
	hashes := map[val]uint64{} // of long keys that many dicts may share
	for i, v := range r.objects {
		if v.k == kDict || v.k == kSet {
			r.place(v.dict(), r.indices[i], hashes)
		}
	}
	for _, m := range r.instances {
		for _, n := range m.prog.globals {
			if r.s.names[n] == nil {
				r.fail("program %s: the session has no %s", m.prog.File, n)
			}
		}
		bound, err := r.s.instance(m.prog)
		if err != nil {
			r.fail("%v", err)
		}
		m.cells, m.pre = bound.cells, bound.pre
	}
}

// place makes the index of a dict.
func (r *snapshotReader) place(d *dict, index int, hashes map[val]uint64) {
	if len(d.ents) == 0 && index == 0 {
		d.wipe()
		return
	}
	if index > 0 {
		d.index = make([]uint32, index)
	}
	ents := d.ents
	for i := range ents {
		e := &ents[i]
		if e.k.k == kUnbound {
			continue
		}
		id := e.k.with(label.TopID)
		h, ok := hashes[id]
		if !ok {
			h = r.t.hash(e.k)
			if e.k.k == kBig || (e.k.k == kString || e.k.k == kBytes) && e.k.n > 1024 {
				hashes[id] = h
			}
		}
		if d.ents = ents[:i]; r.t.find(d, e.k, h) >= 0 {
			r.fail("got a key twice")
		}
		e.h = h
		if index > 0 {
			d.place(h, uint32(i+1))
		}
	}
	d.ents = ents
}
