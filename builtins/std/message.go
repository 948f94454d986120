package std

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"

	"callgate/builtins"
)

// Bounds of one message, beside the size of its file.
const (
	maxMessageDepth = 10
	maxParts        = 200
	maxText         = 256 << 10 // bytes of a body, or of an attachment's text
	maxHeader       = 1000      // bytes of a header that is handed out
	maxAddressList  = 64 << 10  // bytes of a header that is read as addresses
	maxAddresses    = 200       // of one header
)

// message is a mail as tools hand it out. Everything in it was written by its sender.
type message struct {
	from, fromName string // the address in its normal form, "" if it has none; the name beside it
	to, cc         []string
	subject        string
	date           string // RFC 3339, UTC; "" if there is none that can be read
	body           string
	truncated      bool // something was left out: text too long, too many parts, a part that broke off
	attachments    []attachment
}

type attachment struct {
	name, mediaType string
	size            int    // bytes, decoded
	text            string // of a textual attachment; else ""
}

// errMalformed says that a file holds no message.
var errMalformed = errors.New("not a mail: its header cannot be read")

// parseMessage reads a message. What is wrong within its parts shortens it and makes it truncated; only
// without a header that can be read there is none.
func parseMessage(data []byte) (*message, error) {
	m, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil || len(m.Header) == 0 {
		return nil, errMalformed
	}
	out := &message{subject: headerText(m.Header.Get("Subject"))}
	out.from, out.fromName = sender(m.Header.Get("From"))
	out.to = addresses(m.Header.Get("To"))
	out.cc = addresses(m.Header.Get("Cc"))
	if t, err := mail.ParseDate(m.Header.Get("Date")); err == nil && t.Year() >= 0 && t.Year() <= 9999 {
		out.date = t.UTC().Format(time.RFC3339)
	}
	p := parser{message: out}
	body, _ := p.part(m.Header.Get, m.Body, 0)
	out.body = p.short(body)
	return out, nil
}

var addressParser = mail.AddressParser{WordDecoder: wordDecoder}

var wordDecoder = &mime.WordDecoder{CharsetReader: func(charset string, r io.Reader) (io.Reader, error) {
	enc := charsetOf(charset)
	if enc == nil {
		return r, nil
	}
	return enc.NewDecoder().Reader(r), nil
}}

// headerText decodes a header to one line of text.
func headerText(raw string) string {
	s, err := wordDecoder.DecodeHeader(raw)
	if err != nil {
		s = raw
	}
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\ufffd"), func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	return cut(s, maxHeader)
}

// cut shortens s to at most n bytes, between characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func parseList(raw string) []*mail.Address {
	if len(raw) > maxAddressList {
		return nil
	}
	list, err := addressParser.ParseList(raw)
	if err != nil {
		return nil
	}
	return list
}

// sender returns the address and the name of a From header. A header that is not
// exactly one address has no address, and all of it for a name.
func sender(raw string) (address, name string) {
	list := parseList(raw)
	if len(list) != 1 {
		return "", headerText(raw)
	}
	address, _ = builtins.NormAddress(list[0].Address)
	return address, headerText(list[0].Name)
}

// addresses returns the addresses of a header in their normal form, those that have one.
func addresses(raw string) []string {
	list := parseList(raw)
	var out []string
	for _, a := range list[:min(len(list), maxAddresses)] {
		if norm, _ := builtins.NormAddress(a.Address); norm != "" {
			out = append(out, norm)
		}
	}
	return out
}

// parser walks through the parts of one message.
type parser struct {
	*message
	parts int
}

