package rego

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"callgate/policies"

	"github.com/open-policy-agent/opa/v1/ast"
)

// lintCost warns of rules that cost more than they need: of what keeps a decision from being remembered, and of what keeps
// rules from being left out, or settled, before a call is made.
func (l *loader) lintCost(c *ast.Compiler) {
	x := &linter{}
	for _, name := range slices.Sorted(maps.Keys(l.packs)) {
		k := l.packs[name]
		tools := toolHelpers(l.files, k)
		for _, path := range slices.Sorted(maps.Keys(l.files)) {
			f := l.files[path]
			if strings.HasPrefix(path, LibraryPrefix) || !f.module.Package.Path.Equal(k.path) {
				continue
			}
			for _, r := range f.module.Rules {
				if !slices.Contains(setNames[:], r.Head.Ref()[0].String()) {
					continue
				}
				if len(tools) > 0 {
					x.indexed(r, tools, path)
				}
				x.guarded(r, k, path)
			}
		}
		for set := range setCount {
			for _, r := range c.GetRulesExact(slot{k, set}.ref()) {
				if path := r.Location.File; !strings.HasPrefix(path, LibraryPrefix) {
					x.whole(c, r, path)
				}
			}
		}
	}
	l.problems = append(l.problems, x.problems...)
}

// whole warns of a rule that reads all of a label, or of the leaves.
func (x *linter) whole(c *ast.Compiler, r *ast.Rule, path string) {
	for _, field := range readsOfRule(c, r) {
		parts := strings.Split(field, ".")
		switch {
		case field == "", field == "leaves", field == "call.state.label":
		case parts[0] == "labels" && (len(parts) < 3 || len(parts) == 3 && parts[1] == "args"):
		default:
			continue
		}
		what := field
		if field == "" {
			what = "input"
		}
		x.warn(position(r.Location, path), "name the fields that matter", "all of %s is read, sources too: two calls hardly ever agree in that, so that no decision is remembered", what)
		return
	}
}

// toolHelpers returns the helpers of a package that ask for a tool and for nothing else before it.
func toolHelpers(files map[string]*file, k *pack) map[string]bool {
	out := map[string]bool{}
	for _, f := range files {
		if !f.module.Package.Path.Equal(k.path) {
			continue
		}
		for _, r := range f.module.Rules {
			if len(r.Head.Args) == 0 && r.Head.RuleKind() != ast.MultiValue && len(r.Head.Ref()) == 1 && toolCondition(r.Body) != nil {
				out[r.Head.Ref()[0].String()] = true
			}
		}
	}
	return out
}

// indexed warns of a rule that names its tool in a helper alone: it is looked at for every other tool as well.
func (x *linter) indexed(r *ast.Rule, helpers map[string]bool, path string) {
	if toolCondition(r.Body) != nil {
		return
	}
	for _, e := range r.Body {
		t, ok := e.Terms.(*ast.Term)
		if !ok || e.Negated || len(e.With) > 0 {
			continue
		}
		if v, ok := t.Value.(ast.Var); ok && helpers[string(v)] {
			x.warn(position(e.Location, path), "compare input.call.tool in the rule itself", "%v names the tool in a helper: the rule is looked at for every other tool too", v)
			return
		}
	}
}

// guardable are the kinds of sink that input.call.sinks has.
var guardable = []string{
	policies.SinkRecipient, policies.SinkAccount, policies.SinkURL, policies.SinkPath, policies.SinkWord, policies.SinkQuery,
	policies.SinkContent, policies.SinkSecret, policies.SinkModel,
}

// guarded warns of a loop over the leaves of every call that is about one kind of sink alone.
func (x *linter) guarded(r *ast.Rule, k *pack, path string) {
	for _, m := range [][]string{k.policy.Match.Sinks, k.policy.Match.Tools, k.match.Sinks, k.match.Tools} {
		if len(m) > 0 {
			return
		}
	}
	known := false
	ast.WalkRefs(r.Body, func(ref ast.Ref) bool {
		for _, field := range []string{"call.sinks", "call.tool", "call.effects", "call.kind"} {
			known = known || ref.HasPrefix(inputRef(field))
		}
		return false
	})
	var loop *ast.Expr
	sink := ""
	for _, e := range r.Body {
		if d, ok := e.Terms.(*ast.SomeDecl); ok && strings.Contains(fmt.Sprint(d.Symbols), "input.leaves") {
			loop = e
		}
		if loop != nil && e.IsCall() && len(e.Operands()) == 2 && !e.Negated {
			if op := e.Operator().String(); op == "equal" || op == "eq" {
				for i := range 2 {
					if s, ok := e.Operand(1 - i).Value.(ast.String); ok && fieldOf(e.Operand(i)) == "sink" && slices.Contains(guardable, string(s)) {
						sink = string(s)
					}
				}
			}
		}
	}
	for _, e := range r.Body { // a helper may ask for the rest
		if t, ok := e.Terms.(*ast.Term); ok {
			_, helper := t.Value.(ast.Var)
			known = known || helper
		}
	}
	if sink != "" && !known {
		x.warn(position(loop.Location, path), fmt.Sprintf("begin with %q in input.call.sinks, which is known before a call is made", sink),
			"the leaves of every call are gone through for the sink %s, which few tools have", sink)
	}
}
