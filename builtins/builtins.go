// Package builtins describes tools: the functions that a program reaches through
// the gate. A tool knows neither programs nor policies; it declares what it does to
// the world, what kind of sink each parameter is, and how its results are labelled.
//
// The zero values fail closed: undeclared effects mean all of them, an undeclared
// source label is Top.
package builtins

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/engine/label"
	"callgate/engine/value"
)

// Effects is a set of effects on the world. The zero set means undeclared: all four.
type Effects uint8

// The effects. Pure marks a tool that has none.
const (
	Read Effects = 1 << iota
	Write
	Egress
	Destructive
	Pure
)

var effectNames = []string{"read", "write", "egress", "destructive"}

// Names returns the effects in a fixed order; undeclared gives all four, Pure none.
func (e Effects) Names() []string {
	if e == 0 {
		return slices.Clone(effectNames)
	}
	var out []string
	for i, n := range effectNames {
		if e&(1<<i) != 0 {
			out = append(out, n)
		}
	}
	return out
}

// ParseEffects is the inverse of [Effects.Names]; an empty list is an explicit Pure.
func ParseEffects(names []string) (Effects, error) {
	e := Pure
	for _, n := range names {
		i := slices.Index(effectNames, n)
		if i < 0 {
			return 0, fmt.Errorf("effect: got %q, want one of %s", n, strings.Join(effectNames, ", "))
		}
		e = e&^Pure | 1<<i
	}
	return e, nil
}

// Tool is one function that a program can call. Tools are read-only once in a [Set].
type Tool struct {
	Name    string // dotted, lower case: "mail.send"
	Doc     string // for the model: one line, then what it needs to know
	Params  []Param
	Returns json.RawMessage // JSON Schema of the result; nil: anything
	Effects Effects
	Label   Source // of the result
	State   *State // the namespace it reads or writes, if any

	// Derives says that the result is made of the arguments, as an answer is of what was asked about: it carries their
	// sources besides its own, so that rules and people see where it comes from. Classes it carries in any case.
	Derives bool

	// Asks is the provider of the language model that the tool asks, and says that the tool does nothing else. Such a call is of the kind model: it is
	// decided as policies decide those, with the provider as one more argument. "": it asks none.
	Asks string

	// Words is the label of what the tool says of itself: its doc, its parameters' and its schemas. nil: whoever grants the tool stands for
	// them. What is said by somebody less trusted, as a server may be, no model is told unasked.
	Words *label.Label

	// Agent says that the tool runs another agent: each of that one's calls is decided and recorded by itself. Run is given [Invocation.Enter].
	Agent bool

	// Idempotent promises that a second call with the same Invocation.Key has no further effect.
	Idempotent bool

	// Widens says, a line for each, what a process of the machine that the tool starts may do beyond computing. The journal has it with
	// every call. Empty: it starts none.
	Widens []string

	// Timeout bounds one call; 0 means 30 s.
	Timeout time.Duration

	// Run does the work. The arguments have passed the parameters' schemas. The
	// result is what value.Of takes; labels are the gate's business, so a result must be
	// plain. An error that the program should tell apart is an [Error].
	// Run must return when ctx ends and be safe for concurrent use.
	Run func(ctx context.Context, in *Invocation) (any, error)

	// Over goes over what Run did once more, with no effect, where a run is only looked at. nil: there is nothing to go over.
	Over func(ctx context.Context, in *Invocation)

	compiled *compiled // what prepare has made of the declaration
}

// Clone returns a copy that is in no set, and can be changed.
func (t *Tool) Clone() *Tool {
	out := *t
	out.Params, out.Label.Fields, out.Widens, out.compiled = slices.Clone(t.Params), slices.Clone(t.Label.Fields), slices.Clone(t.Widens), nil
	out.Label.Cases = slices.Clone(t.Label.Cases)
	return &out
}

// Param is one parameter of a tool.
type Param struct {
	Name     string
	Doc      string
	Schema   json.RawMessage // JSON Schema; nil: anything
	Required bool
	Sink     string            // a sink kind of package policies; "" means none
	Sinks    map[string]string // of parts: "[].iban", ".Authorization", ".*"

	// Norm brings a scalar to the tool's normal form and names its host, for
	// policies to compare; nil: lower-case text and the host of a URL or address.
	Norm func(any) (norm, host string)
}

// Source is how a tool's result is labelled before the arguments' labels and the pc are
// joined. The zero Source is Top.
type Source struct {
	Class label.Label // of the result as a whole; its sources are ignored

	// Of names the resource, for the label's source: a text in which {args.NAME} is
	// replaced by an argument, {args.NAME.host} by the host that an argument names, and {item.NAME} by a field of the innermost
	// element of a list that has it.
	// Only values at trust internal or better are inserted; others give "?". What is
	// not there, an argument left out or a field outside of any element, gives nothing.
	Of string

	// Fields override Class below a path: "[].body", ".total". The longest path wins.
	Fields []FieldSource

	// Cases say which calls have results of another class than Class: the first that fits does. Class is then that of errors, and of every
	// other call; what any case says flows to it.
	Cases []Case

	// Structure, if set, labels lengths, order and keys: an assumption that check reports.
	Structure *label.Label
}

