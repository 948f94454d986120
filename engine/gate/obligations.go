package gate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// duties are the obligations of one decision, understood. The zero duties oblige to nothing.
type duties struct {
	redact []redaction
	lower  []lowering
	limits []limit
	marks  []mark
	tier   Tier
	masks  []path
}

// redaction replaces a part of the arguments or of the result by a text.
type redaction struct {
	at   path
	with string
}

// lowering lowers the labels of the result, and never raises one.
type lowering struct {
	trust   label.Trust
	readers label.Readers
	tags    []string
}

// mark is a name that later decisions of the run, or of the session, find in their history.
type mark struct {
	name    string
	session bool
}

// Tier is how strongly a program is isolated from its host. Stronger tiers are greater; the
// zero Tier is the weakest, which nothing may be presumed to exceed.
type Tier uint8

// The tiers.
const (
	TierNone Tier = iota
	TierProcess
	TierContainer
)

var tierNames = []string{"none", "process", "container"}

// String returns the tier's name, such as "process".
func (t Tier) String() string { return tierNames[min(int(t), len(tierNames)-1)] }

// ParseTier is the inverse of [Tier.String].
func ParseTier(s string) (Tier, error) {
	if i := slices.Index(tierNames, s); i >= 0 {
		return Tier(i), nil
	}
	return TierContainer, fmt.Errorf("tier: got %q, want one of %s", s, strings.Join(tierNames, ", "))
}

const redacted = "[redacted]"

// The types of obligation, and for which kinds of call each can be fulfilled.
var fits = map[string][]string{
	policies.ObligeRedact:  {policies.KindTool, policies.KindModel, policies.KindObserve, policies.KindAnswer},
	policies.ObligeLabel:   {policies.KindTool, policies.KindModel, policies.KindObserve, policies.KindAnswer, policies.KindEndorse, policies.KindDeclassify},
	policies.ObligeLimit:   {policies.KindTool, policies.KindModel, policies.KindObserve, policies.KindAnswer, policies.KindEndorse, policies.KindDeclassify, policies.KindProgram},
	policies.ObligeMark:    nil, // every kind
	policies.ObligeIsolate: nil,
	policies.ObligeMask:    {policies.KindTool, policies.KindModel},
	policies.ObligeNotify:  nil,
}

// understand reads the obligations of a decision. An obligation of an unknown type, one
// that is malformed or cannot be fulfilled for this kind of call, and two that contradict each other are
// errors: the call is denied.
func understand(kind string, params []string, obligations []policies.Obligation) (duties, error) {
	var d duties
	for _, o := range obligations {
		kinds, known := fits[o.Type]
		if !known {
			return duties{}, fmt.Errorf("obligation %q of policy %s: unknown type, want one of %s", o.Type, o.Policy, strings.Join(slices.Sorted(maps.Keys(fits)), ", "))
		}
		if kinds != nil && !slices.Contains(kinds, kind) {
			return duties{}, fmt.Errorf("obligation %s of policy %s: cannot be fulfilled for a call of kind %s", o.Type, o.Policy, kind)
		}
		f := fields{left: maps.Clone(o.Fields)}
		switch o.Type {
		case policies.ObligeRedact:
			d.addRedaction(&f)
		case policies.ObligeLabel:
			d.addLowering(&f)
		case policies.ObligeLimit:
			d.addLimit(&f, o)
		case policies.ObligeMark:
			d.addMark(&f)
		case policies.ObligeIsolate:
			tier, err := ParseTier(f.text("tier", true))
			f.fail(err)
			d.tier = max(d.tier, tier)
		case policies.ObligeMask:
			at, err := parseMask(f.text("path", true))
			f.fail(err)
			d.masks = append(d.masks, at)
		case policies.ObligeNotify: // the decision that carries it is in the journal, where whoever is to be told reads it
			clear(f.left)
		}
		for _, name := range slices.Sorted(maps.Keys(f.left)) {
			f.fail(fmt.Errorf("unknown field %q", name))
		}
		if f.err != nil {
			return duties{}, fmt.Errorf("obligation %s of policy %s: %w", o.Type, o.Policy, f.err)
		}
	}
	for _, r := range d.redact {
		if r.at[0] == rootArgs && !slices.Contains(params, r.at[1]) {
			return duties{}, fmt.Errorf("obligation redact: path /args/%s: no such parameter, want one of %s", r.at[1], strings.Join(params, ", "))
		}
	}
	for _, at := range d.masks {
		if !slices.Contains(params, at[1]) {
			return duties{}, fmt.Errorf("obligation mask: path /args/%s: no such parameter, want one of %s", at[1], strings.Join(params, ", "))
		}
	}
	return d, nil
}

