package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"callgate/engine/journal"
)

// patience is how long a command may take before the test gives up on it.
const patience = time.Minute

// openTerminal returns both ends of a terminal: the one that people sit at, and the one that programs have.
func openTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { person.Close() })
	fd := int(person.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return person, program
}

// callgateCommand is this test's binary as the command, in a folder with a copy of the agent notes whose program is given.
func callgateCommand(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "notes"), os.DirFS(filepath.Join("testdata", "notes"))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "notes", "main.star"), []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Args = append([]string{"callgate"}, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME=", "NO_COLOR=", "LC_ALL=C.UTF-8", "TERM=xterm-256color")
	cmd.WaitDelay = patience
	return cmd
}

// converse runs a command at a terminal, types an answer when it is asked, and returns all that was shown and the exit code.
func converse(t *testing.T, cmd *exec.Cmd, answer string) (string, int) {
	t.Helper()
	return whenAsked(t, cmd, func(person *os.File) error {
		_, err := person.WriteString(answer)
		return err
	})
}

// whenAsked runs a command at a terminal, does something when it asks, and returns all that was shown and the exit code.
func whenAsked(t *testing.T, cmd *exec.Cmd, do func(person *os.File) error) (string, int) {
	t.Helper()
	person, program := openTerminal(t)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	program.Close()
	var shown strings.Builder
	buf := make([]byte, 4096)
	asked := false
	for {
		n, err := person.Read(buf)
		shown.Write(buf[:n])
		if !asked && strings.Contains(shown.String(), "[y/N] ") {
			asked = true
			if err := do(person); err != nil {
				t.Fatal(err)
			}
		}
		if err != nil { // EIO, once no program has the terminal
			break
		}
	}
	err := cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return shown.String(), exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return shown.String(), 0
}

const replaces = `files.write(path = "a.txt", text = "one")
files.replace(path = "a.txt", text = "two")
done("replaced")
`

func TestTerminal(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer string
		env    []string
		args   []string
		code   int
		want   []string
		never  []string
	}{
		{
			name: "a person approves", answer: "y\n",
			want:  []string{"may notes call files.replace?", "\x1b[1;33masked", "approved", "by ana@corp.example", "\u2190 ", "replaced"},
			never: []string{"waiting"},
		},
		{name: "a person refuses", answer: "n\n", code: 3, want: []string{"refused", "by ana@corp.example"}, never: []string{"\"two\"}"}},
		{name: "a person ends the input", answer: "\x04", code: 5, want: []string{"waiting", "no answer at the terminal"}},
		{name: "no colour is wanted", answer: "y\n", env: []string{"NO_COLOR=1"}, want: []string{"approved"}, never: []string{"\x1b"}},
		{name: "the terminal has no colours", answer: "y\n", env: []string{"TERM=dumb"}, want: []string{"approved", "<- "}, never: []string{"\x1b", "\u2190"}},
		{name: "the terminal has only ASCII", answer: "y\n", env: []string{"LC_ALL=C"}, want: []string{"\x1b[", "<- "}, never: []string{"\u2190"}},
		{name: "nobody is to be asked", args: []string{"--approve", "none"}, code: 5, want: []string{"nobody to ask"}, never: []string{"[y/N]"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			program := strings.Replace(replaces, `"one"`, "task", 1)
			cmd := callgateCommand(t, program, append([]string{"run", "notes"}, test.args...)...)
			cmd.Env = append(cmd.Env, test.env...)
			got, code := converse(t, cmd, test.answer)
			if code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			for _, w := range test.want {
				if !strings.Contains(got, w) {
					t.Errorf("the terminal does not show %q", w)
				}
			}
			for _, w := range test.never {
				if strings.Contains(got, w) {
					t.Errorf("the terminal shows %q", w)
				}
			}
			if t.Failed() {
				t.Logf("shown:\n%s", got)
			}
		})
	}
}

// What a program prints cannot steer the terminal.
func TestTerminalIsNotSteered(t *testing.T) {
	cmd := callgateCommand(t, `print("\x1b[31mred", "\u202eturned")`, "exec", "notes/main.star")
	got, code := converse(t, cmd, "")
	if want := "\\x1b[31mred \\u202eturned\r\n"; got != want || code != 0 {
		t.Errorf("shown %q, exit code %d, want %q", got, code, want)
	}
}

