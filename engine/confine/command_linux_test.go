//go:build amd64 || arm64

package confine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The variable that makes this test's binary a command that tries something.
const commandProbe = "CALLGATE_TEST_COMMAND"

// beCommanded does what the command's arguments say, and says how it went.
func beCommanded() {
	say := func(err error) {
		if err != nil {
			fmt.Println("refused:", err)
		} else {
			fmt.Println("did")
		}
	}
	arg := os.Args[2]
	switch os.Args[1] {
	case "probe":
		at, err := readTarget(os.Args[3])
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		for _, p := range probes {
			if p.name == arg {
				say(p.do(at))
			}
		}
	case "read":
		b, err := os.ReadFile(arg)
		fmt.Printf("%s", b)
		say(err)
	case "write":
		say(os.WriteFile(arg, []byte("new"), 0o600))
	case "remove":
		say(os.Remove(arg))
	case "list":
		entries, err := os.ReadDir(arg)
		for _, e := range entries {
			fmt.Print(e.Name(), " ")
		}
		say(err)
	case "copy":
		n, err := io.Copy(os.Stdout, os.Stdin)
		fmt.Fprintf(os.Stderr, "%d %s %s", n, os.Getenv("COLOUR"), strings.Join(os.Environ(), " "))
		say(err)
	case "echo":
		in := bufio.NewReader(os.Stdin)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				os.Exit(5)
			}
			fmt.Print("heard ", line)
		}
	case "flood":
		for {
			fmt.Println(strings.Repeat("x", 1000))
		}
	case "wait":
		fork(func() {
			for {
				nap := unix.Timespec{Sec: 1}
				unix.Nanosleep(&nap, nil)
			}
		})
		time.Sleep(time.Hour)
	case "fail":
		os.Exit(3)
	case "caps":
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var has [2]unix.CapUserData
		say(unix.Capget(&header, &has[0]))
		fmt.Println(has)
	}
	os.Exit(0)
}

// command is a command of this test's binary, and nothing else that it can see.
func command(t *testing.T, args ...string) *Command {
	t.Helper()
	if underRace {
		t.Skip("a binary with cgo needs its libraries: the plain run tests this")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		t.Fatal(err)
	}
	for len(args) < 2 {
		args = append(args, "")
	}
	return &Command{Path: self, Args: args, Launcher: self, Profile: Profile{Read: []string{self}, Env: []string{commandProbe + "=1"}}}
}

