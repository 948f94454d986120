package secret_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"time"

	"callgate/engine/secret"
)

const key = "sk-Zq7+/eXw0rd=_<&>~~"

// escaped writes each character of a text by a format.
func escaped(format, text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, format, text[i])
	}
	return b.String()
}

// encodings are what a server may do to a secret before it says it.
func encodings(s string) map[string]string {
	quoted, _ := json.Marshal(s)
	twice, _ := json.Marshal(string(quoted))
	wrapped := func(e *base64.Encoding, before, after string) string {
		return e.EncodeToString([]byte(before + s + after))
	}
	return map[string]string{
		"as it is": s, "small letters": strings.ToLower(s), "capitals": strings.ToUpper(s),
		"a query": url.QueryEscape(s), "a path": url.PathEscape(s), "all percent": escaped("%%%02x", s), "percent twice": url.QueryEscape(url.QueryEscape(s)),
		"JSON": string(quoted), "JSON twice": string(twice), "all JSON": escaped(`\u%04x`, s), "the first letter": fmt.Sprintf(`\u%04x`, s[0]) + s[1:], "all JSON twice": escaped(`\\u%04x`, s),
		"JSON of other programs": strings.ReplaceAll(s, "/", `\/`), "Starlark": escaped(`\x%02X`, s), "Go": fmt.Sprintf("%q", s),
		"HTML": html.EscapeString(s), "all HTML": escaped("&#%d;", s), "all HTML in hex": escaped("&#x%x;", s), "markdown": strings.ReplaceAll(s, "_", `\_`),
		"base64": wrapped(base64.StdEncoding, "", ""), "base64 without padding": wrapped(base64.RawStdEncoding, "", ""),
		"base64 of URLs": wrapped(base64.URLEncoding, "", ""), "base64 of URLs without padding": wrapped(base64.RawURLEncoding, "", ""),
		"base64 behind one": wrapped(base64.StdEncoding, "x", ""), "base64 behind two": wrapped(base64.URLEncoding, "xy", "z"), "base64 behind three": wrapped(base64.StdEncoding, "xyz", "zz"),
		"a header in base64": wrapped(base64.StdEncoding, "Bearer ", ""), "a user in base64": wrapped(base64.RawURLEncoding, "ana:", "\n"),
		"base64 in a query": url.QueryEscape(wrapped(base64.StdEncoding, "", "")), "base64 in JSON": strings.ReplaceAll(wrapped(base64.StdEncoding, "", ""), "/", `\/`),
		"a query in base64": base64.StdEncoding.EncodeToString([]byte("?k=" + url.QueryEscape(s))), "base64 in small letters": strings.ToLower(wrapped(base64.StdEncoding, "", "")),
		"hex": hex.EncodeToString([]byte(s)), "hex in capitals": strings.ToUpper(hex.EncodeToString([]byte(s))),
	}
}

func TestASecretIsFoundAsItIsAndEncoded(t *testing.T) {
	for _, s := range []string{key, "sk-0123456789abcdef", "secret", "Bearer tok/en 1", "s3cret%41", `s\u0073k`} {
		f := secret.Of("", s)
		for name, text := range encodings(s) {
			said := "you sent “" + text + "”, ana"
			if !f.In(said) {
				t.Errorf("%s, %s: not found in %s", s, name, said)
			}
			got := f.Out(said, "[key]")
			if f.In(got) || !strings.HasPrefix(got, "you sent “") || !strings.HasSuffix(got, "”, ana") || strings.Count(got, "[key]") != 1 {
				t.Errorf("%s, %s: %s became %s", s, name, said, got)
			}
			if rest := strings.TrimSuffix(strings.TrimPrefix(got, "you sent “"), "”, ana"); name == "base64" && rest != "[key]" {
				t.Errorf("%s: of %s there is left %s", s, text, rest)
			}
		}
	}
}

