package label

import "encoding/binary"

// ID names a label interned in a [Table]. The upper 20 bits are its
// [ClassID], the lower 12 its set of sources. The zero ID is [TopID].
type ID uint32

// ClassID names a class (trust, readers, tags) interned in a [Table]; memos
// of decisions that read no sources key on it. The zero ClassID is Top's.
type ClassID uint32

// The IDs that are the same in every table.
const (
	TopID    ID = 0
	BottomID ID = 1<<originBits | 1
)

const (
	originBits = 12
	maxOrigins = 1 << originBits
	maxClasses = 1 << (32 - originBits)
)

// Class returns the class of an interned label.
func (id ID) Class() ClassID { return ClassID(id >> originBits) }

// A Table interns the labels of one session, and remembers joins. It is not
// safe for concurrent use. Past 4,096 sets of sources (with their grants), new sets collapse to
// "many"; past 2^20 classes, new ones to Top's.
type Table struct {
	classes  []*class
	origins  []*origin
	control  []uint32 // 1 + the origin of [Label.Control], by origin; 0: not known yet
	classCap int

	// collapsed says that Top, or what collapsed to it, was interned: Top's class and many sources.
	collapsed struct{ class, origin bool }

	classKey map[string]uint32
	originOf map[string]uint32
	joins    map[uint64]ID
	cache    [256]recent
	bytes    int64
}

// recent is a join that was asked for lately: a and b are in the order that they were asked for in.
type recent struct{ a, b, j ID }

// NewTable returns a table that knows Top and Bottom.
func NewTable() *Table {
	return &Table{
		classes:  []*class{top, bottom},
		origins:  []*origin{manyOrigin, noOrigin},
		control:  []uint32{0, 2},
		classKey: map[string]uint32{keyOfClass(top): 0, keyOfClass(bottom): 1},
		originOf: map[string]uint32{keyOfOrigin(manyOrigin): 0, keyOfOrigin(noOrigin): 1},
		joins:    map[uint64]ID{},
		classCap: maxClasses,
		bytes:    tableBytes,
	}
}

// Estimates of what a table holds, in bytes.
const (
	tableBytes  = 8 << 10 // an empty one
	entryBytes  = 256     // a class or a set of sources, beside its key, its strings and its members
	nameBytes   = 16      // a member of a set, without its strings
	sourceBytes = 48
	grantBytes  = 32
	joinBytes   = 40
)

// bytes is what a class takes in a table, whose key for it has so many bytes.
func (c *class) bytes(key int) int64 {
	return int64(entryBytes + 2*key + nameBytes*(len(c.readers.who)+len(c.tags)))
}

// bytes is what a set of sources takes in a table, whose key for it has so many bytes.
func (o *origin) bytes(key int) int64 {
	return int64(entryBytes + 2*key + sourceBytes*len(o.sources) + grantBytes*len(o.grants))
}

// Bytes returns an estimate of the memory that the table holds, for the session's budget.
func (t *Table) Bytes() int64 { return t.bytes + int64(len(t.joins))*joinBytes }

// Rest forgets the joins, which are worked out again as they are needed: between two programs
// a session has no use for them. What IDs mean stays as it is.
func (t *Table) Rest() {
	if len(t.joins) > 0 {
		t.joins = map[uint64]ID{}
	}
	clear(t.cache[:])
}

// Has reports whether an ID is one of this table.
func (t *Table) Has(id ID) bool {
	return int(id>>originBits) < len(t.classes) && int(id&(maxOrigins-1)) < len(t.origins)
}

// Intern returns the ID of a label.
func (t *Table) Intern(l Label) ID {
	return ID(t.internClass(l.class())<<originBits | t.internOrigin(l.origin()))
}

func (t *Table) internClass(c *class) uint32 {
	switch c {
	case top:
		t.collapsed.class = true
		return 0
	case bottom:
		return 1
	}
	k := keyOfClass(c)
	if i, ok := t.classKey[k]; ok {
		t.collapsed.class = t.collapsed.class || i == 0
		return i
	}
	i := uint32(len(t.classes))
	if int(i) >= t.classCap {
		t.collapsed.class = true
		return 0
	}
	t.classes = append(t.classes, c)
	t.classKey[k] = i
	t.bytes += c.bytes(len(k))
	return i
}

