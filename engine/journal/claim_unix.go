//go:build unix

package journal

import (
	"errors"
	"os"
	"sync"
	"syscall"
)

// processExists reports whether there is a process of that number on this host.
func processExists(pid int) bool {
	return pid > 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// processSpace names what numbers of processes count in: on Linux, containers have numbers of their own.
var processSpace = sync.OnceValue(func() string {
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return space
})
