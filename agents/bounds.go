package agents

import (
	"fmt"
	"slices"
	"strings"

	"callgate/engine/label"
	"callgate/spec"
)

// bounded reports what an agent's file says of its tools beyond what the host lets agents say. A meter that the
// file does not set is the host's.
func (a *Agent) bounded(p *spec.Project) (problems []spec.Problem) {
	if p.Host == nil {
		return nil
	}
	most := p.Host.Most
	report := func(pos spec.Position, format string, args ...any) {
		problems = append(problems, spec.Problem{Pos: pos, Text: fmt.Sprintf(format, args...), Hint: fmt.Sprintf("%s bounds what agents say: spec.most", p.Host.File)})
	}
	for _, u := range settings(p.Tools) {
		for _, option := range []struct{ name, most string }{{"trust", most.Trust}, {"listing", most.Listing}} {
			o, given := u.Options[option.name]
			text, _ := o.Value.(string)
			if !given || option.most == "" {
				continue
			}
			got, err := label.ParseTrust(text)
			if bound, wrong := label.ParseTrust(option.most); err == nil && (wrong != nil || got > bound) {
				report(o.Pos, "%s: %s: got %s, want at most %s", u.Name, option.name, got, option.most)
			}
		}
		if list, ok := u.Options["readers"].Value.([]any); ok && most.Readers != nil && !slices.Contains(most.Readers, "*") {
			for _, who := range list {
				if name, _ := who.(string); name != p.Host.Principal.Sub && !slices.Contains(most.Readers, name) {
					report(u.Options["readers"].Pos, "%s: readers: got %v, want the principal, or of %s", u.Name, who, strings.Join(most.Readers, ", "))
				}
			}
		}
	}
	switch {
	case most.Meter == 0:
	case a.Spec.Meter > most.Meter:
		report(a.Spec.Meta.Pos, "meter: got %d, want at most %d", a.Spec.Meter, most.Meter)
	case a.Spec.Meter == 0:
		bounded := *a.Spec
		bounded.Meter = min(Meter(a.Spec), most.Meter)
		a.Spec = &bounded
	}
	return problems
}

// settings are the uses of an agent, and besides each the maps in lists of its options as if they stood alone: what an entry of such a list says
// of trust and readers, as allow of http does, is bounded as well.
func settings(uses []spec.Use) []spec.Use {
	out := slices.Clone(uses)
	for _, u := range uses {
		for name, o := range u.Options {
			list, _ := o.Value.([]any)
			for i, x := range list {
				entry, _ := x.(map[string]any)
				own := map[string]spec.Option{}
				for k, v := range entry {
					own[k] = spec.Option{Value: v, Pos: o.Pos, Key: o.Key}
				}
				out = append(out, spec.Use{Name: fmt.Sprintf("%s: %s[%d]", u.Name, name, i), Options: own, Pos: u.Pos})
			}
		}
	}
	return out
}
