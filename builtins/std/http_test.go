package std

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"callgate/builtins"
	"callgate/engine/label"
	"callgate/engine/value"
)

// names is a resolver: each lookup of a name takes the next of its answers, and the last one again and again.
type names struct {
	mu      sync.Mutex
	answers map[string][][]netip.Addr
	asked   []string
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, host)
	host = strings.TrimSuffix(host, ".")
	list := n.answers[host]
	if len(list) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(list) > 1 {
		n.answers[host] = list[1:]
	}
	return list[0], nil
}

func at(list ...string) []netip.Addr {
	var out []netip.Addr
	for _, s := range list {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}

// webKit is the toolset with a resolver of the test's.
func webKit(t *testing.T, n resolver, options map[string]any) (*kit, *web) {
	t.Helper()
	b := &builder{env: Env{Dir: t.TempDir(), Principal: "ana@corp.example"}, in: &builtins.Invocation{Args: options}}
	w := b.web(n)
	if w == nil {
		t.Fatalf("options: %v", b.bad)
	}
	t.Cleanup(func() { w.close() })
	k := &kit{t: t, tools: map[string]*builtins.Tool{}, key: "run/1.1", ctx: t.Context()}
	for _, tool := range w.tools() {
		if err := new(builtins.Set).Add(tool); err != nil {
			t.Fatal(err)
		}
		k.tools[tool.Name] = tool
	}
	return k, w
}

// local is a server of this machine, known under names of its own.
type local struct {
	*httptest.Server
	port  string
	names *names
}

func serve(t *testing.T, h http.HandlerFunc) *local {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	n := &names{answers: map[string][][]netip.Addr{}}
	for _, host := range []string{"api.example", "other.example", "x.wild.example"} {
		n.answers[host] = [][]netip.Addr{at("127.0.0.1")}
	}
	return &local{s, port, n}
}

func (l *local) url(host, path string) string { return "http://" + host + ":" + l.port + path }

// kit allows everything of api.example on this machine.
func (l *local) kit(t *testing.T, more map[string]any) (*kit, *web) {
	t.Helper()
	options := map[string]any{"allow": []any{l.url("api.example", "/*")}, "networks": []any{"127.0.0.1/32"}}
	for k, v := range more {
		options[k] = v
	}
	return webKit(t, l.names, options)
}

func codeOf(err error) string {
	if e, ok := errors.AsType[*builtins.Error](err); ok {
		return e.Code
	}
	if _, ok := errors.AsType[*builtins.SchemaError](err); ok {
		return "schema"
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestHTTPAllowList(t *testing.T) {
	patterns := []string{"https://api.example/v1/*", "https://*.wild.example/*", "http://10.0.0.7:8080/status", "https://bücher.example/a/*/c", "https://[2606:4700::1111]/*"}
	var list []*allowed
	for _, p := range patterns {
		a, err := parseAllowed(p)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, a)
	}
	for _, test := range []struct {
		url  string
		want string // the pattern; "": not allowed; "!": no URL
	}{
		{"https://api.example/v1/x", patterns[0]},
		{"https://api.example/v1/x/y?q=1&r=/../..", patterns[0]},
		{"HTTPS://API.Example:443/v1/x", patterns[0]},
		{"https://api.example./v1/x", patterns[0]}, // the root's dot
		{"https://api.example/v1/", patterns[0]},
		{"https://api.example/v1/%41", patterns[0]},
		{"https://api.example/%76%31/x", patterns[0]}, // v1: the same to every server
		{"https://api.example/v1", ""},
		{"https://api.example/v2/x", ""},
		{"https://api.example/V1/x", ""},
		{"https://api.example/", ""},
		{"http://api.example/v1/x", ""},
		{"https://api.example:8443/v1/x", ""},
		{"https://api.example:80/v1/x", ""},
		{"https://api.example.evil.example/v1/x", ""},
		{"https://evil.example/https://api.example/v1/x", ""},
		{"https://evil.example/?https://api.example/v1/x", ""},
		{"https://evil.example#@api.example/v1/x", ""},
		{"https://xapi.example/v1/x", ""},
		{"https://api.example/v1/../v2", "!"},
		{"https://api.example/v1/%2e%2e/v2", "!"},
		{"https://api.example/v1/.%2E/v2", "!"},
		{"https://api.example/v1/..;/v2", "!"},
		{"https://api.example/v1/..%3Bx/v2", "!"},
		{"https://api.example/v1/%252e%252e/v2", "!"},
		{"https://api.example/v1/..%2fv2", "!"},
		{"https://api.example/v1/..%5cv2", "!"},
		{`https://api.example/v1/..\v2`, "!"},
		{`https://api.example\@evil.example/v1/x`, "!"},
		{"https://api.example/v1/%00", "!"},
		{"https://api.example/v1/%0d%0aHost:evil", "!"},
		{"https://api.example/v1/x\r\nHost: evil", "!"},
		{"https://api.example@evil.example/v1/x", "!"},
		{"https://api.example:443@evil.example/v1/x", "!"},
		{"https://user:pass@api.example/v1/x", "!"},
		{"https://@api.example/v1/x", "!"},
		{"https:///api.example/v1/x", "!"},
		{"https:api.example/v1/x", "!"},
		{"//api.example/v1/x", "!"},
		{"api.example/v1/x", "!"},
		{"ftp://api.example/v1/x", "!"},
		{"file:///etc/passwd", "!"},
		{"gopher://api.example/v1/x", "!"},
		{"javascript:alert(1)", "!"},
		{"https://api.example:0443/v1/x", "!"},
		{"https://api.example:99999/v1/x", "!"},
		{"https://api.example:/v1/x", patterns[0]},
		{"https://ａｐｉ.example/v1/x", ""}, // full width
		{"https://аpi.example/v1/x", ""}, // Cyrillic
		{"https://api。example/v1/x", ""}, // another dot
		{"https://api.example\u200b/v1/x", ""},
		{"https://api.example%00.evil.example/v1/x", "!"},
		{"https://api.example%2eevil.example/v1/x", "!"},
		{"https://a.wild.example/x", patterns[1]},
		{"https://wild.example/x", ""},
		{"https://a.b.wild.example/x", ""},
		{"https://.wild.example/x", "!"},
		{"https://evilwild.example/x", ""},
		{"http://10.0.0.7:8080/status", patterns[2]},
		{"http://10.0.0.7:8080/status/", ""},
		{"http://10.0.0.7/status", ""},
		{"http://[::ffff:10.0.0.7]:8080/status", patterns[2]}, // the same address
		{"http://0xa000007:8080/status", "!"},
		{"http://167772167:8080/status", "!"},
		{"http://012.0.0.7:8080/status", "!"},
		{"http://10.7:8080/status", "!"},
		{"http://10.0.0.7.:8080/status", "!"},
		{"https://xn--bcher-kva.example/a/b/c", patterns[3]},
		{"https://bücher.example/a/ü/c", patterns[3]},
		{"https://bücher.example/a//c", ""},
		{"https://bücher.example/a/b/d/c", ""},
		{"https://[2606:4700:0:0::1111]/x", patterns[4]},
		{"https://[2606:4700::1111%25eth0]/x", "!"},
		{"https://api.example/v1/" + strings.Repeat("x", builtins.MaxNorm), "!"},
		{"", "!"},
	} {
		got := "!"
		if u, err := cleanURL(test.url); err == nil {
			got = ""
			if a := entryFor(list, u); a != nil {
				got = a.text
			}
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.url, got, test.want)
		}
	}
}

func TestHTTPAllowListThatIsWrong(t *testing.T) {
	for _, test := range []struct{ pattern, want string }{
		{"api.example/*", "begins with https:// or http://"},
		{"ftp://api.example/*", "begins with https:// or http://"},
		{"*://api.example/*", "begins with https:// or http://"},
		{"https://api.example", "want a path"},
		{"https://*/*", "URL: want a host"},
		{"https://*.com/*", "two names"},
		{"https://*.com./*", "two names"},
		{"https://api.*.example/*", "URL: want a host"},
		{"https://u@api.example/*", "a user name never does"},
		{"https://api.example/*?x=1", "any query goes with them"},
		{"https://api.example/../*", "has . or .. for a step"},
		{"https://api.example/a*/b", "a star alone"},
		{"https://api.example:*/b", "scheme://host/path"},
		{"https://0x7f000001/*", "an IP address as it is usually written"},
	} {
		_, err := parseAllowed(test.pattern)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want …%s…", test.pattern, err, test.want)
		}
	}
}

