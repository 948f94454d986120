package console

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"callgate/engine/label"
	"callgate/engine/value"
)

// Hidden stands for what is labelled l and not shown, since it is for others.
func Hidden(l label.Label) string { return Look{}.hidden(l) }

// hidden is [Hidden] in this look.
func (o Look) hidden(l label.Label) string {
	names := slices.Clone(l.Readers().Names())
	if len(names) == 0 {
		return "(hidden: for nobody)"
	}
	more := ""
	if len(names) > maxNames {
		names, more = names[:maxNames], fmt.Sprintf(" and %d more", len(names)-maxNames)
	}
	for i, n := range names {
		names[i] = o.line(n, maxReader)
	}
	return "(hidden: for " + strings.Join(names, ", ") + more + ")"
}

// Clean returns a text that is safe to show on a terminal: line ends, tabs and what can be
// seen stay, everything else – control characters, those without a width, those that turn the
// direction of reading, bytes that are no UTF-8 – is written as an escape such as \u202e.
func Clean(s string) string {
	var b []byte
	foreign := false // after a letter that is no Latin one: some scripts write vowels as marks
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		mark := unicode.Is(unicode.M, r)
		b = appendShown(b, r, n, s, r == '\n' || r == '\t' || seen(r) || mark && foreign)
		foreign = mark && foreign || unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r)
		s = s[n:]
	}
	return string(b)
}

// Line is [Clean] for a text on one line: line ends and tabs are escaped too, and in a word that mixes letters of Latin with those of
// another script, the others.
func Line(s string) string { return Look{Wide: true}.line(s, 0) }

// blanks are letters and symbols that look like nothing.
const blanks = "\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"

// seen reports whether a character is one that people see as it is. Marks are not: they can
// strike out or cover what is before them.
func seen(r rune) bool {
	return r == ' ' || unicode.IsGraphic(r) && !unicode.In(r, unicode.Z, unicode.M, unicode.Cf, unicode.Co) && !strings.ContainsRune(blanks, r)
}

// appendShown appends the character of n bytes at the start of s, as it is or escaped.
func appendShown(b []byte, r rune, n int, s string, plain bool) []byte {
	switch {
	case r == utf8.RuneError && n == 1:
		return fmt.Appendf(b, `\x%02x`, s[0])
	case plain:
		return append(b, s[:n]...)
	case r == '\n':
		return append(b, `\n`...)
	case r == '\r':
		return append(b, `\r`...)
	case r == '\t':
		return append(b, `\t`...)
	case r < 0x80:
		return fmt.Appendf(b, `\x%02x`, r)
	case r <= 0xffff:
		return fmt.Appendf(b, `\u%04x`, r)
	}
	return fmt.Appendf(b, `\U%08x`, r)
}

// line returns a text on one line: like [Clean], but line ends and tabs are escaped too. Past most
// characters it is cut and says so; 0 means that it is not.
//
// In a word that mixes letters of Latin with those of another script, the others are escaped, and so are other forms of
// letters: they may be there to be taken for what they are not. Without Wide, whatever is beyond ASCII is.
func (o Look) line(s string, most int) string {
	return o.shown(s, most, func(rune) bool { return false })
}

// quote is line as a literal, in double quotes. One that is cut says how long it is.
func (o Look) quote(s string, most int) string {
	size := utf8.RuneCountInString(s)
	more := ""
	if most > 0 && size > most {
		more = fmt.Sprintf(" (%d chars)", size)
		most = max(most-len(more), 8)
	}
	b := o.shown(s, most, func(r rune) bool { return r == '"' || r == '\\' })
	return `"` + b + `"` + more
}

