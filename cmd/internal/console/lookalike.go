package console

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// scripts are those whose letters can be taken for others', with the names by which they are warned of. What
// is in none of them counts as another script.
var scripts = []struct {
	name  string
	table *unicode.RangeTable
}{
	{"Latin", unicode.Latin}, {"Cyrillic", unicode.Cyrillic}, {"Greek", unicode.Greek}, {"Armenian", unicode.Armenian}, {"Cherokee", unicode.Cherokee},
	{"Coptic", unicode.Coptic}, {"Lisu", unicode.Lisu}, {"Georgian", unicode.Georgian}, {"Hebrew", unicode.Hebrew}, {"Arabic", unicode.Arabic},
	{"Han", unicode.Han}, {"Hiragana", unicode.Hiragana}, {"Katakana", unicode.Katakana}, {"Hangul", unicode.Hangul},
}

func scriptOf(r rune) string {
	for _, s := range scripts {
		if unicode.Is(s.table, r) {
			return s.name
		}
	}
	return "another script"
}

// twins are letters that look like a letter or digit of ASCII, by script: what a name of them reads as.
var twins = func() map[rune]rune {
	m := map[rune]rune{}
	for _, pair := range []struct{ them, ascii string }{
		{"авсԁеɡһіјӏкмопрԛѕтцуԝхѵ", "abcdeghijlkmonpqstuywxv"},
		{"АВСЕНІЈКМОРЅТУХ", "ABCEHIJKMOPSTYX"},
		{"αγεικνορτυχω", "ayeikvoptuxw"},
		{"ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX"},
		{"ɑıȷʟոսօհցѕ", "aijlnuohgs"},
		{"ᎪᏴᏟᎬᎻᎫᏦᏞᎷᏢᏚᎢᏙᎳᏃ", "ABCEHJKLMPSTVWZ"},
		{"∕⁄‐‑‒–—−․。", "//------.."},
	} {
		ascii := []rune(pair.ascii)
		for i, r := range []rune(pair.them) {
			m[r] = ascii[i]
		}
	}
	return m
}()

// plain returns what a text reads as to somebody who knows ASCII alone: its skeleton. A character without a twin
// stays.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if twin, ok := twins[r]; ok {
			return twin
		}
		return r
	}, norm.NFKC.String(s))
}

// form reports whether a letter or digit is another form of one of ASCII – wide, bold, in a ring – or punctuation
// of addresses that is.
func form(r rune) bool {
	if r < 0x80 || r == 'ª' || r == 'º' || !(unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Nl, r) || unicode.Is(unicode.So, r) || 0xff00 <= r && r <= 0xff5e || r == '․') {
		return false
	}
	s := norm.NFKC.String(string(r))
	return s != string(r) && strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0
}

// breaks reports whether a character ends a word that people read as one.
func breaks(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`<>()[]{}"',;|`, r) }

// words calls f with each word of a text and where it begins. A word is what stands between blanks, quotes and brackets if it reads
// as an address, the name of a host or a path, and else a run of letters, digits and marks.
func words(s string, f func(at int, word string)) {
	part := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r) || r == '_'
	}
	for at := 0; at < len(s); {
		r, n := utf8.DecodeRuneInString(s[at:])
		if breaks(r) {
			at += n
			continue
		}
		end := len(s)
		if i := strings.IndexFunc(s[at:], breaks); i >= 0 {
			end = at + i
		}
		if names(s[at:end]) {
			f(at, s[at:end])
			at = end
			continue
		}
		for at < end {
			stop := end
			if i := strings.IndexFunc(s[at:end], func(r rune) bool { return !part(r) }); i >= 0 {
				stop = at + i
			}
			if stop > at {
				f(at, s[at:stop])
			}
			at = stop
			if at < end {
				_, n := utf8.DecodeRuneInString(s[at:end])
				at += n
			}
		}
	}
}

// names reports whether a word without blanks names a place: an address, a host, a path.
func names(word string) bool {
	word = norm.NFKC.String(word)
	if strings.ContainsAny(word, "@/\\") {
		return true
	}
	i := strings.LastIndexByte(strings.TrimRight(word, ".:!?"), '.')
	if i <= 0 {
		return false
	}
	r, _ := utf8.DecodeRuneInString(word[i+1:])
	return unicode.IsLetter(r)
}

// mixes reports whether a word has letters of Latin and of another script: some may be there to be taken for the
// others. Scripts of East Asia look like no other, and stand beside Latin in texts; in a name they do not.
func mixes(word string) bool {
	latin, other, east := false, false, false
	for _, r := range word {
		switch {
		case r < 0x80 && !unicode.IsLetter(r):
		case unicode.Is(unicode.Latin, r):
			latin = true
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo):
			east = true
		case unicode.IsLetter(r):
			other = true
		}
	}
	return latin && (other || east && names(word))
}

// odd marks the bytes of a text whose words mix scripts, for as many bytes as may be shown.
func odd(s string, most int) []bool {
	if ascii := strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0; ascii {
		return nil
	}
	if reach := 4*most + 256; most > 0 && len(s) > reach {
		s = s[:reach]
	}
	out := make([]bool, len(s))
	words(s, func(at int, word string) {
		if mixes(word) {
			for i := range len(word) {
				out[at+i] = true
			}
		}
	})
	return out
}

// beware says what of a text may mislead who reads it: at a place that says where something goes, all that is not ASCII.
func (o Look) beware(s string, steers bool) (out []string) {
	say := func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !slices.Contains(out, text) && len(out) < maxBeware {
			out = append(out, text)
		}
	}
	ascii := Look{}
	var hidden []string
	count := 0
	foreign := false
	for i, r := range s {
		mark := unicode.Is(unicode.M, r)
		if r != '\n' && r != '\t' && r != '\r' && !seen(r) && !(mark && foreign) || r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd") {
			count++
			n := utf8.RuneLen(r)
			if r == utf8.RuneError {
				n = 1
			}
			if e := ascii.line(s[i:i+n], 0); !slices.Contains(hidden, e) && len(hidden) < 2*maxBeware {
				hidden = append(hidden, e)
			}
		}
		foreign = mark && foreign || unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r)
	}
	if count > 0 {
		say("has characters that cannot be seen, or that move others: %s, %d in all", strings.Join(hidden, " "), count)
	}
	words(s, func(_ int, word string) {
		var in []string
		forms := false
		for _, r := range word {
			forms = forms || form(r)
			if unicode.IsLetter(r) && !slices.Contains(in, scriptOf(r)) {
				in = append(in, scriptOf(r))
			}
		}
		switch {
		case mixes(word):
			say("%s mixes alphabets: %s%s", ascii.quote(word, maxText), strings.Join(in, ", "), readsLike(word))
		case forms:
			say("%s has other forms of letters%s", ascii.quote(word, maxText), readsLike(word))
		case steers && strings.IndexFunc(word, func(r rune) bool { return r >= 0x80 }) >= 0:
			say("%s is not ASCII: %s%s", ascii.quote(word, maxText), strings.Join(in, ", "), readsLike(word))
		}
	})
	return out
}

// maxBeware is how many things are said of one text.
const maxBeware = 3

// readsLike says what a word would be read as, if that is ASCII.
func readsLike(word string) string {
	as := plain(word)
	if as == word || strings.IndexFunc(as, func(r rune) bool { return r >= 0x80 }) >= 0 {
		return ""
	}
	return "; it reads like " + as
}