func TestHTTPSpecialAddresses(t *testing.T) {
	d := &dialer{networks: prefixes("127.0.0.1/32", "10.1.0.0/16")}
	for _, test := range []struct {
		addr string
		ok   bool
	}{
		{"8.8.8.8", true}, {"1.1.1.1", true}, {"2606:4700::1111", true}, {"172.15.0.1", true}, {"172.32.0.1", true}, {"100.128.0.1", true}, {"198.20.0.1", true},
		{"127.0.0.1", true}, {"10.1.2.3", true}, {"::ffff:127.0.0.1", true}, // listed
		{"127.0.0.2", false}, {"127.1.1.1", false}, {"0.0.0.0", false}, {"0.1.2.3", false}, {"10.2.0.1", false}, {"172.16.0.1", false}, {"172.31.255.255", false},
		{"192.168.1.1", false}, {"169.254.169.254", false}, {"169.254.170.2", false}, {"100.64.0.1", false}, {"100.100.100.200", false}, {"192.0.0.192", false},
		{"192.0.2.1", false}, {"198.18.0.1", false}, {"198.51.100.1", false}, {"203.0.113.1", false}, {"224.0.0.1", false}, {"239.255.255.250", false}, {"240.0.0.1", false},
		{"255.255.255.255", false}, {"168.63.129.16", false}, {"192.88.99.1", false},
		{"::", false}, {"::1", false}, {"::ffff:10.2.0.1", false}, {"::ffff:169.254.169.254", false}, {"::169.254.169.254", false}, {"64:ff9b::a9fe:a9fe", false},
		{"64:ff9b::808:808", false}, {"64:ff9b:1::1", false}, {"2002:a9fe:a9fe::1", false}, {"2002:808:808::1", false}, {"2001::1", false}, {"2001:0:53aa::1", false},
		{"2001:db8::1", false}, {"3fff::1", false}, {"fd00:ec2::254", false}, {"fc00::1", false}, {"fe80::1", false}, {"fec0::1", false}, {"ff02::1", false}, {"100::1", false},
		{"5f00::1", false},
	} {
		if err := d.check("h", netip.MustParseAddr(test.addr)); (err == nil) != test.ok {
			t.Errorf("%s: got %v, want ok = %v", test.addr, err, test.ok)
		}
	}
	if d.check("h", netip.Addr{}) == nil || d.check("h", netip.MustParseAddr("fe80::1%eth0")) == nil {
		t.Error("no address, and one with a zone, are reached")
	}
}

