package model_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"callgate/agents/model"
	"callgate/agents/model/modeltest"
)

var providers = []string{"openai", "anthropic"}

var good = model.Reply{Text: "I go on: äöü ✓\n\n```starlark\ndone(1)\n```", Usage: model.Usage{In: 100, Out: 20, Cached: 30}}

// A conversation arrives as it is, and so does what is answered, in both protocols and both styles.
func TestConversations(t *testing.T) {
	two := modeltest.Called("id-1", "a = 1")
	two.Calls = append(two.Calls, model.Call{ID: "id-1", Name: "mail.send", Input: `{"to": 1`})
	for _, provider := range providers {
		for _, test := range []struct {
			name  string
			r     model.Request
			reply model.Reply
			want  model.Reply
		}{
			{"fenced", model.Request{System: "be kind", MaxTokens: 50, Messages: []model.Message{
				{Role: model.User, Text: "go"}, {Role: model.Assistant, Text: "I went"}, {Role: model.User, Text: "printed: 1"}, {Role: model.Assistant}, {Role: model.User, Text: "again"}}}, good, good},
			{"a call", model.Request{Style: model.Tool, Messages: []model.Message{{Role: model.User, Text: "go"}}}, modeltest.Called("id-7", "x = \"é\"\ndone(x)"), modeltest.Called("id-7", "x = \"é\"\ndone(x)")},
			{"calls that are answered", model.Request{Style: model.Tool, Messages: []model.Message{
				{Role: model.User, Text: "go"}, {Role: model.Assistant, Calls: []model.Call{model.CallOf("a", "x = 1")}}, {Role: model.User, Text: "printed: 1"},
				{Role: model.Assistant, Text: "both", Calls: []model.Call{model.CallOf("b", "x"), {ID: "c", Name: "no such/tool", Input: "{"}}}, {Role: model.User, Text: "nothing was run"}}},
				modeltest.Called("d", "done(1)"), modeltest.Called("d", "done(1)")},
			{"two calls of one id", model.Request{Style: model.Tool, Messages: []model.Message{{Role: model.User, Text: "go"}}}, two,
				model.Reply{Text: two.Text, Usage: two.Usage, Calls: []model.Call{two.Calls[0], {ID: "call_1", Name: "mail.send", Input: `{"to": 1`}}}},
			{"cut", model.Request{Messages: []model.Message{{Role: model.User, Text: "go"}}}, model.Reply{Text: "I wo", Stop: model.StopLength, Usage: model.Usage{In: 5, Out: 2}}, model.Reply{Text: "I wo", Stop: model.StopLength, Usage: model.Usage{In: 5, Out: 2}}},
			{"a call that is cut", model.Request{Style: model.Tool, Messages: []model.Message{{Role: model.User, Text: "go"}}},
				model.Reply{Calls: []model.Call{{ID: "a", Name: "run", Input: `{"program": "do`}}, Stop: model.StopLength, Usage: model.Usage{In: 5, Out: 2}},
				model.Reply{Calls: []model.Call{{ID: "a", Name: "run", Input: `{"program": "do`}}, Stop: model.StopLength, Usage: model.Usage{In: 5, Out: 2}}},
			{"an answer that fits a schema", model.Request{Schema: json.RawMessage(`{"type":"boolean"}`), Messages: []model.Message{{Role: model.User, Text: "true?"}}},
				model.Reply{Text: "true", Usage: model.Usage{In: 5, Out: 2}}, model.Reply{Text: "true", Usage: model.Usage{In: 5, Out: 2}}},
		} {
			t.Run(provider+"/"+test.name, func(t *testing.T) {
				script := &modeltest.Script{Replies: []model.Reply{test.reply}}
				s := modeltest.Serve(t, script)
				var told []model.Progress
				test.r.Progress = func(p model.Progress) { told = append(told, p) }
				got, err := s.Model(provider).Generate(t.Context(), test.r)
				if err != nil {
					t.Fatal(err)
				}
				if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", test.want) {
					t.Errorf("got\n%+v, want\n%+v", got, test.want)
				}
				asked := script.Requests()[0]
				if asked.System != test.r.System || len(asked.Messages) != len(test.r.Messages) || asked.Style != test.r.Style || string(asked.Schema) != string(test.r.Schema) {
					t.Errorf("the server was asked %+v, want %+v", asked, test.r)
				}
				if want := test.r.MaxTokens; asked.MaxTokens != want && (want != 0 || asked.MaxTokens != 8192) {
					t.Errorf("at most %d tokens were asked for, want %d", asked.MaxTokens, want)
				}
				for i, m := range asked.Messages {
					if want := test.r.Messages[i]; m.Role != want.Role || m.Text != want.Text && m.Text != "(nothing)" || len(m.Calls) != len(want.Calls) {
						t.Errorf("message %d is %+v, want %+v", i, m, want)
					}
				}
				if len(told) == 0 || told[len(told)-1].Text != test.want.Text && test.r.Schema == nil || told[len(told)-1].Attempt != 1 {
					t.Errorf("told %+v, want the whole text at last", told)
				}
			})
		}
	}
}

