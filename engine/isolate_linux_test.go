package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"callgate/engine"
	"callgate/engine/gate"
	"callgate/engine/worker"
)

// killWorkers kills the workers of this process.
func killWorkers(t *testing.T) (killed int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		stat, _ := os.ReadFile(f)
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
		pid, _ := strconv.Atoi(strings.Split(f, "/")[2])
		_, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == fmt.Sprint(os.Getpid()) && strings.HasPrefix(string(line), worker.Name) {
			killed++
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return killed
}

// TestARunWhoseWorkerIsKilled ends with a clean error, and its journal is whole.
func TestARunWhoseWorkerIsKilled(t *testing.T) {
	i := newIsolated(t, func(i *engine.Isolation) { i.Least = gate.TierProcess })
	s := i.start()
	if got := i.exec(s, "x = 1", user); got != "process:" {
		t.Fatalf("got %q", got)
	}
	if killWorkers(t) == 0 {
		t.Fatal("there is no worker to kill")
	}
	for range 2 {
		if got := i.exec(s, "print(x)", user); got != "process: t.star:1:1: worker" {
			t.Errorf("got %q", got)
		}
	}
	if end := i.ends[1]; end.Status != "internal" || !strings.Contains(end.Message, "the worker ended: signal: killed") {
		t.Errorf("recorded %s: %s", end.Status, end.Message)
	}
	if err := s.End(t.Context(), engine.Ending{Status: engine.Failed, Reason: "worker"}); err != nil {
		t.Error(err)
	}
	if s.Err() != nil {
		t.Error(s.Err())
	}
}
