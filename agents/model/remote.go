package model

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Config says which model is asked, and how. Provider and Name are required.
type Config struct {
	Provider string // openai: or whoever speaks its protocol; anthropic
	Name     string
	BaseURL  string // "": the provider's own
	Insecure bool   // BaseURL may be one of http:// though the server is not on this machine

	// Key says where the key is. The zero KeySource is the provider's environment variable if BaseURL is the provider's own, else nowhere:
	// a key goes to nobody for whom it was not meant.
	Key KeySource

	MaxTokens int64         // of a reply; 0: 8192
	Timeout   time.Duration // of a reply, with all attempts; 0: 10 minutes
	Idle      time.Duration // that a server may send nothing; 0: 2 minutes
	Attempts  int           // 0: 5
	Backoff   time.Duration // before the second attempt, twice as much before each further one; 0: half a second
	Price     Price         // the zero Price: nothing costs anything
}

const (
	defaultMaxTokens = 8192
	defaultTimeout   = 10 * time.Minute
	defaultIdle      = 2 * time.Minute
	defaultAttempts  = 5
	defaultBackoff   = 500 * time.Millisecond
	maxBackoff       = 30 * time.Second

	maxHeader = 64 << 10
	maxBody   = 16 << 20 // bytes that are read of an answer
	maxFailed = 64 << 10 // bytes that are read of one that is no success
	maxReply  = 1 << 20  // bytes of a reply, its calls included
	maxCalls  = 16       // in a reply

	// lastWords is how long a server that has said all of a reply may take to say how many tokens it was.
	lastWords = 5 * time.Second
)

// protocol speaks to a server once.
type protocol interface {
	// once makes one attempt. An [*Error] says whether another one may do; the reply says with an error too what was used up.
	once(a *attempt, r *Request) (Reply, error)
}

// Remote is a model that is served over HTTP. Close gives back its connections.
type Remote struct {
	cfg  Config
	host string
	base string
	http *http.Client
	protocol

	mu  sync.Mutex
	key *Key // nil: it was not read yet
}

// New returns a model that a provider serves, or what is wrong with the configuration. Nothing is asked of the provider yet.
func New(cfg Config) (*Remote, error) {
	own := map[string]struct{ url, env string }{
		"openai":    {"https://api.openai.com/v1", "OPENAI_API_KEY"},
		"anthropic": {"https://api.anthropic.com", "ANTHROPIC_API_KEY"},
	}[cfg.Provider]
	switch {
	case own.url == "":
		return nil, fmt.Errorf("provider: got %q, want openai or anthropic", cfg.Provider)
	case cfg.Name == "":
		return nil, errors.New("name: got none, want that of a model")
	}
	m := &Remote{cfg: cfg, base: cfg.BaseURL}
	if m.base == "" {
		m.base = own.url
		if m.cfg.Key.String() == (KeySource{}).String() {
			m.cfg.Key.Env = own.env
		}
	}
	u, err := url.Parse(m.base)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("baseURL: want a URL that begins with https:// or http://, without a password or query")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("baseURL: got %s://, want https://", u.Scheme)
	case u.Scheme == "http" && !cfg.Insecure && !loopback(u.Hostname()):
		return nil, fmt.Errorf("baseURL: got http://%s, want https://: whoever is in between would read the key, and all that the model is shown; insecure: true says that nobody is", u.Host)
	}
	m.base, m.host = strings.TrimRight(m.base, "/"), u.Host
	setDefault(&m.cfg.MaxTokens, defaultMaxTokens)
	setDefault(&m.cfg.Timeout, defaultTimeout)
	setDefault(&m.cfg.Idle, defaultIdle)
	setDefault(&m.cfg.Attempts, defaultAttempts)
	setDefault(&m.cfg.Backoff, defaultBackoff)
	transport := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    30 * time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    16,
		MaxResponseHeaderBytes: maxHeader,
	}
	m.http = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if cfg.Provider == "openai" {
		m.protocol = &openAI{m}
	} else {
		m.protocol = &anthropic{m}
	}
	return m, nil
}

