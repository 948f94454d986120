package std

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"callgate/builtins"
	"callgate/engine/label"
	"callgate/engine/secret"
	"callgate/engine/value"
)

const (
	defaultReply   = 1 << 20 // bytes of a reply, unpacked
	defaultWait    = 30 * time.Second
	maxRedirects   = 5
	maxExcerpt     = 200 // bytes of a failed reply that the error quotes
	redirectsNone  = "none"
	redirectsSame  = "same-host"
	redirectsAllow = "allowed"
)

func httpSet() set {
	return set{
		Factory{
			Name: "http",
			Doc:  "Fetch from the URLs of a list, and post to them. Nothing else can be reached, and of that only public addresses unless others are listed.",
			Options: append([]builtins.Param{
				{Name: "allow", Doc: "URLs that can be reached: https://api.example.com/v1/*, where * stands for one name of the path or, at its end, for anything; *.example.com is every host one name below. " +
					"In place of a text a map: url, and for it alone trust, readers, tags and headers.",
					Schema: schema(`{"type": "array", "minItems": 1, "maxItems": 200, "items": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "object", "additionalProperties": false, "required": ["url"], "properties": {
						"url": {"type": "string", "minLength": 1}, "trust": {"enum": ["untrusted", "internal", "user", "system"]},
						"readers": {"type": "array", "items": {"type": "string", "minLength": 1}}, "tags": {"type": "array", "items": {"type": "string", "minLength": 1}}, "headers": {}}}]}}`), Required: true},
				{Name: "networks", Doc: "Addresses that can be reached though they are not public, such as 10.0.0.0/8 or 127.0.0.1/32. Default: none.", Schema: schema(`{"type": "array", "items": {"type": "string"}}`)},
				{Name: "headers", Doc: "Sent with every request: texts, or {env: NAME} or {file: PATH}, with a prefix such as \"Bearer \" if need be, for what is secret. All of allow is then one scheme, host and port."},
				{Name: "redirects", Doc: "Which redirects are followed, five at most: none, those within a host, or all to what is allowed. With the last, servers choose which of the allowed URLs is fetched, and policies see the first. Default: same-host.",
					Schema: schema(`{"enum": ["none", "same-host", "allowed"]}`)},
				{Name: "idempotency_key", Doc: "Name of a header, such as Idempotency-Key, by which servers know a second try of one http.post. Without it a post that was broken off is not tried again.", Schema: schema(`{"type": "string", "minLength": 1}`)},
				{Name: "max_size", Doc: "The most that a reply may be, unpacked, and what is posted, such as 64KiB. Default: 1MiB."},
				{Name: "timeout", Doc: "How long one call may take, redirects and all, such as 10s. Default: 30s."},
			}, labelOptions("untrusted")...),
			build: buildHTTP,
		},
		[]string{"http.get", "http.head", "http.post"},
	}
}

func buildHTTP(_ context.Context, b *builder) (*Toolset, error) {
	w := b.web(net.DefaultResolver)
	if w == nil {
		return nil, nil
	}
	return &Toolset{Tools: w.tools(), Close: w.close}, nil
}

// web is what can be reached, and how.
type web struct {
	allow     []*allowed
	redirects string
	keyHeader string
	maxSize   int64
	timeout   time.Duration
	transport *http.Transport
}

// web reads the options. It reports what is wrong and returns nil.
func (b *builder) web(names resolver) *web {
	w := &web{
		redirects: b.text("redirects", redirectsSame), keyHeader: b.text("idempotency_key", ""),
		maxSize: b.size("max_size", defaultReply, 1, 8<<20), timeout: b.duration("timeout", defaultWait, time.Millisecond, 10*time.Minute),
	}
	if w.keyHeader != "" && !mayBeSent(w.keyHeader) {
		b.fail("idempotency_key", fmt.Sprintf("got %q, want the name of a header such as Idempotency-Key", w.keyHeader))
	}
	d := &dialer{resolver: names}
	for i, s := range texts(builtins.Arg[[]any](b.in, "networks")) {
		p, err := netip.ParsePrefix(s)
		if err != nil || p.Addr().Is4In6() || p.Addr().Zone() != "" || p != p.Masked() {
			b.fail("networks", fmt.Sprintf("[%d]: got %q, want a range of addresses such as 10.0.0.0/8 or 127.0.0.1/32", i, s))
			continue
		}
		d.networks = append(d.networks, p)
	}
	common := b.headers("headers", "", b.in.Args["headers"])
	origins := map[string]bool{}
	for i, x := range builtins.Arg[[]any](b.in, "allow") {
		if a := b.allowed(i, x); a != nil {
			a.headers = append(a.headers, common...)
			origins[a.origin()] = true
			w.allow = append(w.allow, a)
		}
	}
	if len(common) > 0 && len(origins) > 1 {
		b.fail("headers", "want one scheme, host and port in allow, or else each header beside the URL that it is for")
	}
	if len(b.bad) > 0 {
		return nil
	}
	w.transport = d.transport()
	return w
}

