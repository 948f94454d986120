package policies

import (
	"fmt"
	"slices"

	"callgate/engine/label"
)

// The ids of the flow rule's reasons. Each names what a program may do about it.
const (
	FlowRecipient   = "flow.recipient" // trust below internal at the sink of that name …
	FlowAccount     = "flow.account"
	FlowURL         = "flow.url"
	FlowPath        = "flow.path"
	FlowWord        = "flow.word"
	FlowQuery       = "flow.query"
	FlowContent     = "flow.content"      // content that its receiver may not read
	FlowModel       = "flow.model"        // something shown to a model that may not read it
	FlowReaders     = "flow.readers"      // any other argument of an egress call that its receiver may not read
	FlowSecret      = "flow.secret"       // a secret anywhere but at a secret sink
	FlowControl     = "flow.control"      // control flow below internal decided that a write, egress or destructive call is made
	FlowControlRead = "flow.control-read" // … or control flow that the receiver may not learn of
	FlowState       = "flow.state"        // written to a namespace whose label is lower
	FlowEndorse     = "flow.endorse"      // control flow below the trust that is to be granted
	FlowDeclassify  = "flow.declassify"   // a value, or control flow, below internal asks for more readers
	FlowSink        = "flow.sink"         // a kind of sink that this version does not know
)

const (
	secretTag = "secret"
	pcPath    = "pc"
)

// Flow is the built-in flow rule: it returns a denial for each leaf, and for the
// control flow, that may not go where the call would take it. Each reason names one
// path in Args; an accept for that path lifts it. It never grants, and an empty
// result says nothing more than that labels do not stand in the way.
//
// The audience of a call are those who learn what is in it. Showing to the model, asking a model
// and answering have the principal, on whose behalf the model works (a model also as
// the reader "model:" and the value of the call's argument "provider"). A call with the
// effect egress has its recipients and the hosts of its URLs, or, when it names none, anybody at all. Every other call has the principal.
// A recipient is among the readers by its normal form or by its host.
func Flow(r *Request) []Reason {
	switch r.Call.Kind {
	case KindBuiltin:
		return nil // moves no data
	case KindEndorse, KindDeclassify:
		c := flowCheck{r: r}
		c.release()
		return c.out
	}
	if harmless(r) {
		return nil
	}
	c := flowCheck{r: r, crossing: crosses(r.Call.Kind)}
	c.egress = c.crossing || slices.Contains(r.Call.Effects, EffectEgress)
	c.acts = c.egress || slices.Contains(r.Call.Effects, EffectWrite) || slices.Contains(r.Call.Effects, EffectDestructive)
	for i := range r.Leaves {
		if l := &r.Leaves[i]; l.Sink != SinkControl {
			c.leaf(l.Path, l.Sink, l.Label)
		}
	}
	for i := range r.Labels.Args {
		c.bare(&r.Labels.Args[i])
	}
	c.control()
	return c.out
}

// harmless reports whether it takes no more than a look to see that the rule denies nothing: everybody may know all of it, and
// whatever would steer the call is trusted. It is what most calls are.
func harmless(r *Request) bool {
	if r.Call.State != nil || !open(r.Labels.PC) || r.Labels.PC.Trust() < label.Internal {
		return false
	}
	seen := r.Labels.PC // most leaves share a label
	for i := range r.Leaves {
		l := &r.Leaves[i]
		kind := kindOf(l.Sink)
		if kind == unknownSink || kind <= steering && l.Label.Trust() < label.Internal {
			return false
		}
		if l.Label != seen {
			if !open(l.Label) {
				return false
			}
			seen = l.Label
		}
	}
	for i := range r.Labels.Args {
		if l := r.Labels.Args[i].Label; l != seen && !open(l) {
			return false
		}
	}
	return true
}

// open reports whether everybody may read what has the label, and no tag is on it.
func open(l label.Label) bool { return l.Readers().IsPublic() && len(l.Tags()) == 0 }

// crosses reports whether calls of the kind hand something to the principal or to
// a model: whoever steers the program only chooses what they see.
func crosses(kind string) bool {
	return kind == KindObserve || kind == KindAnswer || kind == KindModel
}

type flowCheck struct {
	r        *Request
	crossing bool
	egress   bool
	acts     bool // writes, sends or destroys
	out      []Reason
}

func (c *flowCheck) deny(id, path, format string, args ...any) {
	c.out = append(c.out, Reason{
		ID: id, Policy: "flow", Effect: Deny, Engine: "flow",
		Message: path + ": " + fmt.Sprintf(format, args...), Args: []string{path},
	})
}

// sinkKind is a kind of sink as a number.
type sinkKind byte

// steering is the last of the kinds of sink that steer what a call does.
const steering = sinkQuery

const (
	unknownSink sinkKind = iota
	sinkRecipient
	sinkAccount
	sinkURL
	sinkPath
	sinkWord
	sinkQuery
	sinkContent
	sinkModel
	sinkSecret
	sinkNone
	sinkControl
)

func kindOf(sink string) sinkKind {
	switch sink {
	case SinkRecipient:
		return sinkRecipient
	case SinkAccount:
		return sinkAccount
	case SinkURL:
		return sinkURL
	case SinkPath:
		return sinkPath
	case SinkWord:
		return sinkWord
	case SinkQuery:
		return sinkQuery
	case SinkContent:
		return sinkContent
	case SinkModel:
		return sinkModel
	case SinkSecret:
		return sinkSecret
	case SinkNone:
		return sinkNone
	case SinkControl:
		return sinkControl
	}
	return unknownSink
}

