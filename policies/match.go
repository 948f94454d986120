package policies

import (
	"slices"
	"strings"

	"callgate/spec"
)

// Matches reports whether a policy with this match applies to calls with these
// static properties. A list that is empty matches everything; of one that is not,
// an entry must match: one of the call's effects, one of its sinks, its kind, tool,
// agent or principal.
//
// In an entry * stands for any text; in names of tools for text without a dot,
// where ** stands for any. A lone * matches whatever is there: as an effect or a
// sink, any call that has one. An entry "group:finance" of Principals matches the members of the group.
func Matches(m spec.Match, s Static) bool {
	return matchCall(m, s.Kind, s.Tool, s.Effects, s.Sinks) &&
		matchText(m.Agents, s.Agent) &&
		matchPrincipal(m.Principals, s.Principal, s.Groups)
}

// MatchesTool reports whether a policy with this match can apply to a call of the tool by
// some agent for some principal: the tools that its rules are checked against.
func MatchesTool(m spec.Match, t ToolSchema) bool {
	return matchCall(m, KindTool, t.Name, t.Effects, t.SinkKinds())
}

func matchCall(m spec.Match, kind, tool string, effects, sinks []string) bool {
	return matchText(m.Kinds, kind) && matchTool(m.Tools, tool) &&
		matchAny(m.Effects, effects) && matchAny(m.Sinks, sinks)
}

func matchText(globs []string, name string) bool {
	return len(globs) == 0 || slices.ContainsFunc(globs, func(g string) bool { return glob(g, name, false) })
}

func matchTool(globs []string, name string) bool {
	return len(globs) == 0 || slices.ContainsFunc(globs, func(g string) bool { return g == "*" || glob(g, name, true) })
}

func matchAny(globs, names []string) bool {
	return len(globs) == 0 || slices.ContainsFunc(names, func(name string) bool { return matchText(globs, name) })
}

func matchPrincipal(globs []string, sub string, groups []string) bool {
	if len(globs) == 0 {
		return true
	}
	return slices.ContainsFunc(globs, func(g string) bool {
		if group, ok := strings.CutPrefix(g, "group:"); ok {
			return slices.ContainsFunc(groups, func(name string) bool { return glob(group, name, false) })
		}
		return glob(g, sub, false)
	})
}

// glob reports whether all of name matches the pattern. It takes time in proportion
// to the product of their lengths at worst.
func glob(pattern, name string, dotted bool) bool {
	// back is where to take up the pattern again when what follows the last star does not
	// fit, from at in the name; a star that stops at dots gives way to the ** before it.
	type retry struct{ back, at int }
	var star, stars *retry
	p, n := 0, 0
	for n < len(name) || p < len(pattern) {
		switch {
		case strings.HasPrefix(pattern[p:], "**") || p < len(pattern) && pattern[p] == '*' && !dotted:
			for p < len(pattern) && pattern[p] == '*' {
				p++
			}
			stars, star = &retry{p, n}, nil
			continue
		case p < len(pattern) && pattern[p] == '*':
			p++
			star = &retry{p, n}
			continue
		case p < len(pattern) && n < len(name) && pattern[p] == name[n]:
			p, n = p+1, n+1
			continue
		}
		switch {
		case star != nil && star.at < len(name) && name[star.at] != '.':
			star.at++
			p, n = star.back, star.at
		case stars != nil && stars.at < len(name):
			stars.at++
			p, n, star = stars.back, stars.at, nil
		default:
			return false
		}
	}
	return true
}
