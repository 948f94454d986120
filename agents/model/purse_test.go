package model_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"callgate/agents/model"
	"callgate/agents/model/modeltest"
)

func ask(text string) model.Request {
	return model.Request{Messages: []model.Message{{Role: model.User, Text: text}}}
}

func TestPrices(t *testing.T) {
	p := model.Price{In: 3_000_000_000, Out: 15_000_000_000, Cached: 300_000_000, Written: 3_750_000_000}
	for _, test := range []struct {
		name  string
		price model.Price
		used  model.Usage
		want  model.Money
		text  string
	}{
		{"nothing", p, model.Usage{}, 0, "0.00"},
		{"a million in", p, model.Usage{In: 1_000_000}, 3_000_000_000, "3.00"},
		{"what came from the cache is cheaper, what went into it dearer", p, model.Usage{In: 1000, Cached: 600, Written: 100, Out: 10}, 900_000 + 180_000 + 375_000 + 150_000, "0.001605"},
		{"a part of a billionth is one", model.Price{In: 1}, model.Usage{In: 1}, 1, "0.00"},
		{"no price", model.Price{}, model.Usage{In: 5, Out: 5}, 0, "0.00"},
		{"more than can be said", model.Price{In: math.MaxInt64}, model.Usage{In: math.MaxInt64}, math.MaxInt64, "9223372036.854776"},
		{"more from the cache than was read", p, model.Usage{In: 1, Cached: 1_000_000}, 300_000_000, "0.30"},
		{"less than nothing", p, model.Usage{In: -1_000_000, Out: -5}, 0, "0.00"},
	} {
		if got := test.price.Of(test.used); got != test.want || got.String() != test.text {
			t.Errorf("%s: %d, %s, want %d, %s", test.name, got, got, test.want, test.text)
		}
	}
}

func TestAPurseThatIsSpentAsksNoModel(t *testing.T) {
	reply := model.Reply{Text: "x", Usage: model.Usage{In: 60, Out: 40}, Cost: 500}
	for _, test := range []struct {
		name   string
		purse  func() *model.Purse
		asked  int
		what   string
		reason string
	}{
		{"no bound", func() *model.Purse { return model.NewPurse(model.Budget{}) }, 5, "", ""},
		{"no purse", func() *model.Purse { return nil }, 5, "", ""},
		{"tokens", func() *model.Purse { return model.NewPurse(model.Budget{Tokens: 250}) }, 3, "tokens", "300 of 250 tokens"},
		{"money", func() *model.Purse { return model.NewPurse(model.Budget{Money: 1000}) }, 2, "money", ""},
		{"a child's own", func() *model.Purse { return model.NewPurse(model.Budget{}).Child(model.Budget{Tokens: 100}) }, 1, "tokens", ""},
		{"its parent's", func() *model.Purse {
			return model.NewPurse(model.Budget{Tokens: 150}).Child(model.Budget{Tokens: 1000})
		}, 2, "tokens", ""},
		{"what was used before", func() *model.Purse {
			p := model.NewPurse(model.Budget{Money: 1000})
			p.Charge(model.Spent{Cost: 999})
			return p
		}, 1, "money", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			script := &modeltest.Script{Replies: []model.Reply{reply, reply, reply, reply, reply}}
			m := test.purse().Wrap(script)
			var err error
			for range 5 {
				if _, err = m.Generate(t.Context(), ask("hi")); err != nil {
					break
				}
			}
			spent, _ := errors.AsType[*model.BudgetError](err)
			if got := len(script.Requests()); got != test.asked || (test.what == "") != (err == nil) || spent != nil && spent.What != test.what {
				t.Errorf("asked %d times, %v, want %d and %q", got, err, test.asked, test.what)
			}
		})
	}
}

