package policies

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
)

// special holds the rules of every engine, specialised for one Static.
type special struct {
	static  Static
	serial  uint64 // tells its keys in the cache from those of others
	engines []Rules
	fields  Fields // the union of what they read
	history bool
}

// specials keeps a special for each Static that occurred, shards × shardSize at most: past
// that a shard starts anew. Reading takes no lock.
type specials struct {
	shards [64]shard
	serial atomic.Uint64
}

type shard struct {
	table atomic.Pointer[map[uint64]*slot] // never changed, only replaced
	mu    sync.Mutex                       // to replace it
	count int
}

const shardSize = 128

// slot is where the special of one Static is made, once.
type slot struct {
	key   []byte
	next  *slot // another Static of the same hash
	ready atomic.Pointer[special]
	mu    sync.Mutex // held while it is made
}

// specialise returns the rules for the request's Static, whose key and hash are given.
func (c *Core) specialise(ctx context.Context, hash uint64, key []byte, r *Request) (*special, error) {
	s := c.specials.shards[hash>>58].slot(hash, key)
	if ready := s.ready.Load(); ready != nil {
		return ready, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ready := s.ready.Load(); ready != nil {
		return ready, nil
	}
	static := staticOf(r)
	out := &special{static: static, serial: c.specials.serial.Add(1)}
	var reads []string
	for _, e := range c.engines {
		rules, err := specialiseEngine(ctx, e, static)
		if err != nil { // not kept: the next call tries again
			return nil, fmt.Errorf("%s: %s: %w", e.Name(), static.Tool, err)
		}
		out.engines = append(out.engines, rules)
		reads = append(reads, rules.Reads()...)
	}
	out.fields = NewFields(reads, c.tags)
	out.history = out.fields.ReadsHistory()
	s.ready.Store(out)
	return out, nil
}

func specialiseEngine(ctx context.Context, e Engine, s Static) (rules Rules, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return e.For(ctx, s)
}

// slot returns the slot of a key, a new one if need be.
func (t *shard) slot(hash uint64, key []byte) *slot {
	if s := t.find(hash, key); s != nil {
		return s
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.find(hash, key); s != nil {
		return s
	}
	table := map[uint64]*slot{}
	if old := t.table.Load(); old != nil && t.count < shardSize {
		table = maps.Clone(*old)
	} else {
		t.count = 0
	}
	s := &slot{key: bytes.Clone(key), next: table[hash]}
	table[hash] = s
	t.count++
	t.table.Store(&table)
	return s
}

func (t *shard) find(hash uint64, key []byte) *slot {
	table := t.table.Load()
	if table == nil {
		return nil
	}
	for s := (*table)[hash]; s != nil; s = s.next {
		if bytes.Equal(s.key, key) {
			return s
		}
	}
	return nil
}
