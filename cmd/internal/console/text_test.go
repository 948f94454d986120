package console

import (
	"strings"
	"testing"
	"testing/quick"
	"unicode"

	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

func TestClean(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"lines and tabs", "a\tb\nc\n", "a\tb\nc\n"},
		{"letters of any script", "Gr\u00fc\u00dfe, \u03b1\u03b2\u03b3, \u65e5\u672c, \u0928\u092e\u0938\u094d\u0924\u0947", "Gr\u00fc\u00dfe, \u03b1\u03b2\u03b3, \u65e5\u672c, \u0928\u092e\u0938\u094d\u0924\u0947"},
		{"a terminal's sequences", "\x1b[31mred\x1b[0m \x9b \r\b\x7f", `\x1b[31mred\x1b[0m \x9b \r\x08\x7f`},
		{"directions", "a\u202eb\u2066c\u200f", `a\u202eb\u2066c\u200f`},
		{"no width", "a\u200bb\ufeffc\u00ad", `a\u200bb\ufeffc\u00ad`},
		{"a stroke over a letter", "no\u0338", `no\u0338`},
		{"letters that look like nothing", "a\u3164b\u2800", `a\u3164b\u2800`},
		{"blanks of other kinds", "a\u00a0b\u3000\u2028", `a\u00a0b\u3000\u2028`},
		{"no UTF-8", "a\xffb\xc3", `a\xffb\xc3`},
		{"private characters and planes", "\ue000\U000e0041", `\ue000\U000e0041`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Clean(test.in); got != test.want {
				t.Errorf("Clean(%q) = %q, want %q", test.in, got, test.want)
			}
		})
	}
}

// Whatever a text is, what is shown of it has nothing that cannot be seen, and without Wide nothing but ASCII.
func TestCleanAlways(t *testing.T) {
	odd := func(r rune) bool { return r != '\n' && r != '\t' && (!unicode.IsPrint(r) || unicode.Is(unicode.Cf, r)) }
	check := func(b []byte) bool {
		s := string(b)
		ascii := Look{}.quote(s, 0)
		return !strings.ContainsFunc(Clean(s), odd) && !strings.ContainsFunc(Look{Wide: true}.quote(s, 10), odd) &&
			!strings.ContainsFunc(ascii, func(r rune) bool { return r < ' ' || r > '~' })
	}
	if err := quick.Check(check, &quick.Config{MaxCount: 2000}); err != nil {
		t.Error(err)
	}
}

func TestLiteral(t *testing.T) {
	own := label.New(label.Internal, label.Only("ana"), nil)
	of := func(s string) value.Value { return value.StringOf(s, own) }
	bens := value.StringOf("secret", label.New(label.User, label.Only("ben"), nil))
	closed := value.ListOf(own, of("a"))
	closed.Structure = bens.Label
	wide := Look{Wide: true}
	for _, test := range []struct {
		name string
		look Look
		v    value.Value
		most int
		want string
	}{
		{"a word", Look{}, of("pay"), 40, `"pay"`},
		{"quotes", Look{}, of(`a"b\`), 40, `"a\"b\\"`},
		{"letters beyond ASCII", Look{}, of("M\u00fcller"), 40, `"M\u00fcller"`},
		{"letters beyond ASCII, where they may be", wide, of("M\u00fcller"), 40, "\"M\u00fcller\""},
		{"a word of two scripts", wide, of("p\u0430ypal \u043c\u0438\u0440"), 40, "\"p\\u0430ypal \u043c\u0438\u0440\""},
		{"one that is cut", Look{}, of(strings.Repeat("x", 50)), 30, `"` + strings.Repeat("x", 19) + `..." (50 chars)`},
		{"one that is as long as may be", Look{}, of(strings.Repeat("x", 30)), 30, `"` + strings.Repeat("x", 30) + `"`},
		{"of somebody else", Look{}, bens, 40, "(hidden: for ben)"},
		{"a list with one of somebody else", Look{}, value.ListOf(own, of("a"), bens), 40, `["a", (hidden: for ben)]`},
		{"a list whose length is somebody else's", Look{}, closed, 40, "(hidden: for nobody)"},
		{"a dict", Look{}, value.DictOf(own, value.Field{Name: "a", Of: value.IntOf(1, own)}, value.Field{Name: "b", Of: value.NoneOf(own)}), 40, `{"a": 1, "b": None}`},
		{"a tuple of one", Look{}, value.Value{Kind: value.Tuple, Label: own, Structure: own, Items: []value.Value{of("a")}}, 40, `("a",)`},
		{"a struct", Look{}, value.Value{Kind: value.Record, Label: own, Structure: own, Keys: []value.Value{of("n")}, Items: []value.Value{value.FloatOf(1, own)}}, 40, `struct(n = 1.0)`},
		{"a set", Look{}, value.Value{Kind: value.Set, Label: own, Structure: own, Items: []value.Value{value.BoolOf(true, own)}}, 40, `set([True])`},
		{"bytes", Look{}, value.Value{Kind: value.Bytes, Label: own, Str: "\x00\xff"}, 40, `b"\x00\xff"`},
		{"a long list", Look{}, value.ListOf(own, of("1"), of("2"), of("3"), of("4"), of("5"), of("6"), of("7"), of("8")), 40, `["1", "2", "3", "4", "5", "6", ... 2 more]`},
		{"the zero value", Look{}, value.Value{}, 40, "(hidden: for nobody)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := view{Look: test.look, principal: "ana", mayRead: policies.Principal{Sub: "ana"}.MayRead}
			if got := w.literal(test.v, test.most); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestLabel(t *testing.T) {
	for _, test := range []struct {
		name string
		l    label.Label
		want string
	}{
		{"public", label.New(label.User, label.Public(), nil), "user/public"},
		{"the principal's", label.New(label.Internal, label.Only("ana"), nil), "internal/private"},
		{"nobody's", label.New(label.Untrusted, label.Only(), nil), "untrusted/nobody"},
		{"somebody else's", label.New(label.User, label.Only("ben"), []string{"pii"}), "user/{ben}#pii"},
		{"of many", label.New(label.User, label.Only("ana", "ben", "cleo", "dan"), []string{"a", "b", "c", "d"}), "user/{ana,ben,+2}#a#b#+2"},
		{"the zero label", label.Label{}, "untrusted/nobody#*"},
		{"names that mislead", label.New(label.User, label.Only("ana\u202e"), []string{"x\n"}), `user/{ana\u202e}#x\n`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := (view{principal: "ana"}).label(test.l); got != test.want {
				t.Errorf("label(%v) = %s, want %s", test.l, got, test.want)
			}
		})
	}
	if got := (view{}).label(label.New(label.User, label.Only(""), nil)); got != "user/{}" {
		t.Errorf("without a principal a reader without a name is %s, want user/{}", got)
	}
}

func TestWidth(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "\x1b[1;31mab\x1b[0m": 2, "\u00fc": 1, "\u65e5\u672c": 4} {
		if got := widthOf(s); got != want {
			t.Errorf("widthOf(%q) = %d, want %d", s, got, want)
		}
	}
}
