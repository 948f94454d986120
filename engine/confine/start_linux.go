//go:build amd64 || arm64

package confine

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Child is a process that was started. Its methods may be called at any time, by any goroutine.
type Child struct {
	Socket   *os.File    // to the child
	Achieved []Mechanism // by the side that started it

	proc  *os.Process
	state *os.ProcessState // once it has ended
	group *group
	done  chan struct{} // nothing is left of it
	how   string
	why   string // there is no container, if it was to become one
	once  sync.Once
}

// The namespaces that a child gets, all or none: without that of users they take privileges, and there are no half ones.
var namespaces = []struct {
	m    Mechanism
	flag uintptr
}{
	{Users, unix.CLONE_NEWUSER}, {Processes, unix.CLONE_NEWPID}, {Network, unix.CLONE_NEWNET}, {Mounts, unix.CLONE_NEWNS},
	{IPC, unix.CLONE_NEWIPC}, {Hosts, unix.CLONE_NEWUTS}, {Cgroups, unix.CLONE_NEWCGROUP},
}

// environment is all that a child knows of its surroundings: what keeps Go's runtime from reading files.
var environment = []string{"GOMAXPROCS=2", "GODEBUG=containermaxprocs=0,updatemaxprocs=0", "GOTRACEBACK=none"}

// Start starts a child in namespaces of its own, with nothing open but one end of a socket. It dies with the process that called
// Start, however that ends. Without user namespaces the child is started without any: Achieved says so.
func Start(o Options) (*Child, error) {
	exe, err := os.OpenFile(o.Path, unix.O_PATH, 0)
	if err != nil {
		return nil, fmt.Errorf("confine: %w", err)
	}
	defer exe.Close()
	c, err := start(o, exe)
	users := !slices.Contains(o.Without, Users)
	if users && errors.Is(err, unix.EACCES) { // it is its owner's alone to execute, and in its namespace the child is somebody else
		if copied, _ := copies.of(o.Path); copied != nil {
			c, err = start(o, copied)
		}
	}
	if err != nil && users && o.Runtime == "" && !o.becomes && slices.ContainsFunc(refusals, func(e error) bool { return errors.Is(err, e) }) {
		o.Without = append(slices.Clone(o.Without), Users)
		c, err = start(o, exe)
	}
	if err != nil {
		return nil, fmt.Errorf("confine: start %s: %w", o.Path, err)
	}
	return c, nil
}

// refusals are what a kernel says that gives nobody namespaces, or not this process.
var refusals = []error{unix.EPERM, unix.ENOSPC, unix.EINVAL, unix.EACCES, unix.ENOSYS, unix.EUSERS}

// copies are executables in memory that everybody may execute.
var copies copied

type copied struct {
	mu sync.Mutex
	by map[string]*os.File
}

func (c *copied) of(path string) (*os.File, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.by[path]; f != nil {
		return f, nil
	}
	from, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	fd, err := unix.MemfdCreate("callgate-worker", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	if _, err = io.Copy(f, from); err == nil {
		err = f.Chmod(0o555)
	}
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	if c.by == nil {
		c.by = map[string]*os.File{}
	}
	c.by[path] = f
	return f, nil
}

func start(o Options, exe *os.File) (*Child, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	theirs := os.NewFile(uintptr(pair[1]), "worker")
	c := &Child{Socket: os.NewFile(uintptr(pair[0]), "worker"), done: make(chan struct{})}
	// By its file, not by its path, in whose folders the child may have nothing to look for. The file is handed to the child as its
	// socket is: among the numbers of other files, those that Go puts in order in the child may end up in its place.
	path := o.Path
	if unix.Access(fmt.Sprintf("/proc/self/fd/%d", exe.Fd()), unix.F_OK) == nil {
		path = fmt.Sprintf("/proc/self/fd/%d", exeFD)
	}
	cmd := &exec.Cmd{Path: path, Env: environment, Dir: "/", Stdin: o.in, Stdout: o.out, Stderr: o.errs, ExtraFiles: []*os.File{theirs, exe}, SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}}
	sys := cmd.SysProcAttr
	if slices.Contains(o.Without, Users) {
		for _, n := range namespaces {
			o.Without = append(o.Without, n.m)
		}
		o.Without = append(o.Without, Root)
	}
	for _, n := range namespaces {
		if !slices.Contains(o.Without, n.m) {
			sys.Cloneflags |= n.flag
			c.Achieved = append(c.Achieved, n.m)
		}
	}
	if sys.Cloneflags&unix.CLONE_NEWUSER != 0 {
		sys.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
		sys.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
		if os.Geteuid() == 0 && !o.becomes {
			id := unusedID()
			sys.UidMappings[0].HostID, sys.GidMappings[0].HostID = id, id
		}
		sys.Credential = &syscall.Credential{NoSetGroups: true}
	}
	cmd.Args = o.plan()
	var reason *os.File
	if o.Runtime != "" {
		oci, err := os.OpenFile(o.Runtime, unix.O_PATH, 0)
		if err != nil {
			c.Socket.Close()
			theirs.Close()
			return nil, fmt.Errorf("confine: container: %s: %w", o.Runtime, errors.Unwrap(err))
		}
		defer oci.Close()
		read, write, err := os.Pipe()
		if err != nil {
			c.Socket.Close()
			theirs.Close()
			return nil, err
		}
		defer write.Close()
		reason, cmd.ExtraFiles = read, append(cmd.ExtraFiles, oci, write)
	}
	if !slices.Contains(o.Without, Cgroup) {
		c.group = newGroup(within(o.Budget.withDefaults(), o.Runtime))
	}
	if o.Runtime != "" {
		c.Achieved = append(c.Achieved, Container)
	}
	started := make(chan error)
	go func() {
		// The child is killed when the thread that started it ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		theirs.Close()
		if err == nil {
			c.proc = cmd.Process
		}
		started <- err
		if err == nil {
			cmd.Wait()
		}
		if reason != nil {
			text, _ := io.ReadAll(io.LimitReader(reason, maxReason)) // nobody but the child had the other end, until it became a runtime
			reason.Close()
			c.why = string(text)
		}
		if err != nil {
			return
		}
		c.state, c.how = cmd.ProcessState, cmd.ProcessState.String()
		c.group.remove()
		close(c.done)
	}()
	if err := <-started; err != nil {
		c.Socket.Close()
		c.group.remove()
		return nil, err
	}
	if c.group.add(c.proc.Pid) {
		c.Achieved = append(c.Achieved, Cgroup)
	}
	return c, nil
}

// unusedID returns a user of the host that nobody is, and no other child.
func unusedID() int { return 0x70000000 + rand.IntN(0x08000000) }

// Kill kills the child and all that it started, and returns when nothing is left of them.
func (c *Child) Kill() {
	c.once.Do(func() {
		c.Socket.Close()
		c.proc.Kill() // if it has ended, there is nothing to kill
		c.group.kill()
	})
	<-c.done
}

// Ended says how the child ended, such as "signal: killed"; "" if it has not.
func (c *Child) Ended() string {
	select {
	case <-c.done:
		return c.how
	default:
		return ""
	}
}

// Unlaunched says why the child, which has ended, did not become a container; "" if it did, or was not to.
func (c *Child) Unlaunched() string {
	select {
	case <-c.done:
		return c.why
	default:
		return ""
	}
}

// Pid returns the child's process id, as its parent sees it.
func (c *Child) Pid() int { return c.proc.Pid }
