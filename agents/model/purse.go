package model

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"sync"
)

// Money is an amount in billionths of the unit in which prices are given. Which currency that is nobody needs to know.
type Money int64

// String writes an amount with two digits after the point, or as many as it needs up to six.
func (m Money) String() string {
	s := strconv.FormatFloat(float64(m)/1e9, 'f', 6, 64)
	i := strings.IndexByte(s, '.')
	return s[:i+3] + strings.TrimRight(s[i+3:], "0")
}

// Price is what a million tokens cost. The zero Price costs nothing.
type Price struct {
	In, Out Money
	Cached  Money // tokens read from the provider's cache
	Written Money // tokens put into it
}

// Of returns what a usage costs, rounded up.
func (p Price) Of(u Usage) Money {
	plain := max(0, u.In-u.Cached-u.Written)
	return sum(times(plain, p.In), times(u.Out, p.Out), times(u.Cached, p.Cached), times(u.Written, p.Written))
}

// times is the price of tokens, given that of a million.
func times(tokens int64, price Money) Money {
	if tokens <= 0 || price <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(tokens), uint64(price))
	lo, carry := bits.Add64(lo, 999_999, 0)
	if hi += carry; hi >= 1_000_000 {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, 1_000_000)
	return Money(min(q, math.MaxInt64))
}

func sum(all ...Money) (out Money) {
	for _, m := range all {
		out = Money(add(int64(out), int64(m)))
	}
	return out
}