func (t *Table) internOrigin(o *origin) uint32 {
	switch o {
	case manyOrigin:
		t.collapsed.origin = true
		return 0
	case noOrigin:
		return 1
	}
	k := keyOfOrigin(o)
	if i, ok := t.originOf[k]; ok {
		t.collapsed.origin = t.collapsed.origin || i == 0
		return i
	}
	i := uint32(len(t.origins))
	if i >= maxOrigins {
		t.collapsed.origin = true
		return 0
	}
	t.origins, t.control = append(t.origins, o), append(t.control, 0)
	t.originOf[k] = i
	t.bytes += o.bytes(len(k))
	return i
}

// Label returns the label of an ID. An ID of another table may give any label.
func (t *Table) Label(id ID) Label {
	c, o := id>>originBits, id&(maxOrigins-1)
	if int(c) >= len(t.classes) || int(o) >= len(t.origins) {
		return Top()
	}
	return Label{t.classes[c], t.origins[o]}
}

// Join returns the join of two interned labels: a comparison if they are equal
// or one is Bottom, a look-up if they were joined before.
func (t *Table) Join(a, b ID) ID {
	if a == b || b == BottomID {
		return a
	}
	return t.join(a, b)
}

// Joined returns the join of two labels that differ if they were joined lately.
func (t *Table) Joined(a, b ID) (ID, bool) {
	slot := t.slot(a, b)
	return slot.j, slot.a == a && slot.b == b // never an empty slot: a and b differ
}

// slot returns where the join of a and b, in this order, is remembered.
func (t *Table) slot(a, b ID) *recent {
	return &t.cache[(uint32(a)*0x9e3779b1^uint32(b)*0x85ebca6b)>>24]
}

func (t *Table) join(a, b ID) ID {
	if a == BottomID {
		return b
	}
	slot := t.slot(a, b)
	if slot.a == a && slot.b == b {
		return slot.j
	}
	j := t.joinSorted(min(a, b), max(a, b))
	slot.a, slot.b, slot.j = a, b, j
	return j
}

func (t *Table) joinSorted(a, b ID) ID {
	k := uint64(a)<<32 | uint64(b)
	j, ok := t.joins[k]
	if !ok {
		j = t.Intern(t.Label(a).Join(t.Label(b)))
		t.joins[k] = j
	}
	return j
}

// Control returns the ID of [Label.Control].
func (t *Table) Control(id ID) ID {
	o := id & (maxOrigins - 1)
	if o == BottomID&(maxOrigins-1) {
		return id
	}
	if c := t.control[o]; c != 0 {
		return id&^(maxOrigins-1) | ID(c-1)
	}
	c := t.internOrigin(controlOf(t.origins[o]))
	t.control[o] = c + 1
	return id&^(maxOrigins-1) | ID(c)
}

// Flows reports whether a flows to b (see [Label.FlowsTo]).
func (t *Table) Flows(a, b ID) bool {
	if a>>originBits == b>>originBits || a>>originBits == BottomID>>originBits || b>>originBits == TopID>>originBits {
		return true
	}
	return t.join(a, b)>>originBits == b>>originBits
}

// Everything returns the join of every label that was interned or joined so far.
func (t *Table) Everything() ID {
	l := Bottom()
	for i, c := range t.classes {
		if i != 0 || t.collapsed.class {
			l.c = joinClass(l.class(), c)
		}
	}
	for i, o := range t.origins {
		if i != 0 || t.collapsed.origin {
			l.o = joinOrigin(l.origin(), o)
		}
	}
	return t.Intern(l)
}

func keyOfClass(c *class) string { return string(c.appendKey(nil)) }

func keyOfOrigin(o *origin) string { return string(o.appendKey(nil)) }

// AppendKey appends bytes that are the same for labels that are [Label.Equal], and
// different for others: a key for maps. It is no form to store.
func (l Label) AppendKey(b []byte) []byte { return l.origin().appendKey(l.class().appendKey(b)) }

func (c *class) appendKey(b []byte) []byte {
	b = append(b, byte(c.trust), flag(c.readers.public), flag(c.anyTag))
	return appendStrings(appendStrings(b, c.readers.who...), c.tags...)
}

func (o *origin) appendKey(b []byte) []byte {
	b = binary.AppendUvarint(append(b, flag(o.more)), uint64(len(o.sources)))
	for _, s := range o.sources {
		b = appendStrings(b, s.Tool, s.Of, s.Field)
	}
	for _, g := range o.grants {
		b = appendStrings(b, g.Call)
		b = binary.AppendUvarint(append(b, byte(g.Trust)), uint64(g.Bits))
	}
	return b
}

func appendStrings(b []byte, list ...string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return b
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}
