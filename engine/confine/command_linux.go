//go:build amd64 || arm64

package confine

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// patience is how long a launcher may take until it is a command.
const patience = 60 * time.Second

// Run runs the command on its Stdin and returns when nothing is left of it. Errors are those of [Command.Start], a [*TooMuchError], and that of
// ctx, with whose end the command is killed.
func (c *Command) Run(ctx context.Context) (*Finished, error) {
	most := c.Output
	if most <= 0 {
		most = 1 << 20
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out, errs := &bounded{most: most, over: cancel}, &bounded{most: most, over: cancel}
	running, err := c.begin(ctx, bytes.NewReader(c.Stdin), out, errs)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, running.Kill)()
	done := running.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	done.Out, done.Err = out.b, errs.b
	return done, nil
}

// Start starts the command with standard files, nil for none, for one that is spoken to, and returns when it has begun. It lives until it ends or is killed, or this process
// ends; ctx bounds the start alone. Nothing is executed unless it is confined: the error is then a [*MissingError].
// Others are those of what is wrong with the command, and a [*NotStartedError].
func (c *Command) Start(ctx context.Context, in, out, errs *os.File) (*Running, error) {
	var r io.Reader
	var w [2]io.Writer
	if in != nil {
		r = in
	}
	for i, f := range []*os.File{out, errs} {
		if f != nil {
			w[i] = f
		}
	}
	return c.begin(ctx, r, w[0], w[1])
}

