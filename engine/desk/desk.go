// Package desk is where runs and people meet who are not there at the same time. A run that must ask, and finds nobody, waits; its
// question stands in its journal. [Desk.Questions] finds what is open in a store, [Desk.Answer] keeps what a person says
// to it, and [Desk.Approver] gives that to the gate when the run goes on.
//
// # What a grant is
//
// A grant answers one ask of one call of one run, under the binding that stands for what was shown: tool, arguments, labels and
// control flow. It is good once, since a call is made once. A scope makes it good for other calls ([journal.Scope]).
//
// # What a grant is not
//
// It does not decide. The call is decided again when it is made: a denial denies, and what has changed is another question. Whether
// the person may answer is looked at twice: when they do, and when it matters, with the groups that they are in then.
//
// Whoever can write to the store can forge it; see spec/threats.md.
package desk

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"callgate/engine/gate"
	"callgate/engine/journal"
)

// Desk is the desk of a store. It holds nothing but what its fields say, and is safe for concurrent use.
type Desk struct {
	Store journal.Store
	Now   func() time.Time // nil: [time.Now]

	// Who says who an account is today: the name by which it answered, and the groups. It is asked again for each grant when
	// it matters; false: nobody, and the grant does not count. nil: whoever the grant says.
	Who func(login, by string) (groups []string, known bool)
}

// Person is who answers.
type Person struct {
	Sub    string
	Groups []string
	Login  string // the account of the operating system
}

// The verdicts of grants.
const (
	approved = "approved"
	refused  = "refused"
	revoked  = "revoked"
)

// Grant is what a person said, and when.
type Grant struct {
	journal.GrantGiven
	Given   time.Time `json:"given"`
	Revoked string    `json:"revoked,omitempty"` // the id of what took it back
}

func (d *Desk) now() time.Time {
	if d.Now == nil {
		return time.Now()
	}
	return d.Now()
}

// Grants returns what was said at the desk, in order; what was revoked says so.
func (d *Desk) Grants(ctx context.Context) ([]Grant, error) {
	events, err := journal.Desk(ctx, d.Store)
	if err != nil {
		return nil, err
	}
	return grants(events)
}

func grants(events []journal.Event) ([]Grant, error) {
	var out []Grant
	for _, e := range events {
		if e.Type != journal.Granted || e.Redacted() {
			continue
		}
		given, err := journal.Decode[journal.GrantGiven](e)
		if err != nil {
			return nil, err
		}
		for i := range out {
			if given.Verdict == revoked && out[i].ID == given.Revokes {
				out[i].Revoked = given.ID
			}
		}
		out = append(out, Grant{GrantGiven: given, Given: e.Time})
	}
	return out, nil
}

// Answer is what a person says to a question.
type Answer struct {
	By      Person
	Approve bool   // else it is refused
	Binding string // of what the person was shown; required to approve
	Reason  string
	Until   time.Time // the grant holds no longer; zero: as long as the policy says
	Unseen  []string  // arguments that the person may not read and was told so
	Scope   Scope
}

// Refusal says why an answer does not count.
type Refusal struct {
	ID  string // of the question or the grant
	Why string
}

func (r *Refusal) Error() string { return r.ID + ": " + r.Why }

// maxReason is the length of the longest reason, in bytes.
const maxReason = 2000

// Answer keeps what a person says to the open question of an id, as [Desk.Question] takes it, and returns the question as it is then. An answer
// that would not count is a [*Refusal]: the person may not approve, has done so before, the question is open no more or another
// than was shown.
func (d *Desk) Answer(ctx context.Context, id string, a Answer) (Grant, Question, error) {
	q, err := d.Question(ctx, id)
	if err != nil {
		return Grant{}, q, err
	}
	given, err := d.check(q, a)
	if err != nil {
		return Grant{}, q, err
	}
	event, err := journal.Tell(ctx, d.Store, journal.Options{Now: d.Now}, func(past []journal.Event) (journal.GrantGiven, error) {
		all, err := grants(past)
		if err != nil {
			return given, err
		}
		if why := d.objection(q, all, a); why != "" {
			return given, &Refusal{q.ID, why}
		}
		given.ID = "g" + strconv.Itoa(len(all)+1)
		return given, nil
	})
	if err != nil {
		return Grant{}, q, err
	}
	if q, err = d.Question(ctx, q.ID); err != nil {
		return Grant{}, q, err
	}
	return Grant{GrantGiven: given, Given: event.Time}, q, nil
}

// Check says whether an answer would count, as [Desk.Answer] does, and keeps nothing.
func (d *Desk) Check(ctx context.Context, q Question, a Answer) error {
	if _, err := d.check(q, a); err != nil {
		return err
	}
	all, err := d.Grants(ctx)
	if err != nil {
		return err
	}
	if why := d.objection(q, all, a); why != "" {
		return &Refusal{q.ID, why}
	}
	return nil
}

