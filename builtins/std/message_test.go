package std

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"
)

func crlf(s string) []byte { return []byte(strings.ReplaceAll(s, "\n", "\r\n")) }

func TestParseMessage(t *testing.T) {
	for _, test := range []struct {
		name string
		in   string
		want message
	}{
		{"plain text", "From: Bob <Bob@Corp.example>\nTo: a@b.example, C <c@d.example>\nCc: e@f.example\nSubject: hi\n  there\nDate: Mon, 23 Nov 2026 09:12:44 +0100\n\nhello\nworld\n",
			message{from: "bob@corp.example", fromName: "Bob", to: []string{"a@b.example", "c@d.example"}, cc: []string{"e@f.example"}, subject: "hi there", date: "2026-11-23T08:12:44Z", body: "hello\nworld\n"}},
		{"encoded words", "From: =?iso-8859-1?q?J=FCrgen?= <j@b.example>\nSubject: =?utf-8?b?4oKsIDU=?= =?windows-1252?q?_=80?=\n\n",
			message{from: "j@b.example", fromName: "Jürgen", subject: "€ 5 €"}},
		{"a charset", "From: a@b.example\nContent-Type: text/plain; charset=ISO-8859-1\n\ncaf\xe9",
			message{from: "a@b.example", body: "café"}},
		{"a charset of one's own", "From: a@b.example\nContent-Type: text/plain; charset=x-nobody\n\ncaf\xe9",
			message{from: "a@b.example", body: "caf\ufffd"}},
		{"no charset and no UTF-8", "From: a@b.example\n\n\x80 5",
			message{from: "a@b.example", body: "€ 5"}},
		{"UTF-16", "From: a@b.example\nContent-Type: text/plain; charset=utf-16le\nContent-Transfer-Encoding: base64\n\nSABpAA==",
			message{from: "a@b.example", body: "Hi"}},
		{"quoted-printable", "From: a@b.example\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: Quoted-Printable\n\nna=C3=AFve =\nend",
			message{from: "a@b.example", body: "naïve end"}},
		{"base64 with lines and rubbish", "From: a@b.example\nContent-Transfer-Encoding: base64\n\naGVs\n bG8g*d29y\nbGQ=\n",
			message{from: "a@b.example", body: "hello world"}},
		{"base64 that breaks off", "From: a@b.example\nContent-Transfer-Encoding: base64\n\naGVsbG8gd29ybGQ",
			message{from: "a@b.example", body: "hello wor", truncated: true}},
		{"control characters are dropped", "From: a@b.example\nSubject: a\x1b[2Jb\n\nx\x1b[2J\x00y\tz",
			message{from: "a@b.example", subject: "a [2Jb", body: "x[2Jy\tz"}},
		{"HTML", "From: a@b.example\nContent-Type: text/html\n\n<html><head><title>T</title><style>p{}</style></head><body><p>One&nbsp;&amp; <b>two</b></p><!-- c --><ul><li>x<li>y</ul><table><tr><td>Total:</td><td>5</td></tr></table><script>evil()</script></body>",
			message{from: "a@b.example", body: "One & two\n- x\n- y\nTotal:\t5"}},
		{"the plain alternative", alternative("text/plain", "plain", "text/html", "<b>html</b>"),
			message{from: "a@b.example", body: "plain"}},
		{"the plain alternative, whatever the order", alternative("text/html", "<b>html</b>", "text/plain", "plain"),
			message{from: "a@b.example", body: "plain"}},
		{"HTML if the plain alternative is empty", alternative("text/plain", " ", "text/html", "<b>html</b>"),
			message{from: "a@b.example", body: "html"}},
		{"parts and attachments", "From: a@b.example\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\none\n--x\nContent-Type: text/csv; name=\"../../etc/a.csv\"\nContent-Disposition: attachment\n\na,b\n--x\nContent-Type: application/pdf\nContent-Disposition: attachment; filename*=utf-8''r%C3%A9sum%C3%A9.pdf\nContent-Transfer-Encoding: base64\n\nAAAA\n--x\n\ntwo\n--x--\n",
			message{from: "a@b.example", body: "one\n\ntwo", attachments: []attachment{{"a.csv", "text/csv", 3, "a,b"}, {"résumé.pdf", "application/pdf", 3, ""}}}},
		{"a name with a line break", "From: a@b.example\nContent-Type: text/plain; name=\"=?utf-8?q?a=0D=0Ab=2Ftxt?=\"\n\nx",
			message{from: "a@b.example", attachments: []attachment{{"txt", "text/plain", 1, "x"}}}},
		{"an end that is missing", "From: a@b.example\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\none",
			message{from: "a@b.example", body: "one", truncated: true}},
		{"a boundary that is missing", "From: a@b.example\nContent-Type: multipart/mixed\n\n--x\n\none",
			message{from: "a@b.example", body: "--x\n\none"}},
		{"a content type that cannot be read", "From: a@b.example\nContent-Type: ;;;\n\nx",
			message{from: "a@b.example", body: "x"}},
		{"a sender that is two", "From: a@b.example, c@d.example\n\nx",
			message{fromName: "a@b.example, c@d.example", body: "x"}},
		{"a sender that is no address", "From: the boss\n\nx",
			message{fromName: "the boss", body: "x"}},
		{"an address for a name", "From: \"boss@corp.example\" <eve@evil.example>\n\nx",
			message{from: "eve@evil.example", fromName: "boss@corp.example", body: "x"}},
		{"a date that is none", "From: a@b.example\nDate: yesterday\n\nx",
			message{from: "a@b.example", body: "x"}},
		{"a header alone", "From: a@b.example\n\n", message{from: "a@b.example"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseMessage(crlf(test.in))
			if err != nil {
				t.Fatal(err)
			}
			if g, w := fmt.Sprintf("%+v", *got), fmt.Sprintf("%+v", test.want); g != w {
				t.Errorf("got\n%s\nwant\n%s", g, w)
			}
		})
	}
}

