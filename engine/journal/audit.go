package journal

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Problem names one thing in a journal that is not what was written.
type Problem struct {
	Run  string `json:"run,omitempty"`
	Seq  int64  `json:"seq,omitempty"`  // of an event of the run
	Line int64  `json:"line,omitempty"` // of the ledger
	What string `json:"what"`
}

func (p Problem) String() string {
	at := ""
	if p.Run != "" {
		at += "run " + p.Run + ": "
	}
	if p.Seq > 0 {
		at += fmt.Sprintf("event %d: ", p.Seq)
	}
	if p.Line > 0 {
		at += fmt.Sprintf("ledger line %d: ", p.Line)
	}
	return at + p.What
}

// Evidence is what a journal, or an export, is held against beside itself. The zero Evidence is none.
type Evidence struct {
	Key         ed25519.PublicKey // that checkpoints must be signed by; nil: none counts
	Checkpoints []Checkpoint      // that were kept elsewhere
}

// Report is what verifying found.
type Report struct {
	Runs     int       `json:"runs"`
	Events   int       `json:"events"`
	Lines    int       `json:"lines"`  // of the ledger
	Signed   int64     `json:"signed"` // the last line that a checkpoint covers; 0: none
	Problems []Problem `json:"problems"`
	Unknown  []string  `json:"unknown"` // what cannot be known, in words
}

// Audit verifies a whole journal: its ledger, that each run has the events that the ledger tells of and no run is
// there that it does not tell of, each run's chain, the list of runs, and checkpoints. Runs may go on meanwhile.
// The error says that it could not be read.
func Audit(ctx context.Context, s Store, e Evidence) (Report, error) {
	a := newAudit(e)
	a.whole = true
	infos, err := s.Runs(ctx, 0)
	if err != nil {
		return a.Report, err
	}
	ledger, err := s.Ledger(ctx, "")
	if err != nil {
		return a.Report, err
	}
	a.ledger(ledger.Lines)
	listed := map[string]RunInfo{}
	var ids []string
	for _, info := range slices.Backward(infos) {
		listed[info.ID] = info
		ids = append(ids, info.ID)
	}
	for _, l := range ledger.Lines {
		if _, ok := listed[l.Run]; !ok {
			listed[l.Run] = RunInfo{}
			ids = append(ids, l.Run)
		}
	}
	for _, id := range ids {
		if err := a.runOf(ctx, s, id, listed[id]); err != nil {
			return a.Report, err
		}
	}
	a.checkpoints(ledger)
	if c, ok := s.(interface {
		check(context.Context) ([]Problem, error)
	}); ok {
		more, err := c.check(ctx)
		if err != nil {
			return a.Report, err
		}
		a.Problems = append(a.Problems, more...)
	}
	return a.Report, nil
}

// AuditRun verifies one run of a journal, and what its ledger and checkpoints tell of it.
func AuditRun(ctx context.Context, s Store, run string, e Evidence) (Report, error) {
	a := newAudit(e)
	ledger, err := s.Ledger(ctx, run)
	if err != nil {
		return a.Report, err
	}
	a.ledger(ledger.Lines)
	if err := a.runOf(ctx, s, run, RunInfo{}); err != nil {
		return a.Report, err
	}
	a.checkpoints(ledger)
	return a.Report, nil
}

// AuditCopy verifies what [Import] has read, by itself.
func AuditCopy(events []Event, ledger Ledger, e Evidence) Report {
	a := newAudit(e)
	a.ledger(ledger.Lines)
	var ids []string
	runs, lines := map[string][]Event{}, map[string][]Line{}
	for _, l := range ledger.Lines {
		if lines[l.Run] == nil {
			ids = append(ids, l.Run)
		}
		lines[l.Run] = append(lines[l.Run], l)
	}
	for _, e := range events {
		if runs[e.Run] == nil && lines[e.Run] == nil {
			ids = append(ids, e.Run)
		}
		runs[e.Run] = append(runs[e.Run], e)
	}
	if len(ids) == 0 {
		a.add(Problem{What: "missing: there are no events"})
	}
	for _, id := range ids {
		a.run(id, lines[id], runs[id])
	}
	a.checkpoints(ledger)
	return a.Report
}

// audit is a report that is being made.
type audit struct {
	Report
	evidence Evidence
	whole    bool
	lines    map[int64]Line
	last     Line
	heads    map[Head]bool    // of events that a checkpoint tells of, and whether they are there
	pruned   map[string]int64 // runs that were taken out, and their last event
	open     int              // runs that have not ended
	signed   map[int64]bool   // lines that a checkpoint was signed over
}

func newAudit(e Evidence) *audit {
	return &audit{
		evidence: e, lines: map[int64]Line{}, heads: map[Head]bool{}, pruned: map[string]int64{}, signed: map[int64]bool{},
		Report: Report{Problems: []Problem{}, Unknown: []string{}},
	}
}

func (a *audit) add(p Problem) { a.Problems = append(a.Problems, p) }

