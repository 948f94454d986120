package policies_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"callgate/policies"
	"callgate/policies/internal/sample"
)

// engine is an Engine of Go functions.
type engine struct {
	name     string
	reads    []string
	evaluate func(r *policies.Request, out *policies.Findings) error
	forErr   error
	made     atomic.Int64
	asked    atomic.Int64
}

func (e *engine) Name() string     { return e.name }
func (e *engine) Revision() string { return "sha256:" + e.name }
func (e *engine) Reads() []string  { return e.reads }
func (e *engine) MayAllow() bool   { return true }
func (e *engine) For(context.Context, policies.Static) (policies.Rules, error) {
	e.made.Add(1)
	if e.forErr != nil {
		return nil, e.forErr
	}
	return e, nil
}
func (e *engine) Evaluate(_ context.Context, r *policies.Request, out *policies.Findings) error {
	e.asked.Add(1)
	return e.evaluate(r, out)
}

func allowing(name string) *engine {
	return &engine{name: name, evaluate: func(_ *policies.Request, out *policies.Findings) error {
		out.Reasons = append(out.Reasons, fired(policies.Allow, "ok"))
		return nil
	}}
}

func newCore(t testing.TB, engines ...policies.Engine) *policies.Core {
	c, err := policies.New(policies.Config{Engines: engines})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func decide(t testing.TB, c *policies.Core, r *policies.Request) policies.Decision {
	d, err := c.Decide(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestWithoutEnginesEverythingIsDenied(t *testing.T) {
	c := newCore(t)
	source := sample.NewSource(5)
	for range 200 {
		r := source.Request()
		if d := decide(t, c, r); d.Effect != policies.Deny || len(d.Reasons) == 0 || d.Call != r.Call.ID || d.Revision != c.Revision() {
			t.Fatalf("%s: got %+v, want a denial with a reason", r.Call.Tool, d)
		}
	}
}

func TestWhatGoesWrongDenies(t *testing.T) {
	boom := func(*policies.Request, *policies.Findings) error { panic("boom") }
	fail := func(_ *policies.Request, out *policies.Findings) error {
		out.Reasons = append(out.Reasons, fired(policies.Allow, "half"))
		return errors.New("timed out")
	}
	for _, test := range []struct {
		name string
		e    *engine
		want string
	}{
		{"an engine that fails", &engine{name: "x", evaluate: fail}, "x: timed out"},
		{"an engine that panics", &engine{name: "x", evaluate: boom}, "x: panic: boom"},
		{"an engine that cannot specialise", &engine{name: "x", forErr: errors.New("no")}, "x: mail.read: no"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCore(t, allowing("ok"), test.e)
			for range 2 {
				d := decide(t, c, sample.Call("mail.read"))
				i := slices.IndexFunc(d.Reasons, func(r policies.Reason) bool { return r.ID == policies.CoreError })
				if d.Effect != policies.Deny || d.Cached || i < 0 || d.Reasons[i].Message != test.want {
					t.Errorf("got %+v, want a denial that is not remembered and says %q", d, test.want)
				}
			}
		})
	}
}

func TestTwoEnginesOfOneName(t *testing.T) {
	if _, err := policies.New(policies.Config{Engines: []policies.Engine{allowing("x"), allowing("x")}}); err == nil {
		t.Error("New: want an error")
	}
}

func TestRevisionCoversEngineNamesTagsAndInputs(t *testing.T) {
	seen := map[string]string{}
	for name, cfg := range map[string]policies.Config{
		"none":         {},
		"one engine":   {Engines: []policies.Engine{allowing("a")}},
		"another":      {Engines: []policies.Engine{allowing("b")}},
		"tags":         {Tags: []string{"a", "b"}},
		"inputs":       {Inputs: []string{"a", "b"}},
		"joined input": {Inputs: []string{"ab"}},
	} {
		c, err := policies.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[c.Revision()]; ok {
			t.Errorf("%s and %s have one revision", name, other)
		}
		seen[c.Revision()] = name
	}
}

func TestARepeatedRequestIsRemembered(t *testing.T) {
	e := allowing("x")
	e.reads = []string{"leaves.norm", "labels.pc.rank"}
	c := newCore(t, e)
	r := sample.Call("mail.send", arg("to", list(str("bob@corp.example", typed))))
	first := decide(t, c, r)
	r.Call.ID, r.Session.Turn = "2.1", 2
	second := decide(t, c, r)
	if first.Cached || !second.Cached || second.Call != "2.1" || e.asked.Load() != 1 {
		t.Errorf("cached %t then %t, asked %d times, want once", first.Cached, second.Cached, e.asked.Load())
	}
	r.Leaves[0].Label = mail // the flow rule's outcome is in the key though no rule reads the label
	if d := decide(t, c, r); d.Effect != policies.Deny {
		t.Errorf("after the label fell: %+v, want a denial", d)
	}
	r.Leaves[0].Norm = "other@corp.example"
	if decide(t, c, r); e.asked.Load() != 3 {
		t.Errorf("asked %d times, want 3: the field that it reads changed", e.asked.Load())
	}
}

func TestApprovalsAndLimitsAreNotRemembered(t *testing.T) {
	for name, found := range map[string]policies.Findings{
		"an ask":  {Reasons: []policies.Reason{fired(policies.Allow, "a"), fired(policies.Ask, "q")}},
		"a limit": {Reasons: []policies.Reason{fired(policies.Allow, "a")}, Obligations: []policies.Obligation{{Type: "limit", ID: "l", Fields: map[string]any{"max": 1}}}},
	} {
		e := &engine{name: "x", evaluate: func(_ *policies.Request, out *policies.Findings) error {
			out.Reasons = append(out.Reasons, found.Reasons...)
			out.Obligations = append(out.Obligations, found.Obligations...)
			return nil
		}}
		c := newCore(t, e)
		decide(t, c, sample.Call("mail.read"))
		if d := decide(t, c, sample.Call("mail.read")); d.Cached || e.asked.Load() != 2 {
			t.Errorf("%s: remembered %+v", name, d)
		}
	}
}

func TestADecisionThatReadsHistorySaysSo(t *testing.T) {
	e := allowing("x")
	e.reads = []string{"history.count.mail.read"}
	c := newCore(t, e)
	for i := range 3 {
		r := sample.Call("mail.read")
		r.History.Count["mail.read"] = i
		if d := decide(t, c, r); !d.ReadHistory || d.Cached {
			t.Errorf("count %d: %+v, want it made anew, with ReadHistory", i, d)
		}
	}
}

// mixed fires by a hash of the fields that it says it reads.
func mixed(name string, reads []string) *engine {
	fields := policies.NewFields(reads, nil)
	return &engine{name: name, reads: reads, evaluate: func(r *policies.Request, out *policies.Findings) error {
		h := fnv.New32a()
		fmt.Fprint(h, fields.Document(r))
		n := h.Sum32()
		for i, e := range []policies.Effect{policies.Allow, policies.Deny, policies.Ask} {
			if n>>(2*i)&3 >= uint32(i)+1 {
				out.Reasons = append(out.Reasons, policies.Reason{ID: fmt.Sprintf("r%d.%d", i, n), Policy: name, Effect: e, Engine: name})
			}
		}
		if n&64 != 0 && len(r.Leaves) > 0 && slices.Contains(reads, "leaves.path") {
			out.Reasons = append(out.Reasons, policies.Reason{ID: "acc", Policy: name, Accept: true, Engine: name, Args: []string{r.Leaves[0].Path}})
		}
		return nil
	}}
}

func TestCachedDecisionsEqualUncachedOnes(t *testing.T) {
	paths := fieldPaths(t)
	source := sample.NewSource(6)
	hits := 0
	for range 40 {
		var reads []string
		for range 1 + source.IntN(3) {
			reads = append(reads, paths[source.IntN(len(paths))])
		}
		a, b := mixed("a", reads), mixed("b", []string{"leaves.path", "leaves.sink"})
		c := newCore(t, a, b)
		for range 100 {
			r := source.Request()
			got := decide(t, c, r)
			want := decide(t, newCore(t, a, b), r)
			if got.Cached {
				hits++
			}
			got.Cached, want.Cached = false, false
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("reads %v:\ngot  %+v\nwant %+v", reads, got, want)
			}
		}
	}
	if hits < 200 {
		t.Errorf("%d hits: not much of a test", hits)
	}
}

func TestRulesAreSpecialisedOncePerStatic(t *testing.T) {
	e := allowing("x")
	c := newCore(t, e)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for tool := range sample.Tools {
				decide(t, c, sample.Call(tool))
			}
		})
	}
	wg.Wait()
	if got, want := e.made.Load(), int64(len(sample.Tools)); got != want {
		t.Errorf("For was called %d times, want %d", got, want)
	}
	r := sample.Call("mail.read")
	r.Principal.Groups = []string{"fin", "ance"} // not {"finance"}
	if decide(t, c, r); e.made.Load() != int64(len(sample.Tools))+1 {
		t.Error("another Static met the rules of the first")
	}
}