func setDefault[T int | int64 | time.Duration](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// Provider implements [Model].
func (m *Remote) Provider() string { return m.cfg.Provider }

// Name implements [Model].
func (m *Remote) Name() string { return m.cfg.Name }

// String says which model it is, and where.
func (m *Remote) String() string { return m.cfg.Provider + "/" + m.cfg.Name + " at " + m.host }

// Close gives back the connections that nothing is using.
func (m *Remote) Close() error {
	m.http.CloseIdleConnections()
	return nil
}

// Ready reads the key, if it was not read yet: a [*KeyError] says why it cannot be.
func (m *Remote) Ready(ctx context.Context) error {
	_, err := m.loadKey(ctx)
	return err
}

func (m *Remote) loadKey(ctx context.Context) (Key, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.key == nil {
		k, err := m.cfg.Key.Load(ctx)
		if err != nil {
			return Key{}, err
		}
		m.key = &k
	}
	return *m.key, nil
}

// Generate implements [Model]. The error is a [*KeyError], an [*Error], or ctx's.
func (m *Remote) Generate(ctx context.Context, r Request) (Reply, error) {
	key, err := m.loadKey(ctx)
	if err != nil {
		return Reply{}, err
	}
	if r.MaxTokens <= 0 || r.MaxTokens > m.cfg.MaxTokens {
		r.MaxTokens = m.cfg.MaxTokens
	}
	end := time.Now().Add(m.cfg.Timeout)
	var wasted Usage
	for n := 1; ; n++ {
		reply, err := m.attempt(ctx, n, key, end, &r)
		wasted = wasted.Add(reply.Usage)
		if err == nil {
			reply.Usage = wasted
			reply.Cost = m.cfg.Price.Of(wasted)
			return reply, nil
		}
		used := Reply{Usage: wasted, Cost: m.cfg.Price.Of(wasted)}
		if ctx.Err() != nil {
			return used, ctx.Err()
		}
		failed, ok := errors.AsType[*Error](err)
		if !ok {
			return used, err
		}
		failed.Model, failed.Attempts = m.String(), n
		wait := m.backoff(n)
		if failed.after > 0 {
			wait = failed.after + wait/4
		}
		switch left := time.Until(end); {
		case !failed.retry || n == m.cfg.Attempts:
			return used, failed
		case wait >= left:
			if failed.after > 0 {
				failed.Text += fmt.Sprintf(", and asks to wait %s, which is more than is left of model.timeout", failed.after.Round(time.Millisecond))
			}
			return used, failed
		}
		if r.Progress != nil {
			r.Progress(Progress{Attempt: n + 1, Waiting: fmt.Sprintf("%s; again in %s", failed.Text, wait.Round(100*time.Millisecond))})
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return used, ctx.Err()
		}
	}
}

// backoff is how long is waited after the n-th attempt: at random, so that many who failed together do not come back together.
func (m *Remote) backoff(n int) time.Duration {
	d := min(m.cfg.Backoff<<min(n-1, 16), maxBackoff)
	return d/2 + rand.N(d/2+1)
}

// attempt is one conversation with the server. It ends when its context does, of which the cause is an [*Error] if it is not the user's doing.
type attempt struct {
	m      *Remote
	ctx    context.Context
	cancel context.CancelCauseFunc
	n      int
	key    Key
	idle   *time.Timer
	begun  bool  // a reply has begun
	whole  bool  // all of it has arrived
	body   int64 // bytes read
	looked int   // how much of the text was looked at for the key
	told   func(Progress)
}

// attempt makes one.
func (m *Remote) attempt(ctx context.Context, n int, key Key, end time.Time, r *Request) (Reply, error) {
	a := &attempt{m: m, n: n, key: key, told: r.Progress}
	ctx, stop := context.WithDeadlineCause(ctx, end, &Error{
		Text: fmt.Sprintf("no whole reply within %s", m.cfg.Timeout), Hint: "model.timeout says how long a reply may take, and model.maxTokens how long it may be",
	})
	defer stop()
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	a.idle = time.AfterFunc(m.cfg.Idle, func() {
		e := broken("the server sent nothing for %s", m.cfg.Idle)
		a.cancel(e)
	})
	defer a.cancel(nil)
	defer a.idle.Stop()
	reply, err := m.once(a, r)
	if err == nil {
		err = a.check(&reply)
	}
	if a.begun && reply.Usage == (Usage{}) { // it does not say: about one for each two bytes
		reply.Usage = Usage{In: r.size()/2 + 1, Out: replySize(&reply) / 2}
	}
	if err != nil {
		return Reply{Usage: reply.Usage}, a.why(err)
	}
	return reply, nil
}

func holdsKey() error {
	return &Error{Text: "the reply holds the key", Hint: "whoever serves the model sends the key to it: take another key, and do not send it there"}
}

func replySize(r *Reply) int64 {
	n := len(r.Text)
	for _, c := range r.Calls {
		n += len(c.Name) + len(c.Input)
	}
	return int64(n)
}

// check refuses a whole reply that nobody should see.
func (a *attempt) check(r *Reply) error {
	holds := a.key.in(r.Text)
	for _, c := range r.Calls {
		holds = holds || a.key.in(c.ID+c.Name+c.Input)
	}
	if holds {
		return holdsKey()
	}
	if r.Text == "" && len(r.Calls) == 0 && r.Stop == "" {
		return broken("the reply is empty")
	}
	seen := map[string]bool{}
	for i := range r.Calls { // ids are to be answered one by one
		c := &r.Calls[i]
		for n := i; c.ID == "" || seen[c.ID]; n++ {
			c.ID = fmt.Sprintf("call_%d", n)
		}
		seen[c.ID] = true
	}
	return nil
}

// why makes an [*Error] of whatever ended the attempt.
func (a *attempt) why(err error) error {
	if known, ok := errors.AsType[*Error](context.Cause(a.ctx)); ok {
		err = known
	}
	if known, ok := errors.AsType[*Error](err); ok {
		e := *known
		return &e
	}
	if a.ctx.Err() != nil {
		return a.ctx.Err()
	}
	if bad, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return &Error{Text: "the server is not who it says: " + line(bad.Unwrap().Error(), a.key), Hint: "look at model.baseURL, and at the certificates that this machine trusts"}
	}
	if unknown, ok := errors.AsType[*net.DNSError](err); ok && unknown.IsNotFound {
		return &Error{Text: "there is no host of that name", Hint: "look at model.baseURL, and whether the network is there"}
	}
	switch text := err.Error(); {
	case strings.Contains(text, "server response headers exceeded"):
		return &Error{Text: fmt.Sprintf("the headers of the answer are longer than %d bytes", maxHeader), Hint: "look at model.baseURL: this is no server of models"}
	case strings.Contains(text, "server gave HTTP response to HTTPS client"):
		return &Error{Text: "the server speaks no TLS", Hint: "look at model.baseURL: https:// may have to be http:// for a server on this machine"}
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) { // without the URL
		err = inner
	}
	if a.begun {
		return broken("the reply broke off: %s", line(err.Error(), a.key))
	}
	e := broken("the server cannot be reached: %s", line(err.Error(), a.key))
	e.Hint = "look at model.baseURL, and whether what serves the model runs"
	return e
}

