package policies

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
)

// The ids of the reasons that combining adds.
const (
	CoreNoAllow    = "core.no-allow"   // no policy allows the call
	CoreError      = "core.error"      // rules could not be evaluated
	CoreObligation = "core.obligation" // an obligation is unknown, malformed or contradicts another
)

// Combine makes one decision of everything that fired, the flow rule's denials
// included: any deny denies; without an allow the answer is deny, and nobody is asked;
// any ask asks; otherwise allow. An accept lifts the flow rule's denials of the
// paths that it names, and nothing else. What is in audit mode shows in Would alone.
//
// The decision's Reasons are sorted, strictest first. Of accepts those paths are left out for which they lifted nothing, and so are
// approvals and obligations of a denial, but for notify.
func Combine(found Findings) Decision {
	lifted, wouldLift := accepted(found.Reasons, false), accepted(found.Reasons, true)
	var d Decision
	live, all := tally{}, tally{}
	used := map[string]bool{}
	for _, r := range found.Reasons {
		switch {
		case r.Accept:
			continue
		case r.Engine == "flow" && r.Effect == Deny && len(r.Args) == 1:
			path := r.Args[0]
			used[path] = used[path] || wouldLift[path]
			if lifted[path] {
				continue
			}
			if !wouldLift[path] {
				all.add(r)
			}
			live.add(r)
		default:
			if !r.Audit {
				live.add(r)
			}
			all.add(r)
		}
		d.Reasons = append(d.Reasons, r)
	}
	for _, r := range found.Reasons {
		if !r.Accept {
			continue
		}
		r.Args = slices.DeleteFunc(slices.Clone(r.Args), func(path string) bool { return !used[path] })
		if len(r.Args) > 0 {
			r.Effect = NotApplicable
			d.Reasons = append(d.Reasons, r)
		}
	}
	obligations, problems := unite(found.Obligations)
	for _, r := range problems {
		live.add(r)
		all.add(r)
		d.Reasons = append(d.Reasons, r)
	}
	d.Effect, d.Would = live.effect(), all.effect()
	if d.Effect == Deny && !live.deny {
		d.Reasons = append(d.Reasons, Reason{
			ID: CoreNoAllow, Policy: "core", Effect: Deny, Engine: "core", Message: "no policy allows this call",
		})
	}
	for _, o := range obligations {
		if d.Effect != Deny || o.Type == ObligeNotify || o.Type == ObligeMask {
			d.Obligations = append(d.Obligations, o)
		}
	}
	if d.Effect == Ask {
		d.Approvals = approvals(found)
	}
	slices.SortStableFunc(d.Reasons, compareReasons)
	d.Reasons = slices.CompactFunc(d.Reasons, func(a, b Reason) bool { return compareReasons(a, b) == 0 && a.Audit == b.Audit })
	return d
}

// tally notes which effects occurred.
type tally struct{ deny, ask, allow bool }

func (t *tally) add(r Reason) {
	switch r.Effect {
	case Ask:
		t.ask = true
	case Allow:
		t.allow = true
	default: // NotApplicable is no effect that a rule has: fail closed
		t.deny = true
	}
}

func (t tally) effect() Effect {
	switch {
	case t.deny, !t.allow:
		return Deny
	case t.ask:
		return Ask
	}
	return Allow
}

// accepted returns the paths that accepts name.
func accepted(reasons []Reason, audited bool) map[string]bool {
	var out map[string]bool
	for _, r := range reasons {
		if !r.Accept || r.Audit && !audited {
			continue
		}
		for _, path := range r.Args {
			if out == nil {
				out = map[string]bool{}
			}
			out[path] = true
		}
	}
	return out
}

func compareReasons(a, b Reason) int {
	return cmp.Or(
		cmp.Compare(rankOf(a), rankOf(b)),
		strings.Compare(a.Policy, b.Policy),
		strings.Compare(a.ID, b.ID),
		slices.Compare(a.Args, b.Args),
		strings.Compare(a.Engine, b.Engine),
		strings.Compare(a.Message, b.Message),
	)
}

