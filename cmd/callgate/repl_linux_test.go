package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"callgate/agents"
	"callgate/engine/eval"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
)

// step is what a person waits for at a terminal, and what they type then.
type step struct{ see, keys string }

// sit runs a command whose terminal it is, goes through steps, and returns all that was shown and the exit code.
func sit(t *testing.T, cmd *exec.Cmd, steps []step) (string, int) {
	t.Helper()
	person, program := openTerminal(t)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	program.Close()
	var shown strings.Builder
	seen := 0
	late := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer late.Stop()
	buf := make([]byte, 4096)
	for {
		n, err := person.Read(buf)
		shown.Write(buf[:n])
		for len(steps) > 0 {
			i := strings.Index(shown.String()[seen:], steps[0].see)
			if i < 0 {
				break
			}
			seen += i + len(steps[0].see)
			if _, err := person.WriteString(steps[0].keys); err != nil {
				t.Fatal(err)
			}
			steps = steps[1:]
		}
		if err != nil { // EIO, once no program has the terminal
			break
		}
	}
	err := cmd.Wait()
	if len(steps) > 0 {
		t.Errorf("the terminal never showed %q", steps[0].see)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return shown.String(), exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return shown.String(), 0
}

// endure has the agent of a command run for as long as it likes.
func endure(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	agent := filepath.Join(cmd.Dir, "notes", "agent.yaml")
	declared, err := os.ReadFile(agent)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(agent, []byte(strings.Replace(string(declared), "calls: 20", "calls: 20, steps: 1000G, wall: 1h", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
}

// A run that takes long says what it is doing, and an interrupt stops it in good order: it is gone on with.
func TestProgressAndInterruptAtATerminal(t *testing.T) {
	cmd := callgateCommand(t, "files.write(path = \"a.txt\", text = task)\nwhile True:\n    pass\n", "run", "notes", "--state", "state")
	cmd.Env = append(cmd.Env, "NO_COLOR=1")
	endure(t, cmd)
	got, code := sit(t, cmd, []step{{"turn 1  1 call  ", ""}, {"the program runs (", "\x03"}, {"\r\x1b[K", ""}, {"cancelled after 1 turn", ""}, {"callgate runs resume ", ""}})
	if code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	if t.Failed() {
		t.Fatalf("shown:\n%q", got)
	}
	again := callgateCommand(t, "", "runs", "resume", "2", "--state", "state")
	again.Dir = cmd.Dir
	got, code = sit(t, again, []step{{"the program runs (", "\x03"}, {"stopped before it came to where it goes on: the run is as it was", ""}})
	if code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	if t.Failed() {
		t.Fatalf("shown:\n%q", got)
	}
}

func TestReplAtATerminal(t *testing.T) {
	cmd := callgateCommand(t, "done(1)", "repl", "notes", "--state", "state")
	cmd.Env = append(cmd.Env, "NO_COLOR=1")
	endure(t, cmd)
	const prompt = ">>> "
	got, code := sit(t, cmd, []step{
		{prompt, "files.wr\t"}, // the tab key completes
		{"files.write(", "pat\t\"a.txt\", te\t\"one\")\r"},
		{`"path": "a.txt"`, ""},
		{prompt, "x = \x03"}, // Ctrl-C empties the line
		{prompt, "def f(n):\r"},
		{"... ", "\treturn n + 1\r"}, // … and indents
		{"... ", "\r"},
		{prompt, "f(41)\r"},
		{"=> 42", ""},
		{prompt, "while f(1): pass\r"},
		{"\x1b[?2004l", "\x03"}, // a line runs
		{"cancelled", ""},
		{prompt, ":new\r"}, // how far it came depends on what it worked with, and so does what is made in the same session
		{prompt, "y = [1,\r"},
		{"... ", "2]\r"},
		{prompt, "y\r"},
		{"=> [1, 2]", ""},
		{prompt, "files.replace(\"a.txt\", \"three\")\r"},
		{"[y/N] ", "\x03"}, // a line that asks waits
		{"files.replace: waiting for approval", ""},
		{prompt, "files.replace(\"a.txt\", \"two\")\r"},
		{"may notes call files.replace?", ""},
		{"line4:1:14", ""}, // where it was typed
		{"[y/N] ", "y\n"},
		{`"path": "a.txt"`, ""},
		{prompt, "y\r"},
		{"=> [1, 2]", ""},
		{prompt, " \"kept by nobody\"\r"}, // what begins with a blank is not in the history
		{`=> "kept by nobody"`, ""},
		{prompt, ":ex\t\r"},
		{"files.replace  line4:1:14", ""},
		{"approved by ana@corp.example", ""},
		{prompt, "\x1b[A\x1b[A\r"}, // two lines back
		{"=> [1, 2]", ""},
		{prompt, "\x04"},
	})
	if code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	state := filepath.Join(cmd.Dir, "state")
	text, err := os.ReadFile(filepath.Join(state, "notes", "a.txt"))
	if err != nil || string(text) != "two" {
		t.Errorf("a.txt is %q, %v; want two", text, err)
	}
	history, err := os.ReadFile(filepath.Join(state, historyFile))
	if err != nil || !strings.Contains(string(history), "files.write(path=\"a.txt\", text=\"one\")\n") || strings.Contains(string(history), "nobody") {
		t.Errorf("the history is %q, %v", history, err)
	}
	if info, err := os.Stat(filepath.Join(state, historyFile)); err != nil {
		t.Error(err)
	} else if info.Mode().Perm() != 0o600 {
		t.Errorf("the history is %v, want that nobody else reads it", info.Mode())
	}
	if t.Failed() {
		t.Logf("shown:\n%q", got)
	}
}

// From when Ctrl-C is an interrupt, and no key any more, there is something that it ends: a line that does not run yet.
func TestInterruptOfALineThatDoesNotRunYet(t *testing.T) {
	person, program := openTerminal(t)
	r := &repl{c: &command{stdin: program, stdout: program}, in: newTyped(program), state: &state{}}
	r.editor = r.newEditor()
	armed := false
	r.editor.typed = func() {
		if now, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS); err != nil || now.Lflag&unix.ISIG != 0 {
			t.Errorf("Ctrl-C is an interrupt already: %v", err)
		}
		r.arm(t.Context())
		armed = true
	}
	if _, err := person.WriteString("x = 1\r"); err != nil {
		t.Fatal(err)
	}
	text, err := r.next(t.Context())
	if err != nil || text != "x = 1" || !armed {
		t.Fatalf("typed %q, %v; told that it was: %t", text, err, armed)
	}
	(*r.ends.Load())()
	if r.armed.Err() == nil {
		t.Error("an interrupt did not end the line")
	}
	if r.disarm(); r.ends.Load() != nil || r.armed != nil {
		t.Error("what is over can be ended")
	}
}

func TestHistoryHoldsNoSecrets(t *testing.T) {
	h := &history{}
	h.open(filepath.Join(t.TempDir(), historyFile))
	h.never("hunter2")
	h.never("no") // in too many words
	h.keep([]string{"login(\"hunter2\")"})
	h.keep([]string{"def f():", "    return \"hunter2\"", ""})
	h.keep([]string{"note()"})
	h.keep([]string{"note()"})
	if got := strings.Join(h.lines, "|"); got != "note()" {
		t.Errorf("kept %s", got)
	}
}

// A secret that was shown is kept out however it is quoted when it is typed.
func TestHistoryKnowsWhatWasShown(t *testing.T) {
	secret := label.New(label.Internal, label.Public(), []string{journal.SecretTag})
	words, err := value.Of([]any{"hunter2", int64(44712)}, secret)
	if err != nil {
		t.Fatal(err)
	}
	plain := value.StringOf("visible", label.Bottom())
	r := &repl{editor: &editor{history: &history{}}}
	r.secrets(agents.Entry{Value: &words, Outcome: eval.Outcome{Prints: []eval.Print{{Args: []value.Value{value.StringOf("s3cret", secret), plain}}}}})
	for _, line := range []string{"login('hunter2')", `f("user:hunter2")`, `x = "s3cret!"`, "pin = 44712", "visible = 1"} {
		r.editor.history.keep([]string{line})
	}
	if got := strings.Join(r.editor.history.lines, "|"); got != "visible = 1" {
		t.Errorf("kept %s", got)
	}
}
