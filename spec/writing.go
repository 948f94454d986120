package spec

import (
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// writing maps a text to the characters of the file that stand for it. YAML writes one text
// in many ways: a block loses its indentation, a folded one its line ends, a
// quoted one its escapes.
type writing struct {
	src *source
	at  []int32 // offset in the file of each byte of the text; the end's is last
}

// At returns the place in the file of a byte of the text. Past the end it is the
// text's end. An Expr that was not loaded from a file is taken to be written as it is, its
// lines indented like the first.
func (e Expr) At(offset int) Position {
	offset = min(max(offset, 0), len(e.Text))
	if e.written != nil {
		return e.written.src.at(int(e.written.at[min(offset, len(e.written.at)-1)]))
	}
	p, before := e.Pos, e.Text[:offset]
	if i := strings.LastIndexByte(before, '\n'); i >= 0 {
		p.Line += strings.Count(before, "\n")
		before = before[i+1:]
	}
	p.Column += utf8.RuneCountInString(before)
	return p
}

// LineColumn returns the place in the file of a line and a column of the text, both
// counted from 1, columns in characters, as compilers report them.
func (e Expr) LineColumn(line, column int) Position {
	i := 0
	for ; line > 1; line-- {
		n := strings.IndexByte(e.Text[i:], '\n')
		if n < 0 {
			return e.At(len(e.Text))
		}
		i += n + 1
	}
	for ; column > 1 && i < len(e.Text) && e.Text[i] != '\n'; column-- {
		_, n := utf8.DecodeRuneInString(e.Text[i:])
		i += n
	}
	return e.At(i)
}

// expr makes an Expr of a text; of nothing, the zero Expr.
func (n *node) expr(name string) Expr {
	if n == nil || n.kind != textNode {
		return Expr{Name: name, Pos: n.at()}
	}
	e := Expr{Name: name, Text: n.text, Pos: n.pos}
	if w := n.trace(); w != nil {
		e.written, e.Pos = w, w.src.at(int(w.at[0]))
	}
	return e
}

// trace follows a text through its file. It compares as it goes and gives up, with nil,
// where it does not find what the parser found.
func (n *node) trace() *writing {
	if n.src == nil {
		return nil
	}
	t := tracer{src: n.src.text, i: n.src.offset(n.pos.Line, n.pos.Column), want: n.text}
	switch {
	case n.style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		t.block(n.src, n.pos.Line)
	case n.style&yaml.DoubleQuotedStyle != 0:
		t.i++
		t.flow('"')
	case n.style&yaml.SingleQuotedStyle != 0:
		t.i++
		t.flow('\'')
	default:
		t.flow(0)
	}
	if t.lost || len(t.at) != len(n.text) {
		return nil
	}
	return &writing{n.src, append(t.at, int32(min(t.i, len(n.src.text))))}
}

type tracer struct {
	src  []byte
	i    int // where it is in the file
	want string
	at   []int32
	lost bool
}

// emit notes that the text goes on with s, which is written at offset from.
func (t *tracer) emit(s string, from int) {
	if !strings.HasPrefix(t.want[len(t.at):], s) {
		t.lost = true
		return
	}
	for range len(s) {
		t.at = append(t.at, int32(from))
	}
}

func (t *tracer) done() bool { return t.lost || len(t.at) == len(t.want) || t.i >= len(t.src) }

// lineEnd returns the length of the line end at i, or 0.
func (t *tracer) lineEnd(i int) int {
	switch {
	case i >= len(t.src):
		return 0
	case t.src[i] == '\n':
		return 1
	case t.src[i] == '\r' && i+1 < len(t.src) && t.src[i+1] == '\n':
		return 2
	case t.src[i] == '\r':
		return 1
	}
	return 0
}

func (t *tracer) blanks(i int) int {
	n := 0
	for i+n < len(t.src) && (t.src[i+n] == ' ' || t.src[i+n] == '\t') {
		n++
	}
	return n
}

// character emits the character at i as it is.
func (t *tracer) character() {
	_, n := utf8.DecodeRune(t.src[t.i:])
	t.emit(string(t.src[t.i:t.i+n]), t.i)
	t.i += n
}

// flow follows a text in quotes of a kind, or in none, in which line ends fold.
func (t *tracer) flow(quote byte) {
	for !t.done() {
		blanks := t.blanks(t.i)
		switch {
		case t.lineEnd(t.i+blanks) > 0:
			t.fold()
		case quote == '"' && t.src[t.i] == '\\':
			t.escape()
		case quote == '\'' && t.src[t.i] == '\'':
			t.emit("'", t.i)
			t.i += 2
		default:
			t.character()
		}
	}
}

// fold emits what line ends and the blanks around them stand for: one a space, more than
// one line ends.
func (t *tracer) fold() {
	from, ends := t.i, 0
	for {
		blanks := t.blanks(t.i)
		n := t.lineEnd(t.i + blanks)
		if n == 0 {
			t.i += blanks
			break
		}
		t.i += blanks + n
		ends++
	}
	if ends == 1 {
		t.emit(" ", from)
		return
	}
	t.emit(strings.Repeat("\n", ends-1), from)
}

// escapeLengths are the digits after the letter of an escape.
var escapeLengths = map[byte]int{'x': 2, 'u': 4, 'U': 8}

func (t *tracer) escape() {
	if t.i+1 >= len(t.src) {
		t.lost = true
		return
	}
	if n := t.lineEnd(t.i + 1); n > 0 { // a line end that is left out, with the next line's indentation
		t.i += 1 + n
		t.i += t.blanks(t.i)
		return
	}
	_, n := utf8.DecodeRuneInString(t.want[len(t.at):])
	t.emit(t.want[len(t.at):len(t.at)+n], t.i)
	t.i += 2 + escapeLengths[t.src[t.i+1]]
}

// block follows a text after | or >, whose lines are indented alike. Which of several
// line ends a text's line end stands for makes no difference to its place.
func (t *tracer) block(src *source, line int) {
	first := line + 1
	for first < len(src.lines) && strings.TrimSpace(src.line(first)) == "" {
		first++
	}
	indent := max(0, spaces(src.line(first))-spaces(strings.TrimLeft(t.want, "\n")))
	for n := line + 1; !t.done() && n <= len(src.lines); n++ {
		end := src.lines[n-1] + len(src.line(n))
		t.i = min(end, src.lines[n-1]+indent)
		for t.i < end && !t.done() {
			t.character()
		}
		if t.done() {
			return
		}
		if c := t.want[len(t.at)]; c == '\n' || c == ' ' {
			t.emit(string(c), t.i)
		}
	}
}

func spaces(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }
