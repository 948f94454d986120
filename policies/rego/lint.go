package rego

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"callgate/policies"
	"callgate/spec"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Lint warns of rules that load and do not do what their author meant: a name that no call has, two conditions that exclude each
// other, a denial that is silent about what is missing, a grant that holds of nothing at all.

// linter looks at the modules of policies as they were written.
type linter struct {
	problems []spec.Problem
	words    map[string][]string        // what a field of the request may be, by its path
	required map[string]map[string]bool // arguments that a tool has, and whether always, by tool

	tools     []policies.ToolSchema // crossings first; nil: they are not known
	crossings int                   // how many those are
}

func (l *loader) lint(cfg Config) {
	x := &linter{words: wordsOf(cfg.Tools), required: map[string]map[string]bool{}}
	for _, t := range slices.Concat(policies.Crossings(), cfg.Tools) {
		x.required[t.Name] = map[string]bool{}
		for _, p := range t.Params {
			x.required[t.Name]["input.call.args."+p.Name] = p.Required
		}
	}
	if len(cfg.Tools) > 0 {
		x.tools = slices.Concat(policies.Crossings(), cfg.Tools)
		x.crossings = len(x.tools) - len(cfg.Tools)
	}
	for _, path := range slices.Sorted(maps.Keys(l.files)) {
		if f := l.files[path]; !strings.HasPrefix(path, LibraryPrefix) {
			for _, r := range f.module.Rules {
				x.rule(r, path)
				if owner := l.owner[packageOf(f.module)]; owner != nil && r.Head.Ref()[0].String() == setNames[acceptSet] {
					x.nowhere(r, owner.Match, path)
				}
			}
		}
	}
	l.problems = append(l.problems, x.problems...)
}

// nowhere warns of an accept for a path that is written down, if none of the tools that it can be about has such a parameter.
func (x *linter) nowhere(r *ast.Rule, match spec.Match, path string) {
	if r.Head.Key == nil || len(x.tools) == 0 {
		return
	}
	object, ok := r.Head.Key.Value.(ast.Object)
	if !ok {
		return
	}
	at := object.Get(ast.StringTerm("path"))
	if at == nil {
		return
	}
	text, ok := at.Value.(ast.String)
	if !ok {
		return
	}
	names := toolCondition(r.Body)
	match.Agents, match.Principals = nil, nil // whoever they are
	var tools []policies.ToolSchema
	for i, t := range x.tools {
		kind := policies.KindTool
		if i < x.crossings {
			kind = t.Name
		}
		if (names == nil || slices.Contains(names, t.Name)) &&
			policies.Matches(match, policies.Static{Kind: kind, Tool: t.Name, Effects: t.Effects, Sinks: t.SinkKinds()}) {
			tools = append(tools, t)
		}
	}
	if param, near, lacks := policies.Lacks(string(text), tools); lacks && len(tools) > 0 {
		x.warn(position(at.Location, path), near, "accept: no tool that this is about has a parameter %s: nothing is accepted", param)
	}
}

func (x *linter) warn(at spec.Position, hint, format string, args ...any) {
	x.problems = append(x.problems, spec.Problem{Pos: at, Text: fmt.Sprintf(format, args...), Hint: hint, Warn: true})
}

// wordsOf lists what the fields can be that have a fixed set of words.
func wordsOf(tools []policies.ToolSchema) map[string][]string {
	effects := []string{policies.EffectRead, policies.EffectWrite, policies.EffectEgress, policies.EffectDestructive}
	sinks := []string{
		policies.SinkNone, policies.SinkRecipient, policies.SinkAccount, policies.SinkURL, policies.SinkPath, policies.SinkWord,
		policies.SinkQuery, policies.SinkContent, policies.SinkSecret, policies.SinkModel, policies.SinkControl,
	}
	out := map[string][]string{
		"input.call.effects": effects, "input.agent.effects": effects, "input.call.sinks": sinks, "sink": sinks,
		"input.call.kind": {
			policies.KindTool, policies.KindBuiltin, policies.KindProgram, policies.KindObserve,
			policies.KindAnswer, policies.KindModel, policies.KindEndorse, policies.KindDeclassify,
		},
		"trust": {"untrusted", "internal", "user", "system"},
	}
	if len(tools) > 0 {
		for _, t := range slices.Concat(tools, policies.Crossings()) {
			out["input.call.tool"] = append(out["input.call.tool"], t.Name)
		}
	}
	return out
}

