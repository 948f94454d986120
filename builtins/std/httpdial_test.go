package std

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"callgate/builtins"
	"callgate/engine/label"
)

// What a name resolves to is looked at when the socket is made, whatever it resolved to before.
func TestHTTPRebinding(t *testing.T) {
	var hits atomic.Int64
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { hits.Add(1); fmt.Fprint(w, "internal") })
	for _, test := range []struct {
		name    string
		answers [][]netip.Addr
		code    string
	}{
		{"loopback", [][]netip.Addr{at("127.0.0.1")}, "not-allowed"},
		{"loopback in IPv6 clothes", [][]netip.Addr{at("::ffff:127.0.0.1")}, "not-allowed"},
		{"metadata", [][]netip.Addr{at("169.254.169.254")}, "not-allowed"},
		{"all of them", [][]netip.Addr{at("10.0.0.1", "::1", "fd00:ec2::254", "64:ff9b::7f00:1")}, "not-allowed"},
		{"then loopback", [][]netip.Addr{at("::1"), at("127.0.0.1")}, "not-allowed"},
		{"nothing", [][]netip.Addr{nil}, "connection"},
	} {
		s.names.answers["api.example"] = test.answers
		k, _ := webKit(t, s.names, map[string]any{"allow": []any{s.url("api.example", "/*")}})
		for range 3 {
			_, err := k.call("http.get", map[string]any{"url": s.url("api.example", "/")})
			if codeOf(err) != test.code {
				t.Errorf("%s: got %v, want %s", test.name, err, test.code)
			}
			if err != nil && (strings.Contains(err.Error(), "127.0") || strings.Contains(err.Error(), "10.0.0.1")) {
				t.Errorf("%s: the error tells an address: %v", test.name, err)
			}
		}
	}
	if hits.Load() != 0 {
		t.Errorf("the server of this machine got %d requests", hits.Load())
	}
	for _, host := range s.names.asked {
		if !strings.HasSuffix(host, ".") {
			t.Errorf("asked for %q, want a name that no search list is added to", host)
		}
	}
	// The socket itself looks again.
	d := &dialer{resolver: s.names}
	if _, err := d.dial(t.Context(), "tcp", s.Listener.Addr().String()); err == nil {
		t.Error("an address was reached without being listed")
	}
	// An address that is listed is reached, others of the same name are not.
	s.names.answers["api.example"] = [][]netip.Addr{at("10.0.0.1", "127.0.0.1")}
	k, _ := s.kit(t, nil)
	if _, err := k.call("http.get", map[string]any{"url": s.url("api.example", "/")}); err != nil || hits.Load() != 1 {
		t.Errorf("got %v", err)
	}
}

func TestHTTPLiteralAddresses(t *testing.T) {
	var hits atomic.Int64
	s := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	k, _ := webKit(t, s.names, map[string]any{"allow": []any{"http://127.0.0.1:" + s.port + "/*"}})
	for _, host := range []string{"127.0.0.1", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "localhost", "localhost."} {
		if _, err := k.call("http.get", map[string]any{"url": "http://" + host + ":" + s.port + "/"}); err == nil {
			t.Errorf("%s was reached", host)
		}
	}
	if hits.Load() != 0 {
		t.Errorf("the server got %d requests", hits.Load())
	}
}

func TestHTTPNoProxy(t *testing.T) {
	var proxied atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { proxied.Add(1) }))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "direct") })
	k, w := s.kit(t, nil)
	if got, err := k.call("http.get", map[string]any{"url": s.url("api.example", "/")}); err != nil || !strings.Contains(got.Text(), "direct") || proxied.Load() != 0 || w.transport.Proxy != nil {
		t.Errorf("got %v %v, and the proxy %d requests", got.Text(), err, proxied.Load())
	}
}

