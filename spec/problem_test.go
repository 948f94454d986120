package spec

import (
	"fmt"
	"slices"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"mode", "model", "program", "baseURL", "hide-untrusted", "use", "mcp", "mail.send", "mail.search", "k", "tools", "toolsets"}
	for word, want := range map[string]string{
		"modle": "model", "moed": "mode", "mode": "mode", "mod": "mode", "progam": "program",
		"base-url": "baseURL", "hide_untrusted": "hide-untrusted", "hideUntrustd": "hide-untrusted",
		"usee": "use", "mpc": "mcp", "mail.sned": "mail.send", "tool": "tools", "toolset": "toolsets",
		"zebra": "", "": "", "x": "", "programmatically": "", "xyz": "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestProblemText(t *testing.T) {
	for _, test := range []struct {
		name string
		p    Problem
		want string
	}{
		{"with everything", Problem{Pos: Position{"a.yaml", 3, 9}, Text: "got x, want y", Hint: "write y"}, "a.yaml:3:9: got x, want y\nhint: write y"},
		{"without a column", Problem{Pos: Position{"a.yaml", 3, 0}, Text: "t"}, "a.yaml:3: t"},
		{"of a file", Problem{Pos: Position{File: "a.yaml"}, Text: "no such file"}, "a.yaml: no such file"},
		{"of no file", Problem{Text: "t"}, "t"},
		{"a warning", Problem{Pos: Position{"a.yaml", 1, 1}, Text: "t", Warn: true}, "a.yaml:1:1: warning: t"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.p.Error(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestSortProblems(t *testing.T) {
	at := func(file string, line, column int, text string) Problem {
		return Problem{Pos: Position{file, line, column}, Text: text}
	}
	got := SortProblems([]Problem{at("b", 1, 1, "x"), at("a", 10, 1, "x"), at("a", 9, 2, "y"), at("a", 9, 2, "x"), at("a", 9, 2, "y"), at("a", 9, 1, "z")})
	if want := "[a:9:1: z a:9:2: x a:9:2: y a:10:1: x b:1:1: x]"; fmt.Sprint(got) != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
	warning := Problem{Text: "w", Warn: true}
	if Fatal(nil) || Fatal([]Problem{warning}) || !Fatal([]Problem{warning, got[0]}) {
		t.Error("Fatal is to be true if one is no warning")
	}
}

func TestSortProblemsDropsRepetitions(t *testing.T) {
	at, elsewhere := Position{File: "a.yaml", Line: 1}, Position{File: "a.yaml", Line: 2}
	got := SortProblems([]Problem{
		{Pos: elsewhere, Text: "x"}, {Pos: at, Text: "x"}, {Pos: at, Text: "x", Hint: "y"}, {Pos: at, Text: "x", Warn: true}, {Pos: at, Text: "x"},
	})
	want := []Problem{{Pos: at, Text: "x", Hint: "y"}, {Pos: at, Text: "x", Warn: true}, {Pos: elsewhere, Text: "x"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