// add adds what is not negative, and stays at the largest number.
func add(a, b int64) int64 {
	a, b = max(a, 0), max(b, 0)
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Budget is the most that models may use. 0 is no bound.
type Budget struct {
	Tokens int64 // in and out
	Money  Money
}

// Spent is what models have used.
type Spent struct {
	Usage
	Cost  Money
	Calls int // of models
}

// BudgetError says that a budget is spent. No model was asked.
type BudgetError struct {
	What        string // tokens or money
	Used, Limit string
	Next        string // what is to be read next, if that is too much; "": nothing is left
}

func (e *BudgetError) Error() string {
	next := ""
	if e.Next != "" {
		next = ", and about " + e.Next + " would have to be read next"
	}
	return fmt.Sprintf("the models of the run have used %s of %s %s%s\nhint: limits.%s says how much they may use", e.Used, e.Limit, e.What, next, e.What)
}

// Purse counts what all models of a run use: the one that writes its programs, those that it asks, those of its sub-agents. Each spends from its own purse and from those
// that this one is a child of. It is safe for concurrent use. The nil Purse counts nothing and bounds nothing.
type Purse struct {
	mu     *settling // of all of a run
	parent *Purse
	budget Budget
	spent  Spent
	held   int64 // tokens that are being asked for, and those that may be answered
}

// settling is a lock, and tells those who wait for it when something is held no longer.
type settling struct {
	sync.Mutex
	next chan struct{} // closed then; nil: nobody waits
}

// NewPurse returns the purse of a run.
func NewPurse(b Budget) *Purse { return &Purse{mu: new(settling), budget: b} }

// Child returns a purse within this one, with a budget of its own.
func (p *Purse) Child(b Budget) *Purse {
	if p == nil {
		return NewPurse(b)
	}
	return &Purse{mu: p.mu, parent: p, budget: b}
}

// Spent returns what has been used from the purse, by its children too.
func (p *Purse) Spent() Spent {
	if p == nil {
		return Spent{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spent
}

// Charge takes what models have used from the purse, whether or not there is as much left: what is used up already, as a run that is gone over again
// tells, and what [Purse.Wrap] does not see.
func (p *Purse) Charge(s Spent) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.charge(s)
}

func (p *Purse) charge(s Spent) {
	for ; p != nil; p = p.parent {
		p.spent = Spent{p.spent.Usage.Add(s.Usage), sum(p.spent.Cost, s.Cost), p.spent.Calls + s.Calls}
	}
}

// left returns how many tokens are left once so many are held; 0 if there is no bound.
func (p *Purse) left(hold int64) (left int64, err error) {
	for ; p != nil; p = p.parent {
		used := add(p.spent.Total(), p.held)
		switch b := p.budget; {
		case b.Tokens > 0 && add(used, hold) >= b.Tokens:
			e := &BudgetError{What: "tokens", Used: strconv.FormatInt(used, 10), Limit: strconv.FormatInt(b.Tokens, 10)}
			if used < b.Tokens {
				e.Next = strconv.FormatInt(hold, 10)
			}
			return 0, e
		case b.Money > 0 && p.spent.Cost >= b.Money:
			return 0, &BudgetError{What: "money", Used: p.spent.Cost.String(), Limit: b.Money.String()}
		case b.Tokens > 0 && (left == 0 || b.Tokens-used-hold < left):
			left = b.Tokens - used - hold
		}
	}
	return left, nil
}

// Wrap returns a model whose replies are paid from the purse. It refuses with a [*BudgetError] when a budget is spent, or would be by
// what the model is to read; and a reply may be no longer than what is left.
func (p *Purse) Wrap(m Model) Model {
	if p == nil {
		return m
	}
	return &paid{m, p}
}

type paid struct {
	Model
	purse *Purse
}

// Generate implements [Model].
func (m *paid) Generate(ctx context.Context, r Request) (Reply, error) {
	p := m.purse
	held, err := p.take(ctx, &r)
	if err != nil {
		return Reply{}, err
	}
	reply := Reply{}
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.hold(-held)
		p.charge(Spent{reply.Usage, reply.Cost, 1})
		if p.mu.next != nil {
			close(p.mu.next)
			p.mu.next = nil
		}
	}()
	reply, err = m.Model.Generate(ctx, r)
	return reply, err
}

// take holds what a request may use, and bounds its reply by what is left. While others hold what it would have to do without, it waits until
// they have used it, or not; where money is bounded it waits for any other, since what a reply costs is known at its end.
func (p *Purse) take(ctx context.Context, r *Request) (held int64, err error) {
	hold := r.size() / bytesPerToken
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		left, err := p.left(hold)
		short := err != nil || left > 0 && r.MaxTokens > 0 && left < r.MaxTokens || p.priced()
		if short && p.holds() {
			if p.mu.next == nil {
				p.mu.next = make(chan struct{})
			}
			settled := p.mu.next
			p.mu.Unlock()
			select {
			case <-settled:
			case <-ctx.Done():
			}
			p.mu.Lock()
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			continue
		}
		if err != nil {
			return 0, err
		}
		if left > 0 {
			if r.MaxTokens == 0 || left < r.MaxTokens {
				r.MaxTokens = left
			}
			hold = add(hold, r.MaxTokens)
		}
		p.hold(hold)
		return hold, nil
	}
}

// priced reports whether the purse, or one that it is a child of, bounds money.
func (p *Purse) priced() bool {
	for ; p != nil; p = p.parent {
		if p.budget.Money > 0 {
			return true
		}
	}
	return false
}

// holds reports whether anything is held of the purse, or of one that it is a child of.
func (p *Purse) holds() bool {
	for ; p != nil; p = p.parent {
		if p.held > 0 {
			return true
		}
	}
	return false
}

func (p *Purse) hold(n int64) {
	for ; p != nil; p = p.parent {
		p.held += n
	}
}

// bytesPerToken is how many bytes of text make about one token.
const bytesPerToken = 4

// size is how many bytes of text the model is to read.
func (r *Request) size() int64 {
	n := len(r.System) + len(r.Schema)
	for _, m := range r.Messages {
		n += len(m.Text)
		for _, c := range m.Calls {
			n += len(c.Input)
		}
	}
	return int64(n)
}

type purseKey struct{}

// WithPurse returns a context in which models are paid from a purse: that of the run, for the tools which its programs call.
func WithPurse(ctx context.Context, p *Purse) context.Context {
	return context.WithValue(ctx, purseKey{}, p)
}

// PurseOf returns the purse from which models are paid in a context; nil if there is none.
func PurseOf(ctx context.Context) *Purse {
	p, _ := ctx.Value(purseKey{}).(*Purse)
	return p
}
