package gate

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"callgate/engine/eval"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// grantCall makes a call of endorse or declassify; an argument that is a Value keeps its labels.
func grantCall(kind eval.CallKind, args ...any) eval.Call {
	c := call("1.1", string(kind), args...)
	c.Kind = kind
	return c
}

func list(l label.Label, items ...any) value.Value {
	v, err := value.Of(items, l)
	if err != nil {
		panic(err)
	}
	return v
}

func TestWhatAnEndorsementLetsThrough(t *testing.T) {
	text := value.StringOf("invoice", mailed)
	options := list(trusted, "invoice", "offer", "spam", "offer", "other", "more")
	for _, test := range []struct {
		name string
		args []any
		pc   label.Label
		kind string
		bits int
	}{
		{"a bool", []any{"value", value.BoolOf(true, mailed)}, trusted, "bool", 1},
		{"None, or a bool", []any{"value", value.NoneOf(mailed)}, trusted, "enum", 2},
		{"None, or the one option", []any{"value", value.NoneOf(mailed), "options", list(trusted, "invoice")}, trusted, "enum", 1},
		{"None, or one of three options", []any{"value", value.NoneOf(mailed), "options", list(trusted, "invoice", "x", "y")}, trusted, "enum", 2},
		{"None, or one of four options", []any{"value", value.NoneOf(mailed), "options", list(trusted, "invoice", "x", "y", "z")}, trusted, "enum", 3},
		{"None as an option", []any{"value", value.NoneOf(mailed), "options", list(trusted, "invoice", nil)}, trusted, "enum", 1},
		{"None, or the only int", []any{"value", value.NoneOf(mailed), "low", 7, "high", 7}, trusted, "enum", 1},
		{"None, or one of eight ints", []any{"value", value.NoneOf(mailed), "low", 0, "high", 7}, trusted, "enum", 4},
		{"None, or no int at all", []any{"value", value.NoneOf(mailed), "low", 1, "high", 0}, trusted, "other", 32},
		{"None, and options that the attacker made", []any{"value", value.NoneOf(mailed), "options", list(mailed, "x")}, trusted, "enum", 2},
		{"a bool as an option", []any{"value", value.BoolOf(true, mailed), "options", list(trusted, true, "x", "y")}, trusted, "enum", 2},
		{"a bool that is none of the options", []any{"value", value.BoolOf(true, mailed), "options", list(trusted, "invoice")}, trusted, "other", 32},
		{"a bool that is no int between bounds", []any{"value", value.BoolOf(true, mailed), "low", 0, "high", 1}, trusted, "other", 32},
		{"text without options, by its size", []any{"value", text}, trusted, "other", 8 * len(`"invoice"`)},
		{"a member of five options", []any{"value", text, "options", options}, trusted, "enum", 3},
		{"a member of four options, one of them twice", []any{"value", text, "options", list(trusted, "invoice", "x", "y", "z", "x")}, trusted, "enum", 2},
		{"the one option", []any{"value", text, "options", list(trusted, "invoice")}, trusted, "enum", 1},
		{"one of two options", []any{"value", text, "options", list(trusted, "invoice", "x")}, trusted, "enum", 1},
		{"one of four options", []any{"value", text, "options", list(trusted, "invoice", "x", "y", "z")}, trusted, "enum", 2},
		{"no member of the options", []any{"value", text, "options", list(trusted, "offer")}, trusted, "other", 72},
		{"a number is not the text of it", []any{"value", value.IntOf(1, mailed), "options", list(trusted, "1", true, 1.0)}, trusted, "other", 8},
		{"options that the attacker made", []any{"value", text, "options", list(mailed, "invoice", "x")}, trusted, "other", 72},
		{"one option that the attacker made", []any{"value", text, "options", list(trusted, "x", value.StringOf("invoice", mailed))}, trusted, "other", 72},
		{"no options at all", []any{"value", text, "options", list(trusted)}, trusted, "other", 72},
		{"an int within bounds", []any{"value", value.IntOf(7, mailed), "low", 0, "high", 9}, trusted, "int", 4},
		{"an int at its bounds", []any{"value", value.IntOf(-8, mailed), "low", -8, "high", 7}, trusted, "int", 4},
		{"the only int", []any{"value", value.IntOf(7, mailed), "low", 7, "high", 7}, trusted, "int", 1},
		{"an int out of bounds", []any{"value", value.IntOf(10, mailed), "low", 0, "high", 9}, trusted, "other", 16},
		{"an int with one bound", []any{"value", value.IntOf(7, mailed), "low", 0}, trusted, "other", 8},
		{"an int between the attacker's bounds", []any{"value", value.IntOf(7, mailed), "low", 0, "high", value.IntOf(9, mailed)}, trusted, "other", 8},
		{"options that are None are none", []any{"value", text, "options", nil}, trusted, "other", 72},
		{"what is trusted already", []any{"value", value.StringOf("invoice", trusted)}, trusted, "other", 0},
		{"a list with one part that is not", []any{"value", list(trusted, 1, value.IntOf(2, mailed))}, trusted, "other", 40},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, nil)
			c := grantCall(eval.KindEndorse, append(test.args, "trust", "user", "why", "needed")...)
			c.PC = test.pc
			if res := r.do(c); res.Err != nil {
				t.Fatal(res.Err)
			}
			made := last[journal.EndorsementMade](r, journal.Endorsed)
			if made.Type != test.kind || made.Bits != test.bits || made.Left != 256-test.bits || made.Why != "needed" {
				t.Errorf("recorded %+v, want kind %s and %d bits", made, test.kind, test.bits)
			}
			if r.Left() != 256-test.bits {
				t.Errorf("the meter has %d bits left, want %d", r.Left(), 256-test.bits)
			}
			q := r.pdp.requests[0]
			kind, _ := q.Call.Args.Get("kind")
			bits, _ := q.Call.Args.Get("bits")
			if kind.Str != test.kind || bits.Int.Cmp(big.NewInt(int64(test.bits))) != 0 || q.Call.Kind != "endorse" {
				t.Errorf("policies saw kind %s and bits %s of a call of kind %s", kind.Text(), bits.Text(), q.Call.Kind)
			}
		})
	}
}