// check makes the grant of an answer, or says what is wrong with it whoever gives it.
func (d *Desk) check(q Question, a Answer) (journal.GrantGiven, error) {
	given := journal.GrantGiven{
		Verdict: refused, Run: q.Run, Call: q.Call, Ask: q.Approval.Ask, Policy: q.Approval.Policy, Binding: q.Approval.Binding,
		By: a.By.Sub, Groups: a.By.Groups, Login: a.By.Login, Reason: a.Reason,
	}
	refuse := func(format string, args ...any) error { return &Refusal{q.ID, fmt.Sprintf(format, args...)} }
	now := d.now()
	switch {
	case q.Closed != "":
		return given, refuse("%s", q.Closed)
	case len(a.Reason) > maxReason:
		return given, refuse("reason: got %d bytes, want at most %d", len(a.Reason), maxReason)
	case !a.Approve:
		return given, nil
	case a.Binding != q.Approval.Binding:
		return given, refuse("it is another call than was shown")
	case !a.Until.IsZero() && !a.Until.After(now):
		return given, refuse("until %s: it is %s", a.Until.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	given.Verdict, given.Unseen, given.Expires = approved, a.Unseen, a.Until.UTC()
	if ttl := q.Approval.TTL; ttl > 0 && (a.Until.IsZero() || now.Add(ttl).Before(a.Until)) {
		given.Expires = now.Add(ttl).UTC()
	}
	var err error
	if given.Scope, err = a.Scope.of(q, !a.Until.IsZero()); err != nil {
		return given, &Refusal{q.ID, err.Error()}
	}
	return given, nil
}

// objection says why an answer does not count, or "".
func (d *Desk) objection(q Question, all []Grant, a Answer) string {
	v := gate.Verdict{Outcome: gate.Approved, By: a.By.Sub, Groups: a.By.Groups}
	asked := q.Question
	asked.By = nil
	for _, said := range d.said(q.Question, without(all, q.spent), q.own) {
		if strings.EqualFold(said.v.By, a.By.Sub) {
			if said.v.Outcome == gate.Refused {
				if !a.Approve {
					return a.By.Sub + " has refused it before"
				}
				continue // and has changed their mind
			}
			if !a.Approve {
				continue
			}
			if said.id != "" && said.v.Spared {
				return fmt.Sprintf("the grant %s of %s covers it already", said.id, a.By.Sub)
			}
		}
		if said.v.Outcome == gate.Approved {
			asked.By = append(asked.By, said.v.By)
		}
	}
	if a.Approve {
		return Objection(asked, v, d.now())
	}
	// Whoever wants it may take it back; others must be those who are asked.
	if a.By.Sub == "" {
		return "a refusal without a name"
	}
	if a.By.Sub == q.Principal.Sub {
		return ""
	}
	asked.By = nil
	return Objection(asked, v, d.now())
}

// Objection says why an approval that was not given where the run is does not count, or "": what [gate.Objection] says, and that
// an ask which names nobody is for whoever runs the agent.
func Objection(q gate.Question, v gate.Verdict, now time.Time) string {
	a := q.Approval
	if len(a.Approvers) == 0 && len(a.OtherThan) == 0 && a.Count <= 1 && v.By != q.Principal.Sub && v.By != "" {
		return fmt.Sprintf("%s may not approve: the policy names no approvers, so that only %s may, for whom the agent runs", v.By, cmp.Or(q.Principal.Sub, "nobody"))
	}
	return gate.Objection(q, v, now)
}

// Revoke takes back the grant of an id. What was done under it stays done.
func (d *Desk) Revoke(ctx context.Context, id string, by Person, reason string) (Grant, error) {
	if by.Sub == "" {
		return Grant{}, &Refusal{id, "it is not known who revokes it"}
	}
	var given journal.GrantGiven
	event, err := journal.Tell(ctx, d.Store, journal.Options{Now: d.Now}, func(past []journal.Event) (journal.GrantGiven, error) {
		all, err := grants(past)
		if err != nil {
			return given, err
		}
		i := slices.IndexFunc(all, func(g Grant) bool { return g.ID == id })
		switch {
		case i < 0 || all[i].Verdict == revoked:
			return given, &Refusal{id, "there is no such grant"}
		case all[i].Revoked != "":
			return given, &Refusal{id, "it was revoked before, by " + all[i].Revoked}
		case all[i].Verdict == refused:
			return given, &Refusal{id, "it is a refusal: approve the question instead"}
		case len(reason) > maxReason:
			return given, &Refusal{id, fmt.Sprintf("reason: got %d bytes, want at most %d", len(reason), maxReason)}
		}
		given = all[i].GrantGiven
		given.ID, given.Verdict, given.Revokes = "g"+strconv.Itoa(len(all)+1), revoked, id
		given.By, given.Groups, given.Login, given.Reason = by.Sub, by.Groups, by.Login, reason
		given.Scope, given.Unseen, given.Expires = nil, nil, time.Time{}
		return given, nil
	})
	return Grant{GrantGiven: given, Given: event.Time}, err
}
