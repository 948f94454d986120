package std

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/textproto"
	"regexp"
	"strings"
	"time"

	"callgate/builtins"
)

// draft is a message to be written. Nothing in it has a line break where a header will be.
type draft struct {
	from        string
	to, cc, bcc []string // in their normal form
	subject     string
	body        string
	attachments []outgoing
	date        time.Time
	key         string
}

type outgoing struct{ name, mediaType, text string }

var mediaTypes = regexp.MustCompile(`^(text|application)/[a-z0-9][a-z0-9.+-]{0,60}$`)

// compose checks the arguments of mail.send and mail.draft. Addresses become their normal form: what is
// written is what policies saw.
func compose(from string, in *builtins.Invocation) (*draft, error) {
	d := &draft{
		from: from, subject: builtins.Arg[string](in, "subject"), body: builtins.Arg[string](in, "body"),
		date: in.Now.UTC(), key: in.Key,
	}
	var err error
	for _, field := range []struct {
		name string
		list *[]string
	}{{"to", &d.to}, {"cc", &d.cc}, {"bcc", &d.bcc}} {
		if *field.list, err = recipients(field.name, in.Args[field.name]); err != nil {
			return nil, err
		}
	}
	if hasControl(d.subject) {
		return nil, fail("invalid", "subject: has a line break or a control character")
	}
	for i, x := range builtins.Arg[[]any](in, "attachments") {
		a, _ := x.(map[string]any)
		out := outgoing{mediaType: "text/plain"}
		out.name, _ = a["name"].(string)
		out.text, _ = a["text"].(string)
		if t, ok := a["type"].(string); ok {
			out.mediaType = t
		}
		if hasControl(out.name) || strings.ContainsAny(out.name, `/\`) {
			return nil, fail("invalid", "attachments[%d].name: has a slash, a line break or a control character", i)
		}
		if !mediaTypes.MatchString(out.mediaType) {
			return nil, fail("invalid", "attachments[%d].type: want a media type such as text/csv", i)
		}
		d.attachments = append(d.attachments, out)
	}
	return d, nil
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' })
}

// recipients returns addresses in their normal form; a text is a list of one.
func recipients(name string, arg any) ([]string, error) {
	list, ok := arg.([]any)
	if s, isText := arg.(string); isText {
		list, ok = []any{s}, true
	}
	if !ok {
		return nil, nil
	}
	var out []string
	for i, x := range list {
		norm, _ := builtins.NormAddress(x)
		if norm == "" {
			return nil, fail("invalid-address", "%s[%d]: not exactly one e-mail address", name, i)
		}
		out = append(out, norm)
	}
	return out, nil
}

// id is the same in every try of the same call.
func (d *draft) id() string {
	if d.key == "" {
		return randomName() + ".eml"
	}
	sum := sha256.Sum256([]byte(d.key))
	return hex.EncodeToString(sum[:8]) + ".eml"
}

// eml returns the message as a file, with CR LF line ends.
func (d *draft) eml(id string) ([]byte, error) {
	var b bytes.Buffer
	header := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%s: %s\r\n", name, text)
		}
	}
	_, host, _ := strings.Cut(d.from, "@")
	header("From", d.from)
	header("To", strings.Join(d.to, ",\r\n "))
	header("Cc", strings.Join(d.cc, ",\r\n "))
	header("Bcc", strings.Join(d.bcc, ",\r\n "))
	header("Subject", mime.QEncoding.Encode("utf-8", d.subject))
	header("Date", d.date.Format(time.RFC1123Z))
	header("Message-ID", "<"+strings.TrimSuffix(id, ".eml")+"@"+host+">")
	header("MIME-Version", "1.0")
	if len(d.attachments) == 0 {
		header("Content-Type", "text/plain; charset=utf-8")
		header("Content-Transfer-Encoding", "quoted-printable")
		b.WriteString("\r\n")
		err := writeQuoted(&b, d.body)
		return b.Bytes(), err
	}
	parts := multipart.NewWriter(&b)
	header("Content-Type", `multipart/mixed; boundary="`+parts.Boundary()+`"`)
	b.WriteString("\r\n")
	if err := d.writeParts(parts); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (d *draft) writeParts(parts *multipart.Writer) error {
	w, err := parts.CreatePart(textproto.MIMEHeader{
		"Content-Type": {"text/plain; charset=utf-8"}, "Content-Transfer-Encoding": {"quoted-printable"},
	})
	if err != nil {
		return err
	}
	if err := writeQuoted(w, d.body); err != nil {
		return err
	}
	for _, a := range d.attachments {
		w, err := parts.CreatePart(textproto.MIMEHeader{
			"Content-Type":              {mime.FormatMediaType(a.mediaType, map[string]string{"charset": "utf-8"})},
			"Content-Disposition":       {mime.FormatMediaType("attachment", map[string]string{"filename": a.name})},
			"Content-Transfer-Encoding": {"base64"},
		})
		if err != nil {
			return err
		}
		text := base64.StdEncoding.EncodeToString([]byte(a.text))
		for len(text) > 76 {
			fmt.Fprintf(w, "%s\r\n", text[:76])
			text = text[76:]
		}
		if _, err := fmt.Fprintf(w, "%s\r\n", text); err != nil {
			return err
		}
	}
	return parts.Close()
}

func writeQuoted(w interface{ Write([]byte) (int, error) }, text string) error {
	q := quotedprintable.NewWriter(w)
	if _, err := q.Write([]byte(text)); err != nil {
		return err
	}
	return q.Close()
}
