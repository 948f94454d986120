// Package gate is the policy enforcement point (PEP): the single place where a
// program's call becomes an effect.
//
// # One call
//
// [Gate.Do] answers the calls of a program. For each it
//
//  1. finds the tool among those granted and checks the arguments against their schemas;
//  2. builds the request, total, and has it decided;
//  3. records the decision: no record, no act. Once the journal has failed nothing is
//     executed any more;
//  4. fulfils the obligations: people are asked, arguments redacted, limits reserved. One that
//     is unknown, malformed or contradicts another is a denial;
//  5. records the start, runs the tool, checks its result and records that;
//  6. labels the result: the tool's source label, the arguments' and the pc, field by field.
//
// Everything else that crosses a program's boundary takes the same way as far as it
// goes: pure builtins, endorsements, the answer, the program itself ([Gate.Program]), and what is
// shown to the model ([Gate.Observe]). The calls of a batch are decided in order and executed together.
//
// # What a refusal says
//
// A program, and the model behind it, sees the ids of the rules that refused and never
// data: "denied (flow.recipient, mail.unknown)". People read the journal, which has the
// messages, the values, and where the values came from. Denied, not granted and no such tool are three
// different answers. A refusal is labelled with all that was decided on: the pc, the arguments and, if a
// rule read it, the history.
//
// # The meter
//
// What a policy lets through or holds back tells something. Each session has a meter
// of bits, and these take from it:
//
//   - an endorsement or a declassification: the bits of what it lets through;
//   - a refusal that depends on data above what the model was shown ([Gate.Context]):
//     [RefusalBits], once, whether or not the program catches it;
//   - the description of a value that is not shown to the model, on the same condition: [DescribeBits];
//   - what [Gate.Reveal] is asked for.
//
// With too few bits left an endorsement is refused, a refusal says no more than "denied", and a
// description no more than [Hidden].
//
// # The policy's view
//
// What the calls that are not a tool's look like to policies, [policies.Crossings] says. A pure
// builtin has one argument, value, without data: its label is that of all its arguments
// together. The argument inputs of a program has no data either: its label is that of everything the program can read.
//
// A call of a program has the id that the evaluator gave it; the second observation of turn 3
// is "3.o2", and its program "3.p".
package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"callgate/builtins"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// Config is what a gate guards, and by what. The zero Config is refused by [New]; the
// zero of a field that is not required grants nothing.
type Config struct {
	Agent     policies.Agent     // who acts; no Tools means those of the Set, no Effects theirs
	Principal policies.Principal // on whose behalf; the zero Principal is nobody, who may read only what is public
	Session   policies.Session   // ID and Run are required; SetTurn sets the turn

	Tools *builtins.Set // the tools granted; nil: none
	Known []string      // names of tools that exist and are not granted; nil: any other name is no such tool

	PDP      policies.PDP // decides; required
	Revision string       // of the policies when the run began, if it is gone over again; "": the PDP's
	Journal  *journal.Run // records, and holds what limits count; required, and begun
	Approver Approver     // asks people; nil: there is nobody, so that a call which needs approval waits

	Clock func() time.Time // nil: [time.Now]

	// Meter is how many bits endorsements, refusals and descriptions may reveal in all; 0: none.
	Meter int

	// Typed are the texts that a person typed: a value that occurs in one as a whole token is
	// shown to policies as typed. nil: nothing was.
	Typed []string

	// Reveal says that a value below trust internal may be shown to the model if policy allows. False: it
	// never is, whatever the policy.
	Reveal bool

	// Provider names who runs the model that values are shown to: a value that "model:" and this
	// name may read can be shown. "": only what the principal may read.
	Provider string

	// CanHave says what is missing for programs to be isolated so strongly, nil if nothing is: a decision that obliges to what
	// cannot be had is a denial. A nil CanHave means that there is no more than [TierNone].
	CanHave func(Tier) error

	// Spent is called with what models used that a tool of the name asked, where its call is recorded and not made again. nil: nobody counts it.
	Spent func(tool string, s journal.Spent)

	// Kept is what earlier runs of the session left; nil: there were none.
	Kept *Kept

	// Beneath are the tools of agents that the session's tools run: programs cannot call them, policies know of them.
	Beneath []*builtins.Tool

	// Within is the call that the session is a part of; nil: none.
	Within *builtins.Caller

	Left Left // to agents that the session's tools run; the zero Left: nothing

	Limits Limits
}

// Limits bound what one gate does at a time.
type Limits struct {
	Parallel int // calls of a batch that run at once; 0: 8
	Result   int // size of a tool's result in bytes; 0: 8 MiB
	Show     int // size of a value shown to the model, in bytes; 0: 16 KiB
}

