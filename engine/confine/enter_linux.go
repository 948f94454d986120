//go:build amd64 || arm64

package confine

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a child is handed: its end of the socket, and the executable, which it closes before all else.
const (
	socketFD = 3
	exeFD    = 4
)

// Enter confines the calling process, which [Start] has started, according to its arguments, and returns the
// socket and what it achieved. It must be called before any other file is opened, and before anything is read. What the machine does not have is
// not achieved; anything else that goes wrong is an error, after which the process must exit.
func Enter(args []string) (*os.File, []Mechanism, error) {
	budget, without, err := readPlan(args)
	if err != nil {
		return nil, nil, err
	}
	if isSocket(0) && !isSocket(socketFD) { // a runtime that hands on no other files
		if err := errors.Join(unix.Dup3(0, socketFD, unix.O_CLOEXEC), unix.Dup3(1, 0, 0)); err != nil {
			return nil, nil, fmt.Errorf("confine: %w", err)
		}
	}
	if !isSocket(socketFD) {
		return nil, nil, errors.New("confine: there is no socket to a supervisor: this program is started by callgate, not by hand")
	}
	if !slices.Contains(without, Hosts) {
		unix.Sethostname([]byte("worker")) // whose host this is, is nobody's business here
	}
	var achieved []Mechanism
	for _, step := range []struct {
		m  Mechanism
		do func() error
	}{
		{Files, closeFiles},
		{Root, leaveFiles},
		{Limits, func() error { return setLimits(budget, slices.Contains(without, Users)) }},
		{Caps, dropCaps},
		{NoNew, noNewPrivileges},
		{Landlock, landlock},
		{Seccomp, filterCalls},
	} {
		if slices.Contains(without, step.m) {
			continue
		}
		switch err := step.do(); {
		case err == nil:
			achieved = append(achieved, step.m)
		case errors.Is(err, errAbsent):
		default:
			return nil, nil, fmt.Errorf("confine: %s: %w", step.m, err)
		}
	}
	return os.NewFile(socketFD, "supervisor"), achieved, nil
}

// isSocket reports whether a file is the kind of socket that children have.
func isSocket(fd int) bool {
	t, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	return err == nil && t == unix.SOCK_STREAM
}

// errAbsent is what a step returns that the machine does not have.
var errAbsent = errors.New("not here")

// absent turns the errors of a kernel that does not know a call, or does not let anybody use it, into errAbsent.
func absent(err error) error {
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EPERM) {
		return errAbsent
	}
	return err
}

// closeFiles closes everything but /dev/null, which stands for the standard files, the socket, and what Go's runtime waits
// with, if it does already: that was not inherited, for it is closed when something is executed, and it is no file of the tree.
func closeFiles() error {
	const most = 64 // where the runtime's are
	from := socketFD + 1
	for fd := from; fd < most; fd++ {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC == 0 {
			continue
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != 0 {
			continue
		}
		if err := closeRange(from, fd-1); err != nil {
			return err
		}
		from = fd + 1
	}
	return closeRange(from, math.MaxInt32)
}

func closeRange(first, last int) error {
	if first > last {
		return nil
	}
	err := unix.CloseRange(uint(first), uint(last), 0)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		for fd := first; fd <= min(last, 1<<16); fd++ {
			unix.Close(fd)
		}
		return nil
	}
	return err
}

// leaveFiles makes an empty folder that cannot be written the root of the file tree.
func leaveFiles() error {
	if err := beginTree("size=4k,nr_inodes=2,mode=0555"); err != nil {
		return err
	}
	return enterTree()
}

// treeFlags are those of the mounts of which a new file tree is made.
const treeFlags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC

// beginTree makes a folder in memory the working folder, where a file tree can be made.
func beginTree(options string) error {
	// First of all: what is mounted here must not be mounted for others.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	err := errors.New("there is no folder to begin from")
	for _, dir := range []string{"/tmp", "/mnt", "/proc", "/sys", "/dev", "/etc"} {
		if err = unix.Mount("callgate", dir, "tmpfs", treeFlags, options); err == nil {
			return unix.Chdir(dir)
		}
	}
	return err
}

// enterTree makes the working folder, which nobody can write any more, the root of the file tree.
func enterTree() error {
	if err := unix.Mount("", ".", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|treeFlags, ""); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		if !errors.Is(err, unix.EINVAL) { // the root is the kernel's first, which cannot be left so
			return err
		}
		if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
			return err
		}
		if err := unix.Chroot("."); err != nil {
			return err
		}
		return unix.Chdir("/")
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return err
	}
	return unix.Chdir("/")
}

// setLimits bounds what the process may use. Threads are counted by user: without a user of its own they cannot be.
func setLimits(b Budget, shared bool) error {
	limits := map[int]uint64{
		unix.RLIMIT_DATA: uint64(b.Memory), unix.RLIMIT_CPU: uint64(b.Seconds), unix.RLIMIT_NPROC: uint64(b.Threads),
		unix.RLIMIT_NOFILE: 16, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_CORE: 0, unix.RLIMIT_MEMLOCK: 0, unix.RLIMIT_MSGQUEUE: 0,
	}
	if shared {
		delete(limits, unix.RLIMIT_NPROC)
	}
	return limit(limits)
}

// limit lowers limits, hard and soft.
func limit(limits map[int]uint64) error {
	for which, n := range limits {
		var now unix.Rlimit
		if err := unix.Getrlimit(which, &now); err != nil {
			return err
		}
		n = min(n, now.Max)
		err := unix.Setrlimit(which, &unix.Rlimit{Cur: n, Max: n})
		if errors.Is(err, unix.EPERM) && which == unix.RLIMIT_MSGQUEUE { // gVisor has no queues to limit
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// onEveryThread makes a system call on every thread of the process. Go can do so only in programs without cgo.
func onEveryThread(trap, a1, a2, a3 uintptr) error {
	_, _, errno := syscall.AllThreadsSyscall(trap, a1, a2, a3)
	if errno != 0 {
		return absent(errno)
	}
	return nil
}

// dropCaps gives up every capability, for good: what is executed afterwards has none either.
func dropCaps() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return onEveryThread(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0)
}

// noNewPrivileges keeps what is executed from having more privileges. Where it cannot be done for every thread at once, the
// filter does it for the others.
func noNewPrivileges() error {
	err := onEveryThread(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0)
	if errors.Is(err, errAbsent) {
		return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	}
	return err
}

// landlock forbids every use of files, and of TCP, that the kernel knows of.
func landlock() error {
	fd, _, err := ruleset(false)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return onEveryThread(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(fd), 0, 0)
}

// ruleset makes a ruleset of landlock that forbids all uses of files, which it returns, and unless network is set of TCP.
func ruleset(network bool) (fd int, files uint64, err error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, 0, absent(errno)
	}
	// What each version added. The scope of signals, of version 6, is left out: kernels without a later correction
	// keep Go from interrupting its own threads.
	added := []uint64{0, 1<<13 - 1, 1 << 13, 1 << 14, 0, 1 << 15}
	attr := unix.LandlockRulesetAttr{}
	for v := 1; v <= int(abi) && v < len(added); v++ {
		attr.Handled_access_fs |= added[v]
	}
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if abi >= 4 && !network {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		size += unsafe.Sizeof(attr.Handled_access_net)
	}
	n, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return 0, 0, absent(errno)
	}
	return int(n), attr.Handled_access_fs, nil
}
