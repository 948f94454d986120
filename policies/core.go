package policies

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
)

// Config is what a [Core] is made of.
type Config struct {
	// Engines hold the rules. Without any, every call is denied.
	Engines []Engine

	// Tags are those that rules look for, besides pii and secret: see [NewFields].
	Tags []string

	// Inputs name whatever else decisions depend on, for the revision: digests of files, versions.
	Inputs []string
}

// Core is the policy decision point: it asks every engine, adds the flow rule,
// and combines. It remembers decisions that depend on nothing but what is in the key:
// the fields that the rules say they read, and the flow rule's outcome. Decisions that need an approval, and
// those that carry a limit, are made anew each time. A Core never changes; make another for other rules.
type Core struct {
	engines  []Engine
	tags     Vocabulary
	revision string
	seed     maphash.Seed
	scratch  sync.Pool // *scratch

	specials specials
	recent   [recentSpecials]atomic.Pointer[special] // by tool and principal: found without making the key of a Static
	cache    cache
}

// ruleVersion changes with the meaning of the flow rule and of combining.
const ruleVersion = "callgate/v1 rules 1"

// New returns a Core. Two engines of one name are an error.
func New(cfg Config) (*Core, error) {
	c := &Core{engines: slices.Clone(cfg.Engines), tags: NewVocabulary(cfg.Tags), seed: maphash.MakeSeed()}
	h := sha256.New()
	put := func(s string) {
		h.Write(binary.AppendUvarint(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	put(ruleVersion)
	names := map[string]bool{}
	for _, e := range c.engines {
		if names[e.Name()] {
			return nil, fmt.Errorf("engine %s: given twice", e.Name())
		}
		names[e.Name()] = true
		put(e.Name())
		put(e.Revision())
	}
	for _, list := range [][]string{cfg.Tags, cfg.Inputs} {
		put(fmt.Sprint(len(list)))
		for _, s := range list {
			put(s)
		}
	}
	c.revision = "sha256:" + hex.EncodeToString(h.Sum(nil))
	c.scratch.New = func() any { return &scratch{} }
	c.cache.slots = make([]atomic.Pointer[cached], cacheSlots)
	return c, nil
}

// Revision returns "sha256:…" over the rules of all engines and everything else that decisions depend on.
func (c *Core) Revision() string { return c.revision }

// scratch is what one decision works in.
type scratch struct {
	key keyWriter
	buf []byte
}

// Decide implements [PDP]. It returns no error: whatever goes wrong is a
// reason of a decision that denies. The decision's slices may be shared with other
// decisions and must not be changed.
func (c *Core) Decide(ctx context.Context, r *Request) (d Decision, err error) {
	s := c.scratch.Get().(*scratch)
	rules, wrong := c.rulesFor(ctx, r, s)
	flow := Flow(r)
	if wrong != nil {
		d = Combine(Findings{Reasons: append(flow, errorReason(wrong))})
		c.finish(&d, r, false)
		return d, nil
	}

	s.key.b = binary.LittleEndian.AppendUint64(s.key.b[:0], rules.serial)
	s.key.request(&rules.fields, r)
	for i := range flow { // its outcome stands for all that it reads
		s.key.text(flow[i].ID)
		s.key.text(flow[i].Message)
	}
	hash := maphash.Bytes(c.seed, s.key.b)
	if known := c.cache.get(hash, s.key.b); known != nil {
		d = *known
		d.Cached = true
	} else {
		var keep bool
		if d, keep = c.evaluate(ctx, rules, r, flow); keep {
			c.cache.put(hash, s.key.b, d)
		}
	}
	c.finish(&d, r, rules.history)
	if cap(s.key.b) <= maxScratch && cap(s.buf) <= maxScratch {
		c.scratch.Put(s) // a panic would only lose it
	}
	return d, nil
}

const recentSpecials = 1 << 8 // a power of two

// rulesFor returns the rules for the request's Static.
func (c *Core) rulesFor(ctx context.Context, r *Request, s *scratch) (*special, error) {
	at := maphash.String(c.seed, r.Call.Tool)
	if sub := r.Principal.Sub; sub != "" { // few in a process
		at += uint64(len(sub)) + uint64(sub[0])<<2
	}
	slot := &c.recent[at&(recentSpecials-1)]
	if rules := slot.Load(); rules != nil && rules.static.of(r) {
		return rules, nil
	}
	s.buf = appendStatic(s.buf[:0], r)
	rules, err := c.specialise(ctx, maphash.Bytes(c.seed, s.buf), s.buf, r)
	if err == nil {
		slot.Store(rules)
	}
	return rules, err
}

// of reports whether s is the request's Static.
func (s *Static) of(r *Request) bool {
	return s.Tool == r.Call.Tool && s.Kind == r.Call.Kind && s.Agent == r.Agent.Name && s.Principal == r.Principal.Sub &&
		slices.Equal(s.Groups, r.Principal.Groups) && slices.Equal(s.Effects, r.Call.Effects) && slices.Equal(s.Sinks, r.Call.Sinks)
}

// Warm specialises the rules for calls with these static properties, so that the first of
// them does not wait for it, and reports whether there is a rule that could allow one. Whatever goes wrong shows when such a call is decided.
func (c *Core) Warm(ctx context.Context, s Static) (mayAllow bool) {
	r := &Request{
		Agent: Agent{Name: s.Agent}, Principal: Principal{Sub: s.Principal, Groups: s.Groups},
		Call: Call{Kind: s.Kind, Tool: s.Tool, Effects: s.Effects, Sinks: s.Sinks},
	}
	key := appendStatic(nil, r)
	rules, err := c.specialise(ctx, maphash.Bytes(c.seed, key), key, r)
	return err != nil || slices.ContainsFunc(rules.engines, Rules.MayAllow)
}

// maxScratch is how many bytes a scratch may hold on to between decisions.
const maxScratch = 64 << 10

// finish adds what belongs to the one request.
func (c *Core) finish(d *Decision, r *Request, history bool) {
	d.Time, d.Run, d.Call = r.Time, r.Session.Run, r.Call.ID
	d.Revision, d.ReadHistory = c.revision, history
}

// evaluate asks the rules of every engine; keep reports whether the decision
// depends on the key alone.
func (c *Core) evaluate(ctx context.Context, rules *special, r *Request, flow []Reason) (d Decision, keep bool) {
	found := Findings{Reasons: flow}
	keep = true
	for i, e := range rules.engines {
		if err := evaluate(ctx, e, r, &found); err != nil {
			found.Reasons = append(found.Reasons, errorReason(fmt.Errorf("%s: %w", c.engines[i].Name(), err)))
			keep = false
		}
	}
	d = Combine(found)
	keep = keep && !found.Volatile
	if len(d.Approvals) > 0 || slices.ContainsFunc(d.Obligations, func(o Obligation) bool { return o.Type == ObligeLimit }) {
		keep = false
	}
	return d, keep
}

// evaluate turns a panic into an error: rules are not to take the process down.
func evaluate(ctx context.Context, rules Rules, r *Request, out *Findings) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return rules.Evaluate(ctx, r, out)
}

func errorReason(err error) Reason {
	return Reason{ID: CoreError, Policy: "core", Effect: Deny, Engine: "core", Message: err.Error()}
}

func staticOf(r *Request) Static {
	return Static{
		Agent: r.Agent.Name, Principal: r.Principal.Sub, Groups: slices.Clone(r.Principal.Groups),
		Kind: r.Call.Kind, Tool: r.Call.Tool, Effects: slices.Clone(r.Call.Effects), Sinks: slices.Clone(r.Call.Sinks),
	}
}

// appendStatic appends a text that two requests share only if their Statics are equal.
func appendStatic(b []byte, r *Request) []byte {
	w := keyWriter{b}
	w.text(r.Call.Tool)
	w.text(r.Call.Kind)
	w.text(r.Agent.Name)
	w.text(r.Principal.Sub)
	w.Strings("", r.Principal.Groups)
	w.Strings("", r.Call.Effects)
	w.Strings("", r.Call.Sinks)
	return w.b
}
