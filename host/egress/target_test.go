package egress

import (
	"strings"
	"testing"
)

func TestParseHost(t *testing.T) {
	for text, want := range map[string]string{
		"api.example.com":                    "api.example.com",
		"API.Example.COM":                    "api.example.com",
		"api.example.com.":                   "api.example.com",
		"bücher.example":                     "xn--bcher-kva.example",
		"BÜCHER.example.":                    "xn--bcher-kva.example",
		"xn--bcher-kva.example":              "xn--bcher-kva.example",
		"ａｐｉ.example.com":                    "api.example.com",
		"api。example.com":                    "api.example.com",
		"my_bucket.example.com":              "my_bucket.example.com",
		"r3---sn.example.com":                "r3---sn.example.com",
		"10.0.0.1":                           "10.0.0.1",
		"[fd00::1]":                          "fd00::1",
		"FD00:0::1":                          "fd00::1",
		"::ffff:10.0.0.1":                    "10.0.0.1",
		"":                                   "",
		".":                                  "",
		"api.example.com..":                  "",
		".example.com":                       "",
		"a..example.com":                     "",
		"evil\x00.example.com":               "",
		"evil%00.example.com":                "",
		"a b.example.com":                    "",
		"user@example.com":                   "",
		"example.com/x":                      "",
		"example.com\n":                      "",
		"example.com#":                       "",
		"example.com?":                       "",
		"-a.example.com":                     "",
		"a-.example.com":                     "",
		"0177.0.0.1":                         "",
		"0x7f000001":                         "",
		"0x7f.0.0.1":                         "",
		"2130706433":                         "",
		"127.1":                              "",
		"1.2.3.4.5":                          "",
		"example.0x":                         "",
		"１２７.０.０.１":                          "",
		"127.0.0.１":                          "",
		"fe80::1%eth0":                       "",
		"[::1":                               "",
		"[example.com]":                      "",
		"[127.0.0.1]":                        "",
		"xn--a.example":                      "",
		"xn--zz--bad\u00e9.test":             "",
		"a\u200db.example":                   "",
		strings.Repeat("a", 64) + ".example": "",
		strings.Repeat("abcdefgh.", 28) + "example": "",
		strings.Repeat("abcdefgh.", 27) + "example": strings.Repeat("abcdefgh.", 27) + "example",
		strings.Repeat("ü.", 1000) + "example":      "",
		"\xff.example.com":                          "",
	} {
		got, err := parseHost(text, 443)
		if want == "" && err == nil {
			t.Errorf("parseHost(%q) = %v, want an error", text, got)
		}
		if want != "" && (err != nil || got.nameOrAddr() != want) {
			t.Errorf("parseHost(%q) = %v, %v, want %s", text, got, err, want)
		}
	}
}

func TestParseHostPort(t *testing.T) {
	for text, want := range map[string]string{
		"example.com:8443":   "example.com:8443",
		"example.com":        "example.com:80",
		"[::1]":              "[::1]:80",
		"[::1]:443":          "[::1]:443",
		"::1:443":            "",
		"example.com:":       "",
		"example.com:0":      "",
		"example.com:+80":    "",
		"example.com:080":    "",
		"example.com:65536":  "",
		"a:b@example.com:80": "",
	} {
		got, err := parseHostPort(text, 80)
		if want == "" && err == nil || want != "" && (err != nil || got.String() != want) {
			t.Errorf("parseAuthority(%q) = %v, %v, want %q", text, got, err, want)
		}
	}
}

func FuzzParseHost(f *testing.F) {
	for _, s := range []string{"api.example.com.", "BÜCHER.example", "[fd00::1]", "0x7f.1", "１.2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseHost(text, 443)
		if err != nil {
			return
		}
		again, err := parseHost(got.nameOrAddr(), 443)
		if err != nil || again != got {
			t.Errorf("%q is %v, and that is %v, %v", text, got, again, err)
		}
		if strings.ContainsAny(got.nameOrAddr(), "\x00 %@/\\?#\r\n") || got.name != "" && looksLikeIPv4(got.name) {
			t.Errorf("%q is taken for %q", text, got.nameOrAddr())
		}
	})
}

func FuzzParseEntry(f *testing.F) {
	for _, s := range []string{"*", "*:8443", "*.example.org", "a.b:443", "10.0.0.0/8:80", "[fd00::/8]:443", "fd00::/8"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := parseHostEntry(text)
		if err != nil {
			return
		}
		if !e.anyName && !e.prefix.IsValid() && checkHostName(e.name) != nil {
			t.Errorf("entry %q has the name %q", text, e.name)
		}
	})
}