// What could have stood in one place is told apart by what it takes: values that take n bits are at most 2ⁿ, all of them together at most a quarter more.
func TestWhatCouldStandThereIsPaidFor(t *testing.T) {
	for n := range 40 {
		var options []any
		for i := range n {
			options = append(options, strings.Repeat("x", i+1))
		}
		for _, args := range [][]any{{"options", list(trusted, options...)}, {"low", 1, "high", n}} {
			all := []value.Value{value.NoneOf(mailed), value.BoolOf(true, mailed), value.BoolOf(false, mailed), value.StringOf("else", mailed), value.IntOf(int64(n+1), mailed)}
			for i := range n {
				all = append(all, value.StringOf(strings.Repeat("x", i+1), mailed), value.IntOf(int64(i+1), mailed))
			}
			sum := 0.0
			for _, v := range all {
				r, err := newGrant(grantCall(eval.KindEndorse, append([]any{"value", v, "trust", "user"}, args...)...))
				if err != nil {
					t.Fatal(err)
				}
				if r.measure(trusted); r.kind != grantOther {
					sum += math.Pow(2, float64(-r.bits))
				}
			}
			if sum > 1.25 {
				t.Errorf("%v of %d: what could stand there takes so little that it says %.2f times as much", args[0], n, sum)
			}
		}
	}
}

func TestAHugeValueTakesABoundedNumberOfBits(t *testing.T) {
	r := &grant{value: value.StringOf(strings.Repeat("x", label.Unbounded), mailed), trust: label.User}
	r.measure(trusted)
	if r.bits != label.Unbounded {
		t.Errorf("takes %d bits, want %d", r.bits, label.Unbounded)
	}
}

