package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"callgate/builtins"
	"callgate/engine"
	"callgate/engine/confine"
	"callgate/engine/eval"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/worker"
)

// workers returns the workers of this process.
func workers(t *testing.T) (pids []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		stat, _ := os.ReadFile(f)
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
		pid, _ := strconv.Atoi(strings.Split(f, "/")[2])
		_, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == fmt.Sprint(os.Getpid()) && strings.HasPrefix(string(line), worker.Name) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// killWorkers kills the workers of this process.
func killWorkers(t *testing.T) (killed int) {
	t.Helper()
	for _, pid := range workers(t) {
		killed++
		syscall.Kill(pid, syscall.SIGKILL)
	}
	return killed
}

// TestSessionsThatWaitHaveNoWorker has more runs wait than there are workers.
func TestSessionsThatWaitHaveNoWorker(t *testing.T) {
	i := newIsolated(t, func(i *engine.Isolation) { i.Least, i.Idle = gate.TierProcess, time.Millisecond })
	var all []*engine.Session
	for range 5 {
		s := i.start()
		if got := i.exec(s, "n = [1]\ndef next(): n.append(len(n) + 1); return n\nprint(next())", user); got != "process: [1, 2]" {
			t.Errorf("got %q", got)
		}
		all = append(all, s)
	}
	for turn := range 2 {
		for guard := time.Now().Add(time.Minute); len(workers(t)) > 1; { // one waits in the pool
			if time.Now().After(guard) {
				t.Fatalf("%d workers are left", len(workers(t)))
			}
			time.Sleep(time.Millisecond)
		}
		for _, s := range all {
			if got, want := i.exec(s, "print(len(next()))", stranger), fmt.Sprintf("process: %d", turn+3); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if _, confined, err := s.Isolated(); !slices.Contains(confined, "seccomp") || err != nil {
				t.Errorf("confined by %v, %v", confined, err)
			}
		}
	}
	for _, s := range all {
		if err := s.End(t.Context(), engine.Ending{Status: engine.Done}); err != nil {
			t.Error(err)
		}
	}
}

// TestMachinesWithLess runs a program of a stranger where the machine lacks something, and says what the journal has to say.
func TestMachinesWithLess(t *testing.T) {
	newIsolated(t, nil) // or skip
	full := achieved(t)
	for _, test := range []struct {
		name    string
		without []confine.Mechanism
		tier    string
		lacks   []confine.Mechanism
		why     string
	}{
		{"everything", nil, "process", nil, ""},
		{"user namespaces", []confine.Mechanism{confine.Users}, "process", []confine.Mechanism{confine.Users, confine.Processes, confine.Network, confine.Root}, ""},
		{"landlock", []confine.Mechanism{confine.Landlock}, "process", []confine.Mechanism{confine.Landlock}, ""},
		{"cgroups", []confine.Mechanism{confine.Cgroup}, "process", []confine.Mechanism{confine.Cgroup}, ""},
		{"namespaces, landlock and cgroups", []confine.Mechanism{confine.Users, confine.Landlock, confine.Cgroup}, "process", []confine.Mechanism{confine.Users, confine.Root, confine.Landlock, confine.Cgroup}, ""},
		{"seccomp", []confine.Mechanism{confine.Seccomp}, "none", nil, "none: worker: seccomp cannot be had: a kernel with CONFIG_SECCOMP_FILTER has it"},
		{"no-new-privileges", []confine.Mechanism{confine.NoNew, confine.Seccomp}, "none", nil, "none: worker: no-new-privileges cannot be had"},
	} {
		t.Run(test.name, func(t *testing.T) {
			pool := &worker.Pool{Options: worker.ProcessOptions{Without: test.without}}
			defer pool.Close()
			with := func(least gate.Tier) *isolated {
				return newIsolated(t, func(i *engine.Isolation) {
					i.Workers, i.Guard, i.Least = map[gate.Tier]*worker.Pool{gate.TierProcess: pool}, true, least
				})
			}
			i := with(gate.TierNone)
			if got := i.exec(i.start(), "print(1)", stranger); got != test.tier+": 1" {
				t.Fatalf("got %q", got)
			}
			has := i.ends[0].Confinement
			if test.why != "" {
				if !strings.HasPrefix(has, test.why) {
					t.Errorf("recorded %q, want %q", has, test.why)
				}
				_, err := with(gate.TierProcess).Start(t.Context(), engine.Run{})
				if bad, ok := errors.AsType[*engine.IsolationError](err); !ok || bad.Tier != gate.TierProcess {
					t.Errorf("asked for: got %v", err)
				}
				return
			}
			for _, m := range full {
				if got, want := slices.Contains(strings.Fields(has), string(m)), !slices.Contains(test.lacks, m); got != want && !(slices.Contains(test.lacks, confine.Users) && strings.HasSuffix(string(m), "-namespace")) {
					t.Errorf("%s: recorded %v, want %v", m, got, want)
				}
			}
		})
	}
}

// achieved is what confines a worker here.
func achieved(t *testing.T) []confine.Mechanism {
	t.Helper()
	p, err := worker.StartProcess(t.Context(), worker.ProcessOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	return p.Achieved()
}

// TestARunWhoseWorkerIsKilled ends with a clean error, and its journal is whole.
func TestARunWhoseWorkerIsKilled(t *testing.T) {
	i := newIsolated(t, func(i *engine.Isolation) { i.Least = gate.TierProcess })
	s := i.start()
	if got := i.exec(s, "x = 1", user); got != "process:" {
		t.Fatalf("got %q", got)
	}
	if killWorkers(t) == 0 {
		t.Fatal("there is no worker to kill")
	}
	for range 2 {
		if got := i.exec(s, "print(x)", user); got != "process: t.star:1:1: worker" {
			t.Errorf("got %q", got)
		}
	}
	if end := i.ends[1]; end.Status != "internal" || !strings.Contains(end.Message, "the worker ended: signal: killed") {
		t.Errorf("recorded %s: %s", end.Status, end.Message)
	}
	if err := s.End(t.Context(), engine.Ending{Status: engine.Failed, Reason: "worker"}); err != nil {
		t.Error(err)
	}
	if s.Err() != nil {
		t.Error(s.Err())
	}
}

// replaysTheSame goes over a run again and finds no difference, wherever the run's programs lost their worker.
func replaysTheSame(t *testing.T, e *engine.Engine, run string) {
	t.Helper()
	s, err := e.Resume(t.Context(), engine.Again{Run: run, Only: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for err == nil {
		was, more, bad := s.Turn()
		if err = bad; err != nil || !more {
			break
		}
		_, err = s.Exec(t.Context(), engine.Program{File: was.File, Text: was.Program, Author: was.Author})
	}
	if end, ended, bad := s.Ended(); err == nil && ended {
		err = errors.Join(bad, s.End(t.Context(), engine.Ending{Status: end.Status, Reason: end.Reason}))
	}
	if met, all, differences := s.Compared(); err != nil || met != all || len(differences) > 0 {
		t.Errorf("run %s: met %d of %d events, %v, %v", run, met, all, differences, err)
	}
}

// TestWorkersThatAreKilledAtRandom kills workers while programs run, between turns and while sessions rest. Every program ends well or with the
// clean error, a session that has lost its worker has lost it for good, and every journal is whole.
func TestWorkersThatAreKilledAtRandom(t *testing.T) {
	runs := 40
	if testing.Short() {
		runs = 8
	}
	store, err := journal.Open(filepath.Join(t.TempDir(), "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	pool := &worker.Pool{Size: 2}
	defer pool.Close()
	if err := pool.Try(t.Context()); err != nil {
		t.Skipf("no worker can be confined here: %v", err)
	}
	var tools builtins.Set
	must(tools.Add(&builtins.Tool{
		Name: "page.get", Effects: builtins.Read, Label: builtins.Source{Class: stranger},
		Run: func(context.Context, *builtins.Invocation) (any, error) { return "a page", nil },
	}))
	e, err := engine.New(engine.Config{Agent: "a", Tools: &tools, PDP: &obliging{}, Meter: 100, Store: store, Isolation: engine.Isolation{
		Workers: map[gate.Tier]*worker.Pool{gate.TierProcess: pool}, Least: gate.TierProcess, Idle: time.Millisecond,
	}})
	if err != nil {
		t.Fatal(err)
	}
	here, err := engine.New(engine.Config{Agent: "a", Tools: &tools, PDP: &obliging{}, Meter: 100, Store: store}) // where no worker is lost
	if err != nil {
		t.Fatal(err)
	}
	died := 0
	for range runs {
		s, err := e.Start(t.Context(), engine.Run{})
		if err != nil {
			t.Fatal(err)
		}
		end := engine.Ending{Status: engine.Done}
		killed := make(chan struct{})
		stop := time.AfterFunc(time.Duration(rand.IntN(60_000))*time.Microsecond, func() {
			killWorkers(t)
			close(killed)
		})
		for turn := range 4 {
			out, err := s.Exec(t.Context(), engine.Program{File: "t.star", Text: "n = 0\nfor i in range(20):\n  n += len(page.get())\nprint(n)", Author: user})
			switch {
			case err != nil:
				t.Fatal(err)
			case out.Status == eval.OK && end.Status == engine.Done:
				if len(out.Prints) != 1 || out.Prints[0].Text != "120\n" {
					t.Errorf("turn %d printed %+v", turn, out.Prints)
				}
			case out.Status == eval.Crashed && out.Err.Code == "worker" && out.Err.Public() == "t.star:1:1: worker":
				end.Status = engine.Failed
			default:
				t.Errorf("turn %d, after %s: ended %s, %v", turn, end.Status, out.Status, out.Err)
			}
		}
		if !stop.Stop() {
			<-killed
		}
		if end.Status == engine.Failed {
			died++
		}
		if err := errors.Join(s.End(t.Context(), end), s.Err()); err != nil {
			t.Error(err)
		}
		events, err := store.Read(t.Context(), s.ID(), 1)
		if err == nil {
			err = journal.Verify(events)
		}
		if err != nil || len(events) == 0 || events[len(events)-1].Type != journal.RunEnd {
			t.Errorf("the journal: %d events, %v", len(events), err)
		}
		open := map[string]bool{}
		for _, event := range events {
			switch event.Type {
			case journal.CallStart:
				open[event.Call] = true
			case journal.CallResult:
				delete(open, event.Call)
			}
		}
		if len(open) > 0 {
			t.Errorf("calls that began have no result: %v", open)
		}
		replaysTheSame(t, e, s.ID())
		replaysTheSame(t, here, s.ID())
	}
	t.Logf("%d of %d runs lost their worker", died, runs)
	if died == 0 && !testing.Short() {
		t.Error("no worker was killed in time")
	}
}