// Gate is the policy enforcement point of one session. It is safe for concurrent use;
// decisions are made one at a time.
type Gate struct {
	cfg    Config
	agents chan struct{} // held while a tool runs an agent
	shapes map[string]*shape
	known  map[string]bool // not granted

	deciding sync.Mutex      // held from the first decision of a batch to the last
	entries  []journal.Entry // of the decisions being made; guarded by deciding
	decided  string          // the revision of the last decision recorded; guarded by deciding
	reload   int             // the last one recorded; guarded by deciding

	mu       sync.Mutex // guards what follows
	dead     error      // why nothing is recorded any more
	turn     int
	now      time.Time // of the turn
	program  label.Label
	base     label.Label // what the model was shown before this turn, and of who writes its program
	shown    label.Label // what Observe has shown it
	observed int         // observations of this turn
	meter    int
	done     map[string]int // calls carried out, per granted tool; replaced when it changes
	marks    []string       // sorted; replaced when it changes
	kept     []string       // the marks of the session, sorted
	met      label.Label    // of all answers that programs got
	history  label.Label
	before   map[string]int // calls before the session began
	made     int            // calls of programs, but for pure builtins
	beneath  beneath
	counts   Counts
	waiting  []Question
	answer   *value.Value
	ending   label.Label // the pc of the answer
	tier     Tier        // that the turn's program runs in
	revision string
	memo     bool                         // a builtin was permitted by a rule that reads history
	forget   bool                         // and the history has changed since
	origins  map[label.Source]label.Trust // what each source of a result was trusted
	readers  []label.Readers              // the sets that descriptions have named, by index
}

// Counts says what a gate has done so far.
type Counts struct {
	Allowed  int // calls allowed, those approved by people included; pure builtins not
	Denied   int // refusals of every kind
	Asked    int // calls that needed approval
	Given    int // approvals that people gave, about the call at hand
	Spared   int // approvals that nobody had to give: the call was in the scope of one that had been given
	Failed   int // calls that were allowed and failed, and calls with wrong arguments
	Shown    int // values shown to the model
	Hidden   int // values not shown
	Endorsed int // endorsements and declassifications
	Bits     int // that the meter has given
	Builtins map[string]int64
}

// Map returns the counts as a run's end records them.
func (c Counts) Map() map[string]int {
	return map[string]int{
		"allowed": c.Allowed, "denied": c.Denied, "asked": c.Asked, "given": c.Given, "spared": c.Spared, "failed": c.Failed,
		"shown": c.Shown, "hidden": c.Hidden, "endorsed": c.Endorsed, "bits": c.Bits,
	}
}

// New returns a gate before its first turn: until [Gate.SetTurn] nobody trusts the program's author,
// whose label is Top. The error says which required field is missing, or which tool is malformed.
func New(cfg Config) (*Gate, error) {
	switch {
	case cfg.PDP == nil:
		return nil, errors.New("gate: got no PDP, want one: without policies nothing can be decided")
	case cfg.Journal == nil:
		return nil, errors.New("gate: got no journal, want one: without a record nothing is done")
	case cfg.Session.ID == "" || cfg.Session.Run == "":
		return nil, fmt.Errorf("gate: got session %q and run %q, want a name for each", cfg.Session.ID, cfg.Session.Run)
	}
	if cfg.Tools == nil {
		cfg.Tools = new(builtins.Set)
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Limits.Parallel <= 0 {
		cfg.Limits.Parallel = 8
	}
	if cfg.Limits.Result <= 0 {
		cfg.Limits.Result = 8 << 20
	}
	if cfg.Limits.Show <= 0 {
		cfg.Limits.Show = 16 << 10
	}
	g := &Gate{
		cfg: cfg, agents: make(chan struct{}, 1), shapes: map[string]*shape{}, known: map[string]bool{}, meter: max(cfg.Meter, 0), now: cfg.Clock(),
		base: label.Bottom(), shown: label.Bottom(), history: label.Bottom(), met: label.Bottom(), ending: label.Bottom(),
		done: map[string]int{}, revision: cmp.Or(cfg.Revision, cfg.PDP.Revision()), origins: map[label.Source]label.Trust{}, beneath: beneath{met: label.Bottom()},
		counts: Counts{Builtins: map[string]int64{}},
	}
	g.decided = g.revision
	if p, ok := cfg.PDP.(policies.Reloader); ok {
		g.reload = p.LastReload().Serial
	}
	if k := cfg.Kept; k != nil {
		g.kept = slices.Compact(slices.Sorted(slices.Values(k.Marks)))
		g.marks, g.history = g.kept, k.history
		g.origins, g.readers = maps.Clone(k.origins), slices.Clone(k.readers)
		if g.origins == nil {
			g.origins = map[label.Source]label.Trust{}
		}
	}
	for _, name := range cfg.Known {
		g.known[name] = true
	}
	for _, t := range cfg.Tools.All() {
		s, err := newShape(t)
		if err != nil {
			return nil, fmt.Errorf("gate: %w", err)
		}
		g.shapes[t.Name] = s
		g.done[t.Name] = 0
	}
	g.cfg.Agent = agentOf(cfg.Agent, cfg.Tools.All(), cfg.Beneath)
	for _, name := range g.cfg.Agent.Tools { // those of sub-agents too
		g.done[name] += 0
	}
	g.within(cfg.Within)
	return g, nil
}

// SetTurn begins a turn. Program is the label of who writes its program; context is that of
// what the session's model was shown. The gate joins both, and what it has shown the model itself:
// an author knows what went into the program. The time that tools see stands still until the next turn.
func (g *Gate) SetTurn(turn int, program, context label.Label) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turn, g.program, g.base = turn, program, context.Join(program)
	g.now, g.observed, g.tier, g.beneath.turn = g.cfg.Clock(), 0, TierNone, 0
}

