package builtins

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A pattern names parts of a value: "[]" is every element of a list, ".name" one
// entry of a dict, ".*" any one entry. What is below a part belongs to it. It is
// matched step by step against the tree, never against the text of a path, so that a key such as
// "a].iban" matches nothing but itself.
type pattern struct {
	text  string
	steps []step
}

// step is one step down: an element of a list, any key, or one key.
type step struct {
	kind stepKind
	key  string
}

type stepKind uint8

const (
	oneKey stepKind = iota
	anyKey
	element
)

func parsePattern(s string) (pattern, error) {
	p := pattern{text: s}
	for rest := s; rest != ""; {
		if after, ok := strings.CutPrefix(rest, "[]"); ok {
			p.steps, rest = append(p.steps, step{kind: element}), after
			continue
		}
		after, ok := strings.CutPrefix(rest, ".")
		if !ok {
			return p, fmt.Errorf("path %q: got %q, want a step such as [], .name or .*", s, rest)
		}
		end := strings.IndexAny(after, ".[")
		if end < 0 {
			end = len(after)
		}
		key := after[:end]
		rest = after[end:]
		switch key {
		case "":
			return p, fmt.Errorf("path %q: got an empty name, want .name or .*", s)
		case "*":
			p.steps = append(p.steps, step{kind: anyKey})
		default:
			p.steps = append(p.steps, step{kind: oneKey, key: key})
		}
	}
	if len(p.steps) == 0 {
		return p, fmt.Errorf("path %q: got nothing, want a step such as [], .name or .*", s)
	}
	return p, nil
}

// patterns is a set of patterns that are matched together; each has the index under which
// it was given.
type patterns struct {
	list  []pattern
	index []int
	fold  bool // keys match whatever the case of their ASCII letters
}

// compilePatterns orders patterns so that of two that end at one place the more
// specific comes first.
func compilePatterns(texts []string, fold bool) (patterns, error) {
	out := patterns{fold: fold}
	type indexed struct {
		pattern
		at int
	}
	var list []indexed
	for i, s := range texts {
		p, err := parsePattern(s)
		if err != nil {
			return out, err
		}
		list = append(list, indexed{p, i})
	}
	slices.SortStableFunc(list, func(a, b indexed) int {
		return slices.CompareFunc(a.steps, b.steps, func(x, y step) int {
			return cmp.Or(cmp.Compare(x.kind, y.kind), strings.Compare(x.key, y.key))
		})
	})
	for i, p := range list {
		if i > 0 && slices.Equal(p.steps, list[i-1].steps) {
			return out, fmt.Errorf("path %q: given twice", p.text)
		}
		out.list, out.index = append(out.list, p.pattern), append(out.index, p.at)
	}
	return out, nil
}

// place is a place in a tree, as far as patterns see it. Only the patterns that could still match
// below are carried along.
type place struct {
	set   *patterns
	alive []int // of set.list: their first depth steps have matched
	depth int
	best  int // index of the longest pattern that ended at or above this place, or -1
}

func (ps *patterns) root() place {
	at := place{set: ps, best: -1}
	for i := range ps.list {
		at.alive = append(at.alive, i)
	}
	return at
}

func (at place) element() place { return at.down(step{kind: element}) }

func (at place) key(k string) place { return at.down(step{key: k}) }

func (at place) down(to step) place {
	out := place{set: at.set, depth: at.depth + 1, best: at.best}
	ended := false
	for _, i := range at.alive {
		p := at.set.list[i]
		if !p.steps[at.depth].matches(to, at.set.fold) {
			continue
		}
		if len(p.steps) > out.depth {
			out.alive = append(out.alive, i)
		} else if !ended { // in order: the most specific of those that end here
			out.best, ended = at.set.index[i], true
		}
	}
	return out
}

// below returns the patterns that can end below this place, by the index under which they were given.
func (at place) below() []int {
	var out []int
	for _, i := range at.alive {
		out = append(out, at.set.index[i])
	}
	return out
}

func (s step) matches(to step, fold bool) bool {
	switch {
	case s.kind == element || to.kind == element:
		return s.kind == to.kind
	case s.kind == anyKey:
		return true
	case fold:
		return lowerASCII(s.key) == lowerASCII(to.key)
	}
	return s.key == to.key
}
