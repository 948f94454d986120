package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/builtins"
	"callgate/cmd/internal/console"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/policies"
)

// explainFlags are the flags of explain.
type explainFlags struct {
	agent    string
	policies string
	state    string
	json     bool
}

func (c *command) explainVerb() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain RUN CALL",
		Short: "Say why a call was decided as it was, and where its values came from",
		Long: `Say of a call of a run which rules fired, which did not and why, what its arguments were and how they were labelled, and
where they came from, back to the run's inputs. The beginning of a run's ID will do.

Rules that did not fire are known with --agent, or in the agent's folder: then every rule is evaluated once more, under the
policies of today. What whoever is at the terminal may not read is hidden.`,
		Example: "  callgate explain 20261201 2.4 --state ./state --agent examples/invoices\n  callgate explain 20261201 4.1 --json",
		Args:    arguments(2, 2, "the ID of a run and of a call"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.explain(cmd.Context(), args[0], args[1], f)
		},
	}
	agentFlag(cmd, &f.agent)
	policyFlag(cmd, &f.policies)
	cmd.Flags().StringVar(&f.state, "state", "", "`folder` of the journal")
	cmd.Flags().BoolVar(&f.json, "json", false, "write it as JSON")
	return cmd
}

// explanation is what is told of a call, as JSON has it.
type explanation struct {
	Run      string            `json:"run"`
	Call     string            `json:"call"`
	Kind     string            `json:"kind"`
	Tool     string            `json:"tool"`
	Site     string            `json:"site,omitempty"`
	Program  string            `json:"program"` // label of its author
	Decision policies.Decision `json:"decision"`
	Outcome  string            `json:"outcome,omitempty"` // of a call that went on
	Result   string            `json:"result,omitempty"`
	Agent    string            `json:"agent_run,omitempty"` // of the agent that the call runs
	Key      string            `json:"key,omitempty"`       // idempotency key, if the tool was begun
	Took     string            `json:"took,omitempty"`      // by the tool
	Answers  []shownAnswer     `json:"answers,omitempty"`
	Notes    []string          `json:"notes,omitempty"`
	Values   []shownValue      `json:"values"`
	Rules    []shownRule       `json:"rules,omitempty"`
	Chains   []*link           `json:"chains"`
}

// shownValue is a leaf of the call.
type shownValue struct {
	Path    string   `json:"path"`
	Value   string   `json:"value"`
	Label   string   `json:"label"`
	Sink    string   `json:"sink,omitempty"`
	Sources []string `json:"sources,omitempty"`
	Named   bool     `json:"named,omitempty"` // a rule that refused or asked is about it
}

