package gate

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

// unapproved makes the refusal of a call that people refused or did not answer. Where time was up while they were asked, the program ends for that.
func (g *Gate) unapproved(ctx context.Context, x *crossing, v verdict, a policies.Approval, o Outcome) verdict {
	g.mu.Lock()
	g.counts.Asked++
	g.mu.Unlock()
	if o == Refused {
		return g.denied(x, v, []string{codeOf(a.Ask)}, "a person refused this call: do not repeat it")
	}
	if overdue(ctx) {
		return g.stopped(x, codeCancelled, ctx.Err())
	}
	v.refusal = &eval.CallError{
		Code: codeWaiting, Text: x.name + ": waiting for approval (" + codeOf(a.Ask) + ")", Hint: "a person must approve this call",
		Label: v.outcome, Final: true, Wait: true,
	}
	return v
}

// overdue reports whether a context has ended because time was up, rather than because somebody stopped what runs in it.
func overdue(ctx context.Context) bool {
	return errors.Is(context.Cause(ctx), context.DeadlineExceeded)
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

// The flow rule's hints, by the ids of its reasons: %s stands for names of parameters.
var hints = map[string]string{
	policies.FlowRecipient:   trustedHint,
	policies.FlowAccount:     trustedHint,
	policies.FlowURL:         trustedHint,
	policies.FlowPath:        trustedHint,
	policies.FlowWord:        trustedHint,
	policies.FlowQuery:       trustedHint,
	policies.FlowContent:     readersHint,
	policies.FlowModel:       readersHint,
	policies.FlowReaders:     readersHint,
	policies.FlowSecret:      "leave the secret out of %s",
	policies.FlowControl:     "do not make the call depend on what is not trusted: endorse the condition, a bool, first",
	policies.FlowControlRead: "do not make the call depend on what its receiver may not read: declassify the condition, a bool, first",
	policies.FlowState:       "do not keep in that place what others may not see or rely on (%s)",
	policies.FlowEndorse:     "endorse where nothing untrusted decides that, what and why",
	policies.FlowDeclassify:  "declassify only what is trusted, where nothing untrusted decides it",
}

const (
	trustedHint = "take %s from what the user wrote or from a trusted tool"
	readersHint = "leave out of %s what its receiver may not read"
)

// hint says what may be done instead, in words that hold no data: names of parameters are
// declared, and the rest is constant.
func hint(s *shape, d *policies.Decision) string {
	params := map[string][]string{} // by hint
	for _, r := range d.Reasons {
		text, known := hints[r.ID]
		if r.Effect != policies.Deny || r.Audit || r.Accept || !known {
			continue
		}
		names := params[text]
		for _, path := range r.Args {
			name, _, _ := strings.Cut(path, ".")
			name, _, _ = strings.Cut(name, "[")
			if path == "pc" {
				name = "the condition"
			} else if !slices.Contains(s.params, name) {
				continue
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		params[text] = names
	}
	var parts []string
	for _, text := range slices.Sorted(maps.Keys(params)) {
		names := params[text]
		switch {
		case !strings.Contains(text, "%s"):
			parts = append(parts, text)
		case len(names) > 0:
			parts = append(parts, fmt.Sprintf(text, strings.Join(slices.Sorted(slices.Values(names)), ", ")))
		}
	}
	if parts == nil {
		return "the same call will be refused again: go on without it"
	}
	return strings.Join(parts, "; ")
}
