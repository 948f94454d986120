package std

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"callgate/engine/secret"
)

// header is a header that an agent's file sets: a text, or where its secret is.
type header struct {
	name   string
	text   string // or
	env    string // name of a variable, or
	file   string // path
	prefix string // before the secret
}

// sent is a header of a request.
type sent struct {
	name, value string
	secret      string // the part of the value that nobody may see; ""
}

// maxSecret bounds a file that holds a secret, in bytes.
const maxSecret = 64 << 10

// notOurs are headers that say how a message is framed, or to whom it goes.
var notOurs = []string{
	"Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Expect", "Forwarded", "Host", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// mayBeSent reports whether an agent's file can set a header.
func mayBeSent(name string) bool {
	key := http.CanonicalHeaderKey(name)
	return httpguts.ValidHeaderFieldName(name) && !strings.HasPrefix(key, "Proxy-") && !slices.Contains(notOurs, key)
}

// credential reports whether a header's name says that it holds a secret.
func credential(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"auth", "cookie", "key", "passw", "secret", "token", "session", "signature"}, func(s string) bool { return strings.Contains(name, s) })
}

// headers reads a map of headers. What is wrong is reported without what stands there: it may be a secret.
func (b *builder) headers(option, at string, x any) []header {
	if x == nil {
		return nil
	}
	list, ok := x.(map[string]any)
	if !ok {
		b.fail(option, at+"want a map from names to texts, {env: NAME} or {file: PATH}")
		return nil
	}
	var out []header
	for _, name := range slices.Sorted(maps.Keys(list)) {
		fail := func(text string) { b.fail(option, at+fmt.Sprintf("%q: %s", name, text)) }
		if !mayBeSent(name) {
			fail("want the name of a header that does not say how a message is framed or where it goes")
			continue
		}
		h := header{name: name}
		switch v := list[name].(type) {
		case string:
			if credential(name) {
				fail("got a text, want {env: NAME} or {file: PATH}: a secret is never written into a file")
				continue
			}
			h.text = v
		case map[string]any:
			h.env, _ = v["env"].(string)
			h.file, _ = v["file"].(string)
			h.prefix, _ = v["prefix"].(string)
			if unknown := slices.ContainsFunc(slices.Collect(maps.Keys(v)), func(k string) bool { return k != "env" && k != "file" && k != "prefix" }); unknown || (h.env == "") == (h.file == "") {
				fail("want {env: NAME} or {file: PATH}, and perhaps a prefix")
				continue
			}
			if h.file != "" {
				h.file = b.place(option, h.file, false)
			}
		default:
			fail("want a text, {env: NAME} or {file: PATH}")
			continue
		}
		if !httpguts.ValidHeaderFieldValue(h.text) || !httpguts.ValidHeaderFieldValue(h.prefix) {
			fail("has a line break or a control character")
			continue
		}
		out = append(out, h)
	}
	return out
}

// sentBy fetches the secrets of headers. They are read for each call, so that nothing keeps them.
func sentBy(list []header) ([]sent, error) {
	var out []sent
	for _, h := range list {
		if h.env == "" && h.file == "" {
			out = append(out, sent{name: h.name, value: h.text})
			continue
		}
		secret, err := h.read()
		if err != nil {
			return nil, err
		}
		out = append(out, sent{h.name, h.prefix + secret, secret})
	}
	return out, nil
}

func (h *header) read() (string, error) {
	text, where := os.Getenv(h.env), "environment variable "+h.env
	if h.file != "" {
		where = "its file"
		f, err := os.Open(h.file)
		if err != nil {
			return "", fail("no-secret", "header %s: %s cannot be read", h.name, where)
		}
		defer f.Close()
		b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
		if err != nil || len(b) > maxSecret {
			return "", fail("no-secret", "header %s: %s cannot be read, or holds more than %d bytes", h.name, where, maxSecret)
		}
		text = string(b)
	}
	text = strings.TrimSpace(text)
	if text == "" || !httpguts.ValidHeaderFieldValue(text) {
		return "", fail("no-secret", "header %s: %s is empty, or holds what no header can", h.name, where)
	}
	return text, nil
}

// secretsOf are the forms of the secrets in headers that were sent.
func secretsOf(own []sent) *secret.Forms {
	var out []string
	for _, h := range own {
		out = append(out, h.secret)
		if scheme, bare, ok := strings.Cut(h.secret, " "); ok && scheme != "" { // "Bearer …" in the variable itself
			out = append(out, bare)
		}
	}
	return secret.Of(out...)
}

// scrub takes secrets that were sent out of a text that came back.
func scrub(text string, known *secret.Forms) string { return known.Out(text, "[secret]") }
