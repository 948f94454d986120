//go:build amd64 || arm64

package confine

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// group is the cgroup of one child, a folder for each hierarchy: one with version 2, one for each controller
// with version 1. nil is none.
type group struct{ dirs []string }

// hierarchies are the folders, one for each hierarchy, in which this process may make cgroups.
// Where memory or threads cannot be limited there are none: a host that gives a cgroup to nobody is common.
var hierarchies = sync.OnceValue(func() []string {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	return findHierarchies(string(own), string(mounts))
})

// findHierarchies finds them, given what /proc says. With version 1 they are this process's own cgroups. With version 2 a cgroup that has
// processes gives none of its controllers to cgroups in it: there it is the nearest above that does, and that this process may write.
func findHierarchies(own, mounts string) []string {
	var out []string
	for _, controller := range []string{"memory", "pids"} {
		if dir, _ := hierarchy(own, mounts, controller); dir != "" {
			out = append(out, dir)
		}
	}
	if len(out) == 2 {
		return out
	}
	dir, top := hierarchy(own, mounts, "")
	for ; dir != "" && (dir == top || strings.HasPrefix(dir, top+"/")); dir = filepath.Dir(dir) {
		given, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
		words := bytes.Fields(given)
		if err == nil && containsWord(words, "memory") && containsWord(words, "pids") && unix.Access(dir, unix.W_OK) == nil {
			return []string{dir}
		}
	}
	return nil
}

func containsWord(words [][]byte, w string) bool {
	for _, x := range words {
		if string(x) == w {
			return true
		}
	}
	return false
}

// hierarchy returns the folder of this process's cgroup in the hierarchy of a controller of version 1, or with
// "" in that of version 2, and where that is mounted; "" if there is none. own and mounts are what /proc says.
func hierarchy(own, mounts, controller string) (dir, top string) {
	path := ""
	for line := range strings.Lines(own) { // 4:memory:/a, 0::/a
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) == 3 && (controller == "" && f[0] == "0" && f[1] == "" || controller != "" && listed(f[1], controller)) {
			path = f[2]
		}
	}
	if path == "" {
		return "", ""
	}
	for line := range strings.Lines(mounts) { // 30 24 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
		before, after, ok := strings.Cut(strings.TrimSpace(line), " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 5 || len(g) < 3 {
			continue
		}
		if controller == "" && g[0] == "cgroup2" || controller != "" && g[0] == "cgroup" && listed(g[2], controller) {
			rel, under := strings.CutPrefix(path, strings.TrimSuffix(f[3], "/"))
			if !under {
				return "", ""
			}
			return filepath.Join(f[4], rel), filepath.Clean(f[4])
		}
	}
	return "", ""
}

func listed(list, word string) bool {
	for w := range strings.SplitSeq(list, ",") {
		if w == word {
			return true
		}
	}
	return false
}

// groups counts the cgroups made, so that each has a name of its own.
var groups atomic.Int64

// newGroup makes a cgroup within a budget, or nil if that cannot be.
func newGroup(b Budget) *group {
	parents := hierarchies()
	if parents == nil || !sweeper.begin() {
		return nil
	}
	name := fmt.Sprintf("callgate-%d-%d", os.Getpid(), groups.Add(1))
	g := &group{}
	for _, parent := range parents {
		dir := filepath.Join(parent, name)
		if len(g.dirs) == 1 && g.dirs[0] == dir {
			g.dirs = append(g.dirs, dir)
			continue
		}
		if !sweeper.watch(dir) || os.Mkdir(dir, 0o755) != nil {
			g.remove()
			return nil
		}
		g.dirs = append(g.dirs, dir)
	}
	if !g.limit(b) {
		g.remove()
		return nil
	}
	return g
}

// limit sets the limits, and reports whether both hold.
func (g *group) limit(b Budget) bool {
	memory, threads := strconv.FormatInt(b.Memory, 10), strconv.Itoa(b.Threads)
	if len(g.dirs) == 1 {
		dir := g.dirs[0]
		write(dir, "memory.swap.max", "0")
		write(dir, "memory.oom.group", "1")
		return write(dir, "memory.max", memory) && write(dir, "pids.max", threads)
	}
	// Each controller of version 1 has a folder, or both have one in common.
	return write(g.dirs[0], "memory.limit_in_bytes", memory) && write(g.dirs[1], "pids.max", threads)
}

func write(dir, file, text string) bool {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err == nil
}

// add puts a process, which has not begun to work, into the group, and reports whether it is there.
func (g *group) add(pid int) bool {
	if g == nil {
		return false
	}
	for _, dir := range g.dirs {
		if !write(dir, "cgroup.procs", strconv.Itoa(pid)) {
			return false
		}
	}
	return true
}

// kill kills what is in the group, where the kernel can do that.
func (g *group) kill() {
	if g != nil {
		for _, dir := range g.dirs {
			write(dir, "cgroup.kill", "1")
		}
	}
}

// remove removes the group, whose processes have ended. The kernel may need a moment to notice.
func (g *group) remove() {
	if g == nil {
		return
	}
	for _, dir := range g.dirs {
		for range 100 {
			if err := syscall.Rmdir(dir); err == nil || err == syscall.ENOENT {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// sweeper is a process that outlives this one by a moment, and removes the cgroups that were left because it was killed: unlike processes,
// mounts and sockets, they do not go with it. It is started with the first cgroup, ends with this process, and holds
// nothing but one end of a pipe.
var sweeper sweeping

type sweeping struct {
	once sync.Once
	mu   sync.Mutex
	pipe *os.File
}

// sweep reads folders, and removes them once nobody is left who could write more of them.
const sweep = `trap '' HUP INT TERM
while read -r d; do set -- "$@" "$d"; if [ $# -ge 1000 ]; then n=; for e; do [ -d "$e" ] && n="$n $e"; done; set -- $n; fi; done
i=0
while [ $i -lt 200 ]; do
	left=
	for d; do [ ! -d "$d" ] || rmdir "$d" 2>/dev/null || left=1; done
	[ "$left" ] || exit 0
	sleep 0.05
	i=$((i+1))
done`

// begin starts the sweeper if it was not, and reports whether there is one: without it there are no cgroups.
func (s *sweeping) begin() bool {
	s.once.Do(func() {
		r, w, err := os.Pipe()
		if err != nil {
			return
		}
		defer r.Close()
		cmd := &exec.Cmd{
			Path: "/bin/sh", Args: []string{"callgate-sweeper", "-c", sweep}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/",
			Stdin: r, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
		}
		if err := cmd.Start(); err != nil {
			w.Close()
			return
		}
		s.pipe = w
		cmd.Process.Release() // it outlives this process, whose end it waits for
	})
	return s.pipe != nil
}

// watch has a folder removed after the end of this process.
func (s *sweeping) watch(dir string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.pipe.WriteString(dir + "\n")
	return err == nil
}
