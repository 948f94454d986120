// Package model speaks to language models.
//
// A [Model] is a function from a conversation to the next reply; it has no tools and
// keeps nothing between calls. What it is shown, and at whose risk, is the business of package agents.
//
// What models cost is counted by a [Purse], which refuses to go on when its [Budget] is spent.
package model

import (
	"context"
	"encoding/json"
	"fmt"
)

// Model is a language model. It is safe for concurrent use.
type Model interface {
	// Generate returns the reply to a conversation. It returns when ctx ends. With an error, the reply may say what was used up all the same.
	Generate(ctx context.Context, r Request) (Reply, error)
	// Provider and Name say which model it is, for the journal.
	Provider() string
	Name() string
}

// Request is a conversation so far.
type Request struct {
	System   string
	Messages []Message // oldest first; the last is the user's

	// Style is how the model writes a program.
	Style Style

	// Schema is a JSON Schema that the reply's text must fit, in place of a program; nil: none. A provider that can hold its model to it does;
	// whoever asks looks all the same.
	Schema json.RawMessage

	MaxTokens int64          // of the reply; 0: as the model is set up
	Progress  func(Progress) // called now and then while the reply arrives, by one goroutine, before Generate returns; nil: nobody is told
}

// Style is how a model writes a program.
type Style int

// The styles.
const (
	Fenced Style = iota // as a fenced block in its text
	Tool                // as the one argument of a call of the tool [RunTool]
)

var styleNames = []string{"fenced", "tool"}

func (s Style) String() string {
	if s < 0 || int(s) >= len(styleNames) {
		return fmt.Sprintf("style %d", int(s))
	}
	return styleNames[s]
}

// ParseStyle reads a style as documents write it; "" is [Fenced].
func ParseStyle(s string) (Style, error) {
	switch s {
	case "", "fenced":
		return Fenced, nil
	case "tool":
		return Tool, nil
	}
	return 0, fmt.Errorf("reply: got %q, want fenced or tool", s)
}

// The tool that a model in the style [Tool] calls: run(program), where the program is a text.
const (
	RunTool    = "run"
	RunProgram = "program"
)

// Role says who wrote a message.
type Role string

// The roles.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one message of a conversation. A user's message that follows an assistant's with calls is what came of them.
type Message struct {
	Role  Role
	Text  string
	Calls []Call // of the assistant
}

// Call is a call of a tool as the model wrote it. Nothing of it has been checked.
type Call struct {
	ID    string // the provider's, which the answer must name
	Name  string
	Input string // the arguments: a JSON object, if the model did as it was told
}

// Program returns the program that a call in the style [Tool] holds, or what is wrong with the call, for the model: that
// holds nothing of the call.
func (c Call) Program() (string, error) {
	if c.Name != RunTool {
		return "", fmt.Errorf("there is no such tool: the only one is %s(%s)", RunTool, RunProgram)
	}
	var fields map[string]json.RawMessage
	var text *string
	if err := json.Unmarshal([]byte(c.Input), &fields); err != nil {
		return "", fmt.Errorf("the arguments of %s are no JSON object", RunTool)
	}
	if err := json.Unmarshal(fields[RunProgram], &text); err != nil || text == nil || len(fields) != 1 {
		return "", fmt.Errorf("%s takes one argument, %s, which is a text", RunTool, RunProgram)
	}
	return *text, nil
}

// CallOf is a call that holds a program.
func CallOf(id, program string) Call {
	b, _ := json.Marshal(map[string]string{RunProgram: program}) // a text always encodes
	return Call{ID: id, Name: RunTool, Input: string(b)}
}

// Reply is what a model answered.
type Reply struct {
	Text  string
	Calls []Call // in the style [Tool]
	Stop  string // why it ends: "" if it is whole, or [StopLength]
	Usage Usage
	Cost  Money
}

// StopLength says that a reply was cut at the most tokens that it may have: what stands in it is not whole.
const StopLength = "length"

// Usage is how many tokens were used.
type Usage struct {
	In      int64 // read, those from the provider's cache included
	Out     int64 // written
	Cached  int64 // of In, those from the cache
	Written int64 // of In, those that were put into the cache
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{add(u.In, v.In), add(u.Out, v.Out), add(u.Cached, v.Cached), add(u.Written, v.Written)}
}

// Total returns how many tokens count.
func (u Usage) Total() int64 { return add(u.In, u.Out) }

// Progress is how far a reply has come.
type Progress struct {
	Attempt int    // from 1; with another one the text begins anew
	Text    string // that has arrived so far, of the reply or of the program in a call
	Tokens  int64  // written so far, about
	Waiting string // why nothing arrives before the next attempt, in words; "" while it arrives
}
