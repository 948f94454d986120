package builtins

import (
	"math/big"
	"net/mail"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// Normal forms are what policies compare with lists of known recipients, accounts and hosts, so two
// rules hold for each of them. A text that a tool would not understand as exactly one
// destination has the empty norm, which is in no list. And nothing that is not
// ASCII ever norms to ASCII: letters that look alike, full-width letters, invisible
// characters and the Kelvin sign keep their difference, because only A to Z are
// lower-cased and host names are put into punycode without any mapping. Tools must send to what the norm
// says, not to the text it was made of.

// MaxNorm is the longest text, in bytes, that has a norm; a longer one has the empty norm.
const MaxNorm = 4096

// NormText is the norm of a parameter without a sink that says more: text with A to Z
// in lower case, numbers in decimal, "true", "false" or "none". The host is that of a URL or an
// e-mail address, if the text is one.
func NormText(x any) (norm, host string) {
	s, ok := x.(string)
	if !ok {
		return normScalar(x), ""
	}
	switch {
	case len(s) > MaxNorm:
		return "", ""
	case strings.Contains(s, "://"):
		_, host = NormURL(s)
	case strings.Contains(s, "@"):
		_, host = NormAddress(s)
	}
	return lowerASCII(s), host
}

func normScalar(x any) string {
	switch x := x.(type) {
	case nil:
		return "none"
	case bool:
		return strconv.FormatBool(x)
	case int64:
		return strconv.FormatInt(x, 10)
	case *big.Int:
		if x.BitLen() <= 8*MaxNorm/4 {
			return x.String()
		}
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return ""
}

// NormAddress brings one e-mail address to the form "local@host", without display
// name, in lower case. Its norm is empty unless the text is exactly one address whose local part is
// plain ASCII without quotes: "a@corp.example, b@evil.example" has no norm, and
// "bob@corp.example <eve@evil.example>" that of eve.
func NormAddress(x any) (norm, host string) {
	s, ok := x.(string)
	if !ok || len(s) > MaxNorm || strings.ContainsFunc(s, isControl) {
		return "", ""
	}
	a, err := mail.ParseAddress(s)
	if err != nil {
		return "", ""
	}
	at := strings.LastIndexByte(a.Address, '@')
	if at <= 0 || !isAtom(a.Address[:at]) {
		return "", ""
	}
	host = normHost(a.Address[at+1:])
	if host == "" || strings.Contains(host, ":") {
		return "", ""
	}
	return lowerASCII(a.Address[:at]) + "@" + host, host
}

// isAtom reports whether s is a dot-atom of ASCII characters, as RFC 5322 has it.
func isAtom(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if part == "" || strings.ContainsFunc(part, func(r rune) bool {
			return !isAlnum(r) && !strings.ContainsRune("!#$%&'*+-/=?^_`{|}~", r)
		}) {
			return false
		}
	}
	return true
}

// NormURL brings an absolute URL to the form "scheme://host[:port]/path[?query]": scheme and host in lower
// case, default ports left out, the path never empty, no fragment. The norm is empty if the
// text is no such URL, carries a user name, or has "." or ".." for a step of its path; the host
// is empty unless it is a plain name or an IP address.
func NormURL(x any) (norm, host string) {
	s, ok := x.(string)
	if !ok || len(s) > MaxNorm || strings.ContainsFunc(s, isControl) || strings.Contains(s, `\`) {
		return "", ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Opaque != "" {
		return "", ""
	}
	if host = normHost(u.Hostname()); host == "" {
		return "", ""
	}
	if u.Scheme == "" || u.User != nil {
		return "", host
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		if part == "." || part == ".." || strings.Contains(part, `\`) {
			return "", host
		}
	}
	authority := host
	if strings.Contains(host, ":") {
		authority = "[" + host + "]"
	}
	if p := u.Port(); p != "" && p != defaultPorts[u.Scheme] {
		authority += ":" + p
	}
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	norm = u.Scheme + "://" + authority + path // url.Parse has lower-cased the scheme
	if u.RawQuery != "" {
		norm += "?" + u.RawQuery
	}
	return norm, host
}

var defaultPorts = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}

// normHost returns a host name in lower case, in punycode if it is not ASCII and without the dot of
// a root; or an IP address in its shortest form. Anything else, a number that some resolvers
// would read as an address among it, gives "".
func normHost(s string) string {
	if a, err := netip.ParseAddr(s); err == nil {
		if a.Zone() != "" {
			return ""
		}
		return a.Unmap().String()
	}
	s, err := idna.Punycode.ToASCII(lowerASCII(strings.TrimSuffix(s, ".")))
	if err != nil || s == "" || len(s) > 253 {
		return ""
	}
	labels := strings.Split(s, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || strings.ContainsFunc(l, func(r rune) bool { return !isAlnum(r) && r != '-' && r != '_' }) {
			return ""
		}
	}
	last := labels[len(labels)-1]
	if strings.HasPrefix(last, "0x") || strings.Trim(last, "0123456789") == "" {
		return ""
	}
	return s
}

// NormIBAN brings an international bank account number to upper case without
// spaces. The norm is empty unless its length and its check digits are right. The host
// is always empty.
func NormIBAN(x any) (norm, host string) {
	s, ok := x.(string)
	if !ok || len(s) > 64 {
		return "", ""
	}
	s = upperASCII(strings.ReplaceAll(s, " ", ""))
	if len(s) < 15 || len(s) > 34 || !isUpper(s[0]) || !isUpper(s[1]) {
		return "", ""
	}
	// The country and the check digits move to the end, letters count from 10, and the
	// whole number leaves 1 when divided by 97.
	rest := 0
	for i := range len(s) {
		switch c := s[(i+4)%len(s)]; {
		case c >= '0' && c <= '9':
			rest = (rest*10 + int(c-'0')) % 97
		case isUpper(c):
			rest = (rest*100 + int(c-'A') + 10) % 97
		default:
			return "", ""
		}
	}
	if rest != 1 {
		return "", ""
	}
	return s, ""
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

func isAlnum(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// lowerASCII lower-cases A to Z and nothing else: Unicode's own mapping would make a plain k of
// the Kelvin sign.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// upperASCII is the inverse of [lowerASCII], as careful: Unicode's mapping would make a plain I of
// the dotless one.
func upperASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r + 'A' - 'a'
		}
		return r
	}, s)
}

// normFor returns the function that brings a leaf at a kind of sink to its normal form.
func (p *Param) normFor(sink string) func(any) (norm, host string) {
	switch {
	case p.Norm != nil:
		return p.Norm
	case sink == sinkURL:
		return NormURL
	case sink == sinkRecipient:
		return normRecipient
	}
	return NormText
}

// normRecipient takes what has an @ for an e-mail address, and anything else (a channel, a
// telephone number) for text.
func normRecipient(x any) (norm, host string) {
	if s, ok := x.(string); ok && strings.Contains(s, "@") {
		return NormAddress(x)
	}
	return NormText(x)
}
