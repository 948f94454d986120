package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/engine/label"
)

// aged fills a journal with runs r0 to r5, which ended 6 to 1 days before now, and one each that waits, goes on and is held. Each holds 100 kB.
func aged(t *testing.T, s *SQLite, now time.Time) {
	t.Helper()
	clock := now
	begin := func(id string, days int, status string) *Run {
		clock = now.Add(-time.Duration(days) * 24 * time.Hour)
		r, err := Begin(t.Context(), s, id, Options{Now: func() time.Time { return clock }})
		if err != nil {
			t.Fatal(err)
		}
		big := TurnStarted{Program: "marker-of-" + id + strings.Repeat("x", 100_000), Author: label.Bottom()}
		entries := []Entry{{RunStart, "", RunStarted{Agent: "inbox"}}, {TurnStart, "", big}}
		if status != "" {
			entries = append(entries, Entry{RunEnd, "", RunEnded{Status: status}})
		}
		if _, err := r.AppendAll(t.Context(), false, entries...); err != nil {
			t.Fatal(err)
		}
		return r
	}
	for i := range 6 {
		begin(fmt.Sprintf("r%d", i), 6-i, StatusDone)
	}
	begin("waits", 9, StatusWaiting)
	if err := begin("broken-off", 9, "").Close(); err != nil {
		t.Fatal(err)
	}
	_, err := Tell(t.Context(), s, Options{Now: func() time.Time { return now.Add(-9 * 24 * time.Hour) }}, func([]Event) (GrantGiven, error) { return GrantGiven{ID: "g"}, nil })
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhichRunsArePruned(t *testing.T) {
	now := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	for _, test := range []struct {
		name string
		r    Retention
		want string
	}{
		{"nothing asked for", Retention{}, ""},
		{"by age", Retention{Keep: 3*day + time.Hour}, "r0 r1 r2"},
		{"none is so old", Retention{Keep: 30 * day}, ""},
		{"by size, those that ended first", Retention{MaxSize: 500_000}, "r0 r1 r2 r3"},
		{"by size, as far as runs have ended", Retention{MaxSize: 1}, "r0 r1 r2 r3 r4 r5"},
		{"by age and size", Retention{Keep: 5*day + time.Hour, MaxSize: 750_000}, "r0 r1"},
		{"payloads", Retention{Keep: 3*day + time.Hour, Payloads: true}, "r0 r1 r2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			s, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			aged(t, s, now)
			dry := test.r
			dry.DryRun = true
			would, err := s.Prune(t.Context(), dry, now)
			if err != nil {
				t.Fatal(err)
			}
			before, err := s.Runs(t.Context(), 0)
			if err != nil || len(before) != 9 {
				t.Fatalf("%d runs after a dry run, %v; want 9", len(before), err)
			}
			did, err := s.Prune(t.Context(), test.r, now)
			if err != nil {
				t.Fatal(err)
			}
			for name, got := range map[string]Pruned{"would": would, "did": did} {
				var ids []string
				for _, r := range got.Runs {
					ids = append(ids, r.ID)
				}
				if strings.Join(ids, " ") != test.want {
					t.Errorf("%s: pruned %q, want %q", name, ids, test.want)
				}
			}
			ids := strings.Fields(test.want)
			if did.Before-did.After < int64(len(ids))*95_000 {
				t.Errorf("held %d bytes before and %d after", did.Before, did.After)
			}
			if len(ids) > 0 {
				if info, err := os.Stat(path); err != nil || info.Size() > did.After+100_000 {
					t.Errorf("the file has %d bytes, %v; want about %d", info.Size(), err, did.After)
				}
			}
			after, err := s.Runs(t.Context(), 0)
			if want := 9 - len(ids); err != nil || !test.r.Payloads && len(after) != want || test.r.Payloads && len(after) != 9 {
				t.Errorf("%d runs are left, %v", len(after), err)
			}
			report, err := Audit(t.Context(), s, asKeyed(t, s))
			if err != nil || len(report.Problems) > 0 {
				t.Errorf("afterwards: %+v, %v", report, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 6 {
				id := fmt.Sprintf("r%d", i)
				if left := bytes.Contains(file, []byte("marker-of-"+id)); left == slices.Contains(ids, id) {
					t.Errorf("what %s held is in the file: %v", id, left)
				}
			}
		})
	}
}

func TestARunTakenOutByHandIsNotTakenForAPrunedOne(t *testing.T) {
	now := time.Now()
	s := openTest(t)
	aged(t, s, now)
	if _, err := s.Prune(t.Context(), Retention{Keep: 4 * 24 * time.Hour}, now); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"DELETE FROM events WHERE place >> 32 = 6", "DELETE FROM runs WHERE n = 6"} {
		if _, err := s.conn.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	report, err := Audit(t.Context(), s, asKeyed(t, s))
	if err != nil || len(report.Problems) != 1 || !strings.Contains(report.Problems[0].String(), "run r5: ledger line 11: removed") {
		t.Errorf("got %q, %v; want that r5 was removed", report.Problems, err)
	}
}

func TestAPrunedRunGoesOnNowhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	var opened [2]*SQLite
	for i := range opened {
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		opened[i] = s
	}
	r := beginTest(t, opened[0], "x")
	if _, err := r.Append(t.Context(), RunEnd, "", RunEnded{Status: StatusDone}, true); err != nil {
		t.Fatal(err)
	}
	if _, err := opened[1].Prune(t.Context(), Retention{MaxSize: 1}, time.Now()); err != nil {
		t.Fatal(err)
	}
	e := seal(r.head, Event{Run: "x", Seq: 3, Type: TurnStart, Payload: []byte("{}")})
	if err := opened[0].Append(context.Background(), []Event{e}, true); !errors.Is(err, ErrConflict) {
		t.Errorf("an event of a run that was taken out: %v, want ErrConflict", err)
	}
}

func TestImportedRunsVerify(t *testing.T) {
	text, evidence := exportOf(t, likeInvoices()...)
	events, ledger, err := Import(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if report := AuditCopy(events, ledger, evidence); len(report.Problems) > 0 {
		t.Fatalf("%+v", report)
	}
	s := openTest(t)
	if err := s.Import(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	if err := s.Import(t.Context(), events); !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "run x is there already") {
		t.Errorf("imported again: %v, want ErrConflict", err)
	}
	report, err := Audit(t.Context(), s, asKeyed(t, s))
	if err != nil || len(report.Problems) > 0 || report.Signed != 1 {
		t.Errorf("%+v, %v; want it in order, under a checkpoint of this journal", report, err)
	}
	if err := auditText(exportRuns(t, s, "x"), asKeyed(t, s)); err != nil {
		t.Errorf("exported again: %v", err)
	}
	events[3].Payload = []byte("{}")
	if err := openTest(t).Import(t.Context(), events); err == nil || !strings.Contains(err.Error(), "event 4") {
		t.Errorf("a forged run: %v, want what is wrong", err)
	}
	desk := []Event{seal("", Event{Run: DeskRun, Seq: 1, Type: RunStart, Payload: []byte("{}")})}
	if err := s.Import(t.Context(), desk); err == nil {
		t.Error("what people have said was imported")
	}
}
