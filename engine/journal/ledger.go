package journal

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// LineKind says what a line of the ledger tells of.
type LineKind string

// The kinds of line.
const (
	LineStart  LineKind = "start"  // a run began: Seq is 1
	LineEnd    LineKind = "end"    // a run ended or waits: Seq is that of its RunEnd
	LineFormer LineKind = "former" // a run that was there before there was a ledger
	LineImport LineKind = "import" // a run that was imported as a whole
	LinePrune  LineKind = "prune"  // a run was taken out; Seq and Head were its last
	LineRedact LineKind = "redact" // the payloads of a run were taken out
)

// Line is one line of a journal's ledger, which chains the runs to one another. Who takes a run out of the journal, or
// events off its end, contradicts a line.
type Line struct {
	N    int64     `json:"line"` // from 1, without gaps
	Kind LineKind  `json:"kind"`
	Run  string    `json:"run"`
	Seq  int64     `json:"seq"`  // of an event of the run
	Head string    `json:"head"` // its hash, hex
	Time time.Time `json:"time"` // UTC
	Prev string    `json:"prev"` // the hash of the line before, hex; "" of the first
	Hash string    `json:"hash"` // sha256 over all the other fields, hex
}

// Ledger is the lines of a journal, or some of them, and what was signed over them.
type Ledger struct {
	Lines       []Line
	Checkpoints []Checkpoint // in the order of their lines
}

// hash returns what a line's Hash must be.
func (l Line) hash() string {
	return hashParts("callgate ledger 1", l.Prev, strconv.FormatInt(l.N, 10), string(l.Kind), l.Run, strconv.FormatInt(l.Seq, 10), l.Head, timeText(l.Time))
}

// follow returns the line that follows l.
func (l Line) follow(kind LineKind, run string, seq int64, head string, at time.Time) Line {
	next := Line{N: l.N + 1, Kind: kind, Run: run, Seq: seq, Head: head, Time: at.UTC().Round(0), Prev: l.Hash}
	next.Hash = next.hash()
	return next
}

// linesOf returns the lines that follow last when events are appended: one for a beginning and for each end, or, if
// a whole run is imported, one for that.
func linesOf(last Line, events []Event, imported bool) []Line {
	var out []Line
	enter := func(kind LineKind, e Event) {
		last = last.follow(kind, e.Run, e.Seq, e.Hash, e.Time)
		out = append(out, last)
	}
	if imported {
		enter(LineImport, events[len(events)-1])
		return out
	}
	for _, e := range events {
		switch {
		case e.Seq == 1:
			enter(LineStart, e)
		case e.Type == RunEnd:
			enter(LineEnd, e)
		}
	}
	return out
}

// hashParts hashes parts, each preceded by its length, in hex.
func hashParts(parts ...string) string {
	b := make([]byte, 0, 320)
	for _, part := range parts {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Ledger implements [Store]. What lives as long as the process has no checkpoints.
func (m *Memory) Ledger(ctx context.Context, run string) (Ledger, error) {
	if err := ctx.Err(); err != nil {
		return Ledger{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var out Ledger
	for _, l := range m.ledger {
		if run == "" || l.Run == run {
			out.Lines = append(out.Lines, l)
		}
	}
	return out, nil
}

// enter writes the lines for events that were inserted, and a checkpoint if a run has ended, into the transaction that was begun.
func (s *SQLite) enter(ctx context.Context, events []Event, imported bool) error {
	first, last := events[0], events[len(events)-1]
	if first.Seq > 1 && last.Type != RunEnd {
		return nil
	}
	if first.Seq == 1 { // before anything is done: a run that could not be signed at its end should not begin
		if err := s.loadKey(); err != nil {
			return err
		}
	}
	tail, err := s.tail(ctx)
	if err != nil {
		return err
	}
	lines := linesOf(tail, events, imported)
	for _, l := range lines {
		if err := s.enterLine(ctx, l); err != nil {
			return err
		}
	}
	if last.Type != RunEnd && !imported || len(lines) == 0 {
		return nil
	}
	_, err = s.checkpoint(ctx, lines[len(lines)-1], last.Time)
	return err
}

// tail returns the last line of the ledger, or the zero Line.
func (s *SQLite) tail(ctx context.Context) (l Line, err error) {
	err = s.stmt["tail"].QueryRowContext(ctx).Scan(&l.N, &l.Hash)
	if errors.Is(err, sql.ErrNoRows) {
		return Line{}, nil
	}
	return l, err
}

func (s *SQLite) enterLine(ctx context.Context, l Line) error {
	return s.exec(ctx, "line", l.N, string(l.Kind), l.Run, l.Seq, l.Head, timeText(l.Time), l.Prev, l.Hash)
}

// Ledger implements [Store].
func (s *SQLite) Ledger(ctx context.Context, run string) (out Ledger, err error) {
	rows, err := s.db.QueryContext(ctx, "SELECT n, kind, run, seq, head, time, prev, hash FROM ledger WHERE ?1 = '' OR run = ?1 ORDER BY n", run)
	if err != nil {
		return out, s.explain(err)
	}
	defer rows.Close()
	for rows.Next() {
		var l Line
		var at string
		if err := rows.Scan(&l.N, &l.Kind, &l.Run, &l.Seq, &l.Head, &at, &l.Prev, &l.Hash); err != nil {
			return out, s.explain(err)
		}
		if l.Time, err = parseTime(at); err != nil {
			return out, fmt.Errorf("journal: %s: line %d of the ledger: %w", s.path, l.N, err)
		}
		out.Lines = append(out.Lines, l)
	}
	if err := rows.Err(); err != nil {
		return out, s.explain(err)
	}
	out.Checkpoints, err = s.checkpoints(ctx, run)
	return out, err
}
