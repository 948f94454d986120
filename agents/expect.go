package agents

import (
	"fmt"
	"slices"
	"strings"

	"callgate/engine"
	"callgate/engine/eval"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/policies"
	"callgate/spec"
)

// decided is one decision of a run, and what came of the call.
type decided struct {
	journal.DecisionMade
	call    string
	started bool
	ended   *journal.CallEnded
	label   *label.Label // of the result
}

// compare returns what differs from what a scenario expects.
func (s *scenario) compare(r Result) ([]spec.Problem, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	made, err := decisions(s.events)
	if err != nil {
		return nil, err
	}
	c := &comparison{scenario: s, made: made, result: r}
	out := s.failures
	if bad, ok := modelFailure(r); ok {
		out = append(out, bad)
	}
	c.outcome()
	c.answer()
	c.calls()
	c.effects()
	c.never()
	c.variables()
	return append(out, c.out...), nil
}

// decisions reads the decisions of a run, and what came of them.
func decisions(events []journal.Event) ([]*decided, error) {
	var out []*decided
	about := func(call string, f func(d *decided)) {
		for _, d := range out {
			if d.call == call {
				f(d)
			}
		}
	}
	for _, e := range events {
		switch e.Type {
		case journal.Decided:
			d, err := journal.Decode[journal.DecisionMade](e)
			if err != nil {
				return nil, err
			}
			out = append(out, &decided{DecisionMade: d, call: e.Call})
		case journal.CallStart:
			about(e.Call, func(d *decided) { d.started = true })
		case journal.CallResult:
			ended, err := journal.Decode[journal.CallEnded](e)
			if err != nil {
				return nil, err
			}
			about(e.Call, func(d *decided) { d.ended, d.label = &ended, &ended.Label })
		case journal.Endorsed:
			g, err := journal.Decode[journal.EndorsementMade](e)
			if err != nil {
				return nil, err
			}
			about(e.Call, func(d *decided) { d.label = &g.To })
		case journal.Observation:
			o, err := journal.Decode[journal.Observed](e)
			if err != nil {
				return nil, err
			}
			about(e.Call, func(d *decided) { d.label = &o.Label })
		}
	}
	return out, nil
}

// comparison holds a run against what is expected of it.
type comparison struct {
	*scenario
	made   []*decided
	result Result
	out    []spec.Problem
}

func (c *comparison) fail(pos spec.Position, hint, format string, args ...any) {
	if !pos.IsValid() {
		pos = c.Expect.Pos
	}
	c.out = append(c.out, spec.Problem{Pos: pos, Text: fmt.Sprintf(format, args...), Hint: hint})
}

func (c *comparison) outcome() {
	want := c.Expect.Outcome
	switch {
	case want == c.result.Status:
	case want != "":
		c.fail(c.Expect.OutcomePos, "", "outcome: got %s%s, want %s", c.result.Status, c.reason(), want)
	case c.result.Status == engine.Failed:
		c.fail(c.Expect.Pos, "set outcome: failed if it should", "the run failed%s", c.reason())
	}
}

// reason says why the run ended as it did.
func (c *comparison) reason() string {
	switch {
	case c.result.Status == engine.Waiting && len(c.result.Waiting) > 0:
		q := c.result.Waiting[0]
		return fmt.Sprintf(" (%s at %s)", q.Approval.Ask, q.Call)
	case c.result.Last.Err != nil && c.result.Last.Status != eval.OK:
		first, _, _ := strings.Cut(c.result.Last.Err.Error(), "\n")
		return " (" + first + ")"
	case c.result.Reason != "":
		first, _, _ := strings.Cut(c.result.Reason, "\n")
		return " (" + first + ")"
	}
	return ""
}