// rankOf orders denials, asks, allows and accepts.
func rankOf(r Reason) int {
	switch {
	case r.Accept:
		return 3
	case r.Effect == Ask:
		return 1
	case r.Effect == Allow:
		return 2
	}
	return 0
}

// approvals returns the approvals of the asks that are enforced. Those that
// differ in nothing but the paths that they are about become one.
func approvals(found Findings) []Approval {
	type rule struct{ policy, id string }
	enforced := map[rule]bool{}
	for _, r := range found.Reasons {
		if r.Effect == Ask && !r.Accept && !r.Audit {
			enforced[rule{r.Policy, r.ID}] = true
		}
	}
	var out []Approval
	have := map[rule]bool{}
	for _, a := range found.Approvals {
		if !enforced[rule{a.Policy, a.Ask}] {
			continue
		}
		have[rule{a.Policy, a.Ask}] = true
		a.Count = max(a.Count, 1)
		i := slices.IndexFunc(out, func(b Approval) bool { return sameButArgs(a, b) })
		if i < 0 {
			a.Args = slices.Clone(a.Args)
			out = append(out, a)
			continue
		}
		for _, path := range a.Args {
			out[i].Args = insert(out[i].Args, path)
		}
	}
	for r := range enforced { // an ask without terms: anybody who runs the agent, once
		if !have[r] {
			out = append(out, Approval{Ask: r.id, Policy: r.policy, Count: 1})
		}
	}
	slices.SortStableFunc(out, func(a, b Approval) int {
		return cmp.Or(strings.Compare(a.Policy, b.Policy), strings.Compare(a.Ask, b.Ask), slices.Compare(a.Args, b.Args))
	})
	return out
}

func sameButArgs(a, b Approval) bool {
	a.Args, b.Args = nil, nil
	return reflect.DeepEqual(a, b)
}

// The types of obligation.
const (
	ObligeRedact  = "redact"
	ObligeLabel   = "label"
	ObligeLimit   = "limit"
	ObligeMark    = "mark"
	ObligeIsolate = "isolate"
	ObligeMask    = "mask"
	ObligeNotify  = "notify"
)

// unite removes repetitions and returns a denial for each obligation that is unknown or
// malformed and each pair that contradict: limits of one id, or redactions of one
// path, that are not the same.
func unite(in []Obligation) (out []Obligation, problems []Reason) {
	deny := func(o Obligation, format string, args ...any) {
		problems = append(problems, Reason{
			ID: CoreObligation, Policy: o.Policy, Effect: Deny, Engine: "core",
			Message: fmt.Sprintf("obligation %s %s: ", o.Type, o.ID) + fmt.Sprintf(format, args...),
		})
	}
	in = slices.Clone(in)
	slices.SortStableFunc(in, compareObligations)
	for _, o := range in {
		if err := checkObligation(o); err != nil {
			deny(o, "%v", err)
			continue
		}
		i := slices.IndexFunc(out, func(p Obligation) bool { return p.Type == o.Type && subject(p) == subject(o) })
		switch {
		case i < 0:
			out = append(out, o)
		case !reflect.DeepEqual(out[i].Fields, o.Fields):
			deny(o, "contradicts the one of policy %s: %v and %v", out[i].Policy, out[i].Fields, o.Fields)
		}
	}
	return out, problems
}

func compareObligations(a, b Obligation) int {
	return cmp.Or(strings.Compare(a.Type, b.Type), strings.Compare(a.Policy, b.Policy), strings.Compare(a.ID, b.ID))
}

// subject is what two obligations of a type may contradict each other about; of
// most types two that differ are both fulfilled.
func subject(o Obligation) string {
	switch o.Type {
	case ObligeLimit:
		return o.ID
	case ObligeRedact:
		return fmt.Sprint(o.Fields["path"])
	}
	return o.ID + fmt.Sprint(o.Fields)
}

