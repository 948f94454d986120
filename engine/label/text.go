package label

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// String returns the label's class as people write it: trust, readers, and
// tags if any, such as "untrusted/public", "user/{ana,bob}" or
// "internal/{}#pii#secret". [Parse] reads it back. In names, what has a meaning here, spaces and
// what cannot be printed stand as "%" and two hex digits a byte; a name of no characters is "%".
func (l Label) String() string {
	b := []byte(l.Trust().String())
	if l.Readers().IsPublic() {
		b = append(b, "/public"...)
	} else {
		b = append(b, "/{"...)
		for i, p := range l.Readers().Names() {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendName(b, p)
		}
		b = append(b, '}')
	}
	if l.class().anyTag {
		return string(append(b, "#*"...))
	}
	for _, t := range l.Tags() {
		b = appendName(append(b, '#'), t)
	}
	return string(b)
}

// special are the characters that have a meaning in a label's text. The asterisk, alone, is all of them.
const special = "%,{}#/*"

func appendName(b []byte, name string) []byte {
	if name == "" {
		return append(b, '%')
	}
	for len(name) > 0 {
		r, n := utf8.DecodeRuneInString(name)
		if strings.ContainsRune(special, r) || r == ' ' || !unicode.IsPrint(r) {
			for _, c := range []byte(name[:n]) {
				b = fmt.Appendf(b, "%%%02X", c)
			}
		} else {
			b = append(b, name[:n]...)
		}
		name = name[n:]
	}
	return b
}

func parseName(s string) (string, error) {
	if s == "%" {
		return "", nil
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case s[i] == '%':
			c, err := strconv.ParseUint(s[i+1:min(i+3, len(s))], 16, 8)
			if err != nil || i+3 > len(s) {
				return "", fmt.Errorf("name %q: got %q, want %% and two hex digits", s, s[i:min(i+3, len(s))])
			}
			b = append(b, byte(c))
			i += 2
		case strings.ContainsRune(special, r) || r == utf8.RuneError && n == 1 || r == ' ' || !unicode.IsPrint(r):
			return "", fmt.Errorf("name %q: got %q, want it as %% and hex digits: %q", s, s[i:i+n], appendName(nil, s[i:i+n]))
		default:
			b = append(b, s[i:i+n]...)
			i += n - 1
		}
	}
	if len(b) == 0 {
		return "", errors.New("got a name of no characters, want one, or %")
	}
	return string(b), nil
}

// Parse reads what [Label.String] writes. The readers may be left out: public. The label has no sources.
func Parse(s string) (Label, error) {
	l, err := parse(s)
	if err != nil {
		return Top(), fmt.Errorf("label %q: %w", s, err)
	}
	return l, nil
}

func parse(s string) (Label, error) {
	head, rest, tagged := strings.Cut(s, "#")
	trust, readers, given := strings.Cut(head, "/")
	t, err := ParseTrust(trust)
	if err != nil {
		return Top(), err
	}
	r := Public()
	if given && readers != "public" {
		if len(readers) < 2 || readers[0] != '{' || readers[len(readers)-1] != '}' {
			return Top(), fmt.Errorf("readers: got %q, want public or {name,…}", readers)
		}
		r = Readers{}
		if list := readers[1 : len(readers)-1]; list != "" {
			names, err := parseNames(strings.Split(list, ","))
			if err != nil {
				return Top(), fmt.Errorf("readers: %w", err)
			}
			r = Only(names...)
		}
	}
	if !tagged {
		return New(t, r, nil), nil
	}
	if rest == "*" {
		return New(t, r, []string{"*"}), nil
	}
	tags, err := parseNames(strings.Split(rest, "#"))
	if err != nil {
		return Top(), fmt.Errorf("tags: %w", err)
	}
	return New(t, r, tags), nil
}

