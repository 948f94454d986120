package builtins

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"
)

var (
	internal  = label.New(label.Internal, label.Only("ana"), nil)
	untrusted = label.New(label.Untrusted, label.Only("ana"), []string{"mail"})
)

// listing is like a list of mails: which there are is trusted, what is in them is not.
func listing() *Tool {
	return &Tool{
		Name:   "mail.list",
		Params: []Param{{Name: "folder"}, {Name: "limit"}},
		Label: Source{
			Class:     untrusted,
			Of:        "{args.folder}/{item.id}",
			Structure: &internal,
			Fields: []FieldSource{
				{"[].id", internal},
				{"[].parts", untrusted},
				{"[].parts[].size", internal},
			},
		},
		Run: nothing,
	}
}

func TestLabelResult(t *testing.T) {
	mails := []any{
		map[string]any{"id": "01.eml", "subject": "hello", "parts": []any{map[string]any{"name": "a.csv", "size": 7}}},
		map[string]any{"id": "02.eml", "subject": "x", "parts": []any{}},
	}
	v, err := listing().LabelResult(mails, args(t, label.New(label.User, label.Public(), nil), map[string]any{"folder": "inbox"}))
	if err != nil {
		t.Fatal(err)
	}
	// What a program reads is the join of all references and structures on the way.
	read := map[string]string{}
	v.Walk(false, func(path string, _ value.Value, l label.Label) {
		read[path] = l.String() + " from " + l.Explain(9)
	})
	for path, want := range map[string]string{
		"[0].id":            "internal/{ana} from mail.list inbox/, mail.list inbox/01.eml, mail.list inbox/01.eml (id)",
		"[0].subject":       "untrusted/{ana}#mail from mail.list inbox/, mail.list inbox/01.eml",
		"[0].parts[0].name": "untrusted/{ana}#mail from mail.list inbox/, mail.list inbox/01.eml, mail.list inbox/01.eml (parts)",
		"[0].parts[0].size": "untrusted/{ana}#mail from mail.list inbox/, mail.list inbox/01.eml, mail.list inbox/01.eml (parts), mail.list inbox/01.eml (parts[].size)",
		"[1].subject":       "untrusted/{ana}#mail from mail.list inbox/, mail.list inbox/02.eml",
	} {
		if read[path] != want {
			t.Errorf("%s is %s\nwant %s", path, read[path], want)
		}
	}
	if got := v.Structure.String(); got != "internal/{ana}" {
		t.Errorf("the list's structure is %s, want internal", got)
	}
	parts, _ := v.Items[1].Get("parts")
	if got := parts.Structure.String(); got != "untrusted/{ana}#mail" {
		t.Errorf("the structure of a field of its own label is %s, want the field's", got)
	}
}

func TestResourceTakesOnlyTrustedValues(t *testing.T) {
	user := label.New(label.User, label.Public(), nil)
	tool := func(of string, fields ...FieldSource) *Tool {
		return &Tool{
			Name: "t", Params: []Param{{Name: "a"}}, Run: nothing,
			Label: Source{Class: label.New(label.Untrusted, label.Public(), nil), Of: of, Fields: fields},
		}
	}
	id := FieldSource{"[].id", label.New(label.Internal, label.Public(), nil)}
	one := []any{map[string]any{"id": "x"}}
	for _, test := range []struct {
		name   string
		tool   *Tool
		result any
		args   value.Value
		want   string // the resource of the innermost first node
	}{
		{"a constant", tool("ledger"), 1, args(t, user, nil), "ledger"},
		{"a trusted argument", tool("{args.a}"), 1, args(t, user, map[string]any{"a": "v.csv"}), "v.csv"},
		{"an untrusted argument", tool("{args.a}"), 1, args(t, untrusted, map[string]any{"a": "v.csv"}), "?"},
		{"an argument with an untrusted part", tool("{args.a}"), 1, value.DictOf(user, value.Field{Name: "a", Of: value.ListOf(user, value.StringOf("x", untrusted))}), "?"},
		{"an argument that is left out", tool("{args.a}"), 1, args(t, user, nil), ""},
		{"an argument that is an int", tool("row {args.a}"), 1, args(t, user, map[string]any{"a": 7}), "row 7"},
		{"an argument with control characters", tool("{args.a}"), 1, args(t, user, map[string]any{"a": "x\x1b[2J\u202ey"}), "x?[2J?y"},
		{"a long argument", tool("{args.a}"), 1, args(t, user, map[string]any{"a": strings.Repeat("é", 500)}), strings.Repeat("é", 100) + "…"},
		{"a trusted field of an element", tool("{item.id}", id), one, args(t, user, nil), "x"},
		{"an untrusted field of an element", tool("{item.id}"), one, args(t, user, nil), "?"},
		{"a trusted field that an untrusted argument selected", tool("{item.id}", id), one, args(t, untrusted, map[string]any{"a": "q"}), "?"},
		{"a field that is a list", tool("{item.id}", id), []any{map[string]any{"id": []any{"x"}}}, args(t, user, nil), "?"},
		{"no such field", tool("a/{item.no}", id), one, args(t, user, nil), "a/"},
		{"braces in a value are text", tool("{args.a}"), 1, args(t, user, map[string]any{"a": "{item.id}"}), "{item.id}"},
		{"the innermost element that has the field", tool("{item.id}", id), []any{map[string]any{"id": "x", "z": []any{"a"}}}, args(t, user, nil), "x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v, err := test.tool.LabelResult(test.result, test.args)
			if err != nil {
				t.Fatal(err)
			}
			for !v.Scalar() {
				v = v.Items[len(v.Items)-1]
			}
			if got := v.Label.Sources()[0].Of; got != test.want {
				t.Errorf("resource %q, want %q", got, test.want)
			}
		})
	}
}

