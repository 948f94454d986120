// Package modeltest has models for tests: a [Script] that answers in the process, and a [Server] that answers over HTTP as providers do, or as badly as a test wants.
package modeltest

import (
	"context"
	"fmt"
	"sync"

	"callgate/agents/model"
)

// Script is a model that answers with its replies, one after the other, whatever it is shown. It is safe for concurrent use.
type Script struct {
	Replies []model.Reply
	Err     error // after the replies; nil: one that says so

	mu       sync.Mutex
	requests []model.Request
}

// Fenced is a reply that holds a program as a fenced block.
func Fenced(program string) model.Reply {
	return model.Reply{Text: "I go on.\n\n```starlark\n" + program + "\n```\n", Usage: model.Usage{In: 100, Out: 10}}
}

// Called is a reply that holds a program as a call.
func Called(id, program string) model.Reply {
	return model.Reply{Text: "I go on.", Calls: []model.Call{model.CallOf(id, program)}, Usage: model.Usage{In: 100, Out: 10}}
}

// Generate implements [model.Model].
func (s *Script) Generate(ctx context.Context, r model.Request) (model.Reply, error) {
	if err := ctx.Err(); err != nil {
		return model.Reply{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.requests)
	s.requests = append(s.requests, r)
	switch {
	case n < len(s.Replies):
		if r.Progress != nil {
			r.Progress(model.Progress{Attempt: 1, Text: s.Replies[n].Text, Tokens: s.Replies[n].Usage.Out})
		}
		return s.Replies[n], nil
	case s.Err != nil:
		return model.Reply{}, s.Err
	}
	return model.Reply{}, fmt.Errorf("modeltest: asked for reply %d, and the script has %d", n+1, len(s.Replies))
}

// Provider implements [model.Model].
func (s *Script) Provider() string { return "script" }

// Name implements [model.Model].
func (s *Script) Name() string { return "script" }

// Requests returns what the model was asked, in order.
func (s *Script) Requests() []model.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]model.Request(nil), s.requests...)
}
