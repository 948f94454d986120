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
	"callgate/engine/label"
	"callgate/policies"
)

// Question is one ask of one call, open or closed.
type Question struct {
	gate.Question

	ID      string // TAIL/CALL/ASK: the tail is the end of the run's id, and a beginning of it all suffices where it is one question's
	Waits   bool   // the run has ended for now, and waits; else whoever runs it is being asked, or it was killed meanwhile
	Closed  string // why nobody need answer; "": the question is open
	Need    int    // how many more must approve
	Refused string // by whom, if the run will be told that
	Expires time.Time
	Shown   string // digest of the event that has it all, salted: hex digits by which people say what they were shown
	Root    string // the run that is gone on with, if its run is one of an agent that was called; else ""
	Masked  bool   // parts of the arguments do not stand in the journal: they can be bound, and not shown

	Program Program  // that makes the call
	own     []said   // at the terminal of the run
	spent   []string // grants under which the call has begun before
}

// Program is what a question's call stands in.
type Program struct {
	Text   string
	Author label.Label // of who wrote it
}

// Questions returns the open questions of a store, the oldest first. Runs that cannot be read are in the error; the questions of the others are
// returned all the same.
func (d *Desk) Questions(ctx context.Context) ([]Question, error) {
	all, err := d.Grants(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := d.Store.Runs(ctx, 0)
	if err != nil {
		return nil, err
	}
	var out []Question
	var bad error
	for _, r := range runs {
		if r.ID == journal.DeskRun || r.Status != journal.StatusWaiting && r.Status != journal.StatusRunning {
			continue
		}
		of, err := d.questions(ctx, r, all)
		bad = errors.Join(bad, err)
		for _, q := range of {
			if q.Closed == "" {
				out = append(out, q)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Question) int { return a.Asked.Compare(b.Asked) })
	return out, bad
}

// Question returns the question of an id, of what such an id begins with, or of RUN/CALL/ASK with all of the run's id. Of several the one that
// is open is meant. The error is a [*Refusal] if there is none, or more than one.
func (d *Desk) Question(ctx context.Context, id string) (Question, error) {
	all, err := d.Grants(ctx)
	if err != nil {
		return Question{}, err
	}
	runs, err := d.Store.Runs(ctx, 0)
	if err != nil {
		return Question{}, err
	}
	head, rest, _ := strings.Cut(id, "/")
	var whole, begun, closed []Question
	for _, r := range runs {
		if r.ID == journal.DeskRun || id == "" || !strings.HasPrefix(tail(r.ID), head) && r.ID != head {
			continue
		}
		of, err := d.questions(ctx, r, all)
		if err != nil {
			return Question{}, err
		}
		for _, q := range of {
			_, at, _ := strings.Cut(q.ID, "/")
			is := q.ID == id || r.ID == head && at == rest
			switch {
			case !is && !strings.HasPrefix(q.ID, id) && !(r.ID == head && strings.HasPrefix(at, rest)):
			case q.Closed != "":
				closed = append(closed, q)
			case is:
				whole = append(whole, q)
			default:
				begun = append(begun, q)
			}
		}
	}
	some := whole
	if len(some) == 0 {
		some = begun
	}
	if len(some) == 0 {
		some = closed
	}
	switch len(some) {
	case 0:
		return Question{}, &Refusal{id, "there is no such question"}
	case 1:
		return some[0], nil
	}
	var ids []string
	for _, q := range some[:min(len(some), 5)] {
		_, at, _ := strings.Cut(q.ID, "/")
		ids = append(ids, q.Run+"/"+at)
	}
	return Question{}, &Refusal{id, fmt.Sprintf("is, or begins, the ids of %d questions: %s", len(some), strings.Join(ids, ", "))}
}

// tail is what tells runs apart at a glance: the random end of an id.
func tail(run string) string { return run[strings.LastIndexByte(run, '-')+1:] }

// asked is a call of a run for which people were last asked.
type asked struct {
	made   journal.DecisionMade
	digest string
	at     time.Time
	own    []said
	closed string
}

// questions returns the questions of a run, those that are closed too. Of each call the last decision counts.
func (d *Desk) questions(ctx context.Context, r journal.RunInfo, all []Grant) ([]Question, error) {
	events, err := d.Store.Read(ctx, r.ID, 1)
	if err != nil {
		return nil, err
	}
	if err := journal.Verify(events); err != nil {
		return nil, err
	}
	var start journal.RunStarted
	programs := map[string]Program{}
	calls, made := map[string]*asked{}, map[string]journal.DecisionMade{}
	var order []string
	for _, e := range events {
		if e.Redacted() {
			continue
		}
		if err := note(e, &start, programs, calls, made, &order); err != nil {
			return nil, err
		}
	}
	var out []Question
	for _, id := range order {
		c := calls[id]
		used, err := spent(events, id)
		if err != nil {
			return nil, err
		}
		for _, a := range c.made.Decision.Approvals {
			m := c.made
			q := Question{
				Question: gate.Question{
					Run: r.ID, Call: id, Kind: m.Kind, Tool: m.Tool, Agent: start.Agent, Digest: start.Digest, Principal: start.Principal,
					Site: m.Site, Effects: m.Effects, Args: m.Args, PC: m.PC, Approval: a, Origins: m.Origins, Asked: c.at,
				},
				ID: tail(r.ID) + "/" + id + "/" + a.Ask, Shown: c.digest, Waits: r.Status == journal.StatusWaiting, Program: programs[m.Site.File], own: c.own, spent: used, Closed: c.closed,
			}
			if start.Parent != nil {
				q.Root = start.Parent.Root
			}
			twin := func(b policies.Approval) bool { return b.Ask == a.Ask && b.Policy != a.Policy }
			if slices.ContainsFunc(m.Decision.Approvals, twin) {
				q.ID += "@" + a.Policy
			}
			if q.Closed == "" && r.Status != journal.StatusWaiting && r.Status != journal.StatusRunning {
				q.Closed = "the run has ended: " + r.Status
			}
			d.answered(&q, all)
			out = append(out, q)
		}
	}
	return out, nil
}

// note takes one event of a run.
func note(e journal.Event, start *journal.RunStarted, programs map[string]Program, calls map[string]*asked, decided map[string]journal.DecisionMade, order *[]string) (err error) {
	ask := func(made journal.DecisionMade) {
		if calls[e.Call] == nil {
			*order = append(*order, e.Call)
		}
		calls[e.Call] = &asked{made: made, digest: e.Digest, at: e.Time}
	}
	end := func(why string) {
		if c := calls[e.Call]; c != nil && c.closed == "" {
			c.closed = "the call waits no longer: " + why
		}
	}
	switch e.Type {
	case journal.RunStart:
		*start, err = journal.Decode[journal.RunStarted](e)
	case journal.TurnStart:
		t, err := journal.Decode[journal.TurnStarted](e)
		if err != nil {
			return err
		}
		programs[t.File] = Program{t.Program, t.Author}
	case journal.Decided:
		made, err := journal.Decode[journal.DecisionMade](e)
		if err != nil {
			return err
		}
		decided[e.Call] = made
		if made.Decision.Effect != policies.Ask {
			end("it was decided again: " + made.Decision.Effect.String())
			return nil
		}
		ask(made)
	case journal.Approved:
		a, err := journal.Decode[journal.ApprovalGiven](e)
		if err != nil {
			return err
		}
		// About a call that had begun when its process ended nothing is decided anew: people are asked.
		if made, ok := decided[e.Call]; ok && a.Ask == gate.AskInterrupted && a.Verdict != refused {
			made.Decision.Approvals = []policies.Approval{gate.Interrupted(a.Binding)}
			ask(made)
		}
		if c := calls[e.Call]; c != nil {
			c.own = append(c.own, said{a: a, at: a.At(e), v: verdictOf(a)})
		}
		if a.Verdict == refused {
			end("refused by " + a.By)
		}
	case journal.CallStart, journal.CallResult, journal.Endorsed, journal.Observation:
		end("it was made")
	case journal.ProgramEnd:
		ended, err := journal.Decode[journal.ProgramEnded](e)
		if err != nil || ended.Status == journal.StatusWaiting {
			return err
		}
		for _, c := range calls {
			if c.closed == "" {
				c.closed = "its program has ended: " + ended.Status
			}
		}
	}
	return err
}

// answered fills in what was said to a question so far.
func (d *Desk) answered(q *Question, all []Grant) {
	q.Need = max(q.Approval.Count, 1)
	if q.Approval.TTL > 0 {
		q.Expires = q.Asked.Add(q.Approval.TTL)
	}
	counted := q.Question
	for _, s := range d.said(q.Question, without(all, q.spent), q.own) {
		switch {
		case s.v.Outcome == gate.Refused:
			q.Refused = s.v.By
		case s.v.Anybody:
			q.Need = 0
		case s.id == "" || Objection(counted, s.v, s.at) == "":
			counted.By = append(counted.By, s.v.By)
			q.Need = max(q.Need-1, 0)
		}
	}
	q.By = counted.By
	if q.Closed == "" && q.passed() {
		q.Closed = "the call waits no longer: it was approved"
	}
	q.Masked = gate.Binding(q.Kind, q.Tool, q.Args, q.PC) != q.Approval.Binding
}

// passed reports whether the run has been told that it may go on, as far as this ask goes.
func (q *Question) passed() bool {
	n := 0
	for _, s := range q.own {
		if s.a.Ask != q.Approval.Ask || s.a.Policy != q.Approval.Policy {
			continue
		}
		switch {
		case s.v.Outcome != gate.Approved:
			return false
		case s.v.Anybody:
			n = q.Approval.Count
		}
		n++
	}
	return n >= max(q.Approval.Count, 1)
}
