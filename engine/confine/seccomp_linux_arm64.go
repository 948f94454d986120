package confine

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_AARCH64

// allowedHere are calls that only this architecture has.
var allowedHere []rule

// forbiddenHere are calls that only this architecture has, and that commands may not make.
var forbiddenHere []uint32
