package worker

import (
	"context"
	"os"
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
	p, err := StartProcess(t.Context(), o)
	if err != nil {
		t.Skipf("no worker can be confined here: %v", err)
	}
	t.Cleanup(p.Kill)
	return p
}

func TestAProcessRunsPrograms(t *testing.T) {
	p := self(t, ProcessOptions{})
	t.Log(p.Achieved())
	if err := confine.Enough(p.Achieved()); err != nil {
		t.Error(err)
	}
	s, err := p.Open(context.Background(), Config{Config: eval.Config{Host: newWorld(), Tools: worldTools}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out, err := s.Exec(t.Context(), "a.star", "x = recv()\nprint(x)\nprint([i * i for i in range(100000)][-1])", low, eval.Past{})
	if err != nil || out.Status != eval.OK || len(out.Prints) != 2 || out.Prints[1].Text != "9999800001\n" {
		t.Errorf("got %+v, %v", out, err)
	}
	s.Close()
	out, err = s.Exec(t.Context(), "a.star", "x = 1", low, eval.Past{})
	if err != nil || out.Err == nil || out.Err.Code != codeWorker {
		t.Errorf("after its end: got %+v, %v", out, err)
	}
}
