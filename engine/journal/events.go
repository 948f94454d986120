package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// RunStarted is the header of a run.
type RunStarted struct {
	Schema    int                `json:"schema"`   // of the journal; Append sets it
	Language  string             `json:"language"` // version of the language
	Agent     string             `json:"agent"`
	Digest    string             `json:"digest"` // of the agent as loaded
	Principal policies.Principal `json:"principal"`
	Mode      string             `json:"mode"`
	Revision  string             `json:"revision"` // of the policies
	Tools     []string           `json:"tools"`
	Inputs    []Input            `json:"inputs"`
	Limits    map[string]int64   `json:"limits,omitempty"`

	// What a run that is gone on with is held against, and is gone on with by.
	Schemas map[string]string `json:"schemas,omitempty"` // per tool, a digest of all that is declared of it
	Context *label.Label      `json:"context,omitempty"` // of what the session's model was shown before its first program
	From    *Origin           `json:"from,omitempty"`    // nil: the agent was not loaded from files
	Parent  *Parent           `json:"parent,omitempty"`  // nil: nobody's

	Continues *Continued `json:"continues,omitempty"` // nil: the session begins with this run
}

// Continued is the run from whose end another goes on: with its names, what its model was shown, and what its meter had left.
type Continued struct {
	Run     string   `json:"run"`
	Head    string   `json:"head"`              // hash of its last event
	Session string   `json:"session"`           // the first run of the session
	Turns   int      `json:"turns"`             // programs that the session had run
	Marks   []string `json:"marks,omitempty"`   // that it had been left by policies
	Changed []string `json:"changed,omitempty"` // what is not as it was when that run began, in words
}

// Parent is the call that a run is a part of, which ran an agent.
type Parent struct {
	Run  string `json:"run"`
	Call string `json:"call"`
	Root string `json:"root"` // the run at the top
}

// Beneath is the id of the run of the agent that a call of a run runs: the same each time.
func Beneath(run, call string) string {
	id := run + "." + call
	if checkID(id) == nil {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "agent-" + hex.EncodeToString(sum[:20])
}

// Under is what a run used that a call began, those beneath it included.
type Under struct {
	Counts  map[string]int `json:"counts,omitempty"` // calls of tools
	Marks   []string       `json:"marks,omitempty"`
	History label.Label    `json:"history"` // of those calls
	Steps   int64          `json:"steps"`
	Calls   int            `json:"calls"`
	Bits    int            `json:"bits"` // of the meter
	Met     label.Label    `json:"met"`  // of all that it was given
}

// Origin is where the files of a run's agent are: absolute paths.
type Origin struct {
	Agent    string `json:"agent"`
	Policies string `json:"policies,omitempty"` // folder that was named in place of the agent's; "" if none was
}

// RunResumed says that the run was gone on with: what stands before it happened in another process. A call that
// waited, and how its program and the run ended because of it, do not count any more; see [Current].
type RunResumed struct {
	By      string   `json:"by"`                // whoever went on with it
	Process string   `json:"process"`           // that does it
	After   string   `json:"after"`             // the last call whose events had been met again; "" if there was none
	Events  int      `json:"events"`            // how many events were gone through
	Changed []string `json:"changed,omitempty"` // what is not as it was when the run began, in words
}

// Input is one named value that the run was given.
type Input struct {
	Name  string      `json:"name"`
	Value value.Value `json:"value"`
	Typed bool        `json:"typed,omitempty"` // by a person
	Kept  bool        `json:"kept,omitempty"`  // it was given to an earlier run of the session, and has its value from there
}

// TurnStarted says that a program begins.
type TurnStarted struct {
	Turn    int         `json:"turn"` // from 1
	File    string      `json:"file"`
	Program string      `json:"program"` // its text
	Author  label.Label `json:"author"`  // the join of all that its author was shown
}

// ModelReplied is what a model answered.
type ModelReplied struct {
	Turn     int         `json:"turn"`
	Provider string      `json:"provider"`
	Model    string      `json:"model"`
	Text     string      `json:"text"`
	Context  label.Label `json:"context"`          // what the model had been shown
	Tokens   [2]int64    `json:"tokens"`           // in, out
	Cached   int64       `json:"cached,omitempty"` // of those in, from the provider's cache
	Cost     int64       `json:"cost,omitempty"`   // in billionths of the unit of prices
	Calls    []ModelCall `json:"calls,omitempty"`  // that the reply holds in the provider's form
	Stop     string      `json:"stop,omitempty"`   // why the reply is not whole; "": it is
}

// ModelCall is a call that a model's reply holds, as the model wrote it.
type ModelCall struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Input string `json:"input"`
}

// Spent is what models used.
type Spent struct {
	Tokens [2]int64 `json:"tokens"` // in, out
	Cached int64    `json:"cached,omitempty"`
	Cost   int64    `json:"cost,omitempty"` // in billionths of the unit of prices
	Calls  int      `json:"calls"`          // how often one was asked
}

