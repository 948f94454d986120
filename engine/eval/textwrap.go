package eval

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"callgate/engine/label"
)

// textwrapModule makes the module textwrap, whose widths count code points.
func textwrapModule() *module {
	m := &module{"textwrap", map[string]val{}}
	add := func(name, params string, run native) {
		m.attrs[name] = builtinVal(&builtin{name: name, recv: unboundVal, def: def("textwrap."+name, params, run)}, label.BottomID)
	}
	const options = "text, width?, *, initial_indent?, subsequent_indent?, break_long_words?, break_on_hyphens?, drop_whitespace?, expand_tabs?, replace_whitespace?, max_lines?, placeholder?"
	add("wrap", options, func(t *thread, c *call) val {
		l, base := t.shallow(c), len(t.parts)
		for _, line := range newWrapper(t, c, 0).wrap(c.args[0].str()) {
			t.keep(stringVal(t.copied(line), l))
		}
		return listVal(&list{items: t.gather(base), st: l}, l)
	})
	add("fill", options, func(t *thread, c *call) val {
		w := textWriter{t: t}
		for i, line := range newWrapper(t, c, 0).wrap(c.args[0].str()) {
			if i > 0 {
				w.put("\n")
			}
			w.put(line)
		}
		return stringVal(w.end(), t.shallow(c))
	})
	add("shorten", "text, width, *, placeholder?", func(t *thread, c *call) val {
		s := c.wantString(t, 0)
		t.charge(int64(len(s)) / 4)
		t.alloc(int64(len(s)) * 2)
		w := &wrapper{t: t, c: c, width: int(min(t.intArg(c, 1), 1<<30)), most: 1, placeholder: " [...]", drop: true, breaks: true, hyphens: true}
		if c.has(2) {
			w.placeholder = c.wantString(t, 2)
		}
		lines := w.wrap(t.collapsed(s))
		if len(lines) == 0 {
			return stringVal("", t.shallow(c))
		}
		return stringVal(t.copied(lines[0]), t.shallow(c))
	})
	add("dedent", "text", runDedent)
	add("indent", "text, prefix, predicate?", runIndent)
	return m
}

// collapsed returns the words of a text with one space between them.
func (t *thread) collapsed(s string) string {
	out := textWriter{t: t}
	for space := ""; ; space = " " {
		s = strings.TrimLeftFunc(s, isSpaceRune)
		if s == "" {
			return out.end()
		}
		end := strings.IndexFunc(s, isSpaceRune)
		if end < 0 {
			end = len(s)
		}
		out.put(space)
		out.put(s[:end])
		s = s[end:]
	}
}

// wrapper breaks a text into lines.
type wrapper struct {
	t                     *thread
	c                     *call
	width                 int
	first, next           string // what lines begin with
	breaks, hyphens, drop bool
	tabs, spaces          bool
	most                  int // lines; 0 if there may be any number
	placeholder           string
}

func newWrapper(t *thread, c *call, text int) *wrapper {
	c.wantString(t, text)
	at := func(name string) int {
		for i, p := range c.def.params {
			if p == name {
				return i
			}
		}
		return len(c.def.params)
	}
	str := func(name, def string) string {
		if i := at(name); c.has(i) {
			return c.wantString(t, i)
		}
		return def
	}
	w := &wrapper{t: t, c: c, width: 70, first: str("initial_indent", ""), next: str("subsequent_indent", ""), placeholder: str("placeholder", " [...]")}
	w.breaks, w.hyphens, w.drop = c.wantBool(t, at("break_long_words"), true), c.wantBool(t, at("break_on_hyphens"), true), c.wantBool(t, at("drop_whitespace"), true)
	w.tabs, w.spaces = c.wantBool(t, at("expand_tabs"), true), c.wantBool(t, at("replace_whitespace"), true)
	if i := at("width"); c.has(i) {
		w.width = int(min(max(t.intArg(c, i), -1), 1<<30))
	}
	if i := at("max_lines"); !c.none(i) {
		w.most = int(min(max(t.intArg(c, i), 1), 1<<30))
	}
	return w
}

func wrapSpace(r byte) bool { return r == ' ' || r >= '\t' && r <= '\r' }

// pieceOfLine is what a piece of a text takes in a list of them, which grows by making room elsewhere.
const pieceOfLine = 40

