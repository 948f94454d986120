package policies

import (
	"bytes"
	"sync/atomic"
)

// cache remembers decisions. It takes no lock: a slot holds one entry or another, and a key that
// was pushed out is decided anew. An entry is found by its hash and verified by its whole key.
type cache struct {
	slots []atomic.Pointer[cached]
}

const (
	cacheSlots  = 1 << 13 // a power of two
	maxCacheKey = 4 << 10 // longer keys are not kept: 32 MiB at most
)

type cached struct {
	hash uint64
	key  []byte
	d    Decision
}

// get returns the decision of a key, or nil.
func (c *cache) get(hash uint64, key []byte) *Decision {
	for _, i := range places(hash) {
		if e := c.slots[i].Load(); e != nil && e.hash == hash && bytes.Equal(e.key, key) {
			return &e.d
		}
	}
	return nil
}

func (c *cache) put(hash uint64, key []byte, d Decision) {
	if len(key) > maxCacheKey {
		return
	}
	at := places(hash)
	i := at[0]
	if c.slots[i].Load() != nil && c.slots[at[1]].Load() == nil {
		i = at[1]
	}
	c.slots[i].Store(&cached{hash: hash, key: bytes.Clone(key), d: d})
}

// places returns the two slots where a hash may be.
func places(hash uint64) [2]uint64 {
	return [2]uint64{hash & (cacheSlots - 1), hash >> 32 & (cacheSlots - 1)}
}