func (a *audit) unknown(format string, args ...any) {
	a.Unknown = append(a.Unknown, fmt.Sprintf(format, args...))
}

// ledger checks lines against one another: all of a journal's, or some that follow in order.
func (a *audit) ledger(lines []Line) {
	a.Lines = len(lines)
	for _, l := range lines {
		switch before := a.last; {
		case a.whole && l.N > before.N+1:
			a.add(Problem{Line: before.N + 1, What: fmt.Sprintf("missing: line %d follows line %d", l.N, before.N)})
		case l.N <= before.N:
			a.add(Problem{Line: l.N, What: fmt.Sprintf("out of order: it follows line %d", before.N)})
		case l.N == before.N+1 && l.Prev != before.Hash:
			a.add(Problem{Line: l.N, What: fmt.Sprintf("altered, forged, or not what followed line %d", before.N)})
		}
		if l.hash() != l.Hash {
			a.add(Problem{Run: l.Run, Line: l.N, What: "altered: its hash does not match"})
		}
		a.lines[l.N], a.last = l, l
	}
}

// runOf checks a run of a store. While a run goes on, its lines are read before and after its events.
func (a *audit) runOf(ctx context.Context, s Store, id string, listed RunInfo) error {
	for {
		before, err := s.Ledger(ctx, id)
		if err != nil {
			return err
		}
		events, err := s.Read(ctx, id, 1)
		if err != nil {
			return err
		}
		after, err := s.Ledger(ctx, id)
		if err != nil {
			return err
		}
		if len(before.Lines) != len(after.Lines) {
			continue
		}
		a.run(id, after.Lines, events)
		if listed.ID != "" && len(events) > 0 {
			a.listed(listed, events)
		}
		return nil
	}
}

// run checks the events of a run against its lines of the ledger.
func (a *audit) run(id string, lines []Line, events []Event) {
	told := int64(0) // up to this event no end needs a line of its own
	begun, redacted := false, false
	ends := map[int64]bool{}
	var pruned *Line
	for i, l := range lines {
		switch l.Kind {
		case LineStart:
			begun, pruned = true, nil
		case LineFormer, LineImport:
			begun, redacted, told, pruned = true, true, max(told, l.Seq), nil
		case LineEnd:
			ends[l.Seq] = true
		case LineRedact:
			redacted = true
		case LinePrune:
			pruned = &lines[i]
		}
	}
	switch {
	case pruned != nil && len(events) > 0:
		a.add(Problem{Run: id, Line: pruned.N, What: "forged: it was taken out of the journal, and has events"})
		return
	case pruned != nil:
		a.pruned[id] = pruned.Seq
		return
	case len(events) == 0 && len(lines) > 0:
		a.add(Problem{Run: id, Line: lines[0].N, What: "removed: the ledger tells of the run, and it has no events"})
		return
	case len(events) == 0:
		a.add(Problem{Run: id, What: "missing: there is no such run"})
		return
	case !begun:
		a.add(Problem{Run: id, Seq: 1, What: "forged: no line of the ledger tells of the run"})
	}
	a.Runs++
	a.Events += len(events)
	if err := Verify(events); err != nil {
		if bad, ok := errors.AsType[*ChainError](err); ok {
			a.add(Problem{Run: id, Seq: bad.Seq, What: bad.What})
		} else {
			a.add(Problem{Run: id, Seq: 1, What: strings.TrimPrefix(err.Error(), "journal: run "+id+": ")})
		}
	}
	count := int64(len(events))
	for _, l := range lines {
		switch {
		case l.Seq > count:
			a.add(Problem{Run: id, Seq: count + 1, Line: l.N, What: fmt.Sprintf("cut off: the journal ends before event %d, which the ledger tells of", l.Seq)})
		case l.Seq < 1 || events[l.Seq-1].Hash != l.Head:
			a.add(Problem{Run: id, Seq: l.Seq, Line: l.N, What: "altered or written anew: the ledger has another hash of it"})
		}
	}
	for i, e := range events {
		a.heads[Head{id, int64(i + 1), e.Hash}] = true
		if e.Type == RunEnd && e.Seq > told && !ends[e.Seq] {
			a.add(Problem{Run: id, Seq: e.Seq, What: "forged: no line of the ledger tells of this end"})
		}
		if e.Redacted() && a.whole && !redacted {
			a.add(Problem{Run: id, Seq: e.Seq, What: "redacted, and no line of the ledger tells of it"})
		}
	}
	if events[count-1].Type != RunEnd {
		a.open++
	}
}

