package policies

import "callgate/spec"

// Rule is one rule of a policy, for lists, coverage and explanations.
type Rule struct {
	Policy string        `json:"policy"`
	ID     string        `json:"id"`     // of an obligation in Rego the type, a slash, and the id if it has one
	Engine string        `json:"engine"` // rego or cel
	Action string        `json:"action"` // deny, ask, allow, accept, obligation
	Audit  bool          `json:"audit,omitempty"`
	Pos    spec.Position `json:"-"`
}

// The outcomes of a rule for one request.
const (
	RuleFired   = "fired"
	RuleNotHeld = "did not hold"           // its condition
	RuleFailed  = "could not be evaluated" // so that a deny or an ask denies, and an allow or accept grants nothing
	RuleUnbound = "does not apply"         // the policy's match, or a match condition
)

// Explanation says what came of one rule for one request, for people.
type Explanation struct {
	Rule
	Outcome string   // one of the constants
	Args    []string // the paths of the leaves that it fired for
	Steps   []Step   // what did not hold, and in CEL what did
}

// Step is a part of a rule's condition and what came of it.
type Step struct {
	Text   string        // as it is written, about
	Leaf   string        // the path of the leaf that it is about, if the rule looks at leaves
	Value  string        // "true", "false", "undefined", or why there is none
	Values []string      // "leaf.sink = content" for what is compared: data of the call
	Pos    spec.Position // of the part, if it is known
	Below  []Step        // why a helper that the part uses did not hold
}

// BuiltIn lists the ids of the reasons that are no policy's: the flow rule's, and those of combining.
func BuiltIn() []string {
	return []string{
		FlowRecipient, FlowAccount, FlowURL, FlowPath, FlowWord, FlowQuery, FlowContent, FlowModel, FlowReaders, FlowSecret,
		FlowControl, FlowControlRead, FlowState, FlowEndorse, FlowDeclassify, FlowSink,
		CoreNoAllow, CoreError, CoreObligation,
	}
}
