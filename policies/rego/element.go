package rego

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/policies"

	"github.com/open-policy-agent/opa/v1/ast"
)

const (
	maxElements = 1000    // of all sets of one evaluation
	maxText     = 4 << 10 // bytes of one message
)

// take adds the elements of one set to out. An element of the wrong shape becomes a
// denial, whatever the set.
func (p *pack) take(set setKind, v ast.Value, out *policies.Findings) error {
	elements, ok := v.(ast.Set)
	if !ok {
		return fmt.Errorf("%s.%s: got %s, want a set", p.name, setNames[set], ast.ValueName(v))
	}
	values := make([]ast.Value, 0, elements.Len())
	elements.Foreach(func(t *ast.Term) { values = append(values, t.Value) })
	return p.takeAll(set, values, out)
}

// takeAll is take for elements of which some may be there twice.
func (p *pack) takeAll(set setKind, elements []ast.Value, out *policies.Findings) error {
	for i, v := range elements {
		if slices.ContainsFunc(elements[:i], func(w ast.Value) bool { return w.Compare(v) == 0 }) {
			continue
		}
		if len(out.Reasons)+len(out.Obligations) >= maxElements {
			return fmt.Errorf("%s.%s: more than %d elements", p.name, setNames[set], maxElements)
		}
		if err := p.element(set, v, out); err != nil {
			out.Reasons = append(out.Reasons, p.refusal("shape", fmt.Sprintf("%s %v: %v", setNames[set], shorten(v.String()), err)))
		}
	}
	return nil
}

// refusal is a denial because of the policy itself. It is enforced unless all of the policy is in audit mode.
func (p *pack) refusal(what, message string) policies.Reason {
	return policies.Reason{
		ID: p.name + "." + what, Policy: p.policy.Meta.Name, Effect: policies.Deny, Audit: p.audit, Engine: "rego",
		Message: message, File: p.policy.Meta.Pos.File, Line: p.policy.Meta.Pos.Line,
	}
}

var setKeys = [setCount][]string{
	denySet:   {"id", "msg", "args", "mode"},
	askSet:    {"id", "msg", "args", "mode", "approvers", "count", "other_than", "ttl"},
	allowSet:  {"id", "msg", "args", "mode"},
	acceptSet: {"id", "msg", "path", "mode"},
}

func (p *pack) element(set setKind, v ast.Value, out *policies.Findings) error {
	if set == obligationSet {
		return p.obligation(v, out)
	}
	r := policies.Reason{Policy: p.policy.Meta.Name, Engine: "rego", Effect: [...]policies.Effect{policies.Deny, policies.Ask, policies.Allow, policies.NotApplicable}[set]}
	r.Accept = set == acceptSet
	o, isObject := v.(ast.Object)
	if s, ok := v.(ast.String); ok && set != acceptSet {
		r.ID = string(s)
	} else if !isObject {
		return fmt.Errorf("got %s, want an id or an object", ast.ValueName(v))
	}
	var f fields
	if isObject {
		f = fields{object: o}
		r.ID, r.Message, r.Args = f.text("id"), shorten(f.message("msg")), f.texts("args")
		if path := f.text("path"); set == acceptSet {
			if path == "" {
				return fmt.Errorf("path: want one")
			}
			r.Args = []string{path}
		}
		if mode := f.text("mode"); mode != "" && mode != "audit" && mode != "enforce" {
			return fmt.Errorf("mode: got %q, want audit or enforce", mode)
		} else if mode == "audit" {
			r.Audit = true
		}
		f.only(setKeys[set])
	}
	known, ok := p.sets[set][r.ID]
	if !ok {
		return fmt.Errorf("id %q is not a literal of the policy", shorten(r.ID))
	}
	r.Audit = r.Audit || p.audit || known.audit
	r.File, r.Line = known.pos.File, known.pos.Line
	if set == askSet {
		a := policies.Approval{Ask: r.ID, Policy: r.Policy, Message: r.Message, Args: r.Args, Count: 1}
		if isObject {
			a.Approvers, a.OtherThan = f.texts("approvers"), f.texts("other_than")
			if n := f.number("count"); n != nil {
				a.Count = *n
			}
			if text := f.text("ttl"); text != "" {
				ttl, err := parseTTL(text)
				if err != nil {
					return err
				}
				a.TTL = ttl
			}
			if a.Count < 1 {
				return fmt.Errorf("count: got %d, want 1 or more", a.Count)
			}
		}
		if f.err == nil {
			out.Approvals = append(out.Approvals, a)
		}
	}
	if f.err != nil {
		return f.err
	}
	out.Reasons = append(out.Reasons, r)
	return nil
}

