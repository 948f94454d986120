package gate

import (
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/policies"
)

var (
	limitScopes = policies.LimitScopes()
	limitUnits  = policies.LimitUnits()
)

// limit is an amount that may be spent in a window of time.
type limit struct {
	id, policy string
	per        []string      // of limitScopes, sorted: each combination of their values has an account of its own; none: one for all
	window     time.Duration // 0: for ever
	max        int64
	cost       int64  // of this call, if unit is ""
	unit       string // of limitUnits
	ask        bool   // when it is used up, ask a person; else deny
}

func (l limit) equal(m limit) bool {
	return l.id == m.id && l.policy == m.policy && slices.Equal(l.per, m.per) && l.window == m.window &&
		l.max == m.max && l.cost == m.cost && l.unit == m.unit && l.ask == m.ask
}

// charge is what one call would spend of one limit.
type charge struct {
	limit
	account string
	amount  int64
}

// charges works out what a call costs under each limit.
func charges(limits []limit, r *policies.Request, bits int) []charge {
	var out []charge
	for _, l := range limits {
		c := charge{l, l.policy + "\x00" + l.id, l.cost}
		for _, p := range l.per {
			c.account += "\x00" + p + "=" + map[string]string{
				"agent": r.Agent.Name, "principal": r.Principal.Sub, "run": r.Session.Run, "session": r.Session.ID, "tool": r.Call.Tool,
			}[p]
		}
		switch l.unit {
		case "":
		case "calls":
			c.amount = 1
		case "bits":
			c.amount = int64(bits)
		default:
			c.amount = 0
			for _, leaf := range r.Leaves {
				if leaf.Sink == strings.TrimSuffix(l.unit, "s") {
					c.amount++
				}
			}
		}
		out = append(out, c)
	}
	return out
}

// Ledger holds what calls have spent of the limits that policies set. The zero Ledger is
// empty. It is safe for concurrent use: gates that share one share the limits per
// principal, agent or tool. It lives in memory, as long as its process.
type Ledger struct {
	mu       sync.Mutex
	accounts map[string]*account
}

// account is what was spent under one limit: for a window the single amounts, else their sum.
type account struct {
	spent []spending
	sum   int64
}

type spending struct {
	at     time.Time
	amount int64
}

// reserve spends all the charges, or none if one of them would pass its limit. The
// charges of which forced is true pass it: a person said so. It returns those that are over.
func (l *Ledger) reserve(charges []charge, now time.Time, forced func(charge) bool, spend bool) (over []charge) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range charges {
		if left := c.max - l.used(c, now); c.amount > left && !forced(c) {
			over = append(over, c)
		}
	}
	if len(over) > 0 || !spend {
		return over
	}
	for _, c := range charges {
		a := l.accounts[c.account]
		if a == nil {
			if l.accounts == nil {
				l.accounts = map[string]*account{}
			}
			a = &account{}
			l.accounts[c.account] = a
		}
		a.sum += c.amount
		if c.window > 0 {
			a.spent = append(a.spent, spending{now, c.amount})
		}
	}
	return nil
}

// used returns what was spent in the window that ends now, and forgets what is older.
func (l *Ledger) used(c charge, now time.Time) int64 {
	a := l.accounts[c.account]
	if a == nil {
		return 0
	}
	if c.window > 0 {
		for len(a.spent) > 0 && !a.spent[0].at.After(now.Add(-c.window)) {
			a.sum -= a.spent[0].amount
			a.spent = a.spent[1:]
		}
	}
	return a.sum
}
