package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"callgate/engine/journal"
	"callgate/spec"
)

var update = flag.Bool("update", false, "write what the scripts compare with anew")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"callgate": main})
}

// TestScript runs the scripts of testdata/script. Each begins in a folder of its own with a copy of the agent in
// testdata/notes; $LOGIN, in a callgate.yaml too, is the account that runs them, and [root] holds if that may be anybody. Besides what testscript knows there are
//
//	code N COMMAND…   run a command that must exit with N
//	example NAME      copy an example of the repository
//	forge A B OLD NEW copy the journal of a state folder, with a text in it replaced
//	pick FIELD VAR    set a variable to a field of standard output, which is JSON
//	steady FILE       write standard output to a file, without what differs from run to run
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("testdata", "script"),
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("XDG_STATE_HOME", "")
			who, err := login()
			if err != nil {
				return err
			}
			e.Setenv("LOGIN", who.String())
			hosts, err := filepath.Glob(filepath.Join(e.WorkDir, "*", spec.HostFile))
			if err != nil {
				return err
			}
			for _, name := range hosts {
				text, err := os.ReadFile(name)
				if err != nil {
					return err
				}
				if err := os.WriteFile(name, bytes.ReplaceAll(text, []byte("$LOGIN"), []byte(who.String())), 0o666); err != nil {
					return err
				}
			}
			return os.CopyFS(filepath.Join(e.WorkDir, "notes"), os.DirFS(filepath.Join("testdata", "notes")))
		},
		Condition: func(cond string) (bool, error) {
			if cond != "root" { // whoever runs the tests may be anybody
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			who, err := login()
			return who.root(), err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": code, "example": example, "forge": forge, "pick": pick, "steady": steady,
		},
	})
}

func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func example(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: example NAME")
	}
	ts.Check(os.CopyFS(ts.MkAbs(filepath.Join("examples", args[0])), os.DirFS(filepath.Join(sourceDir, "..", "..", "examples", args[0]))))
}

func forge(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: forge FROM TO OLD NEW")
	}
	ctx := context.Background()
	from, err := journal.Open(filepath.Join(ts.MkAbs(args[0]), journalFile))
	ts.Check(err)
	defer from.Close()
	to, err := journal.Open(filepath.Join(ts.MkAbs(args[1]), journalFile))
	ts.Check(err)
	defer to.Close()
	runs, err := from.Runs(ctx, 0)
	ts.Check(err)
	forged := 0
	for _, r := range runs {
		events, err := from.Read(ctx, r.ID, 1)
		ts.Check(err)
		for i := range events {
			forged += bytes.Count(events[i].Payload, []byte(args[2]))
			events[i].Payload = bytes.ReplaceAll(events[i].Payload, []byte(args[2]), []byte(args[3]))
		}
		ts.Check(to.Append(ctx, events, true))
	}
	if forged == 0 {
		ts.Fatalf("%q is in no event", args[2])
	}
}

// sourceDir is this folder: scripts run in others.
var sourceDir, _ = os.Getwd()

// unsteady is what differs from run to run.
var unsteady = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\d{8}-\d{9}-[0-9a-z]{10}`), "RUN"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`sha256:[0-9a-f]{16,64}`), "sha256:DIGEST"},
	{regexp.MustCompile(`in [0-9.]+m?s\b`), "in DURATION"},
	{regexp.MustCompile(`(?m)^isolation .*\n`), ""}, // what the machine can do
}

func pick(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: pick FIELD VAR")
	}
	var fields map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &fields))
	text, ok := fields[args[0]].(string)
	if !ok {
		ts.Fatalf("%s: got %v, want a text", args[0], fields[args[0]])
	}
	ts.Setenv(args[1], text)
}

func steady(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: steady FILE")
	}
	text := ts.ReadFile("stdout")
	for _, u := range unsteady {
		text = u.what.ReplaceAllString(text, u.with)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o666))
}