// shownAnswer is a person's answer to an ask, or that it waited for one.
type shownAnswer struct {
	Ask     string    `json:"ask"`
	Verdict string    `json:"verdict"`
	By      string    `json:"by,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Time    time.Time `json:"time"`
	After   string    `json:"after,omitempty"` // the first time that it waited
}

// shownRule is a rule, and what came of it.
type shownRule struct {
	policies.Rule
	File    string      `json:"file,omitempty"`
	Line    int         `json:"line,omitempty"`
	Outcome string      `json:"outcome"`
	Args    []string    `json:"args,omitempty"`
	Message string      `json:"message,omitempty"`
	Why     []shownStep `json:"why,omitempty"`
}

// shownStep is a part of a condition that did not hold, or did.
type shownStep struct {
	Text   string      `json:"text"`
	Leaves []string    `json:"leaves,omitempty"` // of which it is said
	Value  string      `json:"value"`
	Values []string    `json:"values,omitempty"`
	At     string      `json:"at,omitempty"`
	Below  []shownStep `json:"below,omitempty"`
}

// explain explains one call.
func (c *command) explain(ctx context.Context, run, call string, f explainFlags) (err error) {
	events, err := c.recorded(ctx, f.state, run)
	if err != nil {
		return err
	}
	var b *bound // nil: only what is recorded is explained
	if f.agent = agentHere(f.agent); f.agent != "" || f.policies != "" {
		if b, err = c.bind(ctx, f.agent, f.policies); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.close()) }()
	}
	out, err := explained(ctx, events, events, call, c.readers(b)(events).MayRead, b, nil)
	if err != nil {
		return err
	}
	if f.json {
		return c.writeLine(out)
	}
	_, err = c.stdout.WriteString(console.Clean(out.text()))
	return err
}

// explained explains a call of a run to whoever may read what may says. The story of its approvals is told from all, which may have events that do
// not count any more. With b, rules that did not fire are explained too.
func explained(ctx context.Context, events, all []journal.Event, call string, may func(label.Label) bool, b *bound, where sites) (*explanation, error) {
	var tools *builtins.Set
	if b != nil {
		tools = b.tools
	}
	past, err := gate.Rebuild(events, tools)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(past, func(p gate.Recorded) bool { return p.Call == call })
	if at < 0 {
		return nil, noCall(events, call)
	}
	x := &explainer{may: may, events: events, all: all, where: where}
	return x.explain(ctx, past[at], b)
}

// noCall is the error of a call that the run has no decision on.
func noCall(events []journal.Event, call string) error {
	for _, e := range events {
		if e.Call == call && e.Type == journal.CallResult {
			if ended, err := journal.Decode[journal.CallEnded](e); err == nil && ended.Code != "" {
				return fmt.Errorf("call %s: nothing was decided on it: %s: %s", call, ended.Tool, ended.Code)
			}
		}
	}
	return fmt.Errorf("run %s: no decision on a call %q\nhint: callgate runs show %s lists the calls", events[0].Run, call, events[0].Run)
}

// explainer makes an explanation for one reader.
type explainer struct {
	may    func(label.Label) bool
	events []journal.Event
	all    []journal.Event // with those that do not count any more
	where  sites
}

// sites say where, in what a person typed, a place in a program is that ran; nil: where the program has it.
type sites func(policies.Site) policies.Site

// place writes a place.
func (at sites) place(s policies.Site) string {
	if at != nil {
		s = at(s)
	}
	return place(s)
}

func (x *explainer) explain(ctx context.Context, p gate.Recorded, b *bound) (*explanation, error) {
	r, d := p.Request, p.Made.Decision
	hide := hiding(x.may, everything(r))
	out := &explanation{
		Run: r.Session.Run, Call: p.Call, Kind: p.Made.Kind, Tool: p.Made.Tool, Site: x.where.place(r.Call.Site),
		Program: r.Labels.Program.String(), Decision: d, Notes: p.Notes,
	}
	x.story(out)
	if hide != "" {
		out.Decision = withoutMessages(d, hide)
	}
	named := map[string]bool{}
	for _, reason := range d.Reasons {
		if reason.Effect != policies.Allow && !reason.Accept {
			for _, path := range reason.Args {
				named[path] = true
			}
		}
	}
	for _, a := range d.Approvals {
		for _, path := range a.Args {
			named[path] = true
		}
	}
	chains := newChains(x.events, x.may, p.Call)
	chains.where = x.where
	for i := range r.Leaves {
		l := &r.Leaves[i]
		v := shownValue{Path: l.Path, Value: x.leaf(l), Label: l.Label.String(), Sink: l.Sink, Named: named[l.Path]}
		for _, s := range l.Label.Sources() {
			v.Sources = append(v.Sources, sourceText(s))
		}
		out.Values = append(out.Values, v)
		if len(named) == 0 || named[l.Path] {
			from := chains.of(l.Label)
			out.Chains = append(out.Chains, &link{Text: l.Path + " = " + v.Value, Label: v.Label, From: from})
		}
	}
	switch {
	case p.Own:
		out.Notes = append(out.Notes, "the gate itself refused it: no policy was asked")
	case b == nil:
		out.Notes = append(out.Notes, "without --agent only the rules that fired are known")
	default:
		if d.Revision != b.root.Revision() {
			out.Notes = append(out.Notes, "the policies have changed since: the rules are those of today")
		}
		rules, err := b.root.Explain(ctx, r)
		if err != nil {
			return nil, err
		}
		for _, e := range rules {
			out.Rules = append(out.Rules, x.rule(e, d, hide))
		}
	}
	return out, nil
}

// story tells what became of a call after it was decided: the answers to what was asked, and what came of it.
func (x *explainer) story(out *explanation) {
	since, waited := waitedSince(x.all)[out.Call]
	for _, e := range x.all {
		if e.Call != out.Call || e.Redacted() {
			continue
		}
		switch e.Type {
		case journal.Approved:
			given, err := journal.Decode[journal.ApprovalGiven](e)
			if err != nil {
				continue
			}
			answer := shownAnswer{Ask: given.Ask, Verdict: given.Verdict, By: given.By, Reason: given.Reason, Time: e.Time}
			if after := e.Time.Sub(since); waited && after >= time.Second {
				answer.After = after.Round(time.Second).String()
			}
			out.Answers = append(out.Answers, answer)
			if out.Outcome = ""; given.Verdict != "approved" {
				out.Outcome = fmt.Sprintf("%s: %s", given.Verdict, given.Ask)
			}
		case journal.CallStart:
			if begun, err := journal.Decode[journal.CallStarted](e); err == nil {
				out.Key, out.Agent, out.Outcome = begun.Key, begun.Run, "begun, and no result is recorded: it may have had its effect"
			}
		case journal.CallResult:
			if ended, err := journal.Decode[journal.CallEnded](e); err == nil {
				x.result(out, ended)
			}
		}
	}
}

// result tells what came of a call that went on.
func (x *explainer) result(out *explanation, ended journal.CallEnded) {
	if ended.Duration > 0 {
		out.Took = ended.Duration.String()
	}
	switch {
	case ended.Code != "":
		if out.Outcome = "failed: " + ended.Code; ended.Waits {
			out.Outcome = "waiting for the agent that it runs"
		}
		if ended.Text != "" {
			out.Result = cmp.Or(hiding(x.may, ended.Label), ended.Text)
		}
	default:
		out.Outcome = "done, result labelled " + ended.Label.String()
		if ended.Value != nil {
			out.Result = console.Value(*ended.Value, x.may)
		}
	}
}

// rule shows what came of one rule. Steps that say the same of several leaves are one.
func (x *explainer) rule(e policies.Explanation, d policies.Decision, hide string) shownRule {
	r := shownRule{Rule: e.Rule, File: e.Pos.File, Line: e.Pos.Line, Outcome: e.Outcome, Args: e.Args, Why: shownSteps(e.Steps, hide)}
	for _, reason := range d.Reasons {
		if reason.Policy == e.Policy && reason.ID == e.ID && reason.Message != "" {
			if r.Message = reason.Message; hide != "" {
				r.Message = hide
			}
		}
	}
	return r
}

func shownSteps(steps []policies.Step, hide string) []shownStep {
	var out []shownStep
	for _, s := range steps {
		n := shownStep{Text: s.Text, Value: s.Value, Below: shownSteps(s.Below, hide)}
		if s.Pos.IsValid() {
			n.At = s.Pos.String()
		}
		for _, v := range s.Values {
			if hide == "" || static(v) {
				n.Values = append(n.Values, v)
			}
		}
		if hide != "" && s.Value != "true" && s.Value != "false" {
			n.Value = hide // it may quote what it is about
		}
		i := slices.IndexFunc(out, func(o shownStep) bool {
			return o.Text == n.Text && o.Value == n.Value && o.At == n.At && s.Leaf != "" && len(o.Leaves) > 0 && len(o.Below)+len(n.Below) == 0
		})
		if i >= 0 {
			if o := &out[i]; !slices.Contains(o.Leaves, s.Leaf) {
				o.Leaves = append(o.Leaves, s.Leaf)
				for _, v := range n.Values {
					if !slices.Contains(o.Values, v) {
						o.Values = append(o.Values, v)
					}
				}
			}
			continue
		}
		if s.Leaf != "" {
			n.Leaves = []string{s.Leaf}
		}
		out = append(out, n)
	}
	return out
}

// static reports whether what is compared is known before the call: it holds no data.
func static(comparison string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(comparison, "input."), " = ")
	return slices.Contains([]string{"call.kind", "call.tool", "call.effects", "call.sinks"}, name)
}

// maxShown is how much of a value is shown.
const maxShown = 80

// leaf shows the value of a leaf.
func (x *explainer) leaf(l *policies.Leaf) string {
	switch v := l.Value.(type) {
	case string:
		if l.Sink == policies.SinkControl {
			return "that the call is made"
		}
		if !x.may(l.Label) {
			return console.Hidden(l.Label)
		}
		return quoted(v)
	default:
		if !x.may(l.Label) {
			return console.Hidden(l.Label)
		}
		return fmt.Sprint(v)
	}
}

// quoted shows a text, shortened.
func quoted(s string) string {
	if r := []rune(s); len(r) > maxShown {
		return strconv.QuoteToASCII(string(r[:maxShown])) + fmt.Sprintf(" (%d chars)", len(r))
	}
	return strconv.QuoteToASCII(s)
}

// place writes "file:line:col".
func place(s policies.Site) string {
	if s.Line == 0 {
		return s.File
	}
	return fmt.Sprintf("%s:%d:%d", s.File, s.Line, s.Column)
}

// text tells the explanation to people.
func (x *explanation) text() string {
	var b strings.Builder
	line := func(word, format string, args ...any) {
		fmt.Fprintf(&b, "%s\n", strings.TrimRight(fmt.Sprintf("%-10s%s", word, fmt.Sprintf(format, args...)), " "))
	}
	line("call", "%s %s  %s", x.Call, x.Tool, x.Site)
	line("program", "by %s", x.Program)
	line("decided", "%s", x.Decision.Effect)
	if x.Agent != "" {
		line("agent", "run %s", x.Agent)
	}
	if x.Outcome != "" {
		line("outcome", "%s", x.Outcome)
	}
	for i, a := range x.Answers {
		word, after, by := "", "", ""
		if i == 0 {
			word = "approvals"
		}
		if a.By != "" {
			by = " by " + a.By
		}
		if a.After != "" {
			after = " after " + a.After
		}
		if a.Reason != "" {
			after += ": " + a.Reason
		}
		line(word, "%s %s%s%s", a.Ask, a.Verdict, by, after)
	}
	if x.Result != "" {
		line("result", "%s", strings.ReplaceAll(x.Result, "\n", "\n          "))
	}
	if x.Took != "" {
		line("took", "%s", x.Took)
	}
	for _, n := range x.Notes {
		line("note", "%s", n)
	}
	b.WriteString("\nvalues\n")
	for _, row := range aligned(x.Values) {
		b.WriteString("  " + row + "\n")
	}
	x.fired(&b)
	x.others(&b)
	b.WriteString("\ncame from\n")
	for _, c := range x.Chains {
		c.write(&b, "  ")
	}
	return b.String()
}

// aligned are the rows of a table of values.
func aligned(values []shownValue) []string {
	var paths, texts int
	for _, v := range values {
		paths, texts = max(paths, len(v.Path)), max(texts, len(v.Value))
	}
	texts = min(texts, maxShown/2)
	var out []string
	for _, v := range values {
		mark := " "
		if v.Named {
			mark = "!"
		}
		s := fmt.Sprintf("%s %-*s  %-*s  %s", mark, paths, v.Path, texts, v.Value, v.Label)
		if v.Sink != "" && v.Sink != policies.SinkNone {
			s += "  at " + v.Sink
		}
		out = append(out, s)
	}
	return out
}

// fired tells the reasons that are recorded.
func (x *explanation) fired(b *strings.Builder) {
	b.WriteString("\nfired\n")
	for _, r := range x.Decision.Reasons {
		fmt.Fprintf(b, "  %s\n", reasonText(r, ""))
	}
	for _, r := range x.Rules {
		recorded := slices.ContainsFunc(x.Decision.Reasons, func(reason policies.Reason) bool { return reason.Policy == r.Policy && reason.ID == r.ID })
		if r.Outcome == policies.RuleFired && !recorded {
			what := "fires"
			if r.Action == "accept" {
				what = "fires, and lifts nothing"
			}
			fmt.Fprintf(b, "  %-6s  %s  %s:%d  %s\n", r.Action, r.ID, r.File, r.Line, what)
		}
	}
}

// others tells the rules that did not fire: those that apply with their reasons, the others in a line.
func (x *explanation) others(b *strings.Builder) {
	if len(x.Rules) == 0 {
		return
	}
	b.WriteString("\ndid not fire\n")
	unbound := map[string][]string{}
	var order []string
	later := func(key, id string) {
		if unbound[key] == nil {
			order = append(order, key)
		}
		unbound[key] = append(unbound[key], id)
	}
	for _, r := range x.Rules {
		switch r.Outcome {
		case policies.RuleFired:
			continue
		case policies.RuleUnbound:
			why := "match"
			if len(r.Why) > 0 {
				why = r.Why[0].Text
			}
			later(r.Policy+": "+why+" does not hold", r.ID)
			continue
		}
		if len(r.Why) == 1 && len(r.Why[0].Leaves) == 0 && len(r.Why[0].Below) == 0 && len(r.Why[0].Values) == 1 && strings.HasPrefix(r.Why[0].Text, "input.call.") {
			later(r.Why[0].Values[0], r.ID) // it is about calls of another kind
			continue
		}
		fmt.Fprintf(b, "  %-6s  %s  %s:%d\n", r.Action, r.ID, r.File, r.Line)
		if r.Outcome == policies.RuleFailed {
			fmt.Fprintf(b, "          %s\n", r.Outcome)
		}
		writeSteps(b, r.Why, "          ")
	}
	for _, key := range order {
		fmt.Fprintf(b, "  %s: %s\n", key, strings.Join(unbound[key], ", "))
	}
}

func writeSteps(b *strings.Builder, steps []shownStep, indent string) {
	for _, s := range steps {
		if s.Value == "true" {
			continue
		}
		fmt.Fprintf(b, "%s%s is %s", indent, s.Text, s.Value)
		if len(s.Leaves) > 0 {
			fmt.Fprintf(b, " for %s", strings.Join(s.Leaves, ", "))
		}
		if len(s.Values) > 0 {
			fmt.Fprintf(b, ": %s", strings.Join(s.Values, ", "))
		}
		b.WriteString("\n")
		writeSteps(b, s.Below, indent+"  ")
	}
}
