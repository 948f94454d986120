package policies

import "context"

// An Engine holds the rules that were written in one language. It is safe for
// concurrent use.
type Engine interface {
	Name() string // "rego" or "cel"

	// Revision is "sha256:…" over the rules and their data.
	Revision() string

	// For returns the rules that can apply to calls with these static properties,
	// specialised for them. The caller keeps the result: it is called once for
	// each Static. An error denies every such call.
	For(ctx context.Context, s Static) (Rules, error)
}

// Static is what is known of a call before its arguments: which policies match, and how far rules can be
// evaluated ahead, depends on nothing else.
type Static struct {
	Agent     string
	Principal string
	Groups    []string
	Kind      string
	Tool      string
	Effects   []string
	Sinks     []string
}

// Rules are specialised rules, safe for concurrent use.
type Rules interface {
	// Evaluate adds what fires to out. An error is a denial: it must not leave out
	// grants that a deny could have vetoed.
	Evaluate(ctx context.Context, r *Request, out *Findings) error

	// Reads lists the fields of the request document (spec/decision.md) that the outcome may depend on,
	// such as "call.args.amount", "labels.pc.rank", "leaves.host", "history"; a field covers what is
	// below it, and lists have no index. Equal fields give equal findings.
	Reads() []string

	// MayAllow reports whether one of the rules allows, if what is not known yet is as it wants it, and is not in
	// audit mode.
	MayAllow() bool
}

// Findings are the rules that fired, united over engines before they are combined.
type Findings struct {
	Reasons     []Reason // of every effect, accepts and audited ones included; an ask has its Approval too
	Approvals   []Approval
	Obligations []Obligation

	// Volatile says that the findings may depend on more than the fields that the rules read, as after an
	// error: the decision is not remembered.
	Volatile bool
}
