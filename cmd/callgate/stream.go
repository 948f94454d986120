package main

import (
	"encoding/json"
	"io"

	"callgate/agents"
	"callgate/cmd/internal/console"
	"callgate/engine/journal"
	"callgate/engine/label"
)

// stream writes the events of a run as they happen, a line of JSON each, to somebody who may read what is not hidden in them: see spec/stream.md.
type stream struct {
	w      io.Writer
	reader *journal.Reader
}

func newStream(w io.Writer, may func(label.Label) bool) *stream {
	return &stream{w, journal.NewReader(may)}
}

// event writes an event. What is encrypted in the journal is not encrypted here.
func (s *stream) event(e journal.Event) error {
	e, _, err := s.reader.Event(e)
	if err != nil {
		return err
	}
	return journal.Export(s.w, []journal.Event{e})
}

// past takes in events that were seen before: what is hidden in later ones depends on them.
func (s *stream) past(events []journal.Event) error {
	for _, e := range events {
		if _, _, err := s.reader.Event(e); err != nil {
			return err
		}
	}
	return nil
}

// streamed is a line of a session that is no event of its run.
type streamed struct {
	Run     string `json:"run"`
	Type    string `json:"type"` // entry or command
	Payload any    `json:"payload"`
}

// streamedEntry is what came of one program.
type streamedEntry struct {
	Turn   int             `json:"turn"`
	File   string          `json:"file"`
	Status string          `json:"status"` // as in program.end
	Value  *streamedValue  `json:"value,omitempty"`
	Answer *streamedValue  `json:"answer,omitempty"`
	Prints []streamedValue `json:"prints,omitempty"`
	Error  string          `json:"error,omitempty"`
	Hint   string          `json:"hint,omitempty"`
}

// streamedValue is a value, or what was printed, as a text.
type streamedValue struct {
	Text  string      `json:"text"`
	Label label.Label `json:"label"`
}

// entry writes what came of a program of a session.
func (s *stream) entry(run string, e agents.Entry, may func(label.Label) bool) error {
	out := streamedEntry{Turn: e.Turn, File: e.File, Status: string(e.Outcome.Status)}
	if v := e.Value; v != nil {
		out.Value = &streamedValue{console.Value(*v, may), v.Deep()}
	}
	if v := e.Outcome.Answer; v != nil {
		out.Answer = &streamedValue{console.Value(*v, may), v.Deep()}
	}
	for _, p := range e.Outcome.Prints {
		text := p.Text
		if mark := hiding(may, p.Label); mark != "" {
			text = mark
		}
		out.Prints = append(out.Prints, streamedValue{text, p.Label})
	}
	if err := e.Outcome.Err; err != nil {
		out.Error, out.Hint = err.Public(), err.Hint
		if may(err.Label) {
			out.Error = err.Where()
		}
	}
	return s.line(streamed{run, "entry", out})
}

// said writes what a command of a session found, or what is wrong with it.
func (s *stream) said(run, key, text string) error {
	return s.line(streamed{run, "command", map[string]string{key: text}})
}

func (s *stream) line(v any) error {
	out := json.NewEncoder(s.w)
	out.SetEscapeHTML(false)
	return out.Encode(v)
}