// allowed reads one entry of the allow-list.
func (b *builder) allowed(i int, x any) *allowed {
	text, _ := x.(string)
	own, isMap := x.(map[string]any)
	if isMap {
		text, _ = own["url"].(string)
	}
	a, err := parseAllowed(text)
	if err != nil {
		b.fail("allow", fmt.Sprintf("[%d]: %q: %v", i, text, err))
		return nil
	}
	settings := map[string]any{}
	for _, name := range []string{"trust", "readers", "tags"} {
		if v, ok := own[name]; ok {
			settings[name] = v
		} else if v, ok := b.in.Args[name]; ok {
			settings[name] = v
		}
	}
	mine := &builder{env: b.env, in: &builtins.Invocation{Args: settings}}
	a.class = mine.label(label.Untrusted)
	if _, given := settings["readers"]; !given && !a.below {
		readers := []string{a.host} // what a host said may be said to it again
		if b.env.Principal != "" {
			readers = append(readers, b.env.Principal)
		}
		a.class = a.class.WithReaders(label.Only(readers...))
	}
	a.headers = b.headers("allow", fmt.Sprintf("[%d]: headers: ", i), own["headers"])
	return a
}

func (w *web) close() error {
	w.transport.CloseIdleConnections()
	return nil
}

// label is how what is fetched is labelled: as its entry says, and an error as all entries together.
func (w *web) label() builtins.Source {
	out := builtins.Source{Class: label.Bottom(), Of: "{args.url.host}"}
	for _, a := range w.allow {
		out.Class = out.Class.Join(a.class)
	}
	for i, a := range w.allow {
		if a.class.SameClass(out.Class) && !slices.ContainsFunc(w.allow[i:], func(later *allowed) bool { return !later.class.SameClass(out.Class) }) {
			break // it and all that follow say what Class says
		}
		out.Cases = append(out.Cases, builtins.Case{When: a.text, Class: a.class, Fits: func(args map[string]any) bool {
			text, _ := args["url"].(string)
			u, err := cleanURL(text)
			return err == nil && entryFor(w.allow, u) == a
		}})
	}
	return out
}

const (
	replySchema = `{"type": "object", "additionalProperties": false, "required": ["status", "url", "type", "text", "data"], "properties": {
		"status": {"type": "integer"}, "url": {"type": "string"}, "type": {"type": "string"}, "text": {"type": "string"}, "data": {}}}`
	headSchema = `{"type": "object", "additionalProperties": false, "required": ["status", "url", "type", "size"], "properties": {
		"status": {"type": "integer"}, "url": {"type": "string"}, "type": {"type": "string"}, "size": {"type": ["integer", "null"]}}}`
)

func (w *web) tools() []*builtins.Tool {
	var hosts []string
	for _, a := range w.allow[:min(len(w.allow), 5)] {
		hosts = append(hosts, a.text)
	}
	if len(w.allow) > len(hosts) {
		hosts = append(hosts, "…")
	}
	reach := "\nReaches " + strings.Join(hosts, ", ") + "."
	fails := "\nFails with not-allowed, invalid-url, not-found, no-permission, rate-limited, refused, server-error, connection, timeout, redirect, not-text, invalid-json or too-large."
	address := builtins.Param{Name: "url", Doc: "Whole, with https:// or http://.", Schema: schema(`{"type": "string", "minLength": 1}`), Required: true, Sink: "url"}
	query := builtins.Param{Name: "query", Doc: "Added to the URL, escaped: a dict of texts, numbers and bools.", Sink: "query",
		Schema: schema(`{"type": "object", "maxProperties": 100, "additionalProperties": {"type": ["string", "number", "boolean"]}}`)}
	as := builtins.Param{Name: "as", Doc: "How the reply is read: by its type (auto), or as one of these whatever its type says. Default: auto.", Sink: "none",
		Schema: schema(`{"enum": ["auto", "text", "json", "markdown"]}`)}
	get := &builtins.Tool{
		Name:       "http.get",
		Doc:        "Fetch a URL: a dict with status, url, type (media type), text, and data: the values of a JSON reply, else None. HTML becomes markdown." + reach + fails,
		Params:     []builtins.Param{address, query, as},
		Returns:    schema(replySchema),
		Effects:    builtins.Read | builtins.Egress, // the URL tells its server something
		Idempotent: true,
	}
	head := &builtins.Tool{
		Name:       "http.head",
		Doc:        "Ask about a URL, as http.get would, without its content: a dict with status, url, type and size (None if it is not told)." + reach,
		Params:     []builtins.Param{address, query},
		Returns:    schema(headSchema),
		Effects:    builtins.Read | builtins.Egress,
		Idempotent: true,
	}
	post := &builtins.Tool{
		Name: "http.post",
		Doc:  "Post a body to a URL: a text, or a value that is sent as JSON. Returns what http.get does." + reach + fails,
		Params: []builtins.Param{address,
			{Name: "body", Doc: "A text, or a dict or list that is sent as JSON.", Schema: schema(`{"type": ["string", "object", "array"]}`), Required: true, Sink: "content"},
			{Name: "type", Doc: "Media type of a text. Default: text/plain.", Schema: schema(`{"type": "string", "maxLength": 100}`), Sink: "none"},
			query, as},
		Returns:    schema(replySchema),
		Effects:    builtins.Write | builtins.Egress,
		Idempotent: w.keyHeader != "",
	}
	for _, t := range []*builtins.Tool{get, head, post} {
		t.Label, t.Timeout = w.label(), w.timeout
	}
	get.Run = func(ctx context.Context, in *builtins.Invocation) (any, error) {
		return w.call(ctx, http.MethodGet, in)
	}
	head.Run = func(ctx context.Context, in *builtins.Invocation) (any, error) {
		return w.call(ctx, http.MethodHead, in)
	}
	post.Run = func(ctx context.Context, in *builtins.Invocation) (any, error) {
		return w.call(ctx, http.MethodPost, in)
	}
	return []*builtins.Tool{get, head, post}
}