// run runs a command, or skips where none can be confined.
func run(t *testing.T, c *Command) *Finished {
	t.Helper()
	done, err := c.Run(t.Context())
	if missing, ok := errors.AsType[*MissingError](err); ok {
		t.Skip(missing)
	}
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// TestCommandProbes lets a command with the strictest profile in which it can be executed try everything.
func TestCommandProbes(t *testing.T) {
	done := run(t, command(t, "caps"))
	t.Logf("as user %d, with %v", os.Getuid(), done.Achieved)
	if !strings.Contains(string(done.Out), "[{0 0 0} {0 0 0}]") {
		t.Errorf("capabilities: %s", done.Out)
	}
	at := aim(t)
	// What a command may do, in a file tree and among processes of its own.
	may := []string{"write a file", "change the mode of a file", "make a device", "fork", "outlive its end", "execute from memory", "memory that can be executed"}
	for _, p := range probes {
		c := command(t, "probe", p.name, at.String())
		c.Profile.Budget = Budget{Memory: 400 << 20, Seconds: 60}
		if p.name == "4 seconds of CPU" {
			c.Profile.Budget.Seconds = 1
		}
		done := run(t, c)
		did := strings.HasPrefix(string(done.Out), "did\n")
		switch {
		case did && !slices.Contains(may, p.name):
			t.Errorf("a command could %s", p.name)
		case !did && slices.Contains(may, p.name):
			t.Errorf("a command could not %s: %s, %s%s", p.name, done.How, done.Out, done.Err)
		case !did:
			t.Logf("%s: %s%s", p.name, strings.TrimSpace(string(done.Out)), strings.TrimSuffix(done.How, "exit status 0"))
		}
	}
	if _, err := os.Stat(fmt.Sprintf("/tmp/callgate-probe-%d", os.Getpid())); err == nil {
		t.Error("a command wrote to the folder /tmp of this machine")
	}
}

// TestCommandProfiles lets commands try what their profile lets them, and what is beside that.
func TestCommandProfiles(t *testing.T) {
	run(t, command(t, "caps")) // or skip
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for f := dir; f != "/tmp" && f != "/"; f = filepath.Dir(f) { // others must come here
		os.Chmod(f, 0o755)
	}
	for _, f := range []string{"in/a", "in/deep/b", "out/c", "out/kept/d", "secret/e"} {
		path := filepath.Join(dir, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(f), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	os.Symlink(filepath.Join(dir, "secret"), filepath.Join(dir, "link"))
	os.Symlink(filepath.Join(dir, "secret", "e"), filepath.Join(dir, "in", "link"))
	at := aim(t)
	path := func(s string) []string { return []string{filepath.Join(dir, s)} }
	for _, test := range []struct {
		name    string
		profile Profile
		args    []string
		want    string // in what it wrote, or in the error
	}{
		{"a file that is read", Profile{Read: path("in/a")}, []string{"read", dir + "/in/a"}, "in/adid"},
		{"its neighbour", Profile{Read: path("in/a")}, []string{"read", dir + "/in/deep/b"}, "no such file"},
		{"a folder that is read", Profile{Read: path("in")}, []string{"read", dir + "/in/deep/b"}, "in/deep/bdid"},
		{"what is beside it", Profile{Read: path("in")}, []string{"list", dir}, "in did"},
		{"a link that leads out", Profile{Read: path("in")}, []string{"read", dir + "/in/link"}, "no such file"},
		{"a folder through a link", Profile{Read: path("link")}, []string{"read", dir + "/link/e"}, "there is a link in it"},
		{"writing what is read", Profile{Read: path("in")}, []string{"write", dir + "/in/a"}, "refused"},
		{"writing beside it", Profile{Read: path("in")}, []string{"write", dir + "/in/new"}, "refused"},
		{"removing what is read", Profile{Read: path("in")}, []string{"remove", dir + "/in/a"}, "refused"},
		{"writing", Profile{Write: path("out")}, []string{"write", dir + "/out/new"}, "did"},
		{"writing elsewhere", Profile{Write: path("out")}, []string{"write", dir + "/secret/new"}, "no such file"},
		{"what is only read within what is written", Profile{Write: path("out"), Read: path("out/kept")}, []string{"write", dir + "/out/kept/d"}, "read-only"},
		{"removing", Profile{Write: path("out")}, []string{"remove", dir + "/out/c"}, "did"},
		{"what is not there", Profile{Read: path("nowhere")}, []string{"fail"}, "no such file"},
		{"a relative path", Profile{Read: []string{"in"}}, []string{"fail"}, "want an absolute one"},
		{"all files", Profile{Read: []string{"/"}}, []string{"fail"}, "not all files"},
		{"the network", Profile{Network: true}, []string{"probe", "TCP connect", at.String()}, "did"},
		{"no network", Profile{}, []string{"probe", "TCP connect", at.String()}, "operation not permitted"},
		{"raw sockets", Profile{Network: true}, []string{"probe", "a packet socket", at.String()}, "operation not permitted"},
		{"other processes, with the network", Profile{Network: true}, []string{"probe", "signal the parent", at.String()}, "no such process"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := command(t, test.args...)
			test.profile.Read, test.profile.Env = append(test.profile.Read, c.Profile.Read...), c.Profile.Env
			c.Profile = test.profile
			done, err := c.Run(t.Context())
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				got = string(done.Out) + string(done.Err)
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if b, err := os.ReadFile(filepath.Join(dir, "out", "new")); string(b) != "new" {
		t.Errorf("what was written is %q, %v", b, err)
	}
}

func TestACommandsFilesAndEnd(t *testing.T) {
	c := command(t, "copy")
	c.Stdin, c.Profile.Env = []byte("some\x00thing"), append(c.Profile.Env, "COLOUR=blue")
	done := run(t, c)
	if want := "10 blue " + strings.Join(c.Profile.Env, " "); string(done.Out) != "some\x00thingdid\n" || string(done.Err) != want || done.Code != 0 {
		t.Errorf("got %q, %q, %d", done.Out, done.Err, done.Code)
	}
	if done := run(t, command(t, "fail")); done.Code != 3 {
		t.Errorf("got %d, want 3", done.Code)
	}
	_, err := command(t, "flood").Run(t.Context())
	if much, ok := errors.AsType[*TooMuchError](err); !ok || much.Limit != 1<<20 {
		t.Errorf("a flood: got %v", err)
	}
	c = command(t, "fail")
	c.Path = "/nowhere/x"
	_, err = c.Run(t.Context())
	if _, ok := errors.AsType[*NotStartedError](err); !ok || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("what is not there: got %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := command(t, "wait").Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one that waits: got %v", err)
	}
	self := c.Launcher
	files, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, f := range files {
		b, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
		if to, _ := os.Readlink(f); to == self && strings.HasSuffix(string(b), "\x00wait\x00\x00") {
			t.Errorf("process %s is left", f)
		}
	}
}

// TestACommandThatIsSpokenTo talks to one, and ends it.
func TestACommandThatIsSpokenTo(t *testing.T) {
	run(t, command(t, "caps")) // or skip
	for _, test := range []struct {
		name string
		end  func(*Running, io.Closer)
		want string
	}{
		{"closed", func(_ *Running, in io.Closer) { in.Close() }, "exit status 5"},
		{"killed", func(r *Running, _ io.Closer) { r.Kill() }, "signal: killed"},
	} {
		theirs, in, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		from, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r, err := command(t, "echo").Start(t.Context(), theirs, out, nil)
		theirs.Close()
		out.Close()
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(from)
		for _, word := range []string{"one", "two"} {
			fmt.Fprintln(in, word)
			if got, err := lines.ReadString('\n'); got != "heard "+word+"\n" {
				t.Errorf("%s: got %q, %v", test.name, got, err)
			}
		}
		test.end(r, in)
		if done := r.Wait(); done.How != test.want || !slices.Contains(done.Achieved, Seccomp) {
			t.Errorf("%s: ended with %s, %v", test.name, done.How, done.Achieved)
		}
		in.Close()
		from.Close()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := command(t, "echo").Start(ctx, nil, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("when it is cancelled before: got %v", err)
	}
}

// TestACommandNeedsNamespaces refuses one that is confined by less.
func TestACommandNeedsNamespaces(t *testing.T) {
	done := run(t, command(t, "caps"))
	for _, m := range []Mechanism{Users, Processes, Mounts, IPC, Network, Files, Root, Limits, Caps, NoNew, Seccomp} {
		left := slices.DeleteFunc(slices.Clone(done.Achieved), func(x Mechanism) bool { return x == m })
		missing, ok := errors.AsType[*MissingError](enoughForCommands(Profile{}, left, os.Geteuid() == 0))
		if !ok || missing.Mechanism != m || missing.Hint == "" {
			t.Errorf("without %s: got %v", m, missing)
		}
	}
	if err := enoughForCommands(Profile{}, done.Achieved, os.Geteuid() == 0); err != nil {
		t.Error(err)
	}
}

func TestWidened(t *testing.T) {
	p := Profile{Read: []string{"/a"}, Write: []string{"/b"}, Network: true, Env: []string{"KEY=secret"}}
	if got := strings.Join(p.Widened(), ", "); got != "read /a, write /b, know KEY, network" {
		t.Errorf("got %s", got)
	}
}
