package eval

import "sync"

// Programs that were compiled lately are kept, for all sessions of the process: a model repeats itself, and a server runs one
// program many times. What is kept depends on nothing but the text, its file name and which of the names that
// it asks for there are.
var programs = memo{most: 16 << 20}

// memo remembers programs, up to most bytes of them: the oldest go first. It is safe for concurrent use.
type memo struct {
	mu    sync.Mutex
	by    map[memoKey][]*compiled
	order []*compiled // from the oldest
	most  int64
	used  int64
}

type memoKey struct{ file, text string }

// compiled is a program, and what its environment answered when it was compiled.
type compiled struct {
	key   memoKey
	asked []answer
	prog  *Program
}

// answer is a name that was asked for, and whether it was there.
type answer struct {
	name  string
	given bool // asked of Env.Predeclared, not of Env.Globals
	found bool
}

func (a answer) holds(env Env) bool {
	f := env.Globals
	if a.given {
		f = env.Predeclared
	}
	return (f != nil && f(a.name)) == a.found
}

// find returns a program of the text for the environment, nil if there is none.
func (m *memo) find(key memoKey, env Env) *Program {
	m.mu.Lock()
	list := m.by[key] // never changed in place
	m.mu.Unlock()
next:
	for _, c := range list {
		for _, a := range c.asked {
			if !a.holds(env) {
				continue next
			}
		}
		return c.prog
	}
	return nil
}

// add remembers a program. One that would take a large part of the room is not worth it.
func (m *memo) add(c *compiled) {
	if c.size() > m.most/16 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.by == nil {
		m.by = map[memoKey][]*compiled{}
	}
	m.used += c.size()
	m.by[c.key] = append(m.by[c.key][:len(m.by[c.key]):len(m.by[c.key])], c)
	m.order = append(m.order, c)
	for m.used > m.most {
		old := m.order[0]
		m.order[0] = nil
		m.order = m.order[1:]
		m.used -= old.size()
		var kept []*compiled
		for _, o := range m.by[old.key] {
			if o != old {
				kept = append(kept, o)
			}
		}
		if m.by[old.key] = kept; kept == nil {
			delete(m.by, old.key)
		}
	}
}

// size is about what remembering a program takes.
func (c *compiled) size() int64 {
	n := c.prog.bytes + int64(2*len(c.key.text)+len(c.key.file)+512)
	for _, a := range c.asked {
		n += int64(len(a.name) + 24)
	}
	return n
}
