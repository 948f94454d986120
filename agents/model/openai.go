package model

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// openAI speaks the protocol of OpenAI's chat completions, which vLLM, llama.cpp and Ollama speak too.
type openAI struct{ m *Remote }

// once implements [protocol].
func (p *openAI) once(a *attempt, r *Request) (Reply, error) {
	config := openai.DefaultConfig("") // the attempt sends the key
	config.BaseURL, config.HTTPClient, config.EmptyMessagesLimit = p.m.base, a, maxBody
	stream, err := openai.NewClientWithConfig(config).CreateChatCompletionStream(a.ctx, p.request(r))
	if whole, ok := errors.AsType[*wholeAnswer](err); ok {
		a.begun = true
		return p.whole(a, r, whole.body)
	}
	if err != nil {
		return Reply{}, p.problem(a, err)
	}
	defer stream.Close()
	var s openAIReply
	for {
		chunk, err := stream.Recv()
		if err == nil {
			err = s.take(a, chunk)
		}
		switch {
		case err == nil:
		case s.finish != "" && (a.ctx.Err() != nil || !isError(err)): // what is missing is how many tokens it was
			return s.reply(r)
		case errors.Is(err, io.EOF):
			return s.partial(), broken("the reply broke off")
		default:
			return s.partial(), p.problem(a, err)
		}
	}
}

func isError(err error) bool {
	_, ok := errors.AsType[*Error](err)
	return ok
}

// problem makes an [*Error] of one of the library's, which may hold all of an answer.
func (p *openAI) problem(a *attempt, err error) error {
	if said, ok := errors.AsType[*openai.APIError](err); ok {
		code, _ := said.Code.(string)
		return ofStream(said.Type, code, line(said.Message, a.key))
	}
	if isJSON(err) {
		return broken("what the server sends is not what it should be")
	}
	for _, known := range []error{openai.ErrReasoningToolsRequireResponses, openai.ErrReasoningEffortUnsupported} {
		if errors.Is(err, known) {
			return &Error{Text: known.Error(), Hint: "write reply: fenced, or take another model"}
		}
	}
	return err
}

// isJSON reports whether an error is of text that is not the JSON which was expected.
func isJSON(err error) bool {
	_, malformed := errors.AsType[*json.SyntaxError](err)
	_, mistyped := errors.AsType[*json.UnmarshalTypeError](err)
	return malformed || mistyped
}

// request writes a conversation as the server reads it.
func (p *openAI) request(r *Request) openai.ChatCompletionRequest {
	out := openai.ChatCompletionRequest{Model: p.m.cfg.Name, StreamOptions: &openai.StreamOptions{IncludeUsage: true}}
	limit := int(min(r.MaxTokens, math.MaxInt32))
	if p.m.cfg.BaseURL == "" {
		out.MaxCompletionTokens = limit
	} else {
		//lint:ignore SA1019 servers other than OpenAI's know no other
		out.MaxTokens = limit
	}
	if r.System != "" {
		out.Messages = append(out.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: r.System})
	}
	var calls []Call // that the next message answers
	for _, m := range r.Messages {
		if m.Role == Assistant {
			calls = m.Calls
			said := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant, Content: m.Text}
			for _, c := range m.Calls {
				said.ToolCalls = append(said.ToolCalls, openai.ToolCall{
					ID: wordOf(c.ID, "call"), Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: wordOf(c.Name, RunTool), Arguments: string(inputOf(c))},
				})
			}
			if said.Content == "" && said.ToolCalls == nil {
				said.Content = "(nothing)"
			}
			out.Messages = append(out.Messages, said)
			continue
		}
		for i, c := range calls {
			text := m.Text
			if i > 0 {
				text = notMade
			}
			out.Messages = append(out.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, ToolCallID: wordOf(c.ID, "call"), Content: text})
		}
		if calls == nil {
			out.Messages = append(out.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: m.Text})
		}
		calls = nil
	}
	switch {
	case r.Schema != nil:
		out.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type:       openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: answerField, Schema: answerSchema(r.Schema), Strict: strict(r.Schema)},
		}
	case r.Style == Tool:
		out.ParallelToolCalls = false
		out.Tools = []openai.Tool{{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{Name: RunTool, Description: runDoc, Parameters: runSchema}}}
	}
	return out
}

// openAIReply is a reply that arrives.
type openAIReply struct {
	text, refusal strings.Builder
	calls         []openAICall
	size          int
	finish        string
	usage         Usage
}

