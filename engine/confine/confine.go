// Package confine restricts a child process to computing: no file, no network, no other process, no more memory,
// time and threads than it was given. All that it can reach is one socket to the process that started it.
//
// [Start] starts the child, in namespaces of its own where the machine has them. [Enter] is what the child does
// before it reads any input: it closes what it inherited, leaves the file tree, gives up its privileges and lets
// the kernel kill it for any system call that a Go program needs not. Each side says what it achieved ([Mechanism]); what is
// enough is for the supervisor to say ([Enough]).
package confine

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Mechanism is one thing that confines a process, by the name that hellos, doctor and journals have.
type Mechanism string

// The mechanisms, in the order in which they take hold.
const (
	Users     Mechanism = "user-namespace"    // root in it is nobody outside
	Processes Mechanism = "pid-namespace"     // sees no other process, and takes all that it starts with it
	Network   Mechanism = "network-namespace" // has no interface but its own, down
	Mounts    Mechanism = "mount-namespace"
	IPC       Mechanism = "ipc-namespace"
	Hosts     Mechanism = "uts-namespace"
	Cgroups   Mechanism = "cgroup-namespace"
	Cgroup    Mechanism = "cgroup"       // memory and threads are limited from outside
	Container Mechanism = "container"    // all that an OCI runtime adds
	Files     Mechanism = "closed-files" // no open file but the socket and /dev/null
	Root      Mechanism = "empty-root"   // the file tree is an empty folder that cannot be written
	Limits    Mechanism = "rlimits"
	Caps      Mechanism = "no-capabilities"
	NoNew     Mechanism = "no-new-privileges"
	Landlock  Mechanism = "landlock"
	Seccomp   Mechanism = "seccomp"
)

// All are the mechanisms, in the order in which they take hold.
var All = []Mechanism{Users, Processes, Network, Mounts, IPC, Hosts, Cgroups, Cgroup, Container, Files, Root, Limits, Caps, NoNew, Landlock, Seccomp}

// Budget is what a child may use in all. Zero fields: the defaults.
type Budget struct {
	Memory  int64 // bytes of data; default 512 MiB
	Seconds int   // of CPU; default 3600
	Threads int   // default 64
}

func (b Budget) withDefaults() Budget {
	if b.Memory <= 0 {
		b.Memory = 512 << 20
	}
	if b.Seconds <= 0 {
		b.Seconds = 3600
	}
	if b.Threads <= 0 {
		b.Threads = 64
	}
	return b
}

// Options say what to start. Path is required.
type Options struct {
	Path   string // of the executable, which everybody must be able to execute
	Name   string // its argument 0
	Budget Budget

	// Runtime is the path of an OCI runtime that runs the child in a container; "": none does.
	Runtime string

	// Without are mechanisms that are left out: those that the machine lacks, or that a test does without.
	Without []Mechanism

	// A child that becomes a command is the calling user, not somebody else, and has standard files.
	becomes   bool
	in        io.Reader
	out, errs io.Writer
}

// plan is what a child is told of what it has to do, as its arguments: name, budget, mechanisms left out.
func (o Options) plan() []string {
	var without []string
	if o.Runtime != "" {
		o.Without = append(slices.Clone(o.Without), insideContainer...)
	}
	for _, m := range o.Without {
		without = append(without, string(m))
	}
	b := o.Budget.withDefaults()
	plan := []string{o.Name, strconv.FormatInt(b.Memory, 10), strconv.Itoa(b.Seconds), strconv.Itoa(b.Threads), strings.Join(without, ",")}
	switch {
	case o.becomes:
		plan = slices.Insert(plan, 1, becoming)
	case o.Runtime != "":
		plan = append([]string{o.Name, launching, o.Runtime}, plan[1:]...)
	}
	return plan
}

// Launching reports whether a child is to become a container first: see [Launch].
func Launching(args []string) bool { return len(args) > 1 && args[1] == launching }

// readPlan is the inverse of [Options.plan].
func readPlan(args []string) (b Budget, without []Mechanism, err error) {
	if len(args) != 5 {
		return b, nil, errors.New("confine: this program is started by callgate, not by hand")
	}
	if b.Memory, err = strconv.ParseInt(args[1], 10, 64); err == nil {
		if b.Seconds, err = strconv.Atoi(args[2]); err == nil {
			b.Threads, err = strconv.Atoi(args[3])
		}
	}
	if err != nil {
		return b, nil, fmt.Errorf("confine: %w", err)
	}
	for m := range strings.SplitSeq(args[4], ",") {
		if m != "" {
			without = append(without, Mechanism(m))
		}
	}
	return b, without, nil
}

// Enough reports whether what was achieved is enough to run programs that nobody trusts in a process, and if not, what is
// missing and how to get it. Seccomp stops all that a program could do to files, network and other processes; what else there is
// stands behind it, and some machines lack it.
func Enough(achieved []Mechanism) error {
	for _, m := range []Mechanism{Files, Limits, NoNew, Seccomp} {
		if !slices.Contains(achieved, m) {
			return &MissingError{m, remedy[m]}
		}
	}
	return nil
}

// remedy says how to get what a machine lacks.
var remedy = map[Mechanism]string{
	Users:     "needs user.max_user_namespaces above 0, and where there are such switches kernel.unprivileged_userns_clone=1 and kernel.apparmor_restrict_unprivileged_userns=0",
	Landlock:  "needs a kernel from 5.13 on that was booted with it (lsm=landlock,…), and a program built with CGO_ENABLED=0",
	Caps:      "needs a program built with CGO_ENABLED=0",
	Container: "the tier container has it",
	Cgroup:    "needs a cgroup file system that can be written",
	Seccomp:   "a kernel with CONFIG_SECCOMP_FILTER has it; some container hosts forbid it",
	NoNew:     "any Linux since 3.5 has it",
	Limits:    "the hard limits of the calling process are lower than what a program needs: see ulimit -H -a",
	Files:     "a kernel from 5.9 on has close_range",
}

// Remedy says how to get a mechanism that this machine lacks; "" if there is nothing to say.
func Remedy(m Mechanism) string { return remedy[m] }

// MissingError says which mechanism there is not, and how to get it.
type MissingError struct {
	Mechanism Mechanism
	Hint      string
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s cannot be had: %s", e.Mechanism, e.Hint)
}
