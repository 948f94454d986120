package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// twice opens one journal twice, as two processes would.
var twice = []struct {
	name string
	open func(testing.TB) [2]Store
}{
	{"memory", func(testing.TB) [2]Store { m := NewMemory(); return [2]Store{m, m} }},
	{"sqlite", func(t testing.TB) [2]Store {
		path := filepath.Join(t.TempDir(), "journal.db")
		var out [2]Store
		for i := range out {
			s, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			out[i] = s
		}
		return out
	}},
}

func TestOfTwoWhoResumeOneRunOneGetsIt(t *testing.T) {
	for _, store := range twice {
		t.Run(store.name, func(t *testing.T) {
			s := store.open(t)
			if err := beginTest(t, s[0], "x").Close(); err != nil {
				t.Fatal(err)
			}
			var runs [2]*Run
			var errs [2]error
			var wg sync.WaitGroup
			for i := range s {
				wg.Go(func() {
					runs[i], _, errs[i] = Resume(t.Context(), s[i], "x", Options{Who: fmt.Sprintf("person %d", i)})
				})
			}
			wg.Wait()
			first, second := 0, 1
			if runs[0] == nil {
				first, second = 1, 0
			}
			held, ok := errors.AsType[*HeldError](errs[second])
			if runs[first] == nil || runs[second] != nil || !ok {
				t.Fatalf("got %v and %v, want one run and one HeldError", errs[0], errs[1])
			}
			want := fmt.Sprintf("run x: person %d is at it, process %d on ", first, os.Getpid())
			if held.Run != "x" || held.Holder.Since.IsZero() || held.Holder.Until.Sub(held.Holder.Since) != claimFor || !strings.Contains(held.Error(), want) {
				t.Errorf("got %v, want %q, since when and until when", held, want)
			}
			if _, err := Begin(t.Context(), s[second], "x", Options{}); errors.Is(err, ErrConflict) || err == nil {
				t.Errorf("beginning a run that is held: %v, want a HeldError", err)
			}
			infos, err := s[second].Runs(t.Context(), 0)
			if err != nil || infos[0].Holder == nil || infos[0].Holder.Who != fmt.Sprintf("person %d", first) {
				t.Errorf("Runs = %+v, %v; want the holder", infos, err)
			}
			if _, err := runs[first].Append(t.Context(), RunEnd, "", RunEnded{Status: StatusWaiting}, true); err != nil {
				t.Fatal(err)
			}
			if infos, err := s[second].Runs(t.Context(), 0); err != nil || infos[0].Holder != nil {
				t.Errorf("Runs = %+v, %v; want nobody at it", infos, err)
			}
			if runs[second], _, err = Resume(t.Context(), s[second], "x", Options{}); err != nil {
				t.Errorf("once the other's part has ended: %v", err)
			}
			if err := runs[first].Close(); err != nil {
				t.Error(err)
			}
			if _, _, err = Resume(t.Context(), s[first], "x", Options{}); err == nil {
				t.Errorf("closing the first has given up the claim of the second")
			}
		})
	}
}

