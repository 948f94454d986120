package builtins

import (
	"math/big"
	"strings"
	"testing"
)

func TestNormAddress(t *testing.T) {
	for _, test := range []struct{ name, in, norm, host string }{
		{"a plain address", "bob@corp.example", "bob@corp.example", "corp.example"},
		{"upper case", "Bob@CORP.example", "bob@corp.example", "corp.example"},
		{"a display name", "Bob <bob@corp.example>", "bob@corp.example", "corp.example"},
		{"an address as display name", `"bob@corp.example" <eve@evil.example>`, "eve@evil.example", "evil.example"},
		{"an unquoted address as display name", "bob@corp.example <eve@evil.example>", "", ""},
		{"two addresses", "bob@corp.example, eve@evil.example", "", ""},
		{"two addresses with a semicolon", "bob@corp.example; eve@evil.example", "", ""},
		{"two addresses, one in brackets each", "<bob@corp.example>,<eve@evil.example>", "", ""},
		{"a quoted local part", `"bob@corp.example"@evil.example`, "", ""},
		{"a quoted local part with a comma", `"eve@evil.example, x"@corp.example`, "", ""},
		{"a route", "<@evil.example:bob@corp.example>", "", ""},
		{"a line break", "bob@corp.example\r\nBcc: eve@evil.example", "", ""},
		{"a folded line", "Bob\r\n <bob@corp.example>", "", ""},
		{"a NUL", "bob@corp.example\x00", "", ""},
		{"full-width letters in the host", "bob@ｃorp.example", "bob@xn--orp-v76s.example", "xn--orp-v76s.example"},
		{"a Cyrillic letter in the host", "bob@соrp.example", "bob@xn--rp-emcl.example", "xn--rp-emcl.example"},
		{"a zero-width space in the host", "bob@co\u200brp.example", "bob@xn--corp-w76a.example", "xn--corp-w76a.example"},
		{"the Kelvin sign in the host", "bob@\u212a.example", "bob@xn--62g.example", "xn--62g.example"},
		{"an ideographic full stop", "bob@corp。example", "bob@xn--corpexample-7e3j", "xn--corpexample-7e3j"},
		{"a Cyrillic letter in the local part", "bоb@corp.example", "", ""},
		{"an address literal", "bob@[10.0.0.1]", "", ""},
		{"a plus tag is another mailbox", "bob+x@corp.example", "bob+x@corp.example", "corp.example"},
		{"no host", "bob@", "", ""},
		{"no local part", "@corp.example", "", ""},
		{"no address", "bob", "", ""},
		{"nothing", "", "", ""},
		{"very long", strings.Repeat("a", MaxNorm) + "@corp.example", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			norm, host := NormAddress(test.in)
			if norm != test.norm || host != test.host {
				t.Errorf("NormAddress(%q) = %q, %q, want %q, %q", test.in, norm, host, test.norm, test.host)
			}
		})
	}
	if norm, host := NormAddress(int64(7)); norm != "" || host != "" {
		t.Errorf("NormAddress(7) = %q, %q, want nothing", norm, host)
	}
}

