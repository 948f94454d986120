package console

import (
	"fmt"
	"strings"

	"callgate/engine/eval"
	"callgate/engine/label"
	"callgate/engine/value"
)

// The width and the lines of what a person sees of one value, unless they ask for all of it.
const (
	resultText  = 400
	resultParts = 100
)

// Result returns what an expression came to, in a line: the value, its label, and where it came from if it is not trusted or not for everybody. With all,
// none of it is cut.
func (t *Timeline) Result(v value.Value, all bool) string {
	most := resultText
	if all {
		most = 0
	}
	return t.literal(v, most) + "  " + t.about(v.Deep())
}

// about is a label, and where it comes from if that matters.
func (t *Timeline) about(l label.Label) string {
	s := t.labelled(l, 0)
	if from := t.whence(l); from != "" {
		s += "  " + t.paint(origin, from)
	}
	return s
}

// whence says where what is labelled l came from, if it is not trusted or not for everybody.
func (t *Timeline) whence(l label.Label) string {
	if l.Trust() >= label.User && l.Readers().IsPublic() || len(l.Sources()) == 0 {
		return ""
	}
	return t.cameFrom(t.least(l))
}

// Label returns a label, and where it comes from if that matters.
func (t *Timeline) Label(l label.Label) string { return t.about(l) }

// Parts returns the parts of a value that is called name, a line for each: what is read there, its label and where it came from. Where it may not be
// read, what it is called there is data too.
func (t *Timeline) Parts(name string, v value.Value) []string {
	var rows []row
	parts := 0
	add := func(path, text string, l label.Label) {
		if parts++; parts > resultParts {
			return
		}
		if path != name && !t.may(l) {
			path = name + t.dots()
		}
		rows = append(rows, row{name: t.line(path, maxName), value: text, label: l, from: t.whence(l)})
	}
	if !v.Scalar() {
		l := v.Label.Join(v.Structure)
		text := t.hidden(l)
		if t.may(l) {
			text = fmt.Sprintf("%s of %d", v.Kind, len(v.Items))
		}
		add(name, text, l)
	}
	v.Walk(false, func(path string, part value.Value, l label.Label) {
		part.Label = l
		add(name+path, t.literal(part, maxValue), l)
	})
	out := t.table(rows)
	if more := parts - resultParts; more > 0 {
		out = append(out, fmt.Sprintf("%s %d more", t.dots(), more))
	}
	return out
}

// Said returns what a program printed, behind a margin, so that it cannot be taken for anything else; and below it its label, unless everybody may read
// it and a person wrote it.
func (t *Timeline) Said(p eval.Print) string {
	text := t.hidden(p.Label)
	if t.may(p.Label) {
		text = strings.TrimSuffix(p.Text, "\n")
	}
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(strings.TrimRight(t.paint(quiet, "| ")+t.line(line, 0), " ") + "\n")
	}
	if p.Label.Trust() < label.User || !p.Label.Readers().IsPublic() {
		b.WriteString("  " + t.about(p.Label) + "\n")
	}
	return b.String()
}

// Note returns a line in the tone of what is of less weight.
func (o Look) Note(s string) string { return o.paint(quiet, s) }

// Class returns a label without where it comes from.
func (t *Timeline) Class(l label.Label) string { return t.label(l) }
