package spec

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestExprPlaces writes a text in every way that YAML has. Each § of the text must be found
// where it stands in the file.
func TestExprPlaces(t *testing.T) {
	for _, test := range []struct {
		name  string
		yaml  string // of the value of "when", after "when:"
		text  string
		first string // "line:col" of the text's first character, where the value is in line 1 and begins in column 7
	}{
		{"plain", " a § b §", "a § b §", "1:7"},
		{"plain over several lines", " a §\n   b §\n\n\n   c §", "a § b §\n\nc §", "1:7"},
		{"plain with quotes in it", " a '' § \"\" §", "a '' § \"\" §", "1:7"},
		{"single quotes", " 'it''s § so'", "it's § so", "1:8"},
		{"single quotes of quotes alone", " '''''§'", "''§", "1:8"},
		{"single quotes over several lines", " 'a ''§\n\n    b §'", "a '§\nb §", "1:8"},
		{"double quotes", ` "a § \"b\" § \\ § \t§"`, "a § \"b\" § \\ § \t§", "1:8"},
		{"double quotes with escaped characters", ` "\x41§\u00e4§\U0001F600§"`, "A§ä§😀§", "1:8"},
		{"double quotes over several lines", " \"a § \n   b § \\\n   c §\"", "a § b § c §", "1:8"},
		{"double quotes with characters of several bytes", ` "ä😀 §é§"`, "ä😀 §é§", "1:8"},
		{"a block", " |\n   a §\n     b §\n\n   c §\n", "a §\n  b §\n\nc §\n", "2:4"},
		{"a block whose end is cut", " |-\n   a §\n   b §\n\n", "a §\nb §", "2:4"},
		{"a block whose end is kept", " |+\n   a §\n\n\n", "a §\n\n\n", "2:4"},
		{"a block that begins with blank lines", " |\n\n\n   a §\n   b §\n", "\n\na §\nb §\n", "2:1"},
		{"a block with its indentation said", " |2\n    a §\n   b §\n", "  a §\n b §\n", "2:3"},
		{"a block with a comment after |", " | # why\n   a §\n", "a §\n", "2:4"},
		{"a folded block", " >\n   a §\n   b §\n\n   c §\n", "a § b §\nc §\n", "2:4"},
		{"a folded block with lines indented more", " >\n   a §\n     b §\n     c §\n   d §\n", "a §\n  b §\n  c §\nd §\n", "2:4"},
		{"a folded block with blank lines around lines indented more", " >-\n   a §\n\n     b §\n\n   d §\n", "a §\n\n  b §\n\nd §", "2:4"},
		{"a block with tabs in it", " |\n   a\t§\n   \tb §\n", "a\t§\n\tb §\n", "2:4"},
		{"nothing", ` ""`, "", "1:8"},
	} {
		for _, ends := range []struct{ name, end string }{{"LF", "\n"}, {"CRLF", "\r\n"}} {
			t.Run(test.name+" "+ends.name, func(t *testing.T) {
				text := strings.ReplaceAll("when:"+test.yaml, "\n", ends.end)
				src := newSource("f.yaml", []byte(text))
				docs := parse(src, func(p Problem) { t.Fatal(p) })
				e := docs[0].get("when").expr("x")
				if e.Text != test.text {
					t.Fatalf("text = %q, want %q: the test is wrong", e.Text, test.text)
				}
				if e.written == nil {
					t.Fatalf("lost on the way through %q", text)
				}
				if got := e.Pos.String(); got != "f.yaml:"+test.first {
					t.Errorf("Pos = %s, want %s", got, test.first)
				}
				rest := text
				for i, r := range e.Text {
					if r != '§' {
						continue
					}
					rest = rest[strings.Index(rest, "§"):]
					want := src.at(len(text) - len(rest))
					if got := e.At(i); got != want {
						t.Errorf("At(%d) = %v, want %v", i, got, want)
					}
					before := e.Text[:i]
					line := strings.Count(before, "\n") + 1
					column := utf8.RuneCountInString(before[strings.LastIndex(before, "\n")+1:]) + 1
					if got := e.LineColumn(line, column); got != want {
						t.Errorf("LineColumn(%d, %d) = %v, want %v", line, column, got, want)
					}
					rest = rest[len("§"):]
				}
				if got := e.At(1 << 20); got != e.At(len(e.Text)) {
					t.Errorf("At past the end = %v, want the end, %v", got, e.At(len(e.Text)))
				}
			})
		}
	}
}

// TestExprOfNoFile is about an Expr that a program made.
func TestExprOfNoFile(t *testing.T) {
	e := Expr{Text: "a &&\nbé §", Pos: Position{"x", 3, 5}}
	for offset, want := range map[int]string{0: "x:3:5", 2: "x:3:7", 5: "x:4:5", 9: "x:4:8", 99: "x:4:9", -1: "x:3:5"} {
		if got := e.At(offset).String(); got != want {
			t.Errorf("At(%d) = %s, want %s", offset, got, want)
		}
	}
}
