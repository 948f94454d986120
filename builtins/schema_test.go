package builtins

import (
	"context"
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"
)

func nothing(context.Context, *Invocation) (any, error) { return nil, nil }

func schemaOf(s string) json.RawMessage { return json.RawMessage(s) }

// args makes arguments of plain data, all under one label.
func args(t *testing.T, l label.Label, plain map[string]any) value.Value {
	t.Helper()
	v, err := value.Of(plain, l)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// with returns a dict with another value under one of its keys.
func with(v value.Value, key string, of value.Value) value.Value {
	v.Items = slices.Clone(v.Items)
	for i, k := range v.Keys {
		if k.Str == key {
			v.Items[i] = of
		}
	}
	return v
}

func mailTool() *Tool {
	return &Tool{
		Name: "mail.send",
		Doc:  "Send a mail.",
		Params: []Param{
			{Name: "to", Schema: schemaOf(`{"type": "array", "items": {"type": "string"}, "minItems": 1}`), Required: true, Sink: "recipient"},
			{Name: "subject", Schema: schemaOf(`{"type": "string", "maxLength": 5}`), Required: true, Sink: "content"},
			{Name: "retries", Schema: schemaOf(`{"type": "integer", "minimum": 0, "maximum": 9}`)},
			{Name: "kind", Schema: schemaOf(`{"enum": ["plain", "html"]}`)},
			{Name: "who", Schema: schemaOf(`{"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}`), Sink: "recipient"},
			{Name: "options", Schema: schemaOf(`{"type": "object", "properties": {"urgent": {"type": "boolean"}, "rate": {"type": "number", "exclusiveMinimum": 0.5}}, "required": ["urgent"], "additionalProperties": false}`)},
			{Name: "any"},
			{Name: "raw", Schema: schemaOf(`{"type": "object", "required": ["$bytes"]}`)},
		},
		Effects: Write | Egress,
		Run:     nothing,
	}
}

func TestCheckArgs(t *testing.T) {
	good := func(more ...value.Field) value.Value {
		l := label.Bottom()
		fields := append([]value.Field{
			{Name: "to", Of: value.ListOf(l, value.StringOf("a@b.example", l))},
			{Name: "subject", Of: value.StringOf("hi", l)},
		}, more...)
		return value.DictOf(l, fields...)
	}
	one := func(name string, x any) value.Value {
		v, err := value.Of(x, label.Bottom())
		if err != nil {
			t.Fatal(err)
		}
		return good(value.Field{Name: name, Of: v})
	}
	b := label.Bottom()
	deep := value.NoneOf(b)
	for range 10_000 {
		deep = value.ListOf(b, deep)
	}
	nested := value.ListOf(b)
	for range MaxDepth {
		nested = value.ListOf(b, nested)
	}
	for _, test := range []struct {
		name string
		args value.Value
		want string
	}{
		{"what is required is there", good(), ""},
		{"everything is there", good(
			value.Field{Name: "retries", Of: value.IntOf(9, b)},
			value.Field{Name: "kind", Of: value.StringOf("html", b)},
			value.Field{Name: "who", Of: value.StringOf("x", b)},
			value.Field{Name: "any", Of: value.Value{Kind: value.Set, Label: b}},
			value.Field{Name: "raw", Of: value.Value{Kind: value.Bytes, Str: "\xff", Label: b}},
		), ""},
		{"a tuple is a list", value.DictOf(b, value.Field{Name: "to", Of: value.Value{Kind: value.Tuple, Items: []value.Value{value.StringOf("x", b)}}}, value.Field{Name: "subject", Of: value.StringOf("", b)}), ""},
		{"an element of another type", args(t, b, map[string]any{"to": []any{7}, "subject": "hi"}), "mail.send: to[0]: got int, want string"},
		{"text for a list", args(t, b, map[string]any{"to": "bob", "subject": "hi"}), "mail.send: to: got string, want list"},
		{"None for text", args(t, b, map[string]any{"to": []any{"x"}, "subject": nil}), "mail.send: subject: got None, want string"},
		{"None where nothing need be", one("retries", nil), "mail.send: retries: got None, want int; leave it out"},
		{"bytes for text", args(t, b, map[string]any{"to": []any{"x"}, "subject": []byte("hi")}), "mail.send: subject: got bytes, want string"},
		{"everything wrong is reported at once", args(t, b, map[string]any{"subjct": "x", "to": []any{"a", 1, 2.5}, "kind": "pdf"}),
			"mail.send: kind: want one of \"plain\", \"html\"\nmail.send: subjct: unknown; did you mean \"subject\"\nmail.send: to[1]: got int, want string\nmail.send: to[2]: got float, want string\nmail.send: subject: missing"},
		{"an argument unlike any other", one("zzzzzz", 1), "mail.send: zzzzzz: unknown; there is to, subject, retries, kind, who, options, any, raw"},
		{"no arguments by name", value.ListOf(b), "mail.send: got list, want arguments by name"},
		{"an argument given twice", good(value.Field{Name: "subject", Of: value.StringOf("x", b)}), "mail.send: subject: given twice"},
		{"too long", with(good(), "subject", value.StringOf("123456", b)), "mail.send: subject: got 6 characters, want at most 5"},
		{"too few", with(good(), "to", value.ListOf(b)), "mail.send: to: got 0 elements, want at least 1"},
		{"below the minimum", one("retries", -1), "mail.send: retries: want at least 0"},
		{"a float that is whole", one("retries", 3.0), "mail.send: retries: got float, want int"},
		{"an int beyond 64 bits", one("retries", new(big.Int).Lsh(big.NewInt(1), 80)), "mail.send: retries: want at most 9"},
		{"a bool for an int", one("retries", true), "mail.send: retries: got bool, want int"},
		{"none of two alternatives", one("who", 7), "mail.send: who: got int, want string or list"},
		{"the alternative of its type", one("who", []any{"a", 7}), "mail.send: who[1]: got int, want string"},
		{"a nested key is missing", one("options", map[string]any{}), "mail.send: options.urgent: missing"},
		{"a nested key is unknown", one("options", map[string]any{"urgent": true, "urgnt": 1}), "mail.send: options.urgnt: unknown; did you mean \"urgent\""},
		{"a nested key that is no name", one("options", map[string]any{"urgent": true, "a].b": 1}), "mail.send: options[\"a].b\"]: unknown; there is rate, urgent"},
		{"a nested number", one("options", map[string]any{"urgent": true, "rate": 0.5}), "mail.send: options.rate: want more than 0.5"},
		{"NaN", one("any", math.NaN()), "mail.send: any: got NaN, want a finite number"},
		{"text that is not UTF-8", one("any", "\xff"), "mail.send: any: got text that is not UTF-8"},
		{"a key that is not UTF-8", one("any", map[string]any{"\xff": 1}), "mail.send: any: got text that is not UTF-8"},
		{"a key that is no text", good(value.Field{Name: "any", Of: value.Value{Kind: value.Dict, Keys: []value.Value{value.IntOf(1, b)}, Items: []value.Value{value.NoneOf(b)}}}), "mail.send: any: got a key of type int, want string"},
		{"10,000 lists in one another", good(value.Field{Name: "any", Of: deep}), "mail.send: any: nested deeper than 500"},
		{"as many lists as allowed", good(value.Field{Name: "any", Of: nested}), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := mailTool().CheckArgs(test.args)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestCheckArgsReportsABoundedNumberOfProblems(t *testing.T) {
	list := make([]any, 100_000)
	for i := range list {
		list[i] = i
	}
	err := mailTool().CheckArgs(args(t, label.Bottom(), map[string]any{"to": list, "subject": "x"}))
	if n := strings.Count(err.Error(), "\n") + 1; n != maxProblems {
		t.Errorf("got %d problems, want %d", n, maxProblems)
	}
}

func TestSetRefusesDeclarationsItCannotKeep(t *testing.T) {
	param := func(p Param) *Tool { return &Tool{Name: "t", Params: []Param{p}, Run: nothing} }
	for _, test := range []struct {
		name string
		tool *Tool
		want string
	}{
		{"a schema that is no JSON", param(Param{Name: "a", Schema: schemaOf(`{`)}), `tool "t": parameter "a": schema: `},
		{"a schema of no schema", param(Param{Name: "a", Schema: schemaOf(`{"type": "strnig"}`)}), `tool "t": parameter "a": schema: `},
		{"a schema that names a file", param(Param{Name: "a", Schema: schemaOf(`{"$ref": "file:///etc/passwd"}`)}), `a schema may only refer to itself`},
		{"a schema that names a host", param(Param{Name: "a", Schema: schemaOf(`{"$ref": "https://evil.example/s"}`)}), `a schema may only refer to itself`},
		{"an unknown sink", param(Param{Name: "a", Sink: "recipent"}), `parameter "a": unknown sink "recipent"; did you mean "recipient"`},
		{"control is no parameter's sink", param(Param{Name: "a", Sink: "control"}), `unknown sink "control"`},
		{"an unknown sink of a part", param(Param{Name: "a", Sinks: map[string]string{".x": "zzz"}}), `parameter "a": .x: unknown sink "zzz", want one of recipient, `},
		{"a path that cannot be read", param(Param{Name: "a", Sinks: map[string]string{"x": "url"}}), `path "x": got "x", want a step such as [], .name or .*`},
		{"an empty step", param(Param{Name: "a", Sinks: map[string]string{"..x": "url"}}), `path "..x": got an empty name, want .name or .*`},
		{"an empty path", param(Param{Name: "a", Sinks: map[string]string{"": "url"}}), `path "": got nothing`},
		{"two parameters of one name", &Tool{Name: "t", Params: []Param{{Name: "a"}, {Name: "a"}}, Run: nothing}, `parameter "a": want a name that no other parameter has`},
		{"two entries for one field", &Tool{Name: "t", Label: Source{Fields: []FieldSource{{Path: ".a"}, {Path: ".a"}}}, Run: nothing}, `label: path ".a": given twice`},
		{"a result's schema", &Tool{Name: "t", Returns: schemaOf(`{"type": 1}`), Run: nothing}, `tool "t": returns: schema: `},
		{"an unknown argument in a resource", &Tool{Name: "t", Label: Source{Of: "x/{args.a}"}, Run: nothing}, `label: of "x/{args.a}": got {args.a, want {args.NAME} or {args.NAME.host} with the name of a parameter`},
		{"a brace that is not closed", &Tool{Name: "t", Label: Source{Of: "{item.a"}, Run: nothing}, `got {item.a, want`},
		{"no Run", &Tool{Name: "t"}, `want a name and a Run function`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var s Set
			err := s.Add(test.tool)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %s", err, test.want)
			}
			if s.Lookup(test.tool.Name) != nil {
				t.Error("the tool was added")
			}
		})
	}
}

func TestACopyOfAToolIsCheckedAsItIs(t *testing.T) {
	var s Set
	original := mailTool()
	if err := s.Add(original); err != nil {
		t.Fatal(err)
	}
	renamed := *original
	renamed.Name, renamed.Params = "post", renamed.Params[:1]
	err := renamed.CheckArgs(args(t, label.Bottom(), map[string]any{"to": []any{"x"}, "subject": "hi"}))
	if err == nil || err.Error() != `post: subject: unknown; there is to` {
		t.Errorf("got %v", err)
	}
}