func (x *linter) rule(r *ast.Rule, path string) {
	set := setKind(slices.Index(setNames[:], r.Head.Ref()[0].String()))
	ast.WalkExprs(r, func(e *ast.Expr) bool {
		x.unknownWord(e, path)
		return false
	})
	ast.WalkBodies(r, func(b ast.Body) bool {
		x.exclusive(b, path)
		return false
	})
	switch set {
	case denySet, askSet:
		x.silent(r, set, path)
	case allowSet, acceptSet:
		x.vacuous(r, set, path)
		x.holds(r, set, path)
	}
}

// fieldOf returns the path of a reference to the request, or the last step of one into a variable.
func fieldOf(t *ast.Term) string {
	ref, ok := t.Value.(ast.Ref)
	if !ok {
		return ""
	}
	if ref[0].Equal(ast.InputRootDocument) && ref.IsGround() {
		return ref.String()
	}
	if s, ok := ref[len(ref)-1].Value.(ast.String); ok && len(ref) > 1 && !ref[0].Equal(ast.DefaultRootDocument) {
		return string(s)
	}
	return ""
}

// unknownWord warns of a comparison with a word that the field never is.
func (x *linter) unknownWord(e *ast.Expr, path string) {
	if !e.IsCall() || len(e.Operands()) < 2 {
		return
	}
	operator := e.Operator().String()
	a, b := e.Operand(0), e.Operand(1)
	switch operator {
	case "equal", "eq", "neq":
		x.compare(fieldOf(a), b, path)
		x.compare(fieldOf(b), a, path)
	case "internal.member_2":
		x.compare(fieldOf(b), a, path) // "egress" in input.call.effects
		switch list := b.Value.(type) {
		case ast.Set:
			list.Foreach(func(t *ast.Term) { x.compare(fieldOf(a), t, path) })
		case *ast.Array:
			list.Foreach(func(t *ast.Term) { x.compare(fieldOf(a), t, path) })
		}
	}
}

func (x *linter) compare(field string, with *ast.Term, path string) {
	known := x.words[field]
	word, ok := with.Value.(ast.String)
	if !ok || len(known) == 0 || slices.Contains(known, string(word)) {
		return
	}
	what := field
	if field == "input.call.tool" {
		what = "the granted tools"
	}
	hint := ""
	if near := spec.Nearest(string(word), known); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	} else if field == "input.call.tool" {
		return // another agent's: the host's policies are for all of them
	}
	x.warn(position(with.Location, path), hint, "%q is none of %s: the condition never holds", string(word), what)
}

// exclusive warns of a body that wants one field to be two things, or a number where there is none.
func (x *linter) exclusive(b ast.Body, path string) {
	ranges := map[string]*span{}
	for _, e := range b {
		if !e.IsCall() || len(e.Operands()) != 2 || e.Negated || len(e.With) > 0 {
			continue
		}
		op := e.Operator().String()
		for i := range 2 {
			ref, ok := e.Operand(i).Value.(ast.Ref)
			if !ok || !ref.IsGround() || ref[0].Equal(ast.DefaultRootDocument) || !isData(e.Operand(1-i)) {
				continue
			}
			key := ref.String()
			s := ranges[key]
			if s == nil {
				s = &span{}
				if strings.HasSuffix(key, ".rank") {
					s.low, s.high, s.why = ast.Number("0"), ast.Number("3"), "a rank is 0 to 3"
				}
				ranges[key] = s
			}
			if i == 1 {
				op = cmp.Or(mirrored[op], op)
			}
			if before := s.why; !s.narrow(op, e.Operand(1-i).Value) {
				x.warn(position(e.Location, path), "", "%v: the rule can never fire, %s", ref, before)
			}
		}
	}
}

// span is what a field may still be.
type span struct {
	low, high         ast.Value // nil: anything
	lowOpen, highOpen bool      // the end itself is not in it
	why               string    // it is no more
}

// mirrored turns a comparison around.
var mirrored = map[string]string{"gt": "lt", "gte": "lte", "lt": "gt", "lte": "gte"}

var signs = map[string]string{"gt": "> ", "gte": ">= ", "lt": "< ", "lte": "<= "}

// narrow takes a comparison with a constant into account, and reports whether anything is left. Values are ordered as
// Rego orders them, texts above numbers.
func (s *span) narrow(op string, v ast.Value) bool {
	switch op {
	case "equal", "eq":
		if !s.has(v) {
			return false
		}
		s.low, s.high, s.lowOpen, s.highOpen = v, v, false, false
	case "gt", "gte":
		if s.low == nil || v.Compare(s.low) >= 0 {
			s.low, s.lowOpen = v, op == "gt" || s.lowOpen && s.low != nil && v.Compare(s.low) == 0
		}
	case "lt", "lte":
		if s.high == nil || v.Compare(s.high) <= 0 {
			s.high, s.highOpen = v, op == "lt" || s.highOpen && s.high != nil && v.Compare(s.high) == 0
		}
	default:
		return true
	}
	s.why = fmt.Sprintf("it is %s%v above", signs[op], v)
	if s.low == nil || s.high == nil {
		return true
	}
	c := s.low.Compare(s.high)
	return c < 0 || c == 0 && !s.lowOpen && !s.highOpen
}

