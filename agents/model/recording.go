package model

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Recording writes what a model is shown and what it answers, for [Recorded] to play: whole messages, so that it plays in the same conversation alone.
type Recording struct {
	f     *os.File
	turns int
	style Style
	err   error // why it is written no further
}

// Record begins a recording in a file that is not there yet, which only its owner can read. About says for readers what it is of. A system text of "" is
// one that may be any.
func Record(path, about string, style Style, system string) (*Recording, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s: is there already\nhint: name another file, or take it away", path)
	}
	if err != nil {
		return nil, err
	}
	r := &Recording{f: f, style: style}
	var b strings.Builder
	b.WriteString("# A recorded run\n\n" + about + " Lines after \"> |\" are what the model was shown.\n")
	if style != Fenced {
		b.WriteString("\n> reply: " + style.String() + "\n")
	}
	if system != "" {
		b.WriteString("\n## system\n\n" + quoteLines("> | ", system))
	}
	r.write(b.String())
	return r, r.err
}

func (r *Recording) write(s string) {
	if r.err == nil {
		_, r.err = r.f.WriteString(s)
	}
}

// Written is a reply as a recording can hold it: without carriage returns in its text, and without blanks around that. Who records a conversation goes on with it.
func (r Reply) Written() Reply {
	r.Text = strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(r.Text, "\r\n", "\n"), "\r", "\n"))
	return r
}

// Turn writes the message that the model was shown, and its reply, which is as [Reply.Written] has it.
func (r *Recording) Turn(shown string, reply Reply) {
	r.turns++
	var b strings.Builder
	fmt.Fprintf(&b, "\n## turn %d\n\n%s", r.turns, quoteLines("> | ", shown))
	if u := reply.Usage; u != (Usage{}) {
		fmt.Fprintf(&b, "> tokens: %d in, %d out", u.In, u.Out)
		if u.Cached > 0 {
			fmt.Fprintf(&b, ", %d cached", u.Cached)
		}
		if u.Written > 0 {
			fmt.Fprintf(&b, ", %d written", u.Written)
		}
		b.WriteString("\n")
	}
	if reply.Cost > 0 {
		fmt.Fprintf(&b, "> cost: %s\n", strings.TrimRight(strings.TrimRight(fmt.Sprintf("%d.%09d", reply.Cost/1e9, reply.Cost%1e9), "0"), "."))
	}
	if reply.Stop != "" {
		fmt.Fprintf(&b, "> stop: %s\n", reply.Stop)
	}
	head := b.String()
	calls := callBlocks(reply.Calls)
	plain := head + "\n" + reply.Text + "\n" + calls
	if reply.Text == "" {
		plain = head + calls
	}
	if !r.reads(plain, reply) {
		plain = head + quoteLines("> said: ", reply.Text) + calls
	}
	if !r.reads(plain, reply) {
		r.err = errors.Join(r.err, fmt.Errorf("%s: turn %d cannot be written so that it is read again", r.f.Name(), r.turns))
		return
	}
	r.write(plain)
}

// reads reports whether a turn is read as what was to be written.
func (r *Recording) reads(turn string, want Reply) bool {
	const next = "\n## turn 2\n\nnext\n" // a block that is left open would take it in
	got, bad := readRecording("", strings.Replace(turn, fmt.Sprintf("## turn %d\n", r.turns), "## turn 1\n", 1)+next)
	if bad != nil || len(got.turns) != 2 || got.turns[1].reply.Text != "next" {
		return false
	}
	g := got.turns[0].reply
	return g.Text == want.Text && slices.Equal(g.Calls, want.Calls) && g.Stop == want.Stop && g.Usage == want.Usage && g.Cost == want.Cost
}

// Withhold ends the recording before its next turn, and says why.
func (r *Recording) Withhold(why string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: turn %d and what follows is not recorded: %s", r.f.Name(), r.turns+1, why)
	}
}

// Close ends the recording. The error says why it is not whole.
func (r *Recording) Close() error {
	if err := r.f.Close(); r.err == nil {
		r.err = err
	}
	return r.err
}

// quoteLines writes the lines of a text after a mark.
func quoteLines(mark, text string) string {
	var b strings.Builder
	for _, l := range linesOf(text) {
		if l == "" {
			b.WriteString(strings.TrimRight(mark, " ") + "\n")
		} else {
			b.WriteString(mark + l + "\n")
		}
	}
	return b.String()
}

// callBlocks writes calls as blocks.
func callBlocks(calls []Call) string {
	var b strings.Builder
	for _, c := range calls {
		kind, text := "json", c.Input
		if program, err := c.Program(); err == nil && !strings.Contains(program, "\r") && CallOf("", program).Input == c.Input {
			kind, text = "starlark", program
		}
		fence := "```"
		for strings.Contains(text, fence) {
			fence += "`"
		}
		fmt.Fprintf(&b, "\n> call: %s %s\n\n%s%s\n%s\n%s\n", c.Name, c.ID, fence, kind, text, fence)
	}
	return b.String()
}

// maxDiff is how many lines of a difference are shown.
const maxDiff = 40

// lineDiff says in which lines a text is not another one, with those around; "" if in none.
func lineDiff(was, is []string) string {
	from := 0
	for from < len(was) && from < len(is) && was[from] == is[from] {
		from++
	}
	a, b := len(was), len(is)
	for a > from && b > from && was[a-1] == is[b-1] {
		a, b = a-1, b-1
	}
	if a == from && b == from {
		return ""
	}
	var out []string
	put := func(mark string, lines ...string) {
		for _, l := range lines {
			out = append(out, "  "+mark+" "+cut(l, 200))
		}
	}
	put(" ", was[max(0, from-2):from]...)
	x, y := was[from:a], is[from:b]
	for _, step := range edits(x, y) {
		switch {
		case step < 0:
			put("-", x[0])
			x = x[1:]
		case step > 0:
			put("+", y[0])
			y = y[1:]
		default:
			put(" ", x[0])
			x, y = x[1:], y[1:]
		}
	}
	put(" ", was[a:min(a+2, len(was))]...)
	if len(out) > maxDiff {
		out = append(out[:maxDiff], "  … and "+strconv.Itoa(len(out)-maxDiff)+" lines more")
	}
	return strings.Join(out, "\n")
}

// edits are the steps from one list of lines to another: -1 a line goes, 1 one comes, 0 one stays. Long lists are exchanged as a whole.
func edits(x, y []string) (out []int) {
	if len(x)*len(y) > 1<<20 {
		for range x {
			out = append(out, -1)
		}
		for range y {
			out = append(out, 1)
		}
		return out
	}
	common := make([][]int, len(x)+1) // of the rests
	for i := range common {
		common[i] = make([]int, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(x) || j < len(y); {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			out = append(out, 0)
			i, j = i+1, j+1
		case j == len(y) || i < len(x) && common[i+1][j] >= common[i][j+1]:
			out = append(out, -1)
			i++
		default:
			out = append(out, 1)
			j++
		}
	}
	return out
}
