// Package secret finds a secret that was sent to somebody in what comes back from them: as it is, in letters of either case, and as texts are usually
// encoded. What else is done to a secret it does not see, and a part of one neither.
package secret

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Forms are secrets in the forms in which they are found:
//
//   - as they are,
//   - with any of their characters escaped, as URLs, JSON, HTML, Go and Starlark do it (%73, \u0073, \x73, &#115;, \/), up to [layers] times over,
//   - in base64 of either alphabet, as a whole or with something before and behind it in the same word,
//   - in hex.
//
// Letters count in either case. Forms are not changed, and safe for concurrent use. Those that are nil, and the zero Forms, find nothing.
type Forms struct {
	needles *[]needle // a pointer: Forms in a field that is not exported are printed without their method
	longest int       // bytes that a form takes at most, but for what is escaped more than once
}

// needle is a text to look for, in small letters.
type needle struct {
	text          string
	before, after int // characters of base64 beside it that hold some bits of the secret
}

const (
	layers    = 3 // of escapes
	leastHex  = 4 // bytes of a secret that is looked for in hex: less is in many numbers
	leastCore = 6 // characters of base64 that nothing around the secret changes; a secret of five bytes has them
	escape    = 6 // bytes that an escape takes, \u0073
)

// Of returns the forms of secrets. An empty one is none.
func Of(secrets ...string) *Forms {
	f := &Forms{needles: new([]needle)}
	for _, s := range secrets {
		if s == "" {
			continue
		}
		for v := range views(s) { // where an escape is undone, what looks like one in the secret is too
			f.add(v.text, 0, 0)
		}
		f.add(strings.ReplaceAll(s, " ", "+"), 0, 0)
		if len(s) >= leastHex {
			f.add(hex.EncodeToString([]byte(s)), 0, 0)
		}
		for _, form := range []string{s, url.QueryEscape(s), url.PathEscape(s)} {
			f.addBase64(form)
		}
	}
	return f
}

// Format writes nothing of the secrets, however Forms are printed.
func (Forms) Format(f fmt.State, _ rune) { io.WriteString(f, "[secret]") }

func (f *Forms) add(text string, before, after int) {
	n := needle{string(lower([]byte(text))), before, after}
	if !slices.Contains(*f.needles, n) {
		*f.needles, f.longest = append(*f.needles, n), max(f.longest, escape*len(text))
	}
}

// addBase64 adds what is the same in every text in base64 that holds s, at each of the three places where s may begin in a group of three bytes.
func (f *Forms) addBase64(s string) {
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			text := e.EncodeToString(append(make([]byte, before), s...))
			first, last := (before*8+5)/6, (before+len(s))*8/6
			if last-first >= leastCore {
				f.add(text[first:last], min(before, 1), min(len(text)-last, 1))
			}
		}
		f.add(e.WithPadding(base64.StdPadding).EncodeToString([]byte(s)), 0, 0)
	}
}

// In reports whether a text holds a secret.
func (f *Forms) In(text string) bool {
	if f == nil || f.longest == 0 {
		return false
	}
	for v := range views(text) {
		for _, n := range *f.needles {
			if strings.Contains(v.small, n.text) {
				return true
			}
		}
	}
	return false
}

// Out puts a mark in the place of every secret in a text.
func (f *Forms) Out(text, mark string) string {
	if f == nil || f.longest == 0 {
		return text
	}
	var found []span
	for v := range views(text) {
		for _, n := range *f.needles {
			found = append(found, v.find(n)...)
		}
	}
	if found == nil {
		return text
	}
	slices.SortFunc(found, func(a, b span) int { return cmp.Or(a.from-b.from, a.to-b.to) })
	var out strings.Builder
	end := 0 // of what was looked at
	for i, s := range found {
		if i == 0 || s.from >= end {
			out.WriteString(text[end:s.from] + mark)
		}
		end = max(end, s.to)
	}
	out.WriteString(text[end:])
	return out.String()
}

// Before is a text without the beginning of a secret, or of an escape, that it may end with.
func (f *Forms) Before(text string) string {
	if f == nil || f.longest == 0 {
		return text
	}
	start := max(0, len(text)-layers*f.longest)
	for start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	tail := text[start:]
	cut := len(tail)
	for v := range views(tail) {
		end := whole(v.text)
		cut = min(cut, v.at(end))
		for _, n := range *f.needles {
			for size := min(len(n.text), end); size > 0; size-- {
				if strings.HasSuffix(v.small[:end], n.text[:size]) {
					cut = min(cut, v.at(end-size))
					break
				}
			}
		}
	}
	return text[:start+cut]
}