func TestAnEndorsementGrantsExactlyWhatWasAsked(t *testing.T) {
	from := label.New(label.Untrusted, label.Only("ana", "bob"), []string{"mail"}, label.Source{Tool: "mail.read", Of: "04.eml"})
	r := newRig(t, nil)
	r.SetTurn(1, label.Bottom(), trusted)
	v := value.DictOf(from,
		value.Field{Name: "low", Of: value.StringOf("x", from)},
		value.Field{Name: "mid", Of: value.StringOf("y", trusted.WithTrust(label.Internal))},
		value.Field{Name: "high", Of: value.StringOf("z", trusted.WithTrust(label.System))},
	)
	c := grantCall(eval.KindEndorse, "value", v, "trust", "internal")
	c.PC = private.WithTrust(label.Internal)
	out := r.do(c).Value
	low, _ := out.Get("low")
	mid, _ := out.Get("mid")
	high, _ := out.Get("high")
	wantLabel(t, "what was raised", low.Label, "internal/{ana,bob}#mail")
	wantLabel(t, "the dict", out.Label, "internal/{ana,bob}#mail")
	wantLabel(t, "its structure", out.Structure, "internal/{ana,bob}#mail")
	wantLabel(t, "a key", out.Keys[0].Label, "internal/{ana,bob}#mail")
	if !mid.Label.Equal(trusted.WithTrust(label.Internal)) || !high.Label.Equal(trusted.WithTrust(label.System)) {
		t.Errorf("what was high enough has changed: %s and %s", mid.Label, high.Label)
	}
	bits := 8 * len(v.AppendPlain(nil))
	if got := low.Label.Choice(); got != (label.Choice{Trust: label.Untrusted, Bits: bits}) {
		t.Errorf("what was raised was chosen by %+v, want %d untrusted bits", got, bits)
	}
	if got := low.Label.Sources(); len(got) != 1 {
		t.Errorf("sources %v, want the one it had", got)
	}
	if before, _ := v.Get("low"); before.Label.Trust() != label.Untrusted {
		t.Error("the value itself has changed: an endorsement copies")
	}
	made := last[journal.EndorsementMade](r, journal.Endorsed)
	wantLabel(t, "from", made.From, "untrusted/{ana,bob}#mail")
	wantLabel(t, "to", made.To, "internal/{ana,bob}#mail")
}

func TestDeclassifyWidensReadersAndNothingElse(t *testing.T) {
	for _, test := range []struct {
		name    string
		from    label.Label
		readers any
		want    string
		bits    int
	}{
		{"one more reader", private, "bob", "user/{ana,bob}#pii", 1},
		{"several", private, []string{"bob", "eve"}, "user/{ana,bob,eve}#pii", 1},
		{"everybody", private, []string{"*"}, "user/public#pii", 1},
		{"the public", private, "public", "user/public#pii", 1},
		{"one who reads it already", private, "ana", "user/{ana}#pii", 0},
		{"what is public already", trusted, "ana", "user/public", 0},
		{"nobody in particular", private, []string{}, "user/{ana}#pii", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, nil)
			res := r.do(grantCall(eval.KindDeclassify, "value", value.BoolOf(true, test.from), "readers", test.readers))
			if res.Err != nil {
				t.Fatal(res.Err)
			}
			wantLabel(t, "the result", res.Value.Label, test.want)
			if made := last[journal.EndorsementMade](r, journal.Endorsed); made.Bits != test.bits || made.Kind != "declassify" {
				t.Errorf("recorded %+v, want %d bits", made, test.bits)
			}
			if got := res.Value.Label.Grants(); got != nil {
				t.Errorf("grants %v: nobody of lower trust chose anything", got)
			}
		})
	}
}