// chunks cuts a text into words, with hyphens at their ends, and white space.
func (w *wrapper) chunks(s string) []string {
	var out []string
	add := func(s string) {
		w.t.burn(1 + int64(len(s))/64) // what is charged beforehand is no look at the clock
		w.t.alloc(pieceOfLine)
		out = append(out, s)
	}
	for i := 0; i < len(s); {
		j := i
		if wrapSpace(s[i]) {
			for j < len(s) && wrapSpace(s[j]) {
				j++
			}
			add(s[i:j])
			i = j
			continue
		}
		for j < len(s) && !wrapSpace(s[j]) {
			j++
		}
		word, joined := s[i:j], false
		i = j
		for w.hyphens {
			n := hyphenBreak(word, joined)
			if n == 0 {
				break
			}
			add(word[:n])
			joined = word[n-1] != '-'
			word = word[n:]
		}
		add(word)
	}
	return out
}

// hyphenBreak returns where a word may be broken first: behind a hyphen between letters, or on either side of a dash of several.
// joined says that a word goes before.
func hyphenBreak(s string, joined bool) int {
	letter := func(r rune, n int) bool { return n > 0 && r != '_' && unicode.IsLetter(r) }
	for i := 0; i < len(s); i++ {
		if s[i] != '-' {
			continue
		}
		n := i
		for n < len(s) && s[n] == '-' {
			n++
		}
		before, bw := utf8.DecodeLastRuneInString(s[:i])
		after, aw := utf8.DecodeRuneInString(s[n:])
		if n-i > 1 {
			if aw > 0 && isWordRune(after) && (i == 0 && joined || bw > 0 && isWordRune(before) || bw > 0 && strings.ContainsRune("!\"'&.,?", before)) {
				if i > 0 {
					return i
				}
				return n
			}
			i = n - 1
			continue
		}
		if !letter(before, bw) || !letter(after, aw) {
			continue
		}
		// Two letters on the left, or a letter and a hyphen; and two on the right, or a letter, a hyphen and another.
		left, lw := utf8.DecodeLastRuneInString(s[:i-bw])
		if left == '-' && lw > 0 {
			left, lw = utf8.DecodeLastRuneInString(s[:i-bw-1])
		}
		rest := strings.TrimPrefix(s[n+aw:], "-")
		right, rw := utf8.DecodeRuneInString(rest)
		if letter(left, lw) && letter(right, rw) {
			return n
		}
	}
	return 0
}

// upTo counts the code points of a word, up to n.
func upTo(s string, n int) int {
	i := 0
	for range s {
		if i >= n {
			break
		}
		i++
	}
	return i
}

// wrap returns the lines.
func (w *wrapper) wrap(s string) []string {
	t, c := w.t, w.c
	t.charge(int64(len(s)))
	t.alloc(int64(len(s)) * 4)
	if w.tabs && strings.Contains(s, "\t") {
		s = w.expand(s)
	}
	if w.spaces {
		s = w.blanked(s)
	}
	if w.width <= 0 {
		panic(t.argError(c, "range", "invalid width %d (must be > 0)", w.width))
	}
	length := utf8.RuneCountInString
	if w.most > 0 {
		indent := w.first
		if w.most > 1 {
			indent = w.next
		}
		if length(indent)+length(strings.TrimLeft(w.placeholder, " \t\n\v\f\r")) > w.width {
			panic(t.argError(c, "range", "placeholder too large for max width"))
		}
	}
	chunks := w.chunks(s)
	blank := func(s string) bool { return strings.Trim(s, " \t\n\v\f\r") == "" }
	var lines []string
	for at := 0; at < len(chunks); {
		indent := w.first
		if len(lines) > 0 {
			indent = w.next
		}
		width := w.width - length(indent)
		if w.drop && len(lines) > 0 && blank(chunks[at]) {
			at++
		}
		from, used := at, 0
		for at < len(chunks) {
			n := upTo(chunks[at], width+1)
			if used+n > width {
				break
			}
			used += n
			at++
			if at%1024 == 0 { // a line may hold the whole text
				t.poll()
			}
		}
		line := append([]string(nil), chunks[from:at]...)
		if at < len(chunks) && upTo(chunks[at], width+1) > width {
			switch {
			case w.breaks:
				piece := w.head(chunks[at], max(1, width)-min(used, max(1, width)))
				chunks[at] = chunks[at][len(piece):]
				line, used = append(line, piece), used+length(piece)
			case at == from:
				line, used = append(line, chunks[at]), used+length(chunks[at])
				at++
			}
		}
		if w.drop && len(line) > 0 && blank(line[len(line)-1]) {
			used -= length(line[len(line)-1])
			line = line[:len(line)-1]
		}
		if len(line) == 0 {
			continue
		}
		t.burn(1 + int64(len(line))/4)
		rest := chunks[min(at, len(chunks)):]
		if w.most == 0 || len(lines)+1 < w.most || (len(rest) == 0 || w.drop && len(rest) == 1 && blank(rest[0])) && used <= width {
			lines = append(lines, w.line(indent, line, ""))
			continue
		}
		for len(line) > 0 {
			if end := line[len(line)-1]; !blank(end) && used+length(w.placeholder) <= width {
				return append(lines, w.line(indent, line, w.placeholder))
			} else {
				used -= length(end)
			}
			line = line[:len(line)-1]
		}
		if n := len(lines); n > 0 {
			if prev := strings.TrimRight(lines[n-1], " \t\n\v\f\r"); length(prev)+length(w.placeholder) <= w.width {
				lines[n-1] = prev + w.placeholder
				return lines
			}
		}
		return append(lines, indent+strings.TrimLeft(w.placeholder, " \t\n\v\f\r"))
	}
	return lines
}