func TestAClaimIsGivenUp(t *testing.T) {
	for _, test := range []struct {
		name   string
		giveUp func(t *testing.T, s Store, r *Run)
	}{
		{"when the run ends", func(t *testing.T, s Store, r *Run) {
			if _, err := r.Append(t.Context(), RunEnd, "", RunEnded{Status: StatusWaiting}, false); err != nil {
				t.Fatal(err)
			}
		}},
		{"when the run is closed", func(t *testing.T, s Store, r *Run) {
			if err := errors.Join(r.Close(), r.Close()); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Append(t.Context(), TurnStart, "", TurnStarted{}, false); !errors.Is(err, ErrClosed) {
				t.Errorf("Append to a closed run: %v, want ErrClosed", err)
			}
		}},
		{"when the store is closed", func(t *testing.T, s Store, r *Run) {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}},
		{"when the run is not recorded any more", func(t *testing.T, s Store, r *Run) {
			r.head = "" // what it appends does not follow
			r.seq = 0
			if _, err := r.Append(t.Context(), RunStart, "", RunStarted{}, false); !errors.Is(err, ErrConflict) {
				t.Fatal(err)
			}
		}},
	} {
		for _, store := range twice {
			t.Run(store.name+", "+test.name, func(t *testing.T) {
				s := store.open(t)
				r := beginTest(t, s[0], "x")
				if _, _, err := Resume(t.Context(), s[1], "x", Options{}); err == nil {
					t.Fatal("resumed a run that is held")
				}
				test.giveUp(t, s[0], r)
				if _, _, err := Resume(t.Context(), s[1], "x", Options{}); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestWhomAClaimHoldsOff(t *testing.T) {
	mine := newHolder("ana")
	child := exec.Command(os.Args[0], "-test.run=^$")
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		change func(h *Holder)
		gone   bool
	}{
		{"a process that is there", func(*Holder) {}, false},
		{"a process that is there, whose claim has expired", func(h *Holder) { h.Until = time.Now().Add(-time.Second) }, true},
		{"a process that is gone", func(h *Holder) { h.Process = child.Process.Pid }, true},
		{"a process of that number on another host", func(h *Holder) { h.Process, h.Host = child.Process.Pid, "elsewhere" }, false},
		{"a process of that number in another space", func(h *Holder) { h.Process, h.Space = child.Process.Pid, "pid:[1]" }, false},
		{"on another host, expired", func(h *Holder) { h.Host, h.Until = "elsewhere", time.Now().Add(-time.Second) }, true},
		{"no process", func(h *Holder) { h.Process = 0 }, true},
	} {
		for _, store := range stores {
			t.Run(store.name+", "+test.name, func(t *testing.T) {
				s, held := store.open(t), mine
				test.change(&held)
				if err := s.Claim(t.Context(), "x", held); err != nil {
					t.Fatal(err)
				}
				err := s.Claim(t.Context(), "x", newHolder("bob"))
				if got := err == nil; got != test.gone {
					t.Errorf("claimed by another one: %v; want it given up: %v", err, test.gone)
				}
			})
		}
	}
}

// A call may take longer than a claim holds.
func TestAClaimIsRenewedWhileNothingIsAppended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewMemory()
		r := beginTest(t, s, "x")
		for range 10 {
			time.Sleep(claimFor)
			synctest.Wait()
			if _, _, err := Resume(t.Context(), s, "x", Options{}); err == nil {
				t.Fatal("the claim has expired though its run goes on")
			}
		}
		r.Close()
		// One that was stopped for so long that another one took it over learns of it.
		late, _, err := Resume(t.Context(), s, "x", Options{})
		if err != nil {
			t.Fatal(err)
		}
		other := newHolder("bob")
		s.mu.Lock()
		s.claims["x"] = other
		s.mu.Unlock()
		time.Sleep(claimAgain)
		synctest.Wait()
		if _, err := late.Append(t.Context(), TurnStart, "", TurnStarted{}, true); err == nil || !strings.Contains(err.Error(), "run x is not recorded any more: journal: run x: bob is at it") {
			t.Errorf("got %v, want that bob has it", err)
		}
		err = late.Close()
		s.mu.Lock()
		held := s.claims["x"]
		s.mu.Unlock()
		if err != nil || held != other {
			t.Errorf("it has given up the claim of another one: %v", err)
		}
	})
}

// writeAndHold holds a run of a journal until its input ends.
func writeAndHold(path string) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	r, err := Begin(context.Background(), s, "held", Options{Who: "the child"})
	if err != nil {
		return err
	}
	if _, err := r.Append(context.Background(), RunStart, "", RunStarted{}, true); err != nil {
		return err
	}
	fmt.Println("held")
	_, err = bufio.NewReader(os.Stdin).ReadByte()
	return err
}

func TestARunOfAKilledProcessIsTakenOverAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), holdFile+"="+path)
	child.Stderr = os.Stderr
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "held\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, _, err = Resume(t.Context(), s, "held", Options{})
	if held, ok := errors.AsType[*HeldError](err); !ok || held.Holder.Who != "the child" || held.Holder.Process != child.Process.Pid {
		t.Errorf("got %v, want that the child has it", err)
	}
	child.Process.Kill()
	child.Wait()
	if _, events, err := Resume(t.Context(), s, "held", Options{}); err != nil || len(events) != 1 {
		t.Errorf("once the child is gone: %d events, %v", len(events), err)
	}
}
