package label

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// storedTable is a table of random labels and their joins.
func storedTable(seed uint64) *Table {
	r := rand.New(rand.NewPCG(seed, 3))
	t := NewTable()
	ids := []ID{TopID, BottomID}
	for range r.IntN(40) {
		if r.IntN(3) > 0 {
			ids = append(ids, t.Intern(random(r)))
		} else {
			ids = append(ids, t.Control(t.Join(ids[r.IntN(len(ids))], ids[r.IntN(len(ids))])))
		}
	}
	return t
}

func TestAStoredTableMeansTheSame(t *testing.T) {
	for seed := range uint64(500) {
		want := storedTable(seed)
		b := want.Append([]byte("before"))
		got, rest, err := ReadTable(append(b, "after"...)[6:], 1<<20)
		if err != nil || string(rest) != "after" {
			t.Fatalf("seed %d: got %v, and %q after it", seed, err, rest)
		}
		if len(got.classes) != len(want.classes) || len(got.origins) != len(want.origins) || got.collapsed != want.collapsed {
			t.Fatalf("seed %d: got %d classes, %d origins, %v; want %d, %d, %v", seed,
				len(got.classes), len(got.origins), got.collapsed, len(want.classes), len(want.origins), want.collapsed)
		}
		for c := range want.classes {
			for o := range want.origins {
				if id := ID(c<<originBits | o); !got.Label(id).Equal(want.Label(id)) || !want.Has(id) || !got.Has(id) {
					t.Fatalf("seed %d: id %d is %v, want %v", seed, id, got.Label(id), want.Label(id))
				}
			}
		}
		if again := got.Append([]byte("before")); !bytes.Equal(again, b) {
			t.Fatalf("seed %d: stored again, it is\n%q, want\n%q", seed, again, b)
		}
		want.Rest()
		if got.Bytes() != want.Bytes() || !got.Label(got.Everything()).Equal(want.Label(want.Everything())) {
			t.Fatalf("seed %d: %d bytes, everything %v; want %d, %v", seed, got.Bytes(), got.Label(got.Everything()), want.Bytes(), want.Label(want.Everything()))
		}
	}
}

func TestATableAtRestForgetsJoinsAlone(t *testing.T) {
	table := NewTable()
	a, b := table.Intern(New(User, Only("ana"), nil)), table.Intern(New(Internal, Public(), []string{"pii"}))
	empty := table.Bytes()
	ab := table.Join(a, b)
	table.Join(ab, a)
	if len(table.joins) == 0 || table.Bytes() <= empty {
		t.Fatal("joins take no room: nothing is tested")
	}
	table.Rest()
	if len(table.joins) != 0 || table.Has(ab+1<<originBits) || !table.Has(ab) {
		t.Errorf("%d joins remembered, Has says %v of an ID that was never given, %v of one that was", len(table.joins), table.Has(ab+1<<originBits), table.Has(ab))
	}
	if again := table.Join(a, b); again != ab {
		t.Errorf("the join is %d, was %d", again, ab)
	}
}

func TestASharedSourceIsStoredOnce(t *testing.T) {
	table := NewTable()
	l := Bottom()
	for i := range 200 {
		l = l.WithSources(Source{Tool: "mail.read", Of: fmt.Sprintf("message-%05d.eml", i)})
		table.Intern(l)
	}
	if n := len(table.Append(nil)); n > 24<<10 {
		t.Errorf("200 sets that grow by one take %d bytes, want at most 24 KiB", n)
	}
}

func TestReadTableRefuses(t *testing.T) {
	one := NewTable()
	one.Intern(New(User, Only("ana", "bob"), []string{"pii"}, Source{Tool: "a", Of: "b"}, Source{Tool: "a", Of: "c"}).WithGrant(Grant{"1.1", User, 3}))
	good := one.Append(nil)
	text := string(good)
	set := func(at int, c byte) []byte {
		b := bytes.Clone(good)
		b[at] = c
		return b
	}
	swap := func(old, new string) []byte {
		if len(old) != len(new) || strings.Count(text, old) != 1 {
			t.Fatalf("%q is not once in %q", old, text)
		}
		return []byte(strings.Replace(text, old, new, 1))
	}
	const sets = "\x01\x00\x02\x00\x00\x01\x00" // one: of two sources and a grant
	if !strings.HasSuffix(text, sets) {
		t.Fatalf("the table is %q: the cases below do not fit it", text)
	}
	end := func(tail string) []byte { return []byte(strings.TrimSuffix(text, sets) + tail) }
	for _, test := range []struct {
		name, err string
		b         []byte
		limit     int64
	}{
		{"unknown flags", "want at most 3", set(0, 4), 1 << 20},
		{"names out of order", "out of order", swap("ana", "cya"), 1 << 20},
		{"a name twice", "out of order", swap("bob", "ana"), 1 << 20},
		{"no UTF-8", "no UTF-8", swap("bob", "b\xffb"), 1 << 20},
		{"everybody by name", "name *", append([]byte{0, 1, 1, '*'}, good[4:]...), 1 << 20},
		{"more than the limit", "more than", good, tableBytes + 50},
		{"more than an empty table", "more than", good, 16},
		{"a number that is longer than it must be", "more bytes than", append([]byte{0, 0x83, 0}, good[2:]...), 1 << 20},
		{"a source past the last", "past the last", end("\x01\x00\x02\x00\x01\x01\x00"), 1 << 20},
		{"a source of no label", "no label has", end("\x01\x00\x01\x00\x01\x00"), 1 << 20},
		{"the empty set again", "twice", end("\x01\x00\x00\x00"), 1 << 20},
		{"a set twice", "twice", end("\x02\x00\x02\x00\x00\x01\x00\x00\x02\x00\x00\x01\x00"), 1 << 20},
		{"too many sources", "want at most 64", end("\x01\x00" + "\x41" + strings.Repeat("\x00", 80)), 1 << 20},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, _, err := ReadTable(test.b, test.limit); err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("got %v, want %q", err, test.err)
			}
		})
	}
	for n := range good {
		if _, _, err := ReadTable(good[:n], 1<<20); err == nil {
			t.Errorf("the first %d bytes of %d are a table", n, len(good))
		}
	}
}

func FuzzReadTable(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(storedTable(seed).Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		table, rest, err := ReadTable(b, 1<<20)
		if err != nil {
			return
		}
		if read := b[:len(b)-len(rest)]; !bytes.Equal(table.Append(nil), read) {
			t.Errorf("read from %q, stored as %q", read, table.Append(nil))
		}
		if table.Bytes() > 1<<20 {
			t.Errorf("%d bytes, past the limit", table.Bytes())
		}
		table.Join(table.Everything(), TopID)
	})
}