func (c *comparison) answer() {
	if !c.Expect.HasAnswer {
		return
	}
	switch a := c.result.Answer; {
	case a == nil:
		c.fail(c.Expect.AnswerPos, "", "answer: got none, want %s", brief(c.Expect.Answer))
	case !equalData(a.Plain(), c.Expect.Answer):
		c.fail(c.Expect.AnswerPos, "", "answer: got %s, want %s", brief(a.Plain()), brief(c.Expect.Answer))
	}
}

// calls looks for the calls that are expected, in their order. Taking the first that fits finds all of
// them whenever that is possible.
func (c *comparison) calls() {
	from := 0
	for _, want := range c.Expect.Calls {
		at := slices.IndexFunc(c.made[from:], func(d *decided) bool { return len(c.unlike(d, want)) == 0 })
		if at >= 0 {
			from += at + 1
			continue
		}
		c.missing(want, from)
	}
}

// unlike says in what a decision differs from an expected call; nil if it is that.
func (c *comparison) unlike(d *decided, want spec.ExpectedCall) []string {
	if d.Kind != want.Kind || d.Tool != want.Tool || want.Call != "" && want.Call != d.call {
		return []string{"another call"}
	}
	out := differences(plainArgs(d), want.Args)
	if got := d.Decision.Effect.String(); got != want.Effect {
		out = append(out, fmt.Sprintf("got %s%s, want %s", got, ids(d, d.Decision.Effect), want.Effect))
	}
	for _, rule := range want.Rules {
		if !slices.ContainsFunc(d.Decision.Reasons, func(r policies.Reason) bool { return named(rule, r.ID) }) {
			out = append(out, fmt.Sprintf("rule %s: is not among the reasons%s", rule, ids(d, policies.NotApplicable)))
		}
	}
	switch {
	case want.Label == nil:
	case d.label == nil:
		out = append(out, fmt.Sprintf("label: the call has no result, want %s", *want.Label))
	case !d.label.SameClass(*want.Label):
		out = append(out, fmt.Sprintf("label: got %s, want %s", *d.label, *want.Label))
	}
	return out
}