// Window is how much of a text that was looked at may belong to a secret that goes on in what follows, in bytes.
func (f *Forms) Window() int {
	if f == nil {
		return 0
	}
	return layers * f.longest
}

// whole is how much of a text there is before the beginning of an escape at its end.
func whole(text string) int {
	for at := len(text) - 1; at >= max(0, len(text)-longestEscape); at-- {
		switch rest := text[at:]; text[at] {
		case '\\', '%':
			if _, size := unescape(rest + "000000"); rest == `\` || size > len(rest) {
				return at
			}
		case '&':
			if !strings.Contains(rest, ";") {
				return at
			}
		}
	}
	return len(text)
}

// view is a text with escapes undone.
type view struct {
	small string  // in small letters
	off   []int32 // where each byte begins in the text that was given, and where that ends; nil: each byte is one
	text  string
}

type span struct{ from, to int }

func (v *view) at(i int) int {
	if v.off == nil {
		return i
	}
	return int(v.off[i])
}

// find returns where a text is found.
func (v *view) find(n needle) (found []span) {
	for from := 0; ; {
		i := strings.Index(v.small[from:], n.text)
		if i < 0 {
			return found
		}
		first, last := from+i, from+i+len(n.text)
		if n.before > 0 && first > from {
			first--
		}
		if n.after > 0 && last < len(v.small) && ofBase64(v.small[last]) {
			last++
		}
		found, from = append(found, span{v.at(first), v.at(last)}), last
	}
}

func ofBase64(c byte) bool { return letter(c) || strings.IndexByte("+/-_", c) >= 0 }

// views are a text as it is, and with its escapes undone, one layer after the other.
func views(text string) func(yield func(*view) bool) {
	return func(yield func(*view) bool) {
		v := &view{small: string(lower([]byte(text))), text: text}
		for n := 0; yield(v) && n < layers; n++ {
			if v = v.next(); v == nil {
				return
			}
		}
	}
}

// next undoes one layer of escapes; nil if there is none.
func (v *view) next() *view {
	i := strings.IndexAny(v.text, `\%&`)
	if i < 0 || len(v.text) > 1<<30 {
		return nil
	}
	text, off := make([]byte, 0, len(v.text)), make([]int32, 0, len(v.text)+1)
	undone := false
	for i = 0; i < len(v.text); {
		is, size := "", 0
		if c := v.text[i]; c == '\\' || c == '%' || c == '&' {
			is, size = unescape(v.text[i:])
		}
		if size == 0 {
			is, size = v.text[i:i+1], 1
		} else {
			undone = true
		}
		for range len(is) {
			off = append(off, int32(v.at(i)))
		}
		text, i = append(text, is...), i+size
	}
	if !undone {
		return nil
	}
	plain := string(text)
	return &view{small: string(lower(text)), off: append(off, int32(v.at(len(v.text)))), text: plain}
}

// longestEscape bounds the size of one, such as &thetasym;.
const longestEscape = 12

// unescape undoes the escape that a text begins with, and returns its size; 0 if it begins with none.
func unescape(s string) (is string, size int) {
	code := func(digits string, size int) (string, int) {
		n, err := strconv.ParseUint(digits, 16, 32)
		if err != nil {
			return "", 0
		}
		return string(rune(n)), size
	}
	switch {
	case s[0] == '%' && len(s) >= 3:
		b, err := hex.DecodeString(s[1:3])
		if err != nil {
			return "", 0
		}
		return string(b), 3
	case s[0] == '\\' && len(s) >= 6 && (s[1] == 'u' || s[1] == 'U'):
		return code(s[2:6], 6)
	case s[0] == '\\' && len(s) >= 4 && (s[1] == 'x' || s[1] == 'X'):
		return code(s[2:4], 4)
	case s[0] == '\\' && len(s) >= 2 && s[1] > ' ' && s[1] < 0x7f && !letter(s[1]):
		return s[1:2], 2
	case s[0] == '&':
		if end := strings.IndexByte(s[:min(len(s), longestEscape)], ';'); end > 0 {
			if is := html.UnescapeString(s[:end+1]); is != s[:end+1] {
				return is, end + 1
			}
		}
	}
	return "", 0
}

func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// lower makes the letters of ASCII small, in place.
func lower(b []byte) []byte {
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + ('a' - 'A')
		}
	}
	return b
}
