package gate

import (
	"cmp"
	"slices"

	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

const (
	maxOrigins = 4096 // sources whose trust a gate remembers
	maxShown   = 2    // sources that one explanation names
)

// explain says, for each part of the arguments that a rule names, where its value
// came from: for people, the shortest useful answer.
func (g *Gate) explain(r *policies.Request, d *policies.Decision) map[string]string {
	if r == nil {
		return nil
	}
	var out map[string]string
	add := func(paths []string) {
		for _, p := range paths {
			i := slices.IndexFunc(r.Leaves, func(l policies.Leaf) bool { return l.Path == p })
			if i < 0 {
				continue
			}
			if words := g.words(r.Leaves[i].Label, r.Labels.PC, p == "pc"); words != "" {
				if out == nil {
					out = map[string]string{}
				}
				out[p] = words
			}
		}
	}
	for _, reason := range d.Reasons {
		if !reason.Accept {
			add(reason.Args)
		}
	}
	for _, a := range d.Approvals {
		add(a.Args)
	}
	return out
}

// words names the sources that explain a label best: of the ones that were trusted least, those
// that did not come with the control flow anyway.
func (g *Gate) words(l, pc label.Label, control bool) string {
	sources := slices.Clone(l.Sources())
	g.mu.Lock()
	lowest := label.System
	for _, s := range sources {
		lowest = min(lowest, g.trustOf(s))
	}
	sources = slices.DeleteFunc(sources, func(s label.Source) bool { return g.trustOf(s) > lowest })
	g.mu.Unlock()
	if len(sources) == 0 {
		return l.Explain(maxShown)
	}
	if own := slices.DeleteFunc(slices.Clone(sources), func(s label.Source) bool { return slices.Contains(pc.Sources(), s) }); len(own) > 0 && !control {
		sources = own
	}
	slices.SortStableFunc(sources, func(a, b label.Source) int {
		return cmp.Compare(len(a.Tool)+len(a.Of)+len(a.Field), len(b.Tool)+len(b.Of)+len(b.Field))
	})
	more := ""
	if len(sources) > maxShown {
		sources, more = sources[:maxShown], ", …"
	}
	return label.Bottom().WithSources(sources...).Explain(maxShown) + more
}

// trustOf is the trust that a source came with; a source that no tool gave was an input.
func (g *Gate) trustOf(s label.Source) label.Trust {
	if t, ok := g.origins[s]; ok {
		return t
	}
	return label.User
}

// remember notes the trust that each source of a tool's result came with.
func (g *Gate) remember(v value.Value) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.note(v)
}

func (g *Gate) note(v value.Value) {
	for _, s := range v.Label.Sources() {
		known, ok := g.origins[s]
		if !ok && len(g.origins) >= maxOrigins {
			continue
		}
		if t := v.Label.Trust(); !ok || t < known {
			g.origins[s] = t
		}
	}
	for _, e := range v.Items {
		g.note(e)
	}
}
