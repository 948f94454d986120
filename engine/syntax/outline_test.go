package syntax

import (
	"fmt"
	"strings"
	"testing"
)

func TestOutlineOf(t *testing.T) {
	text := "def f(x):\n    print(x, x.body, x[\"DE98\"], sep = y)\nprint(\"DE98\", 98, [98], f(98), mail.read(\"98\")[\"b\"][1:9], a + b, not a)\n" +
		"show(*xs)\nshow({1: 2}, (a), 1 < a < 2, f\"{a}\")\nother(secret)\np = print\np(a)\nprint(" + strings.Repeat("a.", 40) + "a)\nprint()\n"
	o := OutlineOf(text, "print", "show")
	for _, test := range []struct {
		line, column int
		want         string
	}{
		{2, 10, "x x.body x[...]"},
		{3, 6, `"..." ... [...] f(...) mail.read(...)[...][...] ... ...`},
		{4, 5, ""},
		{5, 5, "{...} a ... ..."},
		{6, 6, ""},
		{8, 2, ""},
		{9, 6, "....a.a.a.a.a"},
		{10, 6, ""},
	} {
		var got []string
		for i := range 9 {
			if s := o.Argument(test.line, test.column, i); s != "" {
				got = append(got, s)
			}
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("%d:%d: got %q, want %q", test.line, test.column, got, test.want)
		}
	}
	if got := fmt.Sprint(o); strings.Contains(got, "98") {
		t.Errorf("%s: want nothing of what is written", got)
	}
	if got := o.Len(); got != 12 {
		t.Errorf("%d answers, want 12", got)
	}
	if o := OutlineOf("print(", "print"); o.Len() != 1 || o.Argument(1, 6, 0) != "" {
		t.Errorf("got %v of a text that does not parse", o)
	}
}
