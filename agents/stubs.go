package agents

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"callgate/builtins"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/spec"
)

// codeNoStub is the error of a call that no stub answers.
const codeNoStub = "no-stub"

// stub puts the stubs in the place of what the agent's tools do. What the tools declare stays: their
// parameters, effects, sinks, and the labels of results unless a stub has its own.
func (s *scenario) stub(a *Agent) (problems []spec.Problem) {
	set := new(builtins.Set)
	for _, t := range a.tools.All() {
		if t.Name == searchTool && a.index != nil { // it answers from what is declared, which is not stubbed
			if err := set.Add(a.index.tool()); err != nil {
				problems = append(problems, spec.Problem{Pos: s.Meta.Pos, Text: err.Error()})
			}
			continue
		}
		var mine []int // of the scenario's stubs
		for i := range s.Stubs {
			if s.Stubs[i].Tool == t.Name {
				mine = append(mine, i)
			}
		}
		c := *t
		labelled := s.relabel(&c, mine)
		for _, i := range mine {
			st := &s.Stubs[i]
			switch {
			case s.Real && (st.Label != nil || st.Fields != nil):
				problems = append(problems, spec.Problem{Pos: st.Pos, Text: t.Name + ": a stub with labels of its own beside the real tool", Hint: "leave its label to the tool, or stub every call"})
			case st.Error != nil && labelled != nil:
				problems = append(problems, spec.Problem{Pos: st.Pos, Text: t.Name + ": a stub that fails beside stubs with labels that differ", Hint: "give all stubs of the tool one label, or split the scenario"})
			case st.Error == nil:
				if _, err := c.LabelResult(st.Result, value.DictOf(label.Bottom())); err != nil {
					for _, line := range strings.Split(err.Error(), "\n") {
						problems = append(problems, spec.Problem{Pos: st.Pos, Text: line})
					}
				}
			}
		}
		c.Run = func(ctx context.Context, in *builtins.Invocation) (any, error) {
			i := s.take(mine, in.Args)
			switch {
			case i < 0 && s.Real:
				return t.Run(ctx, in)
			case i < 0:
				s.unanswered(&c, mine, in)
				return nil, &builtins.Error{Code: codeNoStub, Text: "no stub of the scenario answers this call"}
			case s.Stubs[i].Error != nil:
				return nil, &builtins.Error{Code: s.Stubs[i].Error.Code, Text: s.Stubs[i].Error.Text}
			case labelled[i] != nil:
				return labelled[i].LabelResult(s.Stubs[i].Result, s.args(in))
			}
			return s.Stubs[i].Result, nil
		}
		if err := set.Add(&c); err != nil {
			problems = append(problems, spec.Problem{Pos: s.Meta.Pos, Text: err.Error()})
		}
	}
	a.tools = set
	return problems
}

// relabel gives a tool the label that its stubs have. If they differ, it gives the tool one that adds nothing, and returns for
// each stub a tool that labels its result. What a stub labels is not read from the tool's namespace, whose label is
// left out then; that of one that the tool writes to stays.
func (s *scenario) relabel(t *builtins.Tool, stubs []int) map[int]*builtins.Tool {
	if len(stubs) == 0 || s.Real {
		return nil
	}
	declared := t.Label
	if t.State != nil && !t.State.Write && slices.ContainsFunc(stubs, func(i int) bool { return s.Stubs[i].Label != nil }) {
		state := *t.State
		l := state.Label.WithoutSources()
		state.Label, t.State = label.Bottom(), &state
		declared.Class = declared.Class.Join(l)
		declared.Cases = slices.Clone(declared.Cases)
		for i := range declared.Cases {
			declared.Cases[i].Class = declared.Cases[i].Class.Join(l)
		}
		declared.Fields = slices.Clone(declared.Fields)
		for i := range declared.Fields {
			declared.Fields[i].Class = declared.Fields[i].Class.Join(l)
		}
		if declared.Structure != nil {
			joined := declared.Structure.Join(l)
			declared.Structure = &joined
		}
	}
	own := func(i int) builtins.Source {
		st, out := &s.Stubs[i], declared
		if st.Label != nil {
			out.Class, out.Cases = *st.Label, nil
		}
		if st.Fields != nil {
			out.Fields = nil
			for _, f := range st.Fields {
				out.Fields = append(out.Fields, builtins.FieldSource{Path: f.Path, Class: f.Label})
			}
		}
		return out
	}
	first := own(stubs[0])
	if !slices.ContainsFunc(stubs, func(i int) bool { return !sameSource(own(i), first) }) {
		t.Label = first
		return nil
	}
	out := map[int]*builtins.Tool{}
	for _, i := range stubs {
		c := *t
		c.Label = own(i)
		out[i] = &c
	}
	t.Label = builtins.Source{Class: label.Bottom(), Of: t.Label.Of}
	return out
}

