// Package label is the lattice that information flow is tracked in.
//
// A [Label] says of a value who may have influenced it (trust), who may learn
// it (readers), what kind of thing is in it (tags) and where it came from
// (sources). Trust, readers and tags are the label's class, and classes decide;
// sources explain. [Label.Join] goes up the lattice: trust takes the lower,
// readers intersect, tags and sources unite.
//
// The zero Label is [Top]: untrusted, for nobody, carrying every tag, from
// anywhere. A label that somebody forgot to set therefore refuses.
//
// A [Table] interns labels for one session, so that an evaluator can keep a
// 32-bit [ID] beside each value.
package label

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Trust is integrity: who may have influenced a value. The zero Trust is
// [Untrusted].
type Trust uint8

// The levels of trust, lowest first. Their numbers are the ranks that policies see.
const (
	Untrusted Trust = iota
	Internal
	User
	System
)

var trustNames = [...]string{"untrusted", "internal", "user", "system"}

// String returns the level's name, such as "untrusted".
func (t Trust) String() string {
	if int(t) < len(trustNames) {
		return trustNames[t]
	}
	return fmt.Sprintf("Trust(%d)", uint8(t))
}

// valid returns t, or Untrusted if t is no level.
func (t Trust) valid() Trust {
	if t > System {
		return Untrusted
	}
	return t
}

// ParseTrust is the inverse of [Trust.String].
func ParseTrust(s string) (Trust, error) {
	if i := slices.Index(trustNames[:], s); i >= 0 {
		return Trust(i), nil
	}
	return Untrusted, fmt.Errorf("trust: got %q, want one of %s", s, strings.Join(trustNames[:], ", "))
}

// MarshalText implements [encoding.TextMarshaler].
func (t Trust) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (t *Trust) UnmarshalText(b []byte) error {
	p, err := ParseTrust(string(b))
	*t = p
	return err
}

// Readers is confidentiality: who may learn a value. The zero Readers is nobody.
type Readers struct {
	public bool
	who    []string // sorted, without duplicates; never changed once set
}

// Public returns the readers that include everybody.
func Public() Readers { return Readers{public: true} }

// Only returns the readers that are exactly the principals named; none means
// nobody. The name "*" stands for everybody. A name that is no UTF-8 is nobody's.
func Only(principals ...string) Readers {
	if slices.Contains(principals, "*") {
		return Public()
	}
	who := sortedSet(principals)
	return Readers{who: slices.DeleteFunc(who, func(p string) bool { return !utf8.ValidString(p) })}
}

// IsPublic reports whether everybody may read.
func (r Readers) IsPublic() bool { return r.public }

// Names returns the principals, sorted: ["*"] for everybody, empty for nobody.
// The caller must not change the slice.
func (r Readers) Names() []string {
	if r.public {
		return []string{"*"}
	}
	return r.who
}

// Includes reports whether the principal may read.
func (r Readers) Includes(principal string) bool {
	if r.public {
		return true
	}
	_, ok := slices.BinarySearch(r.who, principal)
	return ok
}

// Covers reports whether everybody in s is also in r.
func (r Readers) Covers(s Readers) bool {
	if r.public {
		return true
	}
	return !s.public && subset(s.who, r.who, strings.Compare)
}

// Intersect returns those who are in both.
func (r Readers) Intersect(s Readers) Readers {
	switch {
	case r.public:
		return s
	case s.public:
		return r
	}
	var who []string
	for _, p := range r.who {
		if s.Includes(p) {
			who = append(who, p)
		}
	}
	return Readers{who: who}
}

// Source says where a part of a value came from. Sources explain a label;
// they never decide its place in the lattice.
type Source struct {
	Tool  string `json:"tool"`            // the tool or the kind of input: "mail.read", "prompt"
	Of    string `json:"of"`              // the resource: "04-urgent.eml", "vendors.csv"
	Field string `json:"field,omitempty"` // the field of the tool's result, if the label was the field's own
}

