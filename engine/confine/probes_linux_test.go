//go:build amd64 || arm64

package confine

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A probe does what no program should be able to. It returns nil if it could. What it is told of its target is the
// parent's process id, the number of a file that the parent has left open, a port and so on.
type probe struct {
	name string
	do   func(target) error
}

// target is what probes are aimed at.
type target struct {
	Parent int
	Open   int    // a file of the parent's
	Port   int    // TCP and UDP, on the loopback
	Socket string // an abstract name
	Key    int    // of shared memory
	Host   string // the host's name
}

func (t target) String() string {
	return fmt.Sprintf("%d %d %d %s %d %s", t.Parent, t.Open, t.Port, t.Socket, t.Key, t.Host)
}

func readTarget(s string) (t target, err error) {
	_, err = fmt.Sscan(s, &t.Parent, &t.Open, &t.Port, &t.Socket, &t.Key, &t.Host)
	return t, err
}

// call makes a system call for its effect.
func call(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := syscall.RawSyscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return errno
	}
	return nil
}

func text(s string) uintptr {
	b, _ := unix.BytePtrFromString(s)
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(b))
}

var kept []*byte // so that what system calls are given is not collected

func loopback(port int) *unix.SockaddrInet4 {
	return &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
}

// socket makes a socket, and does something with it.
func socket(family, kind, proto int, do func(fd int) error) error {
	fd, err := unix.Socket(family, kind, proto)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if do == nil {
		return nil
	}
	return do(fd)
}

// read reports whether there is anything in a file.
func read(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, make([]byte, 64))
	if err == nil && n == 0 {
		err = errors.New("it is empty")
	}
	return err
}