func TestHTTPContent(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.URL.Query().Get("type"))
		switch r.URL.Path {
		case "/latin":
			w.Write([]byte("caf\xe9"))
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			io.WriteString(z, `{"a": [1, 2.5, null, true, 123456789012345678901234567890]}`)
			z.Close()
		case "/br":
			w.Header().Set("Content-Encoding", "br")
			io.WriteString(w, "xxx")
		case "/binary":
			w.Write([]byte{0x89, 'P', 'N', 'G', 0, 1, 2})
		case "/html":
			io.WriteString(w, "<title>T</title><h2>Rates</h2><p>See <a href='/x'>the <b>table</b></a>.<script>no()</script><ul><li>one<li>two</ul><ol><li>a</li><li>b</li></ol>"+
				"<table><tr><th>k<th>v<tr><td>1<td>2</table><pre>x = 1\n\ny</pre><blockquote>said</blockquote>end")
		case "/broken":
			io.WriteString(w, `{"a": [1, 2`)
		case "/deep":
			io.WriteString(w, strings.Repeat("[", 100_000))
		case "/many":
			io.WriteString(w, "["+strings.Repeat("[],", maxValues)+"[]]")
		case "/empty":
		default:
			io.WriteString(w, "plain\r\ntext\x00\x1b[2J")
		}
	})
	k, _ := s.kit(t, nil)
	for _, test := range []struct{ path, as, code, text, data string }{
		{"/x?type=text/plain", "", "", "plain\ntext[2J", "None"},
		{"/latin?type=text/plain;charset%3Diso-8859-1", "", "", "café", "None"},
		{"/latin?type=text/plain", "", "", "café", "None"},
		{"/gzip?type=application/json", "", "", "", `{"a": [1, 2.5, None, True, 123456789012345678901234567890]}`},
		{"/gzip?type=application/problem%2Bjson", "", "", "", `{"a": [1, 2.5, None, True, 123456789012345678901234567890]}`},
		{"/gzip?type=application/json", "text", "", `{"a": [1, 2.5, null, true, 123456789012345678901234567890]}`, "None"},
		{"/gzip?type=text/plain", "json", "", "", `{"a": [1, 2.5, None, True, 123456789012345678901234567890]}`},
		{"/br?type=text/plain", "", "not-text", "", ""},
		{"/binary?type=image/png", "", "not-text", "", ""},
		{"/binary?type=image/png", "text", "not-text", "", ""},
		{"/binary", "", "not-text", "", ""},
		{"/x?type=application/octet-stream", "", "not-text", "", ""},
		{"/broken?type=application/json", "", "invalid-json", "", ""},
		{"/x?type=application/json", "", "invalid-json", "", ""},
		{"/empty?type=application/json", "", "invalid-json", "", ""},
		{"/empty?type=text/plain", "", "", "", "None"},
		{"/deep?type=application/json", "", "too-large", "", ""},
		{"/many?type=application/json", "", "too-large", "", ""},
		{"/html?type=text/html", "", "", "## Rates\n\nSee [the **table**](/x).\n- one\n- two\n\n1. a\n2. b\n\nk | v\n1 | 2\n\n```\nx = 1\n\ny\n```\n\n> said\n\nend", "None"},
		{"/html?type=text/html", "text", "", "<title>", ""},
	} {
		args := map[string]any{"url": s.url("api.example", test.path)}
		if test.as != "" {
			args["as"] = test.as
		}
		got, err := k.call("http.get", args)
		if codeOf(err) != test.code {
			t.Errorf("%s as %q: got the error %v, want %q", test.path, test.as, err, test.code)
		}
		if err != nil || test.code != "" {
			continue
		}
		text, _ := got.Get("text")
		data, _ := got.Get("data")
		if text.Str != test.text && (test.text != "<title>" || !strings.HasPrefix(text.Str, "<title>")) || test.data != "" && data.Text() != test.data {
			t.Errorf("%s as %q: got %q and %s, want %q and %s", test.path, test.as, text.Str, data.Text(), test.text, test.data)
		}
	}
}

