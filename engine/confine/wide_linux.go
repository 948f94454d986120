//go:build amd64 || arm64

package confine

import "golang.org/x/sys/unix"

// What commands may not call, whatever their profile, for nothing that a command is for needs it: what looks into other processes, or changes mounts, namespaces, the
// clock, the kernel or what it runs; keyrings and what processes share by number; and ways into the kernel that had many faults.
var forbidden = []uint32{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP, unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOVE_MOUNT,
	unix.SYS_OPEN_TREE, unix.SYS_MOUNT_SETATTR, unix.SYS_STATMOUNT, unix.SYS_LISTMOUNT, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
	unix.SYS_SYSLOG, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_NFSSERVCTL, unix.SYS_VHANGUP, unix.SYS_FANOTIFY_INIT,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL, unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMCTL, unix.SYS_SEMOP,
	unix.SYS_SEMTIMEDOP, unix.SYS_MSGGET, unix.SYS_MSGCTL, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_USERFAULTFD, unix.SYS_MEMFD_SECRET,
	unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
}

// lastKnown is the last call that was judged for the list above. To programs the kernel is one that has no later ones.
const lastKnown = unix.SYS_MSEAL

// wideFilter is the filter of commands: programs that nobody has written for it, and that may start others. A call that is forbidden fails; the
// process lives.
func wideFilter(network bool) []unix.SockFilter {
	end := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	no := end(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM))
	rules := []rule{
		{nr: unix.SYS_CLONE, when: []condition{{0, spaces, 0, true}}}, {nr: unix.SYS_CLONE3, errno: unix.ENOSYS},
		{nr: unix.SYS_PERSONALITY, oneOf: []uint32{0, ^uint32(0)}},
	}
	if network {
		rules = append(rules, rule{nr: unix.SYS_SOCKET, oneOf: []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}})
	} else {
		rules = append(rules, rule{nr: unix.SYS_SOCKET, errno: unix.EPERM})
	}
	for _, nr := range append(forbidden, forbiddenHere...) {
		rules = append(rules, rule{nr: nr, errno: unix.EPERM})
	}
	later := unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K, Jt: 0, Jf: 1, K: lastKnown}
	return assemble(rules, no, later, end(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS)), end(unix.SECCOMP_RET_ALLOW))
}
