package desk

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// Scope says for which other calls a grant is to be good. The zero Scope is for none.
type Scope struct {
	Kind   string            // "", value, tool or run
	Params []string          // of value: the parameters that must be the same; none: those that the ask is about
	Match  map[string]string // of tool: per parameter a pattern, see [Match]; at least one
}

// Kinds are the kinds of scope.
func Kinds() []string { return []string{"value", "tool", "run"} }

// of makes the scope of a grant for a question, or nil. Beyond the question's run it reaches only if the grant ends.
func (s Scope) of(q Question, ends bool) (*journal.Scope, error) {
	if s.Kind == "" {
		if len(s.Params) > 0 || len(s.Match) > 0 {
			return nil, fmt.Errorf("a parameter or a pattern without a scope: want %s", strings.Join(Kinds(), ", "))
		}
		return nil, nil
	}
	if q.Masked {
		return nil, fmt.Errorf("parts of the call are not in the journal: it can be approved by itself, and not be an example for others")
	}
	out := &journal.Scope{Kind: s.Kind, Run: q.Run, Agent: q.Agent, Digest: q.Digest, Principal: q.Principal.Sub, Of: q.Kind, Tool: q.Tool, PC: q.PC}
	if ends && s.Kind != "run" {
		if q.Principal.Sub == "" {
			return nil, fmt.Errorf("until a time: the run is on nobody's behalf, so that others are not known to be on the same one's")
		}
		out.Run = ""
	}
	params, err := s.params(q)
	if err != nil {
		return nil, err
	}
	match := maps.Clone(s.Match)
	for _, a := range q.Args {
		arg := journal.ScopedArg{Name: a.Name, Label: a.Value.Deep()}
		if slices.Contains(params, a.Name) {
			v := a.Value
			arg.Value = &v
		}
		if pattern, is := match[a.Name]; is {
			if _, err := compile(pattern); err != nil {
				return nil, fmt.Errorf("%s: %w", a.Name, err)
			}
			arg.Match = pattern
			delete(match, a.Name)
		}
		out.Args = append(out.Args, arg)
	}
	for name := range match {
		return nil, fmt.Errorf("%s: the call has no such argument: %s", name, strings.Join(names(q), ", "))
	}
	if !covers(out, q.Question) {
		return nil, fmt.Errorf("the scope does not cover what is shown: a pattern does not fit")
	}
	return out, nil
}

func names(q Question) []string {
	var out []string
	for _, a := range q.Args {
		out = append(out, a.Name)
	}
	return out
}

// params are the parameters whose values must be the same.
func (s Scope) params(q Question) ([]string, error) {
	switch {
	case !slices.Contains(Kinds(), s.Kind):
		return nil, fmt.Errorf("scope: got %q, want %s", s.Kind, strings.Join(Kinds(), ", "))
	case s.Kind != "value" && len(s.Params) > 0:
		return nil, fmt.Errorf("a parameter goes with the scope value")
	case s.Kind != "tool" && len(s.Match) > 0:
		return nil, fmt.Errorf("a pattern goes with the scope tool")
	case s.Kind == "tool" && len(s.Match) == 0:
		return nil, fmt.Errorf("the scope tool wants a pattern for an argument, such as to=*@corp.example")
	case s.Kind != "value":
		return nil, nil
	}
	params := slices.Clone(s.Params)
	if len(params) == 0 {
		for _, path := range q.Approval.Args {
			name := path
			if i := strings.IndexAny(path, ".["); i >= 0 {
				name = path[:i]
			}
			if name != "pc" && !slices.Contains(params, name) {
				params = append(params, name)
			}
		}
	}
	// A value is endorsed to a trust, and released to readers: to no others.
	switch q.Kind {
	case policies.KindEndorse:
		params = append(params, "value", "trust")
	case policies.KindDeclassify:
		params = append(params, "value", "readers")
	}
	if len(params) == 0 {
		return nil, fmt.Errorf("the ask is about no argument: say which must be the same: %s", strings.Join(names(q), ", "))
	}
	for _, name := range params {
		if !slices.Contains(names(q), name) {
			return nil, fmt.Errorf("%s: the call has no such argument: %s", name, strings.Join(names(q), ", "))
		}
	}
	return params, nil
}

// covers reports whether a scope covers the call of a question, whose ask is the grant's.
func covers(s *journal.Scope, q gate.Question) bool {
	if s.Of != q.Kind || s.Tool != q.Tool || s.Agent != q.Agent || s.Digest != q.Digest || s.Principal != q.Principal.Sub || s.Run != "" && s.Run != q.Run {
		return false
	}
	if s.Run == "" && s.Principal == "" || !noWorse(q.PC, s.PC) {
		return false
	}
	fixed := 0
	for _, a := range q.Args {
		i := slices.IndexFunc(s.Args, func(b journal.ScopedArg) bool { return b.Name == a.Name })
		if i < 0 || !noWorse(a.Value.Deep(), s.Args[i].Label) {
			return false
		}
		b := s.Args[i]
		if b.Value != nil {
			if !bytes.Equal(a.Value.AppendPlain(nil), b.Value.AppendPlain(nil)) {
				return false
			}
			fixed++
		}
		if b.Match != "" {
			if !fits(b.Match, a.Value) {
				return false
			}
			fixed++
		}
	}
	// An argument that the scope names and the call leaves out is not the one that was shown.
	for _, b := range s.Args {
		if b.Value != nil || b.Match != "" {
			fixed--
		}
	}
	return fixed == 0 && slices.Contains(Kinds(), s.Kind)
}

// noWorse reports whether what is labelled l may stand in the place of what was shown: as trusted, chosen by nobody who is trusted
// less, for all its readers, and without more tags.
func noWorse(l, shown label.Label) bool {
	return l.FlowsTo(shown) && l.Choice().Trust >= shown.Choice().Trust
}

// fits reports whether all scalars of a value fit a pattern; keys of dicts are scalars too. One without any does not.
func fits(pattern string, v value.Value) bool {
	any, all := false, true
	v.Walk(true, func(_ string, s value.Value, _ label.Label) {
		any = true
		text := s.Str
		if s.Kind != value.String {
			text = s.Text()
		}
		all = all && Match(pattern, text)
	})
	return any && all
}

// maxPattern is the length of the longest pattern, in bytes.
const maxPattern = 500

// Match reports whether a text fits a pattern. * stands for letters and digits of ASCII and any of -_+=%~, with single dots between
// them, and for at least one of them: for a name, not for what ends one, so that *@corp.example is one address
// and https://*.corp.example/** is at a host of that domain. ** stands for any text, and for none. Everything else stands for itself.
func Match(pattern, text string) bool {
	re, err := compile(pattern)
	return err == nil && re.MatchString(text)
}

var stars = strings.NewReplacer(`\*\*`, `(?s:.*)`, `\*`, `\.?[0-9A-Za-z_+=%~-]+(?:\.[0-9A-Za-z_+=%~-]+)*\.?`)

func compile(pattern string) (*regexp.Regexp, error) {
	switch {
	case pattern == "" || len(pattern) > maxPattern:
		return nil, fmt.Errorf("pattern: got %d bytes, want 1 to %d", len(pattern), maxPattern)
	case strings.Contains(pattern, "***"):
		return nil, fmt.Errorf("pattern %q: want * for a name, or ** for anything", pattern)
	}
	return regexp.Compile(`\A` + stars.Replace(regexp.QuoteMeta(pattern)) + `\z`)
}
