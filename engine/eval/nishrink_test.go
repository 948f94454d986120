package eval

import (
	"slices"
	"strings"

	star "go.starlark.net/syntax"

	"callgate/engine/syntax"
)

// fails reports how the two runs still differ for the observer; "" also if the program no longer compiles.
func (c *counterexample) fails() string {
	for i := range c.a.g {
		if x, y := c.a.g[i], c.b.g[i]; !slices.Equal(x.vals, y.vals) && c.observer.sees(x.lab) {
			return ""
		}
	}
	p, err := compileTurns(append([]string{prelude}, c.turns...), inputNames)
	if err != nil {
		return ""
	}
	q := p
	if c.instead != nil {
		if q, err = p.instead(append([]string{prelude}, c.instead...)); err != nil {
			return ""
		}
	}
	a, err := p.runGiven(&c.a, c.authors, c.again)
	if err != nil {
		return ""
	}
	b, err := q.runGiven(&c.b, c.authors, c.again)
	if err != nil {
		return ""
	}
	how, _ := differ(a, b, c.observer)
	return how
}

// shrink makes a counter-example small: statements, inputs, then expressions.
func (c *counterexample) shrink() {
	keep := func(d counterexample) bool {
		how := d.fails()
		if how != "" {
			d.how = how
			*c = d
		}
		return how != ""
	}
	for tries := 0; tries < 30; tries++ {
		before := len(strings.Join(c.turns, "\n"))
		for i := len(c.turns) - 1; i >= 0 && len(c.turns) > 1; i-- {
			d := *c
			d.turns = slices.Delete(slices.Clone(c.turns), i, i+1)
			if c.instead != nil {
				d.instead = slices.Delete(slices.Clone(c.instead), i, i+1)
			}
			if len(d.authors) > i+1 {
				d.authors = slices.Delete(slices.Clone(d.authors), i+1, i+2)
			}
			keep(d)
		}
		for i := range c.turns {
			for at := 0; at < len(strings.Split(c.turns[i], "\n")); at++ {
				for _, smaller := range withoutLine(c.turns[i], at) {
					d := *c
					if d.put(i, smaller); smaller != c.turns[i] && keep(d) {
						at--
						break
					}
				}
			}
		}
		for i := range c.a.g {
			d := *c
			d.b.g[i].vals = d.a.g[i].vals
			keep(d)
			d = *c
			d.a.g[i].lab, d.b.g[i].lab = lowLabel, lowLabel
			keep(d)
			for _, l := range niLabels {
				if c.a.g[i].lab.Equal(lowLabel) || c.a.g[i].lab.Equal(niLabels[0]) {
					break
				}
				d = *c
				d.a.g[i].lab, d.b.g[i].lab = l, l
				if keep(d) {
					break
				}
			}
		}
		d := *c
		if d.again = false; c.again && keep(d) {
			continue
		}
		d = *c
		if d.authors = nil; c.instead == nil && keep(d) {
			continue
		}
		for i := range c.turns {
			c.shrinkExprs(i, keep)
		}
		if len(strings.Join(c.turns, "\n")) >= before {
			return
		}
	}
}

// put puts a text in the place of a turn, in both runs if it is the same in both.
func (c *counterexample) put(i int, text string) {
	if c.instead != nil && c.instead[i] == c.turns[i] {
		c.instead = slices.Clone(c.instead)
		c.instead[i] = text
	}
	c.turns = slices.Clone(c.turns)
	c.turns[i] = text
}

// withoutLine returns the program without line i and what is indented deeper below it, and with that in its place.
func withoutLine(text string, i int) []string {
	lines := strings.Split(text, "\n")
	depth := func(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }
	end := i + 1
	for end < len(lines) && (lines[end] == "" && end < len(lines)-1 || depth(lines[end]) > depth(lines[i])) {
		end++
	}
	out := []string{strings.Join(slices.Concat(lines[:i], lines[end:]), "\n")}
	if end > i+1 {
		body := slices.Clone(lines[i+1 : end])
		for j, s := range body {
			body[j] = strings.TrimPrefix(s, "  ")
		}
		out = append(out, strings.Join(slices.Concat(lines[:i], body, lines[end:]), "\n"))
	}
	return out
}

// shrinkExprs puts parts of expressions, or constants, in their place.
func (c *counterexample) shrinkExprs(i int, keep func(counterexample) bool) {
again:
	for {
		text := c.turns[i]
		f, err := syntax.Parse("x", []byte(text), syntax.Limits{})
		if err != nil {
			return
		}
		starts := []int{0}
		for j := range text {
			if text[j] == '\n' {
				starts = append(starts, j+1)
			}
		}
		// source is where a node is; one that stands for other text may be nowhere.
		source := func(n star.Node) (from, to int, ok bool) {
			at := func(p star.Position) int {
				if p.Line < 1 || int(p.Line) > len(starts) {
					return -1
				}
				return starts[p.Line-1] + int(p.Col) - 1
			}
			start, end := n.Span()
			from, to = at(start), at(end)
			return from, to, 0 <= from && from <= to && to <= len(text)
		}
		var smaller []string
		star.Walk(f, func(n star.Node) bool {
			e, ok := n.(star.Expr)
			if !ok {
				return true
			}
			from, to, ok := source(e)
			if !ok {
				return true
			}
			put := func(s string) {
				if len(s) < to-from {
					smaller = append(smaller, text[:from]+s+text[to:])
				}
			}
			for _, s := range []string{"0", "1", "[]", "{}", "''", "s1", "l0", "True"} {
				put(s)
			}
			star.Walk(e, func(m star.Node) bool {
				if x, ok := m.(star.Expr); ok && m != n {
					if from, to, ok := source(x); ok {
						put(text[from:to])
					}
				}
				return m != nil
			})
			return true
		})
		slices.SortStableFunc(smaller, func(a, b string) int { return len(a) - len(b) })
		for _, s := range smaller {
			d := *c
			d.put(i, s)
			if keep(d) {
				continue again
			}
		}
		return
	}
}
