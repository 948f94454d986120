package rego

import (
	"fmt"
	"slices"
	"strings"

	"callgate/policies"
	"callgate/spec"

	"github.com/open-policy-agent/opa/v1/ast"
)

// pack takes up a module of a package callgate.policy.<name>: which sets it has, the
// ids in them, and what its annotations say.
func (l *loader) pack(p *spec.Policy, m *ast.Module, path string) {
	name := strings.TrimPrefix(packageOf(m), "callgate.policy.")
	k := l.packs[name]
	if k == nil {
		k = &pack{name: name, path: m.Package.Path, policy: p, audit: p.Audit}
		l.packs[name] = k
	}
	for _, a := range m.Annotations {
		if a.Scope == "package" {
			l.packAnnotation(k, a, path)
		}
	}
	for _, r := range m.Rules {
		i := slices.Index(setNames[:], r.Head.Ref()[0].String())
		if i < 0 {
			l.misspelt(r, path)
			continue
		}
		set := setKind(i)
		at := position(r.Location, path)
		if r.Default || r.Head.RuleKind() != ast.MultiValue || len(r.Head.Ref()) != 1 || r.Else != nil {
			l.fail(at, "%s: want a set: %s contains …", setNames[set], setNames[set])
			continue
		}
		if p.Own && set > askSet {
			l.fail(at, "%s: a policy of the agent's own may only deny or ask", setNames[set])
			continue
		}
		if k.sets[set] == nil {
			k.sets[set] = map[string]rule{}
		}
		id, err := l.identify(set, r)
		if err != nil {
			l.problems = append(l.problems, spec.Problem{Pos: at, Text: fmt.Sprintf("%s: %v", setNames[set], err),
				Hint: "write the id as a literal where the element is made: it is all that the model sees"})
			continue
		}
		l.checkElement(set, r, path)
		audit := l.auditedRule(r, path)
		if old, ok := k.sets[set][id]; ok {
			audit = audit && old.audit
			at = old.pos
		}
		k.sets[set][id] = rule{pos: at, audit: audit}
	}
}

// misspelt warns of a rule whose name nearly is a set's: nothing would ever read it.
func (l *loader) misspelt(r *ast.Rule, path string) {
	name := r.Head.Ref()[0].String()
	if near := spec.Nearest(name, setNames[:]); near != "" && r.Head.RuleKind() == ast.MultiValue {
		l.problems = append(l.problems, spec.Problem{Pos: position(r.Location, path), Warn: true,
			Text: fmt.Sprintf("%s: not a set that is evaluated", name), Hint: fmt.Sprintf("did you mean %s?", near)})
	}
}

// identify returns the literal id of the elements that a rule makes; of an obligation
// the type, a slash, and the id if it has one.
func (l *loader) identify(set setKind, r *ast.Rule) (string, error) {
	head := r.Head.Key
	if v, ok := head.Value.(ast.Var); ok {
		if t := assigned(r.Body, v); t != nil {
			head = t
		}
	}
	if s, ok := head.Value.(ast.String); ok && set != obligationSet {
		return string(s), checkID(string(s))
	}
	id, idErr := literal(head, "id")
	if set != obligationSet {
		if idErr != nil {
			return "", idErr
		}
		return id, checkID(id)
	}
	kind, err := literal(head, "type")
	if err != nil {
		return "", err
	}
	if types := policies.ObligationTypes(); !slices.Contains(types, kind) {
		return "", fmt.Errorf("type: got %q, want one of %s", kind, strings.Join(types, ", "))
	}
	return kind + "/" + id, nil
}

func checkID(id string) error {
	if id == "" || len(id) > 100 || strings.ContainsFunc(id, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._-/:", c))
	}) {
		return fmt.Errorf("id: got %q, want letters, digits, dots, dashes and underscores", id)
	}
	return nil
}

// literal returns the constant text under a key of an object that is written down, or of the
// last object.union argument that is and has it.
func literal(t *ast.Term, key string) (string, error) {
	switch v := t.Value.(type) {
	case ast.Object:
		f := v.Get(ast.StringTerm(key))
		if f == nil {
			return "", fmt.Errorf("%s: want one", key)
		}
		if s, ok := f.Value.(ast.String); ok {
			return string(s), nil
		}
		return "", fmt.Errorf("%s: got %v, want a literal text", key, f)
	case ast.Call:
		if v[0].String() == "object.union" && len(v) == 3 {
			s, err := literal(v[2], key)
			if err == nil {
				return s, nil
			}
			// The first counts only if the second surely has no such key.
			if o, ok := v[2].Value.(ast.Object); ok && o.Get(ast.StringTerm(key)) == nil {
				return literal(v[1], key)
			}
			return "", err
		}
	}
	return "", fmt.Errorf("%s: got %v, want an object with a literal text", key, t)
}