func TestAReplyIsNoLongerThanWhatIsLeft(t *testing.T) {
	script := &modeltest.Script{Replies: []model.Reply{{}, {}}}
	p := model.NewPurse(model.Budget{Tokens: 100})
	m := p.Wrap(script)
	if _, err := m.Generate(t.Context(), ask("twelve bytes")); err != nil {
		t.Fatal(err)
	}
	r := ask("")
	r.MaxTokens = 7
	if _, err := m.Generate(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if got := script.Requests(); got[0].MaxTokens != 97 || got[1].MaxTokens != 7 {
		t.Errorf("most tokens: %d and %d, want 97 and 7", got[0].MaxTokens, got[1].MaxTokens)
	}
	if _, err := m.Generate(t.Context(), ask(string(make([]byte, 400)))); err == nil || len(script.Requests()) != 2 {
		t.Errorf("a question that is longer than what is left: %v, want that it is not asked", err)
	}
}

// What is asked for at once counts together, and what failed is paid too.
func TestPursesOfManyAtOnce(t *testing.T) {
	run := model.NewPurse(model.Budget{Tokens: 1000})
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			m := run.Child(model.Budget{}).Wrap(failing{model.Reply{Usage: model.Usage{In: 10, Out: 5}, Cost: 3}})
			for range 3 {
				if _, err := m.Generate(context.Background(), ask("x")); err == nil {
					t.Error("no error")
				}
			}
		})
	}
	wg.Wait()
	if got, want := run.Spent(), (model.Spent{Usage: model.Usage{In: 300, Out: 150}, Cost: 90, Calls: 30}); got != want {
		t.Errorf("spent %+v, want %+v", got, want)
	}
	run.Charge(model.Spent{Usage: model.Usage{In: math.MaxInt64}})
	_, err := run.Child(model.Budget{}).Wrap(failing{}).Generate(context.Background(), ask("x"))
	if _, spent := errors.AsType[*model.BudgetError](err); !spent {
		t.Errorf("got %v: the budget is spent, and a child's is not", err)
	}
}

// failing is a model that uses tokens and fails.
type failing struct{ reply model.Reply }

func (f failing) Generate(context.Context, model.Request) (model.Reply, error) {
	return f.reply, errors.New("broken")
}
func (failing) Provider() string { return "failing" }
func (failing) Name() string     { return "failing" }

// greedy uses all that it may, once it is let.
type greedy struct{ let chan struct{} }

func (greedy) Provider() string { return "test" }
func (greedy) Name() string     { return "greedy" }

func (g greedy) Generate(ctx context.Context, r model.Request) (model.Reply, error) {
	select {
	case <-g.let:
	case <-ctx.Done():
		return model.Reply{}, ctx.Err()
	}
	return model.Reply{Usage: model.Usage{In: 1, Out: r.MaxTokens}}, nil
}

// What several models may use at once is no more than what is left, and who would have to do with less waits for what others do not use.
func TestModelsAtOnceArePaidFromWhatIsLeft(t *testing.T) {
	g := greedy{make(chan struct{})}
	p := model.NewPurse(model.Budget{Tokens: 1000})
	m := p.Child(model.Budget{}).Wrap(g)
	request := ask("1234")
	request.MaxTokens = 190
	var all sync.WaitGroup
	var answered, refused atomic.Int64
	for range 16 {
		all.Go(func() {
			_, err := m.Generate(t.Context(), request)
			if _, spent := errors.AsType[*model.BudgetError](err); spent {
				refused.Add(1)
			} else if err == nil {
				answered.Add(1)
			}
		})
	}
	close(g.let)
	all.Wait()
	if got := p.Spent().Total(); got > 1000 || answered.Load() < 5 || answered.Load()+refused.Load() != 16 {
		t.Errorf("%d tokens used of 1000, %d answered, %d refused", got, answered.Load(), refused.Load())
	}
	// One that waits ends with its context.
	synctest.Test(t, func(t *testing.T) {
		g := greedy{make(chan struct{})}
		m := model.NewPurse(model.Budget{Tokens: 1000}).Wrap(g)
		request.MaxTokens = 900
		go m.Generate(t.Context(), request)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := m.Generate(ctx, request); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want that it waits", err)
		}
		close(g.let)
	})
}