func TestHTTPRedirects(t *testing.T) {
	t.Setenv("CALLGATE_TEST_KEY", "sk-1234567890")
	type request struct{ host, method, path, auth, referer, body string }
	var got []request
	var s *local
	s = serve(t, func(w http.ResponseWriter, r *http.Request) {
		b := new(strings.Builder)
		fmt.Fprint(b, r.ContentLength)
		host, _, _ := strings.Cut(r.Host, ":")
		got = append(got, request{host, r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Referer"), b.String()})
		to := func(status int, where string) {
			w.Header().Set("Location", where)
			w.WriteHeader(status)
		}
		switch r.URL.Path {
		case "/relative":
			to(302, "end?x=1")
		case "/absolute":
			to(301, s.url("api.example", "/end"))
		case "/keep":
			to(307, "/end")
		case "/see":
			to(303, "/end")
		case "/other":
			to(302, s.url("other.example", "/end"))
		case "/keep-other":
			to(308, s.url("other.example", "/end"))
		case "/out":
			to(302, s.url("api.example", "/a/")+"%2e%2e/secret")
		case "/unlisted":
			to(302, "http://unlisted.example/")
		case "/metadata":
			to(302, "http://169.254.169.254/latest/meta-data/")
		case "/scheme":
			to(302, "file:///etc/passwd")
		case "/user":
			to(302, "http://x:y@api.example:"+s.port+"/end")
		case "/loop":
			to(302, "/loop")
		case "/nowhere":
			w.WriteHeader(302)
		case "/private":
			to(302, s.url("x.wild.example", "/end"))
		default:
			fmt.Fprint(w, "end")
		}
	})
	s.names.answers["x.wild.example"] = [][]netip.Addr{at("10.0.0.1")}
	secret := map[string]any{"Authorization": map[string]any{"env": "CALLGATE_TEST_KEY"}}
	options := func(redirects string) map[string]any {
		return map[string]any{"redirects": redirects, "allow": []any{
			map[string]any{"url": s.url("api.example", "/*"), "headers": secret, "trust": "internal"},
			map[string]any{"url": s.url("other.example", "/*"), "headers": map[string]any{"Authorization": map[string]any{"env": "CALLGATE_TEST_KEY", "prefix": "other "}}},
			s.url("x.wild.example", "/*"),
		}}
	}
	const key = "sk-1234567890"
	for _, test := range []struct {
		redirects, method, path string
		code                    string
		requests                []request
	}{
		{"same-host", "get", "/relative", "", []request{{"api.example", "GET", "/relative", key, "", "0"}, {"api.example", "GET", "/end", key, "", "0"}}},
		{"same-host", "get", "/absolute", "", []request{{"api.example", "GET", "/absolute", key, "", "0"}, {"api.example", "GET", "/end", key, "", "0"}}},
		{"same-host", "head", "/absolute", "", []request{{"api.example", "HEAD", "/absolute", key, "", "0"}, {"api.example", "HEAD", "/end", key, "", "0"}}},
		{"same-host", "post", "/see", "", []request{{"api.example", "POST", "/see", key, "", "4"}, {"api.example", "GET", "/end", key, "", "0"}}},
		{"same-host", "post", "/keep", "", []request{{"api.example", "POST", "/keep", key, "", "4"}, {"api.example", "POST", "/end", key, "", "4"}}},
		{"same-host", "get", "/other", "redirect", []request{{"api.example", "GET", "/other", key, "", "0"}}},
		{"allowed", "get", "/other", "", []request{{"api.example", "GET", "/other", key, "", "0"}, {"other.example", "GET", "/end", "", "", "0"}}},
		{"allowed", "post", "/other", "", []request{{"api.example", "POST", "/other", key, "", "4"}, {"other.example", "GET", "/end", "", "", "0"}}},
		{"allowed", "post", "/keep-other", "redirect", []request{{"api.example", "POST", "/keep-other", key, "", "4"}}},
		{"none", "get", "/relative", "redirect", []request{{"api.example", "GET", "/relative", key, "", "0"}}},
		{"allowed", "get", "/out", "redirect", []request{{"api.example", "GET", "/out", key, "", "0"}}},
		{"allowed", "get", "/unlisted", "redirect", []request{{"api.example", "GET", "/unlisted", key, "", "0"}}},
		{"allowed", "get", "/metadata", "redirect", []request{{"api.example", "GET", "/metadata", key, "", "0"}}},
		{"allowed", "get", "/scheme", "redirect", []request{{"api.example", "GET", "/scheme", key, "", "0"}}},
		{"allowed", "get", "/user", "redirect", []request{{"api.example", "GET", "/user", key, "", "0"}}},
		{"allowed", "get", "/nowhere", "redirect", []request{{"api.example", "GET", "/nowhere", key, "", "0"}}},
		{"allowed", "get", "/private", "not-allowed", []request{{"api.example", "GET", "/private", key, "", "0"}}},
	} {
		got = nil
		o := options(test.redirects)
		o["networks"] = []any{"127.0.0.1/32"}
		k, _ := webKit(t, s.names, o)
		args := map[string]any{"url": s.url("api.example", test.path)}
		if test.method == "post" {
			args["body"] = "body"
		}
		v, err := k.call("http."+test.method, args)
		if codeOf(err) != test.code || fmt.Sprint(got) != fmt.Sprint(test.requests) {
			t.Errorf("%s %s, %s: got %v and\n%v, want %q and\n%v", test.method, test.path, test.redirects, err, got, test.code, test.requests)
		}
		if err != nil {
			continue
		}
		want := label.Internal
		if strings.Contains(test.path, "other") {
			want = label.Untrusted // what came in the end from there
		}
		if got := v.Deep().Trust(); got != want {
			t.Errorf("%s %s: the result is %s, want %s", test.method, test.path, got, want)
		}
	}
	got = nil
	k, _ := s.kit(t, nil)
	if _, err := k.call("http.get", map[string]any{"url": s.url("api.example", "/loop")}); codeOf(err) != "redirect" || len(got) != maxRedirects+1 {
		t.Errorf("a loop: got %v after %d requests", err, len(got))
	}
}

// From https a server cannot lead to http, though that were allowed.
func TestHTTPRedirectToHTTP(t *testing.T) {
	w := &web{redirects: redirectsAllow, allow: []*allowed{allow(t, "https://api.example/*"), allow(t, "http://api.example/*")}}
	u, err := cleanURL("https://api.example/a")
	if err != nil {
		t.Fatal(err)
	}
	r := &request{method: http.MethodGet, url: u, entry: w.allow[0]}
	if err := w.follow(r, &redirect{location: "http://api.example/b"}); codeOf(err) != "redirect" || r.url != u {
		t.Errorf("got %v", err)
	}
	if err := w.follow(r, &redirect{location: "//api.example/b"}); err != nil || r.url.String() != "https://api.example/b" {
		t.Errorf("got %v, %v", err, r.url)
	}
}

func allow(t *testing.T, pattern string) *allowed {
	t.Helper()
	a, err := parseAllowed(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A certificate that nobody vouches for is not accepted.
func TestHTTPCertificates(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	addr := s.Listener.Addr().String()
	k, _ := webKit(t, &names{}, map[string]any{"allow": []any{"https://" + addr + "/*"}, "networks": []any{"127.0.0.1/32"}})
	if _, err := k.call("http.get", map[string]any{"url": "https://" + addr + "/"}); codeOf(err) != "connection" || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v", err)
	}
}

// A cancelled call ends.
func TestHTTPCancelled(t *testing.T) {
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	k, _ := s.kit(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	k.ctx = ctx
	if _, err := k.call("http.get", map[string]any{"url": s.url("api.example", "/")}); err == nil {
		t.Error("it was not cancelled")
	}
}

func FuzzHTTPURL(f *testing.F) {
	for _, s := range []string{"https://api.example/v1/x", "https://api.example/v1/..;/x", "http://[::1]/%2e", "https://a:b@c/", "https://api.example/v1/%252e?x y"} {
		f.Add(s)
	}
	a, err := parseAllowed("https://api.example/v1/*")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := cleanURL(text)
		if err != nil || !a.fits(u) {
			return
		}
		if u.Scheme != "https" || u.Host != "api.example" && u.Host != "api.example:443" || u.User != nil || !strings.HasPrefix(u.Path, "/v1/") {
			t.Errorf("%q is allowed as %v", text, u)
		}
		for _, step := range strings.Split(u.Path, "/") {
			if step == ".." || step == "." {
				t.Errorf("%q is allowed as %v", text, u)
			}
		}
		if line := u.RequestURI(); strings.ContainsAny(line, " \r\n\x00") {
			t.Errorf("%q is requested as %q", text, line)
		}
		if again, err := cleanURL(u.String()); err != nil || again.String() != u.String() {
			t.Errorf("%q: %v has another normal form, %v, %v", text, u, again, err)
		}
		if norm, host := builtins.NormURL(text); host != u.Hostname() || norm == "" {
			t.Errorf("%q: policies see %q, and %q is fetched", text, host, u.Hostname())
		}
	})
}
