package label

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// A stored table is: a byte of flags; the names of readers and tags, the sources and the grants that
// occur, each once and in order; then the classes and the sets of sources past those that every table has, in
// the order of their ids, which name those by ascending index. Numbers are varints.

// Append appends the table to b, so that [ReadTable] gives one in which every ID means
// the same. Equal tables give equal bytes.
func (t *Table) Append(b []byte) []byte {
	names, sources, grants := map[string]int{}, map[Source]int{}, map[Grant]int{}
	for _, c := range t.classes[2:] {
		note(names, c.readers.who)
		note(names, c.tags)
	}
	for _, o := range t.origins[2:] {
		note(sources, o.sources)
		note(grants, o.grants)
	}
	b = append(b, flag(t.collapsed.class)|flag(t.collapsed.origin)<<1)
	b = appendStrings(b, number(names, strings.Compare)...)
	list := number(sources, compareSources)
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = appendText(appendText(appendText(b, s.Tool), s.Of), s.Field)
	}
	given := number(grants, compareGrants)
	b = binary.AppendUvarint(b, uint64(len(given)))
	for _, g := range given {
		b = binary.AppendUvarint(append(appendText(b, g.Call), byte(g.Trust)), uint64(g.Bits))
	}
	b = binary.AppendUvarint(b, uint64(len(t.classes)-2))
	for _, c := range t.classes[2:] {
		b = append(b, byte(c.trust)|flag(c.readers.public)<<2|flag(c.anyTag)<<3)
		b = appendSet(appendSet(b, c.readers.who, names), c.tags, names)
	}
	b = binary.AppendUvarint(b, uint64(len(t.origins)-2))
	for _, o := range t.origins[2:] {
		b = appendSet(appendSet(append(b, flag(o.more)), o.sources, sources), o.grants, grants)
	}
	return b
}

func note[T comparable](to map[T]int, set []T) {
	for _, x := range set {
		to[x] = 0
	}
}

// number returns the keys in order, and sets each one's value to its place.
func number[T comparable](m map[T]int, compare func(T, T) int) []T {
	list := slices.SortedFunc(maps.Keys(m), compare)
	for i, x := range list {
		m[x] = i
	}
	return list
}

