package model

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// Answers answers questions from a recording: each by the one answer that fits it, whatever was asked before and in whatever order.
//
// A recording is a Markdown file that people can read and edit. Each answer begins with a heading "## answer", with a name behind
// it if one likes. Lines directly below the heading that begin with "> expect: " name texts that must occur in what is asked, in this
// order; the rest is the answer. A heading "### again" begins what is answered when the answer before did not fit. What stands
// before the first answer is for readers.
type Answers struct {
	path    string
	answers []recordedAnswer
}

type recordedAnswer struct {
	line    int
	name    string
	expect  []expectation
	replies []string
}

// LoadAnswers reads a recording of answers. All that is wrong with it is returned at once.
func LoadAnswers(path string) (*Answers, []*RecordingError) {
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
	out := &Answers{path: path}
	var bad []*RecordingError
	var body []string
	at := 0 // line of the heading above the body
	finish := func() {
		if n := len(out.answers); n > 0 {
			a := &out.answers[n-1]
			text := strings.TrimSpace(strings.Join(body, "\n"))
			if text == "" {
				bad = append(bad, fail(at, "got a heading without an answer", "write the model's answer below it")...)
			}
			a.replies = append(a.replies, text)
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
		name, isAnswer := strings.CutPrefix(line, "## answer")
		isAnswer = isAnswer && (name == "" || name[0] == ' ')
		switch {
		case isAnswer && fence == "":
			finish()
			out.answers = append(out.answers, recordedAnswer{line: i + 1, name: strings.TrimSpace(name)})
			head, at = true, i+1
		case fence == "" && (strings.HasPrefix(line, "## ") || strings.HasPrefix(line, "### ")) && strings.TrimSpace(line) != "### again":
			if len(out.answers) > 0 {
				bad = append(bad, fail(i+1, fmt.Sprintf("got %q, want ## answer, or ### again", cut(line, 80)), "what is for readers stands before the first answer")...)
			}
		case len(out.answers) == 0:
		case fence == "" && strings.TrimSpace(line) == "### again":
			finish()
			head, at = false, i+1
		case head && strings.HasPrefix(line, "> expect: "):
			a := &out.answers[len(out.answers)-1]
			a.expect = append(a.expect, expectation{i + 1, strings.TrimSpace(strings.TrimPrefix(line, "> expect: "))})
		default:
			head = head && strings.TrimSpace(line) == ""
			body = append(body, line)
		}
	}
	finish()
	if len(out.answers) == 0 {
		bad = append(bad, fail(1, "got no answer", `begin each with a heading such as "## answer 04.eml", and a line such as "> expect: 04.eml" below it`)...)
	}
	if len(bad) > 0 {
		return nil, bad
	}
	return out, nil
}

// Provider returns "recorded".
func (r *Answers) Provider() string { return "recorded" }

// Name returns the recording's path.
func (r *Answers) Name() string { return r.path }

// Generate returns the answer that fits what is asked, in the first message. If there is none, or more than one, that is a [*RecordingError].
func (r *Answers) Generate(ctx context.Context, q Request) (Reply, error) {
	if err := ctx.Err(); err != nil {
		return Reply{}, err
	}
	asked, tries := "", 0
	for i, m := range q.Messages {
		if i == 0 {
			asked = m.Text
		}
		if m.Role == Assistant {
			tries++
		}
	}
	var fits []*recordedAnswer
	var near *expectation // the first that is missing, of the answer that went furthest
	best := -1
	for i := range r.answers {
		a := &r.answers[i]
		n := a.met(asked)
		switch {
		case n == len(a.expect):
			fits = append(fits, a)
		case n > best:
			best, near = n, &a.expect[n]
		}
	}
	switch {
	case len(fits) == 0:
		return Reply{}, &RecordingError{
			Path: r.path, Line: near.line, Text: fmt.Sprintf("no answer fits what was asked; the nearest expects %q", near.text),
			Hint: "add an answer whose expectations occur in it, in their order. It was asked:\n" + indent(cut(asked, 2000)),
		}
	case len(fits) > 1:
		return Reply{}, &RecordingError{
			Path: r.path, Line: fits[1].line, Text: fmt.Sprintf("two answers fit what was asked, this one and that of line %d", fits[0].line),
			Hint: "add an expectation to one of them. It was asked:\n" + indent(cut(asked, 2000)),
		}
	}
	a := fits[0]
	if tries >= len(a.replies) {
		last := q.Messages[len(q.Messages)-1].Text
		return Reply{}, &RecordingError{
			Path: r.path, Line: a.line, Text: fmt.Sprintf("the answer has been given, and does not fit: it was asked again (%d)", tries+1),
			Hint: "write another below a heading \"### again\", or one that fits. It was told:\n" + indent(cut(last, 2000)),
		}
	}
	return Reply{Text: a.replies[tries]}, nil
}

// met returns how many of the answer's expectations occur in a text, in their order, up to the first that does not.
func (a *recordedAnswer) met(text string) int {
	for i, e := range a.expect {
		_, after, ok := strings.Cut(text, e.text)
		if !ok {
			return i
		}
		text = after
	}
	return len(a.expect)
}
