package agents_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"callgate/agents"
	"callgate/engine"
	"callgate/engine/eval"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
)

// said are the lines of a person at the invoices.
var said = []string{
	"orders = payments.orders()",
	"[o['id'] for o in orders][0]",
	"body = mail.read('04-urgent.eml')['body']",
	"body[:4]",
	"len(orders) > 1",
}

// say has a person write lines, and returns what the last one came to.
func say(t *testing.T, i *agents.Interactive, lines ...string) (entry agents.Entry, err error) {
	t.Helper()
	for _, l := range lines {
		if entry, err = i.Exec(t.Context(), "", l); err != nil {
			return entry, err
		}
	}
	return entry, nil
}

func TestPlacesAreThoseOfWhatWasTyped(t *testing.T) {
	i, err := invoicesOver(t, t.TempDir(), journal.NewMemory()).Interactive(t.Context(), agents.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ text, place string }{
		{"1 // 0", "line1:1:3"},
		{"x = 1 // 0", "line2:1:7"},
		{"'é'; 1 // 0", "line3:1:8"},
		{"[1,\n 2][4]", "line4:2:4"},
		{"1; lambda x: 1 // x", ""},
		{"_(0)", "line5:1:16"},
		{"_ = 1 // 0", "line7:1:7"},
		{"unknown + 1", "line8:1:1"},
		{"mail.nope", "line9:1:6"},
	} {
		e, err := say(t, i, test.text)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if out := e.Outcome.Err; out != nil {
			got = fmt.Sprintf("%s:%d:%d", out.Site.File, out.Site.Line, out.Site.Column)
			for _, s := range out.Syntax {
				got = fmt.Sprintf("%s:%d:%d", s.File, s.Line, s.Column)
			}
		}
		if got != test.place || e.Program != test.text {
			t.Errorf("%q: got %q of %q, want %q of what was typed", test.text, got, e.Program, test.place)
		}
	}
}

