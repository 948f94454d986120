// Package journal is the stream of everything that happened in a run: the one
// source of the console's picture, of explanations, and of replay.
//
// [Begin] starts a run in a [Store] and gives its [Run], which appends events in
// order; [Retrace] goes over one that was broken off, with what is recorded in place of the world, and on from there. Each event is chained to the one before by the digest of its salted payload,
// so that a removed, altered or reordered event is found ([Verify]) and a payload can
// still be redacted ([Event.Redact]). [Open] gives the SQLite store, [NewMemory] one that
// forgets; [Export] and [Import] are JSON lines.
//
// A value tagged "secret" never arrives: [Run.Append] puts a digest in its
// place. What is promised, and what is not, is in spec/journal.md.
package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"
)

// Schema is the version of events and payloads that this package writes. It is in each
// run's header and in the database; what is newer is refused.
const Schema = 2

// MaxPayload is the size of the largest payload, in bytes.
const MaxPayload = 64 << 20

// Type says what an event records. The payload's Go type stands beside each.
type Type string

// The types of event.
const (
	RunStart    Type = "run.start"     // RunStarted
	TurnStart   Type = "turn.start"    // TurnStarted
	ModelReply  Type = "model.reply"   // ModelReplied
	Decided     Type = "decision"      // DecisionMade
	CallStart   Type = "call.start"    // CallStarted
	CallResult  Type = "call.result"   // CallEnded
	Approved    Type = "approval"      // ApprovalGiven
	Granted     Type = "grant"         // GrantGiven
	Observation Type = "observation"   // Observed
	Endorsed    Type = "endorsement"   // EndorsementMade
	ProgramEnd  Type = "program.end"   // ProgramEnded
	Reloaded    Type = "policy.reload" // PoliciesReloaded
	RunEnd      Type = "run.end"       // RunEnded
	Resumed     Type = "run.resume"    // RunResumed
)

// payloads has the payload's Go type for each type of event.
var payloads = map[Type]reflect.Type{
	RunStart:    reflect.TypeFor[RunStarted](),
	TurnStart:   reflect.TypeFor[TurnStarted](),
	ModelReply:  reflect.TypeFor[ModelReplied](),
	Decided:     reflect.TypeFor[DecisionMade](),
	CallStart:   reflect.TypeFor[CallStarted](),
	CallResult:  reflect.TypeFor[CallEnded](),
	Approved:    reflect.TypeFor[ApprovalGiven](),
	Granted:     reflect.TypeFor[GrantGiven](),
	Observation: reflect.TypeFor[Observed](),
	Endorsed:    reflect.TypeFor[EndorsementMade](),
	ProgramEnd:  reflect.TypeFor[ProgramEnded](),
	Reloaded:    reflect.TypeFor[PoliciesReloaded](),
	RunEnd:      reflect.TypeFor[RunEnded](),
	Resumed:     reflect.TypeFor[RunResumed](),
}

// Event is one entry of a run's journal. Events are read-only.
type Event struct {
	Run     string          `json:"run"`
	Seq     int64           `json:"seq"`  // from 1, without gaps
	Time    time.Time       `json:"time"` // UTC, what the clock said: the order is that of Seq
	Type    Type            `json:"type"`
	Call    string          `json:"call,omitempty"` // the call's id, if it is about one
	Payload json.RawMessage `json:"payload"`        // null once redacted

	Salt   string `json:"salt"`   // random, hex; empty once redacted
	Digest string `json:"digest"` // sha256 over salt and payload, hex
	Hash   string `json:"hash"`   // sha256 over the previous hash, run, seq, time, type, call and digest, hex

	opening *opening // of one that is encrypted and was read from a store
}

// Redacted reports whether the payload was taken out of the event.
func (e Event) Redacted() bool { return e.Salt == "" }

// Redact returns the event without its payload. The salt goes with it, so that the
// digest that stays gives nothing away; the chain still verifies.
func (e Event) Redact() Event {
	e.Payload, e.Salt, e.opening = nil, "", nil
	return e
}

// Decode reads an event's payload into its Go type, which must be the one that stands
// beside the event's [Type]. It fails for what is redacted ([ErrRedacted]) and what is encrypted and could not be opened ([ErrEncrypted]).
func Decode[T any](e Event) (T, error) {
	var out T
	if want := payloads[e.Type]; want != reflect.TypeFor[T]() {
		return out, fmt.Errorf("journal: event %d of run %s: got a payload of type %q, want %T", e.Seq, e.Run, e.Type, out)
	}
	err := unmarshal(e, &out)
	return out, err
}

// unmarshal reads an event's payload into what out points to.
func unmarshal(e Event, out any) error {
	plain, err := e.Plain()
	if err == nil {
		err = json.Unmarshal(plain, out)
	}
	if err != nil {
		return fmt.Errorf("journal: event %d (%s) of run %s: %w", e.Seq, e.Type, e.Run, err)
	}
	return nil
}

