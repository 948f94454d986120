package model

import (
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"
)

// Error says why a model served over the network did not answer. It holds no key, nothing that the model was shown, and at most a line of what the
// server said.
type Error struct {
	Model    string // provider, name and host
	Status   int    // of HTTP; 0: there was none
	Text     string // what happened
	Said     string // what the server said of it, in a line; "": nothing
	Hint     string // what to do; may be empty
	Attempts int

	retry bool          // another attempt may do
	after time.Duration // that the server asks to wait for; 0: it does not say
}

func (e *Error) Error() string { return e.text(e.Said) }

// Public is the error without what the server said, which may hold what the model was shown.
func (e *Error) Public() string { return e.text("") }

func (e *Error) text(said string) string {
	s := "model " + e.Model + ": " + e.Text
	if said != "" {
		s += ": " + said
	}
	if e.Attempts > 1 {
		s += fmt.Sprintf(" (%d attempts)", e.Attempts)
	}
	if e.Hint != "" {
		s += "\nhint: " + e.Hint
	}
	return s
}

// broken is an attempt in which the server did not keep to its protocol: another one may do.
func broken(format string, args ...any) *Error {
	return &Error{Text: fmt.Sprintf(format, args...), retry: true, Hint: "if it stays so, what serves the model, or stands before it, is at fault"}
}

// maxSaid is how much of a server's words is passed on, in characters.
const maxSaid = 200

// line makes one short line of what a server said, without the key. Markup says nothing.
func line(s string, key Key) string {
	s = strings.Join(strings.FieldsFunc(key.out(s), func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }), " ")
	if s = key.out(s); strings.HasPrefix(s, "<") {
		return ""
	}
	if r := []rune(s); len(r) > maxSaid {
		s = string(r[:maxSaid]) + "…"
	}
	return s
}

// ofStatus is what an answer that is no success means.
func ofStatus(status int, kind, code, said string, header http.Header, now time.Time) *Error {
	e := &Error{Status: status, Said: said, Text: fmt.Sprintf("the server answered %d %s", status, http.StatusText(status))}
	is := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(kind, w) || strings.Contains(code, w) {
				return true
			}
		}
		return false
	}
	switch {
	case status >= 300 && status < 400:
		e.Text += ", which leads elsewhere: it is not followed, since the key and what the model is shown would go there"
		e.Said, e.Hint = "", "put the right place into model.baseURL"
	case status == 401 || status == 403:
		e.Said = "" // it may hold a part of the key
		e.Hint = "the key is not accepted for this model: look at model.key and what the account may use"
	case is("insufficient_quota", "billing"):
		e.Hint = "the account has no credit left"
	case is("context_length", "context_window") || status == 413:
		e.Hint = "the conversation is longer than the model can read: print less, or set limits.turns lower"
	case status == 404:
		e.Hint = "look at model.name and model.baseURL"
	case status == 408 || status == 409 || status == 429 || status >= 500:
		e.retry, e.after = true, retryAfter(header, now)
		e.Hint = "the provider is busy or has a fault: run it again later"
		if status == 429 {
			e.Hint = "more is asked than the account may ask at a time: run it again later"
		}
	default:
		e.Hint = "the request is not accepted: model.name, model.reply and model.maxTokens must be what the server knows"
	}
	return e
}

// ofStream is what an error that arrives in the middle of a stream means.
func ofStream(kind, code, said string) *Error {
	status := 0
	for word, s := range map[string]int{"overloaded": 529, "rate_limit": 429, "api_error": 500, "server_error": 500, "timeout": 504, "authentication": 401, "permission": 403, "not_found": 404, "invalid_request": 400, "billing": 402, "insufficient_quota": 402} {
		if strings.Contains(kind, word) || strings.Contains(code, word) {
			status = max(status, s)
		}
	}
	if status == 0 {
		e := broken("the server broke off its reply with an error")
		e.Said = said
		return e
	}
	e := ofStatus(status, kind, code, said, nil, time.Time{})
	e.Text = "the server broke off its reply with an error"
	return e
}

// retryAfter is how long a server asks to wait; 0 if it does not say.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if d, err := time.ParseDuration(h.Get("Retry-After-Ms") + "ms"); err == nil {
		return max(0, d)
	}
	v := h.Get("Retry-After")
	if d, err := time.ParseDuration(v + "s"); err == nil {
		return max(0, d)
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