func TestOptionsThatTheReadersMayNotReadDoNotBoundADeclassification(t *testing.T) {
	for _, test := range []struct {
		name    string
		options value.Value
		kind    string
	}{
		{"public options", list(trusted, "red", "green"), "enum"},
		{"options that are secret themselves", list(private, "red", "green"), "other"},
		{"options that the attacker made", list(mailed, "red", "green"), "other"},
	} {
		r := newRig(t, nil)
		res := r.do(grantCall(eval.KindDeclassify, "value", value.StringOf("red", private), "readers", "bob", "options", test.options))
		if res.Err != nil {
			t.Fatal(res.Err)
		}
		if made := last[journal.EndorsementMade](r, journal.Endorsed); made.Type != test.kind {
			t.Errorf("%s: kind %s, want %s", test.name, made.Type, test.kind)
		}
	}
}

func TestGrantsThatNoPolicyCanMake(t *testing.T) {
	yes := value.BoolOf(true, mailed)
	internal := trusted.WithTrust(label.Internal)
	for _, test := range []struct {
		name string
		kind eval.CallKind
		args []any
		pc   label.Label
		code string
	}{
		{"untrusted control flow endorses", eval.KindEndorse, []any{"value", yes, "trust", "internal"}, mailed, "denied (flow.endorse)"},
		{"control flow below what is asked", eval.KindEndorse, []any{"value", yes, "trust", "user"}, internal, "denied (flow.endorse)"},
		{"the attacker says which trust", eval.KindEndorse, []any{"value", yes, "trust", value.StringOf("user", mailed)}, trusted, "denied (flow.endorse)"},
		{"the attacker says why", eval.KindEndorse, []any{"value", yes, "trust", "user", "why", value.StringOf("ok", mailed)}, trusted, "denied (flow.endorse)"},
		{"system trust for a user's program", eval.KindEndorse, []any{"value", yes, "trust", "system"}, trusted, "denied (flow.endorse)"},
		{"an untrusted value gets readers", eval.KindDeclassify, []any{"value", value.BoolOf(true, mailed.WithReaders(label.Only("ana"))), "readers", "eve"}, trusted, "denied (flow.declassify)"},
		{"untrusted control flow gives readers", eval.KindDeclassify, []any{"value", value.BoolOf(true, private), "readers", "eve"}, mailed, "denied (flow.declassify)"},
		{"the attacker says who reads", eval.KindDeclassify, []any{"value", value.BoolOf(true, private), "readers", list(trusted, value.StringOf("eve", mailed))}, trusted, "denied (flow.declassify)"},
		{"more bits than the meter has", eval.KindEndorse, []any{"value", value.StringOf(strings.Repeat("x", 40), mailed), "trust", "user"}, trusted, "denied (core.meter)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.SetTurn(1, test.pc, test.pc)
			c := grantCall(test.kind, test.args...)
			c.PC = test.pc
			wantCode(t, r.do(c), test.code)
			if len(r.pdp.requests) != 0 {
				t.Error("the policies were asked")
			}
			if slices.Contains(r.types(), journal.Endorsed) {
				t.Error("it was recorded as made")
			}
			if made := last[journal.DecisionMade](r, journal.Decided); made.Decision.Effect != policies.Deny || len(made.Decision.Reasons) == 0 {
				t.Errorf("recorded %+v", made.Decision)
			}
		})
	}
}