// Replies that are too large are refused whatever they say of their size, and however well they are packed.
func TestHTTPHugeReplies(t *testing.T) {
	var sent atomic.Int64
	bomb := func() []byte {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
		zeros := make([]byte, 1<<20)
		for range 64 {
			z.Write(zeros)
		}
		z.Close()
		return b.Bytes()
	}()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		switch r.URL.Path {
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(bomb)
		case "/length":
			w.Header().Set("Content-Length", "99999999999")
			w.WriteHeader(200)
		case "/error":
			w.WriteHeader(500)
			fallthrough
		default:
			chunk := bytes.Repeat([]byte("x"), 64<<10)
			for range 1 << 14 { // a gigabyte
				n, err := w.Write(chunk)
				sent.Add(int64(n))
				if err != nil {
					return
				}
			}
		}
	})
	k, _ := s.kit(t, nil)
	for path, want := range map[string]string{"/bomb": "too-large", "/length": "too-large", "/endless": "too-large", "/error": "server-error"} {
		_, err := k.call("http.get", map[string]any{"url": s.url("api.example", path)})
		if codeOf(err) != want {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
		if err != nil && len(err.Error()) > 500 {
			t.Errorf("%s: the error has %d bytes", path, len(err.Error()))
		}
	}
	if n := sent.Load(); n > 64<<20 {
		t.Errorf("the server got rid of %d bytes", n)
	}
}

// A server that sends its reply a byte at a time, and one that says nothing, take no more than the time there is.
func TestHTTPSlowServers(t *testing.T) {
	stop := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/drip" {
			for {
				io.WriteString(w, "x")
				w.(http.Flusher).Flush()
				select {
				case <-stop:
					return
				case <-r.Context().Done():
					return
				case <-time.After(10 * time.Millisecond):
				}
			}
		}
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	})
	defer close(stop)
	k, w := s.kit(t, map[string]any{"timeout": "200ms"})
	if got := k.tools["http.get"].Timeout; got != 200*time.Millisecond || w.timeout != got {
		t.Fatalf("the tool's time is %v", got)
	}
	for _, path := range []string{"/drip", "/silent"} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		k.ctx = ctx
		_, err := k.call("http.get", map[string]any{"url": s.url("api.example", path)})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v, want the deadline", path, err)
		}
		cancel()
	}
}

