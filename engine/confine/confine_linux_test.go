//go:build amd64 || arm64

package confine

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	switch {
	case strings.HasPrefix(os.Args[0], probeName):
		beProbed()
	case os.Args[0] == Name && Becoming(os.Args):
		fmt.Fprintln(os.Stderr, Become(os.Args))
		os.Exit(2)
	case os.Getenv(commandProbe) != "":
		beCommanded()
	}
	os.Exit(m.Run())
}

// underRace says that the race detector is on, which needs cgo.
var underRace bool

// aim makes what probes are aimed at.
func aim(t *testing.T) target {
	t.Helper()
	at := target{Parent: os.Getpid(), Socket: fmt.Sprintf("callgate-probe-%d", os.Getpid()), Key: 0x43470000 + os.Getpid()&0xffff}
	// Not by package net, for with it the test would have cgo.
	listen := func(family int, at unix.Sockaddr) int {
		fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			t.Cleanup(func() { unix.Close(fd) })
			if err = unix.Bind(fd, at); err == nil {
				err = unix.Listen(fd, 1000)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return fd
	}
	name, err := unix.Getsockname(listen(unix.AF_INET, loopback(0)))
	if err != nil {
		t.Fatal(err)
	}
	at.Port = name.(*unix.SockaddrInet4).Port
	listen(unix.AF_UNIX, &unix.SockaddrUnix{Name: "@" + at.Socket})
	if at.Host, err = os.Hostname(); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	at.Open = 200
	if err := unix.Dup3(int(w.Fd()), at.Open, 0); err != nil { // as a careless host leaves it
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(at.Open) })
	id, _, errno := syscall.Syscall(unix.SYS_SHMGET, uintptr(at.Key), 1, unix.IPC_CREAT|0o666)
	if errno != 0 {
		t.Fatal(errno)
	}
	t.Cleanup(func() { syscall.Syscall(unix.SYS_SHMCTL, id, unix.IPC_RMID, 0) })
	return at
}

// attempt starts a worker and lets it try one probe. stopped says how that was stopped, "" if it was not.
func attempt(t *testing.T, name string, at target, without ...Mechanism) (stopped string, achieved []Mechanism) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	budget := Budget{Memory: 400 << 20, Seconds: 60}
	if name == "4 seconds of CPU" {
		budget.Seconds = 1
	}
	c, err := Start(Options{Path: self, Name: childName(), Budget: budget, Without: without})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Kill()
	in := bufio.NewReader(c.Socket)
	line, err := in.ReadString('\n')
	if err != nil {
		c.Kill()
		t.Fatalf("%s without %v: no hello: %v, %s", name, without, err, c.Ended())
	}
	achieved = slices.Clone(c.Achieved)
	for _, m := range strings.Fields(line) {
		achieved = append(achieved, Mechanism(m))
	}
	fmt.Fprintf(c.Socket, "%s\n%s", name, at)
	line, err = in.ReadString('\n')
	if err == nil {
		line = strings.TrimSpace(line)
		stopped, _ = strings.CutPrefix(line, "did")
	} else {
		<-c.done
		stopped = c.Ended()
	}
	if name == "execute a file" && err == io.EOF && stopped == "exit status 0" {
		stopped = "" // it was executed
	}
	if name == "outlive its end" && stopped == "" {
		c.Kill()
		left := ours(t)
		if len(left) == 0 {
			return "killed with it", achieved
		}
		for _, pid := range left {
			unix.Kill(pid, unix.SIGKILL)
		}
	}
	return stopped, achieved
}

// childName is what the workers of this process are called.
func childName() string { return fmt.Sprintf("%s-%d", probeName, os.Getpid()) }

// ours returns the processes that are workers of this one.
func ours(t *testing.T) (pids []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && strings.HasPrefix(string(b), childName()+"\x00") {
			pid, _ := strconv.Atoi(strings.Split(f, "/")[2])
			pids = append(pids, pid)
		}
	}
	return pids
}

// skipUnlessConfined skips where a worker cannot be confined at all, and says why.
func skipUnlessConfined(t *testing.T) []Mechanism {
	t.Helper()
	if underRace {
		t.Skip("the race detector needs cgo, with which not every thread can be confined: the plain run tests this")
	}
	_, achieved := attempt(t, "rest", target{Socket: "x", Host: "x"})
	if err := Enough(achieved); err != nil {
		t.Skip(err)
	}
	return achieved
}

