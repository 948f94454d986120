package confine

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_X86_64

// allowedHere are calls that only this architecture has.
var allowedHere = []rule{{nr: unix.SYS_EPOLL_WAIT}, {nr: unix.SYS_ARCH_PRCTL}}
