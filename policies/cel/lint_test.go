package cel

import (
	"slices"
	"strings"
	"testing"

	"callgate/spec"
)

func TestLintOfWhatIsReadWhole(t *testing.T) {
	const read = " is read, sources too: two calls hardly ever agree in that, so that no decision is remembered"
	for when, want := range map[string][]string{
		"labels.pc == labels.program":                                             {"rule a: all of labels.pc" + read},
		"call.tool == 'mail.send' && labels.args.to == labels.args.body":          {"rule a: all of labels.args.body" + read},
		"leaves.exists(a, leaves.all(b, a == b))":                                 {"rule a: all of leaves" + read},
		"leaves.exists(a, a.rank < 1)":                                            nil,
		"size(leaves) > 5 || leaves.size() < 2":                                   nil,
		"labels.pc.choice.bits > 3":                                               nil,
		"labels.args.all(k, v, v.rank > 1)":                                       nil,
		"call.tool == 'mail.send' && labels.args.to.rank < labels.args.body.rank": nil,
		"labels.pc.sources.all(s, s.of == 'x')":                                   nil,
		"call.args.?priority.orValue(1) == 2":                                     nil,
	} {
		_, problems := New([]spec.Policy{{Meta: spec.Meta{Name: "p"}, CEL: &spec.CEL{Rules: []spec.Rule{{ID: "a", Action: "deny", When: is(when)}}}}}, testTools)
		var got []string
		for _, p := range problems {
			if !p.Warn {
				t.Errorf("%s: %v, want a warning", when, p)
			}
			got = append(got, p.Text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", when, got, want)
		}
	}
}

func TestLintOfAnAcceptOfWhatThereIsNot(t *testing.T) {
	for args, want := range map[string]string{
		"['bdy', 'pc']": "rule a: args: no tool that this is about has a parameter bdy: nothing is accepted",
		"['iban']":      "rule a: args: no tool that this is about has a parameter iban: nothing is accepted",
		"['to[0]']":     "",
	} {
		_, problems := New([]spec.Policy{{Meta: spec.Meta{Name: "p"}, CEL: &spec.CEL{Rules: []spec.Rule{
			{ID: "a", Action: "accept", When: is("call.tool == 'mail.send'"), Args: is(args)},
		}}}}, testTools)
		got := ""
		for _, p := range problems {
			got += p.Text
			if !p.Warn || strings.Contains(args, "bdy") && p.Hint != "did you mean body?" {
				t.Errorf("%s: got %v, want a warning", args, p)
			}
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
	}
}

func TestObligationsAreCheckedWhenTheyAreLoaded(t *testing.T) {
	at := func(line int) spec.Position { return spec.Position{File: "p.yaml", Line: line, Column: 3} }
	for _, test := range []struct {
		name string
		o    map[string]any
		want string // with its place
		hint string
	}{
		{"a slip", map[string]any{"type": "limit", "max": 5, "windw": "1h"}, "p.yaml:7:3: rule a: obligation limit: got field windw, want cost, max, over, per, window", "did you mean window?"},
		{"a number that is none", map[string]any{"type": "limit", "max": -1}, "p.yaml:7:3: rule a: obligation limit: max: got -1, want a whole number from 0", ""},
		{"what is not there", map[string]any{"type": "mark"}, "p.yaml:6:3: rule a: obligation mark: name: got <nil>, want a text", ""},
		{"nothing wrong", map[string]any{"type": "label", "trust": "internal", "tags": []any{"pii"}}, "", ""},
	} {
		places := map[string]spec.Position{"": at(6), "windw": at(7), "max": at(7)}
		_, problems := New([]spec.Policy{{Meta: spec.Meta{Name: "p"}, CEL: &spec.CEL{Rules: []spec.Rule{{
			ID: "a", Action: "allow", When: is("true"), Pos: at(5), Obligations: []map[string]any{test.o}, ObligationsAt: []map[string]spec.Position{places},
		}}}}}, testTools)
		got, hint := "", ""
		for _, p := range problems {
			got, hint = p.Pos.String()+": "+p.Text, p.Hint
		}
		if got != test.want || hint != test.hint {
			t.Errorf("%s: got %q (%q), want %q (%q)", test.name, got, hint, test.want, test.hint)
		}
	}
}
