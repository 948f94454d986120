package gate

import "testing"

func TestTyped(t *testing.T) {
	for _, test := range []struct {
		name, text, in string
		want           bool
	}{
		{"a word between spaces", "bob", "mail bob today", true},
		{"the whole text", "bob", "bob", true},
		{"at the end, before a full stop", "bob@corp.example", "Send it to bob@corp.example.", true},
		{"in quotes", "report.pdf", `open "report.pdf"`, true},
		{"a sentence of several words", "in two parts", "pay in two parts, please", true},
		{"the second occurrence counts", "12", "A12 and 12", true},
		{"part of a longer word", "bob", "bobby", false},
		{"the end of a longer word", "bob", "kabob", false},
		{"a prefix of an address", "bob@corp.example", "bob@corp.example.evil.example", false},
		{"the name in an address", "bob", "bob@corp.example", false},
		{"the host in a URL", "evil.example", "see https://evil.example", false},
		{"a number in a longer number", "50", "1,500.50", false},
		{"an integer before a fraction", "3", "pay 3.50", false},
		{"an integer before a full stop", "3", "pay 3.", true},
		{"a path in a longer path", "data", "../data/x", false},
		{"letters with accents are letters", "caf", "café", false},
		{"another case is another text", "Bob", "bob", false},
		{"nothing is never typed", "", "bob", false},
		{"punctuation alone is never typed", "--", "a -- b", false},
		{"a text ending in a connector", "bob.", "bob. x", true},
		{"bytes that are no UTF-8 join the word", "bob", "bob\xff", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := typed([]string{"", test.in}, test.text); got != test.want {
				t.Errorf("typed(%q, %q) = %t, want %t", test.in, test.text, got, test.want)
			}
		})
	}
}
