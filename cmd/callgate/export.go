package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

func (c *command) exportVerb() *cobra.Command {
	var f runsFlags
	var pick filter
	var raw, proof bool
	format := &choice{"jsonl", []string{"jsonl", "decisions"}}
	cmd := &cobra.Command{
		Use: "export [ID...]", Short: "Write runs for other programs",
		Long: `Write runs for other programs: those that are named, or those that fit, of which runs list says more; oldest first.

jsonl is the journal's own form, an event a line. decisions is a line of JSON for each decision in the shape of OPA's decision log: with the
request as input, the decision as result, and what was hidden under masked.

What whoever is at the terminal may not read by its labels is hidden.`,
		Example: `  callgate runs export 20261201 --state ./state > run.jsonl
  callgate runs export 20261201 --raw --proof > proved.jsonl
  callgate runs export --format decisions --since 1d | gzip > decisions.json.gz
  callgate runs export --agent inbox --decision deny --format decisions`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if raw && format.value != "jsonl" {
				return usage("", "runs export: --raw goes with --format jsonl")
			}
			pick.prepare()
			if proof && !raw {
				return usage("", "runs export: --proof goes with --raw: it proves events as they are stored")
			}
			return c.export(cmd.Context(), args, &pick, format.value, raw, proof, f)
		},
		ValidArgsFunction: c.completeRuns(&f, 0),
	}
	cmd.Flags().StringVar(&f.state, "state", "", "`folder` of the journal")
	cmd.Flags().Var(format, "format", "what to write")
	pick.add(cmd, time.Now())
	rawFlag(cmd, &raw)
	cmd.Flags().BoolVar(&proof, "proof", false, "with --raw, write what verifies the runs alone behind them: callgate runs verify --export")
	return cmd
}

func (c *command) export(ctx context.Context, ids []string, pick *filter, format string, raw, proof bool, f runsFlags) (err error) {
	store, dir, err := c.past(f.state)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	chosen, err := chosenRuns(ctx, store, ids, pick, dir)
	if err != nil {
		return err
	}
	reads := c.readers(nil)
	hidden := 0
	var unread []error // what is the matter with single runs: the others are written all the same
	for _, run := range chosen {
		p, err := readRun(ctx, store, run, raw, reads)
		if err != nil {
			return err
		}
		unread = append(unread, p.altered)
		switch {
		case format == "decisions":
			current := journal.Current(p.events, false)
			past, bad := gate.Rebuild(current, nil)
			if bad != nil {
				unread = append(unread, bad)
				continue
			}
			err = c.exportDecisions(p, current, past)
		case raw:
			err = journal.Export(c.stdout, p.events)
		default:
			err = journal.Export(c.stdout, p.readable)
		}
		if err != nil {
			return err
		}
		hidden += p.hidden
	}
	if format == "jsonl" {
		c.tellHidden(hidden, raw)
	}
	if proof {
		ids := make([]string, len(chosen))
		for i, run := range chosen {
			ids[i] = run.ID
		}
		ledger, err := journal.Proof(ctx, store, ids...)
		if err == nil {
			err = journal.ExportLedger(c.stdout, ledger)
		}
		unread = append(unread, err)
	}
	return errors.Join(unread...)
}

// chosenRuns are the runs that are named, in that order, or those that fit, oldest first.
func chosenRuns(ctx context.Context, store journal.Store, ids []string, pick *filter, dir string) (chosen []journal.RunInfo, err error) {
	if len(ids) == 0 {
		err = picked(ctx, store, pick, 0, new(looking), func([]journal.RunInfo) {}, func(r listed) error {
			chosen = append(chosen, r.RunInfo)
			return nil
		})
		slices.Reverse(chosen)
		return chosen, err
	}
	runs, err := runsIn(ctx, store)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if id, err = find(runs, id, dir); err != nil {
			return nil, err
		}
		chosen = append(chosen, runs[slices.IndexFunc(runs, func(r journal.RunInfo) bool { return r.ID == id })])
	}
	return chosen, nil
}

// logged is an event in the shape of OPA's decision log.
type logged struct {
	Labels      map[string]string         `json:"labels"` // of who decided
	DecisionID  string                    `json:"decision_id"`
	Bundles     map[string]loggedRevision `json:"bundles,omitempty"`
	Path        string                    `json:"path"`
	Input       any                       `json:"input,omitempty"`
	Result      policies.Decision         `json:"result"`
	Masked      []string                  `json:"masked,omitempty"` // JSON pointers of what was replaced
	RequestedBy string                    `json:"requested_by,omitempty"`
	Timestamp   time.Time                 `json:"timestamp"`
	Metrics     map[string]any            `json:"metrics,omitempty"`
	RequestID   uint64                    `json:"req_id,omitempty"`
	Custom      loggedCall                `json:"custom"`
}

