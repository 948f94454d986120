package std

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"callgate/builtins"
	"callgate/engine/secret"
)

// maxValues bounds what a reply of JSON holds, containers and keys included; a reply of one megabyte could hold half a million.
const maxValues = 100_000

// read makes the result of a reply.
func (w *web) read(ctx context.Context, r *request, reply *http.Response, known *secret.Forms) (any, error) {
	media, charset := mediaOf(reply, known)
	out := map[string]any{"status": int64(reply.StatusCode), "url": scrub(r.url.String(), known), "type": media}
	if r.method == http.MethodHead {
		out["size"] = any(nil)
		if reply.ContentLength >= 0 {
			out["size"] = reply.ContentLength
		}
		return out, nil
	}
	data, err := w.content(ctx, r, reply, known)
	if err != nil {
		return nil, err
	}
	kind := kindOf(media, data)
	switch {
	case kind == "" && r.as == "auto":
		return nil, fail("not-text", "%s: %s of %d bytes is neither text, JSON nor HTML", r.url.Hostname(), printable(media, known), len(data))
	case r.as != "auto":
		if kind == "" && (bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) && charset == "") {
			return nil, fail("not-text", "%s: %s of %d bytes holds no text", r.url.Hostname(), printable(media, known), len(data))
		}
		kind = r.as
	}
	out["text"], out["data"] = "", any(nil)
	switch kind {
	case "json":
		if out["data"], err = jsonValue(data, known); err != nil {
			return nil, err
		}
	case "markdown":
		out["text"] = scrub(htmlMarkdown(scrub(decodeText(data, charset), known)), known)
	default:
		out["text"] = scrub(decodeText(data, charset), known)
	}
	return out, nil
}

// mediaOf is the media type of a reply, without what was sent as a secret, and its charset.
func mediaOf(reply *http.Response, known *secret.Forms) (media, charset string) {
	text := scrub(reply.Header.Get("Content-Type"), known)
	media, params, err := mime.ParseMediaType(text)
	if err != nil {
		media, _, _ = strings.Cut(strings.ToLower(text), ";")
		media = strings.TrimSpace(media)
	}
	return cut(scrub(media, known), 100), params["charset"]
}

// kindOf is how content is read: text, json, markdown; "" if it is none of them. What names no type is looked at.
func kindOf(media string, data []byte) string {
	if media == "" {
		media, _, _ = strings.Cut(http.DetectContentType(data), ";")
	}
	main, sub, _ := strings.Cut(media, "/")
	switch {
	case sub == "json" || strings.HasSuffix(sub, "+json"):
		return "json"
	case media == "text/html" || media == "application/xhtml+xml":
		return "markdown"
	case main == "text", strings.HasSuffix(sub, "+xml"),
		main == "application" && (sub == "xml" || sub == "yaml" || sub == "x-yaml" || sub == "toml" || sub == "javascript" || sub == "ecmascript" ||
			sub == "x-ndjson" || sub == "jsonl" || sub == "graphql" || sub == "sql" || sub == "csv"):
		return "text"
	}
	return ""
}

// content reads a body, unpacked, within the limit. No more than that is ever in memory.
func (w *web) content(ctx context.Context, r *request, reply *http.Response, known *secret.Forms) ([]byte, error) {
	tooLarge := fail("too-large", "%s: the reply is larger than %d bytes", r.url.Hostname(), w.maxSize)
	if reply.ContentLength > w.maxSize {
		return nil, tooLarge
	}
	var body io.Reader = io.LimitReader(reply.Body, w.maxSize+1) // packed content is no larger
	switch packing := strings.ToLower(strings.Join(reply.Header.Values("Content-Encoding"), ",")); packing {
	case "", "identity":
	case "gzip", "x-gzip":
		unpack, err := gzip.NewReader(body)
		if errors.Is(err, io.EOF) {
			return nil, nil // nothing at all
		}
		if err != nil {
			return nil, brokenOff(ctx, r, err)
		}
		body = unpack
	default:
		return nil, fail("not-text", "%s: the reply is packed as %s, which was not asked for", r.url.Hostname(), printable(packing, known))
	}
	data, err := io.ReadAll(io.LimitReader(body, w.maxSize+1))
	if err != nil && int64(len(data)) <= w.maxSize {
		return nil, brokenOff(ctx, r, err)
	}
	if int64(len(data)) > w.maxSize {
		return nil, tooLarge
	}
	return data, nil
}

// brokenOff is the error of a reply that does not end as it should.
func brokenOff(ctx context.Context, r *request, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fail("connection", "%s: the reply broke off: %v", r.url.Hostname(), err)
}