func sameSource(a, b builtins.Source) bool {
	return a.Class.SameClass(b.Class) && len(a.Cases) == len(b.Cases) && slices.EqualFunc(a.Fields, b.Fields, func(f, g builtins.FieldSource) bool {
		return f.Path == g.Path && f.Class.SameClass(g.Class)
	})
}

// take returns the first of some stubs that answers a call, and counts it; -1 if none does.
func (s *scenario) take(stubs []int, args map[string]any) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range stubs {
		st := &s.Stubs[i]
		if (st.Times == 0 || s.used[i] < st.Times) && hasArgs(args, st.Args) {
			s.used[i]++
			return i
		}
	}
	return -1
}

// unanswered notes that a call had no stub.
func (s *scenario) unanswered(t *builtins.Tool, stubs []int, in *builtins.Invocation) {
	var args []string
	for _, p := range t.Params {
		if v, ok := in.Args[p.Name]; ok {
			args = append(args, p.Name+" = "+brief(v))
		}
	}
	p := spec.Problem{Pos: s.Meta.Pos, Text: fmt.Sprintf("%s(%s): no stub answers it", t.Name, strings.Join(args, ", ")), Hint: "add a stub, or set tools: real"}
	if len(stubs) > 0 {
		p.Pos = s.Stubs[stubs[0]].Pos
		p.Hint = "the stubs of the tool want other arguments, or have answered as many times as they may"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, p)
}

// args returns the arguments of a call with the labels that they were decided with.
func (s *scenario) args(in *builtins.Invocation) value.Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, call, _ := strings.Cut(in.Key, "/")
	args := value.DictOf(label.Bottom())
	for _, a := range s.made[call].Args {
		args.Keys = append(args.Keys, value.StringOf(a.Name, label.Bottom()))
		args.Items = append(args.Items, a.Value)
	}
	return args
}

// hasArgs reports whether a call has all of the arguments that are wanted.
func hasArgs(args, want map[string]any) bool {
	return len(differences(args, want)) == 0
}

// differences names the arguments that a call has otherwise than is wanted.
func differences(args, want map[string]any) []string {
	var out []string
	for _, name := range sortedNames(want) {
		if got, ok := args[name]; !ok {
			out = append(out, fmt.Sprintf("%s: got none, want %s", name, brief(want[name])))
		} else if !equalData(got, want[name]) {
			out = append(out, fmt.Sprintf("%s: got %s, want %s", name, brief(got), brief(want[name])))
		}
	}
	return out
}

func sortedNames(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// equalData reports whether two values are the same data: numbers by their value, bytes by their text.
func equalData(a, b any) bool {
	if x, ok := numberOf(a); ok {
		y, ok := numberOf(b)
		return ok && x.Cmp(y) == 0
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case bool:
		return a == b
	case string:
		if raw, ok := b.([]byte); ok {
			return a == string(raw)
		}
		return a == b
	case []byte:
		return equalData(string(a), b)
	case []any:
		list, ok := b.([]any)
		return ok && slices.EqualFunc(a, list, equalData)
	case map[string]any:
		object, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, object, equalData)
	}
	return false
}

func numberOf(v any) (*big.Rat, bool) {
	switch v := v.(type) {
	case int:
		return new(big.Rat).SetInt64(int64(v)), true
	case int64:
		return new(big.Rat).SetInt64(v), true
	case *big.Int:
		return new(big.Rat).SetInt(v), true
	case float64:
		r := new(big.Rat).SetFloat64(v)
		return r, r != nil
	}
	return nil, false
}