func compareSources(a, b Source) int {
	return cmp.Or(strings.Compare(a.Tool, b.Tool), strings.Compare(a.Of, b.Of), strings.Compare(a.Field, b.Field))
}

// Grant is one endorsement that a value's content depends on: a source of
// lower trust selected one of 2^Bits values, and a policy or a person let the
// selection through under a higher label. A grant without a call stands for
// grants that the label no longer names.
type Grant struct {
	Call  string `json:"call"`  // the id of the call that endorsed
	Trust Trust  `json:"trust"` // of the value before it was endorsed
	Bits  int    `json:"bits"`  // 0 to Unbounded
}

func compareGrants(a, b Grant) int {
	return cmp.Or(strings.Compare(a.Call, b.Call), cmp.Compare(a.Trust, b.Trust), cmp.Compare(a.Bits, b.Bits))
}

// Choice sums up the grants of a label: text of the label's trust was
// selected by Bits bits of data whose trust was only Trust. Without grants it
// is {System, 0}.
type Choice struct {
	Trust Trust
	Bits  int
}

// Unbounded is the number of bits of a choice too large, or too mixed, to count.
const Unbounded = 1 << 20

// MaxSources is how many sources (and how many grants) a label names; past it the
// set keeps the first ones in its order, and is marked, see [Label.More].
const MaxSources = 64

// class decides: its fields never change once made.
type class struct {
	trust   Trust
	readers Readers
	tags    []string // sorted set
	anyTag  bool     // carries every tag
}

// origin explains: its fields never change once made.
type origin struct {
	sources []Source // sorted set, MaxSources at most
	grants  []Grant  // sorted set, MaxSources at most; unnamedGrants, the least of all, is first in one that was truncated
	more    bool     // sources were truncated
}

// unnamedGrants stands for grants that are no longer named: the worst that they can have been.
var unnamedGrants = Grant{Trust: Untrusted, Bits: Unbounded}

var (
	top        = &class{anyTag: true}
	bottom     = &class{trust: System, readers: Public()}
	manyOrigin = &origin{more: true, grants: []Grant{unnamedGrants}}
	noOrigin   = &origin{}
)

// Label is an immutable label. The zero Label is [Top]. Labels are compared
// with [Label.Equal], not with ==.
type Label struct {
	c *class  // nil: top
	o *origin // nil: many when c is nil, else none
}

// Top is the most restrictive label: untrusted, for nobody, every tag, from anywhere.
func Top() Label { return Label{} }

// Bottom is the least restrictive label: system trust, public, no tag, no source.
func Bottom() Label { return Label{c: bottom} }

// New returns a label. Tags and sources are sets: order and repetition do not matter. The tag "*" stands
// for every tag. In tags and sources, U+FFFD stands for what is no UTF-8.
func New(t Trust, r Readers, tags []string, sources ...Source) Label {
	l := Label{c: &class{trust: t.valid(), readers: r}}
	if slices.Contains(tags, "*") {
		l.c.anyTag = true
	} else {
		l.c.tags = slices.Clone(tags)
		for i, tag := range l.c.tags {
			l.c.tags[i] = text(tag)
		}
		l.c.tags = sortedSet(l.c.tags)
	}
	return l.WithSources(sources...)
}

func (l Label) class() *class {
	if l.c == nil {
		return top
	}
	return l.c
}

func (l Label) origin() *origin {
	switch {
	case l.o != nil:
		return l.o
	case l.c == nil:
		return manyOrigin
	}
	return noOrigin
}

// Trust returns who may have influenced the value.
func (l Label) Trust() Trust { return l.class().trust }

// Readers returns who may learn the value.
func (l Label) Readers() Readers { return l.class().readers }

// Tags returns the kinds of thing in the value, sorted; ["*"] means every tag.
// The caller must not change the slice.
func (l Label) Tags() []string {
	if l.class().anyTag {
		return []string{"*"}
	}
	return l.class().tags
}

