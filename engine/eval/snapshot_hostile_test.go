package eval

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"
)

// sealed gives contents the digest that fits them.
func sealed(body []byte) []byte {
	sum := sha256.Sum256(body)
	return append(slices.Clip(body), sum[:]...)
}

// crafted is a snapshot with programs, instances, objects, names and inputs as given, each with their number before
// them; an empty one is none.
func crafted(parts ...[]byte) []byte {
	b := append([]byte(snapshotMagic), snapshotVersion)
	b = append(append(b, byte(len(Language))), Language...)
	b = append(b, 0, 0, 0, 0, 0) // turn, calls, output, live, tools
	b = label.NewTable().Append(b)
	b = binary.AppendUvarint(b, uint64(label.BottomID))
	b = binary.AppendUvarint(b, uint64(label.BottomID))
	for _, p := range parts {
		if p == nil {
			p = []byte{0}
		}
		b = append(b, p...)
	}
	return sealed(b)
}

// bytesOf makes bytes of numbers, texts (with their length) and other bytes.
func bytesOf(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case byte:
			b = append(b, p)
		case kind:
			b = append(b, byte(p))
		case int:
			b = binary.AppendUvarint(b, uint64(p))
		case int64: // a signed number
			b = binary.AppendVarint(b, p)
		case string:
			b = append(binary.AppendUvarint(b, uint64(len(p))), p...)
		case []byte:
			b = append(b, p...)
		default:
			panic(fmt.Sprintf("%T", p))
		}
	}
	return b
}

