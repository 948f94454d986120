package rego

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"callgate/policies"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// Coverage notes which lines of the policies' modules are evaluated, by tests and by requests. The shipped policies and tests
// are left out. It is safe for concurrent use; make one with [NewCoverage].
type Coverage struct {
	lines *cover.Cover

	mu      sync.Mutex
	modules map[string]*ast.Module
}

// NewCoverage returns a Coverage of nothing.
func NewCoverage() *Coverage {
	return &Coverage{lines: cover.New(), modules: map[string]*ast.Module{}}
}

// FileCoverage is how much of one module was evaluated.
type FileCoverage struct {
	File       string   `json:"file"`
	Covered    int      `json:"covered"`     // lines
	NotCovered int      `json:"not_covered"` // lines
	Missing    [][2]int `json:"missing"`     // the first and the last line of what was not evaluated
}

func (c *Coverage) add(modules map[string]*ast.Module) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for path, m := range modules {
		if c.modules[path] != nil || strings.HasPrefix(path, LibraryPrefix) || strings.HasSuffix(path, "_test.rego") {
			continue
		}
		// As written, if it can be had: a compiler adds to it.
		if text, err := readModule(path); err == nil {
			if written, err := ast.ParseModuleWithOpts(path, text, parserOptions()); err == nil {
				m = written
			}
		}
		c.modules[path] = m
	}
}

// Files returns the coverage of each module, sorted by path.
func (c *Coverage) Files() []FileCoverage {
	c.mu.Lock()
	defer c.mu.Unlock()
	report := c.lines.Report(c.modules)
	var out []FileCoverage
	for _, path := range slices.Sorted(maps.Keys(c.modules)) {
		f := FileCoverage{File: path, Missing: [][2]int{}}
		if r := report.Files[path]; r != nil {
			f.Covered, f.NotCovered = r.CoveredLines, r.NotCoveredLines
			for _, m := range r.NotCovered {
				f.Missing = append(f.Missing, [2]int{m.Start.Row, m.End.Row})
			}
		}
		f.Missing = join(f.Missing)
		out = append(out, f)
	}
	return out
}

// join unites ranges of lines that overlap or follow each other.
func join(ranges [][2]int) [][2]int {
	slices.SortFunc(ranges, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	out := ranges[:0]
	for _, r := range ranges {
		if n := len(out); n > 0 && r[0] <= out[n-1][1]+1 {
			out[n-1][1] = max(out[n-1][1], r[1])
			continue
		}
		out = append(out, r)
	}
	return out
}

// Cover evaluates the rules that can apply to a request once more, for coverage.
func (e *Engine) Cover(ctx context.Context, s policies.Static, r *policies.Request, c *Coverage) error {
	var errs []error
	for _, u := range e.units {
		c.add(u.compiler.Modules)
		w := why{compiler: u.compiler, store: u.store, txn: u.txn}
		w.request(r, u.vocabulary)
		for _, p := range u.packs {
			if !policies.Matches(p.policy.Match, s) || !policies.Matches(p.match, s) {
				continue
			}
			for set := range setCount {
				if p.sets[set] != nil {
					errs = append(errs, w.run(ctx, slot{p, set}.ref(), func(q *topdown.Query) { q.WithQueryTracer(c.lines) }))
				}
			}
		}
	}
	return errors.Join(errs...)
}