// HasTag reports whether the label carries the tag. Top carries every tag.
func (l Label) HasTag(tag string) bool {
	c := l.class()
	if c.anyTag {
		return true
	}
	_, ok := slices.BinarySearch(c.tags, tag)
	return ok
}

// Sources returns where the value came from, sorted. The caller must not change the slice.
func (l Label) Sources() []Source { return l.origin().sources }

// More reports whether there are sources, or grants, that the label no longer names.
func (l Label) More() bool {
	o := l.origin()
	return o.more || len(o.grants) > 0 && o.grants[0].Call == ""
}

// Grants returns the endorsements that the value depends on, sorted by call. The
// caller must not change the slice.
func (l Label) Grants() []Grant { return l.origin().grants }

// Choice sums up the label's grants: the lowest trust that selected, and in
// how many bits in all. Grants that are no longer named count as [Unbounded] bits of
// untrusted choice.
func (l Label) Choice() Choice {
	c := Choice{Trust: System}
	for _, g := range l.origin().grants {
		c.Trust = min(c.Trust, g.Trust)
		c.Bits = min(c.Bits+g.Bits, Unbounded)
	}
	return c
}

// Join returns the least label that both flow to.
func (l Label) Join(m Label) Label {
	return Label{joinClass(l.class(), m.class()), joinOrigin(l.origin(), m.origin())}
}

// JoinAll joins any number of labels; of none, [Bottom].
func JoinAll(labels ...Label) Label {
	out := Bottom()
	for _, l := range labels {
		out = out.Join(l)
	}
	return out
}

// FlowsTo reports whether a value labelled l may go where m is expected:
// trust at least m's, readers at least m's, tags at most m's. Sources do not matter.
func (l Label) FlowsTo(m Label) bool { return flows(l.class(), m.class()) }

// Equal reports whether both have the same class, sources and grants.
func (l Label) Equal(m Label) bool {
	return equalClass(l.class(), m.class()) && equalOrigin(l.origin(), m.origin())
}

// SameClass reports whether both have the same trust, readers and tags.
func (l Label) SameClass(m Label) bool { return equalClass(l.class(), m.class()) }

// WithTrust returns l with another trust; one that is no level is [Untrusted].
func (l Label) WithTrust(t Trust) Label {
	c := *l.class()
	c.trust = t.valid()
	return Label{&c, l.origin()}
}

// WithReaders returns l with other readers.
func (l Label) WithReaders(r Readers) Label {
	c := *l.class()
	c.readers = r
	return Label{&c, l.origin()}
}

// WithTags returns l with the tags added.
func (l Label) WithTags(tags ...string) Label {
	return l.Join(New(System, Public(), tags))
}

// WithSources returns l with the sources added.
func (l Label) WithSources(sources ...Source) Label {
	if len(sources) == 0 {
		return l
	}
	o := &origin{sources: slices.Clone(sources)}
	for i, s := range o.sources {
		o.sources[i] = Source{text(s.Tool), text(s.Of), text(s.Field)}
	}
	slices.SortFunc(o.sources, compareSources)
	o.sources = slices.Compact(o.sources)
	o.truncate()
	return Label{l.class(), joinOrigin(l.origin(), o)}
}

// WithGrant returns l with one more endorsement on which the value depends. Bits
// that are negative or past [Unbounded] are Unbounded.
func (l Label) WithGrant(g Grant) Label {
	g.Call, g.Trust = text(g.Call), g.Trust.valid()
	if g.Bits < 0 || g.Bits > Unbounded {
		g.Bits = Unbounded
	}
	return Label{l.class(), joinOrigin(l.origin(), &origin{grants: []Grant{g}})}
}

// Control returns the label as control flow, a selection or a structure carries it into a value: class and
// grants, without sources. Sources follow data alone: a value that was picked under a
// condition did not come from the condition.
func (l Label) Control() Label {
	o := l.origin()
	if len(o.sources) == 0 && !o.more {
		return l
	}
	return Label{l.class(), controlOf(o)}
}

