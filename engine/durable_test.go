package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/builtins"
	"callgate/engine/eval"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// world is what the tools of the tests change: a list of effects, each with the idempotency key of its call, in a file that outlives the
// process, or in memory.
type world struct {
	file  string // "": in memory
	mu    sync.Mutex
	lines []string
	asked int // how often a person was asked about a call that had begun
}

// effects are the effects in the order in which they happened: tools that are idempotent have each once.
func (w *world) effects() ([]string, error) {
	if w.file == "" {
		w.mu.Lock()
		defer w.mu.Unlock()
		return slices.Clone(w.lines), nil
	}
	b, err := os.ReadFile(w.file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n"), err
}

func (w *world) has(key string) (bool, error) {
	all, err := w.effects()
	return slices.ContainsFunc(all, func(l string) bool { return strings.HasPrefix(l, key+" ") }), err
}

func (w *world) add(key, what string) error {
	if w.file == "" {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.lines = append(w.lines, key+" "+what)
		return nil
	}
	f, err := os.OpenFile(w.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(key + " " + what + "\n")
	return errors.Join(err, f.Close())
}

// once makes an effect unless the key has had it.
func (w *world) once(in *builtins.Invocation, format string, args ...any) (any, error) {
	if had, err := w.has(in.Key); had || err != nil {
		return "done", err
	}
	return "done", w.add(in.Key, fmt.Sprintf(format, args...))
}

// tools are those of the tests. All but shop.charge can be called again.
func (w *world) tools(t testing.TB) *builtins.Set {
	set := new(builtins.Set)
	add := func(name string, effects builtins.Effects, idempotent bool, class label.Label, run func(in *builtins.Invocation) (any, error), params ...string) {
		tool := &builtins.Tool{
			Name: name, Effects: effects, Idempotent: idempotent, Label: builtins.Source{Class: class},
			Run: func(_ context.Context, in *builtins.Invocation) (any, error) { return run(in) },
		}
		for _, p := range params {
			tool.Params = append(tool.Params, builtins.Param{Name: p, Required: true})
		}
		if err := set.Add(tool); err != nil {
			t.Fatal(err)
		}
	}
	number := func(in *builtins.Invocation) int64 { return builtins.Arg[int64](in, "i") }
	internal, untrusted := label.New(label.Internal, label.Public(), nil), label.New(label.Untrusted, label.Public(), nil)
	add("shop.item", builtins.Read, true, internal, func(in *builtins.Invocation) (any, error) {
		return map[string]any{"n": number(in) * 7 % 13, "name": fmt.Sprintf("item %d", number(in)), "at": in.Now.Year()}, nil
	}, "i")
	add("shop.mail", builtins.Read, false, untrusted, func(in *builtins.Invocation) (any, error) {
		if number(in)%11 == 10 {
			return nil, &builtins.Error{Code: "not-found", Text: "there is no mail " + fmt.Sprint(number(in))}
		}
		return map[string]any{"good": number(in)%2 == 0, "body": fmt.Sprintf("text %d", number(in))}, nil
	}, "i")
	add("shop.key", builtins.Read, true, label.New(label.User, label.Public(), []string{"secret"}), func(*builtins.Invocation) (any, error) { return "s3cret", nil })
	add("shop.put", builtins.Write, true, internal, func(in *builtins.Invocation) (any, error) {
		return w.once(in, "put %v %v", in.Args["key"], in.Args["text"])
	}, "key", "text")
	add("shop.pay", builtins.Write|builtins.Egress, true, internal, func(in *builtins.Invocation) (any, error) {
		return w.once(in, "pay %v %v", in.Args["to"], in.Args["amount"])
	}, "to", "amount")
	add("shop.charge", builtins.Write, false, internal, func(in *builtins.Invocation) (any, error) {
		return "charged", w.add(in.Key, fmt.Sprintf("charge %d", number(in)))
	}, "i")
	add("shop.forbidden", builtins.Write, false, internal, func(in *builtins.Invocation) (any, error) { return nil, w.add(in.Key, "forbidden") })
	return set
}

// Approve implements [gate.Approver]: two people approve what is large. About a call that had begun, somebody looks whether it had its
// effect: if it had not it is made again.
func (w *world) Approve(_ context.Context, q gate.Question) (gate.Verdict, error) {
	if q.Approval.Ask != gate.AskInterrupted {
		return gate.Verdict{Outcome: gate.Approved, By: fmt.Sprintf("person %d", len(q.By))}, nil
	}
	w.asked++
	had, err := w.has(q.Run + "/" + q.Call)
	if had {
		return gate.Verdict{Outcome: gate.Refused, By: "ana"}, err
	}
	return gate.Verdict{Outcome: gate.Approved, By: "ana"}, err
}

// shopRules is a PDP whose decisions use all that a gate keeps: history, marks, limits, asks.
type shopRules struct{ revision string }

func (p shopRules) Revision() string { return p.revision }

func (p shopRules) Decide(_ context.Context, r *policies.Request) (policies.Decision, error) {
	d := policies.Decision{Effect: policies.Allow, Would: policies.Allow, Reasons: []policies.Reason{{ID: "any", Policy: "shop", Effect: policies.Allow, Engine: "go", Args: []string{"text"}}}}
	limit := policies.Obligation{Type: policies.ObligeLimit, ID: "puts", Policy: "shop", Fields: map[string]any{"max": 100000, "per": []any{"run"}}}
	deny := func(id string) {
		d.Effect, d.Would = policies.Deny, policies.Deny
		d.Reasons = []policies.Reason{{ID: id, Policy: "shop", Effect: policies.Deny, Engine: "go", Args: []string{"i", "pc"}}}
	}
	switch {
	case r.Call.Kind == policies.KindObserve && slices.Contains(r.Tags, journal.SecretTag):
		deny("secret") // a model that has seen one writes programs that no journal has
	case r.Call.Tool == "shop.forbidden":
		deny("forbidden")
	case r.Call.Tool == "shop.item" && r.History.Count["shop.put"]%7 == 6:
		d.ReadHistory = true
		deny("enough")
	case r.Call.Tool == "shop.put":
		d.Obligations = append(d.Obligations, limit)
		if r.History.Count["shop.put"]%5 == 4 {
			d.ReadHistory = true
			d.Obligations = append(d.Obligations, policies.Obligation{Type: policies.ObligeMark, ID: "m", Policy: "shop", Fields: map[string]any{"name": fmt.Sprintf("m%d", r.History.Count["shop.put"])}})
		}
	case r.Call.Tool == "shop.pay":
		if amount, ok := r.Call.Args.Get("amount"); ok && amount.Kind == value.Int && amount.Int.Int64() >= 50 {
			d.Effect, d.Would = policies.Ask, policies.Ask
			d.Approvals = []policies.Approval{{Ask: "large", Policy: "shop", Count: 2, Args: []string{"amount"}}}
		}
		d.Obligations = append(d.Obligations, limit)
	case r.Call.Kind == policies.KindBuiltin && r.Call.Tool == "sorted":
		d.ReadHistory = true
		if len(r.History.Marks) > 2 {
			deny("sorted")
		}
	}
	return d, nil
}

// shopTurns are the programs of a run of some 200 calls: reads, writes, endorsements, approvals, refusals, errors, secrets.
var shopTurns = []string{`
total = 0
seen = []
def note(key, text):
    return shop.put(key = key, text = text)
for i in range(30):
    x = attempt(shop.item, i = i)
    if x.ok:
        total += x.value["n"]
        seen.append(x.value["name"])
        if x.value["n"] % 3 == 0:
            note("a" + str(i), str(total))
    else:
        note("missing", str(i))
print(total, len(seen))
`, `
good = 0
for i in range(24):
    m = attempt(shop.mail, i = i)
    if endorse(m.ok and m.value["good"], "internal", why = "a yes or no"):
        good += 1
        note("good" + str(i), "yes")
        print(m.value)
`, `
for i in range(12):
    shop.pay(to = "v" + str(i), amount = i * 10)
    attempt(shop.charge, i = i)
    attempt(shop.forbidden)
note("key", shop.key())
try:
    names = sorted(seen)
except Denied:
    names = seen
note("names", ",".join(names))
`, `
for i in range(3):
    note("last" + str(i), seen[i])
note("x", [].pop())
`, `
note("end", str(total))
done({"total": total, "good": good})
`}

// strandTurns are programs whose calls are made together: in strands, and in strands of strands, some of which fail, are refused, or need people.
var strandTurns = []string{`
def charge(i):
    attempt(shop.charge, i = i)
    return i
def buy(i):
    x = attempt(shop.item, i = i)
    if not x.ok:
        return shop.put(key = "missing", text = str(i))
    shop.put(key = "a" + str(i), text = x.value["name"])
    charge(i)
    shop.pay(to = "v" + str(i), amount = i * 20)
    return x.value["n"]
print(parallel([lambda i = i: buy(i) for i in range(5)]))
charge(99)
`, `
def read(i):
    m = attempt(shop.mail, i = i)
    good = endorse(m.ok and m.value["good"], "internal", why = "a yes or no")
    print(i, good)
    return [good] + parallel([lambda: charge(i), lambda: attempt(shop.forbidden).code, lambda: shop.put(key = "b", text = str(i))])
print(parallel([lambda i = i: read(i) for i in range(9, 12)] + [lambda: shop.pay(to = "x", amount = 70)]))
`, `
def last(i):
    shop.put(key = "c", text = str(i))
    if i == 1:
        shop.item(i = [].pop())
    return charge(i)
parallel([lambda i = i: last(i) for i in range(3)])
`, `
try:
    parallel([lambda: charge(7), lambda: shop.forbidden(), lambda: charge(8)])
except Denied as e:
    shop.put(key = "d", text = e.code)
done(1)
`}

// clerk is an engine over a world.
func (w *world) clerk(t testing.TB, store journal.Store) *Engine {
	e, err := New(Config{
		Agent: "clerk", Mode: "react", Principal: policies.Principal{Sub: "ana"}, Tools: w.tools(t), PDP: shopRules{"sha256:1"}, Store: store, Approver: w, Meter: 400, Reveal: true,
		Limits: eval.Limits{Wall: time.Hour, Calls: 5000, Steps: 200_000},
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// drive is a loop like that of an agent: programs of a model, whose prints it is shown.
func drive(ctx context.Context, s *Session, turns []string) error {
	defer s.Close()
	if err := driveOn(ctx, s, turns); err != nil {
		return errors.Join(err, s.Err())
	}
	return nil
}

func driveOn(ctx context.Context, s *Session, turns []string) error {
	end := Ending{Status: Failed}
	for i, text := range turns {
		author := s.Gate().Context().WithSources(label.Source{Tool: "model", Of: fmt.Sprintf("turn %d", i+1)})
		reply, err := s.Reply(ctx, author, func(context.Context) (journal.ModelReplied, error) {
			return journal.ModelReplied{Model: "m", Text: text}, nil
		})
		if err != nil {
			return err
		}
		out, err := s.Exec(ctx, Program{File: fmt.Sprintf("turn%d.star", i+1), Text: reply.Text, Author: author})
		if err != nil {
			return err
		}
		end = Ending{Status: StatusOf(out.Status), Answer: out.Answer}
		if out.Status == eval.Answered || out.Status == eval.Waiting {
			break
		}
		n := 0
		for _, p := range out.Prints {
			for _, v := range p.Args {
				n++
				if _, err := s.Observe(ctx, fmt.Sprintf("printed %d", n), 1, v, p.PC); err != nil {
					return err
				}
			}
		}
	}
	return s.End(ctx, end)
}

const shopRun = "shop"

// begin begins the run or goes on with it.
func begin(ctx context.Context, e *Engine, store journal.Store) (*Session, error) {
	events, err := store.Read(ctx, shopRun, 1)
	if err != nil {
		return nil, err
	}
	if len(events) > 0 {
		return e.Resume(ctx, Again{Run: shopRun, By: "ana", Process: "test"})
	}
	return e.Start(ctx, Run{ID: shopRun, Context: label.New(label.User, label.Public(), nil)})
}

// asked reports whether a person was asked about a call that had begun.
func asked(t testing.TB, events []journal.Event) bool {
	return slices.ContainsFunc(events, func(e journal.Event) bool {
		if e.Type != journal.Approved {
			return false
		}
		a, err := journal.Decode[journal.ApprovalGiven](e)
		if err != nil {
			t.Fatal(err)
		}
		return a.Ask == gate.AskInterrupted
	})
}

// meaning is what a run says apart from times and from how often it was gone on with. If a person was asked, neither what came of tools that cannot be
// called again, nor the steps and bytes that this took.
func meaning(t testing.TB, events []journal.Event, asked bool) (out []string) {
	t.Helper()
	if err := journal.Verify(events); err != nil {
		t.Fatal(err)
	}
	for _, e := range journal.Current(events, false) {
		var p map[string]any
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			t.Fatal(err)
		}
		switch e.Type {
		case journal.Resumed:
			continue
		case journal.Approved:
			if p["ask"] == gate.AskInterrupted {
				continue
			}
		case journal.CallStart:
			if p["try"] != nil {
				continue
			}
		case journal.CallResult:
			if asked && p["tool"] == "shop.charge" {
				p = nil
			}
		case journal.Decided:
			p["decision"].(map[string]any)["timestamp"] = ""
		case journal.ProgramEnd:
			if asked {
				delete(p, "peak")
				delete(p, "steps")
			}
		case journal.RunEnd:
			if asked {
				delete(p["counts"].(map[string]any), "failed")
				delete(p["counts"].(map[string]any), "given")
			}
		}
		delete(p, "duration")
		b, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %s %s", e.Type, e.Call, unmasked(string(b))))
	}
	return out
}

// unmasked replaces what stands for secrets, which differs each time.
func unmasked(s string) string {
	for {
		i := strings.Index(s, "masked:")
		if i < 0 || len(s) < i+39 {
			return s
		}
		s = s[:i] + "secret" + s[i+39:]
	}
}

// story is what a run did and says: as it is, and as it may be if a person was asked.
type story struct {
	effects, says, loosely []string
	together               bool // calls are made together: the order in which they have effects and end is not the same each time
}

// order puts the lines of a story into an order that is the same each time.
func (s story) order(lines []string) []string {
	if s.together {
		lines = slices.Sorted(slices.Values(lines))
	}
	return lines
}

// undisturbed is the story of a run that nothing happened to.
func undisturbed(t testing.TB, turns []string) story {
	t.Helper()
	w, store := new(world), journal.NewMemory()
	s, err := begin(t.Context(), w.clerk(t, store), store)
	if err == nil {
		err = drive(t.Context(), s, turns)
	}
	if err != nil {
		t.Fatal(err)
	}
	events, err := store.Read(t.Context(), shopRun, 1)
	if err != nil {
		t.Fatal(err)
	}
	return story{w.lines, meaning(t, events, false), meaning(t, events, true), strings.Contains(turns[0], "parallel")}
}

// same holds a run that was disturbed against one that was not.
func same(t testing.TB, w *world, store journal.Store, want story) {
	t.Helper()
	got, err := w.effects()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.order(want.effects), want.order(got)); diff != "" {
		t.Fatalf("the effects differ (-undisturbed +got):\n%s", diff)
	}
	events, err := store.Read(context.Background(), shopRun, 1)
	if err != nil {
		t.Fatal(err)
	}
	loosely, says := asked(t, events), want.says
	if loosely {
		says = want.loosely
	}
	if diff := cmp.Diff(want.order(says), want.order(meaning(t, events, loosely))); diff != "" {
		t.Fatalf("the journals differ (-undisturbed +got):\n%s", diff)
	}
}

var errKilled = errors.New("killed")

// dying is a store that stops at an append, before it or after: all that comes later fails.
type dying struct {
	journal.Store
	left  int // appends until then; negative: it does not stop
	after bool
	dead  bool
	count int
}

func (d *dying) Append(ctx context.Context, events []journal.Event, sync bool) error {
	if d.dead {
		return errKilled
	}
	d.count++
	d.left--
	if d.left == 0 {
		d.dead = true
		if d.after {
			if err := d.Store.Append(ctx, events, sync); err != nil {
				return err
			}
		}
		return errKilled
	}
	return d.Store.Append(ctx, events, sync)
}

// TestStoppedAtEveryAppend stops a run at each of its appends, before it is stored and after, goes on with it, and stops it once more on
// the way: the effects, the labels, the answer, the counts and all else that the journal says are those of a run that nothing happened to.
func TestStoppedAtEveryAppend(t *testing.T) {
	t.Run("one call after the other", func(t *testing.T) { stoppedAtEveryAppend(t, shopTurns, 3) })
	t.Run("strands", func(t *testing.T) { stoppedAtEveryAppend(t, strandTurns, 1) })
}

func stoppedAtEveryAppend(t *testing.T, turns []string, stride int) {
	want := undisturbed(t, turns)
	whole := &dying{Store: journal.NewMemory()}
	w := new(world)
	s, err := begin(t.Context(), w.clerk(t, whole), whole)
	if err == nil {
		err = drive(t.Context(), s, turns)
	}
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		stride *= 10
	}
	questions := 0
	for n := 1; n <= whole.count; n += stride {
		for _, after := range []bool{false, true} {
			w, store := new(world), journal.NewMemory()
			for _, left := range []int{n, 1 + n%5, -1} { // where it stops, and where once it is gone on with
				d := &dying{Store: store, left: left, after: after}
				s, err := begin(t.Context(), w.clerk(t, d), d)
				if err == nil {
					err = drive(t.Context(), s, turns)
				}
				if ended := errors.Is(err, journal.ErrEnded); err != nil && !errors.Is(err, errKilled) && !ended {
					t.Fatalf("stopped at append %d (after: %v): %v", n, after, err)
				}
			}
			same(t, w, store, want)
			questions += w.asked
		}
	}
	if questions == 0 {
		t.Error("nobody was asked about a call that had begun and cannot be made again")
	}
	t.Logf("%d appends, %d questions", whole.count, questions)
}
