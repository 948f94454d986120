package journal

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// history fills a store: r1 has ended, r2 waited and has ended, r3 goes on, r4 has ended.
func history(t testing.TB, s Store) {
	t.Helper()
	put := func(r *Run, entries ...Entry) {
		if _, err := r.AppendAll(t.Context(), true, entries...); err != nil {
			t.Fatal(err)
		}
	}
	call := Entry{Decided, "1.1", decisionOf(1)}
	done, waits := Entry{RunEnd, "", RunEnded{Status: StatusDone}}, Entry{RunEnd, "", RunEnded{Status: StatusWaiting}}
	put(beginTest(t, s, "r1"), call, call, done)
	put(beginTest(t, s, "r2"), call, waits)
	r3 := beginTest(t, s, "r3")
	put(r3, call, call)
	r2, _, err := Resume(t.Context(), s, "r2", Options{})
	if err != nil {
		t.Fatal(err)
	}
	put(r2, call, done)
	put(beginTest(t, s, "r4"), call, done)
	if err := r3.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRunsAreChainedInTheLedger(t *testing.T) {
	for _, store := range stores {
		t.Run(store.name, func(t *testing.T) {
			s := store.open(t)
			history(t, s)
			ledger, err := s.Ledger(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range ledger.Lines {
				got = append(got, string(l.Kind)+" "+l.Run)
			}
			want := []string{"start r1", "end r1", "start r2", "end r2", "start r3", "end r2", "start r4", "end r4"}
			if !slices.Equal(got, want) {
				t.Errorf("got lines %q, want %q", got, want)
			}
			if of, err := s.Ledger(t.Context(), "r2"); err != nil || len(of.Lines) != 3 {
				t.Errorf("lines of r2: %v, %v; want 3", of.Lines, err)
			}
			report, err := Audit(t.Context(), s, Evidence{})
			if err != nil || len(report.Problems) > 0 || report.Runs != 4 || report.Events != 15 || report.Lines != 8 {
				t.Errorf("Audit = %+v, %v; want 4 runs, 15 events and 8 lines in order", report, err)
			}
			unknown := strings.Join(report.Unknown, "\n")
			if !strings.Contains(unknown, "at the end of the runs that have not ended: 1") || !strings.Contains(unknown, "no key is known") {
				t.Errorf("unknown: %q", unknown)
			}
		})
	}
}

// asKeyed returns what a journal is held against: its own key.
func asKeyed(t testing.TB, s *SQLite, kept ...Checkpoint) Evidence {
	t.Helper()
	key, err := s.PublicKey()
	if err != nil || key == nil {
		t.Fatalf("PublicKey = %v, %v", key, err)
	}
	return Evidence{Key: key, Checkpoints: kept}
}

// rechain writes the ledger anew so that it verifies by itself, as somebody would who can write the file but has no key.
const rechain = "rechain"

func TestWhatWasDoneToAJournalIsFoundAndNamed(t *testing.T) {
	for _, test := range []struct {
		name string
		do   []string
		want []string // in the problems, in order; the last may be a beginning of more
	}{
		{"nothing", nil, nil},
		{"a run removed", []string{"DELETE FROM events WHERE place >> 32 = 1", "DELETE FROM runs WHERE n = 1"}, []string{"run r1: ledger line 1: removed: the ledger tells of the run"}},
		{"a run's line in the list removed", []string{"DELETE FROM runs WHERE n = 1"}, []string{"run r1: ledger line 1: removed", "its events are: number 1"}},
		{"a run and its lines removed", []string{"DELETE FROM events WHERE place >> 32 = 1", "DELETE FROM runs WHERE n = 1", "DELETE FROM ledger WHERE run = 'r1'"}, []string{
			"ledger line 1: missing: line 3 follows line 0", "ledger line 2: removed: a checkpoint was signed over it at "}},
		{"a run removed and the ledger written anew", []string{"DELETE FROM events WHERE place >> 32 = 1", "DELETE FROM runs WHERE n = 1", "DELETE FROM ledger WHERE run = 'r1'", rechain}, []string{
			"ledger line 2: written anew: a checkpoint signed at "}},
		{"the ledger and all checkpoints removed", []string{"DELETE FROM ledger", "DELETE FROM checkpoints"}, []string{
			"run r1: event 1: forged: no line of the ledger tells of the run", "run r1: event 4: forged: no line of the ledger tells of this end"}},
		{"all checkpoints removed", []string{"DELETE FROM checkpoints"}, []string{"run r4: ledger line 8: no checkpoint is signed over it"}},
		{"the last checkpoint removed", []string{"DELETE FROM checkpoints WHERE line = 8"}, []string{"run r4: ledger line 8: no checkpoint is signed over it"}},
		{"an event removed", []string{"DELETE FROM events WHERE place = (1 << 32) + 2"}, []string{"run r1: event 2: missing: event 3 stands in its place", "run r1: event 4: ledger line 2: cut off"}},
		{"an event altered", []string{"UPDATE events SET payload = CAST(replace(payload, 'bob', 'eve') AS BLOB) WHERE place = (1 << 32) + 2"}, []string{"run r1: event 2: altered: the payload does not match its digest"}},
		{"an event's call altered", []string{"UPDATE events SET call = '1.2' WHERE place = (2 << 32) + 2"}, []string{"run r2: event 2: altered, forged, or not what followed event 1"}},
		{"an event's time altered", []string{"UPDATE events SET time = '2026-01-01T00:00:00Z' WHERE place = (2 << 32) + 2"}, []string{"run r2: event 2: altered, forged, or not what followed event 1"}},
		{"two events exchanged", []string{"UPDATE events SET place = 0 WHERE place = (1 << 32) + 2", "UPDATE events SET place = (1 << 32) + 2 WHERE place = (1 << 32) + 3", "UPDATE events SET place = (1 << 32) + 3 WHERE place = 0"}, []string{"run r1: event 2: altered, forged"}},
		{"the end of a run cut off", []string{"DELETE FROM events WHERE place = (1 << 32) + 4"}, []string{"run r1: event 4: ledger line 2: cut off: the journal ends before event 4", "run r1: event 4: cut off: the list of runs knows of 4 events"}},
		{"the end of a run cut off, and of its line in the list", []string{"DELETE FROM events WHERE place = (4 << 32) + 3", "UPDATE runs SET events = 2, status = 'running', end = '', head = (SELECT hash FROM events WHERE place = (4 << 32) + 2) WHERE n = 4"}, []string{"run r4: event 3: ledger line 8: cut off"}},
		{"the end of a run under way cut off", []string{"DELETE FROM events WHERE place = (3 << 32) + 3", "UPDATE runs SET events = 2, head = (SELECT hash FROM events WHERE place = (3 << 32) + 2) WHERE n = 3"}, []string{"run r3: event 3: removed, altered or written anew: a checkpoint signed at "}},
		{"a run's status altered", []string{"UPDATE runs SET status = 'failed' WHERE n = 1"}, []string{"run r1: altered: the list of runs does not say what its events say"}},
		{"a run's agent altered", []string{"UPDATE runs SET agent = 'x' WHERE n = 1"}, []string{"run r1: altered: the list of runs does not say what its events say"}},
		{"a payload taken out", []string{"UPDATE events SET payload = NULL, salt = '' WHERE place = (1 << 32) + 2"}, []string{"run r1: event 2: redacted, and no line of the ledger tells of it"}},
		{"what forgets payments", []string{"CREATE TRIGGER t AFTER INSERT ON accounts BEGIN DELETE FROM accounts; END"}, []string{"forged: no journal has a trigger t"}},
		{"a table replaced", []string{"ALTER TABLE claims RENAME TO kept", "CREATE VIEW claims AS SELECT * FROM kept WHERE 0"}, []string{"forged: no journal has a view claims"}},
		{"a line of the ledger altered", []string{"UPDATE ledger SET run = 'r9' WHERE n = 3"}, []string{"run r9: ledger line 3: altered: its hash does not match"}},
		{"a line of the ledger removed", []string{"DELETE FROM ledger WHERE n = 5"}, []string{"ledger line 5: missing: line 6 follows line 4", "run r3: event 1: forged: no line of the ledger tells of the run"}},
		{"the end of the ledger cut off", []string{"DELETE FROM ledger WHERE n = 8"}, []string{"run r4: event 3: forged: no line of the ledger tells of this end", "ledger line 8: cut off: the ledger ends at line 7"}},
		{"two lines of the ledger exchanged", []string{"UPDATE ledger SET n = 0 WHERE n = 2", "UPDATE ledger SET n = 2 WHERE n = 3", "UPDATE ledger SET n = 3 WHERE n = 0"}, []string{"ledger line 2: altered, forged, or not what followed line 1"}},
		{"a line of the ledger forged", []string{"INSERT INTO ledger SELECT 9, 'prune', 'r1', 4, head, time, hash, hash FROM ledger WHERE n = 8"}, []string{"run r1: ledger line 9: altered: its hash does not match", "run r1: ledger line 9: forged: it was taken out of the journal, and has events"}},
		{"a checkpoint altered", []string{"UPDATE checkpoints SET time = '2026-01-01T00:00:00Z' WHERE line = 8"}, []string{"ledger line 8: checkpoint of line 8: altered or forged: its signature does not match"}},
		{"a checkpoint of another key", []string{"UPDATE checkpoints SET key = 'ed25519:00' WHERE line = 8"}, []string{"ledger line 8: checkpoint of line 8: signed by another key: got ed25519:00"}},
		{"the heads of a checkpoint altered", []string{`UPDATE checkpoints SET heads = '[{"run":"r3","seq":1,"hash":"00"}]' WHERE line = 8`}, []string{"checkpoint of line 8: altered: the runs under way do not match their digest"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := openTest(t)
			history(t, s)
			evidence := asKeyed(t, s)
			for _, text := range test.do {
				if text == rechain {
					rechainLedger(t, s)
					continue
				}
				if _, err := s.conn.ExecContext(t.Context(), text); err != nil {
					t.Fatal(err)
				}
			}
			report, err := Audit(t.Context(), s, evidence)
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Problems) < len(test.want) || len(test.want) == 0 && len(report.Problems) > 0 {
				t.Fatalf("got %q, want %q", report.Problems, test.want)
			}
			for _, want := range test.want {
				if !slices.ContainsFunc(report.Problems, func(p Problem) bool { return strings.Contains(p.String(), want) }) {
					t.Errorf("got %q, want one with %q", report.Problems, want)
				}
			}
		})
	}
}

func rechainLedger(t *testing.T, s *SQLite) {
	t.Helper()
	old, err := s.Ledger(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.conn.ExecContext(t.Context(), "DELETE FROM ledger"); err != nil {
		t.Fatal(err)
	}
	var last Line
	for _, l := range old.Lines {
		last = last.follow(l.Kind, l.Run, l.Seq, l.Head, l.Time)
		if err := s.enterLine(t.Context(), last); err != nil {
			t.Fatal(err)
		}
	}
}

// Who can write the file can put back all of it, checkpoints too: one that was kept elsewhere shows it.
func TestACheckpointKeptElsewhereShowsAJournalPutBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	history(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if s, err = Open(path); err != nil {
		t.Fatal(err)
	}
	if _, err := beginTest(t, s, "r5").Append(t.Context(), RunEnd, "", RunEnded{Status: StatusDone}, true); err != nil {
		t.Fatal(err)
	}
	kept, err := s.Checkpoint(t.Context(), time.Now())
	if err != nil || kept.Line != 10 || len(kept.Heads) != 1 || kept.Heads[0].Run != "r3" {
		t.Fatalf("Checkpoint = %+v, %v; want line 10 and the head of r3", kept, err)
	}
	if report, err := Audit(t.Context(), s, asKeyed(t, s, kept)); err != nil || len(report.Problems) > 0 || report.Signed != 10 {
		t.Errorf("Audit = %+v, %v; want it in order", report, err)
	}
	if err := errors.Join(s.Close(), os.WriteFile(path, before, 0o600)); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(path); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	report, err := Audit(t.Context(), s, asKeyed(t, s))
	if err != nil || len(report.Problems) > 0 || !strings.Contains(strings.Join(report.Unknown, "\n"), "put back to what it was at its last checkpoint, of line 8") {
		t.Errorf("without it: %+v, %v; want that it cannot be known", report, err)
	}
	report, err = Audit(t.Context(), s, asKeyed(t, s, kept))
	if err != nil || len(report.Problems) != 1 || !strings.Contains(report.Problems[0].String(), "ledger line 10: cut off: the ledger ends at line 8") {
		t.Errorf("with it: %q, %v; want that the end is cut off", report.Problems, err)
	}
	forged := kept
	forged.Line = 8
	report, err = Audit(t.Context(), s, asKeyed(t, s, forged))
	if err != nil || len(report.Problems) != 1 || !strings.Contains(report.Problems[0].String(), "its signature does not match") {
		t.Errorf("with a forged one: %q, %v", report.Problems, err)
	}
}

func TestTheKeyIsMadeOnceAndForItsOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if key, err := s.PublicKey(); key != nil || err != nil {
		t.Errorf("PublicKey = %v, %v; want none before something is signed", key, err)
	}
	beginTest(t, s, "x")
	info, err := os.Stat(path + ".key")
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want mode 0600", info.Mode(), err)
	}
	first, err := s.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := makeKey(path + ".key"); err != nil {
		t.Fatal(err)
	}
	if second, err := s.PublicKey(); err != nil || !first.Equal(second) {
		t.Errorf("%v, %v: the key was made anew", second, err)
	}
	if again, err := ParseKey([]byte(KeyText(first) + "\n")); err != nil || !again.Equal(first) {
		t.Errorf("ParseKey(KeyText) = %v, %v", again, err)
	}
	for _, bad := range []string{"", "ed25519:", "ed25519:00", "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n"} {
		if _, err := ParseKey([]byte(bad)); err == nil {
			t.Errorf("ParseKey(%q) gives no error", bad)
		}
	}
	if left, err := filepath.Glob(path + ".key-*"); err != nil || len(left) > 0 {
		t.Errorf("left over: %q, %v", left, err)
	}
	// A run that could not be signed at its end does not begin.
	if err := os.WriteFile(path+".key", []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	other, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	r, err := Begin(t.Context(), other, "y", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Append(t.Context(), RunStart, "", RunStarted{}, true); err == nil || !strings.Contains(err.Error(), "no ed25519 key in PEM: restore it") {
		t.Errorf("got %v, want what is the matter with the key", err)
	}
}

// A journal of the former version is migrated in place, by one of all who open it.
func TestAJournalOfVersion1IsMigrated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	former, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = former.Exec("PRAGMA application_id = 0x43474a4c; PRAGMA user_version = 1; PRAGMA journal_mode = WAL;" + runsSQL)
	if err != nil {
		t.Fatal(err)
	}
	m := NewMemory()
	history(t, m)
	infos, err := m.Runs(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(infos)
	for n, info := range infos {
		if _, err := former.Exec("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", n+1, info.ID, info.Agent, timeText(info.Start), timeText(info.End), info.Status, info.Events, info.Head); err != nil {
			t.Fatal(err)
		}
		for _, e := range m.events[info.ID] {
			if _, err := former.Exec(statements["event"], place(int64(n+1), e.Seq), timeText(e.Time), string(e.Type), e.Call, []byte(e.Payload), e.Salt, e.Digest, e.Hash); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := former.Close(); err != nil {
		t.Fatal(err)
	}
	var opened [3]*SQLite
	errs := make(chan error, len(opened))
	for i := range opened {
		go func() { s, err := Open(path); opened[i] = s; errs <- err }()
	}
	for range opened {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range opened {
		defer s.Close()
	}
	s := opened[0]
	ledger, err := s.Ledger(t.Context(), "")
	if err != nil || len(ledger.Lines) != 4 || ledger.Lines[2].Kind != LineFormer || ledger.Lines[2].Seq != 3 {
		t.Fatalf("Ledger = %+v, %v; want a line for each of 4 runs", ledger.Lines, err)
	}
	r3, events, err := Resume(t.Context(), s, "r3", Options{})
	if err != nil || len(events) != 3 {
		t.Fatalf("%d events, %v; want 3", len(events), err)
	}
	if _, err := r3.Append(t.Context(), RunEnd, "", RunEnded{Status: StatusDone}, true); err != nil {
		t.Fatal(err)
	}
	report, err := Audit(t.Context(), s, asKeyed(t, s))
	if err != nil || len(report.Problems) > 0 || report.Events != 16 || report.Signed != 5 {
		t.Errorf("Audit = %+v, %v; want 16 events in order, signed up to line 5", report, err)
	}
}
