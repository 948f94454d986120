package eval

import (
	"context"

	"callgate/engine/label"
	"callgate/engine/value"
)

// Host is the one way out of a program: everything else that a program can do is
// pure, bounded and deterministic.
//
// Do answers every call, in order; a batch of one is a plain call. The calls of a
// batch are decided in order and executed together. Do must not keep the calls.
type Host interface {
	Do(ctx context.Context, calls []Call) []Result
}

// CallKind says what a crossing is. Every kind is decided by the same policies.
type CallKind string

// The kinds of call that a program makes. (The engine adds "program", "observe" and "model".)
const (
	KindTool       CallKind = "tool"
	KindBuiltin    CallKind = "builtin"    // a pure function of the language; only labels cross, no arguments
	KindEndorse    CallKind = "endorse"    // raise the trust of a value
	KindDeclassify CallKind = "declassify" // widen the readers of a value
	KindAnswer     CallKind = "answer"     // done(value): give the user the answer, and end
)

// Call is one request of a program to its host.
type Call struct {
	// ID is unique in the session and the same in every run of the same program
	// on the same inputs: "turn.call" or, within parallel, "turn.call.strand" (a strand of a strand has one number
	// more), where the calls of a wave have one number. Whether a builtin may be called is
	// asked as "turn.call+ask", where call is that of the last call: asks take no number from calls, because which are
	// needed depends on what the session remembers.
	ID   string
	Kind CallKind
	Tool string // "mail.send", "len", "endorse"
	Args []Arg  // by parameter name, in the order given; labels include those of references followed
	PC   label.Label

	// History is the label of the session's record of calls before this one: a
	// decision that reads history carries it.
	History label.Label

	Site Site
}

// Arg is one named argument.
type Arg struct {
	Name  string
	Value value.Value
}

// Site is the place in a program that a call was made from. Lines and columns count from 1.
type Site struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Function string `json:"function"`
}

// Result answers one call. The zero Result is None labelled Top.
type Result struct {
	// Value is the labelled answer. The evaluator joins the pc to it, except for
	// an endorsement, whose label is exactly what was granted.
	Value value.Value

	// Err says that the call did not succeed.
	Err *CallError

	// Forget asks the evaluator to forget which builtins were permitted: the policies changed.
	Forget bool
}

// waits reports whether the call waits for a person: that ends the program.
func (r Result) waits() bool { return r.Err != nil && r.Err.Wait }

// ends reports whether the call ends the program otherwise.
func (r Result) ends() bool { return r.Err != nil && r.Err.Final && !r.Err.Wait }

// CallError is a refusal or a failure of a call, as the program sees it.
type CallError struct {
	Code  string      // for the model: "denied", "denied (flow, payments.large)", "not-found"; holds no data
	Text  string      // for people and, labels permitting, the program: may hold data
	Hint  string      // what may be done instead; holds no data
	Label label.Label // of the outcome: of everything that the decision or the failure depended on
	Deny  bool        // refused by policy, as opposed to failed
	Final bool        // ends the program: it cannot be caught (waiting for an approval, a kill, a dead journal)
	Ends  bool        // ends the program, as an error of it, and not the session
	Wait  bool        // waiting for a person: the run stops and can be taken up again
}

func (e *CallError) Error() string {
	if e.Text != "" {
		return e.Text
	}
	return e.Code
}

// ToolSig is what a program needs to know of a tool in order to call it.
type ToolSig struct {
	Name   string   // dotted: "mail.send" is reached as mail.send(…)
	Params []string // in positional order
	Doc    string
}
