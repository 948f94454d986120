package journal

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/engine/label"
)

func TestOpenRefuses(t *testing.T) {
	other := func(t *testing.T, statements string) string {
		path := filepath.Join(t.TempDir(), "other.db")
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec(statements); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file := func(t *testing.T, content string) string {
		path := filepath.Join(t.TempDir(), "journal.db")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, test := range []struct {
		name string
		path func(t *testing.T) string
		want string
	}{
		{"text", func(t *testing.T) string { return file(t, strings.Repeat("hello, world\n", 1000)) }, "not a journal: name another file"},
		{"a database of something else", func(t *testing.T) string { return other(t, "CREATE TABLE t (x)") }, "a SQLite database, but not a journal"},
		{"a newer journal", func(t *testing.T) string {
			return other(t, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = 3; CREATE TABLE runs (x)", applicationID))
		}, "has schema 3, this version reads up to 2: written by a newer version"},
		{"a journal without its tables", func(t *testing.T) string {
			return other(t, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = 1; CREATE TABLE t (x)", applicationID))
		}, "no such table"},
		{"no name", func(*testing.T) string { return "" }, `path: got "", want the name of a file`},
		{"a name with a NUL", func(*testing.T) string { return "a\x00b" }, "want the name of a file"},
		{"a folder", func(t *testing.T) string { return t.TempDir() }, "cannot be opened: make the file and its folder readable and writable"},
		{"below a file", func(t *testing.T) string { return file(t, "") + "/journal.db" }, "not a directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := test.path(t)
			s, err := Open(path)
			if err == nil {
				s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "journal: ") || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, test.want)
			}
			if path != "" && !strings.Contains(path, "\x00") && !strings.Contains(err.Error(), filepath.Dir(path)) {
				t.Errorf("got %v, want it to name the file", err)
			}
		})
	}
}

func TestOpenMakesWhatIsMissingForItsOwnerOnly(t *testing.T) {
	for _, name := range []string{"state/deep/journal.db", "a?b#c%20d&e=f.db", "sp ace/ü.db", "file:x.db"} {
		path := filepath.Join(t.TempDir(), name)
		for range 2 {
			s, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			beginTest(t, s, "")
			entries, err := os.ReadDir(filepath.Dir(path))
			if err != nil || len(entries) == 0 {
				t.Fatalf("%d files, %v", len(entries), err)
			}
			for _, e := range entries {
				if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 || !strings.HasPrefix(e.Name(), filepath.Base(path)) {
					t.Errorf("%s beside %s: %v, %v; want mode 0600", e.Name(), name, info.Mode(), err)
				}
			}
			if infos, err := s.Runs(t.Context(), 0); err != nil || len(infos) == 0 {
				t.Errorf("Runs = %v, %v", infos, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestClosed(t *testing.T) {
	s := openTest(t)
	r := beginTest(t, s, "x")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
	if _, err := r.Append(t.Context(), TurnStart, "", TurnStarted{}, true); !errors.Is(err, ErrClosed) {
		t.Errorf("Append: %v, want ErrClosed", err)
	}
	if _, err := s.Read(t.Context(), "x", 1); err == nil {
		t.Error("Read gives no error")
	}
}

// The benchmark shows that a sync costs what the disk's own does; here, that it is asked for.
func TestOnlySyncedAppendsAreSynced(t *testing.T) {
	s := openTest(t)
	r := beginTest(t, s, "x")
	for _, sync := range []bool{true, false, true, true, false} {
		if _, err := r.Append(t.Context(), Decided, "", decisionOf(1), sync); err != nil {
			t.Fatal(err)
		}
		var level int
		if err := s.conn.QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&level); err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{true: 2, false: 1}[sync]; level != want {
			t.Errorf("sync %v: synchronous is %d, want %d", sync, level, want)
		}
	}
	var mode string
	if err := s.conn.QueryRowContext(t.Context(), "PRAGMA journal_mode").Scan(&mode); err != nil || mode != "wal" {
		t.Errorf("journal_mode is %q, %v; want wal", mode, err)
	}
}

func TestALockedFileEndsTheRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	s, err := open(path, 50*time.Millisecond, "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := beginTest(t, s, "x")
	other, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	_, err = r.Append(t.Context(), TurnStart, "", TurnStarted{}, true)
	if err == nil || !strings.Contains(err.Error(), "locked by another process for more than 50ms: end that process") {
		t.Errorf("got %v, want the file and that it is locked", err)
	}
	if events, err := s.Read(t.Context(), "x", 1); err != nil || len(events) != 1 {
		t.Errorf("reading while it is locked: %d events, %v; want 1", len(events), err)
	}
	if _, err := open(path, 50*time.Millisecond, ""); err != nil {
		t.Errorf("opening while it is locked, in order to read: %v", err)
	}
}

func TestAFullDiskEndsTheRunAndLeavesTheJournalWhole(t *testing.T) {
	s := openTest(t)
	r, other := beginTest(t, s, "x"), beginTest(t, s, "y")
	var pages int
	if err := s.conn.QueryRowContext(t.Context(), "PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	limit := func(pages int) {
		if err := s.conn.QueryRowContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages)).Scan(new(int)); err != nil {
			t.Fatal(err)
		}
	}
	limit(pages + 2)
	big := TurnStarted{Program: strings.Repeat("x", 100_000), Author: label.Bottom()}
	_, err := r.Append(t.Context(), TurnStart, "", big, true)
	if err == nil || !strings.Contains(err.Error(), "the disk is full: make room") {
		t.Errorf("got %v, want that the disk is full", err)
	}
	if _, again := r.Append(t.Context(), TurnStart, "", TurnStarted{}, true); again == nil || again.Error() != err.Error() {
		t.Errorf("got %v from a small append after it, want the same error", again)
	}
	if _, err := other.Append(t.Context(), TurnStart, "", TurnStarted{}, true); err != nil {
		t.Errorf("a run whose events find room: %v", err)
	}
	limit(1 << 20)
	if _, err := other.Append(t.Context(), TurnStart, "", big, true); err != nil {
		t.Errorf("once there is room again: %v", err)
	}
	for id, want := range map[string]int{"x": 1, "y": 3} {
		if events, err := s.Read(t.Context(), id, 1); err != nil || len(events) != want || Verify(events) != nil {
			t.Errorf("run %s has %d events, %v, %v; want %d", id, len(events), err, Verify(events), want)
		}
	}
}

func TestOneAppendThatFailsDoesNotSpoilThoseThatShareItsCommit(t *testing.T) {
	s := openTest(t)
	var group []*appending
	for _, id := range []string{"a", "b", "c"} {
		e := seal("", Event{Run: id, Seq: 1, Type: RunStart, Time: time.Now().UTC().Round(0), Payload: []byte(`{"agent":"x"}`)})
		if id == "b" {
			e.Seq = 7
		}
		group = append(group, &appending{events: []Event{e}, done: make(chan error, 1)})
	}
	s.mu.Lock()
	s.waiting, s.leading = group, true
	s.mu.Unlock()
	s.lead(t.Context())
	for i, id := range []string{"a", "b", "c"} {
		err := <-group[i].done
		if wrong := id == "b"; errors.Is(err, ErrConflict) != wrong || (err == nil) == wrong {
			t.Errorf("append to %s: %v", id, err)
		}
		events, err := s.Read(t.Context(), id, 1)
		if want := map[string]int{"a": 1, "b": 0, "c": 1}[id]; err != nil || len(events) != want {
			t.Errorf("run %s has %d events, %v; want %d", id, len(events), err, want)
		}
	}
}

func TestTwoProcessesOnOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	var wg sync.WaitGroup
	var opened [3]*SQLite
	for p := range opened {
		wg.Go(func() { // at once, so that they meet while the file is made
			s, err := Open(path)
			if err != nil {
				t.Error(err)
				return
			}
			opened[p] = s
			r := beginTest(t, s, fmt.Sprintf("p%d", p))
			for n := range 20 {
				if _, err := r.Append(t.Context(), Decided, "", decisionOf(n), n%4 == 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	for _, s := range opened {
		infos, err := s.Runs(t.Context(), 0)
		if err != nil || len(infos) != 3 {
			t.Errorf("got %d runs, %v; want those of all", len(infos), err)
		}
		for _, info := range infos {
			if events, err := s.Read(t.Context(), info.ID, 1); err != nil || VerifyWhole(events, info.Head) != nil || len(events) != 21 {
				t.Errorf("run %s has %d events, %v, %v", info.ID, len(events), err, VerifyWhole(events, info.Head))
			}
		}
	}
	for _, s := range opened {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// filled makes a journal with some runs, closed, and returns its path.
func filled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.db")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		r := beginTest(t, s, fmt.Sprintf("r%d", i))
		for n := range 12 {
			if _, err := r.Append(t.Context(), Decided, "", decisionOf(n), false); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// use opens a journal, reads all of it and appends to it; it returns the first error. What it
// could read and verify is of the original.
func use(t *testing.T, path string) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	defer s.Close()
	infos, err := s.Runs(t.Context(), 0)
	if err != nil {
		return err
	}
	for _, info := range infos {
		events, err := s.Read(t.Context(), info.ID, 1)
		if err != nil {
			return err
		}
		if err := VerifyWhole(events, info.Head); err != nil {
			return err
		}
		if _, err := Decode[DecisionMade](events[len(events)-1]); err != nil {
			return err
		}
	}
	if _, err := Audit(t.Context(), s, Evidence{}); err != nil {
		return err
	}
	r, err := Begin(t.Context(), s, "", Options{})
	if err != nil {
		return err
	}
	_, err = r.Append(t.Context(), RunStart, "", RunStarted{}, true)
	return err
}

func TestDamagedFiles(t *testing.T) {
	whole, err := os.ReadFile(filled(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "journal.db")
	try := func(content []byte) error {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if err := os.RemoveAll(path + suffix); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return use(t, path)
	}
	if err := try(whole); err != nil {
		t.Fatalf("undamaged: %v", err)
	}
	for _, n := range []int{100, 4095, 4096, 3 * 4096, len(whole) / 2, len(whole) - 4096, len(whole) - 1} {
		if err := try(whole[:n]); err == nil || !strings.Contains(err.Error(), "journal") {
			t.Errorf("cut off after %d of %d bytes: %v, want an error", n, len(whole), err)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 80 {
		content := append([]byte(nil), whole...)
		at := r.IntN(len(content))
		for i := at; i < min(at+1+r.IntN(300), len(content)); i++ {
			content[i] = byte(r.IntN(256))
		}
		if try(content) != nil { // and did not panic
			found++
		}
	}
	if found < 30 { // the rest hit free space within pages
		t.Errorf("only %d of 80 damages were found", found)
	}
}

// What a power cut leaves is some beginning of the write-ahead log.
func TestALogCutOffAnywhereLeavesABeginningOfEachRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 3 {
		r := beginTest(t, s, fmt.Sprintf("r%d", i))
		for n := range 10 {
			if _, err := r.AppendAll(t.Context(), true, Entry{Decided, "", decisionOf(n)}, Entry{CallStart, "", CallStarted{Tool: "pay"}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	db, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	some := 0
	for range 60 {
		cut := filepath.Join(t.TempDir(), "cut.db")
		if err := errors.Join(os.WriteFile(cut, db, 0o600), os.WriteFile(cut+"-wal", log[:r.IntN(len(log))], 0o600)); err != nil {
			t.Fatal(err)
		}
		left, err := Open(cut)
		if err != nil {
			t.Fatalf("a log cut off: %v", err)
		}
		infos, err := left.Runs(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range infos {
			events, err := left.Read(t.Context(), info.ID, 1)
			if err != nil || VerifyWhole(events, info.Head) != nil || len(events)%2 != 1 {
				t.Fatalf("run %s has %d events, %v, %v; want whole transactions", info.ID, len(events), err, VerifyWhole(events, info.Head))
			}
			if len(events) > 1 {
				some++
			}
		}
		if err := left.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if some < 30 {
		t.Errorf("only %d runs had anything left", some)
	}
}
