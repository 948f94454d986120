package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"callgate/engine/eval"
)

// numbered is the end of what a descriptor is for that differs for each of its kind.
var numbered = regexp.MustCompile(`\[\d+\]$`)

// traces is what this process has of the machine.
func traces(t *testing.T) map[string]string {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	temp, err := filepath.Glob(filepath.Join(os.TempDir(), "*"))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, f := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil { // but the one that lists them
			files = append(files, numbered.ReplaceAllString(to, ""))
		}
	}
	slices.Sort(files)
	return map[string]string{
		"open files": strings.Join(files, "\n"), "mounts": string(mounts), "temporary files": strings.Join(temp, "\n"),
		"cgroups": strings.Join(cgroups(t, os.Getpid()), "\n"), "processes": fmt.Sprint(children(t, os.Getpid())),
	}
}

// children are the processes that a process has started, but for its sweeper.
func children(t *testing.T, of int) (pids []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range stats {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		fields := strings.Fields(rest)
		pid, _ := strconv.Atoi(strings.Split(f, "/")[2])
		if line, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline")); len(fields) > 1 && fields[1] == strconv.Itoa(of) && !strings.HasPrefix(string(line), "callgate-sweeper") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// hold returns files that stand for the processes that a process and its children have started, and their children.
func hold(t *testing.T, of int) (fds []int) {
	t.Helper()
	for _, pid := range children(t, of) {
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			t.Cleanup(func() { unix.Close(fd) })
			fds = append(append(fds, fd), hold(t, pid)...)
		}
	}
	return fds
}

// gone waits for the end of processes.
func gone(t *testing.T, fds []int) {
	t.Helper()
	for _, fd := range fds {
		if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 30_000); n != 1 {
			t.Errorf("a process is left: %v", err)
		}
	}
}

// cgroups are those that a process has made.
func cgroups(t *testing.T, pid int) (dirs []string) {
	t.Helper()
	filepath.WalkDir("/sys/fs/cgroup", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), fmt.Sprintf("callgate-%d-", pid)) {
			dirs = append(dirs, path)
		}
		return nil
	})
	return dirs
}

func newSession(t testing.TB, host eval.Host) *Session {
	t.Helper()
	s, err := self(t, ProcessOptions{}).Open(t.Context(), Config{Config: eval.Config{Host: host, Tools: worldTools}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestNothingIsLeft runs programs one after the other, and many at once.
func TestNothingIsLeft(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	turn := func() {
		s := newSession(t, newWorld())
		defer s.Close()
		out, err := s.Exec(t.Context(), "t.star", "x = recv()\nprint(x)", low, eval.Past{})
		if err != nil || out.Status != eval.OK {
			t.Errorf("got %+v, %v", out, err)
		}
	}
	turn()
	runtime.GC()
	before, goroutines := traces(t), runtime.NumGoroutine()
	n, many := 1000, 64
	if testing.Short() {
		n, many = 20, 16
	}
	for range n {
		turn()
	}
	var all sync.WaitGroup
	for range many {
		all.Go(turn)
	}
	all.Wait()
	after := traces(t)
	for what, was := range before {
		if after[what] != was {
			t.Errorf("%s: before %s, after %s", what, was, after[what])
		}
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines before, %d after", goroutines, n)
	}
}

// The variables that make another process of this test binary a supervisor: the executable of its workers, and that they are containers.
const (
	supervising    = "CALLGATE_TEST_SUPERVISOR"
	supervisingOCI = "CALLGATE_TEST_SUPERVISOR_OCI"
)

// TestSupervisor is a supervisor that will be killed: it has workers at work and workers that wait.
func TestSupervisor(t *testing.T) {
	if os.Getenv(supervising) == "" {
		t.Skip("runs in a process that TestAKilledSupervisor starts")
	}
	pool := &Pool{Size: 2, Options: ProcessOptions{Path: os.Getenv(supervising), OCI: os.Getenv(supervisingOCI) != ""}}
	if err := pool.Fill(t.Context()); err != nil {
		t.Fatal(err)
	}
	p, err := StartProcess(t.Context(), pool.Options)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Open(t.Context(), Config{Config: eval.Config{Host: newWorld(), Tools: worldTools}})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("READY\n")
	s.Exec(t.Context(), "t.star", "while True: pass", low, eval.Past{})
	select {}
}

// TestAKilledSupervisor kills one in the middle of everything. Nothing of it stays.
func TestAKilledSupervisor(t *testing.T) {
	t.Run("process", func(t *testing.T) { killedSupervisor(t, ProcessOptions{}) })
	t.Run("container", func(t *testing.T) { killedSupervisor(t, ProcessOptions{OCI: true}) })
}

func killedSupervisor(t *testing.T, o ProcessOptions) {
	p := self(t, o) // or skip
	p.Kill()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestSupervisor$", "-test.count=1")
	cmd.Env = append(os.Environ(), supervising+"="+p.Path())
	if o.OCI {
		cmd.Env = append(cmd.Env, supervisingOCI+"=1")
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	for in := bufio.NewReader(out); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatalf("the supervisor said nothing: %v", err)
		}
		if line == "READY\n" {
			break
		}
	}
	if workers := children(t, cmd.Process.Pid); len(workers) < 3 {
		t.Fatalf("%d workers, want 3", len(workers))
	}
	all := hold(t, cmd.Process.Pid)
	for _, pid := range sweeperOf(t, cmd.Process.Pid) {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		all = append(all, fd)
	}
	cmd.Process.Kill()
	cmd.Wait()
	gone(t, all)
	if dirs := cgroups(t, cmd.Process.Pid); len(dirs) > 0 {
		t.Errorf("cgroups are left: %v", dirs)
	}
}

// sweeperOf finds the sweeper of a process, if it has one.
func sweeperOf(t *testing.T, of int) (pids []int) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range lines {
		stat, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "stat"))
		if b, err := os.ReadFile(f); err == nil && strings.HasPrefix(string(b), "callgate-sweeper") && strings.Contains(string(stat), fmt.Sprintf(") S %d ", of)) {
			pid, _ := strconv.Atoi(strings.Split(f, "/")[2])
			pids = append(pids, pid)
		}
	}
	return pids
}

