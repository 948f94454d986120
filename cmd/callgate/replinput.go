package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/term"

	"callgate/engine/syntax"
)

// typed is what comes from a file, for one reader after the other: a read that was given up leaves what it would have got to the next one. It reads
// only when somebody reads.
type typed struct {
	want chan struct{}
	got  chan []byte // closed at the end of the file

	mu      sync.Mutex
	pending bool
	rest    []byte
	ctx     context.Context // whose end ends a read
	lines   *bufio.Reader   // of all of it, where there is no terminal to edit on
	held    *string         // a line that was read too far
}

func newTyped(f io.Reader) *typed {
	in := &typed{want: make(chan struct{}), got: make(chan []byte), ctx: context.Background()}
	go func() { // it lives as long as the file: reading from a terminal cannot be broken off
		defer close(in.got)
		for range in.want {
			buf := make([]byte, 4096)
			n, err := f.Read(buf)
			if n > 0 {
				in.got <- buf[:n]
			} else if err == nil {
				in.got <- nil
			}
			if err != nil {
				return
			}
		}
	}()
	in.lines = bufio.NewReader(in)
	return in
}

// within has reads end with a context.
func (in *typed) within(ctx context.Context) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ctx = ctx
}

// drop drops what was read and nobody has got.
func (in *typed) drop() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.rest = nil
}

// Read implements [io.Reader].
func (in *typed) Read(p []byte) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for len(in.rest) == 0 {
		ctx := in.ctx
		if !in.pending {
			select {
			case in.want <- struct{}{}:
				in.pending = true
			case b, open := <-in.got:
				if !open {
					return 0, io.EOF
				}
				in.rest = b
				continue
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		in.mu.Unlock()
		var b []byte
		open, ended := true, false
		select {
		case b, open = <-in.got:
		case <-ctx.Done():
			ended = true
		}
		in.mu.Lock()
		if ended {
			return 0, ctx.Err()
		}
		if in.pending = false; !open {
			return 0, io.EOF
		}
		in.rest = b
	}
	n := copy(p, in.rest)
	in.rest = in.rest[n:]
	return n, nil
}

// line returns the next line, without its end. The last one may have no end.
func (in *typed) line() (string, error) {
	if in.held != nil {
		s := *in.held
		in.held = nil
		return s, nil
	}
	s, err := in.lines.ReadString('\n')
	if err != nil && s == "" {
		return "", err
	}
	return strings.TrimRight(s, "\r\n"), nil
}

// next returns the next program, or the next command, as it was typed.
func (r *repl) next(ctx context.Context) (string, error) {
	r.in.within(ctx)
	if r.editor != nil {
		return r.editor.next()
	}
	return r.in.program()
}

// program reads the next program: a statement. A block ends before the next line that is not indented.
func (in *typed) program() (string, error) {
	text, err := in.line()
	if err != nil || isCommand(text) {
		return text, err
	}
	for {
		open := syntax.Unfinished(text)
		if !open && !inBlock(text) {
			return text, nil
		}
		line, err := in.line()
		if err != nil {
			return text, nil // what is missing, the evaluator says
		}
		if !open && line != "" && !strings.ContainsAny(line[:1], " \t#") && !goesOn(line) {
			in.held = &line
			return text, nil
		}
		text += "\n" + line
	}
}

// isCommand reports whether a line is a command of the session, and no program.
func isCommand(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), ":") }

// inBlock reports whether the last line of a text that is not blank is in a block.
func inBlock(text string) bool {
	lines := strings.Split(text, "\n")
	for _, l := range slices.Backward(lines) {
		if strings.TrimSpace(l) != "" {
			return strings.ContainsAny(l[:1], " \t")
		}
	}
	return false
}

// goesOn reports whether a line goes on with the statement before it.
func goesOn(line string) bool {
	word := strings.TrimRight(line, " \t")
	for _, w := range []string{"elif", "else", "except", "finally"} {
		if rest, ok := strings.CutPrefix(word, w); ok && (rest == "" || strings.ContainsAny(rest[:1], " \t:(")) {
			return true
		}
	}
	return false
}

// The prompts of a terminal.
const (
	promptFirst = ">>> "
	promptNext  = "... "
)

// narrow is how many columns a terminal has at least that says how many it has.
const narrow = 10

// editor reads programs from a person at a terminal.
type editor struct {
	in, out *os.File
	line    *term.Terminal
	history *history
	pressed bool   // Ctrl-C, while a line was typed
	typed   func() // is called when a program has been typed, while Ctrl-C is a key still; nil: nothing is
	names   func() completions
	tabs    int // how often the tab key was pressed in a row
}

// newEditor returns the editor of a session.
func (r *repl) newEditor() *editor {
	e := &editor{in: r.c.stdin, out: r.c.stdout, history: &history{}, names: r.names}
	if r.state.kept && (r.project.Host == nil || len(r.project.Host.Journal.Encrypt) == 0) {
		e.history.open(filepath.Join(r.state.dir, historyFile))
	}
	e.line = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{&keys{r.in, e}, r.c.stdout}, promptFirst)
	e.line.History = e.history
	e.line.AutoCompleteCallback = e.complete
	return e
}

// keys are what is typed while a line is edited.
type keys struct {
	in *typed
	e  *editor
}