func TestHTTPStatus(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var code int
		fmt.Sscanf(r.URL.Path, "/%d", &code)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(code)
		if code != 204 && code != 304 {
			io.WriteString(w, "{\"error\":\n \"no such item\"}")
		}
	})
	k, _ := s.kit(t, nil)
	for _, test := range []struct {
		status     int
		code, text string
	}{
		{400, "refused", "400 Bad Request, retry after 7: {\"error\": \"no such item\"}"}, {401, "no-permission", "401"}, {403, "no-permission", "403"},
		{404, "not-found", "404 Not Found: {"}, {410, "not-found", "410"}, {408, "timeout", "408"}, {409, "refused", "409"}, {429, "rate-limited", "429 Too Many Requests, retry after 7"},
		{500, "server-error", "500"}, {504, "timeout", "504"}, {304, "refused", "304"}, {599, "server-error", "599, retry"},
	} {
		_, err := k.call("http.get", map[string]any{"url": s.url("api.example", fmt.Sprintf("/%d?q=hidden", test.status))})
		if codeOf(err) != test.code || !strings.Contains(err.Error(), test.text) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%d: got %s: %v, want %s: …%s… without the query", test.status, codeOf(err), err, test.code, test.text)
		}
	}
	if v, err := k.call("http.head", map[string]any{"url": s.url("api.example", "/200")}); err != nil {
		t.Error(err)
	} else if status, _ := v.Get("status"); status.Text() != "200" {
		t.Errorf("head: got %s", v.Text())
	}
}

func TestHTTPPost(t *testing.T) {
	type got struct{ method, media, key, body, query string }
	var mu sync.Mutex
	var all []got
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		all = append(all, got{r.Method, r.Header.Get("Content-Type"), r.Header.Get("X-Once"), string(b), r.URL.RawQuery})
		mu.Unlock()
		w.WriteHeader(201)
	})
	k, _ := s.kit(t, map[string]any{"idempotency_key": "X-Once"})
	if !k.tools["http.post"].Idempotent {
		t.Error("with a key a post can be tried again")
	}
	if k2, _ := s.kit(t, nil); k2.tools["http.post"].Idempotent {
		t.Error("without a key a post can be tried again")
	}
	u := s.url("api.example", "/x?a=1")
	for _, args := range []map[string]any{
		{"url": u, "body": "text"},
		{"url": u, "body": map[string]any{"n": int64(1), "list": []any{"<&>", nil}}},
		{"url": u, "body": "a,b", "type": "Text/CSV", "query": map[string]any{"b": "x&c=2#", "n": int64(3), "t": true}},
	} {
		if _, err := k.call("http.post", args); err != nil {
			t.Fatal(err)
		}
	}
	k.key = "run/1.2"
	if _, err := k.call("http.post", map[string]any{"url": u, "body": ""}); err != nil {
		t.Fatal(err)
	}
	want := []got{
		{"POST", "text/plain; charset=utf-8", all[0].key, "text", "a=1"},
		{"POST", "application/json", all[0].key, `{"list":["\u003c\u0026\u003e",null],"n":1}`, "a=1"},
		{"POST", "text/csv; charset=utf-8", all[0].key, "a,b", "a=1&b=x%26c%3D2%23&n=3&t=true"},
		{"POST", "text/plain; charset=utf-8", all[3].key, "", "a=1"},
	}
	if !slices.Equal(all, want) || all[0].key == "" || all[0].key == all[3].key || strings.Contains(all[0].key, "run") {
		t.Errorf("the server got\n%v, want\n%v", all, want)
	}
	for name, args := range map[string]map[string]any{
		"a media type with a line break":   {"url": u, "body": "x", "type": "text/csv\r\nX-Evil: 1"},
		"values of another type than JSON": {"url": u, "body": []any{}, "type": "text/csv"},
	} {
		if _, err := k.call("http.post", args); codeOf(err) != "invalid" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := k.call("http.post", map[string]any{"url": u, "body": strings.Repeat("x", defaultReply+1)}); codeOf(err) != "too-large" {
		t.Errorf("got %v", err)
	}
}

