package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
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
	Digest    string // of the agent
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
	Anybody bool   // counts as as many approvers as are needed, whoever they must be: for demonstrations and tests
	Grant   string // id of what was said elsewhere and is answered with; "": the person is here
	Spared  bool   // nobody was asked about this call: a grant whose scope it is in answers
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
		Run: g.cfg.Session.Run, Call: x.id, Kind: x.kind, Tool: x.name, Agent: g.cfg.Agent.Name, Digest: g.cfg.Agent.Digest, Principal: g.cfg.Principal,
		Site: x.site, Effects: x.effects, Args: x.journalled(), PC: x.pc, Approval: a, Origins: origins, Asked: g.cfg.Clock(),
	}
	var earlier []journal.ApprovalGiven // before the call went on waiting
	for live := false; ; {
		given, past, err := g.answered(x)
		switch {
		case err != nil:
			return Waiting, g.lost(err)
		case past:
		case !live:
			if err := g.goLive(ctx); err != nil {
				return Waiting, err
			}
			live, earlier = true, g.given(q)
			continue
		case len(earlier) > 0:
			given, earlier = earlier[0], earlier[1:]
		default:
			given = g.put(ctx, q)
		}
		g.later(journal.Approved, x.id, given)
		if err := g.flush(ctx, true); err != nil {
			return Waiting, err
		}
		outcome := outcomeOf(given.Verdict)
		g.count(q, outcome, given.Spared)
		if outcome != Approved || given.Anybody {
			return outcome, nil
		}
		if q.By = append(slices.Clone(q.By), given.By); len(q.By) >= a.Count {
			return Approved, nil
		}
	}
}

// put puts a question to people, and returns the answer as it is recorded.
func (g *Gate) put(ctx context.Context, q Question) journal.ApprovalGiven {
	v := Verdict{Reason: "nobody to ask"}
	if g.cfg.Approver != nil {
		var err error
		if v, err = g.cfg.Approver.Approve(ctx, q); err != nil {
			v = Verdict{By: v.By, Reason: err.Error()}
		}
	}
	if v.Outcome == Approved {
		if why := Objection(q, v, g.cfg.Clock()); why != "" {
			v.Outcome, v.Reason = Waiting, why
		}
	}
	return journal.ApprovalGiven{
		Ask: q.Approval.Ask, Policy: q.Approval.Policy, Binding: q.Approval.Binding, By: v.By, Groups: v.Groups, Verdict: v.Outcome.String(), Reason: v.Reason,
		Anybody: v.Anybody, Grant: v.Grant, Spared: v.Spared,
	}
}

// count keeps a question that nobody has answered, and counts approvals.
func (g *Gate) count(q Question, o Outcome, spared bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case o == Waiting:
		g.waiting = append(g.waiting, q)
	case o == Approved && spared:
		g.counts.Spared++
	case o == Approved:
		g.counts.Given++
	}
}

// Objection says why an approval does not count, or "". Who must be somebody else is compared whatever the case of letters:
// nobody is another person by writing their name in another way.
func Objection(q Question, v Verdict, now time.Time) string {
	a := q.Approval
	if a.TTL > 0 && now.Sub(q.Asked) > a.TTL {
		return fmt.Sprintf("the question expired after %s", a.TTL)
	}
	if a.Ask == AskInterrupted && a.Policy == "core" && (v.Anybody || v.Spared) {
		return "a person must say whether to make it again"
	}
	if v.Anybody {
		return ""
	}
	in := func(name string) bool {
		group, is := strings.CutPrefix(name, "group:")
		return is && slices.Contains(v.Groups, group)
	}
	barred := func(name string) bool {
		// The one for whom a run on nobody's behalf is may be anybody.
		return in(name) || strings.EqualFold(name, v.By) || name == requester && (q.Principal.Sub == "" || strings.EqualFold(v.By, q.Principal.Sub))
	}
	named := func(name string) bool {
		return in(name) || name == v.By || name == requester && v.By == q.Principal.Sub
	}
	switch {
	case v.By == "":
		return "an approval without a name"
	case slices.ContainsFunc(q.By, func(by string) bool { return strings.EqualFold(by, v.By) }):
		return fmt.Sprintf("%s has approved before; %d different people must", v.By, a.Count)
	case slices.ContainsFunc(a.OtherThan, barred):
		return fmt.Sprintf("%s may not approve: %s", v.By, strings.Join(a.OtherThan, ", "))
	case len(a.Approvers) > 0 && !slices.ContainsFunc(a.Approvers, named):
		return fmt.Sprintf("%s is not among the approvers: %s", v.By, strings.Join(a.Approvers, ", "))
	}
	return ""
}

// requester is the name, among approvers, of the principal of the run.
const requester = "requester"

// Binding is the digest of what an approval is for, as [policies.Approval] has it: what is called, the arguments with their labels, and
// the control flow. Arguments that were masked have another.
func Binding(kind, tool string, args []journal.Argument, pc label.Label) string {
	all := value.DictOf(label.Bottom())
	for _, a := range args {
		all.Keys = append(all.Keys, value.StringOf(a.Name, label.Bottom()))
		all.Items = append(all.Items, a.Value)
	}
	return bind(kind, tool, all, pc)
}

func bind(kind, tool string, args value.Value, pc label.Label) string {
	return value.DictOf(pc,
		value.Field{Name: "kind", Of: value.StringOf(kind, pc)},
		value.Field{Name: "tool", Of: value.StringOf(tool, pc)},
		value.Field{Name: "args", Of: args},
	).LabelledDigest()
}