func TestRestoreRefuses(t *testing.T) {
	c := snapshotConfig(Input{"task", value.NoneOf(lowLabel)})
	c.Host = &recorder{}
	s, err := NewSession(c)
	if err != nil {
		t.Fatal(err)
	}
	runTurn(t, s, "def f(x = 1): return lambda: x\ng = f()\ntool = box.read\ndata = [task, 'text']\n")
	good, err := s.Snapshot(0)
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(*Config)) Config {
		c := c
		c.Tools, c.Inputs = slices.Clone(c.Tools), slices.Clone(c.Inputs)
		change(&c)
		return c
	}
	names := func(parts ...any) []byte { return bytesOf(append([]any{1, "x"}, parts...)...) }
	one := func(parts ...any) []byte { return bytesOf(append([]any{1}, parts...)...) }
	program := func(src string, earlier ...any) []byte {
		b := bytesOf(1, "p.star", src, len(earlier))
		return append(append(b, bytesOf(earlier...)...), 0)
	}
	in := names(tagObject, 0) // a name for the first object
	cellOf := bytesOf(kCell)  // an object that is a cell

	for _, test := range []struct {
		name      string
		c         Config
		b         []byte
		code, err string
	}{
		{"nothing", c, nil, "corrupt", "no snapshot"},
		{"something else", c, []byte("PK\x03\x04 something else, of some length, that is no snapshot of a session"), "corrupt", "no snapshot"},
		{"no more than its beginning", c, []byte(snapshotMagic), "corrupt", "ends after 17 bytes"},
		{"another version of the format", c, sealed([]byte(snapshotMagic + "\x02")), "version", "version 2 of the format, want 1"},
		{"another language", c, sealed(bytesOf([]byte(snapshotMagic), byte(1), "callgate-starlark/9")), "version", `"callgate-starlark/9"`},
		{"a byte that was changed", c, append(append(bytes.Clone(good[:60]), good[60]^1), good[61:]...), "corrupt", "digest does not fit"},
		{"a byte too few", c, good[:len(good)-1], "corrupt", "digest does not fit"},
		{"a byte too many", c, sealed(append(bytes.Clone(good[:len(good)-sha256.Size]), 0)), "corrupt", "got 1 bytes more"},
		{"a tool that is missing", with(func(c *Config) {
			c.Tools = slices.DeleteFunc(c.Tools, func(t ToolSig) bool { return t.Name == "box.read" })
		}), good, "tool", "tool box.read: the session had it"},
		{"a tool that takes something else", with(func(c *Config) {
			i := slices.IndexFunc(c.Tools, func(t ToolSig) bool { return t.Name == "box.read" })
			c.Tools[i].Params = []string{"name", "id"}
		}), good, "tool", "box.read: takes (name, id), took (id)"},
		{"an input that is missing", with(func(c *Config) { c.Inputs = nil }), good, "input", "input task: the session had it"},
		{"an input whose name a tool has taken", with(func(c *Config) { c.Tools = append(c.Tools, ToolSig{Name: "task"}) }), good, "input", "input task: there is a tool"},
		{"more than the budget", with(func(c *Config) { c.Limits.Memory = 4 << 10 }), good, "size", "more than 8192 bytes, twice"},

		{"an object of no kind", c, crafted(nil, nil, one(byte(31)), nil, nil), "corrupt", "object of kind 31"},
		{"a scalar as an object", c, crafted(nil, nil, one(kInt), nil, nil), "corrupt", "object of kind 3"},
		{"a text as an object", c, crafted(nil, nil, one(kString), nil, nil), "corrupt", "object of kind 6"},
		{"a list with a hash", c, crafted(nil, nil, one(byte(kList)|objectHashed, 0, 0, 0), nil, nil), "corrupt", "object of kind 42"},
		{"an object past the last", c, crafted(nil, nil, nil, in, nil), "corrupt", "object 0 of 0"},
		{"a leaf past the last", c, crafted(nil, nil, nil, names(tagLeaf, 0), nil), "corrupt", "leaf 0 of 0"},
		{"a cell as a value", c, crafted(nil, nil, one(cellOf, tagNone), in, nil), "corrupt", "got cell, want a value"},
		{"a list of nothing", c, crafted(nil, nil, one(kList, 1, 0, 4097, tagUnbound), in, nil), "corrupt", "value of kind 0"},
		{"a label that is not in the table", c, crafted(nil, nil, nil, names(tagNone|ownLabel, 99<<12|1), nil), "corrupt", "label 405505"},
		{"a label of more than 32 bits", c, crafted(nil, nil, nil, names(tagNone|ownLabel, 1<<32|4097), nil), "corrupt", "label 4294971393"},
		{"a label said twice", c, crafted(nil, nil, nil, names(tagNone|ownLabel, 0), nil), "corrupt", "label twice"},
		{"a number in more bytes than it needs", c, crafted(nil, nil, nil, names(tagInt, []byte{0x80, 0}), nil), "corrupt", "no number"},
		{"a number that does not end", c, crafted(nil, nil, nil, names(tagInt, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}), nil), "corrupt", "no number"},
		{"a tuple that contains itself", c, crafted(nil, nil, one(kTuple, 1, 0, tagObject, 0), in, nil), "corrupt", "got tuple that contains itself"},
		{"tuples that contain each other", c, crafted(nil, nil, bytesOf(2, kTuple, 1, 0, kTuple, 1, 0, tagObject, 1, tagObject, 0), in, nil), "corrupt", "got tuple that contains itself"},
		{"a struct in a tuple before it", c, crafted(nil, nil, bytesOf(2, kTuple, 1, 0, kStruct, 0, tagObject, 1), in, nil), "corrupt", "got struct that contains itself"},
		{"a hash of what has none", c, crafted(nil, nil, bytesOf(2, kList, 0, 0, byte(kTuple)|objectHashed, 1, 0, 4097, tagObject, 0), in, nil), "corrupt", "unhashable type: list"},
		{"fields out of order", c, crafted(nil, nil, one(kStruct, 2, tagString, "bb", tagNone, tagString, "aa", tagNone), in, nil), "corrupt", "field aa after bb"},
		{"a field with a number for a name", c, crafted(nil, nil, one(kStruct, 1, tagInt, int64(1), tagNone), in, nil), "corrupt", "got int, want a name"},
		{"a key twice", c, crafted(nil, nil, one(kDict, 2, 2, 0, 4097, tagInt, int64(1), tagNone, tagInt, int64(1), tagNone), in, nil), "corrupt", "key twice"},
		{"a key that is a list", c, crafted(nil, nil, bytesOf(2, kDict, 1, 3, 0, kList, 0, 0, 4097, tagObject, 1, tagNone, 4097), in, nil), "corrupt", "unhashable type: list"},
		{"entries without an index", c, crafted(nil, nil, one(kDict, 9, 0, 0, 4097, tagNone, tagNone), in, nil), "corrupt", "an index of 0"},
		{"an index that is full", c, crafted(nil, nil, one(kSet, 11, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), nil, nil), "corrupt", "got 11 entries"},
		{"an index too small for any", c, crafted(nil, nil, one(kSet, 1, 0, 2, 0), nil, nil), "corrupt", "an index of 2"},
		{"an index past all memory", c, crafted(nil, nil, one(kDict, 0, 0, 32), nil, nil), "size", "more than"},
		{"room past all memory", c, crafted(nil, nil, one(kList, 0, 1<<31-1), nil, nil), "size", "more than"},
		{"more elements than bytes", c, crafted(nil, nil, one(kList, 1<<20, 0), nil, nil), "corrupt", "1048576 as a length"},
		{"a small int as a large one", c, crafted(nil, nil, nil, names(tagBig, 1, string([]byte{1})), nil), "corrupt", "small int"},
		{"an int with zeros before it", c, crafted(nil, nil, nil, names(tagBig, 1, string(make([]byte, 12))), nil), "corrupt", "int of 12 bytes"},
		{"an int past the largest", c, crafted(nil, nil, nil, names(tagBig, 1, strings.Repeat("x", 64<<10+1)), nil), "corrupt", "int of 65537 bytes"},
		{"a range that overflows", c, crafted(nil, nil, nil, names(tagRange, int64(1<<62), int64(0), int64(1<<61), int64(8)), nil), "corrupt", "range of 8"},
		{"a range by nothing", c, crafted(nil, nil, nil, names(tagRange, int64(0), int64(1), int64(0), int64(1)), nil), "corrupt", "by 0"},
		{"a range of fewer than none", c, crafted(nil, nil, nil, names(tagRange, int64(0), int64(1), int64(1), int64(-1)), nil), "corrupt", "range of -1"},
		{"a sequence of no kind", c, crafted(nil, nil, nil, names(tagSeq, byte(9), tagString, "ab"), nil), "corrupt", "sequence of kind 9"},
		{"a sequence over itself", c, crafted(nil, nil, nil, names(tagSeq, byte(0), tagLeaf, 0), nil), "corrupt", "contains itself"},
		{"a sequence over a number", c, crafted(nil, nil, nil, names(tagSeq, byte(0), tagInt, int64(1)), nil), "corrupt", "got int, want a name"},
		{"an int as bytes", c, crafted(nil, nil, nil, bytesOf(2, "x", tagBig, 1, "123456789", "y", tagLeafBytes, 0), nil), "corrupt", "want a text"},
		{"a method that is none", c, crafted(nil, nil, nil, names(tagMethod, "append", tagInt, int64(1)), nil), "corrupt", `method "append", which int has not`},
		{"a method of a method", c, crafted(nil, nil, nil, names(tagMethod, "append", tagMethod, "append", tagLeaf, 0), nil), "corrupt", "contains itself"},
		{"a function that there is not", c, crafted(nil, nil, nil, names(tagUniverse, "system"), nil), "corrupt", `"system"`},
		{"a constant as a function", c, crafted(nil, nil, nil, names(tagUniverse, "None"), nil), "corrupt", `"None"`},
		{"a tool that there is not", c, crafted(nil, nil, nil, names(tagTool, "box.read.more"), nil), "corrupt", `"box.read.more"`},
		{"a name twice", c, crafted(nil, nil, nil, bytesOf(2, "x", tagNone, "x", tagNone), nil), "corrupt", "name x twice"},
		{"a program that does not compile", c, crafted(program("def f(:"), nil, nil, nil, nil), "corrupt", "program p.star"},
		{"a program that knows less than it needs", c, crafted(program("y = x"), nil, nil, nil, nil), "corrupt", "undefined: x"},
		{"a program that says it knows more", c, crafted(program("y = 1", "x"), nil, nil, nil, nil), "corrupt", "other names"},
		{"an instance of no program", c, crafted(nil, one(0), nil, nil, nil), "corrupt", "program 0 of 0"},
		{"a function of no instance", c, crafted(nil, nil, one(kFunc, 0, 1), nil, nil), "corrupt", "instance 0 of 0"},
		{"a function past the last", c, crafted(program("y = 1"), one(0), one(kFunc, 0, 1), nil, nil), "corrupt", "function 1 of 1"},
		{"a program as a function", c, crafted(program("y = 1"), one(0), one(kFunc, 0, 0), nil, nil), "corrupt", "a program itself"},
		{"a program whose globals there are not", c, crafted(program("def f(): pass"), one(0), one(kFunc, 0, 1), in, nil), "corrupt", "the session has no f"},
		{"a value as a cell", c, crafted(program("def f():\n  x = 1\n  return lambda: x\n"), one(0), bytesOf(2, kFunc, 0, 2, kList, 0, 0, 1, 4097), in, nil), "corrupt", "got list, want a cell"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := Restore(test.c, test.b)
			e, ok := errors.AsType[*SnapshotError](err)
			if !ok || e.Code != test.code || !strings.Contains(e.Error(), test.err) || s != nil {
				t.Errorf("got %v, %+v; want %q with the code %q", s, err, test.err, test.code)
			}
		})
	}
	// What the cases above are made of is sound where it is not what they are about.
	ok := crafted(program("def f():\n  x = 1\n  return lambda: x\n"), one(0),
		bytesOf(4, kFunc, 0, 2, cellOf, kDict, 1, 3, 0, kList, 1, 0, 1, tagInt, int64(7), 4097, tagNone, tagObject, 3, 4097, tagObject, 2),
		bytesOf(2, "f", tagObject, 0, "x", tagObject, 2), nil)
	s, err = Restore(c, ok)
	if err != nil {
		t.Fatal(err)
	}
	if o := runTurn(t, s, "print(f(), x)\n"); o.Prints[0].Text != "7 {None: [{...}]}\n" {
		t.Errorf("printed %q", o.Prints[0].Text)
	}
}