// DecisionMade is a request, as far as people need it, and its decision.
type DecisionMade struct {
	Kind     string            `json:"kind"`
	Tool     string            `json:"tool"`
	Args     []Argument        `json:"args,omitempty"`
	PC       label.Label       `json:"pc"`
	Program  label.Label       `json:"program"`
	Site     policies.Site     `json:"site"`
	Effects  []string          `json:"effects,omitempty"`
	Binding  string            `json:"binding"` // digest of tool, args and labels
	Decision policies.Decision `json:"decision"`
	Origins  map[string]string `json:"origins,omitempty"` // per leaf that a reason names: where its value came from, in words
}

// Argument is one argument of a call, with its labels.
type Argument struct {
	Name  string      `json:"name"`
	Value value.Value `json:"value"`
	Sink  string      `json:"sink,omitempty"`
}

// PoliciesReloaded says that the policies changed while the run went on, or would have: it stands before the first decision
// under the new ones. What was permitted before stays so.
type PoliciesReloaded struct {
	From     string   `json:"from"`               // the revision before
	Revision string   `json:"revision"`           // of the decisions that follow: From if the new policies were refused
	Problems []string `json:"problems,omitempty"` // why they were refused
}

// CallStarted says that the tool is about to run. After a crash, a call that started and has no
// result may have had its effect.
type CallStarted struct {
	Tool string `json:"tool"`
	Key  string `json:"key"`           // idempotency key
	Run  string `json:"run,omitempty"` // of the agent that the tool runs; see [Beneath]
	Try  int    `json:"try,omitempty"` // from 2, if it was begun before and nothing is known of what came of it; else 0

	// Widened is what a process that the tool starts may do beyond computing.
	Widened []string `json:"widened,omitempty"`
}

// CallEnded is what came of a call that was allowed.
type CallEnded struct {
	Tool     string        `json:"tool"`
	Value    *value.Value  `json:"value,omitempty"` // labelled, as the program got it
	Code     string        `json:"code,omitempty"`  // of an error
	Text     string        `json:"text,omitempty"`  // of an error
	Told     string        `json:"told,omitempty"`  // what the program was told of an error, if that is not Text
	Label    label.Label   `json:"label"`           // of the outcome
	Duration time.Duration `json:"duration"`
	Spent    *Spent        `json:"spent,omitempty"` // by models that the tool asked
	Under    *Under        `json:"under,omitempty"` // by the agent that the tool ran
	Ends     bool          `json:"ends,omitempty"`  // the error ends the program: it depends on more than the call
	Waits    bool          `json:"waits,omitempty"` // the agent that the tool ran waits: the run waits too, and the call goes on with it
}

// ApprovalGiven is a person's answer to one ask, or that it waits for one.
type ApprovalGiven struct {
	Ask     string   `json:"ask"`
	Policy  string   `json:"policy,omitempty"`
	Binding string   `json:"binding"`
	By      string   `json:"by"`               // who answered: a principal, or "--approve all"
	Groups  []string `json:"groups,omitempty"` // of the person
	Verdict string   `json:"verdict"`          // approved, refused, waiting
	Reason  string   `json:"reason,omitempty"`
	Anybody bool     `json:"anybody,omitempty"` // stands for as many as are needed, whoever they must be
	Grant   string   `json:"grant,omitempty"`   // id of the [GrantGiven] that answered; "": the person was there
	Spared  bool     `json:"spared,omitempty"`  // by its scope

	// Since is when it was given, if that was before the call went on waiting for others; zero: when it was recorded.
	Since time.Time `json:"since,omitzero"`
}

// At returns when the answer of an event was given.
func (a ApprovalGiven) At(e Event) time.Time {
	if a.Since.IsZero() {
		return e.Time
	}
	return a.Since
}

// GrantGiven is what a person said to a question of a run, at a time and place of their own: what stands in
// the run [DeskRun].
type GrantGiven struct {
	ID      string    `json:"id"`      // among those of the desk
	Verdict string    `json:"verdict"` // approved, refused; revoked: the grant Revokes holds no more
	Run     string    `json:"run"`
	Call    string    `json:"call"`
	Ask     string    `json:"ask"`
	Policy  string    `json:"policy,omitempty"`
	Binding string    `json:"binding"` // of what the person was shown
	By      string    `json:"by"`
	Groups  []string  `json:"groups,omitempty"` // of the person, then
	Login   string    `json:"login"`            // the account that the person was told by
	Reason  string    `json:"reason,omitempty"`
	Expires time.Time `json:"expires,omitzero"` // zero: it does not
	Unseen  []string  `json:"unseen,omitempty"` // arguments that the person may not read, and approved all the same
	Scope   *Scope    `json:"scope,omitempty"`  // nil: this call and no other
	Revokes string    `json:"revokes,omitempty"`
}

