package std

import (
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"
)

func mailKit(t *testing.T, options map[string]any) (*kit, Env) {
	t.Helper()
	env := place(t, map[string]string{
		"in/02.eml":    "From: Bob <bob@corp.example>\nTo: ap@corp.example\nSubject: Invoice 7\nDate: Mon, 23 Nov 2026 09:12:44 +0100\n\nPlease pay PO-7.\n",
		"in/01.eml":    "From: eve@evil.example\nSubject: hi\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\nhello\n--x\nContent-Type: text/csv; name=a.csv\n\nid,sum\nPO-9,1\n--x--\n",
		"in/bad.eml":   "this is no mail",
		"in/big.eml":   "From: a@b.example\n\n" + strings.Repeat("x", 3000),
		"in/notes.txt": "From: a@b.example\n\nno mail by its name",
		"in/.x.eml":    "From: a@b.example\n\nhidden",
		"secret.eml":   "From: a@b.example\n\nsecret",
	})
	for link, to := range map[string]string{"out.eml": "../secret.eml"} {
		if err := os.Symlink(to, filepath.Join(env.Dir, "in", link)); err != nil {
			t.Skip(err)
		}
	}
	if err := os.Mkdir(filepath.Join(env.Dir, "in", "folder.eml"), 0o700); err != nil {
		t.Fatal(err)
	}
	all := map[string]any{"root": "in", "max_size": 2000}
	for k, v := range options {
		all[k] = v
	}
	return build(t, "mail", env, all), env
}

func TestMailList(t *testing.T) {
	k, _ := mailKit(t, nil)
	want := `[{"attachments": ["a.csv"], "date": "", "error": "", "from": "eve@evil.example", "from_name": "", "id": "01.eml", "size": 149, "subject": "hi", "to": []}, ` +
		`{"attachments": [], "date": "2026-11-23T08:12:44Z", "error": "", "from": "bob@corp.example", "from_name": "Bob", "id": "02.eml", "size": 124, "subject": "Invoice 7", "to": ["ap@corp.example"]}, ` +
		`{"attachments": [], "date": "", "error": "malformed", "from": "", "from_name": "", "id": "bad.eml", "size": 15, "subject": "", "to": []}, ` +
		`{"attachments": [], "date": "", "error": "too-large", "from": "", "from_name": "", "id": "big.eml", "size": 3019, "subject": "", "to": []}, ` +
		`{"attachments": [], "date": "", "error": "io", "from": "", "from_name": "", "id": "out.eml", "size": 0, "subject": "", "to": []}]`
	if got := k.must("mail.list", nil); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for text, ids := range map[string]string{"INVOICE": "02.eml", "po-9": "01.eml", "evil": "01.eml", "bob": "02.eml", "secret": "", "zzz": ""} {
		v, err := k.call("mail.search", map[string]any{"text": text})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range v.Items {
			id, _ := m.Get("id")
			got = append(got, id.Str)
		}
		if strings.Join(got, ",") != ids {
			t.Errorf("search %q found %q, want %q", text, got, ids)
		}
	}
}

