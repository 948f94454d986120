package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"
)

// The limits of what is read. Past them a file is refused, not cut.
const (
	maxFile      = 1 << 20 // bytes of a YAML file, or of a text that one includes
	maxData      = 8 << 20 // bytes of a JSON file of parameters
	maxDocuments = 1000    // of one file
	maxDepth     = 64      // of lists and maps within each other
	maxNodes     = 200_000 // of one file
	maxFiles     = 10_000  // of one folder
	maxProblems  = 1000    // of one load; more are summed up
)

// source is the text of one file as it was written, without a byte order mark.
type source struct {
	name  string // as the user would type it
	text  []byte
	lines []int // offset of each line's first byte
}

func newSource(name string, text []byte) *source {
	s := &source{name: name, text: bytes.TrimPrefix(text, []byte("\ufeff")), lines: []int{0}}
	for i, c := range s.text {
		if c == '\n' || c == '\r' && (i+1 == len(s.text) || s.text[i+1] != '\n') {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// line returns a line, counted from 1, without its end.
func (s *source) line(n int) string {
	if n < 1 || n > len(s.lines) {
		return ""
	}
	end := len(s.text)
	if n < len(s.lines) {
		end = s.lines[n]
	}
	return strings.TrimRight(string(s.text[s.lines[n-1]:end]), "\r\n")
}

// at returns the position of a byte.
func (s *source) at(offset int) Position {
	lo, hi := 0, len(s.lines)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; s.lines[mid] <= offset {
			lo = mid
		} else {
			hi = mid
		}
	}
	return Position{s.name, lo + 1, utf8.RuneCount(s.text[s.lines[lo]:offset]) + 1}
}

// offset is the inverse of at: the byte at a line and a column.
func (s *source) offset(line, column int) int {
	if line < 1 || line > len(s.lines) {
		return len(s.text)
	}
	i := s.lines[line-1]
	for c := 1; c < column && i < len(s.text) && s.text[i] != '\n'; c++ {
		_, n := utf8.DecodeRune(s.text[i:])
		i += n
	}
	return i
}

// readText opens a file with open and reads it. What goes wrong is said without
// the file's name.
func readText(open func() (fs.File, error), most int64) ([]byte, error) {
	f, err := open()
	if err != nil {
		return nil, plainError(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, plainError(err)
	case info.IsDir():
		return nil, errors.New("got a folder, want a file")
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case info.Size() > most:
		return nil, fmt.Errorf("got %d bytes, want %d at most", info.Size(), most)
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("got more than %d bytes", most)
	}
	return text, plainError(err)
}

// plainError drops the operation and the path that os puts before an error.
func plainError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("no such file")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("permission denied")
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

// opener opens a file for readText. It does not wait for the other end of a pipe:
// what is no regular file is not opened.
func opener(path string) func() (fs.File, error) {
	return func() (fs.File, error) {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() && !info.Mode().IsRegular() {
			return nil, errors.New("not a regular file")
		}
		return os.Open(path)
	}
}

// checkCharacters reports characters that YAML readers disagree on or that make a
// text look other than it is. It reports whether the text can be parsed.
func (s *source) checkCharacters(report func(Problem)) bool {
	if bytes.HasPrefix(s.text, []byte{0xff, 0xfe}) || bytes.HasPrefix(s.text, []byte{0xfe, 0xff}) {
		report(Problem{Pos: Position{s.name, 1, 1}, Text: "got UTF-16, want UTF-8"})
		return false
	}
	ok := true
	for i := 0; i < len(s.text); {
		r, n := utf8.DecodeRune(s.text[i:])
		if what := refused(r, n); what != "" {
			p := Problem{Pos: s.at(i), Text: what}
			if n > 1 {
				p.Hint = fmt.Sprintf(`in double quotes write "\u%04x"`, r)
			}
			report(p)
			if !ok { // the second is enough
				return false
			}
			ok = false
		}
		i += n
	}
	return ok
}

func refused(r rune, n int) string {
	switch {
	case r == utf8.RuneError && n == 1:
		return "a byte that is not UTF-8"
	case r == '\t' || r == '\n' || r == '\r':
		return ""
	case r < ' ' || r >= 0x7f && r < 0xa0:
		return fmt.Sprintf("control character %U", r)
	case r == 0x2028 || r == 0x2029:
		return fmt.Sprintf("line separator %U, which YAML readers disagree on", r)
	case r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c:
		return fmt.Sprintf("direction control %U, which makes text look other than it is", r)
	case r == 0xfeff || r == 0xfffe || r == 0xffff:
		return fmt.Sprintf("character %U, which is no text", r)
	}
	return ""
}