func (s *span) has(v ast.Value) bool {
	if s.low != nil {
		if c := v.Compare(s.low); c < 0 || c == 0 && s.lowOpen {
			return false
		}
	}
	if s.high != nil {
		if c := v.Compare(s.high); c > 0 || c == 0 && s.highOpen {
			return false
		}
	}
	return true
}

// silent warns of an ordering in a deny or an ask on an argument that may be missing: it does not fire then.
func (x *linter) silent(r *ast.Rule, set setKind, path string) {
	tools := toolCondition(r.Body)
	for _, e := range r.Body {
		if !e.IsCall() || len(e.Operands()) != 2 || e.Negated {
			continue
		}
		op := e.Operator().String()
		opposite, ok := map[string]string{"gt": "<=", "gte": "<", "lt": ">=", "lte": ">", "neq": "=="}[op]
		if !ok {
			continue
		}
		for i := range 2 {
			field := e.Operand(i).String()
			if x.mayLack(field, tools) {
				x.warn(position(e.Location, path), "write not … "+opposite+" …, which holds of what is missing too",
					"%s: %s may be missing, and then this does not fire", setNames[set], field)
				break
			}
		}
	}
}

// mayLack reports whether a field may be missing in calls of the tools; nil stands for any.
func (x *linter) mayLack(field string, tools []string) bool {
	for _, t := range tools {
		if x.required[t][field] && len(tools) == 1 {
			return false
		}
	}
	return strings.HasPrefix(field, "input.call.args.") || strings.HasPrefix(field, "input.principal.claims.") || strings.HasPrefix(field, "input.history.count")
}

// holds warns of a not in a grant on an argument that may be missing: it holds then. Another expression that
// reads the argument settles that it is there.
func (x *linter) holds(r *ast.Rule, set setKind, path string) {
	tools := toolCondition(r.Body)
	for _, e := range r.Body {
		inner := negated(e)
		if inner == nil || !inner.IsCall() {
			continue
		}
		for _, t := range inner.Operands() {
			field := t.String()
			if !x.mayLack(field, tools) || slices.ContainsFunc(r.Body, func(other *ast.Expr) bool { return negated(other) == nil && mentions(other, t) }) {
				continue
			}
			x.warn(position(e.Location, path), fmt.Sprintf("say too that it is there: is_number(%s), or what it is", field),
				"%s: %s may be missing, and then this holds", setNames[set], field)
			break
		}
	}
}

// negated returns the expression that must not hold, nil if there is no not.
func negated(e *ast.Expr) *ast.Expr {
	if not, ok := e.Terms.(*ast.Not); ok && len(not.Body) == 1 {
		return not.Body[0]
	}
	if e.Negated {
		return e
	}
	return nil
}

// mentions reports whether a term occurs in an expression.
func mentions(e *ast.Expr, t *ast.Term) bool {
	found := false
	ast.WalkTerms(e, func(x *ast.Term) bool {
		found = found || x.Equal(t)
		return found
	})
	return found
}

// vacuous warns of an every, or a sum, in a grant that holds of an empty collection.
func (x *linter) vacuous(r *ast.Rule, set setKind, path string) {
	counted := ""
	ast.WalkTerms(r.Body, func(t *ast.Term) bool {
		if c, ok := t.Value.(ast.Call); ok && c[0].String() == "count" {
			counted += c[1].String() + " "
		}
		return false
	})
	ast.WalkExprs(r.Body, func(e *ast.Expr) bool {
		if v, ok := e.Terms.(*ast.Every); ok {
			domain := v.Domain.String()
			if domain != "input.leaves" && !strings.Contains(counted, domain) {
				x.warn(position(e.Location, path), fmt.Sprintf("add count(%s) > 0", domain), "%s: every holds if there is nothing in %s", setNames[set], domain)
			}
		}
		return false
	})
	ast.WalkTerms(r.Body, func(t *ast.Term) bool {
		if c, ok := t.Value.(ast.Call); ok && c[0].String() == "sum" && !strings.Contains(counted, c[1].String()) {
			x.warn(position(t.Location, path), fmt.Sprintf("add count(%v) > 0", c[1]), "%s: the sum of nothing is 0", setNames[set])
		}
		return false
	})
}
