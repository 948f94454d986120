package cel

import (
	"slices"
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