func TestHTTPOptions(t *testing.T) {
	t.Setenv("KEY", "sk-1")
	const secret = "sk-0123456789abcdef"
	for _, test := range []struct {
		name    string
		options map[string]any
		want    string
	}{
		{"none", map[string]any{}, "allow"},
		{"an empty list", map[string]any{"allow": []any{}}, "allow"},
		{"a pattern that is wrong", map[string]any{"allow": []any{"https://a.example"}}, `option allow: [0]: "https://a.example": want a path, such as https://a.example/*`},
		{"a network", map[string]any{"allow": []any{"https://a.example/*"}, "networks": []any{"127.0.0.1"}}, "want a range of addresses"},
		{"a network that is not masked", map[string]any{"allow": []any{"https://a.example/*"}, "networks": []any{"10.1.2.3/8"}}, "want a range of addresses"},
		{"a mapped network", map[string]any{"allow": []any{"https://a.example/*"}, "networks": []any{"::ffff:10.0.0.0/104"}}, "want a range of addresses"},
		{"a secret in the file", map[string]any{"allow": []any{"https://a.example/*"}, "headers": map[string]any{"Authorization": "Bearer " + secret}}, "a secret is never written into a file"},
		{"a secret in a list", map[string]any{"allow": []any{"https://a.example/*"}, "headers": []any{secret}}, "want a map from names"},
		{"a secret as a variable", map[string]any{"allow": []any{"https://a.example/*"}, "headers": map[string]any{"X-Api-Key": map[string]any{"value": secret}}}, "want {env: NAME} or {file: PATH}"},
		{"a number", map[string]any{"allow": []any{"https://a.example/*"}, "headers": map[string]any{"X-Api-Key": int64(5)}}, "want a text"},
		{"a header that frames", map[string]any{"allow": []any{"https://a.example/*"}, "headers": map[string]any{"transfer-encoding": "chunked"}}, "how a message is framed"},
		{"the host", map[string]any{"allow": []any{"https://a.example/*"}, "headers": map[string]any{"host": "b.example"}}, "how a message is framed"},
		{"a line break", map[string]any{"allow": []any{"https://a.example/*"}, "headers": map[string]any{"X-A": "1\r\nX-B: 2"}}, "line break"},
		{"one key for two hosts", map[string]any{"allow": []any{"https://a.example/*", "https://b.example/*"}, "headers": map[string]any{"X-Api-Key": map[string]any{"env": "KEY"}}}, "want one scheme, host and port in allow"},
		{"one key for two schemes", map[string]any{"allow": []any{"https://a.example/*", "http://a.example/*"}, "headers": map[string]any{"X-Api-Key": map[string]any{"env": "KEY"}}}, "want one scheme, host and port in allow"},
		{"a time", map[string]any{"allow": []any{"https://a.example/*"}, "timeout": "10"}, "want a duration"},
		{"an unknown key", map[string]any{"allow": []any{map[string]any{"url": "https://a.example/*", "trsut": "user"}}}, "trsut"},
		{"a key's header", map[string]any{"allow": []any{"https://a.example/*"}, "idempotency_key": "content-length"}, "want the name of a header"},
	} {
		_, err := Lookup("http").Build(t.Context(), Env{Dir: t.TempDir(), Principal: "ana@corp.example"}, test.options)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want …%s…", test.name, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the problem repeats what may be a secret: %v", test.name, err)
		}
	}
}

func TestHTTPLabels(t *testing.T) {
	k, w := webKit(t, &names{}, map[string]any{"allow": []any{
		"https://news.example/*",
		map[string]any{"url": "https://crm.example/*", "trust": "internal", "readers": []any{"group:sales"}, "tags": []any{"pii"}},
		map[string]any{"url": "https://crm.example/open/*", "trust": "user"}, // never reached: the first that fits counts
		"https://*.wild.example/*",
	}})
	ana := "ana@corp.example"
	for _, test := range []struct {
		url  string
		want label.Label
	}{
		{"https://news.example/a", label.New(label.Untrusted, label.Only(ana, "news.example"), nil)},
		{"https://crm.example/open/a", label.New(label.Internal, label.Only("group:sales"), []string{"pii"})},
		{"https://a.wild.example/a", label.New(label.Untrusted, label.Only(ana), nil)},
		{"https://elsewhere.example/", label.New(label.Untrusted, label.Only(), []string{"pii"})},
	} {
		args, err := value.Of(map[string]any{"url": test.url}, label.Bottom())
		if err != nil {
			t.Fatal(err)
		}
		got, err := k.tools["http.get"].LabelResult(map[string]any{"status": 200, "url": "", "type": "", "text": "x", "data": nil}, args)
		if err != nil {
			t.Fatal(err)
		}
		if !got.Deep().SameClass(test.want) {
			t.Errorf("%s: got %s, want %s", test.url, got.Deep(), test.want)
		}
		u, _ := url.Parse(test.url)
		if s := got.Deep().Sources(); len(s) != 1 || s[0] != (label.Source{Tool: "http.get", Of: u.Hostname()}) {
			t.Errorf("%s: its sources are %v, want the host", test.url, s)
		}
	}
	if got := w.label().Class; !got.SameClass(label.New(label.Untrusted, label.Only(), []string{"pii"})) {
		t.Errorf("errors are labelled %s, want as low as the lowest", got)
	}
	assumed := k.tools["http.get"].Assumptions()
	if len(assumed) != 2 || !strings.Contains(assumed[0], "https://crm.example/*: assumed to be internal/{group:sales}#pii") {
		t.Errorf("assumed: %q", assumed)
	}
	// An untrusted URL is not named as where something came from.
	args, _ := value.Of(map[string]any{"url": "https://news.example/a"}, label.New(label.Untrusted, label.Public(), nil))
	got, err := k.tools["http.get"].LabelResult(map[string]any{"status": 200, "url": "", "type": "", "text": "x", "data": nil}, args)
	if s := got.Deep().Sources(); err != nil || len(s) != 1 || s[0].Of != "?" {
		t.Errorf("got %v %v", s, err)
	}
}

