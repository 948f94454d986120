package gate

import (
	"fmt"
	"strings"
	"testing"

	"callgate/engine/eval"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

func TestShowingAValueIsACall(t *testing.T) {
	r := newRig(t, nil)
	v := list(mailed, 1, "two")
	o, err := r.Observe(t.Context(), "m", 1, v, trusted)
	if err != nil || !o.Shown || o.Text != `[1, "two"]` {
		t.Fatalf("got %+v, %v", o, err)
	}
	wantLabel(t, "the context", r.Context(), "untrusted/public")
	wantLabel(t, "the context in the observation", o.Context, "untrusted/public")
	wantTypes(t, r, journal.Decided, journal.Observation)
	q := r.pdp.requests[0]
	if q.Call.Kind != "observe" || q.Call.Tool != "observe" || q.Call.ID != "1.o1" || fmt.Sprint(q.Call.Effects, q.Call.Sinks) != "[egress] [model]" {
		t.Errorf("asked about %+v", q.Call)
	}
	if l := q.Leaves[0]; l.Path != "value[0]" || l.Sink != policies.SinkModel {
		t.Errorf("leaf %+v", l)
	}
	seen := last[journal.Observed](r, journal.Observation)
	if !seen.Shown || seen.Text != o.Text || seen.Name != "m" || !seen.Context.Equal(o.Context) {
		t.Errorf("recorded %+v", seen)
	}
	if r.Left() != 256 {
		t.Errorf("the meter has %d bits left: what is shown lowers the context in their place", r.Left())
	}
	r.SetTurn(2, r.Context(), trusted)
	wantLabel(t, "the context of the next turn", r.Context(), "untrusted/public")
	o, err = r.Observe(t.Context(), "x", 1, value.IntOf(1, trusted), private)
	if err != nil || r.pdp.requests[1].Call.ID != "2.o1" {
		t.Fatalf("got %+v, %v", o, err)
	}
	wantLabel(t, "the context after a value shown under a private condition", r.Context(), "untrusted/{ana}#pii")
}

func TestAHiddenValueIsDescribedWithoutItsData(t *testing.T) {
	whole := mailed.WithoutSources().WithSources(label.Source{Tool: "mail.read", Of: secretText})
	for _, test := range []struct {
		name string
		v    value.Value
		want string
	}{
		{"text", value.StringOf(secretText, mailed), "x: string of size up to 100 from mail.read, trust untrusted, readers #0 (hidden)"},
		{"an empty text", value.StringOf("", mailed), "x: string of size 0 from mail.read, trust untrusted, readers #0 (hidden)"},
		{"a number", value.IntOf(31337, mailed), "x: int from mail.read, trust untrusted, readers #0 (hidden)"},
		{"a list", list(mailed, secretText, 1, 2), "x: list of size up to 10 from mail.read, trust untrusted, readers #0 (hidden)"},
		{"a dict", value.DictOf(mailed, value.Field{Name: secretText, Of: value.IntOf(1, mailed)}), "x: dict of size 1 from mail.read, trust untrusted, readers #0 (hidden)"},
		{"what a tool gave, changed", value.DictOf(whole, value.Field{Name: secretText, Of: value.IntOf(1, whole)}), "x: dict of size 1 from mail.read {id: str, body: str, email: str}, trust untrusted, readers #0 (hidden)"},
		{"of two tools", value.IntOf(1, whole.Join(private.WithSources(label.Source{Tool: "files.read"}))), "x: int, trust untrusted, readers #0 (hidden)"},
		{"a large list", value.ListOf(mailed, make([]value.Value, 11)...), "x: list of size up to 100 from mail.read, trust untrusted, readers #0 (hidden)"},
		{"a huge text", value.StringOf(strings.Repeat("x", 200_000), mailed), "x: string of size over 100000 from mail.read, trust untrusted, readers #0 (hidden)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.pdp.decide = always(denial("observe.no"))
			o, err := r.Observe(t.Context(), "x", 1, test.v, trusted)
			if err != nil || o.Shown || o.Text != test.want {
				t.Errorf("got %+v, %v, want %q", o, err, test.want)
			}
			wantLabel(t, "the context", r.Context(), "user/public")
			if seen := last[journal.Observed](r, journal.Observation); seen.Shown || seen.Text != o.Text || fmt.Sprint(seen.Rules) != "[observe.no]" {
				t.Errorf("recorded %+v", seen)
			}
			if want := 256 - DescribeBits - 2; r.Left() != want { // 2 for which of the tools
				t.Errorf("the meter has %d bits left, want %d", r.Left(), want)
			}
			if c := r.Counts(); c.Hidden != 1 || c.Shown != 0 || c.Denied != 0 {
				t.Errorf("counts %+v", c)
			}
		})
	}
}

