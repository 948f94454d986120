package eval

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	starjson "go.starlark.net/lib/json"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	star "go.starlark.net/syntax"

	"callgate/engine/label"
	"callgate/engine/value"
)

// The benchmarks run one program in three interpreters in turn, in the same process and the same
// minute: this one, with labels and all budgets on; go.starlark.net's; and CPython where there is a python3. They report the
// ratios of the medians: how many times as fast as each this one is. Go's collector is set as callgate sets it.
//
// A program defines run(); data that it works on is made outside the measured time.
var benchPrograms = []struct{ name, text string }{
	{"fib", `
def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)
def run():
    return fib(20)
`},
	{"loop", `
def run():
    n = 0
    for i in range(1000000):
        if i % 3 == 0:
            n = n + 1
    return n
`},
	{"bigsum", `
def run():
    n = 1 << 31
    for i in range(1000000):
        n = n + i
    return n
`},
	{"strings", `
def run():
    s = ""
    for i in range(20000):
        s += "line " + str(i) + "\n"
    return len(s)
`},
	{"split", `
text = "the quick brown fox jumps over the lazy dog and runs away\n" * 2000
def run():
    n = 0
    for line in text.split("\n"):
        words = line.split(" ")
        n += len("-".join(words).replace("o", "00").upper())
    return n
`},
	{"append", `
def run():
    xs = []
    for i in range(100000):
        xs.append(i)
    return len(xs)
`},
	{"records", `
rows = [{"id": i, "name": "n%d" % i, "amount": i * 7 % 1000, "tags": ["a", "b"]} for i in range(10000)]
def run():
    big = [r for r in rows if r["amount"] > 500]
    by = {}
    for r in big:
        by.setdefault(r["amount"], []).append(r["name"])
    return len({k: len(v) for k, v in by.items()}) + sum([r["amount"] for r in big])
`},
	{"sort", `
rows = [{"id": i, "key": (i * 7919) % 10007} for i in range(10000)]
def run():
    return sorted(rows, key = lambda r: r["key"])[0]["id"]
`},
	{"json", `
data = [{"id": i, "name": "name %d" % i, "amount": i * 1.5, "ok": True, "tags": ["x", "y", "z"]} for i in range(14000)]
text = json.encode(data)
def run():
    return len(json.encode(json.decode(text)))
`},
	{"regex", `
import re
text = "order 1234 of ann@example.com on 2026-03-01, 17.50 EUR; see #998\n" * 16000
def run():
    n = len(re.findall(r"\d+\.\d\d", text)) + len(re.findall(r"(\w+)@([\w.]+)", text))
    return n + len(re.sub(r"\s+", " ", text)) + len([m.start() for m in re.finditer("EUR", text)])
`},
}

// benchStock are the functions of go.starlark.net's benchmark.star, with how often each is run.
var benchStock = []struct {
	name  string
	times int
}{
	{"range_construction", 10000}, {"range_iteration", 300}, {"calling", 3}, {"builtin_method", 20}, {"int", 50}, {"bigint", 20}, {"gauss", 1}, {"mix", 30},
	{"dict_equal", 20}, {"set_equal", 20}, {"to_json_flat_mixed", 500}, {"to_json_flat_big", 10}, {"to_json_deep", 300}, {"to_json_deep_list", 300},
	{"issubset_unique_large_small", 5}, {"issubset_unique_small_large", 5}, {"issubset_unique_same", 20}, {"issubset_duplicate_large_small", 5},
	{"issubset_duplicate_small_large", 5}, {"issubset_duplicate_same", 20}, {"string_startswith", 10000},
}

const benchSum = "def sum(xs):\n    n = 0\n    for x in xs:\n        n += x\n    return n\n"

// peer runs a program's run() once and says how long it took.
type peer interface {
	time() (time.Duration, error)
	close()
}

type ours struct {
	s    *Session
	call *Program
}

func newOurs(text string, l label.Label) (*ours, error) {
	s, err := NewSession(Config{Host: &recorder{}, Limits: Limits{Steps: 1 << 40, Memory: 1 << 30, Wall: time.Hour}, Inputs: []Input{{"zero", value.IntOf(0, l)}}})
	if err != nil {
		return nil, err
	}
	p, err := Compile("bench.star", []byte(benchSum+text), s.Env())
	if err != nil {
		return nil, err
	}
	if out, err := s.Run(context.Background(), p, lowLabel); err != nil || out.Err != nil {
		return nil, fmt.Errorf("%v %v", err, out.Err)
	}
	call, err := Compile("call.star", []byte("result = run()\n"), s.Env())
	return &ours{s, call}, err
}

func (o *ours) time() (time.Duration, error) {
	start := time.Now()
	out, err := o.s.Run(context.Background(), o.call, lowLabel)
	if err == nil && out.Err != nil {
		err = out.Err
	}
	return time.Since(start), err
}

func (*ours) close() {}

type stock struct {
	run starlark.Value
}

func newStock(text string) (*stock, error) {
	o := &star.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}
	pre := starlark.StringDict{"json": starjson.Module, "struct": starlark.NewBuiltin("struct", starlarkstruct.Make)}
	g, err := starlark.ExecFileOptions(o, &starlark.Thread{}, "bench.star", benchSum+text, pre)
	if err != nil {
		return nil, err
	}
	return &stock{g["run"]}, nil
}

