//go:build amd64 || arm64

package confine

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A filter decides on every system call: those that Go's runtime needs to compute, to collect garbage and to talk to
// one socket are allowed, some with some arguments only. For any other the process is killed.

// The offsets of what a filter sees.
const (
	seeCall = 0
	seeArch = 4
	seeArgs = 16 // 8 bytes each, the lower half first
)

// condition is what the lower half of an argument must be for a call to be allowed.
type condition struct {
	arg  int
	mask uint32 // of the bits that are looked at
	want uint32
	none bool // none of the bits instead
}

// allowed are the calls, those that are made most first, of the process pid.
func allowed(pid uint32) []rule {
	rules := []rule{
		{nr: unix.SYS_FUTEX}, {nr: unix.SYS_READ}, {nr: unix.SYS_WRITE}, {nr: unix.SYS_EPOLL_PWAIT}, {nr: unix.SYS_NANOSLEEP}, {nr: unix.SYS_MADVISE},
		{nr: unix.SYS_MMAP, when: []condition{{2, unix.PROT_EXEC, 0, true}}}, {nr: unix.SYS_MUNMAP}, {nr: unix.SYS_MPROTECT, when: []condition{{2, unix.PROT_EXEC, 0, true}}},
		{nr: unix.SYS_RT_SIGRETURN}, {nr: unix.SYS_RT_SIGPROCMASK}, {nr: unix.SYS_RT_SIGACTION}, {nr: unix.SYS_SIGALTSTACK},
		{nr: unix.SYS_TGKILL, when: []condition{{0, ^uint32(0), pid, false}}},
		{nr: unix.SYS_GETPID}, {nr: unix.SYS_GETTID}, {nr: unix.SYS_SCHED_YIELD}, {nr: unix.SYS_SCHED_GETAFFINITY},
		{nr: unix.SYS_CLOCK_GETTIME}, {nr: unix.SYS_CLOCK_NANOSLEEP}, {nr: unix.SYS_GETTIMEOFDAY}, {nr: unix.SYS_RESTART_SYSCALL},
		{nr: unix.SYS_EPOLL_CREATE1}, {nr: unix.SYS_EPOLL_CTL}, {nr: unix.SYS_EVENTFD2}, {nr: unix.SYS_FCNTL, when: []condition{{1, ^uint32(0), unix.F_GETFL, false}}},
		{nr: unix.SYS_CLOSE}, {nr: unix.SYS_BRK}, {nr: unix.SYS_GETRANDOM}, {nr: unix.SYS_EXIT}, {nr: unix.SYS_EXIT_GROUP},
		// A thread of this process, and nothing else that clone can make.
		{nr: unix.SYS_CLONE, when: []condition{{0, unix.CLONE_THREAD | unix.CLONE_VM, unix.CLONE_THREAD | unix.CLONE_VM, false}, {0, spaces, 0, true}}},
		{nr: unix.SYS_CLONE3, errno: unix.ENOSYS}, // the C library then uses clone, whose flags can be seen
		{nr: unix.SYS_PRCTL, when: []condition{{0, ^uint32(0), unix.PR_SET_VMA, false}}},
		{nr: unix.SYS_SET_ROBUST_LIST}, {nr: unix.SYS_RSEQ},
	}
	return append(rules, allowedHere...)
}

// spaces are the flags of clone that make namespaces, or what is traced.
const spaces = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_PTRACE

// rule allows a call under conditions, all of which must hold; with errno it fails so instead.
type rule struct {
	nr    uint32
	when  []condition
	oneOf []uint32 // what the lower half of the first argument may be; nil: anything
	errno unix.Errno
}

// filter writes the rules as a program for the kernel, which kills the process for any other call.
func filter(rules []rule) []unix.SockFilter {
	kill := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_KILL_PROCESS}
	return assemble(rules, kill, kill)
}

// assemble writes the rules as a program for the kernel. What comes of a call whose conditions do not hold is otherwise, and
// rest is what follows the rules.
func assemble(rules []rule, otherwise unix.SockFilter, rest ...unix.SockFilter) []unix.SockFilter {
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	jump := func(op uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | op | unix.BPF_K, Jt: yes, Jf: no, K: k}
	}
	end := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	kill := end(unix.SECCOMP_RET_KILL_PROCESS)
	p := []unix.SockFilter{load(seeArch), jump(unix.BPF_JEQ, arch, 1, 0), kill, load(seeCall)}
	for _, r := range rules {
		var body []unix.SockFilter
		for _, c := range r.when {
			body = append(body, load(uint32(seeArgs+8*c.arg)))
			if c.none {
				body = append(body, jump(unix.BPF_JSET, c.mask, 0, 1))
			} else {
				if c.mask != ^uint32(0) {
					body = append(body, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: c.mask})
				}
				body = append(body, jump(unix.BPF_JEQ, c.want, 1, 0))
			}
			body = append(body, otherwise)
		}
		if len(r.oneOf) > 0 {
			body = append(body, load(seeArgs))
			for i, v := range r.oneOf {
				body = append(body, jump(unix.BPF_JEQ, v, uint8(len(r.oneOf)-i), 0))
			}
			body = append(body, otherwise)
		}
		if r.errno != 0 {
			body = append(body, end(unix.SECCOMP_RET_ERRNO|uint32(r.errno)))
		} else {
			body = append(body, end(unix.SECCOMP_RET_ALLOW))
		}
		p = append(p, jump(unix.BPF_JEQ, r.nr, 0, uint8(len(body))))
		p = append(p, body...)
	}
	return append(p, rest...)
}

// filterCalls sets the filter for every thread.
func filterCalls() error {
	return setFilter(filter(allowed(uint32(os.Getpid()))))
}

// setFilter sets a filter for every thread.
func setFilter(p []unix.SockFilter) error {
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	set := func(flags uintptr) error {
		thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
		switch {
		case errno != 0:
			return errno
		case thread != 0: // the one that could not follow: no filter was set
			return unix.ESRCH
		}
		return nil
	}
	// With the second flag a thread that cannot follow is an error, not the number of that thread.
	err := set(unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH)
	if errors.Is(err, unix.EINVAL) {
		err = set(unix.SECCOMP_FILTER_FLAG_TSYNC)
	}
	if errors.Is(err, unix.EACCES) { // not without giving up privileges first
		return errAbsent
	}
	if err != nil {
		return absent(err)
	}
	return nil
}