// Do sends a request with the key, and returns the answer if it is a stream: what is no success, or something else, is an [*Error], but for a
// [*wholeAnswer]. Reading it ends with the attempt.
func (a *attempt) Do(req *http.Request) (*http.Response, error) {
	req = req.WithContext(a.ctx)
	if a.key.text != nil {
		if a.m.cfg.Provider == "anthropic" {
			req.Header.Set("X-Api-Key", *a.key.text)
		} else {
			req.Header.Set("Authorization", "Bearer "+*a.key.text)
		}
	}
	req.Header.Set("User-Agent", "callgate")
	res, err := a.m.http.Do(req)
	if err != nil {
		return nil, err
	}
	said := a.key.out(res.Header.Get("Content-Type")) // before its letters are made small
	kind, _, _ := mime.ParseMediaType(said)
	switch {
	case res.StatusCode < 200 || res.StatusCode >= 300:
		b, _ := io.ReadAll(io.LimitReader(a.reader(res.Body), maxFailed)) // what cannot be read says nothing
		res.Body.Close()
		kind, code, said := saidIn(b, a.key)
		e := ofStatus(res.StatusCode, kind, code, said, res.Header, time.Now())
		if a.key.text == nil && (res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden) {
			e.Hint = "no key was sent: with a baseURL of its own, model.key must say where one is, such as {env: NAME}"
		}
		return nil, e
	case kind == "text/event-stream":
		a.begun = true
		res.Body = &struct {
			io.Reader
			io.Closer
		}{a.reader(res.Body), res.Body}
		return res, nil
	case kind == "application/json":
		b, err := io.ReadAll(a.reader(res.Body))
		res.Body.Close()
		if err != nil {
			return nil, err
		}
		if kind, code, said := saidIn(b, a.key); kind != "" || code != "" || said != "" {
			e := ofStream(kind, code, said)
			e.Text = "the server answered with an error"
			return nil, e
		}
		return nil, &wholeAnswer{b}
	}
	res.Body.Close()
	if kind, _, _ = strings.Cut(said, ";"); kind == "" {
		kind = "something without a type"
	}
	return nil, &Error{Status: res.StatusCode, Text: fmt.Sprintf("the server answered with %s, want text/event-stream", line(kind, a.key)), Hint: "look at model.baseURL: this is no server of models, or it stands behind one that asks to log in"}
}

