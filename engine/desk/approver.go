package desk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/engine/gate"
	"callgate/engine/journal"
)

// said is a verdict that holds for a question, by itself or by its scope.
type said struct {
	id string // of the grant; "": at the terminal of the run
	a  journal.ApprovalGiven
	v  gate.Verdict
	at time.Time
}

func verdictOf(a journal.ApprovalGiven) gate.Verdict {
	v := gate.Verdict{By: a.By, Groups: a.Groups, Reason: a.Reason, Anybody: a.Anybody, Grant: a.Grant}
	switch a.Verdict {
	case approved:
		v.Outcome = gate.Approved
	case refused:
		v.Outcome = gate.Refused
	}
	return v
}

// said returns what holds for a question now, each person's last word, in the order in which it was said. Own is what was said at the terminal
// of the run about this call.
func (d *Desk) said(q gate.Question, all []Grant, own []said) []said {
	out, _ := d.weigh(q, all, own)
	return out
}

// weigh is said, and why what was said to this very ask does not hold.
func (d *Desk) weigh(q gate.Question, all []Grant, own []said) (out []said, why []string) {
	now := d.now()
	keep := func(s said) {
		out = slices.DeleteFunc(out, func(b said) bool { return strings.EqualFold(b.v.By, s.v.By) })
		out = append(out, s)
	}
	for _, s := range own {
		// What came from the desk is looked up there. What everybody stands for is for demonstrations, and ends with them.
		if s.v.Outcome == gate.Waiting || s.v.Grant != "" || s.a.Ask != q.Approval.Ask || s.a.Policy != q.Approval.Policy || s.a.Binding != q.Approval.Binding {
			continue
		}
		if ttl := q.Approval.TTL; ttl > 0 && now.Sub(s.at) > ttl {
			continue
		}
		keep(s)
	}
	for _, g := range all {
		if g.Verdict == revoked || g.Ask != q.Approval.Ask || g.Policy != q.Approval.Policy {
			continue
		}
		here := g.Run == q.Run && g.Call == q.Call
		exact := here && g.Binding == q.Approval.Binding
		if !exact && (g.Scope == nil || g.Verdict != approved || !covers(g.Scope, q)) {
			if here {
				why = append(why, fmt.Sprintf("%s of %s is for another call than this one has become", g.ID, g.By))
			}
			continue
		}
		groups, known := g.Groups, true
		if d.Who != nil {
			groups, known = d.Who(g.Login, g.By)
		}
		switch {
		case g.Revoked != "":
			why = append(why, fmt.Sprintf("%s of %s was revoked by %s", g.ID, g.By, g.Revoked))
			continue
		case !g.Expires.IsZero() && now.After(g.Expires):
			why = append(why, fmt.Sprintf("%s of %s expired at %s", g.ID, g.By, g.Expires.UTC().Format(time.RFC3339)))
			continue
		case !known:
			why = append(why, fmt.Sprintf("%s is by %s, whom the login %s stands for no longer", g.ID, g.By, g.Login))
			continue
		}
		s := said{id: g.ID, v: gate.Verdict{Outcome: gate.Approved, By: g.By, Groups: groups, Reason: g.Reason, Grant: g.ID, Spared: !exact}, at: g.Given}
		if g.Verdict == refused {
			s.v.Outcome = gate.Refused
		}
		keep(s)
	}
	return out, why
}

// Approver returns what answers for people who have answered at the desk. What nobody has answered it passes on to next, which may
// be nil: then it waits, and says why what was said does not hold. It waits too if what was said is encrypted and cannot be opened.
func (d *Desk) Approver(next gate.Approver) gate.Approver { return &approver{d, next} }

type approver struct {
	desk *Desk
	next gate.Approver
}

// Approve answers a question, one person's word at a time.
func (a *approver) Approve(ctx context.Context, q gate.Question) (gate.Verdict, error) {
	all, err := a.desk.Grants(ctx)
	if errors.Is(err, journal.ErrEncrypted) { // somebody may have refused: nobody else is asked
		return gate.Verdict{Reason: "what people have said is encrypted, and no identity opens it"}, nil
	}
	if err != nil {
		return gate.Verdict{}, err
	}
	events, err := a.desk.Store.Read(ctx, q.Run, 1)
	if err != nil {
		return gate.Verdict{}, err
	}
	used, err := spent(events, q.Call)
	if err != nil {
		return gate.Verdict{}, err
	}
	held, why := a.desk.weigh(q, without(all, used), nil)
	for _, s := range held {
		if s.v.Outcome == gate.Refused && mayRefuse(q, s.v, a.desk.now()) {
			return s.v, nil
		}
	}
	for _, s := range held {
		if s.v.Outcome != gate.Approved || slices.ContainsFunc(q.By, func(by string) bool { return strings.EqualFold(by, s.v.By) }) {
			continue
		}
		no := Objection(q, s.v, a.desk.now())
		if no == "" {
			return s.v, nil
		}
		why = append(why, no)
	}
	v := gate.Verdict{Reason: "nobody to ask"}
	if a.next != nil {
		v, err = a.next.Approve(ctx, q)
	}
	if err == nil && v.Outcome == gate.Waiting && len(why) > 0 {
		v.Reason = strings.Join(why, "; ")
	}
	return v, err
}

// spent returns the ids of the grants under which a call has begun. A call that was broken off and is to be made again is
// another question, though it is asked in the same words: who said yes did not say so again.
func spent(events []journal.Event, call string) (ids []string, err error) {
	var answered []string
	for _, e := range events {
		switch {
		case e.Call != call || e.Redacted():
		case e.Type == journal.CallStart:
			ids = append(ids, answered...)
		case e.Type == journal.Approved:
			a, err := journal.Decode[journal.ApprovalGiven](e)
			if err != nil {
				return nil, err
			}
			if a.Grant != "" {
				answered = append(answered, a.Grant)
			}
		}
	}
	return ids, nil
}

// without returns the grants that are not among some ids.
func without(all []Grant, ids []string) []Grant {
	if len(ids) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(g Grant) bool { return slices.Contains(ids, g.ID) })
}

// mayRefuse reports whether a refusal counts: of those who may approve, and of whoever wants the call.
func mayRefuse(q gate.Question, v gate.Verdict, now time.Time) bool {
	q.By = nil
	return v.By == q.Principal.Sub || Objection(q, v, now) == ""
}
