package eval

import (
	"fmt"
	"sync"
	"testing"
)

func TestMemoAsksWhatNamesThereAre(t *testing.T) {
	const text = "x = y\n"
	has := func(n string) func(string) bool { return func(m string) bool { return n == m } }
	a, err := Compile("memo.star", []byte(text), Env{Globals: has("y")})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Compile("memo.star", []byte(text), Env{Predeclared: has("y")})
	if err != nil {
		t.Fatal(err)
	}
	if a == b || len(a.earlier) != 1 || len(b.given) != 1 {
		t.Errorf("one program for y that an earlier program bound (%q) and for y that is given (%q)", a.earlier, b.given)
	}
	if _, err := Compile("memo.star", []byte(text), Env{}); err == nil {
		t.Error("a name that is not there is found")
	}
	for i, env := range []Env{{Globals: has("y")}, {Predeclared: has("y")}} {
		again, err := Compile("memo.star", []byte(text), env)
		if want := []*Program{a, b}[i]; again != want || err != nil {
			t.Errorf("%d: got another program, %v", i, err)
		}
	}
	if c, err := Compile("other.star", []byte(text), Env{Globals: has("y")}); err != nil || c == a || c.File != "other.star" {
		t.Errorf("another file: got %v, %v", c, err)
	}
}

func TestMemoIsBounded(t *testing.T) {
	m := memo{most: 1 << 16}
	var all []*compiled
	for i := range 200 {
		text := fmt.Sprintf("x = %d\n", i)
		p, err := compile("memo.star", []byte(text), Env{}, new([]answer))
		if err != nil {
			t.Fatal(err)
		}
		c := &compiled{key: memoKey{"memo.star", text}, prog: p}
		m.add(c)
		all = append(all, c)
	}
	var kept int64
	for _, c := range m.order {
		kept += c.size()
	}
	if kept != m.used || m.used > m.most || len(m.order) != len(m.by) || len(m.order) == len(all) {
		t.Errorf("%d programs of %d bytes are kept, %d texts, counted as %d", len(m.order), kept, len(m.by), m.used)
	}
	for i, c := range all {
		if found := m.find(c.key, Env{}) != nil; found != (i >= len(all)-len(m.order)) {
			t.Errorf("program %d is found: %t", i, found)
		}
	}
}

func TestMemoConcurrently(t *testing.T) {
	m := memo{most: 1 << 15}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				text := fmt.Sprintf("x = %d\n", (g+i)%40)
				key := memoKey{"memo.star", text}
				p := m.find(key, Env{})
				if p == nil {
					var err error
					if p, err = compile("memo.star", []byte(text), Env{}, new([]answer)); err != nil {
						t.Error(err)
						return
					}
					m.add(&compiled{key: key, prog: p})
				}
				if p.src != text {
					t.Errorf("got %q, want %q", p.src, text)
				}
			}
		})
	}
	wg.Wait()
}
