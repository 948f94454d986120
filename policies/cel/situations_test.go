package cel

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"callgate/policies"
	"callgate/spec"
)

// TestSituations runs the ten situations with the tools known, so that arguments have the types
// of their schemas, and without.
func TestSituations(t *testing.T) {
	text, err := os.ReadFile("testdata/situations.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []request
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	docs := situations(t)
	for _, tools := range [][]policies.ToolSchema{testTools, nil} {
		name := "typed"
		if tools == nil {
			name = "dyn"
		}
		for _, c := range cases {
			t.Run(name+"/"+c.Policy+"/"+c.Name, func(t *testing.T) {
				i := slices.IndexFunc(docs, func(p spec.Policy) bool { return p.Meta.Name == c.Policy })
				e := engine(t, docs[i:i+1], tools)
				if got := summary(t, decide(t, e, c.request(t))); !slices.Equal(got, c.Want) {
					t.Errorf("got %v, want %v", got, c.Want)
				}
			})
		}
	}
}

// situations are the ten situations with their parameters.
func situations(t testing.TB) []spec.Policy {
	t.Helper()
	data, err := os.ReadFile("../library/testdata/situations/data.json")
	if err != nil {
		t.Fatal(err)
	}
	var host struct{ Params map[string]any }
	if err := json.Unmarshal(data, &host); err != nil {
		t.Fatal(err)
	}
	docs := load(t, "testdata/situations.yaml")
	for i := range docs {
		docs[i].Params = host.Params
	}
	return docs
}
