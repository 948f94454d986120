package flowgraph

import (
	"slices"

	"callgate/engine/journal"
	"callgate/policies"
)

// about is what is known of a call.
type about struct {
	id    string
	made  *journal.DecisionMade
	state state
	asked []string // rules that asked, and the answers
	ended *journal.CallEnded
	lifts *journal.EndorsementMade
	turn  int
	node  *node
}

// read takes note of what became of each call.
func (b *builder) read(events []journal.Event) {
	in := 0
	for _, e := range events {
		if e.Redacted() {
			continue
		}
		a := b.calls[e.Call]
		switch e.Type {
		case journal.TurnStart:
			if p, err := journal.Decode[journal.TurnStarted](e); err == nil {
				in = p.Turn
			}
		case journal.Decided:
			p, err := journal.Decode[journal.DecisionMade](e)
			if err != nil {
				continue
			}
			if a == nil {
				a = &about{id: e.Call, turn: in}
				b.calls[e.Call] = a
				b.order = append(b.order, a)
			}
			if a.made == nil || p.Decision.Effect == policies.Deny {
				a.made = &p
			}
			switch p.Decision.Effect {
			case policies.Allow:
				a.state = done
			case policies.Ask:
				a.state = waiting
			default:
				a.state = refused
			}
		}
		if a == nil {
			continue
		}
		switch e.Type {
		case journal.Approved:
			if p, err := journal.Decode[journal.ApprovalGiven](e); err == nil {
				a.answered(p)
			}
		case journal.CallStart:
			a.state = unknown
		case journal.CallResult:
			if p, err := journal.Decode[journal.CallEnded](e); err == nil {
				switch a.ended, a.state = &p, done; {
				case p.Waits:
					a.state = waiting
				case p.Code != "":
					a.state = failed
				}
			}
		case journal.Endorsed:
			if p, err := journal.Decode[journal.EndorsementMade](e); err == nil {
				a.lifts, a.state = &p, done
			}
		}
	}
}

func (a *about) answered(p journal.ApprovalGiven) {
	text := p.Ask + " " + p.Verdict
	if p.By != "" {
		text += " by " + p.By
	}
	a.asked = append(a.asked, text)
	switch p.Verdict {
	case "approved":
		a.state = done
	case "refused":
		a.state = refused
	default:
		a.state = waiting
	}
}

// group puts calls after each other that are alike into one node.
func (b *builder) group() {
	same := func(x, y *about) bool {
		return x.made.Kind == policies.KindTool && y.made.Kind == policies.KindTool && x.made.Tool == y.made.Tool && x.turn == y.turn &&
			x.state == done && y.state == done && x.asked == nil && y.asked == nil &&
			slices.Equal(x.made.Effects, []string{policies.EffectRead}) && slices.Equal(y.made.Effects, x.made.Effects)
	}
	for i := 0; i < len(b.order); {
		end := i + 1
		for end < len(b.order) && same(b.order[i], b.order[end]) {
			end++
		}
		if end-i >= alike {
			n := &node{n: -1, kind: call}
			for _, a := range b.order[i:end] {
				a.node = n
				n.calls = append(n.calls, a.id)
			}
		}
		i = end
	}
}
