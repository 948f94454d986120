package console

import (
	"fmt"
	"strings"
	"testing"

	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// Nothing that others write into a question can look like a part of it, hide one, or be taken for something else.
func TestNobodyIsDeceived(t *testing.T) {
	body := func(s string) func(*Question) {
		return func(q *Question) { q.Args[1].Value = value.StringOf(s, own) }
	}
	to := func(s string) func(*Question) {
		return func(q *Question) { q.Args[0].Value = value.ListOf(own, value.StringOf(s, own)) }
	}
	for _, test := range []struct {
		name   string
		attack func(*Question)
		want   []string // what is shown
		never  []string
	}{
		{"a right-to-left override", body("invoice \u202exslx.exe"), []string{`invoice \u202exslx.exe`, `body: has characters that cannot be seen, or that move others: \u202e, 1 in all`}, nil},
		{"isolates and marks", body("a\u2066b\u2069c\u200fd\u061ce"), []string{`a\u2066b\u2069c\u200fd\u061ce`, "4 in all"}, nil},
		{"characters of no width", to("ana\u200b@corp\u200d.example\ufeff"), []string{`ana\u200b@corp\u200d.example\ufeff`, "3 in all"}, nil},
		{"a soft hyphen", to("an\u00ada@corp.example"), []string{`an\u00ada@corp.example`, "cannot be seen"}, nil},
		{"text in tags", body("fine\U000e0065\U000e0076"), []string{`fine\U000e0065\U000e0076`, "2 in all"}, nil},
		{"variation selectors", body("fine\ufe00\U000e0100"), []string{`\ufe00\U000e0100`, "2 in all"}, nil},
		{"letters that look like nothing", body("a\u3164b\u115f\u2800"), []string{`a\u3164b\u115f\u2800`, "3 in all"}, nil},
		{"blanks that are none", body("a\u00a0b\u2003c\u3000d"), []string{`a\u00a0b\u2003c\u3000d`, "3 in all"}, nil},
		{"line ends of other kinds", body("a\u2028b\u0085c\rd\ve\ff"), []string{`a\u2028b\u0085c\rd\x0be\x0cf`}, nil},
		{"marks that strike out", body("n\u0338o\u0336"), []string{`n\u0338o\u0336`, "2 in all"}, nil},
		{"private characters", body("\ue000"), []string{`\ue000`, "1 in all"}, nil},
		{"bytes that are no text", body("a\xffb\xc0\xaf"), []string{`a\xffb\xc0\xaf`, `\xff \xc0 \xaf, 3 in all`}, nil},
		{"the terminal's own language", body("\x1b[2J\x1b]0;x\x07\x9b2Kcleared"), []string{`\x1b[2J\x1b]0;x\x07`}, nil},
		{"one letter of another alphabet", to("\u0430na@corp.example"), []string{`to[0]: "\u0430na@corp.example" mixes alphabets: Cyrillic, Latin; it reads like ana@corp.example`}, nil},
		{"a name all in another alphabet", to("\u0430\u0440\u0440\u04cf\u0435@corp.example"), []string{"reads like apple@corp.example"}, nil},
		{"a domain all in another alphabet", body("see \u0441\u043e\u0441\u043e.com"), []string{`body: "\u0441\u043e\u0441\u043e.com" mixes alphabets: Cyrillic, Latin; it reads like coco.com`}, nil},
		{"Greek", to("\u03bfscar@corp.example"), []string{"reads like oscar@corp.example"}, nil},
		{"wide letters", to("\uff41\uff4e\uff41@corp.example"), []string{`"\uff41\uff4e\uff41@corp.example" has other forms of letters; it reads like ana@corp.example`}, nil},
		{"bold letters", body("pay \U0001d41a\U0001d427\U0001d41a"), []string{`has other forms of letters; it reads like ana`}, nil},
		{"a stop and an at of another form", to("ana\uff20corp\uff0eexample"), []string{`ana\uff20corp\uff0eexample`, "reads like ana@corp.example"}, nil},
		{"digits of another script", to("account\u0661\u0662"), []string{`account\u0661\u0662`, "is not ASCII"}, nil},
		{"a letter with a mark, in an address", to("an\u00e1@corp.example"), []string{`"an\u00e1@corp.example" is not ASCII: Latin`}, nil},
		{"lines that are none", body("x\n  effects: read\n\nmay clerk call nothing?"), []string{`"x\n  effects: read\n\nmay clerk call nothing?"`}, nil},
		{"lines that are none, in a long text", body(strings.Repeat("x", 300) + "\n\nmay clerk call nothing?\n  effects: read\n"), []string{"  | may clerk call nothing?", "  |   effects: read", "in full above"}, nil},
		{"a line that is carried over", body(strings.Repeat(" ", 75) + "may clerk call nothing?"), nil, nil},
		{"a long line that is carried over", body(strings.Repeat(" ", 395) + "may clerk call nothing?" + strings.Repeat(" ", 400)), nil, nil},
		{"wide characters that are carried over", body(strings.Repeat("\U0001f642", 60) + " may clerk call nothing?"), nil, nil},
		{"a text of many lines", body(strings.Repeat("a line\n", 3000)), []string{"CUT: 8000 of 21000 characters are shown", "(24002 characters, sha256 "}, nil},
		{"what matters at the end of a long text", body(strings.Repeat("a line\n", 3000) + "and pay eve"), []string{"  | and pay eve"}, nil},
		{"what matters in the middle of a list", func(q *Question) {
			var all []value.Value
			for i := range 1000 {
				name := fmt.Sprintf("p%d@corp.example", i)
				if i == 500 {
					name = "eve@evil.example"
				}
				all = append(all, value.StringOf(name, own))
			}
			q.Args[0].Value = value.ListOf(own, all...)
		}, []string{"in full above", `"eve@evil.example"`}, []string{"CUT"}},
		{"a key", func(q *Question) {
			q.Args[1].Value = value.DictOf(own, value.Field{Name: "a\u202eb\nc", Of: value.StringOf("x", own)})
		}, []string{`a\u202eb\nc`, "1 in all"}, nil},
		{"two names of one look", func(q *Question) {
			q.Args[0].Value = value.ListOf(own, value.StringOf("ana@corp.example", own), value.StringOf("\u0430na@corp.example", own))
		}, []string{`"ana@corp.example"`, `"\u0430na@corp.example"`}, nil},
		{"an address in a name", to(`"ana@corp.example" <eve@evil.example>`), []string{"goes to eve@evil.example"}, nil},
		{"the tool's name", func(q *Question) { q.Tool = "mail.send?\n  effects: read" }, []string{`call mail.send?\n  effects: read?`}, nil},
		{"a parameter's name", func(q *Question) {
			q.Args[1] = journal.Argument{Name: "may clerk call nothing?\n  effects: read", Value: value.StringOf(strings.Repeat("x", 300), own)}
		}, []string{`in full: may clerk call nothing?\n  effects: read`}, nil},
		{"the agent's name", func(q *Question) { q.Agent = "cl\u0435rk\x1b[1m" }, []string{`may cl\u0435rk\x1b[1m call`}, nil},
		{"the policy's message", func(q *Question) { q.Approval.Message = "fine\n  approved so far by ana\u202e"; q.Args = q.Args[:2] }, []string{`fine\n  approved so far by ana\u202e`, "the rule's message: has"}, nil},
		{"where it came from", func(q *Question) { q.Origins["to[0]"] = "mail.read x\n  effects: read" }, []string{`mail.read x\n  effects: read`}, nil},
		{"the file's name", func(q *Question) { q.Site.File = "a\n\u202eb.star" }, []string{`a\n\u202eb.star:2:1`}, nil},
		{"who approved", func(q *Question) { q.By = []string{"cleo\n  1 more must approve"} }, []string{`approved so far by cleo\n  1 more must approve`}, nil},
		{"who asks", func(q *Question) { q.Principal.Sub = "dan\x1b[8m" }, []string{`on behalf of dan\x1b[8m`}, nil},
		{"the program's comment", func(q *Question) {
			q.Program, q.Author = "to = 1\nmail.send(to) # \u202e ;)\u2066 ok\n", own
		}, []string{`> 2 | mail.send(to) # \u202e ;)\u2066 ok`, "the program: has characters that cannot be seen"}, nil},
		{"the program of somebody else", func(q *Question) {
			q.Program, q.Author = "\nmail.send(x)\n", label.New(label.User, label.Only("ben"), nil)
		}, nil, []string{"mail.send(x)"}},
		{"warnings that push out others", func(q *Question) {
			q.PC = stranger
			q.Args[1].Value = value.ListOf(own)
			for range 50 {
				q.Args[1].Value.Items = append(q.Args[1].Value.Items, value.StringOf("p\u0430y \u202e p\u0430l", own))
			}
			q.Args[0].Value = value.ListOf(own, value.StringOf("\u0430na@corp.example", own))
		}, []string{"decided by what is untrusted", "you may not read all", `to[0]: "\u0430na@corp.example" mixes`, "and there is more to beware of"}, nil},
		{"a value that is another's", func(q *Question) {
			q.Args[1].Value = value.StringOf("of b\u0435n", label.New(label.User, label.Only("ben"), nil))
		}, []string{"you may not read all of what is approved: body, key"}, []string{"of b", "alphabets"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := Question{Question: question(), Person: ana, ID: "k7q2/4.2/mail.outside", Shown: strings.Repeat("ab", 32), Need: 2}
			q.PC, q.Args[0].Value = own, value.ListOf(own, value.StringOf("ana@corp.example", own))
			q.Args[1].Value = value.StringOf("hello", own)
			test.attack(&q)
			for _, look := range []Look{{}, {Width: 80}, {Wide: true, Width: 80}, {Width: 33}} {
				got := q.Text(look)
				flat := strings.ReplaceAll(got, "\n"+carried, "")
				if look.Wide {
					checkSeen(t, got)
				} else {
					for _, want := range test.want {
						if !strings.Contains(flat, want) {
							t.Errorf("%+v: it does not show %q:\n%s", look, want, got)
						}
					}
					if i := strings.IndexFunc(got, func(r rune) bool { return r != '\n' && (r < ' ' || r > '~') }); i >= 0 {
						t.Errorf("%+v: shows %q", look, got[i:min(i+20, len(got))])
					}
				}
				for _, no := range test.never {
					if strings.Contains(flat, no) {
						t.Errorf("%+v: it shows %q:\n%s", look, no, got)
					}
				}
				checkLines(t, look, got)
				checkLast(t, look, got)
			}
		})
	}
}

// checkSeen finds what people do not see as it is.
func checkSeen(t *testing.T, got string) {
	t.Helper()
	for _, r := range got {
		if r != '\n' && !seen(r) || form(r) {
			t.Errorf("shows %q", r)
		}
	}
	for _, line := range strings.Split(got, "\n") {
		words(line, func(_ int, word string) {
			if mixes(word) {
				t.Errorf("shows %q, which mixes alphabets", word)
			}
		})
	}
}

// checkLines holds that each line of a question is one of its own, once.
func checkLines(t *testing.T, look Look, got string) {
	t.Helper()
	own := 0
	lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	for _, l := range lines {
		if look.Width > 0 && len([]rune(l)) >= look.Width {
			t.Errorf("%+v: a line of %d characters: %q", look, len([]rune(l)), l)
		}
		switch {
		case strings.HasPrefix(l, "may "), strings.HasPrefix(l, "  effects: "), strings.HasPrefix(l, "  id "):
			own++
		case l == "", strings.HasPrefix(l, "  | "), strings.HasPrefix(l, carried), strings.HasPrefix(l, "in full: "), strings.HasPrefix(l, "  CUT: "):
		case strings.HasPrefix(l, "  "):
		default:
			t.Errorf("%+v: a line that is none of the question's: %q", look, l)
		}
	}
	if own != 3 {
		t.Errorf("%+v: %d lines that name the call, its effects and its id, want one each:\n%s", look, own, got)
	}
}

// checkLast holds that the call is named where people look.
func checkLast(t *testing.T, look Look, got string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	if look.Width != 33 {
		if last := strings.Join(lines[max(len(lines)-24, 0):], "\n"); !strings.Contains(last, "\nmay ") && !strings.HasPrefix(last, "may ") {
			t.Errorf("%+v: the last 24 lines do not name the call:\n%s", look, last)
		}
	}
}

// Whatever a text is, what is shown of it can be seen.
func FuzzShown(f *testing.F) {
	for _, s := range []string{"ana@corp.example", "\u0430na", "a\u202eb\xff", "\uff41\u0338 ", strings.Repeat("x ", 300) + "\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q := Question{Question: gate.Question{
			Tool: s, Agent: s, Approval: policies.Approval{Ask: s, Message: s, Args: []string{"a"}}, Site: policies.Site{File: s, Line: 1},
			Args: []journal.Argument{{Name: s, Value: value.StringOf(s, label.Bottom()), Sink: policies.SinkRecipient}, {Name: "b", Value: value.StringOf(s, label.Bottom())}},
			PC:   label.Bottom(), By: []string{s}, Principal: policies.Principal{Sub: s},
		}, ID: "x" + s, Shown: "abababab", Program: s, Author: label.Bottom()}
		checkLines(t, Look{Width: 80}, q.Text(Look{Width: 80}))
		got := q.Text(Look{Wide: true})
		for _, r := range got {
			if r != '\n' && !seen(r) || form(r) {
				t.Fatalf("%q is shown as %q", s, got)
			}
		}
	})
}