// statusError is what a server says that did not do what it was asked for.
func (w *web) statusError(ctx context.Context, r *request, reply *http.Response, known *secret.Forms) error {
	code := "refused"
	switch s := reply.StatusCode; {
	case s == 404 || s == 410:
		code = "not-found"
	case s == 401 || s == 403 || s == 407:
		code = "no-permission"
	case s == 408 || s == 504:
		code = "timeout"
	case s == 429:
		code = "rate-limited"
	case s >= 500:
		code = "server-error"
	}
	text := fmt.Sprintf("%s %s://%s%s: %d", r.method, r.url.Scheme, r.url.Host, r.url.EscapedPath(), reply.StatusCode)
	if name := http.StatusText(reply.StatusCode); name != "" {
		text += " " + name
	}
	if after := reply.Header.Get("Retry-After"); after != "" && code != "not-found" {
		text += ", retry after " + printable(after, known)
	}
	if r.method == http.MethodHead {
		return fail(code, "%s", text)
	}
	media, charset := mediaOf(reply, known)
	data, err := w.content(ctx, r, reply, known)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if kind := kindOf(media, data); err == nil && len(data) > 0 && (kind == "text" || kind == "json") {
		said := strings.Join(strings.Fields(scrub(decodeText(data, charset), known)), " ")
		text += ": " + cut(scrub(said, known), maxExcerpt)
	}
	return fail(code, "%s", text)
}

// printable is a short text from outside in one line, without what was sent as a secret: a part of it would not be known for one any more.
func printable(s string, known *secret.Forms) string {
	return cut(strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, scrub(s, known)), 60)
}

// jsonValue makes plain data of a JSON text, without the secrets in it.
func jsonValue(data []byte, known *secret.Forms) (any, error) {
	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	d.UseNumber()
	p := &jsonPlain{known: known, left: maxValues}
	out, err := p.next(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fail("invalid-json", "the reply has something after its JSON value; as = \"text\" reads it as it is")
	}
	return out, nil
}

// jsonPlain reads JSON token by token, so that its bounds hold before anything is made of it.
type jsonPlain struct {
	known *secret.Forms
	left  int
}

func (p *jsonPlain) next(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, invalidJSON(err)
	}
	return p.value(d, t, depth)
}

func (p *jsonPlain) value(d *json.Decoder, t json.Token, depth int) (any, error) {
	if p.left--; p.left < 0 {
		return nil, fail("too-large", "the reply holds more than %d values; as = \"text\" reads it as it is", maxValues)
	}
	switch t := t.(type) {
	case json.Delim:
		if depth == builtins.MaxDepth-1 { // the reply itself is a dict
			return nil, fail("too-large", "the reply nests deeper than %d; as = \"text\" reads it as it is", depth)
		}
		if t == '[' {
			out := []any{}
			for d.More() {
				v, err := p.next(d, depth+1)
				if err != nil {
					return nil, err
				}
				out = append(out, v)
			}
			return out, p.end(d)
		}
		out := map[string]any{}
		for d.More() {
			k, err := p.next(d, depth+1)
			if err != nil {
				return nil, err
			}
			name, _ := k.(string)
			if out[name], err = p.next(d, depth+1); err != nil {
				return nil, err
			}
		}
		return out, p.end(d)
	case json.Number:
		if p.known.In(t.String()) {
			return scrub(t.String(), p.known), nil
		}
		return plainNumber(t.String())
	case string:
		return scrub(t, p.known), nil
	}
	return t, nil // bool and nil
}

func (p *jsonPlain) end(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return invalidJSON(err)
	}
	return nil
}

func invalidJSON(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fail("invalid-json", "the reply's JSON breaks off; as = \"text\" reads it as it is")
	}
	return fail("invalid-json", "the reply is no JSON: %v; as = \"text\" reads it as it is", err)
}

// plainNumber is a number of JSON: an int if it is written as one.
func plainNumber(s string) (any, error) {
	if len(s) > 1000 {
		return nil, fail("too-large", "the reply holds a number of %d digits", len(s))
	}
	if !strings.ContainsAny(s, ".eE") {
		if n, ok := new(big.Int).SetString(s, 10); ok {
			if n.IsInt64() {
				return n.Int64(), nil
			}
			return n, nil
		}
	}
	f, err := json.Number(s).Float64()
	if err != nil {
		return nil, fail("invalid-json", "the reply holds the number %s, which is out of range", cut(s, 40))
	}
	return f, nil
}
