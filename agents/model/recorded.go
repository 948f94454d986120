package model

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// Recorded plays a transcript: the n-th reply of a conversation is the n-th turn of the
// recording, if the conversation is the one that was recorded.
//
// A recording is a Markdown file that people can read and edit. Each turn begins
// with a heading "## turn 1", "## turn 2" and so on. Lines directly below the heading that begin with
// "> expect: " name texts that must occur in the message which the model answers, in this order; the rest is
// the reply. What stands before the first turn is for readers.
type Recorded struct {
	path  string
	turns []recordedTurn
}

type recordedTurn struct {
	line   int
	expect []expectation
	reply  string
}

type expectation struct {
	line int
	text string
}

// RecordingError is something wrong with a recording, or with a conversation that it does not match.
type RecordingError struct {
	Path string
	Line int // 0: the file as a whole
	Text string
	Hint string
}

func (e *RecordingError) Error() string {
	s := e.Path
	if e.Line > 0 {
		s += fmt.Sprintf(":%d:1", e.Line)
	}
	s += ": " + e.Text
	if e.Hint != "" {
		s += "\nhint: " + e.Hint
	}
	return s
}

// maxRecording bounds the size of a recording.
const maxRecording = 16 << 20

// LoadRecording reads a recording. All that is wrong with it is returned at once.
func LoadRecording(path string) (*Recorded, []*RecordingError) {
	fail := func(line int, text, hint string) []*RecordingError {
		return []*RecordingError{{path, line, text, hint}}
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fail(0, err.Error(), "")
	}
	if info.Size() > maxRecording {
		return nil, fail(0, fmt.Sprintf("got %d bytes, want at most %d", info.Size(), maxRecording), "")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fail(0, err.Error(), "")
	}
	r := &Recorded{path: path}
	var bad []*RecordingError
	var body []string
	finish := func() {
		if n := len(r.turns); n > 0 {
			r.turns[n-1].reply = strings.TrimSpace(strings.Join(body, "\n"))
			if r.turns[n-1].reply == "" {
				bad = append(bad, fail(r.turns[n-1].line, "got a turn without a reply", "write the model's reply below the heading")...)
			}
		}
		body = nil
	}
	head, fence := false, ""
	for i, line := range strings.Split(strings.ReplaceAll(string(b), "\r\n", "\n"), "\n") {
		if f := fenceOf(line); fence == "" {
			fence = f
		} else if f == fence {
			fence = ""
		}
		name, ok := strings.CutPrefix(line, "## turn ")
		switch {
		case ok && fence == "":
			finish()
			if want := fmt.Sprint(len(r.turns) + 1); strings.TrimSpace(name) != want {
				bad = append(bad, fail(i+1, fmt.Sprintf("got %q, want ## turn %s", line, want), "turns are numbered from 1, without gaps")...)
			}
			r.turns = append(r.turns, recordedTurn{line: i + 1})
			head = true
		case len(r.turns) == 0:
		case head && strings.HasPrefix(line, "> expect: "):
			t := &r.turns[len(r.turns)-1]
			t.expect = append(t.expect, expectation{i + 1, strings.TrimSpace(strings.TrimPrefix(line, "> expect: "))})
		default:
			head = head && strings.TrimSpace(line) == ""
			body = append(body, line)
		}
	}
	finish()
	if len(r.turns) == 0 {
		bad = append(bad, fail(1, "got no turn", `begin each turn with a heading such as "## turn 1"`)...)
	}
	if len(bad) > 0 {
		return nil, bad
	}
	return r, nil
}

// fenceOf returns the marks that open or close a fenced block, or "".
func fenceOf(line string) string {
	t := strings.TrimLeft(line, " ")
	n := len(t) - len(strings.TrimLeft(t, "`"))
	if n < 3 {
		return ""
	}
	return t[:n]
}

// Provider returns "recorded".
func (r *Recorded) Provider() string { return "recorded" }

// Name returns the recording's path.
func (r *Recorded) Name() string { return r.path }

// Generate returns the turn that follows those in the conversation. A conversation that the recording
// does not match is a [*RecordingError].
func (r *Recorded) Generate(ctx context.Context, q Request) (Reply, error) {
	if err := ctx.Err(); err != nil {
		return Reply{}, err
	}
	n, last := 0, ""
	for _, m := range q.Messages {
		if m.Role == Assistant {
			n++
		} else {
			last = m.Text
		}
	}
	if n >= len(r.turns) {
		return Reply{}, &RecordingError{
			Path: r.path, Line: r.turns[len(r.turns)-1].line, Text: fmt.Sprintf("the recording ends after turn %d, and turn %d was asked for", len(r.turns), n+1),
			Hint: "end the last turn with done(…), or record what comes next",
		}
	}
	t := r.turns[n]
	rest := last
	for _, e := range t.expect {
		_, after, ok := strings.Cut(rest, e.text)
		if !ok {
			return Reply{}, &RecordingError{
				Path: r.path, Line: e.line, Text: fmt.Sprintf("turn %d expects %q, which the model was not shown here", n+1, e.text),
				Hint: "it was shown:\n" + indent(cut(last, 2000)),
			}
		}
		rest = after
	}
	return Reply{Text: t.reply}, nil
}

func indent(s string) string {
	return "  | " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n  | ")
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
