package builtins

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/engine/label"
)

func TestDeclare(t *testing.T) {
	at := func(s string) label.Label {
		l, err := label.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	effects := func(e Effects) *Effects { return &e }
	class := func(s string) *label.Label { l := at(s); return &l }
	yes := true
	post := func() *Tool {
		return &Tool{
			Name: "post", Effects: Write | Egress, Label: Source{
				Class: at("internal/{ana}"), Of: "{args.to}",
				Fields: []FieldSource{{Path: ".body", Class: at("untrusted/{ana}")}, {Path: ".parts[].text", Class: at("untrusted/{ana}")}},
			},
			Params: []Param{{Name: "to", Sink: "recipient"}, {Name: "note", Sink: "none"}, {Name: "extra"}, {Name: "headers", Sinks: map[string]string{".Authorization": "secret"}}},
		}
	}
	for _, test := range []struct {
		name string
		tool *Tool
		d    Declaration
		want []string
	}{
		{"nothing", post(), Declaration{}, nil},
		{"more effects", post(), Declaration{Effects: effects(Write | Egress | Destructive)}, nil},
		{"one that sends becomes one that reads", post(), Declaration{Effects: effects(Read)}, []string{"post: effects: got [read], want write among them: the tool says that it has it"}},
		{"no effects", post(), Declaration{Effects: effects(Pure)}, []string{"post: effects: got [], want write among them: the tool says that it has it"}},
		{"a sink where there is none", post(), Declaration{Sinks: map[string]string{"note": "content", "extra": "path", "headers": "content"}}, nil},
		{"the same sink", post(), Declaration{Sinks: map[string]string{"to": "recipient", "headers.Authorization": "secret"}}, nil},
		{"a sink taken away", post(), Declaration{Sinks: map[string]string{"to": "none"}}, []string{"post: sinks: to: got none, want recipient: the tool says that it is one"}},
		{"another sink", post(), Declaration{Sinks: map[string]string{"to": "content"}}, []string{"post: sinks: to: got content, want recipient: the tool says that it is one"}},
		{"a sink taken away from a part", post(), Declaration{Sinks: map[string]string{"to[]": "none"}}, []string{"post: sinks: to[]: got none, want recipient: the tool says that it is one"}},
		{"… in another case", post(), Declaration{Sinks: map[string]string{"headers.AUTHORIZATION": "content"}}, []string{"post: sinks: headers.AUTHORIZATION: got content, want secret: the tool says that it is one"}},
		{"… below it", post(), Declaration{Sinks: map[string]string{"headers.Authorization.x": "content"}}, []string{"post: sinks: headers.Authorization.x: got content, want secret: the tool says that it is one"}},
		{"… by a star that stands for it", post(), Declaration{Sinks: map[string]string{"headers.*.x": "content"}}, []string{"post: sinks: headers.*.x: got content, want secret: the tool says that it is one"}},
		{"a parameter that is not there", post(), Declaration{Sinks: map[string]string{"too": "recipient"}}, []string{"post: sinks: too: no such parameter, want one of to, note, extra, headers"}},
		{"a lower label", post(), Declaration{Class: class("untrusted/{}#pii")}, nil},
		{"more trust", post(), Declaration{Class: class("user/{ana}")}, []string{"post: label of the result: got user/{ana}, want one that the tool's own, internal/{ana}, flows to"}},
		{"more readers", post(), Declaration{Class: class("internal/public")}, []string{"post: label of the result: got internal/public, want one that the tool's own, internal/{ana}, flows to"}},
		{"a trusted structure", post(), Declaration{Structure: class("user/{ana}")}, []string{"post: label of its structure: got user/{ana}, want one that the tool's own, internal/{ana}, flows to"}},
		{"a field that was lower left out", post(), Declaration{Fields: []FieldSource{{".body", at("untrusted/{ana}")}}}, []string{"post: label of .parts[].text: got internal/{ana}, want one that the tool's own, untrusted/{ana}, flows to"}},
		{"a part of a field raised", post(), Declaration{Fields: []FieldSource{{".body", at("untrusted/{ana}")}, {".body.text", at("internal/{ana}")}, {".parts", at("untrusted/{ana}")}}}, []string{"post: label of .body.text: got internal/{ana}, want one that the tool's own, untrusted/{ana}, flows to"}},
		{"… by a star that stands for it", post(), Declaration{Fields: []FieldSource{{".body", at("untrusted/{ana}")}, {".*.text", at("internal/{ana}")}, {".parts", at("untrusted/{ana}")}}}, []string{"post: label of .*.text: got internal/{ana}, want one that the tool's own, untrusted/{ana}, flows to"}},
		{"fields above the tool's", post(), Declaration{Fields: []FieldSource{{".body", at("untrusted/{}")}, {".parts", at("untrusted/{ana}")}}}, nil},
		{"another resource, which rules go by", post(), Declaration{Of: "vendors.csv"}, []string{`post: of: got "vendors.csv", want the tool's own, "{args.to}": rules go by it`}},
		{"a promise that the tool does not make", post(), Declaration{Idempotent: &yes}, []string{"post: idempotent: got true, want false: the tool does not promise it"}},
		{"anything of a tool that says nothing", &Tool{Name: "bare", Params: []Param{{Name: "to"}}}, Declaration{
			Effects: effects(Read), Sinks: map[string]string{"to": "none"}, Class: class("internal/public"), Of: "x",
			Fields: []FieldSource{{".note", at("untrusted/public")}}, Structure: class("user/public"), Idempotent: &yes, Timeout: time.Second,
		}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := post()
			got := test.tool.Declare(test.d)
			if !slices.Equal(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
			if test.want != nil && (test.tool.Effects != before.Effects || !test.tool.Label.Class.Equal(before.Label.Class) || test.tool.Label.Of != before.Label.Of || test.tool.Params[0].Sink != "recipient") {
				t.Errorf("what was refused was taken over: %+v", test.tool)
			}
			test.tool.Run = func(context.Context, *Invocation) (any, error) { return nil, nil }
			if err := new(Set).Add(test.tool); err != nil {
				t.Errorf("the tool cannot be used: %v", err)
			}
		})
	}
	bare := &Tool{Name: "bare", Params: []Param{{Name: "to"}}}
	bare.Declare(Declaration{Effects: effects(Read), Sinks: map[string]string{"to": "url"}, Class: class("internal/public"), Of: "x", Idempotent: &yes, Timeout: time.Second})
	if bare.Effects != Read || bare.Params[0].Sink != "url" || bare.Label.Class.String() != "internal/public" || bare.Label.Of != "x" || !bare.Idempotent || bare.Timeout != time.Second {
		t.Errorf("what was declared of a tool that says nothing is not there: %+v", bare)
	}
}