func TestNormURL(t *testing.T) {
	for _, test := range []struct{ name, in, norm, host string }{
		{"a plain URL", "https://api.corp.example/v1?q=1", "https://api.corp.example/v1?q=1", "api.corp.example"},
		{"upper case in scheme and host alone", "HTTPS://API.Corp.Example/Path", "https://api.corp.example/Path", "api.corp.example"},
		{"no path", "https://corp.example", "https://corp.example/", "corp.example"},
		{"a default port", "https://corp.example:443/", "https://corp.example/", "corp.example"},
		{"another port", "https://corp.example:8443/", "https://corp.example:8443/", "corp.example"},
		{"the dot of the root", "https://corp.example./", "https://corp.example/", "corp.example"},
		{"a fragment", "https://corp.example/a#b", "https://corp.example/a", "corp.example"},
		{"a host as user name", "https://corp.example@evil.example/", "", "evil.example"},
		{"a host as user name and a port as password", "https://corp.example:443@evil.example/", "", "evil.example"},
		{"a backslash before the real host", `https://corp.example\@evil.example/`, "", ""},
		{"a backslash for a slash", `https:\\evil.example\`, "", ""},
		{"a tab in the host", "https://corp.exa\tmple/", "", ""},
		{"a line break", "https://corp.example/\nHost: evil.example", "", ""},
		{"a longer host", "https://corp.example.evil.example/", "https://corp.example.evil.example/", "corp.example.evil.example"},
		{"full-width letters", "https://ｃorp.example/", "https://xn--orp-v76s.example/", "xn--orp-v76s.example"},
		{"a Cyrillic letter", "https://соrp.example/", "https://xn--rp-emcl.example/", "xn--rp-emcl.example"},
		{"an escape in the host", "https://corp%2eexample/", "", ""},
		{"dots in the path", "https://corp.example/public/../private", "", "corp.example"},
		{"escaped dots in the path", "https://corp.example/public/%2e%2e/private", "", "corp.example"},
		{"an escaped backslash in the path", "https://corp.example/a%5c..%5cb", "", "corp.example"},
		{"an IPv4 address", "http://127.0.0.1/", "http://127.0.0.1/", "127.0.0.1"},
		{"an IPv4 address as one number", "http://2130706433/", "", ""},
		{"an IPv4 address in hexadecimal", "http://0x7f000001/", "", ""},
		{"an IPv4 address that is short", "http://127.1/", "", ""},
		{"an IPv6 address", "http://[::1]:8080/", "http://[::1]:8080/", "::1"},
		{"an IPv4 address in IPv6", "http://[::ffff:127.0.0.1]/", "http://127.0.0.1/", "127.0.0.1"},
		{"an IPv6 zone", "http://[fe80::1%25eth0]/", "", ""},
		{"no scheme", "//evil.example/x", "", "evil.example"},
		{"a path", "corp.example/x", "", ""},
		{"a script", "javascript:alert(1)", "", ""},
		{"nothing", "", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			norm, host := NormURL(test.in)
			if norm != test.norm || host != test.host {
				t.Errorf("NormURL(%q) = %q, %q, want %q, %q", test.in, norm, host, test.norm, test.host)
			}
		})
	}
}

func TestNormIBAN(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"with spaces", "GB82 WEST 1234 5698 7654 32", "GB82WEST12345698765432"},
		{"in lower case", "gb82west12345698765432", "GB82WEST12345698765432"},
		{"a wrong check digit", "GB83WEST12345698765432", ""},
		{"two digits exchanged", "GB82WEST12345698765423", ""},
		{"a full-width digit", "GB82WEST1234569876543２", ""},
		{"a dotless i, whose upper case is I", "GB82WESTı2345698765432", ""},
		{"a no-break space", "GB82\u00a0WEST12345698765432", ""},
		{"a zero-width space", "GB82\u200bWEST12345698765432", ""},
		{"two of them", "GB82WEST12345698765432 GB82WEST12345698765432", ""},
		{"text", "the usual account", ""},
		{"nothing", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, host := NormIBAN(test.in); got != test.want || host != "" {
				t.Errorf("NormIBAN(%q) = %q, %q, want %q", test.in, got, host, test.want)
			}
		})
	}
}

func TestNormText(t *testing.T) {
	for _, test := range []struct {
		name string
		in   any
		norm string
		host string
	}{
		{"text", "Hello", "hello", ""},
		{"a URL", "HTTP://Corp.Example/A", "http://corp.example/a", "corp.example"},
		{"an address", "Bob@Corp.Example", "bob@corp.example", "corp.example"},
		{"two addresses have no host", "a@corp.example, b@corp.example", "a@corp.example, b@corp.example", ""},
		{"the Kelvin sign stays", "\u212a", "\u212a", ""},
		{"a full-width letter stays", "Ａ", "Ａ", ""},
		{"an invisible character stays", "a\u00adb", "a\u00adb", ""},
		{"an int", int64(-7), "-7", ""},
		{"a float", 1.5, "1.5", ""},
		{"a bool", true, "true", ""},
		{"None", nil, "none", ""},
		{"a big int", new(big.Int).Lsh(big.NewInt(1), 70), "1180591620717411303424", ""},
		{"an int too long to write", new(big.Int).Lsh(big.NewInt(1), 1<<20), "", ""},
		{"long text", strings.Repeat("x", MaxNorm+1), "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if norm, host := NormText(test.in); norm != test.norm || host != test.host {
				t.Errorf("NormText(%.40v) = %q, %q, want %q, %q", test.in, norm, host, test.norm, test.host)
			}
		})
	}
}

// Nothing but ASCII may norm to ASCII that a list of known destinations could hold.
func TestNormsKeepLookAlikesApart(t *testing.T) {
	for r := rune(0x80); r < 0x30000; r++ {
		if r >= 0xd800 && r < 0xe000 {
			continue
		}
		c := string(r)
		if norm, _ := NormText("bob" + c); !strings.Contains(norm, c) {
			t.Fatalf("NormText(bob%q) = %q: the character is lost", c, norm)
		}
		if norm, host := NormAddress("bob@corp" + c + ".example"); norm != "" && !strings.Contains(host, "xn--") {
			t.Fatalf("NormAddress with %U in the host = %q", r, norm)
		}
		if norm, _ := NormAddress("bo" + c + "b@corp.example"); norm != "" {
			t.Fatalf("NormAddress with %U in the local part = %q", r, norm)
		}
		if norm, host := NormURL("https://corp" + c + ".example/"); host != "" && !strings.Contains(host, "xn--") {
			t.Fatalf("NormURL with %U in the host = %q, %q", r, norm, host)
		}
		if norm, _ := NormIBAN("GB82WEST1234569876543" + c + "2"); norm != "" {
			t.Fatalf("NormIBAN with %U = %q", r, norm)
		}
	}
}
