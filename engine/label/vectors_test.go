package label

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// cases reads the cases of a file of vectors.
func cases[T any](t *testing.T, file string) []T {
	t.Helper()
	b, err := os.ReadFile("../../spec/vectors/label/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var in struct {
		About string
		Cases []T
	}
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil || len(in.Cases) == 0 {
		t.Fatalf("%s: %d cases, %v", file, len(in.Cases), err)
	}
	return in.Cases
}

func TestJoinVectors(t *testing.T) {
	for _, c := range cases[struct {
		Rule, Name string
		A, B, Join Label
	}](t, "join.json") {
		t.Run(c.Name, func(t *testing.T) {
			for _, got := range []Label{c.A.Join(c.B), c.B.Join(c.A), JoinAll(c.A, c.B, c.A)} {
				if !got.Equal(c.Join) {
					t.Errorf("[%s] got %v %+v, want %v %+v", c.Rule, got, got.origin(), c.Join, c.Join.origin())
				}
			}
			table := NewTable()
			if got := table.Label(table.Join(table.Intern(c.A), table.Intern(c.B))); !got.Equal(c.Join) {
				t.Errorf("[%s] interned: got %v %+v, want %v %+v", c.Rule, got, got.origin(), c.Join, c.Join.origin())
			}
		})
	}
}

func TestFlowVectors(t *testing.T) {
	for _, c := range cases[struct {
		Rule, Name, From, To string
		Flows                bool
	}](t, "flows.json") {
		t.Run(c.Name, func(t *testing.T) {
			from, err := Parse(c.From)
			if err != nil {
				t.Fatal(err)
			}
			to, err := Parse(c.To)
			if err != nil {
				t.Fatal(err)
			}
			table := NewTable()
			interned := table.Flows(table.Intern(from), table.Intern(to))
			if got := from.FlowsTo(to); got != c.Flows || interned != c.Flows {
				t.Errorf("[%s] FlowsTo = %v, interned %v; want %v", c.Rule, got, interned, c.Flows)
			}
		})
	}
}

func TestTextVectors(t *testing.T) {
	for _, c := range cases[struct {
		Rule, Name, Text, Read, Error string
		Label                         *struct {
			Trust         Trust
			Readers, Tags []string
		}
	}](t, "text.json") {
		t.Run(c.Name, func(t *testing.T) {
			if c.Label == nil {
				if l, err := Parse(c.Read); err == nil || !strings.Contains(err.Error(), c.Error) || !l.Equal(Top()) {
					t.Errorf("[%s] Parse(%q) = %v, %v; want Top and an error with %s", c.Rule, c.Read, l, err, c.Error)
				}
				return
			}
			want := New(c.Label.Trust, Only(c.Label.Readers...), c.Label.Tags)
			if got := want.String(); got != c.Text {
				t.Errorf("[%s] got text %s, want %s", c.Rule, got, c.Text)
			}
			for _, text := range []string{c.Text, c.Read} {
				if text == "" {
					continue
				}
				if l, err := Parse(text); err != nil || !l.SameClass(want) {
					t.Errorf("[%s] Parse(%q) = %v, %v; want %v", c.Rule, text, l, err, want)
				}
			}
		})
	}
}

// Every rule of the label in the specification has a vector, and every vector a rule.
func TestEveryRuleHasAVector(t *testing.T) {
	spec, err := os.ReadFile("../../spec/label.md")
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^- \[(label\.\d+)\]`).FindAllStringSubmatch(string(spec), -1) {
		rules[m[1]] = false
	}
	if len(rules) < 9 {
		t.Fatalf("the specification has the rules %v, want at least nine", rules)
	}
	files, err := filepath.Glob("../../spec/vectors/label/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`"rule": "([^"]*)"`).FindAllStringSubmatch(string(b), -1) {
			if _, ok := rules[m[1]]; !ok {
				t.Errorf("%s: %s is no rule", file, m[1])
			}
			rules[m[1]] = true
		}
	}
	for rule, met := range rules {
		if !met {
			t.Errorf("%s has no vector", rule)
		}
	}
}
