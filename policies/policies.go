// Package policies is the policy decision point's (PDP's) vocabulary: what is
// asked of it ([Request]), what it answers ([Decision]), and how the answers of
// several engines combine. The engines are in policies/rego and policies/cel.
//
// Every crossing of a program's boundary is one Request: a tool, a pure builtin,
// an endorsement, showing a value to the model, the answer to the user. Any deny
// denies; without an allow the answer is deny; an ask qualifies an allow. The
// built-in flow rule ([Flow]) only denies. See spec/decision.md.
package policies

import (
	"context"
	"slices"
	"strings"
	"time"

	"callgate/engine/label"
	"callgate/engine/value"
)

// Version is the version of the request document.
const Version = "callgate/v1"

// A PDP decides requests. It is safe for concurrent use. An error is a denial for the
// caller: a PDP that can still say why returns a Decision that denies instead.
type PDP interface {
	Decide(ctx context.Context, r *Request) (Decision, error)
	// Revision is "sha256:…" over everything that decisions depend on besides the request.
	Revision() string
}

// A Reloader is a PDP whose rules are replaced while it is used, as files change. A decision says under which
// revision it was made.
type Reloader interface {
	PDP
	// LastReload is the last attempt to replace the rules. It is kept until the next.
	LastReload() Reload
}

// Reload is an attempt to replace the rules of a [Reloader].
type Reload struct {
	Serial   int      // from 1; 0: there was none
	Problems []string // why the new rules were refused and the old ones stay; empty: they are in use
}

// Request asks for one decision. It is total: every declared parameter of the tool has
// a label (absent arguments Bottom) and every scalar of the arguments a leaf.
type Request struct {
	Time      time.Time
	Agent     Agent
	Principal Principal
	Session   Session
	Call      Call
	Labels    Labels
	Tags      []string // union over args and pc, sorted; ["*"] joined with others if something carries every tag
	Leaves    []Leaf
	History   History
}

// Agent is who acts.
type Agent struct {
	Name    string
	Digest  string
	Tools   []string // granted, sorted, sub-agents' included
	Effects []string // union of the granted tools' effects, sorted
}

// Principal is on whose behalf.
type Principal struct {
	Sub    string         `json:"sub"`
	Groups []string       `json:"groups,omitempty"`
	Claims map[string]any `json:"claims,omitempty"`
}

// MayRead reports whether the principal may read what is labelled l: if everybody may, or its readers name the principal, a group
// of theirs as "group:finance", or the host of their address, as a reader corp.example is everybody there. Who has no name reads
// what everybody may.
func (p Principal) MayRead(l label.Label) bool {
	r := l.Readers()
	if r.IsPublic() {
		return true
	}
	if p.Sub == "" || strings.HasPrefix(p.Sub, "group:") {
		return false
	}
	_, host, ok := strings.Cut(p.Sub, "@")
	return r.Includes(p.Sub) || ok && host != "" && r.Includes(host) ||
		slices.ContainsFunc(p.Groups, func(g string) bool { return r.Includes("group:" + g) })
}

// Session says where in a run the call stands.
type Session struct {
	ID   string
	Run  string
	Turn int
	Mode string // react, plan, program or repl
}

// Call is the crossing itself.
type Call struct {
	ID      string
	Kind    string // tool, builtin, program, observe, answer, model, endorse, declassify
	Tool    string
	Effects []string    // of read, write, egress, destructive, in that order
	Sinks   []string    // kinds of sink that the tool's parameters declare, sorted; static
	Args    value.Value // a dict by parameter name; labels as in Leaves
	Site    Site
	State   *State // the namespace that the tool writes or reads, if it has one
}

// The kinds of call.
const (
	KindTool       = "tool"
	KindBuiltin    = "builtin"
	KindProgram    = "program"
	KindObserve    = "observe"
	KindAnswer     = "answer"
	KindModel      = "model"
	KindEndorse    = "endorse"
	KindDeclassify = "declassify"
)

// The effects of a call on the world, in the order in which they are listed. (An [Effect] is
// the outcome of a decision.)
const (
	EffectRead        = "read"
	EffectWrite       = "write"
	EffectEgress      = "egress"
	EffectDestructive = "destructive"
)

// Site is where in a program the call was made.
type Site struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Function string `json:"function"`
}

// State is a namespace outside the program with one label: what is written to it
// must flow there, what is read from it carries it.
type State struct {
	Name  string
	Write bool
	Label label.Label
}

// Labels are the labels in play.
type Labels struct {
	Program label.Label // who wrote the program
	PC      label.Label // the control flow that led here
	Context label.Label // everything that the session's model was shown
	Args    []ArgLabel  // every declared parameter, in declared order
}

