package root

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"callgate/policies"
	"callgate/policies/internal/sample"
	"callgate/spec"
)

// benchConfig is n rules over some tools, two thirds in Rego and one in CEL.
func benchConfig(t testing.TB, tools, n int) Config {
	t.Helper()
	cfg := Config{Tools: sample.MakeTools(tools)}
	rules := sample.MakeRules(cfg.Tools, n)
	cfg.Host = &spec.Host{Params: rules.Params}
	dir := t.TempDir()
	for i, module := range rules.Modules {
		path := filepath.Join(dir, fmt.Sprintf("p%d.rego", i))
		if err := os.WriteFile(path, []byte(module), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg.Policies = append(cfg.Policies, &spec.Policy{Meta: spec.Meta{Name: fmt.Sprintf("p%d", i)}, Rego: &spec.Rego{Modules: []spec.Ref{{Path: path}}}})
	}
	for i := range len(rules.Modules) { // CEL in as many documents
		from, to := i*len(rules.CEL)/len(rules.Modules), (i+1)*len(rules.CEL)/len(rules.Modules)
		cfg.Policies = append(cfg.Policies, celPolicy(fmt.Sprintf("c%d", i), nil, rules.CEL[from:to]...))
	}
	return cfg
}

// timed calls f for as long as the benchmark says and reports the median and the 99th percentile of its time. The machine may be
// busy: the mean says less.
func timed(b *testing.B, f func(i int)) (p50, p99 time.Duration) {
	var took []time.Duration
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		f(i)
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	p50, p99 = took[len(took)/2], took[len(took)*99/100]
	b.ReportMetric(float64(p50.Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(p99.Nanoseconds()), "p99-ns")
	return p50, p99
}

// again changes a request in what a rule reads, so that it was not decided before.
func again(r *policies.Request, i int) {
	r.Leaves[2].Norm = fmt.Sprint(i)
}

// BenchmarkMiss decides requests that were not decided before, under 60 rules with both engines live.
func BenchmarkMiss(b *testing.B) {
	r := load(b, benchConfig(b, 20, 60))
	req := sample.Sends()
	if d := decide(b, r, req); d.Effect != policies.Allow {
		b.Fatalf("%v %s", d.Effect, ids(d))
	}
	ctx := b.Context()
	timed(b, func(i int) {
		again(req, i)
		if d, _ := r.Decide(ctx, req); d.Cached || d.Effect != policies.Allow {
			b.Fatalf("%v %s, remembered: %t", d.Effect, ids(d), d.Cached)
		}
	})
}

// BenchmarkHit decides one request again and again, in batches of a hundred.
func BenchmarkHit(b *testing.B) {
	r := load(b, benchConfig(b, 20, 60))
	req := sample.Sends()
	decide(b, r, req)
	ctx := b.Context()
	const batch = 100
	p50, _ := timed(b, func(int) {
		for range batch {
			if d, _ := r.Decide(ctx, req); !d.Cached {
				b.Fatal("made anew")
			}
		}
	})
	b.ReportMetric(float64(p50.Nanoseconds())/batch, "ns/hit")
}

// BenchmarkGoroutines compares sixteen goroutines with one, for hits and for misses: the processor time of a decision, in the median of
// all rounds, and how long a decision waited for locks. On a machine that others use too wall-clock time would say nothing.
func BenchmarkGoroutines(b *testing.B) {
	r := load(b, benchConfig(b, 20, 60))
	ctx := b.Context()
	for _, test := range []struct {
		name string
		n    int // decisions of a round
		miss bool
	}{{"hit", 160_000, false}, {"miss", 16_000, true}} {
		b.Run(test.name, func(b *testing.B) {
			next := 0
			round := func(goroutines int) (cpu, waited time.Duration) {
				waitedBefore, before := waitedForLocks(), processorTime(b)
				var wg sync.WaitGroup
				for range goroutines {
					first := next
					next += test.n / goroutines
					wg.Go(func() {
						req := sample.Sends()
						for i := range test.n / goroutines {
							if test.miss {
								again(req, first+i)
							}
							if d, _ := r.Decide(ctx, req); d.Effect != policies.Allow {
								b.Error(ids(d))
								return
							}
						}
					})
				}
				wg.Wait()
				return processorTime(b) - before, waitedForLocks() - waitedBefore
			}
			var one, sixteen, waited []time.Duration
			for b.Loop() {
				cpu, _ := round(1)
				one = append(one, cpu)
				cpu, wait := round(16)
				sixteen, waited = append(sixteen, cpu), append(waited, wait)
			}
			for unit, list := range map[string][]time.Duration{"cpu-ns/1": one, "cpu-ns/16": sixteen, "wait-ns/16": waited} {
				slices.Sort(list)
				b.ReportMetric(float64(list[len(list)/2].Nanoseconds())/float64(test.n), unit)
			}
		})
	}
}

// processorTime is what the process has used so far.
func processorTime(b testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// waitedForLocks is how long goroutines have waited for locks so far.
func waitedForLocks() time.Duration {
	sample := []metrics.Sample{{Name: "/sync/mutex/wait/total:seconds"}}
	metrics.Read(sample)
	return time.Duration(sample[0].Value.Float64() * float64(time.Second))
}

// BenchmarkMany loads 10,000 rules over 500 tools, uses tools for the first time, and decides.
func BenchmarkMany(b *testing.B) {
	cfg := benchConfig(b, 500, 10_000)
	b.Run("load", func(b *testing.B) {
		before, n := processorTime(b), 0
		for b.Loop() {
			load(b, cfg)
			n++
		}
		b.ReportMetric(float64((processorTime(b)-before).Milliseconds())/float64(n), "cpu-ms")
	})
	r := load(b, cfg)
	ctx := b.Context()
	b.Run("first-use", func(b *testing.B) {
		unused := cfg.Tools[100:] // those before may have been specialised at once
		now := r
		timed(b, func(i int) {
			if i%len(unused) == 0 && i > 0 {
				b.StopTimer()
				now = load(b, cfg)
				b.StartTimer()
			}
			now.Decide(ctx, sample.Build(policies.KindTool, unused[i%len(unused)], sample.Sends().Call.Args, sample.Prompt))
		})
	})
	b.Run("decide", func(b *testing.B) {
		req := sample.Sends()
		timed(b, func(i int) {
			again(req, i)
			if d, _ := r.Decide(ctx, req); d.Cached || d.Effect != policies.Allow {
				b.Fatalf("%v %s, remembered: %t", d.Effect, ids(d), d.Cached)
			}
		})
	})
}
