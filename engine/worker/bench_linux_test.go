package worker

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"callgate/engine/eval"
	"callgate/engine/label"
	"callgate/engine/value"
)

// rounds is what each round of a benchmark took, in all and in its parts.
type rounds map[string][]time.Duration

func (r rounds) add(part string, since time.Time) { r[part] = append(r[part], time.Since(since)) }

// report reports the median of what each round took, of each part too, and of the whole the least: that is what there is to see on a machine that
// others use.
func (r rounds) report(b *testing.B) {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	for part, took := range r {
		slices.Sort(took)
		b.ReportMetric(ms(took[len(took)/2]), "ms/"+part)
	}
	b.ReportMetric(ms(r["median"][0]), "ms/least")
	b.ReportMetric(0, "ns/op")
}

// firstReply opens a session in a worker and runs a program. It took that long since begin.
func firstReply(b *testing.B, p *Process, took rounds, since time.Time) {
	begin := time.Now()
	s, err := p.Open(b.Context(), Config{Config: eval.Config{Host: none{}, Tools: worldTools}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	took.add("session", begin)
	begin = time.Now()
	if out, err := s.Exec(b.Context(), "t.star", "x = 1", low, eval.Past{}); err != nil || out.Status != eval.OK {
		b.Fatal(out.Err, err)
	}
	took.add("program", begin)
	took.add("median", since)
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
			took, before := rounds{}, spent()
			for b.Loop() {
				begin := time.Now()
				p, err := StartProcess(b.Context(), o)
				if err != nil {
					b.Fatal(err)
				}
				took.add("hello", begin)
				firstReply(b, p, took, begin)
			}
			took.report(b)
			b.ReportMetric(float64((spent()-before).Microseconds())/1000/float64(b.N), "CPU-ms")
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
	for _, name := range []string{"runsc", "runc", "crun"} {
		b.Run("container/"+name, func(b *testing.B) {
			path, err := exec.LookPath(name)
			if err != nil {
				b.Skip(err)
			}
			start(ProcessOptions{OCI: true, Runtime: path})(b)
		})
	}
	b.Run("pool", func(b *testing.B) {
		pool := &Pool{Size: 4, Options: ProcessOptions{Path: built(b)}}
		defer pool.Close()
		took := rounds{}
		for b.Loop() {
			if err := pool.Fill(b.Context()); err != nil {
				b.Skip(err)
			}
			begin := time.Now()
			p, err := pool.Get(b.Context(), eval.Limits{})
			if err != nil {
				b.Fatal(err)
			}
			took.add("hello", begin)
			firstReply(b, p, took, begin)
		}
		took.report(b)
	})
	for _, command := range []string{
		"bwrap --unshare-all --ro-bind /usr /usr --symlink usr/lib64 /lib64 --symlink usr/lib /lib /usr/bin/true", "runc run callgate-bench", "runsc --network=none --ignore-cgroups run callgate-bench", "node -e 0", "/bin/true",
	} {
		args := strings.Fields(command)
		b.Run("beside/"+args[0], func(b *testing.B) {
			if _, err := exec.LookPath(args[0]); err != nil {
				b.Skip(err)
			}
			dir := b.TempDir()
			if slices.Contains(args, "run") {
				bundle(b, dir)
			}
			took, before := rounds{}, spent()
			for b.Loop() {
				begin := time.Now()
				cmd := exec.Command(args[0], args[1:]...)
				cmd.Dir = dir
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Skipf("%v %s", err, out)
				}
				took.add("median", begin)
			}
			took.report(b)
			b.ReportMetric(float64((spent()-before).Microseconds())/1000/float64(b.N), "CPU-ms")
		})
	}
}

// bundle makes an OCI bundle of a program that does nothing, as runc writes it.
func bundle(b *testing.B, dir string) {
	if err := os.WriteFile(filepath.Join(dir, "nothing.go"), []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", "rootfs/nothing", "nothing.go")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GO111MODULE=off")
	spec := exec.Command("runc", "spec")
	spec.Dir = dir
	for _, cmd := range []*exec.Cmd{build, spec} {
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Skipf("%v %s", err, out)
		}
	}
	path := filepath.Join(dir, "config.json")
	text, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	for old, new := range map[string]string{`"terminal": true`: `"terminal": false`, `"sh"`: `"/nothing"`} {
		text = []byte(strings.Replace(string(text), old, new, 1))
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkStarts starts workers, two at a time.
func BenchmarkStarts(b *testing.B) {
	self(b, ProcessOptions{}).Kill() // or skip
	o := ProcessOptions{Path: built(b)}
	b.SetParallelism(1)
	before := spent()
	b.ResetTimer()
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
	b.Run("beside/cat", func(b *testing.B) { // there and back over a socket, with nothing at either end
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			b.Fatal(err)
		}
		here, there := os.NewFile(uintptr(pair[0]), "here"), os.NewFile(uintptr(pair[1]), "there")
		defer here.Close()
		cmd := exec.Command("cat")
		cmd.Stdin, cmd.Stdout = there, there
		if err := cmd.Start(); err != nil {
			b.Skip(err)
		}
		there.Close()
		text := make([]byte, 200)
		for b.Loop() {
			for range calls {
				if _, err := here.Write(text); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(here, text); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*calls)/1000, "µs/call")
		b.ReportMetric(0, "ns/op")
		here.Close()
		cmd.Wait()
	})
}

// BenchmarkAtRest reports the memory that a worker with a session has to itself. What it maps of its executable all workers have in common.
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
			if strings.HasPrefix(line, "Anonymous:") {
				fmt.Sscanf(strings.SplitN(line, ":", 2)[1], "%d", &n)
				kb += n
			}
		}
		b.ReportMetric(float64(kb)/1024, "MiB")
	}
	b.ReportMetric(0, "ns/op")
}
