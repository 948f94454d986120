package model

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Recorded plays a transcript: the n-th reply of a conversation is the n-th turn of the
// recording, if the conversation is the one that was recorded.
//
// A recording is a Markdown file that people can read and edit. Each turn begins
// with a heading "## turn 1", "## turn 2" and so on. Lines directly below the heading say what the turn answers, and how:
//
//	> expect: TEXT         occurs in the message that the model answers, after those of the lines above
//	> | LINE               a line of that message, which is exactly these lines
//	> tokens: 100 in, 20 out, 30 cached
//	> cost: 0.0015
//	> stop: length         the reply was cut
//	> said: LINE           a line of the reply's text, which is exactly these lines
//
// The rest is the reply. In it, a line "> call: NAME ID" makes a call of the fenced block below it: a program, or if the block is marked as JSON all of
// the arguments. What stands before the first turn is for readers, but for a line "> reply: tool", the style of the replies, and for the lines
// "> | LINE" below a heading "## system", which are exactly the text for the system. Line ends may be CR LF.
type Recorded struct {
	path   string
	style  Style
	line   int // of the text for the system; 0: it may be any
	system []string
	turns  []recordedTurn
}

type recordedTurn struct {
	line   int
	expect []expectation
	shown  []string // lines of the message that it answers
	exact  int      // the first line of them in the file; 0: it may be any
	reply  Reply
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
	if r.line > 0 {
		if diff := lineDiff(r.system, linesOf(q.System)); diff != "" {
			return Reply{}, &RecordingError{Path: r.path, Line: r.line, Text: "the text for the system is another one here: instructions, tools or language have changed",
				Hint: "record it again, or take out this section if it does not matter; recorded -, here +\n" + diff}
		}
	}
	if n >= len(r.turns) {
		return Reply{}, &RecordingError{
			Path: r.path, Line: r.turns[len(r.turns)-1].line, Text: fmt.Sprintf("the recording ends after turn %d, and turn %d was asked for", len(r.turns), n+1),
			Hint: "end the last turn with done(value), or record what comes next",
		}
	}
	t := r.turns[n]
	if t.exact > 0 {
		if diff := lineDiff(t.shown, linesOf(last)); diff != "" {
			return Reply{}, &RecordingError{Path: r.path, Line: t.exact, Text: fmt.Sprintf("turn %d answers another message than the model is shown here", n+1),
				Hint: "recorded -, here +\n" + diff}
		}
	}
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
	if q.Progress != nil {
		q.Progress(Progress{Attempt: 1, Text: t.reply.Text, Tokens: t.reply.Usage.Out})
	}
	reply := t.reply
	reply.Calls = slices.Clone(reply.Calls)
	return reply, nil
}

// Style is how the model that was recorded wrote its programs.
func (r *Recorded) Style() Style { return r.style }

func indent(s string) string {
	return "  | " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n  | ")
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