// Read implements [io.Reader]. Ctrl-C empties the line and ends it, which the editor knows as the keys for that.
func (k *keys) Read(p []byte) (int, error) {
	const empty = "\x05\x15\r" // to the end, delete to the beginning, enter
	if len(p) < len(empty) {
		return k.in.Read(p)
	}
	n, err := k.in.Read(p[:len(p)-len(empty)+1])
	if i := strings.IndexByte(string(p[:n]), 3); i >= 0 {
		k.e.pressed = true
		n = copy(p, empty)
	}
	return n, err
}

// next reads the next program. A block ends with an empty line.
func (e *editor) next() (string, error) {
	before, err := term.MakeRaw(int(e.in.Fd()))
	if err != nil {
		return "", err
	}
	defer e.line.SetBracketedPasteMode(false)
	defer func() {
		if e.typed != nil {
			e.typed()
		}
		_ = term.Restore(int(e.in.Fd()), before) // it was so a moment ago
	}()
	if w, h, err := term.GetSize(int(e.out.Fd())); err == nil && w >= narrow {
		_ = e.line.SetSize(w, h) // it can fail where nothing can be written, and then the line below does
	}
	e.line.SetBracketedPasteMode(true)
	var lines []string
	private := false // it began with a blank
	keep := func() {
		if !private {
			e.history.keep(lines)
		}
	}
	for {
		e.line.SetPrompt(promptFirst)
		if len(lines) > 0 {
			e.line.SetPrompt(promptNext)
		}
		e.pressed, e.tabs = false, 0
		line, err := e.line.ReadLine()
		pasted := errors.Is(err, term.ErrPasteIndicator)
		switch {
		case e.pressed:
			lines = nil
			continue
		case err != nil && !pasted:
			if err == io.EOF {
				fmt.Fprint(e.out, "\r\n")
			}
			return "", err
		}
		if len(lines) == 0 {
			first := strings.TrimLeft(line, " \t")
			line, private = first, first != line
		}
		lines = append(lines, line)
		text := strings.Join(lines, "\n")
		blank := strings.TrimSpace(line) == ""
		if len(lines) == 1 && (blank || isCommand(text)) || !syntax.Unfinished(text) && (!inBlock(text) || blank && !pasted) {
			keep()
			return text, nil
		}
		if blank && !pasted && len(lines) > 1 && strings.TrimSpace(lines[len(lines)-2]) == "" { // two of them: enough
			keep()
			return text, nil
		}
	}
}

// complete is what the tab key does: the names that begin so, or their common beginning; pressed twice, it lists them. At the beginning of a line it
// indents.
func (e *editor) complete(line string, at int, key rune) (string, int, bool) {
	if key != '\t' {
		e.tabs = 0
		return "", 0, false
	}
	if strings.TrimSpace(line[:at]) == "" {
		return line[:at] + "    " + line[at:], at + 4, true
	}
	begin, found := e.names().complete(line[:at])
	if len(found) == 0 {
		return line, at, true
	}
	common := found[0]
	for _, f := range found[1:] {
		for !strings.HasPrefix(f, common) {
			common = common[:len(common)-1]
		}
	}
	if e.tabs++; e.tabs > 1 && len(found) > 1 && common == line[begin:at] {
		fmt.Fprintf(e.line, "%s\n", strings.Join(found[:min(len(found), mostListed)], "  "))
	}
	return line[:begin] + common + line[at:], begin + len(common), true
}

// mostListed is how many names the tab key lists.
const mostListed = 60

// historyFile is the name of the history in a state folder.
const historyFile = "repl_history"

// The bounds of a history: lines that are kept, and bytes of one.
const (
	historyLines = 1000
	historyBytes = 4096
)

// history is what was typed: in this session, and in those before it if there is a file. What holds a
// text that is secret is not kept.
type history struct {
	lines  []string // oldest first
	file   string   // "": there is none
	secret []string
}

// open reads the lines of a file, and keeps new ones there. A file that cannot be read is as one that is empty.
func (h *history) open(file string) {
	h.file = file
	b, err := os.ReadFile(file)
	if err != nil {
		return
	}
	for line := range strings.Lines(string(b)) {
		h.lines = append(h.lines, strings.TrimSuffix(line, "\n"))
	}
	if n := len(h.lines); n > 2*historyLines {
		h.lines = h.lines[n-historyLines:]
		_ = os.WriteFile(file, []byte(strings.Join(h.lines, "\n")+"\n"), 0o600) // it is too long, and stays so
	}
}

// never keeps a text out of what is kept from now on.
func (h *history) never(text string) {
	if len(text) >= 4 && len(h.secret) < historyLines && !slices.Contains(h.secret, text) {
		h.secret = append(h.secret, text)
	}
}

// keep adds the lines of a program.
func (h *history) keep(lines []string) {
	text := strings.Join(lines, "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	if slices.ContainsFunc(h.secret, func(s string) bool { return strings.Contains(text, s) }) {
		return
	}
	var added []string
	for _, l := range lines {
		last := ""
		if n := len(h.lines); n > 0 {
			last = h.lines[n-1]
		}
		if strings.TrimSpace(l) != "" && len(l) <= historyBytes && l != last {
			h.lines, added = append(h.lines, l), append(added, l)
		}
	}
	if h.file == "" || added == nil {
		return
	}
	f, err := os.OpenFile(h.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return // the session is worth more than its history
	}
	_, err = f.WriteString(strings.Join(added, "\n") + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		h.file = ""
	}
}

// Add implements [term.History]: whole programs are kept, when they are.
func (h *history) Add(string) {}

// Len implements [term.History].
func (h *history) Len() int { return len(h.lines) }

// At implements [term.History]: 0 is the newest.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }
