package policies_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
	"callgate/policies/internal/sample"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestDocumentsFitTheSchema(t *testing.T) {
	raw, err := jsonschema.UnmarshalJSON(bytes.NewReader(policies.InputSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("input.schema.json", raw); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("input.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	source := sample.NewSource(1)
	for range 300 {
		r := source.Request()
		b, err := json.Marshal(r.Document())
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
	}
}

// fieldPaths lists the paths of the schema's own fields.
func fieldPaths(t *testing.T) []string {
	var schema map[string]any
	if err := json.Unmarshal(policies.InputSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	var out []string
	var walk func(path string, s map[string]any)
	walk = func(path string, s map[string]any) {
		if ref, ok := s["$ref"].(string); ok {
			s = schema["definitions"].(map[string]any)[strings.TrimPrefix(ref, "#/definitions/")].(map[string]any)
		}
		if path != "" {
			out = append(out, path)
		}
		if items, ok := s["items"].(map[string]any); ok {
			s = items
		}
		props, _ := s["properties"].(map[string]any)
		for _, k := range slices.Sorted(maps.Keys(props)) {
			walk(strings.TrimPrefix(path+"."+k, "."), props[k].(map[string]any))
		}
	}
	walk("", schema)
	return out
}

// at returns what stands under a path, lists flattened.
func at(doc any, path string) any {
	head, rest, _ := strings.Cut(path, ".")
	if head == "" {
		return doc
	}
	switch doc := doc.(type) {
	case []any:
		var out []any
		for _, e := range doc {
			out = append(out, at(e, path))
		}
		return out
	case map[string]any:
		return at(doc[head], rest)
	}
	return nil
}

func TestEachFieldCanBeReadAlone(t *testing.T) {
	source := sample.NewSource(2)
	for range 50 {
		r := source.Request()
		r.Principal.Claims = map[string]any{"dept": "x", "n": int64(1)}
		whole := r.Document()
		for _, path := range fieldPaths(t) {
			f := policies.NewFields([]string{path}, nil)
			part := f.Document(r)
			if got, want := at(part, path), at(whole, path); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: got %v, want %v", path, got, want)
			}
		}
		for _, path := range []string{"call.args.to", "labels.args.to.rank", "history.count." + r.Call.Tool, "principal.claims.dept", "labels.args.*.tags"} {
			f := policies.NewFields([]string{path}, nil)
			if strings.Contains(path, "*") {
				path = "labels.args"
				for name, l := range at(f.Document(r), path).(map[string]any) {
					if !reflect.DeepEqual(at(l, "tags"), at(at(whole, path), name+".tags")) {
						t.Fatalf("labels.args.%s.tags differs", name)
					}
				}
				continue
			}
			// The last part may hold dots of its own: compare the parents.
			parent := path[:strings.LastIndex(path, ".")]
			if strings.HasPrefix(path, "history.count.") {
				parent = "history.count"
			}
			got, _ := at(f.Document(r), parent).(map[string]any)
			want, _ := at(whole, parent).(map[string]any)
			for k, v := range got {
				if !reflect.DeepEqual(v, want[k]) {
					t.Fatalf("%s: got %v, want %v", path, v, want[k])
				}
			}
			if len(got) == 0 && at(whole, path) != nil {
				t.Fatalf("%s: left out", path)
			}
		}
	}
}

func TestAPathThatIsNoFieldCoversWhatIsAbove(t *testing.T) {
	r := sample.NewSource(3).Request()
	for _, path := range []string{"", "nonsense", "call.nonsense", "leaves.nonsense", "labels.nonsense", "history", "principal", "call", "labels.pc.nonsense", "call.site.nonsense"} {
		f := policies.NewFields([]string{path}, nil)
		parent := path
		if strings.HasSuffix(path, "nonsense") {
			parent = strings.TrimSuffix(strings.TrimSuffix(path, "nonsense"), ".")
		}
		if got, want := at(f.Document(r), parent), at(r.Document(), parent); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %v, want %v", path, got, want)
		}
	}
}

// The key must tell documents apart that differ, and should not tell apart those that do not.
func TestKeysAgreeWithDocuments(t *testing.T) {
	paths := fieldPaths(t)
	common := slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
		return p != "tags" && !strings.HasPrefix(p, "leaves.") && !strings.HasPrefix(p, "labels.p") && p != "session.turn" && p != "session.mode" && p != "call.tool"
	})
	source := sample.NewSource(4)
	same, different := 0, 0
	for range 4000 {
		var reads []string
		for range 1 + source.IntN(2) {
			reads = append(reads, paths[source.IntN(len(paths))])
		}
		a, b := source.Request(), source.Request()
		if source.IntN(2) == 0 { // many fields, of requests that differ in little
			for range 2 + source.IntN(4) {
				reads = append(reads, common[source.IntN(len(common))])
			}
			c := *a
			switch source.IntN(6) {
			case 0:
				c.Leaves = slices.Clone(a.Leaves)
				c.Leaves[0].Label = source.Label()
			case 1:
				c.Leaves = b.Leaves
			case 2:
				c.Labels = b.Labels
			case 3:
				c.Session.Turn++
			case 4:
				c.Call.Tool, c.Tags = b.Call.Tool, b.Tags
			}
			b = &c
		}
		f := policies.NewFields(reads, nil)
		keys := string(f.AppendKey(nil, a)) == string(f.AppendKey(nil, b))
		docs := reflect.DeepEqual(f.Document(a), f.Document(b))
		switch {
		case keys && !docs:
			t.Fatalf("%v: one key for\n%v\n%v", reads, f.Document(a), f.Document(b))
		case !keys && docs:
			t.Fatalf("%v: two keys for %v", reads, f.Document(a))
		case docs:
			same++
		default:
			different++
		}
	}
	if same < 100 || different < 100 {
		t.Errorf("%d pairs were the same and %d different: not much of a test", same, different)
	}
}

func TestALabelWithEveryTagShowsThoseThatRulesLookFor(t *testing.T) {
	r := sample.Call("mail.read", value.Field{Name: "id", Of: value.StringOf("1", label.Top())})
	f := policies.NewFields([]string{"leaves.tags", "tags"}, policies.NewVocabulary([]string{"q3"}))
	doc := f.Document(r)
	want := []any{"*", "pii", "q3", "secret"}
	if got := at(doc, "leaves.tags").([]any)[0]; !reflect.DeepEqual(got, want) {
		t.Errorf("leaf: tags = %v, want %v", got, want)
	}
	if got := doc["tags"]; !reflect.DeepEqual(got, want) {
		t.Errorf("tags = %v, want %v", got, want)
	}
}

func TestPlainValue(t *testing.T) {
	zero := 0.0
	for _, test := range []struct {
		name string
		in   value.Value
		want any
	}{
		{"bytes are base64", value.Value{Kind: value.Bytes, Str: "a\xff"}, "Yf8="},
		{"not a number is a text, which is above every number in Rego", value.FloatOf(zero/zero, label.Bottom()), "NaN"},
		{"infinity is a text", value.FloatOf(-1/zero, label.Bottom()), "-Inf"},
		{"a big int stays exact", value.Value{Kind: value.Int, Int: new(big.Int).Lsh(big.NewInt(1), 70)}, new(big.Int).Lsh(big.NewInt(1), 70)},
		{"a key that is no string has its Starlark form", value.Value{Kind: value.Dict, Keys: []value.Value{value.IntOf(1, label.Bottom())}, Items: []value.Value{value.NoneOf(label.Bottom())}}, map[string]any{"1": nil}},
		{"a tuple is a list", value.Value{Kind: value.Tuple, Items: []value.Value{value.BoolOf(true, label.Bottom())}}, []any{true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := policies.PlainValue(test.in); !reflect.DeepEqual(got, test.want) {
				t.Errorf("PlainValue = %#v, want %#v", got, test.want)
			}
		})
	}
}
