package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Name is what the command line of a child begins with: an executable that finds it there is not itself, but confined.
const Name = "callgate-worker"

// Executable returns the executable of children: the one of that name beside this program, or else this program itself, which becomes one
// when it is executed under that name, if it has package engine/worker/early.
func Executable() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("confine: %w", err)
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return "", fmt.Errorf("confine: %w", err)
	}
	name := Name
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	beside := filepath.Join(filepath.Dir(self), name)
	if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
		return beside, nil
	}
	return self, nil
}

// Profile is what a command may do beyond computing on what it is given. The zero Profile is the strictest: it sees no file at all, and so nothing
// can be executed in it. Whatever a profile adds, [Profile.Widened] says.
//
// Paths are absolute and lead through no link; one that does when the command is started is an error.
type Profile struct {
	Read    []string // files and folders that can be seen and executed, with all that is in them
	Write   []string // folders in which files can be made, changed and removed besides
	Network bool     // the network of this machine, and with it whatever listens there
	Env     []string // NAME=value; nothing else is in its environment
	Budget  Budget   // its Threads are processes and threads together
}

// Widened says, a line for each, what the profile lets a command do.
func (p Profile) Widened() []string {
	var out []string
	for _, f := range p.Read {
		out = append(out, "read "+f)
	}
	for _, f := range p.Write {
		out = append(out, "write "+f)
	}
	for _, e := range p.Env {
		name, _, _ := strings.Cut(e, "=")
		out = append(out, "know "+name)
	}
	if p.Network {
		out = append(out, "network")
	}
	return out
}

// check says what is wrong with the profile.
func (p Profile) check() error {
	for _, f := range slices.Concat(p.Read, p.Write) {
		if !filepath.IsAbs(f) || filepath.Clean(f) != f || f == "/" || strings.ContainsRune(f, 0) {
			return fmt.Errorf("confine: profile: got the path %q, want an absolute one in its shortest form, and not all files", f)
		}
	}
	for _, e := range p.Env {
		if name, _, ok := strings.Cut(e, "="); !ok || name == "" || strings.ContainsRune(e, 0) {
			return errors.New("confine: profile: got a variable that is not NAME=value")
		}
	}
	return nil
}

// Command is a program of the machine that is run once, confined to a profile. No shell reads its arguments. It is alone: it sees no other process,
// and whatever it has started ends with it. It is the calling user, without a privilege. It has an empty folder /tmp of its own in memory, and /dev/null, zero, random and urandom.
type Command struct {
	Path    string   // of what is executed, which the profile must have among what can be read
	Args    []string // without argument 0, which is Path
	Dir     string   // where it begins, which it must be able to see; "": /tmp
	Stdin   []byte   // that Run gives it
	Output  int      // the most bytes of its standard output, and of its errors, that Run takes; 0: 1 MiB
	Profile Profile

	// Launcher is the executable that confines itself and then becomes the command; "": that of [Executable].
	Launcher string
}

// Finished is what came of a command.
type Finished struct {
	Code     int // exit status; -1: it was killed
	How      string
	Out, Err []byte      // of Run
	Achieved []Mechanism // what confined it
}

// TooMuchError says that a command wrote more than it may, for which it was killed.
type TooMuchError struct{ Limit int }

func (e *TooMuchError) Error() string {
	return fmt.Sprintf("the command wrote more than %d bytes", e.Limit)
}

// NotStartedError says that a command was confined and could not be executed.
type NotStartedError struct{ Text string }

func (e *NotStartedError) Error() string { return "the command cannot be started: " + e.Text }

// enoughForCommands reports whether what was achieved is enough for a program that may make files, processes and threads: for that it needs namespaces, where a
// worker has no use of any of them. As root, whose processes the kernel does not count, it needs a cgroup too.
func enoughForCommands(p Profile, achieved []Mechanism, root bool) error {
	need := []Mechanism{Users, Processes, Mounts, IPC, Files, Root, Limits, Caps, NoNew, Seccomp}
	if root {
		need = append(need, Cgroup)
	}
	if !p.Network {
		need = append(need, Network)
	}
	for _, m := range need {
		if !slices.Contains(achieved, m) {
			hint := remedy[m]
			if hint == "" {
				hint = remedy[Users]
			}
			return &MissingError{m, hint}
		}
	}
	return nil
}

// becoming is the first argument of a child that becomes a command.
const becoming = "command"

// Becoming reports whether a child is to become a command: see [Become].
func Becoming(args []string) bool { return len(args) > 1 && args[1] == becoming }

// order is what a launcher is told.
type order struct {
	Path, Dir              string
	Args, Read, Write, Env []string
	Network                bool
}