func TestManyStaticsStayBounded(t *testing.T) {
	e := allowing("x")
	c := newCore(t, e)
	for i := range 9000 {
		r := sample.Call("mail.read")
		r.Call.Tool = fmt.Sprint("tool", i)
		if d := decide(t, c, r); d.Effect != policies.Allow {
			t.Fatalf("tool %d: %+v", i, d)
		}
	}
}

func TestALongArgumentIsDecidedAndNotKept(t *testing.T) {
	e := allowing("x")
	e.reads = []string{"call.args"}
	c := newCore(t, e)
	r := sample.Call("mail.read", arg("id", str(strings.Repeat("x", 1<<20), typed)))
	decide(t, c, r)
	if d := decide(t, c, r); d.Cached || d.Effect != policies.Allow {
		t.Errorf("got %+v, want it allowed anew", d)
	}
}

func BenchmarkHit(b *testing.B) {
	e := allowing("x")
	e.reads = []string{"leaves.norm", "leaves.sink", "leaves.path", "leaves.typed", "leaves.rank", "labels.program.rank", "tags"}
	c := newCore(b, e)
	r := sample.Call("mail.send", arg("to", list(str("bob@corp.example", typed), str("ann@corp.example", typed))), arg("subject", str("hello", typed)), arg("body", str("a text of some length", mail)))
	decide(b, c, r)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if d, _ := c.Decide(ctx, r); !d.Cached {
			b.Fatal("not cached")
		}
	}
}

func BenchmarkHitParallel(b *testing.B) {
	e := allowing("x")
	e.reads = []string{"leaves.norm", "leaves.sink"}
	c := newCore(b, e)
	r := sample.Call("mail.send", arg("to", list(str("bob@corp.example", typed))))
	decide(b, c, r)
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if d, _ := c.Decide(context.Background(), r); !d.Cached {
				b.Fatal("not cached")
			}
		}
	})
}
