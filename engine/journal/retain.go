package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Retention says which runs go. The zero Retention lets all of them stay.
type Retention struct {
	Keep     time.Duration // runs that ended longer ago go; 0: none for their age
	MaxSize  int64         // while the journal holds more bytes, the runs that ended first go; 0: none for the size
	Payloads bool          // of those, the payloads go only: what happened when stays, and its proof
	DryRun   bool          // nothing is done but to say which
}

// Pruned is what [SQLite.Prune] took out.
type Pruned struct {
	Runs   []RunInfo `json:"runs"`
	Before int64     `json:"before"` // bytes that the journal held
	After  int64     `json:"after"`
}

// prunedAtOnce is how many runs are taken out in one transaction: others can append between two of them.
const prunedAtOnce = 16

// Prune takes runs out of the journal, the first that ended first. Only runs that have ended go: none that is under way or
// waits, and nothing that people have said. The ledger keeps that they were there and what their last hash was, under a new
// checkpoint; what they held is overwritten, and the file shrinks.
func (s *SQLite) Prune(ctx context.Context, r Retention, now time.Time) (out Pruned, err error) {
	infos, err := s.Runs(ctx, 0)
	if err != nil {
		return out, err
	}
	if out.Before, err = s.held(ctx); err != nil {
		return out, err
	}
	out.After, out.Runs = out.Before, []RunInfo{}
	infos = slices.DeleteFunc(infos, func(i RunInfo) bool {
		return i.End.IsZero() || i.Status == StatusWaiting || i.Holder != nil || i.ID == DeskRun
	})
	slices.SortStableFunc(infos, func(a, b RunInfo) int { return cmp.Or(a.End.Compare(b.End), cmp.Compare(a.ID, b.ID)) })
	for len(infos) > 0 {
		var some []RunInfo
		freed := int64(0)
		for len(infos) > 0 && len(some) < prunedAtOnce {
			i := infos[0]
			tooOld, tooMuch := r.Keep > 0 && i.End.Before(now.Add(-r.Keep)), r.MaxSize > 0 && out.After-freed > r.MaxSize
			if !tooOld && !tooMuch {
				infos = nil
				break
			}
			size, done, err := s.holds(ctx, i.ID)
			if err != nil {
				return out, err
			}
			infos = infos[1:]
			if r.Payloads && done {
				continue
			}
			some, freed = append(some, i), freed+size
		}
		if len(some) == 0 {
			break
		}
		if !r.DryRun {
			if err := s.take(ctx, &appending{sync: true, do: func(ctx context.Context) error { return s.prune(ctx, some, r.Payloads, now) }}); err != nil {
				return out, err
			}
		}
		out.Runs = append(out.Runs, some...)
		out.After -= freed
	}
	if r.DryRun || len(out.Runs) == 0 {
		return out, nil
	}
	if err := s.shrink(ctx); err != nil {
		return out, err
	}
	out.After, err = s.held(ctx)
	return out, err
}

// prune takes runs or their payloads out, in the transaction that was begun.
func (s *SQLite) prune(ctx context.Context, runs []RunInfo, payloads bool, now time.Time) error {
	if _, err := s.conn.ExecContext(ctx, "PRAGMA secure_delete = ON"); err != nil {
		return err
	}
	last, err := s.tail(ctx)
	if err != nil {
		return err
	}
	kind := LinePrune
	if payloads {
		kind = LineRedact
	}
	for _, r := range runs {
		delete(s.runs, r.ID)
		run, err := s.known(ctx, r.ID)
		if err != nil {
			return err
		}
		if run.n == 0 || run.info.Head != r.Head { // somebody else was quicker
			continue
		}
		first, end := place(run.n, 1), place(run.n+1, 0)
		do := []struct {
			sql  string
			args []any
		}{{"UPDATE events SET payload = NULL, salt = '' WHERE place >= ? AND place < ?", []any{first, end}}}
		if !payloads {
			delete(s.runs, r.ID)
			do[0].sql = "DELETE FROM events WHERE place >= ? AND place < ?"
			do = append(do, do[0], do[0])
			do[1].sql, do[1].args = "DELETE FROM runs WHERE n = ?", []any{run.n}
			do[2].sql, do[2].args = "DELETE FROM checkpoints WHERE line IN (SELECT n FROM ledger WHERE run = ?)", []any{r.ID}
		}
		for _, d := range do {
			if _, err := s.conn.ExecContext(ctx, d.sql, d.args...); err != nil {
				return err
			}
		}
		last = last.follow(kind, r.ID, r.Events, r.Head, now)
		if err := s.enterLine(ctx, last); err != nil {
			return err
		}
	}
	_, err = s.checkpoint(ctx, last, now)
	return err
}

// held returns how many bytes of the file hold something.
func (s *SQLite) held(ctx context.Context) (n int64, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size").Scan(&n)
	if err != nil {
		return 0, s.explain(err)
	}
	return n, nil
}

// holds returns about how many bytes the payloads of a run take, and whether none is left.
func (s *SQLite) holds(ctx context.Context, run string) (n int64, redacted bool, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT ifnull(sum(length(payload)), 0) + 300 * count(*), ifnull(max(salt), '') = ''
		FROM runs JOIN events ON place BETWEEN (n << 32) + 1 AND (n << 32) + 4294967295 WHERE id = ?`, run).Scan(&n, &redacted)
	if err != nil {
		return 0, false, s.explain(err)
	}
	return n, redacted, nil
}

// shrink gives free pages back to the disk. A file of version 1 cannot, and is written anew.
func (s *SQLite) shrink(ctx context.Context) error {
	return s.take(ctx, &appending{alone: true, do: func(ctx context.Context) error {
		var mode int
		err := s.conn.QueryRowContext(ctx, "PRAGMA auto_vacuum").Scan(&mode)
		text := "PRAGMA incremental_vacuum"
		if mode == 0 {
			text = "PRAGMA auto_vacuum = INCREMENTAL; VACUUM"
		}
		if err == nil {
			_, err = s.conn.ExecContext(ctx, text)
		}
		if err == nil { // readers may be in its way: the log is cut once they are gone
			err = s.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(new(int), new(int), new(int))
		}
		return err
	}})
}

// Import stores a run that another journal has exported, after verifying its chain. The ledger says that it was imported. A
// run that is there already is an [ErrConflict].
func (s *SQLite) Import(ctx context.Context, events []Event) error {
	if err := Verify(events); err != nil {
		return err
	}
	if run := events[0].Run; checkID(run) != nil || run == DeskRun {
		return fmt.Errorf("journal: run %q: cannot be imported under this id", run)
	}
	err := s.take(ctx, &appending{events: events, imported: true, sync: true})
	if errors.Is(err, ErrConflict) {
		return &thereError{s.path, events[0].Run}
	}
	return err
}

// thereError is the [ErrConflict] of a run that is imported where it is.
type thereError struct{ file, run string }

func (e *thereError) Error() string {
	return fmt.Sprintf("journal: %s: run %s is there already: it is not imported again", e.file, e.run)
}

func (e *thereError) Is(target error) bool { return target == ErrConflict }
