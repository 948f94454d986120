package eval

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"callgate/engine/label"
)

// A snapshot is, in this order, numbers as varints and texts with their length before them:
//
//	magic, the format's version, the language
//	turn, calls of the host, bytes printed, bytes alive
//	tools: name and parameters of each
//	labels: see label.Table.Append; then the ids of floor and history
//	programs: file, text, and the names that they knew; then the instances of programs, by program
//	objects: what must be known of each before there can be references to it
//	the contents of the objects
//	names of the session, in the order of their making, with their values; then inputs
//	the SHA-256 of all that
//
// Objects are the containers, functions and cells, numbered in the order in which a walk from the names
// meets them; a tuple or struct comes after those in it, so that they cannot contain themselves. Leaves (texts, large
// ints, ranges, lazy sequences, bound methods) are written where they are met first and numbered in that order;
// from then on their number stands for them. So whatever was shared is shared again. Room
// that lists and dicts have beside their elements is kept too: it decides when memory is charged.
//
// What is not written: what a host permitted (it is asked again), the memo of joins, hashes, and
// tools and limits, which are the configuration's.
const (
	snapshotMagic   = "callgate session\n"
	snapshotVersion = 1
)

// SnapshotError says why a session cannot be written, or re-made.
type SnapshotError struct {
	// Code is what is wrong:
	//
	//	"busy"     a program is running
	//	"size"     it would take more than the limit allows
	//	"version"  written by another version of the format or the language
	//	"corrupt"  no snapshot, or one that was damaged
	//	"tool"     a tool that the session had is missing, or takes other parameters
	//	"input"    an input that the session had is missing
	//	"internal" a fault of this package
	Code string
	Text string
}

func (e *SnapshotError) Error() string { return "snapshot: " + e.Text }

// The first byte of a value; with ownLabel its label follows, else it is that of the value before.
const (
	tagUnbound byte = iota
	tagNone
	tagFalse
	tagTrue
	tagInt
	tagFloat
	tagString // leaves, as they are met first; texts of fewer than two bytes are not numbered
	tagBytes
	tagBig
	tagRange
	tagSeq
	tagMethod
	tagLeaf      // a leaf met before
	tagLeafBytes // a text met before, as bytes
	tagObject
	tagUniverse // a function or module of the language, by name
	tagTool     // a tool or a module of tools, by name

	ownLabel byte = 0x80
)

// The first byte of an object: its kind, and what is known of it.
const (
	objectHashed byte = 0x20 // of a tuple whose hash is known: it costs a program nothing any more
	objectFields byte = 0x40 // of a dict that came from a tool
	objectClass  byte = 0x80 // of a dict that has another class: its name follows
)

// Snapshot returns the session as bytes, from which [Restore] makes it again: values with their labels,
// functions with their code, all that is shared, floor, history and what was used of the budgets. Between two
// calls of [Session.Run] only. The same session gives the same bytes. What is returned can be re-made with the same
// configuration: if it would take too much memory to, that is an error here.
//
// limit is the most bytes that it may take; zero or less means the session's memory budget. The bytes
// hold what the session holds, secrets included, and are believed when they are read: keep them where no program, and nobody else, can change
// them. The errors are [*SnapshotError]s.
func (s *Session) Snapshot(limit int64) (b []byte, err error) {
	if s.running {
		return nil, &SnapshotError{"busy", "a program is running: a session can be written between two programs"}
	}
	if limit <= 0 {
		limit = s.limits.Memory
	}
	w := newSnapshotWriter(s, limit)
	defer func() {
		s.epoch += uint64(len(w.objects)) // the next walk must not take what this one has marked for its own
		if r := recover(); r != nil {
			b, err = nil, snapshotFault(r)
		}
	}()
	w.session()
	sum := sha256.Sum256(w.b)
	return append(w.b, sum[:]...), nil
}

// restoreRoom is how many bytes a re-made session may take. What it holds was within the budget, or is garbage
// that nobody has looked for; what is needed to find it again comes on top.
func restoreRoom(l Limits) int64 { return 2 * l.Memory }

// snapshotWriter writes a snapshot.
type snapshotWriter struct {
	s     *Session
	b     []byte
	limit int64
	room  int64 // bytes that the reader may still use; it counts alike

	base    uint64 // object i has the mark base+1+i
	objects []val
	leaves  map[val]int // their numbers, by place in memory
	count   int         // of leaves
	last    label.ID    // of the value written last

	modules   map[*instance]int // index in instances
	instances []*instance
	programs  []*Program
}

func newSnapshotWriter(s *Session, limit int64) *snapshotWriter {
	s.tab.Rest()
	return &snapshotWriter{s: s, limit: limit, room: restoreRoom(s.limits), base: s.epoch, leaves: map[val]int{}, modules: map[*instance]int{}}
}