func fork(child func()) (int, error) {
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	if pid == 0 {
		child()
		for {
			syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	return int(pid), nil
}

var probes = []probe{
	{"read a file", func(target) error { return read("/etc/passwd") }},
	{"write a file", func(t target) error {
		path := "/tmp/callgate-probe-" + strconv.Itoa(t.Parent)
		fd, err := unix.Open(path, unix.O_CREAT|unix.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		unix.Unlink(path)
		return unix.Close(fd)
	}},
	{"fill the disk", func(t target) error {
		path := "/dev/shm/callgate-probe-" + strconv.Itoa(t.Parent)
		fd, err := unix.Open(path, unix.O_CREAT|unix.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		defer unix.Unlink(path)
		_, err = unix.Write(fd, make([]byte, 1<<20))
		return err
	}},
	{"list the root", func(target) error {
		fd, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		n, err := unix.Getdents(fd, make([]byte, 4096))
		if err == nil && n < 100 { // . and ..
			err = errors.New("it is empty")
		}
		return err
	}},
	{"read /proc of others", func(t target) error { return read(fmt.Sprintf("/proc/%d/status", t.Parent)) }},
	{"read its own cgroup", func(target) error {
		b, err := os.ReadFile("/proc/self/cgroup")
		if err == nil && !strings.Contains(strings.ReplaceAll(string(b), ":/\n", ""), ":/") {
			err = errors.New("it is the root")
		}
		return err
	}},
	{"change the mode of a file", func(target) error { return unix.Chmod("/tmp", 0o1777) }},
	{"make a device", func(t target) error {
		path := "/tmp/callgate-probe-dev-" + strconv.Itoa(t.Parent)
		err := unix.Mknod(path, unix.S_IFIFO|0o600, 0)
		unix.Unlink(path)
		return err
	}},
	{"use a file that was left open", func(t target) error { _, err := unix.Write(t.Open, []byte("x")); return err }},
	{"TCP connect", func(t target) error {
		return socket(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Connect(fd, loopback(t.Port)) })
	}},
	{"TCP listen", func(t target) error {
		return socket(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Bind(fd, loopback(0)) })
	}},
	{"UDP", func(t target) error {
		return socket(unix.AF_INET, unix.SOCK_DGRAM, 0, func(fd int) error { return unix.Sendto(fd, []byte("x"), 0, loopback(t.Port)) })
	}},
	{"a socket of IPv6", func(target) error { return socket(unix.AF_INET6, unix.SOCK_STREAM, 0, nil) }},
	{"a raw socket", func(target) error { return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP, nil) }},
	{"a packet socket", func(target) error { return socket(unix.AF_PACKET, unix.SOCK_RAW, 0, nil) }},
	{"a netlink socket", func(target) error { return socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE, nil) }},
	{"a vsock", func(target) error { return socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0, nil) }},
	{"a socket of the kernel's ciphers", func(target) error { return socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0, nil) }},
	{"an abstract unix socket", func(t target) error {
		return socket(unix.AF_UNIX, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Connect(fd, &unix.SockaddrUnix{Name: "@" + t.Socket}) })
	}},
	{"trace the parent", func(t target) error {
		const seize = 0x4206
		return call(unix.SYS_PTRACE, seize, uintptr(t.Parent), 0, 0)
	}},
	{"read the parent's memory", func(t target) error { return call(unix.SYS_PIDFD_OPEN, uintptr(t.Parent), 0) }},
	{"signal the parent", func(t target) error { return unix.Kill(t.Parent, 0) }},
	{"signal everybody", func(target) error { return unix.Kill(-1, unix.SIGCONT) }},
	{"fork", func(target) error { _, err := fork(func() {}); return err }},
	{"outlive its end", func(target) error {
		_, err := fork(func() {
			syscall.RawSyscall(unix.SYS_SETSID, 0, 0, 0)
			for range 600 { // a minute at most
				nap := unix.Timespec{Nsec: 100_000_000}
				syscall.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&nap)), 0, 0)
			}
		})
		return err
	}},
	{"start 500 threads", func(target) error {
		for range 500 {
			started := make(chan struct{})
			go func() {
				runtime.LockOSThread()
				close(started)
				select {}
			}()
			<-started
		}
		return nil
	}},
	{"execute a file", func(target) error {
		return call(unix.SYS_EXECVE, text("/bin/true"), 0, 0)
	}},
	{"execute from memory", func(target) error {
		fd, err := unix.MemfdCreate("x", 0)
		if err != nil {
			return err
		}
		if _, err := unix.Write(fd, []byte("#!/bin/true\n")); err != nil {
			return err
		}
		return nil
	}},
	{"memory that can be executed", func(target) error {
		_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_ANON|unix.MAP_PRIVATE)
		return err
	}},
	{"io_uring", func(target) error {
		var params [120]byte
		return call(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params)))
	}},
	{"userfaultfd", func(target) error { return call(unix.SYS_USERFAULTFD, 1) }},
	{"bpf", func(target) error {
		var attr [64]byte
		attr[0], attr[4], attr[8], attr[12] = 2, 4, 4, 1 // an array of one element
		return call(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr)), 64)
	}},
	{"perf events", func(target) error {
		attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}
		_, err := unix.PerfEventOpen(&attr, 0, -1, -1, 0)
		return err
	}},
	{"a user namespace", func(target) error { _, err := forkIn(unix.CLONE_NEWUSER); return err }},
	{"a mount", func(target) error { return unix.Mount("x", "/", "tmpfs", 0, "") }},
	{"leave the root", func(target) error { return unix.Chroot("/") }},
	{"set the host's name", func(target) error { return unix.Sethostname([]byte("probe")) }},
	{"learn the host's name", func(t target) error {
		var u unix.Utsname
		if err := unix.Uname(&u); err != nil {
			return err
		}
		if unix.ByteSliceToString(u.Nodename[:]) != t.Host {
			return errors.New("it is another name")
		}
		return nil
	}},
	{"set the clock", func(target) error {
		var now unix.Timespec
		unix.ClockGettime(unix.CLOCK_REALTIME, &now)
		return unix.ClockSettime(unix.CLOCK_REALTIME, &now)
	}},
	{"the keyring", func(target) error {
		_, err := unix.AddKey("user", "callgate-probe", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
		return err
	}},
	{"shared memory of others", func(t target) error {
		_, _, errno := syscall.RawSyscall(unix.SYS_SHMGET, uintptr(t.Key), 1, 0)
		if errno != 0 {
			return errno
		}
		return nil
	}},
	{"the kernel's log", func(target) error { return call(unix.SYS_SYSLOG, 10) }},
	{"become another user", func(target) error { return unix.Setuid(12345) }},
	{"be dumped", func(target) error {
		var l unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_CORE, &l); err != nil {
			return err
		}
		if l.Max == 0 {
			return errors.New("there is no room for a core")
		}
		return nil
	}},
	{"1 GiB of memory", func(target) error {
		for range 16 {
			b := make([]byte, 64<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			held = append(held, b)
		}
		return nil
	}},
	{"4 seconds of CPU", func(target) error {
		for n := 0; ; n++ {
			if n&(1<<20-1) == 0 {
				var now unix.Timespec
				unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now)
				if now.Sec >= 4 {
					return nil
				}
			}
		}
	}},
}

var held [][]byte

// forkIn makes a child in new namespaces.
func forkIn(flags uintptr) (int, error) {
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD)|flags, 0, 0, 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	if pid == 0 {
		for {
			syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	return int(pid), nil
}

const probeName = "callgate-probe"

// beProbed is the worker of these tests: it confines itself, says what it achieved, and does what it is told.
func beProbed() {
	socket, achieved, err := Enter(os.Args)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	var line strings.Builder
	for _, m := range achieved {
		line.WriteString(string(m) + " ")
	}
	fmt.Fprintln(socket, line.String())
	b := make([]byte, 4096)
	n, err := socket.Read(b)
	if err != nil {
		os.Exit(1)
	}
	name, rest, _ := strings.Cut(string(b[:n]), "\n")
	at, err := readTarget(rest)
	if err != nil {
		os.Exit(1)
	}
	for _, p := range probes {
		if p.name == name {
			if err := p.do(at); err != nil {
				fmt.Fprintln(socket, "refused:", err)
			} else {
				fmt.Fprintln(socket, "did")
			}
		}
	}
	if name == "rest" {
		fmt.Fprintln(socket, "did")
	}
	socket.Read(b) // until the end
	time.Sleep(time.Hour)
}