// ArgLabel is the label of everything in one argument.
type ArgLabel struct {
	Name  string
	Label label.Label
}

// Leaf is one scalar of the arguments, with what a policy may want to know of it.
// The call's control flow is the last leaf: Path and Param "pc", Sink "control", Value "" (so that a rule may try every
// leaf's text). An empty list or dict is a leaf too, with Value nil.
// Past a cap on size one leaf with the joined label stands for a subtree; nothing is omitted.
type Leaf struct {
	Path  string // "to[0]", "payments[1].iban"
	Param string // "to"
	Value any    // nil, bool, int64, *big.Int, float64, string; nil for a subtree
	Norm  string // the value in the tool's normal form, lower-case text by default
	Host  string // of a URL or an address; else ""
	Sink  string // one of the Sink constants
	Typed bool   // occurs as a whole token in what a person typed
	Label label.Label
}

// The kinds of sink. [Flow] says what each accepts.
const (
	SinkNone      = "none"
	SinkRecipient = "recipient"
	SinkAccount   = "account"
	SinkURL       = "url"
	SinkPath      = "path"
	SinkWord      = "word"
	SinkQuery     = "query"
	SinkContent   = "content"
	SinkSecret    = "secret"
	SinkModel     = "model"
	SinkControl   = "control" // of the pc leaf alone
)

// History is what the run did before this call.
type History struct {
	Count map[string]int // every granted tool is there
	Marks []string       // sorted
	Label label.Label    // of the fact that it was done: joined to outcomes that read history
}

// Effect is the outcome of a decision. The zero Effect is Deny.
type Effect uint8

// The effects, strictest first.
const (
	Deny Effect = iota
	NotApplicable
	Ask
	Allow
)

var effectNames = [...]string{"deny", "not-applicable", "ask", "allow"}

// String returns the effect's name, such as "deny".
func (e Effect) String() string { return effectNames[min(int(e), len(effectNames)-1)] }

// MarshalText implements [encoding.TextMarshaler].
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]; an unknown name is Deny.
func (e *Effect) UnmarshalText(b []byte) error {
	*e = Deny
	for i, n := range effectNames {
		if n == string(b) {
			*e = Effect(i)
		}
	}
	return nil
}

// Decision is the answer to one request. The zero Decision denies.
type Decision struct {
	ID          string       `json:"decision_id,omitempty"`
	Time        time.Time    `json:"timestamp"`
	Run         string       `json:"run,omitempty"`
	Call        string       `json:"call,omitempty"`
	Revision    string       `json:"revision,omitempty"`
	Cached      bool         `json:"cached,omitempty"`
	Effect      Effect       `json:"effect"`
	Would       Effect       `json:"would"` // with rules in audit mode enforced
	Reasons     []Reason     `json:"reasons"`
	Obligations []Obligation `json:"obligations,omitempty"`
	Approvals   []Approval   `json:"approvals,omitempty"`
	ReadHistory bool         `json:"read_history,omitempty"` // the outcome depended on History
}

// Reason is one rule that fired.
type Reason struct {
	ID      string   `json:"id"` // a literal of the policy: all that the model sees
	Policy  string   `json:"policy"`
	Effect  Effect   `json:"effect"`
	Accept  bool     `json:"accept,omitempty"` // an accept, which lifts the flow rule for Args
	Audit   bool     `json:"audit,omitempty"`  // in audit mode: decided and recorded, not enforced
	Engine  string   `json:"engine"`           // rego, cel, flow, limit, core
	Message string   `json:"message,omitempty"`
	File    string   `json:"file,omitempty"`
	Line    int      `json:"line,omitempty"`
	Args    []string `json:"args,omitempty"` // paths of leaves that the rule is about
}

// Obligation is something that the gate must do for the decision to hold. One that it does
// not know is a denial.
type Obligation struct {
	Type   string         `json:"type"` // redact, label, limit, mark, isolate, mask, notify
	ID     string         `json:"id,omitempty"`
	Policy string         `json:"policy,omitempty"`
	Fields map[string]any `json:"fields,omitempty"` // everything else that the policy wrote
}

// Approval is one ask that must be answered by people before the call is made.
type Approval struct {
	Ask       string        `json:"ask"` // the rule's id
	Policy    string        `json:"policy,omitempty"`
	Message   string        `json:"message,omitempty"`
	Args      []string      `json:"args,omitempty"`
	Approvers []string      `json:"approvers,omitempty"` // empty: whoever runs the agent
	Count     int           `json:"count"`               // at least 1
	OtherThan []string      `json:"other_than,omitempty"`
	TTL       time.Duration `json:"ttl,omitempty"`     // 0: does not expire
	Binding   string        `json:"binding,omitempty"` // digest of the call and its labels; the gate sets it
}