func parseTTL(text string) (time.Duration, error) {
	ttl, err := time.ParseDuration(text)
	if err != nil || ttl <= 0 {
		return 0, fmt.Errorf("ttl: got %q, want a duration such as 15m", text)
	}
	return ttl, nil
}

// obligation adds an obligation, unless all of the policy, or its rule, is in audit mode.
func (p *pack) obligation(v ast.Value, out *policies.Findings) error {
	object, ok := v.(ast.Object)
	if !ok {
		return fmt.Errorf("got %s, want an object", ast.ValueName(v))
	}
	f := fields{object: object}
	o := policies.Obligation{Type: f.text("type"), ID: f.text("id"), Policy: p.policy.Meta.Name, Fields: map[string]any{}}
	audit := p.audit || f.text("mode") == "audit"
	if f.err != nil {
		return f.err
	}
	known, ok := p.sets[obligationSet][o.Type+"/"+o.ID]
	if !ok {
		return fmt.Errorf("type %q with id %q is not a literal of the policy", shorten(o.Type), shorten(o.ID))
	}
	if audit || known.audit {
		return nil
	}
	for _, k := range object.Keys() {
		name, ok := k.Value.(ast.String)
		if !ok {
			return fmt.Errorf("got key %v, want a text", k)
		}
		if name == "type" || name == "id" || name == "mode" {
			continue
		}
		plain, err := plain(object.Get(k).Value)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		o.Fields[string(name)] = plain
	}
	out.Obligations = append(out.Obligations, o)
	return nil
}

// plain returns the Go data of a value, sets as lists, whole numbers as int64.
func plain(v ast.Value) (any, error) {
	switch v := v.(type) {
	case ast.Number:
		if i, ok := v.Int64(); ok {
			return i, nil
		}
		f, err := json.Number(v).Float64()
		return f, err
	case *ast.Array:
		out := make([]any, 0, v.Len())
		for i := range v.Len() {
			e, err := plain(v.Elem(i).Value)
			if err != nil {
				return nil, err
			}
			out = append(out, e)
		}
		return out, nil
	case ast.Set:
		return plain(v.Sorted())
	case ast.Object:
		out := map[string]any{}
		for _, k := range v.Keys() {
			e, err := plain(v.Get(k).Value)
			if err != nil {
				return nil, err
			}
			name, ok := k.Value.(ast.String)
			if !ok {
				return nil, fmt.Errorf("got key %v, want a text", k)
			}
			out[string(name)] = e
		}
		return out, nil
	}
	return ast.JSON(v)
}

// fields reads an element's fields; the first that is wrong stays in err.
type fields struct {
	object ast.Object
	err    error
}

func (f *fields) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

func (f *fields) get(key string) ast.Value {
	if t := f.object.Get(stringTerm(key)); t != nil {
		return t.Value
	}
	return nil
}

func (f *fields) text(key string) string {
	v := f.get(key)
	s, ok := v.(ast.String)
	if v != nil && !ok {
		f.fail("%s: got %s, want a text", key, ast.ValueName(v))
	}
	return string(s)
}

// message returns a text, or anything else as text: a message is for people only.
func (f *fields) message(key string) string {
	v := f.get(key)
	if s, ok := v.(ast.String); ok {
		return string(s)
	}
	if v == nil {
		return ""
	}
	return v.String()
}

func (f *fields) texts(key string) []string {
	v := f.get(key)
	if v == nil {
		return nil
	}
	var out []string
	add := func(t *ast.Term) {
		if s, ok := t.Value.(ast.String); ok {
			out = append(out, string(s))
		} else {
			f.fail("%s: got %s, want texts", key, ast.ValueName(t.Value))
		}
	}
	switch v := v.(type) {
	case *ast.Array:
		v.Foreach(add)
	case ast.Set:
		v.Foreach(add)
		slices.Sort(out)
	default:
		f.fail("%s: got %s, want a list", key, ast.ValueName(v))
	}
	return out
}

func (f *fields) number(key string) *int {
	v := f.get(key)
	if v == nil {
		return nil
	}
	if n, ok := v.(ast.Number); ok {
		if i, ok := n.Int(); ok {
			return &i
		}
	}
	f.fail("%s: got %v, want a whole number", key, v)
	return nil
}

func (f *fields) only(known []string) {
	for _, k := range f.object.Keys() {
		if s, ok := k.Value.(ast.String); !ok || !slices.Contains(known, string(s)) {
			f.fail("got %v, want only %s", k, strings.Join(known, ", "))
		}
	}
}

func shorten(s string) string {
	if len(s) > maxText {
		return strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	return s
}
