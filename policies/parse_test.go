package policies_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"callgate/policies"
	"callgate/policies/internal/sample"
)

func TestParseRequestIsTheInverseOfDocument(t *testing.T) {
	source := sample.NewSource(91)
	for range 500 {
		r := source.Request()
		r.Principal.Claims = map[string]any{"level": int64(3), "teams": []any{"a", 1.5, nil, map[string]any{"n": int64(1)}}}
		want := r.Document()
		b, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := policies.ParseRequest(b)
		if err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		// Numbers that JSON writes alike are alike.
		if b, wrote := again(t, want), again(t, got.Document()); b != wrote {
			t.Fatalf("got  %s\nwant %s", wrote, b)
		}
		if !reflect.DeepEqual(policies.Flow(r), policies.Flow(got)) {
			t.Fatalf("the flow rule says %v, want %v\n%s", policies.Flow(got), policies.Flow(r), b)
		}
	}
}

func again(t *testing.T, doc map[string]any) string {
	t.Helper()
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestParseRequestRefuses(t *testing.T) {
	for _, test := range []struct {
		name string
		edit func(doc map[string]any)
		want string
	}{
		{"another version", func(d map[string]any) { d["version"] = "callgate/v9" }, `version: got "callgate/v9", want "callgate/v1"`},
		{"an unknown key", func(d map[string]any) { d["extra"] = 1 }, `unknown field "extra"`},
		{"no time", func(d map[string]any) { d["time"] = "soon" }, `time: got "soon"`},
		{"a rank that is not its trust's", func(d map[string]any) { part(d, "labels", "pc")["rank"] = 0 }, "labels.pc.rank: got 0, want 2: the trust is user"},
		{"an unknown trust", func(d map[string]any) { part(d, "labels", "program")["trust"] = "high" }, "labels.program: trust: got \"high\""},
		{"an argument without a label", func(d map[string]any) { part(d, "call", "args")["other"] = 1 }, "call.args.other: has no label in labels.args"},
		{"arguments that are none", func(d map[string]any) { d["call"].(map[string]any)["args"] = []any{} }, "call.args: got [], want an object"},
		{"a leaf of no parameter", func(d map[string]any) { leafOf(d, 0)["param"] = "other" }, `leaves[0].param: got "other"`},
		{"a leaf that is no scalar", func(d map[string]any) { leafOf(d, 0)["value"] = []any{} }, "leaves[0].value: got [], want a scalar"},
		{"no control flow", func(d map[string]any) { d["leaves"] = d["leaves"].([]any)[:1] }, "leaves: got 0 leaves with the sink control"},
		{"another control flow", func(d map[string]any) { leafOf(d, -1)["trust"], leafOf(d, -1)["rank"] = "system", 3 }, "want the same: it is the control flow's leaf"},
	} {
		t.Run(test.name, func(t *testing.T) {
			source := sample.NewSource(5)
			r := source.Request()
			for r.Call.Tool != "bank.transfer" || len(r.Leaves) < 2 || r.Labels.PC.Trust().String() != "user" || r.Labels.Program.Trust().String() != "user" {
				r = source.Request()
			}
			var doc map[string]any
			if err := json.Unmarshal([]byte(again(t, r.Document())), &doc); err != nil {
				t.Fatal(err)
			}
			test.edit(doc)
			_, err := policies.ParseRequest([]byte(again(t, doc)))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	for _, text := range []string{"", "{", "[]", "null", "{} {}", `{"version": "callgate/v1"}`} {
		if r, err := policies.ParseRequest([]byte(text)); err == nil {
			t.Errorf("%q: got %+v, want an error", text, r)
		}
	}
}

func part(doc map[string]any, path ...string) map[string]any {
	for _, step := range path {
		doc = doc[step].(map[string]any)
	}
	return doc
}

func leafOf(doc map[string]any, i int) map[string]any {
	list := doc["leaves"].([]any)
	return list[(i+len(list))%len(list)].(map[string]any)
}
