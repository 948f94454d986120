package spec

import (
	"time"

	"callgate/engine/label"
)

// Documents are the documents of one load, each kind in the order of its files. A
// document with problems is there as far as it could be read, so that what
// else is wrong with it can be found; it must not be used, see [Fatal].
type Documents struct {
	Agents    []*Agent
	Policies  []*Policy
	Toolsets  []*Toolset
	Scenarios []*Scenario
	Hosts     []*Host
}

// Toolset is tools under one name.
type Toolset struct {
	Meta    Meta
	Tools   []Use
	Declare []Declaration
	Dir     string // folder of the file
}

// Declaration replaces what one tool declares of itself. What is left out stays as the tool has it.
type Declaration struct {
	Tool       string
	Effects    []string // nil: left out; empty: none
	Sinks      []SinkDeclaration
	Label      *label.Label // of the result; its sources do not count
	Of         string
	Fields     []FieldLabel
	Structure  *label.Label
	Idempotent *bool
	Timeout    time.Duration // 0: left out
	Pos        Position
}

// SinkDeclaration is the kind of sink of a parameter, or of a part of one.
type SinkDeclaration struct {
	Path string // "to", "headers.Authorization", "payments[].iban"
	Sink string // one of the kinds that spec/decision.md lists
	Pos  Position
}

// FieldLabel is the label of a part of a result.
type FieldLabel struct {
	Path  string // "[].body", ".total"
	Label label.Label
	Pos   Position
}

// Scenario is a test of an agent and its policies, in which stubs stand for the tools.
type Scenario struct {
	Meta      Meta
	Agent     Ref // folder or file, resolved
	Inputs    []ScenarioInput
	Principal *Principal // nil: the host's
	Program   Ref        // a Starlark file, resolved; or else
	Recording Ref        // a transcript, resolved
	Author    label.Label
	Time      time.Time // what the clock says
	Real      bool      // a call that no stub answers is the tool's own, in a fresh state
	Stubs     []Stub
	Approve   []string // ids of rules whose asks are approved; "*" is all
	Expect    Expect
	Dir       string // folder of the file
}

// ScenarioInput is one input of a run.
type ScenarioInput struct {
	Name  string
	Value string
	Pos   Position
}

// Stub is an answer of a tool.
type Stub struct {
	Tool   string
	Args   map[string]any // arguments that the call must have; nil: any
	Result any            // plain data, if Error is nil
	Error  *StubError
	Label  *label.Label // nil: as the tool declares
	Fields []FieldLabel
	Times  int // calls it answers; 0: any number
	Pos    Position
}

// StubError is a tool's failure.
type StubError struct {
	Code string
	Text string
}

// Expect is what must come of a scenario.
type Expect struct {
	Outcome   string // done, failed, denied, budget, waiting; "" is any
	Answer    any    // plain data
	HasAnswer bool   // Answer was written, null perhaps
	Calls     []ExpectedCall
	Effects   []ExpectedEffect // if HasEffects
	Never     []ExpectedEffect // tools that must not run; without Args
	Labels    []FieldLabel
	Pos       Position

	HasEffects bool     // Effects was written, empty perhaps
	OutcomePos Position // of the values
	AnswerPos  Position
	EffectsPos Position
}

// ExpectedEffect is a tool that is run.
type ExpectedEffect struct {
	Tool string
	Args map[string]any // arguments that it must have; nil: any
	Pos  Position
}

// ExpectedCall is a call that must be made. Others may stand before and after it.
type ExpectedCall struct {
	Kind   string // "tool" if left out
	Tool   string
	Call   string         // its id; "" is any
	Args   map[string]any // arguments that it must have; nil: any
	Effect string         // allow, ask or deny
	Rules  []string       // ids of rules, or their beginnings up to a dot, that must be among the reasons
	Label  *label.Label   // of its result; nil: any
	Pos    Position
}