// checkObligation reports what is wrong with an obligation's fields.
func checkObligation(o Obligation) error {
	switch o.Type {
	case ObligeRedact:
		if path, _ := o.Fields["path"].(string); !strings.HasPrefix(path, "/") {
			return fmt.Errorf("path: got %v, want a text such as /result/email", o.Fields["path"])
		}
	case ObligeLabel:
		for k, v := range o.Fields {
			if k != "tags" && k != "readers" && k != "trust" {
				return fmt.Errorf("got field %s, want tags, readers or trust", k)
			}
			if _, text := v.(string); !texts(v) && (k != "trust" || !text) {
				return fmt.Errorf("%s: got %v, want a list of texts", k, v)
			}
		}
		if len(o.Fields) == 0 {
			return fmt.Errorf("want tags, readers or trust")
		}
	case ObligeLimit:
		return checkLimit(o)
	case ObligeMark:
		if name, _ := o.Fields["name"].(string); name == "" {
			return fmt.Errorf("name: got %v, want a text", o.Fields["name"])
		}
		if scope, ok := o.Fields["scope"]; ok && scope != "session" && scope != "run" {
			return fmt.Errorf("scope: got %v, want session or run", scope)
		}
	case ObligeIsolate:
		if tier := o.Fields["tier"]; tier != "none" && tier != "process" && tier != "container" {
			return fmt.Errorf("tier: got %v, want none, process or container", tier)
		}
	case ObligeMask:
		if path, _ := o.Fields["path"].(string); !strings.HasPrefix(path, "/args/") || len(path) == len("/args/") {
			return fmt.Errorf("path: got %v, want a text such as /args/body", o.Fields["path"])
		}
	case ObligeNotify:
	default:
		return fmt.Errorf("want one of redact, label, limit, mark, isolate, mask, notify")
	}
	return nil
}

var (
	limitScopes = []string{"agent", "principal", "run", "session", "tool"}
	limitUnits  = []string{"accounts", "bits", "calls", "recipients", "urls"}
)

// LimitScopes lists what a limit may count per, sorted.
func LimitScopes() []string { return slices.Clone(limitScopes) }

// LimitUnits lists what a limit may count, besides a number that its rule gives, sorted: calls, bits that an endorsement or a
// declassification reveals, leaves at the sink of that name.
func LimitUnits() []string { return slices.Clone(limitUnits) }

func checkLimit(o Obligation) error {
	if o.ID == "" {
		return fmt.Errorf("id: want one: it names what is counted")
	}
	if !whole(o.Fields["max"]) {
		return fmt.Errorf("max: got %v, want a whole number from 0", o.Fields["max"])
	}
	if cost, ok := o.Fields["cost"]; ok && !whole(cost) {
		if unit, _ := cost.(string); !slices.Contains(limitUnits, unit) {
			return fmt.Errorf("cost: got %v, want a whole number from 0, or one of %s", cost, strings.Join(limitUnits, ", "))
		}
	}
	if per, ok := o.Fields["per"]; ok && !texts(per, limitScopes...) {
		return fmt.Errorf("per: got %v, want a list of %s", per, strings.Join(limitScopes, ", "))
	}
	if window, ok := o.Fields["window"]; ok {
		text, _ := window.(string)
		if d, err := time.ParseDuration(text); err != nil || d <= 0 {
			return fmt.Errorf("window: got %v, want a duration such as 1h", window)
		}
	}
	if over, ok := o.Fields["over"]; ok && over != "deny" && over != "ask" {
		return fmt.Errorf("over: got %v, want deny or ask", over)
	}
	return nil
}

// whole reports whether v is a whole number from 0.
func whole(v any) bool {
	switch v := v.(type) {
	case int:
		return v >= 0
	case int64:
		return v >= 0
	case float64:
		return v >= 0 && v == math.Trunc(v) && v < 1<<63
	}
	return false
}

// texts reports whether v is a list of texts, of those given if there are any.
func texts(v any, of ...string) bool {
	bad := func(s string) bool { return len(of) > 0 && !slices.Contains(of, s) }
	switch v := v.(type) {
	case []string:
		return !slices.ContainsFunc(v, bad)
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { s, ok := e.(string); return !ok || bad(s) })
	}
	return false
}
