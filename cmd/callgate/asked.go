package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"callgate/cmd/internal/console"
	"callgate/engine/desk"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// asked is a question in JSON.
type asked struct {
	ID        string        `json:"id"`
	Run       string        `json:"run"`
	Call      string        `json:"call"`
	Ask       string        `json:"ask"`
	Policy    string        `json:"policy"`
	Agent     string        `json:"agent"`
	Kind      string        `json:"kind"`
	Tool      string        `json:"tool"`
	Requester string        `json:"requester"`
	State     string        `json:"state"` // waits, asks or closed
	Asked     time.Time     `json:"asked"`
	Approvers []string      `json:"approvers"`
	OtherThan []string      `json:"other_than"`
	Count     int           `json:"count"`
	Need      int           `json:"need"`
	By        []string      `json:"by"`
	Refused   string        `json:"refused,omitempty"`
	Expires   time.Time     `json:"expires,omitzero"`
	Shown     string        `json:"shown"` // digits that --shown takes
	Whole     *askedInWhole `json:"call_in_whole,omitempty"`
}

// askedInWhole is what show has besides.
type askedInWhole struct {
	Closed   string        `json:"closed,omitempty"`
	Message  string        `json:"message,omitempty"`
	Site     policies.Site `json:"site"`
	Line     string        `json:"line,omitempty"` // of the program
	Effects  []string      `json:"effects"`
	Leaves   []askedLeaf   `json:"leaves"`
	Control  string        `json:"control"` // label of the control flow
	Hidden   []string      `json:"hidden"`
	Masked   bool          `json:"masked,omitempty"`
	Warnings []string      `json:"warnings"`
}

// askedLeaf is one scalar of an argument.
type askedLeaf struct {
	Path   string `json:"path"`
	Sink   string `json:"sink,omitempty"`
	Value  any    `json:"value"`
	Hidden bool   `json:"hidden,omitempty"`
	Label  string `json:"label"`
	Origin string `json:"origin,omitempty"`
}

func askLine(q desk.Question) asked {
	a := asked{
		ID: q.ID, Run: q.Run, Call: q.Call, Ask: q.Approval.Ask, Policy: q.Approval.Policy, Agent: q.Agent, Kind: q.Kind, Tool: q.Tool, Requester: q.Principal.Sub,
		State: "waits", Asked: q.Asked, Approvers: q.Approval.Approvers, OtherThan: q.Approval.OtherThan, Count: max(q.Approval.Count, 1), Need: q.Need, By: q.By,
		Refused: q.Refused, Expires: q.Expires, Shown: q.Shown[:console.ShownDigits],
	}
	switch {
	case q.Closed != "":
		a.State = "closed"
	case !q.Waits:
		a.State = "asks"
	}
	return a
}

func askWhole(q desk.Question, shown console.Question) asked {
	a := askLine(q)
	w := &askedInWhole{
		Closed: q.Closed, Site: q.Site, Effects: q.Effects, Control: q.PC.String(), Hidden: shown.Hidden(), Masked: q.Masked,
		Warnings: shown.Warnings(), Message: shown.Message(), Line: shown.Line(),
	}
	for _, arg := range q.Args {
		arg.Value.Walk(true, func(p string, v value.Value, l label.Label) {
			leaf := askedLeaf{Path: arg.Name + p, Sink: arg.Sink, Label: l.String(), Origin: q.Origins[arg.Name+p], Hidden: !shown.Person.MayRead(l)}
			if !leaf.Hidden {
				leaf.Value = v.Plain()
			}
			w.Leaves = append(w.Leaves, leaf)
		})
	}
	a.Whole = w
	return a
}

// writeJSON writes a line of JSON in ASCII: what a terminal would show as something else is escaped.
func (c *command) writeJSON(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		switch {
		case r < 0x7f:
			b.WriteByte(byte(r))
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
	}
	b.WriteByte('\n')
	_, err = c.stdout.Write(b.Bytes())
	return err
}
