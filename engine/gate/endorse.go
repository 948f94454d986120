package gate

import (
	"context"
	"fmt"
	"math/big"
	"math/bits"
	"slices"
	"strings"

	"callgate/engine/eval"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// What an endorsement lets through, as policies see it in the argument kind.
const (
	grantBool  = "bool"  // one bit
	grantEnum  = "enum"  // a member of n trusted options, or None: ⌈log₂ n⌉ bits, one at least
	grantInt   = "int"   // an int within trusted bounds: ⌈log₂ of how many⌉ bits, one at least
	grantOther = "other" // anything else: its size in bits
)

const reasonMeter = "core.meter"

// grant is a request to raise the label of a value: its trust (endorse), or its
// readers (declassify).
type grant struct {
	value    value.Value
	trust    label.Trust   // asked for by endorse
	readers  label.Readers // asked for by declassify
	widen    bool          // declassify
	why      string
	options  *value.Value // a list of what the value may be
	low      *value.Value // bounds of an int
	high     *value.Value
	steering []eval.Arg // the arguments, besides the value, that say what is asked for, and why

	kind string
	bits int
}

// crossGrant decides an endorsement or a declassification, takes its bits from the meter and
// makes a copy of the value whose label is exactly what was granted. Nothing that is
// higher already is changed, and nothing is raised above what was asked.
func (g *Gate) crossGrant(ctx context.Context, c eval.Call) eval.Result {
	s := endorseShape
	if c.Kind == eval.KindDeclassify {
		s = declassifyShape
	}
	given := g.of(s, c, dict(c.Args))
	r, err := newGrant(c)
	if err != nil {
		return g.mistaken(given, codeArguments, err.Error(), "")
	}
	r.measure(c.PC)
	derived := given.in
	asked, reads := value.StringOf(r.trust.String(), derived), "trust"
	if r.widen {
		asked, _ = value.Of(r.readers.Names(), derived)
		reads = "readers"
	}
	x := g.of(s, c, value.DictOf(label.Bottom(),
		value.Field{Name: "value", Of: r.value},
		value.Field{Name: reads, Of: asked},
		value.Field{Name: "why", Of: value.StringOf(r.why, derived)},
		value.Field{Name: "kind", Of: value.StringOf(r.kind, derived)},
		value.Field{Name: "bits", Of: value.IntOf(int64(r.bits), derived)},
	))
	x.bits = r.bits
	x.core = func() ([]policies.Reason, bool) { return g.ungrantable(r, c.PC) }
	v := g.settle(ctx, x)
	if v.refusal != nil {
		return eval.Result{Err: v.refusal}
	}
	g.mu.Lock()
	enough := g.take(r.bits)
	left := g.meter
	g.mu.Unlock()
	if !enough { // something else took them in the meantime
		return eval.Result{Err: g.denied(x, v, []string{reasonMeter}, "").refusal}
	}
	out := v.lowerResult(r.raise(c.ID))
	made := journal.EndorsementMade{
		Kind: x.kind, Type: r.kind, Bits: r.bits, Left: left, From: r.value.Deep(), To: out.Deep(), Why: r.why, Asked: &derived,
	}
	g.later(journal.Endorsed, x.id, made)
	g.mu.Lock()
	g.counts.Endorsed++
	g.mu.Unlock()
	return eval.Result{Value: out}
}

// newGrant reads the arguments of endorse(value, trust, why, options, low, high) or
// declassify(value, readers, why, options, low, high).
func newGrant(c eval.Call) (*grant, error) {
	r := &grant{widen: c.Kind == eval.KindDeclassify}
	have := map[string]bool{}
	asks := "trust"
	if r.widen {
		asks = "readers"
	}
	for _, a := range c.Args {
		if have[a.Name] {
			return nil, fmt.Errorf("%s: given twice", a.Name)
		}
		have[a.Name] = true
		v := a.Value
		switch {
		case a.Name == "value":
			r.value = v
			continue
		case a.Name == asks:
			if err := r.ask(v); err != nil {
				return nil, err
			}
			r.steering = append(r.steering, a)
			continue
		case v.Kind == value.None:
			continue
		}
		switch a.Name {
		case "why":
			if v.Kind != value.String {
				return nil, fmt.Errorf("why: got %s, want string", v.Kind)
			}
			r.why = v.Str
			r.steering = append(r.steering, a)
		case "options":
			if v.Kind != value.List && v.Kind != value.Tuple && v.Kind != value.Set {
				return nil, fmt.Errorf("options: got %s, want list", v.Kind)
			}
			r.options = &v
		case "low", "high":
			if v.Kind != value.Int {
				return nil, fmt.Errorf("%s: got %s, want int", a.Name, v.Kind)
			}
			if a.Name == "low" {
				r.low = &v
			} else {
				r.high = &v
			}
		default:
			return nil, fmt.Errorf("%s: unknown, want value, %s, why, options, low or high", a.Name, asks)
		}
	}
	for _, name := range []string{"value", asks} {
		if !have[name] {
			return nil, fmt.Errorf("%s: missing", name)
		}
	}
	return r, nil
}

// ask reads the trust or the readers that are asked for.
func (r *grant) ask(v value.Value) error {
	if !r.widen {
		if v.Kind != value.String {
			return fmt.Errorf("trust: got %s, want string", v.Kind)
		}
		var err error
		r.trust, err = label.ParseTrust(v.Str)
		return err
	}
	names := []value.Value{v}
	if !v.Scalar() && v.Kind != value.Dict && v.Kind != value.Record {
		names = v.Items
	}
	var who []string
	for _, n := range names {
		if n.Kind != value.String || n.Str == "" {
			return fmt.Errorf("readers: got %s, want names of principals", n.Kind)
		}
		if strings.ContainsAny(n.Str, " ,{}#/") {
			return fmt.Errorf("readers: got %q, want \"public\", a principal, or a list of principals", n.Str)
		}
		if n.Str == "public" { // as labels are written: a principal of that name there is none
			n.Str = "*"
		}
		who = append(who, n.Str)
	}
	r.readers = label.Only(who...)
	return nil
}

// measure works out what the grant lets through: what kind, and how many bits at most. Options and
// bounds count if whoever could be misled by them could not have made them: with the
// control flow they are as trusted as what is asked for, and readable by those who are to read.
//
// What it takes is so much for each value that could have stood there that together they say no more than is taken: where there are options or bounds,
// no other value passes as one of few, but None, which is one more than there are.
func (r *grant) measure(pc label.Label) {
	r.kind, r.bits = grantOther, min(8*len(r.value.AppendPlain(nil)), label.Unbounded)
	switch {
	case r.options != nil && r.holds(r.options.Deep().Join(pc)):
		r.measureEnum()
	case r.low != nil && r.high != nil && r.holds(label.JoinAll(r.low.Label, r.high.Label, pc)):
		r.measureInt()
	case r.value.Kind == value.Bool:
		r.kind, r.bits = grantBool, 1
	case r.value.Kind == value.None:
		r.kind, r.bits = grantEnum, bits.Len(2) // besides True and False
	}
	if !r.raises(r.value.Deep()) {
		r.bits = 0
	}
}

func (r *grant) measureEnum() {
	var members []string
	for _, o := range r.options.Items {
		members = append(members, string(o.AppendPlain(nil)))
	}
	slices.Sort(members)
	members = slices.Compact(members)
	_, is := slices.BinarySearch(members, string(r.value.AppendPlain(nil)))
	switch {
	case is:
		r.kind, r.bits = grantEnum, max(bits.Len(uint(len(members)-1)), 1)
	case r.value.Kind == value.None:
		r.kind, r.bits = grantEnum, max(bits.Len(uint(len(members))), 1)
	}
}

func (r *grant) measureInt() {
	low, high := r.low.Int, r.high.Int
	most := new(big.Int).Sub(high, low)
	switch {
	case most.Sign() < 0:
	case r.value.Kind == value.Int && low.Cmp(r.value.Int) <= 0 && r.value.Int.Cmp(high) <= 0:
		r.kind, r.bits = grantInt, min(max(most.BitLen(), 1), label.Unbounded)
	case r.value.Kind == value.None:
		r.kind, r.bits = grantEnum, min(most.Add(most, big.NewInt(1)).BitLen(), label.Unbounded)
	}
}

// holds reports whether what is labelled l may bound the grant.
func (r *grant) holds(l label.Label) bool {
	if r.widen {
		return l.Trust() >= label.Internal && l.Readers().Covers(r.readers)
	}
	return l.Trust() >= r.trust
}

// raises reports whether the grant would change anything labelled l.
func (r *grant) raises(l label.Label) bool {
	if r.widen {
		return !l.Readers().Covers(r.readers)
	}
	return l.Trust() < r.trust
}

// raise returns a copy of the value under the labels that were asked for. What was raised
// in trust remembers that this call chose it.
func (r *grant) raise(call string) value.Value {
	from := r.value.Deep().Trust()
	return r.value.Relabel(func(l label.Label) label.Label {
		switch {
		case !r.raises(l):
			return l
		case r.widen:
			return l.WithReaders(label.Only(slices.Concat(l.Readers().Names(), r.readers.Names())...))
		}
		return l.WithTrust(r.trust).WithGrant(label.Grant{Call: call, Trust: from, Bits: r.bits})
	})
}

// ungrantable says why no policy can grant it: who asks, and what says what is asked for, must be trusted as
// much as what is granted, or for more readers at least internal; and the meter must have the bits. The second
// result reports whether the meter had a say, which is history.
func (g *Gate) ungrantable(r *grant, pc label.Label) ([]policies.Reason, bool) {
	id, want := policies.FlowEndorse, r.trust
	if r.widen {
		id, want = policies.FlowDeclassify, label.Internal
	}
	var out []policies.Reason
	refuse := func(what string, l label.Label) {
		if l.Trust() < want {
			why := core(id, fmt.Sprintf("%s: got %s, want trust %s", what, l, want))
			why.Args = []string{what}
			out = append(out, why)
		}
	}
	refuse("pc", pc)
	for _, a := range r.steering {
		refuse(a.Name, a.Value.Deep())
	}
	if r.widen {
		refuse("value", r.value.Deep())
	}
	if out != nil {
		return out, false
	}
	if left := g.Left(); r.bits > left {
		return []policies.Reason{core(reasonMeter, fmt.Sprintf("takes %d bits, and the meter has %d left", r.bits, left))}, true
	}
	return nil, false
}