type openAICall struct {
	index    int // the server's
	id, name string
	input    strings.Builder
}

// take takes in a part of the reply.
func (s *openAIReply) take(a *attempt, chunk openai.ChatCompletionStreamResponse) error {
	if u := chunk.Usage; u != nil && u.PromptTokens+u.CompletionTokens > 0 {
		s.usage = usageOf(u)
	}
	for _, c := range chunk.Choices {
		if c.Index != 0 {
			continue // one was asked for
		}
		s.text.WriteString(c.Delta.Content)
		s.refusal.WriteString(c.Delta.Refusal)
		s.size += len(c.Delta.Content) + len(c.Delta.Refusal)
		for _, t := range c.Delta.ToolCalls {
			if err := s.call(t); err != nil {
				return err
			}
		}
		if c.FinishReason != "" && c.FinishReason != openai.FinishReasonNull {
			s.finish = string(c.FinishReason)
			a.complete()
		}
	}
	return a.grow(s.text.String(), s.size)
}

// call takes in a part of a call. Parts of one call have its index; a server that gives none sends each call whole.
func (s *openAIReply) call(t openai.ToolCall) error {
	at := -1
	if t.Index != nil {
		at = slices.IndexFunc(s.calls, func(c openAICall) bool { return c.index == *t.Index })
	}
	if at < 0 {
		if len(s.calls) == maxCalls {
			return &Error{Text: "the reply holds too many calls", Hint: "write reply: fenced, or take another model"}
		}
		c := openAICall{index: -1}
		if t.Index != nil {
			c.index = *t.Index
		}
		s.calls = append(s.calls, c)
		at = len(s.calls) - 1
	}
	c := &s.calls[at]
	if c.id == "" {
		c.id = t.ID
	}
	if c.name == "" {
		c.name = t.Function.Name
	}
	c.input.WriteString(t.Function.Arguments)
	s.size += len(t.Function.Arguments) + len(t.Function.Name) + len(t.ID)
	return nil
}

// partial is what of the reply has arrived, of which nothing is used but how much it is.
func (s *openAIReply) partial() Reply {
	return Reply{Text: s.text.String(), Usage: s.usage}
}

// reply is the reply once it has ended.
func (s *openAIReply) reply(r *Request) (Reply, error) {
	out := s.partial()
	for i := range s.calls {
		c := &s.calls[i]
		out.Calls = append(out.Calls, Call{ID: c.id, Name: c.name, Input: c.input.String()})
	}
	switch s.finish {
	case "stop", "tool_calls", "function_call", "eos", "eos_token", "end_turn":
	case "length", "model_length", "max_tokens":
		out.Stop = StopLength
	case "content_filter":
		return out, refused()
	default:
		return out, broken("the reply ended for a reason that is not known")
	}
	if s.refusal.Len() > 0 {
		return out, refused()
	}
	if r.Schema != nil && out.Stop == "" {
		out.Text = unwrapAnswer(out.Text)
	}
	return out, nil
}

// refused is that the model does not answer such a conversation.
func refused() *Error {
	return &Error{Text: "the model refuses to answer", Hint: "the task, or what the model was shown, is against what its provider allows: word it otherwise, or take another model"}
}

// whole reads a reply that came at once.
func (p *openAI) whole(a *attempt, r *Request, body []byte) (Reply, error) {
	var in openai.ChatCompletionResponse
	if err := json.Unmarshal(body, &in); err != nil {
		return Reply{}, broken("what the server sends is not what it should be")
	}
	if len(in.Choices) == 0 {
		return Reply{}, broken("the reply is empty")
	}
	c := in.Choices[0]
	s := openAIReply{finish: string(c.FinishReason), usage: usageOf(&in.Usage)}
	s.text.WriteString(c.Message.Content)
	s.refusal.WriteString(c.Message.Refusal)
	for _, t := range c.Message.ToolCalls {
		t.Index = nil
		if err := s.call(t); err != nil {
			return s.partial(), err
		}
	}
	if err := a.grow(c.Message.Content, s.size+len(c.Message.Content)); err != nil {
		return s.partial(), err
	}
	return s.reply(r)
}

func usageOf(u *openai.Usage) Usage {
	out := Usage{In: count(int64(u.PromptTokens)), Out: count(int64(u.CompletionTokens))}
	if d := u.PromptTokensDetails; d != nil {
		out.Cached = min(count(int64(d.CachedTokens)), out.In)
	}
	return out
}