// parseNames reads names; one that is "*" when read must have been written so, and means everything.
func parseNames(in []string) ([]string, error) {
	out := make([]string, len(in))
	for i, s := range in {
		name, err := parseName(s)
		if err != nil {
			return nil, err
		}
		if name == "*" {
			return nil, fmt.Errorf("name %q: got *, want the name of one", s)
		}
		if !utf8.ValidString(name) {
			return nil, fmt.Errorf("name %q: got bytes that are no UTF-8", s)
		}
		out[i] = name
	}
	return out, nil
}

// labelJSON is how a label is read.
type labelJSON struct {
	Trust   Trust     `json:"trust"`
	Readers []string  `json:"readers"`
	Tags    *[]string `json:"tags"`
	Sources *[]Source `json:"sources"`
	Grants  []Grant   `json:"grants"`
	More    bool      `json:"more"`
}

// MarshalJSON writes everything of the label, for wire and journal. Readers and
// tags are lists; ["*"] means everybody, every tag. It never fails.
func (l Label) MarshalJSON() ([]byte, error) { return l.AppendJSON(nil), nil }

// AppendJSON appends what [Label.MarshalJSON] gives.
func (l Label) AppendJSON(b []byte) []byte {
	b = append(append(b, `{"trust":"`...), l.Trust().String()...)
	b = appendList(append(b, `","readers":`...), l.Readers().Names(), appendJSON)
	b = appendList(append(b, `,"tags":`...), l.Tags(), appendJSON)
	b = appendList(append(b, `,"sources":`...), l.Sources(), func(b []byte, s Source) []byte {
		b = appendJSON(append(b, `{"tool":`...), s.Tool)
		b = appendJSON(append(b, `,"of":`...), s.Of)
		if s.Field != "" {
			b = appendJSON(append(b, `,"field":`...), s.Field)
		}
		return append(b, '}')
	})
	if len(l.Grants()) > 0 {
		b = appendList(append(b, `,"grants":`...), l.Grants(), func(b []byte, g Grant) []byte {
			b = appendJSON(append(b, `{"call":`...), g.Call)
			b = append(append(b, `,"trust":"`...), g.Trust.String()...)
			return append(strconv.AppendInt(append(b, `","bits":`...), int64(g.Bits), 10), '}')
		})
	}
	return append(strconv.AppendBool(append(b, `,"more":`...), l.origin().more), '}')
}

func appendList[T any](b []byte, list []T, f func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, x := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = f(b, x)
	}
	return append(b, ']')
}

// appendJSON appends a string, as encoding/json writes it.
func appendJSON(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || strings.IndexByte(`"\<>&`, c) >= 0 || c == 0x7f {
			q, err := json.Marshal(s)
			if err != nil { // a string always encodes
				panic(err)
			}
			return append(b, q...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// UnmarshalJSON reads what [Label.MarshalJSON] writes. A field left out has
// its most restrictive value, so that an empty object is [Top]; grants left out are none if there are sources.
func (l *Label) UnmarshalJSON(b []byte) error {
	*l = Top()
	var j labelJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return fmt.Errorf("label: %w", err)
	}
	tags := []string{"*"}
	if j.Tags != nil {
		tags = *j.Tags
	}
	out := New(j.Trust, Only(j.Readers...), tags)
	if j.Sources == nil {
		out = Label{out.class(), manyOrigin}
	} else {
		out = out.WithSources(*j.Sources...)
	}
	for _, g := range j.Grants {
		out = out.WithGrant(g)
	}
	if j.More {
		out = Label{out.class(), joinOrigin(out.origin(), &origin{more: true})}
	}
	*l = out
	return nil
}

// Explain returns the sources of a label in words, in their order, at most n of them:
// "mail.read 04-urgent.eml (body)". A label without sources gives "".
func (l Label) Explain(n int) string {
	var parts []string
	for i, s := range l.Sources() {
		if i == n {
			parts = append(parts, "…")
			break
		}
		p := s.Tool
		if s.Of != "" {
			p += " " + s.Of
		}
		if s.Field != "" {
			p += " (" + s.Field + ")"
		}
		parts = append(parts, p)
	}
	if len(parts) == 0 && l.More() {
		return "many sources"
	}
	return strings.Join(parts, ", ")
}
