package journal

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"callgate/engine/label"
	"callgate/engine/value"
)

// SecretTag is the tag of what never arrives in a journal.
const SecretTag = "secret"

const maskPrefix = "masked:"

// Masked reports whether a value that was read from a journal has parts that are not there, because they are secret: Run.Append has put something in
// their place.
func Masked(v value.Value) bool { return v.Deep().HasTag(SecretTag) }

// maskedByPolicy stands in place of what a policy masks.
const maskedByPolicy = maskPrefix + "by policy"

// Mask returns what is recorded in place of a value that a policy masks: a text under its label that says so.
func Mask(v value.Value) value.Value { return value.StringOf(maskedByPolicy, v.Deep()) }

// MaskText is [Mask] of a text; of an empty one nothing.
func MaskText(s string) string {
	if s == "" {
		return ""
	}
	return maskedByPolicy
}

// masker puts digests in the place of secret data. The digests are keyed by a random key
// that is never stored, so that they show within one process's part of a run that two secrets are
// equal, and nothing else.
type masker struct {
	key [32]byte

	may   func(label.Label) bool // what a [Reader] may read; nil: it is secrets that are masked
	marks int                    // how many it has left
}

func newMasker() *masker {
	m := new(masker)
	rand.Read(m.key[:])
	return m
}

// maskable is a payload that holds data with labels: masked returns a copy in which what is secret is masked.
type maskable interface {
	masked(m *masker) any
}

func (m *masker) digest(data []byte) string {
	h := hmac.New(sha256.New, m.key[:])
	h.Write(data)
	return maskPrefix + hex.EncodeToString(h.Sum(nil)[:16])
}

// hides reports whether what is labelled l is masked.
func (m *masker) hides(l label.Label) bool {
	if m.may != nil {
		return !m.may(l)
	}
	return l.HasTag(SecretTag)
}

// mark is what stands in place of data that is masked.
func (m *masker) mark(data []byte, l label.Label) string {
	if m.may == nil {
		return m.digest(data)
	}
	m.marks++
	return Hidden(l)
}

// value masks every secret node of a tree, with all that is below it. The string that
// stands in its place carries the labels of all that it replaces.
func (m *masker) value(v value.Value) value.Value {
	if !m.hides(v.Deep()) {
		return v
	}
	return v.Rewrite(func(n value.Value) value.Value {
		if m.hides(n.Label) || !n.Scalar() && m.hides(n.Structure) {
			return value.StringOf(m.mark(n.AppendPlain(nil), n.Deep()), n.Deep())
		}
		return n
	})
}

// text masks a text that has a label.
func (m *masker) text(s string, l label.Label) string {
	if s == "" || !m.hides(l) {
		return s
	}
	return m.mark([]byte(s), l)
}

func (p RunStarted) masked(m *masker) any {
	p.Inputs = slices.Clone(p.Inputs)
	for i := range p.Inputs {
		p.Inputs[i].Value = m.value(p.Inputs[i].Value)
	}
	return p
}

func (p TurnStarted) masked(m *masker) any {
	p.Program = m.text(p.Program, p.Author)
	return p
}

func (p ModelReplied) masked(m *masker) any {
	p.Text = m.text(p.Text, p.Context)
	p.Calls = slices.Clone(p.Calls)
	for i := range p.Calls {
		p.Calls[i] = ModelCall{m.text(p.Calls[i].ID, p.Context), m.text(p.Calls[i].Name, p.Context), m.text(p.Calls[i].Input, p.Context)}
	}
	return p
}

// depends is the label of all that the decision was made on.
func (p DecisionMade) depends() label.Label {
	all := p.PC
	for i := range p.Args {
		all = all.Join(p.Args[i].Value.Deep())
	}
	return all
}

// A policy's messages may quote what it was asked about.
func (p DecisionMade) masked(m *masker) any {
	all := p.depends()
	p.Args = slices.Clone(p.Args)
	for i := range p.Args {
		p.Args[i].Value = m.value(p.Args[i].Value)
	}
	p.Decision.Reasons = slices.Clone(p.Decision.Reasons)
	for i := range p.Decision.Reasons {
		p.Decision.Reasons[i].Message = m.text(p.Decision.Reasons[i].Message, all)
	}
	p.Decision.Approvals = slices.Clone(p.Decision.Approvals)
	for i := range p.Decision.Approvals {
		p.Decision.Approvals[i].Message = m.text(p.Decision.Approvals[i].Message, all)
	}
	return p
}

// A scope whose value is secret has it no more, and covers nothing.
func (p GrantGiven) masked(m *masker) any {
	if p.Scope != nil {
		scope := *p.Scope
		scope.Args = slices.Clone(scope.Args)
		for i, a := range scope.Args {
			if a.Value != nil {
				v := m.value(*a.Value)
				scope.Args[i].Value = &v
			}
		}
		p.Scope = &scope
	}
	return p
}

func (p CallEnded) masked(m *masker) any {
	if p.Value != nil {
		v := m.value(*p.Value)
		p.Value = &v
	}
	p.Text, p.Told = m.text(p.Text, p.Label), m.text(p.Told, p.Label)
	return p
}

func (p EndorsementMade) masked(m *masker) any {
	asked := p.From
	if p.Asked != nil {
		asked = asked.Join(*p.Asked)
	}
	p.Why = m.text(p.Why, asked)
	return p
}

// The text about a value that stayed hidden says nothing of its data.
func (p Observed) masked(m *masker) any {
	if p.Shown {
		p.Text = m.text(p.Text, p.Label)
	}
	return p
}

func (p ProgramEnded) masked(m *masker) any {
	p.Message = m.text(p.Message, p.Label)
	return p
}

func (p RunEnded) masked(m *masker) any {
	if p.Answer != nil {
		v := m.value(*p.Answer)
		p.Answer = &v
	}
	return p
}
