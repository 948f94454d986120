package modeltest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"callgate/agents/model"
)

// Key is the key that a [Server] wants.
const Key = "sk-test-0123456789-abcdefghijklmnop"

// Answer answers one request in the place of the server's model.
type Answer func(w http.ResponseWriter, a *Asked)

// Server serves a model over HTTP, in the protocol that is spoken to it: OpenAI's at /v1/chat/completions, Anthropic's at /v1/messages. It is as strict as
// the providers are about conversations, and closed when the test ends.
type Server struct {
	URL string

	t     testing.TB
	model model.Model
	stop  chan struct{}

	mu      sync.Mutex
	instead []Answer
	asked   []*Asked
}

// Serve serves a model; nil: none. The first requests are answered by instead, one each; nil among them is the model.
func Serve(t testing.TB, m model.Model, instead ...Answer) *Server {
	t.Helper()
	s := &Server{t: t, model: m, instead: instead, stop: make(chan struct{})}
	h := httptest.NewServer(s)
	s.URL = h.URL
	t.Cleanup(func() {
		close(s.stop)
		h.CloseClientConnections()
		h.Close()
	})
	return s
}

// Config is that of a model which the server serves; provider is openai or anthropic. It waits little before another attempt.
func (s *Server) Config(provider string) model.Config {
	c := model.Config{Provider: provider, Name: "test-model", BaseURL: s.URL, Backoff: 1, Key: model.KeySource{Env: "TEST_KEY", Getenv: func(string) string { return Key }}}
	if provider == "openai" {
		c.BaseURL += "/v1"
	}
	return c
}

// Model is that model.
func (s *Server) Model(provider string) *model.Remote {
	s.t.Helper()
	m, err := model.New(s.Config(provider))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { m.Close() })
	return m
}

// Asked returns what was asked, in order.
func (s *Server) Asked() []*Asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// Asked is one request.
type Asked struct {
	Protocol string // openai or anthropic
	Header   http.Header
	Body     []byte
	N        int // from 1
	Request  model.Request

	stop <-chan struct{}
	done <-chan struct{}
}

// Wait returns when the client is gone, or the test ends.
func (a *Asked) Wait() {
	select {
	case <-a.stop:
	case <-a.done:
	}
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	a := &Asked{Header: r.Header, Body: body, stop: s.stop, done: r.Context().Done()}
	var key string
	switch r.URL.Path {
	case "/v1/chat/completions":
		a.Protocol = "openai"
		key = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		a.Request, err = readOpenAI(body)
	case "/v1/messages":
		a.Protocol = "anthropic"
		key = r.Header.Get("X-Api-Key")
		if a.Request, err = readAnthropic(body); err == nil && r.Header.Get("Anthropic-Version") == "" {
			err = fmt.Errorf("anthropic-version: header is required")
		}
	default:
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	s.asked = append(s.asked, a)
	a.N = len(s.asked)
	var answer Answer
	if a.N <= len(s.instead) {
		answer = s.instead[a.N-1]
	}
	s.mu.Unlock()
	switch {
	case key != Key:
		Fail(401, "authentication_error", "invalid key "+key)(w, a)
	case err != nil:
		s.t.Errorf("%s: a request that the provider would refuse: %v\n%s", a.Protocol, err, body)
		Fail(400, "invalid_request_error", err.Error())(w, a)
	case answer != nil:
		answer(w, a)
	case s.model == nil:
		Fail(400, "invalid_request_error", fmt.Sprintf("request %d was not expected", a.N))(w, a)
	default:
		reply, err := s.model.Generate(r.Context(), a.Request)
		if err != nil {
			Fail(400, "invalid_request_error", err.Error())(w, a)
			return
		}
		Says(reply)(w, a)
	}
}

// Says answers with a reply, in the style that was asked for: a fenced program becomes a call of run where the model is to call it.
func Says(r model.Reply) Answer {
	return func(w http.ResponseWriter, a *Asked) {
		Stream(Events(a, r)...)(w, a)
	}
}

// Stream answers with a stream of events, of which each is sent at once.
func Stream(events ...string) Answer {
	return func(w http.ResponseWriter, a *Asked) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			io.WriteString(w, e+"\n\n")
			w.(http.Flusher).Flush()
		}
	}
}

// Body answers with a body of a type.
func Body(status int, kind, body string) Answer {
	return func(w http.ResponseWriter, a *Asked) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// Fail answers with an error as the provider writes it. Headers are pairs of names and values.
func Fail(status int, kind, message string, headers ...string) Answer {
	return func(w http.ResponseWriter, a *Asked) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		Body(status, "application/json", object("type", "error", "error", map[string]any{"type": kind, "code": kind, "message": message}))(w, a)
	}
}

// Cut sends so many of a reply's events, and then closes the connection.
func Cut(r model.Reply, events int) Answer {
	return func(w http.ResponseWriter, a *Asked) {
		all := Events(a, r)
		Stream(all[:min(events, len(all))]...)(w, a)
		panic(http.ErrAbortHandler)
	}
}

// Stall sends so many of a reply's events, and then nothing.
func Stall(r model.Reply, events int) Answer {
	return func(w http.ResponseWriter, a *Asked) {
		all := Events(a, r)
		Stream(all[:min(events, len(all))]...)(w, a)
		a.Wait()
	}
}

// Turns is a model that answers each conversation with its replies one after the other, by how many stand in it already: any number of conversations can be held at once.
func Turns(replies ...model.Reply) model.Model { return turns(replies) }
