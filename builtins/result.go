package builtins

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"callgate/engine/label"
	"callgate/engine/value"
)

// LabelResult makes a value of what Run returned for some arguments, checks it against
// [Tool.Returns], and labels it as [Tool.Label] says. The labels of the arguments and of the pc are
// not joined: that is the gate's business. Labels that a tool has put on parts of its result, as values, are
// kept and joined. An error is a [*SchemaError], or says
// what Go type the tool returned; the call has failed then, whatever the tool did.
//
// Every node carries the class of the longest matching entry of Fields, below which
// everything belongs to it, or else the class of the whole. Where no entry matches, Structure, if
// set, labels the reference to a container and its length, order and keys; otherwise the class
// does. The label of the tool's state, if it has one, is joined to all of it. The one source of a
// node is the tool, the resource that Of names, and the field if an entry of Fields decided.
func (t *Tool) LabelResult(result any, args value.Value) (value.Value, error) {
	if err := t.prepare(); err != nil {
		return value.Value{}, err
	}
	v, err := value.Of(result, label.Bottom())
	if err != nil {
		return value.Value{}, fmt.Errorf("%s: result: %w", t.Name, err)
	}
	if bad := t.compiled.returns.check("result", v); bad != nil {
		return value.Value{}, &SchemaError{t.Name, bad}
	}
	l := labeller{tool: t, whole: t.Label.classOf(args), args: label.Bottom(), state: label.Bottom(), known: map[labelKey]label.Label{}}
	for _, a := range args.Items {
		l.args = l.args.Join(a.Deep())
	}
	if t.State != nil {
		l.state = t.State.Label.WithoutSources()
	}
	return l.node(v, t.compiled.fields.root(), l.outside(args)), nil
}

// classOf is the class of the result of a call as a whole.
func (s *Source) classOf(args value.Value) label.Label {
	if len(s.Cases) == 0 {
		return s.Class
	}
	plain, _ := args.Plain().(map[string]any)
	for _, c := range s.Cases {
		if c.Fits(plain) {
			return c.Class
		}
	}
	return s.Class
}

type labeller struct {
	tool  *Tool
	whole label.Label // what the case of the call says
	args  label.Label // of all arguments together
	state label.Label
	known map[labelKey]label.Label
}

type labelKey struct {
	entry int // index of Label.Fields, or one of the two below
	of    string
}

const (
	whole     = -1 // what a place has where no entry matches
	structure = -2
)

func (l *labeller) node(v value.Value, at place, r resource) value.Value {
	own := l.label(at.best, r.text)
	if v.Scalar() {
		v.Label = v.Label.Join(own)
		return v
	}
	if at.best == whole && l.tool.Label.Structure != nil {
		own = l.label(structure, r.text)
	}
	v.Label, v.Structure = v.Label.Join(own), v.Structure.Join(own)
	items := make([]value.Value, len(v.Items))
	if v.Kind != value.Dict && v.Kind != value.Record {
		for i, e := range v.Items {
			below := at.element()
			items[i] = l.node(e, below, l.inside(r, e, below))
		}
		v.Items = items
		return v
	}
	keys := make([]value.Value, len(v.Keys))
	for i, k := range v.Keys {
		keys[i] = k.Joined(own)
		items[i] = l.node(v.Items[i], at.key(k.Str), r)
	}
	v.Keys, v.Items = keys, items
	return v
}

func (l *labeller) label(entry int, of string) label.Label {
	k := labelKey{entry, of}
	if out, ok := l.known[k]; ok {
		return out
	}
	out := l.class(entry).WithSources(label.Source{Tool: l.tool.Name, Of: of, Field: l.fieldName(entry)})
	l.known[k] = out
	return out
}

func (l *labeller) class(entry int) label.Label {
	src := &l.tool.Label
	c := l.whole
	switch {
	case entry >= 0:
		c = src.Fields[entry].Class
	case entry == structure:
		c = *src.Structure
	}
	return c.WithoutSources().Join(l.state)
}