// parseMask reads the path of what is masked: an argument or a part of it.
func parseMask(s string) (path, error) {
	at, err := parsePath(s)
	if err == nil && at[0] != rootArgs {
		err = fmt.Errorf("path: got %q, want /args/NAME…", s)
	}
	return at, err
}

// masked replaces, in what is recorded of a call, what its decision obliges to mask: of a denied call too. Messages go as well, since they may
// quote it. A path that cannot be read masks all arguments: the call is denied, and they may be what should not be recorded.
func masked(m journal.DecisionMade) journal.DecisionMade {
	any := false
	for _, o := range m.Decision.Obligations {
		if o.Type != policies.ObligeMask {
			continue
		}
		if !any {
			m.Args, any = slices.Clone(m.Args), true
		}
		text, _ := o.Fields["path"].(string)
		at, err := parseMask(text)
		for i, a := range m.Args {
			switch {
			case err != nil:
				m.Args[i].Value = journal.Mask(a.Value)
			case a.Name == at[1]:
				m.Args[i].Value = edit(a.Value, at[2:], journal.Mask)
			}
		}
	}
	if any {
		m.Decision.Reasons, m.Decision.Approvals = slices.Clone(m.Decision.Reasons), slices.Clone(m.Decision.Approvals)
		for i := range m.Decision.Reasons {
			m.Decision.Reasons[i].Message = journal.MaskText(m.Decision.Reasons[i].Message)
		}
		for i := range m.Decision.Approvals {
			m.Decision.Approvals[i].Message = journal.MaskText(m.Decision.Approvals[i].Message)
		}
	}
	return m
}

func (d *duties) addRedaction(f *fields) {
	at, err := parsePath(f.text("path", true))
	f.fail(err)
	r := redaction{at, redacted}
	if _, given := f.left["with"]; given {
		r.with = f.text("with", true)
	}
	for _, other := range d.redact {
		if slices.Equal(other.at, r.at) && other.with != r.with {
			f.fail(fmt.Errorf("contradicts another one: %q and %q for one path", r.with, other.with))
		}
	}
	d.redact = append(d.redact, r)
}

func (d *duties) addLowering(f *fields) {
	l := lowering{trust: label.System, readers: label.Public(), tags: f.texts("tags")}
	if s := f.text("trust", false); s != "" {
		t, err := label.ParseTrust(s)
		f.fail(err)
		l.trust = t
	}
	if _, given := f.left["readers"]; given {
		l.readers = label.Only(f.texts("readers")...)
	}
	d.lower = append(d.lower, l)
}

func (d *duties) addMark(f *fields) {
	m := mark{name: f.text("name", true)}
	switch scope := f.text("scope", false); scope {
	case "", "run":
	case "session":
		m.session = true
	default:
		f.fail(fmt.Errorf("scope: got %q, want run or session", scope))
	}
	d.marks = append(d.marks, m)
}