func TestRestoreAddsWhatIsNew(t *testing.T) {
	c := snapshotConfig(Input{"task", value.StringOf("old", lowLabel)})
	c.Host = &recorder{}
	s, err := NewSession(c)
	if err != nil {
		t.Fatal(err)
	}
	runTurn(t, s, "def f(): return task\n")
	b, err := s.Snapshot(0)
	if err != nil {
		t.Fatal(err)
	}
	c.Inputs = []Input{{"task", value.StringOf("new", lowLabel)}, {"more", value.StringOf("more", lowLabel)}}
	c.Tools = append(slices.Clone(c.Tools), ToolSig{Name: "box.write"})
	i := slices.IndexFunc(c.Tools, func(t ToolSig) bool { return t.Name == "box.read" })
	c.Tools[i].Params = []string{"id", "part"}
	c.Limits.Output = 50
	if s, err = Restore(c, b); err != nil {
		t.Fatal(err)
	}
	if got := s.Limits().Output; got != 50 {
		t.Errorf("the limit of output is %d, want the configuration's", got)
	}
	if o := runTurn(t, s, "print(f() + more)\nbox.write()\nbox.read(1, 2)\n"); o.Prints[0].Text != "oldmore\n" {
		t.Errorf("printed %q, want the value that the session had, and the new one", o.Prints[0].Text)
	}
}

