package rego

import (
	"fmt"
	"slices"
	"strings"

	"callgate/policies"
	"callgate/spec"

	"github.com/open-policy-agent/opa/v1/ast"
)

// checkElement reports what is wrong with the fields of an element that is written down: it would be a denial whenever the
// rule fires. What is computed shows then.
func (l *loader) checkElement(set setKind, r *ast.Rule, path string) {
	head := r.Head.Key
	if v, ok := head.Value.(ast.Var); ok {
		if t := assigned(r.Body, v); t != nil {
			head = t
		}
	}
	object, whole := head.Value.(ast.Object)
	if !whole {
		for _, part := range unionOf(head) { // what one of them lacks another may have
			if set != obligationSet {
				l.checkFields(set, part, path)
			}
		}
		return
	}
	if set == obligationSet {
		l.checkObligation(object, path)
	} else {
		l.checkFields(set, object, path)
	}
}

// unionOf returns the objects that are written down in a call of object.union.
func unionOf(t *ast.Term) []ast.Object {
	switch v := t.Value.(type) {
	case ast.Object:
		return []ast.Object{v}
	case ast.Call:
		if v[0].String() == "object.union" && len(v) == 3 {
			return slices.Concat(unionOf(v[1]), unionOf(v[2]))
		}
	}
	return nil
}

func (l *loader) checkFields(set setKind, object ast.Object, path string) {
	report := func(at *ast.Term, hint, format string, args ...any) {
		l.problems = append(l.problems, spec.Problem{Pos: position(at.Location, path), Text: fmt.Sprintf("%s: ", setNames[set]) + fmt.Sprintf(format, args...), Hint: hint})
	}
	for _, k := range object.Keys() {
		name, ok := k.Value.(ast.String)
		if !ok {
			continue
		}
		if !slices.Contains(setKeys[set], string(name)) {
			hint := ""
			if near := spec.Nearest(string(name), setKeys[set]); near != "" {
				hint = fmt.Sprintf("did you mean %s?", near)
			}
			report(k, hint, "got field %s, want only %s", string(name), strings.Join(setKeys[set], ", "))
			continue
		}
		v := object.Get(k)
		if _, err := written(v); err != nil || name == "msg" || name == "id" {
			continue // it is computed
		}
		f := fields{object: ast.NewObject([2]*ast.Term{k, v})}
		switch name {
		case "mode":
			if mode := f.text("mode"); f.err == nil && mode != "audit" && mode != "enforce" {
				f.fail("mode: got %q, want audit or enforce", mode)
			}
		case "path":
			f.text("path")
		case "count":
			if n := f.number("count"); n != nil && *n < 1 {
				f.fail("count: got %d, want 1 or more", *n)
			}
		case "ttl":
			if text := f.text("ttl"); f.err == nil {
				_, f.err = parseTTL(text)
			}
		default:
			f.texts(string(name))
		}
		if f.err != nil {
			report(v, "", "%v", f.err)
		}
	}
}

func (l *loader) checkObligation(object ast.Object, path string) {
	o := policies.Obligation{Fields: map[string]any{}}
	var computed []string
	at := map[string]*ast.Term{}
	first := object.Keys()[0]
	for _, k := range object.Keys() {
		name, ok := k.Value.(ast.String)
		if !ok {
			return
		}
		at[string(name)] = k
		v, err := written(object.Get(k))
		switch text, _ := v.(string); {
		case name == "type":
			o.Type = text
		case name == "id":
			o.ID = text
		case name == "mode":
		case err != nil:
			computed = append(computed, string(name))
		default:
			o.Fields[string(name)] = v
		}
	}
	for _, p := range policies.CheckObligation(o, computed...) {
		k := at[p.Field]
		if k == nil {
			k = first
		}
		l.problems = append(l.problems, spec.Problem{Pos: position(k.Location, path), Text: p.Text, Hint: p.Hint})
	}
}

// written returns the data of a term that is written down; an error says that it is computed.
func written(t *ast.Term) (any, error) {
	if !isData(t) {
		return nil, fmt.Errorf("computed")
	}
	return plain(t.Value)
}