// The first interrupt ends the program and the run, and the journal says so.
func TestInterrupt(t *testing.T) {
	cmd := callgateCommand(t, "clock.now()\nwhile True:\n    pass\n", "exec", "notes/main.star", "--agent", "notes", "--steps", "1G", "--wall", "1m", "--json")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(out)
	in.Buffer(nil, 1<<20)
	var last journal.Event
	for in.Scan() {
		if err := json.Unmarshal(in.Bytes(), &last); err != nil {
			t.Fatal(err)
		}
		if last.Type == journal.CallResult {
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := in.Err(); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	err = cmd.Wait()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 130 {
		t.Errorf("ended with %v, want exit code 130", err)
	}
	if last.Type != journal.RunEnd || !strings.Contains(string(last.Payload), `"status":"cancelled","exit":130`) {
		t.Errorf("the last event is %s %s, want a run.end that was cancelled", last.Type, last.Payload)
	}
}

// A run that is interrupted while it asks waits: its exit code, its summary, its journal and the lists say so, and the question can be answered.
func TestInterruptWhileItAsks(t *testing.T) {
	for _, isolation := range []string{"none", "auto"} {
		for _, signal := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
			t.Run(fmt.Sprint(isolation, " ", signal), func(t *testing.T) {
				cmd := callgateCommand(t, replaces, "run", "notes", "--state", "state", "--isolation", isolation)
				shown, code := whenAsked(t, cmd, func(*os.File) error { return cmd.Process.Signal(signal) })
				if code != 5 || !strings.Contains(shown, "waiting") || !strings.Contains(shown, "approvals list") || strings.Contains(shown, "cancelled") {
					t.Errorf("exit code %d, want 5 and that it waits; shown:\n%s", code, shown)
				}
				after := func(args ...string) (string, int) { return beside(t, cmd, args...) }
				listed, _ := after("runs", "list", "--state", "state")
				asks, _ := after("approvals", "list", "--state", "state", "--host", "notes/callgate.yaml")
				id, _, _ := strings.Cut(listed, " ")
				if !strings.Contains(listed, " waiting ") || !strings.Contains(asks, "files.replace") {
					t.Errorf("the runs are\n%sthe questions\n%s", listed, asks)
				}
				if out, code := after("runs", "replay", id, "--state", "state"); code != 0 || !strings.HasPrefix(out, "the same") {
					t.Errorf("a replay: exit code %d\n%s", code, out)
				}
				if out, code := after("runs", "resume", id, "--state", "state", "--approve", "all"); code != 0 || !strings.Contains(out, "replaced") {
					t.Errorf("gone on with: exit code %d\n%s", code, out)
				}
			})
		}
	}
}

// beside runs the command where another one runs or has run, and returns what it wrote and its exit code.
func beside(t *testing.T, cmd *exec.Cmd, args ...string) (string, int) {
	t.Helper()
	next := exec.CommandContext(t.Context(), cmd.Path)
	next.Args, next.Dir, next.Env, next.WaitDelay = append([]string{"callgate"}, args...), cmd.Dir, cmd.Env, patience
	out, err := next.CombinedOutput()
	if _, exit := errors.AsType[*exec.ExitError](err); err != nil && !exit {
		t.Fatal(err)
	}
	return string(out), next.ProcessState.ExitCode()
}

// A run whose process is killed is interrupted in the list from then on, and is gone on with.
func TestKilledIsInterrupted(t *testing.T) {
	cmd := callgateCommand(t, replaces, "run", "notes", "--state", "state")
	whenAsked(t, cmd, func(*os.File) error {
		if list, _ := beside(t, cmd, "runs", "list", "--state", "state"); !strings.Contains(list, "  running  ") || strings.Contains(list, "hint") {
			t.Errorf("while it runs:\n%s", list)
		}
		return cmd.Process.Kill()
	})
	list, code := beside(t, cmd, "runs", "list", "--state", "state")
	if code != 0 || !strings.Contains(list, "  interrupted  ") || !strings.Contains(list, "callgate: hint: callgate runs resume ID --state state goes on with it\n") {
		t.Errorf("after it was killed: exit code %d\n%s", code, list)
	}
	id, _, _ := strings.Cut(list[strings.Index(list, "\n2")+1:], " ")
	for status, want := range map[string]bool{"interrupted": true, "running": false} {
		if list, _ := beside(t, cmd, "runs", "list", "--state", "state", "--status", status, "--json"); strings.Contains(list, `"status":"interrupted"`) != want {
			t.Errorf("those that are %s:\n%s", status, list)
		}
	}
	if shown, code := beside(t, cmd, "runs", "resume", id, "--state", "state", "--approve", "all"); code != 0 {
		t.Errorf("gone on with: exit code %d\n%s", code, shown)
	}
	if list, _ := beside(t, cmd, "runs", "list", "--state", "state"); !strings.Contains(list, "  done  ") || strings.Contains(list, "hint") {
		t.Errorf("after it was gone on with:\n%s", list)
	}
}

// Who approves at a terminal is shown the call, and asked.
func TestTerminalApproves(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer string
		code   int
		want   []string
		never  []string
	}{
		{"yes", "y\n", 0, []string{"may notes call files.replace?", "approve this call of files.replace?", "[y/N] y", "approved by ana@corp.example"}, nil},
		{"no", "n\n", 3, []string{"not approved; callgate approvals deny refuses it"}, []string{"approved by ana"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			run := callgateCommand(t, replaces, "run", "notes", "--state", "state", "--json")
			if err := run.Run(); run.ProcessState.ExitCode() != 5 {
				t.Fatalf("the run ended with %v, want that it waits", err)
			}
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), self)
			cmd.Args = []string{"callgate", "approvals", "approve", "", "--state", "../state"}
			cmd.Dir, cmd.Env, cmd.WaitDelay = filepath.Join(run.Dir, "notes"), run.Env, patience
			listed, err := journal.Open(filepath.Join(run.Dir, "state", journalFile))
			if err != nil {
				t.Fatal(err)
			}
			runs, err := listed.Runs(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			if err := listed.Close(); err != nil {
				t.Fatal(err)
			}
			cmd.Args[3] = runs[0].ID
			got, code := converse(t, cmd, test.answer)
			if code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			for _, w := range test.want {
				if !strings.Contains(got, w) {
					t.Errorf("the terminal does not show %q", w)
				}
			}
			for _, w := range test.never {
				if strings.Contains(got, w) {
					t.Errorf("the terminal shows %q", w)
				}
			}
			if t.Failed() {
				t.Logf("shown:\n%s", got)
			}
		})
	}
}
