package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"callgate/policies"
	"callgate/policies/rego"
	"callgate/policies/root"
)

// coverage is which lines in Rego were evaluated, and which rules fired.
type coverage struct {
	lines *rego.Coverage

	mu    sync.Mutex
	rules []policies.Rule
	fired map[ruleKey]int
	err   error
}

// ruleKey names a rule.
type ruleKey struct{ policy, id, action string }

func newCoverage() *coverage {
	return &coverage{lines: rego.NewCoverage(), fired: map[ruleKey]int{}}
}

// asked takes note of what fires for a request.
func (c *coverage) asked(ctx context.Context, r *root.Root, req *policies.Request) {
	found, err := r.Findings(ctx, req)
	if err == nil {
		err = r.Cover(ctx, req, c.lines)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.err = err
	}
	seen := map[ruleKey]bool{}
	for _, reason := range found.Reasons {
		action := reason.Effect.String()
		if reason.Accept {
			action = "accept"
		}
		seen[ruleKey{reason.Policy, reason.ID, action}] = true
	}
	for _, o := range found.Obligations {
		seen[ruleKey{o.Policy, strings.TrimSuffix(o.Type+"/"+o.ID, "/"), "obligation"}] = true
	}
	for k := range seen {
		c.fired[k]++
	}
}

// bound takes note of rules that could fire. Shipped ones are left out.
func (c *coverage) bound(rules []policies.Rule) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range rules {
		if !strings.HasPrefix(r.Pos.File, rego.LibraryPrefix) && !slices.Contains(c.rules, r) {
			c.rules = append(c.rules, r)
		}
	}
}

func (c *coverage) times(r policies.Rule) int { return c.fired[ruleKey{r.Policy, r.ID, r.Action}] }

// writeText tells what was missed.
func (c *coverage) writeText(b *strings.Builder) {
	for _, f := range c.lines.Files() {
		fmt.Fprintf(b, "cover %s  %s of %d lines", f.File, percent(f.Covered, f.Covered+f.NotCovered), f.Covered+f.NotCovered)
		if len(f.Missing) > 0 {
			fmt.Fprintf(b, ", not %s", lineRanges(f.Missing))
		}
		b.WriteString("\n")
	}
	if len(c.rules) == 0 {
		return
	}
	fired := 0
	for _, r := range c.rules {
		if c.times(r) > 0 {
			fired++
		}
	}
	fmt.Fprintf(b, "cover rules  %s of %d fired in a scenario\n", percent(fired, len(c.rules)), len(c.rules))
	for _, r := range c.rules {
		if c.times(r) == 0 {
			fmt.Fprintf(b, "      %s: %s: never fired (%s %s)\n", r.Pos, r.ID, r.Action, r.Engine)
		}
	}
	if c.err != nil {
		fmt.Fprintf(b, "      some calls could not be counted: %v\n", c.err)
	}
}

func percent(part, whole int) string {
	if whole == 0 {
		return "100%"
	}
	return fmt.Sprintf("%d%%", 100*part/whole)
}

func lineRanges(ranges [][2]int) string {
	var out []string
	for _, r := range ranges {
		if r[0] == r[1] {
			out = append(out, fmt.Sprint(r[0]))
		} else {
			out = append(out, fmt.Sprintf("%d-%d", r[0], r[1]))
		}
	}
	return strings.Join(out, ", ")
}

// firedRule is a rule in the JSON of coverage.
type firedRule struct {
	policies.Rule
	File  string `json:"file"`
	Line  int    `json:"line"`
	Fired int    `json:"fired"` // requests for which it did
}

// coverReport is the coverage in JSON.
type coverReport struct {
	Files []rego.FileCoverage `json:"files"`
	Rules []firedRule         `json:"rules"`
}

func (c *coverage) report() coverReport {
	out := coverReport{Files: c.lines.Files(), Rules: []firedRule{}}
	for _, r := range c.rules {
		out.Rules = append(out.Rules, firedRule{r, r.Pos.File, r.Pos.Line, c.times(r)})
	}
	return out
}