// The errors that callers tell apart with [errors.Is].
var (
	ErrRedacted = errors.New("the payload was redacted")
	ErrNoRun    = errors.New("no such run")
	ErrConflict = errors.New("the run was continued by somebody else")
	ErrEnded    = errors.New("the run has ended")
	ErrNewer    = errors.New("written by a newer version")
	ErrClosed   = errors.New("the journal is closed")
)

// Store keeps runs. Implementations are safe for concurrent use; appends to one run are serialised by its [Run].
type Store interface {
	// Append stores events of one run that follow what is there. With sync it returns
	// once they are durable, and everything before them; either all are stored or none. Events that do
	// not follow what is there are an [ErrConflict].
	Append(ctx context.Context, events []Event, sync bool) error
	// Read returns the events of a run with Seq ≥ from, in order; none if there is no such run. Of what is encrypted and cannot be opened
	// with the store's keys [Decode] says so.
	Read(ctx context.Context, run string, from int64) ([]Event, error)
	// Runs returns the runs, newest first, at most limit of them (0: all).
	Runs(ctx context.Context, limit int) ([]RunInfo, error)
	// Reserve enters charges in their accounts, which all runs of the store share: all of them or, if some would pass
	// their limits, none; it returns the indices of those. Without spend it only looks. No two callers, of other
	// processes too, see an account as it was before the other's charge and both spend.
	Reserve(ctx context.Context, charges []Charge, at time.Time, spend bool) (over []int, err error)
	// Claim takes a run for its holder, renews what the holder has, or gives it up if its Until is zero. Whose claim has
	// expired or whose process is gone has lost it; if another one has it, it is a [*HeldError]. The run need not be there.
	// A claim tells people who is at a run; that two cannot go on with one is Append's to see to.
	Claim(ctx context.Context, run string, h Holder) error
	// Ledger returns the lines of the ledger and what was signed over them: those that tell of a run, or all if run is "". Append
	// writes a line for the beginning of a run and for each end, in the same transaction.
	Ledger(ctx context.Context, run string) (Ledger, error)
	// Keys returns what runs that begin are encrypted to, and what is read is opened with; nil: nothing is.
	Keys() *Keys
	// Close gives up all that was claimed through the store.
	Close() error
}

// RunInfo is a line of the list of runs.
type RunInfo struct {
	ID     string    `json:"id"`
	Agent  string    `json:"agent"`
	Start  time.Time `json:"start"`
	End    time.Time `json:"end,omitzero"`
	Status string    `json:"status"` // of its last event if that is a RunEnd, else StatusRunning; "unknown" if it was redacted
	Events int64     `json:"events"`
	Head   string    `json:"head"`             // hash of the last event: [VerifyWhole] takes it
	Holder *Holder   `json:"holder,omitempty"` // who is at it; nil: nobody
}

// State is the status as people are told it: a run that runs, and that nobody is at, is interrupted.
func (r RunInfo) State() string {
	if r.Status == StatusRunning && r.Holder == nil {
		return StatusInterrupted
	}
	return r.Status
}

// follow returns the line of a run's list after events of one run were appended to it,
// in a store that had it as r before.
func (r RunInfo) follow(events []Event) (RunInfo, error) {
	for _, e := range events {
		if e.Seq != r.Events+1 || r.Events > 0 && e.Run != r.ID {
			return r, fmt.Errorf("journal: run %s: got event %d, want %d: %w", e.Run, e.Seq, r.Events+1, ErrConflict)
		}
		r.ID, r.Events, r.Head = e.Run, e.Seq, e.Hash
		r.End, r.Status = time.Time{}, StatusRunning
		switch e.Type {
		case RunStart:
			if !e.Redacted() {
				start, err := listed[RunStarted](e)
				if err != nil {
					return r, err
				}
				r.Agent = start.Agent
			}
		case RunEnd:
			r.End, r.Status = e.Time, statusUnknown
			if !e.Redacted() {
				end, err := listed[RunEnded](e)
				if err != nil {
					return r, err
				}
				r.Status = end.Status
			}
		}
		if e.Seq == 1 {
			r.Start = e.Time
		}
	}
	return r, nil
}

// listed reads of an event what the list of runs says, which stands in the clear.
func listed[T RunStarted | RunEnded](e Event) (out T, err error) {
	if !encrypted(e.Payload) {
		return Decode[T](e)
	}
	if _, err = parseSealed(e); err == nil {
		err = json.Unmarshal(e.Payload, &out)
	}
	if err != nil {
		err = fmt.Errorf("journal: event %d (%s) of run %s: %w", e.Seq, e.Type, e.Run, err)
	}
	return out, err
}