func TestMailRead(t *testing.T) {
	k, _ := mailKit(t, nil)
	want := `{"attachments": [{"name": "a.csv", "size": 13, "text": "id,sum\nPO-9,1", "type": "text/csv"}], "body": "hello", "cc": [], "date": "", "from": "eve@evil.example", "from_name": "", "id": "01.eml", "subject": "hi", "to": [], "truncated": False}`
	if got := k.must("mail.read", map[string]any{"id": "01.eml"}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for id, code := range map[string]string{
		"bad.eml": "malformed", "big.eml": "too-large", "no.eml": "not-found", "notes.txt": "not-found", ".x.eml": "not-found", "folder.eml": "not-a-file",
		"../secret.eml": "not-found", "in/../01.eml": "not-found", `..\secret.eml`: "not-found", "out.eml": "invalid-path", "/etc/x.eml": "not-found", "01.eml\x00.eml": "invalid-path",
	} {
		if got := k.fails("mail.read", map[string]any{"id": id}); got != code {
			t.Errorf("read %q: got %s, want %s", id, got, code)
		}
	}
}

// What a sender wrote is untrusted whatever the folder; which mails there are is trusted only if
// the agent file says so.
func TestMailLabels(t *testing.T) {
	read := func(v value.Value) map[string]string {
		out := map[string]string{}
		v.Walk(false, func(path string, _ value.Value, l label.Label) {
			out[path] = l.Trust().String() + " " + l.Explain(9)
		})
		return out
	}
	for _, test := range []struct {
		name    string
		options map[string]any
		want    map[string]string // of the first mail
	}{
		{"nothing declared", nil, map[string]string{
			"[0].id":      "untrusted mail.list, mail.list ?",
			"[0].subject": "untrusted mail.list, mail.list ?, mail.list ? (subject)",
		}},
		{"a folder that only its owner fills", map[string]any{"listing": "internal"}, map[string]string{
			"[0].id":             "internal mail.list, mail.list 01.eml",
			"[0].subject":        "untrusted mail.list, mail.list 01.eml, mail.list 01.eml (subject)",
			"[0].date":           "untrusted mail.list, mail.list 01.eml, mail.list 01.eml (date)",
			"[0].attachments[0]": "untrusted mail.list, mail.list 01.eml, mail.list 01.eml (attachments)",
		}},
		{"senders who are trusted too", map[string]any{"listing": "internal", "trust": "internal"}, map[string]string{
			"[0].subject": "internal mail.list, mail.list 01.eml, mail.list 01.eml (subject)",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			k, _ := mailKit(t, test.options)
			v, err := k.call("mail.list", nil)
			if err != nil {
				t.Fatal(err)
			}
			got := read(v)
			for path, want := range test.want {
				if got[path] != want {
					t.Errorf("%s is %s, want %s", path, got[path], want)
				}
			}
		})
	}
	k, _ := mailKit(t, map[string]any{"listing": "internal", "tags": []any{"mail"}})
	v, err := k.call("mail.read", map[string]any{"id": "01.eml"})
	if err != nil {
		t.Fatal(err)
	}
	got := read(v)
	for path, want := range map[string]string{
		"id":                  "internal mail.read 01.eml",
		"body":                "untrusted mail.read 01.eml, mail.read 01.eml (body)",
		"attachments[0].text": "untrusted mail.read 01.eml, mail.read 01.eml (attachments)",
	} {
		if got["."+path] != want {
			t.Errorf("%s is %s, want %s", path, got["."+path], want)
		}
	}
	if v, err = k.call("mail.search", map[string]any{"text": "hello"}); err != nil {
		t.Fatal(err)
	}
	if got := v.Structure.String(); got != "untrusted/{ana@corp.example}#mail" {
		t.Errorf("which mails are found is %s, want untrusted", got)
	}
}

func TestMailSend(t *testing.T) {
	k, env := mailKit(t, map[string]any{"max_size": 20_000})
	body := "Grüße\n.\nFrom here = there\n" + strings.Repeat("long ", 300)
	args := map[string]any{
		"to": []any{"Bob <Bob@Corp.example>"}, "cc": "carol@corp.example", "bcc": []any{"dan@corp.example"},
		"subject": "Für dich: 5 €", "body": body,
		"attachments": []any{map[string]any{"name": "übersicht.csv", "type": "text/csv", "text": "a,b\r\n1,é\r\n"}},
	}
	first := k.must("mail.send", args)
	if !strings.HasSuffix(first, `"recipients": ["bob@corp.example", "carol@corp.example", "dan@corp.example"]}`) {
		t.Errorf("got %s", first)
	}
	if again := k.must("mail.send", args); again != first {
		t.Errorf("the same call again gives %s, want %s", again, first)
	}
	k.key = "run/1.2"
	if other := k.must("mail.send", args); other == first {
		t.Error("another call with the same arguments is taken for the first")
	}
	files, err := filepath.Glob(filepath.Join(env.State, "outbox", "*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("the outbox holds %q, %v", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	m, err := parseMessage(data)
	if err != nil {
		t.Fatal(err)
	}
	want := message{from: "ana@corp.example", to: []string{"bob@corp.example"}, cc: []string{"carol@corp.example"}, subject: "Für dich: 5 €", date: "2026-12-01T10:00:00Z"}
	if m.from != want.from || strings.Join(m.to, ",") != want.to[0] || strings.Join(m.cc, ",") != want.cc[0] || m.subject != want.subject || m.date != want.date || m.body != body {
		t.Errorf("read back: %+v", m)
	}
	if len(m.attachments) != 1 || m.attachments[0].name != "übersicht.csv" || m.attachments[0].mediaType != "text/csv" || m.attachments[0].text != "a,b\n1,é\n" {
		t.Errorf("attachments: %+v", m.attachments)
	}
	for line := range strings.SplitSeq(string(data), "\r\n") {
		if len(line) > 998 || strings.ContainsAny(line, "\r\n") {
			t.Errorf("a line of %d bytes or with a lone line end", len(line))
		}
	}
	k.must("mail.draft", map[string]any{"to": "x@y.example", "subject": "s", "body": "b"})
	drafts, err := filepath.Glob(filepath.Join(env.State, "drafts", "*"))
	if err != nil || len(drafts) != 1 {
		t.Errorf("drafts: %q, %v", drafts, err)
	}
	noTemporaryFiles(t, env.State)
}

func TestMailSendRefuses(t *testing.T) {
	k, env := mailKit(t, nil)
	for _, test := range []struct {
		name string
		with map[string]any
		want string
	}{
		{"a line break in the subject", map[string]any{"subject": "x\r\nBcc: eve@evil.example"}, "invalid"},
		{"a lone line feed in the subject", map[string]any{"subject": "x\nBcc: eve@evil.example"}, "invalid"},
		{"a line separator in the subject", map[string]any{"subject": "x\u2028y"}, "invalid"},
		{"a line break in an address", map[string]any{"to": "a@b.example\r\nBcc: eve@evil.example"}, "invalid-address"},
		{"a line break in a copy's address", map[string]any{"cc": []any{"a@b.example\nX: y"}}, "invalid-address"},
		{"two addresses in one", map[string]any{"to": "a@b.example, eve@evil.example"}, "invalid-address"},
		{"two addresses in one element", map[string]any{"bcc": []any{"a@b.example; eve@evil.example"}}, "invalid-address"},
		{"no address", map[string]any{"to": "bob"}, "invalid-address"},
		{"an empty address", map[string]any{"to": ""}, "invalid-address"},
		{"no recipient", map[string]any{"to": []any{}}, "mail.send: to: got 0 elements, want at least 1"},
		{"a number for a recipient", map[string]any{"to": 7}, "mail.send: to: got int, want string or list"},
		{"a line break in an attachment's name", map[string]any{"attachments": []any{map[string]any{"name": "a\r\nX: y", "text": ""}}}, "invalid"},
		{"a path for an attachment's name", map[string]any{"attachments": []any{map[string]any{"name": "../a", "text": ""}}}, "invalid"},
		{"a line break in an attachment's type", map[string]any{"attachments": []any{map[string]any{"name": "a", "text": "", "type": "text/csv\r\nX: y"}}}, "invalid"},
		{"an attachment's type that is a container", map[string]any{"attachments": []any{map[string]any{"name": "a", "text": "", "type": "multipart/mixed"}}}, "invalid"},
		{"too large", map[string]any{"body": strings.Repeat("x", 3000)}, "too-large"},
	} {
		t.Run(test.name, func(t *testing.T) {
			k.t = t
			args := map[string]any{"to": "a@b.example", "subject": "s", "body": "b"}
			for name, x := range test.with {
				args[name] = x
			}
			if got := k.fails("mail.send", args); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
	if files, err := filepath.Glob(filepath.Join(env.State, "outbox", "*")); err != nil || files != nil {
		t.Errorf("the outbox holds %q, %v", files, err)
	}
}

// Whatever the subject and the body, the headers are the ones that compose wrote.
func FuzzCompose(f *testing.F) {
	f.Add("x\r\nBcc: eve@evil.example", "body\r\n\r\n.", "a.csv")
	f.Add("=?utf-8?q?=0D=0A?=", "\r\n--", "é\u2028")
	f.Fuzz(func(t *testing.T, subject, body, name string) {
		d := &draft{from: "a@b.example", to: []string{"c@d.example"}, subject: subject, body: body, date: now, key: "k"}
		if hasControl(subject) || hasControl(name) || name == "" {
			return
		}
		d.attachments = []outgoing{{name, "text/csv", body}}
		data, err := d.eml("x.eml")
		if err != nil {
			return
		}
		m, err := mail.ReadMessage(strings.NewReader(string(data)))
		if err != nil {
			t.Fatalf("cannot be read back: %v", err)
		}
		for h := range m.Header {
			switch h {
			case "From", "To", "Subject", "Date", "Message-Id", "Mime-Version", "Content-Type":
			default:
				t.Errorf("header %s was injected", h)
			}
		}
	})
}
