package journal

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// The variables that make another process of this test binary: one that writes to the
// journal named until it is killed, one that holds a run of it, or one that opens it and says what came of it.
const (
	crashFile = "CALLGATE_TEST_CRASH_JOURNAL"
	holdFile  = "CALLGATE_TEST_HOLD_JOURNAL"
	openFile  = "CALLGATE_TEST_OPEN_JOURNAL"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(crashFile); path != "" {
		if err := writeUntilKilled(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if path := os.Getenv(holdFile); path != "" {
		if err := writeAndHold(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if path := os.Getenv(openFile); path != "" {
		s, err := Open(path)
		if err == nil {
			err = s.Close()
		}
		fmt.Print(err)
		return
	}
	os.Exit(m.Run())
}

// writeUntilKilled appends to three runs at once, and prints a line "run seq" for each synced
// event, once it is.
func writeUntilKilled(path string) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make(chan error, 3)
	for range 3 {
		wg.Go(func() { errs <- writeRun(s) })
	}
	wg.Wait()
	return <-errs
}

func writeRun(s *SQLite) error {
	ctx := context.Background()
	r, err := Begin(ctx, s, "", Options{})
	if err != nil {
		return err
	}
	if _, err := r.Append(ctx, RunStart, "", RunStarted{Agent: "crash"}, false); err != nil {
		return err
	}
	for n := 0; ; n++ {
		if _, err := r.Append(ctx, Decided, "", decisionOf(n), false); err != nil {
			return err
		}
		e, err := r.Append(ctx, CallStart, "", CallStarted{Tool: "pay"}, true)
		if err != nil {
			return err
		}
		if _, err := fmt.Printf("%s %d\n", r.ID(), e.Seq); err != nil {
			return err
		}
	}
}

// TestKilledAtAnyInstant kills a process while it writes, again and again on one file. The file
// opens, every chain verifies, and nothing that was reported as synced is missing.
func TestKilledAtAnyInstant(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "journal.db")
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	synced := map[string]int64{}
	kills := 12
	if testing.Short() {
		kills = 3
	}
	for range kills {
		child := exec.Command(self)
		child.Env = append(os.Environ(), crashFile+"="+path)
		child.Stderr = os.Stderr
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		first := true
		for lines.Scan() {
			if first { // it has begun: kill it somewhere in what follows
				first = false
				time.AfterFunc(time.Duration(r.IntN(40_000))*time.Microsecond, func() { child.Process.Kill() })
			}
			var run string
			var seq int64
			if _, err := fmt.Sscanf(lines.Text(), "%s %d", &run, &seq); err == nil {
				synced[run] = seq
			}
		}
		if err := child.Wait(); err == nil || child.ProcessState.Exited() {
			t.Fatalf("the process was not killed: %v, %v", err, child.ProcessState)
		}
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		infos, err := s.Runs(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]int64{}
		for _, info := range infos {
			run, events, err := Resume(t.Context(), s, info.ID, Options{})
			if err != nil || VerifyWhole(events, info.Head) != nil {
				t.Fatalf("run %s: %v, %v", info.ID, err, VerifyWhole(events, info.Head))
			}
			found[info.ID] = int64(len(events))
			if r.IntN(3) == 0 { // and it can go on
				if _, err := run.Append(t.Context(), Decided, "", decisionOf(0), true); err != nil {
					t.Fatal(err)
				}
			}
		}
		for run, seq := range synced {
			if found[run] < seq {
				t.Errorf("run %s has %d events, but event %d was synced", run, found[run], seq)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(synced) < kills {
		t.Errorf("only %d runs were seen in %d processes", len(synced), kills)
	}
}
