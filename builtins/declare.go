package builtins

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/engine/label"
)

// Declaration is what somebody says of a tool beside the tool itself. The zero Declaration says nothing.
type Declaration struct {
	Effects    *Effects
	Sinks      map[string]string // by parameter or part of one: "to", "headers.Authorization", "payments[].iban"
	Class      *label.Label
	Of         string
	Fields     []FieldSource // nil: as the tool says; else in place of the tool's
	Structure  *label.Label
	Idempotent *bool
	Timeout    time.Duration // 0: as the tool says
}

// Declare takes over a declaration. What the tool leaves open it settles: effects, labels and sinks of a tool that
// declares none are the strictest or no sink at all, and stand in its place. What the tool says of itself can only become
// stricter: more effects, a label that the tool's own flows to, a sink where the tool has none. Whoever
// names a tool must not turn one that sends into one that reads. Each line that comes back is something that was not taken over, and why.
//
// A tool is changed before it is in a [Set].
func (t *Tool) Declare(d Declaration) (refused []string) {
	no := func(format string, args ...any) {
		refused = append(refused, t.Name+": "+fmt.Sprintf(format, args...))
	}
	if d.Effects != nil {
		if lost := t.loses(*d.Effects); lost != "" {
			no("effects: got [%s], want %s among them: the tool says that it has it", strings.Join(d.Effects.Names(), ", "), lost)
		} else {
			t.Effects = *d.Effects
		}
	}
	for _, path := range sortedKeys(d.Sinks) {
		if why := t.declareSink(path, d.Sinks[path]); why != "" {
			no("%s", why)
		}
	}
	source := t.Label.with(d)
	switch why := t.Label.raised(source); {
	case why != "":
		no("%s", why)
	case d.Of != "" && t.Label.Of != "" && d.Of != t.Label.Of:
		no("of: got %q, want the tool's own, %q: rules go by it", d.Of, t.Label.Of)
	default:
		t.Label = source
	}
	if d.Idempotent != nil {
		if *d.Idempotent && !t.Idempotent && t.Effects != 0 && d.Effects == nil {
			no("idempotent: got true, want false: the tool does not promise it")
		} else {
			t.Idempotent = *d.Idempotent
		}
	}
	if d.Timeout > 0 {
		t.Timeout = d.Timeout
	}
	return refused
}

// loses returns an effect that the tool declares and that is not among others, or "".
func (t *Tool) loses(others Effects) string {
	if t.Effects == 0 {
		return ""
	}
	for _, e := range t.Effects.Names() {
		if !slices.Contains(others.Names(), e) {
			return e
		}
	}
	return ""
}

// declareSink gives a parameter, or a part of one, a kind of sink. It returns why not, or "".
func (t *Tool) declareSink(path, kind string) string {
	name, part := path, ""
	if i := strings.IndexAny(path, ".["); i >= 0 {
		name, part = path[:i], path[i:]
	}
	at := slices.IndexFunc(t.Params, func(p Param) bool { return p.Name == name })
	if at < 0 {
		var names []string
		for _, p := range t.Params {
			names = append(names, p.Name)
		}
		return fmt.Sprintf("sinks: %s: no such parameter, want one of %s", path, strings.Join(names, ", "))
	}
	t.Params = slices.Clone(t.Params)
	p := &t.Params[at]
	own, err := p.sinksAt(part)
	if err != nil {
		return fmt.Sprintf("sinks: %s: %v", path, err)
	}
	for _, k := range own {
		if k != "" && k != sinkNone && k != kind {
			return fmt.Sprintf("sinks: %s: got %s, want %s: the tool says that it is one", path, kind, k)
		}
	}
	if part == "" {
		p.Sink = kind
		return ""
	}
	sinks := map[string]string{part: kind}
	for k, v := range p.Sinks {
		if k != part {
			sinks[k] = v
		}
	}
	p.Sinks = sinks
	return ""
}

// sinksAt returns the kind of sink that a part of the parameter has, "" if that is not declared. A part with
// a .* may stand for any other: it has the kinds of all.
func (p *Param) sinksAt(part string) ([]string, error) {
	if part == "" {
		return []string{p.Sink}, nil
	}
	want, err := parsePattern(part)
	if err != nil {
		return nil, err
	}
	parts := sortedKeys(p.Sinks)
	set, err := compilePatterns(parts, true)
	if err != nil {
		return nil, err
	}
	if strings.Contains(part, ".*") {
		kinds := []string{p.Sink}
		for _, k := range parts {
			kinds = append(kinds, p.Sinks[k])
		}
		return kinds, nil
	}
	if best := set.root().along(want.steps).best; best >= 0 {
		return []string{p.Sinks[parts[best]]}, nil
	}
	return []string{p.Sink}, nil
}

// along goes several steps down.
func (at place) along(steps []step) place {
	for _, s := range steps {
		at = at.down(s)
	}
	return at
}

// with returns the source with what a declaration says in place of its parts.
func (s Source) with(d Declaration) Source {
	if d.Class != nil {
		s.Class, s.Cases = *d.Class, nil
	}
	if d.Of != "" {
		s.Of = d.Of
	}
	if d.Fields != nil {
		s.Fields = d.Fields
	}
	if d.Structure != nil {
		s.Structure = d.Structure
	}
	return s
}

// undeclared reports whether the source is the zero one: untrusted, for nobody.
func (s Source) undeclared() bool {
	return s.Class.SameClass(label.Top()) && s.Structure == nil && len(s.Fields) == 0
}

// raised says which part of a result would be labelled higher by another source than by s, or "".
func (s Source) raised(to Source) string {
	if s.undeclared() {
		return ""
	}
	check := func(what string, own, other label.Label) string {
		if own.FlowsTo(other) {
			return ""
		}
		return fmt.Sprintf("label of %s: got %s, want one that the tool's own, %s, flows to", what, other, own)
	}
	if why := check("the result", s.Class, to.Class); why != "" {
		return why
	}
	if why := check("its structure", s.structure(), to.structure()); why != "" {
		return why
	}
	own, err := compilePatterns(s.paths(), false)
	if err != nil {
		return err.Error()
	}
	other, err := compilePatterns(to.paths(), false)
	if err != nil {
		return err.Error()
	}
	// Between the paths of both nothing changes, unless a path has a .*, which may stand for any of
	// the others' names: then each label must be as low as the lowest.
	lowest, wild := s.Class, false
	for _, f := range slices.Concat(s.Fields, to.Fields) {
		wild = wild || strings.Contains(f.Path, ".*")
	}
	for _, f := range s.Fields {
		lowest = lowest.Join(f.Class)
	}
	for _, f := range slices.Concat(s.Fields, to.Fields) {
		p, err := parsePattern(f.Path)
		if err != nil {
			return err.Error()
		}
		from, at := s.at(own.root().along(p.steps)), to.at(other.root().along(p.steps))
		if wild && !to.sameFields(s) {
			from = lowest
		}
		if why := check(f.Path, from, at); why != "" {
			return why
		}
	}
	return ""
}

func (s Source) sameFields(o Source) bool {
	return slices.EqualFunc(s.Fields, o.Fields, func(a, b FieldSource) bool { return a.Path == b.Path && a.Class.Equal(b.Class) })
}

func (s Source) structure() label.Label {
	if s.Structure != nil {
		return *s.Structure
	}
	return s.Class
}

func (s Source) paths() []string {
	var out []string
	for _, f := range s.Fields {
		out = append(out, f.Path)
	}
	return out
}

// at is the label of what is at a place.
func (s Source) at(p place) label.Label {
	if p.best >= 0 {
		return s.Fields[p.best].Class
	}
	return s.Class
}
