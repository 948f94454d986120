// Package journal is the stream of everything that happened in a run: the one
// source of the console's picture, of explanations, and of replay.
//
// Events are appended in order, each chained to the one before by the hash of its
// salted payload digest, so that a removed, altered or reordered event is found and a
// payload can still be redacted. A [Store] keeps them; [Open] gives the SQLite one.
package journal

import (
	"context"
	"encoding/json"
	"time"
)

// Type says what an event records. The payload's Go type stands beside each.
type Type string

// The types of event.
const (
	RunStart    Type = "run.start"   // RunStarted
	TurnStart   Type = "turn.start"  // TurnStarted
	ModelReply  Type = "model.reply" // ModelReplied
	Decided     Type = "decision"    // DecisionMade
	CallStart   Type = "call.start"  // CallStarted
	CallResult  Type = "call.result" // CallEnded
	Approved    Type = "approval"    // ApprovalGiven
	Observation Type = "observation" // Observed
	Endorsed    Type = "endorsement" // EndorsementMade
	ProgramEnd  Type = "program.end" // ProgramEnded
	RunEnd      Type = "run.end"     // RunEnded
)

// Event is one entry of a run's journal.
type Event struct {
	Run     string          `json:"run"`
	Seq     int64           `json:"seq"` // from 1, without gaps
	Time    time.Time       `json:"time"`
	Type    Type            `json:"type"`
	Call    string          `json:"call,omitempty"` // the call's id, if it is about one
	Payload json.RawMessage `json:"payload"`

	Salt string `json:"salt"` // random, hex
	Hash string `json:"hash"` // sha256 over run, seq, time, type, call, the salted payload's digest and the previous hash, hex
}

// Store keeps runs. Implementations are safe for concurrent use; appends to one run are serialised by its [Run].
type Store interface {
	// Append stores events of a run that follow what is there. With sync it returns
	// once they are durable; either all are stored or none.
	Append(ctx context.Context, events []Event, sync bool) error
	// Read returns the events of a run with Seq ≥ from, in order.
	Read(ctx context.Context, run string, from int64) ([]Event, error)
	// Runs returns the runs, newest first, at most limit of them (0: all).
	Runs(ctx context.Context, limit int) ([]RunInfo, error)
	Close() error
}

// RunInfo is a line of the list of runs.
type RunInfo struct {
	ID     string    `json:"id"`
	Agent  string    `json:"agent"`
	Start  time.Time `json:"start"`
	End    time.Time `json:"end,omitzero"`
	Status string    `json:"status"` // "running" until it has a RunEnd
	Events int64     `json:"events"`
}
