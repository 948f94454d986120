// Package model speaks to language models.
//
// A [Model] is a function from a conversation to the next reply; it has no tools and
// keeps nothing between calls. What it is shown, and at whose risk, is the business of package agents.
package model

import (
	"context"
)

// Model is a language model. It is safe for concurrent use.
type Model interface {
	// Generate returns the reply to a conversation. It returns when ctx ends.
	Generate(ctx context.Context, r Request) (Reply, error)
	// Provider and Name say which model it is, for the journal.
	Provider() string
	Name() string
}

// Request is a conversation so far.
type Request struct {
	System   string
	Messages []Message // oldest first; the last is the user's
}

// Role says who wrote a message.
type Role string

// The roles.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one message of a conversation.
type Message struct {
	Role Role
	Text string
}

// Reply is what a model answered.
type Reply struct {
	Text   string
	Tokens [2]int64 // in, out; 0 if unknown
}
