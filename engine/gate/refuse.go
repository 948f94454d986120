package gate

import (
	"fmt"
	"slices"
	"strings"

	"callgate/engine/eval"
	"callgate/policies"
)

// The codes of errors, besides "denied" with the ids of rules in brackets and what tools
// name their failures.
const (
	codeDenied     = "denied"
	codeWaiting    = "waiting"
	codeNotGranted = "not-granted"
	codeNoSuchTool = "no-such-tool"
	codeArguments  = "bad-argument"
	codeJournal    = "journal"
	codeCancelled  = "cancelled"
	codeStopped    = "stopped"
	codeFailed     = "failed"
	codePanic      = "tool-panic"
	codeTimeout    = "timeout"
	codeResult     = "bad-result"
)

// RefusalBits is what a refusal that depends on hidden data takes from the meter: that it
// was refused, and by which of a policy's rules.
const RefusalBits = 8

// maxCodes is how many ids of rules a refusal names.
const maxCodes = 6

// refuse makes the refusal of a decision that denies.
func (g *Gate) refuse(x *crossing, v verdict, d *policies.Decision) verdict {
	var ids []string
	for _, r := range d.Reasons {
		if r.Effect == policies.Deny && !r.Audit && !r.Accept {
			ids = append(ids, codeOf(r.ID))
		}
	}
	if len(ids) == 0 {
		ids = []string{reasonNoAllow}
	}
	return g.denied(x, v, ids, hint(x.shape, d))
}

// denied makes a refusal that names rules; if the meter is too low, it names none.
func (g *Gate) denied(x *crossing, v verdict, ids []string, hint string) verdict {
	g.mu.Lock()
	defer g.mu.Unlock()
	// That a call was made, and refused, is history like any other.
	g.history = g.history.Join(x.pc)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	v.rules = ids
	if x.kind == policies.KindObserve { // answered by a description, which has its own price
		v.refusal = &eval.CallError{Code: codeDenied, Text: x.name + ": " + codeDenied, Label: v.outcome, Deny: true}
		return v
	}
	g.counts.Denied++
	if len(ids) > maxCodes {
		ids = append(ids[:maxCodes:maxCodes], "more")
	}
	code := codeDenied + " (" + strings.Join(ids, ", ") + ")"
	if !g.reveal(v.outcome, RefusalBits) {
		code, hint = codeDenied, ""
	}
	v.refusal = &eval.CallError{Code: code, Text: x.name + ": " + code, Hint: hint, Label: v.outcome, Deny: true}
	return v
}

// unapproved makes the refusal of a call that people refused or did not answer.
func (g *Gate) unapproved(x *crossing, v verdict, a policies.Approval, o Outcome) verdict {
	g.mu.Lock()
	g.counts.Asked++
	g.mu.Unlock()
	if o == Refused {
		return g.denied(x, v, []string{codeOf(a.Ask)}, "a person refused this call: do not repeat it")
	}
	v.refusal = &eval.CallError{
		Code: codeWaiting, Text: x.name + ": waiting for approval (" + codeOf(a.Ask) + ")", Hint: "a person must approve this call",
		Label: v.outcome, Final: true, Wait: true,
	}
	return v
}

// stopped ends the program: nothing can be done any more.
func (g *Gate) stopped(x *crossing, code string, err error) verdict {
	l := x.in.Join(x.history)
	return verdict{outcome: l, refusal: &eval.CallError{Code: code, Text: x.name + ": " + code + ": " + err.Error(), Label: l, Final: true}}
}

// codeOf returns an id as the model may see it. Ids are literals of policies; one that does
// not look like an id might hold data.
func codeOf(id string) string {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-/", r)
	}
	if id == "" || len(id) > 64 || strings.ContainsFunc(id, odd) {
		return "rule"
	}
	return id
}

// hint says what may be done instead, in words that hold no data: names of parameters are
// declared, and the rest is constant.
func hint(s *shape, d *policies.Decision) string {
	var params []string
	control := false
	for _, r := range d.Reasons {
		if r.Effect != policies.Deny || r.Audit || r.Accept || r.Engine != "flow" && r.ID != policies.FlowEndorse && r.ID != policies.FlowDeclassify {
			continue
		}
		for _, path := range r.Args {
			name, _, _ := strings.Cut(path, ".")
			name, _, _ = strings.Cut(name, "[")
			switch {
			case path == "pc":
				control = true
			case slices.Contains(s.params, name) && !slices.Contains(params, name):
				params = append(params, name)
			}
		}
	}
	var parts []string
	if len(params) > 0 {
		slices.Sort(params)
		parts = append(parts, fmt.Sprintf("take %s from what the user wrote or from a trusted tool", strings.Join(params, ", ")))
	}
	if control {
		parts = append(parts, "do not make the call depend on what is not trusted: endorse the condition, a bool, first")
	}
	if parts == nil {
		return "the same call will be refused again: go on without it"
	}
	return strings.Join(parts, "; ")
}