// wholeAnswer is an answer that came at once, though a stream was asked for.
type wholeAnswer struct{ body []byte }

func (*wholeAnswer) Error() string { return "the answer is no stream" }

// saidIn returns what an answer in JSON says of an error.
func saidIn(body []byte, key Key) (kind, code, said string) {
	var out struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  any             `json:"detail"`
	}
	if json.Unmarshal(body, &out) != nil {
		return "", "", ""
	}
	var e struct {
		Type    string `json:"type"`
		Code    any    `json:"code"`
		Message string `json:"message"`
	}
	if string(out.Error) == "null" {
		out.Error = nil
	}
	switch {
	case out.Error == nil:
		e.Message = out.Message
		if detail, ok := out.Detail.(string); ok {
			e.Message = detail
		}
	case json.Unmarshal(out.Error, &e.Message) != nil:
		if json.Unmarshal(out.Error, &e) != nil {
			e.Type = "error"
		}
	}
	if c, ok := e.Code.(string); ok {
		code = c
	}
	return e.Type, code, line(e.Message, key)
}

// reader reads an answer: no more than may be, and while something arrives.
func (a *attempt) reader(r io.Reader) io.Reader { return &answerReader{a, r} }

type answerReader struct {
	a *attempt
	r io.Reader
}

func (r *answerReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	a := r.a
	if n > 0 && !a.whole && a.ctx.Err() == nil {
		a.idle.Reset(a.m.cfg.Idle)
	}
	if a.body += int64(n); a.body > maxBody {
		return 0, &Error{Text: fmt.Sprintf("the answer is longer than %d MiB", maxBody>>20), Hint: "look at model.baseURL: this is no server of models"}
	}
	return n, err
}

// complete says that all of the reply has arrived: for what else the server says there is little time.
func (a *attempt) complete() {
	if !a.whole {
		a.whole = true
		a.idle.Reset(min(lastWords, a.m.cfg.Idle))
	}
}

// grow tells how far the reply has come, and refuses one that is too long.
func (a *attempt) grow(text string, size int) error {
	if size > maxReply {
		return &Error{Text: fmt.Sprintf("the reply is longer than %d KiB", maxReply>>10), Hint: "set model.maxTokens lower, if the server heeds it"}
	}
	if a.key.in(text[max(0, min(a.looked, len(text))-a.key.forms.Window()):]) {
		return holdsKey()
	}
	a.looked = len(text)
	if a.told != nil {
		a.told(Progress{Attempt: a.n, Text: a.key.before(text), Tokens: int64(size+bytesPerToken-1) / bytesPerToken})
	}
	return nil
}

// count makes a number of tokens of what a server says, which may be anything.
func count(n int64) int64 { return min(max(n, 0), math.MaxInt32) }

// inputOf is the input of a call as it goes back to the provider: an object, whatever the model wrote.
func inputOf(c Call) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(c.Input), &fields) != nil || fields == nil {
		return json.RawMessage("{}")
	}
	var b bytes.Buffer
	if json.Compact(&b, []byte(c.Input)) != nil {
		return json.RawMessage("{}")
	}
	return b.Bytes()
}

// wordOf makes a name or an id of what a model wrote, of the characters that providers take.
func wordOf(s, def string) string {
	out := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, s)
	if out == "" {
		return def
	}
	return out[:min(len(out), 64)]
}

// runSchema is the schema of the tool's arguments.
var runSchema = json.RawMessage(`{"type":"object","properties":{"` + RunProgram + `":{"type":"string","description":"A whole program in Starlark."}},"required":["` + RunProgram + `"],"additionalProperties":false}`)

const runDoc = "Run one program. What it printed is shown to you as far as you may see it."

// notMade is what comes of a call that is not the one which the user's message answers.
const notMade = "This call was not made."