// Scope says which other calls a grant covers: those of the same tool that meet the same ask of the same agent for the same principal, whose
// arguments and control flow are labelled no worse than those that were shown. The zero Scope covers none.
type Scope struct {
	Kind      string      `json:"kind"`          // value, tool or run
	Run       string      `json:"run,omitempty"` // "": any
	Agent     string      `json:"agent"`
	Digest    string      `json:"digest"` // of the agent
	Principal string      `json:"principal"`
	Of        string      `json:"of"` // the kind of call
	Tool      string      `json:"tool"`
	Args      []ScopedArg `json:"args"` // those that were shown
	PC        label.Label `json:"pc"`
}

// ScopedArg is an argument of the calls that a grant covers. With neither a value nor a pattern it may be any.
type ScopedArg struct {
	Name  string       `json:"name"`
	Label label.Label  `json:"label"`           // what was shown: those of other calls flow to it
	Value *value.Value `json:"value,omitempty"` // the same
	Match string       `json:"match,omitempty"` // a pattern that all its scalars fit
}

// EndorsementMade says that a value's label was raised.
type EndorsementMade struct {
	Kind string      `json:"kind"` // endorse or declassify
	Type string      `json:"type"` // bool, int, enum, other
	Bits int         `json:"bits"`
	Left int         `json:"left"` // of the session's meter
	From label.Label `json:"from"`
	To   label.Label `json:"to"`
	Why  string      `json:"why"`

	// Asked is the label of everything that it was asked with, Why among it; nil: From.
	Asked *label.Label `json:"asked,omitempty"`
}

// Observed is a value that the model asked to be shown.
type Observed struct {
	Name    string      `json:"name"`
	Shown   bool        `json:"shown"`
	Text    string      `json:"text"`    // what joined the conversation
	Label   label.Label `json:"label"`   // of the value
	Context label.Label `json:"context"` // of the model's context afterwards
	Rules   []string    `json:"rules,omitempty"`
	Lowered bool        `json:"lowered,omitempty"` // the context is another than before: the model's next programs are trusted less, or may be read by fewer
}

// ProgramEnded says how a program ended.
type ProgramEnded struct {
	Turn     int              `json:"turn"`
	Status   string           `json:"status"` // ok, error, denied, limit, cancelled, waiting, answered
	Code     string           `json:"code,omitempty"`
	Message  string           `json:"message,omitempty"` // with position
	Label    label.Label      `json:"label"`             // of the ending
	Floor    label.Label      `json:"floor"`             // of the session, afterwards
	Steps    int64            `json:"steps"`
	Peak     int64            `json:"peak"` // bytes
	Calls    int              `json:"calls"`
	Duration time.Duration    `json:"duration"`
	Permits  map[string]int64 `json:"permits,omitempty"` // pure builtins permitted, by name
	Looks    int64            `json:"looks,omitempty"`   // at clock and cancellation until one of them ended it; 0: neither did
	Rises    []FloorRaised    `json:"rises,omitempty"`

	// Tier is the isolation that the program ran in, and Confinement what confined it there, or why it ran in none.
	Tier        string `json:"tier,omitempty"`
	Confinement string `json:"confinement,omitempty"`
}

// CutShort reports whether what ended the program is nothing that it did: clock, cancellation, or the loss of the worker that ran it.
func (e *ProgramEnded) CutShort() bool {
	return e.Code == "cancelled" || e.Code == "limit.wall" || e.Code == "worker"
}

// FloorRaised says that the session's floor rose while a program ran: from there on, everything that
// programs make is labelled at least Floor.
type FloorRaised struct {
	Site  policies.Site `json:"site"`
	Floor label.Label   `json:"floor"`
	Why   string        `json:"why"` // and how to avoid it; holds no data
}

// The statuses of a run. One that waits, or was cancelled, may be resumed; it then has events after its [RunEnd].
const (
	StatusRunning = "running" // it has no RunEnd yet
	StatusDone    = "done"
	StatusFailed  = "failed"
	StatusDenied  = "denied"
	StatusBudget  = "budget"
	StatusWaiting = "waiting"

	StatusCancelled = "cancelled" // whoever ran it stopped it

	// StatusInterrupted is that of a run without a RunEnd that nobody is at: its process has ended. See [RunInfo.State].
	StatusInterrupted = "interrupted"

	statusUnknown = "unknown"
)

// RunEnded is the last event of a run.
type RunEnded struct {
	Status string         `json:"status"` // one of the Status constants
	Exit   int            `json:"exit"`
	Answer *value.Value   `json:"answer,omitempty"`
	Reason string         `json:"reason,omitempty"` // in words, without data: it has no label
	Counts map[string]int `json:"counts"`           // calls allowed, denied, asked
}

// GoesOn reports whether a run that ended so may be gone on with.
func (e RunEnded) GoesOn() bool { return e.Status == StatusWaiting || e.Status == StatusCancelled }
