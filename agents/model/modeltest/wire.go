package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"callgate/agents/model"
)

type turns []model.Reply

// Generate implements [model.Model].
func (t turns) Generate(ctx context.Context, r model.Request) (model.Reply, error) {
	n := 0
	for _, m := range r.Messages {
		if m.Role == model.Assistant {
			n++
		}
	}
	if n >= len(t) {
		return model.Reply{}, fmt.Errorf("turn %d was asked for, and there are %d", n+1, len(t))
	}
	return t[n], ctx.Err()
}

// Provider implements [model.Model].
func (t turns) Provider() string { return "turns" }

// Name implements [model.Model].
func (t turns) Name() string { return "turns" }

func object(pairs ...any) string {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Events are the events of a stream that is a reply, in the protocol and style of a request.
func Events(a *Asked, r model.Reply) []string {
	if a.Request.Style == model.Tool && r.Calls == nil {
		if text, program, ok := unfence(r.Text); ok {
			r.Text, r.Calls = text, []model.Call{model.CallOf(fmt.Sprintf("call_%d", a.N), program)}
		}
	}
	if r.Usage == (model.Usage{}) {
		r.Usage = model.Usage{In: int64(len(a.Body)/4 + 1), Out: int64(len(r.Text)/4 + 1)}
	}
	if a.Protocol == "openai" {
		return openAIEvents(a, r)
	}
	return anthropicEvents(a, r)
}

// unfence takes the first fenced block out of a text.
func unfence(s string) (text, program string, ok bool) {
	before, after, ok := strings.Cut(s, "```")
	if !ok {
		return s, "", false
	}
	_, after, _ = strings.Cut(after, "\n")
	program, _, ok = strings.Cut(after, "\n```")
	return strings.TrimSpace(before), program + "\n", ok
}

// pieces cuts a text as tokens do.
func pieces(s string) (out []string) {
	r := []rune(s)
	for len(r) > 0 {
		n := min(7, len(r))
		out, r = append(out, string(r[:n])), r[n:]
	}
	return out
}

func openAIEvents(a *Asked, r model.Reply) (out []string) {
	chunk := func(choices []any, usage any) {
		out = append(out, "data: "+object("id", "chatcmpl-1", "object", "chat.completion.chunk", "model", "test-model", "choices", choices, "usage", usage))
	}
	delta := func(finish any, pairs ...any) {
		chunk([]any{map[string]any{"index": 0, "delta": json.RawMessage(object(pairs...)), "finish_reason": finish}}, nil)
	}
	text := r.Text
	if a.Request.Schema != nil {
		text = object("answer", json.RawMessage(text))
	}
	delta(nil, "role", "assistant", "content", "")
	for _, p := range pieces(text) {
		delta(nil, "content", p)
	}
	for i, c := range r.Calls {
		delta(nil, "tool_calls", []any{map[string]any{"index": i, "id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": ""}}})
		for _, p := range pieces(c.Input) {
			delta(nil, "tool_calls", []any{map[string]any{"index": i, "function": map[string]any{"arguments": p}}})
		}
	}
	finish := "stop"
	switch {
	case r.Stop != "":
		finish = r.Stop
	case r.Calls != nil:
		finish = "tool_calls"
	}
	delta(finish)
	chunk([]any{}, map[string]any{"prompt_tokens": r.Usage.In, "completion_tokens": r.Usage.Out, "total_tokens": r.Usage.Total(),
		"prompt_tokens_details": map[string]any{"cached_tokens": r.Usage.Cached}})
	return append(out, "data: [DONE]")
}