func TestHTTPSecretsStayInHeaders(t *testing.T) {
	const key = "sk-Zq7+/eXw0rd=="
	t.Setenv("CALLGATE_TEST_KEY", " "+key+"\n")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("tok-5bd1e995\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var heads []http.Header
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		heads = append(heads, r.Header.Clone())
		auth := r.Header.Get("Authorization")
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/echo":
			fmt.Fprintf(w, `{"%s": ["%s", "%s"], "bare": "%s"}`, r.Header.Get("X-Token"), auth, url.QueryEscape(strings.TrimPrefix(auth, "Bearer ")), strings.ReplaceAll(strings.TrimPrefix(auth, "Bearer "), "/", `\/`))
		case "/error":
			w.WriteHeader(401)
			fmt.Fprintf(w, `{"message": "%s is not valid"}`, auth)
		case "/location":
			w.Header().Set("Location", "http://evil.example/?"+url.QueryEscape(auth))
			w.WriteHeader(302)
		case "/broken":
			conn, _, _ := w.(http.Hijacker).Hijack()
			fmt.Fprintf(conn, "%s\r\n\r\n", auth)
			conn.Close()
		case "/type":
			w.Header().Set("Content-Type", auth)
		}
	})
	headers := map[string]any{"Authorization": map[string]any{"env": "CALLGATE_TEST_KEY", "prefix": "Bearer "}, "X-Token": map[string]any{"file": filepath.Join(dir, "token")}, "Accept": "application/json"}
	k, _ := s.kit(t, map[string]any{"headers": headers})
	for _, path := range []string{"/echo", "/error", "/location", "/broken", "/type"} {
		got, err := k.call("http.get", map[string]any{"url": s.url("api.example", path)})
		text := fmt.Sprint(err)
		if err == nil {
			text = got.Text()
		}
		for _, part := range []string{key, "sk-Zq7", "tok-5bd1e995", url.QueryEscape(key)} {
			if strings.Contains(text, part) {
				t.Errorf("%s: %s holds %s", path, text, part)
			}
		}
		if path == "/echo" && (err != nil || strings.Count(text, "[secret]") != 4) {
			t.Errorf("%s: got %s %v", path, text, err)
		}
	}
	for _, h := range heads {
		if h.Get("Authorization") != "Bearer "+key || h.Get("X-Token") != "tok-5bd1e995" || h.Get("Accept") != "application/json" {
			t.Errorf("the server got %v", h)
		}
	}
	t.Setenv("CALLGATE_TEST_KEY", "")
	heads = nil
	if _, err := k.call("http.get", map[string]any{"url": s.url("api.example", "/echo")}); codeOf(err) != "no-secret" || !strings.Contains(err.Error(), "environment variable CALLGATE_TEST_KEY") || heads != nil {
		t.Errorf("without the secret: got %v, and the server %d requests", err, len(heads))
	}
	t.Setenv("CALLGATE_TEST_KEY", "a\nb")
	if _, err := k.call("http.get", map[string]any{"url": s.url("api.example", "/echo")}); codeOf(err) != "no-secret" || strings.Contains(err.Error(), "a\nb") {
		t.Errorf("a secret of two lines: got %v", err)
	}
}

