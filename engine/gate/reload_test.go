package gate

import (
	"slices"
	"testing"

	"callgate/engine/journal"
	"callgate/policies"
)

// reloadingPDP is a fakePDP whose rules are replaced, or not.
type reloadingPDP struct {
	*fakePDP
	last policies.Reload
}

func (p *reloadingPDP) LastReload() policies.Reload { return p.last }

func TestNewPoliciesAreRecordedBeforeTheFirstDecisionUnderThem(t *testing.T) {
	r := newRig(t, nil)
	if r.do(read("1.1")).Err != nil {
		t.Fatal("refused")
	}
	r.pdp.set("sha256:2")
	if r.do(read("1.2")).Err != nil || r.do(read("1.3")).Err != nil {
		t.Fatal("refused")
	}
	wantTypes(t, r,
		journal.Decided, journal.CallStart, journal.CallResult,
		journal.Reloaded, journal.Decided, journal.CallStart, journal.CallResult,
		journal.Decided, journal.CallStart, journal.CallResult,
	)
	if got := last[journal.PoliciesReloaded](r, journal.Reloaded); got.From != "sha256:1" || got.Revision != "sha256:2" || got.Problems != nil {
		t.Errorf("recorded %+v", got)
	}
	if got := last[journal.DecisionMade](r, journal.Decided); got.Decision.Revision != "sha256:2" {
		t.Errorf("decided under %s", got.Decision.Revision)
	}
}

func TestNewPoliciesThatAreRefusedAreRecordedOnce(t *testing.T) {
	var pdp *reloadingPDP
	r := newRig(t, func(c *Config) {
		pdp = &reloadingPDP{fakePDP: c.PDP.(*fakePDP), last: policies.Reload{Serial: 1, Problems: []string{"of before the run"}}}
		c.PDP = pdp
	})
	r.do(read("1.1"))
	pdp.last = policies.Reload{Serial: 2, Problems: []string{"p.rego:3: unexpected eof token"}}
	r.do(read("1.2"))
	r.do(read("1.3"))
	wantTypes(t, r,
		journal.Decided, journal.CallStart, journal.CallResult,
		journal.Reloaded, journal.Decided, journal.CallStart, journal.CallResult,
		journal.Decided, journal.CallStart, journal.CallResult,
	)
	got := last[journal.PoliciesReloaded](r, journal.Reloaded)
	if got.From != "sha256:1" || got.Revision != "sha256:1" || !slices.Equal(got.Problems, pdp.last.Problems) {
		t.Errorf("recorded %+v", got)
	}
}
