package builtins

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"
)

func post() *Tool {
	return &Tool{
		Name: "http.post",
		Params: []Param{
			{Name: "url", Sink: "url"},
			{Name: "headers", Sink: "content", Sinks: map[string]string{".Authorization": "secret"}},
			{Name: "payments", Schema: schemaOf(`{"type": "array", "items": {"type": "object", "properties": {"iban": {}, "cents": {}}}}`),
				Sinks: map[string]string{"[].iban": "account"}, Norm: NormIBAN},
			{Name: "to", Sink: "recipient"},
			{Name: "n"},
		},
		Run: nothing,
	}
}

func leafLines(t *testing.T, tool *Tool, a value.Value) []string {
	t.Helper()
	leaves, err := tool.Leaves(a)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range leaves {
		out = append(out, fmt.Sprintf("%s (%s) %s = %v, %q @ %q, %s", l.Path, l.Param, l.Sink, l.Value, l.Norm, l.Host, l.Label))
	}
	return out
}

func TestLeaves(t *testing.T) {
	b := label.Bottom()
	text := func(s string) value.Value { return value.StringOf(s, b) }
	for _, test := range []struct {
		name string
		args value.Value
		want []string
	}{
		{"nothing", value.DictOf(b), nil},
		{"in the order of the parameters", value.DictOf(b,
			value.Field{Name: "n", Of: value.IntOf(3, b)},
			value.Field{Name: "url", Of: text("HTTPS://Api.Example")},
		), []string{
			`url (url) url = HTTPS://Api.Example, "https://api.example/" @ "api.example", system/public`,
			`n (n) none = 3, "3" @ "", system/public`,
		}},
		{"the sink of a part, whatever the case of its key", value.DictOf(b, value.Field{Name: "headers", Of: value.DictOf(b, value.Field{Name: "authorization", Of: text("T")})}), []string{
			`headers.authorization#key (headers) content = authorization, "authorization" @ "", system/public`,
			`headers.authorization (headers) secret = T, "t" @ "", system/public`,
		}},
		{"keys that the schema declares are no leaves", value.DictOf(b, value.Field{Name: "payments", Of: value.ListOf(b,
			value.DictOf(b, value.Field{Name: "iban", Of: text("gb82 west 1234 5698 7654 32")}, value.Field{Name: "cents", Of: value.IntOf(5, b)}))}), []string{
			`payments[0].iban (payments) account = gb82 west 1234 5698 7654 32, "GB82WEST12345698765432" @ "", system/public`,
			`payments[0].cents (payments) none = 5, "" @ "", system/public`,
		}},
		{"a key that imitates a path", value.DictOf(b, value.Field{Name: "payments", Of: value.ListOf(b, value.DictOf(b, value.Field{Name: "x].iban", Of: text("GB82WEST12345698765432")}))}), []string{
			`payments[0]["x].iban"]#key (payments) none = x].iban, "" @ "", system/public`,
			`payments[0]["x].iban"] (payments) none = GB82WEST12345698765432, "GB82WEST12345698765432" @ "", system/public`,
		}},
		{"an element's label, its list's and the list's structure are joined", value.DictOf(b, value.Field{Name: "to", Of: value.Value{
			Kind: value.List, Label: label.New(label.User, label.Public(), nil), Structure: label.New(label.Internal, label.Public(), nil),
			Items: []value.Value{value.StringOf("Bob <bob@corp.example>", label.New(label.System, label.Only("ana"), []string{"pii"}))},
		}}), []string{
			`to[0] (to) recipient = Bob <bob@corp.example>, "bob@corp.example" @ "corp.example", internal/{ana}#pii`,
		}},
		{"an empty list of recipients names none", value.DictOf(b, value.Field{Name: "to", Of: value.ListOf(internal)}), []string{
			`to (to) none = <nil>, "" @ "", internal/{ana}`,
		}},
		{"an empty dict in content is content", value.DictOf(b, value.Field{Name: "headers", Of: value.DictOf(b, value.Field{Name: "k", Of: value.DictOf(internal)})}), []string{
			`headers.k#key (headers) content = k, "k" @ "", system/public`,
			`headers.k (headers) content = <nil>, "" @ "", internal/{ana}`,
		}},
		{"a recipient that is no address is text", value.DictOf(b, value.Field{Name: "to", Of: text("#General")}), []string{
			`to (to) recipient = #General, "#general" @ "", system/public`,
		}},
		{"two recipients in one text have no norm", value.DictOf(b, value.Field{Name: "to", Of: text("bob@corp.example, eve@evil.example")}), []string{
			`to (to) recipient = bob@corp.example, eve@evil.example, "" @ "", system/public`,
		}},
		{"bytes that are text", value.DictOf(b, value.Field{Name: "n", Of: value.Value{Kind: value.Bytes, Str: "Hi", Label: b}}), []string{
			`n (n) none = Hi, "hi" @ "", system/public`,
		}},
		{"bytes that are none", value.DictOf(b, value.Field{Name: "n", Of: value.Value{Kind: value.Bytes, Str: "\xff", Label: b}}), []string{
			`n (n) none = <nil>, "none" @ "", system/public`,
		}},
		{"an argument that is not declared", value.DictOf(b, value.Field{Name: "zz", Of: value.IntOf(1, untrusted)}), []string{
			`zz (zz) none = 1, "1" @ "", untrusted/{ana}#mail`,
		}},
		{"keys that are no text", value.DictOf(b, value.Field{Name: "n", Of: value.Value{Kind: value.Dict, Label: b, Structure: b,
			Keys: []value.Value{{Kind: value.Tuple, Label: b, Structure: b, Items: []value.Value{value.IntOf(1, untrusted)}}}, Items: []value.Value{value.NoneOf(b)}}}), []string{
			`n[(1,)]#key (n) none = (1,), "(1,)" @ "", untrusted/{ana}#mail`,
			`n[(1,)] (n) none = <nil>, "none" @ "", untrusted/{ana}#mail`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := leafLines(t, post(), test.args); !slices.Equal(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// However large and however deep the arguments, the join over the leaves is the
// label of all of them, and no kind of sink is forgotten.
func TestLeavesAreTotal(t *testing.T) {
	b := label.Bottom()
	last := value.StringOf("x", untrusted)
	wide := value.ListOf(b)
	for range 3 * MaxLeaves {
		wide.Items = append(wide.Items, value.DictOf(b, value.Field{Name: "iban", Of: value.StringOf("y", b)}))
	}
	wide.Items = append(wide.Items, value.DictOf(b, value.Field{Name: "iban", Of: last}))
	deep := last
	for range 10_000 {
		deep = value.ListOf(b, deep)
	}
	bushy := last
	for range 200 {
		bushy = value.ListOf(b, value.IntOf(1, b), value.IntOf(2, b), bushy, value.IntOf(3, b))
		for range 30 {
			bushy.Items = append(bushy.Items, value.IntOf(4, b))
		}
	}
	for _, test := range []struct {
		name string
		v    value.Value
		max  int
	}{
		{"wide", wide, MaxLeaves + 8},
		{"deep", deep, 8},
		{"wide and deep", bushy, MaxLeaves + 500},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaves, err := post().Leaves(value.DictOf(b, value.Field{Name: "payments", Of: test.v}))
			if err != nil {
				t.Fatal(err)
			}
			if len(leaves) > test.max {
				t.Errorf("got %d leaves, want at most %d", len(leaves), test.max)
			}
			all, account := b, b
			for _, l := range leaves {
				all = all.Join(l.Label)
				if l.Sink == "account" {
					account = account.Join(l.Label)
				}
			}
			if !all.SameClass(test.v.Deep()) {
				t.Errorf("the leaves' labels join to %s, want %s", all, test.v.Deep())
			}
			if test.name == "wide" && !account.SameClass(untrusted) {
				t.Errorf("the accounts' labels join to %s: one is missing", account)
			}
		})
	}
}

func BenchmarkLeaves(b *testing.B) {
	l := label.Bottom()
	a := value.DictOf(l,
		value.Field{Name: "url", Of: value.StringOf("https://api.corp.example/v1", l)},
		value.Field{Name: "to", Of: value.ListOf(l, value.StringOf("bob@corp.example", l))},
		value.Field{Name: "n", Of: value.IntOf(3, l)})
	tool := post()
	for b.Loop() {
		if _, err := tool.Leaves(a); err != nil {
			b.Fatal(err)
		}
	}
}
