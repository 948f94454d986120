package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// discardTyped drops what was typed on a terminal and not read yet, so that it does not answer a
// question that came later. Where it cannot, the question is asked all the same.
func discardTyped(f *os.File) {
	_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH)
}
