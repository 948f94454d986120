package model

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// maxRecording bounds the size of a recording.
const maxRecording = 16 << 20

// LoadRecording reads a recording. All that is wrong with it is returned at once.
func LoadRecording(path string) (*Recorded, []*RecordingError) {
	fail := func(text string) (*Recorded, []*RecordingError) {
		return nil, []*RecordingError{{Path: path, Text: text}}
	}
	info, err := os.Stat(path)
	if err != nil {
		return fail(err.Error())
	}
	if info.Size() > maxRecording {
		return fail(fmt.Sprintf("got %d bytes, want at most %d", info.Size(), maxRecording))
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return fail(err.Error())
	}
	return readRecording(path, string(b))
}

// recordingReader reads a recording line by line.
type recordingReader struct {
	out  *Recorded
	bad  []*RecordingError
	at   int // the line
	head bool
	body []string // of the reply
	said []string // of the reply, line by line
	call *Call    // whose block is to come; nil: none
	open string   // the fence of the block of a call that is being read
	json bool     // it holds all of the arguments
	code []string
}

func readRecording(path, text string) (*Recorded, []*RecordingError) {
	r := &recordingReader{out: &Recorded{path: path}}
	fence, system := "", false
	for i, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		r.at = i + 1
		outside := fence == ""
		if f := fenceOf(line); outside {
			fence = f
		} else if f == fence {
			fence = ""
		}
		name, turn := strings.CutPrefix(line, "## turn ")
		switch {
		case turn && outside:
			r.end()
			if want := fmt.Sprint(len(r.out.turns) + 1); strings.TrimSpace(name) != want {
				r.fail("turns are numbered from 1, without gaps", "got %q, want ## turn %s", line, want)
			}
			r.out.turns = append(r.out.turns, recordedTurn{line: r.at})
			r.head = true
		case len(r.out.turns) > 0:
			r.line(line, outside)
		case outside && strings.TrimRight(line, " ") == "## system":
			system, r.out.line = true, r.at
		case system && strings.HasPrefix(line, "> |"):
			r.out.system = append(r.out.system, quotedLine(line))
		case strings.HasPrefix(line, "> reply: "):
			style, err := ParseStyle(strings.TrimSpace(strings.TrimPrefix(line, "> reply: ")))
			if err != nil {
				r.fail("", "%v", err)
			}
			r.out.style = style
		}
	}
	r.end()
	if len(r.out.turns) == 0 {
		r.at = 1
		r.fail(`begin each turn with a heading such as "## turn 1"`, "got no turn")
	}
	if len(r.bad) > 0 {
		return nil, r.bad
	}
	return r.out, nil
}

func (r *recordingReader) fail(hint, format string, args ...any) {
	r.bad = append(r.bad, &RecordingError{r.out.path, r.at, fmt.Sprintf(format, args...), hint})
}

// quotedLine is what stands behind "> |" and a blank.
func quotedLine(line string) string {
	return strings.TrimPrefix(strings.TrimPrefix(line, "> |"), " ")
}

// line reads a line of a turn.
func (r *recordingReader) line(line string, outside bool) {
	t := &r.out.turns[len(r.out.turns)-1]
	key, value, ok := strings.Cut(line, ": ")
	switch {
	case r.open != "":
		if strings.TrimSpace(line) == r.open {
			r.close(t)
		} else {
			r.code = append(r.code, line)
		}
	case r.call != nil && fenceOf(line) != "":
		r.open = fenceOf(line)
		r.json = strings.TrimSpace(strings.TrimLeft(line, " `")) == "json"
	case r.call != nil && strings.TrimSpace(line) == "":
	case r.call != nil:
		r.fail("write the call's program below it, as a fenced block", "got a call without a block")
		r.call = nil
	case outside && strings.HasPrefix(line, "> call: "):
		name, id, _ := strings.Cut(value, " ")
		r.call, r.head = &Call{ID: id, Name: name}, false
	case r.head && strings.HasPrefix(line, "> |"):
		if t.exact == 0 {
			t.exact = r.at
		}
		t.shown = append(t.shown, quotedLine(line))
	case r.head && ok && key == "> expect":
		t.expect = append(t.expect, expectation{r.at, strings.TrimSpace(value)})
	case r.head && ok && key == "> tokens":
		if t.reply.Usage, ok = usageIn(value); !ok {
			r.fail("", "tokens: got %q, want such as 100 in, 20 out, 30 cached", value)
		}
	case r.head && ok && key == "> cost":
		if t.reply.Cost, ok = moneyIn(value); !ok {
			r.fail("", "cost: got %q, want an amount such as 0.25", value)
		}
	case r.head && ok && key == "> stop":
		if t.reply.Stop = value; value != StopLength {
			r.fail("", "stop: got %q, want %s", value, StopLength)
		}
	case r.head && strings.HasPrefix(line, "> said:"):
		r.said = append(r.said, strings.TrimPrefix(strings.TrimPrefix(line, "> said:"), " "))
	default:
		r.head = r.head && strings.TrimSpace(line) == ""
		r.body = append(r.body, line)
	}
}

// close ends the block of a call.
func (r *recordingReader) close(t *recordedTurn) {
	text := strings.Join(r.code, "\n")
	c := Call{ID: r.call.ID, Name: r.call.Name, Input: text}
	if !r.json {
		c.Input = CallOf("", text).Input
	}
	t.reply.Calls = append(t.reply.Calls, c)
	r.call, r.open, r.json, r.code = nil, "", false, nil
}

// end ends a turn.
func (r *recordingReader) end() {
	n := len(r.out.turns)
	if n == 0 {
		return
	}
	t := &r.out.turns[n-1]
	if r.call != nil {
		r.fail("write the call's program below it, as a fenced block", "got a call without a whole block")
	}
	text := strings.TrimSpace(strings.Join(r.body, "\n"))
	switch {
	case r.said != nil && text != "":
		r.bad = append(r.bad, &RecordingError{r.out.path, t.line, "got a reply both in lines with said: and without", "write it in one way"})
	case r.said != nil:
		text = strings.Join(r.said, "\n")
	case text == "" && t.reply.Calls == nil && t.reply.Stop == "" && r.call == nil:
		r.bad = append(r.bad, &RecordingError{r.out.path, t.line, "got a turn without a reply", "write the model's reply below the heading"})
	}
	t.reply.Text = text
	r.body, r.said, r.call, r.open, r.json, r.code = nil, nil, nil, "", false, nil
}

// usageIn reads "100 in, 20 out, 30 cached".
func usageIn(s string) (u Usage, ok bool) {
	for part := range strings.SplitSeq(s, ", ") {
		number, what, _ := strings.Cut(strings.TrimSpace(part), " ")
		n, err := strconv.ParseInt(number, 10, 64)
		to := map[string]*int64{"in": &u.In, "out": &u.Out, "cached": &u.Cached, "written": &u.Written}[what]
		if err != nil || n < 0 || to == nil {
			return Usage{}, false
		}
		*to = n
	}
	return u, true
}

// moneyIn reads an amount.
func moneyIn(s string) (Money, bool) {
	whole, part, _ := strings.Cut(strings.TrimSpace(s), ".")
	if len(part) > 9 || whole == "" {
		return 0, false
	}
	n, err := strconv.ParseInt(whole+(part + "000000000")[:9], 10, 64)
	return Money(n), err == nil && n >= 0
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

// linesOf cuts a text into lines, without the carriage returns before their ends.
func linesOf(s string) []string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], "\r")
	}
	return lines
}
