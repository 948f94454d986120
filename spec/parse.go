package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"
)

// parse reads every document of a file. What is wrong in one does not hide what is
// wrong in the next.
func parse(src *source, report func(Problem)) []*node {
	if !src.checkCharacters(report) {
		return nil
	}
	r := &reader{src: src, report: report}
	var docs []*node
	for _, c := range src.chunks() {
		if len(docs) >= maxDocuments {
			report(Problem{Pos: Position{src.name, c.line + 1, 1}, Text: fmt.Sprintf("got more than %d documents in one file", maxDocuments)})
			break
		}
		if c.directive != "" {
			report(Problem{Pos: Position{src.name, c.line + 1, 1}, Text: fmt.Sprintf("directives such as %s are not read here", quoted(c.directive)), Hint: "remove the line"})
			continue
		}
		trees, err := trees(bytes.NewReader(c.text))
		if err != nil {
			report(src.syntaxProblem(c, err))
			continue
		}
		r.line = c.line
		for _, t := range trees {
			if n := r.node(t, 0); n.kind != nullNode {
				docs = append(docs, n)
			}
		}
	}
	return docs
}

// chunk is the part of a file from one --- to the next.
type chunk struct {
	text      []byte
	line      int    // lines before it
	directive string // the line begins with %: not read
}

// chunks splits the text at the lines that begin with ---, which end a document
// wherever they stand.
func (s *source) chunks() []chunk {
	var out []chunk
	start, line := 0, 0
	blank := true // nothing but comments so far
	flush := func(end, next int) {
		if !blank {
			out = append(out, chunk{text: s.text[start:end], line: line})
		}
		start, line, blank = end, next, true
	}
	for i, at := range s.lines {
		l := s.line(i + 1)
		switch rest, marker := strings.CutPrefix(l, "---"); {
		case marker && (rest == "" || rest[0] == ' ' || rest[0] == '\t'):
			flush(at, i)
			blank = strings.TrimSpace(rest) == "" || strings.HasPrefix(strings.TrimSpace(rest), "#")
		case blank && strings.HasPrefix(l, "%"):
			out = append(out, chunk{line: i, directive: l})
			start, line = at+len(l), i
		default:
			if t := strings.TrimSpace(l); t != "" && t[0] != '#' && l != "..." {
				blank = false
			}
		}
	}
	flush(len(s.text), len(s.lines))
	return out
}

// trees parses YAML text. A panic of the parser is an error.
func trees(text io.Reader) (out []*yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	d := yaml.NewDecoder(text)
	for {
		var n yaml.Node
		switch err := d.Decode(&n); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return out, err
		}
		if len(n.Content) == 1 {
			out = append(out, n.Content[0])
		}
	}
}

// lineReader gives out a line at a time, so that how far a parser got shows.
type lineReader struct {
	text  []byte
	lines int
}

func (r *lineReader) Read(p []byte) (int, error) {
	if len(r.text) == 0 {
		return 0, io.EOF
	}
	n := min(len(p), len(r.text))
	if i := bytes.IndexByte(r.text[:n], '\n'); i >= 0 {
		n = i + 1
		r.lines++
	}
	copy(p, r.text[:n])
	r.text = r.text[n:]
	return n, nil
}

// syntaxProblem says what stops the YAML parser, and in which line: the one after the
// longest part from the start that can be parsed, for the parser itself names the line
// in which the enclosing map or list begins.
func (s *source) syntaxProblem(c chunk, err error) Problem {
	got := &lineReader{text: c.text}
	trees(got)
	last := min(got.lines+1, bytes.Count(c.text, []byte("\n"))+1)
	line := 0
	for n, budget := last-1, maxFile; n >= 0 && budget > 0; n-- {
		part := c.text[:s.offsetOfLine(c, n)]
		budget -= len(part) + 4096
		if _, err := trees(bytes.NewReader(part)); err == nil {
			line = n + 1
			break
		}
	}
	if line == 0 { // too far to look
		line = last
		fmt.Sscanf(err.Error(), "yaml: line %d:", &line)
	}
	pos := Position{File: s.name, Line: c.line + line}
	text, hint, column := diagnose(s.line(pos.Line), err.Error())
	pos.Column = column
	return Problem{Pos: pos, Text: text, Hint: hint}
}

