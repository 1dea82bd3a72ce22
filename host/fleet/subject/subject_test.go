package subject

import (
	"net/url"
	"strings"
	"testing"
)

func FuzzTokensAreOneToOne(f *testing.F) {
	for _, name := range []string{"main", "a.b", "*", ">", "ä b", "=2e", ""} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		token := Token(name)
		if strings.ContainsAny(token, ".*> \t\r\n") {
			t.Errorf("%q becomes %q, which is no token", name, token)
		}
		back, err := url.PathUnescape(strings.ReplaceAll(token, "=", "%"))
		if err != nil || back != name {
			t.Errorf("%q becomes %q, which is %q", name, token, back)
		}
	})
}