// call makes a request, and those to which it is redirected.
func (w *web) call(ctx context.Context, method string, in *builtins.Invocation) (any, error) {
	u, err := target(in)
	if err != nil {
		return nil, err
	}
	req := &request{method: method, url: u, as: cmp.Or(builtins.Arg[string](in, "as"), "auto")}
	if method == http.MethodPost {
		if err := req.setBody(in, w.maxSize); err != nil {
			return nil, err
		}
		if w.keyHeader != "" && in.Key != "" {
			sum := sha256.Sum256([]byte(in.Key))
			req.key = hex.EncodeToString(sum[:16])
		}
	}
	if req.entry = entryFor(w.allow, u); req.entry == nil {
		return nil, w.notAllowed(u)
	}
	first, seen := req.entry, label.Bottom()
	var known *secret.Forms // what was sent as a secret, which whoever it was sent to may say anywhere that it leads to
	for range maxRedirects + 1 {
		// Credentials are for the entry that was called, and for no other that a server leads to.
		var own []sent
		if req.entry == first && sameOrigin(u, req.url) {
			if own, err = sentBy(req.entry.headers); err != nil {
				return nil, err
			}
			known = secretsOf(own)
		}
		out, next, err := w.exchange(ctx, req, own, known)
		if err != nil {
			return nil, withoutSecrets(err, known)
		}
		if next == nil {
			return labelled(out, seen)
		}
		if err := w.follow(req, next); err != nil {
			return nil, withoutSecrets(err, known)
		}
		seen = seen.Join(req.entry.class.WithSources(label.Source{Tool: "http." + strings.ToLower(method), Of: scrub(req.url.Hostname(), known)}))
	}
	return nil, fail("redirect", "%s: more than %d redirects", u.Hostname(), maxRedirects)
}

// labelled is a result with the label of what it was redirected to besides its own.
func labelled(out any, l label.Label) (any, error) {
	if l.Equal(label.Bottom()) {
		return out, nil
	}
	v, err := value.Of(out, label.Bottom())
	if err != nil {
		return nil, err
	}
	return v.Joined(l), nil
}

// target is the URL of a call, with its query.
func target(in *builtins.Invocation) (*url.URL, error) {
	u, err := cleanURL(builtins.Arg[string](in, "url"))
	if err != nil {
		return nil, fail("invalid-url", "%v", err)
	}
	more := url.Values{}
	for name, v := range builtins.Arg[map[string]any](in, "query") {
		more.Set(name, scalarText(v))
	}
	if len(more) > 0 {
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+more.Encode(), "&")
	}
	if len(u.RawQuery) > 2*builtins.MaxNorm {
		return nil, fail("too-large", "query: got %d bytes, want at most %d", len(u.RawQuery), 2*builtins.MaxNorm)
	}
	return u, nil
}

func scalarText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case *big.Int:
		return v.String()
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

func (w *web) notAllowed(u *url.URL) error {
	var list []string
	for _, a := range w.allow[:min(len(w.allow), 10)] {
		list = append(list, a.text)
	}
	if len(w.allow) > len(list) {
		list = append(list, fmt.Sprintf("and %d more", len(w.allow)-len(list)))
	}
	return fail("not-allowed", "%s://%s%s: not on the list of URLs that can be reached: %s", u.Scheme, u.Host, u.EscapedPath(), strings.Join(list, ", "))
}

