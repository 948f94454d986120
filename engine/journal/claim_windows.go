package journal

import "os"

// processExists reports whether there is a process of that number on this host.
func processExists(pid int) bool {
	p, err := os.FindProcess(pid) // which opens it, here
	if err != nil {
		return false
	}
	p.Release()
	return true
}

// processSpace names what numbers of processes count in: there is one.
func processSpace() string { return "" }
