package builtins

import (
	"slices"
	"strings"
	"testing"

	"callgate/engine/label"
)

func TestCheck(t *testing.T) {
	whole := func(change func(*Tool)) *Tool {
		tool := &Tool{Name: "t", Doc: "Does.", Effects: Read, Label: Source{Class: label.New(label.Untrusted, label.Public(), nil)}}
		change(tool)
		return tool
	}
	params := func(p ...Param) *Tool { return whole(func(t *Tool) { t.Params = p }) }
	for _, test := range []struct {
		name string
		tool *Tool
		want []string
	}{
		{"nothing to say", whole(func(*Tool) {}), nil},
		{"nothing declared", &Tool{Name: "t"}, []string{
			"t: no doc: a model must guess what it does",
			"t: effects are not declared, so all four are assumed",
			"t: the label of its result is not declared, so it is untrusted and for nobody",
		}},
		{"no effects is a declaration", whole(func(t *Tool) { t.Effects = Pure }), nil},
		{"parameters that look like sinks", params(Param{Name: "to"}, Param{Name: "reply_to"}, Param{Name: "webhookUrl"}, Param{Name: "api_key"}, Param{Name: "target_account"}, Param{Name: "count"}), []string{
			`t: parameter "to" looks like a sink and declares none; declare "recipient", or "none"`,
			`t: parameter "reply_to" looks like a sink and declares none; declare "recipient", or "none"`,
			`t: parameter "webhookUrl" looks like a sink and declares none; declare "url", or "none"`,
			`t: parameter "api_key" looks like a sink and declares none; declare "secret", or "none"`,
			`t: parameter "target_account" looks like a sink and declares none; declare "account", or "none"`,
		}},
		{"a sink declared, of a part, or none", params(Param{Name: "to", Sink: "recipient"}, Param{Name: "path", Sink: "none"}, Param{Name: "url", Sinks: map[string]string{"[]": "url"}}), nil},
		{"egress without a sink", whole(func(t *Tool) { t.Effects = Egress }), []string{
			"t: sends something out and no parameter is a sink of kind content, model, url or recipient",
		}},
		{"a state written without the effect", whole(func(t *Tool) { t.State = &State{Name: "memory", Write: true} }), []string{
			`t: writes to "memory" and has neither the effect write nor destructive`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.tool.Check(); !slices.Equal(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestAssumptions(t *testing.T) {
	if got := (&Tool{Name: "t", Label: Source{Class: untrusted}}).Assumptions(); got != nil {
		t.Errorf("an untrusted result assumes %q", got)
	}
	want := []string{
		"mail.list: result, [].id: assumed to be internal/{ana}",
		"mail.list: result, [].parts[].size: assumed to be internal/{ana}",
		"mail.list: length, order and keys of the result: assumed to be internal/{ana}",
	}
	if got := listing().Assumptions(); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
