//go:build amd64 || arm64

package confine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// runtimes are those of OCI containers that can be used, the best first: runsc is a kernel of its own between the child and the
// host's.
var runtimes = []string{gVisor, "runc", crun}

const (
	gVisor = "runsc"
	crun   = "crun"
)

// Runtimes returns the paths of the OCI runtimes that there are, the best first, or what is missing.
func Runtimes() (paths []string, err error) {
	for _, name := range runtimes {
		if path, err := exec.LookPath(name); err == nil {
			if path, err = filepath.Abs(path); err == nil {
				paths = append(paths, path)
			}
		}
	}
	if len(paths) > 0 {
		return paths, nil
	}
	return nil, &MissingError{Container, "needs runsc, runc or crun in the PATH: on Debian, apt-get install runc"}
}

// within returns the budget of all the processes of a container whose child has the budget b: gVisor's kernel is some of them.
func within(b Budget, runtime string) Budget {
	if filepath.Base(runtime) == gVisor {
		b.Memory, b.Threads = b.Memory+128<<20, 4*b.Threads+64
	}
	return b
}

// launching is the first argument of a child that becomes a container.
const launching = "container"

// The mechanisms that a container has instead: those of the child itself have nothing to hold on to inside.
var insideContainer = append(slices.Clone(spaceNames()), Root, Cgroup)

func spaceNames() (out []Mechanism) {
	for _, n := range namespaces {
		out = append(out, n.m)
	}
	return out
}

// What a child that becomes a container has besides its socket and its executable.
const (
	runtimeFD = 5 // the runtime, which may be where the child cannot go, or where something is mounted over
	reasonFD  = 6 // to say why there is no container
)

// maxReason bounds that, in bytes.
const maxReason = 1 << 10

// Launch makes the calling process, which [Start] has started for that, a container with nothing in it but its own executable, and runs the
// child there. What it needs of files is in memory, in namespaces that end with it. It returns only if that cannot be done, and has told the parent so.
func Launch(args []string) error {
	if len(args) < 3 || args[1] != launching || !isSocket(socketFD) {
		return errors.New("confine: this program is started by callgate, not by hand")
	}
	unix.CloseOnExec(runtimeFD)
	unix.CloseOnExec(reasonFD)
	err := launch(args[2], args[3:])
	unix.Write(reasonFD, []byte(err.Error()))
	return err
}

// launch does, under a runtime.
func launch(oci string, args []string) error {
	unix.Close(exeFD) // so that the runtime does not have it
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("confine: container: %w", err)
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("confine: container: %w", err)
	}
	const dir, name = "/tmp", "callgate-worker"
	root := dir + "/bundle/root"
	steps := []func() error{
		func() error { return unix.Mount("callgate", dir, "tmpfs", 0, "mode=0755") }, // flags could not be kept when the runtime makes it read-only
		func() error { return os.MkdirAll(root+"/proc", 0o755) },
		func() error { return os.MkdirAll(root+"/dev", 0o755) },
		func() error { // a copy: the file itself is mounted in another namespace, and cannot be bound from here
			f, err := os.OpenFile(filepath.Join(root, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
			if err == nil {
				_, err = io.Copy(f, self)
				err = errors.Join(err, f.Close())
			}
			return err
		},
		func() error {
			return unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
		},
		func() error {
			b, err := json.Marshal(bundle(append([]string{"/" + name}, args...)))
			if err != nil {
				return err
			}
			return os.WriteFile(dir+"/bundle/config.json", b, 0o600)
		},
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("confine: container: %w", err)
		}
	}
	command := []string{filepath.Base(oci), "--root", dir + "/state"}
	run := []string{"run", "--bundle", dir + "/bundle"}
	switch command[0] {
	case gVisor:
		// What it runs has of this process's files only the standard ones: the socket is one of these. It is nobody but the one user
		// that there is here.
		command = append(command, "--network=none", "--ignore-cgroups", "--rootless")
		if err := unix.Dup3(socketFD, 0, 0); err != nil {
			return fmt.Errorf("confine: container: %w", err)
		}
		unix.Close(socketFD)
	case crun:
		// It wants a single hierarchy of cgroups, which in a namespace can be had.
		unix.Mount("cgroup", "/sys/fs/cgroup", "cgroup2", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
		command = append(command, "--cgroup-manager=disabled")
		fallthrough
	default:
		run = append(run, "--preserve-fds", "1")
	}
	command = append(append(command, run...), "worker")
	env := []string{"XDG_RUNTIME_DIR=" + dir, "PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	err = syscall.Exec(oci, command, env)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES) {
		err = syscall.Exec(fmt.Sprintf("/proc/self/fd/%d", runtimeFD), command, env)
	}
	return fmt.Errorf("confine: container: %s: %w", oci, err)
}

// bundle is the configuration of the container.
func bundle(args []string) map[string]any {
	type object = map[string]any
	ids := []object{{"containerID": 0, "hostID": 0, "size": 1}}
	var spaces []object
	for _, t := range []string{"user", "pid", "network", "mount", "ipc", "uts", "cgroup"} {
		spaces = append(spaces, object{"type": t})
	}
	return object{
		"ociVersion": "1.0.2",
		"process": object{
			"user": object{"uid": 0, "gid": 0}, "args": args, "env": environment, "cwd": "/", "noNewPrivileges": true,
			"capabilities": object{"bounding": []string{}, "effective": []string{}, "permitted": []string{}},
		},
		"root":     object{"path": "root", "readonly": true},
		"hostname": "worker",
		"mounts":   []object{{"destination": "/proc", "type": "proc", "source": "proc"}},
		"linux": object{
			"namespaces": spaces, "uidMappings": ids, "gidMappings": ids,
			"maskedPaths":   []string{"/proc/kcore", "/proc/keys", "/proc/sysrq-trigger", "/proc/acpi", "/proc/timer_list", "/proc/sched_debug"},
			"readonlyPaths": []string{"/proc/sys", "/proc/bus", "/proc/irq", "/proc/fs"},
		},
	}
}