// Another run goes on with a session: it is given other inputs, which functions of earlier programs see too, and its budgets of calls and
// output are whole.
func TestAnotherRunGoesOnWithASession(t *testing.T) {
	c := snapshotConfig(Input{"task", value.StringOf("old", lowLabel)}, Input{"rows", value.ListOf(lowLabel)})
	c.Host, c.Limits.Calls, c.Limits.Output = &recorder{}, 1, 8
	s, err := NewSession(c)
	if err != nil {
		t.Fatal(err)
	}
	runTurn(t, s, "def f(): return task\nkept = rows\nbox.read(1)\nprint(1234567)\n")
	b, err := s.Snapshot(0)
	if err != nil {
		t.Fatal(err)
	}
	secret := label.New(label.Untrusted, label.Only("ana"), nil)
	c.Inputs[0].Value = value.StringOf("new", secret)
	for _, test := range []struct {
		name   string
		next   bool
		status Status
	}{{"the same run", false, Limited}, {"the next run", true, OK}} {
		c.Next, c.Anew = test.next, []string{"task"}
		if s, err = Restore(c, b); err != nil {
			t.Fatal(err)
		}
		prog, err := Compile("next.star", []byte("box.read(1)\nprint(1234567)\n"), s.Env())
		if err != nil {
			t.Fatal(err)
		}
		if o, err := s.Run(t.Context(), prog, lowLabel); err != nil || o.Status != test.status {
			t.Errorf("%s: it ended as %s (%v), error %v, want %s", test.name, o.Status, o.Err, err, test.status)
		}
	}
	runTurn(t, s, "x = f()\nrows.append(1)\nsame = kept\n")
	if x, err := s.Get("x"); err != nil || x.Str != "new" || !x.Label.SameClass(secret) {
		t.Errorf("an earlier function sees %v labelled %v, error %v, want the new input under its own label", x.Text(), x.Label, err)
	}
	if same, err := s.Get("same"); err != nil || len(same.Items) != 1 {
		t.Errorf("what a name holds of an input that is not given anew is %v, error %v, want the input itself", same.Text(), err)
	}
}

