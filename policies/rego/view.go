package rego

import (
	"strings"

	"callgate/engine/label"
	"callgate/policies"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Translated rules read the request where it is: leaves and labels become terms only where a rule compares or
// collects them. A view is such a part of the document. It never leaves the machine: whatever goes to a builtin, into a set or
// out of a rule is made solid first.
type view struct {
	d     *document
	kind  viewKind
	leaf  *policies.Leaf // of a leaf
	label label.Label    // of a label
}

type viewKind uint8

const (
	rootView viewKind = iota
	leavesView
	leafView
	labelsView
	argsView
	labelView
)

// document is what the views of one request share. It is reused.
type document struct {
	program *program
	request *policies.Request
	root    view
	list    view   // of leaves
	leaves  []view // made, by index
	parts   [partCount]ast.Value
	whole   ast.Value
}

// The parts of the document that are not seen through views, made as far as rules read them.
const partCount = 8

var partNames = [partCount]string{"version", "time", "agent", "principal", "session", "call", "tags", "history"}

// partFields splits what rules read by the parts of the document.
func partFields(reads []string, vocabulary policies.Vocabulary) (out [partCount]policies.Fields) {
	for i, name := range partNames {
		var of []string
		for _, path := range reads {
			switch {
			case path == "":
				of = append(of, name)
			case path == name, strings.HasPrefix(path, name+"."):
				of = append(of, path)
			}
		}
		out[i] = policies.NewFields(of, vocabulary)
	}
	return out
}

func (d *document) show(p *program, r *policies.Request) ast.Value {
	d.program, d.request, d.whole, d.parts = p, r, nil, [partCount]ast.Value{}
	d.root, d.list = view{d: d}, view{d: d, kind: leavesView}
	d.leaves = d.leaves[:0]
	for i := range r.Leaves {
		d.leaves = append(d.leaves, view{d: d, kind: leafView, leaf: &r.Leaves[i]})
	}
	return &d.root
}

func (d *document) forget() {
	clear(d.leaves[:cap(d.leaves)])
	*d = document{leaves: d.leaves[:0]}
}

// seq is a list that has views in it.
type seq struct{ elements []ast.Value }

// solid makes a value that OPA knows.
func solid(v ast.Value) ast.Value {
	switch v := v.(type) {
	case *view:
		return v.solid()
	case *seq:
		return v.solid()
	}
	return v
}

func (s *seq) solid() ast.Value {
	terms := make([]*ast.Term, len(s.elements))
	for i, e := range s.elements {
		terms[i] = ast.NewTerm(solid(e))
	}
	return ast.NewArray(terms...)
}

var labelNames = []string{"trust", "rank", "readers", "tags", "sources", "more", "choice"}

var leafNames = append([]string{"path", "param", "value", "norm", "host", "sink", "typed"}, labelNames...)

func (v *view) solid() ast.Value {
	d := v.d
	switch v.kind {
	case leafView:
		return objectWith(leafNames, v.leafField)
	case labelView:
		return objectWith(labelNames, func(name string) ast.Value { return d.labelField(v.label, name) })
	}
	if d.whole == nil {
		all := policies.NewFields([]string{""}, d.program.unit.vocabulary)
		d.whole = input(&all, d.request).Value
	}
	switch v.kind {
	case leavesView:
		return under(d.whole, "leaves")
	case labelsView:
		return under(d.whole, "labels")
	case argsView:
		return under(d.whole, "labels", "args")
	}
	return d.whole
}

func objectWith(names []string, field func(string) ast.Value) ast.Value {
	pairs := make([][2]*ast.Term, len(names))
	for i, name := range names {
		pairs[i] = [2]*ast.Term{stringTerm(name), ast.NewTerm(field(name))}
	}
	return ast.NewObject(pairs...)
}

func under(v ast.Value, keys ...string) ast.Value {
	for _, k := range keys {
		v = get(v, stringTerm(k))
	}
	return v
}

// The methods of a term's value, for whoever treats one of these as such.

func (v *view) Compare(other ast.Value) int          { return v.solid().Compare(solid(other)) }
func (v *view) Find(path ast.Ref) (ast.Value, error) { return v.solid().Find(path) }
func (v *view) Hash() int                            { return v.solid().Hash() }
func (v *view) IsGround() bool                       { return true }
func (v *view) String() string                       { return v.solid().String() }
func (v *view) StringLength() int                    { return v.solid().StringLength() }
func (s *seq) Compare(other ast.Value) int           { return s.solid().Compare(solid(other)) }
func (s *seq) Find(path ast.Ref) (ast.Value, error)  { return s.solid().Find(path) }
func (s *seq) Hash() int                             { return s.solid().Hash() }
func (s *seq) IsGround() bool                        { return true }
func (s *seq) String() string                        { return s.solid().String() }
func (s *seq) StringLength() int                     { return s.solid().StringLength() }

// get returns what stands under a key, nil if nothing does.
func (v *view) get(key ast.Value) ast.Value {
	if v.kind == leavesView {
		if n, ok := key.(ast.Number); ok {
			if i, ok := n.Int(); ok && i >= 0 && i < len(v.d.leaves) {
				return &v.d.leaves[i]
			}
		}
		return nil
	}
	name, ok := key.(ast.String)
	if !ok {
		return nil
	}
	switch v.kind {
	case rootView:
		return v.d.part(string(name))
	case leafView:
		return v.leafField(string(name))
	case labelsView:
		l := &v.d.request.Labels
		switch name {
		case "program":
			return &view{d: v.d, kind: labelView, label: l.Program}
		case "pc":
			return &view{d: v.d, kind: labelView, label: l.PC}
		case "context":
			return &view{d: v.d, kind: labelView, label: l.Context}
		case "args":
			return &view{d: v.d, kind: argsView}
		}
	case argsView:
		args := v.d.request.Labels.Args
		for i := len(args) - 1; i >= 0; i-- { // as in an object, the last of a name counts
			if args[i].Name == string(name) {
				return v.d.arg(i)
			}
		}
	case labelView:
		return v.d.labelField(v.label, string(name))
	}
	return nil
}

func (d *document) arg(i int) *view {
	return &view{d: d, kind: labelView, label: d.request.Labels.Args[i].Label}
}

func (d *document) part(name string) ast.Value {
	switch name {
	case "leaves":
		return &d.list
	case "labels":
		return &view{d: d, kind: labelsView}
	}
	for i, n := range partNames {
		if n == name {
			if d.parts[i] == nil {
				d.parts[i] = under(input(&d.program.parts[i], d.request).Value, name)
			}
			return d.parts[i]
		}
	}
	return nil
}

// each calls f for the elements; it ends early when f returns true.
func (v *view) each(m *machine, f func(k, v ast.Value) bool) bool {
	switch v.kind {
	case leavesView:
		for i := range v.d.leaves {
			if m.tick() || f(ast.InternedTerm(i).Value, &v.d.leaves[i]) {
				break
			}
		}
		return true
	case argsView:
		for i := range v.d.request.Labels.Args {
			if m.tick() || f(stringTerm(v.d.request.Labels.Args[i].Name).Value, v.d.arg(i)) {
				break
			}
		}
		return true
	}
	return each(m, v.solid(), f)
}

func (v *view) leafField(name string) ast.Value {
	l := v.leaf
	switch name {
	case "path":
		return ast.String(l.Path)
	case "param":
		return ast.String(l.Param)
	case "value":
		return plainTerm(l.Value).Value
	case "norm":
		return ast.String(l.Norm)
	case "host":
		return stringTerm(l.Host).Value
	case "sink":
		return stringTerm(l.Sink).Value
	case "typed":
		return ast.InternedTerm(l.Typed).Value
	}
	return v.d.labelField(l.Label, name)
}

var publicReaders = ast.NewArray(stringTerm("*"))

func (d *document) labelField(l label.Label, name string) ast.Value {
	switch name {
	case "trust":
		return stringTerm(l.Trust().String()).Value
	case "rank":
		return ast.InternedTerm(int(l.Trust())).Value
	case "readers":
		if l.Readers().IsPublic() {
			return publicReaders
		}
		return textArray(l.Readers().Names())
	case "tags":
		return textArray(d.program.fields.ShowTags(l.Tags()))
	case "sources":
		return sourceArray(l.Sources())
	case "more":
		return ast.InternedTerm(l.More()).Value
	case "choice":
		c := l.Choice()
		return ast.NewObject(
			[2]*ast.Term{stringTerm("rank"), intTerm(int64(c.Trust))},
			[2]*ast.Term{stringTerm("bits"), intTerm(int64(c.Bits))},
		)
	}
	return nil
}

var noTexts = ast.NewArray()

func textArray(list []string) *ast.Array {
	if len(list) == 0 {
		return noTexts
	}
	terms := make([]*ast.Term, len(list))
	for i, s := range list {
		terms[i] = stringTerm(s)
	}
	return ast.NewArray(terms...)
}

func sourceArray(list []label.Source) *ast.Array {
	terms := make([]*ast.Term, len(list))
	for i, s := range list {
		terms[i] = ast.ObjectTerm(
			[2]*ast.Term{stringTerm("tool"), stringTerm(s.Tool)},
			[2]*ast.Term{stringTerm("of"), stringTerm(s.Of)},
			[2]*ast.Term{stringTerm("field"), stringTerm(s.Field)},
		)
	}
	return ast.NewArray(terms...)
}
