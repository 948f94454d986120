package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// anthropic speaks the protocol of Anthropic's messages.
type anthropic struct{ m *Remote }

// anthropicVersion is that of the protocol.
const anthropicVersion = "2023-06-01"

type (
	anthropicRequest struct {
		Model      string             `json:"model"`
		MaxTokens  int64              `json:"max_tokens"`
		System     []anthropicBlock   `json:"system,omitempty"`
		Messages   []anthropicMessage `json:"messages"`
		Tools      []anthropicTool    `json:"tools,omitempty"`
		ToolChoice *anthropicChoice   `json:"tool_choice,omitempty"`
		Stream     bool               `json:"stream"`
	}
	anthropicMessage struct {
		Role    Role             `json:"role"`
		Content []anthropicBlock `json:"content"`
	}
	anthropicBlock struct {
		Type  string          `json:"type"`
		Text  string          `json:"text,omitempty"`
		ID    string          `json:"id,omitempty"`
		Name  string          `json:"name,omitempty"`
		Input json.RawMessage `json:"input,omitempty"`

		ToolUseID string           `json:"tool_use_id,omitempty"`
		Content   []anthropicBlock `json:"content,omitempty"`

		CacheControl *anthropicCache `json:"cache_control,omitempty"`
	}
	anthropicCache struct {
		Type string `json:"type"`
	}
	anthropicTool struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
	anthropicChoice struct {
		Type            string `json:"type"`
		Name            string `json:"name,omitempty"`
		DisableParallel bool   `json:"disable_parallel_tool_use"`
	}
	anthropicUsage struct {
		Input   int64 `json:"input_tokens"`
		Output  int64 `json:"output_tokens"`
		Written int64 `json:"cache_creation_input_tokens"`
		Read    int64 `json:"cache_read_input_tokens"`
	}
	anthropicEvent struct {
		Type    string `json:"type"`
		Index   int    `json:"index"`
		Message struct {
			Usage anthropicUsage `json:"usage"`
		} `json:"message"`
		Block struct {
			Type string `json:"type"`
			ID   string `json:"id"`
			Name string `json:"name"`
			Text string `json:"text"`
		} `json:"content_block"`
		Delta struct {
			Type       string `json:"type"`
			Text       string `json:"text"`
			Partial    string `json:"partial_json"`
			StopReason string `json:"stop_reason"`
		} `json:"delta"`
		Usage *anthropicUsage `json:"usage"`
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
)

// once implements [protocol].
func (p *anthropic) once(a *attempt, r *Request) (Reply, error) {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	if err := e.Encode(p.request(r)); err != nil {
		return Reply{}, err
	}
	req, err := http.NewRequestWithContext(a.ctx, http.MethodPost, strings.TrimSuffix(p.m.base, "/v1")+"/v1/messages", &body)
	if err != nil {
		return Reply{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Anthropic-Version", anthropicVersion)
	res, err := a.Do(req)
	if _, whole := errors.AsType[*wholeAnswer](err); whole {
		return Reply{}, broken("the server answered with JSON, want text/event-stream")
	}
	if err != nil {
		return Reply{}, err
	}
	defer res.Body.Close()
	s := anthropicReply{blocks: map[int]*strings.Builder{}, calls: map[int]int{}}
	err = events(res.Body, func(data string) (bool, error) { return s.take(a, data) })
	switch {
	case err == nil:
		return s.end(r)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return s.out, broken("the reply broke off")
	}
	return s.out, err
}

// request writes a conversation as the server reads it. The provider keeps what is the same each turn: up to the end of the system's text, and up to the
// user's last messages but one and last.
func (p *anthropic) request(r *Request) anthropicRequest {
	out := anthropicRequest{Model: p.m.cfg.Name, MaxTokens: r.MaxTokens, Stream: true}
	keep := &anthropicCache{"ephemeral"}
	if r.System != "" {
		out.System = []anthropicBlock{{Type: "text", Text: r.System, CacheControl: keep}}
	}
	var calls []Call // that the next message answers
	for _, m := range r.Messages {
		said := anthropicMessage{Role: m.Role}
		text := anthropicBlock{Type: "text", Text: m.Text}
		switch {
		case m.Role == Assistant:
			if strings.TrimSpace(m.Text) != "" {
				said.Content = append(said.Content, text)
			}
			for _, c := range m.Calls {
				said.Content = append(said.Content, anthropicBlock{Type: "tool_use", ID: wordOf(c.ID, "call"), Name: wordOf(c.Name, RunTool), Input: inputOf(c)})
			}
			if said.Content == nil {
				said.Content = []anthropicBlock{{Type: "text", Text: "(nothing)"}}
			}
			calls = m.Calls
		case calls != nil:
			for i, c := range calls {
				if i > 0 {
					text.Text = notMade
				}
				said.Content = append(said.Content, anthropicBlock{Type: "tool_result", ToolUseID: wordOf(c.ID, "call"), Content: []anthropicBlock{text}})
			}
			calls = nil
		default:
			said.Content = []anthropicBlock{text}
		}
		out.Messages = append(out.Messages, said)
	}
	for i, n := len(out.Messages)-1, 0; i >= 0 && n < 2; i-- {
		if m := out.Messages[i]; m.Role == User {
			m.Content[len(m.Content)-1].CacheControl = keep
			n++
		}
	}
	switch {
	case r.Schema != nil:
		out.Tools = []anthropicTool{{answerField, "Give the answer.", answerSchema(r.Schema)}}
		out.ToolChoice = &anthropicChoice{Type: "tool", Name: answerField, DisableParallel: true}
	case r.Style == Tool:
		out.Tools = []anthropicTool{{RunTool, runDoc, runSchema}}
		out.ToolChoice = &anthropicChoice{Type: "auto", DisableParallel: true}
	}
	return out
}

// anthropicReply is a reply that arrives.
type anthropicReply struct {
	out    Reply
	text   strings.Builder
	blocks map[int]*strings.Builder // of the inputs of calls, by the server's index
	calls  map[int]int              // by that, which of the reply's
	size   int
	stop   string
	usage  anthropicUsage
}

// take takes in an event. Types of events and blocks that are not known are passed over, as the protocol has it.
func (s *anthropicReply) take(a *attempt, data string) (enough bool, err error) {
	var e anthropicEvent
	if json.Unmarshal([]byte(data), &e) != nil {
		return false, broken("what the server sends is not what it should be")
	}
	switch e.Type {
	case "error":
		return false, ofStream(e.Error.Type, "", line(e.Error.Message, a.key))
	case "message_start":
		s.used(e.Message.Usage)
	case "message_delta":
		if e.Delta.StopReason != "" {
			s.stop = e.Delta.StopReason
		}
		if e.Usage != nil {
			s.used(*e.Usage)
		}
	case "message_stop":
		return true, nil
	case "content_block_start":
		if e.Block.Type == "tool_use" {
			if len(s.out.Calls) == maxCalls {
				return false, &Error{Text: "the reply holds too many calls", Hint: "write reply: fenced, or take another model"}
			}
			s.blocks[e.Index], s.calls[e.Index] = new(strings.Builder), len(s.out.Calls)
			s.out.Calls = append(s.out.Calls, Call{ID: e.Block.ID, Name: e.Block.Name})
			s.size += len(e.Block.ID) + len(e.Block.Name)
		}
		s.text.WriteString(e.Block.Text)
		s.size += len(e.Block.Text)
	case "content_block_delta":
		if b := s.blocks[e.Index]; b != nil {
			b.WriteString(e.Delta.Partial)
		}
		if e.Delta.Type == "text_delta" {
			s.text.WriteString(e.Delta.Text)
		}
		s.size += len(e.Delta.Partial) + len(e.Delta.Text)
	}
	s.out.Text = s.text.String()
	return false, a.grow(s.out.Text, s.size)
}

// used takes in how many tokens there were: each number is the last that was said.
func (s *anthropicReply) used(u anthropicUsage) {
	s.usage = anthropicUsage{max(count(u.Input), s.usage.Input), max(count(u.Output), s.usage.Output), max(count(u.Written), s.usage.Written), max(count(u.Read), s.usage.Read)}
	s.out.Usage = Usage{In: s.usage.Input + s.usage.Written + s.usage.Read, Out: s.usage.Output, Cached: s.usage.Read, Written: s.usage.Written}
}

// end is the reply once it has ended.
func (s *anthropicReply) end(r *Request) (Reply, error) {
	for index, i := range s.calls {
		if s.out.Calls[i].Input = s.blocks[index].String(); s.out.Calls[i].Input == "" {
			s.out.Calls[i].Input = "{}"
		}
	}
	switch s.stop {
	case "end_turn", "stop_sequence", "tool_use":
	case "max_tokens", "model_context_window_exceeded":
		s.out.Stop = StopLength
	case "refusal":
		return s.out, refused()
	default:
		return s.out, broken("the reply ended for a reason that is not known")
	}
	if r.Schema != nil && s.out.Stop == "" && len(s.out.Calls) == 1 {
		s.out.Text, s.out.Calls = unwrapAnswer(s.out.Calls[0].Input), nil
	}
	return s.out, nil
}
