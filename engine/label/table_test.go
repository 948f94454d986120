package label

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

func TestTableAgreesWithLabels(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	table := NewTable()
	ids := []ID{TopID, BottomID}
	labels := []Label{Top(), Bottom()}
	for range 300 {
		l := random(r)
		ids, labels = append(ids, table.Intern(l)), append(labels, l)
	}
	if len(table.origins) >= maxOrigins {
		t.Fatal("too many sets of sources: nothing is compared")
	}
	for range pairs {
		i, j := r.IntN(len(ids)), r.IntN(len(ids))
		a, b := labels[i], labels[j]
		if !table.Label(ids[i]).Equal(a) {
			t.Fatalf("Label(Intern(%v)) = %v", a, table.Label(ids[i]))
		}
		if got := table.Label(table.Join(ids[i], ids[j])); len(table.origins) < maxOrigins && !got.Equal(a.Join(b)) {
			t.Fatalf("Join(%v, %v) = %v, want %v", a, b, got, a.Join(b))
		}
		if got := table.Label(table.Join(ids[i], ids[j])); !got.SameClass(a.Join(b)) {
			t.Fatalf("Join(%v, %v) has class %v, want %v", a, b, got, a.Join(b))
		}
		if got, want := table.Flows(ids[i], ids[j]), a.FlowsTo(b); got != want {
			t.Fatalf("Flows(%v, %v) = %v, want %v", a, b, got, want)
		}
		if (ids[i] == ids[j]) != a.Equal(b) {
			t.Fatalf("ids %d and %d for %v and %v", ids[i], ids[j], a, b)
		}
		if (ids[i].Class() == ids[j].Class()) != a.SameClass(b) {
			t.Fatalf("classes %d and %d for %v and %v", ids[i].Class(), ids[j].Class(), a, b)
		}
	}
}

func TestPastItsSourcesATableSaysMany(t *testing.T) {
	table := NewTable()
	first := New(User, Public(), nil, Source{Tool: "t", Of: "0"})
	kept := table.Intern(first)
	for i := range maxOrigins + 10 {
		table.Intern(New(User, Public(), nil, Source{Tool: "t", Of: fmt.Sprint(i)}))
	}
	l := table.Label(table.Intern(New(User, Public(), []string{"pii"}, Source{Tool: "new"})))
	if !l.SameClass(New(User, Public(), []string{"pii"})) || !l.More() || l.Choice().Bits != Unbounded {
		t.Errorf("got %v, more %v, choice %v; want the class, and many sources", l, l.More(), l.Choice())
	}
	if !table.Label(kept).Equal(first) || table.Intern(first) != kept {
		t.Error("a label that was interned in time is not itself any more")
	}
	joined := table.Label(table.Join(kept, table.Intern(New(Internal, Public(), nil, Source{Tool: "new"}))))
	if !joined.More() || joined.Trust() != Internal {
		t.Errorf("a join with many sources gives %v, more %v; want internal, more", joined, joined.More())
	}
}

func TestPastItsClassesATableSaysTop(t *testing.T) {
	table := NewTable()
	table.classCap = 100
	kept := table.Intern(New(User, Only("p1"), nil))
	for i := range 200 {
		table.Intern(New(User, Only(fmt.Sprintf("p%d", i)), nil))
	}
	id := table.Intern(New(System, Public(), []string{"late"}))
	if l := table.Label(id); !l.SameClass(Top()) || id.Class() != 0 {
		t.Errorf("got %v, want Top", l)
	}
	if table.Flows(id, kept) || !table.Flows(kept, id) || !table.Flows(BottomID, kept) {
		t.Error("a class that collapsed to Top does not flow as Top does")
	}
	if got := table.Label(table.Join(kept, table.Intern(New(Internal, Only("p2"), nil)))); !got.SameClass(Top()) {
		t.Errorf("a join that finds no room gives %v, want Top", got)
	}
}

func TestEverythingIsAboveWhatWasInterned(t *testing.T) {
	table := NewTable()
	if got := table.Label(table.Everything()); !got.Equal(Bottom()) {
		t.Errorf("of nothing: got %v, want bottom", got)
	}
	table.Intern(New(User, Only("ana"), []string{"pii"}, Source{Tool: "a"}))
	table.Intern(New(Internal, Public(), nil, Source{Tool: "b"}))
	want := New(Internal, Only("ana"), []string{"pii"}, Source{Tool: "a"}, Source{Tool: "b"})
	if got := table.Label(table.Everything()); !got.Equal(want) {
		t.Errorf("got %v from %v, want %v from a and b", got, got.Sources(), want)
	}
	full := NewTable()
	full.classCap = 3
	for i := range 3 {
		full.Intern(New(User, Only(fmt.Sprint(i)), nil))
	}
	table.Intern(New(Untrusted, Only(), []string{"*"}))
	for name, table := range map[string]*Table{"Top was interned": table, "a class found no room": full} {
		if got := table.Label(table.Everything()); !got.SameClass(Top()) {
			t.Errorf("%s: got %v, want Top", name, got)
		}
	}
}

func TestAnIDOfAnotherTableIsTop(t *testing.T) {
	if l := NewTable().Label(ID(1<<31 | 77)); !l.Equal(Top()) {
		t.Errorf("got %v, want Top", l)
	}
}

func TestBytesIsNearWhatATableHolds(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	table := NewTable()
	for i := range 20_000 {
		id := table.Intern(New(User, Only(fmt.Sprintf("principal-%d@corp.example", i)), nil, Source{Tool: "mail.read", Of: fmt.Sprintf("%05d.eml", i%3000)}))
		table.Join(id, ID(i%64)<<originBits|1)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	held := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	if got := table.Bytes(); got < held/2 || got > held*2 {
		t.Errorf("Bytes says %d, the heap %d: want them within a factor of two", got, held)
	}
	runtime.KeepAlive(table)
}

func TestSeenJoinsDoNotAllocate(t *testing.T) {
	table := NewTable()
	a, b := table.Intern(New(User, Only("ana"), nil)), table.Intern(New(Internal, Only("bob"), nil))
	table.Join(a, b)
	n := testing.AllocsPerRun(100, func() {
		table.Join(a, a)
		table.Join(a, BottomID)
		table.Join(BottomID, b)
		table.Join(a, b)
		table.Flows(a, b)
	})
	if n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

var sink ID

func BenchmarkTableJoin(b *testing.B) {
	table := NewTable()
	x, y := table.Intern(New(User, Only("ana"), nil)), table.Intern(New(Internal, Only("bob"), nil))
	many := make([]ID, 1024) // more pairs than the cache holds
	for i := range many {
		many[i] = table.Intern(New(User, Public(), []string{fmt.Sprint(i)}))
		table.Join(x, many[i])
	}
	for _, bench := range []struct {
		name string
		a, b func(i int) ID
	}{
		{"equal", func(int) ID { return x }, func(int) ID { return x }},
		{"bottom", func(int) ID { return x }, func(int) ID { return BottomID }},
		{"seen before", func(int) ID { return x }, func(int) ID { return y }},
		{"seen before, of 1024 in turn", func(int) ID { return x }, func(i int) ID { return many[i%len(many)] }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				sink = table.Join(bench.a(i), bench.b(i))
			}
		})
	}
	b.Run("of labels, not interned", func(b *testing.B) {
		b.ReportAllocs()
		l, m := table.Label(x), table.Label(y)
		for b.Loop() {
			l.Join(m)
		}
	})
}