func TestMistakesOfGrants(t *testing.T) {
	yes := value.BoolOf(true, mailed)
	for _, test := range []struct {
		name string
		kind eval.CallKind
		args []any
		want string
	}{
		{"no value", eval.KindEndorse, []any{"trust", "user"}, "value: missing"},
		{"no trust", eval.KindEndorse, []any{"value", yes}, "trust: missing"},
		{"a trust that does not exist", eval.KindEndorse, []any{"value", yes, "trust", "high"}, `trust: got "high"`},
		{"a trust that is no text", eval.KindEndorse, []any{"value", yes, "trust", 2}, "trust: got int, want string"},
		{"no readers", eval.KindDeclassify, []any{"value", yes}, "readers: missing"},
		{"readers that are no names", eval.KindDeclassify, []any{"value", yes, "readers", []any{1}}, "readers: got int"},
		{"readers in one text", eval.KindDeclassify, []any{"value", yes, "readers", "{ana,bob}"}, "readers: got \"{ana,bob}\", want \"public\""},
		{"readers in a dict", eval.KindDeclassify, []any{"value", yes, "readers", map[string]any{"a": "b"}}, "readers: got dict"},
		{"trust for declassify", eval.KindDeclassify, []any{"value", yes, "trust", "user"}, "trust: unknown"},
		{"an unknown argument", eval.KindEndorse, []any{"value", yes, "trust", "user", "wy", "x"}, "wy: unknown"},
		{"an argument twice", eval.KindEndorse, []any{"value", yes, "value", yes}, "value: given twice"},
		{"options in a text", eval.KindEndorse, []any{"value", yes, "trust", "user", "options", "abc"}, "options: got string, want list"},
		{"a bound that is no int", eval.KindEndorse, []any{"value", yes, "trust", "user", "low", 0.5}, "low: got float, want int"},
		{"a reason that is no text", eval.KindEndorse, []any{"value", yes, "trust", "user", "why", 1}, "why: got int, want string"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, nil)
			err := wantCode(t, r.do(grantCall(test.kind, test.args...)), "bad-argument")
			if !strings.Contains(err.Text, test.want) {
				t.Errorf("text %q, want %q in it", err.Text, test.want)
			}
			wantTypes(t, r, journal.CallResult)
			if r.Left() != 256 {
				t.Errorf("the meter has %d bits left", r.Left())
			}
		})
	}
}

func TestARefusedEndorsementTakesNoBitsOfItsOwn(t *testing.T) {
	r := newRig(t, nil)
	r.pdp.decide = always(denial("never"))
	wantCode(t, r.do(grantCall(eval.KindEndorse, "value", value.BoolOf(true, trusted), "trust", "user")), "denied (never)")
	if r.Left() != 256 {
		t.Errorf("the meter has %d bits left, want all", r.Left())
	}
}

func TestAnEndorsementThatCannotBeRecordedIsNotMade(t *testing.T) {
	r := newRig(t, nil)
	r.store.refuse = func(e journal.Event) bool { return e.Type == journal.Endorsed }
	res := r.do(grantCall(eval.KindEndorse, "value", value.BoolOf(true, mailed), "trust", "user"))
	wantCode(t, res, "journal")
	if res.Value.Kind != value.Invalid {
		t.Errorf("got %s", res.Value.Text())
	}
}

func TestAnEndorsementCanBeApprovedAndLowered(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Approver = ApproveAll{By: "test"} })
	d := asking(policies.Approval{Ask: "who"})
	d.Obligations = []policies.Obligation{oblige("label", map[string]any{"tags": []any{"endorsed"}})}
	r.pdp.decide = always(d)
	res := r.do(grantCall(eval.KindEndorse, "value", value.BoolOf(true, mailed), "trust", "user"))
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	wantLabel(t, "the result", res.Value.Label, "user/public#endorsed")
	wantTypes(t, r, journal.Decided, journal.Approved, journal.Endorsed)
}

// The text of a secret, one bit at a time, costs one bit each.
func TestOneBitChoicesEmptyTheMeter(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Meter = 3 })
	for i := range 5 {
		res := r.do(grantCall(eval.KindEndorse, "value", value.BoolOf(true, mailed), "trust", "user"))
		if (res.Err == nil) != (i < 3) {
			t.Errorf("endorsement %d: %v", i+1, res.Err)
		}
	}
	if got := r.Counts(); got.Endorsed != 3 || got.Bits != 3 {
		t.Errorf("counts %+v", got)
	}
}

func TestAGateWithoutAMeterEndorsesNothing(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Meter = 0 })
	wantCode(t, r.do(grantCall(eval.KindEndorse, "value", value.BoolOf(true, mailed), "trust", "user")), "denied")
}
