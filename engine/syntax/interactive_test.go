package syntax

import "testing"

func TestUnfinished(t *testing.T) {
	for _, test := range []struct {
		text string
		want bool
	}{
		{"", false},
		{"x = 1", false},
		{"x = (", true},
		{"x = [1,\n  2,", true},
		{"f(a, {1: 2", true},
		{"x = \"\"\"abc\n", true},
		{"x = 1 + \\", true},
		{"def f():", true},
		{"if x:\n    pass\nelse:", true},
		{"try:\n    x = 1", true},
		{"try:\n    x = 1\nexcept:\n    pass", false},
		{"for x in y:", true},
		{"@dataclass", true},
		{"class A:", false}, // it is refused, whatever follows
		{"x = \"abc", false},
		{"x = 1 +", false},
		{"x = )", false},
		{"x = (]", false},
		{"with f() as x:", false},
		{"x = \x00(", false},
	} {
		if got := Unfinished(test.text); got != test.want {
			t.Errorf("%q: got %v, want %v", test.text, got, test.want)
		}
	}
}

func TestLastExpr(t *testing.T) {
	for _, test := range []struct {
		text         string
		line, column int
		ok           bool
	}{
		{"", 0, 0, false},
		{"1 + 1", 1, 1, true},
		{"x = 1\n\nf(x)\n", 3, 1, true},
		{"x = 'ä'; f(x)", 1, 10, true},
		{"(1 +\n 2)", 1, 1, true},
		{"x = 1", 0, 0, false},
		{"f(", 0, 0, false},
		{"for x in y:\n    f(x)", 0, 0, false},
	} {
		line, column, ok := LastExpr(test.text)
		if line != test.line || column != test.column || ok != test.ok {
			t.Errorf("%q: got %d, %d, %v; want %d, %d, %v", test.text, line, column, ok, test.line, test.column, test.ok)
		}
	}
}
