package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/policies"
)

// Approver asks people. It is asked one question at a time by each gate, and may take its
// time; it returns when ctx ends, and must not call the gate that asks. An error is recorded, and means that nobody
// answered.
type Approver interface {
	Approve(ctx context.Context, q Question) (Verdict, error)
}

// Question is one ask about one call: what will be done if it is approved, exactly.
type Question struct {
	Run       string
	Call      string // the call's id
	Kind      string
	Tool      string
	Agent     string
	Principal policies.Principal
	Site      policies.Site
	Effects   []string
	Args      []journal.Argument // as the tool will get them
	PC        label.Label
	Approval  policies.Approval // the ask; its Binding stands for tool, arguments, labels and pc
	Origins   map[string]string // per argument's part that the ask names: where it came from
	By        []string          // who has approved so far, if more than one must
	Asked     time.Time
}

// Outcome is what a person said. The zero Outcome is [Waiting].
type Outcome uint8

// The outcomes.
const (
	Waiting Outcome = iota // nobody answered: the run waits
	Refused
	Approved
)

// String returns the outcome's name, such as "approved".
func (o Outcome) String() string {
	return [...]string{"waiting", "refused", "approved"}[min(o, Approved)]
}

// Verdict answers a question. The zero Verdict waits.
type Verdict struct {
	Outcome Outcome
	By      string   // who answered: a principal, or words that say so
	Groups  []string // that the person is in
	Reason  string
	Anybody bool // counts as as many approvers as are needed, whoever they must be: for demonstrations and tests
}

// ApproveAll approves every question without a person, for demonstrations and tests.
type ApproveAll struct {
	By string // recorded as who approved: "--approve all"
}

// Approve approves.
func (a ApproveAll) Approve(context.Context, Question) (Verdict, error) {
	return Verdict{Outcome: Approved, By: a.By, Anybody: true}, nil
}

// ask puts one ask to people until it has as many approvals as it needs. Every answer is
// recorded. The error is that of the journal.
func (g *Gate) ask(ctx context.Context, x *crossing, a policies.Approval, origins map[string]string) (Outcome, error) {
	q := Question{
		Run: g.cfg.Session.Run, Call: x.id, Kind: x.kind, Tool: x.name, Agent: g.cfg.Agent.Name, Principal: g.cfg.Principal,
		Site: x.site, Effects: x.effects, Args: x.journalled(), PC: x.pc, Approval: a, Origins: origins, Asked: g.cfg.Clock(),
	}
	for {
		v, why := Verdict{Reason: "nobody to ask"}, ""
		if g.cfg.Approver != nil {
			var err error
			v, err = g.cfg.Approver.Approve(ctx, q)
			if err != nil {
				v = Verdict{By: v.By, Reason: err.Error()}
			}
		}
		if v.Outcome == Approved {
			if why = objection(q, v, g.cfg.Clock()); why != "" {
				v.Outcome, v.Reason = Waiting, why
			}
		}
		given := journal.ApprovalGiven{Ask: a.Ask, Binding: a.Binding, By: v.By, Verdict: v.Outcome.String(), Reason: v.Reason}
		g.later(journal.Approved, x.id, given)
		if err := g.flush(ctx, true); err != nil {
			return Waiting, err
		}
		if v.Outcome == Waiting {
			g.wait(q)
		}
		if v.Outcome != Approved || v.Anybody {
			return v.Outcome, nil
		}
		if q.By = append(slices.Clone(q.By), v.By); len(q.By) >= a.Count {
			return Approved, nil
		}
	}
}

// objection says why an approval does not count, or "".
func objection(q Question, v Verdict, now time.Time) string {
	a := q.Approval
	if a.TTL > 0 && now.Sub(q.Asked) > a.TTL {
		return fmt.Sprintf("the question expired after %s", a.TTL)
	}
	if v.Anybody {
		return ""
	}
	is := func(names []string) bool {
		return slices.ContainsFunc(names, func(n string) bool {
			group, isGroup := strings.CutPrefix(n, "group:")
			return !isGroup && n == v.By || isGroup && slices.Contains(v.Groups, group) || n == "requester" && v.By == q.Principal.Sub
		})
	}
	switch {
	case v.By == "":
		return "an approval without a name"
	case slices.Contains(q.By, v.By):
		return fmt.Sprintf("%s has approved before; %d different people must", v.By, a.Count)
	case is(a.OtherThan):
		return fmt.Sprintf("%s may not approve: %s", v.By, strings.Join(a.OtherThan, ", "))
	case len(a.Approvers) > 0 && !is(a.Approvers):
		return fmt.Sprintf("%s is not among the approvers: %s", v.By, strings.Join(a.Approvers, ", "))
	}
	return ""
}