type loggedRevision struct {
	Revision string `json:"revision"`
}

// loggedCall is what OPA has no field for.
type loggedCall struct {
	Run     string        `json:"run"`
	Call    string        `json:"call"`
	Outcome string        `json:"outcome,omitempty"`
	Answers []shownAnswer `json:"answers,omitempty"`
	Notes   []string      `json:"notes,omitempty"` // in what the input may differ from what was decided on
}

// exportDecisions writes the decisions of a run that count: those of the past, whose events are among the current ones.
func (c *command) exportDecisions(p *pastRun, current []journal.Event, past []gate.Recorded) error {
	var decisions []journal.Event // in the order of past
	for _, e := range current {
		if e.Type == journal.Decided && !e.Redacted() {
			decisions = append(decisions, e)
		}
	}
	x := &explainer{may: p.who.MayRead, events: current, all: p.events}
	times := map[string]int{}
	for i, r := range past {
		d := r.Made.Decision
		out := &explanation{Call: r.Call}
		x.story(out)
		times[r.Call]++
		id := r.Request.Session.Run + "/" + r.Call
		if n := times[r.Call]; n > 1 {
			id += fmt.Sprintf("/%d", n) // decided again, after it was approved
		}
		entry := logged{
			Labels:     map[string]string{"app": "callgate", "id": r.Request.Session.Run, "agent": r.Request.Agent.Name, "version": thisVersion().Version},
			DecisionID: id, Bundles: map[string]loggedRevision{"callgate": {d.Revision}}, Path: "callgate/decision",
			RequestedBy: r.Request.Principal.Sub, Timestamp: d.Time, RequestID: uint64(decisions[i].Seq),
			Custom: loggedCall{Run: r.Request.Session.Run, Call: r.Call, Outcome: out.Outcome, Answers: out.Answers, Notes: r.Notes},
		}
		if d.Time.IsZero() {
			entry.Timestamp = decisions[i].Time
		}
		if d.Cached {
			entry.Metrics = map[string]any{"counter_callgate_decision_cached": 1}
		}
		entry.Input, entry.Masked = requestFor(r.Request, p.who.MayRead)
		entry.Result = d
		if all := everything(r.Request); !p.who.MayRead(all) {
			entry.Result, entry.Masked = withoutMessages(d, journal.Hidden(all)), append(entry.Masked, maskedResult(d)...)
		}
		if err := c.writeLine(entry); err != nil {
			return err
		}
	}
	return nil
}

// requestFor is the document of a request as somebody may see it, with the JSON pointers of what they may not, or what the journal
// has masked.
func requestFor(r *policies.Request, may func(label.Label) bool) (document map[string]any, masked []string) {
	shown := *r
	shown.Leaves = slices.Clone(r.Leaves)
	hide := func(at string, l label.Label) bool {
		if may(l) && !l.HasTag(journal.SecretTag) {
			return false
		}
		masked = append(masked, at)
		return !may(l)
	}
	shown.Call.Args.Items = slices.Clone(r.Call.Args.Items)
	for i, arg := range shown.Call.Args.Items {
		if hide("/input/call/args/"+pointer(shown.Call.Args.Keys[i].Str), arg.Deep()) {
			shown.Call.Args.Items[i] = hideValue(arg, may)
		}
	}
	for i := range shown.Leaves {
		l := &shown.Leaves[i]
		if l.Sink != policies.SinkControl && hide(fmt.Sprintf("/input/leaves/%d/value", i), l.Label) {
			l.Value, l.Norm, l.Host = journal.Hidden(l.Label), "", ""
		}
	}
	return shown.Document(), masked
}

// hideValue puts the readers of what somebody may not read in its place.
func hideValue(v value.Value, may func(label.Label) bool) value.Value {
	return v.Rewrite(func(n value.Value) value.Value {
		if !may(n.Label) || !n.Scalar() && !may(n.Structure) {
			return value.StringOf(journal.Hidden(n.Deep()), n.Deep())
		}
		return n
	})
}

// maskedResult are the JSON pointers of what withoutMessages hides.
func maskedResult(d policies.Decision) (masked []string) {
	for i, r := range d.Reasons {
		if r.Message != "" {
			masked = append(masked, fmt.Sprintf("/result/reasons/%d/message", i))
		}
	}
	for i, o := range d.Obligations {
		if len(o.Fields) > 0 {
			masked = append(masked, fmt.Sprintf("/result/obligations/%d", i))
		}
	}
	for i, a := range d.Approvals {
		if a.Message != "" {
			masked = append(masked, fmt.Sprintf("/result/approvals/%d/message", i))
		}
		if a.Binding != "" {
			masked = append(masked, fmt.Sprintf("/result/approvals/%d/binding", i))
		}
	}
	return masked
}

// pointer is a step of a JSON pointer.
func pointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