// sse answers with raw bytes of a stream.
func sse(text string) modeltest.Answer { return modeltest.Body(200, "text/event-stream", text) }

// endless sends a text again and again.
func endless(head, text string) modeltest.Answer {
	return func(w http.ResponseWriter, a *modeltest.Asked) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, head)
		for {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
		}
	}
}

// drip sends a byte now and then.
func drip(w http.ResponseWriter, a *modeltest.Asked) {
	w.Header().Set("Content-Type", "text/event-stream")
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if _, err := io.WriteString(w, ":"); err != nil {
			return
		}
		w.(http.Flusher).Flush()
	}
}

// by answers in the protocol that is spoken.
func by(openai, anthropic modeltest.Answer) modeltest.Answer {
	return func(w http.ResponseWriter, a *modeltest.Asked) {
		if a.Protocol == "openai" {
			openai(w, a)
		} else {
			anthropic(w, a)
		}
	}
}

const (
	openaiText = `data: {"choices":[{"index":0,"delta":{"content":"half"}}]}` + "\n\n"
	claudeText = `data: {"type":"message_start","message":{"usage":{"input_tokens":7}}}` + "\n\n" +
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"half"}}` + "\n\n"
)

// Servers misbehave in every way: what can be had is had by another attempt, and everything else is an error that says what to do. A half reply is never used.
func TestServersThatMisbehave(t *testing.T) {
	fail := modeltest.Fail
	for _, test := range []struct {
		name    string
		answer  modeltest.Answer
		again   bool   // another attempt does
		err     string // if there is no other
		hint    string
		idle    time.Duration
		timeout time.Duration
	}{
		{name: "too many requests", answer: fail(429, "rate_limit_error", "slow down"), again: true, err: "429 Too Many Requests: slow down", hint: "run it again later"},
		{name: "no credit", answer: fail(429, "insufficient_quota", "pay"), err: "429 Too Many Requests: pay", hint: "no credit"},
		{name: "an internal error", answer: fail(500, "api_error", "oh"), again: true, err: "500 Internal Server Error: oh", hint: "run it again later"},
		{name: "overloaded", answer: fail(529, "overloaded_error", "busy"), again: true, err: "529", hint: "run it again later"},
		{name: "a gateway with a page", answer: modeltest.Body(502, "text/html", "<html><h1>Bad gateway</h1></html>"), again: true, err: "502 Bad Gateway (3 attempts)", hint: "run it again later"},
		{name: "the key is refused", answer: fail(401, "authentication_error", "bad key sk-test-0123"), err: "401 Unauthorized\n", hint: "model.key"},
		{name: "it may not", answer: fail(403, "permission_error", "no"), err: "403 Forbidden\n", hint: "model.key"},
		{name: "no such model", answer: fail(404, "not_found_error", "model: none"), err: "404 Not Found: model: none", hint: "model.name"},
		{name: "too long", answer: fail(400, "context_length_exceeded", "too long"), err: "400 Bad Request: too long", hint: "print less"},
		{name: "a bad request", answer: fail(400, "invalid_request_error", "what?"), err: "400 Bad Request: what?", hint: "model.reply"},
		{name: "a long message", answer: fail(400, "x", strings.Repeat("long ", 1000)), err: "…", hint: "model"},
		{name: "an error page as a success", answer: modeltest.Body(200, "text/html; charset=utf-8", "<html>log in</html>"), err: "answered with text/html, want text/event-stream", hint: "model.baseURL"},
		{name: "no type", answer: modeltest.Body(200, "", "what"), err: "want text/event-stream", hint: "model.baseURL"},
		{name: "an error as a success", answer: modeltest.Body(200, "application/json", `{"error": {"type": "overloaded_error", "message": "busy"}}`), again: true, err: "answered with an error: busy", hint: "run it again later"},
		{name: "JSON that is none", answer: modeltest.Body(200, "application/json", `{"choices": [`), again: true, err: "", hint: "at fault"},
		{name: "no choices", answer: by(modeltest.Body(200, "application/json", `{"choices": []}`), sse(claudeText)), again: true, err: "", hint: "at fault"},
		{name: "a redirect", answer: func(w http.ResponseWriter, a *modeltest.Asked) {
			w.Header().Set("Location", "https://evil.example/v1")
			w.WriteHeader(307)
		}, err: "307 Temporary Redirect, which leads elsewhere: it is not followed", hint: "model.baseURL"},
		{name: "cut before it began", answer: modeltest.Cut(good, 0), again: true, err: "", hint: ""},
		{name: "cut in the middle", answer: modeltest.Cut(good, 4), again: true, err: "the reply broke off", hint: "at fault"},
		{name: "ended in the middle", answer: by(sse(openaiText), sse(claudeText)), again: true, err: "the reply broke off", hint: "at fault"},
		{name: "ended in an event", answer: by(sse(openaiText+`data: {"choi`), sse(claudeText+`data: {"ty`)), again: true, err: "", hint: "at fault"},
		{name: "events that are no JSON", answer: by(sse(openaiText+"data: {]\n\n"), sse(claudeText+"data: {]\n\n")), again: true, err: "not what it should be", hint: "at fault"},
		{name: "events of other types", answer: by(sse(`data: {"choices":[{"delta":{"content":7}}]}`+"\n\n"), sse(`data: {"type":7}`+"\n\n")), again: true, err: "not what it should be", hint: "at fault"},
		{name: "an error in the stream", answer: by(sse(openaiText+`data: {"error":{"message":"overloaded","type":"server_error"}}`+"\n\n"),
			sse(claudeText+`data: {"type":"error","error":{"type":"overloaded_error","message":"overloaded"}}`+"\n\n")), again: true, err: "broke off its reply with an error: overloaded", hint: "run it again later"},
		{name: "an empty stream", answer: sse(""), again: true, err: "the reply broke off", hint: "at fault"},
		{name: "nothing said", answer: by(sse(`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n"),
			sse(`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}`+"\n\n"+`data: {"type":"message_stop"}`+"\n\n")), again: true, err: "the reply is empty", hint: "at fault"},
		{name: "ended for no known reason", answer: by(sse(openaiText+`data: {"choices":[{"index":0,"delta":{},"finish_reason":"bored"}]}`+"\n\ndata: [DONE]\n\n"),
			sse(claudeText+`data: {"type":"message_delta","delta":{"stop_reason":"bored"}}`+"\n\n"+`data: {"type":"message_stop"}`+"\n\n")), again: true, err: "not known", hint: "at fault"},
		{name: "refused", answer: by(sse(openaiText+`data: {"choices":[{"index":0,"delta":{"refusal":"no"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n"),
			sse(claudeText+`data: {"type":"message_delta","delta":{"stop_reason":"refusal"}}`+"\n\n"+`data: {"type":"message_stop"}`+"\n\n")), err: "refuses to answer", hint: "word it otherwise"},
		{name: "filtered", answer: by(modeltest.Says(model.Reply{Text: "x", Stop: "content_filter"}), modeltest.Says(model.Reply{Text: "x", Stop: "refusal"})), err: "refuses to answer", hint: "word it otherwise"},
		{name: "silence", answer: func(w http.ResponseWriter, a *modeltest.Asked) { a.Wait() }, again: true, idle: 100 * time.Millisecond, err: "sent nothing for 100ms", hint: "at fault"},
		{name: "silence in the middle", answer: modeltest.Stall(good, 4), again: true, idle: 100 * time.Millisecond, err: "sent nothing for 100ms", hint: "at fault"},
		{name: "a slow drip", answer: drip, timeout: 300 * time.Millisecond, err: "no whole reply within 300ms", hint: "model.timeout"},
		{name: "an endless stream of nothing", answer: endless("", ": wait\n\n"), err: "longer than 16 MiB", hint: "model.baseURL"},
		{name: "an endless event", answer: endless("data: ", "xxxxxxxxxxxxxxxx"), err: "longer than", hint: "model.baseURL"},
		{name: "an endless reply", answer: by(endless("", `data: {"choices":[{"index":0,"delta":{"content":"`+strings.Repeat("x", 4096)+`"}}]}`+"\n\n"),
			endless(claudeText, `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`+strings.Repeat("x", 4096)+`"}}`+"\n\n")), err: "longer than 1024 KiB", hint: "model.maxTokens"},
		{name: "calls without end", answer: by(endless("", `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"id":"a","function":{"name":"run"}}]}}]}`+"\n\n"),
			endless(claudeText, `data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"run"}}`+"\n\n")), err: "too many calls", hint: "reply: fenced"},
		{name: "an error without end", answer: func(w http.ResponseWriter, a *modeltest.Asked) {
			w.WriteHeader(400)
			for {
				if _, err := io.WriteString(w, "xxxxxxxxxxxxxxxxxxxx"); err != nil {
					return
				}
			}
		}, err: "400 Bad Request\n", hint: "model.name"},
		{name: "huge headers", answer: modeltest.Fail(200, "x", "x", "X-Big", strings.Repeat("x", 100<<10)), err: "headers of the answer are longer", hint: "model.baseURL"},
		{name: "the key in the reply", answer: modeltest.Says(model.Reply{Text: "your key is " + modeltest.Key}), err: "the reply holds the key", hint: "another key"},
		{name: "the key in a call", answer: modeltest.Says(model.Reply{Calls: []model.Call{{ID: "a", Name: "run", Input: modeltest.Key}}}), err: "the reply holds the key", hint: "another key"},
		{name: "the key in a reply, in base64", answer: modeltest.Says(model.Reply{Text: "it is " + base64.RawURLEncoding.EncodeToString([]byte("Bearer "+modeltest.Key))}), err: "the reply holds the key", hint: "another key"},
		{name: "the key in a reply's program", answer: modeltest.Says(model.Reply{Text: "```\ndone(\"\\x73" + modeltest.Key[1:] + "\")\n```"}), err: "the reply holds the key", hint: "another key"},
		{name: "the key in an error, in base64", answer: fail(400, "x", "you sent "+base64.StdEncoding.EncodeToString([]byte(modeltest.Key))+"!"), err: "you sent [key]!", hint: ""},
		{name: "the key in an error, escaped", answer: fail(400, "x", `you sent \u0073`+modeltest.Key[1:]+"!"), err: "you sent [key]!", hint: ""},
		{name: "the key in an error, in capitals", answer: fail(400, "x", "you sent "+strings.ToUpper(modeltest.Key)+"!"), err: "you sent [key]!", hint: ""},
		{name: "the key as the answer's type", answer: func(w http.ResponseWriter, _ *modeltest.Asked) {
			w.Header().Set("Content-Type", "Text/"+strings.ToUpper(modeltest.Key)+"; a=b")
		}, err: "the server answered with Text/[key], want text/event-stream", hint: "model.baseURL"},
		{name: "the key in an error", answer: fail(400, "x", "you sent "+modeltest.Key+"!"), err: "you sent [key]!", hint: ""},
		{name: "wait longer than there is time", answer: fail(429, "rate_limit_error", "slow down", "Retry-After", "7200"), err: "asks to wait 2h0m0s, which is more than is left of model.timeout", hint: "run it again later"},
	} {
		for _, provider := range providers {
			t.Run(test.name+"/"+provider, func(t *testing.T) {
				for _, recovers := range []bool{true, false} {
					if recovers && !test.again {
						continue
					}
					instead := []modeltest.Answer{test.answer, test.answer, test.answer}
					if recovers {
						instead = instead[:2]
					}
					s := modeltest.Serve(t, &modeltest.Script{Replies: []model.Reply{good}}, instead...)
					cfg := s.Config(provider)
					cfg.Attempts, cfg.Idle, cfg.Timeout = 3, test.idle, test.timeout
					m, err := model.New(cfg)
					if err != nil {
						t.Fatal(err)
					}
					defer m.Close()
					var told []model.Progress
					r := ask("go")
					r.Progress = func(p model.Progress) { told = append(told, p) }
					reply, err := m.Generate(t.Context(), r)
					if recovers {
						if err != nil || reply.Text != good.Text || len(s.Asked()) != 3 {
							t.Errorf("got %+v, %v after %d attempts, want the reply at the third", reply, err, len(s.Asked()))
						}
						if len(told) == 0 || told[len(told)-1].Attempt != 3 || told[len(told)-1].Text != good.Text {
							t.Errorf("told %+v, want that the text begins anew", told)
						}
						continue
					}
					bad, ok := errors.AsType[*model.Error](err)
					if !ok || reply.Text != "" || reply.Calls != nil {
						t.Fatalf("got %+v, %v, want an error", reply, err)
					}
					if text := err.Error(); !strings.Contains(text, test.err) || !strings.Contains(bad.Hint, test.hint) || len(text) > 700 || strings.Contains(strings.ToLower(text), "sk-test") ||
						strings.Contains(text, modeltest.Key[1:]) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(modeltest.Key))[:8]) ||
						strings.Count(text, "\n") > 1 || !strings.HasPrefix(text, "model "+provider+"/test-model at 127.0.0.1:") {
						t.Errorf("got %s\nwant …%s…, hint …%s…", text, test.err, test.hint)
					}
					if want := map[bool]int{true: 3, false: 1}[test.again]; len(s.Asked()) != want {
						t.Errorf("%d attempts, want %d", len(s.Asked()), want)
					}
				}
			})
		}
	}
}

