package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// row is one argument of a call, or one part of it.
type row struct {
	mark  string
	name  string
	value string
	label label.Label
	from  string
}

// rows writes the arguments of a call with their labels. Those that the rules of the effect are about are marked, and
// it is said where they came from.
func (t *Timeline) rows(d journal.DecisionMade, effect policies.Effect) {
	for _, line := range t.table(t.args(d, effect)) {
		t.print(strings.Repeat(" ", idWidth) + line + "\n")
	}
}

// args are the rows of a call.
func (w view) args(d journal.DecisionMade, effect policies.Effect) []row {
	marked := map[string]string{}
	for _, r := range d.Decision.Reasons {
		if r.Effect == effect && !r.Audit && !r.Accept && effect != policies.Allow {
			for _, path := range r.Args {
				marked[path] = map[bool]string{true: "!", false: "?"}[effect == policies.Deny]
			}
		}
	}
	if effect == policies.Ask {
		for _, a := range d.Decision.Approvals {
			for _, path := range a.Args {
				marked[path] = "?"
			}
		}
	}
	var out []row
	for _, a := range d.Args {
		deep := a.Value.Deep()
		show := func(v value.Value) string { return w.literal(v, maxValue) }
		r := row{name: w.line(a.Name, maxName), label: deep, value: show(a.Value), mark: marked[a.Name]}
		r.from = w.source(d.Origins[a.Name], deep, d.PC)
		if d.Kind == policies.KindEndorse || d.Kind == policies.KindDeclassify {
			if a.Name == "kind" || a.Name == "bits" {
				continue // said by the journal of what was granted
			}
		}
		var parts []row
		for _, path := range sorted(marked) {
			rest, ok := strings.CutPrefix(path, a.Name)
			if !ok || rest == "" || rest[0] != '.' && rest[0] != '[' {
				continue
			}
			part, l := partAt(a.Value, rest)
			parts = append(parts, row{name: w.line(path, maxName), value: show(part), label: l, mark: marked[path], from: w.source(d.Origins[path], l, d.PC)})
		}
		if r.mark != "" || len(parts) == 0 || len(parts) < len(a.Value.Items) { // else they tell it all
			out = append(out, r)
		}
		out = append(out, parts...)
	}
	if mark := marked["pc"]; mark != "" {
		out = append(out, row{name: "control", value: "that the call is made", label: d.PC, mark: mark, from: w.source(d.Origins["pc"], d.PC, label.Bottom())})
	}
	return out
}

// steers reports whether a kind of sink is one that says where something goes, or what is done.
func steers(sink string) bool {
	switch sink {
	case policies.SinkContent, policies.SinkModel:
		return false
	}
	return true
}

func sorted(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// partAt returns the scalar of a value at a path, and the label of reading it.
func partAt(v value.Value, path string) (part value.Value, l label.Label) {
	part, l = value.NoneOf(v.Deep()), v.Deep()
	v.Walk(false, func(p string, s value.Value, at label.Label) {
		if p == path {
			part, l = s, at
			part.Label = at
		}
	})
	return part, l
}

// source says where a value came from: as the gate explains it, or else by those sources of its label that the
// control flow did not bring. For one that is not trusted, these are better than none.
func (w view) source(words string, l, pc label.Label) string {
	if words == "" {
		own := slices.DeleteFunc(slices.Clone(l.Sources()), func(s label.Source) bool { return slices.Contains(pc.Sources(), s) })
		if len(own) > 0 {
			words = w.least(label.New(l.Trust(), l.Readers(), nil, own...))
		} else if l.Trust() < label.Internal {
			words = w.least(l)
		}
	}
	return w.cameFrom(words)
}

// cameFrom is an arrow and the source in words.
func (w view) cameFrom(words string) string {
	if words == "" {
		return ""
	}
	return w.from() + w.line(strings.ReplaceAll(words, "…", w.dots()), maxText)
}

// table aligns rows.
func (w view) table(rows []row) []string {
	var names, values, labels int
	for _, r := range rows {
		names, values, labels = max(names, widthOf(r.name)), max(values, min(widthOf(r.value), maxValue+2)), max(labels, widthOf(w.label(r.label)))
	}
	var out []string
	for _, r := range rows {
		tone := quiet
		switch r.mark {
		case "!":
			tone = bad
		case "?":
			tone = wait
		}
		s := w.paint(tone, pad(r.mark, 2))
		if r.mark == "" {
			s += w.paint(quiet, pad(r.name, names))
		} else {
			s += w.paint(tone, pad(r.name, names))
		}
		s += "  " + pad(r.value, values) + "  " + w.labelled(r.label, labels)
		if r.from != "" {
			s += "  " + w.paint(origin, r.from)
		}
		out = append(out, strings.TrimRight(s, " "))
	}
	return out
}

// remember notes the trust that each source of a result came with.
func (w view) remember(v value.Value) {
	for _, s := range v.Label.Sources() {
		if known, ok := w.origins[s]; len(w.origins) < maxOrigins && !ok || ok && v.Label.Trust() < known {
			w.origins[s] = v.Label.Trust()
		}
	}
	for _, e := range v.Items {
		w.remember(e)
	}
}

// least names the sources of a label that were trusted least: they made it what it is.
func (w view) least(l label.Label) string {
	lowest := label.System
	for _, s := range l.Sources() {
		if known, ok := w.origins[s]; ok {
			lowest = min(lowest, known)
		}
	}
	sources := slices.DeleteFunc(slices.Clone(l.Sources()), func(s label.Source) bool { known, ok := w.origins[s]; return !ok || known > lowest })
	if len(sources) == 0 {
		sources = slices.Clone(l.Sources())
	}
	if len(sources) == 0 {
		return l.Explain(1)
	}
	// A field says more than the whole that it is of.
	slices.SortStableFunc(sources, func(a, b label.Source) int { return cmp.Compare(len(b.Field), len(a.Field)) })
	more := ""
	if len(sources) > 1 {
		more = fmt.Sprintf(" and %d more", len(sources)-1)
	}
	return label.Bottom().WithSources(sources[0]).Explain(1) + more
}