// ids names the rules of an effect, or all of them.
func ids(d *decided, effect policies.Effect) string {
	var out []string
	for _, r := range d.Decision.Reasons {
		if (r.Effect == effect || effect == policies.NotApplicable) && !slices.Contains(out, r.ID) {
			out = append(out, r.ID)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return " (" + strings.Join(out, ", ") + ")"
}

// missing tells of an expected call that was not made: by the call that comes nearest, or by those that there were.
func (c *comparison) missing(want spec.ExpectedCall, from int) {
	var best *decided
	var least []string
	var calls []string
	for i, d := range c.made {
		if d.Kind != want.Kind || d.Tool != want.Tool {
			continue
		}
		calls = append(calls, d.call+" "+d.Decision.Effect.String())
		if i < from || want.Call != "" && want.Call != d.call {
			continue
		}
		if diff := c.unlike(d, want); best == nil || len(diff) < len(least) {
			best, least = d, diff
		}
	}
	after := ""
	if from > 0 {
		after = " after " + c.made[from-1].call
	}
	switch {
	case best != nil:
		c.fail(want.Pos, "", "%s at %s: %s", want.Tool, where(best), strings.Join(least, "; "))
	case len(calls) > 0:
		const most = 8
		if n := len(calls); n > most {
			calls = append(calls[:most], fmt.Sprintf("%d more", n-most))
		}
		c.fail(want.Pos, "its calls: "+strings.Join(calls, ", "), "%s%s: no such call%s", want.Tool, called(want.Call), after)
	default:
		c.fail(want.Pos, c.mistakes(want.Tool), "%s%s: is not called%s", want.Tool, called(want.Call), after)
	}
}

func called(id string) string {
	if id == "" {
		return ""
	}
	return " " + id
}

// mistakes tells of calls of a tool that were not decided, as for their arguments.
func (c *comparison) mistakes(tool string) string {
	for _, e := range c.events {
		if e.Type != journal.CallResult {
			continue
		}
		ended, err := journal.Decode[journal.CallEnded](e)
		if err == nil && ended.Tool == tool && ended.Code != "" {
			return fmt.Sprintf("%s failed: %s: %s", e.Call, ended.Code, ended.Text)
		}
	}
	return ""
}

// where names a call and its place.
func where(d *decided) string {
	if d.Site.Line == 0 {
		return d.call
	}
	return fmt.Sprintf("%s (%s:%d:%d)", d.call, d.Site.File, d.Site.Line, d.Site.Column)
}

func plainArgs(d *decided) map[string]any {
	out := map[string]any{}
	for _, a := range d.Args {
		out[a.Name] = a.Value.Plain()
	}
	return out
}

// carriedOut are the calls of tools that were run and did not fail, one entry each.
func (c *comparison) carriedOut(failedToo bool) (out []*decided) {
	seen := map[string]bool{}
	for _, d := range c.made {
		if d.started && !seen[d.call] && (failedToo || d.ended != nil && d.ended.Code == "") {
			seen[d.call] = true
			out = append(out, d)
		}
	}
	return out
}

// effects compares everything that was done to the world with what is expected, in order.
func (c *comparison) effects() {
	if !c.Expect.HasEffects {
		return
	}
	var done []*decided
	for _, d := range c.carriedOut(false) {
		if slices.ContainsFunc(d.Effects, func(e string) bool { return e != policies.EffectRead }) {
			done = append(done, d)
		}
	}
	want := c.Expect.Effects
	fits := func(i, j int) bool {
		return want[i].Tool == done[j].Tool && hasArgs(plainArgs(done[j]), want[i].Args)
	}
	// longest[i][j] is how many of want from i on and done from j on can be told to be the same.
	longest := make([][]int, len(want)+1)
	for i := range longest {
		longest[i] = make([]int, len(done)+1)
	}
	for i := len(want) - 1; i >= 0; i-- {
		for j := len(done) - 1; j >= 0; j-- {
			longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			if fits(i, j) {
				longest[i][j] = max(longest[i][j], 1+longest[i+1][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(want) || j < len(done) {
		switch {
		case i < len(want) && j < len(done) && fits(i, j) && longest[i][j] == 1+longest[i+1][j+1]:
			i, j = i+1, j+1
		case j == len(done) || i < len(want) && longest[i+1][j] >= longest[i][j+1]:
			c.fail(want[i].Pos, "", "%s: is not carried out", written(want[i].Tool, want[i].Args))
			i++
		default:
			c.fail(c.Expect.EffectsPos, "", "%s at %s: is carried out, and not expected", written(done[j].Tool, plainArgs(done[j])), where(done[j]))
			j++
		}
	}
}

// written is a call as a program would write it.
func written(tool string, args map[string]any) string {
	var parts []string
	for _, name := range sortedNames(args) {
		parts = append(parts, name+" = "+brief(args[name]))
	}
	return tool + "(" + strings.Join(parts, ", ") + ")"
}

func (c *comparison) never() {
	for _, want := range c.Expect.Never {
		for _, d := range c.carriedOut(true) {
			if d.Tool == want.Tool {
				c.fail(want.Pos, "", "%s at %s: is run%s", written(d.Tool, plainArgs(d)), where(d), ids(d, policies.Allow))
			}
		}
	}
}

func (c *comparison) variables() {
	for _, want := range c.Expect.Labels {
		got, ok := c.labels[want.Path]
		switch {
		case !ok:
			hint := ""
			if near := spec.Nearest(want.Path, c.names); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			c.fail(want.Pos, hint, "%s: no program binds that name, or it never comes to it", want.Path)
		case !got.SameClass(want.Label):
			c.fail(want.Pos, from(got), "%s: got %s, want %s", want.Path, got, want.Label)
		}
	}
}

// from names the sources of a label.
func from(l label.Label) string {
	const most = 3
	if words := l.Explain(most); words != "" {
		return "it comes from " + words
	}
	return ""
}