// blanked puts a space for each byte of white space.
func (w *wrapper) blanked(s string) string {
	out := textWriter{t: w.t}
	for s != "" {
		n := 0
		for n < len(s) && n < shortText && (s[n] == ' ' || !wrapSpace(s[n])) {
			n++
		}
		out.put(s[:n])
		if n < len(s) && n < shortText {
			out.put(" ")
			n++
		}
		s = s[n:]
	}
	return out.end()
}

// line is a line with what it begins and ends with, which is charged for.
func (w *wrapper) line(indent string, line []string, end string) string {
	w.t.alloc(2 * pieceOfLine)
	out := textWriter{t: w.t}
	out.put(indent)
	for _, p := range line {
		out.put(p)
	}
	out.put(end)
	return out.end()
}

// head returns the first n code points of a word; up to a hyphen, if one is there.
func (w *wrapper) head(s string, n int) string {
	end := 0
	for range n {
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	if w.hyphens && end < len(s) {
		if i := strings.LastIndexByte(s[:end], '-'); i > 0 && strings.Trim(s[:i], "-") != "" {
			return s[:i+1]
		}
	}
	return s[:end]
}

// expand puts spaces for tabs, to columns that are multiples of eight.
func (w *wrapper) expand(s string) string {
	out, col := textWriter{t: w.t}, 0
	for i := 0; i < len(s); {
		j := strings.IndexAny(s[i:], "\t\n\r")
		if j < 0 {
			out.put(s[i:])
			break
		}
		out.put(s[i : i+j])
		col += utf8.RuneCountInString(s[i : i+j])
		if i += j; s[i] == '\t' {
			n := 8 - col%8
			out.put("        "[:n])
			col += n
		} else {
			out.put(s[i : i+1])
			col = 0
		}
		i++
	}
	return out.end()
}

// runDedent takes off the white space that all lines begin with. Lines of nothing else become empty.
func runDedent(t *thread, c *call) val {
	s := c.wantString(t, 0)
	t.charge(int64(len(s)) / 4)
	margin, known := "", false
	for line := range strings.SplitSeq(s, "\n") {
		t.burn(1)
		text := strings.TrimLeft(line, " \t")
		if text == "" {
			continue
		}
		indent := line[:len(line)-len(text)]
		if !known {
			margin, known = indent, true
		}
		n := 0
		for n < len(margin) && n < len(indent) && margin[n] == indent[n] {
			n++
		}
		margin = margin[:n]
	}
	w := textWriter{t: t}
	first := true
	for line := range strings.SplitSeq(s, "\n") {
		if !first {
			w.put("\n")
		}
		if first = false; strings.TrimLeft(line, " \t") != "" {
			w.put(line[len(margin):])
		}
	}
	return stringVal(w.end(), t.shallow(c))
}

// runIndent puts a prefix before each line that is not blank, or for which the function is true.
func runIndent(t *thread, c *call) val {
	s, prefix := c.wantString(t, 0), c.wantString(t, 1)
	l := t.shallow(c)
	made := l
	w := textWriter{t: t}
	for s != "" {
		n := strings.IndexAny(s, "\n\r")
		switch {
		case n < 0:
			n = len(s)
		case strings.HasPrefix(s[n:], "\r\n"):
			n += 2
		default:
			n++
		}
		line := s[:n]
		t.charge(1 + int64(n)/16)
		with := strings.Trim(line, " \t\n\v\f\r") != ""
		if !c.none(2) {
			r := t.callUnder(l, c.args[2], stringVal(t.copied(line), l))
			made = t.join(made, t.join(r.lab, t.structure(r)))
			with = t.truth(r)
		}
		if with {
			w.put(prefix)
		}
		w.put(line)
		s = s[n:]
	}
	t.deeper(c, made)
	return stringVal(w.end(), made)
}
