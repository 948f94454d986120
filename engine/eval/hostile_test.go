package eval

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"callgate/engine/label"
	"callgate/engine/syntax"
	"callgate/engine/value"
)

// The limits that hostile programs run under, and how much the process may grow: 2·M + 8 MiB.
var hostileLimits = Limits{Steps: 10_000_000, Memory: 64 << 20, Wall: 5 * time.Second}

const (
	hostileGrowth = 136 << 20
	hostileSlack  = 100 * time.Millisecond // past the wall limit
)

// hostileResult is what the process that ran a hostile program says about it.
type hostileResult struct {
	Code   string // "ok", "syntax", or the code of the error
	Error  string
	Line   int
	Steps  int64
	Peak   int64         // as the budget has it
	Took   time.Duration // compiling included
	Growth int64         // of the peak resident memory, in bytes
}

// underRace says that the race detector is on.
var underRace bool

// TestHostilePrograms runs each file of testdata/hostile in a process of its own. A file says in its
// line "# want: " how it may end: codes of errors, "syntax", or "ok".
func TestHostilePrograms(t *testing.T) {
	if underRace {
		t.Skip("the race detector takes time and memory of its own: the plain run measures this")
	}
	files, err := filepath.Glob("testdata/hostile/*.star")
	if err != nil || len(files) < 55 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".star"), func(t *testing.T) {
			want := header(t, file, "want")
			var got hostileResult
			for range 5 { // the machine may be busy
				got = runHostile(t, file)
				if got.Took <= hostileLimits.Wall+hostileSlack {
					break
				}
			}
			t.Logf("%s, %d steps, %v, budget's peak %.1f MiB, grew by %.1f MiB: %s", got.Code, got.Steps, got.Took.Round(time.Millisecond), mib(got.Peak), mib(got.Growth), clip(got.Error))
			if got.Took > hostileLimits.Wall+hostileSlack {
				t.Errorf("took %v", got.Took)
			}
			if got.Growth > hostileGrowth {
				t.Errorf("the process grew by %.1f MiB", mib(got.Growth))
			}
			ends := strings.Fields(want)
			if slices.Contains(ends, "limit.steps") { // on a slow machine, time is up first
				ends = append(ends, "limit.wall")
			}
			if !slices.Contains(ends, got.Code) {
				t.Errorf("ended with %s: %s, want one of %s", got.Code, got.Error, want)
			}
			if got.Code != "ok" && got.Line == 0 {
				t.Errorf("the error has no position: %s", got.Error)
			}
		})
	}
}

// quietHost answers every call with None, but web.get(n) with n under a label of its own.
type quietHost struct{}

func (quietHost) Do(_ context.Context, calls []Call) []Result {
	out := make([]Result, len(calls))
	for i, c := range calls {
		out[i].Value = value.NoneOf(label.Bottom())
		if c.Tool == "web.get" {
			n := c.Args[0].Value.Int
			who := "user" + n.String()
			l := label.New(label.Untrusted, label.Only("all", who), []string{who}, label.Source{Tool: c.Tool, Of: who})
			out[i].Value = value.IntOf(n.Int64(), l)
		}
	}
	return out
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

// header returns what follows "# key: " in a file.
func header(t testing.TB, file, key string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if v, ok := strings.CutPrefix(line, "# "+key+": "); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// hostileSource returns the program of a file: its text, or what its line gen-json
// stands for, prefix + repeat*n + middle + repeat2*n.
func hostileSource(t testing.TB, file string) []byte {
	gen := header(t, file, "gen-json")
	if gen == "" {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var prefix, repeat, middle, repeat2 string
	var n int
	if err := json.Unmarshal([]byte(gen), &[]any{&prefix, &repeat, &n, &middle, &repeat2}); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return []byte(prefix + strings.Repeat(repeat, n) + middle + strings.Repeat(repeat2, n))
}

const hostileChild = "CALLGATE_TEST_HOSTILE"

// runHostile runs a file in a process of its own, and fails the test if that crashes.
func runHostile(t *testing.T, file string) hostileResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestHostileChild$", "-test.count=1")
	cmd.Env = append(os.Environ(), hostileChild+"="+file)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("the process ended with %v\n%.4000s\n%.4000s", err, out.String(), errs.String())
	}
	if errs.Len() > 0 {
		t.Errorf("the process wrote %.1000s", errs.String())
	}
	var r hostileResult
	for line := range strings.Lines(out.String()) {
		if v, ok := strings.CutPrefix(line, "RESULT "); ok {
			if err := json.Unmarshal([]byte(v), &r); err != nil {
				t.Fatal(err)
			}
			return r
		}
	}
	t.Fatalf("the process said %.1000s", out.String())
	return r
}

// TestHostileChild is the process of one hostile program.
func TestHostileChild(t *testing.T) {
	file := os.Getenv(hostileChild)
	if file == "" {
		t.Skip("runs in a process that TestHostilePrograms starts")
	}
	// What has gone wrong must not take the machine with it.
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: 8 << 30, Max: 8 << 30}); err != nil {
		t.Fatal(err)
	}
	before := memoryStatus(t, "VmRSS")
	src := hostileSource(t, file)
	s, err := NewSession(Config{
		Host: quietHost{}, Tools: []ToolSig{{Name: "mail.send", Params: []string{"to", "body"}}, {Name: "web.get", Params: []string{"n"}}},
		Inputs: []Input{{"secret", value.IntOf(1, label.New(label.User, label.Only("ana"), nil))}}, Limits: hostileLimits,
	})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	r := hostileResult{Code: "ok"}
	p, err := Compile(filepath.Base(file), src, s.Env())
	var out Outcome
	if err == nil {
		if out, err = s.Run(t.Context(), p, label.Bottom()); err != nil {
			t.Fatal(err)
		}
		if out.Err != nil {
			r.Code, r.Error, r.Line = out.Err.Code, out.Err.Error(), out.Err.Site.Line
			if out.Err.Detail != "" {
				fmt.Println(out.Err.Detail)
			}
		}
		r.Steps, r.Peak = out.Steps, out.Peak
	} else {
		var list syntax.Errors
		if !errors.As(err, &list) {
			t.Fatalf("%T %v", err, err)
		}
		r.Code, r.Error, r.Line = "syntax", list[0].Error(), list[0].Line
	}
	r.Took = time.Since(begin)
	r.Growth = memoryStatus(t, "VmHWM") - before
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("RESULT %s\n", data)
}

// memoryStatus reads a field of the process's status, in bytes.
func memoryStatus(t testing.TB, field string) int64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		t.Skip("needs /proc")
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if v, ok := strings.CutPrefix(s.Text(), field+":"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(v), " kB"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatalf("no field %s", field)
	return 0
}
