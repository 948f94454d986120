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
	docs := load(t, "testdata/situations.yaml")
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