// assigned returns what a body assigns to a variable, if that is all that it does with it by := or =.
func assigned(body ast.Body, v ast.Var) *ast.Term {
	for _, e := range body {
		if (e.IsAssignment() || e.IsEquality()) && e.Operand(0).Value.Compare(v) == 0 {
			return e.Operand(1)
		}
	}
	return nil
}

// custom returns what an annotation says to callgate.
func custom(a *ast.Annotations) (map[string]any, error) {
	v, ok := a.Custom["callgate"]
	if !ok {
		return nil, nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("custom.callgate: got %v, want an object", v)
	}
	return m, nil
}

func (l *loader) packAnnotation(k *pack, a *ast.Annotations, path string) {
	at := position(a.Location, path)
	m, err := custom(a)
	if err != nil {
		l.fail(at, "%v", err)
		return
	}
	for key, v := range m {
		switch key {
		case "mode":
			k.audit = l.mode(at, v) || k.audit
		case "match":
			k.match = l.matchOf(at, v)
		default:
			l.fail(at, "custom.callgate.%s: want mode or match", key)
		}
	}
}

// auditedRule reports whether a rule's annotations put it in audit mode.
func (l *loader) auditedRule(r *ast.Rule, path string) bool {
	audit := false
	for _, a := range r.Annotations {
		at := position(a.Location, path)
		m, err := custom(a)
		if err != nil {
			l.fail(at, "%v", err)
		}
		for key, v := range m {
			if key != "mode" {
				l.fail(at, "custom.callgate.%s: want mode", key)
				continue
			}
			audit = l.mode(at, v) || audit
		}
	}
	return audit
}

func (l *loader) mode(at spec.Position, v any) bool {
	if v != "audit" && v != "enforce" {
		l.fail(at, "custom.callgate.mode: got %v, want audit or enforce", v)
	}
	return v == "audit"
}

func (l *loader) matchOf(at spec.Position, v any) spec.Match {
	var out spec.Match
	lists := map[string]*[]string{
		"kinds": &out.Kinds, "tools": &out.Tools, "effects": &out.Effects,
		"sinks": &out.Sinks, "agents": &out.Agents, "principals": &out.Principals,
	}
	m, ok := v.(map[string]any)
	if !ok {
		l.fail(at, "custom.callgate.match: got %v, want an object", v)
		return out
	}
	for key, v := range m {
		list := lists[key]
		if list == nil {
			l.fail(at, "custom.callgate.match.%s: want kinds, tools, effects, sinks, agents or principals", key)
			continue
		}
		items, ok := v.([]any)
		if !ok {
			l.fail(at, "custom.callgate.match.%s: got %v, want a list", key, v)
		}
		for _, e := range items {
			s, ok := e.(string)
			if !ok {
				l.fail(at, "custom.callgate.match.%s: got %v, want a text", key, e)
				continue
			}
			*list = append(*list, s)
		}
	}
	return out
}

// maxWidth bounds what one directive of sprintf may write.
const maxWidth = 999

// checkCalls refuses calls that could write text of any length in one step.
func (l *loader) checkCalls(m *ast.Module, path string) {
	ast.NewGenericVisitor(func(x any) bool {
		var terms []*ast.Term
		var loc *ast.Location
		switch x := x.(type) {
		case *ast.Expr:
			if x.IsCall() {
				terms, loc = x.Terms.([]*ast.Term), x.Location
			}
		case *ast.Term:
			if c, ok := x.Value.(ast.Call); ok {
				terms, loc = c, x.Location
			}
		}
		if len(terms) > 1 && terms[0].String() == "sprintf" {
			if err := checkFormat(terms[1]); err != nil {
				l.fail(position(loc, path), "sprintf: %v", err)
			}
		}
		return false
	}).Walk(m)
}

func checkFormat(t *ast.Term) error {
	s, ok := t.Value.(ast.String)
	if !ok {
		return fmt.Errorf("got %v, want the format as a literal text", t)
	}
	directive, width := false, 0
	for _, c := range string(s) {
		switch {
		case c == '%':
			directive, width = !directive, 0
		case !directive:
		case c == '*':
			return fmt.Errorf("a width taken from the arguments has no bound")
		case c >= '0' && c <= '9':
			if width = width*10 + int(c-'0'); width > maxWidth {
				return fmt.Errorf("got a width above %d", maxWidth)
			}
		case c == '.':
			width = 0
		case strings.ContainsRune("+-# []", c):
		default:
			directive = false
		}
	}
	return nil
}