// TestNoProbeSucceeds lets a worker that is as confined as it can be here try everything, and one that the machine gives less.
func TestNoProbeSucceeds(t *testing.T) {
	full := skipUnlessConfined(t)
	t.Logf("as user %d, with %v", os.Getuid(), full)
	at := aim(t)
	for _, machine := range []struct {
		name    string
		without []Mechanism
		known   []string // what is not stopped there
	}{
		{"with everything", nil, nil},
		{"without user namespaces", []Mechanism{Users}, []string{"start 500 threads"}},
		{"without landlock", []Mechanism{Landlock}, nil},
		{"without both", []Mechanism{Users, Landlock}, []string{"start 500 threads"}},
		{"without cgroups", []Mechanism{Cgroup}, nil},
	} {
		t.Run(machine.name, func(t *testing.T) {
			if testing.Short() && machine.without != nil {
				t.Skip("starts a worker for each probe")
			}
			reasons := map[string][]string{}
			for _, p := range probes {
				stopped, achieved := attempt(t, p.name, at, machine.without...)
				if slices.Contains(machine.known, p.name) {
					continue
				}
				if err := Enough(achieved); err != nil {
					t.Fatal(err)
				}
				if stopped == "" {
					t.Errorf("a worker could %s", p.name)
				}
				reasons[stopped] = append(reasons[stopped], p.name)
			}
			for how, names := range reasons {
				t.Logf("%s: %s", how, strings.Join(names, ", "))
			}
		})
	}
	if left := ours(t); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

var wholeTable = flag.Bool("mechanisms", false, "show all that each mechanism stops, not only what it stops in the first line in which it stops anything")

// TestNoMechanismIsDecoration leaves each mechanism out in turn, and shows which probes only it had stopped: among all the
// others, and in the lines behind them.
func TestNoMechanismIsDecoration(t *testing.T) {
	if testing.Short() {
		t.Skip("starts some thousand workers")
	}
	full := skipUnlessConfined(t)
	if !slices.Contains(full, Users) || !slices.Contains(full, Landlock) {
		t.Skip("this machine lacks mechanisms: what each stops cannot be shown")
	}
	at := aim(t)
	stops := map[Mechanism][]string{}
	for _, base := range [][]Mechanism{{}, {Limits}, {Seccomp}, {Seccomp, Landlock, Root, Cgroup}, {Seccomp, Users}, {Seccomp, Caps, Landlock}} {
		held := map[string]bool{}
		for _, p := range probes {
			stopped, _ := attempt(t, p.name, at, base...)
			held[p.name] = stopped != ""
		}
		for _, m := range full {
			if slices.Contains(base, m) || m == Mounts && !slices.Contains(base, Root) { // the empty root needs it
				continue
			}
			if len(stops[m]) > 0 && !*wholeTable {
				continue
			}
			if slices.Contains(base, Users) && slices.ContainsFunc(namespaces, func(n struct {
				m    Mechanism
				flag uintptr
			}) bool {
				return n.m == m
			}) {
				continue
			}
			for _, p := range probes {
				if !held[p.name] || slices.Contains(stops[m], p.name) {
					continue
				}
				if stopped, _ := attempt(t, p.name, at, append(slices.Clone(base), m)...); stopped == "" {
					stops[m] = append(stops[m], p.name)
				}
			}
		}
	}
	for _, m := range full {
		t.Logf("%-18s %s", m, strings.Join(stops[m], ", "))
		if len(stops[m]) == 0 && m != NoNew && m != Mounts {
			t.Errorf("%s stops no probe", m)
		}
	}
	if _, achieved := attempt(t, "rest", at, NoNew); slices.Contains(achieved, Seccomp) {
		t.Error("seccomp can be had without no-new-privileges: is that needed?")
	}
}

// TestAsAnOrdinaryUser runs the probes again as nobody.
func TestAsAnOrdinaryUser(t *testing.T) {
	skipUnlessConfined(t)
	if os.Getuid() != 0 || testing.Short() {
		t.Skip("this is an ordinary user, or there is no time")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "confine") // which others can enter
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "confine.test")
	if err := os.WriteFile(path, b, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-test.run=^(TestNoProbeSucceeds|TestCommand.*|TestACommand.*)$", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=/tmp", "HOME=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}

// TestAnExecutableThatIsItsOwnersAlone starts a worker whose file nobody else may execute.
func TestAnExecutableThatIsItsOwnersAlone(t *testing.T) {
	full := skipUnlessConfined(t)
	if !slices.Contains(full, Users) {
		t.Skip("there are no user namespaces here")
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "worker")
	if err := os.WriteFile(path, self, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		c, err := Start(Options{Path: path, Name: childName()})
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(c.Socket).ReadString('\n'); err != nil || !slices.Contains(c.Achieved, Users) || !strings.Contains(line, string(Root)) {
			t.Errorf("got %v and %q, %v", c.Achieved, line, err)
		}
		c.Kill()
	}
}

// TestManyStarts starts children while others start, so that the files of a start have numbers in any order: what moves in the child to
// where it belongs must not move over the executable.
func TestManyStarts(t *testing.T) {
	if full := skipUnlessConfined(t); !slices.Contains(full, Users) {
		t.Skip("there are no user namespaces here")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 20 {
				c, err := Start(Options{Path: self, Name: childName()})
				if err != nil {
					t.Error(err)
					return
				}
				c.Kill()
				if !slices.Contains(c.Achieved, Users) {
					t.Errorf("achieved %v", c.Achieved)
				}
			}
		})
	}
	all.Wait()
	if copies.by[self] != nil {
		t.Error("the executable could not be executed where it is")
	}
}