// appendSet appends a sorted set as ascending indices, each as what it adds to the one before.
func appendSet[T comparable](b []byte, set []T, index map[T]int) []byte {
	b = binary.AppendUvarint(b, uint64(len(set)))
	last := -1
	for _, x := range set {
		b = binary.AppendUvarint(b, uint64(index[x]-last-1))
		last = index[x]
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// ReadTable reads a table from the beginning of b and returns the rest of b. Whatever b is, the result is a
// sound table or an error; for one of more than limit bytes, by [Table.Bytes], the error is [ErrTooLarge].
func ReadTable(b []byte, limit int64) (*Table, []byte, error) {
	r := reader{b: b}
	t, err := r.table(limit)
	if err == nil {
		err = r.err
	}
	if err != nil {
		return nil, nil, fmt.Errorf("labels, at byte %d: %w", len(b)-len(r.b), err)
	}
	return t, r.b, nil
}

// reader takes numbers and texts off the front of b. Once err is set, all are zero.
type reader struct {
	b   []byte
	err error
}

var errShort = errors.New("the data ends too early")

// fail keeps the first error.
func (r *reader) fail(err error) { r.err = cmp.Or(r.err, err) }

func (r *reader) number() uint64 {
	n, w := binary.Uvarint(r.b)
	switch {
	case w <= 0:
		r.fail(errShort)
	case w > 1 && r.b[w-1] == 0:
		r.fail(errors.New("got a number in more bytes than it needs"))
	}
	if r.err != nil {
		return 0
	}
	r.b = r.b[w:]
	return n
}

// count reads how many things follow, each of which takes at least size bytes.
func (r *reader) count(size int64) int {
	n := r.number()
	if n > uint64(len(r.b))/uint64(size) {
		r.fail(errShort)
		return 0
	}
	return int(n)
}

func (r *reader) byte(most byte) byte {
	if len(r.b) == 0 || r.err != nil {
		r.fail(errShort)
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	if c > most {
		r.fail(fmt.Errorf("got the byte %d, want at most %d", c, most))
		return 0
	}
	return c
}

func (r *reader) text() string {
	n := r.count(1)
	s := string(r.b[:n])
	r.b = r.b[n:]
	if !utf8.ValidString(s) {
		r.fail(errors.New("got a name that is no UTF-8"))
	}
	return s
}

// dictionary is what sets refer to.
type dictionary[T any] struct {
	items []T
	used  []bool
}

// readDictionary reads things in ascending order, each of which takes at least size bytes of the data, and
// held bytes of memory beside its strings.
func readDictionary[T any](r *reader, limit int64, size, held int64, item func() T, compare func(T, T) int) dictionary[T] {
	n := r.count(size)
	if int64(n) > limit/held {
		r.fail(tooLarge(limit))
		return dictionary[T]{}
	}
	d := dictionary[T]{make([]T, 0, n), make([]bool, n)}
	for i := range n {
		x := item()
		if i > 0 && compare(d.items[i-1], x) >= 0 {
			r.fail(errors.New("got names out of order"))
		}
		if r.err != nil {
			return dictionary[T]{}
		}
		d.items = append(d.items, x)
	}
	return d
}

// ErrTooLarge is what [ReadTable] returns, wrapped, of a table that exceeds its limit.
var ErrTooLarge = errors.New("the table is too large")

func tooLarge(limit int64) error { return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit) }

// set reads a sorted set of at most most members.
func (d *dictionary[T]) set(r *reader, most int64) []T {
	n := r.count(1)
	if int64(n) > most {
		r.fail(fmt.Errorf("got a set of %d, want at most %d", n, most))
	}
	if n == 0 || r.err != nil {
		return nil
	}
	out := make([]T, 0, n)
	at := uint64(0)
	for range n {
		step := r.number()
		if step >= uint64(len(d.items))-at {
			r.fail(fmt.Errorf("got a name past the last of %d", len(d.items)))
			return nil
		}
		at += step
		out = append(out, d.items[at])
		d.used[at] = true
		at++
	}
	return out
}

// whole sets an error if something in the dictionary is in no set.
func (d *dictionary[T]) whole(r *reader) {
	if slices.Contains(d.used, false) {
		r.fail(errors.New("got a name that no label has"))
	}
}

func (r *reader) table(limit int64) (*Table, error) {
	t := NewTable()
	if t.bytes > limit {
		return nil, tooLarge(limit)
	}
	flags := r.byte(3)
	t.collapsed.class, t.collapsed.origin = flags&1 != 0, flags&2 != 0
	names := readDictionary(r, limit, 1, nameBytes, r.text, strings.Compare)
	if slices.Contains(names.items, "*") {
		return nil, errors.New("got the name *, want the name of one")
	}
	sources := readDictionary(r, limit, 3, sourceBytes, func() Source { return Source{r.text(), r.text(), r.text()} }, compareSources)
	grants := readDictionary(r, limit, 3, grantBytes, r.grant, compareGrants)
	for i := range r.count(3) {
		flags := r.byte(15)
		c := &class{trust: Trust(flags & 3), readers: Readers{public: flags&4 != 0}, anyTag: flags&8 != 0}
		room := (limit - t.bytes) / nameBytes
		c.readers.who, c.tags = names.set(r, room), names.set(r, room)
		if c.readers.public && c.readers.who != nil || c.anyTag && c.tags != nil {
			return nil, errors.New("got names beside everybody, or every tag")
		}
		// What a set refers to by a byte is whole in the key: look before making it.
		if r.err != nil || t.bytes+c.bytes(c.size()) > limit {
			return nil, cmp.Or(r.err, tooLarge(limit))
		}
		if t.internClass(c) != uint32(i+2) {
			return nil, errors.New("got a class twice, or too many")
		}
	}
	for i := range r.count(3) {
		o := &origin{more: r.byte(1) != 0, sources: sources.set(r, MaxSources), grants: grants.set(r, MaxSources)}
		if r.err != nil || t.bytes+o.bytes(o.size()) > limit {
			return nil, cmp.Or(r.err, tooLarge(limit))
		}
		if t.internOrigin(o) != uint32(i+2) {
			return nil, errors.New("got a set of sources twice, or too many")
		}
	}
	names.whole(r)
	sources.whole(r)
	grants.whole(r)
	return t, r.err
}

func (r *reader) grant() Grant {
	g := Grant{Call: r.text(), Trust: Trust(r.byte(byte(System)))}
	bits := r.number()
	if bits > Unbounded {
		r.fail(fmt.Errorf("got %d bits, want at most %d", bits, Unbounded))
		return Grant{}
	}
	g.Bits = int(bits)
	return g
}

// size is the length of the key, about.
func (c *class) size() int {
	n := 8
	for _, list := range [][]string{c.readers.who, c.tags} {
		for _, s := range list {
			n += len(s) + 1
		}
	}
	return n
}

// size is the length of the key, about.
func (o *origin) size() int {
	n := 8
	for _, s := range o.sources {
		n += len(s.Tool) + len(s.Of) + len(s.Field) + 4
	}
	for _, g := range o.grants {
		n += len(g.Call) + 6
	}
	return n
}