func (s *stock) time() (time.Duration, error) {
	start := time.Now()
	_, err := starlark.Call(&starlark.Thread{}, s.run, nil, nil)
	return time.Since(start), err
}

func (*stock) close() {}

// cpython is a python3 that runs run() for every line it is sent, and answers how many nanoseconds it took.
type cpython struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func newCPython(text string) (*cpython, error) {
	path, err := exec.LookPath("python3")
	if err != nil {
		return nil, err
	}
	script := "import json, sys, time, types\nstruct = types.SimpleNamespace\njson.encode = lambda x: json.dumps(x, separators = (',', ':'))\njson.decode = json.loads\n" + text + `
for _ in sys.stdin:
    t = time.perf_counter_ns()
    run()
    print(time.perf_counter_ns() - t, flush = True)
`
	c := &cpython{cmd: exec.Command(path, "-c", script)}
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewScanner(out)
	return c, c.cmd.Start()
}

func (c *cpython) time() (time.Duration, error) {
	if _, err := io.WriteString(c.in, "\n"); err != nil {
		return 0, err
	}
	if !c.out.Scan() {
		return 0, fmt.Errorf("python3 ended: %v", c.out.Err())
	}
	n, err := strconv.ParseInt(strings.TrimSpace(c.out.Text()), 10, 64)
	return time.Duration(n), err
}

func (c *cpython) close() {
	c.in.Close()
	c.cmd.Wait()
}

// BenchmarkTainted runs a loop over an input whose label is not the program's, and reports how much longer it takes
// than over one that has it.
func BenchmarkTainted(b *testing.B) {
	text := `
def run():
    n = zero
    for i in range(1000000):
        if i % 3 == zero:
            n = n + 1
    return n
`
	low, err := newOurs(text, lowLabel)
	if err != nil {
		b.Fatal(err)
	}
	high, err := newOurs(text, niLabels[2])
	if err != nil {
		b.Fatal(err)
	}
	var times [2][]time.Duration
	for range max(b.N, 7) {
		for i, o := range []*ours{low, high} {
			d, err := o.time()
			if err != nil {
				b.Fatal(err)
			}
			times[i] = append(times[i], d)
		}
	}
	for i := range times {
		slices.Sort(times[i])
	}
	m := len(times[0]) / 2
	b.ReportMetric(float64(times[1][m]), "ns/op")
	b.ReportMetric(float64(times[1][m])/float64(times[0][m]), "x/untainted")
}

// BenchmarkPrograms reports x/stock and x/cpython: how many times as fast as each. The last line has the geometric means.
func BenchmarkPrograms(b *testing.B) {
	means := geometric{}
	for _, p := range benchPrograms {
		b.Run(p.name, func(b *testing.B) { means.add(benchPeers(b, p.text)) })
	}
	means.report(b)
}

// BenchmarkStock is BenchmarkPrograms for the stock interpreter's own benchmark.
func BenchmarkStock(b *testing.B) {
	text, err := os.ReadFile(filepath.Join(stockDir(b), "starlark", "testdata", "benchmark.star"))
	if err != nil {
		b.Skip(err)
	}
	means := geometric{}
	for _, f := range benchStock {
		b.Run(f.name, func(b *testing.B) {
			means.add(benchPeers(b, fmt.Sprintf("%s\ndef run():\n    bench_%s(struct(n = %d))\n", text, f.name, f.times)))
		})
	}
	means.report(b)
}

// geometric collects ratios by peer: their logarithms, of every round of every benchmark.
type geometric map[string][]float64

func (g geometric) add(ratios map[string]float64) {
	for peer, r := range ratios {
		g[peer] = append(g[peer], math.Log(r))
	}
}

func (g geometric) report(b *testing.B) {
	b.Run("mean", func(b *testing.B) {
		for peer, logs := range g {
			sum := 0.0
			for _, l := range logs {
				sum += l
			}
			b.ReportMetric(math.Exp(sum/float64(len(logs))), "x/"+peer)
		}
	})
}

// benchPeers runs a program in turn with each peer, and returns how many times as fast as each it ran here.
func benchPeers(b *testing.B, text string) map[string]float64 {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	us, err := newOurs(text, lowLabel)
	if err != nil {
		b.Fatal(err)
	}
	peers := map[string]peer{}
	if s, err := newStock(text); err == nil {
		peers["stock"] = s
	} else {
		b.Logf("stock: %v", err)
	}
	if c, err := newCPython(text); err == nil {
		peers["cpython"] = c
	}
	times := map[string][]time.Duration{}
	one := func(name string, p peer) {
		d, err := p.time()
		if err != nil {
			b.Fatalf("%s: %v", name, err)
		}
		times[name] = append(times[name], d)
	}
	for range max(b.N, 7) {
		one("ours", us)
		for name, p := range peers {
			one(name, p)
		}
	}
	mid := func(name string) float64 {
		t := slices.Sorted(slices.Values(times[name]))
		return float64(t[len(t)/2])
	}
	b.ReportMetric(mid("ours"), "ns/op")
	ratios := map[string]float64{}
	for name, p := range peers {
		ratios[name] = mid(name) / mid("ours")
		b.ReportMetric(ratios[name], "x/"+name)
		p.close()
	}
	return ratios
}