// Which of several names a hidden value has is paid for as well.
func TestTheChoiceOfANameIsPaidFor(t *testing.T) {
	for names, want := range map[int]int{0: 0, 1: 0, 2: 1, 5: 3, 8: 3, 9: 4} {
		r := newRig(t, nil)
		r.pdp.decide = always(denial("no"))
		if _, err := r.Observe(t.Context(), "x", names, value.IntOf(1, mailed), trusted); err != nil || r.Left() != 256-DescribeBits-2-want {
			t.Errorf("one of %d names: %d bits left, error %v, want %d taken for it", names, r.Left(), err, want)
		}
	}
}

// Which readers a hidden value has may depend on what chose it: from the second set of readers on, a description tells which of them.
func TestTheChoiceOfReadersIsPaidFor(t *testing.T) {
	r := newRig(t, nil)
	r.pdp.decide = always(denial("no"))
	left := r.Left()
	for i, who := range []string{"ana", "bob", "ana", "eve", "joe", "eve"} {
		v := value.IntOf(1, mailed.WithReaders(label.Only(who)))
		if _, err := r.Observe(t.Context(), "x", 1, v, trusted); err != nil {
			t.Fatal(err)
		}
		if got, want := left-r.Left(), DescribeBits+2+[]int{0, 1, 2, 2, 2, 3}[i]; got != want {
			t.Errorf("description %d took %d bits, want %d", i+1, got, want)
		}
		left = r.Left()
	}
}

func TestReadersAreNamedByTheirIndex(t *testing.T) {
	r := newRig(t, nil)
	r.pdp.decide = always(denial("no"))
	for i, readers := range []label.Readers{label.Only("ana"), label.Only("eve"), label.Only("ana")} {
		o, err := r.Observe(t.Context(), "x", 1, value.IntOf(1, mailed.WithReaders(readers)), trusted)
		if want := fmt.Sprintf("readers #%d", i%2); err != nil || !strings.Contains(o.Text, want) || strings.Contains(o.Text, "ana") {
			t.Errorf("got %q, %v, want %q", o.Text, err, want)
		}
	}
}

func TestWithoutBitsAHiddenValueIsOnlyHidden(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Meter = DescribeBits + 2 })
	r.pdp.decide = always(denial("no"))
	first, _ := r.Observe(t.Context(), "x", 1, value.IntOf(1, mailed), trusted)
	second, _ := r.Observe(t.Context(), "x", 1, value.IntOf(1, mailed), trusted)
	known, _ := r.Observe(t.Context(), "x", 1, value.IntOf(1, trusted), trusted)
	if first.Text == Hidden || second.Text != Hidden {
		t.Errorf("got %q and then %q", first.Text, second.Text)
	}
	if known.Text == Hidden {
		t.Error("a description of what the model knows anyway costs nothing")
	}
}

