package engine

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"callgate/engine/journal"
)

// The variable that makes another process of this test binary: one that begins a run or goes on with it, until it kills itself. Its value is a folder;
// how many appends from the beginning that is, and whether before or after the append was stored, the variables below say.
const (
	killFolder = "CALLGATE_TEST_KILL_FOLDER"
	killAt     = "CALLGATE_TEST_KILL_AT"
	killAfter  = "CALLGATE_TEST_KILL_AFTER"
	killProg   = "CALLGATE_TEST_KILL_PROGRAM"
)

// killTurns are the programs by name.
var killTurns = map[string][]string{"": shopTurns, "strands": strandTurns}

func TestMain(m *testing.M) {
	if dir := os.Getenv(killFolder); dir != "" {
		if err := runUntilKilled(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// wantKills is how many kills TestKilledAtEveryAppend makes at least, if one round has fewer.
var wantKills = flag.Int("kills", 0, "how many kills to make at least, in whole rounds; 0: one round")

// killing is a store that kills its process at an append.
type killing struct {
	journal.Store
	left  int
	after bool
}

func (k *killing) Append(ctx context.Context, events []journal.Event, sync bool) error {
	k.left--
	if k.left == 0 && !k.after {
		kill()
	}
	err := k.Store.Append(ctx, events, sync)
	if k.left == 0 && err == nil {
		kill()
	}
	return err
}

// kill ends this process as nothing can prevent.
func kill() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		self.Kill()
	}
	select {}
}

func runUntilKilled(dir string) error {
	at, err := strconv.Atoi(os.Getenv(killAt))
	if err != nil {
		return err
	}
	store, err := journal.Open(filepath.Join(dir, "journal.db"))
	if err != nil {
		return err
	}
	t := new(testing.T) // for tools that cannot be made, which are always the same
	w := &world{file: filepath.Join(dir, "effects")}
	k := &killing{Store: store, left: at, after: os.Getenv(killAfter) != ""}
	s, err := begin(context.Background(), w.clerk(t, k), k)
	if errors.Is(err, journal.ErrEnded) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(drive(context.Background(), s, killTurns[os.Getenv(killProg)]), store.Close())
}

// TestKilledAtEveryAppend kills the process of a run again and again: at its first and at its second append since it went on, before that is stored
// and after, until the run has ended. So each call is met by a kill before its start is stored and after, before its result is stored and
// after; and each of these by a process that goes on with the run.
func TestKilledAtEveryAppend(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for program, least := range map[string]int{"": 400, "strands": 100} {
		t.Run(program, func(t *testing.T) {
			want := undisturbed(t, killTurns[program])
			for kills, round := 0, 0; round == 0 || kills < *wantKills; round++ {
				n := killedAgainAndAgain(t, self, program, round, want)
				kills += n
				t.Logf("%d kills", kills)
				if n < least && !testing.Short() {
					t.Errorf("only %d kills, want %d", n, least)
				}
			}
		})
	}
}

// killedAgainAndAgain runs one run to its end, and returns how often it was killed. Rounds differ in where.
func killedAgainAndAgain(t *testing.T, self, program string, round int, want story) (kills int) {
	dir := t.TempDir()
	for {
		plan := (kills + round) % 4
		if testing.Short() {
			plan += 12 * (kills % 5) // further
		}
		child := exec.Command(self)
		child.Env = append(os.Environ(), killFolder+"="+dir, killProg+"="+program, fmt.Sprintf("%s=%d", killAt, 1+plan/2))
		if plan%2 == 1 {
			child.Env = append(child.Env, killAfter+"=1")
		}
		child.Stderr = os.Stderr
		err := child.Run()
		if err == nil {
			break
		}
		if child.ProcessState.Exited() {
			t.Fatalf("after %d kills: %v", kills, err)
		}
		kills++
	}
	store, err := journal.Open(filepath.Join(dir, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	same(t, &world{file: filepath.Join(dir, "effects")}, store, want)
	return kills
}