// begin is Start with what is read and written by this process, which must never wait.
func (c *Command) begin(ctx context.Context, in io.Reader, out, errs io.Writer) (*Running, error) {
	if err := c.Profile.check(); err != nil {
		return nil, err
	}
	launcher := c.Launcher
	if launcher == "" {
		var err error
		if launcher, err = Executable(); err != nil {
			return nil, err
		}
	}
	var without []Mechanism
	if c.Profile.Network {
		without = append(without, Network)
	}
	child, err := Start(Options{
		Path: launcher, Name: Name, Budget: c.Profile.Budget, Without: without, becomes: true, in: in, out: out, errs: errs,
	})
	if err != nil {
		return nil, c.missing(err)
	}
	stop := context.AfterFunc(ctx, child.Kill)
	achieved, err := c.launch(child)
	if !stop() || err != nil {
		child.Kill()
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	return &Running{child, achieved}, nil
}

// Running is a command that has begun. Its methods may be called at any time, by any goroutine.
type Running struct {
	child    *Child
	achieved []Mechanism
}

// Kill ends the command and all that it started, and returns when nothing is left of them.
func (r *Running) Kill() { r.child.Kill() }

// Wait returns what came of the command, what it wrote aside, when it has ended.
func (r *Running) Wait() *Finished {
	<-r.child.done
	r.child.Kill()
	return &Finished{Code: r.child.state.ExitCode(), How: r.child.how, Achieved: r.achieved}
}

// missing turns the error of a kernel that gives no namespaces into one that says so.
func (c *Command) missing(err error) error {
	if slices.ContainsFunc(refusals, func(e error) bool { return errors.Is(err, e) }) {
		return &MissingError{Users, remedy[Users]}
	}
	return err
}

// launch has a launcher confine itself, and lets it become the command once it has.
func (c *Command) launch(child *Child) ([]Mechanism, error) {
	kill := time.AfterFunc(patience, child.Kill)
	defer kill.Stop()
	p := c.Profile
	o, err := json.Marshal(order{c.Path, cmp.Or(c.Dir, "/tmp"), c.Args, p.Read, p.Write, p.Env, p.Network})
	if err != nil {
		return nil, fmt.Errorf("confine: %w", err)
	}
	in := bufio.NewReader(child.Socket)
	ended := func(err error) error {
		child.Kill()
		return fmt.Errorf("confine: the launcher ended before the command began: %s: %w", child.Ended(), err)
	}
	if _, err := child.Socket.Write(append(o, '\n')); err != nil {
		return nil, ended(err)
	}
	line, err := in.ReadString('\n')
	if err != nil {
		return nil, ended(err)
	}
	verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	if verb != "achieved" {
		return nil, &NotStartedError{rest}
	}
	achieved := slices.Clone(child.Achieved)
	for _, m := range strings.Fields(rest) {
		if slices.Contains(All, Mechanism(m)) {
			achieved = append(achieved, Mechanism(m))
		}
	}
	if err := enoughForCommands(p, achieved, os.Geteuid() == 0); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(child.Socket, "go\n"); err != nil {
		return nil, ended(err)
	}
	b, err := io.ReadAll(in) // which ends when the command begins
	switch {
	case len(b) > 0:
		return nil, &NotStartedError{strings.TrimSpace(strings.TrimPrefix(string(b), "error "))}
	case err != nil:
		return nil, ended(err)
	}
	return achieved, nil
}

// bounded keeps what is written, up to most bytes.
type bounded struct {
	b    []byte
	most int
	over context.CancelCauseFunc
}

func (w *bounded) Write(b []byte) (int, error) {
	if len(w.b)+len(b) > w.most {
		err := &TooMuchError{w.most}
		w.over(err)
		return 0, err
	}
	w.b = append(w.b, b...)
	return len(b), nil
}

// Become confines the calling process, which [Command.Run] has started for that, to the profile that it is told, and becomes the command. It
// returns only if that cannot be done.
func Become(args []string) error {
	if !Becoming(args) || !isSocket(socketFD) {
		return errors.New("confine: this program is started by callgate, not by hand")
	}
	budget, _, err := readPlan(slices.Delete(slices.Clone(args), 1, 2))
	if err != nil {
		return err
	}
	socket := os.NewFile(socketFD, "supervisor")
	unix.CloseOnExec(socketFD) // its end tells that the command has begun
	say := func(err error) error {
		fmt.Fprintln(socket, "error", strings.ReplaceAll(err.Error(), "\n", " "))
		return err
	}
	in := bufio.NewReader(socket)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	var o order
	if err := json.Unmarshal(line, &o); err != nil {
		return say(err)
	}
	// What is executed has the privileges of the thread that executes it.
	runtime.LockOSThread()
	achieved, err := o.confine(budget)
	if err != nil {
		return say(err)
	}
	names := "achieved"
	for _, m := range achieved {
		names += " " + string(m)
	}
	fmt.Fprintln(socket, names)
	if word, err := in.ReadString('\n'); err != nil || word != "go\n" {
		return errors.New("confine: not confined enough")
	}
	return say(syscall.Exec(o.Path, append([]string{o.Path}, o.Args...), o.Env))
}

// confine confines the calling thread.
func (o *order) confine(b Budget) (achieved []Mechanism, err error) {
	unix.Sethostname([]byte("command"))
	for _, step := range []struct {
		m  Mechanism
		do func() error
	}{
		{Files, closeFiles},
		{Root, o.tree},
		{Limits, func() error { return o.limits(b) }},
		{Caps, dropAllCaps},
		{NoNew, func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
		{Landlock, o.landlock},
		{Seccomp, func() error { return setFilter(wideFilter(o.Network)) }},
	} {
		switch err := step.do(); {
		case err == nil:
			achieved = append(achieved, step.m)
		case errors.Is(err, errAbsent):
		default:
			return nil, fmt.Errorf("%s: %w", step.m, err)
		}
	}
	return achieved, nil
}

// tree makes a file tree of what the profile names, and leaves all others.
func (o *order) tree() error {
	type part struct {
		path  string
		write bool
		tree  int // a file that stands for it and what is mounted below
		dir   bool
	}
	var parts []part
	add := func(path string, resolve uint64, attr unix.MountAttr, write bool) error {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: resolve})
		if errors.Is(err, unix.ELOOP) {
			return fmt.Errorf("%s: there is a link in it", path)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		defer unix.Close(fd)
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		tree, err := unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		parts = append(parts, part{path, write, tree, st.Mode&unix.S_IFMT == unix.S_IFDIR})
		return nil
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	const plain = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	for _, p := range o.Read {
		if err := add(p, unix.RESOLVE_NO_SYMLINKS, unix.MountAttr{Attr_set: plain | unix.MOUNT_ATTR_RDONLY}, false); err != nil {
			return err
		}
	}
	for _, p := range o.Write {
		if err := add(p, unix.RESOLVE_NO_SYMLINKS, unix.MountAttr{Attr_set: plain}, true); err != nil {
			return err
		}
	}
	for _, p := range devices {
		err := add(p, 0, unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC}, true)
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	links := map[string]string{}
	for _, l := range systemLinks {
		if to, err := os.Readlink(l); err == nil && !slices.Contains(o.Read, l) {
			links[l] = to
		}
	}
	if err := beginTree("size=1m,nr_inodes=4096,mode=0755"); err != nil {
		return err
	}
	if err := os.Mkdir("tmp", 0o700); err != nil {
		return err
	}
	if err := unix.Mount("callgate", "tmp", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=16m,nr_inodes=4096,mode=0700"); err != nil {
		return err
	}
	slices.SortStableFunc(parts, func(a, b part) int { return len(a.path) - len(b.path) }) // what is within another lies over it
	for _, p := range parts {
		at := "." + p.path
		dir := at
		if !p.dir {
			dir = filepath.Dir(at)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if !p.dir {
			f, err := os.OpenFile(at, os.O_RDONLY|os.O_CREATE, 0o444)
			if err != nil {
				return err
			}
			f.Close()
		}
		if err := unix.MoveMount(p.tree, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return fmt.Errorf("%s: %w", p.path, err)
		}
		unix.Close(p.tree)
	}
	for l, to := range links {
		if _, err := os.Lstat("." + filepath.Join("/", to)); err == nil { // what it leads to is there
			if err := os.Symlink(to, "."+l); err != nil && !errors.Is(err, unix.EEXIST) {
				return err
			}
		}
	}
	if err := enterTree(); err != nil {
		return err
	}
	return os.Chdir(o.Dir)
}

// devices are what every command has; systemLinks are the folders of the system that are links on many machines.
var (
	devices     = []string{"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"}
	systemLinks = []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64"}
)

// limits bounds what the command may use.
func (o *order) limits(b Budget) error {
	return limit(map[int]uint64{
		unix.RLIMIT_DATA: uint64(b.Memory), unix.RLIMIT_CPU: uint64(b.Seconds), unix.RLIMIT_NPROC: uint64(max(b.Threads, 16)),
		unix.RLIMIT_NOFILE: 1024, unix.RLIMIT_FSIZE: 256 << 20, unix.RLIMIT_CORE: 0, unix.RLIMIT_MEMLOCK: 0, unix.RLIMIT_MSGQUEUE: 0,
	})
}

// dropAllCaps gives up every capability of the thread, and that what it executes could have any.
func dropAllCaps() error {
	for c := uintptr(0); c < 64; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); errors.Is(err, unix.EINVAL) {
			break // there are no more
		} else if err != nil {
			return err
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}

// What landlock lets a command do to what it can read, and which rights are of files, not only of folders.
const (
	landlockRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	landlockFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

// landlock forbids all uses of files but those that the profile names.
func (o *order) landlock() error {
	rules, all, err := ruleset(o.Network)
	if err != nil {
		return err
	}
	defer unix.Close(rules)
	allow := func(path string, access uint64) error {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) {
			return nil
		}
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		if st.Mode&unix.S_IFMT != unix.S_IFDIR {
			access &= landlockFiles
		}
		attr := unix.LandlockPathBeneathAttr{Allowed_access: access & all, Parent_fd: int32(fd)}
		if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0); errno != 0 {
			return errno
		}
		return nil
	}
	for _, p := range o.Read {
		if err := allow(p, landlockRead); err != nil {
			return err
		}
	}
	for _, p := range slices.Concat(o.Write, devices, []string{"/tmp"}) {
		if err := allow(p, all); err != nil {
			return err
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules), 0, 0); errno != 0 {
		return absent(errno)
	}
	return nil
}