func controlOf(o *origin) *origin {
	if len(o.grants) == 0 {
		return noOrigin
	}
	return &origin{grants: o.grants}
}

// OnlySources returns a label that says nothing but where l came from: Bottom with l's sources.
func (l Label) OnlySources() Label {
	o := l.origin()
	if len(o.sources) == 0 && !o.more {
		return Bottom()
	}
	return Label{bottom, &origin{sources: o.sources, more: o.more}}
}

// WithoutSources returns the label's class alone, without sources and grants.
func (l Label) WithoutSources() Label { return Label{l.class(), noOrigin} }

func joinClass(a, b *class) *class {
	switch {
	case a == b, b == bottom:
		return a
	case a == bottom:
		return b
	case flows(a, b):
		return b
	case flows(b, a):
		return a
	}
	c := &class{trust: min(a.trust, b.trust), readers: a.readers.Intersect(b.readers), anyTag: a.anyTag || b.anyTag}
	if !c.anyTag {
		c.tags = union(a.tags, b.tags, strings.Compare)
	}
	return c
}

func flows(a, b *class) bool {
	if a == b {
		return true
	}
	if a.trust < b.trust || !a.readers.Covers(b.readers) {
		return false
	}
	if b.anyTag {
		return true
	}
	if a.anyTag {
		return false
	}
	return subset(a.tags, b.tags, strings.Compare)
}

func equalClass(a, b *class) bool {
	return a == b || a.trust == b.trust && a.readers.public == b.readers.public &&
		slices.Equal(a.readers.who, b.readers.who) && a.anyTag == b.anyTag && slices.Equal(a.tags, b.tags)
}

func joinOrigin(a, b *origin) *origin {
	switch {
	case a == b, b == noOrigin:
		return a
	case a == noOrigin:
		return b
	}
	o := origin{
		sources: union(a.sources, b.sources, compareSources),
		grants:  union(a.grants, b.grants, compareGrants),
		more:    a.more || b.more,
	}
	o.truncate()
	// Give an operand back if it is the result: who interns it need not look at it again.
	switch {
	case equalOrigin(&o, a):
		return a
	case equalOrigin(&o, b):
		return b
	}
	out := o // so that only a new one is allocated
	return &out
}

// truncate brings an origin to its bounds. The first ones stay and a mark remains, so
// that joins give the same in any order.
func (o *origin) truncate() {
	if len(o.sources) > MaxSources {
		o.sources, o.more = o.sources[:MaxSources:MaxSources], true
	}
	if len(o.grants) > MaxSources {
		o.grants = union([]Grant{unnamedGrants}, o.grants, compareGrants)
		o.grants = o.grants[:MaxSources:MaxSources]
	}
}

func equalOrigin(a, b *origin) bool {
	return a == b || a.more == b.more && slices.Equal(a.sources, b.sources) && slices.Equal(a.grants, b.grants)
}

// union merges two sorted sets. The result shares memory with one that has it all.
func union[T any](a, b []T, compare func(T, T) int) []T {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	if subset(b, a, compare) {
		return a
	}
	if subset(a, b, compare) {
		return b
	}
	out := make([]T, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch c := compare(a[0], b[0]); {
		case c < 0:
			out, a = append(out, a[0]), a[1:]
		case c > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, a[0]), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// subset reports whether all of the sorted set a is in the sorted set b.
func subset[T any](a, b []T, compare func(T, T) int) bool {
	if len(a) > len(b) {
		return false
	}
	for _, x := range a {
		i, ok := slices.BinarySearchFunc(b, x, compare)
		if !ok {
			return false
		}
		b = b[i+1:]
	}
	return true
}

// text returns s as text: what is no UTF-8 would not come back from an encoding.
func text(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

func sortedSet(in []string) []string {
	if len(in) == 0 {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(in)))
}