func (d *duties) addLimit(f *fields, o policies.Obligation) {
	l := limit{id: o.ID, policy: o.Policy, per: f.texts("per"), max: f.number("max", -1), cost: 1}
	if o.ID == "" {
		f.fail(fmt.Errorf("id: got nothing, want the limit's name"))
	}
	slices.Sort(l.per)
	for _, p := range l.per {
		if !slices.Contains(limitScopes, p) {
			f.fail(fmt.Errorf("per: got %q, want one of %s", p, strings.Join(limitScopes, ", ")))
		}
	}
	if l.max < 0 {
		f.fail(fmt.Errorf("max: got nothing, want a number of 0 or more"))
	}
	if s := f.text("window", false); s != "" {
		w, err := time.ParseDuration(s)
		if err == nil && w <= 0 {
			err = fmt.Errorf("got %s, want more than 0", s)
		}
		if err != nil {
			f.fail(fmt.Errorf("window: %w", err))
		}
		l.window = w
	}
	switch unit, isText := f.left["cost"].(string); {
	case isText && slices.Contains(limitUnits, unit):
		l.unit = f.text("cost", true)
	case isText:
		f.fail(fmt.Errorf("cost: got %q, want a number or one of %s", unit, strings.Join(limitUnits, ", ")))
	default:
		l.cost = f.number("cost", 1)
	}
	switch over := f.text("over", false); over {
	case "", "deny":
	case "ask":
		l.ask = true
	default:
		f.fail(fmt.Errorf("over: got %q, want deny or ask", over))
	}
	for _, other := range d.limits {
		if other.id == l.id && other.policy == l.policy && !other.equal(l) {
			f.fail(fmt.Errorf("contradicts another one of id %s", l.id))
		}
	}
	if f.err == nil && !slices.ContainsFunc(d.limits, l.equal) {
		d.limits = append(d.limits, l)
	}
}

// fields reads the fields of an obligation and takes each one read out of left; the first error stays.
type fields struct {
	left map[string]any
	err  error
}

func (f *fields) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

func (f *fields) text(name string, required bool) string {
	v, given := f.left[name]
	delete(f.left, name)
	s, ok := v.(string)
	switch {
	case given && !ok:
		f.fail(fmt.Errorf("%s: got %T, want a text", name, v))
	case !given && required:
		f.fail(fmt.Errorf("%s: got nothing, want a text", name))
	}
	return s
}

func (f *fields) texts(name string) []string {
	v := f.left[name]
	delete(f.left, name)
	var out []string
	switch v := v.(type) {
	case nil:
	case []string:
		out = slices.Clone(v)
	case []any:
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				f.fail(fmt.Errorf("%s: got %T in the list, want texts", name, e))
			}
			out = append(out, s)
		}
	default:
		f.fail(fmt.Errorf("%s: got %T, want a list of texts", name, v))
	}
	return out
}

// number reads a whole number of 0 or more, whichever type an engine gave it.
func (f *fields) number(name string, otherwise int64) int64 {
	v, given := f.left[name]
	delete(f.left, name)
	if !given {
		return otherwise
	}
	n := int64(-1)
	if plain, err := value.Of(v, label.Bottom()); err == nil {
		switch {
		case plain.Kind == value.Int && plain.Int.IsInt64():
			n = plain.Int.Int64()
		case plain.Kind == value.Float && plain.Float == float64(int64(plain.Float)):
			n = int64(plain.Float)
		}
	}
	if n < 0 {
		f.fail(fmt.Errorf("%s: got %v, want a whole number of 0 or more", name, v))
	}
	return n
}

// redactUnder applies the redactions below a root. What replaces a text carries the label given:
// it says that a policy took something away, and nothing of what was there.
func (d *duties) redactUnder(root string, v value.Value, l label.Label) value.Value {
	for _, r := range d.redact {
		if r.at[0] == root {
			v = edit(v, r.at[1:], func(value.Value) value.Value { return value.StringOf(r.with, l) })
		}
	}
	return v
}

// lowered is a label under every lowering.
func (d *duties) lowered(l label.Label) label.Label {
	for _, by := range d.lower {
		l = l.Join(label.New(by.trust, by.readers, by.tags))
	}
	return l
}

// lowerResult applies every lowering to a whole value.
func (d *duties) lowerResult(v value.Value) value.Value {
	if len(d.lower) == 0 {
		return v
	}
	return v.Relabel(d.lowered)
}
