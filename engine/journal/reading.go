package journal

import (
	"encoding/json"
	"reflect"

	"callgate/engine/label"
	"callgate/policies"
)

// Reader shows the events of one run to somebody who may not read everything: as [Run.Append] masks what is secret, it
// puts the readers of what is not for them in its place. Labels stay, and so do names, places, rules and sources.
// It is used by one goroutine at a time, and is given the events in their order.
type Reader struct {
	mask  masker
	calls map[string]label.Label // whose arguments are not for this reader: what their decision depended on
}

// NewReader returns a reader who may read what is labelled so that may says yes. What may be read together may be read apart: if may
// says yes to a join, it says yes to what was joined.
func NewReader(may func(label.Label) bool) *Reader {
	return &Reader{mask: masker{may: may}, calls: map[string]label.Label{}}
}

// HiddenSalt stands in place of the salt of an event of which something was hidden: with the digest, the salt
// would tell a right guess from a wrong one. Such an event does not verify.
const HiddenSalt = "hidden"

// Hidden is what a [Reader] shows in place of something labelled l: "hidden:{ana,bob}" names who may read it.
func Hidden(l label.Label) string {
	return "hidden:" + label.New(label.System, l.Readers(), nil).String()[len(label.System.String()+"/"):]
}

// Event returns an event as the reader may see it, and reports whether something in it is hidden. If nothing is, it is the same event. What
// was redacted stays so, and what cannot be read, as of a type that a newer version has, is redacted. What is encrypted is shown as [Event.Opened]
// has it; that it does not open is an error.
func (r *Reader) Event(e Event) (shown Event, hidden bool, err error) {
	if e.Redacted() {
		return e, false, nil
	}
	if e, err = e.Opened(); err != nil {
		return Event{}, false, err
	}
	t, known := payloads[e.Type]
	if !known {
		return e.Redact(), true, nil
	}
	p := reflect.New(t)
	if unmarshal(e, p.Interface()) != nil {
		return e.Redact(), true, nil
	}
	r.mask.marks = 0
	payload := r.call(e.Call, p.Elem().Interface())
	if m, ok := payload.(maskable); ok {
		payload = m.masked(&r.mask)
	}
	if r.mask.marks == 0 {
		return e, false, nil
	}
	if e.Payload, err = json.Marshal(payload); err != nil {
		return Event{}, false, err
	}
	e.Salt = HiddenSalt
	return e, true, nil
}

// call hides what tells of a call's arguments without having a label of its own.
func (r *Reader) call(id string, payload any) any {
	switch p := payload.(type) {
	case DecisionMade:
		all := p.depends()
		if !r.mask.hides(all) {
			delete(r.calls, id)
			return p
		}
		r.calls[id] = all
		p.Binding = r.mask.mark([]byte(p.Binding), all)
		p.Decision.Approvals = append([]policies.Approval(nil), p.Decision.Approvals...)
		for i := range p.Decision.Approvals {
			p.Decision.Approvals[i].Binding = p.Binding
		}
		p.Decision.Obligations = append([]policies.Obligation(nil), p.Decision.Obligations...)
		for i, o := range p.Decision.Obligations {
			if len(o.Fields) > 0 { // a rule may have computed them
				p.Decision.Obligations[i].Fields = map[string]any{"hidden": r.mask.mark(nil, all)}
			}
		}
		return p
	case ApprovalGiven:
		if all, ok := r.calls[id]; ok {
			p.Binding = r.mask.mark([]byte(p.Binding), all)
		}
		return p
	case EndorsementMade:
		if all, ok := r.calls[id]; ok && p.Asked == nil {
			p.Why = r.mask.text(p.Why, all)
		}
		return p
	}
	return payload
}