// offsetOfLine returns how many bytes of the chunk its first n lines are.
func (s *source) offsetOfLine(c chunk, n int) int {
	if c.line+n >= len(s.lines) {
		return len(c.text)
	}
	return min(len(c.text), s.lines[c.line+n]-s.lines[c.line])
}

// diagnose puts the parser's complaint about a line into words, with the column
// of its likely cause.
func diagnose(line, complaint string) (text, hint string, column int) {
	indent := len(line) - len(strings.TrimLeft(line, " \t"))
	column = indent + 1
	value := column // of the value after the first colon, if there is one
	if i := strings.Index(line, ": "); i >= 0 {
		value = i + 3 + len(line[i+2:]) - len(strings.TrimLeft(line[i+2:], " "))
	} else if rest, ok := strings.CutPrefix(line[indent:], "- "); ok {
		value = indent + 3 + len(rest) - len(strings.TrimLeft(rest, " "))
	}
	column = runes(line, column)
	has := func(s string) bool { return strings.Contains(complaint, s) }
	first := (line + " ")[min(value-1, len(line))]
	quote := first == '"' || first == '\''
	switch {
	case strings.Contains(line[:indent], "\t"):
		return "a tab in the indentation, want spaces", "", runes(line, strings.Index(line, "\t")+1)
	case quote && (has("unknown anchor") || has("alphabetic or numeric character")), (quote || first == '[' || first == '{') && has("did not find expected key"):
		return "text after a value that has ended", "quote the whole of it", runes(line, value)
	case has("unknown anchor"), has("alphabetic or numeric character"):
		i := strings.IndexAny(line, "*&")
		if i < 0 {
			i = indent
		}
		return fmt.Sprintf("a text that begins with %s needs quotes", line[i:min(i+1, len(line))]), "", runes(line, i+1)
	case has("cannot start any token"):
		return "this cannot begin a text", "quote it", runes(line, min(value, len(line)+1))
	case has("mapping values are not allowed"):
		if i := strings.Index(line, ": "); i >= 0 && strings.Contains(line[i+2:], ": ") {
			return `a second ": " in one line`, `a text with ": " in it needs quotes`, runes(line, i+3+strings.Index(line[i+2:], ": "))
		}
		return "a key where none can be", "see that the line is indented as those beside it", column
	case has("found unexpected end of stream"), has("found unexpected document indicator"):
		return "the quote that begins here does not end", "", runes(line, max(1, strings.IndexAny(line, `"'`)+1))
	case has("unknown escape character"), has("did not find expected hexdecimal number"):
		return `a backslash in double quotes that begins no escape`, `write \\, or use single quotes`, runes(line, max(1, strings.Index(line, `\`)+1))
	case has("could not find expected ':'"):
		return "got a text, want a key and a colon", "", column
	case has("',' or ']'"):
		return "a list in brackets does not go on after this, or does not end", "want , or ]; quote a text that has brackets, quotes or commas in it", runes(line, max(1, strings.IndexByte(line, '[')+1))
	case has("',' or '}'"):
		return "a map in braces does not go on after this, or does not end", "want , or }; quote a text that has braces, quotes or commas in it", runes(line, max(1, strings.IndexByte(line, '{')+1))
	case has("did not find expected key"), has("did not find expected '-' indicator"), has("block"):
		return "the line does not fit its surroundings", "see that it is indented as those beside it", column
	case has("exceeded max depth"):
		return fmt.Sprintf("nested deeper than %d", maxDepth), "", column
	}
	return "not YAML: " + strings.TrimPrefix(complaint, "yaml: "), "", column
}

// runes turns a column in bytes into one in characters.
func runes(line string, column int) int {
	return len([]rune(line[:min(max(column-1, 0), len(line))])) + 1
}