// What a server does to a secret before it says it, and what is done to what it says, does not hide it.
func TestHTTPSecretsAreFoundHoweverTheyAreSaid(t *testing.T) {
	const key = "sk-Zq_7+/eXw0rd"
	t.Setenv("CALLGATE_TEST_KEY", key)
	t.Setenv("CALLGATE_TEST_NUMBER", "8675309123")
	b64 := base64.StdEncoding.EncodeToString([]byte("Bearer " + key))
	said := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
	}
	header := func(status int, name, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(name, text)
			w.WriteHeader(status)
			fmt.Fprint(w, "x")
		}
	}
	failed := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			fmt.Fprint(w, text)
		}
	}
	for name, h := range map[string]http.HandlerFunc{
		"as a media type": header(200, "Content-Type", "text/"+key), "as a type that is not read": header(200, "Content-Type", "image/"+key),
		"in a media type's parameter": header(200, "Content-Type", "text/plain; charset="+key), "in a type's end": header(200, "Content-Type", "text/"+strings.Repeat("x", 90)+key),
		"as a packing": header(200, "Content-Encoding", key), "at a packing's end": header(200, "Content-Encoding", strings.Repeat("x", 52)+key),
		"as when to come again": header(429, "Retry-After", strings.Repeat("1", 52)+key), "where it leads": header(302, "Location", "http://api.example/x?"+url.QueryEscape(key)),
		"small letters": said(strings.ToLower(key)), "in an error, escaped": failed(`{"m": "\u0073` + key[1:] + `"}`), "in an error, in base64": failed(`{"m": "` + b64 + `"}`),
		"in an error, broken over lines": failed("x\n" + key + "\ny"), "base64 with something before it": said(b64), "hex": said(hex.EncodeToString([]byte(key))), "a program": said(`"\x73` + key[1:] + `"`),
		"HTML": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<p>it is &#115;%s</p>", key[1:])
		},
		"a number": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"n": [8675309123, 8675309124]}`)
		},
	} {
		s := serve(t, h)
		k, _ := s.kit(t, map[string]any{"headers": map[string]any{
			"Authorization": map[string]any{"env": "CALLGATE_TEST_KEY", "prefix": "Bearer "}, "X-Number": map[string]any{"env": "CALLGATE_TEST_NUMBER"},
		}})
		got, err := k.call("http.get", map[string]any{"url": s.url("api.example", "/")})
		text := fmt.Sprint(err)
		if err == nil {
			text = got.Text()
		}
		small := strings.ToLower(strings.ReplaceAll(text, "\\", ""))
		for _, part := range []string{"sk-zq", "_7+/", "exw0rd", strings.ToLower(b64[12:20]), hex.EncodeToString([]byte(key))[:8], "8675309123"} {
			if strings.Contains(small, part) {
				t.Errorf("%s: %s holds %s", name, text, part)
			}
		}
		if !strings.Contains(text, "[secret]") && name != "in a type's end" && name != "where it leads" && name != "in a media type's parameter" && !strings.HasPrefix(name, "at a packing") && name != "as when to come again" {
			t.Errorf("%s: %s does not say that there was one", name, text)
		}
	}
}

// A server that leads elsewhere with the secret it was sent does not have it said there: neither in the URL nor by who is asked next.
func TestHTTPSecretsAreKnownAfterARedirect(t *testing.T) {
	const key = "sk-0123456789abcdef"
	t.Setenv("CALLGATE_TEST_KEY", key)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a":
			w.Header().Set("Location", "/b?key="+r.Header.Get("Authorization"))
			w.WriteHeader(302)
		case "/c":
			w.Header().Set("Location", "/missing?key="+r.Header.Get("Authorization"))
			w.WriteHeader(302)
		case "/missing":
			w.WriteHeader(404)
			fmt.Fprint(w, r.URL.RawQuery)
		default:
			if r.Header.Get("Authorization") != "" {
				t.Errorf("%s got the header of another entry", r.URL.Path)
			}
			fmt.Fprintf(w, "you asked for %s", r.URL.RawQuery)
		}
	})
	with := func(path string) any {
		return map[string]any{"url": s.url("api.example", path), "headers": map[string]any{"Authorization": map[string]any{"env": "CALLGATE_TEST_KEY"}}}
	}
	k, _ := s.kit(t, map[string]any{"allow": []any{with("/a"), with("/c"), s.url("api.example", "/b"), s.url("api.example", "/missing")}})
	got, err := k.call("http.get", map[string]any{"url": s.url("api.example", "/a")})
	if err != nil || strings.Contains(got.Text(), key) || strings.Count(got.Text(), "[secret]") != 2 {
		t.Errorf("got %s, %v", got.Text(), err)
	}
	if _, err := k.call("http.get", map[string]any{"url": s.url("api.example", "/c")}); err == nil || strings.Contains(err.Error(), key) {
		t.Errorf("got %v", err)
	}
}
