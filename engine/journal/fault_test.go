//go:build unix

package journal

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sqlite3 "modernc.org/sqlite/lib"
)

// story is what a test has a journal record: two runs with calls, whose events are larger and smaller, and a checkpoint of
// the log in between. After each append it calls stored with how far the run is recorded, and whether that was synced.
func story(ctx context.Context, s *SQLite, stored func(run string, seq int64, synced bool)) error {
	for i, id := range []string{"one", "two"} {
		r, err := Begin(ctx, s, id, Options{})
		if err != nil {
			return err
		}
		put := func(sync bool, entries ...Entry) error {
			events, err := r.AppendAll(ctx, sync, entries...)
			if err == nil {
				stored(id, events[len(events)-1].Seq, sync)
			}
			return err
		}
		if err := put(true, Entry{RunStart, "", RunStarted{Agent: "faults"}}); err != nil {
			return err
		}
		for n := range 3 {
			call := fmt.Sprintf("1.%d", n+1)
			if err := put(false, Entry{TurnStart, "", TurnStarted{Turn: n, Program: strings.Repeat("x", n*3000)}}); err != nil {
				return err
			}
			if err := put(true, Entry{Decided, call, decisionOf(n)}, Entry{CallStart, call, CallStarted{Tool: "pay", Key: call}}); err != nil {
				return err
			}
			if err := put(true, Entry{CallResult, call, CallEnded{Tool: "pay", Text: strings.Repeat("y", 500)}}); err != nil {
				return err
			}
		}
		if i == 0 {
			if err := s.shrink(ctx); err != nil {
				return err
			}
		}
		if err := put(true, Entry{RunEnd, "", RunEnded{Status: StatusDone}}); err != nil {
			return err
		}
	}
	return nil
}