func TestLabelResultFailsClosed(t *testing.T) {
	b := label.Bottom()
	t.Run("an undeclared label is Top", func(t *testing.T) {
		v, err := (&Tool{Name: "t", Run: nothing}).LabelResult([]any{map[string]any{"a": 1}}, args(t, b, nil))
		if err != nil {
			t.Fatal(err)
		}
		if !v.Label.SameClass(label.Top()) || !v.Deep().SameClass(label.Top()) || !v.Items[0].Keys[0].Label.SameClass(label.Top()) {
			t.Errorf("got %s, deep %s", v.Label, v.Deep())
		}
	})
	t.Run("what is read from a state carries its label", func(t *testing.T) {
		tool := &Tool{Name: "t", Run: nothing, Label: Source{Class: b}, State: &State{Name: "s", Label: untrusted}}
		v, err := tool.LabelResult([]any{1}, args(t, b, nil))
		if err != nil {
			t.Fatal(err)
		}
		if v.Label.String() != "untrusted/{ana}#mail" || v.Structure.String() != "untrusted/{ana}#mail" || v.Items[0].Label.String() != "untrusted/{ana}#mail" {
			t.Errorf("got %s, structure %s, element %s", v.Label, v.Structure, v.Items[0].Label)
		}
	})
	t.Run("a label that the tool gave a part is not lost", func(t *testing.T) {
		tool := &Tool{Name: "t", Run: nothing, Label: Source{Class: b}}
		v, err := tool.LabelResult([]any{value.StringOf("x", untrusted)}, args(t, b, nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := v.Items[0].Label.String(); got != "untrusted/{ana}#mail" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a declared source class keeps no sources of its own", func(t *testing.T) {
		tool := &Tool{Name: "t", Run: nothing, Label: Source{Class: internal.WithSources(label.Source{Tool: "forged"})}}
		v, err := tool.LabelResult(1, args(t, b, nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := v.Label.Explain(9); got != "t" {
			t.Errorf("sources are %s", got)
		}
	})
}

func TestLabelResultChecksReturns(t *testing.T) {
	tool := &Tool{Name: "t", Run: nothing, Label: Source{Class: internal}, Returns: schemaOf(`{"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}`)}
	deep := any("x")
	for range 10_000 {
		deep = []any{deep}
	}
	for _, test := range []struct {
		name   string
		result any
		want   string
	}{
		{"as declared", []any{map[string]any{"n": 1}}, ""},
		{"no elements", []any{}, ""},
		{"another type", "x", "t: result: got string, want list"},
		{"nothing", nil, "t: result: got None, want list"},
		{"a wrong field", []any{map[string]any{"n": 1}, map[string]any{"n": 1.0}}, "t: result[1].n: got float, want int"},
		{"a missing field", []any{map[string]any{}}, "t: result[0].n: missing"},
		{"a Go type of its own", struct{}{}, "t: result: got Go type struct {}, want plain data"},
		{"10,000 lists in one another", deep, "t: result: nested deeper than 500"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v, err := tool.LabelResult(test.result, value.DictOf(label.Bottom()))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if err != nil && v.Kind != value.Invalid {
				t.Error("a result that fails its check is handed out")
			}
			if _, ok := errors.AsType[*SchemaError](err); err != nil && !ok && !strings.Contains(test.want, "Go type") {
				t.Errorf("got %T", err)
			}
		})
	}
}

func TestPatterns(t *testing.T) {
	ps, err := compilePatterns([]string{".*", ".total", "[].*.x", "[].a.x", "[].a", ".total.net[]"}, false)
	if err != nil {
		t.Fatal(err)
	}
	folded, err := compilePatterns([]string{".Authorization"}, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		at   place
		want int
	}{
		{"the root", ps.root(), -1},
		{"any key", ps.root().key("z"), 0},
		{"a key named is better than any", ps.root().key("total"), 1},
		{"what is below belongs to it", ps.root().key("total").key("gross").element(), 1},
		{"the longest wins", ps.root().key("total").key("net").element(), 5},
		{"an element matches no key", ps.root().element(), -1},
		{"any key inside", ps.root().element().key("b").key("x"), 2},
		{"the more literal of two as long", ps.root().element().key("a").key("x"), 3},
		{"below a shorter one", ps.root().element().key("a").key("y"), 4},
		{"a key that looks like a path", ps.root().key("[].a"), 0},
		{"a key that looks like two", ps.root().element().key("a.x"), -1},
		{"keys differ by case", folded.root().key("authorizatio"), -1},
		{"or not, where that is asked for", folded.root().key("AUTHORIZATION"), 0},
		{"the Kelvin sign is no k", folded.root().key("authori\u212aation"), -1},
	} {
		if test.at.best != test.want {
			t.Errorf("%s: got %d, want %d", test.name, test.at.best, test.want)
		}
	}
}

func BenchmarkLabelResult(b *testing.B) {
	rows := make([]any, 1000)
	for i := range rows {
		rows[i] = map[string]any{"id": fmt.Sprint(i), "name": "x", "iban": "y", "mail": "z"}
	}
	tool := listing()
	a := value.DictOf(label.Bottom(), value.Field{Name: "folder", Of: value.StringOf("inbox", label.Bottom())})
	for b.Loop() {
		if _, err := tool.LabelResult(rows, a); err != nil {
			b.Fatal(err)
		}
	}
}