func (l *labeller) fieldName(entry int) string {
	if entry < 0 {
		return ""
	}
	f := strings.TrimPrefix(strings.TrimPrefix(l.tool.Label.Fields[entry].Path, "[]"), ".")
	if f == "" {
		return "[]"
	}
	return f
}

// ofPart is a piece of [Source.Of]: text, an argument, or a field of an element.
type ofPart struct {
	kind partKind
	text string // the text, or the name of the argument or field
}

type partKind uint8

const (
	textPart partKind = iota
	argPart
	hostPart // the host of an argument
	itemPart
)

func (t *Tool) parseOf() ([]ofPart, error) {
	var out []ofPart
	rest := t.Label.Of
	for {
		before, after, ok := strings.Cut(rest, "{")
		if before != "" {
			out = append(out, ofPart{textPart, before})
		}
		if !ok {
			return out, nil
		}
		name, after, ok := strings.Cut(after, "}")
		arg, isArg := strings.CutPrefix(name, "args.")
		isHost := false
		if isArg && !t.has(arg) {
			arg, isHost = strings.CutSuffix(arg, ".host")
		}
		item, isItem := strings.CutPrefix(name, "item.")
		switch {
		case ok && isArg && t.has(arg):
			kind := argPart
			if isHost {
				kind = hostPart
			}
			out = append(out, ofPart{kind, arg})
		case ok && isItem && item != "":
			out = append(out, ofPart{itemPart, item})
		default:
			return nil, fmt.Errorf("of %q: got {%s, want {args.NAME} or {args.NAME.host} with the name of a parameter, or {item.NAME}", t.Label.Of, name)
		}
		rest = after
	}
}

// has reports whether the tool has a parameter.
func (t *Tool) has(param string) bool {
	return slices.ContainsFunc(t.Params, func(p Param) bool { return p.Name == param })
}

// resource is [Source.Of] at one place of a result.
type resource struct {
	parts []string // beside compiled.name
	text  string
}

// withheld stands for a value that is not trusted enough to be in a label.
const withheld = "?"

// outside is the resource of what is in no element of a list: fields of elements are left out.
func (l *labeller) outside(args value.Value) resource {
	var parts []string
	for _, p := range l.tool.compiled.name {
		text := p.text
		switch p.kind {
		case argPart:
			text = ""
			if a, ok := args.Get(p.text); ok {
				text = named(a, a.Deep())
			}
		case hostPart:
			text = ""
			if a, ok := args.Get(p.text); ok {
				text = l.tool.hostOf(p.text, a)
			}
		case itemPart:
			text = ""
		}
		parts = append(parts, text)
	}
	return resource{parts, strings.Join(parts, "")}
}

// hostOf is the host that an argument names, if its label lets it be.
func (t *Tool) hostOf(param string, a value.Value) string {
	i := slices.IndexFunc(t.Params, func(p Param) bool { return p.Name == param })
	if i < 0 || !a.Scalar() {
		return withheld
	}
	_, host := t.Params[i].normFor(t.Params[i].Sink)(a.Plain())
	return named(value.StringOf(host, a.Label), a.Deep())
}

// inside is the resource of an element of a list: of each field that the template names and
// the element has, its value.
func (l *labeller) inside(r resource, e value.Value, at place) resource {
	changed := false
	for i, p := range l.tool.compiled.name {
		if p.kind != itemPart {
			continue
		}
		f, ok := e.Get(p.text)
		if !ok {
			continue
		}
		if !changed {
			r.parts, changed = slices.Clone(r.parts), true
		}
		r.parts[i] = named(f, l.class(at.key(p.text).best).Join(l.args))
	}
	if changed {
		r.text = strings.Join(r.parts, "")
	}
	return r
}

// maxName is how much of a value goes into the name of a resource, in bytes.
const maxName = 200

// named returns a scalar as part of the name of a resource, if its label lets it be.
func named(v value.Value, l label.Label) string {
	if !v.Scalar() || l.Trust() < label.Internal {
		return withheld
	}
	s := v.Str
	if v.Kind != value.String {
		s = v.Text()
	}
	if len(s) > maxName {
		s = strings.ToValidUTF8(s[:maxName], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}
