package worker

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
