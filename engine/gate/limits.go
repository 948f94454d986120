package gate

import (
	"context"
	"slices"
	"strings"
	"time"

	"callgate/engine/journal"
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

// reserve spends all the charges, or none if one of them would pass its limit; without spend it only looks. The
// charges of which forced is true pass it: a person said so. It returns those that are over. The accounts are the journal's:
// all runs of a store share them.
func (g *Gate) reserve(ctx context.Context, charges []charge, forced func(charge) bool, spend bool) (over []charge, err error) {
	list := make([]journal.Charge, len(charges))
	for i, c := range charges {
		list[i] = journal.Charge{Account: c.account, Amount: c.amount, Max: c.max, Window: c.window, Force: forced(c)}
	}
	at, err := g.cfg.Journal.Reserve(ctx, list, g.cfg.Clock(), spend)
	for _, i := range at {
		over = append(over, charges[i])
	}
	return over, err
}

// charges works out what a call costs under each limit. Runs beneath one another have one account, that of the one at the top.
func charges(limits []limit, r *policies.Request, root string, bits int) []charge {
	var out []charge
	for _, l := range limits {
		c := charge{l, l.policy + "\x00" + l.id, l.cost}
		for _, p := range l.per {
			c.account += "\x00" + p + "=" + map[string]string{
				"agent": r.Agent.Name, "principal": r.Principal.Sub, "run": root, "session": r.Session.ID, "tool": r.Call.Tool,
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
