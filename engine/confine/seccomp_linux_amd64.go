package confine

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_X86_64

// allowedHere are calls that only this architecture has.
var allowedHere = []rule{{nr: unix.SYS_EPOLL_WAIT}, {nr: unix.SYS_ARCH_PRCTL}}

// forbiddenHere are calls that only this architecture has, and that commands may not make.
var forbiddenHere = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS_SYSFS, unix.SYS_CREATE_MODULE, unix.SYS_QUERY_MODULE, unix.SYS_GET_KERNEL_SYMS}
