package worker

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"callgate/engine/eval"
	"callgate/engine/label"
	"callgate/engine/value"
)

// median reports the median of what each round took.
func median(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms/median")
	b.ReportMetric(0, "ns/op")
}

// firstReply opens a session in a worker and runs a program.
func firstReply(b *testing.B, p *Process) {
	s, err := p.Open(b.Context(), Config{Config: eval.Config{Host: none{}, Tools: worldTools}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if out, err := s.Exec(b.Context(), "t.star", "x = 1", low, eval.Past{}); err != nil || out.Status != eval.OK {
		b.Fatal(out.Err, err)
	}
}

// BenchmarkFirstReply measures from the start of a worker to the outcome of a program, and what else there is to run something in.
func BenchmarkFirstReply(b *testing.B) {
	start := func(o ProcessOptions) func(*testing.B) {
		return func(b *testing.B) {
			self(b, ProcessOptions{}).Kill() // or skip
			if o.Path == "" {
				o.Path = built(b)
			}
			if o.OCI {
				self(b, o).Kill()
			}
			var took []time.Duration
			for b.Loop() {
				begin := time.Now()
				p, err := StartProcess(b.Context(), o)
				if err != nil {
					b.Fatal(err)
				}
				firstReply(b, p)
				took = append(took, time.Since(begin))
			}
			median(b, took)
		}
	}
	b.Run("process", start(ProcessOptions{}))
	b.Run("self", func(b *testing.B) {
		path := os.Getenv("CALLGATE_BENCH_SELF") // the callgate to measure
		if path == "" {
			b.Skip("needs CALLGATE_BENCH_SELF, the path of a callgate")
		}
		start(ProcessOptions{Path: path})(b)
	})
	b.Run("container", start(ProcessOptions{OCI: true}))
	b.Run("pool", func(b *testing.B) {
		pool := &Pool{Size: 4, Options: ProcessOptions{Path: built(b)}}
		defer pool.Close()
		var took []time.Duration
		for b.Loop() {
			if err := pool.Fill(b.Context()); err != nil {
				b.Skip(err)
			}
			begin := time.Now()
			p, err := pool.Get(b.Context(), eval.Limits{})
			if err != nil {
				b.Fatal(err)
			}
			firstReply(b, p)
			took = append(took, time.Since(begin))
		}
		median(b, took)
	})
	for _, command := range []string{
		"bwrap --unshare-all --ro-bind /usr /usr --symlink usr/lib64 /lib64 --symlink usr/lib /lib /usr/bin/true", "node -e 0", "/bin/true",
	} {
		args := strings.Fields(command)
		b.Run("beside/"+args[0], func(b *testing.B) {
			if _, err := exec.LookPath(args[0]); err != nil {
				b.Skip(err)
			}
			var took []time.Duration
			for b.Loop() {
				begin := time.Now()
				if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
					b.Skipf("%v %s", err, out)
				}
				took = append(took, time.Since(begin))
			}
			median(b, took)
		})
	}
}

// BenchmarkStarts starts workers, two at a time.
func BenchmarkStarts(b *testing.B) {
	self(b, ProcessOptions{}).Kill() // or skip
	o := ProcessOptions{Path: built(b)}
	b.SetParallelism(1)
	before := spent()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			p, err := StartProcess(b.Context(), o)
			if err != nil {
				b.Error(err)
				return
			}
			p.Kill()
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "starts/s")
	b.ReportMetric(float64((spent()-before).Microseconds())/1000/float64(b.N), "CPU-ms/start")
}

// spent is the CPU time of this process and of its children that have ended.
func spent() time.Duration {
	var sum time.Duration
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if unix.Getrusage(who, &u) == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}

// BenchmarkCall makes calls of 200 bytes, here and in a worker.
func BenchmarkCall(b *testing.B) {
	l := label.New(label.Untrusted, label.Only("ana"), nil, label.Source{Tool: "mail.read", Of: "04-urgent.eml"})
	cfg := Config{Config: eval.Config{Host: none{}, Tools: worldTools, Limits: eval.Limits{Calls: 1 << 30, Steps: 1 << 60, Wall: time.Hour},
		Inputs: []eval.Input{{Name: "s", Value: value.StringOf(strings.Repeat("x", 150), l)}}}}
	const calls = 2000
	program := fmt.Sprintf("for i in range(%d): send(s, i)", calls)
	run := func(b *testing.B, exec func(context.Context, string, string, label.Label, eval.Past) (eval.Outcome, error)) {
		for b.Loop() {
			if out, err := exec(b.Context(), "t.star", program, low, eval.Past{}); err != nil || out.Status != eval.OK {
				b.Fatal(out.Err, err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*calls)/1000, "µs/call")
		b.ReportMetric(0, "ns/op")
	}
	b.Run("here", func(b *testing.B) {
		s, err := NewLocal(cfg)
		if err != nil {
			b.Fatal(err)
		}
		run(b, s.Exec)
	})
	b.Run("worker", func(b *testing.B) {
		s, err := self(b, ProcessOptions{Path: built(b)}).Open(b.Context(), cfg)
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		run(b, s.Exec)
	})
}

// BenchmarkAtRest reports the memory that a worker with a session has to itself: what it has written.
func BenchmarkAtRest(b *testing.B) {
	p := self(b, ProcessOptions{Path: built(b)})
	s, err := p.Open(b.Context(), Config{Config: eval.Config{Host: none{}, Tools: worldTools}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for b.Loop() {
		rollup, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p.Pid()))
		if err != nil {
			b.Skip(err)
		}
		kb := 0
		for line := range strings.Lines(string(rollup)) {
			var n int
			if strings.HasPrefix(line, "Private_Dirty") {
				fmt.Sscanf(strings.SplitN(line, ":", 2)[1], "%d", &n)
				kb += n
			}
		}
		b.ReportMetric(float64(kb)/1024, "MiB")
	}
	b.ReportMetric(0, "ns/op")
}