// request is one request of a call.
type request struct {
	method string
	url    *url.URL
	entry  *allowed
	as     string
	body   []byte
	media  string // of the body
	key    string // by which the server knows a second try; ""
}

func (r *request) setBody(in *builtins.Invocation, most int64) error {
	media := builtins.Arg[string](in, "type")
	switch body := in.Args["body"].(type) {
	case string:
		r.body, r.media = []byte(body), "text/plain; charset=utf-8"
		if media != "" && !mediaTypes.MatchString(strings.ToLower(media)) {
			return fail("invalid", "type: want a media type such as text/csv")
		}
		if media != "" {
			r.media = strings.ToLower(media) + "; charset=utf-8"
		}
	default:
		if media != "" && media != "application/json" {
			return fail("invalid", "type: what is no text is sent as application/json")
		}
		var err error
		if r.body, err = json.Marshal(body); err != nil {
			return fail("invalid", "body: %v", err)
		}
		r.media = "application/json"
	}
	if int64(len(r.body)) > most {
		return fail("too-large", "body: got %d bytes, want at most %d", len(r.body), most)
	}
	return nil
}

// follow turns the request to where a server has led it, if that is allowed.
func (w *web) follow(r *request, to *redirect) error {
	next, err := r.url.Parse(to.location)
	if err == nil {
		next.Fragment = ""
		next, err = cleanURL(next.String())
	}
	if err != nil {
		return fail("redirect", "%s: redirects to what is no URL of http or https", r.url.Hostname())
	}
	here := r.url.Hostname()
	switch {
	case w.redirects == redirectsNone:
		return fail("redirect", "%s: redirects to %s; redirects are not followed", here, next.Hostname())
	case r.url.Scheme == "https" && next.Scheme != "https":
		return fail("redirect", "%s: redirects from https to http", here)
	case w.redirects == redirectsSame && next.Hostname() != here:
		return fail("redirect", "%s: redirects to another host, %s; call that if it is meant", here, next.Hostname())
	}
	entry := entryFor(w.allow, next)
	if entry == nil {
		return fail("redirect", "%s: redirects to %s://%s, where the list of URLs does not lead", here, next.Scheme, next.Host)
	}
	if r.method == http.MethodPost {
		if !to.keep {
			r.method, r.body, r.media, r.key = http.MethodGet, nil, "", ""
		} else if !sameOrigin(r.url, next) {
			return fail("redirect", "%s: wants the body posted to %s", here, next.Hostname())
		}
	}
	r.url, r.entry = next, entry
	return nil
}

// redirect is where a server leads a request, and whether with its method and body.
type redirect struct {
	location string
	keep     bool
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && a.Hostname() == b.Hostname() && portOf(a) == portOf(b)
}

// exchange sends one request with headers of its own and reads the reply, without the secrets that are known to servers, or says where that leads.
func (w *web) exchange(ctx context.Context, r *request, own []sent, known *secret.Forms) (any, *redirect, error) {
	var body io.Reader
	if r.method == http.MethodPost {
		body = strings.NewReader(string(r.body))
	}
	req, err := http.NewRequestWithContext(ctx, r.method, r.url.String(), body)
	if err != nil {
		return nil, nil, fail("invalid-url", "URL: cannot be requested")
	}
	req.Header.Set("User-Agent", "callgate")
	req.Header.Set("Accept-Encoding", "gzip")
	if r.media != "" {
		req.Header.Set("Content-Type", r.media)
	}
	for _, h := range own {
		req.Header.Set(h.name, h.value)
	}
	if r.key != "" {
		req.Header.Set(w.keyHeader, r.key)
	}
	reply, err := w.transport.RoundTrip(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		return nil, nil, unreachable(r.url.Hostname(), err)
	}
	defer reply.Body.Close()
	switch s := reply.StatusCode; {
	case s == 301 || s == 302 || s == 303 || s == 307 || s == 308:
		to := reply.Header.Get("Location")
		if to == "" {
			return nil, nil, fail("redirect", "%s: redirects to nowhere", r.url.Hostname())
		}
		return nil, &redirect{to, s == 307 || s == 308}, nil
	case s < 200 || s >= 300:
		return nil, nil, w.statusError(ctx, r, reply, known)
	}
	out, err := w.read(ctx, r, reply, known)
	return out, nil, err
}

// withoutSecrets takes what was sent as a secret out of an error, where a server has said it again.
func withoutSecrets(err error, sent *secret.Forms) error {
	if known, ok := errors.AsType[*builtins.Error](err); ok {
		return &builtins.Error{Code: known.Code, Text: scrub(known.Text, sent)}
	}
	return err
}