// uses counts n bytes that the re-made session will take.
func (w *snapshotWriter) uses(n int64) {
	if w.room -= n; w.room < 0 {
		panic(&SnapshotError{"size", fmt.Sprintf("re-made, the session would take more than %d bytes, twice its memory budget", restoreRoom(w.s.limits))})
	}
}

// fits panics unless n more bytes are within the limit.
func (w *snapshotWriter) fits(n int) {
	if int64(len(w.b))+int64(n) > w.limit {
		panic(&SnapshotError{"size", fmt.Sprintf("the session takes more than %d bytes", w.limit)})
	}
}

func (w *snapshotWriter) byte(c byte)     { w.b = append(w.b, c) }
func (w *snapshotWriter) number(n uint64) { w.b = binary.AppendUvarint(w.b, n) }
func (w *snapshotWriter) int(n int)       { w.number(uint64(n)) }

// chars writes a text.
func (w *snapshotWriter) chars(s string) {
	w.int(len(s))
	w.fits(len(s))
	w.b = append(w.b, s...)
}

// text writes a text and counts it.
func (w *snapshotWriter) text(s string) {
	w.uses(stringSize(int64(len(s))))
	w.chars(s)
}

func (w *snapshotWriter) texts(list []string) {
	w.int(len(list))
	w.uses(blockSize(int64(len(list)) * 16))
	for _, s := range list {
		w.text(s)
	}
}

func (w *snapshotWriter) session() {
	s := w.s
	w.b = append(w.b, snapshotMagic...)
	w.int(snapshotVersion)
	w.text(Language)
	w.int(s.turn)
	w.int(s.calls)
	w.number(uint64(s.output))
	w.number(uint64(max(s.live, 0)))
	tools, inputs := given(s.pre)
	w.int(len(tools))
	for _, t := range tools {
		w.text(t.Name)
		w.texts(t.Params)
	}
	w.b = s.tab.Append(w.b)
	w.uses(s.tab.Bytes())
	w.number(uint64(s.floor))
	w.number(uint64(s.history))

	for _, c := range s.cells {
		w.meet(c.v)
	}
	for _, n := range inputs {
		w.meet(s.pre[n])
	}
	for i := 0; i < len(w.objects); i++ {
		w.meetParts(w.objects[i])
	}
	w.int(len(w.programs))
	for _, p := range w.programs {
		w.text(p.File)
		w.text(p.src)
		w.texts(p.earlier)
		w.texts(p.given)
		before := w.room
		w.uses(int64(len(p.src)) * compiledBytes)
		w.room = before
		w.uses(p.bytes)
	}
	w.int(len(w.instances))
	for _, m := range w.instances {
		w.int(slices.IndexFunc(w.programs, m.prog.equal))
		w.uses(instanceRoom(m.prog))
	}
	w.int(len(w.objects))
	for _, v := range w.objects {
		w.object(v)
	}
	for _, v := range w.objects {
		w.contents(v)
		w.fits(0)
	}
	w.int(len(s.cells))
	for _, c := range s.cells {
		w.text(c.name)
		w.value(c.v)
		w.uses(nameBytes + cellSize)
	}
	w.int(len(inputs))
	for _, n := range inputs {
		w.text(n)
		w.value(s.pre[n])
	}
	w.fits(sha256.Size)
}

// given divides what programs were given into the tools and the names of inputs, each in order.
func given(pre map[string]val) (tools []*ToolSig, inputs []string) {
	for _, n := range slices.Sorted(maps.Keys(pre)) {
		switch v := pre[n]; {
		case v.k == kModule:
			t, _ := given(v.module().attrs)
			tools = append(tools, t...)
		case v.k == kBuiltin && v.builtin().def.tool != nil:
			tools = append(tools, v.builtin().def.tool)
		default:
			inputs = append(inputs, n)
		}
	}
	slices.SortFunc(tools, func(a, b *ToolSig) int { return strings.Compare(a.Name, b.Name) })
	return tools, inputs
}

// equal reports whether two programs are the same text, compiled under the same names.
func (p *Program) equal(q *Program) bool {
	return p == q || p.File == q.File && p.src == q.src && slices.Equal(p.earlier, q.earlier) && slices.Equal(p.given, q.given)
}

// compiledBytes is more than what a byte of a program's text becomes: the text, its tree and its closures. What it becomes is
// known only when it has been compiled.
const compiledBytes = 100

// instanceRoom is what a program in a session takes, without the program.
func instanceRoom(p *Program) int64 {
	return 64 + blockSize(int64(len(p.globals))*8) + blockSize(int64(len(p.names))*valSize)
}

// snapshotFault turns what a panic brought into an error.
func snapshotFault(r any) error {
	switch e := r.(type) {
	case *SnapshotError:
		return e
	case *Error:
		return &SnapshotError{"corrupt", cmp.Or(e.Text, e.Code)}
	}
	return &SnapshotError{"internal", fmt.Sprint(r)}
}