func anthropicEvents(a *Asked, r model.Reply) (out []string) {
	event := func(kind string, pairs ...any) {
		out = append(out, "event: "+kind+"\ndata: "+object(append(pairs, "type", kind)...))
	}
	calls, text := r.Calls, r.Text
	if a.Request.Schema != nil {
		calls, text = []model.Call{{ID: "toolu_1", Name: "answer", Input: object("answer", json.RawMessage(text))}}, ""
	}
	u := r.Usage
	event("message_start", "message", map[string]any{"id": "msg_1", "role": "assistant", "usage": map[string]any{
		"input_tokens": u.In - u.Cached - u.Written, "cache_read_input_tokens": u.Cached, "cache_creation_input_tokens": u.Written, "output_tokens": 1}})
	event("ping")
	i := 0
	if text != "" {
		event("content_block_start", "index", i, "content_block", map[string]any{"type": "text", "text": ""})
		for _, p := range pieces(text) {
			event("content_block_delta", "index", i, "delta", map[string]any{"type": "text_delta", "text": p})
		}
		event("content_block_stop", "index", i)
		i++
	}
	for _, c := range calls {
		event("content_block_start", "index", i, "content_block", map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": map[string]any{}})
		for _, p := range pieces(c.Input) {
			event("content_block_delta", "index", i, "delta", map[string]any{"type": "input_json_delta", "partial_json": p})
		}
		event("content_block_stop", "index", i)
		i++
	}
	stop := "end_turn"
	switch {
	case r.Stop == model.StopLength:
		stop = "max_tokens"
	case r.Stop != "":
		stop = r.Stop
	case calls != nil:
		stop = "tool_use"
	}
	event("message_delta", "delta", map[string]any{"stop_reason": stop}, "usage", map[string]any{"output_tokens": u.Out})
	event("message_stop")
	return out
}

// strictly decodes JSON in which nothing may stand that is not known.
func strictly(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// readOpenAI reads a request as OpenAI does.
func readOpenAI(body []byte) (out model.Request, err error) {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Arguments   string          `json:"arguments"`
	}
	type tool struct {
		ID       string   `json:"id"`
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	var in struct {
		Model    string `json:"model"`
		Messages []struct {
			Role       string  `json:"role"`
			Content    *string `json:"content"`
			ToolCalls  []tool  `json:"tool_calls"`
			ToolCallID string  `json:"tool_call_id"`
		} `json:"messages"`
		MaxTokens           int64           `json:"max_tokens"`
		MaxCompletionTokens int64           `json:"max_completion_tokens"`
		Stream              bool            `json:"stream"`
		StreamOptions       map[string]bool `json:"stream_options"`
		Tools               []tool          `json:"tools"`
		Parallel            *bool           `json:"parallel_tool_calls"`
		ResponseFormat      *struct {
			Type       string `json:"type"`
			JSONSchema struct {
				Name   string          `json:"name"`
				Strict bool            `json:"strict"`
				Schema json.RawMessage `json:"schema"`
			} `json:"json_schema"`
		} `json:"response_format"`
	}
	if err := strictly(body, &in); err != nil {
		return out, err
	}
	if in.Model == "" || len(in.Messages) == 0 || !in.Stream || !in.StreamOptions["include_usage"] {
		return out, errors.New("want a model, messages and a stream with its usage")
	}
	out.MaxTokens = max(in.MaxTokens, in.MaxCompletionTokens)
	var open []tool // calls that are to be answered
	for i, m := range in.Messages {
		if m.Content == nil && m.ToolCalls == nil {
			return out, fmt.Errorf("messages[%d]: content is required", i)
		}
		text := ""
		if m.Content != nil {
			text = *m.Content
		}
		if m.Role != "tool" && len(open) > 0 {
			return out, fmt.Errorf("messages[%d]: %d calls before it are not answered", i, len(open))
		}
		switch {
		case m.Role == "system" && i == 0:
			out.System = text
		case m.Role == "user":
			out.Messages = append(out.Messages, model.Message{Role: model.User, Text: text})
		case m.Role == "assistant":
			said := model.Message{Role: model.Assistant, Text: text}
			for _, t := range m.ToolCalls {
				if t.ID == "" || t.Type != "function" || t.Function.Name == "" || !json.Valid([]byte(t.Function.Arguments)) {
					return out, fmt.Errorf("messages[%d]: a call that is none: %+v", i, t)
				}
				said.Calls = append(said.Calls, model.Call{ID: t.ID, Name: t.Function.Name, Input: t.Function.Arguments})
			}
			open = m.ToolCalls
			out.Messages = append(out.Messages, said)
		case m.Role == "tool" && len(open) > 0 && open[0].ID == m.ToolCallID:
			if n := len(out.Messages); out.Messages[n-1].Role == model.Assistant {
				out.Messages = append(out.Messages, model.Message{Role: model.User, Text: text})
			}
			open = open[1:]
		default:
			return out, fmt.Errorf("messages[%d]: role %s, and no call of id %q is open", i, m.Role, m.ToolCallID)
		}
	}
	if out.Messages[len(out.Messages)-1].Role != model.User {
		return out, errors.New("the last message is the assistant's")
	}
	if in.ResponseFormat != nil {
		out.Schema, err = answerOf(in.ResponseFormat.JSONSchema.Schema)
	}
	if len(in.Tools) > 0 {
		out.Style = model.Tool
		err = errors.Join(err, onlyRun(in.Tools[0].Function.Name, in.Tools[0].Function.Parameters, len(in.Tools)))
	}
	return out, err
}

// answerOf takes the schema of an answer out of that of the object which holds it.
func answerOf(schema json.RawMessage) (json.RawMessage, error) {
	var in struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	err := json.Unmarshal(schema, &in)
	if err == nil && in.Properties["answer"] == nil {
		err = errors.New("the schema has no answer")
	}
	return in.Properties["answer"], err
}

func onlyRun(name string, schema json.RawMessage, n int) error {
	if n != 1 || name != model.RunTool || !json.Valid(schema) {
		return fmt.Errorf("%d tools, the first %s, want %s alone", n, name, model.RunTool)
	}
	return nil
}

// readAnthropic reads a request as Anthropic does.
func readAnthropic(body []byte) (out model.Request, err error) {
	type block struct {
		Type         string          `json:"type"`
		Text         string          `json:"text"`
		ID           string          `json:"id"`
		Name         string          `json:"name"`
		Input        json.RawMessage `json:"input"`
		ToolUseID    string          `json:"tool_use_id"`
		Content      []block         `json:"content"`
		CacheControl *struct {
			Type string `json:"type"`
		} `json:"cache_control"`
	}
	var in struct {
		Model     string  `json:"model"`
		MaxTokens int64   `json:"max_tokens"`
		System    []block `json:"system"`
		Messages  []struct {
			Role    string  `json:"role"`
			Content []block `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			InputSchema json.RawMessage `json:"input_schema"`
		} `json:"tools"`
		ToolChoice *struct {
			Type            string `json:"type"`
			Name            string `json:"name"`
			DisableParallel bool   `json:"disable_parallel_tool_use"`
		} `json:"tool_choice"`
		Stream bool `json:"stream"`
	}
	if err := strictly(body, &in); err != nil {
		return out, err
	}
	if in.Model == "" || in.MaxTokens < 1 || len(in.Messages) == 0 || !in.Stream {
		return out, errors.New("want a model, max_tokens, messages and a stream")
	}
	out.MaxTokens = in.MaxTokens
	kept := 0
	for _, b := range in.System {
		out.System += b.Text
		if b.CacheControl != nil {
			kept++
		}
	}
	var open []block // calls that are to be answered
	for i, m := range in.Messages {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want || len(m.Content) == 0 {
			return out, fmt.Errorf("messages[%d]: role %s with %d blocks, want %s with some", i, m.Role, len(m.Content), want)
		}
		said := model.Message{Role: model.Role(m.Role)}
		answered := 0
		for _, b := range m.Content {
			if b.CacheControl != nil {
				kept++
			}
			switch {
			case b.Type == "text" && b.Text != "":
				said.Text += b.Text
			case b.Type == "tool_use" && m.Role == "assistant" && b.ID != "" && b.Name != "" && bytes.HasPrefix(b.Input, []byte("{")):
				said.Calls = append(said.Calls, model.Call{ID: b.ID, Name: b.Name, Input: string(b.Input)})
			case b.Type == "tool_result" && answered < len(open) && open[answered].ID == b.ToolUseID && len(b.Content) == 1:
				if answered == 0 {
					said.Text = b.Content[0].Text
				}
				answered++
			default:
				return out, fmt.Errorf("messages[%d]: a block that cannot stand there: %+v", i, b)
			}
		}
		if answered != len(open) {
			return out, fmt.Errorf("messages[%d]: %d of %d calls before it are answered", i, answered, len(open))
		}
		open = nil
		for _, b := range m.Content {
			if b.Type == "tool_use" {
				open = append(open, b)
			}
		}
		out.Messages = append(out.Messages, said)
	}
	if len(in.Messages)%2 == 0 {
		return out, errors.New("the last message is the assistant's")
	}
	if most := 4; kept > most {
		return out, fmt.Errorf("%d blocks are to be kept, want at most %d", kept, most)
	}
	if want := min(2, (len(in.Messages)+1)/2) + min(1, len(in.System)); kept != want {
		return out, fmt.Errorf("%d blocks are to be kept, want %d: the system's and the user's last two", kept, want)
	}
	switch {
	case len(in.Tools) == 0:
	case in.ToolChoice != nil && in.ToolChoice.Type == "tool":
		out.Schema, err = answerOf(in.Tools[0].InputSchema)
	default:
		out.Style, err = model.Tool, onlyRun(in.Tools[0].Name, in.Tools[0].InputSchema, len(in.Tools))
	}
	return out, err
}