// killing kills a worker at a call.
type killing struct {
	eval.Host
	pid, at, calls int
}

func (h *killing) Do(ctx context.Context, calls []eval.Call) []eval.Result {
	if h.calls++; h.calls == h.at {
		unix.Kill(h.pid, unix.SIGKILL)
	}
	return h.Host.Do(ctx, calls)
}

// TestAWorkerThatIsKilled dies at every call of a program in turn, and at any time. The error is a clean one.
func TestAWorkerThatIsKilled(t *testing.T) {
	for at := 1; at <= 4; at++ {
		p := self(t, ProcessOptions{})
		host := &killing{newWorld(), p.Pid(), at, 0}
		s, err := p.Open(t.Context(), Config{Config: eval.Config{Host: host, Tools: worldTools}})
		if err != nil {
			t.Fatal(err)
		}
		out, err := s.Exec(t.Context(), "t.star", "recv()\nrecv()\nrecv()", low, eval.Past{})
		dies := at <= host.calls
		if err != nil || dies != (out.Err != nil) || dies && (out.Err.Code != codeWorker || out.Err.Text != "the worker ended: signal: killed") {
			t.Errorf("killed at call %d of %d: got %+v, %v", at, host.calls, out.Err, err)
		}
		s.Close()
	}
	for range 5 {
		p := self(t, ProcessOptions{})
		s, err := p.Open(t.Context(), Config{Config: eval.Config{Host: newWorld(), Tools: worldTools}})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Duration(rand.IntN(20_000))*time.Microsecond, p.Kill)
		out, err := s.Exec(t.Context(), "t.star", "while True: recv()", low, eval.Past{})
		if err != nil || out.Err == nil || out.Err.Code != codeWorker && out.Err.Code != "limit.calls" {
			t.Errorf("got %+v, %v", out, err)
		}
		s.Close()
	}
}

// TestThePool gives each session a worker of its own, also those that were killed while they waited.
func TestThePool(t *testing.T) {
	pool := &Pool{Size: 3}
	defer pool.Close()
	if err := pool.Fill(t.Context()); err != nil {
		t.Skipf("no worker can be confined here: %v", err)
	}
	pool.idle[1].Kill()
	var pids []int
	for range 6 {
		p, err := pool.Get(t.Context(), eval.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(pids, p.Pid()) {
			t.Errorf("worker %d was given out twice", p.Pid())
		}
		pids = append(pids, p.Pid())
		s, err := p.Open(t.Context(), Config{Config: eval.Config{Host: newWorld()}})
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	big, err := pool.Get(t.Context(), eval.Limits{Memory: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	big.Kill()
	if _, err := (&Pool{Options: ProcessOptions{Path: "/nowhere"}}).Get(t.Context(), eval.Limits{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that there is no such file", err)
	}
}