// TestEveryWriteMayFail has each write, truncation, sync and deletion of a journal's life fail, once or from then on: with a full disk or an
// error of the disk. The error says so, the run is dead, and what was recorded is there, in order, and can go on.
func TestEveryWriteMayFail(t *testing.T) {
	d := useDisk(t)
	run := func(path string) (stored map[string]int64, err error) {
		stored = map[string]int64{}
		s, err := open(path, lockWait, diskVFS)
		if err != nil {
			return stored, err
		}
		err = story(t.Context(), s, func(run string, seq int64, _ bool) { stored[run] = seq })
		return stored, errors.Join(err, s.Close())
	}
	if _, err := run(filepath.Join(t.TempDir(), "journal.db")); err != nil {
		t.Fatal(err)
	}
	count := len(d.trace)
	stride := 1
	if testing.Short() {
		stride = 19
	}
	failed := 0
	for n := 0; n < count; n += stride {
		for _, fault := range []struct {
			name  string
			stays bool
			code  map[string]int32
			want  string
		}{
			{"full", true, map[string]int32{"write": sqlite3.SQLITE_FULL}, "the disk is full: make room"},
			{"failing once", false, map[string]int32{"write": sqlite3.SQLITE_IOERR_WRITE, "sync": sqlite3.SQLITE_IOERR_FSYNC, "truncate": sqlite3.SQLITE_IOERR_TRUNCATE, "delete": sqlite3.SQLITE_IOERR_DELETE}, "the disk failed"},
			{"failing", true, map[string]int32{"write": sqlite3.SQLITE_IOERR_WRITE, "sync": sqlite3.SQLITE_IOERR_FSYNC, "truncate": sqlite3.SQLITE_IOERR_TRUNCATE, "delete": sqlite3.SQLITE_IOERR_DELETE}, "the disk failed"},
		} {
			d.trace = nil
			d.fail = func(i int, op diskOp) int32 {
				if i == n || fault.stays && i > n {
					return fault.code[op.what]
				}
				return sqlite3.SQLITE_OK
			}
			path := filepath.Join(t.TempDir(), "journal.db")
			stored, err := run(path)
			d.fail = nil
			if err != nil {
				failed++
			}
			if err != nil && !strings.Contains(err.Error(), fault.want) {
				t.Errorf("%s at %d: got %v, want that %s", fault.name, n, err, fault.want)
			}
			s, err := Open(path)
			if err != nil {
				t.Fatalf("%s at %d: afterwards: %v", fault.name, n, err)
			}
			inOrder(t, fmt.Sprintf("%s at %d", fault.name, n), s, stored)
			// What held the runs is this process, which could not give them up: another one would find it gone.
			if _, err := s.conn.ExecContext(t.Context(), "DELETE FROM claims"); err != nil {
				t.Fatal(err)
			}
			for id := range stored {
				r, _, err := Resume(t.Context(), s, id, Options{})
				if errors.Is(err, ErrEnded) {
					continue
				}
				if err == nil {
					_, err = r.Append(t.Context(), RunEnd, "", RunEnded{Status: StatusDone}, true)
				}
				if err != nil {
					t.Errorf("%s at %d: going on with %s: %v", fault.name, n, id, err)
				}
			}
			inOrder(t, fmt.Sprintf("%s at %d, gone on with", fault.name, n), s, stored)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if failed < count/stride {
		t.Errorf("only %d of %d faults at %d places were noticed", failed, 3*count/stride, count)
	}
}

// inOrder checks that a journal verifies and has what was recorded.
func inOrder(t *testing.T, when string, s *SQLite, stored map[string]int64) {
	t.Helper()
	var e Evidence
	if key, err := s.PublicKey(); err == nil {
		e.Key = key
	}
	report, err := Audit(t.Context(), s, e)
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("%s: %q, %v", when, report.Problems, err)
	}
	for id, seq := range stored {
		if events, err := s.Read(t.Context(), id, 1); err != nil || int64(len(events)) < seq {
			t.Errorf("%s: run %s has %d events, %v; want at least %d", when, id, len(events), err, seq)
		}
	}
}

// TestAPowerCutAtEveryWrite rebuilds from the trace of a journal's life what a power cut would leave after each part of it. What was
// synced is there; of what was asked of a file since it was synced, nothing, all, the last, or any part may be, and what was under way may be torn.
func TestAPowerCutAtEveryWrite(t *testing.T) {
	d := useDisk(t)
	path := filepath.Join(t.TempDir(), "journal.db")
	s, err := open(path, lockWait, diskVFS)
	if err != nil {
		t.Fatal(err)
	}
	type mark struct {
		after int // so much of the trace
		run   string
		seq   int64
	}
	var marks []mark
	err = story(t.Context(), s, func(run string, seq int64, synced bool) {
		if synced {
			marks = append(marks, mark{len(d.trace), run, seq})
		}
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(keyFile(path))
	if err != nil {
		t.Fatal(err)
	}
	stride := 1
	if testing.Short() {
		stride = 9
	}
	durable, pending := image{}, []diskOp{}
	r := rand.New(rand.NewPCG(5, 6))
	lost, cuts := 0, 0
	for k, op := range d.trace {
		switch {
		case op.what == "sync":
			var rest []diskOp
			for _, p := range pending {
				if p.file == op.file {
					durable.apply(p, len(p.data))
				} else {
					rest = append(rest, p)
				}
			}
			pending = rest
		case op.what == "delete" && op.at != 0:
			durable.apply(op, 0)
		default:
			pending = append(pending, op)
		}
		if k%stride > 0 {
			continue
		}
		for _, part := range []string{"nothing", "all", "the last", "any"} {
			left := durable.clone()
			for i, p := range pending {
				last := i == len(pending)-1
				switch {
				case part == "nothing", part == "the last" && !last, part == "any" && r.IntN(2) == 0:
				case last && part != "all":
					left.apply(p, r.IntN(len(p.data)+1))
				default:
					left.apply(p, len(p.data))
				}
			}
			when := fmt.Sprintf("cut after %d of %d, with %s of what was not synced", k+1, len(d.trace), part)
			dir := t.TempDir()
			for name, data := range left {
				if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			file := filepath.Join(dir, "journal.db")
			if err := os.WriteFile(keyFile(file), key, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(file)
			if err != nil {
				t.Fatalf("%s: %v", when, err)
			}
			synced := map[string]int64{}
			for _, m := range marks {
				if m.after <= k+1 {
					synced[m.run] = m.seq
				}
			}
			inOrder(t, when, s, synced)
			infos, err := s.Runs(t.Context(), 0)
			if err := errors.Join(err, s.Close()); err != nil {
				t.Errorf("%s: %v", when, err)
			}
			cuts++
			for _, info := range infos {
				if info.Events == synced[info.ID] {
					lost++
				}
			}
		}
	}
	if lost == 0 {
		t.Errorf("of %d cuts none left the synced events alone: is anything lost at all?", cuts)
	}
	t.Logf("%d cuts of a trace of %d", cuts, len(d.trace))
}
