package journal

import (
	"context"
	"fmt"
	"math"
	"time"
)

// Charge is what one call would spend of one limit.
type Charge struct {
	Account string        // whatever tells accounts apart
	Amount  int64         // at least 0
	Max     int64         // the most that the account may hold, of the last Window
	Window  time.Duration // 0: of all time
	Force   bool          // it may pass Max: a person said so
}

// Reserve enters charges in the accounts of the run's store, see [Store]. A run that is not recorded any more
// reserves nothing.
func (r *Run) Reserve(ctx context.Context, charges []Charge, at time.Time, spend bool) (over []int, err error) {
	r.mu.Lock()
	dead := r.dead
	r.mu.Unlock()
	if dead != nil {
		return nil, dead
	}
	return r.store.Reserve(context.WithoutCancel(ctx), charges, at, spend)
}

// spending is an amount that was spent at a time; those of an account without a window are one.
type spending struct {
	at     time.Time
	amount int64
}

// Reserve implements [Store].
func (m *Memory) Reserve(ctx context.Context, charges []Charge, at time.Time, spend bool) (over []int, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.accounts == nil {
		m.accounts = map[string][]spending{}
	}
	for i, c := range charges {
		if c.passes(m.used(c, at)) {
			over = append(over, i)
		}
	}
	if len(over) > 0 || !spend {
		return over, nil
	}
	for _, c := range charges {
		list := m.accounts[c.Account]
		if c.Window > 0 || len(list) == 0 {
			m.accounts[c.Account] = append(list, spending{at, c.Amount})
		} else {
			list[0].amount = add(list[0].amount, c.Amount)
		}
	}
	return nil, nil
}

// used returns what was spent in the window that ends now, and forgets what is older.
func (m *Memory) used(c Charge, now time.Time) (sum int64) {
	list := m.accounts[c.Account]
	if c.Window > 0 {
		for len(list) > 0 && !list[0].at.After(now.Add(-c.Window)) {
			list = list[1:]
		}
		m.accounts[c.Account] = list
	}
	for _, s := range list {
		sum = add(sum, s.amount)
	}
	return sum
}

// passes reports whether the charge passes its limit if so much was used.
func (c Charge) passes(used int64) bool {
	return !c.Force && (c.Amount < 0 || add(used, c.Amount) > c.Max)
}

// add adds amounts; what is too much for a number is the largest.
func add(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}

// Reserve implements [Store]: in one transaction, which no other process has a part in.
func (s *SQLite) Reserve(ctx context.Context, charges []Charge, at time.Time, spend bool) (over []int, err error) {
	err = s.take(ctx, &appending{do: func(ctx context.Context) (err error) {
		over, err = s.charge(ctx, charges, at, spend)
		return err
	}})
	return over, err
}

// charge carries a reservation out, in the transaction that was begun.
func (s *SQLite) charge(ctx context.Context, charges []Charge, at time.Time, spend bool) (over []int, err error) {
	now := at.UnixNano()
	for i, c := range charges {
		since := int64(math.MinInt64)
		if c.Window > 0 {
			since = now - int64(c.Window)
		}
		var used int64
		err := s.conn.QueryRowContext(ctx, "SELECT ifnull(sum(amount), 0) FROM accounts WHERE account = ? AND at > ?", []byte(c.Account), since).Scan(&used)
		if err != nil {
			return nil, fmt.Errorf("account of a limit: %w", err)
		}
		if c.passes(used) {
			over = append(over, i)
		}
	}
	if len(over) > 0 || !spend {
		return over, nil
	}
	for _, c := range charges {
		at := int64(0)
		var err error
		if c.Window > 0 {
			at = now
			_, err = s.conn.ExecContext(ctx, "DELETE FROM accounts WHERE account = ? AND at <= ?", []byte(c.Account), now-int64(c.Window))
		}
		if err == nil {
			_, err = s.conn.ExecContext(ctx, "INSERT INTO accounts VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET amount = min(amount, 9223372036854775807 - excluded.amount) + excluded.amount", []byte(c.Account), at, c.Amount)
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}
