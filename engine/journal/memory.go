package journal

import (
	"context"
	"slices"
	"sync"
)

// Memory is a [Store] that lives as long as the process. The zero Memory is empty and ready.
type Memory struct {
	keyed
	mu     sync.Mutex
	runs   []RunInfo // in the order of their beginning
	events map[string][]Event

	accounts map[string][]spending
	claims   map[string]Holder
	ledger   []Line
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return new(Memory) }

// Append implements [Store].
func (m *Memory) Append(ctx context.Context, events []Event, sync bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(events) == 0 {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.runs, func(r RunInfo) bool { return r.ID == events[0].Run })
	var before RunInfo
	if i >= 0 {
		before = m.runs[i]
	}
	after, err := before.follow(events)
	if err != nil {
		return err
	}
	if i >= 0 {
		m.runs[i] = after
	} else {
		m.runs = append(m.runs, after)
	}
	if m.events == nil {
		m.events = map[string][]Event{}
	}
	m.events[after.ID] = append(m.events[after.ID], events...)
	var tail Line
	if len(m.ledger) > 0 {
		tail = m.ledger[len(m.ledger)-1]
	}
	m.ledger = append(m.ledger, linesOf(tail, events, false)...)
	return nil
}

// Read implements [Store].
func (m *Memory) Read(ctx context.Context, run string, from int64) ([]Event, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.events[run]
	out := slices.Clone(all[min(max(from-1, 0), int64(len(all))):])
	if len(out) > 0 {
		m.Keys().open(out, all[0])
	}
	return out, nil
}

// Runs implements [Store].
func (m *Memory) Runs(ctx context.Context, limit int) ([]RunInfo, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	out := slices.Clone(m.runs)
	slices.Reverse(out)
	if limit > 0 {
		out = out[:min(limit, len(out))]
	}
	for i, r := range out {
		if h, ok := m.claims[r.ID]; ok && !h.gone() {
			out[i].Holder = &h
		}
	}
	return out, nil
}

// Close implements [Store]: it gives up what is claimed; what was stored can still be read.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.claims = nil
	return nil
}