// trustID returns the id for the sinks that steer what a call does, else "".
func trustID(sink string) string {
	switch sink {
	case SinkRecipient:
		return FlowRecipient
	case SinkAccount:
		return FlowAccount
	case SinkURL:
		return FlowURL
	case SinkPath:
		return FlowPath
	case SinkWord:
		return FlowWord
	case SinkQuery:
		return FlowQuery
	}
	return ""
}

func (c *flowCheck) leaf(path, sink string, l label.Label) {
	switch sink {
	case SinkNone, SinkSecret, SinkContent, SinkModel:
	default:
		id := trustID(sink)
		if id == "" {
			c.deny(FlowSink, path, "got sink %q, want one that this version knows", sink)
			return
		}
		if l.Trust() < label.Internal {
			c.deny(id, path, "got %s, want trust internal at %s", l, sink)
		}
	}
	if sink != SinkSecret && l.HasTag(secretTag) {
		c.deny(FlowSecret, path, "a secret may go to a secret sink only, got %s", sink)
	}
	if id := c.readersID(sink); id != "" && !l.Readers().IsPublic() {
		if who, ok := c.audience(l.Readers()); !ok {
			c.deny(id, path, "%s may not read it: readers are %v", who, l.Readers().Names())
		}
	}
	c.state(path, l)
}

// readersID says under which id a leaf at the sink must be readable by the
// audience; "" if it need not.
func (c *flowCheck) readersID(sink string) string {
	switch {
	case sink == SinkContent:
		return FlowContent
	case sink == SinkModel:
		return FlowModel
	case !c.egress, sink == SinkSecret, sink == SinkRecipient, sink == SinkAccount:
		return "" // whoever is addressed knows the address
	}
	return FlowReaders
}

// bare checks an argument that has a label but no leaf, as an empty list may have.
func (c *flowCheck) bare(a *ArgLabel) {
	if a.Label.SameClass(label.Bottom()) {
		return
	}
	for i := range c.r.Leaves {
		if c.r.Leaves[i].Param == a.Name {
			return
		}
	}
	c.leaf(a.Name, SinkNone, a.Label)
}

func (c *flowCheck) state(path string, l label.Label) {
	if s := c.r.Call.State; s != nil && s.Write && !l.FlowsTo(s.Label) {
		c.deny(FlowState, path, "got %s, want what flows to %s, the label of %s", l, s.Label, s.Name)
	}
}

func (c *flowCheck) control() {
	pc := c.r.Labels.PC
	if c.acts {
		if !c.crossing && pc.Trust() < label.Internal {
			c.deny(FlowControl, pcPath, "%s control flow decided that the call is made, want trust internal", pc)
		}
		if pc.HasTag(secretTag) {
			c.deny(FlowSecret, pcPath, "a secret decided that the call is made")
		}
		if !pc.Readers().IsPublic() {
			if who, ok := c.audience(pc.Readers()); !ok {
				c.deny(FlowControlRead, pcPath, "%s may not learn of the control flow: readers are %v", who, pc.Readers().Names())
			}
		}
	}
	c.state(pcPath, pc)
}

// audience reports whether everybody who learns what is in the call is among the
// readers; if not, it names one who is not.
func (c *flowCheck) audience(readers label.Readers) (string, bool) {
	switch {
	case c.crossing:
		model := c.arg("provider")
		return c.r.Principal.Sub, readers.Includes(c.r.Principal.Sub) ||
			c.r.Call.Kind != KindAnswer && model != "" && readers.Includes("model:"+model)
	case !c.egress:
		return c.r.Principal.Sub, readers.Includes(c.r.Principal.Sub)
	}
	someone := false
	for i := range c.r.Leaves {
		l := &c.r.Leaves[i]
		switch l.Sink {
		case SinkRecipient:
			if !readers.Includes(l.Norm) && !(l.Host != "" && readers.Includes(l.Host)) {
				return l.Norm, false
			}
		case SinkURL:
			if !readers.Includes(l.Host) {
				return l.Host, false
			}
		default:
			continue
		}
		someone = true
	}
	return "anybody", someone
}

// release checks what raises the trust or widens the readers of a value.
func (c *flowCheck) release() {
	pc := c.r.Labels.PC
	if c.r.Call.Kind == KindEndorse {
		granted, err := label.ParseTrust(c.arg("trust"))
		if err != nil {
			granted = label.System
		}
		if pc.Trust() < granted {
			c.deny(FlowEndorse, pcPath, "%s control flow asks for trust %s", pc, granted)
		}
		return
	}
	if pc.Trust() < label.Internal {
		c.deny(FlowDeclassify, pcPath, "%s control flow asks for more readers, want trust internal", pc)
	}
	for _, a := range c.r.Labels.Args {
		if a.Name == "value" && a.Label.Trust() < label.Internal {
			c.deny(FlowDeclassify, a.Name, "got %s, want trust internal for more readers", a.Label)
		}
	}
}

// arg returns an argument that is a string, or "".
func (c *flowCheck) arg(name string) string {
	v, _ := c.r.Call.Args.Get(name)
	return v.Str
}
