package policies

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"callgate/engine/label"
	"callgate/spec"
)

// obligationFields are the fields of each type of obligation, each with a value that it may have. A notification's are free.
var obligationFields = map[string]map[string]any{
	ObligeRedact:  {"path": "/result", "with": ""},
	ObligeLabel:   {"tags": []string{}, "readers": []string{}, "trust": "user"},
	ObligeLimit:   {"max": 0, "cost": 0, "per": []string{}, "window": "1h", "over": "deny"},
	ObligeMark:    {"name": "x", "scope": "run"},
	ObligeIsolate: {"tier": "none"},
	ObligeMask:    {"path": "/args/x"},
	ObligeNotify:  nil,
}

// ObligationTypes lists the types of obligation, sorted.
func ObligationTypes() []string { return slices.Sorted(maps.Keys(obligationFields)) }

// FieldProblem is what is wrong with an obligation, as a rule that is loaded has it.
type FieldProblem struct {
	Field string // "" if it is about none that is there
	Text  string
	Hint  string // may be empty
}

// CheckObligation says what is wrong with an obligation whose fields are known when its rule is loaded: each would deny every
// call that the rule is about. Of those that are computed only the names are known.
func CheckObligation(o Obligation, computed ...string) (problems []FieldProblem) {
	known, ok := obligationFields[o.Type]
	switch {
	case !ok:
		return []FieldProblem{{"type", fmt.Sprintf("type: got %q, want one of %s", o.Type, strings.Join(ObligationTypes(), ", ")), didYouMean(o.Type, ObligationTypes())}}
	case o.Type == ObligeNotify:
		return nil
	}
	names := slices.Sorted(maps.Keys(known))
	for _, name := range slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Keys(o.Fields)), computed))) {
		if _, ok := known[name]; !ok {
			problems = append(problems, FieldProblem{name, fmt.Sprintf("obligation %s: got field %s, want %s", o.Type, name, strings.Join(names, ", ")), didYouMean(name, names)})
			continue
		}
		v, given := o.Fields[name]
		if !given {
			continue
		}
		alone := Obligation{Type: o.Type, ID: "x", Fields: maps.Clone(known)}
		alone.Fields[name] = v
		if err := checkLoaded(alone); err != nil {
			problems = append(problems, FieldProblem{name, fmt.Sprintf("obligation %s: %v", o.Type, err), ""})
		}
	}
	if len(problems) > 0 {
		return problems
	}
	all := o
	all.Fields = maps.Clone(o.Fields)
	for _, name := range computed {
		if all.Fields == nil {
			all.Fields = map[string]any{}
		}
		all.Fields[name] = known[name]
	}
	if err := checkLoaded(all); err != nil {
		problems = append(problems, FieldProblem{"", fmt.Sprintf("obligation %s: %v", o.Type, err), ""})
	}
	return problems
}

// checkLoaded is checkObligation, and what the gate would refuse besides.
func checkLoaded(o Obligation) error {
	if err := checkObligation(o); err != nil {
		return err
	}
	switch o.Type {
	case ObligeLabel:
		if trust, ok := o.Fields["trust"].(string); ok {
			if _, err := label.ParseTrust(trust); err != nil {
				return err
			}
		}
	case ObligeRedact:
		if path := o.Fields["path"].(string); path != "/result" && !strings.HasPrefix(path, "/result/") && !strings.HasPrefix(path, "/args/") {
			return fmt.Errorf("path: got %s, want /result/… or /args/…", path)
		}
		if with, ok := o.Fields["with"]; ok {
			if _, text := with.(string); !text {
				return fmt.Errorf("with: got %v, want a text", with)
			}
		}
	}
	return nil
}

func didYouMean(word string, known []string) string {
	if near := spec.Nearest(word, known); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}