func TestAPersonsProgramsAreTheirsWhateverTheyWereShown(t *testing.T) {
	i, err := invoicesOver(t, t.TempDir(), journal.NewMemory()).Interactive(t.Context(), agents.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := say(t, i, said[:4]...)
	if err != nil || e.Value == nil || e.Value.Label.Trust() != label.Untrusted {
		t.Fatalf("got %+v, %v; want an untrusted value", e, err)
	}
	e, err = say(t, i, "'GB29'")
	if err != nil || e.Value == nil || !e.Value.Label.SameClass(label.New(label.User, label.Public(), nil)) {
		t.Errorf("what is typed is %+v, %v; want it to be the person's", e.Value, err)
	}
	for _, test := range []struct {
		text   string
		status eval.Status
		value  value.Kind // Invalid: none
		held   bool
	}{
		{"x = 1", eval.OK, value.Invalid, false},
		{"None", eval.OK, value.Invalid, false},
		{"x; x + 1", eval.OK, value.Int, false},
		{"(1 +\n 2)", eval.OK, value.Int, false},
		{"try:\n    x\nexcept:\n    x", eval.OK, value.Invalid, false},
		{"len", eval.OK, value.Invalid, true},
		{"def f():\n    return 1", eval.OK, value.Invalid, false},
		{"1 // 0", eval.Failed, value.Invalid, false},
		{"x =", eval.Failed, value.Invalid, false},
		{"done(x)", eval.Answered, value.Invalid, false},
	} {
		e, err := say(t, i, test.text)
		if err != nil {
			t.Fatal(err)
		}
		kind := value.Invalid
		if e.Value != nil {
			kind = e.Value.Kind
		}
		if e.Outcome.Status != test.status || kind != test.value || (e.Held != "") != test.held {
			t.Errorf("%q: got %s, %s, %q; want %+v", test.text, e.Outcome.Status, kind, e.Held, test)
		}
	}
	if err := i.End(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestASessionThatWasBrokenOffIsGoneOnWith stops a session at appends all over it, and goes on with it and over it.
func TestASessionThatWasBrokenOffIsGoneOnWith(t *testing.T) {
	for n := 4; ; n += 5 {
		state, store := t.TempDir(), journal.NewMemory()
		i, err := invoicesOver(t, state, &stopping{store, n, n%2 == 0}).Interactive(t.Context(), agents.RunOptions{ID: "r"})
		if err == nil {
			_, err = say(t, i, said...)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, errStopped) {
			t.Fatal(err)
		}
		again, err := invoicesOver(t, state, store).GoOn(t.Context(), engine.Again{Run: "r", By: "ap"})
		if err != nil {
			t.Fatalf("stopped at append %d: %v", n, err)
		}
		e, err := say(t, again, said[again.Turns():]...)
		if again.Turns() == 0 || err != nil {
			t.Fatalf("stopped at append %d: %+v, %v", n, e, err)
		}
		if e, err = say(t, again, "body[:2] + orders[0]['id']"); err != nil || e.Value == nil || e.Value.Label.Trust() != label.Untrusted || !strings.HasSuffix(e.Value.Str, "PO-1001") {
			t.Fatalf("stopped at append %d: got %+v, %v; want what was bound, with its labels", n, e.Value, err)
		}
		if err := again.End(t.Context()); err != nil {
			t.Fatal(err)
		}
		replayed, err := invoicesOver(t, t.TempDir(), store).Replay(t.Context(), "r", nil)
		if err != nil || len(replayed.Differences) > 0 || !replayed.Ended || replayed.Met != replayed.Events {
			t.Fatalf("stopped at append %d: replayed %+v, %v", n, replayed, err)
		}
	}
}

func TestACancelledLineEndsAndTheSessionGoesOn(t *testing.T) {
	store := journal.NewMemory()
	i, err := invoicesOver(t, t.TempDir(), store).Interactive(t.Context(), agents.RunOptions{ID: "r"})
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, text := range []string{"while True: pass", "payments.orders()"} {
		e, err := i.Exec(ended, "", text)
		if err != nil || e.Outcome.Status != eval.Cancelled {
			t.Fatalf("%q: got %s, %v; want cancelled", text, e.Outcome.Status, err)
		}
	}
	if e, err := say(t, i, "1 + 1"); err != nil || e.Value == nil {
		t.Fatalf("got %+v, %v; want that the session goes on", e, err)
	}
	if err := i.End(ended); err != nil {
		t.Fatal(err)
	}
	replayed, err := invoicesOver(t, t.TempDir(), store).Replay(t.Context(), "r", nil)
	if err != nil || len(replayed.Differences) > 0 || !replayed.Ended {
		t.Errorf("replayed %+v, %v", replayed, err)
	}
	again, err := invoicesOver(t, t.TempDir(), store).GoOn(t.Context(), engine.Again{Run: "r"})
	if err != nil || again.Turns() != 3 {
		t.Fatalf("got %+v, %v; want to go on after 3 lines", again, err)
	}
	if e, err := say(t, again, "_ + 1"); err != nil || e.Value == nil || e.Value.Int.Int64() != 3 {
		t.Errorf("got %+v, %v; want 3", e, err)
	}
	if err := again.End(t.Context()); err != nil {
		t.Error(err)
	}
}

// A line that waited, after which others were typed, stays as it was when the session is gone on with; one at the end is decided again.
func TestALineThatWaitedBeforeOthersStaysSo(t *testing.T) {
	const rules = "{id: p.ask, when: \"call.tool == 'box.write'\", action: ask}, " + writeAllowed
	for _, line := range []string{"box.write(\"x\")", "the_clerk(\"1\")", "parallel([lambda: box.read(\"1\"), lambda: the_clerk(\"2\")])"} {
		d, store := &desk{}, journal.NewMemory()
		dir := family(t, "done(1)\n", "box.write(\"x\")\ndone(1)\n", rules, nil)
		i, err := built(t, dir, agents.Options{Tools: d.tools(), Store: store}).Interactive(t.Context(), agents.RunOptions{ID: "r"})
		if err != nil {
			t.Fatal(err)
		}
		for _, said := range []struct {
			line string
			want eval.Status
		}{{"n = 1", eval.OK}, {line, eval.Waiting}, {"n += 1", eval.OK}, {line, eval.Waiting}} {
			if e, err := say(t, i, said.line); err != nil || e.Outcome.Status != said.want {
				t.Fatalf("%s: %s, %v, %v, want %s", said.line, e.Outcome.Status, e.Outcome.Err, err, said.want)
			}
		}
		if err := i.Session().Close(); err != nil {
			t.Fatal(err)
		}
		a := built(t, dir, agents.Options{Tools: d.tools(), Store: store, Approver: gate.ApproveAll{By: "ana"}})
		if again, err := a.Replay(t.Context(), "r", nil); err != nil || !again.Same() || again.Met != again.Events {
			t.Errorf("%s: replayed %+v, %v", line, again, err)
		}
		i, err = a.GoOn(t.Context(), engine.Again{Run: "r"})
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		e, err := say(t, i, "n")
		if err != nil || e.Value == nil || e.Value.Text() != "2" || len(d.wrote) != 1 {
			t.Errorf("%s: %+v, %v, wrote %v, want that the line at the end was made", line, e, err, d.wrote)
		}
		if err := i.End(t.Context()); err != nil {
			t.Fatal(err)
		}
		sameAgain(t, a)
	}
}