func TestFormsAreNotPrinted(t *testing.T) {
	f := secret.Of(key)
	hidden := struct{ f *secret.Forms }{f}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, v := range []any{f, *f, hidden, &hidden} {
			if got := fmt.Sprintf(verb, v); f.In(got) || strings.Contains(got, "zq7") {
				t.Errorf("%s: %s", verb, got)
			}
		}
	}
}

// Nothing is taken for a secret that is none, and what is around one stays.
func TestWhatIsNoSecret(t *testing.T) {
	f := secret.Of(key, "k")
	for text, want := range map[string]string{
		"":                               "",
		"sk-Zq7 and %zz \\u12 &nothing;": "s[*]-Zq7 and %zz \\u12 &nothing;",
		"a" + key + "b" + key + "c":      "a[*]b[*]c",
		key + key:                        "[*][*]",
		`100% of {"a": "\u0061"} & more`: `100% of {"a": "\u0061"} & more`,
	} {
		if got := f.Out(text, "[*]"); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
	for _, none := range []*secret.Forms{nil, {}, secret.Of(), secret.Of("")} {
		if none.In(key) || none.Out(key, "x") != key || none.Before(key) != key || none.Window() != 0 {
			t.Error("what is no secret was found")
		}
	}
}

// Of a text that grows nothing is shown in which the secret begins, in whatever form.
func TestBeforeASecret(t *testing.T) {
	f := secret.Of(key)
	for name, text := range encodings(key) {
		const said = "it is: "
		if strings.Contains(name, "behind") || strings.Contains(name, "a query in") || strings.Contains(name, "in base64") {
			continue // what stands before it is shown
		}
		for n := 1; n < len(text); n++ {
			got := f.Before(said + text[:n])
			if shown := strings.Trim(strings.TrimPrefix(got, said), `"\`); len(shown) > 0 && !f.In(said+text[:n]) {
				t.Errorf("%s: of %s there is shown %s", name, text[:n], shown)
				break
			}
		}
	}
	if got := f.Before("nothing of it"); got != "nothing of it" {
		t.Errorf("got %q", got)
	}
}

// A secret that arrives in parts is found in the window and what follows.
func TestTheWindow(t *testing.T) {
	f := secret.Of(key)
	for name, text := range encodings(key) {
		if len(text) > f.Window() {
			t.Errorf("%s: %d bytes, and the window has %d", name, len(text), f.Window())
		}
	}
}

// Whatever a server says is looked through in time that grows with its length.
func TestLongTexts(t *testing.T) {
	f := secret.Of(key, "sk-0123456789abcdef")
	for _, part := range []string{`\`, "%", "&", "&#x73;", `\u0073`, "%25", "sk-", "c2stWnE3Ky9lWHcwcmQ9Xzwm", key} {
		text := strings.Repeat(part, 1<<20/len(part))
		begun := time.Now()
		f.Out(text, "[key]")
		f.In(text)
		f.Before(text)
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("%q: %s for a megabyte", part, took)
		}
	}
}

func FuzzOut(f *testing.F) {
	for _, text := range encodings(key) {
		f.Add(text)
	}
	forms := secret.Of(key, "tok-1")
	f.Fuzz(func(t *testing.T, text string) {
		got := forms.Out(text, "[key]")
		if forms.In(text) != (got != text) {
			t.Errorf("%q: found %t, and became %q", text, forms.In(text), got)
		}
		if before := forms.Before(text); !strings.HasPrefix(text, before) {
			t.Errorf("%q: %q is no beginning of it", text, before)
		}
		for range 3 { // characters of the secret escaped at random
			var b strings.Builder
			for i := range len(key) {
				fmt.Fprintf(&b, []string{"%c", "%%%02x", `\u%04x`, `\x%02x`, "&#%d;"}[rand.N(5)], key[i])
			}
			if said := text + " " + b.String(); !forms.In(said) {
				t.Errorf("not found in %q", said)
			}
		}
	})
}