// part returns the text of a part and whether it was written as plain text, and collects the attachments in it.
func (p *parser) part(header func(string) string, r io.Reader, depth int) (text string, plain bool) {
	if p.parts++; p.parts > maxParts || depth > maxMessageDepth {
		p.truncated = true
		return "", false
	}
	mediaType, params, err := mime.ParseMediaType(header("Content-Type"))
	if err != nil || !strings.Contains(mediaType, "/") {
		mediaType, params = "text/plain", nil
	}
	if strings.HasPrefix(mediaType, "multipart/") {
		if params["boundary"] != "" {
			return p.multipart(mediaType, multipart.NewReader(r, params["boundary"]), depth)
		}
		mediaType = "text/plain"
	}
	data, err := io.ReadAll(decoded(header("Content-Transfer-Encoding"), r))
	if err != nil {
		p.truncated = true // what came before the error is kept
	}
	textual := strings.HasPrefix(mediaType, "text/")
	disposition, dispositionParams, err := mime.ParseMediaType(header("Content-Disposition"))
	if err != nil {
		disposition = ""
	}
	name := fileName(dispositionParams["filename"], params["name"])
	if textual && disposition != "attachment" && name == "" {
		text = decodeText(data, params["charset"])
		if mediaType == "text/html" {
			return htmlText(text), false
		}
		return text, true
	}
	a := attachment{name: name, mediaType: mediaType, size: len(data)}
	if textual {
		a.text = p.short(decodeText(data, params["charset"]))
	}
	p.attachments = append(p.attachments, a)
	return "", false
}

// multipart joins the texts of its parts; of alternatives it takes the plain one, or else the
// last that has any.
func (p *parser) multipart(mediaType string, r *multipart.Reader, depth int) (text string, plain bool) {
	for {
		part, err := r.NextRawPart()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				p.truncated = true
			}
			return text, plain
		}
		t, isPlain := p.part(part.Header.Get, part, depth+1)
		switch {
		case strings.TrimSpace(t) == "":
		case text == "":
			text, plain = t, isPlain
		case mediaType != "multipart/alternative":
			text = p.short(text + "\n\n" + t)
		case !plain:
			text, plain = t, isPlain
		}
		if p.parts > maxParts {
			return text, plain
		}
	}
}

// short cuts text that is too long.
func (p *parser) short(s string) string {
	if len(s) > maxText {
		p.truncated = true
	}
	return cut(s, maxText)
}

// decoded undoes a transfer encoding. One that is unknown is taken for none.
func decoded(encodingName string, r io.Reader) io.Reader {
	switch strings.ToLower(strings.TrimSpace(encodingName)) {
	case "base64":
		return base64.NewDecoder(base64.StdEncoding, &onlyBase64{r})
	case "quoted-printable":
		return quotedprintable.NewReader(r)
	}
	return r
}

// onlyBase64 drops what is not of the alphabet, as RFC 2045 wants it.
type onlyBase64 struct{ r io.Reader }

func (o *onlyBase64) Read(b []byte) (int, error) {
	for {
		n, err := o.r.Read(b)
		kept := 0
		for _, c := range b[:n] {
			if c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '=' {
				b[kept] = c
				kept++
			}
		}
		if kept > 0 || err != nil || n == 0 {
			return kept, err
		}
	}
}

// charsetOf returns the encoding of a name, or nil for UTF-8 and for one that nobody knows.
func charsetOf(name string) encoding.Encoding {
	name = strings.ToLower(strings.TrimSpace(name))
	switch name {
	case "", "utf-8", "utf8", "us-ascii", "ascii":
		return nil
	}
	if enc, err := htmlindex.Get(name); err == nil {
		return enc
	}
	if enc, err := ianaindex.MIME.Encoding(name); err == nil {
		return enc
	}
	return nil
}

// decodeText returns text as UTF-8 with plain line ends and without control characters. Bytes that
// claim no charset and are no UTF-8 are taken for windows-1252.
func decodeText(data []byte, charset string) string {
	enc := charsetOf(charset)
	if enc == nil && charset == "" && !utf8.Valid(data) {
		enc = charmap.Windows1252
	}
	if enc != nil {
		if utf, err := enc.NewDecoder().Bytes(data); err == nil {
			data = utf
		}
	}
	s := strings.ToValidUTF8(string(data), "\ufffd")
	s = strings.ReplaceAll(strings.TrimPrefix(s, "\ufeff"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		if (r < ' ' && r != '\n' && r != '\t') || r == 0x7f {
			return -1
		}
		return r
	}, s)
}

// fileName returns the last step of a name that a sender chose, as text to read: it is no
// path to write to.
func fileName(names ...string) string {
	for _, n := range names {
		n = headerText(n)
		n = path.Base("/" + strings.ReplaceAll(n, `\`, "/"))
		if n != "/" && n != "." && n != ".." {
			return cut(n, 200)
		}
	}
	return ""
}
