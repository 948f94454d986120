package rego_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/policies"
	"callgate/policies/internal/sample"
	"callgate/policies/root"
	"callgate/spec"
)

// opaServer serves a folder with the opa command, over HTTP on the loopback, and returns its address. The command is the one that
// checks the library, built from the module of tools; the first time that takes minutes.
func opaServer(b *testing.B, folder string) string {
	b.Helper()
	path, err := exec.Command("go", "tool", "-n", "-modfile=../../tools/go.mod", "opa").Output()
	if err != nil {
		b.Skipf("no opa command: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	var said bytes.Buffer
	opa := exec.Command(strings.TrimSpace(string(path)), "run", "--server", "--addr", addr, "--log-level", "error", "--disable-telemetry", folder)
	opa.Stderr = &said
	if err := opa.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		opa.Process.Kill()
		opa.Wait()
	})
	for range 600 {
		if resp, err := http.Get("http://" + addr + "/health"); err == nil {
			resp.Body.Close()
			return "http://" + addr
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.Fatalf("opa does not answer: %s", said.String())
	return ""
}

// BenchmarkAgainstServer decides, in turn, by an OPA server over loopback HTTP and by what this module makes of the same 60 rules for 20 tools,
// and reports how many times as fast the second is: x/miss for requests that were not decided before, x/hit for those that were.
//
// The server is asked for the sets alone, the rules in CEL being written in Rego for it; that the request's document is made and that
// the reply is read as JSON, the flow rule, and combining are not in its time.
func BenchmarkAgainstServer(b *testing.B) {
	tools := sample.MakeTools(20)
	rules := sample.MakeRules(tools, 60)
	cfg := root.Config{Tools: tools, Host: &spec.Host{Params: rules.Params}, Policies: []*spec.Policy{{Meta: spec.Meta{Name: "cel"}, CEL: &spec.CEL{Rules: rules.CEL}}}}
	dir := b.TempDir()
	data, err := json.Marshal(map[string]any{"params": rules.Params})
	if err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string]string{"cel.rego": rules.InRego, "data.json": string(data)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for i, text := range rules.Modules {
		path := filepath.Join(dir, fmt.Sprintf("p%d.rego", i))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
		cfg.Policies = append(cfg.Policies, &spec.Policy{Meta: spec.Meta{Name: fmt.Sprintf("p%d", i)}, Rego: &spec.Rego{Modules: []spec.Ref{{Path: path}}}})
	}
	r, problems := root.Load(b.Context(), cfg)
	if r == nil {
		b.Fatal(problems)
	}
	url := opaServer(b, dir) + "/v1/data/callgate/policy"

	const mark = "carol@corp.example-again"
	req := sample.Sends()
	req.Leaves[1].Norm = mark
	body, err := json.Marshal(map[string]any{"input": req.Document()})
	if err != nil {
		b.Fatal(err)
	}
	client := &http.Client{}
	ask := func(norm string) []byte {
		resp, err := client.Post(url, "application/json", bytes.NewReader(bytes.Replace(body, []byte(mark), []byte(norm), 1)))
		if err != nil {
			b.Fatal(err)
		}
		defer resp.Body.Close()
		out, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			b.Fatal(resp.Status, err, string(out))
		}
		return out
	}
	decide := func(norm string) policies.Decision {
		req.Leaves[1].Norm = norm
		d, err := r.Decide(b.Context(), req)
		if err != nil {
			b.Fatal(err)
		}
		return d
	}

	// Both say the same.
	if out := string(ask("carol@corp.example")); strings.Contains(out, `"deny":[{`) || strings.Contains(out, `"deny":["`) || !strings.Contains(out, `"allow":["`) {
		b.Fatalf("the server says %s", out)
	}
	if d := decide("carol@corp.example"); d.Effect != policies.Allow {
		b.Fatalf("%+v", d)
	}

	var server, miss, hit []time.Duration
	for i := 0; b.Loop(); i++ {
		norm := fmt.Sprintf("m%d@corp.example", i)
		start := time.Now()
		ask(norm)
		server = append(server, time.Since(start))
		start = time.Now()
		d := decide(norm)
		miss = append(miss, time.Since(start))
		if d.Cached {
			b.Fatal("decided before")
		}
		start = time.Now()
		d = decide(norm)
		hit = append(hit, time.Since(start))
		if !d.Cached {
			b.Fatal("made anew")
		}
	}
	median := func(list []time.Duration) float64 {
		slices.Sort(list)
		return float64(list[len(list)/2].Nanoseconds())
	}
	b.ReportMetric(median(server), "opa-ns")
	b.ReportMetric(median(miss), "miss-ns")
	b.ReportMetric(median(server)/median(miss), "x/miss")
	b.ReportMetric(median(server)/median(hit), "x/hit")
}