func TestWhatIsUntrustedIsHiddenUnlessTheAgentReveals(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Reveal = false })
	o, err := r.Observe(t.Context(), "x", 1, list(trusted, value.StringOf(secretText, mailed)), trusted)
	if err != nil || o.Shown || strings.Contains(o.Text, secretText) || fmt.Sprint(o.Rules) != "[core.hide-untrusted]" {
		t.Errorf("got %+v, %v", o, err)
	}
	if o, err = r.Observe(t.Context(), "x", 1, value.StringOf("y", trusted), trusted); err != nil || !o.Shown {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestAnObservationCanBeRedactedAndLowered(t *testing.T) {
	r := newRig(t, nil)
	r.pdp.decide = always(allowing(oblige("redact", map[string]any{"path": "/args/value/iban"}), oblige("label", map[string]any{"tags": []any{"seen"}})))
	v := value.DictOf(trusted, value.Field{Name: "iban", Of: value.StringOf(secretText, mailed)})
	o, err := r.Observe(t.Context(), "x", 1, v, trusted)
	if err != nil || o.Text != `{"iban": "[redacted]"}` {
		t.Errorf("got %+v, %v", o, err)
	}
	wantLabel(t, "the context", r.Context(), "user/public#seen")
}

func TestALongValueIsCut(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Limits.Show = 10 })
	o, err := r.Observe(t.Context(), "x", 1, value.StringOf("ääääääää", trusted), trusted)
	if want := `äääää… (cut at 10 bytes)`; err != nil || o.Text != want {
		t.Errorf("got %q, %v, want %q", o.Text, err, want)
	}
}

func TestAnObservationThatWaits(t *testing.T) {
	r := newRig(t, nil)
	r.pdp.decide = always(asking(policies.Approval{Ask: "look"}))
	_, err := r.Observe(t.Context(), "x", 1, value.StringOf("y", trusted), trusted)
	if e, ok := err.(*eval.CallError); !ok || !e.Wait || !e.Final {
		t.Errorf("got %v, want one that waits", err)
	}
	wantLabel(t, "the context", r.Context(), "user/public")
}

func TestAnObservationThatCannotBeRecordedIsNotShown(t *testing.T) {
	r := newRig(t, nil)
	r.store.refuse = func(e journal.Event) bool { return e.Type == journal.Observation }
	o, err := r.Observe(t.Context(), "x", 1, value.StringOf("y", mailed), trusted)
	if err == nil || o.Text != "" || o.Shown {
		t.Errorf("got %+v, %v", o, err)
	}
	wantLabel(t, "the context", r.Context(), "user/public")
}

func TestRefusalsThatDependOnHiddenDataTakeFromTheMeter(t *testing.T) {
	for _, test := range []struct {
		name  string
		body  label.Label
		pc    label.Label
		meter int
		code  string
		left  int
	}{
		{"on data that the model has seen", trusted, trusted, 20, "denied (no)", 20},
		{"on an untrusted argument", mailed, trusted, 20, "denied (no)", 20 - RefusalBits},
		{"on a private argument", private, trusted, 20, "denied (no)", 20 - RefusalBits},
		{"under a private condition", trusted, private, 20, "denied (no)", 20 - RefusalBits},
		{"and too few bits are left", mailed, trusted, RefusalBits - 1, "denied", RefusalBits - 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.Meter = test.meter })
			r.pdp.decide = always(denial("no"))
			c := send("1.1", "")
			c.Args[1].Value = value.StringOf("x", test.body)
			c.PC = test.pc
			err := wantCode(t, r.do(c), test.code)
			if test.code == "denied" && err.Hint != "" {
				t.Errorf("hint %q", err.Hint)
			}
			if r.Left() != test.left {
				t.Errorf("the meter has %d bits left, want %d", r.Left(), test.left)
			}
		})
	}
}

func TestRevealTakesBitsForWhatIsAboveTheContext(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Meter = 4 })
	for _, test := range []struct {
		l    label.Label
		bits int
		ok   bool
	}{{trusted, 100, true}, {mailed, 3, true}, {mailed, 2, false}, {mailed, -1, false}, {mailed, 1, true}, {mailed, 1, false}, {mailed, 0, true}} {
		if got := r.Reveal(test.l, test.bits); got != test.ok {
			t.Errorf("Reveal(%s, %d) = %t with %d left, want %t", test.l, test.bits, got, r.Left(), test.ok)
		}
	}
}