func TestWhatABrokenAttemptUsedIsPaid(t *testing.T) {
	s := modeltest.Serve(t, &modeltest.Script{Replies: []model.Reply{good}}, modeltest.Cut(good, 4))
	cfg := s.Config("anthropic")
	cfg.Price = model.Price{In: 1_000_000}
	m, err := model.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := m.Generate(t.Context(), ask("go"))
	if want := (model.Usage{In: 200, Out: 21, Cached: 60}); err != nil || reply.Usage != want || reply.Cost != 140 {
		t.Errorf("used %+v, cost %d, %v, want %+v, of which a part is from the cache for nothing", reply.Usage, reply.Cost, err, want)
	}
}

func TestAServerThatDoesNotCount(t *testing.T) {
	s := modeltest.Serve(t, nil, sse(openaiText+`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n"))
	reply, err := s.Model("openai").Generate(t.Context(), ask("0123456789"))
	if want := (model.Usage{In: 6, Out: 2}); err != nil || reply.Usage != want {
		t.Errorf("used %+v, %v, want about %+v", reply.Usage, err, want)
	}
}

func TestAServerThatDoesNotStream(t *testing.T) {
	s := modeltest.Serve(t, nil, modeltest.Body(200, "application/json", `{"choices":[{"message":{"role":"assistant","content":"hi","tool_calls":[{"id":"a","type":"function","function":{"name":"run","arguments":"{}"}},`+
		`{"id":"a","type":"function","function":{"name":"run","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`))
	reply, err := s.Model("openai").Generate(t.Context(), ask("go"))
	if err != nil || reply.Text != "hi" || len(reply.Calls) != 2 || reply.Calls[1].ID == "a" || reply.Usage != (model.Usage{In: 3, Out: 2}) {
		t.Errorf("%+v, %v", reply, err)
	}
}

// A server that has said all of a reply and does not end it is not waited for.
func TestAServerThatDoesNotHangUp(t *testing.T) {
	s := modeltest.Serve(t, nil, func(w http.ResponseWriter, a *modeltest.Asked) {
		modeltest.Stream(strings.TrimSpace(openaiText), `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)(w, a)
		a.Wait()
	})
	cfg := s.Config("openai")
	cfg.Idle = 100 * time.Millisecond
	m, err := model.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if reply, err := m.Generate(t.Context(), ask("go")); err != nil || reply.Text != "half" || len(s.Asked()) != 1 {
		t.Errorf("%+v, %v after %d attempts", reply, err, len(s.Asked()))
	}
}

func TestCancellation(t *testing.T) {
	for _, provider := range providers {
		for name, answer := range map[string]modeltest.Answer{
			"before the reply": func(w http.ResponseWriter, a *modeltest.Asked) { a.Wait() },
			"in the reply":     modeltest.Stall(good, 4),
			"before another":   modeltest.Fail(429, "rate_limit_error", "later", "Retry-After", "100"),
		} {
			t.Run(provider+"/"+name, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				s := modeltest.Serve(t, nil, func(w http.ResponseWriter, a *modeltest.Asked) {
					time.AfterFunc(50*time.Millisecond, cancel)
					answer(w, a)
				})
				done := make(chan error, 1)
				go func() {
					_, err := s.Model(provider).Generate(ctx, ask("go"))
					done <- err
				}()
				select {
				case err := <-done:
					if !errors.Is(err, context.Canceled) {
						t.Errorf("got %v, want that it is cancelled", err)
					}
				case <-time.After(30 * time.Second):
					t.Fatal("it goes on")
				}
			})
		}
	}
}

// The key goes nowhere but to the server that was named.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var reached atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, provider := range providers {
			s := modeltest.Serve(t, nil, func(w http.ResponseWriter, a *modeltest.Asked) {
				w.Header().Set("Location", other.URL+"/v1/messages")
				w.WriteHeader(status)
			})
			if _, err := s.Model(provider).Generate(t.Context(), ask("go")); err == nil || !strings.Contains(err.Error(), "leads elsewhere") {
				t.Errorf("%d: %v", status, err)
			}
		}
	}
	if reached.Load() != 0 {
		t.Errorf("the other host was asked %d times", reached.Load())
	}
}

func TestServersThatAreNotThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	unknown := httptest.NewTLSServer(http.NotFoundHandler())
	defer unknown.Close()
	for _, test := range []struct{ name, url, want string }{
		{"nobody listens", "http://" + l.Addr().String(), "cannot be reached: connection refused (2 attempts)"},
		{"no TLS", strings.Replace(plain.URL, "http:", "https:", 1), "speaks no TLS"},
		{"a certificate of nobody", unknown.URL, "is not who it says"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, err := model.New(model.Config{Provider: "openai", Name: "m", BaseURL: test.url, Attempts: 2, Backoff: 1})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Generate(t.Context(), ask("go")); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "/chat/completions") {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestConfigurations(t *testing.T) {
	for _, test := range []struct {
		name string
		cfg  model.Config
		want string
	}{
		{"OpenAI's", model.Config{Provider: "openai", Name: "m"}, ""},
		{"this machine", model.Config{Provider: "openai", Name: "m", BaseURL: "http://localhost:11434/v1"}, ""},
		{"this machine by number", model.Config{Provider: "anthropic", Name: "m", BaseURL: "http://[::1]:80"}, ""},
		{"another machine without TLS", model.Config{Provider: "openai", Name: "m", BaseURL: "http://gpu.corp.example/v1"}, "want https://"},
		{"a name that only looks like this machine's", model.Config{Provider: "openai", Name: "m", BaseURL: "http://localhost.evil.example/v1"}, "want https://"},
		{"another machine without TLS, as was said", model.Config{Provider: "openai", Name: "m", BaseURL: "http://gpu.corp.example/v1", Insecure: true}, ""},
		{"a password", model.Config{Provider: "openai", Name: "m", BaseURL: "https://me:secret@x.example"}, "without a password"},
		{"another scheme", model.Config{Provider: "openai", Name: "m", BaseURL: "ftp://x.example"}, "want https://"},
		{"no name", model.Config{Provider: "openai"}, "name: got none"},
		{"another provider", model.Config{Provider: "palm", Name: "m"}, "want openai or anthropic"},
	} {
		m, err := model.New(test.cfg)
		if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
		if m != nil {
			m.Close()
		}
	}
}