// asker asks a session for a snapshot while its program runs.
type asker struct {
	recorder
	s   *Session
	err error
}

func (h *asker) Do(ctx context.Context, calls []Call) []Result {
	if calls[0].Kind == KindTool {
		_, h.err = h.s.Snapshot(0)
	}
	return h.recorder.Do(ctx, calls)
}

func TestSnapshotIsRefused(t *testing.T) {
	h := &asker{}
	c := snapshotConfig()
	c.Host = h
	s, err := NewSession(c)
	if err != nil {
		t.Fatal(err)
	}
	h.s = s
	runTurn(t, s, "send(1)\nx = 'text ' * 1000\n")
	if e, ok := errors.AsType[*SnapshotError](h.err); !ok || e.Code != "busy" {
		t.Errorf("while its program ran: %v, want busy", h.err)
	}
	b, err := s.Snapshot(0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Snapshot(int64(len(b))); err != nil {
		t.Errorf("within its own length: %v", err)
	}
	for n := int64(1); n < int64(len(b)); n += 97 {
		if _, err := s.Snapshot(n); err == nil || err.(*SnapshotError).Code != "size" {
			t.Fatalf("within %d bytes of %d: %v, want size", n, len(b), err)
		}
	}
}

// exercise uses every name of a session in ways that reach into it. It must not bring the evaluator down.
func exercise(t testing.TB, s *Session) {
	for _, n := range s.Names() {
		for _, text := range []string{
			"repr(%[1]s)", "for x in %[1]s: y = x", "%[1]s()", "{%[1]s: 1}", "%[1]s == %[1]s", "json.encode(%[1]s)", "sorted([%[1]s, %[1]s])",
			"%[1]s.append(1)", "%[1]s['a'] = 1", "%[1]s.pop()", "%[1]s.update(%[1]s)", "send(%[1]s)", "x = [dir(%[1]s), len(%[1]s), bool(%[1]s)]", "%[1]s += %[1]s",
		} {
			p, err := Compile("exercise.star", fmt.Appendf(nil, text+"\n", n), s.Env())
			if err != nil {
				break // no name that a program can write
			}
			o, err := s.Run(context.Background(), p, lowLabel)
			if err != nil {
				t.Fatal(err)
			}
			if o.Status == Crashed {
				t.Fatalf("%s: %s", fmt.Sprintf(text, n), o.Err.Detail)
			}
		}
	}
}

// tryRestore re-makes a session from bytes that nobody wrote, and uses it.
func tryRestore(t testing.TB, c Config, b []byte) (ok bool) {
	s, err := Restore(c, b)
	if err != nil {
		if e, ok := errors.AsType[*SnapshotError](err); !ok || e.Code == "internal" {
			t.Fatalf("%v\n%q", err, b)
		}
		return false
	}
	again, err := s.Snapshot(0)
	if err != nil {
		t.Fatalf("it cannot be written again: %v", err)
	}
	s2, err := Restore(c, again)
	if err != nil {
		t.Fatalf("what was written again cannot be read: %v", err)
	}
	if third, err := s2.Snapshot(0); err != nil || !bytes.Equal(again, third) {
		t.Fatalf("written twice, %v, it differs:\n%q\n%q", err, again, third)
	}
	exercise(t, s)
	return true
}

// hostileConfig has small limits: whatever b is, what is made of it stays small.
func hostileConfig() Config {
	c := snapshotConfig((&niInputs{}).fixed()...)
	c.Host = &recorder{}
	c.Limits = Limits{Steps: 2000, Memory: 256 << 10, Depth: 20, Calls: 100, Output: 10_000}
	return c
}

// fixed are inputs that do not depend on chance.
func (in *niInputs) fixed() []Input {
	*in = randomInputs(rand.New(rand.NewPCG(1, 1)), 55)
	return in.values()
}

// writtenSessions are snapshots of random sessions.
func writtenSessions(t testing.TB, n int) [][]byte {
	var out [][]byte
	for seed := range uint64(n) {
		var in niInputs
		inputs := in.fixed()
		l := &life{t: t, c: snapshotConfig(inputs...), world: niHost{in: &in}}
		l.c.Host = l
		l.live(richTurns(rand.New(rand.NewPCG(seed, 5))), func(l *life) {})
		b, err := l.s.Snapshot(0)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

func TestNoChangeOfASnapshotBringsTheProcessDown(t *testing.T) {
	c := hostileConfig()
	r := rand.New(rand.NewPCG(3, 3))
	tried, accepted := 0, 0
	for _, b := range writtenSessions(t, 12) {
		body := b[:len(b)-sha256.Size]
		for range 250 {
			changed := bytes.Clone(body)
			at := len(snapshotMagic) + r.IntN(len(body)-len(snapshotMagic))
			switch r.IntN(5) {
			case 0:
				changed[at] ^= 1 << r.IntN(8)
			case 1:
				changed[at] = byte(r.IntN(256))
			case 2:
				changed = append(changed[:at], changed[min(len(changed), at+1+r.IntN(4)):]...)
			case 3:
				changed = slices.Insert(changed, at, byte(r.IntN(24)))
			case 4:
				from := r.IntN(len(body))
				copy(changed[at:], body[from:min(len(body), from+1+r.IntN(12))])
			}
			tried++
			if tryRestore(t, c, sealed(changed)) {
				accepted++
			}
		}
		for at := 0; at < len(body); at += 1 + len(body)/200 {
			if tryRestore(t, c, sealed(body[:at])) {
				t.Errorf("the first %d bytes of %d are a session", at, len(body))
			}
		}
	}
	t.Logf("%d of %d changed snapshots were sessions", accepted, tried)
	if accepted < tried/50 {
		t.Error("hardly any: what lies behind the checks is not reached")
	}
}

func FuzzRestore(f *testing.F) {
	for _, b := range writtenSessions(f, 12) {
		f.Add(b[len(snapshotMagic) : len(b)-sha256.Size])
	}
	c := hostileConfig()
	f.Fuzz(func(t *testing.T, body []byte) {
		tryRestore(t, c, sealed(append([]byte(snapshotMagic), body...)))
	})
}

func TestAHostileSnapshotTakesLittleMemory(t *testing.T) {
	c := hostileConfig()
	many := func(n int, parts ...any) []byte {
		b := binary.AppendUvarint(nil, uint64(n))
		return append(b, bytes.Repeat(bytesOf(parts...), n)...)
	}
	for _, test := range []struct {
		name string
		b    []byte
	}{
		{"many lists with room", crafted(nil, nil, many(4000, kList, 0, 4000), nil, nil)},
		{"many dicts with an index", crafted(nil, nil, many(4000, kDict, 0, 0, 20), nil, nil)},
		{"one list that says it is long", crafted(nil, nil, bytesOf(1, kList, 1<<20, 0, make([]byte, 1<<20)), nil, nil)},
		{"a long text", crafted(nil, nil, nil, bytesOf(1, "x", tagString, strings.Repeat("x", 1<<20)), nil)},
		{"many large ints", crafted(nil, nil, nil, bytesOf(1, "x", many(100, tagBig, 1, strings.Repeat("x", 64<<10))), nil)},
		{"many cells", crafted(nil, nil, many(1<<20, kCell), nil, nil)},
		{"many names", crafted(nil, nil, nil, many(1<<20, "x", tagNone), nil)},
		{"a long program", crafted(bytesOf(1, "p.star", strings.Repeat("x = 1\n", 20_000), 0, 0), nil, nil, nil, nil)},
		{"many names known to a program", crafted(bytesOf(1, "p.star", "x = 1\n", 1<<20, make([]byte, 1<<20)), nil, nil, nil, nil)},
	} {
		t.Run(test.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if tryRestore(t, c, test.b) {
				t.Fatal("it is a session")
			}
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > uint64(4*c.Limits.Memory) {
				t.Errorf("%d bytes were allocated, with a budget of %d", n, c.Limits.Memory)
			}
		})
	}
}

func TestWriterAndReaderCountAlike(t *testing.T) {
	for seed := range uint64(60) {
		var in niInputs
		l := &life{t: t, c: snapshotConfig(in.fixed()...), world: niHost{in: &in}}
		l.c.Host = l
		l.live(richTurns(rand.New(rand.NewPCG(seed, 6))), func(l *life) {})
		w := newSnapshotWriter(l.s, 1<<20)
		w.session()
		s, err := NewSession(Config{Host: l, Tools: l.c.Tools, Limits: l.c.Limits})
		if err != nil {
			t.Fatal(err)
		}
		r := newSnapshotReader(s, sealed(w.b))
		r.session(l.c)
		if w.room != r.room {
			t.Fatalf("seed %d: the writer has counted %d bytes, the reader %d", seed, restoreRoom(l.s.limits)-w.room, restoreRoom(s.limits)-r.room)
		}
	}
}

func TestDeepDataIsWrittenAndReMade(t *testing.T) {
	c := Config{Host: &recorder{}}
	s, err := NewSession(c)
	if err != nil {
		t.Fatal(err)
	}
	runTurn(t, s, `
a, b, c, d, e = [], (), struct(x = 1), {}, lambda: 1
def nest(f): return lambda: f
for i in range(20000):
    a, b, c, d, e = [a], (b,), struct(x = c), {1: d}, nest(e)
wide = [(i, str(i), [i]) for i in range(20000)]
dag = ()
for i in range(200):
    dag = (dag, dag)
{dag: 1}
`)
	b, err := s.Snapshot(0)
	if err != nil {
		t.Fatal(err)
	}
	s2, err := Restore(c, b)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s2.Snapshot(0)
	if err != nil || !bytes.Equal(b, again) {
		t.Fatalf("written again, %v, it is not the same", err)
	}
	if o := runTurn(t, s2, "n = 0\nx = a\nwhile x:\n    x = x[0]\n    n += 1\nprint(n, len({dag: 1}), wide[-1])\n"); o.Prints[0].Text != "20000 1 (19999, \"19999\", [19999])\n" {
		t.Errorf("printed %q", o.Prints[0].Text)
	}
}

// What is written of each type, and what is not, has been decided for the fields that it had then.
func TestASnapshotKnowsEveryField(t *testing.T) {
	for _, test := range []struct {
		of     any
		fields string
	}{
		{Session{}, "tab floor history host polled limits permits names cells pre epoch live others turn calls printed output rises running"},
		{val{}, "p n k lab"},
		{tuple{}, "items hash mark next"},
		{list{}, "items st iters mark next"},
		{rangeSeq{}, "start stop step n"},
		{record{}, "names items mark next"},
		{cell{}, "v name mark"},
		{function{}, "code mod defaults free mark next"},
		{seq{}, "s mode"},
		{dict{}, "ents index live head st iters mark next of"},
		{object{}, "tuple class n of re"},
		{deque{}, "list block most"},
		{dictOf{}, "class factory"},
		{entry{}, "k v h"},
		{builtin{}, "name recv def"},
		{module{}, "name attrs"},
		{instance{}, "prog cells pre mark"},
		{Env{}, "Globals Predeclared"},
		{ToolSig{}, "Name Params Doc"},
	} {
		typ := reflect.TypeOf(test.of)
		var got []string
		for i := range typ.NumField() {
			got = append(got, typ.Field(i).Name)
		}
		want := strings.Fields(test.fields)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s has the fields %q, and had %q: see to it that snapshots keep what must be kept, then list them here", typ, got, want)
		}
	}
	if got := len(kindNames); got != 21 {
		t.Errorf("there are %d kinds of value, and were 21: see to it that snapshots keep them", got)
	}
}