// FieldSource is the label of one field of a result.
type FieldSource struct {
	Path  string
	Class label.Label
}

// Case is the label of the results of some calls.
type Case struct {
	When  string // which calls, for people: "https://api.example.com/*"
	Class label.Label
	Fits  func(args map[string]any) bool // the same for the same arguments; they may be of any kind
}

// State is a namespace outside the program: a folder, a database, a memory.
type State struct {
	Name  string
	Write bool        // the tool writes to it
	Label label.Label // what is written must flow here; what is read carries it
}

// Invocation is one call that has been decided.
type Invocation struct {
	Args map[string]any // plain data, as value.Value.Plain gives it; absent optional arguments are absent
	Key  string         // idempotency key: the same in every try of the same call
	Now  time.Time      // the time of the decision

	// Enter returns what the caller is and has left, of a tool that runs an agent; nil for others. Of those of one session one runs at a time.
	Enter func() Caller

	mu    sync.Mutex
	spent Spent
	under *Under
}

// Caller is the call that an agent is run by, and what is left to it: the agent may use that, and no more.
type Caller struct {
	Root  string // the run that the call is a part of, at the top
	Run   string // that makes the call
	Call  string
	Child string // id of the agent's run

	Args        value.Value // by name, with their labels
	PC, History label.Label
	Counts      map[string]int // calls of tools so far
	Marks       []string

	Steps int64 // of evaluation
	Calls int
	Bits  int // of the meter

	Met label.Label // of whatever may have decided how much of these is left, besides the history
}

// Under is what a run has used that an agent's call began, those beneath it included.
type Under struct {
	Counts  map[string]int // calls of tools
	Marks   []string
	History label.Label
	Steps   int64
	Calls   int
	Bits    int
	Met     label.Label // of all that it was given: how much it has used may depend on any of that
}

// Leave says what was used by the agent that the tool ran.
func (in *Invocation) Leave(u Under) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.under = &u
}

// Left returns what [Invocation.Leave] has said; nil if it was not called.
func (in *Invocation) Left() *Under {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.under
}

// Spent is what language models used that a tool asked.
type Spent struct {
	In, Out, Cached int64 // tokens; those from a cache are among those in
	Cost            int64 // in billionths of the unit of prices
	Calls           int   // how often one was asked
}

// Spend adds to what models used that the tool asked, for the journal: a run that is gone over again is charged as it was.
func (in *Invocation) Spend(s Spent) {
	in.mu.Lock()
	defer in.mu.Unlock()
	t := &in.spent
	*t = Spent{t.In + s.In, t.Out + s.Out, t.Cached + s.Cached, t.Cost + s.Cost, t.Calls + s.Calls}
}

// Spent returns what the tool has said of it by now.
func (in *Invocation) Spent() Spent {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.spent
}

// Arg returns an argument of one type, or its zero value if it is absent.
func Arg[T any](in *Invocation, name string) T {
	v, _ := in.Args[name].(T)
	return v
}

// Error is a failure that a program can tell apart by its code.
type Error struct {
	Code string // lower case with dashes, no data: "not-found", "exists"
	Text string // may hold data

	// Label is of what the failure depends on, besides the call itself. A failure that depends on more than its call cannot be caught. nil: nothing.
	Label *label.Label
}

func (e *Error) Error() string { return e.Text }

// Waiting is the error of a tool that runs an agent which waits for somebody: the run waits too, and the call goes on with it.
type Waiting struct{ Text string }

func (e *Waiting) Error() string { return e.Text }

// Set holds the tools granted to an agent, by name. The zero Set is empty.
type Set struct {
	tools map[string]*Tool
}

// Add adds a tool. A second one of the same name is an error, and so is a tool without a
// name or Run, one whose schemas do not compile, with a sink of an unknown kind, or with a path or resource that
// cannot be read.
func (s *Set) Add(t *Tool) error {
	switch {
	case t.Name == "" || t.Run == nil:
		return fmt.Errorf("tool %q: want a name and a Run function", t.Name)
	case s.tools[t.Name] != nil:
		return fmt.Errorf("tool %q: declared twice", t.Name)
	}
	if err := t.prepare(); err != nil {
		return err
	}
	if s.tools == nil {
		s.tools = map[string]*Tool{}
	}
	s.tools[t.Name] = t
	return nil
}

// Lookup returns the tool of a name, or nil.
func (s *Set) Lookup(name string) *Tool { return s.tools[name] }

// Names returns the tools' names, sorted.
func (s *Set) Names() []string {
	out := make([]string, 0, len(s.tools))
	for n := range s.tools {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// All returns the tools, sorted by name.
func (s *Set) All() []*Tool {
	var out []*Tool
	for _, n := range s.Names() {
		out = append(out, s.tools[n])
	}
	return out
}