// listed checks a run's line in the list of runs, which was read before its events.
func (a *audit) listed(info RunInfo, events []Event) {
	want, err := RunInfo{}.follow(events[:min(info.Events, int64(len(events)))])
	if err != nil {
		return // its chain says why
	}
	if events[0].Redacted() {
		want.Agent = info.Agent
	}
	if want.Status == statusUnknown {
		want.Status = info.Status
	}
	switch {
	case want.Events < info.Events:
		a.add(Problem{Run: info.ID, Seq: want.Events + 1, What: fmt.Sprintf("cut off: the list of runs knows of %d events", info.Events)})
	case want.Head != info.Head:
		a.add(Problem{Run: info.ID, Seq: want.Events, What: "altered or written anew: the list of runs has another hash of it"})
	case want.Agent != info.Agent || !want.Start.Equal(info.Start) || !want.End.Equal(info.End) || want.Status != info.Status:
		a.add(Problem{Run: info.ID, What: "altered: the list of runs does not say what its events say"})
	}
}

// checkpoints checks what was signed.
func (a *audit) checkpoints(ledger Ledger) {
	if a.open > 0 {
		a.unknown("whether events are missing at the end of the runs that have not ended: %d", a.open)
	}
	if a.evidence.Key == nil {
		a.unknown("whether the journal was written anew by somebody who can write it: no key is known that checkpoints are signed by")
		return
	}
	for i, c := range ledger.Checkpoints {
		if i > 0 && c.Line <= ledger.Checkpoints[i-1].Line {
			a.add(Problem{Line: c.Line, What: "out of order: its checkpoint follows that of a later line, or of this one"})
		}
		a.checkpoint(c, true)
	}
	for _, c := range a.evidence.Checkpoints {
		a.checkpoint(c, false)
	}
	// In a journal a checkpoint covers all lines before it; a copy has gaps, and needs one for each run.
	closed := map[string]Line{}
	for _, l := range ledger.Lines {
		run := l.Run
		if a.whole {
			run = ""
		}
		if l.Kind != LineStart && l.Kind != LineFormer {
			closed[run] = l
		}
	}
	for _, l := range closed {
		if a.whole && l.N > a.Signed || !a.whole && !a.signed[l.N] {
			a.add(Problem{Run: l.Run, Line: l.N, What: "no checkpoint is signed over it: removed, or the journal was written anew"})
		}
	}
	if a.whole && len(a.evidence.Checkpoints) == 0 {
		a.unknown("whether the journal was put back to what it was at its last checkpoint, of line %d: only one that was kept elsewhere shows it", a.Signed)
	}
}

// checkpoint checks one that was signed: the journal's own, or one that was kept elsewhere.
func (a *audit) checkpoint(c Checkpoint, own bool) {
	if err := c.Check(a.evidence.Key); err != nil {
		a.add(Problem{Line: c.Line, What: strings.TrimPrefix(err.Error(), "journal: ")})
		return
	}
	at := c.Time.Format(time.RFC3339)
	l, ok := a.lines[c.Line]
	switch {
	case ok || c.Line == 0:
	case c.Line > a.last.N && a.whole:
		a.add(Problem{Line: c.Line, What: fmt.Sprintf("cut off: the ledger ends at line %d, and a checkpoint was signed over this one at %s", a.last.N, at)})
		return
	case a.whole || own:
		a.add(Problem{Line: c.Line, What: fmt.Sprintf("removed: a checkpoint was signed over it at %s", at)})
		return
	default: // it tells of other runs
		return
	}
	if ok && l.Hash != c.Hash {
		a.add(Problem{Line: c.Line, What: fmt.Sprintf("written anew: a checkpoint signed at %s has another hash of it: this line or one before it was altered, removed or put in", at)})
		return
	}
	a.Signed, a.signed[c.Line] = max(a.Signed, c.Line), true
	if !a.whole {
		return
	}
	for _, h := range c.Heads {
		if !a.heads[h] && a.pruned[h.Run] < h.Seq {
			a.add(Problem{Run: h.Run, Seq: h.Seq, What: fmt.Sprintf("removed, altered or written anew: a checkpoint signed at %s has another hash of it", at)})
		}
	}
}

// check looks for damage to the file, and for events of no run.
func (s *SQLite) check(ctx context.Context) (out []Problem, err error) {
	for _, q := range []struct{ sql, what string }{
		{"SELECT quick_check FROM pragma_quick_check WHERE quick_check <> 'ok'", "the file is damaged: %s"},
		{"SELECT DISTINCT 'number ' || (place >> 32) FROM events WHERE place >> 32 NOT IN (SELECT n FROM runs)", "removed: a run is not in the list of runs any more, and its events are: %s"},
		{"SELECT type || ' ' || name FROM sqlite_schema WHERE type = 'trigger' OR type = 'view' AND name <> 'journal'", "forged: no journal has a %s"},
	} {
		rows, err := s.db.QueryContext(ctx, q.sql)
		if err != nil {
			return nil, s.explain(err)
		}
		for rows.Next() {
			var what string
			if err := rows.Scan(&what); err != nil {
				rows.Close()
				return nil, s.explain(err)
			}
			out = append(out, Problem{What: fmt.Sprintf(q.what, strings.ReplaceAll(what, "\n", "; "))})
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return nil, s.explain(err)
		}
	}
	return out, nil
}