func (o Look) shown(s string, most int, escaped func(rune) bool) string {
	var b []byte
	mixed := odd(s, most)
	count := 0
	for i := 0; i < len(s); {
		if most > 0 && count >= most {
			return string(b) + o.dots()
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		plain := seen(r) && (r < 0x80 || o.Wide && !form(r) && !(i < len(mixed) && mixed[i] && !unicode.Is(unicode.Latin, r)))
		before := len(b)
		if plain && escaped(r) {
			b = append(b, '\\')
		}
		b = appendShown(b, r, n, s[i:], plain)
		count += utf8.RuneCount(b[before:])
		i += n
	}
	return string(b)
}

// view shows values to one person.
type view struct {
	Look
	principal string                       // of the run
	mayRead   func(label.Label) bool       // what who looks may read; nil: what everybody may
	origins   map[label.Source]label.Trust // the trust that sources of results came with
}

// may reports whether the person may read what is labelled l.
func (w view) may(l label.Label) bool {
	return l.Readers().IsPublic() || w.mayRead != nil && w.mayRead(l)
}

// maxItems is how many parts of a container are shown.
const maxItems = 6

// literal shows a value as a program would write it, about most characters of it; 0 means all. Parts that the person
// may not read are hidden.
func (w view) literal(v value.Value, most int) string {
	s := w.part(v, most, 0)
	if n := utf8.RuneCountInString(s); most > 0 && n > 2*most { // of a container
		s = string([]rune(s)[:2*most]) + w.dots()
	}
	return s
}

// Value shows all of a value, in plain text, to somebody who may read what may says.
func Value(v value.Value, may func(label.Label) bool) string {
	return view{mayRead: may}.part(v, 0, 0)
}

func (w view) part(v value.Value, most, depth int) string {
	reads := v.Label
	if !v.Scalar() {
		reads = reads.Join(v.Structure)
	}
	if !w.may(reads) {
		return w.hidden(reads)
	}
	switch v.Kind {
	case value.String:
		return w.quote(v.Str, most)
	case value.Bytes:
		return "b" + w.quote(v.Str, most)
	}
	if v.Scalar() {
		return w.line(v.Text(), most)
	}
	begin, end := "[", "]"
	switch v.Kind {
	case value.Tuple:
		begin, end = "(", ")"
		if len(v.Items) == 1 {
			end = ",)"
		}
	case value.Dict:
		begin, end = "{", "}"
	case value.Set:
		begin, end = "set([", "])"
	case value.Record:
		begin, end = "struct(", ")"
	}
	var parts []string
	for i, e := range v.Items {
		if most > 0 && (i == maxItems || depth == 3) || depth > value.MaxDepth {
			parts = append(parts, fmt.Sprintf("%s %d more", w.dots(), len(v.Items)-i))
			break
		}
		s := w.part(e, most, depth+1)
		switch {
		case v.Kind == value.Record && i < len(v.Keys):
			s = w.line(v.Keys[i].Str, most) + " = " + s
		case v.Kind == value.Dict && i < len(v.Keys):
			s = w.part(v.Keys[i], most, depth+1) + ": " + s
		}
		parts = append(parts, s)
	}
	return begin + strings.Join(parts, ", ") + end
}

const (
	maxReader  = 40   // characters of a reader's name
	maxNames   = 2    // readers and tags that a short label names, rules that a summary names
	maxOrigins = 4096 // sources whose trust a timeline remembers
)

// label shows the class of a label in short: "untrusted/private#pii". Private is for the principal
// alone; what more than two names there are is counted.
func (w view) label(l label.Label) string {
	readers := "public"
	if r := l.Readers(); !r.IsPublic() {
		names := slices.Clone(r.Names())
		switch {
		case len(names) == 0:
			readers = "nobody"
		case len(names) == 1 && w.principal != "" && names[0] == w.principal:
			readers = "private"
		default:
			more := ""
			if len(names) > maxNames {
				names, more = names[:maxNames], ",+"+strconv.Itoa(len(names)-maxNames)
			}
			for i, n := range names {
				names[i] = w.line(n, maxReader)
			}
			readers = "{" + strings.Join(names, ",") + more + "}"
		}
	}
	s := l.Trust().String() + "/" + readers
	tags := l.Tags()
	for i, t := range tags {
		if i == maxNames {
			return s + "#+" + strconv.Itoa(len(tags)-maxNames)
		}
		s += "#" + w.line(t, 20)
	}
	return s
}

// labelled is label in its tone.
func (w view) labelled(l label.Label, width int) string {
	s := pad(w.label(l), width)
	if l.Trust() < label.Internal {
		return w.paint(low, s)
	}
	return w.paint(quiet, s)
}
