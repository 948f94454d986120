package worker

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"callgate/engine/confine"
	"callgate/engine/eval"
)

// self starts the test's binary as a worker.
func self(t testing.TB, o ProcessOptions) *Process {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if o.Path == "" {
		o.Path = path
	}
	if o.OCI {
		if _, err := confine.Runtimes(); err != nil {
			t.Skip(err)
		}
		o.Path = built(t)
	}
	p, err := StartProcess(t.Context(), o)
	if err != nil {
		t.Skipf("no worker can be confined here: %v", err)
	}
	t.Cleanup(p.Kill)
	return p
}

// built is the executable of workers, as it is released: without cgo. It is built once.
var build struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	flag.Parse()
	if !testing.Short() {
		openReal = func(t testing.TB, cfg Config) (*Session, error) {
			return self(t, ProcessOptions{}).Open(t.Context(), cfg)
		}
	}
	code := m.Run()
	if build.dir != "" {
		os.RemoveAll(build.dir)
	}
	os.Exit(code)
}

func built(t testing.TB) string {
	t.Helper()
	build.once.Do(func() {
		if build.dir, build.err = os.MkdirTemp("", "worker"); build.err != nil {
			return
		}
		cmd := exec.Command("go", "build", "-o", filepath.Join(build.dir, Name), "callgate/cmd/callgate-worker")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			build.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if build.err != nil {
		t.Fatal(build.err)
	}
	return filepath.Join(build.dir, Name)
}

func TestAProcessRunsPrograms(t *testing.T) { runsPrograms(t, ProcessOptions{}) }

// TestAContainerRunsPrograms does so under each OCI runtime. Nothing of it is left.
func TestAContainerRunsPrograms(t *testing.T) {
	for _, name := range []string{"runsc", "runc", "crun"} {
		t.Run(name, func(t *testing.T) {
			path, err := exec.LookPath(name)
			if err != nil {
				t.Skip(err)
			}
			runsPrograms(t, ProcessOptions{OCI: true, Runtime: path})
			gone(t, hold(t, os.Getpid()))
		})
	}
}

// A runtime may be in a folder that the container's own files are mounted over, and that is its owner's alone.
func TestARuntimeBelowTmp(t *testing.T) {
	for _, name := range []string{"runsc", "runc", "crun"} {
		t.Run(name, func(t *testing.T) {
			found, err := exec.LookPath(name)
			if err != nil {
				t.Skip(err)
			}
			self(t, ProcessOptions{OCI: true, Runtime: found}).Kill() // where none runs it is skipped
			b, err := os.ReadFile(found)
			if err != nil {
				t.Fatal(err)
			}
			dir, err := os.MkdirTemp("/tmp", "runtime")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, b, 0o755); err != nil {
				t.Fatal(err)
			}
			p, err := StartProcess(t.Context(), ProcessOptions{OCI: true, Runtime: path, Path: built(t)})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Kill()
			if !slices.Contains(p.Achieved(), confine.Container) {
				t.Errorf("%v", p.Achieved())
			}
		})
	}
}

// What keeps a container from beginning is said.
func TestARuntimeThatDoesNotRun(t *testing.T) {
	if _, err := confine.Runtimes(); err != nil {
		t.Skip(err)
	}
	self(t, ProcessOptions{OCI: true}).Kill()
	dir := t.TempDir()
	text := filepath.Join(dir, "runc")
	if err := os.WriteFile(text, []byte("no program"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{filepath.Join(dir, "none"): "no such file or directory", text: "exec format error"} {
		_, err := StartProcess(t.Context(), ProcessOptions{OCI: true, Runtime: path, Path: built(t)})
		if err == nil || !strings.Contains(err.Error(), path+": "+want) || strings.Contains(err.Error(), "CGO_ENABLED") {
			t.Errorf("got %v, want %s: %s", err, path, want)
		}
	}
}

func runsPrograms(t *testing.T, o ProcessOptions) {
	p := self(t, o)
	t.Log(p.Achieved())
	if err := confine.Enough(p.Achieved()); err != nil || slices.Contains(p.Achieved(), confine.Container) != o.OCI {
		t.Errorf("%v, %v", p.Achieved(), err)
	}
	s, err := p.Open(context.Background(), Config{Config: eval.Config{Host: newWorld(), Tools: worldTools}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	mine := hold(t, p.Pid())
	out, err := s.Exec(t.Context(), "a.star", "x = recv()\nprint(x)\nprint([i * i for i in range(100000)][-1])", low, eval.Past{})
	if err != nil || out.Status != eval.OK || len(out.Prints) != 2 || out.Prints[1].Text != "9999800001\n" {
		t.Errorf("got %+v, %v", out, err)
	}
	s.Close()
	gone(t, mine)
	out, err = s.Exec(t.Context(), "a.star", "x = 1", low, eval.Past{})
	if err != nil || out.Err == nil || out.Err.Code != codeWorker {
		t.Errorf("after its end: got %+v, %v", out, err)
	}
}
