package engine

import (
	"context"
	"fmt"
	"testing"
	"time"

	"callgate/builtins"
	"callgate/engine/journal"
	"callgate/engine/label"
)

// BenchmarkSlowTools calls eight tools that take 20 ms each, one after the other and side by side, and says how many times faster that is.
func BenchmarkSlowTools(b *testing.B) {
	set := new(builtins.Set)
	err := set.Add(&builtins.Tool{
		Name: "slow.get", Effects: builtins.Read, Params: []builtins.Param{{Name: "i", Required: true}},
		Run: func(_ context.Context, in *builtins.Invocation) (any, error) {
			time.Sleep(20 * time.Millisecond)
			return in.Args["i"], nil
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	store := journal.NewMemory()
	e, err := New(Config{Agent: "clerk", Mode: "react", Tools: set, PDP: shopRules{"sha256:1"}, Store: store})
	if err != nil {
		b.Fatal(err)
	}
	took := func(n int, text string) time.Duration {
		s, err := e.Start(b.Context(), Run{ID: fmt.Sprintf("run%d%c", n, text[0]), Context: label.New(label.User, label.Public(), nil)})
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		begin := time.Now()
		out, err := s.Exec(b.Context(), Program{File: "p.star", Text: text, Author: label.New(label.User, label.Public(), nil)})
		if err != nil || out.Err != nil {
			b.Fatal(err, out.Err)
		}
		return time.Since(begin)
	}
	var one, other time.Duration
	for n := 0; b.Loop(); n++ {
		one += took(n, "r = [slow.get(i) for i in range(8)]")
		other += took(n, "parallel([lambda i = i: slow.get(i) for i in range(8)])")
	}
	b.ReportMetric(float64(one.Milliseconds())/float64(b.N), "ms/sequence")
	b.ReportMetric(float64(other.Milliseconds())/float64(b.N), "ms/parallel")
	b.ReportMetric(float64(one)/float64(other), "times-faster")
}