// SetTime says when the turn began, as far as tools are concerned.
func (g *Gate) SetTime(t time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now = t
}

// Context returns the label of everything that the model was shown: Bottom before the first turn.
func (g *Gate) Context() label.Label {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.context()
}

func (g *Gate) context() label.Label { return g.base.Join(g.shown) }

// Met returns the label of all that calls have given to programs of the run, errors too, without sources: of what could have decided how those went.
func (g *Gate) Met() label.Label {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.met
}

// Left returns how many bits are left on the meter.
func (g *Gate) Left() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.meter
}

// Reveal reports whether a code or a position that depends on data of this label may be
// shown to the model, and takes its bits from the meter if the model's context is below it.
func (g *Gate) Reveal(l label.Label, bits int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.reveal(l, bits)
}

func (g *Gate) reveal(l label.Label, bits int) bool {
	if l.FlowsTo(g.context()) {
		return true
	}
	return g.take(bits)
}

// take takes bits from the meter, if it has them.
func (g *Gate) take(bits int) bool {
	if bits < 0 || bits > g.meter {
		return false
	}
	g.meter -= bits
	g.counts.Bits += bits
	return true
}

// Counts returns what the gate has done so far.
func (g *Gate) Counts() Counts {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.counts
	c.Builtins = maps.Clone(c.Builtins)
	return c
}

// Waiting returns the questions that nobody has answered; the run stops at the first.
func (g *Gate) Waiting() []Question {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.waiting)
}

// Answer returns the answer that the user was given, if there is one: the last.
func (g *Gate) Answer() (value.Value, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.answer == nil {
		return value.Value{}, false
	}
	return *g.answer, true
}

// Kept is what the next run of a session must be given of what a gate knows. In the zero Kept that is no mark, under a label that nobody may read.
type Kept struct {
	Marks []string // that obligations have left to the session, sorted

	// Answered is the label of whether a program has answered: of the control flow that it did so under.
	Answered label.Label

	history label.Label
	origins map[label.Source]label.Trust
	readers []label.Readers
}

// Keep returns what the next run of the session must be given.
func (g *Gate) Keep() *Kept {
	g.mu.Lock()
	defer g.mu.Unlock()
	return &Kept{Marks: slices.Clone(g.kept), Answered: g.ending, history: g.history, origins: maps.Clone(g.origins), readers: slices.Clone(g.readers)}
}

// Err returns why nothing is executed any more, or nil: the journal has failed.
func (g *Gate) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dead
}

// later notes an event of the decision that is being made, to be recorded by the next flush.
func (g *Gate) later(t journal.Type, call string, payload any) {
	g.entries = append(g.entries, journal.Entry{Type: t, Call: call, Payload: payload})
}

// flush records the events noted, in one transaction. The caller holds the deciding lock.
func (g *Gate) flush(ctx context.Context, sync bool) error {
	entries := g.entries
	g.entries = nil
	return g.record(ctx, sync, entries...)
}

// record appends to the journal: all of the entries or none. What has begun to matter is
// recorded even when ctx has ended, and even after something else could not be. The error is that of the first
// failure: after it the gate does nothing more.
func (g *Gate) record(ctx context.Context, sync bool, entries ...journal.Entry) error {
	_, err := g.cfg.Journal.AppendAll(context.WithoutCancel(ctx), sync, entries...)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead == nil {
		g.dead = err
	}
	return g.dead
}