func alternative(typeA, a, typeB, b string) string {
	return "From: a@b.example\nContent-Type: multipart/alternative; boundary=x\n\n--x\nContent-Type: " + typeA + "\n\n" + a + "\n--x\nContent-Type: " + typeB + "\n\n" + b + "\n--x--\n"
}

func TestMalformedMessages(t *testing.T) {
	for _, in := range []string{"", "\r\n\r\nbody", "no header at all", "From\r\n\r\n", "\xff\xfe\x00", "Subject: x\r\nbroken line\r\n\r\nbody"} {
		if m, err := parseMessage([]byte(in)); err == nil {
			t.Errorf("parseMessage(%q) = %+v, want an error", in, m)
		}
	}
}

// Messages that are made to be costly cost little.
func TestHostileMessages(t *testing.T) {
	nested := strings.Builder{}
	nested.WriteString("From: a@b.example\n")
	for i := range 500 {
		fmt.Fprintf(&nested, "Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n", i, i)
	}
	parts := "From: a@b.example\nContent-Type: multipart/mixed; boundary=x\n\n" + strings.Repeat("--x\n\ny\n", 100_000) + "--x--\n"
	for _, test := range []struct{ name, in string }{
		{"multiparts in one another", nested.String()},
		{"very many parts", parts},
		{"a long body", "From: a@b.example\n\n" + strings.Repeat("long ", 1<<20)},
		{"a long header", "From: a@b.example\nSubject: " + strings.Repeat("=?utf-8?q?x?= ", 1<<18) + "\n\n"},
		{"very many recipients", "From: a@b.example\nTo: " + strings.Repeat("a@b.example, ", 1<<18) + "a@b.example\n\n"},
		{"comments in one another", "From: a@b.example\nTo: " + strings.Repeat("(", 1<<20) + "\n\n"},
		{"tags that do not end", "From: a@b.example\nContent-Type: text/html\n\n" + strings.Repeat("<a href='", 1<<18)},
		{"tags in one another", "From: a@b.example\nContent-Type: text/html\n\n" + strings.Repeat("<div>", 1<<19)},
		{"base64 of nothing", "From: a@b.example\nContent-Transfer-Encoding: base64\n\n" + strings.Repeat("*", 1<<22)},
	} {
		t.Run(test.name, func(t *testing.T) {
			start := time.Now()
			m, err := parseMessage(crlf(test.in))
			if err != nil {
				t.Fatal(err)
			}
			if len(m.body) > maxText || len(m.subject) > maxHeader || len(m.to) > maxAddresses || len(m.attachments) > maxParts {
				t.Errorf("body %d, subject %d, recipients %d, attachments %d", len(m.body), len(m.subject), len(m.to), len(m.attachments))
			}
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
	m, err := parseMessage(crlf(parts))
	if err != nil || !m.truncated || len(m.body) > 3*maxParts {
		t.Errorf("of very many parts %d bytes are kept, truncated %v, %v", len(m.body), m.truncated, err)
	}
}

func FuzzParseMessage(f *testing.F) {
	f.Add([]byte(alternative("text/plain", "x", "text/html", "<p>y")))
	f.Add([]byte("From: =?utf-8?q?x?= <a@b.example>\n\n" + base64.StdEncoding.EncodeToString([]byte("x"))))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseMessage(data)
		if err != nil {
			return
		}
		for _, s := range append([]string{m.from, m.fromName, m.subject, m.date}, m.to...) {
			if strings.ContainsAny(s, "\r\n\x00\x1b") {
				t.Errorf("a header holds %q", s)
			}
		}
	})
}
